# SPDX-License-Identifier: MIT
"""Bytes read and written (--io), page faults and context switches (--counters), and the program's own counters
(clineprof.counter) by line. The truth is what the program does, or what the system tells it around what a line does."""
import json
import os
import re
import sys
import textwrap
import time

import clineprof
import msgpack
import pytest
from harness import BUILD, TRACER, ckernprof, clean_environment, run, run_ckernprof, run_viewer, steady, tried_again


def profiled(folder, program, *options):
    (folder / "prog.py").write_text(textwrap.dedent(program))
    ended = run_ckernprof(["-l", *options, "prog.py"], folder)
    assert ended.code == 0 and ended.err == "", ended.err
    return clineprof.load(folder / "prog.py.lprof"), ended.out


def sums(profile, *names):
    """{label of lines: sums of these measures}"""
    found = {}
    for function in profile.functions:
        for line in function.lines:
            label = line.text.partition("# ")[2]
            before = found.get(label, (0,) * len(names))
            found[label] = tuple(sum(pair) for pair in zip(before, (getattr(line, name) for name in names)))
    return found


# ---- bytes

READS = """
    import os, threading
    with open("big", "wb", buffering=0) as file:
        file.write(b"x" * 1_000_000)
    @profile
    def write():
        fd = os.open("out", os.O_WRONLY | os.O_CREAT)
        for _ in range(50):
            os.write(fd, b"y" * 3000)  # write
    @profile
    def read(size):
        fd = os.open("big", os.O_RDONLY)
        total = 0
        while size:
            size -= len(os.read(fd, min(size, 50_000)))  # read
            total += 1
            yield sum(range(3000))  # nothing
    @profile
    def pipe():
        r, w = os.pipe()
        os.write(w, b"z" * 4000)  # into
        os.read(r, 10_000)  # from
    write()
    for _ in read(700_000):
        pass
    pipe()
    threads = [threading.Thread(target=lambda: [None for _ in read(1_000_000)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.parametrize("memory", ["--memory=rss", "--no-memory", "--memory=uss", "--memory=tree"])
def test_bytes_are_exact(tmp_path, memory):
    """The profiler reads files under /proc for memory, for the run queue, and for these numbers: none of it counts."""
    profile, _ = profiled(tmp_path, READS, "--io", "--cpu", memory)
    found = sums(profile, "read", "written")
    assert found["read"] == (700_000 + 3 * 1_000_000, 0)
    assert found["write"] == (0, 50 * 3000)
    assert found["into"] == (0, 4000) and found["from"] == (4000, 0)
    assert found["nothing"] == (0, 0) and found[""] == (0, 0)


def test_reads_of_a_disk(tmp_path):
    """A read from the cache may cost one of a disk as well: a page of the program's own code, if the system has
    dropped it."""
    profile, out = profiled(tmp_path, """
    import os
    def disk():
        with open("/proc/thread-self/io") as file:
            return int(dict(line.split(": ") for line in file)["read_bytes"])
    with open("big", "wb") as file:
        file.write(os.urandom(8_000_000))
        os.fsync(file.fileno())
    fd = os.open("big", os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    @profile
    def main():
        before = disk()  # other
        first = os.read(fd, 8_000_000)  # disk
        after = disk()  # other
        again = os.pread(fd, 8_000_000, 0)  # cache
        last = disk()  # other
        print(after - before, last - after)
    disk()
    main()
    """, "--io")
    truth, code = map(int, out.split()[:2])
    if truth == 0:
        pytest.skip("the files of this folder are not on a disk whose reads the system counts")
    found = sums(profile, "read", "disk_read")
    assert found["disk"] == (8_000_000, truth)
    assert found["cache"] == (8_000_000, code)
    assert code < truth / 2


# ---- faults and switches

COUNTS = """
    import mmap, os, resource, subprocess, sys, time
    def told(label, f, *arguments):
        before = resource.getrusage(resource.RUSAGE_THREAD)
        result = f(*arguments)
        after = resource.getrusage(resource.RUSAGE_THREAD)
        entry = seen.setdefault(label, [0, 0, 0])
        for i, name in enumerate(("ru_minflt", "ru_nvcsw", "ru_nivcsw")):
            entry[i] += getattr(after, name) - getattr(before, name)
    def touch(pages):
        with mmap.mmap(-1, pages * mmap.PAGESIZE) as map:
            map.madvise(mmap.MADV_NOHUGEPAGE)
            for i in range(pages):
                map[i * mmap.PAGESIZE] = 1
    def spin(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
    seen = {}
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    @profile
    def main():
        told("touch", touch, 2000)  # touch
        for _ in range(20):
            told("sleep", time.sleep, 0.001)  # sleep
        told("spin", spin, 0.2)  # spin
    try:
        main()
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    print(__import__("json").dumps(seen))
"""


@pytest.mark.parametrize("loops", ["0", "os.cpu_count() + 1"])
def test_faults_and_switches(tmp_path, loops):
    profile, out = profiled(tmp_path, COUNTS.replace("LOOPS", loops), "--counters", "faults,switches")
    truth, found = json.loads(out.splitlines()[0]), sums(profile, "faults", "switches", "preemptions")
    assert truth["touch"][0] >= 2000 and truth["sleep"][1] >= 20
    assert loops == "0" or truth["spin"][2] >= 5
    for label, (faults, switches, preemptions) in truth.items():
        # the line has what the program's reads do not enclose, and the thread may lose its turn there
        assert faults <= found[label][0] <= faults + 20, (label, found, truth)
        assert switches <= found[label][1] <= switches + 2, (label, found, truth)
        assert preemptions <= found[label][2] <= preemptions + 5, (label, found, truth)


# ---- the program's own counters

OWN = """
    import clineprof
    steps = level = 0
    def read_level():
        return level + 0.4
    clineprof.counter("steps", lambda: steps, EVERY)
    clineprof.counter("level", read_level, unit="cm")
    @profile
    def main():
        global steps, level
        for _ in range(3):
            steps += 5; sum(range(30_000))  # long
            steps += 1  # short
        level = 70; sum(range(30_000))  # up
        level = 50; sum(range(30_000))  # down
    main()
    steps = 1000
"""


def test_each_short_line_counts_where_that_costs_little(tmp_path):
    profile, _ = profiled(tmp_path, OWN.replace(", EVERY", ""))
    found = sums(profile, "counter1", "counter2")
    assert [found[label] for label in ("long", "short", "up", "down")] == [(15, 0), (3, 0), (0, 70), (0, -20)]
    assert sum(changes[0] for changes in found.values()) == 18 and profile.meta["counter1_unread"] == 0


def test_what_cancels_out_is_seen(tmp_path):
    profile, _ = profiled(tmp_path, """
    import clineprof
    queue = []
    clineprof.counter("queued", lambda: len(queue))
    @profile
    def main():
        for _ in range(200):
            queue.append(1)  # in
            x = 1
            queue.pop()  # out
    main()
    """)
    found = sums(profile, "counter1", "counter1_most")
    assert found["in"] == (200, 1) and found["out"] == (-200, 0)


DEAR = """
    import clineprof, time
    n = 0
    def read():
        time.sleep(0.01)
        return n
    clineprof.counter("n", read, unit="pieces")
    @profile
    def main():
        global n
        for _ in range(100):
            n += 1
            n -= 1
        n = 70; time.sleep(0.1)  # long
    main()
"""


def test_a_counter_that_costs_much_is_read_behind_long_lines_and_says_so(tmp_path):
    """A call takes 10 ms. The first eight teach that, and the next short line is not read. The long one is."""
    began = time.monotonic_ns()
    profile, _ = profiled(tmp_path, DEAR)
    wall = time.monotonic_ns() - began
    found = sums(profile, "counter1", "counter1_most")
    assert found["long"][1] == 70 and sum(changes[0] for changes in found.values()) == 70
    assert found["long"][0] >= 69  # the last short line that was read may have had its 1
    unread = profile.meta["counter1_unread"]
    assert 90e6 < unread < wall
    told = run_viewer(["prog.py.lprof"], tmp_path).out
    assert "\nCounter n (pieces): for " in told and "every=0" in told
    page = run_viewer(["--format", "html", "prog.py.lprof"], tmp_path).out
    assert "n (pieces): for " in page


def test_every_0_reads_it_behind_each_line(tmp_path):
    profile, _ = profiled(tmp_path, DEAR.replace("0.01", "0.001").replace('"pieces"', '"pieces", every=0'))
    found = sums(profile, "counter1")
    assert found["long"] == (70,) and profile.meta["counter1_unread"] == 0
    changes = {line.text.strip(): line.counter1 for f in profile.functions for line in f.lines}
    assert (changes["n += 1"], changes["n -= 1"]) == (100, -100)


@tried_again
def test_counters_of_the_program(tmp_path):
    profile, _ = profiled(tmp_path, OWN.replace("EVERY", "every=100e-6"))
    found = sums(profile, "counter1", "counter1_most", "counter2", "counter2_most")
    assert found["up"][2:] == (70, 70) and found["down"][2:] == (-20, 50)
    assert sum(changes[0] for changes in found.values()) == 18
    # a short line is not read, unless it waited for the processor: its changes go to the next long one
    steady(found["short"][0] == 0 and found["up"][0] == 1, found)
    text = run_viewer(["prog.py.lprof"], tmp_path).out
    titles, *rows = [line for line in text.splitlines() if line.startswith(("Line #", "    1"))]
    at = titles.index("level (cm)") + len("level (cm)")
    assert [row[:at].split()[-1] for row in rows if row.endswith(("# up", "# down"))] == ["70", "-20"]
    page = run_viewer(["--format", "html", "prog.py.lprof"], tmp_path).out
    assert "level (cm)" in page and "level (cm) most" in page
    shown = run_viewer(["--columns", "hits,counter2-most", "prog.py.lprof"], tmp_path).out
    assert "level (cm) most" in shown


def test_counters_that_fail(tmp_path):
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
    import clineprof
    calls = []
    def read():
        calls.append(1)
        if len(calls) > 3:
            raise OSError("the meter\\nis gone")
        return 10 * len(calls)
    clineprof.counter("meter", read)
    clineprof.counter("good", lambda: 7 * len(calls))
    @profile
    def main():
        for i in range(6):
            sum(range(30_000))
    try:
        1 / 0
    except ZeroDivisionError:
        main()
    print(len(calls))
    """))
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert ended.code == 0 and ended.out.startswith("4\n")
    assert ended.err == ("ckernprof: counter meter was not read to the end, because its function failed: "
                         "OSError: the meter\\x0ais gone\n")
    found = sums(clineprof.load(tmp_path / "prog.py.lprof"), "counter1", "counter2")
    assert sum(pair[0] for pair in found.values()) == 20  # from 10, when it was made, to 30


