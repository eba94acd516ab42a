# SPDX-License-Identifier: MIT
"""line_profiler's files: read without running anything in them, written so that line_profiler opens
them, and shown without reading what they merely name."""

import collections
import datetime
import json
import os
import pickle
import re
import struct
import sys
import types

import pytest
from harness import (
    BUILD,
    FIXTURES,
    MIB,
    run_ckernprof,
    run_python,
    run_viewer,
)

pytestmark = pytest.mark.once

PROGRAM = """\
@profile
def slow(n):
    total = 0
    for i in range(n):
        total += i ** 2
    return total


class A:
    @profile
    def method(self, x):
        if x > 0:
            return self.method(x - 1)
        return slow(50)


@profile
def never():
    return "never"


slow(2000)
A().method(5)
"""


# ---- files made by hand ----


def stats(module="line_profiler.line_profiler"):
    """line_profiler's class, under the name it has in a pickle."""
    return type("LineStats", (), {"__module__": module})


def pickled(timings, unit=1e-9, protocol=4, module="line_profiler.line_profiler", **more):
    """A file as line_profiler writes it, made without line_profiler."""
    found = stats(module)
    parts = module.split(".")
    modules = {
        ".".join(parts[:n]): types.ModuleType(".".join(parts[:n]))
        for n in range(1, len(parts) + 1)
    }
    modules[module].LineStats = found
    before = {name: sys.modules.get(name) for name in modules}
    thing = found()
    thing.__dict__.update(timings=timings, unit=unit, **more)
    sys.modules.update(modules)
    try:
        return pickle.dumps(thing, protocol)
    finally:
        for name, old in before.items():
            if old is None:
                del sys.modules[name]
            else:
                sys.modules[name] = old


TIMINGS = {("nowhere.py", 3, "f"): [(4, 2, 70_000), (5, 300, 12_345_678)]}


def view(folder, *words, **more):
    ended = run_viewer(words, folder, **more)
    assert (ended.err, ended.code) == ("", 0)
    return ended.out


def refused(content, folder):
    """The viewer's one line about a file with these bytes."""
    (folder / "x.lprof").write_bytes(content)
    ended = run_viewer(["x.lprof"], folder)
    lines = ended.err.splitlines()
    assert (ended.code, ended.out, len(lines)) == (1, "", 1), (ended.code, ended.err)
    assert lines[0].startswith("clineprof: x.lprof: ")
    return lines[0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "module", ["_line_profiler", "line_profiler._line_profiler", "line_profiler.line_profiler"]
)
def test_every_protocol_and_module(protocol, module, tmp_path):
    path = tmp_path / "x.lprof"
    path.write_bytes(pickled(TIMINGS, 1e-9, protocol, module, later="attribute", more=[1, {2: 3.5}]))
    report = view(tmp_path, "x.lprof")
    assert "Total time: 0.0124157 s\n" in report
    assert "     4         2         70.0     35.0      0.6  \n" in report
    assert "     5       300      12345.7     41.2     99.4  \n" in report
    assert "MiB" not in report and "Profiled by" not in report


def test_units_are_reconciled(tmp_path):
    (tmp_path / "nano.lprof").write_bytes(pickled(TIMINGS))
    (tmp_path / "micro.lprof").write_bytes(
        pickled({("nowhere.py", 3, "f"): [(4, 1, 7), (5, 2.0, 1.5)][:1]}, 1e-6)
    )
    report = view(tmp_path, "nano.lprof", "micro.lprof")
    assert "     4         3         77.0     25.7      0.6  \n" in report
    (tmp_path / "x.lprof").write_bytes(pickled({("f.py", 1, "f"): [(1, 1, 1 << 62)]}, 1))
    ended = run_viewer(["x.lprof"], tmp_path)
    assert ended.code == 1 and "a line's time is no number in its range" in ended.err


