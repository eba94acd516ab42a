# SPDX-License-Identifier: MIT
"""`clineprof torch join`: a trace of torch.profiler put on lines. One trace was recorded on a GPU; the others with kernels
are written by hand, after the form in which torch writes them. Their truth is in the tests. The last tests use the real
torch, on the CPU, where it is installed. tests/engines/test_devices.py uses it on a GPU."""
import collections
import gzip
import itertools
import json
import shutil
import struct

import clineprof
import msgpack
import pytest
from clineprof._torch import reading, slices
from clineprof._torch.log import CONTINUES
from harness import FIXTURES, run_ckernprof, run_viewer

pytestmark = pytest.mark.once

PROCESS, MAIN, OTHER, AUTOGRAD = 4000, 4000, 4001, 4100
BASE = 1_790_857_026_000_000_000  # nanoseconds since 1970 of the traces' time 0
LINES = list(range(2, 12))


# ---- profiles and traces by hand ----


def word_of(line, depth=1, continues=False):
    return (1 | depth << 24 | line << 32 | CONTINUES * continues) if line else 0


def write_run(folder, stays, process=PROCESS, dropped=0, name="run.lprof"):
    """A profile of train(), at line 1 of train.py. stays: {thread: [(microseconds, line) or (.., depth, continues)]}"""
    runs, events = b"", b""
    for thread, stays_of_one in stays.items():
        runs += struct.pack("<2Q", len(events) // 16, thread)
        for time, *rest in stays_of_one:
            events += struct.pack("<2Q", BASE + time * 1000, word_of(*rest))
    head = struct.pack("<5Q", process, 1, len(stays), len(events) // 16, dropped)
    text = "def train():\n" + "".join(f"    step({line})\n" for line in LINES)
    function = {"file": "train.py", "line": 1, "name": "train", "text": [0, 0, len(text)],
                "lines": {"line": LINES, "hits": [1] * len(LINES), "time": [1000] * len(LINES)}}
    (folder / name).write_bytes(msgpack.packb({
        "format": "clineprof", "version": 1, "unit": 1e-9, "functions": [function], "texts": [text],
        "meta": {"pid": process, "start": BASE * 1e-9},
        "line_log": [head + runs + events + b"train.py\0train\0" b"1\0"]}))  # fmt: skip


def op(name, thread, start, length, external=0, **more):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": PROCESS, "tid": thread, "ts": start, "dur": length,
            "args": {"External id": external, **more}}  # fmt: skip


def forward(name, thread, start, length, number):
    return op(name, thread, start, length, **{"Sequence number": number, "Fwd thread id": 0})


def backward(name, thread, start, length, number, origin=1):
    return op(name, thread, start, length, **{"Sequence number": number, "Fwd thread id": origin})


def call(name, thread, start, length, correlation=0):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": PROCESS, "tid": thread, "ts": start, "dur": length,
            "args": {"cbid": 211, "correlation": correlation}}  # fmt: skip


def kernel(start, length, correlation, category="kernel", name="void gemm<float>(int)", external=0):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": start, "dur": length,
            "args": {"External id": external, "device": 0, "stream": 7, "correlation": correlation}}  # fmt: skip


def launch(thread, start, length, correlation):
    return [call("cudaLaunchKernel", thread, start, 4, correlation), kernel(start + 50, length, correlation)]


def as_torch_writes(events, base=BASE):
    """torch's own layout: a line break, two spaces and a brace between two events."""
    items = ",\n".join("  " + json.dumps(event, indent=2).replace("\n", "\n  ") for event in events)
    return '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {"id": 0, "name": "by hand"}\n  ],\n' \
           '  "baseTimeNanoseconds": %d,\n  "traceEvents": [\n%s\n  ],\n  "traceName": "by hand"\n}\n' % (base, items)


def write_trace(folder, events, name="trace.json"):
    (folder / name).write_text(as_torch_writes(events))


def join(folder, *more, code=0, traces=("trace.json",)):
    ended = run_viewer(["torch", "join", "run.lprof", *traces, *more], folder, timeout=300)
    assert ended.code == code, ended.err
    return ended


def told(folder, name="run-joined.lprof"):
    """{line: (device time in us, waiting in us, launches)} of the lines that have any."""
    profile = clineprof.load(folder / name)
    assert profile.meta["has_device_time"] == 1
    [function] = profile.functions
    found = {line.line: (line.device_time / 1000, line.device_wait / 1000, line.launches) for line in function.lines}
    return {line: numbers for line, numbers in found.items() if any(numbers)}


