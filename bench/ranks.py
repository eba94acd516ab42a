# SPDX-License-Identifier: MIT
"""Measures how long it takes to add up the profiles of many ranks, and how much memory. The profiles are one real
profile, in which the process, the host, the rank and the numbers of one line differ. Checks every sum.

This file is also the program that makes the sums in Python: ranks.py WAY FOLDER RANKS."""
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

import msgpack

from environment import ROOT, last_line
from tables import Table
from variants import CKERNPROF, CLINEPROF

FOLDER = os.path.join(ROOT, "build", "bench", "ranks")
FUNCTIONS = 100
LINES = 20      # of a body
ON_A_HOST = 8   # ranks
FAN_IN = 16     # profiles that a call adds up in the tree
SIZES = 1_000, 10_000
FILES = "files"
WAYS = {FILES: "clineprof merge *.lprof", "flat": "clineprof.merge(*contents)", "tree": f"a tree of {FAN_IN}"}


@dataclass
class Sum:
    """What adding up took. Seconds; bytes."""
    seconds: float
    peak: int        # the most resident memory of the process
    size: int        # of the sum
    longest: float   # the slowest call of each level of the tree, added up: what remains with a processor for each call
    failure: str = None


# ---- the profiles ----


def program():
    bodies = []
    for place in range(FUNCTIONS):
        lines = [f"    value{n} = n + {n}" for n in range(LINES - 1)]
        bodies.append("\n".join(["@profile", f"def function_{place}(n):", *lines, "    return value0", ""]))
    calls = "\n".join(f"function_{place}(1)" for place in range(FUNCTIONS))
    return "\n".join([*bodies, calls, ""])


def recorded(folder):
    path = os.path.join(folder, "program.py")
    with open(path, "w") as file:
        file.write(program())
    subprocess.run([CKERNPROF, "-l", "-o", path + ".lprof", path], check=True, capture_output=True)
    with open(path + ".lprof", "rb") as file:
        return msgpack.load(file)


def write_ranks(folder, count):
    """Writes 0.lprof and so on. In rank n the first line has n + 1 hits, and a self time of n + 1 ms."""
    os.makedirs(folder)
    profile = recorded(folder)
    first, *others = profile["functions"]
    rest = b"".join(map(msgpack.packb, others))
    keys = [key for key in profile if key not in ("functions", "meta")]
    begin = bytes([0x80 | len(profile)])
    begin += b"".join(msgpack.packb(key) + msgpack.packb(profile[key]) for key in keys) + msgpack.packb("functions")
    begin += msgpack.packb([None] * FUNCTIONS)[:-FUNCTIONS]  # the head of a list of so many
    for rank in range(count):
        host = rank // ON_A_HOST
        first["lines"]["hits"][0], first["lines"]["self"][0] = rank + 1, (rank + 1) * 1_000_000
        meta = {**profile["meta"], "host": f"node{host:04}", "boot": f"00000000-0000-4000-8000-{host:012}",
                "pid": 4000 + rank % ON_A_HOST, "start": profile["meta"]["start"] + rank / 1024, "rank": str(rank)}
        with open(os.path.join(folder, f"{rank}.lprof"), "wb") as file:
            file.write(begin + msgpack.packb(first) + rest + msgpack.packb("meta") + msgpack.packb(meta))


def content(folder, rank):
    with open(os.path.join(folder, f"{rank}.lprof"), "rb") as file:
        return file.read()


def wrong(path, count):
    """What is wrong with the sum, or None."""
    with open(path, "rb") as file:
        profile = msgpack.load(file)
    first, other = profile["functions"][:2]
    told = (len(profile["processes"]), sum("numbers" in row for row in profile["processes"]),
            first["lines"]["hits"][0], other["lines"]["hits"][0], first["spread"][:2], first["spread"][4],
            *(profile["processes"][place]["rank"] for place in first["spread"][2:4]))
    right = (count, min(count, 256), count * (count + 1) // 2, count, [1_000_000, count * 1_000_000], count,
             "0", str(count - 1))
    return None if told == right else f"wrong sum: {told} for {right}"


