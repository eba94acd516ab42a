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


def save(path, content, complain, folder="", rights=None):
    """Writes what a run has made to a path, which is relative to `folder`. If that fails, puts it into the temporary
    folder, so that a run is not lost because its folder was removed. complain(text) is called for each failure. Returns
    the path as given, or that in the temporary folder; None if both fail."""
    try:
        replace(os.path.join(folder, path), content, rights)
        return path
    except OSError as error:
        complain("cannot write '%s': %s" % (path, error.strerror))
    try:
        return _boot.core().put_aside(os.path.basename(path), content)
    except OSError as error:
        complain("cannot write to the temporary folder either: %s" % error.strerror)
        return None


def seen_from(folder, path):
    """The path of a file relative to the folder if the file lies in it; else the path as it is. The text report does
    the same."""
    folder = folder.rstrip("/") + "/"
    return path[len(folder):] if path.startswith(folder) and path != folder else path
