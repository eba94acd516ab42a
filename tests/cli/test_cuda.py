# SPDX-License-Identifier: MIT
"""The time of devices by line (--cuda), on a CUDA and a CUPTI that are played (tests/stub): the truth is what the
program asked them for. That the real CUPTI's structures are as clineprof believes is not tested here."""
import ctypes
import importlib.util
import pathlib
import re
import signal
import sys
import textwrap

import clineprof
import pytest
import stub
from harness import BUILD, TRACER, run_ckernprof, run_python

# how every program begins
HEAD = """
import ctypes, os, sys, threading, time
def load_cuda(cupti=True):
    global cuda, cupti_
    if cupti:
        cupti_ = ctypes.CDLL(os.environ["STUB"] + "/libcupti.so.12")
    cuda = ctypes.CDLL(os.environ["STUB"] + "/libcuda.so.1")
    for name in "cudaLaunchKernel", "cuLaunchKernel", "cudaMemsetAsync", "cudaMemcpyPeerAsync", "cudaUnheardLaunch":
        getattr(cuda, name).argtypes = [ctypes.c_uint64]
    cuda.cudaMemcpyAsync.argtypes = cuda.cudaMemcpyPinnedAsync.argtypes = [ctypes.c_uint64, ctypes.c_uint]
    cuda.cudaGraphLaunch.argtypes = [ctypes.c_uint, ctypes.c_uint64]
    cuda.launch_in.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stub")
    stub.build(folder)
    return folder


@pytest.fixture
def profiled(tmp_path, libraries):
    """profiled(program, *options) runs it, and returns the profile, what was told, and what was printed."""

    def profile(program, *options, code=0, cuda="--cuda", variables=()):
        (tmp_path / "prog.py").write_text(HEAD + textwrap.dedent(program))
        ended = run_ckernprof(["-l", *([cuda] if cuda else []), *options, "prog.py"], tmp_path,
                              env={"STUB": str(libraries), **dict(variables)})
        assert ended.code == code, ended.err
        return clineprof.load(tmp_path / "prog.py.lprof"), ended.err, ended.out

    return profile


def sums(profile, *names):
    """{label of lines: sums of these measures}, without lines that have none"""
    found = {}
    for function in profile.functions:
        for line in function.lines:
            values = tuple(getattr(line, name) for name in names)
            if any(values):
                label = line.text.partition("# ")[2]
                found[label] = tuple(a + b for a, b in zip(found.get(label, (0,) * len(names)), values))
    return found


def launched(profile):
    return sums(profile, "device_time", "launches")


KINDS = """
    load_cuda()
    @profile
    def work():
        for i in range(100):
            cuda.cudaLaunchKernel(1000 + i)  # kernel
            cuda.cudaGetDevice(3)  # nothing
            cuda.cuLaunchKernel(10)  # driver
        cuda.cudaMemcpyAsync(7000, 0)  # copy
        cuda.cudaMemcpyPeerAsync(70)  # peer
        cuda.cudaMemsetAsync(500)  # set
        cuda.cudaGraphLaunch(20, 30)  # graph
    work()
