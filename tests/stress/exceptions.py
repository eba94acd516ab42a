# SPDX-License-Identifier: MIT
"""Exceptions through many frames, and context managers. `hits: N` as in threads.py."""
import contextlib
import sys


def raises(n):
    if n:
        raises(n - 1)       # hits: 2000
    raise KeyError(n)       # hits: 100


def catches():
    try:
        raises(20)          # hits: 100
    except KeyError as error:
        kept.append(error)  # hits: 100
    finally:
        kept.append(None)   # hits: 100
    return 1                # hits: 100


def chains():
    try:
        try:
            1 / 0           # hits: 100
        except ZeroDivisionError as error:
            raise ValueError from error   # hits: 100
    except ValueError:
        return 2            # hits: 100


@contextlib.contextmanager
def opened(log):
    log.append("in")        # hits: 300
    try:
        yield log           # hits: 300
    finally:
        log.append("out")   # hits: 300


def swallows(log):
    with contextlib.suppress(OSError), opened(log):
        raise OSError       # hits: 100
    return 3                # hits: 100


def stacks(log):
    with contextlib.ExitStack() as stack:
        stack.enter_context(opened(log))   # hits: 100
        stack.callback(log.append, "called")   # hits: 100
        return 4            # hits: 100


def nested(log):
    with opened(log):
        for i in range(3):
            try:
                continue    # hits: 300
            finally:
                log.append(i)   # hits: 300


def too_deep():
    return too_deep()       # deep


kept, log = [], []
for i in range(100):
    catches(), chains(), swallows(log), stacks(log), nested(log)
kept.clear()
sys.setrecursionlimit(200)
for i in range(10):
    with contextlib.suppress(RecursionError):
        too_deep()
print(len(log), {word: log.count(word) for word in ("in", "out", "called")})
