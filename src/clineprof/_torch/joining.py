# SPDX-License-Identifier: MIT
"""Joins a trace of torch.profiler with a log of lines. The calls of a thread belong to the line that ran there. A
kernel or copy belongs to the call that launched it (`correlation`). What a backward operator does belongs to the line
of its forward operator (`Sequence number`, `Fwd thread id`)."""
import re
from array import array
from bisect import bisect_right

from clineprof._torch import Wrong
from clineprof._torch.log import NOWHERE, Thread

OPS = "cpu_op", "Operator"
DEVICE = "kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"
FLOWS = "fwdbwd", "forward_backward"
WAITS = re.compile(r"(cuda|hip)(Stream|Device|Event|Thread)Synchronize|cu(Stream|Ctx|Event)Synchronize"
                   r"|(cuda|hip)Memcpy(2D|3D|Peer|ToSymbol|FromSymbol|WithStream)?"
                   r"|(cu|hip)Memcpy(DtoH|HtoD|DtoD)")  # fmt: skip
SUFFIX = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
KINDS = "device_time", "device_wait", "launches", "ops", "forward", "backward"


class Sums:
    """What a line got: times in nanoseconds, of devices and of CPU operators; numbers of kernels and copies, and of
    operators that lie in no other."""

    __slots__ = KINDS

    def __init__(self):
        for kind in KINDS:
            setattr(self, kind, 0)


class Backward:
    """The backward operators of a thread."""

    def __init__(self):
        self.starts, self.ends, self.keys, self.above = array("q"), array("q"), [], None

    def add(self, start, end, key):
        self.starts.append(start)
        self.ends.append(end)
        self.keys.append(key)

    def order(self):
        order = sorted(range(len(self.starts)), key=lambda i: (self.starts[i], -self.ends[i]))
        self.starts = array("q", map(self.starts.__getitem__, order))
        self.ends = array("q", map(self.ends.__getitem__, order))
        self.keys = [self.keys[i] for i in order]
        self.above = array("q")
        open_ones = []
        for i, start in enumerate(self.starts):
            while open_ones and self.ends[open_ones[-1]] < start:
                open_ones.pop()
            self.above.append(open_ones[-1] if open_ones else -1)
            open_ones.append(i)

    def around(self, time):
        """The place of the innermost operator that ran at this time; -1: none did."""
        place = bisect_right(self.starts, time) - 1
        while place >= 0 and self.ends[place] < time:
            place = self.above[place]
        return place


class Calls:
    """Calls of a runtime or driver, by columns."""

    def __init__(self):
        self.correlations, self.threads, self.starts, self.lengths = array("q"), array("q"), array("q"), array("q")
        self.waits = bytearray()


