# SPDX-License-Identifier: MIT
"""A finished profile in Python: clineprof.load returns it, and the formats are made from it. leaks.py checks in a test
whether code leaks memory; comparison.py compares two profiles."""
import hashlib
import heapq
import os
import re
from collections import namedtuple

from clineprof import _boot
from clineprof._boot.measures import MEASURES, attribute, is_light, told

# The measures that a file keeps, in the order of the file (docs/format.md). Times are in units of `unit` seconds.
COLUMNS = tuple(measure.column for measure in MEASURES if measure.kept)

_LINE_END = re.compile("\r\n|\r|\n")  # str.splitlines splits at more characters than Python does


def load(path, *more):
    """The profile in a file: clineprof's own, a live file of a run, or line_profiler's pickle
    (which is never unpickled). Several files are summed; each process counts once, as in merge.

    >>> import clineprof
    >>> profile = clineprof.load("demo.lprof")
    >>> for line in profile.hottest(2):
    ...     print(line.function.name, line.line, line.hits, line.text.strip())
    build 3 1 table = list(range(n))
    build 4 1 return sum(table)

    OSError when a file cannot be read, ValueError (what and where, in one line) when it is no
    profile.
    """
    profile = Profile(_boot.core().load(path, *more))
    profile._rights = _boot.core().rights(path, *more)
    return profile


def loads(content):
    """The profile in bytes: those of a .lprof file, as dumps or merge returns them. ValueError when they are none.

    >>> import clineprof
    >>> clineprof.loads(clineprof.dumps(clineprof.load("demo.lprof")))
    <clineprof.Profile: 2 functions>
    """
    return Profile(_boot.core().total((bytes(content),)))


def dumps(profile):
    """The bytes of a .lprof file of the profile. ValueError for a profile that was made of numbers alone."""
    return profile.content


def merge(*contents):
    """The sum of profiles, as the bytes of a .lprof file. contents: bytes of .lprof files.

    The sum has a row for each process (Profile.processes). Each process counts once: of copies of one profile, taken
    earlier and later, the one that has more is added. What a process counted after profile.reset() adds up with what it
    counted before. ValueError when one of them is no profile; its message says which, counted from 1.

    >>> import clineprof
    >>> content = clineprof.load("demo.lprof").content
    >>> len(clineprof.loads(clineprof.merge(content, content)).functions)
    2
    """
    return _boot.core().merge(*(one if isinstance(one, bytes) else bytes(memoryview(one)) for one in contents))


def render(name, data, options):
    """Returns the bytes of a profile in the format `name`. `data` is the dict that the C module makes of a profile."""
    import gc

    from clineprof._formats import render

    gc.disable()  # rendering makes millions of objects, none of which is garbage before the end
    try:
        return render(name, Profile(data), options)
    finally:
        gc.enable()


Call = namedtuple("Call", "parent line function through calls time again increment self")
Call.__doc__ = """A calling context: a function, called from one line of one context.

parent: place of the caller's context in Profile.calls; None: no selected function called it
line: the caller's line; 0 if there is no caller, or it had no line yet
function: the Function that was called; None: contexts beyond the most that are kept, joined
through: was it reached through code that is not selected?
calls: how often; a generator that is resumed adds time, but no call
time: with everything that it called, without executions within another execution from the same line
again: the time of those executions that `time` leaves out
increment: change of resident memory in bytes within `time`
self: time without the functions that it called. Recursion counts where its function first stands on the way from
    the root; there `self` includes it
"""

Edge = namedtuple("Edge", "caller line callee through calls time increment")
Edge.__doc__ = """All calls of a function from one line of another: the sums of the contexts in Profile.calls. caller and
callee are Functions; caller is None where no selected function called it, callee where contexts were joined."""


Spread = namedtuple("Spread", "function line least least_in most most_in")
Spread.__doc__ = """How much the processes of a sum differ in one line.

function, line: the Function, and the line's number
least, most: the least and the most self time that a process spent in the line
least_in, most_in: these processes, items of Profile.processes. least is 0, and least_in None, where some process never
    ran the line
"""


