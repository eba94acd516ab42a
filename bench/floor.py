# SPDX-License-Identifier: MIT
"""Shows what an exact profile costs at least on this machine: the reading of the clock, and programs under builds of
clineprof that leave out a part of each event (builds/)."""
import os

import slowdown
import variants as ways
from environment import HERE, ROOT, Trouble, output_of
from tables import Table

PROGRAMS = ("tight loop", "2,000 functions", "recursion", "generators", "realistic")
BUILDS = {"no clock": "no_clock", "hits alone": "hits_alone"}


def measure(base, options, say):
    """Returns the runs of the programs, as slowdown.measure does, and the two readings of the clock in nanoseconds."""
    chosen = [ways.bare(base), ways.clineprof(base, None, memory=False, label="exact")]
    for label, name in BUILDS.items():
        say(f"floor: building {label}")
        chosen.append(ways.clineprof(base, None, memory=False, label=label, launcher=built(base, name)))
    programs = slowdown.programs(base, PROGRAMS.__contains__, options.scale)
    return slowdown.interleave(list(programs), chosen, options, say), clock_readings()


def built(base, name):
    """Makes the build, and returns its ckernprof."""
    folder = os.path.join("build", "bench", name)
    output_of("make", "-s", "-C", ROOT, f"OUT={folder}", f"BENCH_BUILD={name}", f"PYTHON={base}", "SETUP=no", "all")
    return os.path.join(ROOT, folder, "bin", "ckernprof")


def clock_readings():
    """(alone, within other work), texts."""
    program = os.path.join(ROOT, "build", "bench", "clock")
    sources = os.path.join(ROOT, "src")
    try:
        output_of(os.environ.get("CC", "cc"), "-O2", "-iquote", sources, "-o", program,
                  os.path.join(HERE, "clock.c"), os.path.join(sources, "os", "clock.c"))
        return output_of(program).split()
    except Trouble:
        return "unknown", "unknown"


def tables(runs, clocks, options):
    alone, within = clocks
    names = ["bare", "exact", *BUILDS]
    text = (f"Time against the bare interpreter, the quickest runs. A reading of the clock takes {alone} ns alone, one behind the "
            f"other, and adds {within} ns to other work. No clock: an addition in place of the "
            "reading. Hits alone: usual events count hits and nothing else.")
    yield Table("Floor", text, ["program", "bare, s", *names[1:]],
                [slowdown.slowdown_row(name, columns, names, min) for name, columns in runs.items()],
                slowdown.failures(runs) + [slowdown.rounds_note(runs, options)])
    rows = [slowdown.per_line_row(name, columns, names, min) for name, columns in runs.items()]
    yield Table("Floor of a line event", "Nanoseconds added for each time a profiled line ran (the cost of calls is in it).",
                ["program", "lines run", *names[1:]], [row for row in rows if row])
