# SPDX-License-Identifier: MIT
"""Makes a web page of a profile: one file, which loads nothing from the network.

The page holds the profile as JSON, and makes rows when they come into view (_html/page.js). Jinja2 puts the page
together, and adds tables that need no JavaScript, for printing; Pygments finds the colours of the source. Without one
of these packages the page is plainer, and one line says what is missing.

_html/assembly.py puts the page together.
"""
import datetime
import json
import types

from clineprof._formats import contexts
from clineprof._html import assembly, colours, measures, spread, texts, timeline

_USUAL = {"unit": 1e-6, "raw_times": False, "memory": True}
_SCRIPTS = (
    "numbers.js", "table.js", "content.js", "profile.js", "calls.js", "file.js", "flame.js", "minimap.js", "source.js",
    "lines.js", "leaks.js", "timeline.js", "tree.js", "search.js", "page.js")  # fmt: skip
_STYLES = "tables.css", "page.css", "timeline.css", "leaks.css"
TENSORS_READ = "", "read at the ends of lines of 100 µs or more", "reading them has failed: some changes are missing"
COLLECTIONS = "garbage collection"  # the row below the lines of a function; profile.js has it, too
_PAPER_FUNCTIONS, _PAPER_LINES, _PAPER_ROWS = 20, 2000, 100


def render(profile, options):
    """The page as bytes."""
    view = _View(profile, options)
    jinja = assembly.jinja()
    assembly.say_what_is_missing(jinja, view.runs)
    return assembly.page(jinja, _STYLES, _SCRIPTS, {
        "kind": "",
        "title": texts.plain(view.title()),
        "command": texts.shown(view.title()),
        "strip": assembly.facts("strip", view.times()),
        "facts": texts.Markup(assembly.facts("facts", view.facts(), ":") + spread.section(profile, view.file)),
        "timeline": timeline.drawing(view.timeline),
        "tables": view.tables(jinja, view.that_matter()) if jinja else texts.Markup(),
        "functions": assembly.harmless(view.functions()),
        "lines": assembly.harmless(*view.lines()),
        "files": assembly.harmless(*view.files()),
        "calls": assembly.harmless(*view.calls()),
    })  # fmt: skip


# ---- the content of the page --------------------------------------------------------------------


class _View:
    """A profile with the measures that the options ask for."""

    def __init__(self, profile, options):
        self.profile, self.options = profile, {**_USUAL, **options}
        self.options["blocks"] = self.options["memory"] and (profile.has_memory or profile.has_heap)
        self.memory = self.options["memory"] and profile.has_memory
        self.options["memory"] = self.memory
        self.measures = measures.of_profile(profile, self.options)
        self.whole = measures.whole_time(self.measures)
        self.most = _most(self.measures, "total", "self", "increment")
        self.timeline = profile.timeline if self.memory else None
        self.leaks = profile.leaks if self.options["blocks"] else []
        self.live = self.options["blocks"] and profile.has_heap
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
        """Tells what the time of the run went into, as assembly.facts takes it."""
        meta, suspended = self.profile.meta, sum(m.suspended for m in self.measures)
        wall = meta.get("wall", 0)
        yield "Wall time", texts.time(wall) if wall else "", 0
        yield "In profiled functions", texts.time(self.whole) if self.whole else "", _share(self.whole, wall)
        yield "Suspended (await)", texts.time(suspended) + " in all" if suspended else "", 0
        gc, runs = self.collections()
        yield "Garbage collection", "%s in %s" % (texts.time(gc), _runs(runs)) if runs else "", _share(gc, wall)
        cost = meta.get("overhead", 0)
        yield "The profiler itself", texts.time(cost) if cost else "", _share(cost, wall)

    def collections(self):
        """The garbage collections of the run, in and outside profiled lines: (nanoseconds, their number)."""
        meta = self.profile.meta
        return (sum(m.gc for m in self.measures) + meta.get("gc_outside", 0),
                sum(m.gc_runs for m in self.measures) + meta.get("gc_outside_runs", 0))

    def facts(self):
        """Tells how the profile was made, as assembly.facts takes it."""
        meta = self.profile.meta
        yield "Python", meta.get("python", ""), 0
        yield "Tracer", meta.get("tracer", ""), 0
        yield "Started", _moment(meta.get("start", 0)), 0
        yield "Cost of profiling", _cost(meta, self.options["raw_times"]), 0
        yield "Memory", _exactness(meta) if self.memory else "", 0
        yield "Garbage collection", _outside(meta), 0
        yield "Counters", _unread(meta), 0
        yield "Tensors outside the lines", _tensors_outside(meta), 0
        yield "Tensors of CUDA devices", TENSORS_READ[min(meta.get("tensors_read", 0), 2)], 0

    def leak_rows(self, places):
        """A list for each leak, in the order that leaks.js reads."""
        return [[places[leak["file"], leak["line"], leak["name"]], leak["at"], leak["bytes"], leak["bytes_per_call"],
                 leak["bytes_per_second"], leak["confidence"], leak["text"], leak.get("held_by", ""), leak["at_end"],
                 texts.epoch(leak, self.profile.meta)] for leak in self.leaks]

    def functions(self):
        """The first JSON of the page: what the page needs to list the functions."""
        files, places = {}, self.places()
        rows = [m.row(files) for m in self.measures]
        return json.dumps({
            "rows": rows, "files": list(files), "whole": self.whole, "memory": self.memory,
            "self": any(m.self for m in self.measures), "leaks": self.leak_rows(places),
            "measures": [(m.column, self.title_of(m), m.unit, m.needs, m.merge, self.page_of(m), m.about)
                         for m in measures.SHOWN],
            "hidden": texts.HIDDEN, "kinds": colours.KINDS, "nothing": "No function was profiled.",
            "timeline": timeline.data(self.timeline, places),
            "calls": bool(self.profile.calls), "raw": self.options["raw_times"],
            "hottest": measures.hottest_line(self.measures),
            "coloured": -1 if self.runs is None else sum(m.index in self.runs for m in self.measures),
        }, separators=(",", ":"))

    def places(self):
        return {(m.function.file, m.function.line, m.function.name): place for place, m in enumerate(self.measures)}

    def title_of(self, measure):
        """The title of the measure's column, with the name of the program's counter or of the device."""
        name = self.profile.meta.get(measure.needs)
        if name and measure.needs in ("device1", "device2", "device3", "device4"):
            return texts.plain(name) + " " + measure.title.partition(" ")[0].lower()
        if not name or not measure.needs.startswith("counter"):
            return measure.title
        return texts.plain(name) + (" most" if measure.merge == "largest" else "")

    def page_of(self, measure):
        """On which screens the measure is shown, as the table of measures has it, or more often."""
        tells = (self.profile.allocated_tells if measure.column == "allocated"
                 else any(m.gc for m in self.measures) if measure.column == "gc"
                 else not any(m.rss for m in self.measures) if measure.column == "live"  # there is no Increment
                 else False)  # fmt: skip
        return min(measure.page, 1) if tells else measure.page

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
        return texts.Markup(jinja.from_string(assembly.parts("tables.html")).render(
            view=self, texts=texts, functions=self.measures[:_PAPER_ROWS], listings=chosen))


