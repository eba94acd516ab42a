# SPDX-License-Identifier: MIT
"""Who calls whom: the calls of a profile in Python, in JSON, and in the formats for stacks. The numbers expected are
those that tests/known_calls.py draws."""

import gzip
import html
import io
import json
import pstats
import re
import shutil
from xml.etree import ElementTree

import firefox_profile
import known_calls
import pprof_message
import pytest
from harness import ROOT, run, run_python, run_viewer

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
    known_calls.write(tmp_path / "other.lprof", calls=calls, pid=8)
    merged = clineprof.load(tmp_path / "known.lprof", tmp_path / "other.lprof").edges
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
    keys = "parent", "line", "function", "through", "calls"
    assert [tuple(call[key] for key in keys) for call in made["calls"]] == [
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
    known_calls.write(known / "other.lprof", pid=8)
    ended = run_viewer(["callers", "[lm]*", "known.lprof", "other.lprof"], known)
    assert "        2      20.0 us    0.014 MiB  code that is not selected\n" in ended.out
    assert "0 MiB  other at app/walk.py:12  run(leaf)  (through code that is not selected)\n" in ended.out
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
    (["leaf", "old.lprof"], 1, "this profile has no calls: nothing selected ran, or an older clineprof or another tool "
     "recorded it"),
    (["leaf", "none.lprof"], 1, "none.lprof: No such file or directory"),
    (["known.lprof"], 2, "callers needs a function and a profile; see clineprof callers --help"),
    ([], 2, "callers needs a function and a profile; see clineprof callers --help"),
    (["--lines", "leaf", "known.lprof"], 2, "unknown option '--lines'; see clineprof callers --help"),
])  # fmt: skip
def test_callers_refuses_in_one_line(known, words, code, said):
    known_calls.write(known / "old.lprof", calls=None)
    ended = run_viewer(["callers", *words], known)
    assert (ended.out, ended.err, ended.code) == ("", "clineprof: %s\n" % said, code)


def test_a_function_that_was_never_called(tmp_path):
    idle = known_calls.profiles.function("app/walk.py", 6, "fib", [{"line": 7, "hits": 0}])
    known_calls.write(tmp_path / "known.lprof", [known_calls.MAIN, idle], {"function": [0]})
    ended = run_viewer(["callers", "fib", "known.lprof"], tmp_path)
    assert (ended.out, ended.err, ended.code) == (
        "File: app/walk.py\nFunction: fib at line 6\n\nIt was never called.\n", "", 0)


def test_each_function_of_one_name_has_its_tables(tmp_path):
    functions = [known_calls.MAIN, known_calls.FIB, {**known_calls.FIB, "file": "app/other.py"}]
    calls = {"parent": [0, 1, 1], "line": [0, 3, 4], "function": [0, 1, 2], "calls": [1, 2, 5],
             "time": [10000, 8000, 8000]}  # fmt: skip
    known_calls.write(tmp_path / "known.lprof", functions, calls, has_memory=False)
    said = run_viewer(["callers", "fib", "known.lprof"], tmp_path).out
    assert re.findall("File: .*\nFunction: .*", said) == [
        "File: app/walk.py\nFunction: fib at line 6", "File: app/other.py\nFunction: fib at line 6"]
    assert re.findall(r"^ +(\d) .* main at (.*)  ", said, re.M) == [
        ("2", "app/walk.py:3"), ("5", "app/walk.py:4")]


def test_a_sum_with_a_profile_that_has_no_calls(known):
    known_calls.write(known / "old.lprof", calls=None, pid=8)
    assert "Other callers" not in run_viewer(["callers", "fib", "known.lprof"], known).out
    said = run_viewer(["callers", "leaf", "old.lprof", "known.lprof"], known).out
    assert said.count("Other callers are not known: these took 1.60 us of its 3.20 us, and an older clineprof or "
                      "another tool recorded the rest.\n") == 1
    run_viewer(["merge", "-o", "sum.lprof", "old.lprof", "known.lprof"], known)
    assert run_viewer(["callers", "leaf", "sum.lprof"], known).out == said
    only_old = [{**known_calls.LEAF, "name": "lost"}]
    known_calls.profiles.write(known / "lost.lprof", only_old)
    said = run_viewer(["callers", "lost", "lost.lprof", "known.lprof"], known).out
    assert said.endswith("\n\nWho called it is not known: an older clineprof or another tool recorded it.\n")


