# SPDX-License-Identifier: MIT
"""fixtures/heap/truth.py, under tracemalloc and under ckernprof with every block followed."""

import collections
import json
import re
from typing import NamedTuple

import harness

PROGRAM = harness.FIXTURES / "heap" / "truth.py"
# Everything reads the clock or the allocator alike in two runs but for the order of sets of strings.
STEADY = {"PYTHONHASHSEED": "0"}


class Row(NamedTuple):
    what: str  # the line's comment
    line: int
    reused: bool  # of objects that the interpreter keeps for reuse
    theirs: int  # bytes alive at the end, as tracemalloc counts them
    ours: int


def alive_by_tracemalloc(folder):
    ended = harness.run_python([PROGRAM, "traced"], folder, env=STEADY)
    assert ended.code == 0, ended.err
    return {int(line): size for line, size in json.loads(ended.out).items()}


def alive_by_clineprof(folder, *options):
    exact = ["-l", "-q", "-p", PROGRAM, "--heap", "--heap-interval=1", "-o", "truth.lprof"]
    ended = harness.run_ckernprof([*exact, *options, PROGRAM], folder, env=STEADY)
    assert ended.code == 0, ended.err
    found = collections.Counter()
    for function in ended.profile("truth.lprof").functions.values():
        found.update(harness.Profile.measure(function, "live"))
    return found


def rows(folder, *options):
    theirs, ours = alive_by_tracemalloc(folder), alive_by_clineprof(folder, *options)
    reused = harness.line_of(PROGRAM, "def reused():")
    found = []
    for number, text in enumerate(PROGRAM.read_text("utf-8").splitlines(), 1):
        comment = re.search(r"\S  # (.*)", text)
        if comment and not comment[1].startswith("empties"):
            found.append(Row(comment[1], number, number > reused, theirs.get(number, 0), ours[number]))
    return found
