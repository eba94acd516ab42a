# SPDX-License-Identifier: MIT
"""The processed profile format of the Firefox Profiler (https://profiler.firefox.com), in version 70, as its
src/types/profile.ts and docs-developer/CHANGELOG-formats.md describe it. A frame is a line of a function, so that its
source view shows lines, too. Each sample stands for the own time of a line on one way, and is as long as that time."""
import sys

from clineprof import _boot
from clineprof._formats import frames, shared

VERSION = 70


def render(profile, options):
    texts, functions, lines, files = shared.Numbers(), shared.Numbers(), shared.Numbers(), shared.Numbers()
    stacks = shared.Numbers()
    samples, weights, times, whole = [], [], [], 0
    above = {}  # the number of the stack above a frame; None: it is empty

    def number(frame):
        return stacks((above[frame], lines((frame.function, frame.line or frame.function.line))))

    for path, frame in frames.walk(frames.frames(profile, options)):
        caller = path[-1] if path else None
        if caller is None or (frame.line and not caller.line):  # a line stands for its function
            above[frame] = above.get(caller)
        else:
            above[frame] = number(caller)
        if not frame.own:
            continue
        samples.append(number(frame))
        times.append(whole / 1e6)
        weights.append(frame.own / 1e6)
        whole += frame.own
    frame_functions = [functions(function) for function, _ in lines.all]
    function_files = [files(function.file) for function in functions.all]
    names = [texts(shared.printable(function.name)) for function in functions.all]
    return shared.json_bytes({
        "meta": _meta(profile, whole),
        "libs": [],
        "shared": {
            "stackTable": _table(
                frame=[line for _, line in stacks.all],
                prefixOffset=[0 if above is None else place - above for place, (above, _) in enumerate(stacks.all)],
            ),
            "frameTable": _table(
                address=_all(lines, -1), lib=_all(lines, -1), inlineDepth=_all(lines, 0), category=_all(lines, 0),
                subcategory=_all(lines, 0), func=frame_functions, nativeSymbol=_all(lines, None),
                innerWindowID=_all(lines, None), line=[line for _, line in lines.all], column=_all(lines, None),
                originalLocation=_all(lines, None),
            ),
            "funcTable": _table(
                name=names, isJS=_all(functions, False), relevantForJS=_all(functions, False),
                resource=_all(functions, -1), source=function_files,
                lineNumber=[function.line for function in functions.all], columnNumber=_all(functions, None),
                originalLocation=_all(functions, None),
            ),
            "resourceTable": _table(name=[], host=[], type=[]),
            "nativeSymbols": _table(libIndex=[], address=[], name=[], functionSize=[]),
            "sources": _table(
                id=_all(files, None), filename=[texts(_boot.shown(name)) for name in files.all],
                startLine=_all(files, 1), startColumn=_all(files, 1), sourceMapURL=_all(files, None),
                content=_all(files, None),
            ),
            "sourceLocationTable": _table(source=[], line=[], column=[]),
            "stringArray": texts.all,
        },
        "threads": [_thread(profile, whole, _table(stack=samples, time=times, weight=weights))],
    })  # fmt: skip


def _all(of, value):
    return [value] * len(of.all)


def _table(**columns):
    return {**columns, "length": len(next(iter(columns.values())))}


def _meta(profile, whole):
    return {
        "interval": 1, "startTime": min(max(profile.meta.get("start", 0), 0), 9e9) * 1e3, "processType": 0,
        "profilingStartTime": 0, "profilingEndTime": whole / 1e6, "stackwalk": 0, "version": 36,
        "preprocessedProfileVersion": VERSION, "markerSchema": [], "symbolicated": True,
        "product": shared.printable(profile.meta.get("command", "clineprof")), "importedFrom": "clineprof",
        "platform": sys.platform, "usesOnlyOneStackType": True, "sourceCodeIsNotOnSearchfox": True,
        "categories": [{"name": "Python", "color": "blue", "subcategories": ["Other"]}],
    }  # fmt: skip


def _thread(profile, whole, samples):
    pid = profile.meta.get("pid", 0)
    return {
        "processType": "default", "processStartupTime": 0, "processShutdownTime": whole / 1e6, "registerTime": 0,
        "unregisterTime": whole / 1e6, "pausedRanges": [], "name": "All threads", "isMainThread": True,
        "processName": "Python", "pid": str(pid), "tid": pid, "samples": {**samples, "weightType": "tracing-ms"},
        "markers": _table(data=[], name=[], startTime=[], endTime=[], phase=[], category=[]),
    }  # fmt: skip
