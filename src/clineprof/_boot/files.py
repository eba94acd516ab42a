# SPDX-License-Identifier: MIT
"""Files: how they are written, whole or not at all and with rights that a profile may have; how they are named."""
import os
import sys

from clineprof import _boot


def replace(path, content, rights=None):
    """Writes a file under another name first: nobody sees half of it, a failure keeps the old. rights:
    those of the file at most; a profile's hold source, so they are those of the program."""
    _boot.core().write(path, content, program_rights() if rights is None else rights)


def program_rights():
    """Those of the script that runs; without one the owner's alone."""
    return _boot.core().rights(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def save(path, content, complain, folder="", rights=None):
    """Writes what a run has made, at this path seen from the folder; where that fails, which is complained of in a
    line, in the temporary folder: a run is not lost because its folder went away. The path; None: it is lost."""
    try:
        replace(os.path.join(folder, path), content, rights)
        return path
    except OSError as error:
        complain("cannot write '%s': %s" % (path, error.strerror))
    try:
        return _boot.core().put_aside(os.path.basename(path), content)
    except OSError as error:
        complain("nor to the temporary folder: %s" % error.strerror)
        return None


def seen_from(folder, path):
    """A file's name from this folder on, where it lies in there; else as it is. The text report does the same."""
    folder = folder.rstrip("/") + "/"
    return path[len(folder):] if path.startswith(folder) and path != folder else path
