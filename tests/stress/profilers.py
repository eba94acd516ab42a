# SPDX-License-Identifier: MIT
"""Profilers that are made, selected with, started, stopped, read, closed and dropped by several threads at
once, the first of the process among them, while others run what is selected, fork, raise signals, collect
garbage, switch greenlets, generate code and make copies of code. Each checks its own numbers; one that stays open has all. `hits: N` as in
threads.py. The argument names the tracer."""
import gc
import itertools
import os
import random
import signal
import sys
import threading
import time
import types
import warnings

import clineprof

try:
    import greenlet
except ImportError:
    greenlet = None

TRACER = sys.argv[1] if sys.argv[1:] else None
MAKERS, RUNNERS, ROUNDS = 4, 3, 25
OWN = "def own(n):\n    for i in range(n):\n        pass\n    return n\n"
numbers = itertools.count()
sys.setswitchinterval(1e-6)
warnings.simplefilter("ignore", DeprecationWarning)   # forks beside threads


def counts(n):
    for i in range(n):
        i += 1              # hits: 6000
    return n                # hits: 600


def yields(n):
    for i in range(n):
        yield i             # hits: 3000


def recurses(n):
    if n:
        return recurses(n - 1)    # hits: 3000
    return 0                # hits: 300


def raises(n):
    try:
        return [][n]        # hits: 300
    except IndexError:
        return n            # hits: 300


def new(**options):
    return clineprof.Profiler(tracer=TRACER, **options)


def hits(profiler, name):
    """Of the lines of a function that ran, from the top."""
    [found] = [one for one in profiler.snapshot()["functions"] if one["name"].endswith(name)]
    return [n for n in found["lines"].get("hits", []) if n]


def wrong(what, got, expected):
    if got != expected:
        errors.append("%s: %r is not %r" % (what, got, expected))


def guarded(work):
    def run(*arguments):
        try:
            work(*arguments)
        except BaseException as error:
            errors.append("%s: %r" % (work.__name__, error))
    return run


def made():
    """A function that nobody else has, nor its code."""
    names = {}
    exec(compile(OWN, "<own %d>" % next(numbers), "exec"), names)
    return names["own"]


def changes(profiler, own, chance):
    """Whatever leaves the window open."""
    for change in chance.sample(range(6), 3):
        if change == 0:
            profiler.stop()
            own(3)
            profiler.start()
        elif change == 1:
            profiler.gate(False)
            own(3)
            profiler.gate(True)
        elif change == 2:
            profiler(counts), profiler(yields), profiler(recurses)
        elif change == 3:
            profiler.remove_function(counts)
        elif change == 4:
            profiler.snapshot()
        else:
            with profiler.block("a part"):
                os.getpid()


@guarded
def makes(seed, together):
    chance = random.Random(seed)
    together.wait()
    for i in range(ROUNDS):
        profiler, own = new(), made()
        profiler(own)
        own(4)
        changes(profiler, own, chance)
        wrong("own", hits(profiler, "own"), [5, 4, 1])
        profiler.reset()
        own(2)
        wrong("own again", hits(profiler, "own"), [3, 2, 1])
        if chance.random() < .5:
            profiler.close()


@guarded
def closes_anothers(passed):
    """A profiler that one thread uses and another one closes."""
    for i in range(ROUNDS):
        profiler = new()
        passed.append(profiler)
        try:
            while True:
                profiler(counts), profiler.stop(), profiler.start(), profiler.snapshot()
        except ValueError as error:
            wrong("closed", "closed" in str(error), True)


@guarded
def closes(passed, user):
    while user.is_alive():
        if passed:
            passed.pop().close()
        time.sleep(.0005)


@guarded
def runs():
    for i in range(100):
        counts(10), counts(10)
        wrong("sum", sum(yields(10)), 45)
        recurses(10), raises(1)


@guarded
def forks():
    """Children count on, by profilers of their own and of before."""
    try:
        for i in range(4):
            forks_once()
    finally:
        forked.set()


def forks_once():
    profiler, own = new(), made()
    profiler(own)
    own(2)
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            own(2)
            late, later = new(), made()
            late(later)
            later(7)
            right = hits(profiler, "own") == [6, 4, 2] and hits(late, "own") == [8, 7, 1]
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    wrong("child", os.waitpid(child, 0)[1], 0)


