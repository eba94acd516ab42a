# SPDX-License-Identifier: MIT
"""How the web page leads to what matters, in headless Chromium: the hottest line, the search, the tree of files, the
picture of the source, whole texts of files."""
import contextlib

import known_calls
import known_profiles as profiles
import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import run_ckernprof
from opened_page import make, page  # noqa: F401  (a fixture)
from test_html_calls import address, open_function, selected_line

Keys = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").Keys

pytestmark = pytest.mark.once
MIB = profiles.MIB


def write(folder, functions, texts=None, **meta):
    """The page of these functions. texts: {name of a function: its text}"""
    source = [profiles.text(f, texts[f["name"]]) for f in functions if f["name"] in (texts or {})]
    profiles.write(folder / "p", functions, source, {**known_calls.META, **meta})
    return make(folder, folder / "p")[0]


def body(name, count):
    return f"def {name}():\n" + "".join(f"    x = {i}\n" for i in range(count))


# ---- the hottest line --------------------------------------------------------------------------


def hottest(folder):
    """The hottest line is 290: neither in the function with most time, nor in the one with most self time. Function
    `short` begins at line 200, and is one of two in its file."""
    even = profiles.function("even.py", 1, "even", [
        {"line": 2 + i, "hits": 1, "time": 100, "self": 30} for i in range(150)])  # fmt: skip
    short = profiles.function("app/short.py", 200, "short", [
        {"line": 201 + i, "hits": 1, "time": 10, "self": 10 + 900 * (i == 89)} for i in range(100)])  # fmt: skip
    other = profiles.function("app/short.py", 1, "other", [{"line": 2, "hits": 1, "time": 800, "self": 800}])
    texts = {"even": body("even", 150), "short": body("short", 100), "other": body("other", 100)}
    return write(folder, [even, short, other], texts)


IN_VIEW = """const [row] = document.querySelectorAll("#source tr.selected");
    const box = document.getElementById("source").getBoundingClientRect(), at = row?.getBoundingClientRect();
    return at && at.height > 10 && at.top >= box.top + 20 && at.bottom <= box.bottom && at.bottom <= innerHeight"""


@pytest.mark.parametrize("phone", [False, True])
def test_the_page_opens_on_the_hottest_line(page, tmp_path, phone):  # noqa: F811
    path = hottest(tmp_path)
    with page.phone() if phone else contextlib.nullcontext():
        page.open(path)
        page.until(IN_VIEW)
        assert (page.text("#name"), selected_line(page)) == ("short", "290")
        assert page.js("return document.querySelector('#source .selected').ariaCurrent") == "true"
        assert address(page)["line"] == "290" and address(page)["function"] == "app/short.py:200:short"


def test_the_strip_on_top_links_to_the_hottest_line(page, tmp_path):  # noqa: F811
    page.open(hottest(tmp_path))
    open_function(page, "other")
    # 910 of 150 * 30 + 99 * 10 + 910 + 800 ns
    assert "Hottest line\nshort.py:290 910 ns · 12.6 %" in page.text("#times")
    page.click("#times a")
    page.until("return document.getElementById('name').textContent === 'short'")
    page.until(IN_VIEW)
    open_function(page, "other")
    page.press("h")
    assert (page.text("#name"), selected_line(page)) == ("short", "290")


def test_without_self_times_it_is_the_line_with_most_time(page, tmp_path):  # noqa: F811
    functions = [profiles.function("a.py", 10 * i + 1, f"f{i}", [{"line": 10 * i + 2, "hits": 1, "time": time}])
                 for i, time in enumerate([5, 9, 7])]  # fmt: skip
    page.open(write(tmp_path, functions))
    assert (page.text("#name"), selected_line(page)) == ("f1", "12")


def test_no_line_took_time(page, tmp_path):  # noqa: F811
    page.open(write(tmp_path, [profiles.function("a.py", 1, "f", [{"line": 2, "hits": 1}])]))
    assert page.text("#name") == "f" and selected_line(page) is None and "Hottest" not in page.text("#times")


