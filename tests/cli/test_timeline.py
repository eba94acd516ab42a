# SPDX-License-Identifier: MIT
"""ckernprof --timeline: memory over time in the profile, and --pdb-mmem: the debugger where memory
exceeds a size."""

import os
import pty
import select
import time

import pytest
from harness import (MIB, SANITIZED, Profile, ckernprof, clean_environment, line_of, run_ckernprof,
                     run_viewer)

pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")

STEADY = {"MALLOC_MMAP_THRESHOLD_": "131072"}
GROWS = """\
import time

@profile
def outer():
    time.sleep(.1)
    inner()
    time.sleep(.15)

@profile
def inner():
    block = bytearray(50 << 20)  # takes
    time.sleep(.1)
    del block  # gives

def quick():
    pass

profile(quick)
for _ in range(1000):
    quick()
outer()
"""


def timeline(ended, name=None):
    return ended.profile(name).raw["timeline"]


def largest(series):
    return max(series["rss"])


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("timeline")
    (folder / "program.py").write_text(GROWS)
    ended = run_ckernprof(["-l", "--timeline", "0.005", "program.py"], folder, env=STEADY)
    assert (ended.err, ended.code) == ("", 0)
    return ended


def test_memory_over_time(ran):
    [series] = timeline(ran)
    meta = ran.profile().meta
    assert series["pid"] == meta["pid"] and 0 <= series["start"] - meta["start"] < 10
    times, sizes = series["time"], series["rss"]
    assert len(times) == len(sizes) > 10 and times == sorted(times)
    assert times[-1] >= 350e6
    high = [at for at, size in zip(times, sizes) if size > min(sizes) + 49 * MIB]
    assert 5 * MIB < sizes[0] < 100 * MIB and largest(series) < sizes[0] + 60 * MIB
    assert high and high[-1] - high[0] > 10e6 and sizes[-1] < sizes[0] + 10 * MIB


def test_stays_in_functions(ran):
    [series] = timeline(ran)
    quick = [mark for mark in series["marks"] if mark["name"] == "quick"]
    assert len(quick) < 10  # a sample may happen to see a short call
    marks = {mark["name"]: mark for mark in series["marks"] if mark not in quick}
    assert set(marks) == {"outer", "inner"} and len(series["marks"]) == 2 + len(quick)
    outer, inner = marks["outer"], marks["inner"]
    assert (outer["level"], inner["level"]) == (0, 1)
    assert outer["line"] == 3 and outer["file"].endswith("program.py")
    assert outer["enter"] < inner["enter"] - 90e6 and inner["leave"] - inner["enter"] > 90e6
    assert outer["enter"] <= inner["enter"] < inner["leave"] <= outer["leave"]
    high = [at for at, size in zip(series["time"], series["rss"]) if size > series["rss"][0] + 25 * MIB]
    assert inner["enter"] <= high[0]


def test_the_sampler_is_on_no_line(ran):
    profile, path = ran.profile(), ran.folder / "program.py"
    takes = profile.line("inner", line_of(path, "# takes"))
    assert abs(takes["grown"] - 50 * MIB) < MIB // 4
    assert abs(profile.line("inner", line_of(path, "# gives"))["released"] - 50 * MIB) < MIB // 4
    plain = run_ckernprof(["-l", "-o", "plain.lprof", "program.py"], ran.folder, env=STEADY)
    without = plain.profile("plain.lprof").line("inner", line_of(path, "# takes"))
    # what it holds (two megabytes) is not in the sizes either
    assert abs(takes["rss"] - without["rss"]) < MIB


def test_without_it_there_is_none(script, tmp_path):
    assert "timeline" not in run_ckernprof(["-l", script("@profile\ndef f(): pass\nf()\n")], tmp_path).profile().raw


def test_the_default_interval(script, tmp_path):
    path = script("import time\n@profile\ndef f():\n    time.sleep(.3)\nf()\n")
    [series] = timeline(run_ckernprof(["-l", "--timeline", path], tmp_path))
    assert len(series["time"]) >= 5


CHILDREN = """\
import subprocess, sys, time

@profile
def start():
    child = subprocess.Popen([sys.executable, "-c", '''
import subprocess, sys
block = bytearray(40 << 20)
subprocess.run([sys.executable, "-c", "import time; b = bytearray(80 << 20); time.sleep(.3)"])
'''])
    print(child.pid)
    child.wait()

start()
"""


@pytest.mark.parametrize("option", ["-C", "--include-children"])
def test_children(script, tmp_path, option):
    ended = run_ckernprof(["-lq", "--timeline", ".002", option, script(CHILDREN)], tmp_path)
    own, *others = timeline(ended)
    assert own["pid"] == ended.profile().meta["pid"] and largest(own) < 40 * MIB
    child = [series for series in others if series["pid"] == int(ended.out)]
    assert len(child) == 1 and 40 * MIB < largest(child[0]) < 80 * MIB
    [grandchild] = [series for series in others if largest(series) > 80 * MIB]
    assert not own["marks"] or own["marks"][0]["name"] == "start"
    assert "marks" not in grandchild and grandchild["start"] == own["start"]


