# SPDX-License-Identifier: MIT
"""Code that the program makes of profiled code, by code.replace() or by types.CodeType, counts for the
function that it was made of, with every tracer: probes lie in the constants and get into the copy, the
other tracers are told of it. Hits are counted by hand.

fixtures/transparency has more such programs: with types.coroutine, from pickles, collected again."""

import json
import sys

import pytest
from harness import BUILD, run_python
from test_beside import IMPORTABLE, hits_of
from test_transparency import bare, every_tracer, profiled

pytestmark = pytest.mark.once

START = """\
import copy, dis, json, sys, threading, types
import clineprof
profiler = clineprof.Profiler(tracer=sys.argv[1], memory=False, started=False)

def work(n):
    m = n + 1000
    return m

def untouched(n):
    m = n + 1000
    return m

def function(code): return types.FunctionType(code, globals())
FIELDS = ("argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names varnames filename "
          "name qualname firstlineno linetable exceptiontable freevars cellvars").split()
def rebuilt(code, **changed):
    names = ["co_" + name for name in FIELDS if hasattr(code, "co_" + name)]
    return types.CodeType(*[changed.get(name, getattr(code, name)) for name in names])

profiler(work)
profiler.start()
"""
END = """
print(json.dumps(profiler.snapshot()["functions"]))
profiler.stop()
"""
WORK = {"work": {6: 1, 7: 1}}

# NAME: (what the program does, the hits)
PROGRAMS = {
    "no change": ("function(work.__code__.replace())(1)", WORK),
    "its own code": ("work.__code__ = work.__code__.replace(co_name='other'); work(1)", WORK),
    "another name and file": (
        "function(work.__code__.replace(co_name='other', co_filename='elsewhere.py'))(1)",
        WORK,
    ),
    "another first line": (
        "for line in 1, 5, 6, 900:\n    function(work.__code__.replace(co_firstlineno=line))(1)",
        {"work": {6: 4, 7: 4}},
    ),
    "another constant": (
        "constants = tuple(9 if c == 1000 else c for c in work.__code__.co_consts)\n"
        "assert function(work.__code__.replace(co_consts=constants))(1) == 10",
        WORK,
    ),
    "a copy of a copy": (
        "one = work.__code__.replace(co_firstlineno=70)\n"
        "two = one.replace(co_name='two', co_firstlineno=50)\ndel one\nfunction(two.replace())(1)",
        WORK,
    ),
    "put together": ("function(rebuilt(work.__code__))(1)", WORK),
    "put together by another name": ("function(rebuilt(work.__code__, co_name='other'))(1)", WORK),
    "the copy is profiled, too": (
        "other = function(work.__code__.replace(co_name='other'))\nprofiler(other)\nother(1)",
        WORK,
    ),
    "in a thread": (
        "thread = threading.Thread(target=function(work.__code__.replace()), args=(1,))\n"
        "thread.start()\nthread.join()",
        WORK,
    ),
    "while it runs": (
        "def itself(n):\n    itself.__code__ = itself.__code__.replace()\n    return n and itself(n - 1)\n"
        "profiler(itself)\nitself(2)",
        {"itself": {23: 3, 24: 3}},
    ),
    "another function": (
        "function(untouched.__code__.replace())(1), function(rebuilt(untouched.__code__))(1)",
        {},
    ),
    "before it is profiled": (
        "early = function(untouched.__code__.replace()), function(rebuilt(untouched.__code__))\n"
        "profiler(untouched)\n[f(1) for f in early]",
        {},
    ),
    "while the profiler stands still": (
        "other = function(work.__code__.replace())\nother(1)\nprofiler.stop()\nother(1)\n"
        "profiler.start()\nother(1)",
        {"work": {6: 2, 7: 2}},
    ),
}  # fmt: skip
if sys.version_info >= (3, 13):
    PROGRAMS["copy.replace"] = "function(copy.replace(work.__code__, co_name='other'))(1)", WORK


def counted(tmp_path, tracer, text):
    (tmp_path / "program.py").write_text(text)
    ended = bare(["-X", "faulthandler", "program.py", tracer], tmp_path, env=IMPORTABLE)
    assert (ended.code, ended.err) == (0, ""), ended.err
    return {name: lines for name, lines in hits_of(json.loads(ended.out)).items() if lines}


@every_tracer
@pytest.mark.parametrize("name", PROGRAMS)
def test_copies_count_for_what_they_are_made_of(name, tracer, tmp_path):
    program, expected = PROGRAMS[name]
    assert START.count("\n") == 21
    assert counted(tmp_path, tracer, START + program + END) == expected


