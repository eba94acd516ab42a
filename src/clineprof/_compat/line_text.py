# SPDX-License-Identifier: MIT
"""Prints the tables of line_profiler, character by character the same."""
import io
import linecache
import os
import sys
import tempfile
import types

from clineprof import _boot

WIDTHS = types.MappingProxyType({"line": 6, "hits": 9, "time": 12, "perhit": 8, "percent": 8})
TITLES = "Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents"
NOT_FOUND = """
Could not find file %s
Are you sure you are running this program from the same directory
that you ran the profiler from?
Continuing without the function's contents.
"""
SUMMARY = "%6.2f seconds - %s:%s - %s"


def get_column_widths(config=False):
    """Returns {column: width in characters} for "line", "hits", "time", "perhit" and "percent". `config` is False for
    the defaults; True or None for the table [tool.line_profiler.show.column_widths] that line_profiler would find; or
    the path of a file with that table. Raises ValueError if the file cannot be read."""
    if config is False:
        return WIDTHS
    from clineprof._boot.config import Wrong, of_line_profiler

    try:
        keys = of_line_profiler("show", None if config in (True, None) else os.fspath(config))
    except Wrong as error:
        raise ValueError(str(error)) from None
    widths = keys.get("column_widths", {})
    known = {name: width for name, width in widths.items() if name in WIDTHS}
    return types.MappingProxyType({**WIDTHS, **known})


def is_generated_code(filename):
    """Is this the file name of code that is in no file, such as a notebook's cell?"""
    temporary = tempfile.gettempdir()
    kernels = tuple(os.path.join(temporary, name) for name in ("ipykernel_", "xpython_"))
    return filename.startswith(("<generated", "<ipython-input-", *kernels))


def get_code_block(filename, lineno):
    """The lines of the function, class or statement that begins on this line, with their line ends."""
    import inspect
    import tokenize

    lines = linecache.getlines(os.fspath(filename))[lineno - 1 :]
    try:
        return inspect.getblock(lines)
    except (SyntaxError, tokenize.TokenError, IndexError):  # the file has changed
        return lines[:1]


def show_text(stats, unit, output_unit=None, stream=None, stripzeros=False, details=True,
              summarize=False, sort=False, rich=False, *, config=None):  # fmt: skip
    """Writes timings, as LineStats has them, to a text stream or to standard output.

    unit: seconds per unit of the times. output_unit: the unit of the written times, in seconds.
    stripzeros: leave out functions that did not run. details: write the tables. summarize: write a line
    for each function at the end. sort: write the function that took longest last. rich: use colours, if
    the package rich is installed. config: where the widths of columns are looked up (get_column_widths).
    """
    show_sourced({}, stats, unit, output_unit, stream, stripzeros, details, summarize, sort, rich,
                 config=config)  # fmt: skip


def show_sourced(sources, stats, unit, output_unit=None, stream=None, stripzeros=False, details=True,
                 summarize=False, sort=False, rich=False, *, config=None):  # fmt: skip
    """Does the same as show_text. `sources` has texts of functions, by the keys of stats, which need not be read from
    files."""
    stream = sys.stdout if stream is None else stream
    stream.write("Timer unit: %g s\n\n" % (unit if output_unit is None else output_unit))
    order = sorted(stats.items(), key=lambda item: _total(item[1])) if sort else stats.items()
    if details:
        for (filename, line, name), timings in order:
            _show_func(sources.get((filename, line, name)), filename, line, name, timings, unit,
                       output_unit, stream, stripzeros, rich, config)  # fmt: skip
    if summarize:
        write = _rich_summary(stream) if rich else None
        for (filename, line, name), timings in order:
            seconds = _total(timings) * unit
            if seconds or not stripzeros:
                row = seconds, _boot.shown(filename), line, _boot.shown(name)
                write(row) if write else stream.write(SUMMARY % row + "\n")


def show_func(filename, start_lineno, func_name, timings, unit, output_unit=None, stream=None,
              stripzeros=False, rich=False, *, config=None):  # fmt: skip
    """Writes the table of one function. `timings` is [(line, hits, time), ..]; the options are those of show_text."""
    _show_func(None, filename, start_lineno, func_name, timings, unit, output_unit, stream, stripzeros,
               rich, config)  # fmt: skip


