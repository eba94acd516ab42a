# SPDX-License-Identifier: MIT
"""Every screen of clineprof in a terminal emulator that is not ours (pyte), at several widths, with and without rich,
for a profile with whatever is hard to lay out: nothing wraps, nothing is cut without an ellipsis, and columns stand
below their titles."""

import os
import re
import signal
import unicodedata

import known_profiles as profiles
import pytest
from harness import MIB, ckernprof, run_ckernprof, viewer_command
from terminal import Top, on_terminal

pytestmark = pytest.mark.once
pyte = pytest.importorskip("pyte")

WIDTHS = [60, 80, 120, 200]
SECOND = 10**9
HOURS = 40 * 3600 * SECOND

LONG_NAME = "Outer.<locals>.a_method_with_a_name_that_nobody_wants_to_type.<locals>.<genexpr>"
LONG_FILE = "/home/somebody/a/project/with/many/folders/" + "deeply/" * 12 + "nested/module.py"
LONG = f"def long():\n    return {' + '.join(map(str, range(100)))}\n"
WIDE = """\
def 函数(x):
    名前 = "日本語テキスト" * 3  # 日本語のコメント、とても長い説明がここに続きます、本当に長い、もっと長い、そしてさらに長く続いていきます、まだまだ
    emoji = "😀🛒" * 2  # 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉
    accents = "e\u0301a\u0300o\u0302"
\ttabs\t=\t"between words"\t# and more\tthan fits\tinto\tone\trow\tof\ta\tterminal\t:\tx\tx\tx\tx\tx\tx\tx\tx\tx\tx
    return x  # \x1b[31m \x9b2J \x07 no colour of the program
"""
EVIL_NAME = "\x1b]0;title\x07evil"


def function(file, line, name, source, rows, **more):
    """rows: {line: {measure: value}}; times in nanoseconds."""
    made = profiles.function(file, line, name, [{"line": at, **measures} for at, measures in rows.items()], **more)
    return made, profiles.text(made, source)


def functions(factor):
    big = dict(hits=10_000_000, time=HOURS * factor, self=HOURS * factor, max=3 * SECOND, rss=900 * 1024 * MIB,
               grown=800 * 1024 * MIB * factor, self_increment=800 * 1024 * MIB * factor)
    small = dict(hits=1, time=120, self=120, rss=64 * MIB)
    leak = dict(line=3, bytes=3 << 30, bytes_per_call=1536.0, bytes_per_second=9e6, confidence=0.9996,
                held_by="module_with_a_long_name.CACHE_OF_EVERYTHING: dict, 1234567 items")
    return [
        function(LONG_FILE, 1, "long", LONG, {2: big}),
        function("wide.py", 10, "函数", WIDE, {11: dict(small, hits=12345, time=34_700_000 * factor, self=34_700_000),
                                             12: dict(small, **{"await": 5 * SECOND}), 13: small, 14: small,
                                             15: dict(small, time=0, self=0)}),
        function("wide.py", 30, LONG_NAME, "(x for x in\n range(3))\n",
                 {30: dict(small, time=SECOND * factor), 31: small}),
        function("evil.py", 2, EVIL_NAME, f"def evil():\n    keep(1)\n", {3: small}, leaks=[leak]),
    ]


CALLS = {"parent": [0, 1, 2, 2, 1, 1], "line": [0, 2, 11, 12, 2, 2], "function": [0, 1, 2, 3, 2, 0],
         "through": [0, 0, 0, 1, 0, 1], "calls": [1, 10_000_000, 5, 3, 1, 1],
         "time": [HOURS, 34_700_000, 120, 1_190_000_000, 0, 5],
         "increment": [MIB << 10, 0, -5 * MIB, 4096, 0, 0]}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screens")
    processes = [dict(pid=4194304 + at, parent=4194303 * (at != 0), start=1.0 + at, wall=HOURS, self=HOURS,
                      events=10**10, name=name) for at, name in enumerate(["main", "ForkProcess-1 工人 " + "x" * 200])]
    for name, factor in ("old.lprof", 1), ("new.lprof", 2):
        made = functions(factor)
        profiles.write(folder / name, [one for one, _ in made], [text for _, text in made],
                       {"tracer": "probe", "events": 10**10, "overhead": 9 * SECOND, "reads": 7, "leak_epoch": "calls",
                        "leak_epochs": 10_000, "wall": HOURS}, processes=processes, calls=CALLS)  # fmt: skip
    (folder / "norich").mkdir()
    (folder / "norich" / "rich.py").write_text("raise ImportError\n")
    return folder


