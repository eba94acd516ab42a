# SPDX-License-Identifier: MIT
"""Makes the web page of a comparison, for `clineprof diff --format html`. It looks and works as the page of a profile
(html.py): only what is shown differs, and _html/comparison.js shows it. All numbers, marks and verdicts are those of
the comparison (docs/compare.md draws the object); nothing is compared here.
"""
import json

from clineprof._boot.measures import MEASURES
from clineprof._html import assembly, colours, texts
from clineprof._html.measures import shown_file

_SCRIPTS = (
    "numbers.js", "table.js", "content.js", "comparison.js", "minimap.js", "source.js", "lines.js", "search.js",
    "page.js")  # fmt: skip
_STYLES = "tables.css", "page.css", "comparison.css"
_PAPER_FUNCTIONS, _PAPER_LINES, _PAPER_ROWS = 20, 2000, 100
_OLD, _NEW = 0, 1
_TITLES = {measure.name: (measure.title, measure.unit) for measure in MEASURES}


def of_comparison(comparison, measures, top):
    """The page as bytes, and that it is all. The functions are chosen already, so `measures` and `top` are not used."""
    view = _View(comparison)
    jinja = assembly.jinja()
    assembly.say_what_is_missing(jinja, view.runs)
    return assembly.page(jinja, _STYLES, _SCRIPTS, {
        "kind": "comparison",
        "title": texts.plain(view.title()),
        "command": texts.shown(view.said[-1]),
        "strip": texts.Markup(),
        "facts": assembly.facts("facts", map(_fact, view.said[:-1]), ":"),
        "timeline": texts.Markup(),
        "tables": view.tables(jinja) if jinja else texts.Markup(),
        "functions": assembly.harmless(view.data()),
        "lines": assembly.harmless(*map(_dump, map(view.details, view.functions))),
        "files": texts.Markup(),
        "calls": assembly.harmless(_dump(view.calls())),
    }), True  # fmt: skip


_dump = json.JSONEncoder(separators=(",", ":")).encode


def _fact(line):
    """Parts a line of the summary, such as "Noise floor: 1 ms", into a name and a text."""
    name, colon, text = line.partition(": ")
    return (name, text.strip(), 0) if colon else ("", line, 0)


