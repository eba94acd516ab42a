# SPDX-License-Identifier: MIT
"""Time by line. Nothing here depends on how fast the machine is: sleeps have a known length at
least, and shares get wide room."""

import pytest
from harness import line_of, run_ckernprof

PROGRAM = '''
import asyncio, contextlib, threading, time

@profile
def two_lines():
    n = sum(range(100))    # quick
    time.sleep(0.05)       # slow
    return n

@profile
def callee():
    time.sleep(0.03)    # in callee

@profile
def caller():
    callee()            # calls
    time.sleep(0.01)    # own

@profile
def recursive(n):
    if n:
        recursive(n - 1)    # goes down
    time.sleep(0.01)        # at each level

@profile
def by_generator():
    for item in generator():    # next
        time.sleep(0.02)        # consumer
    return item

@profile
def generator():
    for i in range(3):
        yield i    # suspended

@profile
def delegating():
    yield from generator()    # delegates

async def unprofiled(seconds):
    await asyncio.sleep(seconds)

@profile
async def awaiting():
    await asyncio.sleep(0.05)    # awaits
    time.sleep(0.02)             # blocks
    await unprofiled(0.02)       # awaits through

@profile
async def task(busy, waiting):
    for _ in range(3):
        time.sleep(busy)                # task busy
        await asyncio.sleep(waiting)    # task waits

@profile
async def ticks():
    for i in range(3):
        yield i    # tick
        await asyncio.sleep(0.01)    # between ticks

@profile
async def slow_consumer():
    async for i in ticks():     # takes ticks
        time.sleep(0.02)        # works on ticks

@profile
def raises():
    time.sleep(0.02)    # before raising
    raise ValueError    # raising

@profile
def catches():
    try:
        raises()    # sees the error
    except ValueError:
        time.sleep(0.01)    # handles it

@contextlib.contextmanager
@profile
def managed():
    time.sleep(0.01)    # entering
    yield               # inside
    time.sleep(0.01)    # leaving

@profile
def with_block():
    with managed():         # head of with
        time.sleep(0.03)    # body of with

@profile
def in_threads(seconds):
    time.sleep(seconds)    # sleeps in parallel

two_lines()
caller()
recursive(3)
by_generator()
for _ in delegating(): time.sleep(0.01)
asyncio.run(awaiting())
async def together(): await asyncio.gather(task(0.01, 0), task(0.01, 0), task(0, 0.02))
asyncio.run(together())
asyncio.run(slow_consumer())
catches()
with_block()
threads = [threading.Thread(target=in_threads, args=(0.03,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
'''

MS = 10**6


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("time")
    (folder / "program.py").write_text(PROGRAM)
    ended = run_ckernprof(["-l", "program.py"], folder)
    assert (ended.err, ended.code) == ("", 0)
    return ended


@pytest.fixture(scope="module")
def profile(ran):
    return ran.profile()


@pytest.fixture(scope="module")
def line(ran, profile):
    path = ran.folder / "program.py"
    return lambda name, mark: profile.line(name, line_of(path, "# " + mark))


def test_shares(line, profile):
    slow = line("two_lines", "slow")
    assert slow["time"] > 0.9 * profile.function("two_lines")["total"]
    assert slow["time"] >= 49 * MS and slow["max"] <= slow["time"]
    assert line("two_lines", "quick")["time"] < 0.05 * slow["time"]


def test_callees(line):
    calls, inside, own = line("caller", "calls"), line("callee", "in callee"), line("caller", "own")
    assert calls["time"] >= inside["time"] * 0.99 >= 29 * MS
    assert calls["self"] < 0.1 * calls["time"]
    assert own["self"] >= 0.99 * own["time"] > 9 * MS


def test_recursion_counts_once(line, profile):
    sleeps, down = line("recursive", "at each level"), line("recursive", "goes down")
    total = profile.function("recursive")["total"]
    assert sleeps["hits"] == 4 and down["hits"] == 3
    assert 39 * MS <= sleeps["self"] <= total
    # the line's time has the sleeps of all four levels once; the call's line three of them once
    assert 39 * MS <= sleeps["time"] <= total * 1.001
    assert 29 * MS <= down["time"] <= total * 1.001
    assert down["self"] < 0.1 * sleeps["self"]


def test_suspended_time_is_not_time(line, profile):
    assert line("generator", "suspended")["time"] < 5 * MS
    assert line("generator", "suspended")["await"] == 0
    assert line("delegating", "delegates")["time"] < 5 * MS
    assert line("by_generator", "consumer")["time"] >= 59 * MS
    assert line("by_generator", "next")["time"] < 0.1 * line("by_generator", "consumer")["time"]
    assert profile.function("generator")["total"] < 5 * MS


def test_await(line, profile):
    awaits, through = line("awaiting", "awaits"), line("awaiting", "awaits through")
    assert awaits["await"] >= 49 * MS and awaits["time"] < 25 * MS
    assert through["await"] >= 19 * MS and through["time"] < 10 * MS
    blocks = line("awaiting", "blocks")
    assert blocks["await"] == 0 and blocks["time"] >= 19 * MS
    assert profile.function("awaiting")["total"] < awaits["await"]


def test_interleaving_tasks(line):
    busy, waits = line("task", "task busy"), line("task", "task waits")
    assert (busy["hits"], waits["hits"]) == (9, 9)
    assert busy["time"] >= 59 * MS and busy["await"] == 0
    # while one task was busy the others waited: that is await, never time
    assert waits["time"] < 0.2 * busy["time"]
    assert waits["await"] >= 59 * MS


def test_async_generator(line):
    assert line("slow_consumer", "works on ticks")["time"] >= 59 * MS
    assert line("slow_consumer", "takes ticks")["await"] >= 29 * MS
    assert line("ticks", "between ticks")["await"] >= 29 * MS
    assert line("ticks", "between ticks")["time"] < 15 * MS
    assert line("ticks", "tick")["time"] < 5 * MS


def test_exceptions(line):
    assert line("raises", "before raising")["time"] >= 19 * MS
    assert (line("raises", "raising")["hits"], line("catches", "sees the error")["hits"]) == (1, 1)
    assert line("catches", "sees the error")["time"] >= 19 * MS
    assert line("catches", "handles it")["time"] >= 9 * MS
    assert line("catches", "handles it")["time"] < line("catches", "sees the error")["time"] * 0.9


def test_context_manager(line):
    assert line("managed", "inside")["time"] < 5 * MS
    assert line("managed", "entering")["time"] >= 9 * MS <= line("managed", "leaving")["time"]
    assert line("with_block", "head of with")["time"] >= 19 * MS
    assert line("with_block", "body of with")["time"] >= 29 * MS


def test_threads_add_up(line):
    sleeps = line("in_threads", "sleeps in parallel")
    assert sleeps["hits"] == 4 and sleeps["time"] >= 4 * 29 * MS


def test_totals_hold_the_lines(profile):
    """Up to 0.1 ms: a line's time is cut off at zero, line by line. What is counted twice here
    would be 10 ms at least."""
    for key, function in profile.functions.items():
        lines = function["lines"]
        assert sum(lines.get("self", [0])) <= function["total"] * 1.001 + 100_000, key
        assert max(lines.get("time", [0])) <= function["total"] * 1.001 + 100_000, key
        for ours, raw in zip(lines.get("time", []), lines.get("raw_time", [])):
            assert ours <= raw, key
