# SPDX-License-Identifier: MIT
"""line_profiler's module of the same name."""
from clineprof._compat.scoping import DEFAULTS as DEFAULT_SCOPING_POLICIES
from clineprof._compat.scoping import ScopingPolicy

__all__ = ["DEFAULT_SCOPING_POLICIES", "ScopingPolicy"]