def test_an_address_is_stronger_than_the_hottest_line(page, tmp_path):  # noqa: F811
    path = hottest(tmp_path)
    page.driver.get("about:blank")
    page.driver.get_log("performance")
    page.driver.get(path.as_uri() + "#function=app/short.py:1:other&line=2")
    page.until("return document.querySelectorAll('#source .selected').length === 1")
    assert (page.text("#name"), selected_line(page)) == ("other", "2")


# ---- the search --------------------------------------------------------------------------------


def searchable(folder):
    """`load` is in the name of a file, of functions and of lines."""
    functions = [
        profiles.function("app/load_all.py", 1, "main", [{"line": 2, "hits": 1, "time": 100, "self": 10}]),
        profiles.function("app/load_all.py", 11, "load", [{"line": 12, "hits": 1, "time": 60, "self": 60}]),
        profiles.function("app/rest.py", 1, "reload", [{"line": 2, "hits": 1, "time": 30, "self": 30}]),
        profiles.function("app/rest.py", 5, "<lambda>", [{"line": 5, "hits": 0, "time": 0}]),
    ]
    texts = {"main": "def main():\n    load()  # LOAD\n", "load": "def load():\n    return 1\n",
             "reload": "def reload():\n    return 2\n", "<lambda>": "key = lambda: load\n"}  # fmt: skip
    return write(folder, functions, texts)


def listed(page):  # noqa: F811
    """What is listed below the box: [[title, [text, place, time], ..], ..]"""
    return page.js("""const found = document.getElementById("found");
        return found.checkVisibility() ? [...found.querySelectorAll("section")].map((section) =>
            [section.querySelector("h2").textContent, ...[...section.querySelectorAll("button")].map((button) =>
                [...button.children].map((part) => part.textContent))]) : null""")


def test_the_search_finds_functions_files_and_lines_at_once(page, tmp_path):  # noqa: F811
    page.open(searchable(tmp_path))
    assert listed(page) is None
    page.search("Load")
    assert listed(page) == [
        ["Files 1", ["app/load_all.py", "", "70 ns"]],
        ["Functions 3", ["load", "load_all.py:11", "60 ns"], ["reload", "rest.py:1", "30 ns"],
         ["main", "load_all.py:1", "10 ns"]],
        ["Lines 4", ["load()  # LOAD", "load_all.py:2", "10 ns"], ["def load():", "load_all.py:11", ""],
         ["def reload():", "rest.py:1", ""], ["key = lambda: load", "rest.py:5", ""]],
    ]  # fmt: skip
    marks = page.js("return [...document.querySelectorAll('#found mark')].map((mark) => mark.textContent)")
    assert marks == ["load", "load", "load", "load", "LOAD", "load", "load", "load"]
    assert page.js("return document.getElementById('told').textContent") == "Found: files 1, functions 3, lines 4"
    tabs = [page.text(f"#tab-{name}") for name in ("functions", "files", "lines")]
    assert tabs == ["Functions 3 of 4", "Files 1 of 2", "Lines 4 of 7"]


def test_what_was_found_is_opened_by_keys(page, tmp_path):  # noqa: F811
    page.open(searchable(tmp_path))
    for downs, name, line in (1, "load", "12"), (2, "load", None), (5, "main", "2"), (7, "reload", "1"):
        page.press(Keys.ESCAPE)
        page.search("load")
        page.press(*[Keys.ARROW_DOWN] * downs, Keys.ENTER)
        assert (page.text("#name"), selected_line(page)) == (name, line)
        assert listed(page) is None
        assert page.driver.switch_to.active_element.get_attribute("id") == "source"


def test_the_list_of_what_was_found_comes_and_goes(page, tmp_path):  # noqa: F811
    page.open(searchable(tmp_path))
    page.search("load")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.driver.switch_to.active_element.get_attribute("id") == "search"
    page.press(Keys.TAB)
    assert "load_all.py" in page.driver.switch_to.active_element.text
    page.press(Keys.ESCAPE)
    assert page.driver.switch_to.active_element.get_attribute("id") == "search" and len(listed(page)) == 3
    page.click("#tab-lines")
    assert listed(page) is None and len(page.rows("lines")) == 4
    page.click("#search")
    assert len(listed(page)) == 3
    page.press(Keys.ESCAPE)
    assert listed(page) is None and page.text("#tab-lines") == "Lines 7"


