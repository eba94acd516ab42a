# SPDX-License-Identifier: MIT
"""Measures what reading counters costs (docs/counters.md), beside time alone."""
import slowdown
import variants as ways
from tables import Table, ratio, seconds

PROGRAMS = ("tight loop", "realistic", "calls of 1 us", "calls of 3 us")
WAYS = {"cpu": ["--cpu"], "io": ["--io"], "faults": ["--counters", "faults,switches"], "native": ["--native"]}


def measure(base, options, say):
    chosen = [ways.bare(base), ways.clineprof(base, None, False, "time")]
    chosen += [ways.clineprof(base, None, False, name, words) for name, words in WAYS.items()]
    wanted = [name for name in PROGRAMS if options.wanted(name)]
    return slowdown.interleave(list(slowdown.programs(base, wanted.__contains__, options.scale)), chosen, options, say)


def tables(runs, options):
    if runs:
        yield Table("Counters", "Time of the program's work: with time alone against the bare interpreter, with each "
                    "counter against time alone; medians.",
                    ["program", "bare, s", "time", *("+ " + name for name in WAYS)],
                    [row(name, columns) for name, columns in runs.items()],
                    slowdown.failures(runs) + [slowdown.rounds_note(runs, options)])


def row(name, columns):
    middle = {way: slowdown.typical(past) for way, past in columns.items()}

    def against(way, other):
        return ratio(middle[way] / middle[other] if middle[way] and middle[other] else None)

    return [name, seconds(middle["bare"]), against("time", "bare"), *(against(way, "time") for way in WAYS)]
