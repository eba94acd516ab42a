# SPDX-License-Identifier: MIT
"""Profiles thousands of random functions. The profiler must count the same hits as the reference, and the
functions must do the same as without a profiler. `make fuzz-rewrite` runs this; it needs msgpack.

    fuzz_rewrite.py [--functions N] [--seed N] [--tracer NAME] [--native] [--first N]

Functions run in batches. When one differs, it is run alone and cut down to the smallest function that still
differs. That program is printed and kept under --keep, and the exit status is 1. To run the same function
again: --seed SEED --first NUMBER --functions 1.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "conformance")]

import generate  # noqa: E402

BATCH = 400
CUT_DOWN = 2  # how many functions of a batch are cut down; of the others only the differences are told
SECONDS = 120
BIG_EVERY = 10  # one batch in this many has a very long function
QUIET = {"PYTHONWARNINGS": "ignore"}  # 3.14 and newer warn of `return` in a finally block


# False since 3.15: where an exception leaves a frame that can be suspended, the frame reads differently while a
# program is monitored or traced. So the output of such programs is not compared.
TRUE_TO_FRAMES = sys.version_info < (3, 15)


class Problem(NamedTuple):
    sort: str  # "hits"; or "reference" or "profiled", the run that did not do the same as the bare one
    name: str  # of the generated function; "" when it is not known
    text: str


def harness():
    """Imports the harness late, because it reads the tracer from the environment when it is imported."""
    import harness as module

    return module


# ---- comparing -----------------------------------------------------------------------------------
def compare(functions, folder):
    """Runs a program of these functions. Returns its problems, and the hits that the reference counted."""
    script = pathlib.Path(folder) / "made.py"
    script.write_text(generate.program(functions), "utf-8")
    for old in script.parent.glob("*.lprof"):
        old.unlink()
    h = harness()
    bare = h.run_python([script], folder, env=QUIET, timeout=SECONDS)
    if bare.code or bare.err:
        raise RuntimeError(f"the program fails without a profiler:\n{bare.err}")
    counting = {**QUIET, "REFERENCE_COPIES": "1"}
    expected, counted = h.reference(script, folder, env=counting, timeout=SECONDS)
    out = counted.out if TRUE_TO_FRAMES else bare.out
    problems = ended_unlike(bare, counted, out, "reference", functions)
    try:
        ours = h.run_ckernprof(["-l", script], folder, env=QUIET, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return [Problem("profiled", "", f"the profiled program runs for more than {SECONDS} s")], expected
    out = h.own_messages_removed(ours.out)
    if not TRUE_TO_FRAMES and h.TRACER in ("monitoring", "settrace"):
        out = bare.out
    problems += ended_unlike(bare, ours, out, "profiled", functions)
    if list(script.parent.glob("*.lprof")):
        owner = owners(functions)
        for line in h.differences(ours.profile().hits(), expected):
            number = int(re.search(r"\.py:(\d+) ", line)[1])
            problems.append(Problem("hits", owner(number), line.rpartition("/")[2]))
    elif not problems:
        problems.append(Problem("hits", "", "no profile was written"))
    return problems, expected


def ended_unlike(bare, other, out, what, functions):
    """The problems found by comparing the output and the end of a run with those of the bare run."""
    alone = functions[0].name if len(functions) == 1 else ""
    problems = []
    for number, (ours, theirs) in enumerate(zip(out.split("\n"), bare.out.split("\n"))):
        if ours != theirs:
            name = alone or theirs.partition(" ")[0]
            text = f"{what}: prints {ours!r}, bare: {theirs!r} (line {number})"
            problems.append(Problem(what, name, text))
    if (other.code, other.err) != (bare.code, bare.err):
        name = problems[-1].name if problems else alone
        text = f"{what}: ends with {other.code}:\n{other.err[-2000:]}"
        problems.append(Problem(what, name, text))
    elif not problems and out != bare.out:
        problems.append(Problem(what, "", f"{what}: prints less or more than bare"))
    return problems


def owners(functions):
    """Returns a function that maps a line of the program to the name of the function on it."""
    starts, line = [], generate.HEAD.count("\n") + 3
    for function in functions:
        starts.append((line, function.name))
        line += function.text.count("\n") + 2
    starts.append((line, ""))

    def owner(number):
        return ([""] + [name for start, name in starts if start <= number])[-1]

    return owner


# ---- cutting down --------------------------------------------------------------------------------
def smaller(lines):
    """Every smaller version of a function: without one line and what is indented below it, with `pass` in place of
    these, or without the line alone."""
    yield [line for line in lines if line.strip()]
    depths = [len(line) - len(line.lstrip(" ")) if line.strip() else 999 for line in lines]
    for start in range(2, len(lines)):
        end = start + 1
        while end < len(lines) and depths[end] > depths[start]:
            end += 1
        if not lines[start].strip():
            continue
        yield lines[:start] + lines[end:]
        yield lines[:start] + [" " * depths[start] + "pass"] + lines[end:]
        if end > start + 1:
            inside = [line.replace("    ", "", 1) for line in lines[start + 1 : end]]
            yield lines[:start] + inside + lines[end:]


def fails(function, folder, what):
    """The problems of one sort that a function has when it is run alone."""
    if not generate.compiles(function):
        return []
    try:
        problems = compare([function], folder)[0]
    except (RuntimeError, AssertionError, subprocess.TimeoutExpired):
        return []
    return [problem for problem in problems if problem.sort == what]


def cut_down(function, folder, what, seconds):
    """The smallest function that still has a problem of this sort, as far as one is found within `seconds`."""
    until = time.monotonic() + seconds
    lines = function.text.rstrip("\n").split("\n")
    found = True
    while found and time.monotonic() < until:
        found = False
        for candidate in smaller(lines):
            if len(candidate) > len(lines) or candidate == lines or time.monotonic() > until:
                continue
            text = "\n".join(candidate) + "\n"
            if fails(function._replace(text=text), folder, what):
                lines, found = candidate, True
                break
    return function._replace(text="\n".join(lines) + "\n")


# ---- batches -------------------------------------------------------------------------------------
def batch_of(seed, first, count):
    functions = [generate.function(seed, first + k) for k in range(count)]
    number = first // BATCH
    if number % BIG_EVERY == BIG_EVERY - 1:
        kinds = list(generate.BIG)
        kind = kinds[number // BIG_EVERY % len(kinds)]
        functions.append(generate.big_function(seed + number, kind))
    return functions


def check_batch(seed, first, count, keep, seconds):
    """Describes the problems of a batch; "" when there are none."""
    functions = batch_of(seed, first, count)
    with tempfile.TemporaryDirectory() as folder:
        try:
            problems, _ = compare(functions, folder)
        except Exception as error:  # the other batches still run
            return f"seed {seed}, functions from {first}: {type(error).__name__}: {error}\n"
        names = list(dict.fromkeys(problem.name for problem in problems))
        texts = []
        for place, name in enumerate(names):
            mine = [problem for problem in problems if problem.name == name]
            texts.append(f"seed {seed}, functions from {first}, function {name or '(any)'}:")
            texts += ["  " + problem.text for problem in mine[:5]]
            if place < CUT_DOWN and seconds:
                path = keep / f"seed-{seed}-{name or first}.py"
                texts.append(told(functions, name, mine[-1].sort, folder, path, seconds))
    return "\n".join(texts)


def told(functions, name, sort, folder, path, seconds):
    """Writes the smallest program that still has the problem into a file, and describes it."""
    alone = [function for function in functions if function.name == name]
    path.parent.mkdir(parents=True, exist_ok=True)
    if not alone or not fails(alone[0], folder, sort):
        path.write_text(generate.program(functions), "utf-8")
        return f"no problem when the function is run alone; the whole batch is {path}\n"
    least = cut_down(alone[0], folder, sort, seconds)
    path.write_text(generate.program([least]), "utf-8")
    out = [f"cut down, {path}:"]
    out += ["  " + problem.text for problem in fails(least, folder, sort)[:5]]
    lines = enumerate(least.text.rstrip("\n").split("\n"), generate.HEAD.count("\n") + 3)
    out += [f"{number:5} | {line}" for number, line in lines if line.strip()]
    return "\n".join(out[:120]) + "\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--functions", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tracer")
    parser.add_argument("--native", action="store_true", help="with the probes around calls and operators")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cut-down", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/fuzz-rewrite"))
    return parser.parse_args()


def main():
    wanted = arguments()
    if wanted.native:
        os.environ["CLINEPROF_TEST_OPTIONS"] = "--native"
    if wanted.tracer:
        os.environ["CLINEPROF_TEST_TRACER"] = wanted.tracer
    done = wrong = 0
    last = wanted.first + wanted.functions
    with concurrent.futures.ProcessPoolExecutor(wanted.jobs) as pool:
        tasks = {
            pool.submit(
                check_batch,
                wanted.seed,
                first,
                min(BATCH, last - first),
                wanted.keep,
                wanted.cut_down,
            ): first
            for first in range(wanted.first, last, BATCH)
        }
        for task in concurrent.futures.as_completed(tasks):
            done += min(BATCH, last - tasks[task])
            if task.result():
                wrong += 1
                print(task.result(), flush=True)
            if done % (25 * BATCH) < BATCH and done < wanted.functions:
                print(f"{done} functions, {wrong} batches with differences", flush=True)
    print(f"{done} functions, {wrong} batches with differences", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
