# SPDX-License-Identifier: MIT
"""--heap=native: what C code asks of malloc and mmap belongs to lines, and the program does not
notice."""

import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

import pytest
from harness import (
    BUILD, CKERNPROF, MIB, SANITIZED, ckernprof, line_of, run, run_ckernprof, run_python,
)  # fmt: skip

LIBRARY = BUILD / "python/clineprof/libclineprof_native.so"

pytestmark = [
    pytest.mark.skipif(SANITIZED, reason="a sanitizer has malloc for itself"),
    pytest.mark.skipif(re.search("[ :]", str(LIBRARY)) is not None,
                       reason="no library is preloaded from a path with a space or a colon"),
]
EXACT = ("--heap=native", "--heap-interval=1")

C = """
import ctypes
C = ctypes.CDLL(None)
for name in "malloc calloc realloc reallocarray aligned_alloc memalign valloc mmap mremap".split():
    getattr(C, name).restype = ctypes.c_void_p
P, Z = ctypes.c_void_p, ctypes.c_size_t
C.malloc.argtypes = C.valloc.argtypes = [Z]
C.calloc.argtypes = C.aligned_alloc.argtypes = C.memalign.argtypes = [Z, Z]
C.realloc.argtypes = C.munmap.argtypes = [P, Z]
C.reallocarray.argtypes = C.posix_memalign.argtypes = [P, Z, Z]
C.free.argtypes = [P]
C.mmap.argtypes = [P, Z, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
C.mremap.argtypes = [P, Z, Z, ctypes.c_int]
"""


def profiled(script, text, *options, **more):
    path = script(C + text)
    return run_ckernprof(["-l", *(options or EXACT), path], path.parent, **more), path


def lines_of(ended, path, name="f"):
    assert ended.code == 0 and ended.err == "", ended.err
    profile = ended.profile()
    return lambda mark: profile.line(name, line_of(path, mark))


# ---- what is counted ---------------------------------------------------------------------------

EACH = """
@profile
def f():
    out = P()
    a = C.malloc(1_000_000)             # malloc
    b = C.calloc(1000, 2_000)           # calloc
    c = C.realloc(None, 3_000_000)      # made by realloc
    c = C.realloc(c, 4_000_000)         # resized
    d = C.reallocarray(None, 10, 1000)  # reallocarray
    e = C.aligned_alloc(64, 500_032)    # aligned_alloc
    r = C.posix_memalign(ctypes.addressof(out), 64, 600_000)  # posix_memalign
    g = C.memalign(64, 700_000)         # memalign
    h = C.valloc(800_000)               # valloc
    n = C.malloc(1 << 62)               # too much
    C.reallocarray(None, 1 << 60, 1 << 60)  # more than there is
    %s

f()
"""
SIZES = {
    "# malloc": 1_000_000, "# calloc": 2_000_000, "# made by realloc": 3_000_000,
    "# resized": 4_000_000, "# reallocarray": 10_000, "# aligned_alloc": 500_032,
    "# posix_memalign": 600_000, "# memalign": 700_000, "# valloc": 800_000, "# too much": 0,
    "# more than there is": 0,
}  # fmt: skip


def test_each_of_the_functions(script):
    ended, path = profiled(script, EACH % "return a, b, c, d, e, g, h")
    of = lines_of(ended, path)
    for mark, size in SIZES.items():
        kept = 0 if mark == "# made by realloc" else size
        assert (of(mark)["native"], of(mark)["native_blocks"]) == (size, size != 0), mark
        assert 0 <= of(mark)["live"] - kept < 4000, mark  # Python's own objects are in it, too
        assert of(mark)["allocated"] < 4000, mark
    assert ended.profile().meta["heap_native"] == 1


def test_what_is_freed_is_gone(script):
    free = "for p in (a, b, C.realloc(c, 1), d, e, out, g, h, None):\n        C.free(p)"
    ended, path = profiled(script, EACH % free)
    of = lines_of(ended, path)
    for mark, size in SIZES.items():
        assert of(mark)["native"] == size and of(mark)["live"] < 4000, mark
        assert of(mark)["heap_peak"] >= (0 if mark == "# made by realloc" else size), mark


