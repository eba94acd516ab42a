# SPDX-License-Identifier: MIT
"""The magics, in IPython's shell and in notebooks that a kernel executes. Hits are counted by hand."""
import json
import os
import pty
import re
import subprocess
import sys

import pytest
from cells import PACKAGE, Shown, Told, cell_told, executed, hits_of_html, hits_of_text
from harness import BUILD, CKERNPROF, ROOT, SANITIZED, clean_environment, run, run_python
from pages import normal

pytest.importorskip("IPython", reason="IPython is not installed")
pytestmark = pytest.mark.once  # the magics choose their tracer

# Runs cells, and tells of each what came of it.
SHELL = """
import contextlib, io, json
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
told = []
for cell in ["%load_ext clineprof", *json.load(open("cells.json"))]:
    shell.display_pub = CapturingDisplayPublisher()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        result = shell.run_cell(cell, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    told.append({"out": out.getvalue(), "err": err.getvalue(),
                 "shown": [output["data"] for output in shell.display_pub.outputs],
                 "error": error and [type(error).__name__, str(error)]})
json.dump(told, open("told.json", "w"))
"""
F = """\
def f(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""
F3 = {"f": {2: 1, 3: 4, 4: 3, 5: 1}}  # what f(3) does


@pytest.fixture
def shell(tmp_path):
    """shell(cell, ..): what came of each, in one session."""

    def shell(*cells, env=()):
        (tmp_path / "cells.json").write_text(json.dumps(cells))
        ended = run_python(["-c", SHELL], tmp_path, env={**PACKAGE, **dict(env)})
        assert ended.code == 0, ended.err
        loaded, *told = map(Told, json.loads((tmp_path / "told.json").read_text()))
        assert (loaded.out, loaded.err, loaded.error) == ("", "", None)
        return told

    return shell


def of_last(told):
    for each in told[:-1]:
        assert each.error is None, each.error
    return told[-1]


# ---- %lprun --------------------------------------------------------------------------------------


def test_lprun(shell):
    told = of_last(shell(F, "%lprun -f f f(3)"))
    assert told.hits == F3 and (told.out, told.err, told.error) == ("", "", None)
    assert told.text.startswith("Timer unit: 1e-09 s\n\nTotal time: ")
    assert "Mem usage" not in told.text + told.html
    assert "f  In[2]:1" in Shown(told.html, "summary").texts[0] and "File: <ipython-input-2-" in told.text


def test_the_code_of_functions_is_their_own_afterwards(shell):
    *_, told = shell(F, "before = f.__code__", "%lprun -f f f(3)", "print(f.__code__ is before)")
    assert told.out == "True\n"


def test_several_cells_and_functions_that_are_defined_anew(shell):
    told = shell(F, "def g():\n    return f(1) + f(2)", "%lprun -f f -f g g()",
                 F.replace("range(n)", "range(2 * n)"), "%lprun -f f -f g g()")  # fmt: skip
    assert told[2].hits == {"f": {2: 2, 3: 5, 4: 3, 5: 2}, "g": {2: 1}}
    assert told[4].hits == {"f": {2: 2, 3: 8, 4: 6, 5: 2}, "g": {2: 1}}


KINDS = """\
import functools
def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper
@wrapped
def decorated():
    return 1
class Box:
    @property
    def size(self):
        return 2
    @classmethod
    def made(cls):
        return cls()
    @staticmethod
    def loose():
        return 3
    def plain(self):
        return 4
    @functools.cached_property
    def kept(self):
        return 5
partial = functools.partial(Box.loose)
table = {"a key": Box.loose}
def generator():
    yield 6
