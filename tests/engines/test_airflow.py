# SPDX-License-Identifier: MIT
"""Airflow's own runners of a task and of a DAG, in one process each."""
import pytest
from engine import hits, needs, profiled, profiles, run_ended

pytestmark = needs()

DAG = """\
from airflow.sdk import dag, task
IMPORT

MARK
def work(n):
    for i in range(n):
        done = i  # turn
    return n

@dag
def sums():
    @task
    def total():
        return sum(map(work, range(10)))
    total()

sums()
"""
RUNS = [["tasks", "test", "sums", "total"], ["dags", "test", "sums"]]


@pytest.fixture
def environment(airflow_python, tmp_path):
    (tmp_path / "dags").mkdir()
    home = {"AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "HOME": str(tmp_path)}
    run_ended([airflow_python, "-m", "airflow", "db", "migrate"], tmp_path, env=home)
    return home


@pytest.mark.parametrize("words", RUNS)
@pytest.mark.parametrize("by", ["ckernprof", "CLINEPROF=1"])
def test_a_task(airflow_python, environment, tmp_path, by, words):
    file = tmp_path / "dags" / "sums.py"
    if by == "ckernprof":
        file.write_text(DAG.replace("IMPORT", "").replace("MARK", ""))
        command = profiled(airflow_python, "-l", "--prof-child-procs", "-p", "dags/sums.py", "-m", "airflow", *words)
        ended, name = run_ended(command, tmp_path, env=environment), "airflow.lprof"
    else:
        file.write_text(DAG.replace("IMPORT", "from clineprof import profile").replace("MARK", "@profile"))
        ended = run_ended([airflow_python, "-m", "airflow", *words], tmp_path, env={**environment, "CLINEPROF": "1"})
        name = "profile_output.lprof"
    assert profiles(tmp_path) == [name], ended.out + ended.err
    assert hits(tmp_path / name, file, "# turn") == sum(range(10))