def test_without_the_option_children_are_not_seen(script, tmp_path):
    ended = run_ckernprof(["-lq", "--timeline", ".002", script(CHILDREN)], tmp_path)
    assert len(timeline(ended)) == 1


FORKS = """\
import os, sys, time, warnings

warnings.simplefilter("always")

@profile
def parent():
    for i in range(5):
        pid = os.fork()
        if pid == 0:
            block = bytearray(30 << 20)
            time.sleep(.02)
            os._exit(7)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 7:
            print("a child ended otherwise")
    kept = bytearray(30 << 20)
    time.sleep(.05)
    for i in range(100000):  # the interpreter looks for something to do here
        pass
    time.sleep(.1)

parent()
print(len(os.listdir("/proc/self/task")))
"""


def test_a_fork_does_not_see_the_thread(script, tmp_path):
    ended = run_ckernprof(["-lq", "--timeline", ".001", script(FORKS)], tmp_path)
    assert (ended.err, ended.code, ended.out) == ("", 0, "2\n")  # it runs again behind them
    [series] = timeline(ended)
    assert largest(series) > series["rss"][0] + 29 * MIB


@pytest.mark.parametrize("end, code", [
    ("sys.exit(3)", 3), ("raise KeyError", 1), ("os._exit(4)", 4), ("os.kill(os.getpid(), 15)", -15),
    ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", 0),
])  # fmt: skip
def test_it_is_not_in_the_way_of_the_end(script, tmp_path, end, code):
    path = script(f"import os, sys, threading, time\n@profile\ndef f():\n    {end}\nf()\n")
    ended = run_ckernprof(["-lq", "--timeline", "0.001", "-C", path], tmp_path)
    assert ended.code == code
    if code not in (4, -15):
        assert len(timeline(ended)[0]["time"]) >= 2


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(4)", "os.execv('/bin/true', ['true'])"])
def test_a_killed_run_has_it_in_its_live_file(script, tmp_path, end):
    text = GROWS.replace("import time", "import os, time") + "time.sleep(.05)\n@profile\ndef dies():\n" \
           f"    {end}\ndies()\n"
    ended = run_ckernprof(["-lq", "--timeline", "0.005", script(text)], tmp_path, env=STEADY)
    assert not list(tmp_path.glob("*.lprof")) and ended.err == ""
    assert run_viewer(["recover", "program.py.lprof.live"], tmp_path).code == 0
    profile = Profile(tmp_path / "program.py.lprof")
    [series] = profile.raw["timeline"]
    assert series["pid"] == profile.meta["pid"] and abs(series["start"] - profile.meta["start"]) < 5
    assert series["time"] == sorted(set(series["time"])) and len(series["time"]) > 10
    assert 50 * MIB <= largest(series) - series["rss"][0] < 60 * MIB
    [outer], [inner] = ([mark for mark in series["marks"] if mark["name"] == name]
                        for name in ("outer", "inner"))
    assert outer["enter"] < inner["enter"] < inner["leave"] <= outer["leave"] <= series["time"][-1]


def test_a_running_program_shows_it(script, tmp_path):
    """What -i saves comes from the live file, too."""
    path = script(GROWS + "while not any(open('program.py.lprof', 'rb').read() for _ in '.'"
                  " if os.path.exists('program.py.lprof')): time.sleep(.01)\nos._exit(0)\n")
    path.write_text(path.read_text().replace("import time", "import os, time"))
    run_ckernprof(["-lq", "--timeline", "0.005", "-i", "1", path], tmp_path, env=STEADY)
    [series] = Profile(tmp_path / "program.py.lprof").raw["timeline"]
    assert len(series["time"]) > 10


def test_a_program_that_becomes_another(script, tmp_path):
    path = script("import os\n@profile\ndef f():\n    os.execv('/bin/echo', ['echo', 'it'])\nf()\n")
    ended = run_ckernprof(["-lq", "--timeline", "0.001", path], tmp_path)
    assert (ended.out, ended.code) == ("it\n", 0)


