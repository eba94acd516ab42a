# SPDX-License-Identifier: MIT
"""The end of a process in which clineprof.profile is on: what is printed and written, and by which of
the processes that came out of it."""
import atexit
import os
import re
import sys
import time

from clineprof import _boot, _children
from clineprof._boot import files

PATIENCE = 2  # seconds
SOON = 0.05  # seconds
UNIT = 1e-6  # seconds: of the terminal, of the files and of the viewer


def begin(profile, usual, counts_others):
    """(Profiler, Ending), set up. usual: {name: what output_prefix, write_config and show_config were at first};
    what they lack now is as it was then. counts_others: with the other processes of the program."""
    profiler = _boot.core().Profiler()
    ending = Ending(profile, usual, profiler)
    atexit.register(ending.at_exit)
    os.register_at_fork(after_in_child=ending.after_fork)
    if not (counts_others and ending.count_others()):
        ending.keep()
    return profiler, ending


def content(profiler):
    """A profile as the content of a file."""
    return profiler.render("lprof", command=_command())


def _command():
    return " ".join(map(_boot.core().quoted, sys.argv))


class Ending:
    """Who writes: the process that enabled the profile, and no child of it. A fork that outlives it, as
    a daemon does, writes in its place, beside its files if there are any, and prints nothing."""

    def __init__(self, profile, usual, profiler):
        self.profile, self.profiler = profile, profiler
        self.usual = usual
        self.folder = _working_folder()
        self.began = time.time()
        self.process = None if _is_worker() else _boot.core().identity()
        self.is_worker = False  # of a program that is not profiled itself
        self.suffix = _boot.core().rank()  # of the files' names
        self.rights = files.program_rights()
        self.session = os.getsid(0)
        self.forked_from = self.forked_at = self.live = None
        self.together = None  # a together.Together
        self.sum = None  # bytes of a file: what all of them have counted
        self.lost = False  # a file that was to be written is not
        self.has_names = False  # .. that no other process writes
        self.written = set()  # names of files
        self.ended = False

    def count_others(self):
        """The processes of the program are counted together, each in a live file of its own. False
        where that cannot be."""
        from clineprof._global import together

        first = together.first()
        if first is not None:
            self.forked_from, self.process = first[0], None
            self.began = 0  # long after the first one, which may have written since
        elif (self.process is None or _is_forked()) and not _children.is_server():
            self.is_worker, self.process = True, _boot.core().identity()
        if first is not None or (self.process is not None and self._has_place()):
            self.together = together.begin(self.profiler, self._path(), self.rights, self.is_worker, _command())
        if self.together is not None and first is None:
            self._take_names(self.together.outfile)
        if self.is_worker:
            self._begin_worker()
        return self.together is not None

    def _begin_worker(self):
        """It may be ended without a word, and multiprocessing ends its forks without atexit."""
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            util.Finalize(None, self.at_exit, exitpriority=-1000)
        if self.together is not None:
            _boot.complain("clineprof", "worker process %d counts into '%s'; when it ends by itself it writes '%s'"
                           % (os.getpid(), self._from_folder(self.together.live),
                              self._from_folder(self.together.outfile)))  # fmt: skip

    def _from_folder(self, path):
        return os.path.relpath(path, self.folder) if self.folder else path

    def _take_names(self, outfile):
        """The files are called by the outfile that this process has alone."""
        self.has_names = True
        self.suffix = outfile[len(os.path.join(self.folder, self._output())):-len(".lprof")]

    def keep(self):
        """What is counted lies in a live file beside the profile to be, however the process dies. Where
        there is no place for it, or there will be no such file, there is none."""
        if self.process is not None and self._has_place():
            names = _boot.core().keep(self.profiler, self._path(), self.rights, _command())
            if names is not None:
                outfile, self.live = names
                self._take_names(outfile)

    def _prefix(self):
        return self._output() + self.suffix

    def _output(self):
        return self._setting("output_prefix", files.file_prefix)

    def _path(self):
        return os.path.join(self.folder, self._prefix() + ".lprof")

    def _has_place(self):
        return self._writes("lprof") and os.access(os.path.dirname(self._path()), os.W_OK)

    def after_fork(self):
        if self.forked_from is None:
            self.forked_from, self.forked_at = self.process, time.time()
        self.process = None
        if self.together is None:
            self.profiler.after_fork()

    def at_exit(self):
        if self.ended:
            return
        self.ended = True
        if self.process is not None:
            self.show()
            _boot.core().keep_end(not self.lost)
        elif self._is_heir():
            self._gather()
            self._write_as_heir()
        elif self.together is not None:
            self.together.leave()
            return
        if self.together is not None:
            self.together.end(not self.lost)

    def _gather(self):
        self.sum = self.together and self.together.gather(_command())

    def _render(self, format, **config):
        if self.sum is not None:
            config["of"] = self.sum
        return self.profiler.render(format, **config)

    # ---- the owner ----

    def show(self):
        if self.process is None:
            return
        self._gather()
        if not self.has_names and self._is_taken():
            self._take_own_name()
        if self._leaves_earlier():
            return
        prefix = self._prefix()
        told = self._terminal() if self._writes("stdout") and not self.is_worker else ""
        for path, bytes_ in self._files(prefix):
            path = self._write(path, bytes_)
            if path:
                told += "Wrote profile results to %s\n" % _boot.shown(path)
            if path and path.endswith(".lprof"):
                told += "To view details run:\n%s\n" % _boot.shown("%s -%stmz %s" % (
                    _viewer(), "r" * _has_rich(), _boot.core().quoted(path)))
        _print(told)

    def files(self):
        """What will be written, and where; not the file with the time in its name."""
        return [os.path.join(self.folder, path) for path in self._names() if self.process is not None]

    def _names(self):
        """.. as they are told."""
        ends = {".txt": self._writes("text"), ".lprof": self._writes("lprof")}
        return [self._prefix() + end for end in ends if ends[end]]

    def _leaves_earlier(self):
        """A profile in which no line ran takes no other one's place."""
        earlier = [path for path in self._names() if _has_content(os.path.join(self.folder, path))]
        if not earlier or not _boot.core().is_idle(self.sum or content(self.profiler)):
            return False
        _boot.complain("clineprof", "nothing was profiled, and '%s' stays as it was: no function marked with "
                       "@profile was called" % earlier[-1])  # fmt: skip
        return True

    def _writes(self, what):
        return self._config("write_config")[what]

    def _config(self, name):
        return self._setting(name, lambda value: {**self.usual[name], **value})

    def _setting(self, name, read):
        """What the program has set, read; where it means nothing, that is told and what was at first is used."""
        try:
            return read(getattr(self.profile, name))
        except (TypeError, ValueError):
            _boot.complain("clineprof", "profile.%s is not used: it cannot be %r" % (name, getattr(self.profile, name)))
            setattr(self.profile, name, read(self.usual[name]))
            return read(self.usual[name])

    def _terminal(self):
        if not self._config("show_config")["rich"]:
            return self._text()
        try:
            from clineprof._report import terminal

            return terminal.render(self._text(marked=True)) or self._text()
        except ImportError:  # rich itself, or a part of it
            return self._text()

    def _text(self, **more):
        try:
            return self._rendered({**self._config("show_config"), **more})
        except (TypeError, ValueError) as error:
            _boot.complain("clineprof", "profile.show_config is not used: %s" % error)
            self.profile.show_config = {"rich": False}
            return self._rendered({**self.usual["show_config"], **more})

    def _rendered(self, config):
        config["unit"] = config.pop("output_unit", None) or UNIT
        config["skip_zero"] = config.pop("stripzeros", False)
        config.pop("rich", None)
        return self._render("text", folder=_working_folder() or None, **config)

    def _files(self, prefix):
        """(path as it is told, content)"""
        if self._writes("text") or self._writes("timestamped_text"):
            text = self._text(details=True).encode()
            if self._writes("text"):
                yield prefix + ".txt", text
            if self._writes("timestamped_text"):
                yield "%s_%s.txt" % (prefix, time.strftime("%Y-%m-%dT%H%M%S")), text
        if self._writes("lprof"):
            yield prefix + ".lprof", self.sum or content(self.profiler)

    def _write(self, path, bytes_):
        """Where it was written; None: nowhere."""
        try:
            files.replace(os.path.join(self.folder, path), bytes_, self.rights)
            self.written.add(path)
        except OSError as error:
            return self._write_elsewhere(path, bytes_, error)
        return path

    def _write_elsewhere(self, path, bytes_, error):
        """A run is not lost because its folder went away."""
        _boot.complain("clineprof", "cannot write '%s': %s" % (path, error.strerror))
        try:
            return files.put_aside(os.path.basename(path), bytes_)
        except OSError as error:
            _boot.complain("clineprof", "nor to the temporary folder: %s" % error.strerror)
            self.lost = True
            return None

    # ---- an heir ----

    def _is_heir(self):
        if self.forked_from is None or (self.together is not None and self.together.is_server):
            return False
        return self._is_orphan()

    def _is_orphan(self):
        """A daemon has a session of its own; one that ends at once may do so before those who started
        it have."""
        if self.forked_from[2] != _boot.core().identity()[2]:
            return False  # of another machine or pid namespace: its number says nothing here
        end = time.monotonic() + (PATIENCE if os.getsid(0) != self.session else 0)
        while _runs(self.forked_from):
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True

    def _write_as_heir(self):
        if self._is_taken():
            self._take_own_name()
        if not self._leaves_earlier():
            for path, bytes_ in self._files(self._prefix()):
                self._write(path, bytes_)
        self._remove_parents()

    def _remove_parents(self):
        """The live file of a parent that left by os._exit as soon as it had forked, as those of daemons
        do: what is in it is in the heir's numbers."""
        from clineprof._profile import load

        try:
            meta = load(self.live).meta if self.live is not None else {}
            if meta and meta["pid"] == int(self.forked_from[0]) and (
                    meta["start"] + meta["wall"] * 1e-9 < self.forked_at + SOON):  # fmt: skip
                os.unlink(self.live)
        except (OSError, ValueError):
            pass

    def _take_own_name(self):
        """Files with the process's number."""
        ending = ".lprof" if self._writes("lprof") else ".txt"
        before = os.path.join(self.folder, self._prefix())
        try:
            made = _boot.core().own_name(before + ending, self.rights)
        except OSError:  # it cannot be written there anyway
            made = "%s-%d%s" % (before, os.getpid(), ending)
        self.suffix += made[len(before):-len(ending)]

    def _is_taken(self):
        """Has another process of this run written there?"""
        for path in self._prefix() + ".lprof", self._prefix() + ".txt":
            try:
                written = os.stat(os.path.join(self.folder, path)).st_mtime
            except OSError:
                continue
            if written >= self.began and path not in self.written:
                return True
        return False


