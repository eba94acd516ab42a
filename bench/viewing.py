# SPDX-License-Identifier: MIT
"""Measures how long the viewer takes to print a large profile, which is generated here."""
import os
import statistics
import subprocess
import time

import msgpack

from environment import ROOT, last_line
from tables import Table, seconds
from variants import CLINEPROF, TIMEOUT

PATH = os.path.join(ROOT, "build", "bench", "large.lprof")
FUNCTIONS = 10_000
LINES = 12


def measure(options, say):
    """([seconds, ..], None), or (None, why it could not be measured)."""
    if not os.path.exists(CLINEPROF):
        return None, "there is no build/bin/clineprof"
    say("viewer")
    write_large(PATH)
    taken = []
    for _ in range(options.views):
        started = time.perf_counter()
        try:
            done = subprocess.run([CLINEPROF, PATH], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return None, f"longer than {TIMEOUT} s"
        taken.append(time.perf_counter() - started)
        if done.returncode:
            return None, f"exit {done.returncode}: {last_line(done.stderr)}"
    return taken, None


def write_large(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    places = [(f"/nowhere/module{i // 100}.py", 1 + i % 100 * (LINES + 2), f"Class{i % 7}.f{i}")
              for i in range(FUNCTIONS)]
    data = {
        "format": "clineprof", "version": 1, "unit": 1e-9,
        "functions": [made_up(*place) for place in places],
        "source": [{"file": file, "line": line, "name": name, "text": text_of(name)}
                   for file, line, name in places],
        "meta": {"python": "3.12.1", "tracer": "monitoring", "command": "large.py", "pid": 1,
                 "start": 0.0, "wall": 10**10, "has_memory": True},
    }
    with open(path, "wb") as file:
        msgpack.pack(data, file)


def made_up(file, line, name):
    numbers = range(LINES)
    columns = {
        "line": [line + 1 + i for i in numbers],
        "hits": [1 + i * 37 for i in numbers],
        "time": [1_000 + i * i * 12_345 for i in numbers],
        "rss": [(60 + i) << 20 for i in numbers],
        "grown": [i << 12 for i in numbers],
    }
    total = sum(columns["time"])
    columns["self"] = columns["raw_self"] = columns["raw_time"] = columns["time"]
    return {"file": file, "line": line, "name": name, "total": total, "raw_total": total,
            "lines": columns}


def text_of(name):
    body = "".join(f"    value{i} = compute(value{i}, {i})\n" for i in range(LINES))
    return f"def {name.split('.')[-1]}(self):\n{body}"


def tables(taken, failure):
    rows = [["10,000 functions", "-" if failure else seconds(statistics.median(taken))]]
    yield Table("Viewer", "Time to print a profile of 10,000 functions of 13 lines, seconds.",
                ["profile", "clineprof"], rows, [failure] if failure else [])
