# SPDX-License-Identifier: MIT
"""LineProfiler, LineStats and the module line_profiler: what line_profiler's users rely on. Where the
original is installed the same program runs with both, and must print the same."""
import pickle
import re
import sys

import pytest
from harness import BUILD, TRACER, run_ckernprof, run_python

HEAD = f"""
import asyncio, functools, io, os, sys, threading, types, warnings
import clineprof
leader = clineprof.Profiler(tracer={TRACER!r}, memory=False)  # others follow its tracer
from clineprof.line_profiler import LineProfiler, LineStats, load_stats, show_func
import clineprof.line_profiler as line_profiler

def hits(profiler):
    "name of function: hits of its lines"
    return {{name.rpartition(".")[2]: [row[1] for row in rows]
            for (_, _, name), rows in profiler.get_stats().timings.items()}}
"""
OURS = "import clineprof.line_profiler as line_profiler\n"
THEIRS = "import line_profiler, line_profiler.line_profiler\n"


def run(program, folder, head=HEAD, name="it.py", **more):
    (folder / name).write_text(head + program, "utf-8")
    return run_python([name], folder, env={"PYTHONPATH": str(BUILD / "python")}, **more)


def printed(program, folder, **more):
    ended = run(program, folder, **more)
    assert (ended.err, ended.code) == ("", 0)
    return ended.out.splitlines()


def same_with_both(program, folder):
    """What the program prints; it must be the same with the original."""
    pytest.importorskip("line_profiler")
    ours = run(program, folder, head=OURS)
    theirs = run(program, folder, head=THEIRS)
    assert (theirs.err, theirs.code) == ("", 0)
    assert (ours.err, ours.code) == ("", 0)
    ours.out, theirs.out = (re.sub(r"id=\d+", "id=#", ended.out) for ended in (ours, theirs))
    assert ours.out == theirs.out
    return ours.out


# ---- strangers' uses ------------------------------------------------------------------------


def test_a_cached_function_is_counted_and_keeps_its_cache(tmp_path):
    assert printed("""
p = LineProfiler()
@p
@functools.lru_cache(maxsize=2, typed=True)
def double(n):
    return 2 * n
double.mine = 5
again = p(double)
class Thing:
    @functools.cache
    def triple(self):
        return 3
p.add_class(Thing, wrap=True)
thing = Thing()
print(double(1), double(1), double(1.0), again is double, thing.triple(), thing.triple())
print(double.cache_info()[0], double.cache_parameters(), double.mine, double.__name__)
print(double.__wrapped__(7), Thing.triple.cache_info()[0], hits(p))
""", tmp_path) == [
        "2 2 2.0 True 3 3",
        "1 {'maxsize': 2, 'typed': True} 5 double",
        "14 1 {'double': [3], 'triple': [1]}",
    ]


def test_warnings_are_about_the_line_of_the_user(tmp_path):
    ended = run("""
p = LineProfiler()
@functools.wraps(len)
def spam(): pass
for way in "p(spam)", "p.add_function(spam)", "p.add_function(len)", "LineProfiler(len)":
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        exec(compile(way, way, "exec"))
    print([(w.filename == way, w.category.__name__) for w in seen])
""", tmp_path)
    assert (ended.err, ended.out) == ("", "[(True, 'UserWarning')]\n" * 4)


def test_a_line_that_did_not_begin_has_no_time_per_hit(tmp_path):
    out = printed("LineStats({('gone.py', 2, 'spam'): [(2, 0, 0), (3, 0, 4)]}, 1e-6).print()", tmp_path)
    assert [line.split() for line in out[-3:-1]] == [
        ["2", "0", "0.0", "0.0", "0.0"], ["3", "0", "4.0", "4.0", "100.0"]]


# ---- callables of every kind -----------------------------------------------------------------


