# SPDX-License-Identifier: MIT
"""Runs that do not end by themselves: killed, crashed, replaced, forked, out of disk. Programs are
really killed; what they print before they die is compared with what the live file holds."""

import fcntl
import os
import pathlib
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from harness import (
    BUILD,
    SANITIZED,
    Profile,
    ckernprof,
    clean_environment,
    line_of,
    run,
    run_ckernprof,
    run_viewer,
    viewer_command,
)

COUNTS = """\
import os, signal, sys, time

calls = turns = 0

@profile
def inner(n):
    global calls
    calls += 1  # calls
    for i in range(n):
        global turns
        turns += 1  # turns

@profile
def outer(how):
    for j in range(50):
        inner(j % 7)
    print(calls, turns, flush=True)
    end(how)  # in flight

def end(how):
    if how == "exit":
        os._exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "term":
        os.kill(os.getpid(), signal.SIGTERM)
    if how == "crash":
        import ctypes
        ctypes.string_at(0)
    if how == "wait":
        time.sleep(60)
    if how == "raise":
        raise KeyError(how)
    if how.isdigit():
        sys.exit(int(how))

outer(sys.argv[1])
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "prog.py").write_text(COUNTS, "utf-8")
    return tmp_path / "prog.py"


@pytest.fixture
def live(tmp_path):
    return tmp_path / "prog.py.lprof.live"


def write(folder, text, name="prog.py"):
    (folder / name).write_text(text, "utf-8")
    return folder / name


def start(arguments, folder, **options):
    """A ckernprof that goes on in the background."""
    return subprocess.Popen(
        [str(part) for part in [*ckernprof("-l"), *arguments]],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
        **options,
    )


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def recovered(live, to="out.lprof"):
    ended = run_viewer(["recover", live.name, "-o", to], live.parent)
    assert "marks lines" not in ended.out  # there is no table
    assert ended.code == 0, ended.err
    return Profile(live.parent / to)


def check_counts(profile, script, printed):
    calls, turns = map(int, printed.split())
    assert profile.line("inner", line_of(script, "# calls"))["hits"] == calls
    assert profile.line("inner", line_of(script, "# turns"))["hits"] == turns
    assert profile.line("outer", line_of(script, "inner(j % 7)"))["hits"] == 50
    assert profile.line("outer", line_of(script, "# in flight"))["hits"] == 1


def marked_lines(text):
    """Numbers of the lines that the report marks as being executed."""
    return [int(row.split()[0]) for row in text.splitlines() if re.match(r" *\d+ .*  ?>  ", row)]


# ---- dying ----


@pytest.mark.parametrize(
    "how, code",
    [
        ("exit", 3),
        ("kill", -signal.SIGKILL),
        ("term", -signal.SIGTERM),
        ("crash", -signal.SIGSEGV),
    ],
)
def test_a_run_that_dies_leaves_all_it_counted(how, code, script, live):
    ended = run_ckernprof(["-l", script, how], script.parent)
    assert ended.code == code or SANITIZED, ended.err
    assert not (script.parent / "prog.py.lprof").exists()
    check_counts(recovered(live), script, ended.out)
    shown = run_viewer([live.name], script.parent)
    assert shown.code == 0 and "did not end by itself; > marks lines that were being executed\n\n" in shown.out
    assert marked_lines(shown.out) == [line_of(script, "# in flight")]
    assert "turns += 1  # turns" in shown.out


@pytest.mark.parametrize("how, code", [("go", 0), ("7", 7), ("raise", 1)])
def test_a_run_that_ends_leaves_only_its_profile(how, code, script):
    ended = run_ckernprof(["-l", script, how], script.parent)
    assert ended.code == code, ended.err
    assert sorted(path.name for path in script.parent.iterdir()) == ["prog.py", "prog.py.lprof"]
    check_counts(ended.profile(), script, ended.out.splitlines()[0])


def test_what_is_recovered_equals_what_would_have_been_written(script, live):
    whole = run_ckernprof(["-l", "-o", "whole.lprof", script, "go"], script.parent).profile(
        "whole.lprof"
    )
    run_ckernprof(["-l", script, "kill"], script.parent)
    part = recovered(live)
    whole_hits, part_hits = whole.hits(), part.hits()
    assert whole_hits == part_hits
    assert whole.sources() == part.sources() != {}
    same = ("python", "tracer", "has_memory", "inexact_memory")
    assert [whole.meta.get(name) for name in same] == [part.meta.get(name) for name in same]
    assert part.meta["command"].endswith("prog.py kill")


def test_times_in_the_live_file_are_those_of_the_clock(tmp_path):
    script = write(
        tmp_path,
        "import os, time\n"
        "@profile\n"
        "def wait():\n"
        "    time.sleep(0.2)  # waits\n"
        "@profile\n"
        "def f():\n"
        "    wait()  # calls\n"
        "    os._exit(0)\n"
        "f()\n",
    )
    run_ckernprof(["-l", script], tmp_path)
    profile = recovered(tmp_path / "prog.py.lprof.live")
    for name, mark in (("wait", "# waits"), ("f", "# calls")):
        assert 0.2e9 <= profile.line(name, line_of(script, mark))["time"] < 5e9
    assert 0.2e9 <= profile.function("f")["total"] < 5e9


def test_the_open_time_of_lines_in_flight_counts(tmp_path):
    script = write(
        tmp_path,
        "import os, time\n"
        "@profile\n"
        "def inner():\n"
        "    time.sleep(0.2)\n"
        "    os._exit(0)  # last\n"
        "@profile\n"
        "def f(n):\n"
        "    if n:\n"
        "        return f(n - 1)  # calls\n"
        "    inner()\n"
        "f(100)\n",
    )
    run_ckernprof(["-l", script], tmp_path)
    live = tmp_path / "prog.py.lprof.live"
    call = recovered(live).line("f", line_of(script, "# calls"))
    assert call["hits"] == 100 and 0.2e9 <= call["time"] < 5e9
    assert marked_lines(run_viewer([live.name], tmp_path).out) == [
        line_of(script, "# last"),
        line_of(script, "# calls"),
        line_of(script, "    inner()"),
    ]


def test_killed_at_any_moment_the_counts_are_those_of_the_program(tmp_path):
    """The program counts, too, in a mapped file; it makes new functions and threads all the time."""
    script = write(
        tmp_path,
        "import mmap, struct, sys, threading\n"
        "own = open('own', 'w+b')\n"
        "own.truncate(8)\n"
        "counter = memoryview(mmap.mmap(own.fileno(), 8)).cast('Q')\n"
        "@profile\n"
        "def count():\n"
        "    counter[0] += 1  # counts\n"
        "def make(i):\n"
        "    space = {'profile': profile}\n"
        "    text = '\\n' * i + '@profile\\ndef f(n):\\n  if n: f(n - 1)\\n'\n"
        "    exec(compile(text, 'made', 'exec'), space)\n"
        "    return space['f']\n"
        "for i in range(100000):\n"
        "    count()\n"
        "    make(i)(i % 300)\n"
        "    if i % 10 == 0:\n"
        "        thread = threading.Thread(target=count)\n"
        "        thread.start()\n"
        "        thread.join()\n",
    )
    chance = random.Random(7)
    for i in range(8):
        process = start([script], tmp_path)
        live = tmp_path / "prog.py.lprof.live"
        wait_for(lambda: live.exists() and live.stat().st_size > 300000 or process.poll())
        time.sleep(chance.random() * 0.4)
        process.kill()
        process.communicate()
        own = tmp_path / "own"
        counted = int.from_bytes(own.read_bytes(), "little") if own.exists() else 0
        if counted:  # else the process may have been killed before there was a profile
            hits = recovered(live).line("count", line_of(script, "# counts"))["hits"]
            assert counted <= hits <= counted + 1, (i, counted, hits)
        live.unlink()
        own.unlink(missing_ok=True)  # or the next, killed before it begins, would seem to have counted


def test_threads_and_suspended_bodies_are_in_it(tmp_path):
    script = write(
        tmp_path,
        "import asyncio, os, threading\n"
        "@profile\n"
        "def work(n):\n"
        "    for i in range(n):\n"
        "        i + 1  # work\n"
        "    if n == 30:\n"
        "        begun.set(); event.wait()  # waits\n"
        "@profile\n"
        "def numbers():\n"
        "    while True:\n"
        "        yield 1  # yields\n"
        "@profile\n"
        "async def task():\n"
        "    await asyncio.sleep(0.01)  # awaits\n"
        "    os._exit(0)\n"
        "begun, event = threading.Event(), threading.Event()\n"
        "for n in (10, 20, 30):\n"
        "    thread = threading.Thread(target=work, args=(n,), daemon=True)\n"
        "    thread.start()\n"
        "    if n != 30:\n"
        "        thread.join()\n"
        "made = numbers()\n"
        "for i in range(5):\n"
        "    next(made)\n"
        "begun.wait()\n"
        "asyncio.run(task())\n",
    )
    run_ckernprof(["-l", script], tmp_path)
    live = tmp_path / "prog.py.lprof.live"
    profile = recovered(live)
    assert profile.line("work", line_of(script, "# work"))["hits"] == 60
    assert profile.line("numbers", line_of(script, "# yields"))["hits"] == 5
    assert profile.line("task", line_of(script, "# awaits"))["await"] > 0
    marked = marked_lines(run_viewer([live.name], tmp_path).out)
    assert line_of(script, "# waits") in marked and line_of(script, "# yields") not in marked


def test_many_functions_and_deep_stacks_fit(tmp_path):
    text = ["import os, sys", "sys.setrecursionlimit(20000)"]
    for i in range(2000):
        text += ["@profile", f"def f{i}(a):", "    b = a", "    return b"]
    text += ["@profile", "def deep(n):", "    if n:", "        deep(n - 1)", "    os._exit(0)"]
    text += ["for f in list(globals().values()):"]
    text += ["    if getattr(f, '__name__', '')[:1] == 'f': f(1)", "deep(5000)"]
    script = write(tmp_path, "\n".join(text) + "\n")
    ended = run_ckernprof(["-l", script], tmp_path)
    assert ended.code == 0, ended.err
    profile = recovered(tmp_path / "prog.py.lprof.live")
    assert len(profile.functions) == 2001
    assert all(sum(hits.values()) == 2 for key, hits in profile.hits().items() if key[2][0] == "f")
    assert profile.line("deep", line_of(script, "    if n:"))["hits"] == 5001


def test_source_that_the_program_deletes_is_shown(tmp_path):
    script = write(
        tmp_path,
        "import os\n@profile\ndef gone():\n    os.unlink(__file__)\n    os._exit(0)\ngone()\n",
    )
    run_ckernprof(["-l", script], tmp_path)
    assert not script.exists()
    assert "os.unlink(__file__)" in run_viewer(["prog.py.lprof.live"], tmp_path).out


def test_a_program_that_changes_folder_and_closes_all_files(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    script = write(
        tmp_path,
        "import os\n"
        "os.chdir('elsewhere')\n"
        "os.closerange(3, 300)\n"
        "own = [open(f'own{i}', 'w') for i in range(300)]\n"
        + "".join(f"@profile\ndef f{i}():\n    a = 1\n" for i in range(500))
        + "for i in range(500):\n    globals()[f'f{i}']()\n"
        "os._exit(0)\n",
    )
    run_ckernprof(["-l", script], tmp_path)
    assert all(path.stat().st_size == 0 for path in (tmp_path / "elsewhere").iterdir())
    assert len(recovered(tmp_path / "prog.py.lprof.live").functions) == 500


def test_no_signal_handler_is_installed(tmp_path):
    names = ["SIGTERM", "SIGALRM", "SIGUSR1", "SIGPROF", "SIGCHLD"]
    names += [] if SANITIZED else ["SIGSEGV", "SIGBUS"]
    script = write(
        tmp_path,
        "import signal\n"
        f"for name in {names}:\n"
        "    assert signal.getsignal(getattr(signal, name)) == signal.SIG_DFL, name\n"
        "signal.signal(signal.SIGTERM, lambda *a: print('own'))\n"
        "signal.raise_signal(signal.SIGTERM)\n",
    )
    ended = run_ckernprof(["-l", "-i", "0.01", script], tmp_path)
    assert ended.code == 0 and ended.out.startswith("own\n")


# ---- what the next commands say ----


def test_the_viewer_points_from_the_missing_profile_to_the_live_file(script, live):
    run_ckernprof(["-l", script, "term"], script.parent)
    ended = run_viewer(["prog.py.lprof"], script.parent)
    assert ended.code == 1 and len(ended.err.splitlines()) == 1
    assert "No such file" in ended.err and ended.err.endswith(
        "; its run did not end by itself, what it recorded is in prog.py.lprof.live\n")  # fmt: skip


def test_the_viewer_says_that_a_profile_is_older_than_the_live_file(script, live):
    run_ckernprof(["-l", script, "go"], script.parent)
    assert run_viewer(["prog.py.lprof"], script.parent).err == ""
    run_ckernprof(["-l", script, "term"], script.parent)
    ended = run_viewer(["prog.py.lprof"], script.parent)
    assert ended.code == 0 and ended.err == (
        "clineprof: prog.py.lprof: a later run did not end by itself, what it recorded is in prog.py.lprof.live\n")


def test_the_next_run_keeps_what_was_left_and_says_so(script, live):
    first = run_ckernprof(["-l", script, "kill"], script.parent)
    kept_bytes = live.read_bytes()
    second = run_ckernprof(["-l", script, "kill"], script.parent)
    assert len(second.err.splitlines()) == 1 and "did not end" in second.err
    [kept] = [path for path in script.parent.glob("*.live") if path != live]
    assert kept.name in second.err and kept.read_bytes() == kept_bytes
    check_counts(recovered(kept), script, first.out)
    check_counts(recovered(live), script, second.out)


def test_nothing_is_said_of_what_was_left_to_quiet_runs(script, live):
    for options in [], ["-q"]:
        run_ckernprof(["-l", script, "kill"], script.parent)
        ended = run_ckernprof(["-l", *options, script, "go"], script.parent)
        assert bool(ended.err) == (not options)
    assert len(list(script.parent.glob("*.live"))) == 2


@pytest.mark.once
def test_what_a_run_left_that_counted_nothing_is_taken_away(tmp_path):
    path = tmp_path / "prog.py"
    path.write_text("import os\n@profile\ndef f(): pass\nos._exit(0)\n", "utf-8")
    for _ in range(3):
        assert run_ckernprof(["-l", path.name], tmp_path).err == ""
        assert [live.name for live in tmp_path.glob("*.live")] == ["prog.py.lprof.live"]


@pytest.mark.once
@pytest.mark.parametrize("bytes_of_name", [250, 251, 255])
def test_a_name_that_leaves_no_room_for_that_of_the_live_file(bytes_of_name, tmp_path):
    (tmp_path / "prog.py").write_text("@profile\ndef f(): pass\nf()\n", "utf-8")
    name = "x" * (bytes_of_name - 6) + ".lprof"
    ended = run_ckernprof(["-l", "-o", name, "prog.py"], tmp_path)
    assert ended.code == 0 and ended.profile(name).functions
    assert ended.err == ("" if bytes_of_name == 250 else
                         f"ckernprof: cannot keep '{tmp_path / name}.live' while the program runs: File name too long; if "
                         "it is killed, its profile is lost\n")  # fmt: skip


def test_a_file_of_the_users_is_left_alone(script, live):
    live.write_text("mine", "utf-8")
    ended = run_ckernprof(["-l", script, "go"], script.parent)
    assert ended.code == 0 and live.read_text("utf-8") == "mine"
    assert len(list(script.parent.iterdir())) == 3


def test_two_runs_at_once_keep_their_own_files(script, live):
    first = start([script, "wait"], script.parent)
    try:
        printed = first.stdout.readline()
        second = run_ckernprof(["-l", script, "kill"], script.parent)
        assert re.fullmatch(rf"ckernprof: process {first.pid} is making a profile of the same name; this "
                            r"run writes '.*/prog\.py-\d+\.lprof'\n", second.err)  # fmt: skip
        [other] = [path for path in script.parent.glob("*.live") if path != live]
        check_counts(recovered(other), script, second.out)
        shown = run_viewer([live.name], script.parent)
        assert "is still running" in shown.out and str(first.pid) in shown.out
        assert marked_lines(shown.out) == [line_of(script, "# in flight")]
        check_counts(recovered(live), script, printed)
    finally:
        first.kill()
        first.communicate()
    assert "did not end by itself" in run_viewer([live.name], script.parent).out


def test_a_live_file_that_is_just_being_made_is_one(script, live):
    """Its header, and with it who makes it, comes last."""
    first = start([script, "wait"], script.parent)
    try:
        first.stdout.readline()
        made = live.read_bytes()
        live.unlink()
        with open(live, "wb", buffering=0) as file:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
            second = start([script, "go"], script.parent)
            time.sleep(0.5)
            file.write(bytes(8) + made[8:])
            os.pwrite(file.fileno(), made[:8], 0)
            out, err = second.communicate(timeout=300)
        assert re.fullmatch(rf"ckernprof: process {first.pid} is making a profile of the same name; this "
                            r"run writes '.*/prog\.py-\d+\.lprof'\n", err)  # fmt: skip
    finally:
        first.kill()
        first.communicate()


def test_a_running_program_is_shown_as_it_goes_on(tmp_path):
    script = write(
        tmp_path,
        "import time\n"
        "@profile\n"
        "def f():\n"
        "    return 1  # leaf\n"
        "@profile\n"
        "def main():\n"
        "    end = time.time() + 60\n"
        "    while time.time() < end:\n"
        "        f()  # call\n"
        "main()\n",
    )
    live = tmp_path / "prog.py.lprof.live"
    process = start([script], tmp_path)
    try:
        wait_for(lambda: live.exists() and "# call" in run_viewer([live.name], tmp_path).out)
        seen = []
        for i in range(5):
            line = recovered(live, f"{i}.lprof").line("main", line_of(script, "# call"))
            seen.append(line["hits"])
            assert line["time"] < 60e9
        assert seen == sorted(seen) and seen[0] < seen[-1]
    finally:
        process.kill()
        process.communicate()


# ---- recover ----


def test_recover_names_its_file_after_the_live_one(script, live):
    printed = run_ckernprof(["-l", script, "term"], script.parent).out
    ended = run_viewer(["recover", live.name], script.parent)
    assert ended.code == 0 and "prog.py.lprof" in ended.out
    check_counts(Profile(script.parent / "prog.py.lprof"), script, printed)
    shown = run_viewer(["-mt", "prog.py.lprof"], script.parent)
    assert shown.code == 0 and shown.err == "", "it is of the very run that left the live file"


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        ([], 2, "needs a live file"),
        (["a.live", "b.live"], 2, "one file"),
        (["a.live", "-o"], 2, "option '-o' needs a FILE; see clineprof recover --help"),
        (["a.live", "--outfile="], 2, "option '--outfile' needs a FILE"),
        (["--outfil", "--", "a.live"], 2, "option '--outfile' needs a FILE"),
        (["--otufile=x", "a.live"], 2, "unknown option '--otufile' (did you mean --outfile?); see clineprof recover"),
        (["plain"], 2, ".live"),
        (["missing.live"], 1, "No such file"),
        (["plain", "-o", "x.lprof"], 1, "not a clineprof profile"),
        (["empty.live"], 1, "empty.live: its process was killed before it counted anything"),
    ],
)
def test_recover_refuses_in_one_line(arguments, code, said, tmp_path):
    (tmp_path / "plain").write_text("hello" * 100, "utf-8")
    (tmp_path / "empty.live").write_bytes(b"")
    ended = run_viewer(["recover", *arguments], tmp_path)
    assert ended.code == code and said in ended.err
    assert ended.err.startswith("clineprof: ") and len(ended.err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.live", "plain"]


@pytest.mark.once
@pytest.mark.parametrize("text", ["import os\nos._exit(0)\n", "import os\n@profile\ndef f(): pass\nos._exit(0)\n"])
def test_recover_writes_nothing_where_nothing_was_counted(text, live):
    run_ckernprof(["-l", write(live.parent, text)], live.parent)
    ended = run_viewer(["recover", live.name], live.parent)
    assert (ended.code, ended.out) == (1, "")
    assert re.fullmatch(r"clineprof: prog\.py\.lprof\.live: process \d+ was killed before it counted anything; no profile "
                        r"is written\n", ended.err)
    assert sorted(path.name for path in live.parent.iterdir()) == ["prog.py", live.name]
    assert "was killed before it counted anything; " in run_viewer([live.name], live.parent).out.splitlines()[0]


def test_recover_has_help_and_works_as_a_module_does(script, live):
    ended = run_viewer(["recover", "--help"], script.parent)
    assert ended.code == 0 and ended.out.startswith("usage: clineprof recover")
    run_ckernprof(["-l", script, "term"], script.parent)
    packages = viewer_command()[0].parent.parent / "python"
    ended = run(
        [sys.executable, "-m", "clineprof", "recover", live.name],
        script.parent,
        env={"PYTHONPATH": str(packages)},
    )
    assert ended.code == 0, ended.err


def test_recover_that_cannot_write_says_so(script, live):
    run_ckernprof(["-l", script, "term"], script.parent)
    ended = run_viewer(["recover", live.name, "-o", "no/such/folder.lprof"], script.parent)
    assert ended.code == 1 and len(ended.err.splitlines()) == 1
    assert "no/such/folder.lprof" in ended.err and live.exists()


# ---- damage ----


@pytest.mark.once
def test_a_cut_off_live_file_is_refused(script, live):
    """Also where a part of it ends: at some multiple of 4096."""
    run_ckernprof(["-l", script, "kill"], script.parent)
    whole = live.read_bytes()
    for size in (1, 8, 100, 400, 4000, 4100, 5000, 70000, *range(4096, len(whole), 4096), len(whole) - 1):
        live.write_bytes(whole[:size])
        ended = run_viewer([live.name], script.parent)
        assert (ended.code, ended.out) == (1, "") and ended.err.count("\n") == 1
        assert ended.err.startswith(f"clineprof: {live.name}: cut off at byte {size}")


@pytest.mark.once
@pytest.mark.parametrize("count", [0, 4, 100, 331776])
def test_a_live_file_without_its_header_says_that_nothing_was_counted(count, live):
    """Its process was killed while it made the file. A next run takes the file away."""
    live.write_bytes(bytes(count))
    for words in [live.name], ["recover", live.name], ["merge", live.name], ["--format", "json", live.name]:
        ended = run_viewer(words, live.parent)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == f"clineprof: {live.name}: its process was killed before it counted anything\n"
    script = write(live.parent, COUNTS)
    ended = run_ckernprof(["-l", script, "go"], live.parent)
    assert ended.err == "" and sorted(path.name for path in live.parent.iterdir()) == ["prog.py", "prog.py.lprof"]


@pytest.mark.once
def test_a_damaged_live_file_never_crashes_the_viewer(script, live):
    run_ckernprof(["-l", script, "kill"], script.parent)
    whole = live.read_bytes()
    used = [at for at in range(0, len(whole), 8) if any(whole[at : at + 8])]
    chance = random.Random(4)
    for i in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 3, 10])):
            at = chance.choice(used) + chance.randrange(8)
            damaged[at] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
        live.write_bytes(damaged)
        ended = run_viewer([live.name], script.parent)
        assert ended.code in (0, 1), (i, ended.code, ended.err)
        assert len(ended.err.splitlines()) <= 1


@pytest.mark.once
def test_a_live_file_of_another_version_is_refused(script, live):
    run_ckernprof(["-l", script, "kill"], script.parent)
    whole = bytearray(live.read_bytes())
    for at, said in ((8, "newer"), (16, "another")):
        changed = bytearray(whole)
        changed[at] ^= 0x40
        live.write_bytes(changed)
        ended = run_viewer([live.name], script.parent)
        assert ended.code == 1 and said in ended.err and len(ended.err.splitlines()) == 1


# ---- disks and limits ----


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a file system of so many KiB; only root can."""
    mounted = []

    def mount(kibibytes):
        folder = tmp_path / "disk"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)]
        try:
            failed = subprocess.run(command, capture_output=True).returncode != 0
        except FileNotFoundError:
            failed = True
        if failed:
            pytest.skip("mounting a small disk needs root")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler:
        try:
            while filler.write(b"x" * 4096):
                pass
        except OSError:
            pass


