# SPDX-License-Identifier: MIT
"""What a terminal gets, with and without colours: nothing wraps, times have the units that fit them, and what matters
stands first."""

import re

import pytest
from harness import MIB, ckernprof, run, viewer_command
from terminal import on_terminal
from test_view_options import function, write

pytestmark = pytest.mark.once

WIDTHS = [60, 80, 120, 200]
COLOURS = ["auto", "never"]  # where rich is not installed, both are without

LONG = "a_function_with_a_name_that_is_longer_than_any_column_may_be"
FETCH = f'''\
async def {LONG}(pages):
    result = await gather(*(load(page) for page in pages), return_exceptions=True, limit=100_000)
    return [text for text in result if text is not None and text != "" and not text.isspace()]
'''
WORK = "def work():\n\tx = 'tabs\\tand 日本語テキスト'; \ty = 2  # " + "comment " * 30 + "\n    return x\n"
MODULE = '"""\nA module."""\nimport numpy\n\ndef work():\n    pass\n'
SECOND = 1_000_000  # write() takes microseconds


def bare(data):
    """The text without its colours. No other escape sequence is in it."""
    text = re.sub(r"\x1b\[[\d;]*m", "", data.decode().replace("\r\n", "\n"))
    assert "\x1b" not in text and "\r" not in text
    return text


def cells(text):
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def screen(folder, *words, columns=120, **more):
    """The lines that a terminal shows, each of which it shows in one row."""
    data, code = on_terminal([*viewer_command(), *words], folder, columns, **more)
    text = bare(data)
    assert code == 0, text
    lines = text.split("\n")
    too_long = [line for line in lines if cells(line) > columns]
    assert not too_long
    return lines


@pytest.fixture
def folder(tmp_path):
    lines = {2: dict(hits=1000000, time=1.19 * SECOND, self=1.19 * SECOND, rss=64 * MIB, **{"await": 3 * 10**9}),
             3: dict(hits=1, time=34700, self=34700, rss=300 * MIB, grown=200 * MIB)}
    write(tmp_path / "p.lprof", [
        function("/home/somebody/project/src/package/module_with_a_long_name.py", 1, "<module>", MODULE,
                 {3: dict(hits=1, time=2 * SECOND, self=900000, rss=9 * MIB, grown=8 * MIB)}),
        function("/home/somebody/project/src/package/module_with_a_long_name.py", 100, LONG, FETCH,
                 {line + 99: measures for line, measures in lines.items()}),
        function("/w.py", 7, "work", WORK, {8: dict(hits=1, time=0.12, self=0.12, rss=MIB),
                                            9: dict(hits=1, time=0, self=0, rss=MIB)}),
    ], has_memory=True, reads=2, tracer="probe", events=3, overhead=2_000_000_000, others_grown=MIB,
        others_released=5)  # fmt: skip
    return tmp_path


REPORTS = {
    "usual": ["--no-by-file"], "files": [], "self": ["--self"], "lines": ["--lines", "9"], "no-memory": ["--no-memory"],
    "summarize": ["-m", "--top", "2"], "details": ["-v"], "processes": ["--processes"],
    "folded": ["--min-percent", "20"], "unit": ["-u", "1e-9"],
    "columns": ["--columns", "hits,time,self,await,max,mem,grown,released,largest,blocks,share,per-hit"],
    "mp": ["--mp"], "widths": ["--widths", "hits=100"],
}  # fmt: skip


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("color", COLOURS)
def test_nothing_wraps(color, columns, folder):
    for words in REPORTS.values():
        lines = screen(folder, "--color", color, *words, "p.lprof", columns=columns)
        assert len(lines) > 5
        if columns == 60 and words == ["--no-by-file"]:
            assert sum("…" in line for line in lines) >= 3
            assert any("Columns left out at a width of 60: Per Hit" in line for line in lines)


def test_the_width_of_the_environment_and_of_a_terminal_without_one(folder):
    data, _ = on_terminal([*viewer_command(), "p.lprof"], folder, 120, COLUMNS="70")
    assert 65 < max(map(cells, bare(data).split("\n"))) <= 70
    data, _ = on_terminal([*viewer_command(), "p.lprof"], folder, 0)
    assert 75 < max(map(cells, bare(data).split("\n"))) <= 80


