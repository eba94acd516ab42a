# SPDX-License-Identifier: MIT
"""Has the names of line_profiler's module line_profiler.scoping_policy."""
from clineprof._compat.scoping import DEFAULTS as DEFAULT_SCOPING_POLICIES
from clineprof._compat.scoping import ScopingPolicy

__all__ = ["DEFAULT_SCOPING_POLICIES", "ScopingPolicy"]
