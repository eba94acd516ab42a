# SPDX-License-Identifier: MIT
"""Draws recordings of memory over time: with matplotlib if it is installed, or else as a chart of characters, an SVG
picture or an HTML page."""
import html
import math
import os
import shutil
import sys
import time
import warnings

from clineprof import _boot
from clineprof._html import timeline
from clineprof._mem.memfile import MIB, Wrong

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b")
FUNCTION_COLOURS = ("#17a2b8", "#b8860b", "#2ca02c", "#d62728", "#1f4fb4", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2",
                    "#7f7f7f")  # fmt: skip
FUNCTIONS = 10  # are drawn, those that ran longest
PARTS = 500  # of the picture's width; stays of a function with less between them than one part are drawn as one
ROWS = 200  # stays that the table of a page lists one by one
NAME = 40  # letters of a function's name
TITLE = 120  # letters of a title; a longer one would make the picture wider
CURVES = 20  # processes in the legend
OWN = (".html", ".htm", ".svg")  # endings of pictures that need no matplotlib; a page is all but the last


class NoBackend(Exception):
    """matplotlib's backend cannot be used; the text is one line for the user."""


def plot(recordings, options):
    recordings = [cut(recording, options.window) for recording in recordings]
    output = options.output
    own = output is not None and output.lower().endswith(OWN[:2])
    pyplot = None if own else _pyplot(options.backend, output)
    if pyplot is not None and (output is not None or _shows(pyplot)):
        _draw(pyplot, recordings, options)
    elif output is None:
        sys.stdout.write(chart(recordings, options))
    elif output.lower().endswith(OWN):
        picture = svg(recordings, options)
        _write(output, page(recordings, options, picture) if own else picture)
    else:
        raise Wrong("%s needs matplotlib, which is not installed; -o NAME.svg and -o NAME.html do not "
                    "need it" % os.path.basename(output))  # fmt: skip


def cut(recording, window):
    """Changes a recording: times are relative to its start, and only what lies within the window is kept. Returns it.
    Raises Wrong if no sample is left."""
    start, (low, high) = recording.start, window or (-math.inf, math.inf)

    def inside(samples):
        return [(at - start, size) for at, size in samples if low <= at - start <= high]

    recording.begun = start
    recording.samples = inside(recording.samples)
    recording.children = {pid: inside(samples) for pid, samples in recording.children.items()}
    recording.children = {pid: samples for pid, samples in recording.children.items() if samples}
    recording.stays = [
        (name, enter - start, before, leave - start, after, level)
        for name, enter, before, leave, after, level in recording.stays
        if leave - start >= low and enter - start <= high
    ]
    if not recording.samples:
        raise Wrong("%s: no sample lies within the window" % recording.path)
    return recording


def trend(samples):
    """(MiB per second, MiB at time 0) of the line that fits the samples best (least squares)."""
    count = len(samples)
    middle = sum(at for at, _ in samples) / count
    mean = sum(size for _, size in samples) / count
    spread = sum((at - middle) ** 2 for at, _ in samples)
    slope = sum((at - middle) * (size - mean) for at, size in samples) / spread if spread else 0.0
    return slope, mean - slope * middle


def labels(names):
    """{name: its shortest ending, in whole parts, that no other name has}"""
    names = sorted(names)
    found = {}
    for name in names:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            ending = ".".join(parts[-count:])
            alike = [other for other in names if other != name
                     and other.split(".")[-count:] == parts[-count:]]
            if not alike:
                break
        found[name] = ending
    return found


class Function:
    """The stays in one function: how many there are, and for how many seconds in all."""

    def __init__(self, name):
        self.name, self.count, self.seconds, self.stays = name, 0, 0.0, []

    def add(self, stay):
        self.stays.append(stay)
        self.count += 1
        self.seconds += stay[3] - stay[1]

    def drawn(self, width):
        """The stays as they are drawn: those on one level with less than `width` seconds between them are one."""
        made, last = [], {}
        for name, enter, before, leave, after, level in sorted(self.stays, key=lambda stay: stay[1]):
            place = last.get(level)
            if place is None or enter - made[place][3] >= width:
                last[level] = len(made)
                made.append((name, enter, before, leave, after, level))
            elif leave > made[place][3]:
                made[place] = (*made[place][:3], leave, after, level)
        return made


