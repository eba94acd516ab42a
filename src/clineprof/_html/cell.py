# SPDX-License-Identifier: MIT
"""Makes the HTML that the cell of a notebook shows, of the marked text of which _report/terminal.py makes colours.

The HTML needs no style sheet and no script: JupyterLab removes both from the output of a notebook that it does not
trust, and GitHub also removes styles of elements. What is left then is a <pre> with columns, bars and indented source,
which are characters, and <details> for what is folded.

Text of the profiled program has no control characters here, and `_markup` escapes it."""
import base64
import html
import re

from clineprof import _boot
from clineprof._html import timeline
from clineprof._report.terminal import (FOLDED, HEADING, HIDDEN, ROW, Page, Painter, Row, Table, bar, crop, crop_start,
                                        paint, seconds_of)  # fmt: skip

LARGEST = 120_000  # bytes of HTML in a cell. With its text and with what JSON adds, a cell stays below 200 kB
LARGEST_TEXT = 40_000  # bytes of text in a cell
LARGEST_PICTURE = 40_000  # bytes of the picture of memory over time
RANKED = 20  # lines in a list of lines, such as that of leaks
WIDTH = 180  # characters of a row
MOST = 200  # functions; more have no room
ROWS = 160  # of a function; of more rows the hottest are shown

# CSS. The colours have a contrast of about 4 to white and to JupyterLab's black (#111).
BOLD, ESTIMATE = "font-weight:bold", "font-style:italic"
_TAGS = {BOLD: "b", ESTIMATE: "i"}  # remain where styles are removed
WORSE, BETTER = "color:#e03131;" + BOLD, "color:#2b8a3e"
TIME = ("",) * 3 + ("color:#b36f00",) * 2 + ("color:#c55a00",) * 2 + ("color:#d9480f;" + BOLD,) + (WORSE,) * 2
MEMORY = ("",) * 3 + ("color:#0c8599",) * 2 + ("color:#1c7ed6",) * 2 + ("color:#1c7ed6;" + BOLD,) + (
    "color:#8058f3;" + BOLD,) * 2  # fmt: skip
_FONT = "white-space:pre;text-align:left;font:12px/1.4 Menlo,Consolas,DejaVu Sans Mono,monospace"
_BLOCK = _FONT + ";overflow-x:auto;margin:0;padding:0 0 6px"
_SAMP = "<samp style='font:inherit'>"  # has letters of one width where styles are removed
_SUMMARY = _FONT + ";cursor:pointer;padding:1px 0"
# The picture of memory over time, on any ground.
_DRAWN = (".timeline{font:11px sans-serif}text{fill:#868e96}text.peak{fill:#1c7ed6;font-weight:bold}"
          ".grid{stroke:#868e96;stroke-opacity:.35}.curve{fill:none;stroke:#1c7ed6;stroke-width:1.6}"
          ".area{fill:#1c7ed6;opacity:.2}circle{fill:#1c7ed6}.stay rect{fill:#1c7ed6;fill-opacity:.25}")  # fmt: skip


class Pens:
    """Pens as terminal.Pens has them. Before and behind a text stand a control character, the number of a style and
    another control character."""

    system, unicode, ellipsis = "html", True, "…"
    start, between, end = "\x0e", "\x0f", "\x10"

    def __init__(self):
        self.styles = {}
        self.time, self.memory = [[self.pen(style) for style in heat] for heat in (TIME, MEMORY)]
        self.dim, self.bold, self.estimate = self.pen(""), self.pen(BOLD), self.pen(ESTIMATE)
        self.worse, self.better, self.name = self.pen(WORSE), self.pen(BETTER), self.pen(BOLD)

    def pen(self, style):
        if not style:
            return "", ""
        number = "%d%s" % (self.styles.setdefault(style, len(self.styles)), self.between)
        return self.start + number, self.end + number

    def theme(self):
        return self

    def get_style_for_token(self, token):
        """The style of a token of Pygments; of most tokens there is none, which keeps the cell small."""
        from pygments.token import Comment, Keyword, Operator, String

        for kind, style in ((Comment, "color:#7a7f88"), (String, "color:#2b8a3e"), (Keyword, "color:#b150b1"),
                            (Operator.Word, "color:#b150b1")):  # fmt: skip
            if token in kind:
                return style
        return ""

    def markup(self, text):
        styles = list(self.styles)

        def tag(found):
            style, is_end = styles[int(found[2])], found[1] == self.end
            name = _TAGS.get(style, "span")
            return "</%s>" % name if is_end else "<%s>" % name if style in _TAGS else "<span style='%s'>" % style

        return re.sub("([%s%s])(\\d+)%s" % (self.start, self.end, self.between), tag, html.escape(text))


