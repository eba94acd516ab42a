# SPDX-License-Identifier: MIT
"""Tools that read the instructions of the program's functions: those that compile them, compare them, or
turn them back into source. Each does what it does without the profiler, and where other code than the
function's own runs, the profile says so."""

import json
import re
import sys

import pytest
from harness import (
    BUILD,
    TRACER,
    Profile,
    complaints,
    differences,
    own_messages_removed,
    profiled,
    reference,
    run_ckernprof,
    run_python,
    run_viewer,
    selected,
)

WITH_PROBES = sys.version_info >= (3, 11) and TRACER in (None, "auto", "probe")
PACKAGE = {"PYTHONPATH": str(BUILD / "python")}


def write(folder, text, name="main.py"):
    (folder / name).write_text(text)


def compilers(ended):
    """{name: what compiled it} of the functions of the profile that were compiled."""
    found = ended.profile().functions.items()
    return {name: function["compiler"] for (_, _, name), function in found if "compiler" in function}


def hits(ended, name):
    return sum(Profile.measure(ended.profile().function(name), "hits").values())


def compiled(ended):
    """{name: (calls of its compiled code, compilations)} of the functions of the profile that were compiled."""
    return {
        name: tuple(function.get("compiled", [0, 0])[:2])
        for (_, _, name), function in ended.profile().functions.items()
        if "compiler" in function
    }


def meaning(function):
    calls, times, nanos = function.get("compiled", [0, 0, 0])
    took = "" if times == 0 else "compiling took " if times == 1 else f"{times} compilations took "
    if times:
        took += "%.3f s; " % (nanos / 1e9)
    if calls == 0:
        return took + "calls of the compiled code are not counted"
    these, are = ("1 call", "is") if calls == 1 else (f"{calls} calls", "are")
    return f"{took}{these} from Python to the compiled code {are} not counted"


def told(ended):
    """What is said at the end of them."""
    found = ended.profile().functions.items()
    return [
        f"ckernprof: {name}, {file}:{line}, was compiled by {function['compiler']}; {meaning(function)}"
        for (file, line, name), function in found
        if "compiler" in function
    ]


# ---- numba -------------------------------------------------------------------------------------

NUMBA = """\
import numba

@numba.njit
def helper(n):
    if n % 2:
        return n * 3
    return n

@numba.njit
def compiled(n):
    def inner(m):
        return m + 1
    total = 0
    for i in range(n):
        total += inner(helper(i))
    return total

@numba.vectorize(["float64(float64)"])
def each(x):
    return x + 1.5

@numba.njit("int64(int64)")
def at_once(n):
    return n + 1

def plain(n):
    return compiled(n) + 1

print(compiled(10), each(3.0), at_once(1), [plain(n) for n in range(3)])
print(compiled.py_func(4), compiled.signatures, len(compiled.nopython_signatures))
"""


@pytest.fixture
def numba(monkeypatch):
    pytest.importorskip("numba", reason="numba is not here")


def test_numba_compiles_what_it_compiles_alone(numba, tmp_path):
    write(tmp_path, NUMBA)
    ended = profiled(tmp_path, "main")
    names = ["helper", "compiled", "compiled.<locals>.inner", "each", "at_once"]
    assert compilers(ended) == dict.fromkeys(names, "numba")
    assert complaints(ended) == told(ended)
    assert [hits(ended, name) for name in ("helper", "each", "at_once", "plain")] == [0, 0, 0, 3]
    # py_func calls helper 4 times; numba tells nothing of inner functions and of vectorize
    assert compiled(ended) == {
        "helper": (4, 1), "compiled": (4, 1), "compiled.<locals>.inner": (0, 0), "each": (0, 0), "at_once": (1, 1),
    }  # fmt: skip
    # its py_func is the function itself: def, total, for 5 times, total 4 times, return
    assert hits(ended, "compiled") == 1 + 1 + 5 + 4 + 1