def test_a_click_opens_what_was_found(page, tmp_path):  # noqa: F811
    page.open(searchable(tmp_path))
    page.search("return 2")
    assert [group[0] for group in listed(page)] == ["Files 0", "Functions 0", "Lines 1"]
    page.click("#found button")
    assert (page.text("#name"), selected_line(page), listed(page)) == ("reload", "2", None)


def test_of_many_the_hottest_are_listed_and_the_rest_is_one_click_away(page, tmp_path):  # noqa: F811
    functions = [profiles.function(f"p/f{i}.py", 1, f"f{i}", [{"line": 1, "hits": 1, "time": 1000 - i, "self": i + 1}])
                 for i in range(40)]  # fmt: skip
    page.open(write(tmp_path, functions, {f["name"]: f"{f['name']}()\n" for f in functions}))
    page.search("f")
    for group, name in zip(listed(page), ("Files 40", "Functions 40", "Lines 40")):
        assert group[0] == name and len(group) == 8 and group[7] == []
        assert [row[2] for row in group[1:7]] == [f"{40 - i} ns" for i in range(6)]
    page.driver.find_elements("css selector", "#found section:nth-child(2) button")[6].click()
    assert listed(page) is None and page.js("return document.activeElement.id") == "tab-functions"
    page.press("/")
    page.driver.find_elements("css selector", "#found section:nth-child(3) button")[6].click()
    assert listed(page) is None and page.js("return document.activeElement.id") == "tab-lines"
    assert page.column("Function", "lines")[0] == "f39:1"


# ---- the tree of files -------------------------------------------------------------------------

# main calls everything, so its time has all of the others
FILES = {
    "app/main.py": ("main", 100, 4, MIB * 9, MIB), "app/web/views.py": ("view", 90, 30, MIB * 8, 5 * MIB),
    "app/web/forms.py": ("form", 40, 26, 3 * MIB, 3 * MIB), "lib/deep/down/x.py": ("x", 20, 20, 0, 0),
    "lib/deep/y.py": ("y", 15, 15, -MIB, -MIB), "<string>": ("made", 5, 5, 0, 0),
}  # fmt: skip


def tree(folder, memory=True, own=True):
    functions = []
    for file, (name, time, self, grown, self_increment) in FILES.items():
        row = {"line": 2, "hits": 3, "time": time}
        if own:
            row["self"] = self
        if memory:
            row.update(rss=MIB * 20, grown=max(grown, 0), released=max(-grown, 0), self_increment=self_increment)
        functions.append(profiles.function(file, 1, name, [row, {"line": 3, "hits": 1}]))
    return write(folder, functions, has_memory=memory)


def outline(page):  # noqa: F811
    """The tree as it is seen: [(depth, File, Self), ..]"""
    depths = page.js("""return [...document.querySelectorAll("#files tbody tr:not(.space) td:first-child")].map(
        (cell) => +cell.style.getPropertyValue("--depth"))""")
    return [(depth, row["File"], row.get("Self")) for depth, row in zip(depths, page.rows("files"))]


ALL_FILES = [
    (0, "app/", "60 ns"), (1, "web/", "56 ns"), (2, "views.py", "30 ns"), (2, "forms.py", "26 ns"),
    (1, "main.py", "4 ns"), (0, "lib/deep/", "35 ns"), (1, "down/", "20 ns"), (2, "x.py", "20 ns"),
    (1, "y.py", "15 ns"), (0, "<string>", "5 ns"),
]  # fmt: skip


def test_files_are_a_tree_whose_sums_count_nothing_twice(page, tmp_path):  # noqa: F811
    page.open(tree(tmp_path))
    page.press("d")
    assert outline(page) == ALL_FILES and page.text("#tab-files") == "Files 6"
    app, web, views, *_, string = page.rows("files")
    assert app == {"File": "app/", "Self": "60 ns", "Share %": "60.0", "Self incr.": "9.00 MiB", "Hits": "12",
                   "Functions": "3"}  # fmt: skip
    assert (web["Self incr."], views["Self incr."], string["Share %"]) == ("8.00 MiB", "5.00 MiB", "5.0")
    assert page.column("Self incr.", "files")[5] == "-1.00 MiB"
    bars = page.js("""return [...document.querySelectorAll("#files .of-self")].map((cell) =>
        cell.style.getPropertyValue("--w"))""")
    assert bars[:3] == ["100.0%", "93.3%", "50.0%"]  # of 60 ns
    # the whole is the time in profiled functions, each moment counted once
    assert "In profiled functions\n100 ns · 0.5 %" in page.text("#times")


