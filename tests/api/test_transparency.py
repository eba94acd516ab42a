# SPDX-License-Identifier: MIT
"""A program cannot tell that it is profiled: every program in fixtures/transparency prints what it
sees of itself, under each tracer the same as under plain python, byte for byte, and its hits are
those of the reference counter. Its asserts hold either way."""

import functools
import re
import sys

import pytest
from harness import (
    BUILD,
    CKERNPROF,
    FIXTURES,
    SANITIZED,
    Profile,
    differences,
    own_messages_removed,
    reference,
    run,
    run_python,
)

pytestmark = pytest.mark.once  # each test here runs with every tracer by itself

PROGRAMS = FIXTURES / "transparency"
STATUS = {"tracebacks": 1, "interruptions": 7}  # what they end with; the others: 0
# sets of strings print in the same order, caches do not tell the second run from the first
STEADY = {"PYTHONHASHSEED": "0"}
# What runs as a copy of profiled code: the reference counter knows code objects, not what they are copies of.
# By name and line within the function, counted by hand. types.coroutine makes such copies.
COPIED = {
    "objects": {"old_coroutine": {4: 1, 5: 1}},
    "suspending": {"bare_yield": {4: 8, 5: 4}},  # four of eight end by an exception
    "copies": {"copied": {3: 2, 4: 2, 5: 2, 7: 2}, "renamed": {3: 1, 4: 1}},
    "collected": {"simple": {3: 10_000, 4: 10_000}},  # 5,000 copies, twice
}
# What the tracers may count differently, and why:
UNCOUNTED = {
    # the frame that selects its own function: sys.settrace hears of it at its next call only
    ("suspending", "settrace"): {"profiled_late.<locals>.itself"},
}
if sys.version_info < (3, 12):  # there, what is suspended when it is selected keeps its old code
    UNCOUNTED["suspending", "probe"] = {"profiled_late.<locals>.begun"}


