# SPDX-License-Identifier: MIT
"""-p: functions are selected by the name of what they are in, without a decorator."""

import re
import sys
import zipfile

import pytest
from harness import complaints, profiled, run_ckernprof, run_python, selected

FILES = {
    "pkg/__init__.py": """\
from .mod import Class
def top(): return 1
""",
    "pkg/mod.py": """\
import functools
class Class:
    attribute = 2
    def method(self):
        return [i for i in range(3)]
    @property
    def prop(self): return 5
    @staticmethod
    def stat():
        return (lambda: 7)()
    @classmethod
    def cls(cls):
        def inner(): return 8
        return inner()
@functools.lru_cache
def cached(n):
    return n
def generator():
    yield 1
""",
    "pkg/sub/__init__.py": "def deep(): return 9\n",
    "other.py": "print('other is imported')\ndef helper(): return 3\n",
    "main.py": """\
import pkg, pkg.mod
def f():
    from pkg.sub import deep
    return deep() + pkg.top()
thing = pkg.Class()
print(thing.method(), thing.prop, thing.stat(), thing.cls(), pkg.mod.cached(1), f())
print(list(pkg.mod.generator()))
""",
}
COMPREHENSION = {"Class.method.<locals>.<listcomp>"} if sys.version_info < (3, 12) else set()
CLASS = {
    "Class", "Class.method", "Class.prop", "Class.stat", "Class.stat.<locals>.<lambda>", "Class.cls",
    "Class.cls.<locals>.inner", *COMPREHENSION,
}  # fmt: skip
MOD = {"pkg/mod.py": {"<module>", "cached", "generator", *CLASS}}
PKG = {"pkg/__init__.py": {"<module>", "top"}}
SUB = {"pkg/sub/__init__.py": {"<module>", "deep"}}
MAIN = {"main.py": {"<module>", "f"}}


