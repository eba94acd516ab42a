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
WHOLE = ("tight loop", "2,000 functions", "recursion", "generators", "realistic")  # these do nothing else
LEAST = 0.01  # of the program's self time: the lines that are compared
LONGER = 4  # times as much work as elsewhere: the light clock is for programs that run for a second or longer


def measure(base, options, say):
    """(what times() found, what memory_by_line() found)"""
    return times(base, options, say), memory_by_line(base, options.scale)


def memory_by_line(base, scale):
    """{"function:line": (bytes by which the line alone has changed memory with the exact clock, the same with the light
    one, how far that may be off)} of the program that allocates; None if a run failed."""
    path = os.path.join(TYPED, "allocation.py")
    exact, light = (lines_of(base, path, [scale], more, read_memory, memory=True) for more in ((), ("--clock", "light")))
    return exact and light and {line: (exact[line][0], *light.get(line, (0, 0))) for line in exact}


def times(base, options, say):
    """{program: [round, ..]}; a round is what compare() returns, or None if a run failed."""
    found, chosen = {}, list(programs(base, LONGER * options.scale))
    for turn in range(options.slow_rounds):
        for name, python, path, args, more, is_whole in chosen:
            say(f"light: round {turn + 1} of {options.slow_rounds}: {name}")
            found.setdefault(name, []).append(compare(python, path, args, more, is_whole))
    return found


def programs(base, scale):
    """(name, interpreter, path, arguments, words of ckernprof, is all its work in profiled functions?) of each program"""
    for program in slowdown.programs(base, BENCH.__contains__, scale):
        yield program.name, base, program.path, program.args, (), program.name in WHOLE
    yield "web server", base, os.path.join(TYPED, "server.py"), [scale], ("-p", "asyncio"), False
    if importlib.util.find_spec("numpy"):  # in the bench's own environment
        yield "numpy", sys.executable, os.path.join(TYPED, "arrays.py"), [scale], (), False
    for module in MODULES:
        path = os.path.join(TYPED, "library.py")
        yield f"library: {module}", base, path, [scale, module], ("-p", module), False


def compare(base, path, args, more, is_whole):
    """Points of share that each line with enough time is off in the second run with the exact clock, and in the run with
    the light one; the self time of all lines with the light clock against that with the exact one; and that of both
    against the time of the bare run, or None."""
    exact, light, again = (shares(base, path, args, (*more, *way)) for way in ((), ("--clock", "light"), ()))
    if not (exact and light and again):
        return None
    truth = {line: (exact[0].get(line, 0) + again[0].get(line, 0)) / 2 for line in exact[0]}
    off = [{line: 100 * (one[0].get(line, 0) - share) for line, share in truth.items() if share >= LEAST}
           for one in (exact, light)]
    total = (exact[1] + again[1]) / 2
    bare = ways.execute(ways.Variant("bare", [base], None), path, args).seconds if is_whole else None
    return (*off, light[1] / total, bare and total / bare / 1e9, bare and light[1] / bare / 1e9)


def shares(base, path, args, more):
    """({"function:line": share of self time}, all self time in nanoseconds); None if the run failed."""
    found = lines_of(base, path, args, more, read_self)
    total = found and sum(found.values())
    return found and ({line: time / total for line, time in found.items()}, total)


def lines_of(base, path, args, more, read, memory=False):
    """What `read` finds in the profile; None if the run failed."""
    head = ways.clineprof(base, None, memory, "light", more).head
    run = ways.execute(ways.Variant("light", head, read), path, args)
    return None if run.failure else run.functions or None


def read_self(path):
    """{"function:line": nanoseconds of self time}"""
    return {line: measures["self"] for line, measures in lines(path)}


def read_memory(path):
    """{"function:line": (bytes, error)}"""
    return {line: (measures["self_increment"], measures.get("increment_error", 0)) for line, measures in lines(path)}


def lines(path):
    for function in json.loads(output_of(ways.CLINEPROF, "--format", "json", path))["functions"]:
        yield from ((f"{function['name']}:{line['line']}", line) for line in function["lines"])


def tables(found):
    of_times, of_memory = found
    yield from time_tables(of_times)
    largest = max((abs(line[0]) for line in of_memory.values()), default=0) if of_memory else 0
    yield Table("Memory beside the light clock", "MiB by which each line alone has changed resident memory in the program "
                "that allocates, for lines with a tenth at least of the largest change.",
                ["line", "exact", "light", "light's error"],
                [[name, *(f"{part / 2**20:.1f}" for part in line)] for name, line in (of_memory or {}).items()
                 if abs(line[0]) >= largest / 10], [])


def time_tables(found):
    rows, of_single, usually = [], 0, 0
    for name, rounds in found.items():
        rounds = [one for one in rounds if one]
        if not rounds:
            rows.append([name] + ["-"] * 6)
            continue
        again, light, total, bare_exact, bare_light = zip(*rounds)
        single, usual = statistics.median(map(farthest, light)), farthest(medians(light))
        of_single += single <= 1
        usually += usual <= 1
        rows.append([name, f"{statistics.median(map(farthest, again)):.1f}", f"{single:.1f}", f"{usual:.1f}",
                     *(ratio(None if None in column else statistics.median(column))
                       for column in (total, bare_exact, bare_light))])
    yield Table("Light clock", "By how many points of share the line is off that is furthest off, of those with 1 % and "
                "more; compared with the mean of two runs with the exact clock, of which one is shown, too. Programs "
                f"do {LONGER} times the work that they do elsewhere. Of single runs: the median of the rounds. Usually: each "
                "line's median of the rounds, so without what differs from run to run. Total: the self time of all lines "
                "against that with the exact clock, and for both clocks against the time of the bare run.",
                ["program", "exact again", "light", "light, usually", "total", "exact / bare", "light / bare"], rows,
                [f"light is within 1 point in {of_single} of {len(rows)} programs, and usually in {usually}",
                 "numpy's row is there if the bench's environment has numpy: pip install numpy"])


def farthest(off):
    return max(map(abs, off.values()), default=0)


def medians(rounds):
    """Of each line that has enough time in most rounds."""
    lines = {line: [off[line] for off in rounds if line in off] for line in set().union(*rounds)}
    return {line: statistics.median(off) for line, off in lines.items() if 2 * len(off) > len(rounds)}
