# SPDX-License-Identifier: MIT
"""The parts that several formats need: names for people, URLs of files."""
import json
import os
import urllib.parse

from clineprof import _boot

LONGEST = 120  # how many characters a label has of a source line at most


def own_column(profile, options):
    """The column with each line's own time, whose sum counts nothing twice."""
    return ("raw_" if options["raw_times"] else "") + profile.own


class Numbers:
    """Numbers things in the order in which they first come, from 0; `all` has them in this order."""

    def __init__(self):
        self.all, self._places = [], {}

    def __call__(self, thing):
        place = self._places.setdefault(thing, len(self.all))
        if place == len(self.all):
            self.all.append(thing)
        return place


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
