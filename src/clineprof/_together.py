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
    """(pid, start, outfile) of the process that was first, by the environment; None: it is this one,
    which may have been another program before."""
    try:
        pid, start, outfile = os.environ[VARIABLE].split(":", 2)
        return None if int(pid) == os.getpid() else (int(pid), start.encode(), outfile)
    except (KeyError, ValueError):
        return None


class Together:
    """This process's part."""

    def __init__(self, functions):
        *callbacks, self.leave, self._gather, self._end = functions
        _children.begin(None, callbacks)
        self.is_server = _children.is_server()

    def gather(self, command):
        """The sum as the bytes of a file; None when nobody else has counted."""
        try:
            return self._gather(command)
        except MemoryError:
            sys.stderr.write("clineprof: out of memory; the profile lacks other processes\n")
            return None

    def end(self, written):
        self._end(written)


def begin(profiler, me, outfile, command):
    """A Together, or None. me: (pid, start) of the first process if it is this one. Before anything is
    selected."""
    earlier = first()
    family, outfile = (earlier[0], earlier[2]) if earlier else (0, outfile)
    functions = _boot.core().together(profiler, outfile, family, command, _children.is_server())
    if functions is None:
        return None
    if not earlier:
        os.environ[VARIABLE] = "%d:%s:%s" % (me[0], (me[1] or b"").decode(), outfile)
        _end_after_multiprocessing()
    return Together(functions)


def _end_after_multiprocessing():
    """Its workers are joined, or terminated, before the end of `profile`: what is registered last is
    called first."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.unregister(util._exit_function)
        atexit.register(util._exit_function)
