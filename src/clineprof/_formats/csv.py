# SPDX-License-Identifier: MIT
"""Comma-separated values (RFC 4180, but with Unix line ends): the table of Profile.columns.

Spreadsheets run a text that looks like a formula, even one in somebody else's profile. So such a text gets an
apostrophe before it, as OWASP advises. A text that begins with an apostrophe gets one, too; removing one apostrophe
gives the original text."""
import csv
import io
import re

from clineprof import _boot

# The beginning of a text that could be a formula. Blanks before it count, as some programs drop them; full-width signs
# count, as some programs take them as well.
_LIVE = re.compile(r"'|\s*[=+\-@＝＋－＠]")
TEXTS = "file", "function", "text"


def render(profile, options):
    table = profile.columns(options["memory"])
    for name in TEXTS:
        table[name] = [_safe(text) for text in table[name]]
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values()))
    return out.getvalue().encode("utf-8", "backslashreplace")


def _safe(text):
    """A text as the report shows it, on one line, and never a formula. Before Python 3.13 csv does not quote a lone CR,
    at which spreadsheets would begin a row."""
    text = _boot.shown(text or "")
    return "'" + text if _LIVE.match(text) else text
