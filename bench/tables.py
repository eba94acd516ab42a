# SPDX-License-Identifier: MIT
"""Tables as plain text or Markdown, and numbers as text."""
from dataclasses import dataclass, field


@dataclass
class Table:
    title: str
    explanation: str
    header: list
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def text(self):
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows)]
        lines = [aligned(row, widths) for row in (self.header, *self.rows)]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join([self.title, self.explanation, "", *lines,
                          *("  " + note for note in self.notes), ""])

    def markdown(self):
        rule = ["---"] + ["---:"] * (len(self.header) - 1)
        lines = ["| " + " | ".join(row) + " |" for row in (self.header, rule, *self.rows)]
        notes = [""] + ["- " + note for note in self.notes] if self.notes else []
        return "\n".join(["## " + self.title, "", self.explanation, "", *lines, *notes, ""])


def aligned(row, widths):
    first, *rest = (cell.rjust(width) if i else cell.ljust(width)
                    for i, (cell, width) in enumerate(zip(row, widths)))
    return "  ".join([first, *rest])


def ratio(value):
    return "-" if value is None else f"{value:.1f}x" if value >= 10 else f"{value:.2f}x"


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def seconds(value):
    return "-" if value is None else f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"
