# SPDX-License-Identifier: MIT
"""Spark, local: every line that ran in a worker is in the profile, to the hit, whatever becomes of the worker. What
should be counted is what the tasks say. A SparkContext takes ten seconds and more to start, so one program does many
jobs, and the tests look at what it has left."""
import json
import os
import subprocess
import sys
import sysconfig

import pytest
from engine import hits, needs, profiled, run_ended
from harness import BUILD, Profile

pytestmark = needs("pyspark", programs=["java"])
with_frames = needs("pandas", "pyarrow")

HEAD = """\
import json
import os
import pathlib
import signal
import sys
import threading

from pyspark import SparkConf, SparkContext, TaskContext

import clineprof.spark
import helpers

told = {}

def start(more=(), **words):
    conf = SparkConf().setAll([("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false"), *more])
    context = SparkContext("local[2,4]", conf=conf, **words)
    context.setLogLevel("OFF")
    return context

def work(n):
    for i in range(n):
        done = i  # turn
    return n
"""
TAIL = """
pathlib.Path(sys.argv[0] + ".json").write_text(json.dumps(told))
"""
HELPERS = """\
from clineprof.spark import profile

def named(n):
    for i in range(n):
        done = i  # named
    return n

def by_reference(n):
    for i in range(n):
        done = i  # by reference
    return n

@profile
def decorated(n):
    for i in range(n):
        done = i  # decorated
    return n
"""

MANY = HEAD + '''
def even(n):
    return n % 2 == 0  # even

def keys(numbers):
    for n in numbers:
        yield n % 10, 1  # keys

def add(one, other):
    return one + other  # add

@clineprof.spark.profile
def marked(n):
    for i in range(n):
        done = i  # marked
    return n

def dies(numbers):
    once = pathlib.Path("died")
    for n in numbers:
        for i in range(n):
            done = i  # before death
        if n == 7 and not once.exists():
            once.write_text(str(n))
            os.kill(os.getpid(), signal.SIGKILL)
        yield n

def raises(numbers):
    once = pathlib.Path("raised")
    for n in numbers:
        for i in range(n):
            done = i  # before failure
        if n == 7 and not once.exists():
            once.write_text(str(n))
            raise ValueError
        yield n

def looks(numbers):
    import clineprof._core
    import clineprof._engines
    folder = clineprof._engines.place("")
    names = [name for name in os.listdir(os.path.dirname(folder)) if name.startswith(os.path.basename(folder))]
    yield os.getpid(), clineprof._core.recording(), names

def pid(numbers):
    yield os.getpid()

context = start()
clineprof.spark.profile(helpers.by_reference)
threads = threading.active_count()
with clineprof.spark.profile_context(context, ["__main__"], "all.lprof") as run:
    many = context.parallelize(range(400), 200)
    told["turn"] = many.map(work).sum()
    few = context.parallelize(range(100), 4)
    told["even"] = len(few.filter(even).collect())
    told["add"] = sorted(few.mapPartitions(keys).reduceByKey(add).collect())
    told["by reference"] = few.map(helpers.by_reference).sum()
    told["decorated"] = few.map(helpers.decorated).sum()
    told["marked"] = few.map(marked).sum()
    told["before death"] = context.parallelize(range(20), 2).mapPartitions(dies).collect()
    told["before failure"] = context.parallelize(range(20), 2).mapPartitions(raises).collect()
    told["taken"] = context.parallelize(range(1000), 1).map(even).take(3)
    told["gathered"] = clineprof.spark.gather(context, "gathered.lprof") is not None
    folder = pathlib.Path(clineprof._engines.place(clineprof.spark._run.name))
    told["files"] = folder.exists()
    cached = few.map(marked)
    cached.count()
    told["counting"] = context.parallelize(range(8), 8).mapPartitions(pid).collect()
told["after"] = context.parallelize(range(8), 8).mapPartitions(looks).collect()
told["cached"] = cached.sum(), context.parallelize(range(8), 8).mapPartitions(looks).collect()
told["gone"] = not folder.exists()
told["threads"] = threading.active_count() - threads
told["stop"] = type(context.stop).__name__
with clineprof.spark.profile_context(context, "helpers.named", "marked.lprof"):
    told["named"] = few.map(helpers.named).sum()
    told["marked again"] = few.map(marked).sum()
    told["unmarked"] = few.map(work).sum()
context.stop()
''' + TAIL

