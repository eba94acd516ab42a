# SPDX-License-Identifier: MIT
"""Processor time and waiting by line (--cpu). The truth is what the program itself reads around what a line does: the
clock, its thread's processor time, and /proc/thread-self/schedstat. Both hold on a busy machine, where lines wait for
their turn."""
import json
import os
import sys
import textwrap

import clineprof
import pytest
from harness import ROOT, TRACER, ckernprof, clean_environment, run, run_ckernprof, run_viewer, steady, tried_again

POINTS = 0.02  # of the program's time

# Puts [nanoseconds, nanoseconds without a processor, nanoseconds in the run queue] into `seen` by label.
WATCHED = """
import hashlib, json, os, subprocess, sys, threading, time
def queued():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])
def told(label, f, *arguments):
    queue, wall, cpu = queued(), time.perf_counter_ns(), time.thread_time_ns()
    result = f(*arguments)
    cpu, wall, queue = time.thread_time_ns() - cpu, time.perf_counter_ns() - wall, queued() - queue
    entry = seen.setdefault(label, [0, 0, 0])
    for i, more in enumerate((wall, wall - cpu, queue)):
        entry[i] += more
    return result
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
seen = {}
"""
ENDS = "\nprint(json.dumps(seen))\n"


def profiled(folder, program, *options):
    (folder / "prog.py").write_text(WATCHED + textwrap.dedent(program) + ENDS)
    ended = run_ckernprof(["-l", "--cpu", *options, "prog.py"], folder)
    assert ended.code == 0 and ended.err == "", ended.err
    return json.loads(ended.out.splitlines()[0]), clineprof.load(folder / "prog.py.lprof")


def waits(profile):
    """{label of lines: [wait, queue]}"""
    found = {}
    for function in profile.functions:
        for line in function.lines:
            assert line.cpu + line.wait == line.self and line.queue <= line.wait
            entry = found.setdefault(line.text.partition("# ")[2], [0, 0])
            entry[0] += line.wait
            entry[1] += line.queue
    return found


def agree(profile, truth):
    """Each label waits as long as in truth, within two points of the sum of all times."""
    found, whole = waits(profile), sum(wall for wall, _, _ in truth.values())
    for label, (_, wait, queue) in truth.items():
        steady(abs(found[label][0] - wait) <= POINTS * whole, label, found, truth)
        # what a thread waits before and behind the reads of the program is in the line only
        steady(found[label][1] >= queue - POINTS * whole, label, found, truth)


@tried_again
def test_what_lines_wait_for(tmp_path):
    truth, profile = profiled(tmp_path, """
    lock = threading.Lock()
    def hold():
        with lock:
            held.set()
            time.sleep(0.2)
    held = threading.Event()
    @profile
    def main():
        told("spin", spin, 0.2)  # spin
        told("sleep", time.sleep, 0.2)  # sleep
        data = b"x" * 50_000_000
        told("hash", hashlib.sha256, data)  # hash
        told("process", subprocess.run, ["sleep", "0.2"])  # process
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        told("lock", lock.acquire)  # lock
        thread.join()
    main()
    """)
    assert truth["sleep"][1] > 150e6 and truth["process"][1] > 150e6
    steady(truth["lock"][1] > 100e6, truth)
    agree(profile, truth)
    found = waits(profile)
    for label in "spin", "hash":  # it waits for its turn at most, and for a virtual machine's turn, which is in no queue
        _, wait, queue = truth[label]
        steady(found[label][0] - found[label][1] <= wait - queue + POINTS * sum(wall for wall, _, _ in truth.values()),
               label, found, truth)


@tried_again
def test_threads_that_fight_for_the_interpreter(tmp_path):
    """Lines too short for a read: what they wait together belongs to some of them. The body itself takes the truth,
    because a thread may wait before it enters the body. It may also wait within the lines that take the truth."""
    body = """
    @profile
    def {0}(n):
        queue, wall, cpu = queued(), time.perf_counter_ns(), time.thread_time_ns()  # {0} edge
        s = 0  # {0}
        for i in range(n):  # {0}
            s += i  # {0}
        cpu, wall = time.thread_time_ns() - cpu, time.perf_counter_ns() - wall; queue = queued() - queue  # {0} edge
        seen["{0}"] = [wall, wall - cpu, queue]
    """
    truth, profile = profiled(tmp_path, body.format("one") + body.format("two") + """
    threads = [threading.Thread(target=f, args=(700_000,)) for f in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    """)
    steady(truth["one"][1] + truth["two"][1] > 0.5 * max(truth["one"][0], truth["two"][0]), truth)
    found, slack = waits(profile), POINTS * (truth["one"][0] + truth["two"][0])
    for name, (_, *waited) in truth.items():
        for inside, edge, true in zip(found[name], found[name + " edge"], waited):  # without a processor; in the queue
            steady(inside - slack <= true <= inside + edge + slack, name, found, truth)