def table(ended):
    """{line: (operators, forward ms, backward ms)} of the printed table."""
    rows = [row.split() for row in ended.out.splitlines() if "train.py:" in row]
    return {int(row[5].partition(":")[2]): (int(row[0]), float(row[1]), float(row[2])) for row in rows}


STAYS = {MAIN: [(0, 2), (1000, 3), (2000, 4), (3000, 5), (4000, 6), (9000, 0)]}


# ---- lines ----


def test_kernels_copies_and_waiting_belong_to_the_line_that_launched_them(tmp_path):
    """They run later, while other lines do. A replayed graph is one call, and several kernels."""
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, [
        op("aten::mm", MAIN, 100, 50),
        *launch(MAIN, 110, 3000, 1),
        *launch(MAIN, 1500, 10.5, 2),
        call("cudaMemcpyAsync", MAIN, 2100, 5, 3),
        kernel(3300, 7, 3, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"),
        call("cudaMemsetAsync", MAIN, 2200, 5, 4),
        kernel(3400, 2, 4, "gpu_memset", "Memset (Device)"),
        call("cudaMemcpyAsync", MAIN, 3100, 300, 5),
        kernel(3500, 1, 5, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)"),
        call("cudaStreamSynchronize", MAIN, 3450, 400, 6),
        call("cudaGraphLaunch", MAIN, 4100, 20, 7),
        *(kernel(4300 + 20 * n, 10, 7) for n in range(5)),
        call("cudaDeviceSynchronize", MAIN, 5000, 1000.25, 8),
        call("cudaStreamWaitEvent", MAIN, 7000, 90, 9),
    ])  # fmt: skip
    ended = join(tmp_path)
    assert told(tmp_path) == {2: (3000, 0, 1), 3: (10.5, 0, 1), 4: (9, 0, 2), 5: (1, 700, 1), 6: (50, 1000.25, 5)}
    assert "On no line" not in ended.out and ended.err == ""
    assert ended.out.splitlines()[0] == "Wrote 'run-joined.lprof'"


def test_a_trace_of_a_real_gpu(tmp_path):
    """fixtures/devices/h100_training.py, as torch 2.11.0 with CUDA 13.0 has recorded it on an NVIDIA H100. The truth is
    read off the trace by hand: backward is in thread 725, and belongs to the lines of the forward operators."""
    for name in "h100_training.lprof", "h100_training.json.gz":
        shutil.copy(FIXTURES / "devices" / name, tmp_path)
    ended = run_viewer(["torch", "join", "h100_training.lprof", "h100_training.json.gz"], tmp_path)
    assert ended.code == 0, ended.err
    truth = {
        10: (22.944 + 21.888, 197.701 + 23.063 + 153.979 + 25.22, 2),  # pageable = host.to(dev)
        11: (22.016 + 21.729, 0, 2),                                   # fast = pinned.to(dev, non_blocking=True)
        12: (1.888 + 2.016, 0, 2),
        13: (133.986 + 133.603 + 202.692 + 200.964, 0, 2 * (6 + 14)),  # the loss: forward, backward
        14: (2 * 0.992, 0, 2),                                         # backward() itself makes a tensor of ones
        15: (2 * 20.577, 0, 2),
        17: (1.696 + 1.6, 9.909 + 8.937, 2),                           # loss.item() copies into pinned memory
        19: (60.129 + 59.969, 0, 2),                                   # on another stream
        20: (4.128 + 2.176 + 2.208 + 4.16 + 2.144 + 2.208, 0, 6),           # a graph of three kernels
        21: (21.888 + 21.344, 766.226 + 9.577 + 1071.962 + 9.44, 2),   # back = pageable.cpu()
        22: (0, 27.904 + 21.111, 0),
    }  # fmt: skip
    assert told(tmp_path, "h100_training-joined.lprof") == {line: pytest.approx(row) for line, row in truth.items()}
    assert "On no line: 0.005 ms of waiting.\n" in ended.out


BACKWARD = [
    forward("aten::linear", MAIN, 100, 400, 5),
    forward("aten::t", MAIN, 110, 20, 5),
    forward("aten::addmm", MAIN, 200, 100, 6),
    *launch(MAIN, 210, 7, 1),
    forward("aten::sum", MAIN, 1100, 100, 7),
    backward("autograd::engine::evaluate_function: SumBackward0", AUTOGRAD, 4100, 100, 7),
    backward("SumBackward0", AUTOGRAD, 4110, 80, 7),
    *launch(AUTOGRAD, 4120, 11, 2),
    backward("autograd::engine::evaluate_function: AddmmBackward0", AUTOGRAD, 4300, 200, 6),
    backward("AddmmBackward0", AUTOGRAD, 4310, 150, 6),
    op("aten::mm", AUTOGRAD, 4320, 100),
    *launch(AUTOGRAD, 4330, 13, 3),
    op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", AUTOGRAD, 4600, 50),
    *launch(AUTOGRAD, 4610, 17, 4),
]


