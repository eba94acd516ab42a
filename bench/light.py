# SPDX-License-Identifier: MIT
"""Compares what the tracer light costs with what exact times and the peers cost: processor time of the program's
process, on one processor, the quickest runs. So another load of the machine counts for little."""
import os

import slowdown
import variants as ways
from tables import Table

PROGRAMS = ("realistic", "tight loop", "recursion", "generators", "2,000 functions")


def measure(base, options, say):
    """Returns the runs of the programs, as slowdown.measure does, and a note for each peer that is missing."""
    chosen = [ways.bare(base), ways.clineprof(base, None, memory=False, label="exact"),
              ways.clineprof(base, "light", memory=False)]
    peers, notes = ways.peers()
    programs = slowdown.programs(base, PROGRAMS.__contains__, options.scale)
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})  # children run there, too
    os.environ["BENCH_CLOCK"] = "process_time"
    try:
        return slowdown.interleave(list(programs), chosen + peers, options, say), notes
    finally:
        del os.environ["BENCH_CLOCK"]
        os.sched_setaffinity(0, allowed)


def tables(runs, notes, options):
    names = list(next(iter(runs.values())))
    yield Table("Light", "Processor time of the program's process against the bare interpreter, on one processor, the "
                "quickest runs. exact: time only. Of py-spy, which is a process of its own, only what the program loses.",
                ["program", "bare, s", *names[1:]],
                [slowdown.slowdown_row(name, columns, names, min) for name, columns in runs.items()],
                slowdown.failures(runs) + notes + [slowdown.rounds_note(runs, options)])
