# SPDX-License-Identifier: MIT
"""Counts in the worker processes of an engine (Dask, Ray, Spark), and adds up what they have counted.

A run has a name that only its driver and its workers know. Each worker has a Session, which counts into a live file in
a folder of that name on its machine. So what a worker has counted is there however the worker ends. The driver asks
some worker of each machine for what is left() there, and write()s the sum.
"""
import builtins
import functools
import os
import shutil
import stat
import sys
import tempfile

from clineprof import _boot, _by_value
from clineprof._boot import files, targets

CONTENT_ENDINGS = ".lprof", ".live"
# Options that are not tried in the driver: they have effects there, or depend on the process.
ONLY_IN_WORKERS = "tracer", "heap", "leaks", "leak_limit"

_sessions = {}  # {name of a run: Session} of this process
_led = set()  # the runs of which this process is the driver
_kept = {}  # {name of a run: contents of profiles} of sessions that have ended and whose file could not be written


def new_run():
    """A name for a run of this driver that no other run has, on any machine."""
    name = os.urandom(8).hex()
    _led.add(name)
    return name


def place(run):
    """The folder of a run on this machine."""
    return os.path.join(tempfile.gettempdir(), "clineprof-%s" % run)


# ---- in a worker ----


class Session:
    """Counts the lines of some functions of this process until end().

    run: the name of the run
    wanted: what is counted, as -p takes it; "name.*" is all in a module or class. Functions that arrive by value count
        if they are named here, as "__main__.work" is, or if they are selected where they come from
    builtin: `profile` of the builtins selects for the session, as under ckernprof -l
    makes_folder: False: the driver has made the folder of the run. If it is gone, the run has ended meanwhile
    options: arguments of Profiler
    """

    def __init__(self, run, wanted, builtin=False, makes_folder=True, **options):
        core = _boot.core()
        self.run = run
        self.profiler = core.Profiler(**options)
        self.recording = core.Recording(self.profiler, self._outfile(makes_folder), 0o600, _boot.command(sys.orig_argv), None, True)
        self.selection = core.Selection(self.profiler, [word.removesuffix(".*") for word in wanted], [])
        self.selection.select_loaded()
        if run in _led:  # a worker in the driver's own process gets its functions as they are
            targets.select_main(self.selection, "__main__")
        _by_value.select_arrived()
        if builtin and not _by_value.has_profile():
            builtins.profile = self.profiler

    def _outfile(self, makes_folder):
        """The path of the profile, without the number that the process has. None if no file can be made there."""
        folder = place(self.run)
        try:
            if makes_folder:
                os.makedirs(folder, 0o700, exist_ok=True)
            elif not os.path.lexists(folder):
                return None
            if _is_own(folder) and os.access(folder, os.W_OK):
                return os.path.join(folder, "worker.lprof")
            reason = "it is another user's, or no folder"
        except OSError as error:
            reason = error.strerror
        _boot.complain("clineprof", "cannot use the folder '%s': %s; what this worker counts may be lost"
                       % (folder, reason))  # fmt: skip
        return None

    def content(self):
        """What was counted so far, as the content of a .lprof file."""
        return self.profiler.render("lprof", command=_boot.command(sys.orig_argv))

    def end(self, keeps):
        """Stops counting. If keeps, leaves the profile in the folder of the run, or else in memory."""
        try:
            self.profiler.stop()
            if keeps:
                self._keep(self.content())
        finally:
            self._close(True)

    def _keep(self, content):
        try:
            if self.recording.outfile is not None:
                files.replace(self.recording.outfile, content, 0o600)
                return
        except OSError:
            pass
        _kept.setdefault(self.run, []).append(content)

    def _close(self, is_over):
        """Gives everything up. is_over: the live file is no longer needed."""
        self.selection = None
        if is_over:
            self.recording.gather(_boot.command(sys.orig_argv))
            self.recording.close(True)
        self.recording.drop()
        self.recording = None
        self._take_back_profile()
        self.profiler.close()

    def _take_back_profile(self):
        """Leaves a `profile` in the builtins that selects nothing."""
        from clineprof._boot import spawning
        from clineprof._global import profile

        if getattr(builtins, "profile", None) is self.profiler:
            del builtins.profile
            spawning.be_idle()
        if profile._profile is self.profiler:  # it was used, and has taken that of the builtins
            profile._profile = profile.enabled = None

    def after_fork(self):
        """What a fork counts is lost: it has no live file of its own."""
        self.profiler.after_fork()
        self._close(False)


def begin(run, wanted, **options):
    """Begins to count in this process, if it does not count for this run already."""
    if run not in _sessions:
        _sessions[run] = Session(run, wanted, **options)
        _follow_forks()
        _select_marked()


def _select_marked():
    for function in _marked():
        _boot.core().arrived(function, True)


def _marked():
    """The marked functions, as a list. Other threads may mark some meanwhile."""
    return [function for function in (one() for one in _by_value.marked.keyrefs()) if function is not None]


@functools.lru_cache(maxsize=None)
def _follow_forks():
    os.register_at_fork(after_in_child=_after_fork)


def _after_fork():
    while _sessions:
        _sessions.popitem()[1].after_fork()


