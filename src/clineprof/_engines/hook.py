# SPDX-License-Identifier: MIT
"""Begins to count in a worker that may have no clineprof. The text of this file is sent to the worker, and runs there
in a namespace of its own with these names:

run, wanted, options: the arguments of clineprof._engines.begin
version: the driver's version of clineprof
folder: the folder of the driver's package. It is used if the worker has no clineprof and can see this folder
driver: the machine of the driver (clineprof._core.identity), and the folder of the run there
theirs: what the user wants to be called when a worker begins: a function, or its name as "module.function"; or None
"""
import importlib
import os
import sys
import tempfile


def begin():
    try:
        begin_to_count()
    except Exception as error:  # the worker does its tasks, and counts nothing
        complain("workers do not count: %s: %s" % (type(error).__name__, error))
    if theirs is not None:  # noqa: F821
        (named(theirs) if isinstance(theirs, str) else theirs)()  # noqa: F821


def begin_to_count():
    engines = load_engines()
    here = sys.modules["clineprof._core"].identity()[2], engines.place(run)  # noqa: F821
    if here == driver and not os.path.lexists(driver[1]):  # noqa: F821
        return  # the run has ended while this worker started
    if engines.version() != version:  # noqa: F821
        complain("workers have clineprof %s, and the driver has %s" % (engines.version(), version))  # noqa: F821
    engines.begin(run, wanted, makes_folder=here != driver, **options)  # noqa: F821


def load_engines():
    try:
        import clineprof._core
        import clineprof._engines  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "clineprof" or not os.path.isdir(folder):  # noqa: F821
            raise
        sys.path.append(folder)  # noqa: F821
        try:
            import clineprof._core
            import clineprof._engines  # noqa: F401
        finally:
            sys.path.remove(folder)  # noqa: F821
    return sys.modules["clineprof._engines"]


def named(name):
    """What a name as "module.function" means."""
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def complain(text):
    """Says it once on this machine, if the folder of the run is there."""
    said = os.path.join(tempfile.gettempdir(), "clineprof-" + run, "said")  # noqa: F821
    try:
        os.close(os.open(said, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    except OSError:
        pass
    try:
        os.write(2, b"clineprof: %s\n" % ascii(text)[1:-1].encode())
    except OSError:  # standard error is closed
        pass
