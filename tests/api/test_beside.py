# SPDX-License-Identifier: MIT
"""Tools that are at work in the same process as the profiler: each shows what it shows alone, the
profiler counts what it counts alone, and what a tool had of the interpreter it has afterwards.

test_transparency_tools.py has those that need a dialogue, and coverage and cProfile from the command
line; here are the others, both orders of starting within a program, and the settrace tracer, which
has to share the one trace function of a thread and says when it could not."""

import json
import pathlib
import signal
import sys
import textwrap

import pytest
from harness import BUILD, Profile, own_messages_removed
from test_transparency import TRACERS, bare, every_tracer, profiled, without_addresses

pytestmark = pytest.mark.once

MONITORING = sys.version_info >= (3, 12)
IMPORTABLE = {"PYTHONPATH": str(BUILD / "python")}
HELD = "another tool had sys.settrace for itself; lines that ran meanwhile are missing"
# What is measured: 3 + 2 + 1 calls, and the lines of the callee.
WORK = """\
def callee(n):
    total = 0
    for i in range(n):
        total += i
    return total

def generator(n):
    for i in range(n):
        yield callee(i)

def work():
    found = sum(generator(4))
    try:
        found += 1 // 0
    except ZeroDivisionError:
        found += 1
    if found > 1000:
        return "never"
    return found
"""
HITS = {
    "callee": {2: 4, 3: 10, 4: 6, 5: 4},
    "generator": {8: 5, 9: 4},
    "work": {12: 1, 13: 1, 14: 1, 15: 1, 16: 1, 17: 1, 19: 1},
}


def hits_of(functions):
    """{name: {line: hits}} of what a Profiler's snapshot or a file says."""
    return {
        function["name"]: {
            line: n for line, n in Profile.measure(function, "hits").items() if n
        }
        for function in functions
    }


def is_shared(tracer, takes):
    """Does this tool need what the tracer needs?"""
    return tracer == "settrace" and takes


def complaints(ended):
    return [line for line in ended.err.splitlines() if line.startswith("ckernprof: ")]


# ---- both orders of starting, and what is left afterwards --------------------------------------

# TOOL: name: (what it needs, sets up, starts, stops; prints what it saw), whether it takes sys.settrace
TOOLS = {
    "settrace": ("""
seen = []
def trace(frame, event, arg):
    if frame.f_code.co_filename.endswith("work.py"):
        seen.append((event, frame.f_code.co_name, frame.f_lineno))
        return trace
def begin(): sys.settrace(trace); threading.settrace(trace)
def end(): sys.settrace(None); threading.settrace(None)
def tell(): return seen
""", True),
    "setprofile": ("""
seen = []
def note(frame, event, arg):
    if frame.f_code.co_filename.endswith("work.py"):
        seen.append((event, frame.f_code.co_name, frame.f_lineno))
def begin(): sys.setprofile(note)
def end(): sys.setprofile(None)
def tell(): return seen
""", False),
    "cProfile": ("""
import cProfile, pstats
calls = cProfile.Profile()
def begin(): calls.enable()
def end(): calls.disable()
def tell():
    stats = pstats.Stats(calls).stats
    return sorted([key[2], *numbers[:2]] for key, numbers in stats.items()
                  if key[0].endswith("work.py"))
""", False),
    "tracemalloc": ("""
import tracemalloc
def begin(): tracemalloc.start()
def end(): tracemalloc.stop()
def tell(): return tracemalloc.is_tracing()
""", False),
    "trace": ("""
import trace
counter = trace.Trace(count=1, trace=0)
def begin(): sys.settrace(counter.globaltrace); threading.settrace(counter.globaltrace)
def end(): sys.settrace(None); threading.settrace(None)
def tell():
    return sorted((line, n) for (file, line), n in counter.results().counts.items()
                  if file.endswith("work.py"))
""", True),
    "bdb": ("""
import bdb
class Debugger(bdb.Bdb):
    def user_line(self, frame):
        if frame.f_code.co_filename.endswith("work.py"):
            seen.append((frame.f_code.co_name, frame.f_lineno))
seen, debugger = [], Debugger()
def begin(): debugger.reset(); debugger.botframe = sys._getframe(1); sys.settrace(debugger.trace_dispatch)
def end(): sys.settrace(None)
def tell(): return seen
""", True),
    "line_profiler": ("""
import line_profiler
lines = line_profiler.LineProfiler(callee, generator, work)
def begin(): lines.enable()
def end(): lines.disable()
def tell():
    # a function that probes were put into has another code object, which is the same to the reader
    return sorted([name, *[row[:2] for row in rows]]
                  for (_, _, name), rows in lines.get_stats().timings.items() if rows)
""", sys.version_info < (3, 12)),
}  # fmt: skip
if MONITORING:
    TOOLS["monitoring"] = ("""
seen, events = [], sys.monitoring.events
def note(code, line):
    if code.co_filename.endswith("work.py"): seen.append((code.co_name, line))
def begin():
    sys.monitoring.use_tool_id(3, "mine")
    sys.monitoring.register_callback(3, events.LINE, note)
    sys.monitoring.set_events(3, events.LINE | events.PY_START)
def end():
    sys.monitoring.set_events(3, 0)
    sys.monitoring.free_tool_id(3)
def tell(): return seen
""", False)  # fmt: skip
for core in ["ctrace", "pytrace"] + (["sysmon"] if MONITORING else []):
    TOOLS[f"coverage-{core}"] = (f"""
import os; os.environ["COVERAGE_CORE"] = {core!r}
import coverage
measured = coverage.Coverage(data_file=None, config_file=False,
    branch={core != "sysmon" or sys.version_info >= (3, 14)}, include=["*/work.py"])
def begin(): measured.start()
def end(): measured.stop()
def tell():
    file = work.__code__.co_filename
    data = measured.get_data()
    return [sorted(data.lines(file) or []), sorted(data.arcs(file) or []),
            measured.analysis(file)[1:3]]
""", core != "sysmon")  # fmt: skip

