# SPDX-License-Identifier: MIT
"""The web page for everyone, in headless Chromium: what axe-core finds in each view, on a phone, and how much exists of
a large profile."""
import importlib.resources

import known_calls
import known_profiles as profiles
import pytest
from browser import browser  # noqa: F401  (a fixture)
from opened_page import make, page  # noqa: F401  (a fixture)
from test_html_calls import open_function

Keys = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").Keys

pytestmark = pytest.mark.once
MS = 1_000_000


def write(folder):
    """The known calls, with leaks, a timeline with spans, awaiting and memory."""
    functions = [{**f} for f in known_calls.FUNCTIONS]
    functions[1]["leaks"] = [{"line": 8, "bytes": 5 << 20, "bytes_per_call": 1.5, "bytes_per_second": 2.5,
                              "confidence": 1.0, "held_by": "walk.cache: dict, 1 entry"}]  # fmt: skip
    functions[2]["lines"] = {**functions[2]["lines"], "await": [5 * MS], "rss": [50 << 20]}
    span = {"name": "main", "file": "app/walk.py", "line": 1, "level": 0, "enter": 10 * MS, "leave": 60 * MS}
    timeline = [{"pid": pid, "start": 1.6e9, "time": [0, 100 * MS], "rss": [0, 1 << 20], "marks": [span]}
                for pid in (1, 2)]  # fmt: skip
    lines = known_calls.SOURCE.splitlines(True)
    parts = {"main": lines[:4], "fib": lines[5:9], "other": lines[10:12], "leaf": lines[13:]}
    source = [profiles.text(f, "".join(parts[f["name"]])) for f in functions]
    meta = {**known_calls.META, "overhead": 2000, "events": 99, "reads": 9, "wall": 100 * MS}
    profiles.write(folder / "p", functions, source, meta, calls=known_calls.CALLS, timeline=timeline)
    return make(folder, folder / "p")[0]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write(tmp_path_factory.mktemp("access"))


VIEWS = {
    "functions": lambda page: page.press("f"),
    "files": lambda page: page.press("d"),
    "lines": lambda page: page.press("l"),
    "flame": lambda page: page.press("g", Keys.TAB, Keys.ARROW_DOWN, Keys.ARROW_DOWN),
    "leaks": lambda page: page.click("#tab-leaks"),
    "memory": lambda page: page.click("#tab-memory"),
    "source": lambda page: page.press("h", "a"),
    "function": lambda page: page.press("w"),
    "search": lambda page: page.search("fib"),
    "keys": lambda page: page.click("#help"),
}  # fmt: skip


def faults(page):  # noqa: F811
    """What axe-core calls serious or critical."""
    found = page.driver.execute_async_script("axe.run(document).then(arguments[arguments.length - 1])")
    assert len(found["passes"]) > 10
    return [(fault["id"], node["html"], node.get("failureSummary")) for fault in found["violations"]
            if fault["impact"] in ("serious", "critical") for node in fault["nodes"]]  # fmt: skip


