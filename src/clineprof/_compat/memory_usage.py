# SPDX-License-Identifier: MIT
"""memory_usage and memit, with the arguments and results of memory_profiler's functions. The measured function runs
once, in this process, while a thread in C samples the size. No process is started or ended."""
import os
import time

from clineprof import _boot
from clineprof._mem.memfile import BACKENDS, MIB, child_row, sample_row

FINEST = 0.001  # seconds between the looks of the thread, if the interval is not shorter
FINEST_OF_CHILDREN = 0.01  # the same with child processes
FEWEST = 2  # how many intervals the samples of a function cover at least


def memory_usage(proc=-1, interval=.1, timeout=None, timestamps=False, include_children=False,
                 multiprocess=False, max_usage=False, retval=False, stream=None, backend=None,
                 max_iterations=None):  # fmt: skip
    """Resident memory in MiB of a process, or of this one while a function runs.

    proc: -1 (this process), the number of a process, a subprocess.Popen, a function, or a tuple
        (function, args, kwargs). The function is called once.
    interval: seconds between samples. The samples of a short function are closer together, so that
        there are some. Each sample is the largest size since the one before, so no peak is lost.
    timeout: how many seconds a process is sampled. Without a timeout a process that is given by its
        number gets one sample. A function is never interrupted.
    timestamps: return (MiB, seconds since 1970) in place of MiB.
    include_children: add the sizes of all descendants of the process.
    multiprocess: return [MiB, MiB of a child, ..] in place of MiB; not with a function.
    max_usage: return only the largest size.
    retval: return (the result, what the function returned).
    stream: a text file that gets rows of mprof's format; the result is then None.
    backend: "psutil" and "posix" measure the resident size, "psutil_pss" the proportional size and
        "psutil_uss" the unique size.
    max_iterations: has no effect here.
    """
    look = _Look(interval, timestamps or stream is not None, include_children, multiprocess,
                 max_usage, stream, _kind(backend))  # fmt: skip
    function = _function(proc)
    if function is not None:
        return look.at_function(*function, retval)
    if hasattr(proc, "pid") and hasattr(proc, "poll"):
        return look.at_process(proc.pid, timeout, proc.poll)
    return look.at_process(_number(proc), timeout if timeout is not None else interval, None)


def _kind(backend):
    if backend == "tracemalloc":
        raise RuntimeError("memory_usage has no tracemalloc backend; tracemalloc.get_traced_memory() "
                           "tells what Python's allocators gave")
    if backend is None:
        return "rss"
    if backend not in BACKENDS:
        raise ValueError("unknown backend %r; there are %s" % (backend, ", ".join(sorted(BACKENDS))))
    return BACKENDS[backend]


def _function(proc):
    """(function, args, kwargs) of `proc`; None if it names a process."""
    if callable(proc):
        return proc, (), {}
    if not isinstance(proc, (tuple, list)):
        return None
    if not 1 <= len(proc) <= 3 or not callable(proc[0]):
        raise ValueError("a function is given as (function, args, kwargs), not %r" % (proc,))
    return (*proc, *((), {})[len(proc) - 1:])


def _number(proc):
    try:
        pid = int(proc)
    except (TypeError, ValueError):
        raise ValueError("a process is given by its number, as a Popen object or as -1, not %r"
                         % (proc,)) from None
    if pid == -1:
        return os.getpid()
    if not 0 < pid < 1 << 31:
        raise ProcessLookupError("there is no process %d" % pid)
    return pid


