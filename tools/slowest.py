# SPDX-License-Identifier: MIT
"""Lists the slowest Python tests of the last `make slowest`, and where their time went.

    tools/slowest.py RESULTS [NUMBER]    RESULTS: the folder with the JUnit files; NUMBER of tests, 100 by default

A test's time is the sum over the tracers that it ran with. Of this time it waited for programs (other than those of
the next columns), built something, installed packages, drove a browser, or slept; what is left it computed itself.
"CPU" is the processor time of the test and of the programs that it waited for. "Started" is the number of programs.
"""
import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

CAUSES = "programs", "building", "packages", "browsers", "sleeping"
TITLES = "seconds", "tracers", *CAUSES, "CPU", "started"


def figures_of(case):
    """The figures of one run of a test, which tests/costs.py has put into the JUnit file."""
    told = {each.get("name"): float(each.get("value")) for each in case.iter("property")}
    found = collections.Counter({cause: told.get(f"seconds of {cause}", 0) for cause in CAUSES})
    found["seconds"] = told.get("seconds of all", 0)
    found["CPU"] = told.get("seconds of own CPU", 0) + told.get("seconds of CPU of programs", 0)
    found["started"] = sum(value for name, value in told.items() if name.startswith("number of "))
    found["tracers"] = 1
    return found


def read(folder):
    """{test: its figures, summed over all rounds}"""
    tests = collections.defaultdict(collections.Counter)
    for path in sorted(folder.glob("python-*.xml")):
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            tests[f"{case.get('file')}::{case.get('name')}"] += figures_of(case)
    return tests


def row(figures, name):
    return "".join(f"{figures[title]:10.0f}" if title in ("tracers", "started") else f"{figures[title]:10.1f}"
                   for title in TITLES) + f"  {name}"


def table(folder, number):
    """The lines of the list: the slowest tests, the sums of the slowest files, and the sum of all."""
    tests = read(folder)
    files = collections.defaultdict(collections.Counter)
    for name, figures in tests.items():
        files[name.partition("::")[0]] += figures
    heading = "".join(f"{title:>10}" for title in TITLES)
    for rows in tests, files:
        yield heading
        for name in sorted(rows, key=lambda name: -rows[name]["seconds"])[:number]:
            yield row(rows[name], name)
        yield ""
    yield heading
    yield row(sum(tests.values(), collections.Counter()), f"all {len(tests)} tests")


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    if not any(folder.glob("python-*.xml")):
        sys.exit(f"{folder} has no results of Python tests; `make slowest` makes them")
    print(*table(folder, int(sys.argv[2]) if len(sys.argv) > 2 else 100), sep="\n")
