# SPDX-License-Identifier: MIT
"""Profiles made by hand, so that what is to be seen of them is known to the digit."""

import pathlib

import msgpack

MS = 1_000_000
MIB = 1 << 20


def function(name, lines, text=None, file="/srv/prog.py", line=1, total=None):
    """lines: {line: (hits, ms)} or {line: (hits, ms, MiB grown)}."""
    rows = sorted(lines.items())
    columns = {
        "line": [number for number, _ in rows],
        "hits": [row[0] for _, row in rows],
        "time": [int(row[1] * MS) for _, row in rows],
        "self": [int(row[1] * MS) for _, row in rows],
        "max": [int(row[1] * MS) for _, row in rows],
        "rss": [10 * MIB for _ in rows],
        "grown": [int(row[2] * MIB) if len(row) > 2 else 0 for _, row in rows],
    }
    return {
        "file": file,
        "line": line,
        "name": name,
        "total": sum(columns["time"]) if total is None else int(total * MS),
        "lines": columns,
        "text": text,
    }


def write(path, *functions, **meta):
    """A profile of these functions; meta: what else is known of it, unit: of its times."""
    unit = meta.pop("unit", 1e-9)
    for one in functions:
        if not meta.get("has_memory", True):
            one["lines"] = {
                name: column
                for name, column in one["lines"].items()
                if name not in ("rss", "grown")
            }
    profile = {
        "format": "clineprof",
        "version": 1,
        "unit": unit,
        "functions": [
            {key: value for key, value in one.items() if key != "text"} for one in functions
        ],
        "source": [
            {key: one[key] for key in ("file", "line", "name", "text")}
            for one in functions
            if one["text"] is not None
        ],
        "meta": {"has_memory": True, **meta},
    }
    pathlib.Path(path).write_bytes(msgpack.packb(profile))
    return path
