# SPDX-License-Identifier: MIT
"""Tools that are at work in the same process as the profiler: each shows what it shows alone, the
profiler counts what it counts alone, and what a tool had of the interpreter it has afterwards.

test_transparency_tools.py has those that need a dialogue, and coverage and cProfile from the command
line; here are the others, and both orders of starting within a program."""

import json
import signal
import socket
import subprocess
import sys
import textwrap

import pytest
from harness import (
    BUILD,
    CKERNPROF,
    Ended,
    Profile,
    SANITIZED,
    clean_environment,
    own_messages_removed,
)
from test_transparency import TRACERS, bare, every_tracer, profiled, without_addresses

pytestmark = pytest.mark.once

MONITORING = sys.version_info >= (3, 12)
IMPORTABLE = {"PYTHONPATH": str(BUILD / "python")}
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
    assert not displaced
    assert hits_of(functions) == HITS


# ---- functions of many lines -------------------------------------------------------------------

# 150 lines each: more than the interpreter can tell quickly, before 3.14. The module's body runs once, while the
# tool may come or go; the rest three times, and once before the tool comes.
MANY = 150
ASSIGNMENTS = [f"x{n} = {n}" for n in range(MANY)]
MANY_LINES = "\n".join([
    "def wide():", *["    " + line for line in ASSIGNMENTS], "    return 1",
    "def gaps(n):", "    for i in range(n):", *["        # nothing"] * MANY, "        n -= i", "    return n",
    "def makes():", "    class Wide:", *["        " + line for line in ASSIGNMENTS], "    return Wide",
    "def each(n):", "    while n:", *["        # nothing"] * MANY, "        n -= 1", "        yield n",
    "def failing():", "    try:", *["        # nothing"] * MANY, "        1 // 0", "    except ValueError: pass",
    "",
])  # fmt: skip


def many_hits(calls):
    """By hand: {name: {line: hits}} after so many calls of all()."""
    found, at = {}, 1
    found["wide"] = dict.fromkeys(range(at + 1, at + MANY + 2), calls)
    at += MANY + 2
    found["gaps"] = {at + 1: 3 * calls, at + MANY + 2: 2 * calls, at + MANY + 3: calls}
    at += MANY + 4
    found["makes"] = {at + 1: calls, at + MANY + 2: calls}
    at += MANY + 3
    # PY_RESUME: the line of the yield begins again where the body goes on
    found["each"] = {at + 1: 3 * calls, at + MANY + 2: 2 * calls, at + MANY + 3: 2 * calls}
    at += MANY + 4
    found["failing"] = {at + 1: calls, at + MANY + 2: calls, at + MANY + 3: calls}
    return found