def longest(stays):
    """(the functions that ran longest, FUNCTIONS at most; how many functions there are)"""
    functions = {}
    for stay in stays:
        functions.setdefault(stay[0], Function(stay[0])).add(stay)
    ordered = sorted(functions.values(), key=lambda function: -function.seconds)
    return ordered[:FUNCTIONS], len(ordered)


def _finest(recording):
    """The width of the smallest part of a picture, in seconds."""
    return (recording.samples[-1][0] - recording.samples[0][0]) / PARTS


def _name(function, short):
    """A function's name in a picture. A long one loses its beginning."""
    name = short[function.name]
    return _boot.shown(name if len(name) <= NAME else "\u2026" + name[1 - NAME:])


def _named(function, short):
    """A function's row in a legend."""
    times = " (%d times)" % function.count if function.count > 1 else ""
    return "%s %.3fs%s" % (_name(function, short), function.seconds, times)


def _left_out(count):
    """What is said of the functions that are not drawn; "" if all are."""
    return "the longest %d of %d functions" % (FUNCTIONS, count) if count > FUNCTIONS else ""


def _begun(recording):
    at = recording.begun
    return time.strftime("%d / %m / %Y - start at %H:%M:%S", time.localtime(at)) + (
        ".%03d" % min(999, round(at % 1 * 1000)))


def _title(recordings, options):
    title = options.title
    if title is None:
        title = recordings[0].command or recordings[0].path if len(recordings) == 1 else ""
    return _boot.shown(title if len(title) <= TITLE else title[:TITLE - 1] + "\u2026")