class _Look:
    def __init__(self, interval, timestamps, children, multiprocess, max_usage, stream, kind):
        if not 0 <= interval < 1e9:
            raise ValueError("the interval is a number of seconds, 0 or more, not %r" % (interval,))
        self.interval, self.timestamps, self.children = max(interval, 1e-6), timestamps, children
        self.multiprocess, self.max_usage, self.stream = multiprocess, max_usage, stream
        self.kind = kind

    # ---- a function ----

    def at_function(self, function, args, kwargs, retval):
        finest = min(self.interval, FINEST_OF_CHILDREN if self.children else FINEST)
        sampler = _boot.core().Sampler(0, finest, self.children, self.kind)
        sampler.start()
        try:
            returned = function(*args, **kwargs)
        finally:
            sampler.stop()
        sampler.look()
        samples = [(sum(size for _, size in sizes) / MIB, at) for at, sizes in sampler.take()]
        found = [max(samples)] if self.max_usage else _thinned(samples, self.interval, finest)
        if self.stream is not None:
            self.stream.writelines(sample_row(*sample) for sample in found)
            return None
        if not self.timestamps:
            found = [size for size, _ in found]
        result = found[0] if self.max_usage else found
        return (result, returned) if retval else result

    # ---- a process ----

    def at_process(self, pid, timeout, poll):
        left = None if timeout is None else max(int(round(timeout / self.interval)), 0)
        result = -1 if self.max_usage else []
        first = True
        while left is None or left > 0:
            try:
                sizes = _boot.core().sizes(pid, self.children or self.multiprocess, self.kind)
            except ProcessLookupError:
                if first and poll is None:
                    raise ProcessLookupError("there is no process %d" % pid) from None
                break
            result = self._take(result, sizes, time.time())
            first = False
            time.sleep(self.interval)
            left = None if left is None else left - 1
            if poll is not None and poll() is not None:
                break
        return None if self.stream is not None else result

    def _take(self, result, sizes, now):
        sizes = [(pid, size / MIB) for pid, size in sizes]
        total = sum(size for _, size in sizes) if self.children else sizes[0][1]
        if self.max_usage:
            return max(result, total)
        if self.stream is not None:
            self.stream.write(sample_row(total, now))
            if self.multiprocess:
                self.stream.writelines(child_row(pid, size, now) for pid, size in sizes[1:])
            return result
        sample = (total, now) if self.timestamps else total
        result.append([sample, *(size for _, size in sizes[1:])] if self.multiprocess else sample)
        return result


def _thinned(samples, interval, finest):
    """The first and the last sample, and between them the largest sample of each interval. The interval is divided by
    ten until there are at least FEWEST intervals."""
    start, end = samples[0][1], samples[-1][1]
    while (end - start) / interval < FEWEST and interval > finest:
        interval /= 10
    found = {}
    for sample in samples[1:-1]:
        place = int((sample[1] - start) / interval)
        if place not in found or sample > found[place]:
            found[place] = sample
    return [samples[0], *found.values(), samples[-1]]


class MemitResult:
    """The result of memit, sizes in MiB. mem_usage: the largest size of each run; baseline: the size before."""

    def __init__(self, mem_usage, baseline, repeat, timeout, interval, include_children):
        self.mem_usage, self.baseline, self.repeat = mem_usage, baseline, repeat
        self.timeout, self.interval, self.include_children = timeout, interval, include_children

    def __str__(self):
        highest = max(self.mem_usage)
        return "peak memory: %.02f MiB, increment: %.02f MiB" % (highest, highest - self.baseline)

    def _repr_pretty_(self, printer, cycle):
        printer.text("<MemitResult : %s>" % self)


def memit(statement, namespace=None, setup="pass", repeat=1, timeout=None, interval=.1,
          include_children=False):  # fmt: skip
    """Runs a statement (a text or a callable) `repeat` times, and returns how large this process became, a MemitResult,
    which can be printed. The setup runs first and is not measured."""
    import gc

    namespace = {} if namespace is None else namespace
    code = statement if callable(statement) else compile(statement, "<memit>", "exec")
    gc.collect()
    exec(setup, namespace)
    work = code if callable(code) else (exec, (code, namespace))
    baseline = memory_usage(include_children=include_children)[0]
    usage = [
        memory_usage(work, interval=interval, max_usage=True, include_children=include_children)
        for _ in range(max(repeat, 1))
    ]
    return MemitResult(usage, baseline, repeat, timeout, interval, include_children)
