# SPDX-License-Identifier: MIT
"""A finished profile in Python: what clineprof.load gives and what the formats are made of."""
import os
import re

# The measures of a line, in the order of the file (docs/format.md). Times are in units (`unit`
# seconds each), sizes in bytes.
COLUMNS = (
    "hits", "time", "raw_time", "self", "raw_self", "await", "max",
    "rss", "grown", "released", "self_increment", "largest",
)  # fmt: skip


_LINE_END = re.compile("\r\n|\r|\n")  # str.splitlines knows more of them than Python source


def load(path, *more):
    """The profile in a file: clineprof's own, a live file of a run, or line_profiler's pickle
    (which is never unpickled). Several files are summed.

    OSError when a file cannot be read, ValueError (what and where, in one line) when it is no
    profile.
    """
    from clineprof import _boot

    return Profile(_boot.core().load(path, *more))


class Profile:
    """functions: list of Function, in the order they were selected
    unit: seconds per unit of every time
    meta: dict of how the profile was made (docs/format.md)
    timeline: resident memory over time: a list with a dict for each process, of pid, start (seconds
        since 1970 of time 0), time and rss (lists of units and of bytes, equally long)
    """

    def __init__(self, data):
        self.unit = data["unit"]
        self.meta = data["meta"]
        self.timeline = data["timeline"]
        self.functions = [Function(item) for item in data["functions"]]

    def __repr__(self):
        return "<clineprof.Profile: %d functions>" % len(self.functions)

    @property
    def has_memory(self):
        """Was resident memory read?"""
        return self.meta["has_memory"]

    @property
    def leaks(self):
        """Lines whose live memory grew call by call, the largest first: a list of dicts with file,
        line and name of the function, at (the line's number), text, bytes, bytes_per_call,
        bytes_per_second and confidence (0 to 1)."""
        found = []
        for function in self.functions:
            texts = function.texts() if function.leaks else {}
            for leak in function.leaks:
                at = {"at": leak["line"], "text": texts.get(leak["line"], "")}
                key = {"file": function.file, "line": function.line, "name": function.name}
                found.append({**leak, **at, **key})
        return sorted(found, key=lambda leak: -leak["bytes"])

    @property
    def timings(self):
        """As line_profiler's LineStats has it: {(file, line, name): [(line, hits, time), ..]}"""
        return {
            (f.file, f.line, f.name): [
                row for row in zip(f.numbers, f["hits"], f["time"]) if row[1] or row[2]
            ]
            for f in self.functions
        }


class Function:
    """file, line (its first; of a decorator when there is one), name (qualified)
    total: time inside it, callees included, recursion once; raw_total: as the clock saw it
    numbers: the line numbers that have measures, ascending
    source: its text as it ran, from its first line on; None when that is not known
    leaks: verdicts on its lines, as Profile.leaks has them
    running: numbers of the lines that were being executed, of a run that had not ended

    function["time"] is the column of that name (COLUMNS, and "increment"), as long as `numbers`.
    """

    __slots__ = (
        "file", "line", "name", "total", "raw_total", "numbers", "source", "running", "leaks",
        "_columns",
    )  # fmt: skip

    def __init__(self, data):
        self.file, self.line, self.name = data["file"], data["line"], data["name"]
        self.total, self.raw_total = data["total"], data["raw_total"]
        self.source, self.running, self.leaks = data["source"], data["running"], data["leaks"]
        self._columns = data["lines"]
        self.numbers = self._columns.pop("line")

    def __repr__(self):
        return "<clineprof.Function %s at %s:%d>" % (self.name, os.path.basename(self.file), self.line)

    def __getitem__(self, column):
        if column == "increment":
            return [up - down for up, down in zip(self["grown"], self["released"])]
        if column in self._columns:
            return self._columns[column]
        if column not in COLUMNS:
            raise KeyError(column)
        return [0] * len(self.numbers)

    def texts(self):
        """{line number: its text} of the source, line ends cut off; {} when it is not known."""
        if self.source is None:
            return {}
        lines = _LINE_END.split(self.source)
        return dict(enumerate(lines[:-1] if lines[-1] == "" else lines, self.line))
