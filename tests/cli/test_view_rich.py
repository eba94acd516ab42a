# SPDX-License-Identifier: MIT
"""-r in a terminal: what the program writes goes through a terminal emulator that is not ours (pyte), and
the screen is looked at."""

import re
import sys

import pytest
from harness import MIB, ckernprof, run, run_ckernprof, viewer_command
from terminal import on_terminal
from test_view_options import LINES, LOAD, function, write

pytestmark = pytest.mark.once
pytest.importorskip("rich")
pyte = pytest.importorskip("pyte")


class Screen:
    """What is seen."""

    def __init__(self, words, folder, columns=120, rows=60, **environment):
        data, code = on_terminal(words, folder, columns, rows, **environment)
        self.raw = data.decode()
        self.screen = pyte.Screen(columns, rows)
        pyte.Stream(self.screen).feed(self.raw)
        self.rows = [row.rstrip() for row in self.screen.display]
        assert code == 0, self.raw

    def row(self, text):
        """The last row with this text: in a table, not in the list of the hottest lines above the tables."""
        return [at for at, row in enumerate(self.rows) if text in row][-1]

    def look(self, row_text, text):
        """(colour, bold?) of the first character of this text in the row with that text."""
        at = self.row(row_text)
        cell = self.screen.buffer[at][self.rows[at].index(text)]
        return cell.fg, cell.bold

    def numbers(self):
        """The line numbers in the order of the rows: each row of a table starts with one."""
        return [int(row.split()[0]) for row in self.rows if re.match(r" *\d+( |$)", row)]


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "p.lprof", [function("/p/app/one.py", 10, "load", LOAD, LINES)],
          tracer="probe", events=3)
    memory = {line: {**measures, "rss": 64 * MIB, "grown": 3 * MIB if line == 20 else 0}
              for line, measures in LINES.items()}
    write(tmp_path / "m.lprof", [function("/p/app/one.py", 10, "load", LOAD, memory)],
          has_memory=True, reads=2, tracer="probe")
    return tmp_path


def view(folder, *words, **more):
    return Screen([*viewer_command(), "-u", "1e-6", *words], folder, **more)


def plain(folder, *words):
    return run([*viewer_command(), *words], folder).out


def test_the_screen_shows_the_table(folder):
    screen = view(folder, "p.lprof")
    expected = plain(folder, "p.lprof").splitlines()
    for row in expected:
        if row[:6].strip().isdigit():  # a bar stands behind the percent, the rest is as it was
            [shown] = [shown for shown in screen.rows if shown[:6] == row[:6]]
            assert shown[:47].ljust(47) == row[:47].ljust(47)
            assert shown[53:] == row[47:].rstrip()
    bars = [next(row for row in screen.rows if row.startswith(f"    {line} "))[47:53].strip()
            for line in (14, 15, 13, 19, 12)]
    assert bars == ["███", "▊", "▌", "▎", ""]  # 60, 15, 10, 4 and 1 percent of five cells


def test_heat_and_syntax(folder):
    screen = view(folder, "m.lprof")
    hot, cold = screen.look("rows.append(", "600.0"), screen.look("rows = []", "10.0")
    assert hot[0] != cold[0] and hot[1] and not cold[1]
    # memory has its own heat: the line that grew is cold by time
    assert screen.look("return table", "3.000 MiB")[0] not in ("default", hot[0])
    assert screen.look("table = dict(rows)", "MiB")[0] == "default"
    assert screen.rows[screen.row("table = dict(rows)")].count("MiB") == 1  # no change is a blank
    assert screen.look("for line in", "for line")[0] == screen.look("return table", "return")[0]
    assert screen.look("return table", "return")[0] != screen.look("return table", "table")[0]
    assert "\x1b[2m# done\x1b" in screen.raw  # dim
    assert screen.look("Function:", "load") == ("cyan", True)


def test_times_that_are_estimates_are_italic(tmp_path):
    lines = {2: dict(hits=1, time=100, self=100, raw_self=110_000),
             3: dict(hits=1, time=20, self=20, raw_self=110_000)}
    write(tmp_path / "s.lprof", [function("/p/s.py", 1, "f", "def f():\n    x = 1\n    y = 2\n", lines)])
    screen = view(tmp_path, "s.lprof")

    def italic(row_text, text):
        at = screen.row(row_text)
        return screen.screen.buffer[at][screen.rows[at].index(text)].italics

    assert not italic("x = 1", "100.0") and italic("y = 2", "20.0")
    assert "italics are estimates" in screen.rows[screen.row("italics")]


STRINGS = '''\
def f():
    text = """
    return 1  # no comment
    """
    return 1
'''


