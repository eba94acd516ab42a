# SPDX-License-Identifier: MIT
"""Memory over time: the command `clineprof mem` (command.py), files of recordings (memfile.py), and how they are
drawn (pictures.py)."""
