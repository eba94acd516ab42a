# SPDX-License-Identifier: MIT
"""--tensors: what lines allocate for PyTorch's tensors. Here a small library stands for PyTorch's (fixtures/fake_c10.c);
tests/engines/test_tensors_of_torch.py has PyTorch itself. The truth is what each line asks for."""
import collections
import re
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest
from harness import BUILD, FIXTURES, SANITIZED, run_ckernprof, run_python, run_viewer

import clineprof

LIBRARY = BUILD / "python/clineprof/libclineprof_tensors.so"

pytestmark = [
    pytest.mark.skipif(SANITIZED, reason="a sanitizer's library must be the first"),
    pytest.mark.skipif(re.search("[ :]", str(LIBRARY)) is not None,
                       reason="no library is preloaded from a path with a space or a colon"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no cc to build fixtures/fake_c10.c with"),
]

START = """\
import ctypes
C = ctypes.CDLL("./libc10.so")  # for itself alone, as Python loads PyTorch's libraries
I = ctypes.c_int64
C.fake_allocate.restype = ctypes.c_void_p
C.fake_allocate.argtypes = [ctypes.c_size_t]
C.fake_free.argtypes = [ctypes.c_void_p]
C.fake_backward.argtypes = [I, I, I]
C.fake_report.argtypes = [ctypes.c_int, ctypes.c_int, I, I]
SEEN = (I * 6).in_dll(C, "seen")  # made, freed, reported, reserved, executed, profiling
make, free, backward = C.fake_allocate, C.fake_free, C.fake_backward
def cuda(bytes, reserved=1000, index=0):
    C.fake_report(1, index, bytes, reserved)
def seen(*numbers):
    assert tuple(SEEN) == numbers, tuple(SEEN)
"""


def since(*version):
    return pytest.mark.skipif(sys.version_info < version, reason="needs Python %d.%d" % version)


@pytest.fixture
def folder(tmp_path):
    build(tmp_path)
    return tmp_path


def build(folder, *words):
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", *words, "-o", folder / "libc10.so", FIXTURES / "fake_c10.c",
                    "-lpthread"], check=True)  # fmt: skip


def program(folder, text):
    (folder / "prog.py").write_text(START + textwrap.dedent(text))


def profiled(folder, text, *options, err=""):
    program(folder, text)
    ended = run_ckernprof(["-l", "--tensors", *options, "prog.py"], folder)
    assert (ended.code, ended.err) == (0, err), ended.err
    return clineprof.load(folder / "prog.py.lprof")


def devices(profile):
    """{name: its place}"""
    return {profile.meta[f"device{n}"]: n for n in (1, 2, 3, 4) if profile.meta.get(f"device{n}")}


def lines(profile, device="cpu"):
    """{comment of lines: what they have of the device: allocated, freed, peak}, without lines that have nothing"""
    place, found = devices(profile)[device], {}
    for function in profile.functions:
        for line in function.lines:
            numbers = [getattr(line, f"device{place}_{what}") for what in ("allocated", "freed", "net", "peak")]
            assert numbers[2] == numbers[0] - numbers[1]
            if any(numbers):
                found[line.text.partition("# ")[2]] = (numbers[0], numbers[1], numbers[3])
    return found


def outside(profile, device="cpu"):
    place = devices(profile)[device]
    return profile.meta[f"device{place}_outside"], profile.meta[f"device{place}_outside_freed"]


# ---- the processor

def test_allocated_freed_and_peak(folder):
    profile = profiled(folder, """
        @profile
        def f():
            a = make(1000)                       # kept
            free(make(300)); free(make(200))     # within
            free(a); a = make(700)               # freed first
            b = [make(10) for i in range(5)]     # five
            for p in b: free(p)                  # freed
            free(None); make(0)                  # nothing
            return a
        free(f())
        f()
        seen(4500, 17, 0, 0, 0, 0)
    """)
    assert lines(profile) == {"kept": (2000, 0, 1000), "within": (1000, 1000, 300), "freed first": (1400, 2000, 0),
                              "five": (100, 0, 50), "freed": (0, 100, 0)}  # fmt: skip
    assert outside(profile) == (0, 700)


def test_a_peak_includes_what_the_line_calls(folder):
    profile = profiled(folder, """
        @profile
        def inner(n):
            a = make(n)         # inner
            free(a)             # gone
            if n > 1000:
                return inner(n - 1000)  # again
        @profile
        def outer():
            a = make(50); inner(3000); free(a); make(7)     # outer
            inner(10)                                       # small
            make(1)                                         # last
        outer()
    """)
    assert lines(profile) == {"inner": (6010, 0, 3000), "gone": (0, 6010, 0), "again": (0, 0, 2000),
                              "outer": (57, 50, 3050), "small": (0, 0, 10), "last": (1, 0, 1)}  # fmt: skip


