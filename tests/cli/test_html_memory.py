# SPDX-License-Identifier: MIT
"""Memory over time and leaks in the page, in headless Chromium: a span of time is chosen with the mouse and with keys,
a stay opens its function, and lines that leak are marked."""
import pytest
from browser import browser  # noqa: F401  (a fixture)
from opened_page import make, page  # noqa: F401  (a fixture)
from test_html import MIB, MS, function, known, write

Keys = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").Keys

pytestmark = pytest.mark.once
HOT, COLD = ("/srv/app.py", 10, "Box.hot"), ("/srv/cold_store.py", 70, "cold")
LOST = ("/srv/app.py", 1, "<b>lost\u202e")


def stay(key, level, enter, leave):
    return dict(zip(("file", "line", "name"), key), level=level, enter=enter * MS, leave=leave * MS)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """100 ms in two processes. The second began at the same moment."""
    folder = tmp_path_factory.mktemp("memory")
    marks = [stay(HOT, 0, 10, 60), stay(COLD, 1, 20, 30), stay(COLD, 1, 40, 45), stay(LOST, 0, 70, 80),
             stay(COLD, 30, 90, 92)]  # fmt: skip
    timeline = [
        {"pid": 1, "start": 1.6e9, "time": [0, 50 * MS, 100 * MS], "rss": [MIB, 9 * MIB, 2 * MIB], "marks": marks},
        {"pid": 2, "start": 1.6e9, "time": [0, 100 * MS], "rss": [MIB, MIB], "marks": [stay(COLD, 0, 85, 95)]},
    ]
    return make(folder, write(folder / "p", known(), timeline))[0]


def open_memory(page, report):  # noqa: F811
    page.open(report)
    page.click("#tab-memory")


def drag(page, begin, end):  # noqa: F811
    """Drags over the drawing from one moment to another, both in ms of its 100."""
    from selenium.webdriver import ActionChains

    drawing = page.driver.find_element("css selector", "#memory svg")
    size = page.js("const box = arguments[0].getBoundingClientRect(); return [box.width, box.height]", drawing)
    # the time runs from 70 to 980 of the drawing's 1000, and the offsets are from its middle
    x = [round((70 + 9.1 * at) * size[0] / 1000 - size[0] / 2) for at in (begin, end)]
    y = round(60 * size[0] / 1000 - size[1] / 2)
    (ActionChains(page.driver).move_to_element_with_offset(drawing, x[0], y).click_and_hold()
     .move_by_offset(x[1] - x[0], 0).release().perform())  # fmt: skip


def press_with_shift(page, key, times):  # noqa: F811
    from selenium.webdriver import ActionChains

    ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(key * times).key_up(Keys.SHIFT).perform()


def listed(page):  # noqa: F811
    return sorted((row["Function"], row["From"], row["Process"]) for row in page.rows("stays"))


ALL = [("<b>lostU+202E", "70.0 ms", "1"), ("Box.hot", "10.0 ms", "1"), ("cold", "20.0 ms", "1"),
       ("cold", "40.0 ms", "1"), ("cold", "85.0 ms", "2"), ("cold", "90.0 ms", "1")]  # fmt: skip


def test_all_stays_are_listed_the_longest_first(page, report):  # noqa: F811
    open_memory(page, report)
    assert listed(page) == ALL
    first = page.rows("stays")[0]
    assert first == {"Function": "Box.hot", "From": "10.0 ms", "To": "60.0 ms", "Time": "50.0 ms", "Process": "1"}
    assert "Drag over the drawing" in page.text("#span")


def outside(page):  # noqa: F811
    return page.js("return [...document.querySelectorAll('.stay.outside title')].map((title) => title.textContent)")


def test_a_span_is_chosen_by_dragging(page, report):  # noqa: F811
    open_memory(page, report)
    for begin, end in (35, 75), (75, 35):
        drag(page, begin, end)
        assert listed(page) == [ALL[0], ALL[1], ALL[3]]
        assert page.text("#span").startswith("From 3") and page.text("#span").endswith("ms: 3 of 6 stays")
        assert outside(page) == ["cold: 10.0 ms", "cold: 10.0 ms"]
        page.press(Keys.ESCAPE)
        assert listed(page) == ALL and outside(page) == []
    drag(page, 35, 75)
    drag(page, 75, 50)  # an end of the span is moved
    assert listed(page) == [ALL[1], ALL[3]]
    drag(page, 1, 9)
    assert page.rows("stays") == []
    page.click("#whole-time")
    assert listed(page) == ALL
    assert not page.driver.find_element("id", "whole-time").is_displayed()


def test_a_span_is_chosen_with_keys(page, report):  # noqa: F811
    open_memory(page, report)
    begin, end = page.driver.find_elements("css selector", "#memory [role=slider]")
    page.js("arguments[0].focus()", end)
    page.press(Keys.HOME)
    assert page.text("#span").startswith("From 0 to 0:")
    page.press(Keys.END)
    press_with_shift(page, Keys.ARROW_LEFT, 7)
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.text("#span") == "From 0 to 32.0 ms: 2 of 6 stays"
    assert end.get_attribute("aria-valuetext") == "32.0 ms" and end.get_attribute("aria-valuenow") == "32"
    page.js("arguments[0].focus()", begin)
    press_with_shift(page, Keys.ARROW_RIGHT, 5)
    assert page.text("#span") == "From 32.0 ms to 32.0 ms: 1 of 6 stays"  # an end does not pass the other
    assert listed(page) == [ALL[1]]
    page.press(Keys.ESCAPE)
    assert listed(page) == ALL


