# SPDX-License-Identifier: MIT
"""Lays out what commands print on a terminal: in colours, with the package rich, or else without colours.

C marks the text (src/report/table.h): headings, titles, cells, source, and how hot each row is. Rows never wrap,
because the source is cropped. If there is little room, columns become narrower; if that is not enough, some columns are
left out, and a note says so. Sentences are wrapped between words. No line is longer than the terminal is wide."""
import functools
import itertools
import os
import re
import sys
import unicodedata

from clineprof._boot.measures import MEASURES

HEADING, TITLES, ROW, HIDDEN, FOLDED, LINE, TITLE, CELL = "\x01\x02\x03\x04\x05\x06\x1e\x1f"

# Styles from cold to hot, which can be read on a dark and on a light background.
TIME = ("dim", "", "", "color(179)", "color(178)", "color(172)", "color(208)", "bold color(202)",
        "bold color(197)", "bold color(196)")
MEMORY = ("dim", "", "", "color(73)", "color(74)", "color(38)", "color(39)", "bold color(33)",
          "bold color(99)", "bold color(129)")
ESTIMATE = "dim italic"
WORSE, BETTER = "bold color(197)", "color(71)"
SYNTAX = "ansi_dark"
# How many lines get syntax colours at most. Pygments takes some ten seconds for a hundred thousand lines.
LINES_WITH_SYNTAX = 10_000

BAR = 5  # width of the bar behind % Time, in characters
BLOCKS = " ▏▎▍▌▋▊▉█"
SOURCE = 60  # width of the source below which columns become narrower, in characters
LITTLE_SOURCE = 20  # width of the source below which columns are left out
LEAST_SOURCE = 10  # the same in a comparison and in a table of calls, which are read for their other columns
# The columns that a narrow terminal leaves out, the first one first. Those of a comparison, which begin with the name
# of a measure, go before them, and other measures last: these are shown only where somebody asked for them.
LEFT_OUT_OF_COMPARISONS = " before", " +-", " after", " %"
LEFT_OUT = ("Parent", "Occurrences", "Per Hit", "Self/Hit", "Mem usage", "% Self", "Largest", "Released", "Grown",
            "Self incr.", "Allocated", "Live", "Per second", "Per call", "Per epoch", "Per checkpoint", "Max", "GC", "Await",
            "Events", "Function", "Hits", "Increment", "Calls", "Self", "Time")
ALL_LEFT_OUT = (*LEFT_OUT, *(measure.title for measure in MEASURES if measure.title not in LEFT_OUT))
USUAL_WIDTH = 80  # of a terminal that does not tell its width

# A time in the unit that fits it: the number, the blanks behind it, the unit, the blanks behind that.
FITTING = re.compile(r"(.*\d)( +)(ns|us|µs|ms|s)( *)")
# A total: the number, the unit, of how many functions it is the sum.
TOTAL = re.compile(r"(\S+) (ns|us|µs|ms|s)( in .*|)")


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
        painter = Painter(self.pens, self.width, Page(text))
        return "".join(line + "\n" for line in painter.lines_and_notes())

    def screen(self, text, width, height):
        """Turns the marked text into what replaces the picture on a terminal of this size. Each line is erased before
        it is written: behind a line that fills the width the cursor stands on its last character."""
        painter = Painter(self.pens, width, Page(text))
        painter.sorted = self.pens.reverse
        notes = [crop(note, width, self.pens.ellipsis) for note in painter.left_out()]
        lines = [*itertools.islice(painter.lines(painter.page.parts), max(height - len(notes), 0)), *notes][:height]
        return ("\x1b[H" + "\r\n".join("\x1b[K" + line for line in lines) +
                "\r\n\x1b[J" * (len(lines) < height))


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
        self.kinds = [cell[0].lower() for cell in cells]
        self.titles = [cell[1:] for cell in cells]
        self.names = [title.strip() for title in self.titles]
        self.sorted_by = next((at for at, cell in enumerate(cells) if cell[0].isupper()), None)
        self.seconds = seconds
        self.rows = []

    @property
    def is_function(self):
        """Are the rows the lines of a function? Else each has a line from somewhere, or no source."""
        return self.kinds[0] == "n"

    @property
    def key(self):
        """Tables with equal keys have the same columns."""
        return tuple(zip(self.kinds, self.names))

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
    dim = bold = estimate = worse = better = name
    time = memory = [name] * len(TIME)
    reverse = "\x1b[7m", "\x1b[m"  # for screens, which are drawn with escape sequences anyway

    def __init__(self, out):
        self.unicode = (out.encoding or "").lower().startswith("utf")
        self.ellipsis = ellipsis(self.unicode)


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
        self.dim, self.bold, self.reverse = self.pen("dim"), self.pen("bold"), self.pen("bold reverse")
        self.worse, self.better = self.pen(WORSE), self.pen(BETTER)
        self.name = self.pen("bold cyan")

    def pen(self, style):
        """What is sent to the terminal before and after a text in this style: a pair of strings."""
        from rich.style import Style

        style = Style.parse(style) if isinstance(style, str) else style
        style = style if self.colours else style.without_color
        before, _, after = style.render("|", color_system=self.system).partition("|")
        return before, after

    def theme(self):
        """Returns the styles of Python's syntax."""
        from rich.syntax import Syntax

        return Syntax.get_theme(SYNTAX)


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

        self.pens = pens
        self.lexer = PythonLexer(stripnl=False, ensurenl=False)
        self.theme = pens.theme()
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