def test_backward_operators_belong_to_the_line_of_their_forward_operator(tmp_path):
    """AccumulateGrad has no number: it belongs to the line that called backward(), here line 6."""
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, BACKWARD)
    ended = join(tmp_path)
    assert told(tmp_path) == {2: (20, 0, 2), 3: (11, 0, 1), 6: (17, 0, 1)}
    assert table(ended) == {2: (2, 0.4, 0.2), 3: (2, 0.1, 0.1), 6: (1, 0, 0.05)}


def test_backward_in_the_thread_itself(tmp_path):
    """Without a GPU, autograd works in the thread that calls backward()."""
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, [{**event, "tid": MAIN if event["tid"] == AUTOGRAD else event["tid"]} for event in BACKWARD])
    ended = join(tmp_path)
    assert told(tmp_path) == {2: (20, 0, 2), 3: (11, 0, 1), 6: (17, 0, 1)}
    assert table(ended)[6] == (1, 0.05, 0)


def test_the_last_forward_operator_of_a_number_made_the_node(tmp_path):
    """An operator that makes no node has the number of the next one that does."""
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, [
        forward("aten::detach", MAIN, 100, 10, 5),
        forward("aten::mul", MAIN, 1100, 10, 5),
        backward("MulBackward0", AUTOGRAD, 4100, 100, 5),
        *launch(AUTOGRAD, 4120, 11, 1),
    ])  # fmt: skip
    join(tmp_path)
    assert told(tmp_path) == {3: (11, 0, 1)}


def test_lines_that_run_within_a_backward_operator_have_what_they_launch(tmp_path):
    """Checkpointing computes the forward again there; and a backward() of the program's own is Python, too."""
    write_run(tmp_path, {**STAYS, AUTOGRAD: [(4150, 8), (4250, 9), (4300, 0)]})
    write_trace(tmp_path, [
        forward("CheckpointFunction", MAIN, 100, 10, 5),
        backward("CheckpointFunctionBackward", AUTOGRAD, 4100, 400, 5),
        *launch(AUTOGRAD, 4120, 1, 1),
        *launch(AUTOGRAD, 4160, 2, 2),
        *launch(AUTOGRAD, 4260, 4, 3),
        forward("aten::mul", AUTOGRAD, 4265, 5, 2),
        backward("MulBackward0", AUTOGRAD, 4310, 100, 2, origin=2),
        *launch(AUTOGRAD, 4320, 8, 4),
        *launch(AUTOGRAD, 4450, 16, 5),
    ])  # fmt: skip
    join(tmp_path)
    assert told(tmp_path) == {2: (17, 0, 2), 8: (2, 0, 1), 9: (12, 0, 2)}


@pytest.mark.parametrize("with_flows", [True, False])
def test_threads_whose_operators_have_the_same_numbers(with_flows, tmp_path):
    """torch's number of a thread is another than the system's. The flows between operators tell which is which;
    without them the line is not guessed."""
    write_run(tmp_path, {MAIN: [(0, 2), (4000, 6)], OTHER: [(0, 3), (4000, 7)]})
    flows = [{"ph": kind, "cat": "fwdbwd", "name": "fwdbwd", "id": n, "pid": PROCESS, "tid": thread, "ts": time}
             for n, source, kinds in ((1, MAIN, (100, 4101)), (2, OTHER, (110, 5101)))
             for kind, thread, time in (("s", source, kinds[0]), ("f", AUTOGRAD, kinds[1]))]  # fmt: skip
    write_trace(tmp_path, [
        forward("aten::mul", MAIN, 100, 10, 5),
        forward("aten::mul", OTHER, 110, 10, 5),
        backward("MulBackward0", AUTOGRAD, 4100, 100, 5, origin=1),
        *launch(AUTOGRAD, 4110, 1, 1),
        backward("MulBackward0", AUTOGRAD, 5100, 100, 5, origin=2),
        *launch(AUTOGRAD, 5110, 2, 2),
        op("AccumulateGrad", AUTOGRAD, 5300, 100),
        *launch(AUTOGRAD, 5310, 4, 3),
        *launch(OTHER, 200, 8, 4),
        *launch(MAIN, 210, 16, 5),
        *(flows if with_flows else []),
    ])  # fmt: skip
    ended = join(tmp_path)
    sure = {2: (16, 0, 1), 3: (8, 0, 1)}
    assert told(tmp_path) == ({2: (17, 0, 2), 3: (10, 0, 2), 7: (4, 0, 1)} if with_flows else sure)
    assert ("On no line: 3 of 5 operators (0.300 ms), 3 of 5 kernels and copies (0.007 ms)." in ended.out) != with_flows


