# SPDX-License-Identifier: MIT
"""One module of the interpreter's own test suite, run in a process of its own for stdlib_check.py.

    stdlib_case.py bare|reference|tracer MODULE OUT.json HOW.json [LIBRARY..]

Every function of MODULE and of the LIBRARY modules is handed to `profile`, which is ckernprof's, the
reference counter's, or one that does nothing. Functions that the tests define as they run are handed
to it as well: the test modules are compiled with `profile` as the innermost decorator of every def
and around every lambda, in all three cases alike. HOW.json tells which tests are left out, and for
which functions the reference takes the slow, exact counter that 3.12 and 3.13 need.

OUT.json gets each test's outcome and the functions selected before the tests, OUT.json.hits what the
reference counted.
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
# what ckernprof's process has loaded: tests look through all modules
OURS = ("clineprof", "clineprof._boot", "clineprof._boot.config",
        "clineprof._boot.spawning", "clineprof._core")
# what sets trace functions, or starts threads that have none
TRACING = [(sys, name) for name in (
    "settrace", "setprofile", "_settraceallthreads", "_setprofileallthreads")]
if sys.version_info >= (3, 12):
    TRACING.append((sys.monitoring, "register_callback"))
else:
    TRACING += [(_thread, "start_new_thread"), (_thread, "start_new")]
# parts of the test package that are tools and not tests
TOOLS = "test.support", "test.libregrtest"
# a `profile` that returns its function and, like ckernprof's, is not written in Python
NOTHING = operator.methodcaller("__get__", None, object)
# calls that fit on the stack when the tests begin: those that recurse to the limit count on it
ROOM = 980
# what the three cases, or a profiler, would otherwise import at different times
COMMON = "functools", "inspect", "linecache", "re", "string", "threading", "tokenize", "traceback"


def inside(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


def is_test(name):
    return name.startswith("test.") and not inside(name, TOOLS)


# ---- test modules with a mark at every function ----------------------------------------------
class Marker(ast.NodeTransformer):
    """The marks take the place of the function they belong to, so no line number changes."""

    def mark(self, at):
        return ast.copy_location(ast.Name(MARK, ast.Load()), at)

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        # the mark's line is that of the first decorator, which is the function's first line
        mark = self.mark(node.decorator_list[0] if node.decorator_list else node)
        # types.coroutine makes another code object
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
    """All that exist, in an order that does not depend on memory. What `profile` finds within a
    wrapper is there by itself."""
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
    """The reference's class for this version. Its slow one is for the functions named only."""
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

    # registered first, it runs last, as ckernprof's does
    atexit.register(write)
    selection.start()
    return selection


def note_tracing(outcomes):
    """Tests with a trace function of their own: the reference sees nothing that runs inside one,
    and may lose its own. It gets that back for the next test."""
    trace = sys.gettrace()

    def watched(function):
        def noting(*arguments):
            # threads begin, and some tests end, with setting what is there already
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


def level_stack():
    """Neither the frames below the tests nor a counter's own calls may decide where a recursion
    ends. A trace function that finds no room is dropped by the interpreter, so it is put back."""
    get, set = sys.getrecursionlimit, sys.setrecursionlimit
    trace = sys.gettrace()
    sys.settrace(None)
    profile(dive)  # noqa: F821
    more = ROOM - dive(0)
    sys.settrace(trace)
    set(get() + more)
    sys.getrecursionlimit = lambda: get() - more
    sys.setrecursionlimit = lambda limit: set(limit + more)


def without(suite, left_out):
    """left_out(id of a test)"""
    kept = [without(test, left_out) if isinstance(test, unittest.TestSuite) else test
            for test in suite
            if isinstance(test, unittest.TestSuite) or not left_out(name_of(test))]
    return type(suite)(kept)


def shake(seed):
    """Later objects lie elsewhere, and sets of them have another order."""
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
    gc.disable()  # when it runs depends on what a profiler allocates
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
    level_stack()
    suite.run(outcomes)
    del suite, shaken
    gc.collect()
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"outcomes": outcomes.found, "selected": selected}, stream)


if __name__ == "__main__":
    main()
