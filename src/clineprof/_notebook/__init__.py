# SPDX-License-Identifier: MIT
"""The extension of `%load_ext clineprof`: the magics (magics.py), their options (options.py), the cells that they run
(cells.py), the profilers that they use (kinds.py) and the output (show.py). docs/notebook.md is for users."""
