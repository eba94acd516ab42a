# SPDX-License-Identifier: MIT
"""Time by line. Nothing here depends on how fast the machine is: sleeps have a known length at least. What a line has
at most is tried again where it is more, because the line may have waited for the processor. So is what it awaits at
least: a task may lose the processor between asking for a time and awaiting it."""

import collections
import dis
import sys

import clineprof
import pytest
from harness import TRACER, Anew, line_of, run_ckernprof, steady, tried_again

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


class Ran:
    """The program under ckernprof."""

    def __init__(self, folder):
        self.path = folder / "program.py"
        self.path.write_text(PROGRAM)
        ended = run_ckernprof(["-l", "program.py"], folder)
        assert (ended.err, ended.code) == ("", 0)
        self.profile = ended.profile()

    def line(self, name, mark):
        return self.profile.line(name, line_of(self.path, "# " + mark))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return Anew(lambda: Ran(tmp_path_factory.mktemp("time")))


@tried_again
def test_shares(ran):
    slow = ran.line("two_lines", "slow")
    assert slow["time"] >= 49 * MS and slow["max"] <= slow["time"]
    steady(slow["time"] > 0.9 * ran.profile.function("two_lines")["total"])
    steady(ran.line("two_lines", "quick")["time"] < 0.05 * slow["time"])


@tried_again
def test_callees(ran):
    calls, inside, own = ran.line("caller", "calls"), ran.line("callee", "in callee"), ran.line("caller", "own")
    assert calls["time"] >= inside["time"] * 0.99 >= 29 * MS
    assert own["self"] >= 0.99 * own["time"] > 9 * MS
    steady(calls["self"] < 0.1 * calls["time"], calls)


@tried_again
def test_recursion_counts_once(ran):
    sleeps, down = ran.line("recursive", "at each level"), ran.line("recursive", "goes down")
    total = ran.profile.function("recursive")["total"]
    assert sleeps["hits"] == 4 and down["hits"] == 3
    assert 39 * MS <= sleeps["self"] <= total
    # the line's time has the sleeps of all four levels once; the call's line three of them once
    assert 39 * MS <= sleeps["time"] <= total * 1.001
    assert 29 * MS <= down["time"] <= total * 1.001
    steady(down["self"] < 0.1 * sleeps["self"], down)


@tried_again
def test_suspended_time_is_not_time(ran):
    assert ran.line("generator", "suspended")["await"] == 0
    assert ran.line("by_generator", "consumer")["time"] >= 59 * MS
    steady(ran.line("generator", "suspended")["time"] < 5 * MS)
    steady(ran.line("delegating", "delegates")["time"] < 5 * MS)
    steady(ran.line("by_generator", "next")["time"] < 0.1 * ran.line("by_generator", "consumer")["time"])
    steady(ran.profile.function("generator")["total"] < 5 * MS)


@tried_again
def test_await(ran):
    awaits, through = ran.line("awaiting", "awaits"), ran.line("awaiting", "awaits through")
    blocks = ran.line("awaiting", "blocks")
    steady(awaits["await"] >= 49 * MS and through["await"] >= 19 * MS, awaits, through)
    assert blocks["await"] == 0 and blocks["time"] >= 19 * MS
    steady(awaits["time"] < 25 * MS and through["time"] < 10 * MS, awaits, through)
    steady(ran.profile.function("awaiting")["total"] < awaits["await"])


@tried_again
def test_interleaving_tasks(ran):
    busy, waits = ran.line("task", "task busy"), ran.line("task", "task waits")
    assert (busy["hits"], waits["hits"]) == (9, 9)
    assert busy["time"] >= 59 * MS and busy["await"] == 0
    # while one task was busy the others waited: that is await, never time
    steady(waits["await"] >= 59 * MS and waits["time"] < 0.2 * busy["time"], waits)


@tried_again
def test_async_generator(ran):
    assert ran.line("slow_consumer", "works on ticks")["time"] >= 59 * MS
    steady(ran.line("slow_consumer", "takes ticks")["await"] >= 29 * MS)
    steady(ran.line("ticks", "between ticks")["await"] >= 29 * MS)
    steady(ran.line("ticks", "between ticks")["time"] < 15 * MS)
    steady(ran.line("ticks", "tick")["time"] < 5 * MS)


