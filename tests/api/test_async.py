# SPDX-License-Identifier: MIT
"""Coroutines and tasks under the profiler: they do what they do without it, hits are the reference's
and known by hand, a task's time and memory are its own, and what it waits is await."""

import random
import sys

import pytest
from comparing import check_random_program, hits_at, run_alone_and_profiled
from harness import (
    MIB,
    SANITIZED,
    differences,
    line_of,
    own_messages_removed,
    reference,
    run_ckernprof,
    steady,
    tried_again,
)

HEAD = """
import asyncio, collections, contextlib, contextvars, gc, inspect, logging, sys, time, types
logging.getLogger("asyncio").setLevel(logging.ERROR)    # not of callbacks that a busy machine slows
try: profile
except NameError:
    def profile(thing): return thing
TOOK = collections.Counter()

# Hardly any line of its own: settrace takes what it costs off what is not selected.
def spin(name, milliseconds=10):
    start = time.perf_counter_ns()
    while time.perf_counter_ns() - start < milliseconds * 1_000_000: sum(range(3000))
    TOOK[name] += time.perf_counter_ns() - start

"""

PROGRAMS = {
    # what is waited for ends by the exception that is thrown in: who waits goes on as if it had been told a value
    "swallowed": (
        (3, 10),
        """
@profile
def swallows():
    try: yield 1
    except ValueError: return "swallowed"

@profile
def delegates():
    found = yield from swallows()
    LOG.append(found)                       # goes on
    yield from swallows()
    return found                            # goes on and ends

@profile
def ends():
    return (yield from swallows())

@profile
async def waits():
    with contextlib.suppress(asyncio.CancelledError): await asyncio.sleep(60)

@profile
async def awaits():
    await waits()
    LOG.append("awaited")                   # awaited

@profile
async def numbers():
    with contextlib.suppress(asyncio.CancelledError): await asyncio.sleep(60)
    yield 1

@profile
async def takes():
    async for n in numbers():
        LOG.append(n)                       # takes
    return "taken"                          # taken

@profile
async def main():
    for function in awaits, takes, takes:
        task = asyncio.create_task(function())
        await asyncio.sleep(0)
        task.cancel()
        LOG.append(await task)

LOG = []
for _ in range(3):
    for function in delegates, ends:
        generator = function()
        next(generator)
        try:
            while True: generator.throw(ValueError)
        except StopIteration as error: LOG.append(error.value)
asyncio.run(main())
print(LOG)
""",
        {"goes on": 3, "goes on and ends": 3, "awaited": 1, "takes": 2, "taken": 2},
    ),
    "cancellation": (
        (3, 10),
        """
@profile
async def sleeps(name):
    try:
        await asyncio.sleep(60)             # sleeps
    except asyncio.CancelledError as error:
        LOG.append((name, error.args))      # cancelled
        raise
    finally:
        LOG.append(name)                    # cleans up

@profile
async def refuses():
    try: await asyncio.sleep(60)
    except asyncio.CancelledError: pass
    await asyncio.sleep(0)
    return "went on"                        # went on

@profile
async def inner(future):
    return await asyncio.shield(future)

async def main():
    tasks = [asyncio.create_task(sleeps(n)) for n in range(4)]
    never = asyncio.create_task(sleeps("never begun"))
    never.cancel()
    await asyncio.sleep(0)
    for task in tasks: task.cancel("why")
    print(await asyncio.gather(*tasks, never, return_exceptions=True))
    stubborn = asyncio.create_task(refuses())
    await asyncio.sleep(0); stubborn.cancel()
    print(await stubborn)
    shielded = asyncio.get_running_loop().create_future()
    waits = asyncio.create_task(inner(shielded))
    await asyncio.sleep(0); waits.cancel(); await asyncio.sleep(0)
    print(waits.cancelled(), shielded.done(), shielded.set_result(3))
    try: await asyncio.wait_for(sleeps("late"), 0.01)
    except asyncio.TimeoutError: print("timeout")

LOG = []
asyncio.run(main())
print(LOG)
""",
        {"cancelled": 5, "cleans up": 5, "went on": 1},
    ),
    "task groups and exception groups": (
        (3, 11),
        """
@profile
async def fails(n):
    await asyncio.sleep(0)
    raise (ValueError, KeyError, OSError)[n % 3](n)     # fails

@profile
async def lasts():
    try:
        await asyncio.sleep(60)
    finally:
        LOG.append("cancelled")             # was cancelled

@profile
async def group(count):
    try:
        async with asyncio.TaskGroup() as tasks:
            for n in range(count): tasks.create_task(fails(n))
            tasks.create_task(lasts())
            await asyncio.sleep(60)         # never over
    except* ValueError as error:
        LOG.append(repr(error.exceptions))  # values
    except* KeyError as error:
        LOG.append(repr(error.exceptions))  # keys
    return len(LOG)

@profile
async def works():
    async with asyncio.TaskGroup() as tasks:
        found = [tasks.create_task(asyncio.sleep(0, n)) for n in range(5)]
    async with asyncio.timeout(60):
        await asyncio.sleep(0)
    try:
        async with asyncio.timeout(0.01): await asyncio.sleep(60)
    except TimeoutError: LOG.append("timeout")     # too late
    return sum(task.result() for task in found)

async def main():
    print(await group(2))
    try: await group(3)
    except* OSError as error: print(repr(error.exceptions))
    print(await works())

LOG = []
asyncio.run(main())
print(LOG)
""",
        {"fails": 5, "was cancelled": 2, "values": 2, "keys": 2},
    ),
    "async generators": (
        (3, 10),
        """
@profile
async def ticks(n):
    try:
        for k in range(n):
            try:
                got = yield k               # yields
                if got: await asyncio.sleep(0)      # got one
            except ValueError as error:
                yield repr(error)           # thrown into
    finally:
        await asyncio.sleep(0)
        ENDED.append(n)                     # ends

async def main():
    print([k async for k in ticks(3)])
    one = ticks(4)
    print(await one.asend(None), await one.asend(5), await one.athrow(ValueError("x")))
    print(await one.__anext__(), await one.aclose())
    try: await one.asend(1)
    except StopAsyncIteration: print("over")
    async for k in ticks(100):
        if k == 2: break
    gc.collect()
    async with contextlib.aclosing(ticks(9)) as two:
        async for k in two: break
    fresh = ticks(5)
    await fresh.aclose()
    half = ticks(77)
    await half.asend(None)
    await half.aclose()
    print(sum([k async for k in ticks(5) if k % 2]), {k: 1 async for k in ticks(2)})

ENDED = []
asyncio.run(main())
print(sorted(ENDED))
""",
        {"ends": 7},
    ),
    "async with and for": (
        (3, 10),
        """
class Resource:
    @profile
    async def __aenter__(self):
        await asyncio.sleep(0)              # opens
        return self
    @profile
    async def __aexit__(self, kind, error, trace):
        await asyncio.sleep(0)              # closes
        return kind is ValueError

class Turns:
    def __init__(self, n): self.n = n
    def __aiter__(self): return self
    @profile
    async def __anext__(self):
        self.n -= 1
        await asyncio.sleep(0)              # next
        if self.n < 0: raise StopAsyncIteration
        return self.n

@contextlib.asynccontextmanager
@profile
async def managed():
    await asyncio.sleep(0)
    try: yield "managed"                    # inside
    finally: await asyncio.sleep(0)

@profile
async def main():
    async with Resource(), Resource() as one, managed() as name:
        print(name)
    async with Resource(): raise ValueError
    async for n in Turns(4):
        if n == 1: break
    else: print("never")
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(3): await stack.enter_async_context(managed())
    return [n async for n in Turns(3)]

print(asyncio.run(main()))
""",
        {"opens": 3, "closes": 3, "next": 7, "inside": 4},
    ),
    "executors and contexts": (
        (3, 10),
        """
WHO = contextvars.ContextVar("who", default="nobody")

@profile
def blocking(n):
    return n * n                            # in a thread

@profile
async def worker(name):
    WHO.set(name)
    await asyncio.sleep(0)
    squared = await asyncio.get_running_loop().run_in_executor(None, blocking, len(name))
    return WHO.get(), squared, await asyncio.to_thread(WHO.get)     # back

@profile
@types.coroutine
def based():
    yield                                   # gives way
    return "based"

@profile
async def main():
    print(await asyncio.gather(*(worker("x" * n) for n in range(1, 5))), WHO.get())
    print(await based(), inspect.iscoroutinefunction(worker))
    found = [await one for one in asyncio.as_completed([worker("abc")])]
    done, pending = await asyncio.wait([asyncio.ensure_future(worker("y"))])
    return found, [task.result() for task in done], pending

print(asyncio.run(main()))
""",
        {"in a thread": 6, "back": 6, "gives way": 1},
    ),
    "eager tasks": (
        (3, 12),
        """
@profile
async def at_once(n):
    if n % 2:
        await asyncio.sleep(0)              # waits
    return n                                # returns

@profile
async def main():
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    tasks = [asyncio.create_task(at_once(n)) for n in range(10)]
    print([task.done() for task in tasks])
    return await asyncio.gather(*tasks)

print(asyncio.run(main()))
""",
        {"waits": 5, "returns": 10},
    ),
    "left behind": (
        (3, 10),
        """
@profile
async def forever():
    try:
        while True: await asyncio.sleep(0)
    finally:
        LOG.append("ended")                 # ended

@profile
async def never_awaited(): return 1

async def main():
    tasks = [asyncio.create_task(forever()) for _ in range(5)]
    await asyncio.sleep(0)
    coroutine = forever()
    coroutine.send(None)
    coroutine.close()
    coroutine = forever()
    coroutine.send(None)
    del coroutine
    never_awaited().close()

LOG = []
asyncio.run(main())
print(LOG)
loop = asyncio.new_event_loop()
pending = loop.create_task(forever())
loop.run_until_complete(asyncio.sleep(0))
print(pending.done())
pending._log_destroy_pending = False
loop.close()
""",
        None,
    ),
}


