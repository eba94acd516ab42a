# SPDX-License-Identifier: MIT
"""Lays reports out for a terminal: in colours, with the package rich, or else without colours.

C marks the text (src/report/table.h): headings, titles, cells, source, and how hot each row is. Rows never wrap, because
the source is cropped. If there is little room, columns become narrower; if that is not enough, some columns are left
out, and a note says so. Sentences are wrapped between words. No line is longer than the terminal is wide."""
import functools
import os
import re
import sys
import unicodedata

from clineprof._boot.measures import MEASURES

HEADING, TITLES, ROW, HIDDEN, FOLDED, TITLE, CELL = "\x01\x02\x03\x04\x05\x1e\x1f"

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
SOURCE = 60  # width of the source below which columns become narrower, in characters
LITTLE_SOURCE = 20  # width of the source below which columns are left out
# The columns that a narrow terminal leaves out, the first one first. Other measures follow: they are shown only where
# somebody asked for them.
LEFT_OUT = ("Per Hit", "Self/Hit", "Mem usage", "% Self", "Largest", "Released", "Grown", "Self incr.",
            "Max", "Await", "Function", "Hits", "Self", "Increment", "Time")
ALL_LEFT_OUT = (*LEFT_OUT, *(measure.title for measure in MEASURES if measure.title not in LEFT_OUT))
USUAL_WIDTH = 80  # of a terminal that does not tell its width

# A time in the unit that fits it: the number, the blanks behind it, the unit, the blanks behind that.
FITTING = re.compile(r"(.*\d)( +)(ns|us|µs|ms|s)( *)")


def paper(color="auto", path=None):
    """Returns (paper, lacks_rich). paper: what standard output is, where it is more than plain text: a terminal, or a
    pipe for which colours are asked; else None. lacks_rich: are there no colours because rich is not installed?

    color: "auto", "always" or "never". path: replaces sys.path, so that rich is not looked for in the program's
    folders; None leaves it."""
    if path is not None:
        sys.path[:] = path
    out = sys.__stdout__
    try:
        is_terminal = out.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return None, False
    pens, lacks_rich = None, False
    if color != "never":
        try:
            pens = Pens.of(out, color == "always")
        except ImportError:
            lacks_rich = True
    if pens is None and not is_terminal:
        return None, lacks_rich
    return Paper(pens or NoPens(out), width_of(out, is_terminal)), lacks_rich


