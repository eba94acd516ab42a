# SPDX-License-Identifier: MIT
"""What is special to the probe tracer, which puts probes into copies of code objects: code that
cannot have any, code that is looked at, copied, thrown into and left in every possible way, and the
functions of a script, which have their probes before they exist.

Each program here prints the same as under plain python, and its hits are those of the reference
counter, unless the test says otherwise."""

import dis
import re
import sys

import pytest
from harness import (
    BUILD,
    CKERNPROF,
    FIXTURES,
    SANITIZED,
    Profile,
    differences,
    line_of,
    own_messages_removed,
    reference,
    run,
    run_python,
    without_zeros,
)

pytestmark = [
    pytest.mark.once,  # the tracer is always the same one
    pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no probes before 3.11"),
]

PROGRAMS = FIXTURES / "probe"
STEADY = {"PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1"}
FALLBACK = "monitoring" if sys.version_info >= (3, 12) else "settrace"
# one line, so that line numbers are easy to tell
BARE = "import builtins; profile = getattr(builtins, 'profile', lambda function: function)\n"


def probed(arguments, folder, *options, **more):
    """Runs a program with the probe tracer, through the launcher."""
    command = [CKERNPROF, "--python", sys.executable, "--tracer", "probe", "-l", *options]
    return run([*command, *arguments], folder, **steady(more))


def steady(more):
    return {**more, "env": {**STEADY, **more.get("env", {})}}


def without_addresses(text):
    return re.sub(r"0x[0-9a-fA-F]+", "0x..", text)


def assert_same(ours, theirs):
    """Both printed and ended alike."""
    assert without_addresses(ours.err) == without_addresses(theirs.err)
    assert own_messages_removed(ours.out) == theirs.out
    assert ours.code == theirs.code


@pytest.fixture
def agrees(script, tmp_path):
    """agrees(text): runs the program bare, counted by the reference and with probes, and compares
    all three. The last run comes back. Functions in `uncounted` are left out of the comparison."""

    def check(text, code=0, uncounted=(), **options):
        path = script(BARE + text)
        theirs = run_python([path], tmp_path, **steady(options))
        expected, _ = reference(path, tmp_path, **steady(options))
        ours = probed([path], tmp_path, **options)
        assert theirs.code == code, theirs.err
        assert_same(ours, theirs)
        assert ours.profile().meta["tracer"] == "probe"
        found = ours.profile().hits()
        for hits in found, expected:
            for key in [key for key in hits if key[2] in uncounted]:
                del hits[key]
        assert without_zeros(expected), "nothing is counted"
        assert "\n".join(differences(found, expected)) == ""
        return ours

    return check


def hits(ended, name):
    """Hits of the lines of a function that ran, in the order of the file."""
    return list(
        filter(None, Profile.measure(ended.profile().function(name), "hits").values())
    )


def names(ended):
    return {key[2] for key in ended.profile().functions}


def complaints(ended):
    """What ckernprof itself said, behind the program's own."""
    return [line for line in ended.err.splitlines() if line.startswith("ckernprof: ")]


# ---- code that cannot have probes --------------------------------------------------------------

# What the interpreter runs without complaint. Traced, it would write beyond its arrays: of the lines
# of the code's units (3.11), of where the code has handlers (3.12 and newer).
DAMAGED = {
    "no_resume": "it has no RESUME instruction",
    "runs_over": "it runs over its end",
    "short_lines": "its line table is damaged",
    "long_lines": "its line table is not as long as its code",
    "no_lines": "its line table is not as long as its code",
    "odd_lines": "its line table is damaged",
    "long_handlers": "its exception table is damaged",
    "far_handlers": "its exception table names places out of the code",
    "far_line": "its lines are too far apart",
}
if sys.version_info >= (3, 15):
    del DAMAGED["no_resume"]  # the interpreter itself dies of it: RESUME has a cache
# settrace traces all code, as a debugger does: nothing can be left alone there.
TRACERS = ["probe", "monitoring"][: 1 + (FALLBACK == "monitoring")]
damaged = pytest.mark.parametrize("name", DAMAGED)


def said_of(ended, what):
    return [line for line in complaints(ended) if f", {what}: " in line]


def refusal(name, what, reason):
    path = PROGRAMS / "refused.py"
    return f"ckernprof: {name}, {path}:{line_of(path, 'def works')}, {what}: {reason}"


@damaged
@pytest.mark.parametrize("tracer", TRACERS)
def test_damaged_code_is_left_alone(name, tracer, tmp_path):
    """The debug allocators show what was written out of place."""
    command, debug = [PROGRAMS / "refused.py", name], {"PYTHONMALLOC": "debug"}
    theirs = run_python(command, tmp_path, **steady({"env": debug}))
    ours = probed(["--tracer", tracer, *command], tmp_path, env=debug)
    assert theirs.code == 0 and theirs.out.endswith("\nother\n"), theirs.err
    assert (own_messages_removed(ours.out), ours.code) == (theirs.out, 0)
    assert complaints(ours) == [refusal(name, "is not profiled", DAMAGED[name])]
    assert hits(ours, "main.<locals>.other") == [1] and not hits(ours, name)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="nothing is glued to the END_FOR of older ones")
def test_refused_code_falls_to_the_next_tracer(tmp_path):
    name, reason = "split_end", "a line begins in the midst of a loop's end"
    command = [PROGRAMS / "refused.py", name]
    ours = probed(command, tmp_path, "-vv")
    told = refusal(name, "cannot have probes", reason)
    assert said_of(ours, "cannot have probes") == [f"{told}; tracer {FALLBACK} records it"]
    quiet = probed(command, tmp_path)
    assert_same(quiet, run_python(command, tmp_path, **steady({})))
    expected, _ = reference(command[0], tmp_path, command[1:])
    assert hits(quiet, "main.<locals>.other") == [1]
    assert differences(quiet.profile().hits(), expected) == []


