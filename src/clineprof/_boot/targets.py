# SPDX-License-Identifier: MIT
"""What -p needs to know of modules: functions that are there already, names that exist, imports.

The program's own folder is on sys.path by now, with an ast.py of its own, perhaps: what is imported
is asked of stdlib(). And the program's objects may do anything when they are asked for an attribute:
types are compared, and dicts read, without asking them.
"""
import sys

FUNCTION, MODULE = type(lambda: 0), type(sys)
DEEPEST = 64  # wrappers within wrappers: deeper ones are surely circular
PARSE_ONLY = 0x400  # PyCF_ONLY_AST
dict_of = type.__dict__["__dict__"].__get__
home_of = type.__dict__["__module__"].__get__
name_of = type.__dict__["__qualname__"].__get__


def is_class(thing):
    return issubclass(type(thing), type)


def functions_of(module, name):
    """The functions whose code is the module's own, also within classes and decorators that it names,
    in the order in which they are found."""
    own_name = vars(module).get("__name__")  # os.path is posixpath
    files = vars(module)["__file__"], f"<frozen {name}>", f"<frozen {own_name}>"
    found, seen = [], set()
    waiting = list(vars(module).values())
    for thing in waiting:
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing) is FUNCTION and thing.__code__.co_filename in files:
            found.append(thing)
        elif is_class(thing):
            waiting.extend(dict_of(thing).values())
        for name in ("__wrapped__", "__func__", "fget", "fset", "fdel", "func"):
            inner = getattr_static(thing, name)
            if inner is not None:
                waiting.append(inner)
    return found


def from_its_package(target):
    """What the module that a target names has imported from elsewhere in its package: line_profiler
    selects those functions with it."""
    name = target.removesuffix(".__init__")
    module = sys.modules.get(name)
    if type(module) is not MODULE:
        return held_by_class(name)
    package = (name.rpartition(".")[0] or name) + "."
    held = list(vars(module).values())
    return [thing for thing in map(below_wrappers, held) if thing is not None
            and thing.__module__ != name and (thing.__module__ + ".").startswith(package)]


def below_wrappers(thing):
    """The body of a decorated function. functools.wraps gives the wrapper its name and module, but the
    wrapper's code is the decorator's, and all that it decorates shares it. None where there is none."""
    for _ in range(DEEPEST):
        if type(thing) is not FUNCTION or "__wrapped__" not in vars(thing):
            break
        thing = vars(thing)["__wrapped__"]
    return thing if type(thing) is FUNCTION and type(thing.__module__) is str else None


def held_by_class(target):
    """Functions from elsewhere in its module that a class holds in methods, partials and the like."""
    home, _, name = target.rpartition(".")
    cls = vars(sys.modules[home]).get(name) if type(sys.modules.get(home)) is MODULE else None
    if not is_class(cls):
        return []
    held = [getattr_static(thing, part) for thing in list(dict_of(cls).values())
            for part in ("__func__", "fget", "fset", "fdel", "func")]
    return [thing for thing in map(below_wrappers, held) if thing is not None and thing.__module__ == home]


def getattr_static(thing, name):
    """Only of what cannot run somebody's own code: a module may have a __getattr__, a class descriptors."""
    if is_class(thing) or type(thing) is MODULE:
        return None
    try:
        home = home_of(type(thing))
    except AttributeError:
        return None
    safe = type(home) is str and home in ("builtins", "functools", "_pytest.fixtures")
    return getattr(thing, name, None) if safe else None


def preimport(target):
    """Imports the module that a dotted target names, or the one in which it names something. Returns
    what kept it from being imported, or None."""
    parts, name = target.removesuffix(".__init__").split("."), ""
    for part in parts if "" not in parts else []:
        name = f"{name}.{part}".lstrip(".")
        try:
            __import__(name)
        except ModuleNotFoundError as error:
            is_above = error.name is not None and (name + ".").startswith(error.name + ".")
            return None if is_above else repr(error)  # whether it names anything at all is said at the end
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also a module that exits
            return repr(error)
        module = sys.modules.get(name)
        if type(module) is MODULE and "__path__" not in vars(module):
            break  # its __getattr__ is the program's
    return None


def is_package(name):
    specification = stdlib("importlib.util").util.find_spec(name)
    return specification is not None and specification.submodule_search_locations is not None


def imported_by_module(name):
    """imported_by, of a module, or of a package's __main__, that has not been imported."""
    if is_package(name):
        name += ".__main__"
    loader = stdlib("importlib.util").util.find_spec(name).loader
    return imported_by(loader.get_source(name), name.rpartition(".")[0])


def imported_by(source, package=""):
    """The dotted names that a program's import statements name, and what modules among them have from
    their own package, as those of -p have. package: what relative ones are relative to."""
    names = named_by(source, package)
    return list(dict.fromkeys(names + [more for name in names for more in siblings_in(name)]))


