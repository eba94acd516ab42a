# SPDX-License-Identifier: MIT
"""clineprof diff --format html, looked at in headless Chromium: both sides of two profiles whose numbers are known, how
the page is worked with, and that nothing in a profile gets out of being text."""
import itertools
import json
import sys

import known_calls
import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import run_ckernprof, run_viewer
from opened_page import page  # noqa: F401  (a fixture)
from profiles import MIB, MS, function, write
from test_html import CONTRAST, HOSTILE, ODD, assert_nothing_ran, without  # noqa: F401  (a fixture)
from test_html_access import check

Keys = pytest.importorskip("selenium.webdriver", reason="selenium is not installed").Keys

pytestmark = pytest.mark.once

NUMBERS = itertools.count()
VIEWS = ["functions", "lines", "source", "search", "keys"]
OLD_WORK = "def work(n):\n    prepare()\n    for i in range(n):\n        step(i)\n    rest()\n    return n\n"
NEW_WORK = (
    "@profile\ndef work(n):\n    prepare()\n    more()\n    for i in range(n):\n"
    "        step(i, 1)\n    return n\n"
)


def compare(folder, *words, code=0, env=None):
    """The page of a comparison, and what was said."""
    path = folder / f"diff-{next(NUMBERS)}.html"
    ended = run_viewer(["diff", "--format", "html", "-o", path, *words], folder,
                       env={"VIRTUAL_ENV": sys.prefix, **(env or {})})
    assert (ended.out, ended.code) == ("", code), ended.err
    return path, ended.err


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """old.lprof and new.lprof: work is 21.5 ms slower, of which half a millisecond is noise, and 3 MiB larger; fast is
    4 ms faster, same is the same, one is gone, one is new."""
    folder = tmp_path_factory.mktemp("diff")
    write(folder / "old.lprof",
          function("work", {2: (1, 10), 3: (101, 5), 4: (100, 20, 1), 5: (1, 3), 6: (1, 0)}, OLD_WORK),
          function("fast", {31: (2, 5)}, "def fast():\n    pass\n", line=30),
          function("same", {41: (1, 5)}, "def same():\n    pass\n", line=40),
          function("gone", {11: (1, 3)}, "def gone():\n    pass\n", line=10), wall=50 * MS)
    write(folder / "new.lprof",
          function("work", {3: (1, 10), 4: (1, 4), 5: (201, 5.5), 6: (200, 40, 4), 7: (1, 0)}, NEW_WORK),
          function("fast", {31: (2, 1)}, "def fast():\n    pass\n", line=30),
          function("same", {41: (1, 5)}, "def same():\n    pass\n", line=40),
          function("fresh", {21: (1, 7)}, "def fresh():\n    pass\n", line=20), wall=70 * MS)  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def report(made):
    return compare(made, "old.lprof", "new.lprof")[0]


# ---- what is shown -------------------------------------------------------------------------------


def test_the_sentence_of_the_text_stands_on_top(page, made, report):  # noqa: F811
    page.open(report)
    text = run_viewer(["diff", "old.lprof", "new.lprof"], made).out.splitlines()
    assert text[-1] == "work is 57 % slower, 3.000 MiB larger; nothing else got slower."
    assert page.text("h1") == text[-1]
    assert page.driver.title == "old.lprof → new.lprof – clineprof"
    facts = page.js("return [...document.querySelectorAll('.facts div')].map((fact) => fact.textContent)")
    assert facts[:2] == ["Before:old.lprof (0.05 s)", "After:new.lprof (0.07 s)"]
    assert facts[2:] == [line.replace(": ", ":", 1) for line in text[-4:-1]]


def test_functions_by_the_size_of_their_change(page, report):  # noqa: F811
    page.open(report)
    work, fresh, fast, gone = page.rows()
    # work: 10 + 5 + 20 + 3 = 38 ms before, 10 + 4 + 5.5 + 40 = 59.5 ms after
    assert work == {
        "Function": "work", "Time before": "38.0 ms", "Time after": "59.5 ms", "Change": "+21.5 ms", "%": "+56.6",
        "Increment": "+3.00 MiB", "Verdict": "slower, grown", "Place": "prog.py:1",
    }  # fmt: skip
    assert (fresh["Function"], fresh["Time before"], fresh["Change"], fresh["%"], fresh["Verdict"]) == (
        "fresh", "", "+7.00 ms", "new", "new")
    assert (fast["Change"], fast["%"], fast["Verdict"]) == ("-4.00 ms", "-80.0", "faster")
    assert (gone["Time before"], gone["Time after"], gone["%"]) == ("3.00 ms", "", "gone")
    page.heading("%").click()
    assert page.column("Function") == ["fresh", "work", "fast", "gone"]