def _show_func(source, filename, start_lineno, func_name, timings, unit, output_unit, stream, stripzeros,
               rich, config):  # fmt: skip
    stream = sys.stdout if stream is None else stream
    if stripzeros and not sum(hits for _, hits, _ in timings):
        return
    total = _total(timings)
    stream.write("Total time: %g s\n" % (total * unit))
    lines = _lines(stream, filename, start_lineno, func_name, timings, source)
    least = get_column_widths(config)
    least = {name: max(width, least[name]) for name, width in WIDTHS.items()}
    scale = 1.0 if output_unit is None else unit / output_unit
    cells = {line: _cells(hits, time, total, scale, least) for line, hits, time in timings}
    widths = [max([least[name], *(len(row[place - 1]) for row in cells.values())])
              if 0 < place < 4 else least[name] for place, name in enumerate(WIDTHS)]  # fmt: skip
    numbers = " ".join("%%%ds" % width for width in widths)
    header = numbers % TITLES[:-1] + "  " + TITLES[-1]
    stream.write("\n%s\n%s\n" % (header, "=" * len(header)))
    rows = [(numbers % (line, *cells.get(line, ("",) * 4)),
             _boot.shown(text.rstrip("\n").rstrip("\r")))
            for line, text in enumerate(lines, start_lineno)]  # fmt: skip
    if not (rich and _write_rich(stream, rows)):
        for row, text in rows:
            _write(stream, row + "  ", text)
    stream.write("\n")


def _total(timings):
    return sum(time for _, _, time in timings)


def _lines(stream, filename, start, name, timings, source):
    """Writes the file and the name of the function, and returns its lines; empty lines if they are not known."""
    exists = os.path.exists(filename)
    if source is not None or exists or is_generated_code(filename):
        stream.write("File: %s\nFunction: %s at line %d\n"
                     % (_boot.shown(filename), _boot.shown(name), start))  # fmt: skip
        if source is not None:
            return io.StringIO(source, newline="").readlines()
        if exists:
            linecache.clearcache()  # the file may have changed
        return get_code_block(filename, start)
    stream.write(NOT_FOUND % _boot.shown(filename))
    lines = [line for line, _, _ in timings] or [start]
    return [""] * (max(lines) - min(min(lines), start) + 1)


def _cells(hits, time, total, scale, least):
    """The texts of hits, time, time per hit and percent. The first three are written shorter if they are too wide."""
    shown = time * scale
    per_hit = shown / (hits or 1)  # a file may have a line without hits
    counted, taken, each = "%d" % hits, "%5.1f" % shown, "%5.1f" % per_hit
    return (
        counted if len(counted) <= least["hits"] else "%g" % hits,
        taken if len(taken) <= least["time"] else "%5.3g" % shown,
        each if len(each) <= least["perhit"] else "%5.3g" % per_hit,
        "%5.1f" % (100 * time / total) if total else "",
    )


def _write(stream, row, text):
    try:
        stream.write(row + text)
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(row + text.encode(encoding, "backslashreplace").decode(encoding))
    stream.write("\n")


# ---- in colours ------------------------------------------------------------------------------


def _write_rich(stream, rows):
    """Writes the rows in colours. False, and nothing is written, if rich is not installed."""
    try:
        from rich.console import Console
        from rich.highlighter import ReprHighlighter
        from rich.syntax import Syntax
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    numbers = Text("\n".join(row for row, _ in rows))
    ReprHighlighter().highlight(numbers)
    source = Syntax("\n".join(text for _, text in rows), "python", background_color="default")
    table = Table(box=None, padding=0, collapse_padding=True, show_header=False, show_footer=False,
                  show_edge=False, pad_edge=False, expand=False)  # fmt: skip
    table.add_row(numbers, "  ", source)
    Console(file=stream, soft_wrap=True, color_system="standard").print(table)
    stream.write("\n")
    return True


def _rich_summary(stream):
    """Returns a function that writes a line of the summary, with the file as a link; None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.markup import escape
    except ImportError:
        return None
    console = Console(file=stream, soft_wrap=True, color_system="standard")

    def write(row):
        seconds, filename, line, name = row
        link = "[link=%s]%s[/link]" % (filename, escape(filename))
        console.print(SUMMARY % (seconds, link, line, escape(name)))

    return write
