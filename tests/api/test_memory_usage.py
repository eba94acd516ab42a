# SPDX-License-Identifier: MIT
"""clineprof.memory_usage and memit: memory_profiler's results, from one run of the function."""

import json

import pytest
from harness import CKERNPROF, SANITIZED, run_python

pytestmark = [
    pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")
]  # fmt: skip

PACKAGE = CKERNPROF.rsplit("/", 2)[0] + "/python"
START = """\
import io, json, os, subprocess, sys, time
from clineprof import memory_usage, memit

calls = 0

def grows(mib=60, seconds=.3, fails=None):
    global calls
    calls += 1
    block = bytearray(mib << 20)
    time.sleep(seconds)
    if fails:
        raise fails
    return calls

def other(mib=60, seconds=.4, children=0):
    text = f"b = bytearray({mib} << 20); "
    if children:
        text += "import subprocess, sys; subprocess.run([sys.executable, '-c', "
        text += f"'b = bytearray(80 << 20); import time; time.sleep({seconds})'])"
    else:
        text += f"import time; time.sleep({seconds})"
    return subprocess.Popen([sys.executable, "-c", text])

def report(*what):
    print(json.dumps(what))
"""


@pytest.fixture
def ask(tmp_path):
    """The values that the code reports, and the process."""

    def ask(code, report="result"):
        env = {"PYTHONPATH": PACKAGE, "MALLOC_MMAP_THRESHOLD_": "131072"}
        ended = run_python(["-c", START + code + f"\nreport({report})"], tmp_path, env=env)
        assert (ended.err, ended.code) == ("", 0)
        return json.loads(ended.out.splitlines()[-1])

    return ask


# ---- a function ----


@pytest.mark.parametrize("given", ["grows", "(grows,)", "[grows]", "(grows, (60,))",
                                   "(grows, (60,), {'seconds': .3})"])  # fmt: skip
def test_function_runs_once(ask, given):
    [found, calls] = ask(f"result = memory_usage({given})", "result, calls")
    assert calls == 1 and all(isinstance(size, float) for size in found) and len(found) >= 4
    assert 59 < max(found) - found[0] < 62 and found[-1] - found[0] < 3


def test_short_function_has_samples_too(ask):
    [found, calls] = ask("result = memory_usage((grows, (60, .03)))", "result, calls")
    assert calls == 1 and len(found) >= 3 and max(found) - found[0] > 59


def test_peak_between_two_samples(ask):
    [found] = ask("result = memory_usage((grows, (60, .05)), interval=30, max_usage=True)")
    [low] = ask("result = memory_usage()[0]")
    assert found - low > 58


def test_shapes_of_a_function(ask):
    code = "result = memory_usage(grows, timestamps={}, max_usage={}, retval={})"
    [found] = ask(code.format(True, False, False))
    assert all(len(pair) == 2 for pair in found) and found[0][1] < found[-1][1]
    assert max(found)[0] > 60 and 0 < found[-1][1] - found[0][1] < 20
    [found] = ask(code.format(False, True, False))
    assert 60 < found < 140
    [[size, at]] = ask(code.format(True, True, False))
    assert 60 < size < 140 and at > 1.6e9
    [[found, value]] = ask(code.format(False, False, True))
    assert value == 1 and max(found) > 60
    [[[size, at], value]] = ask(code.format(True, True, True))
    assert size > 60 and value == 1
    [[size, value]] = ask(code.format(False, True, True))
    assert size > 60 and value == 1


def test_function_with_children(ask):
    code = "def f():\n    other(60, .3).wait()\nresult = memory_usage(f, include_children={}, max_usage=True)"
    assert ask(code.format(True))[0] > 60 > ask(code.format(False))[0]


def test_exception_comes_through_and_no_process_is_ended(ask):
    result = ask("""
child = other(1, 60)
try:
    memory_usage((grows, (), {"fails": KeyError("it")}))
except KeyError as error:
    result = repr(error)
threads = len(os.listdir("/proc/self/task"))
alive = child.poll()
child.kill()
""", "result, calls, threads, alive")
    assert result == ["KeyError('it')", 1, 1, None]


def test_function_to_a_stream(ask):
    [result, text] = ask("""
stream = io.StringIO()
result = memory_usage(grows, stream=stream, retval=True)
""", "result, stream.getvalue()")
    rows = [line.split() for line in text.splitlines()]
    assert result is None and all(row[0] == "MEM" and len(row) == 3 for row in rows)
    assert max(float(row[1]) for row in rows) > 60


def test_calls_within_calls_and_in_threads(ask):
    found = ask("""
import threading
inner, together = [], threading.Barrier(4)
def holds():
    block = bytearray(60 << 20)
    together.wait()
    time.sleep(.3)
def f():
    threads = [threading.Thread(target=lambda: inner.append(memory_usage(holds, max_usage=True)))
               for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
outer = memory_usage(f, max_usage=True)
""", "outer, inner")
    assert len(found[1]) == 4 and found[0] > 230 and all(60 < size < 340 for size in found[1])


