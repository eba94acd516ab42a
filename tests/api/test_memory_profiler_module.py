# SPDX-License-Identifier: MIT
"""The module memory_profiler: what memory_profiler's users rely on, PySpark's profiler of functions
among them."""
import re

import pytest
from harness import BUILD, SANITIZED, TRACER, run_python

pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")

ENVIRONMENT = {"PYTHONPATH": str(BUILD / "python"), "MALLOC_MMAP_THRESHOLD_": "131072"}
HEAD = f"""
import asyncio, io, logging, os, sys, warnings
import clineprof
leader = clineprof.Profiler(tracer={TRACER!r}, memory=False)  # others follow its tracer
from clineprof.memory_profiler import *

def rows(text):
    "[[text of the line, occurrences, MiB, increment], ..] of the lines that ran"
    found = []
    for line in text.splitlines():
        parts = line.split("MiB")
        if len(parts) == 3:
            occurrences, _, source = parts[2].strip().partition(" ")
            found.append([source.strip(), int(occurrences), float(parts[0].split()[1]), float(parts[1])])
    return found
"""
MIB = 20
PROGRAM = f"""
def work(n):
    a = bytearray({MIB} << 20)
    for i in range(n):
        b = 1
    del a
    return n
"""


def run(program, folder, head=HEAD, name="it.py"):
    (folder / name).write_text(head + program, "utf-8")
    return run_python([name], folder, env=ENVIRONMENT)


def printed(program, folder):
    ended = run(program, folder)
    assert (ended.err, ended.code) == ("", 0)
    return ended.out.splitlines()


# ---- LineProfiler ----------------------------------------------------------------------------


def test_numbers_of_lines(tmp_path):
    assert printed(PROGRAM + f"""
p = LineProfiler()
wrapped = p(work)
assert wrapped(3) == 3 and wrapped.__name__ == "work" and p.enable_count == 0
work(5)  # not enabled
[lines] = p.code_map.values()
first = min(lines)
for line, (increment, size, occurrences) in lines.items():
    what = "call" if line == first else round(increment / {MIB})
    assert size >= {MIB} / 2
    print(line - first, what, occurrences)
with p:
    work(1)
    print(p.enable_count)
print([occurrences for _, _, occurrences in p.code_map[list(p.code_map)[0]].values()])
""", tmp_path) == ["0 call 1", "1 1 1", "2 0 4", "3 0 3", "4 -1 1", "5 0 1", "1", "[2, 2, 6, 4, 2, 2]"]


def test_the_table_has_the_form_of_the_originals(tmp_path):
    pytest.importorskip("memory_profiler")
    program = PROGRAM + """
import io
def never():
    return 1
out = io.StringIO()
for precision in 1, 4:
    p = LineProfiler()
    p(work)(3)
    p(never)
    show_results(p, out, precision)
show_results(p)
print(out.getvalue())
"""
    shapes = []
    for head in HEAD, "from memory_profiler import *\n" + "\n" * (HEAD.count("\n") - 1):
        ended = run(program, tmp_path, head)
        assert (ended.err, ended.code) == ("", 0)
        shapes.append(re.sub(r" *-?[\d.]+ MiB", lambda found: " " * len(found[0]), ended.out))
    assert shapes[0] == shapes[1] and "Occurrences" in shapes[0]


def test_several_at_once_and_within_one_another(tmp_path):
    assert printed(PROGRAM + """
p, q = LineProfiler(), LineProfiler(backend="posix")
inner = q(work)
def outer():
    inner(1)
    return work(2)
p(outer)()
p.add_function(work)
with p:
    outer()
for prof in p, q:
    print([[row[2] for row in lines.values()] for lines in prof.code_map.values()])
""", tmp_path) == ["[[2, 2, 2], [2, 2, 5, 3, 2, 2]]", "[[2, 2, 4, 2, 2, 2]]"]


