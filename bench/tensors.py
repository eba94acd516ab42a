# SPDX-License-Identifier: MIT
"""Measures what --tensors adds to a tensor that is made and freed (docs/training.md). Needs PyTorch."""
import os
import subprocess

import slowdown
import variants as ways
from environment import HERE
from tables import Table, number

PROGRAM = slowdown.Program("tensor", os.path.join(HERE, "programs", "tensors.py"), [])


def measure(base, options, say):
    """Empty without PyTorch."""
    if subprocess.run([base, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        return {}
    chosen = [ways.bare(base), ways.clineprof(base, None, False, "time"),
              ways.clineprof(base, None, False, "tensors", ["--tensors"])]
    return slowdown.interleave([PROGRAM], chosen, options, say)


def tables(runs, options):
    if not runs:
        yield Table("Tensors", "Not measured: PyTorch is not installed in the base interpreter.", [""])
        return
    [columns] = runs.values()
    nanos = [times and times * 1e9 for times in (slowdown.typical(past, min) for past in columns.values())]
    added = nanos[2] - nanos[1] if all(nanos) else None
    yield Table("Tensors", "Nanoseconds to make and free a tensor of 256 numbers on the processor; the quickest runs.",
                ["", *columns, "added by --tensors"], [["a tensor", *map(number, nanos), number(added)]],
                slowdown.failures(runs) + [slowdown.rounds_note(runs, options)])