@pytest.mark.parametrize("tracer", ["settrace", pytest.param("monitoring", marks=since(3, 12)),
                                    pytest.param("probe", marks=since(3, 11))])
def test_peaks_of_each_execution(folder, tracer):
    text = """
        @profile
        def step():
            free(make(5))
        @profile
        def f():
            kept = []
            for n in 3, 9, 6:
                kept.append(make(n)); step()                        # grows
            x = [free(kept.pop()) for i in range(3)]; y = make(4)   # shrinks
        f()
    """
    program(folder, text)
    ended = run_ckernprof(["-l", "--tensors", "--tracer", tracer, "prog.py"], folder)
    assert (ended.code, ended.err) == (0, "")
    found = lines(clineprof.load(folder / "prog.py.lprof"))
    assert (found["grows"], found["shrinks"]) == ((18, 0, 14), (4, 18, 0))


def test_more_calls_than_marks(folder):
    """Of the innermost 32 lines the peak is exact, however deep they are."""
    profile = profiled(folder, """
        @profile
        def f(n):
            if n:
                return f(n - 1)         # deeper
            free(make(100))             # deepest
            return make(30)             # kept
        f(100)
    """)
    assert lines(profile) == {"deeper": (0, 0, 100), "deepest": (100, 100, 100), "kept": (30, 0, 30)}


def test_threads(folder):
    """Each thread's own line gets what the thread does, and the peak is of the thread."""
    profile = profiled(folder, """
        import threading
        both = threading.Barrier(2)
        @profile
        def one():
            a = make(100)               # one
            both.wait(); both.wait()
            free(a)                     # gone
        @profile
        def two():
            both.wait()
            make(40)                    # two
            both.wait()
        t = threading.Thread(target=one)
        t.start(); two(); t.join()
        t = threading.Thread(target=make, args=(9,))
        t.start(); t.join()
    """)
    assert lines(profile) == {"one": (100, 0, 100), "gone": (0, 100, 0), "two": (40, 0, 40)}
    assert outside(profile) == (9, 0)


MANY = """
    import threading
    @profile
    def f():
        kept = {}
        for i in range(20_000):
            kept[i] = make(i % 100 + 1)             # make
            if i % 3: free(kept.pop(i))             # free
        return kept
    threads = [threading.Thread(target=f) for i in range(4)]
    for t in threads: t.start()
    for t in threads: t.join()
"""


def test_many_blocks_in_threads(folder):
    profile = profiled(folder, MANY)
    sizes = [i % 100 + 1 for i in range(20_000)]
    freed = sum(size for i, size in enumerate(sizes) if i % 3)
    found = lines(profile)
    assert found["make"] == (4 * sum(sizes), 0, 100) and found["free"] == (0, 4 * freed, 0)


def test_pytorchs_own_profiler_hears_of_everything_once(folder):
    profile = profiled(folder, """
        @profile
        def f():
            SEEN[5] = 1
            make(100)       # told
            SEEN[5] = 0
            make(10)        # not told
        f()
        seen(110, 0, 100, 0, 0, 0)
    """)
    assert lines(profile) == {"told": (100, 0, 100), "not told": (10, 0, 10)}


# ---- other devices

DEVICES = """
    @profile
    def f():
        cuda(500, 2000)                 # first
        cuda(300, 3000); cuda(-300, 3000)   # within
        cuda(-500, 3000)                # freed
        cuda(9, 9, 1)                   # second
        make(4)                         # cpu
        cuda(1, 100)                    # emptied
    f()
"""


def test_devices(folder):
    profile = profiled(folder, DEVICES + "\n    seen(4, 0, 10, 100, 0, 0)\n")
    assert devices(profile) == {"cuda:0": 1, "cuda:1": 2, "cpu": 3}
    assert lines(profile, "cuda:0") == {"first": (500, 0, 500), "within": (300, 300, 300), "freed": (0, 500, 0),
                                        "emptied": (1, 0, 1)}  # fmt: skip
    assert lines(profile, "cuda:1") == {"second": (9, 0, 9)} and lines(profile) == {"cpu": (4, 0, 4)}
    reserved = [line.device1_reserved for line in profile.functions[0].lines]
    assert reserved == [2000, 1000, 0, 0, 0, -2900]


def test_the_symbol_of_old_versions(folder):
    build(folder, "-DOLD")
    assert lines(profiled(folder, DEVICES), "cuda:1") == {"second": (9, 0, 9)}


def test_names_of_devices(folder):
    profile = profiled(folder, """
        @profile
        def f():
            for type, index in (13, 0), (20, 0), (12, 3), (0, 0):
                C.fake_report(type, index, 1, 0)
        f()
    """)
    assert list(devices(profile)) == ["mps", "privateuseone:0", "xpu:3", "cpu"]


