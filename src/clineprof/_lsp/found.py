# SPDX-License-Identifier: MIT
"""Finds the newest profile in a folder of the workspace, reads it, and finds what it knows of a file.

Names of files that a profile holds are not trusted. They are only compared, as texts, with the paths of documents that
the editor has open: nothing is opened or looked up because a profile names it. Only regular files are read as profiles.
No symbolic link is followed, so that nothing outside the folder is read.
"""
import collections
import itertools
import os

from clineprof import _boot, _profile
from clineprof._boot.files import seen_from
from clineprof._formats import shared
from clineprof._html import measures

MOST_ENTRIES = 20000  # of a workspace folder, files and folders, are looked at
MOST_TRIED = 5  # profiles are tried, the newest first, before there is none that can be read
SKIPPED = {"node_modules", "site-packages", "__pycache__"}  # and hidden folders, and virtual environments

Version = collections.namedtuple("Version", "time path size inode")


class Folder:
    """A folder of the workspace. `path` is its path as the editor has it; `read` is a Read, or None."""

    def __init__(self, path):
        self.path, self.real = path, os.path.realpath(path)
        self.read = None
        self._refused = set()  # versions of profiles that cannot be read
        self._marks = None

    def contains(self, real):
        """Does the file at this path, which has no symbolic links, lie in the folder?"""
        return real.startswith(self.real.rstrip("/") + "/")

    def has_news(self):
        """Has the profile changed, or a folder that held one, or the folder itself? This is asked every second, so
        that it must not search."""
        return self._marks is not None and self._marks != {path: _mark(path) for path in self._marks}

    def look(self):
        """Searches, and reads the newest profile if it is not the one that was read before. Returns (has the profile
        changed?, messages about profiles that cannot be read)."""
        versions, folders = search(self.path)
        # a change while the profile is read is news
        self._marks = {path: _mark(path) for path in {self.path, *folders, *(v.path for v in versions[:1])}}
        before, messages, self.read = self.read, [], None
        for version in versions[:MOST_TRIED]:
            if before is not None and version == before.version:
                self.read = before
            elif version not in self._refused:
                self._try(version, messages)
            if self.read is not None:
                break
        self._refused.intersection_update(versions)
        return self.read is not before, messages

    def _try(self, version, messages):
        try:
            self.read = Read(_profile.load(version.path), version, self.path)
        except (OSError, ValueError, MemoryError) as error:
            self._refused.add(version)
            messages.append(_boot.shown("cannot read " + _told(error, version.path)))


class Read:
    """A profile that was read. version: of its file; name: of its file, as seen from the folder; measures: {function:
    its Measures}; whole: the time of which shares are parts"""

    def __init__(self, profile, version, folder):
        self.profile, self.version, self.name = profile, version, seen_from(folder, version.path)
        found = measures.of_profile(profile, {"raw_times": False, "memory": True})
        self.measures, self.whole = {m.function: m for m in found}, measures.whole_time(found)
        self._calls = None
        places = os.path.dirname(version.path), folder
        self._files = _by_path(profile.functions, {*places, *map(os.path.realpath, places)})

    def functions(self, *paths):
        """The functions of the file that has these paths."""
        return [function for path in paths for function in self._files.get(_as_loaded(path), ())]

    def calls(self, function):
        """How often the function was called; 0: not known."""
        if self._calls is None:
            self._calls = collections.Counter()
            for call in self.profile.calls:
                self._calls[call.function] += call.calls
        return self._calls[function]

    def began(self):
        """When the run began, in seconds since 1970; not after its file was written."""
        return min(self.profile.meta.get("start") or self.version.time / 1e9, self.version.time / 1e9)


def search(root):
    """Looks for profiles in a folder and those below it, level by level. Returns (the Versions of all profiles, the
    newest first; the folders that hold them)."""
    entries = itertools.islice(_walk(collections.deque([root])), MOST_ENTRIES)
    found = [version for version in map(_version, entries) if version is not None]
    return sorted(found, reverse=True), {os.path.dirname(version.path) for version in found}


def _walk(folders):
    """All entries of these folders, and of those below them."""
    while folders:
        below = []
        try:
            with os.scandir(folders.popleft()) as entries:
                for entry in entries:
                    yield entry
                    if _is_searched(entry):
                        below.append(entry.path)
                    elif entry.name == "pyvenv.cfg":  # this folder is a virtual environment
                        below = []
                        break
        except OSError:
            pass
        folders.extend(below)


def _is_searched(entry):
    if entry.name.startswith(".") or entry.name in SKIPPED:
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _version(entry):
    """The Version of a profile; None if the entry is none."""
    try:
        if not entry.name.endswith(".lprof") or not entry.is_file(follow_symlinks=False):
            return None
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return Version(about.st_mtime_ns, entry.path, about.st_size, about.st_ino)


def _mark(path):
    try:
        about = os.lstat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _told(error, path):
    """The name of a file and what is wrong with it."""
    if isinstance(error, ValueError):
        return str(error)  # has the name
    return "%s: %s" % (path, error.strerror if isinstance(error, OSError) else "out of memory")


def _by_path(functions, folders):
    """{path: functions of this file}. A name that is relative may count from any of the folders."""
    names, folders = {}, list(map(_as_loaded, folders))
    for function in functions:
        if shared.is_file(function.file):
            names.setdefault(function.file, []).append(function)
    found = {}
    for name, those in names.items():
        for path in {os.path.normpath(os.path.join(folder, name)) for folder in folders}:
            found.setdefault(path, []).extend(those)
    return found


def _as_loaded(path):
    """The path as a Function has it: bytes that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
