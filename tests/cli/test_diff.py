# SPDX-License-Identifier: MIT
"""clineprof diff: what it says of two profiles, and the limits on it. Numbers are made by hand
(tests/profiles.py) wherever the time of a run would be one."""

import json
import re
import subprocess
import sys

import known_calls
import pytest
from harness import BUILD, clean_environment, run, run_ckernprof, run_viewer, viewer_command
from profiles import MIB, MS, function, write
from terminal import on_terminal

pytestmark = pytest.mark.once

OLD_WORK = "def work(n):\n    prepare()\n    for i in range(n):\n        step(i)\n    return n\n"
NEW_WORK = (
    "@profile\ndef work(n):\n    # why\n    prepare()\n    more()\n    for i in range(n):\n"
    "        step(i, 1)\n    return n\n"
)


def diff(folder, *words, code=0, **options):
    ended = run_viewer(["diff", *words], folder, **options)
    assert ended.code == code, ended.err
    return ended


def compared(folder, *words, **options):
    """What --format json says."""
    return json.loads(diff(folder, *words, "--format", "json", **options).out)


@pytest.fixture
def made(tmp_path):
    """old.lprof and new.lprof: a line above, a line within, a line edited, a function renamed."""
    work = function("work", {2: (1, 10), 3: (101, 5), 4: (100, 20, 1), 5: (1, 0)}, OLD_WORK)
    gone = function("gone", {11: (1, 3)}, "def gone():\n    pass\n", line=10)
    write(tmp_path / "old.lprof", work, gone, python="3.12.1", tracer="probe", wall=50 * MS)
    lines = {4: (1, 10.4), 5: (1, 2), 6: (201, 5), 7: (200, 40, 4), 8: (1, 0)}
    work = function("work", lines, NEW_WORK)
    fresh = function("fresh", {21: (1, 7)}, "def fresh():\n    pass\n", line=20)
    write(tmp_path / "new.lprof", work, fresh, python="3.13.0", tracer="probe", wall=70 * MS)
    return tmp_path


TEXT = """\
Before: old.lprof (Python 3.12.1, tracer probe, 0.05 s)
After:  new.lprof (Python 3.13.0, tracer probe, 0.07 s)
Timer unit: 1e-06 s

Total time: 0.003 s  (gone)
File: /srv/prog.py
Function: gone at line 10

 Old #  New #  Time before   Time after       Change        %  Line Contents
============================================================================
    10                                                        -def gone():
    11              3000.0                   -3000.0     gone -    pass

Total time: 0.007 s  (new)
File: /srv/prog.py
Function: fresh at line 20

 Old #  New #  Time before   Time after       Change        %  Line Contents
============================================================================
           20                                                 +def fresh():
           21                    7000.0      +7000.0      new +    pass

Total time: 0.035 s -> 0.0574 s, +0.0224 s, +64.0 %  (slower, grown)
File: /srv/prog.py
Function: work at line 1
"""
WORK = """
            1  +@profile
     1      2   def work(n):
   ...
            5 2000.0 +2000.0 new 1 +    more()
     3      6 5000.0 5000.0 101 201     for i in range(n):
     4      7 20000.0 40000.0 +20000.0 +100.0 1.000 MiB 4.000 MiB +3.000 MiB +300.0 100 200 ~        step(i, 1)
     5      8 0.0 0.0     return n
"""
SUMMARY = """
Functions: 1 slower, 1 grown, 1 new, 1 gone
Lines: 1 slower, 1 grown, 1 new, 2 more hits
Noise floor: 1 ms, 50 ns per hit, 64 KiB
work is 64 % slower, 3.000 MiB larger; nothing else got slower.
"""


def words_of(text):
    return [line.split() for line in text.strip().splitlines()]


def test_report(made):
    out = diff(made, "old.lprof", "new.lprof").out
    assert out.startswith(TEXT) and out.endswith(SUMMARY)
    header, rule, *rows = out[len(TEXT) :].removesuffix(SUMMARY).strip("\n").splitlines()
    titles = [title for title in header.split("  ") if title]
    assert [title.strip() for title in titles] == [
        "Old #", "New #", "Time before", "Time after", "Change", "%",
        "Increment before Increment after", "Change", "%", "Hits before Hits after", "Line Contents",
    ]  # fmt: skip
    assert rule == "=" * len(header)
    assert [row.split() for row in rows] == words_of(WORK)
    column = header.index("Line Contents")
    assert all(row[column:] in NEW_WORK for row in rows if "..." not in row)


def test_a_profile_against_itself(made):
    out = diff(made, "old.lprof", "old.lprof").out
    assert out.endswith("\n\nFunctions: 2 unchanged\nNoise floor: 1 ms, 50 ns per hit, 64 KiB\n"
                        "Nothing got faster, slower, larger or smaller.\n")
    assert "Function:" not in out


def test_the_last_sentence(tmp_path):
    def write_side(name, **times):
        write(tmp_path / name, *[function(f, {at * 10 + 2: (1, time)}, f"def {f}():\n    pass\n", line=at * 10 + 1)
                                for at, (f, time) in enumerate(times.items())])

    def last(old, new):
        return diff(tmp_path, old, new).out.splitlines()[-1]

    write_side("a.lprof", feats=104, load=5, dump=5)
    write_side("b.lprof", feats=1, load=5, dump=5)
    write_side("c.lprof", feats=1, load=25, dump=9)
    assert last("a.lprof", "b.lprof") == "feats is 104 times faster; nothing got slower."
    assert last("a.lprof", "c.lprof") == "feats is 104 times faster; 2 functions got slower."
    assert last("b.lprof", "c.lprof") == "load is 5.0 times slower; 1 other function got slower."
    for name, time in ("d.lprof", 50), ("e.lprof", 60):  # the caller is as much slower as what it calls
        main = function("main", {2: (1, time + 50)}, "def main():\n    f()\n")
        main["lines"]["self"] = [50 * MS]
        write(tmp_path / name, main, function("f", {12: (1, time)}, "def f():\n    pass\n", line=11))
    assert last("d.lprof", "e.lprof") == "f is 20 % slower; 1 other function got slower."


