# SPDX-License-Identifier: MIT
"""Reads the command line of a command that is written in Python."""
import argparse

from clineprof import _boot


class Parser(argparse.ArgumentParser):
    """A parser that complains in one line."""

    def error(self, message):
        _boot.complain(self.prog, "%s; see %s --help" % (message, self.prog))
        self.exit(2)
