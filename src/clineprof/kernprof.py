# SPDX-License-Identifier: MIT
"""`python -m clineprof.kernprof` and the entry point ckernprof: run a program and profile it. Also
what `import kernprof` gives: main and ContextualProfile."""
import os
import sys

from clineprof import _boot


LAUNCH = os.path.join(os.path.dirname(os.path.abspath(_boot.__file__)), "launch.py")


def main(args=None):
    """Runs the command line and exits. With arguments of its own it runs them in another process, for
    the program may do anything to the one that it is in; SystemExit when that fails."""
    if args is not None:
        return _run_apart(["ckernprof", *args])
    core = _boot.load("ckernprof")
    words = ["ckernprof"] + sys.argv[1:]
    # who says `python -m` has chosen; the command is the launcher's twin (kernprof/ckernprof.c)
    python = core.interpreter(words, __name__ != "__main__" and not _is_active(), sys.executable)
    if python != sys.executable:
        _become(python, words[1:])
    core.main("run", words)


def _is_active():
    """Is this interpreter of the active virtual environment?"""
    try:
        return os.path.samefile(os.environ.get("VIRTUAL_ENV", ""), sys.prefix)
    except OSError:
        return False


def _become(python, words):
    """Goes on in another interpreter: with the module beside this file, if that is for its version too, or
    the one that it has. The first word tells from where the viewer is recommended."""
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
        raise SystemExit(ended.returncode)


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
