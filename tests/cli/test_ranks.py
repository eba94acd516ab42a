# SPDX-License-Identifier: MIT
"""Sums of many processes keep who was who: hosts, ranks and processes, and which of them took longest."""

import re
import shutil
import subprocess
import time

import pytest
from harness import BUILD as CHECKOUT
from harness import (
    Profile,
    ckernprof,
    clean_environment,
    line_of,
    run,
    run_ckernprof,
    run_python,
    run_viewer,
)
from known_profiles import BUILD, function, write

pytestmark = pytest.mark.once  # profiles are added up, whoever counted

WORK = """\
import os, time

@profile
def work(rank):
    total = sum(range(100))  # everywhere
    if rank == "2":
        time.sleep(0.3)  # straggler
    return total

work(os.environ.get("RANK") or os.environ.get("OMPI_COMM_WORLD_RANK"))
"""


def start_rank(folder, rank, **more):
    ended = run_ckernprof(["-l", "prog.py"], folder, env={"RANK": str(rank), "WORLD_SIZE": "8", **more})
    assert ended.code == 0, ended.err


def merge(folder, *names):
    ended = run_viewer(["merge", "-o", "all.lprof", *names], folder)
    assert ended.code == 0, ended.err
    return Profile(folder / "all.lprof").raw


@pytest.fixture
def ranks(tmp_path):
    (tmp_path / "prog.py").write_text(WORK)
    for rank in range(4):
        start_rank(tmp_path, rank)
    return tmp_path


# ---- who a process is --------------------------------------------------------------------------


def test_a_profile_says_which_process_it_is_of(tmp_path):
    (tmp_path / "prog.py").write_text(WORK)
    start_rank(tmp_path, 3, TORCHELASTIC_RESTART_COUNT="2")
    meta = Profile(tmp_path / "prog.py.rank3.restart2.lprof").meta
    assert (meta["rank"], meta["restart"]) == ("3", 2)
    with open("/proc/sys/kernel/random/boot_id") as boot, open("/proc/sys/kernel/hostname") as host:
        assert (meta["boot"], meta["host"]) == (boot.read().strip(), host.read().strip())
    assert meta["pid_namespace"] > 0


def test_a_process_that_runs_alone_has_no_rank(tmp_path):
    (tmp_path / "prog.py").write_text(WORK)
    assert run_ckernprof(["-l", "prog.py"], tmp_path).code == 0
    meta = Profile(tmp_path / "prog.py.lprof").meta
    assert "rank" not in meta and "restart" not in meta


def test_a_child_has_the_rank_of_its_parent(tmp_path):
    (tmp_path / "prog.py").write_text(WORK + "if os.fork() == 0:\n    work(0)\n    os._exit(0)\nos.wait()\n")
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path, env={"RANK": "1", "WORLD_SIZE": "2"})
    assert ended.code == 0, ended.err
    rows = Profile(tmp_path / "prog.py.rank1.lprof").raw["processes"]
    assert [row["rank"] for row in rows] == ["1", "1"] and rows[0]["host"] == rows[1]["host"]


def test_mpiruns_ranks(tmp_path):
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun here")
    (tmp_path / "prog.py").write_text(WORK)
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", *map(str, ckernprof("-l", "prog.py"))]
    ended = run(command, tmp_path, env=clean_environment())
    assert ended.code == 0, ended.err
    merge(tmp_path, *(f"prog.py.rank{rank}.lprof" for rank in range(3)))
    table = run_viewer(["--ranks", "--function", "work", "all.lprof"], tmp_path).out
    assert re.findall(r"^ +1 +(\d+) .*$", table.split(" Processes ")[1], re.M) == ["0", "1", "2"]


