# SPDX-License-Identifier: MIT
"""Writes programs that are too long to type: 2,000 functions, a function of 1,000 lines, and one with 200 blank lines.
A copy of common.py is put beside them, so that they run like the other programs."""
import os
import shutil

HEAD = "from common import profile, sized, timed\n\n\n"


def many_functions(count):
    """A program of `count` small profiled functions, each called once a round. The function that calls them is
    profiled, too. If it were not, line_profiler on 3.12 and newer would switch its events on and off at every call,
    which makes it 100 times slower."""
    for i in range(count):
        yield (f"@profile\ndef f{i}(x):\n    y = x + {i}\n    if y & 1:\n        y += 1\n"
               "    return y\n\n\n")
    names = ", ".join(f"f{i}" for i in range(count))
    yield (f"FUNCTIONS = [{names}]\n\n\n@profile\ndef call_all(rounds):\n"
           "    for i in range(rounds):\n        for function in FUNCTIONS:\n"
           "            function(i)\n\n\ntimed(call_all, sized(600))\n")


def one_function(lines, blank_after, events):
    """A program with a loop of `lines` lines that do equal work. The loop runs `events` lines in all, whatever its
    size. Behind every blank_after[0] lines there are blank_after[1] blank lines."""
    every, blanks = blank_after
    yield "@profile\ndef work(count):\n    a = 1\n    for _ in range(count):\n"
    for i in range(lines):
        yield f"        a = (a ^ {i % 100}) & 255\n"
        if every and i % every == every - 1:
            yield "\n" * blanks
    yield f"    return a\n\n\ntimed(work, sized({events // (lines + 1)}))\n"


EVENTS = 300_000
PROGRAMS = {
    "functions2000.py": lambda: many_functions(2_000),
    "small.py": lambda: one_function(40, (0, 0), EVENTS),
    "blank.py": lambda: one_function(40, (1, 5), EVENTS),
    "long.py": lambda: one_function(1_000, (0, 0), EVENTS),
}


def write_programs(source, folder):
    """Writes the generated programs into the folder. `source` is the folder of common.py."""
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(source, "common.py"), folder)
    for name, parts in PROGRAMS.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(HEAD + "".join(parts()))
