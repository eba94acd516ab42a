# SPDX-License-Identifier: MIT
"""Profilers that several threads make, change and close at once; and what the program does in the middle of
that: signal handlers, finalizers, audit hooks, forks. tests/stress/profilers.py has all of it together."""
import sys

import pytest
from harness import BUILD, TRACER, run_python

HEAD = f"""
import gc, os, signal, sys, threading, time, warnings
import clineprof
TRACER = {TRACER!r}
def new(**options):
    return clineprof.Profiler(tracer=TRACER, **options)
def hits(profiler):
    found = profiler.snapshot()["functions"]
    return {{one["name"]: [n for n in one["lines"].get("hits", []) if n] for one in found}}
def at_once(count, work):
    together, errors = threading.Barrier(count), []
    def run(number):
        together.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(repr(error))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return errors
def f(n):
    return n
sys.setswitchinterval(1e-6)
"""


def lines_of(program, folder):
    (folder / "it.py").write_text(HEAD + program)
    ended = run_python(["it.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.err, ended.code) == ("", 0)
    return ended.out.splitlines()


def test_all_are_the_first(tmp_path):
    """Functions of the same name and place are one function: so many defined apart make tables grow."""
    assert lines_of("""
import itertools
numbers, wrong = itertools.count(), []
def work(number):
    for i in range(60):
        names = {}
        exec(compile("def own(n):\\n    return n", "<%d>" % next(numbers), "exec"), names)
        one = new()
        one(names["own"]), one(f)
        names["own"](1), names["own"](2)
        if hits(one)["own"] != [2]:
            wrong.append(hits(one))
        one.close()
print(at_once(6, work), wrong[:3])
""", tmp_path) == ["[] []"]


def test_the_first_is_made_while_others_run(tmp_path):
    """settrace has met those threads before the first Profiler is complete."""
    assert lines_of("""
def loops():
    while not over:
        f(1)
over = []
threads = [threading.Thread(target=loops) for i in range(3)]
[thread.start() for thread in threads]
for i in range(300):
    one = new()
    one(f)
    one.close()
def g(n):
    return n
two = new()
two(g)
[g(1) for i in range(100)]
over.append(1)
[thread.join() for thread in threads]
print(hits(two))
""", tmp_path) == ["{'g': [100]}"]


def test_one_that_stays_open_has_every_hit(tmp_path):
    assert lines_of("""
def work(number):
    for i in range(100):
        one = new()
        one(f)
        f(1)
        one.stop(), one.start(), one.remove_function(f)
always, own = new(), f.__code__
always(f)
print(at_once(6, work), hits(always))
always.close()
closed = f.__code__
one = new(started=False)
one(f)
print(closed is own or closed is f.__code__)
""", tmp_path) == ["[] {'f': [600]}", "True"]


def test_the_programs_own_import_of_opcode(tmp_path):
    """What is read of the interpreter leaves the table of modules alone."""
    assert lines_of("""
def work(number):
    if number % 2:
        new().close()
    else:
        import opcode
        modules.append(opcode)
modules = []
sys.modules.pop("opcode", None)
print(at_once(8, work), all(module is sys.modules["opcode"] for module in modules))
""", tmp_path) == ["[] True"]


def test_it_is_not_loaded_for_us(tmp_path):
    assert lines_of("""
sys.modules.pop("opcode", None)
new()
print("opcode" in sys.modules)
""", tmp_path) == ["False"]


def test_in_a_signal_handler_while_the_first_is_made(tmp_path):
    assert lines_of("""
def handle(number, frame):
    if len(made) < 50 and not busy:
        busy.append(1)
        made.append(new(started=len(made) % 2 == 0))
        made[-1](f)
        busy.pop()
made, busy, first = [], [], clineprof.Profiler
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
one = new()
while len(made) < 5:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
one(f)
f(1), f(2)
print(hits(one), hits(made[0]), hits(made[1]))
""", tmp_path) == ["{'f': [2]} {'f': [2]} {'f': []}"]


@pytest.mark.parametrize("change", ["one.close()", "two.close()", "one.stop()", "one.remove_function(g)",
                                    "new()(g)", "one(lambda: 0)"])
def test_in_an_audit_hook_in_the_middle_of_a_change(change, tmp_path):
    """It runs where code is exchanged, and where the tracer starts and stops."""
    assert lines_of(f"""
def g():
    return 1
def change():
    global one, two
    {change}
def hook(event, arguments):
    if event in ("object.__setattr__", "sys.monitoring.register_callback", "sys.settrace") and not busy:
        busy.append(1)
        try:
            change()
        except (ValueError, RuntimeError):   # it is closed; or the tracer starts or stops just now
            pass
        gc.collect()
        busy.pop()
busy, own = [1], (f.__code__, g.__code__)
new().close()
sys.addaudithook(hook)
for i in range(30):
    one, two = new(started=False), new(started=False)
    one(f), one(g), two(f)
    busy.clear()
    for step in (two.start, one.start, one.stop, two.stop, one.close, two.close):
        try:
            step()
        except (ValueError, RuntimeError):
            pass
        f(1), g()
    busy.append(1)
    del one, two
    gc.collect()
one = new(started=False)
one(f), one(g)
print((f.__code__, g.__code__) == own)
one.start()
f(1), g()
print(hits(one))
""", tmp_path) == ["True", "{'f': [1], 'g': [1]}"]


def test_closed_while_it_looks_for_functions(tmp_path):
    """What is selected may be asked for its attributes, and close the profiler as it is."""
    assert lines_of("""
class Wrapper:
    def __init__(self, close):
        self.close = close
    @property
    def __wrapped__(self):
        self.close()
        return f
one = new()
try:
    one(Wrapper(one.close))
except ValueError as error:
    print(error)
two = new()
two(Wrapper(lambda: None))
f(1)
print(hits(two))
""", tmp_path) == ["clineprof: this Profiler is closed; make another one", "{'f': [1]}"]


def test_a_finalizer_that_waits_for_a_lock(tmp_path):
    """The lock is held by a thread that makes a profiler: neither waits for the other for good."""
    assert lines_of("""
class Cycle:
    def __init__(self):
        self.me = self
    def __del__(self):
        with lock:
            pass
def holds(number):
    for i in range(15):
        with lock:
            one = new()
            one(f)
            one.close()
def collects(number):
    for i in range(60):
        Cycle()
        new()(f)
lock, first = threading.RLock(), clineprof.Profiler
gc.set_threshold(20)
print(at_once(2, lambda number: (holds, collects)[number](number)))
""", tmp_path) == ["[]"]


def test_a_fork_while_another_thread_makes_the_first(tmp_path):
    assert lines_of("""
def work(number):
    new()(f)
def g(n):
    return n
warnings.simplefilter("ignore", DeprecationWarning)   # forks beside threads
ends, first = [], clineprof.Profiler
thread = threading.Thread(target=work, args=(1,))
thread.start()
while not ends or (thread.is_alive() and len(ends) < 50):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        one, two = new(), new()
        one(g), two(f)
        g(1), f(2)
        os._exit(0 if hits(one) == {"g": [1]} and hits(two) == {"f": [1]} else 1)
    ends.append(os.waitpid(child, 0)[1])
thread.join()
print(len(ends) > 0, set(ends))
""", tmp_path) == ["True {0}"]


def test_a_block_object_that_two_threads_enter(tmp_path):
    assert lines_of("""
def work(number):
    for i in range(200):
        with block:
            f(1)
one = new()
block = one.block("part")
print(at_once(4, work), list(hits(one)))
one.close()
""", tmp_path) == ["[] ['part']"]


def test_the_global_profile_is_one(tmp_path):
    program = """
from clineprof import profile
profile.enabled = None
def work(number):
    names = {}
    exec(compile("def own%d(n):\\n    return n" % number, "<%d>" % number, "exec"), names)
    function = profile(names["own%d" % number])
    function(1)
print(at_once(6, work))
print(sorted(function.name for function in profile.snapshot().functions if function["hits"]))
profile.write_config = dict.fromkeys(profile.write_config, False)
"""
    (tmp_path / "it.py").write_text(HEAD + program)
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python"), "CLINEPROF": "1"})
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out.splitlines() == ["[]", str(["own%d" % number for number in range(6)])]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collections run between bytecodes there")
def test_collecting_is_left_as_it_was(tmp_path):
    assert lines_of("""
one = new()
one(f), one.stop(), one.start(), one.snapshot()
on = gc.isenabled()
gc.disable()
one.stop(), one.start(), one.close(), new()(f)
print(on, gc.isenabled())
""", tmp_path) == ["True False"]


# ---- texts, and copies of code ----

GENERATED = """
def made(number):
    names = {}
    exec(compile("def own(n):\\n    return n + %d\\n" % number, "<generated>", "exec"), names)
    return names["own"]
"""


def test_looking_for_texts_at_once_leaves_the_filters_of_warnings(tmp_path):
    """Texts are compiled in silence, to compare them, while audit hooks let other threads go on."""
    assert lines_of(GENERATED + """
def work(number):
    for i in range(10):
        one = new()
        one(made(10 * number + i))
sys.addaudithook(lambda event, arguments: event == "compile" and time.sleep(.0005))
filters, inside = warnings.filters, list(warnings.filters)
print(at_once(4, work), warnings.filters is filters, filters == inside)
""", tmp_path) == ["[] True True"]


def changing(event, change):
    """An audit hook makes the change whenever it is told of the event, unless it, or the program, is busy."""
    return GENERATED + f"""
def hook(event, arguments):
    if event == {event!r} and not busy:
        busy.append(1)
        {change}
        done.append(1)
        busy.pop()
busy, done = [1], []
sys.addaudithook(hook)
"""


@pytest.mark.parametrize("change", ["one.close()", "one.stop()", "two.close()", "own.__code__ = f.__code__",
                                    "new()(own)", "made(-1)", "two.remove_function(own)"])
def test_a_change_while_a_text_is_looked_for(tmp_path, change):
    """`always` is untouched and has all hits."""
    assert lines_of(changing("compile", change) + """
for i in range(10):
    always, one, two, own = new(), new(), new(), made(i)
    always(f)
    busy.clear()
    try:
        one(own)
    except ValueError as error:
        assert "closed" in str(error)
    busy.append(1)
    assert f(i) == i and own(1) in (1, i + 1)
    assert hits(always)["f"] in ([1], [2])
    [profiler.close() for profiler in (always, one, two)]
    assert own.__code__ is f.__code__ or own.__code__.co_consts == made(i).__code__.co_consts
print(len(done) >= 10)
""", tmp_path) == ["True"]


@pytest.mark.parametrize("change", ["one.close()", "one.stop()", "new()(own)", "one.remove_function(own)"])
def test_a_change_while_code_is_copied(tmp_path, change):
    assert lines_of(changing("code.__new__", change) + """
import types
for i in range(10):
    always, one, own = new(), new(), made(i)
    always(own), one(own)
    busy.clear()
    copy = types.FunctionType(own.__code__.replace(co_name="copy"), {})
    busy.append(1)
    copy(1), own(1)
    assert hits(always) == {"own": [2]}, hits(always)
    always.close(), one.close()
print(len(done) >= 10)
""", tmp_path) == ["True"]
