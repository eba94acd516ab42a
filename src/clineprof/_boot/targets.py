# SPDX-License-Identifier: MIT
"""Answers what -p asks about modules: which functions they have, which names exist, what they import.

The program's own folder may be on sys.path already, with an ast.py of its own, so modules of the standard library are
imported with stdlib(). The program's objects may run any code when an attribute is read, so their types are compared,
and their dicts read, in ways that run none of their code.
"""
import gc
import sys

FUNCTION, MODULE, PROXY = type(lambda: 0), type(sys), type(type.__dict__)
DEEPEST = 64  # wrappers within wrappers; a longer chain must be circular
PARSE_ONLY = 0x400  # PyCF_ONLY_AST
dict_of = type.__dict__["__dict__"].__get__
home_of = type.__dict__["__module__"].__get__
name_of = type.__dict__["__qualname__"].__get__


def is_class(thing):
    return issubclass(type(thing), type)


def functions_of(module, name):
    """The functions whose code is from the module's own file, also those in its classes and decorated objects, in the
    order in which they are found. Of a module without a file, such as a notebook's __main__: those that were defined in
    it."""
    own_name = vars(module).get("__name__")  # may differ from `name`: the module os.path is called posixpath
    file = vars(module).get("__file__")
    files = file, f"<frozen {name}>", f"<frozen {own_name}>"
    return [one for one in functions_in(*vars(module).values())
            if (one.__code__.co_filename in files if file is not None else one.__globals__ is vars(module))]  # fmt: skip


def select_main(selection, name):
    """Selects in __main__, which targets know by this name."""
    main = sys.modules["__main__"]
    selection.select_main(name)
    if "__file__" not in vars(main):
        for function in functions_of(main, name):
            selection.select_function(function, name)


def functions_in(*things):
    """The functions among these things, and in classes and decorated objects among them."""
    found, seen = [], set()
    waiting = list(things)
    for thing in waiting:
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing) is FUNCTION:
            found.append(thing)
            waiting.extend(implementations_of(thing))
        elif is_class(thing):
            waiting.extend(dict_of(thing).values())
        for name in ("__wrapped__", "__func__", "fget", "fset", "fdel", "func", "dispatcher"):
            inner = getattr_static(thing, name)
            if inner is not None:
                waiting.append(inner)
    return found


def implementations_of(function):
    """What is registered for a generic function, which functools.singledispatch makes; nothing for other functions."""
    registry = vars(function).get("registry")
    held = gc.get_referents(registry) if type(registry) is PROXY else []
    return [thing for names in held if type(names) is dict for thing in names.values()]


def from_its_package(target):
    """The functions that the target's module has imported from elsewhere in its package. line_profiler selects these
    with the module."""
    name = target.removesuffix(".__init__")
    module = sys.modules.get(name)
    if type(module) is not MODULE:
        return held_by_class(name)
    package = (name.rpartition(".")[0] or name) + "."
    held = list(vars(module).values())
    return [thing for thing in map(below_wrappers, held) if thing is not None
            and thing.__module__ != name and (thing.__module__ + ".").startswith(package)]


def exported(target):
    """(module, functions) of a target that names a function, a class or something in a class by a loaded module that may
    have it from elsewhere, as pandas.DataFrame.iterrows. Functions that are made for a class from a text of their own,
    as by dataclasses, are left out."""
    module = loaded_above(target)
    thing = attribute_of(module, target[len(module) + 1:].split(".")) if module not in ("", target) else None
    found = [one for one in functions_in(thing) if "__wrapped__" not in vars(one)]
    if is_class(thing):
        within = name_of(thing) + "."
        found = [one for one in found if one.__qualname__.startswith(within)
                 and (one.__code__.co_filename[:1] != "<" or one.__code__.co_filename.startswith("<frozen "))]
    return module, found


def attribute_of(module, names):
    """The object that names lead to from a loaded module, through its classes and those that they inherit from; None if
    there is none."""
    thing = vars(sys.modules[module]).get(names[0])
    for name in names[1:]:
        classes = type.__dict__["__mro__"].__get__(thing) if is_class(thing) else ()
        thing = next((dict_of(one)[name] for one in classes if name in dict_of(one)), None)
    return thing


def below_wrappers(thing):
    """The function within all wrappers; None if there is none. A wrapper of functools.wraps has the name and the module
    of the decorated function, but its code is the decorator's, which all functions that it decorates share."""
    for _ in range(DEEPEST):
        if type(thing) is not FUNCTION or "__wrapped__" not in vars(thing):
            break
        thing = vars(thing)["__wrapped__"]
    return thing if type(thing) is FUNCTION and type(thing.__module__) is str else None


def held_by_class(target):
    """The functions of the module that a class holds in methods, partials and the like. `target` names the class."""
    home, _, name = target.rpartition(".")
    cls = vars(sys.modules[home]).get(name) if type(sys.modules.get(home)) is MODULE else None
    if not is_class(cls):
        return []
    held = [getattr_static(thing, part) for thing in list(dict_of(cls).values())
            for part in ("__func__", "fget", "fset", "fdel", "func")]
    return [thing for thing in map(below_wrappers, held) if thing is not None and thing.__module__ == home]