def compared(program, folder, env=None, name="program.py"):
    """Runs it bare and profiled: it must do the same, with the hits of the reference counter. Its path
    and the profile."""
    path, bare, profile = run_alone_and_profiled(HEAD + program, folder, env, name)
    assert bare.code == 0, bare.err
    assert differences(profile.hits(), reference(path, folder, env=env)[0]) == []
    return path, profile


def program_of(name):
    needs, program, hits = PROGRAMS[name]
    if sys.version_info < needs:
        pytest.skip("CPython %d.%d has none" % needs)
    return program, hits


@pytest.mark.parametrize("name", PROGRAMS)
def test_semantics_and_hits(name, tmp_path):
    program, hits = program_of(name)
    path, profile = compared(program, tmp_path)
    for mark, expected in (hits or {}).items():
        assert hits_at(profile, path, mark) == expected, mark


@pytest.mark.parametrize("name", PROGRAMS)
def test_development_mode_is_clean(name, tmp_path):
    """`-X dev`: asyncio's debug mode, checks of memory, warnings of what was never awaited."""
    compared(program_of(name)[0], tmp_path, env={"PYTHONDEVMODE": "1"})


# ---- time ----


class Ran:
    """A program under ckernprof, and what it measured of itself."""

    def __init__(self, program, folder):
        self.path = folder / "program.py"
        self.path.write_text(HEAD + program + "\nfor name, took in TOOK.items(): print(name, took)\n")
        ended = run_ckernprof(["-l", "program.py"], folder)
        assert (ended.err, ended.code) == ("", 0)
        self.profile = ended.profile()
        self.took = {}
        for line in own_messages_removed(ended.out).splitlines():
            name, _, took = line.rpartition(" ")
            self.took[name] = int(took)

    def line(self, function, mark):
        return self.profile.line(function, line_of(self.path, "# " + mark))


