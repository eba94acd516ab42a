# SPDX-License-Identifier: MIT
"""What every program here shares: the decorator, a size, and how its work is timed.

A program prints one number, the seconds its own work took, so that starting the interpreter and
the profiler is not in it.
"""
import builtins
import sys
import time


def unchanged(function):
    return function


profile = getattr(builtins, "profile", unchanged)


def sized(count):
    """count, times the factor on the command line, so that --quick can ask for less."""
    return max(1, int(count * float(sys.argv[1]))) if len(sys.argv) > 1 else count


def timed(body, *args):
    started = time.perf_counter()
    body(*args)
    print("%.9f" % (time.perf_counter() - started))


def cost_of(function, *args, seconds=0.002, batches=25):
    """Nanoseconds of one call, the fastest of several batches: noise only ever adds."""
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
    """How many ones sum() must add to take that long: the C call of known cost used throughout."""
    few, many = 50, 5050
    low, high = cost_of(sum, (1,) * few), cost_of(sum, (1,) * many)
    each = (high - low) / (many - few)
    return max(0, round(few + (nanoseconds - low) / each))
