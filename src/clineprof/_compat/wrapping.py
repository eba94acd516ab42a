# SPDX-License-Identifier: MIT
"""Wraps callables of every kind, so that a profiler is on while they run.

A profiler here is any object that is on within `with profiler:`. For a generator or coroutine the profiler is on while
its body runs, and off while it is suspended. Values that are sent, exceptions that are thrown and return values pass
through the wrapper.
"""
import functools
import sys
import types

from clineprof._boot.cython import is_function

GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200  # bits of co_flags

C_LEVEL = (
    types.BuiltinFunctionType, types.BuiltinMethodType, types.ClassMethodDescriptorType,
    types.MethodDescriptorType, types.MethodWrapperType, types.WrapperDescriptorType,
)  # fmt: skip

CACHED = type(functools.lru_cache(len))

# Types of objects that hold functions, and the attributes that hold them.
HOLDERS = (
    ((classmethod, staticmethod, types.MethodType), ("__func__",)),
    ((functools.partial, functools.partialmethod, functools.cached_property), ("func",)),
    ((property,), ("fget", "fset", "fdel")),
)


def warn(message):
    """Issues a UserWarning for the line outside of this package that has led to this call."""
    import warnings

    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("clineprof."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def held_by(thing):
    """The callables that a method, a property, a partial or the like holds, a list. None if `thing` is none of
    these."""
    for kinds, names in HOLDERS:
        if isinstance(thing, kinds):
            held = [getattr(thing, name) for name in names]
            return [callable_ for callable_ in held if callable_ is not None]
    return None


def functions_of(thing, seen):
    """The functions that run when `thing` is called, or looked up as an attribute. A class is returned as it is.
    Functions whose id is in `seen` are left out. Raises TypeError if `thing` is not callable and holds nothing
    callable."""
    held = held_by(thing)
    if held is not None:
        return [function for inner in held for function in functions_of(inner, seen)]
    if isinstance(thing, type):
        return [thing]
    if not callable(thing):
        raise TypeError("%r is not a function, nor does it hold any" % (thing,))
    if id(thing) in seen or isinstance(thing, C_LEVEL):
        return []
    seen.add(id(thing))
    if isinstance(thing, types.FunctionType) or is_function(thing):
        return [thing]
    if isinstance(thing, CACHED):
        return functions_of(thing.__wrapped__, seen)
    call = type(thing).__call__
    return [call] if isinstance(call, types.FunctionType) else []


def functions_in_class(cls, seen):
    """The functions of a class that are defined in it, and those of classes within it."""
    is_its_own = _own_members(cls)
    found = []
    for member in list(vars(cls).values()):
        try:
            inner = functions_of(member, seen)
        except TypeError:
            continue
        for item in inner:
            if is_its_own(item):
                found += functions_in_class(item, seen) if isinstance(item, type) else [item]
    return found


def _own_members(cls):
    """Returns a function that tells whether a function or class is defined in this class."""
    from clineprof._compat.scoping import ScopingPolicy  # imported late, because a function profile does not need it

    return ScopingPolicy.CHILDREN.get_filter(cls, "class")


# ---- functions -------------------------------------------------------------------------------


def wrapped_function(profiler, function):
    """A function that does the same as this one, with the profiler on."""
    both = profiler, _nothing
    return wrapped_calls(function, lambda: both)


def _nothing():
    pass


def wrapped_calls(function, begin):
    """A function that does the same as this one. For each call begin() returns the profiler that is to be on, and a
    function to call when the body has ended."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    for flag, make in (COROUTINE, _coroutine), (ASYNC_GENERATOR, _async_generator), (
            GENERATOR, _generator):  # fmt: skip
        if flags & flag:
            return make(function, begin)
    return _plain(function, begin)


def _plain(function, begin):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        profiler, end = begin()
        try:
            with profiler:
                return function(*args, **kwargs)
        finally:
            end()

    return wrapper


def _step(profiler, resume, *args):
    try:
        with profiler:
            return resume(*args)
    finally:
        resume = args = None  # breaks a cycle: they hold an exception that was thrown in, which refers to this frame


def _drive(profiler, body):
    """Yields what a generator or coroutine yields. The profiler is on while its body runs."""
    resume, args = body.send, (None,)
    try:
        while True:
            try:
                item = _step(profiler, resume, *args)
            except StopIteration as end:
                return end.value
            finally:
                resume = args = None  # breaks the cycle described in _step
            try:
                resume, args = body.send, ((yield item),)
            except GeneratorExit:
                _step(profiler, body.close)
                raise
            except BaseException as error:
                resume, args = body.throw, (error,)
    finally:
        body = None  # breaks the cycle described in _step


class _Awaitable:
    def __init__(self, profiler, body):
        self.profiler, self.body = profiler, body

    def __await__(self):
        return _drive(self.profiler, self.body)


def _generator(function, begin):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        profiler, end = begin()
        try:
            return (yield from _drive(profiler, function(*args, **kwargs)))
        finally:
            end()

    return wrapper


def _coroutine(function, begin):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        profiler, end = begin()
        try:
            return await _Awaitable(profiler, function(*args, **kwargs))
        finally:
            end()

    return wrapper


def _async_generator(function, begin):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        profiler, end = begin()
        body = function(*args, **kwargs)
        resume, given = body.asend, None
        try:
            while True:
                try:
                    item = await _Awaitable(profiler, resume(given).__await__())
                except StopAsyncIteration:
                    return
                finally:
                    given = None  # breaks the cycle described in _step
                try:
                    resume, given = body.asend, (yield item)
                except GeneratorExit:
                    await _Awaitable(profiler, body.aclose().__await__())
                    raise
                except BaseException as error:
                    resume, given = body.athrow, error
        finally:
            end()

    return wrapper


# ---- other callables -------------------------------------------------------------------------


class Mark:
    """An attribute of a wrapper: the function inside all wrappers, and the id of the profiler that made the wrapper."""

    def __init__(self, func, profiler_id):
        self.func, self.profiler_id = func, profiler_id


MARK = "__line_profiler_id__"  # the attribute's name, which is line_profiler's


class Wrapping:
    """The methods of a profiler that wrap callables. A subclass has enable_by_count() and disable_by_count()."""

    def __enter__(self):
        self.enable_by_count()
        return self

    def __exit__(self, *exception):
        self.disable_by_count()

    def wrap_callable(self, func):
        """Wraps a callable so that the profiler is on while it runs. A class is returned itself, with its methods
        wrapped. What is written in C, and what this profiler has wrapped before, is returned as it is. Raises TypeError
        for an object that is not callable and holds nothing callable."""
        for kinds, wrap in (
            ((classmethod, staticmethod), self._wrap_method), (types.MethodType, self.wrap_boundmethod),
            ((functools.partial, functools.partialmethod), self.wrap_partial),
            (property, self.wrap_property), (functools.cached_property, self.wrap_cached_property),
            (type, self.wrap_class), (CACHED, self._wrap_cached),
            (C_LEVEL, lambda as_it_is: as_it_is),
        ):  # fmt: skip
            if isinstance(func, kinds):
                return wrap(func)
        if not callable(func):
            raise TypeError("%r is not a function, nor does it hold any" % (func,))
        return self.wrap_function(func)

    def wrap_function(self, func):
        if self.has_wrapped(func):
            return func
        wrapper = wrapped_function(self, func)
        mark = getattr(func, MARK, None)
        setattr(wrapper, MARK, Mark(mark.func if mark else func, id(self)))
        return wrapper

    wrap_generator = wrap_coroutine = wrap_async_generator = wrap_function

    def has_wrapped(self, func):
        mark = getattr(func, MARK, None)
        return isinstance(mark, Mark) and mark.profiler_id == id(self)

    def _rebuilt(self, holder, names, *args, **kwargs):
        """A new object of the holder's class, with the functions in these attributes wrapped."""
        inner = [getattr(holder, name) for name in names]
        new = type(holder)(*(f if f is None else self.wrap_callable(f) for f in inner), *args,
                           **kwargs)  # fmt: skip
        for name, value in getattr(holder, "__dict__", {}).items():
            vars(new).setdefault(name, value)
        return new

    def _wrap_method(self, func):
        return self._rebuilt(func, ("__func__",))

    wrap_classmethod = wrap_staticmethod = _wrap_method

    def wrap_boundmethod(self, func):
        return self._rebuilt(func, ("__func__",), func.__self__)

    def wrap_partial(self, func):
        return self._rebuilt(func, ("func",), *func.args, **func.keywords)

    wrap_partialmethod = wrap_partial

    def wrap_property(self, func):
        new = self._rebuilt(func, ("fget", "fset", "fdel"), func.__doc__)
        return _named_like(new, func, "__name__")

    def wrap_cached_property(self, func):
        return _named_like(self._rebuilt(func, ("func",)), func, "attrname")

    def _wrap_cached(self, func):
        """Wraps a function with a cache (functools.lru_cache). The result has an empty cache of its own."""
        if self.has_wrapped(func.__wrapped__):
            return func
        new = functools.lru_cache(**func.cache_parameters())(self.wrap_callable(func.__wrapped__))
        vars(new).update({**vars(func), "__wrapped__": new.__wrapped__})
        return new

    def wrap_class(self, func):
        """Replaces the functions that are defined in the class by wrappers. Issues a UserWarning about those that the
        class does not allow to be replaced."""
        is_its_own = _own_members(func)
        chosen = {}
        for name, member in vars(func).items():
            try:
                inner = functions_of(member, set())
            except TypeError:
                continue
            if any(map(is_its_own, inner)):
                chosen[name] = member
        self.wrap_members(func, chosen)
        return func

    def wrap_members(self, namespace, members):
        failed = {}
        for name, member in members.items():
            wrapper = self.wrap_callable(member)
            try:
                if wrapper is not member:
                    setattr(namespace, name, wrapper)
            except (TypeError, AttributeError):
                failed[name] = member
        if failed:
            warn("cannot wrap %d attribute(s) of %r (`{attr: value}`): %r"
                 % (len(failed), namespace, failed))

    # ---- running ----

    def run(self, cmd):
        """Runs the text of a statement in the main module with the profiler on, and returns the profiler."""
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        """Runs the text of a statement in these namespaces with the profiler on, and returns the profiler."""
        with self:
            exec(cmd, globals, locals)
        return self

    def runcall(self, func, /, *args, **kw):
        """Calls the function with the profiler on, and returns its result."""
        with self:
            return func(*args, **kw)


def _named_like(new, old, name):
    try:
        setattr(new, name, getattr(old, name))
    except AttributeError:  # the old one has no name yet; older Pythons give properties none
        pass
    return new
