# SPDX-License-Identifier: MIT
"""Functions that Cython has compiled with line tracing show their lines, whichever way they are selected; without it one
line says what to do. The modules are compiled here, by the real Cython."""
import json
import shutil
import subprocess
import sys
import textwrap

import clineprof
import pytest
from clineprof._boot import cython as helper
from harness import (BUILD, CKERNPROF, SANITIZED, TRACER, complaints, line_of, run, run_python, steady,
                     tried_again)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="lines of Cython's functions are seen from Python 3.11 on"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler"),
    pytest.mark.skipif(SANITIZED, reason="the compiled module takes long, and is not ours"),
]
SETTRACE_ONLY = sys.version_info < (3, 13)
ENDED = (f"{'Compiled by: Cython'}; its lines are seen when it is compiled with linetrace=True and the C macro "
         "CYTHON_TRACE=1")
TRACERS = ["settrace"] if SETTRACE_ONLY else ["probe", "monitoring", "settrace"]

MODULE = '''\
# cython: linetrace=True, binding=True, language_level=3
import time
NOTES = """
def not_a_function(x):
"""  # don't take this for one: """

cdef double helper(double x):
    cdef double y = x * 2
    return y

def spin(int n):
    total = 0.0
    for i in range(n):
        total += helper(i)
        if i % 2:
            total -= 1
    return total

def numbers(int n):
    for i in range(n):
        yield i

def fails(x):
    try:
        raise ValueError(x)
    except ValueError:
        pass
    raise KeyError(x)

cpdef int fib(int n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

cdef class Box:
    cdef int size

    def __init__(self, size):
        self.size = size

    @property
    def twice(self):
        return self.size * 2

    @staticmethod
    def made(size):
        return Box(size)

class Plain:
    def calls(self, f):
        result = f(3)
        return result

def outer(n):
    def inner(x):
        return x + 1
    return [inner(i) for i in range(n)]

def takes(int size):
    data = bytearray(size)
    return data

def guarded(manager):
    with manager:
        yield 1

async def waits(manager, future):
    async with manager:
        await future

def loops(int n):
    while True:
        if step(&n): break
    return n

cdef bint step(int *n):
    n[0] += 1
    return n[0] > 4

def on_one_line(x): return x + 1

def added(n):
    return sum(i
               for i in range(n))

cdef fused number:
    int
    double

cpdef number doubled(number x):
    return x * 2

def decorator(f):
    import functools
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)
    return wrapper

@decorator
def wrapped(x):
    y = x + 1
    return y

if True:
    def conditional(x):
        return x

cdef double state = 1.0

cdef double work(long n) noexcept nogil:
    global state  # so that no compiler leaves the work out
    cdef long i
    for i in range(n): state = state * 1.0000001 + 1e-9
    return state

def tiny(long n):
    cdef double a = 1, b = 2
    cdef long i
    for i in range(n):
        a = a * b
        b = a + b
        a = b - a
    return a

def timed(long unit):
    now = time.perf_counter
    t0 = now()
    total = work(unit)
    t1 = now()
    total += work(3 * unit)
    t2 = now()
    total += work(2 * unit)
    t3 = now()
    return {"total = work(unit)": t1 - t0, "total += work(3 * unit)": t2 - t1, "total += work(2 * unit)": t3 - t2}
'''
SETUP = """
import sys
from setuptools import Extension, setup
from Cython.Build import cythonize
traced = Extension("traced", ["traced.pyx"], define_macros=[("CYTHON_TRACE", "1")], extra_compile_args=["-O1"])
plain = Extension("plain", ["plain.pyx"], extra_compile_args=["-O0"])
marked = Extension("marked", ["marked.pyx"], define_macros=[("CYTHON_TRACE", "1")], extra_compile_args=["-O0"])
setup(name="them", ext_modules=cythonize([traced, plain, marked], quiet=True), script_args=["build_ext", "--inplace", "-q"])
"""
PLAIN = "# cython: language_level=3\ndef spin(n):\n    return n + 1\n"
MARKED = "# cython: linetrace=True, language_level=3\nfrom builtins import profile\n@profile\ndef spin(n):\n    total = n\n    return total\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the modules `traced`, `plain` and `marked`."""
    pytest.importorskip("Cython", reason="Cython is not installed")
    folder = tmp_path_factory.mktemp("built")
    for name, text in {"traced.pyx": MODULE, "plain.pyx": PLAIN, "marked.pyx": MARKED, "setup.py": SETUP}.items():
        (folder / name).write_text(text)
    ended = subprocess.run([sys.executable, "setup.py"], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder


def ckernprof(folder, program, *options, tracer=None, **more):
    """Runs it in the folder; its profile is `ended.profile`."""
    (folder / "prog.py").write_text(textwrap.dedent(program))
    tracer = ["--tracer", tracer or TRACER] if tracer or TRACER else []
    (folder / "out.lprof").unlink(missing_ok=True)
    ended = run([CKERNPROF, "--python", sys.executable, *tracer, "-l", "-o", "out.lprof", *options, "prog.py"], folder, **more)
    assert ended.code == 0, ended.err
    ended.lprof = clineprof.load(folder / "out.lprof") if (folder / "out.lprof").exists() else None
    return ended


def hits(ended, name):
    """{line's text: its hits} of a function."""
    function, = [function for function in ended.lprof.functions if function.name == name]
    return {line.text.strip(): line.hits for line in function.lines}


def calls(ended, name):
    return sum(edge.calls for edge in ended.lprof.edges if edge.callee.name == name)


def assert_main_ran_once(ended):
    assert calls(ended, "main") == 1
    main, = [function for function in ended.lprof.functions if function.name == "main"]
    assert [line.hits for line in main.lines] == [1] * 21, hits(ended, "main")


PROGRAM = """
import traced
@profile
def main():
    traced.spin(1000)
    list(traced.numbers(5))
    try:
        traced.fails(1)
    except KeyError:
        pass
    traced.fib(6)
    box = traced.Box.made(2)
    box.twice
    traced.Plain().calls(lambda x: x)
    try:
        traced.Plain().calls(lambda x: 1 // 0)
    except ZeroDivisionError:
        pass
    traced.outer(3)
    traced.loops(0)
    traced.on_one_line(1)
    traced.added(3)
    traced.doubled(2), traced.doubled(2.0)
    traced.wrapped(1)
    traced.conditional(1)
main()
"""


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_every_function_of_a_module_has_its_hits(built, tracer):
    ended = ckernprof(built, PROGRAM, "-p", "traced", tracer=tracer)
    assert complaints(ended) == []
    assert hits(ended, "spin") == {
        "total = 0.0": 1, "for i in range(n):": 1001, "total += helper(i)": 1000, "if i % 2:": 1000, "total -= 1": 500,
        "return total": 1}
    assert hits(ended, "helper") == {"cdef double y = x * 2": 1000, "return y": 1000}
    assert hits(ended, "numbers") == {"for i in range(n):": 5, "yield i": 5}
    assert hits(ended, "fails") == {
        "try:": 1, "raise ValueError(x)": 1, "except ValueError:": 1, "pass": 1, "raise KeyError(x)": 1}
    assert hits(ended, "fib") == {"if n < 2:": 25, "return n": 13, "return fib(n - 1) + fib(n - 2)": 12}
    assert hits(ended, "Box.__init__") == {"self.size = size": 1}
    assert hits(ended, "Box.twice") == {"return self.size * 2": 1}
    assert hits(ended, "Box.made") == {"return Box(size)": 1}
    assert hits(ended, "Plain.calls") == {"result = f(3)": 2, "return result": 1}
    assert hits(ended, "outer.<locals>.inner") == {"return x + 1": 3}
    assert hits(ended, "loops")["if step(&n): break"] == 5  # one line that runs again and again
    assert hits(ended, "on_one_line") == {"def on_one_line(x): return x + 1": 1}
    assert hits(ended, "added")["return sum(i"] <= 2  # and not once for each value of the generator expression
    assert hits(ended, "doubled") == {"return x * 2": 2}
    assert hits(ended, "wrapped") == {"y = x + 1": 1, "return y": 1}
    assert hits(ended, "conditional") == {"return x": 1}
    assert "not_a_function" not in [function.name for function in ended.lprof.functions]
    assert_main_ran_once(ended)


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS if not SETTRACE_ONLY else ["probe", "settrace"])
def test_cython_code_that_nobody_selects_changes_no_hits(built, tracer):
    """Since 3.13 trace functions are told of it with the frame of its caller, and monitoring's unwinding is global."""
    ended = ckernprof(built, PROGRAM, tracer=tracer)
    assert [function.name for function in ended.lprof.functions if ".pyx" in function.file] == []
    assert_main_ran_once(ended)


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_calls_within_a_block_count_once_for_the_block(built, tracer):
    ended = ckernprof(built, """
        import traced
        @profile
        def main():
            with profile.block("part"):
                traced.spin(3)
                text = "behind"
            return text
        profile(traced.fib)
        main()
        """, tracer=tracer)
    assert hits(ended, "part") == {"traced.spin(3)": 1, 'text = "behind"': 1}
    assert set(hits(ended, "main").values()) <= {1, 2} and hits(ended, "main")["traced.spin(3)"] == 1
    assert calls(ended, "main") == calls(ended, "part") == 1


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_functions_are_selected_by_hand_and_by_the_decorator(built, tracer):
    ended = ckernprof(built, """
        import marked, traced
        profile(traced.spin)
        profile.add_function(traced.Box.made)
        profile(traced.Plain)
        marked.spin(2)
        traced.spin(2)
        traced.Box.made(1)
        traced.Plain().calls(len_of := (lambda x: x))
        """, tracer=tracer)
    assert {function.name for function in ended.lprof.functions} == {"spin", "Box.made", "Plain.calls"}
    assert sorted(function.file.rpartition("/")[2] for function in ended.lprof.functions if function.name == "spin") == [
        "marked.pyx", "traced.pyx"]
    marked, = [function for function in ended.lprof.functions if function.file.endswith("marked.pyx")]
    assert {line.text.strip(): line.hits for line in marked.lines} == {"total = n": 1, "return total": 1}
    assert marked.line == 3  # as the code says, the line of the decorator
    assert hits(ended, "Box.made") == {"return Box(size)": 1}


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_wrapped_and_fused_functions_are_selected_by_hand(built, tracer):
    ended = ckernprof(built, """
        import traced
        profile(traced.wrapped), profile(traced.doubled), profile(traced.added)
        traced.wrapped(1), traced.doubled(2), traced.doubled(2.0), traced.added(3)
        """, tracer=tracer)
    assert complaints(ended) == []
    assert hits(ended, "wrapped") == {"y = x + 1": 1, "return y": 1}
    assert hits(ended, "doubled") == {"return x * 2": 2}
    assert hits(ended, "added")["return sum(i"] <= 2  # and not once for each value of the generator expression


