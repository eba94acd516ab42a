# SPDX-License-Identifier: MIT
"""What the session's profile and the limits of tests say in the same words."""
from clineprof._boot import targets

DISPLACED = "another tool has sys.settrace for itself, by which this Python's lines are counted"


def meant(target):
    """The end of a message about a target that names nothing."""
    nearest = targets.nearest(target)
    return "; did you mean '%s'?" % nearest if nearest else ""
