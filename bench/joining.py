# SPDX-License-Identifier: MIT
"""Measures how long `clineprof torch join` takes for a trace of 1 GB, and how much memory. The trace is made here, in
the form in which torch writes it; no GPU has recorded it. Checks the sums of every line."""
import os
import shutil
import struct
import subprocess

import msgpack

from environment import ROOT
from ranks import run_measured
from tables import Table
from variants import CKERNPROF, CLINEPROF

FOLDER = os.path.join(ROOT, "build", "bench", "join")
SIZE = 1_000_000_000  # bytes of the trace
LINES = 100           # of the function
PROCESS, THREAD, BACKWARD = 4000, 4000, 4100
BASE = 1_700_000_000_000_000_000
STEP = 100_000        # nanoseconds from one line to the next
KERNEL = 7_250        # nanoseconds
MOST_SECONDS, MOST_BYTES = 60, 2_000_000_000

OP = """
  {
    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 4000, "tid": %d,
    "ts": %d.%03d, "dur": %d.%03d,
    "args": {
      "External id": %d,"Record function id": 0, "Concrete Inputs": ["", "", ""],
      "Input type": ["float", "float", ""], "Input Strides": [[4096, 1], [1, 4096], []],
      "Input Dims": [[64, 4096], [4096, 4096], []], "Ev Idx": %d%s
    }
  },"""
CALL = """
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4000, "tid": %d,
    "ts": %d.%03d, "dur": 4.500,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },"""
DEVICE = """
  {
    "ph": "X", "cat": "kernel", "pid": 0, "tid": 7,
    "name": "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >",
    "ts": %d.%03d, "dur": 7.250,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %d,
      "registers per thread": 16, "shared memory": 0, "blocks per SM": 1.939394, "warps per SM": 7.757576,
      "grid": [256, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 12
    }
  },"""


def at(nanos):
    return divmod(nanos, 1000)


class Writer:
    """Writes a trace: lines run one after the other; each calls an operator, whose backward operator another thread
    runs later. Both launch a kernel."""

    def __init__(self, file):
        self._file, self._number, self.lines = file, 0, 0

    def operator(self, name, thread, start, more):
        self._number += 1
        number = self._number
        self._file.write(OP % (name, thread, *at(start), *at(STEP // 2), number, number, more))
        self._file.write(OP % ("aten::inner", thread, *at(start + 1000), *at(STEP // 4), number, number, ""))
        self._file.write(CALL % (thread, *at(start + 2000), number, number))
        self._file.write(DEVICE % (*at(start + 50_000), number, number))

    def step(self):
        """All lines, and then `backward()`, which is the last line."""
        first = self.lines
        for line in range(first, first + LINES - 1):
            self.operator("aten::addmm", THREAD, line * STEP + 10_000,
                          f', "Sequence number": {line}, "Fwd thread id": 0')
        self.lines += LINES
        for place, line in enumerate(reversed(range(first, first + LINES - 1))):
            self.operator("autograd::engine::evaluate_function: AddmmBackward0", BACKWARD,
                          (self.lines - 1) * STEP + 10_000 + place * (STEP // 2 + 1000),
                          f', "Sequence number": {line}, "Fwd thread id": 1')
        self.lines += LINES  # the time that backward() took


def write_trace(path, size):
    """Returns how many steps the trace has."""
    steps = 0
    with open(path, "w") as file:
        file.write('{\n    "schemaVersion": 1,\n    "baseTimeNanoseconds": %d,\n    "traceEvents": [\n' % BASE)
        writer = Writer(file)
        while file.tell() < size:
            writer.step()
            steps += 1
        file.write('\n  {"ph": "M", "name": "end", "pid": 0, "tid": 0, "ts": 0, "args": {}}\n  ]\n}\n')
    return steps


def write_profile(path, steps):
    program = path + ".py"
    with open(program, "w") as file:
        file.write("\n".join(["@profile", "def train(n):", *["    n += 1"] * LINES, "train(1)", ""]))
    subprocess.run([CKERNPROF, "-l", "-o", path, program], check=True, capture_output=True)
    with open(path, "rb") as file:
        profile = msgpack.load(file)
    function = profile["functions"][0]
    events = bytearray()
    for step in range(steps):
        for line in range(LINES):
            events += struct.pack("<QII", BASE + (step * 2 * LINES + line) * STEP, 1 | 1 << 24, 3 + line)
    head = struct.pack("<5Q2Q", PROCESS, 1, 1, steps * LINES, 0, 0, THREAD)
    names = "".join(f"{part}\0" for part in (function["file"], function["name"], function["line"])).encode()
    profile["line_log"] = [head + bytes(events) + names]
    with open(path, "wb") as file:
        msgpack.dump(profile, file)


def wrong(path, steps):
    """What is wrong with the joined profile, or None."""
    with open(path, "rb") as file:
        lines = msgpack.load(file)["functions"][0]["lines"]
    right = [2 * steps] * (LINES - 1) + [0]
    if lines["launches"] == right and lines["device_time"] == [count * KERNEL for count in right]:
        return None
    return f"wrong sums: {lines['launches'][:3]} .. {lines['launches'][-2:]} for {right[0]}"


def measure(options, say):
    """{seconds, peak (bytes), size, failure}"""
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    trace, run = os.path.join(FOLDER, "trace.json"), os.path.join(FOLDER, "run.lprof")
    say("writing a trace")
    steps = write_trace(trace, SIZE * options.scale)
    write_profile(run, steps)
    result = {"size": os.path.getsize(trace), "kernels": 2 * steps * (LINES - 1)}
    say("joining it")
    try:
        result["seconds"], result["peak"], _ = run_measured([CLINEPROF, "torch", "join", run, trace], FOLDER)
        result["failure"] = wrong(os.path.join(FOLDER, "run-joined.lprof"), steps)
    except RuntimeError as error:
        result["failure"] = str(error)
    shutil.rmtree(FOLDER)
    return result


def tables(result):
    name = f"{result['size'] / 1e6:,.0f} MB, {result['kernels']:,} kernels"
    notes = [f"{name}: {result['failure']}"] if result["failure"] else []
    if "seconds" in result:
        row = [name, f"{result['seconds']:.1f}", f"{result['peak'] / 1e6:,.0f}"]
        if result["seconds"] > MOST_SECONDS or result["peak"] > MOST_BYTES:
            notes.append(f"above the bound of {MOST_SECONDS} s and {MOST_BYTES / 1e9:g} GB")
    else:
        row = [name, "-", "-"]
    yield Table("Join", "`clineprof torch join` of a trace. Seconds, and the most resident memory in MB.",
                ["trace", "seconds", "memory"], [row], notes)
