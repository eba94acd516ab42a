# SPDX-License-Identifier: MIT
"""Compares the times of lines under --clock light with those of the exact clock."""
import importlib.util
import json
import os
import statistics
import sys

import slowdown
import variants as ways
from environment import output_of
from slowdown import TYPED
from tables import Table, ratio

BENCH = ("tight loop", "2,000 functions", "recursion", "generators", "realistic", "driver", "calls of 1 us",
         "calls of 3 us")
MODULES = ("json", "difflib", "ast", "textwrap", "pprint", "statistics", "_pydecimal", "fractions", "configparser",
           "_pydatetime", "random", "tokenize")
LEAST = 0.01  # of the program's self time: the lines that are compared


def measure(base, options, say):
    """{program: [(points off again, points off light, total light / total exact), ..]}, a tuple for each round."""
    found = {}
    for program in list(slowdown.programs(base, BENCH.__contains__, options.scale)):
        found[program.name] = []
    for turn in range(options.slow_rounds):
        for program in slowdown.programs(base, BENCH.__contains__, options.scale):
            say(f"light: round {turn + 1} of {options.slow_rounds}: {program.name}")
            found[program.name].append(compare(base, program.path, program.args, ()))
        found.setdefault("web server", []).append(
            compare(base, os.path.join(TYPED, "server.py"), [options.scale], ("-p", "asyncio")))
        if importlib.util.find_spec("numpy"):  # in the bench's own environment
            found.setdefault("numpy", []).append(
                compare(sys.executable, os.path.join(TYPED, "arrays.py"), [options.scale], ()))
        for module in MODULES:
            say(f"light: round {turn + 1} of {options.slow_rounds}: {module}")
            path, name = os.path.join(TYPED, "library.py"), f"library: {module}"
            found.setdefault(name, []).append(compare(base, path, [options.scale, module], ("-p", module)))
    return found


def compare(base, path, args, more):
    exact, light, again = (shares(base, path, args, (*more, *way)) for way in ((), ("--clock", "light"), ()))
    if not (exact and light and again):
        return None
    truth = {line: (exact[0].get(line, 0) + again[0].get(line, 0)) / 2 for line in exact[0]}
    worst = [max((abs(one[0].get(line, 0) - share) for line, share in truth.items() if share >= LEAST), default=0) * 100
             for one in (exact, light)]
    return (*worst, light[1] / ((exact[1] + again[1]) / 2))


def shares(base, path, args, more):
    """({(function, line): share of self time}, all self time in nanoseconds); None if the run failed."""
    head = ways.clineprof(base, None, memory=False, label="light", more=more).head
    run = ways.execute(ways.Variant("light", head, read_self), path, args)
    if run.failure or not run.functions:
        return None
    total = sum(run.functions.values())
    return {line: time / total for line, time in run.functions.items()}, total


def read_self(path):
    """{(function, line): nanoseconds of self time}"""
    functions = json.loads(output_of(ways.CLINEPROF, "--format", "json", path))["functions"]
    return {(entry["name"], line["line"]): line["self"] for entry in functions for line in entry["lines"]}


def tables(found):
    rows, right = [], 0
    for name, rounds in found.items():
        rounds = [one for one in rounds if one]
        if not rounds:
            rows.append([name, "-", "-", "-"])
            continue
        again, light, total = (statistics.median(column) for column in zip(*rounds))
        right += light <= 1
        rows.append([name, f"{again:.1f}", f"{light:.1f}", ratio(total)])
    yield Table("Light clock", "By how many points of share the line is off that is furthest off, of those with 1 % and "
                "more, medians; compared with the mean of two runs with the exact clock, of which one is shown, too. "
                "Total: the self time of all lines against that with the exact clock.",
                ["program", "exact again", "light", "total"], rows,
                [f"light is within 1 point in {right} of {len(rows)} programs",
                 "numpy's row is there if the bench's environment has numpy: pip install numpy"])
