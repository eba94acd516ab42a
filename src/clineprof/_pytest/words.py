# SPDX-License-Identifier: MIT
"""What the session's profile and the limits of tests say in the same words."""
from clineprof._boot import targets

DISPLACED = "another tool has replaced the trace function (sys.settrace) that counts lines on this Python"


def meant(target):
    """The end of a message about a target that names nothing."""
    nearest = targets.nearest(target)
    return "; did you mean '%s'?" % nearest if nearest else ""
