# SPDX-License-Identifier: MIT
"""What -p needs to know of modules: functions that are there already, names that exist, imports.

Imports no more than it must, and that late: the program's own folder is on sys.path by now, with an
ast.py of its own, perhaps.
"""
import sys


def functions_of(module):
    """The functions whose code is the module's own, also within its classes and decorators, in the
    order in which they are found."""
    files = getattr(module, "__file__", None), f"<frozen {module.__name__}>"
    found, seen = [], set()
    waiting = list(vars(module).values())
    while waiting:
        thing = waiting.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        code = getattr(thing, "__code__", None) if type(thing).__name__ == "function" else None
        if code is not None and code.co_filename in files:
            found.append(thing)
        elif isinstance(thing, type) and thing.__module__ == module.__name__:
            waiting.extend(vars(thing).values())
        for name in ("__wrapped__", "__func__", "fget", "fset", "fdel", "func"):
            inner = getattr_static(thing, name)
            if inner is not None:
                waiting.append(inner)
    return found


def getattr_static(thing, name):
    """Only of what cannot have a __getattr__ of somebody's own."""
    if type(thing).__module__ not in ("builtins", "functools"):
        return None
    return getattr(thing, name, None)


def preimport(target):
    """Imports the module that a dotted target names, or the one in which it names something. Returns
    what kept it from being imported, or None."""
    name = target.removesuffix(".__init__")
    while True:
        try:
            __import__(name)
            return None
        except ModuleNotFoundError as error:
            if error.name is None or not (name + ".").startswith(error.name + "."):
                return repr(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also a module that exits
            return repr(error)
        name, _, _ = name.rpartition(".")
        if not name:
            return None  # whether it names anything at all is said at the end


def imported_by(source):
    """The dotted names that a program's import statements name, wherever they stand."""
    import ast

    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module if alias.name == "*" else f"{node.module}.{alias.name}"
                      for alias in node.names]
    return list(dict.fromkeys(names))


def nearest(target):
    """The name that exists and is most like this one; None when none is like it."""
    import difflib

    candidates = files_beside(target) if "/" in target or target.endswith(".py") else names_like(target)
    head = target.partition(".")[0]
    for wanted in target, head:
        for found in difflib.get_close_matches(wanted, candidates, 1):
            return found if found != target else None
    return None


def files_beside(target):
    import os

    folder = os.path.dirname(target)
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder or ".")]
    except OSError:
        return []


def names_like(target):
    """Modules that are loaded or could be, and what is in the one that the target begins with."""
    import pkgutil

    module = target
    while module and module not in sys.modules:
        module, _, _ = module.rpartition(".")
    names = set(sys.modules)
    names.update(info.name for info in pkgutil.iter_modules())
    if module:
        names.update(names_in(sys.modules[module], module))
    return sorted(names)


def names_in(thing, name, depth=2):
    for inner, value in list(vars(thing).items()):
        yield f"{name}.{inner}"
        if depth and isinstance(value, type):
            yield from names_in(value, f"{name}.{inner}", depth - 1)
