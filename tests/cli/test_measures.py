# SPDX-License-Identifier: MIT
"""The table of measures (src/profile/measures.h) is the only place that knows them."""
import json
import os
import re
import shutil
import sys

import msgpack
import pytest
from harness import BUILD, CKERNPROF, ROOT, run

pytestmark = pytest.mark.once

# Twice the hits: a number that one can check by hand in every place.
ROW = '''    X(beats, uint64_t, SUM, COUNT, TIMES, 1, 9, "beats", "Beats", "two for each hit")'''
COUNTED = "    measures.beats = 2 * cell->hits;\n"


def right(command, folder, **options):
    ended = run(command, folder, **options)
    assert ended.code == 0, ended.err
    return ended


def test_docs_schema_and_stub_are_of_the_table(tmp_path):
    right([sys.executable, ROOT / "tools/measures_page.py", "--check", BUILD / "python"], tmp_path)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A build of the tree with one measure more: a row of the table, and the code that counts it."""
    folder = tmp_path_factory.mktemp("measure") / "house"
    folder.mkdir()
    for name in "src", "kernprof", "docs", "tools":
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    shutil.copy(ROOT / "Makefile", folder)
    table = folder / "src/profile/measures.h"
    text = table.read_text()
    last = re.search(r'X\(native_blocks,.*?"\)\n', text, re.DOTALL)
    row = text[last.start() : last.end() - 1] + " \\\n" + ROW + "\n"
    table.write_text(text[: last.start()] + row + text[last.end() :])
    counting = folder / "src/profile/snapshot.c"
    text = counting.read_text()
    place = "    measures.max = within_time("
    assert place in text
    counting.write_text(text.replace(place, COUNTED + place))
    right(["make", "-s", "CFLAGS=-O0", "SETUP=no", "SANITIZER=", "PYTHON=" + sys.executable, "all"], folder, timeout=600)
    return folder


@pytest.fixture(scope="module")
def profile(house, tmp_path_factory):
    """A run of the program below: line 4 has 11 hits, line 5 has 10."""
    folder = tmp_path_factory.mktemp("beats")
    (folder / "prog.py").write_text(
        "@profile\n"
        "def work():\n"
        "    total = 0\n"
        "    for i in range(10):\n"
        "        total += i\n"
        "    return total\n"
        "work()\n")
    right([house / "build/bin/ckernprof", "-l", "-q", "-o", "prog.lprof", "prog.py"], folder)
    return folder / "prog.lprof"


def view(house, profile, *words):
    return right([house / "build/bin/clineprof", *words, profile], profile.parent)


@pytest.mark.slow
def test_it_is_a_column_and_a_key(house, profile):
    shown = view(house, profile, "--columns", "hits,beats", "--sort-by", "beats").out
    assert re.search(r"^Line # +Hits +Beats +Line Contents$", shown, re.MULTILINE)
    assert re.search(r"^ +4 +11 +22      for i in", shown, re.MULTILINE)
    assert re.search(r"^ +5 +10 +20 ", shown, re.MULTILINE)


@pytest.mark.slow
def test_it_is_a_limit(house, profile):
    broken = run([house / "build/bin/clineprof", "diff", profile, profile, "--measure", "beats", "--fail-on", "beats>20"],
                 profile.parent)
    assert broken.code == 3
    assert "prog.py:4: work: beats 22 -> 22" in broken.out and ":5:" not in broken.out


@pytest.mark.slow
def test_it_is_in_exports_and_in_python(house, profile):
    lines = json.loads(view(house, profile, "--format", "json").out)["functions"][0]["lines"]
    assert [line["beats"] for line in lines] == [2, 22, 20, 2]
    head, *rows = view(house, profile, "--format", "csv").out.splitlines()
    assert rows[1].split(",")[head.split(",").index("beats")] == "22"
    code = ("import sys; sys.path.insert(0, %r); import clineprof\n"
            "profile = clineprof.load(%r)\n"
            "print([line.beats for line in profile.functions[0].lines], profile.hottest(1, by='beats')[0].line)"
            % (str(house / "build/python"), str(profile)))
    assert right([sys.executable, "-c", code], profile.parent).out == "[2, 22, 20, 2] 4\n"


@pytest.mark.slow
def test_it_is_on_the_page(house, profile):
    pytest.importorskip("jinja2")
    page = view(house, profile, "--format", "html").out
    data = json.loads(re.search(r'<script[^>]* id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    [beats] = [measure for measure in data["measures"] if measure[0] == "beats"]
    assert beats[1:3] == ["Beats", "count"]
    assert '"beats":[2,22,20,2]' in page


@pytest.mark.slow
def test_it_is_in_the_docs_and_the_stub(house):
    tool = [sys.executable, "tools/measures_page.py"]
    before = run([*tool, "--check", "build/python"], house)
    assert before.code == 1
    assert "docs/format.md, docs/viewing.md, docs/profile.schema.json, src/clineprof/__init__.pyi" in before.err
    right([*tool, "build/python"], house)
    assert "| `beats` | int, 0 to 2⁶⁴-1 | | two for each hit | sum |" in (house / "docs/format.md").read_text()
    assert "| `beats` | Beats | `beats` | two for each hit | |" in (house / "docs/viewing.md").read_text()
    properties = json.loads((house / "docs/profile.schema.json").read_text())["$defs"]["line"]["properties"]
    assert properties["beats"] == {"$ref": "#/$defs/count"}
    assert "def beats(self) -> int: ..." in (house / "src/clineprof/__init__.pyi").read_text()


@pytest.mark.slow
def test_it_survives_a_merge_and_an_older_reader(house, profile):
    """A sum has the sum; a reader that does not know the column skips it."""
    other = msgpack.unpackb(profile.read_bytes())
    other["meta"]["pid"] += 1  # of another process
    (profile.parent / "other.lprof").write_bytes(msgpack.packb(other))
    right([house / "build/bin/clineprof", "merge", "-o", "two.lprof", profile, "other.lprof"], profile.parent)
    shown = view(house, profile.parent / "two.lprof", "--columns", "beats").out
    assert re.search(r"^ +4 +44      for i in", shown, re.MULTILINE)
    older = right([os.path.join(os.path.dirname(CKERNPROF), "clineprof"), profile], profile.parent)
    assert re.search(r"^ +4 +11 ", older.out, re.MULTILINE)