def test_numba_compiles_functions_marked_with_profile(numba, tmp_path):
    """Above its decorator as below."""
    text = "import builtins\nprofile = getattr(builtins, 'profile', lambda f: f)\n" + NUMBA
    text = text.replace("@numba.njit\ndef helper", "@profile\n@numba.njit\ndef helper")
    text = text.replace("@numba.njit\ndef compiled", "@numba.njit\n@profile\ndef compiled")
    text = text.replace("def at_once", "@profile\ndef at_once")
    write(tmp_path, text)
    ended, theirs = run_ckernprof(["-l", "main.py"], tmp_path), run_python(["main.py"], tmp_path)
    assert (own_messages_removed(ended.out), ended.code) == (theirs.out, 0)
    names = ["helper", "compiled", "compiled.<locals>.inner", "at_once"]
    assert compilers(ended) == dict.fromkeys(names, "numba")


def test_numba_beside_a_profiler_of_the_program(numba, tmp_path):
    write(tmp_path, f"""\
import numba
import clineprof
def helper(n):
    return n * 2
def compiled(n):
    return jitted(n) + 1
profiler = clineprof.Profiler(tracer={TRACER!r})
profiler(helper), profiler(compiled)
jitted = numba.njit(helper)
print(numba.njit(compiled)(20), helper(1))
for function in clineprof.Profile(profiler.snapshot()).functions:
    print(function.name, function.compiler, sum(function["hits"]))
""")
    ended = run_python(["main.py"], tmp_path, env=PACKAGE)
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out.splitlines() == ["41 2", "helper numba 1", "compiled numba 0"]


def test_functions_that_numba_leaves_to_python_count(numba, tmp_path):
    write(tmp_path, re.sub("print.*\n", "", NUMBA) + "print(compiled(3), plain(3))\n")
    ended = profiled(tmp_path, "main", env={"NUMBA_DISABLE_JIT": "1"})
    assert {"helper", "compiled", "compiled.<locals>.inner", "plain"} <= selected(ended, tmp_path)["main.py"]
    assert not {"helper", "compiled", "plain"} & set(compilers(ended))


def test_the_report_says_what_was_compiled(numba, tmp_path):
    write(tmp_path, NUMBA)
    profiled(tmp_path, "main.helper,main.plain", "-o", "out.lprof")
    said = "Compiled by: numba; " + meaning(Profile(tmp_path / "out.lprof").function("helper"))
    assert said.startswith("Compiled by: numba; compiling took 0.")
    report = run_viewer(["out.lprof"], tmp_path).out.split("Total time: ")[1:]
    assert [said in part.splitlines() for part in report] == [True, False]
    merged = run_viewer(["out.lprof", "out.lprof"], tmp_path).out
    assert merged.count(said) == 1
    assert '"compiler":"numba"' in run_viewer(["--format", "json", "out.lprof"], tmp_path).out
    html = run_viewer(["--format", "html", "out.lprof"], tmp_path).out
    assert "ompiled by" in html and "numba" in html


NUMBA_CALLS = """\
import functools, threading
import numba

@numba.njit
def twice(n):
    return n * 2

@numba.njit
def outer(n):
    return twice(n) + twice(n)

@numba.njit
def unlikely(n):
    if n < 0:
        raise ValueError(n)
    return n

def caught(function, argument):
    try:
        return function(argument)
    except Exception as error:
        return type(error).__name__

def work():
    return [twice(n) for n in range(100)]

threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(list(map(twice, range(10))), functools.reduce(lambda a, b: outer(b), range(5)), twice(0.5))
print(caught(unlikely, 1), caught(unlikely, -1), caught(unlikely, "text"), unlikely.py_func(3))
print(twice.py_func is twice.__wrapped__, type(twice).__call__, sorted(twice.stats.cache_misses.values()))
"""


def test_numba_calls_that_are_not_counted(numba, tmp_path):
    """From Python, in any thread, through whatever calls; also those that end by an exception."""
    write(tmp_path, NUMBA_CALLS)
    ended = profiled(tmp_path, "main.twice,main.outer,main.unlikely")
    assert compiled(ended) == {"twice": (400 + 10 + 1, 2), "outer": (4, 1), "unlikely": (3, 1)}
    assert hits(ended, "unlikely") == 2  # `py_func`
    (twice, outer) = (ended.profile().function(name)["compiled"][2] for name in ("twice", "outer"))
    assert twice > 0 and outer > 0
    written = json.loads(run_viewer(["--format", "json", "main.py.lprof"], tmp_path).out)["functions"]
    by_name = {function["name"]: function for function in written}
    assert (by_name["twice"]["compiled_calls"], by_name["twice"]["compilations"]) == (411, 2)
    assert by_name["twice"]["compile_time"] == twice and "compiled_calls" not in by_name.get("caught", {})
    merged = run_viewer(["main.py.lprof", "main.py.lprof"], tmp_path).out
    assert "411 calls from Python to the compiled code are not counted" in merged  # the same process counts once


