# SPDX-License-Identifier: MIT
"""A thread that waits for a lock which another one holds."""
import threading
import time

lock = threading.Lock()


def holder():
    for _ in range(20):
        with lock:
            time.sleep(0.05)
        time.sleep(0.01)


@profile
def main():
    thread = threading.Thread(target=holder)
    thread.start()
    time.sleep(0.005)
    total = 0
    for _ in range(20):
        lock.acquire()  # measured
        lock.release()
        for i in range(300_000):
            total += i
        time.sleep(0.012)
    thread.join()
    return total


main()
