# SPDX-License-Identifier: MIT
"""Checks the profiler on the standard library: runs modules of the interpreter's own test suite. All their functions
are selected, and those of the modules that they test. Each test module runs in processes of its own, in three cases:

    bare        no profiler: gives each test's outcome
    reference   the counter of tests/conformance/reference.py: gives the hits of every line
    tracer      ckernprof: gives hits and outcomes

With --outcomes there is no reference: the test modules of a second table are compared by outcomes alone, because
threads, processes and time make their hits different in each run.

Under the tracer each test must have its bare outcome, and every line the reference's hits. Tests that have another
outcome under the reference, or that set trace functions themselves, are left out of the hits. A difference counts if
it is there again with objects at other addresses and with the exact counter of the reference. Other differences are
called unsteady (they come from threads, time, or sets of objects), and their number is printed. Nor does a difference
count that is gone where one call fewer fits on the reference's stack: its callbacks are calls, too, so near the limit
of recursion it may be one off. Exit status: 0 all equal, 1 something differs, 2 nothing to run.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
from harness import Profile, clean_environment, without_zeros  # noqa: E402

CASE = ROOT / "tools" / "stdlib_case.py"
SHOWN = 12
# Settings of runs with objects at other addresses.
SHAKEN = {"seed": 1, "environment": {"PYTHONMALLOC": "malloc"}}
SHAKEN_MORE = {"seed": 2}

# Each row: a test module, and the modules that it tests. Without these it is the name behind test_; `-` means none.
TESTS = """
test_abc                abc _py_abc
test_argparse
test_ast
test_asyncgen           -
test_asyncio.test_base_events       asyncio
test_asyncio.test_context           asyncio
test_asyncio.test_futures           asyncio
test_asyncio.test_locks             asyncio
test_asyncio.test_pep492            asyncio
test_asyncio.test_protocols         asyncio
test_asyncio.test_queues            asyncio
test_asyncio.test_runners           asyncio
test_asyncio.test_streams           asyncio
test_asyncio.test_taskgroups        asyncio
test_asyncio.test_tasks             asyncio
test_asyncio.test_threads           asyncio
test_asyncio.test_timeouts          asyncio
test_asyncio.test_waitfor           asyncio
test_augassign          -
test_base64
test_bdb
test_bisect
test_builtin            -
test_calendar
test_call               -
test_class              -
test_cmd
test_code_module        code codeop
test_codeop
test_collections        collections _collections_abc
test_compile            -
test_concurrent_futures.test_thread_pool concurrent.futures
test_configparser
test_context            -
test_contextlib
test_contextlib_async   contextlib
test_copy               copy copyreg
test_coroutines         types
test_csv
test_dataclasses
test_datetime           datetime _strptime
test_decimal            _pydecimal
test_decorators         -
test_defaultdict        -
test_deque              -
test_descr              -
test_dict               -
test_dictcomps          -
test_difflib
test_dis                dis opcode
test_dynamic            -
test_dynamicclassattribute types
test_email              email
test_enum
test_except_star        -
test_exception_group    -
test_exception_hierarchy -
test_exception_variations -
test_exceptions         -
test_extcall            -
test_filecmp
test_fileinput
test_finalization       -
test_flufl              -
test_fnmatch
test_fractions          fractions numbers
test_frame              -
test_fstring            -
test_funcattrs          -
test_functools
test_future_stmt        -
test_generator_stop     -
test_generators         -
test_genericalias       types
test_genericclass       -
test_genexps            -
test_getopt
test_gettext
test_glob
test_global             -
test_grammar            -
test_graphlib
test_heapq
test_hmac
test_html
test_htmlparser         html _markupbase
test_http_cookies       http.cookies
test_imaplib
test_inspect
test_ipaddress
test_isinstance         -
test_iter               -
test_itertools          -
test_json
test_keyword
test_keywordonlyarg     -
test_linecache
test_list               -
test_listcomps          -
test_locale
test_logging            logging
test_metaclass          -
test_mimetypes
test_module             -
test_monitoring         -
test_named_expressions  -
test_netrc
test_opcodes            -
test_operator
test_optparse
test_ordered_dict       collections
test_pathlib
test_patma              -
test_peepholer          -
test_pickle             pickle _compat_pickle copyreg
test_pickletools
test_pkgutil
test_plistlib
test_positional_only_arg -
test_posixpath          posixpath genericpath
test_pprint
test_property           -
test_pyclbr
test_queue
test_quopri
test_raise              -
test_random
test_re
test_reprlib
test_richcmp            -
test_robotparser        urllib.robotparser
test_sax                xml.sax
test_sched
test_scope              -
test_secrets
test_setcomps           -
test_shelve
test_shlex
test_slice              -
test_sort               -
test_statistics
test_strftime           -
test_string
test_string_literals    -
test_strptime           _strptime
test_subclassinit       -
test_super              -
test_symtable
test_syntax             -
test_sys_setprofile     -
test_sys_settrace       -
test_tempfile
test_textwrap
test_threading
test_threading_local    _threading_local
test_timeit
test_tokenize
test_tomllib            tomllib
test_trace
test_traceback
test_tuple              -
test_type_aliases       -
test_type_annotations   -
test_type_params        -
test_typechecks         -
test_types
test_typing
test_unittest           -
test_unpack             -
test_unpack_ex          -
test_unparse            ast
test_urlparse           urllib.parse
test_userdict           collections
test_userlist           collections
test_userstring         collections
test_utf8source         -
test_uuid
test_wave
test_weakset            _weakrefset
test_with               -
test_wsgiref            wsgiref
test_xml_etree          xml.etree
test_yield_from         -
test_zipapp
test_zipfile            zipfile
"""

# The test modules of --outcomes. They test what profilers are most likely to break.
OUTCOMES = """
test_asyncgen           asyncio
test_asyncio            asyncio
test_concurrent_futures concurrent.futures
test_contextlib
test_contextlib_async   contextlib
test_coroutines         asyncio types
test_dataclasses
test_email              email
test_enum
test_exceptions         traceback
test_functools
test_generators         inspect
test_inspect
test_json
test_multiprocessing_fork   multiprocessing
test_multiprocessing_spawn  multiprocessing
test_re
test_threading
test_traceback
"""

# Tests that may have another outcome than bare, and other hits: {pattern of their id: reason}. They look at bytecode,
# constants or the instructions that ran, and find the tracer's.
MAY_DIFFER = {
    "test.test_dis.*": "compares disassembly",
    "test.test_compile.*": "compares bytecode, constants and positions",
    "test.test_peepholer.*": "compares bytecode",
    "test.test_patma.TestSourceLocations.*": "looks through bytecode",
    "test.test_monitoring.*": "counts instructions and jumps, and all events while others are on",
    "test.test_coroutines.*.test_for_2": "counts references to a constant; 3.11: a copy has one too",
    "test.test_inspect.*.test_builtins_have_signatures": "`profile` is a builtin then",
    "*.test_interpreter_pool.*.test_thread_name_prefix_with_thread_get_name":
        "3.14+: sends a nested function to another interpreter, by its code",
}

# Tests that would wait for ever: {pattern of their id: reason}. They are run in no case.
ENDLESS = {
    "*.test_interpreter_pool.*.test_blocking*":
        "3.14+: sends a nested function to another interpreter, by its code, and waits for it to begin",
}

# Tests whose hits the reference cannot count: {pattern of their id: reason}. Tests that set trace functions, or that
# have another outcome under the reference, are found without this list.
REFERENCE_BLIND = {
    "*.test_long_context_chain": "at the recursion limit the reference's own call fails",
    "*.TestPartial*.test_recursive_pickle": "at the limit of recursion within C the reference's own call fails",
    "*.test_forward_recursion_actually": "at the limit of recursion within C the reference's own call fails",
    "test.test_isinstance.*": "at the limit of recursion within C the reference's own call fails",
    "*.test_super_deep": "at the limit of recursion within C the reference's own call fails",
    "*.testClassCallRecursionLimit": "a call that is watched takes fewer levels",
    "*.test_lru_recursion": "at the limit of recursion within C the reference's own call fails",
    "test.test_json.*.test_endless_recursion": "at the limit of recursion within C the reference's own call fails",
    "test.test_inspect.*.test_sys_module_has_signatures": "the functions that set traces are wrapped",
    "*.test_threading_local_clear_race": "3.11: its threads have no trace function",
    "test.test_with.InterruptDuringEnter.*": "the reference's own callback is interrupted",
    "*.test_taskgroup_25": "sleeps of 10 ms race with sleeps of 15 ms",
    "test.test_tomllib.*_recursion_limit": "nests as deep as the frames above it leave room",
    "*.test_cycle_through_dict": "goes through all objects",
    "*.test_missing_lineno_shows_as_none": "a copy of probed code has its probes",
}

# Functions whose hits are not compared: {pattern of file:name: reason}.
NOT_COMPARED = {
    "*/asyncio/base_events.py:BaseEventLoop._run_once": "its hits depend on time",
    "*/asyncio/base_events.py:BaseEventLoop.run_forever": "its hits depend on time",
    "*/asyncio/base_events.py:BaseEventLoop.time": "its hits depend on time",
    "*/asyncio/events.py:TimerHandle.*": "its hits depend on time",
    "*/asyncio/selector_events.py:BaseSelectorEventLoop._process_events": "its hits depend on time",
    "*/asyncio/unix_events.py:_UnixSelectorEventLoop._process_self_data": "its hits depend on time",
    "*/test/lock_tests.py:Bunch.__exit__": "its hits depend on time",
    "*/queue.py:Queue._qsize": "its hits depend on how often a thread finds the queue full or empty",
    "*/test_random.py:*.SubClass1.getrandbits": "is called again while its unseeded random number is too large",
    "*/inspect.py:getclosurevars": "3.14+: goes through bytecode",
    "*/python3.1[01]/threading.py:*": "the reference sees a new thread only after these have begun",
}


def table(text):
    """{test module: the modules that it tests}"""
    rows = [line.split() for line in text.split("\n") if line]
    return {test: about or [test.partition("_")[2]] for test, *about in rows}


def libraries_of(test, text):
    about = table(text).get(test) or [test.partition(".")[0].partition("_")[2]]
    return [name for name in about if name != "-"]


# ---- one process -----------------------------------------------------------------------------
class Failed(Exception):
    """A process that failed, or took too long."""


def run(command, folder, seconds, more):
    """Runs a command, and ends it with all processes that it started. Raises Failed, with the last lines of its output,
    if it fails or takes too long."""
    environment = clean_environment({
        "PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8",
        "TMPDIR": str(folder), "HOME": str(folder), **more,
    })
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            stop_group(process.pid)
            process.wait()
    if code is None:
        raise Failed(f"not done after {seconds} s")
    if code:
        said = (folder / "output").read_text("utf-8", "replace").splitlines()
        raise Failed(f"ended with {code}: " + "\n      ".join(said[-SHOWN:]))


def stop_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Runs:
    """The runs of one test module."""

    script = CASE

    def __init__(self, wanted, test):
        self.wanted, self.test = wanted, test
        self.libraries = self.there(libraries_of(test, wanted.table))
        self.selected = None

    def bare(self, **how):
        return self.case("bare", lambda top: [self.wanted.python], **how)[0]

    def reference(self, **how):
        return self.case("reference", lambda top: [self.wanted.python], **how)

    def tracer(self, **how):
        return self.case("tracer", lambda top: [
            self.wanted.out / "bin" / "ckernprof", "-l", "--no-memory", "--python",
            self.wanted.python, "--tracer", self.wanted.tracer, "-o", f"{top}/hits.lprof",
            *self.options()], **how)

    def options(self):
        return []

    def case(self, kind, start, left_out=(), exact=(), seed=0, fewer=0, environment={}):
        """Runs the script in a folder of its own. Returns the outcomes of its tests, and its hits."""
        how = {"left out": sorted(left_out), "exact": sorted({key[:2] for key in exact}),
               "endless": list(ENDLESS), "seed": seed, "fewer calls": fewer}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            top = pathlib.Path(name)
            folder, out, told = top / "work", top / "outcomes.json", top / "how.json"
            folder.mkdir()
            told.write_text(json.dumps(how), "utf-8")
            words = [self.script, kind, self.test, out, told, *self.libraries]
            try:
                run([*start(top), *words], folder, self.wanted.timeout, environment)
                found = json.loads(out.read_text("utf-8"))
                self.compare_selection(found["selected"])
                return found["outcomes"], self.hits(top, kind)
            except (Failed, OSError) as error:
                raise Failed(f"{kind}: {error}") from None

    def compare_selection(self, selected):
        """Checks that every run has selected the same functions."""
        selected = set(map(tuple, selected))
        if self.selected not in (None, selected):
            raise Failed(f"selected other functions: {sorted(selected ^ self.selected)[:SHOWN]}")
        self.selected = selected

    def there(self, libraries):
        """The libraries that this version of Python has."""
        ask = "import sys, importlib.util as u; print(*filter(u.find_spec, sys.argv[1:]))"
        done = subprocess.run([self.wanted.python, "-c", ask, *libraries], capture_output=True,
                              text=True, env=clean_environment())
        return done.stdout.split()

    def hits(self, top, kind):
        if kind == "bare" or (kind == "tracer" and not (top / "hits.lprof").exists()):
            return {}  # a run in which nothing selected ran writes no profile
        if kind == "tracer":  # "f (2)" is compiled from another text than "f"
            all_hits = [(file, first, re.sub(r" \(\d+\)$", "", name), lines) for (file, first, name), lines
                        in Profile(top / "hits.lprof").hits().items()]
        else:
            all_hits = json.loads((top / "outcomes.json.hits").read_text("utf-8"))
        found = {}
        for file, first, name, lines in all_hits:
            mine = found.setdefault((file, first, name), {})
            for line, hits in lines.items():
                mine[int(line)] = mine.get(int(line), 0) + hits
        return counted(found)


def counted(hits):
    return {key: lines for key, lines in without_zeros(hits).items() if key[0] != str(CASE)}


# ---- comparing -------------------------------------------------------------------------------
def plain(outcomes):
    return {test: sorted(outcome for outcome, _ in found) for test, found in outcomes.items()}


def matches(text, patterns):
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def unlike(one, other):
    """The keys whose values differ, or that only one dict has."""
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


class Outcomes:
    """Compares outcomes only. Tests that differ in the first round are run again, bare and under the tracer."""

    reference, left_out, watched = {}, (), {}

    def __init__(self, runs):
        self.runs = runs
        self.bare, self.unsteady = plain(runs.bare()), set()
        self.traced = runs.tracer()[0]
        self.judge_tests()

    def judge_tests(self):
        self.tests = unlike(self.bare, plain(self.traced))
        if self.tests:
            bare = plain(self.runs.bare(**SHAKEN))
            traced = plain(self.runs.tracer(**SHAKEN)[0])
            self.keep("tests", self.tests & unlike(bare, traced))
        self.allowed = {test for test in self.tests if matches(test, MAY_DIFFER)}
        self.tests -= self.allowed

    def keep(self, name, kept):
        self.unsteady |= getattr(self, name) - kept
        setattr(self, name, kept)

    def differ(self):
        return len(self.tests)

    def counts(self):
        return f"{'DIFFERS' if self.differ() else 'ok':8}{len(self.bare):5} tests"

    def summary(self):
        notes = [f"{len(of)} {what}" for of, what in
                 ((self.left_out, "tests left out"), (self.allowed, "may differ"),
                  (self.unsteady, "unsteady")) if of]
        return ", ".join([f"{self.counts()} {self.differ():3} differ", *notes])

    def details(self):
        """Lines about the tests that differ. Unsteady tests are named, too, as the profiler may be why they fail now
        and then."""
        lines = shortened([self.of_test(test) for test in sorted(self.tests)])
        for what, tests in ("may differ", self.allowed), ("unsteady", self.unsteady):
            lines += [f"{what}: {self.of_test(test)}" for test in sorted(tests)]
        return lines

    def of_test(self, test):
        traced = self.traced.get(test, [])
        return (f"{test}: {[outcome for outcome, _ in traced]}, bare {self.bare.get(test)}"
                f"{', reference %s' % self.watched.get(test) if self.watched else ''} "
                f"{next((why for _, why in traced if why), '')}")


def shortened(lines):
    return lines[:SHOWN] + ([f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])


class Verdict(Outcomes):
    """Compares outcomes and hits. The first round is quick; what differs in it is run again, to be sure."""

    def __init__(self, runs):
        self.runs = runs
        self.bare = plain(runs.bare())
        watched, self.reference = runs.reference()
        self.traced, self.ours = runs.tracer()
        self.watched, self.unsteady = plain(watched), set()
        self.judge_tests()
        self.judge_hits()

    def judge_tests(self):
        self.left_out = unlike(self.bare, self.watched)
        self.left_out |= {test for test in self.bare if matches(test, MAY_DIFFER)}
        self.left_out |= {test for test in self.bare if matches(test, REFERENCE_BLIND)}
        super().judge_tests()

    def judge_hits(self):
        how = {"left_out": self.left_out}
        if self.left_out:
            _, self.reference = self.runs.reference(**how)
            _, self.ours = self.runs.tracer(**how)
        self.functions = unlike(self.reference, self.ours)
        self.keep("functions", {key for key in self.functions
                                if not matches(f"{key[0]}:{key[2]}", NOT_COMPARED)})
        exact = {}
        for shaken in SHAKEN, SHAKEN_MORE:
            if self.functions:
                exact = self.confirm(exact, **how, **shaken)
        if self.functions:
            _, shallow = self.runs.reference(exact=self.functions, fewer=1, **how)
            self.keep("functions", {key for key in self.functions if not self.is_between(key, shallow.get(key, {}))})

    def is_between(self, key, shallow):
        """Are the tracer's hits those of the reference, or those with one call fewer on the stack, on every line?"""
        ours, deep = self.ours.get(key, {}), self.reference.get(key, {})
        return all(ours.get(line, 0) in (deep.get(line, 0), shallow.get(line, 0))
                   for line in ours.keys() | deep.keys() | shallow.keys())

    def confirm(self, before, **how):
        """Runs the reference with its exact counter, and the tracer, once more. Functions whose hits are not the same
        in every such run are unsteady."""
        _, exact = self.runs.reference(exact=self.functions, **how)
        _, again = self.runs.tracer(**how)
        self.keep("functions", self.functions - unlike(self.ours, again)
                  - (unlike(before, exact) if before else set()))
        self.reference.update({key: exact.get(key, {}) for key in self.functions})
        self.functions &= unlike(exact, again)
        return exact

    def hits(self):
        return sum(sum(lines.values()) for lines in self.reference.values())

    def differ(self):
        return len(self.tests) + len(self.functions)

    def counts(self):
        return f"{super().counts()} {len(self.reference):5} functions {self.hits():12,} hits"

    def details(self):
        lines = [self.of_test(test) for test in sorted(self.tests)]
        for key in sorted(self.functions):
            lines += self.of_function(key)
        return shortened(lines)

    def of_function(self, key):
        theirs, ours = self.reference.get(key, {}), self.ours.get(key, {})
        return [f"{key[0]}:{line} {key[2]}: {ours.get(line, 0)} hits, "
                f"reference {theirs.get(line, 0)}"
                for line in sorted(theirs.keys() | ours.keys())
                if theirs.get(line) != ours.get(line)]


