# SPDX-License-Identifier: MIT
"""pprof's profile.proto, compressed by gzip, for `go tool pprof`, Pyroscope, Parca and others: the message
perftools.profiles.Profile of github.com/google/pprof/blob/main/proto/profile.proto. A location is a line of a function.
The few kinds of fields that the message has are encoded here, so that no package is needed."""
import gzip

from clineprof import _boot
from clineprof._formats import frames, shared

MOST = 2**63 - 1


def render(profile, options):
    memory = profile.has_memory and options["memory"]
    texts, functions, places, made = shared.Numbers(), shared.Numbers(), shared.Numbers(), bytearray()
    texts("")  # the first text must be empty
    made += _message(1, _number(1, texts("time")) + _number(2, texts("nanoseconds")))
    if memory:
        made += _message(1, _number(1, texts("memory")) + _number(2, texts("bytes")))
    for stack, frame in frames.stacks(frames.cut(frames.frames(profile, options))):
        values = [frame.own, frame.added] if memory else [frame.own]
        made += _message(2, _packed(1, [places(place) + 1 for place in reversed(stack)])  # leaves first
                         + _packed(2, [min(value, MOST) for value in values]))  # fmt: skip
    for number, (function, line) in enumerate(places.all, 1):
        at = _number(1, functions(function) + 1) + _number(2, line)
        made += _message(4, _number(1, number) + _message(4, at))
    for number, function in enumerate(functions.all, 1):
        # without the system's name: pprof would take a name that is the same for C++, and shorten "<module>" to nothing
        made += _message(5, _number(1, number) + _number(2, texts(_boot.shown(function.name)))
                         + _number(4, texts(_boot.shown(function.file))) + _number(5, function.line))  # fmt: skip
    start, wall = profile.meta.get("start", 0), profile.meta.get("wall", 0)
    made += _number(9, int(min(max(start, 0), 9e9) * 1e9)) + _number(10, min(wall, MOST))
    made += _number(14, texts("time"))
    for text in texts.all:
        made += _message(6, text.encode("utf-8", "backslashreplace"))
    return gzip.compress(bytes(made), mtime=0)


def _varint(value):
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _message(field, content):
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _packed(field, values):
    return _message(field, b"".join(map(_varint, values)))