def test_exceptions(ran):
    assert ran.line("raises", "before raising")["time"] >= 19 * MS
    assert (ran.line("raises", "raising")["hits"], ran.line("catches", "sees the error")["hits"]) == (1, 1)
    assert ran.line("catches", "sees the error")["time"] >= 19 * MS
    assert ran.line("catches", "handles it")["time"] >= 9 * MS


@tried_again
def test_context_manager(ran):
    assert ran.line("managed", "entering")["time"] >= 9 * MS <= ran.line("managed", "leaving")["time"]
    assert ran.line("with_block", "head of with")["time"] >= 19 * MS
    assert ran.line("with_block", "body of with")["time"] >= 29 * MS
    steady(ran.line("managed", "inside")["time"] < 5 * MS)


def test_threads_add_up(ran):
    sleeps = ran.line("in_threads", "sleeps in parallel")
    assert sleeps["hits"] == 4 and sleeps["time"] >= 4 * 29 * MS


NESTING = "recursive"


def check_laws(profile):
    """What holds of any profile, however short its lines are."""
    for key, function in profile.functions.items():
        hits, time, own, raw = (
            profile.measure(function, name) for name in ("hits", "time", "self", "raw_self")
        )
        for line in hits:
            assert (own[line] > 0) == (hits[line] > 0), (key, line)
            assert own[line] <= time[line], (key, line)
            assert raw[line] == 0 or own[line] <= raw[line], (key, line)
        assert sum(own.values()) <= function["total"], key
        assert max(time.values()) <= function["total"] <= sum(time.values()), key
        if key[2] != NESTING:
            assert sum(time.values()) == function["total"], key


def test_lines_sum_to_their_function(ran):
    check_laws(ran.profile)
    recursive = ran.profile.function(NESTING)
    times = ran.profile.measure(recursive, "time").values()
    assert max(times) <= recursive["total"] < sum(times)


SHORT = """
import random

@profile
def branch(v):
    if v > .5:
        return "high"
    return "low"

@profile
def short(n):
    for i in range(n):
        a = 1
        b = a
        c = a + b
        d = c
    return d

@profile
def calls(values):
    for v in values:
        branch(v)    # calls

def main():
    calls([random.random() for _ in range(100000)])
    short(100000)

main()
"""


@pytest.mark.parametrize("memory", ["rss", "off"])
def test_short_lines_keep_their_time(tmp_path, script, memory):
    """A `return` of a value at hand begins and ends with one event. It has its instructions' time all
    the same, and the line before it has no more than there was. The caller has no more than the callee.
    (That it has as much is shown by event scripts: on a busy machine nothing is left of some nanoseconds.)"""
    ended = run_ckernprof(["-l", "--memory", memory, script(SHORT)], tmp_path)
    assert ended.code == 0, ended.err
    profile = ended.profile()
    check_laws(profile)
    program = tmp_path / "program.py"
    low, high = (profile.line("branch", line_of(program, mark)) for mark in ('"low"', '"high"'))
    call = profile.line("calls", line_of(program, "# calls"))
    assert low["hits"] + high["hits"] == call["hits"] == 100000
    assert call["time"] - call["self"] <= profile.function("branch")["total"] * 1.01


INSTRUCTIONS = """\
{}def f(a):
    b = a
    c = a, b, a
    d = a, b, c, a, b, c, a
    e = a, c
    f
    g = f or a
    return a, b, c, d, e
f(0)
import os
os._exit(0)
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a line counts as one instruction there")
@pytest.mark.parametrize(("decorator", "options"), [("@profile\n", []), ("", ["-p", "program.py"])])
def test_how_many_instructions_a_line_has_is_known(tmp_path, script, decorator, options):
    """Lines too short to be seen have the time of these. What a killed run leaves has them, too. 128 more stand
    for a line whose first instruction the interpreter adapts: the load of a global. 64 more stand for a line whose
    ways meet again: `or`."""
    run_ckernprof(["-l", *options, script(INSTRUCTIONS.format(decorator))], tmp_path)
    names = {}
    exec(INSTRUCTIONS.format("").partition("f(0)")[0], names)
    code = names["f"].__code__
    lines = {place: line for start, stop, line in code.co_lines() for place in range(start, stop)}
    counts, jumped = collections.Counter(), set()
    for one in dis.get_instructions(code):
        line = lines[one.offset]
        counts[line] += line not in jumped  # what follows `or` does not run each time
        if one.opcode in dis.hasjrel:
            jumped.add(line)
    counts = [counts[line] for line in range(2, 9)]
    assert min(counts) >= 2 and jumped == {7}
    counts[4] += 128
    counts[5] += 128 + 64
    assert bytes(counts) in (tmp_path / "program.py.lprof.live").read_bytes()


def function_with(loads):
    """A function of eight short lines and a long one; so many of the short ones begin with the load of a global."""
    lines = ["some"] * loads + ["here"] * (8 - loads) + ["sum(numbers)"]
    return "\n    ".join([f"@profile\ndef f{loads}(here, numbers):", *lines, "\n"])


ADAPTING = f"""
some = 0
{function_with(0)}{function_with(4)}{function_with(8)}
@profile
def main(numbers):
    for _ in range(500):
        f0(0, numbers)  # 0 loads
        f4(0, numbers)  # 4 loads
        f8(0, numbers)  # 8 loads
