# SPDX-License-Identifier: MIT
"""Headless Chromium for tests, driven by selenium: `from browser import browser` gives the fixture,
one browser for the tests of a module. Without Chromium, its driver or selenium such tests are
skipped, and say what is missing. The browser reaches nothing but this machine."""

import contextlib
import os
import shutil

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1",
    "--window-size=1280,900",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A selenium driver. get_log("browser") has the console, get_log("performance") the network."""
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


@contextlib.contextmanager
def chromium(folder, *more_flags):
    """The same with further flags; its profile and what it downloads are in this folder."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = selenium.ChromeOptions()
    options.binary_location = found("chromium", "google-chrome")
    for flag in (*FLAGS, *more_flags, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # no sanitizer there
    driver = selenium.Chrome(options, selenium.ChromeService(found("chromedriver"), env=environment))
    try:
        yield driver
    finally:
        driver.quit()


def found(*names):
    """The path of the first of these programs that is here; skips the test when none is."""
    paths = [path for path in map(shutil.which, names) if path]
    if not paths:
        pytest.skip(f"{names[0]} is not installed")
    return paths[0]