def _print(text):
    """Past sys.stdout, whose buffer would try a closed pipe again when the interpreter ends, and change
    the exit code; but to what the program has put in its place."""
    text = text.encode("utf-8", "backslashreplace").decode()
    out = sys.stdout
    try:
        if out is sys.__stdout__:
            _boot.core().print(text)
        elif out is not None:
            out.write(text)
    except (OSError, ValueError):  # gone, or closed
        pass


def _working_folder():
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _has_content(path):
    try:
        return os.path.getsize(path) > 0
    except OSError:
        return False


def _runs(identity):
    """Does this process of our pid namespace still run? Numbers are used again."""
    fields = _read("/proc/%s/stat" % identity[0]).rpartition(b")")[2].split()  # behind its name
    return fields[:1] not in ([], [b"Z"], [b"X"]) and fields[19].decode() == identity[1]


def _is_forked():
    """Is this a fork of a process that runs the same Python, as a server's worker is? A daemon's parent has
    gone."""
    if not _children.is_forked():
        return False
    parent = "/proc/%d/" % os.getppid()
    try:
        return os.readlink(parent + "exe") == os.readlink("/proc/self/exe")
    except OSError:  # it is another user's, as where a worker gives rights up
        return _read(parent + "comm") == _read("/proc/self/comm")


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _is_worker():
    """Was this process started by multiprocessing, concurrent.futures or joblib, to import the program
    anew? Its numbers are its own; to print and write is its parent's."""
    return any(
        word.startswith("--multiprocessing-fork")
        or re.search(r"\bfrom multiprocessing\.\w+ import (spawn_)?main;", word)
        or word.endswith("popen_loky_posix")
        for word in sys.orig_argv[1:]
    )


def _viewer():
    """The command. What PyInstaller and its like have frozen is no interpreter that could be it."""
    return "clineprof" if getattr(sys, "frozen", False) else _boot.core().quoted(sys.executable) + " -m clineprof"


def _has_rich():
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True
