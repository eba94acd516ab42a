# SPDX-License-Identifier: MIT
"""The marshalled dict of the standard library's pstats (Stats.load_stats in pstats.py), which
snakeviz, tuna and gprof2dot open as well:
{(file, line, name): (primitive calls, calls, own time, cumulative time, callers)}, in seconds.

It is a table of functions, so the lines are not in it: as rows of their own they would be counted
with the functions' calls and times. tottime is the function's own time, cumtime its total. A
profile knows no callers; every function is called by one entry, SUM, of all their own time, without
which snakeviz shows nothing (functions that neither call nor are called are dust to it).
"""
import marshal
import re

from clineprof._formats import shared

SUM = ("~", 0, "<all selected functions>")
# snakeviz puts names into a <script> as they are.
_MARKUP = re.compile(r"<(?=[/!]|script)", re.I)
_HEADER = re.compile(r"\s*((async\s+)?for|while)\b")
_TWICE = re.compile(r"\s*(async\s+)?with\b|.*[(\[{,\\]\s*$")


def render(profile, options):
    own = shared.own_column(profile, options)
    total = "raw_total" if options["raw_times"] else "total"
    stats, everything = {}, 0.0
    for function in profile.functions:
        calls, self = _calls(function), sum(function[own]) * profile.unit
        callers = {SUM: (calls, calls, self, self)}
        key = (_inert(function.file), function.line, _inert(function.name))
        stats[key] = (calls, calls, self, getattr(function, total) * profile.unit, callers)
        everything += self
    stats[SUM] = (1, 1, 0.0, everything, {})
    return marshal.dumps(stats, 2)  # what every Python 3 reads


def _inert(text):
    return _MARKUP.sub(r"\\x3c", text)


def _calls(function):
    """How often it was called: the hits of the first line that ran, which begins once in every call
    (and once for a generator). What begins more often, loops, `with` and the first of a statement's
    lines, is told by its text; the line behind them helps out."""
    ran = [(line, hits) for line, hits in zip(function.numbers, function["hits"]) if hits]
    if not ran:
        return 0
    (line, first), (_, second) = (ran + [(0, ran[0][1])])[:2]
    text = function.texts().get(line, "")
    if _HEADER.match(text) and first > second:
        return first - second
    return min(first, second) if _TWICE.match(text) else first
