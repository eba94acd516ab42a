# SPDX-License-Identifier: MIT
"""Whole files in the web page, in headless Chromium."""
import re

import known_calls
import known_profiles as profiles
import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import run_ckernprof, run_viewer
from opened_page import make, page  # noqa: F401  (a fixture)

pytest.importorskip("selenium", reason="selenium is not installed")

pytestmark = pytest.mark.once

SOURCE = """\
import os

def f(x):
    if x:
        return 1
    # a comment
    return sum(v
               for v in range(3))

def untouched():
    return "secret"

@profile
def g():
    return f(0)

g()
"""


def shown(page, *titles):  # noqa: F811
    """{line: the cells under these titles}; what is between two known parts is line …"""
    return {row["Line"]: tuple(row[title] for title in titles) for row in page.rows("source")}


@pytest.fixture
def module(tmp_path):
    """The page of a run in which the whole module was selected."""
    (tmp_path / "it.py").write_text(SOURCE)
    ended = run_ckernprof(["-l", "-p", "it.py", "it.py"], tmp_path)
    assert ended.code == 0, ended.err
    return make(tmp_path, tmp_path / "it.py.lprof")[0]


def open_function(page, name):  # noqa: F811
    [button] = [b for b in page.driver.find_elements("css selector", "#functions td button") if b.text == name]
    button.click()


def test_all_functions_of_a_file_are_in_one_listing(page, module, tmp_path):  # noqa: F811
    """The text report, which is made by other code, has the same hits."""
    page.open(module)
    open_function(page, "g")
    found = shown(page, "Hits", "Source")
    assert [text for _, text in found.values()] == SOURCE.splitlines()
    report = run_viewer(["--by-file", "--columns", "hits", "it.py.lprof"], tmp_path).out
    told = dict(re.findall(r"^ +(\d+) (.{9}) .*$", report, re.M))
    assert {line: hits for line, (hits, _) in found.items()} == {line: hits.strip() for line, hits in told.items()}
    assert (found["4"][0], found["5"][0], found["6"][0], found["11"][0]) == ("1", "0", "", "0")
    assert int(found["7"][0]) > 1 and page.js("return document.querySelectorAll('#source tr[title]').length") >= 2
    assert page.js("return [...document.querySelectorAll('#source .missed')].map((cell) => cell.title)") == [
        "The line holds code and never ran"] * 2
    marked = page.js("return [...document.querySelectorAll('#source .within')].map((row) => row.cells[0].textContent)")
    assert marked == ["13", "14", "15"]


def test_the_function_alone(page, module):  # noqa: F811
    page.open(module)
    open_function(page, "f")
    page.press("w")
    assert list(shown(page, "Hits")) == ["3", "4", "5", "6", "7", "8"] and shown(page, "Hits")["5"] == ("0",)
    assert page.driver.find_element("id", "whole-file").get_attribute("aria-pressed") == "false"
    open_function(page, "g")
    assert list(shown(page, "Hits")) == ["13", "14", "15"]
    page.click("#whole-file")
    assert len(shown(page, "Hits")) == 17


def test_the_open_function_comes_into_view(page, tmp_path):  # noqa: F811
    text = "".join(f"def f{i}():\n" + "    x = 1\n" * 49 for i in range(40))
    functions = [profiles.function("a.py", 50 * i + 1, f"f{i}", [{"line": 50 * i + 2, "hits": 1, "time": 10, "self": 10}])
                 for i in range(40)]  # fmt: skip
    lines = text.splitlines(keepends=True)
    source = [profiles.text(f, "".join(lines[50 * i:50 * i + 50])) for i, f in enumerate(functions)]
    profiles.write(tmp_path / "p", functions, source, known_calls.META)
    page.open(make(tmp_path, tmp_path / "p")[0])
    page.search("f31")
    open_function(page, "f31")
    page.until("""const row = [...document.querySelectorAll("#source tbody tr")].find((r) => r.cells[0].textContent === "1551");
        const box = document.getElementById("source").getBoundingClientRect(), at = row?.getBoundingClientRect();
        return at && at.top >= box.top && at.bottom <= box.bottom""")


def test_lines_of_several_functions_are_sums(page, tmp_path):  # noqa: F811
    """Line 1 took 30 us with the lambda on it, which took 10."""
    text = "x = list(map(lambda v: v, [1]))\n"
    functions = [
        {**profiles.function("a.py", 1, "<module>", [{"line": 1, "hits": 1, "time": 30_000, "self": 20_000, "rss": 5}]),
         "total": 30_000},
        {**profiles.function("a.py", 1, "<lambda>", [{"line": 1, "hits": 3, "time": 10_000, "self": 10_000, "rss": 7}]),
         "total": 10_000},
    ]  # fmt: skip
    calls = {"parent": [0, 1], "line": [0, 1], "function": [0, 1], "through": [0, 0], "calls": [1, 3],
             "time": [30_000, 10_000]}  # fmt: skip
    source = [profiles.text(f, text) for f in functions]
    profiles.write(tmp_path / "p", functions, source, known_calls.META, calls=calls)
    page.open(make(tmp_path, tmp_path / "p")[0])
    assert shown(page, "Hits", "Time", "Self", "% Time") == {"1": ("4", "30.0 µs", "30.0 µs", "100.0")}
    assert page.js("return document.querySelector('#source tbody tr[title]').title") == (
        "The sum of several functions that share the line")


def test_other_texts_of_a_file_stand_alone(page, tmp_path):  # noqa: F811
    first = profiles.function("a.py", 1, "f", [{"line": 2, "hits": 1, "time": 10, "self": 10}])
    other = profiles.function("a.py", 1, "f (2)", [{"line": 2, "hits": 5, "time": 5, "self": 5}])
    source = [profiles.text(first, "def f():\n    return 1\n"), profiles.text(other, "def f():\n    return 2\n")]
    profiles.write(tmp_path / "p", [first, other], source, known_calls.META)
    page.open(make(tmp_path, tmp_path / "p")[0])
    assert shown(page, "Hits", "Source") == {"1": ("", "def f():"), "2": ("1", "    return 1")}
    open_function(page, "f (2)")
    assert shown(page, "Hits", "Source") == {"1": ("", "def f():"), "2": ("5", "    return 2")}


def test_generated_functions_stand_alone(page, tmp_path):  # noqa: F811
    """Texts of exec() have one name, and lines of theirs have nothing to do with each other."""
    functions = [profiles.function("<string>", 1, name, [{"line": 2, "hits": hits, "time": 10, "self": 10}])
                 for name, hits in (("__init__", 1), ("__eq__", 7))]  # fmt: skip
    profiles.write(tmp_path / "p", functions, [], known_calls.META)
    page.open(make(tmp_path, tmp_path / "p")[0])
    open_function(page, "__eq__")
    assert shown(page, "Hits") == {"2": ("7",)}
