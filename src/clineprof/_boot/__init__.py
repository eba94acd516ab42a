# SPDX-License-Identifier: MIT
"""The first Python code of a run. It loads the C module for the launcher, `python -m` and the entry points.

Only sys is imported here, because the program's own folder may be on sys.path already, with a json.py of its own. The
syntax is that of Python 2, so that any interpreter without a clineprof module prints the one line that says so.

The launcher runs launch.py. The C code calls config.py to read config files, targets.py to find modules and functions
by name, statements.py to find the lines of statements, registering.py for functions that are registered late with
singledispatch, and memory_break.py to start a debugger. spawning.py and idle.py give spawned processes a `profile`.
rewriting.py shows it the code of pytest's test modules. files.py writes files.
"""
import sys

# Packages of ours that are needed while a program runs, for what is imported then.
LATER = "_by_value", "_compat", "_formats", "_profile", "_report"
aside = None  # the package clineprof, where it left its name to a module of the program


def core():
    """Imports and returns the C module."""
    # a statement would import the name `clineprof`, too, which may be the program's
    return __import__("clineprof._core", None, None, ("tracers",))


def step_aside(folders):
    """Leaves the name clineprof to the program's own module, if the first one in these folders is not ours. What is
    loaded of ours stays, under its full name, and finds more by its parents. So code of ours that runs beside a program
    imports no `clineprof` alone."""
    global aside
    if aside is None and is_programs(folders):
        for name in LATER:
            __import__("clineprof." + name, None, None, ("__name__",))
        aside = sys.modules.pop("clineprof")


def is_programs(folders):
    """Is the first module clineprof in these folders a module of the program's own?"""
    import posix

    for folder in folders:
        path = "%s/clineprof" % (folder or ".")
        if posix.access(path + "/__init__.py", posix.F_OK) or posix.access(path + ".py", posix.F_OK):
            return not posix.access(path + "/_boot", posix.F_OK)  # another copy of ours has it
    return False


def shown(text):
    """The text as one line in which no character controls a terminal (src/base/escape.h). If the C module cannot be
    loaded, which is then what the text reports, Python's own escapes are used."""
    try:
        return core().shown(text)
    except ImportError:
        return repr(text)[1:-1]


def complain(program, text):
    try:
        sys.stderr.write("%s: %s\n" % (program, shown(text)))
    except Exception:  # the program has closed its standard error, or put something of its own there
        pass


def command(words):
    """These words as one line for a shell."""
    return " ".join(map(core().quoted, words))


def describe():
    name = getattr(getattr(sys, "implementation", None), "name", "cpython")
    name = {"cpython": "CPython", "pypy": "PyPy"}.get(name, name)
    return "%s %d.%d.%d" % ((name,) + tuple(sys.version_info[:3]))


def unsupported():
    """Why clineprof cannot run in this interpreter, in words; None if it can."""
    if not describe().startswith("CPython ") or sys.version_info < (3, 10):
        return "clineprof needs CPython 3.10 or newer; %s is %s" % (sys.executable, describe())
    if "t" in sys.abiflags:
        return "free-threaded Python is not supported yet; %s is %s" % (sys.executable, describe())
    return None


def versions(folder):
    """The versions of CPython for which the clineprof in this folder has a C module."""
    import posix  # a built-in module, so no file of the program can be taken for it

    tags = [name.split(".")[1] for name in posix.listdir(folder + "/clineprof") if name.startswith("_core.cpython-")]
    return sorted({"3.%s" % tag.split("-")[1][1:] for tag in tags})


def installing(what, python=None):
    """The command that installs this into the interpreter: with uv if the interpreter has no pip."""
    import posix

    python = python or sys.executable
    if any(posix.access("%s/pip" % folder, posix.F_OK) for folder in sys.path):
        return "%s -m pip install %s" % (python, what)
    return "uv pip install --python %s %s (this interpreter has no pip)" % (python, what)


def remedy(folder):
    """What the user can do if there is no C module for this interpreter, in words."""
    import posix

    if folder is None:
        return "in clineprof's sources run: " + installing("--force-reinstall .")
    if folder.endswith("/lib/clineprof/python"):
        prefix = folder[: -len("/lib/clineprof/python")] or "/"
        return "in clineprof's sources run: make install PREFIX=%s PYTHON=%s" % (prefix, sys.executable)
    if posix.access(folder + "/../bin/ckernprof", posix.X_OK):
        return "run: make PYTHON=%s" % sys.executable
    text = "in clineprof's sources run: " + installing(".")
    if versions(folder):
        text += "; or name an interpreter of CPython %s with --python" % " or ".join(versions(folder))
    return text


def missing(folder):
    return "no clineprof module is built for %s (%s); %s" % (sys.executable, describe(), remedy(folder))


def own():
    """Imports the C module of the clineprof that is installed for this interpreter. Modules of the launcher's package
    are taken out of sys.modules; they are put back if there is no other clineprof."""
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "clineprof"}
    try:
        return core()
    except ModuleNotFoundError:
        sys.modules.update(aside)
        raise


def find(folder):
    """Imports the C module: that of the package in this folder, or else the one that is installed for this interpreter.
    The folder, if it is not None, is removed from sys.path."""
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
    """Imports and returns the C module. If that fails, prints one line and exits with 2."""
    reason = unsupported()
    if reason is None:
        try:
            return find(folder)
        except ImportError as error:
            # A module that is found but cannot be loaded, as a library is missing, raises a plain ImportError.
            if isinstance(error, ModuleNotFoundError) and error.name in ("clineprof", "clineprof._core"):
                reason = missing(folder)
            else:
                reason = "%s cannot load clineprof._core: %s" % (
                    sys.executable, " ".join(str(error).split()))
    complain(program, reason)
    raise SystemExit(2)