def test_callers_have_what_is_done_before_and_behind_a_callee(tmp_path):
    write_run(tmp_path, {MAIN: [(0, 2), (1000, 8, 2), (2000, 2, 1, True), (3000, 3)]})
    write_trace(tmp_path, [op("aten::mm", MAIN, 10, 1), *(
        event for n, time in enumerate((500, 1500, 2500, 3500)) for event in launch(MAIN, time, 1 << n, n + 1))])
    join(tmp_path)
    assert told(tmp_path) == {2: (5, 0, 2), 8: (2, 0, 1), 3: (8, 0, 1)}


def test_operators_within_operators_count_once_in_any_order(tmp_path):
    write_run(tmp_path, STAYS)
    events = [op("aten::linear", MAIN, 100, 400), op("aten::addmm", MAIN, 110, 300), op("aten::copy_", MAIN, 120, 10),
              op("aten::sum", MAIN, 600, 100), op("aten::fill_", MAIN, 601, 99)]  # fmt: skip
    for order in itertools.permutations(events):
        write_trace(tmp_path, order)
        if order == tuple(events):
            assert table(join(tmp_path)) == {2: (2, 0.5, 0)}
        trace, joined = reading.Trace(str(tmp_path / "trace.json")), joining_of(tmp_path)
        assert [(sums.ops, sums.forward) for sums in joined.lines.values()] == [(2, 500_000)], trace


def joining_of(folder):
    from clineprof._torch.joining import Join
    from clineprof._torch.log import logs_of

    trace, made = reading.Trace(str(folder / "trace.json")), Join()
    for events in trace:
        made.take(events)
    made.join(logs_of(clineprof.load(folder / "run.lprof"), "run")[PROCESS], trace.base)
    return made


def test_what_cannot_be_put_on_a_line_is_told(tmp_path):
    """A kernel without its call goes to the operator that it names, if there is one."""
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, [
        op("aten::mm", MAIN, 100, 50, external=77),
        op("aten::mm", MAIN, 9500, 250, external=78),
        kernel(3000, 1, 0, external=77),
        kernel(3000, 2, 12345),
        kernel(3000, 4, 0, external=78),
        *launch(OTHER, 3000, 8, 6),
        call("cudaStreamSynchronize", OTHER, 3000, 16),
    ])  # fmt: skip
    ended = join(tmp_path)
    assert told(tmp_path) == {2: (1, 0, 1)}
    meta = clineprof.load(tmp_path / "run-joined.lprof").meta
    assert (meta["outside_launches"], meta["outside_device_time"]) == (3, 14_000)
    assert ended.out.splitlines()[-2:] == [
        "On no line: 1 of 2 operators (0.250 ms), 3 of 4 kernels and copies (0.014 ms).",
        "On no line: 0.016 ms of waiting."]  # fmt: skip


def test_a_full_log_is_told(tmp_path):
    write_run(tmp_path, STAYS, dropped=12)
    write_trace(tmp_path, [op("aten::mm", MAIN, 100, 50)])
    assert join(tmp_path).out.endswith("The log of lines was full: 12 events are missing in it.\n")


def test_several_traces_are_added_up(tmp_path):
    """A schedule with `repeat` writes one for each cycle."""
    write_run(tmp_path, STAYS)
    for name, time in ("a.json", 100), ("b.json", 1100), ("c.json", 100):
        write_trace(tmp_path, [op("aten::mm", MAIN, time, 50), *launch(MAIN, time, 3, 1)], name)
    join(tmp_path, "-o", "all.lprof", traces=("a.json", "b.json", "c.json"))
    assert told(tmp_path, "all.lprof") == {2: (6, 0, 2), 3: (3, 0, 1)}


