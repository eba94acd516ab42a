# SPDX-License-Identifier: MIT
"""The parts that several formats need: the profile as stacks, names for people, URLs of files."""
import json
import os
import urllib.parse

from clineprof import _boot

LONGEST = 120  # how many characters a label has of a source line at most


def own_column(profile, options):
    """The column with each line's own time, whose sum counts nothing twice."""
    return ("raw_" if options["raw_times"] else "") + profile.own


def stacks(profile, options):
    """Yields (function, [(line, own, added), ..]) for each function: the nanoseconds that the line itself took, and the
    bytes that it added to the resident memory. A profile does not know callers, so a stack is a function and a line in
    it. A line that released more than it added counts as 0 bytes, because readers of stacks know no negative
    weights."""
    own = own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    for function in profile.functions:
        added = function["self_increment"] if memory else [0] * len(function.numbers)
        rows = zip(function.numbers, function[own], added)
        yield function, [(line, time, max(size, 0)) for line, time, size in rows
                         if time or size > 0]  # fmt: skip


def printable(text):
    """A text of the program on one line, as the report shows it."""
    return _boot.shown(text.expandtabs(8))


def clipped(text):
    text = printable(text.strip())
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + ".."


def label(function, line):
    """A line's label as the leaf of a stack: "name:12  text"."""
    text = function.texts().get(line, "")
    return ("%s:%d  %s" % (printable(function.name), line, clipped(text))).rstrip()


def is_file(name):
    """Is this the name of a file, not a made-up name such as <string>?"""
    return not name.startswith("<")


def url(name):
    """The URL of a source file (file:///..). A made-up name such as <string> stays as it is."""
    if not is_file(name):
        return name
    return "file://" + urllib.parse.quote(os.path.abspath(name), errors="replace")


def json_bytes(value):
    """JSON in compact form. It is ASCII only, so it is valid whatever characters names have."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
