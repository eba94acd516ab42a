# SPDX-License-Identifier: MIT
"""Resident memory over time as a drawing (SVG): one line for each process, the peak marked; below them
the stays in selected functions, callees below their callers. Of the profiled program's text only the
functions' names are in it."""
from clineprof._html import texts

WIDTH, HEIGHT = 1000, 150
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 22, 24
LONGEST = 1e9 * 86400 * 366  # what lies further apart is no one run
ROW, DEEPEST = 15, 8  # of the stays: their height; functions deeper in a stack are not drawn
LETTER = 6.5  # the width of one, about
POINTS = 400  # of a line; the least and the largest value of each step are both drawn


def drawing(timeline):
    """Markup; empty when there is nothing to draw."""
    starts = _starts(timeline or ())
    curves = [_thin(one, since) for one, since in zip(timeline or (), starts)]
    curves = [(pid, points) for pid, points in curves if points]
    if not curves:
        return texts.Markup()
    end = max(points[-1][0] for _, points in curves) or 1
    peak = max(rss for _, points in curves for _, rss in points) or 1
    parts = list(_axes(end, peak))
    for i, (pid, points) in enumerate(curves):
        parts.append(_line(i, points, end, peak))
        if 1 < len(curves) <= 6:
            parts.append(_name(pid, points[-1], end, peak))
    parts += _peak(curves, end, peak)
    stays = _stays(timeline, starts, end)
    parts += [_stay(*stay, end) for stay in stays]
    height = HEIGHT + ROW * max((stay[1] + 1 for stay in stays), default=0)
    return texts.Markup(
        '<svg class="timeline" viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>'
        % (WIDTH, height, _said(curves, end, peak), "".join(parts)))


def _starts(timeline):
    """When each process began, in nanoseconds since the first; 0 where that makes no sense."""
    known = [one["start"] for one in timeline if one["start"]]
    since = [(one["start"] - min(known, default=0)) * 1e9 for one in timeline]
    return [nanoseconds if 0 <= nanoseconds < LONGEST else 0 for nanoseconds in since]


def _thin(one, since):
    pid, points = one["pid"], [(since + at, rss) for at, rss in zip(one["time"], one["rss"])]
    if len(points) <= 2 * POINTS:
        return pid, points
    step, thin = len(points) / POINTS, []
    for i in range(POINTS):
        part = points[int(i * step):int((i + 1) * step)]
        ends = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        thin += sorted(ends)
    return pid, thin


def _x(at, end):
    return LEFT + (WIDTH - LEFT - RIGHT) * max(0, at) / end


def _y(rss, peak):
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rss / peak


def _axes(end, peak):
    for part in (0, 0.5, 1):
        y = _y(peak * part, peak)
        yield '<path class="grid" d="M%d %.1fH%d"/>' % (LEFT, y, WIDTH - RIGHT)
        yield '<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (
            LEFT - 8, y + 4, texts.size(peak * part))
    for part in (0, 0.25, 0.5, 0.75, 1):
        yield '<text x="%.1f" y="%d" text-anchor="%s">%s</text>' % (
            _x(end * part, end), HEIGHT - 6, "end" if part == 1 else "middle",
            texts.time(end * part))


def _line(i, points, end, peak):
    path = "L".join("%.1f %.1f" % (_x(at, end), _y(rss, peak)) for at, rss in points)
    floor = _y(0, peak)
    area = "" if i else '<path class="area" d="M%s L%.1f %.1fL%.1f %.1fZ"/>' % (
        path, _x(points[-1][0], end), floor, _x(points[0][0], end), floor)
    return '%s<path class="curve c%d" d="M%s"/>' % (area, i % 6, path)


def _name(pid, point, end, peak):
    """At the end of its line."""
    return '<text x="%.1f" y="%.1f" text-anchor="end">process %d</text>' % (
        _x(point[0], end), _y(point[1], peak) - 6, pid)


def _peak(curves, end, peak):
    rss, at, pid = max((rss, at, pid) for pid, points in curves for at, rss in points)
    x, y = _x(at, end), _y(rss, peak)
    anchor = "end" if x > WIDTH / 2 else "start"
    whose = " in process %d" % pid if len(curves) > 1 else ""
    yield '<circle class="peak" cx="%.1f" cy="%.1f" r="4"/>' % (x, y)
    yield '<text class="peak" x="%.1f" y="%.1f" text-anchor="%s">peak %s at %s%s</text>' % (
        x, y - 8, anchor, texts.size(rss), texts.time(at), whose)


def _stays(timeline, starts, end):
    """(name, level, enter, leave) of those that lie within the drawing."""
    found = [(mark["name"], mark["level"], since + mark["enter"], since + mark["leave"])
             for one, since in zip(timeline, starts) for mark in one.get("marks", ())]
    return [stay for stay in found if stay[1] < DEEPEST and 0 <= stay[2] <= stay[3] and stay[2] <= end]


def _stay(name, level, enter, leave, end):
    left, top = _x(enter, end), HEIGHT + ROW * level
    width = max(_x(min(leave, end), end) - left, 1)
    text = '<text x="%.1f" y="%d">%s</text>' % (left + 3, top + ROW - 4, texts.escape(texts.plain(name)))
    return '<g class="stay"><title>%s: %s</title><rect x="%.1f" y="%d" width="%.1f" height="%d"/>%s</g>' % (
        texts.escape(texts.plain(name)), texts.time(leave - enter), left, top, width, ROW - 2,
        text if width > LETTER * len(name) + 6 else "")


def _said(curves, end, peak):
    return "Resident memory of %d process%s over %s, %s at most" % (
        len(curves), "" if len(curves) == 1 else "es", texts.time(end), texts.size(peak))