def test_what_cannot_be_measured_is_told(tmp_path):
    assert printed("""
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    LineProfiler().add_function(len)
    print(choose_backend("tracemalloc"), choose_backend(), choose_backend("psutil_pss"))
    LineProfiler(max_mem=3)
print([str(w.message)[:23] for w in told])
try:
    choose_backend("nonsense")
except KeyError:
    print("KeyError")
names = {}
exec(compile("def f(): return 1", "nowhere.py", "exec"), names)
p = LineProfiler()
assert p(names["f"])() == 1
show_results(p)
""", tmp_path) == [
        "psutil psutil psutil_pss",
        "['Could not extract a cod', 'tracemalloc can not be ', 'max_mem has no effect; ']",
        "KeyError", "ERROR: Could not find file nowhere.py",
    ]


# ---- the decorator ---------------------------------------------------------------------------


def test_the_decorator_prints_at_the_end_of_every_call(tmp_path):
    out = "\n".join(printed("""
out = io.StringIO()
@profile
def plain(n):
    "The text."
    return n
assert plain(3) == 3 and plain.__name__ == "plain" and plain.__doc__ == "The text."
@profile(stream=out, precision=4)
def raising():
    raise KeyError
for _ in range(2):
    try:
        raising()
    except KeyError:
        pass
assert [row[:2] for row in rows(out.getvalue())] == [
    ["@profile(stream=out, precision=4)", 1], ["raise KeyError", 1]] * 2
assert len(out.getvalue().split("MiB")[0].rsplit(".")[-1].strip()) == 4
@profile
def recursive(n):
    return recursive(n - 1) if n else 0
recursive(1)
""", tmp_path))
    assert out.count("Filename: ") == 3 and out.count("return n\n") == 1


def test_generators_and_coroutines_have_a_table_too(tmp_path):
    assert printed("""
out = io.StringIO()
decorated = profile(stream=out)
@decorated
def gen():
    try:
        got = yield 1
    except KeyError:
        got = 2
    return got
def use(g):
    return (yield from g)
g = use(gen()); next(g)
assert not out.getvalue()
try:
    g.throw(KeyError())
except StopIteration as end:
    print(end.value, [row[1] for row in rows(out.getvalue())])
out.truncate(0)
@decorated
async def coro():
    await asyncio.sleep(0)
    return 3
print(asyncio.run(coro()), [row[1] for row in rows(out.getvalue())])
out.truncate(0)
@decorated
async def agen():
    got = yield 4
    yield got
async def use():
    a = agen()
    found = [await a.asend(None), await a.asend(5)]
    await a.aclose()
    return found
print(asyncio.run(use()), [row[1] for row in rows(out.getvalue())])
""", tmp_path) == ["2 [1, 1, 1, 1, 1, 1]", "3 [1, 1, 1]", "[4, 5] [1, 1, 1]"]


def test_a_log_file(tmp_path):
    assert printed("""
class Kept(logging.Handler):
    texts = []
    def emit(self, record):
        self.texts.append(record.getMessage())
logging.getLogger("mem").addHandler(Kept())
logging.getLogger("mem").setLevel(logging.INFO)
log = LogFile("mem")
log.write("anything"); log.flush()
log = LogFile("mem", reportIncrementFlag=True)
for text in ["Filename: x", " 1 10.0 MiB 2.0 MiB 1 a", " 2 10.0 MiB 0.0 MiB 1 b", "other", "Line Contents",
             "it takes 3 MiB of memory"]:
    log.write(text)
print([text[:3].strip() for text in Kept.texts])
""", tmp_path) == ["['any', 'Fil', '1', 'Lin', 'it']"]


def test_a_table_is_written_piece_by_piece(tmp_path):
    """Of each a LogFile makes one record, as memory_profiler has them."""
    assert printed("""
class Kept(list):
    write = list.append
kept = Kept()
@profile(stream=kept)
def spam():
    return 1
spam()
print(kept[0].startswith("Filename: "), kept[1].split()[-2:], set(kept[2]) == {"=", chr(10)}, len(kept))
""", tmp_path) == ["True ['Line', 'Contents'] True 7"]