SCREENS = {
    "report": ["--no-by-file"], "files": ["--by-file"], "self": ["--no-by-file", "--self"], "lines": ["--lines", "9"],
    "plain unit": ["--lines", "9", "-u", "ns"], "columns": ["--columns", "hits,time,self,await,max,mem,grown,largest"],
    "summary": ["-m"], "processes": ["--processes", "--top", "1"], "mp": ["--mp"],
    "callers": ["callers", "*"], "diff": ["diff", "--renamed"],
    "diff of all": ["diff", "--measure", "time,self,max,increment"],
}  # fmt: skip
FILES = {"diff": ["old.lprof", "new.lprof"], "diff of all": ["old.lprof", "new.lprof"]}
RICH = {"rich": {}, "no rich": {"PYTHONPATH": "norich"}}

# Titles of columns that are aligned to the right.
TITLES = re.compile("Line #|Hits|% Time|Time|Per Hit|% Self|Self incr.|Self/Hit|Self|% Program|Mem usage|Increment|Await"
                    "|Max|Grown|Largest|Occurrences|Calls(?! to)|Leaked|Per call|Per second|Confidence|Process|Parent"
                    "|Wall|Lines|Events|GC runs|GC")
CHANGES = re.compile("(Old|New) #|(Hits|Time|Self|Max|Increment) (before|after|change|%)")


class Seen:
    """What a terminal shows, as a list of rows, each a list of one text per column."""

    def __init__(self, data, columns, rows):
        self.screen = pyte.Screen(columns, rows)
        pyte.Stream(self.screen).feed(data)
        self.cells = [[self.screen.buffer[y][x].data for x in range(columns)] for y in range(rows)]
        self.rows = ["".join(row).rstrip() for row in self.cells]

    def tables(self):
        """(titles, rows below them) of each table."""
        for at, row in enumerate(self.rows):
            if re.fullmatch("[─=-]{9,}", row):
                end = next(y for y in range(at, len(self.rows)) if self.rows[y][:2] in ("", "* "))
                yield at - 1, [y for y in range(at + 1, end)]


def on_screen(folder, words, columns, command=None, **environment):
    rows = 800
    data, code = on_terminal([*(command or viewer_command()), *words], folder, columns, rows, **environment)
    text = data.decode().replace("\r\n", "\n")
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert code == 0 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", plain), plain
    seen = Seen(data.decode(), columns, rows)
    lines = [unicodedata.normalize("NFC", line).rstrip() for line in plain.split("\n")]  # as pyte does
    assert seen.rows[: len(lines)] == lines  # each line is one row: nothing wraps
    return seen, "\x1b[" in text


def check_columns(seen):
    """The cells of a column end where its title ends: at most three blanks before, for times keep their points in one
    place. The columns to the right begin behind a blank."""
    checked = 0
    for titles, rows in seen.tables():
        line = "".join(seen.cells[titles])
        start = 0
        for found in (CHANGES if line.lstrip().startswith("Old #") else TITLES).finditer(line):
            for y in rows:
                if seen.rows[y].strip() == "..." or seen.rows[y].startswith("  held by"):
                    continue
                row = seen.cells[y]
                assert row[found.end()] in " +>~-█▉▊▋▌▍▎▏", (found[0], seen.rows[y])
                cell = "".join(row[start : found.end()])
                assert not cell.strip() or re.search(r"(\S {0,2}|0 {6})$", cell), (found[0], cell)
                assert not re.search(r"\d +s$", cell), (found[0], cell)  # "s" stands below the first letter of "ms"
                checked += 1
            start = found.end()
    assert checked


def check_sources(seen):
    """A source line is whole, or ends in an ellipsis."""
    whole = [line.expandtabs().rstrip() for text in (LONG, WIDE) for line in text.split("\n")]
    for raw, escaped in ("\x1b", r"\x1b"), ("\x9b", r"\xc2\x9b"), ("\x07", r"\x07"):
        whole = [unicodedata.normalize("NFC", line).replace(raw, escaped).strip() for line in whole]
    for row in seen.rows:
        for line in whole:
            if line and line[:8] in row:
                assert row.endswith(("…", line)), row


@pytest.mark.parametrize("rich", RICH)
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_screens(name, columns, rich, folder):
    if rich == "rich":
        pytest.importorskip("rich")
    words = [*SCREENS[name], *FILES.get(name, ["old.lprof"])]
    seen, coloured = on_screen(folder, words, columns, **RICH[rich])
    assert coloured == (rich == "rich")
    check_columns(seen)
    check_sources(seen)