# NAME: sets up, starts, stops a tool that watches work of many.py; prints what it saw.
WATCHES = """
seen, M, E = [], sys.monitoring, sys.monitoring.events
ALL = "LINE", "PY_START", "PY_RETURN", "JUMP", *(("BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(E, "BRANCH_LEFT")
                                                  else ["BRANCH"])
def note(what, answer):
    def on_event(code, *more):
        if code.co_filename.endswith("many.py"):
            seen.append((what, code.co_name, more[0] if what == "line" else None))
        return answer
    return on_event
def local(code, *more):
    if code.co_filename.endswith("many.py"):
        seen.append(("start", code.co_name, None))
        M.set_local_events(PLACE, code, E.LINE)
        return None
    return M.DISABLE
def register(**callbacks):
    M.use_tool_id(PLACE, "mine")
    for name, callback in callbacks.items(): M.register_callback(PLACE, getattr(E, name), callback)
def end():
    for name in (*ALL, "INSTRUCTION"): M.register_callback(PLACE, getattr(E, name), None)
    M.set_events(PLACE, 0)
    for code in codes: M.set_local_events(PLACE, code, 0)
    M.free_tool_id(PLACE)
def tell(): return seen
"""
BESIDE = {
    "all lines, once": """
def begin():
    register(LINE=note("line", M.DISABLE))
    M.set_events(PLACE, E.LINE | E.PY_START)
""",
    "all lines": """
def begin():
    register(LINE=note("line", None))
    M.set_events(PLACE, E.LINE | E.PY_START)
""",
    "local lines, as coverage": """
def begin():
    register(PY_START=local, LINE=note("line", M.DISABLE))
    M.set_events(PLACE, E.PY_START)
""",
    "its callback comes last": """
def begin():
    register(PY_START=local)
    M.set_events(PLACE, E.PY_START)
    M.register_callback(PLACE, E.LINE, note("line", M.DISABLE))
""",
    "everything, once": """
def begin():
    register(**{name: note(name, M.DISABLE) for name in ALL})
    M.set_events(PLACE, sum(getattr(E, name) for name in ALL))
""",
    "calls": """
def begin():
    register(PY_START=note("start", None), PY_RETURN=note("return", None))
    M.set_events(PLACE, E.PY_START | E.PY_RETURN)
""",
    "starts all anew": """
def begin():
    def line(code, line):
        if line % 50 == 0: M.restart_events()
        return M.DISABLE
    register(LINE=line)
    M.set_events(PLACE, E.LINE | E.PY_START)
""",
}
INSTRUCTIONS = """
def begin():
    register(INSTRUCTION=note("instruction", None))
    M.register_callback(PLACE, E.PY_START, note("start", None))
    if WHERE == "global": M.set_events(PLACE, E.INSTRUCTION | E.PY_START)
    for code in codes: M.set_local_events(PLACE, code, E.INSTRUCTION | E.PY_START)
"""
MANY_BESIDE = """
import json, os, sys, threading
tracer, order, tool = sys.argv[1:]
from many import each, failing, gaps, makes, wide
PLACE = int(os.environ["PLACE"])
functions = wide, gaps, makes, each, failing
codes = [function.__code__ for function in functions]
def all():
    assert (wide(), gaps(2), makes().x149, list(each(2))) == (1, 1, 149, [1, 0])
    try: failing()
    except ZeroDivisionError: pass
exec(tool)
if tracer != "none":
    import clineprof
    profiler = clineprof.Profiler(tracer=tracer, memory=False, started=False)
    for function in functions: profiler.add_function(function)
def switch(on):
    if tracer != "none": profiler.start() if on else profiler.stop()
if order == "tool first": begin(); switch(True)
if order == "tool later": switch(True); all(); begin()
all(), all()
if order == "tool later": end(); switch(False)
if order == "tool first": switch(False); all(); end()
print(json.dumps([tell(), profiler.snapshot()["functions"] if tracer != "none" else []]))
"""


def many_beside(folder, tool, tracer, order, place):
    (folder / "many.py").write_text(MANY_LINES)
    (folder / "both.py").write_text(MANY_BESIDE)
    ended = bare(["both.py", tracer, order, tool], folder, env={**IMPORTABLE, "PLACE": str(place)})
    assert (ended.code, ended.err) == (0, ""), ended.err
    return json.loads(ended.out)


def check_many(tool, folder, tracer, order, place=1):
    told, functions = many_beside(folder, tool, tracer, order, place)
    expected, _ = many_beside(folder, tool, "none", order, place)
    assert hits_of(functions) == many_hits(3 if order == "tool later" else 2)
    return told, expected


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
@every_tracer
@pytest.mark.parametrize("place", [0, 5], ids=["told behind us", "told before us"])
@pytest.mark.parametrize("order", ["tool first", "tool later"])
@pytest.mark.parametrize("tool", BESIDE)
def test_many_lines_beside_a_tool_on_sys_monitoring(tool, order, place, tracer, tmp_path):
    """.. that answers DISABLE, say. To it, too, nothing is lost and nothing is told twice."""
    told, expected = check_many(WATCHES + BESIDE[tool], tmp_path, tracer, order, place)
    if tracer == "probe":  # what is disabled in the code with probes is not so in the function's own
        told, expected = [set(map(tuple, events)) for events in (told, expected)]
    assert told == expected and (told or tool == "starts all anew")


