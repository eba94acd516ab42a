# SPDX-License-Identifier: MIT
"""The names of line_profiler, from clineprof:

    import clineprof.line_profiler as line_profiler

For code of others, put the module there before the code is imported:

    import sys, clineprof.line_profiler
    sys.modules["line_profiler"] = clineprof.line_profiler

`python -m clineprof.line_profiler FILE` prints profiles. docs/conformance.md tells what differs from line_profiler.
"""
import sys

from clineprof.line_profiler import line_profiler
from clineprof.line_profiler.line_profiler import (
    LineProfiler, LineStats, __version__, load_ipython_extension, load_stats, main, show_func,
    show_text,
)  # fmt: skip

__all__ = [
    "LineProfiler", "LineStats", "__version__", "line_profiler", "load_ipython_extension",
    "load_stats", "main", "profile", "show_func", "show_text",
]  # fmt: skip


def _profile():
    """clineprof's `profile`, with the settings of line_profiler's config file."""
    from clineprof import _global
    from clineprof._boot import config

    profile = _global.profile
    for table in "setup", "write", "show":
        settings = getattr(profile, table + "_config")
        try:
            found = config.of_line_profiler(table, None)
        except config.Wrong as error:
            sys.stderr.write("clineprof: %s\n" % error)
            continue
        for key, value in found.items():
            if key == "output_prefix" and isinstance(value, str):
                profile.output_prefix = value
            elif type(value) is type(settings.get(key)):
                settings[key] = value
    return profile


def __getattr__(name):
    if name == "profile":
        globals()[name] = _profile()
        return globals()[name]
    raise AttributeError("module 'line_profiler' has no attribute %r" % name)
