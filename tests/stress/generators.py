# SPDX-License-Identifier: MIT
"""Generators that are driven, left, closed, thrown into and forgotten. `hits: N` as in threads.py."""
import gc


def plain(n):
    for i in range(n):
        got = yield i       # hits: 5110
    return n                # hits: 100


def delegates(n):
    value = yield from plain(n)   # hits: 100
    return value            # hits: 100


def cleans(log):
    try:
        yield 1             # hits: 400
        yield 2             # hits: 100
    except KeyError:
        log.append("key")   # hits: 100
        yield 3             # hits: 100
    finally:
        log.append("end")   # hits: 400


def expression(n):
    return sum(i for i in range(n))   # expression


def last(generator):
    while True:
        try:
            next(generator)
        except StopIteration as stop:
            return stop.value


log = []
print(sum(last(delegates(50)) for i in range(100)))
for i in range(10):         # taken once, and left
    next(plain(10))
for i in range(100):        # closed at the first yield
    closed = cleans(log)
    next(closed)
    closed.close()
for i in range(100):        # runs through
    for value in cleans(log):
        pass
for i in range(100):        # thrown into, goes on in its handler
    thrown = cleans(log)
    next(thrown)
    thrown.throw(KeyError("x"))
    thrown.close()
for i in range(100):        # forgotten in a ring
    ring = [cleans(log)]
    ring.append(ring)
    next(ring[0])
    del ring
gc.collect()
nested = [plain(1) for i in range(100)]
for generator in nested:    # all open at once
    next(generator)
for generator in reversed(nested):
    generator.close()
print(log.count("key"), log.count("end"), expression(100))
