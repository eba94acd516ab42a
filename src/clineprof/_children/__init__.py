# SPDX-License-Identifier: MIT
"""Lets the processes that the program starts find the profiler (--prof-child-procs).

They inherit the environment variable CLINEPROF_CHILDREN, and a PYTHONPATH that begins with the folder site, which holds
our sitecustomize. hook.py is for processes that ignore the environment. Forked children have no start that a hook could
see: they are told by os.register_at_fork.
"""
import os
import sys

from clineprof import _boot

VARIABLE = "CLINEPROF_CHILDREN"
HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
FORKED_NOT_REPLACED = 0x40  # PF_FORKNOEXEC of the kernel, in the flags of /proc/PID/stat
SEPARATOR, ESCAPE = "\x1f", "\x1e"


def begin(settings, callbacks):
    """Lets forked and spawned children take part. `callbacks` are four functions: one to call in a fork, one to call
    in a fork when multiprocessing has named it, one to call in its parent, and one to call when multiprocessing ends
    a fork, or None. `settings` is what spawned processes need to know; it is None in a spawned process, because its
    environment holds the settings already."""
    forked, named, has_forked, ended = callbacks
    os.register_at_fork(after_in_child=lambda: _after_fork(forked, named, ended),
                        after_in_parent=has_forked)  # fmt: skip
    if settings is not None:
        os.environ[VARIABLE] = SEPARATOR.join(map(_escaped, settings))
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = HOOK if not before else HOOK + os.pathsep + before


def join():
    """Takes part in the run; called at the start of a spawned process. If anything fails, the process runs
    unprofiled."""
    settings = os.environ.get(VARIABLE)
    if settings is None or is_own() or "clineprof._core" in sys.modules:
        return
    family, outfile, folder, *words = map(_plain, settings.split(SEPARATOR))
    try:
        import clineprof._core
    except ImportError:  # there is no C module for this interpreter
        return
    try:
        sys.modules["clineprof._core"].join(family, outfile, folder, words, is_server())
    except (Exception, SystemExit) as error:
        os.write(2, b"ckernprof: process %d is not profiled: %s\n" % (
            os.getpid(), str(error).encode("utf-8", "backslashreplace")))
    else:
        _boot.step_aside(_path_of_program())


def _path_of_program():
    """What sys.path will be when the program starts: its folder is added later, and ours is there until then."""
    ours = os.path.dirname(os.path.dirname(os.path.dirname(HOOK)))
    path = [entry for entry in sys.path if entry != ours]
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return path
    script = getattr(sys, "argv", [""])[0]
    return [os.getcwd() if script in ("", "-c", "-m") else os.path.dirname(os.path.realpath(script)), *path]


def _after_fork(forked, named, ended):
    forked()
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        # multiprocessing calls this when the process has its name; the first argument must stay alive
        util.register_after_fork(named, lambda named: _has_name(named, ended, util))


def _has_name(named, ended, util):
    named()
    if ended is not None:
        util.Finalize(None, ended, exitpriority=-1000)  # behind what the program does at the end


def is_own():
    """Is this process ckernprof or clineprof itself, which is no part of the program?"""
    words = getattr(sys, "orig_argv", [])[1:]
    return any(word.endswith("/clineprof/_boot/launch.py") for word in words[:1]) or (
        words[:1] == ["-m"] and words[1:2] in (["clineprof"], ["clineprof.kernprof"])
        and not _boot.is_programs(_path_of_program())
    )


def is_server():
    """Is this process a fork server, multiprocessing's or one like it? Workers are forked from it until its clients
    have ended. The workers have the same command line, so a fork does not count as the server."""
    return not is_forked() and any(".forkserver import main;" in word for word in getattr(sys, "orig_argv", [])[1:])


def is_forked():
    """Is this process a fork that has not executed another program?"""
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