@pytest.mark.parametrize("what", [
    "os.kill(os.getpid(), signal.SIGINT)", "os.kill(os.getpid(), signal.SIGUSR1)", "sys.exit()", "hashlib.sha256(data)"])
def test_what_is_raised_within_a_counter_is_the_programs(tmp_path, what):
    """What handlers of signals raise reaches the program, also where the signal comes in the midst of a line, and the
    counter's function is what runs next. The counter goes on."""
    (tmp_path / "prog.py").write_text(textwrap.dedent(f"""
    import clineprof, hashlib, os, signal, sys, threading
    def handle(*_):
        raise TimeoutError
    signal.signal(signal.SIGUSR1, handle)
    calls, data = [], bytes(100_000_000)
    def read():
        calls.append(1)
        if len(calls) == 4:
            {what.replace("hashlib.sha256(data)", "pass")}
            for i in range(1000):
                pass
        return len(calls)
    clineprof.counter("c", read)
    @profile
    def main():
        for i in range(1000):
            sum(range(30_000))
            {what if "data" in what else "pass"}
    if "data" in {what!r}:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    for _ in range(2):
        try:
            main()
        except (KeyboardInterrupt, TimeoutError, SystemExit):
            print("interrupted", len(calls) < 1000)
            what = None
            break
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    profile(lambda: sum(range(30_000)))()
    """))
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "") and ended.out.startswith("interrupted True\n")


