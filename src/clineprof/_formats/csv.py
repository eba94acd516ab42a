# SPDX-License-Identifier: MIT
"""Comma-separated values (RFC 4180, but lines end as Unix ends them): the table of Profile.columns.

Spreadsheets run a text that looks like a formula, and would with somebody else's profile. A text
that does gets an apostrophe before it, as OWASP advises, and so does one that begins with an
apostrophe: who wants the text back takes one apostrophe off."""
import csv
import io
import re

from clineprof import _boot

# After blanks, which some programs drop; with the full-width forms that some take as well.
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
    """As the report shows it, so on one line: csv does not quote a lone CR before Python 3.13, and
    spreadsheets begin a row there."""
    text = _boot.shown(text or "")
    return "'" + text if _LIVE.match(text) else text
