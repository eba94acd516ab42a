# SPDX-License-Identifier: MIT
"""What several formats need: the profile as stacks, names for people, addresses of files."""
import json
import os
import urllib.parse

from clineprof import _boot

LONGEST = 120  # characters of the program's text in a label


def own_column(profile, options):
    """The column of the time that a line itself took, so that sums count nothing twice."""
    return ("raw_" if options["raw_times"] else "") + profile.own


def stacks(profile, options):
    """For each function the stacks that end in it, as (function, [(line, own, added), ..]): the
    nanoseconds that the line itself took and the bytes that it added to the resident memory. The
    profile knows no callers: a stack is the function and its line. Lines that gave back as much
    memory as they took added none, for no reader of stacks knows negative weights."""
    own = own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    for function in profile.functions:
        added = function["self_increment"] if memory else [0] * len(function.numbers)
        rows = zip(function.numbers, function[own], added)
        yield function, [(line, time, max(size, 0)) for line, time, size in rows
                         if time or size > 0]  # fmt: skip


def printable(text):
    """The program's text on one line, as the report shows it."""
    return _boot.shown(text.expandtabs(8))


def clipped(text):
    text = printable(text.strip())
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."


def label(function, line):
    """A line as the leaf of a stack: "name:12  its text"."""
    text = function.texts().get(line, "")
    return ("%s:%d  %s" % (printable(function.name), line, clipped(text))).rstrip()


def is_file(name):
    """Not a made-up name such as <string>."""
    return not name.startswith("<")


def url(name):
    """file:///.. of a source file; a made-up name stays as it is."""
    if not is_file(name):
        return name
    return "file://" + urllib.parse.quote(os.path.abspath(name), errors="replace")


def json_bytes(value):
    """Compact; only ASCII, so that it is valid whatever the names hold."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