def test_freed_by_the_line_itself(script):
    ended, path = profiled(script, "@profile\ndef f():\n    C.free(C.malloc(500_000))  # here\nf()\n")
    here = lines_of(ended, path)("# here")
    assert here["native"] == 500_000 <= here["freed_in_line"] and here["live"] < 4000


def test_a_resized_block_may_vanish(script):
    """realloc(p, 0) frees in this C library, or gives an empty block."""
    text = "@profile\ndef f():\n    p = C.malloc(500_000)  # made\n    p = C.realloc(p, 0)\nf()\n"
    ended, path = profiled(script, text)
    assert lines_of(ended, path)("# made")["live"] < 4000


def test_mappings(script):
    ended, path = profiled(script, """
@profile
def f():
    k = C.mmap(None, 16 << 20, 3, 0x22, -1, 0)   # cut
    C.munmap(k, 1 << 20)
    C.munmap(k + (2 << 20), 1)
    C.munmap(k + (15 << 20), 1 << 20)
    C.mmap(None, 16 << 20, 0, 0x22, -1, 0)       # addresses
    C.mmap(None, 16 << 20, 3, 0x4022, -1, 0)     # not reserved
    m = C.mmap(None, 1 << 20, 3, 0x22, -1, 0)    # moves
    m = C.mremap(m, 1 << 20, 4 << 20, 1)         # moved
    o = C.mmap(None, 2 << 20, 3, 0x22, -1, 0)    # covered
    C.mmap(o, 1 << 20, 0, 0x32, -1, 0)
    C.munmap(C.mmap(None, 2 << 20, 3, 0x22, -1, 0), 2 << 20)  # goes
    t = open(__file__)
    C.mmap(None, 1 << 20, 3, 2, t.fileno(), 0)   # file
f()
""")
    of = lines_of(ended, path)
    page = os.sysconf("SC_PAGE_SIZE")

    def sizes(mark):
        native, live = of(mark)["native"], of(mark)["live"]
        return native, live - live % page

    assert sizes("# cut") == (16 * MIB, 14 * MIB - page)
    assert sizes("# addresses") == sizes("# not reserved") == sizes("# file") == (0, 0)
    assert sizes("# moves") == (MIB, 0) and sizes("# moved") == (4 * MIB, 4 * MIB)
    assert sizes("# covered") == (2 * MIB, MIB)
    assert sizes("# goes") == (2 * MIB, 0)


def test_samples_are_unbiased(script):
    ended, path = profiled(script, """
@profile
def f():
    for i in range(20_000):
        C.malloc(5_000)             # kept
f()
""", "--heap=native")
    kept = lines_of(ended, path)("# kept")
    assert 80_000_000 < kept["native"] < 120_000_000
    assert 15_000 < kept["native_blocks"] < 25_000 and abs(kept["live"] - kept["native"]) < 5_000_000


def test_what_python_asks_for_is_counted_once(script):
    """Large objects, and pymalloc's arenas, come from malloc and mmap."""
    ended, path = profiled(script, """
KEPT = []
@profile
def f():
    KEPT.append(bytes(10_000_000))                   # large
    KEPT.append([object() for i in range(500_000)])  # small

f()
""")
    of = lines_of(ended, path)
    for mark in "# large", "# small":
        assert of(mark)["native"] == 0 and of(mark)["live"] <= of(mark)["allocated"], mark
    assert 10_000_000 <= of("# large")["live"] < 10_100_000


def test_what_python_asks_for_outside_of_lines_is_counted_once(script):
    text = """
import threading
def fill():
    global large, small, resized
    large = bytes(30_000_000)
    small = [object() for i in range(1_000_000)]
    resized = bytearray(1000)
    for size in 10_000_000, 20_000_000:
        resized.extend(bytes(10_000_000))
@profile
def f():
    pass
for run in fill, f:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
"""
    sizes = []
    for option in "--heap=native", "--heap":
        ended, path = profiled(script, text, option, "--heap-interval=1")
        lines_of(ended, path)
        sizes.append(ended.profile().meta["heap_unselected"])
    assert 0 <= sizes[0] - sizes[1] < 3_000_000, sizes  # what C code of the interpreter has besides


