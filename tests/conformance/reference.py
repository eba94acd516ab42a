# SPDX-License-Identifier: MIT
"""The independent reference: counts line starts of the functions a program decorates, in plain
Python, with nothing of clineprof.

    python reference.py OUT.json SCRIPT [ARG..]

runs SCRIPT as __main__ with a `profile` builtin that returns what it is given and remembers the code
objects in it. On 3.12 and newer they are counted with sys.monitoring LINE events, local to exactly
these code objects. Two more events are watched but never counted: PY_START, for 3.13+ sends LINE for
one-line functions only then; PY_RESUME, for without it LINE at a yield depends, since 3.13, on
whether it was ever resumed before. Before 3.12, line events of sys.settrace are counted.

3.12 and 3.13 misread the instruction executed before in two places and tell a line twice: behind an
inlined call when a jump leads to the same place (`r = n and f(n)`), and in functions with wide gaps
behind an `async for`. There every instruction is watched, and LINE counts only where the instruction
before belongs to another line or resumed the body.

OUT.json holds [file, first line, name, {line: hits}] for every function, also one that never ran.
"""

import atexit
import builtins
import collections
import functools
import json
import sys
import threading
import types

WRAPPERS = (
    ((property,), ("fget", "fset", "fdel")),
    ((functools.partial, functools.partialmethod, functools.cached_property,
      functools.singledispatchmethod), ("func",)),
    ((staticmethod, classmethod, types.MethodType), ("__func__",)),
)


def is_named_in(thing, owner):
    return thing.__qualname__.startswith(owner.__qualname__ + ".")


class Selection:
    """Code objects by identity: equal functions in different places have equal code objects."""

    def __init__(self):
        self.codes = {}  # id -> (code, name, {line: hits})

    def profile(self, thing):
        self.add(thing)
        return thing

    def add(self, thing, within=None):
        """within: the class whose member it is. What another module has put there is left out."""
        if isinstance(thing, type):
            if within is None or (is_named_in(thing, within) and thing.__module__ == within.__module__):
                for member in vars(thing).values():
                    self.add(member, thing)
            return
        for types_, names in WRAPPERS:
            if isinstance(thing, types_):
                for name in names:
                    self.add(getattr(thing, name), within)
                return
        if hasattr(thing, "__wrapped__"):
            self.add(thing.__wrapped__, within)
        elif isinstance(thing, types.FunctionType):
            if within is None or is_named_in(thing, within) or thing.__module__ == within.__module__:
                self.add_code(thing.__code__, thing.__qualname__)

    def add_code(self, code, name):
        if id(code) not in self.codes:
            # += on a defaultdict with an int key is never interrupted by another thread
            self.codes[id(code)] = code, name, collections.defaultdict(int)
            self.watch(code)


class Monitored(Selection):
    TOOL = 3

    def start(self):
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(self.TOOL, "reference")
        sys.monitoring.register_callback(self.TOOL, events.LINE, self.on_line)
        for watched in (events.PY_START, events.PY_RESUME):
            sys.monitoring.register_callback(self.TOOL, watched, lambda *ignored: None)

    def stop(self):
        # freeing the tool alone leaves the callbacks in place on 3.12
        sys.monitoring.register_callback(self.TOOL, sys.monitoring.events.LINE, None)
        sys.monitoring.free_tool_id(self.TOOL)

    def watch(self, code):
        events = sys.monitoring.events
        sys.monitoring.set_local_events(
            self.TOOL, code, events.LINE | events.PY_START | events.PY_RESUME
        )

    def on_line(self, code, line):
        self.codes[id(code)][2][line] += 1


class Watched(Monitored):
    """3.12 and 3.13: knows the instruction executed before in every frame."""

    def __init__(self):
        super().__init__()
        self.before = {}  # id of a frame -> line of its last instruction
        self.lines = {}  # id of a code object -> line by offset

    def start(self):
        super().start()
        monitoring, events = sys.monitoring, sys.monitoring.events
        monitoring.register_callback(self.TOOL, events.INSTRUCTION, self.on_instruction)
        for resumes in (events.PY_START, events.PY_RESUME, events.PY_THROW):
            monitoring.register_callback(self.TOOL, resumes, self.on_resume)
        monitoring.set_events(self.TOOL, events.PY_THROW)

    def watch(self, code):
        super().watch(code)
        lines = self.lines[id(code)] = {}
        for start, end, line in code.co_lines():
            lines.update((offset, line) for offset in range(start, end, 2))
        events = sys.monitoring.get_local_events(self.TOOL, code)
        sys.monitoring.set_local_events(self.TOOL, code, events | sys.monitoring.events.INSTRUCTION)

    def on_resume(self, code, *ignored):
        self.before.pop(id(sys._getframe(1)), None)

    def on_instruction(self, code, offset):
        self.before[id(sys._getframe(1))] = self.lines[id(code)][offset]

    def on_line(self, code, line):
        if self.before.get(id(sys._getframe(1))) != line:
            super().on_line(code, line)


class Traced(Selection):
    def start(self):
        threading.settrace(self.on_call)
        sys.settrace(self.on_call)

    def stop(self):
        sys.settrace(None)
        threading.settrace(None)

    def watch(self, code):
        pass

    def on_call(self, frame, event, argument):
        return self.on_line if id(frame.f_code) in self.codes else None

    def on_line(self, frame, event, argument):
        if event == "line":
            self.codes[id(frame.f_code)][2][frame.f_lineno] += 1
        return self.on_line


def run_as_main(path, arguments):
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = path
    main.__builtins__ = builtins
    sys.argv[:] = [path, *arguments]
    sys.path[0] = path.rpartition("/")[0]
    with open(path, "rb") as stream:
        code = compile(stream.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))


def write(selection, out):
    selection.stop()
    with open(out, "w", encoding="utf-8") as stream:
        json.dump(
            [
                (code.co_filename, code.co_firstlineno, name, hits)
                for code, name, hits in selection.codes.values()
            ],
            stream,
        )


def main():
    out, script, *arguments = sys.argv[1:]
    if sys.version_info < (3, 12):
        selection = Traced()
    else:
        selection = Watched() if sys.version_info < (3, 14) else Monitored()
    builtins.profile = selection.profile
    # registered first, it runs last: what the program does at its exit counts too
    atexit.register(write, selection, out)
    selection.start()
    run_as_main(script, arguments)


if __name__ == "__main__":
    main()
