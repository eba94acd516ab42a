# SPDX-License-Identifier: MIT
"""The profile as a tree of stack frames, which the formats for stacks draw. Below the frame of a function stand frames
of its lines, and below a line the functions that it called there.

A profile knows the time of each way to a function (Profile.calls), and the time of each line, but not the time of a
line for each way. So a line's own time is divided among the ways in proportion to the function's own time on each. All
own times together are the sum over the lines, to the nanosecond. Recursion stands where its function stands first.
A function without calls, as in a file of an older clineprof, has one frame at the root.
"""
from clineprof._formats import shared


class Frame:
    """The frame of a function or, if `line` is not 0, of one of its lines.

    own: the nanoseconds that a line itself took; added: the bytes that it added to the resident memory. A line that
        released more than it added has 0 bytes, because readers of stacks know no negative weights
    below: the frames that it called
    """

    __slots__ = "function", "line", "own", "added", "below"

    def __init__(self, function, line=0, own=0, added=0):
        self.function, self.line, self.own, self.added, self.below = function, line, own, added, []


def frames(profile, options):
    """Returns the root of the tree, a Frame without a function."""
    root, calls = Frame(None), profile.calls
    drawn, _ = ways(calls)
    made = {place: Frame(calls[place].function) for place in drawn}
    places = {}
    for place in drawn:
        places.setdefault(calls[place].function, []).append(place)
    sizes = _own_increments(calls)
    for function, rows in _rows(profile, options):
        if function not in places:
            frame = Frame(function)
            frame.below = [Frame(function, *row) for row in rows]
            root.below += [frame] if rows else []
            continue
        of = places[function]
        counts = [calls[place].calls for place in of]
        times = _weights([calls[place].self for place in of], counts)
        _divide(rows, [made[place] for place in of], times, _weights([sizes[place] for place in of], counts))
    lines = {place: {line.line: line for line in frame.below} for place, frame in made.items()}
    for place, frame in made.items():  # callers first
        parent, line = calls[place].parent, calls[place].line
        if parent is None:
            root.below.append(frame)
        elif not line:
            made[parent].below.append(frame)
        else:
            if line not in lines[parent]:
                lines[parent][line] = Frame(made[parent].function, line)
                made[parent].below.append(lines[parent][line])
            lines[parent][line].below.append(frame)
    for frame in made.values():
        frame.below.sort(key=lambda below: below.line)
    return root


def ways(calls):
    """The places of the calls that have frames, each behind its caller: all but recursion and joined calls. And the
    homes of the recursion: {place of the recursive call: place of the call where its function stands first}."""
    below = {None: []}
    for place, call in enumerate(calls):
        below.setdefault(call.parent, []).append(place)
    found, homes, path, rest = [], {}, {}, list(reversed(below[None]))
    while rest:
        place = rest.pop()
        function = calls[max(place, ~place)].function
        if place < 0:
            del path[function]
        elif function in path:
            homes[place] = path[function]
        elif function is not None:
            path[function] = place
            found.append(place)
            rest.append(~place)
            rest += reversed(below.get(place, ()))
    return found, homes


def walk(root):
    """Yields (path, frame) for each frame, callers first: `path` is a list of the frames above, without the root. It is
    the same list each time, so it must be copied to be kept."""
    path, rest = [], [(frame, 0) for frame in reversed(root.below)]
    while rest:
        frame, depth = rest.pop()
        del path[depth:]
        yield path, frame
        path.append(frame)
        rest += [(below, depth + 1) for below in reversed(frame.below)]


class _Deeper:
    """What stands for all that lies deeper than `cut` leaves it, in place of a function."""

    name, file, line = "[deeper calls]", "~", 0


def cut(root, most=1000):
    """Puts what lies deeper than so many frames into one frame each, and returns the root. For formats that write a
    stack as the list of all its frames: their size would be the square of the depth."""
    for path, frame in walk(root):
        if len(path) + 1 == most and frame.below:
            deeper = [below for _, below in walk(frame)]
            own, added = sum(below.own for below in deeper), sum(below.added for below in deeper)
            frame.below = [Frame(_Deeper, 0, own, added)]
    return root


def stacks(root):
    """Yields (stack, frame) for each frame with an amount of its own: `stack` is a list of (function, line), callers
    first, for formats in which a frame is a line. A line that is not known is the function's first one."""
    for path, frame in walk(root):
        if frame.own or frame.added:
            whole = [*path, frame]
            yield [(at.function, at.line or at.function.line) for at, below in zip(whole, [*whole[1:], None])
                   if at.line or below is None or not below.line], frame  # fmt: skip


def _own_increments(calls):
    sizes = [call.increment for call in calls]
    for call in calls:
        if call.parent is not None:
            sizes[call.parent] -= call.increment
    return [max(size, 0) for size in sizes]


def _rows(profile, options):
    """Yields (function, [(line, own, added), ..]) for each function."""
    own = shared.own_column(profile, options)
    memory = profile.has_memory and options["memory"]
    for function in profile.functions:
        added = function["self_increment"] if memory else [0] * len(function.numbers)
        rows = zip(function.numbers, function[own], added)
        yield function, [(line, time, max(size, 0)) for line, time, size in rows
                         if time or size > 0]  # fmt: skip


def _weights(numbers, counts):
    """The numbers; if all are 0, the counts are better than nothing."""
    return numbers if any(numbers) else counts if any(counts) else [1] * len(numbers)


def _divide(rows, made, times, sizes):
    """Gives each of these frames of one function its parts of the rows."""
    whole_time, whole_size, time_before, size_before = sum(times), sum(sizes), 0, 0
    for frame, time, size in zip(made, times, sizes):
        for line, own, added in rows:
            own = _part(own, time_before, time, whole_time)
            added = _part(added, size_before, size, whole_size)
            if own or added:
                frame.below.append(Frame(frame.function, line, own, added))
        time_before, size_before = time_before + time, size_before + size


def _part(amount, before, weight, whole):
    """A part of a whole number; the parts of all weights together are the amount."""
    return amount * (before + weight) // whole - amount * before // whole
