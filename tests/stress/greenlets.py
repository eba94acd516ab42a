# SPDX-License-Identifier: MIT
"""Greenlets that switch within selected functions, take turns, are thrown into and forgotten, in several
threads. `hits: N` as in threads.py."""
import threading

import greenlet


def ping(other, n):
    for i in range(n):
        other.switch(i)     # hits: 500
    return n                # hits: 5


def pong():
    got = 0                 # hits: 5
    while True:
        got += greenlet.getcurrent().parent.switch()   # hits: 505


def yields(n):
    for i in range(n):
        greenlet.getcurrent().parent.switch()   # hits: 200
        yield i             # hits: 200


def takes_turns(n):
    return sum(yields(n))   # hits: 20


def cleans(log):
    try:
        greenlet.getcurrent().parent.switch()   # hits: 30
    except KeyError:
        log.append("key")   # hits: 10
    finally:
        log.append("end")   # hits: 30


def in_a_thread():
    other = greenlet.greenlet(pong)
    other.switch()
    done.append(ping(other, 100))


done, log = [], []
threads = [threading.Thread(target=in_a_thread) for i in range(4)]
for thread in threads:
    thread.start()
in_a_thread()
for thread in threads:
    thread.join()
print(done)
turns = [greenlet.greenlet(takes_turns) for i in range(20)]
sums = [one.switch(10) for one in turns]
while any(turns):
    sums = [one.switch() for one in turns if not one.dead] or sums
print(sums)
for error in (KeyError, greenlet.GreenletExit, None):
    for i in range(10):
        one = greenlet.greenlet(cleans)
        one.switch(log)
        if error:
            one.throw(error)
        del one
print(log.count("key"), log.count("end"))
