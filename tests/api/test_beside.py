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
    # given other code, which line_profiler tells by its bytes, a function is no longer what was selected;
    # but probes are in that code, too. Code that it has already gets no probes: the next tracer takes it
    is_first = order == "tool first"
    if tool == "line_profiler" and not is_first and tracer != "probe":
        return
    assert not displaced
    assert hits_of(functions) == HITS


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
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
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
            out, err = process.communicate(timeout=60)
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
