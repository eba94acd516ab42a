# SPDX-License-Identifier: MIT
"""Reads a Chrome trace of torch.profiler piece by piece: a trace of gigabytes takes little memory."""
import gzip
import json
import os
import re
import tempfile
import zlib

from clineprof._torch import Wrong

PIECE = 1 << 21  # characters
HEAD_MOST = 1 << 24  # characters before the events; of devices' properties mostly
EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
BASE = re.compile(r'"baseTimeNanoseconds"\s*:\s*(\d+)')
BETWEEN = re.compile(r"[\s,]*")
BORDER = "\n  },\n  {"  # between two events, as torch writes them; within a text there is no line break in JSON


class Trace:
    """The events of a trace, which can be read once.

    base: nanoseconds since 1970 of time 0; 0 where times are since 1970 themselves (before torch 2.4). Known at the end
    head: the text before the first event. Known when reading begins
    """

    def __init__(self, path):
        self.path, self.base, self.head = path, 0, ""
        self._decoder = json.JSONDecoder()

    def __iter__(self):
        """Yields lists of events. Wrong if the file is no trace, or cut off; OSError."""
        try:
            with open_text(self.path) as file:
                yield from self._read(file)
        except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError):
            raise Wrong("'%s' is damaged or cut off" % self.path) from None

    def _read(self, file):
        text = ""
        found = None
        while found is None:
            more = file.read(PIECE)
            text += more
            found = EVENTS.search(text)
            if found is None and (not more or len(text) > HEAD_MOST or not text.lstrip().startswith("{")):
                raise Wrong("'%s' is not a trace of torch.profiler: it has no \"traceEvents\"" % self.path)
        self.head = text[: found.end()]
        text = yield from self._events(file, text[found.end() :])
        for part in self.head, text + file.read(1 << 16):
            for base in BASE.finditer(part):
                self.base = int(base[1])

    def _events(self, file, text):
        """Yields lists of events; returns the text behind the last one."""
        while True:
            more = file.read(PIECE)
            text += more
            events, at = self._whole(text)
            if not events:
                events, at = self._one_by_one(text)
            if events:
                yield events
            text = text[at:]
            if text.startswith("]", BETWEEN.match(text).end()):
                return text
            if not more and not events:
                raise Wrong("'%s' is cut off: the list of events does not end" % self.path)

    def _whole(self, text):
        """Quickly decodes all events up to the last border, if the text is as torch writes it."""
        end = text.rfind(BORDER)
        if end < 0:
            return (), 0
        try:
            events = json.loads("[%s\n  }]" % text[BETWEEN.match(text).end() : end])
        except ValueError:
            return (), 0
        return (events, end + 5) if all(type(event) is dict for event in events) else ((), 0)

    def _one_by_one(self, text):
        events, at = [], 0
        try:
            while True:
                event, at = self._decoder.raw_decode(text, BETWEEN.match(text, at).end())
                if type(event) is not dict:
                    raise Wrong("'%s' is not a trace of torch.profiler: an event is not an object" % self.path)
                events.append(event)
        except ValueError:
            return events, at
        except RecursionError:
            raise Wrong("'%s' is not a trace of torch.profiler: it is nested too deep" % self.path) from None


def open_text(path):
    """Opens a file for reading text, which may be compressed by gzip."""
    with open(path, "rb") as file:
        is_compressed = file.read(2) == b"\x1f\x8b"
    return (gzip.open if is_compressed else open)(path, "rt", encoding="utf-8", newline="")


def copy_with(trace, events, path, rights):
    """Writes a copy of the trace to a path, with more events before those that it has: the texts in the iterable
    `events`. The file is compressed if the path ends with .gz, and has these rights. A file that was there stays if that
    fails. Wrong if it is no regular file."""
    place = os.path.realpath(path)
    if os.path.exists(place) and not os.path.isfile(place):
        raise Wrong("cannot replace '%s': it is not a regular file" % path)
    try:
        number, part = tempfile.mkstemp(dir=os.path.dirname(place), prefix=".clineprof-")
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    try:
        with open(number, "wb") as raw, open_text(trace.path) as source:
            os.fchmod(number, rights)
            with gzip.open(raw, "wb", 1) if path.endswith(".gz") else raw as file:
                _copy(trace, source, events, file)
        os.replace(part, place)
    except BaseException:
        os.remove(part)
        raise


def _copy(trace, source, events, file):
    file.write(source.read(len(trace.head)).encode())
    for event in events:
        file.write(b"\n  %s," % event.encode())
    while text := source.read(PIECE):
        file.write(text.encode())
