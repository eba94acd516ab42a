# SPDX-License-Identifier: MIT
"""Runs without -l: cProfile's numbers, kernprof's words."""

import marshal
import re
import sys

import pytest
from harness import ROOT, own_messages_removed, run, run_ckernprof, run_python

PROGRAM = """
import atexit, sys
def f(n):
    return sum(range(n))
def g():
    return [f(3), f(4)]
@atexit.register
def late():
    f(5)
print(g())
"""

MARKED = """
@profile
def f(n):
    return h(n)
def h(n):
    return n + 1
def g():
    return h(1)
g(), f(1), f(2)
with profile:
    g()
profile.enable()
k = (lambda: 1)()
profile.disable()
h(3)
"""


def calls(path):
    """{name: calls} of a pstats file."""
    return {key[2]: numbers[1] for key, numbers in marshal.loads(path.read_bytes()).items()}


def test_everything_is_counted(script, tmp_path):
    path = script(PROGRAM)
    ended = run_ckernprof([path.name], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[:3] == [
        "[3, 6]",
        "Wrote profile results to 'program.py.prof'",
        "Inspect results with:",
    ]
    assert ended.out.splitlines()[3].endswith(" -m pstats program.py.prof")
    found = calls(tmp_path / "program.py.prof")
    expected = {"<module>": 1, "f": 3, "g": 1, "late": 1, "<built-in method builtins.sum>": 3}
    assert {name: found[name] for name in expected} == expected
    assert not [name for name in found if "profile" in name.lower() or "stats" in name]


@pytest.mark.once
def test_the_recommended_command_works(script, tmp_path):
    ended = run_ckernprof([script(PROGRAM).name], tmp_path)
    command = ended.out.splitlines()[-1].split(" ")
    shown = run(command, tmp_path, stdin="stats\nquit\n")
    assert shown.code == 0 and "program.py:3(f)" in shown.out


def test_view_prints_the_report_of_pstats(script, tmp_path):
    ended = run_ckernprof(["-v", script(PROGRAM)], tmp_path)
    assert re.search(r"^ +\d+ function calls in [\d.]+ seconds$", ended.out, re.M)
    assert "   Ordered by: standard name\n" in ended.out
    assert re.search(r"^        3    0\.000    0\.000    0\.000    0\.000 program.py:3\(f\)$",
                     ended.out, re.M)
    assert "Inspect results" not in ended.out


def test_builtin_limits_it_to_what_is_marked(script, tmp_path):
    ended = run_ckernprof(["-b", script(MARKED)], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert calls(tmp_path / "program.py.prof") == {"f": 2, "h": 3, "g": 1, "<lambda>": 1}


@pytest.mark.once
def test_nothing_marked(script, tmp_path):
    ended = run_ckernprof(["-b", script("with profile: x = 1\n")], tmp_path)
    assert ended.code == 0
    assert ended.err == ("ckernprof: nothing was profiled, and no profile is written: no function marked with @profile was "
                         "called, nor any within 'with profile:'; without -b all functions are profiled\n")
    assert not list(tmp_path.glob("*.prof"))


def test_without_builtin_there_is_no_profile(script, tmp_path):
    ended = run_ckernprof([script("print('profile' in dir(__builtins__))")], tmp_path)
    assert ended.out.startswith("False\n")


KINDS = """
import asyncio, contextlib, functools
def inner(n): return n
@profile
def generator(n):
    "doc"
    try:
        got = yield inner(n)
        yield got
    except KeyError as error:
        yield error.args
    return 7
@profile
async def coroutine(n):
    await asyncio.sleep(0)
    return inner(n)
@profile
async def agen(n):
    for i in range(n):
        try:
            got = yield inner(i)
        except KeyError:
            yield "caught"
def at_close(): print("closed")
@profile
def closing():
    try: yield 1
    finally: at_close()
@profile
async def aclosing():
    try: yield 1
    finally:
        await asyncio.sleep(0)
        at_close()
class C:
    @profile
    @classmethod
    def c(cls): return inner(cls.__name__)
    @profile
    @staticmethod
    def s(): return inner(1)
    @profile
    @property
    def p(self): return inner(2)
    @profile
    def m(self): return inner(3)
def whole(): 
    result = yield from generator(1)
    print("returned", result)
g = generator(1); print(next(g), g.send(5), generator.__name__, generator.__doc__)
g = generator(2); next(g); print(g.throw(KeyError("k")))
g = generator(3); next(g); g.close()
print(list(whole()))
g = closing(); next(g); g.close()
async def main():
    print(await coroutine(4), [x async for x in agen(3)])
    a = agen(3); print(await a.__anext__(), await a.athrow(KeyError())); await a.aclose()
    a = aclosing(); await a.__anext__(); await a.aclose()
    try:
        await asyncio.wait_for(coroutine(1), 0)
    except asyncio.TimeoutError:
        print("timeout")
asyncio.run(main())
print(C.c(), C.s(), C().p, C().m(), C.m.__qualname__)
print(profile(5), profile(C) is C)
"""


def test_what_can_be_decorated(script, tmp_path):
    path = script("import builtins\nif not hasattr(builtins, 'profile'): profile = lambda f: f\n"
                  + KINDS)
    bare = run_python([path], tmp_path)
    ours = run_ckernprof(["-b", path], tmp_path)
    assert bare.code == 0, bare.err
    assert (ours.err, ours.code, own_messages_removed(ours.out)) == ("", 0, bare.out)
    found = calls(tmp_path / "program.py.prof")
    assert {"generator", "coroutine", "agen", "c", "s", "p", "m", "inner"} <= set(found)
    assert found["at_close"] == 2
    assert "whole" not in found and "wrapper" not in found and "main" not in found


ENDINGS = {
    "exit 3": "sys.exit(3)",
    "exit text": "sys.exit('a text')",
    "error": "fails()",
    "interrupt": "raise KeyboardInterrupt",
    "exit at exit": "import atexit; atexit.register(sys.exit, 5)",
    "stdout closed": "sys.stdout.close()",
    "own excepthook": "sys.excepthook = lambda *e: print('hooked', e[0].__name__); fails()",
    "thread": "t = threading.Thread(target=print, args=('in it',)); t.start(); t.join()",
    "daemon": "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "recursion": "(lambda f: f(f))(lambda f: f(f))",
}


@pytest.mark.parametrize("options", [[], ["-b"]])
@pytest.mark.parametrize("name", ENDINGS)
def test_endings(name, options, script, tmp_path):
    path = script("import sys, threading, time\ndef fails():\n    raise ValueError('x')\n"
                  "def main():\n    %s\nmain()\n" % ENDINGS[name])
    bare = run_python([path.name], tmp_path)
    ours = run_ckernprof([*options, path.name], tmp_path)
    assert ours.code == bare.code
    assert re.sub("ckernprof: nothing.*\n", "", ours.err) == bare.err
    if name != "stdout closed":
        assert own_messages_removed(ours.out) == bare.out
    assert (tmp_path / "program.py.prof").exists() == (not options)
    if not options:
        found = calls(tmp_path / "program.py.prof")
        assert found["main"] >= 1  # from 3.12 on cProfile takes threads for one another
        if name != "exit at exit":  # which the interpreter itself shows
            assert b"traceback.py" not in (tmp_path / "program.py.prof").read_bytes()


@pytest.mark.parametrize("name", ["profile", "cProfile", "pstats", "calls"])
def test_a_program_s_own_modules_are_its_own(name, script, tmp_path):
    script("here = 5\n", f"{name}.py")
    path = tmp_path / "program.py"
    for options in ["-v"], ["-bv"]:
        path.write_text(f"import {name} as own\nprint(own.here)\n"
                        + "with profile:\n    max(1, 2)\n" * (options == ["-bv"]))
        ended = run_ckernprof([*options, path], tmp_path)
        assert ended.out.startswith("5\n") and ended.code == 0, ended.err
        assert "function calls in" in ended.out


@pytest.mark.once
def test_options_for_lines_only_are_named(script, tmp_path):
    path = script(PROGRAM)
    ended = run_ckernprof(["-p", "x", "-i", "--include=y", path], tmp_path)
    assert ended.err == "ckernprof: without -l these options have no effect: -p --include -i\n"
    assert ended.code == 0 and calls(tmp_path / "program.py.prof")["f"] == 3


DOCS = ROOT / "docs" / "options.md"
GATES = {"--fail-on-leak"}  # what the exit status answers
VALUES = {
    "-p": "x", "--include": "x", "--exclude": "x", "-u": "1e-3", "--color": "never", "--columns": "hits", "--widths": "line=8",
    "--sort-by": "time", "--top": "3", "--lines": "3", "--function": "x", "--file": "x", "--min-percent": "5",
    "--precision": "2", "-i": "2", "--tracer": "settrace", "--clock": "exact", "--memory": "uss", "--source": "none",
    "--timeline": "1", "--pdb-mmem": "9999", "--counters": "faults", "--heap-interval": "1",
}  # fmt: skip


@pytest.mark.once
def test_every_option_for_lines_is_named(script, tmp_path):
    """A run without -l measures no lines, so what an option asks of lines is not done."""
    page = run_ckernprof(["--help-page"], tmp_path).out
    options = re.findall(r"^\| `(--?[\w-]+)", page, re.M)
    [any_run] = re.findall(r"^All options but (.*?)\sare\sfor\slines\.", DOCS.read_text("utf-8"), re.M | re.S)
    others = {*re.findall("`(-.*?)`", any_run), "-V", "-h", *GATES}
    assert set(options) > others | set(VALUES)
    told = [option for option in options if option not in others]
    given = [word for option in told for word in (option, VALUES.get(option)) if word is not None]
    path = script(PROGRAM)
    ended = run_ckernprof([*given, path], tmp_path)
    assert ended.err == f"ckernprof: without -l these options have no effect: {' '.join(told)}\n"
    assert ended.code == 0 and calls(tmp_path / "program.py.prof")["f"] == 3
    assert run_ckernprof(["-q", *given, path], tmp_path).err == ""


@pytest.mark.once
@pytest.mark.parametrize("option", sorted(GATES))
def test_a_gate_that_cannot_look_is_not_green(option, script, tmp_path):
    path = script("print('runs')\n")
    config = script(f"[tool.clineprof.kernprof]\n{option[2:]} = true\n", "c.toml")
    for words in [option], ["-b", option], ["-q", option], [option, "--only-ranks", "7"], ["--config", config]:
        ended = run_ckernprof([*words, path], tmp_path)
        assert ended.err == f"ckernprof: {option} checks lines, which only -l counts; add -l, or leave out {option}\n"
        assert (ended.code, ended.out) == (2, "")
    ended = run_ckernprof(["--config", config, option.replace("--", "--no-"), path], tmp_path)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.once
def test_a_module_and_a_package(script, tmp_path):
    script("def f(): return 1\nf()\n", "pack/__main__.py")
    script("", "pack/__init__.py")
    ended = run_ckernprof(["-m", "pack"], tmp_path)
    assert ended.code == 0 and calls(tmp_path / "pack.prof")["f"] == 1
    ended = run_ckernprof(["pack"], tmp_path)
    assert ended.code == 0 and "pack.prof" in ended.out


@pytest.mark.once
@pytest.mark.skipif(sys.version_info < (3, 12), reason="one profiler per thread before 3.12")
def test_a_profile_of_the_program_s_own(script, tmp_path):
    """As with python -m cProfile: two at once cannot be, and the program is told so."""
    path = script("import cProfile\np = cProfile.Profile()\ntry:\n    p.enable()\n"
                  "except ValueError as error:\n    print(error)\n")
    assert re.match("(Another profiling )?tool.* is already ", run_ckernprof([path], tmp_path).out)
