# SPDX-License-Identifier: MIT
"""Measures how much slower each program becomes under each variant, and what that is for each line that ran."""
import os
import statistics
from dataclasses import dataclass

from environment import HERE, ROOT, output_of
from generate import PROGRAMS as GENERATED, write_programs
from profiles import hits_of
from tables import Table, number, ratio, seconds
from variants import execute

TYPED = os.path.join(HERE, "programs")
WRITTEN = os.path.join(ROOT, "build", "bench", "programs")
CALLS = {"calls of 300 ns": (300, 60_000), "calls of 1 us": (1000, 30_000),
         "calls of 3 us": (3000, 10_000)}
NAMES = {
    "tight loop": "tight.py",
    "driver": "driver.py",
    "recursion": "recursion.py",
    "generators": "generators.py",
    "2,000 functions": "functions2000.py",
    "realistic": "realistic.py",
    **{name: "calls.py" for name in CALLS},
    "lines: 40": "small.py",
    "lines: 40 + 200 blank": "blank.py",
    "lines: 1,000": "long.py",
    "allocation": "allocation.py",
}
# Programs whose added time does not come from their lines, so a cost per line would mislead.
NOT_PER_LINE = {"driver", "allocation"}


@dataclass
class Program:
    name: str
    path: str
    args: list


def programs(base, wanted, scale):
    """The programs that were asked for, with their arguments. Generated programs are written first."""
    names = [name for name in NAMES if wanted(name)]
    write_programs(TYPED, WRITTEN)
    extra = call_arguments(base) if CALLS.keys() & set(names) else {}
    for name in names:
        folder = WRITTEN if NAMES[name] in GENERATED else TYPED
        yield Program(name, os.path.join(folder, NAMES[name]), [scale, *extra.get(name, [])])


def call_arguments(base):
    """The arguments of the programs of CALLS. They are found once, without a profiler, so that every variant does the
    same work."""
    costs = [str(cost) for cost, _ in CALLS.values()]
    items = output_of(base, os.path.join(TYPED, "calibrate.py"), *costs).split()
    return {name: [int(count), CALLS[name][1]] for name, count in zip(CALLS, items)}


def measure(base, variants, options, say):
    """{program: {variant: [Run, ..]}}. In each round every variant runs every program once; the order of the variants
    changes from round to round."""
    return interleave(list(programs(base, options.wanted, options.scale)), variants, options, say)


def interleave(chosen, variants, options, say):
    runs = {program.name: {variant.name: [] for variant in variants} for program in chosen}
    for turn in range(options.rounds):
        for program in chosen:
            say(f"round {turn + 1} of {options.rounds}: {program.name}")
            shift = turn % len(variants)
            for variant in variants[shift:] + variants[:shift]:
                past = runs[program.name][variant.name]
                if worth_running(variant, past, options):
                    past.append(execute(variant, program.path, program.args))
    return runs


def worth_running(variant, past, options):
    if past and past[-1].failure:
        return False
    return not (variant.slow and len(past) >= options.slow_rounds)


def typical(runs, of=statistics.median):
    """The time in seconds, `of` the times of all runs; None if a run failed or printed no number."""
    if not runs or any(run.failure or run.seconds is None for run in runs):
        return None
    return of(run.seconds for run in runs)


def tables(runs, variants, options):
    names = [variant.name for variant in variants]
    yield Table("Slowdown", "Time of the program's work against the bare interpreter, medians. "
                "+memory: with resident memory.", ["program", "bare, s", *names[1:]],
                [slowdown_row(name, columns, names) for name, columns in runs.items()],
                failures(runs) + [rounds_note(runs, options)])
    rows = [row for name, columns in runs.items() if name not in NOT_PER_LINE
            for row in [per_line_row(name, columns, names)] if row]
    if rows:
        yield Table("Cost per line event", "Nanoseconds added for each time a profiled line ran "
                    "(the cost of calls is in it).", ["program", "lines run", *names[1:]], rows)


def slowdown_row(name, columns, names, of=statistics.median):
    plain = typical(columns[names[0]], of)
    cells = (typical(columns[other], of) for other in names[1:])
    return [name, seconds(plain),
            *(ratio(cell / plain if cell and plain else None) for cell in cells)]


def per_line_row(name, columns, names, of=statistics.median):
    counts = {other: hits_of(runs[-1].functions) for other, runs in columns.items() if runs}
    events = next((counts[other] for other in names[1:] if counts.get(other)), 0)
    plain = typical(columns[names[0]], of)
    if not events or plain is None:
        return None
    cells = []
    for other in names[1:]:
        taken = typical(columns[other], of)
        cells.append(number((taken - plain) * 1e9 / events) if taken else "-")
    return [name, number(events), *cells]


def failures(runs):
    return [f"{program}, {variant}: {past[-1].failure}"
            for program, columns in runs.items() for variant, past in columns.items()
            if past and past[-1].failure]


def rounds_note(runs, options):
    spreads = [spread(past) for columns in runs.values() for past in list(columns.values())[:1]]
    spreads = [value for value in spreads if value is not None]
    note = f"rounds: {options.rounds}, of peers {options.slow_rounds}"
    if spreads:
        note += f"; bare runs of a program lay up to {max(spreads):.0%} apart"
    return note


def spread(past):
    times = [run.seconds for run in past if run.seconds]
    return (max(times) - min(times)) / statistics.median(times) if len(times) > 1 else None


def as_data(runs):
    return {program: {variant: {"seconds": [run.seconds for run in past],
                                "hits": [hits_of(run.functions) for run in past],
                                "failures": [run.failure for run in past if run.failure]}
                      for variant, past in columns.items()}
            for program, columns in runs.items()}