@pytest.fixture
def program(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def without_sets(value):
    """A part of a test's name. Sets have no order, and each process of pytest must give the same name."""
    return None if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(
    "targets, expected",
    {
        "pkg": PKG | MOD | SUB,
        "pkg.__init__": PKG,
        "pkg.mod": MOD,
        "pkg.mod.Class": {"pkg/mod.py": CLASS},
        "pkg.mod.Class.cls": {"pkg/mod.py": {"Class.cls", "Class.cls.<locals>.inner"}},
        "pkg.mod.cached": {"pkg/mod.py": {"cached"}},
        "pkg.sub,pkg.top": {"pkg/__init__.py": {"top"}} | SUB,
        "main": MAIN,
        "main.f": {"main.py": {"f"}},
        "main.py": MAIN,
        "./main.py,pkg/mod.py": MAIN | MOD,
        "pkg/": PKG | MOD | SUB,
        "main.py:f": {"main.py": {"f"}},
        "pkg/mod.py::cached,./pkg/__init__.py:top": {"pkg/mod.py": {"cached"}, "pkg/__init__.py": {"top"}},
        "pkg/mod.py:Class": {"pkg/mod.py": CLASS},
        "pkg/mod.py:Class.cls": {"pkg/mod.py": {"Class.cls", "Class.cls.<locals>.inner"}},
        "pkg/mod.py::Class::stat": {"pkg/mod.py": {"Class.stat", "Class.stat.<locals>.<lambda>"}},
        ".": MAIN | PKG | MOD | SUB,
    }.items(),
    ids=without_sets,
)
@pytest.mark.parametrize("imports", ["--preimports", "--no-preimports"])
def test_targets(targets, expected, imports, program):
    ended = profiled(program, targets, imports)
    assert selected(ended, program) == expected
    assert ended.err == ""


def test_hits_of_bodies(program):
    """Bodies of modules and classes are no functions. Lines with decorators begin twice since 3.11."""
    twice = 2 if sys.version_info >= (3, 11) else 1
    ended = profiled(program, "pkg.mod")
    lines = {key[2]: hits for key, hits in ended.profile().hits().items()}
    assert {1: 1, 2: 1, 15: twice, 16: twice, 18: 1}.items() == lines["<module>"].items()
    assert {3: 1, 4: 1, 6: twice, 8: twice, 11: twice}.items() <= lines["Class"].items()
    assert lines["Class.method"] == {5: 1}


def test_the_order_is_that_of_the_file(program):
    names = [key[2] for key in profiled(program, "pkg.mod.Class").profile().functions]
    assert [name for name in names if "<" not in name] == [
        "Class", "Class.method", "Class.prop", "Class.stat", "Class.cls",
    ]  # fmt: skip


ANNOTATED = """\
from dataclasses import dataclass
@dataclass
class Item:
    name: str
    def shown(self, width: int = 3) -> str:
        def padded(text: str) -> str: return text
        return padded(self.name)
def main(n: int) -> None:
    print([Item("a").shown() for i in range(n)])
def unused(n: int) -> None: pass
main(3)
"""


def test_annotations_have_no_table_unless_somebody_asked_for_them(program):
    """From 3.14 on the annotations of a function or class are a function of their own. dataclass asks for those of the
    class."""
    (program / "main.py").write_text(ANNOTATED)
    names = [name for _, _, name in profiled(program, "main.py").profile().functions]
    annotations = ["Item.__annotate__"] if sys.version_info >= (3, 14) else []
    inlined = ["main.<locals>.<listcomp>"] if sys.version_info < (3, 12) else []
    assert sorted(names) == sorted([
        "<module>", "Item", "Item.shown", "Item.shown.<locals>.padded", "main", "unused", *annotations, *inlined])


def test_repeated_and_cleared(program):
    ended = run_ckernprof(["-l", "-p", "pkg", "-p", "", "-p", "main.f", "-p", "pkg.top", "main.py"], program)
    assert selected(ended, program) == {"main.py": {"f"}, "pkg/__init__.py": {"top"}}


def test_a_module_that_is_run(program):
    """runpy warns of a module that was imported before."""
    (program / "pkg" / "run.py").write_text(
        "class Runs:\n    def go(self): return 1\nif __name__ == '__main__':\n    print(Runs().go())\n"
    )
    ended = profiled(program, "pkg.run.Runs", program=("-m", "pkg.run"))
    assert selected(ended, program) == {"pkg/run.py": {"Runs", "Runs.go"}}
    assert ended.err == ""


LOADED = """\
import os.path, sys
join = os.path.join
print(os.path.join("a", "b"), join is os.path.join)
"""


def test_modules_that_are_loaded_already(program):
    """The interpreter imports posixpath itself, before it runs anything of ours; since 3.11 as a frozen
    module."""
    (program / "main.py").write_text(LOADED)
    ended = profiled(program, "posixpath.join")
    [(file, names)] = selected(ended, program).items()
    assert re.search(r"posixpath(\.py|>)$", file) and names == {"join"}


TRANSPARENT = """\
import inspect, pickle, traceback
import pkg.mod
from pkg.mod import Class, cached
print(inspect.signature(Class.method), pickle.loads(pickle.dumps(Class)) is Class)
print(type(Class.__dict__["stat"]).__name__, hasattr(Class.method, "__wrapped__"))
print(cached.cache_info(), cached.__wrapped__.__name__, inspect.getsource(Class.cls))
try:
    Class().method(1)
except TypeError:
    traceback.print_exc()
try:
    Class.cls.__func__(None).bit_count(3)
except TypeError as error:
    print(error, [frame.lineno for frame in traceback.extract_tb(error.__traceback__)])
"""


def test_the_program_sees_nothing(program):
    (program / "main.py").write_text(TRANSPARENT)
    ended = profiled(program, "pkg,main")
    assert ended.err == run_python(["main.py"], program).err


AT_RUN_TIME = """\
import importlib, types
def makes(n):
    def made(): return n
    return made
print([makes(n)() for n in range(3)])
late = importlib.import_module("other")
print(late.helper(), importlib.reload(late).helper())
class Late:
    def method(self): return 1
print(Late().method(), types.FunctionType(makes.__code__, {})(2)())
"""


def test_what_is_made_and_imported_at_run_time(program):
    (program / "main.py").write_text(AT_RUN_TIME)
    ended = profiled(program, "main,other", "--no-preimports")
    lines = {key[2]: hits for key, hits in ended.profile().hits().items()}
    assert lines["makes"] == {3: 4, 4: 4} and lines["makes.<locals>.made"] == {3: 4}
    assert lines["helper"] == {2: 2} and lines["Late.method"] == {9: 1}


def test_with_decorators_of_ours(program):
    (program / "main.py").write_text("@profile\ndef f(): return 1\nprint(f())\n")
    ended = run_ckernprof(["-l", "-p", "main.f", "main.py"], program)
    assert {key[2]: hits for key, hits in ended.profile().hits().items()} == {"f": {2: 1}}


# ---- imports before the run --------------------------------------------------------------------


def test_targets_are_imported_before_the_run(program):
    """.. or not: `other` prints a line, and the program never imports it."""
    before = run_ckernprof(["-l", "-p", "other", "main.py"], program)
    assert before.out.startswith("other is imported\n")
    assert selected(before, program) == {"other.py": {"<module>"}}
    without = profiled(program, "other,main", "--no-preimports")
    assert selected(without, program) == MAIN


@pytest.mark.parametrize(
    "text, told",
    {
        "1 / 0": "ZeroDivisionError('division by zero')",
        "import nothing_of_the_kind": "ModuleNotFoundError(\"No module named 'nothing_of_the_kind'\"",
        "raise SystemExit(3)": "SystemExit(3)",
        "def (": "SyntaxError(",
    }.items(),
)
def test_a_target_that_cannot_be_imported(text, told, program):
    (program / "other.py").write_text(text + "\n")
    ended = profiled(program, "other.helper,main.f")
    assert [line for line in complaints(ended) if "imported" in line] == [
        line for line in complaints(ended)
        if line.startswith(f"ckernprof: -p other.helper: cannot be imported before the program runs: {told}")
    ] != []
    assert selected(ended, program) == {"main.py": {"f"}}


def test_what_the_script_imports(program):
    (program / "main.py").write_text(
        "import pkg.sub\nfrom other import helper\nprint(helper(), pkg.sub.deep(), pkg.top())\n"
    )
    ended = run_ckernprof(["-l", "-p", "main.py", "--prof-imports", "main.py"], program)
    expected = {"main.py": {"<module>"}, "other.py": {"helper"}} | SUB
    assert selected(ended, program) == expected
    without = run_ckernprof(["-l", "-p", "main.py", "main.py"], program)
    assert selected(without, program) == {"main.py": {"<module>"}}


# ---- names by which a package exports what is elsewhere ----

SHOP = {
    "shop/__init__.py": """\
from .inner import Cart, Row, total as sum_up
Cart.__module__ = Row.__module__ = __name__  # as pandas does
""",
    "shop/inner.py": """\
import dataclasses, functools
def passing(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper
class Base:
    def inherited(self):
        return 1
class Cart(Base):
    class Line:
        def cost(self):
            return 2
    def add(self):
        return (lambda: 3)()
    @property
    def size(self):
        return 4
    @passing
    def wrapped(self):
        return 5
    foreign = passing
@dataclasses.dataclass
class Row:
    n: int
    def own(self):
        return 6
@passing
def total(cart):
    return cart.inherited() + cart.Line().cost() + cart.add() + cart.size + cart.wrapped()
""",
    "main.py": """\
import shop
print(shop.sum_up(shop.Cart()), shop.Row(7).own())
""",
}


@pytest.fixture
def shop(tmp_path):
    (tmp_path / "shop").mkdir()
    for name, text in SHOP.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "target, names",
    {
        "shop.Cart": ["Cart.Line.cost", "Cart.add", "Cart.add.<locals>.<lambda>", "Cart.size", "Cart.wrapped"],
        "shop.Cart.add": ["Cart.add", "Cart.add.<locals>.<lambda>"],
        "shop.Cart.size": ["Cart.size"],
        "shop.Cart.wrapped": ["Cart.wrapped"],
        "shop.Cart.inherited": ["Base.inherited"],
        "shop.Cart.Line": ["Cart.Line.cost"],
        "shop.Row": ["Row.own"],
        "shop.sum_up": ["total"],
    }.items(),
    ids=without_sets,
)
def test_a_public_name(target, names, shop):
    ended = profiled(shop, target)
    assert (ended.code, ended.err, selected(ended, shop)) == (0, "", {"shop/inner.py": set(names)})
    found = {key[2]: sum(lines.values()) for key, lines in ended.profile().hits().items()}
    assert all(hits or name.endswith(".__annotate__") for name, hits in found.items())


