# SPDX-License-Identifier: MIT
"""speedscope's own format (https://www.speedscope.app), described by its file-format-spec.ts and
file-format-schema.json. A file has one profile for time and, if memory was read, one for memory."""
from clineprof._formats import shared
from clineprof._formats.frames import cut, walk
from clineprof._formats.frames import frames as tree


def render(profile, options):
    frames, places, time, memory = [], {}, _Profile("time", "nanoseconds"), _Profile("memory", "bytes")
    for path, frame in walk(cut(tree(profile, options))):
        if not (frame.own or frame.added):
            continue
        stack = []
        for at in [*path, frame]:
            if (at.function, at.line) not in places:
                places[at.function, at.line] = len(frames)
                frames.append(_frame(at))
            stack.append(places[at.function, at.line])
        time.add(stack, frame.own)
        memory.add(stack, frame.added)
    with_memory = profile.has_memory and options["memory"]
    return shared.json_bytes({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "clineprof",
        "name": profile.meta.get("command", "clineprof"),
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": [time.made()] + ([memory.made()] if with_memory else []),
    })  # fmt: skip


def _frame(frame):
    function = frame.function
    if not frame.line:
        return {"name": shared.printable(function.name), "file": function.file, "line": function.line}
    return {"name": shared.label(function, frame.line), "file": function.file, "line": frame.line}


class _Profile:
    """A profile of the type "sampled": stacks with their weights."""

    def __init__(self, name, unit):
        self.name, self.unit, self.samples, self.weights = name, unit, [], []

    def add(self, stack, weight):
        if weight:
            self.samples.append(stack)
            self.weights.append(weight)

    def made(self):
        return {
            "type": "sampled", "name": self.name, "unit": self.unit, "startValue": 0,
            "endValue": sum(self.weights), "samples": self.samples, "weights": self.weights,
        }  # fmt: skip