def test_every_kind_of_callable_is_counted_and_stays_of_its_kind(tmp_path):
    assert printed("""
p = LineProfiler()
def plain(a, b=2):
    return a + b
class Thing:
    def __init__(self):
        self.n = 0
    def method(self):
        return 3
    @p
    @classmethod
    def made(cls):
        return cls
    @p
    @staticmethod
    def loose():
        return 4
    @p
    @property
    def value(self):
        return 5
    @p
    @functools.cached_property
    def cached(self):
        return 6
    def base(self, n):
        return n
    part = p(functools.partialmethod(base, 7))
class Called:
    def __call__(self):
        return 8
thing = Thing()
method, partial, called = p(thing.method), p(functools.partial(plain, 1)), p(Called())
assert type(method) is types.MethodType and method() == 3
assert type(partial) is functools.partial and partial() == 3 and partial(b=4) == 5
assert called() == 8
assert Thing.made() is Thing and thing.loose() == 4 and thing.value == 5 and thing.part() == 7
assert thing.cached == 6 and thing.cached == 6
for name, kind in dict(made=classmethod, loose=staticmethod, value=property,
                       cached=functools.cached_property, part=functools.partialmethod).items():
    assert type(vars(Thing)[name]) is kind, name
@p
def wrapped():
    "The text."
    return 9
assert wrapped() == 9 and wrapped.__doc__ == "The text." and p(wrapped) is wrapped
assert plain(1) == 3  # not through a wrapper: not counted
print(hits(p))
print([f.__name__ for f in p.functions], p.enable_count)
""", tmp_path) == [
        "{'made': [1], 'loose': [1], 'value': [1], 'cached': [1], 'base': [1], 'method': [1], "
        "'plain': [2], '__call__': [1], 'wrapped': [1]}",
        "['made', 'loose', 'value', 'cached', 'base', 'method', 'plain', '__call__', 'wrapped'] 0",
    ]


def test_generators_and_coroutines_keep_what_they_do(tmp_path):
    assert printed("""
p = LineProfiler()
@p
def gen(n):
    try:
        got = yield n
    except ValueError as error:
        got = str(error)
    return got
def all_of(g):
    return (yield from g)
def end_of(step):
    try:
        step()
    except StopIteration as end:
        return end.value
g = all_of(gen(1)); assert next(g) == 1 and p.enable_count == 0
assert end_of(lambda: g.send("sent")) == "sent"
g = all_of(gen(2)); next(g)
assert end_of(lambda: g.throw(ValueError("thrown"))) == "thrown"
g = gen(3); next(g); g.close()
@p
async def coro(n):
    await asyncio.sleep(n)
    return 5
async def cancelled():
    task = asyncio.ensure_future(coro(60))
    await asyncio.sleep(0)
    assert p.enable_count == 0
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return "cancelled"
assert asyncio.run(coro(0)) == 5 and asyncio.run(cancelled()) == "cancelled"
@p
async def agen():
    got = 0
    while got is not None:
        try:
            got = yield got
        except KeyError:
            got = "thrown"
async def use():
    a = agen()
    found = [await a.asend(None), await a.asend(4), await a.athrow(KeyError())]
    await a.aclose()
    async for n in agen():
        found.append(n)
        break
    return found
assert asyncio.run(use()) == [0, 4, "thrown", 0]
found = hits(p)
print(found["gen"], found["coro"][-1], found["agen"], p.enable_count)  # an await may begin twice
""", tmp_path) == ["[3, 3, 2, 1, 2] 1 [2, 4, 4, 4, 3, 1] 0"]


def test_an_exception_that_is_thrown_in_leaves_no_cycle(tmp_path):
    printed("""
import gc, weakref
class Held: pass
def generator(held): yield
async def coroutine(held): await pause()
async def async_generator(held): yield
@types.coroutine
def pause(): yield
def thrown_into(make, start, throw):
    held = Held()
    gone = weakref.ref(held)
    body = LineProfiler()(make)(held)
    try:
        start(body).send(None)
    except StopIteration: pass
    try:
        throw(body)
        assert False
    except KeyError: pass
    del held, body
    return gone() is None
def thrown(body): body.throw(KeyError())
def thrown_async(body): body.athrow(KeyError()).send(None)
gc.disable()
assert thrown_into(generator, lambda body: body, thrown)
assert thrown_into(coroutine, lambda body: body, thrown)
if sys.version_info < (3, 12):  # later ones make cycles of their own of async generators
    assert thrown_into(async_generator, lambda body: body.asend(None), thrown_async)
""", tmp_path)


