# SPDX-License-Identifier: MIT
"""The report in colours (-r), by the package rich where it is installed."""
import io
import re
import sys

HEADER = re.compile(r"Line # .*Line Contents$")


def render(text, path=None):
    """The text with terminal colours; as it is when standard output is no terminal; None without
    rich. path: where modules are looked for, when not in the program's own folders."""
    if path is not None:
        sys.path[:] = path
    try:
        from rich.console import Console
        from rich.syntax import Syntax
    except ImportError:
        return None
    if not sys.__stdout__ or not sys.__stdout__.isatty():
        return text
    out = io.StringIO()
    width = max(map(len, text.splitlines()), default=80)
    console = Console(file=out, force_terminal=True, width=width + 1, soft_wrap=True)
    highlight = Syntax("", "python", background_color="default").highlight
    column = None
    for line in text.splitlines():
        if HEADER.match(line):
            column = line.index("Line Contents")
        elif not line.strip() or line.startswith(("Total", "Timer")):
            column = None
        if column is None or HEADER.match(line) or set(line) == {"="}:
            console.print(line, markup=False, highlight=True)
            continue
        console.print(line[:column], markup=False, highlight=True, end="")
        console.print(highlight(line[column:]), end="")
    return out.getvalue()
