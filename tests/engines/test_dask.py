# SPDX-License-Identifier: MIT
"""clineprof.dask on a real cluster: every task that ran is in the profile, to the hit, whatever becomes of the worker
that ran it."""
import pytest
from engine import hits, needs, profiled, run_ended, started

pytestmark = needs("distributed", heavy=False)

CLUSTER = """\
import signal
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0") as cluster:
        with open("address", "w") as file:
            file.write(cluster.scheduler_address + "\\n")
        signal.pause()
"""
HEAD = """\
import asyncio
import os
import signal
import sys
import time
import clineprof.dask
from distributed import Client, LocalCluster, get_worker

def work(n):
    for i in range(n):
        done = i  # turn
    return n

def both(client, number=100, **more):
    return sum(client.gather(client.map(work, range(number), pure=False, **more)))

def scale(client, cluster, number):
    "Ends workers once no results are kept, as what is lost with a worker is computed again."
    while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
        time.sleep(0.05)
    cluster.scale(number)
    while len(client.scheduler_info(n_workers=-1)["workers"]) > number:
        time.sleep(0.05)
"""
TURNS = sum(range(100))


class Driver:
    """Runs programs that use the cluster at an address."""

    def __init__(self, python, folder, address):
        self.python, self.folder, self.address = python, folder, address

    def environment(self):
        (self.folder / "tmp").mkdir(exist_ok=True)
        return {"TMPDIR": str(self.folder / "tmp"), "PYTHONPATH": str(self.folder), "ADDRESS": self.address}

    def run(self, text, command=None):
        """Runs a program below HEAD, which must leave nothing in the temporary folder; what it said."""
        (self.folder / "prog.py").write_text(HEAD + text)
        ended = run_ended([*(command or [self.python]), "prog.py"], self.folder, self.environment())
        assert self.left() == []
        return ended

    def left(self):
        return [path.name for path in (self.folder / "tmp").iterdir() if path.name.startswith("clineprof")]

    def turns(self, name="run.lprof"):
        """How often the line of work() ran that is marked `turn`."""
        return hits(self.folder / name, self.folder / "prog.py", "# turn")


@pytest.fixture(scope="module")
def cluster(python, tmp_path_factory):
    """A driver for a cluster of two workers with two threads each, and with nannies."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "cluster.py").write_text(CLUSTER)
    driver = Driver(python, folder, "")
    with started([python, "cluster.py"], folder, driver.environment()) as program:
        program.wait_until(lambda: (folder / "address").exists() and (folder / "address").read_text().endswith("\n"))
        driver.address = (folder / "address").read_text().strip()
        yield driver


@pytest.fixture
def alone(python, tmp_path):
    """A driver for programs that make a cluster of their own."""
    return Driver(python, tmp_path, "")


# ---- a block ----


def test_functions_of_main_count_to_the_hit_and_only_in_the_block(cluster):
    said = cluster.run("""
with Client(os.environ["ADDRESS"]) as client:
    both(client)
    with clineprof.dask.profile(client, ["__main__.*"], "run.lprof") as run:
        print(both(client, 1000))
    both(client)
    print(sorted(function.name for function in run.profile.functions), len(run.profile.processes))
    print([line.text for line in run.profile.functions[0].lines if line.hits == 499500])
    print(client.run(lambda: __import__("clineprof._engines")._engines._sessions == {}))
""")
    assert said.out.splitlines()[:3] == ["499500", "['work'] 2", "['        done = i  # turn']"]
    assert said.out.count("True") == 2  # no worker counts any more
    assert said.err == f"Wrote what 2 worker processes counted to '{cluster.folder}/run.lprof'\n"
    assert cluster.turns() == 499500


def test_modules_that_workers_import(cluster):
    (cluster.folder / "mypkg.py").write_text(HEAD[HEAD.index("def work"):HEAD.index("def both")])
    cluster.run("""
import mypkg
with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, "mypkg", "run.lprof"):
        print(sum(client.gather(client.map(mypkg.work, range(100)))))
        both(client)
""")
    assert hits(cluster.folder / "run.lprof", cluster.folder / "mypkg.py", "# turn") == TURNS
    assert cluster.turns() == 0


def test_marked_functions_count_without_a_pattern(cluster):
    """In a program that ckernprof runs."""
    cluster.run("""
work = profile(work)
with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, [], "run.lprof"):
        both(client)
    work(7)
""", profiled(cluster.python, "-l", "-o", "driver.lprof"))
    assert cluster.turns() == TURNS
    assert cluster.turns("driver.lprof") == 7


def test_blocks_in_a_block_and_after_it(cluster):
    cluster.run("""
with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
        both(client)
        with clineprof.dask.profile(client, ["__main__.work"], "inner.lprof"):
            both(client)
        both(client)
    with clineprof.dask.profile(client, ["__main__.*"], "later.lprof", memory=False, cpu=True):
        both(client)
