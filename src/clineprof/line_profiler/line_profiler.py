# SPDX-License-Identifier: MIT
"""line_profiler's module of the same name. Imports by full names: it may run as line_profiler's."""
import sys

from clineprof._compat.line_profiler import LineProfiler
from clineprof._compat.line_stats import LineStats
from clineprof._compat.line_text import (
    get_code_block, get_column_widths, is_generated_code, show_func, show_text,
)  # fmt: skip

__all__ = [
    "LineProfiler", "LineStats", "__version__", "get_code_block", "get_column_widths",
    "is_generated_code", "load_ipython_extension", "load_stats", "main", "show_func", "show_text",
]  # fmt: skip

__version__ = "5.1.0"  # of line_profiler, whose names these are
load_stats = LineStats.from_files


def load_ipython_extension(ip):
    """`%load_ext line_profiler`: the magics of clineprof."""
    from clineprof._notebook import magics

    magics.load_ipython_extension(ip)


def main():
    """Prints the profiles that the command line names; the viewer's options. SystemExit when that
    fails."""
    from clineprof import _boot

    try:
        _boot.load("line_profiler").main("view", ["line_profiler"] + sys.argv[1:])
    except SystemExit as end:
        if end.code:
            raise
