# SPDX-License-Identifier: MIT
"""Draws resident memory over time (SVG): one curve for each process, with the peak marked. Below the curves are the
calls of selected functions (stays), callees below their callers. Of the profiled program's text only the functions'
names are in the drawing. The page and `clineprof mem plot` use it."""
from clineprof._html import texts

WIDTH, HEIGHT = 1000, 150
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 22, 24
GRID = 64  # the least distance of two grid lines, in pixels
LONGEST = 1e9 * 86400 * 366  # nanoseconds; processes that began further apart are not of one run
ROW, DEEPEST = 15, 8  # the height of a stay in pixels; the page does not draw stays deeper in the stack
LETTER = 6.5  # the approximate width of a letter in pixels
POINTS = 400  # steps of a curve; the smallest and the largest value of each step are drawn
COLOURS = 6  # the number of colours that curves use in turn, as the classes c0 to c5


def drawing(timeline):
    """Draws a profile's timeline. Returns markup, empty when there is nothing to draw."""
    made = _made(timeline)
    return made.markup() if made else texts.Markup()


def data(timeline, places):
    """What timeline.js needs to choose a span of time in the drawing; None when nothing is drawn. `places` has the
    place in the page of each function: {(file, line, name): place}."""
    made = _made(timeline)
    return made and {
        "begin": made.begin, "end": made.end, "left": LEFT, "right": WIDTH - RIGHT, "bottom": made.height - BOTTOM,
        "stays": [[places.get((mark["file"], mark["line"], mark["name"]), -1), mark["name"], enter, leave, pid]
                  for mark, pid, enter, leave in _stays(timeline)],
    }  # fmt: skip


def _made(timeline):
    """Returns the Drawing of a profile's timeline; None when there is nothing to draw."""
    curves = [("process %d" % one["pid"], [(since + at, rss) for at, rss in zip(one["time"], one["rss"])])
              for one, since in zip(timeline or (), _starts(timeline or ()))]  # fmt: skip
    curves = [(name, points) for name, points in curves if points]
    if not curves:
        return None
    stays = [(mark["name"], texts.time(leave - enter), mark["level"], enter, leave, number)
             for number, (mark, _, enter, leave) in enumerate(_stays(timeline))]  # fmt: skip
    made = Drawing(curves, [stay for stay in stays if stay[2] < DEEPEST])
    if 1 < len(curves) <= 6:
        made.parts += map(made.name, range(len(curves)))
    return made


def _stays(timeline):
    """Yields each stay with its process, and when it began and ended, in nanoseconds since the first process."""
    for one, since in zip(timeline, _starts(timeline)):
        for mark in one.get("marks", ()):
            yield mark, one["pid"], since + mark["enter"], since + mark["leave"]


def _starts(timeline):
    """Returns when each process began, in nanoseconds since the first process; 0 where the start is not plausible."""
    known = [one["start"] for one in timeline if one["start"]]
    since = [(one["start"] - min(known, default=0)) * 1e9 for one in timeline]
    return [nanoseconds if 0 <= nanoseconds < LONGEST else 0 for nanoseconds in since]