def test_numba_calls_count_in_windows_and_not_in_a_child(numba, tmp_path):
    write(tmp_path, f"""\
import os, sys
import numba
import clineprof
def twice(n):
    return n * 2
def told(profiler):
    (function,) = clineprof.Profile(profiler.snapshot()).functions
    return function.compiled_calls, function.compilations, function.compile_time > 0, function.compiled.split("; ")[-1]
jitted = numba.njit(twice)
profiler, other = (clineprof.Profiler(tracer={TRACER!r}, started=False) for _ in range(2))
profiler(twice), other(twice)
profiler.start()
twice(0), jitted(1), jitted(2)
print(told(profiler))
other.start()
twice(0)
profiler.stop()
[jitted(n) for n in range(10)]
print(told(profiler), told(other))
profiler.reset()
profiler.start()
twice(0)
print(told(profiler)[:3])
jitted(1)
print(told(profiler)[:2])
other.close()
profiler.stop()
jitted(1)
print(told(profiler)[:2])
sys.stdout.flush()
if os.fork() == 0:
    profiler.start()
    jitted(1)
    print(told(profiler)[:2], flush=True)
    os._exit(0)
os.wait()
print(told(profiler)[:2])
""")
    ended = run_python(["main.py"], tmp_path, env=PACKAGE)
    assert (ended.err, ended.code) == ("", 0)
    many = "%d calls from Python to the compiled code are not counted"
    assert ended.out.splitlines() == [
        repr((2, 1, True, many % 2)),
        repr((2, 1, True, many % 2)) + " " + repr((10, 0, False, many % 10)),
        "(0, 0, False)", "(1, 0)", "(1, 0)", "(2, 0)", "(1, 0)",
    ]  # fmt: skip


# ---- jax.jit -----------------------------------------------------------------------------------

JAX = """\
import functools
import jax

@jax.jit
def squared(x):
    return x * x

class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        return squared(x) + 1

def plain(x):
    return x + 1

def never(x):
    return x - 1

unused = jax.jit(never)
model = Model()
print([float(squared(float(n))) for n in range(5)], [float(model.step(1.0)) for n in range(3)], float(plain(1.0)))
print(never(3), squared(2), jax.grad(plain)(1.0))
"""


def test_jax_compiles_what_it_compiles_alone(tmp_path):
    """It runs a function once for each kind of arguments; these are the hits."""
    pytest.importorskip("jax", reason="jax is not here")
    write(tmp_path, JAX)
    ended = profiled(tmp_path, "main", env={"JAX_PLATFORMS": "cpu"}, timeout=300)
    assert compilers(ended) == dict.fromkeys(["squared", "Model.step"], "jax.jit")
    assert complaints(ended) == told(ended) and compiled(ended) == {"squared": (6, 2), "Model.step": (3, 1)}
    assert [hits(ended, name) for name in ("squared", "Model.step", "plain", "never")] == [2, 1, 2, 1]


JAX_COUNTS = f"""\
import functools, threading
import clineprof
import jax
import jax.numpy as jnp
profiler = clineprof.Profiler(tracer={TRACER!r})
def f(x):
    return x * 2
def g(x):
    return inner(x) + 1
jitted, inner = jax.jit(profiler(f)), jax.jit(profiler(lambda x: x - 1))
outer = jax.jit(profiler(g))
def told(function=f):
    functions = {{each.line: each for each in clineprof.Profile(profiler.snapshot()).functions}}
    each = functions[function.__code__.co_firstlineno]
    print(each.compiled_calls, each.compilations, each.compile_time > 0, each["hits"])
"""


def jax_told(tmp_path, text):
    pytest.importorskip("jax", reason="jax is not here")
    (tmp_path / "main.py").write_text(JAX_COUNTS + text)
    env = {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(BUILD / "python")}
    ended = run_python(["main.py"], tmp_path, env=env, timeout=300)
    assert (ended.err, ended.code) == ("", 0)
    return ended.out.splitlines()


