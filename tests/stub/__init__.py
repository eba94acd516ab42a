# SPDX-License-Identifier: MIT
"""Builds a CUDA and a CUPTI that play their parts in tests without a device (cuda.c, cupti.c)."""
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent


def build(folder):
    """Puts libcuda.so.1 and libcupti.so.12 into the folder, which programs load with ctypes."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    for source, name in ("cuda.c", "libcuda.so.1"), ("cupti.c", "libcupti.so.12"):
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", f"-Wl,-soname,{name}", HERE / source,
                        "-o", folder / name, "-lpthread", "-ldl"], check=True)
