# SPDX-License-Identifier: MIT
"""--cuda, --tensors, torch join and --nvtx on a real NVIDIA GPU. The truth is what torch.profiler recorded of the same
program, what PyTorch's statistics say, and how many kernels a program launches. tests/cli has what needs no GPU."""
import json
import os
import shutil
import textwrap

import clineprof
import pytest
from engine import needs, run_ended
from harness import BUILD, ckernprof, run_python

pytestmark = [*needs("torch", heavy=False),
              pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="there is no NVIDIA GPU here")]

# Everything that a training does on a device. Under torch.profiler it writes the trace.
WORK = """
import sys, torch
torch.manual_seed(1)
dev = torch.device("cuda")
tracing = "trace" in sys.argv
@profile
def work(rounds, net, opt, a, b, host, pinned, x, side, graph):
    for i in range(rounds):
        c = a @ b                                       # matmul
        d = torch.relu(c)                               # relu
        d.add_(1)                                       # in place
        h = host.to(dev)                                # pageable
        p = pinned.to(dev, non_blocking=True)           # pinned
        z = torch.zeros(1 << 22, device=dev)            # zeros
        loss = net(x).square().mean()                   # forward
        loss.backward()                                 # backward
        opt.step()                                      # step
        opt.zero_grad()                                 # zero grad
        v = loss.item()                                 # item
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            e = b @ a                                   # side stream
        graph.replay()                                  # graph
        back = c.cpu()                                  # to host
        torch.cuda.synchronize()                        # wait
def main():
    net = torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048)).to(dev)
    opt = torch.optim.Adam(net.parameters())
    a, b, x = (torch.randn(4096, 4096, device=dev), torch.randn(4096, 4096, device=dev),
               torch.randn(4096, 2048, device=dev))
    host = torch.randn(1 << 20)
    pinned = torch.randn(1 << 20).pin_memory()
    side, graph, still = torch.cuda.Stream(), torch.cuda.CUDAGraph(), torch.zeros(1 << 20, device=dev)
    def captured():
        for n in range(10): still.mul_(1.5).add_(1)
    with torch.cuda.stream(side):
        captured()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured()
    torch.cuda.synchronize()
    things = net, opt, a, b, host, pinned, x, side, graph
    for n in range(3):
        work(10, *things)
    torch.cuda.synchronize()
    profile.reset()
    if not tracing:
        return work(30, *things)
    from torch.profiler import ProfilerActivity, profile as torch_profile
    with torch_profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        work(30, *things)
    prof.export_chrome_trace("trace.json")
main()
"""


def by_line(profile, *names):
    """{comment of lines: their numbers}, without lines that have none"""
    found = {}
    for function in profile.functions:
        for line in function.lines:
            numbers = [getattr(line, name) for name in names]
            if any(numbers):
                found[line.text.partition("# ")[2] or line.text.strip()] = tuple(numbers)
    return found


def profiled(folder, text, *options, words=(), quiet=True):
    """Runs a program under ckernprof -l; its profile, and what was printed."""
    (folder / "prog.py").write_text(textwrap.dedent(text))
    ended = run_ended(ckernprof("-l", *options, "prog.py", *words), folder)
    assert ended.err == "" or not quiet, ended.err
    return clineprof.load(folder / "prog.py.lprof"), ended


