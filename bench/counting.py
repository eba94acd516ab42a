# SPDX-License-Identifier: MIT
"""Counts the instructions of code that is not profiled, beside a profiled driver.

Timers cannot tell 1.00 from 1.01; counted instructions can. Each variant runs twice. The driver runs the same lines
both times, but its calls do different amounts of work. The difference of the two counts is that work alone, without
start-up and without the driver.
"""
import os
import re
import shutil

from environment import HERE, Trouble
from tables import Table, number
from variants import execute

DRIVER = os.path.join(HERE, "programs", "driver.py")
SIZES = (0.05, 0.25)
TOTAL = re.compile(r"Collected : (\d+)")


def measure(variants, options, say):
    """Returns {variant: difference of the two counts of instructions}, and notes about runs that failed."""
    if not shutil.which("valgrind"):
        raise Trouble("--callgrind needs valgrind")
    counts, notes = {}, []
    for variant in variants:
        say(f"callgrind: {variant.name}")
        small, large = (instructions(variant, size, notes) for size in SIZES)
        counts[variant.name] = large - small if small and large else None
    return counts, notes


def instructions(variant, size, notes):
    """The instructions of the whole process; None if it fails. The launcher replaces itself by the interpreter, and may
    start helpers before. callgrind's logs have a total for each of them; the program's own is the largest."""
    wrapper = ["env", "PYTHONHASHSEED=0", "valgrind", "--tool=callgrind", "--trace-children=yes",
               "--callgrind-out-file=/dev/null", "--log-file=callgrind.%p.log"]
    logs = []
    run = execute(variant, DRIVER, [size], wrapper, look=lambda folder: logs.extend(texts(folder)))
    totals = [int(count) for text in logs for count in TOTAL.findall(text)]
    if run.failure or not totals:
        notes.append(f"{variant.name}: {run.failure or 'callgrind gave no total'}")
        return None
    return max(totals)


def texts(folder):
    for name in os.listdir(folder):
        if name.startswith("callgrind."):
            with open(os.path.join(folder, name)) as file:
                yield file.read()


def tables(counts, notes):
    plain = counts.get("bare")
    rows = []
    for name, count in counts.items():
        share = f"{count / plain:.4f}x" if count and plain else "-"
        rows.append([name, number(count / 1e6 if count else None, 1), share])
    yield Table("Instructions of unprofiled code beside a profiled driver",
                "Counted by callgrind, in millions; start-up and the driver's lines cancel out.",
                ["variant", "millions", "against bare"], rows, notes)
