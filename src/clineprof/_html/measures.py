# SPDX-License-Identifier: MIT
"""Computes what the page shows of each function: sums over its lines, and the whole that shares are parts of."""
import os

from clineprof._boot.files import seen_from
from clineprof._boot.measures import MEASURES, OF_BLOCKS

# The measures of a line that the page shows. Measures with page 0 are shown on every screen, those with higher numbers
# only on wider ones or among all columns; those with page 3 are never shown.
SHOWN = [measure for measure in MEASURES if measure.page < 3]
_RAW = {measure.column.removeprefix("raw_"): measure.column
        for measure in MEASURES if measure.column.startswith("raw_")}


class Measures:
    """One function of a profile, with the times and the memory that the options ask for.

    columns: {name: list}, without the columns in which every number is zero. Times are without garbage collections, which
        are an item of their own
    total, self, gc: nanoseconds; gc_runs, hits, suspended, grown, increment, own_increment: sums over all lines; rss: the
        largest of a line, in bytes. own_increment is without the profiled functions that are called, as self is
    file: the file name, relative to the working folder if the file is inside it
    """

    def __init__(self, index, function, options):
        self.index, self.function = index, function
        self.file = shown_file(function.file)
        self.columns = _columns(function, options)
        column = self.columns.get
        self.total = function.raw_total if options["raw_times"] else function.total
        self.total = self.total or sum(column("time", ()))  # line_profiler's files have no total
        self.gc, self.gc_runs = sum(column("gc", ())), sum(column("gc_runs", ()))
        self.self = sum(column("self", ())) + self.gc * ("self" in self.columns)
        self.hits = sum(column("hits", ()))
        self.suspended = sum(column("await", ()))
        self.rss = max(column("rss", ()), default=0)
        self.grown = sum(column("grown", ()))
        self.increment = self.grown - sum(column("released", ()))
        self.own_increment = sum(column("self_increment", ()))

    def row(self, files):
        """Returns the function's row in the page's list of functions. `files` maps file names to numbers; a new file
        is added to it."""
        f = self.function
        return (files.setdefault(self.file, len(files)), f.line, f.name, self.total, self.self,
                self.hits, self.rss, self.increment, len(f.numbers), len(f.running), f.compiler and f"{f.compiler}; {f.compiled}" or "",
                self.own_increment)

    def details(self, files):
        """Returns what the page needs to show the source: line numbers, columns, text, the lines that are running and
        those that never ran. In the place of a text that lies in `files` (whole_texts) is its number of lines."""
        f = self.function
        lines = list(f.texts().values())
        text = None if f.source is None else "\n".join(lines)
        if lines and files.get(self.file, ())[f.line - 1:f.line - 1 + len(lines)] == lines:
            text = len(lines)
        return [f.numbers, self.columns, text, f.running, f.missed]


def _columns(function, options):
    found = {}
    for measure in SHOWN:
        name = measure.column
        if not measure.kept or (measure.needs == "memory" and not options["memory"]) or (
                measure.needs in OF_BLOCKS and not options.get("blocks", options["memory"])):
            continue
        column = function[_RAW.get(name, name) if options["raw_times"] else name]
        if any(column):
            found[name] = column
    if "gc" in found:
        _take_gc_off(found)
    for name, is_library in ("native_time", False), ("library", True):
        names = _callees(function, is_library)
        if name in found and any(names):
            found[name + "_in"] = names
    if function.has("below_resolution") and not options["raw_times"]:
        found["below_resolution"] = [int(below) for below in function["below_resolution"]]
    return found


def _take_gc_off(found):
    """Makes times of lines those without garbage collections, as src/formats/lprof/wire_rows.c does."""
    zeros = [0] * len(found["gc"])
    gc, cpu, wait = (found.get(name, zeros) for name in ("gc", "cpu", "wait"))
    if "cpu" in found or "wait" in found:  # older files do not say how much of the collections was waiting
        found["gc_wait"] = [max(known, min(part - used, waited))
                            for known, part, used, waited in zip(found.get("gc_wait", zeros), gc, cpu, wait)]  # fmt: skip
    gc_wait = found.get("gc_wait", zeros)
    parts = {"time": gc, "self": gc, "cpu": [part - waited for part, waited in zip(gc, gc_wait)], "wait": gc_wait,
             "queue": found.get("gc_queue", zeros)}  # fmt: skip
    for name in parts.keys() & found.keys():
        found[name] = [max(time - part, 0) for time, part in zip(found[name], parts[name])]
    if "queue" in found:
        found["queue"] = list(map(min, found["queue"], found.get("wait", zeros)))
    left = found.get("self", zeros)
    for name in "native_time", "library":  # collections may run in what the line calls, or beside it
        if name in found:
            found[name] = list(map(min, found[name], left))
            left = [time - part for time, part in zip(left, found[name])]


def _callees(function, is_library):
    """For each line the name of the callee that took most of its C time or library time; "" where none is known."""
    most = {}
    for callee in function.callees:
        line, time = callee["line"], callee["time"]
        if callee["library"] == is_library and time > most.get(line, (0, ""))[0]:
            most[line] = time, callee["name"]
    return [most.get(number, (0, ""))[1] for number in function.numbers]


def shown_file(file):
    """Returns the file name as the text report shows it."""
    return seen_from(os.getcwd(), file)


def whole_texts(profile):
    """Returns {file: its lines} of the files whose whole text is known: as that of the module's body, or because it was
    kept on purpose."""
    found = {f.file: list(f.texts().values()) for f in profile.functions if f.name == "<module>" and f.line == 1}
    found.update(profile.files)
    return {shown_file(file): lines for file, lines in found.items() if lines and not file.startswith("<")}


def of_profile(profile, options):
    """Returns the Measures of all functions, the one that took most time first."""
    found = [Measures(i, f, options) for i, f in enumerate(profile.functions)]
    return sorted(found, key=lambda m: -m.total)


def whole_time(measures):
    """Returns the time of which percentages are shares: the time in all profiled functions, with every moment counted
    once. Where self times are not known, it is the time of the function that took most."""
    return sum(m.self for m in measures) or max((m.total for m in measures), default=0)


def hottest_line(measures):
    """Returns the line that took most time by itself, as the place of its function in `measures` and its number. Where
    self times are not known, it is the line that took most time with what it calls. None if no line took time."""
    own = "self" if any(m.self for m in measures) else "time"
    lines = ((time, place, number) for place, m in enumerate(measures)
             for number, time in zip(m.function.numbers, m.columns.get(own, ())))  # fmt: skip
    time, *found = max(lines, key=lambda line: line[0], default=(0,))
    return found if time else None


def that_matter(measures, most):
    """Returns the functions which together have 95 % of the time or of the growth of memory, at most `most`."""
    chosen = set()
    for key in (lambda m: m.self or m.total, lambda m: m.grown):
        left = sum(map(key, measures)) * 0.95
        for m in sorted(measures, key=key, reverse=True)[:most]:
            if left <= 0 or not key(m):
                break
            chosen.add(m.index)
            left -= key(m)
    return [m for m in measures if m.index in chosen][:most]
