# SPDX-License-Identifier: MIT
"""A thousand functions made by chance, and some that are as long as functions get: they do what
they do without a profiler, and every hit is the reference's. `make fuzz-rewrite` tries more."""

import ast
import dis
import sys

import harness
import pytest

sys.path.append(str(harness.ROOT / "tools"))

from fuzz_rewrite import compare  # noqa: E402
from generate import BIG, big_function, function  # noqa: E402

SEED = 2024
pytestmark = [pytest.mark.filterwarnings("ignore::SyntaxWarning"), pytest.mark.hits]

# Opcodes that stand in no function: of modules, classes' own, the compiler's and the interpreter's.
NOT_IN_FUNCTIONS = set(
    """
    CACHE RESERVED INTERPRETER_EXIT INTERNAL_RESERVED JUMP JUMP_NO_INTERRUPT POP_BLOCK SETUP_CLEANUP
    SETUP_FINALLY SETUP_WITH LOAD_CLOSURE STORE_FAST_MAYBE_NULL LOAD_METHOD LOAD_SUPER_METHOD
    LOAD_ZERO_SUPER_ATTR LOAD_ZERO_SUPER_METHOD EXIT_INIT_CHECK ENTER_EXECUTOR JUMP_IF_FALSE
    JUMP_IF_TRUE ANNOTATIONS_PLACEHOLDER RETURN_VALUE_GEN IMPORT_STAR PRINT_EXPR TRACE_RECORD
    LOAD_CONST_IMMORTAL LOAD_CONST_MORTAL SETUP_ANNOTATIONS ASYNC_GEN_WRAP
    """.split()
)


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_generated(first, tmp_path):
    problems, expected = compare([function(SEED, first + k) for k in range(250)], tmp_path)
    assert problems == []
    assert len(harness.without_zeros(expected)) > 250


@pytest.mark.parametrize("what", BIG)
def test_big(what, tmp_path):
    problems, expected = compare([big_function(SEED, what)], tmp_path)
    assert problems == []
    [lines] = [lines for key, lines in expected.items() if key[2] == f"big_{what}"]
    assert max(lines) - min(lines) > 2000


@pytest.mark.once
def test_a_lost_hit_is_noticed(tmp_path, monkeypatch):
    functions = [function(SEED, k) for k in range(8)]
    whole = harness.Profile.hits

    def one_less(profile):
        hits = whole(profile)
        [key] = [key for key in hits if key[2] == "f5"]
        hits[key][max(line for line, n in hits[key].items() if n)] -= 1
        return hits

    monkeypatch.setattr(harness.Profile, "hits", one_less)
    problems, _ = compare(functions, tmp_path)
    assert [problem.name for problem in problems] == ["f5"]


@pytest.mark.once
def test_another_result_is_noticed(tmp_path, monkeypatch):
    functions = [function(SEED, k) for k in range(8)]
    ours = harness.run_ckernprof

    def run(*things, **named):
        ended = ours(*things, **named)
        lines = ended.out.split("\n")
        lines[6] += "1"
        ended.out = "\n".join(lines)
        return ended

    monkeypatch.setattr(harness, "run_ckernprof", run)
    problems, _ = compare(functions, tmp_path)
    assert [problem.name for problem in problems] == ["f6"]


@pytest.mark.once
def test_all_that_can_be_compiled_is_there():
    texts = [function(SEED, k).text for k in range(1000)]
    opcodes, nodes = set(), set()
    for text in texts:
        for code in codes_in(compile(text, "made", "exec", dont_inherit=True)):
            opcodes |= {dis.opname[op] for op in code.co_code[::2]}
        nodes |= {type(node).__name__ for node in ast.walk(ast.parse(text))}
    known = {name for name in dis.opmap if "INSTRUMENTED" not in name}
    assert known - opcodes - NOT_IN_FUNCTIONS == set()
    assert syntax() - nodes == set()


def codes_in(code):
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield constant
            yield from codes_in(constant)


def syntax():
    """The names of what statements, expressions and patterns consist of."""
    abstract = ast.stmt, ast.expr, ast.pattern, ast.operator, ast.unaryop, ast.boolop, ast.cmpop
    return {
        name
        for name, thing in vars(ast).items()
        if isinstance(thing, type) and issubclass(thing, abstract) and thing not in abstract
        and not thing.__doc__.startswith("Deprecated") and name not in ("Num", "Str", "Bytes")
    }
