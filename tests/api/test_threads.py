# SPDX-License-Identifier: MIT
"""Threads: every hit of every thread is kept, whoever made it and whenever it began."""
import csv
import io
import json

import pytest
from harness import BUILD, EMULATED, SANITIZED, TRACER, line_of, run_ckernprof, run_python, run_viewer


class Ran:
    def __init__(self, script, text, *options):
        self.path = script(text)
        self.ended = run_ckernprof(["-l", *options, self.path], self.path.parent)
        assert (self.ended.err, self.ended.code) == ("", 0)
        self.profile = self.ended.profile()

    def hits(self, mark):
        """Of the line with this mark, in all functions."""
        line = line_of(self.path, "# " + mark)
        return sum(lines.get(line, 0) for lines in self.profile.hits().values())


def test_eight_threads_lose_nothing(script):
    ran = Ran(script, '''
import sys, threading
sys.setswitchinterval(1e-5)
together = threading.Barrier(8)

@profile
def counts(n):
    together.wait()
    for i in range(n):
        i += 1         # counted
    return n           # left

threads = [threading.Thread(target=counts, args=(100_000,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
''')
    assert (ran.hits("counted"), ran.hits("left")) == (800_000, 8)


def test_threads_of_a_program_with_an_audit_hook(script):
    """The tracer settrace may cause an event of its own in a new thread, before that has run any Python code."""
    ran = Ran(script, '''
import sys, threading
told = []
sys.addaudithook(lambda event, arguments: told.append(event))

@profile
def work():
    return 1           # ran

for i in range(20):
    thread = threading.Thread(target=work)
    thread.start(), thread.join()
''')
    assert ran.hits("ran") == 20


MAKERS = {
    "threading": """
for i in range(20):
    thread = threading.Thread(target=work)
    thread.start(), thread.join()
""",
    "futures": """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(5) as pool:
    list(pool.map(lambda i: work(), range(20)))
""",
    "_thread": """
for i in range(20):
    _thread.start_new_thread(work, ())
    done.acquire()
""",
    "timer": """
for i in range(20):
    timer = threading.Timer(0, work)
    timer.start(), timer.join()
""",
    # no thread of the interpreter's: each runs in PyGILState_Ensure, in a state of its own
    "C": """
import ctypes
pthread = ctypes.CDLL(None)
call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(work)
for i in range(20):
    thread = ctypes.c_ulong()
    assert pthread.pthread_create(ctypes.byref(thread), None, call, None) == 0
    assert pthread.pthread_join(thread, None) == 0
""",
}


@pytest.mark.parametrize("maker", MAKERS)
def test_whoever_makes_them(maker, script):
    """From the first line of the first function of the thread on."""
    ran = Ran(script, '''
import _thread, threading
done = threading.Semaphore(0)

@profile
def work(*arguments):
    for i in range(3):
        inner()        # loops
    done.release()     # ends

@profile
def inner():
    return 1           # inner

''' + MAKERS[maker])
    assert [ran.hits(mark) for mark in ("loops", "inner", "ends")] == [60, 60, 20]


def test_threads_before_and_after(script):
    """One thread waits since before the function was selected, and one goes on behind the window."""
    path = script(f'''
import clineprof, threading
def work():
    for i in range(4):
        step()
def step():
    go.acquire()
    f()
    done.release()
def f():
    return 1           # f
def turn():
    go.release(), done.acquire()
go, done = threading.Semaphore(0), threading.Semaphore(0)
thread = threading.Thread(target=work)
thread.start()
turn()
profile = clineprof.Profiler(tracer={TRACER!r})
profile(f)
turn(), turn()
profile.stop()
turn(), thread.join()
thread = threading.Thread(target=f)
thread.start(), thread.join()
[lines] = [function["lines"] for function in profile.snapshot()["functions"]]
print(lines["hits"])
''')
    ended = run_python([path], path.parent, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err, ended.code) == ("[2]\n", "", 0)


def test_calls_of_one_function_that_overlap(script):
    """Each thread is in it when the last one comes, and they leave in the order of their coming."""
    ran = Ran(script, '''
import threading
gates = [threading.Event() for i in range(9)]

@profile
def waits(i, depth=2):
    if depth:
        return waits(i, depth - 1)   # deeper
    gates[i].wait()                  # waits
    gates[i + 1].set()               # next

threads = [threading.Thread(target=waits, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
gates[0].set()
for thread in threads: thread.join()
''')
    assert [ran.hits(mark) for mark in ("deeper", "waits", "next")] == [16, 8, 8]


