# SPDX-License-Identifier: MIT
"""The time of lines in C code and in library functions (--native). The truth is what the program's own clock says
before and after a line that does one thing, and what a library function says of itself."""
import json
import re
import subprocess
import sys
import textwrap

import clineprof
import pytest
from harness import TRACER, run_ckernprof, run_viewer, steady, tried_again

POINTS = 0.03  # of the program's time

carried = pytest.mark.skipif(not (sys.version_info >= (3, 11) and TRACER in (None, "probe")),
                             reason="only the tracer probe tells what lines call")

# begins() and ends(label, kind) put the time between them into `seen`. spin() is library.
WATCHED = """
import gc, hashlib, json, operator, os, re, subprocess, sys, threading, time
seen = {}
now = time.perf_counter_ns
def ends(label, kind, began, less=0):
    took = now() - began - less
    entry = seen.setdefault(label, {"C": 0, "library": 0, "plain": 0})
    entry[kind] += took
def spin(seconds):
    end = now() + seconds * 1e9
    while now() < end:
        pass
def spin_and_tell(label, seconds):
    began = now()
    spin(seconds)
    ends(label, "library", began)
gc.disable()
"""
ENDS = "\nprint(json.dumps(seen))\n"


def profiled(folder, program, *options):
    """The truth, and the profile. Without memory: to measure what a new page costs takes 2 ms now and then. The program's
    clock sees them, the profile does not."""
    (folder / "prog.py").write_text(WATCHED + textwrap.dedent(program) + ENDS)
    ended = run_ckernprof(["-l", "--native", "--no-memory", *options, "prog.py"], folder)
    assert ended.code == 0 and ended.err == "", ended.err
    return json.loads(ended.out.splitlines()[0]), clineprof.load(folder / "prog.py.lprof")


def called(profile):
    """{label of lines: {"C": .., "library": .., "self": ..}}"""
    found = {}
    for function in profile.functions:
        for line in function.lines:
            assert line.native_time + line.library <= line.self
            entry = found.setdefault(line.text.partition("# ")[2], {"C": 0, "library": 0, "self": 0})
            entry["C"] += line.native_time
            entry["library"] += line.library
            entry["self"] += line.self
    return found


def agree(profile, truth):
    """Each label has as much C time and library as in truth, within some points of the sum of all times."""
    found, slack = called(profile), POINTS * sum(sum(parts.values()) for parts in truth.values())
    for label, parts in truth.items():
        for kind in "C", "library":
            steady(abs(found[label][kind] - parts[kind]) <= slack, label, kind, found, truth)


def names(profile):
    """{label: {kind: the callee of most time}}"""
    found = {}
    for function in profile.functions:
        texts = {line.line: line.text.partition("# ")[2] for line in function.lines}
        for callee in sorted(function.callees, key=lambda callee: callee["time"]):
            kind = "library" if callee["library"] else "C"
            found.setdefault(texts[callee["line"]], {})[kind] = callee["name"]
    return found


# One thing on each line, between two readings of the clock. Results are kept: to drop them is no part of a call.
THINGS = """
class Slow:
    def __call__(self):
        spin(0.03)
    def method(self):
        spin(0.03)
    def __iter__(self):
        for _ in range(3):
            spin(0.01)
            yield
class Made:
    def __init__(self):
        spin(0.03)
import functools
def negative(n):
    return -n
def steps():
    for _ in range(3):
        spin(0.01)
        yield
@profile
def main():
    numbers = list(range(300_000))
    big = 3 ** 60_000
    slow = Slow()
    text = "a,b;" * 100_000
    pattern = re.compile("[,;]")
    half = functools.partial(spin, 0.03)
    while_true = 0
    t = now()
    time.sleep(0.05)  # sleep
    ends("sleep", "C", t); t = now()
    hashlib.sha256(text.encode() * 50)  # hash
    ends("hash", "C", t); t = now()
    kept1 = sorted(numbers, key=float)  # sorted
    ends("sorted", "C", t); t = now()
    kept2 = sorted(numbers, key=negative)  # callbacks of C
    ends("callbacks of C", "C", t); t = now()
    kept3 = pattern.sub("", text)  # method
    ends("method", "C", t); t = now()
    kept4 = big * big * big * big  # operator
    ends("operator", "C", t); t = now()
    kept5 = [numbers[1:], numbers[1:], numbers[1:], numbers[1:]]  # subscript
    ends("subscript", "C", t); t = now()
    -5 in numbers  # contains
    ends("contains", "C", t); t = now()
    for _ in map(time.sleep, (0.01, 0.01, 0.01)):  # iteration
        pass
    ends("iteration", "C", t); t = now()
    spin(0.03)  # function
    ends("function", "library", t); t = now()
    slow.method()  # bound method
    ends("bound method", "library", t); t = now()
    slow()  # callable object
    ends("callable object", "library", t); t = now()
    Made()  # class
    ends("class", "library", t); t = now()
    half()  # partial
    ends("partial", "library", t); t = now()
    spin(seconds=0.03)  # keywords
    ends("keywords", "library", t); t = now()
    spin(*(0.03,), **{})  # star
    ends("star", "library", t); t = now()
    kept6 = json.loads(json.dumps(numbers))  # json
    ends("json", "library", t); t = now()
    for _ in steps():  # generator
        pass
    ends("generator", "library", t); t = now()
    total = big * big * big * big + len([spin_and_tell("both", 0.03)])  # both
    ends("both", "C", t, seen["both"]["library"])
main()
"""

