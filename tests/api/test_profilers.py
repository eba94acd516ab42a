# SPDX-License-Identifier: MIT
"""Several Profiler objects in one process: each with its own functions, windows and numbers."""
import sys

import pytest
from harness import BUILD, SANITIZED, TRACER, Profile, run, run_ckernprof, run_python, viewer_command

import clineprof

HEAD = f"""
import gc, sys, threading, weakref
import clineprof
TRACER = {TRACER!r}
def new(**options):
    return clineprof.Profiler(tracer=TRACER, **options)
def f(n=1):
    return n
def g():
    f()
    return 2
def numbers(profiler, column="hits"):
    found = {{}}
    for one in profiler.snapshot()["functions"]:
        lines = one["lines"]
        found[one["name"]] = dict(zip(lines.get("line", []), lines.get(column, [])))
    return found
def hits(profiler):
    # without the line that ran when the window was opened: it has time, but began before
    return {{name: [n for n in lines.values() if n] for name, lines in numbers(profiler).items()}}
"""
# A window that opens on a function while it runs reaches it at once: not on CPython 3.10, and on 3.11
# not with probes.
AT_ONCE = sys.version_info >= (3, 12) or (sys.version_info >= (3, 11) and TRACER == "settrace")
PROBES = sys.version_info >= (3, 11) and TRACER in (None, "probe")
late = pytest.mark.skipif(not AT_ONCE, reason="counted from the next call on")