"""


CALLS = [
    ("decorated", "decorated()", {"decorated": {9: 1}}),
    ("Box.plain", "Box().plain()", {"Box.plain": {21: 1}}),
    ("Box().plain", "Box().plain()", {"Box.plain": {21: 1}}),
    ("Box.size", "Box().size", {"Box.size": {13: 1}}),
    ("Box.made", "Box.made()", {"Box.made": {16: 1}}),
    ("Box.loose", "Box.loose()", {"Box.loose": {19: 1}}),
    ("partial", "partial()", {"Box.loose": {19: 1}}),
    ('table["a key"]', "Box.loose()", {"Box.loose": {19: 1}}),
    ("Box", "Box.made().kept", {"Box.made": {16: 1}, "Box.kept": {24: 1}}),
    ("generator", "list(generator())", {"generator": {28: 1}}),
    ("generator -f decorated", "list(generator())", {"generator": {28: 1}}),
]  # fmt: skip


def test_lprun_of_every_kind_of_callable(shell):
    _, *told = shell(KINDS, *(f"%lprun -f {function} {statement}" for function, statement, _ in CALLS))
    for each, (function, _, expected) in zip(told, CALLS):
        assert each.hits == expected, function


STATEMENTS = [
    "f('it''s  \"two\"'.count('i') + 2)", "f(  {1: 2}[1] + 1  )", "f(len('$HOME') - 2)",
    "x = 3; f(x)", "-- -f(3)", "f(3) # -f g", "f(int(r'\\3'[1:]))",
]  # fmt: skip


def test_the_statement_is_left_as_it_is(shell):
    _, *told = shell(F, *("%lprun -f f " + statement for statement in STATEMENTS))
    for each, statement in zip(told, STATEMENTS):
        assert each.hits == F3, statement


def test_names_that_the_statement_binds_stay(shell):
    *_, told = shell(F, "%lprun -f f x = f(3)", "print(x)")
    assert told.out == "3\n"


def test_lprun_of_a_cell(shell):
    told = of_last(shell(F, "%%lprun -f f x = 3\nfor i in range(2):\n    f(x)\n"))
    assert told.hits == {"f": {2: 2, 3: 8, 4: 6, 5: 2}}


def test_lprun_of_a_module(shell, tmp_path):
    (tmp_path / "mine.py").write_text("from os.path import join\n" + F + "def g():\n    return 1\n")
    told = of_last(shell("import mine", "%lprun -z -m mine mine.f(3)"))
    assert told.hits == {"f": {3: 1, 4: 4, 5: 3, 6: 1}}
    told = of_last(shell("import mine", "%lprun -m mine mine.f(3)"))
    assert "Function: g" in told.text and "join" not in told.text
    told = of_last(shell(F, "def g(): pass", "%lprun -m __main__ f(3)"))
    assert told.hits == F3 and "Function: g" in told.text


@pytest.mark.parametrize("option", ["-z", "-s"])
def test_functions_that_never_ran_are_left_out(shell, option):
    *_, shown, left_out = shell(F, "def g(): pass", "%lprun -f g -f f f(3)",
                                f"%lprun {option} -f g -f f f(3)")  # fmt: skip
    assert shown.hits == left_out.hits == F3
    assert "Function: g" in shown.text and "Function: g" not in left_out.text
    assert [len(Shown(told.html, "summary").texts) for told in (shown, left_out)] == [1, 1]


def test_unit(shell):
    told = of_last(shell(F, "%lprun -u 1e-3 -f f f(3)"))
    assert told.text.startswith("Timer unit: 0.001 s\n")


def test_files(shell, tmp_path):
    told = of_last(shell(F, "%lprun -D 'my stats.lprof' -T table.txt -f f f(3)"))
    assert told.out == ("\n*** Profile stats pickled to file 'my stats.lprof'.\n"
                        "\n*** Profile printout saved to text file 'table.txt'.\n")  # fmt: skip
    assert (tmp_path / "table.txt").read_text() == told.text + "\n"
    code = "import clineprof; print([f['hits'] for f in clineprof.load('my stats.lprof').functions])"
    assert run_python(["-c", code], tmp_path, env=PACKAGE).out == "[[1, 4, 3, 1]]\n"
    pytest.importorskip("line_profiler")
    code = "import line_profiler; print(line_profiler.load_stats('my stats.lprof').timings)"
    assert ", 1, 'f'): [(2, 1, " in run_python(["-c", code], tmp_path).out


def test_lprun_returns_a_line_profiler(shell):
    told = of_last(shell(F, "p = %lprun -r -f f f(3)", "f(9)", """
