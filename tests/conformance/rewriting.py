# SPDX-License-Identifier: MIT
"""The rewriter of the probe tracer called directly, as a function of bytes, and what its result is
held against. Needs build/conformance/rewrite_library.so, which `make check` builds."""

import bisect
import ctypes
import dis
import opcode
import os
import pathlib
import struct
import sys
import sysconfig
import types
import warnings
from typing import NamedTuple

import harness

LIBRARY = harness.BUILD / "conformance" / "rewrite_library.so"
FUZZER = harness.BUILD / "fuzz" / "fuzz_rewrite"
MINOR = sys.version_info[1]
KINDS = ["ENTER", "ENTER_LINE", "LINE", "LAST_LINE", "LEAVE", "SUSPEND", "RESUME", "RESUME_IF",
         "LINE_ASKED", "CALL", "CALLED", "MARK", "OPERATED", "ITERATED", "COUNT", "COUNT_ASKED"]
NOTHING, LINES, AROUND, COUNTS = range(4)  # what is put in
WITH_LINE = {"ENTER_LINE", "LINE", "LAST_LINE"}
CODE, EXCEPTIONS, LOCATIONS = range(3)
NO_SOURCES = ("site-packages", "dist-packages", "lib2to3")  # others' code, and what is no Python 3


class Code(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_char_p),
        ("exceptions", ctypes.c_char_p),
        ("locations", ctypes.c_char_p),
        ("code_bytes", ctypes.c_size_t),
        ("exception_bytes", ctypes.c_size_t),
        ("location_bytes", ctypes.c_size_t),
        ("first_line", ctypes.c_int32),
        ("stack_size", ctypes.c_int32),
        ("const_count", ctypes.c_uint32),
        ("statements", ctypes.c_void_p),  # none
        ("statement_count", ctypes.c_size_t),
    ]


class Rewritten(NamedTuple):
    code: bytes
    exceptions: bytes
    locations: bytes
    stack_size: int
    probes: list  # (kind, line), in the order of the constants


class Refused(Exception):
    pass


class Rewriter:
    def __init__(self):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.rewrite.restype = ctypes.c_char_p
        self.library.rewrite.argtypes = [ctypes.c_int, ctypes.POINTER(Code), ctypes.c_int]
        self.library.part.restype = ctypes.c_void_p
        self.library.part.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_size_t)]
        self.library.probe.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)]

    def __call__(self, code, insert=LINES):
        return self.rewrite(unchanged(code), code.co_firstlineno, len(code.co_consts), insert)

    def rewrite(self, old, first_line, const_count, insert):
        given = Code(
            old.code,
            old.exceptions,
            old.locations,
            len(old.code),
            len(old.exceptions),
            len(old.locations),
            first_line,
            old.stack_size,
            const_count,
        )
        refused = self.library.rewrite(MINOR, given, insert)
        if refused is not None:
            raise Refused(refused.decode())
        parts = [self.part(which) for which in (CODE, EXCEPTIONS, LOCATIONS)]
        return Rewritten(*parts, self.library.stack_size(), self.probes())

    def part(self, which):
        size = ctypes.c_size_t()
        start = self.library.part(which, size)
        return ctypes.string_at(start, size.value)

    def probes(self):
        line, probes = ctypes.c_int(), []
        while (kind := self.library.probe(len(probes), line)) >= 0:
            probes.append((KINDS[kind], line.value))
        return probes


def unchanged(code):
    return Rewritten(code.co_code, code.co_exceptiontable, code.co_linetable, code.co_stacksize, [])


def with_probes(code, rewritten):
    """The code object that the tracer would make, with texts where the probes would be."""
    constants = [f"{kind} {line}" for kind, line in rewritten.probes]
    return code.replace(
        co_code=rewritten.code,
        co_exceptiontable=rewritten.exceptions,
        co_linetable=rewritten.locations,
        co_stacksize=rewritten.stack_size,
        co_consts=(*code.co_consts, *constants),
    )


