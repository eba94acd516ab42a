# SPDX-License-Identifier: MIT
"""Threads of every make that get in each other's way. `hits: N` is how often a line begins."""
import _thread
import concurrent.futures
import ctypes
import queue
import sys
import threading

sys.setswitchinterval(1e-6)


def counts(n, done=None):
    for i in range(n):
        i += 1              # hits: 80280
    if done is not None:
        done.release()      # hits: 10
    return n                # hits: 68


def shared(together):
    together.wait()         # hits: 8
    for value in steps:
        passed.put(value)   # hits: 2000
    return 1                # hits: 8


def yields(n):
    for i in range(n):
        yield i             # hits: 2000


def recurses(n):
    if n:
        return recurses(n - 1)    # hits: 1660
    return threading.get_ident()   # hits: 110


class OneAtATime:
    """A generator that all threads take from, and that goes on in whichever comes."""

    def __init__(self, generator):
        self.generator, self.lock = generator, threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.generator)


def all_of(count, work, *arguments):
    threads = [threading.Thread(target=work, args=arguments) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


passed = queue.Queue()
steps = OneAtATime(yields(2000))
all_of(8, counts, 10000)
all_of(8, shared, threading.Barrier(8))
print(passed.qsize())
all_of(8, lambda: [recurses(20) for i in range(10)])
for i in range(20):
    all_of(2, counts, 2)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(counts, [10] * 10)))
released = threading.Semaphore(0)
for i in range(10):
    _thread.start_new_thread(counts, (10, released))
for i in range(10):
    released.acquire()
pthread = ctypes.CDLL(None)
call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda nothing: None if recurses(2) else 1)
for i in range(10):
    made = [ctypes.c_ulong() for i in range(3)]
    for thread in made:
        assert pthread.pthread_create(ctypes.byref(thread), None, call, None) == 0
    for thread in made:
        assert pthread.pthread_join(thread, None) == 0