def rows_of_source(page):
    return page.js("""return [...document.querySelectorAll("#source tbody tr:not(.space)")].map((row) =>
        [row.cells[0].textContent, row.cells[1].textContent, row.querySelector(".side").textContent,
         row.className, row.querySelector("code").innerText])""")  # fmt: skip


def test_the_source_has_the_lines_of_both_sides(page, report):  # noqa: F811
    page.open(report)
    assert page.text("#name") == "work" and page.text("#place") == "/srv/prog.py:1"
    assert page.text("#sums") == (
        "Time 38.0 ms → 59.5 ms, +21.5 ms (+56.6 %) · Increment 1.00 MiB → 4.00 MiB, +3.00 MiB (+300.0 %)"
        " · slower, grown")
    found = [(old, new, mark, text.strip()) for old, new, mark, _, text in rows_of_source(page)]
    rows = page.rows("source")
    assert [(old, new, mark) for old, new, mark, _ in found] == [
        ("", "1", "+"), ("1", "2", " "), ("2", "3", " "), ("", "4", "+"), ("3", "5", " "), ("4", "", "-"),
        ("", "6", "~"), ("5", "", "-"), ("6", "7", " ")]  # fmt: skip
    was, edited = rows[5:7]
    assert was["Source"].endswith("        step(i)") and was["Time before"] == was["Change"] == ""
    assert edited["Source"].endswith("        step(i, 1)")
    assert {title: edited[title] for title in page.titles("source")[2:-1]} == {
        "Time before": "20.0 ms", "Time after": "40.0 ms", "Change": "+20.0 ms", "%": "+100.0",
        "Increment": "+3.00 MiB", "Hits": "+100",
    }  # fmt: skip
    more, rest = rows[3], rows[7]
    assert (more["Time before"], more["Time after"], more["Change"], more["%"]) == ("", "4.00 ms", "+4.00 ms", "new")
    assert (rest["Time before"], rest["Time after"], rest["Change"], rest["%"]) == ("3.00 ms", "", "-3.00 ms", "gone")
    assert rows[4]["Change"] == "" and (rows[4]["Time before"], rows[4]["Time after"]) == ("5.00 ms", "5.50 ms")


def test_changes_are_coloured_and_their_bars_are_as_long_as_they_are(page, report):  # noqa: F811
    page.open(report)
    bars = page.js("""return [...document.querySelectorAll("#functions td.bar")].map((cell) =>
        [cell.textContent, cell.classList.contains("of-worse"), cell.classList.contains("of-better"),
         cell.style.getPropertyValue("--w")])""")  # fmt: skip
    assert bars == [["+21.5 ms", True, False, "100.0%"], ["+3.00 MiB", True, False, "100.0%"],
                    ["+7.00 ms", True, False, "32.6%"], ["-4.00 ms", False, True, "18.6%"],
                    ["-3.00 ms", False, True, "14.0%"]]  # fmt: skip
    kinds = {text: name for *_, name, text in rows_of_source(page)}
    assert [name for text, name in kinds.items() if text.endswith("more()")] == ["added"]
    assert [name for text, name in kinds.items() if text.endswith("rest()")] == ["removed"]
    ground = "return getComputedStyle(document.querySelector('#source tr.%s td.code')).backgroundColor"
    assert page.js(ground % "added") != page.js(ground % "removed")


def test_the_page_has_the_numbers_of_json(page, made, report):  # noqa: F811
    """The page compares nothing by itself: what the JSON calls a change is a change, and nothing else."""
    told = json.loads(run_viewer(["diff", "--format", "json", "old.lprof", "new.lprof"], made).out)
    page.open(report)
    for place, one in enumerate(told["functions"]):
        page.driver.find_elements("css selector", "#functions td button")[place].click()
        shown = {(row["Old"] or row["New"]): row["Change"] for row in page.rows("source") if row["Change"]}
        changed = {str(line["line"][0] if line["line"][0] and not line["edited"] else line["line"][1])
                   for line in one["lines"] if line["measures"]["time"]["changed"]}  # fmt: skip
        assert set(shown) == changed


