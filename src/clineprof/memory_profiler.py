# SPDX-License-Identifier: MIT
"""The names of memory_profiler, from clineprof:

    import clineprof.memory_profiler as memory_profiler

For code of others, put the module there before the code is imported:

    import sys, clineprof.memory_profiler
    sys.modules["memory_profiler"] = clineprof.memory_profiler

`python -m clineprof.memory_profiler PROGRAM` runs a program with `profile` in its builtins. docs/conformance.md
tells what differs from memory_profiler.
"""
import contextlib
import logging
import sys

from clineprof._compat.code_map import CodeMap, LineProfiler, choose_backend
from clineprof._compat.memory_text import show_results
from clineprof._compat.memory_usage import MemitResult, memory_usage
from clineprof._compat.time_stamper import TimeStamper
from clineprof._compat.wrapping import wrapped_calls

__all__ = [
    "CodeMap", "LineProfiler", "LogFile", "MemitResult", "TimeStamper", "choose_backend",
    "load_ipython_extension", "main", "memory_usage", "profile", "show_results",
]  # fmt: skip

__version__ = "0.61.0"  # the version of memory_profiler that has these names


def profile(func=None, stream=None, precision=1, backend="psutil"):
    """Decorates a function. At the end of every call the memory of its lines is printed to a text stream, or to
    standard output, with `precision` digits after the point."""
    if func is None:
        return lambda function: profile(function, stream, precision, backend)
    backend = choose_backend(backend)

    def begin():
        profiler = LineProfiler(backend=backend)
        profiler(func)
        return profiler, lambda: show_results(profiler, stream, precision)

    return wrapped_calls(func, begin)


class LogFile:
    """A stream that logs what is written to it. With reportIncrementFlag only headings and rows with a positive
    increment are logged."""

    def __init__(self, name=None, reportIncrementFlag=False):
        self.logger = logging.getLogger(name)
        self.reportIncrementFlag = reportIncrementFlag

    def write(self, msg, level=logging.INFO):
        if not self.reportIncrementFlag or self._is_shown(msg):
            self.logger.log(level, msg)

    @staticmethod
    def _is_shown(msg):
        if "MiB" in msg:
            try:
                return float(msg.split("MiB")[1]) > 0
            except ValueError:  # a text about memory that is no row
                return True
        return "Filename:" in msg or "Line Contents" in msg

    def flush(self):
        for handler in self.logger.handlers:
            handler.flush()


def load_ipython_extension(ip):
    """Loads the magics of clineprof; IPython calls this for `%load_ext memory_profiler`."""
    from clineprof._notebook import magics

    magics.load_ipython_extension(ip)


# ---- python -m -------------------------------------------------------------------------------


def main():
    """Runs the program that the command line names, and prints what it measured."""
    options = _options()
    if options.timestamp:
        profiler = TimeStamper(choose_backend(options.backend), options.include_children)
    else:
        profiler = LineProfiler(max_mem=options.max_mem, backend=options.backend,
                                include_children=options.include_children)
    try:
        _run(options.program, profiler)
    finally:
        with open(options.out_filename, "a") if options.out_filename else contextlib.nullcontext(
                sys.stdout) as out:
            if options.timestamp:
                profiler.show_results(out)
            else:
                show_results(profiler, out, options.precision)


def _options():
    import argparse

    parser = argparse.ArgumentParser(prog="python -m memory_profiler",
                                     usage="%(prog)s [options] program [arguments]")  # fmt: skip
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--pdb-mmem", dest="max_mem", metavar="MAXMEM", type=float,
                        help="has no effect; use ckernprof --pdb-mmem")  # fmt: skip
    parser.add_argument("--precision", type=int, default=3, help="digits after the point")
    parser.add_argument("-o", dest="out_filename", help="append the tables to this file")
    parser.add_argument("--timestamp", action="store_true",
                        help="print times and sizes of each call of a decorated function, and no tables")  # fmt: skip
    parser.add_argument("--include-children", action="store_true",
                        help="add the memory of child processes")  # fmt: skip
    parser.add_argument("--backend", default="psutil",
                        choices=["tracemalloc", "psutil", "psutil_pss", "psutil_uss", "posix"])
    parser.add_argument("program", nargs=argparse.REMAINDER,
                        help="a file whose name ends with .py, or a module, and its arguments")
    options = parser.parse_args()
    if not options.program:
        parser.exit(1, "A program to run must be provided. Use -h for help\n")
    return options


def _run(words, profiler):
    import builtins
    import os
    import runpy

    builtins.profile = profiler
    sys.argv = words
    if words[0].endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")
    else:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
