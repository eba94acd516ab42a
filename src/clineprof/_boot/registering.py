# SPDX-License-Identifier: MIT
"""Implementations that are registered with a generic function (functools.singledispatch) once it is profiled."""
import functools
import types
import weakref

HOLDERS = types.FunctionType, types.MethodType, classmethod, staticmethod, functools.partial


def follow(generic, profiler):
    """From now on profiler(f) is called for each implementation f that is registered, as long as the profiler
    lives and is not closed."""
    register = generic.register
    if getattr(register, "_profiler", _nobody)() is profiler:
        return
    known = weakref.ref(profiler)

    def selected(implementation):
        alive = known()
        if alive is not None and isinstance(implementation, HOLDERS):
            try:
                alive(implementation)
            except ValueError:  # it is closed
                pass
        return implementation

    @functools.wraps(register)
    def registering(cls, func=None):
        result = register(cls, func)
        if func is None and result is not cls:  # a decorator, for what comes next
            return lambda implementation: selected(result(implementation))
        return selected(result)

    registering._profiler = known
    generic.register = registering


def _nobody():
    return None
