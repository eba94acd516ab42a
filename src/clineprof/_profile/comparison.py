# SPDX-License-Identifier: MIT
"""The comparison of two profiles, which Profile.diff returns. `clineprof diff` makes the same one of files."""
import functools

from clineprof import _boot


class Comparison:
    """The comparison of two profiles."""

    def __init__(self, before, after):
        names = tuple(profile.meta.get("command", "a profile") for profile in (before, after))
        self._sides = before.content, after.content, names

    @functools.cached_property
    def text(self):
        """The tables and sentences of `clineprof diff`, which str() returns, too."""
        return _boot.core().compare(*self._sides, "text")

    @functools.cached_property
    def data(self):
        """A dict of everything, as `clineprof diff --format json` has it (docs/compare.md)."""
        return _boot.core().compare(*self._sides, "object")

    @property
    def functions(self):
        """The functions that changed, the one that changed most first: a list of dicts."""
        return self.data["functions"]

    @property
    def sentence(self):
        """The last sentence of the text, which tells the change that matters most."""
        return self.text.rstrip("\n").rpartition("\n")[2]

    def __repr__(self):
        return "<clineprof.Comparison: %s>" % self.sentence

    def __str__(self):
        return self.text

    def _repr_pretty_(self, printer, cycle):
        from clineprof._html import cell

        printer.text(cell.cut(self.text.rstrip()))

    def _repr_html_(self):
        from clineprof._html import cell

        return cell.of_comparison(_boot.core().compare(*self._sides, "marked"), self.sentence)
