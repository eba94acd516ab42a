# SPDX-License-Identifier: MIT
"""Do the arrows between the rooms run one way? (docs/design.md, section 1.)

    layers.py [FOLDER]      default: the working directory

Reads every #include "..." of src/core, src/python, src/native and kernprof. Prints a line FILE:LINE: what for
each that points up a layer, and for each file of src/core that names Python's headers or asks the
operating system from a room that may not. Exits 1 when there was any.
"""
import pathlib
import re
import sys

# A new file in src/core needs a place here. A room is a file's name without its ending.
LAYERS = {
    "src/core": [
        "status mem buf hashmap version",
        "clock proc processes identity filelock file thread pages arena shadow",
        "functions lines bytecode opcode_table samples sampler groups",
        "charges engine engine_state hot threads reaping resident stacks suspended decoded edges layout rewrite rewritten reach",
        "wire wire_fields wire_decoder wire_split wire_objects wire_rows wire_functions wire_run wire_reader "
        "live live_copy live_reader live_threads live_profile "
        "profile snapshot ended view source number shown walk measure align "
        "pickled unpickler unpickle_literals unpickle_containers unpickle_objects unpickle pickle "
        "marks history leaks mappings heap heap_results",
        "choice columns footer table ranking leak_report report memory_table match sides comparison compare verdict "
        "gate changes github",
    ],
}
# The rest has few layers and many files: what is not named has the layer after the folder. The
# module calls the C main of kernprof, so the two share a layer; the options know the core only.
OTHERS = {
    "src/native": (1, {}),  # a library of its own, and its door
    "src/python": (6, {room: 7 for room in "profiler profiler_run setup with_block module".split()}),
    "kernprof": (7, {"option": 5, "options": 5, "interpreter": 5, "ckernprof": 8}),
}

SYSTEM = re.compile(r"#\s*include\s*<(sys/|linux/|asm/|(unistd|time|pthread|fcntl|sched|signal|dirent"
                    r"|dlfcn|poll|semaphore|ucontext)\.h)")
SYSTEM_ROOMS = {"clock", "proc", "processes", "identity", "filelock", "file", "thread", "pages"}
# The room proc maps a few pages for a moment, to try how exact the kernel's counter is.
MAPPING = re.compile(r"\bm(un|re)?map\s*\(")
MAPPING_ROOMS = {"pages", "proc"}
INCLUDE = re.compile(r'#\s*include\s*"([^"]+)"')
FOLDERS = ("src/core", "src/python", "src/native", "kernprof")


def layer_of(path):
    """The layer of a file named from the top folder; None when the table has no place for it."""
    folder, room = path.parent.as_posix(), path.stem
    if folder == "src/core":
        for layer, rooms in enumerate(LAYERS[folder]):
            if room in rooms.split():
                return layer
        return None
    usual, special = OTHERS[folder]
    return special.get(room, usual)


def resolve(root, path, name):
    """The included file, from the top folder; None when it is none of ours."""
    for folder in (path.parent, *map(pathlib.Path, FOLDERS)):
        found = (root / folder / name).resolve()
        if found.is_file() and found.is_relative_to(root):
            return found.relative_to(root)
    return None


def faults_of_include(root, path, name):
    target = resolve(root, path, name)
    if target is None:
        yield f'"{name}" is not in the house'
        return
    own, other = layer_of(path), layer_of(target)
    if other is None:
        yield f"{target} has no layer in tools/layers.py"
    elif own is not None and other > own:
        yield f"layer {own} uses {target} of layer {other}"


def faults_of_core_line(room, line):
    if "Python.h" in line:
        yield "src/core names Python.h"
    if SYSTEM.search(line) and room not in SYSTEM_ROOMS:
        yield f"room {room} asks the operating system: {line.strip()}"
    if MAPPING.search(line) and room not in MAPPING_ROOMS:
        yield "only the room pages maps memory"


def faults_of(root, path):
    if layer_of(path) is None:
        yield 1, f"{path} has no layer in tools/layers.py"
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line.strip())
        if include:
            for fault in faults_of_include(root, path, include.group(1)):
                yield number, fault
        if path.parent.as_posix() == "src/core":
            for fault in faults_of_core_line(path.stem, line):
                yield number, fault


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    bad = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*.[ch]")):
            for number, fault in faults_of(root, path.relative_to(root)):
                print(f"{path.relative_to(root)}:{number}: {fault}")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
