# SPDX-License-Identifier: MIT
"""The web page's callers and callees, its flame graph and its addresses, in headless Chromium. The numbers expected are
those that tests/known_calls.py draws."""
import re
import urllib.parse

import known_calls
import known_profiles
import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import run_ckernprof
from opened_page import make, page  # noqa: F401  (a fixture)

Keys = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").Keys

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    known_calls.write(folder / "known.lprof")
    return make(folder, folder / "known.lprof")[0]


@pytest.fixture
def made(tmp_path):
    """made(calls=.., functions=..): the page of such a profile."""
    def make_it(options=(), **parts):
        known_calls.write(tmp_path / "known.lprof", **parts)
        return make(tmp_path, tmp_path / "known.lprof", options=options)[0]

    return make_it


def open_function(page, name):  # noqa: F811
    page.press("f")
    [button] = [b for b in page.driver.find_elements("css selector", "#functions td button") if b.text == name]
    button.click()
    assert page.text("#name") == name


def open_flame(page, path):  # noqa: F811
    page.open(path)
    page.click("#tab-flame")
    page.until("return document.querySelectorAll('.box').length > 0")


def rows(page, table):  # noqa: F811
    """Each row as a list of texts."""
    return page.js("""return [...document.querySelectorAll("#" + arguments[0] + " tbody tr:not(.space)")].map((row) =>
        [...row.cells].map((cell) => cell.textContent))""", table)


def buttons(page, table):  # noqa: F811
    return page.driver.find_elements("css selector", f"#{table} td button")


def selected_line(page):  # noqa: F811
    return page.js("return document.querySelector('#source .selected')?.cells[0].textContent")


def boxes(page):  # noqa: F811
    """{what stands in the box: (row, left and width in percent of the whole)}, of boxes with text"""
    drawn = page.js("""const whole = document.getElementById("boxes").clientWidth;
        return [...document.querySelectorAll(".box")].map((box) => [box.innerText, box.offsetTop / 20,
            100 * parseFloat(box.style.left) / whole, 100 * (parseFloat(box.style.width) + 1) / whole])""")
    return {(text, row): (round(left), round(width)) for text, row, left, width in drawn}


def box_of(page, name, nth=0):  # noqa: F811
    found = [b for b in page.driver.find_elements("css selector", ".box")
             if b.get_attribute("aria-label").startswith(name + ",")]
    return found[nth]


def address(page):  # noqa: F811
    return dict(urllib.parse.parse_qsl(page.js("return location.hash.slice(1)")))


# ---- callers and callees -----------------------------------------------------------------------


def test_who_calls_the_open_function_and_whom_it_calls(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "fib")
    # 5,000 ns of the recursion, without the 1,500 within other such calls
    assert rows(page, "callers") == [
        ["main:3fib(n)", "2", "8.00 µs", "4.00 KiB"],
        ["fib:9recursionreturn fib(n - 1) + fib(n - 2)", "12", "5.00 µs", "4.00 KiB"],
    ]
    assert rows(page, "callees") == [
        ["9", "fibrecursion", "12", "5.00 µs", "4.00 KiB"],
        ["8", "leaf", "8", "600 ns", "0"],
    ]
    bars = page.js("""return [...document.querySelectorAll("#callers .of-time")].map((cell) =>
        cell.style.getPropertyValue("--w"))""")
    assert bars == ["100.0%", "62.5%"]  # of 8,000 ns, the most in the column
    assert page.text("#calls-note") == ""


def test_what_lies_between_is_said(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "leaf")
    assert rows(page, "callers") == [
        ["other:12through unselected coderun(leaf)", "1", "1.00 µs", "0"],
        ["fib:8return leaf()", "8", "600 ns", "0"],
    ]
    assert not page.driver.find_element("id", "callees").is_displayed()
    assert page.text("#calls-note") == "Its lines call no selected function."
    open_function(page, "main")
    assert rows(page, "callers") == [["code that is not selected", "1", "10.0 µs", "7.00 KiB"]]
    assert buttons(page, "callers") == []


