# SPDX-License-Identifier: MIT
"""Annotations for GitHub Actions: workflow commands on standard output, escaped so that the runner can read them
(actions/toolkit, packages/core/src/command.ts). Also appends a Markdown table to the file that $GITHUB_STEP_SUMMARY
names.

GitHub shows ten annotations of a type per step, and only for files in the checkout. Notices name the lines with the
most self time, warnings the lines that added most memory. Lines below SHARE of the whole are left out as noise.
"""
import os
import re

from clineprof._formats import shared

SHOWN = 10
ROWS = 20
SHARE = 0.01
_PUNCTUATION = re.compile("[!-/:-@[-`{-~]")


def render(profile, options):
    checkout = _Checkout()
    own = shared.own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    whole = sum(sum(function[own]) for function in profile.functions)
    commands = [_notice(checkout, *item, whole) for item in _worst(profile, checkout, own, whole)]
    if memory:
        peak = max((max(f["rss"], default=0) for f in profile.functions), default=0)
        found = _worst(profile, checkout, "self_increment", peak)
        commands += [_warning(checkout, *item) for item in found]
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(_summary(profile, checkout, own, whole, memory))
    return "".join(commands).encode("utf-8")


class _Checkout:
    """The folder of the checkout, whose files GitHub knows."""

    def __init__(self):
        self._root = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.getcwd())
        self._paths = {}

    def path(self, line):
        """The path of the line's file in the checkout; None if the file is elsewhere."""
        name = line.function.file
        if name not in self._paths:
            path = os.path.relpath(os.path.realpath(name), self._root)
            inside = shared.is_file(name) and path.split(os.sep)[0] != os.pardir
            self._paths[name] = path if inside else None
        return self._paths[name]


def _worst(profile, checkout, column, whole):
    """[(line, value in the column)] of the lines to annotate, the largest value first."""
    count = sum(len(function.numbers) for function in profile.functions)
    lines = [line for line in profile.hottest(count, column) if checkout.path(line) is not None]
    found = [(line, getattr(line, column)) for line in lines[:SHOWN]]
    return [(line, value) for line, value in found if value >= SHARE * whole]


# ---- annotations -------------------------------------------------------------------------------


def _notice(checkout, line, time, whole):
    title = "%.0f %% of the time" % (100 * time / whole)
    return _command("notice", checkout, line, title, _seconds(time))


def _warning(checkout, line, size):
    return _command("warning", checkout, line, _bytes(size) + " more memory", _bytes(size))


def _command(kind, checkout, line, title, value):
    hits = "1 hit" if line.hits == 1 else "%d hits" % line.hits
    name, text = shared.clipped(line.function.name), shared.clipped(line.text or "")
    file, message = checkout.path(line), "%s: %s in %s: %s" % (name, value, hits, text)
    where = "file=%s,line=%d,title=%s" % (_property(file), line.line, _property(title))
    return "::%s %s::%s\n" % (kind, where, _data(message))


def _data(text):
    return shared.printable(text).replace("%", "%25")


def _property(text):
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ---- the summary -------------------------------------------------------------------------------


def _summary(profile, checkout, own, whole, memory):
    increment = ["Increment"] * memory
    heads = ["Line", "Hits", "Own time", "Per hit", "%", *increment, "Function", "Text"]
    marks = ["---"] + ["---:"] * (4 + memory) + ["---", "---"]
    rows = [_row(checkout, line, own, whole, memory) for line in profile.hottest(ROWS, own)]
    table = "".join("| %s |\n" % " | ".join(row) for row in [heads, marks] + rows)
    command = profile.meta.get("command")
    return "### Hottest lines%s\n\n%s in %d function%s\n\n%s\n" % (
        " of " + _code(command) if command else "", _seconds(whole), len(profile.functions),
        "s"[len(profile.functions) == 1 :], table
    )  # fmt: skip


def _row(checkout, line, own, whole, memory):
    time = getattr(line, own)
    place = "%s:%d" % (checkout.path(line) or line.function.file, line.line)
    numbers = [_seconds(time), _seconds(time / max(line.hits, 1)), "%.1f" % (100 * time / whole)]
    increment = [_bytes(line.increment)] * memory
    texts = [_code(line.function.name), _code(line.text or "")]
    return [_code(place), str(line.hits), *numbers, *increment, *texts]


def _code(text):
    """A text as code, with an entity for every sign that could mean something in Markdown or HTML."""
    text = _PUNCTUATION.sub(lambda sign: "&#%d;" % ord(sign[0]), shared.clipped(text))
    return "<code>%s</code>" % text if text else ""


# ---- numbers -----------------------------------------------------------------------------------


def _seconds(nanoseconds):
    return _scaled(nanoseconds, ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns")))


def _bytes(size):
    return _scaled(size, ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")))


def _scaled(value, units):
    """A value with three digits, in the largest unit that is not larger than the value."""
    size, name = next((unit for unit in units if abs(value) >= unit[0]), units[-1])
    decimals = 3 - len("%d" % abs(value // size)) if size > 1 else 0
    return "%.*f %s" % (max(decimals, 0), value / size, name)