def test_threads_and_generators(script, tmp_path):
    path = script("""\
import threading, time

@profile
def numbers():
    for i in range(3):
        time.sleep(.05)
        yield i

@profile
def worker():
    for i in numbers():
        time.sleep(.02)

threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    [series] = timeline(run_ckernprof(["-l", "--timeline", ".002", path], tmp_path))
    names = [mark["name"] for mark in series["marks"]]
    assert names.count("worker") == 3 and names.count("numbers") >= 3


def test_without_l_it_says_so(script, tmp_path):
    ended = run_ckernprof(["--timeline", "1", "--pdb-mmem", "5", script("1\n")], tmp_path)
    assert "without -l these options have no effect: --timeline --pdb-mmem" in ended.err
    assert ended.code == 0


@pytest.mark.once
@pytest.mark.parametrize("words, said", [
    (["--timeline=-1"], "option '--timeline' needs a number of seconds, 0 or more, not '-1'"),
    (["--timeline=x"], "option '--timeline' needs a number of seconds, 0 or more, not 'x'"),
    (["--pdb-mmem", "-1"], "option '--pdb-mmem' needs a number above 0, such as 1e-3, not '-1'"),
    (["-l", "--no-memory", "--pdb-mmem", "5"], "--pdb-mmem reads memory with every line"),
])  # fmt: skip
def test_wrong_values(script, tmp_path, words, said):
    ended = run_ckernprof([*words, script("1\n")], tmp_path)
    assert ended.code == 2 and said in ended.err and ended.err.count("\n") == 1


# ---- --pdb-mmem ----

CROSSES = """\
@profile
def f(mib):
    x = 1
    block = bytearray(mib << 20)  # crosses
    y = 2
    z = 3
    return len(block)

def work():
    print(f(10), f(100), f(120))
    print("the end")

work()
"""


def at_terminal(command, folder, answers, seconds=300):
    """(output, exit status): each answer is given to a prompt of pdb."""
    try:
        pid, terminal = pty.fork()
    except OSError as error:
        pytest.skip(f"no terminals here: {error}")
    if pid == 0:
        os.chdir(folder)
        os.execve(command[0], [str(word) for word in command], clean_environment({**STEADY, "TERM": "dumb"}))
    out, start, answers = b"", 0, list(answers)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        out += piece
        while answers and b"(Pdb) " in out[start:]:
            start = out.index(b"(Pdb) ", start) + 6
            os.write(terminal, answers.pop(0).encode() + b"\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return out.decode().replace("\r", ""), os.waitstatus_to_exitcode(status)


@pytest.fixture
def crossing(script):
    return script(CROSSES)


def stopped(path, folder, *answers, limit="80"):
    return at_terminal([*ckernprof("-l", "--pdb-mmem", limit), path], folder, answers)


def test_pdb_stops_behind_the_line(crossing, tmp_path):
    out, code = stopped(crossing, tmp_path, "p mib, x, len(block)", "w", "c")
    crossed = line_of(crossing, "# crosses")
    assert f"more than --pdb-mmem allows, since {crossing}:{crossed}, in f\n" in out
    assert f"> {crossing}({crossed + 1})f()\n-> y = 2\n" in out
    assert "(100, 1, 104857600)" in out and "-> print(f(10), f(100), f(120))" in out
    assert "10485760 104857600 125829120\nthe end\n" in out and code == 0
    assert out.count("-> y = 2") <= 2  # once: w shows it again


def test_pdb_steps_and_goes_on(crossing, tmp_path):
    out, code = stopped(crossing, tmp_path, "n", "n", "b 11", "c", "c")
    assert "-> z = 3" in out and "-> return len(block)" in out
    assert '-> print("the end")' in out and out.count("the end") == 2 and code == 0
    hits = Profile.measure(Profile(tmp_path / "program.py.lprof").function("f"), "hits")
    assert set(hits.values()) == {3}  # stepping takes none away


def test_pdb_calls_a_selected_function(crossing, tmp_path):
    began = time.monotonic_ns()
    out, code = stopped(crossing, tmp_path, "f(1)", "import time; time.sleep(1.5)", "c")
    left = time.monotonic_ns() - began - 1.5e9
    assert "\n1048576\n" in out and "the end" in out and code == 0
    profile = Profile(tmp_path / "program.py.lprof")
    function = profile.function("f")
    assert function["total"] < left and max(function["lines"]["time"]) < left  # the prompt's is nobody's


def test_pdb_quits(crossing, tmp_path):
    out, code = stopped(crossing, tmp_path, "q", "y")
    assert "BdbQuit" in out and "the end" not in out and code == 1
    assert (tmp_path / "program.py.lprof").exists()


def test_memory_that_is_there_already(crossing, tmp_path):
    out, code = stopped(crossing, tmp_path, "c", limit="1")
    assert "MiB are resident, more than --pdb-mmem allows, " in out and code == 0
    assert "> " in out and "the end" in out


def test_pdb_in_a_thread(script, tmp_path):
    path = script(CROSSES.replace("\nwork()\n", """
import threading
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""))
    out, code = stopped(path, tmp_path, "p mib", "c")
    assert "\n100\n" in out and "the end" in out and code == 0


def test_without_a_terminal_it_goes_on(crossing, tmp_path):
    ended = run_ckernprof(["-lq", "--pdb-mmem", "80", crossing], tmp_path, env=STEADY)
    [line] = ended.err.splitlines()
    assert line.startswith("ckernprof: ") and line.endswith(
        f" MiB are resident, more than --pdb-mmem allows, since {crossing}:4, in f; pdb needs a "
        "terminal, so the program goes on")
    assert ended.out.endswith("the end\n") and ended.code == 0


def test_below_the_size_nothing_happens(crossing, tmp_path):
    ended = run_ckernprof(["-lq", "--pdb-mmem", "800", crossing], tmp_path, env=STEADY)
    assert (ended.err, ended.code) == ("", 0)