def of_profile(marked, first, more, picture=""):
    """The HTML of a profile.

    marked: its marked text
    first: the function that is shown first and unfolded, as its heading names it: "f at line 3"
    more: more(count) returns the markup that stands for so many functions, for which there is no room
    picture: markup that stands above the functions"""
    cell = _Cell(marked, lambda function: (function.name != first, -function.seconds))
    return cell.markup([cell.block(cell.above), picture], more)


def of_comparison(marked, sentence):
    """The HTML of a comparison: its sentence, and the functions that changed, the one that changed most first."""
    cell = _Cell(marked)
    said = "<p style='margin:4px 0;text-align:left'><b>%s</b></p>" % html.escape(sentence)
    return cell.markup([said, cell.block(cell.above)], lambda count: "<p>%d more functions changed.</p>" % count)


def link(count, path):
    """Markup that stands for functions for which there is no room. path: that of the page that has them, or None."""
    there = "all functions: <a href='%s'>%s</a>" % (path, path) if path else (
        "the method <code>write('page.html')</code> of the profile makes a page with all")
    return "<p style='margin:4px 0;text-align:left'>%d more function%s; %s</p>" % (count, "s"[count == 1 :], there)


def picture(samples):
    """Memory over time: a picture that needs nothing else. "" without samples, and where it would be too large."""
    drawn = timeline.drawing(samples)
    if not 0 < len(drawn) < LARGEST_PICTURE:
        return ""
    said = re.search('aria-label="(.*?)"', drawn)[1]
    whole = drawn.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    whole = whole.replace(">", "><style>%s</style>" % _DRAWN, 1)
    return "<p><img alt='%s' src='data:image/svg+xml;base64,%s' style='width:100%%;max-width:1000px'></p>" % (
        said, base64.b64encode(whole.encode()).decode())  # fmt: skip


def text(whole, content):
    """The text of a cell: the whole report or, if that is too long, the hottest lines of the profile's content."""
    if _size(whole) <= LARGEST_TEXT:
        return whole
    lines = [crop(line, WIDTH, "...") for line in _boot.core().hottest(content, 40).rstrip().split("\n")]
    return "\n".join([*lines, "", "The tables of all functions are too long for a cell."]) if lines[0] else cut(whole)


def cut(whole):
    """The end of a text of which there is no room for all. The end of a comparison has what changed most."""
    if _size(whole) <= LARGEST_TEXT:
        return whole
    kept = whole.encode("utf-8", "replace")[-LARGEST_TEXT:].decode("utf-8", "ignore")
    return "The beginning is too long for a cell.\n..." + kept[kept.find("\n"):]


def _size(text):
    return len(text.encode("utf-8", "replace"))


class _Function:
    """The part of the text that is about one function: its name, file, total time, and what stands below."""

    def __init__(self):
        self.name = self.file = self.total = ""
        self.seconds, self.parts, self.table = 0.0, [], None

    def read_heading(self, line):
        label, _, value = line.partition(": ")
        if label == "Total time":
            self.total = value
        elif label == "File":
            self.file = value
        else:
            self.name = value

    def add(self, part):
        self.parts.append(part)
        if isinstance(part, Table):
            self.table, self.seconds = part, part.seconds

    def has_ended(self, part):
        """Is the part behind what is about the function? That ends in a blank line below the table or, without a table,
        below the heading."""
        return self.parts[-1:] == [""] and (self.table is not None or isinstance(part, str) and part != "")


