# SPDX-License-Identifier: MIT
"""Ten tiny lines beside a call of 200 ns: does the profiler charge them its own cost?"""
from spin import main, profile


@profile
def whole(count, numbers):
    for _ in range(count):
        a = 1  # measured
        b = 2  # measured
        c = 3  # measured
        d = a  # measured
        e = b  # measured
        f = c  # measured
        g = d  # measured
        h = e  # measured
        i = f  # measured
        j = g  # measured
        sum(numbers)
    return h, i, j


def without(count, numbers):
    for _ in range(count):
        sum(numbers)


main(whole, without, lambda: 200)
