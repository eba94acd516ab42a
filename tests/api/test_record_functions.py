# SPDX-License-Identifier: MIT
"""Blocks that a program names for torch, with record_function (--torch-names, Profiler(torch_names=True))."""

import json
import re

import pytest
from harness import BUILD, TRACER, complaints, run_ckernprof, run_viewer, run_python

pytestmark = pytest.mark.slow
PACKAGE = {"PYTHONPATH": str(BUILD / "python")}
PRELUDE = f"""\
import clineprof
import torch
from torch.profiler import ProfilerActivity, profile as recording, record_function
profiler = clineprof.Profiler(torch_names=True, tracer={TRACER!r})
def hits(of):
    return {{f.name: f["hits"] for f in clineprof.Profile(of.snapshot()).functions}}
"""


@pytest.fixture(autouse=True)
def torch():
    pytest.importorskip("torch", reason="torch is not here")


def run(folder, text):
    """What the program prints, and what clineprof says."""
    (folder / "main.py").write_text(PRELUDE + text)
    ended = run_python(["-Wignore", "main.py"], folder, env=PACKAGE, timeout=300)
    # torch's own log: "ERROR:2026-11-26 20:46:32 16678:16678 DeviceProperties.cpp:56] .." and the same with .py
    said = [line for line in ended.err.splitlines() if not re.search(r"\.(cpp|py):\d+\] ", line)]
    assert ended.code == 0, ended.err
    return ended.out.splitlines(), said


def printed(folder, text):
    out, said = run(folder, text)
    assert said == []
    return out


def test_names_count_as_blocks_do(tmp_path):
    """.. nested, in loops, generators, coroutines and threads, with exceptions, ExitStack, by hand, and a `with` of
    several lines: the same program gives the same hits with either."""
    assert printed(tmp_path, """\
import asyncio, contextlib, threading
def generator(block, n):
    for i in range(n):
        with block("generator"):
            x = i
            yield x
            x += 1
async def coroutine(block):
    with block("coroutine"):
        await asyncio.sleep(0)
        x = 1
def fails(block):
    with block("fails"):
        raise ValueError
def run(block):
    for i in range(3):
        with block("outer"):
            x = i
            with block("inner"):
                x += 1
                x += 2
        try:
            fails(block)
        except ValueError:
            pass
    with contextlib.ExitStack() as stack:
        stack.enter_context(block("stacked"))
        x = 1
    with block("one"): x = 2
    with (
        block("first"),
        block("second"),
    ):
        x = 3
    unfinished = generator(block, 3)
    next(unfinished)
    del unfinished
    by_hand = block("by hand")
    by_hand.__enter__()
    x = 4
    by_hand.__exit__(None, None, None)
    async def both():
        await asyncio.gather(coroutine(block), coroutine(block))
    asyncio.run(both())
    return sum(generator(block, 4))
def run_all(block):
    run(block)
    thread = threading.Thread(target=run, args=(block,))
    thread.start()
    thread.join()
ours = clineprof.Profiler()
ours_too = clineprof.Profiler(torch_names=True)
run_all(record_function)
names = hits(profiler)
print(names == hits(ours_too), hits(ours))
run_all(ours.block)
print(names == hits(ours))
del names["first"]  # how often a `with` of several lines tells its lines depends on the interpreter
print(names)
""") == [
        "True {}",
        "True",
        "{'outer': [6, 12, 6, 6], 'inner': [6, 6], 'fails': [6], 'stacked': [2], 'one': [2], "
        "'second': [2], 'generator': [10, 10, 8], 'by hand': [2, 2], 'coroutine': [4, 4]}",
    ]  # fmt: skip


def test_a_decorator_counts_where_its_function_is_called(tmp_path):
    assert printed(tmp_path, """\
@record_function("decorated")
def f(x):
    return x + 1
@profiler
def run():
    for n in range(4):
        f(n)
run()
for function in clineprof.Profile(profiler.snapshot()).functions:
    print(function.name, function.line, function["hits"])
""") == ["run 10 [5, 4]", "decorated 13 [4]"]


def test_a_manager_of_the_programs_own_around_a_name(tmp_path):
    """.. gets the block, not the `with` of the manager, as with blocks of ours; what that counts is right."""
    assert printed(tmp_path, """\
import contextlib
@contextlib.contextmanager
@profiler
def made(block):
    with block("made"):
        yield
class Manager:
    @profiler
    def __init__(self, block):
        self.block = block("class")
    @profiler
    def __enter__(self):
        self.block.__enter__()
        return self
    @profiler
    def __exit__(self, *error):
        self.block.__exit__(*error)
@profiler
def run(block):
    for n in range(3):
        with made(block):
            n += 1
        with Manager(block):
            n += 1
            with made(block):
                n += 1
run(record_function)
names = [(f.name, f["hits"]) for f in clineprof.Profile(profiler.snapshot()).functions]
profiler.remove_function(run)
profiler.close()
profiler = clineprof.Profiler()
ours = clineprof.Profiler()
for f in made.__wrapped__, Manager.__init__, Manager.__enter__, Manager.__exit__, run:
    ours(f)
run(ours.block)
print([(f.name, f["hits"]) for f in clineprof.Profile(ours.snapshot()).functions] == names)
print(dict(names)["run"])
""") == ["True", "[4, 6, 3, 6, 3, 6, 3]"]


