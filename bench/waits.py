# SPDX-License-Identifier: MIT
"""Compares what clineprof and Scalene say of a line that calls C code, and of lines that wait, with the truth."""
import json
import os
import statistics
import subprocess
import sys

import variants as ways
from accuracy import marked_lines
from environment import HERE, output_of
from tables import Table

FOLDER = os.path.join(HERE, "waits")
# {name: (file, the measure of the line that must be large)}
CASES = {"matrix product": ("native.py", "native_time"), "lock": ("lock.py", "wait"), "data": ("data.py", "wait")}
QUIET = {"OPENBLAS_NUM_THREADS": "1"}  # the product stays in its thread

TRUTH = """
import sys, time
now, spent, path = time.perf_counter, 0, sys.argv[1]
def timed(line):
    words, indent = line.strip(), line[:len(line) - len(line.lstrip())]
    return indent + "_t = _now()\\n" + indent + words + "\\n" + indent + "_add(_now() - _t)\\n"
def add(seconds):
    global spent
    spent += seconds
def profile(main):
    def whole():
        start = now()
        main()
        print(spent / (now() - start))
    return whole
text = "".join(timed(line) if line.endswith("# measured\\n") else line for line in open(path))
exec(compile(text, path, "exec"), {"_now": now, "_add": add, "profile": profile, "__name__": "__main__"})
"""


def measure(options, say):
    """{case: {way: [share of the line, ..]}}; clineprof has (share, part of it that is the measure). All run in the
    bench's environment, which has numpy and Scalene if somebody has put them there."""
    found = {}
    for name, (file, measure) in CASES.items():
        say(f"waits: {name}")
        path = os.path.join(FOLDER, file)
        columns = found[name] = {"truth": [], "clineprof": [], "Scalene": []}
        for _ in range(options.slow_rounds):
            columns["truth"].append(truth_of(path))
            columns["clineprof"].append(ours(path, measure))
            columns["Scalene"].append(scalene(path))
    return found


def truth_of(path):
    done = subprocess.run([sys.executable, "-c", TRUTH, path], env={**ways.clean_environment(), **QUIET}, text=True,
                          capture_output=True)
    return None if done.returncode else float(done.stdout)


def profile_of(way, path, read):
    """What read(folder) returns, where the profile is; None if the run fails."""
    found = []
    run = ways.execute(way, path, read=False, variables=QUIET,
                       look=lambda folder: found.append(read(folder)))
    return None if run.failure else found[0]


def ours(path, measure):
    def read(folder):
        told = output_of(ways.CLINEPROF, "--format", "json", os.path.join(folder, "out.lprof"))
        [main] = [f for f in json.loads(told)["functions"] if f["name"] == "main"]
        [line] = [line for line in main["lines"] if line["line"] in marked_lines(path)]
        return line["self"] / sum(other["self"] for other in main["lines"]), line[measure] / line["self"]

    return profile_of(ways.clineprof(sys.executable, None, False, "waits", ["--cpu", "--native"]), path, read)


def scalene(path):
    """Its share of the line among the lines of the script; None where it is not installed."""
    def read(folder):
        with open(os.path.join(folder, "out.json")) as file:
            files = json.load(file)["files"]
        [lines] = [told["lines"] for name, told in files.items() if os.path.basename(name) == os.path.basename(path)]
        share = {line["lineno"]: line["n_cpu_percent_python"] + line["n_cpu_percent_c"] + line["n_sys_percent"]
                 for line in lines}
        return sum(share.get(number, 0) for number in marked_lines(path)) / sum(share.values())

    head = [sys.executable, "-m", "scalene", "run", "--cpu-only", "--outfile", "{out}"]  # with another ending
    return profile_of(ways.Variant("Scalene", head), path, read)


def tables(found):
    yield Table("What a line waits for", "Share of a line in its function's time, medians. Of clineprof in brackets: how "
                "much of the line is C time (--native), or waiting (--cpu). Of Scalene: its share of the script's lines.",
                ["line", "truth", "clineprof", "Scalene"],
                [[name, cell(columns["truth"]), cell(columns["clineprof"]), cell(columns["Scalene"])]
                 for name, columns in found.items()],
                ["numpy and Scalene are used where they are installed: pip install scalene, in the bench's environment"])


def cell(past):
    if not past or None in past:
        return "-"
    if isinstance(past[0], tuple):
        share, part = (statistics.median(each) for each in zip(*past))
        return f"{share:.1%} ({part:.0%})"
    return f"{statistics.median(past):.1%}"
