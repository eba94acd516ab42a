# SPDX-License-Identifier: MIT
"""Runs the tests that make has built, and counts them in the last line: N passed, N failed, N skipped.

The order is: every Criterion executable (--unit), every fuzzer over its corpus (--fuzz), and with --venv
pytest with each tracer that the interpreter has. With --quick pytest runs only some of the tests.
A program that dies or leaves no readable result counts as one failure; so does a fuzzer without a corpus.
The time of each part and the tests that failed are printed before the last line. Why tests were skipped
stands in the file `skipped` of the folder of results.

All processors are used. Python tests marked `alone` (tests/conftest.py says which) run after all others, one
after the other.

Two environment variables tell tests where the build lies (CLINEPROF_BUILD) and which tracer is being
tested (CLINEPROF_TEST_TRACER). Tests marked `once` run with the first tracer only.
All temporary files lie in one folder, which is removed at the end, also after an interrupt. The folders of
Python tests that failed are copied to the folder of results.
"""
import argparse
import contextlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from typing import NamedTuple

import changed
import slowest

FOLDERS = ["tests/cli", "tests/api", "tests/conformance", "tests/engines"]
UNIT = "tests/unit"
CORPORA = pathlib.Path("tests/fuzz/corpus")
PROCESSORS = len(os.sched_getaffinity(0))
# How long a C program may run. Under emulation (tools/arm64.sh) the longest takes more than 300 s.
UNIT_SECONDS = 3600 if "CLINEPROF_TEST_EMULATED" in os.environ else 600
# How many test functions of each file a round of `make quick` runs with the first tracer, and with each other tracer.
QUICK_FIRST, QUICK_LATER = 2, 1


def say(text):
    print(text, flush=True)


# ---- programs ----


ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextlib.contextmanager
def started(command, **options):
    """A program that has a session of its own; every process of the session is ended at the end of the block."""
    # a signal that comes while the program starts waits until there is a process to end
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before), **options)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield process
    finally:
        end_session(process)


def run(command, seconds=None, **options):
    """Runs a program, and returns its exit status; None when it takes longer than `seconds`."""
    with started(command, **options) as process, contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(seconds)


def run_all(commands, seconds, **options):
    """The exit statuses of programs, of which as many run at once as there are processors."""
    running, statuses = {}, [None] * len(commands)
    with contextlib.ExitStack() as stack:
        for place, command in enumerate(commands):
            while len(running) == PROCESSORS:
                reap(running, statuses)
            block = stack.enter_context(contextlib.ExitStack())
            process = block.enter_context(started(command, **options))
            running[place] = process, block, time.monotonic() + seconds
        while running:
            reap(running, statuses)
    return statuses


def reap(running, statuses):
    """Waits a moment, and takes out the programs that have ended or have had their time."""
    time.sleep(0.01)
    for place, (process, block, end) in list(running.items()):
        statuses[place] = process.poll()
        if statuses[place] is not None or time.monotonic() > end:
            del running[place]
            block.close()


def end_session(process):
    """Ends the session of a program. One that still runs is interrupted as with Ctrl-C, and killed 20 s later."""
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(20)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def temporary_folder():
    """Makes the folder for temporary files. Its path is short, because the path of a socket has at most 107 bytes."""
    usual = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="clp-", dir=usual if len(usual) <= 24 else "/tmp",
                                     ignore_cleanup_errors=True) as name:
        yield pathlib.Path(name)


# ---- outcomes ----


class Outcome(NamedTuple):
    """Of one test: "passed", "failed" or "skipped", the test's name, and why it was skipped."""
    result: str
    name: str
    why: str = ""


def outcome_of(suite, case):
    """The outcome of one test in a JUnit file. Criterion gives it in an attribute, pytest in a child element."""
    name = "::".join(filter(None, [case.get("file") or suite.get("name"), case.get("name")]))
    said = {child.tag for child in case} | {case.get("status", "").lower()}
    if said & {"failure", "error", "failed", "errored"}:
        return Outcome("failed", name)
    if "skipped" in said:
        child = case.find("skipped")
        return Outcome("skipped", name, "" if child is None else child.get("message", ""))
    return Outcome("passed", name)