def test_patterns_hold_for_public_names(shop):
    ended = profiled(shop, "shop.Cart", "--exclude", "*.add*", "--exclude", "Cart.Line*")
    assert selected(ended, shop) == {"shop/inner.py": {"Cart.size", "Cart.wrapped"}}
    ended = profiled(shop, "shop.Cart", "--exclude", "*")
    assert complaints(ended)[0] == "ckernprof: -p shop.Cart: --exclude leaves out all of it that ran"


@pytest.mark.parametrize("target, meant", {
    "shop.Cart": "shop.inner.Cart", "shop.Cart.add": "shop.inner.Cart.add", "shop.Row": "shop.inner.Row",
    "json.JSONDecoder": "json.decoder.JSONDecoder", "json.JSONDecoder.decode": "json.decoder.JSONDecoder.decode",
}.items())  # fmt: skip
def test_a_public_name_that_comes_too_late(target, meant, shop):
    (shop / "main.py").write_text("import json\n" + SHOP["main.py"])
    told = complaints(profiled(shop, target, "--no-preimports"))
    assert told[0] == f"ckernprof: -p {target}: no Python code of that name ran; did you mean {meant}?"
    assert "of that name" not in profiled(shop, meant, "--no-preimports").err


# ---- less of it --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, expected",
    {
        ("--include", "Class.*"): {"pkg/mod.py": CLASS - {"Class"}},
        ("--exclude", "*.<locals>.*", "--exclude", "<module>", "--exclude", "*/sub/*"): {
            "pkg/__init__.py": {"top"},
            "pkg/mod.py": {name for name in MOD["pkg/mod.py"] if "<" not in name},
        },
        ("--include", "*/pkg/__init__.py", "--exclude", "top"): {"pkg/__init__.py": {"<module>"}},
    }.items(),
    ids=without_sets,
)
def test_patterns(options, expected, program):
    assert selected(profiled(program, "pkg", *options), program) == expected


