# SPDX-License-Identifier: MIT
"""--by-statement: a statement over several lines is one row and has one hit for each time it ran."""

import sys

import pytest
from harness import TRACER, own_messages_removed, run_ckernprof, run_python

pytestmark = pytest.mark.once
PROBES = sys.version_info >= (3, 11) and TRACER in (None, "probe")
only_probes = pytest.mark.skipif(not PROBES, reason="only the probe tracer counts by statement")

PROGRAM = r"""import builtins; profile = getattr(builtins, "profile", str)
@profile
def f(a,
      b=2):
    total = sum(
        [a,
         b,
         abs(
             -3)],
    )
    for i in range(
            3):
        total += (i
                  + 1)
    if (a and
            b):
        x = {
            "k": [j
                  for j in range(2)],
            "l": (lambda q:
                  q + 1)(2),
        }
    try:
        g(
            1,
        )
    except (ValueError,
            ZeroDivisionError):
        pass
    with open("/dev/null") as h, \
            open("/dev/null") as i2:
        pass
    return (total,
            x)
@profile
def g(n):
    return (1
            / (n - 1))
f(1)
f(2)
"""
# Lines are those of the program above, hits counted by hand: two calls, three rounds of the loop in
# each; a `with` is entered and left; the header of a loop begins once more than its body.
EXPECTED = {
    "<module>": {1: 1, 2: 1, 35: 1, 39: 1, 40: 1},
    "f": {
        5: 2, 11: 8, 13: 6, 15: 2, 17: 2, 23: 2, 24: 2, 27: 2, 29: 2, 30: 4, 32: 2, 33: 2,
    },
    "f.<locals>.<lambda>": {20: 2},
    "g": {37: 2},
}  # fmt: skip


def hits(ended):
    found = {key[2]: dict(lines) for key, lines in ended.profile().hits().items()}
    return {name: {line: n for line, n in lines.items() if n} for name, lines in found.items()}


@only_probes
def test_statements(script, tmp_path):
    path = script(PROGRAM)
    ended = run_ckernprof(["-l", "--by-statement", "-p", "program", path], tmp_path)
    theirs = run_python([path], tmp_path)
    assert (own_messages_removed(ended.out), ended.code) == (theirs.out, 0)
    found = hits(ended)
    found.pop("f.<locals>.<listcomp>", None)  # 3.11
    module = found.pop("<module>")
    assert found == {name: EXPECTED[name] for name in found} and len(found) == 3
    assert module.keys() == EXPECTED["<module>"].keys()


@only_probes
def test_without_it_lines_count(script, tmp_path):
    ended = run_ckernprof(["-l", "-p", "program.f", script(PROGRAM)], tmp_path)
    assert {6, 7, 8, 9, 12, 14}.issubset(hits(ended)["f"])


GENERATES = """text = '@profile\\ndef f(n):\\n    return (n\\n            + 1)\\n'
%s
names = {"profile": profile}
exec(compile(text, "gone.py", "exec"), names)
print(names["f"](1))
"""


@only_probes
def test_source_that_was_compiled_from_a_text(script, tmp_path):
    ended = run_ckernprof(["-l", "--by-statement", script(GENERATES % "")], tmp_path)
    assert (ended.err, ended.code) == ("", 0) and ended.out.startswith("2\n")
    assert hits(ended)["f"] == {3: 1}


@only_probes
def test_source_that_cannot_be_read(script, tmp_path):
    """Then lines count, as they do without."""
    path = script(GENERATES % "import ast; text = ast.parse(text)")
    ended = run_ckernprof(["-l", "--by-statement", path], tmp_path)
    assert (ended.err, ended.code) == ("", 0) and ended.out.startswith("2\n")
    assert len(hits(ended)["f"]) == 2


def test_another_tracer(script, tmp_path):
    ended = run_ckernprof(
        ["-l", "--by-statement", "--tracer", "settrace", script("print('ran')\n")], tmp_path
    )
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "ckernprof: --by-statement needs the probe tracer (CPython 3.11 and newer), not settrace\n"
    )
