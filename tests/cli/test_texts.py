# SPDX-License-Identifier: MIT
"""The text of a function is the one that its code was compiled from: of generated code, of modules that
are edited and loaded again, of files that change while the program runs; or there is none."""

import json
import sys
import textwrap
import zipfile

import pytest
from harness import run_ckernprof, run_viewer

from clineprof import load


def texts(ended, folder):
    """{name: (first line, text, {line: hits})} of the functions that ran. A name stands there once."""
    assert (ended.code, ended.err) == (0, "")
    [path] = folder.glob("*.lprof")
    found = [(f.name, (f.line, f.source, {line.line: line.hits for line in f.lines if line.hits}))
             for f in load(path).functions if f.numbers]  # fmt: skip
    assert len({name for name, _ in found}) == len(found)
    return dict(found)


def profiled(folder, program, *options):
    (folder / "main.py").write_text(textwrap.dedent(program))
    return texts(run_ckernprof(["-l", "--no-memory", *options, "main.py"], folder), folder)


# ---- generated code ----


def test_generated_functions_are_not_shown_with_the_scripts_lines(tmp_path):
    found = profiled(tmp_path, """\
        from dataclasses import dataclass


        def secret(a):
            print("never called")
            return a


        @dataclass
        class Pair:
            left: int
            right: int


        profile(Pair.__init__)
        exec("@profile\\ndef made(n):\\n    m = n + 1\\n    return m\\n")
        for i in range(3):
            Pair(i, made(i))
        """)  # fmt: skip
    first, text, hits = found["Pair.__init__"]
    assert [line.strip() for line in text.splitlines()[1:3]] == ["self.left=left", "self.right=right"]
    assert hits == {first + 1: 3, first + 2: 3}
    text = "@profile\ndef made(n):\n    m = n + 1\n    return m\n"
    assert found["made"] == (1, text, {3: 3, 4: 3})
    assert not any("secret" in text for _, text, _ in found.values())


SAME_PLACE = """\
for operator in "+", "*", "+":
    exec(f"@profile\\ndef f(n):\\n    return n {operator} 2\\n")
    f(3)
"""


def test_texts_of_one_name_and_place_are_two_functions(tmp_path):
    found = profiled(tmp_path, SAME_PLACE)
    assert found == {
        "f": (1, "@profile\ndef f(n):\n    return n + 2\n", {3: 2}),
        "f (2)": (1, "@profile\ndef f(n):\n    return n * 2\n", {3: 1}),
    }


def test_the_table_has_both(tmp_path):
    (tmp_path / "main.py").write_text(SAME_PLACE)
    ended = run_ckernprof(["-lv", "--no-memory", "main.py"], tmp_path)
    one, other = ended.out.split("Function: ")[1:]
    assert one.startswith("f at line 1\n") and "  n + 2" not in one and "return n + 2\n" in one
    assert other.startswith("f (2) at line 1\n") and "return n * 2\n" in other


def test_a_text_without_end_of_versions(tmp_path):
    """Memory is bounded; what comes after a hundred has one row, without text."""
    found = profiled(tmp_path, """\
        for i in range(300):
            exec(f"@profile\\ndef f():\\n    return {i}\\n")
            f()
        """)  # fmt: skip
    without = [hits for _, text, hits in found.values() if text is None]
    assert without == [{3: 200}] and len(found) == 101
    assert found["f (100)"][1:] == ("@profile\ndef f():\n    return 99\n", {3: 1})


@pytest.mark.parametrize("made", [
    "exec(text)", "exec(text.encode())", "eval(compile(text, '<made>', 'exec'))",
    "exec(compile(text, 'page.html', 'exec'))", "exec(compile(text, 'S\u00e4ite', 'exec'))",
    "exec(compile(text.encode(), 'main.py', 'exec'))",
])  # fmt: skip
def test_every_way_to_run_a_text(tmp_path, made):
    (tmp_path / "page.html").write_text("<html>\n<p>\nthe template\n")
    found = profiled(tmp_path, f"text = '@profile\\ndef f():\\n    return \"\\u00e4\"\\n'\n{made}\nf()\n")
    assert found == {"f": (1, '@profile\ndef f():\n    return "ä"\n', {3: 1})}


def test_the_encoding_that_bytes_declare(tmp_path):
    found = profiled(tmp_path, r"""
        exec(b"# coding: latin-1\n@profile\ndef f():\n    return '\xe4'\n")
        f()
        """)  # fmt: skip
    assert found["f"] == (2, "@profile\ndef f():\n    return 'ä'\n", {4: 1})


