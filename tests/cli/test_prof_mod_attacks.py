# SPDX-License-Identifier: MIT
"""-p on programs that once changed under it, or in which it missed or refused something."""

import os
import py_compile
import sys
import zipfile

import pytest
from harness import complaints, profiled, run_ckernprof, selected

# Which functions are selected does not depend on the tracer; test_prof_mod.py runs with each.
pytestmark = pytest.mark.once

MODULE = """\
def helper():
    return 3
class Class:
    def method(self):
        return 4
"""
ALL = {"<module>", "helper", "Class", "Class.method"}
USES = "import mod\nprint(mod.helper(), mod.Class().method())\n"


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


# ---- loaders -----------------------------------------------------------------------------------

ASKED = """\
import importlib.util, inspect
spec = importlib.util.find_spec("mod")
for name in None, "mod", 3, "other":
    try:
        print(spec.loader.get_code(name).co_name)
    except ImportError as error:
        print(error)
get_code = type(spec.loader).get_code
print(get_code.__qualname__, spec.loader.get_code.__name__, get_code.__code__.co_name)
print(inspect.isfunction(get_code), inspect.signature(spec.loader.get_code))
print(get_code(spec.loader, "mod").co_name, spec.loader.get_code(fullname="mod").co_name)
names = {}
exec(spec.loader.get_code(None), names)
print(names["helper"]())
"""


def test_a_loader_is_asked_for_code_in_every_way(tmp_path):
    write(tmp_path, {"main.py": ASKED, "mod.py": MODULE})
    profiled(tmp_path, "mod,main", "--no-preimports")


def test_a_module_with_a_name_that_is_no_text(tmp_path):
    name = os.fsdecode(b"m\xff")
    write(tmp_path, {
        "main.py": "import importlib, os\nmod = importlib.import_module(os.fsdecode(b'm\\xff'))\n"
                   "print(mod.helper(), ascii(mod.__name__))\n",
        name + ".py": MODULE,
    })  # fmt: skip
    profiled(tmp_path, "main")
    ended = profiled(tmp_path, f"{name}.helper")
    assert selected(ended, tmp_path) == {"m\\udcff.py": {"helper"}}
    assert complaints(ended) == []


def test_a_script_with_a_name_that_is_no_text(tmp_path):
    name = os.fsdecode(b"m\xff.py")
    write(tmp_path, {name: MODULE + "print(helper())\n"})
    profiled(tmp_path, name, "-o", "out.lprof", program=(name, os.fsdecode(b"\xfe")))
    run = run_ckernprof(["-l", "-p", name, "-o", "out.lprof", name, os.fsdecode(b"\xfe")], tmp_path)
    assert run.profile().meta["command"] == "'m\\udcff.py' '\\udcfe'"


REPLACED = """\
import sys
def helper(): return 1
class Trap:
    def helper(self): return helper()
    def __getattribute__(self, name):
        if name in ("__dict__", "__class__", "__file__"):
            print("asked for", name)
            raise SystemExit(name)
        return object.__getattribute__(self, name)
sys.modules[__name__] = Trap()
"""


def test_a_module_in_the_place_of_which_an_object_stands(tmp_path):
    write(tmp_path, {"main.py": "import mod\nprint(mod.helper())\n", "mod.py": REPLACED})
    ended = profiled(tmp_path, "mod,mod.halper")
    assert selected(ended, tmp_path)["mod.py"] >= {"<module>", "helper", "Trap.helper"}


def test_a_lazy_module_is_not_loaded_by_a_warning(tmp_path):
    lazy = """\
import importlib.util, sys
spec = importlib.util.find_spec("mod")
spec.loader = importlib.util.LazyLoader(spec.loader)
sys.modules["mod"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["mod"])
"""
    write(tmp_path, {"main.py": lazy, "mod.py": "print('loaded')\n"})
    profiled(tmp_path, "mod.x,main", "--no-preimports")


ANSWERS = """\
import sys
here = sys.modules["mod.again"] = sys.modules[__name__]
class Answer:
    def __get__(self, instance, owner):
        print("asked")
class Class:
    func = __wrapped__ = Answer()
    def method(self):
        return 4
def helper():
    return 3
def __getattr__(name):
    if not name.startswith("__"):
        print("asked for", name)
    raise AttributeError(name)
"""


def test_nothing_is_asked_of_classes_and_modules(tmp_path):
    """The module is there under a second name, so its functions are looked for in what it holds."""
    write(tmp_path, {"main.py": USES, "mod.py": ANSWERS})
    ended = profiled(tmp_path, "mod")
    assert selected(ended, tmp_path)["mod.py"] >= {"helper", "Class.method"}


