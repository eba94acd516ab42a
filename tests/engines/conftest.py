# SPDX-License-Identifier: MIT
"""What the tests on real engines run with: an interpreter in which clineprof is installed, as pip would do it."""
import os
import subprocess
import sys
import sysconfig

import pytest
from harness import BUILD, ROOT


def install(folder, packages):
    """Makes an environment with clineprof, its start-up file, and the packages of a folder; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [here] = folder.glob("lib/*/site-packages")
    (here / "a.pth").write_text(f"{BUILD / 'python'}\n{packages}\n")
    start = ROOT / "src" / "clineprof-start.pth"
    (here / start.name).write_bytes(start.read_bytes())
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """An interpreter with clineprof and the packages of the interpreter that runs pytest."""
    return install(tmp_path_factory.mktemp("installed"), sysconfig.get_path("purelib"))


@pytest.fixture(scope="session")
def airflow_python(tmp_path_factory):
    """An interpreter with clineprof and Airflow, which has an environment of its own."""
    given = os.environ.get("CLINEPROF_AIRFLOW", "")
    if not given or subprocess.run([given, "-c", "import airflow"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("Airflow is not installed; make engines installs it")
    place = subprocess.check_output([given, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    return install(tmp_path_factory.mktemp("airflow"), place.strip())
