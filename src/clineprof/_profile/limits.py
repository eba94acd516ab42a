# SPDX-License-Identifier: MIT
"""Limits of lines, by the names of measures: of the marker line_limits of pytest, and of `clineprof lsp --limit`."""
import math

from clineprof._boot.measures import MEASURES, attribute


class _Limit:
    def __init__(self, unit, shown, needs, scale=1):
        self.unit, self.shown, self.needs, self.scale = unit, shown, needs, scale


_KINDS = {
    "ns": ("seconds", lambda value: "%.3g s" % value),
    "bytes": ("bytes", lambda value: "{:,} bytes".format(math.floor(value))),
    "count": ("executions or blocks", lambda value: "{:,}".format(math.floor(value))),
}
# Every measure, but those for which the program must be started with a library that it preloads.
LIMITS = {
    attribute(m): _Limit(*_KINDS[m.unit], m.needs, 1e-9 if m.unit == "ns" else 1)
    for m in MEASURES if m.needs != "native"
}  # fmt: skip
LIMITS["leaks"] = _Limit(*_KINDS["bytes"], "heap")


def is_amount(value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and value >= 0 and math.isfinite(value)


def over(line, limits):
    """Says which of the limits, {name: amount}, the line exceeds: a text for each."""
    for name, allowed in limits.items():
        if name == "leaks":
            measured = sum(leak["bytes"] for leak in line.function.leaks if leak["line"] == line.line)
        else:
            measured = getattr(line, name) * LIMITS[name].scale
        if measured > allowed:
            shown = LIMITS[name].shown
            yield "%s %s, allowed %s" % (name, shown(measured), shown(allowed))
