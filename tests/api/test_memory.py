# SPDX-License-Identifier: MIT
"""Resident memory by line: sizes far above the noise, with room for a few pages.

Blocks of 20 MiB are mapped and unmapped by the allocator, so they come and go at once; glibc raises
its threshold when such a block is freed, which MALLOC_MMAP_THRESHOLD_ keeps from happening."""

import pytest
from harness import BUILD, MIB, SANITIZED, TRACER, line_of, run_ckernprof, run_python, steady, tried_again

pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")

SLACK = 64 << 10
STEADY = {"MALLOC_MMAP_THRESHOLD_": "131072"}

PROGRAM = '''
import mmap

def simple():
    block = bytearray(20 << 20)    # takes
    number = len(block)            # touches nothing
    del block                      # gives back
    return number

def loop():
    for _ in range(5): c = bytearray(20 << 20); del c    # 20 MiB come and go within the line
    for _ in range(5):
        c = bytearray(20 << 20)    # comes
        del c                      # goes
    kept = []
    for _ in range(5):
        kept.append(bytearray(4 << 20))    # stays
    return len(kept)

def child():
    return bytearray(20 << 20)    # inside child

def parent():
    block = child()    # outside child
    del block          # parent frees

def nested(n):
    block = bytearray(2 << 20)    # at each level
    if n:
        nested(n - 1)             # the deeper ones
    return len(block)

def keeps(n):
    kept.append(bytearray(2 << 20))
    if n:
        keeps(n - 1)    # keeps more
    return n

def suspended():
    mine = bytearray(10 << 20)    # before the yield
    yield mine
    del mine                      # after the yield

def drives():
    source = suspended()
    next(source)                   # starts it
    other = bytearray(30 << 20)    # while it is suspended
    del other                      # still suspended
    next(source, None)             # ends it

def raises():
    block = bytearray(20 << 20)    # lost to the exception
    raise ValueError

def catches():
    try:
        raises()    # up and down
    except ValueError:
        pass

def untouched():
    room = mmap.mmap(-1, 50 << 20)         # mapped only
    room[:8 << 20] = bytes(1) * (8 << 20)  # partly written
    room.close()                           # unmapped

def inner():
    return bytearray(10 << 20)    # ten in the callee

def outer():
    held = bytearray(24 << 20)    # before the call
    block = inner()               # ten by the call
    return len(held)

def deep():
    block = bytearray(20 << 20)    # raised with this
    try: raise ValueError
    finally: note = len(block)

def middle():
    held = bytearray(10 << 20)    # held meanwhile
    deep()                        # goes by

def catches_all():
    try:
        middle()    # all of it
    except ValueError:
        pass

class Turn:
    def __await__(self): yield

async def task(size):
    await Turn()
    mine = bytearray(size << 20)    # of this task
    await Turn()                    # other tasks run
    del mine                        # of this task, again
    await Turn()

def tasks():
    running = [task(10), task(30)]
    while running:
        for one in list(running):
            try: one.send(None)    # drives them
            except StopIteration: running.remove(one)

kept = []

def work():
    simple(); simple()
    outer(); catches_all(); tasks()
    loop()
    parent()
    nested(3)
    keeps(3)
    drives()
    catches()
    untouched()

work()  # unprofiled: what runs for the first time maps pages of code and of the allocator
for function in (simple, loop, child, parent, nested, keeps, suspended, drives, raises, catches,
                 untouched, inner, outer, deep, middle, catches_all, task, tasks):
    profile(function)
work()
'''


# The same program without ckernprof.
HEAD = """import clineprof
profiler = profile = clineprof.Profiler(memory={memory!r}, tracer={tracer!r})
"""
TAIL = """
open("program.py.lprof", "wb").write(profiler.render("lprof"))
"""


def by_command(folder, memory):
    (folder / "program.py").write_text(PROGRAM)
    return run_ckernprof(["-l", "--memory", memory, "program.py"], folder, env=STEADY)


def by_interface(folder, memory):
    text = HEAD.format(memory=memory, tracer=TRACER or "auto") + PROGRAM + TAIL
    (folder / "program.py").write_text(text)
    return run_python(["program.py"], folder, env={**STEADY, "PYTHONPATH": str(BUILD / "python")})


WAYS = [(run, memory) for run in (by_command, by_interface) for memory in ("rss", "anon")]