# ---- the program that makes sums ----


def tree(folder, ranks, slowest):
    """The content of the sum of these ranks, of which each call adds up FAN_IN contents at most. slowest: {number of
    ranks below a call: the seconds of the slowest such call}"""
    import clineprof
    if len(ranks) == 1:
        return content(folder, ranks[0])
    part = 1
    while part * FAN_IN < len(ranks):
        part *= FAN_IN
    contents = [tree(folder, ranks[start:start + part], slowest) for start in range(0, len(ranks), part)]
    started = time.perf_counter()
    made = clineprof.merge(*contents)
    slowest[part] = max(slowest.get(part, 0), time.perf_counter() - started)
    return made


def make_sum(way, folder, count):
    import clineprof
    slowest = {}
    contents = [content(folder, rank) for rank in range(count)] if way == "flat" else []
    started = time.perf_counter()
    made = tree(folder, range(count), slowest) if way == "tree" else clineprof.merge(*contents)
    seconds = time.perf_counter() - started
    with open("all.lprof", "wb") as file:
        file.write(made)
    print(json.dumps([seconds, sum(slowest.values()) or seconds]))


# ---- measuring ----


def run_measured(command, folder):
    """(seconds, peak memory in bytes, what it printed) of a process. Raises RuntimeError."""
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "build", "python")}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit {process.returncode}: {last_line(text)}")
    return time.perf_counter() - started, usage.ru_maxrss * 1024, text


def one_sum(way, folder, count):
    path = os.path.join(folder, "all.lprof")
    try:
        if way == FILES:
            names = [f"{rank}.lprof" for rank in range(count)]
            seconds, peak, _ = run_measured([CLINEPROF, "merge", "-o", path, *names], folder)
            longest = seconds
        else:
            _, peak, text = run_measured([sys.executable, __file__, way, folder, str(count)], folder)
            seconds, longest = json.loads(text)
    except RuntimeError as error:
        return Sum(None, None, None, None, str(error))
    made = Sum(seconds, peak, os.path.getsize(path), longest, wrong(path, count))
    os.remove(path)
    return made


def measure(options, say):
    """{number of ranks: ({way: Sum}, size of a rank's profile)}"""
    sums = {}
    for count in (int(size * options.scale) for size in SIZES):
        say(f"{count} ranks")
        shutil.rmtree(FOLDER, ignore_errors=True)
        write_ranks(FOLDER, count)
        one = os.path.getsize(os.path.join(FOLDER, "0.lprof"))
        sums[count] = {way: one_sum(way, FOLDER, count) for way in WAYS}, one
        shutil.rmtree(FOLDER)
    return sums


def as_data(sums):
    return {count: {way: vars(result) for way, result in made.items()} for count, (made, _) in sums.items()}


def tables(sums):
    rows, notes = [], []
    for count, (made, one) in sums.items():
        for way, result in made.items():
            name = f"{count:,} ranks, {WAYS[way]}"
            if result.seconds is None:
                rows.append([name, "-", "-", "-", "-"])
            else:
                rows.append([name, f"{result.seconds:.2f}", f"{result.longest:.2f}", f"{result.peak / 1e6:,.0f}",
                             f"{result.size / 1e6:.1f}"])
            if result.failure:
                notes.append(f"{name}: {result.failure}")
        notes.append(f"{count:,} ranks: a profile has {one:,} bytes")
    yield Table("Ranks", f"Adding up profiles of {FUNCTIONS} functions, {FUNCTIONS * (LINES + 1):,} lines. Seconds for "
                "all calls in one process, seconds with a processor for each call of a level of the tree, the most "
                "resident memory and the size of the sum in MB.",
                ["sum", "one process", "in parallel", "memory", "size"], rows, notes)


if __name__ == "__main__":
    make_sum(sys.argv[1], sys.argv[2], int(sys.argv[3]))
