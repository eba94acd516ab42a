# SPDX-License-Identifier: MIT
"""Runs `make check` with every usable interpreter on PATH, in ~/.pyenv and of the system.

    check_all.py MAKE       ends with one line for each interpreter; exits 1 if any had a failure
"""
import glob
import os
import shutil
import subprocess
import sys
import time

NAMES = [f"python3.{minor}" for minor in range(10, 16)]


def candidates():
    yield from filter(None, map(shutil.which, NAMES))
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    yield "/usr/bin/python3"


def real_path(python):
    """The path of the interpreter with links and pyenv's shims resolved; None if clineprof cannot be built for it."""
    ask = ("import os, sys, sysconfig as s; v = sys.version_info; "
           "fit = v >= (3, 10) and sys.implementation.name == 'cpython'; "
           "free = s.get_config_var('Py_GIL_DISABLED'); "
           "print(os.path.realpath(sys.executable) if fit and not free else '')")
    try:
        answer = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    except OSError:
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def run_make(make, words, name=None):
    """Runs make with these words. Returns (exit status, name of the run, the last line that was printed, minutes)."""
    name = name or " ".join(words)
    print(f"== {name}", flush=True)
    start = time.monotonic()
    # make gets all open descriptors; one of them is the job server of the outer make (-j).
    run = subprocess.Popen([make, "--no-print-directory", *words], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, text=True, close_fds=False)
    last = ""
    for line in run.stdout:
        print(line, end="", flush=True)
        last = line.strip() or last
    return run.wait(), name, last, (time.monotonic() - start) / 60


def table(runs):
    """Prints a line for each run. Returns 1 if any failed, else 0."""
    width = max(len(name) for _, name, _, _ in runs)
    for code, name, last, minutes in runs:
        print(f"{name:{width}} {minutes:5.0f} min  {last}" + (f" (make: exit status {code})" if code else ""))
    return 1 if any(code for code, _, _, _ in runs) else 0


def main():
    pythons = dict.fromkeys(filter(None, map(real_path, candidates())))
    return table([run_make(sys.argv[1], ["check", f"PYTHON={python}"], python) for python in pythons])


if __name__ == "__main__":
    sys.exit(main())
