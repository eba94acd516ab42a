# SPDX-License-Identifier: MIT
"""Writes profiles as files for other programs. The module NAME.py of this folder makes the format NAME: its
`render(profile, options)` returns the bytes. shared.py has what several formats need. docs/formats.md is for users.

options: unit (of the times in seconds, for formats that show times), raw_times (True: times with the profiler's own
cost), memory (False: leave memory out).
"""
import importlib

from clineprof._boot import files

# {ending of a file's name: format}, for Profile.write; longer endings come first.
ENDINGS = {
    ".speedscope.json": "speedscope",
    ".trace.json": "trace",
    ".heapprofile": "heapprofile",
    ".cpuprofile": "cpuprofile",
    ".firefox.json": "firefox",
    ".callgrind": "callgrind",
    ".collapsed": "collapsed",
    ".pclprof": "pclprof",
    ".pstats": "pstats",
    ".lprof": "lprof",
    ".pb.gz": "pprof",
    ".html": "html",
    ".json": "json",
    ".csv": "csv",
    ".svg": "flamegraph",
    ".md": "md",
}
NAMES = {*ENDINGS.values(), "github"}


def render(name, profile, options):
    """The bytes of a profile in this format."""
    return importlib.import_module("clineprof._formats." + name).render(profile, options)


def write(profile, path, name, options):
    """Writes a profile to a file, for Profile.write. Without a format's name the ending of the path decides. Raises
    ValueError if neither is known."""
    if name is None:
        name = next((ENDINGS[ending] for ending in ENDINGS if path.endswith(ending)), None)
        if name is None:
            raise ValueError("%s: no format has this ending; give format=, or a name that ends with one of %s"
                             % (path, ", ".join(ENDINGS)))
    if name not in NAMES:
        raise ValueError("no format is called %r; there are %s" % (name, ", ".join(sorted(NAMES))))
    made = render(name, profile, {"unit": 1e-6, "raw_times": False, "memory": True, **options})
    files.replace(path, made, profile._rights)
