# SPDX-License-Identifier: MIT
"""What the user's side must know of the target, and the folder through which the two talk."""
import contextlib
import errno
import os
import re
import stat

from clineprof._attach import MARK, PREFIX

PYTHON = re.compile(r"/(?:lib)?python(3)\.(\d+)([a-z]*)(?:\.so[.\d]*)?(?: \(deleted\))?$")


class Refused(Exception):
    """The process cannot be reached. The text is one line for the user."""


def what_helps():
    """Where the system does not allow to trace a process: what may be the way out."""
    if os.geteuid() == 0:
        return ("for root, too, that needs the right SYS_PTRACE, which a container may lack, and that "
                "kernel.yama.ptrace_scope is not 3")
    return "become root, or see kernel.yama.ptrace_scope"


class Target:
    """A process, seen from outside. Raises Refused if there is none, or if it is no CPython.

    pid: its number here; own_pid: its number in its own pid namespace
    uid, gid, groups: its effective user and group, and the other groups
    exe: the path of its interpreter in its own file system
    version: (3, 14); build: "314", or "314t" without the GIL, which the name of a C module has
    ranges: [(start, end), ..] of its memory; mapped: {address of the beginning of a file: its path}
    root: the path of its file system, "" if it is ours
    signal: the number of the signal that it listens to; None: it does not listen
    """

    def __init__(self, pid):
        self.pid = pid
        status = self._status()
        if status.get("State", "Z")[0] in "ZX":
            raise Refused("there is no process %d" % pid)
        if int(status["Tgid"]) != pid:
            raise Refused("%d is a thread of process %s" % (pid, status["Tgid"]))
        self.own_pid = int(status.get("NSpid", str(pid)).split()[-1])
        self.uid, self.gid = (int(status[name].split()[1]) for name in ("Uid", "Gid"))
        self.groups = list(map(int, status["Groups"].split()))
        self.start = self._start()
        self.root = "" if self._is_in_our_mounts() else "/proc/%d/root" % pid
        rows = [line.split(None, 5) for line in self._read("maps").splitlines()]
        maps = [row[5] for row in rows if len(row) == 6]
        self.ranges = [tuple(int(end, 16) for end in row[0].split("-")) for row in rows]
        self.mapped = {start: row[5] for row, (start, _) in zip(rows, self.ranges)
                       if len(row) == 6 and row[5].startswith("/") and int(row[2], 16) == 0}  # fmt: skip
        self.exe = self._exe()
        self.version, self.build = self._version([self.exe, *maps])
        marks = [int(path[len(MARK):].split()[0]) for path in maps if path.startswith(MARK)]
        self.signal = marks[-1] if marks else None

    def _read(self, name):
        try:
            with open("/proc/%d/%s" % (self.pid, name), encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except (FileNotFoundError, ProcessLookupError):
            raise Refused("there is no process %d" % self.pid) from None
        except PermissionError:
            raise Refused(self.not_ours()) from None

    def _status(self):
        return dict(line.partition(":\t")[::2] for line in self._read("status").splitlines())

    def state(self):
        """R: runs, S and D: waits, T: stopped, t: stopped by a debugger, .."""
        return self._status()["State"][0]

    def tracer(self):
        """The number of the debugger that holds the process; 0: there is none."""
        return int(self._status()["TracerPid"])

    def environment(self):
        """What it was started with."""
        return dict(word.split("=", 1) for word in self._read("environ").split("\0") if word.find("=") > 0)

    def not_ours(self):
        if os.geteuid() not in (self.uid, 0):
            return "process %d belongs to another user (%d); become this user, or root" % (self.pid, self.uid)
        return "the system does not allow to look into process %d; %s" % (self.pid, what_helps())

    def _start(self):
        """When the process began: its number may be given to another process later."""
        return self._read("stat").rpartition(")")[2].split()[19]

    def is_there(self):
        try:
            return self._start() == self.start
        except Refused:
            return False

    def _is_in_our_mounts(self):
        try:
            return os.path.samefile("/", "/proc/%d/root/" % self.pid) and (
                os.readlink("/proc/%d/ns/mnt" % self.pid) == os.readlink("/proc/self/ns/mnt"))  # fmt: skip
        except PermissionError:
            raise Refused(self.not_ours()) from None
        except OSError:
            raise Refused("there is no process %d" % self.pid) from None

    def _exe(self):
        try:
            return os.readlink("/proc/%d/exe" % self.pid)
        except OSError:
            raise Refused(self.not_ours()) from None

    def _version(self, paths):
        for path in paths:
            found = PYTHON.search(path)
            if found:
                return (int(found[1]), int(found[2])), "".join(found.groups())
        raise Refused("process %d is not Python: it runs %s" % (self.pid, self.exe))

    def takes(self, signal):
        """Does the process have a handler for this signal, which is not blocked?"""
        status = self._status()
        bit = 1 << (signal - 1)
        return bool(int(status["SigCgt"], 16) & bit) and not int(status["SigBlk"], 16) & bit

    @contextlib.contextmanager
    def rights(self):
        """As long as this lasts, root may do with files what the target's user may do, and no more. This user may put a
        link, a mount or another folder where we are about to write, and would reach root's files otherwise."""
        user, group, groups = os.geteuid(), os.getegid(), os.getgroups()
        if user == self.uid:
            yield
            return
        os.setgroups(self.groups)
        try:
            os.setegid(self.gid)
            os.seteuid(self.uid)
            yield
        finally:
            os.seteuid(user)
            os.setegid(group)
            os.setgroups(groups)


def read_plain(path, largest, flags=0, **where):
    """(what os.fstat tells, content) of a file that may have become something else: reading a device may never end, and
    opening a pipe may wait. Raises OSError, also if it is no plain file, or has more than `largest` bytes."""
    descriptor = os.open(path, os.O_PATH | flags, **where)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "it is no plain file")
        if about.st_size > largest:
            raise OSError(errno.EFBIG, "it has more than %d MiB" % (largest >> 20))
        with open("/proc/self/fd/%d" % descriptor, "rb") as file:
            return about, file.read(about.st_size)
    finally:
        os.close(descriptor)