def test_a_similar_name_may_lack_its_class(tmp_path):
    function = known_calls.profiles.function("a.py", 1, "Tree.insert", [{"line": 1, "hits": 1}])
    known_calls.profiles.write(tmp_path / "known.lprof", [function], calls={"function": [0]})
    ended = run_viewer(["callers", "inser", "known.lprof"], tmp_path)
    assert ended.err == "clineprof: the profile has no function 'inser'; did you mean 'Tree.insert'?\n"


# ---- the formats for stacks --------------------------------------------------------------------

# the own time of each line on each way to it: functions and the lines from which they called
TREE = {
    ("main:2",): 300,
    ("main:3",): 150,
    ("main:3", "fib:7"): 2400,
    ("main:3", "fib:8"): 1000,
    ("main:3", "fib:8", "leaf:15"): 600,
    ("main:3", "fib:9"): 4000,
    ("main:4",): 50,
    ("main:4", "other:12"): 500,
    ("main:4", "other:12", "leaf:15"): 1000,
}


def lines_of(names):
    """The frames of lines, without those of functions, which stand before each."""
    assert [name.partition(":")[0] for name in names[::2]] == [name.partition(":")[0] for name in names[1::2]]
    return tuple(name.partition("  ")[0] for name in names[1::2])


def test_speedscope_has_the_tree(known):
    made = json.loads(export(known, "speedscope"))
    names = [frame["name"] for frame in made["shared"]["frames"]]
    time, memory = made["profiles"]
    assert {lines_of([names[place] for place in stack]): weight
            for stack, weight in zip(time["samples"], time["weights"])} == TREE  # fmt: skip
    assert time["endValue"] == 10000
    assert {lines_of([names[place] for place in stack]): weight
            for stack, weight in zip(memory["samples"], memory["weights"])} == {
        ("main:3",): 3072, ("main:3", "fib:9"): 4096,
    }  # fmt: skip


def test_collapsed_has_the_tree(known):
    rows = dict(line.rsplit(" ", 1) for line in export(known, "collapsed").decode().splitlines())
    assert {lines_of(stack.replace("app/walk.py:", "").split(";")): int(own) for stack, own in rows.items()} == TREE


def ways(node, path=()):
    """Yields (names from the root, node) for a node of V8's trees and all below it."""
    path = (*path, node["callFrame"]["functionName"])
    yield path[1:], node
    for child in node.get("children", []):
        yield from ways(child, path)


def test_cpuprofile_has_the_tree(tmp_path):
    functions = [{**f, "lines": {name: [number * 1000 if "self" in name else number for number in column]
                                 for name, column in f["lines"].items()}}
                 for f in known_calls.FUNCTIONS]  # fmt: skip
    known_calls.write(tmp_path / "known.lprof", functions)
    made = json.loads(export(tmp_path, "cpuprofile"))
    nodes = {node["id"]: node for node in made["nodes"]}
    for node in nodes.values():
        node["children"] = [nodes[number] for number in node.get("children", [])]
    assert {lines_of(path): node["hitCount"] for path, node in ways(made["nodes"][0]) if node["hitCount"]} == TREE
    assert made["endTime"] == sum(TREE.values())


def test_heapprofile_has_the_tree(known):
    head = json.loads(export(known, "heapprofile"))["head"]
    assert {lines_of(path): node["selfSize"] for path, node in ways(head) if node["selfSize"]} == {
        ("main:3",): 3072, ("main:3", "fib:9"): 4096,
    }  # fmt: skip


