# SPDX-License-Identifier: MIT
"""Measures the cost of starting and ending: the time of an empty program from exec to exit."""
import os
import statistics
import time

import variants as ways
from environment import HERE
from tables import Table, number

EMPTY = os.path.join(HERE, "programs", "empty.py")


def measure(base, variants, options, say):
    """{variant: [seconds, ..]}. A variant that fails is left out. clineprof runs with its default tracer here, as most
    users run it."""
    chosen = [ways.bare(base)]
    if any(variant.head[0] == ways.CKERNPROF for variant in variants):
        chosen += [ways.clineprof(base, None, False, "clineprof"),
                   ways.clineprof(base, None, True, "clineprof+memory")]
    chosen.append(ways.line_profiler())
    chosen = [variant for variant in chosen if not ways.execute(variant, EMPTY).failure]
    say(f"start-up, {options.starts} times each")
    taken = {variant.name: [] for variant in chosen}
    for _ in range(options.starts):
        for variant in chosen:
            started = time.perf_counter()
            run = ways.execute(variant, EMPTY, read=False)
            elapsed = time.perf_counter() - started
            if not run.failure:
                taken[variant.name].append(elapsed)
    return {name: past for name, past in taken.items() if past}


def tables(taken):
    plain = statistics.median(taken["bare"])
    rows = []
    for name, past in taken.items():
        middle = statistics.median(past)
        rows.append([name, number(middle * 1e3, 1), number((middle - plain) * 1e3, 1)])
    yield Table("Start-up", "An empty program from start to exit, medians in milliseconds.",
                ["variant", "ms", "more than bare"], rows,
                [f"{min(map(len, taken.values()))} interleaved starts of each"])