def test_a_click_opens_the_caller_at_the_line_that_calls(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "leaf")
    buttons(page, "callers")[0].click()
    assert (page.text("#name"), selected_line(page)) == ("other", "12")
    buttons(page, "callees")[0].click()
    assert page.text("#name") == "leaf" and not selected_line(page)


def test_the_keyboard_opens_callers_too(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "fib")
    page.press("c", "j")
    assert page.driver.switch_to.active_element.text == "fib:9"
    page.press("c")
    assert page.driver.switch_to.active_element.text == "fib"
    page.press("j", Keys.ENTER)
    assert page.text("#name") == "leaf"
    assert page.driver.switch_to.active_element.get_attribute("id") == "source"
    page.press("c", "j", Keys.ENTER)
    assert (page.text("#name"), selected_line(page)) == ("fib", "8")


def test_a_line_links_to_what_it_calls(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "fib")
    assert page.column("Calls to", "source") == ["", "", "fib", "other", "", "", "", "leaf", "fib", "", "", "leaf", "",
                                                 "", ""]
    page.press("w")  # the function alone
    assert page.column("Calls to", "source") == ["", "", "leaf", "fib"]
    links = page.driver.find_elements("css selector", "#source a")
    assert links[0].get_attribute("title") == "leaf, app/walk.py:14: 600 ns"
    links[0].click()
    page.until("return document.getElementById('name').textContent === 'leaf'")
    assert page.driver.switch_to.active_element.get_attribute("id") == "source"
    assert page.driver.find_elements("css selector", "#source a") == []
    page.driver.back()  # to the line that calls
    page.until("return document.getElementById('name').textContent === 'fib'")
    assert selected_line(page) == "8"


def test_a_line_that_calls_many_functions(page, tmp_path):  # noqa: F811
    """It links to ten of them; the table has all. A function that was reached in two ways is linked once."""
    names = [f"f{i}" for i in range(12)]
    many = [known_profiles.function("a.py", 1 + i, name, [{"line": 1 + i, "hits": 1, "time": 100, "self": 100}])
            for i, name in enumerate(["main", *names])]  # fmt: skip
    calls = {"parent": [0] + [1] * 13, "line": [0] + [1] * 13, "function": [0, *range(1, 13), 1],
             "through": [0] * 13 + [1], "calls": [1] * 14, "time": [500] + [50 - i for i in range(13)]}  # fmt: skip
    source = [known_profiles.text(many[0], "main()\n")]
    known_profiles.write(tmp_path / "p", many, source, known_calls.META, calls=calls)
    page.open(make(tmp_path, tmp_path / "p")[0])
    open_function(page, "main")
    page.press("w")
    assert page.column("Calls to", "source") == [", ".join(names[:10]) + ", .."]
    assert len(rows(page, "callees")) == 13


def test_contexts_that_were_joined_are_said(page, made):  # noqa: F811
    calls = {"parent": [0, 1, 1, 0], "line": [0, 3, 4, 0], "function": [0, 1, -1, -1], "calls": [1, 2, 3, 5],
             "time": [10000, 8000, 700, 50], "cut": 8}  # fmt: skip
    path = made(calls=calls)
    page.open(path)
    open_function(page, "main")
    assert rows(page, "callees")[1] == ["4", "more contexts than a profile keeps", "3", "700 ns", "0"]
    said = "Of 8 more calls it is not known who was called: they have more contexts than a profile keeps."
    assert page.text("#calls-note") == said
    open_function(page, "other")
    assert page.text("#calls-note").startswith(said + " Who called it is not known.")
    open_flame(page, path)
    assert page.text("#flame-note") == said and set(boxes(page)) == {("main", 0), ("fib", 1)}


def test_without_calls_one_line_says_why(page, made):  # noqa: F811
    page.open(made(calls=None))
    said = "Who calls whom is not known: files of line_profiler and of an older clineprof have no calls."
    assert page.text("#calls-note") == said
    assert not page.driver.find_element("id", "calls").is_displayed()
    assert not page.driver.find_element("id", "tab-flame").is_displayed()
    assert "Calls to" not in page.rows("source")[0]
    page.press("c", "g")
    assert page.js("return !document.getElementById('functions').hidden")


