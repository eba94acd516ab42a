# SPDX-License-Identifier: MIT
"""Profiler(context=): only what runs where a context variable holds the profiler counts, to the hit."""
import contextvars
import gc
import sys

import pytest
from harness import BUILD, SANITIZED, TRACER, run_python

import clineprof

# Every line with a mark counts itself where the program is in the context, and the profiler must have the same number.
HEAD = f"""
import asyncio, collections, contextvars, linecache, random, sys, threading
import clineprof
TRACER = {TRACER!r}
VARIABLE = contextvars.ContextVar("request")
profiler = clineprof.Profiler(tracer=TRACER, memory=False, started=False, context=VARIABLE)
OUTSIDE = contextvars.Context()
INSIDE = contextvars.Context()
INSIDE.run(VARIABLE.set, profiler)
marks = []  # a pair for each: appending is one step, and "+= 1" loses what another thread adds in its midst

def mark():
    marks.append((sys._getframe(1).f_lineno, VARIABLE.get(None) is profiler))

def is_inside():
    return VARIABLE.get(None) is profiler

def check():
    # the marked lines, each with (the program's own number, the profiler's)
    all_marks = collections.Counter(line for line, inside in marks)
    counted = collections.Counter(line for line, inside in marks if inside)
    found = collections.Counter()
    for function in profiler.snapshot()["functions"]:
        lines = function["lines"]
        found.update({{line: hits for line, hits in zip(lines.get("line", []), lines.get("hits", []))
                      if "mark()" in linecache.getline(__file__, line)}})
    wrong = {{line: (counted[line], found[line]) for line in set(all_marks) | set(found)
             if counted[line] != found[line]}}
    print(wrong, "some" if 0 < sum(counted.values()) < sum(all_marks.values()) else (counted, all_marks))
"""


