# SPDX-License-Identifier: MIT
"""Whole files in one listing, and lines that hold code and never ran. Those are compared with the lines that coverage
calls missing."""

import ast
import json
import re
import sys

import pytest
from harness import TRACER, ckernprof, run, run_ckernprof, viewer_command
from terminal import on_terminal
from test_view_options import function, write

PROBES = sys.version_info >= (3, 11) and TRACER in (None, "probe")
only_probes = pytest.mark.skipif(not PROBES, reason="only the probe tracer counts by statement")

SHAPES = '''\
"""A docstring."""
import sys

FLAG = False


class Shape:
    """A shape."""

    sides = 0

    def area(self):
        """Never called."""
        # a comment
        return 0

    @property
    def name(self):
        return "s"


def numbers(n):
    for i in range(n):
        if i > 100:
            yield -1
        else:
            yield i


async def never(
    x=1,
):
    async with x:
        await x
    return [
        x,
    ]


def total(x,
          y=2):
    global FLAG
    if x:
        FLAG = True
        return sum(
            v
            for v in numbers(3)
        )
    else:
        z = 1
        return [
            x,
            z,
        ]


def caught():
    try:
        return total(1)
    except ValueError:
        print("no")
        raise
    finally:
        pass


def left():
    for i in range(3):
        if i == 1:
            continue
        elif i == 5:
            break
    else:
        i = 7
    while i > 6:
        i -= 1
        if i < 0:
            return None
    with open(__file__) as file, open(__file__) as other:
        assert file and other, "never"
    match i:
        case 7:
            return 1
        case 6 if FLAG:
            return 2
        case _:
            return 3


if __name__ == "__main__":
    caught()
    left()
    print(Shape().name, sorted([3, 1], key=lambda v: -v))
else:
    sys.exit(1)
'''


def first_lines(text):
    """{line: first line of the innermost statement that holds it}. Coverage speaks of statements."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            first = getattr(node, "lineno", None) or node.pattern.lineno
            body = getattr(node, "body", None)
            last = node.end_lineno if not body else body[0].lineno - 1 if hasattr(node, "end_lineno") else first
            for decorator in getattr(node, "decorator_list", []):
                first = min(first, decorator.lineno)
            for line in range(first, last + 1):
                found[line] = max(first, found.get(line, 0))
    return found


def missed(profile):
    return {line for function in profile["functions"] for line in function.get("missed", ())} - {
        row["line"] for function in profile["functions"] for row in function["lines"]}


def as_json(folder, name, *words):
    ended = run([*viewer_command(), "--format", "json", *words, name], folder)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


@pytest.mark.parametrize("memory", [[], ["--no-memory"]], ids=["memory", "time"])
def test_missed_lines_are_those_of_coverage(memory, tmp_path):
    coverage = pytest.importorskip("coverage")
    (tmp_path / "shapes.py").write_text(SHAPES)
    ended = run_ckernprof(["-l", *memory, "-p", "shapes.py", "-o", "x.lprof", "shapes.py"], tmp_path)
    assert ended.code == 0, ended.err
    ours = missed(as_json(tmp_path, "x.lprof"))
    measured = coverage.Coverage(data_file=None, include=[str(tmp_path / "shapes.py")], config_file=False)
    with measured.collect():
        exec(compile(SHAPES, str(tmp_path / "shapes.py"), "exec"),
             {"__name__": "__main__", "__file__": str(tmp_path / "shapes.py")})  # fmt: skip
    theirs = set(measured.analysis2(str(tmp_path / "shapes.py"))[3])
    first = first_lines(SHAPES)
    assert len(theirs) > 15 and {first[line] for line in ours} == theirs


def test_missed_lines_add_up(tmp_path):
    """A line is missed in a sum if it ran in none of the runs."""
    (tmp_path / "it.py").write_text("import sys\n@profile\ndef f(x):\n    if x == 'a':\n        return 1\n"
                                    "    elif x == 'b':\n        return 2\n    return 3\nf(sys.argv[1])\n")
    for name in "ab":
        assert run_ckernprof(["-l", "-o", f"{name}.lprof", "it.py", name], tmp_path).code == 0
    assert missed(as_json(tmp_path, "a.lprof")) == {6, 7, 8}
    assert missed(as_json(tmp_path, "b.lprof")) == {5, 8}
    assert missed(as_json(tmp_path, "a.lprof", "b.lprof")) == {8}
    assert run([*viewer_command(), "merge", "-o", "ab.lprof", "a.lprof", "b.lprof"], tmp_path).code == 0
    assert missed(as_json(tmp_path, "ab.lprof")) == {8}


def test_a_killed_run_knows_them(tmp_path):
    (tmp_path / "it.py").write_text("import os\n@profile\ndef f(x):\n    if x:\n        return 1\n    os.kill(os.getpid(), 9)\n"
                                    "f(0)\n")
    assert run_ckernprof(["-l", "it.py"], tmp_path).code == -9
    assert missed(as_json(tmp_path, "it.py.lprof.live")) == {5}


STATEMENTS = """@profile
def f(x):
    if x:
        return [
            x,
            1,
        ]
    return (
        x,
        2,
    )
