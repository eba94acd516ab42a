# SPDX-License-Identifier: MIT
"""Runs the tests that make has built, and counts them in the last line: N passed, N failed, N skipped.

The order is: every Criterion executable (--unit), every fuzzer over its corpus (--fuzz), and with --venv
pytest, once for each tracer that the interpreter has. With --quick pytest runs only some of the tests.
A program that dies or leaves no readable result counts as one failure; so does a fuzzer without a corpus.
The tests that failed, and the time of each part, are printed before the last line.

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

FOLDERS = ["tests/cli", "tests/api", "tests/conformance", "tests/engines"]
CORPORA = pathlib.Path("tests/fuzz/corpus")
# How long a C program may run. Under emulation (tools/arm64.sh) the longest takes more than 300 s.
UNIT_SECONDS = 3600 if "CLINEPROF_TEST_EMULATED" in os.environ else 600
# How many test functions of each file `make quick` runs with the first tracer, and with each other tracer.
QUICK_FIRST, QUICK_LATER = 4, 2


def say(text):
    print(text, flush=True)


# ---- programs ----


ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def run(command, seconds=None, **options):
    """Runs a program, and returns its exit status; None when it takes longer than `seconds`. The program has
    a session of its own, and every process of the session is ended afterwards."""
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
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        end_session(process)


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


# ---- outcomes: a list of ("passed", "failed" or "skipped", name of the test) ----


def outcome_of(case):
    """The outcome of one test in a JUnit file. Criterion gives it in an attribute, pytest in a child element."""
    said = {child.tag for child in case} | {case.get("status", "").lower()}
    if said & {"failure", "error", "failed", "errored"}:
        return "failed"
    return "skipped" if "skipped" in said else "passed"


def outcomes_in(path):
    """The outcomes of all tests in a JUnit file."""
    return [(outcome_of(case), "::".join(filter(None, [case.get("file") or suite.get("name"), case.get("name")])))
            for suite in ElementTree.parse(path).getroot().iter("testsuite")
            for case in suite.iter("testcase")]


def collect(path, code, what):
    """The outcomes that a program has written to a JUnit file. There is at least one failure if its exit status is
    not 0, or if the file cannot be read."""
    try:
        found = outcomes_in(path)
    except (OSError, ElementTree.ParseError) as error:
        say(f"{what} left no result (exit status {code}): {error}")
        return [("failed", f"{what}: no result")]
    if code and "failed" not in dict(found):
        say(f"{what} ended with exit status {code}")
        found.append(("failed", f"{what}: exit status {code}"))
    return found


# ---- C tests ----


def run_unit(under, binary, results, environment):
    result = results / (binary.name + ".xml")
    result.unlink(missing_ok=True)
    say(f"  TEST  {binary.name}")
    code = run([*under, binary.absolute(), f"--xml={result}"], UNIT_SECONDS, env=environment)
    return collect(result, f"none: stopped after {UNIT_SECONDS} s" if code is None else code,
                   binary.name)


def replay(under, fuzzer, environment):
    """Runs a fuzzer on the files of its corpus, and names each input that it fails on."""
    def dies_of(paths):
        return run([*under, fuzzer.absolute(), *paths], UNIT_SECONDS, env=environment) != 0

    corpus = CORPORA / fuzzer.name.removeprefix("fuzz_")
    inputs = sorted(corpus.iterdir()) if corpus.is_dir() else []
    say(f"  FUZZ  {fuzzer.name}: {len(inputs)} inputs")
    if not inputs:
        say(f"{corpus} has no inputs for {fuzzer.name}")
        return [("failed", f"{fuzzer.name}: no corpus")]
    if not dies_of(inputs):
        return [("passed", fuzzer.name)]
    for path in inputs:
        if dies_of([path]):
            say(f"{fuzzer.name} fails on {path}")
    return [("failed", fuzzer.name)]


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


def run_pytest(python, tracer, choice, package, results, environment):
    """Runs the Python tests with one tracer. `choice` holds pytest's options that select tests."""
    result, kept = results / f"python-{tracer}.xml", results / f"failed-{tracer}"
    result.unlink(missing_ok=True)
    shutil.rmtree(kept, ignore_errors=True)
    say(f"  TEST  Python, tracer {tracer}")
    folder = pathlib.Path(environment["TMPDIR"]) / tracer
    command = [python, "-m", "pytest", "-q", "-rs", "-o", f"pythonpath={shlex.quote(package)}",
               "-o", "junit_family=xunit1", f"--junitxml={result}",
               "-o", "tmp_path_retention_policy=failed", f"--basetemp={folder}", *choice]
    folders = [folder for folder in FOLDERS if any(pathlib.Path(folder).rglob("test_*.py"))]
    code = run(command + folders, env={**environment, "CLINEPROF_TEST_TRACER": tracer})
    nothing_selected = 5
    found = collect(result, 0 if code == nothing_selected else code, f"pytest ({tracer})")
    if "failed" in dict(found) and folder.exists():
        subprocess.run(["cp", "-a", folder, kept], stderr=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "u+rwX", kept])
        say(f"the folders of failed tests are in {kept}")
    return found


