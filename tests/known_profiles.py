# SPDX-License-Identifier: MIT
"""Profiles with known numbers, written with msgpack. Nothing here imports clineprof."""

import msgpack

MIB = 1 << 20


def write(path, functions=(), source=(), meta=None, **more):
    profile = {
        "format": "clineprof", "version": 1, "unit": 1e-9, "functions": list(functions),
        "source": list(source), "meta": {"has_memory": True, **(meta or {})}, **more,
    }  # fmt: skip
    path.write_bytes(msgpack.packb(profile, unicode_errors="surrogateescape"))
    return path


def function(file, line, name, rows, **more):
    """rows: a dict of measures for each line. Raw times are 10 ns more than what is given."""
    keys = {key for row in rows for key in row}
    columns = {key: [row.get(key, 0) for row in rows] for key in keys}
    for key in {"time", "self"} & set(columns):
        columns["raw_" + key] = [value + 10 for value in columns[key]]
    total = sum(row.get("time", 0) for row in rows)
    return {
        "file": file, "line": line, "name": name, "total": total, "raw_total": total + 10,
        "lines": columns, **more,
    }  # fmt: skip


def text(of, text):
    return {**{key: of[key] for key in ("file", "line", "name")}, "text": text}


WORK = """\
def build(n):
    table = list(range(n))
    return sum(table)

def main():
    for i in range(3):
        build(1000)

key = lambda x: x | 1
"""
BUILD = function("app/work.py", 1, "build", [
    {"line": 2, "hits": 3, "time": 2000000, "self": 2000000, "max": 900000, "rss": 50 * MIB,
     "grown": 42 * MIB, "released": 2 * MIB, "self_increment": 40 * MIB, "largest": 40 * MIB},
    {"line": 3, "hits": 3, "time": 1000000, "self": 1000000, "max": 400000, "rss": 50 * MIB},
])  # fmt: skip
MAIN = function("app/work.py", 5, "main", [
    {"line": 6, "hits": 4, "time": 300000, "self": 300000, "max": 90000, "rss": 10 * MIB},
    {"line": 7, "hits": 3, "time": 3200000, "self": 200000, "max": 1000000, "rss": 10 * MIB,
     "grown": 40 * MIB, "released": 41 * MIB, "self_increment": -1 * MIB, "largest": -41 * MIB},
])  # fmt: skip
KEY = function("app/work.py", 9, "<lambda>", [
    {"line": 9, "hits": 5, "time": 500000, "self": 500000, "max": 100000, "rss": 10 * MIB,
     "grown": 4096, "self_increment": 4096, "largest": 4096},
])  # fmt: skip
WORK_META = {"command": "work.py 1000", "python": "3.13.0", "tracer": "probe", "pid": 7,
             "start": 1700000000.0, "wall": 5000000}  # fmt: skip


def write_known(path, functions=(BUILD, MAIN, KEY), **more):
    """Own times 3, 0.5 and 0.5 ms; totals 3, 3.5 and 0.5 ms."""
    lines = WORK.splitlines(True)
    texts = {"build": lines[:3], "main": lines[4:7], "<lambda>": lines[8:]}
    source = [text(f, "".join(texts[f["name"]])) for f in functions]
    return write(path, functions, source, WORK_META, **more)


MARKUP = "</script><script>planted=1</script><img src=x onerror=planted=1>"


def write_hostile(path):
    """Names and lines that want to be something else, and the largest numbers there are."""
    most, far = 2**64 - 1, 2**63 - 1
    huge = {"line": 2, "hits": 2**63, "time": most - 10, "self": most - 10, "max": most,
            "rss": most, "grown": most, "released": most, "self_increment": far,
            "largest": -far - 1}  # fmt: skip
    names = [
        MARKUP, "=cmd|' /C calc'!A0", "a;b\nc 7", "two\r\n::error::x",
        "| `x` | **b** _c_ @d #1 {{ x }}",
        "\u202egnp.exe", "\u2028", "", "\udcff\udcfe", "<lambda>", "%0A", "'quoted", "x" * 100000,
    ]  # fmt: skip
    functions = [function(name + ".py", 1, name, [huge]) for name in names]
    source = [text(f, f["name"] + "\n" + f["name"] + "\0\n") for f in functions]
    meta = {"command": MARKUP, "python": MARKUP, "pid": most, "start": 1e300, "wall": most}
    timeline = [{"pid": most, "start": -1e300, "time": [0, most], "rss": [0, most]}]
    return write(path, functions, source, meta, timeline=timeline)
