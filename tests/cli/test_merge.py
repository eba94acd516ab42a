# SPDX-License-Identifier: MIT
"""clineprof merge, and the sum that the viewer makes of several files."""

import os
import time

import pytest
from harness import Profile, run, run_ckernprof, run_viewer, viewer_command
from profiles import MIB, MS, function, write
from terminal import on_terminal

pytestmark = pytest.mark.once

TEXT = "def f():\n    a\n    b\n"


def merge(folder, *words, code=0, **options):
    ended = run_viewer(["merge", *words], folder, **options)
    assert ended.code == code, ended.err
    return ended


def measures(profile, name, line):
    found = profile.line(name, line)
    return {what: found[what] for what in ("hits", "time", "self", "max", "rss", "grown")}


@pytest.fixture
def made(tmp_path):
    one = function("f", {2: (3, 10, 1), 3: (1, 5)}, TEXT)
    one["lines"]["rss"] = [50 * MIB, 7 * MIB]
    only = function("g", {11: (1, 1)}, None, line=10)
    write(tmp_path / "one.lprof", one, only, wall=10 * MS, python="3.12.1")
    two = function("f", {2: (4, 2, 2), 4: (9, 1)}, TEXT)
    write(tmp_path / "two.lprof", two, wall=20 * MS, python="3.13.0")
    return tmp_path


def test_sums_and_maxima(made):
    ended = merge(made, "-o", "sum.lprof", "one.lprof", "two.lprof")
    assert ended.out == "Wrote the sum of 2 profiles to 'sum.lprof'\n" and ended.err == ""
    profile = Profile(made / "sum.lprof")
    assert [key[2] for key in profile.functions] == ["f", "g"]
    assert measures(profile, "f", 2) == {
        "hits": 7, "time": 12 * MS, "self": 12 * MS, "max": 10 * MS, "rss": 50 * MIB,
        "grown": 3 * MIB,
    }  # fmt: skip
    assert Profile.measure(profile.function("f"), "hits") == {2: 7, 3: 1, 4: 9}
    assert profile.function("f")["total"] == 18 * MS
    assert (profile.meta["wall"], profile.meta["python"]) == (30 * MS, "3.12.1")
    assert list(profile.sources().values()) == [TEXT]


def test_the_viewer_shows_the_same_sum(made):
    merge(made, "one.lprof", "two.lprof", "-o", "sum.lprof")
    assert (
        run_viewer(["sum.lprof"], made).out == run_viewer(["one.lprof", "two.lprof"], made).out
    )


def test_units_are_reconciled(made):
    """One file counts in microseconds, one in nanoseconds."""
    coarse = function("f", {2: (1, 0)}, TEXT)
    coarse["lines"].update(time=[250], self=[250], max=[250])
    coarse["total"] = 250
    write(made / "coarse.lprof", coarse, unit=1e-6, wall=250)
    merge(made, "one.lprof", "coarse.lprof", "-o", "sum.lprof")
    profile = Profile(made / "sum.lprof")
    assert profile.raw["unit"] == 1e-9
    assert measures(profile, "f", 2)["time"] == 10 * MS + 250_000
    assert profile.function("f")["total"] == 15 * MS + 250_000
    assert profile.meta["wall"] == 10 * MS + 250_000


def test_many_files_add_up(made):
    merge(made, *["one.lprof"] * 60, "-o", "sum.lprof")
    assert measures(Profile(made / "sum.lprof"), "f", 2) == {
        "hits": 180, "time": 600 * MS, "self": 600 * MS, "max": 10 * MS, "rss": 50 * MIB,
        "grown": 60 * MIB,
    }  # fmt: skip


def test_the_usual_name_is_not_counted_again(made):
    assert merge(made, "one.lprof").out == "Wrote the sum of 1 profile to 'merged.lprof'\n"
    before = (made / "merged.lprof").read_bytes()
    for name in "merged.lprof", "./merged.lprof", str(made / "merged.lprof"):
        ended = merge(made, "one.lprof", name, code=2)
        assert ended.err == (
            "clineprof: merged.lprof is one of the files to add, and the sum is written there; name "
            "another output with -o\n"
        )
    assert (made / "merged.lprof").read_bytes() == before
    # where it is said, that is what is wanted: a sum that is added to
    merge(made, "merged.lprof", "two.lprof", "-o", "merged.lprof")
    assert measures(Profile(made / "merged.lprof"), "f", 2)["hits"] == 7


# ---- texts that differ ----


def test_functions_whose_texts_differ_are_kept_apart(made):
    for name, text, hits in ("two", "def f():\n    A\n    b\n", 5), ("three", TEXT, 6):
        write(made / f"{name}.lprof", function("f", {2: (hits, 1)}, text))
    files = ["one.lprof", "two.lprof", "three.lprof"]
    said = (
        "clineprof: a function's source differs from file to file and is kept apart: f (2), "
        "/srv/prog.py:1\n"
    )
    ended = merge(made, *files, "-o", "sum.lprof")
    assert ended.err == said
    profile = Profile(made / "sum.lprof")
    hits = {key[2]: Profile.measure(one, "hits")[2] for key, one in profile.functions.items() if key[2] != "g"}
    assert hits == {"f": 9, "f (2)": 5}
    texts = {key[2]: text for key, text in profile.sources().items()}
    assert texts == {"f": TEXT, "f (2)": "def f():\n    A\n    b\n"}
    # the viewer sums in the same way
    shown = run_viewer(files, made)
    assert shown.err == said and "Function: f (2) at line 1\n" in shown.out
    # and what was merged is recognised by its text
    ended = merge(made, "sum.lprof", "two.lprof", "three.lprof", "-o", "again.lprof")
    profile = Profile(made / "again.lprof")
    hits = {key[2]: Profile.measure(one, "hits")[2] for key, one in profile.functions.items() if key[2] != "g"}
    assert hits == {"f": 15, "f (2)": 10}


