# SPDX-License-Identifier: MIT
"""What reports that C makes get from Python: colours of a terminal (terminal.py)."""