import clineprof
[rows] = p.get_stats().timings.values()
print(type(p) is clineprof.LineProfiler, [row[:2] for row in rows], p.functions == [f])"""))
    assert told.out == "True [(2, 1), (3, 4), (4, 3), (5, 1)] True\n"


def test_without_r_nothing_is_returned(shell):
    told = of_last(shell(F, "p = %lprun -f f f(3)", "print(p)"))
    assert told.out == "None\n"


def test_profile_is_among_the_builtins_meanwhile(shell):
    told = shell("import builtins\nbuiltins.profile = 'mine'",
                 "%%lprun\n@profile\ndef g():\n    return 1\ng()\n", "print(profile)")  # fmt: skip
    assert told[1].hits == {"g": {3: 1}} and told[2].out == "mine\n"


# ---- errors --------------------------------------------------------------------------------------

RAISES = "def bad(n):\n    n = n - 1\n    return 1 / n\n"


def test_an_error_shows_the_profile_so_far_and_leaves_the_session_as_it_was(shell):
    first, failed, after, again = shell(
        RAISES + "before = bad.__code__", "%lprun -f bad bad(2), bad(1)",
        "import builtins\nprint(hasattr(builtins, 'profile'), bad.__code__ is before)",
        "%lprun -f bad bad(3)")  # fmt: skip
    assert failed.error == "ZeroDivisionError: division by zero"
    assert failed.hits == {"bad": {2: 2, 3: 2}}
    assert "line 3, in bad(n)" in failed.out and "_notebook" not in failed.out
    assert after.out == "False True\n" and again.hits == {"bad": {2: 1, 3: 1}}


def test_exits_and_interrupts_end_the_statement_only(shell):
    for magic in "%lprun -f f ", "%mprun -f f ":
        _, exited, interrupted, after = shell(
            F, magic + "f(3); raise SystemExit(3)", magic + "f(3); raise KeyboardInterrupt", magic + "f(3)")
        for each, name in (exited, "SystemExit"), (interrupted, "KeyboardInterrupt"):
            assert each.error is None
            assert each.out == f"\n*** {name} exception caught in code being profiled.\n"
        assert hits_of_html(exited.html)["f"] == hits_of_html(after.html)["f"] == F3["f"]


def test_exits_and_interrupts_end_the_cell_of_clineprof(shell):
    """As without the magic: cells behind it do not run."""
    for magic in "%clineprof -f f ", "%%clineprof -f f\n":
        _, exited, interrupted, after = shell(
            F, magic + "f(3); raise SystemExit(3)", magic + "f(3); raise KeyboardInterrupt", magic + "f(3)")
        assert (exited.error, interrupted.error) == ("SystemExit: 3", "KeyboardInterrupt: ")
        assert exited.hits["f"] == interrupted.hits["f"] == after.hits["f"] == F3["f"]


def test_a_slip_in_the_code_is_its_own_error(shell):
    cells = "%lprun -f f f(", "%%clineprof\nx = = 1", "%%lprun_all\nx = (\n"
    _, *told, after = shell(F, *cells, "%lprun -f f f(3)")
    for each in told:
        assert each.error.startswith(("SyntaxError", "_IncompleteInputError")) and each.shown == []
    assert after.hits == F3


WRONG = [
    ("%lprun -q f(3)", "option -q not recognized ('--' ends the options)"),
    ("%lprun -f", "option -f requires a value"),
    ("%lprun -f nobody f(3)", "Could not find function nobody.\nNameError: name 'nobody' is not defined"),
    ("%lprun -f len f(3)", "-f len: it has no Python code to profile"),
    ("%lprun -m no.such f(3)", "Could not find module no.such.\nModuleNotFoundError: No module named 'no'"),
    ("%lprun -u soon -f f f(3)", "-u needs a number of seconds above 0, not 'soon'"),
    ("%lprun -u -1 -f f f(3)", "-u needs a number of seconds above 0, not '-1'"),
    ("%lprun -u inf -f f f(3)", "-u needs a number of seconds above 0, not 'inf'"),
    ("%lprun -D no/such/x.lprof -f f f(3)", "-D no/such/x.lprof: there is no folder no/such"),
    ("%lprun -T . -f f f(3)", "-T .: it is a folder"),
    ("%lprun --heap f(3)", "option --heap not recognized"),
    ("%%lprun_all f(3)\nf(3)", "%%lprun_all takes nothing behind its options: f(3)"),
    ("%mprun -u 1 f(3)", "option -u not recognized ('--' ends the options)"),
    ("%memit -r often f(3)", "-r needs a whole number, not negative, not 'often'"),
    ("%memit -i 0 f(3)", "-i needs a number of seconds above 0, not '0'"),
    ("%memit -t x f(3)", "-t needs a whole number, not negative, not 'x'"),
    ("%memit await f(3)", "%memit cannot await; give it a function that runs the coroutine"),
    ("%%clineprof f(3)\nf(3)", "%%clineprof takes nothing behind its options: f(3)"),
    ("%%clineprof --heap=3\nf(3)", "option --heap has no value"),
    ("%%clineprof --leek\nf(3)", "option --leek not recognized"),
    ("%%clineprof --leaks=-2\nf(3)", "leaks: epochs of '-2' seconds cannot be"),
    ("%%clineprof --no-memory --heap\nf(3)", "heap and leaks need memory"),
    ("%%clineprof --timeline=0\nf(3)", "--timeline needs a number of seconds from 0.001 to 3600, not '0'"),
    ("%clineprof --timeline=often f(3)", "--timeline needs a number of seconds from 0.001 to 3600, not 'often'"),
    ("%clineprof", "%clineprof needs a statement; %%clineprof profiles a cell"),
    ("%clineprof --compare", "%clineprof needs a statement; %%clineprof profiles a cell"),
    ("%clineprof --compare=2 f(3)", "option --compare has no value"),
]  # fmt: skip


def test_wrong_options_are_one_line_and_nothing_runs(shell):
    cells = [cell for cell, _ in WRONG]
    _, *told, after = shell("ran = []\nf = lambda n: ran.append(n)", *cells, "print(ran)")
    for each, (cell, message) in zip(told, WRONG):
        assert (each.out + each.err).strip() == "UsageError: " + message, cell
        assert each.shown == [] and each.error is not None
    assert after.out == "[]\n"


def test_a_wrong_unit_is_a_type_error_too(tmp_path):
    """As line_profiler's."""
    code = SHELL.split("told = []")[0] + """
shell.run_cell("%load_ext clineprof")
try:
    shell.run_line_magic("lprun", "-u x 1")
except TypeError as error:
    print(error)
"""
    ended = run_python(["-c", code], tmp_path, env=PACKAGE)
    assert ended.out == "-u needs a number of seconds above 0, not 'x'\n", ended.err


@pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_file_that_cannot_be_written_loses_nothing(shell):
    told = of_last(shell(F, "%lprun -T /dev/full -f f f(3)"))
    assert told.hits == F3 and told.error is None
    assert told.err == "*** cannot write '/dev/full': No space left on device\n"


@pytest.mark.parametrize("magic", ["lprun", "mprun"])
def test_a_statement_without_functions_is_told_how_to_name_some(shell, magic):
    told = of_last(shell(F, f"%{magic} value = f(3)"))
    assert told.err == "*** Nothing was profiled: name functions with -f, modules with -m.\n"


# ---- %%lprun_all ---------------------------------------------------------------------------------

CELL = """
class Test:
    size = 3
    def test(self):
        for x in range(self.size):
            y = x
        return [i for i in range(3)]
z = Test().test()
"""


def test_lprun_all(shell):
    told = of_last(shell("1", "%%lprun_all" + CELL))
    assert told.hits == {"<module>": {1: 1, 7: 1}, "Test.test": {4: 4, 5: 3, 6: 1}}


def test_lprun_all_of_top_level_code_only(shell):
    told = shell("%%lprun_all -p" + CELL, "print(z)", "%%lprun_all -t\nx = 1",
                 "print(0 < _total_time_taken < 60)")  # fmt: skip
    assert told[0].hits == {"<module>": {1: 1, 7: 1}}
    assert [told[1].out, told[3].out] == ["[0, 1, 2]\n", "True\n"]


