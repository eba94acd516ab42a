# SPDX-License-Identifier: MIT
"""A profile with known calls, recursion among them, written with msgpack. Nothing here imports clineprof.

   main                    10,000 ns, of which its own lines took 500
    |- line 3: fib          8,000 ns, with its own recursion; own 7,400
    |   |- line 8: leaf       600 ns
    |   `- line 9: fib      5,000 ns, and 1,500 more within other such calls
    `- line 4: other        1,500 ns, of which its own line took 500
        `- line 12: leaf    1,000 ns, reached through code that is not selected
"""

import known_profiles as profiles

SOURCE = """\
def main():
    for n in (3, 4):
        fib(n)
    other()

def fib(n):
    if n < 2:
        return leaf()
    return fib(n - 1) + fib(n - 2)

def other():
    run(leaf)

def leaf():
    return 1
"""


def function(line, name, total, rows, **more):
    rows = [{"line": at, "hits": hits, "self": own, "time": time, **more.get("memory", {}).get(at, {})}
            for at, hits, own, time in rows]  # fmt: skip
    return {**profiles.function("app/walk.py", line, name, rows), "total": total, "raw_total": total}


MAIN = function(1, "main", 10000, [(2, 3, 300, 300), (3, 2, 150, 8150), (4, 1, 50, 1550)],
                memory={3: {"grown": 7168, "self_increment": 3072}})  # fmt: skip
FIB = function(6, "fib", 8000, [(7, 14, 2400, 2400), (8, 8, 1000, 1600), (9, 6, 4000, 7000)],
               memory={9: {"grown": 4096, "self_increment": 4096}})  # fmt: skip
OTHER = function(11, "other", 1500, [(12, 1, 500, 1500)])
LEAF = function(14, "leaf", 1600, [(15, 9, 1600, 1600)])
FUNCTIONS = [MAIN, FIB, OTHER, LEAF]
CALLS = {
    "parent": [0, 1, 2, 2, 1, 5],
    "line": [0, 3, 8, 9, 4, 12],
    "function": [0, 1, 3, 1, 2, 3],
    "through": [0, 0, 0, 0, 0, 1],
    "calls": [1, 2, 8, 12, 1, 1],
    "time": [10000, 8000, 600, 5000, 1500, 1000],
    "again": [0, 0, 0, 1500, 0, 0],
    "increment": [7168, 4096, 0, 4096, 0, 0],
}
SELVES = [500, 7400, 600, 0, 500, 1000]
META = {"command": "walk.py", "python": "3.13.0", "tracer": "probe", "pid": 7, "start": 1700000000.0, "wall": 20000}


def write(path, functions=FUNCTIONS, calls=CALLS, **meta):
    """Own times: 500, 7400, 500 and 1600 ns."""
    lines = SOURCE.splitlines(True)
    texts = {"main": lines[:4], "fib": lines[5:9], "other": lines[10:12], "leaf": lines[13:]}
    source = [profiles.text(f, "".join(texts[f["name"]])) for f in functions]
    return profiles.write(path, functions, source, {**META, **meta}, **({"calls": calls} if calls else {}))
