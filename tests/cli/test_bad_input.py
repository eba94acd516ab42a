# SPDX-License-Identifier: MIT
"""Wrong, missing, damaged and hostile things: one clear line, the right exit status, no crash."""

import os
import pickle
import random
import re
import resource
import signal
import struct
import subprocess

import clineprof
import msgpack
import pytest
from harness import (
    FIXTURES,
    MIB,
    Profile,
    ckernprof,
    clean_environment,
    run_ckernprof,
    run_python,
    run_viewer,
)

SMALL = "@profile\ndef f(n):\n    return n + 1\nprint(f(1))\n"

pytestmark = pytest.mark.once


def without_note(text):
    """Standard error without the note that nothing was profiled, and whether it was there."""
    return re.sub(r"ckernprof: nothing was profiled.*\n", "", text)


# ---- programs that cannot run ----


@pytest.mark.parametrize(
    "name", ["missing.py", "no/such/folder.py", "folder", "closed.py", "empty.zip"]
)
def test_no_such_program(name, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "closed.py").symlink_to("closed.py")  # a circle: even root cannot read it
    (tmp_path / "empty.zip").write_bytes(b"PK\5\6" + bytes(18))
    bare = run_python([name], tmp_path)
    ours = run_ckernprof(["-l", name], tmp_path)
    assert ours.code == bare.code != 0
    assert without_note(ours.err) == bare.err
    assert "Traceback" not in ours.err or "Traceback" in bare.err


SYNTAX = {
    "missing colon": "x = 1\nif x\n    pass\n",
    "indentation": "def f():\nreturn 1\n",
    "tabs": "if 1:\n        x = 1\n\tx = 2\n",
    "unclosed": "x = (1,\n2\n",
    "unclosed text": "x = '''abc\n",
    "null byte": "x = 1\0\n",
    "return outside": "return 1\n",
    "encoding": "# coding: no-such-encoding\nx = 1\n",
    "future": "from __future__ import braces\n",
}


@pytest.mark.parametrize("name", SYNTAX)
def test_syntax_errors(name, script):
    path = script(SYNTAX[name])
    bare = run_python([path.name], path.parent)
    ours = run_ckernprof(["-l", path.name], path.parent)
    assert (without_note(ours.err), ours.code) == (bare.err, bare.code)


def test_bytes_that_are_not_utf8(script):
    path = script("")
    path.write_bytes(b"x = 1\ny = '\xff\xfe'\n")
    bare = run_python([path.name], path.parent)
    ours = run_ckernprof(["-l", path.name], path.parent)
    assert (without_note(ours.err), ours.code) == (bare.err, bare.code)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfprint('mark')\n",
        b"print('no end')",
        b"print('crlf')\r\nx = 1\r\n",
        b"# coding: latin-1\nprint('\xe9')\n",
        b"",
        b"#!/usr/bin/python\n\x0cprint(1)\n",
    ],
)
def test_odd_but_right_programs(text, script):
    path = script("")
    path.write_bytes(text)
    bare = run_python([path.name], path.parent)
    ours = run_ckernprof(["-l", path.name], path.parent)
    assert bare.code == 0
    assert ours.out.startswith(bare.out) and (without_note(ours.err), ours.code) == ("", 0)


# ---- places that cannot be written ----


@pytest.mark.once
@pytest.mark.parametrize("options", [["-l"], []])
def test_in_the_root_folder_names_have_one_slash(options, script, tmp_path):
    """Its name ends in a slash, as no other folder's does."""
    path = script(SMALL.replace("@profile", "" if not options else "@profile"))
    named = str(tmp_path / "x.lprof").lstrip("/")
    ended = run_ckernprof([*options, "-o", named, path], "/")
    assert f"Wrote profile results to '{named}'\n" in ended.out, ended.err
    ended = run_ckernprof([*options, "-o", f"{named}/missing", path], "/")
    assert ended.err == f"ckernprof: cannot write '/{named}/missing': Not a directory\n"


@pytest.mark.parametrize(
    "place", ["missing/x.lprof", "file/x.lprof", ".", "folder", "/proc/x.lprof", "long"]
)
def test_unwritable_output_stops_before_the_program(place, script, tmp_path):
    path = script("open('ran', 'w')\n" + SMALL)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    place = "n" * 300 if place == "long" else place
    ended = run_ckernprof(["-l", "-o", place, path], tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 1 and ended.err.startswith("ckernprof: cannot write ")
    assert place in ended.err
    assert not (tmp_path / "ran").exists(), "the program ran"
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "program.py"]