def test_classes_get_wrappers_in_place(tmp_path):
    assert printed("""
p = LineProfiler()
def elsewhere(x):
    return x
class Thing:
    def method(self):
        return 1
    @property
    def value(self):
        return 2
    class Inner:
        def deep(self):
            return 3
    not_mine = staticmethod(elsewhere)
assert p(Thing) is Thing
t = Thing()
assert (t.method(), t.value, Thing.Inner().deep(), t.not_mine(4)) == (1, 2, 3, 4)
print(hits(p))
class Stubborn(type):
    def __setattr__(cls, name, value):
        raise AttributeError(name)
class Fixed(metaclass=Stubborn):
    def method(self):
        return 1
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    p(Fixed)
print([str(w.message)[:26] for w in told], Fixed().method())
""", tmp_path) == [
        "{'method': [1], 'value': [1], 'deep': [1]}", "['cannot wrap 1 attribute(s)'] 1"
    ]


def test_what_is_no_python_function(tmp_path):
    assert printed("""
p = LineProfiler()
for thing in len, "".split, str.split, (1).__str__, int.__repr__, vars(int)["from_bytes"]:
    assert p(thing) is thing and p.add_callable(thing) == 0
for bad in 1, None, "text":
    for use in p, p.add_callable, p.wrap_callable:
        try:
            use(bad)
        except TypeError as error:
            pass
        else:
            raise AssertionError(use)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    p.add_function(len)
    @functools.wraps(hits)
    def around():
        pass
    p.add_function(around)
print([str(w.message)[:34] for w in told])
print(p.functions)
""", tmp_path)[0] == "['Could not extract a code object fo', 'Adding a function with a `.__wrapp']"


# ---- windows ---------------------------------------------------------------------------------


def test_only_what_runs_while_it_is_enabled_counts(tmp_path):
    assert printed("""
def f():
    return 1
p = LineProfiler(f)
f()
p.enable(); f(); p.disable(); f()
p.enable_by_count(); p.enable_by_count(); f(); p.disable_by_count(); f(); p.disable_by_count(); f()
p.disable_by_count(); p.disable_by_count(); f()
with p as same:
    assert same is p
    with p:
        f()
    f()
try:
    with p:
        raise KeyError
except KeyError:
    pass
f()
assert p.enable_count == 0
assert p.runcall(f) == 1
assert p.run("x = f()") is p and x == 1
names = {"f": f}
assert p.runctx("y = f()", names, names) is p and names["y"] == 1
print(hits(p), p.enable_count)
""", tmp_path) == ["{'f': [8]} 0"]


def test_several_on_one_function_each_with_its_own_numbers(tmp_path):
    assert printed("""
p, q, r = LineProfiler(), LineProfiler(), LineProfiler()
def f(n):
    for i in range(n):
        pass
def g():
    return 1
first = p(f)
second = q(first)
first(1); second(10); f(100)
r.add_function(f)
with r:
    first(1000)
    r.add_function(g)
    g()
    r.remove_function(f)
    f(5)
    g()
print(hits(p), hits(q), hits(r), [f.__name__ for f in r.functions])
""", tmp_path) == ["{'f': [1014, 1011]} {'f': [11, 10]} {'f': [1001, 1000], 'g': [2]} ['g']"]


def test_threads(tmp_path):
    assert printed("""
def f():
    return threading.get_ident()
p = LineProfiler()
g = p(f)
def work():
    for _ in range(500):
        g()
    assert p.enable_count == 0
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(hits(p))
with p:
    assert p.enable_count == 1
    t = threading.Thread(target=lambda: print(p.enable_count, f() and "ran")); t.start(); t.join()
print(hits(p))
""", tmp_path) == ["{'f': [2000]}", "0 ran", "{'f': [2001]}"]


