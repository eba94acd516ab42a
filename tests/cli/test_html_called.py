# SPDX-License-Identifier: MIT
"""C time and library (--native) in the web page, in headless Chromium: the columns, and what took most of them."""
import sys

import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import run_ckernprof
from opened_page import make, page  # noqa: F401  (a fixture)

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

pytestmark = pytest.mark.once


@pytest.mark.skipif(sys.version_info < (3, 11), reason="--native needs probes")
def test_cells_say_what_took_most_of_them(page, tmp_path):  # noqa: F811
    (tmp_path / "prog.py").write_text("""\
import json, time
@profile
def f():
    data = list(range(20_000)); time.sleep(0.05)
    return json.dumps(data), [g() for _ in range(2)]
@profile
def g(): time.sleep(0.01); return 1
f()
""")
    assert run_ckernprof(["-l", "--native", "--tracer", "probe", "-o", "p", "prog.py"], tmp_path).code == 0
    page.open(make(tmp_path, tmp_path / "p")[0])
    titles = page.js("""return [...document.querySelectorAll("#source td[title^='Most of it']")].map(
        (cell) => [cell.closest("tr").cells[0].textContent, cell.title])""")
    assert ["4", "Most of it in time.sleep"] in titles and ["5", "Most of it in json.dumps"] in titles
    assert ["7", "Most of it in time.sleep"] in titles  # of another function of the same file
    assert page.rows("source")[0].keys() >= {"C time", "Library"}