def test_with_child_processes(tmp_path):
    assert printed("""
import subprocess, sys, warnings
def spam():
    child = subprocess.Popen([sys.executable, "-c", "b = bytearray(50 << 20); print(flush=True); input()"],
                             stdin=-1, stdout=-1)
    child.stdout.readline()
    child.communicate(b"\\n")
for wish in False, True:
    profiler = LineProfiler(include_children=wish)
    profiler(spam)()
    [measures] = profiler.code_map.values()
    print(max(row[1] for row in measures.values()) - measures[min(measures)][1] > 50)
    profiler._profiler.close()
with warnings.catch_warnings(record=True) as told:
    LineProfiler(include_children=True, backend="psutil_uss")
print([str(one.message) for one in told])
""", tmp_path) == ["False", "True",
                   "['include_children: the resident size is measured, not that of psutil_uss']"]  # fmt: skip


def test_a_time_stamper(tmp_path):
    out = printed("""
stamper = TimeStamper("psutil")
@stamper
def outer():
    with stamper.timestamp("block"):
        return inner()
@stamper(precision=3)
def inner():
    return 1
assert outer() == 1
stamper.show_results()
text = io.StringIO()
stamper.show_results(stream=text)
print(text.getvalue().count("FUNC"))
""", tmp_path)
    assert [line.split()[::6] for line in out[:-1]] == [["FUNC", "2"], ["FUNC", "1"], ["FUNC", "0"]]
    assert [line.split()[1] for line in out[:-1]] == ["__main__.inner", ".block", "__main__.outer"]
    assert out[-1] == "3"
    for line in out[:-1]:
        before, enter, after, leave = map(float, line.split()[2:6])
        assert before > 1 and after > 1 and leave >= enter > 1e9


# ---- PySpark ---------------------------------------------------------------------------------

# What its memory profiler of user-defined functions does with the two classes: it fills the map by
# itself, with lines it may know from elsewhere, and ships the items; the newer one knows only code.
SPARK = """
import inspect
class Map(CodeMap):
    def add(self, code, toplevel_code=None, *, sub_lines=None, start_line=None):
        if code in self:
            return
        if toplevel_code is None:
            toplevel_code = code
            if sub_lines is None or start_line is None:
                sub_lines, start_line = inspect.getsourcelines(code)
            self._toplevel.append((code.co_filename, code,
                                   range(start_line, start_line + len(sub_lines))))
            self[code] = {}
        else:
            self[code] = self[toplevel_code]
        for inner in filter(inspect.iscode, code.co_consts):
            self.add(inner, toplevel_code=toplevel_code)
class Mapped(LineProfiler):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.code_map = Map(include_children=kw.get("include_children", False),
                            backend=kw.get("backend", "psutil"))
    def __call__(self, func=None, precision=1, *, sub_lines=None, start_line=None):
        self.add_function(func, sub_lines=sub_lines, start_line=start_line)
        wrapped = self.wrap_function(func)
        wrapped.__module__, wrapped.__name__ = func.__module__, func.__name__
        wrapped.__dict__.update(getattr(func, "__dict__", {}))
        return wrapped
    def add_function(self, func, *, sub_lines=None, start_line=None):
        self.code_map.add(func.__code__, sub_lines=sub_lines, start_line=start_line)
class Bare(CodeMap):
    def add(self, code, toplevel_code=None):
        if code not in self:
            self[code] = {} if toplevel_code is None else self[toplevel_code]
            if toplevel_code is None:
                self._toplevel.append((code.co_filename, code))
            for inner in filter(inspect.iscode, code.co_consts):
                self.add(inner, toplevel_code=toplevel_code or code)
    def items(self):
        for filename, code in self._toplevel:
            if self[code]:
                yield filename, ((line, self[code][line]) for line in self[code])
class Coded(LineProfiler):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.code_map = Bare(kw.get("include_children", False), kw.get("backend", "psutil"))
    def add_code(self, code):
        self.code_map.add(code)
def shipped(profiler):
    return {os.path.basename(name): [(line, measures and (round(measures[0] / 20), measures[2]))
                                     for line, measures in list(lines)[1:]]
            for name, lines in profiler.code_map.items()}
"""


