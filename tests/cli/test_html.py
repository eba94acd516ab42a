# SPDX-License-Identifier: MIT
"""--format html, looked at in headless Chromium: what the page shows of profiles whose numbers are
known, how it is worked with, and that nothing in a profile gets out of being text."""
import base64
import fnmatch
import itertools
import os
import re
import signal
import sys
import types

import msgpack
import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import BUILD, ROOT, run, run_ckernprof
from opened_page import Page, make, page  # noqa: F401  (a fixture)

Keys = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").Keys

pytestmark = pytest.mark.once
MIB = 1 << 20
MS = 1_000_000

HOT = """def hot(n):
    # a comment
    total = sum(range(n))
    return "it's" + str(total)
"""
COLD = """@cached
def cold():
    return 1
"""


def function(name, line, text, lines, total, file="/srv/app.py"):
    return {"file": file, "line": line, "name": name, "text": text, "lines": lines, "total": total}


def known():
    """Two functions. hot: 300 ms in it, all its own but for 40 ms in line 12."""
    hot = function("Box.hot", 10, HOT, {
        "line": [12, 13], "hits": [4, 1234567], "time": [200 * MS, 100 * MS],
        "self": [160 * MS, 100 * MS], "max": [150 * MS, 2000], "rss": [50 * MIB, 20 * MIB],
        "grown": [30 * MIB, 0], "released": [0, 10 * MIB + 512], "self_increment": [30 * MIB, 0],
    }, 300 * MS)
    cold = function("cold", 70, COLD, {
        "line": [72], "hits": [2], "time": [40 * MS], "self": [40 * MS], "max": [30 * MS],
        "rss": [50 * MIB], "grown": [1536], "largest": [1536],
    }, 40 * MS, "/srv/cold_store.py")  # fmt: skip
    return [cold, hot]


META = {
    "python": "3.12.1", "tracer": "probe", "command": "app.py --now", "pid": 9, "start": 1.6e9,
    "wall": 2500 * MS, "overhead": 3 * MS, "overhead_error": 200_000, "events": 4321, "reads": 55,
    "own_bytes": 3 * MIB, "has_memory": True, "inexact_memory": False, "memory_step": 0,
}  # fmt: skip


def write(path, functions, timeline=None, **meta):
    """A profile, written with nothing but msgpack."""
    source = [{key: f[key] for key in ("file", "line", "name", "text")} for f in functions if f["text"]]
    rest = [{key: value for key, value in f.items() if key != "text"} for f in functions]
    path.write_bytes(msgpack.packb({
        "format": "clineprof", "version": 1, "unit": 1e-9, "functions": rest, "source": source,
        "meta": {**META, **meta}, **({"timeline": timeline} if timeline else {}),
    }, unicode_errors="surrogateescape"))  # fmt: skip
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of the two known functions."""
    folder = tmp_path_factory.mktemp("html")
    path, said = make(folder, write(folder / "app.lprof", known()))
    return path


def told(page):
    """What stands on top of the page, in one line."""
    return page.text("#times").replace("\n", " ") + " " + page.text("#times + .facts").replace("\n", " ") + " "


# ---- what is shown -------------------------------------------------------------------------------


def test_functions_the_hottest_first(page, report):
    page.open(report)
    hot, cold = page.rows()
    # 300 ms of the 300 ms in all: 260 of its own, and 40 of cold
    assert hot == {
        "Function": "Box.hot", "Time": "300 ms", "Share %": "100.0", "Self": "260 ms",
        "Mem usage": "50.0 MiB", "Increment": "20.0 MiB", "Hits": "1,234,571", "Place": "app.py:10",
    }  # fmt: skip
    assert cold == {
        "Function": "cold", "Time": "40.0 ms", "Share %": "13.3", "Self": "40.0 ms",
        "Mem usage": "50.0 MiB", "Increment": "1.50 KiB", "Hits": "2", "Place": "cold_store.py:70",
    }  # fmt: skip
    assert page.text("#tab-functions") == "Functions 2"
    assert page.driver.title == "app.py --now – clineprof"


def test_the_head_says_how_the_profile_was_made(page, report):
    page.open(report)
    head = page.text("header") + told(page)
    for part in ("app.py --now", "Python: 3.12.1", "Tracer: probe", "Started: 2020-09-1",
                 "Wall time 2.50 s", "In profiled functions 300 ms · 12.0 %",
                 "The profiler itself 3.00 ms · 0.1 %", "about 3.00 ms ± 200 µs for 4,321 events, taken off the lines",
                 "read 55 times, exact to the page", "own 3.00 MiB left out"):
        assert part in head


def test_the_source_with_its_measures(page, report):
    page.open(report)
    assert page.text("#name") == "Box.hot" and page.text("#place") == "/srv/app.py:10"
    rows = page.rows("source")
    assert [row["Line"] for row in rows] == ["10", "11", "12", "13"]
    assert [row["Source"] for row in rows] == HOT.splitlines()
    assert {row["Hits"] + row["Time"] + row["Mem usage"] for row in rows[:2]} == {""}
    assert rows[2] == {
        "Line": "12", "Hits": "4", "Time": "200 ms", "Per hit": "50.0 ms", "% Time": "66.7",
        "Self": "160 ms", "Mem usage": "50.0 MiB", "Increment": "30.0 MiB",
        "Source": "    total = sum(range(n))",
    }  # fmt: skip
    assert rows[3]["Hits"] == "1,234,567" and rows[3]["Per hit"] == "81.0 ns"
    assert rows[3]["Increment"] == "-10.0 MiB"


def test_bars_show_the_share_of_the_largest_in_the_column(page, report):
    page.open(report)
    bars = page.js("""return [...document.querySelectorAll("#source tr")].map((row) =>
        [...row.querySelectorAll(".bar")].map((cell) => cell.style.getPropertyValue("--w")))""")
    # 200 and 100 ms, 160 and 100 ms, 30 and -10 MiB
    assert bars[-3:-1] == [["100.0%", "100.0%", "100.0%"], ["50.0%", "62.5%", "33.3%"]]
    heat = page.js("""return [...document.querySelectorAll("#source tr")].map((row) =>
        [...row.querySelectorAll(".bar:not(.of-memory)")].map((cell) => cell.className.match(/heat\\d/)[0]))""")
    assert heat[-3:-1] == [["heat4", "heat4"], ["heat2", "heat3"]]


def test_the_source_has_colours(page, report):
    pytest.importorskip("pygments")
    page.open(report)
    found = page.js("""return [...document.querySelectorAll("#source code span")].map((part) =>
        [part.className, part.textContent])""")
    assert ["kw", "def"] in [[kind, text.strip()] for kind, text in found]
    assert ["com", "# a comment"] in found and ["def", "hot"] in found
    assert ["str", '"it\'s"'] in [[kind, text.strip()] for kind, text in found]


def test_colours_begin_and_end_where_they_should(page, tmp_path):
    """Behind characters that are two of JavaScript's, in strings over several lines, on paper too."""
    pytest.importorskip("pygments")
    pytest.importorskip("jinja2")
    text = 'def f():\n    x = "\U0001f600\u202e" + y  # \U0001f600\n    """a\n    b"""; return 1\n'
    one = function("f", 1, text, {"line": [2], "hits": [1], "time": [1]}, 1)
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    for place in "#source", ".paper":
        found = page.js("""return [...document.querySelectorAll(arguments[0] + " code > span")].map((part) =>
            [part.className, part.textContent.trim()]).filter(([, text]) => text)""", place)
        assert found == [
            ["kw", "def"], ["def", "f"], ["str", '"\U0001f600U+202E"'], ["com", "# \U0001f600"],
            ["str", '"""a'], ["str", 'b"""'], ["kw", "return"], ["lit", "1"],
        ]  # fmt: skip