@pytest.fixture(scope="module", params=WAYS, ids=lambda way: f"{way[0].__name__}-{way[1]}")
def ran(request, tmp_path_factory):
    run, memory = request.param
    ended = run(tmp_path_factory.mktemp("memory"), memory)
    assert (ended.err, ended.code) == ("", 0)
    assert ended.profile().meta["memory"] == memory
    return ended


@pytest.fixture(scope="module")
def line(ran):
    """line(function, mark): the measures of the line of the program with this comment."""
    profile = ran.profile()
    return lambda name, mark: profile.line(name, line_of(ran.folder / "program.py", "# " + mark))


def near(value, mib, slack=SLACK):
    return abs(value - mib * MIB) <= slack


def increment(measures):
    return measures["grown"] - measures["released"]


def test_takes_and_gives_back(line):
    takes, gives = line("simple", "takes"), line("simple", "gives back")
    assert near(increment(takes), 2 * 20) and near(takes["grown"], 2 * 20)
    assert near(increment(gives), -2 * 20) and near(gives["released"], 2 * 20)
    assert near(takes["largest"], 20) and near(gives["largest"], -20)
    assert near(increment(line("simple", "touches nothing")), 0)
    assert near(takes["self_increment"], 2 * 20)


def test_usage_column(line):
    takes, gives = line("simple", "takes"), line("simple", "gives back")
    assert 2 * MIB < gives["rss"] < 100 * MIB
    assert near(takes["rss"] - gives["rss"], 20)
    assert near(line("simple", "touches nothing")["rss"] - takes["rss"], 0)


def test_loops_with_frees(line):
    comes, goes = line("loop", "comes"), line("loop", "goes")
    assert near(comes["grown"], 5 * 20) and near(comes["released"], 0)
    assert near(goes["released"], 5 * 20) and near(goes["grown"], 0)
    assert near(increment(comes) + increment(goes), 0)
    assert near(comes["largest"], 20) and near(goes["largest"], -20)
    assert near(increment(line("loop", "20 MiB come and go within the line")), 0)
    assert near(increment(line("loop", "stays")), 5 * 4, 2 * SLACK)


def test_nested_calls(line):
    inside, outside = line("child", "inside child"), line("parent", "outside child")
    assert near(increment(inside), 20) and near(inside["self_increment"], 20)
    assert near(increment(outside), 20) and near(outside["self_increment"], 0)
    assert near(increment(line("parent", "parent frees")), -20)


def test_a_call_shows_what_it_took(line):
    """Not what the callee's lines saw of the process (memory_profiler shows 34 here)."""
    assert near(increment(line("inner", "ten in the callee")), 10)
    assert near(increment(line("outer", "before the call")), 24)
    call = line("outer", "ten by the call")
    assert near(increment(call), 10) and near(call["self_increment"], 0)


def test_recursion_counts_once(line):
    level = line("nested", "at each level")
    assert near(level["self_increment"], 4 * 2)
    # freed on the way out of each level, which the deeper call's line sees
    assert near(level["grown"], 4 * 2)
    assert near(increment(line("nested", "the deeper ones")), 0)
    more = line("keeps", "keeps more")
    assert near(increment(more), 3 * 2) and near(more["self_increment"], 0)


def test_suspended_generator_does_not_see_others(line):
    assert near(increment(line("suspended", "before the yield")), 10)
    assert near(increment(line("suspended", "after the yield")), -10)
    assert near(increment(line("drives", "while it is suspended")), 30)
    assert near(increment(line("drives", "still suspended")), -30)
    assert near(increment(line("drives", "starts it")), 10)
    assert near(increment(line("drives", "ends it")), -10)


def test_exception(line):
    assert near(increment(line("raises", "lost to the exception")), 20)
    assert near(line("catches", "up and down")["grown"], 20)


def test_exception_through_frames(line):
    """The traceback holds the frames until the last handler is left."""
    assert near(line("deep", "raised with this")["grown"], 20)
    assert near(line("middle", "held meanwhile")["grown"], 10)
    through, caught = line("middle", "goes by"), line("catches_all", "all of it")
    assert near(through["grown"], 20) and near(through["self_increment"], 0)
    assert near(caught["grown"], 30) and near(caught["self_increment"], 0)


