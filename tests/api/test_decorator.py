# SPDX-License-Identifier: MIT
"""What @profile gives back, and what it selects: one function's code object, by identity."""

import pytest
from harness import Profile, line_of, run_ckernprof

PROGRAM = '''
import copy, functools, inspect, pickle, sys

def plain(a, b: int = 2, *rest, key=None, **more) -> str:
    "The text."
    return a

class Thing:
    def method(self): return self
    @property
    def value(self): return 1
    @classmethod
    def made(cls): return cls
    @staticmethod
    def loose(n): return n
    @functools.cached_property
    def cached(self): return 3

def generator(): yield 1
async def coroutine(): pass
partial = functools.partial(plain, 1)
cached = functools.lru_cache(plain)
lambda_ = lambda: 0
before = vars(plain).copy(), inspect.signature(plain), plain.__code__.co_code

# the very same object, whatever it is
things = [plain, Thing, vars(Thing)["value"], vars(Thing)["made"], vars(Thing)["loose"],
          Thing().method, vars(Thing)["cached"], generator, coroutine, partial, cached, lambda_]
for thing in things:
    assert profile(thing) is thing, thing
    assert profile(profile(thing)) is thing, thing

assert (vars(plain), inspect.signature(plain)) == before[:2]
assert (plain.__name__, plain.__qualname__, plain.__module__, plain.__doc__) == (
    "plain", "plain", "__main__", "The text.")
assert plain.__annotations__ == {"b": int, "return": str} and plain.__defaults__ == (2,)
assert type(plain) is type(lambda: 0) and not hasattr(plain, "__wrapped__")
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    assert pickle.loads(pickle.dumps(plain, protocol)) is plain
    assert type(pickle.loads(pickle.dumps(Thing(), protocol))) is Thing
assert copy.deepcopy(plain) is plain
assert inspect.isgeneratorfunction(generator) and inspect.iscoroutinefunction(coroutine)
assert plain.__code__ == plain.__code__.replace() and hash(plain.__code__)
assert inspect.getsource(plain).startswith("def plain")
assert Thing().value == 1 and Thing.made() is Thing and Thing.loose(4) == 4 and Thing().cached == 3
assert partial() == 1 and cached(5) == 5 and plain(6) == 6 and list(generator()) == [1]

# functions with the same bytecode: only the selected one is counted
def twin_a(n):
    return n + 1
def twin_b(n):
    return n + 1
exec(compile("def twin_c(n):\\n    return n + 1\\n", "twin", "exec"))
exec(compile("def twin_c(n):\\n    return n + 1\\n".replace("c", "d", 1), "twin", "exec"))
scope_1, scope_2 = {}, {}
text = "def same(n):\\n    return n + 1\\n"
exec(compile(text, "equal", "exec"), scope_1)
exec(compile(text, "equal", "exec"), scope_2)
assert scope_1["same"].__code__ == scope_2["same"].__code__
profile(twin_a), profile(scope_1["same"])
for _ in range(10): twin_a(1)
for _ in range(100): twin_b(1); scope_2["same"](1); twin_c(1)
for _ in range(7): scope_1["same"](1)

# a copy of a selected function is another function with the same code: it counts
clone = type(twin_a)(twin_a.__code__, globals(), "clone")
clone(1)

# a nested def: one function, however often it is made
def outer(n):
    total = 0
    for i in range(n):
        @profile
        def inner(a=i):
            return a
        total += inner()
    return total
assert outer(100_000) == sum(range(100_000))

# a function whose code is exchanged after selection
@profile
def exchanged():
    return 1
def other():
    return 2
exchanged()
exchanged.__code__ = other.__code__
exchanged()
print("passed")
'''


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decorator")
    (folder / "program.py").write_text(PROGRAM)
    return run_ckernprof(["-l", "program.py"], folder)


def hits(ended, name):
    return Profile.measure(ended.profile().function(name), "hits")


def here(ended, mark):
    return line_of(ended.folder / "program.py", mark)


def test_objects_are_unchanged(ran):
    assert (ran.err, ran.code) == ("", 0)
    assert ran.out.startswith("passed\n")


def test_only_the_selected_twin_is_counted(ran):
    first = here(ran, "def twin_a")
    assert hits(ran, "twin_a") == {first + 1: 10 + 1}
    names = [key[2] for key in ran.profile().functions]
    assert not {"twin_b", "twin_c", "twin_d"} & set(names)
    assert hits(ran, "same") == {2: 7}


