# SPDX-License-Identifier: MIT
"""Garbage collection in the web page, in headless Chromium: in the strip on top, in a column and in a row below the
lines, whose times are without it."""
import known_calls
import known_profiles as profiles
import pytest
from browser import browser  # noqa: F401  (a fixture)
from opened_page import make, page  # noqa: F401  (a fixture)
from test_html_calls import address

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

pytestmark = pytest.mark.once
MS = 1_000_000
FILE = "app/tree.py"


def collecting(folder, **meta):
    """f takes 10 ms, g, which it calls, 2 ms of them. Of 8 ms of its own f has 4 ms in 3 collections; g has 2 ms in
    one; 5 ms in another one are outside. The run took 100 ms."""
    f = profiles.function(FILE, 1, "f", [
        {"line": 2, "hits": 1, "time": 7 * MS, "self": 5 * MS, "gc": 3 * MS, "gc_runs": 2},
        {"line": 3, "hits": 2, "time": 3 * MS, "self": 3 * MS, "gc": MS, "gc_runs": 1}])  # fmt: skip
    g = profiles.function(FILE, 5, "g", [
        {"line": 6, "hits": 1, "time": 2 * MS, "self": 2 * MS, "gc": 2 * MS, "gc_runs": 1}])  # fmt: skip
    texts = [profiles.text(f, "def f():\n    a = g()\n    b = 1\n"), profiles.text(g, "def g():\n    return 2\n")]
    outside = {"gc_outside": 5 * MS, "gc_outside_runs": 1}
    profiles.write(folder / "p", [f, g], texts, {**known_calls.META, "wall": 100 * MS, **outside, **meta})
    return make(folder, folder / "p")[0]


def test_the_strip_has_it(page, tmp_path):  # noqa: F811
    page.open(collecting(tmp_path))
    assert "Garbage collection\n11.0 ms in 5 runs · 11.0 %" in page.text("#times")
    [bar] = page.js("""return [...document.querySelectorAll("#times .strip > div")].filter(
        (fact) => fact.textContent.startsWith("Garbage")).map((fact) => [fact.className, fact.clientHeight > 10])""")
    assert bar[0] != "plain" and bar[1]
    facts = page.text("#times + .facts")
    assert "5.00 ms in 1 run outside the profiled lines" in facts and "gc.callbacks" not in facts


def test_a_cleared_list_is_told(page, tmp_path):  # noqa: F811
    page.open(collecting(tmp_path, gc_cleared=1, gc_outside_runs=0))
    assert "Garbage collection\n11.0 ms in 4 runs" in page.text("#times")
    assert "the program cleared gc.callbacks: later collections are missing" in page.text("#times + .facts")


def test_lines_are_without_it_and_sum_to_the_total_with_its_row(page, tmp_path):  # noqa: F811
    page.open(collecting(tmp_path))
    assert [(row["Function"], row["Time"], row["Self"]) for row in page.rows()] == [
        ("f", "10.0 ms", "8.00 ms"), ("g", "2.00 ms", "2.00 ms")]  # fmt: skip
    rows = {row["Line"]: row for row in page.rows("source")}
    names = "Hits", "Time", "% Time", "Self", "GC"
    assert [rows["2"][name] for name in names] == ["1", "4.00 ms", "40.0", "2.00 ms", "3.00 ms"]
    assert [rows["3"][name] for name in names] == ["2", "2.00 ms", "20.0", "2.00 ms", "1.00 ms"]
    assert [rows["6"][name] for name in names] == ["1", "0", "0.0", "0", "2.00 ms"]
    assert [rows[""][name] for name in names] == ["4", "6.00 ms", "60.0", "6.00 ms", "6.00 ms"]
    assert rows[""]["Source"] == "garbage collection"
    page.press("w")  # the function alone
    rows = {row["Line"]: row for row in page.rows("source")}
    assert page.text("#name") == "f" and "6" not in rows
    assert [rows[""][name] for name in names] == ["3", "4.00 ms", "40.0", "4.00 ms", "4.00 ms"]
    assert rows[""]["Per hit"] == "1.33 ms"
    assert "without garbage collection" in page.text("#notes")
    assert page.complaints() == []


def test_with_cpu_it_has_its_own_waiting(page, tmp_path):  # noqa: F811
    f = profiles.function(FILE, 1, "f", [
        {"line": 2, "hits": 1, "time": 5 * MS, "self": 5 * MS, "gc": 3 * MS, "gc_runs": 2, "cpu": 2 * MS, "wait": 3 * MS,
         "queue": 3 * MS, "gc_wait": 2 * MS, "gc_queue": MS, "native_time": 4 * MS}])  # fmt: skip
    texts = [profiles.text(f, "def f():\n    a = g()\n")]
    profiles.write(tmp_path / "p", [f], texts, {**known_calls.META, "has_cpu": 1, "has_queue": 1, "has_called": 1})
    page.open(make(tmp_path, tmp_path / "p")[0])
    page.press("a")  # all columns
    rows = {row["Line"]: row for row in page.rows("source")}
    names = "Self", "CPU", "Wait", "Queue", "C time"
    assert [rows["2"][name] for name in names] == ["2.00 ms", "1.00 ms", "1.00 ms", "1.00 ms", "2.00 ms"]
    assert [rows[""][name] for name in names[:4]] == ["3.00 ms", "1.00 ms", "2.00 ms", "1.00 ms"]
    assert page.complaints() == []


def test_the_row_is_no_line(page, tmp_path):  # noqa: F811
    page.open(collecting(tmp_path))
    page.js("""[...document.querySelectorAll("#source tbody tr")].find(
        (row) => row.textContent.includes("garbage")).click()""")
    assert "line" not in address(page) and page.text("#name") == "f"
    page.press("l")
    assert "b = 1" in page.text("#lines") and "garbage" not in page.text("#lines")
    assert page.complaints() == []


def test_on_paper(page, tmp_path):  # noqa: F811
    page.open(collecting(tmp_path))
    found = page.js("""return [...document.querySelectorAll(".paper .source")].map((table) =>
        [...[...table.rows].at(-1).cells].map((cell) => cell.textContent.trim()))""")
    assert [row[:5] + row[-1:] for row in found] == [
        ["", "3", "4.00 ms", "1.33 ms", "40.0", "garbage collection"],
        ["", "1", "2.00 ms", "2.00 ms", "100.0", "garbage collection"]]  # fmt: skip


def test_without_collections_nothing_is_said(page, tmp_path):  # noqa: F811
    f = profiles.function(FILE, 1, "f", [{"line": 2, "hits": 1, "time": MS, "self": MS}])
    profiles.write(tmp_path / "p", [f], [profiles.text(f, "def f():\n    a = 1\n")], known_calls.META)
    page.open(make(tmp_path, tmp_path / "p")[0])
    page.press("a")  # all columns
    assert "GC" not in page.titles("source") and "arbage" not in page.text("body")
