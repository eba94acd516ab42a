# SPDX-License-Identifier: MIT
"""Where the functions of a running process are. They are read from the files that it has mapped, so that gdb needs to
read none of them, and so that interpreters without debugging symbols are fine."""
import re
import struct

from clineprof._attach.place import PYTHON, Refused

LIBC = re.compile(r"/(?:libc[.-]|ld-musl-)[^/]*$")
OF_PYTHON = "Py_IsInitialized", "Py_AddPendingCall", "PyRun_SimpleString"
OF_LIBC = "mmap", "munmap"

LOADED, DYNAMIC_SYMBOLS = 1, 11  # kinds of ELF segments and sections


def addresses(target):
    """{name: address} of the functions above. Raises Refused if there is one of which nothing is known."""
    found = {}
    for start, path in target.mapped.items():
        names = OF_PYTHON if PYTHON.search(path) else OF_LIBC if LIBC.search(path) else ()
        if names:
            found = {**_exported(target, start, path, names), **found}
    for name in OF_PYTHON + OF_LIBC:
        if name not in found:
            raise Refused("gdb cannot reach process %d: its interpreter does not export %s" % (target.pid, name))
    return found


def _exported(target, start, path, names):
    inside = "/proc/%d/exe" % target.pid if path == target.exe else target.root + path
    try:
        with open(inside, "rb") as file:
            content = file.read()
        bias = start - _first_address(content)
        return {name: bias + value for name, value in _symbols(content) if name in names}
    except (OSError, ValueError, struct.error):
        return {}


def _first_address(elf):
    """Where the beginning of the file would be mapped if the system took the addresses in it as they are."""
    if elf[:6] != b"\x7fELF\2\1":
        raise ValueError("this is no 64 bit little endian ELF file")
    [table], [size, count] = struct.unpack_from("<Q", elf, 32), struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, offset, address = struct.unpack_from("<IIQQ", elf, table + i * size)
        if kind == LOADED:
            return address - offset
    raise ValueError("nothing of the file is mapped")


def _symbols(elf):
    """(name, address) of each symbol that the file offers to others."""
    [table], [size, count] = struct.unpack_from("<Q", elf, 40), struct.unpack_from("<HH", elf, 58)
    for i in range(count):
        _, kind, _, _, offset, length, link = struct.unpack_from("<IIQQQQI", elf, table + i * size)
        if kind == DYNAMIC_SYMBOLS:
            [names] = struct.unpack_from("<Q", elf, table + link * size + 24)
            for name, _, _, section, address, _ in struct.iter_unpack("<IBBHQQ", elf[offset:offset + length]):
                if section:
                    yield elf[names + name:elf.index(b"\0", names + name)].decode(), address
