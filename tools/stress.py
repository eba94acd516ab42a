# SPDX-License-Identifier: MIT
"""Runs the programs of tests/stress many times with every tracer that the interpreter has. Each line must have as many
hits as its comment says, every time. Exit status: 0 if so, 1 if there was a difference.
"""
import argparse
import os
import shlex
import subprocess
import sys

ASK = "import clineprof._core as core; print(*core.tracers())"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, help="where the build lies")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--only", default="", metavar="WORDS", help="run only programs that pytest -k WORDS selects")
    options = parser.parse_args()
    package = os.path.join(options.out, "python")
    environment = {**os.environ, "CLINEPROF_BUILD": options.out,
                   "CLINEPROF_STRESS": str(options.repeats)}
    tracers = subprocess.run([sys.executable, "-c", ASK], env={**environment, "PYTHONPATH": package},
                             stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    failed = []
    for tracer in tracers + ["light"] * (sys.version_info >= (3, 11)):
        print(f"{sys.version.split()[0]}, {tracer}, {options.repeats} times each", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-o", f"pythonpath={shlex.quote(package)}",
                   "-k", options.only, "tests/api/test_stress.py"]
        if subprocess.run(command, env={**environment, "CLINEPROF_TEST_TRACER": tracer}).returncode:
            failed.append(tracer)
    print("no difference" if not failed else "differences: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