def test_what_jax_compiles_within_other_functions(tmp_path):
    """.. is no compilation of its own, and no call; in threads, and of partial objects, all counts. Calls that fail do
    not, nor do those that count lines because jax is off, or that come while the profiler does not count."""
    assert jax_told(tmp_path, """\
for n in range(4):
    outer(1.0)
told(g)
told(inner.__wrapped__)
threads = [threading.Thread(target=lambda: [jitted(float(n)) for n in range(50)]) for _ in range(3)]
jitted(0.0)
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
told()
try:
    jitted("text")
except TypeError:
    pass
with jax.disable_jit():
    jitted(5.0)
profiler.stop()
jitted(jnp.ones(7))
profiler.start()
told()
def two(a, b):
    return a * b
part = jax.jit(functools.partial(profiler(two), 3.0))
part(1.0), part(2.0)
told(two)
""") == [
        "4 1 True [1]",
        "0 0 False [1]",
        "151 1 True [1]",
        "151 1 True [2]",
        "2 1 True [1]",
    ]


def test_jax_functions_whose_calls_are_not_known(tmp_path):
    """.. because jax.grad or jax.lax.scan traces them, or a program compiles them itself: compilations count alone."""
    assert jax_told(tmp_path, """\
jitted(1.0)
told()
lowered = jitted.lower(jnp.ones(3))
told()
lowered.compile()(jnp.ones(3))
told()
other = profiler(lambda x: x * x)
square = jax.jit(other)
square(1.0)
told(other)
jax.grad(square)(1.0)
told(other)
def step(carry, x):
    return jitted_too(carry), x
third = profiler(lambda x: x + 2)
jitted_too = jax.jit(third)
jitted_too(1.0)
jax.lax.scan(step, 0.0, jnp.ones(3))
told(third)
fourth = profiler(lambda x: x + 3)
old = jax._src.pjit._cpp_pjit.__self__(fourth, jitted_too._jit_info)  # as one that was made before
old(jnp.ones(5))
jax.jit(fourth)(jnp.ones(5))  # it is compiled already
told(fourth)
jax.grad(square)(jnp.float16(1.0))  # jax tells of "<lambda>", which three functions are called
told(other)
told(fourth)
""") == [
        "1 1 True [1]",
        "0 1 True [2]",
        "0 2 True [2]",
        "1 1 True [1]",
        "0 3 True [1]",
        "0 1 True [1]",
        "0 1 True [1]",
        "0 3 True [2]",
        "0 1 True [1]",
    ]


# ---- torch.jit ---------------------------------------------------------------------------------

TORCH_JIT = """\
import inspect
import torch

def helper(x):
    return x * 2

@torch.jit.script
def scripted(x):
    return helper(x) + 1

class Part(torch.nn.Module):
    def forward(self, x):
        return self.more(x) - 1
    def more(self, x):
        return x + 1
    @torch.jit.ignore
    def left_out(self, x):
        return x

class Net(torch.nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part()
    def forward(self, x):
        return self.part(x)

class Traced(torch.nn.Module):
    def forward(self, x):
        return x * x

class Last(torch.nn.Module):
    def both(self, x):
        return x * 3

def traced(x):
    return x + 5

def never(x):
    return x

ones = torch.ones(1)
script, trace = torch.jit.script(Net(Part)), torch.jit.trace(Net(Traced), ones)
some = torch.jit.trace(traced, ones), torch.jit.trace(traced, example_kwarg_inputs={"x": ones})
last = torch.jit.trace_module(Last(), {"both": ones})
print([float(f(ones)) for f in (scripted, script, trace, *some, last.both, never)])
print([list(inspect.signature(function).parameters) for function in (torch.jit.trace, torch.jit.script)])
print(scripted.graph, script.graph, trace.graph)
"""


