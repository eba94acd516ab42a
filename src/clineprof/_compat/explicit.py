# SPDX-License-Identifier: MIT
"""Makes `from line_profiler import profile` and `from memory_profiler import profile` give the launcher's profiler
under `ckernprof -l`, where those packages are installed. Under `ckernprof -b` the former gives the function profiler, as
it does under kernprof. Only sys and modules of ours are imported here, because the program's own folder may be on
sys.path already."""
import sys

from clineprof._boot import spawning

LINES, MEMORY = "line_profiler.explicit_profiler", ("memory_profiler", "clineprof.memory_profiler")


def hand_over(profiler):
    """Gives the profiler to those of the modules that are loaded already."""
    for name in LINES, *MEMORY:
        module = sys.modules.get(name)
        if type(module) is type(sys):
            _give(vars(module), profiler)


def taking(code, profiler):
    """Code that runs the module's code and then gives it the profiler, before anyone can use the module."""
    return spawning.followed(code, lambda names: _give(names, profiler))


def _give(names, profiler):
    counts_lines = hasattr(profiler, "snapshot")
    take = getattr(names.get("profile"), "_kernprof_overwrite", None)
    if take is not None:
        take((_Launchers if counts_lines else _LaunchersCalls)(profiler))
    elif names["__name__"] in MEMORY and "CodeMap" in names and counts_lines:  # not a program's module of that name
        names["profile"] = profiler


class _Launchers:
    """The launcher's profiler with the methods that line_profiler's `profile.show()` calls."""

    def __init__(self, profiler):
        self.profiler = profiler

    def __call__(self, function):
        return self.profiler(function)

    def get_stats(self):
        from clineprof._compat import line_stats
        from clineprof._profile import Profile

        return line_stats.of_profile(Profile(self.profiler.snapshot()))

    def dump_stats(self, filename):
        self.get_stats().to_file(filename)

    def print_stats(self, *args, **options):
        self.get_stats().print(*args, **options)


class _LaunchersCalls:
    """The function profiler of `ckernprof -b` with the methods that line_profiler's `profile.show()` calls. Profiling
    goes on after each of them."""

    def __init__(self, profiler):
        self.profiler = profiler

    def __call__(self, function):
        return self.profiler(function)

    def dump_stats(self, filename):
        with self.profiler.apart():
            self.profiler.dump_stats(filename)

    def print_stats(self, stream=None, **options):
        with self.profiler.apart():
            (stream or sys.stdout).write(self.profiler.report())
