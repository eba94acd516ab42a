# SPDX-License-Identifier: MIT
"""What of a profile the viewer shows, and how much of it: profiles made by hand, so that every number
is known."""

import csv
import re
import subprocess
import sys

import msgpack
import pytest
from harness import BUILD, MIB, Profile, ckernprof, clean_environment, run, run_ckernprof, run_viewer, viewer_command

pytestmark = pytest.mark.once  # the report of a profile, whoever counted

LOAD = """\
@profile
def load(path):
    rows = []
    for line in open(path):
        rows.append(
            line.split(","),
        )

    # done
    table = dict(rows)
    return table
"""
METHOD = """\
    def method(self):
        return self.load()
"""


def function(file, line, name, source, lines, total=None):
    """lines: {line: {measure: value}}; times in microseconds."""
    names = sorted({name for measures in lines.values() for name in measures})
    scale = {"time": 1000, "self": 1000, "raw_time": 1000, "max": 1000}
    columns = {name: [round(measures.get(name, 0) * scale.get(name, 1)) for measures in lines.values()]
               for name in names}
    columns["line"] = list(lines)
    time = sum(columns.get("time", []))
    return {"file": file, "line": line, "name": name, "total": time if total is None else total,
            "raw_total": 0, "lines": columns}, {"file": file, "line": line, "name": name,
                                                "text": source}


def write(path, functions, **meta):
    data = {"format": "clineprof", "version": 1, "unit": 1e-9,
            "functions": [made for made, _ in functions],
            "source": [source for _, source in functions if source["text"]], "meta": meta}
    path.write_bytes(msgpack.packb(data))


MEMORY = dict(rss=64 * MIB)
LINES = {
    12: dict(hits=1, time=10, self=10),
    13: dict(hits=101, time=100, self=90),
    14: dict(hits=100, time=600, self=100, max=9),
    15: dict(hits=100, time=150, self=150, max=70),
    19: dict(hits=1, time=40, self=40, max=40),
    20: dict(hits=1, time=100, self=80),
}


@pytest.fixture
def folder(tmp_path):
    """p.lprof: load (1000 us), Class.method (3000 us), idle (never ran), tiny (2 us)."""
    functions = [
        function("/p/app/one.py", 10, "load", LOAD, LINES),
        function("/p/app/sub/two.py", 3, "Class.method", METHOD,
                 {4: dict(hits=7, time=3000, self=2000)}),
        function("/p/app/one.py", 40, "idle", "def idle():\n    pass\n", {}),
        function("/p/app/one.py", 50, "tiny", "def tiny():\n    pass\n", {51: dict(hits=900, time=2)}),
    ]
    write(tmp_path / "p.lprof", functions, tracer="probe", events=1109, overhead=30_000_000,
          overhead_error=2_000_000)
    with_memory = {line: {**measures, **MEMORY} for line, measures in LINES.items()}
    with_memory[12]["grown"] = 8 * MIB
    with_memory[19]["grown"] = 32 * 1024
    with_memory[20]["released"] = 2 * MIB
    write(tmp_path / "m.lprof", [function("/p/app/one.py", 10, "load", LOAD, with_memory)],
          has_memory=True, reads=5, tracer="probe")
    return tmp_path


def view(folder, *words, **more):
    ended = run_viewer(words, folder, **more)
    assert (ended.err, ended.code) == ("", 0)
    return ended.out


def shown(report):
    return re.findall(r"^Function: (\S+) at line", report, re.M)


def bare(report, name):
    """The table of a function: (line, hits, text) of each row."""
    table = report[report.index(f"Function: {name} at line"):].split("\n\n")[1].splitlines()[2:]
    rows = []
    for row in table:
        numbers = row[:44].split()
        rows.append((numbers[0], numbers[1] if len(numbers) > 1 else "", row[46:].strip()))
    return rows


# ---- functions ----


