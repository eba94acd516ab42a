# SPDX-License-Identifier: MIT
"""Who calls whom, as columns for the page (_html/calls.js and _html/flame.js read them)."""
from clineprof._formats.flamegraph import hue
from clineprof._formats.frames import ways


def edges(profile, functions, options):
    """The columns of Profile.edges. `functions` are the page's, in its order; -1 stands for no function."""
    places, found = _places(functions), profile.edges
    return {
        "caller": [places[edge.caller] for edge in found],
        "line": [edge.line for edge in found],
        "callee": [places[edge.callee] for edge in found],
        "through": [int(edge.through) for edge in found],
        "calls": [edge.calls for edge in found],
        "time": [edge.time for edge in found],
        **({"increment": [edge.increment for edge in found]} if options["memory"] else {}),
        "cut": profile.calls_cut,
    }


def tree(profile, functions, options):
    """The columns of the contexts that the flame graph draws, callers first, and the hue of each function. `parent` is
    -1 for a context without a caller; `again` has the number of recursive calls whose home the context is."""
    calls, places = profile.calls, _places(functions)
    drawn, homes = ways(calls)
    numbers = {place: number for number, place in enumerate(drawn)}
    again = dict.fromkeys(drawn, 0)
    for place, home in homes.items():
        again[home] += calls[place].calls
    found = [calls[place] for place in drawn]
    return {
        "parent": [-1 if call.parent is None else numbers[call.parent] for call in found],
        "line": [call.line for call in found],
        "function": [places[call.function] for call in found],
        "through": [int(call.through) for call in found],
        "calls": [call.calls for call in found],
        "again": list(again.values()),
        "time": [call.time for call in found],
        "self": [call.self for call in found],
        **({"increment": [call.increment for call in found]} if options["memory"] else {}),
        "hue": [hue(function) for function in functions],
    }


def _places(functions):
    return {None: -1, **{function: place for place, function in enumerate(functions)}}
