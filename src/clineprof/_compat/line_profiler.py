# SPDX-License-Identifier: MIT
"""line_profiler's class LineProfiler, on top of clineprof's profiler."""
import os
import sys
import threading
import types
import weakref

from clineprof import _boot
from clineprof._boot.cython import is_function
from clineprof._compat import line_stats
from clineprof._profile import Profile
from clineprof._compat.scoping import ScopingPolicy
from clineprof._compat.wrapping import MARK, Wrapping, functions_in_class, functions_of, warn


class LineProfiler(Wrapping):
    """Measures the lines of the functions that it is given, while it is enabled. Called with a function, a method, a
    property, a class or the like, it returns one that enables the profiler while it runs.

    >>> import clineprof
    >>> profiler = clineprof.LineProfiler()
    >>> @profiler
    ... def double(n):
    ...     return 2 * n
    >>> double(4)
    8
    >>> [rows] = profiler.get_stats().timings.values()
    >>> [hits for line, hits, time in rows]
    [1]

    If it is enabled in one thread, it counts in all threads. functions: the list of functions that were added.
    timer_unit: seconds per unit of its times. wrap_trace and set_frame_local_trace, with which line_profiler chooses
    how to share the trace function, are kept and have no effect, because no trace function is set.
    """

    timer_unit = 1e-9

    def __init__(self, *functions, wrap_trace=None, set_frame_local_trace=None):
        self.functions = []
        self.threaddata = threading.local()
        self.wrap_trace = bool(wrap_trace)
        self.set_frame_local_trace = bool(set_frame_local_trace)
        self._profiler = _boot.core().Profiler(memory=False)
        self._profiler.gate(False)
        self._threads = set()  # the threads in which the profiler is enabled
        self._lock = threading.RLock()
        _alive.add(self)
        for function in functions:
            self.add_function(function)

    # ---- on and off ----

    @property
    def enable_count(self):
        """How often enable_by_count() was called in this thread, less the calls of disable_by_count()."""
        return getattr(self.threaddata, "enable_count", 0)

    @enable_count.setter
    def enable_count(self, value):
        self.threaddata.enable_count = value

    # The count changes before the state, because a signal handler may call these methods in between.
    def enable_by_count(self):
        """Enables the profiler if it is not enabled. Each call is undone by one disable_by_count()."""
        count = self.enable_count = self.enable_count + 1
        if count == 1:
            self.enable()

    def disable_by_count(self):
        """Undoes one enable_by_count(). When all are undone, the profiler is disabled; further calls do nothing."""
        count = self.enable_count
        if count > 0:
            self.enable_count = count - 1
            if count == 1:
                self.disable()

    def enable(self):
        """Starts counting, until disable() in the same thread."""
        self.threaddata.known = True
        with self._lock:
            self._threads.add(threading.get_ident())
            self._profiler.gate(True)

    def disable(self):
        """Stops counting, unless another thread has enabled the profiler."""
        self.threaddata.known = True
        with self._lock:
            self._threads.discard(threading.get_ident())
            if not self._threads:
                self._profiler.gate(False)

    # ---- what is measured ----

    def __call__(self, func):
        """Adds the functions that run when `func` is called, and returns a wrapper that enables the profiler. Returns
        the same object for a class, for what this profiler has wrapped, and for what is written in C."""
        self.add_callable(func)
        return self.wrap_callable(func)

    def add_function(self, func):
        """Adds a function, or the function of a method. Issues a UserWarning if there is no code object to measure, or
        if the function is a wrapper of another one."""
        inner = getattr(func, "__func__", func)
        if not isinstance(inner, types.FunctionType) and not is_function(inner):
            warn("Could not extract a code object for the object %r" % (func,))
            return
        if hasattr(func, "__wrapped__"):
            warn("Adding a function with a `.__wrapped__` attribute: the wrapped function is "
                 "profiled, `%s.__wrapped__`." % func.__name__)
        self._profiler.add_function(inner)
        self.functions.append(func)

    def remove_function(self, func):
        """Stops counting the lines of a function. What was counted stays."""
        self._profiler.remove_function(getattr(func, "__func__", func))
        self.functions = [function for function in self.functions if function is not func]

    @classmethod
    def get_underlying_functions(cls, func):
        """The functions that run when `func` is called, or looked up as an attribute; for a class, the functions that
        are defined in it. Raises TypeError if `func` is not callable and holds nothing callable."""
        seen, found = set(), []
        for item in functions_of(func, seen):
            found += functions_in_class(item, seen) if isinstance(item, type) else [item]
        return found

    def add_callable(self, func, guard=None, name=None):
        """Adds the functions behind a callable, a property, a partial, a class or the like. Returns 1 if there was one,
        else 0. guard(function) tells whether to leave a function out; by default functions that this profiler has
        wrapped are left out. Raises TypeError if `func` is not callable and holds nothing callable."""
        added = 0
        for function in self.get_underlying_functions(func):
            if not (guard or self.has_wrapped)(function):
                mark = getattr(function, MARK, None)
                self.add_function(mark.func if mark else function)
                added = 1
        return added

    def add_class(self, cls, *, scoping_policy=None, wrap=False):
        """Adds the members of a class, also of classes within it, and returns their number. `scoping_policy` decides
        which members (ScopingPolicy). With `wrap` the members are replaced by wrappers that enable the profiler."""
        return self._add_namespace(cls, ScopingPolicy.to_policies(scoping_policy), wrap, set())

    def add_module(self, mod, *, scoping_policy=None, wrap=False):
        """Adds the functions and classes of a module, as add_class does."""
        return self._add_namespace(mod, ScopingPolicy.to_policies(scoping_policy), wrap, set())

    def _add_namespace(self, namespace, policies, wrap, seen):
        takes = {kind: policy.get_filter(namespace, kind) for kind, policy in policies.items()}
        added, to_wrap = 0, {}
        for name, value in list(vars(namespace).items()):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, (type, types.ModuleType)):
                kind = "class" if isinstance(value, type) else "module"
                added += bool(takes[kind](value)
                              and self._add_namespace(value, policies, wrap, seen))
            elif self._add_member(value, takes["func"]):
                added += 1
                to_wrap[name] = value
        if wrap:
            self.wrap_members(namespace, to_wrap)
        return added

    def _add_member(self, value, takes):
        try:
            return self.add_callable(value, lambda f: self.has_wrapped(f) or not takes(f))
        except TypeError:  # neither a callable nor a holder of one
            return 0

    # ---- what was measured ----

    def get_stats(self):
        """Returns what was counted so far as LineStats, in units of 1e-9 seconds."""
        return line_stats.of_profile(Profile(self._profiler.snapshot()))

    def dump_stats(self, filename):
        """Writes get_stats() to a file that line_profiler and clineprof open."""
        self.get_stats().to_file(filename)

    def print_stats(self, stream=None, output_unit=None, stripzeros=False, details=True,
                    summarize=False, sort=False, rich=False, *, config=None):  # fmt: skip
        """Writes the tables of get_stats() to a text stream, or to standard output. The options are those of
        show_text."""
        self.get_stats().print(stream, output_unit, stripzeros, details, summarize, sort, rich,
                               config=config)  # fmt: skip

    # ---- attributes for older programs ----

    @property
    def code_map(self):
        """{code: {line: {"code", "lineno", "nhits", "total_time"}}} of get_stats()."""
        timings = self.get_stats().timings
        return {code: {line: {"code": code, "lineno": line, "nhits": hits, "total_time": time}
                       for line, hits, time in timings.get(key, ())}
                for code, key in self._codes().items()}  # fmt: skip

    @property
    def code_hash_map(self):
        """{code: [a number for each of its lines]}"""
        return {code: [hash((key, line)) for *_, line in code.co_lines() if line is not None]
                for code, key in self._codes().items()}  # fmt: skip

    def _codes(self):
        functions = [getattr(function, "__func__", function) for function in self.functions]
        return {f.__code__: (f.__code__.co_filename, f.__code__.co_firstlineno, f.__qualname__)
                for f in functions}  # fmt: skip

    @property
    def last_time(self):
        """{code: {"f_lineno": line}} of the added functions that run in this thread, with the line of each one's
        innermost call; {} while the profiler is not enabled in this thread. Raises KeyError if it has never been
        enabled here."""
        if not getattr(self.threaddata, "known", False):
            raise KeyError("No profiling data on the current thread (`threading.get_ident()` = %d)"
                           % threading.get_ident())
        found, codes = {}, self._codes()
        frame = sys._getframe(1) if threading.get_ident() in self._threads else None
        while frame is not None:
            if frame.f_code in codes:
                found.setdefault(frame.f_code, {"f_lineno": frame.f_lineno})
            frame = frame.f_back
        return found

    @property
    def c_last_time(self):
        """The values of last_time, by the hash of each code object's bytes."""
        return {hash(code.co_code): record for code, record in self.last_time.items()}


# The profilers to prepare in the child of a fork. The child has one thread, so it needs new locks: another thread may
# have held the old ones.
_alive = weakref.WeakSet()


def _after_fork():
    for profiler in list(_alive):
        profiler._lock = threading.RLock()
        profiler._threads &= {threading.get_ident()}
        profiler._profiler.gate(bool(profiler._threads))


os.register_at_fork(after_in_child=_after_fork)
