# SPDX-License-Identifier: MIT
"""Writes the tables of options into docs/options.md, as the built commands print them.

    options_page.py [FOLDER]      FOLDER holds ckernprof and clineprof; default: build/bin
"""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path("docs/options.md")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bin").resolve()
    text = PAGE.read_text("utf-8")
    for name in "ckernprof", "clineprof":
        table = subprocess.check_output([folder / name, "--help-page"], text=True)
        head, rest = re.split(rf"(?<=\n## {name}\n\n)", text, maxsplit=1)
        text = head + table + rest[rest.index("\n\n") + 1:]
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
