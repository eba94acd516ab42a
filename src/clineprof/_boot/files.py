# SPDX-License-Identifier: MIT
"""Writes files completely or not at all, with the rights that a profile may have; and names them for people."""
import os
import sys

from clineprof import _boot


def replace(path, content, rights=None):
    """Replaces a file by this content. The content is first written under another name, so nobody reads half a file,
    and on failure the old file stays. `rights` are the most that the file may have. By default they are those of the
    program, because a profile holds its source text."""
    _boot.core().write(path, content, program_rights() if rights is None else rights)


def program_rights():
    """The rights of the script that runs. Without a script only the owner may read and write."""
    return _boot.core().rights(getattr(sys.modules.get("__main__"), "__file__", None) or "")


def put_aside(name, content):
    """Writes content that cannot be written where it should go into the temporary folder. Returns its path there."""
    import tempfile

    file, path = tempfile.mkstemp(prefix="clineprof-", suffix="-" + name)
    with open(file, "wb") as out:
        out.write(content)
    return path


def seen_from(folder, path):
    """The path of a file relative to the folder if the file lies in it; else the path as it is. The text report does
    the same."""
    folder = folder.rstrip("/") + "/"
    return path[len(folder):] if path.startswith(folder) and path != folder else path
