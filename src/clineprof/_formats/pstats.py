# SPDX-License-Identifier: MIT
"""The marshalled dict of the standard library's pstats (Stats.load_stats in pstats.py), which snakeviz, tuna and
gprof2dot also open: {(file, line, name): (primitive calls, calls, own time, cumulative time, callers)}, in seconds.

The format is a table of functions. Lines are left out, because as rows of their own they would count in addition to
their functions. tottime is the function's own time, cumtime its total. What is called by no selected function is called
by the row SUM, whose cumulative time is the sum of all own times; without callers snakeviz shows nothing. In a profile
without calls that is every function, and the number of calls is taken from hits.

A function's own time is divided among its callers as frames.py divides it.
"""
import marshal
import re

from clineprof import _boot
from clineprof._formats import shared
from clineprof._formats.frames import frames, walk

SUM = ("~", 0, "<all selected functions>")
# Markup that is escaped in names, because snakeviz puts names into a <script> as they are.
_MARKUP = re.compile(r"<(?=[/!]|script)", re.I)
_HEADER = re.compile(r"\s*((async\s+)?for|while)\b")
_TWICE = re.compile(r"\s*(async\s+)?with\b|.*[(\[{,\\]\s*$")


def render(profile, options):
    own = shared.own_column(profile, options)
    total = "raw_total" if options["raw_times"] else "total"
    called = _called(profile, options)
    stats, everything = {}, 0.0
    for function in profile.functions:
        self = sum(function[own]) * profile.unit
        callers = called.get(function)
        if callers is None:
            calls = again = _calls(function)
            callers = {SUM: (calls, calls, self, self)}
        else:
            calls = sum(caller[0] for caller in callers.values())
            again = calls - callers.get(_key(function), (0,))[0]
        stats[_key(function)] = (again, calls, self, getattr(function, total) * profile.unit, callers)
        everything += self
    stats[SUM] = (1, 1, 0.0, everything, {})
    return marshal.dumps(stats, 2)  # version 2 of the format, which every Python 3 reads


def _key(function):
    return _inert(function.file), function.line, _inert(function.name)


def _called(profile, options):
    """{function: {key of its caller: (calls, the same, own time, cumulative time)}}"""
    found = {}
    for edge in profile.edges:
        if edge.callee is not None:
            callers = found.setdefault(edge.callee, {})
            key = SUM if edge.caller is None else _key(edge.caller)
            calls, _, self, time = callers.get(key, (0, 0, 0.0, 0.0))
            callers[key] = (calls + edge.calls, calls + edge.calls, self, time + edge.time * profile.unit)
    for path, frame in walk(frames(profile, options)):
        callers = found.get(frame.function)
        if frame.own and callers:
            above = [at.function for at in path[-4:] if not at.line]  # between two functions stands a line at most
            key = SUM if len(above) < 2 else _key(above[-2])
            calls, again, self, time = callers[key]
            callers[key] = (calls, again, self + frame.own * profile.unit, time)
    return found


def _inert(text):
    return _MARKUP.sub(r"\\x3c", _boot.shown(text))


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
