# SPDX-License-Identifier: MIT
"""clineprof.ray on a real Ray: the lines of tasks and actors of every kind are in the profile, to the hit, whatever
ends the workers. The tasks return how often the lines ran."""
import json
import os

import pytest
from engine import hits, needs, profiled, run_ended
from harness import Profile

pytestmark = needs("ray")

INIT = "num_cpus=2, include_dashboard=False, object_store_memory=80_000_000"
MODULE = """\
def job(n):
    for i in range(n):
        done = i  # imported
    return n
"""
MARKED = """\
import os

@profile
def marked(n):
    return n  # marked module
"""
HOOK = """\
import os

def hook():
    os.environ["HOOKED"] = "yes"
"""
EVERYTHING = """\
import asyncio, json, os, signal, sys, time
import ray
from ray.util.multiprocessing import Pool
import clineprof.ray

def helper(n):
    for i in range(n):
        done = i  # helper
    return n

@ray.remote
def task(n):
    return helper(n)  # task

@ray.remote
class Actor:
    def __init__(self):
        self.calls = 0

    def call(self):
        self.calls += 1  # actor
        return self.calls

@ray.remote
class Async:
    async def call(self, n):
        await asyncio.sleep(0.001)
        return n  # async

@ray.remote(max_concurrency=4)
class Threads:
    def call(self, n):
        time.sleep(0.001)
        for i in range(n):
            done = i  # threads
        return n

@ray.remote
def outer(n):
    return sum(ray.get([inner.remote(i) for i in range(n)]))

@ray.remote
def inner(n):
    for i in range(n):
        done = i  # nested
    return n

@ray.remote(num_returns="streaming")
def stream(n):
    for i in range(n):
        yield i  # stream

@ray.remote(max_retries=3)
def retried(path):
    with open(path, "a") as file:
        file.write("x")  # retried
    if os.path.getsize(path) < 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.path.getsize(path)

@ray.remote
def imports(n):
    import mypkg.jobs
    return mypkg.jobs.job(n)

@ray.remote(runtime_env={"env_vars": {"MINE": "mine"}})
def environment():
    return list(map(os.environ.get, ["MINE", "GIVEN", "BASE", "HOOKED"]))  # environment

def squared(n):
    return n * n  # pool

def run():
    given = clineprof.ray.runtime_env(
        ["__main__.*", "mypkg"], env={"GIVEN": "given"},
        base={"env_vars": {"BASE": "base", "PYTHONPATH": sys.argv[1]}, "worker_process_setup_hook": "myhook.hook"})
    ray.init(INIT, runtime_env=given)
    told = {}
    told["helper"] = sum(ray.get([task.remote(n % 7) for n in range(1000)]))
    actor = Actor.remote()
    told["actor"] = ray.get([actor.call.remote() for _ in range(100)])[-1]
    told["first"] = sum(any(f["hits"]) for f in clineprof.ray.gather("first.lprof").functions if f.name == "task")
    ray.kill(actor)
    several, threads = Async.remote(), Threads.remote()
    told["async"] = len(ray.get([several.call.remote(n) for n in range(50)]))
    told["threads"] = sum(ray.get([threads.call.remote(n) for n in range(60)]))
    told["nested"] = sum(ray.get([outer.remote(n) for n in range(5)]))
    told["stream"] = len([ray.get(one) for one in stream.remote(9)])
    told["retried"] = ray.get(retried.remote(os.path.abspath("tries")))
    told["imported"] = sum(ray.get([imports.remote(n) for n in range(10)]))
    told["environment"] = ray.get(environment.remote())
    with Pool(2) as pool:
        told["pool"] = len(pool.map(squared, range(40)))
    told["names"] = [f.name for f in clineprof.ray.gather("run.lprof").functions]
    ray.shutdown()
    return told

if __name__ == "__main__":
    print(json.dumps(run()))
"""
COUNTED = {"# " + name: name for name in ("helper", "actor", "async", "threads", "nested", "stream", "retried", "pool")}


def environment(folder):
    """Folders of runs go to `temporary`. Those of Ray do not: the paths of its sockets would be too long."""
    (folder / "temporary").mkdir(exist_ok=True)
    return {"TMPDIR": str(folder / "temporary"), "RAY_TMPDIR": "/tmp", "RAY_AUTH_MODE": "disabled"}


def nothing_is_left(folder):
    return [name for name in os.listdir(folder / "temporary") if "clineprof" in name] == []


def script(folder, text, name="driver.py"):
    path = folder / name
    path.write_text(text.replace("ray.init(INIT", f"ray.init({INIT}"))
    return path