""")
    assert [cluster.turns(name) for name in ("run.lprof", "inner.lprof", "later.lprof")] == [3 * TURNS, TURNS, TURNS]


def test_an_exception_goes_on_and_the_profile_is_written(cluster):
    said = cluster.run("""
def fails(n):
    work(n)
    raise ValueError(n)

with Client(os.environ["ADDRESS"]) as client:
    try:
        with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
            client.submit(fails, 5).result()
    except ValueError as error:
        print("went on", error)
""")
    assert said.out == "went on 5\n"
    assert cluster.turns() == 5


def test_a_file_that_cannot_be_written_and_a_wrong_option_are_told_at_once(cluster):
    said = cluster.run("""
with Client(os.environ["ADDRESS"]) as client:
    for path, options in ("missing/run.lprof", {}), ("run.lprof", {"colour": 1}):
        try:
            with clineprof.dask.profile(client, ["__main__.*"], path, **options):
                print("began")
        except (OSError, TypeError) as error:
            print(type(error).__name__)
""")
    assert said.out == "FileNotFoundError\nTypeError\n"


def test_nothing_that_counts_has_run(cluster):
    said = cluster.run("""
with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, ["__main__.wrok"], "run.lprof"):
        both(client)
""")
    assert "clineprof: nothing that counts has run in the workers; wanted: __main__.wrok\n" in said.err


def test_an_asynchronous_client(cluster):
    said = cluster.run("""
async def main():
    async with Client(os.environ["ADDRESS"], asynchronous=True) as client:
        async with clineprof.dask.profile(client, ["__main__.*"], "run.lprof") as run:
            print(sum(await client.gather(client.map(work, range(100)))))
        print(len(run.profile.processes))
        try:
            with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
                pass
        except TypeError as error:
            print(error)

asyncio.run(main())
""")
    assert said.out == f"{TURNS}\n2\nclineprof: this client is asynchronous: use `async with`\n"
    assert cluster.turns() == TURNS


def test_tasks_of_all_kinds(cluster):
    """Coroutines, generators, actors, tasks that fail, are tried again or fork, and their table."""
    said = cluster.run("""
async def waits(n):
    for i in range(n):
        await asyncio.sleep(0)  # awaits
    return n

def gives(n):
    for i in range(n):
        yield i  # yields

def takes(n):
    return sum(gives(n))

class Counter:
    def add(self, n):
        return work(n)

def forks(n):
    if not (child := os.fork()):
        work(1000)
        os._exit(0)
    os.waitpid(child, 0)
    return work(n)

def again(n):
    if not os.path.exists("tried"):
        open("tried", "w").close()
        raise ValueError(work(n))
    return work(n)

def fails(n):
    raise ValueError(n)

with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, ["__main__.*"], "run.lprof", tasks=True) as run:
        client.gather([*client.map(waits, range(10)), client.submit(takes, 50), client.submit(forks, 7)])
        client.submit(again, 3, retries=2).result()
        client.submit(Counter, actor=True).result().add(11).result()
        client.gather(client.map(fails, range(4)), errors="skip")
        client.submit(time.sleep, 0.2).result()
    for row in sorted(run.tasks, key=lambda row: row["key"]):
        print(row["key"], row["tasks"], row["failed"], 1 <= len(row["workers"]) <= 2)
    print(run.tasks[0]["key"], run.tasks[0]["time"] >= 0.2)
""")
    assert said.out.splitlines() == ["Counter 1 0 True", "again 1 0 True", "fails 4 4 True", "forks 1 0 True",
                                     "sleep 1 0 True", "takes 1 0 True", "waits 10 0 True", "sleep True"]
    assert "   Tasks   Failed" in said.err and "       4        4" in said.err
    assert cluster.turns() == 7 + 3 + 3 + 11
    assert hits(cluster.folder / "run.lprof", cluster.folder / "prog.py", "# awaits") == sum(range(10))
    assert hits(cluster.folder / "run.lprof", cluster.folder / "prog.py", "# yields") == 50


def test_a_worker_that_is_killed(cluster):
    """Its nanny starts another one; what the first had counted is kept, and the task is tried again."""
    said = cluster.run("""
def kills(n):
    work(n)
    if not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return n

with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, ["__main__.*"], "run.lprof") as run:
        both(client)
        print(client.submit(kills, 7).result())
        client.wait_for_workers(2)
        both(client)
    print(len(run.profile.processes))
""")
    assert said.out == "7\n3\n"
    assert cluster.turns() == 2 * TURNS + 2 * 7


def test_the_plugin_without_the_context(cluster):
    """On a busy machine Dask may end a worker that it has just restarted once more. Tasks that ran there run again, and
    count again, as far as they had come; so each run that begins is noted."""
    said = cluster.run("""
def noted(n):
    with open("noted", "a") as file:
        file.write(f"{n}\\n")
    return work(n)

