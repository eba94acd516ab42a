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
