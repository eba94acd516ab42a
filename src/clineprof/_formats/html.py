# SPDX-License-Identifier: MIT
"""Makes a web page of a profile: one file, which loads nothing from the network.

The page holds the profile as JSON, and makes rows when they come into view (_html/page.js). Jinja2 puts the page
together, and adds tables that need no JavaScript, for printing; Pygments finds the colours of the source. Without one
of these packages the page is plainer, and one line says what is missing.

No text of the profiled program becomes markup: in the JSON every < > & is written as \\u00XX, the script only makes
text nodes of it, and the templates escape it. If all that fails, the page's Content-Security-Policy lets nothing run or
load except the page's own script and style.
"""
import base64
import datetime
import hashlib
import importlib.resources
import json
import string
import sys

from clineprof._formats import contexts
from clineprof._html import colours, measures, texts, timeline

_USUAL = {"unit": 1e-6, "raw_times": False, "memory": True}
_SCRIPTS = (
    "numbers.js", "table.js", "profile.js", "calls.js", "file.js", "flame.js", "minimap.js", "source.js", "lines.js",
    "tree.js", "search.js", "page.js")  # fmt: skip
_PAPER_FUNCTIONS, _PAPER_LINES, _PAPER_ROWS = 20, 2000, 100


def render(profile, options):
    """The page as bytes."""
    view = _View(profile, options)
    jinja = _jinja()
    style, script = _parts("tables.css", "page.css"), _parts(*_SCRIPTS)
    values = {
        "title": texts.plain(view.title()),
        "command": texts.shown(view.title()),
        "policy": _policy(style, script),
        "style": texts.Markup(style),
        "strip": _list("strip", view.times()),
        "facts": _list("facts", view.facts(), ":"),
        "timeline": timeline.drawing(view.timeline),
        "tables": view.tables(jinja, view.that_matter()) if jinja else texts.Markup(),
        "functions": _harmless(view.functions()),
        "lines": _harmless(*view.lines()),
        "files": _harmless(*view.files()),
        "calls": _harmless(*view.calls()),
        "script": texts.Markup(script),
    }
    _say_what_is_missing(jinja, view.runs)
    text = _parts("page.html")
    page = jinja.from_string(text).render(values) if jinja else _Plain(text).fill(values)
    return page.encode("utf-8")


# ---- the content of the page --------------------------------------------------------------------


