# SPDX-License-Identifier: MIT
"""The log of lines (--line-log): one event for each line that begins while torch.profiler records. A module with
torch's flag stands in for torch, which is large; tests/cli/test_torch_join.py has the real one."""
import collections
import json
import textwrap

import clineprof
import msgpack
import pytest
from clineprof._torch import Wrong
from clineprof._torch import log as logs
from harness import BUILD, TRACER, run_ckernprof, run_python, run_viewer

MOST = 1 << 22  # CLP_LINE_LOG_MOST
CONTINUES = 1 << 63

TORCH = """
import sys, threading, types
flags = sys.modules["torch.autograd.profiler"] = types.ModuleType("torch.autograd.profiler")
flags._is_profiler_enabled = {on}
"""


def profiled(folder, program, on=True, options=("--line-log",)):
    (folder / "prog.py").write_text(TORCH.format(on=on) + textwrap.dedent(program))
    ended = run_ckernprof(["-l", *options, "prog.py"], folder)
    assert ended.code == 0 and ended.err == "", ended.err
    return ended, clineprof.load(folder / "prog.py.lprof")


def words_of(log, number=None):
    return [word for thread in (log.threads if number is None else [number]) for word in log.threads[thread].words]


def begins(log):
    """{(function, line): how often it began}"""
    keys = [word & logs.KEY for word in words_of(log) if word & logs.FUNCTION and not word & CONTINUES]
    return collections.Counter((log.line(key)[1], log.line(key)[3]) for key in keys)


def hits(profile):
    lines = [(function, line) for function in profile.functions for line in function.lines]
    return {(function.name, line.line): line.hits for function, line in lines if line.hits}