def test_a_full_disk_costs_one_line_and_nothing_else(small_disk, tmp_path):
    disk = small_disk(64)
    script = write(tmp_path, COUNTS)
    fill(disk)
    ended = run_ckernprof(["-l", "-o", disk / "out.lprof", script, "go"], tmp_path, env={"TMPDIR": str(tmp_path)})
    assert ended.code == 0
    first = ended.err.splitlines()[0]
    assert "cannot keep" in first and "No space left" in first
    assert [line for line in ended.err.splitlines() if "live" in line] == [first]
    assert sorted(path.name for path in disk.iterdir()) == ["filler"]


@pytest.fixture
def read_only(small_disk):
    disk = small_disk(64)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    return disk


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder of the programs under test."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


@pytest.mark.parametrize("how", ["go", "exit", "kill"])
def test_a_read_only_disk_costs_one_line_and_the_files_go_elsewhere(how, read_only, temporary, tmp_path):
    script = write(tmp_path, COUNTS)
    ended = run_ckernprof(["-l", "-o", read_only / "out.lprof", script, how], tmp_path)
    [made] = temporary.iterdir()
    profile = str(made).removesuffix(".live")
    assert re.fullmatch(re.escape(str(temporary)) + r"/out-\d+\.lprof", profile)
    assert ended.err == (f"ckernprof: cannot write '{read_only}/out.lprof': Read-only file system; the profile goes to "
                         f"'{profile}'\n")
    assert made.stat().st_mode & 0o777 == 0o600
    assert (made.suffix == ".live") == (how != "go")
    check_counts(Profile(made) if how == "go" else recovered(made), script, ended.out.splitlines()[0])


