# SPDX-License-Identifier: MIT
"""What `import line_profiler` gives, from clineprof:

    import clineprof.line_profiler as line_profiler

or, for code that is not one's own, before it is imported:

    import sys, clineprof.line_profiler
    sys.modules["line_profiler"] = clineprof.line_profiler

`python -m clineprof.line_profiler FILE` prints profiles. How far it goes: docs/conformance.md.
"""
from clineprof.line_profiler import line_profiler
from clineprof.line_profiler.line_profiler import (
    LineProfiler, LineStats, __version__, load_ipython_extension, load_stats, main, show_func,
    show_text,
)  # fmt: skip

__all__ = [
    "LineProfiler", "LineStats", "__version__", "line_profiler", "load_ipython_extension",
    "load_stats", "main", "profile", "show_func", "show_text",
]  # fmt: skip


def __getattr__(name):
    if name == "profile":
        import clineprof

        return clineprof.profile
    raise AttributeError("module 'line_profiler' has no attribute %r" % name)