def test_nested_definition_is_one_function(ran):
    line = here(ran, "            return a")
    assert hits(ran, "outer.<locals>.inner") == {line: 100_000}


def test_exchanged_code_is_not_counted(ran):
    first = here(ran, "def exchanged")
    assert hits(ran, "exchanged") == {first + 1: 1}


def test_class_selects_its_own_functions(ran):
    names = {key[2] for key in ran.profile().functions}
    assert names >= {"Thing.method", "Thing.value", "Thing.made", "Thing.loose", "Thing.cached"}


def test_key_and_source(ran):
    profile = ran.profile()
    path = str(ran.folder / "program.py")
    assert (path, here(ran, "def plain("), "plain") in profile.functions
    assert (path, here(ran, "def inner(") - 1, "outer.<locals>.inner") in profile.functions
    texts = profile.sources()
    assert texts[path, here(ran, "def twin_a"), "twin_a"] == "def twin_a(n):\n    return n + 1\n"
    assert (
        texts[path, here(ran, "def inner(") - 1, "outer.<locals>.inner"].splitlines()[0].strip()
        == "@profile"
    )


def test_source_is_that_of_the_run(script):
    """A program that changes its own file is shown as it ran."""
    path = script(
        "@profile\ndef f():\n    return 'old'\nf()\n"
        "text = open(__file__).read()\n"
        "open(__file__, 'w').write('# new\\n' * 3 + text.replace('old', 'new'))\n"
    )
    ended = run_ckernprof(["-l", path], path.parent)
    [source] = ended.profile().sources().values()
    assert source == "@profile\ndef f():\n    return 'old'\n"


@pytest.mark.once
def test_things_without_python_code(script):
    """They come back as they are, with a warning that can be made an error, and nothing breaks."""
    path = script(
        "import types, warnings\n"
        "things = [len, 3, None, 'x', [], property(), staticmethod(len), int, type, object,\n"
        "          classmethod(types.GenericAlias), types.SimpleNamespace(), dict.fromkeys]\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    for thing in things:\n"
        "        assert profile(thing) is thing\n"
        "print(all('not Python code' in str(w.message) for w in seen))\n"
        "warnings.simplefilter('error')\n"
        "try: profile(len)\n"
        "except RuntimeWarning as warning: print(warning)\n"
    )
    ended = run_ckernprof(["-l", path], path.parent)
    assert ended.out.splitlines()[:1] == ["True"], ended.err
    assert "<built-in function len> is not Python code" in ended.out
    assert ended.code == 0


@pytest.mark.once
def test_a_class_without_functions_of_its_own(script):
    path = script("@profile\nclass Refused(Exception): pass\n")
    ended = run_ckernprof(["-l", path], path.parent)
    assert "<class '__main__.Refused'> has no Python functions of its own; it is not profiled" in ended.err
    assert ended.code == 0 and "is not Python code" not in ended.err


@pytest.mark.once
def test_hostile_objects(script):
    """Objects whose attributes lie, raise or go in circles."""
    path = script(
        "import warnings; warnings.simplefilter('ignore')\n"
        "class Raises:\n"
        "    def __getattr__(self, name): raise ZeroDivisionError(name)\n"
        "class Circle:\n"
        "    @property\n"
        "    def __wrapped__(self): return self\n"
        "class Endless:\n"
        "    @property\n"
        "    def __wrapped__(self): return Endless()\n"
        "class Meta(type):\n"
        "    def __getattribute__(cls, name): raise MemoryError\n"
        "class Odd(metaclass=Meta): pass\n"
        "for thing in Raises(), Circle(), Endless(), Odd, Odd():\n"
        "    assert profile(thing) is thing\n"
        "print('fine')\n"
    )
    ended = run_ckernprof(["-l", path], path.parent)
    assert ended.out.startswith("fine\n"), ended.err
    assert ended.code == 0


NESTED = '''
class Elsewhere:
    def far(self): return 1

@profile
class Outer:
    def near(self): return 1
    class Inner:
        def within(self): return 1
        class Deepest:
            def deep(self): return 1
            loop = None
        Deepest.loop = Deepest
    alias = Inner
    held = Elsewhere

Outer().near(), Outer.Inner().within(), Outer.Inner.Deepest().deep(), Elsewhere().far()
'''


