# SPDX-License-Identifier: MIT
"""Makes docs/terminal.svg, a picture of what a real run of `ckernprof -lv fixtures/demo.py` shows in a terminal.

    terminal_picture.py [FOLDER]      FOLDER holds ckernprof; default: build/bin

rich makes the picture. It must be installed in the interpreter that runs this, which also runs the program.
"""
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

PICTURE = pathlib.Path("docs/terminal.svg")
COLUMNS = 124


def run(launcher):
    env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor",
           "COLUMNS": str(COLUMNS)}
    with tempfile.TemporaryDirectory() as folder:
        command = [launcher, "--python", sys.executable, "-lv", "-o", f"{folder}/demo.py.lprof",
                   "fixtures/demo.py"]
        out = subprocess.run(command, env=env, text=True, capture_output=True, check=True).stdout
        return out.replace(f"{folder}/", "")


def picture(text):
    console = Console(file=io.StringIO(), record=True, force_terminal=True, width=COLUMNS,
                      color_system="truecolor")
    console.print(Text.from_ansi("$ ckernprof -lv fixtures/demo.py\n" + text.rstrip()))
    svg = console.export_svg(title="clineprof", unique_id="clineprof")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.S)  # so that a viewer downloads no fonts


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
    PICTURE.write_text(picture(run(folder / "ckernprof")), "utf-8")


if __name__ == "__main__":
    main()