def test_a_read_only_disk_loses_no_child_process(read_only, temporary, tmp_path):
    script = write(tmp_path, COUNTS + "print(os.waitstatus_to_exitcode(os.wait()[1]) if os.fork() else outer('kill'))\n")
    ended = run_ckernprof(["-l", "--prof-child-procs", "-o", read_only / "out.lprof", script, "go"], tmp_path)
    [made] = temporary.iterdir()
    assert ended.err.count("\n") == 1 and Profile(made).line("outer", line_of(script, "# in flight"))["hits"] == 2


@pytest.mark.once
@pytest.mark.parametrize("how", ["go", "exit"])
def test_a_program_that_profiles_itself_on_a_read_only_disk_loses_nothing(how, read_only, temporary, tmp_path):
    script = write(tmp_path, "from clineprof import profile\n" + COUNTS)
    ended = run([sys.executable, script, how], read_only, env={"CLINEPROF": "1", "PYTHONPATH": str(BUILD / "python")})
    live = re.search(r"_output\.lprof\.live' while the program runs: Read-only file system; it is '(.*)'", ended.err)[1]
    assert os.path.exists(live) == (how == "exit")
    found = recovered(pathlib.Path(live)) if how == "exit" else Profile(*temporary.glob("*.lprof"))
    check_counts(found, script, ended.out.splitlines()[0])