# ---- all test modules ------------------------------------------------------------------------
class Report:
    def __init__(self):
        self.lock = threading.Lock()
        self.done = self.differ = self.slow = self.tests = self.functions = self.hits = 0

    def say(self, test, verdict, seconds):
        with self.lock:
            print(f"{test:38} {verdict.summary()}  {seconds:.0f} s", flush=True)
            for line in verdict.details():
                print(f"    {line}", flush=True)
            self.done += 1
            self.differ += bool(verdict.differ())
            self.tests += len(verdict.bare)
            self.functions += len(verdict.reference)
            self.hits += sum(sum(lines.values()) for lines in verdict.reference.values())

    def say_failed(self, test, why):
        """Prints why a test module could not be compared. It counts as a difference if it failed under the tracer."""
        with self.lock:
            print(f"{test:38} {why}", flush=True)
            ours = str(why).startswith("tracer")
            self.differ += ours
            self.slow += not ours

    def last_line(self):
        left_out = f", {self.slow} left out" if self.slow else ""
        hits = f", {self.functions:,} functions, {self.hits:,} hits" if self.functions else ""
        return f"{self.done} modules: {self.tests:,} tests{hits}; {self.differ} differ{left_out}"


def check(wanted, test, report):
    start = time.monotonic()
    try:
        verdict = wanted.verdict(wanted.runs(wanted, test))
        report.say(test, verdict, time.monotonic() - start)
    except Failed as why:
        report.say_failed(test, why)


