# SPDX-License-Identifier: MIT
"""Line-by-line time and memory profiles. `load` opens one; the profiler itself is in the C module
clineprof._core."""

# Where names are: looked up when they are used, for the start-up code (_boot.py) imports this package
# before it knows that there is a C module for this interpreter.
HOMES = {
    "Function": "_profile",
    "Line": "_profile",
    "LineProfiler": "_line_profiler",
    "LineStats": "_line_stats",
    "MemitResult": "_memusage",
    "Profile": "_profile",
    "assert_no_leaks": "_leaks",
    "load": "_profile",
    "load_ipython_extension": "_notebook",
    "memit": "_memusage",
    "memory_usage": "_memusage",
    "profile": "_global",
    "unload_ipython_extension": "_notebook",
}

__all__ = ["Function", "Line", "LineProfiler", "LineStats", "Profile", "Profiler", "assert_no_leaks", "load",
           "memit", "memory_usage", "profile", "tracers"]


def __dir__():
    return sorted(__all__ + ["__doc__", "__file__", "__name__", "__path__", "__version__"])


def __getattr__(name):
    if name in HOMES:
        return getattr(__import__("clineprof." + HOMES[name], fromlist=(name,)), name)
    if name.startswith("_") and name != "__version__":  # a submodule, which import itself finds
        raise AttributeError("module 'clineprof' has no attribute %r" % name)
    import clineprof._boot as boot

    return getattr(boot.core(), name)
