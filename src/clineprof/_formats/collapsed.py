# SPDX-License-Identifier: MIT
"""Collapsed ("folded") stacks, which Brendan Gregg's flamegraph.pl, inferno and speedscope read. Each stack is a line:
frames separated by semicolons, a blank, and a whole number, here nanoseconds."""
from clineprof._formats import shared


def render(profile, options):
    made = []
    for function, rows in shared.stacks(profile, options):
        name = _frame("%s:%s" % (function.file, function.name))
        made += ["%s;%s:%d %d\n" % (name, name, line, own) for line, own, _ in rows if own]
    return "".join(made).encode("utf-8")


def _frame(text):
    return shared.printable(text).replace(";", "\\x3b")
