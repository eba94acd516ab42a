# SPDX-License-Identifier: MIT
"""Launches kernels on a CUDA that is played (tests/stub; its folder is in STUB), and prints the processor time."""
import ctypes
import os
import time

from common import profile, sized

FOLDER = os.environ["STUB"]
cupti = ctypes.CDLL(os.path.join(FOLDER, "libcupti.so.12"))
cuda = ctypes.CDLL(os.path.join(FOLDER, "libcuda.so.1"))
launch = cuda.cudaLaunchKernel
launch.argtypes = [ctypes.c_uint64]


@profile
def launches(count):
    for i in range(count):
        launch(5)


launches(1000)
begun = time.process_time()
for _ in range(10):
    launches(sized(50_000))
    cupti.cuptiActivityFlushAll(0)
print(time.process_time() - begun)
