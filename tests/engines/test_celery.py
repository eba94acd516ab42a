# SPDX-License-Identifier: MIT
"""Celery with its prefork pool and a broker of files: every task that ran is in the profile, to the hit, whatever ends
the worker's processes."""
import os
import signal

import pytest
from engine import hits, needs, profiled, profiles, run_ended, started
from harness import Profile

pytestmark = needs("celery")

APP = """\
import os

from celery import Celery

os.makedirs("queue", exist_ok=True)
os.makedirs("results", exist_ok=True)
app = Celery("app", broker="filesystem://", backend="file://results")
app.conf.broker_transport_options = {"data_folder_in": "queue", "data_folder_out": "queue"}
"""
TASK = """
def work(n):
    for i in range(n):
        done = i  # turn
    return n

@app.task
def lost(n):
    work(n)
    os.kill(os.getpid(), 9)
"""
ASK = """\
from app import work

asked = [work.delay(n) for n in range(30)]
print(sum(task.get(timeout=100) for task in asked))
"""
TURNS = sum(range(30))
WORKER = ["-m", "celery", "-A", "app", "worker", "-c", "2"]


@pytest.fixture(params=["ckernprof", "CLINEPROF=1"])
def worker(request, tmp_path, python):
    """worker(words) starts a worker with two processes that takes tasks, and returns its command, environment and the
    name of the profile."""
    explicit = request.param == "CLINEPROF=1"
    mark = "from clineprof import profile\n\n@app.task\n@profile" if explicit else "\n@app.task"
    (tmp_path / "app.py").write_text(APP + mark + TASK)
    (tmp_path / "ask.py").write_text(ASK)

    def start(*words):
        if explicit:
            return started([python, *WORKER, *words], tmp_path, {"CLINEPROF": "1"})
        return started(profiled(python, "-l", "--prof-child-procs", "-p", "app", "-o", "profile_output.lprof", *WORKER,
                                *words), tmp_path)

    return start


def ask(python, folder):
    assert run_ended([python, "ask.py"], folder).out == f"{TURNS}\n"


def of_processes(folder):
    """{name of the process: events}"""
    rows = Profile(folder / "profile_output.lprof").raw["processes"]
    return {row.get("name", ""): row["events"] for row in rows}


def test_a_warm_shutdown(worker, python, tmp_path):
    with worker() as celery:
        ask(python, tmp_path)
        assert celery.end() == 0, celery.said()
    assert profiles(tmp_path) == ["profile_output.lprof"], celery.said()
    assert hits(tmp_path / "profile_output.lprof", tmp_path / "app.py", "# turn") == TURNS
    assert {"ForkPoolWorker-1", "ForkPoolWorker-2"} <= set(of_processes(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGINT])
def test_other_shutdowns(worker, python, tmp_path, number):
    with worker() as celery:
        ask(python, tmp_path)
        celery.end(number)
    assert profiles(tmp_path) == ["profile_output.lprof"], celery.said()
    assert hits(tmp_path / "profile_output.lprof", tmp_path / "app.py", "# turn") == TURNS


def test_processes_that_are_replaced_after_some_tasks(worker, python, tmp_path):
    with worker("--max-tasks-per-child", "3") as celery:
        ask(python, tmp_path)
        assert celery.end() == 0, celery.said()
    assert profiles(tmp_path) == ["profile_output.lprof"], celery.said()
    assert hits(tmp_path / "profile_output.lprof", tmp_path / "app.py", "# turn") == TURNS
    assert len([name for name in of_processes(tmp_path) if name.startswith("ForkPoolWorker-")]) >= 10


def test_a_process_that_is_killed_in_a_task(worker, python, tmp_path):
    """Celery starts another one; what the first had counted is kept."""
    with worker() as celery:
        ask(python, tmp_path)
        lost = "import app; print(type(app.lost.delay(7).get(timeout=100, propagate=False)).__name__)"
        assert run_ended([python, "-c", lost], tmp_path).out == "WorkerLostError\n"
        ask(python, tmp_path)
        assert celery.end() == 0, celery.said()
    assert profiles(tmp_path) == ["profile_output.lprof"], celery.said()
    assert hits(tmp_path / "profile_output.lprof", tmp_path / "app.py", "# turn") == 2 * TURNS + 7