def test_more_devices_than_places(folder):
    profile = profiled(
        folder, "@profile\ndef f():\n    for i in range(6): cuda(1, 1, i)\nf()\n", err="ckernprof: --tensors: tensors of "
        "cuda:4 are not counted, because the program has tensors on more than 4 devices\n")
    assert list(devices(profile)) == [f"cuda:{n}" for n in range(4)]


# ---- backward

def test_backward_belongs_to_the_line_that_calls_it(folder):
    """Also what its thread frees a moment after the engine has returned."""
    profile = profiled(folder, """
        @profile
        def f():
            cuda(50)                            # forward
            assert backward(800, 200, 100)      # backward
            cuda(-10)                           # behind
        @profile
        def g():
            f()                                 # call
            return backward(30, 0, 0)           # second
        g()
        assert backward(7, 0, 0)
        seen(0, 0, 577, 1000, 3, 0)
    """)
    assert lines(profile, "cuda:0") == {"forward": (50, 0, 50), "backward": (800, 300, 800), "behind": (0, 10, 0),
                                        "call": (0, 0, 850), "second": (30, 0, 30)}  # fmt: skip
    assert outside(profile, "cuda:0") == (7, 0)


def test_the_thread_that_called_backward_has_ended(folder):
    profile = profiled(folder, """
        import threading
        @profile
        def f():
            backward(100, 0, 0)     # backward
        for i in range(20):
            t = threading.Thread(target=f)
            t.start(); t.join()
        cuda(-5)
    """)
    assert lines(profile, "cuda:0") == {"backward": (2000, 0, 100)} and outside(profile, "cuda:0") == (0, 5)


# ---- files and processes

def test_a_process_that_is_killed(folder):
    program(folder, DEVICES + "    import os\n    os.kill(os.getpid(), 9)\n")
    assert run_ckernprof(["-l", "--tensors", "prog.py"], folder).code == -signal.SIGKILL
    assert run_viewer(["recover", "prog.py.lprof.live"], folder).code == 0
    profile = clineprof.load(folder / "prog.py.lprof")
    assert devices(profile) == {"cuda:0": 1, "cuda:1": 2, "cpu": 3}
    assert lines(profile, "cuda:0")["within"] == (300, 300, 300)


def test_a_fork_counts_for_itself(folder):
    program(folder, """
        import os
        @profile
        def f(n):
            p = make(n)         # make
            return p
        p = f(1000)
        pid = os.fork()
        if pid == 0:
            cuda(1)
            free(p); free(f(100)); f(10)
            os._exit(0)
        os.waitpid(pid, 0)
    """)
    ended = run_ckernprof(["-l", "--tensors", "--prof-child-procs", "-o", "sum.lprof", "prog.py"], folder)
    assert (ended.code, ended.err) == (0, "")
    profile = clineprof.load(folder / "sum.lprof")
    assert lines(profile) == {"make": (1110, 0, 1000)}
    assert (outside(profile), outside(profile, "cuda:0")) == ((0, 1100), (1, 0))


def test_forks_while_threads_allocate(folder):
    """The child of a fork has none of the locks that other threads held."""
    program(folder, """
        import os, threading
        threads = [threading.Thread(target=C.fake_pairs, args=(10_000_000,), daemon=True) for i in range(3)]
        @profile
        def f():
            for t in threads: t.start()
            for i in range(100):
                pid = os.fork()
                if pid == 0:
                    kept = [make(64) for i in range(300)]  # in all parts of the table
                    os._exit(0)
                os.waitpid(pid, 0)
        f()
        os._exit(0)
    """)
    assert run_ckernprof(["-l", "--tensors", "prog.py"], folder, timeout=300).code == 0


@pytest.mark.parametrize("how", ["spawn", "forkserver"])
def test_processes_that_are_started(folder, how):
    """They start again with the library, which neither they nor their own children see in the environment."""
    program(folder, """
        import multiprocessing, os, subprocess, sys
        @profile
        def f(n):
            make(n)         # make
        def work():
            f(100)
            assert "LD_PRELOAD" not in os.environ and "CLINEPROF_NATIVE" not in os.environ
            subprocess.run([sys.executable, "-c", "import os; assert 'LD_PRELOAD' not in os.environ"], check=True)
        if __name__ == "__main__":
            f(1000)
            p = multiprocessing.get_context(%r).Process(target=work)
            p.start(); p.join()
            sys.exit(p.exitcode)
    """ % how)
    ended = run_ckernprof(["-l", "--tensors", "--prof-child-procs", "-o", "sum.lprof", "prog.py"], folder)
    assert (ended.code, ended.err) == (0, "")
    assert lines(clineprof.load(folder / "sum.lprof")) == {"make": (1100, 0, 1000)}


