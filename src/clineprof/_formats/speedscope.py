# SPDX-License-Identifier: MIT
"""speedscope's own format (https://www.speedscope.app), described by its file-format-spec.ts and
file-format-schema.json. A file has one profile for time and, if memory was read, one for memory."""
from clineprof._formats import shared


def render(profile, options):
    frames, time, memory = [], _Profile("time", "nanoseconds"), _Profile("memory", "bytes")
    for function, rows in shared.stacks(profile, options):
        place = len(frames)
        frames.append(_frame(shared.printable(function.name), function, function.line))
        for line, own, added in rows:
            time.add([place, len(frames)], own)
            memory.add([place, len(frames)], added)
            frames.append(_frame(shared.label(function, line), function, line))
    with_memory = profile.has_memory and options["memory"]
    return shared.json_bytes({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "clineprof",
        "name": profile.meta.get("command", "clineprof"),
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": [time.made()] + ([memory.made()] if with_memory else []),
    })  # fmt: skip


def _frame(name, function, line):
    return {"name": name, "file": function.file, "line": line}


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