def test_calls_without_memory_and_with_raw_times(page, made):  # noqa: F811
    path = made(options=["--no-memory", "--raw-times"])
    open_flame(page, path)
    open_function(page, "fib")
    assert rows(page, "callers")[0] == ["main:3fib(n)", "2", "8.00 µs"]
    assert page.text("#calls-note") == "Times of calls are without the cost of profiling."
    page.click("#tab-flame")
    assert "increment" not in box_of(page, "fib").get_attribute("title")
    assert "4096" not in path.read_text("utf-8")


def test_a_real_run_has_callers(page, script, tmp_path):  # noqa: F811
    path = script("""
        @profile
        def outer():
            inner(3)
            return sorted([1, 2], key=inner)
        @profile
        def inner(n):
            return n and inner(n - 1)
        outer()
        """.replace("\n        ", "\n"))
    assert run_ckernprof(["-l", path], tmp_path).code == 0
    page.open(make(tmp_path, tmp_path / "program.py.lprof")[0])
    open_function(page, "inner")
    calls = {row[0]: row[1] for row in rows(page, "callers")}
    # 3 calls itself three times; 1 and 2 from sorted, three times in all
    assert calls == {"outer:4inner(3)": "1", "outer:5return sorted([1, 2], key=inner)": "2",
                     "inner:8recursionreturn n and inner(n - 1)": "6"}  # fmt: skip


# ---- the flame graph ---------------------------------------------------------------------------

BOXES = {("main", 0): (0, 100), ("fib", 1): (0, 80), ("leaf", 2): (0, 6), ("other", 1): (80, 15)}


def test_boxes_are_as_wide_as_their_time(page, report):  # noqa: F811
    open_flame(page, report)
    drawn = page.js("""return [...document.querySelectorAll(".box")].map((box) => box.innerText)""")
    assert drawn == ["main", "fib", "other", "leaf", "leaf"]  # without the recursion
    found = boxes(page)
    assert found == {**BOXES, ("leaf", 2): (80, 10)}  # of both leaves: the one under other
    assert page.text("#tab-flame") == "Flame graph 5"


def test_a_box_tells_exact_numbers(page, report):  # noqa: F811
    open_flame(page, report)
    assert box_of(page, "fib").get_attribute("title").split("\n") == [
        "fib", "app/walk.py:6", "called from main:3", "time 8.00 µs (8,000 ns), 80.0 %", "self 7.40 µs (7,400 ns)",
        "2 calls and 12 recursive calls", "increment 4.00 KiB (4,096 bytes)",
    ]  # fmt: skip
    assert box_of(page, "leaf", 1).get_attribute("title").split("\n")[2:4] == [
        "called from other:12, through unselected code", "time 1.00 µs (1,000 ns), 10.0 %"]  # fmt: skip
    assert "called from code that is not selected" in box_of(page, "main").get_attribute("title")
    assert "1 call\n" in box_of(page, "main").get_attribute("title")


def test_a_click_on_a_box_opens_its_function_at_the_line_that_calls(page, report):  # noqa: F811
    open_flame(page, report)
    box_of(page, "main").click()
    assert (page.text("#name"), selected_line(page)) == ("main", "3")  # line 3 called more than line 4
    box_of(page, "leaf", 1).click()
    assert page.text("#name") == "leaf" and not selected_line(page)
    assert page.text("#way .steps") == "main:4 › other:12 › leaf"
    assert page.text("#way .numbers").startswith("time 1.00 µs (1,000 ns), 10.0 % · self 1.00 µs")
    page.driver.find_elements("css selector", "#way button")[1].click()
    assert (page.text("#name"), selected_line(page)) == ("other", "12")


