# SPDX-License-Identifier: MIT
"""--prof-child-procs: whatever a program starts is in the profile, to the hit, however it ends."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import msgpack
import pytest
from harness import (
    BUILD,
    CKERNPROF,
    ROOT,
    Profile,
    ckernprof,
    clean_environment,
    line_of,
    run,
    run_ckernprof,
    run_python,
    run_viewer,
    viewer_command,
)

OPTION = "--prof-child-procs"

WORK = """\
import multiprocessing, os, signal, subprocess, sys, time

@profile
def work(n):
    for i in range(n):
        done = i  # turn
    return n

def settle(pid):
    os.waitpid(pid, 0)
"""


@pytest.fixture
def program(tmp_path):
    """Writes prog.py: what all of these programs have, and the rest, run as a main script."""

    def write(rest):
        (tmp_path / "prog.py").write_text(WORK + rest)

    return write


def turns(profile, name="work", mark="# turn", file="prog.py"):
    return profile.line(name, line_of(profile.folder / file, mark))["hits"]


def profiled(folder, *options, program=("prog.py",), **more):
    """Runs it, and it must do what it does without a profiler; the profile."""
    ended = run_ckernprof(["-l", OPTION, *options, *program], folder, **more)
    assert ended.err == "", ended.err
    profile = ended.profile()
    profile.folder = folder
    profile.ended = ended
    profile.processes = profile.raw.get("processes", [])
    return profile


def left_over(folder):
    return sorted(entry.name for entry in folder.iterdir() if ".lprof." in entry.name)


# ---- fork --------------------------------------------------------------------------------------


def test_forks_count_to_the_hit_and_say_who_they_were(program, tmp_path):
    program("""
work(1)
for n in 10, 100:
    pid = os.fork()
    if pid == 0:
        work(n)
        os._exit(0)
    settle(pid)
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 111
    assert profile.line("work", line_of(tmp_path / "prog.py", "return n"))["hits"] == 3
    own = [process["pid"] for process in profile.processes]
    assert len(set(own)) == 3
    assert [p["parent"] for p in profile.processes] == [0, own[0], own[0]]
    assert left_over(tmp_path) == []


