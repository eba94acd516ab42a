# SPDX-License-Identifier: MIT
"""A thread that waits for a lock which another one holds."""
import threading
import time

lock, wanted, taken = threading.Lock(), threading.Semaphore(0), threading.Semaphore(0)


def holder():
    for _ in range(20):
        wanted.acquire()
        with lock:
            taken.release()
            time.sleep(0.05)


@profile
def main():
    thread = threading.Thread(target=holder)
    thread.start()
    total = 0
    for _ in range(20):
        wanted.release()
        taken.acquire()
        lock.acquire()  # measured
        lock.release()
        for i in range(300_000):
            total += i
        time.sleep(0.012)
    thread.join()
    return total


main()
