# SPDX-License-Identifier: MIT
"""clineprof.profile in a program of several processes, if the environment switches it on: the first process adds up
what the others have counted.

An environment variable, which all other processes inherit, says which process is the first.
"""
import atexit
import os
import sys

from clineprof import _boot, _children

VARIABLE = "CLINEPROF_FAMILY"


def first():
    """(identity, name of the family, outfile) of the first process, from the environment. None if this process is the
    first; it may have executed another program before."""
    try:
        *identity, family, outfile = os.environ[VARIABLE].split(":", 4)
        return None if identity == list(_boot.core().identity()) else (tuple(identity), family, outfile)
    except (KeyError, ValueError):
        return None


class Together:
    """This process's part in the counting: its files, and the functions of the C module for them."""

    def __init__(self, parts):
        self.outfile, self.live, family, *callbacks, self.leave, self._gather, self._end = parts
        _children.begin(None, callbacks)
        self.is_server = _children.is_server()

    def gather(self, command):
        """The sum of all processes as the bytes of a .lprof file; None if no other process has counted anything."""
        try:
            return self._gather(command)
        except MemoryError:
            _boot.complain("clineprof", "out of memory; the profile lacks other processes")
            return None

    def end(self, written):
        self._end(written)


def begin(profiler, outfile, rights, own_name, command):
    """Makes a Together; None if that is not possible. With own_name the outfile gets this process's number. Must be
    called before anything is selected."""
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
    """Makes multiprocessing join or terminate its workers before `profile` writes. atexit calls first what was
    registered last, so multiprocessing's function is registered again."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.unregister(util._exit_function)
        atexit.register(util._exit_function)
