# SPDX-License-Identifier: MIT
"""Threads: every hit of every thread is kept, whoever made it and whenever it began."""
import sys

import pytest
from harness import (BUILD, SANITIZED, TRACER, clean_environment, line_of, run_ckernprof, run_python,
                     without_zeros)


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