@pytest.mark.once
def test_where_no_folder_takes_the_profile_the_program_does_not_begin(read_only, tmp_path):
    script = write(tmp_path, COUNTS)
    alone = ["unshare", "--mount", "sh", "-c",
             'mount --rbind /tmp /tmp && mount -o remount,bind,ro /tmp && exec "$@"', "sh"]  # fmt: skip
    if run([*alone, "true"], tmp_path).code != 0:
        pytest.skip("a /tmp of its own needs root")
    ended = run([*alone, *ckernprof("-l", "-o", read_only / "out.lprof", script, "go")], tmp_path)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (f"ckernprof: cannot write '{read_only}/out.lprof': Read-only file system; no temporary folder "
                         "takes the profile either\n")


@pytest.mark.parametrize("how", ["go", "kill"])
def test_a_full_disk_loses_neither_counts_nor_child_processes(how, small_disk, temporary, tmp_path):
    disk = small_disk(64)
    script = write(tmp_path, COUNTS.replace("outer(sys.argv[1])", "os.fork() or outer('kill')\n") +
                   "try: os.wait()\nexcept ChildProcessError: pass\nouter(sys.argv[1])\n")
    fill(disk)
    ended = run_ckernprof(["-l", "--prof-child-procs", "-o", disk / "out.lprof", script, how], tmp_path)
    first, *more = ended.err.splitlines()
    [live] = re.findall(rf"cannot keep '{disk}/out\.lprof\.live' while .*: No space left on device; it is '(.*)'", first)
    assert live.startswith(f"{temporary}/out-") and len(more) == 2 * (how == "go")
    if how == "kill":
        files = [live, *temporary.glob("*.lprof.*-*.live")]
        assert len(files) == 2 == len(list(temporary.iterdir()))
        assert run_viewer(["merge", "-o", "out.lprof", *files], tmp_path).code == 0
    found = next(temporary.iterdir()) if how == "go" else tmp_path / "out.lprof"
    assert Profile(found).line("outer", line_of(script, "# in flight"))["hits"] == 2