def _write(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Wrong("cannot write '%s': %s" % (path, error.strerror)) from None


# ---- matplotlib ----


def _pyplot(backend, output):
    """Imports matplotlib.pyplot, and chooses its backend. None if matplotlib is not installed. Raises NoBackend if
    --backend cannot be used."""
    try:
        import matplotlib
    except ImportError:
        if backend is not None:
            raise NoBackend("--backend needs matplotlib, which is not installed") from None
        return None
    try:
        if backend is not None:
            matplotlib.use(backend)
        elif output is not None:
            matplotlib.use("Agg")  # needs no display
        import matplotlib.pyplot as pyplot
    except (ImportError, ValueError) as error:
        if backend is None:
            return None
        why = str(error).split("\n")[0].split(";")[0]
        raise NoBackend("matplotlib cannot use --backend '%s': %s" % (backend, why)) from None
    return pyplot


def _shows(pyplot):
    """Can matplotlib's backend open a window?"""
    import matplotlib

    return pyplot.get_backend().lower() in [name.lower() for name in _interactive(matplotlib)]


def _interactive(matplotlib):
    try:
        from matplotlib.backends import BackendFilter, backend_registry

        return backend_registry.list_builtin(BackendFilter.INTERACTIVE)
    except ImportError:
        return matplotlib.rcsetup.interactive_bk


def _draw(pyplot, recordings, options):
    figure = pyplot.figure(figsize=(14, 6), dpi=90)
    axes = figure.add_axes([0.1, 0.1, 0.8, 0.8] if options.flame else [0.1, 0.1, 0.6, 0.75])
    if options.window is not None:
        axes.set_xlim(options.window)
    with_stays = len(recordings) == 1 and not options.no_function_ts
    note = ""
    for number, recording in enumerate(recordings):
        _draw_lines(axes, recording, number, options)
        if with_stays:
            functions, count = longest(recording.stays)
            (_draw_flame if options.flame else _draw_brackets)(axes, recording, functions)
            note = _left_out(count)
    if with_stays:
        at, size = max(recordings[0].samples, key=lambda sample: sample[1])
        axes.axhline(size, color="r", linestyle="--")
        axes.axvline(at, color="r", linestyle="--")
    axes.set_xlabel("time (in seconds)")
    axes.set_ylabel("memory used (in MiB)")
    axes.set_title(_title(recordings, options).replace("$", r"\$"))
    axes.grid(True)
    if not options.flame:
        _draw_legend(axes, note)
    elif note:
        axes.annotate(note, (1, -0.1), xycoords="axes fraction", ha="right", va="top", fontsize=7)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph ")  # letters that the font lacks become boxes
            # "tight" makes the file as wide as the legend needs
            pyplot.savefig(options.output, bbox_inches="tight") if options.output is not None else pyplot.show()
    except OSError as error:
        raise Wrong("cannot write '%s': %s" % (options.output, error.strerror)) from None
    except ValueError as error:
        raise Wrong("cannot draw into '%s': %s" % (options.output, str(error).split("\n")[0])) from None


def _draw_lines(axes, recording, number, options):
    lines = [(_begun(recording), recording.samples)]
    lines += [("child %s" % pid, samples) for pid, samples in recording.children.items()]
    for place, (label, samples) in enumerate(lines, number):
        times, sizes = zip(*samples)
        colour = COLOURS[place % len(COLOURS)]
        if options.slope:
            slope, base = trend(samples)
            label += " slope %.5f" % slope
            ends = [times[0], times[-1]]
            axes.plot(ends, [base + slope * at for at in ends], "--", linewidth=0.5, color=colour)
        axes.plot(times, sizes, "+-", color=colour, label=_boot.shown(label))


def _draw_legend(axes, note):
    """Beside the axes, where no curve is. As many rows as a picture has room for."""
    curves, texts = axes.get_legend_handles_labels()
    left_out = len(curves) - CURVES - FUNCTIONS
    if left_out > 0:  # processes, which stand before the functions
        del curves[CURVES:CURVES + left_out], texts[CURVES:CURVES + left_out]
        note = "\n".join(filter(None, [note, "without %d more processes" % left_out]))
    axes.legend(curves, texts, loc="center left", bbox_to_anchor=(1, 0.5), title=note or None, framealpha=0.5)


def _draw_brackets(axes, recording, functions):
    """Draws [ where a function was entered, and ] where it was left: one line of matplotlib for each function. Stays whose
    brackets would lie on each other are drawn as one."""
    short = labels(function.name for function in functions)
    low, high = axes.get_ylim()
    left, right = axes.get_xlim()
    up, aside = (high - low) / 20, (right - left) / 60
    for number, function in enumerate(functions):
        xs, ys = [], []
        for _, enter, before, leave, after, _ in function.drawn(2 * aside):
            for x, y, way in (enter, before, 1), (leave, after, -1):
                xs += [x + way * aside, x, x, x + way * aside, math.nan]
                ys += [y + up, y + up, y - up, y - up, math.nan]
        label = _named(function, short)
        axes.plot(xs, ys, color=FUNCTION_COLOURS[number % len(FUNCTION_COLOURS)], linewidth=2,
                  label=" " * label.startswith("_") + label)


def _draw_flame(axes, recording, functions):
    """Draws a box for each stay, and the function's name on its longest one."""
    short = labels(function.name for function in functions)
    finest, names = _finest(recording), []
    upper = axes.twinx()
    axes.set_zorder(1)  # the curve is drawn over the boxes
    axes.patch.set_visible(False)
    upper.set_yticks([])
    upper.set_ylim(0, 2 + max((stay[5] for function in functions for stay in function.stays), default=0))
    for function in functions:
        boxes = {}
        for _, enter, _, leave, _, level in function.drawn(finest):
            boxes.setdefault(level, []).append((enter, leave - enter))
        for level, spans in boxes.items():
            upper.broken_barh(spans, (level, 1), alpha=0.5, linewidth=1,
                              color=FUNCTION_COLOURS[level % len(FUNCTION_COLOURS)])  # fmt: skip
        level, (enter, _) = max(((level, span) for level, spans in boxes.items() for span in spans),
                                key=lambda box: box[1][1])  # fmt: skip
        near = sum(other == level and abs(at - enter) < PARTS / 6 * finest for other, at in names)
        names.append((level, enter))
        axes.annotate(_name(function, short), (enter, level + 1), (0, -9 * near), xycoords=upper.transData,
                      textcoords="offset points", va="top", fontsize=7)  # fmt: skip


# ---- characters ----


def chart(recordings, options):
    """Draws the recordings with characters, for standard output."""
    columns, rows = shutil.get_terminal_size((100, 24))
    width, height = max(columns - 14, 20), max(min(rows - 8, 16), 5)
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    parts = [_chart(recording, options, width, height, plain) for recording in recordings]
    return "\n".join(parts)


def _chart(recording, options, width, height, plain):
    samples = recording.samples
    end = max(samples[-1][0], 1e-9)
    begin = samples[0][0]
    peak_at, peak = max(samples, key=lambda sample: sample[1])
    low = min(size for _, size in samples)
    low = 0 if low < peak / 2 else low - (peak - low) / 10 - 1e-6
    columns = _columns(samples, begin, end, width)
    lines = [_title([recording], options), ""]
    lines += _rows(columns, low, peak, height, plain)
    axis = "%-10.3g%*.3g s" % (begin, max(width - 10, 1), end)
    lines += [" " * 10 + ("+" if plain else "\u2514") + ("-" if plain else "\u2500") * width,
              " " * 11 + axis, ""]
    lines.append("%s: peak %.3f MiB at %.3f s, %d sample%s" % (
        _begun(recording), peak, peak_at, len(samples), "s"[len(samples) == 1 :]))  # fmt: skip
    lines += ["slope %.5f MiB/s" % trend(samples)[0]] if options.slope else []
    for pid, child in recording.children.items():
        lines.append("child %s: peak %.3f MiB" % (pid, max(size for _, size in child)))
    if not options.no_function_ts:
        lines += _stay_rows(recording.stays, begin, end, width)
    return "\n".join(lines) + "\n"


def _columns(samples, begin, end, width):
    """The largest size in each column of the chart. A column without samples has the size of the column before."""
    columns = [None] * width
    for at, size in samples:
        place = min(int((at - begin) / max(end - begin, 1e-9) * width), width - 1)
        columns[place] = size if columns[place] is None else max(columns[place], size)
    for place in range(1, width):
        if columns[place] is None:
            columns[place] = columns[place - 1]
    return columns


def _rows(columns, low, high, height, plain):
    blocks = " #" if plain else " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
    step = max(high - low, 1e-9) / height
    rows = []
    for row in range(height - 1, -1, -1):
        floor = low + row * step
        text = ""
        for size in columns:
            part = min(max((size - floor) / step, 0), 1)
            text += blocks[math.ceil(part * (len(blocks) - 1) - 1e-9)]
        rows.append("%9.1f %s%s" % (floor + step, "|" if plain else "\u2502", text.rstrip()))
    return rows


def _stay_rows(stays, begin, end, width):
    """One row for each function, the longest first."""
    functions, count = longest(stays)
    short = labels(function.name for function in functions)
    rows = [""] if functions else []
    for function in functions:
        row = [" "] * width
        for _, enter, _, leave, _, _ in function.stays:
            first, last = (
                min(max(int((at - begin) / max(end - begin, 1e-9) * width), 0), width - 1)
                for at in (enter, leave)
            )
            row[first:last + 1] = "[" + "-" * (last - first - 1) + "]" if last > first else "|"
        rows.append("%9s  %s" % ("", "".join(row).rstrip()))
        rows.append("%9s  %s" % ("", _named(function, short)))
    return rows + ["", _left_out(count)] * bool(_left_out(count))


# ---- SVG: the drawing of the HTML report (_html/timeline.py), larger, with a title and a legend ----

HEIGHT, ABOVE, LEGEND_ROW = 390, 30, 20
_STYLE = """text { font: 11px sans-serif } text.title { font-size: 14px } .grid { stroke: #ddd }
.curve, .trend { fill: none; stroke-width: 1.5 } .trend { stroke-dasharray: 6 4 } .area { fill: #1f77b4; opacity: .15 }
.peak { fill: #d62728 } .stay rect { fill: #17a2b8; fill-opacity: .45; stroke: white }
""" + "\n".join(".c%d { stroke: %s }" % (i, COLOURS[i]) for i in range(timeline.COLOURS))


def svg(recordings, options):
    lines = _lines(recordings)
    functions, count = longest(recordings[0].stays if len(recordings) == 1 and not options.no_function_ts else [])
    short = labels(function.name for function in functions)
    finest = _finest(recordings[0])
    note = _left_out(count)
    drawing = timeline.Drawing(
        [("", [_scaled(*sample) for sample in samples]) for _, samples in lines],
        [(short[name], "%.3f s, %+.3f MiB" % (leave - enter, after - before), level, enter * 1e9, leave * 1e9)
         for function in functions for name, enter, before, leave, after, level in function.drawn(finest)],
        HEIGHT, [seconds * 1e9 for seconds in options.window or ()])  # fmt: skip
    drawing.parts[:0] = [
        "<style>%s</style>" % _STYLE, '<rect y="-%d" width="100%%" height="100%%" fill="white"/>' % ABOVE,
        '<text class="title" x="%d" y="-8">%s</text>' % (timeline.LEFT, html.escape(_title(recordings, options)))]
    for number, line in enumerate(lines):
        drawing.parts += _legend(drawing, number, *line, options)
    rows = [note] * bool(note) + [_named(function, short) for function in functions]
    for number, row in enumerate(rows, len(lines)):
        drawing.parts.append('<text x="%d" y="%d">%s</text>' % (
            timeline.LEFT, drawing.bottom + LEGEND_ROW * number + 12, html.escape(row)))
    picture = drawing.markup(ABOVE, LEGEND_ROW * (len(lines) + len(rows)))
    return picture.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"') + "\n"


def _lines(recordings):
    """[(label, samples)] of all processes in the recordings."""
    return [line for recording in recordings for line in [
        (_begun(recording), recording.samples),
        *(("child %s" % pid, samples) for pid, samples in recording.children.items())]]  # fmt: skip


def _scaled(seconds, mib):
    return seconds * 1e9, mib * MIB


def _legend(drawing, number, label, samples, options):
    """Parts of the SVG for one process: its trend in the picture, and its row in the legend below."""
    slope, colour, top = "", "c%d" % (number % timeline.COLOURS), drawing.bottom + LEGEND_ROW * number
    if options.slope:
        rise, base = trend(samples)
        slope = ", slope %.5f MiB/s" % rise
        ends = [_scaled(at, base + rise * at) for at in (drawing.begin / 1e9, drawing.end / 1e9)]
        yield '<path class="trend %s" d="%s"/>' % (colour, drawing.path(ends))
    yield '<path class="curve %s" d="M%d %dh14"/><text x="%d" y="%d">%s, peak %.3f MiB%s</text>' % (
        colour, timeline.LEFT, top + 8, timeline.LEFT + 22, top + 12, _escaped(label),
        max(size for _, size in samples), slope)  # fmt: skip


def _escaped(text):
    return html.escape(_boot.shown(text))


def _stays_of_table(stays):
    """(markup of the name, enter, seconds, MiB at the end, change) of each stay; of very many, one for each function."""
    if len(stays) <= ROWS:
        for name, enter, before, leave, after, level in stays:
            yield "&nbsp;" * 2 * level + _escaped(name), enter, leave - enter, after, after - before
        return
    for function in longest(stays)[0]:
        times = " (%d times)" % function.count if function.count > 1 else ""
        yield (_escaped(function.name) + times, min(stay[1] for stay in function.stays), function.seconds,
               max(function.stays, key=lambda stay: stay[3])[4], sum(stay[4] - stay[2] for stay in function.stays))


def page(recordings, options, picture):
    """An HTML page with the picture, which loads nothing from elsewhere."""
    title = html.escape(_title(recordings, options)) or "memory over time"
    rows = ["<tr><td>%s</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%+.3f</td></tr>" % row
            for row in _stays_of_table(recordings[0].stays if len(recordings) == 1 else [])]  # fmt: skip
    table = ("<table><tr><th>function</th><th>from (s)</th><th>for (s)</th><th>MiB then</th>"
             "<th>change (MiB)</th></tr>\n%s\n</table>" % "\n".join(rows)) if rows else ""  # fmt: skip
    return _PAGE % {"title": title, "picture": picture, "table": table}


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>%(title)s</title>
<style>
body { font-family: sans-serif; margin: 1.5em; max-width: 1100px }
svg { width: 100%%; height: auto }
table { border-collapse: collapse; font-size: 13px }
th { text-align: left; border-bottom: 1px solid #888 }
td, th { padding: 1px 12px 1px 0 }
td + td, th + th { text-align: right }
</style>
</head>
<body>
%(picture)s
%(table)s
</body>
</html>
"""
