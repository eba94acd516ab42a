# SPDX-License-Identifier: MIT
"""What lines allocate, what of it stays alive, and programs that do things with allocators."""

import sys

import heap_truth
import pytest
from harness import TRACER, line_of, run, run_ckernprof

EXACT = ["-l", "--heap", "--heap-interval=1"]
# The other tracers have the interpreter itself make numbers and frames, which lines then allocate.
PROBES = sys.version_info >= (3, 11) and TRACER in (None, "probe") or sys.version_info < (3, 11)

@pytest.fixture
def measured(script):
    """measured(program, mark) gives the measures of the line of f with this mark."""

    def run(text, *options, name="f"):
        path = script(text)
        ended = run_ckernprof([*(options or EXACT), path], path.parent)
        assert ended.code == 0, ended.err
        profile = ended.profile()
        run.ended, run.profile = ended, profile
        return lambda mark, name=name: profile.line(name, line_of(path, mark))

    return run


def test_live_bytes_are_tracemallocs(tmp_path):
    rows = heap_truth.rows(tmp_path)
    assert len(rows) == 26 and sum(row.theirs > 0 for row in rows) == 24
    for row in rows:
        if not row.reused:
            assert row.ours == pytest.approx(row.theirs, rel=0.001), row


def test_objects_kept_for_reuse_stay_with_the_first_line(tmp_path):
    """tracemalloc gives them to the line that takes them again; so these differ by what was reused."""
    reused = {row.what: row for row in heap_truth.rows(tmp_path) if row.reused}
    assert set(reused) == {"small tuples", "floats", "small lists"}
    for row in reused.values():
        assert row.ours == pytest.approx(row.theirs, rel=0.2)
    assert reused["small tuples"].ours < reused["small tuples"].theirs


def test_allocated_is_counted_whenever_memory_is_on(measured):
    of = measured(
        "@profile\ndef f():\n"
        "    for i in range(100): x = bytearray(5000)    # loop\n"
        "    big = bytes(3_000_000)    # big\n"
        "    y = None    # nothing\n"
        "f()\n",
        "-l",
    )
    assert 500_000 <= of("# loop")["allocated"] < 520_000
    assert of("# loop")["blocks"] >= 100
    assert 3_000_000 <= of("# big")["allocated"] < 3_001_000
    assert of("# nothing")["allocated"] < 200 if PROBES else True
    assert of("# big")["live"] == 0, "nobody asked for it"
    assert "heap_interval" not in measured.profile.meta


def test_nothing_is_counted_without_memory(measured):
    of = measured("@profile\ndef f():\n    x = bytes(10000)    # here\nf()\n", "-l", "--no-memory")
    assert of("# here")["allocated"] == of("# here")["blocks"] == 0


def test_where_it_stays_and_where_it_goes(measured):
    """The blocks are larger than all that there was at the interpreter's start."""
    of = measured(
        "kept = []\n@profile\ndef f():\n"
        "    kept.append(bytearray(70_000_000))    # stays\n"
        "    len(bytearray(80_000_000))    # goes at once\n"
        "    later = bytearray(90_000_000)    # goes later\n"
        "    del later    # frees\n"
        "    kept.append(bytearray(10_000_000))    # after the peak\n"
        "f()\n"
    )
    assert 70_000_000 <= of("# stays")["live"] < 70_001_000
    assert of("# stays")["heap_peak"] == of("# stays")["live"]
    assert of("# goes at once")["live"] == 0
    assert 80_000_000 <= of("# goes at once")["freed_in_line"] < 80_001_000
    assert of("# goes later")["live"] == of("# goes later")["freed_in_line"] == 0
    assert 90_000_000 <= of("# goes later")["heap_peak"] < 90_001_000
    assert of("# after the peak")["heap_peak"] < 1000 < of("# after the peak")["live"]
    meta = measured.profile.meta
    assert meta["heap_interval"] == 1 and meta["heap_before"] > 1000
    assert meta["heap_peak"] >= meta["heap_live"] > meta["heap_unselected"] > 0