def test_the_child_of_a_fork(tmp_path):
    assert printed("""
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
def f():
    return 1
p = LineProfiler()
g = p(f)
stop = threading.Event()
def busy():
    while not stop.is_set():
        with p:
            pass
t = threading.Thread(target=busy); t.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        before = sum(hits(p)["f"]) if hits(p)["f"] else 0
        f(); g(); f()
        os._exit(sum(hits(p)["f"]) - before)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
stop.set(); t.join(); g()
print(hits(p))
""", tmp_path) == ["{'f': [1]}"]


def test_within_the_profiled_function(tmp_path):
    assert printed("""
p = LineProfiler()
@p
def f(n):
    seen = p.last_time
    stats = p.get_stats()
    if n:
        f(n - 1)
    return seen, stats
try:
    p.last_time
except KeyError as error:
    print(error.args[0][:43])
seen, stats = f(2)
[code] = seen
assert code is f.__wrapped__.__code__ and list(seen[code]) == ["f_lineno"]
assert seen[code]["f_lineno"] == code.co_firstlineno + 2
[rows] = stats.timings.values()
print([row[1] for row in rows[:2]], hits(p), p.last_time, p.c_last_time)
[(code, lines)] = p.code_map.items()
print(code.co_name, [row["nhits"] for row in lines.values()], p.timer_unit, list(p.code_hash_map) == [code])
""", tmp_path) == [
        "No profiling data on the current thread (`t", "[1, 1] {'f': [3, 3, 3, 2, 3]} {} {}",
        "f [3, 3, 3, 2, 3] 1e-09 True",
    ]


# ---- namespaces ------------------------------------------------------------------------------

PACKAGE = {
    "pkg/__init__.py": "from . import near\nfrom .near import helper\nimport far, os\n"
                       "def own(): return 1\n",
    "pkg/near.py": "from pkg.sub import deep\nimport far\nfrom far import away\n"
                   "def helper(): return 2\nclass Local:\n    def method(self): return 3\n"
                   "    Far = far.Class\n    class Inner:\n        def inner(self): return 4\n"
                   "    away = staticmethod(away)\n    again = helper\n",
    "pkg/sub/__init__.py": "def deep(): return 5\n",
    "far.py": "def away(): return 6\nclass Class:\n    def method(self): return 7\n",
}


@pytest.mark.once
def test_namespaces_are_taken_as_the_original_takes_them(tmp_path):
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    out = same_with_both("""
import pkg, pkg.near, far
ScopingPolicy = __import__(line_profiler.__name__ + ".scoping_policy", fromlist="*").ScopingPolicy
def names(profiler):
    return sorted({f.__module__ + "." + f.__qualname__ for f in profiler.functions})
policies = [None, "exact", "Children", ScopingPolicy.DESCENDANTS]
policies += [{"func": "none", "class": "exact", "module": "children"},
             {"func": "exact", "class": "none", "module": "descendants"}]
for policy in policies:
    for thing in pkg, pkg.near, pkg.near.Local:
        p = line_profiler.LineProfiler()
        add = p.add_class if isinstance(thing, type) else p.add_module
        print(policy, thing.__name__, add(thing, scoping_policy=policy), names(p))
for bad in "wrong", {"func": "none"}:
    try:
        line_profiler.LineProfiler().add_module(pkg, scoping_policy=bad)
    except (ValueError, KeyError) as error:
        print(type(error).__name__)
p = line_profiler.LineProfiler()
print(p.add_module(far, wrap=True), hasattr(far.away, "__wrapped__"),
      hasattr(far.Class.method, "__wrapped__"), p.add_module(far, wrap=True))
""", tmp_path)
    assert out.count("\n") == 21 and "pkg.near.Local.Inner.inner" in out


# ---- LineStats -------------------------------------------------------------------------------