REFUSED_COPY = """
import sys, types, clineprof
sys.path.insert(0, {folder!r})
import refused
function = refused.make("split_end")
profiler = clineprof.Profiler(tracer="probe", memory=False, started=False)
profiler(function)
profiler.start()
copy = types.FunctionType(function.__code__.replace(), vars(refused))
for _ in range(3):
    copy(5)
    profiler.stop()
    profiler.start()
print([f["lines"]["hits"][0] for f in profiler.snapshot()["functions"]])
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="nothing is glued to the END_FOR of older ones")
def test_copies_of_refused_code_count_after_a_stop_too(script, tmp_path):
    path = script(REFUSED_COPY.format(folder=str(PROGRAMS)))
    ended = run_python([path], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == ("[3]\n", "")


OTHERS = """\
import clineprof, types
def theirs(n): return n
def also_theirs(n): return n
other = clineprof.Profiler(tracer="probe")
other(theirs), other(also_theirs)
@profile
def innocent(n): return n
def damaged(n): return n
damaged.__code__ = damaged.__code__.replace(co_linetable=b"")
profile(damaged)
print(innocent(1), theirs(2))
"""


def test_a_refusal_names_its_function(script, tmp_path):
    """.. also where others' functions were numbered before, and children's are merged in."""
    path = script(OTHERS + "import os\nif not os.fork():\n    os._exit(0)\nos.wait()\n")
    ended = probed([path], tmp_path, "-vv", env={"PYTHONPATH": str(BUILD / "python")})
    lines = {name: line_of(path, f"def {name}(") for name in ("innocent", "damaged")}
    reason = "its line table is not as long as its code"
    assert [line for line in complaints(ended) if line.endswith(reason)] == [
        f"ckernprof: damaged, {path}:{lines['damaged']}, is not profiled: {reason}"
    ]
    assert sorted(line for line in complaints(ended) if ": selected" in line) == [
        f"ckernprof: selected damaged, {path}:{lines['damaged']}, by @profile, tracer none",
        f"ckernprof: selected innocent, {path}:{lines['innocent'] - 1}, by @profile, tracer probe",
    ]


OPCODES = """
import dis, types
def works(n):
    total = 0
    for i in range(n):
        total += i
    return total
code = works.__code__
[at] = [i.offset for i in dis.get_instructions(code) if i.opname == "BINARY_OP"]
units = bytearray(code.co_code)
units[at] = {opcode}
function = types.FunctionType(code.replace(co_code=bytes(units)), globals())
function.__code__.co_code
profile(function)
print("not called")
"""


NEVER_USED = 225


@pytest.mark.parametrize("kind", ["unknown", "INSTRUMENTED_CALL", "INSTRUMENTED_RETURN_VALUE"])
def test_instructions_of_the_interpreter_itself(kind, script, tmp_path):
    """Such code can be made, though not run."""
    if NEVER_USED in dis.opmap.values() or kind not in {"unknown": 0, **dis.opmap}:
        pytest.skip("not to be had in this version")
    path = script(BARE + OPCODES.format(opcode=dis.opmap.get(kind, NEVER_USED)))
    theirs = run_python([path], tmp_path, **steady({}))
    ours = probed([path], tmp_path, "-vv")
    assert theirs.code == 0 and ours.code == 0, ours.err
    assert ours.out.startswith("not called\n")
    if kind == "unknown":  # co_code may show the others as what they stand for
        assert said_of(ours, "is not profiled")[0].endswith(
            "it holds an instruction that this version does not have"
        )


# The module `opcode` of another CPython than those that are known, to whoever runs it without importing it.
STRANGER = """
import os, sys
path = os.path.join(os.path.dirname(os.__file__), "opcode.py")
exec(compile(open(path).read(), path, "exec"))
if getattr(sys.modules.get(__name__), "__dict__", None) is not globals():
    {change}
"""
STRANGE = """
@profile
def counted(n):
    for i in generator(n): i and 1
    try:
        return [i for i in range(n)] + [missing]
    except NameError:
        return sum(generator(n))
@profile
def generator(n):
    for i in range(n):
        yield i
counted(3)
"""
CHANGES = {
    "more": "opmap = dict(opmap, LEAP=min({*range(1, 200)} - {*opmap.values()}))",
    "unlisted": "del _inline_cache_entries",
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_interpreter_of_unknown_instructions(change, script, tmp_path):
    """It is not probed, with one line that says so. Otherwise it is measured as well as others; where its module
    cannot be read at all, settrace does not know where functions yield."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other/opcode.py").write_text(STRANGER.format(change=CHANGES[change]))
    path, other = script(STRANGE), {"PYTHONPATH": str(tmp_path / "other")}
    assert [line.partition(";")[0] for line in probed([path], tmp_path, env=other).err.splitlines()] == [
        "ckernprof: this CPython %d.%d has instructions that clineprof does not know" % sys.version_info[:2]
    ]
    expected, _ = reference(path, tmp_path, **steady({}))
    for tracer in {"auto", FALLBACK, "settrace"} if change == "more" else {"auto", FALLBACK} - {"settrace"}:
        ended = probed([path], tmp_path, "--tracer", tracer, env=other)
        assert (ended.code, ended.err) == (0, "")
        assert ended.profile().meta["tracer"] == (FALLBACK if tracer == "auto" else tracer)
        if change == "more" or FALLBACK == "monitoring":
            assert "\n".join(differences(ended.profile().hits(), expected)) == ""


# ---- functions of a script: their code has probes before they exist ----------------------------

LOOKS = """
import sys, types
def probes(code):
    return sum(type(c).__name__.endswith("Probe") for c in code.co_consts)
def constant(name, code=sys._getframe().f_code):
    "The code of this name within this module's."
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            found = item if item.co_name == name else constant(name, item)
            if found is not None:
                return found
def prepared(function):
    "Has the function the very code that was there before it?"
    code = constant(function.__name__)
    return probes(code) > 0 and function.__code__ is code
"""