def test_code_without_a_text(tmp_path):
    found = profiled(tmp_path, """\
        import ast
        exec(compile(ast.parse("@profile\\ndef f():\\n    return 1\\n"), "<string>", "exec"))
        f()
        """)  # fmt: skip
    assert found == {"f": (1, None, {3: 1})}


def test_a_loader_is_not_asked_for_another_file(tmp_path):
    """A template names itself as it likes; its code comes from a syntax tree."""
    found = profiled(tmp_path, """\
        import ast
        names = {"profile": profile, "__name__": __name__, "__loader__": __loader__}
        exec(compile(ast.parse("@profile\\ndef f():\\n    return 1\\n"), "no such file", "exec"), names)
        names["f"]()
        """)  # fmt: skip
    assert found == {"f": (1, None, {3: 1})}


def test_text_of_the_command_is_not_that_of_all_strings(tmp_path):
    program = "@profile\ndef f():\n    return 1\nexec('x = 1\\n@profile\\ndef g():\\n    return 2')\nf(), g()"
    ended = run_ckernprof(["-l", "--no-memory", "-o", "x.lprof", "-c", program], tmp_path)
    assert texts(ended, tmp_path) == {
        "f": (1, "@profile\ndef f():\n    return 1\n", {3: 1}),
        "g": (2, "@profile\ndef g():\n    return 2", {4: 1}),
    }


def test_what_linecache_has(tmp_path):
    """As attrs and IPython do it: the code comes from elsewhere, the text has a name of its own."""
    found = profiled(tmp_path, """\
        import ast, linecache
        text = "@profile\\ndef f():\\n    return 1\\n"
        linecache.cache["<attrs generated f>"] = len(text), None, text.splitlines(True), "<attrs generated f>"
        exec(compile(ast.parse(text), "<attrs generated f>", "exec"))
        f()
        """)  # fmt: skip
    assert found == {"f": (1, "@profile\ndef f():\n    return 1\n", {3: 1})}


def test_another_file_of_that_name_is_not_its_text(tmp_path):
    """linecache looks for a name that is no file in every folder of sys.path."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "gone.py").write_text("def other():\n    secret\n    return 0\n")
    found = profiled(tmp_path, """\
        import ast, linecache, sys
        sys.path.append("lib")
        exec(compile(ast.parse("@profile\\ndef f():\\n    return 1\\n"), "gone.py", "exec"))
        f()
        """)  # fmt: skip
    assert found == {"f": (1, None, {3: 1})}


# ---- modules that are loaded again ----

RELOADS = """\
import importlib, os, sys
sys.path.insert(0, "")
for value in %r:
    with open("module.py", "w") as out:
        out.write("def f():\\n    return %%d\\n\\n\\ndef same():\\n    return 0\\n" %% value)
    os.utime("module.py", (1e9 + value, 1e9 + value))
    if "module" in sys.modules:
        importlib.reload(module)
    else:
        import module
    module.f(), module.same()
