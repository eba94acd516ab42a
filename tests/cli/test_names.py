# SPDX-License-Identifier: MIT
"""No two processes write the same file: ranks, containers, runs at the same time. Each is really started, and
what all of them counted must be there in the end."""

import os
import re
import shutil
import subprocess
import time

import pytest
from harness import (
    BUILD,
    Profile,
    ckernprof,
    clean_environment,
    line_of,
    run,
    run_ckernprof,
    run_python,
    run_viewer,
)

pytestmark = pytest.mark.once  # about the names of files, not about who counts

WORK = """\
import os, signal, sys, time

@profile
def work(n):
    for i in range(n):
        done = i  # turn

def wait(name):
    while not os.path.exists(name):
        time.sleep(0.01)

def fork(n):
    if os.fork() == 0:
        work(n)
        os._exit(0)
"""


@pytest.fixture
def program(tmp_path):
    def write(rest):
        (tmp_path / "prog.py").write_text(WORK + rest)

    return write


@pytest.fixture
def container():
    """The command of a new pid namespace with its own /proc."""
    command = ["unshare", "--pid", "--fork", "--mount-proc"]
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip(f"no new pid namespace here: {tried.stderr.strip()}")
    return command


def turns(path):
    return Profile(path).line("work", line_of(path.parent / "prog.py", "# turn"))["hits"]


def written(text):
    return sorted(re.findall(r"Wrote profile results to '(.*)'", text))


def all_turns(folder):
    return {path.name: turns(path) for path in folder.glob("*.lprof")}


def start(arguments, folder, before=(), **environment):
    return subprocess.Popen([*before, *map(str, ckernprof(*arguments))], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=clean_environment(environment))  # fmt: skip


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.02)
    assert condition(), "it did not happen"


# ---- ranks -------------------------------------------------------------------------------------

