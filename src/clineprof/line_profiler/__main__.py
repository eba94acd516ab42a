# SPDX-License-Identifier: MIT
"""Prints profiles: `python -m clineprof.line_profiler FILE`."""
from clineprof.line_profiler import main

if __name__ == "__main__":
    main()
