# SPDX-License-Identifier: MIT
"""Function profiles: cProfile's Profile with the methods of the `profile` that `ckernprof -b` puts into the
builtins."""
import contextlib
import cProfile
import io
import os
import sys

from clineprof._compat import wrapping

# Removes these modules from sys.modules, so that a program with a module of that name gets its own.
for _name in "cProfile", "profile":
    sys.modules.pop(_name, None)
PATH = list(sys.path)  # sys.path before the program's folder is added
PACKAGE = os.path.dirname(os.path.dirname(__file__))
# Files of ours whose functions call the recorded functions, or are called in their place. The profile leaves them out.
OWN = __file__, PACKAGE + "/_compat/explicit.py", PACKAGE + "/_global/__init__.py", wrapping.__file__


class Profile(cProfile.Profile):
    """Records while a decorated function or a `with profile:` runs, or from enable() to disable()."""

    _counts_calls = True  # distinguishes this class from a profiler of lines
    enable_count = 0
    paused = False
    enabled_plainly = False  # was the profile enabled by enable(), not by count, when it was paused?

    def __repr__(self):
        return "<clineprof.profile: counts calls, for ckernprof -b>"

    def pause(self):
        """Stops recording until resume()."""
        if not self.paused:
            self.enabled_plainly = not self.enable_count and self._records()
            self.paused = True
            self.disable()

    def resume(self):
        if self.paused:
            self.paused = False
            if self.enabled_plainly or self.enable_count:
                self.enable()

    def _records(self):
        if sys.version_info >= (3, 12):
            return sys.monitoring.get_tool(sys.monitoring.PROFILER_ID) == "cProfile"
        return sys.getprofile() is self

    def enable_by_count(self, subcalls=True, builtins=True):
        self.enable_count += 1
        if self.enable_count == 1 and not self.paused:
            self.enable(subcalls=subcalls, builtins=builtins)

    def disable_by_count(self):
        if self.enable_count:
            self.enable_count -= 1
            if self.enable_count == 0:
                self.disable()

    def __enter__(self):
        self.enable_by_count()
        return self

    def __exit__(self, *exception):
        self.disable_by_count()

    @contextlib.contextmanager
    def apart(self):
        """A context manager in which nothing is recorded."""
        self.disable()
        try:
            yield
        finally:
            if self.enable_count and not self.paused:
                self.enable()

    def __call__(self, *marked, **of_memory_profiler):
        """Returns a function that records while this one runs. What is no function is returned as it is."""
        if not marked:
            return self
        [function] = marked
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self(function.__func__))
        if isinstance(function, property):
            parts = (function.fget, function.fset, function.fdel)
            return property(*(part and self(part) for part in parts), function.__doc__)
        if isinstance(function, type) or not callable(function):
            return function
        return wrapping.wrapped_function(self, function)

    def snapshot_stats(self):
        """Makes self.stats as cProfile does, without the functions of our own files."""
        super().snapshot_stats()
        self.stats = {
            function: (*numbers, {who: n for who, n in callers.items() if not _is_own(who)})
            for function, (*numbers, callers) in self.stats.items()
            if not _is_own(function)
        }

    def report(self):
        text = io.StringIO()
        stats = _pstats().Stats(self, stream=text)
        stats.strip_dirs().sort_stats("stdname").print_stats()
        return text.getvalue()


def _is_own(function):
    file, _, name = function
    return file in OWN or name == "<method 'disable' of '_lsprof.Profiler' objects>"


def _pstats():
    """Imports pstats of the standard library, even if the program has a module of that name."""
    path, theirs = list(sys.path), sys.modules.pop("pstats", None)
    sys.path[:] = PATH
    try:
        import pstats

        return pstats
    finally:
        sys.path[:] = path
        if theirs is not None:
            sys.modules["pstats"] = theirs


def make():
    return Profile()
