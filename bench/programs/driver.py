# SPDX-License-Identifier: MIT
"""A profiled driver that calls functions which are not profiled. These functions should not become slower.

The argument is a factor for the work inside each call; the driver always runs the same number of lines.
"""
from common import profile, sized, timed


def digits(number):
    total = 0
    while number:
        number, digit = divmod(number, 10)
        total += digit
    return total


def squares(count):
    table = {}
    for i in range(count):
        table[i] = i * i
    return table


def work(count):
    total = 0
    for i in range(count):
        total += digits(i)
    return total + len(squares(count))


@profile
def drive(calls, count):
    results = []
    for i in range(calls):
        results.append(work(count))
        if i % 10 == 0:
            results.clear()
    return results


timed(drive, 100, sized(2_500))
