# SPDX-License-Identifier: MIT
"""Measures the cost of starting and ending: the time of an empty program from exec to exit, what %lprun adds to a short
call, and what it takes to select all functions of large packages."""
import os
import statistics
import sys
import time

import variants as ways
from environment import HERE, ROOT
from tables import Table, number

EMPTY, IMPORTS, NOTEBOOK = (os.path.join(HERE, "programs", name)
                            for name in ("empty.py", "imports.py", "notebook.py"))
PACKAGES = ("numpy", "pandas", "sklearn")


def measure(base, variants, options, say):
    """Returns {variant: [seconds, ..]} of the empty program, and {title: milliseconds, or why there are none} of the rest.
    A variant that fails is left out. clineprof runs with its default tracer here, as most users run it."""
    chosen = [ways.bare(base)]
    with_clineprof = any(variant.head[0] == ways.CKERNPROF for variant in variants)
    if with_clineprof:
        chosen += [ways.clineprof(base, None, False, "clineprof"),
                   ways.clineprof(base, None, True, "clineprof+memory")]
    chosen.append(ways.line_profiler())
    chosen = [variant for variant in chosen if not ways.execute(variant, EMPTY, read=False).failure]
    say(f"start-up, {options.starts} times each")
    taken = starts(chosen, EMPTY, options.starts)
    return taken, added(max(3, options.starts // 4), say) if with_clineprof else {}


def starts(chosen, program, count):
    """{variant: [seconds from exec to exit, ..]}, interleaved."""
    taken = {variant.name: [] for variant in chosen}
    for _ in range(count):
        for variant in chosen:
            started = time.perf_counter()
            run = ways.execute(variant, program, read=False)
            elapsed = time.perf_counter() - started
            if not run.failure:
                taken[variant.name].append(elapsed)
    return {name: past for name, past in taken.items() if past}


def added(count, say):
    """What clineprof adds in the bench's own environment, if the packages that this takes are installed there."""
    say("start-up: %lprun")
    python = ways.bare(sys.executable)
    notebook = ways.execute(python, NOTEBOOK, variables={"PYTHONPATH": os.path.join(ROOT, "build", "python")})
    say("start-up: large packages")
    selecting = ways.clineprof(sys.executable, None, True, "selected",
                               more=[word for name in PACKAGES for word in ("-p", name)])
    failure = ways.execute(python, IMPORTS, read=False).failure
    middles = {name: statistics.median(past)
               for name, past in ({} if failure else starts([python, selecting], IMPORTS, count)).items()}
    return {
        "%lprun of a call of 10 ms": notebook.failure or number(notebook.seconds, 1),
        "-p numpy -p pandas -p sklearn": failure or number((middles["selected"] - middles["bare"]) * 1e3, 0),
    }


def tables(measured):
    taken, more = measured
    plain = statistics.median(taken["bare"])
    rows = []
    for name, past in taken.items():
        middle = statistics.median(past)
        rows.append([name, number(middle * 1e3, 1), number((middle - plain) * 1e3, 1)])
    yield Table("Start-up", "An empty program from start to exit, medians in milliseconds.",
                ["variant", "ms", "more than bare"], rows,
                [f"{min(map(len, taken.values()))} interleaved starts of each"])
    if more:
        python = os.path.relpath(sys.executable, ROOT)
        yield Table("What else is done once", "Milliseconds that clineprof adds, medians. For missing packages: "
                    f"`{python} -m pip install ipython numpy pandas scikit-learn`.", ["what", "ms"],
                    [list(row) for row in more.items()])