def test_all_columns_are_there_when_asked_for(page, report):
    page.open(report)
    page.click("#all-columns")
    row = page.rows("source")[2]
    assert "Await" not in row and "Live" not in row  # nothing is known of them
    assert (row["Max"], row["Grown"], row["Released"], row["Self incr."]) == (
        "150 ms", "30.0 MiB", "", "30.0 MiB")
    assert page.driver.find_element("id", "all-columns").get_attribute("aria-pressed") == "true"


def test_what_awaits_and_what_lives_has_columns(page, tmp_path):
    one = known()[1]
    one["lines"].update({"await": [5 * MS, 0], "allocated": [0, 3 * MIB], "blocks": [0, 4000],
                         "live": [0, 2 * MIB], "live_blocks": [0, 3000], "heap_peak": [0, MIB],
                         "freed_in_line": [0, 512]})  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    assert page.column("Await", "source") == ["", "", "5.00 ms", "0"]
    page.click("#all-columns")
    row = page.rows("source")[3]
    assert [row[title] for title in ("Allocated", "Blocks", "Live", "Live blocks", "At peak", "Freed here")
            ] == ["3.00 MiB", "4,000", "2.00 MiB", "3,000", "1.00 MiB", "512 B"]  # fmt: skip


@pytest.mark.parametrize("allocated, shown", [(3 * MIB, True), (MIB // 2, False)])
def test_allocated_is_shown_where_it_tells_more_than_the_increment(page, tmp_path, allocated, shown):
    one = function("f", 1, "def f():\n    x = load()\n    y = 2\n", {
        "line": [2, 3], "hits": [1, 1], "time": [100, 20], "rss": [20 * MIB, 20 * MIB], "grown": [4096, 0],
        "allocated": [allocated, 0],
    }, 120)  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    assert ("Allocated" in page.rows("source")[1]) == shown
    if shown:
        assert page.column("Allocated", "source")[1:] == ["3.00 MiB", ""]


def test_without_resident_memory_what_lives_is_shown_at_once(page, tmp_path):
    """As with --light --heap, where no line has an increment."""
    one = function("f", 1, "def f():\n    x = load()\n    y = 2\n", {
        "line": [2, 3], "hits": [1, 1], "time": [100, 20], "allocated": [3 * MIB, 0], "live": [2 * MIB, 0],
    }, 120)  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", [one], tracer="light", has_memory=False, heap_interval=65536))[0])
    assert page.column("Live", "source")[1:] == ["2.00 MiB", ""] and "Increment" not in page.titles("source")


def test_times_that_are_estimates_say_so(page, tmp_path):
    one = function("f", 1, "def f():\n    x = 1\n    y = 2\n", {
        "line": [2, 3], "hits": [1, 1], "time": [100, 20], "self": [100, 20], "raw_self": [110, 110],
    }, 120)  # fmt: skip
    path, _ = make(tmp_path, write(tmp_path / "p", [one]))
    page.open(path)
    found = page.js("""return [...document.querySelectorAll("td.estimate")].map(
        cell => [cell.closest("tr").firstChild.textContent, cell.title.split(":")[0]])""")
    assert found and {tuple(cell) for cell in found} == {("3", "An estimate")}


def test_raw_times_and_no_memory(page, tmp_path):
    one = known()[1]
    one["lines"]["raw_time"], one["lines"]["raw_self"] = [220 * MS, 110 * MS], [180 * MS, 110 * MS]
    one["raw_total"] = 330 * MS
    path, _ = make(tmp_path, write(tmp_path / "p", [one]), options=["--raw-times", "--no-memory"])
    page.open(path)
    [row] = page.rows()
    assert (row["Time"], row["Self"]) == ("330 ms", "290 ms") and "Increment" not in row
    assert "left in the lines" in told(page) and "Memory" not in told(page)
    assert [r["Time"] for r in page.rows("source")[2:]] == ["220 ms", "110 ms"]
    assert str(50 * MIB) not in path.read_text("utf-8")


# ---- sorting, searching, keys --------------------------------------------------------------------


def test_any_column_sorts(page, report):
    page.open(report)
    assert page.order() == [["Time", "descending"]]
    expected = {
        "Function": ("ascending", "Box.hot"), "Time": ("descending", "Box.hot"),
        "Share %": ("descending", "Box.hot"), "Self": ("descending", "Box.hot"),
        "Mem usage": ("descending", "Box.hot"), "Increment": ("descending", "Box.hot"),
        "Hits": ("descending", "Box.hot"), "Place": ("ascending", "Box.hot"),
    }  # fmt: skip
    for title, (direction, first) in expected.items():
        page.heading(title).click()
        assert page.order() == [[title, direction]]
        assert page.column("Function")[0] == first
    page.heading("Place").click()
    assert page.order() == [["Place", "descending"]] and page.column("Function")[0] == "cold"


def test_lines_sort_too(page, report):
    page.open(report)
    page.heading("Hits", "source").click()
    assert page.column("Line", "source") == ["13", "12", "10", "11"]
    page.heading("Line", "source").click()
    page.heading("Line", "source").click()
    assert page.column("Line", "source") == ["10", "11", "12", "13"]


def test_the_hottest_lines_of_all(page, report):
    page.open(report)
    page.click("#tab-lines")
    rows = page.rows("lines")
    assert [row["Function"] for row in rows][:3] == ["Box.hot:12", "Box.hot:13", "cold:72"]
    assert rows[0] == {"Time": "200 ms", "Self": "160 ms", "Increment": "30.0 MiB", "Hits": "4",
                       "Function": "Box.hot:12", "Source": "total = sum(range(n))"}  # fmt: skip
    assert len(rows) == 7 and page.text("#tab-lines") == "Lines 7"
    page.driver.find_elements("css selector", "#lines td button")[2].click()
    assert page.text("#name") == "cold"
    assert page.js("return document.querySelector('#source .selected').cells[0].textContent") == "72"


def test_search_finds_functions_by_name_and_file_and_lines_by_text(page, report):
    page.open(report)
    page.search("COLD_st")
    assert page.column("Function") == ["cold"] and page.text("#tab-functions") == "Functions 1 of 2"
    page.search("sum( range")
    assert page.column("Function") == [] and page.text("#nothing") == "Nothing is found here."
    page.click("#tab-lines")
    assert page.column("Function", "lines") == ["Box.hot:12"]
    assert page.js("return [...document.querySelectorAll('#lines mark')].map(m => m.textContent)") == [
        "sum(", "range"]
    page.press("/")
    page.press(Keys.ESCAPE)
    assert page.text("#tab-lines") == "Lines 7" and page.text("#tab-functions") == "Functions 2"


def test_the_page_is_worked_with_keys_alone(page, report):
    page.open(report)
    page.press("f")
    page.press("k", "k", "j")
    assert page.driver.switch_to.active_element.text == "cold"
    page.press(Keys.ENTER)
    assert page.text("#name") == "cold"
    assert page.driver.switch_to.active_element.get_attribute("id") == "source"
    page.press(Keys.ESCAPE)
    assert page.driver.switch_to.active_element.text == "cold"
    page.press(Keys.ARROW_UP, Keys.ENTER)
    assert page.text("#name") == "Box.hot"
    page.press("a")
    assert page.driver.find_element("id", "all-columns").get_attribute("aria-pressed") == "true"
    page.press("?")
    assert page.text("#keys h2") == "Keys" and "next and previous row" in page.text("#keys")
    page.press(Keys.ESCAPE)
    assert not page.js("return document.getElementById('keys').open")
    page.press("l")
    assert page.js("return !document.getElementById('lines').hidden")
    page.press(Keys.ARROW_LEFT)
    assert page.js("return !document.getElementById('files').hidden")


def test_what_can_be_done_is_a_button_and_has_a_name(page, report):
    page.open(report)
    page.click("#tab-lines")
    nameless = page.js("""return [...document.querySelectorAll("button, input, [role=region], table")]
        .filter((part) => part.checkVisibility() && !(part.ariaLabel || part.textContent.trim() ||
            part.getAttribute("aria-labelledby"))).map((part) => part.outerHTML)""")
    assert nameless == []
    page.press(Keys.TAB)
    outline = page.js("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


# ---- light, dark, paper, phone -------------------------------------------------------------------

CONTRAST = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 :
    ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const probe = document.body.appendChild(document.createElement("i"));
const colour = (name) => { probe.style.color = `var(--${name})`;
    return light(parse(getComputedStyle(probe).color)); };
const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
const found = {};
for (const ground of ["ground", "raised", "chosen", "found"])
    for (const ink of ground === "found" ? ["ink"] : ["ink", "quiet"])
        found[ink + " on " + ground] = ratio(colour(ink), colour(ground));
for (const kind of ["kw", "str", "lit", "com", "def", "dec", "bui", "esc"]) {
    probe.className = kind; probe.style.color = "";
    const ink = light(parse(getComputedStyle(probe).color));
    for (const ground of ["ground", "chosen"])
        { found[kind + " on " + ground] = ratio(ink, (probe.className = "", colour(ground)));
          probe.className = kind; probe.style.color = ""; }
}
const bars = {};
for (const bar of ["heat1", "heat2", "heat3", "heat4", "memory"])
    for (const ground of ["ground", "raised", "chosen", "found"])
        bars[bar + " on " + ground] = ratio(colour(bar), colour(ground));
probe.remove();
return [found, bars];
"""


def ground(page):
    return page.js("return getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_and_the_scale_of_heat_can_be_read(page, report, scheme):
    page.emulate(prefers_color_scheme=scheme)
    page.open(report)
    ratios, bars = page.js(CONTRAST)
    assert len(ratios) > 20 and len(bars) == 20
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}
    assert {pair: ratio for pair, ratio in bars.items() if ratio < 3} == {}
    drawn = page.js("""return [...document.querySelectorAll("#source .bar.heat4, #source .bar.of-memory")].map(
        (cell) => getComputedStyle(cell).backgroundImage)""")
    assert len(drawn) == 4 and all("rgb" in image for image in drawn)


def test_dark_and_light(page, report):
    page.emulate(prefers_color_scheme="dark")
    page.open(report)
    page.js("localStorage.clear()")
    page.open(report)
    dark, dark_shot = ground(page), page.driver.get_screenshot_as_png()
    assert page.text("#theme") == "Light"
    page.click("#theme")
    light = ground(page)
    assert light != dark and page.driver.get_screenshot_as_png() != dark_shot
    page.open(report)  # remembered
    assert ground(page) == light and page.text("#theme") == "Dark"
    page.press("t")
    assert ground(page) == dark
    page.js("localStorage.clear()")


def test_paper_has_what_matters_and_no_controls(page, report):
    pytest.importorskip("jinja2")
    page.open(report)
    page.emulate("print")
    visible = page.js("""return [...document.querySelectorAll("button, input, .scroller")]
        .filter((part) => part.checkVisibility()).length""")
    assert visible == 0
    paper = page.text(".paper")
    for part in ("Box.hot", "260 ms", "Mem usage", "total = sum(range(n))", "-10.0 MiB", "66.7"):
        assert part in paper
    page.emulate()
    pdf = base64.b64decode(page.driver.print_page())
    assert pdf.startswith(b"%PDF") and len(pdf) > 5000


def test_on_a_phone_one_thing_is_shown_at_a_time(page, report):
    with page.phone():
        page.open(report)
        assert page.js("return document.documentElement.scrollWidth") <= 390
        assert not page.driver.find_element("id", "lists").is_displayed()  # it opens on the hottest line
        page.click("#back")
        assert not page.driver.find_element("id", "reading").is_displayed()
        page.click("#functions td button")
        assert not page.driver.find_element("id", "lists").is_displayed()
        assert page.column("Source", "source") == HOT.splitlines()
        assert "Per hit" not in page.rows("source")[0] and "Increment" in page.rows("source")[0]
        page.click("#back")
        assert page.driver.find_element("id", "lists").is_displayed()


SEEN = """
const [selector, last] = arguments;
const cells = [...document.querySelectorAll(selector)].filter((cell) => cell.textContent.trim());
const text = document.createTreeWalker(cells.at(last ? -1 : 0), NodeFilter.SHOW_TEXT).nextNode();
const range = document.createRange();
range.selectNodeContents(text);
const box = range.getBoundingClientRect();
return [0.1, 0.9].every((part) => {
    const top = document.elementFromPoint(box.left + part * box.width, (box.top + box.bottom) / 2);
    return top !== null && top.contains(text);
});
"""


COUNTS = 1, 3, 9, 500


@pytest.fixture(scope="module")
def pages_of(tmp_path_factory):
    """The pages of profiles of so many functions, each of ten lines."""
    text, pages = "def work(n):\n" + "    work(n - 1)\n" * 9, {}
    lines = {"line": [*range(2, 11)], "hits": [1] * 9, "time": [MS] * 9, "self": [MS] * 9, "rss": [50 * MIB] * 9}
    for count in COUNTS:
        folder = tmp_path_factory.mktemp("screens")
        functions = [function(f"work{i}", 1, text, lines, 9 * MS, f"/srv/prog{i}.py") for i in range(count)]
        pages[count], _ = make(folder, write(folder / "p", functions))
    return pages


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("width, height", [(390, 844), (1024, 768), (1280, 720), (1400, 900), (1920, 1080), (2560, 1440)])
def test_numbers_and_code_are_seen_on_any_screen(page, pages_of, count, width, height):
    with page.screen(width, height):
        page.open(pages_of[count])
        assert page.js("return document.documentElement.scrollWidth") <= width
        for selector in "#source tbody td.num:nth-child(2)", "#source tbody td.code":  # it opens on the hottest line
            assert page.js(SEEN, selector, False) and page.js(SEEN, selector, True), selector
        if width == 390:
            page.click("#back")
        for selector in "#functions tbody td.num", "#functions tbody td button":
            assert page.js(SEEN, selector, False), selector


# ---- other profiles ------------------------------------------------------------------------------


def test_nothing_was_profiled(page, tmp_path):
    page.open(make(tmp_path, write(tmp_path / "p", []))[0])
    assert page.rows() == [] and page.text("#nothing") == "No function was profiled."
    assert page.text("#name") == "No function is open"


@pytest.mark.parametrize("meta, said", [
    ({"inexact_memory": True, "memory_step": 262144}, "read 55 times, in steps of 256 KiB;"),
    ({"inexact_memory": True}, "read 55 times, not exact to the page;"),
    ({"own_bytes": 0}, "read 55 times, exact to the page"),
    ({"memory": "uss"}, "memory of its own (uss), read 55 times, exact to the page;"),
    ({"memory": "?<b>"}, "?<b>, read 55 times, exact to the page;"),
    ({"others_grown": 2 * MIB}, "other threads, while a line ran: grown 2.00 MiB, released 0"),
    ({"overhead": 0}, "Cost of profiling: 4,321 events "),
    ({"overhead_error": 0}, "about 3.00 ms for 4,321 events, taken off the lines"),
    ({"tracer": "light"}, "Cost of profiling: left in; hits are exact, and times are estimates from samples"),
])  # fmt: skip
def test_the_head_says_what_is_known(page, tmp_path, meta, said):
    page.open(make(tmp_path, write(tmp_path / "p", known(), **meta))[0])
    facts = told(page)
    assert said in facts and ("own" in facts) == ("own_bytes" not in meta)


def test_memory_was_not_read(page, tmp_path):
    one = known()[1]
    for column in "rss", "grown", "released", "self_increment":
        del one["lines"][column]
    page.open(make(tmp_path, write(tmp_path / "p", [one], has_memory=False, reads=0))[0])
    assert "Mem usage" not in page.rows()[0] and "Increment" not in page.rows("source")[0]
    assert "Memory" not in told(page) and page.rows()[0]["Self"] == "260 ms"


def test_memory_was_read_of_some_lines(page, tmp_path):
    """As when a profile without it was added: nothing is claimed of the others."""
    one = known()[1]
    one["lines"]["rss"], one["lines"]["released"] = [50 * MIB, 0], [0, 0]
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    assert page.column("Mem usage", "source") == ["", "", "50.0 MiB", ""]
    assert page.column("Increment", "source") == ["", "", "30.0 MiB", ""]


def test_the_source_is_not_known(page, tmp_path):
    one = known()[1]
    one["text"] = None
    one["lines"]["line"] = [9, 2**31 - 1]
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    assert page.column("Line", "source") == ["9", "…", str(2**31 - 1)]
    assert page.column("Time", "source") == ["200 ms", "", "100 ms"]
    page.press("w")
    assert page.column("Line", "source") == ["9", str(2**31 - 1)]
    assert page.text("#notes") == "The source is not known."


def test_only_hits_and_times_are_known(page, tmp_path):
    """As of line_profiler's files: nothing is claimed that nobody knows."""
    one = function("f", 1, "def f():\n    pass\n", {"line": [2], "hits": [3], "time": [6000]}, 0)
    path = tmp_path / "p"
    write(path, [one])
    raw = msgpack.unpackb(path.read_bytes())
    raw["meta"] = {}
    path.write_bytes(msgpack.packb(raw))
    page.open(make(tmp_path, path)[0])
    assert page.rows() == [{"Function": "f", "Time": "6.00 µs", "Share %": "100.0", "Hits": "3",
                            "Place": "app.py:1"}]  # fmt: skip
    assert told(page).split("  ")[0] == "In profiled functions 6.00 µs Hottest line app.py:2 6.00 µs · 100.0 %"
    assert page.text("h1") == "A profile"


def test_numbers_beyond_all_measure(page, tmp_path):
    huge = 2**64 - 1
    one = function("f", 1, "def f(): pass\n", {"line": [1], "hits": [huge], "time": [huge],
                   "self": [huge], "rss": [huge], "grown": [0], "released": [huge],
                   "self_increment": [-(2**63)], "max": [1]}, huge)  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", [one, *known()], start=1e300, wall=huge))[0])
    assert page.rows()[0]["Time"] == "18,446,744,074 s" and page.rows()[0]["Share %"] == "100.0"
    assert page.column("Increment")[0] == "-16,777,216 TiB"
    assert page.column("Hits")[0] in ("1.84e+19",)
    assert "Started" not in told(page)


def test_several_files_are_summed(page, tmp_path):
    files = [write(tmp_path / str(pid), known(), pid=pid) for pid in (8, 9)]
    page.open(make(tmp_path, *files)[0])
    assert page.column("Time") == ["600 ms", "80.0 ms"] and page.column("Hits")[1] == "4"
    assert page.rows("source")[2]["Hits"] == "8"
    assert "Wall time 5.00 s" in told(page)


def test_lines_that_were_running_are_marked(page, script, tmp_path):
    path = script("""
        import os, signal
        @profile
        def dying():
            x = 1
            os.kill(os.getpid(), signal.SIGKILL)
        dying()
        """.replace("\n        ", "\n"))
    ended = run_ckernprof(["-l", path], tmp_path)
    assert ended.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    page.open(make(tmp_path, tmp_path / "program.py.lprof.live")[0])
    assert page.text("#place") == "program.py:3"
    assert "running" in page.rows()[0]["Function"]
    [marked] = page.js("""return [...document.querySelectorAll("#source tr.running")].map((row) =>
        [row.cells[0].textContent, row.querySelector("code").textContent])""")
    assert marked[0] == "6" and marked[1].startswith("> running:     os.kill(")
    assert "Lines marked > were running" in page.text("#notes")


def test_a_real_run(page, tmp_path):
    ended = run_ckernprof(["-l", "-o", "demo.lprof", ROOT / "fixtures" / "demo.py"], tmp_path)
    assert ended.code == 0
    page.open(make(tmp_path, tmp_path / "demo.lprof")[0])
    assert sorted(page.column("Function")) == ["collatz", "load", "main"]
    assert page.text("#name") == "load"
    hits = {row["Line"]: row["Hits"] for row in page.rows("source")}
    assert hits["11"] == hits["12"] == "1" and hits["9"] == ""


def test_many_functions_and_long_ones_make_few_rows(page, tmp_path):
    many = [function(f"f{i:04}", 1, None, {"line": [2], "hits": [i + 1], "time": [i + 1],
                     "self": [i + 1]}, i + 1) for i in range(5000)]  # fmt: skip
    long = "def long():\n" + "".join(f"    x = {i}\n" for i in range(2, 100_001))
    many.append(function("long", 1, long, {"line": [100_000], "hits": [1], "time": [10**9],
                                           "self": [10**9]}, 10**9))  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", many))[0])
    assert len(page.rows()) < 100 and len(page.rows("source")) < 150
    page.press("f", Keys.END)
    assert page.column("Function")[-1] == "f0000" and len(page.rows()) < 100
    assert page.driver.switch_to.active_element.text == "f0000"
    page.js("document.getElementById('source').scrollTop = 1e9")
    page.until("return document.querySelector('#source tbody').textContent.includes('x = 100000')")
    last = page.rows("source")[-1]
    assert (last["Line"], last["Source"], last["Hits"]) == ("100000", "    x = 100000", "1")
    page.search("x = 99999")
    page.click("#tab-lines")
    assert page.column("Function", "lines") == ["long:99999"]


def test_only_the_hottest_functions_have_colours_and_the_page_says_so(page, tmp_path):
    pytest.importorskip("pygments")
    text = "def f():\n" + "    return 'text'\n" * 20_000
    functions = [function(f"f{i}", 1, text, {"line": [2], "hits": [1], "time": [100 - i],
                          "self": [100 - i]}, 100 - i) for i in range(3)]  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", functions))[0])
    page.press("w")
    assert page.js("return document.querySelectorAll('#source code .str').length") > 10
    assert page.text("#notes") == ""
    page.driver.find_elements("css selector", "#functions td button")[2].click()
    assert page.js("return document.querySelectorAll('#source code .str').length") == 0
    assert page.text("#notes") == "Only the hottest functions (1) have colours, and this is none of them."


# ---- without the extras, without JavaScript ------------------------------------------------------


@pytest.fixture
def without(tmp_path):
    """without("jinja2"): an environment in which it cannot be imported."""
    def block(*names):
        for name in names:
            (tmp_path / "none").mkdir(exist_ok=True)
            (tmp_path / "none" / f"{name}.py").write_text("raise ImportError\n")
        return {"PYTHONPATH": str(tmp_path / "none")}

    return block


@pytest.mark.parametrize("names, missing", [
    (["jinja2"], "tables on paper and without JavaScript (Jinja2)"),
    (["pygments"], "colours of the source (Pygments)"),
    (["jinja2", "pygments"], "tables on paper and without JavaScript (Jinja2) and "
                             "colours of the source (Pygments)"),
])  # fmt: skip
def test_without_the_extras_the_page_is_plainer(page, tmp_path, without, names, missing):
    profile = write(tmp_path / "p", known(), command="<b>{{ title }} ${title}</b>")
    for name in {"jinja2", "pygments"} - set(names):
        pytest.importorskip(name)
    path, said = make(tmp_path, profile, env=without(*names))
    assert said == f"clineprof: the page lacks {missing}: pip install jinja2 pygments\n"
    page.open(path)
    assert page.column("Time") == ["300 ms", "40.0 ms"]
    assert page.column("Source", "source") == HOT.splitlines()
    assert page.text("h1") == "<b>{{ title }} ${title}</b>"
    coloured = page.js("return document.querySelectorAll('#source code .kw').length")
    assert bool(coloured) == ("pygments" not in names)
    assert page.text("#notes") == ""
    page.emulate("print")
    assert page.js("return document.querySelector('.paper').children.length > 0") == (
        "jinja2" not in names)


def test_with_the_extras_nothing_is_said(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("pygments")
    assert make(tmp_path, write(tmp_path / "p", known()))[1] == ""


def cells(page, table):
    return page.js("""const table = document.querySelector(arguments[0]);
        return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))
            .filter((row) => row.length > 1)""", table)


def test_without_javascript_there_are_the_same_numbers(page, tmp_path):
    pytest.importorskip("jinja2")
    sizes = [1, 999, 1023, 1024, 1152, 10_235, 1023.6 * 1024, 1047527, 2**20, 10 * 2**20 + 51200,
             2**30, 5 * 2**30 + 2**27, 2**41]  # fmt: skip
    spans = [1, 12, 999, 1000, 1125, 99_949, 99_950, 999_499, 999_500, 1_005_000, 12_345_678_901,
             999_999_999_999, 12_345_678_901_234]  # fmt: skip
    count = len(sizes)
    one = function("f", 1, "def f():\n" + "    pass\n" * count, {
        "line": list(range(2, count + 2)), "hits": [7 * (10**i) for i in range(count)],
        "time": spans, "self": spans[::-1], "rss": [int(size) for size in sizes],
        "grown": [int(size) for size in sizes[::-1]]}, sum(spans))  # fmt: skip
    path, _ = make(tmp_path, write(tmp_path / "p", [one, *known()]))
    page.open(path)
    ours, listed = cells(page, "#source table"), cells(page, "#functions table")
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.open(path, runs=False)
        assert page.driver.find_element("css selector", ".paper").is_displayed()
        assert not page.driver.find_element("id", "search").is_displayed()
        theirs = [[cell.get_attribute("textContent") for cell in row.find_elements("css selector", "th, td")]
                  for row in page.driver.find_elements("css selector", "table.source:nth-of-type(2) tr")]
        first = [[cell.get_attribute("textContent") for cell in row.find_elements("css selector", "th, td")]
                 for row in page.driver.find_elements("css selector", "table.list tr")]  # fmt: skip
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert theirs[1:] == ours[1:] and len(ours) == count + 2
    assert [row[:7] for row in first[1:]] == [row[:7] for row in listed[1:]]


# ---- timeline and leaks --------------------------------------------------------------------------


def test_memory_over_time(page, tmp_path):
    rss = [MIB * (10 + i % 50 + (i == 3210) * 100) for i in range(5000)]
    timeline = [
        {"pid": 17, "start": 1.6e9, "time": [i * MS for i in range(5000)], "rss": rss},
        {"pid": 18, "start": 1.6e9 + 1, "time": [0, 2000 * MS], "rss": [MIB, 2 * MIB]},
        {"pid": 19, "start": 1.6e9, "time": [], "rss": []},
    ]
    page.open(make(tmp_path, write(tmp_path / "p", known(), timeline))[0])
    page.click("#tab-memory")
    drawing = page.driver.find_element("css selector", "#memory svg")
    assert drawing.is_displayed()
    assert drawing.get_attribute("aria-label") == (
        "Resident memory of 2 processes over 5.00 s, 120 MiB at most")
    said = page.js("return document.querySelector('svg').textContent")
    assert "peak 120 MiB at 3.21 s in process 17" in said and "process 18" in said
    curves = page.js("return [...document.querySelectorAll('.curve')].map((c) => c.getAttribute('d'))")
    assert len(curves) == 2 and curves[0].count("L") < 1000
    # from 1 s to 3 s of 4.999 s, 1 and 2 MiB of 120
    assert curves[1] == "M252.0 125.1L616.1 124.3"
    page.emulate("print")
    assert drawing.is_displayed()


def stay(name, level, enter, leave):
    return {"name": name, "file": "a.py", "line": 1, "level": level, "enter": enter * MS, "leave": leave * MS}


def test_stays_in_functions_lie_below_memory(page, tmp_path):
    marks = [stay("outer", 0, 10, 60), stay("<b>&amp;", 1, 20, 50), stay("brief", 1, 55, 56),
             stay("deep", 30, 20, 30), stay("a\u202eb", 2, 20, 50)]  # fmt: skip
    timeline = [{"pid": 1, "start": 1.6e9, "time": [0, 100 * MS], "rss": [0, MIB], "marks": marks}]
    page.open(make(tmp_path, write(tmp_path / "p", known(), timeline))[0])
    page.click("#tab-memory")
    drawn = page.js("""return [...document.querySelectorAll(".stay")].map((stay) => [
        ...["x", "y", "width"].map((name) => +stay.querySelector("rect").getAttribute(name)),
        stay.querySelector("title").textContent, stay.querySelector("text")?.textContent ?? null])""")
    assert drawn == [
        [161, 150, 455, "outer: 50.0 ms", "outer"],
        [252, 165, 273, "<b>&amp;: 30.0 ms", "<b>&amp;"],
        [570.5, 165, 9.1, "brief: 1.00 ms", None],
        [252, 180, 273, "aU+202Eb: 30.0 ms", "aU+202Eb"],
    ]
    box = page.js("return document.querySelector('.timeline').getAttribute('viewBox')")
    assert box == "0 0 1000 195"


@pytest.mark.parametrize("start", [0, 1e300])
def test_processes_that_began_no_one_knows_when(page, tmp_path, start):
    timeline = [{"pid": 1, "start": 1.6e9, "time": [0, MS], "rss": [0, MIB]},
                {"pid": 2, "start": start, "time": [0, MS], "rss": [0, MIB]}]  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", known(), timeline))[0])
    curves = page.js("return [...document.querySelectorAll('.curve')].map((c) => c.getAttribute('d'))")
    assert curves[0] == curves[1] == "M70.0 126.0L980.0 22.0"


def test_leaks(page, tmp_path):
    cold, hot = known()
    cold["text"] = cold["text"].replace("return 1", "return <1>")
    hot["text"] = hot["text"].replace("sum(range(n))", "\u202ex")
    cold["leaks"] = [{"line": 72, "bytes": 5 * MIB, "bytes_per_call": 1536.0,
                      "bytes_per_second": 2048.5, "confidence": 0.875,
                      "held_by": "app.\u202ecache: dict, 1 entry"}]  # fmt: skip
    hot["leaks"] = [{"line": 12, "bytes": 6 * MIB, "bytes_per_call": 0.5,
                     "bytes_per_second": 0.0, "confidence": 1.0}]  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", [cold, hot]))[0])
    page.click("#tab-leaks")
    assert page.text("#tab-leaks") == "Leaks 2"
    first, second = page.rows("leaks")
    assert second == {"Line": "return <1>", "Kept": "5.00 MiB", "Per epoch": "1.50 KiB",
                      "Per second": "2.00 KiB", "Sure %": "87.5", "Function": "cold",
                      "Place": "cold_store.py:72", "Held by": "app.U+202Ecache: dict, 1 entry"}  # fmt: skip
    assert first["Held by"] == "" and first["Line"] == "total = U+202Ex" and first["Per epoch"] == "0.50 B"
    page.driver.find_elements("css selector", "#leaks td button")[1].click()
    assert page.text("#name") == "cold"
    assert page.js("return document.querySelector('#source .selected').cells[0].textContent") == "72"
    page.emulate("print")
    assert "return <1>" in page.text(".paper") and "87.5" in page.text(".paper")


def test_without_timeline_and_leaks_there_are_no_tabs_for_them(page, report):
    page.open(report)
    assert [tab.text for tab in page.driver.find_elements("css selector", "[role=tab]")
            if tab.is_displayed()] == ["Functions 2", "Files 2", "Lines"]  # fmt: skip


# ---- hostile profiles ----------------------------------------------------------------------------

HOSTILE = [
    "</script><script>window.ran=1</script>",
    "<script>window.ran=1</script>",
    "<!--<script>",
    "-->",
    "<img src=x onerror=window.ran=1>",
    "<svg onload=window.ran=1>",
    "' onmouseover='window.ran=1' x='",
    '" autofocus onfocus="window.ran=1" x="',
    "</style><style>*{display:none}</style>",
    "</title><iframe src=javascript:parent.ran=1>",
    "</noscript></template></textarea></svg><b>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css><meta http-equiv=refresh content=0>",
    "{{ 7 * 7 }} {% for x in y %} {# z #} ${title} {{ script }}",
    "&lt;b&gt; &amp;lt; &#60; \\u003cb\\u003e",
    "javascript:alert(1)",
    "]]> */ // ` ${window.ran=1} `",
    "__proto__", "constructor",
]  # fmt: skip
ODD = {
    "a\u202eb": "aU+202Eb", "a\u2066b\u2069": "aU+2066bU+2069", "a\u200bb": "aU+200Bb",
    "a\u2028b\u2029c": "aU+2028bU+2029c", "a\x00b": "aU+0000b", "\x1b[31m": "U+001B[31m",
    "\ufeffa": "U+FEFFa", "a\U000e0041b": "aU+E0041b", "a\x85b\x0bc": "aU+0085bU+000Bc",
}  # fmt: skip
RTL = "x = '\u05d0\u05d1' + 1"


def assert_nothing_ran(page):
    from selenium.common.exceptions import NoAlertPresentException

    assert page.js("return [window.ran, document.querySelectorAll('script').length]") == [None, 5]
    with pytest.raises(NoAlertPresentException):
        page.driver.switch_to.alert.text  # noqa: B018
    planted = page.js("""return document.querySelectorAll(
        "iframe, img, link, template, textarea, svg:not(.timeline, #minimap), [onerror], [onload], [onfocus]"
        ).length""")
    assert planted == 0


@pytest.mark.parametrize("plain", [False, True])
def test_what_the_program_wrote_stays_text(page, tmp_path, without, plain):
    """In source, names of functions and files, and the command."""
    names = [text for text in HOSTILE + list(ODD) + [RTL] if "\x00" not in text]
    source = "def f():\n" + "".join(f"    {text}\n" for text in HOSTILE + list(ODD) + [RTL])
    functions = [
        function(name, 1, source, {"line": [2], "hits": [1], "time": [1000 - i], "self": [1000 - i]},
                 1000 - i, f"/srv/{i}{name}") for i, name in enumerate(names)
    ]  # fmt: skip
    profile = write(tmp_path / "p", functions, command="".join(names), tracer=HOSTILE[0],
                    python=HOSTILE[4])  # fmt: skip
    path, _ = make(tmp_path, profile, env=without("jinja2", "pygments") if plain else None)
    page.open(path)
    shown = {text: ODD.get(text, text) for text in HOSTILE + list(ODD) + [RTL]}
    assert page.column("Function") == [shown[name] for name in names]
    # U+000B and U+0085 end no line of source
    assert page.column("Source", "source")[1:] == ["    " + text for text in shown.values()]
    assert page.text("h1") == "".join(shown[name] for name in names)
    assert HOSTILE[0] in told(page) and HOSTILE[4] in told(page)
    for i, name in enumerate(names):
        page.driver.find_elements("css selector", "#functions td button")[i].click()
        assert page.text("#name") == shown[name]
        assert page.text("#place") == f"/srv/{i}{shown[name]}:1"
    page.click("#tab-files")
    tree = "".join(page.column("File", "files"))
    assert all(part in tree for name in names[:6] for part in name.split("/"))
    page.click("#tab-lines")
    for text in HOSTILE[:6]:
        page.search(text)
        found = set(page.column("Source", "lines"))
        assert found and found <= {text, HOSTILE[0]}
        listed = page.js("return [...document.querySelectorAll('#found .code')].map((part) => part.textContent)")
        assert text in listed and any(path.startswith("/srv/") and path.endswith(text) for path in listed)
    assert_nothing_ran(page)
    page.emulate("print")
    assert_nothing_ran(page)
    if not plain:
        paper = page.js("return document.querySelector('.paper').textContent")
        assert all(text in paper for text in shown.values())


def test_characters_keep_their_order(page, tmp_path):
    """A line with Hebrew in it reads in the order in which it ran."""
    one = function("f", 1, f"def f():\n    {RTL}\n", {"line": [2], "hits": [1], "time": [1]}, 1)
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    places = page.js("""const code = document.querySelectorAll("#source code")[1];
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), found = [];
        for (let node; (node = walker.nextNode()); )
            for (let i = 0; i < node.length; i++) {
                const range = document.createRange();
                range.setStart(node, i); range.setEnd(node, i + 1);
                found.push(range.getBoundingClientRect().left);
            }
        return found;""")
    assert len(places) == len(RTL) + 4 and places == sorted(places)


def test_text_that_is_no_utf8(page, tmp_path):
    name = b"f\xff<b>".decode("utf-8", "surrogateescape")
    one = function(name, 1, f"def f(): '{name}'\n", {"line": [1], "hits": [1], "time": [1]}, 1, name)
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    assert page.column("Function") == ["f\\xff<b>"]
    assert page.column("Source", "source") == ["def f(): 'f\\xff<b>'"]


def test_the_page_forbids_everything_but_its_own_parts(browser, report):  # noqa: F811
    page = Page(browser).open(report)
    assert page.complaints() == []
    policy = page.js("return document.querySelector('meta[http-equiv]').content")
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy and "http" not in policy
    page.js("""
        const attempts = [
            () => { const script = document.createElement("script");
                    script.textContent = "window.ran = 1";
                    document.body.append(script); },
            () => document.body.setAttribute("onclick", "window.ran = 2"),
            () => { document.body.innerHTML = "<b>"; window.ran = 3; },
            () => document.body.append(
                Object.assign(document.createElement("img"), {src: "http://127.0.0.1:9/"})),
        ];
        for (const attempt of attempts) try { attempt(); } catch {}
        document.body.click();
        """)
    assert page.js("return window.ran") is None
    assert any("Content Security Policy" in text for text in page.complaints())


def test_a_line_of_a_million_characters(page, tmp_path):
    text = "def f():\n    return '" + "x" * 1_000_000 + "'\n"
    one = function("f", 1, text, {"line": [2], "hits": [1], "time": [1]}, 1)
    page.open(make(tmp_path, write(tmp_path / "p", [one]))[0])
    assert page.column("Source", "source")[1].endswith("x995,013 more characters")


def test_colours_do_not_depend_on_how_busy_the_machine_is(monkeypatch):
    """The limit is of processor time."""
    pytest.importorskip("pygments")
    from clineprof._html import colours

    def coloured(later, used):
        clocks = types.SimpleNamespace(monotonic=itertools.count(0, later).__next__, thread_time=itertools.count(0, used).__next__)
        monkeypatch.setattr(colours, "time", clocks)
        return colours.runs_of([(7, "def f():\n    return 'text'\n")])

    assert coloured(later=20, used=0)[7][:2] == [4, colours.KINDS.index("kw")]
    assert coloured(later=20, used=6) == {}


@pytest.mark.parametrize("text", [(" " * 50 + "\n") * 9000, "@" * 400_000 + "\n"])
def test_a_text_that_pygments_would_take_minutes_for_has_no_colours(page, tmp_path, text):
    pytest.importorskip("pygments")
    one = function("f", 1, "def f():\n" + text, {"line": [1], "hits": [1], "time": [10**9],
                   "self": [10**9]}, 10**9)  # fmt: skip
    page.open(make(tmp_path, write(tmp_path / "p", [one, *known()]))[0])
    page.press("w")
    assert page.text("#name") == "f"
    assert page.js("return document.querySelectorAll('#source .kw').length") == 0
    page.driver.find_elements("css selector", "#functions td button")[1].click()
    assert page.js("return document.querySelectorAll('#source .kw').length") > 0


# ---- the parts -----------------------------------------------------------------------------------


def test_every_part_of_the_page_is_installed():
    """By make it is what lies there; pip takes what pyproject.toml names."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["clineprof._html"]
    parts = [path.name for path in (ROOT / "src/clineprof/_html").iterdir()
             if path.suffix != ".py" and path.is_file()]  # fmt: skip
    assert len(parts) > 5
    assert [name for name in parts if not any(fnmatch.fnmatch(name, p) for p in patterns)] == []


def test_no_part_makes_markup_of_text():
    for path in (ROOT / "src/clineprof/_html").glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(",
                             path.read_text("utf-8")), path.name
