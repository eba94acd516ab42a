# SPDX-License-Identifier: MIT
"""`from line_profiler import profile` under `ckernprof -l` and `-b`, where line_profiler itself is
installed: as under kernprof it is the launcher's profiler. Imports nothing but sys, for the program's own folder may
be on sys.path by now."""
import sys

from clineprof._boot import spawning

MODULE = "line_profiler.explicit_profiler"


def hand_over(profiler):
    """Where the module is loaded already."""
    module = sys.modules.get(MODULE)
    if type(module) is type(sys):
        _give(vars(module), profiler)


def taking(code, profiler):
    """The module's code, and behind it what hands the profiler over before anyone has seen the module."""
    return spawning.followed(code, lambda names: _give(names, profiler))


def _give(names, profiler):
    take = getattr(names.get("profile"), "_kernprof_overwrite", None)
    if take is not None:
        take((_Launchers if hasattr(profiler, "snapshot") else _LaunchersCalls)(profiler))


class _Launchers:
    """The profiler, with what line_profiler's `profile.show()` asks of one."""

    def __init__(self, profiler):
        self.profiler = profiler

    def __call__(self, function):
        return self.profiler(function)

    def get_stats(self):
        from clineprof import _profile
        from clineprof._compat import line_stats

        return line_stats.of_profile(_profile.Profile(self.profiler.snapshot()))

    def dump_stats(self, filename):
        self.get_stats().to_file(filename)

    def print_stats(self, *args, **options):
        self.get_stats().print(*args, **options)


class _LaunchersCalls:
    """The same of a function profile, which goes on afterwards."""

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
