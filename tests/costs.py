# SPDX-License-Identifier: MIT
"""A plug-in of pytest (`-p costs`) that tells where the time of each test goes: how long it waited for programs of
each kind, how long it slept, and how much of the processors it and its programs took. The figures, in seconds, are
properties of the test in the JUnit file; tools/slowest.py lists them.

It puts functions around time.sleep and the waiting methods of subprocess.Popen, so it is only there when asked for.
Tests of time.sleep in the process of pytest itself may fail with it."""

import collections
import contextlib
import os
import pathlib
import subprocess
import threading
import time

import pytest

# The kind of a program by its name; what is not here is "programs".
KINDS = {"make": "building", "cc": "building", "gcc": "building", "g++": "building", "clang": "building",
         "chromedriver": "browsers", "chromium": "browsers", "node": "browsers"}  # fmt: skip
# Words that make a run of Python one of packages.
PACKAGES = {"pip", "venv", "build"}


# Since the test began: seconds by cause, and programs started by kind.
spent, starts = collections.Counter(), collections.Counter()
within = threading.local()


@contextlib.contextmanager
def timed(cause):
    """Adds the time of a `with` block to a cause. What waits within another wait counts once; so do other threads,
    which are not timed at all."""
    if threading.current_thread() is not threading.main_thread() or getattr(within, "waits", False):
        yield
        return
    within.waits, start = True, time.perf_counter()
    try:
        yield
    finally:
        within.waits = False
        spent[cause] += time.perf_counter() - start


def kind_of(arguments):
    one = isinstance(arguments, (str, bytes, os.PathLike))
    words = os.fsdecode(arguments).split() if one else [os.fsdecode(word) for word in arguments]
    name = pathlib.Path(words[0]).name if words else ""
    if name.startswith("python") and PACKAGES & set(words[1:4]):
        return "packages"
    return KINDS.get(name, "programs")


def around(method, cause):
    """The method, or the function, timed. Its first argument tells the cause."""

    def call(self, *arguments, **named):
        with timed(cause(self)):
            return method(self, *arguments, **named)

    return call


def started(method):
    def call(self, *arguments, **named):
        kind = kind_of(arguments[0] if arguments else named["args"])
        starts[kind] += 1
        self.kind_for_costs = kind
        with timed(kind):
            return method(self, *arguments, **named)

    return call


def pytest_configure(config):
    popen = subprocess.Popen
    popen.__init__ = started(popen.__init__)
    for name in "wait", "communicate", "poll", "__exit__":
        setattr(popen, name, around(getattr(popen, name), lambda self: getattr(self, "kind_for_costs", "programs")))
    sleep = time.sleep
    time.sleep = around(lambda seconds: sleep(seconds), lambda _: "sleeping")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    spent.clear()
    starts.clear()
    before, start = os.times(), time.perf_counter()
    item.costs_of = before, start
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    try:
        return (yield)
    finally:
        before, start = item.costs_of
        after = os.times()
        figures = {**spent, "all": time.perf_counter() - start, "own CPU": after[0] + after[1] - before[0] - before[1],
                   "CPU of programs": after[2] + after[3] - before[2] - before[3]}  # fmt: skip
        item.user_properties += [(f"seconds of {cause}", f"{seconds:.3f}") for cause, seconds in figures.items()]
        item.user_properties += [(f"number of {kind}", count) for kind, count in starts.items()]
