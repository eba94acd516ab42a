# SPDX-License-Identifier: MIT
"""A V8 heap profile, for VS Code and Chrome's DevTools: the Chrome DevTools Protocol's
HeapProfiler.SamplingHeapProfile. VS Code shows a size at the place of every node, so each line is a node below its
function's node. A line's size is what it added to the resident memory in the run."""
from clineprof._formats import shared
from clineprof._formats.frames import frames, walk


def render(profile, options):
    if not (profile.has_memory and options["memory"]):
        raise ValueError("this profile has no memory in it; run without --no-memory")
    head, samples, number = _node(1, "(root)", "", 0, 0), [], 1
    above = [head]
    for path, frame in walk(frames(profile, options)):
        function = frame.function
        del above[len(path) + 1 :]
        if frame.line and frame.line == function.line:  # has no node of its own, as VS Code would add two at one place
            above.append(above[-1])
            above[-1]["selfSize"] += frame.added
        elif frame.added or frame.below or not frame.line:
            number += 1
            name = shared.label(function, frame.line) if frame.line else shared.printable(function.name)
            above.append(_node(number, name, shared.url(function.file), frame.line or function.line, frame.added))
            above[-2]["children"].append(above[-1])
        if frame.added:
            samples.append({"size": frame.added, "nodeId": above[-1]["id"], "ordinal": len(samples) + 1})
    return shared.json_bytes({"head": head, "samples": samples})


def _node(number, name, url, line, size):
    frame = {
        "functionName": name, "scriptId": "0", "url": url,
        "lineNumber": line - 1, "columnNumber": -1 if line == 0 else 0,
    }  # fmt: skip
    return {"callFrame": frame, "selfSize": size, "id": number, "children": []}