def test_a_function_is_not_asked_for_as_a_module(tmp_path):
    write(tmp_path, {
        "main.py": "import lazy\nprint(lazy.f())\n",
        "lazy.py": "def f(): return 1\ndef __getattr__(name):\n    print('asked for', name)\n    raise OSError(name)\n",
    })  # fmt: skip
    ended = profiled(tmp_path, "lazy.f")
    assert ended.err == "" and selected(ended, tmp_path) == {"lazy.py": {"f"}}


# ---- where the code lies -----------------------------------------------------------------------


def archive(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("mod.py", MODULE)
        archive.writestr("other.py", MODULE)
        archive.writestr("__main__.py", USES)


@pytest.mark.parametrize(
    "target, files", {"a.zip": {"mod.py", "__main__.py"}, "a.zip/mod.py": {"mod.py"}}.items()
)
def test_an_archive_and_what_is_in_it(target, files, tmp_path):
    archive(tmp_path)
    ended = profiled(tmp_path, target, program=("a.zip",))
    assert selected(ended, tmp_path).keys() == {f"a.zip/{file}" for file in files}
    assert selected(ended, tmp_path)["a.zip/mod.py"] == ALL


@pytest.mark.parametrize("target", ["mod.pyc", "lib", "lib/mod.pyc", "mod"])
def test_compiled_code_without_its_source(target, tmp_path):
    write(tmp_path, {"main.py": "import sys\nsys.path.append('lib')\n" + USES, "lib/mod.py": MODULE})
    place = "mod.pyc" if target == "mod.pyc" else "lib/mod.pyc"
    py_compile.compile(tmp_path / "lib/mod.py", tmp_path / place, "/built/elsewhere/mod.py")
    (tmp_path / "lib/mod.py").unlink()
    ended = profiled(tmp_path, target, "--no-preimports")
    assert selected(ended, tmp_path) == {"/built/elsewhere/mod.py": ALL}


@pytest.mark.parametrize("target", ["/", "//", "main.py/", ".."])
def test_everything_below_a_folder(target, tmp_path):
    write(tmp_path, {"main.py": MODULE + "helper()\n"})
    ended = profiled(tmp_path, target)
    assert selected(ended, tmp_path)["main.py"] == {"<module>", "helper", "Class"}
    assert not any("clineprof/_boot/targets.py" in file for file in selected(ended, tmp_path))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frozen since 3.11")
def test_frozen_modules(tmp_path):
    text = "import importlib.util, os\nprint(importlib.util.find_spec('main').name, os.path.join('a'))\n"
    write(tmp_path, {"main.py": text + "import collections.abc as c\nprint(isinstance({}, c.Mapping))\n"
                                       "print(list(c.KeysView({1: 2})))\n"})  # fmt: skip
    ended = profiled(tmp_path, "importlib.util.find_spec,os.path.join,_collections_abc.KeysView")
    names = set().union(*selected(ended, tmp_path).values())
    assert names == {"find_spec", "join", "KeysView.__iter__"}
    assert complaints(ended) == []


def test_a_file_that_the_program_makes(tmp_path):
    """In a folder that it makes, and from which it goes away."""
    text = """\
import os, sys
os.mkdir("new")
open("new/late.py", "w").write("def f():\\n    return 9\\n")
sys.path.insert(0, os.path.abspath("new"))
os.chdir("/")
import late
print(late.f())
os.remove(late.__file__)
os.rmdir(os.path.dirname(late.__file__))
"""
    write(tmp_path, {"main.py": text})
    ended = profiled(tmp_path, "new/late.py")
    assert selected(ended, tmp_path) == {"new/late.py": {"<module>", "f"}}


# ---- names -------------------------------------------------------------------------------------

GLOBALS = """\
def maker():
    global made
    def made():
        return 1
    class Class:
        global method
        def method(self):
            def inner(): return 2
            return inner()
maker()
print(made(), method(0), made.__qualname__, method.__qualname__)
"""


def test_functions_that_are_declared_global(tmp_path):
    """3.10 tells no qualified names of code."""
    write(tmp_path, {"main.py": GLOBALS})
    ended = profiled(tmp_path, "main.made,main.method")
    assert selected(ended, tmp_path) == {"main.py": {"made", "method", "method.<locals>.inner"}}


DEFAULTS = """\
import re
def default(text,
            pattern=re.compile("a")):
    return pattern.sub("", text)
@staticmethod
def decorated(text,
              pattern=re.compile("a")):
    return pattern.sub("", text)
class Class:
    def method(self, pattern=re.compile("b")):
        return pattern.pattern
print(default("ab"), decorated.__func__("ab"), Class().method())
"""


def test_a_default_is_no_decorator(tmp_path):
    write(tmp_path, {"main.py": DEFAULTS})
    ended = profiled(tmp_path, "main.default,main.decorated,main.Class.method")
    assert selected(ended, tmp_path) == {"main.py": {"default", "decorated", "Class.method"}}


@pytest.mark.parametrize("target", [".main", "main..helper", ".", "main."])
def test_names_with_nothing_between_dots(target, tmp_path):
    """.main does not import main."""
    write(tmp_path, {"main.py": MODULE + "print(helper())\n"})
    profiled(tmp_path, target)


@pytest.mark.parametrize(
    "target, shown", {"qqqqq\nq": "qqqqq\\x0aq", "\x1b[31m": "\\x1b[31m", "\x7f": "\\x7f"}.items()
)
def test_a_target_has_no_power_over_the_terminal(target, shown, tmp_path):
    write(tmp_path, {"main.py": "print(1)\n"})
    ended = profiled(tmp_path, f"{target},main")
    assert complaints(ended) == [f"ckernprof: -p {shown}: no Python code of that name ran"]


# ---- what the profiler itself imports ----------------------------------------------------------


def test_modules_of_the_program_that_are_named_like_python_s_own(tmp_path):
    """Telling imports and the nearest name runs none of them."""
    names = "ast", "difflib", "pkgutil", "inspect", "enum", "collections", "heapq", "random"
    write(tmp_path, {f"{name}.py": f"print('{name} of the program')\n" for name in names})
    write(tmp_path, {"main.py": USES, "mod.py": MODULE})
    ended = profiled(tmp_path, "main.py,mod.halper,nothing,x/y.py", "--prof-imports")
    assert selected(ended, tmp_path) == {"main.py": {"<module>"}, "mod.py": ALL}
    assert "ckernprof: -p mod.halper: no Python code of that name ran; did you mean mod.helper?" in (
        complaints(ended)
    )


@pytest.mark.parametrize(
    "text",
    {
        "latin": b"# -*- coding: latin-1 -*-\nimport mod\nx = '\xe9'\nprint(mod.helper(), ascii(x))\n",
        "mark": b"\xef\xbb\xbfimport mod\nprint(mod.helper())\n",
        "warnings": "import mod\nx = 1 is 1\n'\\d'\nprint(mod.helper())\n",
        "nested": "def f():\n    try:\n        from mod import helper\n    finally: pass\n"
                  "    return helper()\nprint(f())\n",
        "star": "from mod import *\nimport os.path as p, mod as m\nprint(helper())\n",
    }.items(),
    ids=lambda item: item[0],
)  # fmt: skip
def test_imports_of_any_source(text, tmp_path):
    write(tmp_path, {"main.py": text[1], "mod.py": MODULE})
    ended = profiled(tmp_path, "main.py", "--prof-imports")
    assert "helper" in selected(ended, tmp_path)["mod.py"]


@pytest.mark.parametrize(
    "text",
    [
        "import mod\nx = (\n",
        b"import mod\nx = '\0'\n",
        b"import mod\nx = '\xe9'\n",
        "import mod\n".encode("utf-16"),
        "import mod\nx = " + "(" * 300 + ")" * 300 + "\n",
        "",
    ],
)
def test_imports_of_what_is_no_program(text, tmp_path):
    write(tmp_path, {"main.py": text, "mod.py": MODULE})
    profiled(tmp_path, "main.py", "--prof-imports")


def test_code_that_the_program_makes_of_selected_code(tmp_path):
    text = "import types\n@types.coroutine\ndef pause():\n    yield 5\nprint(pause().send(None))\n"
    write(tmp_path, {"main.py": text})
    assert selected(profiled(tmp_path, "main.pause"), tmp_path) == {"main.py": {"pause"}}


def test_modules_that_pytest_rewrites(tmp_path):
    write(tmp_path, {"test_x.py": "def test_x():\n    assert 1\n"})
    ended = run_ckernprof(["-l", "-p", "test_x", "--no-preimports", "-m", "pytest", "-q", "test_x.py"],
                          tmp_path)
    assert ended.code == 0
    assert "test_x.py" in selected(ended, tmp_path)
