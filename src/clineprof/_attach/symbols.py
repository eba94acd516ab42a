# SPDX-License-Identifier: MIT
"""Where the functions of a running process are. They are read from the files that it has mapped, so that gdb needs to
read none of them, and so that interpreters without debugging symbols are fine."""
import collections
import re
import struct

from clineprof._attach.place import PYTHON, Refused, read_plain

LIBC = re.compile(r"/(?:libc[.-]|ld-musl-)[^/]*$")
OF_PYTHON = "Py_IsInitialized", "Py_AddPendingCall", "PyRun_SimpleString"
OF_LIBC = "mmap", "munmap"

LOADED, DYNAMIC_SYMBOLS = 1, 11  # kinds of ELF segments and sections
LARGEST = 1 << 30  # bytes of an interpreter, with its debugging symbols

# address: where the function is in the process; word: the number that its first 8 bytes are
Function = collections.namedtuple("Function", "address, word")


def functions(target):
    """{name: Function} of the functions above. Raises Refused if there is one of which nothing is known."""
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
        _, content = read_plain(inside, LARGEST)
        segments = list(_segments(content))
        bias = start - segments[0][0] + segments[0][1]
        return {name: Function(bias + value, _word(content, segments, value))
                for name, value in _symbols(content) if name in names}  # fmt: skip
    except (OSError, ValueError, IndexError, struct.error):
        return {}


def _segments(elf):
    """(address, offset, size) of each part of the file that is mapped: the address is the one that the file names."""
    if elf[:6] != b"\x7fELF\2\1":
        raise ValueError("this is no 64 bit little endian ELF file")
    [table], [size, count] = struct.unpack_from("<Q", elf, 32), struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", elf, table + i * size)
        if kind == LOADED:
            yield address, offset, length


def _word(elf, segments, address):
    [place] = [offset + address - start for start, offset, length in segments if start <= address < start + length]
    return struct.unpack_from("<q", elf, place)[0]


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
