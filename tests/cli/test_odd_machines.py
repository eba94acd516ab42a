# SPDX-License-Identifier: MIT
"""Machines that are slow or small, and sandboxes that lack something: the program does what it does there without a
profiler, and its profile is right, or one line says what is missing. Each machine is a real one, made of namespaces,
mounts, limits and filters of the kernel; where it cannot be made, the test says why it is skipped."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
import stub
from harness import (
    MIB,
    ROOT,
    SANITIZED,
    Profile,
    ckernprof,
    line_of,
    own_messages_removed,
    run,
    run_ckernprof,
    run_viewer,
)

THREADS, TURNS = 4, 100
CLOCK_SOURCE = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")

PROGRAM = f"""\
import sys, threading

@profile
def count(n):
    kept = []
    for i in range(n):
        kept.append(bytes(1000))  # turn
    return len(kept)

threads = [threading.Thread(target=count, args=({TURNS},)) for _ in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("counted", count({TURNS}))
sys.exit(7)
"""


@pytest.fixture
def program(script):
    return script(PROGRAM, "prog.py")


def complaints(ended):
    return [line for line in ended.err.splitlines() if line]


def check_numbers(profile, program):
    turn = profile.line("count", line_of(program, "# turn"))
    assert turn["hits"] == (THREADS + 1) * TURNS
    return turn


def check_run(ended, program, said=()):
    """The run did what the program does, has the right profile, and said these lines, each by a part of it."""
    assert (ended.code, own_messages_removed(ended.out)) == (7, f"counted {TURNS}\n"), (ended.out, ended.err)
    lines = complaints(ended)
    assert len(lines) == len(said) and all(part in line for part, line in zip(said, lines)), ended.err
    return check_numbers(ended.profile(), program)


def changed(*mounts):
    """The start of a command that runs with these changes of what is mounted, in a namespace of its own."""
    command = ["unshare", "--mount", "sh", "-ec", "\n".join([*mounts, 'exec "$@"']), "sh"]
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip(f"mounts of its own need root: {tried.stderr.strip()}")
    return command


# ---- the clock -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["kvm-clock", "hyperv_clocksource_tsc_page", "acpi_pm", "hpet", None])
def test_a_machine_that_does_not_keep_time_by_the_tsc(source, script, tmp_path):
    """tests/unit/os/test_clock.c tells which names choose which clock."""
    path = script("import time\n@profile\ndef wait():\n    for i in range(3):\n        time.sleep(0.05)  # waits\n"
                  "wait()\n")
    (tmp_path / "source").write_text(f"{source}\n")
    if not CLOCK_SOURCE.exists():
        pytest.skip("the kernel does not tell its clock source here")
    place = CLOCK_SOURCE if source else CLOCK_SOURCE.parent
    mount = f"mount --bind {tmp_path / 'source'} {place}" if source else f"mount -t tmpfs none {place}"
    ended = run([*changed(mount), *ckernprof("-l", path)], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    waits = ended.profile().line("wait", line_of(path, "# waits"))
    assert waits["hits"] == 3 and 0.15e9 <= waits["time"] < 5e9


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer wants to be loaded first")
@pytest.mark.parametrize("pace, said", [
    (0, ["times are 0, because the clock (CLOCK_MONOTONIC) stands still, as libfaketime can make it"]), (0.001, [])])
def test_a_clock_that_stands_still_or_creeps(pace, said, program, tmp_path):
    check_run(run(ckernprof("-l", program), tmp_path, env=stub.with_clock(tmp_path, pace)), program, said)


# ---- one core, little memory ---------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--timeline"], ["--heap"], ["-i", "0.05"]])
def test_one_core(options, program, tmp_path):
    core = str(min(os.sched_getaffinity(0)))
    if shutil.which("taskset") is None:
        pytest.skip("there is no taskset here")
    check_run(run(["taskset", "--cpu-list", core, *ckernprof("-l", *options, program)], tmp_path), program)


@pytest.fixture
def memory_group():
    """group(bytes) makes a control group with so much memory. Returns the start of a command that runs in it."""
    made = []

    def group(limit):
        for root, name, swap in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
                                 ("/sys/fs/cgroup", "memory.max", "memory.swap.max")):  # fmt: skip
            folder = pathlib.Path(root, f"clineprof-{os.getpid()}-{len(made)}")
            try:
                folder.mkdir()
                made.append(folder)
                (folder / name).write_text(str(limit))
            except OSError as error:
                reason = error
                continue
            if (folder / swap).exists():
                (folder / swap).write_text(str(limit) if "memsw" in swap else "0")
            return ["sh", "-c", f'echo $$ >{folder}/cgroup.procs && exec "$@"', "sh"]
        pytest.skip(f"no control group can be made here: {reason}")

    yield group
    for folder in made:
        for _ in range(100):
            try:
                folder.rmdir()
                break
            except OSError:  # the group is empty a moment after its last process has ended
                time.sleep(0.02)


@pytest.mark.skipif(SANITIZED, reason="the sanitizer needs more memory than the group has")
@pytest.mark.parametrize("options", [[], ["--timeline"], ["--heap"]])
def test_a_control_group_with_little_memory(options, memory_group, program, tmp_path):
    check_run(run([*memory_group(64 * MIB), *ckernprof("-l", *options, program)], tmp_path), program)


@pytest.mark.skipif(SANITIZED, reason="the sanitizer needs more memory than the group has")
def test_what_was_counted_before_the_group_ran_out_of_memory(memory_group, script, tmp_path):
    path = script("import os\n@profile\ndef fill():\n    kept = []\n    while True:\n        os.write(1, b'.')\n"
                  "        kept.append(b'x' * (1 << 20))  # takes\nfill()\n")  # fmt: skip
    ended = run([*memory_group(64 * MIB), *ckernprof("-l", path)], tmp_path)
    assert ended.code == -signal.SIGKILL and len(ended.out) > 10
    assert run_viewer(["recover", f"{path.name}.lprof.live"], tmp_path).code == 0
    line = ended.profile().line("fill", line_of(path, "# takes"))
    assert line["hits"] == len(ended.out) and line["grown"] > (len(ended.out) - 5) * MIB


@pytest.mark.skipif(SANITIZED, reason="the sanitizer reserves terabytes of addresses")
@pytest.mark.parametrize("options", [[], ["--timeline"], ["--heap"]])
def test_few_addresses(options, script, tmp_path):
    """The program runs out of memory by itself, and says so, as it does without a profiler."""
    path = script("import sys\n@profile\ndef ask(size):\n    try:\n        return bytearray(size)  # asks\n"
                  "    except MemoryError:\n        return b''\nprint([len(ask(1 << n)) for n in (10, 20, 30)])\n"
                  "sys.exit(7)\n")  # fmt: skip
    ended = run_ckernprof(["-l", *options, path], tmp_path, addresses=400 * MIB)
    assert (ended.code, own_messages_removed(ended.out), ended.err) == (7, "[1024, 1048576, 0]\n", "")
    assert ended.profile().line("ask", line_of(path, "# asks"))["hits"] == 3


# ---- larger pages ----------------------------------------------------------------------------------

# The one place where clineprof asks how large a page is. Memory then seems larger, as the pages do.
PAGES = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
long sysconf(int name)
{
    long (*next)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_PAGESIZE ? PAGE : next(name);
}
"""


@pytest.mark.skipif(SANITIZED, reason="the sanitizer must be loaded first")
@pytest.mark.parametrize("options", [[], ["--timeline", "-i", "0.05"], ["--heap=native"], ["--prof-child-procs"]],
                         ids=lambda options: " ".join(options) or "plain")  # fmt: skip
@pytest.mark.parametrize("kib", [16, 64])
def test_larger_pages(kib, options, program, script, tmp_path):
    source, library = script(PAGES, "pages.c"), tmp_path / "pages.so"
    words = ["cc", "-shared", "-fPIC", f"-DPAGE={kib << 10}", "-o", library, source]
    made = shutil.which("cc") and run(words, tmp_path)
    if not made or made.code != 0:
        pytest.skip("there is no C compiler here")
    # 3.12 warns of a fork while a thread that was joined is still about to end
    text = program.read_text().replace("sys.exit(7)", "import os, warnings\nwarnings.simplefilter('ignore')\n"
                                       "if os.fork() == 0:\n    count(1)\n    os._exit(0)\nos.wait()\nsys.exit(7)")  # fmt: skip
    program.write_text(text)
    ended = run_ckernprof(["-l", *options, program], tmp_path, env={"LD_PRELOAD": str(library)})
    assert (ended.code, ended.err) == (7, "") and ended.out.startswith(f"counted {TURNS}\n")
    turn = ended.profile().line("count", line_of(program, "# turn"))
    assert turn["hits"] == (THREADS + 1) * TURNS + (options == ["--prof-child-procs"])
    assert turn["rss"] > kib / 4 * 4 * MIB  # an interpreter alone has more than 4 MiB


# ---- a part of the file system is missing, or cannot be written ----------------------------------


@pytest.fixture
def read_only(tmp_path):
    """The start of a command for which nothing can be written but what is in this folder."""
    mounts = subprocess.run(["awk", "{print $2}", "/proc/self/mounts"], capture_output=True, text=True).stdout.split()
    kept = ("/proc", "/sys", "/dev")
    return changed(f"mount --bind {tmp_path} {tmp_path}",
                   *[f"mount -o remount,bind,ro '{place}' || true" for place in dict.fromkeys(mounts)
                     if place == "/" or not place.startswith(kept)], "mount -o remount,bind,ro /dev/shm || true")


def test_a_read_only_root(read_only, program, tmp_path):
    tried = run([*read_only, "touch", "/tmp/x"], tmp_path)
    assert "Read-only" in tried.err
    check_run(run([*read_only, *ckernprof("-l", program)], tmp_path, env={"HOME": "/"}), program)


MISSING = {
    "proc": ["mount -t tmpfs none /proc"],
    "sys": ["mount -t tmpfs none /sys"],
    "proc and sys": ["mount -t tmpfs none /sys", "mount -t tmpfs none /proc"],
    "proc, one's own only": ["mount -t proc -o hidepid=2 none /proc"],
    "proc, processes only": ["mount -t proc -o hidepid=2,subset=pid none /proc"],
    "dev": ["mount -t tmpfs none /dev", "touch /dev/null"],
}


NO_MEMORY = "ckernprof: memory is missing, because '/proc/self/{}' cannot be read"
NO_TIMELINE = "ckernprof: no timeline: memory cannot be sampled: /proc cannot be read"


@pytest.mark.parametrize("options, file, more", [
    ([], "statm", []),
    (["--timeline"], "statm", [NO_TIMELINE]),
    (["--heap"], "statm", []),
    (["-i", "0.05"], "statm", []),
    (["--memory", "pss"], "smaps_rollup", []),
    (["--prof-child-procs"], "statm", []),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")  # fmt: skip
@pytest.mark.parametrize("what", MISSING)
def test_without(what, options, file, more, program, tmp_path):
    """Without capabilities: with them /proc shows all processes."""
    words = [*changed(*MISSING[what]), "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    ended = run([*words, *ckernprof("-l", *options, program)], tmp_path)
    without_proc = "none /proc" in MISSING[what][-1] and "tmpfs" in MISSING[what][-1]
    turn = check_run(ended, program, [*more, NO_MEMORY.format(file)] if without_proc else [])
    assert without_proc or turn["allocated"] >= (THREADS + 1) * TURNS * 1000
    assert ended.profile().meta["has_memory"] == (not without_proc)


# ---- calls that a sandbox refuses ------------------------------------------------------------------

# What `strace -f` shows of a profiled run and not of a bare one, in all kinds of runs below, and what both call and the
# bare one can do without. A call of "access,faccessat2" has two names, for old and new kernels.
USED = """
    access,faccessat2 clock_gettime close_range fallocate fchmod flock fsync ftruncate getcwd getegid geteuid getpid
    getrandom getrusage lseek madvise mremap munmap prlimit64 readlink rename rseq sched_yield set_robust_list statfs
    statx sysinfo tgkill uname unlink
""".split()
# What sandboxes refuse most; none of it is needed.
UNUSED = """
    bpf clone3 copy_file_range inotify_init1 io_uring_setup kcmp memfd_create mlock mlock2 name_to_handle_at
    open_by_handle_at perf_event_open pidfd_getfd pidfd_open process_vm_readv ptrace sched_getaffinity sched_setaffinity
    timer_create userfaultfd
""".split()
# Without these a run says that nothing is kept if it is killed; or that the profile is in another place. Without the
# others below it may say so, where a profile is replaced (-i).
SAYS_SO = {"fallocate", "mremap", "rename"}
MAY_SAY_SO = {"access,faccessat2", "fchmod"}


def refusing(error, calls, *command):
    return [sys.executable, ROOT / "tests" / "refusing.py", error, calls, *command]


@pytest.fixture
def refused(tmp_path):
    """refused(error, calls, program, options) runs the program with and without the profiler. It returns the profiled
    run, or skips where the program itself cannot do without the calls."""
    def both(error, calls, program, *options):
        bare = tmp_path / "bare.py"
        bare.write_text(PROGRAM.replace("@profile\n", ""))
        ended = run(refusing(error, calls, sys.executable, bare), tmp_path)
        if ended.code == 77:
            pytest.skip(ended.out)
        if (ended.code, ended.out, ended.err) != (7, f"counted {TURNS}\n", ""):
            pytest.skip(f"the program itself needs {calls}")
        return run(refusing(error, calls, *ckernprof("-l", *options, program)), tmp_path)

    return both


# The calls belong to parts that all tracers share, so the other tracers run with one set of options and one error.
MORE_OPTIONS = [pytest.param(options, marks=pytest.mark.once)
                for options in (["--timeline", "--heap", "-i", "0.05"], ["--prof-child-procs"])]


@pytest.mark.skipif(SANITIZED, reason="the sanitizer itself needs some of the calls")
@pytest.mark.parametrize("options", [[], *MORE_OPTIONS], ids=lambda options: " ".join(options) or "plain")
@pytest.mark.parametrize("error", ["EPERM", pytest.param("ENOSYS", marks=pytest.mark.once)])
@pytest.mark.parametrize("call", USED)
def test_a_call_is_refused(call, error, options, refused, program, tmp_path):
    ended = refused(error, call, program, *options)
    assert (ended.code, ended.out.splitlines()[0]) == (7, f"counted {TURNS}"), (ended.out, ended.err)
    path = re.search(r"Wrote profile results to '(.*)'", ended.out)[1]
    check_numbers(Profile(tmp_path / path), program)
    if path.startswith(tempfile.gettempdir() + "/ckernprof-"):
        os.unlink(path)
    lines = complaints(ended)
    assert all(line.startswith("ckernprof: ") for line in lines), ended.err
    assert call in MAY_SAY_SO or bool(lines) == (call in SAYS_SO), ended.err


@pytest.mark.skipif(SANITIZED, reason="the sanitizer itself needs some of the calls")
@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
def test_a_sandbox_that_refuses_much(error, refused, program):
    calls = [call for call in UNUSED if not (call == "clone3" and error == "EPERM")]  # threads need clone3, or ENOSYS
    ended = refused(error, ",".join(calls), program, "--timeline", "--heap", "-i", "0.05")
    check_run(ended, program)


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace here")
@pytest.mark.parametrize("options", [[], ["--timeline", "--heap", "-i", "0.05"], ["--prof-child-procs"]],
                         ids=lambda options: " ".join(options) or "plain")  # fmt: skip
def test_the_list_of_calls_is_complete(options, program, tmp_path):
    def calls(*command):
        traced = run(["strace", "-f", "-c", "-o", tmp_path / "calls", *command], tmp_path)
        if traced.code != 7:
            pytest.skip(f"strace does not work here: {traced.err.strip()}")
        rows = (line.split() for line in (tmp_path / "calls").read_text().splitlines())
        return {row[-1] for row in rows if len(row) > 3 and row[0][0].isdigit()} - {"total"}

    bare = tmp_path / "bare.py"
    bare.write_text(PROGRAM.replace("@profile\n", ""))
    known = {name for call in USED for name in call.split(",")}
    assert calls(*ckernprof("-l", *options, program)) - calls(sys.executable, bare) <= known
