# SPDX-License-Identifier: MIT
"""Lines that call a C function of known cost. Arguments: a factor, how many items sum() adds, the number of iterations.
Lines that are long enough make a profiler read memory at each of them."""
import sys

from common import profile, sized, timed


@profile
def call(numbers, count):
    for _ in range(count):
        sum(numbers)
        sum(numbers)
        sum(numbers)
        sum(numbers)


items, iterations = map(int, sys.argv[2:])
timed(call, (1,) * items, sized(iterations))