def near(ours, theirs):
    """Within a fifth, and what a line and its events may take on a busy machine."""
    steady(abs(ours - theirs) <= 0.2 * theirs + 3_000_000, ours, theirs)


INTERLEAVED = """
@profile
async def inner(name):
    spin("inner")                           # inner works
    start = time.perf_counter_ns()
    await asyncio.sleep(0.03)               # inner waits
    TOOK["waits"] += time.perf_counter_ns() - start

@profile
async def task(name):
    for _ in range(2):
        spin("task", 5)                     # task works
        await inner(name)                   # calls inner
    return name

@profile
async def shared():
    async for n in numbers():               # takes numbers
        spin("shared")                      # uses them

@profile
async def numbers():
    for n in range(3):
        spin("numbers", 5)                  # makes one
        yield n                             # hands it over

async def main():
    await asyncio.gather(task("a"), task("b"), task("c"), shared())

asyncio.run(main())
"""


@tried_again
def test_each_task_has_its_own_time(tmp_path):
    ran = Ran(INTERLEAVED, tmp_path)
    took, line = ran.took, ran.line
    assert line("inner", "inner works")["hits"] == 6
    near(line("inner", "inner works")["time"], took["inner"])
    near(line("inner", "inner waits")["await"], took["waits"])
    steady(line("inner", "inner waits")["time"] < 0.3 * took["waits"])
    near(line("task", "task works")["time"], took["task"])
    # what a coroutine awaits runs within its line, and waits within it
    near(line("task", "calls inner")["time"], took["inner"])
    near(line("task", "calls inner")["await"], took["waits"])
    near(line("shared", "uses them")["time"], took["shared"])
    near(line("shared", "takes numbers")["time"], took["numbers"])
    near(line("numbers", "makes one")["time"], took["numbers"])
    steady(line("numbers", "hands it over")["time"] < 5_000_000)
    near(ran.profile.function("task")["total"], took["task"] + took["inner"])


