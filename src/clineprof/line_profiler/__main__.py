# SPDX-License-Identifier: MIT
"""`python -m clineprof.line_profiler FILE`: prints profiles."""
from clineprof.line_profiler import main

if __name__ == "__main__":
    main()
