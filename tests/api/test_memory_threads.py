# SPDX-License-Identifier: MIT
"""Resident memory by line where there are several threads: what a line shows is its own thread's
doing, and what nobody's line did stands beside them.

Blocks of 20 MiB and more are mapped and unmapped by the allocator (see test_memory.py)."""

import signal
import subprocess

import pytest
from harness import (MIB, SANITIZED, Profile, ckernprof, clean_environment, line_of,
                     run_ckernprof, run_viewer, steady, tried_again)

pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")

STEADY = {"MALLOC_MMAP_THRESHOLD_": "131072"}
HUGE_PAGES = 13 * MIB  # a line that starts a thread has some page faults of its own, and each may have been one of 2 MiB
SLACK = MIB  # page faults of its own for which a waiting line may take another thread's growth


class Ran:
    def __init__(self, script, text, name="program.py", memory="rss"):
        self.path = script(text, name)
        command = ["-l", "--memory", memory, self.path]
        ended = run_ckernprof(command, self.path.parent, env=STEADY)
        assert (ended.err, ended.code) == ("", 0)
        self.profile = ended.profile(name + ".lprof")
        self.meta = self.profile.meta

    def line(self, function, mark):
        return self.profile.line(function, line_of(self.path, "# " + mark))


def near(value, mib, slack=SLACK):
    return abs(value - mib * MIB) <= slack


def changes(measures):
    return measures["grown"] / MIB, measures["released"] / MIB


@pytest.mark.parametrize("memory", ["rss", "anon", "uss", "pss"])
@tried_again
def test_a_waiting_line_is_not_charged(script, memory):
    ran = Ran(script, memory=memory, text='''
import threading
begin, done = threading.Event(), threading.Event()

def grows():
    begin.wait()
    global kept
    kept = bytearray(40 << 20)
    done.set()

@profile
def waits():
    begin.set()
    done.wait()    # waits
    return 1

thread = threading.Thread(target=grows)
thread.start()
waits()
thread.join()
''')
    waits = ran.line("waits", "waits")
    steady(near(waits["grown"], 0) and near(waits["released"], 0))
    steady(near(waits["self_increment"], 0))
    steady(near(ran.meta["others_grown"], 40) and near(ran.meta["others_released"], 0))


@tried_again
def test_who_reads_first_does_not_matter(script):
    """The waiting thread sees the growth before the line that made it ends; that claims it later."""
    ran = Ran(script, '''
import threading
done, go = threading.Event(), threading.Event()

@profile
def grows():
    global kept
    kept = bytearray(40 << 20); done.set(); go.wait()    # takes
    return 1

@profile
def waits():
    done.wait()    # waits
    go.set()
    return 1

thread = threading.Thread(target=grows)
thread.start()
waits()
thread.join()
''')
    steady(near(ran.line("grows", "takes")["grown"], 40))
    steady(near(ran.line("waits", "waits")["grown"], 0))
    steady(near(ran.meta["others_grown"], 0))


@tried_again
def test_what_others_take_and_give_back(script):
    """Five times 40 MiB come and go in a thread that is not looked at, while a line waits."""
    ran = Ran(script, '''
import threading
turn = [threading.Event() for _ in range(20)]

def works():
    for i in range(0, 20, 4):
        turn[i].wait(); block = bytearray(40 << 20); turn[i + 1].set()
        turn[i + 2].wait(); del block; turn[i + 3].set()

@profile
def waits():
    for i in range(0, 20, 2):
        turn[i].set()
        turn[i + 1].wait()    # waits
    return 1

thread = threading.Thread(target=works)
thread.start()
waits()
thread.join()
''')
    waits = ran.line("waits", "waits")
    steady(near(waits["grown"], 0, 2 * MIB) and near(waits["released"], 0), changes(waits))
    steady(near(ran.meta["others_grown"], 200, 2 * MIB), ran.meta)
    steady(near(ran.meta["others_released"], 200, 2 * MIB), ran.meta)