MEMORY = """
@profile
async def grows():
    kept = []
    for _ in range(4):
        kept.append(bytearray(b"x") * (2 << 20))        # grows
        await asyncio.sleep(0)                          # grower waits

@profile
async def looks_on():
    for _ in range(4):
        n = sum(range(1000))                            # computes
        await asyncio.sleep(0)                          # onlooker waits

async def main(): await asyncio.gather(grows(), looks_on())
asyncio.run(main())
"""


@pytest.mark.skipif(SANITIZED, reason="resident sizes mean nothing here")
def test_each_task_has_its_own_memory(tmp_path):
    ran = Ran(MEMORY, tmp_path)
    assert 8 * MIB <= ran.line("grows", "grows")["grown"] < 9 * MIB
    for function, mark in (
        ("grows", "grower waits"), ("looks_on", "computes"), ("looks_on", "onlooker waits")
    ):
        line = ran.line(function, mark)
        assert line["grown"] < MIB and line["released"] < MIB, mark


# ---- other loops ----

UVLOOP = """
import uvloop

@profile
async def serve(reader, writer):
    line = await reader.readline()          # server reads
    spin("serve", 5)                        # server works
    writer.write(line.upper())
    await writer.drain()
    writer.close()

@profile
async def ask(port, text):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode() + b"\\n")
    answer = await reader.readline()        # client waits
    writer.close()
    return answer.decode().strip()

@profile
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    found = await asyncio.gather(*(ask(port, c) for c in "abcdef"))
    server.close()
    await server.wait_closed()
    return found

loop = uvloop.new_event_loop()
assert loop.run_until_complete(main()) == list("ABCDEF")
loop.close()
"""


@tried_again
def test_uvloop(tmp_path):
    pytest.importorskip("uvloop")
    ran = Ran(UVLOOP, tmp_path)
    assert ran.line("serve", "server reads")["hits"] == 6
    near(ran.line("serve", "server works")["time"], ran.took["serve"])
    waits = ran.line("ask", "client waits")
    # all wait until the first is served, and then for each other
    assert waits["hits"] == 6
    steady(waits["await"] >= 0.8 * ran.took["serve"], waits)
    steady(waits["time"] < 0.3 * waits["await"], waits)


ANYIO = """
import anyio

@profile
async def producer(stream):
    async with stream:
        for n in range(5):
            await stream.send(n)            # sends
            await anyio.sleep(0)

@profile
async def consumer(stream, found):
    async with stream:
        async for n in stream: found.append(n)

@profile
async def main():
    found = []
    send, receive = anyio.create_memory_object_stream(1)
    async with anyio.create_task_group() as group:
        group.start_soon(producer, send)
        group.start_soon(consumer, receive, found)
    with anyio.move_on_after(0.01) as scope: await anyio.sleep(60)
    with anyio.CancelScope() as other:
        other.cancel()
        await anyio.sleep(60)
    print(found, scope.cancel_called, await anyio.to_thread.run_sync(lambda: "thread"))

anyio.run(main)
"""


