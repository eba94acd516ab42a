# SPDX-License-Identifier: MIT
"""Children that multiprocessing spawns under `ckernprof -l` have a name `profile` as their parent has,
profiled or not: see idle.py. Imports nothing but sys, for the program's own folder may be on sys.path by
now."""
import sys


def hand_over(profiler):
    """Where modules that prepare children are loaded already."""
    for name, module in list(sys.modules.items()):
        if name.endswith(".spawn") and type(module) is type(sys):
            _send(vars(module))


def taking(code, profiler):
    """The code of such a module, and behind it what changes it before anyone has seen it."""
    return followed(code, _send)


def followed(code, give):
    """A module's code, and behind it give(the module's names)."""
    made = compile("exec('code')\nany(map('give', (globals(),)))\n", code.co_filename, "exec", 0, True)
    given = {"code": code, "give": give}
    return made.replace(co_consts=tuple(given.get(constant, constant) for constant in made.co_consts))


def _send(names):
    with open(__file__.rsplit("/", 1)[0] + "/idle.py", encoding="utf-8") as file:
        text = file.read()
    own = {"text": text, "__name__": "clineprof._boot.idle"}
    exec(text, own)
    own["send"](names)
