# SPDX-License-Identifier: MIT
"""Children that multiprocessing spawns under `ckernprof -l` have a name `profile` as their parent has,
profiled or not: see _idle.py. Imports nothing but sys, for the program's own folder may be on sys.path by
now."""
import sys

from clineprof import _explicit


def hand_over(profiler):
    """Where modules that prepare children are loaded already."""
    for name, module in list(sys.modules.items()):
        if name.endswith(".spawn") and type(module) is type(sys):
            _send(vars(module))


def taking(code, profiler):
    """The code of such a module, and behind it what changes it before anyone has seen it."""
    return _explicit.followed(code, _send)


def _send(names):
    with open(__file__.rsplit("/", 1)[0] + "/_idle.py", encoding="utf-8") as file:
        text = file.read()
    own = {"text": text, "__name__": "clineprof._idle"}
    exec(text, own)
    own["send"](names)
