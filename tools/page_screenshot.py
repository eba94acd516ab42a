#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes docs/page.png, a picture of the web page of a real run in Chromium.

    make && build/venv/.../bin/python tools/page_screenshot.py [OUT.png]

Needs Chromium with its driver. The interpreter that runs this needs the packages in TEST_WISHES of the Makefile, and
pillow, which makes the picture small.
"""
import io
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZE = {"width": 1430, "height": 760, "deviceScaleFactor": 1, "mobile": False}
COLOURS = 256


def make_page(folder):
    """Profiles the fixture in its own folder, so that its path is short in the page."""
    bin, fixtures = ROOT / "build" / "bin", ROOT / "fixtures"
    profile, page = folder / "run.lprof", folder / "page.html"
    subprocess.run([bin / "ckernprof", "--python", sys.executable, "-l", "-q", "-o", profile,
                    "csv_statistics.py"], cwd=fixtures, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "-m", "clineprof", "--format", "html", "-o", page, profile],
                   cwd=fixtures, check=True, env={"PYTHONPATH": str(ROOT / "build" / "python")})
    return page


def photograph(page, folder):
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import chromium

    with chromium(folder) as driver:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "light"}]})
        driver.get(page.as_uri())
        return driver.get_screenshot_as_png()


def main():
    from PIL import Image

    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "page.png")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        picture = Image.open(io.BytesIO(photograph(make_page(folder), folder)))
    picture.convert("RGB").quantize(COLOURS, kmeans=2).save(out, optimize=True)
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
