# SPDX-License-Identifier: MIT
"""Checks the profiler on an installed package: runs the package's own tests with pytest, all its functions selected.

    package_check.py --python PYTHON --tracer probe FOLDER MODULE,.. [PYTEST ARG..]

FOLDER has the package's tests, as its source distribution has them. As in stdlib_check.py, the tests run bare, under
the reference and under the tracer, and what differs runs again with objects at other addresses. In addition, the rules
about times must hold for every line of the profiles. (The times of lines may sum to more than their function's where
the function calls itself, so that is not checked.) Exit status: 0 all equal, 1 something differs.
"""
import argparse
import pathlib
import signal
import sys

import stdlib_check
from stdlib_check import ROOT, Failed, Profile, check


LEAVING = 10  # nanoseconds that a line may have for each return, which the clock does not see


def broken_laws(function):
    """Describes each time of a function that breaks a rule."""
    lines, total = function["lines"], function["total"]
    none = [0] * len(lines.get("line", []))
    columns = [lines.get(name, none) for name in ("line", "hits", "time", "self", "raw_time", "raw_self")]
    for line, hits, time, own, raw_time, raw_own in zip(*columns):
        if not (bool(hits) == bool(own) and own <= time <= total
                and (not raw_own or own <= raw_own + hits * LEAVING)
                and (not raw_time or time <= raw_time + hits * LEAVING)):
            yield (f"line {line}: {hits} hits, time {time} of {total}, self {own}, "
                   f"raw {raw_time}, {raw_own}")
    if not sum(columns[3]) <= total <= sum(columns[2]):
        yield f"total {total}, times sum to {sum(columns[2])}, self times to {sum(columns[3])}"


def merged(hits):
    """Adds up the hits of functions with the same file, line and last part of the name. On 3.10 the reference knows no
    more of a function's name."""
    found = {}
    for (file, first, name), lines in hits.items():
        mine = found.setdefault((file, first, name.rpartition(".")[2]), {})
        for line, count in lines.items():
            mine[line] = mine.get(line, 0) + count
    return found


class Runs(stdlib_check.Runs):
    """The runs of one package."""

    script = ROOT / "tools" / "package_case.py"

    def __init__(self, wanted, folder):
        self.wanted, self.test, self.selected, self.broken = wanted, folder, None, {}
        self.libraries = [*wanted.modules, "--", *wanted.pytest]

    def options(self):
        return [word for name in self.wanted.modules for word in ("-p", name)]

    def case(self, kind, start, environment={}, **how):
        found = super().case(kind, start, environment={"PYTHONPATH": self.test, **environment}, **how)
        if not found[0]:
            raise Failed(f"{kind}: pytest has run no test")
        return found

    def hits(self, top, kind):
        if kind == "tracer" and (top / "hits.lprof").exists():
            for key, function in Profile(top / "hits.lprof").functions.items():
                self.broken.update({key: why for why in broken_laws(function)})
        return merged(super().hits(top, kind))


class Verdict(stdlib_check.Verdict):
    def differ(self):
        return super().differ() + len(self.runs.broken)

    def details(self):
        return super().details() + stdlib_check.shortened(
            [f"{file}:{first} {name}: {why}" for (file, first, name), why in self.runs.broken.items()])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--python", required=True, help="an interpreter with the package and pytest")
    parser.add_argument("--tracer", default="auto")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for a process")
    parser.add_argument("folder", type=pathlib.Path, help="the folder in which the tests run")
    parser.add_argument("modules", type=lambda text: text.split(","), help="MODULE,..: the modules to select")
    parser.add_argument("pytest", nargs=argparse.REMAINDER, help="arguments of pytest")
    wanted = parser.parse_args()
    wanted.out, wanted.runs, wanted.verdict = wanted.out.absolute(), Runs, Verdict
    return wanted


def main():
    wanted = arguments()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report = stdlib_check.Report()
    check(wanted, str(wanted.folder.absolute()), report)
    return 1 if report.differ else 0


if __name__ == "__main__":
    sys.exit(main())