class _View:
    """A profile with the measures that the options ask for."""

    def __init__(self, profile, options):
        self.profile, self.options = profile, {**_USUAL, **options}
        self.memory = self.options["memory"] and profile.has_memory
        self.options["memory"] = self.memory
        self.measures = measures.of_profile(profile, self.options)
        self.whole = measures.whole_time(self.measures)
        self.most = _most(self.measures, "total", "self", "increment")
        self.timeline = profile.timeline if self.memory else None
        self.leaks = profile.leaks if self.memory else []
        self.live = self.memory and profile.has_heap
        self.texts = measures.whole_texts(profile)
        self.runs = colours.runs_of((place, "\n".join(lines)) for place, lines in self._sources())

    def _sources(self):
        """The texts that may have colours, as (place in self.runs, lines): functions, the hottest first, then files, but
        for those that are the text of a function."""
        files = dict(self.texts)
        for m in sorted(self.measures, key=lambda m: -(m.self or m.total)):
            if m.function.source is not None:
                lines = list(m.function.texts().values())
                yield m.index, lines
                if files.get(m.file) == lines:
                    del files[m.file]
        yield from files.items()

    file = staticmethod(measures.shown_file)

    def title(self):
        return self.profile.meta.get("command") or "A profile"

    def times(self):
        """Tells what the time of the run went into, as _list takes it."""
        meta, waiting = self.profile.meta, sum(m.waiting for m in self.measures)
        wall = meta.get("wall", 0)
        yield "Wall time", texts.time(wall) if wall else "", 0
        yield "In profiled functions", texts.time(self.whole) if self.whole else "", _share(self.whole, wall)
        yield "Waiting (await)", texts.time(waiting) + " in all" if waiting else "", 0
        cost = meta.get("overhead", 0)
        yield "The profiler itself", texts.time(cost) if cost else "", _share(cost, wall)

    def facts(self):
        """Tells how the profile was made, as _list takes it."""
        meta = self.profile.meta
        yield "Python", meta.get("python", ""), 0
        yield "Tracer", meta.get("tracer", ""), 0
        yield "Started", _moment(meta.get("start", 0)), 0
        yield "Cost of profiling", _cost(meta, self.options["raw_times"]), 0
        yield "Memory", _exactness(meta) if self.memory else "", 0

    def functions(self):
        """The first JSON of the page: what the page needs to list the functions."""
        files = {}
        rows = [m.row(files) for m in self.measures]
        return json.dumps({
            "rows": rows, "files": list(files), "whole": self.whole, "memory": self.memory,
            "self": any(m.self for m in self.measures), "leaks": [_leak(leak) for leak in self.leaks],
            "measures": [(m.column, m.title, m.unit, m.needs, m.merge, self.page_of(m), m.about)
                         for m in measures.SHOWN],
            "hidden": texts.HIDDEN, "kinds": colours.KINDS,
            "calls": bool(self.profile.calls), "raw": self.options["raw_times"],
            "hottest": measures.hottest_line(self.measures),
            "coloured": -1 if self.runs is None else sum(m.index in self.runs for m in self.measures),
        }, separators=(",", ":"))

    def page_of(self, measure):
        """On which screens the measure is shown, as the table of measures has it, or more often."""
        return min(measure.page, 1) if measure.column == "allocated" and self.profile.allocated_tells else measure.page

    def lines(self):
        """The second JSON of the page: one line for each function, in the same order, with the function's lines."""
        runs, dump = self.runs or {}, json.JSONEncoder(separators=(",", ":")).encode
        return [dump([*m.details(self.texts), runs.get(m.index, 0)]) for m in self.measures]

    def files(self):
        """The third JSON of the page: one line for each file, in the order of the first JSON, with the file's whole
        text; "null" where that is not known."""
        runs, found = self.runs or {}, dict.fromkeys(m.file for m in self.measures)
        for file in found.keys() & self.texts:
            found[file] = ["\n".join(self.texts[file]), runs.get(file, 0)]
        return map(json.JSONEncoder(separators=(",", ":")).encode, found.values())

    def calls(self):
        """The fourth JSON of the page: a line with who calls whom, and one with the tree of calls."""
        functions, dump = [m.function for m in self.measures], json.JSONEncoder(separators=(",", ":")).encode
        return [dump(of(self.profile, functions, self.options)) for of in (contexts.edges, contexts.tree)]

    def that_matter(self):
        return measures.that_matter(self.measures, _PAPER_FUNCTIONS)

    def tables(self, jinja, functions):
        """The tables for printing and for pages without JavaScript: a list of all functions, and the source of
        `functions`.
        """
        chosen, left = [], _PAPER_LINES
        for m in functions[:_PAPER_FUNCTIONS]:
            chosen.append(_Listing(m, left, self))
            left -= len(chosen[-1].rows)
            if left <= 0:
                break
        return texts.Markup(jinja.from_string(_parts("tables.html")).render(
            view=self, texts=texts, functions=self.measures[:_PAPER_ROWS], listings=chosen))


def _list(classes, facts, end=""):
    """A list of facts as markup. `facts` has the name of each, its text, and its share of the run: above 0 it has a
    bar. Facts without a text are not known, and left out. `end` stands behind each name."""
    return texts.Markup('<dl class="%s">%s</dl>' % (classes, "".join(
        '<div class="%s"><dt>%s%s</dt><dd>%s</dd></div>' % (
            texts.bar(share, 1, "of-run") if share else "plain", name, end,
            texts.shown(text) + (" · %s %%" % texts.percent(share, 1) if share else ""))
        for name, text, share in facts if text)))  # fmt: skip


def _share(part, wall):
    """The part of the wall time. 0, which is not shown, for what is more, as in several threads."""
    return part / wall if 0 < part <= wall else 0


def _moment(start):
    try:
        moment = datetime.datetime.fromtimestamp(start).astimezone()
        return moment.strftime("%Y-%m-%d %H:%M:%S %Z") if start > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _cost(meta, raw):
    if not meta.get("events"):
        return ""
    events = texts.count(meta["events"]) + " events"
    if not meta.get("overhead"):
        return events
    error = meta.get("overhead_error")
    return "about %s%s for %s, %s the lines" % (
        texts.time(meta["overhead"]), " ± " + texts.time(error) if error else "", events,
        "left in" if raw else "taken off")


