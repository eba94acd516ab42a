# SPDX-License-Identifier: MIT
"""The fixture of all tests on real engines: an interpreter in which clineprof is installed, as pip would do it."""
import subprocess
import sys
import sysconfig

import pytest
from harness import BUILD, ROOT


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """An interpreter with clineprof, its start-up file, and the packages of the interpreter that runs pytest."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [packages] = folder.glob("lib/*/site-packages")
    (packages / "a.pth").write_text(f"{BUILD / 'python'}\n{sysconfig.get_path('purelib')}\n")
    start = ROOT / "src" / "clineprof-start.pth"
    (packages / start.name).write_bytes(start.read_bytes())
    return folder / "bin" / "python"
