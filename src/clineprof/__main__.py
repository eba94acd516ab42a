# SPDX-License-Identifier: MIT
"""The viewer, which prints profiles: `python -m clineprof` and the entry point clineprof."""
import sys

from clineprof import _boot


def main():
    return _boot.load("clineprof").main("view", ["clineprof"] + sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
