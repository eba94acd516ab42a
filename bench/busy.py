# SPDX-License-Identifier: MIT
"""Checks profiles on a busy machine, where a program shares one processor with busy loops. Compares the program's total
with its wall time and with the bare program's, and the shares of its lines with those without memory."""
import os
import statistics
import subprocess
import sys

import variants as ways
from environment import HERE
from tables import Table

PROGRAM = os.path.join(HERE, "programs", "steps.py")
FUNCTION = "steps"
LOOPS = 2


def measure(variants, options, say):
    """{variant: [(wall time, total, {line: share}), ..]} for the bare program and the variants of clineprof. Times are
    in seconds."""
    chosen = variants[:1] + [variant for variant in variants if variant.head[0] == ways.CKERNPROF]
    found = {variant.name: [] for variant in chosen}
    loops = [subprocess.Popen([*pinned(), sys.executable, "-c", "while True: pass"])
             for _ in range(LOOPS)]
    try:
        for turn in range(options.rounds):
            say(f"busy machine, round {turn + 1}")
            for variant in chosen:
                run = ways.execute(variant, PROGRAM, [options.scale], wrapper=pinned())
                if not run.failure:
                    found[variant.name].append(outcome(run))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return {name: past for name, past in found.items() if past}


def pinned():
    return ["taskset", "-c", str(max(os.sched_getaffinity(0)))]


def outcome(run):
    if not run.functions:
        return run.seconds, run.seconds, {}
    function = run.functions[FUNCTION]
    shares = {line: time / function.total for line, (_, time) in function.lines.items()}
    return run.seconds, function.total / 1e9, shares


def shares_of(past):
    """{line: median of its share over the rounds}"""
    lines = set().union(*(shares for *_, shares in past))
    return {line: statistics.median(shares.get(line, 0) for *_, shares in past) for line in lines}


def tables(found):
    (_, bare), *others = found.items()
    wall = statistics.median(seconds for seconds, *_ in bare)
    rows = []
    for name, past in others:
        own = statistics.median(total / seconds for seconds, total, _ in past)
        total = statistics.median(total for _, total, _ in past)
        plain, ours = found.get(name.removesuffix("+memory")), shares_of(past)
        off = (max(abs(ours[line] - share) for line, share in shares_of(plain).items())
               if plain and plain is not past else None)
        rows.append([name, f"{100 * (own - 1):+.1f} %", f"{100 * (total / wall - 1):+.1f} %",
                     "-" if off is None else f"{100 * off:.1f}"])
    seconds = [seconds for seconds, *_ in bare]
    yield Table("Busy machine", f"On one processor with {LOOPS} busy loops, medians. Own wall: the function's total "
                "against the wall time of its run, which also has the cost of the profiler's events. Bare wall: the "
                "total against the bare program. Share: the largest difference of a line's share with and without "
                "memory, in percentage points.",
                ["variant", "own wall", "bare wall", "share"], rows,
                [f"the bare program took {min(seconds):.2f} to {max(seconds):.2f} s"])
