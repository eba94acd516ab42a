# SPDX-License-Identifier: MIT
"""Other tools that come and go in the same process, while threads run and around what does: each sees what
it sees alone. `hits: N` as in threads.py."""
import contextlib
import cProfile
import faulthandler
import os
import pstats
import sys
import threading
import tracemalloc

MONITORING = getattr(sys, "monitoring", None)


def counts(n):
    for i in range(n):
        i += 1              # hits: 11820
    return n                # hits: 1182


def yields(n):
    for i in range(n):
        yield counts(10)    # hits: 1170


def fails():
    raise KeyError          # hits: 117


def work(n):
    total = sum(yields(n))  # hits: 117
    try:
        fails()             # hits: 117
    except KeyError:
        total += 1          # hits: 117
    return total            # hits: 117


def seen(code, event):
    """Of the three functions, what the interpreter tells a tool that asks for calls."""
    if code.co_name in ("counts", "fails", "work"):
        told[code.co_name, event] = told.get((code.co_name, event), 0) + 1


@contextlib.contextmanager
def profile_function():
    sys.setprofile(lambda frame, event, argument: event[0] != "c" or seen(frame.f_code, event))
    yield
    sys.setprofile(None)


@contextlib.contextmanager
def trace_function():
    def trace(frame, event, argument):
        seen(frame.f_code, event)
        return trace

    sys.settrace(trace)
    yield
    sys.settrace(None)


@contextlib.contextmanager
def monitoring():
    events = MONITORING.events
    MONITORING.use_tool_id(1, "stress")
    MONITORING.register_callback(1, events.PY_START, lambda code, offset: seen(code, "start"))
    MONITORING.register_callback(1, events.LINE, lambda code, line: seen(code, "line"))
    MONITORING.set_events(1, events.PY_START | events.LINE)
    yield
    MONITORING.set_events(1, 0)
    MONITORING.free_tool_id(1)


@contextlib.contextmanager
def calls():
    profiler = cProfile.Profile()
    with profiler:
        yield
    for (file, line, name), found in pstats.Stats(profiler).stats.items():
        if name in ("counts", "fails", "work"):
            told[name, "calls"] = told.get((name, "calls"), 0) + found[0]


@contextlib.contextmanager
def allocations():
    tracemalloc.start(5)
    yield
    tracemalloc.take_snapshot()
    tracemalloc.stop()


@contextlib.contextmanager
def faults():
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback(nowhere)
        faulthandler.dump_traceback_later(0.001, file=nowhere)
        yield
        faulthandler.cancel_dump_traceback_later()


TOOLS = [profile_function, trace_function, calls, allocations, faults, contextlib.nullcontext]
TOOLS += [monitoring if MONITORING else contextlib.nullcontext]
for tool in TOOLS:          # 7 x 11
    told = {}
    for i in range(5):
        with tool():
            work(10)
    with tool():            # within each other
        for i in range(3):
            work(10)
            with contextlib.nullcontext() if tool is allocations else allocations():
                work(10)
    print(tool.__name__, sorted(told.items()))
told, threads = {}, [threading.Thread(target=lambda: [work(10) for i in range(10)]) for i in range(4)]
sys.setswitchinterval(1e-5)
for thread in threads:
    thread.start()
for i in range(12):         # of the main thread, while the others run
    with (profile_function, trace_function, allocations)[i % 3]():
        counts(10)
for thread in threads:
    thread.join()
