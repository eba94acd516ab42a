# SPDX-License-Identifier: MIT
"""The command `clineprof lsp`."""
import argparse
import os
import signal
import sys

from clineprof import _boot
from clineprof._boot.parser import Parser
from clineprof._profile.limits import LIMITS, is_amount

ME = "clineprof lsp"
USAGE = """\
usage: clineprof lsp [options]

The language server of an editor, which shows the newest profile of its workspace beside the
source. The editor starts it, and speaks with it on standard input and output; docs/editor.md
says how to set up editors.

options:
      --limit LIMIT  warn of lines that exceed it, as time=0.5 (seconds), increment=1e7 (bytes)
      --stdio        has no effect: standard input and output are always used
      --version      print the version
  -h, --help         print this help
"""


def main(words):
    """Runs the command, and returns the exit code. `words` is the whole command line, ["clineprof", "lsp", ..]."""
    options = _parser().parse_args(words[2:])
    if options.help or options.version:
        _boot.core().print(USAGE if options.help else _boot.core().__version__ + "\n")
        return 0
    try:
        from clineprof._lsp import server
    except ImportError:
        _boot.complain(ME, "needs pygls 2 or newer: "
                       + _boot.installing("'pygls>=2'", _boot.core().quoted(sys.executable)))
        return 1
    if sys.stdin is None or sys.stdout is None:
        _boot.complain(ME, "standard input or output is closed")
        return 1
    if sys.stdin.isatty():
        _boot.complain(ME, "an editor starts this command; Ctrl-C ends it")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that reads standard input cannot be interrupted
    return server.serve(dict(options.limit), sys.stdin.buffer, _own_output())


def _parser():
    parser = Parser(prog=ME, add_help=False, allow_abbrev=False)
    parser.add_argument("--limit", type=_limits, action="extend", default=[])
    for words in ("--stdio",), ("--version",), ("-h", "--help"):
        parser.add_argument(*words, action="store_true")
    return parser


def _limits(text):
    """Reads limits, as "time=0.5,hits=1000"."""
    return list(map(_limit, text.split(",")))


def _limit(text):
    name, _, number = text.partition("=")
    try:
        amount = float(number)
    except ValueError:
        amount = -1
    if name not in LIMITS:
        raise argparse.ArgumentTypeError("there is no limit '%s'; there are %s" % (name, ", ".join(LIMITS)))
    if not is_amount(amount):
        raise argparse.ArgumentTypeError("%s needs a number of %s, not '%s'" % (name, LIMITS[name].unit, number))
    return name, amount


def _own_output():
    """Standard output for the protocol alone: what anything else prints is dropped."""
    own = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return own