def test_probing_leaves_an_old_profile_alone(script, tmp_path):
    """What was there stays until the new profile is whole."""
    path = script("import os\nos._exit(0)\n")
    old = b"\x86\xa6format\xa9clineprof, and so on"
    (tmp_path / "x.lprof").write_bytes(old)
    assert run_ckernprof(["-l", "-o", "x.lprof", path], tmp_path).code == 0
    assert (tmp_path / "x.lprof").read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == ["program.py", "x.lprof", "x.lprof.live"]


def test_folder_removed_by_the_program(script, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "temporary").mkdir()
    path = script(SMALL + "import shutil; shutil.rmtree('out')\n")
    ended = run_ckernprof(
        ["-l", "-o", "out/x.lprof", path], tmp_path, env={"TMPDIR": str(tmp_path / "temporary")}
    )
    assert "out/x.lprof" in ended.err and "No such file" in ended.err
    [written] = re.findall(r"Wrote profile results to '(.*)'", ended.out)
    assert written.startswith("temporary/") and written.endswith(".lprof")
    assert ended.err.splitlines()[1:] == [f"ckernprof: the profile is in '{tmp_path / written}' instead"]
    assert Profile.measure(Profile(tmp_path / written).function("f"), "hits") == {3: 1}
    assert run_viewer([written], tmp_path).code == 0
    assert ended.code == 0


def test_a_rescued_profile_of_functions_is_called_so(script, tmp_path):
    (tmp_path / "out").mkdir()
    path = script("import shutil; shutil.rmtree('out')\n")
    ended = run_ckernprof(["-q", "-o", "out/x.prof", path], tmp_path, env={"TMPDIR": str(tmp_path)})
    [written] = tmp_path.glob("ckernprof-*.prof")
    assert ended.code == 0 and ended.err.endswith(f"ckernprof: the profile is in '{written}' instead\n")


def no_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


def test_full_disk(script, tmp_path):
    """A file size limit stands in for a full disk."""
    path = script(SMALL)
    process = subprocess.run(
        [str(word) for word in [*ckernprof("-l"), path]],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        env=clean_environment({"TMPDIR": "/no/such/folder"}),
        preexec_fn=no_room,
    )
    assert "cannot write the profile" in process.stderr and "Traceback" not in process.stderr
    assert process.stdout.startswith("2\n")
    assert not list(tmp_path.glob("*.lprof*"))


def test_output_into_a_pipe(script, tmp_path):
    """A target that is no plain file is written as it is."""
    path = script(SMALL.replace("print(f(1))", "f(1)"))
    ended = subprocess.run(
        [str(word) for word in [*ckernprof("-l", "-o", "/dev/stderr"), path]],
        cwd=tmp_path,
        capture_output=True,
        env=clean_environment(),
    )
    assert msgpack.unpackb(ended.stderr)["format"] == "clineprof"


