# SPDX-License-Identifier: MIT
"""`python -m clineprof.kernprof` and the entry point ckernprof: run a program and profile it. Also
what `import kernprof` gives: main and ContextualProfile."""
import sys

from clineprof import _boot


def main(args=None):
    """Runs the command line, or these arguments; raises SystemExit with the exit code."""
    words = sys.argv[1:] if args is None else list(args)
    return _boot.load("ckernprof").main("run", ["ckernprof"] + words)


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