def test_the_joined_profile_keeps_what_the_profile_had(tmp_path):
    """All but the log of lines; and a second join begins anew."""
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, BACKWARD)
    join(tmp_path)
    before, after = (msgpack.unpackb((tmp_path / name).read_bytes()) for name in ("run.lprof", "run-joined.lprof"))
    assert "line_log" not in after and after["meta"]["has_device_time"] == 1
    for column in "line", "hits", "time":
        assert after["functions"][0]["lines"][column] == before["functions"][0]["lines"][column]
    (tmp_path / "run.lprof").write_bytes(msgpack.packb({**after, "line_log": before["line_log"]}))
    write_trace(tmp_path, [op("aten::mm", MAIN, 100, 50), *launch(MAIN, 110, 3, 1)])
    join(tmp_path)
    assert told(tmp_path) == {2: (3, 0, 1)}


# ---- reading ----


def old(event):
    """As torch 1.8 to 1.10 named things."""
    names = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memcpy": "Memcpy"}
    args = dict(event["args"])
    args["external id"] = args.pop("External id", 0)
    return {**event, "cat": names[event["cat"]], "args": args}


OF_NOBODY = [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": PROCESS, "tid": MAIN, "ts": 0, "dur": 1},
    {"ph": "i", "name": "Iteration Start: PyTorch Profiler", "s": "g", "pid": "Traces", "tid": "Trace", "ts": 1},
]

