# SPDX-License-Identifier: MIT
"""Measures what the probes around calls and operators cost (--native), beside time alone."""
import slowdown
import variants as ways
from tables import Table, ratio, seconds

PROGRAMS = ("tight loop", "realistic", "calls of 1 us", "calls of 3 us")


def measure(base, options, say):
    chosen = [ways.bare(base), ways.clineprof(base, None, False, "time"),
              ways.clineprof(base, None, False, "time+native", ["--native"])]
    wanted = [name for name in PROGRAMS if options.wanted(name)]
    return slowdown.interleave(list(slowdown.programs(base, wanted.__contains__, options.scale)), chosen, options, say)


def tables(runs, options):
    if runs:
        yield Table("C time and library", "Time of the program's work against the bare interpreter, medians; native "
                    "beside time alone is time+native against time.",
                    ["program", "bare, s", "time", "time+native", "native beside time alone"],
                    [row(name, columns) for name, columns in runs.items()],
                    slowdown.failures(runs) + [slowdown.rounds_note(runs, options)])


def row(name, columns):
    middle = {way: slowdown.typical(past) for way, past in columns.items()}

    def against(way, other="bare"):
        return ratio(middle[way] / middle[other] if middle[way] and middle[other] else None)

    return [name, seconds(middle["bare"]), against("time"), against("time+native"), against("time+native", "time")]
