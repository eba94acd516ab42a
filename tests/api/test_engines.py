# SPDX-License-Identifier: MIT
"""Sessions in the workers of an engine, with plain processes in place of the engine: what a worker has counted is there
however it ends, and the sum has the text of the driver's functions."""
import os

import pytest
from harness import BUILD, Profile, run_python

pytestmark = pytest.mark.once
ENV = {"PYTHONPATH": str(BUILD / "python")}

DRIVER = """\
import cloudpickle, os, subprocess, sys, tempfile
from clineprof import _engines

def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

def idle():
    return 1

WORKER = '''
import os, pickle, signal, sys
from clineprof import _engines
run, how, text = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3])
_engines.begin(run, ["__main__.work"])
work, idle = pickle.loads(text)
work(10)
idle()
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "exit":
    os._exit(0)
if how == "fork":
    if os.fork() == 0:
        work(1000)
        os._exit(0)
    os.wait()
    work(10)
if how == "again":
    _engines.begin(run, ["__main__.work"])
    work(10)
if how == "other":
    _engines.begin(run + "b", ["__main__.work"])
    work(10)
    print(len(_engines.own(run)), len(_engines.own(run + "b")), len(_engines.left(run)))
    _engines.end(run + "b")
    print(len(_engines.own(run + "b")))
if how == "own":
    print(len(_engines.own(run)), len(_engines.left(run)))
_engines.end(run)
work(100)
if how == "unwritable":
    print(len(_engines.own(run)))
'''

def worker(how, **more):
    ended = subprocess.run([sys.executable, "-c", WORKER, run, how, text.hex()], capture_output=True, text=True,
                           env={**os.environ, **more})
    print(how, ended.out if hasattr(ended, "out") else ended.stdout.strip(), ended.stderr.strip())

def total(run):
    profile = _engines.write("sum.lprof", _engines.left(run))
    [function] = profile.functions
    return function["hits"], len(profile.processes)

run = _engines.new_run()
with _engines.Sending():
    text = cloudpickle.dumps((work, idle))
"""


@pytest.fixture
def driver(tmp_path):
    pytest.importorskip("cloudpickle", reason="cloudpickle is not here")

    def driver(text):
        (tmp_path / "tmp").mkdir()
        (tmp_path / "driver.py").write_text(DRIVER + text)
        ended = run_python(["driver.py"], tmp_path, env={**ENV, "TMPDIR": str(tmp_path / "tmp")})
        assert (ended.code, ended.err) == (0, "")
        return ended.out.splitlines()

    return driver


@pytest.mark.parametrize("how, hits", [("end", 10), ("kill", 10), ("exit", 10), ("fork", 20), ("again", 20)])
def test_what_a_worker_has_counted_is_there_however_it_ends(driver, how, hits):
    """What it runs after the end of its session, or in a fork, does not count."""
    said, found = driver(f"""
worker({how!r})
print(total(run))
""")
    assert said == how + "  "
    calls = hits // 10
    assert found == str(([calls, hits + calls, hits, calls], 0))


def test_workers_add_up_and_leave_nothing_behind(driver, tmp_path):
    *_, found, left = driver("""
for how in "end", "kill", "end":
    worker(how)
print(total(run))
_engines.clean(run)
print(os.listdir(tempfile.gettempdir()))
""")
    assert (found, left) == ("([3, 33, 30, 3], 3)", "[]")


def test_sessions_of_two_runs_count_at_once(driver):
    """The second one has no live file, and keeps its counts in memory."""
    said, kept, found = driver("""
worker("other")
print(total(run))
""")
    assert (said, kept) == ("other 1 1 0", "1 ")
    assert found == "([2, 22, 20, 2], 0)"


def test_a_worker_leaves_itself_out_of_what_lies_there(driver):
    driver_says = driver("worker('end')\nworker('own')\n")
    assert driver_says == ["end  ", "own 1 1 "]


def test_a_worker_whose_folder_cannot_be_made_keeps_its_counts(driver):
    [said] = driver("""
open(_engines.place(run), "w").close()
worker("unwritable")
""")
    assert said.startswith("unwritable 1 clineprof: cannot use the folder '/") and said.endswith("may be lost")


def test_the_sum_has_the_text_of_functions_whose_file_no_worker_has(driver, tmp_path):
    driver("""
os.rename("driver.py", "elsewhere.py")
worker("end")
total(run)
""")
    profile = Profile(tmp_path / "sum.lprof")
    assert profile.sources() == {(str(tmp_path / "driver.py"), 4, "work"):
                                 "def work(n):\n    total = 0\n    for i in range(n):\n        total += i\n"
                                 "    return total\n"}  # fmt: skip


def test_the_folder_is_for_its_owner_alone(driver, tmp_path):
    said, rights = driver("""
worker("kill")
place = _engines.place(run)
print([oct(os.stat(path).st_mode & 0o777) for path in (place, *(os.path.join(place, n) for n in os.listdir(place)))])
""")
    assert rights == "['0o700', '0o600']"
    assert os.listdir(tmp_path / "tmp")


def test_what_cannot_be_read_is_left_out_and_nothing_is_not_written(tmp_path):
    (tmp_path / "prog.py").write_text("""\
import os
from clineprof import _engines
_engines.begin("a", ["__main__.*"])
[content] = _engines.own("a")
print(_engines.write("one.lprof", [content, b"of another version"]) is None)
print(_engines.write("none.lprof", [b"of another version"]), os.path.exists("none.lprof"))
_engines.end("a")
_engines.clean("a")
""")
    ended = run_python(["prog.py"], tmp_path, env=ENV)
    assert ended.out == "False\nNone False\n"
    first, second, last = ended.err.splitlines()
    assert first.startswith("clineprof: what some worker has counted is left out: ") and first == second
    assert last == "clineprof: no worker has counted anything; 'none.lprof' was not written"


@pytest.mark.parametrize("arguments, said", [
    ("[len], {}", "given by names"),
    ("['a', ''], {}", "given by names"),
    ("['a'], {'memory': len}", "memory cannot be sent to workers"),
    ("['a'], {'memory': 'none'}", "memory"),
    ("['a'], {'colour': True}", "colour"),
])
def test_what_no_worker_could_use_is_refused_in_the_driver(tmp_path, arguments, said):
    program = f"from clineprof import _engines\n_engines.checked({arguments})\n"
    ended = run_python(["-c", program], tmp_path, env=ENV)
    assert ended.code == 1 and said in ended.err.splitlines()[-1]
    assert ended.err.splitlines()[-1].startswith(("TypeError", "ValueError"))


def test_a_folder_that_another_user_has_prepared_is_not_used(driver, tmp_path):
    """A link would lead elsewhere."""
    said, left = driver("""
os.mkdir("elsewhere")
os.symlink(os.path.abspath("elsewhere"), _engines.place(run))
worker("unwritable")
print(os.listdir("elsewhere"), _engines.left(run))
""")
    assert "it is another user's, or no folder" in said and left == "[] []"
