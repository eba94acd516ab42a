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


def begin(recording, is_first):
    """This process takes part, and so does what it starts."""
    _children.begin(None, recording.callbacks())
    if is_first:
        os.environ[VARIABLE] = ":".join((*_boot.core().identity(), recording.family, recording.outfile))
        _end_after_multiprocessing()


def _end_after_multiprocessing():
    """Its workers are joined, or terminated, before the end of `profile`: what is registered last is
    called first."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.unregister(util._exit_function)
        atexit.register(util._exit_function)
