# SPDX-License-Identifier: MIT
"""Profiles as files that other programs read. The module NAME.py of this folder makes the format
NAME: `render(profile, options)` gives its bytes. docs/formats.md is for users.

options: unit (seconds, for formats that show times), raw_times (times as the clock saw them),
memory (False: leave memory out).
"""
import gc
import importlib
import os
import sys

from clineprof import _boot, _profile

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


def render(name, data, options):
    """The bytes of a profile (a dict from the C module) in this format."""
    gc.disable()  # of the millions of objects made now none is garbage before the end
    try:
        return _render(name, _profile.Profile(data), options)
    finally:
        gc.enable()


def _render(name, profile, options):
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
    made = _render(name, profile, {"unit": 1e-6, "raw_times": False, "memory": True, **options})
    replace(path, made, profile._rights)


def replace(path, content, rights=None):
    """Writes a file under another name first: nobody sees half of it, a failure keeps the old. rights:
    those of the file at most; a profile's hold source, so they are those of the program."""
    _boot.core().write(path, content, program_rights() if rights is None else rights)


def program_rights():
    """Those of the script that runs; without one the owner's alone."""
    return _boot.core().rights(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def put_aside(name, content):
    """Writes what cannot go where it should to the temporary folder; its path there."""
    import tempfile

    file, path = tempfile.mkstemp(prefix="clineprof-", suffix="-" + name)
    with open(file, "wb") as out:
        out.write(content)
    return path