def test_pstats_has_the_callers(known):
    export(known, "pstats")
    stats = pstats.Stats(str(known / "out")).stats

    def key(name):
        return next(key for key in stats if key[2] == name)

    def nanos(numbers):
        return [*numbers[:2], *(round(number * 1e9) for number in numbers[2:4])]

    everything, main, fib, other, leaf = map(key, ("<all selected functions>", "main", "fib", "other", "leaf"))
    assert nanos(stats[fib]) == [2, 14, 7400, 8000]
    assert {caller: nanos(row) for caller, row in stats[fib][4].items()} == {
        main: [2, 2, 7400, 8000], fib: [12, 12, 0, 5000],
    }  # fmt: skip
    assert {caller: nanos(row) for caller, row in stats[leaf][4].items()} == {
        fib: [8, 8, 600, 600], other: [1, 1, 1000, 1000],
    }  # fmt: skip
    assert list(stats[main][4]) == [everything] and nanos(stats[everything]) == [1, 1, 0, 10000]
    said = io.StringIO()
    pstats.Stats(str(known / "out"), stream=said).print_callers("leaf")
    assert re.search(r"leaf\) +<- +8 .*\n.* 1 .*", said.getvalue())


def test_gprof2dot_draws_the_callers(known):
    pytest.importorskip("gprof2dot", reason="gprof2dot is not installed")
    export(known, "pstats")
    ended = run_python(["-m", "gprof2dot", "-f", "pstats", "-n0", "-e0", "out"], known)
    names = dict(re.findall(r'^\t(\d+) \[.*label="[^"]*:\d+:([^"\\]+)', ended.out, re.M))
    arrows = {(names[a], names[b]) for a, b in re.findall(r"^\t(\d+) -> (\d+) ", ended.out, re.M)}
    assert arrows == {("<all selected functions>", "main"), ("main", "fib"), ("fib", "fib"), ("fib", "leaf"),
                      ("main", "other"), ("other", "leaf")}  # fmt: skip


def test_pprof_has_the_tree(known):
    profile = pprof_message.read(export(known, "pprof"))
    found = pprof_message.stacks(profile)

    def of(kind):
        return {tuple("%s:%d" % (name, line) for name, _, line in stack): value
                for (found_kind, stack), value in found.items() if found_kind == kind}  # fmt: skip

    assert of("time") == TREE
    assert of("memory") == {("main:3",): 3072, ("main:3", "fib:9"): 4096}
    assert {file for _, stack in found for _, file, _ in stack} == {"app/walk.py"}
    assert profile.duration_nanos == 20000 and profile.time_nanos == 1700000000 * 10**9
    assert not any("memory" in key for key in pprof_message.stacks(
        pprof_message.read(export(known, "pprof", "--no-memory"))))  # fmt: skip


def test_go_opens_pprof(known):
    go = shutil.which("go") or pytest.skip("go is not installed")
    (known / "out.pb.gz").write_bytes(export(known, "pprof"))
    said = run([go, "tool", "pprof", "-top", "-lines", "-unit=ns", "out.pb.gz"], known)
    assert re.search(r"4000ns 40\.00% .* 4000ns 40\.00%  fib .*walk\.py:9\n", said.out), said.err
    assert re.search(r"150ns  1\.50% .* 8150ns 81\.50%  main .*walk\.py:3\n", said.out)


def test_pprof_takes_no_name_for_one_of_another_language(tmp_path):
    """pprof shortens names of C++, of which only the system's name is known, or the same name twice."""
    rows = [{"line": 2, "hits": 1, "time": 4000}]
    known_calls.profiles.write(tmp_path / "known.lprof", [known_calls.profiles.function("f.py", 1, "<module>", rows)])
    (tmp_path / "out.pb.gz").write_bytes(export(tmp_path, "pprof"))
    if shutil.which("go") is not None:
        assert re.search(r"4000ns +100%  <module>\n", run(["go", "tool", "pprof", "-top", "-unit=ns", "out.pb.gz"],
                                                         tmp_path).out)  # fmt: skip
    profile = pprof_message.read((tmp_path / "out.pb.gz").read_bytes())
    [(name, system)] = [(profile.string_table[f.name], profile.string_table[f.system_name]) for f in profile.function]
    assert (name, system) == ("<module>", "")


