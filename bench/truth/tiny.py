# SPDX-License-Identifier: MIT
"""Ten tiny lines beside a call of 200 ns. Shows whether the cost of the profiler's events counts as their time."""
from spin import main, profile, shares_alone


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


if __name__ == "__main__":
    main(lambda here, numbers, quick: [sum(shares_alone(__file__, here["whole"], numbers, quick))], whole, lambda: 200)