def test_classes_defined_in_a_class_are_its_own(script):
    path = script(NESTED)
    ended = run_ckernprof(["-l", path], path.parent)
    assert (ended.code, ended.err) == (0, "")
    assert {key[2]: sum(lines.values()) for key, lines in ended.profile().hits().items()} == {
        "Outer.near": 1, "Outer.Inner.within": 1, "Outer.Inner.Deepest.deep": 1}  # fmt: skip


FOREIGN = '''
import enum, functools, typing

@profile
class Colour(enum.Enum):
    RED = 1
    def label(self): return self.name

class Other(enum.Enum):
    ONE = 1

@profile
class Point(typing.NamedTuple):
    x: int
    def double(self): return 2 * self.x

def helper(self): return 4

@profile
class Holder:
    helps = helper

@profile
class Mixed:
    __module__ = "public.name"          # as libraries have it
    taken = functools.cmp_to_key
    @functools.singledispatchmethod
    def shows(self, what): return "any"
    @shows.register
    def shows_int(self, what: int): return "int"

assert (Colour(1).label(), Other(1), Point(3).double()) == ("RED", Other.ONE, 6)
assert (Holder().helps(), Mixed().shows(""), Mixed().shows(1)) == (4, "any", "int")
'''


def test_what_others_have_put_into_a_class_is_not_its_own(script):
    """As enum puts its __new__ into each: it would count for all of them."""
    path = script(FOREIGN)
    ended = run_ckernprof(["-l", path], path.parent)
    assert (ended.code, ended.err) == (0, "")
    ran = {key[2] for key, lines in ended.profile().hits().items() if sum(lines.values())}
    assert ran - {"Point.__new__"} == {
        "Colour.label", "Point.double", "Mixed.shows", "Mixed.shows_int", "helper"}  # fmt: skip
    assert not [key for key in ended.profile().hits() if key[0].endswith("enum.py")]


# ---- what is defined in a marked function ----

WITHIN = """\
import functools

@profile
def outer(n):
    def inner(m):
        return m + 1
    class Local:
        def method(self):
            return [
                inner(m)
                for m in range(n)]
    once = sorted(range(n), key=lambda m: -m)
    whole = sum(m for m in range(n))
    return Local().method(), once, whole, inner

def bare(n):
    def inner(m):
        return m
    return inner(n)

made = outer(3)[-1]
made(1), bare(1)
"""


def hits_by_name(ended):
    return {key[2]: dict(lines) for key, lines in ended.profile().hits().items()}


def test_what_is_defined_in_a_marked_function_counts(script):
    """Every line that one sees below the mark has its numbers in some table. Comprehensions on one line have them
    in that line's row, and those on several from 3.12 on, too."""
    path = script(WITHIN)
    found = hits_by_name(run_ckernprof(["-l", path], path.parent))
    method = found.pop("outer.<locals>.Local.method")
    several = found.pop("outer.<locals>.Local.method.<locals>.<listcomp>", method)
    assert 9 in method and several[10] == 3 and 11 in several
    assert found == {
        "outer": {5: 1, 7: 1, 12: 1, 13: 1, 14: 1}, "outer.<locals>.inner": {6: 4},
        "outer.<locals>.Local": {7: 1, 8: 1}, "outer.<locals>.<lambda>": {12: 3}}  # fmt: skip


@pytest.mark.parametrize("pattern, left", [
    ("*.<locals>.*", {"outer"}),
    ("*.inner", {"outer", "outer.<locals>.Local", "outer.<locals>.Local.method", "outer.<locals>.<lambda>"}),
    ("outer.<locals>.Local", {"outer", "outer.<locals>.inner", "outer.<locals>.<lambda>"}),
])  # fmt: skip
def test_exclude_holds_within_a_marked_function(pattern, left, script):
    """What lies within what is left out is left out, too."""
    path = script(WITHIN)
    found = hits_by_name(run_ckernprof(["-l", "--exclude", pattern, path], path.parent))
    assert {name for name in found if not name.endswith("comp>")} == left


GENERIC = """\
import functools

def shared(x):
    return 0

@profile
@functools.singledispatch
def shows(x):
    return "any"

@shows.register(int)
def shows_int(x):
    return "int"

@shows.register
def shows_str(x: str):
    return "str"

shows.register(float, shared)
shows.register(bytes, repr)

@profile
class Shown:
    @functools.singledispatchmethod
    def one(self, x):
        return "any"
    @one.register
    def one_int(self, x: int):
        return "int"

@Shown.__dict__["one"].register
def one_str(self, x: str):
    return "str"

print(shows(()), shows(1), shows(""), shows(1.0), shows(b""), shows.register.__name__)
print(Shown().one(()), Shown().one(1), Shown().one(""), shows.registry[int] is shows_int)
"""


