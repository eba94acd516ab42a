# SPDX-License-Identifier: MIT
"""The commands `clineprof attach` and `clineprof dump`."""
import contextlib
import functools
import json
import os
import re
import select
import signal
import socket
import sys
import time
from argparse import ArgumentTypeError

from clineprof import _boot
from clineprof._attach import COUNTERS, MEMORY, SOURCES, doors
from clineprof._attach.place import Folder, Refused, Target
from clineprof._boot import files
from clineprof._boot.parser import Parser
from clineprof._boot.targets import cut

ME = "clineprof"
GRACE = 60.0  # seconds that writing the profile may take
PROFILE = "profile.lprof"  # of a target that is not allowed to write where we are
LONGEST_MESSAGE = 1 << 26  # bytes of what a target says at once
LARGEST_PROFILE = 1 << 28  # bytes that are taken from another user's process
LONGEST_NAME = 200  # bytes of a program's name; a file's name may have 255, and more is put behind it
VALUED = re.compile(r"-[^-cmWX]*([cmWX])(.*)", re.DOTALL)  # an option of the interpreter that has a value

# What the target executes. It may come to it late, when nobody waits any more; then it only cleans up. A fork of it may
# come to it, too, and does nothing. The names that it uses are not seen by the program, as the door gives the script a
# namespace of its own, in which gdb's door puts `page`.
#
# The handlers of the program's signals run in the main thread between two instructions, and what they raise must reach
# the program. So signals with a handler wait: until begin() has ended, or until the folder is removed here.
#
# A module that the program's folder has under the name of one of the standard library may be why clineprof cannot be
# imported. So the failure is told by modules that are part of the interpreter.
SCRIPT = """\
import _signal, os, sys, time
mask = _signal.pthread_sigmask(
    _signal.SIG_BLOCK, [number for number in _signal.valid_signals() if callable(_signal.getsignal(number))])
try:
    if os.getpid() != {pid}:
        pass
    elif time.time() > {deadline!r}:
        for name in os.listdir({here!r}):
            os.unlink({here!r} + name)
        os.rmdir({here!r})
    else:
        try:
            sys.path.insert(0, {package!r})
            try:
                import clineprof._attach.window
                sys.modules["clineprof._boot"].core()
            finally:
                sys.path.remove({package!r})
        except BaseException as error:
            import _json, _socket
            text = "it cannot import clineprof: %s: %s" % (type(error).__name__, error)
            connection = _socket.socket(_socket.AF_UNIX)
            connection.connect({here!r} + "socket")
            connection.sendall(b'{{"failed": %s}}\\n' % _json.encode_basestring_ascii(text).encode())
            connection.close()
        else:
            held, mask = mask, None
            sys.modules["clineprof._attach.window"].begin_soon({here!r} + "request.json", held, globals().get("page"))
finally:
    if mask is not None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
"""