@pytest.mark.parametrize("call, error", [
    ("counter('', int)", "ValueError: clineprof: a counter has a name, and every is a number of seconds"),
    ("counter('a\\x1b[31m', int)", "ValueError: clineprof: the name of a counter is printable text, not 'a\\x1b[31m'"),
    ("counter('a' * 50, int)", "ValueError: clineprof: the counter's name and unit are longer than 47 bytes: " + 50 * "a"),
    ("counter('a', int, every=-1)", "ValueError: clineprof: a counter has a name, and every is a number of seconds"),
    ("counter('a', lambda: 1 / 0)", "ZeroDivisionError: division by zero"),
    ("counter('a', lambda: 'x')", "TypeError: 'str' object cannot be interpreted as an integer"),
    ("counter('a', 5)", "TypeError: 'int' object is not callable"),
    ("[counter(name, int) for name in 'abacd'] and counter('e', int)", "ValueError: clineprof: at most 4 counters"),
])
def test_wrong_counters(tmp_path, call, error):
    ended = run([sys.executable, "-c", "from clineprof import counter\n" + call], tmp_path,
                env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 1 and ended.err.splitlines()[-1] == error


def test_a_counter_in_c(tmp_path):
    profile, _ = profiled(tmp_path, """
    import clineprof, ctypes
    libc = ctypes.CDLL(None)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    clineprof.counter("pid", new(ctypes.cast(libc.getpid, ctypes.c_void_p), None, None))
    clineprof.counter("time", libc.getpid)
    @profile
    def main():
        sum(range(30_000))  # long
    main()
    """)
    for counter in 1, 2:
        [(change, most)] = [pair for pair in sums(
            profile, "counter%d" % counter, "counter%d_most" % counter).values() if pair[1]]
        assert change == 0 and most > 1


def test_merging_keeps_counters_apart(tmp_path):
    for name, first, second in ("one", "a", "b"), ("two", "b", "c"):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(f"""
        import clineprof
        x = y = 0
        clineprof.counter("{first}", lambda: x)
        clineprof.counter("{second}", lambda: y)
        @profile
        def {name}():
            global x, y
            x, y = 1, 20; sum(range(30_000))
        {name}()
        """))
        assert run_ckernprof(["-l", f"{name}.py"], tmp_path).code == 0
        made = msgpack.unpackb((tmp_path / f"{name}.py.lprof").read_bytes())
        made["meta"].update({"counter1_unread": 5, "counter2_unread": 7})
        (tmp_path / f"{name}.py.lprof").write_bytes(msgpack.packb(made))
    assert run_viewer(["merge", "-o", "both.lprof", "one.py.lprof", "two.py.lprof"], tmp_path).code == 0
    both = clineprof.load(tmp_path / "both.lprof")
    assert [both.meta.get(f"counter{i}") for i in range(1, 5)] == ["a", "b", "c", None]
    assert [both.meta.get(f"counter{i}_unread", 0) for i in range(1, 5)] == [5, 12, 7, 0]
    values = {f.name: [sum(f[f"counter{i}"]) for i in range(1, 5)] for f in both.functions}
    assert values == {"one": [1, 20, 0, 0], "two": [0, 1, 20, 0]}