def outcomes_in(path):
    """The outcomes of all tests in a JUnit file."""
    return [outcome_of(suite, case) for suite in ElementTree.parse(path).getroot().iter("testsuite")
            for case in suite.iter("testcase")]


def any_failed(outcomes):
    return any(outcome.result == "failed" for outcome in outcomes)


def collect(path, code, what):
    """The outcomes that a program has written to a JUnit file. There is at least one failure if its exit status is
    not 0, or if the file cannot be read."""
    try:
        found = outcomes_in(path)
    except (OSError, ElementTree.ParseError) as error:
        say(f"{what} left no result (exit status {code}): {error}")
        return [Outcome("failed", f"{what}: no result")]
    if code and not any_failed(found):
        say(f"{what} ended with exit status {code}")
        found.append(Outcome("failed", f"{what}: exit status {code}"))
    return found


# ---- C tests ----


def run_units(under, binaries, results, environment):
    """Runs Criterion's programs, the largest first, since they take longest."""
    binaries = sorted(binaries, key=lambda binary: -binary.stat().st_size)
    files = [results / f"{binary.parent.name}-{binary.name}.xml" for binary in binaries]
    for file in files:
        file.unlink(missing_ok=True)
    codes = run_all([[*under, binary.absolute(), f"--xml={file}"] for binary, file in zip(binaries, files)],
                    UNIT_SECONDS, env=environment)
    return [outcome for binary, file, code in zip(binaries, files, codes)
            for outcome in collect(file, f"none: stopped after {UNIT_SECONDS} s" if code is None else code, binary.name)]


def replay(under, fuzzers, environment):
    """Runs fuzzers on the files of their corpora, and names each input that one fails on."""
    def codes_of(runs):
        return run_all([[*under, fuzzer.absolute(), *paths] for fuzzer, paths in runs], UNIT_SECONDS, env=environment)

    inputs, found = {}, []
    for fuzzer in fuzzers:
        corpus = CORPORA / fuzzer.name.removeprefix("fuzz_")
        inputs[fuzzer] = sorted(corpus.iterdir()) if corpus.is_dir() else []
        say(f"  FUZZ  {fuzzer.name}: {len(inputs[fuzzer])} inputs")
        if not inputs[fuzzer]:
            say(f"{corpus} has no inputs for {fuzzer.name}")
            found.append(Outcome("failed", f"{fuzzer.name}: no corpus"))
    runs = [(fuzzer, paths) for fuzzer, paths in inputs.items() if paths]
    for (fuzzer, paths), code in zip(runs, codes_of(runs)):
        found.append(Outcome("failed" if code != 0 else "passed", fuzzer.name))
        if code != 0:
            singly = codes_of([(fuzzer, [path]) for path in paths])
            for path in (path for path, code in zip(paths, singly) if code != 0):
                say(f"{fuzzer.name} fails on {path}")
    return found


# ---- Python tests ----


def tracers(python, package, environment):
    """The names of the tracers that the built module has for this interpreter."""
    ask = ("import sys; sys.path.insert(0, sys.argv[1]); "
           "import clineprof._core as core; print(*core.tracers())")
    answer = subprocess.run([python, "-c", ask, package], env=environment, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True)
    if answer.returncode:
        say(answer.stderr)
    return answer.stdout.split()


