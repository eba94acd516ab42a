# SPDX-License-Identifier: MIT
"""Ranges of NVTX (--nvtx), as a tool's library sees them: a real one, which NVTX_INJECTION64_PATH names, and which
writes down each range that begins and ends."""

import shutil
import subprocess
import sys

import pytest
from harness import BUILD, TRACER, complaints, own_messages_removed, run_ckernprof, run_python

WITH_PROBES = sys.version_info >= (3, 11) and TRACER in (None, "auto", "probe")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler for the tool's library")

TOOL = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*function)(void);
struct range {
    uint16_t version, size;
    uint32_t category, color_type, color, payload_type, reserved;
    uint64_t payload;
    uint32_t message_type;
    const char *message;
};
struct callbacks {
    size_t size;
    int (*functions)(int module, function ***table, unsigned *count);
};

static void tell(const char *what, const char *domain, const char *name)
{
    char line[500];
    int bytes = snprintf(line, sizeof line, "%d %ld %s %s %s\n", getpid(), syscall(SYS_gettid), what, domain, name);
    FILE *out = fopen(getenv("RANGES"), "a");
    fwrite(line, 1, (size_t)bytes, out);
    fclose(out);
}

static void *create(const char *name) { return strdup(name); }
static int push(void *domain, const struct range *range)
{
    int good = range->version == 3 && range->size == sizeof *range && range->message_type == 1;
    tell(good ? "push" : "bad", domain, range->message);
    return 0;
}
static int pop(void *domain) { tell("pop", domain, ""); return 0; }
static int plain_push(const char *name) { tell("push", "none", name); return 0; }
static int plain_pop(void) { tell("pop", "none", ""); return 0; }

int InitializeInjectionNvtx2(const void *(*table)(uint32_t))
{
    const struct callbacks *callbacks = table(1);
    const char *kind = getenv("TOOL");
    function **core, **domains, **other;
    unsigned count, modules = 0;

    if (strcmp(kind, "refuses") == 0)
        return 0;
    for (int module = 1; module <= 6; module++)
        modules += callbacks->functions(module, &other, &count) && other[0] == NULL && other[count - 1] != NULL;
    if (callbacks->size < sizeof *callbacks || modules != 6 || callbacks->functions(7, &other, &count) != 0 ||
        table(2) != NULL || ((const uint32_t *)table(3))[2] != 3)
        return 0;
    callbacks->functions(1, &core, &count);
    callbacks->functions(5, &domains, &count);
    if (strcmp(kind, "knows no domains") == 0) {
        *core[9] = (function)plain_push;
        *core[11] = (function)plain_pop;
    } else if (strcmp(kind, "knows nothing") != 0) {
        *domains[4] = (function)push;
        *domains[5] = (function)pop;
        *domains[12] = (function)create;
    }
    return 1;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tool")
    (folder / "tool.c").write_text(TOOL)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "tool.so", "tool.c"], cwd=folder, check=True)
    return folder / "tool.so"


@pytest.fixture
def tool(library, tmp_path):
    def environment(kind="listens"):
        return {"NVTX_INJECTION64_PATH": str(library), "RANGES": str(tmp_path / "ranges"), "TOOL": kind}

    return environment


def ranges(folder, domain="clineprof"):
    """What each thread did, in the order in which the threads began: a list of "name" and of "/name" where it ends."""
    threads, open_ones = {}, {}
    for line in (folder / "ranges").read_text().splitlines():
        process, thread, what, of, name = line.split(" ", 4)
        assert what in ("push", "pop", "mark") and of == domain, line
        done, names = threads.setdefault((process, thread), []), open_ones.setdefault((process, thread), [])
        if what == "push":
            names.append(name)
        done.append("/" + names.pop() if what == "pop" else name)
    return list(threads.values()), list(open_ones.values())


def seen(folder, **more):
    """The same, of ranges that all have ended."""
    threads, left_open = ranges(folder, **more)
    assert not any(left_open)
    return threads


def run(folder, text, environment, *options, targets="main.*"):
    (folder / "main.py").write_text(text)
    words = ["-l", "--nvtx", *options, "-p", targets, "main.py"]
    ended, theirs = run_ckernprof(words, folder, env=environment), run_python(["main.py"], folder)
    assert (own_messages_removed(ended.out), ended.code) == (theirs.out, theirs.code), ended.err
    return ended


def flat(*names):
    """Ranges that follow one another: "a b" is a, with b in it."""
    return [step for name in names for step in [*name.split(), *("/" + part for part in reversed(name.split()))]]


