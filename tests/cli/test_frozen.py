# SPDX-License-Identifier: MIT
"""Applications that PyInstaller freezes, with `from clineprof import profile` in them."""
import importlib.util
import os
import re
import shutil
import sys

import pytest
from harness import BUILD, Profile, run

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(importlib.util.find_spec("PyInstaller") is None, reason="PyInstaller is not installed"),
]

APPLICATION = """
from clineprof import profile
@profile
def f(n):
    return [i for i in range(n)]
print(len(f(9)))
"""


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    (folder / "app.py").write_text(APPLICATION)
    hooks = BUILD / "python/clineprof/_pyinstaller"  # which an installed package tells by its entry point
    built = run([sys.executable, "-m", "PyInstaller", "--log-level=ERROR", "--additional-hooks-dir", hooks, "app.py"],
                folder, env={"PYTHONPATH": str(BUILD / "python")}, timeout=300)
    assert built.code == 0, built.err
    (folder / "app.py").unlink()
    shutil.rmtree(folder / "build")
    return folder / "dist/app"


def test_it_runs_with_profiling_off(application, tmp_path):
    ended = run([application / "app"], tmp_path)
    assert (ended.code, ended.out, ended.err) == (0, "9\n", "")
    assert os.listdir(tmp_path) == []


def test_it_counts_with_profiling_on(application, tmp_path):
    ended = run([application / "app"], tmp_path, env={"CLINEPROF": "1"})
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"9\nTimer unit: (.*\n)*To view details run:\nclineprof -r?tmz profile_output.lprof\n", ended.out)
    profile = Profile(tmp_path / "profile_output.lprof")
    assert profile.line("f", 5)["hits"] >= 1


def test_what_others_made_stays_outside(application):
    inside = [name for _, folders, _ in os.walk(application) for name in folders]
    assert "clineprof" in inside
    assert not {"numpy", "pandas", "matplotlib", "rich", "pygments", "jinja2", "IPython", "pytest", "distributed",
                "dask"} & set(inside)  # fmt: skip