def test_names_of_torch_itself_do_not_count(tmp_path):
    """.. nor blocks of clineprof a second time; record_function without torch_names, and outside of windows."""
    assert printed(tmp_path, """\
plain = clineprof.Profiler()
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
schedule = torch.profiler.schedule(wait=0, warmup=0, active=9)
with recording(activities=[ProfilerActivity.CPU], schedule=schedule) as trace:
    for n in range(3):
        net(torch.rand(4)).backward()
        optimizer.step()
        optimizer.zero_grad()
        trace.step()
        with profiler.block("ours"):
            n += 1
        with record_function("theirs"):
            n += 1
profiler.stop()
with record_function("outside"):
    n = 1
profiler.start()
names = {event.key for event in trace.key_averages()}
print(sorted(names & {"ours", "theirs", "Optimizer.step#SGD.step", "ProfilerStep*"}))
print(hits(profiler), hits(plain))
profiler.close()
with record_function("closed"):
    n = 1
""") == [
        "['Optimizer.step#SGD.step', 'ProfilerStep*', 'ours', 'theirs']",
        "{'ours': [3], 'theirs': [3]} {}",
    ]


def test_what_torch_records_does_not_change(tmp_path):
    text = """\
def names(of):
    events = getattr(of, "profiler", of).function_events
    return [(event.name, [child.name for child in event.cpu_children]) for event in events]
def work():
    for n in range(3):
        with record_function("outer"):
            x = torch.ones(4)
            with record_function("inner", "an argument"):
                x.sum()
with recording(activities=[ProfilerActivity.CPU]) as trace:
    work()
print(names(trace))
with torch.autograd.profiler.profile() as trace:
    work()
print(names(trace))
"""
    with_names = printed(tmp_path, text + "print(hits(profiler))")
    assert with_names[2:] == ["{'outer': [6, 12, 6], 'inner': [6]}"]
    assert with_names[:2] == printed(tmp_path, text.replace("import clineprof", "") + "profiler.close()")
    assert printed(tmp_path, "profiler.close()\nprofiler = clineprof.Profiler()\n" + text) == with_names[:2]


def test_compilers_of_torch(tmp_path):
    """torch.jit.script and torch.compile see record_function as it is; what they compile has no blocks."""
    assert printed(tmp_path, """\
class Net(torch.nn.Module):
    def forward(self, x):
        with torch.autograd.profiler.record_function("scripted"):
            x = x + 1
        return x
script = torch.jit.script(Net())
print(script(torch.zeros(2)).tolist(), "scripted" in str(script.graph))
with recording(activities=[ProfilerActivity.CPU]) as trace:
    script(torch.zeros(2))
print("scripted" in {event.key for event in trace.key_averages()})
@torch.compile(backend="eager")
def compiled(x):
    with record_function("compiled"):
        y = x * 2
    return y + 1
@torch.compile(backend="eager")
def called(x):
    return x - 1
for n in range(3):
    print(compiled(torch.ones(2)).tolist())
    with record_function("around"):
        x = called(torch.ones(2))
        x = Net()(x)
print(hits(profiler))
import pickle, copy
print(pickle.loads(pickle.dumps(record_function("x"))).name, copy.copy(record_function("y")).name)
print(torch._dynamo.explain(lambda x: compiled(x))(torch.ones(2)).graph_break_count)
""") == [
        "[1.0, 1.0] True",
        "True",
        *["[3.0, 3.0]"] * 3,
        "{'around': [3, 3], 'scripted': [3]}",
        "x y",
        "0",
    ]  # fmt: skip


def test_a_block_that_never_ends_keeps_nothing_alive(tmp_path):
    """.. for longer than until the next one begins."""
    assert printed(tmp_path, """\
import weakref
class Thing:
    pass
def enter():
    thing = Thing()
    kept.append(weakref.ref(thing))
    record_function("open").__enter__()
    return 1
kept = []
enter()
with record_function("next"):
    n = 1
print(kept[0](), hits(profiler))
""") == ["None {'open': [1], 'next': [1]}"]


def test_there_is_a_bound_on_names(tmp_path):
    out, said = run(tmp_path, """\
def run(count):
    for n in range(count):
        with record_function(f"step {n}"):
            n += 1
run(1002)
run(2)
names = hits(profiler)
print(len(names), names["step 0"], names["step 999"], "step 1000" in names)
""")
    assert out == ["1000 [2] [1] False"]
    assert said == [
        "clineprof: the program has more than 1000 different names of record_function; further ones are no blocks"
    ]


def test_the_option(tmp_path):
    (tmp_path / "main.py").write_text("""\
import torch
@profile
def f():
    for n in range(3):
        with torch.profiler.record_function("data"):
            n += 1
f()
""")
    tracer = ["--tracer", TRACER] if TRACER else []
    for option, names in ["--torch-names", ["f", "data"]], ["--no-torch-names", ["f"]]:
        ended = run_ckernprof(["-l", *tracer, option, "main.py"], tmp_path)
        assert complaints(ended) == []
        shown = json.loads(run_viewer(["--format", "json", "main.py.lprof"], tmp_path).out)
        assert [function["name"] for function in shown["functions"]] == names