def run_program(program, folder):
    (folder / "it.py").write_text(HEAD + program)
    return run_python(["it.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})


def tracer_used():
    return TRACER or clineprof.tracers()[0]


def lines_of(program, folder):
    ended = run_program(program, folder)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


# ---- several at once ----


def test_two_on_one_function(tmp_path):
    assert lines_of("""
one, two = new(), new()
one(f)
f()
two(f)
f()
print(hits(one), hits(two))
del one
f()
print(hits(two))
""", tmp_path) == ["{'f': [2]} {'f': [1]}", "{'f': [2]}"]


def test_two_on_different_functions(tmp_path):
    assert lines_of("""
one, two = new(), new()
one(f), two(g)
g(), g(), f()
print(hits(one), hits(two))
""", tmp_path) == ["{'f': [3]} {'g': [2, 2]}"]


def test_functions_stand_in_the_order_of_each_view(tmp_path):
    assert lines_of("""
one, two = new(), new()
one(f), one(g), two(g), two(f)
print(list(hits(one)), list(hits(two)))
""", tmp_path) == ["['f', 'g'] ['g', 'f']"]


def test_a_later_one_has_nothing_of_before(tmp_path):
    """Neither hits nor times nor largest values, though the counters are the same."""
    assert lines_of("""
import time
def h(seconds):
    time.sleep(seconds)
one = new()
one(h)
h(0.2)
two = new()
two(h)
began = time.perf_counter_ns()
h(0.01)
took = time.perf_counter_ns() - began
def only(profiler, column):
    [value] = numbers(profiler, column)["h"].values()
    return value
print(only(one, "max") >= 200e6, took >= only(two, "max") >= 10e6)
print(only(one, "time") >= 210e6, took >= only(two, "time"))
one.close()
print(took >= only(two, "max"))
""", tmp_path) == ["True True", "True True", "True"]


def test_an_earlier_one_keeps_its_largest_value(tmp_path):
    assert lines_of("""
import time
def h(seconds):
    time.sleep(seconds)
one = new()
one(h)
h(0.1)
two = new()
two(h)
two.stop()
two.start()
h(0)
[largest] = numbers(one, "max")["h"].values()
print(largest > 100e6)
""", tmp_path) == ["True"]


# ---- windows ----


def test_windows_of_one(tmp_path):
    assert lines_of("""
own = f.__code__
one = new(started=False)
one(f)
print(one.running, f.__code__ is own)
f()
one.start(), one.start()
print(one.running)
f()
one.stop(), one.stop()
print(one.running, f.__code__ is own)
f()
with_window = hits(one)
one.start()
f()
print(with_window, hits(one))
""", tmp_path) == ["False True", "True", "False True", "{'f': [1]} {'f': [2]}"]


def test_windows_overlap_and_nest(tmp_path):
    assert lines_of("""
one, two = new(started=False), new(started=False)
one(f), two(f)
f()
one.start(); f(); two.start(); f(); f(); one.stop(); f(); f(); f(); two.stop(); f()
print(hits(one), hits(two))
one.start(); two.start(); f(); two.stop(); f(); one.stop()
print(hits(one), hits(two))
""", tmp_path) == ["{'f': [3]} {'f': [5]}", "{'f': [5]} {'f': [6]}"]


def test_the_gate(tmp_path):
    assert lines_of("""
one, two = new(), new()
one(f), one(g), two(f)
one.gate(False)
g()
print(hits(one), hits(two), one.running)
one.gate(True)
g()
one.gate(0)
one.stop()
f()
one.start()
f()
one.gate(1)
f()
print(hits(one), hits(two))
""", tmp_path) == ["{'f': [], 'g': []} {'f': [1]} True", "{'f': [2], 'g': [1, 1]} {'f': [5]}"]


def test_a_pause(tmp_path):
    """.. is for all threads. It stands above the gate and the window, and one end ends any number."""
    assert lines_of("""
one, two = new(), new()
one(f), two(f)
one.pause(), one.pause()
f()
thread = threading.Thread(target=f); thread.start(); thread.join()
one.gate(False), one.gate(True), one.stop(), one.start()
f()
print(repr(one), hits(one), hits(two))
one.resume(), one.resume()
f()
print(repr(one).replace("tracer " + clineprof.tracers()[0], "T") if TRACER is None else "", hits(one))
one.stop(), one.pause(), one.resume()
f()
print(hits(one), one.running)
one.close()
print(repr(one))
try: one.pause()
except ValueError as error: print(type(error).__name__)
""", tmp_path) == [
        f"<clineprof.Profiler: paused, tracer {tracer_used()}, 1 function> {{'f': []}} {{'f': [3]}}",
        f"{'<clineprof.Profiler: counting, T, 1 function>' if TRACER is None else ''} {{'f': [1]}}",
        "{'f': [1]} False", "<clineprof.Profiler: closed>", "ValueError"]  # fmt: skip


def test_a_pause_within_a_function(tmp_path):
    assert lines_of("""
def work(p):
    a = 1
    p.pause()
    b = 2
    p.resume()
    c = 3
    return c
p = new()
p(work)
work(p), work(p)
lines = numbers(p)["work"]
first = min(lines)
print([lines.get(first + n, 0) for n in range(6)])
""", tmp_path) == ["[2, 2, 0, 0, 2, 2]"] if AT_ONCE else ["[2, 2, 0, 0, 0, 0]"]


# ---- what is defined in a function ----

MAKER = """
def maker(n):
    def made(m):
        return m + n
    return made
def run(made):
    return made(1)
def names(profiler):
    return {name: sum(lines) for name, lines in hits(profiler).items()}
"""


def test_a_call_selects_what_is_defined_in_the_function(tmp_path):
    """add_function selects the function alone; remove_function takes off what a call has selected."""
    assert lines_of(MAKER + """
alone, all = new(), new()
alone.add_function(maker)
maker(1)(1)
print(names(alone))
all(maker)
maker(1)(1), maker(1)(1)
print(names(alone), names(all))
alone(maker)
maker(1)(1)
print(names(alone), names(all))
all.remove_function(maker)
maker(1)(1)
print(names(alone), names(all))
alone.stop()
maker(1)(1)
alone.start()
maker(1)(1)
print(names(alone))
""", tmp_path) == [
        "{'maker': 2}",
        "{'maker': 6} {'maker': 4, 'maker.<locals>.made': 2}",
        "{'maker': 8, 'maker.<locals>.made': 1} {'maker': 6, 'maker.<locals>.made': 3}",
        "{'maker': 10, 'maker.<locals>.made': 2} {'maker': 6, 'maker.<locals>.made': 3}",
        "{'maker': 12, 'maker.<locals>.made': 3}"]  # fmt: skip


def test_functions_that_were_made_before(tmp_path):
    """Of the code that is selected only now, while a window is open or before it is."""
    assert lines_of(MAKER + """
before = maker(1)
p = new(started=False)
p(maker)
closed = maker(2)
p.start()
run(before), run(closed), run(maker(3))
print(names(p))
p.stop()
between = maker(4)
run(between), run(before)
p.start()
run(before), run(maker(5))
print(names(p))
""", tmp_path) == ["{'maker': 2, 'maker.<locals>.made': 3}", "{'maker': 4, 'maker.<locals>.made': 5}"]


def test_a_window_of_which_another_has_the_outer_function_alone(tmp_path):
    """Its copy with probes was made without them within."""
    assert lines_of(MAKER + """
alone, all = new(), new(started=False)
alone.add_function(maker)
maker(1)(1)
all(maker)
all.start()
maker(1)(1)
all.stop()
maker(1)(1)
print(names(alone), names(all))
""", tmp_path) == ["{'maker': 6} {'maker': 2, 'maker.<locals>.made': 1}"]


def test_reset_keeps_the_selection(tmp_path):
    assert lines_of("""
one, two = new(), new()
one(f), one(g), two(f)
g()
one.reset()
print(hits(one), hits(two))
g()
print(hits(one), hits(two))
two.reset()
two.stop()
two.reset()
print(hits(one), hits(two), two.running)
""", tmp_path) == ["{'f': [], 'g': []} {'f': [1]}", "{'f': [1], 'g': [1, 1]} {'f': [2]}",
                   "{'f': [1], 'g': [1, 1]} {'f': []} False"]


def test_time_is_the_windows(tmp_path):
    """A stay that began before the window, and goes on behind it, counts for as long as that is open."""
    assert lines_of("""
import time
def h():
    time.sleep(0.1)
    two.start()
    time.sleep(0.02)
    two.stop()
    time.sleep(0.1)
def caller():
    h()
one, two = new(), new(started=False)
one(h), one(caller), two(caller)
caller()
[whole] = numbers(one, "time")["caller"].values()
[part] = numbers(two, "time")["caller"].values()
print(whole > 220e6, 20e6 < part < whole - 190e6)
""", tmp_path) == ["True True"]


@late
def test_a_window_within_the_function(tmp_path):
    assert lines_of("""
def h():
    a = 1
    one.start()
    b = 2
    c = 3
    one.stop()
    d = 4
one, two = new(started=False), new()
one(h)
h(), h()
two(h)
h()
print(hits(one), hits(two))
""", tmp_path) == ["{'h': [3, 3, 3]} {'h': [1, 1, 1, 1, 1, 1]}"]


@late
def test_a_gate_within_the_function(tmp_path):
    assert lines_of("""
def h():
    a = 1
    one.gate(False)
    b = 2
    one.gate(True)
    d = 4
one = new()
one(h)
h(), h()
print(list(numbers(one)["h"].values()))
""", tmp_path) == ["[2, 2, 2]"]


def test_stopped_within_a_recursion(tmp_path):
    assert lines_of("""
def down(n):
    if n == 2:
        one.stop()
    if n:
        down(n - 1)
    return n
one, two = new(), new()
one(down), two(down)
down(4)
print(hits(one), hits(two))
one.start()
one.reset()
down(1)
print(hits(one), hits(two))
""", tmp_path) == ["{'down': [3, 1, 2, 2]} {'down': [5, 1, 5, 4, 5]}",
                   "{'down': [2, 2, 1, 2]} {'down': [7, 1, 7, 5, 7]}"]


def test_a_generator_suspended_across_windows(tmp_path):
    assert lines_of("""
def steps():
    for i in range(9):
        yield i
one, two = new(), new()
one(steps), two(steps)
first = steps()
next(first)
one.stop()
next(first), next(first)
print(hits(one), hits(two))
one.start()
next(first)
print(hits(one), hits(two))
one.stop(), two.stop()
next(first)
one.start()
next(first)
print(hits(one), hits(two), list(first))
""", tmp_path) == ["{'steps': [1, 1]} {'steps': [3, 3]}", "{'steps': [2, 2]} {'steps': [4, 4]}",
                   "{'steps': [3, 3]} {'steps': [4, 4]} [6, 7, 8]"]


def test_threads(tmp_path):
    """A thread that began before the window is counted in it, and what it runs meanwhile ends."""
    expected = "{'f': [2]} {'f': [3]}"
    assert lines_of("""
go, done = threading.Semaphore(0), threading.Semaphore(0)
def work():
    for i in range(4):
        go.acquire()
        f()
        done.release()
def step():
    go.release(), done.acquire()
thread = threading.Thread(target=work)
thread.start()
one, two = new(started=False), new()
one(f), two(f)
step()
one.start()
step(), step()
one.stop(), two.stop()
step()
thread.join()
print(hits(one), hits(two))
""", tmp_path) == [expected]


def test_threads_that_still_run_are_no_obstacle(tmp_path):
    assert lines_of("""
done, go = threading.Event(), threading.Event()
def work():
    f()
    done.set()
    go.wait()
one = new()
one(f)
thread = threading.Thread(target=work)
thread.start()
done.wait()
del one
two = new()
two(f)
f()
go.set()
thread.join()
print(hits(two))
""", tmp_path) == ["{'f': [1]}"]


def test_many_threads_and_windows(tmp_path):
    """Nobody crashes, and a view that is always open has every hit."""
    assert lines_of("""
one, rest = new(), [new(started=False) for i in range(3)]
one(f)
for other in rest:
    other(f), other(g)
def work():
    for i in range(3000):
        g()
threads = [threading.Thread(target=work) for i in range(4)]
sys.setswitchinterval(1e-5)
for thread in threads:
    thread.start()
for i in range(150):
    other = rest[i % 3]
    (other.start, other.snapshot, other.stop, other.reset)[i // 3 % 4]()
for thread in threads:
    thread.join()
print(hits(one))
""", tmp_path) == ["{'f': [12000]}"]


def test_blocks_have_windows(tmp_path):
    assert lines_of("""
one, two = new(), new()
def h():
    with one.block("part"):
        a = 1
        b = 2
h()
one.stop()
h()
one.start()
one.gate(False)
h()
with one.block("late"):
    one.gate(True)
    c = 3
part = hits(one)["part"]
print(part, hits(two))
one.close()
h()
""", tmp_path) == ["[1, 1] {}"]


# ---- snapshots ----


def test_a_snapshot_within_changes_nothing(tmp_path):
    assert lines_of("""
import time
def h():
    time.sleep(0.05)
    seen.append(one.snapshot())
    time.sleep(0.05)
seen = []
one = new()
one(h)
h()
[inner] = seen[0]["functions"]
print(inner["lines"]["hits"], inner["lines"]["time"][0] > 50e6, inner["total"] > 50e6)
[outer] = one.snapshot()["functions"]
print(outer["lines"]["hits"], 100e6 < outer["total"], outer["total"] - inner["total"] > 45e6)
print(sum(outer["lines"]["self"]) <= outer["total"] + 10)
""", tmp_path) == ["[1, 1] True True", "[1, 1, 1] True True", "True"]


def test_a_snapshot_from_another_thread(tmp_path):
    assert lines_of("""
def h():
    inside.set()
    go.wait()
    return 1
inside, go = threading.Event(), threading.Event()
one = new()
one(h)
thread = threading.Thread(target=h)
thread.start()
inside.wait()
first = hits(one)
go.set()
thread.join()
print(first in ({"h": [1]}, {"h": [1, 1]}), hits(one))
""", tmp_path) == ["True {'h': [1, 1, 1]}"]


# ---- adding and removing ----


def test_remove_is_the_views_own(tmp_path):
    assert lines_of("""
own = f.__code__
one, two = new(), new()
one(f), two(f)
f()
one.remove_function(f)
f()
print(hits(one), hits(two))
two.remove_function(f)
f()
print(hits(one), hits(two), f.__code__ is own)
one(f)
f()
print(hits(one), hits(two))
""", tmp_path) == ["{'f': [1]} {'f': [2]}", "{'f': [1]} {'f': [2]} True", "{'f': [2]} {'f': [2]}"]


@late
def test_added_and_removed_while_it_runs(tmp_path):
    assert lines_of("""
def h():
    a = 1
    two(h)
    b = 2
    two.remove_function(h)
    c = 3
one, two = new(), new()
one(h)
h()
h()
print(hits(one), hits(two))
""", tmp_path) == ["{'h': [2, 2, 2, 2, 2]} {'h': [2, 2]}"]


@late
def test_added_while_it_runs_to_what_counts_nothing_yet(tmp_path):
    """In a recursion, all executions count from their next line on."""
    assert lines_of("""
def add():
    one(h)
def h(n):
    if n:
        h(n - 1)
        a = 1
    else:
        add()
    b = 2
one = new()
h(2)
print(hits(one))
""", tmp_path) == ["{'h': [2, 3]}"]


def test_functions_of_one_code(tmp_path):
    """Closures, and what is defined again while the window is closed."""
    assert lines_of("""
def make():
    def inner():
        return 1
    return inner
one = new()
first, second = make(), make()
one(first)
first(), second()
one.stop()
first(), second()
third = one(make())
third()
one.start()
first(), second(), third()
print({name: sum(lines) for name, lines in hits(one).items()})
""", tmp_path) == ["{'make.<locals>.inner': 5}" if not PROBES or sys.version_info >= (3, 11) else ""]


# ---- life cycle ----


def test_closed(tmp_path):
    assert lines_of("""
own = f.__code__
one = new()
one(f)
one.close(), one.close()
print(f.__code__ is own, one.running)
for use in (one.start, one.stop, one.reset, one.snapshot, lambda: one(f), lambda: one.gate(1),
            lambda: one.remove_function(f)):
    try:
        use()
    except ValueError as error:
        print(error)
""", tmp_path) == ["True False"] + 7 * ["clineprof: this Profiler is closed; make another one"]


def test_nobody_is_kept_alive(tmp_path):
    assert lines_of("""
exec("def h():\\n    pass")
one = new()
one(h)
h()
gone, dead = weakref.ref(h), weakref.ref(h.__code__)
one.stop(), one.start(), one.stop()
del h
gc.collect()
print(gone(), dead(), hits(one))
one.start()
""", tmp_path) == ["None None {'h': [1]}"]


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")
def test_ten_thousand_sessions(tmp_path):
    """Neither references nor memory pile up."""
    assert lines_of("""
def resident():
    return int(open("/proc/self/statm").read().split()[1])
def session():
    one = new()
    one(f), one(g)
    g()
    assert hits(one) == {"f": [1], "g": [1, 1]}, hits(one)
for i in range(500):
    session()
gc.collect()
own, pages = f.__code__, resident()
def state():
    return sys.getrefcount(f), sys.getrefcount(own), weakref.getweakrefcount(f)
before, objects = state(), len(gc.get_objects())
for i in range(10000):
    session()
gc.collect()
print(f.__code__ is own, before == state(), len(gc.get_objects()) - objects < 20, resident() - pages < 400)
""", tmp_path) == ["True True True True"]


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")
def test_windows_do_not_pile_up(tmp_path):
    assert lines_of("""
def resident():
    return int(open("/proc/self/statm").read().split()[1])
one, two = new(), new()
one(f), one(g), two(g)
def session():
    two.start(), one.gate(False), g(), one.gate(True), two.snapshot(), one.reset(), two.stop()
for i in range(500):
    session()
pages = resident()
for i in range(5000):
    session()
print(resident() - pages < 400)
""", tmp_path) == ["True"]


# ---- what the first one chose ----


def test_another_tracer_is_refused(tmp_path):
    [name, *rest] = lines_of("""
one = new()
name = one.snapshot()["meta"]["tracer"]
print(name)
for other in clineprof.tracers():
    try:
        print(other == name, clineprof.Profiler(tracer=other).running)
    except RuntimeError as error:
        print(error)
try:
    clineprof.Profiler(tracer="none")
except ValueError as error:
    print("no tracer" in str(error))
clineprof.Profiler(), clineprof.Profiler(tracer="auto")
""", tmp_path)
    assert rest.pop() == "True"
    for line in rest:
        assert line == "True True" or line.startswith(
            f"clineprof: this process records with the {name} tracer, which its first Profiler chose; "
            "it cannot be "), line


def test_memory_is_each_views_own(tmp_path):
    assert lines_of("""
one = new(memory=False)
def h():
    big = bytearray(50_000_000)
    return len(big)
one(h)
h()
two = new()
two(h)
h()
a, b = one.snapshot(), two.snapshot()
print(a["meta"].get("has_memory"), b["meta"]["has_memory"], b["meta"]["memory"])
print(hits(one), hits(two))
[grown] = [f["lines"].get("grown", [0])[0] for f in b["functions"]]
print("grown" in a["functions"][0]["lines"], 49e6 < grown < 52e6)
two.stop()
ballast = bytearray(80_000_000)
two.start()
h()
[grown] = [f["lines"].get("grown", [0])[0] for f in two.snapshot()["functions"]]
print(98e6 < grown < 104e6)
""", tmp_path) == ["False True rss", "{'h': [2, 2]} {'h': [1, 1]}", "False True", "True"]


def test_one_kind_of_memory(tmp_path):
    assert lines_of("""
one = new(memory="anon")
print(new().snapshot()["meta"]["memory"])
try:
    new(memory="pss")
except RuntimeError as error:
    print(error)
one.close()
print(new(memory="pss").snapshot()["meta"]["memory"])
""", tmp_path) == [
        "anon", "clineprof: another Profiler of this process measures memory as 'anon', not 'pss'", "pss"]


def test_one_table_of_live_blocks(tmp_path):
    assert lines_of("""
one = new(heap=1)
two = new(heap=1)
kept = []
def h():
    kept.append(bytearray(1_000_000))
one(h)
h()
two(g)
print(one.snapshot()["functions"][0]["lines"]["live"][0] >= 1_000_000)
meta = two.snapshot()["meta"]
print(meta["heap_interval"], meta["heap_unselected"] >= 1_000_000)
for options in ({"heap": 2}, {"heap": 1, "leaks": "calls"}):
    try:
        new(**options)
    except RuntimeError as error:
        print(error)
one.close(), two.close()
print(new(heap=2).snapshot()["meta"]["heap_interval"])
""", tmp_path) == ["True", "1 True"] + 2 * [
        "clineprof: another Profiler of this process has a table of live blocks, of another kind "
        "(heap=, leaks=); there is one at a time"] + ["2"]


@pytest.mark.skipif(not PROBES, reason="needs probes")
def test_one_way_of_counting_statements(tmp_path):
    assert lines_of("""
one = new(by_statement=True)
for wish in (False, True):
    try:
        new(by_statement=wish)
    except RuntimeError as error:
        print(error)
one.close()
new(by_statement=False).close()
""", tmp_path) == ["clineprof: another Profiler of this process counts by statement; so must this one"]


# ---- against a model ----

MODEL = f"""
import random
AT_ONCE = {AT_ONCE!r}
class Model:
    # what a view must have: every line says itself that it begins
    def __init__(self):
        self.open, self.gate, self.names, self.hits = False, True, set(), {{}}
models, profilers, suspended = [], [], []
def mark(name, line):
    for model in models:
        if model.open and model.gate and name in model.names:
            model.hits[name, line] = model.hits.get((name, line), 0) + 1
def plain(depth):
    mark("plain", 1), act(depth)
    mark("plain", 2), act(depth)
    mark("plain", 3), act(depth)
def deep(depth):
    mark("deep", 1), depth and deep(depth - 1)
    mark("deep", 2), act(depth)
def steps(depth):
    mark("steps", 1), act(depth)
    (yield mark("steps", 2)), act(depth)
    mark("steps", 3), act(depth)
    (yield mark("steps", 4))
    mark("steps", 5), act(depth)
def fails(depth):
    mark("fails", 1), act(depth)
    mark("fails", 2), act(depth), 1 // 0
FUNCTIONS = {{"plain": plain, "deep": deep, "steps": steps, "fails": fails}}
""" + """
def change():
    i = dice.randrange(3)
    model, profiler = models[i], profilers[i]
    what, name = dice.choice(["start", "stop", "start", "stop", "gate", "add", "remove", "reset", "look",
                              "add"]), dice.choice(list(FUNCTIONS))
    log.append((i, what, name))
    if what in ("start", "stop"):
        getattr(profiler, what)()
        model.open = what == "start"
    elif what == "gate":
        model.gate = not model.gate
        profiler.gate(model.gate)
    elif what == "add":
        profiler(FUNCTIONS[name])
        model.names.add(name)
    elif what == "remove":
        profiler.remove_function(FUNCTIONS[name])
        model.names.discard(name)
    elif what == "reset":
        profiler.reset()
        model.hits.clear()
    else:
        compare(i)
def compare(i):
    found = {}
    for one in profilers[i].snapshot()["functions"]:
        for line, n in zip(one["lines"].get("line", []), one["lines"].get("hits", [])):
            if n:
                found[one["name"], line - one["line"]] = n
    if found != models[i].hits:
        print(seed, i, found, models[i].hits, log)
        sys.exit(1)
def act(depth):
    global budget
    budget -= 1
    if budget < 0:
        return
    what = dice.random()
    if AT_ONCE and what < 0.4:
        change()
    elif what < 0.5:
        plain(depth + 1)
    elif what < 0.6:
        deep(dice.randrange(3))
    elif what < 0.7:
        try:
            fails(depth + 1)
        except ZeroDivisionError:
            pass
    elif what < 0.8:
        suspended.append(steps(depth + 1))
    elif suspended:
        one = suspended.pop(dice.randrange(len(suspended)))
        if next(one, one) is not one:
            suspended.append(one)
def play():
    global budget
    for i in range(3):
        models.append(Model()), profilers.append(new(started=False))
    for i in range(60):
        budget = 25
        change()
        act(0)
        while not AT_ONCE and suspended:
            list(suspended.pop())
    for i in range(3):
        compare(i)
        profilers[i].close()
for seed in SEEDS:
    dice, log = random.Random(seed), []
    play()
    models.clear(), profilers.clear(), suspended.clear()
print("well")
"""


@pytest.mark.parametrize("seeds", [range(i * 40, i * 40 + 40) for i in range(4)], ids=str)
def test_random_programs_agree_with_a_model(seeds, tmp_path):
    assert lines_of(MODEL.replace("SEEDS", repr(seeds)), tmp_path) == ["well"]


# ---- under the launcher ----

LAUNCHED = """
import os, signal, sys
import clineprof
@profile
def early(n):
    return n
def own(n):
    return n
def late(n):
    return n
def hits(profiler):
    return {f["name"]: f["lines"]["hits"] for f in profiler.snapshot()["functions"]}
early(1)
one, two = clineprof.Profiler(), clineprof.Profiler(started=False)
one(early), one(own), one(late), two(early)
early(2), own(2), late(2)
profile(late)
two.start()
early(3), own(3), late(3)
two.stop()
early(4), late(4)
one.stop()
early(5), own(5), late(5)
print(hits(one), hits(two), flush=True)
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def sums(profile):
    return {key[2]: sum(lines.values()) for key, lines in profile.hits().items()}


@pytest.mark.parametrize("end", ["well", "killed"])
def test_beside_the_launchers_own(end, tmp_path):
    """What the program's own profilers have selected and counted is not in the run's profile; nor in the
    live file, of which all is known when the process is killed."""
    (tmp_path / "it.py").write_text(LAUNCHED, "utf-8")
    ended = run_ckernprof(["-l", "it.py", *(["x"] if end == "killed" else [])], tmp_path)
    assert ended.out.splitlines()[0] == "{'early': [3], 'own': [2], 'late': [3]} {'early': [1]}", ended.err
    if end == "killed":
        recovered = run([*viewer_command(), "recover", "it.py.lprof.live", "-o", "it.py.lprof"], tmp_path)
        assert recovered.code == 0, recovered.err
    assert sums(Profile(tmp_path / "it.py.lprof")) == {"early": 5, "late": 3}


def test_the_launchers_own_has_windows(tmp_path):
    (tmp_path / "it.py").write_text("""
@profile
def f(n):
    return n
f(1)
profile.stop()
print(profile.running, [hasattr(c, "co_code") for c in (f.__code__,)], f.__code__.co_consts)
f(2)
profile.start()
f(3)
profile.reset()
f(4), f(5)
""", "utf-8")
    ended = run_ckernprof(["-l", "it.py"], tmp_path)
    assert ended.out.splitlines()[0].startswith("False [True] ("), ended.err
    assert "Probe" not in ended.out
    assert sums(ended.profile()) == {"f": 2}


def test_the_launcher_goes_on_when_memory_was_off(tmp_path):
    """A second view has memory, the first still has none, in the file as well."""
    (tmp_path / "it.py").write_text("""
import clineprof
@profile
def f():
    g()
    return bytearray(30_000_000)
def g():
    if not one:
        one.append(clineprof.Profiler())
        one[0](f)
one = []
f(), f()
[found] = one[0].snapshot()["functions"]
print(max(found["lines"]["grown"]) > 29e6)
""", "utf-8")
    ended = run_ckernprof(["-l", "--no-memory", "it.py"], tmp_path)
    assert ended.out.splitlines()[0] == "True", ended.err
    assert sums(ended.profile()) == {"f": 4}
    assert not ended.profile().meta.get("has_memory")


def test_the_launchers_own_may_be_closed(tmp_path):
    (tmp_path / "it.py").write_text("""
@profile
def f(n):
    return n
f(1)
profile.close()
f(2)
try:
    profile(f)
except ValueError as error:
    print(error)
""", "utf-8")
    ended = run_ckernprof(["-l", "it.py"], tmp_path)
    assert ended.out.splitlines()[0] == "clineprof: this Profiler is closed; make another one"
    assert ended.code == 0 and "nothing was profiled" in ended.err and not list(tmp_path.glob("*.lprof"))