# ---- what matches nothing ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "target, nearest",
    {
        "pkg.mod.Clas": "pkg.mod.Class",
        "pkg.mod.Class.metod": "pkg.mod.Class.method",
        "pkg.mood": "pkg.mod",
        "othr": "other",
        "mian.py": "main.py",
        "qqqqqqqqqqqqqqqqqqqqqqqq": None,
        "main.py:g": None,
        "pkg/mod.py:cach": "pkg/mod.py:cached",
        "pkg/mod.py::Class::metod": "pkg/mod.py:Class.method",
        "pkg/mood.py:cached": "pkg/mod.py:cached",
        "pkg/mood.py:nothing": None,
    }.items(),
)
def test_a_target_that_matches_nothing(target, nearest, program):
    ended = profiled(program, f"{target},main.f")
    told = f"ckernprof: -p {target}: no Python code of that name ran"
    assert complaints(ended) == [told + (f"; did you mean {nearest}?" if nearest else "")]
    assert selected(ended, program) == {"main.py": {"f"}}


@pytest.mark.once
def test_a_target_that_is_left_out(tmp_path):
    (tmp_path / "main.py").write_text("def f(): return 1\nf()\n")
    for options, why in {("--exclude", "*"): "--exclude leaves", ("--include", "nope"): "--include leaves",
                         ("--include", "f", "--exclude", "*"): "--include and --exclude leave"}.items():  # fmt: skip
        ended = run_ckernprof(["-l", "-p", "main.py", *options, "main.py"], tmp_path)
        assert ended.err == (
            f"ckernprof: -p main.py: {why} out all of it that ran\n"
            "ckernprof: nothing was profiled, and no profile is written: --include or --exclude left out what -p names\n")  # fmt: skip
    ended = run_ckernprof(["-l", "-p", "main.py", "--exclude", "g", "main.py"], tmp_path)
    assert ended.err == ""
    for options in ["--include", "f"], ["--include", "f", "-c", "def f(): return 1\nf()"]:
        words = options if "-c" in options else [*options, "main.py"]
        said = "ckernprof: --include chooses among what -p selects, and has no effect without -p\n"
        assert (said in run_ckernprof(["-l", *words], tmp_path).err) == ("-c" not in options)


