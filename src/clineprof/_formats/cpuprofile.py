# SPDX-License-Identifier: MIT
"""A V8 CPU profile, for VS Code and Chrome's DevTools: the Chrome DevTools Protocol's
Profiler.Profile, read as VS Code's vscode-js-profile-core reads it.

VS Code annotates the place of every node, not the lines in positionTicks (which DevTools goes by).
So each line is a node below its function's, with one sample as long as the line's own time; of a
line that is also the function's place the sample is the function's: VS Code would add up both.
"""
from clineprof._formats import shared

ROOT = 1


def render(profile, options):
    nodes, samples, deltas = [_node(ROOT, "(root)", "", 0, 0)], [], []
    nodes[0]["children"] = []
    for function, rows in shared.stacks(profile, options):
        url = shared.url(function.file)
        top = _node(len(nodes) + 1, shared.printable(function.name), url, function.line, 0)
        top["children"] = []
        nodes[0]["children"].append(top["id"])
        nodes.append(top)
        for line, own, _ in rows:
            micros = (own + 500) // 1000
            if not micros:
                continue
            if line == function.line:
                node = _ticked(top, line, micros)
            else:
                node = _node(len(nodes) + 1, shared.label(function, line), url, line, micros)
                top["children"].append(node["id"])
                nodes.append(node)
            samples.append(node["id"])
            deltas.append(micros)
    # A delta is the time before its sample: the one behind the last line's belongs to nobody.
    return shared.json_bytes({
        "nodes": nodes, "startTime": 0, "endTime": sum(deltas),
        "samples": samples + [ROOT], "timeDeltas": [0] + deltas,
    })  # fmt: skip


def _node(number, name, url, line, ticks):
    frame = {
        "functionName": name, "scriptId": "0", "url": url,
        "lineNumber": line - 1, "columnNumber": -1 if line == 0 else 0,
    }  # fmt: skip
    return _ticked({"id": number, "callFrame": frame, "hitCount": 0}, line, ticks)


def _ticked(node, line, ticks):
    """A tick is a microsecond. Of all numbers here, only this line's counts from 1."""
    if ticks:
        node["hitCount"] = ticks
        node["positionTicks"] = [{"line": line, "ticks": ticks}]
    return node