@pytest.fixture(scope="module")
def everything(tmp_path_factory, python):
    """The folder of a run in which everything is done once, what the tasks have told, and the messages."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "more" / "mypkg").mkdir(parents=True)
    (folder / "more" / "mypkg" / "__init__.py").touch()
    (folder / "more" / "mypkg" / "jobs.py").write_text(MODULE)
    (folder / "more" / "myhook.py").write_text(HOOK)
    script(folder, EVERYTHING)
    ended = run_ended([python, "driver.py", folder / "more"], folder, environment(folder))
    return folder, json.loads(ended.out.splitlines()[-1]), ended.err


@pytest.mark.parametrize("mark", COUNTED)
def test_what_is_defined_in_the_script_counts(everything, mark):
    folder, told, _ = everything
    assert hits(folder / "run.lprof", folder / "driver.py", mark) == told[COUNTED[mark]] > 0


def test_a_module_that_workers_import_counts(everything):
    folder, told, _ = everything
    assert hits(folder / "run.lprof", folder / "more" / "mypkg" / "jobs.py", "# imported") == told["imported"] > 0


def test_the_profile_can_be_gathered_in_between(everything):
    folder, told, err = everything
    assert told["first"] == 1
    assert hits(folder / "first.lprof", folder / "driver.py", "# helper") == told["helper"]
    assert hits(folder / "first.lprof", folder / "driver.py", "# pool") == 0
    workers = sum(row["events"] > 0 for row in Profile(folder / "run.lprof").raw["processes"])
    assert f"clineprof: 'run.lprof' has what {workers} workers on 1 node counted\n" in err and workers > 5


def test_functions_of_ray_that_wrap_those_of_the_script_do_not_count(everything):
    folder, _, _ = everything
    files = {os.path.basename(file) for file, _, _ in Profile(folder / "run.lprof").functions}
    assert files == {"driver.py", "__init__.py", "jobs.py"}


def test_the_users_own_environment_and_hook_stay(everything):
    folder, told, _ = everything
    assert told["environment"] == ["mine", "given", "base", "yes"]
    assert hits(folder / "run.lprof", folder / "driver.py", "# environment") == 1


def test_nothing_is_left_behind(everything):
    assert nothing_is_left(everything[0])


# ---- marked functions ----

MARKS = """\
import sys
import ray
import marks

@ray.remote
@profile
def task(n):
    return n  # task

@ray.remote
class Actor:
    @profile
    def call(self, n):
        return n  # actor

@ray.remote
def outer(n):
    @profile
    def inner(n):
        return n  # inner
    return inner(n)

@ray.remote
def imports(n):
    import marks
    return marks.marked(n)

if __name__ == "__main__":
    given = None
    if sys.argv[1:] == ["count"]:
        import clineprof.ray
        given = clineprof.ray.runtime_env(env={"PYTHONPATH": "."})
    ray.init(INIT, runtime_env=given)
    actor = Actor.remote()
    plain = ray.remote(marks.marked)
    asks = plain.remote, task.remote, actor.call.remote, outer.remote, imports.remote
    for ask in reversed(asks) if sys.argv[1:] == ["backwards"] else asks:
        assert sum(ray.get([ask(n) for n in range(20)])) == 190
    if given:
        clineprof.ray.gather("run.lprof")
"""


@pytest.fixture
def marks(tmp_path, python):
    """marks(options, words) runs the script under ckernprof, and returns what it said."""
    (tmp_path / "marks.py").write_text(MARKED)
    script(tmp_path, MARKS)

    def run(options, words):
        return run_ended(profiled(python, "-l", *options, "driver.py", *words), tmp_path, environment(tmp_path)).err

    return run


def of_marks(path, folder):
    marked = [hits(path, folder / "driver.py", mark) for mark in ("# task", "# actor", "# inner")]
    return [*marked, hits(path, folder / "marks.py", "# marked module")]


def test_marked_functions_count_without_being_named(marks, tmp_path):
    err = marks([], ["count"])
    assert of_marks(tmp_path / "run.lprof", tmp_path) == [20, 20, 20, 40]
    assert "'run.lprof' has what it did in other processes\n" in err
    assert "--prof-child-procs" not in err and "was pickled" not in err
    assert nothing_is_left(tmp_path)


@pytest.mark.parametrize("words", [[], ["backwards"]])
def test_marked_functions_run_as_plain_code_where_nothing_counts(marks, words):
    """The first to arrive may be a function by reference, or one whose body imports a module with marks."""
    err = marks([], words)
    assert err.count(" was pickled; ") == err.count("clineprof.ray counts it on a cluster\n") == 1


def test_workers_of_a_local_ray_are_child_processes(marks, tmp_path):
    marks(["--prof-child-procs"], [])
    assert of_marks(tmp_path / "driver.py.lprof", tmp_path) == [20, 20, 20, 40]


def test_a_pythonpath_of_the_user_does_not_hide_that_of_ckernprof(marks, tmp_path):
    marks(["--prof-child-procs"], ["count"])
    assert of_marks(tmp_path / "driver.py.lprof", tmp_path) == [20, 20, 20, 40]


# ---- what may go wrong ----

FAILURE = """\
import os, sys
import ray
import clineprof.ray

