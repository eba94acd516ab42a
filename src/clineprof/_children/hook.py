# SPDX-License-Identifier: MIT
"""The command `clineprof hook`. The hook is a .pth file in this interpreter's site-packages, through which processes
that ignore PYTHONPATH (python -E, -I) find the profiler, and programs let `clineprof attach` in. It has no effect
without --prof-child-procs or the variables of src/clineprof/_attach/listen.py."""
import os
import sys
import sysconfig

from clineprof import _boot

ME = "clineprof hook"
USAGE = """\
usage: clineprof hook install [--attach]|remove|status

Processes that a program under `ckernprof --prof-child-procs` starts find the profiler through the environment.
Processes started with -E or -I ignore the environment; with the hook installed they find the profiler, too.
A server started with CLINEPROF=1 counts all its workers, although nothing but them imports `profile`.
Programs started with CLINEPROF_SIGNAL=USR2 or CLINEPROF_ATTACH=1 let clineprof attach in.

  install  put the hook into this interpreter's site-packages; with --attach every program of this interpreter
           lets clineprof attach in
  remove   remove the hook
  status   tell whether the hook is installed
"""
LINE = (
    'import os; exec("import sys\\n'
    "sys.path.insert(0, %(folder)r)\\n"
    "try:\\n    import clineprof._children\\n"
    "    sys.modules['clineprof._children'].join()%(more)s\\n"
    "    if os.environ.get('CLINEPROF'):\\n        import clineprof._global.head\\n"
    "except Exception:\\n    pass\\n"
    'sys.path.remove(%(folder)r)")%(condition)s\n'
)
IF_ASKED = ' if {"CLINEPROF", "CLINEPROF_CHILDREN", "CLINEPROF_SIGNAL", "CLINEPROF_ATTACH"} & {*os.environ} else None'
ALWAYS = "\\n    import clineprof._attach.listen\\n    sys.modules['clineprof._attach.listen'].at_start(True)"


def main(words):
    """Runs the command, and returns the exit code. `words` is the whole command line, ["clineprof", "hook", ..]."""
    actions = {"install": install, "remove": remove, "status": status}
    if "-h" in words[2:] or "--help" in words[2:]:
        _boot.core().print(USAGE)
        return 0
    attach = words[2:] == ["install", "--attach"]
    if attach:
        actions["install"] = lambda path: install(path, True)
    elif len(words) != 3 or words[2] not in actions:
        what = "'%s'" % " ".join(words[2:]) if words[2:] else "nothing"
        return _complain("needs install, remove or status, not %s" % what, 2)
    path = os.path.join(sysconfig.get_path("purelib"), "clineprof-hook.pth")
    try:
        return actions[words[2]](path)
    except OSError as error:
        return _complain("cannot %s '%s': %s" % (words[2], path, error.strerror), 1)


def install(path, attach=False):
    from clineprof._boot import files

    folder = os.path.abspath(__file__).rsplit("/", 3)[0]
    files.replace(path, (LINE % {
        "folder": folder, "more": ALWAYS * attach, "condition": "" if attach else IF_ASKED}).encode("utf-8", "surrogateescape"), 0o666)
    return _say("Installed '%s'" % path)


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        return _say("There is no hook in %s" % sys.executable)
    return _say("Removed '%s'" % path)


def status(path):
    there = os.path.exists(path)
    return _say("The hook is installed: '%s'" % path if there else
                "There is no hook in %s" % sys.executable)  # fmt: skip


def _say(text):
    _boot.core().print(_boot.shown(text) + "\n")
    return 0


def _complain(text, code):
    _boot.complain(ME, text)
    return code