NAMES = {
    "sleep": ("C", "time.sleep"), "sorted": ("C", "sorted"), "callbacks of C": ("C", "sorted"),
    "method": ("C", "re.Pattern.sub"), "operator": ("C", "*"), "subscript": ("C", "[]"), "contains": ("C", "in"),
    "iteration": ("C", "map"), "function": ("library", "spin"), "bound method": ("library", "Slow.method"),
    "callable object": ("library", "Slow.__call__"), "class": ("library", "Made"), "partial": ("library", "spin"),
    "keywords": ("library", "spin"), "star": ("library", "spin"), "json": ("library", "json.loads"),
    "generator": ("library", "steps"), "both": ("library", "spin_and_tell"),
}  # fmt: skip


@carried
@tried_again
def test_what_lines_call(tmp_path):
    truth, profile = profiled(tmp_path, THINGS)
    agree(profile, truth)
    found = names(profile)
    for label, (kind, name) in NAMES.items():
        if label == "json":  # either takes longer
            assert found[label][kind] in {"json.loads", "json.dumps"}
        else:
            assert found[label][kind] == name, (label, found)


# Operators of the program's own classes, and of C where Python functions ran before.
OPERATORS = """
class Own:
    def __add__(self, other):
        spin(0.02)
        return self
    __iadd__ = __getitem__ = __contains__ = __add__
    __radd__ = __lt__ = __add__
    def __setitem__(self, key, value):
        spin(0.02)
    def __delitem__(self, key):
        spin(0.02)
    def __neg__(self):
        spin(0.02)
    def __iter__(self):
        spin(0.02)
        return iter(())
    @property
    def slow(self):
        spin(0.02)
async def waits():
    return big
big = 3 ** 60_000
@profile
def main():
    own = Own()
    for kept in range(3):
        t = now()
        own + own  # add
        ends("add", "library", t); t = now()
        1 + own  # other side
        ends("other side", "library", t); t = now()
        own += 1  # in place
        ends("in place", "library", t); t = now()
        own[1]  # get
        ends("get", "library", t); t = now()
        own[1:2]  # slice
        ends("slice", "library", t); t = now()
        own[1] = 2  # set
        ends("set", "library", t); t = now()
        del own[1]  # delete
        ends("delete", "library", t); t = now()
        1 in own  # in
        ends("in", "library", t); t = now()
        own < own  # compares
        ends("compares", "library", t); t = now()
        -own  # negative
        ends("negative", "library", t); t = now()
        for _ in own: pass  # iter
        ends("iter", "library", t); t = now()
        kept1 = big * big + (own + own, 1)[1]  # both
        ends("both", "library", t)
        own.slow
        kept2 = big * big  # behind a property
        try:
            raise ValueError
        except ValueError:
            kept3 = big * big  # in a handler
        own.slow; kept4 = big * big  # behind it on its line
        spin(0.001); kept5 = big * big  # behind a call
        if own: kept6 = big * big  # behind a test
@profile
def first(a, b):
    return a * b  # first line
@profile
def generates():
    while True:
        spin(0.001)
        (yield) * big  # resumed
@profile
async def awaits():
    (await waits()) * big  # awaited
main()
for _ in range(3):
    spin(0.001)
    first(big, big)
    generator = generates()
    next(generator)
    generator.send(big)
    generator.close()
    try:
        awaits().send(None)
    except StopIteration:
        pass
"""
OF_PYTHON = {"add": "+", "other side": "+", "in place": "+=", "get": "[]", "slice": "[]", "set": "[]", "delete": "[]",
             "in": "in", "compares": "<", "negative": "unary operator", "iter": "for", "both": "+"}  # fmt: skip
OF_C = ("behind a property", "in a handler", "behind it on its line", "behind a call", "behind a test", "first line",
        "resumed", "awaited")  # fmt: skip


