# SPDX-License-Identifier: MIT
"""The part of C's reports that is made in Python: colours for a terminal (terminal.py)."""