class Profile:
    """functions: list of Function, in the order they were selected
    unit: seconds per unit of every time: 1e-09
    meta: dict of how the profile was made (docs/format.md)
    timeline: resident memory over time: a list with a dict for each process: pid, start (seconds since
        1970 of time 0), time and rss (lists of units and of bytes, equally long). Where spans of
        functions are known, also marks: a list of dicts of file, line, name, level, enter and leave
        (both in units)
    files: {file: its lines}, of the files whose whole text was kept (--source files)
    processes: the processes of which it is the sum: a list with a dict for each: pid, parent (0: none), start (seconds
        since 1970), wall, self (both in units), events, and where they are known name, host, boot, pid_namespace,
        rank (str) and restart; [] for a profile of one process
    calls_cut: number of calls in those contexts of `calls` that have no function
    """

    def __init__(self, data):
        self.unit = data["unit"]
        self.meta = data["meta"]
        self.timeline = data["timeline"]
        self._line_logs = data.get("line_log", ())
        self.processes = data.get("processes", [])
        self.functions = [Function(item) for item in data["functions"]]
        self._texts, self._files = data.get("files", ()), None
        self.calls_cut = data.get("calls_cut", 0)
        self._rows = data.get("calls", ())
        self._calls = None
        # Did a line allocate much that its increment does not show? Views then show the column without being asked.
        self.allocated_tells = data.get("allocated_tells", False)
        self._content = data.get("content")  # of a .lprof file; None: the profile was made of numbers alone
        self._rights = None  # rights of files written from it: those of its own file; None: those of the program

    def __repr__(self):
        return "<clineprof.Profile: %d function%s>" % (len(self.functions), "s"[len(self.functions) == 1 :])

    def __str__(self):
        """The tables of the functions that ran, each time in the unit that fits it."""
        return self.rendered().rstrip() if self._content else repr(self)

    def rendered(self, unit="auto", skip_zero=True, marked=False):
        """The profile as text: the tables of `clineprof FILE`. unit: of the times, in seconds or a word; marked: with
        marks for colours (src/report/table.h). ValueError for a profile that was not loaded or recorded."""
        return _boot.core().rendered(self.content, "text", unit, skip_zero, marked=marked, folder=os.getcwd())

    @property
    def content(self):
        """The bytes of a .lprof file of the profile, as it was loaded or recorded."""
        if self._content is None:
            raise ValueError("this profile was made of numbers alone; clineprof.load returns one that is whole")
        return self._content

    def _repr_html_(self):
        """What a notebook shows: the hottest lines, then the functions, of which all but one are folded. None, by which
        the notebook shows text, if nothing ran."""
        from clineprof._html import cell

        hottest = self.hottest(1)
        if self._content is None or not hottest:
            return None
        function = hottest[0].function
        first = "%s at line %d" % (_boot.core().shown(function.name), function.line)
        return cell.of_profile(self.rendered(marked=True), first, self._link, cell.picture(self.timeline))

    def _repr_pretty_(self, printer, cycle):
        from clineprof._html import cell

        printer.text(cell.text(str(self), self._content))

    def _link(self, count):
        """Markup that leads to the page with all functions, which it writes into the folder clineprof-pages."""
        from clineprof._html import cell

        path = "clineprof-pages/%s.html" % hashlib.sha256(self.content).hexdigest()[:12]
        try:
            os.makedirs("clineprof-pages", exist_ok=True)
            if not os.path.exists(path):
                self.write(path)
        except OSError:
            path = None
        return cell.link(count, path)

    def diff(self, after):
        """Compares this profile, the earlier one, with a later one, as `clineprof diff` does. Returns a Comparison.

        >>> import clineprof
        >>> before = clineprof.load("demo.lprof")
        >>> before.diff(before).sentence
        'Nothing got faster, slower, larger or smaller.'
        """
        from clineprof._profile.comparison import Comparison

        return Comparison(self, after)

    def __add__(self, other):
        """The sum of all numbers, also where both are copies of one profile, which clineprof.merge counts once."""
        if not isinstance(other, Profile):
            return NotImplemented
        total = Profile(_boot.core().total((self.content, other.content)))
        rights = [profile._rights for profile in (self, other) if profile._rights is not None]
        total._rights = rights[0] & rights[-1] if rights else None
        return total

    @property
    def has_memory(self):
        """Was resident memory read?"""
        return self.meta["has_memory"]

    @property
    def own(self):
        """The column of the time that a line itself took: "self"; "time" where the file knows no
        self time, as line_profiler's does not."""
        return "self" if any(function.has("self") for function in self.functions) else "time"

    @property
    def has_heap(self):
        """Were live blocks kept track of (--heap)?"""
        return self.meta.get("heap_interval", 0) != 0

    @property
    def calls(self):
        """The tree of calls: a list of Call, callers before what they call. No function is twice on a way from the root,
        except as its last: what such a recursive call calls itself is found where its function stands first. [] if
        the profile knows no calls, as one of an older clineprof, or of line_profiler."""
        if self._calls is None:
            self._calls = [Call(parent, line, None if place is None else self.functions[place], *numbers)
                           for parent, line, place, *numbers in self._rows]  # fmt: skip
        return self._calls

    @property
    def files(self):
        if self._files is None:
            self._files = {file: _lines(text) for file, text in self._texts}
        return self._files

    @property
    def edges(self):
        """Who calls whom, from which line: a list of Edge, the sums of `calls`."""
        sums = {}
        for call in self.calls:
            caller = None if call.parent is None else self._calls[call.parent].function
            numbers = sums.setdefault((caller, call.line, call.function, call.through), [0, 0, 0])
            for place, number in enumerate((call.calls, call.time, call.increment)):
                numbers[place] += number
        return [Edge(*key, *numbers) for key, numbers in sums.items()]

    @property
    def leaks(self):
        """Lines whose live memory grew call by call, the largest first: a list of dicts with file,
        line and name of the function, at (the line's number), text, bytes, margin (95 times of 100 the
        true growth is bytes - margin to bytes + margin), bytes_per_call, bytes_per_second, confidence
        (0 to 1), per_execution (are the epochs executions of the line, not calls?) and at_end (was it
        freed, but only at the end of the program?)."""
        found = []
        for function in self.functions:
            texts = function.texts() if function.leaks else {}
            for leak in function.leaks:
                at = {"at": leak["line"], "text": texts.get(leak["line"], "")}
                key = {"file": function.file, "line": function.line, "name": function.name}
                found.append({**leak, **at, **key})
        return sorted(found, key=lambda leak: -leak["bytes"])

    def spread(self, count=10):
        """The lines whose self time differs most between the processes: a list of Spread, the largest difference first.
        [] for a profile of one process."""
        found = []
        for function in self.functions:
            for number, (least, most, least_in, most_in, ran_in) in zip(function.numbers, function.spread):
                if ran_in and max(least_in, most_in) < len(self.processes):
                    everywhere = ran_in >= len(self.processes)
                    found.append(Spread(function, number, least if everywhere else 0,
                                        self.processes[least_in] if everywhere else None, most, self.processes[most_in]))
        differing = [spread for spread in found if spread.most > spread.least]
        return heapq.nlargest(count, differing, key=lambda spread: spread.most - spread.least)

    @property
    def timings(self):
        """As line_profiler's LineStats has it: {(file, line, name): [(line, hits, time), ..]}, of
        the lines that ran; times in units."""
        return {
            (f.file, f.line, f.name): [
                row for row in zip(f.numbers, f["hits"], f["time"]) if row[1] or row[2]
            ]
            for f in self.functions
        }

    def hottest(self, count=10, by=None):
        """The lines with the most of one column, the largest first; `by` is a name of COLUMNS or
        "increment"; without it `own` is used. Lines whose value is not above 0 are left out.
        KeyError for a name that is no column."""
        by = by or self.own
        values = (
            (value, function, place)
            for function in self.functions
            for place, value in enumerate(function[by])
            if value > 0
        )
        largest = heapq.nlargest(count, values, key=lambda item: item[0])
        return [Line(function, place) for _, function, place in largest]

    def columns(self, memory=True):
        """A table with one row for each line that has measures, as {name: list}: file, function,
        first_line, line, the measures under names that tell their unit (hits, time_ns, ..,
        rss_bytes, ..) and text, which is None where the source is not known. Without `memory`, or
        when none was read, it lacks the columns in bytes."""
        measures = self._measures(memory)
        names = ("file", "function", "first_line", "line", *measures, "text")
        table = {name: [] for name in names}
        for function in self.functions:
            count = len(function.numbers)
            table["file"] += [function.file] * count
            table["function"] += [function.name] * count
            table["first_line"] += [function.line] * count
            table["line"] += function.numbers
            for name, column in measures.items():
                table[name] += function[column]
            table["text"] += map(function.texts().get, function.numbers)
        return table

    def _measures(self, memory):
        """Returns the measures that the profile has: {name that ends with the unit: column}."""
        heap, memory = memory and self.has_heap, memory and self.has_memory
        light = is_light(self.meta)
        known = {"times": True, "light": light, "memory": memory, "allocated": memory or (light and heap), "heap": heap,
                 "native": heap}
        known.update((name.removeprefix("has_"), value) for name, value in self.meta.items()
                     if name.startswith(("has_cpu", "has_queue", "has_called", "has_io", "has_faults", "has_switches", "has_device_time", "counter", "device")))
        table = {told(m): m.column for m in MEASURES if m.needs == "times"}
        table["below_resolution"] = "below_resolution"
        table.update((told(m), m.column) for m in MEASURES if known.get(m.needs))
        return table

    def to_pandas(self):
        """The table of `columns` as a pandas.DataFrame. ImportError without pandas.

        >>> import clineprof
        >>> frame = clineprof.load("demo.lprof").to_pandas()
        >>> frame.groupby("function").self_ns.sum().to_dict()
        {'build': 3000000, 'main': 500000}
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas (pip install pandas); columns() does without"
            ) from error
        return pandas.DataFrame(self.columns())

    def write(self, path, format=None, **options):
        """Writes the profile as another program reads it: as the command's --format of this name
        does (docs/formats.md), or as the ending of the path says, "out.speedscope.json". Options:
        unit (seconds), raw_times, memory.

        ValueError for a name or an ending that means no format, or when this profile lacks what the
        format is about; OSError when the file cannot be written; one that was there stays then.
        """
        from clineprof._formats import write

        write(self, os.fspath(path), format, options)


def _lines(text):
    """The lines of a source text, without their ends."""
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


class Function:
    """file, line (its first; of a decorator when there is one), name (qualified)
    total: time inside it, callees included, recursion once; raw_total: as the clock saw it
    numbers: the line numbers that have measures, ascending
    source: its text as it ran, from its first line on; None when that is not known
    source_changed: True if it is not known because the file has changed since
    leaks: verdicts on its lines, as Profile.leaks has them
    running: the numbers of the lines that were being executed, if the run had not ended
    missed: the numbers of the lines that hold code and never ran; [] also if the profile does not know them
    callees: what took most of its lines' time in calls (--native), as dicts with line, name, time and library: is it
        a Python function that is not selected, or C code?
    spread: for each of `numbers` (least, most, least_in, most_in, ran_in), of which Profile.spread makes more readable
        ones: self times, places in Profile.processes, and the number of processes in which the line ran; () for a
        profile of one process
    compiler: what compiled it ("numba", "torch.compile", "Cython"), so that some calls or all are in no number; or None
    compiled: what that means for the numbers, as the end of a sentence; or None
    compiled_calls: calls from Python to the compiled code, which are in no number; 0 also where that is not known
    compilations, compile_time: how often it was compiled while it counted, and for how long; 0 where that is not known

    function["time"] is the column of that name (COLUMNS, "increment", "below_resolution"), as long as
    `numbers`.
    """

    __slots__ = (
        "file", "line", "name", "total", "raw_total", "numbers", "source", "source_changed",
        "running", "missed", "leaks", "callees", "compiler", "compiled", "compiled_calls", "compilations",
        "compile_time", "spread", "_columns", "_texts",
    )  # fmt: skip

    def __init__(self, data):
        self.file, self.line, self.name = data["file"], data["line"], data["name"]
        self.total, self.raw_total = data["total"], data["raw_total"]
        self.source, self.source_changed = data["source"], data.get("source_changed", False)
        self.running, self.missed, self.leaks = data["running"], data["missed"], data["leaks"]
        self.compiler, self.compiled, self.callees = data["compiler"], data["compiled"], data["callees"]
        self.compiled_calls, self.compilations = data["compiled_calls"], data["compilations"]
        self.compile_time = data["compile_time"]
        self.spread = data.get("spread", ())
        self._columns = data["lines"]
        self.numbers = self._columns.pop("line")
        self._texts = None

    def __repr__(self):
        place = os.path.basename(self.file), self.line
        return "<clineprof.Function %s at %s:%d>" % (self.name, *place)

    def __getitem__(self, column):
        if column == "increment":
            return [up - down for up, down in zip(self["grown"], self["released"])]
        if column in self._columns:
            return self._columns[column]
        if column == "below_resolution":
            return [False] * len(self.numbers)
        if column not in COLUMNS:
            raise KeyError(column)
        return [0] * len(self.numbers)

    def has(self, column):
        """Does the column have values other than 0?"""
        return column in self._columns

    @property
    def lines(self):
        """The lines that have measures: a list of Line."""
        return [Line(self, place) for place in range(len(self.numbers))]

    def texts(self):
        """{line number: its text} of the source, line ends cut off; {} when it is not known."""
        if self._texts is None:
            self._texts = dict(enumerate(_lines(self.source or ""), self.line))
        return self._texts


class Line:
    """A line of a function. line: its number; text: as it ran, None when that is not known.

    Every measure is an attribute (docs/format.md lists them; times are in units, sizes in bytes). The column "await" is
    called awaited, because `await` is a keyword. below_resolution: is the line so short that its time is
    an estimate?
    """

    __slots__ = "function", "_place"

    def __init__(self, function, place):
        self.function, self._place = function, place

    def __repr__(self):
        return "<clineprof.Line %d of %s>" % (self.line, self.function.name)

    @property
    def line(self):
        return self.function.numbers[self._place]

    @property
    def text(self):
        return self.function.texts().get(self.line)

    @property
    def increment(self):
        return self.grown - self.released

    @property
    def below_resolution(self):
        return self.function["below_resolution"][self._place]


def _measure(column):
    def get(self):
        function = self.function
        return function[column][self._place] if function.has(column) else 0

    return property(get)


for _of in MEASURES:
    if _of.kept:
        setattr(Line, attribute(_of), _measure(_of.column))