def test_lprun_all_with_an_indented_cell_and_with_an_empty_one(shell):
    told = shell("%%lprun_all\n\n\n    x = 1\n    y = 2\n", "print(x + y)", "%%lprun_all\n# nothing\n")
    assert told[0].hits == {"<module>": {1: 1, 2: 1}} and told[1].out == "3\n"
    assert told[2].error is None


def test_lprun_all_returns_a_line_profiler(shell):
    cell = "%%lprun_all -r" + CELL
    told = of_last(shell(cell, "print([[row[:2] for row in rows] for rows in "
                               "_.get_stats().timings.values()])"))  # fmt: skip
    assert told.out.startswith("[[(1, 1), (7, 1)], [(4, 4), (5, 3), (6, ")


# ---- %mprun and %memit ---------------------------------------------------------------------------

GROWS = """\
def grows(n):
    block = bytearray(n << 20)
    for _ in range(3):
        block[0] = 1
    del block
"""


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")
def test_mprun(shell):
    told = of_last(shell(GROWS, "%mprun -f grows grows(40)"))
    lines = told.text.splitlines()
    assert lines[0].startswith("Filename: <ipython-input-") and lines[2] == (
        "Line #    Mem usage    Increment  Occurrences   Line Contents")
    rows = {int(line.split()[0]): line for line in lines[4:]}
    assert re.match(r" +2 +[\d.]+ MiB +(39|40)\.\d MiB +1 +block = ", rows[2])
    assert re.match(r" +3 +[\d.]+ MiB +0\.0 MiB +4 +for _", rows[3])
    assert re.match(r" +5 +[\d.]+ MiB +-(39|40)\.\d MiB +1 +del", rows[5])
    assert hits_of_html(told.html) == {"grows": {2: 1, 3: 4, 4: 3, 5: 1}}
    assert "Increment" in told.html


def test_mprun_of_a_cell_with_a_file_and_its_object(shell, tmp_path):
    told = of_last(shell(GROWS, "%%mprun -r -T out.txt -f grows\ngrows(20)\ngrows(30)", """
[measures] = _.code_map.values()
print(sorted((line, row[2]) for line, row in measures.items()))"""))
    assert told.out == "[(1, 2), (2, 2), (3, 8), (4, 6), (5, 2)]\n"
    assert "block = bytearray" in (tmp_path / "out.txt").read_text()


CHILD = """
import subprocess, sys
def starts():
    child = subprocess.Popen(
        [sys.executable, "-c", "block = bytearray(60 << 20); print(flush=True); input()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdout.readline()
    size = 5
    child.communicate(b"\\n")
"""


@pytest.mark.parametrize("options, grown", [("-c", True), ("", False)])
def test_mprun_with_child_processes(shell, options, grown):
    told = of_last(shell(CHILD, "_ = %%mprun -r %s -f starts starts()" % options, """
[measures] = _.code_map.values()
called, *starting, size, over = (measures[line] for line in sorted(measures))
print(size[1] - called[1] > 60, sum(row[0] for row in starting) > 60, over[0] < -60)"""))
    assert told.out == "%s %s %s\n" % (grown, grown, grown)


def test_mprun_of_children_beside_another_profiler(shell):
    told = of_last(shell(GROWS, "import clineprof; other = clineprof._boot.core().Profiler()",
                         "%mprun -c -f grows grows(1)"))
    assert told.err == ("UsageError: clineprof: another Profiler of this process measures memory as "
                        "'rss', not 'tree'\n")  # fmt: skip


MEMIT = r"peak memory: \d+\.\d\d MiB, increment: (\d+)\.\d\d MiB\n"


def test_memit(shell):
    *_, line, cell, runs, many = shell(
        "ran = []", "%memit block = bytearray(50 << 20); ran.append(1)",
        "%%memit n = 30; ran.append(2)\nother = bytearray(n << 20)\nran.append(3)",
        "print(ran, len(block) >> 20, n)", "%memit -r 3 -i 0.01 -t 9 ran.append(4)")  # fmt: skip
    assert 48 <= int(re.fullmatch(MEMIT, line.out)[1]) <= 52
    assert 28 <= int(re.fullmatch(MEMIT, cell.out)[1]) <= 32
    assert runs.out == "[1, 2, 3] 50 30\n" and re.fullmatch(MEMIT, many.out)


def test_memit_quietly_and_with_its_object(shell):
    *_, told, runs = shell("ran = []", "m = %memit -qo -r2 -c ran.append(1)",
                           "print(m.repeat, len(m.mem_usage), m.baseline > 1, m.include_children, ran)")
    assert told.out == "" and runs.out == "2 2 True True [1, 1]\n"


def test_memit_passes_an_error_on(shell):
    _, told, after = shell("pass", "%memit 1 / 0", "%memit 1")
    assert told.error == "ZeroDivisionError: division by zero" and re.fullmatch(MEMIT, after.out)


# ---- %%clineprof ---------------------------------------------------------------------------------

WHOLE = """
import functools
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
class Box:
    size = 20
    def fill(self):
        self.block = bytearray(self.size << 20)
        return self
box = Box().fill()
twice = lambda n: 2 * n
twice(fib(8))
"""


def test_clineprof(shell):
    told = of_last(shell("1", "%%clineprof" + WHOLE))
    module = told.hits["<module>"]
    assert [module[2] in (1, 2), module[3] in (1, 2)] == [True, True]  # of the decorator
    assert {**told.hits, "<module>": {**module, 2: 0, 3: 0}} == {
        "<module>": {1: 1, 2: 0, 3: 0, 5: 1, 10: 1, 11: 1, 12: 1}, "fib": {4: 9},
        "Box": {5: 1, 6: 1, 7: 1}, "Box.fill": {8: 1, 9: 1}, "<lambda>": {11: 1},
    }  # fmt: skip
    assert told.out == "Out[3]: 42\n"
    for text in told.text, "\n".join(Shown(told.html, "pre").texts):
        [grown] = re.findall(r"\n +8 .* MiB +([\d.]+) MiB +self.block", text)
        assert 19 <= float(grown) <= 21