def test_samples_of_what_python_resizes_are_taken_once(script):
    """Twice the chance would be half as much again."""
    ended, path = profiled(script, """
import threading
def fill():
    global kept
    kept = [bytearray(100) for i in range(2000)]
    for each in kept:
        each.extend(bytes(49_000))
    print(sum(each.__alloc__() for each in kept))
@profile
def f():
    pass
for run in fill, f:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
""", "--heap=native")
    lines_of(ended, path)
    assert 0.8 < ended.profile().meta["heap_unselected"] / int(ended.out.split()[0]) < 1.25


@pytest.mark.parametrize("allocator", ["malloc", "malloc_debug", "pymalloc_debug"])
@pytest.mark.once
def test_other_allocators_of_python_are_counted_once(script, allocator):
    text = "@profile\ndef f():\n    return bytes(10_000_000), bytearray(300)  # asks\nx = f()\n"
    ended, path = profiled(script, text, env={"PYTHONMALLOC": allocator})
    asks = lines_of(ended, path)("# asks")
    assert asks["native"] == 0 and 10_000_300 <= asks["live"] < 10_004_000


def test_threads_without_python_are_nobodys(script):
    """pthread_create(strdup): a thread that allocates and never sees the interpreter."""
    ended, path = profiled(script, """
text = b"x" * 1_000_000
threads = [ctypes.c_ulong() for i in range(8)]
strdup = ctypes.cast(C.strdup, P)
@profile
def f():
    for t in threads:
        C.pthread_create(ctypes.byref(t), None, strdup, text)
    for t in threads:
        C.pthread_join(t, None)
f()
""")
    lines_of(ended, path)
    profile = ended.profile()
    assert profile.meta["heap_unselected"] >= 8_000_000
    assert "native" not in profile.function("f")["lines"] or (
        sum(profile.function("f")["lines"]["native"]) < 1_000_000)


def test_threads_that_allocate_at_once(script):
    ended, path = profiled(script, """
import threading
@profile
def f():
    for i in range(3000):
        p = C.malloc(100 + i)       # malloc
        p = C.realloc(p, 9000)      # realloc
        C.free(p)

threads = [threading.Thread(target=f) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
""")
    of = lines_of(ended, path)
    assert of("# malloc")["native"] == 4 * sum(range(100, 3100))
    assert of("# realloc")["native"] == 4 * 3000 * 9000
    # what the calls themselves keep is Python's
    assert of("# malloc")["live"] + of("# realloc")["live"] < 20_000


def test_numpy(script):
    pytest.importorskip("numpy")
    ended, path = profiled(script, """
import numpy
@profile
def f():
    a = numpy.ones(12_500_000)      # goes
    b = numpy.zeros(12_500_000)     # stays
    del a
    return b
b = f()
""")
    of = lines_of(ended, path)
    for mark, live in ("# goes", 0), ("# stays", 100_000_000):
        # numpy's own arrays come from malloc, or, since 2.5, from Python's allocators
        asked = of(mark)["native"] + of(mark)["allocated"]
        assert 100_000_000 <= asked < 100_100_000, mark
        assert live <= of(mark)["live"] < live + 100_000, mark
        assert of(mark)["heap_peak"] >= 100_000_000


# ---- leaks -------------------------------------------------------------------------------------

LEAK = """
@profile
def step(i):
    C.free(C.malloc(100_000))       # innocent
    C.malloc(6000)                  # leaks

for i in range(3000):
    step(i)
"""


def leaks_of(ended):
    return [leak["line"] for f in ended.profile().raw["functions"] for leak in f.get("leaks", ())]


@pytest.mark.parametrize("interval", ["1", "65536"])
def test_a_leak_of_c_code_is_found(script, interval):
    options = "--leaks", f"--heap-interval={interval}"
    ended, path = profiled(script, LEAK, "--heap=native", *options, "--fail-on-leak")
    assert leaks_of(ended) == [line_of(path, "# leaks")] and ended.code == 3
    ended, path = profiled(script, LEAK, "--heap", *options, "--fail-on-leak")
    assert leaks_of(ended) == [] and ended.code == 0


