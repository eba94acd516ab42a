# SPDX-License-Identifier: MIT
"""Programs that have a trace function of their own: it is told what it is told alone, word for word, and
every line counts. The tracer settrace has the thread's one place and passes events on; the others take
no such place, and must agree."""

import sys

import pytest
from harness import UNSHARED, Profile
from test_transparency import assert_same, bare, every_tracer, profiled

pytestmark = pytest.mark.once

HEAD = """\
import sys, threading
try: profile
except NameError:
    def profile(thing): return thing

SEEN = []
def note(frame, event, arg=None):
    if frame.f_code.co_filename == __file__ and not frame.f_code.co_name.startswith("_"):
        SEEN.append((frame.f_code.co_name, event, frame.f_lineno))

def trace(frame, event, arg):
    note(frame, event)
    return trace

@profile
def work(n):
    total = 0               # begins
    for i in range(n):      # loops
        total += i          # body
    return total            # ends

@profile
def values(n):
    for i in range(n):
        yield work(i)       # yields
"""
# name: (program, {mark: hits})
PROGRAMS = {
    "on and off": (
        """
@profile
def main():
    assert sys.gettrace() is None
    work(1)                 # bare
    sys.settrace(trace)
    work(2)                 # traced
    assert sys.gettrace() is trace
    sys.settrace(None)
    assert sys.gettrace() is None
    work(3)                 # bare again
    return work(0)          # last
main()
""",
        {"begins": 4, "loops": 10, "body": 6, "ends": 4, "bare": 1, "traced": 1, "bare again": 1, "last": 1},
    ),
    # of a unselected function, and of one that was kept under another name
    "elsewhere": (
        """
from sys import settrace as kept
def _on(): kept(trace)
def _off(): kept(None)
@profile
def main():
    work(1)
    _on()
    work(2)                 # traced
    _off()
    work(3)                 # bare
    [_on(), work(1), _off()]
    return 0                # last
def _outside():
    _on()
    main()
    _off()
main()
_outside()
main()
""",
        {"begins": 12, "body": 21, "ends": 12, "traced": 3, "bare": 3, "last": 3},
    ),
    "given back": (
        """
@profile
def main():
    for function in None, trace:
        sys.settrace(function)
        before = sys.gettrace()
        sys.settrace(lambda *event: None)
        work(2)
        sys.settrace(before)
        work(2)             # given back
        assert sys.gettrace() is function
    sys.settrace(None)
main()
""",
        {"begins": 4, "body": 8, "given back": 2},
    ),
    "local functions": (
        """
def _once(frame, event, arg):
    note(frame, "once " + event)
    return _then
def _then(frame, event, arg):
    note(frame, "then " + event)
    return _then if event != "line" else _last
def _last(frame, event, arg):
    note(frame, "last " + event)
def _never(frame, event, arg):
    note(frame, "never " + event)
for function in _once, _never, trace:
    sys.settrace(function)
    work(2)
    list(values(3))
    frame = sys._getframe()
    frame.f_trace = trace
    function is _once and work(0)
    del frame.f_trace
    sys.settrace(None)
""",
        {"begins": 13, "body": 15, "ends": 13, "yields": 9},
    ),
    # whoever turns line events off in a frame hears of no more lines there; and looks at what it set
    "f_trace_lines": (
        """
def _quiet(frame, event, arg):
    note(frame, (event, frame.f_trace_lines))
    wants = {"work": event == "return", "again": False}
    frame.f_trace_lines = wants.get(frame.f_code.co_name, True)
    return _quiet
def _later(frame, event, arg):
    note(frame, (event, frame.f_trace_lines))
    if event == "line" and frame.f_lineno % 2:
        frame.f_trace_lines = False
    return _later
def _opcodes(frame, event, arg):
    if frame.f_code is work.__code__ and event == "opcode":
        SEEN.append(event)
    else:
        note(frame, (event, frame.f_trace_lines))
    frame.f_trace_lines, frame.f_trace_opcodes = False, frame.f_code is plain.__code__
    return _opcodes
def plain(n):
    return n + 1
for function in _quiet, _later, _opcodes:
    sys.settrace(function)
    work(3)
    list(values(3))
    plain(1)
    sys.settrace(None)
    work(1)

@profile
def again(on):
    if on:
        sys.settrace(trace)
        sys._getframe().f_trace = trace
    SEEN.append(on)         # seen
    return on
sys.settrace(_quiet)
again(False)                # another frame than the next one, maybe at the same address
sys.settrace(None)
again(True)
sys.settrace(None)
""",
        {"begins": 15, "loops": 36, "body": 21, "ends": 15, "yields": 9, "seen": 2},
    ),
    # it fails: the exception comes from the line, and the function is gone
    "failing": (
        """
def _failing(at):
    def _fails(frame, event, arg):
        note(frame, event)
        if (event, frame.f_code.co_name) == (at, "work"):
            raise KeyError(at)
        return _fails
    return _fails
@profile
def main(at):
    sys.settrace(_failing(at))
    try:
        work(2)             # fails
    except KeyError as error:
        SEEN.append(repr(error))    # failed
    SEEN.append(sys.gettrace())
    work(2)                 # goes on
for at in "call", "line", "return":
    main(at)
""",
        # a line at whose event it fails does not run, and a call is not begun
        {"begins": 4, "loops": 12, "body": 8, "fails": 3, "failed": 3, "goes on": 3, "ends": 4},
    ),
    # a function that sets another one, or none, while it is told of an event
    "changing": (
        """
def _first(frame, event, arg):
    note(frame, "first " + event)
    if event == "line" and frame.f_code.co_name == "work": sys.settrace(_second)
    return _first
def _second(frame, event, arg):
    note(frame, "second " + event)
    if event == "return" and frame.f_code.co_name == "work": sys.settrace(None)
    return _second
for _ in range(2):
    sys.settrace(_first)
    work(2)
    work(1)
    SEEN.append(sys.gettrace() is None)
    work(3)
""",
        {"begins": 6, "body": 12, "ends": 6},
    ),
    "threads": (
        """
def _run(n):
    SEEN.append((n, sys.gettrace() is trace))
    work(n)
    sys.settrace(None)
    work(n)
def _thread(n):
    thread = threading.Thread(target=_run, args=(n,))
    thread.start()
    thread.join()
_thread(1)
threading.settrace(trace)
_thread(2)
_thread(3)
threading.settrace(None)
_thread(4)
if sys.version_info >= (3, 12):
    go, gone = threading.Event(), threading.Event()
    def _waits():
        go.wait()
        work(1)
        SEEN.append(sys.gettrace() is trace)
        gone.set()
    thread = threading.Thread(target=_waits)
    thread.start()
    threading.settrace_all_threads(trace)
    go.set(); gone.wait(); thread.join()
    threading.settrace_all_threads(None)
    SEEN.append(sys.gettrace())
    work(1)
else: work(1), work(1)
SEEN[:] = [seen for seen in SEEN if seen[0] != "main"] if isinstance(SEEN[0], list) else SEEN
""",
        {"begins": 10, "body": 22, "ends": 10},
    ),
    # what the interpreter tells of its own built-ins
    "the built-in": (
        """
EVENTS = []
sys.addaudithook(lambda event, arguments: EVENTS.append(event) if event == "sys.settrace" else None)
def _same(): return (sys.settrace, sys.settrace.__name__, sys.settrace.__self__, sys.settrace.__doc__)
before = _same()
work(1)
sys.settrace(trace)
work(1)
assert _same() == before
sys.settrace(None)
sys.settrace(None)
SEEN.append(EVENTS)
for wrong in (), (1, 2):
    try: sys.settrace(*wrong)
    except TypeError as error: SEEN.append(str(error))
""",
        {"begins": 2},
    ),
}