def end(run, keeps=True):
    """Ends this process's session of a run, if there is one. Without keeps, what it has counted goes."""
    session = _sessions.pop(run, None)
    try:
        if session is not None:
            session.end(keeps)
    except Exception as error:  # a task of the program may be running
        _boot.complain("clineprof", "what this worker has counted is lost: %s" % error)


def own(run):
    """What this process has counted for a run so far, as a list of contents of profiles. Files are left out."""
    session = _sessions.get(run)
    return _kept.get(run, []) + ([session.content()] if session is not None else [])


def left(run):
    """What the run's processes of this machine have counted, those that run and those that have ended, as a list of
    contents. This process's live file is left out."""
    mine = _sessions[run].recording.outfile if run in _sessions else None
    found, seen = [], set()
    while names := _names_in(place(run)) - seen:  # a process that ends meanwhile gives its file another name
        seen |= names
        for name in sorted(names):
            path = os.path.join(place(run), name)
            if mine is not None and path == mine + ".live":
                continue
            try:
                found.append(_boot.core().sum(path))
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                _boot.complain("clineprof", "cannot read '%s': %s" % (path, error))
    return found


def _is_own(folder):
    """Is it a folder of this user, and no link? Others may make something of this name in the folder for temporary
    files."""
    about = os.lstat(folder)
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()


def _names_in(folder):
    try:
        if not _is_own(folder):
            return set()
        return {name for name in os.listdir(folder) if name.endswith(CONTENT_ENDINGS)}
    except OSError:
        return set()


def clean(run):
    """Removes the run's folder of this machine."""
    _kept.pop(run, None)
    gone = place(run) + ".gone-" + os.urandom(4).hex()
    try:
        os.rename(place(run), gone)  # so that no process can put a new file into it
    except OSError:
        return
    shutil.rmtree(gone, ignore_errors=True)


def version():
    return _boot.core().__version__


# ---- in both ----


def mark(function):
    """Marks a function, or all functions of a class: it counts in the sessions of this process, and of the processes
    that it is sent to. Returns it. Raises TypeError if there is no Python function in it."""
    found = targets.functions_in(function)
    if not found:
        raise TypeError("clineprof counts Python functions and classes, and %r is neither" % (function,))
    _by_value.marked.update(dict.fromkeys(found))
    if _sessions:
        _select_marked()
    return function


def mark_by_name(names):
    """Marks functions that this process has imported. names: of marked_by_name()"""
    for module, name in names:
        found = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not None and targets.functions_in(found):  # the name may mean something else here
            mark(found)


# ---- in the driver ----


def marked_by_name():
    """The marked functions that workers may import, as a list of (module, qualified name)."""
    names = ((one.__module__, one.__qualname__) for one in _marked())
    return sorted(name for name in names if name[0] not in (None, "__main__") and "<locals>" not in name[1])


def checked(wanted, options):
    """What is counted, as a list of str, from one name or several. Raises TypeError and ValueError for what no worker
    could use."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if not all(isinstance(name, str) and name for name in names):
        raise TypeError("clineprof: what is counted is given by names, such as '__main__.*' or 'mypkg'")
    for name, value in options.items():
        if type(value) not in (bool, int, float, str, type(None)):
            raise TypeError("clineprof: %s cannot be sent to workers: %r" % (name, value))
    if options.get("tracer") not in (None, "probe", "monitoring", "settrace"):
        raise ValueError("clineprof: there is no tracer %r" % (options["tracer"],))
    tried = {name: value for name, value in options.items() if name not in ONLY_IN_WORKERS}
    _boot.core().Profiler(started=False, **tried).close()
    return names


class Sending:
    """A context in which functions that are pickled by value tell the workers in which file they stand."""

    def __enter__(self):
        _by_value.sends_all += 1
        for name, module in list(sys.modules.items()):
            if name.endswith((".cloudpickle", ".cloudpickle_fast", "dill._dill")):
                _by_value.meet(module)
        return self

    def __exit__(self, *exception):
        _by_value.sends_all -= 1


def summed(contents):
    """The content of the sum of contents, in which each process counts once. Those that cannot be read are left out.
    None if there are no others."""
    contents = list(contents)
    try:
        return _boot.core().merge(*contents) if contents else None
    except ValueError:
        contents = list(filter(is_readable, contents))
    return _boot.core().merge(*contents) if contents else None


def is_readable(content):
    """Can this version read the profile? If not, a message says so."""
    try:
        _boot.core().merge(content)
    except ValueError as error:
        _boot.complain("clineprof", "what some worker has counted is left out: %s" % error)
        return False
    return True


def write(path, contents):
    """Adds up contents of profiles, each process once, writes the sum to a file, and returns it as a clineprof.Profile.
    Contents that cannot be read are left out. If there are none, writes no file, says so, and returns None. Raises
    OSError if the file cannot be written."""
    from clineprof._profile import loads

    content = summed(contents)
    if content is None:
        _boot.complain("clineprof", "no worker has counted anything; '%s' was not written" % os.fspath(path))
        return None
    content = _boot.core().with_texts(content, _by_value.texts)
    files.replace(os.fspath(path), content)
    profile = loads(content)
    _by_value.has_run(profile, os.fspath(path))
    return profile
