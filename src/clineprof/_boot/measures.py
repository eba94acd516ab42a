# SPDX-License-Identifier: MIT
"""The measures of a line, read from their table in C (src/profile/measures.h)."""
import collections

from clineprof import _boot

# column: the name in files and in Profile; name: the name in options; unit: "count", "ns" or "bytes"; merge: "sum",
# "largest" or "furthest from 0"; needs: what a run must have recorded, "times", "light", "cpu", "queue", "called", "io",
# "faults", "switches", "counter1" to "counter4", "memory", "allocated", "heap" or "native"; page: where the HTML page
# shows the measure; kept: False for a measure that is computed from others.
Measure = collections.namedtuple(
    "Measure", "column name title about unit merge needs page is_signed kept"
)
MEASURES = tuple(Measure(*row) for row in _boot.core().MEASURES)

OF_BLOCKS = {"allocated", "heap", "native"}  # what measures of blocks need; a run has them without resident memory, too
OF_MEMORY = {"memory"} | OF_BLOCKS
_SUFFIX = {"ns": "_ns", "bytes": "_bytes", "count": ""}


def is_light(meta):
    """Are times estimates in the run, or in one of those that are summed?"""
    return "light" in (meta.get("tracer") or "")


def attribute(measure):
    """The measure's name as an attribute. "await" is a keyword of Python, so that measure is called "awaited"."""
    return "awaited" if measure.column == "await" else measure.column


def told(measure):
    """The measure's name in a table, which ends with the unit: "time_ns"."""
    return measure.column + _SUFFIX[measure.unit]