@pytest.fixture
def host(tmp_path):
    """Returns the command that runs a command on another host: other names, processes and start of the machine."""

    def command(name, boot):
        (tmp_path / f"boot-{name}").write_text(boot + "\n")
        mount = f"mount --bind {tmp_path}/boot-{name} /proc/sys/kernel/random/boot_id"
        return ["unshare", "-u", "-n", "-m", "-p", "-f", "--mount-proc", "sh", "-c",
                f'hostname {name} && {mount} && exec "$@"', "sh"]  # fmt: skip

    try:
        tried = subprocess.run([*command("other", "0"), "true"], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip(f"no namespaces here: {tried.stderr.strip()}")
    return command


TURNS = """\
import os, time

@profile
def work(n):
    for i in range(n):
        done = i  # turn

def fork(n):
    if os.fork() == 0:
        work(n)
        os._exit(0)

fork(10)
work(1)
open(os.environ["SAY"], "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
fork(10)
os.wait(), os.wait()
"""


def test_two_hosts_on_one_folder_leave_each_other_alone(tmp_path, host):
    """Both have the same process numbers, and each other's files lie beside their own."""
    (tmp_path / "prog.py").write_text(TURNS)
    runs = []
    for name, boot in ("hosta", "11111111-1111-4111-8111-111111111111"), ("hostb", "22222222-2222-4222-8222-222222222222"):
        runs.append(subprocess.Popen(
            [*host(name, boot), *map(str, ckernprof("-l", "--prof-child-procs", "prog.py"))], cwd=tmp_path,
            env=clean_environment({"SAY": name}), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))  # fmt: skip
        end = time.monotonic() + 300
        while not (tmp_path / name).exists() and time.monotonic() < end:
            time.sleep(0.01)
    (tmp_path / "go").touch()
    told = [process.communicate(timeout=300) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], told
    profiles = sorted(tmp_path.glob("*.lprof"))
    assert len(profiles) == 2 and not list(tmp_path.glob("*.live")), (profiles, told)
    for path in profiles:
        assert Profile(path).line("work", line_of(tmp_path / "prog.py", "# turn"))["hits"] == 21
    rows = merge(tmp_path, *(path.name for path in profiles))["processes"]
    assert sorted(row["host"] for row in rows) == ["hosta"] * 3 + ["hostb"] * 3
    assert len({row["boot"] for row in rows}) == 2
    by_host = run_viewer(["--by", "host", "all.lprof"], tmp_path)
    assert sorted(re.findall("==== (.*) ====", by_host.out)) == ["Host hosta", "Host hostb"]
    assert len(re.findall(r"^ +\d+ +21 .*# turn$", by_host.out, re.M)) == 2


# ---- what a sum shows --------------------------------------------------------------------------


def test_a_sum_of_ranks_lists_them(ranks):
    rows = merge(ranks, *(f"prog.py.rank{rank}.lprof" for rank in range(4)))["processes"]
    assert [row["rank"] for row in rows] == ["0", "1", "2", "3"]
    table = run_viewer(["--processes", "all.lprof"], ranks).out
    title, _, *lines = table[table.index(" Process ") :].splitlines()
    assert title.split() == ["Process", "Parent", "Rank", "Wall", "(s)", "Lines", "(s)", "Events", "Name"]
    assert [line.split()[2] for line in lines] == ["0", "1", "2", "3"]
    assert [int(line.split()[0]) for line in lines] == [row["pid"] for row in rows]


def test_processes_of_one_rank_are_one_row_of_ranks(ranks):
    start_rank(ranks, 2, TORCHELASTIC_RESTART_COUNT="1")
    merge(ranks, "prog.py.rank2.restart1.lprof", *(f"prog.py.rank{rank}.lprof" for rank in range(4)))
    table = run_viewer(["--ranks", "all.lprof"], ranks).out
    lines = table[table.index(" Processes ") :].splitlines()[2:]
    assert [line.split()[:2] for line in lines] == [["2", "2"], ["1", "0"], ["1", "1"], ["1", "3"]]


def test_the_straggler_is_named(ranks):
    merge(ranks, *(f"prog.py.rank{rank}.lprof" for rank in range(4)))
    shown = run_viewer(["--spread", "all.lprof"], ranks).out
    lines = shown[shown.index("Lines whose self time differs most between 4 processes") :].splitlines()
    assert re.search(r"3 that did not run it .* rank 2 .*prog.py:7 .*# straggler$", lines[4]), lines
    page = run_viewer(["--format", "html", "all.lprof"], ranks).out
    assert re.search(r"<tr><th [^>]*>time.sleep\(0.3\)  # straggler</th>.*?rank 2", page)


def test_of_one_process_there_is_no_spread(ranks):
    shown = run_viewer(["--spread", "--ranks", "prog.py.rank0.lprof"], ranks)
    assert shown.code == 0 and "differs" not in shown.out
    assert "differs" not in run_viewer(["--format", "html", "prog.py.rank0.lprof"], ranks).out


def test_a_report_for_each(ranks):
    merge(ranks, *(f"prog.py.rank{rank}.lprof" for rank in range(4)))
    shown = run_viewer(["--by", "rank", "--columns", "hits", "all.lprof"], ranks).out
    assert re.findall("==== (.*) ====", shown) == ["Rank 0", "Rank 1", "Rank 2", "Rank 3"]
    parts = re.split("==== Rank . ====", shown)[1:]
    assert [bool(re.search(r"^ +7 +1 .*straggler", part, re.M)) for part in parts] == [False, False, True, False]
    host = run_viewer(["--by", "host", "--columns", "hits", "all.lprof"], ranks).out
    assert len(re.findall("==== Host .* ====", host)) == 1 and re.search(r"^ +5 +4 .*everywhere$", host, re.M)
    as_memory = run_viewer(["--by", "rank", "--mp", "all.lprof"], ranks).out
    assert re.findall("==== (.*) ====", as_memory) == ["Rank 0", "Rank 1", "Rank 2", "Rank 3"]
    process = run_viewer(["--by", "process", "all.lprof"], ranks).out
    assert len(re.findall(r"==== Process \d+, rank \d, host .* ====", process)) == 4


@pytest.mark.parametrize("words, told", [
    (["--by", "rank", "-o", "x.txt"], "--by prints reports as text"),
    (["--by", "rank", "--format", "json"], "--by prints reports as text"),
    (["--by", "lane"], "needs host, rank or process, not 'lane'"),
    (["--by", "rank", "prog.py.rank0.lprof"], "--by: the profile is of one process"),
])  # fmt: skip
def test_wrong_uses_of_by(ranks, words, told):
    if not words[-1].endswith("rank0.lprof"):
        words = [*words, "prog.py.rank0.lprof", "prog.py.rank1.lprof"]
    ended = run_viewer(words, ranks)
    assert ended.code != 0 and told in ended.err and ended.err.count("\n") == 1, ended.err


# ---- merging -----------------------------------------------------------------------------------


def write_process(path, pid, hits=3, **meta):
    one = {**BUILD, "lines": {**BUILD["lines"], "hits": [hits, hits]}}
    return write(path, [one], meta={"pid": pid, "start": 5.0, "events": hits, **meta})


def hits(raw):
    return raw["functions"][0]["lines"]["hits"][0]


def test_copies_of_one_process_count_once(tmp_path):
    """In whatever order: the one that has more counts."""
    write_process(tmp_path / "early.lprof", 7, hits=3)
    write_process(tmp_path / "late.lprof", 7, hits=9)
    for names in ("early", "late", "early"), ("late", "early"), ("early", "early", "late"):
        raw = merge(tmp_path, *(f"{name}.lprof" for name in names))
        assert hits(raw) == 9 and len(raw["processes"]) == 1


def test_what_a_process_counted_after_another_start_adds_up(tmp_path):
    write_process(tmp_path / "one.lprof", 7, hits=3)
    write_process(tmp_path / "two.lprof", 7, hits=9, start=6.0)
    assert hits(merge(tmp_path, "one.lprof", "two.lprof")) == 12


def test_equal_numbers_on_two_machines_are_two_processes(tmp_path):
    write_process(tmp_path / "one.lprof", 1, boot="a", pid_namespace=4, host="a")
    write_process(tmp_path / "two.lprof", 1, boot="b", pid_namespace=4, host="b")
    write_process(tmp_path / "three.lprof", 1, boot="b", pid_namespace=5, host="b")
    raw = merge(tmp_path, "one.lprof", "two.lprof", "three.lprof")
    assert hits(raw) == 9 and [row["host"] for row in raw["processes"]] == ["a", "b", "b"]


def test_a_sum_and_a_process_of_it_count_once(tmp_path):
    for pid in 1, 2, 3:
        write_process(tmp_path / f"{pid}.lprof", pid, hits=pid)
    merge(tmp_path, "1.lprof", "2.lprof")
    (tmp_path / "all.lprof").rename(tmp_path / "some.lprof")
    raw = merge(tmp_path, "some.lprof", "2.lprof", "3.lprof")
    assert hits(raw) == 6 and sorted(row["pid"] for row in raw["processes"]) == [1, 2, 3]


def test_a_thousand_workers(tmp_path):
    """The sum knows all of them, and keeps the numbers of the first 256 apart."""
    one = function("a.py", 1, "f", [{"line": 2, "hits": 1, "time": 5, "self": 5}])
    for pid in range(1, 1001):
        one["lines"]["self"] = [pid]
        write(tmp_path / f"{pid}.lprof", [one], meta={"pid": pid, "start": 5.0, "events": 1, "rank": str(pid)})
    raw = merge(tmp_path, *(f"{pid}.lprof" for pid in range(1, 1001)))
    assert len(raw["processes"]) == 1000
    assert sum("numbers" in row for row in raw["processes"]) == 256
    assert raw["functions"][0]["spread"] == [1, 1000, 0, 999, 1000]
    assert "rank 1000" in run_viewer(["--spread", "all.lprof"], tmp_path).out
    ended = run_viewer(["--by", "rank", "all.lprof"], tmp_path)
    assert "no numbers of process 257 alone" in ended.err and ended.code == 1


@pytest.mark.parametrize("spread, told", [
    ([1, 2, 3], "does not have five numbers for each line"),
    ([1, 2, 0, 0, 2**32], "not a number in its range"),
    ("x", "is not a list"),
])  # fmt: skip
def test_a_damaged_spread_is_left_out(tmp_path, spread, told):
    one = function("a.py", 1, "f", [{"line": 2, "hits": 1}])
    write(tmp_path / "x.lprof", [{**one, "spread": spread}])
    ended = run_viewer(["--spread", "x.lprof"], tmp_path)
    assert ended.code == 0 and told in ended.err and "; function f of a.py is read without this part\n" in ended.err


def test_places_that_no_process_has_are_not_shown(tmp_path):
    one = function("a.py", 1, "f", [{"line": 2, "hits": 1}])
    rows = [{"pid": pid, "start": 1.0} for pid in (1, 2)]
    write(tmp_path / "x.lprof", [{**one, "spread": [1, 9, 0, 2**32 - 1, 2]}], processes=rows)
    shown = run_viewer(["--spread", "x.lprof"], tmp_path)
    assert shown.code == 0 and "0 of 0" in shown.out


def test_names_that_hold_anything(tmp_path):
    """What a file says of its processes does not reach the terminal as it is, nor the page."""
    wrong = "\x1b[31m<b>"
    one = function("a.py", 1, "f", [{"line": 2, "hits": 1}])
    rows = [{"pid": pid, "start": 1.0, "rank": wrong + str(pid), "host": wrong * pid, "name": wrong} for pid in (1, 2)]
    write(tmp_path / "x.lprof", [{**one, "spread": [1, 9, 0, 1, 2]}], processes=rows)
    shown = run_viewer(["--spread", "--ranks", "--processes", "x.lprof"], tmp_path)
    assert shown.code == 0 and "\x1b" not in shown.out and "[31m<b>2" in shown.out
    page = run_viewer(["--format", "html", "x.lprof"], tmp_path).out
    assert "\x1b" not in page and "[31m&lt;b&gt;2" in page and "[31m<b>" not in page


MERGING = """\
import sys
import clineprof

contents = [open(path, "rb").read() for path in sys.argv[1:]]
profile = clineprof.loads(clineprof.merge(*contents))
print(sum(profile.functions[0]["hits"]), [row["pid"] for row in profile.processes])
print([(spread.line, spread.most_in["pid"]) for spread in profile.spread()])
assert clineprof.loads(clineprof.dumps(profile)).processes == profile.processes
assert clineprof.merge() == clineprof.merge(clineprof.merge())
for wrong in b"", b"x", contents[0][:-1]:
    try:
        clineprof.merge(contents[0], wrong)
    except ValueError as error:
        print(error)
try:
    clineprof.merge("text")
except TypeError:
    print("no bytes")
"""


def test_merging_in_python(tmp_path):
    (tmp_path / "merging.py").write_text(MERGING)
    for pid in 1, 2:
        one = function("a.py", 1, "f", [{"line": 2, "hits": pid, "self": pid}])
        write(tmp_path / f"{pid}.lprof", [one], meta={"pid": pid, "start": 5.0, "events": 1})
    ended = run_python(["merging.py", "1.lprof", "2.lprof", "1.lprof"], tmp_path,
                       env={"PYTHONPATH": str(CHECKOUT / "python")})
    assert ended.code == 0, ended.err
    total, spread, *faults, text = ended.out.splitlines()
    assert (total, spread, text) == ("3 [1, 2]", "[(2, 2)]", "no bytes")
    assert len(faults) == 3


# ---- only some ranks ---------------------------------------------------------------------------

EVERYWHERE = """\
import sys

@profile
def work(n):
    return n + 1

with profile:
    assert work(1) == 2
print(sys.argv, __name__, type(profile).__module__, work.__name__)
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("rank, counts", [("0", True), ("7", True), ("1", False), ("70", False), (None, True)])
def test_only_these_ranks_are_profiled(tmp_path, rank, counts):
    """The others run the program as it is, with a `profile` that does nothing."""
    (tmp_path / "prog.py").write_text(EVERYWHERE)
    env = {"RANK": rank, "WORLD_SIZE": "80"} if rank else {}
    ended = run_ckernprof(["-l", "--only-ranks", "0,7", "prog.py", "3"], tmp_path, env=env)
    assert ended.code == 3 and ended.err == "", ended.err
    assert ended.out.startswith("['prog.py', '3'] __main__ ")
    assert ("Wrote profile results" in ended.out) == counts
    assert bool(list(tmp_path.glob("*.lprof*"))) == counts


@pytest.mark.parametrize("words", [["-l", "-m", "prog"], ["-l", "-p", "prog.py", "prog.py"], ["-b", "prog.py"]])
def test_a_rank_that_is_left_out_runs_in_any_way(tmp_path, words):
    (tmp_path / "prog.py").write_text(EVERYWHERE)
    ended = run_ckernprof(["--only-ranks", "1", *words, "0"], tmp_path, env={"RANK": "0", "WORLD_SIZE": "2"})
    assert (ended.code, ended.err) == (0, "") and "Wrote" not in ended.out
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["prog.py"]


@pytest.mark.parametrize("value", ["a", "1,", ",1", "1 2", "-1"])
def test_ranks_that_are_none(tmp_path, value):
    (tmp_path / "prog.py").write_text(EVERYWHERE)
    ended = run_ckernprof(["-l", "--only-ranks=" + value, "prog.py", "0"], tmp_path)
    assert ended.code == 2 and "needs numbers with commas between them" in ended.err


# ---- gathering ---------------------------------------------------------------------------------

GATHERING = """\
import os, threading
import clineprof.distributed

@profile
def work(n):
    for i in range(n):
        done = i  # turn

class Comm:
    "As a communicator of mpi4py, in which the second rank sends what the first one has, but of another process."
    def Get_rank(self):
        return int(os.environ["HERE"])
    def gather(self, content, root):
        assert root == 0
        return [content, None, open("other.lprof", "rb").read()] if self.Get_rank() == 0 else None

work(10)
found = clineprof.distributed.gather("all.lprof", Comm())
work(1)
print(found and [row["pid"] == os.getpid() for row in found.processes], os.path.exists("all.lprof"))
alone = clineprof.distributed.gather("alone.lprof")
print(alone.functions[0].name, len(alone.processes))
"""


@pytest.mark.parametrize("here, told", [("0", "[True, False] True"), ("1", "None False")])
def test_gathering_from_a_communicator(tmp_path, here, told):
    (tmp_path / "prog.py").write_text(GATHERING)
    write_process(tmp_path / "other.lprof", 1)
    ended = run_ckernprof(["-l", "prog.py"], tmp_path, env={"HERE": here})
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[:2] == [told, "work 0"]
    if here == "0":
        gathered = Profile(tmp_path / "all.lprof")
        turn = line_of(tmp_path / "prog.py", "# turn")
        assert gathered.line("work", turn)["hits"] == 10 and len(gathered.raw["processes"]) == 2
        assert Profile(tmp_path / "alone.lprof").line("work", turn)["hits"] == 11


TORCH = """\
import os, sys, types

torch = sys.modules["torch.distributed"] = types.ModuleType("torch.distributed")
torch.is_available = torch.is_initialized = lambda: True
torch.get_rank = lambda group: 0
torch.get_world_size = lambda group: 2
torch.get_global_rank = lambda group, rank: {"a group": 4}[group] + rank

def gather_object(content, into, dst, group):
    assert (dst, group) in ((0, None), (4, "a group")) and into == [None, None], (into, dst, group)
    into[:] = content, open("other.lprof", "rb").read()

torch.gather_object = gather_object
import clineprof.distributed
print(len(clineprof.distributed.gather("all.lprof").processes),
      len(clineprof.distributed.gather("some.lprof", "a group").processes))
"""


def test_gathering_by_torch(tmp_path):
    """The calls that torch.distributed has; torch itself is large."""
    (tmp_path / "prog.py").write_text(TORCH)
    write_process(tmp_path / "other.lprof", 1)
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert ended.code == 0 and ended.out.startswith("2 2\n"), ended.err


def test_gathering_by_mpi4py(tmp_path):
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun here")
    (tmp_path / "prog.py").write_text("""\
from mpi4py import MPI
import clineprof.distributed

@profile
def work(n):
    for i in range(n):
        done = i

turns = MPI.COMM_WORLD.Get_rank() + 1
work(turns)
clineprof.distributed.gather("all.lprof")
print("turns", MPI.COMM_WORLD.allreduce(turns))
""")
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", *map(str, ckernprof("-l", "prog.py"))]
    ended = run(command, tmp_path, env=clean_environment())
    assert ended.code == 0, ended.err
    gathered = Profile(tmp_path / "all.lprof")
    assert [row["rank"] for row in gathered.raw["processes"]] == ["0", "1", "2", "3"]
    assert "turns 10\n" in ended.out and gathered.line("work", 7)["hits"] == 10
    ranks = merge(tmp_path, *(f"prog.py.rank{rank}.lprof" for rank in range(4)))
    assert [row["rank"] for row in ranks["processes"]] == ["0", "1", "2", "3"]
    assert Profile(tmp_path / "all.lprof").line("work", 7)["hits"] == 10