@pytest.mark.once
@pytest.mark.parametrize("tracer", [tracer for tracer in TRACERS if tracer != "settrace" or SETTRACE_ONLY])
def test_what_is_thrown_into_generators_and_coroutines_is_as_without(built, tracer):
    """Cython sends events with the exception set. (Since 3.13 any trace function makes it fail, with clineprof or
    without.)"""
    program = """
        import asyncio, contextlib, traced
        for thing in "spin", "guarded":
            getattr(__import__("builtins"), "profile", lambda f: f)(getattr(traced, thing))
        @contextlib.contextmanager
        def told():
            try:
                yield
            finally:
                print("left")
        for value in traced.guarded(told()):
            break
        del value
        begun = traced.guarded(told())
        next(begun)
        begun.close()
        for fresh in traced.guarded(told()), traced.numbers(3):
            try:
                fresh.throw(KeyError("thrown"))
            except KeyError as error:
                print(error)
        async def cancelled():
            try:
                await asyncio.wait_for(traced.waits(asyncio.Lock(), asyncio.sleep(9)), .02)
            except asyncio.TimeoutError:
                print("timeout")
            task = asyncio.ensure_future(traced.waits(asyncio.Lock(), asyncio.sleep(9)))
            task.cancel()
            print(await asyncio.gather(task, return_exceptions=True))
        asyncio.run(cancelled())
        traced.spin(3)
        """
    ended = ckernprof(built, program, "-q", tracer=tracer)
    plain = run_python(["prog.py"], built)
    assert (ended.out, ended.err) == (plain.out, plain.err)
    assert hits(ended, "spin")["total += helper(i)"] == 3


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_modules_whose_files_have_one_name_are_told_apart(built, tracer, tmp_path):
    for name in "one", "two":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.pyx").write_text(f"# cython: linetrace=True, language_level=3\ninclude 'impl.pxi'\n")
        (tmp_path / name / "impl.pxi").write_text(f"def run_{name}(n):\n    for i in range(n):\n        m = n\n    return n\n")
        (tmp_path / name / "setup.py").write_text(
            "from setuptools import Extension, setup\nfrom Cython.Build import cythonize\n"
            f"setup(name='it', ext_modules=cythonize([Extension('{name}', ['{name}.pyx'], define_macros="
            "[('CYTHON_TRACE', '1')])], quiet=True), script_args=['build_ext', '--inplace', '-q'])\n")
        made = subprocess.run([sys.executable, "setup.py"], cwd=tmp_path / name, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
    ended = ckernprof(tmp_path, """
        import sys
        sys.path[:0] = ["one", "two"]
        import one, two
        profile(one.run_one), profile(two.run_two)
        one.run_one(2), two.run_two(10)
        """, tracer=tracer)
    assert hits(ended, "run_one")["return n"] == hits(ended, "run_two")["return n"] == 1
    assert (hits(ended, "run_one")["m = n"], hits(ended, "run_two")["m = n"]) == (2, 10)


@pytest.mark.once
@pytest.mark.skipif(SETTRACE_ONLY, reason="no id of sys.monitoring is needed before Python 3.13")
def test_without_an_id_of_monitoring_the_program_runs_and_is_told(built):
    ended = ckernprof(built, """
        import sys
        for tool in range(6):
            if sys.monitoring.get_tool(tool) is None:
                sys.monitoring.use_tool_id(tool, "another")
        import traced
        profile(traced.spin)
        print(traced.spin(2))
        """)
    assert ended.out.splitlines()[0] == "1.0"
    assert "lines of Cython's functions are not seen, because other tools hold all six ids of sys.monitoring" in ended.err


@pytest.mark.once
@pytest.mark.skipif(SETTRACE_ONLY, reason="its tracer is not settrace")
def test_line_profilers_class_takes_them(built):
    (built / "prog.py").write_text(textwrap.dedent("""
        import traced
        from clineprof import LineProfiler
        profiler = LineProfiler(traced.spin, traced.Plain.calls)
        profiler.enable()
        traced.spin(3)
        profiler.disable()
        print({key[2]: len(rows) for key, rows in profiler.get_stats().timings.items()})
        """))
    ended = run_python(["prog.py"], built, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.err == ""
    assert "'spin': 6" in ended.out


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_threads_recursion_and_generators_side_by_side(built, tracer):
    ended = ckernprof(built, """
        import threading, traced
        profile(traced.numbers), profile(traced.fib)
        def run():
            a, b = traced.numbers(50), traced.numbers(50)
            for _ in zip(a, b):
                traced.fib(5)
        threads = [threading.Thread(target=run) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """, tracer=tracer)
    # zip() takes 51 values of `a`, of which the last does not come, and 50 of `b`
    assert hits(ended, "numbers") == {"for i in range(n):": 400, "yield i": 400}
    assert hits(ended, "fib") == {"if n < 2:": 15 * 200, "return n": 8 * 200, "return fib(n - 1) + fib(n - 2)": 7 * 200}


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_counting_stops_and_goes_on(built, tracer):
    (built / "prog.py").write_text(textwrap.dedent(f"""
        import json, traced
        from clineprof import Profiler
        p = Profiler(tracer={tracer!r})
        p.add_function(traced.spin)
        traced.spin(3)  # a Profiler counts from the start
        p.start(); traced.spin(4); p.stop()
        traced.spin(5)
        p.start(); traced.spin(6)
        p.remove_function(traced.spin); traced.spin(7); p.stop()
        f, = p.snapshot()["functions"]
        print(json.dumps(dict(zip(f["lines"]["line"], f["lines"]["hits"]))))
        """))
    ended = run_python(["prog.py"], built, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.err == ""
    loop = line_of(built / "traced.pyx", "        total += helper(i)")
    assert json.loads(ended.out)[str(loop)] == 3 + 4 + 6


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
@tried_again
def test_times_are_those_that_the_function_measures_itself(built, tracer):
    ended = ckernprof(built, """
        import json, traced
        profile(traced.timed)
        print(json.dumps(traced.timed(2_000_000)))
        """, "--no-memory", tracer=tracer)
    truth = json.loads(ended.out.splitlines()[0])
    function, = ended.lprof.functions
    found = {line.text.strip(): line.self for line in function.lines if line.text.strip() in truth}
    for text, seconds in truth.items():
        steady(abs(found[text] / sum(found.values()) - seconds / sum(truth.values())) < 0.02, found, truth)


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
@tried_again
def test_what_an_event_costs_is_taken_off(built, tracer):
    """Each line is one instruction of C, so nearly all of the time that the clock saw is the events'. Beside a busy
    hyperthread they take nearly twice the time that was measured when the run started."""
    ended = ckernprof(built, "import traced\nprofile(traced.tiny)\ntraced.tiny(20_000)\n", "--no-memory", "--cpu",
                      tracer=tracer)
    function, = ended.lprof.functions
    assert hits(ended, "tiny") == {"cdef double a = 1, b = 2": 1, "for i in range(n):": 20_000, "a = a * b": 20_000,
                                   "b = a + b": 20_000, "a = b - a": 20_000, "return a": 1}
    waited = sum(line.wait for line in function.lines)
    steady(function.total - waited < 0.4 * (function.raw_total - waited), function.total, function.raw_total, waited)


@pytest.mark.once
@pytest.mark.parametrize("tracer", TRACERS)
def test_memory_is_that_of_the_line(built, tracer):
    ended = ckernprof(built, "import traced\nprofile(traced.takes)\nkept = traced.takes(64 << 20)\n", tracer=tracer)
    function, = ended.lprof.functions
    increments = {line.text.strip(): line.increment for line in function.lines}
    assert abs(increments["data = bytearray(size)"] - (64 << 20)) < 1 << 20


# ---- what cannot be seen is said ----


@pytest.mark.once
def test_a_function_without_line_tracing_says_what_to_do(built):
    ended = ckernprof(built, "import plain\nprofile(plain.spin)\nplain.spin(1)\n", "-v", tracer=TRACERS[0])
    assert ENDED in ended.out
    assert complaints(ended) == [
        f"ckernprof: spin, {built}/plain.pyx:2, was compiled by Cython; {ENDED.partition('; ')[2]}",
        "ckernprof: nothing was profiled, and no profile is written: no line of a selected function was seen: "
        "spin was compiled by Cython"]
    ended = ckernprof(built, "import plain\nplain.spin(1)\n", "-p", "plain", tracer=TRACERS[0])
    assert complaints(ended)[0] == f"ckernprof: -p plain: it was compiled by Cython; {ENDED.partition('; ')[2]}"


@pytest.mark.once
@pytest.mark.skipif(not SETTRACE_ONLY, reason="every tracer sees them since Python 3.13")
def test_a_tracer_that_does_not_hear_of_lines_says_which_one_does(built):
    why = "was compiled by Cython, whose lines only --tracer settrace sees before Python 3.13"
    ended = ckernprof(built, "import traced\nprofile(traced.spin)\ntraced.spin(1)\n", tracer="probe")
    assert f"{why}; it is not profiled" in ended.err
    ended = ckernprof(built, "import traced\ntraced.spin(1)\n", "-p", "traced", tracer="probe")
    assert complaints(ended)[0] == f"ckernprof: -p traced: it {why}"


@pytest.mark.once
def test_source_that_is_not_there_costs_only_the_text(built, tmp_path):
    for file in built.glob("traced.*.so"):
        shutil.copy(file, tmp_path)
    ended = ckernprof(tmp_path, "import traced\nprofile(traced.spin)\ntraced.spin(4)\n", "-v", tracer=TRACERS[0])
    function, = ended.lprof.functions
    assert function.source is None and sum(line.hits for line in function.lines) == 1 + 5 + 4 + 4 + 2 + 1


# ---- reading Cython's language ----


@pytest.mark.once
@pytest.mark.parametrize("text, found", [
    ("def f(x):\n  pass\n", [("f", 1)]),
    ("async def f(x):\n  pass\n", [("f", 1)]),
    ("@a\n@b(\n 1)\ndef f(x): pass\n", [("f", 1)]),
    ("x = 1\n\n@a\n# note\ndef f(x): pass\n", [("f", 3)]),
    ("cdef int f(int x) except -1 nogil:\n  pass\n", [("f", 1)]),
    ("cdef inline vector[int] f(int x,\n     int y=(1)):  # note\n  pass\n", [("f", 1)]),
    ("cpdef f(x):\n  pass\n", [("f", 1)]),
    ("cdef int x = f(3)\ncdef extern from 'x.h':\n  int g(int)\n", []),
    ("cdef int f(int x)\n", []),  # a declaration
    ("cdef class A:\n  cdef int x\n  def f(self): pass\n  cdef g(self): pass\ndef h(): pass\n",
     [("A.f", 3), ("A.g", 4), ("h", 5)]),
    ("def f():\n  class A:\n    def g(self): pass\n", [("f", 1), ("f.<locals>.A.g", 3)]),
    ('"""\ndef f():\n"""\ndef g(): pass\n', [("g", 4)]),
    ('X = "\'\'\'"\n# it\'s """ unbalanced\ndef f(): pass\n', [("f", 3)]),
    ("cdef int f(int x):\n  return x\nif X:\n  def g(): pass\n", [("f", 1), ("g", 4)]),
    ("def f(\n  x\n):\n  def g(): pass\n", [("f", 1), ("f.<locals>.g", 4)]),
    ("# def f():\ndefine(3)\nclassy(1)\n", []),
])  # fmt: skip
def test_functions_are_found_in_a_text(text, found):
    assert helper.defined_in(text) == found