class Join:
    """Takes the events of one trace. Times in it are nanoseconds of the trace's own clock."""

    def __init__(self):
        self.processes = {}  # of operators: their number by process
        self.first, self.last = None, 0
        self._forward = {}  # (thread, sequence number): when the last such operator began
        self._sources, self._links = {}, []  # flows from forward operators: id -> thread; (id, thread, time)
        self._backward = {}
        self._outermost = {}  # thread: (starts, ends) of operators that may lie in no other
        self._calls = Calls()
        self._devices = tuple(array("q") for i in range(4))  # correlation, external id, length, blocking?
        self._named = tuple(array("q") for i in range(3))  # operators: external id, thread, start
        self._is_wait = {}
        self._takes = {**dict.fromkeys(OPS, self._take_op), **dict.fromkeys(DEVICE, self._take_device),
                       **dict.fromkeys(FLOWS, self._take_flow), "Runtime": self._take_call}  # fmt: skip
        self.lines = {}  # key: Sums
        self.lost = Sums()

    # ---- reading ----

    def take(self, events):
        """Takes some events. ValueError, TypeError or KeyError if one is not as it must be."""
        takes = self._takes
        for event in events:
            category = event.get("cat")
            if category not in takes:
                is_call = type(category) is str and category.endswith(("_runtime", "_driver"))
                takes[category] = self._take_call if is_call else None
            take = takes[category]
            if take is not None:
                take(event)

    def _take_op(self, event):
        if event["ph"] != "X":
            return
        args, thread = event.get("args") or {}, event["tid"]
        start = round(event["ts"] * 1000)
        end = start + round(event["dur"] * 1000)
        process = event["pid"]
        self.processes[process] = self.processes.get(process, 0) + 1
        number, origin = args.get("Sequence number"), args.get("Fwd thread id")
        if number is not None and number >= 0:
            if origin:
                if thread not in self._backward:
                    self._backward[thread] = Backward()
                self._backward[thread].add(start, end, (origin, number))
            elif self._forward.get((thread, number), -1) < start:
                self._forward[thread, number] = start
        named = args.get("External id", args.get("external id"))
        if named is not None:
            for column, value in zip(self._named, (named, thread, start)):
                column.append(value)
        starts, ends = self._outermost.setdefault(thread, (array("q"), array("q")))
        if not ends or start >= ends[-1] or start < starts[-1]:
            starts.append(start)
            ends.append(end)
        elif end > ends[-1]:
            ends[-1] = end

    def _take_flow(self, event):
        if event["ph"] == "s":
            self._sources[event["id"]] = event["tid"]
        elif event["ph"] == "f":
            self._links.append((event["id"], event["tid"], round(event["ts"] * 1000)))

    def _take_call(self, event):
        name, calls = event["name"], self._calls
        if name not in self._is_wait:
            self._is_wait[name] = WAITS.fullmatch(SUFFIX.sub("", name)) is not None
        calls.correlations.append((event.get("args") or {}).get("correlation", 0))
        calls.threads.append(event["tid"])
        calls.starts.append(round(event["ts"] * 1000))
        calls.lengths.append(round(event["dur"] * 1000))
        calls.waits.append(self._is_wait[name])

    def _take_device(self, event):
        args, name = event.get("args") or {}, event["name"]
        blocks = name.startswith("Memcpy ") and "Pageable" in name  # the host waits for such a copy
        external = args.get("External id", args.get("external id", 0))
        values = args.get("correlation", 0), external, round(event["dur"] * 1000), blocks
        for column, value in zip(self._devices, values):
            column.append(value)

    # ---- joining ----

    def join(self, log, base):
        """Puts everything on lines, when the whole trace is read. Wrong if trace and log are of other times."""
        self._log, self._base = log, base
        self._threads = log.threads
        self._check_times()
        for backward in self._backward.values():
            backward.order()
        self._find_origins()
        self._join_ops()
        self._join_calls()

    def _check_times(self):
        self.first = min(starts[0] for starts, ends in self._outermost.values()) + self._base
        self.last = max(max(ends) for starts, ends in self._outermost.values()) + self._base
        first, last = self._log.span()
        if self.last < first or self.first > last:
            raise Wrong("the trace is of another time than the log of lines: "
                        "%s to %s, and %s to %s (seconds since 1970)"
                        % tuple("%.3f" % (nanos * 1e-9) for nanos in (self.first, self.last, first, last)))  # fmt: skip

    def _find_origins(self):
        """Finds which thread of the system each thread of torch's own numbers is, in which forward operators ran."""
        self._origins = {}
        for flow, thread, time in self._links:
            backward = self._backward.get(thread)
            place = backward.around(time) if backward is not None else -1
            if place >= 0 and flow in self._sources:
                self._origins.setdefault(backward.keys[place][0], self._sources[flow])
        self._sources = self._links = None

    def _forward_line(self, key):
        """The line of the forward operator of this (thread by torch's number, sequence number)."""
        origin, number = key
        threads = [self._origins[origin]] if origin in self._origins else self._threads
        found = [(thread, number) for thread in threads if (thread, number) in self._forward]
        return self._at(found[0][0], self._forward[found[0]])[0] if len(found) == 1 else NOWHERE

    def _at(self, thread, time):
        log = self._threads.get(thread)
        return log.at(time + self._base) if log is not None else (NOWHERE, 0)

    def place(self, thread, time):
        """The key of the line that what a thread did at a time belongs to, and whether that was a backward operator."""
        backward = self._backward.get(thread)
        here, since = self._at(thread, time)
        around = backward.around(time) if backward is not None else -1
        if around >= 0 and not (here != NOWHERE and since > backward.starts[around] + self._base):
            line = self._forward_line(backward.keys[around])
            if line != NOWHERE:
                return line, True
        if here == NOWHERE and backward is not None:
            return self._caller_line(backward, time), True
        return here, around >= 0

    def _caller_line(self, backward, time):
        """The line that called backward(), whose work another thread does: that of the forward operators' thread."""
        before = max(bisect_right(backward.starts, time) - 1, 0)
        thread = self._origins.get(backward.keys[before][0])
        if thread is None and len(self._threads) == 1:
            thread = next(iter(self._threads))
        return self._at(thread, time)[0]

    def _sums(self, key):
        if key == NOWHERE:
            return self.lost
        sums = self.lines.get(key)
        if sums is None:
            sums = self.lines[key] = Sums()
        return sums

    def _join_ops(self):
        for thread, (starts, ends) in self._outermost.items():
            last = -1
            for start, end in sorted(zip(starts, ends), key=lambda pair: (pair[0], -pair[1])):
                if end <= last:
                    continue
                last = end
                key, is_backward = self.place(thread, start)
                sums = self._sums(key)
                sums.ops += 1
                if is_backward:
                    sums.backward += end - start
                else:
                    sums.forward += end - start

    def _join_calls(self):
        calls, keys = self._calls, {}
        launches = dict(zip(calls.correlations, range(len(calls.starts))))
        launches.pop(0, None)  # it means none
        named = None

        def line_of(call):
            if call not in keys:
                keys[call] = self.place(calls.threads[call], calls.starts[call])[0]
            return keys[call]

        for call in range(len(calls.starts)):
            if calls.waits[call]:
                self._sums(line_of(call)).device_wait += calls.lengths[call]
        for correlation, external, length, blocks in zip(*self._devices):
            call = launches.get(correlation)
            if call is not None:
                key = line_of(call)
            else:
                if named is None:
                    named = dict(zip(self._named[0], range(len(self._named[0]))))
                op = named.get(external) if external else None
                key = self.place(self._named[1][op], self._named[2][op])[0] if op is not None else NOWHERE
            sums = self._sums(key)
            sums.device_time += length
            sums.launches += 1
            if blocks and call is not None and not calls.waits[call]:
                sums.device_wait += calls.lengths[call]