def width_of(out, is_terminal):
    """Returns the characters in a line. None: a pipe is as wide as the text, unless COLUMNS says otherwise."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    if not is_terminal:
        return None
    try:
        return os.get_terminal_size(out.fileno()).columns or USUAL_WIDTH
    except OSError:
        return USUAL_WIDTH


class Paper:
    def __init__(self, pens, width):
        self.pens, self.width = pens, width

    def painted(self, text):
        """Turns the marked text into what is printed."""
        return "".join(line + "\n" for line in Painter(self.pens, self.width, Page(text)).lines())

    def changes(self, text):
        """Turns the text of a comparison into what is printed."""
        return "".join(line + "\n" for line in Changes(self.pens, self.width).lines(text))

    def cropped(self, text):
        """Crops the lines of a plain table. A file name keeps its end."""
        return "".join(
            crop(line.expandtabs(), self.width, self.pens.ellipsis, keep_end=line.startswith("Filename: ")) + "\n"
            for line in text.split("\n")[:-1])


# ---- a comparison ----


class Changes:
    """Paints the text of `clineprof diff`. Of a table that is too wide, the columns of the numbers before and after are
    left out, so that the changes and the source remain."""

    LEFT_OUT = (), ("before",), ("before", "after")  # the first that makes room

    def __init__(self, pens, width):
        self.pens, self.width = pens, width
        self.worse, self.better = pens.pen("bold color(197)"), pens.pen("color(71)")

    def lines(self, text):
        for part in re.split(r"(^ Old #.*\n=+\n(?:.+\n)*)", text, flags=re.M):
            if part.startswith(" Old #"):
                yield from self.table(part.splitlines())
                continue
            for line in part.splitlines():
                if line.startswith("Total time: ") and self.width is not None:
                    yield from map(self.total, wrapped(line, self.width))
                else:
                    yield from map(self.line, fitted(line, self.width, self.pens))

    def line(self, line):
        if line.startswith(("File: ", "Function: ")):
            label, value = line.split(": ", 1)
            return label + ": " + paint(self.pens.name if label == "Function" else self.pens.bold, value)
        return line

    def total(self, line):
        found = re.search(r"\((slower|grown|faster|shrunk).*", line)
        if not found:
            return line
        return line[: found.start()] + paint(self.worse if found[1] in ("slower", "grown") else self.better, found[0])

    def table(self, lines):
        header, _, *rows = lines
        at = header.index("  Line Contents")
        ends = [(found[0], found.end()) for found in re.finditer("#|before|after|Change|%", header[:at])]
        for left_out in self.LEFT_OUT:
            cells = [self.cells(line, ends, left_out) for line in (header, *rows)]
            widths = [max(map(len, column)) for column in zip(*cells)]
            if self.width is None or sum(widths) + len(widths) + 22 <= self.width:
                break
        whole = self.width is None or max(map(cells_of, lines)) <= self.width
        texts = [line[at:] for line in (header, *rows)]
        for number, (row, text) in enumerate(zip(cells, texts)):
            numbers = [cell.rjust(wide) for cell, wide in zip(row, widths)]
            room = None if self.width is None else self.width - sum(widths) - len(widths)
            if whole:
                line, rest = (lines[0], *rows)[number][:at], text
            else:
                line, rest = " ".join(numbers) + " " * (len(numbers) > 0), crop(text.expandtabs(), room,
                                                                             self.pens.ellipsis)
            yield (self.numbers(line) if number else paint(self.pens.bold, line)) + rest
            if not number:
                yield "=" * min(cells_of(line + rest), self.width or cells_of(line + rest))

    def cells(self, line, ends, left_out):
        found, start = [], 0
        for title, end in ends:
            if title not in left_out:
                found.append(line[start:end].strip())
            start = end
        return found

    def numbers(self, line):
        return re.sub(r"[+-]\d[\d.e+]*(?: MiB)?", lambda found: paint(
            self.worse if found[0][0] == "+" else self.better, found[0]), line)


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
                if line.startswith((HEADING + "Total time: ", HEADING + "Self time: ")):
                    seconds = seconds_of(line.split(": ")[1])
                self.parts.append(line)
        self.tables = [part for part in self.parts if isinstance(part, Table)]


def seconds_of(text):
    number, unit = text.split()[:2]
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


# ---- pens ----


def ellipsis(unicode):
    return "…" if unicode else "..."


class NoPens:
    """Pens without colours."""

    system, name = None, ("", "")
    dim = bold = estimate = name
    time = memory = [name] * len(TIME)

    def __init__(self, out):
        self.unicode = (out.encoding or "").lower().startswith("utf")
        self.ellipsis = ellipsis(self.unicode)

    def pen(self, style):
        return self.name


class Pens:
    @classmethod
    def of(cls, out, always):
        """Returns pens for this file, None if it takes no colours. Raises ImportError without rich."""
        from rich.console import Console

        console = Console(file=out, force_terminal=True, no_color=False) if always else Console(file=out)
        system = console.color_system or ("standard" if always else None)
        return cls(console, system) if system else None

    def __init__(self, console, system):
        from rich.console import COLOR_SYSTEMS

        self.system = COLOR_SYSTEMS[system]
        self.colours = not console.no_color
        self.unicode = not console.options.ascii_only
        self.ellipsis = ellipsis(self.unicode)
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


def highlighter(pens):
    """Returns a Highlighter, None without colours or without Pygments."""
    try:
        return Highlighter(pens) if pens.system is not None else None
    except ImportError:
        return None


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
    """Returns how many characters wide a text is on a terminal."""
    return len(text) if text.isascii() else sum(map(cells_of_one, text))


@functools.lru_cache(4096)
def cells_of_one(character):
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def crop(text, room, mark, keep_end=False):
    """Cuts a text to `room` characters; `mark` stands for what is cut off."""
    if room is None or cells_of(text) <= room:
        return text
    room -= cells_of(mark)
    taken = 0
    for at, character in enumerate(reversed(text) if keep_end else text):
        taken += cells_of(character)
        if taken > room:
            break
    return mark + text[len(text) - at :] if keep_end else text[:at] + mark


def wrapped(text, room):
    """Splits a sentence between words into lines of at most `room` characters. Words that are too long are split."""
    indent = " " * min(len(text) - len(text.lstrip()) + 2, room // 2)
    lines, line = [], ""
    for word in re.findall(r"\s*\S+", text):
        while cells_of(line + word) > room:
            if line.strip():
                lines.append(line)
                line, word = indent, word.lstrip()
            else:
                piece = crop(line + word, room, "")
                lines.append(piece)
                word, line = (line + word)[len(piece):], indent
        line += word
    return [*lines, line]


def fitted(line, width, pens):
    """Splits a line that is longer than the terminal is wide. A row of a table is cropped."""
    if width is None or cells_of(line) <= width:
        return [line]
    if "  " in line.strip():
        return [crop(line.expandtabs(), width, pens.ellipsis)]
    return wrapped(line, width)


class Layout:
    """The widths of all columns except the source, which are the same for all tables of a kind. 0: the column is left
    out."""

    def __init__(self, tables, width, pens):
        self.width = width
        self.unicode = pens.unicode
        self.ellipsis = pens.ellipsis
        self.left_out = []
        self.bar = BAR if pens.unicode and pens.system is not None else 0
        self.kinds = tables[0].kinds
        self.names = [title.strip() for title in tables[0].titles]
        self.widths, content, source = measure(tables, len(self.kinds) - 1)
        if width is not None:
            self.fit(content, source)

    def taken(self):
        return sum(self.widths) + (self.bar + 1 if self.bar and "% Time" in self.shown() else 0) + 2

    def fit(self, content, source):
        """Makes room for the source: narrows columns, then removes the bar, then leaves out columns."""
        if self.taken() <= self.width - min(source, SOURCE):
            return
        room = self.width - min(source, LITTLE_SOURCE)
        most = {"l": max(16, self.width // 4), "f": max(12, self.width // 5)}
        for at, wide in enumerate(content):
            gap = 0 if at == 0 else 2 if self.kinds[at] == "f" else 1
            self.widths[at] = gap + min(wide, most.get(self.kinds[at], wide))
        if self.taken() > room:
            self.bar = 0
        for name in ALL_LEFT_OUT:
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
        return trimmed(text, self.kinds[at]).rjust(wide)


def trimmed(text, kind):
    """Returns the text of a cell without the blanks around it. The blanks behind a time keep the points aligned."""
    return text.lstrip() if kind == "t" else text.strip()


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
            content[at] = max(content[at], max(cells_of(trimmed(cell, table.kinds[at])) for cell in column))
    return given, content, source


# ---- painting ----


class Painter:
    def __init__(self, pens, width, page):
        self.pens, self.width, self.page = pens, width, page
        kinds = {table.is_ranking for table in page.tables}
        self.layouts = {kind: Layout([table for table in page.tables if table.is_ranking is kind], width, pens)
                        for kind in sorted(kinds, reverse=True)}
        self.highlighter = highlighter(pens)
        self.highlighted = self.choose() if self.highlighter else set()

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
                self.layout = self.layouts[part.is_ranking]
                yield from self.table(part)
            else:
                yield from self.line(part)
        for note in self.notes():
            yield from self.sentence(note)

    def notes(self):
        left_out = {name for layout in self.layouts.values() for name in layout.left_out}
        if left_out:
            yield "Columns left out at a width of %d: %s." % (
                self.width, ", ".join(name for name in ALL_LEFT_OUT if name in left_out))
        if self.pens.system is None:
            return
        if any(row.estimate for table in self.page.tables for row in table.rows):
            yield "Times in italics are estimates: the profiler's own cost was more than twice as large."
        if self.highlighter and len(self.highlighted) < len(self.page.tables):
            functions = [table for table in self.page.tables if not table.is_ranking]
            yield ("To save time, the syntax of only %d of %d function%s is coloured: the hottest that are not "
                   "too long." % (sum(id(table) in self.highlighted for table in functions), len(functions),
                                  "s"[len(functions) == 1 :]))

    def line(self, line):
        if line[:1] != HEADING:
            yield from self.sentence(line)
            return
        label, colon, value = line[1:].partition(": ")
        label += colon
        if label in ("File: ", "Function: ") and self.width is not None:
            value = crop(value, self.width - len(label), self.pens.ellipsis, keep_end=label == "File: ")
        if self.pens.unicode and label != "File: " and label != "Function: ":
            value = re.sub(r"(?<=\d )us\b", "µs", value)
        time = FITTING.match(value) if label in ("Total time: ", "Self time: ") else None
        if time:
            yield label + paint(self.pens.bold, time[1]) + time[2] + paint(self.pens.dim, time[3])
            return
        pen = self.pens.name if label == "Function: " else self.pens.bold
        for line in fitted(label + value, self.width, self.pens):
            yield label + paint(pen, line[len(label):]) if line.startswith(label) else paint(pen, line)

    def sentence(self, line):
        for line in fitted(line, self.width, self.pens):
            yield paint(self.pens.dim, line)

    def unit(self, name):
        return "µs" if name == "us" and self.pens.unicode else name

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
        if self.pens.system is None:
            return "=" * wide
        return paint(self.pens.dim, ("─" if self.layout.unicode else "-") * wide)

    def colour(self, table):
        """Returns a function that returns the pieces of the next source line at each call."""
        sources = table.sources()
        if id(table) not in self.highlighted:
            lines = ([(("", ""), text)] for text in sources)
        elif table.is_ranking:
            lines = (self.highlighter.lines([text])[0] for text in sources)
        else:
            lines = iter(self.highlighter.lines(sources))
        return lambda: next(lines, [])

    def row(self, table, row, pieces):
        layout, pens = self.layout, self.pens
        time = pens.estimate if row.estimate else pens.time[row.time]
        heat = {"p": time, "b": pens.memory[row.memory],
                "n": pens.dim, "l": pens.dim, "f": pens.name}
        out = []
        for at, cell in enumerate(row.cells[:-1]):
            if not layout.widths[at]:
                continue
            kind = layout.kinds[at]
            text = layout.cell(at, cell)
            if kind == "t":
                out.append(self.time(time, text))
            else:
                out.append(paint(heat[kind], text) if kind in heat else text)
            if layout.bar and layout.names[at] == "% Time":
                out.append(paint(pens.time[max(row.time, 1)], " " + bar(cell)))
        running = row.cells[-1][:2]
        out.append(paint(pens.bold, running))
        out.extend(self.source(pieces))
        return "".join(out).rstrip(" ")

    def time(self, pen, text):
        """Paints a time. Its unit, where it has one of its own, is dim."""
        parts = FITTING.fullmatch(text)
        if not parts:
            return paint(pen, text)
        return paint(pen, parts[1]) + parts[2] + paint(self.pens.dim, self.unit(parts[3])) + parts[4]

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