RUN = """\
import threading

def work_with_a_name_that_is_long(count, another_argument_with_a_name_that_is_long=None):
    return [number for number in range(count) if number not in {1, 2, 3} and another_argument_with_a_name_that_is_long]

thread = threading.Thread(target=work_with_a_name_that_is_long, args=(2000,), name="reader of everything")
thread.start()
thread.join()
work_with_a_name_that_is_long(20)
"""


@pytest.mark.parametrize("rich", RICH)
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("words", [["-p", "it.py"], ["-p", "it.py", "--threads", "--no-by-file"]], ids=["files", "threads"])
def test_what_a_run_prints(words, columns, rich, tmp_path):
    if rich == "rich":
        pytest.importorskip("rich")
    (tmp_path / "it.py").write_text(RUN)
    (tmp_path / "norich").mkdir()
    (tmp_path / "norich" / "rich.py").write_text("raise ImportError")
    seen, coloured = on_screen(tmp_path, ["-lv", *words, "it.py"], columns, ckernprof("-l"), **RICH[rich])
    assert coloured == (rich == "rich")
    check_columns(seen)
    whole = {line.strip() for line in RUN.split("\n")}
    for row in seen.rows:
        at = row.find("return [")
        assert at < 0 or row.endswith("…") or row[at:] in whole, row


WAITS = """\
import time
@profile
def waits_with_a_name_that_is_long(seconds, another_argument_with_a_name_that_is_long=None):
    return time.sleep(seconds if another_argument_with_a_name_that_is_long is None else len("no argument was given"))
waits_with_a_name_that_is_long(%s)
"""


@pytest.mark.parametrize("columns", WIDTHS)
def test_two_programs_compared(columns, tmp_path):
    """How long they sleep hardly depends on other processes, so 3 runs of each tell that they differ."""
    for name, seconds in ("old.py", 0.001), ("new.py", 0.3):
        (tmp_path / name).write_text(WAITS % seconds)
    seen, _ = on_screen(tmp_path, ["ab", "-n", "3", "--confidence", "80", "old.py", "new.py"], columns, streams=("stdin", "stdout"))
    check_columns(seen)


def text_of(folder, *words, columns):
    return on_screen(folder, words, columns, PYTHONPATH="norich")[0].rows


def test_what_matters_most_is_left_at_60(folder):
    """Of what would be left out, what a table is there for stays."""
    lines = text_of(folder, "--lines", "2", "old.lprof", columns=60)
    titles = next(line for line in lines if line.startswith("Line "))
    assert titles.split() == "Line Self % Program Line Contents".split()  # sorted by self
    callers = text_of(folder, "callers", "函数", "old.lprof", columns=60)
    [titles] = [line for line in callers if "Called from" in line]
    assert titles.split()[:2] == ["Calls", "Time"]
    row = next(line for line in callers if "10000000" in line)
    assert " long at /" in row and "…" in row and "module.py:2 " in row and "34.7" in row
    assert "* through code that is not selected" in callers
    changes = text_of(folder, "diff", "old.lprof", "new.lprof", columns=60)
    assert any("Time change" in line and "Increment change" in line for line in changes)
    ended = [line for line in changes if line]
    assert "".join(ended[-2:]).startswith("long is 2.0 times slower,")  # behind the note on columns


def test_a_name_that_is_cut_keeps_its_line(folder):
    rows = text_of(folder, "--no-by-file", "old.lprof", columns=60)
    assert any(re.fullmatch(r"Function: Outer\S+… at line 30", row) for row in rows)
    assert any(re.fullmatch(r"File: …\S+/nested/module\.py", row) for row in rows)


def test_leaks_are_a_table(folder):
    rows = text_of(folder, "--lines", "1", "old.lprof", columns=80)
    at = rows.index("Leaks: 1 line")
    assert rows[at + 2].split() == "Line Kept Per call Per second Sure Line Contents".split()
    assert rows[at + 4].split() == "evil.py:3 3.0 GiB 1.5 KiB 8.6 MiB 100 % keep(1)".split()
    assert rows[at + 5].startswith("  held by module_with_a_long_name.CACHE_OF_EVERYTHING: ")


def test_the_sentence_on_memory_is_about_the_line_itself(tmp_path):
    """Not about the line that calls it."""
    grown = dict(hits=1, time=9, self=9, rss=300 * MIB, grown=200 * MIB)
    made = [function("a.py", 1, "outer", "def outer():\n    inner()\n",
                     {2: dict(grown, grown=201 * MIB, self_increment=MIB)}),
            function("a.py", 5, "inner", "def inner():\n    x = [0]\n", {6: dict(grown, self_increment=200 * MIB)})]
    profiles.write(tmp_path / "p.lprof", [one for one, _ in made], [text for _, text in made])
    rows = text_of(tmp_path, "p.lprof", columns=120)
    assert "Memory: at most 300.000 MiB; most was added at a.py:6 in inner: 200.000 MiB" in rows


