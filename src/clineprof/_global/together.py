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

led = None  # (family, outfile) that this process leads since before it used `profile` (head.py); None: it leads none
led_since = 0  # when that began, as time.time() says


def first():
    """(identity, name of the family, outfile) of the first process, from the environment. None if this process is the
    first; it may have executed another program before."""
    found = _read()
    return None if found is None or found[0] == _boot.core().identity() else found


def told():
    """(family, outfile) that this process has put into the environment before it executed another program, or None."""
    found = _read()
    return None if found is None or first() is not None else found[1:]


def _read():
    try:
        *identity, family, outfile = os.environ[VARIABLE].split(":", 4)
        return (tuple(identity), family, outfile) if len(identity) == 3 else None
    except (KeyError, ValueError):
        return None


def begin(recording, is_first):
    """Lets the processes that this one starts take part in the counting. The first process also names itself in the
    environment, where the others find it."""
    _children.begin(None, recording.callbacks())
    if is_first:
        if led is None:
            tell(recording.family, recording.outfile)
        _end_after_multiprocessing()


def tell(family, outfile):
    """Names this process in the environment as the first of its family."""
    os.environ[VARIABLE] = ":".join((*_boot.core().identity(), family, outfile))


def _end_after_multiprocessing():
    """Makes multiprocessing join or terminate its workers before `profile` writes. atexit calls first what was
    registered last, so multiprocessing's function is registered again."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        atexit.unregister(util._exit_function)
        atexit.register(util._exit_function)