@pytest.mark.parametrize("words, names", {
    ("--top", "1"): "Class.method",
    ("--top", "2"): "load Class.method",
    ("--top=3",): "tiny load Class.method",
    ("--top", "99"): "idle tiny load Class.method",
    ("--top", "0"): "load Class.method idle tiny",
    ("--top", "1", "--sort-by", "hits"): "tiny",
    ("--top", "2", "--sort-by", "hits"): "load tiny",
    ("--top", "1", "--sort-by", "self"): "Class.method",
    # name and selection say nothing of what matters: time chooses, and they order
    ("--top", "2", "--sort-by", "name"): "Class.method load",
    ("--top", "3", "--sort-by", "order"): "load Class.method tiny",
    ("--top", "2", "-t"): "load Class.method",
    ("--function", "load"): "load",
    ("--function", "*i*"): "idle tiny",
    ("--function", "method"): "",
    ("--function", "*.method"): "Class.method",
    ("--function", "load", "--function", "[Ct]*"): "load Class.method tiny",
    ("--file", "two.py"): "Class.method",
    ("--file", "sub/two.py"): "Class.method",
    ("--file", "app/*"): "load Class.method idle tiny",
    ("--file", "/p/app/one.py"): "load idle tiny",
    ("--file", "one.py", "--function", "t*"): "tiny",
    ("--file", "one.py", "--top", "1"): "load",
    ("--file", "one.py", "-z", "--sort-by", "name"): "load tiny",
    ("--file", "one.py", "--file", "two.py", "--top", "2"): "load Class.method",
    ("--file", "p"): "",
}.items(), ids=" ".join)  # fmt: skip
def test_functions(words, names, folder):
    ended = run_viewer([*words, "p.lprof"], folder)
    assert (ended.code, " ".join(shown(ended.out))) == (0, names)
    said = f"clineprof: {words[0]} matches none of 4 functions" if names == "" else ""
    assert ended.err.startswith(said) and bool(ended.err) == bool(said)


def test_a_name_without_its_class(folder):
    ended = run_viewer(["--function", "method", "p.lprof"], folder)
    assert ended.err == ("clineprof: --function matches none of 4 functions; names are whole, as Class.method, and "
                         "'*.method' is any that ends so\n")


def test_a_long_report_names_the_short_ones(folder):
    told = ("clineprof: the report has 250 functions; --lines 10 shows the lines that took most, --top 5 the "
            "functions\n")
    ran, idle = ([function("/p/a.py", at, f"{name}{at}", "def f():\n    pass\n", {at + 1: dict(hits=hits, time=1)})
                  for at in range(1, 1001, 4)] for name, hits in (("ran", 1), ("idle", 0)))  # fmt: skip
    write(folder / "long.lprof", ran)
    write(folder / "short.lprof", ran[:150] + idle[:100])
    assert run_viewer(["long.lprof"], folder).err == told
    assert run_viewer(["short.lprof"], folder).err == told
    for words in (["-z", "short.lprof"], ["--lines", "10", "long.lprof"], ["--top", "300", "long.lprof"],
                  ["--format", "csv", "long.lprof"], ["-o", "x.txt", "long.lprof"]):  # fmt: skip
        assert run_viewer(words, folder).err == "", words


def test_both_patterns_match_nothing(folder):
    ended = run_viewer(["--file", "two.py", "--function", "load", "p.lprof"], folder)
    assert ended.err == "clineprof: --function with --file matches none of 4 functions\n"
    assert ended.out.startswith("Timer unit: 1e-06 s\n\nProfiled by") and ended.code == 0


def test_the_summary_lists_what_is_shown(folder):
    report = view(folder, "--top", "2", "-m", "p.lprof")
    assert re.findall(r" seconds - (.*)", report) == [
        "/p/app/one.py:10 - load", "/p/app/sub/two.py:3 - Class.method"]


def test_choice_after_summing(folder):
    """One run makes load slower than method, the sum does not."""
    write(folder / "q.lprof", [function("/p/app/one.py", 10, "load", LOAD,
                                        {12: dict(hits=1, time=1900)})])
    assert shown(view(folder, "--top", "1", "p.lprof", "q.lprof")) == ["Class.method"]
    assert shown(view(folder, "--top", "1", "p.lprof", "q.lprof", "q.lprof")) == ["load"]


# ---- lines ----


def test_lines(folder):
    assert view(folder, "--lines", "4", "p.lprof") == """\
Timer unit: 1e-06 s

Hottest lines by self: 4 of 8

Line                 Function          Hits         Time         Self % Program  Line Contents
==============================================================================================
/p/app/sub/two.py:4  Class.method         7       3000.0       2000.0      81.0  return self.load()
/p/app/one.py:15     load               100        150.0        150.0       6.1  line.split(","),
/p/app/one.py:14     load               100        600.0        100.0       4.0  rows.append(
/p/app/one.py:13     load               101        100.0         90.0       3.6  for line in open(path):

Profiled by clineprof. Counting itself took about 0.03 s, which the times above leave out.
"""


