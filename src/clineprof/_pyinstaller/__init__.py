# SPDX-License-Identifier: MIT
"""For PyInstaller, which asks where hooks are."""
import os


def hook_dirs():
    return [os.path.dirname(os.path.abspath(__file__))]
