# SPDX-License-Identifier: MIT
"""`python -m clineprof.kernprof` and the entry point ckernprof: run a program and profile it. Also
what `import kernprof` gives: main and ContextualProfile."""
import os
import sys

from clineprof import _boot


def main(args=None):
    """Runs the command line and exits. With arguments of its own it runs them in another process, for
    the program may do anything to the one that it is in; SystemExit when that fails."""
    if args is None:
        return _boot.load("ckernprof").main("run", ["ckernprof"] + sys.argv[1:])
    import subprocess

    launch = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_launch.py")
    replaced = sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__
    ended = subprocess.run([sys.executable, launch, "run", "ckernprof", *args], text=True,
                           capture_output=replaced)  # fmt: skip
    if replaced:
        sys.stdout.write(ended.stdout)
        sys.stderr.write(ended.stderr)
    if ended.returncode:
        raise SystemExit(ended.returncode)


def __getattr__(name):
    if name == "ContextualProfile":
        from clineprof import _calls

        return _calls.Profile
    if name == "__version__":
        from clineprof.line_profiler import __version__

        return __version__
    raise AttributeError("module 'kernprof' has no attribute %r" % name)


if __name__ == "__main__":
    sys.exit(main())