def test_interleaving_coroutines(line):
    """Two tasks of 10 and 30 MiB in one function: neither await sees what the other one does."""
    assert near(increment(line("task", "of this task")), 40)
    assert near(increment(line("task", "of this task, again")), -40)
    waits = line("task", "other tasks run")
    assert near(waits["grown"], 0) and near(waits["released"], 0)
    drives = line("tasks", "drives them")
    assert near(drives["grown"], 40) and near(drives["released"], 40)
    assert near(drives["self_increment"], 0)


def test_mapped_is_not_resident(ran, line):
    """Python's own mmap can be shared with a child, which is not what `anon` counts."""
    mib = 0 if ran.profile().meta["memory"] == "anon" else 8
    assert near(increment(line("untouched", "mapped only")), 0)
    assert near(increment(line("untouched", "partly written")), mib)
    assert near(increment(line("untouched", "unmapped")), -mib)


def test_meta(ran):
    meta = ran.profile().meta
    assert meta["has_memory"] and meta["reads"] > 0 and 0 < meta["own_bytes"] < 20 * MIB


def test_switched_off(script):
    path = script(PROGRAM)
    ended = run_ckernprof(["-l", "--no-memory", path], path.parent)
    profile = ended.profile()
    assert not profile.meta["has_memory"]
    for function in profile.functions.values():
        for name in "rss", "grown", "released", "self_increment", "largest":
            assert not any(function["lines"].get(name, [])), name


# ---- kinds of memory ---------------------------------------------------------------------------

KINDS = '''
import mmap, os
names = "private.bin", "shared.bin"
for name in names:
    with open(name, "wb") as file: file.write(bytes(8 << 20))

def touch(room):
    for at in range(0, len(room), 4096): room[at] = 1

def work():
    block = bytearray(20 << 20)                     # anonymous
    file = os.open("shared.bin", os.O_RDWR)
    room = mmap.mmap(file, 8 << 20); touch(room)    # of a file
    ready, go = os.pipe(), os.pipe()
    child = os.fork()                               # shared from here on
    if child == 0: os.read(go[0], 1); os._exit(0)
    block[:10 << 20] = small                        # copied
    os.write(go[1], b"x"); os.waitpid(child, 0)     # alone again
    del block                                       # gives back
    return file

small = bytes(10 << 20)
work()  # unprofiled: what runs for the first time
profile(work)
work()
'''


# Pages that processes of the same interpreter share become one's own, and shared again, as others end and
# begin. These kinds count that: some hundred kB of it on a busy machine, and megabytes where other processes of the
# interpreter end or begin at that moment.
SHARED_SLACK = {"uss": 3 * MIB, "pss": 3 * MIB}


