# SPDX-License-Identifier: MIT
"""The web page of a profile in headless Chromium: `from opened_page import page` gives the fixture."""

import contextlib
import json
import sys
import time

import pytest
from browser import browser  # noqa: F401  (a fixture)
from harness import run_viewer


def make(folder, *files, options=(), env=None):
    """The page of some profiles: its path, and what was said."""
    page = folder / "report.html"
    ended = run_viewer(["--format", "html", "-o", page, *options, *files], folder,
                       env={"VIRTUAL_ENV": sys.prefix, **(env or {})})
    assert (ended.out, ended.code) == ("", 0), ended.err
    return page, ended.err


class Page:
    """A page in the browser."""

    def __init__(self, driver):
        self.driver = driver
        self.js = driver.execute_script

    def open(self, path, runs=True):
        """runs: does the page's script? Then its rows are waited for."""
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        if runs:
            self.until("""return typeof everyFunction === "undefined" ||
                !everyFunction.length || document.querySelectorAll("#functions tbody tr").length > 2""")
        return self

    def titles(self, table="functions"):
        return self.js("""return [...document.querySelectorAll("#" + arguments[0] + " thead button")].map(
            (button) => button.textContent)""", table)

    def rows(self, table="functions"):
        """Of the rows that exist: {heading: text}"""
        return self.js("""
            const table = document.querySelector("#" + arguments[0] + " table");
            const titles = [...table.tHead.querySelectorAll("button")].map((b) => b.textContent);
            return [...table.tBodies[0].rows].filter((row) => row.cells.length > 1).map((row) =>
                Object.fromEntries(titles.map((title, i) => [title, row.cells[i].textContent])));
            """, table)

    def column(self, title, table="functions"):
        return [row[title] for row in self.rows(table)]

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0]).innerText", selector)

    def click(self, selector):
        self.driver.find_element("css selector", selector).click()

    def heading(self, title, table="functions"):
        [found] = [b for b in self.driver.find_elements("css selector", f"#{table} thead button")
                   if b.get_attribute("textContent") == title]
        return found

    def order(self, table="functions"):
        return self.js("""return [...document.querySelectorAll("#" + arguments[0] + " th")]
            .filter((cell) => cell.ariaSort !== "none").map((cell) => [cell.textContent, cell.ariaSort])
            """, table)

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def search(self, text):
        self.press("/")
        box = self.driver.switch_to.active_element
        assert box.get_attribute("id") == "search"
        box.clear()
        box.send_keys(text)
        # the page waits a moment for more before it searches
        self.until("return document.getElementById('search').value === arguments[0] && !typing", text)

    def until(self, script, *arguments):
        end = time.monotonic() + 300
        while not self.js(script, *arguments):
            assert time.monotonic() < end, script
            time.sleep(0.05)

    def emulate(self, media="", **features):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": name.replace("_", "-"), "value": value}
                                         for name, value in features.items()]})  # fmt: skip

    def phone(self):
        """Gives the page the screen of a phone in portrait."""
        return self.screen(390, 844, mobile=True)

    @contextlib.contextmanager
    def screen(self, width, height, mobile=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self):
        """Every address that was asked for since the page was opened, but for those inside the browser
        (its own start page may still be loading)."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked = message["params"]
                if not asked["documentURL"].startswith("chrome"):
                    found.append(asked["request"]["url"])
        return found


@pytest.fixture
def page(browser):  # noqa: F811
    """The browser; in the end it must have nothing to complain about, and must have asked for nothing
    but the page."""
    page = Page(browser)
    yield page
    page.emulate()
    assert page.complaints() == []
    addresses = {address.split("#")[0] for address in page.asked_for()}
    assert [a for a in addresses if not a.startswith("file:///")] == [] and len(addresses) <= 1