@pytest.mark.parametrize("words, places", {
    (): "two.py:4 one.py:15 one.py:14 one.py:13 one.py:20 one.py:19 one.py:12 one.py:51",
    ("--sort-by", "time"): "two.py:4 one.py:14 one.py:15 one.py:13 one.py:20 one.py:19 one.py:12 one.py:51",
    ("--sort-by", "hits"): "one.py:51 one.py:13 one.py:14 one.py:15 two.py:4 one.py:12 one.py:19 "
                           "one.py:20",
    ("--sort-by", "self"): "two.py:4 one.py:15 one.py:14 one.py:13 one.py:20 one.py:19 one.py:12 one.py:51",
    ("--sort-by", "order"): "one.py:12 one.py:13 one.py:14 one.py:15 one.py:19 one.py:20 two.py:4 "
                            "one.py:51",
    ("--sort-by", "name"): "two.py:4 one.py:12 one.py:13 one.py:14 one.py:15 one.py:19 one.py:20 "
                           "one.py:51",
    ("--file", "two.py"): "two.py:4",
    ("--top", "2", "--sort-by", "hits"): "one.py:51 one.py:13 one.py:14 one.py:15 one.py:12 "
                                         "one.py:19 one.py:20",
}.items(), ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("most", [1, 3, 100])
def test_lines_in_order(words, places, most, folder):
    report = view(folder, "--lines", str(most), *words, "p.lprof")
    found = re.findall(r"^/p/app/(?:sub/)?(\S+) ", report, re.M)
    if "--sort-by" in words and words[-1] in ("order", "name") and most < 8:
        hottest = "two.py:4 one.py:14 one.py:15".split()[:most]  # chosen by time, then ordered
        assert found == [place for place in places.split() if place in hottest]
    else:
        assert found == places.split()[:most]


def test_lines_by_memory(folder):
    report = view(folder, "--lines", "2", "--sort-by", "increment", "--columns", "increment",
                  "m.lprof")
    assert "Hottest lines by increment: 2 of 6\n" in report
    assert re.findall(r"one.py:(\d+) +load +(\S+ MiB)", report) == [
        ("12", "8.000 MiB"), ("19", "0.031 MiB")]


def test_lines_of_nothing(folder):
    report = view(folder, "--lines", "5", "--function", "idle", "p.lprof")
    assert "Hottest lines by self: 0 of 0\n\nProfiled by" in report


def test_lines_without_source_and_with_wide_names(folder):
    """Columns stand below each other whatever the names are made of."""
    write(folder / "w.lprof", [
        function("/p/日本.py", 1, "測試", "", {2: dict(hits=1, time=5)}),
        function("/p/e\u0301.py", 1, "f", "", {2: dict(hits=1, time=4)}),
        function("/p/x\x1b[2J.py", 1, "plain", "def plain():\n\treturn 1\n",
                 {1: dict(hits=1, time=3), 2: dict(hits=1, time=2), 900: dict(hits=1, time=1)}),
    ])
    rows = view(folder, "--lines", "9", "--columns", "hits", "w.lprof").split("\n\n")[2].splitlines()
    assert rows == [
        "Line                Function      Hits  Line Contents",
        "=====================================================",
        "/p/日本.py:2        測試             1  ",
        "/p/e\u0301.py:2           f                1  ",
        "/p/x\\x1b[2J.py:1    plain            1  def plain():",
        "/p/x\\x1b[2J.py:2    plain            1  return 1",
        "/p/x\\x1b[2J.py:900  plain            1  ",
    ]


# ---- cold rows ----


@pytest.mark.parametrize("percent, rows", {
    "10": ["10", "11", "...", "13", "14", "15", "...", "20"],
    "15": ["10", "11", "...", "14", "15", "..."],
    "0": ["10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"],
    # 12 is the only one that is cold, beside nothing without data: dots would take as much room
    "4": ["10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"],
    "4.5": ["10", "11", "12", "13", "14", "15", "...", "20"],
    "100": ["10", "11", "..."],
}.items())  # fmt: skip
def test_min_percent(percent, rows, folder):
    """10: 12 has one percent, 13 ten, 14 sixty, 15 fifteen, 19 four, 20 ten."""
    table = bare(view(folder, "--min-percent", percent, "--function", "load", "p.lprof"), "load")
    if percent == "10":
        rows = ["10", "11", "12", "13", "14", "15", "...", "20"]  # 12 stands alone
    if percent == "15":
        assert [row[2] for row in table[:2]] == ["@profile", "def load(path):"]
    assert [row[0] for row in table] == rows


def test_min_percent_keeps_what_moves_memory(folder):
    """12 adds 8 of 10 MiB in one percent of the time, 20 gives back 2; 32 KiB on 19 mean nothing."""
    def numbers(*words):
        report = view(folder, "--min-percent", "50", *words, "m.lprof")
        return re.findall(r"^ +(\d+|\.\.\.)(?= |$)", report, re.M)

    assert numbers() == ["10", "11", "12", "13", "14", "..."]
    assert numbers("--no-memory") == ["10", "11", "...", "14", "..."]
    assert numbers("--columns", "time") == ["10", "11", "...", "14", "..."]


def test_a_few_pages_are_no_reason_to_stay(folder):
    """All that this function moves are 60 KiB; of 64 KiB the line would stay."""
    for bytes, numbers in {60 << 10: ["1", "...", "4"], 64 << 10: ["1", "2", "3", "4"]}.items():
        lines = {2: dict(hits=1, time=1, rss=MIB, grown=bytes), 3: dict(hits=1, time=1, rss=MIB),
                 4: dict(hits=1, time=98, rss=MIB)}
        write(folder / "f.lprof", [function("/p/a.py", 1, "f", "def f():\n 1\n 2\n 3\n", lines)],
              has_memory=True)
        report = view(folder, "--min-percent", "50", "f.lprof")
        assert re.findall(r"^ +(\d+|\.\.\.)(?= |$)", report, re.M) == numbers


def test_source_that_was_not_read_is_told_below_the_report(folder):
    write(folder / "n.lprof", [function("/p/a.py", 1, "f", "", {2: dict(hits=1, time=1)})])
    said = "Source that is not in the profile was not read"
    assert view(folder, "n.lprof").splitlines()[-1].startswith(said)
    assert view(folder, "--lines", "1", "n.lprof").splitlines()[-1].startswith(said)
    assert said not in view(folder, "p.lprof")


def test_min_percent_without_source(folder):
    write(folder / "n.lprof", [function("/p/a.py", 1, "f", "",
                                        {2: dict(hits=1, time=1), 6: dict(hits=1, time=97),
                                         8: dict(hits=1, time=1), 9: dict(hits=1, time=1)})])
    report = view(folder, "--min-percent", "50", "n.lprof")
    assert [row.split()[0] for row in report.split("=\n")[1].split("\n\n")[0].splitlines()] == [
        "...", "6", "..."]


# ---- statements ----


def test_by_statement(folder):
    rows = bare(view(folder, "--by-statement", "--function", "load", "p.lprof"), "load")
    assert [(line, hits) for line, hits, _ in rows if hits] == [
        ("12", "1"), ("13", "101"), ("14", "100"), ("19", "1"), ("20", "1")]
    report = view(folder, "--by-statement", "--columns", "hits,time,max,percent", "p.lprof")
    # 600 + 150 us, the longer of 9 and 70
    assert re.search(r"^ +14 +100 +750\.0 +70\.0 +75\.0 +rows.append\($", report, re.M)
    assert "which the times above leave out" in report  # what the numbers are worth


def test_by_statement_sums_memory(folder):
    lines = {14: dict(hits=0, time=1, rss=5 * MIB, grown=MIB), 15: dict(hits=3, time=2, rss=9 * MIB,
                                                                       grown=2 * MIB)}
    write(folder / "s.lprof", [function("/p/one.py", 10, "load", LOAD, lines)], has_memory=True)
    report = view(folder, "--by-statement", "s.lprof")
    # hits of the first of its lines that has any
    assert re.search(r"^ +14 +3 +3\.0 +1\.0 +100\.0 +9\.000 MiB +3\.000 MiB ", report, re.M)


@pytest.mark.parametrize("source, folded", [
    ("def f():\n    x = [\n        1,\n    ]\n", {2: 111}),
    ("    def f(self):\n        '''\nno indent\n        '''\n", {2: 111}),
    ("\tdef f(self):\n\t\treturn (1 +\n\t\t\t2 +\n3)\n", {2: 111}),
    ("async def f():\n    await g(1,\n      2)\n    pass\n", {2: 11, 4: 100}),
    ("def f():\n    if (a and\n            b):\n        c\n", {2: 11, 4: 100}),
    ("def f():\n    print '\\d'\n    x\n    y\n", {2: 1, 3: 10, 4: 100}),  # no Python of today
    ("key=lambda x: (\n  x,\n  1,\n  2)\n", {1: 111}),
    ("(lambda x:\n x,\n", {2: 1, 3: 10, 4: 100}),  # cut out of a statement
    ("def f():\n    '\\d'; x = (1,\n 2)\n    y\n", {2: 11, 4: 100}),  # no warning of ast's is seen
], ids=range(9))
def test_by_statement_of_odd_text(source, folded, tmp_path):
    lines = {number: dict(hits=1, time=10 ** place) for place, number in enumerate((2, 3, 4))}
    write(tmp_path / "o.lprof", [function("/p/o.py", 1, "f", source, lines)])
    report = view(tmp_path, "--by-statement", "--columns", "time", "o.lprof")
    times = re.findall(r"^ +(\d+) +(\d+)\.0  ", report, re.M)
    assert {int(line): int(time) for line, time in times} == folded


# ---- standard input, pipes, full disks ----


def test_standard_input(folder):
    command = [viewer_command()[0], "-", "--top", "1"]
    for feed in subprocess.PIPE, open(folder / "p.lprof", "rb"):
        process = subprocess.Popen(command, cwd=folder, stdin=feed, stdout=subprocess.PIPE,
                                   env=clean_environment())
        out, _ = process.communicate((folder / "p.lprof").read_bytes()
                                     if feed is subprocess.PIPE else None)
        assert (out.decode(), process.returncode) == (view(folder, "--top", "1", "p.lprof"), 0)


def test_standard_input_beside_files(folder):
    with open(folder / "p.lprof", "rb") as feed:
        both = subprocess.run([viewer_command()[0], "p.lprof", "-"], cwd=folder, stdin=feed,
                              capture_output=True, text=True, env=clean_environment())
    assert both.stdout == view(folder, "p.lprof", "p.lprof")


def test_bad_standard_input(folder):
    for feed, said in {"": "the file is empty", "x" * 99: "not a clineprof profile"}.items():
        ended = run_viewer(["-"], folder, stdin=feed)
        assert (ended.code, ended.out) == (1, "") and ended.err.count("\n") == 1
        assert ended.err.startswith(f"clineprof: standard input: {said}")
    ended = run_viewer(["-", "p.lprof", "-"], folder)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "clineprof: standard input (-) can be read only once\n"


@pytest.mark.parametrize("command", [
    "{view} p.lprof", "{view} -r p.lprof", "{view} --help", "{view} --help-page", "{view} --version",
    "{view} top --help", "{view} recover --help", "{view} --lines 3 p.lprof",
    "{run} --help", "{run} --version",
])  # fmt: skip
def test_nowhere_to_write(command, folder):
    bin, env = BUILD / "bin", None
    if "-r" in command:
        pytest.importorskip("rich")
        env = {"VIRTUAL_ENV": sys.prefix}
    words = command.format(view=bin / "clineprof", run=bin / "ckernprof")
    ended = run(["sh", "-c", f"{words} >/dev/full"], folder, env=env)
    program = "clineprof" if "{view}" in command else "ckernprof"
    assert ended.err == f"{program}: cannot write to standard output: No space left on device\n"
    assert ended.code == 1
    # the reader has gone before the first byte
    ended = run(["bash", "-c", f"{words} | true; exit ${{PIPESTATUS[0]}}"], folder, env=env)
    assert ended.err == "" and ended.code in (0, 141)


def test_a_report_that_cannot_be_printed_is_told_and_the_profile_kept(script, tmp_path):
    path = script("@profile\ndef f():\n    return 1\nf()\n")
    ended = run_ckernprof(["-lqvv", path], tmp_path)
    assert ended.code == 0 and "Function: f" in ended.out
    words = " ".join(map(str, ckernprof("-lqvv", "-o", "kept.lprof", path)))
    ended = run(["sh", "-c", f"{words} >/dev/full"], tmp_path)
    assert "ckernprof: cannot write to standard output: No space left on device\n" in ended.err
    assert "Function: f at line 1" in view(tmp_path, "kept.lprof")


# ---- the footer ----


LEAVE_OUT = " Counting itself took about 2 s, which the times above leave out."


@pytest.mark.parametrize("meta, words, sentences, details", [
    (dict(), ["--top", "1"], None, None),
    (dict(tracer="probe"), [], None, ", tracer probe"),
    (dict(tracer="probe"), ["--top", "1"], "", ", tracer probe"),
    (dict(tracer="probe", events=3), ["--min-percent", "1"], "", ", tracer probe: 3 events"),
    (dict(events=3, overhead=2_000_000_000), ["--lines", "1"], LEAVE_OUT,
     ": 3 events cost about 2 s, taken off the lines"),
    (dict(events=3, overhead=2_000_000_000), ["--lines", "1", "--raw-times"],
     " Counting itself took about 2 s, which the times above include.",
     ": 3 events cost about 2 s, left in the lines"),
    (dict(has_memory=True), [], None, None),
    (dict(has_memory=True, reads=2), [], "", ": resident memory read 2 times, exact to the page"),
    (dict(has_memory=True, reads=2, memory="uss"), [], " Memory is memory of its own (uss, slow).",
     ": memory of its own (uss, slow) read 2 times, exact to the page"),
    (dict(has_memory=True, reads=2, inexact_memory=True), [], " Memory is not exact to the page.",
     ": resident memory read 2 times, not exact to the page"),
    (dict(has_memory=True, reads=2, inexact_memory=True, memory_step=131072), ["--top", "1"],
     " Memory is counted in steps of 131072 bytes.",
     ": resident memory read 2 times, in steps of 131072 bytes"),
    (dict(has_memory=True, reads=2, own_bytes=MIB, events=5), [], "",
     ": 5 events; resident memory read 2 times, exact to the page, own 1.000 MiB left out"),
    (dict(has_memory=True, tracer="probe"), [], "", ", tracer probe"),
    (dict(has_memory=True, reads=2, events=5), ["--no-memory"], None, ": 5 events"),
    (dict(has_memory=True, reads=2), ["--no-memory", "--top", "1"], None, None),
    (dict(reads=2), ["--columns", "mem"], None, None),  # what was read is not in the file
    (dict(has_memory=True, reads=2, events=5), ["--no-memory", "--by-statement"], "", ": 5 events"),
    # a column of a measure that was not taken
    (dict(tracer="probe", events=5), ["--columns", "mem"], "", ", tracer probe: 5 events"),
], ids=range(18))  # fmt: skip
def test_footer(meta, words, sentences, details, tmp_path):
    """None: there is none. -v tells how it came about, and has it stand below line_profiler's table, too."""
    write(tmp_path / "f.lprof", [function("/p/o.py", 1, "f", "def f():\n  1\n",
                                          {2: dict(hits=1, time=1)})], **meta)
    last = run_viewer([*words, "f.lprof"], tmp_path).out.splitlines()[-1]
    assert last == f"Profiled by clineprof.{sentences}" if sentences is not None else "Profiled" not in last
    last = run_viewer(["-v", *words, "f.lprof"], tmp_path).out.splitlines()[-1]
    assert last == f"Profiled by clineprof{details}." if details is not None else "Profiled" not in last


def test_footer_of_a_sum(tmp_path):
    """Each part is said of the files that know it."""
    made = [function("/p/o.py", 1, "f", "def f():\n  1\n", {2: dict(hits=1, time=1)})]
    write(tmp_path / "p.lprof", made, tracer="probe", events=2, overhead=1_000_000_000)
    write(tmp_path / "b.lprof", made, tracer="settrace", events=3, overhead=2_000_000_000)
    write(tmp_path / "c.lprof", made)
    write(tmp_path / "d.lprof", made, tracer="probe", has_memory=True, reads=4, own_bytes=MIB)

    def footer(*files):
        return view(tmp_path, "-v", *files).splitlines()[-1]

    assert footer("c.lprof", "p.lprof") == (
        "Profiled by clineprof, tracer probe: 2 events cost about 1 s, taken off the lines.")
    assert footer("p.lprof", "b.lprof", "p.lprof") == (
        "Profiled by clineprof, tracer probe, settrace: 7 events cost about 4 s, taken off the lines.")
    assert footer("c.lprof", "d.lprof", "d.lprof") == (
        "Profiled by clineprof, tracer probe: resident memory read 8 times, exact to the page, own "
        "1.000 MiB left out.")


# ---- memory columns ----


def line_of_memory(allocated=0, grown=0, released=0, hits=1):
    return dict(hits=hits, time=5, rss=9 * MIB, grown=grown, released=released, allocated=allocated, blocks=1)


def test_no_change_is_a_blank(tmp_path):
    """Of what is resident it is a number, and so it is in what is exported."""
    lines = {2: line_of_memory(), 3: line_of_memory(grown=4 * MIB, released=4 * MIB),
             4: line_of_memory(released=2 * MIB)}
    write(tmp_path / "f.lprof", [function("/p/o.py", 1, "f", "def f():\n  1\n  2\n  3\n", lines)],
          has_memory=True)  # fmt: skip
    report = view(tmp_path, "--columns", "mem,increment,grown,allocated", "f.lprof")
    rows = [re.findall(r".{13}", line[6:58]) for line in re.findall(r"^ +[234] .*$", report, re.M)]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["9.000 MiB", "", "", ""], ["9.000 MiB", "", "4.000 MiB", ""], ["9.000 MiB", "-2.000 MiB", "", ""]]
    exported = csv.DictReader(view(tmp_path, "--format", "csv", "f.lprof").splitlines())
    assert [row["increment_bytes"] for row in exported] == ["0", "0", str(-2 * MIB)]