def test_anyio(tmp_path):
    pytest.importorskip("anyio")
    path, profile = compared(ANYIO, tmp_path)
    assert hits_at(profile, path, "sends") == 5


# ---- programs made by chance ----


def random_program(seed):
    """Tasks that wait, fail, are cancelled, and gather others; deterministic, for nothing in it depends
    on time."""
    chance = random.Random(seed)
    text = ["LOG = []", "def note(*things): LOG.append(things)"]
    for k in range(5):
        kind = chance.choice(["coroutine", "coroutine", "asyncgen"])
        text += ["@profile", f"async def f{k}(n):", "    x = n"]
        for _ in range(chance.randint(2, 5)):
            text += random_step(chance, k)
        text += ["    yield x", "    x += 1"] if kind == "asyncgen" else []
        text += ["    note(x)", "    return" + " x" * (kind != "asyncgen")]
        if kind == "asyncgen":
            text += [f"g{k} = f{k}", "@profile", f"async def f{k}(n):", "    x = 0",
                     f"    async for i in g{k}(n):", "        x += i",
                     f"        if x > {chance.randint(2, 9)}: break", "    return x"]
    text += [
        "@profile",
        "async def main():",
        "    for n in range(6):",
        "        for f in (f0, f1, f2, f3, f4):",
        "            task = asyncio.create_task(f(n))",
        "            for _ in range(n): await asyncio.sleep(0)",
        "            if n % 3 == 2: task.cancel()",
        "            try:",
        "                note(await task)",
        "            except (ValueError, asyncio.CancelledError) as error:",
        "                note(repr(error))",
        "            except BaseException as error:",
        "                note(type(error).__name__)",
        "    await asyncio.get_running_loop().shutdown_asyncgens()",
        "asyncio.run(main())",
        "print(sorted(map(str, LOG)))",  # a group cancels its tasks in the order of a set
    ]
    return HEAD + "\n".join(text) + "\n"


def random_step(chance, k):
    """Lines of f<k>, which calls only those before it."""
    callee = chance.randrange(k) if k else None
    steps = [
        [f"    for _ in range({chance.randint(1, 3)}):", "        await asyncio.sleep(0)", "        x += 1"],
        ["    try:", "        await asyncio.sleep(0)", "    finally:", "        x += 2"],
        [f"    if x % {chance.randint(3, 5)} == 2:", "        raise ValueError(x)"],
        ["    try:", "        if x % 2: raise ValueError(x)", "        await asyncio.sleep(0)",
         "    except ValueError as error:", "        await asyncio.sleep(0)", "        x += 1"],
        ["    async with contextlib.AsyncExitStack() as stack:",
         "        stack.push_async_callback(asyncio.sleep, 0)", "        x += 1"],
    ]
    if callee is not None:
        steps += [
            [f"    x += await f{callee}(x % 5) or 1"],
            [f"    found = await asyncio.gather(f{callee}(x % 4), f{callee}(x % 3),",
             "        return_exceptions=True)", "    x += len(found)"],
            [f"    task = asyncio.create_task(f{callee}(1))", "    await asyncio.sleep(0)",
             "    task.cancel()", "    try: await task",
             "    except (asyncio.CancelledError, ValueError): x += 3"],
        ]
        if sys.version_info >= (3, 11):
            steps += 2 * [
                ["    try:", "        async with asyncio.TaskGroup() as group:",
                 f"            one = group.create_task(f{callee}(x % 4))",
                 f"            group.create_task(f{callee}(x % 3 + 1))",
                 "    except* ValueError as error:", "        x += len(error.exceptions)"],
            ]
    return chance.choice(steps)


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_random_programs(first, tmp_path):
    for seed in range(first, first + 4):
        check_random_program(random_program(seed), seed, tmp_path, code=0)
