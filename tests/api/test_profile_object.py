# SPDX-License-Identifier: MIT
"""`from clineprof import profile`, in programs of their own as a user has them."""
import ast
import importlib
import inspect
import os
import re
import sys
import time

import pytest
import stub
from harness import BUILD, ROOT, SANITIZED, TRACER, Profile, run, run_ckernprof, run_python, run_viewer

import clineprof

ENVIRONMENT = {"PYTHONPATH": str(BUILD / "python")}
ON = {**ENVIRONMENT, "CLINEPROF": "1"}
PROGRAM = """\
from clineprof import profile

@profile
def count(n):
    total = 0
    for i in range(n):
        total += i
    return total

count(10)
"""
HITS = {5: 1, 6: 11, 7: 10, 8: 1}


def python(text, folder, *arguments, env=ON, name="it.py"):
    (folder / name).write_text(text)
    return run_python([name, *arguments], folder, env=env)


def hits(folder, name="profile_output.lprof"):
    """{function: {line: hits}}"""
    profile = Profile(folder / name)
    return {
        key[2]: {line: n for line, n in lines.items() if n} for key, lines in profile.hits().items()
    }


def files(folder):
    stamp = re.compile(r"_\d{4}-\d\d-\d\dT\d{6}\.txt$")
    return sorted(stamp.sub("_STAMP.txt", name) for name in os.listdir(folder) if "output" in name)


ALL_FILES = ["profile_output.lprof", "profile_output.txt", "profile_output_STAMP.txt"]

# ---- off ----


@pytest.mark.once
def test_off_it_returns_the_same_object_and_costs_nothing(tmp_path):
    ended = python("""
import sys
before = set(sys.modules)
from clineprof import profile
def f(): return 1
code = f.__code__
class Thing: pass
for thing in f, Thing, 5, None, property(f):
    assert profile(thing) is thing
assert f.__code__ is code
with profile:
    with profile.block("name"):
        x = 1
profile.reset(), profile.checkpoint(), profile.step(), profile.dump("never.lprof"), profile.show()
profile.pause(), profile.resume()
@profile(precision=4)
def marked(): return 1
profile.schedule(wait=1, warmup=1, active=1)
loaded = {name for name in set(sys.modules) - before if name != "clineprof._global.schedule"}
print(sorted(loaded), profile.enabled)
print(profile.snapshot().functions)
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "['clineprof', 'clineprof._global'] False\n[]\n"
    assert os.listdir(tmp_path) == ["it.py"]


@pytest.mark.once
@pytest.mark.parametrize("value", ["", "0", "off", "FALSE", " no ", "f", "n"])
def test_values_that_mean_off(tmp_path, value):
    python(PROGRAM, tmp_path, env={**ENVIRONMENT, "LINE_PROFILE": value, "CLINEPROF": value})
    assert files(tmp_path) == []


# ---- on ----


@pytest.mark.once
@pytest.mark.parametrize(
    "environment, arguments",
    [
        ({"CLINEPROF": "1"}, []),
        ({"LINE_PROFILE": "yes"}, []),
        ({}, ["--line-profile"]),
        ({}, ["x", "--line_profile"]),
    ],
)
def test_what_switches_it_on(tmp_path, environment, arguments):
    ended = python(PROGRAM, tmp_path, *arguments, env={**ENVIRONMENT, **environment})
    assert (ended.code, ended.err) == (0, "")
    assert files(tmp_path) == ALL_FILES and hits(tmp_path) == {"count": HITS}


def test_enable_names_the_files_and_disable_leaves_later_functions_alone(tmp_path):
    ended = python("""
from clineprof import profile
profile.enable(output_prefix="my_output")
@profile
def f():
    return 1
profile.disable()
@profile
def g():
    return 2
f(), g(), f()
profile.enable()
@profile
def h():
    return 3
h()
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "")
    assert files(tmp_path) == [name.replace("profile", "my") for name in ALL_FILES]
    assert hits(tmp_path, "my_output.lprof") == {"f": {6: 2}, "h": {15: 1}}


@pytest.mark.once
@pytest.mark.parametrize("later, live", [("", ["x.lprof.live"]), ("profile.output_prefix = 'a/later/x'\n", [])])
def test_a_folder_that_is_missing_is_made(later, live, tmp_path):
    """.. at once, because the live file lies there; also if the names are changed while lines are counted."""
    first = "profile.enable()\n" if later else "profile.enable(output_prefix='a/later/x')\n"
    ended = python("from clineprof import profile\n" + first + "import os\n" + PROGRAM + later
                   + "print([name for name in os.listdir('a/later') if 'live' in name] if os.path.exists('a') else [])\n",
                   tmp_path, env=ENVIRONMENT)  # fmt: skip
    assert (ended.code, ended.err, ended.out.splitlines()[0]) == (0, "", str(live))
    assert hits(tmp_path, "a/later/x.lprof") == {"count": {line + 3: n for line, n in HITS.items()}}
    assert len(os.listdir(tmp_path / "a/later")) == 3


