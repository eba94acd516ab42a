# SPDX-License-Identifier: MIT
"""Function profiles: cProfile's Profile, with what `ckernprof -b` puts into builtins as `profile`."""
import cProfile
import functools
import io
import sys

# A program that has a module of such a name gets its own.
for _name in "cProfile", "profile":
    sys.modules.pop(_name, None)
PATH = list(sys.path)  # without the program's folder
GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x20, 0x80, 0x200  # of co_flags


class Profile(cProfile.Profile):
    """Records while a decorated function or a `with profile:` runs, or from enable() to disable()."""

    _depth = 0

    def enable_by_count(self, subcalls=True, builtins=True):
        self._depth += 1
        if self._depth == 1:
            self.enable(subcalls=subcalls, builtins=builtins)

    def disable_by_count(self):
        if self._depth:
            self._depth -= 1
            if self._depth == 0:
                self.disable()

    def __enter__(self):
        self.enable_by_count()
        return self

    def __exit__(self, *exception):
        self.disable_by_count()

    def __call__(self, function):
        """The function, recorded while it runs; what is no function comes back as it is."""
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self(function.__func__))
        if isinstance(function, property):
            parts = (function.fget, function.fset, function.fdel)
            return property(*(part and self(part) for part in parts), function.__doc__)
        if isinstance(function, type) or not callable(function):
            return function
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        if flags & COROUTINE:
            return _coroutine(self, function)
        if flags & ASYNC_GENERATOR:
            return _async_generator(self, function)
        if flags & GENERATOR:
            return _generator(self, function)
        return _plain(self, function)

    def snapshot_stats(self):
        """As cProfile's, without the methods and wrappers of this file."""
        super().snapshot_stats()
        self.stats = {
            function: (*numbers, {who: n for who, n in callers.items() if not _is_own(who)})
            for function, (*numbers, callers) in self.stats.items()
            if not _is_own(function)
        }

    def report(self):
        text = io.StringIO()
        stats = _pstats().Stats(self, stream=text)
        stats.strip_dirs().sort_stats("stdname").print_stats()
        return text.getvalue()


def _is_own(function):
    file, _, name = function
    return file == __file__ or name == "<method 'disable' of '_lsprof.Profiler' objects>"


def _pstats():
    """The standard library's, whatever the program has of that name. The program has ended."""
    sys.path[:] = PATH
    sys.modules.pop("pstats", None)
    import pstats

    return pstats


def _plain(profile, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with profile:
            return function(*args, **kwargs)

    return wrapper


def _step(profile, resume, *args):
    with profile:
        return resume(*args)


def _drive(profile, body):
    """Yields what a generator or coroutine yields; it is recorded while it runs itself."""
    resume, args = body.send, (None,)
    while True:
        try:
            item = _step(profile, resume, *args)
        except StopIteration as end:
            return end.value
        try:
            resume, args = body.send, ((yield item),)
        except GeneratorExit:
            _step(profile, body.close)
            raise
        except BaseException as error:
            resume, args = body.throw, (error,)


class _Awaitable:
    def __init__(self, profile, body):
        self.profile, self.body = profile, body

    def __await__(self):
        return _drive(self.profile, self.body)


def _generator(profile, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return (yield from _drive(profile, function(*args, **kwargs)))

    return wrapper


def _coroutine(profile, function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        return await _Awaitable(profile, function(*args, **kwargs))

    return wrapper


def _async_generator(profile, function):
    @functools.wraps(function)
    async def wrapper(*args, **kwargs):
        body = function(*args, **kwargs)
        resume, given = body.asend, None
        while True:
            try:
                item = await _Awaitable(profile, resume(given).__await__())
            except StopAsyncIteration:
                return
            try:
                resume, given = body.asend, (yield item)
            except GeneratorExit:
                await _Awaitable(profile, body.aclose().__await__())
                raise
            except BaseException as error:
                resume, given = body.athrow, error

    return wrapper


def make():
    return Profile()
