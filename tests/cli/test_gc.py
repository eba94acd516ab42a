# SPDX-License-Identifier: MIT
"""Garbage collections as an item of their own. The truth is what the program itself measures in gc.callbacks: the
number of collections must be equal. One callback of the program stands before clineprof's and one behind it: they read
the clock first and last, so they know the least and the most that a collection took, whatever else the machine does."""
import gc
import json
import re
import sys

import clineprof
import profiles
import pytest
from clineprof import _boot
from harness import TRACER, run_ckernprof, run_viewer

MS = 1_000_000
SLACK = 0.01  # of two clocks

# Prints [collections, the least nanoseconds, the most] by label.
WATCHED = """
import gc, json, sys, threading, time
gc.collect()
label, seen = threading.local(), {}
def first(phase, info):
    if phase == "start":
        label.first = time.perf_counter_ns()
    else:
        label.ended = time.perf_counter_ns()
def last(phase, info):
    if phase == "start":
        label.last = time.perf_counter_ns()
        return
    entry = seen.setdefault(getattr(label, "text", "outside"), [0, 0, 0])
    entry[0] += 1
    entry[1] += label.ended - label.last
    entry[2] += time.perf_counter_ns() - label.first
assert len(gc.callbacks) == 1
gc.callbacks[:] = [first, *gc.callbacks, last]

class Node:
    pass

def cycles(n):
    for _ in range(n):
        node = Node()
        node.me = node

@profile
def allocates():
    label.text = "automatic"
    a = cycles(20_000)  # automatic
    label.text = "asked"
    b = [gc.collect() for _ in range(3)]  # asked
    label.text = "outside"

kept = [[] for _ in range(50_000)]
"""
ENDS = """
cycles(5_000)
gc.disable()
print(json.dumps(seen))
"""


def measured(profile):
    """{label of a line: [collections, nanoseconds]}, as `seen` has it."""
    found = {"outside": [profile.meta["gc_outside_runs"], profile.meta["gc_outside"]]}
    for function in profile.functions:
        for line in function.lines:
            if line.gc_runs:
                entry = found.setdefault(line.text.partition("# ")[2], [0, 0])
                entry[0] += line.gc_runs
                entry[1] += line.gc
                assert line.gc <= line.self <= line.time
    return found


def agree(found, truth):
    """Outside all lines are also collections from before the program watched."""
    assert found.keys() == {*truth, "outside"}, (found, truth)
    for label, (runs, least, most) in truth.items():
        assert found[label][1] >= least * (1 - SLACK), (label, found, truth)
        if label == "outside":
            assert runs <= found[label][0] <= runs + 50, (label, found, truth)
        else:
            assert found[label][0] == runs and found[label][1] <= most * (1 + SLACK), (label, found, truth)


def profiled(folder, program, *options):
    (folder / "prog.py").write_text(program)
    ended = run_ckernprof(["-l", *options, "prog.py"], folder)
    assert ended.code == 0, ended.err
    return ended, clineprof.load(folder / "prog.py.lprof")


def test_collections_belong_to_the_lines_on_which_they_run(tmp_path):
    ended, profile = profiled(tmp_path, WATCHED + "allocates()" + ENDS)
    truth = json.loads(ended.out.splitlines()[0])
    assert truth["asked"][0] == 3 and truth["automatic"][0] > 5 and truth["outside"][0] > 0
    agree(measured(profile), truth)


def test_beside_two_busy_loops(tmp_path):
    busy = """
def spin():
    while not over:
        sum(range(1000))
over = False
threads = [threading.Thread(target=spin) for _ in range(2)]
for thread in threads:
    thread.start()
allocates()
over = True
for thread in threads:
    thread.join()
"""
    ended, profile = profiled(tmp_path, WATCHED + busy + ENDS)
    truth = json.loads(ended.out.splitlines()[0])
    assert truth["asked"][0] == 3 and truth["automatic"][0] > 5
    agree(measured(profile), truth)


def test_of_several_threads_each_line_has_its_own(tmp_path):
    program = WATCHED + """
@profile
def asks(n):
    for _ in range(n):
        label.text = "in a thread"
        gc.collect()  # in a thread
        label.text = "outside"
gc.disable()
threads = [threading.Thread(target=asks, args=(4,)) for _ in range(3)]
for thread in threads:
    thread.start()
    thread.join()
""" + ENDS  # fmt: skip
    ended, profile = profiled(tmp_path, program)
    truth = json.loads(ended.out.splitlines()[0])
    assert truth["in a thread"][0] == 12
    agree(measured(profile), truth)