@pytest.mark.parametrize("words", [["old.lprof"], ["--mp", "old.lprof"], ["callers", "*", "old.lprof"],
                                   ["diff", "old.lprof", "new.lprof"], ["--processes", "old.lprof"]])  # fmt: skip
def test_colours_can_be_asked_for_and_switched_off(words, folder):
    pytest.importorskip("rich")
    command, *rest = words
    at = [command, "--color", "never", *rest] if command in ("callers", "diff") else ["--color", "never", *words]
    assert not on_screen(folder, at, 120)[1] and on_screen(folder, words, 120)[1]


# ---- top ----


MANY = "import os\n@profile\ndef f(n):\n" + "".join(
    f"    x{at} = '日本語テキスト{at:03}' * n; y = 'a rather long line of a program, of which a narrow window shows a part'\n"
    for at in range(60)) + "    os._exit(0)\nf(3)\n"  # fmt: skip


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    folder = tmp_path_factory.mktemp("top")
    (folder / "prog.py").write_text(MANY)
    (folder / "norich").mkdir()
    (folder / "norich" / "rich.py").write_text("raise ImportError\n")
    run_ckernprof(["-l", "prog.py"], folder)
    return folder / "prog.py.lprof.live"


@pytest.mark.parametrize("rich", RICH)
def test_top_fills_the_window_and_follows_its_size(rich, live):
    top = Top(live.name, live.parent, 120, 24, **RICH[rich])

    def is_full(rows):
        lines = sum(row.startswith("prog.py:") for row in rows)
        return rows[0].startswith("prog.py.lprof.live: process ") and lines >= len(rows) - 6 and rows[-1]

    def check(columns):
        rows = top.until(is_full)
        assert rows[1].startswith("q quits")
        assert "Self" in rows[2] and ("Function" in rows[2]) == (columns >= 120)
        assert all("…" in row for row in rows if row.startswith("prog.py:") and " = " in row and columns < 120)

    check(120)
    for columns, rows in (60, 10), (80, 40), (200, 24):
        top.resize(columns, rows)
        check(columns)
    assert (b"\x1b[2m" in top.data) == (rich == "rich")  # dim: a colour of rich
    assert b"\n" not in top.data.replace(b"\r\n", b"") and top.screen.cursor.y < 24  # nothing has scrolled
    assert top.end() == 0


def test_top_keeps_the_column_by_which_it_sorts(live):
    top = Top(live.name, live.parent, 60, 12)
    rows = top.until(lambda rows: rows[2].startswith("Line"))
    assert " Self " in rows[2] and "Hits" not in rows[2]
    at = rows[2].index("Self")
    assert all(top.screen.buffer[2][x].reverse for x in range(at, at + 4)) and not top.screen.buffer[2][0].reverse
    for row in range(12):  # whatever was on the screen before
        top.stream.feed(b"\x1b[%d;1H" % (row + 1) + b"#" * 60)
    top.press(b"h")
    rows = top.until(lambda rows: "Hits" in rows[2] and rows[-1][:1] != "#")
    assert not any("#" in row for row in rows)
    at = rows[2].index("Hits")
    assert top.screen.buffer[2][at].reverse and rows[-1].startswith("Columns left out at a width of 60")
    assert top.end() == 0


def test_top_tells_which_lines_leak_so_far(tmp_path):
    (tmp_path / "leak.py").write_text(
        "import os\nKEPT = []\n@profile\ndef f():\n    KEPT.append(bytes(30_000))\n"
        "for i in range(300):\n    f()\nos._exit(0)\n")  # fmt: skip
    run_ckernprof(["-l", "--leaks", "leak.py"], tmp_path)
    top = Top("leak.py.lprof.live", tmp_path, 100, 12)
    rows = top.until(lambda rows: rows[3].startswith("Line"))
    assert re.fullmatch(r"a line leaks: leak\.py:5 \(kept \d\.\d MiB\) *", rows[2])
    assert top.end() == 0


def test_top_in_a_tiny_window(live):
    top = Top(live.name, live.parent, 20, 3)
    rows = top.until(lambda rows: rows[0].startswith("prog.py"))
    assert all(len(row) <= 20 for row in rows)
    assert top.end() == 0


def test_top_ends_with_its_terminal(live):
    top = Top(live.name, live.parent, 80, 24)
    top.until(lambda rows: rows[2].startswith("Line"))
    os.kill(top.pid, signal.SIGTERM)
    assert top.end() == 0