# ---- profiles that cannot be read ----


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a profile with several functions."""
    folder = tmp_path_factory.mktemp("good")
    run_ckernprof(["-l", FIXTURES / "json_round_trip.py"], folder)
    return (folder / "json_round_trip.py.lprof").read_bytes()


def refused(path, folder, *more):
    """Shows the file, which must be refused by one line that names it; returns the line."""
    ended = run_viewer([path, *more], folder)
    assert (ended.code, ended.out) == (1, ""), (ended.code, ended.err)
    lines = ended.err.splitlines()
    assert len(lines) == 1 and lines[0].startswith(f"clineprof: {path}: "), lines
    return lines[0]


def test_missing_and_unreadable(tmp_path, good):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.lprof").write_bytes(b"")
    (tmp_path / "good.lprof").write_bytes(good)
    assert "No such file" in refused("missing.lprof", tmp_path)
    assert "s a directory" in refused("folder", tmp_path)
    assert refused("empty.lprof", tmp_path).endswith("empty.lprof: the file is empty")
    ended = run_viewer(["good.lprof", "missing.lprof"], tmp_path)
    assert (ended.code, ended.out) == (1, "")


@pytest.mark.parametrize(
    "content",
    [
        b"\0",
        b"text\n",
        b"<html>",
        b"{}",
        b"[]",
        b"\xff" * 100,
        b"\x80",
        b"\x90",
        b"\xc0",
        b"\x01",
        random.Random(64).randbytes(64),
        b"\x1f\x8b\x08\0",
        b"PK\3\4" + bytes(30),
    ],
    ids=lambda content: repr(content[:4]),
)
def test_other_files(content, tmp_path):
    (tmp_path / "x.lprof").write_bytes(content)
    assert re.search(r"at byte \d+|empty|not a clineprof profile", refused("x.lprof", tmp_path))


def test_pickles_are_named_and_never_loaded(tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/run",)

    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "x.lprof").write_bytes(pickle.dumps(Hostile(), protocol))
        line = refused("x.lprof", tmp_path)
        assert re.search("pickle|line_profiler", line)
    assert not (tmp_path / "run").exists()


def test_every_cut(good, tmp_path):
    """A file cut off anywhere is refused, with an offset inside; so is one with more behind it."""
    path = tmp_path / "x.lprof"
    step = max(1, len(good) // 40)
    for length in sorted({1, 2, 3, 10, len(good) - 1, *range(1, len(good), step)}):
        path.write_bytes(good[:length])
        line = refused("x.lprof", tmp_path)
        [offset] = re.findall(r"at byte (\d+)", line)
        assert "cut off" in line and int(offset) <= length, (length, line)
    path.write_bytes(good + b"\0")
    assert f"at byte {len(good)}" in refused("x.lprof", tmp_path)
    path.write_bytes(good)
    assert run_viewer(["x.lprof"], tmp_path).code == 0


def header(marker, count):
    return bytes([marker]) + struct.pack(">I", count)


HOSTILE = {
    "map of 4 billion": header(0xDF, 0xFFFFFFFF),
    "array of 4 billion": header(0xDD, 0xFFFFFFFF),
    "text of 4 GiB": header(0xDB, 0xFFFFFFFF),
    "arrays in arrays": b"\x91" * 100_000,
    "maps in maps": b"\x81\xa1a" * 100_000 + b"\x01",
    "declared and missing": b"\x81\xa9functions" + header(0xDD, 1 << 28),
    "many arrays of many": b"\xdc\xff\xff" + (b"\xdd" + struct.pack(">I", 1 << 24)) * 100,
    "reserved byte": b"\x81\xa6format\xc1",
    "extension": b"\xc7\xff\x01" + bytes(255),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name, tmp_path):
    """Refused with little memory: the viewer may use 512 MiB of address space in all."""
    (tmp_path / "x.lprof").write_bytes(HOSTILE[name])
    ended = run_viewer(["x.lprof"], tmp_path, timeout=60, addresses=512 * MIB)
    assert (ended.code, ended.out) == (1, ""), ended.err
    assert re.fullmatch(r"clineprof: x\.lprof: .* at byte \d+.*\n", ended.err)


def changed(good, change):
    thing = msgpack.unpackb(good, strict_map_key=False)
    change(thing)
    return msgpack.packb(thing)


def lines_of(thing):
    return next(f["lines"] for f in thing["functions"] if f["lines"].get("hits"))


BROKEN = {
    "no format": lambda p: p.pop("format"),
    "another format": lambda p: p.update(format="memray"),
    "format a number": lambda p: p.update(format=3),
    "newer": lambda p: p.update(version=99),
    "version a text": lambda p: p.update(version="1"),
    "no functions": lambda p: p.pop("functions"),
    "functions a map": lambda p: p.update(functions={}),
    "unit a text": lambda p: p.update(unit="s"),
}
WRONG_IN_PART = {
    "function a number": lambda p: p.update(functions=[3]),
    "file a number": lambda p: p["functions"][0].update(file=5),
    "file missing": lambda p: p["functions"][0].pop("file"),
    "line too large": lambda p: p["functions"][0].update(line=1 << 40),
    "line negative": lambda p: p["functions"][0].update(line=-5),
    "lines missing": lambda p: p["functions"][0].pop("lines"),
    "column too short": lambda p: lines_of(p)["hits"].pop(),
    "column too long": lambda p: lines_of(p)["hits"].append(1),
    "column of texts": lambda p: lines_of(p).update(hits=["x"] * len(lines_of(p)["hits"])),
    "hits negative": lambda p: lines_of(p)["hits"].__setitem__(0, -1),
    "hits a float": lambda p: lines_of(p)["hits"].__setitem__(0, 1.5),
    "line numbers missing": lambda p: lines_of(p).pop("line"),
    "meta a list": lambda p: p.update(meta=[]),
    "source a text": lambda p: p.update(source="x"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_content(name, good, tmp_path):
    (tmp_path / "x.lprof").write_bytes(changed(good, BROKEN[name]))
    assert re.search(r"at byte \d+: ", refused("x.lprof", tmp_path))


@pytest.mark.parametrize("name", WRONG_IN_PART)
def test_what_is_not_broken_is_shown(name, good, tmp_path):
    """One line names the part. A gate does not pass what it has not seen."""
    bad, whole = tmp_path / "bad.lprof", tmp_path / "good.lprof"
    whole.write_bytes(good)
    bad.write_bytes(changed(good, WRONG_IN_PART[name]))
    ended = run_viewer(["bad.lprof"], tmp_path)
    [line] = ended.err.splitlines()
    assert re.fullmatch(r"clineprof: bad\.lprof: damaged at byte \d+: .*(this part|left out)", line), line
    assert ended.code == 0
    if name != "function a number":
        shown = run_viewer(["good.lprof"], tmp_path).out
        headings = {line for line in shown.splitlines() if line.startswith("Function: ")}
        assert len(headings - set(ended.out.splitlines())) <= 1, ended.out
    with pytest.warns(RuntimeWarning, match="bad.lprof: damaged at byte"):
        assert clineprof.load(bad).functions or name == "function a number"
    assert run_viewer(["diff", "good.lprof", "bad.lprof"], tmp_path).code == 0
    gate = run_viewer(["diff", "good.lprof", "bad.lprof", "--fail-on", "time>+1000%"], tmp_path)
    assert (gate.code, gate.out) == (1, "")
    assert gate.err == line + "\n"


def test_a_wrong_part_is_told_with_its_function(good, tmp_path):
    profile = msgpack.unpackb(good, strict_map_key=False)
    profile["functions"][1]["missed"] = [9, 8]
    (tmp_path / "x.lprof").write_bytes(msgpack.packb(profile))
    ended = run_viewer(["x.lprof"], tmp_path)
    where = f"function {profile['functions'][1]['name']} of {profile['functions'][1]['file']}"
    assert re.fullmatch(r"clineprof: x\.lprof: damaged at byte \d+: \"missed\" of a function are not line numbers in "
                        rf"ascending order; {re.escape(where)} is read without this part\n", ended.err)
    profile["functions"][1].pop("missed")
    (tmp_path / "x.lprof").write_bytes(msgpack.packb(profile))
    assert ended.out == run_viewer(["x.lprof"], tmp_path).out


def test_unknown_keys_and_columns_are_skipped(good, tmp_path):
    def extend(thing):
        thing["future"] = {"deep": [1, {"x": [None, 2.5, b"bytes", True]}]}
        thing["meta"]["future"] = [1, 2]
        for function in thing["functions"]:
            function["future"] = "x"
            function["lines"]["future"] = [{"a": 1}] * len(function["lines"].get("line", []))

    (tmp_path / "good.lprof").write_bytes(good)
    (tmp_path / "more.lprof").write_bytes(changed(good, extend))
    good_report, more_report = (
        run_viewer([name], tmp_path) for name in ("good.lprof", "more.lprof")
    )
    assert (more_report.out, more_report.err, more_report.code) == (good_report.out, "", 0)


def test_damage_anywhere_is_no_crash(good, tmp_path):
    """A changed byte may go unseen, cost a part, or be refused; always with a clean end."""
    for at in range(0, len(good), max(1, len(good) // 40)):
        broken = bytearray(good)
        broken[at] ^= 0xFF
        (tmp_path / "x.lprof").write_bytes(broken)
        ended = run_viewer(["x.lprof"], tmp_path)
        assert ended.code in (0, 1), (at, ended.code, ended.err)
        assert ended.code <= len(ended.err.splitlines()) <= 1 and "Traceback" not in ended.err
