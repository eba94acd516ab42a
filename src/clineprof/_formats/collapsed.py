# SPDX-License-Identifier: MIT
"""Collapsed ("folded") stacks, which Brendan Gregg's flamegraph.pl, inferno and speedscope read. Each stack is a line:
frames separated by semicolons, a blank, and a whole number, here nanoseconds."""
from clineprof._formats import shared
from clineprof._formats.frames import cut, frames, walk


def render(profile, options):
    made = []
    for path, frame in walk(cut(frames(profile, options))):
        if frame.own:
            made.append("%s %d\n" % (";".join(map(_name, [*path, frame])), frame.own))
    return "".join(made).encode("utf-8")


def _name(frame):
    name = "%s:%s" % (frame.function.file, frame.function.name)
    return _escaped(name) + (":%d" % frame.line if frame.line else "")


def _escaped(text):
    return shared.printable(text).replace(";", "\\x3b")
