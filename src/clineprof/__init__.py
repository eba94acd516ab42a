# SPDX-License-Identifier: MIT
"""Line-by-line time and memory profiles. `load` opens one; the profiler itself is in the C module
clineprof._core."""

# Where names are: looked up when they are used, for the start-up code (_boot.py) imports this package
# before it knows that there is a C module for this interpreter.
HOMES = {
    "Function": "_profile",
    "Line": "_profile",
    "LineProfiler": "_compat.line_profiler",
    "LineStats": "_compat.line_stats",
    "MemitResult": "_compat.memory_usage",
    "Profile": "_profile",
    "assert_no_leaks": "_profile.leaks",
    "load": "_profile",
    "load_ipython_extension": "_notebook.magics",
    "memit": "_compat.memory_usage",
    "memory_usage": "_compat.memory_usage",
    "profile": "_global",
    "unload_ipython_extension": "_notebook.magics",
}

IN_CORE = "Profiler", "__version__", "checkpoint", "tracers"

__all__ = sorted({*HOMES, *IN_CORE} - {"__version__", "load_ipython_extension", "unload_ipython_extension"})


def __dir__():
    return sorted([*HOMES, *IN_CORE, "__all__", "__doc__", "__file__", "__name__", "__path__"])


def __getattr__(name):
    if name in HOMES:
        return getattr(__import__("clineprof." + HOMES[name], fromlist=(name,)), name)
    if name in IN_CORE:
        import clineprof._boot as boot

        return getattr(boot.core(), name)
    # a submodule is found by import itself; from name and obj the interpreter suggests what is meant
    error = AttributeError("module 'clineprof' has no attribute %r" % name)
    error.name, error.obj = name, __import__("sys").modules[__name__]
    raise error
