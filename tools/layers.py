# SPDX-License-Identifier: MIT
"""Checks that files use each other in one direction only. The two tables of folders in docs/design.md, section 1, give
the order.

    layers.py [FOLDER]      default: the working directory

A folder is a layer: its files may use each other and the files of the folders above it in the table, never those below.
Within a folder no files may need each other in a circle; a .c file and its header count as one file. A function that
other files use is declared in the header of its .c file's name, so that includes tell which file uses which.
C folders above the first one with Python's headers are plain C: they never include these headers, and of them only
src/os asks the operating system. Prints a line `FILE:LINE: what` for each fault, and exits 1 if there was any.
"""
import ast
import graphlib
import importlib.util
import pathlib
import re
import sys

PACKAGE = "src/clineprof"
FIRST_WITH_PYTHON = "src/cpython/compat"
ASK_THE_SYSTEM = {"src/os", "src/native"}  # src/native is a library of its own
APART = {("kernprof/view", "kernprof/run"), ("kernprof/view", "kernprof/run/processes")}
ROW = re.compile(r"^\| `((?:src|kernprof)\b[^`]*)` \|", re.M)
SYSTEM = re.compile(r"#\s*include\s*<(sys/|linux/|asm/|(unistd|time|pthread|fcntl|sched|signal|dirent"
                    r"|dlfcn|poll|semaphore|ucontext)\.h)")
# Only these files may map memory. proc.c maps a few pages for a moment, to find out how exact the kernel's counter is.
MAPPING = re.compile(r"\bm(un|re)?map\s*\(")
MAPPING_FILES = {"pages", "proc"}
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
FUNCTION = re.compile(r"^(?!static\b|typedef\b)\w[\w\s*]*?\b(clp_\w+)\([^;{]*?\)\s*([;{])", re.M)


class Part:
    """The files of one language: their texts by path, and their folders in order, the lowest first."""

    def __init__(self, folders, texts):
        self.folders, self.texts = folders, texts

    def layer(self, path):
        """The place of a file's folder in the order; None if the table has no row for the folder."""
        folder = folder_of(path)
        return self.folders.index(folder) if folder in self.folders else None

    def is_plain(self, path):
        return self.layer(path) is not None and self.layer(path) < self.folders.index(FIRST_WITH_PYTHON)


def folder_of(path):
    """The folder of a file, as the tables name it. In the Python package a subfolder counts as part of its folder."""
    folder = path.parent.as_posix()
    return "/".join(folder.split("/")[:3]) if folder.startswith(PACKAGE) else folder


def read_house(root):
    """Reads the tables and all files: (the C part, the Python part)."""
    rows = ROW.findall((root / "docs/design.md").read_text(encoding="utf-8"))

    def texts(pattern, *tops):
        paths = [path for top in tops for path in sorted((root / top).rglob(pattern))]
        return {path.relative_to(root): path.read_text(encoding="utf-8", errors="replace") for path in paths}

    return (Part([row for row in rows if not row.startswith(PACKAGE)], texts("*.[ch]", "src", "kernprof")),
            Part([row for row in rows if row.startswith(PACKAGE)], texts("*.py", PACKAGE)))


# ---- which file uses which: (path, number of the line, name on that line, path that is used or None) ----


def includes(part):
    for path, text in part.texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            found = INCLUDE.match(line)
            if found:
                places = [folder / found[1] for folder in (path.parent, pathlib.Path("src"), pathlib.Path("kernprof"))]
                yield path, number, found[1], next((place for place in places if place in part.texts), None)


def imports(part):
    """The imports of our own modules, also those within functions."""
    modules = {module_of(path): path for path in part.texts}
    for path, text in part.texts.items():
        package = module_of(path) if path.stem == "__init__" else module_of(path).rpartition(".")[0]
        for node in ast.walk(ast.parse(text)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                within = [f"{base}.{alias.name}" for alias in node.names]
                names = [name if name in modules else base for name in within]
            for name in names:
                if name in modules:
                    yield path, node.lineno, name, modules[name]


def module_of(path):
    parts = path.relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# ---- faults: (path, number of the line, what) ----


def strange_folders(part):
    for path in part.texts:
        if part.layer(path) is None:
            yield path, 1, f"{folder_of(path)} is in no table of docs/design.md"


def arrows_back(part, uses):
    for path, number, name, target in uses:
        if target is None:
            yield path, number, f'"{name}" is not in the house'
        elif None in (part.layer(path), part.layer(target)):
            continue
        elif part.layer(target) > part.layer(path):
            yield path, number, f"{folder_of(path)} uses {target}, of a folder below it"
        elif (folder_of(path), folder_of(target)) in APART:
            pair = f"{folder_of(path)} and {folder_of(target)}"
            yield path, number, f"{pair} do not use each other, but this uses {target}"


def circles(uses):
    """Finds a circle of files within a folder, one at most. Others are found once that one is opened."""
    arrows = {}
    for path, number, _, target in uses:
        if target and folder_of(target) == folder_of(path) and target.with_suffix("") != path.with_suffix(""):
            arrows.setdefault(path.with_suffix(""), {})[target.with_suffix("")] = (path, number)
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]
        yield *arrows[circle[0]][circle[1]], "a circle: " + " -> ".join(path.name for path in circle)


def functions(text, end):
    """{name: number of the line} of the functions that a text declares (`end` is ;) or defines ({)."""
    return {found[1]: text.count("\n", 0, found.start()) + 1 for found in FUNCTION.finditer(text) if found[2] == end}


def strange_declarations(part):
    """Finds functions that are declared elsewhere than in the header of their .c file's name. A function that several
    .c files define is left out: each of these is for other versions of Python."""
    defined = {}
    for path, text in part.texts.items():
        for name in functions(text, "{") if path.suffix == ".c" else ():
            defined.setdefault(name, []).append(path.with_suffix(""))
    for path, text in part.texts.items():
        for name, number in functions(text, ";").items():
            owners = defined.get(name, [])
            if len(owners) == 1 and (owners[0] != path.with_suffix("") or path.suffix != ".h"):
                yield path, number, f"{name} is declared here and defined in {owners[0]}.c"


def strange_lines(part):
    for path, text in part.texts.items():
        if not part.is_plain(path):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if "Python.h" in line:
                yield path, number, "plain C names Python.h"
            if folder_of(path) not in ASK_THE_SYSTEM and SYSTEM.search(line):
                yield path, number, f"{folder_of(path)} asks the operating system: {line.strip()}"
            if folder_of(path) != "src/native" and path.stem not in MAPPING_FILES and MAPPING.search(line):
                yield path, number, "only the file pages maps memory"


def faults(root):
    c, package = read_house(root)
    for part, uses in (c, list(includes(c))), (package, list(imports(package))):
        yield from strange_folders(part)
        yield from arrows_back(part, uses)
        yield from circles(uses)
    yield from strange_declarations(c)
    yield from strange_lines(c)


def main():
    found = list(faults(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    for path, number, what in found:
        print(f"{path}:{number}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
