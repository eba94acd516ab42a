# SPDX-License-Identifier: MIT
"""Names of `with` blocks in the trace of torch.profiler."""

import pytest
from harness import BUILD, TRACER, run_python

PACKAGE = {"PYTHONPATH": str(BUILD / "python")}


@pytest.fixture(autouse=True)
def torch():
    pytest.importorskip("torch", reason="torch is not here")


def printed(folder, text):
    (folder / "main.py").write_text(f"""\
import clineprof
import torch
from torch.profiler import ProfilerActivity, profile as recording
profiler = clineprof.Profiler(tracer={TRACER!r})
def names(of):
    return {{event.key: event.count for event in of.key_averages() if not event.key.startswith(("aten::", "["))}}
{text}""")
    ended = run_python(["main.py"], folder, env=PACKAGE, timeout=300)
    # torch's own log: "ERROR:2026-11-26 20:46:32 16678:16678 DeviceProperties.cpp:56] .."
    said = [line for line in ended.err.splitlines() if ".cpp:" not in line]
    assert (said, ended.code) == ([], 0)
    return ended.out.splitlines()


@pytest.mark.slow
def test_blocks_are_in_the_trace_of_torch(tmp_path):
    assert printed(tmp_path, """\
with recording(activities=[ProfilerActivity.CPU]) as trace:
    for n in range(3):
        with profiler.block("outer"):
            x = torch.ones(4)
            with profiler.block("inner"):
                x.sum()
    try:
        with profiler.block("fails"):
            raise ValueError
    except ValueError:
        pass
    block = profiler.block("again")
    for n in range(2):
        with block:
            pass
print(sorted(names(trace).items()))
outer = [event for event in trace.events() if event.name == "outer"]
print([[child.name for child in event.cpu_children] for event in outer])
print([[child.name for child in event.cpu_children[-1].cpu_children] for event in outer])
functions = clineprof.Profile(profiler.snapshot()).functions
print({function.name: function["hits"] for function in functions})
""") == [
        "[('again', 2), ('fails', 1), ('inner', 3), ('outer', 3)]",
        str([["aten::ones", "inner"]] * 3),
        str([["aten::sum"]] * 3),
        "{'outer': [3, 6, 3], 'inner': [3], 'fails': [1], 'again': [2]}",
    ]  # fmt: skip


@pytest.mark.slow
def test_blocks_while_torch_does_not_record(tmp_path):
    """.. have no name there, also if it begins or ends within them; with the older profiler they have."""
    assert printed(tmp_path, """\
with profiler.block("before"):
    trace = recording(activities=[ProfilerActivity.CPU])
    trace.__enter__()
    torch.ones(1)
with profiler.block("within"):
    torch.ones(1)
    trace.__exit__(None, None, None)
with profiler.block("behind"):
    torch.ones(1)
print("before" in names(trace), "behind" in names(trace))
with torch.autograd.profiler.profile() as trace:
    with profiler.block("older"):
        torch.ones(1)
print(names(trace))
profiler.stop()
with recording(activities=[ProfilerActivity.CPU]) as trace:
    with profiler.block("counts no lines"):
        torch.ones(1)
print(names(trace))
""") == ["False False", "{'older': 1}", "{'counts no lines': 1}"]


@pytest.mark.slow
def test_what_torch_raises_does_not_get_into_the_program(tmp_path):
    assert printed(tmp_path, """\
class Broken:
    def __init__(self, name):
        pass
    def __enter__(self):
        return self
    def __exit__(self, *error):
        raise OSError
kept = torch.autograd.profiler.record_function
with recording(activities=[ProfilerActivity.CPU]) as trace:
    torch.autograd.profiler.record_function = Broken
    with profiler.block("first"):
        n = 1
    torch.autograd.profiler.record_function = None
    with profiler.block("second"):
        n = 2
    torch.autograd.profiler.record_function = kept
print(n, names(trace))
""") == ["2 {}"]
