# SPDX-License-Identifier: MIT
"""Runs a program and profiles it: `python -m clineprof.kernprof` and the entry point ckernprof. Has the names of
kernprof's module, too: main and ContextualProfile."""
import os
import sys

from clineprof import _boot


LAUNCH = os.path.join(os.path.dirname(os.path.abspath(_boot.__file__)), "launch.py")


def main(args=None):
    """Runs the command line, and returns an object for sys.exit(). If `args` are given, they are run in another process,
    because the program may change anything in its process. Raises SystemExit if that process fails."""
    if args is not None:
        return _run_apart(["ckernprof", *args])
    core = _boot.load("ckernprof")
    words = ["ckernprof"] + sys.argv[1:]
    # `python -m` names the interpreter; the command ckernprof looks for one, as the launcher does
    python = core.interpreter(words, __name__ != "__main__" and not _is_active(), sys.executable)
    if python != sys.executable:
        _become(python, words[1:])
    return core.main("run", words)


def _is_active():
    """Is this the interpreter of the active virtual environment?"""
    try:
        return os.path.samefile(os.environ.get("VIRTUAL_ENV", ""), sys.prefix)
    except OSError:
        return False


def _become(python, words):
    """Replaces this process by another interpreter, with the same command line. That interpreter uses the C module
    beside this file if there is one for its version, or else the clineprof that is installed for it. The first word is
    the path of ckernprof, from which a message later recommends the viewer."""
    beside = sys.argv[0] if sys.argv[0].endswith("/ckernprof") else os.path.dirname(sys.executable) + "/ckernprof"
    try:
        os.execv(python, [python, LAUNCH, "run", beside, *words])
    except OSError as error:
        _boot.complain("ckernprof", "cannot run %s: %s" % (python, error.strerror))
    raise SystemExit(2)


def _run_apart(words):
    import subprocess

    replaced = sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__
    python = _boot.load("ckernprof").interpreter(words, False, sys.executable)
    ended = subprocess.run([python, LAUNCH, "run", *words], text=True, capture_output=replaced)
    if replaced:
        sys.stdout.write(ended.stdout)
        sys.stderr.write(ended.stderr)
    if ended.returncode:
        raise SystemExit(ended.returncode if ended.returncode > 0 else 128 - ended.returncode)  # a signal, as in a shell


def __getattr__(name):
    if name == "ContextualProfile":
        from clineprof._compat import cprofile

        return cprofile.Profile
    if name == "__version__":
        from clineprof.line_profiler import __version__

        return __version__
    raise AttributeError("module 'kernprof' has no attribute %r" % name)


if __name__ == "__main__":
    sys.exit(main())
