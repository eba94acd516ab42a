# SPDX-License-Identifier: MIT
"""Checks that verdicts on leaks are right every time. Runs every program of fixtures/heap/leaks many times, with each
tracer of this interpreter, sampled and exact. `make leak-repeats` runs this; it needs msgpack.

    leak_repeats.py [--repeats N] [PROGRAM ..]     prints each wrong verdict; exits 1 if there was any
"""

import argparse
import os
import pathlib
import platform
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import leak_truth  # noqa: E402


def tracers():
    if "CLINEPROF_TEST_TRACER" in os.environ:
        return ["auto"]
    found = ["settrace"] + ["probe"] * (sys.version_info >= (3, 11))
    return found + ["light"] * (sys.version_info >= (3, 11)) + ["monitoring"] * (sys.version_info >= (3, 12))


def wrong(program, repeats, mode, tracer):
    """Runs a program `repeats` times, and returns how many verdicts were wrong."""
    expected, count = leak_truth.marked(program), 0
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            found, _ = leak_truth.accused(program, folder, mode, "-q", "--tracer", tracer)
        if found != expected:
            count += 1
            print(f"{program.name}, {mode}, {tracer}: accused {sorted(found)}, "
                  f"leaking are {sorted(expected)}", flush=True)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="part of a name")
    wanted = parser.parse_args()
    programs = [program for program in leak_truth.PROGRAMS
                if not wanted.programs or any(name in program.name for name in wanted.programs)]
    total = bad = 0
    for tracer in tracers():
        for mode in leak_truth.MODES:
            for program in programs:
                bad += wrong(program, wanted.repeats, mode, tracer)
                total += wanted.repeats
    print(f"Python {platform.python_version()}: {total} verdicts on {len(programs)} programs, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