"""


def test_kernels_copies_and_graphs_belong_to_the_line_that_launched_them(profiled):
    profile, told, _ = profiled(KINDS)
    assert told == ""
    assert launched(profile) == {"kernel": (100 * 1000 + 4950, 100), "driver": (1000, 100), "copy": (7000, 1),
                                 "peer": (70, 1), "set": (500, 1), "graph": (600, 20)}
    assert profile.meta["has_device_time"] == 1
    assert profile.meta["outside_launches"] == profile.meta["lost_launches"] == 0


def test_a_call_that_waits_counts_once_though_the_runtime_calls_the_driver(profiled):
    profile, _, _ = profiled("""
        load_cuda()
        @profile
        def work():
            cuda.cudaLaunchKernel(10)  # kernel
            cuda.cudaStreamSynchronize(200_000)  # wait
            cuda.cudaMemcpyAsync(5, 100_000)  # copy
            cuda.cudaMemcpyPinnedAsync(5, 50_000)  # pinned
        work()
    """)
    times = {label: (wait, time) for label, (wait, time) in sums(profile, "device_wait", "time").items() if wait}
    assert times.keys() == {"wait", "copy"}
    assert 200_000_000 <= times["wait"][0] <= times["wait"][1] + 1_000_000
    assert 100_000_000 <= times["copy"][0] <= times["copy"][1] + 1_000_000


def test_an_asynchronous_copy_waits_if_its_memory_is_not_pinned(profiled):
    """Records may come before the call has ended: here another thread has CUPTI hand them over meanwhile."""
    profile, _, _ = profiled("""
        load_cuda()
        def flush():
            time.sleep(.05)
            cupti_.cuptiActivityFlushAll(0)
        @profile
        def work():
            cuda.cudaMemcpyPinnedAsync(5, 1000)  # pinned
            cuda.cudaMemcpyAsync(5, 10_000)  # late
            thread = threading.Thread(target=flush)
            thread.start()
            cuda.cudaMemcpyAsync(5, 200_000)  # early
            thread.join()
        work()
    """)
    found = sums(profile, "device_wait", "launches")
    assert found["pinned"] == (0, 1) and found["late"][1] == found["early"][1] == 1
    assert found["late"][0] >= 10_000_000 and found["early"][0] >= 200_000_000


def test_recursion_generators_and_threads(profiled):
    profile, told, _ = profiled("""
        load_cuda()
        @profile
        def down(n):
            cuda.cudaLaunchKernel(n)  # down
            if n:
                down(n - 1)
            cuda.cudaLaunchKernel(1000)  # up
        @profile
        def steps():
            for i in range(5):
                cuda.cudaLaunchKernel(10)  # step
                yield
        def other():
            cuda.cudaLaunchKernel(1)
        @profile
        def several():
            cuda.cudaLaunchKernel(3)  # before
            other()  # through
            for _ in range(200): cuda.cudaLaunchKernel(7)  # many
        down(4)
        for _ in steps():
            cuda.cudaLaunchKernel(2)
        threads = [threading.Thread(target=several) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
    """)
    assert launched(profile) == {"down": (10, 5), "up": (5000, 5), "step": (50, 5), "before": (12, 4), "through": (4, 4),
                                 "many": (4 * 200 * 7, 800)}
    assert (profile.meta["outside_launches"], profile.meta["outside_device_time"]) == (5, 10)
    assert profile.meta["lost_launches"] == 0


def test_threads_that_are_told_apart(profiled):
    profile, _, _ = profiled("""
        load_cuda()
        @profile
        def work(n):
            cuda.cudaLaunchKernel(n)  # kernel
        for n in 5, 7:
            t = threading.Thread(target=work, args=(n,), name=f"worker {n}")
            t.start()
            t.join()
    """, "--threads")
    assert {f.name: (f["device_time"], f["launches"]) for f in profile.functions} == {
        "work [worker 5]": ([5], [1]), "work [worker 7]": ([7], [1])}


def test_what_is_on_no_line_is_told_below_the_tables(profiled):
    profile, told, out = profiled("""
        load_cuda()
        @profile
        def work():
            cuda.cudaLaunchKernel(10)  # kernel
            cuda.cudaUnheardLaunch(1000)
            cupti_.stub_drop(2)
            for _ in range(3): cuda.cudaLaunchKernel(100)  # dropped
            cupti_.stub_hold(1)
            cuda.cudaLaunchKernel(5000)  # runs still
        cuda.cudaLaunchKernel(1_500_000)
        work()
    """, "-v")
    assert launched(profile) == {"kernel": (10, 1), "dropped": (100, 1)}
    assert "Devices: 1 launch outside the lines, 1.50 ms; 4 without a line or a time.\n" in out
    assert "Device time" in out and "Device wait" in out


def test_a_launch_is_forgotten_only_after_many_others(profiled):
    profile, _, _ = profiled("""
        load_cuda()
        @profile
        def work():
            cuda.cudaLaunchKernel(5)  # long ago
            cuda.cudaGetDevice(262_144 - 2)
            cuda.cudaLaunchKernel(7)  # just in time
            cuda.cudaLaunchKernel(11)  # in its place
        work()
    """)
    assert launched(profile) == {"just in time": (7, 1), "in its place": (11, 1)}
    assert profile.meta["lost_launches"] == 1


def test_forks(profiled):
    """CUDA does not survive a fork. The child keeps off it, and counts nothing twice."""
    profile, told, _ = profiled("""
        load_cuda()
        @profile
        def work():
            cuda.cudaLaunchKernel(10)  # kernel
            pid = os.fork()
            if pid == 0:
                before = cupti_.stub_touched()
                cuda.cudaLaunchKernel(1000)  # in the child
                os._exit(before != cupti_.stub_touched())
            assert os.waitpid(pid, 0)[1] == 0
            cuda.cudaLaunchKernel(20)  # after
        work()
    """, "--prof-child-procs")
    assert launched(profile) == {"kernel": (10, 1), "after": (20, 1)}


def test_records_that_come_after_the_window(tmp_path, libraries):
    """What was launched in a window counts though its record comes later; what was launched later does not."""
    (tmp_path / "prog.py").write_text(HEAD + textwrap.dedent("""
        import clineprof
        load_cuda()
        def launch(n):
            cuda.cudaLaunchKernel(n)
        profiler = clineprof.Profiler(cuda=True, memory=False)
        profiler(launch)
        cupti_.stub_hold(1)
        launch(10)
        profiler.stop()
        cupti_.stub_hold(0)
        launch(1000)
        function, = clineprof.Profile(profiler.snapshot()).functions
        print(function["device_time"], function["launches"])
    """))
    ended = run_python(["prog.py"], tmp_path, env={"STUB": str(libraries), "PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == ("[10] [1]\n", "")


def test_a_profiler_in_the_child_of_a_fork_keeps_off_cupti(profiled):
    profiled("""
        import clineprof
        load_cuda()
        def launch():
            cuda.cudaLaunchKernel(10)
        profiler = clineprof.Profiler(cuda=True, memory=False)
        profiler(launch)
        @profile
        def work():
            launch()
            pid = os.fork()
            if pid == 0:
                before = cupti_.stub_touched()
                launch()
                function, = clineprof.Profile(profiler.snapshot()).functions
                profiler.close()
                os._exit(2 * sum(function["launches"]) + (before != cupti_.stub_touched()))
            assert os.waitpid(pid, 0)[1] == 0
            function, = clineprof.Profile(profiler.snapshot()).functions
            assert sum(function["launches"]) == 1
        work()
    """, cuda=None)


def test_a_child_may_be_the_first_to_use_cuda(profiled):
    profile, told, _ = profiled("""
        @profile
        def work():
            load_cuda()
            cuda.cudaLaunchKernel(10)  # kernel
        pid = os.fork()
        if pid == 0:
            work()
        else:
            os.waitpid(pid, 0)
            work()
    """, "--prof-child-procs")
    assert launched(profile) == {"kernel": (20, 2)} and told == ""


def test_only_a_child_uses_cuda(profiled):
    profile, told, _ = profiled("""
        @profile
        def work():
            load_cuda()
            cuda.cudaLaunchKernel(10)  # kernel
        if os.fork() == 0:
            work()
        else:
            os.wait()
            profile(load_cuda)
    """, "--prof-child-procs")
    assert launched(profile) == {"kernel": (10, 1)} and told == ""


def test_windows(tmp_path, libraries, monkeypatch):
    """Only what a window's lines launch while it is open counts, however late the records come."""
    monkeypatch.setenv("STUB", str(libraries))
    names = {}
    source = HEAD + textwrap.dedent("""
        def work(n):
            cuda.cudaLaunchKernel(n)  # kernel
    """)
    (tmp_path / "windows.py").write_text(source)
    exec(compile(source, str(tmp_path / "windows.py"), "exec"), names)
    work = names["work"]
    wishes = {"tracer": TRACER, "cuda": True, "memory": False, "started": False}
    first, second = (clineprof.Profiler(**wishes) for _ in range(2))
    first(work)
    second(work)

    def counted(profiler):
        function, = clineprof.Profile(profiler.snapshot()).functions
        return sum(function["device_time"]), sum(function["launches"])

    def outside(profiler):
        meta = clineprof.Profile(profiler.snapshot()).meta
        return meta["outside_launches"], meta["outside_device_time"], meta["lost_launches"]

    def missing(profiler):
        return not clineprof.Profile(profiler.snapshot()).meta["has_device_time"]

    first.start()
    assert missing(first)
    names["load_cuda"]()
    work(1)
    names["cuda"].cudaLaunchKernel(50)
    assert counted(first) == (1, 1) and outside(first) == (1, 50, 0)
    second.start()
    work(10)
    first.stop()
    work(100)
    second.stop()
    work(1000)
    assert counted(first) == (11, 2) and counted(second) == (110, 2)
    second.start()
    work(100000)
    second.reset()
    work(10000)
    assert counted(first) == (11, 2) and counted(second) == (10000, 1)
    assert outside(first) == (1, 50, 0) and outside(second) == (0, 0, 0)
    first.close()
    assert names["cupti_"].stub_subscribed() == 1
    second.close()
    assert names["cupti_"].stub_subscribed() == 0


def test_snapshots_while_threads_launch(profiled):
    """Nothing is lost or counted twice, however often what CUPTI tells is put on lines meanwhile."""
    profile, told, _ = profiled("""
        import clineprof
        load_cuda()
        def one():
            for i in range(3000):
                cuda.cudaLaunchKernel(i)  # one
        def other():
            for i in range(3000):
                cuda.cuLaunchKernel(7); cuda.cudaGraphLaunch(2, 1)  # other
        for function in one, other:
            profile(function)
        profiler = clineprof.Profiler(cuda=True, memory=False)
        profiler(one), profiler(other)
        threads = [threading.Thread(target=f) for f in (one, other) * 2]
        before = 0
        for t in threads: t.start()
        while any(t.is_alive() for t in threads):
            launches = sum(sum(f["launches"]) for f in clineprof.Profile(profiler.snapshot()).functions)
            assert launches >= before
            before = launches
            profiler.gate(True)
        for t in threads: t.join()
        launches = sum(sum(f["launches"]) for f in clineprof.Profile(profiler.snapshot()).functions)
        assert launches == 2 * 3000 + 2 * 3000 * 3, launches
    """)
    assert launched(profile) == {"one": (2 * 3000 * 2999 // 2, 6000), "other": (2 * 3000 * 9, 18000)}
    assert profile.meta["outside_launches"] == profile.meta["lost_launches"] == 0


def test_what_was_counted_survives_a_kill(tmp_path, libraries):
    """The live file has what devices did up to about a second before."""
    (tmp_path / "prog.py").write_text(HEAD + textwrap.dedent("""
        load_cuda()
        @profile
        def work():
            cuda.cudaLaunchKernel(10)  # kernel
        for _ in range(10): work()
        while True:
            time.sleep(0.05)
            work()
            if time.monotonic() > START + 2.5: os.kill(os.getpid(), 9)
    """).replace("load_cuda()\n@", "load_cuda()\nSTART = time.monotonic()\n@"))
    ended = run_ckernprof(["-l", "--cuda", "prog.py"], tmp_path, env={"STUB": str(libraries)})
    assert ended.code == -signal.SIGKILL
    profile = clineprof.load(tmp_path / "prog.py.lprof.live")
    time, launches = launched(profile)["kernel"]
    assert launches >= 20 and time == 10 * launches
    assert launches <= sums(profile, "hits")["kernel"][0]


def test_a_profiler_warns_once_where_cupti_cannot_be_used(profiled):
    _, _, out = profiled("""
        import clineprof, warnings
        def work():
            cuda.cudaLaunchKernel(10)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            profiler = clineprof.Profiler(cuda=True)
            profiler(work)
            profiler.snapshot()
            load_cuda()
            work()
            for _ in range(2):
                function, = clineprof.Profile(profiler.snapshot()).functions
        for warning in told:
            print(warning.category.__name__, os.path.basename(warning.filename), warning.message)
        profile(load_cuda)()
    """, cuda=None, variables={"STUB_FAIL": "cuptiSubscribe", "STUB_ERROR": "15"})
    assert out.splitlines()[0] == ("RuntimeWarning prog.py clineprof: the time of devices is missing, because "
                                   "cuptiSubscribe of CUPTI failed with error 15")
    assert out.count("RuntimeWarning") == 1


def test_another_subscriber(profiled):
    profile, told, _ = profiled(KINDS, variables={"STUB_FAIL": "cuptiSubscribe", "STUB_ERROR": "39"})
    assert told == ("ckernprof: --cuda: the time of devices is missing, because another profiler has CUPTI, such as "
                    "torch.profiler or Nsight; 'clineprof torch join' puts what torch.profiler recorded on lines\n")
    assert launched(profile) == {} and not profile.meta["has_device_time"]


@pytest.mark.parametrize("variables, why", [
    ({"STUB_VERSION": "140000"}, "version 140000 of CUPTI is not known; known are 13 to 28 and 130000 to 130099"),
    ({"STUB_VERSION": "12"}, "version 12 of CUPTI is not known; known are 13 to 28 and 130000 to 130099"),
    ({"STUB_FAIL": "cuptiSubscribe", "STUB_ERROR": "15"}, "cuptiSubscribe of CUPTI failed with error 15"),
    ({"STUB_FAIL": "cuptiActivityEnable", "STUB_ERROR": "35"}, "cuptiActivityEnable of CUPTI failed with error 35"),
    ({"STUB_FAIL": "cuptiEnableCallback"}, "cuptiEnableCallback of CUPTI failed with error 1"),
])
def test_a_cupti_that_cannot_be_used(profiled, variables, why):
    profile, told, _ = profiled(KINDS + "    print(cupti_.stub_subscribed())\n", variables=variables)
    assert told == f"ckernprof: --cuda: the time of devices is missing, because {why}\n"
    assert launched(profile) == {} and not profile.meta["has_device_time"]


def test_a_cupti_that_cannot_be_used_is_left(profiled):
    _, _, out = profiled(KINDS + "    print('subscribed', cupti_.stub_subscribed())\n",
                         variables={"STUB_FAIL": "cuptiActivityEnable"})
    assert "subscribed 0\n" in out


def test_without_cuda(profiled):
    _, told, _ = profiled("""
        @profile
        def work():
            pass
        work()
    """)
    assert told == ("ckernprof: --cuda: the time of devices is missing, because the program did not load CUDA "
                    "(libcuda.so.1)\n")


def test_without_cupti(profiled, tmp_path):
    _, told, _ = profiled("""
        sys.path[:] = [p for p in sys.path if not os.path.exists(p + "/nvidia")]
        load_cuda(cupti=False)
        @profile
        def work():
            cuda.cudaLaunchKernel(10)
        work()
    """, variables={"CUDA_HOME": str(tmp_path)})
    assert told == ("ckernprof: --cuda: the time of devices is missing, because no libcupti was found; install "
                    "nvidia-cuda-cupti, or set CUDA_HOME\n")


def test_an_error_of_the_program_stays_while_cupti_is_looked_for(profiled, tmp_path):
    _, _, out = profiled("""
        sys.path[:] = [p for p in sys.path if not os.path.exists(p + "/nvidia")]
        load_cuda(cupti=False)
        @profile
        def work():
            try:
                ctypes.CDLL("/no/such.so")
            except OSError:
                print("no such library")
        work()
    """, variables={"CUDA_HOME": str(tmp_path)})
    assert "no such library\n" in out


def test_cupti_is_loaded_from_where_packages_put_it(profiled, tmp_path, libraries):
    for folder, home in ("site/nvidia/cuda_cupti/lib", None), ("home/extras/CUPTI/lib64", tmp_path / "home"):
        (tmp_path / folder).mkdir(parents=True)
        name = "libcupti.so" if home else "libcupti.so.12"
        (tmp_path / folder / name).symlink_to(libraries / "libcupti.so.12")
    program = """
        sys.path[:] = [p for p in sys.path if not os.path.exists(p + "/nvidia")] + %r
        load_cuda(cupti=False)
        @profile
        def work():
            cuda.cudaLaunchKernel(10)  # kernel
        work()
    """
    for path, home in ([str(tmp_path / "site")], tmp_path), ([], tmp_path / "home"):
        profile, told, _ = profiled(program % path, variables={"CUDA_HOME": str(home)})
        assert told == "" and launched(profile) == {"kernel": (10, 1)}, path


def test_without_the_option_cupti_is_not_touched(profiled):
    profile, told, out = profiled(KINDS + "    print('touched', cupti_.stub_touched())\n", cuda=None)
    assert told == "" and "touched 0\n" in out
    assert launched(profile) == {} and not profile.meta["has_device_time"]


# ---- with torch, on the processor: what it does with devices is played

HAS_TORCH = importlib.util.find_spec("torch") is not None
torch = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed for this interpreter")

# CUDA comes first, as torch brings a libcupti of its own
WITH_TORCH = """
    load_cuda()
    import torch
"""


@torch
def test_threads_of_autograd_work_for_the_line_that_calls_backward(profiled):
    profile, told, _ = profiled(WITH_TORCH + """
    class Play(torch.autograd.Function):
        @staticmethod
        def forward(context, x, fails):
            context.fails = fails
            return x * 2
        @staticmethod
        def backward(context, gradient):
            cuda.launch_in(b"pt_autograd_0", 10)
            cuda.launch_in(b"another", 100)
            if context.fails:
                raise RuntimeError
            return gradient, None
    @profile
    def work():
        x = torch.ones(3, requires_grad=True)
        y, z = (Play.apply(x, fails).sum() for fails in (False, True))
        cuda.launch_in(b"pt_autograd_0", 1000)  # nobody calls backward
        y.backward()  # backward
        cuda.launch_in(b"pt_autograd_0", 10000)
        try:
            z.backward()  # fails
        except RuntimeError:
            cuda.launch_in(b"pt_autograd_0", 100000)
    work()
    """)
    assert told == ""
    assert launched(profile) == {"backward": (10, 1), "fails": (10, 1)}
    assert profile.meta["outside_device_time"] == 111200


@torch
@pytest.mark.parametrize("begin", ["torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])",
                                   "torch.autograd.profiler.profile()"])
def test_cupti_is_given_up_before_torch_profiler_begins(profiled, begin):
    profile, told, out = profiled(WITH_TORCH + f"""
    @profile
    def work():
        cuda.cudaLaunchKernel(10)  # before
        print("held", cupti_.stub_subscribed())
        with {begin}:
            print("held", cupti_.stub_subscribed())
            cuda.cudaLaunchKernel(100)  # within
        cuda.cudaLaunchKernel(1000)  # after
        print("held", cupti_.stub_subscribed())
    work()
    """)
    assert launched(profile) == {"before": (10, 1)}
    assert out.startswith("held 1\nheld 0\nheld 0\n")
    assert told.endswith("ckernprof: --cuda: the time of devices ends where the program began to use torch.profiler, "
                         "which needs CUPTI for itself; 'clineprof torch join' puts what torch.profiler recorded on "
                         "lines\n")


@torch
def test_cupti_is_never_taken_where_torch_profiler_was_used_before(profiled):
    _, told, out = profiled("""
    import torch
    @profile
    def work():
        with torch.autograd.profiler.profile():
            pass
        load_cuda()
        cuda.cudaLaunchKernel(1000)
        print("touched", cupti_.stub_touched())
    work()
    """)
    assert "touched 0\n" in out
    assert "is missing, because the program began to use torch.profiler" in told


def test_real_cupti_without_a_device(tmp_path, libraries):
    """NVIDIA's own library, where it is installed: it has all functions, its functions of CUDA have the names that are
    looked for, and it says by itself that there is no device."""
    found = [p for p in sys.path for p in pathlib.Path(p).glob("nvidia/*/lib/libcupti.so.1[123]")]
    if not found:
        pytest.skip("no package of NVIDIA with libcupti is installed for this interpreter")
    cupti = ctypes.CDLL(str(found[0]))
    version, name, names = ctypes.c_uint32(), ctypes.c_char_p(), {1: set(), 2: set()}
    assert cupti.cuptiGetVersion(ctypes.byref(version)) == 0
    for domain in names:
        number = 1
        while cupti.cuptiGetCallbackName(domain, number, ctypes.byref(name)) == 0:
            names[domain].add(name.value.decode().partition("_")[0])
            number += 1
    assert {"cuLaunchKernel", "cuLaunchKernelEx", "cuMemcpyDtoHAsync", "cuGraphLaunch", "cuCtxSynchronize"} <= names[1]
    assert {"cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "cudaStreamSynchronize"} <= names[2]
    (tmp_path / "prog.py").write_text(f"""
import ctypes
ctypes.CDLL({str(found[0])!r})
ctypes.CDLL({str(libraries)!r} + "/libcuda.so.1")
@profile
def work():
    pass
work()
""")
    ended = run_ckernprof(["-l", "--cuda", "prog.py"], tmp_path)
    assert ended.code == 0 and re.fullmatch("ckernprof: --cuda: the time of devices is missing, because cuptiSubscribe of "
                                            "CUPTI failed with error \\d+\n", ended.err), ended.err
