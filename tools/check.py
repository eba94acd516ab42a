# SPDX-License-Identifier: MIT
"""Runs the tests make has built and sums them up in one last line: N passed, N failed, N skipped.

First every Criterion executable (--unit), then every fuzzer over its corpus (--fuzz), then, with
--venv, pytest once per tracer that the interpreter has. A program that dies, or leaves no readable
result, counts as one failure; so does a fuzzer without a corpus.
Tests learn from the environment where the build lies (CLINEPROF_BUILD) and which tracer this
round is for (CLINEPROF_TEST_TRACER); those marked `once` run in the first round only.
"""
import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

FOLDERS = ["tests/cli", "tests/api", "tests/conformance"]
CORPORA = pathlib.Path("tests/fuzz/corpus")
UNIT_SECONDS = 600


def say(text):
    print(text, flush=True)


def outcome_of(case):
    """Of one test in a JUnit file; Criterion says it in an attribute, pytest in a child."""
    said = {child.tag for child in case} | {case.get("status", "").lower()}
    if said & {"failure", "error", "failed", "errored"}:
        return "failed"
    return "skipped" if "skipped" in said else "passed"


def counts_of(path):
    """Passed, failed and skipped of a JUnit file."""
    return Counter(map(outcome_of, ElementTree.parse(path).getroot().iter("testcase")))


def collect(path, code, what):
    """What the run counted; at least one failure when it ended with a code that says so."""
    try:
        total = counts_of(path)
    except (OSError, ElementTree.ParseError) as error:
        say(f"{what} left no result (exit status {code}): {error}")
        return Counter(failed=1)
    if code and not total["failed"]:
        say(f"{what} ended with exit status {code}")
        total["failed"] += 1
    return total


def run_unit(under, binary, results, environment):
    result = results / (binary.name + ".xml")
    result.unlink(missing_ok=True)
    say(f"  TEST  {binary.name}")
    try:
        code = subprocess.run([*under, binary.absolute(), f"--xml={result}"], env=environment,
                              stdin=subprocess.DEVNULL, timeout=UNIT_SECONDS).returncode
    except subprocess.TimeoutExpired:
        code = f"none: stopped after {UNIT_SECONDS} s"
    return collect(result, code, binary.name)


def ends_well(under, fuzzer, inputs, environment):
    try:
        return subprocess.run([*under, fuzzer.absolute(), *inputs], env=environment,
                              stdin=subprocess.DEVNULL, timeout=UNIT_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def replay(under, fuzzer, environment):
    """Gives a fuzzer what its corpus holds, and names each input that it dies of."""
    corpus = CORPORA / fuzzer.name.removeprefix("fuzz_")
    inputs = sorted(corpus.iterdir()) if corpus.is_dir() else []
    say(f"  FUZZ  {fuzzer.name}: {len(inputs)} inputs")
    if not inputs:
        say(f"{corpus} holds nothing for {fuzzer.name}")
        return Counter(failed=1)
    if ends_well(under, fuzzer, inputs, environment):
        return Counter(passed=1)
    for path in inputs:
        if not ends_well(under, fuzzer, [path], environment):
            say(f"{fuzzer.name} dies of {path}")
    return Counter(failed=1)


def tracers(python, package, environment):
    """The tracers the built module has for this interpreter."""
    ask = ("import sys; sys.path.insert(0, sys.argv[1]); "
           "import clineprof._core as core; print(*core.tracers())")
    answer = subprocess.run([python, "-c", ask, package], env=environment, text=True,
                            stdin=subprocess.DEVNULL, capture_output=True)
    if answer.returncode:
        say(answer.stderr)
    return answer.stdout.split()


def run_pytest(python, tracer, first, package, results, environment):
    result = results / f"python-{tracer}.xml"
    result.unlink(missing_ok=True)
    say(f"  TEST  Python, tracer {tracer}")
    command = [python, "-m", "pytest", "-q", "-rs", "-o", f"pythonpath={package}",
               f"--junitxml={result}"] + ([] if first else ["-m", "not once"])
    folders = [folder for folder in FOLDERS if any(pathlib.Path(folder).rglob("test_*.py"))]
    code = subprocess.run(command + folders, stdin=subprocess.DEVNULL,
                          env={**environment, "CLINEPROF_TEST_TRACER": tracer}).returncode
    nothing_selected = 5
    return collect(result, 0 if code == nothing_selected else code, f"pytest ({tracer})")


def run_python(python, package, results, environment):
    total = Counter()
    names = tracers(python, package, environment)
    if not names:
        say(f"clineprof._core does not load in {python} or has no tracer")
        return Counter(failed=1)
    for place, tracer in enumerate(names):
        total += run_pytest(python, tracer, place == 0, package, results, environment)
    return total


def sanitizer_environment(sanitizer):
    """What Python needs to load a module built with the sanitizer; None when it cannot."""
    if sanitizer != "address":
        return {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    library = subprocess.run([os.environ.get("CC", "cc"), "-print-file-name=libasan.so"],
                             capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(library):
        return None
    # CPython keeps memory to its end on purpose, so leaks are the unit tests' business.
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--sanitizer")
    parser.add_argument("--venv")
    parser.add_argument("--under", type=shlex.split, default=[], metavar="COMMAND",
                        help="what runs the C programs, valgrind for one")
    parser.add_argument("--unit", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--fuzz", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--skip", action="append", default=[])
    return parser.parse_args()


def main():
    wanted = arguments()
    results = wanted.results.absolute()
    results.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CLINEPROF_BUILD": str(wanted.out.absolute())}
    total = Counter()
    for name in wanted.skip:
        say(f"  SKIP  {name}: this interpreter has no library to link a program with")
        total["skipped"] += 1
    for binary in wanted.unit:
        total += run_unit(wanted.under, binary, results, environment)
    for fuzzer in wanted.fuzz:
        total += replay(wanted.under, fuzzer, environment)
    more = sanitizer_environment(wanted.sanitizer) if wanted.sanitizer else {}
    if wanted.venv and more is None:
        say("  SKIP  Python tests: the compiler has no libasan.so to load before Python")
        total["skipped"] += 1
    elif wanted.venv:
        package = str((wanted.out / "python").absolute())
        total += run_python(wanted.venv, package, results, {**environment, **more})
    line = f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped"
    (results / "summary").write_text(line + "\n")
    say(line)
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
