# SPDX-License-Identifier: MIT
"""Measures what starting a thread costs, and what a line costs when several threads run: processor time."""
import os
import statistics

import variants as ways
from environment import HERE
from tables import Table, number

STARTS = os.path.join(HERE, "programs", "thread_starts.py")
LINES = os.path.join(HERE, "programs", "thread_lines.py")
MANY = 8
CASES = {"start": (STARTS, 2000), "one": (LINES, 3_000_000, 1), "many": (LINES, 3_000_000, MANY)}


def measure(base, variants, options, say):
    """{variant: {case: [seconds for one start or one line, ..]}} for bare and the variants of clineprof."""
    chosen = [ways.bare(base)]
    chosen += [variant for variant in variants if variant.head[0] == ways.CKERNPROF]
    taken = {variant.name: {case: [] for case in CASES} for variant in chosen}
    for turn in range(options.rounds):
        say(f"threads, round {turn + 1}")
        for case, (program, count, *more) in CASES.items():
            for variant in chosen:
                run = ways.execute(variant, program, [options.scale, *more], read=True)
                if run.seconds is not None and not run.failure:
                    taken[variant.name][case].append(run.seconds / (count * options.scale))
    return {name: cases for name, cases in taken.items() if all(cases.values())}


def tables(taken):
    middle = {name: {case: statistics.median(past) for case, past in cases.items()}
              for name, cases in taken.items()}
    plain, rows = middle["bare"], []
    for name, now in middle.items():
        one, many = now["one"] - plain["one"], now["many"] - plain["many"]
        rows.append([name, number((now["start"] - plain["start"]) * 1e6, 1),
                     number(one * 1e9, 1), number(many * 1e9, 1),
                     number(many / one, 2) if one > 0 else "-"])
    yield Table("Threads", "Processor time added, medians: microseconds for each thread that is "
                "started, nanoseconds for each line.",
                ["variant", "a thread", "a line, 1 thread", f"a line, {MANY} threads", "ratio"], rows,
                [f"{min(len(past) for cases in taken.values() for past in cases.values())} "
                 "interleaved runs of each"])