def test_several_are_told_in_one_line(made):
    ones = [function(name, {2: (1, 1)}, TEXT) for name in ("x\x1b[31m", "y", "z")]
    write(made / "a", *ones)
    for one in ones:
        one["text"] += "    c\n"
    write(made / "b", *ones)
    assert merge(made, "a", "b", "-o", "c").err == (
        "clineprof: the source of 3 functions differs from file to file and is kept apart; the first "
        "is x\\x1b[31m (2), /srv/prog.py:1\n"
    )


def test_text_that_one_file_lacks_is_taken_from_the_other(made):
    write(made / "bare.lprof", function("f", {2: (1, 1)}, None))
    assert merge(made, "bare.lprof", "one.lprof", "-o", "sum.lprof").err == ""
    assert list(Profile(made / "sum.lprof").sources().values()) == [TEXT]


# ---- kinds of files ----


def test_live_files_and_pickles(made):
    program = "import os\n@profile\ndef f():\n    os._exit(0)\nf()\n"
    run_ckernprof(["-l", "-o", "died.lprof", "-c", program], made)
    run_viewer(["--format", "line_profiler", "-o", "pickle", "one.lprof"], made)
    ended = merge(made, "died.lprof.live", "pickle", "-o", "sum.lprof")
    assert "did not end by itself\n" in ended.err
    profile = Profile(made / "sum.lprof")
    assert sorted(key[2] for key in profile.functions) == ["f", "f", "g"]
    assert profile.functions["/srv/prog.py", 1, "f"]["total"] == 15 * MS


def test_through_pipes(made):
    command = f"'{viewer_command()[0]}' merge -o - one.lprof - <two.lprof"
    ended = run(["bash", "-c", f"{command} | '{viewer_command()[0]}' -"], made)
    assert ended.err == ""
    assert ended.out == run_viewer(["one.lprof", "two.lprof"], made).out


# ---- what is wrong ----


@pytest.mark.parametrize(
    "content, told",
    {
        None: "bad: No such file or directory",
        b"": "bad: the file is empty",
        b"plain text": "bad: not a clineprof profile",
        b"\x86\xa6format\xa9clineprof": "bad: cut off",
        b"\x80\x05cos\nsystem\nX\x09\x00\x00\x00touch ran\x85R.": "bad: ",
    }.items(),
)
def test_one_bad_file_and_nothing_is_written(content, told, made):
    if content is not None:
        (made / "bad").write_bytes(content)
    (made / "sum.lprof").write_text("what was there")
    for files in ["bad", "one.lprof"], ["one.lprof", "bad"], ["one.lprof", "bad", "two.lprof"]:
        ended = merge(made, "-o", "sum.lprof", *files, code=1)
        assert ended.out == "" and len(ended.err.splitlines()) == 1 and told in ended.err
        assert (made / "sum.lprof").read_text() == "what was there"
    assert not (made / "ran").exists()


@pytest.mark.parametrize(
    "words, code, told",
    [
        ([], 2, "no profile to merge; see clineprof merge --help"),
        (["--wrong", "a"], 2, "unknown option '--wrong'; see clineprof merge --help"),
        (["a", "-o"], 2, "option '-o' needs a FILE; see clineprof merge --help"),
        (["-", "-"], 2, "standard input (-) can be read only once"),
        (["one.lprof", "-o", "no/such"], 1, "no/such"),
        (["one.lprof", "-o", "/dev/full"], 1, "/dev/full"),
    ],
)
def test_usage(words, code, told, made):
    ended = merge(made, *words, code=code)
    assert ended.out == "" and len(ended.err.splitlines()) == 1 and told in ended.err


def test_help(made):
    assert merge(made, "--help").out.startswith("usage: clineprof merge [-o FILE] profile.lprof ...")
    assert "clineprof merge [-o OUTFILE] profile.lprof ..." in run_viewer(["--help"], made).out


# ---- progress ----


@pytest.mark.parametrize("words", [["merge"], ["--summarize"], ["diff"]])
def test_progress_where_it_takes_long(words, made):
    """The first file is a pipe, whose writer takes its time."""
    os.mkfifo(made / "pipe")

    def feed():
        with open(made / "pipe", "wb") as pipe:
            time.sleep(0.7)
            pipe.write((made / "one.lprof").read_bytes())

    data, code = on_terminal([*viewer_command(), *words, "pipe", "two.lprof"], made, beside=feed,
                             streams=["stderr"])
    assert code == 0 and data.decode() == "\r\x1b[Kreading 2 of 2\r\x1b[K"


def test_progress_is_for_terminals_only(made):
    os.mkfifo(made / "pipe")
    script = "(sleep 0.7; cat one.lprof) >pipe & exec \"$0\" merge pipe two.lprof"
    ended = run(["bash", "-c", script, *viewer_command()], made)
    assert (ended.code, ended.err) == (0, "")
