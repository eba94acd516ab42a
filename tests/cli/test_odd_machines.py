# SPDX-License-Identifier: MIT
"""Machines that are slow or small, and sandboxes that lack something: the program does what it does there without a
profiler, and its profile is right, or one line says what is missing. Each machine is a real one, made of namespaces,
mounts, limits and filters of the kernel; where it cannot be made, the test says why it is skipped."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from harness import (
    BUILD,
    MIB,
    ROOT,
    SANITIZED,
    ckernprof,
    differences,
    line_of,
    own_messages_removed,
    reference,
    run,
    run_ckernprof,
    run_python,
    run_viewer,
)

NOBODY = 65534
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
    path = script("import time\n@profile\ndef wait():\n    for i in range(3):\n        time.sleep(0.05)  # waits\nwait()\n")
    (tmp_path / "source").write_text(f"{source}\n")
    if not CLOCK_SOURCE.exists():
        pytest.skip("the kernel does not tell its clock source here")
    place = CLOCK_SOURCE if source else CLOCK_SOURCE.parent
    mount = f"mount --bind {tmp_path / 'source'} {place}" if source else f"mount -t tmpfs none {place}"
    ended = run([*changed(mount), *ckernprof("-l", path)], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    waits = ended.profile().line("wait", line_of(path, "# waits"))
    assert waits["hits"] == 3 and 0.15e9 <= waits["time"] < 5e9


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
                  "    except MemoryError:\n        return b''\nprint([len(ask(1 << n)) for n in (10, 20, 30)])\nsys.exit(7)\n")
    bare = run_python([path], tmp_path, addresses=400 * MIB)
    # profile is no name of a bare run
    assert "NameError" in bare.err
    ended = run_ckernprof(["-l", *options, path], tmp_path, addresses=400 * MIB)
    assert (ended.code, own_messages_removed(ended.out), ended.err) == (7, "[1024, 1048576, 0]\n", "")
    assert ended.profile().line("ask", line_of(path, "# asks"))["hits"] == 3


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


@pytest.mark.parametrize("options", [["-l"], ["-l", "--timeline"], ["-l", "--heap"], ["-l", "-i", "0.05"],
                                     ["-l", "--memory", "pss"]], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("what", MISSING)
def test_without(what, options, program, tmp_path):
    words = [*changed(*MISSING[what]), "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    ended = run([*words, *ckernprof(*options, program)], tmp_path)
    print(ended.code, ended.out, ended.err)
    check_run(ended, program)