def test_the_value_of_a_cell(shell):
    told = shell("%%clineprof\n3;", "%%clineprof\nx = 3", "%%clineprof\nx\n", "print(_)")
    assert [each.out for each in told] == ["", "", "Out[4]: 3\n", "3\n"]


def test_lines_of_the_last_expression_count_as_in_a_program(shell):
    """It may begin on a line on which other statements end, and have several lines itself."""
    text = "%%clineprof --no-memory -f f\n"
    told = shell(
        F, text + "x = 1; f(x); x", text + "x = max(3,\n4); x", text + "(5 if x else\n6)", text + "f(x); x;",
        text + "import asyncio\nawait asyncio.sleep(0); await asyncio.sleep(0, 7)", text + "x; 1 / 0",
        "%lprun -f f x = 2; f(x)", "[name for name in globals() if '<' in name]")
    assert [each.out for each in told[:6]] == ["", "Out[3]: 1\n", "Out[4]: 4\n", "Out[5]: 5\n", "", "Out[7]: 7\n"]
    assert told[6].error == "ZeroDivisionError: division by zero" and told[-1].out == "Out[10]: []\n"
    hits = [each.hits["<module>"] for each in told[1:7]]
    assert hits == [{1: 1}, {1: 2, 2: 2}, {1: 1}, {1: 1}, {1: 1, 2: 1}, {1: 1}]


def test_clineprof_returns_a_profile(shell):
    told = of_last(shell(F, "%%clineprof -r -f f\nf(3)\nf(2)\n", """
print(type(_).__name__, [(f.name, f["hits"]) for f in _.functions], _.has_memory)"""))
    assert told.out == "Profile [('f', [2, 7, 5, 2]), ('<module>', [1, 1])] True\n"


def test_clineprof_options(shell, tmp_path):
    told = shell(
        F, "%%clineprof -p -u 1 -D all.lprof -T all.txt\ndef g(): pass\ng()",
        "%%clineprof --no-memory -z\ndef g(): pass\nx = 1", "%%clineprof --heap\nx = bytes(10 ** 7)",
        "%%clineprof --cpu --no-memory\nimport time\ntime.sleep(0.1)",
        "%%clineprof --native --io --counters=faults --no-memory\nx = sorted(range(10_000))",
        "%%clineprof --tensors --no-memory\nx = 1")
    assert told[6].hits == {"<module>": {1: 1}} and told[6].error is None
    assert told[1].hits == {"<module>": {1: 1, 2: 1}} and "Timer unit: 1 s" in told[1].text
    assert (tmp_path / "all.txt").read_text() == told[1].text + "\n"
    ended = run([CKERNPROF.replace("ckernprof", "clineprof"), "all.lprof"], tmp_path)
    assert "Function: <module> at line 1" in ended.out and "Mem usage" in ended.out
    assert told[2].hits == {"<module>": {1: 1, 2: 1}} and "Mem usage" not in told[2].text
    assert told[3].error is None and "Live  Line Contents" in told[3].text
    live = [any("  Live  Line" in text for text in Shown(each.html, "pre").texts) for each in told[1:]]
    assert live == [False, False, True, False, False, False]
    assert "  Wait " in told[4].text and "  Wait " not in told[2].text
    assert "  Written " in told[5].text and "  Faults " in told[5].text and "Switches" not in told[5].text
    assert ("  C time " in told[5].text) == (sys.version_info >= (3, 11))


def test_clineprof_of_a_statement(shell):
    """The functions of the notebook and those that the statement names."""
    *_, told, profile = shell(
        F, "def g(n):\n    return f(n)\ndef never(): pass", "import textwrap",
        "p = %clineprof x = g(3); textwrap.dedent('a')",
        "print(type(p).__name__, x, sorted((f.name, f.file) for f in p.functions if any(f['hits'])))")
    assert {**told.hits, "dedent": None} == {**F3, "g": {2: 1}, "<module>": {1: 1}, "dedent": None}
    assert "never" not in told.text and told.out == ""
    [name, value, functions] = profile.out.split(maxsplit=2)
    assert (name, value) == ("Profile", "3")
    assert [pair for pair in eval(functions) if pair[0] != "dedent"] == [
        ("<module>", "In[5]"), ("f", "In[2]"), ("g", "In[3]")]


def test_the_value_of_a_magic_is_not_shown_twice(shell):
    *_, line, cell, again = shell(F, "%clineprof f(3)", "%%clineprof -r\nf(3)", "_")
    assert [len(each.shown) for each in (line, cell)] == [1, 1]
    assert again.out.startswith("Out[5]: \nTotal time: ")


def test_methods_and_modules_that_a_statement_names(shell, tmp_path):
    (tmp_path / "mine.py").write_text(F + "class Box:\n    @staticmethod\n    def fill(): return f(1)\n"
                                      "    @property\n    def size(self): raise SystemExit\n")
    told = of_last(shell("import mine\nbox = mine.Box()", "%clineprof -z mine.f(3), box.fill()"))
    assert told.hits["f"] == {2: 2, 3: 6, 4: 4, 5: 2} and told.hits["Box.fill"] == {8: 1}


