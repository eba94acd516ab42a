# SPDX-License-Identifier: MIT
"""Tables in Markdown, with the program's text escaped."""
import re

from clineprof import _boot
from clineprof._formats import shared

_PUNCTUATION = re.compile("[!-/:-@[-`{-~]")


def table(heads, marks, rows):
    return "".join("| %s |\n" % " | ".join(row) for row in [heads, marks, *rows])


def escaped(text):
    """The text with an entity for every character that could mean something in Markdown or HTML."""
    return _PUNCTUATION.sub(lambda sign: "&#%d;" % ord(sign[0]), _boot.shown(text))


def code(text):
    text = escaped(shared.clipped(text))
    return "<code>%s</code>" % text if text else ""