@pytest.mark.once
def test_arithmetic_is_the_originals(tmp_path):
    out = same_with_both("""
import copy, pickle
S = line_profiler.LineStats
one = S({("foo", 1, "spam.py"): [(2, 10, 300)], ("bar", 10, "x"): [(11, 2, 1000), (12, 1, 500)]}, 1e-6)
two = S({("bar", 10, "x"): [(12, 5, 1000), (11, 10, 20000)], ("baz", 5, "y"): [(5, 2, 5005)]}, 1e-7)
print(one + two, two + one, one + two == two + one, one == two, one != two, one == 3, one == None)
three = copy.deepcopy(two); before = id(three); three += one
print(three == one + two, id(three) == before, pickle.loads(pickle.dumps(three)) == three)
print(S.from_stats_objects(one), S.from_stats_objects(one, two, one).timings)
class Like:
    timings, unit = {("foo", 1, "spam.py"): [(2, 1, 1.6)]}, 1.0
print(one + Like, S.from_stats_objects(Like).timings is Like.timings)
copied = S.from_stats_objects(one)
copied.timings["foo", 1, "spam.py"].append(1)
print(one.timings["foo", 1, "spam.py"])
for wrong in lambda: S(), lambda: S({}), lambda: S.from_files(), lambda: S.from_stats_objects():
    try:
        wrong()
    except TypeError:
        print("TypeError")
try:
    hash(one)
except TypeError:
    print("no hash")
""", tmp_path)
    assert out.count("TypeError") == 4


def test_files_are_those_of_the_original(tmp_path):
    program = """
stats = line_profiler.LineStats({("ä.py", 1, "f.<locals>.g"): [(2, 3, 3600), (9, 1 << 40, 0.5)],
                                 ("b", 2, "never"): []}, 0.015625)
stats.to_file("it.lprof")
line_profiler.LineStats.from_files("it.lprof").to_file("again.lprof")
print(line_profiler.load_stats("it.lprof", "again.lprof"))
print(line_profiler.load_stats("again.lprof") == stats)
"""
    out = printed(program, tmp_path, head=OURS)
    assert out[0].startswith("LineStats({('ä.py', 1, 'f.<locals>.g'): [(2, 6, 7200), ")
    assert out[1] == "True"
    pytest.importorskip("line_profiler")
    reading = "print(line_profiler.load_stats('it.lprof', 'again.lprof'))"
    assert run(reading, tmp_path, head=THEIRS).out.splitlines() == out[:1]
    theirs = run(program, tmp_path, head=THEIRS)
    assert theirs.out.splitlines() == out, theirs.err
    assert run(reading, tmp_path, head=OURS).out.splitlines() == out[:1]


@pytest.mark.once
def test_a_file_runs_nothing(tmp_path):
    class Trap:
        def __reduce__(self):
            return print, ("harm",)

    (tmp_path / "trap.lprof").write_bytes(pickle.dumps(Trap()))
    (tmp_path / "text.lprof").write_text("text")
    out = printed("""
for name in "trap.lprof", "text.lprof", "missing.lprof":
    try:
        LineStats.from_files(name)
    except (ValueError, OSError) as error:
        print(name, type(error).__name__, len(str(error).splitlines()))
""", tmp_path)
    assert out == ["trap.lprof ValueError 1", "text.lprof ValueError 1",
                   "missing.lprof FileNotFoundError 1"]


def test_clineprofs_own_files_are_read_too(tmp_path):
    out = printed("""
p = LineProfiler()
@p
def f():
    return 1
f(); f()
p.dump_stats("one.lprof")
import clineprof._boot, subprocess
subprocess.run([sys.executable, "-m", "clineprof", "--to", "lprof", "-o", "own.lprof", "one.lprof"],
               check=True, stdout=subprocess.DEVNULL)
own = load_stats("own.lprof", "one.lprof")
[((file, line, name), rows)] = own.timings.items()
print(os.path.basename(file), name, [row[:2] for row in rows], own.unit)
""", tmp_path)
    assert out[0].startswith("it.py f [(") and out[0].endswith(", 4)] 1e-09")


# ---- text ------------------------------------------------------------------------------------