FRAMES = HEAD.replace("import clineprof.spark", """import pandas
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf

import clineprof.spark""")
FRAMES += '''
context = start([("spark.sql.shuffle.partitions", "2")])
spark = SparkSession(context)

@udf("long")
def plain(n):
    for i in range(n):
        done = i  # plain
    return n

@pandas_udf("long")
def vector(column: pandas.Series) -> pandas.Series:
    total = 0
    for n in column:
        total += n  # vector
    return column

def frames(parts):
    for part in parts:
        for n in part["id"]:
            done = n  # frames
        yield part

frame = spark.range(0, 100, 1, 4)
with clineprof.spark.profile_context(spark, ["__main__", "helpers.by_reference"], "frames.lprof"):
    told["plain"] = frame.select(plain("id")).rdd.map(lambda row: row[0]).sum()
    told["vector"] = len(frame.select(vector("id")).collect())
    told["frames"] = len(frame.mapInPandas(frames, "id long").collect())
    told["by reference"] = sum(row[0] for row in frame.select(udf(helpers.by_reference, "long")("id")).collect())
told["again"] = frame.select(udf(helpers.by_reference, "long")("id")).count()
spark.stop()
''' + TAIL

OTHERS = HEAD + '''
def job(context, name, functions=("__main__",)):
    with clineprof.spark.profile_context(context, functions, name + ".lprof"):
        told[name] = context.parallelize(range(40), 20).map(work).sum()
    context.stop()

job(start([("spark.python.worker.reuse", "false")]), "fresh")
job(start([("spark.executorEnv.TMPDIR", "/nowhere")]), "unwritable")
context = start([("spark.executorEnv.TMPDIR", "/nowhere"), ("spark.python.worker.reuse", "false")])
job(context, "unwritable and fresh")
os.environ["PYSPARK_PYTHON"] = os.environ["OTHER"]
job(start(), "other")
os.environ["PYSPARK_PYTHON"] = os.environ["WITHOUT"]
job(start(), "without")
os.environ["PYSPARK_PYTHON"] = sys.executable

words = {"profiler_cls": clineprof.spark.Profiler, "udf_profiler_cls": clineprof.spark.Profiler}
more = [("spark.python.profile", "true"), ("spark.clineprof.targets", "__main__")]
context = start(more, **words)
told["profiler"] = context.parallelize(range(40), 4).map(work).sum()
told["profiler 2"] = context.parallelize(range(40), 4).map(work).map(work).sum()
context.show_profiles()
context.dump_profiles("dumped")
os.environ["PYSPARK_PYTHON"] = os.environ["WITHOUT"]
context.stop()
context = start(more, **words)
told["profiler without"] = context.parallelize(range(40), 4).map(work).sum()
context.profiler_collector.profilers.clear()
context.stop()
''' + TAIL

MARKED = HEAD.replace("def work", "@profile\ndef work") + '''
pathlib.Path("imported.py").write_text("""@profile
def imported(n):
    return n  # imported
""")
import imported
context = start()
if "plain" in sys.argv:
    told["turn"] = context.parallelize(range(40), 4).map(work).sum()
else:
    with clineprof.spark.profile_context(context, path="workers.lprof"):
        told["turn"] = context.parallelize(range(40), 4).map(work).map(imported.imported).sum()
    os.environ["PYSPARK_PYTHON"] = os.environ["WITHOUT"]
    context.stop()
    context = start()
    with clineprof.spark.profile_context(context):
        told["without"] = context.parallelize(range(40), 4).map(work).map(imported.imported).sum()
context.stop()
''' + TAIL


class Job:
    """A program that has ended. `told` is what its tasks said."""

    def __init__(self, folder, text, command, env):
        self.folder = folder
        (folder / "job.py").write_text(text)
        (folder / "helpers.py").write_text(HELPERS)
        (folder / "tmp").mkdir()
        self.ended = run_ended([*command[0], "job.py", *command[1]], folder, env={"TMPDIR": str(folder / "tmp"), **env},
                               seconds=580)
        self.told = json.loads((folder / "job.py.json").read_text())

    def hits(self, name, mark, file="job.py"):
        return hits(self.folder / name, self.folder / file, "# " + mark)