@pytest.mark.parametrize("color", COLOURS)
def test_times_have_the_units_that_fit(color, folder):
    lines = screen(folder, "--color", color, "--no-by-file", "-m", "p.lprof", columns=200)
    text = "\n".join(lines)
    assert "Timer unit" not in text and "\nTotal time: 2.00 s\n" in text and "\nTotal time: 120 ns\n" in text
    rows = [next(line for line in lines if line.startswith(f"{number:6} ")) for number in (101, 102, 8, 9)]
    shown = [re.match(r".{16} (.{9}) ", row)[1] for row in rows]
    assert shown == ["  1.19 s ", " 34.7  ms", "120    ns", "  0      "]
    assert any(re.match(r"  1.22 s  - /home/\S+:100 - a_func", line) for line in lines)
    lines = screen(folder, "--color", color, "--no-by-file", "-u", "ms", "p.lprof", columns=200)
    assert lines[0] == "Timer unit: 0.001 s" and "       34.7 " in "\n".join(lines)


@pytest.mark.parametrize("color", COLOURS)
def test_what_matters_stands_first(color, folder):
    lines = screen(folder, "--color", color, "--no-by-file", "p.lprof", columns=200)
    assert lines[0] == "Hottest lines by self: 5 of 5"
    rows = [line for line in lines[4:9]]
    assert re.match(r"\S+_name.py:101  \S+ +1.19 s +56.0  result = await gather", rows[0])
    assert re.match(r"\S+_name.py:3 +<module> +900    ms +42.4  import numpy", rows[1])
    at = lines.index("", 5)
    assert lines[at + 1] == (f"Memory: at most 300.000 MiB; most was added at {PLACE}:102 in {LONG}: 200.000 MiB")
    assert lines[at + 2] == f"Suspended (await): 3.00 s in all; most at {PLACE}:101 in {LONG}: 3.00 s"
    assert lines[at + 4].startswith("Total time")
    told = "\n".join(screen(folder, "--color", color, "--no-memory", "--function", "work", "p.lprof"))
    assert "Memory:" not in told and "Waiting" not in told


PLACE = "/home/somebody/project/src/package/module_with_a_long_name.py"


def test_modules_stand_last(folder):
    """The import takes nearly half of the time, and does not make the module's body hot."""
    def names(text):
        return re.findall(r"^Function: (\S+) at", text, re.M)

    assert names("\n".join(screen(folder, "--no-by-file", "p.lprof"))) == [LONG, "work", "<module>"]
    assert names(run([*viewer_command(), "p.lprof"], folder).out) == ["<module>", LONG, "work"]
    assert names("\n".join(screen(folder, "--no-by-file", "-t", "p.lprof"))) == ["work", LONG, "<module>"]


def test_colours_are_the_default_on_a_terminal(folder, script, tmp_path):
    pytest.importorskip("rich")
    data, _ = on_terminal([*viewer_command(), "p.lprof"], folder)
    assert b"\x1b[" in data
    path = script("@profile\ndef f(n):\n    return n + 1\nf(1)\n")
    data, code = on_terminal([*ckernprof("-lv", "-o", "x.lprof"), path], tmp_path)
    assert code == 0 and b"\x1b[" in data and "Hottest lines by self: 1 of 1" in bare(data)
    data, code = on_terminal([*ckernprof("-lv", "--color", "never", "-o", "x.lprof"), path], tmp_path)
    assert code == 0 and b"\x1b[" not in data and "Hottest lines by self: 1 of 1" in bare(data)


def test_units_are_dim_and_heat_is_relative_to_the_program(folder):
    pytest.importorskip("rich")
    data, _ = on_terminal([*viewer_command(), "--no-by-file", "p.lprof"], folder, 200)
    text = data.decode()
    assert "\x1b[2ms\x1b[0m" in text and "\x1b[2mns\x1b[0m" in text
    cold = next(line for line in text.split("\n") if "     8" in line)
    assert "100.0" in cold and "38;5" not in cold.split("100.0")[0]  # all of its function, nothing of the program
