# SPDX-License-Identifier: MIT
"""Puts the table of measures (src/profile/measures.h) into the docs, the JSON schema and the type stub.

    measures_page.py [--check] PYTHONPATH      where the clineprof package is: build/python

With --check nothing is written; the exit status is 1 when a file would change, and its name is printed."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEEDS = {"times": "", "light": "`--light`", "cpu": "`--cpu`", "queue": "`--cpu`", "called": "`--native`",
         "io": "`--io`", "faults": "`--counters faults`", "switches": "`--counters switches`", **dict.fromkeys(["counter%d" % n for n in (1, 2, 3, 4)], "`clineprof.counter`"),
         **dict.fromkeys(["device%d" % n for n in (1, 2, 3, 4)], "`--tensors`"), "device_time": "`--cuda`",
         "memory": "", "allocated": "", "heap": "`--heap` or `--leaks`",
         "native": "`--heap=native`"}
OF_MEMORY = "memory", "allocated", "heap", "native"
RANGE = {False: "0 to 2⁶⁴-1", True: "-2⁶³ to 2⁶³-1"}
UNIT = {"ns": "ticks", "bytes": "bytes", "count": ""}


def main():
    words = sys.argv[1:]
    check = words[:1] == ["--check"]
    sys.path.insert(0, words[-1])
    from clineprof._boot.measures import MEASURES

    changed = [path for path, make in PAGES.items() if replace(ROOT / path, make, MEASURES, check)]
    if check and changed:
        raise SystemExit("not as src/profile/measures.h has it: %s; run tools/measures_page.py" % ", ".join(changed))


def replace(path, make, measures, check):
    """Puts the part that `make` makes in the place of the part that its pattern finds."""
    pattern, lines = make(measures)
    text = path.read_text("utf-8")
    found = re.search(pattern, text, re.DOTALL)
    made = text[: found.start(1)] + "\n".join(lines) + "\n" + text[found.end(1) :]
    if made != text and not check:
        path.write_text(made, "utf-8")
    return made != text


# ---- each page: a pattern whose group is the part, and the lines of that part


def row(*cells):
    return "|%s|" % "|".join(" %s " % cell if cell else " " for cell in cells)


def format_page(measures):
    rows = [row("`%s`" % m.column, "int, " + RANGE[m.is_signed], UNIT[m.unit], m.about, m.merge)
            for m in measures if m.kept]
    return r"\| `line` \| int[^\n]*\n((?:\|[^\n]*\n)+)", rows


def columns_table(measures, wanted):
    rows = ["| `--columns` | title | in the file | what it is | needs |", "|---|---|---|---|---|"]
    for m in filter(wanted, measures):
        column = "`%s`" % m.column if m.kept else "`grown` - `released`"
        rows.append(row("`%s`" % m.name, m.title, column, m.about, NEEDS[m.needs]))
    return r"(\| `--columns` \| title[^\n]*\n(?:\|[^\n]*\n)+)", rows


def viewing_page(measures):
    return columns_table(measures, lambda m: m.needs == "times")


def memory_page(measures):
    return columns_table(measures, lambda m: m.needs in OF_MEMORY)


def counters_page(measures):
    return columns_table(measures, lambda m: m.needs != "times" and m.needs not in OF_MEMORY)


def schema(measures):
    def names(needs):
        return ", ".join('"%s"' % m.column for m in measures if m.kept and m.needs in needs)

    memory, heap = names(["memory", "allocated"]).split(", ", 1), names(["heap", "native"]).split(", ", 1)
    lines = [
        '      "required": ["line", %s, "text"],' % names(["times"]),
        '      "dependentRequired": {',
        "        %s: [%s]," % tuple(memory),
        "        %s: [%s]" % tuple(heap),
        "      },",
        '      "additionalProperties": false,',
        '      "properties": {',
        '        "line": {"$ref": "#/$defs/number"},',
    ]
    for m in measures:
        if m.kept:
            kind = "change" if m.is_signed else "count"
            lines.append('        "%s": {"$ref": "#/$defs/%s"},' % (m.column, kind))
    pattern = r'those in bytes when memory was read\.",\n      "type": "object",\n(.*?)(?=        "below_resolution")'
    return pattern, lines


def stub(measures):
    lines = []
    for m in measures:
        lines += ["    @property", "    def %s(self) -> int: ..." % sys.modules[type(m).__module__].attribute(m)]
    pattern = r"def text\(self\) -> str \| None: \.\.\.\n(.*?)(?=    @property\n    def below_resolution)"
    return pattern, lines


PAGES = {
    "docs/format.md": format_page,
    "docs/viewing.md": viewing_page,
    "docs/memory.md": memory_page,
    "docs/counters.md": counters_page,
    "docs/profile.schema.json": schema,
    "src/clineprof/__init__.pyi": stub,
}

if __name__ == "__main__":
    main()
