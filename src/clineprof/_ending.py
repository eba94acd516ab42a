# SPDX-License-Identifier: MIT
"""The end of a process in which clineprof.profile is on: what is printed and written, and by which of
the processes that came out of it."""
import atexit
import os
import re
import sys
import time

from clineprof import _boot, _formats
from clineprof._global import SHOW, WRITE

PATIENCE = 2  # seconds
SOON = 0.05  # seconds
UNIT = 1e-6  # seconds: of the terminal, of the files and of the viewer


def begin(profile, counts_others):
    """(Profiler, Ending), set up. counts_others: with the other processes of the program."""
    profiler = _boot.core().Profiler()
    ending = Ending(profile, profiler)
    atexit.register(ending.at_exit)
    os.register_at_fork(after_in_child=ending.after_fork)
    if not (counts_others and ending.count_others()):
        ending.keep()
    return profiler, ending


def content(profiler):
    """A profile as the content of a file."""
    return profiler.render("lprof", command=_command())


def _command():
    return " ".join(map(_quoted, sys.argv)).encode("utf-8", "backslashreplace").decode()


def write(path, bytes_):
    _formats.replace(path, bytes_)


class Ending:
    """Who writes: the process that enabled the profile, and no child of it. A fork that outlives it, as
    a daemon does, writes in its place, beside its files if there are any, and prints nothing."""

    def __init__(self, profile, profiler):
        self.profile, self.profiler = profile, profiler
        self.folder = _working_folder()
        self.began = time.time()
        self.process = None if _is_worker() else _identity(os.getpid())
        self.session = os.getsid(0)
        self.forked_from = self.forked_at = self.live = None
        self.together = None  # a _together.Together
        self.sum = None  # bytes of a file: what all of them have counted
        self.lost = False  # a file that was to be written is not

    def count_others(self):
        """The processes of the program are counted together, each in a live file of its own. False
        where that cannot be."""
        from clineprof import _together

        first = _together.first()
        if first is not None:
            self.forked_from, self.process = first[:2], None
            self.began = 0  # long after the first one, which may have written since
        if first is not None or (self.process is not None and self._has_place()):
            self.together = _together.begin(self.profiler, self.process, self._path(), _command())
        return self.together is not None

    def keep(self):
        """What is counted lies in a live file beside the profile to be, however the process dies. Where
        there is no place for it, or there will be no such file, there is none."""
        if self.process is not None and self._has_place():
            self.live = _boot.core().keep(self.profiler, self._path(), _command())

    def _path(self):
        return os.path.join(self.folder, self.profile.output_prefix + ".lprof")

    def _has_place(self):
        return self._writes("lprof") and os.access(os.path.dirname(self._path()), os.W_OK)

    def after_fork(self):
        if self.forked_from is None:
            self.forked_from, self.forked_at = self.process, time.time()
        self.process = None
        if self.together is None:
            self.profiler.after_fork()

    def at_exit(self):
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
        prefix = self.profile.output_prefix
        told = self._terminal() if self._writes("stdout") else ""
        for path, bytes_ in self._files(prefix):
            told += self._write(path, bytes_)
        if self._writes("lprof"):
            told += "To view details run:\n%s -m clineprof -%stmz %s\n" % (
                _quoted(sys.executable), "r" * _has_rich(), _quoted(prefix + ".lprof"))
        _print(told)

    def _writes(self, what):
        return {**WRITE, **self.profile.write_config}[what]

    def _terminal(self):
        if not {**SHOW, **self.profile.show_config}["rich"]:
            return self._text()
        try:
            from clineprof import _rich

            return _rich.render(self._text(marked=True)) or self._text()
        except ImportError:  # rich itself, or a part of it
            return self._text()

    def _text(self, **more):
        try:
            return self._rendered({**SHOW, **self.profile.show_config, **more})
        except (TypeError, ValueError) as error:
            sys.stderr.write("clineprof: profile.show_config is not used: %s\n" % error)
            self.profile.show_config = {"rich": False}
            return self._rendered({**SHOW, **more})

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
        try:
            write(os.path.join(self.folder, path), bytes_)
        except OSError as error:
            return self._write_elsewhere(path, bytes_, error)
        return "Wrote profile results to %s\n" % path

    def _write_elsewhere(self, path, bytes_, error):
        """A run is not lost because its folder went away."""
        sys.stderr.write("clineprof: cannot write '%s': %s\n" % (path, error.strerror))
        try:
            path = _formats.put_aside(os.path.basename(path), bytes_)
        except OSError as error:
            sys.stderr.write("clineprof: nor to the temporary folder: %s\n" % error.strerror)
            self.lost = True
            return ""
        return "Wrote profile results to %s\n" % path

    # ---- an heir ----

    def _is_heir(self):
        if self.forked_from is None or (self.together is not None and self.together.is_server):
            return False
        return self._is_orphan()

    def _is_orphan(self):
        """A daemon has a session of its own; one that ends at once may do so before those who started
        it have."""
        end = time.monotonic() + (PATIENCE if os.getsid(0) != self.session else 0)
        while _identity(self.forked_from[0]) == self.forked_from:
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True

    def _write_as_heir(self):
        prefix = self.profile.output_prefix
        if self._is_taken(prefix):
            prefix = "%s-%d" % (prefix, os.getpid())
        for path, bytes_ in self._files(prefix):
            self._write(path, bytes_)
        self._remove_parents()

    def _remove_parents(self):
        """The live file of a parent that left by os._exit as soon as it had forked, as those of daemons
        do: what is in it is in the heir's numbers."""
        from clineprof._profile import load

        try:
            meta = load(self.live).meta if self.live is not None else {}
            if meta and meta["pid"] == self.forked_from[0] and (
                    meta["start"] + meta["wall"] * 1e-9 < self.forked_at + SOON):  # fmt: skip
                os.unlink(self.live)
        except (OSError, ValueError):
            pass

    def _is_taken(self, prefix):
        """Has another process of this run written there?"""
        for ending in ".lprof", ".txt":
            try:
                if os.stat(os.path.join(self.folder, prefix + ending)).st_mtime >= self.began:
                    return True
            except OSError:
                pass
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


def _identity(pid):
    """(pid, when it started) of a process that runs; None of one that is gone or has ended. Numbers
    are used again."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return (pid, None) if pid == os.getpid() else None
    return None if fields[0] in (b"Z", b"X") else (pid, fields[19])


def _is_worker():
    """Was this process started by multiprocessing, concurrent.futures or joblib, to import the program
    anew? Its numbers are its own; to print and write is its parent's."""
    return any(
        word.startswith("--multiprocessing-fork")
        or re.search(r"\bfrom multiprocessing\.\w+ import (spawn_)?main;", word)
        or word.endswith("popen_loky_posix")
        for word in sys.orig_argv[1:]
    )


def _has_rich():
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return True


def _quoted(word):
    import shlex

    return shlex.quote(word)
