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


def put_aside(name, content):
    """Writes what cannot go where it should to the temporary folder; its path there."""
    import tempfile

    file, path = tempfile.mkstemp(prefix="clineprof-", suffix="-" + name)
    with open(file, "wb") as out:
        out.write(content)
    return path


def seen_from(folder, path):
    """A file's name from this folder on, where it lies in there; else as it is. The text report does the same."""
    folder = folder.rstrip("/") + "/"
    return path[len(folder):] if path.startswith(folder) and path != folder else path


def file_prefix(prefix):
    """What names of files can begin with, as a str. TypeError, ValueError."""
    prefix = os.fsdecode(prefix)
    if "\0" in prefix:
        raise ValueError("no file can be called %r" % prefix)
    return prefix
