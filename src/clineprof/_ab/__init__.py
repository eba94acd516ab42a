# SPDX-License-Identifier: MIT
"""`clineprof ab`: rounds runs two programs in turn. What their profiles say is told by `clineprof diff` (kernprof/view/ab.c)."""
