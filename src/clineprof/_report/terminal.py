# SPDX-License-Identifier: MIT
"""Prints the report in colours (-r), with the package rich if it is installed.

C marks the report's text (src/report/table.h): headings, titles, cells, source, and how hot each row is. This module
lays the text out for the terminal. Rows never wrap, because the source is cropped. If there is little room, columns
become narrower; if that is not enough, some columns are left out, and a note says so."""
import os
import re
import sys

from clineprof._boot.measures import MEASURES

HEADING, TITLES, ROW, HIDDEN, FOLDED, TITLE, CELL = "\x01\x02\x03\x04\x05\x1e\x1f"
MARKS = re.compile("\x04[^\n]*\n|\x03..|\x1e.|[\x01\x02\x05\x1f]")

# Styles from cold to hot, which can be read on a dark and on a light background.
TIME = ("dim", "", "", "color(179)", "color(178)", "color(172)", "color(208)", "bold color(202)",
        "bold color(197)", "bold color(196)")
MEMORY = ("dim", "", "", "color(73)", "color(74)", "color(38)", "color(39)", "bold color(33)",
          "bold color(99)", "bold color(129)")
ESTIMATE = "dim italic"
SYNTAX = "ansi_dark"
# How many lines get syntax colours at most. Pygments takes some ten seconds for a hundred thousand lines.
LINES_WITH_SYNTAX = 10_000

BAR = 5  # width of the bar behind % Time, in characters
BLOCKS = " ▏▎▍▌▋▊▉█"
SOURCE = 40  # width of the source below which columns become narrower, in characters
LITTLE_SOURCE = 20  # width of the source below which columns are left out
# The columns that a narrow terminal leaves out, the first one first. Other measures follow: they are shown only where
# somebody asked for them.
LEFT_OUT = ("Per Hit", "Self/Hit", "Mem usage", "% Self", "Largest", "Released", "Grown", "Self incr.",
            "Max", "Await", "Hits", "Self", "Increment", "Time")


def render(text, path=None):
    """Turns the marked text into a text for standard output: with colours, or without marks if rich finds that standard
    output has no colours. None if rich is not installed. `path` replaces sys.path, so that rich is not looked for in
    the program's folders; None leaves it."""
    if path is not None:
        sys.path[:] = path
    try:
        from rich.console import Console
    except ImportError:
        return None
    out = sys.__stdout__
    console = Console(file=out) if out else None
    if console is None or console.color_system is None:
        return plain(text)
    # A pipe or a file is as wide as the text, unless COLUMNS says otherwise.
    known = out.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return coloured(text, console, console.width if known else None)


def plain(text):
    return MARKS.sub("", text)


def coloured(text, console, width):
    page = Page(text)
    pens = Pens(console)
    layout = Layout(page, width, pens.unicode)
    painter = Painter(pens, layout, page)
    return "".join(line + "\n" for line in painter.lines())


# ---- the marked text ----


class Row:
    __slots__ = "cells", "time", "memory", "estimate", "kind"

    def __init__(self, line):
        self.kind = line[0]
        self.estimate = self.kind == ROW and line[1] == "e"
        if self.kind == ROW:
            self.time, self.memory = 0 if self.estimate else int(line[1]), int(line[2])
            self.cells = line[3:].split(CELL)
        else:
            self.time = self.memory = 0
            self.cells = [line[1:]]

    @property
    def source(self):
        return self.cells[-1][2:] if self.kind == ROW else self.cells[-1]


class Table:
    def __init__(self, titles, seconds):
        cells = titles.split(TITLE)[1:]
        self.kinds = [cell[0] for cell in cells]
        self.titles = [cell[1:] for cell in cells]
        self.seconds = seconds
        self.rows = []

    @property
    def is_ranking(self):
        return self.kinds[0] == "l"

    def sources(self):
        """The source lines of all rows. They are coloured as one text, so that a string over several lines is
        recognised."""
        return [row.source for row in self.rows if row.kind != FOLDED]


class Page:
    """The marked text in parts: tables, and the lines between them."""

    def __init__(self, text):
        self.parts = []
        table, seconds = None, 0.0
        for line in text.split("\n")[:-1]:
            mark = line[:1]
            if mark == TITLES:
                if line[1:2] == TITLE:
                    table = Table(line, seconds)
                    self.parts.append(table)
            elif mark in (ROW, HIDDEN, FOLDED) and mark:
                table.rows.append(Row(line))
            else:
                if line.startswith(HEADING + "Total time: "):
                    seconds = float(line.split()[2])
                self.parts.append(line)
        self.tables = [part for part in self.parts if isinstance(part, Table)]


# ---- pens ----