COMES_WITHIN = """\
import sys
if hasattr(sys, "monitoring"):
    M, E = sys.monitoring, sys.monitoring.events
    M.use_tool_id(1, "mine")
    M.register_callback(1, E.LINE, lambda *event: M.DISABLE)
    M.set_events(1, E.LINE | E.PY_START)
"""


@every_tracer
@pytest.mark.parametrize("way", ["module", "script"])
def test_a_tool_comes_while_a_body_of_many_lines_runs(way, tracer, tmp_path):
    """Of a module and of classes, which run once."""
    wide = [f"class Wide{i}:\n" + "".join(f"    {line}\n" for line in ASSIGNMENTS) for i in range(2)]
    body = "\n".join(ASSIGNMENTS)
    text = f"{body}\n{wide[0]}{COMES_WITHIN}{body}\n{wide[1]}{body}\n"
    (tmp_path / "many.py").write_text(text)
    (tmp_path / "main.py").write_text("import many\n")
    ended = profiled(tracer, ["-p", "many.py", "main.py" if way == "module" else "many.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    found = hits_of(ended.profile().functions.values())
    begins = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith("class")]
    within = {n: list(range(n + 1, n + MANY + 1)) for n in begins}
    branch = range(begins[0] + MANY + 3, begins[0] + MANY + 7) if not MONITORING else ()
    bodies = {*within[begins[0]], *within[begins[1]], *branch}
    module = set(range(1, text.count("\n") + 1)) - bodies
    assert found.pop("<module>") == dict.fromkeys(sorted(module), 1)
    for i, first in enumerate(begins):
        assert found[f"Wide{i}"] == dict.fromkeys([first, *within[first]], 1)


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
@pytest.mark.parametrize("order", ["tool first", "tool later"])
@pytest.mark.parametrize("where", ["global", "local"])
def test_a_tool_that_watches_instructions(where, order, tmp_path):
    """.. has all its events. (Those of code with probes are others.)"""
    tool = f"WHERE = {where!r}\n" + WATCHES + INSTRUCTIONS
    told, expected = check_many(tool, tmp_path, "monitoring", order)
    assert len(expected) > 700 and told == expected


@every_tracer
@pytest.mark.parametrize("order", ["tool first", "tool later"])
@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool != "line_profiler"])
def test_many_lines_beside(tool, order, tracer, tmp_path):
    """.. the tools of above, which look at the functions of many.py here."""
    if tool.startswith("coverage"):
        pytest.importorskip("coverage", reason="coverage is not here")
    text = TOOLS[tool][0].replace("work.py", "many.py").replace("work.__code__", "wide.__code__")
    told, expected = check_many(text, tmp_path, tracer, order)
    if tool == "coverage-sysmon" and tracer == "probe":  # a loop's line has two places there: one way more is seen
        told[1] = [way for way in told[1] if way in expected[1]]
    if (tool, tracer, order) != ("cProfile", "probe", "tool first"):  # of two code objects pstats shows one
        assert told == expected


# ---- programs of their own, and commands -------------------------------------------------------

MAIN = """\
import builtins, functools
profile = getattr(builtins, "profile", functools.partial(next, iter(())))
import work as module
for name in "callee", "generator", "work":
    setattr(module, name, profile(getattr(module, name)))
"""


def same_beside(tracer, command, folder, **options):
    """Runs it bare and profiled: the same output and end."""
    theirs = bare(command, folder, **options)
    ours = profiled(tracer, command, folder, **options)
    assert without_addresses(own_messages_removed(ours.out)) == without_addresses(theirs.out)
    assert ours.code == theirs.code
    assert of_python(ours.err) == of_python(theirs.err)
    return theirs, ours