@pytest.mark.slow
def test_functions_of_torch_jit_are_named(tmp_path):
    """.. with what they call, as far as torch.jit compiles it."""
    pytest.importorskip("torch", reason="torch is not here")
    write(tmp_path, TORCH_JIT)
    ended = profiled(tmp_path, "main", env={"PYTHONWARNINGS": "ignore"}, timeout=300)
    assert compilers(ended) == {
        **dict.fromkeys(["helper", "scripted", "Part.forward", "Part.more"], "torch.jit.script"),
        **dict.fromkeys(["Traced.forward", "Last.both", "traced"], "torch.jit.trace"),
        "Net.forward": "torch.jit.trace",  # the last one counts
    }
    assert complaints(ended) == told(ended)
    assert hits(ended, "helper") == hits(ended, "Part.more") == 0 < hits(ended, "traced")


# ---- torch.compile -----------------------------------------------------------------------------

TORCH = """\
import torch, torch._dynamo
graphs = []
def backend(graph, inputs):
    graphs.append(len(graph.graph.nodes))
    return graph.forward

def helper(x):
    y = x * 2
    return y + 1

@torch.compile(backend=backend, fullgraph=True)
def whole(x):
    for i in range(3):
        x = helper(x)
    return x.sum()

@torch.compile(backend=backend)
def broken(x):
    x = x + 1
    print("a break of the graph")
    x = helper(x)
    if x.sum() > 0:
        x = x - 1
    try:
        with torch.no_grad():
            return x * 3
    finally:
        x = None

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
    def forward(self, x):
        return torch.relu(self.linear(x)).sum()

def never(x):
    return x - 1

torch.manual_seed(0)
net, x = Net(), torch.ones(3)
compiled = torch.compile(net, backend="eager", fullgraph=True)
print(whole(x), whole(x), broken(x), broken(x), compiled(x), net(x), helper(x), never(x), graphs)
told = torch._dynamo.explain(Net())(x)
print(told.graph_count, told.graph_break_count)
print(torch.export.export(Net(), (x,), strict=True).graph)
print(sorted(torch._dynamo.utils.counters["stats"].items()))
"""
TORCH_CALLS = """\
import threading
import torch

def helper(x):
    return x * 2

@torch.compile(backend="eager")
def whole(x):
    for i in range(3):
        x = helper(x)
    return x.sum()

@torch.compile(backend="eager")
def broken(x):
    x = x + 1
    print("a break of the graph")
    x = helper(x)
    print("another one")
    return x

@torch.compile(backend="eager")
def closure(x, n):
    def inner(y):
        return y * n
    return inner(x), inner

for n in range(10):
    whole(torch.ones(3))
threads = [threading.Thread(target=whole, args=(torch.ones(3),)) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(whole(torch.ones(4)), [whole(torch.ones(n)) for n in range(5, 9)], broken(torch.ones(3)), broken(torch.ones(3)))
result, inner = closure(torch.ones(2), 3)
print(result, inner(2), torch.compiler.is_compiling(), helper(1))
net = torch.compile(torch.nn.Linear(2, 2), backend="eager")
print(net(torch.ones(1, 2)).shape, net(torch.ones(1, 2)).shape)
torch._dynamo.reset()
whole(torch.ones(3))
"""
DYNAMO = dict.fromkeys(["helper", "whole", "broken", "Net.forward"], "torch.compile")
# torch with another name for the function that is wrapped, as in another version of torch.
OTHER = """\
import importlib.machinery
plain = importlib.machinery.SourceFileLoader.get_data
def get_data(self, path):
    if "bytecode_transformation" in path and path.endswith(".pyc"):
        raise OSError(path)
    return plain(self, path).replace(b"_cached_cleaned_instructions", b"_known_instructions")
importlib.machinery.SourceFileLoader.get_data = get_data
"""


@pytest.fixture
def torch():
    pytest.importorskip("torch", reason="torch is not here")


@pytest.mark.slow
def test_torch_compiles_what_it_compiles_alone(torch, tmp_path):
    write(tmp_path, TORCH)
    ended = profiled(tmp_path, "main", timeout=300)
    assert compilers(ended) == DYNAMO
    assert complaints(ended) == told(ended)
    assert [hits(ended, name) for name in ("whole", "broken", "helper", "Net.forward", "never")] == [
        0, 0, 2, 1, 1
    ]  # fmt: skip


