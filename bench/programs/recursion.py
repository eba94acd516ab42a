# SPDX-License-Identifier: MIT
"""Recursion: calls between profiled frames, two lines each."""
from common import profile, sized, timed


@profile
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def repeat(times):
    for _ in range(times):
        fib(17)


timed(repeat, sized(480))