def of_python(text):
    """Without what faulthandler tells of C: extension modules and, on 3.14 and newer, the stack."""
    text = text.partition("\nCurrent thread's C stack trace (most recent call first):\n")[0]
    extensions = "\nExtension modules: clineprof._core (total: 1)\n"
    return without_addresses(text).replace(extensions, "")


def counted(ended):
    return hits_of(ended.profile().functions.values())


@pytest.fixture
def files(tmp_path):
    (tmp_path / "work.py").write_text(WORK)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path

    return write


@every_tracer
@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer takes the signal")
def test_faulthandler_after_a_segmentation_fault(tracer, files):
    """The lines of profiled frames, in the same words; and the live file has the counts."""
    folder = files("crash.py", MAIN + textwrap.dedent("""
        import ctypes, faulthandler
        faulthandler.enable()
        @profile
        def fatal(n):
            if n:
                return fatal(n - 1)
            module.work()
            return ctypes.string_at(
                n
            )
        fatal(2)
        """))  # fmt: skip
    theirs, ours = same_beside(tracer, ["crash.py"], folder)
    assert theirs.code == -signal.SIGSEGV and theirs.err.count("in fatal") == 3
    [live] = folder.glob("*.live")
    recovered = bare(["-m", "clineprof", "recover", live.name], folder, env=IMPORTABLE)
    assert recovered.code == 0, recovered.err
    found = hits_of(Profile(folder / live.stem).functions.values())
    assert {name: found[name] for name in HITS} == HITS
    assert sorted(found["fatal"].values()) == [1, 1, 2, 2, 3]


@every_tracer
def test_doctest(tracer, files):
    """A failing example's report, too; the examples' lines find their source."""
    folder = files("documented.py", MAIN + textwrap.dedent('''
        @profile
        def twice(n):
            """
            >>> twice(2)
            4
            >>> [twice(n) for n in range(3)]
            [0, 2, 5]
            >>> twice(None)
            Traceback (most recent call last):
            TypeError: unsupported operand type(s) for *: 'NoneType' and 'int'
            """
            return n * 2
        if __name__ == "__main__":
            import doctest
            print(doctest.testmod(verbose=True))
        '''))  # fmt: skip
    theirs, ours = same_beside(tracer, ["documented.py"], folder)
    assert "1 failed" in theirs.out or "failed=1" in theirs.out
    assert list(counted(ours)["twice"].values()) == [5]


@every_tracer
def test_trace_module(tracer, files):
    """python -m trace counts the same lines."""
    folder = files("main.py", MAIN + "module.work()\n")
    (folder / "reference.py").write_text("import work\nwork.work()\n")
    command = ["-m", "trace", "--count", "--missing", "--coverdir=told", "main.py"]
    theirs = bare(command, folder)
    [cover] = (folder / "told").glob("*work.cover")
    told = cover.read_text()
    assert theirs.code == 0 and "    4:     for i in range(n)" not in told and ">>>>>>" in told
    cover.unlink()
    ours = profiled(tracer, command, folder)
    assert (ours.code, own_messages_removed(ours.out)) == (0, theirs.out)
    assert cover.read_text() == told
    assert complaints(ours) == []
    assert counted(ours) == HITS


# coverage.py's own tracer in C, its one in Python, and the one on sys.monitoring
CORES = ["ctrace", "pytrace"] + (["sysmon"] if MONITORING else [])


