# SPDX-License-Identifier: MIT
"""Resident memory over time as counters of Chrome's Trace Event Format (events of the phase "C"), which Perfetto and
chrome://tracing draw: a track for each process."""
from clineprof._formats import shared


def render(profile, options):
    if not (profile.timeline and options["memory"]):
        raise ValueError("this profile has no timeline of memory; record one with ckernprof --timeline")
    begin = min(series["start"] for series in profile.timeline)
    events = []
    for series in profile.timeline:
        events.append(_event(series, "M", "process_name", 0, {"name": _title(profile, series)}))
        offset = (series["start"] - begin) * 1e6
        for time, rss in zip(series["time"], series["rss"]):
            micros = offset + time * profile.unit * 1e6
            events.append(_event(series, "C", "resident memory", round(micros, 3), {"bytes": rss}))
    return shared.json_bytes({"traceEvents": events, "displayTimeUnit": "ms"})


def _event(series, phase, name, micros, args):
    return {"ph": phase, "name": name, "pid": series["pid"], "tid": 0, "ts": micros, "args": args}


def _title(profile, series):
    if series["pid"] == profile.meta.get("pid"):
        return profile.meta.get("command", "profiled program")
    return "process %d" % series["pid"]