def test_a_stay_opens_its_function(page, report):  # noqa: F811
    open_memory(page, report)
    stays = page.driver.find_elements("css selector", ".stay")
    assert len(stays) == 5  # the one at level 30 is only listed
    page.js("history.replaceState(null, '', location.href)")
    stays[1].click()
    assert page.text("#name") == "cold"
    stays[0].find_element("tag name", "text").click()
    assert page.text("#name") == "Box.hot"
    stays[3].click()  # it is no function of the profile
    assert page.text("#name") == "Box.hot"
    page.js("document.querySelector('.stay[tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ENTER)
    assert page.text("#name") == "cold"
    assert page.js("return document.activeElement.id") == "source"
    assert len(page.driver.find_elements("css selector", ".stay[tabindex='0']")) == 1


def test_the_list_of_stays_opens_functions(page, report):  # noqa: F811
    open_memory(page, report)
    page.press("j", Keys.ENTER)
    assert page.text("#name") == "Box.hot"
    page.driver.find_elements("css selector", "#stays td button")[1].click()
    assert page.text("#name") == "cold"


def test_without_stays_there_is_no_list(page, tmp_path):  # noqa: F811
    timeline = [{"pid": 1, "start": 1.6e9, "time": [0, MS], "rss": [MIB, MIB]}]
    open_memory(page, make(tmp_path, write(tmp_path / "p", known(), timeline))[0])
    assert not page.driver.find_element("id", "stays").is_displayed()
    assert page.text("#nothing") == "" and page.text("#span") == ""


# ---- leaks ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaks")
    cold, hot = known()
    hot["leaks"] = [
        {"line": 12, "bytes": 6 * MIB, "bytes_per_call": 1536.0, "bytes_per_second": 2048.5, "confidence": 0.875,
         "held_by": "app.\u202ecache<b>: dict, 1 entry"},
        {"line": 13, "bytes": MIB, "bytes_per_call": 1.0, "bytes_per_second": 0.0, "confidence": 1.0,
         "per_execution": True, "at_end": True},
    ]  # fmt: skip
    other = function("quiet", 20, "def quiet():\n    pass\n", {"line": [21], "hits": [1], "time": [1], "rss": [MIB]}, 1)
    twin = {**hot, "file": "/srv/twin.py", "name": "twin", "total": 1000, "leaks": []}
    return make(folder, write(folder / "p", [cold, hot, other, twin]))[0]


def marks(page):  # noqa: F811
    return page.js("""return [...document.querySelectorAll("#source tr.leaks")].map((row) =>
        [row.cells[0].textContent, row.querySelector(".leak").textContent, row.querySelector(".leak").title])""")


@pytest.mark.parametrize("keys", ["", "w"])
def test_a_line_that_leaks_is_marked(page, leaking, keys):  # noqa: F811
    """In the whole file, and in the function alone."""
    page.open(leaking)
    page.press(keys)
    assert page.text("#name") == "Box.hot"
    first, second = marks(page)
    assert first == [
        "12", "kept 6.00 MiB, 1.50 KiB per call, held by app.U+202Ecache<b>: dict, 1 entry",
        "kept 6.00 MiB\n1.50 KiB per call\n2.00 KiB per second\nsure 87.5 %\n"
        "held by app.U+202Ecache<b>: dict, 1 entry"]  # fmt: skip
    assert second[:2] == ["13", "kept 1.00 MiB, 1 B per execution"]
    page.open(leaking)
    page.driver.find_elements("css selector", "#functions td button")[2].click()
    assert page.text("#name") == "twin" and marks(page) == []  # its lines have the same numbers


def test_the_list_of_functions_says_which_leak(page, leaking):  # noqa: F811
    page.open(leaking)
    assert page.column("Function") == ["Box.hotleaks 7.00 MiB", "cold", "twin", "quiet"]


def test_the_mark_leads_to_the_list_and_the_list_to_the_line(page, leaking):  # noqa: F811
    page.open(leaking)
    page.driver.find_elements("css selector", "#source .leak")[1].click()
    page.until("return !document.getElementById('leaks').hidden")
    assert page.column("Line", "leaks") == ["total = sum(range(n))", 'return "it\'s" + str(total)']
    assert page.column("Place", "leaks") == ["app.py:12", "app.py:13"]
    page.driver.find_elements("css selector", "#leaks td button")[0].click()
    assert page.js("return document.querySelector('#source .selected').cells[0].textContent") == "12"
    page.driver.back()
    page.until("return document.querySelector('#source .selected').cells[0].textContent === '13'")


def test_a_mark_can_be_read_on_a_phone(page, leaking):  # noqa: F811
    with page.phone():
        page.open(leaking)
        assert page.text("#notes").startswith(
            "Line 12 kept 6.00 MiB, 1.50 KiB per call, 2.00 KiB per second, sure 87.5 %, held by ")
        assert page.text("#notes").endswith("sure 100.0 %, freed only at the end of the program.")
        page.click("#back")
        assert page.column("Function") == ["Box.hotleaks", "cold", "twin", "quiet"]


def test_a_mark_is_not_cut_off(page, leaking):  # noqa: F811
    page.open(leaking)
    cut = page.js("""return [...document.querySelectorAll("#source td.code")].map(
        (cell) => cell.scrollWidth - cell.clientWidth)""")
    assert len(cut) >= 5 and max(cut) <= 0
