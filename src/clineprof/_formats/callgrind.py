# SPDX-License-Identifier: MIT
"""Valgrind's callgrind format (its manual's chapter "Callgrind Format Specification"), which KCachegrind, QCachegrind
and callgrind_annotate open: own time of each line, and for each line the calls that it made, with their time."""
from clineprof import _boot
from clineprof._formats import shared


def render(profile, options):
    own = shared.own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    made = ["# callgrind format", "version: 1", "creator: clineprof",
            "cmd: " + shared.printable(profile.meta.get("command", "")), "positions: line",
            "event: ns : nanoseconds"] + ["event: bytes : memory added"] * memory  # fmt: skip
    rows = {function: _rows(function, function[own], memory) for function in profile.functions}
    every = [costs for of in rows.values() for costs in of.values()] or [[0] * (1 + memory)]
    whole = map(sum, zip(*every))
    made += ["events: ns" + " bytes" * memory, "summary: " + _costs(*whole), ""]
    called = {}
    for edge in profile.edges:
        if edge.caller is not None and edge.callee is not None:
            called.setdefault(edge.caller, {}).setdefault(edge.line or edge.caller.line, []).append(edge)
    for function in profile.functions:
        costs = rows[function]
        made += ["fl=" + _name(function.file), "fn=" + _name(function.name)]
        for line in sorted({*costs, *called.get(function, ())}):
            if line in costs:
                made.append("%d %s" % (line, _costs(*costs[line])))
            for edge in called.get(function, {}).get(line, ()):
                made += ["cfi=" + _name(edge.callee.file), "cfn=" + _name(edge.callee.name),
                         "calls=%d %d" % (edge.calls, edge.callee.line),
                         "%d %s" % (line, _costs(edge.time, *[max(edge.increment, 0)] * memory))]  # fmt: skip
        made.append("")
    return "\n".join(made).encode("utf-8")


def _rows(function, own, memory):
    """{line: its costs}; readers know no negative ones."""
    added = [[max(size, 0)] for size in function["self_increment"]] if memory else [[]] * len(own)
    return {line: [time, *size] for line, time, size in zip(function.numbers, own, added)}


def _costs(*costs):
    return " ".join(map(str, costs))


def _name(text):
    """A name on one line, which does not begin like the number of a name: "(1)"."""
    text = _boot.shown(text.expandtabs(8)) or "?"
    return "\\x28" + text[1:] if text.startswith("(") else text
