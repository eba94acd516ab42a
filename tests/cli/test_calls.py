# SPDX-License-Identifier: MIT
"""Who calls whom: the calls of a profile in Python, in JSON, and in the formats for stacks. The numbers expected are
those that tests/known_calls.py draws."""

import json

import known_calls
import pytest
from harness import ROOT, run_viewer

import clineprof

pytestmark = pytest.mark.once


@pytest.fixture
def known(tmp_path):
    """A folder with known.lprof."""
    known_calls.write(tmp_path / "known.lprof")
    return tmp_path


def load(folder):
    return clineprof.load(folder / "known.lprof")


def export(folder, name, *options, profile="known.lprof"):
    ended = run_viewer(["--format", name, "-o", "out", *options, profile], folder)
    assert (ended.out, ended.err, ended.code) == ("", "", 0)
    return (folder / "out").read_bytes()


# ---- in Python ---------------------------------------------------------------------------------


def test_calls_are_a_tree(known):
    calls = load(known).calls
    assert [call.parent for call in calls] == [None, 0, 1, 1, 0, 4]
    assert [call.line for call in calls] == [0, 3, 8, 9, 4, 12]
    assert [call.function.name for call in calls] == ["main", "fib", "leaf", "fib", "other", "leaf"]
    assert [call.through for call in calls] == [False] * 5 + [True]
    for name in ("calls", "time", "again", "increment"):
        assert [getattr(call, name) for call in calls] == known_calls.CALLS[name]
    assert [call.self for call in calls] == known_calls.SELVES


def test_edges_are_sums_of_calls(tmp_path):
    calls = {
        "parent": [0, 1, 1, 2, 3], "line": [0, 3, 4, 9, 9], "function": [0, 1, 1, 3, 3],
        "calls": [1, 2, 3, 4, 5], "time": [100, 40, 30, 20, 10], "increment": [0, 0, 0, -6, 2],
    }  # fmt: skip
    known_calls.write(tmp_path / "known.lprof", calls=calls)
    edges = load(tmp_path).edges
    assert [(edge.caller and edge.caller.name, edge.line, edge.callee.name, edge.calls) for edge in edges] == [
        (None, 0, "main", 1), ("main", 3, "fib", 2), ("main", 4, "fib", 3), ("fib", 9, "leaf", 9),
    ]  # fmt: skip
    merged = clineprof.load(tmp_path / "known.lprof", tmp_path / "known.lprof").edges
    assert merged[-1][3:] == (False, 18, 60, -8)


def test_calls_that_were_joined_have_no_function(tmp_path):
    calls = {"parent": [0, 1], "line": [0, 3], "function": [0, -1], "calls": [1, 5], "cut": 5}
    known_calls.write(tmp_path / "known.lprof", calls=calls)
    profile = load(tmp_path)
    assert profile.calls[1].function is None and profile.edges[1].callee is None
    assert profile.calls_cut == 5
    known_calls.write(tmp_path / "known.lprof", calls=None)
    assert (load(tmp_path).calls, load(tmp_path).edges, load(tmp_path).calls_cut) == ([], [], 0)


# ---- json --------------------------------------------------------------------------------------


def own_schema():
    return json.loads((ROOT / "docs" / "profile.schema.json").read_text("utf-8"))


def test_json_has_the_calls(known):
    made = json.loads(export(known, "json"))
    assert made["calls"][3] == {
        "parent": 1, "line": 9, "function": 1, "through": False, "calls": 12, "time": 5000, "again": 1500,
        "increment": 4096, "self": 0,
    }  # fmt: skip
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(made, own_schema())
    bare = json.loads(export(known, "json", "--no-memory"))
    assert "increment" not in bare["calls"][3]
    jsonschema.validate(bare, own_schema())
    made["calls"][0]["parent"] = -1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, own_schema())


