# SPDX-License-Identifier: MIT
"""Annotations for GitHub Actions, of a profile or of a comparison: workflow commands on standard output, escaped so
that the runner can read them (actions/toolkit, packages/core/src/command.ts). Also appends Markdown tables to the file
that $GITHUB_STEP_SUMMARY names.

GitHub shows ten annotations of a type per step, and only for files in the checkout. Of a profile, notices name the
lines with the most self time, warnings the lines that added most memory; lines below SHARE of the whole are left out
as noise. Of a comparison, errors name broken limits; without limits, warnings name lines that became worse.
"""
import os

from clineprof import _boot
from clineprof._boot.files import seen_from
from clineprof._formats import markdown, shared
from clineprof._html import texts

SHOWN = 10  # annotations of a type
ROWS = 20  # lines of a profile in the summary
SHARE = 0.01
# GitHub takes a summary of one MiB at most, so that of a comparison has only so many rows.
FUNCTIONS = 50
BREACHES = 100


def render(profile, options):
    checkout = _Checkout()
    own = shared.own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    whole = sum(sum(function[own]) for function in profile.functions)
    commands = [_notice(checkout, *item, whole) for item in _worst(profile, checkout, own, whole)]
    if memory:
        peak = max((max(f["rss"], default=0) for f in profile.functions), default=0)
        found = _worst(profile, checkout, "self_increment", peak)
        commands += [_warning(checkout, *item) for item in found]
    _summarize(lambda: _hottest(profile, checkout, own, whole, memory))
    return "".join(commands).encode("utf-8")


def of_comparison(comparison, measures, top):
    """Makes the annotations of a comparison, which is the object that docs/compare.md draws, and appends the summary.
    `measures` and `top` are the values of --measure and --top, None and 0 without them. Returns (annotations as bytes,
    could the summary be written?)."""
    folder, gates = _root(), comparison["gates"]
    if gates:
        commands = [_error(folder, breach) for breach in gates["broken"]]
    else:
        commands = [_worse(folder, function, line, _chosen(line, measures)) for function in comparison["functions"]
                    for line in function["lines"] if _is_worse(line, _chosen(line, measures))]  # fmt: skip
    done = True
    try:
        _summarize(lambda: _changed(comparison, folder, top))
    except OSError as error:
        _boot.complain("clineprof", "cannot append to %s: %s" % (error.filename, error.strerror))
        done = False
    return "".join(commands).encode("utf-8"), done


# ---- both --------------------------------------------------------------------------------------


def _root():
    return os.environ.get("GITHUB_WORKSPACE") or os.getcwd()


def _command(kind, title, message, file=None, line=0):
    """A workflow command. `file` is None if there is no place in the checkout for the annotation."""
    where = "" if file is None else "file=%s,line=%d," % (_property(file), line)
    return "::%s %stitle=%s::%s\n" % (kind, where, _property(title), _data(message))


def _data(text):
    return _boot.shown(text).replace("%", "%25")


def _property(text):
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summarize(make):
    """Appends the Markdown text that make() returns to the job's summary. Without $GITHUB_STEP_SUMMARY nothing is
    made."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(make())


# ---- a profile ---------------------------------------------------------------------------------


class _Checkout:
    """The folder of the checkout, whose files GitHub knows."""

    def __init__(self):
        self._root = os.path.realpath(_root())
        self._paths = {}

    def path(self, line):
        """The path of the line's file in the checkout; None if the file is elsewhere."""
        name = line.function.file
        if name not in self._paths:
            path = os.path.relpath(os.path.realpath(name), self._root)
            inside = shared.is_file(name) and path.split(os.sep)[0] != os.pardir
            self._paths[name] = path if inside else None
        return self._paths[name]


def _worst(profile, checkout, column, whole):
    """[(line, value in the column)] of the lines to annotate, the largest value first."""
    count = sum(len(function.numbers) for function in profile.functions)
    lines = [line for line in profile.hottest(count, column) if checkout.path(line) is not None]
    found = [(line, getattr(line, column)) for line in lines[:SHOWN]]
    return [(line, value) for line, value in found if value >= SHARE * whole]


def _notice(checkout, line, time, whole):
    return _of_line("notice", checkout, line, "%.0f %% of the time" % (100 * time / whole), texts.time(time))


def _warning(checkout, line, size):
    return _of_line("warning", checkout, line, texts.size(size) + " more memory", texts.size(size))


def _of_line(kind, checkout, line, title, value):
    hits = "1 hit" if line.hits == 1 else "%d hits" % line.hits
    name, text = shared.clipped(line.function.name), shared.clipped(line.text or "")
    message = "%s: %s in %s: %s" % (name, value, hits, text)
    return _command(kind, title, message, checkout.path(line), line.line)


def _hottest(profile, checkout, own, whole, memory):
    increment = ["Increment"] * memory
    heads = ["Line", "Hits", "Own time", "Per hit", "%", *increment, "Function", "Text"]
    marks = ["---"] + ["---:"] * (4 + memory) + ["---", "---"]
    rows = [_row(checkout, line, own, whole, memory) for line in profile.hottest(ROWS, own)]
    command = profile.meta.get("command")
    return "### Hottest lines%s\n\n%s in %d function%s\n\n%s\n" % (
        " of " + markdown.code(command) if command else "", texts.time(whole), len(profile.functions),
        "s"[len(profile.functions) == 1 :], markdown.table(heads, marks, rows)
    )  # fmt: skip


