# SPDX-License-Identifier: MIT
"""memory_profiler's LineProfiler and the map from code to lines that it fills."""
import gc
import inspect
import re
import threading
import types

from clineprof import _boot
from clineprof._mem.memfile import BACKENDS, MIB
from clineprof._profile import Profile
from clineprof._compat.wrapping import Wrapping, warn, wrapped_function

VERSION = re.compile(r" \(\d+\)$")  # the end of the name of a function that has several versions: "f (2)"
MODES = {**BACKENDS, "tracemalloc": None}


def choose_backend(new_backend=None):
    """Returns the backend to use: the one that is asked for, or "psutil", with a warning, if that one is not available
    here. Raises KeyError for an unknown name."""
    if new_backend is None or MODES[new_backend] is not None:
        return new_backend or "psutil"
    warn("%s can not be used, psutil used instead" % new_backend)
    return "psutil"


def _mode(backend, include_children):
    if not include_children:
        return MODES[backend]
    if MODES[backend] != "rss":
        warn("include_children: the resident size is measured, not that of %s" % backend)
    return "tree"


class CodeMap(dict):
    """{code: {line: (increment in MiB, size in MiB, occurrences)}}. Code objects within another code object share the
    outermost one's inner dict."""

    def __init__(self, include_children, backend):
        super().__init__()
        self.include_children, self.backend = include_children, backend
        self._toplevel = []  # [(file, code, line numbers)] of the outermost code objects; subclasses may add to it

    def add(self, code, toplevel_code=None):
        """Adds a code object, and those within it, to the map."""
        if code in self:
            return
        if toplevel_code is not None:
            self[code] = self[toplevel_code]
        else:
            toplevel_code = code
            filename = code.co_filename
            try:
                lines, start = inspect.getsourcelines(code)
            except (OSError, TypeError):
                print("ERROR: Could not find file " + _boot.shown(filename))
                return
            self._toplevel.append((filename, code, range(start, start + len(lines))))
            self[code] = {}
        for inner in filter(inspect.iscode, code.co_consts):
            self.add(inner, toplevel_code=toplevel_code)

    def items(self):
        """Yields (file, ((line, measures or None), ..)) for each outermost code object that has run."""
        for filename, code, lines in self._toplevel:
            measures = self[code]
            if measures:
                yield filename, ((line, measures.get(line)) for line in lines)

    def fill(self, profile):
        """Replaces the measures by those of a profile."""
        codes = {(c.co_filename, c.co_firstlineno, c.co_name): c for c in self}
        for measures in self.values():
            measures.clear()
        for function in profile.functions:
            name = VERSION.sub("", function.name).rpartition(".")[2]
            code = codes.get((function.file, function.line, name))
            if code is not None:
                _add_function(self[code], function)
        for measures in self.values():
            ordered = sorted(measures.items())
            measures.clear()
            measures.update(ordered)


def _add_function(measures, function):
    rows = [(line.line, line.hits, line.rss, line.increment) for line in function.lines if line.hits]
    if not rows:
        return
    # memory_profiler has a row for the call itself, with the size of the process before the first line.
    _, hits, rss, increment = rows[0]
    size = rss - increment // hits
    for line, hits, rss, increment in [(function.line, hits, size, size), *rows]:
        more, largest, before = measures.get(line, (0, 0, 0))
        measures[line] = more + increment / MIB, max(largest, rss / MIB), before + hits


class LineProfiler(Wrapping):
    """Measures the memory of the lines of the functions that it is called with, while it is enabled. `code_map` has the
    numbers, and show_results prints them.

    backend: "psutil" and "posix" measure the resident size, "psutil_pss" the proportional size and "psutil_uss" the
    unique size. include_children: measure the resident size of this process and of all its descendants. max_mem: has no
    effect here; ckernprof --pdb-mmem stops when memory exceeds a limit.
    """

    def __init__(self, **kw):
        self.backend = choose_backend(kw.get("backend"))
        self.max_mem = kw.get("max_mem")
        if self.max_mem is not None:
            warn("max_mem has no effect; run the program with ckernprof --pdb-mmem")
        self.enable_count = 0
        children = kw.get("include_children", False)
        self.code_map = CodeMap(children, self.backend)
        self._profiler = _boot.core().Profiler(memory=_mode(self.backend, children))
        self._profiler.gate(False)
        self._selected = set()
        self._lock = threading.RLock()

    @property
    def code_map(self):
        """A CodeMap of what was measured so far."""
        if self._stale:
            self._stale = False
            self._code_map.fill(Profile(self._profiler.snapshot()))
        return self._code_map

    @code_map.setter
    def code_map(self, code_map):
        self._code_map, self._stale = code_map, False

    def __call__(self, func=None, precision=1):
        """Adds the function, and returns one that enables the profiler while it runs."""
        if func is None:
            return lambda function: self(function, precision=precision)
        self.add_function(func)
        return self.wrap_function(func)

    def add_function(self, func):
        """Adds a function. Issues a UserWarning if it has no code object to measure."""
        code = getattr(func, "__code__", None)
        if code is None:
            warn("Could not extract a code object for the object %r" % (func,))
        else:
            self.code_map.add(code)

    def wrap_function(self, func):
        """Returns a function that enables the profiler while this one runs."""
        self._select(func)
        return wrapped_function(self, func)

    def _select(self, func):
        if getattr(func, "__code__", None) in self._code_map:
            self._selected.add(func.__code__)
            self._profiler.add_function(func)

    def _select_rest(self):
        """Selects the functions of code objects that were added to the map without a function."""
        for code in [code for _, code, *_ in self._code_map._toplevel]:
            if code not in self._selected:
                self._selected.add(code)
                for found in gc.get_referrers(code):
                    if isinstance(found, types.FunctionType) and found.__code__ is code:
                        self._profiler.add_function(found)

    def enable_by_count(self):
        """Enables the profiler if it is not enabled. Each call is undone by one disable_by_count()."""
        with self._lock:
            self.enable_count += 1
            if self.enable_count == 1:
                self.enable()

    def disable_by_count(self):
        """Undoes one enable_by_count(). When all are undone, the profiler is disabled; further calls do nothing."""
        with self._lock:
            if self.enable_count > 0:
                self.enable_count -= 1
                if self.enable_count == 0:
                    self.disable()

    def enable(self):
        self._select_rest()
        self._profiler.gate(True)

    def disable(self):
        self._profiler.gate(False)
        self._stale = True