def there(python, tests):
    """The test modules that the interpreter has."""
    ask = ("import sys, os, test; import test.support; print(*[n for n in sys.argv[1:] if "
           "any(os.path.exists(os.path.join(p, *n.split('.')) + e) for p in test.__path__ "
           "for e in ('.py', '/__init__.py'))])")
    done = subprocess.run([python, "-c", ask, *tests], capture_output=True, text=True,
                          env=clean_environment())
    return done.stdout.split()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--python", required=True, help="the interpreter to profile in")
    parser.add_argument("--tracer", default="auto")
    parser.add_argument("--outcomes", action="store_true",
                        help="the second table: compare the tests' outcomes only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a process")
    parser.add_argument("modules", nargs="*", help="test modules; default: all of the table")
    wanted = parser.parse_args()
    wanted.out = wanted.out.absolute()
    wanted.runs = Runs
    wanted.table, wanted.verdict = (OUTCOMES, Outcomes) if wanted.outcomes else (TESTS, Verdict)
    return wanted


def main():
    wanted = arguments()
    asked = wanted.modules or table(wanted.table)
    tests = there(wanted.python, asked)
    if not tests:
        print(f"{wanted.python} has none of these test modules; Debian's python3 comes without its "
              "test suite")
        return 2
    if len(tests) < len(asked):
        print("not in this version's test suite:", *(test for test in asked if test not in tests))
    # Some tests interrupt themselves. A job in the background would let them inherit SIGINT as ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = Report()
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        for _ in pool.map(lambda test: check(wanted, test, report), tests):
            pass
    print(report.last_line())
    return 1 if report.differ else 0


if __name__ == "__main__":
    sys.exit(main())