def siblings_in(name):
    """What a module within a package imports by name from elsewhere in it. Nothing is imported to find
    out."""
    package, _, _ = name.rpartition(".")
    found = specification_of(name) if package else None
    try:
        source = found.loader.get_source(name)
        inner = named_by(source, name if found.submodule_search_locations else package)
    except Exception:
        return []  # no module, or nobody's to read
    return [other for other in inner if other.startswith(package + ".")
            and not (other + ".").startswith(name + ".") and specification_of(other) is None]


def specification_of(name):
    """Of a module by a dotted name, without importing the packages above it; None when it is none."""
    find = stdlib("importlib.machinery").machinery.PathFinder.find_spec
    found, above, places = None, "", None
    for part in name.split("."):
        if above and places is None:
            return None
        above = f"{above}.{part}".lstrip(".")
        found = find(above, places)
        places = found and found.submodule_search_locations
    return found


def named_by(source, package):
    """The dotted names that a program's import statements name, wherever they stand."""
    names, waiting = [], [parsed(source)]
    for node in waiting:
        waiting += parts_of(node)
        if type(node).__name__ == "Import":
            names += [alias.name for alias in node.names]
        elif type(node).__name__ == "ImportFrom" and (package or not node.level):
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names += [module if alias.name == "*" else f"{module}.{alias.name}"
                      for alias in node.names]
    return list(dict.fromkeys(names))


def parts_of(node):
    """The nodes of the syntax tree that stand directly within this one."""
    for field in node._fields:
        value = getattr(node, field, None)
        for inner in value if type(value) is list else [value]:
            if hasattr(inner, "_fields"):
                yield inner


def defined_in(file):
    """The qualified names of the functions and classes in a source file, the outer ones first."""
    try:
        with open(file, "rb") as opened:
            return defined_by(opened.read())
    except (OSError, TypeError, ValueError):
        return []


def defined_by(source):
    try:
        waiting = [("", parsed(source))]
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        return []
    names = []
    for above, node in waiting:
        kind = type(node).__name__
        if kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            names.append(above + node.name)
            above = names[-1] + (".<locals>." if kind.endswith("FunctionDef") else ".")
        waiting += [(above, inner) for inner in parts_of(node)]
    return names


def defined_in_module(module):
    """.. in that of a module, which may lie in an archive."""
    names = vars(module)
    loader, specification = names.get("__loader__"), names.get("__spec__")
    if type(loader).__module__ == "zipimport" and specification is not None:
        return defined_by(loader.get_source(specification.name))
    return defined_in(names.get("__file__"))


def parsed(source):
    """Without the warnings, which come when it is compiled to be run."""
    import _warnings

    filters = sys.modules.get("warnings", _warnings).filters
    filters.insert(0, ("ignore", None, Warning, None, 0))
    try:
        return compile(source, "<script>", "exec", PARSE_ONLY, True)
    finally:
        del filters[0]


def stdlib(name):
    """A module of Python's own, whatever there is of that name in the program's folders."""
    import os

    path = sys.path
    sys.path = [os.path.dirname(os.__file__)]
    try:
        return __import__(name)
    finally:
        sys.path = path


def is_path(target):
    return "/" in target or target.endswith(".py") or ".py:" in target


def split(target):
    """The file of a target, and what it names within: "mod.py", "Class.method" in mod.py:Class.method and
    mod.py::Class::method."""
    file, is_within, name = target.partition(".py:")
    return file + ".py" * bool(is_within), name.lstrip(":").replace("::", ".").replace(":", ".")


def is_there(target):
    """Does the target name anything: a file or folder, or a module that is loaded or can be found, or
    something in it? Nothing is imported to find out."""
    import os

    if is_path(target) or os.path.exists(target):
        file, name = split(target)
        return os.path.exists(file) and (not name or name in defined_in(file))
    name = target.removesuffix(".__init__")
    module = loaded_above(name)
    if module == name:
        return True
    first = name[len(module):].strip(".").partition(".")[0]
    if module and first in vars(sys.modules[module]):
        return True
    try:
        return stdlib("importlib.util").util.find_spec(f"{module}.{first}".strip(".")) is not None
    except (ImportError, ValueError):
        return False


def nearest(target, program=""):
    """The name that selects something and is most like this one; None when none is like it. program: the script
    or the module that is run, whose own functions and classes come first."""
    if is_path(target):
        found = nearest_within(target, program)
    else:
        found = where_it_is_defined(target) or nearest_name(target, program)
    if found is None and program:
        wanted = split(target)[1] if is_path(target) else target.rpartition(".")[2]
        found = wanted and own_name(wanted, program)
    return found if found and found != target else None