def test_a_sum_of_all_three_kinds(script, tmp_path):
    path = script("@profile\ndef f():\n    return 1\nf()\n")
    run_ckernprof(["-l", path.name], tmp_path)
    killed = script("@profile\ndef g():\n    import os\n    os._exit(0)\ng()\n", "killed.py")
    run_ckernprof(["-l", killed.name], tmp_path)
    (tmp_path / "theirs.lprof").write_bytes(pickled({(str(path), 1, "f"): [(3, 7, 500)]}))
    report = view(tmp_path, "program.py.lprof", "killed.py.lprof.live", "theirs.lprof")
    assert re.search(r"^ +3 +8 .* return 1$", report, re.M)
    assert "Function: g at line 1" in report


# ---- hostile and broken ones ----


def test_a_pickle_that_calls_is_never_run(tmp_path):
    class Hostile:
        def __init__(self, function):
            self.function = function

        def __reduce__(self):
            return self.function, (f"touch {tmp_path}/run",)

    timings = {("a.py", 1, "f"): [(1, 1, Hostile(os.system))]}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for content in (
            pickle.dumps(Hostile(os.system), protocol),
            pickled(timings, protocol=protocol),
            pickled({}, 1e-9, protocol, hidden=Hostile(os.system)),
        ):
            line = refused(content, tmp_path)
            assert line.endswith("the pickle asks for what no profile needs: posix.system")
            assert re.search(r"not a clineprof profile at byte \d+: ", line)
        line = refused(pickle.dumps(Hostile(eval), protocol), tmp_path)
        assert re.search(r": (__builtin__|builtins)\.eval$", line)
    assert not (tmp_path / "run").exists()


def test_names_in_a_complaint_are_plain(tmp_path):
    line = refused(b"\x80\x02c\x1b[31mred\nname\xff\n.", tmp_path)
    assert line.endswith(": ?[31mred.name?")


