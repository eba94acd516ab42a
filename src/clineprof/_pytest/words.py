# SPDX-License-Identifier: MIT
"""Messages that both the profile of the session and the limits of tests use."""
from clineprof._boot import targets

DISPLACED = "another tool has replaced the trace function (sys.settrace) that counts lines on this Python"


def meant(target):
    """The end of a message about a target that names nothing: a suggestion, or ""."""
    nearest = targets.nearest(target)
    return "; did you mean '%s'?" % nearest if nearest else ""
