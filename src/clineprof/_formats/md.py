# SPDX-License-Identifier: MIT
"""A short report in Markdown, for a comment on a pull request: the lines with the most own time, and the functions with
the most time. The program's text is escaped, so that it cannot become markup."""
from clineprof._formats import markdown, shared
from clineprof._html import texts

LINES, FUNCTIONS = 10, 10


def render(profile, options):
    own = shared.own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    whole = sum(sum(function[own]) for function in profile.functions)
    command = profile.meta.get("command")
    of = " of " + markdown.code(command) if command else ""
    count = len(profile.functions)
    made = ["### Profile%s\n" % of, "%s in %d function%s\n" % (texts.time(whole), count, "s"[count == 1 :])]
    made += ["#### Hottest lines\n", _lines(profile, own, whole, memory)]
    made += ["#### Functions\n", _functions(profile, own, whole, options)]
    return "\n".join(made).encode("utf-8")


def _lines(profile, own, whole, memory):
    rows = [[markdown.code("%s:%d" % (line.function.file, line.line)), str(line.hits), texts.time(getattr(line, own)),
             "%.1f" % (100 * getattr(line, own) / whole), *[texts.size(line.increment)] * memory,
             markdown.code(line.function.name), markdown.code(line.text or "")]
            for line in profile.hottest(LINES, own)]  # fmt: skip
    return markdown.table(["Line", "Hits", "Own time", "%", *["Increment"] * memory, "Function", "Text"],
                          ["---", "---:", "---:", "---:", *["---:"] * memory, "---", "---"], rows)  # fmt: skip


def _functions(profile, own, whole, options):
    total = "raw_total" if options["raw_times"] else "total"
    largest = sorted(profile.functions, key=lambda function: -getattr(function, total))[:FUNCTIONS]
    calls = {}
    for edge in profile.edges:
        calls[edge.callee] = calls.get(edge.callee, 0) + edge.calls
    rows = [[markdown.code(function.name), markdown.code("%s:%d" % (function.file, function.line)),
             *[str(calls.get(function, 0))] * bool(calls), texts.time(getattr(function, total)),
             texts.time(sum(function[own]))]
            for function in largest]  # fmt: skip
    return markdown.table(["Function", "Place", *["Calls"] * bool(calls), "Time", "Own time"],
                          ["---", "---", *["---:"] * bool(calls), "---:", "---:"], rows)  # fmt: skip