"""


def function(value, name="f"):
    return f"def {name}():\n    return {value}\n"


def test_a_module_that_is_reloaded(tmp_path):
    found = profiled(tmp_path, RELOADS % ((1, 2, 1),), "-p", "module")
    assert found["f"] == (1, function(1), {2: 2})
    assert found["f (2)"] == (1, function(2), {2: 1})
    assert found["same"] == (5, function(0, "same"), {6: 3})
    assert found["<module>"][2] == {1: 2, 5: 2} and found["<module> (2)"][2] == {1: 1, 5: 1}


def test_the_profile_of_a_run_that_was_killed(tmp_path):
    program = RELOADS % ((1, 2),) + "import signal; os.kill(os.getpid(), signal.SIGKILL)\n"
    (tmp_path / "main.py").write_text(program)
    ended = run_ckernprof(["-l", "--no-memory", "-p", "module", "main.py"], tmp_path)
    assert ended.code == -9
    [live] = tmp_path.glob("*.live")
    functions = {f.name: f.source for f in load(live).functions}
    assert functions["f"] == function(1) and functions["f (2)"] == function(2)


def test_a_sum_of_two_runs_and_their_difference(tmp_path):
    """Versions are told apart by their texts, whatever their numbers are."""
    for name, values in ("old", (1, 2)), ("new", (2, 3)):
        (tmp_path / "main.py").write_text(RELOADS % (values,))
        (tmp_path / "module.py").unlink(missing_ok=True)
        ended = run_ckernprof(["-l", "--no-memory", "-p", "module.f", "-o", name + ".lprof",
                               "main.py"], tmp_path)  # fmt: skip
        assert ended.code == 0
    assert run_viewer(["merge", "-o", "sum.lprof", "old.lprof", "new.lprof"], tmp_path).code == 0
    assert {f.name: (f.source, f["hits"]) for f in load(tmp_path / "sum.lprof").functions} == {
        "f": (function(1), [1]), "f (2)": (function(2), [2]), "f (3)": (function(3), [1]),
    }  # fmt: skip
    ended = run_viewer(["diff", "--format", "json", "old.lprof", "new.lprof"], tmp_path)
    compared = json.loads(ended.out)
    counts = compared["summary"]["functions"]
    assert counts["new"] == counts["gone"] == 1 and counts["more hits"] == counts["fewer hits"] == 0
    assert compared["summary"]["unchanged"] + counts["slower"] + counts["faster"] == 1  # a busy machine may slow it down


def test_code_that_replaces_a_modules(tmp_path):
    found = profiled(tmp_path, """\
        import sys; sys.path.insert(0, "")
        for value in 1, 2:
            with open("module.py", "w") as out:
                out.write("@profile\\ndef f():\\n    return %d\\n" % value)
            import module
            if value == 2:
                exec(compile(open(module.__file__).read(), module.__file__, "exec"), module.__dict__)
            module.f()
        """)  # fmt: skip
    assert found == {"f": (1, "@profile\n" + function(1), {3: 1}),
                     "f (2)": (1, "@profile\n" + function(2), {3: 1})}  # fmt: skip


def test_a_script_that_is_edited_while_it_runs(tmp_path):
    """A function that is defined later has the text that python compiled at the start."""
    program = """\
        import pathlib
        script = pathlib.Path(__file__)
        script.write_text(script.read_text().replace("n + 1", "n * 9"))
        def outer():
            @profile
            def inner(n):
                return n + 1
            return inner(1)
        outer()
        """
    _, text, hits = profiled(tmp_path, program)["outer.<locals>.inner"]
    assert "return n + 1" in text and hits == {7: 1}


LATE = """\
import sys; sys.path.insert(0, "")
def write(value):
    with open("module.py", "w") as out:
        out.write("def outer():\\n    @profile\\n    def inner():\\n        return %s\\n    return inner()\\n" % value)
write(1)
import module
write(2)
module.outer()
"""
CHANGED = """
The file was changed: the code that ran was compiled from another text.
Continuing without the function's contents.
"""


def test_a_module_that_is_edited_before_its_function_is_selected(tmp_path):
    (tmp_path / "main.py").write_text(LATE)
    ended = run_ckernprof(["-lv", "--no-memory", "main.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    [function] = load(tmp_path / "main.py.lprof").functions
    assert function.source is None and function.source_changed
    assert f"Function: outer.<locals>.inner at line 2\n{CHANGED}" in ended.out
    assert "Could not find file" not in ended.out
    read = run_viewer(["--read-sources", "main.py.lprof"], tmp_path)
    assert CHANGED in read.out and "return 2" not in read.out
    exported = json.loads(run_viewer(["--format", "json", "main.py.lprof"], tmp_path).out)
    assert [f.get("source_changed") for f in exported["functions"]] == [True]


# ---- what is in no plain file ----


def test_a_module_in_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("module.py", "def f():\n    return 1\n")
    found = profiled(tmp_path, "import sys; sys.path.insert(0, 'lib.zip')\nimport module; module.f()\n",
                     "-p", "module.f")  # fmt: skip
    assert found == {"f": (1, function(1), {2: 1})}


def test_a_compiled_module_without_source(tmp_path):
    import py_compile

    (tmp_path / "module.py").write_text("def f():\n    return 1\n")
    py_compile.compile(tmp_path / "module.py", tmp_path / "module.pyc")
    (tmp_path / "module.py").unlink()
    found = profiled(tmp_path, "import module; module.f()\n", "-p", "module.f")
    assert found == {"f": (1, None, {2: 1})}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 has few modules built in")
def test_a_module_of_the_library_that_is_built_in(tmp_path):
    found = profiled(tmp_path, "import codecs\nprofile(codecs.getencoder)('ascii')\n")
    _, text, hits = found["getencoder"]
    assert text.startswith("def getencoder(encoding):\n") and sum(hits.values()) == 1


def test_warnings_of_a_text_come_once(tmp_path):
    """That the profiler compiles it again to compare is no warning more."""
    (tmp_path / "main.py").write_text("exec('@profile\\ndef f():\\n    return 1 is 1\\n')\nf()\n")
    ended = run_ckernprof(["-l", "--no-memory", "main.py"], tmp_path)
    assert ended.code == 0 and ended.err.count("SyntaxWarning") == 1
