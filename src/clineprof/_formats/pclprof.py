# SPDX-License-Identifier: MIT
"""The format of line-profiler-pycharm (its _profile.py, on PyPI), which PyCharm's plug-in Line Profiler opens: JSON
with the timings of line_profiler. The plug-in reads hits and times as 32-bit integers. So the unit of times is
multiplied by a thousand until the longest time fits, and hits are cut at the largest integer."""
from clineprof._formats import shared

LARGEST = 2**31 - 1


def render(profile, options):
    column = "raw_time" if options["raw_times"] else "time"
    longest = max((time for f in profile.functions for time in f[column]), default=0)
    scale = 1
    while longest // scale > LARGEST:
        scale *= 1000
    unit = profile.unit * scale
    functions = [_function(function, column, scale, unit) for function in profile.functions]
    return shared.json_bytes({"profiledFunctions": functions, "unit": unit})


def _function(function, column, scale, unit):
    rows = zip(function.numbers, function["hits"], function[column])
    lines = [
        {"lineNo": line, "hits": min(hits, LARGEST), "time": time // scale}
        for line, hits, time in rows
        if hits or time
    ]
    return {
        "file": function.file, "lineNo": function.line, "functionName": function.name,
        "profiledLines": lines, "unit": unit,
    }  # fmt: skip
