# SPDX-License-Identifier: MIT
"""The first Python code of a run: from the launcher, `python -m` or an entry point to the C main.

Imports nothing but sys, for the program's own folder may be on sys.path by now, with a json.py of
its own. Plain enough for Python 2 and for interpreters without a clineprof module to get as far as
the one line that says so.

launch.py is what the launcher has an interpreter run. The C main asks config.py for config files, targets.py
for names of modules and functions, statements.py for the lines of statements, registering.py for functions that
are registered late, memory_break.py for a debugger; spawning.py and idle.py give spawned processes a `profile`.
files.py writes files.
"""
import sys


def core():
    """The C module."""
    import clineprof._core

    return sys.modules["clineprof._core"]


def shown(text):
    """On one line, and without power over a terminal (src/base/escape.h). Where the C module cannot be
    loaded, which is then what we report, Python's own escapes are used."""
    try:
        return core().shown(text)
    except ImportError:
        return repr(text)[1:-1]


def complain(program, text):
    sys.stderr.write("%s: %s\n" % (program, shown(text)))


def describe():
    name = getattr(getattr(sys, "implementation", None), "name", "cpython")
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(name, name)
    return "%s %d.%d.%d" % ((name,) + tuple(sys.version_info[:3]))


def unsupported():
    """Why clineprof cannot run in this interpreter; None when it can."""
    if not describe().startswith("CPython ") or sys.version_info < (3, 10):
        return "clineprof needs CPython 3.10 or newer; %s is %s" % (sys.executable, describe())
    if "t" in sys.abiflags:
        return "free-threaded Python is not supported yet; %s is %s" % (sys.executable, describe())
    return None


def versions(folder):
    """The versions of CPython that this folder's clineprof has a module for."""
    import posix  # always there, and never a file of the program's

    tags = [name.split(".")[1] for name in posix.listdir(folder + "/clineprof") if name.startswith("_core.cpython-")]
    return sorted({"3.%s" % tag.split("-")[1][1:] for tag in tags})


def remedy(folder):
    """What to do where there is no module for this interpreter."""
    import posix

    if folder is None:
        return "in clineprof's sources run: %s -m pip install --force-reinstall ." % sys.executable
    if folder.endswith("/lib/clineprof/python"):
        prefix = folder[: -len("/lib/clineprof/python")] or "/"
        return "in clineprof's sources run: make install PREFIX=%s PYTHON=%s" % (prefix, sys.executable)
    if posix.access(folder + "/../bin/ckernprof", posix.X_OK):
        return "run: make PYTHON=%s" % sys.executable
    text = "in clineprof's sources run: %s -m pip install ." % sys.executable
    if versions(folder):
        text += "; or name an interpreter of CPython %s with --python" % " or ".join(versions(folder))
    return text


def missing(folder):
    return "no clineprof module is built for %s (%s); %s" % (sys.executable, describe(), remedy(folder))


def own():
    """The C module of the clineprof that is installed for this interpreter; the launcher's is put aside."""
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "clineprof"}
    try:
        return core()
    except ModuleNotFoundError:
        sys.modules.update(aside)
        raise


def find(folder):
    """The C module: of the package in this folder, which stands on sys.path until then; else of the one that
    is installed for this interpreter."""
    try:
        return core()
    except ModuleNotFoundError as error:
        if folder is None or error.name != "clineprof._core":
            raise
    finally:
        if folder is not None:
            sys.path.remove(folder)
    return own()


def load(program, folder=None):
    """The C module; or one line and exit status 2."""
    reason = unsupported()
    if reason is None:
        try:
            return find(folder)
        except ImportError as error:
            # Found but not loaded (a library it needs is not there) is no ModuleNotFoundError.
            if isinstance(error, ModuleNotFoundError) and error.name in ("clineprof", "clineprof._core"):
                reason = missing(folder)
            else:
                reason = "%s cannot load clineprof._core: %s" % (
                    sys.executable, " ".join(str(error).split()))
    complain(program, reason)
    raise SystemExit(2)