def test_resizing_changes_the_owner(measured):
    of = measured(
        "@profile\ndef f():\n"
        "    block = bytearray(50_000)    # makes\n"
        "    block.extend(bytes(1_000_000))    # grows\n"
        "    return block\n"
        "kept = f()\n"
    )
    assert of("# makes")["live"] < 200
    assert of("# grows")["live"] > 1_000_000


def test_callees_that_are_not_selected_count_for_the_line(measured):
    of = measured(
        "def helper():\n    return bytearray(40_000)\n"
        "@profile\ndef inner():\n    return bytearray(60_000)    # own\n"
        "@profile\ndef f():\n    a = helper()    # helper's\n    b = inner()    # inner's\n"
        "    return a, b\n"
        "kept = f()\n"
    )
    assert 40_000 <= of("# helper's")["live"] < 41_000
    assert of("# inner's")["live"] < 1000
    assert 60_000 <= of("# own", "inner")["live"] < 61_000


def test_the_estimate_is_close(measured):
    of = measured(
        "kept = []\n@profile\ndef f():\n"
        "    for i in range(100_000): kept.append(bytes(967))    # 100 MB\n"
        "f()\n",
        "-l",
        "--heap",
    )
    assert of("# 100 MB")["live"] == pytest.approx(100_000_000, rel=0.12)  # three standard deviations
    assert of("# 100 MB")["live_blocks"] == pytest.approx(100_000, rel=0.12)


def test_an_interval_beyond_all_memory_chooses_nothing(measured):
    of = measured("kept = []\n@profile\ndef f():\n    kept.append(bytes(9_000_000))    # here\nf()\n",
                  "-l", "--heap", "--heap-interval=1e300")
    assert of("# here")["live"] == 0 and of("# here")["allocated"] > 9_000_000


def test_generators_and_threads(measured):
    of = measured(
        "import threading\n"
        "kept = []\n"
        "@profile\ndef source():\n"
        "    for i in range(10):\n"
        "        kept.append(bytearray(5000))    # generator\n"
        "        yield i\n"
        "@profile\ndef f():\n"
        "    for i in source():\n"
        "        kept.append(bytearray(7000))    # consumer\n"
        "def run():\n"
        "    f()\n"
        "threads = [threading.Thread(target=run) for i in range(8)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "f()\n"
        "kept[:40] = []\n"
    )
    assert of("# generator", "source")["blocks"] >= 180
    both = of("# generator", "source")["live"] + of("# consumer")["live"]
    assert 9 * 120_000 - 40 * 7200 <= both <= 9 * 120_000 - 40 * 4900 + 30_000


HOSTILE = {
    "tracemalloc after": (
        "import tracemalloc\ntracemalloc.start()\nf()\n"
        "assert tracemalloc.get_traced_memory()[0] > 100_000\ntracemalloc.stop()\nf()\n",
        {},
        [],
    ),
    "tracemalloc before": ("f(); f()\n", {"PYTHONTRACEMALLOC": "1"}, []),
    "tracemalloc before, stopped": (
        "f()\nimport tracemalloc\ntracemalloc.stop()\nf()\n",
        {"PYTHONTRACEMALLOC": "1"},
        ["removed the hooks from Python's allocators"],
    ),
    "debug hooks": ("f(); f()\n", {"PYTHONMALLOC": "debug"}, []),
    "malloc": ("f(); f()\n", {"PYTHONMALLOC": "malloc"}, []),
    "other debug hooks": ("f(); f()\n", {"PYTHONMALLOC": "pymalloc_debug"}, []),
    "development mode": ("f(); f()\n", {"PYTHONDEVMODE": "1"}, []),
    "tracemalloc in turns": (
        "import tracemalloc\nfor i in range(2):\n    tracemalloc.start(); f(); tracemalloc.clear_traces()\n"
        "    tracemalloc.stop(); bytearray(5000)\ntracemalloc.start(); tracemalloc.stop()\n",
        {},
        [],
    ),
    "fork": (
        "import os\nf()\npid = os.fork()\nf()\nif pid == 0:\n    f(); os._exit(0)\nos.waitpid(pid, 0)\n",
        {},
        [],
    ),
}