# MiB by kind: anonymous, of a file, forked, copied, alone again, given back
@pytest.mark.parametrize("kind, expected", [
    ("rss", [20, 8, 0, 0, 0, -20]),
    ("anon", [20, 0, 0, 0, 0, -20]),
    ("uss", [20, 8, None, 10, None, -20]),
    ("pss", [20, 8, None, 5, None, -20]),
])
@tried_again
def test_kinds(script, kind, expected):
    path = script(KINDS)
    ended = run_ckernprof(["-l", "-v", "--memory", kind, path], path.parent, env=STEADY)
    assert (ended.err, ended.code) == ("", 0)
    profile = ended.profile()
    assert profile.meta["memory"] == kind and profile.meta["has_memory"]
    marks = ["anonymous", "of a file", "shared from here on", "copied", "alone again", "gives back"]
    found = [increment(profile.line("work", line_of(path, "# " + mark))) for mark in marks]
    for mark, grown, mib in zip(marks, found, expected):
        steady(mib is None or near(grown, mib, SHARED_SLACK.get(kind, MIB // 2)), mark, found)
    shared, alone = found[2] / MIB, found[4] / MIB
    if kind == "uss":  # what parent and child have is nobody's own
        steady(shared < -17 and alone > 7, found)
    if kind == "pss":  # .. or half of it
        steady(shared < -7 and alone > 2, found)
    said = {
        "rss": "",
        "anon": " Memory is anonymous memory.",
        "uss": " Memory is memory of its own (uss, slow).",
        "pss": " Memory is proportional memory (pss, slow).",
    }
    assert ended.out.endswith(f", which the times above leave out.{said[kind]}\n") and "Mem usage" in ended.out


TREE = """
import subprocess, sys, threading
def start():
    code = "block = bytearray(30 << 20); print(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1)
    child.stdout.readline()
    return child

@profile
def work():
    block = bytearray(40 << 20)         # its own
    child = start()                     # another's
    child.communicate(b"\\n")           # is over
    return block

{before}
work()
"""


@pytest.mark.parametrize("before", [
    "", "threading.Thread(target=threading.Event().wait, daemon=True).start()",
], ids=["alone", "threads"])  # fmt: skip
def test_with_child_processes(script, before):
    path = script(TREE.format(before=before))
    ended = run_ckernprof(["-l", "-v", "--memory=tree", path], path.parent, env=STEADY)
    assert (ended.err, ended.code) == ("", 0)
    profile = ended.profile()
    own, grown, over = (increment(profile.line("work", line_of(path, "# " + mark))) / MIB
                        for mark in ("its own", "another's", "is over"))
    assert abs(own - 40) < 0.5 and grown > 30 and abs(grown + over) < 2, (own, grown, over)
    assert profile.meta["memory"] == "tree"
    assert " Memory is resident memory with that of child processes (slow).\n" in ended.out


@pytest.mark.parametrize("run, kind", [(by_command, "uss"), (by_interface, "pss")])
@tried_again
def test_known_answers_in_the_slow_kinds(tmp_path, run, kind):
    ended = run(tmp_path, kind)
    assert (ended.err, ended.code) == ("", 0)
    profile = ended.profile()
    expected = [("loop", "comes", 100), ("loop", "goes", -100), ("outer", "ten by the call", 10),
                ("keeps", "keeps more", 6), ("task", "of this task", 40),
                ("task", "other tasks run", 0), ("catches_all", "all of it", 30),
                ("suspended", "before the yield", 10), ("drives", "while it is suspended", 30)]
    for name, mark, mib in expected:
        found = profile.line(name, line_of(tmp_path / "program.py", "# " + mark))
        steady(near(increment(found), mib, SHARED_SLACK[kind]), mark, found)


@pytest.mark.parametrize("kind", ["anon", "uss"])
@tried_again
def test_own_memory_is_left_out_of_each(script, kind):
    """100 functions of 1,000 lines get their counters as they begin: no line grows by them."""
    path = script("""
@profile
def calls():
    for function in functions:
        function()    # calls
    return 1
names = [f"f{i}" for i in range(100)]
exec("".join(f"def {name}(a=0):\\n    if a:\\n" + "        b = 1\\n" * 1000 for name in names))
functions = [profile(globals()[name]) for name in names]
calls()
""")
    ended = run_ckernprof(["-l", "--memory", kind, path], path.parent, env=STEADY)
    assert (ended.err, ended.code) == ("", 0)
    profile = ended.profile()
    assert profile.meta["own_bytes"] > 8 * MIB
    calls = profile.line("calls", line_of(path, "# calls"))
    steady(near(calls["grown"], 0, 4 * MIB) and near(calls["released"], 0, 4 * MIB), calls)


def test_kinds_of_the_python_interface(script):
    path = script("""
from clineprof import _core
for memory in "swap", 3, b"rss":
    try: _core.Profiler(memory=memory)
    except ValueError as error: print(error)
""")
    ended = run_python([path], path.parent, env={"PYTHONPATH": str(BUILD / "python")})
    said = "memory is one of 'off', 'rss', 'anon', 'uss', 'pss', 'tree', True or False, not "
    assert ended.out.splitlines() == [said + "'swap'", said + "3", said + "b'rss'"], ended.err


@pytest.mark.once
def test_no_memory_is_read_while_the_costs_of_events_are_measured(tmp_path):
    """It would make the events seem dear. The second profiler measures nothing anew, and opens memory as the first."""
    (tmp_path / "it.py").write_text("""\
import clineprof
def reads():
    with open("/proc/self/io") as file:
        return int(file.read().split("syscr: ")[1].split()[0])
def made(memory):
    before = reads()
    clineprof.Profiler(memory=memory).close()
    return reads() - before
print(made("anon"), made("rss"))
""")
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    first, second = map(int, ended.out.split())
    assert 0 <= first - second < 25  # reads of modules that the first one imports