def test_a_string_over_several_lines_is_one(tmp_path):
    write(tmp_path / "s.lprof", [function("/p/s.py", 1, "f", STRINGS,
                                          {2: dict(hits=1, time=98), 3: dict(hits=1, time=1),
                                           4: dict(hits=1, time=1), 5: dict(hits=1, time=90)})])
    screen = view(tmp_path, "s.lprof")
    within, behind = screen.look("# no comment", "return"), screen.look("  5 ", "return")
    assert within != behind and screen.look("# no comment", "# no") == within
    # and it is, where the rows in which it stands are folded
    folded = view(tmp_path, "--min-percent", "20", "s.lprof")
    assert folded.rows[folded.row("...")].strip() == "..."
    assert folded.look("  5 ", "return") == behind


WIDE = '''\
def 函数():
    return "日本語テキスト日本語テキスト日本語テキスト日本語テキスト"  # 日本語
    x = "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301 combining accents"
    y = "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"
\tz = "tabs\tbetween\twords and then more than fits on the line"
'''


@pytest.mark.parametrize("columns", [40, 61, 62, 63, 64, 80, 200])
def test_rows_never_wrap(columns, tmp_path):
    lines = {line: dict(hits=line, time=line * 1000, rss=64 * MIB) for line in range(2, 6)}
    write(tmp_path / "w.lprof", [function("/p/w.py", 1, "函数", WIDE, lines)], has_memory=True)
    for words in (), ("--no-memory",), ("--self",):
        screen = view(tmp_path, *words, "w.lprof", columns=columns)
        assert screen.numbers() == [1, 2, 3, 4, 5], screen.rows
        if columns < 80:
            assert sum("…" in row for row in screen.rows) >= 3
        if columns == 200:
            assert not any("…" in row for row in screen.rows)
            assert any(row.endswith('combining accents"') for row in screen.rows)


def test_a_narrow_terminal_does_without_columns_and_says_so(folder):
    wide, narrow = view(folder, "m.lprof"), view(folder, "m.lprof", columns=60)
    assert not any("Left out" in row for row in wide.rows)
    assert "Columns left out at a width of 60: Per Hit, Mem usage, Function." in " ".join(
        " ".join(narrow.rows).split())
    assert narrow.rows[narrow.row("Line #")].split() == [
        "Line", "#", "Hits", "Time", "%", "Time", "Increment", "Line", "Contents"]
    row = narrow.rows[narrow.row("rows.append(")]
    assert row.split()[:4] == ["14", "100", "600.0", "60.0"]  # numbers are whole
    tight = view(folder, "m.lprof", columns=97)  # together, but all there
    assert tight.rows[tight.row("Line #")].split() == (
        "Line # Hits Time Per Hit % Time Mem usage Increment Line Contents".split())
    assert "for line in open(path):" in tight.rows[tight.row("for line")]


def test_a_measure_that_somebody_asked_for_can_be_left_out_last(folder):
    narrow = view(folder, "--columns", "hits,time,blocks,raw-self", "m.lprof", columns=30)
    text = "".join("".join(narrow.rows).split())  # the screen wraps the note
    assert "Columnsleftoutatawidthof30:Function,Hits,Time,Rawself,Blocks." in text


def test_lines_table(folder):
    screen = view(folder, "--lines", "2", "p.lprof", columns=100)
    assert "Hottest lines by self: 2 of 6" in screen.rows
    at = screen.row("rows.append(")
    assert screen.rows[at].startswith("/p/app/one.py:14  load") and "line.split" in screen.rows[at - 1]
    narrow = view(folder, "--lines", "2", "p.lprof", columns=50)
    row = narrow.rows[narrow.row("rows.app")]
    assert row.split()[0] == "/p/app/one.py:14" and "21.3" in row and len(row) <= 50


def test_programs_report(script, tmp_path):
    path = script("@profile\ndef f(n):\n    return n + 1\nf(1)\n")
    screen = Screen([*ckernprof("-lvr", "-o", "p.lprof"), path], tmp_path)
    assert screen.look("return n + 1", "return")[0] != "default"


# ---- where there are no colours ----


def test_no_color(folder):
    """Bold and dim stay, as rich has it."""
    screen = view(folder, "m.lprof", NO_COLOR="1")
    colours = {cell.fg for row in screen.screen.buffer.values() for cell in row.values()}
    assert colours == {"default"}
    assert screen.look("Function:", "load") == ("default", True)


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_dumb_terminals_get_no_colours(term, folder):
    data, code = on_terminal([*viewer_command(), "-r", "m.lprof"], folder, TERM=term)
    never, _ = on_terminal([*viewer_command(), "--color", "never", "m.lprof"], folder)
    assert (data.decode(), code) == (never.decode(), 0) and b"\x1b" not in data and b"\nLine #" in data