main(range(1000))
"""


def charges_by_loads(path):
    """What the lines of main() were charged for the events of their callees, in nanoseconds."""
    ended = run_ckernprof(["-lq", "--no-memory", path], path.parent)
    assert (ended.err, ended.code) == ("", 0)
    lines = [ended.profile().line("main", line_of(path, f"# {loads} loads")) for loads in (0, 4, 8)]
    return [of["raw_time"] - of["raw_self"] - (of["time"] - of["self"]) for of in lines]


def test_an_event_costs_more_where_it_keeps_an_instruction_from_being_adapted(tmp_path):
    """Line events of the interpreter's own do, those of probes do not. A line that calls is given the time of its
    callee less all that events cost there. The cost is measured when a run starts, and a busy machine may hide it."""
    path = tmp_path / "program.py"
    path.write_text(ADAPTING)
    rounded = 4  # nanoseconds
    costs_more = sys.version_info >= (3, 11) and TRACER not in (None, "probe")
    for _ in range(20 if costs_more else 1):
        none, some, most = charges_by_loads(path)
        assert abs((most - some) - (some - none)) <= rounded
        if most - none > rounded:
            break
    assert (most - none > rounded) == costs_more


NESTED = """
@profile
def down(n):
    if n:
        down(n - 1)

@profile
def once(step, inner):
    if step is None:
        return 0
    return step(once, inner)

for _ in range(2000):
    down(30)
    down(0)
    for _ in range(10):
        once(lambda function, _: function(None, None), None)
"""


def test_a_short_function_that_calls_itself_is_no_shorter_than_any_of_its_lines(tmp_path):
    (tmp_path / "program.py").write_text(NESTED)
    ended = run_ckernprof(["-lq", "--no-memory", "program.py"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    for name, function in ended.profile().functions.items():
        times = function["lines"]["time"]
        assert max(times) <= function["total"] <= sum(times), name


CALLS = """
@profile
def called(x):
    y = x
    return y
@profile
def calls():
    return sum(map(called, range(50_000)))
calls()
"""


def test_a_line_that_only_calls_has_no_more_than_the_clock_saw(tmp_path):
    """What a call costs is never below nothing, however dear the line events of the calibration were."""
    (tmp_path / "program.py").write_text(CALLS)
    ended = run_ckernprof(["-lq", "--no-memory", "program.py"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    [lines] = [f["lines"] for f in ended.profile().functions.values() if f["name"] == "calls"]
    assert 0 < lines["self"][0] <= lines["raw_self"][0]
    assert lines["time"][0] <= lines["raw_time"][0]


STOPPED = """
import os, subprocess, sys, time
STOPS = '''
import os, signal, sys, time
for _ in range(150):
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(.005)
    os.kill(int(sys.argv[1]), signal.SIGCONT)
    time.sleep(.001)
'''
stopping = subprocess.Popen([sys.executable, "-c", STOPS, str(os.getpid())])
while stopping.poll() is None:  # selecting a function is the profiler's own work
    names = {}
    exec("def f():\\n    return 1\\n", names)
    profile(names["f"])()
print(time.process_time_ns())
"""


def test_what_others_keep_the_processor_from_is_no_cost_of_counting(tmp_path):
    """The program is stopped five sixths of the time. What counting took is at most the processor time of it all."""
    (tmp_path / "prog.py").write_text(STOPPED)
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert ended.code == 0, ended.err
    assert 0 < clineprof.load(tmp_path / "prog.py.lprof").meta["overhead"] < int(ended.out.splitlines()[0])