@pytest.mark.parametrize("color", ["auto", "never"])
@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_on_a_terminal(color, columns, made):
    words = [*viewer_command(), "diff", "--color", color, "old.lprof", "new.lprof"]
    data, code = on_terminal(words, made, columns)
    text = re.sub(r"\x1b\[[\d;]*m", "", data.decode().replace("\r\n", "\n"))
    assert code == 0 and "\x1b" not in text and max(map(len, text.split("\n"))) <= columns
    assert "+64.0 % (slower, grown)" in " ".join(text.split()) and (columns == 60 or "step(i, 1)" in text)
    assert "+100.0" in text  # whatever else is left out
    assert text.endswith("larger; nothing else got slower.\n") or columns == 60
    if columns == 200:
        assert "Time before" in text
    if color == "never":
        assert b"\x1b" not in data


def test_the_other_way_round(made):
    summary = compared(made, "new.lprof", "old.lprof")["summary"]
    told = {what: n for what, n in summary["functions"].items() if n}
    assert told == {"faster": 1, "shrunk": 1, "new": 1, "gone": 1}
    told = {what: n for what, n in summary["lines"].items() if n}
    assert told == {"faster": 1, "shrunk": 1, "gone": 1, "fewer hits": 2}


def test_all_shows_what_did_not_change(made):
    out = diff(made, "--all", "old.lprof", "new.lprof").out
    assert re.search(r"^ +2 +4 +10000\.0 +10400\.0 +prepare\(\)$", out, re.M) and "..." not in out
    assert "Function: work at line 1\n" in diff(made, "--all", "old.lprof", "old.lprof").out


def test_of_new_and_gone_functions_only_what_takes_time_is_shown(tmp_path):
    text = "def f():\n    quick()\n    slow()\n    quick()\n    quick()\n"
    write(tmp_path / "old", function("gone", {2: (1, 0)}, "def gone():\n    pass\n"))
    write(tmp_path / "new", function("f", {2: (1, 0), 3: (1, 5), 4: (1, 0), 5: (1, 0)}, text))
    out = diff(tmp_path, "old", "new").out
    [gone, fresh, _] = out.split("Total time: ")[1:] + [""]
    assert gone == "0 s  (gone)\nFile: /srv/prog.py\nFunction: gone at line 1\n\n"
    assert re.findall(r"[+-] *(\S+\(\):?)$|(\.\.\.)$", fresh, re.M) == [
        ("quick()", ""), ("slow()", ""), ("", "..."),
    ]  # fmt: skip
    assert diff(tmp_path, "old", "new", "--all").out.count("quick()") == 3


def test_of_a_module_no_function_is_taken_for_the_head(tmp_path):
    text = "import a\nimport b\nimport c\ndef f():\n    pass\n\nrun()\nend()\n"
    for name, time in ("old", 5), ("new", 50):
        write(tmp_path / name, function("<module>", {7: (1, time)}, text))
    rows = diff(tmp_path, "old", "new").out.split("=\n")[1].split("\n\n")[0].splitlines()
    assert [row.split()[-1] for row in rows] == ["...", "run()", "end()"]


def test_top_shows_those_that_changed_most(made):
    out = diff(made, "old.lprof", "new.lprof", "--top", "2").out
    assert re.findall(r"^Function: (\w+)", out, re.M) == ["fresh", "work"]
    assert "Shown: 2 of 3 functions, those that changed most.\n" in out
    out = diff(made, "old.lprof", "new.lprof", "--top=99").out
    assert "Shown" not in out and out.count("Function: ") == 3
    names = [one["name"] for one in compared(made, "old.lprof", "new.lprof", "--top", "2")["functions"]]
    assert names == ["work", "fresh"]


def test_unit(made):
    out = diff(made, "-u", "1e-3", "old.lprof", "new.lprof").out
    assert "Timer unit: 0.001 s" in out
    assert re.search(r"^ +4 +7 +20\.0 +40\.0 +\+20\.0 +\+100\.0 ", out, re.M)


def test_measures(made):
    out = diff(made, "--measure", "self,mem", "old.lprof", "new.lprof").out
    assert "Self before" in out and "Time before" not in out and "Increment before" not in out
    assert diff(made, "--columns=self,mem", "old.lprof", "new.lprof").out == out
    function = compared(made, "--measure", "grown", "old.lprof", "new.lprof")["functions"][0]
    assert set(function["measures"]) == {"hits", "grown"}
    assert function["verdicts"] == ["grown"]


def test_noise_floor(made):
    def changed(floor):
        told = compared(made, "old.lprof", "new.lprof", "--noise-floor", floor)
        work = [one for one in told["functions"] if one["name"] == "work"][0]
        return {line["line"][1]: line["verdicts"] for line in work["lines"]}

    usual = {5: ["new"], 6: ["more hits"], 7: ["slower", "grown", "more hits"]}
    assert changed("1ms,50ns/hit,64KiB") == usual
    assert changed("0.1ms") == {4: ["slower"], **usual}
    assert changed("20ms") == {**usual, 7: ["grown", "more hits"]}
    assert changed("100us/hit") == {**usual, 7: ["grown", "more hits"]}  # 200 hits: 20 ms
    assert changed("99us/hit") == usual
    assert changed("3MiB") == {**usual, 7: ["slower", "more hits"]}
    assert changed("0") == {4: ["slower"], **usual}


