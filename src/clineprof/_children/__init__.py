# SPDX-License-Identifier: MIT
"""--prof-child-procs in Python: how a process that the program starts finds the profiler.

The environment carries one variable, and PYTHONPATH first the folder site, with our sitecustomize.
hook.py is for processes that do not look at it.
"""
import os
import sys

VARIABLE = "CLINEPROF_CHILDREN"
HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
FORKED_NOT_REPLACED = 0x40  # PF_FORKNOEXEC of the kernel, in the flags of /proc/PID/stat
SEPARATOR, ESCAPE = "\x1f", "\x1e"


def begin(settings, callbacks):
    """callbacks: what is called in a fork, in one that multiprocessing has named, and in its parent.
    settings: what spawned processes are to know; None in one of them, whose own children have it from
    the environment."""
    forked, named, has_forked = callbacks
    os.register_at_fork(after_in_child=lambda: _after_fork(forked, named),
                        after_in_parent=has_forked)  # fmt: skip
    if settings is not None:
        os.environ[VARIABLE] = SEPARATOR.join(map(_escaped, settings))
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = HOOK if not before else HOOK + os.pathsep + before


def join():
    """At the start of a spawned process. Whatever goes wrong, the process runs."""
    settings = os.environ.get(VARIABLE)
    if settings is None or _is_own() or "clineprof._core" in sys.modules:
        return
    family, outfile, folder, *words = map(_plain, settings.split(SEPARATOR))
    try:
        import clineprof._core
    except ImportError:  # there is none for this interpreter
        return
    try:
        sys.modules["clineprof._core"].join(family, outfile, folder, words, is_server())
    except (Exception, SystemExit) as error:
        os.write(2, b"ckernprof: process %d is not profiled: %s\n" % (
            os.getpid(), str(error).encode("utf-8", "backslashreplace")))


def _after_fork(forked, named):
    forked()
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # called when the process has its name; the key must live on
        util.register_after_fork(named, lambda named: named())


def _is_own():
    """A profiler or viewer of ours, which is no part of the program?"""
    words = getattr(sys, "orig_argv", [])[1:]
    return any(word.endswith("/clineprof/_boot/launch.py") for word in words[:1]) or (
        words[:1] == ["-m"] and words[1:2] in (["clineprof"], ["clineprof.kernprof"])
    )


def is_server():
    """multiprocessing's, or one like it, of which workers are forked until its clients have ended? They
    have its command line, too."""
    return not is_forked() and any(".forkserver import main;" in word for word in getattr(sys, "orig_argv", [])[1:])


def is_forked():
    """Is this a fork that has not become another program?"""
    try:
        with open("/proc/self/stat", "rb") as file:
            flags = file.read().rpartition(b")")[2].split()[6]
    except OSError:
        return False
    return bool(int(flags) & FORKED_NOT_REPLACED)


def _escaped(word):
    return word.replace(ESCAPE, ESCAPE + "e").replace(SEPARATOR, ESCAPE + "s")


def _plain(word):
    return word.replace(ESCAPE + "s", SEPARATOR).replace(ESCAPE + "e", ESCAPE)