@pytest.mark.once
@pytest.mark.parametrize(
    "target, nearest",
    {
        "main": "notyet.main", "load": "notyet.load", "laod": "notyet.load", "notyet.mian": "notyet.main",
        "notyt.main": "notyet.main", "notyet:mian": "notyet.main", "notyet.py:mian": "notyet.py:main",
        "notyet.py::mian": "notyet.py:main", "notyt.py:main": "notyet.py:main", "zzz.py:main": "notyet.main",
        "read": "notyet.Reader.read", "Reader.raed": "notyet.Reader.read", "Raeder": "notyet.Reader",
        "inner": "notyet.main.<locals>.inner", "notyet.py:main.inner": "notyet.py:main.<locals>.inner",
        "__main__:main": "notyet.main", "jsn": "json",
    }.items(),
)  # fmt: skip
def test_the_program_s_own_functions_are_suggested_first(target, nearest, tmp_path):
    text = ("import json\nif json:\n    def main():\n        def inner(): pass\n    def load(): pass\n"
            "class Reader:\n    async def read(self): pass\n")
    (tmp_path / "notyet.py").write_text(text)
    (tmp_path / "not-yet.py").write_text(text)
    for script in "notyet", "not-yet":
        if script == "not-yet" and "not" in target:
            continue
        ended = run_ckernprof(["-l", "-p", target, f"{script}.py"], tmp_path)
        meant = nearest if script == "notyet" else nearest and nearest.replace("notyet.", "not-yet.py:")
        told = f"ckernprof: -p {target}: no Python code of that name ran"
        assert complaints(ended)[0] == told + (f"; did you mean {meant}?" if meant else "")
        if nearest not in (None, "json"):
            ended = run_ckernprof(["-lvv", "-p", meant, f"{script}.py"], tmp_path)
            assert "of that name" not in ended.err and f"{meant.rpartition('.')[2].rpartition(':')[2]}, " in ended.err


@pytest.mark.once
@pytest.mark.parametrize("words, meant", {
    ("f", "-m", "pk"): "pk.__main__.f", ("pk.f", "-m", "pk"): "pk.__main__.f", ("f", "folder"): "__main__.f",
    ("folder.f", "folder"): "__main__.f", ("f", "archive.zip"): "__main__.f", ("tool.py:f", "tool"): "tool.f",
    ("tool.py", "tool"): "tool", ("so.py:f", "lib/so.py"): "lib/so.py:f", ("so.py", "lib/so.py"): "lib/so.py",
    ("lib.so.f", "lib/so.py"): "so.f",
}.items())  # fmt: skip
def test_what_is_suggested_selects_something(words, meant, tmp_path):
    """.. however the program is started, and whatever is beside it."""
    for path in "pk/__main__.py", "pk/__init__.py", "folder/__main__.py", "tool", "lib/so.py", "sy.py":
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("" if "init" in path else "def f(): return 1\nf()\n")
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(tmp_path / "tool", "__main__.py")
    told = complaints(run_ckernprof(["-l", "-p", *words], tmp_path))
    line = f"ckernprof: -p {words[0]}: no Python code of that name ran"
    assert told[0] == f"{line}; did you mean {meant}?"
    ended = run_ckernprof(["-l", "-p", meant, *words[1:]], tmp_path)
    assert (ended.code, ended.err) == (0, "") and "f" in {key[2] for key in ended.profile().functions}