def test_functions_of_f_and_no_others(shell):
    told = of_last(shell(F, "def g(n):\n    return f(n)", "%clineprof -f f g(3)"))
    assert told.hits == {**F3, "<module>": {1: 1}}


def test_compare_with_the_run_before(shell):
    first, _, second, third = shell(
        F, "%clineprof --compare f(3)", F.replace("total = 0", "total = 0; __import__('time').sleep(0.05)"),
        "p = %clineprof --compare f(3)", "print(p.functions[0]['hits'])")[1:]
    assert first.out.startswith("*** There is no run of %clineprof before to compare with.\n")
    assert first.hits["f"] == F3["f"]
    assert "Before: In[3] (" in second.text and "After:  In[5] (" in second.text
    assert "File: In[2] -> In[4]\nFunction: f at line 1\n" in second.text
    assert re.search(r"\nf is [\d.]+ times slower; [^\n]*\.$", second.text)
    assert third.out == "[1, 4, 3, 1]\n"


def test_profiles_are_compared_added_and_written(shell, tmp_path):
    *_, told = shell(
        F, "before = %clineprof f(3)", F.replace("range(n)", "range(2 * n)"), "after = %clineprof f(3)", """
difference = before.diff(after)
print(repr(difference) == "<clineprof.Comparison: %s>" % difference.sentence, str(difference) == difference.text)
[f] = [one for one in before.diff(after).data["functions"] if one["name"] == "f"] or [None]
print([line["measures"]["hits"]["after"] for line in f["lines"]], f["file"])
total = before + before + after
print([(one.name, one.file, one["hits"]) for one in total.functions if one.name == "f"])
import clineprof
for name in "x.lprof", "x.html", "x.json", "x.pstats", "x.speedscope.json":
    total.write(name)
same = clineprof.load("x.lprof")
print([one["hits"] for one in same.functions] == [one["hits"] for one in total.functions])
print("In[2]" in open("x.html").read())
print(sorted(set(same.columns()["file"])))
try:
    before + 1
except TypeError as error:
    print(type(error).__name__)
""")
    assert told.out.splitlines() == [
        "True True", "[7, 6] ['In[2]', 'In[4]']",
        "[('f', 'In[2]', [2, 8, 6, 2]), ('f', 'In[4]', [1, 7, 6, 1])]",
        "True", "True", "['In[2]', 'In[3]', 'In[4]', 'In[5]']", "TypeError"], told.out + told.err
    ended = run([CKERNPROF.replace("ckernprof", "clineprof"), "x.lprof"], tmp_path)
    assert "File: In[2]\nFunction: f at line 1" in ended.out


def test_a_data_frame_names_the_cells(shell):
    pytest.importorskip("pandas", reason="pandas is not installed")
    *_, told = shell(F, "p = %clineprof f(3)", "frame = p.to_pandas().query('function == \"f\"')\n"
                     "print(frame[['file', 'line', 'hits']].values.tolist())")
    assert told.out == "[['In[2]', 2, 1], ['In[2]', 3, 4], ['In[2]', 4, 3], ['In[2]', 5, 1]]\n"


def test_memory_over_time(shell, tmp_path):
    told = shell("%%clineprof --timeline=0.002 -D x.lprof\nimport time\nblock = bytearray(30 << 20)\ntime.sleep(0.1)",
                 "%%clineprof\n1", "import clineprof\np = clineprof.load('x.lprof')\n[line] = p.timeline\n"
                 "print(len(line['rss']) > 9, 28 << 20 < max(line['rss']) - line['rss'][0] < 33 << 20)\n"
                 "print(p.meta['wall'] > line['time'][-1] // 2, p.meta['wall'] < line['time'][-1] + 10**10)")
    assert "<img alt='Resident memory of 1 process" in told[0].html and "<img" not in told[1].html
    assert told[2].out == "True True\nTrue True\n"


def test_time_of_waiting(shell):
    """Shown where a line waited, and only there; never in line_profiler's own table."""
    *_, waited, without, memory, theirs = shell(
        WAITS, "%%clineprof -f waits\nawait waits(3)", "%%clineprof\nx = 1",
        "%%clineprof --no-memory -f waits\nawait waits(3)", "%lprun -f waits await waits(3)")
    for each in waited, memory:
        for text in each.text, "\n".join(Shown(each.html, "pre").texts):
            assert re.search(r"% Time +Await", text), text
            [row] = re.findall(r"\n +4 +3 .*", text)
            assert re.search(r" [3-9]\.\d+ +ms| \d\d\.\d +ms", row), row
    assert "Await" not in without.text + without.html and "Await" not in theirs.text


def test_clineprof_finds_a_leak(shell):
    told = of_last(shell("kept = []\ndef keeps():\n    kept.append(bytes(200000))\n",
                         "%%clineprof --leaks -f keeps\nfor i in range(40):\n    keeps()\n"))
    assert "Leaks: 1 line" in told.text and "Leaks: 1 line" in Shown(told.html, "pre").texts[-1]


def test_magics_and_commands_within_a_cell(shell):
    told = of_last(shell(F, "%%clineprof -f f\n\nx = %time f(3)\n!echo heard\nx\n"))
    assert told.hits == {**F3, "<module>": {1: 1, 2: 1, 3: 1}}
    assert "!echo heard" in told.text and "x = %time f(3)" in told.text


