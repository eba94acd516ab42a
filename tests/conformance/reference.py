# SPDX-License-Identifier: MIT
"""The independent reference: counts line starts of the functions a program decorates, in plain
Python, with nothing of clineprof. What is defined within a decorated function counts, too.

    python reference.py OUT.json SCRIPT [ARG..]

runs SCRIPT as __main__ with a `profile` builtin that returns what it is given and remembers the code
objects in it. On 3.12 and newer they are counted with sys.monitoring LINE events, local to exactly
these code objects. Two more events are watched but never counted: PY_START, for 3.13+ sends LINE for
one-line functions only then; PY_RESUME, for without it LINE at a yield depends, since 3.13, on
whether it was ever resumed before. Before 3.12, line events of sys.settrace are counted.

3.12 and 3.13 misread the instruction executed before and tell a line twice. (Python/instrumentation.c)
3.12 takes a call of Python code to stand in its own inline cache, which has no line, once it has
returned or raised: where a jump or a handler on the same line is next (`r = n and f(n)`). 3.13 does not
look at the instruction before where a handler begins a line that lies far below the first line of its
function (COMPUTED_LINE_LINENO_CHANGE); both have their trouble there behind an `async for`. So every
instruction is watched, and LINE counts only where the instruction before belongs to another line or
resumed the body. That is the instruction executed before, and behind a RERAISE that puts back the place of
its exception, as those of `with` and `finally` do, the one at that place.

With REFERENCE_COPIES in the environment a copy that a program makes of selected code counts for it: a code
object of the same place, name and instructions. Before 3.11, which knows columns, two equal functions on one
line are taken for such copies.

OUT.json holds [file, first line, name, {line: hits}] for every function, also one that never ran.
"""

import atexit
import builtins
import collections
import functools
import json
import opcode
import os
import sys
import threading
import types

WRAPPERS = (
    ((property,), ("fget", "fset", "fdel")),
    ((functools.partial, functools.partialmethod, functools.cached_property), ("func",)),
    ((functools.singledispatchmethod,), ("dispatcher",)),
    ((staticmethod, classmethod, types.MethodType), ("__func__",)),
)


def is_named_in(thing, owner):
    return thing.__qualname__.startswith(owner.__qualname__ + ".")


def is_made_for(thing, owner):
    """Was it made for the class by a text that is not the class's own, as dataclasses does?"""
    file = getattr(sys.modules.get(owner.__module__), "__file__", None)
    if thing.__code__.co_filename == file or (file is None and thing.__code__.co_filename != "<string>"):
        return False
    if sys.version_info < (3, 11):
        return thing.__code__.co_filename[:1] == "<" or thing.__globals__.get("__name__") == "collections"
    return not thing.__code__.co_qualname.startswith(owner.__qualname__ + ".")


def is_part_of_line(code):
    """A comprehension that stands on one line; annotations, which have code from 3.14 on."""
    if code.co_name == "__annotate__":
        return True
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>") and len(lines) == 1


# Python functions of inspect or dis would count where they are selected.
CO_OPTIMIZED = 0x1  # it is a function's


@functools.cache
def stored_globals(code):
    """Of 3.10's code: two bytes an instruction."""
    names, extended = set(), 0
    for operation, argument in zip(code.co_code[::2], code.co_code[1::2]):
        argument |= extended
        extended = argument << 8 if operation == opcode.EXTENDED_ARG else 0
        if operation == opcode.opmap["STORE_GLOBAL"]:
            names.add(code.co_names[argument])
    return names


def name_within(code, outer, outer_name):
    if sys.version_info >= (3, 11):
        return code.co_qualname
    if code.co_name in stored_globals(outer):
        return code.co_name
    return outer_name + (".<locals>." if outer.co_flags & CO_OPTIMIZED else ".") + code.co_name


COPIES = "REFERENCE_COPIES" in os.environ


def place_of(code):
    return code.co_filename, code.co_firstlineno, code.co_name, code.co_code, code.co_linetable


