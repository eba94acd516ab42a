# SPDX-License-Identifier: MIT
"""Profiled generators, one of which delegates to another. Return values of generators are not used, because some
profilers lose them."""
from common import profile, sized, timed


@profile
def numbers(count):
    for i in range(count):
        value = i * 3
        yield value


@profile
def evens(count):
    for value in numbers(count):
        if value & 1:
            continue
        yield value


@profile
def chained(count):
    yield from evens(count)
    yield from numbers(count)


@profile
def consume(count):
    total = 0
    for value in chained(count):
        total += value
    return total


timed(consume, sized(450_000))
