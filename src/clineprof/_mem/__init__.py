# SPDX-License-Identifier: MIT
"""Memory over time: the command `clineprof mem` (command.py), the files of recordings (memfile.py), and pictures of
them (pictures.py)."""