@pytest.mark.once
@pytest.mark.parametrize("does", ["print('asked for', name)", "1 / 0"])
def test_a_module_s_own_getattr_is_not_asked(does, tmp_path):
    (tmp_path / "lazy.py").write_text(f"def f(): return 1\ndef __getattr__(name):\n    {does}\n"
                                      "    raise AttributeError(name)\n")
    (tmp_path / "main.py").write_text("import lazy\nprint(lazy.f())\n")
    ended = run_ckernprof(["-lq", "-p", "lazy.f", "main.py"], tmp_path)
    assert (ended.code, ended.err, ended.out) == (0, "", "1\n") and selected(ended, tmp_path) == {"lazy.py": {"f"}}


@pytest.mark.once
def test_commas_in_names_of_files(tmp_path):
    (tmp_path / "one,two").mkdir()
    for name in "a,b.py", "one,two/mod.py":
        (tmp_path / name).write_text("def f(): return 1\ndef g(): return 2\nf(), g()\n")
    (tmp_path / "main.py").write_text("import sys\nsys.path.insert(0, 'one,two')\nimport mod\n")
    both = {"<module>", "f", "g"}
    for targets, expected in {
        "a,b.py": both, "a,b.py:g": {"g"}, "main.py,a,b.py::f,nope": {"f"}, "./a,b.py:f,a,b.py:g": {"f", "g"},
    }.items():  # fmt: skip
        ended = run_ckernprof(["-lq", "-p", targets, "a,b.py"], tmp_path)
        assert (ended.code, selected(ended, tmp_path)) == (0, {"a,b.py": expected}), targets
    (tmp_path / "a,b.py.lprof").unlink()
    for targets in "one,two", "one,two/mod.py", "one,two/mod.py:f,one,two/mod.py:g":
        ended = run_ckernprof(["-lq", "-p", targets, "main.py"], tmp_path)
        names = {"f", "g"} if "g" in targets else both
        assert (ended.err, selected(ended, tmp_path)) == ("", {"one,two/mod.py": names}), targets


@pytest.mark.once
def test_a_dot_in_a_script_s_name_is_no_package_s(tmp_path):
    (tmp_path / "some.pyw").write_text("def f(): return 1\nf()\n")
    assert "-p some: no Python code of that name ran" in run_ckernprof(["-l", "-p", "some", "some.pyw"], tmp_path).err
    for target, expected in (("some.pyw", {"<module>", "f"}), ("some.pyw.f", {"f"})):
        ended = run_ckernprof(["-l", "-p", target, "some.pyw"], tmp_path)
        assert selected(ended, tmp_path) == {"some.pyw": expected}


@pytest.mark.once
def test_a_file_that_no_import_runs(tmp_path):
    (tmp_path / "part.py").write_text("def g(): return 1\ng()\n")
    (tmp_path / "main.py").write_text("import runpy\nrunpy.run_path('part.py')\n"
                                      "exec(compile(open('part.py').read(), 'part.py', 'exec'))\n")
    for target in "part.py", "./part.py:g":
        assert complaints(run_ckernprof(["-l", "-p", target, "main.py"], tmp_path))[0] == (
            f"ckernprof: -p {target}: no Python code of it was imported or run as the script; what exec() and "
            "runpy.run_path() run cannot be selected")


@pytest.mark.once
def test_a_file_with_a_colon_and_nothing_behind_it(program):
    assert selected(profiled(program, "main.py:"), program) == {"main.py": {"<module>", "f"}}


def test_a_function_of_a_file_is_not_imported_before(tmp_path):
    """As if the target named a module `main.py:f`, which would run the script twice."""
    (tmp_path / "main.py").write_text("print('once')\ndef f(): return 1\nf()\n")
    assert run_ckernprof(["-l", "-p", "main.py:f", "main.py"], tmp_path).out.count("once") == 1


def test_what_was_selected_is_told(program):
    ended = run_ckernprof(["-l", "-p", "pkg.top,main.f", "-vv", "main.py"], program)
    told = [line for line in complaints(ended) if "selected" in line and "main.py" in line]
    assert re.fullmatch(r"ckernprof: selected f, .*main\.py:2, by -p main\.f, tracer \w+", told[-1])


# ---- what belongs to a module without being in it ----

