# SPDX-License-Identifier: MIT
"""Chrome's Trace Event Format, which Perfetto and chrome://tracing draw. Each process has a track of its resident
memory over time, as counters (events of the phase "C"), and of the stays in functions that were seen. Who calls whom
is a tree of slices (phase "X") in a process of its own: a slice is as long as all its calls together, and stands
behind those of the same caller."""
from clineprof._formats import frames, shared

OPERATOR = "cpu_op"  # the category of what TensorBoard's plug-in for torch lists as operators


def render(profile, options):
    events = list(_timeline(profile, options["memory"]))
    calls = list(_calls(profile, options))
    if calls:
        pid = 1 + max([event["pid"] for event in events], default=profile.meta.get("pid", 0))
        events.append(_event(pid, "M", "process_name", 0, args={"name": "calls: sums, one after the other"}))
        events += [{**_event(pid, "X", *call), "cat": OPERATOR} for call in calls]
    if all(event["ph"] == "M" for event in events):
        raise ValueError("this profile has neither times nor a timeline of memory (ckernprof --timeline)")
    return shared.json_bytes({"traceEvents": events, "displayTimeUnit": "ms"})


def _timeline(profile, with_memory):
    begin = min((series["start"] for series in profile.timeline), default=0)
    for series in profile.timeline:
        pid, offset, scale = series["pid"], (series["start"] - begin) * 1e6, profile.unit * 1e6
        yield _event(pid, "M", "process_name", 0, args={"name": _title(profile, series)})
        if with_memory:
            for time, rss in zip(series["time"], series["rss"]):
                yield _event(pid, "C", "resident memory", round(offset + time * scale, 3), args={"bytes": rss})
        for row, mark in _rows(series.get("marks", ())):
            place = {"place": "%s:%d" % (shared.printable(mark["file"]), mark["line"])}
            stay = _event(pid, "X", shared.printable(mark["name"]), round(offset + mark["enter"] * scale, 3),
                          round((mark["leave"] - mark["enter"]) * scale, 3), place)
            yield {**stay, "tid": row, "cat": "stay"}


def _rows(marks):
    """Yields (row, stay). The stays of a row lie within each other or apart, as Chrome wants it; those of other threads
    may overlap, and come into other rows."""
    rows = []  # of each the ends of the stays that are open, the outer ones first
    for mark in sorted(marks, key=lambda mark: (mark["enter"], mark["level"], -mark["leave"])):
        for ends in rows:
            while ends and ends[-1] <= mark["enter"]:
                ends.pop()
        place = next((place for place, ends in enumerate(rows) if not ends or ends[-1] >= mark["leave"]), len(rows))
        rows[place:place] = [[]] if place == len(rows) else []
        rows[place].append(mark["leave"])
        yield place + 1, mark


def _calls(profile, options):
    """Yields (name, start, duration, args) for each frame that took time, callers first; times in microseconds."""
    tree = [(len(path), frame) for path, frame in frames.walk(frames.frames(profile, options))]
    durations, below = [0] * len(tree), {}
    for place in range(len(tree) - 1, -1, -1):
        depth, frame = tree[place]
        durations[place] = frame.own + below.pop(depth + 1, 0)
        below[depth] = below.get(depth, 0) + durations[place]
    free = {0: 0}  # {depth: where the next frame begins, in nanoseconds}
    for (depth, frame), duration in zip(tree, durations):
        start = free[depth]
        free[depth], free[depth + 1] = start + duration, start
        if duration:
            function, line = frame.function, frame.line
            name = shared.label(function, line) if line else shared.printable(function.name)
            place = "%s:%d" % (shared.printable(function.file), line or function.line)
            yield name, start / 1e3, duration / 1e3, {"place": place, "own_us": frame.own / 1e3}


def _event(pid, phase, name, micros, duration=None, args=None):
    more = {} if duration is None else {"dur": duration}
    return {"ph": phase, "name": name, "pid": pid, "tid": 0, "ts": micros, **more, "args": args}


def _title(profile, series):
    if series["pid"] == profile.meta.get("pid"):
        return profile.meta.get("command", "profiled program")
    return "process %d" % series["pid"]