def _row(checkout, line, own, whole, memory):
    time = getattr(line, own)
    place = "%s:%d" % (checkout.path(line) or line.function.file, line.line)
    numbers = [texts.time(time), texts.time(time / max(line.hits, 1)), "%.1f" % (100 * time / whole)]
    increment = [texts.size(line.increment)] * memory
    name, text = markdown.code(line.function.name), markdown.code(line.text or "")
    return [markdown.code(place), str(line.hits), *numbers, *increment, name, text]


# ---- a comparison ------------------------------------------------------------------------------


def _error(folder, breach):
    measure, line = breach["measure"], breach["line"]
    file, text = seen_from(folder, breach["file"]), (breach["text"] or "").strip(" \t\f")
    message = "%s:%d: %s: %s %s breaks %s" % (
        file, line, breach["function"], measure, _told(measure, breach["change"]), breach["gate"])  # fmt: skip
    place = () if breach["gone"] else (file, line)
    return _command("error", "%s %s" % (breach["function"], measure), message + (text and ": " + text), *place)


def _chosen(line, measures):
    """[(measure, change)] of the measures that are compared; hits only if --measure names them."""
    names = measures.split(",") if measures else [name for name in line["measures"] if name != "hits"]
    return [(name, line["measures"][name]) for name in names]


def _is_worse(line, changes):
    """Has the line become worse? A new line has if its first measure is above the noise floor."""
    verdicts = line["verdicts"]
    if "new" in verdicts:
        return changes[0][1]["changed"]
    return line["line"][1] is not None and ("slower" in verdicts or "grown" in verdicts)


def _worse(folder, function, line, changes):
    message = "; ".join("%s %s" % (name, _told(name, change)) for name, change in changes if change["changed"])
    text, verdicts = line["text"][1].strip(" \t\f"), line["verdicts"]
    verdict = next((name for name in ("slower", "grown") if name in verdicts), "new")
    return _command("warning", "%s %s" % (function["name"], verdict), message + (text and ": " + text),
                    seen_from(folder, function["file"][1]), line["line"][1])  # fmt: skip


def _amounts(measure, change):
    """[value before, value after, change with its percentage], as texts."""
    amount, percent = _boot.core().amount, change["percent"]
    share = "" if percent is None else " (%+.1f %%)" % percent
    return [amount(measure, change["before"]), amount(measure, change["after"]),
            amount(measure, change["change"], True) + share]  # fmt: skip


def _told(measure, change):
    before, after, how = _amounts(measure, change)
    return "%s -> %s%s" % (before, after, ", " + how if change["change"] else "")


def _changed(comparison, folder, top):
    functions, gates = comparison["functions"], comparison["gates"] or {"broken": []}
    top, left = top or FUNCTIONS, len(gates["broken"]) - BREACHES
    made = "### clineprof diff\n\n" + _verdicts(comparison["summary"])
    if functions:
        made += "\n" + markdown.table(["function", "place", "before", "after", "change", ""],
                              ["---", "---", "---:", "---:", "---:", "---"],
                              [_function_row(folder, function) for function in functions[:top]])  # fmt: skip
    if len(functions) > top:
        made += "\n%d more function%s changed.\n" % (len(functions) - top, "s"[len(functions) - top == 1 :])
    made += "\n"
    if gates["broken"]:
        made += markdown.table(["limit", "place", "before", "after", "change", "line"],
                       ["---", "---", "---:", "---:", "---:", "---"],
                       [_breach_row(folder, breach) for breach in gates["broken"][:BREACHES]])  # fmt: skip
    return made + ("\n%d more broke a limit.\n" % left if left > 0 else "")


def _verdicts(summary):
    """How many functions and lines have each verdict, in the words of the text report."""
    functions, lines = (["%d %s" % (count, name) for name, count in summary[what].items() if count]
                        for what in ("functions", "lines"))  # fmt: skip
    functions += ["%d changed within" % summary["changed_within"]] if summary["changed_within"] else []
    if summary["unchanged"] or not functions:
        functions.append("%d unchanged" % summary["unchanged"])
    return "Functions: %s\n%s" % (", ".join(functions), "Lines: %s\n" % ", ".join(lines) if lines else "")


def _function_row(folder, function):
    side = function["file"][1] is not None
    place = "%s:%d" % (markdown.escaped(seen_from(folder, function["file"][side])), function["line"][side])
    return [markdown.code(function["name"]), place, *_amounts("total", function["total"]),
            ", ".join(function["verdicts"]) or "changed within"]  # fmt: skip


def _breach_row(folder, breach):
    place = "%s:%d: %s" % (seen_from(folder, breach["file"]), breach["line"], breach["function"])
    return [markdown.escaped(breach["gate"]), markdown.escaped(place), *_amounts(breach["measure"], breach["change"]),
            markdown.code(breach["text"] or "")]  # fmt: skip