def test_a_magic_within_a_magic(shell):
    told = of_last(shell(F, "%%clineprof -f f\nf(1)\n%lprun -f f f(3)\nf(2)\n"))
    inner, outer = [hits_of_text(data["text/plain"]) for data in told.shown if "text/html" in data]
    assert inner == F3
    assert outer == {"f": {2: 3, 3: 9, 4: 6, 5: 3}, "<module>": {1: 1, 2: 1, 3: 1}}


def test_threads_that_a_cell_starts(shell):
    told = of_last(shell(F, """%%clineprof -f f
import threading
threads = [threading.Thread(target=f, args=(3,)) for i in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
None"""))
    assert told.hits["f"] == {2: 4, 3: 16, 4: 12, 5: 4}


def test_a_failing_cell(shell):
    told = shell("%%clineprof\n" + RAISES + "bad(3)\nbad(1)\nbad(5)\n", "%%clineprof\nbad(5)\n")
    assert told[0].error == "ZeroDivisionError: division by zero"
    assert told[0].hits == {"<module>": {1: 1, 4: 1, 5: 1}, "bad": {2: 2, 3: 2}}
    assert told[1].hits == {"<module>": {1: 1}}


def test_the_code_of_what_a_cell_defines_is_its_own_afterwards(shell):
    cell = "def g():\n    def h():\n        return 1\n    return h\nh = g()\nh()\n"
    codes = "[f.__code__ for f in (g, h, g())]"
    *_, told, again = shell(cell + f"own = {codes}", "%%clineprof\n" + cell + "before = h",
                            f"print({codes} == own, [f.__code__.co_consts for f in (g, h)] == "
                            "[code.co_consts for code in own[:2]], h is before)",
                            "%lprun -f g -f h g()()")  # fmt: skip
    assert told.out == "True True True\n" and again.hits == {
        "g": {2: 1, 4: 1}, "g.<locals>.h": {3: 1}}  # fmt: skip


def test_what_another_profiler_records_goes_on(shell):
    *_, told = shell("""%%clineprof
import clineprof
def g():
    return 1
other = clineprof.Profiler()
other(g)
g()
""", "g()", "print([f['lines']['hits'] for f in other.snapshot()['functions']])")
    assert told.out == "[[2]]\n"


# ---- await ---------------------------------------------------------------------------------------

WAITS = """\
import asyncio
async def waits(n):
    for i in range(n):
        await asyncio.sleep(0.001)
    return n
"""
WAITS3 = {"waits": {3: 4, 4: 3, 5: 1}}


def test_statements_and_cells_that_await(shell):
    told = shell(WAITS, "%lprun -f waits await waits(3)", "p = %lprun -r -f waits await waits(2)",
                 "print([row[1] for rows in p.get_stats().timings.values() for row in rows])",
                 "%%clineprof -f waits\nx = await waits(3)\nx\n",
                 "%%lprun -f waits\nawait waits(1)\nawait waits(2)",
                 "%mprun -f waits await waits(3)",
                 "%%clineprof -r\n[x async for x in (i async for i in aiter_of(2))]"
                 )  # fmt: skip
    assert told[1].hits == WAITS3 and told[3].out == "[3, 2, 1]\n"
    assert told[4].hits == {**WAITS3, "<module>": {1: 1, 2: 1}}
    assert told[5].hits == {"waits": {3: 5, 4: 3, 5: 2}}
    assert hits_of_html(told[6].html) == WAITS3
    assert told[7].error == "NameError: name 'aiter_of' is not defined"


def test_a_cell_that_awaits_may_fail(shell):
    told = shell(WAITS, "%%clineprof -f waits\nawait waits(1)\n1 / 0\n", "%lprun -f waits await waits(3)")
    assert told[1].error == "ZeroDivisionError: division by zero"
    assert told[1].hits == {"waits": {3: 2, 4: 1, 5: 1}, "<module>": {1: 1, 2: 1}}
    assert told[2].hits == WAITS3


def test_a_magic_that_awaits_within_a_cell_that_does(shell):
    told = of_last(shell(WAITS, "%%clineprof\nx = 1\n%lprun -f waits await waits(3)\nx\n"))
    inner, outer = [hits_of_text(data["text/plain"]) for data in told.shown if "text/html" in data]
    assert inner == WAITS3 and outer["<module>"] == {1: 1, 2: 1, 3: 1}


def test_other_cells_are_left_as_they_are(shell):
    _, text, inner = shell(F, "x = \"get_ipython().run_line_magic('lprun', 'await x')\"; print(x)",
                           "def g():\n    %lprun -f f f(3)\ng()\nawaited = 'lprun'")
    assert text.out == "get_ipython().run_line_magic('lprun', 'await x')\n" and inner.hits == F3


# ---- loading -------------------------------------------------------------------------------------


def test_loading_twice_and_unloading(shell):
    told = shell("%load_ext clineprof", "%reload_ext clineprof", F, "%lprun -f f f(3)",
                 "n = len(get_ipython().input_transformers_post)", "%unload_ext clineprof",
                 "print(n - len(get_ipython().input_transformers_post))",
                 "%lprun -f f f(3)", "%load_ext clineprof", "%lprun -f f f(3)")  # fmt: skip
    assert told[3].hits == told[9].hits == F3 and told[6].out == "1\n"
    assert "UsageError: Line magic function `%lprun` not found" in told[7].out + told[7].err


def test_unloading_gives_magics_back(shell):
    told = shell("""
from IPython.core.magic import register_line_magic
%unload_ext clineprof
@register_line_magic
def lprun(line):
    print("theirs")
%load_ext clineprof
@register_line_magic
def memit(line):
    print("theirs, too")
""", "%unload_ext clineprof", "%lprun 1", "%memit 1")
    assert [each.out for each in told[1:]] == ["", "theirs\n", "theirs, too\n"]


