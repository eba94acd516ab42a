# SPDX-License-Identifier: MIT
"""`python -m clineprof.kernprof` and the entry point ckernprof: run a program and profile it."""
import sys

from clineprof import _boot


def main():
    return _boot.load("ckernprof").main("run", ["ckernprof"] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
