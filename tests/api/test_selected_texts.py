# SPDX-License-Identifier: MIT
"""Texts of functions that are selected in a program that runs: whatever was compiled or edited since,
each has the text that it was compiled from."""

import ast

import pytest
from harness import BUILD, TRACER, run_python

HEAD = f"""
import importlib, os, sys, types
import clineprof
sys.path.insert(0, "")
profiler = clineprof.Profiler(tracer={TRACER!r}, memory=False)
def run(function, *arguments):
    profiler.add_function(function)
    return function(*arguments)
def write(text, name="module"):
    with open(name + ".py", "w") as out:
        out.write(text)
    importlib.invalidate_caches()
def texts():
    print({{f["name"]: (f["source"], sum(f["lines"].get("hits", ()))) for f in profiler.snapshot()["functions"]}})
"""
ONE, TWO = "def f():\n    return 1\n", "def f():\n    return 2\n"


def texts(program, folder, head=HEAD):
    """{name: (text, hits)} that the program prints at its end."""
    (folder / "it.py").write_text(head + program + "\ntexts()\n")
    ended = run_python(["it.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    return ast.literal_eval(ended.out.splitlines()[-1])


def test_texts_that_differ_in_a_constant(tmp_path):
    """Which of them it was is told by compiling them again: both have the names and lines of either."""
    assert texts(f"""
one, two = {{}}, {{}}
exec({ONE!r}, one)
exec({TWO!r}, two)
run(one["f"]), run(two["f"]), run(one["f"])
""", tmp_path) == {"f": (ONE, 2), "f (2)": (TWO, 1)}  # fmt: skip


def test_texts_that_differ_in_a_comment(tmp_path):
    """The code does the same, but its lines lie elsewhere."""
    one = "def f():\n    # first\n    a = 1\n    return a\n"
    two = "def f():\n    a = 1\n    # second\n    return a\n"
    assert texts(f"""
one, two = {{}}, {{}}
exec({one!r}, one)
exec({two!r}, two)
run(one["f"]), run(two["f"]), run(one["f"])
""", tmp_path) == {"f": (one, 4), "f (2)": (two, 2)}  # fmt: skip


@pytest.mark.parametrize("constant", [hex(10**5000), "1 in {'a', 'b', 'c', 'd', 'e'}", "(-1, 0.0, 1j)"],
                         ids=["huge", "set", "tuple"])  # fmt: skip
def test_constants_of_all_kinds(tmp_path, constant):
    """The digits of an int are limited, and a set's order differs from process to process."""
    text = f"def f():\n    return {constant}\n"
    (tmp_path / "module.py").write_text(text)
    run_python(["-c", "import module"], tmp_path, env={"PYTHONDONTWRITEBYTECODE": "", "PYTHONHASHSEED": "1"})
    assert list(tmp_path.glob("__pycache__/*")), "code that was compiled by another interpreter"
    assert texts("""
import module
os.chmod("module.py", 0o640)  # now it may have been changed
run(module.f)
""", tmp_path) == {"f": (text, 1)}  # fmt: skip


LOADER = f"""
class Loader:
    def get_filename(self, name):
        return "<made>"
    def get_source(self, name):
        signal.raise_signal(signal.SIGINT)
        return "never seen"
module = {{"__name__": "made", "__loader__": Loader(), "__file__": "<made>"}}
exec(compile(ast.parse({ONE!r}), "<made>", "exec"), module)
"""
CODEC = f"""
def decode(text, errors):
    signal.raise_signal(signal.SIGINT)
    return bytes(text).decode(), len(text)
def find(name):
    return codecs.CodecInfo(codecs.utf_8_encode, decode) if name == "slow" else None
codecs.register(find)
write("# coding: slow\\n")
module = {{}}
exec(compile(ast.parse({ONE!r}), "module.py", "exec"), module)
"""


@pytest.mark.parametrize("source", [LOADER, CODEC], ids=["loader", "codec"])
@pytest.mark.parametrize(("handler", "raised"), [("signal.default_int_handler", "KeyboardInterrupt"),
                                                 ("lambda *_: sys.exit()", "SystemExit")])  # fmt: skip
def test_what_a_handler_of_signals_raises_meanwhile_is_the_programs(tmp_path, source, handler, raised):
    program = f"""
import ast, codecs, signal
{source}
signal.signal(signal.SIGINT, {handler})
try:
    run(module["f"])
    print("lost")
except BaseException as error:
    print("met", type(error).__name__)
"""
    (tmp_path / "it.py").write_text(HEAD + program)
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == (f"met {raised}\n", "")


@pytest.mark.parametrize(("one", "two"), [("-1", "-2"), ("1", "True"), ("0.0", "-0.0"), ("(1, 2)", "(1.0, 2)")])
def test_constants_that_look_alike(tmp_path, one, two):
    one, two = (f"def f():\n    return {constant}, {constant}\n" for constant in (one, two))
    assert texts(f"""
one, two = {{}}, {{}}
exec({one!r}, one)
exec({two!r}, two)
run(one["f"]), run(two["f"]), run(one["f"])
""", tmp_path) == {"f": (one, 2), "f (2)": (two, 1)}  # fmt: skip


@pytest.mark.parametrize("call", [
    "compile(text, '<made>', 'exec')", "compile(source=text, filename='<made>', mode='exec')",
    "compile(text, filename='<made>', mode='exec')", "compile(text, b'<made>', 'exec')",
    "compile(Text(text), '<made>', 'exec')", "compile(text.encode(), '<made>', 'exec')",
    "compile(bytearray(text.encode()), '<made>', 'exec')", "text", "Text(text)", "text.encode()",
])  # fmt: skip
def test_however_the_text_is_handed_over(tmp_path, call):
    assert texts(f"""
class Text(str):
    pass
text, names = {ONE!r}, {{}}
exec({call}, names)
run(names["f"])
""", tmp_path) == {"f": (ONE, 1)}  # fmt: skip


def test_dataclasses_of_equal_shape(tmp_path):
    found = texts("""
from dataclasses import make_dataclass
A, B = make_dataclass("A", ["left"]), make_dataclass("B", ["right"])
run(A.__init__, A(1), 1), run(B.__init__, B(1), 1)
""", tmp_path)  # fmt: skip
    assert "self.left=left" in found["A.__init__"][0] and "self.right=right" in found["B.__init__"][0]


@pytest.mark.parametrize("bytecode", [True, False])
def test_reloaded(tmp_path, bytecode):
    assert texts(f"""
sys.dont_write_bytecode = {not bytecode}
for text in {ONE!r}, {TWO!r} + "# longer\\n", {ONE!r}:
    write(text)
    if "module" in sys.modules:
        importlib.reload(module)
    else:
        import module
    run(module.f)
""", tmp_path) == {"f": (ONE, 2), "f (2)": (TWO, 1)}  # fmt: skip


def test_selected_after_the_file_has_changed(tmp_path):
    """Where the file was not read before, the text is not known; of a function that is the same in both
    it is."""
    same = "def g():\n    return 0\n"
    assert texts(f"""
write({ONE!r} + {same!r})
import module
write({TWO!r} + {same!r})
run(module.f), run(module.g)
assert [f["source_changed"] for f in profiler.snapshot()["functions"]] == [True, False]
""", tmp_path) == {"f": (None, 1), "g": (same, 1)}  # fmt: skip


def test_an_old_function_after_a_reload(tmp_path):
    """The text of before is still known."""
    more = "def g():\n    return 0\n"
    assert texts(f"""
write({ONE!r} + {more!r})
import module
old = module.f
run(module.g)
write({TWO!r} + {more!r} + "#\\n")
importlib.reload(module)
run(module.f), run(old)
""", tmp_path) == {"g": (more, 1), "f": (TWO, 1), "f (2)": (ONE, 1)}  # fmt: skip


def test_two_profilers_have_names_of_their_own(tmp_path):
    """Where one profile has but the second version, that is called as the function is."""
    assert texts(f"""
one, two = {{}}, {{}}
exec({ONE!r}, one); exec({TWO!r}, two)
run(one["f"])
profiler = clineprof.Profiler(memory=False)
run(two["f"])
""", tmp_path) == {"f": (TWO, 1)}  # fmt: skip


def test_a_loader_that_makes_something_else_of_the_file(tmp_path):
    """Its lines are the file's, though the code is not what Python makes of them."""
    assert texts(f"""
import ast, importlib.machinery, importlib.util
class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *more, **options):
        tree = ast.parse(data)
        tree.body[0].body.insert(0, ast.copy_location(ast.Pass(), tree.body[0].body[0]))
        tree.body[0].body[-1].value = ast.copy_location(ast.Constant(3), tree.body[0].body[-1].value)
        return compile(tree, path, "exec")
write({ONE!r})
spec = importlib.util.spec_from_file_location("module", "module.py", loader=Loader("module", "module.py"))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert run(module.f) == 3
""", tmp_path) == {"f": (ONE, 1)}  # fmt: skip


def test_built_ins_are_as_before_without_a_profiler(tmp_path):
    """They are watched while there is a profiler, and take and raise what they always do."""
    (tmp_path / "it.py").write_text(HEAD + r"""
import inspect
def results():
    for call in (lambda: eval("1 + 1"), lambda: exec("x ="), lambda: eval("\ud800"), lambda: exec(3),
                 lambda: compile("1", "a", "eval").co_filename, lambda: eval(b"2"), lambda: exec(),
                 lambda: compile(source="3", filename="b", mode="eval").co_filename,
                 lambda: eval(compile("4", "c", "eval"), {}), lambda: exec("1", globals=1),
                 lambda: eval("y", {}, {"y": 5}), lambda: compile("1", b"d", "eval").co_filename):
        try:
            yield call()
        except Exception as error:
            yield repr(error)
watched = list(results())
names = [repr(f) for f in (exec, eval, compile)], str(inspect.signature(compile))
profiler.close()
assert list(results()) == watched and watched[0] == 2 and "SyntaxError" in watched[1], watched
assert names == ([repr(f) for f in (exec, eval, compile)], str(inspect.signature(compile)))
profiler = clineprof.Profiler(memory=False)
one = {}
exec("def f(): return 1", one)
run(one["f"])
assert profiler.snapshot()["functions"][0]["source"] == "def f(): return 1"
""")  # fmt: skip
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")


def test_print_stats_shows_the_text_that_ran(tmp_path):
    (tmp_path / "it.py").write_text(f"""
import clineprof, sys
sys.path.insert(0, "")
open("module.py", "w").write({ONE!r})
import module
profiler = clineprof.LineProfiler(module.f)
profiler.runcall(module.f)
open("module.py", "w").write({TWO!r})
profiler.print_stats()
""")
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    assert "return 1\n" in ended.out and "return 2" not in ended.out
