# SPDX-License-Identifier: MIT
"""Generators under the profiler: they do what they do without it, and their hits are known by hand."""

import sys

import pytest
from comparing import hits_at, run_alone_and_profiled
from harness import (
    differences,
    line_of,
    reference,
    run_ckernprof,
    steady,
    tried_again,
)

NO_PROFILE = """
try: profile
except NameError:
    def profile(thing): return thing
"""

# Each ends with hits by mark.
PROGRAMS = {
    "return values and send": (
        """
@profile
def counts(n):
    got = yield n           # first
    while got is not None:
        got = yield got * 2     # again
    return "done"           # returns

one = counts(1)
print(next(one), one.send(4), one.send(5))
try: one.send(None)
except StopIteration as stop: print(stop.value)
print(list(counts(2)))
""",
        {"first": 2, "again": 2, "returns": 2},
    ),
    "throw": (
        """
@profile
def catches():
    while True:
        try:
            yield "ready"           # ready
        except ValueError as error:
            yield repr(error)       # caught
        finally:
            print("finally")        # finally

one = catches()
print(next(one), one.throw(ValueError("a")), next(one), one.throw(ValueError("b")))
try: one.throw(KeyError("c"))
except KeyError as error: print(repr(error), error.__context__)
try: one.throw(KeyError("d"))
except KeyError as error: print(repr(error))
fresh = catches()
try: fresh.throw(OSError("never begun"))
except OSError as error: print(repr(error))
""",
        None,
    ),
    "close": (
        """
@profile
def closes():
    try:
        yield 1             # suspended
    finally:
        print("closed")     # cleans up

@profile
def refuses():
    while True:
        try: yield 1
        except GeneratorExit: yield 2       # refuses

one = closes()
next(one); one.close(); one.close()
closes().close()
two = refuses()
next(two)
try: two.close()
except RuntimeError as error: print(error)
""",
        {"suspended": 1, "cleans up": 1, "refuses": 1},
    ),
    "yield from": (
        """
@profile
def inner():
    got = yield 1           # inner first
    try:
        yield got           # inner second
    except ValueError:
        yield "thrown"      # inner third
    return "result"         # inner returns

@profile
def outer():
    result = yield from inner()     # delegates
    yield result                    # outer yields
    yield from [7, 8]               # a list
    return (yield from ())

one = outer()
print(next(one), one.send("sent"), one.throw(ValueError), next(one), list(one))
two = outer(); next(two); two.close()
""",
        {"inner first": 2, "inner second": 1, "inner third": 1, "inner returns": 1,
         "outer yields": 1, "a list": 1},
    ),
    "context managers": (
        """
import contextlib

@contextlib.contextmanager
@profile
def managed(swallows):
    print("enter")          # enters
    try:
        yield 5             # inside
    except ValueError:
        if not swallows: raise      # raises
    finally:
        print("exit")       # leaves

@profile
def uses():
    with managed(True) as five:         # head
        print(five)
    with managed(True): raise ValueError
    try:
        with managed(False): raise ValueError("out")
    except ValueError as error: print(error)
    with contextlib.ExitStack() as stack:
        for _ in range(3): stack.enter_context(managed(True))
    return "used"

print(uses())
""",
        {"enters": 6, "inside": 6, "raises": 2},
    ),
    "collected half-way": (
        """
import gc, itertools

@profile
def endless(name):
    try:
        for n in itertools.count():
            yield n                     # yields
    finally:
        ENDED.append(name)              # ends

@profile
def drops():
    for k in range(50):
        one = endless(k)
        next(one), next(one)
        if k % 2: KEPT.append(one); one.send and KEPT.append(KEPT)
        del one
    KEPT.clear()
    gc.collect()
    return len(ENDED)                   # all of them

ENDED, KEPT = [], []
print(drops(), sorted(ENDED) == list(range(50)))
at_exit = endless("exit")
next(at_exit)
""",
        {"yields": 101, "ends": 50, "all of them": 1},
    ),
    "through the stack": (
        """
@profile
def leaf(n):
    if n == 3:
        raise LookupError(n)            # raises
    return n

@profile
def walk(n):
    for k in range(n):
        yield leaf(k)                   # steps
        yield from walk(k)              # deeper

@profile
def runs():
    try:
        return sum(walk(5))             # sums
    except LookupError as error:
        return repr(error)              # handles

print(runs())
import traceback
try: list(walk(4))
except LookupError as error: print([f.lineno for f in traceback.extract_tb(error.__traceback__)])
""",
        {"raises": 2, "sums": 1, "handles": 1},
    ),
    "the protocol itself": (
        """
import inspect, types

@profile
def gen():
    x = yield 1
    return x

@profile
@types.coroutine
def based():
    got = yield "from based"        # in based
    return got                      # returns

@profile
async def awaits():
    return await based()            # awaits

one = gen()
print(inspect.getgeneratorstate(one), inspect.isgeneratorfunction(gen), one.gi_running)
next(one)
print(inspect.getgeneratorstate(one), one.gi_frame.f_lineno - gen.__code__.co_firstlineno)
print(inspect.getgeneratorlocals(one), one.gi_yieldfrom)
two = awaits()
print(two.send(None), inspect.getcoroutinestate(two), two.cr_await is not None)
try: two.send("value")
except StopIteration as stop: print(stop.value)
def reenters():
    yield
    try: next(three)
    except ValueError as error: print(error)
    yield
three = profile(reenters)()
next(three), next(three)
try: print((yield_in_expression := [g for g in gen()]))
finally: pass
""",
        {"in based": 1, "returns": 1, "awaits": 1},
    ),
}