def traced(folder):
    """{category: (number, nanoseconds)} of what the device did, by the trace of torch.profiler"""
    found = {}
    for event in json.loads((folder / "trace.json").read_text())["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            count, nanos = found.get(event["cat"], (0, 0))
            found[event["cat"]] = count + 1, nanos + event["dur"] * 1000
    return found


BACKWARD = {"forward", "backward"}  # join puts kernels of backward on lines of forward
PAGEABLE = {"pageable", "to host"}  # such copies take another time in each run


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The same program under --cuda and, for torch join, under torch.profiler: both profiles, and the trace's sums."""
    live, joined = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("joined")
    profile, _ = profiled(live, WORK, "--cuda")
    profiled(joined, WORK, "--line-log", words=["trace"], quiet=False)  # torch warns of its own profiler
    ended = run_ended([BUILD / "bin" / "clineprof", "torch", "join", "prog.py.lprof", "trace.json"], joined)
    print(ended.out)
    return profile, clineprof.load(joined / "prog.py-joined.lprof"), traced(joined)


def sums(lines):
    return [sum(column) for column in zip(*lines.values())]


def near(one, other, share):
    return abs(one - other) <= share * max(one, other)


def test_live_and_join_agree_with_torch_profiler(seen):
    live, joined, trace = seen
    found, again = (by_line(p, "launches", "device_time", "device_wait") for p in (live, joined))
    print(trace, *(f"{name:12} {found.get(name)} {again.get(name)}" for name in {**found, **again}), sep="\n")
    assert sums(found)[0] == sums(again)[0] == sums(trace)[0]
    assert near(sums(again)[1], sums(trace)[1], 1e-6)
    pageable = sum(found[name][1] for name in PAGEABLE), sum(again[name][1] for name in PAGEABLE)
    assert near(sums(found)[1] - pageable[0], sums(again)[1] - pageable[1], 0.01)
    assert {name: row[0] for name, row in found.items() if name not in BACKWARD} == \
        {name: row[0] for name, row in again.items() if name not in BACKWARD}
    for name in found.keys() - BACKWARD - PAGEABLE:
        assert near(found[name][1], again[name][1], 0.05), name


def test_nothing_is_lost_or_outside(seen):
    live = seen[0]
    assert live.meta.get("lost_launches", 0) == 0 and live.meta.get("outside_launches", 0) == 0, live.meta


def test_waits(seen):
    """Copies of memory that is not pinned wait, what goes before in their stream included; others do not."""
    for profile in seen[:2]:
        found = {name: wait for name, (wait,) in by_line(profile, "device_wait").items()}
        print(found)
        assert set(found) == {"pageable", "item", "to host", "wait"}
    assert found["pageable"] > 0.5 * by_line(profile, "device_time")["matmul"][0]


def test_tensors_are_what_the_statistics_say(tmp_path):
    text = """
        import torch, json
        torch.cuda.init()
        def totals():
            s = torch.cuda.memory_stats()
            return [s["allocated_bytes.all.allocated"], s["allocated_bytes.all.freed"],
                    s["reserved_bytes.all.current"]] if s else [0, 0, 0]
        @profile
        def f(kept):
            for i in range(20):
                a = torch.empty(1000, 1000, device="cuda")                  # made
                torch.empty(1 << 28, dtype=torch.uint8, device="cuda")      # peak
                w = torch.randn(1000, 1000, device="cuda", requires_grad=True)  # w
                y = (w @ w).relu().sum()                                    # forward
                y.backward()                                                # backward
                kept.append(a)                                              # keep
                del a, w, y                                                 # del
            torch.cuda.synchronize()
        before = totals()
        f([])
        after = totals()
        print(json.dumps([b - a for a, b in zip(before, after)]))
    """
    profile, ended = profiled(tmp_path, text, "--tensors")
    allocated, freed, reserved = json.loads(ended.out.splitlines()[0])
    [place] = [n for n in (1, 2, 3, 4) if profile.meta.get(f"device{n}") == "cuda:0"]
    names = [f"device{place}_{what}" for what in ("allocated", "freed", "net", "peak", "reserved")]
    found = by_line(profile, *names)
    print(found, profile.meta[f"device{place}_outside"], profile.meta[f"device{place}_outside_freed"])
    total = sums(found)
    assert total[0] + profile.meta[f"device{place}_outside"] == allocated
    assert total[1] + profile.meta[f"device{place}_outside_freed"] == freed
    assert total[4] == reserved
    assert near(found["made"][0], 20 * 4000000, 0.05) and found["peak"][:2] == (20 << 28, 20 << 28)
    assert found["peak"][3] == 1 << 28 and found["backward"][0] > 3 * 20 * 4000000


def test_tensors_of_statistics(tmp_path, python):
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
        import clineprof, torch, json, time
        def f(kept):
            for i in range(20):
                a = torch.empty(1000, 1000, device="cuda"); time.sleep(.001)                # made
                torch.empty(1 << 28, dtype=torch.uint8, device="cuda"); time.sleep(.001)    # peak
                w = torch.randn(1000, 1000, device="cuda", requires_grad=True); time.sleep(.001)  # w
                y = (w @ w).relu().sum(); torch.cuda.synchronize(); time.sleep(.001)        # forward
                y.backward(); torch.cuda.synchronize()                                      # backward
                kept.append(a); time.sleep(.001)                                            # keep
                a = w = y = None; time.sleep(.001)                                          # del
        def totals():
            s = torch.cuda.memory_stats()
            return [s["allocated_bytes.all.allocated"], s["allocated_bytes.all.freed"]]
        torch.zeros(1, device="cuda")
        p = clineprof.Profiler(tensors=True, started=False)
        p.add_function(f)
        kept = []
        before = totals()
        p.start()
        f(kept)
        p.stop()
        after = totals()
        print(json.dumps([b - a for a, b in zip(before, after)]))
        open("prog.lprof", "wb").write(p.render("lprof"))
    """))
    ended = run_ended([python, "prog.py"], tmp_path)
    allocated, freed = json.loads(ended.out.splitlines()[0])
    profile = clineprof.load(tmp_path / "prog.lprof")
    found = by_line(profile, *(f"device1_{what}" for what in ("allocated", "freed", "net", "peak", "reserved")))
    print(found, profile.meta)
    total = sums(found)
    assert profile.meta["device1"] == "cuda:0"
    assert total[0] + profile.meta["device1_outside"] == allocated
    assert total[1] + profile.meta["device1_outside_freed"] == freed
    assert near(found["made"][0], 20 * 4000000, 0.05) and found["peak"][:2] == (20 << 28, 20 << 28)


OTHERS = {
    "cupy": """
        import cupy
        twice = cupy.RawKernel('extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }', "twice")
        x = cupy.ones(256, dtype=cupy.float32)
        @profile
        def work():
            for i in range(100):
                twice((1,), (256,), (x,))   # kernel
            return x.get()                  # get
        work()
        """,
    "numba": """
        import numba.cuda, numpy
        @numba.cuda.jit
        def twice(x):
            x[numba.cuda.threadIdx.x] *= 2
        x = numba.cuda.to_device(numpy.ones(256, dtype=numpy.float32))
        @profile
        def work():
            for i in range(100):
                twice[1, 256](x)            # kernel
            return x.copy_to_host()         # get
        work()
        """,
    "triton": """
        import torch, triton, triton.language as tl
        @triton.jit
        def twice(x, size: tl.constexpr):
            at = x + tl.arange(0, size)
            tl.store(at, tl.load(at) * 2)
        x = torch.ones(256, device="cuda")
        @profile
        def work():
            for i in range(100):
                twice[(1,)](x, size=256)    # kernel
            return x.cpu()                  # get
        work()
        """,
    "jax": """
        import os
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax, jax.numpy as np, numpy
        twice = jax.jit(lambda x: x * 2)
        x = np.ones(256)
        twice(x).block_until_ready()
        @profile
        def work(x):
            for i in range(100):
                x = twice(x)                # kernel
            return numpy.asarray(x)         # get
        work(x)
        """,
}


@pytest.mark.parametrize("package", OTHERS)
def test_others_that_use_cuda(tmp_path, package):
    pytest.importorskip(package)
    (tmp_path / "bare.py").write_text("profile = lambda f: f\n" + textwrap.dedent(OTHERS[package]))
    bare = run_python(["bare.py"], tmp_path, timeout=240)
    if bare.code != 0:
        pytest.skip(f"{package} does not run here: {bare.err.splitlines()[-1]}")
    profile, ended = profiled(tmp_path, OTHERS[package], "--cuda", quiet=False)
    found = by_line(profile, "launches", "device_time", "device_wait")
    print(ended.err, found, profile.meta.get("outside_launches"), profile.meta.get("lost_launches"))
    assert found["kernel"][0] == 100 and found["kernel"][1] > 0
    if package != "jax":  # it copies in a thread of its own, for which the line waits without CUDA
        assert found["get"][0] == 1 and found["get"][2] > 0


def test_torch_profiler_is_not_disturbed(tmp_path):
    """It records all kernels that it records without us, and CUPTI is given up before it begins."""
    text = """
        import torch
        from torch.profiler import ProfilerActivity, profile as torch_profile
        x = torch.ones(1000, device="cuda")
        @profile
        def work():
            for i in range(100):
                x.add_(1)                   # kernel
            torch.cuda.synchronize()
        work()
        for n in range(2):
            with torch_profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
                work()
            print(sum(e.device_type.name == "CUDA" and "vectorized" in e.name for e in p.events()))
    """
    profile, ended = profiled(tmp_path, text, "--cuda", quiet=False)
    print(ended.err)
    assert ended.out.splitlines()[:2] == ["100", "100"]
    assert by_line(profile, "launches")["kernel"] == (100,)
    assert "ends where the program began to use torch.profiler" in ended.err


def test_threads_and_windows(tmp_path, python):
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
        import clineprof, threading, torch
        x = torch.ones(1000, device="cuda")
        def work(n):
            for i in range(n):
                x.add_(1)                   # kernel
        def other(n):
            with torch.cuda.stream(torch.cuda.Stream()):
                for i in range(n):
                    x.mul(2)                # other
        profiler = clineprof.Profiler(cuda=True, started=False)
        profiler.add_function(work)
        profiler.add_function(other)
        for window in range(3):
            work(1000)
            profiler.start()
            threads = [threading.Thread(target=f, args=(500,)) for f in (work, other, work, other)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            work(100)
            profiler.stop()
            work(1000)
        torch.cuda.synchronize()
        open("prog.lprof", "wb").write(profiler.render("lprof"))
    """))
    ended = run_ended([python, "prog.py"], tmp_path)
    assert ended.err == "", ended.err
    profile = clineprof.load(tmp_path / "prog.lprof")
    assert by_line(profile, "launches") == {"kernel": (3 * 1100,), "other": (3 * 1000,)}, profile.meta