OTHER = {
    "a dict": ({1: 2}, "the pickle holds no statistics of line_profiler, but: a dict"),
    "a list": ([1], "but: a list"),
    "a text": ("x", "but: a text"),
    "None": (None, "but: None"),
    "bytes": (b"x", "the pickle holds bytes"),
    "a set": ({1}, "the pickle holds a set"),
    "a date": (datetime.date(2026, 1, 1), "datetime.date"),
    "a class": (collections.OrderedDict(), "collections.OrderedDict"),
    "frozen": (frozenset([1]), "the pickle holds a set"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_pickles(name, tmp_path):
    thing, reason = OTHER[name]
    assert reason in refused(pickle.dumps(thing, 4), tmp_path)


# The viewer starts an interpreter for each file; this reads many in one.
LOAD_EACH = """
import json, sys
import clineprof
for content in json.load(sys.stdin):
    with open("x.lprof", "wb") as file:
        file.write(bytes.fromhex(content))
    try:
        print(clineprof.load("x.lprof"))
    except ValueError as error:
        print(error)
"""


def load_each(contents, folder):
    """What clineprof.load says of each of these contents: the viewer's line, or the profile."""
    ended = run_python(["-c", LOAD_EACH], folder, env={"PYTHONPATH": str(BUILD / "python")},
                       stdin=json.dumps([content.hex() for content in contents]))
    assert (ended.err, ended.code) == ("", 0)
    return ended.out.splitlines()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_file_cut_off_anywhere(protocol, tmp_path):
    """Each is refused by one line with a place inside; so is one with more behind its end."""
    content = pickled({("a.py", 1, "f"): [(2, 3, 4)]}, protocol=protocol)
    cuts = [content[:length] for length in range(1, len(content))]
    lines = load_each(cuts, tmp_path)
    assert len(lines) == len(cuts)
    for length, line in enumerate(lines, 1):
        told = re.fullmatch(r"x\.lprof: (.*) at byte (\d+): .+", line)
        assert told and int(told[2]) <= length, (length, line)
        # its first bytes alone may be anything
        assert told[1] == "cut off" or (told[1] == "not a clineprof profile" and length < 45)
    for length in 2, 60, len(content) - 1:
        assert refused(content[:length], tmp_path) == f"clineprof: {lines[length - 1]}"
    assert f"damaged at byte {len(content)}: more bytes" in refused(content + b"N", tmp_path)


def timings_of(**more):
    part = {"file": "a.py", "line": 1, "name": "f", "at": 2, "hits": 3, "time": 4, **more}
    return {(part["file"], part["line"], part["name"]): [(part["at"], part["hits"], part["time"])]}


WRONG = {
    "timings a list": ([], 1e-9, '"timings" are no dict'),
    "timings None": (None, 1e-9, '"timings" are no dict'),
    "unit a text": ({}, "1e-9", '"unit" is not a positive number'),
    "unit zero": ({}, 0, '"unit" is not a positive number'),
    "unit negative": ({}, -1e-9, '"unit" is not a positive number'),
    "unit nan": ({}, float("nan"), '"unit" is not a positive number'),
    "unit infinite": ({}, float("inf"), '"unit" is not a positive number'),
    "unit True": ({}, True, '"unit" is not a positive number'),
    "key a text": ({"f": []}, 1e-9, "key is no tuple of three"),
    "key of two": ({("a", 1): []}, 1e-9, "key is no tuple of three"),
    "file a number": (timings_of(file=1), 1e-9, "file is no plain text"),
    "file with zero": (timings_of(file="a\0b"), 1e-9, "file is no plain text"),
    "line a text": (timings_of(line="1"), 1e-9, "first line is no line number"),
    "line negative": (timings_of(line=-1), 1e-9, "first line is no line number"),
    "line huge": (timings_of(line=1 << 31), 1e-9, "first line is no line number"),
    "name None": (timings_of(name=None), 1e-9, "name is no plain text"),
    "lines a dict": ({("a", 1, "f"): {}}, 1e-9, "lines are no list"),
    "entry of two": ({("a", 1, "f"): [(1, 2)]}, 1e-9, "no tuple of three"),
    "entry a number": ({("a", 1, "f"): [1]}, 1e-9, "no tuple of three"),
    "entry's line huge": (timings_of(at=1 << 40), 1e-9, "line's number is none"),
    "hits negative": (timings_of(hits=-3), 1e-9, "hits are no number"),
    "hits a float": (timings_of(hits=3.5), 1e-9, "hits are no number"),
    "hits beyond": (timings_of(hits=1 << 64), 1e-9, "hits are no number"),
    "time negative": (timings_of(time=-1), 1e-9, "time is no number"),
    "time beyond": (timings_of(time=1 << 64), 1e-9, "time is no number"),
    "time a text": (timings_of(time="4"), 1e-9, "time is no number"),
    "time nan": (timings_of(time=float("nan")), 1e-9, "time is no number"),
    "time too long": (timings_of(time=1 << 40), 1.0, "time is no number"),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_wrong_types(protocol, tmp_path):
    contents = [pickled(timings, unit, protocol) for timings, unit, _ in WRONG.values()]
    lines = load_each(contents, tmp_path)
    for name, line, (_, _, reason) in zip(WRONG, lines, WRONG.values(), strict=True):
        assert reason in line and re.match(r"x\.lprof: damaged at byte \d+: ", line), (name, line)
    assert refused(contents[-1], tmp_path) == f"clineprof: {lines[-1]}"


def test_missing_parts(tmp_path):
    start = b"\x80\x02c_line_profiler\nLineStats\n)\x81"
    assert '"timings" are missing' in refused(start + b"}b.", tmp_path)
    assert '"unit" is missing' in refused(start + b"}X\7\0\0\0timings}sb.", tmp_path)
    assert "without their content" in refused(start + b".", tmp_path)


def laughs():
    """Lists that each hold the one before ten times: ten thousand levels of them."""
    out = [b"\x80\x02]r" + struct.pack("<I", 0)]
    for i in range(1, 10_000):
        out.append(b"](" + (b"j" + struct.pack("<I", i - 1)) * 10 + b"er" + struct.pack("<I", i))
    return b"".join(out) + b"."


def shared_lines():
    """A long list that many functions share."""
    shared = [(i, 1, 1) for i in range(10_000)]
    return pickled({("a.py", i, "f"): shared for i in range(10_000)})


def shared_text():
    name = "n" * 100_000
    return pickled({("a.py", i, name): [] for i in range(10_000)})


HOSTILE = {
    "memo number": b"\x80\x02Nr\xff\xff\xff\xff.",
    "memo digits": b"\x80\x02Np" + b"9" * 1000 + b"\n.",
    "memo missing": b"\x80\x02j\xff\xff\xff\xff.",
    "text of 2 to the 64": b"\x80\x04\x8d" + b"\xff" * 8 + b"x",
    "text of 4 GiB": b"\x80\x02X\xff\xff\xff\xffx",
    "number of 2 GiB": b"\x80\x02\x8b\xff\xff\xff\x7f\1",
    "frame of 2 to the 64": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "a hundred thousand marks": b"\x80\x02" + b"(" * 100_000 + b".",
    "a hundred thousand lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "tuples in tuples": b"\x80\x02)" + b"\x85" * 1_000_000 + b".",
    "ten lists in each": laughs(),
    "a list within itself": b"\x80\x02]q\0h\0a.",
    "a state within itself": b"\x80\x02c_line_profiler\nLineStats\n)\x81q\0}q\1(X\7\0\0\0timingsh\1"
                             b"X\4\0\0\0unith\0ub.",
    "lines that many functions share": shared_lines(),
    "a text that many functions share": shared_text(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sizes(name, tmp_path):
    """Refused with little memory: the viewer may use 512 MiB of address space in all."""
    (tmp_path / "x.lprof").write_bytes(HOSTILE[name])
    ended = run_viewer(["x.lprof"], tmp_path, timeout=60, addresses=512 * MIB)
    assert (ended.code, ended.out) == (1, ""), ended.err
    assert re.fullmatch(r"clineprof: x\.lprof: .* at byte \d+: .*\n", ended.err)
    assert "out of memory" not in ended.err


def test_files_that_only_look_like_pickles(tmp_path):
    assert "empty" in refused(b"", tmp_path)
    for text in b"class A:\n    pass\n", b"count\n12\n", b"(a text)\n", b"config\n", b"\x80":
        assert "not a clineprof profile" in refused(text, tmp_path)
    # two lines of one word each, the first with a c: a pickle of protocol 0 begins so
    assert "asks for what no profile needs: ontents.hello" in refused(b"contents\nhello\n", tmp_path)


# ---- source ----

PRIVATE = "token = 'very-secret-word'  # def f\nclass Vault: pass\n"

POINTING = [
    ("f", 1),
    ("token", 1),
    ("", 1),
    ("f.", 1),
    ("<module>", 1),
    ("<lambda>", 1),
    ("f", 0),
    ("f", 2),
    ("Vault.f", 2),
    ("f", 2_000_000_000),
]


@pytest.mark.parametrize("options", [[], ["--read-sources"], ["-r"], ["-m", "--read-sources"]])
@pytest.mark.parametrize("name, line", POINTING)
def test_a_private_file_is_in_no_report(name, line, options, tmp_path):
    """Neither what a profile points at nor anything near it."""
    private = tmp_path / "private.conf"
    private.write_text(PRIVATE)
    content = pickled({(str(private), line, name): [(line, 1, 5), (line + 1, 1, 5)]})
    (tmp_path / "x.lprof").write_bytes(content)
    ended = run_viewer(["x.lprof", *options], tmp_path)
    assert ended.code == 0
    for word in "secret", "token =", "class Vault":
        assert word not in ended.out + ended.err
    warned = "no source for 1 of 1 function that lacks it" in ended.err
    assert warned == ("--read-sources" in options)


def test_no_export_holds_a_private_file(tmp_path):
    private = tmp_path / "private.conf"
    private.write_text(PRIVATE)
    (tmp_path / "x.lprof").write_bytes(pickled({(str(private), 1, "f"): [(1, 1, 5)]}))
    for words in ["--format", "lprof"], ["--format", "lprof", "--read-sources"]:
        assert run_viewer(["x.lprof", "-o", "out", *words], tmp_path).code == 0
        assert b"private.conf" in (tmp_path / "out").read_bytes()
        assert b"secret" not in (tmp_path / "out").read_bytes()


def test_nothing_waits_for_a_pipe_or_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    files = [str(tmp_path / "pipe"), "/dev/zero", "/dev/tty", str(tmp_path), "/proc/self/mem", "", "a\nb"]
    (tmp_path / "x.lprof").write_bytes(pickled({(file, 1, "f"): [(1, 1, 5)] for file in files}))
    ended = run_viewer(["x.lprof", "--read-sources"], tmp_path, timeout=60)
    assert (ended.code, len(ended.err.splitlines())) == (0, 1)
    assert f"no source for {len(files)} of {len(files)} functions" in ended.err


SOURCE = """\
import os

@os.cache
def f(a,
      b):
    x = 1

    return x
secret = 1
class C:
    async def g(self): return 2
    h = lambda self: 3
def last():
    pass
"""


def test_source_that_fits_is_read_when_asked_for(tmp_path):
    (tmp_path / "program.py").write_text(SOURCE)
    timings = {
        ("program.py", 3, "f"): [(6, 1, 5), (8, 1, 5)],
        ("program.py", 11, "C.g"): [(11, 1, 5)],
        ("program.py", 12, "C.<lambda>"): [(12, 1, 5)],
        ("program.py", 13, "last"): [],
    }
    (tmp_path / "x.lprof").write_bytes(pickled(timings))
    bare = view(tmp_path, "x.lprof")
    note = "Source that is not in the profile was not read from the files it names; --read-sources"
    assert bare.count(note) == 1 and bare.rstrip().splitlines()[-1].startswith(note)
    assert "x = 1" not in bare
    shown = view(tmp_path, "x.lprof", "--read-sources")
    assert note not in shown
    texts = re.findall(r"^ *(\d+) .{0,55}  (\S.*)?$", shown, re.M)
    assert [int(number) for number, _ in texts] == [3, 4, 5, 6, 7, 8, 11, 12, 13, 14]
    assert "secret" not in shown and "Function: C.g at line 11" in shown


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\n" + text,
        lambda text: text.replace("def f(", "def ff("),
        lambda text: text.replace("\n    return x", ""),
        lambda text: "",
        None,
    ],
    ids=["moved", "renamed", "shorter", "empty", "gone"],
)
def test_source_that_has_changed_is_left_out(change, tmp_path):
    if change is not None:
        (tmp_path / "program.py").write_text(change(SOURCE))
    timings = {("program.py", 3, "f"): [(6, 1, 5), (8, 1, 5)]}
    (tmp_path / "x.lprof").write_bytes(pickled(timings))
    ended = run_viewer(["x.lprof", "--read-sources"], tmp_path)
    assert ended.code == 0 and "x = 1" not in ended.out and "secret" not in ended.out
    assert ended.err == (
        "clineprof: no source for 1 of 1 function that lacks it: their files cannot be read, "
        "or have something else there\n"
    )
    assert re.search(r"^ +8 +1 ", ended.out, re.M)


def test_source_in_its_own_encoding(tmp_path):
    (tmp_path / "p.py").write_bytes(b"# coding: latin-1\ndef f():\n    return '\xe9\x1b'\n")
    (tmp_path / "x.lprof").write_bytes(pickled({("p.py", 2, "f"): [(3, 1, 5)]}))
    report = view(tmp_path, "x.lprof", "--read-sources")
    assert "return 'é\\x1b'" in report and "\x1b" not in report


def test_the_text_of_a_profile_is_never_exchanged(script, tmp_path):
    path = script("@profile\ndef f():\n    return 'as it ran'\nf()\n")
    run_ckernprof(["-l", path.name], tmp_path)
    path.write_text("@profile\ndef f():\n    return 'edited'\nf()\n")
    for words in [], ["--read-sources"]:
        report = view(tmp_path, "program.py.lprof", *words)
        assert "as it ran" in report and "edited" not in report and "--read-sources" not in report


def test_reading_sources_cannot_be_a_default(tmp_path):
    """A config file may come with a foreign profile."""
    (tmp_path / "clineprof.toml").write_text("[tool.clineprof.cli]\nread-sources = true\n")
    (tmp_path / "x.lprof").write_bytes(pickled({("program.py", 3, "f"): [(6, 1, 5)]}))
    (tmp_path / "program.py").write_text(SOURCE)
    ended = run_viewer(["x.lprof"], tmp_path)
    # Python 3.10 without tomli reads no config file, which it says
    assert "read-sources" in ended.err if ended.code else "tomli" in ended.err
    assert ended.code in (0, 2) and "x = 1" not in ended.out


# ---- line_profiler itself ----


@pytest.fixture(scope="module")
def line_profiler():
    return pytest.importorskip("line_profiler", reason="line_profiler is not installed here")


def tables(report):
    """The parts of a report, one for each function; line_profiler has them in another order."""
    return sorted(part.rstrip() for part in report.split("Total time: ")[1:])


def their_report(folder, name, *words):
    # a terminal's width and a user's config change their table
    ended = run_python(["-m", "line_profiler", "-u", "1e-6", name, *words], folder,
                       env={"LINE_PROFILER_RC": os.devnull})
    assert ended.code == 0, ended.err
    return ended.out


def without_note(report):
    return re.sub(r"Source that is not in the profile .*\n", "", report)


@pytest.fixture(scope="module")
def theirs(line_profiler, tmp_path_factory):
    """A folder with program.py and the profile that line_profiler wrote of it."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "program.py").write_text(PROGRAM)
    ended = run_python(["-m", "kernprof", "-l", "-o", "x.lprof", "program.py"], folder)
    assert ended.code == 0, ended.err
    return folder


def test_their_file_gives_their_report(theirs):
    report = view(theirs, "x.lprof", "--read-sources")
    expected = their_report(theirs, "x.lprof")
    assert tables(report) == tables(expected) and len(tables(report)) == 3
    assert "return self.method(x - 1)" in report


def test_their_file_gives_their_report_without_source(theirs, tmp_path):
    (tmp_path / "x.lprof").write_bytes((theirs / "x.lprof").read_bytes())
    report = without_note(view(tmp_path, "x.lprof"))
    assert tables(report) == tables(their_report(tmp_path, "x.lprof"))
    assert report.count("Could not find file program.py") == 3


def test_several_of_their_files_are_summed(theirs):
    report = view(theirs, "x.lprof", "x.lprof", "--read-sources")
    one = view(theirs, "x.lprof", "--read-sources")
    hits = [[int(hit) for hit in re.findall(r"^ +\d+ +(\d+) +\d", text, re.M)] for text in (one, report)]
    assert hits[0] and [2 * hit for hit in hits[0]] == hits[1]


def rows(report):
    """[(line, hits, time, per hit)] of all rows that ran, sorted."""
    return sorted(re.findall(r"^ +(\d+) +(\d+) +(\S+) +(\S+) +[\d.]+  ", report, re.M))


@pytest.mark.parametrize("name", ["control_flow", "recursion", "generators", "classes"])
def test_our_file_gives_our_report_there(name, line_profiler, tmp_path):
    # of a lambda over several lines their viewer shows the first one
    run_ckernprof(["-l", "-q", "--exclude", "*.<locals>.*", "-o", "ours.lprof", FIXTURES / f"{name}.py"], tmp_path)
    assert view(tmp_path, "--format", "line_profiler", "-o", "x.lprof", "ours.lprof") == ""
    ours = view(tmp_path, "ours.lprof", "--no-memory")
    report = their_report(tmp_path, "x.lprof")
    assert rows(report) == rows(ours) and len(rows(ours)) > 10
    assert re.findall(r"^File: .*\nFunction: .*$", report, re.M)
    # and as we read it again: shares too, which are of the sum of a function's lines there
    again = view(tmp_path, "x.lprof", "--read-sources")
    assert tables(again) == tables(report)


def test_our_file_is_their_object(line_profiler, script, tmp_path):
    path = script("@profile\ndef f(n):\n    return [i for i in range(n)]\nf(9)\n")
    run_ckernprof(["-l", "-q", path.name], tmp_path)
    view(tmp_path, "--to", "line_profiler", "-o", "x.lprof", "program.py.lprof")
    ended = run_python(["-c", LOADER, "x.lprof"], tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.startswith(f"LineStats {{('{path}', 1, 'f'): [(3, ")
    assert ended.out.endswith("} 1e-09\n")


LOADER = """
import pickle, sys
import line_profiler
stats = pickle.load(open(sys.argv[1], "rb"))
print(type(stats).__name__, stats.timings, stats.unit)
"""
