# SPDX-License-Identifier: MIT
"""`clineprof diff --format json`: the comparison, which kernprof/view/diff_json.c gives as a dict."""
import json


def render(comparison):
    # without indentation, which would take the encoder in Python instead of that in C
    return (json.dumps(comparison, allow_nan=False) + "\n").encode("ascii")