def spreading(python):
    """The options with which pytest uses all processors: none if pytest-xdist is missing or too old. There is a process
    more than processors, because tests often wait."""
    ask = "import importlib.metadata as m; assert tuple(map(int, m.version('pytest-xdist').split('.')[:2])) >= (3, 8)"
    if subprocess.run([python, "-c", ask], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        return ["-p", "xdist", f"--numprocesses={PROCESSORS + 1}", "--dist=loadfile", "--no-loadscope-reorder"]
    say(f"  {python} has no pytest-xdist 3.8: its tests use one processor")
    return []


def run_pytest(python, tracer, alone, options, package, results, environment):
    """Runs the Python tests with one tracer: on all processors, or those that run alone. `options` are pytest's."""
    name = f"{tracer}-alone" if alone else tracer
    result, kept = results / f"python-{name}.xml", results / f"failed-{name}"
    result.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    folder = pathlib.Path(environment["TMPDIR"]) / name
    command = [python, "-m", "pytest", "-q", "-o", f"pythonpath={shlex.quote(package)}",
               "-o", "junit_family=xunit1", f"--junitxml={result}",
               "-o", "tmp_path_retention_policy=failed", f"--basetemp={folder}",
               *([] if alone else spreading(python)), *options]
    code = run(command, env={**environment, "CLINEPROF_TEST_TRACER": tracer,
                             "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})  # others take half a second for each process
    nothing_selected = 5
    found = collect(result, 0 if code == nothing_selected else code, f"pytest ({name})")
    if any_failed(found) and folder.exists():
        subprocess.run(["cp", "-a", folder, kept], stderr=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "u+rwX", kept])
        say(f"the folders of failed tests are in {kept}")
    return found


def choices(names, quick):
    """Each round of pytest: its tracer, whether its tests run alone, and the options that select them. What runs alone
    takes long, so a quick choice has it with the first tracer only. The tracer that only counts, which is there where
    probes are, runs the tests of hits."""
    for alone in False, True:
        for place, name in enumerate(names):
            functions = QUICK_LATER if place else QUICK_FIRST
            if quick and alone and place:
                continue
            marks = ["alone" if alone else "not alone"] + ["not once"] * (place > 0) + ["not slow"] * quick
            yield name, alone, ["-m", " and ".join(marks)] + ([f"--functions={functions}"] if quick else [])
    if "probe" in names:
        yield "light", False, ["-m", " and ".join(["hits"] + ["not slow"] * quick)] + (
            [f"--functions={QUICK_LATER}"] if quick else [])


def sanitizer_environment(sanitizer):
    """The environment variables with which Python can load a module that is built with the sanitizer; None if it
    cannot."""
    if sanitizer != "address":
        return {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    # Packages in C++ throw exceptions through the sanitizer, which must find the library of C++ behind it.
    libraries = [
        subprocess.run([os.environ.get("CC", "cc"), f"-print-file-name={name}"], capture_output=True, text=True)
        .stdout.strip() for name in ("libasan.so", "libstdc++.so.6")]
    if not os.path.isabs(libraries[0]):
        return None
    # CPython keeps some memory until it exits, so only the unit tests look for leaks.
    return {"LD_PRELOAD": " ".join(filter(os.path.isabs, libraries)), "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc"}


def in_full(program):
    """The full path of a program, as sys.executable has it. A symbolic link to the program itself is not resolved, as
    it makes the interpreter that of a virtual environment."""
    path = pathlib.Path(program)
    return str(path.parent.resolve() / path.name)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--sanitizer")
    parser.add_argument("--venv", type=in_full, metavar="PYTHON", help="run the Python tests with this interpreter")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tracer", help="run the Python tests with this tracer only")
    parser.add_argument("--changed", action="store_true", help="only tests whose subject has changed (tools/changed.py)")
    parser.add_argument("--costs", action="store_true", help="list the slowest Python tests, and where their time goes")
    parser.add_argument("--since", type=int, metavar="SECONDS", help="when make began: the time of the build is told, too")
    parser.add_argument("--under", type=shlex.split, default=[], metavar="COMMAND",
                        help="run the C programs under this command, such as valgrind")
    parser.add_argument("--unit", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--fuzz", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--skip", action="append", default=[])
    return parser.parse_args()


class Parts:
    """The parts of a run: their outcomes, and how long they took."""

    def __init__(self):
        self.outcomes, self.seconds = [], []

    @contextlib.contextmanager
    def part(self, name):
        """Times a part. The `with` statement gets a list, to which the part adds its outcomes."""
        say(f"  TEST  {name}")
        found, start = [], time.monotonic()
        yield found
        self.outcomes += found
        if found:
            self.seconds.append((name, time.monotonic() - start))

    def tell(self, skipped):
        """Prints the time of each part, and the tests that failed. Those that were skipped go into the file."""
        for name, seconds in self.seconds:
            say(f"  {name:40} {seconds:6.0f} s")
        reasons = [f"{name}: {why}" for result, name, why in self.outcomes if result == "skipped"]
        skipped.write_text("".join(f"{' '.join(reason.split())}\n" for reason in reasons))
        if reasons:
            say(f"  why {len(reasons)} tests were skipped: {os.path.relpath(skipped)}")
        for result, name, _ in self.outcomes:
            if result == "failed":
                say(f"  FAILED  {name}")

    def counts(self):
        total = Counter(outcome.result for outcome in self.outcomes)
        return ", ".join(f"{total[result]} {result}" for result in ("passed", "failed", "skipped"))


def run_c(wanted, parts, results, environment):
    with parts.part("C tests") as found:
        found += [Outcome("skipped", name, "this interpreter has no library to link a program with")
                  for name in wanted.skip]
        found += run_units(wanted.under, wanted.unit, results, environment)
    with parts.part("fuzzers' corpora") as found:
        found += replay(wanted.under, wanted.fuzz, environment)


def run_python(wanted, parts, results, environment):
    more = sanitizer_environment(wanted.sanitizer) if wanted.sanitizer else {}
    if more is None:
        parts.outcomes.append(Outcome("skipped", "Python tests", "the compiler has no libasan.so to load before Python"))
        return
    package, environment = str((wanted.out / "python").absolute()), {**environment, **more}
    # Programs that tests start write no compiled files, so that bare and profiled runs load the same.
    subprocess.run([wanted.venv, "-m", "compileall", "-q", wanted.out / "python"], stdin=subprocess.DEVNULL)
    names = tracers(wanted.venv, package, environment)
    if not names:
        say(f"clineprof._core does not load in {wanted.venv} or has no tracer")
        parts.outcomes.append(Outcome("failed", "clineprof._core does not load"))
    for tracer, alone, options in choices([wanted.tracer] if wanted.tracer else names, wanted.quick):
        options += [*["-p", "costs"] * wanted.costs, *wanted.tests]
        with parts.part(f"Python tests, {tracer}{', each alone' if alone else ''}") as found:
            found += run_pytest(wanted.venv, tracer, alone, options, package, results, environment)


def choose_changed(wanted):
    """Leaves only the tests that belong to what has changed, and names them."""
    every = [path for folder in (*FOLDERS, UNIT) for path in pathlib.Path(folder).rglob("test_*.*")
             if path.suffix in (".py", ".c")]
    chosen = changed.tests_of(changed.files(), every)
    units = {path.relative_to(UNIT).with_suffix("").parts for path in chosen if path.suffix == ".c"}
    wanted.unit = [binary for binary in wanted.unit if any(binary.parts[-len(unit):] == unit for unit in units)]
    wanted.skip = [name for name in wanted.skip if tuple(name.split("/")) in units]
    wanted.fuzz = []
    wanted.tests = [path for path in chosen if path.suffix == ".py"]
    wanted.venv = wanted.venv if wanted.tests else None
    for path in chosen:
        say(f"  CHOSE {path}")
    if not chosen:
        sys.exit("no test belongs to what has changed since the last commit; name one with T=")


def main():
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    wanted = arguments()
    results = wanted.results.absolute()
    results.mkdir(parents=True, exist_ok=True)
    wanted.tests = [folder for folder in FOLDERS if any(pathlib.Path(folder).rglob("test_*.py"))]
    if wanted.changed:
        choose_changed(wanted)
    parts = Parts()
    if wanted.since:
        parts.seconds.append(("building, and fetching packages", time.time() - wanted.since))
    with temporary_folder() as folder:
        environment = {**os.environ, "CLINEPROF_BUILD": str(wanted.out.absolute()), "TMPDIR": str(folder)}
        if wanted.costs:
            environment["PYTHONPATH"] = str(pathlib.Path("tests").absolute())  # where the plug-in is
        run_c(wanted, parts, results, environment)
        if wanted.venv:
            run_python(wanted, parts, results, environment)
    if wanted.costs:
        print(*slowest.table(results, 100), sep="\n")
    parts.tell(results / "skipped")
    line = parts.counts()
    (results / "summary").write_text(line + "\n")
    say(line)
    return 1 if any_failed(parts.outcomes) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