@pytest.mark.once
def test_where_the_chosen_temporary_folder_is_full_the_other_one_gets_the_profile(small_disk, tmp_path):
    disk = small_disk(64)
    (tmp_path / "out").mkdir()
    script = write(tmp_path, COUNTS + "import shutil\nshutil.rmtree('out')\n")
    fill(disk)
    ended = run_ckernprof(["-l", "-o", "out/x.lprof", script, "go"], tmp_path, env={"TMPDIR": str(disk)})
    [written] = re.findall(r"the profile is in '(/tmp/ckernprof-.*\.lprof)' instead\n", ended.err)
    check_counts(Profile(written), script, ended.out.splitlines()[0])
    os.unlink(written)


def test_a_disk_that_fills_up_loses_no_count(small_disk, tmp_path):
    disk = small_disk(480)
    text = "".join(f"@profile\ndef f{i}():\n    a = {i}\n    return a\n" for i in range(2000))
    text += "for i in range(2000):\n    globals()[f'f{i}']()\nprint('whole')\n"
    script = write(tmp_path, text)
    ended = run_ckernprof(["-l", "-o", disk / "out.lprof", script], tmp_path)
    assert ended.code == 0 and ended.out.startswith("whole\n")
    [said] = [line for line in ended.err.splitlines() if "could not grow" in line]
    assert "No space left" in said
    path = re.search(r"Wrote profile results to '(.*)'", ended.out).group(1)
    assert all(sum(hits.values()) == 2 for hits in Profile(path).hits().values())
    assert len(Profile(path).functions) == 2000
    if not path.startswith(str(disk)):
        os.unlink(path)


