# SPDX-License-Identifier: MIT
"""Writes the JSON of `clineprof diff --format json`, from the dict that kernprof/view/diff_json.c makes."""
import json


def render(comparison):
    # no indentation: with it json would use its slow encoder in Python
    return (json.dumps(comparison, allow_nan=False) + "\n").encode("ascii")