def getattr_static(thing, name):
    """Reads an attribute of an object whose type cannot run code of the program; None for other objects. A module may
    have a __getattr__, and a class descriptors, so they are left out."""
    if is_class(thing) or type(thing) is MODULE:
        return None
    try:
        home = home_of(type(thing))
    except AttributeError:
        return None
    safe = type(home) is str and home in ("builtins", "functools", "_pytest.fixtures")
    return getattr(thing, name, None) if safe else None


def preimport(target):
    """Imports the module that a dotted target names, or the module in which it names something. Returns the repr() of
    the exception that the import raised, or None."""
    parts, name = target.removesuffix(".__init__").split("."), ""
    for part in parts if "" not in parts else []:
        name = f"{name}.{part}".lstrip(".")
        try:
            __import__(name)
        except ModuleNotFoundError as error:
            is_above = error.name is not None and (name + ".").startswith(error.name + ".")
            return None if is_above else repr(error)  # a name that does not exist is told at the end of the run
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also the SystemExit of a module that exits
            return repr(error)
        module = sys.modules.get(name)
        if type(module) is MODULE and "__path__" not in vars(module):
            break  # a plain module has no submodules to import, and its __getattr__ is the program's code
    return None


def is_package(name):
    specification = stdlib("importlib.util").util.find_spec(name)
    return specification is not None and specification.submodule_search_locations is not None


def imported_by_module(name):
    """Returns imported_by() of a module, or of a package's __main__, that has not been imported."""
    if is_package(name):
        name += ".__main__"
    loader = stdlib("importlib.util").util.find_spec(name).loader
    return imported_by(loader.get_source(name), name.rpartition(".")[0])


def imported_by(source, package=""):
    """The dotted names that a program's import statements name, and those that modules among them import from their own
    package (as from_its_package). `package` is the package that relative imports refer to."""
    names = named_by(source, package)
    return list(dict.fromkeys(names + [more for name in names for more in siblings_in(name)]))


def siblings_in(name):
    """The names that a module within a package imports from elsewhere in the package. Nothing is imported to find
    them."""
    package, _, _ = name.rpartition(".")
    found = specification_of(name) if package else None
    try:
        source = found.loader.get_source(name)
        inner = named_by(source, name if found.submodule_search_locations else package)
    except Exception:
        return []  # there is no such module, or its source cannot be read
    return [other for other in inner if other.startswith(package + ".")
            and not (other + ".").startswith(name + ".") and specification_of(other) is None]


def specification_of(name):
    """The import specification of a module by its dotted name; None if there is no such module. The packages above it
    are not imported."""
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
    """The dotted names that a program's import statements name, also those within functions."""
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
    """The child nodes of a node of the syntax tree."""
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
    """The qualified names of the functions and classes in the source of a loaded module, which may lie in an
    archive."""
    names = vars(module)
    loader, specification = names.get("__loader__"), names.get("__spec__")
    if type(loader).__module__ == "zipimport" and specification is not None:
        return defined_by(loader.get_source(specification.name))
    return defined_in(names.get("__file__"))


def parsed(source):
    """The syntax tree of a source text. Warnings are suppressed here; they appear when the text is compiled to be
    run."""
    import _warnings

    filters = sys.modules.get("warnings", _warnings).filters
    filters.insert(0, ("ignore", None, Warning, None, 0))
    try:
        return compile(source, "<script>", "exec", PARSE_ONLY, True)
    finally:
        del filters[0]


def stdlib(name):
    """Imports a module of the standard library, even if a file in the program's folders has its name."""
    import os

    path = sys.path
    sys.path = [os.path.dirname(os.__file__)]
    try:
        return __import__(name)
    finally:
        sys.path = path


def cut(values):
    """Splits values of -p at commas, as ckernprof does, but not a file's name that has commas. Empty parts are left
    out."""
    import os

    words = []
    for value in values:
        while value:
            ends = [at for at in range(len(value) + 1) if value[at:at + 1] in (",", "")]
            parts = [(end, split(value[:end])) for end in ends]
            files = [end for end, (file, name) in parts if "," not in name and os.path.exists(file)]
            end = files[-1] if files else ends[0]
            words.append(value[:end])
            value = value[end + 1:]
    return [word for word in words if word]


def installed():
    """Patterns, as --exclude takes them, of what is installed: the standard library and packages."""
    import os

    return ["*/site-packages/*", "*/dist-packages/*", os.path.dirname(os.path.realpath(os.__file__)) + "/*"]


def is_path(target):
    return "/" in target or target.endswith(".py") or ".py:" in target


def split(target):
    """(file, name within the file) of a target: ("mod.py", "Class.method") for mod.py:Class.method and
    mod.py::Class::method."""
    file, is_within, name = target.partition(".py:")
    return file + ".py" * bool(is_within), name.lstrip(":").replace("::", ".").replace(":", ".")


