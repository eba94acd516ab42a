# SPDX-License-Identifier: MIT
"""What a child that is not profiled finds as `profile` among the builtins: it marks nothing.

This text itself is sent to processes that multiprocessing spawns, with their sys.path, and runs there
in names of its own, of which `text` is this text. Nothing of ours is imported or looked for.
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
    """A sys.path on its way to a child: whoever reads it there, pickled or as an expression, runs the
    text and has a plain list."""

    def __repr__(self):
        return "(lambda text, path: exec(text, {'text': text}) or path)(%r, %r)" % (text, list(self))

    def __reduce__(self):
        return eval, (repr(self),)


def send(names):
    """names: of a module that prepares children, multiprocessing.spawn or one like it."""
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
    """In the child: it has children of its own."""
    if hasattr(builtins, "profile"):
        return
    builtins.profile = Profile()
    for name, module in list(sys.modules.items()):
        if name.endswith(".spawn"):
            send(vars(module))


begin()
