# SPDX-License-Identifier: MIT
"""Profiles as files that other programs read. The module NAME.py of this folder makes the format
NAME: `render(profile, options)` gives its bytes.

options: unit (seconds, for formats that show times), raw_times (times as the clock saw them),
memory (False: leave memory out).
"""
import importlib

from clineprof import _profile


def render(name, data, options):
    """The bytes of a profile (a dict from the C module) in this format."""
    module = importlib.import_module("clineprof._formats." + name)
    return module.render(_profile.Profile(data), options)
