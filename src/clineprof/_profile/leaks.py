# SPDX-License-Identifier: MIT
"""assert_no_leaks: a test that calls something several times and fails where a line keeps memory."""
import gc
import types

_profiler = None  # made once and kept: two profilers cannot record at the same time


def assert_no_leaks(f, warmups=3, repeats=5, limit=None, functions=()):
    """Calls f() `warmups` times, then `repeats` times, and raises AssertionError, naming the lines,
    when one of them keeps more and more memory call by call (docs/memory.md: the criteria).

    Lines are those of f, if it is a Python function, and of `functions`; what these call is counted
    where they call it. limit: bytes by which a line may grow over the repeats; without one, the
    larger of 1 MiB and 1 % of the peak.
    """
    _check(f, warmups, repeats, limit)
    called = _call(f) if not isinstance(f, (types.FunctionType, types.MethodType)) else f
    watched = [*functions, called]
    profiler = _start(warmups, limit)
    try:
        for function in watched:
            profiler(function)
        for _ in range(warmups + repeats):
            called()
            gc.collect()
            profiler.checkpoint()
        leaks = _found(profiler)
    finally:
        profiler.stop_leaks()
        for function in watched:
            profiler.remove_function(getattr(function, "__func__", function))
    if leaks:
        raise AssertionError(_told(leaks, repeats))


def _check(f, warmups, repeats, limit):
    if not callable(f):
        raise TypeError("assert_no_leaks() needs something to call, not %r" % (f,))
    if warmups < 0:
        raise ValueError("warmups must not be negative")
    if not 5 <= repeats <= 1000000:
        raise ValueError("repeats must be at least 5: fewer calls prove nothing")
    if limit is not None and limit < 0:
        raise ValueError("limit is a number of bytes, not negative")


def _call(f):
    """Returns a Python function that calls f. Other callables have no lines that could be profiled."""

    def call():
        f()

    return call


def _start(warmups, limit):
    from clineprof._boot import core as module

    global _profiler
    core = module()
    if _profiler is None:
        if core.recording():
            raise RuntimeError("assert_no_leaks() cannot run while the process is profiled")
        _profiler = core.Profiler(memory=True, heap=1, leaks="checkpoints")
    _profiler.start_leaks(warmups, -1 if limit is None else int(limit))
    return _profiler


def _found(profiler):
    from clineprof._profile import Profile

    return Profile(profiler.snapshot()).leaks


def _told(leaks, repeats):
    lines = ["%d line%s leaked in %d call%s:" % (
        len(leaks), "s"[len(leaks) == 1 :], repeats, "s"[repeats == 1 :])]  # fmt: skip
    for leak in leaks:
        lines.append(
            "  %s:%d: %d bytes, %d per call: %s"
            % (leak["file"], leak["at"], leak["bytes"], leak["bytes_per_call"], leak["text"].strip())
        )
        if "held_by" in leak:
            lines.append("    held by " + leak["held_by"])
    return "\n".join(lines)