def test_zooming_in_and_out(page, report):  # noqa: F811
    from selenium.webdriver import ActionChains

    open_flame(page, report)
    all_of_it = boxes(page)
    ActionChains(page.driver).double_click(box_of(page, "other")).perform()
    # leaf has 1,000 of the 1,500 ns; fib is not below
    assert boxes(page) == {("main", 0): (0, 100), ("other", 1): (0, 100), ("leaf", 2): (0, 67)}
    assert page.js("return [...document.querySelectorAll('.passed')].map((box) => box.innerText)") == ["main"]
    page.click("#zoom-out")
    assert boxes(page) == all_of_it
    assert page.driver.find_element("id", "zoom-out").get_attribute("disabled")


def test_the_flame_graph_is_worked_with_keys_alone(page, report):  # noqa: F811
    def focused():
        return page.driver.switch_to.active_element.get_attribute("aria-label").split(",")[0]

    page.open(report)
    page.press("g", Keys.TAB, Keys.ARROW_DOWN)
    assert focused() == "main"
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    assert focused() == "other"
    page.press(Keys.ARROW_DOWN)
    assert focused() == "leaf" and page.text("#way .steps") == "main:4 › other:12 › leaf"
    page.press(Keys.ARROW_UP, "z")
    assert ("other", 1) in boxes(page) and ("fib", 1) not in boxes(page) and focused() == "other"
    page.press(Keys.ESCAPE)
    assert ("fib", 1) in boxes(page) and focused() == "other"
    page.press(Keys.ARROW_LEFT, Keys.ENTER)
    assert (page.text("#name"), selected_line(page)) == ("fib", "8")
    assert page.driver.switch_to.active_element.get_attribute("id") == "source"
    page.press(Keys.ESCAPE)
    assert focused() == "fib"


def test_the_search_marks_boxes(page, report):  # noqa: F811
    open_flame(page, report)
    page.search("leaf")
    marked = page.js("return [...document.querySelectorAll('.box.found')].map((box) => box.innerText)")
    assert marked == ["leaf", "leaf"] and page.text("#tab-flame") == "Flame graph 2 of 5"
    page.search("walk.py")  # the file of all
    assert page.text("#tab-flame") == "Flame graph 5"
    page.press(Keys.ESCAPE)
    assert page.js("return document.querySelectorAll('.box.found').length") == 0


def wide_and_deep(count):
    """Calls of main: one that takes half of the time, and many small ones, each of which calls one more."""
    small = (count - 2) // 2
    return {
        "parent": [0, 1] + [1] * small + [3 + i for i in range(small)],
        "line": [0, 3] + list(range(100, 100 + small)) + [1] * small,
        "function": [0, 1] + [2] * small + [3] * small,
        "calls": [1] * (2 + 2 * small),
        "time": [20 * small, 10 * small] + [10] * small + [5] * small,
    }


def test_a_hundred_thousand_contexts_make_few_boxes(page, made):  # noqa: F811
    open_flame(page, made(calls=wide_and_deep(100_000)))
    assert page.text("#tab-flame") == "Flame graph 100,000"
    made_now = "return document.querySelectorAll('.box').length"
    assert 100 < page.js(made_now) < 500
    overlaps = page.js("""const all = [...document.querySelectorAll(".box")].map((b) => b.getBoundingClientRect());
        return all.filter((box, i) => i && all[i - 1].top === box.top && all[i - 1].right > box.left + 0.1).length""")
    assert overlaps == 0
    joined = page.driver.find_elements("css selector", ".box.joined")
    told = joined[0].get_attribute("title").split("\n")
    number = int(re.match("([0-9,]+) contexts, each too narrow", told[0])[1].replace(",", ""))
    assert 100 < number < 1000 and told[1].startswith(f"time {number / 100:.2f} µs ({number * 10:,} ns), 0.")
    while joined:  # zooming comes to single contexts
        before = page.js("return lists.flame.zooms.length")
        joined[0].click()
        assert page.js("return lists.flame.zooms.length") == before + 1 < 4
        joined = page.driver.find_elements("css selector", ".box.joined")
    page.until("return [...document.querySelectorAll('.box')].some((box) => box.title.startsWith('other\\n'))")
    page.search("leaf")
    assert page.text("#tab-flame") == "Flame graph 49,999 of 100,000"
    while page.driver.find_element("id", "zoom-out").is_enabled():
        page.click("#zoom-out")
    assert page.js("return document.querySelectorAll('.box.joined.found').length") > 100


