# SPDX-License-Identifier: MIT
"""Which tests `make test` runs when it is told none: those whose subject has changed since the last commit.

A test belongs to a changed file if it is that file, or imports or includes it, or if a word of its path is one of the
file's: src/timeline/samples.c has tests/unit/timeline and tests/cli/test_timeline.py. This is a guess, for the time
between two commits; it leaves out tests that see a change from afar.
"""
import pathlib
import re
import subprocess
import sys

# Words that tell nothing about the subject of a file.
EVERYWHERE = {"src", "clineprof", "kernprof", "cpython", "tests", "test", "unit", "cli", "api", "run", "init", "main"}
# The words of tests that are about a folder of another name.
ALSO = {"report": "view screens", "heap": "leaks", "tracers": "hits generators", "rewrite": "probe", "recorder": "profilers",
        "windows": "prof select attach", "lprof": "view merge", "compat": "hits", "object": "profile", "children": "processes",
        "boot": "launcher launch"}  # fmt: skip


def files():
    """The files that differ from the last commit, and those that git does not know yet."""
    found = []
    for words in ["git", "diff", "--name-only", "--relative", "HEAD"], ["git", "ls-files", "--others", "--exclude-standard"]:
        try:
            told = subprocess.run(words, text=True, capture_output=True)
        except OSError as error:
            sys.exit(f"git cannot tell what has changed: {error}")
        if told.returncode != 0:
            sys.exit(f"git cannot tell what has changed: {told.stderr.strip()}")
        found += told.stdout.splitlines()
    return found


def words_of(path):
    """The words of a path that tell what it is about."""
    return {word for word in re.split(r"[/._-]+", str(path.with_suffix("")).lower()) if word} - EVERYWHERE


def uses(test, file):
    """Does a test import or include this file of the tests?"""
    if file.parts[0] != "tests":
        return False
    return bool(re.search(rf'^ *(?:from|import) {file.stem}\b|#include "(?:.*/)?{file.name}"', test.read_text("utf-8"), re.M))


def tests_of(changed, tests):
    """Those of the tests, as paths, that belong to the changed files."""
    changed = [pathlib.Path(name) for name in changed]
    found = {test for test in tests if test in changed or any(uses(test, file) for file in changed)}
    for file in changed:
        if file.parts[0] in ("src", "kernprof"):
            words = words_of(file)
            words |= {more for word in words for more in ALSO.get(word, "").split()}
            found |= {test for test in tests if words & words_of(test)}
    return sorted(found)