class Drawing:
    """A drawing of curves and stays.

    curves: [(name as markup, or "", [(nanoseconds, bytes), ..])]; every curve needs points
    stays: [(function's name, text of the tooltip, level, enter, leave)], for the page with a number that names the
        stay; stays outside the window are left out
    height: height of the curves in pixels. window: (begin, end) in nanoseconds; None: from 0 to the last point
    parts: the markup; the caller can add more
    """

    def __init__(self, curves, stays, height=HEIGHT, window=None):
        self.curves, self.height = [(name, _thin(points)) for name, points in curves], height
        self.begin, self.end = window or (0, max(points[-1][0] for _, points in self.curves) or 1)
        self.peak = max(rss for _, points in self.curves for _, rss in points) or 1
        stays = [stay for stay in stays if stay[3] <= min(stay[4], self.end) and stay[4] >= max(self.begin, 0)]
        self.parts = [*self._axes(), *map(self._curve, range(len(curves))), *self._peak(), *map(self._stay, stays)]
        self.bottom = height + ROW * max((stay[2] + 1 for stay in stays), default=0)

    def markup(self, above=0, below=0):
        """Returns the whole drawing as markup, with empty room above and below for more."""
        said = "Resident memory of %d process%s over %s, %s at most" % (
            len(self.curves), "" if len(self.curves) == 1 else "es", texts.time(self.end - self.begin),
            texts.size(self.peak))  # fmt: skip
        return texts.Markup(
            '<svg class="timeline" viewBox="0 %d %d %d" role="img" aria-label="%s">%s</svg>'
            % (-above, WIDTH, above + self.bottom + below, said, "".join(self.parts)))

    def x(self, at):
        return LEFT + (WIDTH - LEFT - RIGHT) * max(0, min(at, self.end) - self.begin) / (self.end - self.begin)

    def y(self, rss):
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * rss / self.peak

    def path(self, points):
        return "M" + "L".join("%.1f %.1f" % (self.x(at), self.y(rss)) for at, rss in points)

    def name(self, number):
        """Returns the name of a curve, placed at the curve's end."""
        name, points = self.curves[number]
        return '<text x="%.1f" y="%.1f" text-anchor="end">%s</text>' % (
            self.x(points[-1][0]), self.y(points[-1][1]) - 6, name)

    def _axes(self):
        count = max(self.height // GRID, 1)
        for i in range(count + 1):
            y = self.y(self.peak * i / count)
            yield '<path class="grid" d="M%d %.1fH%d"/>' % (LEFT, y, WIDTH - RIGHT)
            yield '<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (
                LEFT - 8, y + 4, texts.size(self.peak * i / count))
        for part in (0, 0.25, 0.5, 0.75, 1):
            at = self.begin + (self.end - self.begin) * part
            yield '<text x="%.1f" y="%d" text-anchor="%s">%s</text>' % (
                self.x(at), self.height - 6, "end" if part == 1 else "middle", texts.time(at))

    def _curve(self, number):
        _, points = self.curves[number]
        path, floor = self.path(points), self.y(0)
        area = "" if number else '<path class="area" d="%s L%.1f %.1fL%.1f %.1fZ"/>' % (
            path, self.x(points[-1][0]), floor, self.x(points[0][0]), floor)
        return '%s<path class="curve c%d" d="%s"/>' % (area, number % COLOURS, path)

    def _peak(self):
        rss, at, name = max((rss, at, name) for name, points in self.curves for at, rss in points)
        x, y = self.x(at), self.y(rss)
        anchor = "end" if x > WIDTH / 2 else "start"
        whose = " in " + name if name and len(self.curves) > 1 else ""
        yield '<circle class="peak" cx="%.1f" cy="%.1f" r="4"/>' % (x, y)
        yield '<text class="peak" x="%.1f" y="%.1f" text-anchor="%s">peak %s at %s%s</text>' % (
            x, y - 8, anchor, texts.size(rss), texts.time(at), whose)

    def _stay(self, stay):
        name, told, level, enter, leave, *number = stay
        left, top = self.x(enter), self.height + ROW * level
        width = max(self.x(leave) - left, 1)
        shown = texts.escape(texts.plain(name))
        text = '<text x="%.1f" y="%d">%s</text>' % (left + 3, top + ROW - 4, shown)
        return '<g class="stay"%s><title>%s: %s</title><rect x="%.1f" y="%d" width="%.1f" height="%d"/>%s</g>' % (
            ' data-stay="%d"' % number[0] if number else "", shown, told, left, top, width, ROW - 2,
            text if width > LETTER * len(name) + 6 else "")


def _thin(points):
    if len(points) <= 2 * POINTS:
        return points
    step, thin = len(points) / POINTS, []
    for i in range(POINTS):
        part = points[int(i * step):int((i + 1) * step)]
        ends = {min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        thin += sorted(ends)
    return thin