def test_outfile(made):
    ended = diff(made, "old.lprof", "new.lprof", "-o", "out.txt")
    assert (ended.out, ended.err) == ("", "")
    assert (made / "out.txt").read_text() == diff(made, "old.lprof", "new.lprof").out
    ended = diff(made, "old.lprof", "new.lprof", "-o", "no/such/folder", code=1)
    assert len(ended.err.splitlines()) == 1 and "no/such/folder" in ended.err


# ---- json ----


def test_json(made):
    told = compared(made, "old.lprof", "new.lprof")
    assert (told["format"], told["version"], told["gates"]) == ("clineprof-diff", 1, None)
    assert told["before"] == {"files": ["old.lprof"], "wall": 0.05}
    assert told["noise_floor"] == {
        "time": pytest.approx(1e-3), "time_per_hit": pytest.approx(50e-9), "bytes": 65536,
    }  # fmt: skip
    work, fresh, gone = told["functions"]
    assert (work["name"], work["file"], work["line"]) == ("work", ["/srv/prog.py"] * 2, [1, 1])
    assert (fresh["file"], fresh["line"]) == ([None, "/srv/prog.py"], [None, 20])
    assert (gone["verdicts"], gone["line"]) == (["gone"], [10, None])
    assert work["total"] == {
        "before": pytest.approx(0.035), "after": pytest.approx(0.0574),
        "change": pytest.approx(0.0224), "percent": pytest.approx(64), "changed": True,
    }  # fmt: skip
    new, hits, edited = work["lines"]
    assert (new["line"], new["text"], new["edited"]) == ([None, 5], [None, "    more()"], False)
    assert new["measures"]["time"]["percent"] is None
    assert hits["measures"]["hits"]["change"] == 100 and not hits["measures"]["time"]["changed"]
    assert edited["text"] == ["        step(i)", "        step(i, 1)"] and edited["edited"]
    assert edited["measures"]["increment"]["change"] == 3 * MIB
    every = compared(made, "old.lprof", "new.lprof", "--all")["functions"][0]["lines"]
    assert [line["line"] for line in every] == [[2, 4], [None, 5], [3, 6], [4, 7], [5, 8]]


def more_calls(function, times):
    """The function with so many times the hits and times."""
    lines = {name: column if name == "line" else [n * times for n in column]
             for name, column in function["lines"].items()}  # fmt: skip
    return {**function, "lines": lines, "total": function["total"] * times, "raw_total": function["raw_total"] * times}


@pytest.fixture
def called(tmp_path):
    """once.lprof and often.lprof: another line calls leaf ten times as often, and fib takes longer from one line."""
    known_calls.write(tmp_path / "once.lprof")
    other, leaf = more_calls(known_calls.OTHER, 10), more_calls(known_calls.LEAF, 10)
    calls = {**known_calls.CALLS, "calls": [1, 2, 8, 12, 1, 10], "time": [10000, 9000, 600, 5000, 15000, 10000]}
    known_calls.write(tmp_path / "often.lprof", [known_calls.MAIN, more_calls(known_calls.FIB, 2), other, leaf], calls)
    known_calls.write(tmp_path / "old.lprof", calls=None)
    return tmp_path


def callers_in(text):
    return re.findall(r"^Called from .*", text, re.M)


def test_who_calls_a_function_more_often_explains_its_change(called):
    said = diff(called, "once.lprof", "often.lprof", "--noise-floor", "100ns,0/hit").out
    assert callers_in(said) == [
        "Called from main at app/walk.py:3: 2 calls, 8.00 us -> 9.00 us, +1.00 us (+12.5 %)",
        "Called from other at app/walk.py:12: 1 -> 10 calls, 1.00 us -> 10.0 us, +9.00 us (+900.0 %)",
    ]  # fmt: skip
    assert said.index("Function: fib") < said.index("Called from main") < said.index("Function: leaf")
    assert "Calls are not compared" not in said
    assert callers_in(diff(called, "once.lprof", "once.lprof").out) == []
    assert len(callers_in(diff(called, "once.lprof", "once.lprof", "--all").out)) == 6


def test_json_has_the_callers(called):
    told = compared(called, "once.lprof", "often.lprof", "--noise-floor", "100ns,0/hit")
    callers = {function["name"]: function["callers"] for function in told["functions"]}
    [other] = callers["leaf"]
    assert (other["name"], other["file"], other["line"]) == ("other", ["app/walk.py"] * 2, [12, 12])
    assert (other["calls"]["before"], other["calls"]["after"], other["calls"]["changed"]) == (1, 10, True)
    assert other["time"]["change"] == pytest.approx(9e-6)
    assert [caller["name"] for caller in callers["fib"]] == ["main"] and callers["other"] == []
    every = compared(called, "once.lprof", "once.lprof", "--all")["functions"]
    [root] = [function for function in every if function["name"] == "main"]
    assert [(caller["name"], caller["file"], caller["line"]) for caller in root["callers"]] == [
        (None, [None, None], [None, None])]


def test_callers_of_several_files_are_averaged(called):
    said = diff(called, "once.lprof", "once.lprof", "--", "often.lprof", "once.lprof", "--noise-floor", "0").out
    assert callers_in(said) == []  # the ranges overlap
    files = "once.lprof", "once.lprof", "--", "often.lprof", "often.lprof"
    said = diff(called, *files, "--noise-floor", "100ns,0/hit").out
    assert callers_in(said)[1].startswith("Called from other at app/walk.py:12: 1 -> 10 calls, ")


def test_callers_move_with_their_lines(called):
    def moved(function):
        lines = {**function["lines"], "line": [line + 5 for line in function["lines"]["line"]]}
        return {**function, "line": function["line"] + 5, "lines": lines}

    calls = {**known_calls.CALLS, "line": [0, 8, 13, 14, 9, 17], "calls": [1, 2, 8, 12, 1, 4]}
    known_calls.write(called / "moved.lprof", [moved(function) for function in known_calls.FUNCTIONS], calls)
    said = diff(called, "once.lprof", "moved.lprof", "--all").out
    assert "Called from other at app/walk.py:17: 1 -> 4 calls\n" in said
    assert "Called from main at app/walk.py:8: 2 calls\n" in said and len(callers_in(said)) == 6