def test_callgrind_annotate_opens_callgrind(known):
    program = shutil.which("callgrind_annotate") or pytest.skip("valgrind is not installed")
    (known / "app").mkdir()
    (known / "app" / "walk.py").write_text(known_calls.SOURCE)
    export(known, "callgrind", "--no-memory")
    said = run([program, "--threshold=100", "--inclusive=yes", "--tree=caller", "out"], known).out
    assert re.search(r"^10,000 \(100\.0%\)  PROGRAM TOTALS", said, re.M), said
    assert re.search(r"^ *10,000 \(100\.0%\)  \*  app/walk.py:main", said, re.M)
    assert re.search(r"^ *1,000 \(10\.00%\)  < app/walk.py:other \(1x\)", said, re.M)
    assert re.search(r"^ *600 \( ?6\.00%\)  < app/walk.py:fib \(8x\)", said, re.M)
    lines = run([program, "--threshold=100", "out"], known).out
    assert re.search(r"^4,000 \(40\.00%\) +return fib\(n - 1\) \+ fib\(n - 2\)$", lines, re.M)


def test_callgrind_has_memory(known):
    text = export(known, "callgrind").decode()
    assert "events: ns bytes\n" in text
    assert "3 150 3072\ncfi=app/walk.py\ncfn=fib\ncalls=2 6\n3 8000 4096\n" in text


def test_firefox_has_the_tree(known):
    made = firefox_profile.check(export(known, "firefox"))
    assert firefox_profile.stacks(made) == TREE
    assert made["meta"]["profilingEndTime"] == 0.01 and made["meta"]["startTime"] == 1700000000000


def test_the_firefox_profiler_opens_it(known):
    program = ROOT / "build/node/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip("npm's @firefox-devtools/profiler-cli is not installed (make full does)")
    (known / "p.json").write_bytes(export(known, "firefox"))
    env = {"HOME": str(known)}  # where it keeps the session
    try:
        run(["node", program, "load", "p.json"], known, env=env)
        said = run(["node", program, "thread", "functions"], known, env=env).out
        seen = run(["node", program, "thread", "samples"], known, env=env).out
    finally:
        run(["node", program, "stop"], known, env=env)
    assert re.search(r"main - total: 10μs \(100\.0%\)", seen), (said, seen)
    assert re.search(r"fib - self: 7\.400μs \(74\.0%\)", seen)
    assert re.search(r"leaf - total: 1\.600μs \(16\.0%\)", seen)


def boxes(content):
    """[(title's lines, x, width, y)] of a flame graph."""
    root = ElementTree.fromstring(content)
    space = "{http://www.w3.org/2000/svg}"
    return [(group.find(space + "title").text.split("\n"), *(float(group.find(space + "rect").get(key))
                                                              for key in ("x", "width", "y")))
            for group in root.iter(space + "g")]  # fmt: skip


def test_flamegraph(known):
    found = boxes(export(known, "flamegraph"))
    assert [(title[0], title[2]) for title, *_ in found] == [
        ("main", "10.0 µs, 100.0 %"), ("main:2  for n in (3, 4):", "300 ns, 3.0 %"),
        ("main:3  fib(n)", "8.15 µs, 81.5 %"), ("fib", "8.00 µs, 80.0 %"), ("fib:7  if n < 2:", "2.40 µs, 24.0 %"),
        ("fib:8  return leaf()", "1.60 µs, 16.0 %"), ("leaf", "600 ns, 6.0 %"), ("leaf:15  return 1", "600 ns, 6.0 %"),
        ("fib:9  return fib(n - 1) + fib(n - 2)", "4.00 µs, 40.0 %"), ("main:4  other()", "1.55 µs, 15.5 %"),
        ("other", "1.50 µs, 15.0 %"), ("other:12  run(leaf)", "1.50 µs, 15.0 %"), ("leaf", "1.00 µs, 10.0 %"),
        ("leaf:15  return 1", "1.00 µs, 10.0 %"),
    ]  # fmt: skip
    whole = 1180
    for title, x, width, y in found:
        share = float(re.search(r", ([\d.]+) %$", title[2])[1])
        assert abs(width - (whole * share / 100 - 0.5)) < 1.5, title
    places = {title[0]: (x, x + width, y) for title, x, width, y in found}
    for caller, callee in [("main", "main:3  fib(n)"), ("main:3  fib(n)", "fib"), ("fib", "fib:7  if n < 2:")]:
        assert places[caller][0] <= places[callee][0] and places[callee][1] <= places[caller][1]
        assert places[callee][2] == places[caller][2] - 17  # the next row above