MIXED = """
import asyncio
from contextlib import contextmanager

@profile
def only_return(n):
    return n

@profile
def numbers(n):
    for i in range(n):
        got = yield i
    return 7

@profile
def delegates(n):
    return (yield from numbers(n))

@profile
def recursive(n):
    if n == 0:
        return 0
    return recursive(n - 1) + 1

@profile
def raises(n):
    try:
        return raises(n - 1) if n else 1 / 0
    finally:
        n = None

@profile
@contextmanager
def around():
    yield

@profile
async def waits(n):
    for i in range(n):
        await asyncio.sleep(0)
    return [j async for j in stream(n)]

@profile
async def stream(n):
    for i in range(n):
        yield i

@profile
def work(n):
    total = sum(only_return(i) for i in range(n))
    for i in delegates(n): total += i
    with around():
        total += recursive(n)
    try:
        raises(n)
    except ZeroDivisionError:
        pass
    for i in numbers(n):
        if i:
            break
    return [only_return(i) for i in range(n)]

async def both():
    await asyncio.gather(waits(3), waits(4))

work(5)
asyncio.run(both())
for n in range(3):
    thread = threading.Thread(target=work, args=(n,))
    thread.start()
    thread.join()
threads = [threading.Thread(target=work, args=(2000,)) for n in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_each_begin_of_a_line_is_one_event(tmp_path):
    """In generators, coroutines, recursion, behind exceptions, and in threads that run at once."""
    _, profile = profiled(tmp_path, MIXED.replace("raises(n)\n", "raises(min(n, 9))\n").replace(
        "recursive(n)\n", "recursive(min(n, 9))\n"))
    [log] = logs.logs_of(profile, "it").values()
    assert begins(log) == hits(profile)
    assert sum(begins(log).values()) > 20_000 and log.dropped == 0


def test_events_are_of_their_thread_and_in_order(tmp_path):
    ended, profile = profiled(tmp_path, """
        @profile
        def work(n):
            for i in range(n):
                seen = i
        def run(n):
            numbers[n] = threading.get_native_id()
            work(n)
        numbers = {}
        threads = [threading.Thread(target=run, args=(n,)) for n in (20_000, 30_000, 40_000)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(sorted(numbers.items()))
    """)
    [log] = logs.logs_of(profile, "it").values()
    for count, number in eval(ended.out.splitlines()[0]):
        times, words = log.threads[number].times, log.threads[number].words
        assert sum(bool(word & logs.FUNCTION and not word & CONTINUES) for word in words) == 2 * count + 1
        assert list(times) == sorted(times)


def test_the_line_at_a_time_is_the_one_that_ran(tmp_path):
    """The program reads the system's time in each line. Callees take the line, and give it back."""
    ended, profile = profiled(tmp_path, """
        import time
        @profile
        def inner():
            told.append((time.time_ns(), 9))
            told.append((time.time_ns(), 10))
        @profile
        def outer():
            for i in range(300):
                told.append((time.time_ns(), 14)); inner(); told.append((time.time_ns(), 14))
        told = []
        outer()
        print(told)
    """)
    [log] = logs.logs_of(profile, "it").values()
    [thread] = log.threads.values()
    told = json.loads(ended.out.splitlines()[0].replace("(", "[").replace(")", "]"))
    assert len(told) == 1200
    assert [log.line(thread.at(nanos)[0])[3] for nanos, _ in told] == [line for _, line in told]
    assert thread.at(told[0][0] - 10**9) == (logs.NOWHERE, 0)
    assert thread.at(told[-1][0] + 10**9)[0] == logs.NOWHERE  # outer has been left


def test_lines_are_logged_only_while_torch_records(tmp_path):
    _, profile = profiled(tmp_path, """
        import time
        @profile
        def inner():
            a = 1
            a = 2
        @profile
        def outer():
            inner()
            flags._is_profiler_enabled = True
            inner()
            flags._is_profiler_enabled = False
            inner()
        outer()
        outer()
    """, on=False)
    [log] = logs.logs_of(profile, "it").values()
    assert begins(log) == {("inner", 9): 2, ("inner", 10): 2, ("outer", 15): 2, ("outer", 16): 2}


def test_the_lines_that_ran_already_are_known_when_torch_begins(tmp_path):
    """In all threads, with the callers' lines."""
    ended, profile = profiled(tmp_path, """
        @profile
        def inner():
            ready.set(); end.wait()
            return 0
        @profile
        def outer():
            inner()
        @profile
        def starts():
            flags._is_profiler_enabled = True
            return end.set()
        ready, end = threading.Event(), threading.Event()
        thread = threading.Thread(target=outer)
        thread.start()
        ready.wait()
        number = thread.native_id
        starts()
        thread.join()
        print(number)
    """, on=False)
    [log] = logs.logs_of(profile, "it").values()
    words = words_of(log, int(ended.out.splitlines()[0]))[:2]
    assert [(log.line(word & logs.KEY)[1], word >> 24 & 255, word & CONTINUES != 0) for word in words] == [
        ("outer", 1, True), ("inner", 2, True)]


def test_a_version_of_torch_that_does_not_tell_is_taken_to_record(tmp_path):
    _, profile = profiled(tmp_path, """
        del flags._is_profiler_enabled
        @profile
        def work():
            return 0
        work()
    """)
    assert len(profile._line_logs) == 1


@pytest.mark.parametrize("text, options", [
    ("work()", ()), ("del sys.modules['torch.autograd.profiler']; work()", ("--line-log",))])  # fmt: skip
def test_without_the_wish_or_torch_there_is_no_log(text, options, tmp_path):
    profiled(tmp_path, f"@profile\ndef work():\n    return 0\n{text}\n", options=options)
    assert "line_log" not in msgpack.unpackb((tmp_path / "prog.py.lprof").read_bytes())


@pytest.mark.once
def test_the_log_has_a_bound(tmp_path):
    _, profile = profiled(tmp_path, f"""
        @profile
        def work(n):
            for i in range(n):
                pass
        work({MOST // 2})
        work(500)
    """, options=("--line-log", "--no-memory"))
    [log] = logs.logs_of(profile, "it").values()
    assert len(words_of(log)) == MOST
    assert sum(hits(profile).values()) + 2 == MOST + log.dropped  # one event for each return


def script(text, folder):
    (folder / "own.py").write_text(TORCH.format(on=True) + textwrap.dedent(text))
    ended = run_python(["own.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 0, ended.err
    return ended


def test_each_cycle_of_steps_has_its_own_log(tmp_path):
    script(f"""
        import clineprof
        def work():
            return 0
        def note(steps):
            steps.profile.write("%d.lprof" % steps.step_num)
        with clineprof.Steps(work, tracer={TRACER!r}, line_log=True, wait=1, warmup=1, active=3, repeat=2,
                             on_trace_ready=note) as steps:
            for n in range(12):
                work()
                steps.step()
        steps.total.write("total.lprof")
    """, tmp_path)
    for name, count, parts in ("5", 3, 1), ("10", 3, 1), ("total", 6, 2):
        profile = clineprof.load(tmp_path / f"{name}.lprof")
        [log] = logs.logs_of(profile, name).values()
        assert len(profile._line_logs) == parts
        assert sum(begins(log).values()) == sum(hits(profile).values()) == count


def test_a_profiler_has_the_lines_of_its_own_functions(tmp_path):
    """A line that calls a function of another profiler goes on."""
    ended = script(f"""
        import clineprof, time
        def inner():
            seen = 1
            told.append(time.time_ns())
            return seen
        def outer():
            told.append(time.time_ns()); inner(); told.append(time.time_ns())
        told = []
        one = clineprof.Profiler(tracer={TRACER!r}, line_log=True)
        other = clineprof.Profiler(tracer={TRACER!r})
        one(outer)
        other(inner)
        outer()
        open("one.lprof", "wb").write(one.render("lprof"))
        print(told)
    """, tmp_path)
    [log] = logs.logs_of(clineprof.load(tmp_path / "one.lprof"), "one").values()
    [thread] = log.threads.values()
    assert {log.line(thread.at(nanos)[0])[1] for nanos in json.loads(ended.out)} == {"outer"}


def test_the_child_of_a_fork_has_a_log_of_its_own(tmp_path):
    ended = script(f"""
        import clineprof, os
        profiler = clineprof.Profiler(tracer={TRACER!r}, line_log=True)
        @profiler
        def work(n):
            for i in range(n):
                pass
        work(1000)
        child = os.fork()
        if child == 0:
            profiler.after_fork()
            work(10)
        else:
            os.waitpid(child, 0)
            work(1)
            print(os.getpid(), child)
        open("parent.lprof" if child else "child.lprof", "wb").write(profiler.render("lprof"))
    """, tmp_path)
    for name, process in zip(("parent", "child"), map(int, ended.out.split())):
        profile = clineprof.load(tmp_path / f"{name}.lprof")
        [(found, log)] = logs.logs_of(profile, name).items()
        counted = hits(profile) if name == "parent" else {("work", 10): 11, ("work", 11): 10}
        assert (found, begins(log), list(log.threads)) == (process, counted, [process])


def test_what_is_recovered_of_a_killed_run_has_no_log(tmp_path):
    """The log is not in the live file; docs/training.md says so."""
    program = "import os\n@profile\ndef work():\n    os.kill(os.getpid(), 9)\nwork()\n"
    (tmp_path / "prog.py").write_text(TORCH.format(on=True) + program)
    run_ckernprof(["-l", "--line-log", "prog.py"], tmp_path)
    profile = clineprof.load(tmp_path / "prog.py.lprof.live")
    with pytest.raises(Wrong, match="has no log of lines"):
        logs.logs_of(profile, "it")


def test_a_profiler_that_was_forked_does_not_take_the_log_for_its_own(tmp_path):
    ended = script(f"""
        import clineprof, os
        profiler = clineprof.Profiler(tracer={TRACER!r}, line_log=True)
        @profiler
        def work():
            return 0
        work()
        counts = lambda: len(clineprof.Profile(profiler.snapshot())._line_logs)
        child = os.fork()
        if child == 0:
            os._exit(counts())
        print(counts(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """, tmp_path)
    assert ended.out == "1 0\n"


def test_a_merge_keeps_the_logs_of_all_processes(tmp_path):
    for name in "a", "b":
        profiled(tmp_path, "@profile\ndef work():\n    return 0\nwork()\n")
        (tmp_path / "prog.py.lprof").rename(tmp_path / f"{name}.lprof")
    both = clineprof.load(tmp_path / "a.lprof", tmp_path / "b.lprof")
    assert len(logs.logs_of(both, "both")) == 2
    assert all(begins(log) == {("work", 7): 1} for log in logs.logs_of(both, "both").values())


# ---- child processes ---------------------------------------------------------------------------

CHILDREN = TORCH + """
import multiprocessing, os, subprocess
@profile
def work(n):
    for i in range(n):
        pass
"""


def by_child(folder, program, *options):
    """{(function, line): hits} of each process, by what its log of lines says; and the whole profile."""
    (folder / "prog.py").write_text(CHILDREN.format(on=True) + textwrap.dedent(program))
    ended = run_ckernprof(["-l", "--line-log", "--prof-child-procs", *options, "prog.py"], folder)
    assert (ended.code, ended.err) == (0, "")
    profile = clineprof.load(folder / "prog.py.lprof")
    return [begins(log) for log in logs.logs_of(profile, "it").values()], profile, ended


def test_the_logs_of_children_are_in_the_profile(tmp_path):
    """.. of forks, of each way in which multiprocessing starts processes, and of other programs, and their children;
    nothing else is left in the folder."""
    found, profile, _ = by_child(tmp_path, """
        def more(n):
            work(n)
            child = multiprocessing.get_context("fork").Process(target=work, args=(n + 1,))
            child.start()
            child.join()
        if __name__ == "__main__":
            work(2)
            if os.fork() == 0:  # before spawn starts a tracker: 3.13.5 complains in a child that ends with one
                work(40)
                sys.exit(0)
            os.wait()
            ways = ("fork", 10), ("spawn", 20), ("forkserver", 30)
            children = [multiprocessing.get_context(way).Process(target=more, args=(n,)) for way, n in ways]
            for child in children:
                child.start()
            for child in children:
                child.join()
            with open("other.py", "w") as file:
                file.write(open("prog.py").read().split("def more")[0] + "work(50)")
            subprocess.run([sys.executable, "other.py"], check=True)
        """)
    wanted = [2, 10, 11, 20, 21, 30, 31, 40, 50]
    assert sorted(found, key=lambda each: each["work", 10]) == [{("work", 9): n + 1, ("work", 10): n} for n in wanted]
    counted = [sum(function["hits"]) for function in profile.functions]  # other.py has a function of its own
    assert sorted(counted) == [50 + 51, 2 * (sum(wanted) - 50) + len(wanted) - 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.py", "prog.py", "prog.py.lprof"]


def test_logs_of_many_children_are_swept(tmp_path):
    """.. into the sum of those that have ended, where they are kept."""
    found, *_ = by_child(tmp_path, """
        work(1)
        for n in range(200):
            if os.fork() == 0:
                work(2)
                sys.exit(0)
            os.wait()
        """)
    assert sorted(each["work", 10] for each in found) == [1, *[2] * 200]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prog.py", "prog.py.lprof"]


def test_children_without_a_log(tmp_path):
    """.. because they are killed, end by os._exit, or did not run while torch.profiler recorded, count all the same."""
    found, profile, _ = by_child(tmp_path, """
        work(1)
        for end in (lambda: os._exit(0)), (lambda: os.kill(os.getpid(), 9)), sys.exit:
            if os.fork() == 0:
                flags._is_profiler_enabled = end is not sys.exit
                work(2)
                end()
            os.wait()
        """)
    assert found == [{("work", 9): 2, ("work", 10): 1}]
    assert hits(profile) == {("work", 9): 11, ("work", 10): 7}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prog.py", "prog.py.lprof"]


def test_a_childs_log_that_cannot_be_taken_does_no_harm(tmp_path):
    """.. a damaged one is told by the join, and another user's is none of ours."""
    (tmp_path / "prog.py").write_text(CHILDREN.format(on=True) + textwrap.dedent("""
        import glob, time
        work(1)
        if os.fork() == 0:
            work(2)
            sys.exit(0)
        os.wait()
        [lines] = glob.glob("prog.py.lprof.*.lines")
        if sys.argv[1] == "damaged":
            open(lines, "w").write("nothing")
        elif sys.argv[1] == "link":
            os.rename(lines, "other")
            os.symlink("other", lines)
        """))  # fmt: skip
    for what, logs_found in ("damaged", 2), ("link", 1):
        ended = run_ckernprof(["-l", "--line-log", "--prof-child-procs", "prog.py", what], tmp_path)
        assert (ended.code, ended.err) == (0, "")
        profile = clineprof.load(tmp_path / "prog.py.lprof")
        assert len(profile._line_logs) == logs_found
        if what == "damaged":
            with pytest.raises(Wrong, match="has a damaged log of lines"):
                logs.logs_of(profile, "it")
        assert hits(profile) == {("work", 9): 5, ("work", 10): 3}


def test_a_childs_log_is_recovered(tmp_path):
    """.. with its live file, when the run is killed and nobody adds them up."""
    (tmp_path / "prog.py").write_text(CHILDREN.format(on=True) + textwrap.dedent("""
        if os.fork() == 0:
            work(2)
            sys.exit(0)
        os.wait()
        os.kill(os.getpid(), 9)
        """))
    run_ckernprof(["-l", "--line-log", "--prof-child-procs", "prog.py"], tmp_path)
    [live] = tmp_path.glob("prog.py.lprof.*.live")
    assert run_viewer(["recover", live.name, "-o", "back.lprof"], tmp_path).code == 0
    for name in live.name, "back.lprof":
        [log] = logs.logs_of(clineprof.load(tmp_path / name), "it").values()
        assert begins(log) == {("work", 9): 3, ("work", 10): 2}


@pytest.mark.slow
def test_logs_of_children_do_not_displace_that_of_the_first_process(tmp_path):
    (tmp_path / "prog.py").write_text(CHILDREN.format(on=True) + textwrap.dedent("""
        import glob
        work(1)
        for n in range(3):
            if os.fork() == 0:
                work(2)
                sys.exit(0)
            os.wait()
        for lines in glob.glob("prog.py.lprof.*.lines"):
            os.truncate(lines, 100 << 20)
        """))
    ended = run_ckernprof(["-l", "--line-log", "--prof-child-procs", "prog.py"], tmp_path)
    assert ended.err == ("ckernprof: the logs of lines (--line-log) have no more room; those of further processes are "
                         "missing\n")  # fmt: skip
    first, *others = clineprof.load(tmp_path / "prog.py.lprof")._line_logs
    assert len(first) < 1000 and [len(other) for other in others] == [100 << 20] * 2
