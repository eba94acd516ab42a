# SPDX-License-Identifier: MIT
"""The shapes of other profilers, on ours: line_profiler's (line_profiler.py, line_stats.py, line_text.py, scoping.py;
explicit.py where it is installed itself), memory_profiler's (code_map.py, memory_text.py, memory_usage.py,
time_stamper.py) and cProfile's (cprofile.py). wrapping.py makes functions anew so that one of them is on meanwhile."""