def test_what_counts_on_behind_disable_can_be_asked_for(tmp_path):
    ended = python("""
from clineprof import profile
profile.enable()
@profile
def f():
    return 1
f()
profile.disable()
print(profile.snapshot().functions[0]["hits"])
profile.dump("x.lprof")
profile.reset()
f(), f()
print(profile.snapshot().functions[0]["hits"])
profile.schedule(wait=1, warmup=0, active=1, repeat=1)
for step in range(4):
    f()
    profile.step()
print(profile.snapshot().functions[0]["hits"])
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "") and ended.out.splitlines()[:3] == ["[1]", "[2]", "[3]"]
    assert hits(tmp_path, "x.lprof") == {"f": {6: 1}} and hits(tmp_path) == {"f": {6: 3}}


def test_under_ckernprof_it_is_the_launchers_profiler(tmp_path):
    text = PROGRAM + "import builtins\nassert profile._profile is builtins.profile\n" \
                     "with profile.block('b'):\n    x = 1\nprofile.show()\nprofile.enable()\n"
    (tmp_path / "it.py").write_text(text)
    ended = run_ckernprof(["-l", "it.py"], tmp_path, env={**ENVIRONMENT, "LINE_PROFILE": "1"})
    assert (ended.code, ended.err) == (0, "")
    assert files(tmp_path) == [] and hits(tmp_path, "it.py.lprof") == {"count": HITS, "b": {14: 1}}


# ---- what is told and written ----

TABLE = """\
Timer unit: 1e-06 s

Total time: # s
File: it.py
Function: count at line 3

Line #      Hits         Time  Per Hit   % Time  Line Contents
==============================================================
     3                                           @profile
     4                                           def count(n):
     5         1 # total = 0
     6        11 # for i in range(n):
     7        10 # total += i
     8         1 # return total

  0.00 seconds - it.py:3 - count
"""


def without_times(text):
    text = re.sub(r"Total time: .*", "Total time: # s", text)
    text = re.sub(r"(?m)^ +\d\.\d\d seconds", "  0.00 seconds", text)
    return re.sub(r"(?m)^( +\d+ +\d+) +[\d.e+-]+ +[\d.e+-]+ +[\d.]+ +", r"\1 # ", text)


@pytest.mark.once
def test_files_are_line_profilers_to_the_character(tmp_path):
    """What line_profiler 5.1 writes for this program, but for the unit, which is one for all."""
    text = PROGRAM + "profile.show_config['memory'] = False\n"
    ended = python(text, tmp_path)
    written = (tmp_path / "profile_output.txt").read_text()
    assert without_times(written) == TABLE
    [stamped] = tmp_path.glob("profile_output_*.txt")
    assert stamped.read_text() == written
    lines = ended.out.splitlines()
    assert without_times("\n".join(lines[:4])).split("\n") == ["Timer unit: 1e-06 s", "", "  0.00 seconds - it.py:3 - count",
                         "Wrote profile results to profile_output.txt"]
    assert re.fullmatch(r"Wrote profile results to profile_output_\d{4}-\d\d-\d\dT\d{6}\.txt", lines[4])
    assert lines[5:7] == ["Wrote profile results to profile_output.lprof", "To view details run:"]
    assert re.fullmatch(rf"{sys.executable} -m clineprof -r?tmz profile_output\.lprof", lines[7])
    shown = run(["sh", "-c", lines[7]], tmp_path, env=ENVIRONMENT)
    assert (shown.code, shown.err) == (0, "") and "Timer unit: 1e-06 s" in shown.out


def test_layout_beside_line_profiler_itself(tmp_path):
    pytest.importorskip("line_profiler")
    theirs = python(PROGRAM.replace("from clineprof", "from line_profiler"), tmp_path,
                    env={"LINE_PROFILE": "1"})
    assert theirs.code == 0
    text = without_times((tmp_path / "profile_output.txt").read_text())
    assert text.replace("1e-09", "1e-06").replace(f"{tmp_path}/", "") == TABLE


@pytest.mark.once
def test_memory_is_in_the_table(tmp_path):
    python(PROGRAM, tmp_path)
    assert "   Mem usage    Increment  Line Contents\n" in (tmp_path / "profile_output.txt").read_text()


@pytest.mark.once
def test_what_is_written_and_shown_can_be_chosen(tmp_path):
    text = PROGRAM + """
profile.write_config.update(text=False, timestamped_text=False, lprof=False)
profile.show_config.update(details=True, summarize=False, rich=False, output_unit=1e-3)
"""
    ended = python(text, tmp_path)
    assert files(tmp_path) == [] and "seconds - " not in ended.out
    assert "Timer unit: 0.001 s" in ended.out and "total += i" in ended.out
    ended = python(text + "profile.write_config['stdout'] = False\n", tmp_path)
    assert ended.out == ""


@pytest.mark.once
def test_the_folder_is_that_in_which_it_began(tmp_path):
    (tmp_path / "sub").mkdir()
    python(PROGRAM + "import os; os.chdir('sub')\n", tmp_path)
    assert files(tmp_path) == ALL_FILES and files(tmp_path / "sub") == []


@pytest.mark.once
def test_a_folder_that_went_away_loses_nothing(tmp_path):
    (tmp_path / "gone").mkdir()
    (tmp_path / "it.py").write_text(PROGRAM + "import shutil; shutil.rmtree('../gone')\n")
    ended = run_python(["../it.py"], tmp_path / "gone", env={**ON, "TMPDIR": str(tmp_path)})
    assert ended.code == 0
    complaint = "clineprof: cannot write 'profile_output.lprof': No such file or directory"
    assert complaint in ended.err.splitlines()
    [path] = re.findall(r"Wrote profile results to (.*\.lprof)", ended.out)
    assert path.startswith(f"{tmp_path}/clineprof-") and clineprof.load(path).functions


@pytest.mark.once
def test_where_nothing_can_be_written_no_part_of_a_file_is_left(tmp_path):
    (tmp_path / "temporary").mkdir()
    ended = python(PROGRAM + "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n", tmp_path,
                   env={**ON, "TMPDIR": str(tmp_path / "temporary")})
    complaint = "clineprof: cannot write to the temporary folder either: File too large\n"
    assert ended.code == 0 and ended.err.count(complaint) == 3
    assert "what was recorded is in" in ended.err and files(tmp_path) == ["profile_output.lprof.live"]
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.once
def test_a_fork_behind_the_end_of_what_cannot_be_written(tmp_path):
    ended = python("""
import atexit, os, resource
def late():
    child = os.fork()
    if child == 0:
        os._exit(0)
    print(os.waitpid(child, 0)[1])
atexit.register(late)
""" + PROGRAM + "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n", tmp_path)
    if "can't fork at interpreter shutdown" in ended.err:
        pytest.skip("early versions of 3.12 cannot fork in an atexit function")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "0")
    assert ended.err.endswith("/profile_output.lprof.live', which clineprof shows\n")


@pytest.mark.once
def test_what_is_printed_and_written_is_of_one_moment(tmp_path):
    """Another thread counts on meanwhile."""
    ended = python("""
import threading
from clineprof import profile
profile.show_config.update(details=True, rich=False)
@profile
def turn(n):
    return n
def turns():
    while not done:
        turn(1)
done = False
thread = threading.Thread(target=turns)
thread.start()
while not profile.snapshot().functions[0]["hits"]:
    pass
profile.show()
done = True
thread.join()
profile.reset()
""", tmp_path)
    assert (ended.code, ended.out.count("Timer unit")) == (0, 1) and "stays as it was" in ended.err
    shown = [ended.out, *(path.read_text() for path in tmp_path.glob("*.txt"))]
    [count] = hits(tmp_path)["turn"].values()
    assert [re.findall(r"(?m)^ +7 +(\d+) ", text) for text in shown] == [[str(count)]] * 3


@pytest.mark.once
def test_a_reader_that_is_gone_changes_nothing(tmp_path):
    (tmp_path / "it.py").write_text(PROGRAM + "import sys; sys.exit(7)\n")
    command = f"{sys.executable} it.py | true; exit ${{PIPESTATUS[0]}}"
    ended = run(["bash", "-c", command], tmp_path, env=ON)
    assert (ended.code, ended.err) == (7, "") and files(tmp_path) == ALL_FILES


@pytest.mark.once
def test_what_the_program_put_in_place_of_stdout_gets_the_text(tmp_path):
    ended = python(PROGRAM + """
import io, sys
sys.stdout = io.StringIO()
profile.show()
text, sys.stdout = sys.stdout.getvalue(), sys.__stdout__
print(text.splitlines()[0])
sys.stdout = None
""", tmp_path)
    assert (ended.code, ended.err, ended.out) == (0, "", "Timer unit: 1e-06 s\n")


@pytest.mark.once
@pytest.mark.parametrize("end, code", [("sys.exit(3)", 3), ("1 / 0", 1)])
def test_the_program_ends_as_it_would(tmp_path, end, code):
    ended = python(PROGRAM + f"import sys\n{end}\n", tmp_path)
    assert ended.code == code and hits(tmp_path) == {"count": HITS}


@pytest.mark.once
def test_nothing_selected_is_an_empty_profile(tmp_path):
    ended = python("from clineprof import profile\nprofile.enable()\n", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "") and hits(tmp_path) == {}


@pytest.mark.once
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("way", ["by the environment", "profile.enable()", "with processes"])
def test_nothing_that_ran_leaves_files_of_an_earlier_run(tmp_path, way, text):
    """.. as they are; also those of which only the text is wanted."""
    settings = "profile.write_config['lprof'] = False\n" if text else ""
    program = PROGRAM.replace("\n\n", "\nprofile.enable()\n\n" if "enable" in way else "\n\n" + settings, 1)
    env = ENVIRONMENT if "enable" in way else ON
    python(program + settings, tmp_path, env=env)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if "output" in name}
    idle = program.replace("count(10)\n", "import os\nif os.fork() == 0: raise SystemExit\nos.wait()\n"
                           if "processes" in way else "")  # fmt: skip
    ended = python(idle + settings, tmp_path, env=env)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == ("clineprof: nothing was profiled, and 'profile_output.%s' stays as it was: no function marked "
                         "with @profile was called\n" % ("txt" if text else "lprof"))  # fmt: skip
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if "output" in name} == before


@pytest.mark.once
def test_what_was_shown_stays_where_it_was_dropped_afterwards(tmp_path):
    ended = python(PROGRAM + "profile.show()\nprofile.reset()\n", tmp_path)
    assert (ended.code, ended.out.count("Timer unit")) == (0, 1) and "stays as it was" in ended.err
    assert files(tmp_path) == ALL_FILES and hits(tmp_path) == {"count": HITS}


# ---- processes ----

WORK = PROGRAM.replace("count(10)\n", "")


def forking(text, folder, env=ON):
    return python("import os, sys, time\n" + WORK + text, folder, env=env)


def below(marked):
    """HITS for a body that stands one line further down, run `marked` times."""
    return {line + 1: n * marked for line, n in HITS.items()}


@pytest.mark.once
def test_a_fork_is_in_the_profile_of_its_parent(tmp_path):
    ended = forking("""
count(10)
child = os.fork()
if child == 0:
    count(10)
    sys.exit(0)
os.waitpid(child, 0)
count(10)
""", tmp_path)
    assert (ended.code, ended.err) == (0, "") and ended.out.count("Timer unit") == 1
    assert files(tmp_path) == ALL_FILES and hits(tmp_path) == {"count": below(3)}
    assert re.search(r"^ +8 +30 ", (tmp_path / "profile_output.txt").read_text(), re.M)
    first, second = Profile(tmp_path / "profile_output.lprof").raw["processes"]
    assert first["pid"] == second["parent"] != second["pid"]


ENABLED = ("from clineprof import profile\nprofile.enable()\n" + "import os, sys\n" + WORK)


@pytest.mark.once
def test_switched_on_by_the_program_it_counts_one_process(tmp_path):
    ended = python(ENABLED + """
count(10)
child = os.fork()
if child == 0:
    count(10)
    sys.exit(0)
os.waitpid(child, 0)
print(sorted(os.listdir()))
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "") and ended.out.count("Timer unit") == 1
    assert ended.out.startswith("['it.py', 'profile_output.lprof.live']\n")
    assert files(tmp_path) == ALL_FILES and max(hits(tmp_path)["count"].values()) == 11


