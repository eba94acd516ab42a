# SPDX-License-Identifier: MIT
"""--tensors with PyTorch itself, on the processor. The truth is the sizes that the program asks for, and what PyTorch's
own profiler says. tests/cli/test_tensors.py has what needs no PyTorch."""
import json
import re
import textwrap

import pytest
from engine import needs
from harness import BUILD, run_ckernprof, run_python

import clineprof

pytestmark = needs("torch", heavy=False)

START = """\
import torch
def empty(n):
    return torch.empty(n, dtype=torch.uint8)
"""


def profiled(folder, text, quiet=True):
    (folder / "prog.py").write_text(START + textwrap.dedent(text))
    ended = run_ckernprof(["-l", "--tensors", "--prof-child-procs", "prog.py"], folder, timeout=240)
    assert ended.code == 0 and (ended.err == "" or not quiet), ended.err
    return clineprof.load(folder / "prog.py.lprof")


def lines(profile, device=1):
    """{comment of lines: allocated, freed, peak}, of the first device"""
    return {line.text.partition("# ")[2]: tuple(getattr(line, f"device{device}_{what}")
                                                for what in ("allocated", "freed", "peak"))
            for function in profile.functions for line in function.lines if "# " in line.text}  # fmt: skip


def test_kept_freed_in_place_and_views(tmp_path):
    found = lines(profiled(tmp_path, """
        @profile
        def f():
            a = empty(1000)                     # kept
            empty(200); empty(300)              # freed
            a += 1; a.zero_()                   # in place
            b = a[10:].view(-1, 5)              # view
            c = a + 1                           # new
            a.resize_(3000)                     # larger
            del a; del b                        # deleted
            c = torch.cat([c, c])               # cat
            s = torch.empty(2000, dtype=torch.uint8).share_memory_()    # shared
        for i in range(3): f()
    """))
    del found["in place"]  # PyTorch makes tensors of the numbers that are added
    allocated, freed, _ = found.pop("new")
    assert allocated - freed == 3000 and freed < 100
    assert found == {"kept": (3000, 0, 1000), "freed": (1500, 1500, 300), "view": (0, 0, 0),
                     "larger": (9000, 3000, 3000), "deleted": (0, 9000, 0), "cat": (6000, 3000, 2000),
                     "shared": found["shared"]}  # fmt: skip
    assert found["shared"][0] >= 2 * 6000


def test_backward(tmp_path):
    found = lines(profiled(tmp_path, """
        w = torch.ones(1000, requires_grad=True)
        @profile
        def step():
            y = w * 2                           # forward
            y.backward(torch.ones(1000))        # backward
            w.grad = None                       # dropped
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x): return x * 1
            @staticmethod
            def backward(ctx, g): raise ValueError("wrong")
        @profile
        def fail():
            try:
                Wrong.apply(w).sum().backward()
            except ValueError as error:
                assert str(error) == "wrong"
        for i in range(4):
            step(); fail()
        assert len(torch.autograd.grad((w * w).sum(), [w])) == 1
    """))
    kept = {mark: allocated - freed for mark, (allocated, freed, peak) in found.items()}
    assert kept["dropped"] == -16000 and found["backward"][2] >= 8000
    assert kept["forward"] + kept["backward"] == 32000 and abs(kept["backward"] - 16000) < 100  # but for the number 2


def test_another_device(tmp_path):
    """As on a GPU, whose allocator calls the same function of libc10."""
    profile = profiled(tmp_path, """
        import ctypes
        report = ctypes.CDLL(None)["_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"]
        def cuda(bytes, reserved):
            report(ctypes.c_void_p(64), ctypes.c_int64(bytes), ctypes.c_size_t(0), ctypes.c_size_t(reserved), 1)
        @profile
        def f():
            cuda(512, 2 << 20); empty(7)        # both
            cuda(-512, 2 << 20)                 # freed
        f()
    """)
    place = [n for n in (1, 2, 3, 4) if profile.meta.get(f"device{n}") == "cuda:0"][0]
    assert lines(profile, place) == {"both": (512, 0, 512), "freed": (0, 512, 0)}
    assert lines(profile, 3 - place) == {"both": (7, 7, 7), "freed": (0, 0, 0)}


LOADER = """
    from torch.utils.data import DataLoader, Dataset
    class Data(Dataset):
        def __len__(self): return 24
        @profile
        def __getitem__(self, i):
            return empty(1000 + i)          # item
    if __name__ == "__main__":
        loader = DataLoader(Data(), batch_size=1, num_workers=2, multiprocessing_context=%r)
        assert sum(batch.numel() for batch in loader) == 24276
"""


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader(tmp_path, context):
    found = lines(profiled(tmp_path, LOADER % context))
    assert found["item"] == (24 * 1000 + sum(range(24)), 0, 1023)