def _exactness(meta):
    if not meta.get("reads"):
        return ""
    step, own = meta.get("memory_step"), meta.get("own_bytes")
    exact = ("exact to the page" if not meta.get("inexact_memory")
             else "in steps of " + texts.size(step) if step else "not exact to the page")
    kind = meta.get("memory") or "rss"
    grown, released = meta.get("others_grown", 0), meta.get("others_released", 0)
    return "%s, read %s times, %s%s%s" % (
        _KINDS.get(kind, kind), texts.count(meta["reads"]), exact,
        "; the profiler's own %s left out" % texts.size(own) if own else "",
        "; other threads, while a line ran: grown %s, released %s" % (
            texts.size(grown), texts.size(released)) if grown or released else "")


# {name of --memory: what it reads, in words}
_KINDS = {"rss": "resident size", "anon": "anonymous memory", "uss": "memory of its own (uss)",
          "pss": "proportional memory (pss)", "tree": "resident size with child processes",
          "mixed": "memory of different kinds"}


def _leak(leak):
    """A leak as a list, in the order that page.js reads."""
    return [measures.shown_file(leak["file"]), leak["line"], leak["name"], leak["at"], leak["bytes"],
            leak["bytes_per_call"], leak["bytes_per_second"], leak["confidence"], leak["text"], leak.get("held_by", "")]


class _Listing:
    """A function's source with its measures, for tables.html."""

    def __init__(self, m, most, view):
        self.measures, source = m, m.function.texts()
        places = {number: i for i, number in enumerate(m.function.numbers)}
        numbers = sorted(source.keys() | places.keys())
        self.left_out = max(0, len(numbers) - most)
        coloured = _coloured(list(source.values())[:most], view.runs and view.runs.get(m.index))
        markup = dict(zip(source, coloured))
        self.rows = [_Row(m, number, places.get(number), markup.get(number, ""))
                     for number in numbers[:most]]  # fmt: skip
        self.most = _most(self.rows, "time", "self", "increment")


def _most(items, *names):
    """Returns the largest number of each of these attributes, whatever its sign."""
    return {name: max((abs(getattr(item, name)) for item in items), default=0) for name in names}


def _coloured(lines, runs):
    if not runs:
        return map(texts.shown, lines)
    return ("".join('<span class="%s">%s</span>' % (kind, texts.shown(part)) if kind
                    else texts.shown(part) for part, kind in line)
            for line in colours.pieces(lines, runs))  # fmt: skip


class _Row:
    """One line of a listing. A line without measures has zeros."""

    def __init__(self, m, number, at, markup):
        def get(name):
            return m.columns[name][at] if at is not None and name in m.columns else 0

        self.number, self.text = number, texts.Markup(markup)
        self.running = number in m.function.running
        self.ran = bool(get("hits") or get("time"))
        self.hits, self.time, self.self, self.rss, self.live = map(
            get, ("hits", "time", "self", "rss", "live"))  # fmt: skip
        self.increment = get("grown") - get("released")


# ---- putting it together ------------------------------------------------------------------------


def _jinja():
    try:
        import jinja2
    except ImportError:
        return None
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True)


class _Plain(string.Template):
    """Fills in the {{ names }} of page.html when Jinja2 is not installed."""

    pattern = r"\{\{[ ](?P<named>\w+)[ ]\}\}|(?P<escaped>(?!))|(?P<braced>(?!))|(?P<invalid>(?!))"

    def fill(self, values):
        return self.substitute({name: texts.escape(value) for name, value in values.items()})


def _parts(*names):
    folder = importlib.resources.files("clineprof._html")
    return "".join(folder.joinpath(name).read_text("utf-8") for name in names)


def _harmless(*lines):
    """JSON that can be put into a <script>: it has no character that means anything in HTML."""
    text = "\n".join(lines)
    for character in "<>&":
        text = text.replace(character, "\\u%04x" % ord(character))
    return texts.Markup(text)


def _policy(style, script):
    """A Content-Security-Policy by which the page uses only this style and this script, and loads nothing."""
    return ("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
            % (_hash(style), _hash(script)))  # fmt: skip


def _hash(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "'sha256-%s'" % base64.b64encode(digest).decode("ascii")


def _say_what_is_missing(jinja, runs):
    missing = []
    if jinja is None:
        missing.append("tables on paper and without JavaScript (Jinja2)")
    if runs is None:
        missing.append("colours of the source (Pygments)")
    if missing:
        sys.stderr.write("clineprof: the page lacks %s: pip install jinja2 pygments\n"
                         % " and ".join(missing))
