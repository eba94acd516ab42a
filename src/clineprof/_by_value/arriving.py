# SPDX-License-Identifier: MIT
"""Runs where a function arrives by value, in a process that may have no clineprof. The text of this file is sent with
the function, and runs in a namespace of its own with the attributes of a Taker (__init__.py). It leaves there `taker`,
which makes or completes the function: the pickler's own, or one that also selects."""
taker = getattr(__import__(module, fromlist=("_",)), name)  # noqa: F821
try:
    from clineprof._by_value import taking
except Exception:  # there is no clineprof, or another version: the function runs as plain code
    pass
else:
    taker = taking(taker, file, is_marked)  # noqa: F821