def test_a_killed_run_on_a_full_disk_says_what_is_missing(small_disk, tmp_path):
    disk = small_disk(480)
    text = "".join(f"@profile\ndef f{i}():\n    a = {i}\n    return a\n" for i in range(2000))
    text += "for i in range(2000):\n    globals()[f'f{i}']()\nimport os; os._exit(0)\n"
    ended = run_ckernprof(["-l", "-o", disk / "out.lprof", write(tmp_path, text)], tmp_path)
    assert ended.code == 0 and ended.err == ""
    shown = run_viewer(["-z", disk / "out.lprof.live"], tmp_path)
    assert shown.code == 0 and "could not grow" in shown.out


def test_a_limit_of_file_size_is_no_death(tmp_path):
    text = "".join(f"@profile\ndef f{i}():\n    a = {i}\n" for i in range(1000))
    text += "for i in range(1000):\n    globals()[f'f{i}']()\nprint('whole')\n"
    text = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400000, resource.RLIM_INFINITY))\n" + text +
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
    )
    ended = run_ckernprof(["-l", write(tmp_path, text)], tmp_path)
    assert ended.code == 0 and ended.out.startswith("whole\n")
    assert "could not grow: File too large" in ended.err
    assert len(ended.profile().functions) == 1000


def test_an_output_that_is_no_file_has_no_live_file(script):
    ended = run_ckernprof(["-l", "-o", "/dev/null", script, "go"], script.parent)
    assert ended.code == 0 and ended.err == ""
    assert not os.path.exists("/dev/null.live")


# ---- fork and exec ----

FORKS = """\
import os, sys

@profile
def leaf(n):
    for i in range(n):
        i + 1  # leaf

@profile
def nested(n):
    if n:
        return nested(n - 1)
    leaf(10)
    return fork()

@profile
def fork():
    child = os.fork()  # forks
    if child == 0:
        for i in range(100):
            leaf(1000)
        child_deep(500)
    return child

@profile
def child_deep(n):
    if n:
        child_deep(n - 1)

child = nested(20)
if child == 0:
    leaf(100000)
    how = sys.argv[1]
    if how == "exit":
        sys.exit(0)
    if how == "hard":
        os._exit(0)
    if how == "kill":
        os.kill(os.getpid(), 9)
os.waitpid(child, 0)
for i in range(100):
    leaf(3)
print("parent", flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("child", ["exit", "hard", "kill"])
@pytest.mark.parametrize("parent", ["end", "kill"])
def test_a_forked_child_leaves_the_parents_file_alone(child, parent, tmp_path):
    script = write(tmp_path, FORKS)
    ended = run_ckernprof(["-l", script, child, parent], tmp_path)
    assert ended.out.startswith("parent\n") and ended.code == (-9 if parent == "kill" else 0)
    live = tmp_path / "prog.py.lprof.live"
    assert live.exists() == (parent == "kill")
    profile = recovered(live) if parent == "kill" else ended.profile()
    assert profile.line("leaf", line_of(script, "# leaf"))["hits"] == 310
    assert profile.line("fork", line_of(script, "# forks"))["hits"] == 1
    assert sum(profile.measure(profile.function("child_deep"), "hits").values()) == 0


def test_fork_under_load_of_a_thread_keeps_both_sides_whole(tmp_path):
    script = write(
        tmp_path,
        "import os, threading\n"
        "@profile\n"
        "def f(n):\n"
        "    return f(n - 1) if n else 0\n"
        "stop = False\n"
        "def spin():\n"
        "    while not stop:\n"
        "        f(30)\n"
        "thread = threading.Thread(target=spin)\n"
        "thread.start()\n"
        "for i in range(50):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        for j in range(50):\n"
        "            f(40)\n"
        "        os._exit(5)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5\n"
        "stop = True\n"
        "thread.join()\n",
    )
    ended = run_ckernprof(["-l", script], tmp_path)
    assert ended.code == 0, ended.err


def test_exec_leaves_the_live_file(script, live):
    replaced = write(
        script.parent,
        COUNTS.replace(
            "    end(how)",
            "    os.execv(sys.executable, [sys.executable, '-c',"
            " 'import time; print(4, flush=True); time.sleep(60)'])",
        ),
    )
    process = start([replaced, "go"], script.parent)
    try:
        printed = process.stdout.readline()
        assert process.stdout.readline() == "4\n"
        assert "did not end by itself" in run_viewer([live.name], script.parent).out
        check_counts(recovered(live), replaced, printed)
    finally:
        process.kill()
        process.communicate()


# ---- -i ----

TICKS = """\
import sys, time

