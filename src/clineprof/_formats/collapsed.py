# SPDX-License-Identifier: MIT
"""Collapsed ("folded") stacks, as Brendan Gregg's flamegraph.pl, inferno and speedscope read them:
a line each, frames separated by semicolons, a blank, a whole number. Here nanoseconds."""
from clineprof._formats import shared


def render(profile, options):
    made = []
    for function, rows in shared.stacks(profile, options):
        name = _frame("%s:%s" % (function.file, function.name))
        made += ["%s;%s:%d %d\n" % (name, name, line, own) for line, own, _ in rows if own]
    return "".join(made).encode("utf-8")


def _frame(text):
    return shared.printable(text).replace(";", "\\x3b")