def test_only_boxes_in_view_exist(page, tmp_path):  # noqa: F811
    deep = [known_profiles.function("a.py", 1, f"f{i}", [{"line": 1, "hits": 1, "time": 9, "self": 1}])
            for i in range(2000)]  # fmt: skip
    count = len(deep)
    calls = {"parent": list(range(count)), "line": [0] + [1] * (count - 1), "function": list(range(count)),
             "calls": [1] * count, "time": list(range(count, 0, -1))}  # fmt: skip
    known_profiles.write(tmp_path / "p", deep, (), known_calls.META, calls=calls)
    open_flame(page, make(tmp_path, tmp_path / "p")[0])
    assert page.js("return document.querySelectorAll('.box').length") < 60
    page.press(Keys.TAB, Keys.END)
    page.until("return document.activeElement.getAttribute('aria-label')?.startsWith('f1')")
    assert page.js("return document.querySelectorAll('.box').length") < 60
    assert page.text("#way .steps").startswith(".. › f19")


def test_nothing_took_time(page, made):  # noqa: F811
    page.open(made(calls={"parent": [0], "line": [0], "function": [0], "calls": [1]}))
    page.press("g")
    assert page.js("return document.querySelectorAll('.box').length") == 0
    assert page.text("#nothing") == "Nothing took time."


