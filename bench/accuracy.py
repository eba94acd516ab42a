# SPDX-License-Identifier: MIT
"""Compares the share of time that each profiler gives to marked lines with their true share.

clineprof is compared with the truth that the same process measures, in turns with the profiled loop: a machine that
others share may change its speed from one second to the next. line_profiler is compared with a process of its own, as
its errors are far larger than that."""
import os
import statistics

from environment import HERE, output_of
from tables import Table
from variants import execute

FOLDER = os.path.join(HERE, "truth")
# {name: (file, how many loops take some ten milliseconds)}. In so short a run the system seldom gives the processor to
# another process, and the median of many runs ignores the few in which it does.
CASES = {
    "unprofiled beside C": ("unprofiled.py", 1_000),
    "ten tiny lines": ("tiny.py", 50_000),
    "profiled helper": ("helper.py", 40_000),
    "short lines, each": ("short.py", 50_000),
}
RUNS = 5  # how often each profiler runs in a round


def measure(base, variants, options, say):
    """Returns {case: {"truth" or variant: [(shares, truth), ..]}}, and notes about runs that failed. Shares and truth
    are lists: the share of all marked lines, or the share of each if the truth has one for each."""
    shares, notes = {}, []
    for name, (file, count) in CASES.items():
        say(f"truth: {name}")
        path = os.path.join(FOLDER, file)
        size = output_of(base, path, "size")
        args = [size, max(100, int(count * options.scale))]
        columns = shares[name] = {"truth": []}
        for _ in range(options.slow_rounds):
            truth = [float(share) for share in output_of(base, path, "truth", size).split()]
            columns["truth"].append((truth, truth))
            for variant in variants[1:] * RUNS:
                measure_one(columns, notes, name, variant, path, args, truth)
    return shares, notes


def command_for(variant):
    """How the program is to measure the truth beside this profiler (truth/spin.py)."""
    if variant.name == "line_profiler":
        return "run"
    return "stops" if variant.name.startswith("settrace") else "turns"


def measure_one(columns, notes, name, variant, path, args, truth):
    past = columns.setdefault(variant.name, [])
    if None in past:
        return
    run = execute(variant, path, [command_for(variant), *args])
    shares = None if run.failure else shares_of(run.functions.get("whole"), marked_lines(path))
    if shares and len(truth) == 1:
        shares = [sum(shares)]
    past.append((shares, truth_in(run.output) or truth) if shares else None)
    if not shares:
        notes.append(f"{name}, {variant.name}: {run.failure or 'no times in its profile'}")


def truth_in(output):
    """The truth that the program printed; [] if it printed none."""
    lines = [line.split()[1:] for line in output.splitlines() if line.startswith("truth ")]
    return [float(share) for share in lines[-1]] if lines else []


def marked_lines(path):
    with open(path) as file:
        return [number for number, line in enumerate(file, 1) if line.endswith("# measured\n")]


def shares_of(function, marked):
    if function is None or not function.total:
        return None
    return [function.lines.get(line, (0, 0))[1] / function.total for line in marked]


def tables(shares, notes):
    names = list(next(iter(shares.values())))
    rows = [[name, *(cell(columns, other) for other in names)]
            for name, columns in shares.items()]
    scatter = [f"{name}: the truth lay between {min(past)[0]:.1%} and {max(past)[0]:.1%}"
               for name, past in ((name, [truth for truth, _ in columns["truth"]]) for name, columns in shares.items())
               if len(past[0]) == 1]
    yield Table("Truth", "Share of the measured lines in the time of their function, medians; in "
                "brackets the median of how many points the runs were off the truth, of several lines that of the line "
                "which is furthest off.",
                ["case", *names], rows,
                scatter + notes)


def cell(columns, name):
    past = columns[name]
    if None in past or not past:
        return "-"
    shares = medians([found for found, _ in past])
    if name == "truth":
        return " to ".join(f"{share:.1%}" for share in sorted({min(shares), max(shares)}))
    errors = medians([[100 * (share - true) for share, true in zip(*run)] for run in past])
    error, share = max(zip(errors, shares), key=lambda pair: abs(pair[0]))
    return f"{share:.1%} ({error:+.1f})"


def medians(rounds):
    return [statistics.median(shares) for shares in zip(*rounds)]
