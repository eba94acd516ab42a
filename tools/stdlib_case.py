# SPDX-License-Identifier: MIT
"""Runs one module of the interpreter's own test suite, in a process of its own, for stdlib_check.py.

    stdlib_case.py bare|reference|tracer MODULE OUT.json HOW.json [LIBRARY..]

Every function of MODULE and of the LIBRARY modules is passed to `profile`. In the case `tracer` that is ckernprof's,
in `reference` that of the reference counter, and in `bare` one that does nothing. Functions that tests define while
they run are passed to it, too: in all three cases the test modules are compiled with `profile` as the innermost
decorator of every def and around every lambda. HOW.json tells which tests are left out, for which functions the
reference uses the slow, exact counter that 3.12 and 3.13 need, and how many calls fewer than ROOM are to fit on the
stack.

OUT.json gets each test's outcome and the functions that were selected before the tests. OUT.json.hits gets the hits
that the reference counted.
"""

import _thread
import ast
import atexit
import builtins
import fnmatch
import gc
import importlib.machinery
import importlib.util
import json
import operator
import os
import random
import sys
import types
import unittest

MARK = "__profile__"
REFERENCE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    "tests", "conformance", "reference.py",
)
# Modules that ckernprof's process has loaded. The other cases get stand-ins, because some tests go through all modules.
OURS = ("clineprof", "clineprof._boot", "clineprof._boot.config",
        "clineprof._boot.spawning", "clineprof._core")
# Functions that set trace functions, or that start threads without one.
TRACING = [(sys, name) for name in (
    "settrace", "setprofile", "_settraceallthreads", "_setprofileallthreads")]
if sys.version_info >= (3, 12):
    TRACING.append((sys.monitoring, "register_callback"))
else:
    TRACING += [(_thread, "start_new_thread"), (_thread, "start_new")]
# Parts of the test package that are tools, not tests.
TOOLS = "test.support", "test.libregrtest"
# A `profile` that returns its function. Like ckernprof's it is not written in Python, so it adds no frame.
NOTHING = operator.methodcaller("__get__", None, object)
# How many calls fit on the stack when the tests begin. Tests that recurse up to the limit depend on it.
ROOM = 980
# Modules that are imported first, because the three cases or a profiler would import them at different times.
COMMON = "functools", "inspect", "linecache", "re", "string", "threading", "tokenize", "traceback"


def inside(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def is_test(name):
    return name.startswith("test.") and not inside(name, TOOLS)


# ---- test modules with a mark at every function ----------------------------------------------
class Marker(ast.NodeTransformer):
    """Puts a mark (MARK) at every function. A mark has the position of its function, so no line number changes."""

    def mark(self, at):
        return ast.copy_location(ast.Name(MARK, ast.Load()), at)

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        # the mark's line is that of the first decorator, which is the function's first line
        mark = self.mark(node.decorator_list[0] if node.decorator_list else node)
        # Stands outside of @types.coroutine, which makes another code object.
        copies = [place for place, decorator in enumerate(node.decorator_list)
                  if getattr(decorator, "attr", getattr(decorator, "id", "")) == "coroutine"]
        node.decorator_list.insert(min(copies, default=len(node.decorator_list)), mark)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.Call(self.mark(node), [node], []), node)


class MarkedLoader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        path = self.get_filename(name)
        tree = Marker().visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class MarkedFinder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if not is_test(name):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = MarkedLoader(name, spec.loader.path)
        return spec


def name_of(test):
    return test.id() if hasattr(test, "id") else repr(type(test))