PROFILED = """
    import json, sys, threading
    from torch.profiler import ProfilerActivity, profile as own
    before = empty(1_000_000)
    w = torch.ones(300, 300, requires_grad=True)
    @profile
    def work():
        global before
        x = torch.rand(300, 300)
        before = None
        (x @ w).relu().sum().backward()
        return x.share_memory_()
    def run():
        return work(), empty(77)
    run(); w.grad = None
    before = empty(1_000_000)
    with own(activities=[ProfilerActivity.CPU], profile_memory=True) as told:
        kept = run()
        w.grad = None
        empty(5)
    told.export_chrome_trace("trace.json")
    with own(activities=[ProfilerActivity.CPU]) as without:
        run()
    events = json.load(open("trace.json"))["traceEvents"]
    print([[e["args"]["Bytes"], e["args"]["Total Allocated"]] for e in events if e.get("name") == "[memory]"])
    print(sorted([e.key, e.count, e.self_cpu_memory_usage] for e in told.key_averages()))
    print(sorted([e.key, e.count] for e in without.key_averages()))
    print(torch.autograd._profiler_enabled())
"""


def test_pytorchs_profiler_says_the_same_with_us_and_without(tmp_path):
    (tmp_path / "bare.py").write_text(START + "profile = lambda f: f\n" + textwrap.dedent(PROFILED))
    (tmp_path / "prog.py").write_text(START + textwrap.dedent(PROFILED))
    bare = run_python(["bare.py"], tmp_path, timeout=240)
    ours = run_ckernprof(["-l", "--tensors", "prog.py"], tmp_path, timeout=240)
    assert bare.code == ours.code == 0, bare.err + ours.err
    said = ours.out.split("Wrote profile")[0]
    assert said == bare.out and len(json.loads(bare.out.splitlines()[0])) > 10


def test_sums_are_pytorchs_own(tmp_path):
    """All bytes of the program: those of its lines, and those outside."""
    text = """
        import clineprof, json
        from torch.profiler import ProfilerActivity, profile as own
        @profile
        def train(n):
            w = torch.rand(50, 50, requires_grad=True)
            for i in range(n):
                loss = (torch.rand(50, 50) @ w).softmax(0).sum()
                loss.backward()
                w.grad = None
        def outside():
            return [empty(i) for i in range(100)]
        told = own(activities=[ProfilerActivity.CPU], profile_memory=True)
        told.start()
        p = clineprof.Profiler(tensors=True)
        p.add_function(train)
        train(20)
        kept = outside()
        del kept[::2]
        s = clineprof.Profile(p.snapshot())
        told.stop()
        told.export_chrome_trace("trace.json")
        bytes = [e["args"]["Bytes"] for e in json.load(open("trace.json"))["traceEvents"] if e.get("name") == "[memory]"]
        lines = [line for f in s.functions for line in f.lines]
        found = [sum(line.device1_allocated for line in lines) + s.meta["device1_outside"],
                 sum(line.device1_freed for line in lines) + s.meta["device1_outside_freed"]]
        assert found == [sum(b for b in bytes if b > 0), -sum(b for b in bytes if b < 0)], (found, bytes)
        assert found[0] > 20 * 50 * 50 * 4
    """
    profiled(tmp_path, text, quiet=False)  # PyTorch's profiler misses a GPU


TRAIN = """
    import sys
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    def train(steps):
        optimizer = torch.optim.Adam(net.parameters())
        for i in range(steps):
            loss = net(torch.rand(64, 64)).square().mean()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        return loss.item()
    def profiler():
        import clineprof
        made = clineprof.Profiler(tensors=True)
        made.add_function(train)
        return made
    made = profiler() if len(sys.argv) > 1 else None
    results = [train(20)]
    assert not torch.cuda.is_initialized()
    if not torch.cuda.is_available():
        torch.cuda._initialized = True  # PyTorch's own functions now say that there is no device
        results.append(train(5))
        torch.cuda._initialized = False
    print(results, [float(p.sum().detach()) for p in net.parameters()])
    if made:
        assert not made.snapshot()["meta"].get("device1")
"""


def test_a_profiler_without_the_library_changes_nothing(tmp_path):
    """Nothing is initialised, nothing but clineprof's one line is printed, and the results are the same."""
    (tmp_path / "prog.py").write_text(START + textwrap.dedent(TRAIN))
    env = {"PYTHONPATH": str(BUILD / "python")}
    bare, ended = (run_python(["prog.py", *words], tmp_path, env=env, timeout=240) for words in ([], ["profiled"]))
    assert (bare.code, ended.code) == (0, 0), ended.err
    assert ended.out == bare.out
    assert re.sub("^clineprof: only tensors on CUDA devices .*\n", "", ended.err) == bare.err


def test_the_functions_that_are_read_without_the_library(tmp_path):
    """They are C functions of these names and arguments; others would not be called."""
    (tmp_path / "prog.py").write_text(START + textwrap.dedent("""
        import ctypes, sys
        flags = ctypes.pythonapi.PyCFunction_GetFlags
        flags.argtypes = [ctypes.py_object]
        names = "_cuda_isInBadFork", "_cuda_getDeviceCount", "_cuda_hasPrimaryContext", "_cuda_memoryStats"
        module = vars(sys.modules["torch._C"])
        print([(module[name].__name__ == name, flags(module[name])) for name in names if name in module])
        print(vars(sys.modules["torch.cuda"])["_initialized"])
    """))
    ended = run_python(["prog.py"], tmp_path, timeout=240)
    of_cuda = "[(True, 4), (True, 4), (True, 8), (True, 8)]\nFalse\n"
    assert ended.code == 0 and ended.out in (of_cuda, "[]\nFalse\n"), ended.out + ended.err
