# SPDX-License-Identifier: MIT
"""Lets -p select in test modules, and in each conftest.py, under `ckernprof -l -m pytest`. pytest compiles them itself to
rewrite their asserts, so that no wrapped loader sees their code. Only sys and modules of ours are imported here, because
the program's own folder may be on sys.path already."""
import sys

from clineprof import _boot
from clineprof._boot import spawning

MODULE = "_pytest.assertion.rewrite"


def hand_over(profiler):
    """Changes pytest's module if it is loaded already."""
    module = sys.modules.get(MODULE)
    if type(module) is type(sys):
        _give(vars(module))


def taking(code, profiler):
    """Code that runs the module's code and then changes the module, before anyone can use it."""
    return spawning.followed(code, _give)


def _give(names):
    names["exec"] = _boot.core().exec_selected