@guarded
def switches():
    """Two greenlets within a function, one of which makes and closes profilers. The end of a thread with greenlets
    takes a mutex of greenlet, which a child that is forked then never gets: so this one ends after all forks."""
    def own(n):
        for i in range(n):
            other.switch()
        return n

    def turns():
        while True:
            inner = new()
            inner(counts)
            greenlet.getcurrent().parent.switch()
            inner.close()

    for i in range(5):
        other = greenlet.greenlet(turns)
        profiler = new()
        profiler(own)
        own(5)
        wrong("switches", hits(profiler, "own"), [6, 5, 1])
    forked.wait()


@guarded
def generates():
    """Functions from exec(), each a version of the same one with its own text, and copies of their code."""
    for i in range(ROUNDS):
        profiler, names = new(), {}
        number = next(numbers)
        text = OWN if i % 2 else OWN.replace("pass", "pass; %d + n" % number)
        exec(compile(text + "# %d\n" % number, "<versions>", "exec"), names)
        own = names["own"]
        profiler(own)
        own(4)
        wrong("version", hits(profiler, "own"), [5, 4, 1])
        copy = types.FunctionType(own.__code__.replace(co_consts=own.__code__.co_consts + (number,)), {})
        copy(4)
        wrong("version and its copy", hits(profiler, "own"), [10, 8, 2])
        exec("lines = %d" % number, {})
        profiler(counts)


@guarded
def exchanges():
    """Code that is given to a function while others select, start and stop it."""
    first, second = made(), made()
    plain = first.__code__, second.__code__
    for i in range(ROUNDS * 4):
        profiler = new()
        profiler(first), profiler(second)
        first.__code__, second.__code__ = plain
        wrong("result", (first(2), second(3)), (2, 3))
        profiler.stop()
        second.__code__ = first.__code__
        profiler.close()


class Cycle:
    """Its finalizer makes a profiler, and drops another one that is open."""

    def __init__(self):
        self.me, self.profiler = self, new()
        self.profiler(counts)

    def __del__(self):
        inner = new()
        inner(raises)
        inner.close()


@guarded
def collects():
    for i in range(20):
        Cycle()
        if i % 5 == 0:
            gc.collect()


def on_signal(number, frame):
    if handling:
        return
    handling.append(True)
    profiler = new(started=len(kept) % 2 == 0)
    profiler(recurses)
    kept.append(profiler)
    if len(kept) > 3:
        kept.pop(0).close()
        kept.pop(0)
    handling.pop()


def main():
    together = threading.Barrier(MAKERS + 1)
    makers = [threading.Thread(target=makes, args=(seed, together)) for seed in range(MAKERS)]
    for thread in makers:
        thread.start()
    together.wait()
    signal.setitimer(signal.ITIMER_REAL, .003, .003)
    always = new()
    always(counts), always(yields), always(recurses), always(raises)
    passed = []
    user = threading.Thread(target=closes_anothers, args=(passed,))
    others = [threading.Thread(target=work) for work in
              [runs] * RUNNERS + [forks, collects, generates, exchanges] + [switches] * (greenlet is not None)]
    others += [user, threading.Thread(target=closes, args=(passed, user))]
    for thread in others:
        thread.start()
    for thread in makers + others:
        thread.join()
    signal.setitimer(signal.ITIMER_REAL, 0)
    wrong("counts", hits(always, "counts")[1:], [6000, 600])
    wrong("yields", hits(always, "yields")[1], 3000)
    wrong("recurses", hits(always, "recurses"), [3300, 3000, 300])
    del kept[:], always
    gc.collect()
    own = counts.__code__
    probe = new(started=False)
    probe(counts)
    wrong("code", counts.__code__ is own, True)


errors, kept, handling = [], [], []
forked = threading.Event()
clineprof.Profiler  # a signal handler cannot go on with an import that it has interrupted
gc.set_threshold(50)
signal.signal(signal.SIGALRM, on_signal)
main()
print(sorted(set(errors))[:5])