def _runs(number):
    return "%s run%s" % (texts.count(number), "s"[number == 1:])


def _outside(meta):
    runs = meta.get("gc_outside_runs")
    told = ["%s in %s outside the profiled lines" % (texts.time(meta["gc_outside"]), _runs(runs))] if runs else []
    if meta.get("gc_cleared"):
        told.append("the program cleared gc.callbacks: later collections are missing")
    return "; ".join(told)


def _unread(meta):
    """Which counters of the program's were not read behind short lines, and for how long."""
    return "; ".join("%s: for %s lines were too short to read it behind each; every=0 does so all the same"
                     % (texts.plain(meta[name]), texts.time(meta[name + "_unread"]))
                     for name in ("counter1", "counter2", "counter3", "counter4") if meta.get(name + "_unread"))  # fmt: skip


def _tensors_outside(meta):
    names = [name for name in ("device1", "device2", "device3", "device4") if meta.get(name)]
    sizes = [(texts.plain(meta[name]), meta.get(name + "_outside", 0), meta.get(name + "_outside_freed", 0))
             for name in names]
    return "; ".join("%s %s allocated, %s freed" % (name, texts.size(allocated), texts.size(freed))
                     for name, allocated, freed in sizes if allocated or freed)


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
    if meta.get("tracer") == "light":
        return "left in; hits are exact, and times are estimates from samples"
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
        "; other threads, while a line ran: grown %s, released %s"
        % (texts.size(grown), texts.size(released)) if grown or released else "")


# {name of --memory: what it reads, in words}
_KINDS = {"rss": "resident size", "anon": "anonymous memory", "uss": "memory of its own (uss)",
          "pss": "proportional memory (pss)", "tree": "resident size with child processes",
          "mixed": "memory of different kinds"}


class _Listing:
    """A function's source with its measures, for tables.html."""

    def __init__(self, m, most, view):
        self.measures, source = m, m.function.texts()
        places = {number: i for i, number in enumerate(m.function.numbers)}
        numbers = sorted(source.keys() | places.keys())
        self.left_out = max(0, len(numbers) - most)
        coloured = colours.markup(list(source.values())[:most], view.runs and view.runs.get(m.index))
        markup = dict(zip(source, coloured))
        self.rows = [_Row(m, number, places.get(number), markup.get(number, ""))
                     for number in numbers[:most]]  # fmt: skip
        if m.gc_runs and not self.left_out:
            self.rows.append(types.SimpleNamespace(
                number="", text=COLLECTIONS, running=False, ran=True, hits=m.gc_runs, time=m.gc, self=m.gc, rss=0,
                live=0, increment=0))  # fmt: skip
        self.most = _most(self.rows, "time", "self", "increment")


def _most(items, *names):
    """Returns the largest number of each of these attributes, whatever its sign."""
    return {name: max((abs(getattr(item, name)) for item in items), default=0) for name in names}


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