FUNCTIONS = """\
def leaf(n):
    return n
def recursive(n):
    if n:
        recursive(n - 1)
    return leaf(n)
def fails(n):
    if n:
        fails(n - 1)
    raise ValueError(n)
class Class:
    def method(self):
        leaf(1), leaf(2)
def main():
    recursive(2)
    try:
        fails(1)
    except ValueError:
        leaf(0)
    Class().method()
main()
"""


def test_functions_are_ranges(tool, tmp_path):
    targets = "main.leaf,main.recursive,main.fails,main.Class.method,main.main"
    ended = run(tmp_path, FUNCTIONS, tool(), targets=targets)
    assert complaints(ended) == []
    assert seen(tmp_path) == [
        ["main", "recursive", "recursive", "recursive", "leaf", "/leaf", "/recursive", "leaf", "/leaf", "/recursive",
         "leaf", "/leaf", "/recursive", "fails", "fails", "/fails", "/fails", "leaf", "/leaf",
         "Class.method", "leaf", "/leaf", "leaf", "/leaf", "/Class.method", "/main"]
    ]  # fmt: skip
    hits = {name: sum(f["lines"].get("hits", [])) for (_, _, name), f in ended.profile().functions.items()}
    assert hits["leaf"] == 6 and hits["fails"] == 4


CLOSES = """
import sys
def steps():
    yield
def trace(frame, event, argument):
    told.append(event)
    return trace
told, body = [], steps()
next(body)
sys.settrace(trace)
body.close()
sys.settrace(None)
print("call" in told)
"""


def close_resumes(folder):
    """Does close() resume a body that nothing would handle an exception in? Up to 3.12 it does. Later releases do so while
    events are on, but not each of them, so the interpreter is asked."""
    if WITH_PROBES:
        return sys.version_info < (3, 13)
    return run_python(["-c", CLOSES], folder).out == "True\n"


def test_a_suspended_body_has_no_range(tool, tmp_path):
    run(tmp_path, """\
import asyncio
def leaf(n):
    return n
def steps(n):
    for i in range(n):
        yield leaf(i)
def outer():
    yield from steps(2)
async def waits(n):
    await asyncio.sleep(0)
    leaf(n)
async def both():
    await asyncio.gather(waits(1), waits(2))
def main():
    for n in outer():
        leaf(n)
    given_up = steps(5)
    next(given_up)
    given_up.close()
    asyncio.run(both())
main()
""", tool(), targets="main.leaf,main.steps,main.outer,main.waits,main.both,main.main")
    step = ["outer", "steps", "leaf", "/leaf", "/steps", "/outer"]
    (done,) = seen(tmp_path)
    assert done == [
        "main", *step, *flat("leaf"), *step, *flat("leaf"), *flat("outer steps"),
        *flat("steps leaf"), *flat("steps" if close_resumes(tmp_path) else ""),
        *flat("both", "waits", "waits", "waits leaf", "waits leaf", "both"), "/main",
    ]  # fmt: skip


def test_blocks_and_threads_are_ranges(tool, tmp_path):
    run(tmp_path, """\
import builtins, threading, contextlib
class Nothing:
    def block(self, name):
        return contextlib.nullcontext()
profile = getattr(builtins, "profile", Nothing())
def leaf(n):
    return n
def main():
    leaf(0)
    with profile.block("first"):
        leaf(1)
        with profile.block("second"):
            leaf(2)
        leaf(3)
    leaf(4)
def outside():
    with profile.block("outside"):
        n = leaf(1)
        n += 1
    leaf(2)
def work():
    for n in range(50):
        leaf(n)
main()
outside()
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
""", tool(), targets="main.leaf,main.main,main.work")
    first, *others = seen(tmp_path)
    assert first == [
        "main", *flat("leaf"), "first", *flat("leaf"), "second", *flat("leaf"), "/second", *flat("leaf"), "/first",
        *flat("leaf"), "/main", "outside", *flat("leaf"), "/outside", *flat("leaf"),
    ]  # fmt: skip
    assert others == [["work", *flat("leaf") * 50, "/work"]] * 3