FORMS = {
    "torch's own": as_torch_writes,
    "in one line": lambda events: json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": events}),
    "indented by 2": lambda events: json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": events}, indent=2),
    "base behind the events": lambda events: json.dumps({"traceEvents": events, "baseTimeNanoseconds": BASE}),
    "before torch 2.4": lambda events: json.dumps(
        {"traceEvents": [{**event, "ts": event["ts"] + BASE // 1000} for event in events]}),
    "names of torch 1.8": lambda events: json.dumps(
        {"traceEvents": [{**old(event), "ts": event["ts"] + BASE // 1000} for event in events]}, separators=(",", ":")),
    "other events between": lambda events: as_torch_writes([item for event in events for item in (event, *OF_NOBODY)]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("compressed", [False, True])
def test_forms_of_a_trace(form, compressed, tmp_path):
    write_run(tmp_path, STAYS)
    content = FORMS[form](BACKWARD).encode()
    (tmp_path / "trace.json").write_bytes(gzip.compress(content) if compressed else content)
    ended = join(tmp_path)
    assert told(tmp_path) == {2: (20, 0, 2), 3: (11, 0, 1), 6: (17, 0, 1)}
    assert table(ended)[2] == (2, 0.4, 0.2)


@pytest.mark.parametrize("form", FORMS)
def test_pieces_of_a_trace_may_end_anywhere(form, tmp_path, monkeypatch):
    (tmp_path / "trace.json").write_text(FORMS[form](BACKWARD))
    whole = [event for events in reading.Trace(str(tmp_path / "trace.json")) for event in events]
    assert whole == json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    for size in (*range(1, 60), 511, 512, 513, 1000, 2000):
        monkeypatch.setattr(reading, "PIECE", size)
        trace = reading.Trace(str(tmp_path / "trace.json"))
        assert [event for events in trace for event in events] == whole, size
        assert trace.base in (BASE, 0)


TRACE = as_torch_writes(BACKWARD)
CUT_OFF = "'trace.json' is cut off: the list of events does not end"
NO_TRACE = "'trace.json' is not a trace of torch.profiler: "
NO_LOG = ("'run.lprof' has no log of lines: run the program with ckernprof --line-log, or Profiler(line_log=True), and "
          "with torch.profiler")
DAMAGED = "'run.lprof' has a damaged log of lines"


@pytest.mark.parametrize("content, wrong", [
    ("", NO_TRACE + "it has no \"traceEvents\""),
    ("hello", NO_TRACE + "it has no \"traceEvents\""),
    ('{"a": 1}', NO_TRACE + "it has no \"traceEvents\""),
    (TRACE[: len(TRACE) // 2], CUT_OFF),
    (TRACE[: TRACE.index("]", TRACE.index("traceEvents") + 20)], CUT_OFF),
    (gzip.compress(TRACE.encode())[:-20], "'trace.json' is damaged or cut off"),
    (gzip.compress(TRACE.encode())[:60] + b"damage" * 99, "'trace.json' is damaged or cut off"),
    (b'{"traceEvents": [\xff', "'trace.json' is damaged or cut off"),
    ('{"traceEvents": [1]}', NO_TRACE + "an event is not an object"),
    ('{"traceEvents": [{"a": %s' % ("[" * 200_000), None),
    ('{"traceEvents": []}', "'trace.json' has no operators of the CPU: record them with ProfilerActivity.CPU"),
    ('{"traceEvents": [{"cat": "cpu_op", "ph": "X"}]}', NO_TRACE + "KeyError('tid') in an event"),
    (as_torch_writes([{**event, "pid": 12} for event in BACKWARD]),
     "'trace.json' is a trace of process 12, and 'run.lprof' has the lines of process 4000"),
    (as_torch_writes(BACKWARD, BASE + 10**12),
     "the trace is of another time than the log of lines: 1790858026.000 to 1790858026.005, and 1790857026.000 to "
     "1790857026.009 (seconds since 1970)"),
])  # fmt: skip
def test_a_bad_trace_gets_one_line(content, wrong, tmp_path):
    write_run(tmp_path, STAYS)
    (tmp_path / "trace.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = join(tmp_path, code=1)
    assert ended.out == "" and ended.err.count("\n") == 1 and ended.err.startswith("clineprof torch: ")
    assert wrong is None or ended.err == f"clineprof torch: {wrong}\n"
    assert not (tmp_path / "run-joined.lprof").exists()


def without_log(folder):
    profile = msgpack.unpackb((folder / "run.lprof").read_bytes())
    return msgpack.packb({key: value for key, value in profile.items() if key != "line_log"})


def with_log(folder, log):
    return msgpack.packb({**msgpack.unpackb((folder / "run.lprof").read_bytes()), "line_log": [log]})


@pytest.mark.parametrize("content, wrong", [
    (without_log, NO_LOG),
    (lambda folder: with_log(folder, b"short"), DAMAGED),
    (lambda folder: with_log(folder, struct.pack("<5Q", PROCESS, 1, 1, 1 << 60, 0)), DAMAGED),
    (lambda folder: with_log(folder, struct.pack("<7Q", PROCESS, 9, 1, 0, 0, 0, 1)), DAMAGED),
    (lambda folder: with_log(folder, struct.pack("<9Q", PROCESS, 0, 1, 1, 0, 0, MAIN, BASE, 5)), DAMAGED),
    (lambda folder: b"hello", None),
])  # fmt: skip
def test_a_profile_without_a_good_log_gets_one_line(content, wrong, tmp_path):
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, BACKWARD)
    (tmp_path / "run.lprof").write_bytes(content(tmp_path))
    ended = join(tmp_path, code=1)
    assert ended.out == "" and ended.err.count("\n") == 1
    assert wrong is None or ended.err == f"clineprof torch: {wrong}\n"


@pytest.mark.parametrize("words, code, wrong", [
    ([], 2, ""),
    (["split"], 2, "unknown command 'split'; there is join"),
    (["join", "run.lprof"], 2, "needs a profile and a trace; see clineprof torch join --help"),
    (["join", "run.lprof", "trace.json", "trace.json", "--trace", "x"], 2, "--trace needs a single trace"),
    (["join", "run.lprof", "missing.json"], 1, "'missing.json': No such file or directory"),
    (["join", "run.lprof", "."], 1, "'.': Is a directory"),
    (["join", "run.lprof", "trace.json", "-o", "trace.json"], 1,
     "would overwrite 'trace.json', which it reads; choose another name"),
    (["join", "run.lprof", "trace.json", "--trace", "run.lprof"], 1,
     "would overwrite 'run.lprof', which it reads; choose another name"),
    (["join", "run.lprof", "trace.json", "--trace", "/dev/null"], 1, "cannot replace '/dev/null': it is not a regular file"),
    (["join", "run.lprof", "trace.json", "--trace", "no/x.json"], 1, "'no/x.json': No such file or directory"),
    (["join", "run.lprof", "trace.json", "-o", "no/dir.lprof"], 1, "'no/dir.lprof': No such file or directory"),
])  # fmt: skip
def test_wrong_words(words, code, wrong, tmp_path):
    write_run(tmp_path, STAYS)
    write_trace(tmp_path, BACKWARD)
    ended = run_viewer(["torch", *words], tmp_path)
    assert ended.code == code
    assert ended.err == (f"clineprof torch: {wrong}\n" if wrong else "")


# ---- lines in the trace ----


def test_spans_of_lines():
    words = [(10, word_of(2)), (20, word_of(8, 2)), (30, word_of(9, 2)), (40, word_of(2, 1, True)), (50, word_of(2)),
             (60, 0), (70, word_of(3, 1, True)), (80, word_of(3))]  # fmt: skip
    found = [(key >> 32, start, end) for key, start, end in slices.spans(words, 15, 90)]
    assert found == [(8, 20, 30), (9, 30, 40), (2, 15, 50), (2, 50, 60), (3, 70, 80), (3, 80, 90)]


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
@pytest.mark.parametrize("form", ["torch's own", "in one line", "before torch 2.4"])
def test_the_trace_with_lines_has_all_events_of_the_trace(form, name, tmp_path):
    write_run(tmp_path, STAYS)
    (tmp_path / "run.lprof").chmod(0o640)
    (tmp_path / "trace.json").write_text(FORMS[form](BACKWARD))
    ended = join(tmp_path, "--trace", name)
    assert ended.out.splitlines()[:2] == ["Wrote 'run-joined.lprof'", f"Wrote '{name}'"]
    content = (tmp_path / name).read_bytes()
    made, trace = (json.loads(text) for text in (gzip.decompress(content) if name.endswith("gz") else content,
                                                 (tmp_path / "trace.json").read_text()))  # fmt: skip
    added = made["traceEvents"][: len(made["traceEvents"]) - len(trace["traceEvents"])]
    assert made == {**trace, "traceEvents": added + trace["traceEvents"]}
    shift = 0 if "baseTimeNanoseconds" in trace else BASE / 1000
    shown = [(event["name"], event["ts"] - shift, event["dur"]) for event in added if event["ph"] == "X"]
    assert shown == [("train:2", 100, 900), ("train:3", 1000, 1000), ("train:4", 2000, 1000), ("train:5", 3000, 1000),
                     ("train:6", 4000, 650)]  # fmt: skip
    assert {event["tid"] for event in added} == {slices.ROW + MAIN}
    assert added[0]["args"] == {"name": "lines of thread 4000"}
    assert added[2]["args"] == {"file": "train.py", "line": 2, "text": "step(2)"}
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["run.lprof", "run-joined.lprof", "trace.json", name])
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o640


# ---- the real torch, without a GPU ----

TRAINING = """
import os
import torch
from torch.profiler import ProfilerActivity, profile as torch_profile

net = torch.nn.Linear(16, 16)

@profile
def train(batch):
    hidden = net(batch)
    loss = hidden.sum()
    loss.backward()
    return loss.item()

@profile
def short(x):
    for n in range(2000):
        x.add(1)
        x.mul(2)
        x.sub(3)

train(torch.rand(8, 16))
with torch_profile(activities=[ProfilerActivity.CPU]) as prof:
    for n in range(5):
        train(torch.rand(8, 16))
    short(torch.rand(4))
train(torch.rand(8, 16))
prof.export_chrome_trace("trace.json")
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    pytest.importorskip("torch", reason="torch is not installed")
    folder = tmp_path_factory.mktemp("real")
    (folder / "train.py").write_text(TRAINING)
    ended = run_ckernprof(["-l", "--line-log", "-o", "run.lprof", "train.py"], folder, timeout=300)
    assert ended.code == 0, ended.err
    return folder, join(folder, "--trace", "out.json")


def lines_of_operators(folder):
    """{operator: {text of its line: how many}} of the outermost operators and all backward ones."""
    from clineprof._torch.log import logs_of

    made, found = joining_of_real(folder)
    profile = clineprof.load(folder / "run.lprof")
    texts = {(function.name, line.line): line.text.strip() for function in profile.functions for line in function.lines}
    [log] = logs_of(profile, "run").values()
    counts = collections.defaultdict(collections.Counter)
    for event in found:
        key = made.place(event["tid"], round(event["ts"] * 1000))[0]
        counts[event["name"]][texts[log.line(key)[1], log.line(key)[3]] if key else None] += 1
    return counts


def joining_of_real(folder):
    from clineprof._torch.joining import Join
    from clineprof._torch.log import logs_of

    trace, made, found = reading.Trace(str(folder / "trace.json")), Join(), []
    for events in trace:
        made.take(events)
        found += [event for event in events if event.get("cat") == "cpu_op"]
    [log] = logs_of(clineprof.load(folder / "run.lprof"), "run").values()
    made.join(log, trace.base)
    return made, found


def test_real_operators_are_on_their_lines(real):
    """Each of 6,000 short operators, too: the clocks agree."""
    counts = lines_of_operators(real[0])
    for name, text in {"aten::linear": "hidden = net(batch)", "aten::item": "return loss.item()",
                       "AddmmBackward0": "hidden = net(batch)", "SumBackward0": "loss = hidden.sum()",
                       "torch::autograd::AccumulateGrad": "loss.backward()"}.items():  # fmt: skip
        assert counts[name] == {text: 10 if "Accumulate" in name else 5}, name
    for name in "add", "mul", "sub":
        assert counts[f"aten::{name}"] == {f"x.{name}({dict(add=1, mul=2, sub=3)[name]})": 2000}


def test_the_real_join_says_that_there_is_no_gpu(real):
    folder, ended = real
    assert "No kernel is in the trace: device times are 0, and the table has operators of the CPU.\n" in ended.out
    assert "hidden = net(batch)" in ended.out
    lines = [line for function in clineprof.load(folder / "run-joined.lprof").functions for line in function.lines]
    assert not any(line.device_time or line.device_wait or line.launches for line in lines)


def test_real_slices_hold_the_operators_of_their_lines(real):
    events = json.loads((real[0] / "out.json").read_text())["traceEvents"]
    shown = [event for event in events if event.get("cat") == "line" and event["args"]["text"] == "x.mul(2)"]
    operators = [event for event in events if event.get("name") == "aten::mul"]
    assert len(shown) == len(operators) == 2000
    for line, operator in zip(shown, operators):
        assert line["ts"] <= operator["ts"] and operator["ts"] + operator["dur"] <= line["ts"] + line["dur"]


def test_steps_log_lines_for_a_schedule_of_torch(real, tmp_path):
    (tmp_path / "prog.py").write_text("""
import clineprof
import torch
from torch.profiler import ProfilerActivity, profile as torch_profile, schedule
words = dict(wait=1, warmup=1, active=2, repeat=2)
def train(x):
    return x.add(1)
def ready(prof):
    prof.export_chrome_trace("%d.json" % prof.step_num)
with torch_profile(activities=[ProfilerActivity.CPU], schedule=schedule(**words), on_trace_ready=ready) as prof:
    with clineprof.Steps(train, line_log=True, **words) as steps:
        for n in range(10):
            train(torch.rand(4))
            steps.step()
            prof.step()
steps.total.write("run.lprof")
""")
    from harness import BUILD, run_python

    ended = run_python(["prog.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")}, timeout=300)
    assert ended.code == 0, ended.err
    traces = sorted(path.name for path in tmp_path.glob("*.json"))
    assert len(traces) == 2
    out = join(tmp_path, traces=traces).out
    assert [row.split()[0] for row in out.splitlines() if "return x.add(1)" in row] == ["4"]


RANKS = """
import os
import torch
from torch.profiler import ProfilerActivity, profile as torch_profile
from torch.utils.data import DataLoader

class Numbers:
    def __len__(self):
        return 4
    @profile
    def __getitem__(self, number):
        return torch.ones(4) * number

@profile
def train(batch):
    hidden = batch * 2
    return hidden.sum()

def begin(number):
    global recorded
    recorded = torch_profile(activities=[ProfilerActivity.CPU])
    recorded.__enter__()

def collate(numbers):
    if int(numbers[0][0]) == 3:
        recorded.__exit__(None, None, None)
        recorded.export_chrome_trace("worker%s.json" % os.environ["RANK"])
    return torch.stack(numbers)

if __name__ == "__main__":
    for batch in DataLoader(Numbers(), 1, num_workers=1, worker_init_fn=begin, collate_fn=collate):
        pass
    with torch_profile(activities=[ProfilerActivity.CPU]) as prof:
        for number in range(int(os.environ["RANK"]) + 2):
            train(torch.ones(8))
    prof.export_chrome_trace("rank%s.json" % os.environ["RANK"])
"""


@pytest.mark.slow
def test_traces_of_ranks_and_of_workers_of_a_data_loader(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    (tmp_path / "ranks.py").write_text(RANKS)
    options = ["-l", "--line-log", "--prof-child-procs", "-o", "run.lprof"]
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "ranks.py"]
    ended = run_ckernprof([*options, *torchrun], tmp_path, timeout=300)
    assert ended.code == 0, ended.err
    names = ["rank0.json", "rank1.json", "worker0.json", "worker1.json"]
    assert sorted(path.name for path in tmp_path.glob("*.json")) == names
    for name, operators in zip(names, [2, 3, 4, 4]):
        rows = [line.split() for line in join(tmp_path, traces=[name]).out.splitlines() if ".py:" in line]
        of_worker = {"ranks.py:12": operators * 2}  # ones and mul
        of_rank = {"ranks.py:16": operators, "ranks.py:17": operators}
        assert {row[5]: int(row[0]) for row in rows} == (of_worker if "worker" in name else of_rank)
    assert len(clineprof.load(tmp_path / "run.lprof")._line_logs) == 4