def test_the_holder_of_objects_with_memory_of_c_code_is_found(script):
    """No reference leads to the pages of a database. Its connections are small, and each call keeps one."""
    text = """
import sqlite3
KEPT = []

@profile
def connect():
    pages = "create table t (x); insert into t values (zeroblob(200000))"
    KEPT.append(sqlite3.connect(":memory:").executescript(pages).connection)  # leaks

for number in range(60):
    connect()
"""
    ended, path = profiled(script, text, "--heap=native", "--leaks", "--heap-interval=1")
    assert leaks_of(ended) == [line_of(path, "# leaks")]
    [leak] = ended.profile().function("connect")["leaks"]
    assert leak["held_by"] == "__main__.KEPT: list, 60 items" and leak["bytes"] > 50 * 200_000


def test_a_leak_of_arrays_is_found(script):
    pytest.importorskip("numpy")
    text = """
import numpy
KEPT = []
@profile
def step(i):
    a = numpy.ones(20_000)
    KEPT.append(numpy.ones(1000))   # leaks

for i in range(3000):
    step(i)
"""
    ended, path = profiled(script, text, "--heap=native", "--leaks")
    assert leaks_of(ended) == [line_of(path, "# leaks")], ended.err


def test_verdicts_do_not_wait_for_the_lock_that_they_hold(script):
    """What they ask C for would be counted under the same lock: each verdict would cost seconds of processor time."""
    text = """
import threading
@profile
def step():
%s
threading.Thread(target=threading.Event().wait, daemon=True).start()
for i in range(1000):
    step()
""" % ("    C.malloc(6000)\n" * 20)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended, _ = profiled(script, text, "--heap=native", "--leaks", "--heap-interval=1")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert len(leaks_of(ended)) == 20
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15


# ---- the program does not notice ---------------------------------------------------------------

LOOKS = """
import os, posix, subprocess, sys
print({k: v for k, v in posix.environ.items() if k not in (b"_", b"LINES", b"COLUMNS")})
print({k: v for k, v in os.environ.items() if k not in ("_", "LINES", "COLUMNS")})
print(sys.argv, sys.path, sys.flags, sys.executable, sys.orig_argv[:1], sys.stdin.read())
look = "import os; print(os.environ.get('LD_PRELOAD'), 'clineprof' in open('/proc/self/maps').read())"
for child in ([sys.executable, "-c", look], ["sh", "-c", "echo ${LD_PRELOAD-none}"]):
    print(subprocess.run(child, capture_output=True, text=True).stdout)
pid = os.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, "-c", look])
os.waitpid(pid, 0)
sys.exit(7)
"""


@pytest.mark.parametrize("before", [None, "", "libpthread.so.0", "libpthread.so.0:libdl.so.2"])
def test_the_environment_is_the_users(script, before):
    path = script(LOOKS)
    env = {} if before is None else {"LD_PRELOAD": before}
    bare = run_python([path, "a", "b c"], path.parent, env=env, stdin="text")
    ended = run_ckernprof(["-l", "-q", "--heap=native", path, "a", "b c"], path.parent, env=env,
                          stdin="text")
    assert bare.code == ended.code == 7
    ours, theirs = ([line for line in out.splitlines()] for out in (ended.out, bare.out))
    assert ours == theirs
    assert ended.err == bare.err


def test_without_it_nothing_is_preloaded(script):
    text = "print('libclineprof' in open('/proc/self/maps').read())"
    for options, there in ((), False), (("--heap",), False), (("--heap=native",), True):
        ended, path = profiled(script, text, "-l", *options)
        assert ended.out.startswith(str(there)) and ended.code == 0, options


@pytest.mark.parametrize("ending, code", [
    ("import sys; sys.exit(5)", 5), ("raise KeyError(1)", 1), ("import os; os._exit(9)", 9),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15),
    ("import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'raise SystemExit(4)'])", 4),
])
def test_exit_codes(script, ending, code):
    ended, _ = profiled(script, "@profile\ndef f():\n    C.malloc(10)\nf()\n" + ending)
    assert ended.code == code


