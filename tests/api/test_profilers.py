# SPDX-License-Identifier: MIT
"""Several Profiler objects in one process: one at a time."""
from harness import BUILD, TRACER, run_python

HEAD = f"""
import sys, threading, time
import clineprof
def new():
    return clineprof.Profiler(tracer={TRACER!r})
def f():
    return 1
def g():
    return 2
def hits(profiler):
    return [(f["name"], f["lines"]["hits"]) for f in profiler.snapshot()["functions"]]
"""


def run(program, folder):
    (folder / "it.py").write_text(HEAD + program)
    return run_python(["it.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})


def test_a_second_one_is_refused_while_the_first_records(tmp_path):
    ended = run("""
one = new()
one(f)
f()
try:
    new()
except RuntimeError as error:
    print(error)
f()
print(hits(one))
""", tmp_path)
    assert ended.out.splitlines() == [
        "clineprof: another Profiler is recording in this process; there can be one at a time",
        "[('f', [2])]",
    ]


def test_one_after_the_other(tmp_path):
    ended = run("""
one = new()
one(f)
f()
del one
two = new()
two(g)
for i in range(3):
    g()
    f()
print(hits(two))
""", tmp_path)
    assert (ended.code, ended.out) == (0, "[('g', [3])]\n"), ended.err


def test_one_after_the_other_with_threads(tmp_path):
    """A thread that has just been joined may not be quite gone."""
    ended = run("""
one = new()
one(f)
thread = threading.Thread(target=f)
thread.start()
thread.join()
del one
for attempt in range(100):
    try:
        two = new()
        break
    except RuntimeError:
        time.sleep(0.01)
two(g)
other = threading.Thread(target=g)
other.start()
other.join()
f(), g()
print(hits(two))
""", tmp_path)
    assert (ended.code, ended.out) == (0, "[('g', [2])]\n"), ended.err


def test_a_second_one_is_refused_while_threads_of_the_first_run(tmp_path):
    ended = run("""
one = new()
one(f)
done, go = threading.Event(), threading.Event()
def work():
    f()
    done.set()
    go.wait()
thread = threading.Thread(target=work)
thread.start()
done.wait()
del one
try:
    new()
except RuntimeError as error:
    print(error)
go.set()
""", tmp_path)
    assert (ended.code, ended.out) == (
        0, "clineprof: threads that an earlier Profiler has measured are still running\n"), ended.err
