# SPDX-License-Identifier: MIT
"""The interfaces of other profilers, on top of ours. line_profiler: line_profiler.py, line_stats.py, line_text.py,
scoping.py, and explicit.py for programs in which line_profiler itself is installed. memory_profiler: code_map.py,
memory_text.py, memory_usage.py, time_stamper.py. cProfile: cprofile.py. wrapping.py wraps functions so that a profiler
is on while they run."""
