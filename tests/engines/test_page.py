# SPDX-License-Identifier: MIT
"""The page on many processes, with every engine that is installed: tests/cli/test_docs.py leaves out recipes whose
engine is missing."""
import pages
from engine import needs

pytestmark = needs("celery")
NOT_RUN = ("ckernprof -l --prof-child-procs -p application -m gunicorn",  # tests/cli/test_processes.py
           "ckernprof -l --prof-child-procs -p dags/sums.py -m airflow")  # test_airflow.py


def test_the_recipes_of_the_page(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    wrong, ran = pages.run_page("docs/processes.md", here, pages.environment_of(tmp_path), NOT_RUN)
    assert not wrong, wrong
    assert ran