HELD = ("ckernprof: another tool had replaced clineprof's trace function (sys.settrace); lines that ran "
        "meanwhile are missing")  # fmt: skip


def hits_at(profile, text):
    """{mark: hits} of lines that end in `# mark`."""
    marks = {n: line.rpartition("# ")[2] for n, line in enumerate(text.splitlines(), 1) if "# " in line}
    found = {}
    for function in profile.functions.values():
        for line, hits in Profile.measure(function, "hits").items():
            if line in marks:
                found[marks[line]] = hits
    return found


@every_tracer
@pytest.mark.parametrize("name", PROGRAMS)
def test_told_what_it_is_told_alone(name, tracer, tmp_path):
    program, expected = PROGRAMS[name]
    text = HEAD + program + "for seen in SEEN: print(seen)\n"
    (tmp_path / "program.py").write_text(text)
    theirs = bare(["program.py"], tmp_path)
    assert (theirs.code, theirs.err) == (0, "")
    assert theirs.out.count("\n") > 3
    ours = profiled(tracer, ["program.py"], tmp_path)
    assert_same(ours, theirs)
    found = hits_at(ours.profile(), text)
    assert {mark: found.get(mark) for mark in expected} == expected


@pytest.mark.parametrize("begins", ["first", "within"])
def test_a_function_that_cannot_be_shared(begins, tmp_path):
    """It stays, and the profiler says so; when it goes, lines count again."""
    program = HEAD + (UNSHARED if begins == "first" else "work(1)\n" + UNSHARED)
    (tmp_path / "program.py").write_text(program + "work(2)\nset_trace(TRACE())\nsys.settrace(None)\nwork(3)\n")
    ours = profiled("settrace", ["program.py"], tmp_path)
    assert ours.code == 0
    [said] = ours.err.splitlines()
    assert said.startswith(HELD)
    body = hits_at(ours.profile(), program)["body"]
    assert body == (3 if begins == "first" else 4)