def test_help(shell):
    told = of_last(shell("%lprun?"))
    assert told.error is None


# ---- a terminal ----------------------------------------------------------------------------------


def test_text_in_a_terminal(tmp_path):
    """`ipython -c` in a terminal, which shows text, and no HTML."""
    (tmp_path / "start.ipy").write_text(F + "%load_ext clineprof\n%lprun -f f f(3)\n")
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "IPython", "--colors=NoColor", "--no-banner", "start.ipy"],
        cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal,
        env=clean_environment({**PACKAGE, "TERM": "dumb", "PAGER": "cat"}))  # fmt: skip
    os.close(terminal)
    text = b""
    while True:
        try:
            more = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        text += more
    assert process.wait(300) == 0
    os.close(main)
    shown = text.decode().replace("\r\n", "\n")
    assert hits_of_text(shown) == F3 and "<table" not in shown


def test_beside_ckernprof(tmp_path):
    """A program that is profiled itself, and has a shell: each has its own numbers."""
    (tmp_path / "cells.json").write_text(json.dumps(["from mine import f", "%lprun -f f f(3)"]))
    (tmp_path / "mine.py").write_text(F)
    (tmp_path / "prog.py").write_text("import mine\nmine.f(2)\n" + SHELL)
    command = [CKERNPROF, "--python", sys.executable, "-l", "-p", "mine", "prog.py"]
    ended = run(command, tmp_path, env=PACKAGE)
    assert ended.code == 0, ended.err
    told = Told(json.loads((tmp_path / "told.json").read_text())[-1])
    assert told.error is None and told.hits == F3
    [hits] = [hits for (_, _, name), hits in ended.profile().hits().items() if name == "f"]
    assert hits == {2: 2, 3: 7, 4: 5, 5: 2}


# ---- a notebook ----------------------------------------------------------------------------------

NOTEBOOK = [
    "%load_ext clineprof\n" + WAITS,
    F,
    "%lprun -f f f(3)",
    "%%clineprof\nx = f(3)\nx",
    "%%clineprof -f waits\ny = await waits(3)\ny",
    "%lprun -f waits await waits(3)",
    "%%lprun_all\nf(3)\nz = 1",
    "%mprun -f f f(3)",
    "%memit bytearray(10)",
    "%%clineprof\n1 / 0",
    "%%lprun -f f\nf(2)\nf(1)",
    "%lprun -x",
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The executed notebook: cells with outputs."""
    return executed(tmp_path_factory.mktemp("notebook"), NOTEBOOK)


def test_an_executed_notebook(notebook):
    told = [cell_told(cell) for cell in json.loads(notebook.read_text("utf-8"))["cells"]]
    assert told[2].hits == F3
    assert told[3].hits == {"<module>": {1: 1, 2: 1}}
    assert [data["text/plain"] for data in told[3].shown][1:] == ["3"]
    assert told[4].hits == {"waits": {4: 4, 5: 3, 6: 1}, "<module>": {1: 1, 2: 1}}
    assert [data["text/plain"] for data in told[4].shown][1:] == ["3"]
    assert told[5].hits == {"waits": {4: 4, 5: 3, 6: 1}}
    assert told[6].hits == {"<module>": {1: 1, 2: 1}}
    assert hits_of_html(told[7].html) == F3
    assert re.fullmatch(MEMIT, told[8].out)
    assert told[9].error == "ZeroDivisionError: division by zero"
    assert told[9].hits == {"<module>": {1: 1}}
    assert told[10].hits == {"f": {2: 2, 3: 5, 4: 3, 5: 2}}
    assert told[11].err.strip().endswith("UsageError: option -x not recognized ('--' ends the options)")
    assert "f  In[2]:1" in Shown(told[2].html, "summary").texts[0]


# ---- the document --------------------------------------------------------------------------------

DOCUMENT = (ROOT / "docs" / "notebook.md").read_text("utf-8")


def test_the_examples_of_its_document(shell, tmp_path):
    """Cells run in their order; what a cell is shown to print is in what it prints (tests/pages.py)."""
    blocks = re.findall(r"```(python|text)\n(.*?)```", DOCUMENT, re.S)
    cells = [text for kind, text in blocks if kind == "python"]
    told = shell(*cells)
    for (kind, text), (next_kind, shown) in zip(blocks, [*blocks[1:], ("", "")]):
        if kind != "python":
            continue
        each = told[cells.index(text)]
        assert each.error is None, (text, each.error)
        if next_kind == "text":
            printed = each.out + "".join(data["text/plain"] for data in each.shown)
            assert shape(shown) in shape(printed), text


def shape(text):
    text = re.sub(r"<ipython-input-[^>]*>", "<..>", text)
    return " ".join(filter(None, map(normal, text.splitlines())))


def test_every_option_is_in_its_document():
    code = "from clineprof._notebook.options import SPECS; import json; print(json.dumps(SPECS))"
    specs = json.loads(run_python(["-c", code], ROOT, env=PACKAGE).out)
    for magic, (short, long) in specs.items():
        [row] = [line for line in DOCUMENT.splitlines() if re.match(rf"\| `%+{magic}`[ ,]", line)]
        told = set(re.findall(r"`-(\w)", row)) | set(re.findall(r"`--([\w-]+)", row))
        assert told == set(short) - {":"} | {name.rstrip("?") for name in long}, magic

