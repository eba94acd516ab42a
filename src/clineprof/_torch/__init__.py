# SPDX-License-Identifier: MIT
"""`clineprof torch join`: puts what torch.profiler has recorded on lines. log (which line ran when), reading (a trace,
piece by piece), joining, slices (our lines in the trace); command."""


class Wrong(Exception):
    """What is wrong with a file, in one line."""