FAMILY = {
    "fam/__init__.py": "",
    "fam/util.py": "def shared(): return 1\ndef alone(): return 2\n",
    "fam/mod.py": "from fam.util import shared\nfrom far import away\ndef own(): return shared() + away()\n",
    "fam/main.py": "from .mod import own\nfrom . import util\nprint(own() + util.alone())\n",
    "fam/__main__.py": "from .mod import own\nprint(own())\n",
    "far.py": "import functools\ndef away(): return 3\ndef base(n): return n\n"
              "class Class:\n    part = functools.partial(base, 4)\n    def method(self): return 5\n",
    "run.py": "import far, fam.mod\nprint(fam.mod.own(), far.Class.part(), far.Class().method())\n",
}


@pytest.fixture
def family(tmp_path):
    for name, text in FAMILY.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names_of(folder, *words):
    ended = run_ckernprof(["-lq", *words], folder)
    assert (ended.code, ended.err) == (0, "")
    profile = ended.profile()
    [path] = folder.glob("*.lprof")
    path.unlink()
    return {key[2] for key in profile.functions} - {"<module>", "Class"}


def test_a_module_has_what_it_imports_from_its_package(family):
    assert names_of(family, "-p", "fam.mod", "run.py") == {"own", "shared"}
    assert names_of(family, "-p", "fam.mod", "--no-preimports", "run.py") == {"own"}
    assert names_of(family, "-p", "fam.mod.own", "run.py") == {"own"}


def test_a_class_has_the_functions_that_it_holds(family):
    assert names_of(family, "-p", "far.Class", "run.py") == {"Class.method", "base"}


def test_what_is_imported_is_counted_below_its_decorators(family):
    """contextmanager's wrapper is named after the function, and is the code of every other one."""
    manager = "import contextlib\n@contextlib.contextmanager\ndef opened(): yield 1\n"
    held = "class Class:\n    opened = staticmethod(opened)\n"
    (family / "fam" / "util.py").write_text(manager + held)
    (family / "fam" / "mod.py").write_text("from .util import opened\n")
    (family / "run.py").write_text(manager + "from fam import mod\nwith opened(), mod.opened(): pass\n")
    ended = run_ckernprof(["-lq", "-p", "fam.mod", "run.py"], family)
    assert selected(ended, family) == {"fam/mod.py": {"<module>"}, "fam/util.py": {"opened"}}
    (family / "run.py.lprof").unlink()
    assert names_of(family, "-p", "fam.util.Class", "run.py") == {"opened"}


def test_modules_of_a_package_that_is_run(family):
    assert names_of(family, "-p", "fam.mod", "-m", "fam") == {"own", "shared"}
    assert names_of(family, "-p", "fam.mod", "-m", "fam.main") == {"own", "shared"}
    assert names_of(family, "-p", "fam.main", "-m", "fam.main") == set()


def test_imports_of_a_module_that_is_run(family):
    (family / "fam" / "whole.py").write_text(
        "from . import mod\nfrom .wrong import broken\nprint(mod.own())\n")
    (family / "fam" / "wrong.py").write_text("broken = 1\n")
    assert names_of(family, "--prof-imports", "-p", "fam.whole", "-m", "fam.whole") == {"own", "shared"}
    assert names_of(family, "--prof-imports", "-p", "fam.main", "-m", "fam.main") == {"own", "alone", "shared"}
    assert names_of(family, "--prof-imports", "-p", "fam.mod", "-m", "fam.main") == {"own", "shared"}


def test_an_empty_file_is_there(program):
    """As the __init__.py of many a package; not one whose source is missing."""
    (program / "void").mkdir()
    (program / "void/__init__.py").write_text("")
    (program / "void/some.py").write_text("def f():\n    return 1\n")
    (program / "uses.py").write_text("from void.some import f\nf()\n")
    ended = run_ckernprof(["-l", "-v", "-p", "void", "uses.py"], program)
    assert (ended.code, ended.err) == (0, "") and "Could not find" not in ended.out
    assert "File: void/__init__.py\nFunction: <module> at line 1\n" in ended.out
    table = ended.out.partition("void/__init__.py")[2].partition("===\n")[2]
    assert re.match(r" {5}1 +1 +\S+ +\S+ +100\.0 +\S+ MiB(?: +\S+ MiB)? *\n\n", table)
