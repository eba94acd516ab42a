# SPDX-License-Identifier: MIT
"""Runs the programs here, and measures the true shares of their marked lines.

Each program has a profiled loop, `whole(count, numbers)`, in which some lines are marked "# measured". Their true share
is measured without a profiler. If the lines are long, the loop is timed in turns with `without(count, numbers)`, the
same loop without these lines. Lines of some nanoseconds are too short for such a difference; copies of each line are
timed, one behind the other, so that the time of the loop itself is not included.

    PROGRAM size             prints how many items sum() must add in the C call of this program
    PROGRAM truth SIZE       prints the share of the marked lines, or the share of each
    PROGRAM run SIZE COUNT   runs the loop COUNT times; this command is run under a profiler
    PROGRAM turns SIZE COUNT does the same in turns with measuring the truth in this process, by functions that are not
                             profiled, and prints it behind "truth"
    PROGRAM stops SIZE COUNT does the same, and stops the profiler for the measurement: for a tracer that slows
                             functions which are not profiled

The machine may change its speed from one second to the next, and of sum() and Python code one may become slower than
the other. So a profiler is compared with the truth of the same process and the same time.
"""
import os
import statistics
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))

from common import cost_of, items_costing, profile, timed, unchanged  # noqa: E402, F401 (for the cases, too)

TURNS = 20


def true_share(whole, without, numbers, quick):
    """The share of the marked lines; a quick measurement, of which the caller takes the mean, needs no repetition."""
    count, repeats = loops_in(0.0005 if quick else 0.004, whole, numbers), 1 if quick else 61
    pairs = [(once(whole, count, numbers), once(without, count, numbers)) for _ in range(repeats)]
    full, rest = (statistics.median(column) for column in zip(*pairs))
    return 1 - rest / full


def shares_alone(path, whole, numbers, quick):
    """The share of each marked line, measured by timing copies of it."""
    runs, repeats = (500, 5) if quick else (5000, 101)
    with open(path) as file:
        lines = [line.split("#")[0].strip() for line in file if line.endswith("# measured\n")]
    loop = statistics.median(once(whole, runs, numbers) for _ in range(repeats)) / runs
    return [cost_alone(lines, line, runs // 10, repeats) / loop for line in lines]


def cost_alone(lines, line, runs, repeats, few=32):
    """The nanoseconds of a line, when all lines have run once before."""
    short, long = copies_of(lines, line, few), copies_of(lines, line, 3 * few)
    found = [once(long, runs, ()) - once(short, runs, ()) for _ in range(repeats)]
    return statistics.median(found) / runs / (2 * few)


def copies_of(lines, line, count):
    text = ["def copies(count, numbers):", *(f"    {other}" for other in lines),
            "    for _ in range(count):", *[f"        {line}"] * count]
    names = {}
    exec("\n".join(text), names)
    return names["copies"]


def loops_in(seconds, whole, numbers):
    count = 1
    while once(whole, count, numbers) < seconds * 1e9:
        count *= 2
    return count


def once(function, count, numbers):
    started = time.perf_counter_ns()
    function(count, numbers)
    return time.perf_counter_ns() - started


def half_full_pools(count=1000):
    """Lists that leave room in the allocator's pools of every small size. Where all pools of a size are full, a line
    that makes and drops an object of this size takes a new pool each time and gives it back, which takes longer than
    the line. This depends on all the objects that the interpreter made before, so some runs have it and some do not."""
    lists = [[None] * items for items in range(1, 64) for _ in range(count)]
    del lists[::2]
    return lists


def copy_of_program(path):
    """The names of the program, run again with functions that are not profiled."""
    names = {"__name__": "copy", "__file__": path}
    with open(path) as file:
        text = file.read().replace("@profile\n", "@unchanged\n")
    names["unchanged"] = unchanged
    exec(compile(text, path + " again", "exec"), names)
    return names


def take_turns(truth, whole, count, numbers, stops):
    copy, found = copy_of_program(sys.argv[0]), []
    for _ in range(TURNS):
        timed(whole, count // TURNS, numbers)
        if stops:
            profile.stop()
        found.append(truth(copy, numbers, True))
        if stops:
            profile.start()
    print("truth", *map(statistics.mean, zip(*found)))


def main(truth, whole, nanoseconds):
    """Runs the command on the command line. truth(names, numbers, quick) measures the shares of the program with these
    names; nanoseconds() is the time that the C call should take."""
    room = half_full_pools()  # noqa: F841 (kept while the program runs)
    command, *rest = sys.argv[1:]
    if command == "size":
        print(items_costing(nanoseconds()))
        return
    numbers = (1,) * int(rest[0])
    if command == "truth":
        print(*truth(vars(sys.modules["__main__"]), numbers, False))
    elif command == "run":
        timed(whole, int(rest[1]), numbers)
    else:
        take_turns(truth, whole, int(rest[1]), numbers, command == "stops")