def test_all_shows_what_did_not_change_and_top_the_most(page, made):  # noqa: F811
    page.open(compare(made, "--all", "old.lprof", "new.lprof")[0])
    assert sorted(page.column("Function")) == ["fast", "fresh", "gone", "same", "work"]
    assert page.rows()[-1]["Change"] == ""
    page.open(compare(made, "--top", "2", "old.lprof", "new.lprof")[0])
    assert page.column("Function") == ["work", "fresh"]
    assert "Shown:\n2 of 4 functions, those that changed most." in page.text(".facts")


def test_a_profile_against_itself(page, made):  # noqa: F811
    page.open(compare(made, "old.lprof", "old.lprof")[0])
    assert page.text("h1") == "Nothing got faster, slower, larger or smaller."
    assert page.text("#nothing") == "Nothing changed." and page.text("#tab-functions") == "Functions 0"
    page.press("l")
    page.press("f", "j", Keys.ENTER)


def test_other_measures(page, made):  # noqa: F811
    page.open(compare(made, "--measure", "increment,hits", "old.lprof", "new.lprof")[0])
    assert page.titles()[:5] == ["Function", "Increment before", "Increment after", "Change", "%"]
    assert page.rows()[0]["Change"] == "+3.00 MiB"


def test_all_columns(page, made):  # noqa: F811
    page.open(compare(made, "old.lprof", "new.lprof")[0])
    page.driver.find_elements("css selector", "#functions td button")[2].click()
    assert page.text("#name") == "fast" and "Increment before" not in page.rows("source")[0]
    page.press("a")
    assert "Increment before" in page.rows("source")[0] and "Hits after" in page.rows("source")[0]


def test_a_confidence_has_margins(page, tmp_path):  # noqa: F811
    for side, times in ("old", (10, 11, 12)), ("new", (30, 31, 32)):
        for run, time in enumerate(times):
            write(tmp_path / f"{side}-{run}.lprof", function("f", {2: (1, time)}, "def f():\n    pass\n"))
    old, new = ([f"{side}-{run}.lprof" for run in range(3)] for side in ("old", "new"))
    page.open(compare(tmp_path, "--confidence", "99", *old, "--", *new)[0])
    row = page.rows()[0]
    assert (row["Time before"], row["Time after"], row["Change"]) == ("11.0 ms", "31.0 ms", "+20.0 ms")
    # by hand: each side has the variance 1, so the error is sqrt(2/3); t(0.995, 4) = 4.604
    assert row["±"] == "3.76 ms"
    assert "for certain" in page.text("h1") and "Confidence:" in page.text(".facts")


# ---- calls -----------------------------------------------------------------------------------------


@pytest.fixture
def called(tmp_path):
    """once.lprof and often.lprof: other calls leaf ten times as often."""
    known_calls.write(tmp_path / "once.lprof")
    calls = {**known_calls.CALLS, "calls": [1, 2, 8, 12, 1, 10], "time": [10000, 8000, 600, 5000, 15000, 10000]}

    def more(one):
        lines = {name: column if name == "line" else [n * 10 for n in column] for name, column in one["lines"].items()}
        return {**one, "lines": lines, "total": one["total"] * 10, "raw_total": one["raw_total"] * 10}

    functions = [known_calls.MAIN, known_calls.FIB, more(known_calls.OTHER), more(known_calls.LEAF)]
    known_calls.write(tmp_path / "often.lprof", functions, calls)
    return tmp_path


def test_who_calls_a_function_on_both_sides(page, called):  # noqa: F811
    path, _ = compare(called, "--noise-floor", "0", "once.lprof", "often.lprof")
    page.open(path)
    names = page.column("Function")
    page.driver.find_elements("css selector", "#functions td button")[names.index("leaf")].click()
    first = page.rows("callers")[0]
    assert (first["Called from"], first["Calls"], first["Time"]) == ("other:12", "1 → 10", "1.00 µs → 10.0 µs")
    page.driver.find_element("css selector", "#callers td button").click()
    assert page.text("#name") == "other"
    assert page.js("return document.querySelector('#source .selected').cells[1].textContent") == "12"
    callee = page.rows("callees")[0]
    assert (callee["Calls to"], callee["Calls"]) == ("leaf", "1 → 10")
    page.driver.find_element("css selector", "#callees td button").click()
    assert page.text("#name") == "leaf"