def all_noted(client):
    client.gather(client.map(noted, range(100), pure=False))
    return sum(map(int, open("noted")))

with Client(os.environ["ADDRESS"]) as client:
    plugin = clineprof.dask.ClineprofPlugin(["__main__.*"])
    client.register_plugin(plugin)
    ran = all_noted(client)
    print(len(plugin.write(client, "first.lprof").processes), ran)
    client.restart()
    ran = all_noted(client)
    print(len(plugin.write(client, "run.lprof").processes), ran)
    plugin.end(client)
    both(client)
    print(plugin.write(client, "run.lprof"))
""")
    (first, before), (later, ran), (nothing,) = (line.split() for line in said.out.splitlines())
    assert int(first) == 2 and int(later) >= 4 and nothing == "None"
    assert cluster.turns("first.lprof") == int(before) == TURNS
    assert 2 * TURNS <= cluster.turns() <= int(ran)


def test_the_client_is_closed_in_the_block(cluster):
    cluster.run("""
with Client(os.environ["ADDRESS"]) as client:
    with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
        both(client)
        client.close()
with Client(os.environ["ADDRESS"]) as client:
    for name in client.run(lambda dask_worker: [name for name in dask_worker.plugins if "clineprof" in name]):
        pass
""")
    assert cluster.turns() == TURNS


# ---- clusters of other kinds ----


def test_workers_in_the_drivers_own_process(alone):
    said = alone.run("""
with LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster:
    with Client(cluster) as client, clineprof.dask.profile(client, ["__main__.work"], "run.lprof"):
        both(client)
        scale(client, cluster, 1)
        both(client)
    work(7)
""")
    assert "Wrote what 1 worker process counted" in said.err
    assert alone.turns() == 2 * TURNS


def test_workers_that_come_and_go(alone):
    """Without nannies where they come late; all have gone at the end."""
    alone.run("""
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        with clineprof.dask.profile(client, ["__main__.*"], "run.lprof") as run:
            both(client)
            cluster.scale(2)
            client.wait_for_workers(2)
            both(client)
            scale(client, cluster, 0)
        print(len(run.profile.processes))
""")
    assert alone.turns() == 2 * TURNS


ODD = {
    "plain": "",
    "bare": "sys.modules['clineprof'] = None",
    "old": "from clineprof import _boot; _boot.core().__version__ = '0.0.1'",
    "full": "import clineprof._engines; clineprof._engines.place = lambda run: '/proc/nowhere'",
}


def test_odd_workers(alone):
    """One has no clineprof, one another version of it, one cannot write. Their tasks run all the same, and one line
    each tells of the first two."""
    starts = {name: f"import sys; {text}\nfrom distributed.cli.dask_worker import main\nmain()"
              for name, text in ODD.items()}
    said = alone.run(f"""
import subprocess
with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, Client(cluster) as client:
    workers = [subprocess.Popen([sys.executable, "-c", text, cluster.scheduler_address, "--name", name, "--no-nanny",
                                 "--no-dashboard", "--nthreads", "1"], stderr=subprocess.DEVNULL)
               for name, text in {starts}.items()]
    client.wait_for_workers({len(starts)}, timeout=100)
    named = {{info["name"]: address for address, info in client.scheduler_info(n_workers=-1)["workers"].items()}}
    with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
        for number, name in enumerate(named):
            both(client, 10 + number, workers=[named[name]])
        print(*(named[name] for name in ("bare", "old")), sum(sum(range(10 + number)) for number, name
              in enumerate(named) if name != "bare"))
        workers[list({list(starts)}).index("plain")].kill()
    for worker in workers:
        worker.kill()
        worker.wait()
""")
    bare, old, turns = said.out.split()
    lines = [line for line in said.err.splitlines() if line.startswith("clineprof")]
    assert lines[0].startswith(f"clineprof: clineprof does not count in 1 worker: bare at {bare} (No module named")
    assert lines[1] == f"clineprof: clineprof is of another version in 1 worker: old at {old} (0.0.1)"
    assert len(lines) == 2
    assert alone.turns() == int(turns)


def test_the_scheduler_ends_in_the_block(alone):
    said = alone.run("""
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with Client(cluster) as client:
        with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
            print(both(client))
            cluster.close()
""")
    assert said.out == f"{TURNS}\n"
    assert alone.turns() == TURNS


def test_workers_that_something_else_of_clineprof_profiles(alone):
    """Both profiles are whole, and their sum counts nothing twice."""
    alone.run("""
work = profile(work)
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        both(client)
        with clineprof.dask.profile(client, ["__main__.*"], "run.lprof"):
            both(client)
""", profiled(alone.python, "-l", "--prof-child-procs", "-o", "all.lprof"))
    assert alone.turns() == TURNS
    assert alone.turns("all.lprof") == 2 * TURNS
