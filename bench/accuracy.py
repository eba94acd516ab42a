# SPDX-License-Identifier: MIT
"""Programs of known cost: the share that each profiler gives the marked lines, beside the truth."""
import os
import statistics

from environment import HERE, output_of
from tables import Table
from variants import execute

FOLDER = os.path.join(HERE, "truth")
# name -> file, and how many loops give a run long enough to be steady
CASES = {
    "unprofiled beside C": ("unprofiled.py", 5_000),
    "ten tiny lines": ("tiny.py", 300_000),
    "profiled helper": ("helper.py", 200_000),
}


def measure(base, variants, options, say):
    """{case: {"truth" or variant: [share, ..]}} and notes on what failed. The truth is taken again
    in every round, between the profilers, so that a machine that drifts does so for all."""
    shares, notes = {}, []
    for name, (file, count) in CASES.items():
        say(f"truth: {name}")
        path = os.path.join(FOLDER, file)
        size = output_of(base, path, "size")
        args = ["run", size, max(100, int(count * options.scale))]
        columns = shares[name] = {"truth": []}
        for _ in range(options.slow_rounds):
            columns["truth"].append(float(output_of(base, path, "truth", size)))
            for variant in variants[1:]:
                measure_one(columns, notes, name, variant, path, args)
    return shares, notes


def measure_one(columns, notes, name, variant, path, args):
    past = columns.setdefault(variant.name, [])
    if None in past:
        return
    run = execute(variant, path, args)
    share = None if run.failure else share_of(run.functions.get("whole"), marked_lines(path))
    past.append(share)
    if share is None:
        notes.append(f"{name}, {variant.name}: {run.failure or 'no times in its profile'}")


def marked_lines(path):
    with open(path) as file:
        return [number for number, line in enumerate(file, 1) if line.endswith("# measured\n")]


def share_of(function, marked):
    if function is None or not function.total:
        return None
    return sum(function.lines.get(line, (0, 0))[1] for line in marked) / function.total


def tables(shares, notes, variants):
    names = ["truth"] + [variant.name for variant in variants[1:]]
    rows = [[name, *(cell(columns, other) for other in names)]
            for name, columns in shares.items()]
    scatter = [f"{name}: the truth lay between {min(past):.1%} and {max(past):.1%}"
               for name, past in ((name, columns["truth"]) for name, columns in shares.items())]
    yield Table("Truth", "Share of the measured lines in the time of their function, medians; in "
                "brackets how many points off the truth.", ["case", *names], rows,
                scatter + notes)


def cell(columns, name):
    past = columns[name]
    if None in past or not past:
        return "-"
    share, truth = statistics.median(past), statistics.median(columns["truth"])
    return f"{share:.1%}" if name == "truth" else f"{share:.1%} ({100 * (share - truth):+.1f})"
