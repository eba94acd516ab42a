# SPDX-License-Identifier: MIT
"""Profiles a process that a program under `ckernprof --prof-child-procs` has started. Its folder is the first entry of
that process's PYTHONPATH, so site imports this module. It then imports the sitecustomize that site would have found.

Any interpreter may import this module, so the syntax is that of Python 2, and no failure may be visible.
"""
import sys


def begin():
    here = __file__.rsplit("/", 1)[0]
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    package = here.rsplit("/", 3)[0]
    sys.path.insert(0, package)
    try:
        import clineprof._children as children

        children.join()
    except Exception:  # an interpreter without a module of ours runs unprofiled
        pass
    if package in sys.path:
        sys.path.remove(package)


begin()
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401  the user's; without one this raises the ImportError that site expects