def test_calls_that_one_side_lacks_are_not_compared(called):
    sentence = "Calls are not compared: only one side has them, the other was made by an older clineprof.\n"
    said = diff(called, "old.lprof", "often.lprof", "--noise-floor", "0").out
    assert said.count(sentence) == 1 and callers_in(said) == []
    assert sentence not in diff(called, "old.lprof", "old.lprof").out


def test_does_not_run_the_folder_it_stands_in(made):
    for name in "json", "struct", "re":
        (made / f"{name}.py").write_text("print('loaded')\n")
    ended = diff(made, "old.lprof", "new.lprof", "--format", "json")
    assert "loaded" not in ended.out and ended.err == ""


# ---- several files ----


def sides(folder, old, new):
    """old-0.lprof, .. with one line of so many milliseconds each."""
    for side, times in ("old", old), ("new", new):
        for place, time in enumerate(times):
            one = function("f", {2: (4, time)}, "def f():\n    pass\n")
            write(folder / f"{side}-{place}.lprof", one)
    return [f"old-{n}.lprof" for n in range(len(old))], [f"new-{n}.lprof" for n in range(len(new))]


def test_sides_are_averaged_and_their_spread_is_used(tmp_path):
    old, new = sides(tmp_path, [10, 20, 30], [31, 35])
    told = compared(tmp_path, *old, "--", *new)
    [line] = told["functions"][0]["lines"]
    time = line["measures"]["time"]
    assert (time["before"], time["after"]) == (pytest.approx(0.020), pytest.approx(0.033))
    assert time["before_range"] == [pytest.approx(0.010), pytest.approx(0.030)]
    assert time["after_range"] == [pytest.approx(0.031), pytest.approx(0.035)]
    assert time["percent"] == pytest.approx(65)
    out = diff(tmp_path, *old, "--", *new).out
    assert "Before: old-0.lprof old-1.lprof old-2.lprof (average of 3)\n" in out
    old, new = sides(tmp_path, [10, 20, 30], [29, 95])
    ended = diff(tmp_path, *old, "--", *new, "--fail-on", "time>+20%")
    assert ended.out.endswith("\nNo limit is broken: time>+20%\n")


# Two lots of screws of a textbook, in milliseconds: scipy.stats.ttest_ind(.., equal_var=False) has p 0.0908.
SCREWS = [30.02, 29.99, 30.11, 29.97, 30.01, 29.99], [29.89, 29.93, 29.72, 29.98, 30.02, 29.98]


def test_a_confidence_judges_by_the_spread_of_the_files(tmp_path):
    old, new = sides(tmp_path, *SCREWS)

    def told(confidence):
        return compared(tmp_path, *old, "--", *new, "--noise-floor", "0", "--all", "--confidence", confidence)

    one = told("90")
    assert one["confidence"] == {"percent": pytest.approx(90), "tests": 2}  # the line's time and its function's
    time = one["functions"][0]["lines"][0]["measures"]["time"]
    assert time["p_value"] == pytest.approx(0.0907733, rel=1e-4) and not time["changed"]  # 2 tests: 0.05 is needed
    assert time["change"] == pytest.approx(-0.095e-3, rel=1e-4)
    one = told("81")  # 2 tests: 0.095 is needed
    time = one["functions"][0]["lines"][0]["measures"]["time"]
    assert time["changed"] and one["functions"][0]["verdicts"] == ["faster"]
    one = told("95")  # t of 7.03056 degrees of freedom is 2.36257 there, by the same source
    assert one["functions"][0]["total"]["margin"] == pytest.approx(0.114569e-3, rel=1e-4)


def test_a_confidence_finds_what_one_strange_file_would_hide(tmp_path):
    old, new = sides(tmp_path, [10 + i / 10 for i in range(10)], [14 + i / 10 for i in range(9)] + [10])
    assert "(slower)" not in diff(tmp_path, *old, "--", *new).out
    out = diff(tmp_path, *old, "--", *new, "--confidence", "99.9").out
    assert "  (slower)\n" in out and re.search(r"Time before +Time after +Change +\+- +%  Line Contents", out)
    # nine tenths of the values of each side: 10.1 to 10.8, and 14.0 to 14.7
    assert re.search(r"^ +2 +2 +10450\.0 +14350\.0 +\+3900\.0 +\d+\.\d +\+37\.3 +pass$", out, re.M)
    assert "Confidence: 99.9 % that chance made none of these changes (Welch's t test of 2 numbers" in out
    assert out.endswith("f is 37 % slower; nothing else got slower for certain.\n")
    same = diff(tmp_path, *old, "--", *old, "--confidence", "99.9").out
    assert same.endswith("\nNothing got faster, slower, larger or smaller for certain.\n")


def test_how_small_a_change_may_be_missed(tmp_path):
    """Of these times the error of a side's mean is 0.5 ms. Student's t of 4 degrees of freedom is 8.6103 for a chance
    of 0.1 %, and 5.5976 for 0.5 %; two numbers are tested, so that each of them has half of the risk."""
    spread = 0.5 * 3**0.5  # standard deviation
    old, new = sides(tmp_path, [10 - spread, 10, 10 + spread], [11 - spread, 11, 11 + spread])
    for percent, t in ("99.8", 8.6103), ("99", 5.5976):
        least = t * 0.5**0.5
        words = [*old, "--", *new, "--confidence", percent]
        out = diff(tmp_path, *words).out
        assert f"\nA change of f by less than {least:.2f} ms ({10 * least:.0f} %) may be missed\n" in out
    wide = diff(tmp_path, *old, "--", *new, "--confidence", "99", "--noise-floor", "9ms").out
    assert "\nA change of f by less than 9.00 ms (90 %) may be missed\n" in wide
    wide = diff(tmp_path, *old, "--", *new, "--confidence", "99", "--noise-floor", "12ms").out
    assert "\nA change of f by less than 12.0 ms may be missed\n" in wide
    assert "may be missed" not in diff(tmp_path, *old, "--", *new).out


