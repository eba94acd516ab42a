# SPDX-License-Identifier: MIT
"""%load_ext clineprof: the magics (magics.py), their options (options.py), the cells that they run (cells.py), what
they measure with (kinds.py) and how the result is shown (show.py). docs/notebook.md is for users."""