def choices(names, quick):
    """For each tracer, the pytest options that select its tests."""
    for place, name in enumerate(names):
        functions = QUICK_LATER if place else QUICK_FIRST
        marks = ["not once"] * (place > 0) + ["not slow"] * quick
        yield name, (["-m", " and ".join(marks)] if marks else []) + (
            [f"--functions={functions}"] if quick else [])


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
        found, start = [], time.monotonic()
        yield found
        self.outcomes += found
        if found:
            self.seconds.append((name, time.monotonic() - start))

    def tell(self):
        """Prints the tests that failed, and the time of each part."""
        failed = [name for outcome, name in self.outcomes if outcome == "failed"]
        for name in failed:
            say(f"  FAILED  {name}")
        for name, seconds in self.seconds:
            say(f"  {name:24} {seconds:6.0f} s")

    def counts(self):
        total = Counter(outcome for outcome, _ in self.outcomes)
        return ", ".join(f"{total[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))


def run_c(wanted, parts, results, environment):
    with parts.part("C tests") as found:
        for name in wanted.skip:
            say(f"  SKIP  {name}: this interpreter has no library to link a program with")
            found.append(("skipped", name))
        for binary in wanted.unit:
            found += run_unit(wanted.under, binary, results, environment)
    with parts.part("fuzzers' corpora") as found:
        for fuzzer in wanted.fuzz:
            found += replay(wanted.under, fuzzer, environment)


def run_python(wanted, parts, results, environment):
    more = sanitizer_environment(wanted.sanitizer) if wanted.sanitizer else {}
    if more is None:
        say("  SKIP  Python tests: the compiler has no libasan.so to load before Python")
        parts.outcomes.append(("skipped", "Python tests"))
        return
    package, environment = str((wanted.out / "python").absolute()), {**environment, **more}
    names = tracers(wanted.venv, package, environment)
    if not names:
        say(f"clineprof._core does not load in {wanted.venv} or has no tracer")
        parts.outcomes.append(("failed", "clineprof._core does not load"))
    for tracer, choice in choices(names, wanted.quick):
        with parts.part(f"Python tests, {tracer}") as found:
            found += run_pytest(wanted.venv, tracer, choice, package, results, environment)


def main():
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    wanted = arguments()
    results = wanted.results.absolute()
    results.mkdir(parents=True, exist_ok=True)
    parts = Parts()
    with temporary_folder() as folder:
        environment = {**os.environ, "CLINEPROF_BUILD": str(wanted.out.absolute()), "TMPDIR": str(folder)}
        run_c(wanted, parts, results, environment)
        if wanted.venv:
            run_python(wanted, parts, results, environment)
    parts.tell()
    line = parts.counts()
    (results / "summary").write_text(line + "\n")
    say(line)
    return 1 if "failed" in dict(parts.outcomes) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