# ---- how it is worked with ---------------------------------------------------------------------------


def test_keys_search_and_addresses_are_those_of_a_profile(page, report):  # noqa: F811
    page.open(report)
    page.press("j", Keys.ENTER)
    assert page.text("#name") == "fresh"
    page.driver.back()
    page.until("return document.querySelector('#name').textContent === 'work'")
    page.press("l")
    assert page.rows("lines")[0]["Change"] == "+20.0 ms"
    assert "work:5" in page.column("Function", "lines")
    page.search("rest")
    assert {row["Source"] for row in page.rows("lines")} == {"rest()"}
    page.driver.find_element("css selector", "#lines td button").click()
    assert page.js("return document.querySelector('#source .selected').cells[0].textContent") == "5"
    assert "line=-5" in page.js("return location.hash")
    address = page.js("return location.href")
    page.driver.get("about:blank")
    page.driver.get(address)
    page.until("return document.querySelector('#source .selected')?.cells[0].textContent === '5'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, report, scheme):  # noqa: F811
    page.emulate(prefers_color_scheme=scheme)
    check(page, report, VIEWS)
    with page.phone():
        check(page, report, ["functions", "lines"])
        check(page, report, ["source"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_of_changes_can_be_seen(page, report, scheme):  # noqa: F811
    page.emulate(prefers_color_scheme=scheme)
    page.open(report)
    _, bars = page.js(CONTRAST.replace('["heat1", ', '["worse", "better", "heat1", '))
    assert len(bars) == 28 and {pair: ratio for pair, ratio in bars.items() if ratio < 3} == {}


def test_paper(page, report):  # noqa: F811
    pytest.importorskip("jinja2")
    page.open(report)
    page.emulate("print")
    paper = page.text(".paper")
    assert not page.driver.find_element("id", "functions").is_displayed()
    for part in ("Functions by the size of their change", "+21.5 ms", "+56.6", "+3.00 MiB", "step(i, 1)", "rest()"):
        assert part in paper


def test_on_a_phone(page, report):  # noqa: F811
    with page.phone():
        page.open(report)
        assert page.titles("source") == ["New", "Change", "%", "Source"]
        page.click("#back")
        assert page.titles() == ["Function", "Change", "%"]
        page.driver.find_element("css selector", "#functions td button").click()
        assert page.text("#name") == "work"
        assert page.js("return document.documentElement.scrollWidth <= innerWidth")


def test_without_javascript_there_are_the_same_numbers(page, report):  # noqa: F811
    pytest.importorskip("jinja2")
    page.open(report)
    theirs = [row["Change"] for row in page.rows("source")]
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.driver.get(report.as_uri())
        [table] = [table for table in page.driver.find_elements("css selector", "table.source")
                   if "work" in table.find_element("tag name", "caption").text]  # fmt: skip
        rows = [[cell.text for cell in row.find_elements("css selector", "td")]
                for row in table.find_elements("css selector", "tbody tr")]  # fmt: skip
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert [row[4] for row in rows] == theirs


# ---- what may go wrong -------------------------------------------------------------------------------


def test_what_the_program_wrote_stays_text(page, tmp_path):  # noqa: F811
    texts = HOSTILE + [text for text in ODD if "\x00" not in text]
    for name, times in ("old", 1), ("new", 2):
        source = "def f():\n" + "".join(f"    {text} {name}\n" for text in texts)
        write(tmp_path / f"{name}.lprof", *[
            function(text, {2: (1, 10 * times * (50 - i))}, source, file=f"/srv/{i}{text}")
            for i, text in enumerate(texts)])  # fmt: skip
    path, _ = compare(tmp_path, "old.lprof", "new.lprof")
    page.open(path)
    assert sorted(page.column("Function")) == sorted(ODD.get(text, text) for text in texts)
    assert page.text("h1").startswith("</script><script>window.ran=1</script> is ")
    assert_nothing_ran(page)
    page.press("l")
    page.emulate("print")
    assert_nothing_ran(page)


def test_a_name_of_a_file_that_is_markup(page, tmp_path):  # noqa: F811
    names = ["<img src=x onerror=window.ran=1>.lprof", "b\u202e.lprof"]
    for name in names:
        write(tmp_path / name, function("f", {2: (1, 1)}, "def f():\n    pass\n"))
    page.open(compare(tmp_path, *names)[0])
    assert page.js("return [window.ran, document.querySelectorAll('img').length]") == [None, 0]
    assert names[0] in page.text(".facts")


def test_limits_are_told(page, made):  # noqa: F811
    path, said = compare(made, "--fail-on", "time>+20%", "old.lprof", "new.lprof", code=3)
    page.open(path)
    assert "Limits are broken:\ntime>+20%" in page.text(".facts")
    assert "work: time 20.0 ms -> 40.0 ms" in said
    page.click("#tab-limits")
    assert page.text("#tab-limits") == "Broken limits 3"
    # the lines that are new have every limit of this kind against them
    titles = "Function", "Limit", "Before", "After", "Source"
    assert [tuple(row[title] for title in titles) for row in page.rows("limits")] == [
        ("work", "time>+20%", "20.0 ms", "40.0 ms", "step(i, 1)"), ("fresh", "time>+20%", "0", "7.00 ms", "pass"),
        ("work", "time>+20%", "0", "4.00 ms", "more()")]  # fmt: skip
    page.driver.find_elements("css selector", "#limits td button")[2].click()
    assert page.text("#name") == "work"
    assert page.js("return document.querySelector('#source .selected').cells[1].textContent") == "4"


def test_limits_of_what_is_gone_and_of_whole_functions(page, made):  # noqa: F811
    path, _ = compare(made, "--fail-on", "hits<-0,total>4ms", "old.lprof", "new.lprof", code=3)
    page.open(path)
    page.click("#tab-limits")
    rows = page.rows("limits")
    found = {(row["Function"], row["Limit"]): place for place, row in enumerate(rows)}
    buttons = page.driver.find_elements("css selector", "#limits td button")
    buttons[found["work", "hits<-0"]].click()
    assert page.js("return document.querySelector('#source .selected').cells[0].textContent") == "5"  # rest()
    buttons[found["fresh", "total>4ms"]].click()
    assert page.text("#name") == "fresh"
    buttons[found["same", "total>4ms"]].click()  # it did not change, so that it is not in the page
    assert page.text("#name") == "fresh"
    assert rows[found["same", "total>4ms"]]["After"] == "5.00 ms"


def test_bad_input(made):
    for words, told, code in (
        (["old.lprof", "missing.lprof"], "missing.lprof", 1),
        (["old.lprof"], "diff needs two profiles", 2),
        (["-o", "missing/x.html", "old.lprof", "new.lprof"], "missing/x.html", 1),
    ):
        ended = run_viewer(["diff", "--format", "html", *words], made)
        # without Jinja2 or Pygments another line says so
        lines = [line for line in ended.err.splitlines() if "pip install" not in line]
        assert (ended.code, ended.out, len(lines)) == (code, "", 1)
        assert told in ended.err and "Traceback" not in ended.err


def test_without_the_extras_the_page_is_plainer(page, made, without):  # noqa: F811
    path, said = compare(made, "old.lprof", "new.lprof", env=without("jinja2", "pygments"))
    assert "the page lacks tables on paper and without JavaScript (Jinja2) and colours of the source (Pygments)" in said
    page.open(path)
    assert page.rows()[0]["Change"] == "+21.5 ms"


def test_without_a_text_the_lines_match_by_their_place(page, tmp_path):  # noqa: F811
    write(tmp_path / "old.lprof", function("f", {2: (1, 10)}))
    write(tmp_path / "new.lprof", function("f", {2: (1, 30)}))
    page.open(compare(tmp_path, "old.lprof", "new.lprof")[0])
    assert page.rows("source")[0]["Change"] == "+20.0 ms"
    assert "The source is not known" in page.text("#notes")


def test_ab_makes_the_page_too(page, tmp_path):  # noqa: F811
    """The programs differ in hits, which are the same in every run."""
    for name, count in ("old", 10), ("new", 30):
        (tmp_path / f"{name}.py").write_text(
            f"@profile\ndef count():\n    for n in range({count}):\n        pass\n\ncount()\n")
    ended = run_viewer(["ab", "-n", "3", "-l", "--format", "html", "-o", "ab.html", "old.py", "new.py"], tmp_path,
                       env={"VIRTUAL_ENV": sys.prefix})
    assert ended.code == 0, ended.err
    page.open(tmp_path / "ab.html")
    assert page.column("Function") == ["count"] and "±" in page.titles()
    assert page.rows("source")[-1]["Hits"] == "+20"
    assert "old.py (average of 3" in page.text(".facts")