class _View:
    """The comparison, as the page shows it."""

    def __init__(self, comparison):
        self.comparison, self.functions = comparison, comparison["functions"]
        self.said = comparison["said"].rstrip("\n").split("\n")
        self.names = _names(self.functions)
        self.units = [_TITLES[name][1] for name in self.names]
        self.files = {}
        self.places = {function["number"]: place for place, function in enumerate(self.functions)}
        self.runs = colours.runs_of(self._sources())

    def title(self):
        """The names of the first file of each side."""
        return " → ".join(self.comparison[side]["files"][0] for side in ("before", "after"))

    def data(self):
        """The first JSON of the page: what the page needs to list the functions."""
        rows = [self._row(function) for function in self.functions]
        return _dump({
            "rows": rows, "files": list(self.files), "memory": False, "leaks": [], "calls": False,
            "limits": [self._limit(breach) for breach in (self.comparison["gates"] or {"broken": ()})["broken"]],
            "measures": [_TITLES[name] for name in self.names],
            "confidence": self.comparison["confidence"] is not None, "hidden": texts.HIDDEN, "kinds": colours.KINDS,
            "nothing": "Nothing changed.", "coloured": -1 if self.runs is None else len(self.runs),
        })  # fmt: skip

    def _row(self, function):
        """A function, in the order that comparison.js reads. What it was before is "" if its place is the same."""
        old, new = (self._place(function, side) for side in (_OLD, _NEW))
        file, line = new or old
        before = "%s:%d" % old if new and old and new != old else ""
        return [self.files.setdefault(file, len(self.files)), line, function["name"], ", ".join(function["verdicts"]),
                before, [int(place is not None) for place in (old, new)],
                [_change(function["measures"][name], unit) for name, unit in zip(self.names, self.units)]]

    def _place(self, function, side):
        file = function["file"][side]
        return None if file is None else (shown_file(file), function["line"][side])

    def _limit(self, breach):
        """A broken limit. The number of a line that is gone is negative; None for a whole function. A function that did
        not change is not in the page: its place is -1."""
        title, unit = _TITLES.get(breach["measure"], ("Total", "ns"))
        line = breach["text"] and (-breach["line"] if breach["gone"] else breach["line"])
        return [self.places.get(breach["number"], -1), line, breach["function"], "%s:%d" % (
            shown_file(breach["file"]), breach["line"]), breach["gate"], title, unit,
            _change(breach["change"], unit), breach["text"] or ""]  # fmt: skip

    def details(self, function):
        """What the page needs to show the source: a list for each property of the lines, and for each measure the
        changes. Lines that did not run have none."""
        lines = function["lines"]
        changes = [[_change(line["measures"][name], unit) if any(line["ran"]) else 0 for line in lines]
                   for name, unit in zip(self.names, self.units)]  # fmt: skip
        return [
            *([line["line"][side] for line in lines] for side in (_OLD, _NEW)),
            *([line["text"][side] for line in lines] for side in (_OLD, _NEW)),
            "".join(line["mark"] for line in lines),
            [line["ran"][_OLD] + 2 * line["ran"][_NEW] for line in lines],
            [", ".join(line["verdicts"]) for line in lines],
            changes,
            [(self.runs or {}).get((function["number"], side), 0) for side in (_OLD, _NEW)],
        ]

    def calls(self):
        """The third JSON of the page: who calls whom, as rows. A caller or callee that is not in the page is -1, and
        has only a name."""
        return [
            [self.places.get(call["number"], -1), call["name"], self.places[function["number"]],
             *call["line"], _change(call["calls"], "count"), _change(call["time"], "ns")]
            for function in self.functions for call in function["callers"]
        ]  # fmt: skip

    def _sources(self):
        """The texts that get colours. The old text is only read where lines of it are shown."""
        for function in self.functions:
            for side, is_shown in (_NEW, True), (_OLD, any(line["mark"] in "-~" for line in function["lines"])):
                if is_shown:
                    yield (function["number"], side), "\n".join(side_texts(function, side))

    def tables(self, jinja):
        """The tables for printing and for pages without JavaScript."""
        chosen, left = [], _PAPER_LINES
        for function in self.functions[:_PAPER_FUNCTIONS]:
            chosen.append(function)
            left -= len(function["lines"])
            if left <= 0:
                break
        return texts.Markup(jinja.from_string(assembly.parts("comparison.html")).render(
            view=self, texts=texts, functions=self.functions[:_PAPER_ROWS], listings=chosen))

    # ---- for the tables

    def title_of(self, name):
        return _TITLES[name][0]

    def unit_of(self, name):
        return _TITLES[name][1]

    def place(self, function):
        """Where the function is, and where it was, if elsewhere."""
        places = ["%s:%d" % place for place in (self._place(function, _OLD), self._place(function, _NEW)) if place]
        return " → ".join(dict.fromkeys(places))

    def kind_of(self, line):
        return _KINDS.get(line["mark"], "")

    def amount(self, value, unit):
        return {"ns": lambda seconds: texts.time(seconds * 1e9), "bytes": texts.size, "count": _count}[unit](value)

    def signed(self, change, unit):
        by = change["change"]
        return "+" * (by > 0) + self.amount(by, unit) if change["changed"] else ""

    def sense(self, change, unit):
        """The class of a change: is it worse or better? More or fewer hits are neither."""
        return "" if unit == "count" or not change["changed"] else "worse" if change["change"] > 0 else "better"

    def percent(self, change, verdicts):
        """The change in percent, or a word for what cannot have one."""
        word = next((word for word in ("new", "gone") if word in verdicts), None)
        share = change["percent"]
        if not change["changed"]:
            return ""
        return word or ("" if share is None else format(share, "+,.%df" % (abs(share) < 1000)))


def _change(change, unit):
    """A change as [before, after], and if it is more than noise also the change, its margin and its percentage. Times
    are in nanoseconds."""
    numbers = [change["before"], change["after"]]
    if change["changed"]:
        numbers += [change["change"], change.get("margin", 0)]
    if unit == "ns":
        numbers = [number * 1e9 for number in numbers]
    numbers = [int(number) if number == int(number) else round(number, 1) for number in numbers]
    return numbers + [change["percent"] and round(change["percent"], 2)] if change["changed"] else numbers


_KINDS = {"+": "added", "-": "removed", "~": "edited"}


def _count(number):
    """A number of hits, which may be an average."""
    return texts.count(number) if number == int(number) else format(number, ",.1f")


def _names(functions):
    """The names of the measures that are compared; hits stand last. An empty list of functions has columns, too."""
    known = functions[0]["measures"] if functions else ("time", "hits")
    return [name for name in known if name != "hits"] + [name for name in known if name == "hits"]


def side_texts(function, side):
    """The lines of the function's text on one side."""
    return [line["text"][side] for line in function["lines"] if line["text"][side] is not None]