# ---- outcomes --------------------------------------------------------------------------------
class Outcomes(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.found, self.running = {}, None

    def note(self, test, outcome, error=None):
        test = getattr(test, "test_case", test)  # a subtest counts for its test
        self.found.setdefault(name_of(test), []).append((outcome, describe(error)))

    def startTest(self, test):
        super().startTest(test)
        self.running = test
        random.seed(0)

    def addSuccess(self, test):
        self.note(test, "ok")

    def addFailure(self, test, error):
        self.note(test, "fail", error)

    def addError(self, test, error):
        self.note(test, "error", error)

    def addSkip(self, test, reason):
        self.note(test, "skip")

    def addExpectedFailure(self, test, error):
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            failed = issubclass(error[0], test.failureException)
            self.note(test, "fail" if failed else "error", error)


def describe(error):
    try:
        return f"{error[0].__name__}: {str(error[1])[:200]!r}" if error else ""
    except Exception:
        return error[0].__name__


# ---- selection -------------------------------------------------------------------------------
def functions(libraries):
    """All functions of the tests and the libraries that exist, in an order that does not depend on addresses. Wrappers
    are left out: the function within a wrapper is in the list itself."""
    gc.collect()
    found = []
    for thing in gc.get_objects():
        if type(thing) is types.FunctionType and not hasattr(thing, "__wrapped__"):
            name = thing.__globals__.get("__name__")
            if isinstance(name, str) and (is_test(name) or inside(name, libraries)):
                found.append(thing)
    return sorted(found, key=identity)


def identity(function):
    code = function.__code__
    return code.co_filename, code.co_firstlineno, function.__qualname__


def load_reference():
    spec = importlib.util.spec_from_file_location("clineprof_reference", REFERENCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counter(module, exact):
    """Makes the reference counter for this version of Python. On 3.12 and 3.13 the functions in `exact` are counted by
    its slow, exact way."""
    if sys.version_info < (3, 12):
        return module.Traced()
    if sys.version_info >= (3, 14) or not exact:
        return module.Monitored()

    class Exact(module.Watched):
        def watch(self, code):
            slow = [code.co_filename, code.co_firstlineno] in exact
            (super() if slow else super(module.Watched, self)).watch(code)

    return Exact()


def start_reference(module, exact, out):
    selection = counter(module, exact)
    process = os.getpid()

    def write():
        if os.getpid() == process:
            module.write(selection, out + ".hits")

    # Is registered first, so it runs last, as ckernprof's does.
    atexit.register(write)
    selection.start()
    return selection


def note_tracing(outcomes):
    """Notes tests that set a trace function. The reference does not see what runs within a trace function, and may lose
    its own, which is set again for the next test."""
    trace = sys.gettrace()

    def watched(function):
        def noting(*arguments):
            # Threads begin, and some tests end, by setting the function that is set already; that does not count.
            if outcomes.running is not None and arguments[-1:] != (trace,):
                outcomes.note(outcomes.running, "traces")
            return function(*arguments)

        return noting

    def stop(test):
        outcomes.running = None
        if trace is not None and sys.gettrace() != trace:
            outcomes.note(test, "traces")
            sys.settrace(trace)

    outcomes.stopTest = stop
    for place, name in TRACING:
        if hasattr(place, name):
            setattr(place, name, watched(getattr(place, name)))


# ---- the run ---------------------------------------------------------------------------------
def dive(depth):
    try:
        return dive(depth + 1)
    except RecursionError:
        return depth


def level_stack(fewer):
    """Makes sure that ROOM calls, or `fewer` fewer, fit on the stack in all three cases, whatever frames are below the
    tests and whatever a counter calls. The trace function is taken off meanwhile, because the interpreter drops one
    that finds no room."""
    get, set = sys.getrecursionlimit, sys.setrecursionlimit
    trace = sys.gettrace()
    sys.settrace(None)
    profile(dive)  # noqa: F821
    more = ROOM - fewer - dive(0)
    sys.settrace(trace)
    set(get() + more)
    sys.getrecursionlimit = lambda: get() - more
    sys.setrecursionlimit = lambda limit: set(limit + more)


def without(suite, left_out):
    """A copy of the suite without the tests for whose id left_out() is true."""
    kept = [without(test, left_out) if isinstance(test, unittest.TestSuite) else test
            for test in suite
            if isinstance(test, unittest.TestSuite) or not left_out(name_of(test))]
    return type(suite)(kept)


def shake(seed):
    """Allocates memory, so that later objects have other addresses, and sets of them another order. The result must be
    kept."""
    chance = random.Random(seed)
    return [bytes(size) for size in range(0, 480, 16) for _ in range(chance.randrange(64))]


def prepare(libraries):
    setattr(builtins, MARK, builtins.profile)
    sys.meta_path.insert(0, MarkedFinder)
    for name in OURS:
        stand_in = types.ModuleType(name)
        stand_in.__file__ = f"/{name}.py"
        sys.modules.setdefault(name, stand_in)
    for module in (*COMMON, *libraries):
        importlib.import_module(module)
    gc.disable()  # a collection's moment depends on what a profiler allocates
    from test import support

    support.use_resources = []


def main():
    case, name, out, how, *libraries = sys.argv[1:]
    del sys.path[0], sys.argv[1:]
    with open(how, encoding="utf-8") as stream:
        how = json.load(stream)
    shaken = shake(how["seed"])
    reference = load_reference()
    builtins.profile = {
        "bare": lambda: NOTHING,
        "reference": lambda: start_reference(reference, how["exact"], out).profile,
        "tracer": lambda: builtins.profile,
    }[case]()
    prepare(libraries)
    outcomes = Outcomes()
    if case == "reference":
        note_tracing(outcomes)
    suite = without(unittest.defaultTestLoader.loadTestsFromName("test." + name), lambda test: (
        test in how["left out"] or any(fnmatch.fnmatchcase(test, end) for end in how["endless"])))
    selected = []
    for function in functions(libraries):
        selected.append(identity(function))
        profile(function)  # noqa: F821
    del function
    level_stack(how["fewer calls"])
    suite.run(outcomes)
    del suite, shaken
    gc.collect()
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"outcomes": outcomes.found, "selected": selected}, stream)


if __name__ == "__main__":
    main()
