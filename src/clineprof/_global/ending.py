# SPDX-License-Identifier: MIT
"""Prints and writes the profile at the end of a process in which clineprof.profile is on, and decides which of the
process's forks does that."""
import atexit
import os
import re
import sys
import time

from clineprof import _boot, _children
from clineprof._boot import files

PATIENCE = 2  # seconds that a daemon waits for the owner to end
LOOKS = 100  # how often it looks in a second
SOON = 0.05  # seconds after a fork; an owner that ends within them leaves its counts to the heir
UNIT = 1e-6  # seconds: the default unit of times, in the terminal, in files and in the viewer


def begin(profile, counts_others):
    """Makes the profiler and its ending, and returns (Profiler, Ending). `counts_others`: the other processes of the
    program are counted, too."""
    profiler = _boot.core().Profiler("light" if profile.light else None, source=profile.source)
    ending = Ending(profile, profiler, counts_others)
    atexit.register(ending.at_exit)
    os.register_at_fork(after_in_child=ending.after_fork)
    ending.take_part()
    return profiler, ending


def content(profiler):
    """The profiler's counts as the content of a .lprof file."""
    return profiler.render("lprof", command=_boot.command(sys.argv))


class Ending:
    """What is due at the end of a process. The process that switched `profile` on (the owner) prints and writes; its
    children do not. A fork that outlives the owner, as a daemon does, is its heir: it writes in the owner's place, to
    files of its own if the owner has written some, and prints nothing."""

    def __init__(self, profile, profiler, counts_others):
        self.profile, self.profiler = profile, profiler
        self.folder = _working_folder()
        self.began = time.time()
        self.process = None if _is_worker() else _boot.core().identity()
        self.is_worker = False  # this is a worker process of a program that is not profiled itself
        self.is_server = counts_others and _children.is_server()  # this process only forks others
        self.suffix = _boot.core().rank()  # of the files' names, before their endings
        self.rights = files.program_rights()
        self.session = os.getsid(0)
        self.forked_from = self.forked_at = None  # the owner's identity, and when the fork was made
        self.lost = False  # a file could not be written anywhere
        self.has_names = False  # the names of the files are this process's alone
        self.written = set()  # the paths, as they are shown, of files that this process has written
        self.ended = False
        self._make_folder()
        outfile, family = self._find_place(counts_others)
        led = _together().led if family and self.forked_from is None else None
        self.recording = _boot.core().Recording(
            profiler, outfile, self.rights, _boot.command(sys.argv), family, self.is_worker, self.is_server, led and led[1])

    def _find_place(self, counts_others):
        """Returns (outfile, family), which core.Recording takes. The outfile is None if its folder is missing, or if no
        .lprof file is to be written. The family is None if this process counts alone."""
        first = _together().first() if counts_others else None
        if first is not None:
            self.forked_from, self.process = first[0], None
            self.began = 0  # any file at the output counts as another process's: the first one may have written
            return first[2], first[1]
        led = _together().led if counts_others else None
        if led is not None and self._has_place():
            self.began = _together().led_since
            if self._is_taken():  # by another server, which has ended since
                self._take_own_name()
            return self._path(), led[0]
        if counts_others and (self.process is None or _is_forked()) and not self.is_server:
            self.is_worker, self.process = True, _boot.core().identity()
        has_place = self.process is not None and self._has_place()
        return self._path() if has_place else None, "" if counts_others else None

    def take_part(self):
        """Lets the processes that this one starts count, too; takes the files' names from the recording; and prepares
        the end of a worker. To be called when at_exit and after_fork are registered."""
        is_first, outfile = self.forked_from is None, self.recording.outfile
        if self.recording.family is not None:
            _together().begin(self.recording, is_first)
        if is_first and outfile is not None:
            self._take_names(outfile)
        if self.is_worker:
            self._begin_worker()

    def _begin_worker(self):
        """Makes sure that a worker writes at its end, because multiprocessing ends its forks without atexit; and tells
        where its counts are, because a worker may be killed."""
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, self.at_exit, exitpriority=-1000)
        if self.recording.outfile is not None:
            outfile = self._from_folder(self.recording.outfile)
            _complain("worker process %d counts into '%s.live'; when it ends by itself it writes '%s'"
                      % (os.getpid(), outfile, outfile))  # fmt: skip

    def _from_folder(self, path):
        return os.path.relpath(path, self.folder) if self.folder else path

    def _take_names(self, outfile):
        """Names the files after the outfile, which this process has alone."""
        self.has_names = True
        self.suffix = outfile[len(os.path.join(self.folder, self.profile._setting("output_prefix"))):-len(".lprof")]

    def _prefix(self):
        return self.profile._setting("output_prefix") + self.suffix

    def _path(self):
        return os.path.join(self.folder, self._prefix() + ".lprof")

    def _make_folder(self):
        """Makes the folder of the files if it is missing; but not the working directory, which was there. If that fails,
        the files will go to the temporary folder."""
        try:
            if os.path.isdir(self.folder):
                os.makedirs(os.path.dirname(self._path()), exist_ok=True)
        except OSError:
            pass

    def _has_place(self):
        return self._writes("lprof") and os.path.isdir(os.path.dirname(self._path()))

    def after_fork(self):
        if self.forked_from is None:
            self.forked_from, self.forked_at = self.process, time.time()
        self.process = None
        self.has_names = False  # the names are the parent's
        if self.recording.family is None:
            self.profiler.after_fork()

    def at_exit(self):
        if self.ended:
            return
        self.ended = True
        if self.process is None and not self._is_heir():
            self.recording.leave()
            return
        self.recording.stop()
        if self.process is not None:
            self.show()
        else:
            self._write_files()
            self._remove_parents()
        self.recording.close(not self.lost)

    # ---- what is written ----

    def show(self):
        written = self._write_files() if self.process is not None else None
        if written is None:
            return
        told = self._terminal() if self._writes("stdout") and not self.is_worker else ""
        for path in written:
            told += "Wrote profile results to %s\n" % _boot.shown(path)
            if path.endswith(".lprof"):
                told += "To view details run:\n%s\n" % _boot.shown("%s -%stmz %s" % (
                    _viewer(), "r" * _has_rich(), _boot.core().quoted(path)))
        _print(told)

    def _write_files(self):
        """Writes what was counted so far, and returns the paths of the files. None if the files of an earlier run stay
        as they are."""
        self._make_folder()  # output_prefix may be another one by now
        self.recording.gather(_boot.command(sys.argv))
        if not self.has_names and self._is_taken():
            self._take_own_name()
        if self._leaves_earlier():
            return None
        written = [self._write(path, content) for path, content in self._files()]
        return [path for path in written if path is not None]

    def files(self):
        """The paths of the files that will be written, except the one with the time in its name."""
        return [os.path.join(self.folder, path) for path in self._names() if self.process is not None]

    def _names(self):
        """The paths of the files that will be written, as they are shown to the user."""
        ends = {".txt": self._writes("text"), ".lprof": self._writes("lprof")}
        return [self._prefix() + end for end in ends if ends[end]]

    def _leaves_earlier(self):
        """If no line has run, keeps the profile of an earlier run, says so, and returns true."""
        earlier = [path for path in self._names() if _has_content(os.path.join(self.folder, path))]
        if not earlier or not self.recording.is_idle():
            return False
        _complain("nothing was profiled, and '%s' stays as it was: no function marked with @profile was called"
                  % earlier[-1])  # fmt: skip
        return True

    def _writes(self, what):
        return self.profile._setting("write_config")[what]

    def _terminal(self):
        if self.profile._setting("show_config")["rich"]:
            from clineprof._report import terminal

            paper, _ = terminal.paper()
            if paper is not None:
                return paper.painted(self._text(marked=True))
        return self._text()

    def _text(self, **more):
        try:
            return self._rendered({**self.profile._setting("show_config"), **more})
        except (TypeError, ValueError) as error:
            _complain("profile.show_config is not used: %s" % error)
            self.profile.show_config = {"rich": False}
            return self._rendered({**self.profile._setting("show_config"), **more})

    def _rendered(self, config):
        config["unit"] = config.pop("output_unit", None) or ("auto" if config.get("marked") else UNIT)
        config["skip_zero"] = config.pop("stripzeros", False)
        config.pop("rich", None)
        return self.recording.render("text", folder=_working_folder() or None, **config)

    def _files(self):
        """(path as it is shown, content) of each file to write."""
        prefix = self._prefix()
        if self._writes("text") or self._writes("timestamped_text"):
            text = self._text(details=True).encode()
            if self._writes("text"):
                yield prefix + ".txt", text
            if self._writes("timestamped_text"):
                yield "%s_%s.txt" % (prefix, time.strftime("%Y-%m-%dT%H%M%S")), text
        if self._writes("lprof"):
            yield prefix + ".lprof", self.recording.render("lprof")

    def _write(self, path, content):
        """Writes a file, or else puts it into the temporary folder. Returns its path; None if both fail."""
        written = files.save(path, content, _complain, self.folder, self.rights)
        self.written.add(written)
        self.lost |= written is None
        return written

    # ---- an heir ----

    def _is_heir(self):
        return self.forked_from is not None and not self.is_server and self._is_orphan()

    def _is_orphan(self):
        """Has the owner ended? A daemon, which has a session of its own, waits up to PATIENCE for that, because it may
        end before the process that started it."""
        if self.forked_from[2] != _boot.core().identity()[2]:
            return False  # the owner is on another machine or in another pid namespace, where its number means nothing
        looks = PATIENCE * LOOKS if os.getsid(0) != self.session else 0  # the program's clock may stand still
        while _runs(self.forked_from):
            if looks == 0:
                return False
            looks -= 1
            time.sleep(1 / LOOKS)
        return True

    def _remove_parents(self):
        """Removes the owner's live file if the owner has ended by os._exit right after the fork, as a daemon's parent
        does. The heir's counts then include everything in that file."""
        from clineprof._profile import load

        if self.recording.outfile is None or self.recording.family is not None:
            return
        live = self.recording.outfile + ".live"
        try:
            meta = load(live).meta
            if meta["pid"] == int(self.forked_from[0]) and (
                    meta["start"] + meta["wall"] * 1e-9 < self.forked_at + SOON):  # fmt: skip
                os.unlink(live)
        except (OSError, ValueError):
            pass

    def _take_own_name(self):
        """Gives the files names with this process's number."""
        ending = ".lprof" if self._writes("lprof") else ".txt"
        before = os.path.join(self.folder, self._prefix())
        made = _boot.core().own_name(before + ending, self.rights)
        self.suffix += made[len(before):-len(ending)]

    def _is_taken(self):
        """Has another process written one of the files since this one began?"""
        for path in self._prefix() + ".lprof", self._prefix() + ".txt":
            try:
                written = os.stat(os.path.join(self.folder, path)).st_mtime
            except OSError:
                continue
            if written >= self.began and path not in self.written:
                return True
        return False