@pytest.mark.slow
def test_torch_calls_that_are_not_counted(torch, tmp_path):
    """A function that is compiled within another one has no calls of its own. What follows a break of the graph is
    the same call. Compiled twice: for a length, and for any length; and once more after a reset."""
    write(tmp_path, TORCH_CALLS)
    ended = profiled(tmp_path, "main", timeout=300)
    found = compiled(ended)
    assert {name: found.pop(name) for name in ("whole", "broken", "helper")} == {
        "whole": (10 + 3 + 1 + 4 + 1, 3), "broken": (2, 1), "helper": (0, 0),
    }  # fmt: skip
    assert found == {"closure": (1, 1), "closure.<locals>.inner": (0, 0)}
    assert complaints(ended) == told(ended)


@pytest.mark.slow
def test_torch_code_from_before_the_profiler_has_no_counter(torch, tmp_path):
    """A number that would be too small is not told. With probes such code runs no more."""
    write(tmp_path, f"""\
import torch
@torch.compile(backend="eager")
def function(x):
    return x + 1
function(torch.ones(3))
import clineprof
profiler = clineprof.Profiler(tracer={TRACER!r})
profiler(function)
function(torch.ones(3)), function(torch.ones(4)), function(torch.ones(3))
(told,) = clineprof.Profile(profiler.snapshot()).functions
print(told.compiler, told.compiled_calls, told.compilations > 0)
""")
    ended = run_python(["main.py"], tmp_path, env=PACKAGE, timeout=300)
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out == f"torch.compile {3 if WITH_PROBES else 0} True\n"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before 3.11 there is no such counter")
def test_code_with_a_counter_is_the_same_otherwise():
    """For all code of some modules, and for some that runs."""
    import argparse
    import dis
    import inspect
    import tarfile
    import types

    sys.path.insert(0, str(BUILD / "python"))
    from clineprof._boot import compiled

    class Counter:
        calls = 0

        def __neg__(self):
            Counter.calls += 1

    def code_within(code):
        yield code
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from code_within(constant)

    count, tables = 0, 0
    for module in argparse, tarfile, dis:
        text = open(module.__file__).read()
        for code in code_within(compile(text, module.__file__, "exec")):
            if not code.co_flags & inspect.CO_OPTIMIZED:
                continue  # the body of a module or class, which torch never compiles
            made = compiled._begun_with(code, Counter())
            place = code.co_code[::2].index(dis.opmap["RESUME"]) + 1
            words = (len(made.co_code) - len(code.co_code)) // 2
            assert words == (3 if len(code.co_consts) < 256 else 4)
            positions = list(made.co_positions())
            assert positions[:place] + positions[place + words:] == list(code.co_positions())
            assert {place[0] for place in positions[place:place + words]} == {None}

            def moved(entry):
                at = [entry.start, entry.end, entry.target]
                return [n + 2 * words * (n >= 2 * place + (n is entry.end)) for n in at] + [entry.depth, entry.lasti]

            before, after = dis._parse_exception_table(code), dis._parse_exception_table(made)
            assert [moved(entry) for entry in before] == [
                [entry.start, entry.end, entry.target, entry.depth, entry.lasti] for entry in after
            ]
            count, tables = count + 1, tables + (len(before) > 0)
    assert count > 300 and tables > 50

    def runs(n):
        for i in range(n):
            try:
                with memoryview(b"abc") as view:
                    yield view[i]
            except IndexError:
                yield -1

    expected = list(runs(5))
    runs.__code__ = compiled._begun_with(runs.__code__, Counter())
    assert (list(runs(5)), list(runs(5)), Counter.calls) == (expected, expected, 2)
    enclosed = (lambda value: lambda: (value, 1))(7)
    enclosed.__code__ = compiled._begun_with(enclosed.__code__, Counter())
    assert (enclosed(), Counter.calls) == ((7, 1), 3)


@pytest.mark.slow
def test_torch_that_was_imported_before_the_profiler(torch, tmp_path):
    write(tmp_path, TORCH.replace("graphs = []", f"""\
import clineprof
graphs, profiler = [], clineprof.Profiler(tracer={TRACER!r})""").replace("\nclass Net", """
profiler(helper), profiler(whole)
class Net"""))
    write(tmp_path, TORCH, "bare.py")
    ended = run_python(["main.py"], tmp_path, env=PACKAGE, timeout=300)
    assert (ended.out, ended.err) == (run_python(["bare.py"], tmp_path, timeout=300).out, "")


