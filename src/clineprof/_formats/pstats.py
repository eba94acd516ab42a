# SPDX-License-Identifier: MIT
"""The marshalled dict of the standard library's pstats (Stats.load_stats in pstats.py), which snakeviz, tuna and
gprof2dot also open: {(file, line, name): (primitive calls, calls, own time, cumulative time, callers)}, in seconds.

The format is a table of functions. Lines are left out, because as rows of their own they would count in addition to
their functions. tottime is the function's own time, cumtime its total. A profile does not know callers. So every
function has one caller, the row SUM, whose cumulative time is the sum of all own times; without callers snakeviz shows
nothing.
"""
import marshal
import re

from clineprof._formats import shared

SUM = ("~", 0, "<all selected functions>")
# Markup that is escaped in names, because snakeviz puts names into a <script> as they are.
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
    return marshal.dumps(stats, 2)  # version 2 of the format, which every Python 3 reads


def _inert(text):
    return _MARKUP.sub(r"\\x3c", text)


def _calls(function):
    """How often a function was called: the hits of the first line that ran, which begins once in every call (and once
    for a generator). Loops, `with` and the first line of a statement over several lines begin more often. They are
    recognised by their text, and the hits of the next line that ran correct the number."""
    ran = [(line, hits) for line, hits in zip(function.numbers, function["hits"]) if hits]
    if not ran:
        return 0
    (line, first), (_, second) = (ran + [(0, ran[0][1])])[:2]
    text = function.texts().get(line, "")
    if _HEADER.match(text) and first > second:
        return first - second
    return min(first, second) if _TWICE.match(text) else first