def test_what_a_limit_checks_is_tested_with_a_confidence(tmp_path):
    old, new = sides(tmp_path, *SCREWS)
    words = [*old, "--", *new, "--noise-floor", "0", "--confidence", "81"]
    assert compared(tmp_path, *words, "--fail-on", "time<-0.2%", code=3)["confidence"]["tests"] == 2
    assert compared(tmp_path, *words, "--fail-on", "self<-0.2%,total<-1%")["confidence"]["tests"] == 4


def test_a_confidence_that_cannot_be_had(tmp_path):
    old, new = sides(tmp_path, [10, 11, 12], [20, 21])
    ended = diff(tmp_path, *old, "--", *new, "--confidence", "99", code=2)
    assert "needs 3 profiles or more on each side" in ended.err and ended.err.count("\n") == 1
    assert "below 100" in diff(tmp_path, *old, "--", *old, "--confidence", "100", code=2).err


def test_renamed_matches_the_last_file_of_each_side(tmp_path):
    for name in "old", "new":
        one = function("f", {2: (1, 10)}, "def f():\n    pass\n", file=f"/srv/{name}.py")
        write(tmp_path / name, one, function("g", {2: (1, 5)}, "def g():\n    pass\n", file="/srv/same.py"))
    assert "1 new, 1 gone" in diff(tmp_path, "old", "new").out
    assert "Functions: 2 unchanged" in diff(tmp_path, "old", "new", "--renamed").out
    two = function("f", {2: (1, 10)}, "def f():\n    pass\n", file="/srv/third.py")
    write(tmp_path / "new", one, two, function("g", {2: (1, 5)}, "def g():\n    pass\n", file="/srv/same.py"))
    assert "2 new, 1 gone" in diff(tmp_path, "old", "new", "--renamed").out  # nobody knows which


def test_how_sides_are_parted(tmp_path):
    sides(tmp_path, [10, 10], [20, 20])
    # options stand anywhere
    expected = diff(tmp_path, "--all", "old-0.lprof", "--", "new-0.lprof", "new-1.lprof").out
    for words in (
        ["old-0.lprof", "--", "new-0.lprof", "--all", "new-1.lprof"],
        ["old-0.lprof", "--all", "--", "new-0.lprof", "new-1.lprof"],
        ["old-0.lprof", "--", "--all", "new-0.lprof", "--", "new-1.lprof"],
    ):
        assert diff(tmp_path, *words).out == expected
    both = diff(tmp_path, "old-0.lprof", "new-0.lprof").out
    assert diff(tmp_path, "old-0.lprof", "--", "new-0.lprof").out == both
    assert diff(tmp_path, "--", "old-0.lprof", "new-0.lprof").out == both
    (tmp_path / "-odd").write_bytes((tmp_path / "new-0.lprof").read_bytes())
    out = diff(tmp_path, "old-0.lprof", "--", "--", "-odd").out
    assert "After:  -odd\n" in out


@pytest.mark.parametrize(
    "words, told",
    {
        (): "diff needs two profiles, an old and a new one",
        ("a",): "diff needs two profiles, an old and a new one",
        ("a", "b", "c"): "which of the files are old, and which are new? Put -- between them",
        ("a", "b", "--"): "there is no new profile on that side of --",
        ("--", "a", "b", "c"): "there is no old profile on that side of --",
        ("--wrong", "a", "b"): "unknown option '--wrong'",
        ("--top", "0", "a", "b"): "option '--top' needs a whole number above 0, not '0'",
        ("--top", "x", "a", "b"): "option '--top' needs a whole number such as 10, not 'x'",
        ("-u", "0", "a", "b"): "option '-u' needs a number above 0",
        ("--measure", "zeit", "a", "b"): "option '--measure' needs some of hits,time,raw-time,",
        ("--measure", "hits,tim", "a", "b"): "option '--measure' does not take 'tim' (did you mean time?)",
        ("--measure", "total", "a", "b"): ", not 'total'",
        ("--noise-floor", "1", "a", "b"): "option '--noise-floor' needs amounts such as 1ms,",
        ("--format", "xml", "a", "b"): "option '--format' needs text, json, html or github, not 'xml'",
        ("--format", "htlm", "a", "b"): "option '--format' does not take 'htlm' (did you mean html?)",
        ("--fail-on", "time>20%", "a", "b"): "option '--fail-on' needs ns, us, ms or s at character 8",
        ("--fail-on", "tempo>+1%", "a", "b"): "at character 1 of 'tempo>+1%'",
        ("a", "b", "--fail-on"): "option '--fail-on' needs a LIMITS",
        ("-", "-"): "standard input (-) can be read only once",
    }.items(),
)
def test_usage(words, told, tmp_path):
    ended = diff(tmp_path, *words, code=2)
    assert ended.out == "" and len(ended.err.splitlines()) == 1
    assert ended.err.startswith("clineprof: ") and told in ended.err
    if not told.startswith("standard"):
        assert ended.err.endswith("; see clineprof diff --help\n")


def test_help(tmp_path):
    for word in "-h", "--help":
        ended = diff(tmp_path, word)
        assert ended.out.startswith("usage: clineprof diff [options] old.lprof new.lprof\n")
        assert "--fail-on LIMITS" in ended.out and ended.err == ""
    assert "clineprof diff old.lprof new.lprof" in run_viewer(["--help"], tmp_path).out


# ---- limits ----