TABLES = '''
import io, linecache, os, sys
def shown(a,
          b=2):
    """A text."""
    for i in range(3):  # ä
        a += i

    return a, b
timings = {
    (__file__, shown.__code__.co_firstlineno, "shown"): [
        (shown.__code__.co_firstlineno + i, hits, time) for i, hits, time in [
            (0, 1, 0), (3, 4, 1234), (4, 123456789, 98765432109876), (6, 10 ** 12, 1e19)]],
    (__file__, shown.__code__.co_firstlineno, "quick"): [(shown.__code__.co_firstlineno + 3, 3, 0)],
    ("missing.py", 7, "lost"): [(9, 1, 10), (12, 2, 20)],
    ("missing.py", 8, "idle"): [],
    ("<generated: 'x'>", 2, "made"): [(3, 1, 999999)],
}
linecache.cache["<generated: 'x'>"] = (None, None, ["\\n", "def made():\\n", "    return 42\\n"], None)
linecache.clearcache = lambda: None
stats = line_profiler.LineStats(timings, 1e-9)
module = line_profiler.line_profiler
for options in [{}, {"output_unit": 1e-6}, {"output_unit": 10.0, "sort": True}, {"stripzeros": True},
                {"details": False, "summarize": True}, {"summarize": True, "stripzeros": True},
                {"config": False}, {"config": "wide.toml", "output_unit": 1e-3}]:
    print("----", sorted(options))
    stats.print(**options)
    out = io.StringIO()
    line_profiler.show_text(timings, 1e-9, stream=out, **options)
    stats.print(stream=sys.stdout, **options)
    assert len(out.getvalue()) > 100
out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
line_profiler.show_func(__file__, shown.__code__.co_firstlineno, "shown", [(5, 1, 1)], 1.0, stream=out)
out.flush()
print(out.buffer.getvalue().decode())
print(dict(module.get_column_widths()), dict(module.get_column_widths("wide.toml")))
print([module.is_generated_code(name) for name in
       ("<generated>", "<ipython-input-1>", "/tmp/ipykernel_1/x", "/tmp/xpython_2", "x.py", "<stdin>")])
print(module.get_code_block(__file__, shown.__code__.co_firstlineno))
'''


@pytest.mark.once
@pytest.mark.parametrize("rich", [False, True])
def test_tables_are_the_originals_to_the_character(tmp_path, rich):
    (tmp_path / "wide.toml").write_text(
        "[tool.line_profiler.show.column_widths]\nline = 9\nhits = 3\ntime = 20\n")
    program = TABLES
    if rich:
        pytest.importorskip("rich")
        program = program.replace("**options)", "rich=True, **options)")
    out = same_with_both(program, tmp_path)
    assert "Line Contents" in out and "seconds - " in out and "\\xe4" in out


@pytest.mark.once
def test_source_that_is_another_one_now(tmp_path):
    (tmp_path / "broken.py").write_text("def f(:\n  'open\n")
    (tmp_path / "short.py").write_text("x = 1\n")
    out = printed("""
for name in "broken.py", "short.py":
    show_func(name, 1, "f", [(1, 1, 1), (9, 1, 1)], 1.0)
    show_func(name, 400, "f", [(401, 1, 1)], 1.0)
try:
    show_func("short.py", 1, "f", [], 1.0, config="no.toml")
except ValueError as error:
    print(error)
""", tmp_path)
    assert out[-1].startswith("cannot read 'no.toml': ")
    assert len([line for line in out if line.startswith("Total time")]) == 5


def test_print_stats_takes_the_same_options(tmp_path):
    out = printed("""
p = LineProfiler()
@p
def f():
    return 1
f()
out = io.StringIO()
p.print_stats(out, output_unit=1e-3, stripzeros=True, details=True, summarize=True, sort=True)
print(out.getvalue())
""", tmp_path)
    assert out[0] == "Timer unit: 0.001 s" and out[-2].endswith("it.py:14 - f"), out


# ---- the modules -----------------------------------------------------------------------------