def test_ranges_balance_when_counting_stops_in_the_middle(tool, tmp_path):
    (tmp_path / "main.py").write_text(f"""\
import os, threading, time
import clineprof
profiler = clineprof.Profiler(tracer={TRACER!r}, nvtx=True, started=False)
entered, stopped = threading.Event(), threading.Event()
def leaf(n):
    return n
def paused():
    leaf(0)
    profiler.pause()
    leaf(1)
    profiler.resume()
    leaf(2)
def stops():
    leaf(0)
    profiler.stop()
    leaf(1)
def waits():
    entered.set()
    stopped.wait()
def caller():
    waits()
    with open(os.environ["RANGES"], "a") as ranges:
        print(os.getpid(), threading.get_native_id(), "mark clineprof behind", file=ranges)
for function in leaf, paused, stops, waits:
    profiler(function)
leaf(9)
profiler.start()
thread = threading.Thread(target=caller)
thread.start()
entered.wait()
paused()
stops()
stopped.set()
thread.join()  # before Python 3.13 this returns while the system's thread still ends, and its range with it
while os.path.exists(f"/proc/self/task/{{thread.native_id}}"):
    time.sleep(0.001)
leaf(9)
profiler.start()
leaf(9)
profiler.close()
leaf(9)
""")
    ended = run_python(["main.py"], tmp_path, env={**tool(), "PYTHONPATH": str(BUILD / "python")})
    assert (ended.err, ended.code) == ("", 0)
    waits, main = seen(tmp_path)
    # other tracers than probe tell nothing of a body once counting has stopped: its range ends with the thread
    assert waits == (["waits", "/waits", "behind"] if WITH_PROBES else ["waits", "behind", "/waits"])
    put_back = ["paused", *flat("leaf"), "/paused"] if sys.version_info >= (3, 11) else flat("leaf")
    assert main == [
        "paused", *flat("leaf"), "/paused",  # while it pauses there are none
        *put_back,  # by its next line; on 3.10 it counts from its next call on
        "stops", *flat("leaf"), "/stops", *flat("leaf"),
    ]  # fmt: skip


def test_a_profiler_without_ranges(tool, tmp_path):
    (tmp_path / "main.py").write_text("def leaf(n):\n    return n\nleaf(1)\n")
    assert run_ckernprof(["-l", "-p", "main.leaf", "main.py"], tmp_path, env=tool()).code == 0
    assert not (tmp_path / "ranges").exists()


def test_ranges_of_greenlets(tool, tmp_path):
    pytest.importorskip("greenlet", reason="greenlet is not here")
    run(tmp_path, """\
import greenlet
def other():
    main.switch()
    leaf(1)
def leaf(n):
    return n
def first():
    leaf(0)
    there.switch()
    leaf(2)
    there.switch()
main = greenlet.getcurrent()
there = greenlet.greenlet(other)
first()
""", tool(), targets="main.leaf,main.first,main.other")
    (done,) = seen(tmp_path)
    assert [step for step in done if "leaf" in step] == flat("leaf") * 3


def test_a_tool_that_knows_no_domains(tool, tmp_path):
    run(tmp_path, "def leaf(n):\n    return n\nleaf(1)\n", tool("knows no domains"), targets="main.leaf")
    assert seen(tmp_path, domain="none") == [flat("leaf")]


LEAF = "def leaf(n):\n    return n\nleaf(1)\n"


@pytest.mark.parametrize("kind, said", [
    ("refuses", "{}: it did not want to listen"),
    ("knows nothing", "{}: it knows no ranges"),
])  # fmt: skip
def test_a_tool_that_does_not_listen(kind, said, tool, library, tmp_path):
    ended = run(tmp_path, LEAF, tool(kind), targets="main.leaf")
    assert complaints(ended) == ["ckernprof: --nvtx: NVTX_INJECTION64_PATH, " + said.format(library)]
    assert sum(ended.profile().function("leaf")["lines"]["hits"]) == 1


def test_no_tool(tmp_path):
    missing = str(tmp_path / "missing.so")
    (said,) = complaints(run(tmp_path, LEAF, {"NVTX_INJECTION64_PATH": missing}, targets="main.leaf"))
    assert said.startswith(f"ckernprof: --nvtx: NVTX_INJECTION64_PATH, {missing}: ") and "No such file" in said
    (said,) = complaints(run(tmp_path, LEAF, {}, targets="main.leaf"))
    assert said.startswith("ckernprof: --nvtx: no tool listens (NVTX_INJECTION64_PATH is not set), so there are no ranges")
    assert complaints(run(tmp_path, LEAF, {}, "-q", targets="main.leaf")) == []


def test_a_fork_begins_with_the_ranges_of_its_parent(tool, tmp_path):
    run(tmp_path, """\
import os
def leaf(n):
    return n
def main():
    process = os.fork()
    leaf(1)
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
main()
""", tool(), targets="main.leaf,main.main")
    lines = [line.split(" ") for line in (tmp_path / "ranges").read_text().splitlines()]
    by_process = {process: [step[2] for step in lines if step[0] == process] for process in {step[0] for step in lines}}
    assert sorted(by_process.values()) == [["push", "pop"], ["push", "push", "pop", "pop"]]
