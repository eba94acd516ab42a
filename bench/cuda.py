# SPDX-License-Identifier: MIT
"""Measures what --cuda adds to each launch of a kernel, on a CUDA and a CUPTI that are played (tests/stub). What the real
CUPTI costs by itself is not in it."""
import os
import pathlib
import statistics
import sys
import tempfile

import variants as ways
from environment import HERE, ROOT
from tables import Table, number

PROGRAM = os.path.join(HERE, "programs", "launches.py")
LAUNCHES = 10 * 50_000
RATE = 10_000  # launches a second, for the share


def measure(base, options, say):
    """{way: [seconds for one launch, ..]}"""
    sys.path.append(os.path.join(ROOT, "tests"))
    import stub
    chosen = [ways.bare(base), ways.clineprof(base, None, False, "time"),
              ways.clineprof(base, None, False, "cuda", ["--cuda"])]
    taken = {variant.name: [] for variant in chosen}
    with tempfile.TemporaryDirectory() as folder:
        stub.build(pathlib.Path(folder))
        for turn in range(options.rounds):
            say(f"cuda, round {turn + 1}")
            for variant in chosen:
                run = ways.execute(variant, PROGRAM, [options.scale], variables={"STUB": folder})
                if run.seconds is not None and not run.failure:
                    taken[variant.name].append(run.seconds / (LAUNCHES * options.scale))
    return taken


def tables(taken):
    if not all(taken.values()):
        return
    middle = {name: statistics.median(past) for name, past in taken.items()}
    rows = [[name, number(seconds * 1e9), number((seconds - middle["time"]) * 1e9) if name == "cuda" else "-",
             f"{(seconds - middle['time']) * RATE:.2%}" if name == "cuda" else "-"] for name, seconds in middle.items()]
    yield Table("Launches", "Processor time of a launch of a kernel on a CUDA that is played, nanoseconds, medians; what "
                f"--cuda adds to it, and that at {RATE:,} launches a second.",
                ["variant", "a launch", "added", f"at {RATE:,} a second"], rows,
                ["what NVIDIA's CUPTI itself costs is not in it"])