def check(page, path, views):  # noqa: F811
    """Looks at each view; axe-core is put into the page from outside, past the page's policy."""
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    axe = (importlib.resources.files(package) / "axe.min.js").read_text("utf-8")
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    try:
        page.open(path)
        page.js(axe)
        for name in views:
            VIEWS[name](page)
            assert (name, faults(page)) == (name, [])
    finally:
        page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, report, scheme):  # noqa: F811
    page.emulate(prefers_color_scheme=scheme)
    check(page, report, VIEWS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_a_phone(page, report, scheme):  # noqa: F811
    page.emulate(prefers_color_scheme=scheme)
    with page.phone():
        check(page, report, [name for name in VIEWS if name not in ("source", "function")])
        check(page, report, ["source", "function"])


def test_what_scrolls_sideways_is_reached_by_keys(page, report):  # noqa: F811
    """The drawing of memory is wider than a phone, and has nothing else in it that takes the focus."""
    with page.phone():
        page.open(report)
        page.click("#back")
        page.click("#tab-memory")
        assert page.js("const { scrollWidth, clientWidth } = at('memory'); return scrollWidth > clientWidth")
        page.press(Keys.TAB)
        assert page.driver.switch_to.active_element.get_attribute("id") == "memory"


def test_axe_finds_nothing_serious_without_javascript(page, report):  # noqa: F811
    """The tables for paper, as they are on the screen."""
    pytest.importorskip("jinja2")
    page.open(report)
    page.js("document.documentElement.classList.remove('js'); document.getElementById('app').hidden = true")
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    page.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    page.js((importlib.resources.files(package) / "axe.min.js").read_text("utf-8"))
    assert faults(page) == []


# ---- a phone -----------------------------------------------------------------------------------


def test_a_phone_shows_line_time_memory_and_source(page, report):  # noqa: F811
    with page.phone():
        page.open(report)
        assert page.titles("source") == ["Line", "Time", "Increment", "Source"]
        hidden = page.js("""const box = document.getElementById("source").getBoundingClientRect();
            return [...document.querySelectorAll("#source th")].map((cell) => {
                const at = cell.getBoundingClientRect();
                return [at.right - box.right, (box.right - at.left) / box.width]; })""")
        assert max(beyond for beyond, _ in hidden[:3]) < 0 and hidden[3][1] > 0.4  # the source has 2/5 of the screen
        cut = page.js("""return [...document.querySelectorAll("#source td.num")].filter((cell) =>
            cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)""")
        assert cut == [] and page.js("return document.documentElement.scrollWidth") <= 390
        assert page.js("return document.getElementById('source').clientHeight") > 300
        page.until("""const row = document.querySelector("#source .selected").getBoundingClientRect();
            const box = document.getElementById("source").getBoundingClientRect();
            return row.top >= box.top + 20 && row.bottom <= box.bottom""")  # below it are callers and callees
        assert len(page.rows("callers")) == 2


def test_a_phone_lists_what_matters_most(page, report):  # noqa: F811
    page.open(report)
    page.heading("Hits").click()
    with page.phone():
        page.until("return document.querySelectorAll('#functions th').length === 4")
        assert page.titles() == ["Function", "Time", "Self", "Increment"] and page.order() == [["Time", "descending"]]
        page.click("#back")
        page.click("#tab-files")
        assert page.titles("files") == ["File", "Self", "Self incr."]
        for key, name in (("f", "functions"), ("d", "files"), ("h", "callers")):
            page.press(key)
            width, room = page.js("const list = at(arguments[0]); return [list.scrollWidth, list.clientWidth]", name)
            assert (name, width) == (name, room) and room > 300  # nothing is cut off


def test_the_search_on_a_phone(page, report):  # noqa: F811
    with page.phone():
        page.open(report)
        page.search("leaf")
        assert page.driver.find_element("id", "found").is_displayed()
        assert page.js("return document.getElementById('found').getBoundingClientRect().right") <= 390
        page.driver.find_elements("css selector", "#found section:nth-child(2) button")[0].click()
        assert page.text("#name") == "leaf"


# ---- large profiles ----------------------------------------------------------------------------

FUNCTIONS, LINES, OF_A_FILE = 5000, 20, 25


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """5,000 functions of 20 lines in 200 files; each calls the next one of its file."""
    folder = tmp_path_factory.mktemp("large")
    functions, source = [], []
    for i in range(FUNCTIONS):
        first = 1 + LINES * (i % OF_A_FILE)
        rows = [{"line": first + at, "hits": i + at, "time": 100 * i + at, "self": i + at} for at in range(1, LINES)]
        functions.append(profiles.function(f"pkg{i // 500}/sub{i // 100}/m{i // OF_A_FILE}.py", first, f"f{i}", rows))
        text = f"def f{i}(x):\n" + "".join(f"    x{i} = {at}  # a line of source\n" for at in range(1, LINES))
        source.append(profiles.text(functions[-1], text))
    heads = [i for i in range(FUNCTIONS) if i % OF_A_FILE == 0]
    context = {i: i + 1 for i in range(FUNCTIONS)}  # a parent is a place plus 1
    calls = {"parent": [0 if i in heads else context[i - 1] for i in range(FUNCTIONS)],
             "line": [0 if i in heads else functions[i - 1]["line"] + 1 for i in range(FUNCTIONS)],
             "function": list(range(FUNCTIONS)), "calls": [1] * FUNCTIONS,
             "time": [OF_A_FILE - i % OF_A_FILE for i in range(FUNCTIONS)]}  # fmt: skip
    profiles.write(folder / "p", functions, source, known_calls.META, calls=calls)
    return make(folder, folder / "p")[0]


ELEMENTS = "return document.querySelectorAll('body *').length - document.querySelectorAll('.paper *').length"


def test_little_exists_of_a_large_profile(page, large):  # noqa: F811
    """Whatever is looked at, there are few elements, and only what is opened is unpacked."""
    page.open(large)
    assert page.text("#name") == "f4999" and page.text("#tab-functions") == "Functions 5,000"
    # those of the open file
    assert page.js("return [opened.size, listings.size, linesRead]") == [OF_A_FILE, 1, 0]
    counted = {"start": page.js(ELEMENTS)}
    for key in "fdgl":
        page.press(key)
        page.press(Keys.TAB, Keys.END)
        counted[key] = page.js(ELEMENTS)
        if key != "l":
            assert page.js("return [opened.size, linesRead]") == [OF_A_FILE, 0]
    assert page.text("#tab-lines") == "Lines 100,000" and page.text("#tab-files") == "Files 200"
    page.search("source")
    counted["search"] = page.js(ELEMENTS)
    assert page.js("return document.querySelector('#found section:last-child h2').textContent") == "Lines 95,000"
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.press("w")
    counted["function"] = page.js(ELEMENTS)
    assert {view: count for view, count in counted.items() if count > 4000} == {}


def test_scrolling_makes_only_what_comes_into_view(page, large):  # noqa: F811
    page.open(large)
    page.press("f")
    page.js("""window.made = 0;
        new MutationObserver((all) => all.forEach((one) => made += one.addedNodes.length)).observe(
            document.querySelector("#functions tbody"), {childList: true})""")
    for top in (100, 200, 60_000):
        page.js("document.getElementById('functions').scrollTop = arguments[0]", top)
        page.until("""return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
            const box = document.getElementById("functions").getBoundingClientRect();
            done(document.elementFromPoint(box.left + 50, box.top + 60).closest("tr").at !== undefined); })))""")
    in_view = page.js("const box = document.getElementById('functions'); return box.clientHeight / 25")
    assert 20 < page.js("return made") < 4 * (in_view + 60)


def test_one_file_of_a_hundred_thousand_lines(page, tmp_path):  # noqa: F811
    """Opening it unpacks its text once, and the picture beside it has no more parts than pixels."""
    count = 100_000
    text = "".join(f"x{i} = {i}\n" for i in range(count))
    rows = [{"line": i, "hits": 1, "time": i % 7 + 10**6 * (i == 70_000), "self": i % 7 + 10**6 * (i == 70_000)}
            for i in range(1, count + 1)]  # fmt: skip
    module = profiles.function("big.py", 1, "<module>", rows)
    inner = profiles.function("big.py", 5001, "f", [{"line": 5002, "hits": 1, "time": 5, "self": 5}])
    source = [profiles.text(module, text), profiles.text(inner, "".join(text.splitlines(True)[5000:5100]))]
    profiles.write(tmp_path / "p", [module, inner], source, known_calls.META)
    path = make(tmp_path, tmp_path / "p")[0]
    assert path.read_text("utf-8").count("x5050 = 5050") == 1  # a part of the file's text is no text of its own
    page.open(path)
    assert page.js("return wholeTexts.size") == 1
    assert page.js("return document.querySelector('#source tr.selected').cells[0].textContent") == "70000"
    assert page.js(ELEMENTS) < 4000
    parts = page.js("""return [...document.querySelectorAll("#minimap path")].map((path) =>
        path.getAttribute("d").split("M").length - 1)""")
    height = page.js("return document.getElementById('source').clientHeight")
    assert 100 < max(parts) <= height + 1
    open_function(page, "f")
    assert page.column("Source", "source").count("x5000 = 5000") == 1


def test_texts_are_unpacked_only_when_they_are_opened(page, tmp_path):  # noqa: F811
    bodies = [profiles.function(f"m{i}.py", 1, "<module>", [{"line": 1, "hits": 1, "time": 9 - i, "self": 9 - i}])
              for i in range(5)]  # fmt: skip
    source = [profiles.text(f, f"x = {i}\n") for i, f in enumerate(bodies)]
    profiles.write(tmp_path / "p", bodies, source, known_calls.META)
    page.open(make(tmp_path, tmp_path / "p")[0])
    assert page.js("return [...wholeTexts.keys(), opened.size]") == [0, 1]
    page.press("d", "g", "f", "j", "j", Keys.ENTER)
    assert page.text("#place") == "m2.py:1"
    assert page.js("return [...wholeTexts.keys(), opened.size]") == [0, 2, 2]
    page.search("x = 4")  # the search for lines reads them all
    assert page.js("return [wholeTexts.size, opened.size]") == [5, 5]
