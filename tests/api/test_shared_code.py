# SPDX-License-Identifier: MIT
"""Functions that are made of one code object, of which one is selected: what is selected is the code,
so all of them count, wherever it runs. The probe tracer gives the selected function another code
object and has to find the others: since 3.12 it watches the old one, before it looks for functions
that have it.

Hits are those of the reference counter, which knows code by its identity and changes none."""

import sys

import pytest
from harness import (
    CKERNPROF,
    Profile,
    differences,
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

BARE = "import builtins; profile = getattr(builtins, 'profile', lambda function: function)\n"
on_311 = sys.version_info < (3, 12)


def probed(arguments, folder, *options, env=()):
    command = [CKERNPROF, "--python", sys.executable, "--tracer", "probe", "-l", *options]
    return run([*command, *arguments], folder, env={"PYTHONFAULTHANDLER": "1", **dict(env)})


def gap(program, reason, where=on_311):
    """A known gap: the test fails where it is closed."""
    return pytest.param(program, marks=pytest.mark.xfail(where, strict=True, reason=reason))


IMPORTS = """
import importlib.machinery, importlib.util, sys
class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        return self.source_to_code(self.get_data(self.path), self.path)
if sys.argv[1] == "loaded":
    spec = importlib.util.spec_from_loader("program", Loader("program", sys.argv[2]))
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
else:
    import program
"""


def command_of(way, path, script):
    """As a script; as a module that a script imports; as one that comes from a loader of its own, so
    that its code is not looked at beforehand."""
    return [path] if way == "script" else [script(IMPORTS, "main.py"), way, path]


def check(program, script, tmp_path, way="script"):
    path = script(BARE + program)
    command = command_of(way, path, script)
    theirs = run_python(command, tmp_path)
    expected, _ = reference(command[0], tmp_path, command[1:])
    ours = probed(command, tmp_path)
    assert theirs.code == 0, theirs.err
    assert (ours.err, ours.code) == (theirs.err, 0)
    assert own_messages_removed(ours.out) == theirs.out
    assert ours.profile().meta["tracer"] == "probe"
    assert without_zeros(expected), "nothing is counted"
    assert "\n".join(differences(ours.profile().hits(), expected)) == ""
    return ours


every_way = pytest.mark.parametrize("way", ["script", "module", "loaded"])

RUNNING = "3.11: what runs already is not counted until it is called again"
NOT_FOUND = "3.11: functions to come of a factory that is not found by its name are not counted"
MAKES = "code that makes a function and selects it is taken to select all that it makes"
NESTED = ".. and so is the code in which the factory stands"

PROGRAMS = {
    "closures of a factory": """
def factory(n):
    def made(m):
        total = n
        total += m
        return total
    return made
before = [factory(n) for n in range(3)]
print([f(1) for f in before])
profile(before[1])
after = [factory(n) for n in range(4)]
for f in before + after:
    print(f(2))
profile(after[0])
print(before[0](1), after[1](1), factory(5)(1))
""",
    "a factory within a class": """
class Factory:
    def make(self):
        def made():
            return 1
        return made
    @classmethod
    def of_class(cls):
        return lambda: 2
    @staticmethod
    def static():
        def outer():
            def inner():
                return 3
            return inner
        return outer()
    class Inner:
        def make(self):
            return lambda: [4
                            for i in range(2)]
for make in Factory().make, Factory.of_class, Factory.static, Factory.Inner().make:
    one, two = make(), make()
    one()
    profile(two)
    print(one(), two(), make()(), make()())
""",
    "namedtuples": """
import collections
One = collections.namedtuple("One", "a b")
Two = collections.namedtuple("Two", "c")
profile(One._replace)
profile(One.__repr__)
Three = collections.namedtuple("Three", "d")
print(One(1, 2)._replace(a=3), Two(1)._replace(c=2), Three(1)._replace(d=5))
""",
    "functions made by hand": """
import types
def f(n):
    for i in range(n):
        pass
    return n
old = f.__code__
twins = [types.FunctionType(old, globals(), "twin") for i in range(3)]
bound = types.MethodType(twins[0], 5)
class Holds:
    method = twins[1]
    static = staticmethod(twins[2])
    def __len__(self): return f(1)
profile(f)
late = types.FunctionType(f.__code__, {"range": range})
defaults = types.FunctionType(f.__code__, globals(), "defaults", (4,))
print(f(1), [t(2) for t in twins], bound(), Holds.method(3), Holds.static(1), late(2), defaults())
print(len(Holds()))
twins[0].__code__ = f.__code__
print(twins[0](1))
""",
    "the last of many": """
fs = []
for i in range(50):
    def made(n=i):
        return n
    fs.append(made)
profile(fs[-1])
print(sum(f() for f in fs))
for i in range(5):
    @profile
    def again(n=i):
        return n
    again()
""",
    "decorated methods of many classes": """
import functools
def decorate(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    del wrapper.__wrapped__
    return wrapper
class One:
    @decorate
    def method(self): return 1
class Two:
    @decorate
    def method(self): return 2
    @property
    @decorate
    def value(self): return 3
profile(One.method)
print(One().method(), Two().method(), Two().value)
class Three:
    @decorate
    def method(self): return 4
print(Three().method())
""",
    "generators to come": """
def factory():
    def made(n):
        for i in range(n):
            yield i
    return made
one, two = factory(), factory()
unstarted = one(2)
profile(two)
print(list(one(3)), list(two(2)), list(factory()(1)))
""",
    # 3.11's reference does not count what runs already either
    "a function that selects itself": """
def itself(n):
    if n == 2:
        profile(itself)
    n -= 1
    if n:
        itself(n)
    return n
print(itself(4), itself(1))
def outer():
    def inner(n):
        if n == 1: profile(inner)
        return n
    return inner(1), inner(2), outer
print(outer()[:2], outer()[:2])
""",
}
SUSPENDED = """
def f(n):
    for i in range(n):
        yield i
    return n
g = f(3)
next(g)
async def coroutine(n):
    class Waits:
        def __await__(self): yield
    for i in range(n):
        await Waits()
    return n
c = coroutine(2)
c.send(None)
unstarted = f(2)
profile(f), profile(coroutine)
print(list(g), list(unstarted), list(f(1)))
try:
    for i in range(5): c.send(None)
except StopIteration as stop: print(stop.value)
h = f(2)
next(h)
profile(f)
print(list(h))
"""
UNNAMED = """
def factory():
    def made(n):
        return n
    return made
hidden, factory = factory, None
one = hidden()
profile(one)
print(one(1), hidden()(2))
makers = [lambda: lambda: 3]
two = makers[0]()
profile(two)
print(two(), makers[0]()())
"""
COMING = """
def factory():
    def made(n):
        return n
    return made
one = factory()
profile(one)
print(one(1), factory()(2))
"""
SOME = """
def factory(selects):
    def made(n):
        total = n
        return total
    if selects:
        profile(made)
    return made
print(factory(False)(1), factory(True)(2), factory(False)(3), factory(True)(4))
"""


@every_way
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_count(name, way, script, tmp_path):
    check(PROGRAMS[name], script, tmp_path, way)


@every_way
@pytest.mark.parametrize(
    "program",
    [
        gap(SUSPENDED, RUNNING),
        gap(UNNAMED, f"{NOT_FOUND}; since then: {NESTED}", True),
        gap(COMING, NESTED, True),
        gap(SOME, MAKES, True),
    ],
    ids=["suspended", "unnamed", "coming", "some"],
)
def test_known_gaps(program, way, script, tmp_path):
    check(program, script, tmp_path, way)


def test_a_program_that_has_replaced_what_finds_objects_is_told(script, tmp_path):
    ended = probed([script("""
import gc
@profile
def counted(): pass
counted()
gc.get_referrers = gc.get_objects = lambda *_: None
def factory():
    def made():
        return 1
    return made
first, second = factory(), factory()
try:
    profile(first)
except TypeError as error:
    print(error)
print(second())
""")], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    assert own_messages_removed(ended.out) in ("1\n", "clineprof: the module gc finds no list\n1\n")


def test_equal_code_is_not_the_same_code(script, tmp_path):
    """Selected is one object, not what compares equal to it."""
    program = """
import types
def f(n):
    return n
twin = types.FunctionType(f.__code__.replace(), globals())
other = types.FunctionType(f.__code__.replace(co_name="f"), globals())
assert f.__code__ == twin.__code__ and f.__code__ is not twin.__code__
profile(f)
print(f(1), twin(2), other(3))
"""
    ended = check(program, script, tmp_path)
    assert list(Profile.measure(ended.profile().function("f"), "hits").values()) == [1]


DEFINES = """
import sys
def watchers():
    return [name for name in map(sys.monitoring.get_tool, range(6)) if name]
@profile
def function():
    return 1
def outer():
    @profile
    def nested():
        return 2
    return nested
class Class:
    @profile
    def method(self):
        return 3
    @property
    @profile
    def value(self):
        return 4
@profile
class Whole:
    def method(self):
        return 5
print(function(), outer()(), outer()(), Class().method(), Class().value, Whole().method())
print(watchers())
outer = profile(outer)
other = lambda: 7
others = [other, type(other)(other.__code__, {})]
print(profile(other)(), watchers())
"""


@pytest.mark.skipif(on_311, reason="nothing can be watched there")
@every_way
def test_other_tracers_start_when_code_is_shared(way, script, tmp_path):
    """.. and not before: where a function is defined and selected, nothing else has its code."""
    ended = probed(command_of(way, script(DEFINES), script), tmp_path)
    assert ended.code == 0, ended.err
    assert own_messages_removed(ended.out).splitlines() == [
        "1 2 2 3 4 5",
        "[]",
        "7 ['clineprof']",
    ]


@pytest.mark.skipif(on_311, reason="nothing can be watched there")
def test_functions_that_a_script_selects_by_a_call(script, tmp_path):
    path = script(
        "import sys\n@profile\ndef f(): return 1\ng = profile(lambda: 2)\n"
        "print(f(), g(), sys.monitoring.get_tool(4))\n"
    )
    assert probed([path], tmp_path).out.startswith("1 2 None\n")


MODULE = """
import marshal, pathlib
@profile
def f(n):
    return n + 1
def inner(code):
    return next(item for item in code.co_consts if getattr(item, "co_name", "") == "f")
def has_probes(code):
    return any("Probe" in repr(item) for item in code.co_consts)
own = __spec__.loader.get_code(__spec__.name)
cache = marshal.loads(pathlib.Path(__spec__.cached).read_bytes()[16:])
print(__name__, f(1), has_probes(f.__code__), has_probes(inner(own)), has_probes(inner(cache)))
"""


@pytest.mark.parametrize("way", ["imported", "from its cache", "-m"])
def test_modules_are_prepared_before_they_run(way, script, tmp_path):
    """.. so that their functions are made with probes; what is cached has none."""
    script(BARE + MODULE, "module.py")
    main = script("import module", "main.py")
    arguments, cached = ["-m", "module"] if way == "-m" else [main], {"PYTHONDONTWRITEBYTECODE": ""}
    if way == "from its cache":
        probed([main], tmp_path, env=cached)
    ended = probed(arguments, tmp_path, "-o", "out.lprof", env=cached)
    assert (ended.code, ended.err) == (0, "")
    name = "__main__" if way == "-m" else "module"
    assert ended.out.splitlines()[0] == f"{name} 2 True True False"