@pytest.fixture(scope="module")
def job(tmp_path_factory, python):
    def made(text, env=(), command=None):
        env = {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1", **dict(env)}
        return Job(tmp_path_factory.mktemp("job"), text, command or ([python], []), env)

    return made


@pytest.fixture(scope="module")
def many(job):
    return job(MANY)


@pytest.mark.parametrize("mark", ["turn", "marked"])
def test_functions_that_are_sent_by_value(many, mark):
    gathered_before = {"turn": 79800, "marked": 4950}[mark]
    assert many.told[mark] == gathered_before
    assert many.hits("gathered.lprof", mark) == gathered_before


def test_functions_that_are_imported(many):
    assert many.told["decorated"] == many.told["by reference"] == 4950
    assert many.hits("all.lprof", "decorated", "helpers.py") == 4950
    assert many.hits("all.lprof", "by reference", "helpers.py") == 4950


def test_filters_partitions_and_reductions(many):
    assert many.told["even"] == 50 and many.hits("gathered.lprof", "even") >= 103
    assert many.hits("all.lprof", "keys") == 100
    groups = many.told["add"]
    assert [count for _, count in groups] == [10] * 10
    # The partitions are added up within themselves, then among each other.
    assert many.hits("all.lprof", "add") == 100 - len(groups)


@pytest.mark.parametrize("mark", ["before death", "before failure"])
def test_a_task_that_is_tried_again_counts_as_it_ran(many, mark):
    assert many.told[mark] == list(range(20))
    assert many.hits("all.lprof", mark) == sum(range(20)) + sum(range(8))


def test_workers_run_their_own_code_after_the_run(many):
    assert set(many.told["counting"]) & {pid for pid, _, _ in many.told["after"]}, "no worker was used again"
    for _, counts, names in many.told["after"] + many.told["cached"][1]:
        assert (counts, names) == (False, [])
    assert many.told["files"] and many.told["gone"]
    assert many.told["threads"] == 0
    assert many.told["stop"] == "method"
    assert not [name for name in os.listdir(many.folder / "tmp") if name.startswith("clineprof")]


def test_only_what_is_marked(many):
    assert many.hits("marked.lprof", "marked") == many.told["marked again"] == 4950
    # the workers had imported the module before
    assert many.hits("marked.lprof", "named", "helpers.py") == many.told["named"] == 4950
    assert {name for _, _, name in Profile(many.folder / "marked.lprof").hits()} <= {
        "marked", "decorated", "by_reference", "named"}


def test_processes_of_the_profile(many):
    rows = Profile(many.folder / "all.lprof").raw["processes"]
    assert len({(row["pid"], row["start"]) for row in rows}) == len(rows) >= 3


@pytest.mark.parametrize("_", [pytest.param(0, marks=with_frames)])
def test_udfs(job, _):
    frames = job(FRAMES)
    assert frames.hits("frames.lprof", "plain") == frames.told["plain"] == 4950
    assert frames.hits("frames.lprof", "vector") == frames.told["vector"] == 100
    assert frames.hits("frames.lprof", "frames") == frames.told["frames"] == 100
    assert frames.hits("frames.lprof", "by reference", "helpers.py") == 4950
    assert frames.told["by reference"] == 4950 and frames.told["again"] == 100


@pytest.fixture(scope="module")
def pythons(tmp_path_factory):
    """Interpreters for workers: WITHOUT clineprof, and with one that says it is of an OTHER version."""
    folder, found = tmp_path_factory.mktemp("other"), {}
    for name in "WITHOUT", "OTHER":
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / name], check=True)
        [packages] = (folder / name).glob("lib/*/site-packages")
        lines = [sysconfig.get_path("purelib")]
        if name == "OTHER":
            lines += [str(BUILD / "python"), "import clineprof._core; clineprof._core.__version__ = '0.0.1'"]
        (packages / "a.pth").write_text("\n".join(lines))
        found[name] = str(folder / name / "bin" / "python")
    return found


@pytest.fixture(scope="module")
def others(job, pythons):
    return job(OTHERS, pythons)


@pytest.mark.parametrize("name", ["fresh", "unwritable", "unwritable and fresh", "other"])
def test_workers_of_other_kinds(others, name):
    assert others.told[name] == 780
    assert others.hits(f"{name}.lprof", "turn") == 780


def test_workers_without_clineprof(others):
    assert others.told["without"] == others.told["profiler without"] == 780
    assert not (others.folder / "without.lprof").exists()
    assert "clineprof: no worker has counted anything; 'without.lprof' was not written\n" in others.ended.err


def test_warnings_come_once(others):
    lines = [line for line in others.ended.err.splitlines() if line.startswith("clineprof: workers on")]
    assert [line.partition(" have ")[2].partition(",")[0] for line in lines if " have " in line] == ["clineprof 0.0.1"]
    assert len([line for line in lines if line.endswith("count nothing: No module named 'clineprof'")]) == 2
    assert len(lines) == 3


def test_fresh_workers_leave_no_files(others):
    assert not [name for name in os.listdir(others.folder / "tmp") if name.startswith("clineprof")]
    rows = Profile(others.folder / "fresh.lprof").raw["processes"]
    assert len(rows) >= 20


def test_spark_s_own_interface(others):
    assert others.told["profiler"] == others.told["profiler 2"] == 780
    assert others.hits("dumped/clineprof.lprof", "turn") == 3 * 780
    assert os.listdir(others.folder / "dumped") == ["clineprof.lprof"]
    assert others.ended.out.count("Function: work at line") == 1
    assert "done = i  # turn" in others.ended.out


def test_functions_marked_under_ckernprof(job, python, pythons):
    """Modules that the workers import use the builtin profile, too."""
    with_context = job(MARKED, pythons, (profiled(python, "-l"), []))
    assert with_context.told == {"turn": 780, "without": 780}
    assert with_context.hits("workers.lprof", "turn") == 780
    assert with_context.hits("workers.lprof", "imported", "imported.py") == 40


def test_functions_marked_under_ckernprof_run_plainly_in_workers(job, python, pythons):
    plain = job(MARKED, pythons, (profiled(python, "-l"), ["plain"]))
    assert plain.told["turn"] == 780
    assert "clineprof.spark counts it on a cluster" in plain.ended.out + plain.ended.err