def test_pipes_get_the_plain_table_unless_forced(folder):
    env = {"VIRTUAL_ENV": sys.prefix, "TERM": "xterm-256color", "NO_COLOR": "", "FORCE_COLOR": ""}
    for words in ("m.lprof",), ("--lines", "3", "m.lprof"), ("--min-percent", "20", "m.lprof"):
        piped = run([*viewer_command(), "-r", *words], folder, env=env)
        assert (piped.out, piped.err) == (plain(folder, *words), "")
    forced = run([*viewer_command(), "-r", "m.lprof"], folder, env={**env, "FORCE_COLOR": "1"})
    assert "\x1b[" in forced.out and "…" not in forced.out  # a pipe is as wide as the text
    cut = run([*viewer_command(), "-r", "m.lprof"], folder,
              env={**env, "FORCE_COLOR": "1", "COLUMNS": "60"})
    bare = re.sub(r"\x1b\[[\d;]*m", "", cut.out)
    assert all(len(row) <= 60 for row in bare.splitlines() if not row.startswith(("Prof", "Columns")))


def test_files_get_no_colours(folder):
    screen = view(folder, "-o", "report.txt", "m.lprof")
    assert screen.rows[0] == ""
    assert (folder / "report.txt").read_text("utf-8") == plain(folder, "m.lprof")


def test_without_rich(folder, tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('broken')\n")
    without = dict(PYTHONPATH=str(tmp_path))
    never, _ = on_terminal([*viewer_command(), "--color", "never", "m.lprof"], folder)
    silent = on_terminal([*viewer_command(), "m.lprof"], folder, **without)
    assert silent == (never, 0) and b"\x1b" not in never
    for words in ["-r"], ["--color", "always"]:
        data, code = on_terminal([*viewer_command(), *words, "m.lprof"], folder, **without)
        first, rest = data.decode().split("\r\n", 1)
        assert first == ("clineprof: no colours: the package rich is not installed or does not work; "
                         "pip install rich")
        assert (rest, code) == (never.decode(), 0)


def test_color(folder):
    env = {"VIRTUAL_ENV": sys.prefix, "TERM": "dumb", "NO_COLOR": "1", "FORCE_COLOR": ""}
    piped = {when: run([*viewer_command(), "-u", "1e-6", "--color", when, "m.lprof"], folder, env=env).out
             for when in ("auto", "never", "always")}
    assert piped["auto"] == piped["never"] == plain(folder, "m.lprof")
    assert "\x1b[36m" in piped["always"].replace("1;36m", "36m")  # in spite of NO_COLOR and TERM
    assert "colour" not in view(folder, "m.lprof").raw
    assert "\x1b" not in view(folder, "--color", "never", "m.lprof", FORCE_COLOR="1").raw
    ended = run([*viewer_command(), "--color", "yes", "m.lprof"], folder)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == ("clineprof: option '--color' needs auto, always or never, not 'yes'; see "
                         "clineprof --help\n")


def test_the_programs_controls_stay_escaped(tmp_path):
    source = "def f():\n    '\x1b[31m \x02\x1f\x03 \x9b'\n"
    write(tmp_path / "c.lprof", [function("/p/\x01\x1b]0;x.py", 1, "\x03n", source,
                                          {2: dict(hits=1, time=1)})])
    screen = view(tmp_path, "c.lprof")
    assert "'\\x1b[31m \\x02\\x1f\\x03 \\xc2\\x9b'" in screen.rows[screen.row("x1b[31m")]
    assert r"File: /p/\x01\x1b]0;x.py" in screen.rows and r"Function: \x03n at line 1" in screen.rows


def test_many_lines_are_quick_and_what_that_cost_is_told(tmp_path):
    """Counted, not timed: syntax goes to the hottest functions that there is time for."""
    long = "def long():\n" + "    x = 1\n" * 12_000
    write(tmp_path / "l.lprof", [
        function("/p/l.py", 1, "long", long, {2: dict(hits=1, time=900)}),
        function("/p/l.py", 20_000, "short", "def short():\n    return 1\n",
                 {20_001: dict(hits=1, time=1)}),
    ])
    env = {"VIRTUAL_ENV": sys.prefix, "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    out = run([*viewer_command(), "-r", "l.lprof"], tmp_path, env=env).out
    assert out.count("\n") > 12_000 and "    x = 1\n" in out
    assert "    return 1\n" not in out and "1 of 2 functions" in out.splitlines()[-1]


def test_empty_and_odd_profiles(tmp_path):
    write(tmp_path / "e.lprof", [])
    assert view(tmp_path, "e.lprof").rows[0] == "Timer unit: 1e-06 s"
    write(tmp_path / "n.lprof", [function("/p/n.py", 5, "gone", "", {7: dict(hits=1, time=1)})])
    screen = view(tmp_path, "n.lprof", "-m")
    assert screen.numbers() == [5, 6, 7] and "  0.00 seconds - /p/n.py:5 - gone" in screen.rows
