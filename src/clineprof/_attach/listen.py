# SPDX-License-Identifier: MIT
"""A door for interpreters that have none of their own: a signal opens a window. While no signal comes, nothing runs and
nothing is slower: there is a handler, and a mapping of one page, by which the user's side knows that there is one."""
import mmap
import os
import signal as signals
import stat
import sys

from clineprof._attach import COUNTERS, MARK, MEMORY, PREFIX, SOURCES

RESERVED = signals.SIGRTMAX - 3  # debuggers and libraries take the first of these signals, if any

_marks = []  # the mappings; they stay until the process ends


def listen(signal=None, *, seconds=10.0, targets=(), exclude=(), memory=True, leaks=None, source="functions",
           cpu=False, counters="", tensors=False, light=False, outfile=None):
    """Lets the signal (by default SIGUSR2) open a window: for some seconds the functions that the targets name are
    counted, and a profile is written. Each further signal opens another window, with a file of its own. `clineprof
    attach` opens windows, too, and then says itself what is counted, how long, and where the profile goes.

    targets, exclude: lists of str, as ckernprof's -p and --exclude take them; no target: all functions of files outside
    the standard library and site-packages
    memory, leaks, source, cpu, counters, tensors: as those of Profiler
    light: exact hits and sampled times, at little cost; as Profiler(tracer="light")
    outfile: the file of the profile, into whose name the number of the window is put; by default it is named after the
    program and the process

    Must be called in the main thread. Raises ValueError elsewhere, for a signal that cannot be handled, and if the
    program has a handler for it; TypeError for wrong types.
    """
    number = signals.SIGUSR2 if signal is None else signals.Signals(signal) if signal in set(signals.Signals) else signal
    seconds = float(seconds)
    if not 0 < seconds < 1e9:
        raise ValueError("seconds must be above 0, not %r" % seconds)
    for name, value, known in ("memory", memory, (True, False, None, *MEMORY)), ("source", source, SOURCES):
        if value not in known:
            raise ValueError("%s is one of %s, not %r" % (name, ", ".join(map(repr, known)), value))
    if not set(filter(None, counters.split(","))) <= set(COUNTERS):
        raise ValueError("counters are names of %s, with commas between them, not %r" % (", ".join(COUNTERS), counters))
    there = signals.getsignal(number)
    if there not in (signals.SIG_DFL, signals.SIG_IGN) and not isinstance(there, _Handler):
        raise ValueError("the program has a handler for signal %d already" % number)
    request = {
        "seconds": seconds, "targets": list(map(os.fspath, targets)), "exclude": list(map(os.fspath, exclude)),
        "memory": memory, "leaks": None if leaks is None else str(leaks), "source": source,
        "cpu": bool(cpu), "counters": counters, "tensors": bool(tensors), "light": bool(light),
        "outfile": os.path.abspath(os.fspath(outfile)) if outfile is not None else None,
    }  # fmt: skip
    signals.signal(number, _Handler(request))
    _mark(number)


def _mark(number):
    """Maps a page whose name in /proc/PID/maps says that this process listens, and to which signal."""
    name = MARK.rpartition(":")[2] + "%d" % number
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, mmap.PAGESIZE)
        _marks.append(mmap.mmap(descriptor, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ))
    finally:
        os.close(descriptor)


def at_start(always=False):
    """Called at the start of the interpreter, and where clineprof is imported. CLINEPROF_SIGNAL=USR2 listens to this
    signal as listen() does. CLINEPROF_ATTACH=1, or a larger number of a signal, lets only `clineprof attach` in."""
    name, attach = os.environ.get("CLINEPROF_SIGNAL", ""), os.environ.get("CLINEPROF_ATTACH", "1" if always else "")
    try:
        if name:
            listen(_number(name))
        elif attach not in ("", "0"):
            number = int(attach) if int(attach) > 1 else RESERVED
            if signals.getsignal(number) == signals.SIG_DFL:
                signals.signal(number, _Handler(None))
                _mark(number)
    except (OSError, ValueError) as error:
        sys.stderr.write("clineprof: this process does not listen: %s\n" % error)


def _number(name):
    name = name.upper().removeprefix("SIG")
    number = int(name) if name.isdecimal() else getattr(signals, "SIG" + name, None)
    if number is None:
        raise ValueError("no signal is called %r" % name)
    return number


def _hold_signals():
    """Has signals wait for which the program has a handler. Handlers run in the main thread between two instructions,
    and what they raise must reach the program, not us. Returns the mask that lets them come again."""
    handlers = {number: signals.getsignal(number) for number in signals.valid_signals()}
    return signals.pthread_sigmask(signals.SIG_BLOCK, [
        number for number, handler in handlers.items() if callable(handler) and not isinstance(handler, _Handler)])


class _Handler:
    """What the interpreter calls in the main thread, between two instructions, after the signal has come."""

    def __init__(self, request):
        self.request = request
        self.count = 0
        self.has_come = self.is_answering = False

    def __call__(self, number, frame):
        self.has_come = True
        if self.is_answering:
            return  # the signal has come in the midst of ourselves
        try:
            mask = _hold_signals()
        except BaseException:  # another handler, which is the program's, has raised it
            signals.raise_signal(number)
            raise
        self.is_answering = True
        try:
            while self.has_come:
                self.has_come = False
                self._answer()
        except Exception as error:
            if self.request is not None and sys.stderr is not None:
                sys.stderr.write("clineprof: nothing is profiled: %s\n" % error)
        finally:
            self.is_answering = False
            signals.pthread_sigmask(signals.SIG_SETMASK, mask)  # what waited is handled now, and may raise

    def _answer(self):
        from clineprof._attach import window

        requests = _requests()
        for path in requests:
            window.begin(path)
        if not requests and self.request is not None:
            self.count += 1
            window.begin_own({**self.request, "outfile": self._outfile()})

    def _outfile(self):
        name, end = os.path.splitext(self.request["outfile"] or "")
        if not name:
            name, end = os.path.join(os.getcwd(), "%s-%d" % (os.path.basename(sys.argv[0] or "python"), os.getpid())), ".lprof"
        return "%s-%d%s" % (name, self.count, end)


def _requests():
    """The requests that `clineprof attach` has left for this process. Only folders of our own user, or of root, that
    nobody else can write to are trusted."""
    prefix = "%s%d-" % (PREFIX, os.getpid())
    found = []
    try:
        names = os.listdir("/tmp")
    except OSError:
        return found
    for name in names:
        path = os.path.join("/tmp", name)
        if name.startswith(prefix) and _is_trusted(path) and os.path.exists(path + "/request.json"):
            found.append(path + "/request.json")
    return found


def _is_trusted(path):
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid in (os.geteuid(), 0) and not about.st_mode & 0o077