WIDE = """
import types
lines = ["def wide(n):"] + ["    x = n"] * 150 + ["    yield x"] * (kind == "generator") + ["    return x"]
exec(compile("\\n".join(lines), "wide.py", "exec"))
profiler(wide)
moved = wide.__code__.replace(co_firstlineno=1000, co_filename="moved.py")
for code in moved, wide.__code__.replace(co_name="other"):
    list(function(code)(1)) if kind == "generator" else function(code)(1)
"""


@every_tracer
@pytest.mark.parametrize("kind", ["function", "generator"])
def test_functions_of_many_lines(kind, tracer, tmp_path):
    """.. for which the tracer monitoring has other events, on 3.12 and 3.13."""
    last = 153 if kind == "generator" else 152
    found = counted(tmp_path, tracer, START + f"kind = {kind!r}" + WIDE + END)
    assert found == {"wide": dict.fromkeys(range(2, last + 1), 2)}


REPLACED = """
code = work.__code__.replace
replace, new = types.CodeType.replace, types.CodeType.__new__
print(repr(replace), repr(new).partition(" object ")[0], file=sys.stderr)
for call in (lambda: code(co_names=3), lambda: code(bad=1), lambda: types.CodeType(), lambda: replace(1)):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error, file=sys.stderr)
"""


@every_tracer
def test_what_the_program_sees_of_both_ways(tracer, tmp_path):
    """The functions are what they are without, and say what they say of wrong arguments."""
    sees = "import sys, types\ndef work(n): pass\n" + REPLACED
    (tmp_path / "program.py").write_text(START + REPLACED)
    (tmp_path / "alone.py").write_text(sees)
    ours = bare(["program.py", tracer], tmp_path, env=IMPORTABLE)
    theirs = bare(["alone.py"], tmp_path)
    assert ours.code == theirs.code == 0 and theirs.err.count("\n") == 5
    assert ours.err == theirs.err


MANY = """
work(1)
def go():
    for i in range(300):
        function(work.__code__.replace(co_firstlineno=i + 1))(i)
        function(rebuilt(work.__code__))(i)
threads = [threading.Thread(target=go) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@every_tracer
def test_many_copies_in_threads(tracer, tmp_path):
    hits = 1 + 4 * 600
    assert counted(tmp_path, tracer, START + MANY + END) == {"work": {6: hits, 7: hits}}


TRAPS = """\
import types

@types.coroutine
def nap(x):
    y = yield x
    return y

def again(n):
    return n + 1

again.__code__ = again.__code__.replace(co_name="again")

async def main():
    for i in range(3):
        await nap(again(i))

task = main()
try:
    while True: task.send(None)
except StopIteration:
    pass
"""


@every_tracer
@pytest.mark.parametrize("way", ["script", "module"])
def test_a_whole_file(way, tracer, tmp_path):
    """Its code is chosen before it runs."""
    (tmp_path / "traps.py").write_text(TRAPS)
    (tmp_path / "main.py").write_text("import traps\n")
    ended = profiled(tracer, ["-p", "traps.py", "traps.py" if way == "script" else "main.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    found = hits_of(ended.profile().functions.values())
    del found["<module>"]
    assert found == {"nap": {5: 3, 6: 3}, "again": {9: 3}, "main": {14: 4, 15: 3}}


ELSEWHERE = """
import threading, _interpreters, clineprof
made = '''
def f(n):
    return n
names = ("argcount posonlyargcount kwonlyargcount nlocals stacksize flags code consts names varnames "
         "filename name qualname firstlineno linetable exceptiontable freevars cellvars").split()
parts = [getattr(f.__code__, "co_" + name) for name in names]
for _ in range(50000):
    type(f.__code__)(*parts)
'''
profiler = clineprof.Profiler(tracer={tracer!r}, memory=False)
elsewhere = _interpreters.create()
other = threading.Thread(target=_interpreters.exec, args=(elsewhere, made))
other.start()
functions, hits = {{}}, 0
while other.is_alive():
    exec("def f(n):\\n    return n\\n", functions)
    profiler(functions.pop("f"))(1)
    hits += 1
other.join()
_interpreters.destroy(elsewhere)
print(sum(sum(f["lines"]["hits"]) for f in profiler.snapshot()["functions"]) == hits)
"""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="no module _interpreters")
@every_tracer
def test_code_that_another_interpreter_makes(tracer, tmp_path):
    """It has a lock of its own, so it runs while functions are selected here."""
    (tmp_path / "it.py").write_text(ELSEWHERE.format(tracer=tracer))
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err, ended.code) == ("True\n", "", 0)