def main(words):
    """Runs the command, and returns the exit code. `words` is the whole command line, ["clineprof", "attach", ..] or
    ["clineprof", "dump", ..]."""
    name = "%s %s" % (ME, words[1])
    try:
        options = PARSERS[words[1]](name).parse_args(words[2:])
        return COMMANDS[words[1]](options).run()
    except Refused as error:
        _boot.complain(name, str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    except SystemExit as error:
        return error.code or 0


def _parser(name, text, **more):
    parser = Parser(prog=name, usage="%s [options] PID" % name, add_help=False, description=text, **more)
    parser.add_argument("pid", type=_number, metavar="PID", help="the process's number")
    parser.add_argument("--wait", type=_seconds, default=10.0, metavar="N",
                        help="how long to wait until the process runs Python code (default: 10)")
    parser.add_argument("-h", "--help", action="help", help="print this help")
    return parser


def _attach_parser(name):
    parser = _parser(name, "Profiles a process that runs already, line by line, and leaves it as it was.",
                     epilog="Without -p: all functions of files outside the standard library and site-packages.")
    add = parser.add_argument
    add("-p", "--prof-mod", action="append", default=[], metavar="WHAT",
        help="profile this file, folder, module, class or function; repeatable, or with commas")
    add("--exclude", action="append", default=[], metavar="PATTERN", help="leave out names and paths like this")
    add("-s", "--seconds", type=_seconds, default=10.0, metavar="N", help="how long to count (default: 10)")
    add("-o", "--outfile", metavar="FILE", help="write the profile to FILE (default: PROGRAM-PID.lprof)")
    add("-v", "--view", action="store_true", help="print the report")
    add("--memory", type=_one_of(MEMORY), default=True, metavar="MODE",
        help="off, rss, anon; slow uss, pss, tree (default: rss)")
    add("--no-memory", action="store_const", const="off", dest="memory", help="count hits and time only")
    add("--light", action="store_true", help="exact hits and sampled times, at little cost (Python 3.11 and newer)")
    add("--cpu", action="store_true", help="split times into CPU and waiting")
    add("--io", action="store_const", const=["io"], default=[], help="count bytes read and written")
    add("--counters", type=_some_of(COUNTERS), default=[], metavar="LIST",
        help="count faults, switches, or both: faults,switches")
    add("--tensors", action="store_true", help="count the memory of PyTorch's tensors on CUDA devices")
    add("--leaks", nargs="?", type=_epoch, const="calls", metavar="EPOCH",
        help="tell which lines leak (docs/memory.md)")
    add("--source", type=_one_of(SOURCES), default="functions", metavar="WHOSE",
        help="text: functions, files, none (default: functions)")
    return parser


def _dump_parser(name):
    return _parser(name, "Prints what each thread of a running process executes now, the innermost call first.")


def _one_of(names):
    def read(text):
        if text not in names:
            raise ArgumentTypeError("needs %s or %s, not '%s'" % (", ".join(names[:-1]), names[-1], text))
        return text

    return read


def _some_of(names):
    def read(text):
        words = text.split(",")
        if not set(words) <= set(names):
            raise ArgumentTypeError("takes %s, with commas between them, not '%s'" % (", ".join(names), text))
        return words

    return read


def _epoch(text):
    try:
        is_good = 0 < float(text) < 1e9
    except ValueError:
        is_good = text != ""
    if not is_good:
        raise ArgumentTypeError("needs calls, checkpoints, a number of seconds above 0 or the name of a function, not "
                                "'%s'" % text)
    return text


def _number(text):
    if not text.isdecimal() or not int(text):
        raise ValueError
    return int(text)


def _seconds(text):
    seconds = float(text)
    if not 0 < seconds < 1e9:
        raise ValueError
    return seconds


_number.__name__, _seconds.__name__ = "process number", "number of seconds"  # in argparse's messages


class Visit:
    """One request to a process, and what it answers."""

    def __init__(self, options):
        self.options = options
        self.target = Target(options.pid)
        self.buffer = b""
        self.is_late = False  # the target may still come to the request, and then removes it

    def run(self):
        """Returns the exit code. Raises Refused."""
        package = _package(self.target)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        open_door = doors.door(self.target)
        folder = None
        try:
            with _uninterrupted():
                folder = Folder(self.target)
            with socket.socket(socket.AF_UNIX) as listener:
                folder.bind(listener, "socket")
                listener.listen(1)
                self._ask(folder, package, time.time() + self.options.wait)
                try:
                    with _uninterrupted():
                        open_door(self.target, folder)
                    connection = self._accept(listener)
                except KeyboardInterrupt:
                    self._take_back(folder, package)
                    raise
                with connection:
                    return self.talk(connection, folder)
        finally:
            if folder is not None and not self.is_late:
                folder.remove()

    def _ask(self, folder, package, deadline):
        request = {"deadline": deadline, "socket": folder.inside("socket"), "folder": folder.inside(""),
                   **self.request(folder)}  # fmt: skip
        folder.write("request.json", json.dumps(request))
        folder.write("script.py", SCRIPT.format(pid=self.target.own_pid, package=package, here=folder.inside(""),
                                                deadline=deadline))  # fmt: skip

    def _take_back(self, folder, package):
        """The target has been asked, and may come to it any time. Then it does nothing but remove the folder."""
        try:
            self._ask(folder, package, 0)
            self.is_late = self.target.is_there()
        except Refused:
            pass  # it has removed the folder already

    def _accept(self, listener):
        end = time.monotonic() + self.options.wait
        while time.monotonic() < end:
            ready, _, _ = select.select([listener], [], [], 0.1)
            if ready:
                return listener.accept()[0]
            if not self.target.is_there():
                raise Refused("process %d has ended" % self.target.pid)
        self.is_late = self.target.is_there()
        raise Refused("process %d ran no Python code for %g s, so nothing is done; it waits, is in C code, or is stopped"
                      % (self.target.pid, self.options.wait))

    def next(self, connection, kind, seconds):
        """What the next message says, which is of this kind. Raises Refused if there is none within so many seconds, or
        if it tells of a failure."""
        end = time.monotonic() + seconds
        parts = [self.buffer]
        while b"\n" not in parts[-1]:
            try:
                ready, _, _ = select.select([connection], [], [], max(0.0, end - time.monotonic()))
                more = connection.recv(1 << 16) if ready else None
            except OSError:
                more = b""
            if more == b"":
                raise Refused("process %d has ended%s" % (self.target.pid, self.rescue()))
            if more is None:
                raise Refused("process %d does not answer" % self.target.pid)
            parts.append(more)
            if sum(map(len, parts)) > LONGEST_MESSAGE:
                raise Refused("process %d does not answer as clineprof does: it says too much" % self.target.pid)
        line, _, self.buffer = b"".join(parts).partition(b"\n")
        with self.understood():
            message = json.loads(line)
            if "failed" not in message:
                return message[kind]
            failed = str(message["failed"])
        raise Refused("process %d: %s" % (self.target.pid, failed))

    @contextlib.contextmanager
    def understood(self):
        """Refuses what is no answer of clineprof: another user's program may say what it likes."""
        try:
            yield
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise Refused("process %d does not answer as clineprof does: %s" % (self.target.pid, error)) from None


class Attachment(Visit):
    """`clineprof attach`."""

    def __init__(self, options):
        super().__init__(options)
        self.outfile = os.path.abspath(options.outfile or "%s-%d.lprof" % (_name(options.pid), options.pid))
        if _boot.core().refuses(ME + " attach", self.outfile, "profile"):
            raise SystemExit(1)
        try:
            _boot.core().probe(self.outfile)
        except OSError as error:
            raise Refused("cannot write '%s': %s" % (self.outfile, error.strerror)) from None
        # the target's user may not be allowed to write where we are, or sees other files there
        self.collects = bool(self.target.root) or self.target.uid != os.geteuid()

    def request(self, folder):
        options = self.options
        return {
            "outfile": folder.inside(PROFILE) if self.collects else self.outfile,
            "targets": [os.path.abspath(word) if os.path.exists(word) else word for word in cut(options.prof_mod)],
            "exclude": options.exclude, "seconds": options.seconds, "memory": options.memory,
            "cpu": options.cpu, "leaks": options.leaks, "source": options.source,
            "counters": ",".join(options.io + options.counters), "tensors": options.tensors, "light": options.light,
        }  # fmt: skip

    def talk(self, connection, folder):
        for number in signal.SIGINT, signal.SIGTERM:
            signal.signal(number, lambda number, frame: self.interrupt(connection))
        began = self.next(connection, "began", GRACE)
        with self.understood():
            count, unmatched, lacks = int(began["functions"]), map(str, began["unmatched"]), map(str, began["lacks"])
        for target in unmatched:
            _boot.complain(ME + " attach", "-p %s: no loaded code matches so far" % target)
        sys.stderr.write("Counting in %d function%s of process %d for %g s; Ctrl-C ends it early\n" % (
            count, "s" * (count != 1), self.target.pid, self.options.seconds))  # fmt: skip
        path = self.next(connection, "wrote", self.options.seconds + GRACE)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.collects:
            path = self._collect(folder)
        try:
            return self._show(path)
        finally:
            for text in lacks:
                _boot.complain(ME + " attach", text)

    def _collect(self, folder):
        """Writes the profile of another user's process as ours, and returns its path. What is no profile is not copied."""
        content = folder.read(PROFILE, LARGEST_PROFILE)
        try:
            _boot.core().merge(content)
        except ValueError as error:
            raise Refused("process %d wrote no profile: %s" % (self.target.pid, error)) from None
        path = files.save(self.outfile, content, functools.partial(_boot.complain, ME + " attach"), rights=0o600)
        if path is None:
            raise SystemExit(1)
        return path

    def interrupt(self, connection):
        """Ctrl-C asks the target to end its window."""
        try:
            connection.sendall(b'{"end": true}\n')
        except OSError:
            pass  # the target has ended, which the next message would tell

    def rescue(self):
        """How to get the counts of a target that was killed, in words."""
        live = self.outfile + ".live"
        return "; its counts are in '%s', which clineprof recover opens" % live if os.path.exists(live) else ""

    def _show(self, path):
        path = os.path.relpath(path) if path.startswith(os.getcwd() + "/") else path
        print("Wrote profile results to '%s'" % _boot.shown(path), flush=True)
        if self.options.view:
            return _boot.core().main("view", ["clineprof", path])
        print("Inspect results with:\nclineprof %s" % _boot.core().quoted(path))
        return 0


class Dump(Visit):
    """`clineprof dump`."""

    def request(self, folder):
        return {"dump": True}

    def talk(self, connection, folder):
        stacks = self.next(connection, "stacks", GRACE)
        with self.understood():
            stacks = [(str(name), ["%s:%s in %s" % tuple(call) for call in calls]) for name, calls in stacks]
        for i, (name, calls) in enumerate(stacks):
            print("\n" * (i != 0) + _boot.shown(name))
            for call in calls:
                print("    " + _boot.shown(call))
        sys.stdout.flush()
        return 0

    def rescue(self):
        return ""


PARSERS = {"attach": _attach_parser, "dump": _dump_parser}
COMMANDS = {"attach": Attachment, "dump": Dump}


def _package(target):
    """The folder of the package that the target can import. Raises Refused if there is none for its interpreter."""
    folder = os.path.abspath(__file__).rsplit("/", 3)[0]
    if not _has_module(folder, target.build):
        raise Refused("no clineprof module is built for %s (Python %d.%d), which process %d runs; %s" % (
            target.exe, *target.version, target.pid,
            _boot.remedy(folder).replace(sys.executable, _boot.core().quoted(target.exe))))  # fmt: skip
    if not _has_module(target.root + folder, target.build):
        raise Refused("process %d has a file system of its own, without the folder '%s'; mount it there, read-only"
                      % (target.pid, folder))
    return folder


def _has_module(folder, build):
    try:
        return any(name.startswith("_core.cpython-%s-" % build) for name in os.listdir(folder + "/clineprof"))
    except OSError:
        return False


@contextlib.contextmanager
def _uninterrupted():
    """Ctrl-C and SIGTERM, which raise KeyboardInterrupt, do so when this has ended well."""
    came = []
    before = {number: signal.signal(number, lambda number, frame: came.append(number))
              for number in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def _name(pid):
    """The name of the program, for the file of the profile: that of the script, or the module behind -m."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            words = iter(os.fsdecode(file.read()).split("\0")[1:])
    except OSError:
        words = iter(())
    for word in words:
        option = VALUED.match(word)
        kind, value = (option[1], option[2] or next(words, "")) if option else ("", word)
        if kind == "c":
            break
        if kind == "m" or not kind and not word.startswith("-") and word:
            return os.fsdecode(os.fsencode(os.path.basename(value))[:LONGEST_NAME]) or "python"
    return "python"
