# SPDX-License-Identifier: MIT
"""How the programs here are run, and how the truth is found.

Each has `whole(count, numbers)`, the profiled loop, and `without(count, numbers)`, the same less
the lines marked "# measured". What those lines cost is the difference of the two, timed with no
profiler; their true share is that difference over the whole.

    PROGRAM size             print how many items sum() must add for the C call of this program
    PROGRAM truth SIZE       time both loops in turns, print the share of the marked lines
    PROGRAM run SIZE COUNT   run the loop COUNT times: this one goes under a profiler
"""
import os
import statistics
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from common import cost_of, items_costing, profile, timed  # noqa: E402, F401 (for the cases, too)


def true_share(whole, without, numbers, repeats=61):
    count = loops_in(0.004, whole, numbers)
    pairs = [(once(whole, count, numbers), once(without, count, numbers)) for _ in range(repeats)]
    full, rest = (statistics.median(column) for column in zip(*pairs))
    return 1 - rest / full


def loops_in(seconds, whole, numbers):
    count = 1
    while once(whole, count, numbers) < seconds * 1e9:
        count *= 2
    return count


def once(function, count, numbers):
    started = time.perf_counter_ns()
    function(count, numbers)
    return time.perf_counter_ns() - started


def main(whole, without, nanoseconds):
    """nanoseconds: gives the cost that the C call should have."""
    command, *rest = sys.argv[1:]
    if command == "size":
        print(items_costing(nanoseconds()))
        return
    numbers = (1,) * int(rest[0])
    if command == "truth":
        print(true_share(whole, without, numbers))
    else:
        timed(whole, int(rest[1]), numbers)