def test_devices_are_merged_by_name(folder):
    for name, order in ("a", "cuda(1); make(2)"), ("b", "make(30); cuda(40); cuda(500, 1000, 2)"):
        program(folder, f"@profile\ndef f():\n    {order}  # all\nf()\nmake(5)\n")
        assert run_ckernprof(["-l", "--tensors", "-o", name + ".lprof", "prog.py"], folder).code == 0
    assert run_viewer(["merge", "-o", "c.lprof", "a.lprof", "b.lprof"], folder).code == 0
    profile = clineprof.load(folder / "c.lprof")
    of = collections.Counter()
    for function in profile.functions:
        for line in function.lines:
            for name, place in devices(profile).items():
                of[name] += getattr(line, f"device{place}_allocated")
    assert of == {"cuda:0": 41, "cpu": 32, "cuda:2": 500} and outside(profile) == (10, 0)


def test_with_native_memory(folder):
    profile = profiled(folder, "@profile\ndef f():\n    return make(1_000_000)  # make\nf()\n", "--heap=native",
                       "--heap-interval=1")
    [line] = [line for line in profile.functions[0].lines if line.line == profile.functions[0].lines[0].line]
    assert lines(profile) == {"make": (1_000_000, 0, 1_000_000)} and line.native >= 1_000_000


# ---- windows and the interface

def test_profilers(folder):
    """Each counts while its window is open, of the functions that it has."""
    program(folder, """
        import clineprof
        def f(n):
            make(n)
        def g(n):
            f(n); make(1)
        def numbers(p):
            s = clineprof.Profile(p.snapshot())
            lines = [(line.device1_allocated, line.device1_peak) for f in s.functions for line in f.lines]
            return lines, s.meta["device1_outside"]
        make(5)
        a = clineprof.Profiler(tensors=True)
        a.add_function(f)
        make(3)
        f(100)
        b = clineprof.Profiler(tensors=True)
        b.add_function(g)
        g(1000)
        assert (numbers(a), numbers(b)) == (([(1100, 1000)], 3), ([(1, 1001)], 0))
        a.stop()
        g(2000)
        assert (numbers(a), numbers(b)) == (([(1100, 1000)], 3), ([(2002, 2001)], 0))
        a.start(); a.reset(); b.stop()
        make(7)
        f(10)
        assert (numbers(a), numbers(b)) == (([(10, 10)], 7), ([(2002, 2001)], 0))
        with_none = clineprof.Profiler()
        with_none.add_function(f)
        f(1)
        assert not clineprof.Profile(with_none.snapshot()).meta.get("device1_outside")
    """)
    ended = run_python(["prog.py"], folder, env={"LD_PRELOAD": str(LIBRARY), "PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")


def test_without_the_library(folder):
    program(folder, """
        import clineprof
        def f():
            make(100)
        for i in range(2):
            p = clineprof.Profiler(tensors=True)
            p.add_function(f)
            f()
        assert "device1" not in clineprof.Profile(p.snapshot()).meta
    """)
    ended = run_python(["prog.py"], folder, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "clineprof: only tensors on CUDA devices are counted, from PyTorch's "
                                          "statistics at the ends of lines of 100 us or more; start the program with "
                                          "ckernprof --tensors to count each allocation on each device\n")


@pytest.mark.parametrize("imported", [False, True])
def test_no_tensor_was_made(folder, imported):
    (folder / "torch.py").write_text("")
    profiled(folder, "import torch\n" * imported + "@profile\ndef f(): pass\nf()\n", err="ckernprof: --tensors: " + (
        "nothing was counted: this version of PyTorch made no tensor, or does not tell clineprof of tensors\n" if imported
        else "no tensor was made: the program has not imported torch\n"))


def test_the_report(folder):
    profiled(folder, DEVICES + "    make(3 << 20); free(make(5 << 20))\n", "--no-memory")
    shown = run_viewer(["prog.py.lprof"], folder).out
    assert "cuda:0 alloc.   cuda:0 net  cuda:0 peak cuda:1 alloc.   cuda:1 net  cuda:1 peak   cpu alloc." in shown
    assert "Tensors outside the lines: cpu 8.000 MiB allocated, 5.000 MiB freed.\n" in shown
    [row] = [line for line in shown.splitlines() if line.endswith("# cpu")]
    page = run_viewer(["--format", "html", "-o", "-", "prog.py.lprof"], folder).out
    assert '"cuda:1 allocated"' in page and '"cpu peak"' in page and '"Peak 4"' in page
    assert "cpu 8.0 MiB allocated, 5.0 MiB freed" in page or "cpu 8.00 MiB allocated, 5.00 MiB freed" in page
    assert row.split()[1:] == row.split()[1:5] + ["make(4)", "#", "cpu"]  # no 0 for other devices