def characters_within(characters, room):
    """Returns how many characters fit into `room` cells of a terminal."""
    taken = 0
    for at, character in enumerate(characters):
        taken += cells_of(character)
        if taken > room:
            return at
    return len(characters)


def crop(text, room, mark):
    """Cuts a text to `room` cells; `mark` stands for what is cut off. None: there is room for all."""
    if room is None or cells_of(text) <= room:
        return text
    return text[: characters_within(text, room - cells_of(mark))] + mark


def crop_start(text, room, mark):
    if room is None or cells_of(text) <= room:
        return text
    kept = characters_within(text[::-1], room - cells_of(mark))
    return mark + text[len(text) - kept :]


def crop_middle(text, room, mark):
    if room is None or cells_of(text) <= room:
        return text
    start = crop(text, room // 2, "")
    return start + crop_start(text[len(start) :], room - cells_of(start), mark)


def wrapped(text, room):
    """Splits a sentence between words into lines of at most `room` characters. Words that are too long are split."""
    text = text.expandtabs()
    if room is None or cells_of(text) <= room:
        return [text]
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


def left_out_order(names):
    """Sorts the names of the columns that can be left out, the first to go first."""
    compared = [name for end in LEFT_OUT_OF_COMPARISONS for name in reversed(names) if name.endswith(end)]
    changes = [name for name in reversed(names) if name.endswith(" change")]
    return [*compared, *(name for name in ALL_LEFT_OUT if name in names), *changes]


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
        self.names, self.sorted_by = tables[0].names, tables[0].sorted_by
        self.widths, content, source = measure(tables, len(self.kinds) - 1)
        if width is not None:
            self.fit(content, source)

    def taken(self):
        return sum(self.widths) + (self.bar + 1 if self.bar and "% Time" in self.shown() else 0) + 2

    def fit(self, content, source):
        """Makes room for the source: narrows columns, then removes the bar, then leaves out columns."""
        if self.taken() <= self.width - min(source, SOURCE):
            return
        room = self.width - min(source, LEAST_SOURCE if self.kinds[0] in "oc" else LITTLE_SOURCE)
        most = {"l": max(16, self.width // 4), "f": max(12, self.width // 5), "w": max(24, self.width // 3)}
        for at, wide in enumerate(content):
            gap = 0 if at == 0 else 2 if self.kinds[at] in "fw" else 1
            self.widths[at] = gap + min(wide, most.get(self.kinds[at], wide))
        if self.taken() > room:
            self.bar = 0
        for name in left_out_order([name for at, name in enumerate(self.names) if at != self.sorted_by]):
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
        if self.kinds[at] in "lfw":
            lead = "" if self.kinds[at] == "l" else "  "
            cropped = crop_middle if self.kinds[at] == "w" else crop_start
            text = lead + cropped(text.strip(), wide - len(lead), self.ellipsis)
            return text + " " * (wide - cells_of(text))
        return trimmed(text, self.kinds[at]).rjust(wide)


def trimmed(text, kind):
    """Returns the text of a cell without the blanks around it. The blanks behind a time keep the points aligned."""
    return text.lstrip() if kind in "td" else text.strip()


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
        self.sorted = pens.bold  # paints the title of the column by which rows are sorted
        self.layouts = {key: Layout([table for table in page.tables if table.key == key], width, pens)
                        for key in dict.fromkeys(table.key for table in page.tables)}
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

    def lines_and_notes(self):
        """The notes stand last, but before a heading that ends the text: a comparison ends in what it found."""
        *parts, last = self.page.parts or [""]
        ends = not isinstance(last, Table) and last[:1] == HEADING
        yield from self.lines(parts if ends else self.page.parts)
        notes = list(self.notes())
        yield from [""] * (bool(notes) and isinstance(last, Table))
        yield from notes
        if ends:
            yield from self.lines([last])

    def lines(self, parts):
        for part in parts:
            if isinstance(part, Table):
                self.layout = self.layouts[part.key]
                yield from self.table(part)
            elif part[:1] == HEADING:
                yield from self.heading(part[1:])
            elif part[:1] == LINE:
                yield self.cropped_line(part[1:])
            else:
                yield from self.sentence(part)

    def notes(self):
        for note in self.sentences():
            yield from self.sentence(note)

    def left_out(self):
        names = list(dict.fromkeys(name for layout in self.layouts.values() for name in layout.names))
        left_out = {name for layout in self.layouts.values() for name in layout.left_out}
        if left_out:
            yield "Columns left out at a width of %d: %s." % (
                self.width, ", ".join(name for name in left_out_order(names) if name in left_out))

    def sentences(self):
        yield from self.left_out()
        if self.pens.system is None:
            return
        if any(row.estimate for table in self.page.tables for row in table.rows):
            yield "Times in italics are estimates: the profiler's own cost was more than twice as large."
        functions = [table for table in self.page.tables if table.is_function]
        coloured = sum(id(table) in self.highlighted for table in functions)
        if self.highlighter and coloured < len(functions):
            yield ("To save time, the syntax of only %d of %d function%s is coloured: the hottest that are not "
                   "too long." % (coloured, len(functions), "s"[len(functions) == 1 :]))

    def heading(self, line):
        label, colon, value = line.partition(": ")
        label += colon
        if label in ("File: ", "Filename: ", "Function: "):
            yield label + paint(self.pens.name if label == "Function: " else self.pens.bold, self.place(label, value))
            return
        if self.pens.unicode:
            value = re.sub(r"(?<=\d )us\b", "µs", value)
        time = TOTAL.fullmatch(value) if label in ("Total time: ", "Self time: ") else None
        if time:
            yield label + paint(self.pens.bold, time[1]) + " " + paint(self.pens.dim, time[2] + time[3])
            return
        first, *more = wrapped(label + value, self.width)
        if not colon or not first.startswith(label):
            label = ""
        yield label + self.value(first[len(label) :])
        yield from map(self.value, more)

    def value(self, text):
        """Paints the value of a heading. That of a comparison ends in verdicts."""
        verdict = re.search(r"\((slower|grown|faster|shrunk).*", text)
        at = verdict.start() if verdict else len(text)
        pen = self.pens.worse if verdict and verdict[1] in ("slower", "grown") else self.pens.better
        return paint(self.pens.bold, text[:at]) + paint(pen, text[at:])

    def place(self, label, value):
        """Crops the name of a file, which keeps its end, or of a function, which keeps its line."""
        if self.width is None:
            return value
        room = self.width - len(label)
        if label != "Function: ":
            return crop_start(value, room, self.pens.ellipsis)
        name, line = re.fullmatch(r"(.*?)((?: at line [-> 0-9]+)?)", value).groups()
        return crop(name, room - len(line), self.pens.ellipsis) + line

    def cropped_line(self, line):
        return paint(self.pens.dim, crop_middle(line.expandtabs(), self.width, self.pens.ellipsis))

    def sentence(self, line):
        for line in wrapped(line, self.width):
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
                yield self.cropped_line(row.cells[0])

    def titles(self, table):
        layout, pens = self.layout, self.pens
        out = []
        for at, title in enumerate(table.titles[:-1]):
            if layout.widths[at]:
                out.append(paint(self.sorted if at == table.sorted_by else pens.bold, layout.cell(at, title)))
                if layout.names[at] == "% Time" and layout.bar:
                    out.append(" " * (layout.bar + 1))
        return "".join(out) + paint(pens.bold, self.last_title(table))

    def last_title(self, table):
        left = self.layout.left()
        return crop(table.titles[-1], None if left is None else left + 2, self.pens.ellipsis)

    def rule(self, table):
        wide = self.layout.taken() - 2 + len(self.last_title(table))
        if self.pens.system is None:
            return "=" * wide
        return paint(self.pens.dim, ("─" if self.layout.unicode else "-") * wide)

    def colour(self, table):
        """Returns a function that returns the pieces of the next source line at each call."""
        sources = table.sources()
        if id(table) not in self.highlighted or table.kinds[-1] != "s":
            lines = ([(("", ""), text)] for text in sources)
        elif table.is_function:
            lines = iter(self.highlighter.lines(sources))
        else:
            lines = (self.highlighter.lines([text])[0] for text in sources)
        return lambda: next(lines, [])

    def row(self, table, row, pieces):
        layout, pens = self.layout, self.pens
        time = pens.estimate if row.estimate else pens.time[row.time]
        heat = {"p": time, "b": pens.memory[row.memory],
                "n": pens.dim, "o": pens.dim, "l": pens.dim, "f": pens.name, "w": pens.name}
        out = []
        for at, cell in enumerate(row.cells[:-1]):
            if not layout.widths[at]:
                continue
            kind = layout.kinds[at]
            text = layout.cell(at, cell)
            if kind == "t":
                out.append(self.time(time, text))
            elif kind == "d":
                out.append(self.time(pens.worse if "+" in text else pens.better if "-" in text else pens.bold, text))
            else:
                out.append(paint(heat[kind], text) if kind in heat else text)
            if layout.bar and layout.names[at] == "% Time":
                out.append(paint(pens.time[max(row.time, 1)], " " + bar(cell)))
        out.append(paint(pens.bold, row.cells[-1][:2]))
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