class _Cell:
    """The marked text in its parts: what stands above and below the functions, and the functions. `key` sorts those of
    a profile; without it they are of a comparison, whose last function changed most."""

    def __init__(self, marked, key=None):
        self.pens, page = Pens(), Page(marked)
        self.above, self.functions, self.below = [], [], []
        for part in page.parts:
            self._add(part)
        self.is_comparison = key is None
        self.functions.sort(key=key) if key else self.functions.reverse()
        self.count = len(self.functions)
        del self.functions[MOST:]
        page.tables = [part for part in [*self.above, *self.below] if isinstance(part, Table)]
        for table in page.tables:
            del table.rows[RANKED:]
        page.tables += [function.table for function in self.functions if function.table]
        for row in (row for table in page.tables for row in table.rows):
            row.cells[-1] = row.cells[-1][:2 * WIDTH]  # no more is shown, and Pygments is slow
        self.painter = Painter(self.pens, WIDTH, page)
        self.below += self.painter.notes()

    def _add(self, part):
        is_heading = isinstance(part, str) and part[:1] == HEADING
        if is_heading and part.startswith(HEADING + "Total time: "):
            self.functions.append(_Function())
        if not self.functions:
            self.above.append(part)
        elif self.functions[-1].has_ended(part):
            self.below.append(part)
        elif is_heading and self.functions[-1].table is None:
            self.functions[-1].read_heading(part[1:])
        else:
            self.functions[-1].add(part)

    def markup(self, parts, more):
        """Puts the parts together: those above, as many functions as there is room for, and those below."""
        below = self.block(self.below)
        left, shown = LARGEST - sum(map(_size, parts)) - _size(below), 0
        for function in self.functions:
            part = self.function(function, shown == 0, left)
            left -= _size(part)
            if left < 0:
                break
            parts.append(part)
            shown += 1
        if shown < self.count:
            parts.append(more(self.count - shown))
        return "<div>%s</div>" % "".join([*parts, below])

    def function(self, function, is_open, room):
        """A function that can be folded. One that has many rows is shown with its hottest ones."""
        for rows in ROWS, ROWS // 4, ROWS // 16:
            if function.table is not None:
                _hide_rows(function.table, rows)
            made = "<details%s><summary style='%s'>%s%s</samp></summary>%s</details>" % (
                " open" if is_open else "", _SUMMARY, _SAMP, self.pens.markup(self._summary(function)),
                self.block(function.parts))  # fmt: skip
            if _size(made) <= room:
                break
        return made

    def _summary(self, function):
        most = max(each.seconds for each in self.functions)
        name, at, line = function.name.partition(" at line ")
        place = crop_start(function.file, WIDTH // 3, "…") + (":" + line if at else "")
        name = paint(self.pens.bold, crop(name, WIDTH // 3, "…"))
        total = function.total.replace(" us", " µs")
        if self.is_comparison:
            return "%s  %s  %s" % (name, place, self.painter.value(total))
        share = bar(str(100 * function.seconds / most if most else 0))
        return "%9s  %s  %s  %s" % (total, paint(self.pens.time[3], share), name, place)

    def block(self, parts):
        text = "\n".join(self.painter.lines(parts)).strip("\n")
        return "<pre style='%s'>%s%s</samp></pre>" % (_BLOCK, _SAMP, self.pens.markup(text)) if text else ""


def _seconds(cell):
    return seconds_of(cell) if len(cell.split()) == 2 else 0


def _hide_rows(table, most):
    """Hides all rows but the hottest of a table. Each gap becomes a row with three points."""
    rows = [row for row in table.rows if row.kind == ROW]
    if len(rows) <= most:
        return
    times = [at for at, kind in enumerate(table.kinds) if kind == "t"]
    rows.sort(key=lambda row: -max((_seconds(row.cells[at]) for at in times), default=0))
    kept = {id(row) for row in rows[:most]}
    shown = []
    for row in table.rows:
        if row.kind == ROW and id(row) not in kept:
            row.kind, row.cells = HIDDEN, [row.source]
        elif row.kind == FOLDED:
            continue
        if row.kind == HIDDEN and (not shown or shown[-1].kind == ROW):
            shown.append(Row(FOLDED + "   ..."))
        shown.append(row)
    table.rows = shown