def compared(program, folder, env=None, name="program.py"):
    """Runs it bare and profiled: it must do the same, with the hits of the reference counter. Its path
    and the profile."""
    path, _, profile = run_alone_and_profiled(NO_PROFILE + program, folder, env, name)
    if "gc.collect" in program and sys.version_info < (3, 12):
        return path, profile  # what is collected in the reference's trace function is not traced
    assert differences(profile.hits(), reference(path, folder, env=env)[0]) == []
    return path, profile


@pytest.mark.parametrize("name", PROGRAMS)
def test_semantics_and_hits(name, tmp_path):
    program, hits = PROGRAMS[name]
    path, profile = compared(program, tmp_path)
    for mark, expected in (hits or {}).items():
        assert hits_at(profile, path, mark) == expected, mark


@pytest.mark.skipif(sys.version_info < (3, 12), reason="LINE is the reference")
def test_hits_where_exceptions_are_thrown_in(tmp_path):
    """A yield into which an exception is thrown begins its line again."""
    program, _ = PROGRAMS["throw"]
    path, profile = compared(program, tmp_path)
    assert hits_at(profile, path, "caught") == 2
    assert hits_at(profile, path, "finally") == 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_development_mode_is_clean(name, tmp_path):
    """`-X dev`: checks of memory, warnings of what was not closed."""
    compared(PROGRAMS[name][0], tmp_path, env={"PYTHONDEVMODE": "1"})


BALANCED = """
import gc

@profile
def gen(n):
    try:
        for k in range(n): yield k      # yields
    finally:
        END.append(n)

@profile
def caller():
    for n in range(200):
        one = gen(n)
        for k in one:
            if k == 3: break
        if n % 3 == 0: one.close()
        elif n % 3 == 1 and n > 4:
            try: one.throw(KeyError)
            except KeyError: pass
    del one
    return deep(50)                     # calls deep

@profile
def deep(n):
    if n == 0: return spin()            # at the bottom
    return deep(n - 1)

def spin():
    start = time.perf_counter_ns()
    while time.perf_counter_ns() - start < 20_000_000: sum(range(3000))
    return time.perf_counter_ns() - start

import time
END = []
print(caller())
"""


@tried_again
def test_the_stack_is_balanced_afterwards(tmp_path):
    """What was left in whatever way is off the stack: later times are not its."""
    (tmp_path / "program.py").write_text(NO_PROFILE + BALANCED)
    ended = run_ckernprof(["-l", "program.py"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    profile, spun = ended.profile(), int(ended.out.split()[0])
    path = tmp_path / "program.py"
    for name, mark in (("deep", "at the bottom"), ("caller", "calls deep")):
        time = profile.line(name, line_of(path, "# " + mark))["time"]
        steady(abs(time - spun) < 0.2 * spun + 3_000_000, mark, time, spun)

NOT_BEGUN = """
import contextlib

@profile
def gen():
    yield 1
@profile
async def co():
    return 1
@profile
async def agen():
    yield 1

def ends(step):
    with contextlib.suppress(KeyError, StopIteration):
        step()

for _ in range(50):
    gen()                                       # dropped
    gen().close()
    co().close()
    ends(lambda: gen().throw(KeyError))
    ends(lambda: co().throw(KeyError))
    ends(lambda: agen().athrow(KeyError).send(None))
next(gen())
ends(lambda: co().send(None))
ends(lambda: agen().__anext__().send(None))
"""


@pytest.mark.parametrize("name", ("gen", "co", "agen"))
def test_a_body_that_never_began_has_no_time(name, tmp_path):
    (tmp_path / "program.py").write_text(NO_PROFILE + NOT_BEGUN)
    ended = run_ckernprof(["-lq", "program.py"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    function = ended.profile().function(name)
    assert sum(function["lines"]["hits"]) == 1
    assert function["total"] == sum(function["lines"]["time"])
