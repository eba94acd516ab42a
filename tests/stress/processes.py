# SPDX-License-Identifier: MIT
"""Processes of every make: forked while threads run, in a generator and in each other, pools, killed ones
and fresh interpreters. `hits: N`, of all of them together, as in threads.py."""
import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import warnings


def counts(n):
    for i in range(n):
        i += 1              # hits: 5540
    return n                # hits: 59


def yields(n):
    for i in range(n):
        yield i             # hits: 19
    return n                # hits: 2


def waits(ready):
    ready.set()             # hits: 2
    time.sleep(600)


def dies():
    counts(10)              # hits: 5
    os.kill(os.getpid(), signal.SIGKILL)   # hits: 5


def descends(n):
    if n:
        forked(descends, n - 1)   # hits: 3
    return counts(10)       # hits: 4


def forked(work, *arguments):
    """What the work's process ends with: 0, or minus the signal."""
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def while_threads_run():
    threads = [threading.Thread(target=counts, args=(1000,)) for i in range(4)]
    for thread in threads:
        thread.start()
    ended = [forked(counts, 10) for i in range(5)]
    for thread in threads:
        thread.join()
    return ended


def within_a_generator():
    """Parent and child go on with it."""
    steps = yields(10)
    next(steps)
    return forked(list, steps), len(list(steps))


def killed(context):
    ready = context.Event()
    process = context.Process(target=waits, args=(ready,))
    process.start()
    ready.wait()
    process.kill()
    process.join()
    return process.exitcode


def pooled(context):
    with context.Pool(2) as pool:
        return sum(pool.map(counts, [10] * 10, chunksize=1))


def executed(context):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        return sum(pool.map(counts, [10] * 10))


def main():
    warnings.simplefilter("ignore", DeprecationWarning)   # forks beside threads
    print(while_threads_run(), within_a_generator())
    print([forked(dies) for i in range(5)], forked(descends, 3))
    fork, spawn, server = map(multiprocessing.get_context, ("fork", "spawn", "forkserver"))
    print(killed(fork), pooled(fork), executed(fork))
    print(pooled(spawn), killed(server), pooled(server))
    print(subprocess.run([sys.executable, __file__, "child"]).returncode)


if __name__ == "__main__":
    if sys.argv[1:]:
        counts(1000)
    else:
        main()