def test_markdown(known):
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    text = export(known, "md").decode()
    shown = markdown.MarkdownIt("commonmark").enable("table").render(text)
    rows = [[html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<td.*?>(.*?)</td>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", shown, re.S)]  # fmt: skip
    assert ["app/walk.py:9", "6", "4.00 µs", "40.0", "4.00 KiB", "fib", "return fib(n - 1) + fib(n - 2)"] in rows
    assert ["fib", "app/walk.py:6", "14", "8.00 µs", "7.40 µs"] in rows
    assert "Increment" not in export(known, "md", "--no-memory").decode()


@pytest.mark.parametrize("weights", [(1, 1, 1), (3, 5, 7), (0, 0, 0), (0, 0, 9)])
def test_what_ways_share_adds_up_to_the_lines(tmp_path, weights):
    """A function that three lines call: each gets a part of its time, and not a nanosecond is lost."""
    functions = [known_calls.MAIN, known_calls.function(14, "leaf", 100, [(15, 9, 1000, 1000), (16, 9, 7, 7)])]
    calls = {"parent": [0, 1, 1, 1], "line": [0, 2, 3, 4], "function": [0, 1, 1, 1], "calls": [1, 1, 1, 1],
             "time": [100, *weights]}  # fmt: skip
    known_calls.profiles.write(tmp_path / "known.lprof", functions, calls=calls)
    rows = [line.rsplit(" ", 1) for line in export(tmp_path, "collapsed").decode().splitlines()]
    for line, own in ("15", 1000), ("16", 7):
        parts = [int(part) for stack, part in rows if stack.endswith("leaf:" + line)]
        assert sum(parts) == own
        wanted = [own * weight / sum(weights) for weight in weights if weight] if sum(weights) else [own / 3] * 3
        assert all(abs(part - share) < 1 for part, share in zip(sorted(parts), sorted(wanted)))


def write_chain(folder, count):
    """Each function calls the next one, and takes 1 ns itself."""
    functions = [known_calls.function(10 * i + 1, f"f{i}", 1, [(10 * i + 2, 1, 1, 1)]) for i in range(count)]
    calls = {"parent": list(range(count)), "line": [0, *range(2, 10 * count - 8, 10)], "function": list(range(count)),
             "calls": [1] * count, "time": list(range(count, 0, -1))}  # fmt: skip
    known_calls.profiles.write(folder / "known.lprof", functions, calls=calls)


def test_stacks_end_at_a_depth(tmp_path):
    """A file with all frames of each stack would be as large as the square of the depth."""
    write_chain(tmp_path, 2000)
    rows = [line.rsplit(" ", 1) for line in export(tmp_path, "collapsed").decode().splitlines()]
    depths = [stack.count(";") + 1 for stack, _ in rows]
    assert depths == [*range(2, 1001, 2), 1001]
    assert rows[-1][0].endswith(";~:[deeper calls]")
    assert [int(own) for _, own in rows] == [1] * 500 + [1500]
    made = json.loads(export(tmp_path, "speedscope"))
    time = made["profiles"][0]
    assert [len(stack) for stack in time["samples"]] == depths and time["weights"] == [1] * 500 + [1500]
    assert made["shared"]["frames"][-1] == {"name": "[deeper calls]", "file": "~", "line": 0}


@pytest.mark.parametrize("name", ["speedscope", "collapsed", "pprof", "firefox", "flamegraph", "cpuprofile", "pstats"])
def test_a_file_grows_with_the_calls_not_with_their_square(name, tmp_path):
    sizes = []
    for count in 1500, 3000:
        write_chain(tmp_path, count)
        made = export(tmp_path, name)
        sizes.append(len(gzip.decompress(made) if name == "pprof" else made))
    assert sizes[1] < 2.2 * sizes[0]


def test_functions_without_calls_stand_at_the_root(tmp_path):
    known_calls.write(tmp_path / "known.lprof", calls={"function": [0, -1], "parent": [0, 1]})
    rows = export(tmp_path, "collapsed").decode().splitlines()
    assert "app/walk.py:fib;app/walk.py:fib:7 2400" in rows
    assert sum(int(row.rsplit(" ", 1)[1]) for row in rows) == 10000