def tracers():
    """Those that the interpreter under test has."""
    ask = "import clineprof._core as core; print(*core.tracers())"
    ended = run_python(["-c", ask], ".", env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 0, ended.err
    return ended.out.split()


TRACERS = tracers()
every_tracer = pytest.mark.parametrize("tracer", TRACERS)


def profiled(tracer, arguments, folder, **options):
    """Runs a program with this tracer, through the launcher."""
    command = [CKERNPROF, "--python", sys.executable, "--tracer", tracer, "-l"]
    return run([*command, *arguments], folder, **steady(options))


def bare(arguments, folder, **options):
    return run_python(arguments, folder, **steady(options))


def steady(options):
    return {**options, "env": {**STEADY, **options.get("env", {})}}


def without_addresses(text):
    return re.sub(r"0x[0-9a-fA-F]+", "0x..", text)


def assert_same(ours, theirs):
    """Both printed and ended alike. The first line that differs is named first."""
    for found, expected in ((ours.err, theirs.err), (own_messages_removed(ours.out), theirs.out)):
        found, expected = without_addresses(found), without_addresses(expected)
        for line, expected_line in zip(found.splitlines(), expected.splitlines()):
            assert line == expected_line
        assert found == expected
    assert ours.code == theirs.code


@pytest.fixture(scope="module")
def run_bare(tmp_path_factory):
    """run_bare(name, ..): what this program does under plain python, run once for all tracers."""
    folder = tmp_path_factory.mktemp("bare")
    return functools.cache(lambda name, *more: bare([PROGRAMS / f"{name}.py", *more], folder))


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """counted(name, ..): the hits of this program according to the reference counter."""
    folder = tmp_path_factory.mktemp("reference")
    return functools.cache(
        lambda name, *more: reference(PROGRAMS / f"{name}.py", folder, more, **steady({}))[0]
    )


NAMES = [
    "objects",
    "introspection",
    "tracebacks",
    "frames",
    "suspending",
    "interruptions",
    "classes",
    "copies",
    "collected",
    "modules",
]


def compare(name, tracer, ours, theirs, expected):
    """A run under the profiler, one under plain python, and the hits of the reference counter."""
    if SANITIZED and name == "collected":
        pytest.skip("AddressSanitizer keeps freed memory")
    assert theirs.code == STATUS.get(name, 0), theirs.err
    assert_same(ours, theirs)
    assert ours.profile().meta["tracer"] == tracer
    left_out = UNCOUNTED.get((name, tracer), set())

    def comparable(hits):
        return {key: lines for key, lines in hits.items() if key[2] not in left_out}

    assert comparable(expected), "nothing is counted"
    found = differences(comparable(ours.profile().hits()), comparable(with_copies(name, expected)))
    assert "\n".join(found) == ""


def with_copies(name, hits):
    """.. and the hits of copies. Lines are counted from the function's first, which is the decorator's."""
    more = COPIED.get(name, {})
    return {
        key: {n: lines.get(n, 0) + more.get(key[2], {}).get(n - key[1] + 1, 0) for n in range(key[1], key[1] + 40)}
        if key[2] in more
        else lines
        for key, lines in hits.items()
    }


@every_tracer
@pytest.mark.parametrize("name", NAMES)
def test_program(name, tracer, tmp_path, run_bare, counted):
    ours = profiled(tracer, [PROGRAMS / f"{name}.py"], tmp_path)
    compare(name, tracer, ours, run_bare(name), counted(name))


@pytest.mark.parametrize("name", NAMES)
def test_program_that_is_not_the_script(name, tmp_path, run_bare, counted):
    """With the preferred tracer, which may read the script before it runs, but not other code."""
    program = PROGRAMS / f"{name}.py"
    ours = profiled(TRACERS[0], [PROGRAMS / "runs.py", program], tmp_path)
    compare(name, TRACERS[0], ours, run_bare("runs", program), counted("runs", program))


@every_tracer
def test_introspection_of_decorated_functions(tracer, script, tmp_path):
    """That program selects its functions while they exist; here they are decorated."""
    text = (PROGRAMS / "introspection.py").read_text()
    path = script(re.sub(r"^(?=(async )?def |@decorators)", "@profile\n", text, flags=re.M))
    theirs = bare([path], tmp_path)
    assert (theirs.code, theirs.err) == (0, "") and len(theirs.out.splitlines()) > 300
    assert_same(profiled(tracer, [path], tmp_path), theirs)


@every_tracer
def test_timer(tracer, tmp_path, run_bare):
    """Where it comes is chance: only what ran undisturbed is counted exactly. The reference counter
    would lose its own events here."""
    ours = profiled(tracer, [PROGRAMS / "timers.py"], tmp_path)
    assert_same(ours, run_bare("timers"))
    hits = Profile.measure(ours.profile().function("steady"), "hits")
    assert list(hits.values()) == [100, 400, 300, 100]


@every_tracer
def test_recursion(tracer, tmp_path, run_bare):
    """The reference counter, itself in Python, would run out of levels sooner."""
    ours = profiled(tracer, [PROGRAMS / "recursion.py"], tmp_path)
    assert_same(ours, run_bare("recursion"))
    hits = Profile.measure(ours.profile().function("down"), "hits")
    assert list(hits.values()) == [3 * 21 + 2 * 5001, 3 * 20 + 2 * 5000, 3 + 2]


DEEP = """
import operator, sys
def generator(n):
    if n:
        for x in generator(n - 1):
            yield x
    yield n
def function(n):
    return n and function(n - 1)
def deepest(levels):
    low, high = 1, 3000
    while high - low > 1:
        middle = (low + high) // 2
        try:
            levels(middle)
            low = middle
        except RecursionError:
            high = middle
    return low
if sys.argv[1:]:  # a tool in C that does nothing
    monitoring = sys.monitoring
    monitoring.use_tool_id(5, "nothing")
    monitoring.register_callback(5, monitoring.events.LINE, operator.eq)
    monitoring.set_events(5, monitoring.events.LINE)
profile = __builtins__.__dict__.get("profile", lambda function: function)
profile(generator), profile(function)
print(deepest(lambda n: sum(generator(n))), deepest(function))
"""


@every_tracer
def test_depth_of_recursion(tracer, script, tmp_path):
    """With probes as deep as alone. The other tracers need events of lines: as deep as with a tool that
    has them and does nothing."""
    path = script(DEEP)
    alone = bare([path], tmp_path)
    ours = profiled(tracer, [path], tmp_path)
    assert (alone.err, ours.err) == ("", "")
    depth, ours = alone.out.split(), own_messages_removed(ours.out).split()
    if tracer != "probe" and sys.version_info >= (3, 12):
        depth = bare([path, "tool"], tmp_path).out.split()
    least = [int(number) for number in depth]
    least[0] -= tracer == "settrace" and sys.version_info[:2] == (3, 11)  # as with any trace function in C
    assert len(least) == 2 and [max(int(n), m) for n, m in zip(ours, least)] == [int(n) for n in ours]


YOUNG = """\
import builtins, gc

profile = getattr(builtins, "profile", lambda function: function)

@profile
def turns(n):
    for i in range(n):
        yield i

@profile
def make(kept):
    for i in range(1000):
        kept.append([sum(turns(3))])
        try:
            raise ValueError
        except ValueError:
            pass

gc.disable()
kept = []
make(kept)  # from now on none of the lists that the interpreter keeps for reuse is left
before = gc.get_count()
make(kept)
print(gc.get_count()[0] - before[0])
"""


@every_tracer
def test_counting_makes_no_young_objects(tracer, script, tmp_path):
    """Automatic collections come after so many of them."""
    path = script(YOUNG)
    theirs = bare([path], tmp_path)
    assert theirs.out == "1000\n"
    ours = profiled(tracer, [path], tmp_path)
    # since 3.12 collections begin between instructions, and these are other ones where something is watched
    assert abs(int(own_messages_removed(ours.out)) - 1000) <= (sys.version_info >= (3, 12)) and (ours.err, ours.code) == ("", 0)


# Prints whether the frame of a generator becomes an object only where the program's trace function asks for it: that
# object is the first thing that is made after collections were switched on.
FRAMES = """\
import builtins, gc, sys

profile = getattr(builtins, "profile", lambda function: function)

def trace(frame, event, argument):
    pass

def callback(phase, info):
    seen.append(sys._getframe().f_back)
    gc.callbacks.remove(callback)

@profile
def forever():
    while True:
        yield

@profile
def main():
    gc.disable()
    generator = forever()
    next(generator)
    gc.collect()
    gc.set_threshold(1, 0, 0)
    sys.settrace(trace)
    gc.callbacks.append(callback)
    gc.enable()
    next(generator)
    sys.settrace(None)
    print(seen == [generator.gi_frame])

seen = []
main()
"""


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="until 3.10 each frame is an object; since 3.12 no collection "
                    "begins where one becomes an object")
