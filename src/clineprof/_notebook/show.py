# SPDX-License-Identifier: MIT
"""Shows the result of a magic: a table in a notebook, text in a terminal. Also writes it to files."""
import copy
import os
import sys

from IPython.core.error import UsageError

from clineprof._boot import files


class Show:
    """Shows a profile, and writes it to the files of -D and -T. Making a Show raises UsageError if such a file cannot
    be written."""

    def __init__(self, shell, wish):
        self.shell, self.wish = shell, wish
        for letter in "D", "T":
            path = getattr(wish, letter)
            if path is not None:
                _check_place(letter, path)

    def show(self, taken, message=None):
        """Shows and writes the result. `taken` is an object of kinds.py whose take() was called."""
        self._put(taken)
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
        if _in_terminal(self.shell):
            from IPython.core import page

            page.page(taken.text)
            return
        from IPython.display import display

        html = self._table(taken.profile)
        display({"text/plain": taken.text, **({"text/html": html} if html else {})}, raw=True)

    def _table(self, profile):
        """The profile as HTML; None if Jinja2 is not installed."""
        from clineprof._formats import html

        shown = copy.copy(profile)
        shown.functions = [self._named(function) for function in shown.functions
                           if not self.wish.z or any(function["hits"])]  # fmt: skip
        try:
            return html.fragment(shown, {})
        except ImportError:
            return None

    def _named(self, function):
        """The function, with "Cell In[3]" as the name of its file if the file is a cell."""
        cell = self.shell.compile.format_code_name(function.file)
        if cell is not None:
            function = copy.copy(function)
            function.file = " ".join(cell)
        return function

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


def _in_terminal(shell):
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    return isinstance(shell, TerminalInteractiveShell)
