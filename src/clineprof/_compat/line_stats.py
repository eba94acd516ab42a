# SPDX-License-Identifier: MIT
"""LineStats: what a LineProfiler has counted, with line_profiler's attributes, arithmetic and files."""
import io
import pickle

# The beginning of a file that every line_profiler since 3.0 opens. It names the class by this path, in the way of
# pickle protocol 4, for which the class need not be importable here.
BEGINNING = b"\x80\x04\x8c\x1cline_profiler._line_profiler\x8c\x09LineStats\x93)\x81"
END = b"b."
FIRST_OF_PICKLES = b"\x80", b"c", b"("
NAMES = {
    ("line_profiler.line_profiler", "LineStats"), ("line_profiler._line_profiler", "LineStats"),
    ("line_profiler", "LineStats"), ("_line_profiler", "LineStats"),
}  # fmt: skip


class LineStats:
    """Timings of functions, as line_profiler has them.

    timings: {(file, first line, name): [(line, hits, time), ..]}, with lines in ascending order
    unit: seconds per unit of the times

    >>> import clineprof
    >>> one = clineprof.LineStats({("spam.py", 1, "eat"): [(2, 10, 3000)]}, 1e-9)
    >>> (one + one).timings
    {('spam.py', 1, 'eat'): [(2, 20, 6000)]}
    """

    _sources = {}  # {key of timings: source text of the function as it ran}; is not written to files

    def __init__(self, timings, unit):
        self.timings, self.unit = timings, unit

    def __repr__(self):
        return "%s(%s, %.2G)" % (type(self).__name__, self.timings, self.unit)

    def __eq__(self, other):
        try:
            return bool(self.timings == other.timings and self.unit == other.unit)
        except (AttributeError, TypeError):
            return NotImplemented

    __hash__ = None

    def __add__(self, other):
        """The sum, in the larger of the two units. Times are rounded to whole units."""
        return type(self)(*_sum([self, other]))

    def __iadd__(self, other):
        self.timings, self.unit = _sum([self, other])
        return self

    def print(self, stream=None, output_unit=None, stripzeros=False, details=True, summarize=False,
              sort=False, rich=False, *, config=None):  # fmt: skip
        """Writes the tables to a text stream, or to standard output. The options are those of show_text."""
        from clineprof._compat import line_text

        line_text.show_sourced(self._sources, self.timings, self.unit, output_unit, stream, stripzeros,
                               details, summarize, sort, rich, config=config)  # fmt: skip

    def to_file(self, filename):
        """Writes a file that line_profiler and clineprof open. Raises OSError if it cannot be written."""
        state = {"timings": dict(self.timings), "unit": self.unit}
        from clineprof._boot import files

        files.replace(filename, BEGINNING + pickle.dumps(state, 2)[2:-1] + END)

    @classmethod
    def from_files(cls, file, /, *files):
        """The sum of files of line_profiler and of clineprof. line_profiler's files are pickles; only what such a file
        must hold is unpickled. Raises OSError if a file cannot be read, ValueError (what and where, in one line) if it
        is no profile."""
        return cls.from_stats_objects(*map(_read, [file, *files]))

    @classmethod
    def from_stats_objects(cls, stats, /, *more_stats):
        """The sum of objects that have the attributes `timings` and `unit`."""
        return cls(*_sum([stats, *more_stats]))


def _sum(items):
    if len(items) == 1:
        return {key: list(rows) for key, rows in items[0].timings.items()}, items[0].unit
    items = sorted(items, key=lambda item: item.unit)  # the small times are added first, so less is lost by rounding
    unit = items[-1].unit
    sums = {}
    for item in items:
        for key, rows in item.timings.items():
            lines = sums.setdefault(key, {})
            for line, hits, time in rows:
                hits_before, time_before = lines.get(line, (0, 0))
                lines[line] = hits_before + hits, time_before + time * (item.unit / unit)
    timings = {
        key: [(line, hits, int(round(time, 0))) for line, (hits, time) in sorted(lines.items())]
        for key, lines in sums.items()
    }
    return timings, unit


def of_profile(profile):
    """LineStats of a clineprof.Profile."""
    timings = {key: [(line, max(hits, 1), time) for line, hits, time in rows]
               for key, rows in profile.timings.items()}  # a line that began before the window has time but no hit
    stats = LineStats(timings, profile.unit)
    stats._sources = {(f.file, f.line, f.name): f.source for f in profile.functions if f.source}
    return stats


# ---- files -----------------------------------------------------------------------------------


class _Found:
    """Stands for the class LineStats that a file names."""


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) in NAMES:
            return _Found
        raise ValueError("names %s.%s, which is not LineStats" % (module, name))


def _read(path):
    from clineprof._profile import load

    profile = load(path)  # raises ValueError for a pickle that holds anything else than timings
    with open(path, "rb") as file:
        content = file.read()
    if not content.startswith(FIRST_OF_PICKLES):
        return of_profile(profile)
    return _Reader(io.BytesIO(content)).load()  # keeps the file's own unit, and times that are not whole numbers
