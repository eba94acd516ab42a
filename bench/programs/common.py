# SPDX-License-Identifier: MIT
"""The parts that all programs here share: the decorator, the size, and the timing.

A program prints one number, the seconds that its own work took. So the time to start the interpreter and the
profiler is not included.
"""
import builtins
import os
import sys
import time


def unchanged(function):
    return function


profile = getattr(builtins, "profile", unchanged)


def sized(count):
    """`count` times the factor on the command line, with which --quick asks for less work."""
    return max(1, int(count * float(sys.argv[1]))) if len(sys.argv) > 1 else count


def timed(body, *args):
    clock = getattr(time, os.environ.get("BENCH_CLOCK", "perf_counter"))
    started = clock()
    body(*args)
    print("%.9f" % (clock() - started))


def cost_of(function, *args, seconds=0.002, batches=25):
    """The nanoseconds of one call, from the fastest of several batches, because noise only adds time."""
    clock, count, best = time.perf_counter_ns, 1, 0
    while best < seconds * 1e9:
        count *= 2
        best = batch(function, args, count, clock)
    return min(batch(function, args, count, clock) for _ in range(batches)) / count


def batch(function, args, count, clock):
    rest = range(count)
    started = clock()
    for _ in rest:
        function(*args)
    return clock() - started


def items_costing(nanoseconds):
    """How many items sum() must add to take this long. This is the C call of known cost in all programs."""
    few, many = 50, 5050
    low, high = cost_of(sum, (1,) * few), cost_of(sum, (1,) * many)
    each = (high - low) / (many - few)
    return max(0, round(few + (nanoseconds - low) / each))
