# SPDX-License-Identifier: MIT
"""Lines that an exception comes back to: of managers that raise when they are left, or entered, near by and far
below, where a byte does not hold the distance of the lines. Counted by hand, and by the reference."""

import sys

import pytest
from harness import differences, reference, run_ckernprof

pytestmark = pytest.mark.hits

PROGRAM = '''
class CM:
    def __init__(self, bad_exit=False, bad_enter=False):
        self.bad_exit, self.bad_enter = bad_exit, bad_enter
    def __enter__(self):
        if self.bad_enter: raise KeyError("enter")
    def __exit__(self, *what):
        if self.bad_exit: raise KeyError("exit")
    async def __aenter__(self): self.__enter__()
    async def __aexit__(self, *what): self.__exit__()

def same(thing): return thing

@profile
@KIND f(n):
@BODY

try:
    running = f(0)
    running.send(None)
except (KeyError, IndexError, AttributeError, StopIteration): pass
'''

# Bodies, with @ where the gap is, and the hits of each line that has code, in their order. A `with` begins when
# it is entered and once more when it is left from another line; leaving several managers is no further hit.
CASES = {
    "last exit, after the body": ("with CM(), CM(), CM(True):@\n    x = 2@\n    x = 1", [2, 1, 1]),
    "first exit, after the body": ("with CM(True), CM(), CM():@\n    x = 2@\n    x = 1", [2, 1, 1]),
    "last exit, by an exception": ("with CM(), CM(True):@\n    x = 2@\n    raise IndexError", [2, 1, 1]),
    "exit in a try": ("try:@\n    with CM(), CM(True): pass\nexcept KeyError: x = 1", [1, 1, 1]),
    "enter on the same line": ("with CM(), CM(False, True):@\n    x = 2", [1]),
    "enter on the next line": ("with CM(), \\\n        CM(False, True):@\n    x = 2", [2, 1]),
    "in a loop": ("for i in 1, 2:\n    try:@\n        with CM(), CM(True): x = 1\n    except KeyError: x = 2",
                  [3, 2, 2, 2]),
    "finally": ("try:@\n    with CM(), CM(True):\n        x = 1\nfinally:@\n    x = 2", [1, 2, 1, 1]),
    "call before a jump's target": ("x = (7@\n     if n else same(n)) & 1@\nx = 2", [1, 1, 1]),
}  # fmt: skip
ASYNC = {name: case for name, case in CASES.items() if "with" in case[0]}


def check(kind, body, expected, gap, folder):
    body = body.replace("@", "\n" * gap)
    text = "\n".join("    " + line for line in body.split("\n"))
    script = folder / "script.py"
    script.write_text(PROGRAM.replace("@KIND", kind).replace("@BODY", text), "utf-8")
    counted, _ = reference(script, folder)
    found = run_ckernprof(["-l", script], folder).profile().hits()
    assert differences(found, counted) == []
    [lines] = [lines for key, lines in found.items() if key[2] == "f"]
    if sys.version_info >= (3, 12):
        assert [lines[line] for line in sorted(lines) if lines[line]] == expected


@pytest.mark.parametrize("gap", [0, 150])
@pytest.mark.parametrize("name", CASES)
def test_exits(name, gap, tmp_path):
    check("def", *CASES[name], gap, tmp_path)


@pytest.mark.parametrize("gap", [0, 150])
@pytest.mark.parametrize("name", ASYNC)
def test_asynchronous_exits(name, gap, tmp_path):
    body, expected = ASYNC[name]
    check("async def", body.replace("with", "async with"), expected, gap, tmp_path)


THROWN = """
class CM:
    def __enter__(self): pass
    def __exit__(self, *what): pass

@profile
def two(n):
    with CM(), CM(): yield n

@profile
def three(n):
    with CM(), CM(), CM((yield n)): pass

@profile
def far(n):
    with CM(), CM(), CM():
        yield n

for function in two, three, far:
    running = function(1)
    next(running)
    try:
        running.throw(IndexError)
    except (IndexError, TypeError): pass
"""


def test_thrown_in(tmp_path):
    """What is thrown in comes from no line, so the first handler that it comes to begins its line. Since 3.14 so
    does each that it is raised to again, as those on another line do anyway."""
    script = tmp_path / "script.py"
    script.write_text(THROWN)
    counted, _ = reference(script, tmp_path)
    found = run_ckernprof(["-l", script], tmp_path).profile().hits()
    assert differences(found, counted) == []
    if sys.version_info >= (3, 13):
        each = sys.version_info >= (3, 14)
        lines = {key[2]: [hits[line] for line in sorted(hits) if hits[line]] for key, hits in found.items()}
        assert lines == {"two": [3 if each else 2], "three": [3 if each else 2], "far": [4, 1]}
