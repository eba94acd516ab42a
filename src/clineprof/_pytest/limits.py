# SPDX-License-Identifier: MIT
"""The marker @pytest.mark.line_limits: a test fails if a line takes more time, adds or leaks more memory, or runs more
often than allowed."""
import types
import warnings

import pytest

from clineprof import _boot, _profile
from clineprof._boot import files, targets
from clineprof._boot.measures import OF_MEMORY
from clineprof._profile.limits import LIMITS, is_amount, over
from clineprof._pytest.words import DISPLACED, meant

FEWEST_CALLS = 8  # how often a function must be called for a verdict on leaks (docs/memory.md)
MOST_LINES = 10  # how many lines a message names at most


def start(config):
    name = "clineprof-limits"
    if not config.pluginmanager.has_plugin(name):
        config.pluginmanager.register(_Limits(), name)


class Wrong(Exception):
    """A fault of the marker, described in one line for its author."""


class _Limits:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        """Fails a test with a faulty marker before it runs."""
        wrong = next(filter(None, map(_fault, _marks(item))), None)
        if wrong is not None:
            pytest.fail("line_limits: " + wrong, pytrace=False)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        watches, said = [], []
        try:
            for mark in _marks(item):
                watches.append(_Watch(item, mark))
        except Wrong as error:
            said.append("line_limits: %s" % error)
        outcome = yield
        for watch in watches:
            if watch.profiler.displaced():
                item.warn(pytest.PytestWarning("line_limits could not be checked: " + DISPLACED))
            said += watch.end()
        if said and outcome.excinfo is None:
            outcome.force_exception(pytest.fail.Exception("\n".join(said), pytrace=False))


# ---- the marker ----


def _marks(item):
    """The line_limits markers of the test itself; if it has none, those of its class, or else of its module."""
    found = list(item.iter_markers_with_node("line_limits"))
    return [mark for node, mark in found if node is found[0][0]]


def _fault(mark):
    """What is wrong with the marker, in words; None if nothing is."""
    names = ", ".join(LIMITS)
    if mark.args:
        return "limits must be given by name: %s" % names
    for name, value in mark.kwargs.items():
        if name != "functions" and name not in LIMITS:
            return "there is no limit '%s'; there are %s" % (name, names)
        if name in LIMITS and not is_amount(value):
            return "%s is a number of %s, not %r" % (name, LIMITS[name].unit, value)
    if not set(mark.kwargs) & set(LIMITS):
        return "give at least one limit: %s" % names
    if "leaks" in mark.kwargs and "functions" not in mark.kwargs:
        return "leaks needs functions= that the test calls at least %d times" % FEWEST_CALLS
    return None


# ---- a test ----


class _Watch:
    """Watches the lines of a marker's functions while the test runs. When the object is freed, and its profiler with
    it, the functions get their own code back."""

    def __init__(self, item, mark):
        self.limits = {name: mark.kwargs[name] for name in LIMITS if name in mark.kwargs}
        self.folder = str(item.config.rootpath)
        self.profiler, self.selections = _make(self.limits), []
        if "functions" in mark.kwargs:
            self._select(mark.kwargs["functions"])
        elif getattr(item, "function", None) is not None:
            self.profiler.add_function(item.function)

    def _select(self, functions):
        listed = functions if isinstance(functions, (list, tuple, set)) else [functions]
        for function in listed:
            if isinstance(function, types.ModuleType):
                function = function.__name__
            if isinstance(function, str):
                self._select_named(function)
            else:
                _add(self.profiler, function)

    def _select_named(self, target):
        reason = None if targets.is_path(target) else targets.preimport(target)
        if reason is not None:
            raise Wrong("functions: '%s' cannot be imported: %s" % (target, reason))
        selection = _boot.core().Selection(self.profiler, [target], [])
        self.selections.append(selection)
        if selection.unmatched():
            raise Wrong("functions: there is no Python code of '%s'%s" % (target, meant(target)))

    def end(self):
        """Ends the watch. Returns the lines of a message about what exceeds its limit; [] if nothing does."""
        profile = _profile.Profile(self.profiler.snapshot())
        broken = []
        for function in profile.functions:
            for line in function.lines:
                told = list(over(line, self.limits))
                if told:
                    broken.append((line, told))
        return self._told(broken) + self._unjudged(profile)

    def _told(self, broken):
        if not broken:
            return []
        said = ["line_limits: %d line%s over the limit" % (len(broken), "s"[len(broken) == 1 :])]
        for line, told in broken[:MOST_LINES]:
            place = "%s:%d" % (files.seen_from(self.folder, line.function.file), line.line)
            said.append("  %s: %s" % (place, (line.text or "").strip()))
            said += ["      " + one for one in told]
        if len(broken) > MOST_LINES:
            said.append("  and %d more" % (len(broken) - MOST_LINES))
        return said

    def _unjudged(self, profile):
        if "leaks" not in self.limits or any(_calls(f) >= FEWEST_CALLS for f in profile.functions):
            return []
        return ["line_limits: leaks can be found only in functions that the test calls at least %d "
                "times" % FEWEST_CALLS]  # fmt: skip


def _make(limits):
    core = _boot.core()
    try:
        if "leaks" in limits:  # every leak is wanted here, because its size is compared with the limit
            return core.Profiler(heap=1, leaks="calls", leak_limit=0)
        needs = {LIMITS[name].needs for name in limits}
        return core.Profiler(memory=not needs.isdisjoint(OF_MEMORY), heap=1 if "heap" in needs else 0,
                             cpu=not needs.isdisjoint({"cpu", "queue"}),
                             counters=",".join(needs & {"io", "faults", "switches"}),
                             native="called" in needs)
    except RuntimeError as error:
        raise Wrong(str(error)) from None


def _add(profiler, function):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            profiler.add_function(function)
        except RuntimeWarning as warning:
            what = str(warning).removeprefix("clineprof: ").rpartition("; ")[0]
            raise Wrong("functions: " + what) from None


def _calls(function):
    """How often a function was called at most: its first line that ran has a hit, or more, in each call."""
    return next((hits for hits in function["hits"] if hits), 0)