def test_a_broken_gate_names_every_line(made):
    limits = "time>+20%,increment>+2MB,hits>+0,total>30ms"
    ended = diff(made, "old.lprof", "new.lprof", "--fail-on", limits, code=3)
    assert ended.err == ""
    assert ended.out.endswith(
        f"\n\nLimits are broken: {limits}\n"
        "/srv/prog.py:1: work: total 35.0 ms -> 57.4 ms, +22.4 ms (+64.0 %) breaks total>30ms\n"
        "/srv/prog.py:5: work: time 0 s -> 2.00 ms, +2.00 ms breaks time>+20%: more()\n"
        "/srv/prog.py:5: work: hits 0 -> 1, +1 breaks hits>+0: more()\n"
        "/srv/prog.py:6: work: hits 101 -> 201, +100 (+99.0 %) breaks hits>+0: for i in range(n):\n"
        "/srv/prog.py:7: work: time 20.0 ms -> 40.0 ms, +20.0 ms (+100.0 %) breaks time>+20%: "
        "step(i, 1)\n"
        "/srv/prog.py:7: work: increment 1.000 MiB -> 4.000 MiB, +3.000 MiB (+300.0 %) breaks "
        "increment>+2MB: step(i, 1)\n"
        "/srv/prog.py:7: work: hits 100 -> 200, +100 (+100.0 %) breaks hits>+0: step(i, 1)\n"
        "/srv/prog.py:21: fresh: time 0 s -> 7.00 ms, +7.00 ms breaks time>+20%: pass\n"
        "/srv/prog.py:21: fresh: hits 0 -> 1, +1 breaks hits>+0: pass\n"
    )


@pytest.mark.parametrize(
    "limits, code",
    {
        "time>+100%": 3,  # the new lines
        "time>+20ms": 0,
        "time>+19.9ms": 3,
        "time>41ms": 0,
        "time<-2ms": 3,  # gone took 3 ms
        "time<-3ms": 0,
        "increment>+3MiB": 0,
        "increment>+3MB": 3,
        "grown>+3145727B": 3,
        "mem>10MiB": 0,
        "mem>10MB": 3,
        "hits>201": 0,
        "hits > 200": 3,
        "total>+64.1%": 3,  # fresh is new
        "total>57.4ms": 0,
        "self>+19ms": 3,
        "max>+20ms": 0,
        "await>+0": 0,
    }.items(),
)
def test_limits(limits, code, made):
    ended = diff(made, "old.lprof", "new.lprof", "--fail-on", limits, code=code)
    calm = f"\nNo limit is broken: {limits}\n"
    assert ended.out.endswith(calm) == (code == 0)


def test_gates_where_the_output_is_for_machines(made):
    limits = ["--fail-on", "time>+60ms,hits>+100"]
    told = compared(made, "old.lprof", "old.lprof", *limits)
    assert told["gates"] == {"expression": limits[1], "passed": True, "broken": []}
    limits = ["--fail-on", "time>+15ms"]
    for words in ["--format", "json"], ["-o", "out"], ["--format=json", "-o", "out"]:
        ended = diff(made, "old.lprof", "new.lprof", *limits, *words, code=3)
        assert ended.err.startswith("Limits are broken: time>+15ms\n/srv/prog.py:7: work: time ")
        assert len(ended.err.splitlines()) == 2
    [broken] = json.loads((made / "out").read_text())["gates"]["broken"]
    assert (broken["gate"], broken["line"], broken["text"]) == ("time>+15ms", 7, "        step(i, 1)")
    assert broken["change"]["change"] == pytest.approx(0.020)


def test_memory_that_nobody_recorded(made):
    work = function("work", {2: (1, 10)}, OLD_WORK)
    write(made / "plain.lprof", work, has_memory=False)
    assert "MiB" not in diff(made, "plain.lprof", "new.lprof").out
    for words in (
        ["--fail-on", "increment>+1MB"],
        ["--fail-on", "time>+1s,mem>+1%"],
        ["--measure", "time,grown"],
    ):
        ended = diff(made, "plain.lprof", "new.lprof", *words, code=1)
        assert re.fullmatch(
            r"clineprof: (increment|mem|grown) cannot be compared: plain.lprof has no such numbers\n",
            ended.err,
        )
    # a limit is of the new side alone
    diff(made, "plain.lprof", "new.lprof", "--fail-on", "mem>1GB")


# ---- GitHub ----


def test_annotations(made):
    env = {"GITHUB_WORKSPACE": "/srv"}
    words = ["old.lprof", "new.lprof", "--format", "github"]
    assert diff(made, *words, env=env).out.splitlines() == [
        "::warning file=prog.py,line=5,title=work new::time 0 s -> 2.00 ms, +2.00 ms: more()",
        "::warning file=prog.py,line=7,title=work slower::time 20.0 ms -> 40.0 ms, +20.0 ms "
        "(+100.0 %25); increment 1.000 MiB -> 4.000 MiB, +3.000 MiB (+300.0 %25): step(i, 1)",
        "::warning file=prog.py,line=21,title=fresh new::time 0 s -> 7.00 ms, +7.00 ms: pass",
    ]
    limits = ["--fail-on", "time>+5ms,time<-2ms"]
    assert diff(made, *words, *limits, env=env, code=3).out.splitlines() == [
        "::error file=prog.py,line=7,title=work time::prog.py:7: work: time 20.0 ms -> 40.0 ms, "
        "+20.0 ms (+100.0 %25) breaks time>+5ms: step(i, 1)",
        "::error file=prog.py,line=21,title=fresh time::prog.py:21: fresh: time 0 s -> 7.00 ms, "
        "+7.00 ms breaks time>+5ms: pass",
        # the file of what is gone may be gone, too
        "::error title=gone time::prog.py:11: gone: time 3.00 ms -> 0 s, -3.00 ms (-100.0 %25) "
        "breaks time<-2ms: pass",
    ]
    calm = diff(made, *words, "--fail-on", "time>+1s", env=env)
    assert calm.out == "No limit is broken: time>+1s\n"


