# SPDX-License-Identifier: MIT
"""The rewriter of the probe tracer on every code object of the standard library of this interpreter:
with nothing put in it gives back every byte, and with probes put in the same instructions stand there,
in their order, on their lines, jumping to each other. Whether the probes then count what the
interpreter counts is measured in test_hits.py and its neighbours."""

import random
import subprocess
import sys

import harness
import pytest

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="code is rewritten from CPython 3.11 on"),
]

if sys.version_info >= (3, 11):
    import rewriting

AT_LEAST, AT_LEAST_WITHOUT_TESTS = 30000, 15000  # some distributions pack the library's tests apart
EVERY = {"instructions": 20, "dis": 60}  # one code object in so many is looked at more closely


@pytest.fixture(scope="module")
def rewriter():
    return rewriting.Rewriter()


def problems_of(rewriter, code, number):
    """Why this code object does not come out as it must; None when it does."""
    if rewriter(code, insert=rewriting.NOTHING) != rewriting.unchanged(code):
        return "with nothing put in it is not the same"
    for insert in (rewriting.LINES, rewriting.AROUND, rewriting.COUNTS):
        new = rewriter(code, insert)
        if rewriter.rewrite(new, code.co_firstlineno, len(code.co_consts), rewriting.NOTHING)[:4] != new[:4]:
            return "the result cannot be taken apart again"
        if number % EVERY["instructions"] == 0:
            rewriting.check_instructions(code, rewriting.with_probes(code, new), insert)
        if number % EVERY["dis"] == 0:
            rewriting.check_with_dis(code, rewriting.with_probes(code, new))
    return None


@pytest.mark.slow
def test_the_standard_library(rewriter):
    wrong, seen = [], 0
    for seen, code in enumerate(rewriting.standard_library(), 1):
        if harness.SANITIZED and seen % 4:  # everything takes several times as long then
            continue
        try:
            problem = problems_of(rewriter, code, seen)
        except (rewriting.Refused, AssertionError) as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            wrong.append(f"{code.co_filename}:{code.co_firstlineno} {code.co_qualname}: {problem}")
    print(f"{seen} code objects of the standard library, {len(wrong)} wrong")
    assert not wrong, "\n".join([f"{len(wrong)} of {seen}:", *wrong[:20]])
    assert seen >= (AT_LEAST if rewriting.has_tests() else AT_LEAST_WITHOUT_TESTS)


NASTY = '''
import contextlib

def many_constants():
    return [{numbers}]

def long_jumps(a):
    for x in a:
        if x:
{body}
        else:
            a = 0
    return a

def delegates(a):
    try:
        x = (yield from
             a)
        return (
            yield from x
        )
    finally:
        a = (yield)

async def waits(a):
    async with a as b, b as c:
        async for x in c:
            await x
        return [y async for y in x if (await y)]

def handles(a):
    with a as b, \\
         b as c:
        try:
            try:
                raise a
            except* ValueError as e:
                a = [x for x in e for e in x]
        finally:
            a = lambda: (yield)
'''


@pytest.mark.slow
def test_what_is_rare_in_the_library(rewriter):
    numbers = ",\n".join(str(1000 + n) for n in range(700))
    body = "".join(f"            a = x.method({n}, key=a[{n}:x])\n" for n in range(2600))
    module = rewriting.compiled(NASTY.replace("{numbers}", numbers).replace("{body}", body))
    names = set()
    for code in rewriting.code_objects(module):
        names.add(code.co_name)
        assert problems_of(rewriter, code, 0) is None, code.co_name
    assert {"many_constants", "long_jumps", "delegates", "waits", "handles"} <= names


def test_what_is_watched_by_someone_else(rewriter):
    """Code that sys.monitoring or a debugger has changed shows the bytes that were compiled."""
    code = rewriting.compiled("def f(a):\n    for x in a:\n        a = x\n    return a\n").co_consts[0]
    namespace = {}
    exec(rewriting.compiled("def f(a):\n    for x in a:\n        a = x\n    return a\n"), namespace)
    before = rewriting.unchanged(namespace["f"].__code__)
    old = sys.gettrace()
    sys.settrace(lambda frame, event, argument: sys.gettrace())
    try:
        for _ in range(100):  # so that instructions are specialised, too
            namespace["f"](range(100))
        watched = namespace["f"].__code__
        assert rewriting.unchanged(watched) == before == rewriting.unchanged(code)
        assert rewriter(watched) == rewriter(code)
    finally:
        sys.settrace(old)


# ---- the fuzzer ----------------------------------------------------------------------------------
def changed(chance, data, start):
    """The input with something in it changed by chance."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(start, len(data))
        kind = chance.random()
        if kind < 0.6:
            data[place] = chance.randrange(256)
        elif kind < 0.8:
            data[place] ^= 1 << chance.randrange(8)
        else:
            other = chance.randrange(start, len(data))
            data[place : place + 2] = data[other : other + 2]
    return bytes(data)


def refused_inputs(inputs, folder):
    """The inputs at which the fuzzer stops, with what it says, in hexadecimal digits."""
    paths = []
    for number, data in enumerate(inputs):
        paths.append(folder / str(number))
        paths[-1].write_bytes(data)
    batches = [paths[first : first + 1000] for first in range(0, len(paths), 1000)]
    return [
        f"{path.read_bytes().hex()}: {fuzzed([path]).stderr[-3000:]}"
        for batch in batches
        if fuzzed(batch).returncode
        for path in batch
        if fuzzed([path]).returncode
    ]


def fuzzed(paths):
    return subprocess.run([rewriting.FUZZER, *paths], capture_output=True, text=True)


def test_damaged_code(tmp_path):
    """The fuzzer's corpus: code objects of the library, as they are and damaged, with allocations that
    fail, and bytes of chance from which it makes code itself."""
    chance = random.Random(2024)
    inputs = [bytes([n % 5, 1 | n % 2 * 2, n % 40]) + chance.randbytes(200) for n in range(2000)]
    for number, code in enumerate(rewriting.code_objects_of(rewriting.FUZZED_MODULES)):
        if len(code.co_code) > 1500 or number % 2:
            continue
        inputs.append(rewriting.fuzz_input(code))
        inputs.append(rewriting.fuzz_input(code, flags=2, fail_at=1 + number % 30))
        inputs += [changed(chance, rewriting.fuzz_input(code), 3) for _ in range(4)]
    assert refused_inputs(inputs, tmp_path) == []
    assert len(inputs) > 3000