@tried_again
def test_beside_two_busy_loops(tmp_path):
    truth, profile = profiled(tmp_path, """
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() + 1)]
    @profile
    def work():
        told("spin", spin, 0.3)  # spin
        told("sleep", time.sleep, 0.1)  # sleep
        n = 0
        for i in range(300_000):
            n += i
    try:
        work()
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    """)
    assert truth["spin"][2] > 0  # it had to wait for its turn
    agree(profile, truth)


@tried_again
def test_generators_coroutines_and_children(tmp_path):
    truth, profile = profiled(tmp_path, """
    import asyncio
    @profile
    def generator():
        for _ in range(3):
            told("yields", time.sleep, 0.05)  # yields
            yield
    @profile
    async def coroutine():
        await asyncio.sleep(0.1)  # awaits
        told("sleeps", time.sleep, 0.05)  # sleeps
    @profile
    def fork():
        pid = os.fork()
        if pid == 0:
            told("child", time.sleep, 0.1)  # child
            sys.exit()
        os.waitpid(pid, 0)
    list(generator())
    asyncio.run(coroutine())
    fork()
    """, "--prof-child-procs")
    agree(profile, truth)
    found = waits(profile)
    steady(found["awaits"][0] < 50e6, found)  # suspended is not waiting
    assert found["child"][0] > 90e6


def test_a_killed_run_keeps_it(tmp_path):
    (tmp_path / "prog.py").write_text("""\
import os, time
@profile
def f():
    time.sleep(0.1)  # sleep
    os.kill(os.getpid(), 9)
f()
""")
    run_ckernprof(["-l", "--cpu", "prog.py"], tmp_path)
    found = waits(clineprof.load(tmp_path / "prog.py.lprof.live"))
    assert found["sleep"][0] > 90e6


SLEEPS = "import time\n@profile\ndef f():\n    time.sleep(0.05)\nf()\n"


def header(text):
    [line] = [line for line in text.splitlines() if line.startswith("Line #")]
    return line.split("  Line Contents")[0].split()


def test_columns(tmp_path):
    (tmp_path / "prog.py").write_text(SLEEPS)
    with_cpu = run_ckernprof(["-l", "-v", "--cpu", "--no-memory", "-o", "cpu.lprof", "prog.py"], tmp_path)
    assert header(with_cpu.out)[-3:] == ["CPU", "Wait", "Queue"]
    plain = run_ckernprof(["-l", "-v", "--no-memory", "-o", "plain.lprof", "prog.py"], tmp_path)
    assert header(plain.out)[-2:] == ["%", "Time"]
    refused = run_viewer(["--columns", "time,wait", "plain.lprof"], tmp_path)
    assert refused.err == "clineprof: --columns: wait was not measured; that takes a run with --cpu\n"
    both = run_viewer(["merge", "-o", "both.lprof", "cpu.lprof", "plain.lprof"], tmp_path)
    assert both.code == 0 and header(run_viewer(["both.lprof"], tmp_path).out)[-3:] == ["CPU", "Wait", "Queue"]
    page = run_viewer(["--format", "html", "cpu.lprof"], tmp_path).out
    assert '"wait"' in page
    data = json.loads(run_viewer(["--format", "json", "cpu.lprof"], tmp_path).out)
    assert data["functions"][0]["lines"][0]["wait"] > 40e6


@pytest.mark.parametrize("call, told", [
    ("clock_gettime", "--cpu: processor time is missing, because the system refuses CLOCK_THREAD_CPUTIME_ID"),
])
def test_what_cannot_be_read_is_said(tmp_path, call, told):
    (tmp_path / "prog.py").write_text(SLEEPS.replace("time.sleep(0.05)", "sum(range(1000))"))
    ended = run([sys.executable, ROOT / "tests" / "refusing.py", "EPERM", call, *ckernprof("-l", "--cpu", "prog.py")],
                tmp_path, env=clean_environment())
    if ended.code == 77:
        pytest.skip(ended.out)
    assert ended.code == 0 and ended.err == f"ckernprof: {told}\n"


def test_the_object_has_it_too(tmp_path):
    profiler = clineprof.Profiler(TRACER, memory=False, cpu=True)

    def f(event):
        event.wait(0.05)  # waits

    profiler.add_function(f)
    import threading
    f(threading.Event())
    profiler.stop()
    profile = clineprof.Profile(profiler.snapshot())
    assert waits(profile)["waits"][0] > 40e6
    profiler.close()


def test_a_line_that_still_runs_waits_up_to_the_end(tmp_path):
    """The thread reads its own processor time at its next event, which never comes."""
    _, profile = profiled(tmp_path, """
    @profile
    def sleeps():
        time.sleep(60)  # sleeps
    thread = threading.Thread(target=sleeps, daemon=True)
    thread.start()
    time.sleep(0.3)
    """)
    [line] = [line for function in profile.functions for line in function.lines if line.text.endswith("# sleeps")]
    assert line.self > 50e6 and line.cpu < 0.1 * line.self  # the thread may begin late
