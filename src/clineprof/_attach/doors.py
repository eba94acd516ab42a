# SPDX-License-Identifier: MIT
"""The ways to have a running interpreter execute a script.

From 3.14 on the interpreter has a door of its own: sys.remote_exec (PEP 768). It must be called by an interpreter of
the same version. An older interpreter listens to a signal (listen.py), or is reached through gdb (gdb.py)."""
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys

from clineprof._attach import gdb
from clineprof._attach.place import Refused

KNOCK = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"


def door(target):
    """Returns the function that has the target execute a folder's script.py soon: open(target, folder). Raises Refused
    if there is none. So does the function, and then nothing has happened."""
    if target.signal is not None:
        return _signal
    return _remote_exec if target.version >= (3, 14) else gdb.door(target)


def _signal(target, folder):
    """A process without the handler would die of the signal, so everything is checked before it is sent. The file
    descriptor stands for this process, even if its number is given to another one meanwhile."""
    try:
        descriptor = os.pidfd_open(target.pid)
    except OSError as error:
        raise Refused("there is no process %d: %s" % (target.pid, error.strerror)) from None
    try:
        if not target.is_there() or not target.takes(target.signal):
            raise Refused("process %d does not listen to signal %d now" % (target.pid, target.signal))
        signal.pidfd_send_signal(descriptor, target.signal)
    except PermissionError:
        raise Refused(target.not_ours()) from None
    except ProcessLookupError:
        raise Refused("there is no process %d" % target.pid) from None
    finally:
        os.close(descriptor)


def _remote_exec(target, folder):
    python, script = _interpreter(target), folder.inside("script.py")
    with _found_here(script) if target.root else contextlib.nullcontext():
        done = subprocess.run([python, "-I", "-S", "-c", KNOCK, str(target.pid), script],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              errors="backslashreplace", start_new_session=True)  # out of the reach of Ctrl-C
    if done.returncode == 0:
        return
    last = (done.stderr.strip().splitlines() or ["it ended with %d" % done.returncode])[-1]
    if "PermissionError" in last or "Operation not permitted" in last:
        raise Refused(target.not_ours())
    raise Refused("process %d does not let us in: %s" % (target.pid, last.partition(": ")[2] or last))


@contextlib.contextmanager
def _found_here(script):
    """sys.remote_exec refuses a script that does not exist, but looks for it here. The target reads its own file of
    this name, so an empty one does."""
    folder = os.path.dirname(script)
    try:
        os.mkdir(folder, 0o700)
        os.close(os.open(script, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise Refused("cannot make the file '%s': %s" % (script, error.strerror)) from None
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _interpreter(target):
    """An interpreter of the target's version that runs here."""
    if sys.version_info[:2] == target.version:
        return sys.executable
    if target.root:
        raise Refused("process %d has a file system of its own; run clineprof with Python %d.%d to reach it"
                      % (target.pid, *target.version))
    path = target.exe if os.access(target.exe, os.X_OK) else "/proc/%d/exe" % target.pid
    if target.uid != os.geteuid() and not _is_roots(path):
        raise Refused("process %d runs %s, which others could change; run clineprof with Python %d.%d to reach it"
                      % (target.pid, target.exe, *target.version))
    return path


def _is_roots(path):
    """Can only root say what is at this path? Root runs no program of another user's making, nor one beside which
    another user could put a standard library. From the root folder on, what was looked at stays."""
    parts = path.split("/")
    try:
        places = [os.lstat("/".join(parts[:i + 1]) or "/") for i in range(len(parts))]
    except OSError:
        return False
    # a link has the rights of a file that all may write to
    return all(about.st_uid == 0 and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH) for about in places)
