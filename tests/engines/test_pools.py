# SPDX-License-Identifier: MIT
"""Pools with the interface of joblib and multiprocessing whose processes belong to Dask and Ray."""
import pytest
from engine import hits, needs, profiled, run_ended

JOBS = """\
MARK
def work(n):
    for i in range(n):
        done = i  # turn
    return n
"""
PROGRAMS = {
    "dask": """\
import joblib
from distributed import Client, LocalCluster
IMPORT
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        with joblib.parallel_config("dask"):
            print(sum(joblib.Parallel()(joblib.delayed(work)(n) for n in range(20))))
""",
    "ray": """\
import ray
from ray.util.multiprocessing import Pool
IMPORT
if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    with Pool(2) as pool:
        print(sum(pool.map(work, range(20))))
    ray.shutdown()
""",
}
MARKED = "from clineprof import profile\n\n@profile"


@pytest.mark.parametrize("by", ["ckernprof", "CLINEPROF=1"])
@pytest.mark.parametrize("engine", [pytest.param("dask", marks=needs("distributed", "joblib")),
                                    pytest.param("ray", marks=needs("ray"))])
def test_a_function_of_a_module(python, tmp_path, engine, by):
    explicit = by == "CLINEPROF=1"
    (tmp_path / "jobs.py").write_text(JOBS.replace("MARK", MARKED if explicit else ""))
    (tmp_path / "it.py").write_text(PROGRAMS[engine].replace("IMPORT", "from jobs import work\n"))
    if explicit:
        ended, name = run_ended([python, "it.py"], tmp_path, env={"CLINEPROF": "1"}), "profile_output.lprof"
    else:
        ended = run_ended(profiled(python, "-l", "--prof-child-procs", "-p", "jobs", "it.py"), tmp_path)
        name = "it.py.lprof"
    assert ended.out.startswith("190\n"), ended.out + ended.err
    assert hits(tmp_path / name, tmp_path / "jobs.py", "# turn") == 190, ended.out + ended.err


@pytest.mark.parametrize("engine", [pytest.param("dask", marks=needs("distributed", "joblib")),
                                    pytest.param("ray", marks=needs("ray"))])
def test_a_function_of_the_main_script(python, tmp_path, engine):
    """It travels by value."""
    (tmp_path / "it.py").write_text(PROGRAMS[engine].replace("IMPORT", "\n" + JOBS.replace("MARK", "@profile") + "\n"))
    ended = run_ended(profiled(python, "-l", "--prof-child-procs", "it.py"), tmp_path)
    assert ended.out.startswith("190\n"), ended.out + ended.err
    assert hits(tmp_path / "it.py.lprof", tmp_path / "it.py", "# turn") == 190, ended.out + ended.err