def test_a_line_that_is_gone_has_no_place_to_be_annotated(tmp_path):
    write(tmp_path / "old", function("f", {2: (1, 50)}, "def f():\n    slow()\n"))
    write(tmp_path / "new", function("f", {2: (1, 0)}, "def f():\n    pass\n"))
    words = ["old", "new", "--format", "github", "--fail-on", "time<-1ms"]
    assert diff(tmp_path, *words, code=3).out == (
        "::error title=f time::/srv/prog.py:2: f: time 50.0 ms -> 0 s, -50.0 ms (-100.0 %25) breaks "
        "time<-1ms: slow()\n"
    )


def test_step_summary(made):
    page = made / "summary.md"
    page.write_text("what was there\n")
    env = {"GITHUB_STEP_SUMMARY": str(page), "GITHUB_WORKSPACE": "/srv"}
    words = ["old.lprof", "new.lprof", "--format", "github"]
    diff(made, *words, "--fail-on", "time>+15ms", env=env, code=3)
    lines = page.read_text().splitlines()
    assert lines[:2] == ["what was there", "### clineprof diff"]
    assert (
        "| <code>work</code> | prog&#46;py:1 | 35.0 ms | 57.4 ms | +22.4 ms (+64.0 %) "
        "| slower, grown |" in lines
    )
    assert (
        "| time&#62;&#43;15ms | prog&#46;py&#58;7&#58; work | 20.0 ms | 40.0 ms | +20.0 ms (+100.0 %) "
        "| <code>step&#40;i&#44; 1&#41;</code> |" in lines
    )
    env["GITHUB_STEP_SUMMARY"] = str(made / "no" / "folder")
    ended = diff(made, *words, env=env, code=1)
    assert ended.err == f"clineprof: cannot append to {made}/no/folder: No such file or directory\n"
    # other formats leave the page alone
    env["GITHUB_STEP_SUMMARY"] = str(page)
    diff(made, "old.lprof", "new.lprof", env=env)
    assert page.read_text().splitlines() == lines


def test_what_is_told_of_many_changes(tmp_path):
    for side, time in ("old", 5), ("new", 50):
        some = [function(f"f{i}", {i: (time + 1, time)}, "def f():\n    pass\n", line=i) for i in range(1, 120)]
        write(tmp_path / side, *some)
    page = tmp_path / "page.md"
    env = {"GITHUB_STEP_SUMMARY": str(page), "GITHUB_WORKSPACE": "/srv/"}
    words = ["old", "new", "--format", "github", "--measure", "hits,time"]
    out = diff(tmp_path, *words, env=env).out.splitlines()
    assert len(out) == 119 and out[0] == (
        "::warning file=prog.py,line=1,title=f1 slower::hits 6 -> 51, +45 (+750.0 %25); time 5.00 ms -> 50.0 ms, "
        "+45.0 ms (+900.0 %25): def f():"
    )
    assert page.read_text().endswith("\n\n69 more functions changed.\n\n")
    page.unlink()
    diff(tmp_path, *words, "--top", "118", "--fail-on", "hits>+1", env=env, code=3)
    text = page.read_text()
    assert "\n1 more function changed.\n\n| limit |" in text and text.endswith("\n\n19 more broke a limit.\n")
    assert text.count("| hits&#62;&#43;1 |") == 100


def test_what_the_program_is_called_stays_text(tmp_path):
    name = "f\n::error::x | <b> `c` \x1b[31m"
    for side, time in ("old", 5), ("new", 50):
        text = "def f():\n    'a | b <i>%0A::warning::\x1b[2J\u202e'\n"
        one = function(name, {2: (1, time)}, text, file="/srv/a,b:c\r\n.py")
        write(tmp_path / f"{side}.lprof", one)
    page = tmp_path / "page.md"
    ended = diff(
        tmp_path, "old.lprof", "new.lprof", "--format", "github", "--fail-on", "time>+1%",
        env={"GITHUB_STEP_SUMMARY": str(page)}, code=3,
    )  # fmt: skip
    [line] = ended.out.splitlines()
    assert line.startswith(
        "::error file=/srv/a%2Cb%3Ac\\x0d\\x0a.py,line=2,title=f\\x0a%3A%3Aerror%3A%3Ax | <b> "
    )
    assert "%250A" in line and "%0A" not in line
    assert "<b>" not in page.read_text() and "<i>" not in page.read_text()
    text = diff(tmp_path, "old.lprof", "new.lprof", "--fail-on", "time>+1%", code=3).out
    assert "\x1b" not in text and "\r" not in text and "\n::" not in text
    [told] = compared(tmp_path, "old.lprof", "new.lprof")["functions"]
    assert told["name"] == name


# ---- programs that ran ----

BEFORE = """
@profile
def stays():
    total = 0
    for i in range(100):
        total += i
    return total

@profile
def renamed():
    return 1

@profile
def deleted():
    return 2

class Shape:
    @profile
    def area(self):
        return 6

stays(), renamed(), deleted(), Shape().area()
"""
AFTER = """
# a line above
import sys

@profile
def stays():
    total = 0
    sys.intern("inserted")
    for i in range(200):
        total += i
    return total

@profile
def another_name():
    return 1

class Shape:
    @profile
    def area(self):
        return 6

stays(), another_name(), Shape().area()
"""


