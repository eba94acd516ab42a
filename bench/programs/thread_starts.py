# SPDX-License-Identifier: MIT
"""Runs many threads one after the other, each of which calls one small function, and prints their processor time."""
import threading
import time

from common import profile, sized


@profile
def work():
    return 1


def starts(count):
    for i in range(count):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


starts(50)
begun = time.process_time()
starts(sized(2000))
print(time.process_time() - begun)