def test_a_fork_drops_what_its_parent_counted_but_not_where_it_stands(program, tmp_path):
    """The fork happens within profiled lines, which both go on with."""
    program("""
@profile
def outer():
    work(1000)
    pid = os.fork()  # both
    if pid == 0:
        work(10)
    else:
        settle(pid)
    return pid  # each

outer()
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 1010
    assert turns(profile, "outer", "# both") == 1
    assert turns(profile, "outer", "# each") == 2


def test_a_forks_numbers_are_kept_apart(program, tmp_path):
    program("""
work(3)
pid = os.fork()
if pid == 0:
    work(40)
    sys.exit()
settle(pid)
""")
    profile = profiled(tmp_path)
    apart = [msgpack.unpackb(process["numbers"]) for process in profile.processes]
    line = line_of(tmp_path / "prog.py", "# turn")
    [[mine], [childs]] = [one["functions"] for one in apart]
    assert Profile.measure(mine, "hits")[line] == 3
    assert Profile.measure(childs, "hits")[line] == 40


def test_the_viewer_lists_processes_and_shows_single_ones(program, tmp_path):
    program("""
work(3)
process = multiprocessing.get_context("fork").Process(target=work, args=(40,), name="helper 1")
process.start()
process.join()
""")
    profile = profiled(tmp_path)
    first, second = (str(process["pid"]) for process in profile.processes)
    shown = run_viewer(["--processes", "prog.py.lprof"], tmp_path)
    [rows] = re.findall(r"^ Process   Parent .*\n=+\n(.*\n)(.*helper 1\n)", shown.out, re.M)
    assert [row.split()[:2] for row in rows] == [[first, "-"], [second, first]]
    assert [row.split()[4] for row in rows] == ["8", "82"]
    for pattern, hits in (first, 4), (second, 41), ("helper*", 41):
        shown = run_viewer(["--process", pattern, "prog.py.lprof"], tmp_path)
        assert re.search(rf"^ +5 +{hits} .* for i in range", shown.out, re.M), shown.out
    both = run_viewer(["--process", first, "--process", "helper 1", "prog.py.lprof"], tmp_path)
    assert re.search(r"^ +5 +45 ", both.out, re.M), both.out
    none = run_viewer(["--process", "nobody", "prog.py.lprof"], tmp_path)
    assert (none.code, none.out, none.err) == (
        1, "", "clineprof: --process nobody matches none of 2 processes; --processes lists them\n")


def test_a_profile_of_one_process_has_no_others(program, tmp_path):
    program("work(3)\n")
    assert run_ckernprof(["-l", "prog.py"], tmp_path).code == 0
    assert "Process" not in run_viewer(["--processes", "prog.py.lprof"], tmp_path).out
    ended = run_viewer(["--process", "1", "prog.py.lprof"], tmp_path)
    assert (ended.code, ended.err) == (
        1, "clineprof: --process: the profile is of one process; ckernprof --prof-child-procs makes "
        "one of several\n")


def test_numbers_of_a_process_that_are_damaged_are_refused(program, tmp_path):
    program("work(3)\nif os.fork(): os.wait()\nelse: work(2)\n")
    raw = profiled(tmp_path).raw
    raw["processes"][0]["numbers"] = b"\x86no profile"
    (tmp_path / "bad.lprof").write_bytes(msgpack.packb(raw))
    pid = raw["processes"][0]["pid"]
    ended = run_viewer(["--process", pid, "bad.lprof"], tmp_path)
    assert (ended.code, ended.err) == (
        1, f"clineprof: --process: the numbers of process {pid}: not a clineprof profile\n")


def test_of_many_processes_the_first_are_kept_apart(program, tmp_path):
    program("""
for k in range(300):
    pid = os.fork()
    if pid == 0:
        work(1)
        os._exit(0)
    settle(pid)
""")
    profile = profiled(tmp_path)
    apart = ["numbers" in process for process in profile.processes]
    assert len(apart) == 301 and 200 < apart.count(True) <= 256
    pid = next(p["pid"] for p in profile.processes if "numbers" not in p)
    ended = run_viewer(["--process", pid, "prog.py.lprof"], tmp_path)
    assert ended.err == (f"clineprof: --process: the file has no numbers of process {pid} alone\n")


def test_threads_of_the_parent_are_not_in_the_child(program, tmp_path):
    program("""
import threading
held = threading.Event()

@profile
def wait():
    held.wait()  # held
    work(5)

thread = threading.Thread(target=wait)
thread.start()
pid = os.fork()
if pid == 0:
    work(10)
    os._exit(0)
settle(pid)
held.set()
thread.join()
""")
    ended = run_ckernprof(["-l", OPTION, "prog.py"], tmp_path)
    profile = ended.profile()
    profile.folder = tmp_path
    assert turns(profile) == 15
    assert turns(profile, "wait", "# held") == 1


def test_forks_after_any_number_of_named_threads(program, tmp_path):
    """What the child merges and sets aside before it has a file may need more memory. At some forks it does."""
    program("""
import threading, time
before = len(os.listdir("/proc/self/task"))
for k in range(1, 51):
    thread = threading.Thread(target=work, args=(1,), name="thread %d" % k)
    thread.start()
    thread.join()
    while len(os.listdir("/proc/self/task")) > before:  # 3.12 warns of a thread that is just ending
        time.sleep(0.001)
    pid = os.fork()
    if pid == 0:
        work(100)
        os._exit(0)
    settle(pid)
""")
    profile = profiled(tmp_path, "--threads")
    assert turns(profile) == 50 * 100
    assert [turns(profile, "work [thread %d]" % k) for k in range(1, 51)] == [1] * 50


@pytest.mark.parametrize("lines", [1, 100])
def test_forks_after_any_number_of_functions(program, tmp_path, lines):
    program("""
for k in range(1, 21):
    exec("@profile\\ndef f_%%d():\\n%%s" %% (k, "    x = 1\\n" * %d))
    globals()["f_%%d" %% k]()
    pid = os.fork()
    if pid == 0:
        work(100)
        os._exit(0)
    settle(pid)
""" % lines)
    profile = profiled(tmp_path)
    assert turns(profile) == 20 * 100
    for k in range(1, 21):
        hits = Profile.measure(profile.function("f_%d" % k), "hits")
        assert list(hits.values()) == [1] * lines


def test_grandchildren(program, tmp_path):
    program("""
def deeper(levels):
    work(10 ** levels)
    if levels:
        pid = os.fork()
        if pid == 0:
            deeper(levels - 1)
            os._exit(0)
        settle(pid)
deeper(3)
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 1111
    assert len(profile.processes) == 4


def test_thousands_of_short_forks_leave_nothing_behind(program, tmp_path):
    program("""
most = 0
for k in range(500):
    pid = os.fork()
    if pid == 0:
        work(2)
        os._exit(0)
    settle(pid)
    most = max(most, sum(".lprof." in name for name in os.listdir()))
print(most)
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 1000
    assert len(profile.processes) == 501
    assert int(profile.ended.out.splitlines()[0]) < 200
    assert left_over(tmp_path) == []


# ---- how children end --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "end",
    [
        "os._exit(3)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "sys.exit(1)",
        "os.abort()",
        "os.execv('/bin/true', ['true'])",
    ],
)
def test_children_that_end_in_any_way(program, tmp_path, end):
    program(f"""
pid = os.fork()
if pid == 0:
    work(70)
    {end}
settle(pid)
""")
    ended = run_ckernprof(["-l", OPTION, "prog.py"], tmp_path)
    profile = ended.profile()
    profile.folder = tmp_path
    assert turns(profile) == 70
    assert left_over(tmp_path) == []


def test_a_child_that_becomes_another_python(program, tmp_path):
    program("""
if len(sys.argv) > 1:
    work(200)
    sys.exit()
pid = os.fork()
if pid == 0:
    work(30)
    os.execv(sys.executable, [sys.executable, "prog.py", "again"])
settle(pid)
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 230
    assert left_over(tmp_path) == []


def test_a_child_that_outlives_its_parent_is_named(program, tmp_path):
    program("""
pid = os.fork()
if pid == 0:
    work(50)
    sys.stdout.close()
    os.close(1)
    open("counted", "w").close()
    while os.path.exists("prog.py") and not os.path.exists("go"):  # the folder may be gone
        time.sleep(0.01)
    work(7)
    open("gone", "w").close()
    os._exit(0)
while not os.path.exists("counted"):
    time.sleep(0.01)
""")
    process = subprocess.Popen([*ckernprof("-l", OPTION, "prog.py")], cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment())  # fmt: skip
    try:
        assert process.wait(300) == 0
        told = process.stderr.readline()
        [file] = left_over(tmp_path)
        assert re.fullmatch(
            r"ckernprof: process \d+ still runs; its counts so far are in the profile, all of "
            rf"them will be in '.*/{re.escape(file)}'\n", told)
        profile = Profile(tmp_path / "prog.py.lprof")
        profile.folder = tmp_path
        assert turns(profile) == 50
    finally:
        (tmp_path / "go").touch()
    for _ in range(3000):
        if (tmp_path / "gone").exists():
            break
        time.sleep(0.01)
    shown = run_viewer([file], tmp_path)
    assert re.search(r"^ +6 +57 ", shown.out, re.M), shown.out
    assert re.search(": process [0-9]+ (has ended|is still running);", shown.out)
    process.stdout.close()
    process.stderr.close()


def test_a_daemon_that_has_counted_nothing_yet_is_named(program, tmp_path):
    """The process between, which ended at once, is not."""
    program("""
work(1)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(1)
        os.close(2)
        open("begun", "w").close()
        while os.path.exists("prog.py") and not os.path.exists("go"):  # the folder may be gone
            time.sleep(0.01)
    os._exit(0)
os.wait()
while not os.path.exists("begun"):
    time.sleep(0.01)
""")
    ended = run_ckernprof(["-l", OPTION, "prog.py"], tmp_path)
    [file] = left_over(tmp_path)
    (tmp_path / "go").touch()
    assert re.fullmatch(r"ckernprof: process \d+ still runs; it has counted nothing so far, what it counts will be in "
                        rf"'.*/{re.escape(file)}'\n", ended.err)  # fmt: skip


OUTLIVING = """
work(1)
pid = os.fork()
if pid == 0:
    work(50)
    for number in 0, 1, 2:
        os.close(number)
    open("counted", "w").close()
    while os.path.exists("prog.py") and not os.path.exists("go"):  # the folder may be gone
        time.sleep(0.01)
    work(7)
    os._exit(0)
other = os.fork()
if other == 0:
    work(300)
    os._exit(0)
settle(other)
while not os.path.exists("counted"):
    time.sleep(0.01)
print(pid)
"""


@pytest.fixture
def outlived(program, tmp_path):
    """A profile, and the live file of a process that is in it with a part of what it did in the end."""
    program(OUTLIVING)
    ended = run_ckernprof(["-l", "-qq", OPTION, "prog.py"], tmp_path, stdin="")
    assert (ended.code, ended.err) == (0, "")
    (tmp_path / "go").touch()
    profile = Profile(tmp_path / "prog.py.lprof")
    profile.folder = tmp_path
    assert turns(profile) == 351
    [live] = left_over(tmp_path)
    pid = int(live.split(".")[-2])
    for _ in range(3000):
        if not os.path.exists(f"/proc/{pid}/cwd"):  # nor has a zombie one
            break
        time.sleep(0.01)
    return live


@pytest.mark.parametrize("order", [1, -1])
def test_a_child_that_outlived_its_parent_counts_once(outlived, tmp_path, order):
    files = ["prog.py.lprof", outlived][::order]
    merged = run_viewer(["merge", "-o", "sum.lprof", *files], tmp_path)
    assert merged.code == 0, merged.err
    assert merged.err.count(outlived) == 1
    profile = Profile(tmp_path / "sum.lprof")
    profile.folder = tmp_path
    assert turns(profile) == 358
    assert "done = i  # turn" in run_viewer(["sum.lprof"], tmp_path).out
    rows = profile.raw["processes"]
    [first] = [row["pid"] for row in rows if row["parent"] == 0]
    assert [row["parent"] for row in rows].count(first) == 2 == len(rows) - 1
    # nor does it count again with what was made of it
    run_viewer(["merge", "-o", "more.lprof", "sum.lprof", "prog.py.lprof", outlived], tmp_path)
    profile = Profile(tmp_path / "more.lprof")
    profile.folder = tmp_path
    assert turns(profile) == 358 and len(profile.raw["processes"]) == 3
    shown = run_viewer(files, tmp_path)
    assert re.search(r"^ +6 +358 ", shown.out, re.M), shown.out


SAVED_EARLY = """
import os, shutil, time
if os.fork() == 0:
    work(100)
    os._exit(0)
os.wait()
work(10)
while not os.path.exists("prog.py.lprof"):
    time.sleep(0.01)
shutil.copy("prog.py.lprof", "early.lprof")
work(90)
"""


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_that_was_copied_while_its_process_ran(program, tmp_path, order):
    program(SAVED_EARLY)
    ended = run_ckernprof(["-l", "-qq", OPTION, "-i", "1", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    files = ["prog.py.lprof", "early.lprof"][::order]
    merged = run_viewer(["merge", "-o", "sum.lprof", *files], tmp_path)
    assert merged.code == 0, merged.err
    profile = Profile(tmp_path / "sum.lprof")
    profile.folder = tmp_path
    assert turns(profile) == 200 and len(profile.raw["processes"]) == 2


@pytest.mark.parametrize("order", [1, -1])
def test_two_sums_that_have_a_process_in_common(outlived, tmp_path, order):
    """It counts in the sum that has more of it, whichever is named first."""
    assert run_viewer(["merge", "-o", "sum.lprof", "prog.py.lprof", outlived], tmp_path).code == 0
    ended = run_viewer(["merge", "-o", "x.lprof", *["prog.py.lprof", "sum.lprof"][::order]], tmp_path)
    profile = Profile(tmp_path / "x.lprof")
    profile.folder = tmp_path
    assert (ended.code, ended.err, turns(profile)) == (0, "", 358)


def test_a_process_twice_whose_sum_cannot_be_taken_apart_or_read_twice(outlived, tmp_path):
    pid = outlived.split(".")[-2]
    path = tmp_path / "prog.py.lprof"
    words = [str(word) for word in viewer_command()]
    command = " ".join(words) + f" merge -o x.lprof - {outlived} <prog.py.lprof"
    ended = run(["sh", "-c", command], tmp_path)
    assert ended.code == 1 and ended.err.endswith(
        "clineprof: standard input and the other files have processes in common; save standard "
        "input to a file, which can be read twice\n")
    raw = msgpack.unpackb(path.read_bytes())
    for process in raw["processes"]:
        del process["numbers"]
    path.write_bytes(msgpack.packb(raw))
    ended = run_viewer(["merge", "-o", "x.lprof", "prog.py.lprof", outlived], tmp_path)
    assert ended.code == 1 and ended.err.endswith(
        f"clineprof: prog.py.lprof: process {pid} is in another file, too, and this file has no numbers "
        "of each process; leave out one of the two files\n")
    assert not (tmp_path / "x.lprof").exists()


def test_when_the_parent_is_killed_all_live_files_can_be_merged(program, tmp_path):
    program("""
work(1)
pid = os.fork()
if pid == 0:
    work(20)
    os._exit(0)
settle(pid)
os.kill(os.getpid(), signal.SIGKILL)
""")
    ended = run_ckernprof(["-l", OPTION, "prog.py"], tmp_path)
    assert ended.code == -signal.SIGKILL
    files = [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".live")]
    assert len(files) == 2
    merged = run_viewer(["merge", "-o", "sum.lprof", *files], tmp_path)
    assert merged.code == 0, merged.err
    profile = Profile(tmp_path / "sum.lprof")
    profile.folder = tmp_path
    assert turns(profile) == 21


NINE = """
reader, writer = os.pipe()
for n in range(8):
    if os.fork() == 0:
        work(10 ** n // 10)
        os.write(writer, b"x")
        time.sleep(60)
ready = 0
while ready < 8:
    ready += len(os.read(reader, 8))
os.killpg(0, signal.SIGTERM)
time.sleep(60)
"""


@pytest.fixture(params=["work(5)", ""], ids=["all have counted", "the first has counted nothing"])
def killed(request, program, tmp_path):
    """Of nine processes that SIGTERM has ended: the first one's file, the others', and the turns of all."""
    program(request.param + NINE)
    command = [*ckernprof("-l", OPTION), "prog.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=clean_environment(), start_new_session=True) as process:
        assert process.wait(300) == -signal.SIGTERM
    first, others = tmp_path / "prog.py.lprof.live", sorted(tmp_path.glob("prog.py.lprof.*-*.live"))
    assert len(others) == 8 and len(list(tmp_path.iterdir())) == 10
    return first, others, 1111111 + len(request.param) // 7 * 5


JOIN = "; to join them run: clineprof recover prog.py.lprof.live"


def test_the_first_file_of_a_killed_family_shows_and_joins_all(killed, tmp_path):
    first, others, done = killed
    shown = run_viewer([first.name], tmp_path)
    heading = shown.out.splitlines()[0]
    assert re.fullmatch(r"prog\.py\.lprof\.live: process \d+ (did not end by itself|was killed before it counted anything)"
                        rf", with 8 files of its child processes{JOIN}; > marks lines that were being executed", heading)
    assert re.search(rf"^ +6 +{done} ", shown.out, re.M), shown.out
    for name in others[0].name, others[7].name:
        heading = run_viewer([name], tmp_path).out.splitlines()[0]
        assert re.fullmatch(r"prog\.py\.lprof\.\S+\.live: process \d+ has ended; it is one of 9 files of a run"
                            rf"{JOIN}; > .*", heading)
    ended = run_viewer(["recover", first.name], tmp_path)
    assert ended.code == 0 and ended.out.count("\n") == 2 and JOIN not in ended.out, ended.err
    profile = Profile(tmp_path / "prog.py.lprof")
    profile.folder = tmp_path
    assert turns(profile) == done and len(profile.raw["processes"]) == 9
    load = ("import clineprof; print([sum(line.hits for line in function.lines) for function in "
            "clineprof.load('prog.py.lprof.live').functions])")  # fmt: skip
    told = run_python(["-c", load], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert told.out == f"[{sum(profile.function('work')['lines']['hits'])}]\n", told.err


def test_a_killed_family_is_compared_as_a_whole(killed, tmp_path):
    first, others, done = killed
    ended = run_viewer(["diff", "--format", "json", others[-1].name, first.name], tmp_path)
    assert ended.code == 0 and "with 8 files of its child processes" in ended.err and ended.err.count("\n") == 1
    [work] = [function for function in json.loads(ended.out)["functions"] if function["name"] == "work"]
    [line] = [line for line in work["lines"] if line["measures"]["hits"]["after"] == done]
    assert line["measures"]["hits"]["before"] <= 1_000_000


def test_a_limit_does_not_pass_a_killed_family_of_which_a_file_is_lost(killed, tmp_path):
    first, others, _ = killed
    words = ["diff", "--fail-on", "hits>+10%", first.name, first.name]
    assert run_viewer(words, tmp_path).code == 0
    os.truncate(others[0], 5000)
    assert run_viewer(words, tmp_path).code == 1
    assert run_viewer(["diff", first.name, first.name], tmp_path).code == 0


def test_the_next_run_says_how_a_killed_family_is_joined(killed, tmp_path):
    first, others, done = killed
    (tmp_path / "again.py").write_text(WORK + "work(1)\n")
    told = run_ckernprof(["-l", "-o", "prog.py.lprof", "again.py"], tmp_path)
    [kept] = set(tmp_path.glob("prog.py.lprof.*.live")) - set(others)
    pid = kept.name.split(".")[-2]
    assert told.err == (f"ckernprof: an earlier run (process {pid}) did not end by itself; its profile is kept as '{kept}' "
                        "and in 8 files of its child processes, which clineprof shows together; to join them run: "
                        f"clineprof recover {kept}\n")
    assert run_viewer(["recover", "-o", "all.lprof", kept.name], tmp_path).code == 0
    profile = Profile(tmp_path / "all.lprof")
    profile.folder = tmp_path
    assert turns(profile) == done


def test_what_is_no_file_of_a_killed_family_is_not_counted(killed, tmp_path):
    """A file that is cut off is told, and the others count. Those of other runs and users do not belong to it."""
    first, others, done = killed
    damaged, foreign, *others = others
    damaged.write_bytes(damaged.read_bytes()[:8192])
    shutil.copy(others[0], tmp_path / "copy.live")
    if os.geteuid() == 0:
        os.chown(foreign, 12345, 12345)
    else:
        foreign.unlink()
    run_ckernprof(["-l", "--prof-child-procs", "-o", "other.lprof", "-c", "import os; os._exit(0)"], tmp_path)
    ended = run_viewer(["--format", "json", first.name], tmp_path)
    told, complaint = ended.err.splitlines()
    assert told.endswith(f", with 8 files of its child processes{JOIN}")
    assert complaint == f"clineprof: {damaged.name}: cut off at byte 8192" and ended.code == 0
    counted = [process["pid"] for process in json.loads(ended.out)["processes"] if process["events"]]
    pids = [int(path.name.split(".")[-2]) for path in others]
    assert sorted(pid for pid in counted if pid in pids) == sorted(pids) and len(counted) == 6 + (done > 1111111)


# ---- multiprocessing ---------------------------------------------------------------------------

POOL = """
def job(n):
    return work(n)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(sum(pool.map(job, [1, 10, 100, 1000])))
    process = context.Process(target=job, args=(5000,), name="the big one")
    process.start()
    process.join()
"""

METHODS = ["fork", "spawn", "forkserver"]


@pytest.mark.parametrize("method", METHODS)
def test_pools_and_processes_of_multiprocessing(program, tmp_path, method):
    program(POOL)
    profile = profiled(tmp_path, program=("prog.py", method))
    assert profile.ended.out.startswith("1111\n")
    assert turns(profile) == 6111
    assert "the big one" in [process.get("name") for process in profile.processes]
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("method", METHODS)
def test_targets_hold_in_children(tmp_path, method):
    """Without @profile: -p of the script, which is __mp_main__ there, and of a module."""
    (tmp_path / "helper.py").write_text("def help(n):\n    for i in range(n):\n        pass  # help\n")
    (tmp_path / "prog.py").write_text(
        WORK.replace("@profile\n", "") + "import helper\n"
        "class Worker:\n    def go(self, n):\n        helper.help(n)  # go\n        work(n)\n"
        + POOL.replace("return work(n)", "Worker().go(n)\n    return n")
    )
    profile = profiled(tmp_path, "-p", "prog.py,helper", program=("prog.py", method))
    assert turns(profile) == 6111
    assert turns(profile, "help", "# help", "helper.py") == 6111
    assert turns(profile, "Worker.go", "# go") == 5
    assert [key for key in profile.functions if key[2].endswith("(2)")] == []


@pytest.mark.parametrize("method", METHODS)
def test_executors(program, tmp_path, method):
    program("""
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        print(sum(pool.map(work, [1, 10, 100])))
""")
    profile = profiled(tmp_path, program=("prog.py", method))
    assert profile.ended.out.startswith("111\n")
    assert turns(profile) == 111
    assert left_over(tmp_path) == []


def test_nested_pools(program, tmp_path):
    program("""
from concurrent.futures import ProcessPoolExecutor
def outer(n):
    with ProcessPoolExecutor(2) as pool:
        return sum(pool.map(work, [n, 2 * n]))
if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(outer, [1, 10])))
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 33
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_workers_that_are_terminated(program, tmp_path, method, end):
    program(f"""
def job(queue):
    work(40)
    queue.put(1)
    time.sleep(600)
if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    queue = context.SimpleQueue()
    process = context.Process(target=job, args=(queue,))
    process.start()
    queue.get()
    process.{end}()
    process.join()
""")
    profile = profiled(tmp_path)
    assert turns(profile) == 40
    assert left_over(tmp_path) == []


# ---- subprocesses ------------------------------------------------------------------------------


def test_subprocesses_of_the_same_interpreter(program, tmp_path):
    (tmp_path / "child.py").write_text(
        "import sys\ndef loop(n):\n    for i in range(n):\n        pass  # loop\n"
        "if __name__ == '__main__':\n    loop(int(sys.argv[1]))\n"
    )
    program("""
for words in ["child.py", "1"], ["-m", "child", "10"], ["-c", "import child; child.loop(100)"]:
    subprocess.run([sys.executable, *words], check=True)
""")
    profile = profiled(tmp_path, "-p", "child.py")
    assert turns(profile, "loop", "# loop", "child.py") == 111
    assert left_over(tmp_path) == []


def test_a_childs_environment_and_modules_are_its_own(tmp_path):
    """All that is there is the one variable and the folder on PYTHONPATH, no entry of sys.path. The
    program's own sitecustomize runs as ever."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import os\nos.write(1, b'custom\\n')\n")
    (tmp_path / "show.py").write_text(
        "import os, sys\n"
        "print(sys.path, sys.argv, sys.flags, sys.modules['sitecustomize'].__file__)\n"
        "print([name for name in sys.modules if 'custom' in name])\n"
        "for name in sorted(os.environ):\n    print(name, os.environ[name])\n"
    )
    (tmp_path / "prog.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, 'show.py'], check=True)\n"
    )
    env = {"PYTHONPATH": str(tmp_path / "site")}
    bare = run_python(["prog.py"], tmp_path, env=env)
    ours = run_ckernprof(["-l", "-q", OPTION, "prog.py"], tmp_path, env=env)
    lines, theirs = ours.out.splitlines(), bare.out.splitlines()
    assert lines[0] == lines[1] == "custom"  # of the launcher's process, too
    found = [line for line in lines[1:] if line not in theirs]
    assert [line.split(" ", 1)[0] for line in found] == ["CLINEPROF_CHILDREN", "PYTHONPATH"]
    assert found[1].endswith(f"/clineprof/_children/site:{tmp_path / 'site'}")


def test_without_a_sitecustomize_there_is_none(tmp_path):
    (tmp_path / "prog.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'import sys; print(\"sitecustomize\" in sys.modules)'])"
    )
    bare = run_python(["prog.py"], tmp_path)
    ended = run_ckernprof(["-l", "-q", OPTION, "prog.py"], tmp_path)
    assert (ended.out, ended.err) == (bare.out, "")


def test_another_program_that_is_profiled_is_left_alone(program, tmp_path):
    """ckernprof within ckernprof has its own profile; a viewer has none."""
    (tmp_path / "inner.py").write_text("@profile\ndef f():\n    return 1\nf()\n")
    command = ckernprof("-l", "-q", "inner.py")
    program(f"""
work(5)
subprocess.run({[str(word) for word in command]!r}, check=True)
""")
    ended = run_ckernprof(["-l", OPTION, "prog.py"], tmp_path)
    profile, inner = ended.profile("prog.py.lprof"), ended.profile("inner.py.lprof")
    assert {key[2] for key in profile.functions} == {"work"}
    assert {key[2] for key in inner.functions} == {"f"}


def test_the_hook_finds_isolated_processes(tmp_path, virtual_python):
    (tmp_path / "child.py").write_text(WORK + "work(10)\n")
    (tmp_path / "main.py").write_text(
        WORK + "work(1)\nsubprocess.run([sys.executable, '-E', 'child.py'], check=True)\n"
        "subprocess.run([sys.executable, 'child.py'], check=True)\n"
    )
    viewer = [BUILD / "bin" / "clineprof"]
    env = {"VIRTUAL_ENV": str(tmp_path / "env")}
    run_it = [CKERNPROF, "--python", virtual_python, "-l", "-q", OPTION, "main.py"]
    assert "There is no hook" in run([*viewer, "hook", "status"], tmp_path, env=env).out
    bare = run(run_it, tmp_path)
    assert bare.code == 1 and "CalledProcessError" in bare.err  # no `profile` in the child
    assert run([*viewer, "hook", "install"], tmp_path, env=env).code == 0
    [hook] = (tmp_path / "env").glob("lib/*/site-packages/clineprof-hook.pth")
    assert run([*viewer, "hook", "status"], tmp_path, env=env).out == f"The hook is installed: '{hook}'\n"
    ended = run(run_it, tmp_path)
    assert (ended.code, ended.err) == (0, "")
    profile = Profile(tmp_path / "main.py.lprof")
    assert sum(max(hits.values()) for hits in profile.hits().values()) == 22 + 2
    # without the option nothing is done by it, and it outlives a clineprof that is gone
    alone = run([virtual_python, "-c", "import sys; print('clineprof' in sys.modules, sys.path)"],
                tmp_path)  # fmt: skip
    assert alone.out.startswith("False ") and "build" not in alone.out
    hook.write_text(hook.read_text().replace("build/python", "build/gone"))
    gone = run([virtual_python, "-c", "print(1)"], tmp_path, env={"CLINEPROF_CHILDREN": "1"})
    assert (gone.out, gone.err) == ("1\n", "")
    assert run([*viewer, "hook", "remove"], tmp_path, env=env).out == f"Removed '{hook}'\n"
    assert not hook.exists()
    assert "There is no hook" in run([*viewer, "hook", "remove"], tmp_path, env=env).out


def test_wrong_words_to_hook(tmp_path):
    ended = run_viewer(["hook"], tmp_path)
    assert (ended.code, ended.err) == (
        2, "clineprof hook: needs install, remove or status, not nothing\n")
    assert run_viewer(["hook", "install", "it"], tmp_path).code == 2
    for words in ["--help"], ["install", "--help"], ["status", "-h"]:
        assert "usage: clineprof hook" in run_viewer(["hook", *words], tmp_path).out


def test_a_hook_that_cannot_be_written_is_one_line(tmp_path, virtual_python):
    [packages] = (tmp_path / "env").glob("lib/*/site-packages")
    packages.rename(tmp_path / "away")
    ended = run([BUILD / "bin" / "clineprof", "hook", "install"], tmp_path,
                env={"VIRTUAL_ENV": str(tmp_path / "env")})  # fmt: skip
    assert (ended.code, ended.err) == (
        1, f"clineprof hook: cannot install '{packages}/clineprof-hook.pth': No such file or "
        "directory\n")


# ---- without the option ------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [[], ["--no-prof-child-procs"]])
def test_without_the_option_children_are_left_alone(program, tmp_path, method, options):
    program(POOL + "    print(os.environ.get('CLINEPROF_CHILDREN'))\n")
    (tmp_path / "prog.py").write_text(
        "import builtins\n"
        "if not hasattr(builtins, 'profile'): builtins.profile = lambda f: f\n"
        + (tmp_path / "prog.py").read_text()
    )
    ended = run_ckernprof(["-l", "-q", *options, "prog.py", method], tmp_path)
    assert (ended.out, ended.err, ended.code) == ("1111\nNone\n", "", 0)
    assert left_over(tmp_path) == [] and not list(tmp_path.glob("*.lprof"))


# What a child that is not profiled finds as `profile` does what the parent's does, but for counting.
BARE = """
from concurrent.futures import ProcessPoolExecutor

@profile
class Worker:
    @property
    def it(self):
        return self.done

    @profile
    @staticmethod
    def go(n):
        with profile, profile.block("sum"):
            return work(n)

def inner(n):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return sum(pool.map(Worker.go, [n]))

if __name__ == "__main__":
    context = multiprocessing.get_context(*sys.argv[1:])
    with context.Pool(2) as pool:
        print(sum(pool.map(Worker.go, [1, 10, 100])), flush=True)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        print(sum(pool.map(inner, [1, 10])), flush=True)
    process = context.Process(target=inner, args=(5,))
    process.start()
    process.join()
    print(process.exitcode, type(sys.path), sum(os.path.isdir(part + "/clineprof") for part in sys.path))
"""
DONE = "111\n11\n0 <class 'list'> 0\n"


@pytest.mark.parametrize("method", [*METHODS, None])
def test_children_that_are_not_profiled_have_the_name_profile(program, tmp_path, method):
    """Those whose parent is a child, too; None is what the interpreter does by itself."""
    program(BARE)
    ended = run_ckernprof(["-l", "-q", "prog.py", *filter(None, [method])], tmp_path)
    assert (ended.out, ended.err, ended.code) == (DONE, "", 0)
    assert left_over(tmp_path) == [] and not list(tmp_path.glob("*.lprof"))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_name_needs_no_environment(program, tmp_path, method):
    """Nor does what is started otherwise get anything."""
    program(BARE.replace("    context = ", "    os.environ.clear()\n    context = ") + """
    print(subprocess.run([sys.executable, "-c", "print('profile' in dir(__builtins__))"],
                         capture_output=True, text=True).stdout)
""")
    launch = [sys.executable, "-IS", BUILD / "python/clineprof/_boot/launch.py", "ckernprof", "ckernprof"]
    ended = run([*launch, "-lq", "prog.py", method], tmp_path)
    assert (ended.out, ended.err, ended.code) == (DONE + "False\n\n", "", 0)


@pytest.mark.once
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_calls_are_profiled_without_children(program, tmp_path, method):
    program(BARE.replace("class Worker", "class Worker(object)"))
    ended = run_ckernprof(["-b", "-q", "prog.py", method], tmp_path)
    assert (ended.out, ended.err, ended.code) == (DONE, "", 0)


@pytest.mark.once
def test_where_the_set_up_has_imported_multiprocessing(program, tmp_path):
    program(BARE)
    (tmp_path / "first.py").write_text("import multiprocessing.spawn\n")
    ended = run_ckernprof(["-l", "-q", "-s", "first.py", "prog.py", "spawn"], tmp_path)
    assert (ended.out, ended.err, ended.code) == (DONE, "", 0)


@pytest.mark.once
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_programs_own_profile_is_in_its_children(tmp_path, method):
    (tmp_path / "prog.py").write_text(
        "import builtins, multiprocessing, sys\n"
        "if getattr(getattr(builtins, 'profile', None), 'own', 0) != 5:\n"
        "    builtins.profile = type('Own', (), {'own': 5, '__call__': lambda self, f: f})()\n"
        "@profile\n"
        "def work(n):\n    return profile.own * n\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:\n"
        "        print(pool.map(work, [1, 2]))\n")
    ended = run_ckernprof(["-l", "-q", "prog.py", method], tmp_path)
    assert (ended.out, ended.code) == ("[5, 10]\n", 0), ended.err


@pytest.mark.once
def test_a_module_named_spawn_is_let_be(tmp_path):
    (tmp_path / "some").mkdir()
    (tmp_path / "some/spawn.py").write_text("def get_preparation_data():\n    return [1]\n")
    (tmp_path / "some/more").mkdir()
    (tmp_path / "some/more/spawn.py").write_text("number = 3\n1 / 0\n")
    (tmp_path / "prog.py").write_text(
        "from some.spawn import get_preparation_data as get\nprint(get(), get.__name__)\n"
        "import some.more.spawn\n")
    ended = run_ckernprof(["-l", "-q", "prog.py"], tmp_path)
    assert (ended.out, ended.code) == ("[1] get_preparation_data\n", 1)
    assert "in <module>\n    1 / 0" in ended.err and "/clineprof/" not in ended.err


def test_workers_of_joblib_that_are_not_profiled(tmp_path):
    pytest.importorskip("joblib", reason="joblib is not installed")
    (tmp_path / "jobs.py").write_text("@profile\ndef square(n):\n    return n * n\n")
    (tmp_path / "prog.py").write_text(
        "from joblib import Parallel, delayed\nimport jobs\n"
        "if __name__ == '__main__':\n"
        "    print(sum(Parallel(n_jobs=2)(delayed(jobs.square)(i) for i in range(10))))\n")
    ended = run_ckernprof(["-l", "-q", "prog.py"], tmp_path)
    assert (ended.out, ended.err, ended.code) == ("285\n", "", 0)


# ---- trouble -----------------------------------------------------------------------------------


def test_a_folder_that_takes_no_more_files_costs_one_line(program, tmp_path):
    program("""
os.rename("out", "away")
pid = os.fork()
if pid == 0:
    work(3)
    os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
os.rename("away", "out")
work(2)
""")
    (tmp_path / "out").mkdir()
    ended = run_ckernprof(["-l", "-q", OPTION, "-o", "out/x.lprof", "prog.py"], tmp_path)
    assert ended.out == "4\n"
    assert re.fullmatch(
        r"ckernprof: process \d+ cannot keep its profile in '.*/out/x\.lprof\.\d+-[0-9a-f]{12}\.\d+\.live': "
        r"No such file or directory; it is lost\n", ended.err)
    profile = Profile(tmp_path / "out" / "x.lprof")
    profile.folder = tmp_path
    assert turns(profile) == 2


def test_a_spawned_process_without_a_place_costs_one_line(program, tmp_path):
    program("""
if len(sys.argv) > 1:
    print(work(3), flush=True)
else:
    os.rename("out", "away")
    subprocess.run([sys.executable, "prog.py", "again"], check=True)
    os.rename("away", "out")
""")
    (tmp_path / "out").mkdir()
    ended = run_ckernprof(["-l", "-q", OPTION, "-o", "out/x.lprof", "prog.py"], tmp_path)
    assert (ended.code, ended.out) == (0, "3\n")
    assert re.fullmatch(
        r"ckernprof: cannot keep '.*/out/x\.lprof\.\d+-[0-9a-f]{12}\.\d+\.live' while the program runs: No such "
        r"file or directory; its profile is lost\n", ended.err)


def test_output_into_a_pipe_has_no_place_for_children(program, tmp_path):
    program("""
work(1)
pid = os.fork()
if pid == 0:
    work(3)
    os._exit(4)
settle(pid)
""")
    command = ckernprof("-l", "-q", OPTION, "-o", "/dev/stdout", "prog.py")
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, env=clean_environment())
    assert ended.stderr.decode() == (
        "ckernprof: --prof-child-procs: there is no place for files beside '/dev/stdout'; only the "
        "first process is profiled\n")
    [function] = msgpack.unpackb(ended.stdout)["functions"]
    assert Profile.measure(function, "hits")[line_of(tmp_path / "prog.py", "# turn")] == 1


def test_a_file_of_a_child_that_is_damaged_costs_one_line(program, tmp_path):
    program("""
work(2)
pid = os.fork()
if pid == 0:
    work(3)
    [name] = [name for name in os.listdir() if name.endswith("%d.live" % os.getpid())]
    data = open(name, "rb").read()
    os.unlink(name)
    open(name, "wb").write(data[:5000])
    os._exit(4)
settle(pid)
""")
    ended = run_ckernprof(["-l", "-q", OPTION, "prog.py"], tmp_path)
    assert re.fullmatch(
        r"ckernprof: cannot read what a child process recorded, '.*\.live': .*\n", ended.err)
    profile = ended.profile()
    profile.folder = tmp_path
    assert turns(profile) == 2
    assert len(left_over(tmp_path)) == 1


FAMILY = "FAMILY = os.environ['CLINEPROF_CHILDREN'].partition(chr(31))[0]\n"


def test_files_of_another_run_are_none_of_ours(program, tmp_path):
    """Whatever their names are: each live file says in which run its process took part."""
    program(FAMILY + """
import struct
work(2)
data = open("prog.py.lprof.live", "rb").read()
token = int(FAMILY.partition("-")[2], 16)
assert data.count(struct.pack("=Q", token)) == 1
data = data.replace(struct.pack("=Q", token), struct.pack("=Q", token ^ 1))
open("prog.py.lprof.%s.77.live" % FAMILY, "wb").write(data)
""")
    ended = run_ckernprof(["-l", "-q", OPTION, "prog.py"], tmp_path)
    assert ended.err == ""
    profile = ended.profile()
    profile.folder = tmp_path
    assert turns(profile) == 2
    assert len(left_over(tmp_path)) == 1


def test_a_file_that_a_killed_process_had_only_begun_is_taken_away(program, tmp_path):
    program(FAMILY + """
work(2)
gone = subprocess.Popen(["true"])
gone.wait()
other = subprocess.Popen(["sleep", "600"], stdout=-3, stderr=-3)
print(other.pid)
contents = {gone.pid: bytes(9000), other.pid: bytes(9000), 99999998: b"", 99999999: b"mine"}
for pid, content in contents.items():
    open("prog.py.lprof.%s.%d.live" % (FAMILY, pid), "wb").write(content)
""")
    ended = run_ckernprof(["-l", "-q", OPTION, "prog.py"], tmp_path)
    pid = int(ended.out)
    os.kill(pid, signal.SIGKILL)
    assert ended.err == ""
    assert len(left_over(tmp_path)) == 2


def test_without_lines_the_option_has_no_effect(tmp_path):
    (tmp_path / "prog.py").write_text("pass\n")
    ended = run_ckernprof([OPTION, "prog.py"], tmp_path)
    assert "without -l these options have no effect: --prof-child-procs\n" in ended.err


# ---- a recipe of docs/processes.md; the others are run by tests/cli/test_docs.py -----------------


def ask(path):
    """The answer to a request over a socket; "" while nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            parts = iter(lambda: connection.recv(4096), b"")
            return b"".join(parts).decode()
        except OSError:
            return ""


def test_the_recipe_for_gunicorn(tmp_path):
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    (tmp_path / "application.py").write_text(
        "def app(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Length', '2')])\n"
        "    return [b'hi']  # answer\n")
    page = (ROOT / "docs" / "processes.md").read_text("utf-8")
    words = re.search(r"^\$ ckernprof (.* -m gunicorn .*)$", page, re.M)[1].split()
    words[-1:] = ["-b", "unix:g.sock", "--no-control-socket", words[-1]]
    env = clean_environment({"HOME": str(tmp_path)})
    if "--no-control-socket" not in run_python(["-m", "gunicorn", "--help"], tmp_path).out:
        words.remove("--no-control-socket")
    with subprocess.Popen([*ckernprof(*words)], cwd=tmp_path, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as master:  # fmt: skip
        try:
            answered = 0
            end = time.monotonic() + 300
            while answered < 5 and time.monotonic() < end:
                answered += ask(tmp_path / "g.sock").endswith("hi")
                time.sleep(0.02)
        finally:
            master.send_signal(signal.SIGTERM)
            out, _ = master.communicate(timeout=300)
    assert answered == 5, out
    profile = Profile(next(tmp_path.glob("*.lprof")))
    assert profile.line("app", 3)["hits"] == 5
    assert left_over(tmp_path) == []


REFUSED = """
import gc, os, sys
from clineprof import _core

def once(family, *words):
    try:
        _core.join(family, "out.lprof", os.getcwd(), ["ckernprof", "--no-config", *words], False)
    except BaseException as error:
        return type(error).__name__, str(error)

REFUSALS = [("nonsense", "prog.py"),                            # no run
            ("1-000000000001", "--no-such-option"),
            ("1-000000000001", "-l", "--tracer", "nobody's", "prog.py"),
            ("1-000000000001", "-p", "\\ud800")]                # no word of a command line
for refusal in REFUSALS:
    print(once(*refusal)[0])
    before = sys.getallocatedblocks()
    for i in range(500):
        once(*refusal)
    gc.collect()
    # the interpreter itself keeps a few hundred
    print(sys.getallocatedblocks() - before < 1500)
"""


def test_a_process_that_cannot_take_part_keeps_nothing(tmp_path):
    (tmp_path / "refused.py").write_text(REFUSED)
    ran = run_python(["refused.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert ran.out.split() == ["RuntimeError", "True", "SystemExit", "True", "SystemExit", "True",
                               "UnicodeEncodeError", "True"]  # fmt: skip