def test_the_tree_is_sorted_and_searched_within_its_folders(page, tmp_path):  # noqa: F811
    page.open(tree(tmp_path))
    page.press("d")
    page.heading("File", "files").click()
    assert [(depth, name) for depth, name, _ in outline(page)] == [
        (0, "<string>"), (0, "app/"), (1, "main.py"), (1, "web/"), (2, "forms.py"), (2, "views.py"), (0, "lib/deep/"),
        (1, "down/"), (2, "x.py"), (1, "y.py")]  # fmt: skip
    page.search("web/v")
    page.press(Keys.TAB, Keys.ESCAPE)
    assert [name for _, name, _ in outline(page)] == ["app/", "web/", "views.py"]
    assert page.text("#tab-files") == "Files 1 of 6"
    page.press(Keys.ESCAPE)
    assert len(outline(page)) == 10


def test_folders_close_and_open(page, tmp_path):  # noqa: F811
    page.open(tree(tmp_path))
    page.press("d", "j", "j")
    focused = lambda: page.driver.switch_to.active_element  # noqa: E731
    assert (focused().text, focused().get_attribute("aria-expanded")) == ("web/", "true")
    page.press(Keys.ENTER)
    assert [name for _, name, _ in outline(page)][:3] == ["app/", "web/", "main.py"]
    assert (focused().text, focused().get_attribute("aria-expanded")) == ("web/", "false")
    page.press(Keys.ARROW_RIGHT)
    assert outline(page) == ALL_FILES
    page.press(Keys.ARROW_DOWN, Keys.ARROW_LEFT)  # from a file to its folder
    assert focused().text == "web/"
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert focused().text == "app/" and len(outline(page)) == 6
    page.driver.find_elements("css selector", "#files td button")[0].click()
    assert len(outline(page)) == 8  # web/ stays closed


def test_a_file_opens_at_its_hottest_line(page, tmp_path):  # noqa: F811
    page.open(hottest(tmp_path))
    page.click("#tab-files")
    assert page.column("File", "files") == ["even.py", "app/", "short.py"]
    page.driver.find_elements("css selector", "#files td button")[0].click()
    assert (page.text("#name"), selected_line(page)) == ("even", "2")
    page.driver.find_elements("css selector", "#files td button")[2].click()
    assert (page.text("#name"), selected_line(page)) == ("short", "290")
    page.until(IN_VIEW)
    assert address(page) == {"tab": "files", "function": "app/short.py:200:short", "line": "290"}


def test_what_is_not_known_has_no_sums(page, tmp_path):  # noqa: F811
    page.open(tree(tmp_path, memory=False, own=False))
    page.press("d")
    assert page.titles("files") == ["File", "Hits", "Functions"]
    assert page.order("files") == [["File", "ascending"]]
    assert page.column("Hits", "files")[:3] == ["4", "12", "4"]  # <string>, app/, main.py


# ---- the picture of the source -----------------------------------------------------------------


def heats(page):  # noqa: F811
    """[(heat, height from the top, length), ..] of the lines in the picture"""
    return page.js("""return [...document.querySelectorAll("#minimap path:not(.words)")].flatMap((path, kind) =>
        [...path.getAttribute("d").matchAll(/M\\S+ (\\S+)h([\\d.]+)/g)].map((at) => [kind + 1, +at[1], +at[2]]))""")


def large(folder, count=4000):
    """Of its lines, 3001 took 100 ns, 3501 50 ns and 11 10 ns."""
    rows = [{"line": line, "hits": 1, "time": time, "self": time} for line, time in ((11, 10), (3001, 100), (3501, 50))]
    return write(folder, [profiles.function("a.py", 1, "f", rows)], {"f": body("f", count - 1)})