@pytest.mark.once
def test_a_fork_that_outlives_its_parent_writes_beside_it(tmp_path):
    ended = forking("""
ready, go = os.pipe()
if os.fork():
    sys.exit(0)
os.close(go)
count(10)
parent = os.getppid()
while os.getppid() == parent and os.path.exists("/proc/%d/fd" % parent):
    time.sleep(0.01)
open("child", "w").write(str(os.getpid()))
""", tmp_path)
    assert (ended.code, ended.err) == (0, "") and ended.out.count("Timer unit") == 1
    [name] = wait_for(lambda: list(tmp_path.glob("profile_output-*.lprof")))
    child = (tmp_path / "child").read_text()
    assert name.name == f"profile_output-{child}.lprof"
    assert hits(tmp_path) == {"count": {}} and hits(tmp_path, name.name) == {"count": below(1)}


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@pytest.mark.once
def test_a_daemon_writes_where_it_was_started(tmp_path):
    ended = forking("""
count(10)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
count(10)
""", tmp_path)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert wait_for(lambda: files(tmp_path) == ALL_FILES)
    assert hits(tmp_path) == {"count": below(2)}


@pytest.mark.once
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_are_in_the_profile(tmp_path, method):
    ended = forking(f"""
import concurrent.futures, multiprocessing
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    process = context.Process(target=count, args=(10,))
    process.start()
    process.join()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        print(list(pool.map(count, [10, 10, 10])), process.exitcode)
    count(10)
""", tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("[45, 45, 45] 0\nTimer unit") and ended.out.count("Timer unit") == 1
    assert files(tmp_path) == ALL_FILES and hits(tmp_path) == {"count": below(5)}


@pytest.mark.once
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_neither_print_nor_write_where_the_program_switches_on(tmp_path, method):
    ended = python(ENABLED + f"""
import multiprocessing
if __name__ == "__main__":
    process = multiprocessing.get_context({method!r}).Process(target=count, args=(10,))
    process.start()
    process.join()
    print(process.exitcode)
    count(10)
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("0\nTimer unit") and ended.out.count("Timer unit") == 1
    assert files(tmp_path) == ALL_FILES and max(hits(tmp_path)["count"].values()) == 11


@pytest.mark.once
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("order", ["before", "after"])
def test_workers_that_are_terminated_and_one_that_is_not_joined(tmp_path, method, order):
    """multiprocessing does both at the end of the process, if need be."""
    first = "import multiprocessing.pool\n" if order == "before" else ""
    ended = python(first + "import os, sys, time\n" + WORK + f"""
import multiprocessing
def late():
    time.sleep(0.3)
    count(10)
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    context.Process(target=late).start()
    pool = context.Pool(2)
    print(pool.map(count, [10, 10, 10]))
""", tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("[45, 45, 45]\nTimer unit") and ended.out.count("Timer unit") == 1
    assert files(tmp_path) == ALL_FILES and max(hits(tmp_path)["count"].values()) == 44


@pytest.mark.once
@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "os.execv('/bin/true', ['true'])"])
def test_children_that_end_without_a_word(tmp_path, end):
    ended = forking(f"""
child = os.fork()
if child == 0:
    count(10)
    {end}
os.waitpid(child, 0)
profile.show()
print("then")
count(10)
""", tmp_path)
    shown, then = ended.out.split("then\n")
    assert (ended.code, ended.err) == (0, "")
    assert shown.count("Timer unit") == then.count("Timer unit") == 1
    assert hits(tmp_path) == {"count": below(2)} and ".live" not in str(files(tmp_path))


@pytest.mark.once
def test_a_process_that_is_killed_leaves_what_it_counted(tmp_path):
    ended = forking("""
count(10)
child = os.fork()
if child == 0:
    count(10)
    os._exit(0)
os.waitpid(child, 0)
os.kill(os.getpid(), 9)
""", tmp_path)
    assert ended.code == -9
    both = files(tmp_path)
    assert len(both) == 2 and both[1] == "profile_output.lprof.live"
    merged = run_viewer(["merge", "-o", "sum.lprof", *both], tmp_path)
    assert merged.code == 0 and hits(tmp_path, "sum.lprof") == {"count": below(2)}


@pytest.mark.once
def test_a_daemon_of_a_program_that_switches_on_has_what_its_parent_counted(tmp_path):
    ended = python(ENABLED + """
count(10)
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
count(10)
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert wait_for(lambda: files(tmp_path) == ALL_FILES), files(tmp_path)
    assert max(hits(tmp_path)["count"].values()) == 22


@pytest.mark.once
@pytest.mark.skipif(SANITIZED, reason="AddressSanitizer wants to be loaded first")
def test_a_daemon_ends_before_its_parent_though_the_clock_stands_still(tmp_path):
    ended = forking("""
count(10)
child = os.fork()
if child == 0:
    os.setsid()
    count(10)
    sys.exit()
os.waitpid(child, 0)
""", tmp_path, env={**ON, **stub.with_clock(tmp_path, 0)})
    assert ended.code == 0 and hits(tmp_path) == {"count": below(2)}


@pytest.mark.once
def test_a_process_that_becomes_another_python_writes_as_that(tmp_path):
    ended = forking("""
count(10)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, "it.py", "again"])
""", tmp_path)
    assert ended.code == 0 and ended.out.count("Timer unit") == 1
    assert re.fullmatch(r"clineprof: an earlier run \(process \d+\) did not end by itself; its profile is kept .*\n",
                        ended.err)
    assert hits(tmp_path) == {"count": below(1)} and len(files(tmp_path)) == 4


@pytest.mark.once
def test_what_a_daemon_starts_neither_prints_nor_writes_over_it(tmp_path):
    """The process that was first is gone by then."""
    ended = forking("""
import subprocess
if len(sys.argv) > 1:
    count(10)
    sys.exit()
if os.fork():
    sys.exit()
os.setsid()
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.01)
out = subprocess.run([sys.executable, "it.py", "inner"], capture_output=True, text=True)
open("told", "w").write(out.stdout + out.stderr + ".")
""", tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert wait_for(lambda: (tmp_path / "told").exists() and len(files(tmp_path)) == 9)
    assert (tmp_path / "told").read_text() == "."
    found = [hits(tmp_path, name)["count"] for name in files(tmp_path) if name.endswith(".lprof")]
    assert sorted(map(len, found)) == [0, 0, 4]


@pytest.mark.once
def test_forks_count_where_another_profiler_has_counted_before(tmp_path):
    """What the other one counts is in no file of ours."""
    ended = python("""
import os, sys
import clineprof
mine = clineprof.Profiler()
@mine
def before(n):
    return n + 1
before(1)
from clineprof import profile
@profile
def count(n):
    return n + 1
if os.fork() == 0:
    count(1)
    sys.exit()
os.wait()
count(1)
before(1)
print(max(mine.snapshot()["functions"][0]["lines"]["hits"]))
""", tmp_path)
    assert (ended.code, ended.err) == (0, "") and ended.out.startswith("2\nTimer unit")
    assert files(tmp_path) == ALL_FILES and hits(tmp_path) == {"count": {12: 2}}


@pytest.mark.once
def test_without_a_place_for_files_there_is_one_process(tmp_path):
    (tmp_path / "gone").mkdir()
    (tmp_path / "it.py").write_text(
        "import os\nos.rmdir(os.getcwd())\n" + PROGRAM + "if os.fork() == 0: count(10)\nelse: os.wait()\n")
    ended = run_python(["../it.py"], tmp_path / "gone", env={**ON, "TMPDIR": str(tmp_path)})
    assert ended.code == 0 and ended.out.count("Timer unit") == 1
    assert "while the program runs" not in ended.err


@pytest.mark.once
def test_in_a_folder_that_takes_no_files_they_are_put_aside(tmp_path):
    (tmp_path / "it.py").write_text("import os\nos.chdir('/proc')\n" + PROGRAM)
    ended = run_python(["it.py"], tmp_path, env={**ON, "TMPDIR": str(tmp_path)})
    assert ended.code == 0 and ended.out.count("Timer unit") == 1
    first, *lines = ended.err.splitlines()
    assert first.startswith("clineprof: cannot keep '/proc/profile_output.lprof.live' ")
    assert [line.split("'")[0] for line in lines] == ["clineprof: cannot write "] * 3, ended.err
    [written] = tmp_path.glob("clineprof-*-profile_output.lprof")
    assert re.search(rf" -m clineprof -r?tmz {re.escape(str(written))}\n$", ended.out)


@pytest.mark.once
def test_a_worker_can_write_its_own(tmp_path):
    ended = forking("""
child = os.fork()
if child == 0:
    count(10)
    profile.dump("worker.lprof")
    os._exit(0)
os.waitpid(child, 0)
""", tmp_path)
    assert ended.code == 0 and hits(tmp_path, "worker.lprof") == {"count": below(1)}


@pytest.mark.once
def test_process_1_and_its_children(tmp_path):
    (tmp_path / "it.py").write_text(PROGRAM + "import os; print(os.getpid(), os.getppid())\n")
    for command, shown in (["--pid", "--fork"], "1 0"), (["--pid", "--fork", "sh", "-c"], "2 1"):
        inner = [sys.executable, "it.py"]
        words = [*command, *inner] if "sh" not in command else [*command, f"{' '.join(inner)}; true"]
        try:
            ended = run(["unshare", "--map-root-user", "--mount-proc", *words], tmp_path, env=ON)
        except FileNotFoundError:
            pytest.skip("there is no unshare here")
        if "unshare: " in ended.err:
            pytest.skip(f"no new process numbers here: {ended.err.strip()}")
        assert (ended.code, ended.err) == (0, "") and ended.out.startswith(f"{shown}\nTimer unit")
        assert files(tmp_path)[:2] == ALL_FILES[:2] and hits(tmp_path) == {"count": HITS}


@pytest.mark.once
def test_a_program_that_is_started_by_it_is_in_its_profile(tmp_path):
    (tmp_path / "sub").mkdir()
    ended = forking("""
import subprocess
if len(sys.argv) == 1:
    path = os.path.abspath("it.py")
    inner = subprocess.run([sys.executable, path, "inner"], cwd="sub", check=True, capture_output=True)
    print(inner.stdout + inner.stderr)
count(10)
""", tmp_path)
    assert (ended.code, ended.err) == (0, "") and ended.out.startswith("b''\nTimer unit")
    assert files(tmp_path) == ALL_FILES and files(tmp_path / "sub") == []
    functions = Profile(tmp_path / "profile_output.lprof").hits()
    assert sum(max(lines.values()) for lines in functions.values()) == 22


# ---- blocks ----

def counted(text, folder, *arguments):
    """Hits by function of a program whose `profile` counts by the tracer under test."""
    # a recorder has one tracer: that of the first
    head = (
        f"import clineprof; first = clineprof.Profiler(tracer={TRACER!r}, started=False)\n"
        "from clineprof import profile; profile.enable()\n"
    )
    ended = python(head + text, folder, *arguments, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, ""), ended.err
    return hits(folder), ended


def lines(text, **marks):
    """{name: {line: hits}} by the marks `# NAME HITS` in the text, as `counted` runs it."""
    found = {}
    for number, line in enumerate(text.splitlines(), 3):
        for name, n in re.findall(r"(\w+):(\d+)", line.partition("# ")[2]):
            found.setdefault(marks.get(name, name), {})[number] = int(n)
    return found


def check_blocks(text, folder, **names):
    found, ended = counted(text, folder)
    assert found == lines(text, **names)
    return ended


def test_a_block_in_a_function(tmp_path):
    check_blocks("""
def work(n):
    before = 1
    with profile.block("load"):
        total = 0                   # load:2
        for i in range(n):          # load:12
            total += helper(i)      # load:10
        done = True                 # load:2
    after = 1
    return total
def helper(i):
    return i
work(5)
work(5)
""", tmp_path)


@pytest.mark.parametrize("selected", [False, True])
def test_blocks_within_blocks_and_selected_functions(tmp_path, selected):
    mark = "@profile" if selected else ""
    text = f"""
{mark}
def work(n):
    with profile.block("outer"):        # w:4
        for i in range(n):              # outer:12 w:12
            with profile.block("in"):   # outer:20 w:20
                x = helper(i)           # in:10 outer:10 w:10
        y = 1                           # outer:2 w:2
    z = 1                               # w:2
{mark}
def helper(i):
    with profile.block("h"): return i   # h:10 helper:10
work(5)
work(5)
"""
    expected = lines(text, w="work")
    if not selected:
        expected = {name: found for name, found in expected.items() if name not in ("work", "helper")}
    found, _ = counted(text, tmp_path)
    assert found == expected


@pytest.mark.parametrize("mark", ["", "@profile"])
def test_time_is_the_blocks_and_the_functions(tmp_path, mark):
    _, ended = counted(f"""
import time
{mark}
def work():
    with profile.block("b"):
        x = 1
        time.sleep(0.2)
work()
for function in profile.snapshot().functions:
    print(function.name, max(function["time"]) >= 200e6)
""", tmp_path)
    assert ended.out.startswith("work True\nb True\n" if mark else "b True\nTimer")


def test_a_block_counts_in_its_own_frame_only(tmp_path):
    check_blocks("""
def down(n):
    if n == 2:
        with profile.block("at two"):
            down(n - 1)             # two:1
            x = 1                   # two:1
    elif n:
        down(n - 1)
    y = 2
down(4)
""", tmp_path, two="at two")


def test_a_block_of_a_module_and_one_on_a_line(tmp_path):
    check_blocks("""
with profile.block("module"):
    for i in range(3):              # module:4
        x = i                       # module:3
with profile.block("short"): sum(range(10))   # short:1
y = 1
with profile:
    z = 1                           # unnamed:1
""", tmp_path, unnamed="<module>.<block>")


UNNAMED = """
def f(n):
    with profile as same:
        for i in range(n):
            if i == 3: return
f(2), f(5)
import contextlib
with contextlib.ExitStack() as stack:
    stack.enter_context(profile)
    x = 1
y = 1
"""
OWN = "import clineprof; profile = clineprof.Profiler()"
KEPT = """
open("it.py.lprof", "wb").write(profile.render("lprof"))
profile.close()
with profile: pass
"""


@pytest.mark.parametrize("way", ["ckernprof -l", "ckernprof -l, imported", "Profiler"])
def test_a_block_without_a_name_of_every_profile(way, tmp_path):
    head = {"ckernprof -l": "", "Profiler": OWN}.get(way, "from clineprof import profile")
    (tmp_path / "it.py").write_text(head + UNNAMED + KEPT * (way == "Profiler"))
    if way == "Profiler":
        ended = run_python(["it.py"], tmp_path, env=ENVIRONMENT)
    else:
        ended = run_ckernprof(["-l", "it.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert hits(tmp_path, "it.py.lprof") == {"f.<block>": {4: 7, 5: 6}, "<module>.<block>": {10: 1}}


def test_a_block_is_left_by_an_exception_return_break_and_continue(tmp_path):
    check_blocks("""
def run():
    for i in range(6):
        try:
            with profile.block("b"):
                if i == 0:          # b:5
                    continue        # b:1
                if i == 1:          # b:4
                    raise KeyError  # b:1
                if i == 4:          # b:3
                    return          # b:1
        except KeyError:
            x = 1
        y = 1
def after():
    z = 1
run()
after()
""", tmp_path)


@pytest.mark.parametrize("mark", ["", "@profile"])
def test_a_block_in_a_generator_sleeps_with_it(tmp_path, mark):
    text = f"""
import time
{mark}
def numbers(n):
    with profile.block("gen"):      # numbers:4
        for i in range(n):          # gen:5 numbers:5
            got = yield i           # gen:4 numbers:4
    last = 1                        # numbers:1
began = time.perf_counter_ns()
first = numbers(3)
next(first)
left = time.perf_counter_ns()
time.sleep(0.1)
slept = time.perf_counter_ns() - left
assert [*first] == [1, 2]
second = numbers(3)
next(second)
second.close()
awake = time.perf_counter_ns() - began - slept
print(all(sum(function["time"]) <= awake for function in profile.snapshot().functions))
"""
    expected = lines(text)
    if not mark:
        del expected["numbers"]
    found, ended = counted(text, tmp_path)
    assert found == expected
    assert ended.out.startswith("True\n")


def test_a_block_in_tasks_that_take_turns(tmp_path):
    text = """
import asyncio
async def task(name):
    with profile.block(name):
        x = 1                       # a:1 b:1
        await asyncio.sleep(0.01)   # a:1 b:1
        y = 1                       # a:1 b:1
    z = 1
async def main():
    await asyncio.gather(task("a"), task("b"))
asyncio.run(main())
for function in profile.snapshot().functions:
    # the task may lose the processor between asking for ten milliseconds and waiting for them
    print(function["await"][1] + function["time"][1] > 9e6, function["await"][1] > function["await"][2])
"""
    ended = check_blocks(text, tmp_path)
    assert ended.out.startswith("True True\nTrue True\n")


def test_blocks_in_threads(tmp_path):
    check_blocks("""
import threading
def work():
    for i in range(100):
        with profile.block("t"):
            x = i                   # t:400
            y = helper()            # t:400
@profile
def helper():
    return 1                        # helper:400
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""", tmp_path)


def test_a_block_through_an_exit_stack_and_one_never_left(tmp_path):
    check_blocks("""
import contextlib
def stacked():
    with contextlib.ExitStack() as stack:
        stack.enter_context(profile.block("s"))
        x = 1                       # s:1
    y = 1
def by_hand():
    profile.block("h").__enter__()
    x = 1                           # h:1
    y = 1                           # h:1
def other():
    x = 1
stacked()
by_hand()
other()
other()
""", tmp_path)


def test_a_block_changes_nothing_about_tracing(tmp_path):
    """A debugger's or another profiler's trace function stays, and sees what it would."""
    _, ended = counted("""
import sys
def work():
    seen.clear()
    with profile.block("b"):
        x = 1
        y = 1
    return 1
seen = []
def tracer(frame, event, argument):
    if frame.f_code.co_name == "work":
        seen.append((event, frame.f_lineno))
        return tracer
sys.settrace(tracer)
work()
assert sys.gettrace() is tracer
sys.settrace(None)
print(seen)
work()
assert sys.gettrace() is None
""", tmp_path)
    assert [int(n) for n in re.findall(r"\('line', (\d+)\)", ended.out)] == [7, 8, 9, 7, 10]


def test_the_source_of_a_block_is_its_own(tmp_path):
    _, ended = counted("""
def work(n):
    with profile.block("b"):
        if n:
            x = 1
        else:
            y = 2

    z = 1
work(1)
print(profile.snapshot().functions[-1].source, end="")
""", tmp_path)
    assert ended.out.startswith("""\
    with profile.block("b"):
        if n:
            x = 1
        else:
            y = 2
Timer""")


@pytest.mark.once
def test_a_block_needs_a_name(tmp_path):
    ended = python("from clineprof import profile\nprofile.block(5)\n", tmp_path)
    assert "TypeError: the name of a block is a str, not 5" in ended.err


# ---- windows ----


def test_reset_and_snapshot_while_it_runs(tmp_path):
    _, ended = counted("""
@profile
def work(n):
    for i in range(n):
        x = i
    if n == 3:
        print(profile.snapshot().functions[0]["hits"])
        profile.reset()
    return n
work(2)
work(3)
profile.dump("between.lprof")
work(1)
print(profile.snapshot().functions[0]["hits"])
""", tmp_path)
    assert ended.out.splitlines()[:2] == ["[7, 5, 2, 1, 1]", "[2, 1, 1, 0, 2]"]
    assert hits(tmp_path, "between.lprof") == {"work": {11: 1}}
    assert hits(tmp_path) == {"work": {6: 2, 7: 1, 8: 1, 11: 2}}


def test_a_schedule_counts_in_its_active_steps_only(tmp_path):
    found, ended = counted("""
def work():
    with profile.block("b"):
        x = 1
    return codes.append(work.__code__)
codes = []
own = work.__code__
profile(work)
profile.schedule(skip_first=2, wait=1, warmup=1, active=3, repeat=2)
for step in range(20):
    work()
    profile.step()
print("".join("." if code is own else "x" for code in codes))
import sys
print(sys.monitoring.get_tool(3) if sys.version_info >= (3, 12) else None)
""", tmp_path)
    assert found == {"work": {5: 12, 6: 6, 7: 6}, "b": {6: 6}}
    exchanged, tool = ended.out.splitlines()[:2]
    assert exchanged in ("...xxxx.xxxx........", "." * 20) and tool == "None"
    assert ("x" in exchanged) == ((TRACER or clineprof.tracers()[0]) == "probe")


PAUSED = """
from clineprof import profile
@profile
def work():
    return 1
work()
profile.pause()
work(), work()
profile.step()
profile.resume()
work()
"""


@pytest.mark.parametrize("way", ["on", "off", "ckernprof -l", "ckernprof -b", "ckernprof -b, a builtin"])
def test_a_pause(way, tmp_path):
    """.. under every door through which `profile` comes; off, it is nothing."""
    program = PAUSED.replace("profile.step()\n", "") if "-b" in way else PAUSED
    if way == "ckernprof -b, a builtin":
        program = program.replace("from clineprof import profile\n", "")
    (tmp_path / "it.py").write_text(program)
    if way.startswith("ckernprof"):
        ended = run_ckernprof([way[10:12], "it.py"], tmp_path)
    else:
        ended = run_python(["it.py"], tmp_path, env=ON if way == "on" else ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "")
    if "-b" in way:
        import pstats

        calls = pstats.Stats(str(tmp_path / "it.py.prof")).stats
        assert [row[0] for (_, _, name), row in calls.items() if name == "work"] == [2]
    elif way != "off":
        name = "profile_output.lprof" if way == "on" else "it.py.lprof"
        assert hits(tmp_path, name) == {"work": {5: 2}}
    else:
        assert files(tmp_path) == []


def test_what_repr_tells(tmp_path):
    text = PROGRAM.replace("@profile", "print(profile)\nprofile.enable()\nprint(profile)\n@profile", 1)
    (tmp_path / "it.py").write_text(text + "print(profile)\nprofile.pause()\nprint(profile)\nprofile.disable()\n"
                                    "print(profile)\n")  # fmt: skip
    ended = run_python(["it.py"], tmp_path, env=ENVIRONMENT)
    tracer = clineprof.tracers()[0]
    end = ", writes %s/profile_output.txt, %s/profile_output.lprof at the end>" % (tmp_path, tmp_path)
    assert ended.out.splitlines()[:5] == [
        "<clineprof.profile: not used so far>",
        f"<clineprof.profile: on, counting, tracer {tracer}, 0 functions{end}",
        f"<clineprof.profile: on, counting, tracer {tracer}, 1 function{end}",
        f"<clineprof.profile: on, paused, tracer {tracer}, 1 function{end}",
        f"<clineprof.profile: off for what comes, paused, tracer {tracer}, 1 function{end}"]  # fmt: skip
    (tmp_path / "it.py").write_text("print(profile)\n@profile\ndef f(): pass\nprint(profile)\n")
    ended = run_ckernprof(["-l", "it.py"], tmp_path)
    tracer = TRACER or tracer
    assert ended.out.splitlines()[1] == (
        f"<clineprof.Profiler: counting, tracer {tracer}, 1 function, for '{tmp_path}/it.py.lprof'>")


@pytest.mark.once
def test_phases_are_torchs(tmp_path):
    """torch.profiler.schedule's own answers for some of its arguments."""
    from clineprof._global.schedule import Schedule

    def phases(steps, **arguments):
        plan = Schedule(**arguments)
        return "".join(plan.phase(step)[0] for step in range(steps))

    assert phases(8, wait=1, warmup=1, active=2) == "nwrrnwrr"
    assert phases(9, wait=2, warmup=0, active=1, repeat=2) == "nnrnnrnnn"
    assert phases(9, wait=0, warmup=1, active=2, repeat=1, skip_first=3) == "nnnwrrnnn"
    assert phases(4, wait=0, warmup=0, active=1) == "rrrr"


@pytest.mark.once
@pytest.mark.parametrize(
    "arguments, told",
    [
        ("wait=-1, warmup=1, active=1", "wait must be a whole number from 0 on, not -1"),
        ("wait=1, warmup=1, active=0", "active must be a whole number from 1 on, not 0"),
        ("wait=1, warmup=1.5, active=1", "warmup must be a whole number from 0 on, not 1.5"),
    ],
)
def test_a_schedule_that_is_none(tmp_path, arguments, told):
    ended = python(f"from clineprof import profile\nprofile.schedule({arguments})\n", tmp_path)
    assert ended.err.splitlines()[-1] == f"ValueError: schedule: {told}"


@pytest.mark.once
def test_checkpoints_are_epochs_of_leaks(tmp_path):
    (tmp_path / "it.py").write_text("""
from clineprof import profile
kept = []
@profile
def work():
    kept.append(bytes(300000))
for i in range(12):
    work()
    profile.checkpoint()
""")
    ended = run_ckernprof(["-l", "--leaks=checkpoints", "--fail-on-leak", "it.py"], tmp_path,
                          env=ENVIRONMENT)
    assert ended.code == 3 and "it.py:6" in ended.out + ended.err


# ---- what is documented ----

PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")


@pytest.mark.once
def test_every_name_is_on_the_page():
    from clineprof._global import GlobalProfiler

    names = {f"profile.{name}(" for name in vars(GlobalProfiler) if not name.startswith("_")}
    names |= {f"p.{name}(" for name in dir(clineprof.Profiler) if not name.startswith("_")}
    # the launcher's, line_profiler's, and what others are made of
    other = {"enable", "disable", "enable_by_count", "disable_by_count", "start_leaks", "stop_leaks",
             "checkpoint", "prepare", "after_fork"}  # fmt: skip
    names -= {f"p.{name}(" for name in other} | {"p.running("}
    assert {name for name in names if name not in PAGE} == set()


@pytest.mark.once
def test_examples_in_docstrings_run(tmp_path):
    ended = run_python(["-c", """
import doctest
import clineprof._global as module
module.profile.write_config = dict.fromkeys(module.profile.write_config, False)
print(doctest.testmod(module))
"""], tmp_path, env=ENVIRONMENT)
    assert re.search(r"failed=0, attempted=\d\d", ended.out), ended.out


# ---- strangers' uses ----


@pytest.mark.once
@pytest.mark.parametrize("env", [ON, ENVIRONMENT], ids=["on", "off"])
def test_a_copy_of_profile_is_profile(tmp_path, env):
    ended = python("""
import copy, pickle
from clineprof import profile
profile.enabled  # cloudpickle takes along what a function names
@profile
def spam(): pass
copies = copy.copy(profile), copy.deepcopy({"p": profile})["p"], pickle.loads(pickle.dumps(profile))
print([one is profile for one in copies])
""", tmp_path, env=env)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("[True, True, True]\n")


@pytest.mark.once
def test_dumps_to_one_file_by_threads_and_a_signal_handler_do_not_meet(tmp_path):
    ended = python("""
import os, signal, threading
from clineprof import profile
@profile
def spam(): pass
spam()
interrupted = []
def by_signal(*_):
    interrupted.append(1)
    profile.dump("one.lprof")
signal.signal(signal.SIGALRM, by_signal)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.005)
while len(interrupted) < 10:
    profile.dump("one.lprof")
signal.setitimer(signal.ITIMER_REAL, 0)
def dump():
    for _ in range(50):
        profile.dump("one.lprof")
threads = [threading.Thread(target=dump) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print([name for name in os.listdir() if "one" in name or name.startswith(".")])
""", tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("['one.lprof']\n")
    assert hits(tmp_path, "one.lprof") == {"spam": {5: 1}}


@pytest.mark.once
@pytest.mark.parametrize("settings, said", [
    ("profile.show_config['output_unit'] = 'x'", "the unit must be a number above 0, .*"),
    ("profile.show_config['output_unit'] = -1", "the unit must be a number above 0, such as 1e-3, or auto, s, ms, us or ns"),
    ("profile.show_config['output_unit'] = float('nan')", "the unit .* above 0, .*"),
    ("profile.show_config['colour'] = 3", ".*colour.*"),
])  # fmt: skip
def test_a_slip_in_the_settings_loses_nothing(tmp_path, settings, said):
    ended = python(PROGRAM + settings, tmp_path)
    assert ended.code == 0 and " - count\n" in ended.out
    assert re.fullmatch(f"clineprof: profile.show_config is not used: {said}\n", ended.err)
    assert files(tmp_path) == ALL_FILES and hits(tmp_path) == {"count": HITS}


@pytest.mark.once
@pytest.mark.parametrize("setting", ["write_config = 5", "write_config = None", "show_config = 'x'",
                                     "output_prefix = 3", "output_prefix = 'a\\0b'"])  # fmt: skip
def test_a_setting_that_can_be_none_loses_nothing(tmp_path, setting):
    for before in True, False:
        assignment = f"\nprofile.{setting}\n"
        text = PROGRAM.replace("\n", assignment, 1) if before else PROGRAM + assignment
        ended = python(text, tmp_path)
        assert (ended.code, ended.err) == (0, "clineprof: profile.%s cannot be %s; the default is used\n" % tuple(
            setting.replace("\\0", "\\x00").split(" = ")))  # fmt: skip
        assert hits(tmp_path) == {"count": {line + before: n for line, n in HITS.items()}}


@pytest.mark.once
def test_what_files_can_be_called(tmp_path):
    ended = python("""
from clineprof import profile
for wrong in "a\\0b", 5:
    try: profile.enable(wrong)
    except (TypeError, ValueError) as error: print(error)
print(profile, profile.output_prefix)
profile.enable(b"bytes_output")
""", tmp_path, env=ENVIRONMENT)
    assert ended.err == "" and ended.out.splitlines()[:3] == [
        "no file can be called 'a\\x00b'", "expected str, bytes or os.PathLike object, not int",
        "<clineprof.profile: not used so far> profile_output"]
    assert files(tmp_path) == [name.replace("profile", "bytes") for name in ALL_FILES]


@pytest.mark.once
def test_settings_that_are_missing_are_as_they_were_at_first(tmp_path):
    ended = python(PROGRAM + "profile.write_config = {'text': False}; profile.show_config = {}\n", tmp_path)
    assert (ended.code, ended.err) == (0, "") and " - count\n" in ended.out
    assert files(tmp_path) == ["profile_output.lprof", "profile_output_STAMP.txt"]


@pytest.mark.once
def test_the_warning_about_what_is_no_code_is_about_the_line_of_the_user(tmp_path):
    ended = python("""\
from clineprof import profile
import clineprof
profile(len)
clineprof.Profiler()(len)
""", tmp_path)
    said = "RuntimeWarning: clineprof: <built-in function len> is not Python code; it is not profiled"
    assert ended.err.splitlines() == [
        f"{tmp_path}/it.py:3: {said}", "  profile(len)",
        f"{tmp_path}/it.py:4: {said}", "  clineprof.Profiler()(len)"]


# ---- types ----


def stubs():
    return sorted((ROOT / "src" / "clineprof").rglob("*.pyi"))


def defined(body):
    """{name: its function, or the class's members} of a stub."""
    found = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = defined(node.body)
        elif isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
    return found


def parameters(function):
    """Names of a stub's parameters, and which have defaults."""
    a = function.args
    plain = a.posonlyargs + a.args
    with_default = plain[len(plain) - len(a.defaults):]
    with_default += [arg for arg, value in zip(a.kwonlyargs, a.kw_defaults) if value is not None]
    return ([arg.arg for arg in plain + a.kwonlyargs], {arg.arg for arg in with_default},
            [arg.arg for arg in (a.vararg, a.kwarg) if arg])


def differs(function, thing):
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):  # of C, and without a text of it
        return False
    ours = signature.parameters.values()
    if not ours and parameters(function)[0][:1] == ["self"]:
        return False  # C's texts leave self out
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    expected = (
        [p.name for p in ours if p.kind not in several],
        {p.name for p in ours if p.default is not p.empty},
        [p.name for p in ours if p.kind in several],
    )
    names, defaults, rest = parameters(function)
    if type(thing).__name__ != "function":
        names, expected = names[1:] if names[:1] in (["self"], ["cls"]) else names, expected
    return (names, defaults, rest) != expected


def faults(names, home, path):
    for name, item in names.items():
        if name.startswith("_") and name != "__init__":
            continue
        try:
            thing = getattr(home, name, None)
        except ImportError:  # of a package that is not installed
            continue
        if thing is None and not isinstance(item, dict):
            yield f"{path}.{name} is not there"
        elif isinstance(item, dict):
            yield from faults(item, thing, f"{path}.{name}")
        elif callable(thing) and not item.decorator_list and differs(item, thing):
            yield f"{path}.{name} has {inspect.signature(thing)}"


@pytest.mark.once
@pytest.mark.parametrize("path", stubs(), ids=lambda path: path.stem)
def test_types_are_those_of_the_package(path):
    folder = path.parent if path.stem == "__init__" else path.with_suffix("")
    module = ".".join(folder.relative_to(ROOT / "src").parts)
    names = defined(ast.parse(path.read_text()).body)
    assert names or path.stem == "__init__"
    assert list(faults(names, importlib.import_module(module), module)) == []


@pytest.mark.once
def test_all_that_the_package_offers_has_a_type():
    text = (ROOT / "src" / "clineprof" / "__init__.pyi").read_text()
    assert [name for name in clineprof.__all__ if not re.search(rf"^(class|def) {name}\b|^{name}: ",
                                                                text, re.M)] == []
    assert (ROOT / "src" / "clineprof" / "py.typed").exists()


# ---- the viewer is no launcher ----


@pytest.mark.once
@pytest.mark.parametrize("words", [["it.py"], ["it.py", "x", "--its-own"], ["-l", "-v", "it.py"]])
def test_a_program_is_refused_with_the_right_command(tmp_path, words):
    ended = run_python(["-m", "clineprof", *words], tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.out, ended.err) == (2, "", (
        "clineprof: 'it.py' is a program, and clineprof shows profiles; to profile the program run: "
        "ckernprof -l -v -p it.py it.py, or: python3 -m clineprof.kernprof -l -v -p it.py it.py\n"))


LATE = """
class Late:
    def __del__(self):
        print([function["hits"] for function in profile.snapshot().functions])
        profile.reset(), profile.step(), profile.checkpoint()
        for ask in profile.show, lambda: profile.dump("late.lprof"):
            try:
                ask()
            except RuntimeError as error:
                print(error)

        @profile
        def spam():
            return 1
        with profile.block("a name"):
            print(spam())
import builtins
builtins.late = Late()
"""
TOO_LATE = ("clineprof.profile: the interpreter is ending; call this earlier, in an atexit function at "
            "the latest")  # fmt: skip


@pytest.mark.once
def test_a_finaliser_of_the_last_hour_gets_a_result_or_one_line(tmp_path):
    ended = python(PROGRAM + LATE, tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-4:] == ["[[1, 11, 10, 1]]", TOO_LATE, TOO_LATE, "1"]
    assert files(tmp_path) == ALL_FILES and not (tmp_path / "late.lprof").exists()


@pytest.mark.once
def test_a_finaliser_of_the_last_hour_with_profile_off(tmp_path):
    ended = python("""
from clineprof import profile
class Late:
    def __del__(self):
        profile.show(), profile.dump("late.lprof")
        try:
            profile.snapshot()
        except RuntimeError as error:
            print(error)
import builtins
builtins.late = Late()
""", tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err, ended.out) == (0, "", TOO_LATE + "\n")


# ---- however the process dies ----

DIES = PROGRAM + "import os, signal\n"


def live_hits(folder, name="profile_output.lprof.live"):
    """{function: {line: hits}} of a live file"""
    shown = clineprof.load(str(folder / name))
    return {function.name: {line.line: line.hits for line in function.lines if line.hits}
            for function in shown.functions}  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("death", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "os.abort()",
                                   "os.execv('/bin/true', ['true'])"])  # fmt: skip
def test_what_was_counted_outlives_the_process(tmp_path, death):
    python(DIES + death, tmp_path)
    assert files(tmp_path) == ["profile_output.lprof.live"]
    assert live_hits(tmp_path) == {"count": HITS}
    shown = run_viewer(["profile_output.lprof.live"], tmp_path)
    assert shown.code == 0 and "Function: count at line 3\n" in shown.out


@pytest.mark.once
def test_the_next_run_keeps_what_an_earlier_one_left(tmp_path):
    python(DIES + "os._exit(0)", tmp_path)
    ended = python(PROGRAM, tmp_path)
    assert re.fullmatch(r"clineprof: an earlier run \(process \d+\) did not end by itself; its profile is "
                        r"kept as '.*/profile_output.lprof.\d+.live', which clineprof shows\n", ended.err)
    [kept] = tmp_path.glob("profile_output.lprof.*.live")
    assert live_hits(tmp_path, kept.name) == {"count": HITS} == hits(tmp_path)
    assert files(tmp_path) == sorted([*ALL_FILES, kept.name])


LATER = """
count(10)
has_begun, begins = os.pipe()
if os.fork():
    os.read(has_begun, 1)
    time.sleep(.2)
    count(10)
    os._exit(0)
os.write(begins, b"1")
os.setsid()
while os.getppid() > 1 and time.sleep(.01) is None and os.path.exists("/proc/%d/cwd" % os.getppid()):
    pass
"""


@pytest.mark.once
def test_a_parent_that_counts_after_the_fork_and_dies_is_in_the_childs(tmp_path):
    ended = forking(LATER, tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert wait_for(lambda: files(tmp_path) == ALL_FILES), files(tmp_path)
    assert hits(tmp_path) == {"count": below(2)}


@pytest.mark.once
def test_a_parent_that_counts_after_the_fork_and_dies_leaves_its_own(tmp_path):
    """Unlike a daemon's, of which nothing is left over; where the program switches on."""
    ended = python(ENABLED + "import time\n" + LATER, tmp_path, env=ENVIRONMENT)
    assert (ended.code, ended.err) == (0, "")
    assert wait_for(lambda: len(files(tmp_path)) == 4), files(tmp_path)
    assert sum(live_hits(tmp_path)["count"].values()) == 2 * sum(hits(tmp_path)["count"].values())


@pytest.mark.once
@pytest.mark.parametrize("before, env", [
    ("profile.write_config['lprof'] = False", ON),
    ("profile.output_prefix = 'it.py/x'", ON),
    ("", ENVIRONMENT),
])  # fmt: skip
def test_where_there_is_no_place_for_a_live_file_there_is_none(tmp_path, before, env):
    ended = python("from clineprof import profile\n" + before + "\n" + PROGRAM
                   + "import os; print([name for name in os.listdir() if 'live' in name])\n", tmp_path,
                   env=env)  # fmt: skip
    assert ended.code == 0 and ended.out.startswith("[]\n") and "Traceback" not in ended.err


@pytest.mark.once
def test_the_live_file_has_what_was_reset_taken_off(tmp_path):
    python(PROGRAM + "profile.reset(); count(1); import os; os._exit(0)", tmp_path)
    assert live_hits(tmp_path) == {"count": {5: 1, 6: 2, 7: 1, 8: 1}}