@profile
def tick(n):
    for i in range(100):
        n += i  # turn
    return n + sum(range(5000))  # takes longer than counting the turns

@profile
def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tick(1)  # call

main(float(sys.argv[1]))
print("done")
"""


def test_interval_saves_are_whole_profiles(tmp_path):
    script = write(tmp_path, TICKS)
    process = start(["-i", "0.1", script, "60"], tmp_path)
    path = tmp_path / "prog.py.lprof"
    seen = []
    try:
        while len(seen) < 5:
            wait_for(lambda: path.exists() and Profile(path).meta["events"] > 100)
            profile = Profile(path)
            hits = profile.line("main", line_of(script, "# call"))["hits"]
            if hits not in seen:
                seen.append(hits)
            assert "".join(profile.sources().values()).count("# turn") == 1
    finally:
        process.kill()
        process.communicate()
    assert seen == sorted(seen)
    last = Profile(path).line("main", line_of(script, "# call"))["hits"]
    live = recovered(tmp_path / "prog.py.lprof.live").line("main", line_of(script, "# call"))
    assert 0 < last <= live["hits"]


def test_interval_saves_and_a_clean_end(tmp_path):
    script = write(tmp_path, TICKS)
    ended = run_ckernprof(["-l", "-i", "0.05", script, "0.5"], tmp_path)
    assert ended.code == 0 and ended.err == "" and ended.out.startswith("done\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prog.py", "prog.py.lprof"]
    profile = ended.profile()
    turn = profile.line("tick", line_of(script, "# turn"))["hits"]
    assert turn == 100 * profile.line("main", line_of(script, "# call"))["hits"]


def test_interval_saves_survive_a_fork_without_a_warning(tmp_path):
    script = write(
        tmp_path,
        "import os, time, warnings\n"
        "warnings.simplefilter('always')\n"
        "def saved(times):\n"  # waits for so many saves: each makes another file, so the second has what was before
        "    for i in range(times):\n"
        "        while not os.path.exists('prog.py.lprof'): time.sleep(0.01)\n"
        "        last = os.stat('prog.py.lprof')\n"
        "        while os.path.samestat(last, os.stat('prog.py.lprof')): time.sleep(0.01)\n"
        "@profile\n"
        "def f():\n"
        "    for i in range(20):\n"
        "        child = os.fork()\n"
        "        if child == 0:\n"
        "            os._exit(0)\n"
        "        os.waitpid(child, 0)\n"
        "    saved(1)\n"
        "    for i in range(20000):\n"
        "        i + 1  # after\n"
        "    saved(2)\n"
        "    os._exit(0)\n"
        "f()\n",
    )
    ended = run_ckernprof(["-l", "-i", "0.05", script], tmp_path)
    assert ended.code == 0 and ended.err == ""
    profile = Profile(tmp_path / "prog.py.lprof")
    assert profile.line("f", line_of(script, "# after"))["hits"] == 20000


def test_interval_saves_that_fail_are_told_once(tmp_path):
    (tmp_path / "sub").mkdir()
    script = write(
        tmp_path,
        "import os, time\n"
        "@profile\n"
        "def f():\n"
        "    return 1\n"
        "f()\n"
        "os.rename('sub', 'moved')\n"
        "time.sleep(0.8)\n"  # sixteen times as long as it takes until it is saved
    )
    ended = run_ckernprof(["-l", "-i", "0.05", "-o", "sub/out.lprof", script], tmp_path)
    assert ended.code == 0
    assert len([line for line in ended.err.splitlines() if "could not be saved" in line]) == 1
    path = re.search(r"Wrote profile results to '(.*)'", ended.out).group(1)
    assert Profile(path).line("f", 4)["hits"] == 1
    os.unlink(path)


# ---- top ----


class Screen:
    """`clineprof top` in a terminal of its own."""

    def __init__(self, live, *options, rows=12, columns=120):
        try:
            self.pid, self.terminal = pty.fork()
        except OSError as error:
            pytest.skip(f"no terminal can be had here: {error}")
        if self.pid == 0:
            os.chdir(live.parent)
            environment = clean_environment()
            command = [str(part) for part in [*viewer_command(), "top", "--color", "never", *options, live.name]]
            os.execve(command[0], command, environment)
        fcntl.ioctl(
            self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0)
        )
        self.text = ""

    def read(self):
        """All that has come so far."""
        try:
            while select.select([self.terminal], [], [], 0.05)[0]:
                more = os.read(self.terminal, 65536).decode("utf-8", "replace")
                if not more:
                    break
                self.text += more
        except OSError:
            pass
        return self.text

    def pictures(self):
        return self.read().split("\x1b[H")[1:]

    def wait(self, text, after=0):
        """The first picture behind the first `after` ones that has this text."""
        return wait_for(
            lambda: next((one for one in self.pictures()[after:] if text in one), None)
        )

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def gone(self):
        self.read()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.status = status
        return pid

    def code(self):
        wait_for(self.gone)
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(self.status)


def rows_of(picture):
    return [row.removeprefix("\x1b[K") for row in picture.split("\r\n") if row.startswith("\x1b[Kprog.py:")]


def sorted_by(picture):
    return re.sub(" +", " ", re.search("\x1b\\[7m(.*?)\x1b", picture)[1])


def test_top_shows_a_running_program_and_obeys_keys(tmp_path):
    script = write(tmp_path, TICKS)
    process = start([script, "60"], tmp_path)
    live = tmp_path / "prog.py.lprof.live"
    try:
        wait_for(lambda: live.exists() and "# call" in run_viewer([live.name], tmp_path).out)
        # many calls have ended, so the one in flight weighs little
        wait_for(lambda: recovered(live).line("main", line_of(script, "# call"))["hits"] > 100)
        screen = Screen(live)
        first = screen.wait("is running")
        assert str(process.pid) in first and " Self" in sorted_by(first)
        screen.press("t")
        by_time = screen.wait("\x1b[7m      Time\x1b[m", after=1)
        rows = rows_of(by_time)
        # the call in flight may lack its part when the copy is taken in the midst of it; the lines of tick() may then
        # be above it, but no other line of main()
        assert "tick(1)  # call" in next(row for row in rows if "main" in row)
        assert any(">" in row and "main" in row for row in rows)
        later = screen.wait("is running", after=2)  # it is drawn anew by itself
        assert later != first
        screen.press("h")
        by_hits = screen.wait("Hits\x1b[m")
        hits = [int(row.split()[2]) for row in rows_of(by_hits)]
        assert hits == sorted(hits, reverse=True) and len(hits) > 4
        screen.press("\x1b[C")
        before = len(screen.pictures())
        screen.wait("Time\x1b[m", after=before - 1)
        screen.press("<")
        screen.wait("Hits\x1b[m", after=before)
        screen.press("q")
        assert screen.code() == 0
        assert screen.text.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l")
    finally:
        process.kill()
        process.communicate()


def test_top_shows_any_measure(script, live):
    run_ckernprof(["-l", script, "kill"], script.parent)
    screen = Screen(live, "--measure", "blocks,raw-self,hits")
    first = screen.wait("has ended")
    blocks = [int(row.split()[2]) for row in rows_of(first)]
    assert sorted_by(first) == " Blocks"  # there is no time to sort by
    assert blocks == sorted(blocks, reverse=True) and blocks[0] > 0
    screen.press("t>")  # t does nothing
    screen.wait("Raw self\x1b[m")
    screen.press("h")
    cells = [row.split()[3:] for row in rows_of(screen.wait("Hits\x1b[m"))]  # the raw self time, with a unit but for 0
    hits = [int(row[1 if row[0] == "0" else 2]) for row in cells]
    assert hits == sorted(hits, reverse=True) and hits[0] > hits[-1]
    screen.press("q")
    assert screen.code() == 0


def test_top_goes_on_when_the_program_is_killed(script, live):
    process = start([script, "wait"], script.parent)
    try:
        process.stdout.readline()
        screen = Screen(live)
        screen.wait("is running")
    finally:
        process.kill()
        process.communicate()
    screen.wait("has ended")
    screen.press("\x03")
    assert screen.code() == 0


def test_top_ends_with_a_run_that_ends(tmp_path):
    script = write(tmp_path, TICKS)
    script.write_text(script.read_text().replace("time.monotonic() < end", "not os.path.exists('stop')")
                      .replace("import sys", "import os, sys"))
    process = start([script, "0"], tmp_path)
    live = tmp_path / "prog.py.lprof.live"
    wait_for(live.exists)
    screen = Screen(live)
    screen.wait("is running")
    (tmp_path / "stop").touch()
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert screen.code() == 0 and "the run has ended by itself" in screen.text


def test_top_gives_the_terminal_back_when_it_is_ended(script, live):
    run_ckernprof(["-l", script, "kill"], script.parent)
    screen = Screen(live)
    screen.wait("has ended")
    os.kill(screen.pid, signal.SIGTERM)
    assert screen.code() == 0 and screen.text.endswith("\x1b[?1049l")


def test_top_shows_no_control_characters_of_the_program(tmp_path):
    script = write(tmp_path, "import os\n@profile\ndef f():\n    a = '\x1b[2J'; os._exit(0)\nf()\n")
    run_ckernprof(["-l", script], tmp_path)
    screen = Screen(tmp_path / "prog.py.lprof.live")
    picture = screen.wait("has ended")
    screen.press("q")
    assert screen.code() == 0
    assert "\\x1b[2J" in picture and "\x1b[2J" not in picture


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        ([], 2, "one live file"),
        (["a", "b"], 2, "one live file"),
        (["--hepl"], 2, "unknown option '--hepl' (did you mean --help?); see clineprof top --help"),
        (["missing.live"], 1, "No such file"),
        (["prog.py"], 1, "not a clineprof profile"),
        (["prog.py.lprof.live"], 2, "needs a terminal"),
        (["--measure", "hits,zeit", "x"], 2, "'--measure' needs some of hits,time,"),
        (["--measure", "live", "prog.py.lprof.live"], 1, "top cannot show live: live blocks are only in"),
    ],
)
def test_top_refuses_in_one_line(arguments, code, said, script):
    run_ckernprof(["-l", script, "kill"], script.parent)
    ended = run_viewer(["top", *arguments], script.parent)
    assert ended.code == code and said in ended.err and ended.out == ""
    assert ended.err.startswith("clineprof: ") and len(ended.err.splitlines()) == 1


def test_top_has_help(tmp_path):
    ended = run_viewer(["top", "--help"], tmp_path)
    assert ended.code == 0 and ended.out.startswith("usage: clineprof top")