@pytest.mark.parametrize("kind", ["generator", "coroutine"])
def test_of_bodies_that_are_suspended(tmp_path, kind):
    body = """
@profile
%s body():
    for _ in range(3):
        %s
        label.text = "resumed"
        gc.collect()  # resumed
        label.text = "outside"
gc.disable()
%s
"""
    sleeping = "import asyncio\nasyncio.run(body())"
    made = body % (("def", "yield", "for _ in body():\n    gc.collect()") if kind == "generator"
                   else ("async def", "await asyncio.sleep(0)", sleeping))  # fmt: skip
    ended, profile = profiled(tmp_path, WATCHED + made + ENDS)
    truth = json.loads(ended.out.splitlines()[0])
    assert truth["resumed"][0] == 3
    agree(measured(profile), truth)


def test_selected_finalizers_have_their_own_time(tmp_path):
    program = """
import gc, time
gc.disable()

class Node:
    @profile
    def __del__(self):
        time.sleep(.05)  # finalizer

@profile
def asks():
    node = Node()
    node.me = node
    del node
    gc.collect()  # collects
asks()
"""
    _, profile = profiled(tmp_path, program)
    [collects] = [line for f in profile.functions for line in f.lines if line.text.endswith("# collects")]
    [finalizer] = [line for f in profile.functions for line in f.lines if line.text.endswith("# finalizer")]
    assert collects.gc_runs == 1 and finalizer.gc_runs == 0
    assert finalizer.time >= 50 * MS and collects.time >= finalizer.time
    assert 0 < collects.gc <= collects.self < collects.time - finalizer.time + MS


def test_processes_are_added_up(tmp_path):
    program = """
import gc, os, subprocess, sys
gc.disable()

@profile
def asks(n):
    for _ in range(n):
        gc.collect()  # asked

if len(sys.argv) > 1:
    asks(2)
else:
    asks(1)
    child = os.fork()
    if child == 0:
        asks(4)
        sys.exit()
    os.waitpid(child, 0)
    subprocess.run([sys.executable, __file__, "again"], check=True)
"""
    (tmp_path / "prog.py").write_text(program)
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path)
    assert ended.code == 0, ended.err
    assert measured(clineprof.load(tmp_path / "prog.py.lprof"))["asked"][0] == 7


def test_a_killed_run_has_them(tmp_path):
    program = WATCHED + """
allocates()
print(json.dumps(seen), flush=True)
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "prog.py").write_text(program)
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    truth = json.loads(ended.out.splitlines()[0])
    assert run_viewer(["recover", "prog.py.lprof.live"], tmp_path).code == 0
    agree(measured(clineprof.load(tmp_path / "prog.py.lprof")), truth)


# ---- a program that looks at gc.callbacks ----


CLEARS = """
import gc, sys
gc.disable()
ours = len(gc.callbacks)
@profile
def asks():
    gc.collect()  # asked
asks()
gc.callbacks.{}
asks()
print(ours, len(gc.callbacks), "gc" in sys.modules, all(map(callable, gc.get_objects()[:0])))
gc.freeze()
gc.unfreeze()
"""
TOLD = "clineprof: the program cleared gc.callbacks; later garbage collections are missing"


@pytest.mark.parametrize("change, told, runs", [
    ("clear()", True, 1), ("pop()", True, 1), ("append(print)", False, 2), ("copy()", False, 2)])  # fmt: skip
def test_a_program_that_changes_the_list_is_told_of_and_not_fought(tmp_path, change, told, runs):
    ended, profile = profiled(tmp_path, CLEARS.format(change))
    after = {"clear()": "0", "pop()": "0", "append(print)": "2", "copy()": "1"}[change]
    assert ended.out.splitlines()[-4].split()[:2] == ["1", after]
    assert (TOLD.partition(": ")[2] in ended.err) == told
    assert measured(profile)["asked"][0] == runs and profile.meta.get("gc_cleared", 0) == told


def test_a_profiler_that_is_not_on_leaves_no_callback(tmp_path):
    def counted():
        return gc.isenabled()

    before = list(gc.callbacks)
    profiler = _boot.core().Profiler(TRACER, memory=False)
    profiler.add_function(counted)
    profiler.start()
    assert len(gc.callbacks) == len(before) + 1
    profiler.stop()
    assert gc.callbacks == before
    profiler.start()
    assert len(gc.callbacks) == len(before) + 1
    profiler.close()
    assert gc.callbacks == before


# ---- what is shown ----


def known(folder):
    """f: 10 ms, of which 4 ms are 3 collections; g, called by f: 2 ms, all one collection."""
    f = profiles.function("f", {2: (1, 7), 3: (2, 3)}, "def f():\n    a = g()\n    b = 1\n", file="p.py")
    f["lines"].update({"self": [5 * MS, 3 * MS], "gc": [3 * MS, MS], "gc_runs": [2, 1]})
    g = profiles.function("g", {6: (1, 2)}, "def g():\n    return 2\n", file="p.py", line=5)
    g["lines"].update({"gc": [2 * MS], "gc_runs": [1]})
    for one in f, g:
        del one["lines"]["max"]
    return profiles.write(folder / "p.lprof", f, g, has_memory=False, gc_outside=5 * MS, gc_outside_runs=1)


def table(text, name):
    """{line number or "": its cells before the source} of the function's table."""
    part = text.partition(f"Function: {name} ")[2].partition("Total time: ")[0]
    rows = re.findall(r"^([ \d]{6})((?: +[\d.]+)+)  +(\S.*)$", part, re.M)
    return {number.strip(): (cells.split(), source) for number, cells, source in rows}