@pytest.mark.parametrize("memory", ["rss", "anon", "uss", "pss"])
@tried_again
def test_three_threads_at_once(script, memory):
    ran = Ran(script, memory=memory, text='''
import threading
together = threading.Barrier(3)
kept = []

@profile
def grows():
    for _ in range(10):
        together.wait()
        kept.append(bytearray(4 << 20))    # takes
    return 1

threads = [threading.Thread(target=grows) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
''')
    takes = ran.line("grows", "takes")
    assert takes["hits"] == 30
    steady(near(takes["grown"], 3 * 10 * 4, 4 * MIB), changes(takes))
    steady(near(takes["released"], 0, 2 * MIB))
    steady(near(ran.meta["others_grown"], 0, 4 * MIB), ran.meta)


IDLE = '''
import threading
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range({count})]
for thread in threads: thread.start()
'''

ALONE = '''
@profile
def simple():
    for _ in range(5):
        block = bytearray(20 << 20)    # takes
        del block                      # gives back
    return 1
simple()
end.set()
'''


@pytest.mark.parametrize("count", [1, 50])
@tried_again
def test_idle_threads_change_nothing(script, count):
    ran = Ran(script, IDLE.format(count=count) + ALONE)
    takes, gives = ran.line("simple", "takes"), ran.line("simple", "gives back")
    steady(near(takes["grown"], 100) and near(takes["released"], 0))
    steady(near(gives["released"], 100) and near(gives["grown"], 0))
    steady(near(takes["largest"], 20) and near(gives["largest"], -20))
    # fifty threads that begin take something themselves
    steady(near(ran.meta["others_grown"], 0, 4 * MIB) and near(ran.meta["others_released"], 0))


@tried_again
def test_beside_a_busy_thread(script):
    """Both want the interpreter all the time, so nearly every line waits for it now and then."""
    ran = Ran(script, '''
import sys, threading
ended = []
def busy():
    while not ended: sum(range(1000))
sys.setswitchinterval(1e-4)
thread = threading.Thread(target=busy)
thread.start()

@profile
def simple():
    for _ in range(20):
        block = bytearray(20 << 20)    # takes
        del block                      # gives back
    return 1
simple()
ended.append(1)
''')
    takes, gives = ran.line("simple", "takes"), ran.line("simple", "gives back")
    steady(near(takes["grown"], 400, 4 * MIB), changes(takes))
    steady(near(gives["released"], 400, 4 * MIB), changes(gives))
    steady(near(ran.meta["others_released"], 0, 4 * MIB))


@tried_again
def test_freed_by_another_thread(script):
    ran = Ran(script, '''
import threading
held, freed = threading.Event(), threading.Event()
box = []

@profile
def takes():
    box.append(bytearray(40 << 20))    # takes
    held.set()
    freed.wait()                       # waits
    return 1

@profile
def frees():
    held.wait()
    box.clear()                        # gives back
    freed.set()
    return 1

thread = threading.Thread(target=frees)
thread.start()
takes()
thread.join()
''')
    steady(near(ran.line("takes", "takes")["grown"], 40))
    steady(near(ran.line("frees", "gives back")["released"], 40))
    steady(near(ran.line("takes", "waits")["released"], 0))
    steady(near(ran.meta["others_released"], 0))


@tried_again
def test_given_back_by_madvise_in_another_thread(script):
    ran = Ran(script, '''
import mmap, threading, time
begin, done = threading.Event(), threading.Event()
room = mmap.mmap(-1, 40 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
room[:] = bytes(40 << 20)

def gives():
    begin.wait()
    time.sleep(0.05)  # a line that was only kept from running for a moment may take releases
    room.madvise(mmap.MADV_DONTNEED)
    done.set()

@profile
def waits():
    begin.set()
    done.wait()    # waits
    return 1

thread = threading.Thread(target=gives)
thread.start()
waits()
thread.join()
''')
    waits = ran.line("waits", "waits")
    steady(near(waits["released"], 0), changes(waits))
    steady(near(ran.meta["others_released"], 40))


@tried_again
def test_a_thread_that_ends_first(script):
    """What it took is not open for ever: a later line with many page faults and no growth of its own
    does not get it."""
    ran = Ran(script, '''
import mmap, threading

def grows():
    global kept
    kept = bytearray(40 << 20)

@profile
def main():
    thread = threading.Thread(target=grows)
    thread.start()
    thread.join()    # waits
    room = mmap.mmap(-1, 40 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room[:] = zeros; room.madvise(mmap.MADV_DONTNEED)    # comes and goes
    return 1

zeros = bytes(40 << 20)
idle = threading.Event()
threading.Thread(target=idle.wait).start()
main()
idle.set()
''')
    steady(near(ran.line("main", "waits")["grown"], 0))
    steady(near(ran.line("main", "comes and goes")["grown"], 0))
    steady(near(ran.meta["others_grown"], 40, HUGE_PAGES))