@every_tracer
@pytest.mark.parametrize("core", CORES)
def test_pytest_cov(core, tracer, files):
    pytest.importorskip("pytest_cov", reason="pytest-cov is not here")
    folder = files("test_it.py", MAIN + "def test_work():\n    assert module.work() == 5\n")
    branch = ["--cov-branch"] if core != "sysmon" or sys.version_info >= (3, 14) else []
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--cov=work", *branch,
               "--cov-report=json:told.json", "test_it.py"]  # fmt: skip
    told = []
    for run_it in bare, lambda *a, **more: profiled(tracer, *a, **more):
        ended = run_it(command, folder, env={"COVERAGE_CORE": core})
        assert ended.code == 0, ended.out + ended.err
        told.append(json.loads((folder / "told.json").read_text())["files"]["work.py"])
    assert told[0] == told[1] and told[0]["missing_lines"] == [18]
    assert len(told[0].get("executed_branches", "..")) > 1
    assert complaints(ended) == []
    assert counted(ended) == HITS


DIALOGUE = "break module.callee; continue; step; next; until; where; return; up; p found; next; jump 19"


@pytest.mark.skipif("settrace" not in TRACERS, reason="no settrace tracer")
@pytest.mark.parametrize("words", [["-m", "pdb"], []], ids=["pdb", "breakpoint"])
def test_pdb_beside_the_settrace_tracer(words, files):
    """Nothing in the dialogue differs, and lines are counted as often as they run."""
    folder = files("main.py", MAIN + ("" if words else "breakpoint()\n") + "module.work()\n")
    commands = DIALOGUE.replace("; ", "\n") + "\nwhere\nclear 1\ncontinue\nquit\n"
    if words:
        commands = commands.replace("break ", "next\n" * 5 + "break ", 1)
    theirs, ours = same_beside("settrace", [*words, "main.py"], folder, stdin=commands)
    assert theirs.out.count("(Pdb)") > 8 and "callee" in theirs.out
    assert complaints(ours) == []
    assert counted(ours) == HITS


# ---- sys.monitoring has six places -------------------------------------------------------------

PLACES = """\
import sys
taken = [int(n) for n in sys.argv[1:]]
for n in taken:
    sys.monitoring.use_tool_id(n, f"tool {n}")
import clineprof
from work import callee, generator, work
try:
    profiler = clineprof.Profiler(tracer="monitoring", memory=False)
except RuntimeError as error:
    print(error)
    profiler = clineprof.Profiler(tracer="settrace", memory=False)
for function in callee, generator, work:
    profiler(function)
work()
held = [n for n in range(6) if sys.monitoring.get_tool(n) == "clineprof"]
profiler.stop()
assert [sys.monitoring.get_tool(n) for n in taken] == [f"tool {n}" for n in taken]
assert [n for n in range(6) if sys.monitoring.get_tool(n)] == taken
import json
print(json.dumps([held, profiler.snapshot()["functions"]]))
"""


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
@pytest.mark.parametrize("free", range(6))
def test_the_last_place_of_sys_monitoring(free, files):
    folder = files("places.py", PLACES)
    taken = [str(n) for n in range(6) if n != free]
    ended = bare(["places.py", *taken], folder, env=IMPORTABLE)
    assert (ended.code, ended.err) == (0, "")
    held, functions = json.loads(ended.out)
    assert held == [free]
    assert hits_of(functions) == HITS


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
def test_no_place_of_sys_monitoring(files):
    """One clear error, and another tracer can be had in the same process."""
    folder = files("places.py", PLACES)
    ended = bare(["places.py", *"012345"], folder, env=IMPORTABLE)
    assert (ended.code, ended.err) == (0, "")
    said, told = ended.out.splitlines()
    assert said == "other tools hold all six ids of sys.monitoring; use --tracer settrace"
    held, functions = json.loads(told)
    assert held == []
    assert hits_of(functions) == HITS


@pytest.mark.skipif(not MONITORING, reason="there is no sys.monitoring")
def test_probes_need_no_place_of_sys_monitoring(files):
    places = PLACES.replace('"monitoring"', '"probe"')
    ended = bare(["places.py", *"012345"], files("places.py", places), env=IMPORTABLE)
    assert (ended.code, ended.err) == (0, "")
    assert hits_of(json.loads(ended.out)[1]) == HITS


