# SPDX-License-Identifier: MIT
"""The whole profile as JSON, described by docs/profile.schema.json. It has the content of the .lprof file
(docs/format.md), but with a map for each line, which also holds the line's text, in place of columns."""
import json

from clineprof._formats import shared

VERSION = 1
SPREAD = "least", "most", "least_in", "most_in", "count"  # docs/format.md says what they are
APART = "increment", "below_resolution"  # left out: readers can compute increment; below_resolution is added if true


def render(profile, options):
    memory = profile.has_memory and options["memory"]
    measured = profile._measures(options["memory"]).values()
    columns = [column for column in measured if column not in APART]
    made = {
        "format": "clineprof-json",
        "version": VERSION,
        "unit": profile.unit,
        "meta": profile.meta,
        "functions": [_function(function, columns, memory) for function in profile.functions],
    }
    if profile.calls:
        made["calls"] = _calls(profile, memory)
        if profile.calls_cut:
            made["calls_cut"] = profile.calls_cut
    if profile.processes:
        made["processes"] = profile.processes
    if profile.timeline and options["memory"]:
        made["timeline"] = profile.timeline
    return shared.json_bytes(made)


def _calls(profile, memory):
    places = {function: place for place, function in enumerate(profile.functions)}
    rows = [{**call._asdict(), "function": places.get(call.function)} for call in profile.calls]
    if not memory:
        for row in rows:
            del row["increment"]
    return rows


def of_comparison(comparison, measures, top):
    """What `clineprof diff --format json` prints (docs/compare.md), and that it is all."""
    # without indentation, which would take the encoder in Python instead of that in C
    return (json.dumps(comparison, allow_nan=False) + "\n").encode("ascii"), True


def _function(function, columns, memory):
    texts = function.texts()
    names = ("line", *columns)
    values = zip(function.numbers, *[function[column] for column in columns])
    rows = [dict(zip(names, row)) for row in values]
    for row, below in zip(rows, function["below_resolution"]):
        row["text"] = texts.get(row["line"])
        if below:
            row["below_resolution"] = True
    for row, spread in zip(rows, function.spread):
        if spread[4]:
            row["spread"] = dict(zip(SPREAD, spread))
    made = {
        "file": function.file, "line": function.line, "name": function.name,
        "total": function.total, "raw_total": function.raw_total, "lines": rows,
    }  # fmt: skip
    if function.running:
        made["running"] = function.running
    if function.missed:
        made["missed"] = function.missed
    if function.leaks and memory:
        made["leaks"] = function.leaks
    if function.callees:
        made["callees"] = function.callees
    if function.source_changed:
        made["source_changed"] = True
    if function.compiler:
        made["compiler"] = function.compiler
    for name in "compiled_calls", "compilations", "compile_time":
        if getattr(function, name):
            made[name] = getattr(function, name)
    return made