class Selection:
    """Code objects by identity: equal functions in different places have equal code objects."""

    def __init__(self):
        self.codes = {}  # id -> (code, name, {line: hits})
        self.places = {}  # what copies have in common -> id of the original
        self.copies = set()  # ids; they have the hits of their originals

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
        if isinstance(getattr(thing, "registry", None), types.MappingProxyType):
            self.add_generic(thing, within)
        elif hasattr(thing, "__wrapped__"):
            self.add(thing.__wrapped__, within)
        elif isinstance(thing, types.FunctionType):
            if within is None or ((is_named_in(thing, within) or thing.__module__ == within.__module__)
                                  and not is_made_for(thing, within)
                                  and not is_part_of_line(thing.__code__)):  # fmt: skip
                self.add_code(thing.__code__, thing.__qualname__)

    def add_generic(self, generic, within):
        """Its implementations, and those that will be registered."""
        for implementation in generic.registry.values():
            self.add(implementation, within)
        register = generic.register

        def registering(cls, func=None):
            made = register(cls, func)
            if func is None and made is not cls:
                return lambda implementation: self.profile(made(implementation))
            return self.profile(made)

        generic.register = registering

    def add_code(self, code, name):
        if id(code) not in self.codes:
            if sys.version_info < (3, 11) and place_of(code) in self.places:  # a copy, which has lost its name
                name = self.codes[self.places[place_of(code)]][1]
            # += on a defaultdict with an int key is never interrupted by another thread
            self.codes[id(code)] = code, name, collections.defaultdict(int)
            self.places.setdefault(place_of(code), id(code))
            self.watch(code)
            for inner in code.co_consts:
                if isinstance(inner, types.CodeType) and not is_part_of_line(inner):
                    self.add_code(inner, name_within(inner, code, name))

    def find_copy(self, code):
        """Is it selected, or a copy of what is?"""
        known = not COPIES or id(code) in self.codes
        original = None if known else self.places.get(place_of(code))
        if original is not None:
            self.codes[id(code)] = code, *self.codes[original][1:]
            self.copies.add(id(code))
            self.watch(code)
        return id(code) in self.codes


class Monitored(Selection):
    TOOL = 3

    def start(self):
        events = sys.monitoring.events
        sys.monitoring.use_tool_id(self.TOOL, "reference")
        sys.monitoring.register_callback(self.TOOL, events.LINE, self.on_line)
        sys.monitoring.register_callback(self.TOOL, events.PY_RESUME, lambda *ignored: None)
        sys.monitoring.register_callback(self.TOOL, events.PY_START, self.on_start)
        sys.monitoring.set_events(self.TOOL, events.PY_START)

    def stop(self):
        # freeing the tool alone leaves the callbacks in place on 3.12
        sys.monitoring.register_callback(self.TOOL, sys.monitoring.events.LINE, None)
        sys.monitoring.free_tool_id(self.TOOL)

    def watch(self, code):
        events = sys.monitoring.events
        sys.monitoring.set_local_events(
            self.TOOL, code, events.LINE | events.PY_START | events.PY_RESUME
        )

    def on_start(self, code, *ignored):
        self.find_copy(code)

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
        for resumes in (events.PY_RESUME, events.PY_THROW):
            monitoring.register_callback(self.TOOL, resumes, self.on_resume)
        monitoring.register_callback(self.TOOL, events.RERAISE, self.on_reraise)
        monitoring.set_events(self.TOOL, events.PY_START | events.PY_THROW | events.RERAISE)

    def watch(self, code):
        super().watch(code)
        lines = self.lines[id(code)] = {}
        for start, end, line in code.co_lines():
            lines.update((offset, line) for offset in range(start, end, 2))
        events = sys.monitoring.get_local_events(self.TOOL, code)
        sys.monitoring.set_local_events(self.TOOL, code, events | sys.monitoring.events.INSTRUCTION)

    def on_start(self, code, *ignored):
        if self.find_copy(code):
            self.before.pop(id(sys._getframe(1)), None)

    def on_resume(self, code, *ignored):
        self.before.pop(id(sys._getframe(1)), None)

    def on_instruction(self, code, offset):
        self.before[id(sys._getframe(1))] = self.lines[id(code)][offset]

    def on_reraise(self, code, *ignored):
        if id(code) in self.lines:
            frame = sys._getframe(1)
            self.before[id(frame)] = self.lines[id(code)][frame.f_lasti]

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
        return self.on_line if self.find_copy(frame.f_code) else None

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
                for key, (code, name, hits) in selection.codes.items()
                if key not in selection.copies
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
