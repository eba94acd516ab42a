# SPDX-License-Identifier: MIT
"""Selects functions of a program that runs already, as -p does for one that is about to run."""
import functools
import gc
import sys
import types

from clineprof import _boot
from clineprof._attach import PREFIX
from clineprof._boot import targets


def select(profiler, wanted, excluded):
    """Selects what the targets name among all that is loaded, and in what is imported while the Selection lives that
    this returns. Without targets: all functions of files outside the standard library and site-packages. Raises
    ValueError, TypeError or MemoryError.

    wanted, excluded: lists of str, as -p and --exclude take them
    """
    excluded = excluded + ([] if wanted else [*targets.installed(), "<frozen *"])
    selection = _boot.core().Selection(profiler, wanted or ["/"], excluded)
    targets.select_main(selection, _program())
    for namespace, module in _namespaces():
        for function in targets.functions_of(namespace, module):
            selection.select_function(function, module)
    for function in targets.functions_in(*_generic()):
        selection.select_function(function, _module_named(function.__globals__.get("__name__")))
    for code, module in running():
        cells = tuple(types.CellType() for _ in code.co_freevars)
        function = types.FunctionType(code, {"__name__": module}, code.co_name, None, cells)
        selection.select_function(function, module)
    return selection


def _generic():
    """The functions that functools.singledispatch has made. A module may register functions with those of another one,
    and give each the same name."""
    codes = [code for code in functools.singledispatch.__code__.co_consts if isinstance(code, types.CodeType)]
    return [thing for thing in gc.get_referrers(*codes) if type(thing) is types.FunctionType]


def _program():
    """The name by which -p knows the program, as under ckernprof."""
    main = vars(sys.modules["__main__"])
    specification = main.get("__spec__")
    if specification is not None:
        return specification.name
    return targets.stem(str(main.get("__file__") or "__main__"))


def running():
    """(code, the module's name) of each body that is on a thread's stack: the body of the script, for one, is reached by
    no function."""
    found = {frame.f_code: frame.f_globals.get("__name__") for _, frames in stacks() for frame in frames}
    return [(code, _module_named(name)) for code, name in found.items()]


def _module_named(name):
    """The name by which -p knows the functions whose globals have this __name__."""
    return _program() if name == "__main__" else name if type(name) is str else ""


class _Namespace:
    """Looks like a module whose names these are."""

    def __init__(self, names):
        self.__dict__ = names


def _namespaces():
    """(namespace, its name) of code that runs and is in no module: cProfile and trace, for two, run a script in a dict
    of their own."""
    found = {id(frame.f_globals): frame.f_globals for _, frames in stacks() for frame in frames}
    for names in found.values():
        name = names.get("__name__")
        module = sys.modules.get(name) if type(name) is str else None
        if type(module) is not types.ModuleType or vars(module) is not names:
            yield _Namespace(names), _module_named(name)


def stacks():
    """(identity of the thread, its frames from the innermost on) of each thread, without our own frames."""
    for thread, frame in sorted(sys._current_frames().items()):
        frames = []
        while frame is not None:
            name = frame.f_globals.get("__name__")
            is_ours = type(name) is str and name.startswith("clineprof._attach.")
            if not is_ours and "/" + PREFIX not in frame.f_code.co_filename:
                frames.append(frame)
            frame = frame.f_back
        yield thread, frames
