# SPDX-License-Identifier: MIT
"""Profiles implementations that are registered with a generic function (functools.singledispatch) after it has been
selected."""
import functools
import types
import weakref

HOLDERS = types.FunctionType, types.MethodType, classmethod, staticmethod, functools.partial


def follow(generic, profiler):
    """Calls profiler(f) for each implementation f that is registered from now on, as long as the profiler exists and is
    not closed."""
    register = generic.register
    if getattr(register, "_profiler", _nobody)() is profiler:
        return
    known = weakref.ref(profiler)

    def selected(implementation):
        alive = known()
        if alive is not None and isinstance(implementation, HOLDERS):
            try:
                alive(implementation)
            except ValueError:  # the profiler is closed
                pass
        return implementation

    @functools.wraps(register)
    def registering(cls, func=None):
        result = register(cls, func)
        if func is None and result is not cls:  # register(cls) returns a decorator
            return lambda implementation: selected(result(implementation))
        return selected(result)

    registering._profiler = known
    generic.register = registering


def _nobody():
    return None
