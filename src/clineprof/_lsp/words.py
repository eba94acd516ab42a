# SPDX-License-Identifier: MIT
"""What the editor shows, in words. Texts of the profiled program are shortened, and their hidden characters shown."""
import re
import time

from clineprof._formats import shared
from clineprof._html import texts
from clineprof._html.measures import SHOWN
from clineprof._profile import Line
from clineprof._profile.limits import over

CHANGED = "The text has changed since the run"
MOST_SPOTS = 5  # functions that a hover shows
_WRITTEN = {"ns": texts.time, "bytes": texts.size, "count": texts.count}


def plain(text):
    return texts.plain(shared.clipped(text))


# ---- behind a line ----


def hint(read, spot):
    """The time of a line and its share of the function's, or None."""
    if spot.at is None or not (_value(spot, "hits") or _value(spot, "time")):
        return None
    parts = [texts.time(_value(spot, "time")), _share(_value(spot, "time"), read.measures[spot.function].total),
             "await " + texts.time(_value(spot, "await")) if _value(spot, "await") else ""]  # fmt: skip
    return "~ " * spot.is_changed + " · ".join(filter(None, parts))


def _value(spot, column):
    return spot.function[column][spot.at]


def _share(part, whole):
    return whole and texts.percent(part, whole) + " %"


# ---- on hover ----


def hover(read, spots):
    """All that the profile has of a line, as plain text."""
    said = ["\n".join(_section(read, spot)) for spot in spots[:MOST_SPOTS]]
    left = len(spots) - MOST_SPOTS
    if left > 0:
        said.append("and %d more function%s" % (left, "s"[left == 1 :]))
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(read.version.time / 1e9))
    return "\n\n".join([*said, "%s of %s" % (plain(read.name), when)])


def fenced(text):
    """The text as Markdown that shows every character as it is."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return "%stext\n%s\n%s" % (fence, text, fence)


def _section(read, spot):
    yield "%s, line %d" % (plain(spot.function.name), spot.number)
    if spot.at is None:
        yield "never ran"
    else:
        for title, value in _rows(read, spot):
            yield "%-13s %s" % (title, value)
        if spot.function["below_resolution"][spot.at]:
            yield "The line is so short that its time is an estimate."
    if spot.number in spot.function.running:
        yield "The run had not ended: the line was being executed."
    yield from _doubts(spot)


def _rows(read, spot):
    m = read.measures[spot.function]
    hits = _value(spot, "hits")
    for measure in SHOWN:
        value, column = _value(spot, measure.column), measure.column
        if not value and column != "hits":
            continue
        told = "+" * (measure.is_signed and value > 0) + _WRITTEN[measure.unit](value)
        if column == "time" and m.total:
            told += "  %s of the function" % _share(value, m.total)
        if column == read.profile.own and read.whole:
            told += "  %s of the program" % _share(value, read.whole)
        yield measure.title, told
        if column == "time" and hits > 1:
            yield "Per Hit", texts.time(value / hits)


def _doubts(spot):
    if spot.is_changed:
        was = spot.function.texts().get(spot.number)
        yield CHANGED + (". It was: " + plain(was) if was is not None else ", or may have; the profile has no text.")
    elif spot.function.source is None:
        yield "The profile has no text to compare with; the file has not changed since the run, by its date."


# ---- above a function ----


def lens(read, start):
    """What a function did, in one line."""
    function, m = start.function, read.measures[start.function]
    calls, missed = read.calls(function), len(function.missed)
    parts = [
        "%s call%s" % (texts.count(calls), "s"[calls == 1 :]) if calls else "",
        texts.time(m.total) if m.total or m.hits else "never ran",
        _share(m.total, read.whole) + " of the program" if m.total and read.whole else "",
        "+" * (m.increment > 0) + texts.size(m.increment) if m.increment else "",
        "%d line%s never ran" % (missed, "s"[missed == 1 :]) if missed and m.hits else "",
        "changed since" if start.is_changed else "",
    ]
    return "~ " * start.is_changed + " · ".join(filter(None, parts))


# ---- warnings ----


def leaks(read, spot):
    """A sentence for each verdict on the line."""
    for leak in spot.function.leaks:
        if leak["line"] == spot.number:
            blocks = spot.at is not None and _value(spot, "live_blocks")
            yield "kept %s, %s per %s%s, sure %.0f %%%s%s" % (
                texts.size(leak["bytes"]), texts.size(max(0, min(leak["bytes_per_call"], leak["bytes"]))),
                texts.epoch(leak, read.profile.meta),
                ", %s live block%s" % (texts.count(blocks), "s"[blocks == 1 :]) if blocks else "",
                100 * leak["confidence"], "; freed only at the end of the program" if leak["at_end"] else "",
                "; held by " + plain(leak["held_by"]) if "held_by" in leak else "",
            )  # fmt: skip


def broken(spot, limits):
    """A sentence for each limit that the line exceeds."""
    return over(Line(spot.function, spot.at), limits) if spot.at is not None else ()
