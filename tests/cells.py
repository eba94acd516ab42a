# SPDX-License-Identifier: MIT
"""Cells of notebooks: runs them in a kernel, and reads what they show."""
import html.parser
import json
import re

import pytest
from harness import BUILD, run_python

PACKAGE = {"PYTHONPATH": str(BUILD / "python"), "IPYTHONDIR": "ipython"}
BOOK = """
import json, nbclient, nbformat
from nbformat import v4
book = v4.new_notebook(cells=[v4.new_code_cell(text) for text in json.load(open("cells.json"))])
try:
    nbclient.NotebookClient(book, kernel_name="python3", allow_errors=%r, timeout=120).execute()
except nbclient.exceptions.CellExecutionError as error:
    print("stopped:", error.ename)
nbformat.write(book, "book.ipynb")
"""


def executed(folder, cells, allow_errors=True):
    """The path of a notebook with these cells, executed. With `allow_errors` False it stops as Run All does."""
    for name in "nbformat", "nbclient", "ipykernel":
        pytest.importorskip(name, reason=name + " is not installed")
    (folder / "cells.json").write_text(json.dumps(cells))
    ended = run_python(["-c", BOOK % allow_errors], folder,
                       env={**PACKAGE, "JUPYTER_PLATFORM_DIRS": "1", "HOME": str(folder)}, timeout=300)
    assert ended.code == 0, ended.err
    (folder / "stopped").write_text(ended.out)
    return folder / "book.ipynb"


def cells_of(book):
    return [cell_told(cell) for cell in json.loads(book.read_text("utf-8"))["cells"]]


def cell_told(cell):
    """As of the shell."""
    out, err, shown, error = "", "", [], None
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            text = "".join(output["text"])
            out, err = (out + text, err) if output["name"] == "stdout" else (out, err + text)
        elif output["output_type"] == "error":
            error = [output["ename"], output["evalue"]]
        else:
            shown.append({kind: "".join(text) for kind, text in output["data"].items()})
    return Told({"out": out, "err": err, "shown": shown, "error": error})


class Told:
    """What came of a cell: out and err, text and html of what it showed, its error."""

    def __init__(self, told):
        self.out, self.err = (re.sub(r"\x1b\[[\d;]*m", "", told[name]) for name in ("out", "err"))
        self.shown = told["shown"]
        self.error = told["error"] and ": ".join(told["error"])

    @property
    def text(self):
        """Of the table."""
        [text] = [data["text/plain"] for data in self.shown if "text/html" in data]
        return text

    @property
    def html(self):
        [text] = [data["text/html"] for data in self.shown if "text/html" in data]
        return text

    @property
    def hits(self):
        """{function: {line: hits}}; the text and the HTML say the same."""
        found = hits_of_text(self.text)
        assert found == hits_of_html(self.html)
        return found


def hits_of_text(text):
    found = {}
    for line in text.splitlines():
        if match := re.match(r"Function: (\S+) at line \d+$", line):
            rows = found.setdefault(match[1], {})
        elif row := hits_of_row(line):
            rows[row[0]] = row[1]
    return {name: rows for name, rows in found.items() if rows}


def hits_of_row(line):
    match = re.match(r" *(\d+) +(\d+) +[\d.]+(?: +[mnuµ]?s)? +[\d.e+-]+(?: +[mnuµ]?s)? +[\d.]+ ", line + " ")
    return match and (int(match[1]), int(match[2]))


class Shown(html.parser.HTMLParser):
    """What an HTML text shows where all styles are removed: `texts`, the texts of its elements of one kind."""

    def __init__(self, text, kind):
        super().__init__()
        self.kind, self.texts, self.inside, self.open = kind, [], False, []
        self.feed(text)
        assert not self.open, "elements do not nest"

    def handle_starttag(self, tag, attributes):
        if tag not in ("img", "br"):
            self.open.append(tag)
        if tag == self.kind:
            self.texts.append("")
            self.inside = True

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.inside &= tag != self.kind

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data


def hits_of_html(text):
    """Each function is an element <details>: its name and place, and its table."""
    found = {}
    for part in re.findall("<details.*?</details>", text, re.S):
        [summary], [table] = Shown(part, "summary").texts, Shown(part, "pre").texts
        rows = dict(filter(None, map(hits_of_row, table.splitlines())))
        if rows:
            found.setdefault(re.split("  +", summary.strip())[-2], {}).update(rows)
    return found