def test_forks_of_threads(script):
    ended, path = profiled(script, """
import os, subprocess, sys, threading, warnings
warnings.simplefilter("ignore")     # of forks beside threads
@profile
def f(n):
    for i in range(n):
        C.free(C.realloc(C.malloc(100), 9000))   # asks

threads = [threading.Thread(target=f, args=(3000,)) for i in range(3)]
[t.start() for t in threads]
for i in range(10):
    pid = os.fork()
    if pid == 0:
        f(200)
        os._exit(3)
    assert os.waitpid(pid, 0)[1] >> 8 == 3
    assert subprocess.run([sys.executable, "-c", "raise SystemExit(6)"]).returncode == 6
[t.join() for t in threads]
""")
    asks = lines_of(ended, path)("# asks")
    assert asks["native"] == 3 * 3000 * 9100 and asks["hits"] == 9000


def test_other_ways_to_start(script):
    """-m, -c, from standard input, as a module of the interpreter, by a config file."""
    text = C + "@profile\ndef f():\n    C.malloc(300_000)\nf()\n"
    path = script(text)
    folder = path.parent
    (folder / "pyproject.toml").write_text('[tool.clineprof.kernprof]\nheap = "native"\n'
                                           "heap-interval = 1\n")
    ways = [ckernprof("-l", "--no-config", *EXACT, *words) for words in
            (["-m", "program"], ["-c", text], ["-"])]
    ways.append([sys.executable, "-X", "utf8", "-m", "clineprof.kernprof", "-l", "--no-config", *EXACT,
                 "program.py"])
    if sys.version_info >= (3, 11):
        ways.append(ckernprof("-l", "program.py"))
    for way in ways:
        for old in folder.glob("*.lprof"):
            old.unlink()
        ended = run(way, folder, stdin=text, env={"PYTHONPATH": str(BUILD / "python")})
        assert ended.code == 0 and ended.err == "", (way, ended.err)
        assert sum(ended.profile().function("f")["lines"]["native"]) == 300_000, way


def test_warnings_of_config_files_are_told_once(script):
    path = script("@profile\ndef f(): pass\nf()\n")
    ended = run_ckernprof(["-l", "--heap=native", path], path.parent,
                          env={"LINE_PROFILER_RC": "/nowhere"})
    assert ended.code == 0 and ended.err == (
        "ckernprof: cannot read '/nowhere', which LINE_PROFILER_RC names\n")


def test_a_script_that_stands_for_the_interpreter(script, tmp_path):
    """A script runs first, here itself in an interpreter; the next one knows itself by its name."""
    shim = tmp_path / "python3"
    shim.write_text(f"#!{sys.executable}\nimport os, sys\nos.execv({sys.executable!r}, sys.argv)\n")
    shim.chmod(0o755)
    path = script(C + "@profile\ndef f():\n    C.malloc(300_000)\nf()\n")
    ended = run([CKERNPROF, "--python", shim, "-l", *EXACT, path], tmp_path)
    assert ended.code == 0, ended.err
    assert sum(ended.profile().function("f")["lines"]["native"]) == 300_000


# ---- who else is there, and what cannot be -----------------------------------------------------


def library_named(name):
    """Where the linker, or the dynamic linker, has it."""
    asked = [["cc", f"-print-file-name={name}.so"], ["/sbin/ldconfig", "-p"]]
    for command in (line for line in asked if shutil.which(line[0])):
        shown = subprocess.run(command, capture_output=True, text=True).stdout
        match = re.search(rf"(?:^|=> )(/\S*/{name}\S*)", shown, re.MULTILINE)
        if match is not None:
            return os.path.realpath(match.group(1))
    pytest.skip(f"{name} is not installed")


ALLOCATES = "C.malloc(8)\n@profile\ndef f():\n    C.malloc(300_000)  # asks\nf()\n"

