# SPDX-License-Identifier: MIT
"""A flame graph as one SVG picture without scripts: a box for each frame, as wide as its time with everything that it
called; callers stand below. A box tells its name and time when the mouse points to it. The boxes of lines are paler
than those of functions."""
import html
import zlib

from clineprof._formats import shared
from clineprof._formats.frames import frames, walk
from clineprof._html import texts

WIDTH, HEIGHT, EDGE, HEAD = 1200, 17, 10, 36
LEAST = 0.2  # pixels; a narrower box cannot be seen
LETTER = 6.6  # pixels of a letter


def render(profile, options):
    root, found = frames(profile, options), []
    times = _times(root)
    whole, deepest, ends = times[root], 0, {root: 0}  # ends: where the next box above this one begins
    for path, frame in walk(root):
        above = path[-1] if path else root
        at = ends[frame] = ends[above]
        ends[above] += times[frame]
        if times[frame] * (WIDTH - 2 * EDGE) >= LEAST * whole and times[frame]:
            found.append((at, len(path), frame))
            deepest = max(deepest, len(path))
    height = HEAD + (deepest + 1) * HEIGHT + EDGE
    title = "%s: %s" % (shared.clipped(profile.meta.get("command", "clineprof")), texts.time(whole))
    made = [
        '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d"'
        ' viewBox="0 0 %d %d" font-family="monospace" font-size="11">\n' % (WIDTH, height, WIDTH, height),
        '<rect width="100%" height="100%" fill="#fff"/>\n',
        '<text x="%d" y="22" font-size="14">%s</text>\n' % (EDGE, _escaped(title)),
    ]  # fmt: skip
    scale = (WIDTH - 2 * EDGE) / (whole or 1)
    for at, depth, frame in found:
        made.append(_box(frame, times[frame], whole, EDGE + at * scale, height - EDGE - (depth + 1) * HEIGHT, scale))
    return "".join([*made, "</svg>\n"]).encode("utf-8")


def _times(root):
    """{frame: its time with everything above it}"""
    every = [root, *(frame for _, frame in walk(root))]
    times = {}
    for frame in reversed(every):
        times[frame] = frame.own + sum(times[above] for above in frame.below)
    return times


def _box(frame, time, whole, x, y, scale):
    width = time * scale
    name = _name(frame)
    place = "%s:%d" % (frame.function.file, frame.line or frame.function.line)
    share = "%s, %s %%" % (texts.time(time), texts.percent(time, whole))
    told = "\n".join(map(_escaped, (name, shared.printable(place), share)))
    letters = int((width - 4) / LETTER)
    if len(name) > letters:
        name = name[: letters - 2] + ".." if letters > 3 else ""
    text = '<text x="%.2f" y="%d">%s</text>' % (x + 2, y + 12, _escaped(name)) if name else ""
    return '<g><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>%s</g>\n' % (
        told, x, y, max(width - 0.5, LEAST), HEIGHT - 1, _colour(frame), text)  # fmt: skip


def _name(frame):
    return shared.label(frame.function, frame.line) if frame.line else shared.clipped(frame.function.name)


def hue(function):
    """A colour of its own for each function, the same in every picture and in the page."""
    return zlib.crc32(function.name.encode("utf-8", "replace")) % 50


def _colour(frame):
    return "hsl(%d %d%% %d%%)" % (hue(frame.function), 85 - 25 * bool(frame.line), 62 + 18 * bool(frame.line))


def _escaped(text):
    """The text for XML, which knows neither control characters nor U+FFFE and U+FFFF."""
    return html.escape(texts.plain(text).replace("\ufffe", "U+FFFE").replace("\uffff", "U+FFFF"))