def test_what_is_registered_with_a_generic_function_counts(script):
    path = script(GENERIC)
    ended = run_ckernprof(["-l", path], path.parent)
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out.splitlines()[:2] == ["any int str 0 b'' register", "any int str True"]
    assert {name: sum(lines.values()) for name, lines in hits_by_name(ended).items()} == dict.fromkeys(
        ["shows", "shows_int", "shows_str", "shared", "Shown.one", "Shown.one_int", "one_str"], 1)


MADE = """\
import collections, dataclasses, typing

@profile
@dataclasses.dataclass(order=True)
class Data:
    n: int
    def own(self):
        return self.n

@profile
class Row(typing.NamedTuple):
    n: int
    def own(self):
        return self.n

@profile
class Pair(collections.namedtuple("Pair", "a b")):
    def own(self):
        return self.a

def helper(self):
    return 1

@profile
class Plain:
    given = helper
    helper = lambda self: 2

assert Data(1) < Data(2) and repr(Data(1)) and Row(1)._replace(n=2).own() == 2
assert (Pair(1, 2).own(), Data(3).own(), Plain().given(), Plain().helper()) == (1, 3, 1, 2)
"""


@pytest.mark.parametrize("words, told", [("-l", False), ("-lv", True)])
def test_what_is_made_for_a_class_is_left_out(words, told, script):
    """By dataclasses and namedtuples, whose methods are nobody's source. -v tells of them."""
    path = script(MADE)
    ended = run_ckernprof([words, path], path.parent)
    assert ended.code == 0
    assert set(hits_by_name(ended)) == {"Data.own", "Row.own", "Pair.own", "helper", "Plain.<lambda>"}
    lines = [line for line in ended.err.splitlines() if "not profiled" in line]
    assert [line.partition(":")[2].split(":")[0].split(" functions ")[0] for line in lines] == (
        [" class Data", " class Row"] if told else [])
    if told:
        assert "__init__, __repr__, __eq__" in lines[0] and lines[0].endswith(", ..")
        assert "functions are not profiled, for the code does not stand in the class" in lines[1]


PROPERTY = """\
class Thing:
    @property
    def value(self):
        return 1
    @profile
    @value.setter
    def value(self, given):
        self.given = given
    @profile
    @property
    def other(self):
        return 2
    @other.setter
    def other(self, given):
        self.given = given
    @other.deleter
    def other(self):
        del self.given

thing = Thing()
thing.value = thing.value
thing.other = thing.other
del thing.other
"""


def test_all_functions_of_a_property_that_is_marked(script):
    """Those that were put in above the mark, and those that come below it. Each has its text."""
    path = script(PROPERTY)
    profile = run_ckernprof(["-l", path], path.parent).profile()
    assert sorted((key[2], *lines) for key, lines in profile.hits().items()) == [
        ("Thing.other", 12), ("Thing.other", 15), ("Thing.other", 18), ("Thing.value", 4), ("Thing.value", 8)]
    lines = PROPERTY.splitlines(keepends=True)
    assert sorted(profile.sources().values()) == sorted(
        "".join(lines[first - 1:last]) for first, last in [(2, 4), (5, 8), (9, 12), (13, 15), (16, 18)])


OF_MEMORY_PROFILER = """\
import sys
@profile(precision=4)
def digits():
    return 1
@profile(stream=sys.stdout, backend="psutil")
def elsewhere():
    return 2
@profile()
def bare():
    return 3
digits(), elsewhere(), bare()
assert profile(digits, precision=2) is digits
"""


@pytest.mark.parametrize("words", [["-l"], ["-lv", "--mp"]], ids=" ".join)
def test_arguments_of_memory_profilers_profile(words, script):
    path = script(OF_MEMORY_PROFILER)
    ended = run_ckernprof([*words, path], path.parent)
    assert ended.code == 0 and ended.err.count("RuntimeWarning: clineprof: profile(stream=..) writes") == 1
    assert hits_by_name(ended) == {"digits": {4: 1}, "elsewhere": {7: 1}, "bare": {10: 1}}


def test_arguments_that_nobody_knows(script):
    path = script("@profile(digits=4)\ndef f(): pass\n")
    assert "TypeError" in run_ckernprof(["-l", path], path.parent).err