def test_function_that_forks(ask):
    found = ask("""
import warnings
warnings.simplefilter("always")
def f():
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                ok = memory_usage((grows, (5, .01)), max_usage=True) > 5
            finally:
                os._exit(3 if ok else 4)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 3:
            return "a child failed"
    return grows()
result = memory_usage(f, max_usage=True, retval=True)
""")
    [[size, value]] = found
    assert value == 1 and size > 60


def test_multiprocessing_inside(ask):
    [[size, value]] = ask("""
import multiprocessing
def work(n):
    block = bytearray(60 << 20)
    time.sleep(.2)
    return n * n
def f():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(work, range(5))
result = memory_usage(f, max_usage=True, retval=True, include_children=True)
""")
    assert value == [0, 1, 4, 9, 16] and size > 60


# ---- processes ----


def test_this_process(ask):
    [one, several, most] = ask("""
block = bytearray(50 << 20)
one = memory_usage()
several = memory_usage(-1, interval=.01, timeout=.05)
most = memory_usage(-1, interval=.01, timeout=.05, max_usage=True)
""", "one, several, most")
    assert len(one) == 1 and len(several) == 5 and all(50 < size < 120 for size in one + several)
    assert 50 < most < 120


@pytest.mark.parametrize("given", ["os.getpid()", "str(os.getpid())"])
def test_process_by_number(ask, given):
    [found] = ask(f"result = memory_usage({given}, timestamps=True)")
    [[size, at]] = found
    assert 5 < size < 100 and at > 1.6e9


def test_popen(ask):
    [found] = ask("result = memory_usage(other(), interval=.02)")
    assert max(found) > 60 and len(found) > 3
    [found] = ask("result = memory_usage(other(), interval=.02, max_usage=True)")
    assert 60 < found < 120
    [found] = ask("p = other(1, 60)\nresult = memory_usage(p, interval=.02, timeout=.1)\np.kill()")
    assert len(found) == 5


def test_children_of_a_process(ask):
    [found] = ask("result = memory_usage(other(30, .4, 1), interval=.02, include_children=True, max_usage=True)")
    assert found > 110
    [found] = ask("result = memory_usage(other(30, .4, 1), interval=.02, multiprocess=True)")
    assert all(isinstance(sample, list) for sample in found)
    assert max(map(len, found)) == 2 and max(sample[1] for sample in found if len(sample) > 1) > 80
    [found] = ask("result = memory_usage(other(30, .4, 1), interval=.02, multiprocess=True, timestamps=True)")
    assert len(found[0][0]) == 2


def test_process_to_a_stream(ask):
    [result, text] = ask("""
stream = io.StringIO()
result = memory_usage(other(30, .4, 1), interval=.02, multiprocess=True, stream=stream)
""", "result, stream.getvalue()")
    assert result is None
    assert {line.split()[0] for line in text.splitlines()} == {"MEM", "CHLD"}


@pytest.mark.parametrize("backend", ["psutil", "psutil_pss", "psutil_uss", "posix", None])
def test_backends(ask, backend):
    [found] = ask(f"block = bytearray(50 << 20)\nresult = memory_usage(backend={backend!r})")
    assert 50 < found[0] < 100
    [found] = ask(f"result = memory_usage(grows, backend={backend!r}, max_usage=True)")
    assert 60 < found < 120


@pytest.mark.parametrize("call, error", [
    ("memory_usage(backend='guess')", "ValueError: unknown backend 'guess'; there are posix, psutil"),
    ("memory_usage(backend='tracemalloc')", "RuntimeError: memory_usage has no tracemalloc backend"),
    ("memory_usage(interval=-1)", "ValueError: the interval is a number of seconds, 0 or more, not -1"),
    ("memory_usage(grows, interval=float('nan'))", "ValueError: the interval is a number"),
    ("memory_usage(())", "ValueError: a function is given as (function, args, kwargs), not ()"),
    ("memory_usage((1, 2))", "ValueError: a function is given as"),
    ("memory_usage('name')", "ValueError: a process is given by its number"),
    ("memory_usage(2 ** 31 - 1)", "ProcessLookupError: there is no process 2147483647"),
    ("memory_usage(10 ** 30)", "ProcessLookupError: there is no process 1000"),
])  # fmt: skip
def test_wrong_arguments(ask, call, error):
    code = f"try:\n    {call}\nexcept Exception as error:\n    result = f'{{type(error).__name__}}: {{error}}'"
    [result] = ask(code)
    assert result.startswith(error)


# ---- memit ----


def test_memit(ask):
    text, usage, baseline = ask("""
result = memit("block = bytearray(n << 20)", setup="n = 60", repeat=3)
""", "str(result), result.mem_usage, result.baseline")
    assert len(usage) == 3 and max(usage) > baseline + 59
    assert text == "peak memory: %.2f MiB, increment: %.2f MiB" % (max(usage), max(usage) - baseline)


def test_memit_of_something_to_call_and_in_a_namespace(ask):
    calls, value, shown = ask("""
one = memit(grows)
space = {"n": 6}
memit("m = n * 7", space)
class Printer:
    def text(self, it): self.it = it
printer = Printer()
one._repr_pretty_(printer, False)
""", "calls, space['m'], printer.it")
    assert (calls, value) == (1, 42) and shown.startswith("<MemitResult : peak memory: ")