def test_a_million_launches(tmp_path):
    profile, _ = profiled(tmp_path, """
        import torch
        x = torch.ones(1000, device="cuda")
        @profile
        def work():
            for i in range(1_000_000):
                x.add_(1)                   # kernel
        work()
        torch.cuda.synchronize()
    """, "--cuda")
    assert by_line(profile, "launches") == {"kernel": (1_000_000,)}, profile.meta
    assert profile.meta.get("lost_launches", 0) == 0


def test_compiled_code(tmp_path):
    text = """
        import torch
        @torch.compile
        def g(x):
            return (x * 2 + 1).relu()
        x = torch.ones(1000, device="cuda")
        g(x)
        @profile
        def work():
            for i in range(50):
                y = g(x)                    # compiled
            torch.cuda.synchronize()
        work()
    """
    profile, ended = profiled(tmp_path, text, "--cuda", quiet=False)
    assert by_line(profile, "launches")["compiled"] == (50,), ended.err


@pytest.mark.skipif(shutil.which("ncu") is None, reason="Nsight Compute is not installed")
def test_nsight_compute_knows_the_ranges(tmp_path):
    """It profiles the kernels of one of our ranges alone."""
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
        import torch
        x = torch.ones(1000, device="cuda")
        @profile
        def chosen():
            x.add_(1)
        @profile
        def other():
            x.mul_(2)
        for i in range(3):
            chosen()
            other(); other()
        torch.cuda.synchronize()
    """))
    ended = run_ended(["ncu", "--nvtx", "--nvtx-include", "clineprof@chosen/", "--metrics", "gpu__time_duration.sum",
                       *ckernprof("-l", "--nvtx", "prog.py")], tmp_path)
    print(ended.out, ended.err)
    assert ended.out.count("gpu__time_duration.sum") == 3