def nearest_within(target, program):
    """.. of a file, or of what is in one."""
    file, name = split(target)
    if is_there(file):
        found = name and likest(name, defined_in(file))
        return f"{file}:{found}" if found else None
    if program and stem(program) == stem(file):
        if not name or not program.endswith(".py"):
            return own_name(name, program) if name else program
        found = likest(name, own_names(program))
        return f"{program}:{found}" if found else None
    found = closest(file, files_beside(file), 0.6)
    return found and (f"{found}:{name}" if name in defined_in(found) else found if not name else None)


def stem(path):
    return path.rpartition("/")[2].removesuffix(".py")


def nearest_name(target, program):
    """.. of a module, or of what is in one."""
    dotted = target.replace(":", ".")  # as entry points have it
    script, own = module_name(program), own_names(program)
    head, _, rest = dotted.partition(".")
    wanted = behind_program(dotted, program) or (dotted if not rest or head in own else "")
    found = wanted and own_name(wanted, program)
    if found:
        return found
    candidates = names_like(dotted) + [f"{script}.{name}" for name in own if script]
    return closest(dotted, candidates) or closest(head, candidates)


def behind_program(dotted, program):
    """What of a name follows that of the program, however somebody may call that; "": nothing, or it is not
    the program's."""
    for name in module_name(program), "__main__", program.removesuffix(".py").replace("/", "."):
        if program and name and dotted.startswith(name + "."):
            return dotted[len(name) + 1:]
    return ""


def where_it_is_defined(target):
    """.. of a class or function, or what is in it, that a module has from another one; None where it has none."""
    module = loaded_above(target)
    first, _, rest = target[len(module) + 1:].partition(".")
    thing = vars(sys.modules[module]).get(first) if module else None
    thing = thing if is_class(thing) else below_wrappers(thing)
    if thing is None:
        return None
    home, name = (home_of(thing), name_of(thing)) if is_class(thing) else (thing.__module__, thing.__qualname__)
    name = f"{name}.{rest}" if rest else name
    there = type(sys.modules.get(home)) is MODULE and home != "__main__"
    return f"{home}.{name}" if there and name in defined_in_module(sys.modules[home]) else None


def loaded_above(target):
    """The module that is loaded and that a dotted name begins with, or ""."""
    while target and type(sys.modules.get(target)) is not MODULE:
        target, _, _ = target.rpartition(".")
    return target


def own_name(wanted, program):
    """A target that names the program's own function or class of this name, or of one like it."""
    found = likest(wanted, own_names(program))
    script = module_name(program)
    return found and (f"{script}.{found}" if script else f"{program}:{found}")


def own_names(program):
    return defined_in_module(sys.modules["__main__"]) if program else []


def module_name(program):
    """How -p names the program; "" where that takes its file's name."""
    specification = vars(sys.modules["__main__"]).get("__spec__") if program else None
    if specification is not None:  # of a module, a folder or an archive
        return specification.name
    name = stem(program)
    return name if all(part.isidentifier() for part in name.split(".")) else ""


def likest(wanted, names):
    """Of qualified names the one that is like it, or ends so, be it named with the functions around it or without."""
    plain = {name.replace("<locals>.", ""): name for name in reversed(names)}
    lasts = {name.rpartition(".")[2]: name for name in plain}
    ends = [name for name in plain if ("." + name).endswith("." + wanted.replace("<locals>.", ""))]
    found = ends[-1] if ends else closest(wanted, plain, 0.6) or lasts.get(closest(wanted, lasts, 0.6))
    return plain.get(found)


def closest(wanted, names, ratio=0.75):
    """With less, any short name is like that of some module."""
    return next(iter(stdlib("difflib").get_close_matches(wanted, names, 1, ratio)), None)


def files_beside(target):
    """.. and folders, of those that -p takes."""
    import os

    folder = os.path.dirname(target)
    paths = [os.path.join(folder, name) for name in names_within(folder)]
    return [path for path in paths if path.endswith(".py") or os.path.isdir(path)]


def modules_in(folder):
    for name in names_within(folder):
        head, dot, ending = name.partition(".")
        if head.isidentifier() and (not dot or ending == "py"):
            yield head


def names_within(folder):
    import os

    try:
        return os.listdir(folder or ".")
    except (OSError, TypeError, ValueError):
        return []


def names_like(target):
    """Modules that are loaded or could be and have code, and what is in the one that the target begins with."""
    names = {name for name, module in list(sys.modules.items()) if name != "__main__" and has_code(module)}
    for folder in sys.path:
        names.update(modules_in(folder))
    above = loaded_above(target)
    if above in names:
        names.update(f"{above}.{name}" for name in defined_in_module(sys.modules[above]))
    return sorted(names)


def has_code(module):
    """Does the module come from source, or is it a package without a file of its own?"""
    names = vars(module) if type(module) is MODULE else {}
    file = names.get("__file__")
    return type(file) is str and file.endswith(".py") or file is None and "__path__" in names