# What the interpreter has of tools, before, between and after.
SIDE_BY_SIDE = """
import json, sys, threading
from work import callee, generator, work
tracer, order, tool = sys.argv[1:]

def hooks():
    # a tool's own text about itself may count
    found = [repr(hook).partition(": ")[0]
             for hook in (sys.gettrace(), threading.gettrace(), sys.getprofile())]
    if hasattr(sys, "monitoring"):
        ids = range(6)
        found += [(sys.monitoring.get_tool(n), sys.monitoring.get_events(n))
                  for n in ids if sys.monitoring.get_tool(n)]
    return found

class Nothing:
    def __init__(self, *more, **options): pass
    def __call__(self, function): pass
    def start(self): pass
    def stop(self): pass
    def displaced(self): pass
    def snapshot(self): return {"functions": []}

def start_profiler():
    global profiler
    if tracer == "none":
        profiler = Nothing()
    else:
        import clineprof
        profiler = clineprof.Profiler(tracer=tracer, memory=False, started=False)
    for function in callee, generator, work:
        profiler(function)
    profiler.start()

before = hooks()
if order == "tool first":
    exec(tool); begin(); held = hooks(); start_profiler()
else:
    start_profiler(); exec(tool); begin()
work()
if order == "tool within":
    end(); profiler.stop()
elif order == "tool first":
    profiler.stop(); assert hooks() == held, (hooks(), held); end()
else:
    profiler.stop(); end()
assert hooks() == before, (hooks(), before)
print(json.dumps([tell(), profiler.snapshot()["functions"], profiler.displaced()]))
"""
ORDERS = ["tool first", "tool within", "tool last"]
NEEDED = {"coverage": "coverage", "line_profiler": "line_profiler"}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """alone(tool, order): what the tool tells without a profiler, asked once."""
    known = {}

    def ask(tool, order):
        if (tool, order) not in known:
            folder = tmp_path_factory.mktemp("alone")
            known[tool, order] = side_by_side(folder, tool, "none", order)[0]
        return known[tool, order]

    return ask


def side_by_side(folder, tool, tracer, order):
    (folder / "work.py").write_text(WORK)
    (folder / "both.py").write_text(SIDE_BY_SIDE)
    ended = bare(["both.py", tracer, order, TOOLS[tool][0]], folder, env=IMPORTABLE)
    assert (ended.code, ended.err) == (0, ""), ended.err
    return json.loads(ended.out)


@every_tracer
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("tool", TOOLS)
def test_both_orders(tool, order, tracer, tmp_path, alone):
    """The tool tells what it tells alone; so does the profiler, or it says that it could not. What the
    tool had taken is still its own when the profiler stops, and nothing is left when both have."""
    needed = tool.partition("-")[0]
    if needed in NEEDED:
        pytest.importorskip(NEEDED[needed], reason=f"{needed} is not here")
    expected = alone(tool, order)
    assert expected is not None and expected != []
    told, functions, displaced = side_by_side(tmp_path, tool, tracer, order)
    assert told == expected
    shared = is_shared(tracer, TOOLS[tool][1])
    assert displaced == shared
    # given other code, which it tells by its bytes, the function is no longer what was selected; probes
    # are in that code, too
    exchanged = tool == "line_profiler" and order != "tool first" and tracer != "probe"
    if not shared and not exchanged:
        assert hits_of(functions) == HITS
