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


def begin(recording, is_first):
    """Lets the processes that this one starts take part in the counting. The first process also names itself in the
    environment, where the others find it."""
    _children.begin(None, recording.callbacks())
    if is_first:
        os.environ[VARIABLE] = ":".join((*_boot.core().identity(), recording.family, recording.outfile))
        _end_after_multiprocessing()


def _end_after_multiprocessing():
    """Makes multiprocessing join or terminate its workers before `profile` writes. atexit calls first what was
    registered last, so multiprocessing's function is registered again."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.unregister(util._exit_function)
        atexit.register(util._exit_function)