def test_the_minimap_shows_where_a_file_is_hot(page, tmp_path):  # noqa: F811
    page.open(large(tmp_path))
    height = page.js("return document.getElementById('source').clientHeight")
    width = page.js("return document.getElementById('minimap').clientWidth") - 4
    found = heats(page)
    assert [heat for heat, _, _ in found] == [1, 2, 4]
    for (_, y, length), line, share in zip(found, (11, 3501, 3001), (0.1, 0.5, 1)):
        assert abs(y - height * (line - 1) / 4000) <= 1.5 and abs(length - width * share) < 0.2
    assert page.js("return document.querySelector('#minimap .words').getAttribute('d').split('M').length - 1") > 100
    seen = page.js("return ['y', 'height'].map((name) => +document.querySelector('.seen').getAttribute(name))")
    assert seen[0] < height * 3000 / 4000 < seen[0] + seen[1] < height  # the hottest line is in view


def test_a_click_on_the_minimap_goes_there(page, tmp_path):  # noqa: F811
    from selenium.webdriver import ActionChains

    page.open(large(tmp_path))
    minimap = page.driver.find_element("id", "minimap")
    height = minimap.size["height"]
    ActionChains(page.driver).move_to_element_with_offset(minimap, 0, height // 4 - height // 2).click().perform()
    has = """return [...document.querySelectorAll("#source tbody tr:not(.space)")].some((row) =>
        +row.cells[0].textContent === arguments[0])"""
    page.until(has, 1000)
    drag = ActionChains(page.driver).move_to_element(minimap).click_and_hold()
    drag.move_by_offset(0, height // 4).release().perform()
    page.until(has, 3000)


def test_the_minimap_has_the_order_of_the_rows_and_the_open_function(page, tmp_path):  # noqa: F811
    page.open(large(tmp_path))
    page.heading("Self", "source").click()
    assert [round(y) for _, y, _ in heats(page)] == [0, 0, 0] or max(y for _, y, _ in heats(page)) < 3
    page.open(hottest(tmp_path))
    assert [heat for heat, _, _ in heats(page)].count(4) == 2  # 910 and 800 of other, in the same file
    page.press("w")
    assert [heat for heat, _, _ in heats(page)].count(4) == 1


# ---- whole texts of files ----------------------------------------------------------------------

TEXT = """\
import os

def f(x):
    return x


def untouched():
    return "text of the file"

f(1)
"""


@pytest.mark.parametrize("options", [["--source", "files", "-p", "program.f"], ["-p", "program.py"]])
def test_the_whole_text_of_a_file_is_shown_where_it_is_known(page, script, tmp_path, options):  # noqa: F811
    script(TEXT)
    assert run_ckernprof(["-l", *options, "-o", "p", "program.py"], tmp_path).code == 0
    page.open(make(tmp_path, tmp_path / "p")[0])
    kept = page.js("""return ["data-lines", "data-files"].map((id) => document.getElementById(id).textContent.split(
        "text of the file").length - 1)""")
    assert kept == [0, 1]  # as a text of the file alone, not of the module and of the function, too
    assert page.column("Source", "source") == TEXT.splitlines()
    assert page.column("Hits", "source")[3] == "1"
    open_function(page, "f")
    page.press("w")
    assert page.column("Source", "source") == TEXT.splitlines()[2:4]
    page.press("l")
    assert page.column("Source", "lines").count("return x") == 1


def test_a_text_that_is_not_the_files_stands_alone(page, tmp_path):  # noqa: F811
    whole = profiles.function("a.py", 1, "<module>", [{"line": 1, "hits": 1, "time": 5, "self": 5}])
    other = profiles.function("a.py", 1, "f", [{"line": 2, "hits": 1, "time": 9, "self": 9}])
    texts = {"<module>": "def f():\n    return 1\nf()\n", "f": "def f():\n    return 2\n"}
    page.open(write(tmp_path, [whole, other], texts))
    assert page.column("Source", "source") == ["def f():", "    return 2"]
    open_function(page, "<module>")
    assert page.column("Source", "source") == ["def f():", "    return 1", "f()"]
