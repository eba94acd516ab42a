# SPDX-License-Identifier: MIT
"""A V8 CPU profile, for VS Code and Chrome's DevTools: the Chrome DevTools Protocol's
Profiler.Profile, read as VS Code's vscode-js-profile-core reads it.

VS Code shows a time at the place of every node, and ignores the lines in positionTicks, which DevTools uses. So each
line is a node below its function's node, with one sample as long as the line's own time. The line on which the function
begins has no node of its own: its sample is the function's, because VS Code would add two nodes at one place.
"""
from clineprof._formats import shared
from clineprof._formats.frames import frames, walk

ROOT = 1


def render(profile, options):
    nodes, samples, deltas = [_node(ROOT, "(root)", "", 0, 0)], [], []
    nodes[0]["children"] = []
    above, whole, told = [nodes[0]], 0, 0
    for path, frame in walk(frames(profile, options)):
        function = frame.function
        whole += frame.own
        micros = (whole + 500) // 1000 - told  # rounded so that the sum is right, too
        told += micros
        del above[len(path) + 1 :]
        if frame.line and frame.line == function.line:
            above.append(_ticked(above[-1], frame.line, micros))
        elif micros or frame.below:
            name = shared.label(function, frame.line) if frame.line else shared.printable(function.name)
            above.append(_node(len(nodes) + 1, name, shared.url(function.file), frame.line or function.line, micros))
            above[-2].setdefault("children", []).append(above[-1]["id"])
            nodes.append(above[-1])
        if micros:
            samples.append(above[-1]["id"])
            deltas.append(micros)
    # A delta is the time before its sample, so one more sample is needed behind the last line's.
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
    """Gives a node its ticks, each a microsecond. The line in positionTicks counts from 1; all other numbers of lines
    in the format count from 0."""
    if ticks:
        node["hitCount"] = ticks
        node["positionTicks"] = [{"line": line, "ticks": ticks}]
    return node
