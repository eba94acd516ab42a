# SPDX-License-Identifier: MIT
"""Makes large profiles, to measure how long reading, comparing and merging take. Needs msgpack.

    make_profiles.py FOLDER [--files 2] [--functions 10000] [--lines 20] [--edited 10]

Writes FOLDER/0.lprof, 1.lprof and so on, profiles of the same program with different numbers. In every file but
the first, each EDITED-th function has one more line and one changed line.
"""
import argparse
import pathlib
import random

import msgpack

FILE_FUNCTIONS = 50  # functions in a file of the program


def text_of(place, lines, edited):
    body = [f"    value_{n} = compute({place}, {n}) + offset[{n}]" for n in range(lines - 2)]
    if edited:
        body[lines // 3] += " * 2"
        body.insert(lines // 2, f"    added({place})")
    return "\n".join([f"def function_{place}(offset):", *body, "    return value_0", ""])


def function_of(chance, place, lines, edited):
    first = 1 + place % FILE_FUNCTIONS * (lines + 2)
    count = lines + (1 if edited else 0)
    numbers = [first + n for n in range(1, count)]
    time = [chance.randrange(1_000, 50_000_000) for _ in numbers]
    return {
        "file": f"/srv/program/package_{place // FILE_FUNCTIONS // 40}/"
                f"module_{place // FILE_FUNCTIONS}.py",
        "line": first,
        "name": f"function_{place}",
        "total": sum(time),
        "raw_total": sum(time),
        "lines": {
            "line": numbers,
            "hits": [chance.randrange(1, 1000) for _ in numbers],
            "time": time,
            "raw_time": time,
            "self": time,
            "raw_self": time,
            "max": [value // 2 for value in time],
            "rss": [chance.randrange(1 << 24, 1 << 26) for _ in numbers],
            "grown": [chance.randrange(1 << 20) for _ in numbers],
        },
    }


def profile_of(number, functions, lines, edited):
    chance = random.Random(number)
    made, sources = [], []
    for place in range(functions):
        change = number > 0 and edited > 0 and place % edited == 0
        function = function_of(chance, place, lines, change)
        made.append(function)
        sources.append({key: function[key] for key in ("file", "line", "name")}
                       | {"text": text_of(place, lines, change)})
    meta = {"python": "3.13.0", "tracer": "probe", "pid": 1, "start": 1e9 + number, "wall": 10**9,
            "has_memory": True}
    return {"format": "clineprof", "version": 1, "unit": 1e-09, "functions": made,
            "source": sources, "meta": meta}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    for name, usual in ("files", 2), ("functions", 10_000), ("lines", 20), ("edited", 10):
        parser.add_argument(f"--{name}", type=int, default=usual)
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    for number in range(wanted.files):
        profile = profile_of(number, wanted.functions, wanted.lines, wanted.edited)
        (wanted.folder / f"{number}.lprof").write_bytes(msgpack.packb(profile))


if __name__ == "__main__":
    main()