def test_an_edited_program(tmp_path):
    for name, text in ("before", BEFORE), ("after", AFTER):
        folder = tmp_path / name / "src"
        folder.mkdir(parents=True)
        (folder / "prog.py").write_text(text)
        assert run_ckernprof(["-l", "-o", tmp_path / name / "p", "prog.py"], folder).code == 0
    # the noise floor of a machine under load: nothing here takes that long
    told = compared(tmp_path, "before/p", "after/p", "--noise-floor", "1s,1GiB", "--all")
    verdicts = {one["name"]: one["verdicts"] for one in told["functions"]}
    assert verdicts == {
        "stays": [], "renamed": ["gone"], "deleted": ["gone"], "another_name": ["new"],
        "Shape.area": [],
    }  # fmt: skip
    [stays] = [one for one in told["functions"] if one["name"] == "stays"]
    assert [name.rsplit("/", 3)[1:] for name in stays["file"]] == [
        ["before", "src", "prog.py"], ["after", "src", "prog.py"],
    ]  # fmt: skip
    rows = {
        tuple(line["line"]): (line["verdicts"], line["measures"]["hits"]["change"])
        for line in stays["lines"]
    }
    assert rows == {
        (4, 7): ([], 0), (None, 8): (["new"], 1), (5, 9): (["more hits"], 100),
        (6, 10): (["more hits"], 100), (7, 11): ([], 0),
    }  # fmt: skip


def test_a_live_file_and_one_from_line_profiler(made):
    run_ckernprof(["-l", "-c", "import os\n@profile\ndef f():\n    os._exit(0)\nf()\n"], made)
    [live] = made.glob("*.live")
    assert "Function: f at line 2" in diff(made, "old.lprof", live.name).out
    run_viewer(["--format", "line_profiler", "-o", "pickle", "old.lprof"], made)
    told = compared(made, "pickle", "old.lprof", "--all")
    assert told["summary"]["unchanged"] == 2 and told["summary"]["changed_within"] == 0
    ended = diff(made, "pickle", "old.lprof", "--fail-on", "self>+0", code=1)
    assert ended.err == "clineprof: self cannot be compared: pickle has no such numbers\n"


def test_standard_input(made):
    command = [*map(str, viewer_command()), "diff", "-", "new.lprof"]
    ended = subprocess.run(
        command, cwd=made, input=(made / "old.lprof").read_bytes(), capture_output=True,
        env=clean_environment(),
    )  # fmt: skip
    assert ended.stdout.decode().startswith("Before: - (Python 3.12.1, ")
    assert ended.stdout.decode().endswith(SUMMARY)


def test_module(made):
    command = [sys.executable, "-m", "clineprof", "diff", "old.lprof", "new.lprof"]
    ended = run(command, made, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == (diff(made, "old.lprof", "new.lprof").out, "")


# ---- bad input ----


@pytest.mark.parametrize(
    "content, told",
    {
        None: "bad: No such file or directory",
        b"": "bad: the file is empty",
        b"hello, world\n": "bad: not a clineprof profile",
        b"\x86\xa6format\xa9clineprof": "bad: cut off",
        b"cos\nsystem\n(S'touch ran'\ntR.": "bad: ",
        b"\x80\x05cos\nsystem\nX\x09\x00\x00\x00touch ran\x85R.": "bad: ",
    }.items(),
)
def test_bad_files(content, told, made):
    if content is not None:
        (made / "bad").write_bytes(content)
    for words in ["bad", "new.lprof"], ["old.lprof", "bad"], ["old.lprof", "--", "new.lprof", "bad"]:
        ended = diff(made, *words, "-o", "out", code=1)
        assert ended.out == "" and len(ended.err.splitlines()) == 1
        assert told in ended.err
    assert not (made / "out").exists() and not (made / "ran").exists()


def test_a_folder_and_a_profile_without_functions(made):
    (made / "folder").mkdir()
    assert "folder: Is a directory" in diff(made, "folder", "new.lprof", code=1).err
    write(made / "none.lprof")
    out = diff(made, "none.lprof", "none.lprof").out
    assert "Functions: 0 unchanged\n" in out
    assert "Functions: 2 new\n" in diff(made, "none.lprof", "new.lprof").out
    diff(made, "none.lprof", "new.lprof", "--fail-on", "hits>+0", code=3)


def test_functions_with_odd_lines(tmp_path):
    """Lines before the first, far behind the text, and without any; no text on a side."""
    top = 2**31 - 1
    one = function("f", {1: (1, 9), 50: (1, 9), top: (1, 9)}, "def f():\n", line=40)
    write(tmp_path / "a", one, function("empty", {}, line=top))
    two = function("f", {1: (2, 9), 50: (1, 90), top: (1, 9)}, None, line=40)
    write(tmp_path / "b", two, function("empty", {}, "\n\n"))
    told = compared(tmp_path, "a", "b")
    [f] = told["functions"]
    assert {tuple(line["line"]): line["verdicts"] for line in f["lines"]} == {
        (1, 1): ["more hits"], (50, 50): ["slower"],
    }  # fmt: skip
    assert diff(tmp_path, "a", "b", "--all").err == ""


def test_without_text_on_a_side_no_line_is_called_new(tmp_path):
    write(tmp_path / "old", function("f", {2: (1, 5)}, None))
    write(tmp_path / "new", function("f", {2: (1, 50)}, "def f():\n    slow()\n    # end\n"))
    out = diff(tmp_path, "old", "new", "--all").out
    rows = out.split("=\n")[1].split("\n\n")[0].splitlines()
    assert [row.split() for row in rows] == words_of(
        "1 def f():\n 2 2 5000.0 50000.0 +45000.0 +900.0 slow()\n 3 # end"
    )


def test_closed_pipe_and_full_disk(made):
    command = f"'{viewer_command()[0]}' diff old.lprof new.lprof"
    ended = run(["bash", "-c", f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}"], made)
    assert ended.out.splitlines() == [TEXT.splitlines()[0], "0"] and ended.err == ""
    ended = run(["sh", "-c", f"{command} >/dev/full"], made)
    assert ended.code == 1 and len(ended.err.splitlines()) == 1
