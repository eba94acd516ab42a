# SPDX-License-Identifier: MIT
"""Runs 3,000,000 lines, times SCALE, in THREADS threads, and prints their processor time: thread_lines.py SCALE THREADS
"""
import sys
import threading
import time

from common import profile, sized


@profile
def counts(n):
    total = 0
    for i in range(n):
        total += i
        total ^= i
    return total


def run(lines):
    threads = [threading.Thread(target=counts, args=(lines // count,)) for i in range(count)]
    begun = time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.process_time() - begun


count = int(sys.argv[2])
print(run(sized(1_000_000)))
