# SPDX-License-Identifier: MIT
"""Prints the table of docs/proof.md that compares the memory lines keep, by tracemalloc and by clineprof. `make truth`
runs this; it needs msgpack.

    truth.py        exits 1 if a line that uses no free lists differs by more than 0.1 %
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import heap_truth  # noqa: E402

MOST = 0.001


def share(row):
    return (row.ours - row.theirs) / row.theirs if row.theirs else float(row.ours != 0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        rows = heap_truth.rows(folder)
    print("| line | tracemalloc | clineprof | difference |\n|---|---:|---:|---:|")
    for row in rows:
        print(f"| {row.what} | {row.theirs:,} | {row.ours:,} | {share(row):.2%} |")
    return any(abs(share(row)) > MOST for row in rows if not row.reused)


if __name__ == "__main__":
    sys.exit(main())
