# SPDX-License-Identifier: MIT
"""Makes a process that may never use `profile` the first of a family: the master of a server, whose workers import the
application. The file clineprof-start.pth in site-packages imports this module in each process that has CLINEPROF in its
environment.

Until the end this costs the process nothing but a name in its environment, by which its children join the family. If
one of them has counted something by then, `profile` is switched on, and adds it up.
"""
import atexit
import os
import sys
import time

from clineprof import _boot, _children
from clineprof._global import FALSE, OUTPUT, profile, together


def begin():
    if os.environ.get("CLINEPROF", "").strip().lower() in FALSE or _belongs_elsewhere():
        return
    together.led = together.told() or _new()
    if together.led is not None:
        together.led_since = time.time()
        together.tell(*together.led)
        atexit.register(_end, os.getpid())


def _belongs_elsewhere():
    """Does this process take part in a run already, or is it no part of a program?"""
    return together.first() is not None or _children.VARIABLE in os.environ or _children.is_own() or (
        os.path.basename("".join(sys.orig_argv[1:2])) in ("clineprof", "ckernprof"))


def _new():
    """(family, outfile) of a new family; None if the working folder takes no files."""
    folder, name = os.getcwd(), OUTPUT + _boot.core().rank()
    if not os.access(folder, os.W_OK):
        return None
    if os.path.exists(os.path.join(folder, name + ".lprof.live")):  # of another program
        name += "-%d" % os.getpid()
    return "%d-%012x" % (os.getpid(), int.from_bytes(os.urandom(6), "big") or 1), os.path.join(folder, name + ".lprof")


def _end(pid):
    """Adds up what the children have counted, if `profile` was not used here; otherwise its own ending has done that."""
    if os.getpid() != pid or profile._ending is not None or not _has_files():
        return
    profile.enable()
    if profile._ending is not None:
        profile._ending.at_exit()


def _has_files():
    family, outfile = together.led
    folder, name = os.path.split(outfile)
    try:
        return any(entry.startswith("%s.%s." % (name, family)) for entry in os.listdir(folder))
    except OSError:
        return False


try:
    begin()
except Exception as error:  # the program runs on, unprofiled
    os.write(2, b"clineprof: %s\n" % str(error).encode("utf-8", "backslashreplace"))
