# SPDX-License-Identifier: MIT
"""Makes and frees a small tensor of PyTorch, again and again in one line. Prints the seconds of one."""
import torch
from common import cost_of, profile


@profile
def work():
    return cost_of(torch.empty, 256)


torch.set_num_threads(1)
print("%.12f" % (work() / 1e9))