@pytest.mark.parametrize("tracer", sorted({*TRACERS, "light"} - {"settrace"}))
def test_counting_makes_no_objects_of_frames(tracer, script, tmp_path):
    """The making of an object may begin a collection, at once."""
    path = script(FRAMES)
    theirs = bare([path], tmp_path)
    assert theirs.out == "True\n"
    assert_same(profiled(tracer, [path], tmp_path), theirs)


THROWS = """
def generator(n):
    yield n
if "profile" in dir(__builtins__): profile(generator)
try:
    generator(1).throw(LookupError)
except LookupError as error:
    step = error.__traceback__.tb_next
    print(step.tb_lineno, step.tb_frame.f_lineno)
list(generator(1))
"""


@pytest.mark.parametrize(
    "tracer",
    # 3.15 forgets the line when anything watches the function, be it sys.monitoring or sys.settrace
    [tracer for tracer in TRACERS if tracer == "probe" or sys.version_info < (3, 15)],
)
def test_line_of_a_generator_that_never_began(tracer, script, tmp_path):
    path = script(THROWS)
    expected = bare([path], tmp_path)
    assert expected.out.split()[0] == "2"
    assert_same(profiled(tracer, [path], tmp_path), expected)


READS_CODE = """
import io, pickle, types
make_code = types.CodeType
code, generator = pickle.load(open("code.pickle", "rb"))
print(types.FunctionType(code, globals())(4), list(types.FunctionType(generator, globals())(2)))
print(code.co_name, code.co_varnames, code.co_firstlineno, code.co_consts[0])
"""


@every_tracer
def test_code_pickled_by_value_is_read_where_there_is_no_clineprof(tracer, tmp_path, run_bare):
    ours = profiled(tracer, [PROGRAMS / "copies.py"], tmp_path)
    theirs = run_bare("copies")
    assert (ours.code, ours.err) == (0, "")
    read, expected = (bare(["-c", READS_CODE], ended.folder) for ended in (ours, theirs))
    assert_same(read, expected)
    assert expected.out.startswith("([0, 2, 4") and expected.code == 0


MARSHALS = """
import marshal
@profile
def function(n):
    return n + 1
print(function(1))
text = marshal.dumps(function.__code__)
print(type(function)(marshal.loads(text), {})(2))
"""


@every_tracer
def test_marshal(tracer, script, tmp_path):
    """marshal knows no hook: code with probes in it is refused, as documented, never written."""
    ours = profiled(tracer, [script(MARSHALS)], tmp_path)
    if tracer == "probe":
        assert own_messages_removed(ours.out) == "2\n" and ours.code == 1
        assert ours.err.endswith("\nValueError: unmarshallable object\n")
    else:
        assert (own_messages_removed(ours.out), ours.err, ours.code) == ("2\n3\n", "", 0)


