# SPDX-License-Identifier: MIT
"""The profilers of the magics. Each kind has a profiler, which is `profile` in the builtins while it runs and which -r
returns, and a view, the clineprof.Profiler that records for it. The result is taken in all its forms before the view is
closed: `profile`, in which cells have their names (In[4]), and `text`."""
import io

from clineprof import _boot
from clineprof._profile import Profile

HEAP_INTERVAL = 65536  # bytes, the default of ckernprof --heap-interval
TIMELINE_INTERVAL = 0.01  # seconds, the default of ckernprof --timeline


class Lprun:
    """Measures times, as line_profiler does."""

    catches_exits = True  # SystemExit and KeyboardInterrupt end the statement, not the cell

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

    def take(self, cell, name):
        """Takes the result. cell: the name of the cell that runs; name(file): that of the cell that has this file, or
        None."""
        self.profile = self._named(cell, name)
        self.text = self.view.render("text", unit=self.unit, skip_zero=self.skip_zero).rstrip()
        self.write = self.profiler.get_stats().to_file

    def _named(self, cell, name, *more):
        return Profile(_boot.core().total((self.view.render("lprof", command=cell), *more), name))

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

    def take(self, cell, name):
        from clineprof._compat.memory_text import show_results

        self.profile = self._named(cell, name)
        text = io.StringIO()
        show_results(self.profiler, text)
        self.text = text.getvalue().rstrip()


class Clineprof(Lprun):
    """Measures times and memory, with clineprof's own profiler."""

    catches_exits = False

    def __init__(self, wish):
        self.unit, self.skip_zero = wish.unit("auto"), not wish.all
        self.sampler = None
        if wish.timeline:
            self.sampler = _boot.core().Sampler(0, wish.interval(TIMELINE_INTERVAL))
        self.profiler = self.view = _boot.core().Profiler(
            tracer="light" if wish.light else None, memory=not wish.no_memory, heap=HEAP_INTERVAL if wish.heap else 0,
            leaks=wish.leaks_value if wish.leaks else None, cpu=bool(wish.cpu),
            native=bool(wish.native), counters=wish.counted(), tensors=bool(wish.tensors))  # fmt: skip

    def begin(self):
        """Begins the timeline. The profiler records from the moment it was made."""
        if self.sampler:
            self.sampler.start()

    def add(self, function):
        self.view.add_function(function)

    def end(self):
        self.view.stop()
        if self.sampler:
            self.sampler.look()
            self.sampler.stop()

    def take(self, cell, name):
        more = (self.sampler.content(),) if self.sampler else ()
        self.profile = self._named(cell, name, *more)
        self.text = self.profile.rendered(self.unit, self.skip_zero).rstrip()
        self.write = lambda path: self.profile.write(path, "lprof")

    def close(self, kept):
        self.view.close()
