# SPDX-License-Identifier: MIT
"""A function that is not profiled, beside an equally long call into C. Both should have the same share."""
from spin import cost_of, main, profile, true_share


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@profile
def whole(count, numbers):
    for _ in range(count):
        fib(12)  # measured
        sum(numbers)


def without(count, numbers):
    for _ in range(count):
        sum(numbers)


if __name__ == "__main__":
    main(lambda here, numbers, quick: [true_share(here["whole"], here["without"], numbers, quick)], whole,
         lambda: cost_of(fib, 12))
