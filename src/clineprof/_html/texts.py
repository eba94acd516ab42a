# SPDX-License-Identifier: MIT
"""Formats numbers for people, and makes the profiled program's text harmless and unambiguous. numbers.js formats
numbers in the same way."""
import decimal
import html
import math
import re
import unicodedata

# Characters that are invisible, or that move other characters on the screen. The page shows their code points instead,
# so that no line reads differently from the code that ran. The text is the inside of a [] in a regular expression, with
# the same meaning in Python and JavaScript.
HIDDEN = (
    "\0-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff"
)  # fmt: skip
_HIDDEN = re.compile("([" + HIDDEN + "])")

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_PLACES = [decimal.Decimal(text) for text in ("1", "0.1", "0.01")]
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


class Markup(str):
    """Text that is already markup: neither Jinja2 nor `escape` changes it."""

    def __html__(self):
        return self


def escape(text):
    return text if isinstance(text, Markup) else html.escape(str(text))


def shown(text):
    """Returns the program's text as markup: markup inside the text has no effect, hidden characters are visible."""
    parts = _HIDDEN.split(text)  # every second part is a hidden character
    return Markup("".join(
        _mark(part) if i % 2 else html.escape(part) for i, part in enumerate(parts)))


def plain(text):
    """Returns the program's text with visible hidden characters, for places without markup, such as a title."""
    return _HIDDEN.sub(lambda found: "U+%04X" % ord(found[0]), text)


def _mark(character):
    name = unicodedata.name(character, "control character").lower()
    return '<span class="hidden-character" title="%s">U+%04X</span>' % (name, ord(character))


def _scaled(value, units):
    """Formats a value with three digits, in the largest unit in which it is at least 1."""
    for size, unit in units:
        if abs(value) >= size * 0.9995 or size == 1:
            break
    amount = value / size
    whole = size == 1 and amount.is_integer()
    digits = 0 if whole or abs(amount) >= 99.95 else 1 if abs(amount) >= 9.995 else 2
    return "%s %s" % (_fixed(amount, digits), unit)


def _fixed(value, digits):
    """Formats with a fixed number of digits. Rounds ties away from zero, as JavaScript does: sizes are often ties."""
    exact = decimal.Decimal(value).quantize(_PLACES[digits], decimal.ROUND_HALF_UP)
    return format(exact, ",f")


def time(nanoseconds):
    return _scaled(nanoseconds, _TIMES) if nanoseconds else "0"


def size(amount):
    return _scaled(amount, _SIZES) if amount else "0"


def count(number):
    return format(number, ",d") if number < 10**12 else "%.2e" % number


def percent(part, whole):
    """Formats a share in percent, never above 100, not even for the numbers of another profiler's file."""
    return _fixed(100 * min(part / whole, 1), 1) if whole else ""


def bar(part, most, kind):
    """Returns the classes of a cell whose number has a bar below it: how long it is, in twentieths of the largest
    number (a page may forbid styles), and its heat. profile.js does the same."""
    share = min(abs(part) / most, 1) if most else 0
    return "bar %s w%d heat%d" % (kind, round(20 * share), math.ceil(4 * share))


def epoch(leak, meta):
    """The word for an epoch of the leak, as src/report/leak_report.c has it."""
    told = meta.get("leak_epoch", "")
    if leak["per_execution"]:
        return "execution"
    if told == "checkpoints":
        return "checkpoint"
    return "epoch" if told == "mixed" or re.match(r"[.\d]", told) else "call"