def test_the_module_stands_in_for_the_original(tmp_path):
    (tmp_path / "user.py").write_text("""
import line_profiler
from line_profiler import LineProfiler, LineStats, load_stats, show_text, show_func, __version__
from line_profiler.line_profiler import LineProfiler as Same, get_code_block, is_generated_code
from line_profiler.scoping_policy import ScopingPolicy
assert Same is LineProfiler and line_profiler.line_profiler.LineStats is LineStats
assert line_profiler.__version__ == line_profiler.line_profiler.__version__
p = LineProfiler()
@p
def f():
    return 1
f()
p.dump_stats("f.lprof")
""")
    ended = run("""
sys.modules["line_profiler"] = line_profiler
import user, clineprof.kernprof as kernprof
assert clineprof.LineProfiler is LineProfiler and clineprof.LineStats is LineStats
assert kernprof.__version__ == line_profiler.__version__
sys.argv = ["line_profiler", "-m", "f.lprof"]
line_profiler.main()
try:
    sys.argv = ["line_profiler", "missing.lprof"]
    line_profiler.main()
except SystemExit as end:
    print("exit", end.code)
""", tmp_path)
    assert "seconds - " in ended.out and ended.out.endswith("exit 1\n"), ended.err
    again = run_python(["-m", "clineprof.line_profiler", "-m", "f.lprof"], tmp_path,
                       env={"PYTHONPATH": str(BUILD / "python")})
    assert again.code == 0 and again.out == ended.out[: -len("exit 1\n")]


@pytest.mark.once
def test_kernprof_in_python(tmp_path):
    (tmp_path / "program.py").write_text("""
import sys
sys.path.append("spoilt")
@profile
def f():
    return 1
f()
print(sys.argv)
if sys.argv[1:]:
    sys.exit(int(sys.argv[1]))
""")
    out = printed("""
from clineprof.kernprof import ContextualProfile, main
paths, module = list(sys.path), sys.modules["__main__"]
for _ in range(2):
    main(["-l", "-q", "program.py"])
out = sys.stdout = io.StringIO()
try:
    main(["-lv", "program.py", "7"])
except SystemExit as end:
    sys.stdout = sys.__stdout__
    print(end.code, "Function: f" in out.getvalue())
assert sys.path == paths and sys.modules["__main__"] is module
profile = ContextualProfile()
@profile
def g():
    assert profile.enable_count == 1
    return 2
assert g() == 2 and profile.enable_count == 0
""", tmp_path)
    assert out == ["['program.py']", "['program.py']", "7 True"]


MARKED = """
from clineprof.line_profiler import profile
@profile
def f():
    return 1
f()
"""


def test_the_explicit_decorator_is_set_up_by_line_profilers_file(tmp_path):
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    (tmp_path / "line_profiler.toml").write_text("""
[tool.line_profiler.setup]
environ_flags = ["WANTED"]
[tool.line_profiler.write]
output_prefix = "mine"
timestamped_text = false
lprof = "wrong kind"
[tool.line_profiler.show]
summarize = false
details = true
""")
    (tmp_path / "it.py").write_text(MARKED)
    environment = {"PYTHONPATH": str(BUILD / "python")}
    off = run_python(["it.py"], tmp_path, env={**environment, "LINE_PROFILE": "1"})
    assert (off.out, off.err, off.code) == ("", "", 0)
    on = run_python(["it.py"], tmp_path, env={**environment, "WANTED": "1"})
    assert on.code == 0 and "Line Contents" in on.out and "seconds - " not in on.out, on.err
    assert {path.name for path in tmp_path.glob("mine*")} == {"mine.txt", "mine.lprof"}
    (tmp_path / "line_profiler.toml").write_text("[tool.line_profiler]\nshow = 3\n")
    bad = run_python(["it.py"], tmp_path, env=environment)
    assert bad.code == 0 and bad.err.startswith("clineprof: ") and len(bad.err.splitlines()) == 1


@pytest.mark.once
def test_the_explicit_decorator_under_ckernprof_b(tmp_path):
    (tmp_path / "it.py").write_text(MARKED)
    ended = run_ckernprof(["-bv", "it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 0 and re.search(r" 1 .* it\.py:3\(f\)", ended.out), ended.out
