# SPDX-License-Identifier: MIT
"""`clineprof ab`: rounds runs two programs in turn. kernprof/view/ab.c reads the options, and compares the profiles."""