class Pens:
    def __init__(self, console):
        from rich.console import COLOR_SYSTEMS

        self.system = COLOR_SYSTEMS[console.color_system]
        self.colours = not console.no_color
        self.unicode = not console.options.ascii_only
        self.time = [self.pen(style) for style in TIME]
        self.memory = [self.pen(style) for style in MEMORY]
        self.estimate = self.pen(ESTIMATE)
        self.dim, self.bold = self.pen("dim"), self.pen("bold")
        self.name = self.pen("bold cyan")

    def pen(self, style):
        """What is sent to the terminal before and after a text in this style: a pair of strings."""
        from rich.style import Style

        style = Style.parse(style) if isinstance(style, str) else style
        style = style if self.colours else style.without_color
        before, _, after = style.render("|", color_system=self.system).partition("|")
        return before, after


def paint(pen, text):
    return pen[0] + text + pen[1] if text.strip() else text


class Highlighter:
    """Splits each line of a source text into pieces, (pen, text), by Python's syntax."""

    def __init__(self, pens):
        from pygments.lexers.python import PythonLexer
        from rich.syntax import Syntax

        self.pens = pens
        self.lexer = PythonLexer(stripnl=False, ensurenl=False)
        self.theme = Syntax.get_theme(SYNTAX)
        self.known = {}

    def pen(self, token):
        pen = self.known.get(token)
        if pen is None:
            style = self.theme.get_style_for_token(token)
            pen = self.known[token] = self.pens.pen(style)
        return pen

    def lines(self, sources):
        done, line = [], []
        for token, text in self.lexer.get_tokens("\n".join(sources)):
            first, *more = text.split("\n")
            line.append((self.pen(token), first))
            for piece in more:
                done.append(line)
                line = [(self.pen(token), piece)]
        return [*done, line]


# ---- layout ----


def cells_of(text):
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def crop(text, room, mark, keep_end=False):
    """Cuts a text to `room` characters; `mark` stands for what is cut off."""
    if cells_of(text) <= room:
        return text
    room -= cells_of(mark)
    taken = 0
    for at, character in enumerate(reversed(text) if keep_end else text):
        taken += cells_of(character)
        if taken > room:
            break
    return mark + text[len(text) - at :] if keep_end else text[:at] + mark


