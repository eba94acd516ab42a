# SPDX-License-Identifier: MIT
"""What the page knows of each function: sums over its lines, and what it is compared with."""
import os

from clineprof._boot.files import seen_from
from clineprof._boot.measures import MEASURES

# What the page shows of a line: measures of lower numbers on smaller screens; the last are on no page.
SHOWN = [measure for measure in MEASURES if measure.page < 3]
_RAW = {"time": "raw_time", "self": "raw_self"}


class Measures:
    """One function of a profile, as the options want it seen.

    columns: {name: list}, without those that are zero throughout
    total, self: nanoseconds; hits, rss, grown, increment: of all lines
    file: its name, relative to the working folder where it is in there
    """

    def __init__(self, index, function, options):
        self.index, self.function = index, function
        self.file = shown_file(function.file)
        self.columns = _columns(function, options)
        column = self.columns.get
        self.total = function.raw_total if options["raw_times"] else function.total
        self.total = self.total or sum(column("time", ()))  # line_profiler knows no total
        self.self = sum(column("self", ()))
        self.hits = sum(column("hits", ()))
        self.rss = max(column("rss", ()), default=0)
        self.grown = sum(column("grown", ()))
        self.increment = self.grown - sum(column("released", ()))

    def row(self, files):
        """As the page's list of functions has it; the file by its number in `files`."""
        f = self.function
        return (files.setdefault(self.file, len(files)), f.line, f.name, self.total, self.self,
                self.hits, self.rss, self.increment, len(f.numbers), len(f.running), f.compiler or "")

    def details(self):
        """What the page needs to show the source: numbers, columns, text, lines in flight."""
        f = self.function
        text = None if f.source is None else "\n".join(f.texts().values())
        return [f.numbers, self.columns, text, f.running]


def _columns(function, options):
    found = {}
    for measure in SHOWN:
        name = measure.column
        if not measure.kept or (measure.needs != "times" and not options["memory"]):
            continue
        column = function[_RAW.get(name, name) if options["raw_times"] else name]
        if any(column):
            found[name] = column
    if function.has("below_resolution") and not options["raw_times"]:
        found["below_resolution"] = [int(below) for below in function["below_resolution"]]
    return found


def shown_file(file):
    """As the text report names it."""
    return seen_from(os.getcwd(), file)


def of_profile(profile, options):
    """All functions, the one that took most time first."""
    found = [Measures(i, f, options) for i, f in enumerate(profile.functions)]
    return sorted(found, key=lambda m: -m.total)


def whole_time(measures):
    """What shares are shares of: all time in profiled functions, every moment once. Where the time
    without callees is not known, the function that took most stands for it."""
    return sum(m.self for m in measures) or max((m.total for m in measures), default=0)


def that_matter(measures, most):
    """Those which together have 95 % of the time, or of the growth of memory; `most` at most."""
    chosen = set()
    for key in (lambda m: m.self or m.total, lambda m: m.grown):
        left = sum(map(key, measures)) * 0.95
        for m in sorted(measures, key=key, reverse=True)[:most]:
            if left <= 0 or not key(m):
                break
            chosen.add(m.index)
            left -= key(m)
    return [m for m in measures if m.index in chosen][:most]
