# SPDX-License-Identifier: MIT
"""Shows the result of a magic: a table in a notebook, text in a terminal. Also writes it to files."""
import os
import sys

from IPython.core.error import UsageError

from clineprof._boot import files
from clineprof._html import cell


class Show:
    """Shows a profile, and writes it to the files of -D and -T. Making a Show raises UsageError if such a file cannot
    be written."""

    def __init__(self, shell, wish):
        self.shell, self.wish = shell, wish
        for letter in "D", "T":
            path = getattr(wish, letter)
            if path is not None:
                _check_place(letter, path)

    def show(self, taken, message=None, comparison=None):
        """Shows and writes the result. `taken` is an object of kinds.py whose take() was called. A comparison is shown
        in place of the profile."""
        if comparison is None:
            self._put(taken)
        else:
            put(self.shell, self._fitting(comparison.text, cell.cut), comparison._repr_html_())
        if not taken.profile.functions:
            print("*** Nothing was profiled: name functions with -f, modules with -m.", file=sys.stderr)
        if self.wish.D is not None:
            self._write(self.wish.D, taken.write, "Profile stats pickled to file")
        if self.wish.T is not None:
            content = (taken.text + "\n").encode("utf-8", "backslashreplace")
            self._write(self.wish.T, lambda path: files.replace(path, content),
                        "Profile printout saved to text file")
        if message is not None:
            print("\n*** " + message)

    def _put(self, taken):
        profile = taken.profile
        put(self.shell, self._fitting(taken.text, lambda text: cell.text(text, profile.content)), profile._repr_html_())

    def _fitting(self, text, cut):
        """The text, cut where it is for a cell."""
        return text.rstrip() if in_terminal(self.shell) else cut(text.rstrip())

    def _write(self, path, write, what):
        try:
            write(path)
        except OSError as error:
            print("*** cannot write %r: %s" % (path, error.strerror), file=sys.stderr)
        else:
            print("\n*** %s %r." % (what, path))


def _check_place(letter, path):
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path):
        reason = "it is a folder"
    elif not os.path.isdir(folder):
        reason = "there is no folder %s" % folder
    elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
        reason = "it may not be written"
    else:
        return
    raise UsageError("-%s %s: %s" % (letter, path, reason))


def put(shell, text, markup):
    """Shows text in a terminal, markup elsewhere."""
    if in_terminal(shell):
        from IPython.core import page

        page.page(text)
        return
    from IPython.display import display

    display({"text/plain": text, **({"text/html": markup} if markup else {})}, raw=True)


def in_terminal(shell):
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    return isinstance(shell, TerminalInteractiveShell)
