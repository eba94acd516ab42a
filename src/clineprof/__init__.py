# SPDX-License-Identifier: MIT
"""Line-by-line time and memory profiles. All of it is in the C module clineprof._core."""


# Names are looked up when they are used: the start-up code (_boot.py) imports this package before
# it knows that there is a C module for this interpreter.
def __getattr__(name):
    if name.startswith("_") and name != "__version__":  # a submodule, which import itself finds
        raise AttributeError("module 'clineprof' has no attribute %r" % name)
    if name in ("load", "Profile", "Function"):
        import clineprof._profile as profile

        return getattr(profile, name)
    if name == "assert_no_leaks":
        import clineprof._leaks as leaks

        return leaks.assert_no_leaks
    import clineprof._boot as boot

    return getattr(boot.core(), name)
