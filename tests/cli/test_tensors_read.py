# SPDX-License-Identifier: MIT
"""Tensors of CUDA devices without the library of --tensors: from PyTorch's statistics. A small torch._C stands for
PyTorch's (tests/stub/torch_c.c); the truth is what each line asks it for. Lines that are to be read sleep for 5 ms."""
import re
import signal
import shutil
import sys
import textwrap

import pytest
import stub
from harness import BUILD, run_ckernprof, run_python, run_viewer

import clineprof

pytestmark = [
    pytest.mark.once,  # what is read at the ends of lines runs with each of TRACERS
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no cc to build tests/stub/torch_c.c with"),
]

HONEST, RAISES, SLOW, LIES, NO_DICTIONARY, NO_NUMBER, YIELDS, ASYNC = range(8)

START = """\
import time, sys, os
import torch
from torch import _C as C
import clineprof
def long():
    time.sleep(.005)
def cuda(*bytes, device=0):
    for number in bytes:
        C.allocate(number, device)
    long()
def profiler(*functions, **words):
    made = clineprof.Profiler(tensors=True, **words)
    for function in functions:
        made.add_function(function)
    return made
def put(made, name="out.lprof"):
    with open(name, "wb") as file:
        file.write(made.render("lprof"))
"""
TOLD = ("clineprof: only tensors on CUDA devices are counted, from PyTorch's statistics at the ends of lines of 100 us "
        "or more; start the program with ckernprof --tensors to count each allocation on each device\n")


def since(*version):
    return pytest.mark.skipif(sys.version_info < version, reason="needs Python %d.%d" % version)


TRACERS = ["settrace", pytest.param("monitoring", marks=since(3, 12)), pytest.param("probe", marks=since(3, 11))]


@pytest.fixture
def folder(tmp_path):
    stub.build_torch(tmp_path)
    return tmp_path


