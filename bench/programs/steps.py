# SPDX-License-Identifier: MIT
"""Lines of up to 1,000 microseconds that compute, allocate, and touch and free memory. The rounds of the loop differ in
length, or the system could interrupt the same line each time."""
import random

from common import profile, sized, timed

CHOICE = random.Random(1)


def work(count):
    total = 0
    for i in range(count):
        total += i * i
    return total


@profile
def steps(count):
    kept = []
    for i in range(count):
        work(CHOICE.randrange(20000))
        work(CHOICE.randrange(10000))
        kept.append(bytes(40000))
        x = list(range(2000))
        y = bytearray(300000)
        del x, y
        work(CHOICE.randrange(4000))
        kept[i // 2] = None


timed(steps, sized(1500))