def test_json_has_the_calls_of_the_functions_that_are_chosen(known):
    made = json.loads(export(known, "json", "--function", "main", "--function", "leaf", "--sort-by", "name"))
    assert [function["name"] for function in made["functions"]] == ["leaf", "main"]
    assert [(call["parent"], call["line"], call["function"], call["through"], call["calls"]) for call in made["calls"]] == [
        (None, 0, 1, False, 1), (0, 3, 0, True, 8), (0, 4, 0, True, 1),
    ]  # fmt: skip


# ---- clineprof callers -------------------------------------------------------------------------

FIB_TABLES = """\
File: app/walk.py
Function: fib at line 6

    Calls         Time    Increment  Called from
================================================
        2      8.00 us    0.004 MiB  main at app/walk.py:3  fib(n)
       12      5.00 us    0.004 MiB  fib at app/walk.py:9  return fib(n - 1) + fib(n - 2)

    Calls         Time    Increment  Calls to
=============================================
       12      5.00 us    0.004 MiB  fib at line 9  return fib(n - 1) + fib(n - 2)
        8     600.0 ns        0 MiB  leaf at line 8  return leaf()
"""


def test_callers_are_shown_with_their_lines(known):
    ended = run_viewer(["callers", "fib", "known.lprof"], known)
    assert (ended.out, ended.err, ended.code) == (FIB_TABLES, "", 0)
    ended = run_viewer(["callers", "[lm]*", "known.lprof", "known.lprof"], known)
    assert "        2      20.0 us    0.014 MiB  code that is not selected\n" in ended.out
    assert "        2      2.00 us        0 MiB  other at app/walk.py:12  run(leaf)  (through code that is not selected)\n" \
        in ended.out  # fmt: skip
    assert ended.out.count("Function: ") == 2


def test_callers_without_memory_and_with_joined_calls(tmp_path):
    calls = {"parent": [0, 1, 1], "line": [0, 4, 3], "function": [0, -1, 1], "calls": [1, 5, 1], "cut": 5}
    known_calls.write(tmp_path / "known.lprof", calls=calls, has_memory=False)
    ended = run_viewer(["callers", "main", "known.lprof"], tmp_path)
    assert "\n    Calls         Time  Calls to\n================================\n" in ended.out
    assert "\n        5          0 s  more contexts than a profile keeps at line 4  other()\n" in ended.out
    assert ended.out.endswith("\nOf 5 more calls the profile does not know who was called: they have more contexts "
                              "than it keeps.\n")  # fmt: skip


@pytest.mark.parametrize("words, code, said", [
    (["leef", "known.lprof"], 1, "the profile has no function 'leef'; did you mean 'leaf'?"),
    (["total", "known.lprof"], 1, "the profile has no function 'total'; clineprof -m lists the functions"),
    (["leaf", "old.lprof"], 1, "this profile has no calls: it was made by an older clineprof; record it again"),
    (["leaf", "none.lprof"], 1, "none.lprof: No such file or directory"),
    (["known.lprof"], 2, "callers needs a function and a profile; see clineprof callers --help"),
    ([], 2, "callers needs a function and a profile; see clineprof callers --help"),
    (["--lines", "leaf", "known.lprof"], 2, "unknown option '--lines'; see clineprof callers --help"),
])  # fmt: skip
def test_callers_refuses_in_one_line(known, words, code, said):
    known_calls.write(known / "old.lprof", calls=None)
    ended = run_viewer(["callers", *words], known)
    assert (ended.out, ended.err, ended.code) == ("", "clineprof: %s\n" % said, code)


def test_a_similar_name_may_lack_its_class(tmp_path):
    function = known_calls.profiles.function("a.py", 1, "Tree.insert", [{"line": 1, "hits": 1}])
    known_calls.profiles.write(tmp_path / "known.lprof", [function], calls={"function": [0]})
    ended = run_viewer(["callers", "inser", "known.lprof"], tmp_path)
    assert ended.err == "clineprof: the profile has no function 'inser'; did you mean 'Tree.insert'?\n"