# ---- everything

def test_children_and_killed_runs(tmp_path):
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
    import clineprof, os
    n = 0
    clineprof.counter("n", lambda: n)
    @profile
    def child():
        global n
        n = 3; os.read(fd, 100_000)  # child
        sum(range(30_000))  # child
    @profile
    def parent():
        os.read(fd, 200_000)  # parent
        os.kill(os.getpid(), 9)
    with open("big", "wb") as file:
        file.write(b"x" * 300_000)
    fd = os.open("big", os.O_RDONLY)
    if os.fork() == 0:
        child()
        raise SystemExit
    os.wait()
    parent()
    """))
    run_ckernprof(["-l", "--io", "--prof-child-procs", "prog.py"], tmp_path)
    profiles = [clineprof.load(path) for path in tmp_path.glob("*.live")]
    assert len(profiles) == 2 and all(profile.meta["counter1"] == "n" for profile in profiles)
    found = {label: sum for profile in profiles for label, sum in sums(profile, "read", "counter1").items()}
    assert found["child"] == (100_000, 3) and found["parent"][0] == 200_000


def header(text):
    [line] = [line for line in text.splitlines() if line.startswith("Line #")]
    return line.split("  Line Contents")[0].split()


def test_columns_and_what_lacks_them(tmp_path):
    (tmp_path / "prog.py").write_text("@profile\ndef f():\n    return 1\nf()\n")
    whole = run_ckernprof(["-lv", "--no-memory", "--io", "--counters", "switches,faults", "-o", "all.lprof", "prog.py"],
                          tmp_path)
    assert header(whole.out)[-10:] == ["Time", "Read", "Written", "Disk", "read", "Faults", "Major", "faults", "Switches",
                                       "Preemptions"]
    plain = run_ckernprof(["-lv", "--no-memory", "-o", "plain.lprof", "prog.py"], tmp_path)
    assert header(plain.out)[-2:] == ["%", "Time"]
    for name, option in [("read", "--io"), ("faults", "--counters faults"), ("switches", "--counters switches"),
                         ("counter1", "a counter of the program's own, made by clineprof.counter")]:
        refused = run_viewer(["--columns", "time," + name, "plain.lprof"], tmp_path)
        assert refused.err == f"clineprof: --columns: {name} was not measured; that takes a run with {option}\n"
    wrong = run_ckernprof(["--counters", "faults,cache", "prog.py"], tmp_path)
    assert wrong.code == 2 and wrong.err.startswith("ckernprof: option '--counters' takes faults, switches and io, with "
                                                    "commas between them, not 'faults,cache'; ")


def test_comparisons_and_limits(tmp_path):
    for name, size, naps in ("old", 1_000_000, 1), ("new", 5_000_000, 400):
        (tmp_path / "prog.py").write_text(textwrap.dedent(f"""
        import clineprof, os, time
        n = 0
        clineprof.counter("n", lambda: n)
        @profile
        def main():
            global n
            fd = os.open("/dev/zero", os.O_RDONLY)
            for _ in range(20):
                os.read(fd, {size})
            for _ in range({naps}):
                time.sleep(0)
                time.sleep(0.0003)
            n = {size}; sum(range(30_000))
        main()
        """))
        assert run_ckernprof(["-l", "--io", "--cpu", "--counters", "switches", "-o", name + ".lprof", "prog.py"],
                             tmp_path).code == 0
    # each nap is a switch; on a busy machine there may be more, or a nap may be over before it begins
    for measure, change in ("read", r"\+76.294 MiB"), ("switches", r"\+(39\d|[4-9]\d\d)\b"), ("counter1", r"\+4000000"):
        told = run_viewer(["diff", "--measure", measure, "old.lprof", "new.lprof"], tmp_path).out
        assert re.search(change, told), (measure, told)
    broken = run_viewer(["diff", "--measure", "wait", "--fail-on", "read>+10MB,wait>+0", "old.lprof", "new.lprof"], tmp_path)
    assert broken.code == 3 and "breaks read>+10MB" in broken.out and "breaks wait>+0" in broken.out


def test_top_says_what_the_run_does_not_measure(tmp_path):
    (tmp_path / "prog.py").write_text("import os\n@profile\ndef f():\n    os._exit(0)\nf()\n")
    run_ckernprof(["-l", "--no-memory", "--counters", "switches", "prog.py"], tmp_path)
    for measure, takes in [("wait", "--cpu"), ("read", "--io"), ("faults", "--counters faults"),
                           ("mem", "memory, which --no-memory leaves out")]:
        ended = run_viewer(["top", "--measure", "hits,switches," + measure, "prog.py.lprof.live"], tmp_path)
        assert ended.err == f"clineprof: top cannot show {measure}: the run does not measure it; that takes {takes}\n"


def test_what_cannot_be_read_is_said(tmp_path):
    """In a container without /proc/thread-self/io."""
    (tmp_path / "prog.py").write_text("@profile\ndef f():\n    return 1\nf()\n")
    (tmp_path / "empty").write_text("")
    script = 'mount --bind empty "/proc/$$/task/$$/io" && exec "$@"'
    ended = run(["unshare", "-m", "sh", "-c", script, "sh", *ckernprof("-l", "--io", "prog.py")], tmp_path,
                env=clean_environment())
    if "unshare" in ended.err or "mount" in ended.err:
        pytest.skip("needs the right to mount: " + ended.err.strip())
    assert ended.err == "ckernprof: --io: bytes read and written are missing, because '/proc/thread-self/io' cannot be read\n"


def test_what_cannot_be_read_any_more_is_said(tmp_path):
    """The program closes what it has not opened, and then no descriptor is free."""
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
    import os, resource
    @profile
    def f():
        fd = os.open("/dev/zero", os.O_RDONLY)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (fd + 1, hard))
        os.closerange(fd + 1, 1000)
        os.read(fd, 100_000)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    f()
    """))
    ended = run_ckernprof(["-l", "--io", "--no-memory", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, (
        "ckernprof: --io: some bytes read and written are missing or at later lines, because '/proc/thread-self/io' could "
        "not be read: the process has other rights, or no descriptor was free\n"))


def test_the_object_has_them_too(tmp_path):
    with pytest.raises(ValueError, match="counters are names of 'io', 'faults' and 'switches'.*, not 'cache'"):
        clineprof.Profiler(TRACER, counters="cache")
    profiler = clineprof.Profiler(TRACER, memory=False, counters="io,switches")
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100_000)

    def f(fd):
        return os.read(fd, 90_000)  # reads

    profiler.add_function(f)
    fd = os.open(path, os.O_RDONLY)
    f(fd)
    os.close(fd)
    profiler.stop()
    profile = clineprof.Profile(profiler.snapshot())
    profiler.close()
    assert sums(profile, "read")["reads"] == (90_000,)
    assert "disk_read_bytes" in profile.columns() and "faults" not in profile.columns()


def test_a_counter_that_comes_late(tmp_path):
    """The profiler has counted before, and keeps what it has counted while it was stopped."""
    (tmp_path / "prog.py").write_text(textwrap.dedent(f"""
    import clineprof
    n = 0
    def f():
        global n
        n += 1; sum(range(30_000))
    profiler, other = clineprof.Profiler({TRACER!r}), clineprof.Profiler({TRACER!r})
    profiler.add_function(f)
    other.add_function(f)  # goes on counting, so that the first one must keep its numbers apart
    for _ in range(3):
        f()
    profiler.stop()
    f()
    clineprof.counter("n", lambda: n)
    for _ in range(2):
        f()
        profiler.start()
        f()
        profiler.stop()
    [function] = clineprof.Profile(profiler.snapshot()).functions
    print(function["hits"], function["counter1"], function["counter1_most"])
    """))
    ended = run([sys.executable, "prog.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == ("[5] [2] [8]\n", "")
