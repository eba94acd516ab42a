# SPDX-License-Identifier: MIT
"""Measures what reading memory costs: the resident size at each line, and live blocks; beside tracemalloc and
memory_profiler."""
import slowdown
import variants as ways
from profiles import hits_of
from tables import Table, number, ratio, seconds

PROGRAMS = ("tight loop", "realistic", "allocation")
SMALL = 0.02  # the part of the work that is run with memory_profiler, which needs 10 to 50 us for a line


def measure(base, options, say):
    """{"full": runs with all the work, "small": runs with a part of it, where memory_profiler takes part}"""
    wanted = [name for name in PROGRAMS if options.wanted(name)]
    full = programs(base, wanted, options.scale)
    small = programs(base, wanted, options.scale * SMALL)
    return {"full": slowdown.interleave(full, all_ways(base), options, say),
            "small": slowdown.interleave(small, peers(base), options, say)}


def programs(base, wanted, scale):
    return list(slowdown.programs(base, wanted.__contains__, scale))


def all_ways(base):
    return [ways.bare(base),
            ways.clineprof(base, None, False, "time"),
            ways.clineprof(base, None, True, "time+memory"),
            ways.clineprof(base, None, True, "--heap", ["--heap"]),
            ways.clineprof(base, None, True, "every block", ["--heap", "--heap-interval=1"]),
            ways.tracemalloc(base)]


def peers(base):
    return [ways.bare(base), ways.clineprof(base, None, True, "clineprof"),
            ways.memory_profiler()]


def tables(runs, options):
    if not runs["full"]:
        return
    header = ["program", "bare, s", "time", "time+memory", "memory beside time alone", "--heap", "every block",
              "tracemalloc"]
    yield Table("Memory", "Time of the program's work against the bare interpreter, medians; "
                "memory beside time alone is time+memory against time.", header,
                [full_row(name, columns) for name, columns in runs["full"].items()],
                slowdown.failures(runs["full"]) + [f"rounds: {options.rounds}"])
    yield Table("Beside memory_profiler", "Nanoseconds added for each time a profiled line ran, and "
                "how many times more memory_profiler adds. It runs a small part of the work.",
                ["program", "lines of that part", "clineprof", "memory_profiler", "times more"],
                [beside_row(name, runs) for name in runs["small"]],
                slowdown.failures(runs["small"]))


def full_row(name, columns):
    middle = {way: slowdown.typical(past) for way, past in columns.items()}

    def against(way, other="bare"):
        return ratio(middle[way] / middle[other] if middle[way] and middle[other] else None)

    return [name, seconds(middle["bare"]), against("time"), against("time+memory"),
            against("time+memory", "time"),
            *map(against, ("--heap", "every block", "tracemalloc"))]


def beside_row(name, runs):
    full, small = runs["full"][name], runs["small"][name]
    ours = added_to_line(full["time+memory"], full["bare"], full["time+memory"])
    theirs = added_to_line(small["memory_profiler"], small["bare"], small["clineprof"])
    return [name, number(lines_in(small["clineprof"])), number(ours, 1), number(theirs),
            number(theirs / ours if theirs and ours and ours > 0 else None)]


def added_to_line(runs, plain, counted):
    """Nanoseconds that the profiler adds to a line; None if a run failed. The runs `counted` give the number of
    lines."""
    lines, taken, bare = lines_in(counted), slowdown.typical(runs), slowdown.typical(plain)
    return (taken - bare) * 1e9 / lines if lines and taken and bare else None


def lines_in(runs):
    return hits_of(runs[-1].functions) if runs else 0
