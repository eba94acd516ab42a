# SPDX-License-Identifier: MIT
"""Runs the tests that take hours, one after the other: those that are random or depend on time run many times.

    soak.py MAKE        ends with one line for each of them; exits 1 if any had a failure
"""
import shutil
import sys

from check_all import run_make, table

ROUNDS = [
    ["stress", "REPEATS=50"],
    ["leak-repeats"],
    ["conformance"],
    ["fuzz-rewrite"],
    ["fuzz", "READER=pickle", "SECONDS=300"],
    ["fuzz", "READER=wire", "SECONDS=300"],
    ["fuzz", "READER=live", "SECONDS=300"],
    ["stdlib-check"],
    ["stdlib-check", "OUTCOMES=1"],
]


def main():
    can_fuzz = shutil.which("clang")
    rounds = [words for words in ROUNDS if can_fuzz or words[0] != "fuzz"]
    runs = [run_make(sys.argv[1], words) for words in rounds]
    code = table(runs)
    if not can_fuzz:
        print("make fuzz was left out: clang is not installed")
    return code


if __name__ == "__main__":
    sys.exit(main())
