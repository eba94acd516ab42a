# SPDX-License-Identifier: MIT
"""Runs the tests of a package with pytest, in a process of its own, for package_check.py.

    package_case.py bare|reference|tracer FOLDER OUT.json HOW.json MODULE.. -- [PYTEST ARG..]

The tests run in FOLDER. HOW.json tells which tests are left out, and for which functions the reference uses
the slow, exact counter that 3.12 and 3.13 need. The case `tracer` selects the modules with ckernprof -p, which
imports them first; the other two cases import them first, too.

OUT.json gets each test's outcome, and OUT.json.hits the hits that the reference counted in all files of the
modules. Files that pytest itself compiles, to rewrite their asserts, are left out, because -p does not see them.
"""

import gc
import importlib
import importlib.util
import json
import os
import random
import sys

import stdlib_case


class Outcomes:
    """A pytest plugin that collects the outcome of each test, and leaves some tests out."""

    def __init__(self, left_out):
        self.left_out, self.found = set(left_out), {}

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid not in self.left_out]

    def pytest_runtest_setup(self):
        random.seed(0)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.note(report, "xfail " * hasattr(report, "wasxfail"))

    def pytest_collectreport(self, report):
        if report.outcome != "passed":
            self.note(report, "collection ")

    def note(self, report, prefix):
        why = str(report.longrepr)[-200:] if report.outcome == "failed" else ""
        self.found.setdefault(report.nodeid, []).append((prefix + report.outcome, why))


def places_of(modules):
    """The folders or files in which these modules lie, to compare with the start of a path."""
    specs = [importlib.util.find_spec(name) for name in modules]
    return tuple(place for spec in specs for place in spec.submodule_search_locations or [spec.origin])


def count_all(selection, places):
    """Selects all code that runs in these places, also code that is made later. Returns the set of files whose code is
    not to be selected, empty and for the caller to fill."""
    rewritten = set()

    def find(code):
        file = code.co_filename
        if id(code) not in selection.codes and file.startswith(places) and file not in rewritten:
            selection.add_code(code, code.co_name)
        return id(code) in selection.codes

    selection.find_copy = find
    return rewritten


def leave_out(selection, rewritten):
    for module in list(sys.modules.values()):
        if type(getattr(module, "__loader__", None)).__name__ == "AssertionRewritingHook":
            rewritten.add(module.__file__)
    for key, (code, *_) in list(selection.codes.items()):
        if code.co_filename in rewritten:
            del selection.codes[key]


def main():
    case, folder, out, how, *words = sys.argv[1:]
    del sys.path[0], sys.argv[1:]
    modules, words = words[:words.index("--")], words[words.index("--") + 1:]
    with open(how, encoding="utf-8") as stream:
        how = json.load(stream)
    os.chdir(folder)
    gc.disable()  # a collection's moment depends on what a profiler allocates
    shaken = stdlib_case.shake(how["seed"])
    if case == "reference":
        selection = stdlib_case.start_reference(stdlib_case.load_reference(), how["exact"], out)
        rewritten = count_all(selection, places_of(modules))
    for name in modules:
        importlib.import_module(name)
    import pytest

    outcomes = Outcomes(how["left out"])
    pytest.main(["-q", "-p", "no:cacheprovider", *words], plugins=[outcomes])
    del shaken
    if case == "reference":
        leave_out(selection, rewritten)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"outcomes": outcomes.found, "selected": []}, stream)


if __name__ == "__main__":
    main()
