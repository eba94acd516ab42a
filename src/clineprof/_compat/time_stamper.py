# SPDX-License-Identifier: MIT
"""memory_profiler's TimeStamper: notes when functions and `with` blocks ran, and the size of the process then."""
import contextlib
import os
import sys
import time

from clineprof import _boot
from clineprof._compat.code_map import MODES
from clineprof._mem.memfile import MIB, stay_row
from clineprof._compat.wrapping import wrapped_calls


class TimeStamper:
    """Notes the time and the memory at the beginning and the end of each call of the functions that it decorates, and
    of each `with stamper.timestamp(name):`. show_results writes rows of mprof's format."""

    def __init__(self, backend, include_children=False):
        self.backend, self.include_children = backend, include_children
        self.current_stack_level = -1
        self._stays = []  # [(name, level, (MiB, seconds since 1970) at the beginning, the same pair at the end)]

    def __call__(self, func=None, precision=None):
        if func is None:
            return lambda function: self(function, precision=precision)
        name = "%s.%s" % (func.__module__, func.__name__)
        return wrapped_calls(func, lambda: (contextlib.nullcontext(), self._begin(name)))

    wrap_function = __call__

    @contextlib.contextmanager
    def timestamp(self, name="<block>"):
        end = self._begin("." + name)
        try:
            yield self
        finally:
            end()

    def _begin(self, name):
        """Begins a stay in a function or block. Returns the function to call at its end."""
        self.current_stack_level += 1
        level, before = self.current_stack_level, self._now()

        def end():
            self._stays.append((name, level, before, self._now()))
            self.current_stack_level -= 1

        return end

    def _now(self):
        sizes = _boot.core().sizes(os.getpid(), self.include_children, MODES[self.backend])
        return sum(size for _, size in sizes) / MIB, time.time()

    def show_results(self, stream=None):
        """Writes a row for each stay to a text stream, or to standard output."""
        stream = sys.stdout if stream is None else stream
        for name, level, (size, enter), (size_after, leave) in self._stays:
            stream.write(stay_row((_boot.shown(name), enter, size, leave, size_after, level)))