@pytest.mark.slow
def test_torch_that_reads_code_in_an_unknown_way(torch, tmp_path):
    """The next tracer takes what had probes already, and what would have got some."""
    write(tmp_path, OTHER + "def before(n):\n    return n + 1\nbefore(1)\n" + TORCH + "before(2)\n")
    ended = run_ckernprof(["-l", "-vv", "-p", "main", "main.py"], tmp_path, timeout=300)
    theirs = run_python(["main.py"], tmp_path, timeout=300)
    assert ended.out.startswith(theirs.out) and ended.code == 0
    assert [hits(ended, name) for name in ("before", "whole", "helper", "never")] == [2, 0, 2, 1]
    refused = [line for line in complaints(ended) if "this version of torch" in line]
    assert len(refused) == (len(ended.profile().functions) - 1 if WITH_PROBES else 0)  # not the module


EMPTY = ["torch/__init__.py", "torch/_dynamo/__init__.py", "torch/_dynamo/bytecode_transformation.py"]
RETREATS = """\
import sys
@profile
def before(n):
    def inner(m):
        return m + 1
    return inner(n)
def made(n):
    @profile
    def later(m):
        return m + n
    return later
@profile
def steps(n):
    for i in range(n):
        yield i
class Class:
    @profile
    def method(self):
        return before(2)
begun = steps(3)
values = before(1), made(1)(1), Class().method(), next(begun)
import torch._dynamo.bytecode_transformation
@profile
def after(n):
    if n:
        return n
    return 0
values += before(3), made(2)(2), Class().method(), list(begun), list(steps(2)), after(1), after(0)
print(values)
for function in before, Class.method, after, made(1), steps:
    print([type(constant) for constant in function.__code__.co_consts])
"""


def test_probes_are_taken_out_of_all_code(tmp_path):
    """A torch without the function that is wrapped, on versions for which there is no torch, too. What
    runs, or is suspended, goes on with its probes."""
    for name in EMPTY:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    bare = "import builtins; profile = getattr(builtins, 'profile', lambda function: function); "
    write(tmp_path, bare + RETREATS)
    theirs, ended = run_python(["main.py"], tmp_path), run_ckernprof(["-l", "main.py"], tmp_path)
    assert (own_messages_removed(ended.out), ended.err, theirs.err) == (theirs.out, "", "")
    expected, _ = reference(tmp_path / "main.py", tmp_path)
    assert len(expected) == 6 and differences(ended.profile().hits(), expected) == []


# ---- those that compare --------------------------------------------------------------------------

HYPOTHESIS = """\
from hypothesis import strategies as st
from hypothesis.internal.reflection import is_identity_function
def made(n):
    return st.integers().map(lambda y: y + n)
same = lambda z: z
print(st.integers().map(lambda x: x + 1), st.integers().filter(lambda y: y > 3))
print(made(3), is_identity_function(same), same(1), repr(st.text().map(same)))
print(st.builds(lambda a: (a, lambda b: a), st.just(1)))
"""
CLOUDPICKLE = """\
import cloudpickle, hashlib, sys
def outer(n):
    def inner(m):
        return m + n
    return inner(n)
def made(n):
    return lambda: [outer(n)]
text = cloudpickle.dumps((outer, made, made(2)))
print(hashlib.sha256(text).hexdigest(), cloudpickle.loads(text)[2]())
"""
PONY = """\
from pony.orm import *
db = Database()
class Person(db.Entity):
    age = Required(int)
db.bind("sqlite", ":memory:")
db.generate_mapping(create_tables=True)
with db_session:
    for age in range(5):
        Person(age=age)
    print(sorted(p.age for p in select(p for p in Person if p.age > 2)))
    print(count(Person.select(lambda p: p.age < 3)))
"""
COMPARING = {"hypothesis": HYPOTHESIS, "cloudpickle": CLOUDPICKLE, "pony": PONY}


@pytest.mark.parametrize("package", COMPARING)
def test_readers_see_the_code_as_it_was(package, tmp_path):
    pytest.importorskip(package, reason=f"{package} is not here")
    write(tmp_path, COMPARING[package])
    ended = profiled(tmp_path, "main")
    assert complaints(ended) == [] and compilers(ended) == {}


