# SPDX-License-Identifier: MIT
"""A run whose processes did the work unprofiled says so, and names the option that profiles them. joblib and Dask start
their processes in ways of their own; Celery's and gunicorn's first process never runs what was selected."""
import re
import signal
import time

import pytest
from engine import needs, profiled, run_ended, started

JOBS = """\
import time

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds
"""
PROGRAMS = {
    "joblib": """\
from joblib import Parallel, delayed
from jobs import work

if __name__ == "__main__":
    print(sum(Parallel(n_jobs=2)(delayed(work)(2) for _ in range(4))))
""",
    "distributed": """\
from distributed import Client, LocalCluster
from jobs import work

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        print(sum(client.gather(client.map(work, [2] * 4, pure=False))))
""",
}
TOOK = (r"^ckernprof: the processes that the program started took [\d.]+ s of processor time, the program itself "
        r"[\d.]+ s; --prof-child-procs profiles those that run Python, too$")
IDLE = (r"^ckernprof: (\w+), \w+\.py:\d+, did not run in this process, and the program started other processes; "
        r"--prof-child-procs profiles (?:them|those that run Python), too$")


@pytest.mark.parametrize("selected, told", [("jobs", IDLE), ("it.py", TOOK)])
@pytest.mark.parametrize("package", [pytest.param("joblib", marks=needs("joblib")),
                                     pytest.param("distributed", marks=needs("distributed", heavy=False))])
def test_programs(python, tmp_path, package, selected, told):
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "it.py").write_text(PROGRAMS[package])
    ended = run_ended(profiled(python, "-l", "-p", selected, "it.py"), tmp_path)
    assert ended.out.startswith("8\n") and len(re.findall(told, ended.err, re.M)) == 1, ended.err


CELERY = """\
from celery import Celery

app = Celery("app", broker="memory://")

@app.task
def work():
    pass

def application(environ, start_response):
    start_response("200 OK", [])
    return []
"""


@pytest.mark.parametrize("words", [
    pytest.param(["celery", "-A", "app", "worker", "-c", "1"], marks=needs("celery")),
    pytest.param(["gunicorn", "--workers", "1", "-b", "unix:s.sock", "app:application"],
                 marks=needs("celery", "gunicorn")),
])
def test_servers(python, tmp_path, words):
    (tmp_path / "app.py").write_text(CELERY)
    with started(profiled(python, "-l", "-p", "app", "-m", *words), tmp_path, {"HOME": str(tmp_path)}) as server:
        mark = {"celery": "celery@", "gunicorn": "Booting worker"}[words[0]]
        server.wait_until(lambda: mark in server.said())
        time.sleep(1)  # the worker has begun when it is sent a signal
        server.end(signal.SIGTERM)
    assert re.search(IDLE, server.said(), re.M), server.said()