def test_the_plain_table_is_as_it_was(tmp_path):
    known(tmp_path)
    ended = run_viewer(["p.lprof"], tmp_path)
    assert ended.code == 0 and "GC" not in ended.out and "arbage" not in ended.out
    assert table(ended.out, "f")["2"][0] == ["1", "7000.0", "7000.0", "70.0"]
    assert run_viewer(["--no-gc", "p.lprof"], tmp_path).out == ended.out


def test_with_gc_lines_and_it_sum_to_the_total(tmp_path):
    known(tmp_path)
    ended = run_viewer(["--gc", "p.lprof"], tmp_path)
    rows = table(ended.out, "f")
    assert rows["2"] == (["1", "4000.0", "4000.0", "40.0", "3000.0"], "a = g()")
    assert rows["3"] == (["2", "2000.0", "1000.0", "20.0", "1000.0"], "b = 1")
    assert rows[""] == (["3", "4000.0", "1333.3", "40.0", "4000.0"], "garbage collection")
    assert table(ended.out, "g")[""] == (["1", "2000.0", "2000.0", "100.0", "2000.0"], "garbage collection")
    assert "Total time: 0.01 s" in ended.out
    assert "\nGarbage collection: 4 runs, 6 ms; outside the lines: 1 run, 5 ms.\n" in ended.out.replace(".00 ms", " ms")


def test_a_whole_file_has_one_row_of_all(tmp_path):
    known(tmp_path)
    ended = run_viewer(["--gc", "--by-file", "--columns", "hits,self,share,gc", "p.lprof"], tmp_path)
    assert "Self time: 0.01 s in 2 functions" in ended.out
    found = [line.split() for line in ended.out.splitlines() if line.endswith("garbage collection")]
    assert found == [["4", "6000.0", "60.0", "6000.0", "garbage", "collection"]]


def test_a_column_that_is_asked_for_is_apart_and_no_gc_leaves_it_within(tmp_path):
    known(tmp_path)
    asked = ["--columns", "time,gc,gc-runs", "p.lprof"]
    assert table(run_viewer(asked, tmp_path).out, "f")["2"][0] == ["4000.0", "3000.0", "2"]
    ended = run_viewer(["--no-gc", *asked], tmp_path)
    assert table(ended.out, "f")["2"][0] == ["7000.0", "3000.0", "2"] and "arbage" not in ended.out


CLOCKS = "self,cpu,wait,queue,native-time,library"


def with_clocks(folder, **more):
    """known(), where f's line 2 had no processor in 3 ms of its 5, and line 3 in 1 ms of its 3; and more columns."""
    f = profiles.function("f", {2: (1, 7), 3: (2, 3)}, "def f():\n    a = g()\n    b = 1\n", file="p.py")
    f["lines"].update({"self": [5 * MS, 3 * MS], "gc": [3 * MS, MS], "gc_runs": [2, 1], "cpu": [2 * MS, 2 * MS],
                       "wait": [3 * MS, MS], "queue": [2 * MS, MS], "native_time": [4 * MS, MS], "library": [MS, MS],
                       **{name: [ms * MS for ms in column] for name, column in more.items()}})  # fmt: skip
    return profiles.write(folder / "p.lprof", f, has_memory=False, has_cpu=1, has_queue=1, has_called=1)


@pytest.mark.parametrize("known_waits, lines, collector", [
    ({"gc_wait": [2, 0], "gc_queue": [1, 0]},
     ["2000.0 1000.0 1000.0 1000.0 2000.0 0.0", "2000.0 1000.0 1000.0 1000.0 1000.0 1000.0"],
     "4000.0 2000.0 2000.0 1000.0 0.0 0.0"),
    # a file that does not say what waiting was the collector's: as much of it as was no processor time
    ({}, ["2000.0 0.0 2000.0 2000.0 2000.0 0.0", "2000.0 1000.0 1000.0 1000.0 1000.0 1000.0"],
     "4000.0 3000.0 1000.0 0.0 0.0 0.0")])  # fmt: skip