RANKS = [
    {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"},
    {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1"},
    {"PMIX_RANK": "3"},
    {"PMI_RANK": "3", "PMI_SIZE": "4"},
    {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4"},
    {"JOB_COMPLETION_INDEX": "3"},
]
NO_RANKS = [
    {"RANK": "0", "WORLD_SIZE": "1"},
    {"RANK": "3"},
    {"RANK": "../x", "WORLD_SIZE": "8"},
    {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"},
    {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"},
    {"LOCAL_RANK": "3"},
]


def name_of(environment, folder, *options):
    ended = run_ckernprof([*options, "prog.py"], folder, env=environment)
    assert ended.code == 0, ended.err
    [name] = written(ended.out)
    assert (folder / name).exists()
    return name


@pytest.mark.parametrize("environment", RANKS, ids=lambda env: next(iter(env)))
def test_a_rank_is_in_the_name(program, tmp_path, environment):
    program("work(5)\n")
    assert name_of(environment, tmp_path, "-l") == "prog.py.rank3.lprof"
    assert name_of(environment, tmp_path, "-b") == "prog.py.rank3.prof"
    assert name_of(environment, tmp_path, "-l", "-o", "x.lprof") == "x.rank3.lprof"
    assert name_of(environment, tmp_path, "-l", "-o", "x.{rank}.lprof") == "x.3.lprof"


@pytest.mark.parametrize("environment", NO_RANKS, ids=lambda env: "+".join(env))
def test_one_process_alone_has_no_rank(program, tmp_path, environment):
    program("work(5)\n")
    assert name_of(environment, tmp_path, "-l") == "prog.py.lprof"
    assert name_of(environment, tmp_path, "-l", "-o", "x.{rank}.lprof") == "x.0.lprof"


def test_a_rank_that_is_started_again_keeps_what_it_wrote_before(program, tmp_path):
    program("work(5)\n")
    rank = {"RANK": "3", "WORLD_SIZE": "8", "TORCHELASTIC_RESTART_COUNT": "0"}
    assert name_of(rank, tmp_path, "-l") == "prog.py.rank3.lprof"
    rank["TORCHELASTIC_RESTART_COUNT"] = "2"
    assert name_of(rank, tmp_path, "-l") == "prog.py.rank3.restart2.lprof"
    assert name_of(rank, tmp_path, "-l", "-o", "{rank}-{restart}.lprof") == "3-2.lprof"


def test_words_in_the_name(program, tmp_path):
    program("print(os.getpid())\nwork(1)\n")
    ended = run_ckernprof(["-l", "-o", "{host}.{pid}.{other}{.lprof", "prog.py"], tmp_path)
    pid = ended.out.split()[0]
    assert written(ended.out) == [f"{os.uname().nodename}.{pid}.{{other}}{{.lprof"]


def test_mpirun(program, tmp_path):
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun here")
    program("work(10 ** int(os.environ['OMPI_COMM_WORLD_RANK']))\n")
    ended = run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", *ckernprof("-l", "prog.py")],
                tmp_path)  # fmt: skip
    assert ended.code == 0, ended.err
    assert written(ended.out) == [f"prog.py.rank{n}.lprof" for n in range(3)]
    assert all_turns(tmp_path) == {f"prog.py.rank{n}.lprof": 10**n for n in range(3)}


# ---- at the same time --------------------------------------------------------------------------


def test_of_two_runs_at_once_each_has_its_own_profile(program, tmp_path):
    program("work(int(sys.argv[1]))\nprint('ready', flush=True)\nwait(sys.argv[2])\n")
    first = start(["-l", "prog.py", "10", "a"], tmp_path)
    assert first.stdout.readline() == "ready\n"
    second = start(["-l", "-i", "0.05", "prog.py", "200", "b"], tmp_path)
    assert second.stdout.readline() == "ready\n"
    own = f"prog.py-{second.pid}.lprof"
    wait_for((tmp_path / own).exists)  # -i
    (tmp_path / "a").touch()
    out, err = first.communicate(timeout=300)
    assert (written(out), err) == (["prog.py.lprof"], "")
    (tmp_path / "b").touch()
    out, err = second.communicate(timeout=300)
    assert written(out) == [own]
    assert err == (f"ckernprof: process {first.pid} is making a profile of the same name; this run writes "
                   f"'{tmp_path}/{own}'\n")
    assert all_turns(tmp_path) == {"prog.py.lprof": 10, own: 200}
    assert not list(tmp_path.glob("*.live"))


def test_a_run_alone_replaces_the_profile_of_the_one_before(program, tmp_path):
    program("work(int(sys.argv[1]))\n")
    for n in 10, 20:
        ended = run_ckernprof(["-l", "prog.py", str(n)], tmp_path)
        assert (ended.code, ended.err) == (0, "")
        assert all_turns(tmp_path) == {"prog.py.lprof": n}


def test_many_runs_that_begin_together_beside_what_a_killed_one_left(program, tmp_path):
    """Each looks whether the file there is of a process that is gone, and one of them moves it away."""
    program("work(int(sys.argv[1]))\nif sys.argv[1] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
            "open('ready' + sys.argv[1], 'w')\nwait('go')\n")
    run_ckernprof(["-l", "prog.py", "1"], tmp_path)
    runs = [start(["-l", "prog.py", str(n)], tmp_path) for n in range(10, 18)]
    wait_for(lambda: len(list(tmp_path.glob("ready*"))) == 8)
    (tmp_path / "go").touch()
    told = [process.communicate(timeout=300) for process in runs]
    names = [name for out, _ in told for name in written(out)]
    assert len(set(names)) == 8, told
    assert [turns(tmp_path / name) for name in names] == list(range(10, 18))
    assert sum("did not end by itself; its profile is kept" in err for _, err in told) == 1
    [kept] = tmp_path.glob("*.live")
    assert re.search(rf"^ +{line_of(tmp_path / 'prog.py', '# turn')} +1 ", run_viewer([kept.name], tmp_path).out,
                     re.M)  # fmt: skip


def test_calls_of_two_runs_at_once(program, tmp_path):
    """Without -l there is no live file: the second one to end finds the other's profile."""
    program("work(1)\nprint('ready', flush=True)\nwait(sys.argv[1])\n")
    runs = {name: start(["-b", "prog.py", name], tmp_path) for name in "ab"}
    for name, process in runs.items():
        assert process.stdout.readline() == "ready\n"
    (tmp_path / "a").touch()
    out, err = runs["a"].communicate(timeout=300)
    assert (written(out), err) == (["prog.py.prof"], "")
    before = (tmp_path / "prog.py.prof").read_bytes()
    (tmp_path / "b").touch()
    out, err = runs["b"].communicate(timeout=300)
    own = f"prog.py-{runs['b'].pid}.prof"
    assert written(out) == [own] and (tmp_path / own).exists()
    assert "another process has written a profile of the same name" in err
    assert (tmp_path / "prog.py.prof").read_bytes() == before


def test_programs_without_a_file_never_take_an_earlier_ones_name(tmp_path, container):
    """In containers all of them may be process 1."""
    script = "import os\n@profile\ndef work(): pass\nwork()\nprint(os.getpid())\n"
    command = [*container, *ckernprof("-l", "-c", script)]
    names = [run(command, tmp_path) for _ in range(3)]
    assert [(ended.out.split()[0], *written(ended.out)) for ended in names] == [
        ("1", "kernprof-command-1.lprof"), ("1", "kernprof-command-1-2.lprof"),
        ("1", "kernprof-command-1-3.lprof")]


# ---- containers --------------------------------------------------------------------------------


CONTAINED = """
for n in 10, 20:
    fork(n)
for n in 10, 20:
    os.wait()
work(int(sys.argv[1]))
open("ready" + sys.argv[1], "w")
wait("go")
"""


def test_a_thousand_names_that_are_taken(tmp_path):
    """Many containers on one folder, in each of which the program is process 1."""
    (tmp_path / "it.py").write_text("""
import os
from clineprof import _core
names = [f"x-{os.getpid()}{end}.lprof" for end in ["", *(f"-{n}" for n in range(2, 1000))]]
for name in names:
    open(name, "w").close()
own = {_core.own_name("x.lprof", 0o600) for _ in range(3)}
print(len(own), own.isdisjoint(names), all(map(os.path.exists, own)))
""")
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err) == ("3 True True\n", "")


def test_containers_on_one_folder_do_not_touch_each_others_files(program, tmp_path, container):
    """The runs are process 1, and their children have the same numbers."""
    program(CONTAINED)
    runs = [start(["-l", "--prof-child-procs", "prog.py", str(n)], tmp_path, container) for n in (100, 200, 300)]
    wait_for(lambda: len(list(tmp_path.glob("ready*"))) == 3)
    (tmp_path / "go").touch()
    told = [process.communicate(timeout=300) for process in runs]
    names = [name for out, _ in told for name in written(out)]
    assert sorted(names) == ["prog.py-1-2.lprof", "prog.py-1.lprof", "prog.py.lprof"]
    assert [turns(tmp_path / name) for name in names] == [130, 230, 330]
    for name in names:
        processes = Profile(tmp_path / name).raw["processes"]
        assert [row["parent"] for row in processes] == [0, 1, 1]
    assert "did not end" not in str(told) and not list(tmp_path.glob("*.live"))


def test_a_killed_run_of_a_container_is_told_from_a_running_one(program, tmp_path, container):
    """Nobody can ask for a process of another pid namespace by its number."""
    program("work(5)\nprint('ready', flush=True)\nwait('go')\n")
    process = start(["-l", "prog.py"], tmp_path, [*container, "--kill-child"])
    assert process.stdout.readline() == "ready\n"
    live = "prog.py.lprof.live"
    assert "is still running" in run_viewer([live], tmp_path).out
    process.kill()
    process.communicate()
    wait_for(lambda: "did not end by itself" in run_viewer([live], tmp_path).out)
    (tmp_path / "go").touch()
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert re.search(r"an earlier run \(process 1\) did not end by itself; its profile is kept", ended.err)
    assert written(ended.out) == ["prog.py.lprof"]


def test_where_nobody_can_tell_the_file_stays(program, tmp_path, container):
    """On an overlay file system a lock ends with its descriptor."""
    program("work(5)\nprint('ready', flush=True)\nwait('go')\n")
    for name in "lower", "upper", "work", "folder":
        (tmp_path / name).mkdir()
    folder = tmp_path / "folder"
    shutil.copy(tmp_path / "prog.py", tmp_path / "lower")
    layers = ",".join(f"{name}dir={tmp_path}/{name}" for name in ("lower", "upper", "work"))
    mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting an overlay needs root")
    try:
        process = start(["-l", "prog.py"], folder, [*container, "--kill-child"])
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.communicate()
        (folder / "go").touch()
        live = (folder / "prog.py.lprof.live").read_bytes()
        assert "may still be running where it began" in run_viewer(["prog.py.lprof.live"], folder).out
        ended = run_ckernprof(["-l", "prog.py"], folder)
        assert re.search(r"'.*/prog\.py\.lprof\.live' belongs to process 1 on '.*', which may still run; it is left alone",
                         ended.err)
        [own] = written(ended.out)
        assert re.fullmatch(r"prog\.py-\d+\.lprof", own) and turns(folder / own) == 5
        assert (folder / "prog.py.lprof.live").read_bytes() == live
        # in the same pid namespace the number, with the process's start, is enough
        run_ckernprof(["-l", "-o", "x.lprof", "-c", "import os\ndef f(): os._exit(0)\nf()"], folder)
        ended = run_ckernprof(["-l", "-o", "x.lprof", "-c", "def f(): pass\nf()"], folder)
        assert "did not end by itself; its profile is kept" in ended.err and written(ended.out) == ["x.lprof"]
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


NESTED = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
work(1)
if libc.unshare(0x20000000):  # CLONE_NEWPID
    os._exit(77)
inner = os.fork()  # has number 1, as its parent
if inner == 0:
    work(30)
    if sys.argv[1] == "exit":
        sys.exit()
    os._exit(0)
os.waitpid(inner, 0)
work(200)
"""


@pytest.mark.parametrize("how", ["exit", "end"])
@pytest.mark.parametrize("options", [[], ["--prof-child-procs"]])
def test_a_child_with_its_parents_number_is_no_parent(program, tmp_path, container, how, options):
    program(NESTED)
    ended = run([*container, *ckernprof("-l", *options, "prog.py", how)], tmp_path)
    if ended.code == 77:
        pytest.skip("no new pid namespace here")
    assert (ended.code, ended.err, written(ended.out)) == (0, "", ["prog.py.lprof"])
    assert turns(tmp_path / "prog.py.lprof") == (231 if options else 201)
    assert not list(tmp_path.glob("*.live"))