f(0)
"""


@pytest.mark.once
def test_by_statement_they_are_statements(tmp_path):
    (tmp_path / "it.py").write_text(STATEMENTS)
    assert run_ckernprof(["-l", "-o", "lines.lprof", "it.py"], tmp_path).code == 0
    assert missed(as_json(tmp_path, "lines.lprof")) == {4, 5, 6}
    assert missed(as_json(tmp_path, "lines.lprof", "--by-statement")) == {4}


@only_probes
@pytest.mark.once
def test_statements_that_are_counted_are_missed_as_such(tmp_path):
    (tmp_path / "it.py").write_text(STATEMENTS)
    assert run_ckernprof(["-l", "--by-statement", "-o", "statements.lprof", "it.py"], tmp_path).code == 0
    assert missed(as_json(tmp_path, "statements.lprof")) == {4}


# ---- listings ----


def rows(text):
    """{line: (hits, the mark, the text)} of a table with the columns Hits, Time, Self, % Program."""
    found = re.findall(r"^ {1,5}(\d+) (.{9}) .{12} .{12} .{9} ([ +>])(.*)$", text, re.M)
    return {int(line): (hits.strip(), mark, text) for line, hits, mark, text in found}


@pytest.fixture
def shapes(tmp_path):
    (tmp_path / "shapes.py").write_text(SHAPES)
    ended = run_ckernprof(["-l", "--no-memory", "-p", "shapes.py", "-o", "x.lprof", "shapes.py"], tmp_path)
    assert ended.code == 0, ended.err
    return tmp_path


@pytest.mark.once
def test_a_file_is_shown_once(shapes):
    out = run([*viewer_command(), "--by-file", "x.lprof"], shapes).out
    assert re.findall(r"^(?:File|Function): .*", out, re.M) == ["File: shapes.py"]
    assert re.search(r"^Self time: \S+ s in 11 functions$", out, re.M) or re.search(
        r"^Self time: \S+ s in 12 functions$", out, re.M)  # from 3.12 on the generator of sum() counts alone, too
    found = rows(out)
    assert [found[line][2] for line in range(1, 96)] == SHAPES.splitlines()
    assert found[15][0] == "0" and found[3][0] == "" and found[14][0] == "" and found[23][0] == "4"
    assert found[93][:2] == ("3", "+")  # once, and the lambda twice
    assert "+ the sum of several functions that share the line" in out


@pytest.mark.once
def test_the_usual_report_stays_line_profilers(shapes):
    """In a pipe there is no 0 and no whole file, unless somebody asks for files."""
    out = run([*viewer_command(), "x.lprof"], shapes).out
    assert len(re.findall(r"^Function: ", out, re.M)) >= 11
    assert re.search(r"^    15 {51}    return 0$|^    15 +return 0$", out, re.M) and not re.search(r"^ +15 +0 ", out, re.M)


@pytest.mark.once
@pytest.mark.parametrize("color", ["auto", "never"])
def test_a_terminal_gets_files_where_modules_are_selected(color, shapes):
    def told(*words):
        data, code = on_terminal([*viewer_command(), "--color", color, *words, "x.lprof"], shapes, 120)
        assert code == 0
        text = re.sub(r"\x1b\[[\d;]*m", "", data.decode())
        return len(re.findall(r"^File: ", text, re.M)), len(re.findall(r"^Function: ", text, re.M)), text

    files, functions, text = told()
    assert re.search(r"^Self time: [\d.]+ (µs|ms) in 1[12] functions\r$", text, re.M)
    assert (files, functions) == (1, 0) and re.search(r"^ +15 +0 .* return 0\r$", text, re.M)
    files, functions, text = told("--no-by-file")
    assert functions >= 11 and re.search(r"^ +15 +0 .* return 0\r$", text, re.M)
    assert told("--function", "left")[:2] == (1, 1)
    assert told("--function", "left", "--by-file")[:2] == (1, 0)
    assert told("--columns", "hits")[1] >= 11
    run_ckernprof(["-l", "-p", "shapes.py:left", "-o", "x.lprof", "shapes.py"], shapes)
    assert told()[:2] == (1, 1)


@pytest.mark.once
def test_a_run_with_a_module_selected_shows_files(shapes):
    data, code = on_terminal([*ckernprof("-lv", "--color", "never", "-p", "shapes.py", "-o", "y.lprof"), "shapes.py"],
                             shapes, 100)
    text = data.decode()
    assert code == 0 and text.count("\r\nFile: ") == 1 and "Function: " not in text.replace("Function  ", "")


@pytest.mark.once
def test_the_text_between_functions_is_kept_on_request(tmp_path):
    (tmp_path / "it.py").write_text("SECRET = 'between'\n\n@profile\ndef f():\n    return 1\n\nprint(SECRET)\nf()\n")
    for whose in "functions", "files":
        ended = run_ckernprof(["-l", "--no-memory", "--source", whose, "-o", f"{whose}.lprof", "it.py"], tmp_path)
        assert ended.code == 0, ended.err
    assert sorted(rows(run([*viewer_command(), "--by-file", "functions.lprof"], tmp_path).out)) == [3, 4, 5]
    found = rows(run([*viewer_command(), "--by-file", "files.lprof"], tmp_path).out)
    assert sorted(found) == list(range(1, 9)) and found[1] == ("", " ", "SECRET = 'between'")


@pytest.mark.once
@pytest.mark.parametrize("words, said", [
    (["--by-file=often", "x.lprof"], "yes or no"), (["--by-file", "1", "x.lprof"], "1"),
])  # fmt: skip
def test_wrong_words_are_told_in_one_line(words, said, tmp_path):
    write(tmp_path / "x.lprof", [function("/a.py", 1, "f", "def f():\n    pass\n", {2: dict(hits=1)})])
    ended = run([*viewer_command(), *words], tmp_path)
    assert ended.code in (1, 2) and said in ended.err and ended.err.count("\n") == 1
