# SPDX-License-Identifier: MIT
"""Prints how many milliseconds %lprun adds to a call that takes about ten."""
import contextlib
import io
import statistics
import time

from IPython.core.interactiveshell import InteractiveShell


def work():
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end:
        pass


def milliseconds(action, *args):
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        action(*args)
    return (time.perf_counter() - started) * 1e3


shell = InteractiveShell.instance()
shell.user_ns["work"] = work
shell.run_line_magic("load_ext", "clineprof")
added = []
for _ in range(11):
    plain = milliseconds(shell.run_cell, "work()")
    added.append(milliseconds(shell.run_cell, "%lprun -f work work()") - plain)
print(statistics.median(added))