def _together():
    from clineprof._global import together

    return together


def _complain(text):
    _boot.complain("clineprof", text)


def _print(text):
    """Prints a text to sys.stdout. If the program has not replaced sys.stdout, the text goes straight to the
    descriptor: the buffer would try a closed pipe again when the interpreter ends, and change the exit code."""
    text = text.encode("utf-8", "backslashreplace").decode()
    out = sys.stdout
    try:
        if out is sys.__stdout__:
            _boot.core().print(text)
        elif out is not None:
            out.write(text)
    except (OSError, ValueError):  # nobody reads standard output any more, or it is closed
        pass


def _working_folder():
    try:
        return os.getcwd()
    except OSError:  # the folder was removed
        return ""


def _has_content(path):
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def _runs(identity):
    """Does this process of our pid namespace still run? Its start time is compared, too, as numbers are used again."""
    fields = _read("/proc/%s/stat" % identity[0]).rpartition(b")")[2].split()  # the fields behind the process's name
    return fields[:1] not in ([], [b"Z"], [b"X"]) and fields[19].decode() == identity[1]


def _is_forked():
    """Is this process a fork of a running process with the same Python, as the worker of a server is? A daemon's parent
    has ended, so a daemon does not count."""
    if not _children.is_forked():
        return False
    parent = "/proc/%d/" % os.getppid()
    try:
        return os.readlink(parent + "exe") == os.readlink("/proc/self/exe")
    except OSError:  # the parent is another user's, as when a worker gives up rights
        return _read(parent + "comm") == _read("/proc/self/comm")


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _is_worker():
    """Was this process started by multiprocessing, concurrent.futures or joblib, to import the program again? Such a
    process counts for itself, but only its parent prints and writes."""
    return any(
        word.startswith("--multiprocessing-fork")
        or re.search(r"\bfrom multiprocessing\.\w+ import (spawn_)?main;", word)
        or word.endswith("popen_loky_posix")
        for word in sys.orig_argv[1:]
    )


def _viewer():
    """The command that starts the viewer. In an application that PyInstaller or the like has frozen it is `clineprof`,
    because sys.executable is no interpreter."""
    return "clineprof" if getattr(sys, "frozen", False) else _boot.core().quoted(sys.executable) + " -m clineprof"


def _has_rich():
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True