# ---- debugpy -----------------------------------------------------------------------------------

DEBUGGED = {
    "selected first": MAIN + "import debugpy\n{listen}module.work()\n",
    "selected later": "import debugpy\n{listen}" + MAIN + "module.work()\n",
}
LISTEN = """\
print(debugpy.listen(0)[1], flush=True)
debugpy.wait_for_client()
"""


class Editor:
    """What an editor says to debugpy, and hears: one JSON text behind its length."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self.stream, self.number = self.socket.makefile("rb"), 0
        self.events = []

    def send(self, command, **arguments):
        self.number += 1
        body = json.dumps({"seq": self.number, "type": "request", "command": command,
                           "arguments": arguments}).encode()  # fmt: skip
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self.number

    def hear(self):
        length = None
        while (line := self.stream.readline().strip()) or length is None:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.stream.read(length))

    def wait_event(self, *names):
        while True:
            for event in self.events:
                if event["event"] in names:
                    self.events.remove(event)
                    return event
            self.keep(self.hear())

    def keep(self, message):
        if message["type"] == "event":
            self.events.append(message)

    def ask(self, command, **arguments):
        number = self.send(command, **arguments)
        while (heard := self.hear()).get("request_seq") != number:
            self.keep(heard)
        assert heard["success"], heard
        return heard.get("body")

    def stack(self, thread):
        frames = self.ask("stackTrace", threadId=thread)["stackFrames"]
        return [(frame["name"], frame["line"]) for frame in frames]

    def debug(self, file, lines, commands):
        """The stacks at which the program stops: at breakpoints, and after each command."""
        self.ask("initialize", adapterID="test", clientID="test")
        self.send("attach", justMyCode=False)
        self.wait_event("initialized")
        self.ask("setBreakpoints", source={"path": str(file)},
                 breakpoints=[{"line": line} for line in lines])  # fmt: skip
        self.ask("configurationDone")
        told = []
        for command in commands:
            event = self.wait_event("stopped", "terminated")
            if event["event"] == "terminated":
                break
            thread = event["body"]["threadId"]
            told.append((event["body"]["reason"], self.stack(thread)))
            self.ask(command, threadId=thread)
        self.ask("disconnect", terminateDebuggee=False)
        self.stream.close(), self.socket.close()
        return told


def debugged(command, folder):
    """(what the editor was told, the end of the program)"""
    process = subprocess.Popen(
        [str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", env=clean_environment({"PYDEVD_DISABLE_FILE_VALIDATION": "1"}),
    )  # fmt: skip
    with process:
        try:
            steps = ["next", "stepIn", "next", "next", "stepOut", "next", "stepIn"]
            editor = Editor(int(process.stdout.readline()))
            told = editor.debug(folder / "work.py", [4, 15], [*steps, *["continue"] * 12])
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    process.stdout, process.stderr = out, err
    return told, Ended(process, folder)


@every_tracer
@pytest.mark.parametrize("order", DEBUGGED)
def test_debugpy(order, tracer, files):
    """Breakpoints, steps and stacks as an editor has them."""
    pytest.importorskip("debugpy", reason="debugpy is not here")
    folder = files("main.py", DEBUGGED[order].format(listen=LISTEN))
    theirs, ended = debugged([sys.executable, "main.py"], folder)
    assert ended.code == 0, ended.err
    assert len(theirs) > 10 and theirs[0][1][0] == ("callee", 4)
    options = ["--python", sys.executable, "--tracer", tracer, "-l"]
    ours, ended = debugged([CKERNPROF, *options, "main.py"], folder)
    assert ended.code == 0, ended.err
    # frames of the launcher lie below the program's
    assert [(why, stack[: len(other)]) for (why, stack), (_, other) in zip(ours, theirs)] == theirs
    assert len(ours) == len(theirs)
    assert complaints(ended) == []
    assert counted(ended) == HITS
