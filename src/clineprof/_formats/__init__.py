# SPDX-License-Identifier: MIT
"""Profiles as files that other programs read. The module NAME.py of this folder makes the format
NAME: `render(profile, options)` gives its bytes; shared.py has what several need. docs/formats.md is for users.

options: unit (seconds, for formats that show times), raw_times (times as the clock saw them),
memory (False: leave memory out).
"""
import importlib

from clineprof._boot import files

# By the endings that Profile.write knows, the longest first.
ENDINGS = {
    ".speedscope.json": "speedscope",
    ".trace.json": "trace",
    ".heapprofile": "heapprofile",
    ".cpuprofile": "cpuprofile",
    ".collapsed": "collapsed",
    ".pclprof": "pclprof",
    ".pstats": "pstats",
    ".html": "html",
    ".json": "json",
    ".csv": "csv",
}
NAMES = {*ENDINGS.values(), "github"}


def render(name, profile, options):
    """The bytes of a profile in this format."""
    return importlib.import_module("clineprof._formats." + name).render(profile, options)


def write(profile, path, name, options):
    """As Profile.write says."""
    if name is None:
        name = next((ENDINGS[ending] for ending in ENDINGS if path.endswith(ending)), None)
        if name is None:
            raise ValueError("%s: no format has this ending; say format=, or end it with one of %s"
                             % (path, ", ".join(ENDINGS)))
    if name not in NAMES:
        raise ValueError("no format is called %r; there are %s" % (name, ", ".join(sorted(NAMES))))
    made = render(name, profile, {"unit": 1e-6, "raw_times": False, "memory": True, **options})
    files.replace(path, made, profile._rights)