@carried
@tried_again
def test_operators_that_enter_python_functions(tmp_path):
    truth, profile = profiled(tmp_path, OPERATORS)
    truth["both"] = {"C": truth["both"]["library"] - truth["add"]["library"], "library": truth["add"]["library"]}
    agree(profile, truth)


@carried
def test_whether_an_operator_enters_a_python_function(tmp_path):
    """Each time, whatever ran before it."""
    found = names(profiled(tmp_path, OPERATORS)[1])
    assert {label: found[label].get("library") for label in OF_PYTHON} == OF_PYTHON
    assert {label: found[label].get("C") for label in OF_C} == dict.fromkeys(OF_C, "*")
    assert {label for label in OF_C if "library" in found[label]} == {"behind a call", "awaited"}  # spin() and waits()


@carried
@tried_again
def test_beside_two_busy_loops(tmp_path):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        truth, profile = profiled(tmp_path, THINGS)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    agree(profile, truth)


@carried
@tried_again
def test_selected_callees_have_their_own_time(tmp_path):
    truth, profile = profiled(tmp_path, """
    @profile
    def key(n):
        spin(0.01)  # key
        return n
    @profile
    def recursive(depth):
        if depth:
            list(map(recursive, [depth - 1]))  # recursion
        time.sleep(0.02)  # bottom
    @profile
    def main():
        t = now()
        sorted([3, 2, 1], key=key)  # sorts
        ends("key", "library", t); t = now()
        key(1)  # calls
        ends("key", "library", t); t = now()
        recursive(4)  # recurs
        ends("bottom", "C", t)
    main()
    """)
    for label in "sorts", "calls", "recurs", "recursion":
        truth[label] = {"C": 0, "library": 0}
    agree(profile, truth)
    assert "key" not in names(profile).get("calls", {}).values()


@carried
@tried_again
def test_what_raises(tmp_path):
    truth, profile = profiled(tmp_path, """
    def fails(label=None):
        began = now()
        spin(0.02)
        if label:
            ends(label, "library", began)
        raise ValueError
    @profile
    def main():
        mixed = [*range(300_000), None]
        for _ in range(3):
            t = now()
            try:
                sorted(mixed)  # C raises
            except TypeError:
                ends("C raises", "C", t)
            t = now()
            try:
                fails()  # library raises
            except ValueError:
                ends("library raises", "library", t)
    @profile
    def leaves():
        t = now()
        try:
            time.sleep(0.05)  # sleeps
        finally:
            ends("sleeps", "C", t)
        fails("leaves")  # leaves
    main()
    for _ in range(2):
        try:
            leaves()
        except ValueError:
            pass
    """)
    agree(profile, truth)


@carried
@tried_again
def test_generators_threads_and_children(tmp_path):
    truth, profile = profiled(tmp_path, """
    import asyncio
    @profile
    def generator():
        for _ in range(3):
            t = now()
            time.sleep(0.02)  # generator
            ends("generator", "C", t)
            yield
    @profile
    async def coroutine(label):
        for _ in range(3):
            await asyncio.sleep(0.02)
            t = now()
            spin(0.02)  # coroutine
            ends("coroutine", "library", t)
    @profile
    def thread():
        t = now()
        time.sleep(0.1)  # thread
        ends("thread", "C", t)
    async def both():
        await asyncio.gather(coroutine(1), coroutine(2))
    @profile
    def fork():
        pid = os.fork()
        if pid == 0:
            time.sleep(0.1)  # child
            sys.exit()
        t = now()
        os.waitpid(pid, 0)  # parent
        ends("parent", "C", t)
    fork()
    for _ in generator():
        pass
    asyncio.run(both())
    threads = [threading.Thread(target=thread) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    seen["child"] = {"C": 100_000_000, "library": 0}
    """, "--prof-child-procs")
    agree(profile, truth)


@carried
@tried_again
def test_statements_over_several_lines(tmp_path):
    truth, profile = profiled(tmp_path, """
    @profile
    def main():
        t = now()
        spin(
            0.01 +
            0.02)
        ends("", "library", t); t = now()
        time.sleep(
            max(
                0.01,
                0.03))
        ends("", "C", t)
    main()
    """, "--by-statement")
    agree(profile, truth)


@carried
@tried_again
def test_strings_grow_in_place(tmp_path):
    """The interpreter looks at the instruction behind an addition: without it each addition copies the string."""
    _, profile = profiled(tmp_path, """
    @profile
    def main():
        text = ""
        for i in range(40_000):
            text += "twenty bytes of text"  # grows
        other = ""
        keep = None
        for i in range(4_000):
            keep = other
            other += "twenty bytes of text"  # copied
    main()
    """)
    found = called(profile)
    steady(found["grows"]["self"] < 5 * found["copied"]["self"], found)


