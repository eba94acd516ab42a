# SPDX-License-Identifier: MIT
"""The command `clineprof torch join`."""
import gc
import os

from clineprof import _boot
from clineprof._boot import files
from clineprof._boot.parser import Parser
from clineprof._profile import load
from clineprof._torch import Wrong, reading, slices
from clineprof._torch.joining import KINDS, Join, Sums
from clineprof._torch.log import NOWHERE, logs_of

ME = "clineprof torch"
SHOWN = 10  # lines in the table
USAGE = """\
usage: clineprof torch join [options] RUN.lprof TRACE.json ..

Puts what torch.profiler has recorded on lines: the time of kernels and copies, the waiting for
them, and their number. The profile must have a log of lines (ckernprof --line-log). Traces may
be compressed (.gz); several are added up.

options:
  -o, --outfile FILE  the joined profile (default: RUN-joined.lprof)
      --trace FILE    also write the trace with our lines in it, for Perfetto
      --version       print the version
  -h, --help          print this help
"""


def main(words):
    """Runs the command, and returns the exit code. `words` is the whole command line, ["clineprof", "torch", ..]."""
    if words[2:3] in ([], ["-h"], ["--help"]):
        _boot.core().print(USAGE)
        return 0 if words[2:] else 2
    if words[2] != "join":
        _boot.complain(ME, "unknown command '%s'; there is join" % words[2])
        return 2
    options = _parser().parse_args(words[3:])
    if options.help or options.version:
        _boot.core().print(USAGE if options.help else _boot.core().__version__ + "\n")
        return 0
    if len(options.files) < 2 or (options.trace and len(options.files) > 2):
        _boot.complain(ME, "--trace needs a single trace" if options.trace and len(options.files) > 2
                       else "needs a profile and a trace; see %s join --help" % ME)  # fmt: skip
        return 2
    gc.disable()  # reading makes millions of objects, none of which is garbage before the end
    try:
        return _join(options)
    except Wrong as error:
        _boot.complain(ME, str(error))
    except OSError as error:
        _boot.complain(ME, "'%s': %s" % (error.filename, error.strerror))
    finally:
        gc.enable()
    return 1


def _parser():
    parser = Parser(prog=ME + " join", add_help=False, allow_abbrev=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("-o", "--outfile")
    parser.add_argument("--trace")
    for words in ("--version",), ("-h", "--help"):
        parser.add_argument(*words, action="store_true")
    return parser


def _join(options):
    run, *traces = options.files
    out = options.outfile or "%s-joined.lprof" % run.removesuffix(".lprof")
    for made in out, options.trace:
        if made is not None and any(os.path.exists(made) and os.path.samefile(made, file) for file in options.files):
            raise Wrong("would overwrite '%s', which it reads; choose another name" % made)
    try:
        profile = load(run)
    except ValueError as error:
        raise Wrong(str(error)) from None
    logs = logs_of(profile, run)
    total = _Total(profile)
    for path in traces:
        trace, join, process = _read(path, logs, run)
        total.add(join, logs[process])
        if options.trace:
            made = slices.of_log(logs[process], process, trace.base, join.first, join.last, total.text)
            reading.copy_with(trace, made, options.trace, profile._rights)
    made = _boot.core().with_devices(profile.content, total.rows(), *total.outside())
    files.replace(out, made, profile._rights)
    for made in filter(None, (out, options.trace)):
        print("Wrote '%s'" % _boot.shown(made))
    total.show(sum(log.dropped for log in logs.values()))
    return 0


def _read(path, logs, run):
    """Reads a trace and joins it. Returns it, its Join and its process."""
    trace, join = reading.Trace(path), Join()
    try:
        for events in trace:
            join.take(events)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise Wrong("'%s' is not a trace of torch.profiler: %s in an event" % (path, repr(error))) from None
    if not join.processes:
        raise Wrong("'%s' has no operators of the CPU: record them with ProfilerActivity.CPU" % path)
    process = max(join.processes, key=join.processes.get)
    if process not in logs:
        raise Wrong("'%s' is a trace of process %s, and '%s' has the lines of process %s"
                    % (path, process, run, ", ".join(map(str, logs))))  # fmt: skip
    join.join(logs[process], trace.base)
    return trace, join, process


class _Total:
    """The sums of all traces by line of the profile."""

    def __init__(self, profile):
        self._places = {}
        for place, function in enumerate(profile.functions):
            self._places.setdefault((function.file, function.name, function.line), place)
        self._functions = profile.functions
        self._lines = {}  # (place of the function, line): Sums
        self._lost = Sums()

    def add(self, join, log):
        for key, sums in [(NOWHERE, join.lost), *join.lines.items()]:
            *function, line = log.line(key) if key != NOWHERE else (None, 0)
            place = self._places.get(tuple(function))
            into = self._lost if place is None else self._lines.setdefault((place, line), Sums())
            for kind in KINDS:
                setattr(into, kind, getattr(into, kind) + getattr(sums, kind))

    def rows(self):
        return [(place, line, sums.device_time, sums.device_wait, sums.launches)
                for (place, line), sums in self._lines.items()]  # fmt: skip

    def outside(self):
        return self._lost.device_time, self._lost.launches

    def text(self, file, name, first_line, line):
        place = self._places.get((file, name, first_line))
        source = self._functions[place].source if place is not None else None
        lines = source.splitlines() if source is not None else []
        return lines[line - first_line].strip() if 0 <= line - first_line < len(lines) else ""

    def show(self, dropped):
        everything = [self._lost, *self._lines.values()]
        launches = sum(sums.launches for sums in everything)
        self._show_table("device_time" if launches else None)
        if not launches:
            print("No kernel is in the trace: device times are 0, and the table has operators of the CPU.")
        self._show_lost(sum(sums.ops for sums in everything), launches)
        if dropped:
            print("The log of lines was full: %d events are missing in it." % dropped)

    def _show_lost(self, ops, launches):
        lost = self._lost
        told = "%d of %d operators (%.3f ms)" % (lost.ops, ops, (lost.forward + lost.backward) * 1e-6)
        if launches:
            told += ", %d of %d kernels and copies (%.3f ms)" % (lost.launches, launches, lost.device_time * 1e-6)
        if lost.ops or lost.launches:
            print("On no line: %s." % told)
        if lost.device_wait:
            print("On no line: %.3f ms of waiting." % (lost.device_wait * 1e-6))

    def _show_table(self, by):
        """Prints the lines with most time on devices or, without one, in operators."""

        def weight(item):
            sums = item[1]
            return (getattr(sums, by) if by else 0, sums.forward + sums.backward, item[0])

        rows = sorted(self._lines.items(), key=weight, reverse=True)[:SHOWN]
        titles = "Operators", "Forward ms", "Backward ms", "Device ms", "Launches", "Line"
        print("%9s %11s %11s %11s %9s  %s" % titles)
        for (place, line), sums in rows:
            function = self._functions[place]
            text = self.text(function.file, function.name, function.line, line)
            print("%9d %11.3f %11.3f %11.3f %9d  %s" % (
                sums.ops, sums.forward * 1e-6, sums.backward * 1e-6, sums.device_time * 1e-6, sums.launches,
                _boot.shown("%s:%d  %s" % (files.seen_from(os.getcwd(), function.file), line, text))))  # fmt: skip