# An allocator as small as can be: it gives nothing back. Its smallest blocks begin between others' places,
# as jemalloc's and tcmalloc's do.
ALLOCATOR = """
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
static char *next; static size_t left;
static void *take(size_t asked)
{
    size_t size = (asked + 47) & ~(size_t)15;
    size_t want = size > 1 << 26 ? size : 1 << 26;
    char *mine = __atomic_fetch_add(&next, size, __ATOMIC_RELAXED);
    if (mine == NULL || mine + size > next + left || (left == 0)) {
        mine = mmap(NULL, want, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mine == MAP_FAILED) return NULL;
        next = mine + size; left = 0;
    }
    mine += asked <= 8 ? 24 : 16;
    ((size_t *)mine)[-2] = asked;
    return mine;
}
void *malloc(size_t size) { return take(size); }
void *calloc(size_t n, size_t size) { return take(n * size); }
void free(void *block) { (void)block; }
void *realloc(void *block, size_t size)
{
    void *moved = take(size);
    size_t had = block == NULL ? 0 : ((size_t *)block)[-2];
    if (moved != NULL && block != NULL) memcpy(moved, block, had < size ? had : size);
    return moved;
}
"""


# A dlsym that asks for memory, as older C libraries have.
ASKING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
static char *kept, *late;
void *dlsym(void *restrict handle, const char *restrict name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    static void *(*next)(void *, const char *);
    char *block = calloc(3, 50), *resized = realloc(malloc(20), 300);
    if (block[149] != 0) abort();
    if (kept != NULL && memcmp(kept, "kept", 5) != 0) abort();
    kept = realloc(kept, 40);
    if (kept == NULL || block == NULL || resized == NULL) abort();
    strcpy(kept, "kept");
    for (int i = 0; next == NULL && i < 3; i++)
        *(void **)&next = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    free(late);
    free(resized);
    late = block;
    return next(handle, name);
}
"""


def compiled(folder, name, text):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (folder / "source.c").write_text(text)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", folder / name,
                    folder / "source.c"], check=True)
    return str(folder / name)


@pytest.mark.once
def test_an_allocator_behind_us_is_told_and_counted(script, tmp_path):
    env = {"LD_PRELOAD": compiled(tmp_path, "libown.so", ALLOCATOR)}
    ended, path = profiled(script, ALLOCATES, env=env)
    assert ended.code == 0
    assert ended.err == ("ckernprof: --heap=native: malloc comes from libown.so; what C code allocates with it is "
                         "counted\n")
    assert ended.profile().line("f", line_of(path, "# asks"))["native"] == 300_000
    ended, _ = profiled(script, ALLOCATES, "-q", *EXACT, env=env)
    assert ended.err == ""


@pytest.mark.once
def test_memory_is_asked_for_before_anybody_is_known(script, tmp_path):
    env = {"LD_PRELOAD": compiled(tmp_path, "libasking.so", ASKING)}
    bare = run_python(["-c", "print(1)"], tmp_path, env=env)
    if bare.out != "1\n":
        pytest.skip("this C library has no dlsym that can be stood before")
    ended, path = profiled(script, ALLOCATES, env=env)
    assert lines_of(ended, path)("# asks")["native"] == 300_000


@pytest.mark.parametrize("name", ["libjemalloc", "libtcmalloc"])
@pytest.mark.once
def test_known_allocators(script, name):
    ended, path = profiled(script, ALLOCATES, env={"LD_PRELOAD": library_named(name)})
    assert ended.code == 0 and f"malloc comes from {name}" in ended.err
    assert ended.profile().line("f", line_of(path, "# asks"))["native"] == 300_000


@pytest.mark.once
def test_a_sanitizer_is_told(script):
    env = {"LD_PRELOAD": library_named("libasan"), "ASAN_OPTIONS": "detect_leaks=0"}
    ended, path = profiled(script, ALLOCATES, env=env)
    assert ended.code == 0
    assert re.fullmatch(r"ckernprof: --heap=native: malloc comes from libasan\S+, which is loaded before clineprof's "
                        r"library; what C code allocates with it is not counted\n", ended.err), ended.err
    assert ended.profile().line("f", line_of(path, "# asks"))["native"] == 0


@pytest.mark.once
def test_an_interpreter_that_does_not_load_it(script):
    """The variable is still there when the interpreter has started."""
    ended, path = profiled(script, "print('runs')", env={"CLINEPROF_NATIVE": "/x/library.so"})
    assert ended.code == 2 and ended.out == ""
    assert ended.err.endswith(" did not load /x/library.so: the interpreter is statically linked, has another C "
                              "library or more rights than its user; --heap works without =native\n")
    assert ended.err.startswith("ckernprof: --heap=native: /") and ended.err.count("\n") == 1


def installed(folder):
    """A copy of the build, to be broken."""
    shutil.copytree(BUILD / "python", folder / "python")
    (folder / "bin").mkdir()
    shutil.copy(CKERNPROF, folder / "bin/ckernprof")
    return folder / "bin/ckernprof"


@pytest.mark.once
def test_the_library_is_missing(script, tmp_path):
    copy = installed(tmp_path / "copy")
    (tmp_path / "copy/python/clineprof" / LIBRARY.name).unlink()
    path = script("print('runs')")
    ended = run([copy, "--python", sys.executable, "-l", "--heap=native", path], tmp_path)
    assert ended.code == 2 and ended.out == "" and ended.err == (
        f"ckernprof: --heap=native: {tmp_path}/copy/python/clineprof/{LIBRARY.name}: No such file or "
        "directory; build or install clineprof again\n")


@pytest.mark.parametrize("name", ["a folder", "a:folder"])
@pytest.mark.once
def test_a_path_that_cannot_be_preloaded(script, tmp_path, name):
    copy = installed(tmp_path / name)
    path = script("print('runs')")
    ended = run([copy, "--python", sys.executable, "-l", "--heap=native", path], tmp_path)
    assert ended.code == 2 and ended.out == "" and ended.err == (
        f"ckernprof: --heap=native: '{tmp_path}/{name}/python/clineprof/{LIBRARY.name}' cannot be "
        "preloaded, because its path has a space or a colon; install clineprof elsewhere\n")
    ended = run([copy, "--python", sys.executable, "-l", "--heap", path], tmp_path)
    assert ended.code == 0


@pytest.mark.once
def test_an_interpreter_that_is_gone(script):
    """It cannot be started again."""
    path = script("import sys, clineprof._core as core\nsys.executable = '/nowhere/python3'\n"
                  "core.main('run', ['ckernprof', '-l', '--heap=native', '-c', 'print(1)'])\n")
    ended = run_python([path], path.parent, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 2 and ended.out == "" and ended.err == (
        "ckernprof: --heap=native: cannot start /nowhere/python3 again: No such file or directory\n")


@pytest.mark.parametrize("option, what", [
    ("--heap=java", "'--heap' needs python or native, not 'java'"),
    ("--no-heap=native", "'--no-heap' takes no value"),
])
@pytest.mark.once
def test_bad_values(script, option, what):
    ended, _ = profiled(script, "pass", option)
    assert ended.code == 2 and what in ended.err and ended.err.count("\n") == 1


@pytest.mark.once
def test_heap_is_still_a_switch(script):
    for option, there in ("--heap=yes", True), ("--heap=no", False), ("--heap=python", True):
        ended, _ = profiled(script, "@profile\ndef f(): pass\nf()\n", option)
        meta = ended.profile().meta
        assert ("heap_interval" in meta) == there and "heap_native" not in meta


@pytest.mark.once
def test_the_report_has_columns_of_it(script):
    ended, path = profiled(script, ALLOCATES, "-v", "--columns=native,native-blocks", *EXACT)
    assert "Native Native blocks" in ended.out and "0.286 MiB             1" in ended.out


@pytest.mark.once
def test_the_library_asks_for_little():
    """Nothing of the interpreter, of ours or of other libraries, so that it loads anywhere."""
    shown = subprocess.run(["nm", "-D", "--undefined-only", LIBRARY], capture_output=True, text=True)
    if shown.returncode != 0:
        pytest.skip("no nm")
    asked = {word.split("@")[0] for word in re.findall(r" [Uw] (\S+)", shown.stdout)}
    weak = {name for name in asked if name.startswith("_")}
    assert asked - weak <= {"dlsym", "memcpy", "memmove", "syscall"}
    assert pathlib.Path(LIBRARY).stat().st_size < 200_000