# ---- code objects --------------------------------------------------------------------------------
def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def compiled(text, name="made.py"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(text, name, "exec", dont_inherit=True)


def standard_library():
    """Every code object of it, but for files that do not compile: tests of syntax errors."""
    for folder, folders, files in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = sorted(name for name in folders if name not in NO_SOURCES)
        for name in sorted(files):
            path = pathlib.Path(folder, name)
            if path.suffix != ".py":
                continue
            try:
                module = compiled(path.read_bytes(), str(path))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            yield from code_objects(module)


def has_tests():
    return pathlib.Path(sysconfig.get_path("stdlib"), "test", "test_grammar.py").exists()


FUZZED_MODULES = ["asyncio/tasks.py", "contextlib.py", "dataclasses.py", "typing.py", "zipfile.py"]


def code_objects_of(modules):
    for name in modules:
        path = pathlib.Path(sysconfig.get_path("stdlib"), name)
        if path.exists():
            yield from code_objects(compiled(path.read_bytes(), name))


# ---- the result against what there was -----------------------------------------------------------
class Instruction(NamedTuple):
    name: str
    argument: int  # of a jump: nothing; see `target`
    target: int  # the offset it leads to, or None
    positions: tuple
    offset: int
    start: int  # of the first of its prefixes


NAMES = {number: name for name, number in dis.opmap.items()}
JUMPS = set(dis.hasjrel) | ({dis.opmap["END_ASYNC_FOR"]} if MINOR >= 14 else set())


def caches():
    """Inline cache units by opcode."""
    entries = opcode._inline_cache_entries
    if hasattr(entries, "items"):  # since 3.13, by name
        return {dis.opmap[name]: count for name, count in entries.items() if name in dis.opmap}
    return dict(enumerate(entries))


CACHES = caches()


def instructions(code):
    """All of them, without prefixes and caches. The `dis` module says the same, ten times as slowly."""
    raw, positions = code.co_code, list(code.co_positions())
    found, argument, start = [], 0, None
    unit = 0
    while unit < len(raw) // 2:
        number, low = raw[unit * 2], raw[unit * 2 + 1]
        argument = argument << 8 | low
        start = unit if start is None else start
        if number == dis.EXTENDED_ARG:
            unit += 1
            continue
        name, next_unit, target = NAMES[number], unit + 1 + CACHES.get(number, 0), None
        if number in JUMPS:
            back = "BACKWARD" in name or name == "END_ASYNC_FOR"
            target = (next_unit - argument if back else next_unit + argument) * 2
            argument = 0
        found.append(Instruction(name, argument, target, positions[unit], unit * 2, start * 2))
        argument, start, unit = 0, None, next_unit
    return found


class Matched:
    """The instructions of the new code beside those of the old one, and the probes before each."""

    def __init__(self, old, new):
        self.old, self.new = instructions(old), instructions(new)
        self.constants = len(old.co_consts)
        self.new_constants = new.co_consts
        self.probes = []  # before each old instruction: texts
        self.places = []  # of each old instruction: place in new
        self.start = []  # of what was put in before it: place in new
        self.match()

    def is_probe(self, at):
        item = self.new[at]
        return item.name == "LOAD_CONST" and item.argument >= self.constants

    def has_operand(self, at):
        """Is this the copy of a probe's operand?"""
        names = [item.name for item in self.new[at : at + 4]]
        return names == ["COPY", "LOAD_CONST", "CONTAINS_OP", "POP_TOP"] and self.is_probe(at + 1)

    def length(self, at):
        """How many instructions the probe has, one without an operand."""
        names = [item.name for item in self.new[at : at + 3]]
        if self.new_constants[self.new[at].argument].startswith("COUNT ") and MINOR <= 12:
            short = ["LOAD_CONST", "FOR_ITER"] + ["END_FOR"] * (MINOR == 12)
            assert names[: len(short)] == short and self.new[at + 1].target == self.new[at + 2].start, names
            return len(short)
        assert names == ["LOAD_CONST", "UNARY_NEGATIVE", "POP_TOP"], names
        return 3

    def jumps_over(self, at):
        """Is this a jump over the probes behind it (3.11: over a SEND)?"""
        item, past = self.new[at], at + 1
        if item.name != "JUMP_FORWARD" or past >= len(self.new):
            return 0
        while self.is_probe(past) and self.new[past].start < item.target:
            past += self.length(past)
            past += self.new[past].name == "JUMP_FORWARD" and self.new[past].target == item.target
        if past > at + 1 and item.target == self.new[past].start:
            return 1
        repeated = MINOR == 11 and [i.name for i in self.new[at + 1 : at + 3]] == ["SEND", "YIELD_VALUE"]
        return 2 if repeated and item.target == self.new[at + 2].start else 0

    def match(self):
        at = 0
        for old in self.old:
            self.start.append(at)
            probes = []
            while True:
                if self.is_probe(at):
                    probes.append(self.new_constants[self.new[at].argument])
                    at += self.length(at)
                elif self.has_operand(at):
                    probes.append(self.new_constants[self.new[at + 1].argument])
                    at += 4
                elif self.jumps_over(at):
                    at += self.jumps_over(at)
                elif self.new[at].name == "NOP" != old.name:
                    at += 1  # counters: so that the unit before the instruction is of the same range
                else:
                    break
            new = self.new[at]
            assert (new.name, new.argument) == (old.name, old.argument), (new, old)
            self.probes.append(probes)
            self.places.append(at)
            at += 1
        self.rest = at

    def check_positions(self):
        for old, place, start in zip(self.old, self.places, self.start):
            for new in self.new[start : place + 1]:
                assert new.positions == old.positions, (new, old)
        for new in self.new[self.rest :]:
            assert new.positions[0] is None, new

    def check_targets(self):
        """A jump leads to the instruction it led to, or to what was put in before it."""
        by_offset = {item.start: place for place, item in enumerate(self.old)}
        for old, place in zip(self.old, self.places):
            if old.target is None:
                continue
            to = by_offset[old.target]
            first, last = self.new[self.start[to]].start, self.new[self.places[to]].start
            assert first <= self.new[place].target <= last, (old, self.new[place])

    def check_lines(self):
        """A probe of a line stands before an instruction of that line."""
        for old, probes in zip(self.old, self.probes):
            for probe in probes:
                kind, line = probe.rsplit(" ", 1)
                assert kind not in WITH_LINE or int(line) == old.positions[0], (probe, old)

    def check_ends(self):
        """Whatever leaves the body is announced, and so is what suspends it."""
        left = False
        for old, probes in zip(self.old, self.probes):
            kinds = [probe.split(" ")[0] for probe in probes]
            left = "LAST_LINE" in kinds or left
            if old.name in ("RETURN_VALUE", "RETURN_CONST"):
                assert left != ("LEAVE" in kinds), (old, kinds)
                left = False
            else:
                assert "LEAVE" not in kinds, (old, kinds)
            assert ("SUSPEND" in kinds) == (old.name == "YIELD_VALUE"), (old, kinds)

    def check_pairs(self):
        """Nothing comes between instructions that the interpreter takes together."""
        for at in range(1, len(self.old)):
            pair = (self.old[at - 1].name, self.old[at].name)
            apart = self.places[at] != self.places[at - 1] + 1
            if pair in GLUED or (pair == ("END_FOR", "POP_TOP") and MINOR == 13):
                assert not apart, (self.old[at], self.probes[at])


# PRECALL jumps past the CALL, GET_AWAITABLE and YIELD_VALUE look at what follows them.
GLUED = {("PRECALL", "CALL"), ("YIELD_VALUE", "RESUME"), ("END_FOR", "POP_ITER")}


def check_instructions(old, new, insert=LINES):
    matched = Matched(old, new)
    matched.check_positions()
    matched.check_targets()
    matched.check_lines()
    if insert != COUNTS:
        matched.check_ends()
    matched.check_pairs()


def check_with_dis(old, new):
    """The same once more through `dis`, which reads the exception table too."""
    ours = [i for i in dis.get_instructions(new) if i.opname != "CACHE"]
    assert [i.opname for i in ours if i.opname != "EXTENDED_ARG"] == [
        item.name for item in instructions(new)
    ]
    lines = {line for _, _, line in old.co_lines()}
    assert {line for _, _, line in new.co_lines()} <= lines | {None}
    if hasattr(dis, "_parse_exception_table"):
        check_ranges(old, new)


def check_ranges(old, new):
    """What had a handler has it still, or a block at the end; what had none leaves by one."""
    matched = Matched(old, new)
    old_entries, new_entries = dis._parse_exception_table(old), dis._parse_exception_table(new)
    end = matched.new[matched.rest].start if matched.rest < len(matched.new) else len(new.co_code)
    for item, place in zip(matched.old, matched.places):
        was, now = entry_at(old_entries, item.offset), entry_at(new_entries, matched.new[place].offset)
        if was is None or now is None:
            assert was is None and (now is None or now.target >= end), (item, was, now)
        elif now.target < end:
            assert (now.depth, now.lasti) == (was.depth, was.lasti), (item, was, now)


def entry_at(entries, offset):
    place = bisect.bisect(entries, offset, key=lambda entry: entry.start) - 1
    return entries[place] if place >= 0 and offset < entries[place].end else None


# ---- inputs for the fuzzer -----------------------------------------------------------------------
def fuzz_input(code, flags=0, fail_at=0):
    """A code object as tests/fuzz/fuzz_rewrite.c reads it."""
    old = unchanged(code)
    numbers = (code.co_firstlineno % 65536, old.stack_size, len(code.co_consts))
    sizes = (len(old.code), len(old.exceptions))
    return bytes([MINOR - 11, flags, fail_at]) + struct.pack("<5H", *numbers, *sizes) + b"".join(old[:3])
