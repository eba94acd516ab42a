# SPDX-License-Identifier: MIT
"""The parts of C's reports that are made in Python: colours for a terminal (terminal.py), a comparison as JSON
(diff.py).
"""