def looks(script, tmp_path, text):
    """Runs it with probes only: it looks at them."""
    ended = probed([script(LOOKS + text)], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    return ended, own_messages_removed(ended.out).splitlines()


PREPARED = """
@profile
def plain(): pass

@profile
async def coroutine(): pass

@profile
def generator(): yield

def keep(*ignored, **options):
    return lambda function: function
@keep(1,
      key=[2,
           3])
@profile
@keep(
)
def between(a=[
        1], *,
        b=2): pass

@staticmethod
@profile
def static(): pass

class Class:
    @profile
    def method(self): pass
    @property
    @profile
    def value(self): pass
    class Inner:
        @classmethod
        @profile
        def made(cls): pass

def outer():
    @profile
    def nested():
        @profile
        def deeper(): pass
        return deeper
    return nested

nested = outer()
for function in (plain, coroutine, generator, between, static.__wrapped__ if 0 else static.__func__,
                 Class.method, Class.value.fget, Class.Inner.made.__func__, nested, nested()):
    print(function.__qualname__, prepared(function))

def unmarked(): pass
print(probes(constant("unmarked")), probes(unmarked.__code__))
lambda_ = profile(lambda: 0)
print(probes(lambda_.__code__) > 0)
"""


def test_code_has_its_probes_before_the_functions_exist(script, tmp_path):
    ended, out = looks(script, tmp_path, PREPARED)
    assert out == [
        *(
            f"{name} True"
            for name in (
                "plain",
                "coroutine",
                "generator",
                "between",
                "static",
                "Class.method",
                "Class.value",
                "Class.Inner.made",
                "outer.<locals>.nested",
                "outer.<locals>.nested.<locals>.deeper",
            )
        ),
        "0 0",
        "True",
    ]
    assert len(ended.profile().functions) == 11


NEVER_REACHED = """
def make():
    @profile
    def never_defined():
        return 1
    return never_defined
if sys.argv[1:]:
    @profile
    def skipped(): pass
def not_ours():
    profile = lambda function: function
    @profile
    def theirs(n):
        total = 0
        for i in range(n): total += i
        return total
    return theirs
print(not_ours()(3), probes(constant("theirs")) > 0, probes(constant("skipped")) > 0)
@profile
def ran(): return 1
print(ran())
"""


def test_functions_that_are_not_reached_do_not_appear(script, tmp_path):
    """Nor do those of a decorator that is only called like ours."""
    ended, out = looks(script, tmp_path, NEVER_REACHED)
    assert out == ["3 False True", "1"]
    assert names(ended) == {"ran"}


SHADOWING = """
import functools
ours = profile

def local(profile):
    @profile
    def inner(n):
        total = n
        return total
    return inner
print(local(lambda f: f)(1), local(ours)(2))

class Tool:
    profile = staticmethod(lambda function: function)
    def __call__(self, function):
        return function
tool = Tool()

@tool.profile
def not_selected(n):
    return n
print(not_selected(1))

def uses(n):
    profile = n
    for profile in range(3):
        n += profile
    @(lambda f: f)
    def inner():
        return profile
    return inner() + n
print(uses(1))

profile = lambda function: function
@profile
def rebound(n):
    return n
print(rebound(2))
del profile
if hasattr(__builtins__, "profile"):
    @profile
    def again(n):
        return n
else:
    profile = ours
    @profile
    def again(n):
        return n
print(again(3))

class Methods:
    @ours
    def one(self): return 1
    profile = property(lambda self: 2)
    @ours
    def two(self): return self.profile
print(Methods().one(), Methods().two())

def factory():
    global profile
    def profile(function):
        return ours(function)
    @profile
    def through(n):
        return n
    return through
print(factory()(4))
profile = ours

@profile
@functools.wraps(uses)
def named(n):
    return n
print(named.__name__, hasattr(named, "__wrapped__"))

@functools.lru_cache(None)
@profile
@functools.singledispatch
def dispatched(n): return 0
@profile
@dispatched.__wrapped__.register
def for_int(n: int):
    return n + 1
print(dispatched(5), dispatched(5), dispatched("text"))

f = g = profile(lambda n: n + 1); print(f(1), (lambda x: x)(2))
two = [profile(lambda: 1), lambda: 2]; print(two[0](), two[1]())
"""


def test_other_things_that_are_called_profile(agrees):
    agrees(SHADOWING)


SELECTED_OFTEN = """
@profile
def once(n):
    return n
for i in range(200):
    assert profile(once) is once
once(1)

for i in range(200):
    @profile
    def anew(n):
        return n
    anew(i)

late = lambda n: n + 1
late(1)
for i in range(3):
    late = profile(late)
    late(1)

class Thing:
    def method(self):
        return 1
for i in range(5):
    profile(Thing); profile(Thing.method); profile(Thing().method)
print(Thing().method(), once(3), anew(4), late(5))
"""


def test_selected_again_and_again(agrees):
    ended = agrees(SELECTED_OFTEN)
    assert hits(ended, "once") == [2] and hits(ended, "anew") == [201]


THEIRS = """
class Tool:
    @staticmethod
    def profile(function):
        return function
@Tool.profile
def theirs(n):
    total = 0
    for i in range(n):
        try:
            total += [1, 2][i]
        except IndexError:
            total += yield total
    return total
generator = theirs(3)
print(next(generator), probes(theirs.__code__) > 0)
try: generator.send(4)
except StopIteration as stop: print(stop.value)
print(*theirs(2), "end")
theirs(3).close()
"""


def test_probes_that_nobody_selects(script, tmp_path):
    """A decorator of that name is enough for the code to have them; they record nothing."""
    ended = probed([script(LOOKS + THEIRS)], tmp_path)
    assert own_messages_removed(ended.out).splitlines() == ["3 True", "7", "end"]
    assert ended.err.startswith("ckernprof: nothing was profiled") and ended.code == 0


# ---- code as a value ---------------------------------------------------------------------------

VALUES = """
import copy, io, marshal, pickle, types

@profile
def function(n):
    total = 0
    for i in range(n):
        total += i
    return total

@profile
def generator(n):
    for i in range(n):
        yield i

def zeros(code):
    return [c for c in code.co_consts if type(c) is int and c == 0]

print(function(3), list(generator(2)))
for f in function, generator:
    code = f.__code__
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    assert copy.copy(code) is code and copy.deepcopy(code) is code
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        parts = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
        again = pickle.loads(pickle.dumps(parts, protocol))
        assert all(type(c) in (int, tuple, str, type(None)) for c in again), again
        assert [c for c in again if c != 0] == [c for c in parts if type(c).__module__ == "builtins"
                                                and c != 0]
    assert code == code.replace() and hash(code) == hash(code.replace())
    assert code != code.replace(co_name="other")

made = types.FunctionType(function.__code__.replace(co_name="made"), globals())
print(made(4))
for i in range(3):
    print(types.FunctionType(function.__code__.replace(co_firstlineno=1 + i), {})(2))
print(list(types.FunctionType(generator.__code__.replace(co_filename="elsewhere"), {})(3)))
del made, function
import gc; gc.collect()
print(function if "function" in dir() else "gone")
"""


def test_copies_of_code(script, tmp_path):
    """A copy of probed code, made by code.replace(), runs and counts as what it is a copy of."""
    path = script(BARE + VALUES)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == 0, theirs.err
    assert_same(ours, theirs)
    assert hits(ours, "function") == [5, 4 + 5 + 9, 3 + 4 + 6, 5]
    assert hits(ours, "generator") == [3 + 4, 2 + 3]


MARSHALS = """
import marshal
@profile
def function(n):
    return n
print(function(1), function(2))
for version in range(marshal.version + 1):
    try:
        marshal.dumps(function.__code__, version)
        print("written")
    except ValueError as error:
        print(error)
print(function(3))
"""


def test_marshal_refuses(script, tmp_path):
    ours = probed([script(MARSHALS)], tmp_path)
    said = own_messages_removed(ours.out).splitlines()
    assert (ours.code, ours.err, said[0], said[-1]) == (0, "", "1 2", "3")
    assert len(said) >= 6 and set(said[1:-1]) == {"unmarshallable object"}
    assert hits(ours, "function") == [3]


def statements(count, width):
    """So many constants, this many on a line."""
    for first in range(0, count, width):
        yield "    " + "; ".join(f"total += {i}.5" for i in range(first, first + width)) + "\n"
        yield f"    if n == {first}: total = n\n"


@pytest.mark.parametrize("count, width", [(245, 1), (300, 2), (66_000, 150)])
def test_many_constants(count, width, agrees):
    """Probes behind the 256th and the 65,536th constant have longer instructions."""
    body = "".join(statements(count, width))
    ended = agrees(
        f"@profile\ndef plain(n):\n    total = 0\n{body}    try:\n        return total\n"
        "    finally:\n        n = total\n"
        "print(plain(0), plain(300))\n"
        f"@profile\ndef generator(n):\n    total = 0\n{body}    yield total\n"
        "    try:\n        yield from (n, total)\n    except KeyError:\n        yield 'caught'\n"
        "g = generator(200)\nprint(next(g), next(g), g.throw(KeyError), *g)\n"
    )
    assert len(hits(ended, "plain")) > 2 * count // width


SPECIALISES = """
import dis
@profile
def called(a, b):
    return a
class Thing:
    @profile
    def method(self, a):
        return a
@profile
def generator():
    yield 1
def caller(thing):
    for i in range(10_000):
        called(i, i)
    for i in range(10_000):
        thing.method(i)
    for i in range(1000):
        for j in generator(): pass
caller(Thing())
print(*sorted(i.opname for i in dis.get_instructions(caller, adaptive=True)
              if "PY" in i.opname or "FOR_ITER_GEN" in i.opname))
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="functions keep no version there anyway")
def test_calls_of_prepared_functions_are_specialised(script, tmp_path):
    path = script(BARE + SPECIALISES)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.out.count("CALL_PY_EXACT_ARGS") >= 2
    assert_same(ours, theirs)
    assert hits(ours, "called") == [10_000]


# ---- code that is left, entered and interrupted in every way -----------------------------------

DEEP = """
import sys
sys.setrecursionlimit(400)
reached = []
@profile
def down(n):
    reached.append(n)
    down(n + 1)
    return n
@profile
def through(n):
    try:
        through(n + 1)
    except RecursionError:
        raise
    finally:
        reached.append(-n)
@profile
def generators(n):
    yield n
    yield from generators(n + 1)
class Hash:
    @profile
    def __hash__(self):
        return hash(Hash())
for call in (lambda: down(0), lambda: through(0), lambda: list(generators(0)), lambda: {Hash(): 1}):
    for i in range(3):
        reached.clear()
        try:
            call()
        except RecursionError:
            print("too deep", len(reached) > 100)
@profile
def fine(n):
    return n if n == 0 else fine(n - 1)
print(fine(50))
"""


def test_recursion_error(script, tmp_path):
    """The reference counter, itself in Python, would run out of levels sooner."""
    path = script(BARE + DEEP)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == 0, theirs.err
    assert_same(ours, theirs)
    assert hits(ours, "fine") == [51]
    # a frame that cannot be made is not entered
    entered, called = hits(ours, "down")
    assert entered == called and entered % 3 == 0
    tried, handled, raised, last = hits(ours, "through")[-4:]
    assert handled == raised == last


EXHAUSTED = """
import _testcapi
@profile
def builds(n):
    out = []
    for i in range(n):
        out.append([i] * 3)
    return len(out)
@profile
def generator(n):
    for i in range(n):
        try:
            yield {i: [i]}
        except ValueError:
            yield None
@profile
def outer(n):
    try:
        return builds(n) + sum(len(x) for x in generator(n) if x)
    except MemoryError:
        return -1
def attempt(start):
    try:
        _testcapi.set_nomemory(start, start + 1)
        return outer(5)
    except MemoryError:
        return -1
    finally:
        _testcapi.remove_mem_hooks()
print(outer(5))
results = []
for start in range(1, 100):
    results.append(attempt(start))
print(results.count(-1) > 5, results.count(10) > 1, set(results) == {10, -1}, outer(5))
"""


@pytest.mark.skipif(
    sys.version_info[:2] in [(3, 12), (3, 13)], reason="the interpreter itself does not survive it"
)
def test_any_allocation_may_fail(script, tmp_path):
    """Which one fails, and so what is counted, depends on free lists; the program goes on as it does
    without the profiler."""
    pytest.importorskip("_testcapi")
    path = script(BARE + EXHAUSTED)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    if theirs.code != 0:
        pytest.skip("the interpreter itself does not survive it")
    assert_same(ours, theirs)
    assert hits(ours, "outer")[:2] == [101, 101]


HUGE = """
import gc
@profile
def huge(n):
    try:
        return [0] * n
    except MemoryError:
        n = 1
    return [0] * n
@profile
def generator(n):
    while True:
        try:
            n = yield [0] * n
        except MemoryError as error:
            n = len(error.args)
@profile
def raises(n):
    return bytes(n)
print(len(huge(3)), len(huge(2**62)))
g = generator(1)
print(len(next(g)), g.send(2**62), len(g.send(4)))
g.close()
for i in range(3):
    try:
        raises(2**62)
    except MemoryError:
        print("no memory")
"""


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer ends a program that asks for so much")
def test_memory_error(agrees):
    agrees(HUGE)


# ---- other hooks in the middle of probed code --------------------------------------------------

TRACES = """
import sys
def quiet(frame, event, argument):
    return quiet
def counts(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        seen[event, frame.f_lineno] = seen.get((event, frame.f_lineno), 0) + 1
    return counts
seen = {}

@profile
def sets(n):
    total = 0
    for i in range(n):
        if i == 1:
            sys.settrace(counts)
            sys._getframe().f_trace = counts
        total += i
        if i == 3:
            sys.settrace(None)
            sys._getframe().f_trace = None
    return total
@profile
def inner(n):
    yield n
    sys.settrace(counts)
    yield n + 1
    sys.settrace(None)
    yield n + 2
@profile
def calls():
    sys.settrace(counts)
    try:
        return sets(2) + sum(inner(1)) + (lambda: 1)()
    finally:
        sys.settrace(None)
print(sets(5), sets(0), list(inner(1)), calls(), sets(2))
sys.settrace(None)
print(*sorted(seen.items()), sep="\\n")
"""


def test_settrace_in_the_middle_of_a_function(script, tmp_path):
    """The tracer of 3.11's reference would be replaced: hits are counted by hand."""
    path = script(BARE + TRACES)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == 0 and len(theirs.out.splitlines()) > 10, theirs.err
    assert_same(ours, theirs)
    # i: 0 to 4; none; 0 and 1 twice
    assert hits(ours, "sets") == [4, 13, 9, 3, 3, 9, 9, 1, 1, 4]
    assert hits(ours, "inner") == [2] * 5


JUMPS = """
import sys
moves = {}
def local(frame, event, argument):
    if event == "line":
        to = moves.get((frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno), [])
        if to:
            frame.f_lineno = frame.f_code.co_firstlineno + to.pop()
    return local
def enter(frame, event, argument):
    return local if frame.f_code.co_filename == __file__ else None
out = []
@profile
def plain(n):
    out.append("a")
    out.append("b")
    out.append("c")
    return n
@profile
def loops(n):
    for i in range(n):
        out.append(i)
        out.append(-i)
    out.append("end")
    return n
@profile
def generator(n):
    out.append("a")
    yield n
    out.append("b")
    yield n + 1
    out.append("c")
def run(name, call, *jumps):
    moves.clear()
    out.clear()
    for at, *to in jumps:
        moves[name, at] = to
    sys.settrace(enter)
    try:
        result = call()
    except ValueError as error:
        result = error
    finally:
        sys.settrace(None)
    print(name, jumps, out, result)
# distances from the decorator's line
run("plain", lambda: plain(1), (3, 4))
run("plain", lambda: plain(1), (5, 2))
run("plain", lambda: plain(1), (5, 3, 4, 2))
run("plain", lambda: plain(1), (3, 5))
run("plain", lambda: plain(1), (2, 5))
run("loops", lambda: loops(3), (4, 3))
run("loops", lambda: loops(3), (3, 5))
run("loops", lambda: loops(3), (4, 2))
run("loops", lambda: loops(3), (2, 6))
run("loops", lambda: loops(3), (6, 2))
run("generator", lambda: list(generator(1)), (4, 6))
run("generator", lambda: list(generator(1)), (4, 2, 2))
run("generator", lambda: list(generator(1)), (6, 3))
run("generator", lambda: list(generator(1)), (2, 6))
print(plain(2), loops(2), *generator(2))
"""


def test_jumps_of_a_trace_function(script, tmp_path):
    """frame.f_lineno = n, as a debugger does it: the program goes there, and every line that runs is
    counted. What ran is told by the program itself."""
    path = script(BARE + JUMPS)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == 0 and "can't jump" not in theirs.out, theirs.out + theirs.err
    assert_same(ours, theirs)
    shown = "".join(theirs.out.splitlines()[:5])
    first = line_of(path, "def plain(")
    assert [Profile.measure(ours.profile().function("plain"), "hits")[first + n] for n in (2, 3)] == [
        shown.count("'b'") + 1,
        shown.count("'c'") + 1,
    ]


RAISES = """
import sys
@profile
def inner(n):
    total = n
    return total + 1
@profile
def trivial(n):
    total = n
    return total
@profile
def generator(n):
    total = n
    yield total
    total += 1
    yield total
@profile
def outer(n):
    try:
        total = inner(n)
    except KeyError:
        total = 50
    try:
        total += trivial(n)
    except KeyError:
        total += 50
    try:
        total += sum(generator(n))
    except KeyError:
        total += 50
    return total
def spoils(name, event):
    def local(frame, happened, argument):
        if frame.f_code.co_name == name and happened == event:
            raise KeyError(name)
        return local
    return local
for name in "inner", "trivial", "generator":
    for event in "call", "line", "return":
        for i in range(3):
            sys.settrace(spoils(name, event))
            result = outer(1)
            sys.settrace(None)
        print(name, event, result, outer(1))
print(outer(2))
"""


def test_trace_function_that_raises(script, tmp_path):
    """.. in the hook of an entry, a line or a return: the stack of activations heals, so that later
    hits are right, and so are those of the functions around."""
    path = script(BARE + RAISES)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == 0 and theirs.out.splitlines()[-1] == "10", theirs.out + theirs.err
    assert_same(ours, theirs)
    total = 9 * (3 + 1) + 1
    handled = 3 * 3
    assert hits(ours, "outer") == [
        *[total, total, handled, handled] * 3,
        total,
    ]
    # not entered, or its line not begun, nine times each; left by the return's hook three times
    assert hits(ours, "inner")[1] == total - 6
    assert hits(ours, "trivial")[1] == total - 6


# ---- threads, tasks, processes, the end --------------------------------------------------------

THREADS = """
import sys, threading
sys.setswitchinterval(1e-5)
start = threading.Barrier(8)
@profile
def generator(n):
    total = 0
    for i in range(n):
        try:
            total += yield i
        except KeyError:
            total -= 1
        finally:
            total += 0
    return total
@profile
def drives(n):
    g = generator(n)
    next(g)
    for i in range(n - 2):
        if i % 5 == 0:
            g.throw(KeyError)
        else:
            g.send(i)
    g.close()
def work():
    start.wait()
    for i in range(20):
        drives(50)
threads = [threading.Thread(target=work) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print("done")
"""


def test_eight_threads_in_one_generator_function(agrees):
    ended = agrees(THREADS)
    assert hits(ended, "drives")[0] == 8 * 20


HANDED_OVER = """
import gc, queue, sys, threading
def in_thread(call):
    "Runs it in a new thread, and gives its result."
    out = []
    thread = threading.Thread(target=lambda: out.append(call()))
    thread.start()
    thread.join()
    return out[0]
@profile
def inner(n):
    try:
        yield n
        n += 1
        yield n
    finally:
        n = 0
@profile
def outer(n):
    x = n
    yield from inner(x)
    for i in range(3):
        yield i
@profile
async def coroutine(n):
    class Waits:
        def __await__(self):
            yield n
            yield n + 1
    await Waits()
    await Waits()
    return n
@profile
async def asynchronous(n):
    for i in range(n):
        yield i

g = outer(1)
print(next(g), in_thread(lambda: next(g)), next(g), in_thread(lambda: list(g)))
g = in_thread(lambda: outer(2))
print(in_thread(lambda: next(g)), next(g))
in_thread(g.close)
g = outer(3)
in_thread(lambda: next(g))
def thrown():
    try: g.throw(LookupError)
    except LookupError as error: return error.__traceback__.tb_next.tb_lineno
print(in_thread(thrown))
c = coroutine(5)
print([in_thread(lambda: c.send(None)) for i in range(4)])
def finish():
    try: c.send(None)
    except StopIteration as stop: return stop.value
print(in_thread(finish))
a = asynchronous(2)
def step():
    try: a.asend(None).send(None)
    except StopIteration as stop: return stop.value
print(in_thread(step), step())

# many, round the threads and back
passed, ends = queue.Queue(), queue.Queue()
@profile
def counts(n):
    for i in range(n):
        yield i
def passes_on():
    while (g := passed.get()) is not None:
        if next(g, None) is None:
            ends.put(g)
        else:
            passed.put(g)
for i in range(50):
    passed.put(counts(20))
threads = [threading.Thread(target=passes_on) for i in range(6)]
for t in threads: t.start()
for i in range(50): ends.get()
for t in threads: passed.put(None)
for t in threads: t.join()

# finalised elsewhere: by the collector, in another thread
@profile
def cycle(n, box):
    try:
        yield n
    finally:
        n += len(box)
def leave_behind():
    box = []
    box.append(cycle(1, box))
    next(box[0])
gc.disable()
for i in range(20): leave_behind()
in_thread(gc.collect)
gc.enable()
# .. and by the end of the thread that held it
local = threading.local()
def holds():
    local.held = cycle(2, [1])
    next(local.held)
for i in range(5): in_thread(holds)
print("end")
"""


def test_bodies_that_go_on_in_other_threads(agrees):
    ended = agrees(HANDED_OVER)
    assert hits(ended, "counts") == [50 * 21, 50 * 20]
    assert hits(ended, "cycle") == [25, 25, 25]


MANY_TASKS = """
import asyncio
@profile
async def leaf(n):
    await asyncio.sleep(0)
    if n % 7 == 0:
        raise LookupError(n)
    return n
@profile
async def task(n):
    total = 0
    for i in range(3):
        try:
            total += await leaf(n + i)
        except LookupError:
            total -= 1
    async for i in counts(2):
        total += i
    async with lock:
        return total
@profile
async def counts(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
@profile
async def cancelled():
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0)
async def main():
    global lock
    lock = asyncio.Lock()
    waiting = [asyncio.create_task(cancelled()) for i in range(100)]
    print(sum(await asyncio.gather(*(task(n) for n in range(1000)))))
    for t in waiting: t.cancel()
    print(len(await asyncio.gather(*waiting, return_exceptions=True)))
    left = [counts(3) for i in range(10)]
    for a in left: await anext(a)
asyncio.run(main())
"""


def test_a_thousand_tasks(agrees):
    ended = agrees(MANY_TASKS)
    assert hits(ended, "cancelled")[0] == 100


AT_THE_END = """
import atexit, os, sys, threading
@profile
def held(n, write=os.write):
    try:
        while True:
            n += 1
            yield n
    finally:
        write(1, b"closed ")
        n = 0
@profile
def at_exit(n):
    next(early)
    return n
class Late:
    @profile
    def __del__(self, write=os.write):
        write(1, b"deleted ")
early = held(0)
next(early)
atexit.register(at_exit, 1)
sys.held_until_the_end = [held(10), Late()]
next(sys.held_until_the_end[0])
"""


def test_bodies_that_outlive_the_profile(script, tmp_path):
    """Generators closed and objects deleted while the interpreter goes down, after the profile was
    written."""
    path = script(BARE + AT_THE_END)
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == 0 and sorted(theirs.out.split()) == ["closed", "closed", "deleted"]
    assert ours.code == 0 and ours.err == ""
    assert re.sub(r"Wrote profile .*\nInspect .*\n.*\n", "", ours.out) == theirs.out
    assert hits(ours, "held") == [2, 3, 3, 3] and hits(ours, "at_exit") == [1, 1]
    assert not hits(ours, "Late.__del__")


DAEMONS = """
import sys, threading, time
sys.setswitchinterval(1e-5)
@profile
def waits(event):
    started.release()
    event.wait()
@profile
def works():
    started.release()
    total = 0
    while True:
        total += sum(generator(3))
        try:
            threading.Thread(target=short, daemon=True).start()
        except RuntimeError:  # the interpreter is shutting down
            time.sleep(1)
@profile
def short():
    return 1
@profile
def generator(n):
    for i in range(n):
        yield i
started = threading.Semaphore(0)
for work, arguments in (waits, (threading.Event(),)), (works, ()), (works, ()):
    threading.Thread(target=work, args=arguments, daemon=True).start()
    started.acquire()
time.sleep(0.05)
print("end")
"""


def test_daemon_threads_at_the_end(script, tmp_path):
    """One waits, others go on in probed code while the profile is written."""
    path = script(BARE + DAEMONS)
    for _ in range(3):
        ours = probed([path], tmp_path)
        assert own_messages_removed(ours.out) == "end\n" and (ours.err, ours.code) == ("", 0)
        assert hits(ours, "waits") == [1, 1] and hits(ours, "works")[:2] == [2, 2]


FORKS = """
import os, sys
@profile
def forks(n):
    total = n
    for i in range(3):
        pid = os.fork()
        if pid == 0:
            total += inner(i)
            sys.stdout.flush()
            if i == 1:
                return "child", total
            os._exit(total)
        total += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return "parent", total
@profile
def inner(n):
    return n
@profile
def generator(n):
    yield n
    if os.fork() == 0:
        for i in inner(5), 1:
            yield i
        os._exit(0)
    os.wait()
    yield "parent"
result = forks(1)
if result[0] == "child":
    sys.exit(result[1])
print(result, list(generator(3)))
"""


def test_fork_inside_probed_code(script, tmp_path):
    """Each process keeps its own numbers; the parent's are those of the parent."""
    path = script(BARE + FORKS)
    env = {"PYTHONWARNINGS": "ignore"}
    theirs = run_python([path], tmp_path, **steady({"env": env}))
    ours = probed([path], tmp_path, env=env)
    assert theirs.code == 0 and theirs.out.startswith("('parent', "), theirs.err
    assert re.fullmatch("ckernprof: inner, program.py:.* --prof-child-procs profiles them, too\n", ours.err)
    ours.err = theirs.err
    assert_same(ours, theirs)
    assert hits(ours, "forks") == [1, 4, 3, 3, 3, 1]
    assert not hits(ours, "inner")  # in the children only
    assert hits(ours, "generator") == [1, 1, 1, 1]


EXITS = """
import os, sys, threading
@profile
def generator(n):
    try:
        yield n
        {first}
    finally:
        print("finally", flush=True)
@profile
def nested(n):
    for i in generator(n):
        n += 1
    return n
nested(1)
print("not reached")
"""


@pytest.mark.parametrize(
    "first, code",
    [
        ("sys.exit(3)", 3),
        ("sys.exit('text')", 1),
        ("raise SystemExit(None)", 0),
        ("raise KeyboardInterrupt", -2),
        ("os.kill(os.getpid(), 2)", -2),
        ("raise BaseExceptionGroup('all', [SystemExit(3)])", 1),
        ("sys.exit(next(generator(7)))", 7),
    ],
)
def test_exit_in_a_generator(first, code, script, tmp_path):
    path = script(BARE + EXITS.format(first=first))
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == code, theirs.err
    assert_same(ours, theirs)
    assert hits(ours, "nested") == [2, 1]


@pytest.mark.parametrize("call", ["os._exit(4)", "os.abort()", "os.kill(os.getpid(), 9)"])
def test_sudden_end(call, script, tmp_path):
    path = script(BARE + EXITS.format(first=call))
    theirs, ours = run_python([path], tmp_path, **steady({})), probed([path], tmp_path)
    assert theirs.code == ours.code != 0
    assert theirs.out == ours.out == ""
    assert [line for line in ours.err.splitlines() if "core" not in line][:3] == [
        line for line in theirs.err.splitlines()
    ][:3] or call == "os.abort()"


@pytest.mark.parametrize("way", ["trace", *(["monitoring"] if FALLBACK == "monitoring" else [])])
def test_an_exception_at_every_instruction(way, tmp_path):
    """Also between the three instructions of a probe, and where a body is left: later hits are
    right. What is counted meanwhile depends on where the instructions lie; so hits are compared with
    those of a run that goes on for longer."""
    path = PROGRAMS / "at_every_instruction.py"
    found, expected = {}, {}
    for times in "3", "103":
        ended = probed([path, way, times], tmp_path)
        assert (ended.err, ended.code) == ("", 0)
        assert own_messages_removed(ended.out) == "True\n" + "10 3 [5, 0, 1] 2\n" * int(times)
        found[times] = ended.profile().hits()
        expected[times], _ = reference(path, tmp_path, ["none", times])
    more, expected_more = (
        {key: {n: hits["103"][key][n] - hits["3"][key].get(n, 0) for n in hits["103"][key]}
         for key in hits["103"]}
        for hits in (found, expected)
    )
    assert len(without_zeros(expected_more)) == 7
    assert "\n".join(differences(more, expected_more)) == ""


DROPPED = """
import gc, sys
text = "@profile\\ndef f(n):\\n    x = n\\n    return x\\n@profile\\ndef g(n):\\n    yield n\\n    yield n\\n"
profile_here = {"profile": profile}
def once():
    names = dict(profile_here)
    exec(compile(text, "made", "exec"), names)
    names["f"](1)
    next(names["g"](3))
for i in range(20):
    once()
gc.collect()
before = sys.getallocatedblocks()
for i in range(1000):
    once()
gc.collect()
# the interpreter's cache of attributes may hold some names
print("kept" if sys.getallocatedblocks() - before > 3000 else "gave all back")
"""


def test_code_that_is_made_and_dropped(script, tmp_path):
    path = script(BARE + DROPPED)
    assert run_python([path], tmp_path).out == "gave all back\n"
    ours = probed([path], tmp_path)
    assert hits(ours, "f") == [1020, 1020] and hits(ours, "g") == [1020]
    assert own_messages_removed(ours.out) == "gave all back\n"


COPIED_TWICE = """
import types
@profile
def generator(n):
    for i in range(n):
        yield i
types.coroutine(generator)  # gives it a copy of its code
profile(generator)
print(generator(3).send(None))
"""


def test_a_copy_of_selected_code_is_selected(agrees):
    agrees(COPIED_TWICE)


ADDRESS_AGAIN = """
import gc, sys, types
def make(name, body):
    names = {"hook": lambda: hook()}
    text = f"def {name}(n):\\n    x = n\\n    hook()\\n{body}    return x + 1\\n"
    exec(compile(text, name, "exec"), names)
    return names.pop(name)
hook = lambda: None
LINES = 12
A = profile(make("A", "    x = 7\\n" * LINES))
size, address = sys.getsizeof(A.__code__), id(A.__code__)
A2 = types.FunctionType(A.__code__.replace(co_name="A2"), A.__globals__)
fillers = {k: make("B", "    " + "x = 5; " * k + "\\n") for k in range(1, 60)}
overhead = sys.getsizeof(profile(make("B", "    x = 5; x = 5\\n")).__code__) - sys.getsizeof(make("B", "    x = 5; x = 5\\n").__code__)
fits = [k for k, f in fillers.items() if (sys.getsizeof(f.__code__) + overhead + 15) // 16 == (size + 15) // 16]
ready = [make("B", "    " + "x = 5; " * k + "\\n") for k in fits for i in range(100)]
del A
gc.collect()
B = None
for f in ready:
    profile(f)
    if id(f.__code__) == address:
        B = f
        break
print("the same address" if B else "other addresses")
if B:
    jumped = []
    def local(frame, event, arg):
        if event == "line" and not jumped and frame.f_lineno == frame.f_code.co_firstlineno + 3:
            jumped.append(1)
            frame.f_lineno = frame.f_code.co_firstlineno + 1
        return local
    def hook():
        global hook
        hook = lambda: None
        sys.settrace(lambda f, e, a: local if f.f_code is B.__code__ else None)
        B(1)
        sys.settrace(None)
    A2(1)
"""


def test_an_address_that_is_used_again(script, tmp_path):
    """A has gone, but not a copy of its code. B has the address of its code, and leaves an activation
    behind by a jump to its start while the copy runs."""
    ours = probed([script(BARE + ADDRESS_AGAIN)], tmp_path)
    assert (ours.code, ours.err) == (0, "")
    assert ours.out.startswith("the same address\n")
    assert hits(ours, "A") == [1] * 15


FAR_FROM_FIRST = """
def version(lines):
    "Functions of the same name at the same place, each longer or shorter than the one before."
    names = {"profile": profile}
    text = "@profile\\ndef f(n):\\n" + "    x = n\\n" * lines + "    return x\\n"
    exec(compile(text, "made", "exec"), names)
    return names["f"]
for lines in 1, 5, 3000, 2, 10_000, 1:
    print(version(lines)(lines))
"""


def test_functions_of_one_name_and_many_lengths(script, tmp_path):
    path = script(BARE + FAR_FROM_FIRST)
    ours = probed([path], tmp_path)
    assert_same(ours, run_python([path], tmp_path))
    assert hits(ours, "f") == [2, 2]  # the first text ran again at the end
    lengths = [len(hits(ours, f"f ({number})")) for number in range(2, 6)]
    assert lengths == [6, 3001, 3, 10_001]
    assert all(set(hits(ours, f"f ({number})")) == {1} for number in range(2, 6))


MANAGERS = """
class Manager:
    def __init__(self, swallows): self.swallows = swallows
    def __enter__(self): return self
    def __exit__(self, *error): return self.swallows
@profile
def three(a, b, c):
    with Manager(a) as x, Manager(b), Manager(c) as y:
        raise ValueError
@profile
def four(a, b, c):
    with Manager(a), Manager(b), Manager(c), Manager(
            1 / (a + b + c) > 2) as y:
        int("x")
@profile
def nested(a, b, c):
    with Manager(a), Manager(b):
        with Manager(c), Manager(0), Manager(0): raise KeyError
@profile
async def awaits(a, b, c):
    async with Async(a), Async(b) as x, Async(c), Async(a * b): raise OSError
class Async(Manager):
    async def __aenter__(self): return self
    async def __aexit__(self, *error): return self.swallows
for mask in range(8):
    for function in three, four, nested, awaits:
        try:
            done = function(mask & 1, mask & 2, mask & 4)
            done and done.send(None)
        except (Exception, StopIteration) as error:
            print(mask, function.__name__, type(error).__name__)
"""


def test_managers_on_one_line(agrees):
    """What one exit lets through begins the line again in the next, if it was raised on another."""
    agrees(MANAGERS)
