# SPDX-License-Identifier: MIT
"""clineprof.profile in a program of several processes, where the environment switches it on: the process
that was first adds up what the others have counted.

One variable in the environment of what it starts says which process that is.
"""
import atexit
import os
import sys

from clineprof import _boot, _children

VARIABLE = "CLINEPROF_FAMILY"


def first():
    """(its identity, the name of the family, outfile) of the process that was first, by the environment;
    None: it is this one, which may have been another program before."""
    try:
        *identity, family, outfile = os.environ[VARIABLE].split(":", 4)
        return None if identity == list(_boot.core().identity()) else (tuple(identity), family, outfile)
    except (KeyError, ValueError):
        return None


class Together:
    """This process's part."""

    def __init__(self, parts):
        self.outfile, self.live, family, *callbacks, self.leave, self._gather, self._end = parts
        _children.begin(None, callbacks)
        self.is_server = _children.is_server()

    def gather(self, command):
        """The sum as the bytes of a file; None when nobody else has counted."""
        try:
            return self._gather(command)
        except MemoryError:
            _boot.complain("clineprof", "out of memory; the profile lacks other processes")
            return None

    def end(self, written):
        self._end(written)


def begin(profiler, outfile, rights, own_name, command):
    """A Together, or None. own_name: the outfile gets this process's number. Before anything is
    selected."""
    earlier = first()
    family, outfile = earlier[1:] if earlier else ("", outfile)
    core = _boot.core()
    parts = core.together(profiler, outfile, rights, own_name, family, command, _children.is_server())
    if parts is None:
        return None
    if not earlier:
        os.environ[VARIABLE] = ":".join((*core.identity(), parts[2], parts[0]))
        _end_after_multiprocessing()
    return Together(parts)


def _end_after_multiprocessing():
    """Its workers are joined, or terminated, before the end of `profile`: what is registered last is
    called first."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.unregister(util._exit_function)
        atexit.register(util._exit_function)
