# SPDX-License-Identifier: MIT
"""Gives children that multiprocessing spawns under `ckernprof -l` and `-b` a name `profile`, as their parent has it
(idle.py). The hook of clineprof._children cannot do this: it needs variables in the environment, which a run without
--prof-child-procs leaves as it is. Only sys is imported here, because the program's own folder may be on sys.path
already."""
import sys


def hand_over(profiler):
    """Changes modules that prepare children and are loaded already."""
    for name, module in list(sys.modules.items()):
        if name.endswith(".spawn") and type(module) is type(sys):
            _send(vars(module))


def taking(code, profiler):
    """Code that runs such a module's code and then changes the module, before anyone can use it."""
    return followed(code, _send)


def followed(code, give):
    """Code that runs a module's code and then calls give() with the module's namespace."""
    made = compile("exec('code')\nany(map('give', (globals(),)))\n", code.co_filename, "exec", 0, True)
    given = {"code": code, "give": give}
    return made.replace(co_consts=tuple(given.get(constant, constant) for constant in made.co_consts))


def _send(names):
    be_idle()["send"](names)


def be_idle():
    """Puts a `profile` that does nothing into the builtins, if there is none. Returns the names of idle.py."""
    with open(__file__.rsplit("/", 1)[0] + "/idle.py", encoding="utf-8") as file:
        text = file.read()
    own = {"text": text, "__name__": "clineprof._boot.idle"}
    exec(text, own)
    return own