def is_there(target):
    """Does the target name anything that exists: a file or folder, a module that is loaded or can be found, or
    something in one of these? Nothing is imported to find out."""
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
    """The most similar target that names something; None if none is similar. `program` is the script or the module that
    is run, whose own functions and classes come first."""
    if is_path(target):
        found = nearest_within(target, program)
    else:
        found = where_it_is_defined(target) or nearest_name(target, program)
    if found is None and program:
        wanted = split(target)[1] if is_path(target) else target.rpartition(".")[2]
        found = wanted and own_name(wanted, program)
    return found if found and found != target else None


def nearest_within(target, program):
    """The most similar target to one that names a file, or something in a file; None if there is none."""
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
    """The most similar target to one that names a module, or something in a module; None if there is none."""
    dotted = target.replace(":", ".")  # entry points are written module:name
    script, own = module_name(program), own_names(program)
    head, _, rest = dotted.partition(".")
    wanted = behind_program(dotted, program) or (dotted if not rest or head in own else "")
    found = wanted and own_name(wanted, program)
    if found:
        return found
    candidates = names_like(dotted) + [f"{script}.{name}" for name in own if script]
    return closest(dotted, candidates) or closest(head, candidates)


def behind_program(dotted, program):
    """The part of a name behind the program's own name, whichever way the program is called (module name, __main__,
    path). "" if the name is not the program's, or nothing follows."""
    for name in module_name(program), "__main__", program.removesuffix(".py").replace("/", "."):
        if program and name and dotted.startswith(name + "."):
            return dotted[len(name) + 1:]
    return ""


def where_it_is_defined(target):
    """The target by the module that defines a class or function, when the target names it by a module that imported it;
    None if it does not. The target may also name something within the class or function."""
    module = loaded_above(target)
    first, _, rest = target[len(module) + 1:].partition(".")
    thing = attribute_of(module, [first]) if module else None
    functions = exported(f"{module}.{first}")[1] if is_class(thing) else []
    thing = thing if is_class(thing) else below_wrappers(thing)
    if thing is None:
        return None
    home, name = (home_of(thing), name_of(thing)) if is_class(thing) else (thing.__module__, thing.__qualname__)
    if functions:  # the class may give itself another __module__
        home = functions[0].__globals__.get("__name__")
    name = f"{name}.{rest}" if rest else name
    there = type(sys.modules.get(home)) is MODULE and home != "__main__"
    return f"{home}.{name}" if there and name in defined_in_module(sys.modules[home]) else None


def loaded_above(target):
    """The longest beginning of a dotted name that is a loaded module; "" if there is none."""
    while target and type(sys.modules.get(target)) is not MODULE:
        target, _, _ = target.rpartition(".")
    return target


def own_name(wanted, program):
    """A target that names the program's own function or class of this name, or of a similar one; None if there is
    none."""
    found = likest(wanted, own_names(program))
    script = module_name(program)
    return found and (f"{script}.{found}" if script else f"{program}:{found}")


def own_names(program):
    return defined_in_module(sys.modules["__main__"]) if program else []


def module_name(program):
    """The program's name as a module, by which -p can name it; "" if -p can name it only by its file."""
    specification = vars(sys.modules["__main__"]).get("__spec__") if program else None
    if specification is not None:  # of a module, a folder or an archive
        return specification.name
    name = stem(program)
    return name if all(part.isidentifier() for part in name.split(".")) else ""


def likest(wanted, names):
    """The qualified name that ends with `wanted`, or that is most similar; None if there is none. "<locals>", and the
    names of outer functions, may be left out in `wanted`."""
    plain = {name.replace("<locals>.", ""): name for name in reversed(names)}
    lasts = {name.rpartition(".")[2]: name for name in plain}
    ends = [name for name in plain if ("." + name).endswith("." + wanted.replace("<locals>.", ""))]
    found = ends[-1] if ends else closest(wanted, plain, 0.6) or lasts.get(closest(wanted, lasts, 0.6))
    return plain.get(found)


def closest(wanted, names, ratio=0.75):
    """The most similar name, or None. With a lower ratio any short name would be similar to some module's."""
    return next(iter(stdlib("difflib").get_close_matches(wanted, names, 1, ratio)), None)


def files_beside(target):
    """The Python files and folders beside a file, which -p can name."""
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
    """The names of modules with Python code that are loaded or can be imported, and the names in the loaded module with
    which the target begins."""
    names = {name for name, module in list(sys.modules.items()) if name != "__main__" and has_code(module)}
    for folder in sys.path:
        names.update(modules_in(folder))
    above = loaded_above(target)
    if above in names:
        names.update(f"{above}.{name}" for name in defined_in_module(sys.modules[above]))
    return sorted(names)


def has_code(module):
    """Is the module made from a source file, or a package without a file (a namespace package)?"""
    names = vars(module) if type(module) is MODULE else {}
    file = names.get("__file__")
    return type(file) is str and file.endswith(".py") or file is None and "__path__" in names
