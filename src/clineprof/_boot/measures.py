# SPDX-License-Identifier: MIT
"""The measures of a line, from the one table of them in C (src/profile/measures.h)."""
import collections

from clineprof import _boot

# column: in files and in Profile; name: for options; unit: "count", "ns" or "bytes"; merge: "sum", "largest" or
# "furthest from 0"; needs: what a run must have recorded, "times", "memory", "heap" or "native"; page: where the
# HTML page shows it; kept: False for what is worked out from other measures.
Measure = collections.namedtuple(
    "Measure", "column name title about unit merge needs page is_signed kept"
)
MEASURES = tuple(Measure(*row) for row in _boot.core().MEASURES)

_SUFFIX = {"ns": "_ns", "bytes": "_bytes", "count": ""}


def attribute(measure):
    """What Python code calls the measure: it takes no "await" for a name."""
    return "awaited" if measure.column == "await" else measure.column


def told(measure):
    """The measure's name in a table: it tells the unit."""
    return measure.column + _SUFFIX[measure.unit]