INTERPRETERS = """
import builtins
from concurrent.futures import InterpreterPoolExecutor
profile = getattr(builtins, "profile", lambda function: function)    # nobody profiles in the other one
@profile
def function(n):
    return n + 1
def make():
    @profile
    def nested(n):
        return n + 2
    return nested
if __name__ == "__main__":
    print(function(0))
    with InterpreterPoolExecutor(1) as pool:
        print(pool.submit(function, 1).result())
        try:
            print(pool.submit(make(), 1).result())
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="no InterpreterPoolExecutor")
@every_tracer
def test_another_interpreter(tracer, script, tmp_path):
    """It imports a function that has a name, and counts nothing. One without is sent by its code, and that is
    refused, as documented."""
    ours = profiled(tracer, [script(INTERPRETERS)], tmp_path)
    assert (own_messages_removed(ours.out), ours.err, ours.code) == (
        "1\n2\nNotShareableError\n", "", 0)  # fmt: skip
    [hits] = [sum(of.values()) for key, of in ours.profile().hits().items() if key[2] == "function"]
    assert hits == 1


@every_tracer
def test_compiled_modules_are_untouched(tracer, script, tmp_path):
    """The cached bytecode of an imported module with profiled functions is that of plain python."""
    script("@profile\ndef function(n):\n    return [n\n for n in range(n)]\n", "imported.py")
    path = script("import imported; print(imported.function(2), imported.__spec__.cached[-4:])\n")
    plain = script(
        "import builtins; builtins.profile = lambda f: f\nimport imported\n", "plain.py"
    )
    written = []
    for name in "ours", "theirs", "again":
        cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / name)}
        if name == "theirs":
            ended = bare([plain], tmp_path, env=cache)
        else:  # the last time it is there already: the profiler works on loaded code as well
            cache["PYTHONPYCACHEPREFIX"] = str(tmp_path / ("ours" if name == "ours" else "theirs"))
            ended = profiled(tracer, [path], tmp_path, env=cache)
            assert own_messages_removed(ended.out) == "[0, 1] .pyc\n"
            assert sum(ended.profile().hits().popitem()[1].values()) >= 3
        assert (ended.code, ended.err) == (0, "")
        [found] = (tmp_path / cache["PYTHONPYCACHEPREFIX"]).rglob("imported*.pyc")
        written.append(found.read_bytes())
    assert written[0] == written[1] == written[2]


CLOUDPICKLES = """
import cloudpickle, builtins
if not hasattr(builtins, "profile"): builtins.profile = lambda function: function
@profile
def function(n):
    inner = lambda m: [n, m]
    try:
        return inner(1) + inner(2)
    finally:
        n = 0
class Thing:
    @profile
    def method(self):
        return function(5)
    @property
    @profile
    def value(self):
        yield from self.method()
print(function(3), list(Thing().value))
text = cloudpickle.dumps((function, Thing, function(4)))
open("cloud.pickle", "wb").write(text)
again, Again, _ = cloudpickle.loads(text)
print(again(3), list(Again().value), again.__name__, again.__qualname__, again.__module__)
"""
READS_CLOUD = """
import pickle
function, Thing, result = pickle.load(open("cloud.pickle", "rb"))
print(function(6), list(Thing().value), result)
"""


@every_tracer
def test_cloudpickle(tracer, script, tmp_path):
    pytest.importorskip("cloudpickle", reason="cloudpickle, which pickles by value, is not here")
    path = script(CLOUDPICKLES)
    ours, expected = profiled(tracer, [path], tmp_path), bare([path], tmp_path)
    assert_same(ours, expected)
    assert expected.code == 0, expected.err
    profiled(tracer, [path], tmp_path)  # the pickle that is read was written under the profiler
    read = bare(["-c", READS_CLOUD], tmp_path)
    assert (read.err, read.out) == ("", "[6, 1, 6, 2] [5, 1, 5, 2] [4, 1, 4, 2]\n")


@every_tracer
def test_what_the_program_raises_while_a_profiler_is_made_stays_that(tracer, tmp_path):
    """A handler of a signal, or an audit hook, may raise while the costs of events are measured."""
    (tmp_path / "it.py").write_text(f"""
import sys, clineprof
class Stop(Exception): pass
raised = []
def hook(event, arguments):
    if event == "compile" and arguments[1] == "<clineprof calibration>" and len(raised) < 2:
        raised.append(event)
        if len(raised) == fails:
            raise Stop
sys.addaudithook(hook)
for fails in 1, 2:      # the bare copy of the program, and the one that is selected
    raised.clear()
    try: clineprof.Profiler(tracer={tracer!r}, memory=False)
    except BaseException as error: print(repr(error))
print(clineprof.Profiler(tracer={tracer!r}, memory=False).running)
""")
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.err, ended.out) == ("", "Stop()\nStop()\nTrue\n")


STACKS = """\
import gc, weakref
from clineprof._attach.window import _stacks

class Held:
    pass

def holds():
    held = Held()
    print([name for name, _ in _stacks()])
    return weakref.ref(held)

gc.disable()
print(holds()() is None)
"""


def test_telling_the_stacks_keeps_no_frame(script, tmp_path):
    """As `clineprof attach` asks for them, in the midst of the program. With the collector off they die at once."""
    ended = bare([script(STACKS)], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == ("['MainThread']\nTrue\n", "")