def test_copies_that_hypothesis_makes_of_code_count(tmp_path):
    """It gives functions the place of others."""
    pytest.importorskip("hypothesis", reason="hypothesis is not here")
    write(tmp_path, """\
from hypothesis.internal.reflection import impersonate
def target(n):
    return n
@impersonate(target)
def other(n):
    return n + 1
print(other(1), other.__name__)
""")
    ended = profiled(tmp_path, "main.other")
    assert not WITH_PROBES or hits(ended, "other") == 1


def test_everybody_else_sees_the_code_that_runs(tmp_path):
    """.. also in a package whose name only begins like a reader's."""
    text = """\
import sys
def function():
    return sys._getframe().f_code
def probes(code):
    return any(type(constant).__module__.startswith("clineprof") for constant in code.co_consts)
"""
    write(tmp_path, text, "numbable.py")
    write(tmp_path, text + """\
import numbable, types
for module in sys.modules[__name__], numbable:
    print(module.function() is module.function.__code__)
copy = types.FunctionType(function.__code__, {"sys": sys})
print(copy() is function.__code__)
print(probes(function.__code__), file=sys.stderr)
""")
    ended = run_ckernprof(["-l", "-p", "main,numbable", "main.py"], tmp_path)
    assert own_messages_removed(ended.out) == "True\n" * 3
    assert ended.err == f"{WITH_PROBES}\n"


# ---- decorators that are no compilers ------------------------------------------------------------

MENTIONS = """\
import re
def register(*ignored):
    return lambda function: function
def njit(function=None, **options):
    return function or register()
jit = script = vectorize = njit
class app:
    compile = staticmethod(register)
    script = staticmethod(njit)
@register(re.compile("a"), 1)
def pattern(n):
    return n + 1
@app.compile("route")
def route(n):
    return n + 1
@app.script
def scripted(n):
    return n + 1
@njit(parallel=True)
@script
def fast(n):
    return n + 1
@jit
@vectorize
def faster(n):
    return n + 1
print(pattern(1), route(1), scripted(1), fast(1), faster(1))
"""


@pytest.mark.parametrize("imported", ["", "import numba\n"])
def test_decorators_that_are_called_like_a_compilers(imported, tmp_path):
    if imported:
        pytest.importorskip("numba", reason="numba is not here")
    write(tmp_path, imported + MENTIONS)
    ended = profiled(tmp_path, "main")
    assert complaints(ended) == []
    names = ["pattern", "route", "scripted", "fast", "faster"]
    assert [hits(ended, name) for name in names] == [1] * 5


# ---- pickled by value ----------------------------------------------------------------------------

DILL = """\
import builtins, copy, dill, pickle, sys
if not hasattr(builtins, "profile"):
    profile = lambda function: function
def outer(n):
    @profile
    def inner(m):
        return m + n
    return inner(n)
text = dill.dumps(outer, byref=False, recurse=True)
open("outer.pickle", "wb").write(text)
print(dill.loads(text)(2), outer(3))
"""
LOADS = "import pickle, dill\nprint(dill.load(open('outer.pickle', 'rb'))(5))\n"


def test_dill_takes_along_the_profiler_that_a_function_uses(tmp_path):
    """Who loads it need not be profiled, nor have clineprof."""
    pytest.importorskip("dill", reason="dill is not here")
    write(tmp_path, DILL)
    theirs, ended = run_python(["main.py"], tmp_path), run_ckernprof(["-l", "main.py"], tmp_path)
    if "has no attribute 'co_lnotab'" in theirs.err:
        pytest.skip("dill does not know this version of Python")
    assert (own_messages_removed(ended.out), ended.err) == (theirs.out, "")
    assert hits(ended, "outer.<locals>.inner") == 2
    loaded = run_python(["-c", LOADS], tmp_path)
    assert (loaded.out, loaded.err) == ("10\n", "")


def test_a_copy_of_the_profiler_is_the_profiler(tmp_path):
    write(tmp_path, """\
import copy, pickle
again = copy.copy(profile), copy.deepcopy([profile])[0], pickle.loads(pickle.dumps(profile))
print([one is profile for one in again])
@again[2]
def function():
    return 1
function()
""")
    ended = run_ckernprof(["-l", "main.py"], tmp_path)
    assert (own_messages_removed(ended.out), ended.err) == ("[True, True, True]\n", "")
    assert hits(ended, "function") == 1
