# SPDX-License-Identifier: MIT
"""A tight loop: hardly any work per line, the worst case for a line profiler."""
from common import profile, sized, timed


@profile
def tight(count):
    total = 0
    for i in range(count):
        step = i & 7
        if step > 3:
            total += step
        else:
            total -= i
    return total


timed(tight, sized(2_000_000))