@pytest.mark.parametrize("line, shown", [
    (line_of_memory(30 * MIB, grown=MIB // 8), True),  # not touched
    (line_of_memory(30 * MIB, grown=8 * MIB, released=8 * MIB, hits=100), True),  # given back
    (line_of_memory(30 * MIB, grown=29 * MIB), False),
    (line_of_memory(30 * MIB, grown=8 * MIB), False),  # more than a quarter
    (line_of_memory(MIB - 1), False),
    (line_of_memory(30 * MIB, hits=1000), False),  # small objects that come and go
    ({**line_of_memory(30 * MIB), "rss": 0}, False),  # memory was not read
], ids=range(7))  # fmt: skip
def test_what_was_allocated_is_shown_where_it_tells_more(line, shown, tmp_path):
    write(tmp_path / "f.lprof", [
        function("/p/o.py", 1, "f", "def f():\n  1\n", {2: line_of_memory(grown=2 * MIB)}),
        function("/p/o.py", 4, "g", "def g():\n  1\n", {5: line})], has_memory=True)  # fmt: skip
    for words in [], ["--function", "f"], ["--self"]:
        report = view(tmp_path, *words, "f.lprof")
        assert ("Allocated  Line Contents" in report) == shown
    for words in ["--no-memory"], ["--columns", "hits,increment"]:
        assert "Allocated" not in view(tmp_path, *words, "f.lprof")


# ---- both programs, config files, mistakes ----


def test_ckernprof_has_them_too(script, tmp_path):
    path = script("@profile\ndef one():\n    return sum(range(3_000_000))\n"
                  "@profile\ndef two():\n    return 2\none()\ntwo()\n")
    for words, names in {("--top", "1"): ["one"], ("--function", "tw?"): ["two"],
                         ("--file", path.name): ["one", "two"], ("--lines", "1"): []}.items():
        ended = run_ckernprof(["-lv", *words, path], tmp_path)
        assert shown(ended.out) == names, words
        assert ("Hottest lines by self: 1 of 2" in ended.out) == ("--lines" in words)
        assert shown(view(tmp_path, "program.py.lprof")) == ["one", "two"]  # all are written
    ended = run_ckernprof(["-lv", "--function", "nosuch", path], tmp_path)
    assert ended.err == "ckernprof: --function matches none of 2 functions\n" and ended.code == 0


@pytest.fixture
def reads_toml(folder):
    """The viewer may run in another interpreter than this one."""
    (folder / "clineprof.toml").write_text("[tool.clineprof.cli]\ntop = 1\n")
    if "tomli" in run_viewer(["program.py.lprof"], folder).err:
        pytest.skip("Python 3.10 without tomli reads no config files")


@pytest.mark.usefixtures("reads_toml")
def test_config_keys(folder):
    def configured(text, *words):
        (folder / "clineprof.toml").write_text(f"[tool.clineprof.cli]\n{text}\n")
        return view(folder, *words, "p.lprof")

    assert shown(configured("top = 1")) == ["Class.method"]
    assert len(shown(configured("top = 1", "--top", "0"))) == 4
    assert "Hottest lines by self: 2 of 8" in configured("lines = 2")
    assert shown(configured('function = ["load", "tiny"]')) == ["load", "tiny"]
    assert shown(configured('function = "load"', "--function", "tiny")) == ["tiny"]
    assert shown(configured('file = "two.py"')) == ["Class.method"]
    assert "\n   ...\n" in configured("min-percent = 15")
    assert "\n   ...\n" in configured("min_percent = 12.5")
    assert re.search(r"^ +14 +100 +750\.0 ", configured("by-statement = true"), re.M)


@pytest.mark.parametrize("text, told", {
    'top = "many"': "key 'top' needs a whole number, not 'many'",
    "top = 2.5": "key 'top' needs a whole number, not '2.5'",
    "top = -1": "key 'top' needs a whole number such as 10, not '-1'",
    "lines = true": "key 'lines' needs a whole number, not 'true'",
    "min-percent = 101": "key 'min-percent' needs a percentage from 0 to 100, not '101'",
    'min-percent = "x"': "key 'min-percent' needs a number, not 'x'",
    "function = 3": "key 'function' needs texts in quotes, not '3'",
}.items())
@pytest.mark.usefixtures("reads_toml")
def test_wrong_config_values(text, told, folder):
    (folder / "clineprof.toml").write_text(f"[tool.clineprof.cli]\n{text}\n")
    ended = run_viewer(["p.lprof"], folder)
    assert (ended.code, ended.out) == (2, "") and ended.err.count("\n") == 1 and told in ended.err


@pytest.mark.parametrize("words, told", {
    ("--top", "-1"): "option '--top' needs a whole number such as 10, not '-1'",
    ("--top", "1.5"): "option '--top' needs a whole number such as 10, not '1.5'",
    ("--top", ""): "option '--top' needs a number",
    ("--top", "9999999999"): "option '--top' needs a whole number such as 10, not '9999999999'",
    ("--lines", "x"): "option '--lines' needs a whole number such as 10, not 'x'",
    ("--min-percent", "100.1"): "option '--min-percent' needs a percentage from 0 to 100, not '100.1'",
    ("--min-percent", "-1"): "option '--min-percent' needs a percentage from 0 to 100, not '-1'",
    ("--min-percent", "nan"): "option '--min-percent' needs a percentage from 0 to 100, not 'nan'",
    ("--function", ""): "option '--function' needs a PATTERN",
    ("--file=",): "option '--file' needs a PATTERN",
    ("--by-statement=3",): "option '--by-statement' needs yes or no, not '3'",
}.items(), ids=" ".join)  # fmt: skip
def test_wrong_values(words, told, folder, script):
    ended = run_viewer([*words, "p.lprof"], folder)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"clineprof: {told}; see clineprof --help\n"
    ended = run_ckernprof(["-l", *words, script("print('ran')\n")], folder)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"ckernprof: {told}; see ckernprof --help\n"


# ---- exports ----


def test_exports_get_what_is_chosen(folder):
    def exported(*words):
        view(folder, "--format", "lprof", "-o", "out.lprof", *words, "p.lprof")
        data = msgpack.unpackb((folder / "out.lprof").read_bytes(), strict_map_key=False)
        assert data["meta"]["events"] == 1109
        return [made["name"] for made in data["functions"]], data

    assert exported()[0] == ["load", "Class.method", "idle", "tiny"]
    assert exported("--top", "2")[0] == ["load", "Class.method"]
    assert exported("-t", "-z")[0] == ["tiny", "load", "Class.method"]
    assert exported("--file", "one.py", "--sort-by", "name")[0] == ["idle", "load", "tiny"]
    names, data = exported("--by-statement", "--function", "load")
    assert names == ["load"] and data["functions"][0]["lines"]["line"] == [12, 13, 14, 19, 20]
    assert list(Profile(folder / "out.lprof").sources().values()) == [LOAD]
    ended = run_viewer(["--format", "lprof", "-o", "x.lprof", "--function", "x", "p.lprof"], folder)
    assert ended.err == "clineprof: --function matches none of 4 functions\n" and ended.code == 0


def test_widths(folder):
    plain = run_viewer(["--columns", "hits,time", "p.lprof"], folder).out
    wide = run_viewer(["--columns", "hits,time", "--widths", "line=9,time=20,max=30", "p.lprof"],
                      folder).out
    narrow = run_viewer(["--columns", "hits,time", "--widths", "time=1", "p.lprof"], folder).out
    assert narrow == plain
    title = next(line for line in plain.splitlines() if line.startswith("Line #"))
    found = next(line for line in wide.splitlines() if "Line #" in line)
    assert found == "   Line #" + title[6:16] + " " * 8 + title[16:]
    assert "=" * len(found) + "\n" in wide and "=" * (len(found) + 1) not in wide
    for bad in "nothing=3", "time", "time=", "time=0", "time=201", "time=3,", "time=3;hits=2":
        ended = run_viewer(["--widths", bad, "p.lprof"], folder)
        assert ended.code == 2 and ended.out == ""
        assert ended.err.startswith("clineprof: ") and f"not '{bad}'" in ended.err
        assert len(ended.err.splitlines()) == 1
