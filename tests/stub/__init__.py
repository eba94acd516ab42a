# SPDX-License-Identifier: MIT
"""Builds a CUDA and a CUPTI that play their parts in tests without a device (cuda.c, cupti.c), a PyTorch that keeps
statistics of CUDA devices (torch_c.c), a library that keeps a program's clock (clock.c), and one that has a thread end
when a signal comes (lost_signal.c)."""
import pathlib
import shutil
import subprocess
import sysconfig

HERE = pathlib.Path(__file__).parent


TORCH_CUDA = """\
from torch import _C
_initialized = False
def init():
    global _initialized
    _C._cuda_init()
    _initialized = True
def is_initialized():
    raise AssertionError("this is Python code, and no business of clineprof's")
"""


def build(folder):
    """Puts libcuda.so.1 and libcupti.so.12 into the folder, which programs load with ctypes."""
    for source, name in ("cuda.c", "libcuda.so.1"), ("cupti.c", "libcupti.so.12"):
        _compile(source, folder / name, f"-Wl,-soname,{name}", "-lpthread", "-ldl")


def build_torch(folder):
    """Puts a package torch into the folder, which programs import."""
    (folder / "torch/cuda").mkdir(parents=True)
    (folder / "torch/__init__.py").write_text("from torch import cuda\n")
    (folder / "torch/cuda/__init__.py").write_text(TORCH_CUDA)
    _compile("torch_c.c", folder / "torch" / ("_C" + sysconfig.get_config_var("EXT_SUFFIX")),
             "-I" + sysconfig.get_path("include"))


def with_clock(folder, pace):
    """Puts a library into the folder. Returns the environment of a program whose CLOCK_MONOTONIC goes at this pace: 0 has
    it stand still."""
    _compile("clock.c", folder / "clock.so")
    return {"LD_PRELOAD": str(folder / "clock.so"), "CLOCK_PACE": str(pace)}


def build_lost_signal(folder):
    """Puts lost_signal.so into the folder, which programs load with ctypes."""
    _compile("lost_signal.c", folder / "lost_signal.so", "-lpthread")


def _compile(source, target, *words):
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", HERE / source, "-o", target, *words],
                   check=True)
