# SPDX-License-Identifier: MIT
"""Line-by-line time and memory profiles. `load` opens one; the profiler itself is in the C module
clineprof._core."""

__all__ = ["Function", "Line", "LineProfiler", "LineStats", "Profile", "Profiler", "load", "tracers"]


def __dir__():
    return sorted(__all__ + ["__doc__", "__file__", "__name__", "__path__", "__version__"])


# Names are looked up when they are used: the start-up code (_boot.py) imports this package before
# it knows that there is a C module for this interpreter.
def __getattr__(name):
    if name.startswith("_") and name != "__version__":  # a submodule, which import itself finds
        raise AttributeError("module 'clineprof' has no attribute %r" % name)
    if name in ("load", "Profile", "Function", "Line"):
        import clineprof._profile as profile

        return getattr(profile, name)
    if name in ("memory_usage", "memit", "MemitResult"):
        import clineprof._memusage as memusage

        return getattr(memusage, name)
    if name == "LineProfiler":
        import clineprof._line_profiler as line_profiler

        return line_profiler.LineProfiler
    if name == "LineStats":
        import clineprof._line_stats as line_stats

        return line_stats.LineStats
    if name == "assert_no_leaks":
        import clineprof._leaks as leaks

        return leaks.assert_no_leaks
    if name in ("load_ipython_extension", "unload_ipython_extension"):
        import clineprof._notebook as notebook

        return getattr(notebook, name)
    import clineprof._boot as boot

    return getattr(boot.core(), name)