def ran(folder, text, err=TOLD, code=0, start=START):
    """What the program printed."""
    (folder / "prog.py").write_text(start + textwrap.dedent(text))
    ended = run_python(["prog.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (code, err), ended.err
    return ended.out


def profiled(folder, text, name="out.lprof"):
    ran(folder, text)
    return clineprof.load(folder / name)


def lines(profile, device="cuda:0", more=()):
    """{comment of lines: what they have of the device: allocated, freed, peak}, without lines that have nothing"""
    [place] = [n for n in (1, 2, 3, 4) if profile.meta.get(f"device{n}") == device]
    found = {}
    for function in profile.functions:
        for line in function.lines:
            numbers = tuple(getattr(line, f"device{place}_{what}") for what in ("allocated", "freed", "peak", *more))
            if any(numbers):
                found[line.text.partition("# ")[2]] = numbers
    return found


def outside(profile):
    return profile.meta["device1_outside"], profile.meta["device1_outside_freed"]


# ---- what lines get

TREE = """
    def outer():
        cuda(1000)                      # kept
        cuda(300, -300)                 # within
        inner()                         # call
        cuda(-1000)                     # freed
        cuda(9, device=1)               # second
        C.empty_cache(); long()         # emptied
        cuda(70); raise KeyError        # raises
    def inner():
        cuda(5000)                      # inner
        cuda(-5000); return long()      # gone
    torch.cuda.init()
    C.allocate(123); C.allocate(-100)
    p = profiler(outer, inner{more})
    for i in range(2):
        try:
            outer()
        except KeyError:
            pass
        p.snapshot()
    cuda(55)
    p.stop()
    cuda(66)
    put(p)
"""


@pytest.mark.parametrize("tracer", TRACERS)
def test_allocated_freed_and_peak(folder, tracer):
    profile = profiled(folder, TREE.format(more=f", tracer='{tracer}'"))
    assert lines(profile) == {"kept": (2000, 0, 1000), "within": (600, 600, 300), "freed": (0, 2000, 0),
                              "inner": (10000, 0, 5000), "gone": (0, 10000, 0), "call": (0, 0, 5000),
                              "raises": (140, 0, 70)}  # fmt: skip
    assert lines(profile, "cuda:1") == {"second": (18, 0, 9)}
    assert outside(profile) == (55, 0) and profile.meta["tensors_read"] == 1


def test_what_the_allocator_holds(folder):
    profile = profiled(folder, """
        def f():
            cuda(1000)                      # grows
            cuda(-400)                      # keeps
            cuda(500)                       # a little more
            C.empty_cache(); long()         # nothing to give
            cuda(-1100); C.empty_cache(); long()    # gives
        torch.cuda.init()
        p = profiler(f)
        f()
        put(p)
    """)
    assert {name: numbers[3] for name, numbers in lines(profile, more=["reserved"]).items()} == {
        "grows": 1000, "keeps": 0, "a little more": 100, "gives": -1100}


def test_shorter_lines_count_with_the_next_one_that_is_read(folder):
    """Nothing is lost, and the lines together are right."""
    profile = profiled(folder, """
        def f():
            for i in range(100):    # loop
                C.allocate(7)       # short
            cuda(1)                 # long
        torch.cuda.init()
        p = profiler(f)
        for i in range(20):
            f()
        put(p)
    """)
    found = lines(profile)
    assert found["long"][0] > 20 and outside(profile) == (0, 0)
    assert sum(numbers[0] for numbers in found.values()) == 20 * (700 + 1)


def test_a_loop_and_a_comprehension(folder):
    profile = profiled(folder, """
        def f():
            for n in 30, 90, 60:
                cuda(n, -n // 3)                    # grows
            return [cuda(-n) for n in (20, 60)]     # shrinks
        torch.cuda.init()
        p = profiler(f)
        f()
        put(p)
    """)
    assert lines(profile)["grows"] == (180, 60, 90) and lines(profile)["shrinks"][:2] == (0, 80)


def test_generators_and_coroutines(folder):
    profile = profiled(folder, """
        import asyncio
        def numbers():
            for n in 10, 20:
                cuda(n)                     # before
                yield n
                cuda(-n)                    # behind
        async def task(n):
            cuda(n)                         # first
            await asyncio.sleep(0)
            cuda(-n)                        # last
        async def all():
            await asyncio.gather(*map(task, (100, 300)))
        torch.cuda.init()
        p = profiler(numbers, task)
        assert list(numbers()) == [10, 20]
        asyncio.run(all())
        put(p)
    """)
    assert lines(profile) == {"before": (30, 0, 20), "behind": (0, 30, 0), "first": (400, 0, 300), "last": (0, 400, 0)}


def test_a_peak_below_an_earlier_one(folder):
    """torch tells the highest peak only. Without a new one, the line's peak is what was there when it was read."""
    profile = profiled(folder, """
        def f():
            cuda(10_000, -10_000)       # high
            cuda(500, -200)             # low
            C.reset_peak(); cuda(700, -700)     # seen
        torch.cuda.init()
        p = profiler(f)
        f()
        put(p)
    """)
    assert lines(profile) == {"high": (10_000, 10_000, 10_000), "low": (500, 200, 300), "seen": (700, 700, 700)}


def test_statistics_that_the_program_sets_back(folder):
    profile = profiled(folder, """
        def f():
            cuda(70, -70)                       # even
            C.reset_accumulated(); long()       # nothing
            cuda(1000)                          # first
            cuda(50); C.reset_accumulated()     # set back
            cuda(-300, 100)                     # behind
        torch.cuda.init()
        p = profiler(f)
        f()
        put(p)
    """)
    assert lines(profile) == {"even": (70, 70, 70),
                              "first": (1000, 0, 1000), "set back": (50, 0, 50), "behind": (100, 300, 0)}


def test_an_allocator_that_keeps_no_totals(folder):
    """cudaMallocAsync: only what there is now, and the peak."""
    profile = profiled(folder, """
        def f():
            cuda(1000)                  # more
            cuda(500, -700)             # less
            cuda(900, -900)             # within
        torch.cuda.init()
        C.behave(%d)
        p = profiler(f)
        f()
        put(p)
    """ % ASYNC)
    assert lines(profile) == {"more": (1000, 0, 1000), "less": (0, 200, 500), "within": (0, 0, 900)}


def test_torch_is_imported_and_initialised_later(folder):
    """A profiler that is there first counts all that was ever allocated."""
    profile = profiled(folder, """
        def f():
            import torch                # import
            torch.cuda.init(); cuda(9)  # begins
            cuda(8)                     # more
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            del sys.modules[name]
        del torch
        p = profiler(f)
        long(); f()
        put(p)
    """)
    assert lines(profile) == {"begins": (9, 0, 9), "more": (8, 0, 8)} and outside(profile) == (0, 0)


def test_profilers(folder):
    """Each counts while its window is open, of the functions that it has."""
    ran(folder, """
        def f(n):
            cuda(n)
        def g(n):
            f(n); cuda(1)
        def numbers(p):
            s = clineprof.Profile(p.snapshot())
            lines = [(line.device1_allocated, line.device1_peak) for f in s.functions for line in f.lines]
            return lines, s.meta["device1_outside"]
        torch.cuda.init()
        cuda(5)
        a = profiler(f)
        cuda(3)
        f(100)
        cuda(4)
        b = profiler(g)
        g(1000)
        assert (numbers(a), numbers(b)) == (([(1100, 1000)], 7), ([(1, 1001)], 0)), (numbers(a), numbers(b))
        a.stop()
        f(20)
        a.start(); a.reset(); b.stop()
        cuda(7)
        f(10)
        assert (numbers(a), numbers(b)) == (([(10, 10)], 7), ([(1, 1001)], 20)), (numbers(a), numbers(b))
        with_none = clineprof.Profiler()
        with_none.add_function(f)
        f(1)
        meta = clineprof.Profile(with_none.snapshot()).meta
        assert not meta.get("device1_outside") and not meta.get("tensors_read") and not meta.get("device1")
        a.close(); b.close()
        reads = C.reads()
        f(1)
        assert C.reads() == reads
    """)


# ---- the program sees nothing of it

def test_nothing_is_imported_or_initialised(folder):
    ran(folder, """
        import sys, time, clineprof
        def f():
            time.sleep(.005)
        p = clineprof.Profiler(tensors=True)
        p.add_function(f)
        f()
        assert not [name for name in sys.modules if name.startswith("torch")]
        import torch
        f()
        p.snapshot(); p.stop()
        assert torch._C.reads() == 0 and not torch.cuda._initialized and not p.snapshot()["meta"].get("tensors_read")
    """, start="")  # fmt: skip


def test_devices_that_the_program_does_not_use_get_no_context(folder):
    ran(folder, """
        def f():
            cuda(1)
        torch.cuda.init()
        p = profiler(f)
        f()
        assert C.reads() > 0 and C._cuda_hasPrimaryContext(0) and not C._cuda_hasPrimaryContext(1)
    """)


def test_more_devices_than_places(folder):
    profile = profiled(folder, """
        def f():
            for i in range(6): cuda(10 * i + 1, device=i)
        torch.cuda.init()
        C.behave(0, 6)
        p = profiler(f)
        f()
        put(p)
    """)
    assert [profile.meta.get(f"device{n}") for n in (1, 2, 3, 4)] == [f"cuda:{n}" for n in range(4)]
    [line] = [line for line in profile.functions[0].lines if line.device1_allocated]
    assert [getattr(line, f"device{n}_allocated") for n in (1, 2, 3, 4)] == [1, 11, 21, 31]


OBSERVED = """
    import gc
    seen = []
    def rows(traceback):
        while traceback:
            yield traceback.tb_lineno
            traceback = traceback.tb_next
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    class Own(Exception):
        def __del__(self): seen.append("gone")
    def fails(n):
        cuda(n)
        try:
            cuda(n); raise Own("one")
        finally:
            cuda(-n)
            seen.append(str(sys.exc_info()[1]))
    def f(n):
        try:
            fails(n)
        except Own as error:
            cuda(5)
            seen.append(list(rows(error.__traceback__)))
            try:
                {{}}[cuda(1)]
            except KeyError as error:
                seen.append(repr(error.__context__))
        for i in range(3):
            cuda(n); yield i
    def profiled_events(frame, event, argument):
        seen.append((event, frame.f_code.co_name))
    gc.collect(); gc.set_threshold(1 << 30)
    torch.cuda.init()
    {behave}
    {begin}
    sys.setprofile(profiled_events)
    list(f(100)); list(f(10))
    sys.setprofile(None)
    print(seen)
    {end}
"""

WITH = {"begin": "p = profiler(f, fails, cuda)", "end": "p.snapshot(); p.stop(); assert C.reads()"}
BEHAVIOURS = {"honest": HONEST, "raises": RAISES, "slow": SLOW, "lies": LIES, "no dictionary": NO_DICTIONARY,
              "no number": NO_NUMBER, "gives up the lock": YIELDS}  # fmt: skip


@pytest.mark.parametrize("way", BEHAVIOURS)
def test_a_program_does_the_same(folder, way):
    """Exceptions, generators, finalizers, collections and the program's own profile function."""
    behave = f"C.behave({BEHAVIOURS[way]})"
    without = ran(folder, OBSERVED.format(begin="pass", end="pass", behave=behave), err="")
    assert "Own('one')" in without and "gone" in without and "('return', 'fails')" in without
    assert ran(folder, OBSERVED.format(**WITH, behave=behave)) == without


def test_no_collection_starts_within_a_read(folder):
    ran(folder, """
        import gc
        def f():
            for i in range(20):
                cuda(1)
        torch.cuda.init()
        p = profiler(f)
        within = []
        gc.callbacks.append(lambda phase, info: within.append(C.is_reading()))
        gc.set_threshold(1)
        f()
        assert within and not any(within) and C.reads() > 5 and gc.isenabled()
        gc.disable()
        f()
        assert not gc.isenabled()
    """)


def test_what_reads_allocate_is_no_lines(folder):
    ran(folder, """
        def f():
            for i in range(20):
                long()
        def allocated(tensors):
            p = clineprof.Profiler(tensors=tensors, heap=1)
            p.add_function(f)
            f()
            numbers = [line.allocated for line in clineprof.Profile(p.snapshot()).functions[0].lines]
            p.close()
            return numbers
        torch.cuda.init(); cuda(1)
        allocated(False)
        without = allocated(False)
        assert allocated(True) == without and C.reads() > 10
    """)


@pytest.mark.parametrize("tracer", TRACERS)
def test_functions_that_fail_are_not_called_again(folder, tracer):
    profile = profiled(folder, f"""
        def f():
            cuda(10)                    # counted
            C.behave({RAISES}); long()  # fails
            C.behave(0); cuda(20)       # not counted
        torch.cuda.init()
        p = profiler(f, tracer='{tracer}')
        f()
        reads = C.reads()
        f()
        assert C.reads() == reads
        put(p)
    """)
    assert lines(profile) == {"counted": (10, 0, 10)} and profile.meta["tensors_read"] == 2
    assert "could not be read to the end" in run_viewer(["out.lprof"], folder).out


def test_a_slow_torch_is_read_less_often(folder):
    ran(folder, f"""
        def f():
            for i in range(200):
                cuda(1)
        torch.cuda.init()
        C.behave({SLOW})
        p = profiler(f)
        f()
        assert 2 <= C.reads() < 100, C.reads()
        assert clineprof.Profile(p.snapshot()).functions[0].lines[1].device1_allocated > 100
    """)


def test_the_time_of_reads_is_no_lines(folder):
    """Each read takes 20 ms, which would be more than the lines take."""
    profile = profiled(folder, f"""
        def f():
            cuda(1)
            for i in range(60):
                time.sleep(.01)         # sleeps
        torch.cuda.init()
        C.behave({SLOW})
        p = profiler(f)
        start = time.perf_counter()
        f()
        took = time.perf_counter() - start
        counted = sum(line.time for line in clineprof.Profile(p.snapshot()).functions[0].lines) * 1e-9
        reads = C.reads()
        assert reads > 4 and took - counted >= reads * 0.02 - 0.05, (took, counted, reads)
        put(p)
    """)
    assert profile.meta["tensors_read"] == 1


@pytest.mark.parametrize("what", ["None", "lambda *index: called.append(1)", "called.append", "called.copy",
                                  "called.sort", "type(time)('x')"])
def test_functions_that_are_not_torchs_are_not_called(folder, what):
    ran(folder, f"""
        def f():
            cuda(1)
        called = []
        torch.cuda.init()
        p = profiler(f)
        f()
        for name in "_cuda_isInBadFork", "_cuda_getDeviceCount", "_cuda_hasPrimaryContext", "_cuda_memoryStats":
            own, reads = getattr(C, name), C.reads()
            setattr(C, name, {what})
            f(); C.allocate(1, 1); f()
            setattr(C, name, own)
            assert C.reads() == reads or name == "_cuda_hasPrimaryContext"
            f()
            assert C.reads() > reads or name == "_cuda_memoryStats"
        assert not called
    """)


def test_torch_is_replaced_in_sys_modules(folder):
    ran(folder, """
        class Own(dict):
            def __getitem__(self, name): raise SystemExit("asked")
            get = __contains__ = __getattr__ = __missing__ = __getitem__
        class Module:
            def __getattribute__(self, name): raise SystemExit("asked")
        def f():
            cuda(1)
        torch.cuda.init()
        p = profiler(f)
        f()
        kept = dict(sys.modules)
        for other in Module(), None, 1, type(sys)("torch"), Own():
            sys.modules["torch"] = sys.modules["torch.cuda"] = sys.modules["torch._C"] = other
            f(); p.snapshot()
        sys.modules.update(kept)
        own, sys.modules = sys.modules, Own(sys.modules)
        f(); p.snapshot()
        del sys.modules
        f(); p.snapshot()
        sys.modules = own
        f()
        p.snapshot()
    """)


def test_torch_is_loaded_twice(folder):
    """Two copies share one C library; a fresh Python module begins uninitialised."""
    profile = profiled(folder, """
        def f():
            cuda(10)        # first
        def g():
            cuda(20)        # not read
            torch.cuda._initialized = True; long()      # read
        torch.cuda.init()
        p = profiler(f, g)
        f()
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            del sys.modules[name]
        import torch, torch.cuda
        g()
        put(p)
    """)
    assert lines(profile) == {"first": (10, 0, 10), "read": (20, 0, 20)}


# ---- processes, threads, and code that runs within a read

def test_the_child_of_a_fork_reads_nothing(folder):
    """CUDA does not work there: the stand-in aborts."""
    profile = profiled(folder, """
        def f(n):
            cuda(n)         # allocates
        torch.cuda.init()
        p = profiler(f)
        f(10)
        pid = os.fork()
        f(200)
        p.snapshot()
        if pid == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        put(p)
    """)
    assert lines(profile) == {"allocates": (210, 0, 200)}


def test_a_child_that_initialises_cuda_itself(folder):
    profile = profiled(folder, """
        def f(n):
            cuda(n)         # allocates
        p = profiler(f)
        f(0)
        pid = os.fork()
        if pid == 0:
            torch.cuda.init()
            f(30)
            put(p)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """)
    assert lines(profile) == {"allocates": (30, 0, 30)}


@pytest.mark.parametrize("way", ["honest", "gives up the lock", "slow"])
def test_threads(folder, way):
    """Whoever reads gets what all did: only the sum is known. Whole processes are forked meanwhile, too."""
    profile = profiled(folder, f"""
        import threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        def f():
            for i in range(20):
                C.allocate(7); C.allocate(-3); time.sleep(.0005)    # f
        def g():
            for i in range(20):
                C.allocate(100); time.sleep(.0005); g2()            # g
        def g2():
            C.allocate(-100); time.sleep(.0005)                     # g2
        torch.cuda.init()
        C.behave({BEHAVIOURS[way]})
        p = profiler(f, g, g2)
        threads = [threading.Thread(target=each) for each in (f, f, g, g)]
        for thread in threads: thread.start()
        for i in range(5):
            pid = os.fork()
            if pid == 0:
                f()
                os._exit(0)
            os.waitpid(pid, 0)
            p.snapshot()
        for thread in threads: thread.join()
        put(p)
    """)
    found = lines(profile).values()
    assert sum(one[0] for one in found) + outside(profile)[0] == 2 * 20 * 107
    assert sum(one[1] for one in found) + outside(profile)[1] == 2 * 20 * 103


WITHIN = {
    "lines of functions that are profiled": "g()",
    "an exception": "raise ValueError",
    "a collection": "gc.collect()",
    "the end of the profiler": "p.close()",
    "a new profiler": "others.append(profiler(g)); g(); others[-1].stop()",
    "stop and start": "p.stop(); p.start()",
    "a snapshot": "p.snapshot()",
    "recursion": "deep(5000)",
    "a fork": "fork()",
    "threads": "thread()",
    "more functions": "p.add_function(h); h()",
    "modules": "sys.modules.pop('torch._C', None)",
}


@pytest.mark.parametrize("what", WITHIN)
@pytest.mark.parametrize("tracer", TRACERS)
def test_code_within_a_read(folder, what, tracer):
    """torch's own function runs none. Should another version do so, nothing breaks."""
    ran(folder, f"""
        import gc, threading, warnings
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads
        def g():
            long()
            return 1
        def h():
            long()
        def deep(n):
            try:
                return deep(n - 1) if n else 0
            except RecursionError:
                return 0
        def fork():
            pid = os.fork()
            if pid == 0:
                g()
                os._exit(0)
            os.waitpid(pid, 0)
        def thread():
            t = threading.Thread(target=g); t.start(); t.join()
        def within():
            if len(times) < 20:
                times.append(1)
                {WITHIN[what]}
        def f():
            result = []
            for i in range(5):
                result.append(i + g())
                try:
                    cuda(10); raise KeyError(i)
                except KeyError as error:
                    result.append(error.args[0]); long()
            return result
        times, others = [], []
        torch.cuda.init()
        p = profiler(f, g, tracer='{tracer}')
        C.set_in_read(within)
        assert f() == f() == [1, 0, 2, 1, 3, 2, 4, 3, 5, 4] and times
    """)


def test_deep_recursion(folder):
    """Where the program is as deep as the interpreter allows, nothing is read; later it is again."""
    profile = profiled(folder, """
        def f(n):
            n ** 100_000
            try:
                f(n + 1)
            except RecursionError:
                pass
            return n
        torch.cuda.init()
        C.allocate(1)
        p = profiler(f)
        sys.setrecursionlimit(100)
        f(3)
        assert C.reads() > 50
        put(p)
    """)
    assert profile.meta["tensors_read"] == 1


def test_a_profiler_that_goes_while_an_exception_is_set(folder):
    ran(folder, """
        def f():
            cuda(1)
        torch.cuda.init()
        C.allocate(1)
        for i in range(3):
            try:
                (profiler(f), f(), 1 / 0)
            except ZeroDivisionError as error:
                reads = C.reads()
        assert reads >= 6
    """)


def test_the_end_of_the_interpreter(folder):
    """Finalizers run when sys.modules is gone."""
    for end in "", "sys.modules.clear()", "os.kill(os.getpid(), 15)", "threading.Thread(target=f, daemon=True).start()":
        ran(folder, f"""
            import atexit, threading
            class Last:
                def __del__(self, sleep=time.sleep, f=C.allocate):
                    f(5); sleep(.005)
                    f(5); sleep(.005)
            def f():
                for i in range(3):
                    cuda(1)
            torch.cuda.init()
            p = profiler(f, Last.__del__)
            f()
            atexit.register(f)
            kept = sys.kept = [Last(), Last()]
            kept.append(kept)
            {end}
        """, code=-15 if "kill" in end else 0)  # fmt: skip


# ---- under ckernprof, and in reports

PROGRAM = """\
import torch, time
from torch import _C as C
@profile
def f():
    C.allocate(3 << 20); time.sleep(.005)   # line
torch.cuda.init()
f()
C.allocate(5 << 20); C.allocate(-(1 << 20))
"""


def run(folder, *options, more=""):
    (folder / "prog.py").write_text(PROGRAM + more)
    ended = run_ckernprof(["-l", "--tensors", *options, "prog.py"], folder, env={"CLINEPROF_NATIVE": "no library"})
    assert re.fullmatch("ckernprof: --tensors: .* did not load no library: .*\n", ended.err), ended.err
    return ended


def test_a_run_whose_library_cannot_be_loaded(folder):
    assert run(folder).code == 0
    profile = clineprof.load(folder / "prog.py.lprof")
    assert lines(profile) == {"line": (3 << 20, 0, 3 << 20)} and outside(profile) == (5 << 20, 1 << 20)


def test_a_process_that_is_killed(folder):
    assert run(folder, more="import os\nos.kill(os.getpid(), 9)\n").code == -signal.SIGKILL
    assert run_viewer(["recover", "prog.py.lprof.live"], folder).code == 0
    profile = clineprof.load(folder / "prog.py.lprof")
    assert lines(profile) == {"line": (3 << 20, 0, 3 << 20)} and profile.meta["tensors_read"] == 1


def test_the_report_says_how_they_were_read(folder):
    run(folder)
    shown = run_viewer(["prog.py.lprof"], folder).out
    assert ("Tensors outside the lines: cuda:0 5.000 MiB allocated, 1.000 MiB freed.\n"
            "Tensors of CUDA devices were read from PyTorch's statistics at the ends of lines of 100 us or more."
            ) in shown
    page = run_viewer(["--format", "html", "-o", "-", "prog.py.lprof"], folder).out
    assert "read at the ends of lines of 100" in page
    assert run_viewer(["merge", "-o", "two.lprof", "prog.py.lprof", "prog.py.lprof"], folder).code == 0
    assert clineprof.load(folder / "two.lprof").meta["tensors_read"] == 1
