# SPDX-License-Identifier: MIT
from clineprof import profile as profile
from clineprof.line_profiler import line_profiler as line_profiler
from clineprof.line_profiler.line_profiler import LineProfiler as LineProfiler
from clineprof.line_profiler.line_profiler import LineStats as LineStats
from clineprof.line_profiler.line_profiler import __version__ as __version__
from clineprof.line_profiler.line_profiler import load_ipython_extension as load_ipython_extension
from clineprof.line_profiler.line_profiler import load_stats as load_stats
from clineprof.line_profiler.line_profiler import main as main
from clineprof.line_profiler.line_profiler import show_func as show_func
from clineprof.line_profiler.line_profiler import show_text as show_text

__all__ = [
    "LineProfiler", "LineStats", "__version__", "line_profiler", "load_ipython_extension",
    "load_stats", "main", "profile", "show_func", "show_text",
]  # fmt: skip
