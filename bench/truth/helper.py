# SPDX-License-Identifier: MIT
"""A profiled helper of 20 lines beside an equally long call into C. The cost of the helper's events must not count for
the line that calls it."""
from spin import cost_of, main, profile, true_share


@profile
def helper(x):
    a = x + 1
    b = a * 3
    c = b ^ a
    d = c & 255
    e = d + b
    f = e - a
    g = f | 1
    h = g * 2
    i = h + d
    j = i ^ c
    k = j + 7
    l = k & 1023
    m = l - e
    n = m * m
    o = n + f
    p = o ^ h
    q = p & 4095
    r = q + i
    s = r - j
    return s + k


@profile
def whole(count, numbers):
    for _ in range(count):
        helper(3)  # measured
        sum(numbers)


def without(count, numbers):
    for _ in range(count):
        sum(numbers)


if __name__ == "__main__":
    main(lambda here, numbers, quick: [true_share(here["whole"], here["without"], numbers, quick)], whole,
         lambda: cost_of(helper, 3))