CONTRAST = """
const light = (text) => text.match(/[\\d.]+/g).map(Number).slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ?
    v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const box = document.querySelector(".box"), found = [];
for (const kind of ["", "found", "passed", "selected"])
    for (let hue = 0; hue < 50; hue++) {
        box.className = "box " + kind;
        box.style.setProperty("--hue", hue);
        const style = getComputedStyle(box), [a, b] = [light(style.color), light(style.backgroundColor)];
        found.push((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    }
return found;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_in_boxes_can_be_read(page, report, scheme):  # noqa: F811
    page.emulate(prefers_color_scheme=scheme)
    open_flame(page, report)
    ratios = page.js(CONTRAST)
    assert len(ratios) == 200 and min(ratios) >= 4.5


def test_the_flame_graph_is_not_printed(page, report):  # noqa: F811
    pytest.importorskip("jinja2")
    open_flame(page, report)
    page.emulate("print")
    assert not page.driver.find_element("id", "flame").is_displayed()
    assert not page.driver.find_element("id", "calls").is_displayed()


def test_the_flame_graph_on_a_phone(page, report):  # noqa: F811
    with page.phone():
        page.open(report)
        page.press("g")
        page.until("return document.querySelectorAll('.box').length > 0")
        assert page.js("return document.documentElement.scrollWidth") <= 390
        box_of(page, "fib").click()
        assert not page.driver.find_element("id", "lists").is_displayed()
        assert [row[0][:6] for row in rows(page, "callers")] == ["main:3", "fib:9r"]
        assert page.driver.find_element("id", "callers").size["height"] > 50
        page.driver.back()
        page.until("return document.querySelectorAll('.box.selected').length === 1")
        assert page.driver.find_element("id", "lists").is_displayed()


# ---- addresses ---------------------------------------------------------------------------------


def test_back_and_forward(page, report):  # noqa: F811
    page.open(report)
    first = {"tab": "functions", "function": "app/walk.py:6:fib", "line": "9"}  # the hottest line
    assert page.text("#name") == "fib" and address(page) == first
    open_function(page, "leaf")
    buttons(page, "callers")[0].click()
    assert address(page) == {"tab": "functions", "function": "app/walk.py:11:other", "line": "12"}
    page.click("#tab-lines")
    assert address(page)["tab"] == "lines"
    page.driver.back()
    page.until("return !document.getElementById('functions').hidden")
    assert (page.text("#name"), selected_line(page)) == ("other", "12")
    page.driver.back()
    page.until("return document.getElementById('name').textContent === 'leaf'")
    page.driver.back()
    page.until("return document.getElementById('name').textContent === 'fib'")
    assert address(page) == first
    page.driver.forward()
    page.driver.forward()
    page.until("return document.getElementById('name').textContent === 'other'")
    assert selected_line(page) == "12"
    page.driver.forward()
    page.until("return !document.getElementById('lines').hidden")


def test_an_address_opens_the_page_at_a_line(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "fib")
    page.driver.find_elements("css selector", "#source td.code")[7].click()
    page.click("#tab-flame")
    linked = page.js("return location.href")
    page.driver.get("about:blank")
    page.driver.get_log("performance")
    page.driver.get(linked)
    page.until("return document.querySelectorAll('.box').length > 0")
    assert (page.text("#name"), selected_line(page)) == ("fib", "8")


def test_a_click_on_a_line_makes_no_step_to_go_back(page, report):  # noqa: F811
    page.open(report)
    open_function(page, "main")
    before = page.js("return history.length")
    for cell in page.driver.find_elements("css selector", "#source td.code")[:3]:
        cell.click()
    assert address(page)["line"] == "3" and page.js("return history.length") == before


@pytest.mark.parametrize("asked", [
    "tab=flame&function=gone.py:1:f&line=3", "tab=..&line=x", "tab=leaks", "%", "function=",
])
def test_addresses_that_lead_nowhere(page, report, asked):  # noqa: F811
    page.driver.get("about:blank")
    page.driver.get(report.as_uri() + "#" + asked)
    page.until("return document.querySelectorAll('#functions tbody tr').length > 2")
    if "function" in asked:
        assert page.text("#name") == "No function is open"
        assert page.text("#place") == "The link names a function that this profile lacks."
    else:
        assert page.text("#name") == "fib"


# ---- hostile names -----------------------------------------------------------------------------


def test_names_stay_text(page, tmp_path):  # noqa: F811
    names = ["<img src=x onerror=window.ran=1>", "a\u202eb\u05d0\u05d1c", "</script><script>window.ran=1</script>",
             "__proto__"]  # fmt: skip
    functions = [{**f, "name": name, "file": f"<b>{name}.py"} for f, name in zip(known_calls.FUNCTIONS, names)]
    lines = known_calls.SOURCE.splitlines(True)
    source = [known_profiles.text(f, "".join(lines[f["line"] - 1:]).replace("fib(n)", "<i onclick=window.ran=1>"))
              for f in functions]  # fmt: skip
    known_profiles.write(tmp_path / "p", functions, source, known_calls.META, calls=known_calls.CALLS)
    shown = [name.replace("\u202e", "U+202E") for name in names]
    open_flame(page, make(tmp_path, tmp_path / "p")[0])
    assert sorted(page.js("return [...document.querySelectorAll('.box')].map((box) => box.textContent)")) == sorted(
        [*shown, shown[3]])  # fmt: skip
    titles = page.js("return [...document.querySelectorAll('.box')].map((box) => box.title).join()")
    assert "\u202e" not in titles and f"called from {shown[1]}:8" in titles
    box_of(page, shown[1]).click()
    assert page.text("#name") == shown[1]
    assert page.text("#way .steps") == f"{shown[0]}:3 › {shown[1]}"
    assert [row[0] for row in rows(page, "callers")] == [
        f"{shown[0]}:3<i onclick=window.ran=1>", f"{shown[1]}:9recursionreturn fib(n - 1) + fib(n - 2)"]  # fmt: skip
    assert [row[1] for row in rows(page, "callees")] == [f"{shown[1]}recursion", shown[3]]
    assert page.column("Calls to", "source")[2:4] == [shown[3], shown[1]]
    assert "\u202e" not in page.js("return [...document.querySelectorAll('[title]')].map((e) => e.title).join()")
    buttons(page, "callers")[0].click()
    assert page.text("#name") == shown[0]
    page.driver.back()
    page.until("return document.getElementById('name').textContent === arguments[0]", shown[1])
    page.search("<img")
    assert page.js("return document.querySelectorAll('.box.found').length") == 1
    assert page.js("return [window.ran, document.querySelectorAll('script').length]") == [None, 5]
    assert page.js("return document.querySelectorAll('img, i, [onerror], [onclick]').length") == 0
