# SPDX-License-Identifier: MIT
"""Chrome's Trace Event Format, which Perfetto and chrome://tracing draw. Each process has a track of its resident memory
over time, as counters (events of the phase "C"). Who calls whom is a tree of slices (phase "X") in a process of its own:
a slice is as long as all its calls together, and stands behind those of the same caller."""
from clineprof._formats import frames, shared


def render(profile, options):
    events = list(_memory(profile)) if options["memory"] else []
    calls = list(_calls(profile, options))
    if calls:
        pid = 1 + max([event["pid"] for event in events], default=profile.meta.get("pid", 0))
        events.append(_event(pid, "M", "process_name", 0, args={"name": "calls: sums, one after the other"}))
        events += [_event(pid, "X", *call) for call in calls]
    if not events:
        raise ValueError("this profile has neither times nor a timeline of memory (ckernprof --timeline)")
    return shared.json_bytes({"traceEvents": events, "displayTimeUnit": "ms"})


def _memory(profile):
    begin = min((series["start"] for series in profile.timeline), default=0)
    for series in profile.timeline:
        yield _event(series["pid"], "M", "process_name", 0, args={"name": _title(profile, series)})
        offset = (series["start"] - begin) * 1e6
        for time, rss in zip(series["time"], series["rss"]):
            micros = round(offset + time * profile.unit * 1e6, 3)
            yield _event(series["pid"], "C", "resident memory", micros, args={"bytes": rss})


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
