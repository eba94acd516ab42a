#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of line_profiler and memory_profiler against clineprof.

    conformance.py --out build --python PYTHON [--peers] [WORD ..]

The sources of both come from the package registry into build/conformance, and are kept nowhere else. Small
modules beside them have the original names and stand for clineprof's modules. A test that does not pass must
be in docs/conformance.md with the reason, and a test that is there should not pass. With WORDs only files
with one of them in their name are run. --peers also runs the tests against the originals, and tells which of
the tests that fail here fail there, too.
"""
import argparse
import collections
import fnmatch
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = {"line_profiler": "5.1.0", "memory_profiler": "0.61.0"}
NEEDS = "pytest ubelt IPython psutil packaging rich xdoctest tomli typing_extensions toml".split()
LIMIT = 900  # seconds for a file of tests
PAGE = os.path.join(ROOT, "docs", "conformance.md")

# The text of a module with an original name. Importing it puts clineprof's module into sys.modules under that name,
# as a program may do itself.
ALIAS = """import sys
import clineprof.{name}
sys.modules["{name}"] = clineprof.{name}
if __name__ == "__main__":
    clineprof.{name}.main()
"""
# Test files import private modules of line_profiler. These modules stand in for them, so that the file can be
# imported; a test that uses one of them fails. Two private names are used by tests of other things, so they exist:
# a switch between two tracers (USE_LEGACY_TRACE), and the name of a code object (label).
PRIVATE = """import types
import clineprof.line_profiler as drop_in
class Private(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        def private(*args, **kwargs):
            raise NotImplementedError("%s.%s is private" % (self.__name__, name))
        return private
for name in "_line_profiler", "autoprofile", "autoprofile.ast_tree_profiler", \\
        "autoprofile.profmod_extractor", "autoprofile.autoprofile", "autoprofile.eager_preimports", \\
        "cli_utils", "line_profiler_utils", "toml_config":
    sys.modules["line_profiler." + name] = Private("line_profiler." + name)
private = drop_in._line_profiler = sys.modules["line_profiler._line_profiler"]
private.USE_LEGACY_TRACE = False
private.label = lambda code: (code.co_filename, code.co_firstlineno,
                              getattr(code, "co_qualname", code.co_name))
"""
COMMAND = """#!{python}
import sys
from {module} import main
sys.exit(main())
"""
MODULES = {
    "line_profiler.py": ALIAS.format(name="line_profiler"),
    "memory_profiler.py": ALIAS.format(name="memory_profiler"),
    "kernprof.py": ALIAS.format(name="kernprof"),
}
COMMANDS = {"kernprof": "clineprof.kernprof"}

Outcome = collections.namedtuple("Outcome", "name result why")


class Place:
    """The folder that holds the environment, the sources and the stand-in modules."""

    def __init__(self, out, python):
        tag = "%s-%s" % (sys.implementation.cache_tag, sys.version.split()[0])
        self.out = os.path.abspath(out)
        self.folder = os.path.join(self.out, "conformance", tag)
        self.base = python
        self.python = os.path.join(self.folder, "venv", "bin", "python")
        self.names = os.path.join(self.folder, "names")
        self.originals = os.path.join(self.folder, "originals")

    def source(self, name):
        return os.path.join(self.folder, "%s-%s" % (name, PEERS[name]))

    # ---- making it ----

    def make(self, peers):
        os.makedirs(self.folder, exist_ok=True)
        self.once("venv", self.make_venv)
        self.once("sources", self.download)
        if peers:
            self.once("originals", self.install_originals)
        self.write_names()

    def once(self, name, make):
        mark = os.path.join(self.folder, name + ".ready")
        if not os.path.exists(mark):
            print("  making", os.path.join(self.folder, name), flush=True)
            make()
            open(mark, "w").close()

    def pip(self, *words):
        subprocess.run([self.python, "-m", "pip", "-q", "--disable-pip-version-check", *words],
                       check=True, stderr=subprocess.DEVNULL)

    def make_venv(self):
        subprocess.run([self.base, "-m", "venv", "--clear", os.path.dirname(
            os.path.dirname(self.python))], check=True)
        self.pip("install", "--only-binary", ":all:", *NEEDS)

    def download(self):
        with tempfile.TemporaryDirectory() as folder:
            self.pip("download", "--no-deps", "--no-binary", ",".join(PEERS), "-d", folder,
                     *("%s==%s" % peer for peer in PEERS.items()))
            for name in os.listdir(folder):
                with tarfile.open(os.path.join(folder, name)) as archive:
                    archive.extractall(self.folder, **(
                        {"filter": "data"} if hasattr(tarfile, "data_filter") else {}))

    def install_originals(self):
        self.pip("install", "--target", self.originals, *("%s==%s" % peer for peer in PEERS.items()))

    def write_names(self):
        os.makedirs(os.path.join(self.names, "bin"), exist_ok=True)
        for name, text in MODULES.items():
            self.write(name, text + (PRIVATE if name == "line_profiler.py" else ""))
        for name, module in COMMANDS.items():
            self.write("bin/" + name, COMMAND.format(python=self.python, module=module))

    def write(self, name, text):
        path = os.path.join(self.names, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    # ---- using it ----

    def environment(self, original):
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(("PYTHON", "LINE_PROFILE", "CLINEPROF"))}
        first = self.originals if original else self.names
        path = [first] if original else [first, os.path.join(self.out, "python")]
        return {**inherited, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1",
                "PATH": os.pathsep.join([os.path.join(first, "bin"), os.path.dirname(self.python),
                                         os.environ["PATH"]])}

    def run(self, words, folder, original):
        try:
            return subprocess.run(
                [self.python, *words], cwd=folder, env=self.environment(original), timeout=LIMIT,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(words, 124, "", "did not end in %g s" % error.timeout)


# ---- the tests -------------------------------------------------------------------------------


def test_files(place):
    """(peer, file, is the file a program to be profiled, not a file of tests?) of each test file."""
    for peer, folder in ("line_profiler", "tests"), ("memory_profiler", "test"):
        for name in sorted(os.listdir(os.path.join(place.source(peer), folder))):
            if name.startswith("test_") and name.endswith(".py"):
                path = os.path.join(place.source(peer), folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                yield peer, path, peer == "memory_profiler" and not is_tests(text)


def is_tests(text):
    return "import unittest" in text or re.search(r"^def test_\w+\(\):", text, re.M) and (
        "@profile" not in text)


def run_program(place, peer, path, original):
    """Tests as memory_profiler does: a program must end with 0 under the profiler. It must also print no traceback
    and, if it calls a decorated function, a table."""
    name = "%s/%s" % (peer, os.path.basename(path))
    ended = place.run(["-m", "memory_profiler", path], os.path.dirname(path), original)
    if ended.returncode != 0 or "Traceback" in ended.stderr:
        return [Outcome(name, "failed", last_line(ended.stderr))]
    if calls_decorated(path) and "Line Contents" not in ended.stdout:
        return [Outcome(name, "failed", "no table: " + last_line(ended.stderr))]
    return [Outcome(name, "passed", "")]


def calls_decorated(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = re.findall(r"^@profile(?:\(precision=\d\))?\n(?:async )?def (\w+)", text, re.M)
    return any(len(re.findall(r"\b%s ?\(" % name, text)) > 1 for name in names)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "says nothing"


def run_tests(place, peer, path, original):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        ended = place.run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", report,
                           "--rootdir", os.path.dirname(path), "-o", "addopts=", "-c", os.devnull,
                           path],
                          os.path.dirname(path), original)
        where = "%s/%s" % (peer, os.path.basename(path))
        if not os.path.exists(report):
            return [Outcome(where, "failed", last_line(ended.stdout + ended.stderr))]
        return [outcome(where, case) for case in xml.parse(report).iter("testcase")]


def outcome(where, case):
    inner = [part for part in case.get("classname", "").split(".") if part[:1].isupper()
             or part.startswith("_Test")]
    name = "::".join([where, *inner, case.get("name") or "import"])
    if not case.get("classname"):
        name = where
    for kind, result in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(kind)
        if found is not None:
            why = (found.get("message") or "").strip().splitlines() or [last_line(found.text or "")]
            if result == "failed" and "collection failure" in why[0]:
                why = [last_line(found.text or "")]
            return Outcome(name, result, why[0])
    return Outcome(name, "passed", "")


# ---- known failures --------------------------------------------------------------------------


def known():
    """The tests that docs/conformance.md lists for this version of Python: {kind: {pattern: reason}}. The kinds are
    "not applicable" (has nothing to do with a drop-in replacement), "faults of the originals" (asserts such a fault)
    and "differs" (clineprof behaves differently)."""
    found, kind = {"not applicable": {}, "faults of the originals": {}, "differs": {}}, None
    with open(PAGE, encoding="utf-8") as file:
        for line in file:
            if line.startswith("## "):
                kind = line[3:].strip().lower()
            row = re.match(r"\| `([^`]+)` \|(?: ([\d.+-]+|all) \|)? (.*) \|$", line.rstrip())
            if row and kind in found and is_here(row[2] or "all"):
                found[kind][row[1].replace("\\|", "|")] = row[3]
    return found


def is_here(where, version=sys.version_info[:2]):
    """Does "all", "3.10", "3.12+" (and newer) or "-3.11" (and older) include this version of Python?"""
    if where == "all":
        return True
    named = tuple(int(part) for part in where.strip("+-").split("."))
    return version == named or where.endswith("+") and version > named or (
        where.startswith("-") and version < named)


def matching(name, patterns):
    return [p for p in patterns if name == p or name.startswith((p + "::", p + "["))
            or "*" in p and fnmatch.fnmatchcase(name, p.replace("[", "[[]"))]


def judge(outcomes, words):
    """Prints the failures, and returns how many are not in docs/conformance.md, or are there but name no test."""
    table = known()
    used, surprises = set(), 0
    count = collections.Counter()
    for name, result, why in outcomes:
        kinds = [kind for kind in table if matching(name, table[kind])]
        used.update(pattern for kind in kinds for pattern in matching(name, table[kind]))
        if "not applicable" in kinds:
            count["not applicable"] += 1
        elif result != "failed":
            count[result] += 1
            if kinds and result == "passed":
                print("  passes, though docs/conformance.md lists it: %s" % name)
        else:
            count[kinds[0] if kinds else "unknown"] += 1
            surprises += not kinds
            print("  %s %s: %s" % ("known " if kinds else "FAILED", name, why[:200]))
    for pattern in () if words else (p for patterns in table.values() for p in patterns):
        if pattern not in used:
            print("  docs/conformance.md lists a test that does not exist: %s" % pattern)
            surprises += 1
    print_count(count)
    return surprises


def print_count(count):
    passed, faults = count["passed"], count["faults of the originals"]
    total = passed + faults + count["differs"] + count["unknown"]
    print("%d of %d applicable tests pass (%.1f %%), %d skip themselves, %d are not applicable" % (
        passed, total, share(passed, total), count["skipped"], count["not applicable"]))
    print("%d of the others assert a fault of the original: without these %d of %d (%.1f %%)" % (
        faults, passed, total - faults, share(passed, total - faults)))


def share(part, total):
    return 100 * part / max(total, 1)


def run_all(place, words, original):
    outcomes = []
    for peer, path, is_program in test_files(place):
        if words and not any(word in path for word in words):
            continue
        run = run_program if is_program else run_tests
        found = run(place, peer, path, original)
        count = collections.Counter(outcome.result for outcome in found)
        print("  %-45s %s" % (peer + "/" + os.path.basename(path), ", ".join(
            "%d %s" % (count[key], key) for key in sorted(count))), flush=True)
        outcomes += found
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.join(ROOT, "build"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    place = Place(options.out, options.python)
    place.make(options.peers)
    if options.peers:
        print("the originals:")
        theirs = {o.name: o for o in run_all(place, options.words, True)}
        print("clineprof:")
    ours = run_all(place, options.words, False)
    if options.peers:
        for name, result, why in ours:
            if result == "failed" and theirs.get(name, Outcome("", "unknown", "")).result != "passed":
                print("  the original does not pass either: %s: %s" % (name, theirs[name].why[:120]
                                                                if name in theirs else "no such"))
    return 1 if judge(ours, options.words) else 0


if __name__ == "__main__":
    sys.exit(main())
