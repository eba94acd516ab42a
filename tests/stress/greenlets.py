# SPDX-License-Identifier: MIT
"""Greenlets that switch within selected functions. `hits: N` as in threads.py."""
import greenlet


def ping(n):
    for i in range(n):
        other.switch(i)     # hits: 100
    return n                # hits: 1


def pong():
    got = 0                 # hits: 1
    while True:
        got += greenlet.getcurrent().parent.switch()   # hits: 101


other = greenlet.greenlet(pong)
other.switch()
print(ping(100))