KILLED = """\
import json, os, time
@profile
def f():
    time.sleep(0.1)  # sleep
    json.dumps(list(range(200_000)))  # dumps
    os.kill(os.getpid(), 9)
f()
"""


@carried
def test_a_killed_run_keeps_it(tmp_path):
    (tmp_path / "prog.py").write_text(KILLED)
    run_ckernprof(["-l", "--native", "prog.py"], tmp_path)
    profile = clineprof.load(tmp_path / "prog.py.lprof.live")
    found = called(profile)
    assert found["sleep"]["C"] > 90e6 and found["dumps"]["library"] > 1e6
    assert names(profile)["sleep"]["C"] == "time.sleep" and names(profile)["dumps"]["library"] == "json.dumps"


@carried
def test_a_line_that_still_runs_counts_up_to_the_end(tmp_path):
    _, profile = profiled(tmp_path, """
    @profile
    def sleeps():
        time.sleep(60)  # sleeps
    thread = threading.Thread(target=sleeps, daemon=True)
    thread.start()
    time.sleep(0.3)
    """)
    assert called(profile)["sleeps"]["C"] > 50e6  # the thread may begin late


def header(text):
    [line] = [line for line in text.splitlines() if line.startswith("Line #")]
    return line.split("  Line Contents")[0].split()


SLEEPS = "import time\n@profile\ndef f():\n    time.sleep(0.05)\nf()\n"


@carried
def test_columns_and_exports(tmp_path):
    (tmp_path / "prog.py").write_text(SLEEPS)
    with_native = run_ckernprof(["-l", "-v", "--native", "--no-memory", "-o", "native.lprof", "prog.py"], tmp_path)
    assert header(with_native.out)[-3:] == ["C", "time", "Library"]
    assert re.search(r"\nMost time in calls:\n     4  [\d.]+ +m?s  time\.sleep\n", with_native.out), with_native.out
    plain = run_ckernprof(["-l", "-v", "--no-memory", "-o", "plain.lprof", "prog.py"], tmp_path)
    assert header(plain.out)[-2:] == ["%", "Time"] and "Most time" not in plain.out
    refused = run_viewer(["--columns", "time,library", "plain.lprof"], tmp_path)
    assert refused.err == "clineprof: --columns: library was not measured; that takes a run with --native\n"
    run_ckernprof(["-l", "--native", "--no-memory", "-o", "again.lprof", "prog.py"], tmp_path)
    both = run_viewer(["merge", "-o", "both.lprof", "native.lprof", "again.lprof"], tmp_path)
    assert both.code == 0
    [one], [again], [sum] = (clineprof.load(tmp_path / name).functions[0].callees
                             for name in ("native.lprof", "again.lprof", "both.lprof"))
    assert sum == {**one, "time": one["time"] + again["time"]} and one["name"] == "time.sleep"
    data = json.loads(run_viewer(["--format", "json", "native.lprof"], tmp_path).out)
    assert data["functions"][0]["lines"][0]["native_time"] > 40e6
    assert data["functions"][0]["callees"] == [one]


@carried
def test_the_object_has_it_too():
    import time

    profiler = clineprof.Profiler(TRACER, memory=False, native=True)

    def f():
        time.sleep(0.05)  # sleeps

    profiler.add_function(f)
    f()
    profiler.stop()
    profile = clineprof.Profile(profiler.snapshot())
    assert called(profile)["sleeps"]["C"] > 40e6
    profiler.close()


@pytest.mark.once
@pytest.mark.skipif(sys.version_info >= (3, 11), reason="the tracer probe tells it")
def test_what_cannot_tell_says_so(tmp_path):
    (tmp_path / "prog.py").write_text(SLEEPS)
    ended = run_ckernprof(["-l", "--native", "prog.py"], tmp_path)
    assert ended.code == 0 and ended.err == NEEDS


NEEDS = "ckernprof: --native needs the tracer probe (CPython 3.11 and newer); C time and library are missing\n"


@pytest.mark.once
def test_other_tracers_say_so(tmp_path):
    (tmp_path / "prog.py").write_text(SLEEPS)
    ended = run_ckernprof(["-l", "--native", "--tracer", "settrace", "-o", "out.lprof", "prog.py"], tmp_path)
    assert ended.code == 0 and ended.err == NEEDS
    refused = run_viewer(["--columns", "library", "out.lprof"], tmp_path)
    assert refused.err == "clineprof: --columns: library was not measured; that takes a run with --native\n"
