# SPDX-License-Identifier: MIT
"""A V8 heap profile, for VS Code and Chrome's DevTools: the Chrome DevTools Protocol's
HeapProfiler.SamplingHeapProfile. VS Code shows a size at the place of every node, so each line is a node below its
function's node. A line's size is what it added to the resident memory in the run."""
from clineprof._formats import shared


def render(profile, options):
    if not (profile.has_memory and options["memory"]):
        raise ValueError("this profile has no memory in it; run without --no-memory")
    head, samples, number = _node(1, "(root)", "", 0, 0), [], 1
    for function, rows in shared.stacks(profile, options):
        url = shared.url(function.file)
        number += 1
        top = _node(number, shared.printable(function.name), url, function.line, 0)
        head["children"].append(top)
        for line, _, added in rows:
            if not added:
                continue
            if line == function.line:  # has no node of its own, as VS Code would add two nodes at one place
                node, node["selfSize"] = top, added
            else:
                number += 1
                node = _node(number, shared.label(function, line), url, line, added)
                top["children"].append(node)
            samples.append({"size": added, "nodeId": node["id"], "ordinal": len(samples) + 1})
    return shared.json_bytes({"head": head, "samples": samples})


def _node(number, name, url, line, size):
    frame = {
        "functionName": name, "scriptId": "0", "url": url,
        "lineNumber": line - 1, "columnNumber": -1 if line == 0 else 0,
    }  # fmt: skip
    return {"callFrame": frame, "selfSize": size, "id": number, "children": []}
