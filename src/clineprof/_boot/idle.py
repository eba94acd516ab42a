# SPDX-License-Identifier: MIT
"""Gives a child process that is not profiled a `profile` in its builtins, which does nothing.

The text of this file is sent to the processes that multiprocessing spawns, together with their sys.path. It runs there
in a namespace of its own, in which `text` is this text. The child imports nothing of clineprof.
"""
import builtins
import functools
import sys


class Profile:
    def __call__(self, *marked, **named):
        return marked[0] if marked else self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None

    def block(self, name):
        return self

    def runcall(self, function, *words, **named):
        return function(*words, **named)

    def nothing(self, *words):
        return None

    start = stop = pause = resume = reset = checkpoint = add_function = remove_function = nothing
    enable = disable = enable_by_count = disable_by_count = nothing


class Path(list):
    """A sys.path that is sent to a child. When the child unpickles it, or evaluates its repr(), the text of this file
    runs there, and the result is a plain list."""

    def __repr__(self):
        return "(lambda text, path: exec(text, {'text': text}) or path)(%r, %r)" % (text, list(self))

    def __reduce__(self):
        return eval, (repr(self),)


def send(names):
    """Sends this text with all children that a module prepares. `names` is the namespace of multiprocessing.spawn, or
    of a module like it."""
    prepare = names.get("get_preparation_data")
    if prepare is None:
        return

    @functools.wraps(prepare)
    def get_preparation_data(*words, **named):
        data = prepare(*words, **named)
        if type(data) is dict and type(data.get("sys_path")) is list:
            data["sys_path"] = Path(data["sys_path"])
        return data

    names["get_preparation_data"] = get_preparation_data


def begin():
    """Puts `profile` into the builtins of the child, and sends the text to the child's own children."""
    if hasattr(builtins, "profile"):
        return
    builtins.profile = Profile()
    for name, module in list(sys.modules.items()):
        if name.endswith(".spawn"):
            send(vars(module))


begin()
