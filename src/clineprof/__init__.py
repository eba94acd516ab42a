# SPDX-License-Identifier: MIT
"""Line-by-line time and memory profiles. All of it is in the C module clineprof._core."""


# Names are looked up when they are used: the start-up code (_boot.py) imports this package before
# it knows that there is a C module for this interpreter.
def __getattr__(name):
    if name.startswith("__") and name != "__version__":
        raise AttributeError("module 'clineprof' has no attribute %r" % name)
    from clineprof import _boot

    return getattr(_boot.core(), name)