class Folder:
    """A folder in the target's /tmp, which only the target's user may read. inside(name) is the path of a file in it as
    the target sees it.

    What is done here is done with the rights of the target's user, to the folder that was made, wherever its path leads
    by now."""

    def __init__(self, target):
        self.target = target
        self.name = "%s%d-%s" % (PREFIX, target.own_pid, os.urandom(8).hex())
        # A link in the target's file system would lead to a place in ours.
        flags = os.O_DIRECTORY | (os.O_NOFOLLOW if target.root else 0)
        try:
            self.tmp = os.open(target.root + "/tmp", os.O_PATH | flags)
            with target.rights():
                os.mkdir(self.name, 0o700, dir_fd=self.tmp)
                self.folder = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self.tmp)
        except OSError as error:
            raise Refused("cannot make a folder in the target's /tmp: %s" % error.strerror) from None

    def inside(self, name):
        return "/tmp/%s/%s" % (self.name, name)

    @contextlib.contextmanager
    def _at(self, name):
        """The rights of the target's user. What fails meanwhile with the file `name` raises Refused."""
        try:
            with self.target.rights():
                yield
        except OSError as error:
            raise Refused("cannot use '%s': %s" % (self.inside(name), error.strerror)) from None

    def bind(self, listener, name):
        """Gives a socket this name."""
        with self._at(name):
            listener.bind("/proc/self/fd/%d/%s" % (self.folder, name))

    def write(self, name, text):
        """Writes a file at once: it has its name when it is complete."""
        aside = name + ".new"
        with self._at(name):
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self.folder)
            with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            os.rename(aside, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def read(self, name, largest):
        """The content of a file that the target has written, of so many bytes at most."""
        with self._at(name):
            about, content = read_plain(name, largest, os.O_NOFOLLOW, dir_fd=self.folder)
            if about.st_uid != self.target.uid:
                raise OSError(errno.EPERM, "it belongs to user %d" % about.st_uid)
        return content

    def remove(self):
        with contextlib.suppress(OSError), self.target.rights():
            for name in os.listdir(self.folder):
                with contextlib.suppress(OSError):  # the target removes them, too
                    os.unlink(name, dir_fd=self.folder)
            os.rmdir(self.name, dir_fd=self.tmp)
        os.close(self.folder)
        os.close(self.tmp)