@ray.remote
def task(n):
    return n  # task

if __name__ == "__main__":
    name, value = sys.argv[1:]
    given = clineprof.ray.runtime_env("__main__.*", env={name: value})
    if name == "TMPDIR":
        for folder in os.listdir(os.environ["TMPDIR"]):
            open(os.path.join(value, folder), "w")
    ray.init(INIT, runtime_env=given)
    assert sum(ray.get([task.remote(n) for n in range(100)])) == 4950
    clineprof.ray.gather("run.lprof")
"""


def run_with(python, folder, name, value):
    script(folder, FAILURE)
    ended = run_ended([python, "driver.py", name, value], folder, environment(folder))
    assert nothing_is_left(folder)
    return ended.out + ended.err


def test_workers_without_clineprof(python, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "clineprof.py").write_text("raise ImportError('none here')")
    said = run_with(python, tmp_path, "PYTHONPATH", tmp_path / "bad")
    assert said.count("clineprof: workers do not count: ImportError: none here") == 1
    assert said.count("did not tell what it has counted: ") == 1
    assert "no worker has counted anything; 'run.lprof' was not written\n" in said


def test_workers_with_another_version(python, tmp_path):
    """Their profile counts, if it can be read."""
    (tmp_path / "sitecustomize.py").write_text("from clineprof import _engines\n_engines.version = lambda: '9.8'\n")
    said = run_with(python, tmp_path, "PYTHONPATH", tmp_path)
    assert said.count("clineprof: workers have clineprof 9.8, and the driver has ") == 1
    assert hits(tmp_path / "run.lprof", tmp_path / "driver.py", "# task") == 100


def test_workers_that_cannot_write(python, tmp_path):
    (tmp_path / "full").mkdir()
    said = run_with(python, tmp_path, "TMPDIR", tmp_path / "full")
    assert "File exists; what this worker counts may be lost" in said


NODES = """\
import time
import ray
from ray.cluster_utils import Cluster
import clineprof.ray

@ray.remote
def task(n):
    time.sleep(0.01)
    return n  # task

if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    node = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, runtime_env=clineprof.ray.runtime_env("__main__.*"), log_to_driver=False)
    ray.get([task.remote(n) for n in range(200)])
    clineprof.ray.gather("two.lprof")
    cluster.remove_node(node, allow_graceful=False)
    ray.get([task.remote(n) for n in range(50)])
    clineprof.ray.gather("one.lprof")
    ray.shutdown()
    cluster.shutdown()
"""


def test_a_cluster_of_two_nodes_one_of_which_is_lost(python, tmp_path):
    """Both are on one machine here, so what the lost node counted is still found."""
    script(tmp_path, NODES)
    err = run_ended([python, "driver.py"], tmp_path, environment(tmp_path)).err
    assert "'two.lprof' has what 2 workers on 2 nodes counted\n" in err
    assert "workers on 1 node counted\n" in err
    assert hits(tmp_path / "two.lprof", tmp_path / "driver.py", "# task") == 200
    assert hits(tmp_path / "one.lprof", tmp_path / "driver.py", "# task") >= 250
    assert nothing_is_left(tmp_path)


WRONG = """\
import ray
import clineprof.ray

for act in (lambda: clineprof.ray.gather("x"), lambda: clineprof.ray.runtime_env([1]),
            lambda: clineprof.ray.runtime_env(memroy=False), lambda: clineprof.ray.runtime_env(tracer="x"),
            lambda: clineprof.ray.runtime_env("x") and clineprof.ray.gather("x")):
    try:
        act()
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_wrong_use(python, tmp_path):
    script(tmp_path, WRONG)
    lines = run_ended([python, "driver.py"], tmp_path, environment(tmp_path)).out.splitlines()
    assert lines == [
        "RuntimeError clineprof.ray.gather: ray.init has no runtime_env of clineprof.ray.runtime_env()",
        "TypeError clineprof: what is counted is given by names, such as '__main__.*' or 'mypkg'",
        lines[2],
        "ValueError clineprof: there is no tracer 'x'",
        "RuntimeError clineprof.ray.gather: Ray does not run; call gather() before ray.shutdown()",
    ]
    assert lines[2].startswith("TypeError ") and "'memroy'" in lines[2]
    assert nothing_is_left(tmp_path)
