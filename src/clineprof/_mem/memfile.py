# SPDX-License-Identifier: MIT
"""Reads and writes recordings of memory over time: mprof's text format, and profiles that have a timeline."""
import glob
import math
import os
import shlex

MIB = float(1 << 20)
# {memory_profiler's name of a kind of memory: the C module's name of it}
BACKENDS = {"psutil": "rss", "posix": "rss", "psutil_pss": "pss", "psutil_uss": "uss"}
PATTERNS = ("mprofile_??????????????.dat", "mprofile_??????????????.lprof")


class Wrong(Exception):
    """A fault that the user can mend, described in one line."""


class Recording:
    """The memory of a program over time.

    path, command: the file, and the recorded command line (None: not known)
    samples: [(seconds since 1970, MiB)] of the process, in ascending order
    children: {pid: samples of a process that the program started}
    stays: [(name, enter, MiB then, leave, MiB then, level)] in functions
    """

    def __init__(self, path, command=None):
        self.path, self.command = path, command
        self.samples, self.children, self.stays = [], {}, []

    @property
    def start(self):
        return self.samples[0][0]


def read(path):
    """Reads a Recording from a file. Raises Wrong if the file cannot be read or has no samples."""
    try:
        with open(path, "rb") as file:
            head = file.read(1)
            text = b"" if _is_profile(head) else head + file.read()
    except OSError as error:
        raise Wrong("cannot read '%s': %s" % (path, error.strerror)) from None
    if _is_profile(head):
        return _read_profile(path)
    recording = _read_text(path, text.decode("utf-8", "replace"))
    if not recording.samples:
        raise Wrong("%s: there is no memory sample (MEM) in it" % path)
    return recording


def _is_profile(head):
    """Does a file with this first byte hold a profile: a map of msgpack, a pickle, or a live file? Text begins with
    none of these bytes."""
    return head >= b"\x80" or head == b"\x7f"


# ---- mprof's text format ----


def _read_text(path, text):
    recording = Recording(path)
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        last = number == len(lines)  # the text behind the last line end: half a row, if a run was killed
        try:
            _take_row(recording, line)
        except ValueError as error:
            if not last:
                raise Wrong("%s, line %d: %s" % (path, number, error)) from None
    recording.samples.sort()
    return recording


def _take_row(recording, line):
    if not line.strip():
        return
    word, _, rest = line.partition(" ")
    values = rest.split()
    if word == "CMDLINE":
        recording.command = rest.strip()
    elif word == "MEM":
        size, at = _numbers(word, values, 2)
        recording.samples.append((at, size))
    elif word == "CHLD":
        if not values or not values[0].isdigit():
            raise ValueError("CHLD needs the number of a process")
        size, at = _numbers(word, values[1:], 2)
        recording.children.setdefault(int(values[0]), []).append((at, size))
    elif word == "FUNC":
        recording.stays.append(_stay(values))
    else:
        raise ValueError("the row begins with none of CMDLINE, MEM, CHLD and FUNC")


def _stay(values):
    """Reads the row of a stay, NAME MIB TIME MIB TIME LEVEL. Older files have no level. A name may have blanks."""
    level = int(values.pop()) if values and values[-1].isdigit() and len(values) > 5 else 0
    if len(values) < 5:
        raise ValueError("FUNC needs a name and 4 numbers")
    before, enter, after, leave = _numbers("FUNC", values[-4:], 4)
    return " ".join(values[:-4]), enter, before, leave, after, level


def _numbers(word, values, count):
    if len(values) != count:
        raise ValueError("%s needs %d numbers, not %d" % (word, count, len(values)))
    numbers = []
    for value in values:
        try:
            numbers.append(float(value))
        except ValueError:
            raise ValueError("'%s' is no number" % value[:40]) from None
        if not math.isfinite(numbers[-1]):
            raise ValueError("'%s' is no number that can be drawn" % value[:40])
    return numbers


def sample_row(size, at):
    return "MEM %.6f %.4f\n" % (size, at)


def child_row(pid, size, at):
    return "CHLD %d %.6f %.4f\n" % (pid, size, at)


def stay_row(stay):
    name, enter, before, leave, after, level = stay
    return "FUNC %s %.4f %.4f %.4f %.4f %d\n" % (name, before, enter, after, leave, level)


# ---- profiles with a timeline ----


def _read_profile(path):
    from clineprof import _profile

    try:
        profile = _profile.load(path)
    except OSError as error:
        raise Wrong("cannot read '%s': %s" % (path, error.strerror)) from None
    except ValueError as error:
        raise Wrong(str(error)) from None
    return of_profile(path, profile)


def of_profile(path, profile):
    recording = Recording(path, profile.meta.get("command"))
    for series in profile.timeline:
        samples = [
            (series["start"] + at * profile.unit, size / MIB)
            for at, size in zip(series["time"], series["rss"])
        ]
        if not samples:
            continue
        if not recording.samples:
            recording.samples = samples
            recording.stays = _stays(series, samples, profile.unit, _script(recording.command))
        else:
            recording.children.setdefault(series["pid"], []).extend(samples)
    if not recording.samples:
        raise Wrong("%s: there is no timeline in it; ckernprof --timeline records one" % path)
    return recording


def _stays(series, samples, unit, script):
    return [
        (
            _name(mark, script),
            series["start"] + mark["enter"] * unit,
            _size_at(samples, series["start"] + mark["enter"] * unit),
            series["start"] + mark["leave"] * unit,
            _size_at(samples, series["start"] + mark["leave"] * unit),
            mark["level"],
        )
        for mark in series.get("marks", ())
    ]


def _script(command):
    """The script that a command line runs; None if it runs no script, or is not known."""
    try:
        word = shlex.split(command or "")[0]
    except (ValueError, IndexError):
        return None
    return None if word.startswith("-") else os.path.normpath(word)


def _name(mark, script):
    """A function's name as mprof writes it: module.function, with __main__ for the script."""
    file = os.path.normpath(mark["file"])
    if script is not None and ("/" + file).endswith("/" + script.lstrip("./")):
        return "__main__." + mark["name"]
    return "%s.%s" % (os.path.splitext(os.path.basename(file))[0].replace(" ", "_"), mark["name"])


def _size_at(samples, at):
    import bisect

    place = bisect.bisect_right(samples, (at, math.inf))
    return samples[max(place - 1, 0)][1]


# ---- recordings in the working directory ----


def known():
    """The files that `clineprof mem run` has made, the oldest first."""
    return sorted(path for pattern in PATTERNS for path in glob.glob(pattern))


def chosen(words):
    """The files that these numbers and names mean, each once. Raises Wrong for one that does not exist."""
    files, found = known(), []
    for word in words:
        path = word
        if word.lstrip("-").isdigit() and not os.path.exists(word):
            try:
                path = files[int(word)]
            except IndexError:
                raise Wrong("there is no recording %s here; 'clineprof mem list' shows them" % word) from None
        elif os.path.isdir(word):
            raise Wrong("'%s' is a folder" % word)
        elif not os.path.exists(word):
            raise Wrong("cannot read '%s': No such file or directory" % word)
        if path not in found:
            found.append(path)
    return found
