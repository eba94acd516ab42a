# SPDX-License-Identifier: MIT
"""`make check` with every usable interpreter on PATH, in ~/.pyenv and of the system.

    check_all.py MAKE       ends with a line per interpreter; exits 1 when any had a failure
"""
import glob
import os
import shutil
import subprocess
import sys

NAMES = [f"python3.{minor}" for minor in range(10, 16)]


def candidates():
    yield from filter(None, map(shutil.which, NAMES))
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
    yield "/usr/bin/python3"


def real_path(python):
    """The interpreter itself, behind links and shims; None when clineprof cannot be built for it."""
    ask = ("import os, sys, sysconfig as s; v = sys.version_info; "
           "fit = v >= (3, 10) and sys.implementation.name == 'cpython'; "
           "free = s.get_config_var('Py_GIL_DISABLED'); "
           "print(os.path.realpath(sys.executable) if fit and not free else '')")
    try:
        answer = subprocess.run([python, "-c", ask], capture_output=True, text=True)
    except OSError:
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def main():
    make = sys.argv[1]
    rows = []
    for python in dict.fromkeys(filter(None, map(real_path, candidates()))):
        print(f"== {python}", flush=True)
        # Open descriptors are left open: among them is make's job server, for -j.
        run = subprocess.Popen([make, "--no-print-directory", "check", f"PYTHON={python}"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                               close_fds=False)
        last = ""
        for line in run.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
        rows.append((run.wait(), python, last))
    width = max(len(python) for _, python, _ in rows)
    for code, python, last in rows:
        print(f"{python:{width}}  {last}" + (f" (make: exit status {code})" if code else ""))
    return 1 if any(code for code, _, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