@pytest.mark.parametrize("options", [["-l"], EXACT, ["-l", "--leaks"]])
@pytest.mark.parametrize("what", HOSTILE)
def test_programs_that_change_allocators_keep_working(script, what, options):
    end, environment, said = HOSTILE[what]
    path = script(
        "kept = []\n@profile\ndef f():\n    kept.append(bytearray(200_000))    # here\n"
        "    x = [[i] for i in range(5000)]\n" + end
    )
    ended = run_ckernprof([*options, path], path.parent, env=environment)
    assert ended.code == 0, ended.err
    for text in said:
        assert text in ended.err
    if said:
        return
    assert "hooks" not in ended.err
    here = ended.profile().line("f", line_of(path, "# here"))
    assert 400_000 <= here["allocated"] < 410_000
    if options == EXACT:
        assert 400_000 <= here["live"] < 410_000


ALLOCATOR = """
#include <stddef.h>

struct allocator {
    void *ctx;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

void PyMem_GetAllocator(int domain, struct allocator *allocator);
void PyMem_SetAllocator(int domain, struct allocator *allocator);

static struct allocator next[3];
long asked;

#define NEXT (((struct allocator *)context))
static void *a_malloc(void *context, size_t n) { asked++; return NEXT->malloc(NEXT->ctx, n); }
static void *a_calloc(void *context, size_t k, size_t n) { asked++; return NEXT->calloc(NEXT->ctx, k, n); }
static void *a_realloc(void *context, void *p, size_t n) { return NEXT->realloc(NEXT->ctx, p, n); }
static void a_free(void *context, void *p) { NEXT->free(NEXT->ctx, p); }

void put(void)
{
    for (int i = 0; i < 3; i++) {
        PyMem_GetAllocator(i, &next[i]);
        PyMem_SetAllocator(i, &(struct allocator){&next[i], a_malloc, a_calloc, a_realloc, a_free});
    }
}

void take(void)
{
    for (int i = 0; i < 3; i++)
        PyMem_SetAllocator(i, &next[i]);
}
"""


@pytest.mark.parametrize("end", ["", "library.take()\n"], ids=["for good", "for a while"])
@pytest.mark.parametrize("options", [["-l"], EXACT, ["-l", "--leaks"]])
def test_a_program_with_allocators_of_its_own(script, options, end):
    source = script(ALLOCATOR, "allocator.c")
    built = run(["cc", "-shared", "-fPIC", "-o", "allocator.so", source], source.parent)
    assert built.code == 0, built.err
    path = script(
        "import ctypes\nkept = []\n@profile\ndef f():\n    kept.append(bytearray(200_000))    # here\n"
        "    return [[i] for i in range(5000)]\n"
        "library = ctypes.PyDLL('./allocator.so')\nlibrary.put()\nf()\n" + end + "f()\n"
        "assert ctypes.c_long.in_dll(library, 'asked').value > 100\n"
    )
    ended = run_ckernprof([*options, path], path.parent)
    assert ended.code == 0 and "hooks" not in ended.err, ended.err
    here = ended.profile().line("f", line_of(path, "# here"))
    assert 400_000 <= here["allocated"] < 410_000
    if options == EXACT:
        assert 400_000 <= here["live"] < 410_000


@pytest.mark.skipif(not PROBES, reason="the tracer has the interpreter allocate")
def test_what_the_profiler_allocates_is_nobodys(measured):
    of = measured(
        "@profile\ndef f():\n"
        "    def inner():\n"
        "        a = 1\n" + "        b = a + 1\n" * 500 + "        return b\n"
        "    profile(inner)    # selects\n"
        "    return inner\n"
        "kept = f()\n"
    )
    assert of("profile(inner)")["live"] < 500
