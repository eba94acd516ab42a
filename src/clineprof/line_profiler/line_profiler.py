# SPDX-License-Identifier: MIT
"""Has the names of line_profiler's module line_profiler.line_profiler. It may be loaded under that name, so it imports
clineprof's modules by their full names."""
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

__version__ = "5.1.0"  # the version of line_profiler that has these names
load_stats = LineStats.from_files


def load_ipython_extension(ip):
    """Loads the magics of clineprof; IPython calls this for `%load_ext line_profiler`."""
    from clineprof._notebook import magics

    magics.load_ipython_extension(ip)


def main():
    """Prints the profiles that the command line names, with the viewer's options. Raises SystemExit if that fails."""
    from clineprof import _boot

    try:
        _boot.load("line_profiler").main("view", ["line_profiler"] + sys.argv[1:])
    except SystemExit as end:
        if end.code:
            raise