def test_what_is_taken_off_self_time_is_taken_off_its_parts(tmp_path, known_waits, lines, collector):
    with_clocks(tmp_path, **known_waits)
    rows = table(run_viewer(["--gc", "--columns", CLOCKS, "p.lprof"], tmp_path).out, "f")
    assert [" ".join(rows[line][0][:6]) for line in ("2", "3")] == lines
    assert " ".join(rows[""][0][:6]) == collector
    rows = table(run_viewer(["--no-gc", "--columns", CLOCKS, "p.lprof"], tmp_path).out, "f")
    assert rows["2"][0][:3] == ["5000.0", "2000.0", "3000.0"]


def test_what_the_collector_waits_is_its_own(tmp_path):
    program = """
import gc, time
gc.disable()
gc.callbacks.append(lambda phase, info: time.sleep(.1 if phase == "start" else 0))

@profile
def asks():
    gc.collect(); time.sleep(.2)  # collects
asks()
"""
    _, profile = profiled(tmp_path, program, "--cpu")
    [line] = [line for f in profile.functions for line in f.lines if line.text.endswith("# collects")]
    assert 95 * MS < line.gc_wait <= line.gc and line.wait - line.gc_wait > 195 * MS
    assert line.cpu - (line.gc - line.gc_wait) + line.wait - line.gc_wait == line.self - line.gc
    assert line.cpu >= line.gc - line.gc_wait


def test_lines_are_sorted_by_what_is_shown(tmp_path):
    """By self time f's line 2 (5 ms, 3 of them collections) stands above line 3 (3 ms, 1); g's line has none left."""
    known(tmp_path)
    ended = run_viewer(["--gc", "--lines", "3", "--columns", "self", "p.lprof"], tmp_path)
    found = re.findall(r"^p\.py:(\d) .*?([\d.]+)  ", ended.out, re.M)
    assert found == [("2", "2000.0"), ("3", "2000.0"), ("6", "0.0")]


WITH_RICH = {"VIRTUAL_ENV": sys.prefix, "COLUMNS": "120"}


def test_coloured_views_have_it_where_it_tells_something(tmp_path):
    pytest.importorskip("rich")
    known(tmp_path)
    coloured = run_viewer(["--color=always", "p.lprof"], tmp_path, env=WITH_RICH)
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured.out)
    assert re.search(r"^ +3 +4\.00 ms .*garbage collection$", plain, re.M) and "GC" in plain
    assert "Garbage collection: 4 runs, 6.00 ms; outside the lines: 1 run, 5.00 ms." in plain
    without = run_viewer(["--color=always", "--no-gc", "p.lprof"], tmp_path, env=WITH_RICH)
    assert "arbage" not in without.out


def test_a_difference_and_a_limit_know_the_measure(tmp_path):
    known(tmp_path)
    f = profiles.function("f", {2: (1, 7), 3: (2, 3)}, "def f():\n    a = g()\n    b = 1\n", file="p.py")
    f["lines"].update({"gc": [6 * MS, MS], "gc_runs": [9, 1]})
    profiles.write(tmp_path / "q.lprof", f, has_memory=False)
    ended = run_viewer(["diff", "--measure", "gc,gc-runs", "--fail-on", "gc-runs>5", "p.lprof", "q.lprof"], tmp_path)
    assert ended.code == 3 and re.search(r"\b2\b.*\b9\b", ended.out), (ended.out, ended.err)


def test_exports_have_it_and_line_profiler_keeps_its_times(tmp_path):
    known(tmp_path)
    made = json.loads(run_viewer(["--format", "json", "p.lprof"], tmp_path).out)
    line = made["functions"][0]["lines"][0]
    assert (line["time"], line["gc"], line["gc_runs"]) == (7 * MS, 3 * MS, 2)
    assert (made["meta"]["gc_outside"], made["meta"]["gc_outside_runs"]) == (5 * MS, 1)
    header, first, *_ = run_viewer(["--format", "csv", "p.lprof"], tmp_path).out.splitlines()
    row = dict(zip(header.split(","), first.split(",")))
    assert (row["time_ns"], row["gc_ns"], row["gc_runs"]) == (str(7 * MS), str(3 * MS), "2")
    assert run_viewer(["--to", "line_profiler", "-o", "old.lprof", "p.lprof"], tmp_path).code == 0
    old = clineprof.load(tmp_path / "old.lprof")
    assert [line.time for line in old.functions[0].lines] == [7 * MS, 3 * MS]
