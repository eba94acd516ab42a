# SPDX-License-Identifier: MIT
"""Reads the profiles of clineprof and line_profiler into one form.

    Functions: {name: Function}, with the name of the tracer that recorded them
    Function: total nanoseconds, {line: (hits, nanoseconds)}
"""
from dataclasses import dataclass, field

import line_profiler
import msgpack


@dataclass
class Function:
    total: float = 0
    lines: dict = field(default_factory=dict)

    def hits(self):
        return sum(hits for hits, _ in self.lines.values())


class Functions(dict):
    tracer = None


def read_clineprof(path):
    with open(path, "rb") as file:
        data = msgpack.unpack(file)
    functions = Functions()
    functions.tracer = data["meta"].get("tracer")
    for entry in data["functions"]:
        columns = entry["lines"]
        rows = len(columns["line"])
        hits, times = (columns.get(name, [0] * rows) for name in ("hits", "time"))
        lines = dict(zip(columns["line"], zip(hits, times)))
        functions[entry["name"]] = Function(entry["total"], lines)
    return functions


def read_line_profiler(path):
    stats = line_profiler.load_stats(path)
    functions = Functions()
    for (_, _, name), rows in stats.timings.items():
        lines = {line: (hits, ticks * stats.unit * 1e9) for line, hits, ticks in rows}
        functions[name] = Function(sum(time for _, time in lines.values()), lines)
    return functions


def hits_of(functions):
    return sum(function.hits() for function in functions.values())
