# SPDX-License-Identifier: MIT
"""The log of lines that a profile keeps (docs/format.md): which line ran in which thread, and when."""
import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

from clineprof._torch import Wrong

HEAD = struct.Struct("<5Q")  # process, functions, runs, events, events that found no room
FUNCTION = (1 << 24) - 1
DEPTH_SHIFT = 24
LINE_SHIFT = 32
CONTINUES = 1 << 63
NOWHERE = 0  # the key of an event outside all functions
KEY = FUNCTION | 0x7FFFFFFF << LINE_SHIFT


class Thread:
    """times: nanoseconds since 1970, ascending; words: what began then, as the file has it"""

    def __init__(self):
        self.times, self.words = array("Q"), array("Q")

    def at(self, nanos):
        """The key of the line that ran at this time, and since when; (NOWHERE, 0) if it is not known."""
        place = bisect_right(self.times, nanos) - 1
        while place >= 0 and not self.words[place] & FUNCTION and self.words[place]:
            place -= 1  # an event of a function that is not in the profile: the line before called it
        return (self.words[place] & KEY, self.times[place]) if place >= 0 else (NOWHERE, 0)

    def between(self, first, last):
        """The events from the last one before `first` to `last`."""
        start = max(bisect_right(self.times, first) - 1, 0)
        for place in range(start, bisect_left(self.times, last)):
            yield self.times[place], self.words[place]


class Log:
    """The logs of a profile that are of one process.

    threads: {the system's number: Thread}
    functions: (file, name, first line) by the number that keys have
    dropped: events that found no room
    """

    def __init__(self):
        self.threads, self.functions, self.dropped = {}, [None], 0

    def line(self, key):
        """(file, name, first line, line) of a key that is not NOWHERE."""
        return self.functions[key & FUNCTION] + (key >> LINE_SHIFT,)

    def span(self):
        """The times of the first and the last event."""
        return (min(thread.times[0] for thread in self.threads.values()),
                max(thread.times[-1] for thread in self.threads.values()))  # fmt: skip

    def add(self, counts, content):
        """Takes one log; its functions get new numbers where the numbers are taken already."""
        functions, runs, events, dropped = counts
        at_events = HEAD.size + 16 * runs
        shift = len(self.functions) - 1
        self.functions += _functions(content[at_events + 16 * events :], functions)
        self.dropped += dropped
        starts = _numbers(content[HEAD.size : at_events])
        words = _numbers(content[at_events : at_events + 16 * events])
        for i in range(runs):
            end = starts[2 * i + 2] if i + 1 < runs else events
            thread = self.threads.setdefault(starts[2 * i + 1], Thread())
            thread.times += words[2 * starts[2 * i] : 2 * end : 2]
            new = words[2 * starts[2 * i] + 1 : 2 * end : 2]
            if max((word & FUNCTION for word in set(new)), default=0) > functions:
                raise ValueError
            thread.words += array("Q", (word + shift if word & FUNCTION else word for word in new)) if shift else new

    def tidy(self):
        """Brings events in order: the clock of the system may have been set back."""
        self.threads = {number: thread for number, thread in self.threads.items() if thread.times}
        for thread in self.threads.values():
            if any(map(int.__gt__, thread.times, memoryview(thread.times)[1:])):
                order = sorted(range(len(thread.times)), key=thread.times.__getitem__)
                thread.times = array("Q", map(thread.times.__getitem__, order))
                thread.words = array("Q", map(thread.words.__getitem__, order))


def _numbers(content):
    numbers = array("Q", content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _functions(content, count):
    words = [word.decode("utf-8", "backslashreplace") for word in content.split(b"\0")]
    return [(words[i], words[i + 1], int(words[i + 2])) for i in range(0, 3 * count, 3)]


def logs_of(profile, name):
    """{process: Log} of a profile. Wrong if it has none, or a damaged one; `name` is that of its file."""
    logs = {}
    try:
        for content in profile._line_logs:
            process, *counts = HEAD.unpack_from(content)
            logs.setdefault(process, Log()).add(counts, content)
    except (struct.error, ValueError, IndexError, OverflowError, MemoryError):
        raise Wrong("'%s' has a damaged log of lines" % name) from None
    for log in logs.values():
        log.tidy()
    logs = {process: log for process, log in logs.items() if log.threads}
    if not logs:
        raise Wrong("'%s' has no log of lines: run the program with ckernprof --line-log, or Profiler(line_log=True), "
                    "and with torch.profiler" % name)  # fmt: skip
    return logs