HUGE = '''
import mmap, threading
zeros = bytes(64 << 20)
begin, done, go = threading.Event(), threading.Event(), threading.Event()

def huge():
    room = mmap.mmap(-1, 66 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_HUGEPAGE)
    room[:64 << 20] = zeros
    return room

@profile
def grows():
    begin.wait()
    room = huge(); done.set(); go.wait()    # takes
    room.close()                            # gives back
    return 1

@profile
def waits():
    begin.set()
    done.wait()    # waits
    go.set()
    return 1

{start}
'''


@tried_again
def test_huge_pages(script):
    """A page fault for 2 MiB: the thread that had it gets all of them, one that waited none."""
    if not hasattr(__import__("mmap"), "MADV_HUGEPAGE"):
        pytest.skip("no huge pages")
    ran = Ran(script, HUGE.format(start="""
thread = threading.Thread(target=grows)
thread.start()
waits()
thread.join()
"""))
    steady(near(ran.line("grows", "takes")["grown"], 64), ran.meta)
    steady(near(ran.line("grows", "gives back")["released"], 64), ran.meta)
    steady(near(ran.line("waits", "waits")["grown"], 0), ran.meta)
    steady(near(ran.meta["others_grown"], 0) and near(ran.meta["others_released"], 0))


@tried_again
def test_numpy_arrays(script):
    """Large arrays, which ask for huge pages, in a process with idle threads."""
    pytest.importorskip("numpy")
    ran = Ran(script, IDLE.format(count=3) + '''
import numpy
numpy.ones(1 << 20).sum()

@profile
def arrays():
    a = numpy.ones(8 << 20)     # takes
    b = a + 1                   # takes as much
    del a                       # gives back
    return b.sum()
arrays()
end.set()
''')
    steady(near(ran.line("arrays", "takes")["grown"], 64), ran.meta)
    steady(near(ran.line("arrays", "takes as much")["grown"], 64), ran.meta)
    steady(near(ran.line("arrays", "gives back")["released"], 64), ran.meta)
    steady(near(ran.meta["others_grown"], 0, 2 * MIB), ran.meta)


@tried_again
def test_imports_beside_an_idle_thread(script):
    """Pages of files come in by the dozen."""
    text = '''
@profile
def imports():
    import ctypes, decimal, sqlite3, ssl, xml.etree.ElementTree, email.message, http.client    # all
    return 1
imports()
'''
    alone = Ran(script, text)
    beside = Ran(script, IDLE.format(count=1) + text + "end.set()\n", "beside.py")
    expected = alone.line("imports", "all")["grown"] / MIB
    steady(near(beside.line("imports", "all")["grown"], expected, 2 * MIB))
    steady(near(beside.meta["others_grown"], 0))


@tried_again
def test_a_mapped_file_beside_an_idle_thread(script):
    """A page fault brings in as much of a file as lies in memory around it."""
    ran = Ran(script, IDLE.format(count=1) + """
import mmap
with open("file.bin", "wb") as file: file.write(bytes(32 << 20))

@profile
def reads(room):
    total = sum(room[at] for at in range(0, len(room), 4096))    # takes
    room.close()                                                 # gives back
    return total

with open("file.bin", "rb") as file: reads(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
end.set()
""")
    steady(near(ran.line("reads", "takes")["grown"], 32))
    steady(near(ran.line("reads", "gives back")["released"], 32))
    steady(near(ran.meta["others_grown"], 0))


