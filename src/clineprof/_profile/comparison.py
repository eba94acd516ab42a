# SPDX-License-Identifier: MIT
"""The comparison of two profiles, which Profile.diff returns. `clineprof diff` makes the same one of files."""
from clineprof import _boot


class Comparison:
    """The comparison of two profiles.

    text: the tables and sentences of `clineprof diff`, which str() returns, too
    sentence: the last of them, which tells the change that matters most
    data: dict of everything, as `clineprof diff --format json` has it (docs/compare.md)
    """

    def __init__(self, before, after):
        names = tuple(profile.meta.get("command", "a profile") for profile in (before, after))
        self.text, self._marked, self.data = _boot.core().compare(before.content, after.content, names)
        self.sentence = self.text.rstrip("\n").rpartition("\n")[2]

    @property
    def functions(self):
        """The functions that changed, the one that changed most first: a list of dicts."""
        return self.data["functions"]

    def __repr__(self):
        return "<clineprof.Comparison: %s>" % self.sentence

    def __str__(self):
        return self.text

    def _repr_pretty_(self, printer, cycle):
        printer.text(self.text.rstrip())

    def _repr_html_(self):
        from clineprof._html import cell

        return cell.of_comparison(self._marked, self.sentence)
