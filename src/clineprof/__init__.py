# SPDX-License-Identifier: MIT
"""Line-by-line time and memory profiles. `profile` records one in a program, `load` opens one. The profiler itself is
in the C module clineprof._core.

pytest warns of plug-ins that were imported before it could rewrite their asserts, as ckernprof imports this package, unless
it reads here: PYTEST_DONT_REWRITE."""

# {public name: the module that defines it}. A module is imported when its name is used: the start-up code (_boot)
# imports this package before it knows whether there is a C module for this interpreter.
HOMES = {
    "Call": "_profile",
    "Comparison": "_profile.comparison",
    "Edge": "_profile",
    "Function": "_profile",
    "Line": "_profile",
    "LineProfiler": "_compat.line_profiler",
    "LineStats": "_compat.line_stats",
    "MemitResult": "_compat.memory_usage",
    "Profile": "_profile",
    "RankFiles": "_training",
    "Spread": "_profile",
    "Steps": "_training",
    "assert_no_leaks": "_profile.leaks",
    "listen": "_attach.listen",
    "dumps": "_profile",
    "load": "_profile",
    "load_ipython_extension": "_notebook.magics",
    "loads": "_profile",
    "memit": "_compat.memory_usage",
    "memory_usage": "_compat.memory_usage",
    "merge": "_profile",
    "profile": "_global",
    "unload_ipython_extension": "_notebook.magics",
}

IN_CORE = "Profiler", "__version__", "checkpoint", "counter", "tracers"

__all__ = sorted({*HOMES, *IN_CORE} - {"__version__", "load_ipython_extension", "unload_ipython_extension"})


def __dir__():
    return sorted([*HOMES, *IN_CORE, "__all__", "__doc__", "__file__", "__name__", "__path__"])


def __getattr__(name):
    if name in HOMES:
        return getattr(__import__("clineprof." + HOMES[name], fromlist=(name,)), name)
    if name in IN_CORE:
        import clineprof._boot as boot

        return getattr(boot.core(), name)
    # import finds submodules by itself, after this error; the interpreter uses name and obj to suggest a similar name
    error = AttributeError("module 'clineprof' has no attribute %r" % name)
    error.name, error.obj = name, __import__("sys").modules[__name__]
    try:
        raise error
    finally:
        del error  # its traceback holds this frame and those of all callers


def _listen():
    """Lets signals in, where the environment asks for it (_attach/listen.py)."""
    import sys

    environment = getattr(sys.modules.get("os"), "environ", ())
    if "CLINEPROF_SIGNAL" in environment or "CLINEPROF_ATTACH" in environment:
        __import__("clineprof._attach.listen", fromlist=("at_start",)).at_start()


_listen()