@tried_again
def test_the_profilers_own_page_faults_take_nothing(script):
    """A function of 60,000 lines gets its counters, 5 MiB, while another thread grows. What a thread can have grown by
    is told from its processor time, too."""
    ran = Ran(script, """
import threading
begin, done = threading.Event(), threading.Event()
exec("def long(a=0):\\n    if a:\\n" + "        b = 1\\n" * 60000)
profile(long)

def grows():
    begin.wait()
    global kept
    kept = bytearray(40 << 20)
    done.set()

@profile
def waits():
    long(begin.set()); done.wait()    # waits
    return 1

thread = threading.Thread(target=grows)
thread.start()
waits()
thread.join()
""")
    assert ran.meta["own_bytes"] > 5 * MIB
    # one fault of the line's own may have been one of a huge page; those 5 MiB were some thousand faults
    grown = ran.line("waits", "waits")["grown"]
    others = ran.meta["others_grown"]
    steady(near(grown, 0, 3 * MIB) and near(others, 40, 3 * MIB), grown, others)


@tried_again
def test_fork_in_the_middle(script):
    """Copy-on-write brings page faults without growth; the child writes nothing of its own."""
    ran = Ran(script, IDLE.format(count=1).replace("import threading", "import os, threading, warnings")
              + '''
warnings.simplefilter("ignore")
@profile
def forks():
    block = bytearray(40 << 20)    # takes
    child = os.fork()              # forks
    if child == 0: block[:] = bytes(40 << 20); os._exit(0)
    block[:10 << 20] = small       # copies on write
    os.waitpid(child, 0)           # waits
    del block                      # gives back
    return 1
small = bytes(10 << 20)
forks()
end.set()
''')
    steady(near(ran.line("forks", "takes")["grown"], 40))
    steady(near(ran.line("forks", "copies on write")["grown"], 0))
    steady(near(ran.line("forks", "waits")["grown"], 0))
    steady(near(ran.line("forks", "gives back")["released"], 40))


def test_without_other_threads_nothing_is_theirs(script):
    ran = Ran(script, ALONE.replace("end.set()\n", ""))
    assert (ran.meta["others_grown"], ran.meta["others_released"]) == (0, 0)
    shown = run_viewer(["program.py.lprof"], ran.path.parent).out
    assert "Other threads" not in shown


def test_the_report_says_it(script):
    text = '''
import threading

def grows():
    global kept
    kept = bytearray(40 << 20)

@profile
def waits():
    thread = threading.Thread(target=grows)
    thread.start()
    thread.join()
    return 1
waits()
'''
    ran = Ran(script, text)
    shown = run_viewer(["program.py.lprof"], ran.path.parent).out
    [said] = [row for row in shown.splitlines() if row.startswith("Other threads")]
    grown = f"{ran.meta['others_grown'] / MIB:.3f}"
    assert said == (f"Other threads, while a line ran: grown {grown} MiB, released "
                    f"{ran.meta['others_released'] / MIB:.3f} MiB (no line's).")
    path = ran.path.parent / "first.lprof"
    path.write_bytes((ran.path.parent / "program.py.lprof").read_bytes())
    again = Ran(script, text)
    both = run_viewer(["first.lprof", "program.py.lprof"], ran.path.parent).out
    assert f"grown {(ran.meta['others_grown'] + again.meta['others_grown']) / MIB:.3f} MiB" in both
    assert "Other threads" not in run_viewer(["--no-memory", "program.py.lprof"],
                                             ran.path.parent).out


@pytest.mark.parametrize("ending", ["os.kill(os.getpid(), 9)", "os.execv('/bin/true', ['true'])"])
@tried_again
def test_a_live_file_knows_it(script, ending):
    path = script('''
import os, threading

def grows():
    global kept
    kept = bytearray(40 << 20)

@profile
def waits():
    thread = threading.Thread(target=grows)
    thread.start()
    thread.join()    # waits
    ''' + ending + '''
waits()
''')
    process = subprocess.run([*ckernprof("-l", "--memory", "anon", path)], cwd=path.parent,
                             env=clean_environment(STEADY), capture_output=True, timeout=300)
    assert process.returncode == (-signal.SIGKILL if "kill" in ending else 0), process.stderr
    ended = run_viewer(["recover", "program.py.lprof.live"], path.parent)
    assert ended.code == 0, ended.err
    profile = Profile(path.parent / "program.py.lprof")
    assert profile.meta["memory"] == "anon"
    steady(near(profile.meta["others_grown"], 40, HUGE_PAGES))
    steady(near(profile.line("waits", line_of(path, "# waits"))["grown"], 0))