def lines_of(program, folder, *arguments):
    (folder / "it.py").write_text(HEAD + program)
    ended = run_python(["it.py", *arguments], folder, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


@pytest.mark.parametrize("seed", range(2 if SANITIZED else 6))
def test_any_mixture_of_calls_generators_exceptions_threads_and_contexts(seed, tmp_path):
    """Bodies of the same function lie above each other on one stack, some in the context and some not."""
    assert lines_of("""
def plain(depth):
    mark()
    value = call(depth - 1); mark()
    return value + len(str(mark()))

def one_line(depth): return call(depth - 1) + (mark() or 0)

def steps(depth):
    mark()
    for number in range(3):
        mark()
        call(depth - 2)
        mark(); yield number
    mark()

def consumer(depth):
    mark()
    generator = steps(depth)
    for _ in range(randomly.randrange(5)):
        mark()
        anywhere(next, generator, None); mark()
    if randomly.random() < 0.5:
        anywhere(generator.close); mark()
    return 0

def raising(depth):
    mark()
    try:
        call(depth - 1); mark()
        mark(); anywhere(fails, depth)
    except ValueError:
        mark()
    finally:
        mark()
    return 0

def fails(depth):
    mark()
    try:
        call(depth - 1)
        raise ValueError
    finally:
        mark()

async def coroutine(depth):
    mark()
    for _ in range(2):
        call(depth - 2)
        await asyncio.sleep(0); mark()
    return 0

async def tasks(depth):
    mark()
    started = []
    for _ in range(4):
        mark(); started.append(anywhere(asyncio.ensure_future, coroutine(depth)))
    mark(); await asyncio.gather(*started)
    mark()

def loop(depth):
    mark()
    def run_all():
        asyncio.run(tasks(depth))
    thread = threading.Thread(target=anywhere, args=(run_all,)); mark()
    thread.start()
    thread.join(); mark()
    return 0

def threaded(depth):
    mark()
    thread = threading.Thread(target=anywhere, args=(call, depth - 1)); mark()
    thread.start()
    thread.join(); mark()
    return 0

def anywhere(function, *arguments):
    where = randomly.random()
    if where < 0.4:
        return function(*arguments)
    return (INSIDE if where < 0.7 else OUTSIDE).copy().run(function, *arguments)

def call(depth):
    if depth <= 0:
        return 0
    function = randomly.choice([plain, plain, one_line, consumer, raising, raising, threaded, loop])
    return anywhere(function, depth) or 0

randomly = random.Random(int(sys.argv[1]))
for function in plain, one_line, steps, consumer, raising, fails, coroutine, tasks, loop, threaded:
    profiler(function)
profiler.start()
for _ in range(60):
    call(8)
profiler.stop()
check()
""", tmp_path, str(seed)) == ["{} some"]


def test_a_body_below_one_that_does_not_count_ends_when_it_returns(tmp_path):
    """Otherwise it would stay on the stack, and seem to call what runs next."""
    assert lines_of("""
def calls(other): return other.run(calls, None) if other is not None else 1

def raises(other):
    other.run(raises, None) if other is not None else [][0]

def yields(other):
    yield other.run(list, yields(None)) if other is not None else 1

def next_one():
    pass

def tolerated(function, *arguments):
    try:
        function(*arguments)
    except IndexError:
        pass

for function in calls, raises, yields, next_one:
    profiler(function)
profiler.start()
INSIDE.run(calls, OUTSIDE)
INSIDE.run(next_one)
tolerated(INSIDE.run, raises, OUTSIDE)
INSIDE.run(next_one)
generator = yields(OUTSIDE)
INSIDE.run(next, generator)
INSIDE.run(next_one)
profiler.stop()
profile = clineprof.Profile(profiler.snapshot())
print(sorted((edge.callee.name, edge.calls, edge.caller and edge.caller.name) for edge in profile.edges))
print({function.name: function["hits"] for function in profile.functions})
""", tmp_path) == ["[('calls', 1, None), ('next_one', 3, None), ('raises', 1, None), ('yields', 1, None)]",
                   "{'calls': [1], 'raises': [1], 'yields': [1], 'next_one': [3]}"]


def test_a_task_and_its_tasks_among_fifty_others(tmp_path):
    assert lines_of("""
async def child(n):
    mark()
    for _ in range(n):
        await asyncio.sleep(0); mark()

async def request(n):
    mark()
    task = asyncio.create_task(child(n)); mark()
    for _ in range(n):
        await asyncio.sleep(0); mark()
        helper(n)
    await task; mark()
    await asyncio.to_thread(helper, n); mark()

def helper(n):
    for _ in range(n):
        mark()

async def profiled(n):
    VARIABLE.set(profiler)
    await request(n)

async def main():
    others = [asyncio.create_task(request(n)) for n in range(50)]
    await asyncio.sleep(0)
    profiler.start()
    await asyncio.create_task(profiled(20))
    await asyncio.gather(*others)
    profiler.stop()

for function in child, request, helper:
    profiler(function)
asyncio.run(main())
check()
""", tmp_path) == ["{} some"]


def test_a_thread_without_the_context_does_not_count_and_a_copy_does(tmp_path):
    assert lines_of("""
def work():
    mark()

def request():
    VARIABLE.set(profiler)
    for target, arguments in (work, ()), (contextvars.copy_context().run, (work,)):
        thread = threading.Thread(target=target, args=arguments, **NOTHING)
        thread.start()
        thread.join()

NOTHING = {"context": contextvars.Context()} if sys.version_info >= (3, 14) else {}
profiler(work)
profiler.start()
contextvars.copy_context().run(request)
profiler.stop()
check()
""", tmp_path) == ["{} some"]


def test_another_profiler_that_counts_comes_first(tmp_path):
    """What one event adds cannot be told apart, so the limited profiler stops, and says so."""
    assert lines_of("""
def f():
    mark()

def hits(profiler):
    return [one["lines"].get("hits") for one in profiler.snapshot()["functions"]]

profiler(f)
profiler.start()
INSIDE.run(f)
other = clineprof.Profiler(tracer=TRACER, memory=False, started=False)
other(f)
print(profiler.displaced())
other.start()
INSIDE.run(f)
f()
print(profiler.displaced(), hits(profiler), hits(other), profiler)
profiler.stop()
profiler.start()                    # the other one still counts
INSIDE.run(f)
print(profiler.displaced(), hits(profiler), hits(other))
other.stop()
profiler.stop()
profiler.start()
INSIDE.run(f)
f()
print(profiler.displaced(), hits(profiler), hits(other))
second = clineprof.Profiler(tracer=TRACER, memory=False, context=VARIABLE)
print(profiler.displaced(), second.displaced())
""", tmp_path) == [
        "False",
        "True [[1]] [[2]] <clineprof.Profiler: another Profiler counts, tracer %s, 1 function>"
        % (TRACER or clineprof.tracers()[0]),
        "True [[1]] [[3]]",
        "False [[2]] [[3]]",
        "False True"]  # fmt: skip


def test_gate_pause_and_functions_that_are_added_while_it_counts(tmp_path):
    assert lines_of("""
def f():
    mark()

def g():
    mark()

def both():
    INSIDE.run(f)
    INSIDE.run(g)
    f()
    g()

def hits():
    return {one["name"]: one["lines"].get("hits") for one in profiler.snapshot()["functions"]}

profiler(f)
profiler.start()
both()
profiler(g)
both()
print(hits())
profiler.gate(False)
both()
profiler.gate(True)
profiler.pause()
both()
profiler.resume()
both()
print(hits())
profiler.remove_function(f)
both()
print(hits())
profiler.reset()
both()
print(hits()["g"])
""", tmp_path) == ["{'f': [2], 'g': [1]}", "{'f': [3], 'g': [2]}", "{'f': [3], 'g': [3]}", "[1]"]


def test_with_blocks_ask_too(tmp_path):
    assert lines_of("""
def f(other=None):
    mark()
    with profiler.block("block"):
        mark()
        if other is not None:
            other.copy().run(f)
        mark()
    mark()

profiler(f)
profiler.start()
INSIDE.run(f, OUTSIDE)
OUTSIDE.run(f, INSIDE)
f()
profiler.stop()
print({one["name"]: one["lines"]["hits"] for one in profiler.snapshot()["functions"]})
""", tmp_path) == ["{'f': [2, 4, 2, 2, 1, 2, 2], 'block': [2, 2, 1, 2]}"]


def test_the_variable_of_another_profiler_is_not_ours(tmp_path):
    """A task that an earlier profiled request has left behind still has that one's profiler in its context."""
    assert lines_of("""
def f():
    mark()

old = contextvars.Context()
old.run(VARIABLE.set, clineprof.Profiler(tracer=TRACER, memory=False, started=False, context=VARIABLE))
profiler(f)
profiler.start()
old.run(f)
INSIDE.run(f)
profiler.stop()
check()
""", tmp_path) == ["{} some"]


def test_what_is_no_context_variable():
    with pytest.raises(TypeError, match="context is a contextvars.ContextVar or None, not 'request'"):
        clineprof.Profiler(context="request")
    assert clineprof.Profiler(tracer=TRACER, memory=False, started=False, context=None).running is False


def test_a_closed_profiler_keeps_no_variable():
    variable = contextvars.ContextVar("request")
    before = sys.getrefcount(variable)
    profiler = clineprof.Profiler(tracer=TRACER, memory=False, context=variable)
    assert sys.getrefcount(variable) == before + 1
    profiler.close()
    del profiler
    gc.collect()
    assert sys.getrefcount(variable) == before


def test_a_body_that_runs_when_the_window_opens_does_not_count(tmp_path):
    """Nor does one in which the context changes later: bodies count from where they begin or resume."""
    assert lines_of("""
@profiler
def runs():
    profiler.start()
    not_counted = 1

@profiler
def enters():
    VARIABLE.set(profiler)
    not_counted = 2
    VARIABLE.set(None)

@profiler
def begins():
    counted = 3

INSIDE.run(runs)
enters()
INSIDE.run(begins)
for function in profiler.snapshot()["functions"]:
    lines = function["lines"]
    print(function["name"], [linecache.getline(__file__, line).strip() for line, hits in
                             zip(lines.get("line", []), lines.get("hits", [])) if hits])
""", tmp_path) == ["runs []", "enters []", "begins ['counted = 3']"]