def test_pysparks_classes(tmp_path):
    first = (HEAD + PROGRAM).count("\n") - 4
    of_three = [(first + i, *row) for i, row in enumerate([(1, 1), (0, 4), (0, 3), (-1, 1), (0, 1)])]
    twice = [(line, (size * 2, hits * 2)) for line, size, hits in of_three]
    once = [(line, (size, hits)) for line, size, hits in of_three]
    out = printed(PROGRAM + SPARK + """
p = Mapped()
f = p(work, sub_lines=inspect.getsourcelines(work)[0], start_line=inspect.getsourcelines(work)[1])
f(3); f(3)
print(shipped(p))
for add in lambda p: p.add_code(work.__code__), lambda p: p.add_function(work):
    p = Coded()
    add(p)
    p.enable_by_count()
    try:
        work(3)
    finally:
        p.disable_by_count()
    print(shipped(p))
print(shipped(Coded()))
""", tmp_path)
    assert out == [str({"it.py": twice}), str({"it.py": once}), str({"it.py": once}), "{}"]


# ---- the module as a program -----------------------------------------------------------------


@pytest.fixture
def program(tmp_path):
    (tmp_path / "beside.py").write_text("value = 5\n")
    (tmp_path / "program.py").write_text("""
import sys, beside
@profile
def f(n):
    return n
f(beside.value)
print(__name__, sys.argv)
""")
    return tmp_path


def main(folder, *words):
    return run_python(["-m", "clineprof.memory_profiler", *words], folder, env=ENVIRONMENT)


def test_python_m(program):
    ended = main(program, "program.py", "-x", "y")
    assert ended.code == 0 and ended.err == ""
    assert ended.out.splitlines()[0] == "__main__ ['program.py', '-x', 'y']"
    assert re.search(r"^ +5 +[\d.]+\.\d{3} MiB +-?\d\.\d{3} MiB +1 +return n$", ended.out, re.M)
    ended = main(program, "--precision", "1", "-o", "out.txt", "--backend", "psutil_uss", "program")
    assert ended.code == 0 and ended.out.splitlines() == [f"__main__ {[str(program / 'program.py')]}"]
    assert re.search(r"\d\.\d MiB", (program / "out.txt").read_text())
    ended = main(program, "--timestamp", "program.py")
    assert re.search(r"^FUNC __main__\.f ", ended.out, re.M)
    assert main(program).code == 1
    assert main(program, "--backend", "nonsense", "program.py").code == 2
    assert re.fullmatch(r"[\d.]+\n", main(program, "--version").out)


def test_a_failing_program_has_its_tables(program):
    (program / "program.py").write_text("@profile\ndef f():\n    raise SystemExit(7)\nf()\n")
    ended = main(program, "program.py")
    assert ended.code == 7 and "raise SystemExit(7)" in ended.out
    assert main(program, "missing.py").code == 1


def test_the_module_stands_in_for_the_original(program):
    ended = run("""
import clineprof.memory_profiler
sys.modules["memory_profiler"] = clineprof.memory_profiler
from memory_profiler import profile, memory_usage, LineProfiler, CodeMap, show_results, LogFile
from memory_profiler import MemitResult, TimeStamper, choose_backend, load_ipython_extension
import memory_profiler
print(memory_usage(max_usage=True) > 1, memory_profiler.__version__)
""", program)
    assert ended.out.startswith("True ") and ended.code == 0, ended.err