@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")
@pytest.mark.skipif(EMULATED, reason="qemu-user keeps 280 KiB of its own for each thread that ended")
def test_thousands_of_short_threads_give_their_memory_back(script):
    """What the recorder holds after 300 threads it holds after 3000."""
    path = script(f'''
import clineprof, resource, threading
profile = clineprof.Profiler(tracer={TRACER!r})
def resident():
    return int(open("/proc/self/statm").read().split()[1])
@profile
def work(n):
    for i in range(n):
        pass           # works
def run(count):
    for i in range(count):
        threads = [threading.Thread(target=work, args=(3,)) for i in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
run(100)
before = resident()
run(900)
print((resident() - before) * resource.getpagesize() < 1 << 20)
[lines] = [function["lines"] for function in profile.snapshot()["functions"]]
print(lines["hits"])
''')
    ended = run_python([path], path.parent, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out.splitlines() == ["True", "[12000, 9000]"]


# ---- a table for each thread -------------------------------------------------------------------

NAMED = '''
import _thread, concurrent.futures, threading
done = threading.Semaphore(0)

@profile
def work(n, done=None):
    for i in range(n):
        i += 1         # counted
    done and done.release()

@profile
def never(): pass

def in_thread(n, **options):
    thread = threading.Thread(target=work, args=(n,), **options)
    thread.start(), thread.join()

work(1)
in_thread(10, name="reader"), in_thread(20, name="writer"), in_thread(30, name="reader")
in_thread(100, name="Zeile 1 \\u00e4 \\ud800")
with concurrent.futures.ThreadPoolExecutor(1, "pool") as pool:
    list(pool.map(work, [1000, 2000]))
_thread.start_new_thread(work, (5, done))
done.acquire()
'''
NAMED_HITS = {"work [MainThread]": 1, "work [reader]": 40, "work [writer]": 20,
              "work [Zeile 1 \u00e4 \\ud800]": 100, "work [pool_0]": 3000, "work [no name]": 5}


def test_a_table_for_each_name(script):
    ran = Ran(script, NAMED, "--threads", "-v")
    line = line_of(ran.path, "# counted")
    hits = {name: lines.get(line, 0) for (_, _, name), lines in ran.profile.hits().items()}
    assert hits == {**NAMED_HITS, "never": 0}
    assert list(hits)[0] == "work [MainThread]" and list(hits)[-2:] == ["work [no name]", "never"]
    for name in NAMED_HITS:
        assert f"Function: {name} at line 5\n" in ran.ended.out
    assert ran.ended.out.count("        i += 1         # counted\n") == len(NAMED_HITS)


@pytest.mark.once
@pytest.mark.parametrize("format", ["json", "csv"])
def test_exports_have_them(format, script):
    ran = Ran(script, NAMED, "--threads")
    ended = run_viewer(["--format", format, ran.path.name + ".lprof"], ran.path.parent)
    assert (ended.err, ended.code) == ("", 0)
    if format == "json":
        names = [function["name"] for function in json.loads(ended.out)["functions"]]
    else:
        names = [row["function"] for row in csv.DictReader(io.StringIO(ended.out))]
    assert set(names) - {"never"} == set(NAMED_HITS)


def test_without_the_option_they_are_summed(script):
    ran = Ran(script, NAMED)
    assert ran.hits("counted") == sum(NAMED_HITS.values())
    assert [name for _, _, name in ran.profile.functions] == ["work", "never"]


@pytest.mark.once
def test_more_names_than_anybody_reads(script):
    """The first 999 names stand by themselves, the main thread's among them, and no hit is lost."""
    ran = Ran(script, '''
import threading

@profile
def work():
    return 1           # works

for i in range(1100):
    thread = threading.Thread(target=work)
    thread.start(), thread.join()
''', "--threads")
    assert ran.hits("works") == 1100
    assert len(ran.profile.functions) == 999
    assert ran.profile.line("work [other threads]", line_of(ran.path, "# works"))["hits"] > 100


@pytest.mark.once
def test_threads_needs_line_by_line(script):
    path = script("pass\n")
    ended = run_ckernprof(["--threads", path], path.parent)
    assert "without -l these options have no effect: --threads\n" in ended.err
    assert ended.code == 0


@pytest.mark.once
@pytest.mark.parametrize("option", ["--heap=1", "--leaks"])
def test_what_stays_alive_is_told_of_all_threads_together(option, script):
    """With the source, in a table of the function's plain name."""
    path = script('''
import threading
keep = []

@profile
def work(n):
    keep.append(bytearray(n))    # kept

thread = threading.Thread(target=work, args=(100_000,), name="reader")
thread.start(), thread.join()
for i in range(7):
    work(200_000)
''')
    ended = run_ckernprof(["-l", "-v", "--threads", option, "--heap-interval=1", path], path.parent)
    assert (ended.code, ended.err) == (0, "ckernprof: --threads: --heap and --leaks count all threads "
                                       "together; their tables have no thread's name\n")
    profile, line = ended.profile(), line_of(path, "# kept")
    assert 1_500_000 <= profile.line("work", line)["live"] < 1_510_000
    assert [profile.line(name, line)["hits"]
            for name in ("work", "work [reader]", "work [MainThread]")] == [0, 1, 7]  # fmt: skip
    assert ended.out.count("    keep.append(bytearray(n))    # kept") >= 3
    assert "Could not find file" not in ended.out
