# SPDX-License-Identifier: MIT
"""Reads the command line of a command that is written in Python."""
import argparse

from clineprof import _boot


class Help(argparse.HelpFormatter):
    """Lists options as the commands that are written in C do: "-o, --outfile FILE", "--leaks[=EPOCH]"."""

    def __init__(self, prog):
        super().__init__(prog, max_help_position=28, width=120)

    def _format_action_invocation(self, action):
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ("" if len(action.option_strings[0]) == 2 else "    ") + ", ".join(action.option_strings)
        value = {0: "", "?": "[=%s]"}.get(action.nargs, " %s")
        return names + (value and value % (action.metavar or action.dest.upper()))


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line. An option whose value may be missing takes it behind = only."""

    def __init__(self, **words):
        super().__init__(formatter_class=Help, **words)

    def parse_args(self, words):
        optional = {name: action for action in self._actions if action.nargs == "?" for name in action.option_strings}
        return super().parse_args(["%s=%s" % (word, optional[word].const) if word in optional else word
                                   for word in words])  # fmt: skip

    def error(self, message):
        _boot.complain(self.prog, "%s; see %s --help" % (message, self.prog))
        self.exit(2)
