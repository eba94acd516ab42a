# SPDX-License-Identifier: MIT
"""First on the PYTHONPATH of what a program under `ckernprof --prof-child-procs` starts, so that site
imports it: has the process profiled, and makes way for the sitecustomize that would have been found.

Any interpreter may get here, so it is plain enough for Python 2, and none of them may notice.
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
    except Exception:  # another interpreter: it runs as it always does
        pass
    if package in sys.path:
        sys.path.remove(package)


begin()
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402,F401  the user's; when there is none, site expects just that