class Layout:
    """The widths of all columns except the source, which are the same for every table. 0: the column is left out."""

    def __init__(self, page, width, unicode):
        self.width = width
        self.unicode = unicode
        self.ellipsis = "…" if unicode else "..."
        self.left_out = []
        self.bar = BAR if unicode else 0
        self.kinds = page.tables[0].kinds if page.tables else []
        self.names = [title.strip() for title in page.tables[0].titles] if page.tables else []
        self.widths, content, source = measure(page.tables, len(self.kinds) - 1)
        if width is not None and page.tables:
            self.fit(content, source)

    def taken(self):
        return sum(self.widths) + (self.bar + 1 if self.bar and "% Time" in self.names else 0) + 2

    def fit(self, content, source):
        """Makes room for the source: narrows columns, then removes the bar, then leaves out columns."""
        if self.taken() <= self.width - min(source, SOURCE):
            return
        room = self.width - min(source, LITTLE_SOURCE)
        most = {"l": max(20, self.width // 4), "f": max(12, self.width // 5)}
        for at, wide in enumerate(content):
            gap = 0 if at == 0 else 2 if self.kinds[at] == "f" else 1
            self.widths[at] = gap + min(wide, most.get(self.kinds[at], wide))
        if self.taken() > room:
            self.bar = 0
        others = (measure.title for measure in MEASURES if measure.title not in LEFT_OUT)
        for name in (*LEFT_OUT, *others):
            while self.taken() > room and name in self.shown():
                self.widths[self.shown_at(name)] = 0
                self.left_out.append(name)

    def shown(self):
        return [name for name, wide in zip(self.names, self.widths) if wide]

    def shown_at(self, name):
        return next(at for at, wide in enumerate(self.widths) if wide and self.names[at] == name)

    def left(self):
        """How many characters are left for the source; None: as many as it needs."""
        return None if self.width is None else max(self.width - self.taken(), 0)

    def cell(self, at, text):
        wide = self.widths[at]
        if self.kinds[at] in "lf":
            lead = "  " if self.kinds[at] == "f" else ""
            text = lead + crop(text.strip(), wide - len(lead), self.ellipsis, keep_end=True)
            return text + " " * (wide - cells_of(text))
        return text.strip().rjust(wide)


def measure(tables, count):
    """Returns (the width of each column in the text, the width that its contents need, the width of the longest source
    line)."""
    given, content, source = [0] * max(count, 0), [0] * max(count, 0), 0
    for table in tables:
        rows = [row.cells for row in table.rows if row.kind == ROW]
        for at, column in enumerate(zip(table.titles, *rows)):
            if at == count:
                source = max(source, max(map(cells_of, column[1:]), default=0))
                continue
            given[at] = max(given[at], max(map(cells_of, column)))
            content[at] = max(content[at], max(cells_of(cell.strip()) for cell in column))
    return given, content, source


# ---- painting ----


class Painter:
    def __init__(self, pens, layout, page):
        self.pens, self.layout, self.page = pens, layout, page
        self.highlighted = self.choose()
        self.highlighter = Highlighter(pens) if self.highlighted else None

    def choose(self):
        """Chooses the tables that get syntax colours: the hottest, up to LINES_WITH_SYNTAX lines in all."""
        left, chosen = LINES_WITH_SYNTAX, set()
        for table in sorted(self.page.tables, key=lambda table: -table.seconds):
            if len(table.rows) <= left:
                chosen.add(id(table))
                left -= len(table.rows)
        return chosen

    def lines(self):
        for part in self.page.parts:
            if isinstance(part, Table):
                yield from self.table(part)
            else:
                yield self.line(part)
        for note in self.notes():
            yield paint(self.pens.dim, note)

    def notes(self):
        plain = len(self.page.tables) - len(self.highlighted)
        if self.layout.left_out:
            yield "Columns left out at a width of %d: %s." % (
                self.layout.width, ", ".join(self.layout.left_out))
        if any(row.estimate for table in self.page.tables for row in table.rows):
            yield "Times in italics are estimates: the profiler's own cost was more than twice as large."
        if plain:
            count = len(self.page.tables)
            yield ("To save time, the syntax of only %d of %d function%s is coloured: the hottest that are not "
                   "too long." % (len(self.highlighted), count, "s"[count == 1 :]))

    def line(self, line):
        if line[:1] != HEADING:
            return paint(self.pens.dim, line)
        label, colon, value = line[1:].partition(": ")
        pen = self.pens.name if label == "Function" else self.pens.bold
        return label + colon + paint(pen, value)

    def table(self, table):
        yield self.titles(table)
        yield self.rule(table)
        sources = self.colour(table)
        for row in table.rows:
            source = sources() if row.kind != FOLDED else None
            if row.kind == ROW:
                yield self.row(table, row, source)
            elif row.kind == FOLDED:
                yield paint(self.pens.dim, row.cells[0])

    def titles(self, table):
        layout = self.layout
        cells = []
        for at, title in enumerate(table.titles[:-1]):
            if layout.widths[at]:
                cells.append(layout.cell(at, title))
                if layout.names[at] == "% Time" and layout.bar:
                    cells.append(" " * (layout.bar + 1))
        text = "".join(cells) + table.titles[-1]
        return paint(self.pens.bold, text if layout.width is None else text[: layout.width])

    def rule(self, table):
        wide = self.layout.taken() + len(table.titles[-1]) - 2
        wide = wide if self.layout.width is None else min(wide, self.layout.width)
        return paint(self.pens.dim, ("─" if self.layout.unicode else "-") * wide)

    def colour(self, table):
        """Returns a function that returns the pieces of the next source line at each call."""
        sources = table.sources()
        if id(table) not in self.highlighted:
            lines = iter([(("", ""), text)] for text in sources)
        elif table.is_ranking:
            lines = (self.highlighter.lines([text])[0] for text in sources)
        else:
            lines = iter(self.highlighter.lines(sources))
        return lambda: next(lines, [])

    def row(self, table, row, pieces):
        layout, pens = self.layout, self.pens
        time = pens.estimate if row.estimate else pens.time[row.time]
        heat = {"t": time, "p": time, "b": pens.memory[row.memory],
                "n": pens.dim, "l": pens.dim, "f": pens.name}
        out = []
        for at, cell in enumerate(row.cells[:-1]):
            if not layout.widths[at]:
                continue
            kind = layout.kinds[at]
            text = layout.cell(at, cell)
            out.append(paint(heat[kind], text) if kind in heat else text)
            if layout.bar and layout.names[at] == "% Time":
                out.append(paint(pens.time[max(row.time, 1)], " " + bar(cell)))
        running = row.cells[-1][:2]
        out.append(paint(pens.bold, running))
        out.extend(self.source(pieces))
        return "".join(out).rstrip(" ")

    def source(self, pieces):
        left = self.layout.left()
        text = "".join(text for _, text in pieces)
        if "\t" in text:
            pieces, text = without_tabs(pieces), text.expandtabs()
        if left is None or cells_of(text) <= left:
            return [paint(pen, text) for pen, text in pieces]
        return self.cropped(pieces, left)

    def cropped(self, pieces, left):
        left -= len(self.layout.ellipsis)
        if left < 0:
            return []
        out = []
        for pen, text in pieces:
            room = left - cells_of(text)
            if room < 0:
                out.append(paint(pen, crop(text, left, "")))
                break
            out.append(paint(pen, text))
            left = room
        return [*out, paint(self.pens.dim, self.layout.ellipsis)]


def bar(cell):
    """A bar for a percentage, drawn in eighths of a character."""
    if not cell.strip():
        return " " * BAR
    eighths = round(float(cell) / 100 * BAR * 8)
    whole, part = divmod(min(eighths, BAR * 8), 8)
    return ("█" * whole + (BLOCKS[part] if part else "")).ljust(BAR)


def without_tabs(pieces):
    out, column = [], 0
    for pen, text in pieces:
        spread = (" " * (column % 8) + text).expandtabs()[column % 8 :]
        out.append((pen, spread))
        column += cells_of(spread)
    return out
