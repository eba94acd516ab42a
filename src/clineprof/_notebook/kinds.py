# SPDX-License-Identifier: MIT
"""The profilers of the magics. Each kind has a profiler, which is `profile` in the builtins while it runs and which -r
returns, and a view, the clineprof.Profiler that records for it. The result is taken in all its forms before the view is
closed."""
import io

from clineprof import _boot
from clineprof._boot import files
from clineprof._profile import Profile

HEAP_INTERVAL = 65536  # bytes, the default of ckernprof --heap-interval


class Lprun:
    """Measures times, as line_profiler does."""

    def __init__(self, wish):
        from clineprof._compat.line_profiler import LineProfiler

        self.unit, self.skip_zero = wish.unit(LineProfiler.timer_unit), bool(wish.z)
        self.profiler = LineProfiler()
        self.view = self.profiler._profiler

    def add(self, function):
        self.profiler.add_function(function)

    def begin(self):
        self.profiler.enable()

    def end(self):
        self.profiler.disable()
        self.view.stop()

    def take(self):
        self.profile = Profile(self.view.snapshot())
        self.text = self._report()
        self.write = self.profiler.get_stats().to_file

    def _report(self):
        return self.view.render("text", unit=self.unit, skip_zero=self.skip_zero).rstrip()

    def close(self, kept):
        """Closes the view, unless the user keeps the profiler (-r), which then still has its counts."""
        if not kept:
            self.view.close()


class Mprun(Lprun):
    """Measures memory, as memory_profiler does."""

    def __init__(self, wish):
        from clineprof._compat.code_map import LineProfiler

        self.profiler = LineProfiler(include_children=bool(wish.c))
        self.view = self.profiler._profiler

    def add(self, function):
        self.profiler.add_function(function)
        self.view.add_function(function)

    def take(self):
        from clineprof._compat.memory_text import show_results

        self.profile = Profile(self.view.snapshot())
        text = io.StringIO()
        show_results(self.profiler, text)
        self.text = text.getvalue().rstrip()


class Clineprof(Lprun):
    """Measures times and memory, with clineprof's own profiler."""

    def __init__(self, wish):
        self.unit, self.skip_zero = wish.unit("auto"), bool(wish.z)
        self.profiler = self.view = _boot.core().Profiler(
            memory=not wish.no_memory, heap=HEAP_INTERVAL if wish.heap else 0,
            leaks=wish.leaks_value if wish.leaks else None)  # fmt: skip

    def begin(self):
        """Does nothing, as the profiler records from the moment it was made."""

    def add(self, function):
        self.view.add_function(function)

    def end(self):
        self.view.stop()

    def take(self):
        self.profile = Profile(self.view.snapshot())
        self.text = self._report()
        content = self.view.render("lprof", command="%%clineprof")
        self.write = lambda path: files.replace(path, content)

    def close(self, kept):
        self.view.close()
