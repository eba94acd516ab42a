# SPDX-License-Identifier: MIT
"""Tells PyInstaller where its hook for clineprof is."""
import os


def hook_dirs():
    return [os.path.dirname(os.path.abspath(__file__))]
