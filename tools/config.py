# SPDX-License-Identifier: MIT
"""Tells make about the interpreter that runs this file, for which clineprof is to be built.

    PYTHON tools/config.py FOLDER

Writes FOLDER/<SOABI>/config.mk if its content changes, and prints the file's path. Exits 1 with one line
if clineprof cannot be built for this interpreter. The syntax is that of old Pythons, so that they print
this line and not a SyntaxError.
"""
import os
import sys
import sysconfig


def is_musl():
    return "musl" in " ".join(str(sysconfig.get_config_var(name)) for name in ("SOABI", "HOST_GNU_TYPE"))


def refusal():
    """Why clineprof cannot be built for this interpreter, in words; None if it can."""
    name = getattr(getattr(sys, "implementation", None), "name", "cpython")
    if name != "cpython" or sys.version_info < (3, 10):
        return "is %s %d.%d; clineprof needs CPython 3.10 or newer" % ((name,) + sys.version_info[:2])
    if not sys.platform.startswith("linux") or is_musl():
        return "is for %s; clineprof runs on Linux with the GNU C library (glibc) only, on x86-64 and aarch64" % (
            "Linux with the C library musl" if is_musl() else sys.platform)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "is a free-threaded build, which clineprof does not support yet"
    return None


def debug_flags():
    """The compiler flags for a debug build. Its pyconfig.h defines Py_DEBUG, but Debian's headers for debug builds are
    links to the usual headers, and gcc resolves such links before it looks for pyconfig.h beside them."""
    return ["-DPy_DEBUG"] if sysconfig.get_config_var("Py_DEBUG") else []


def embed_flags():
    """The linker flags for a program that embeds this interpreter; "" if the interpreter has no library."""
    get = sysconfig.get_config_var
    name = "python%d.%d%s" % (sys.version_info[:2] + (sys.abiflags,))
    libs = " ".join(filter(None, [get("LIBS"), get("SYSLIBS")]))
    for folder in (get("LIBDIR"), os.path.join(get("LIBDIR") or "", get("MULTIARCH") or "")):
        if os.path.exists(os.path.join(folder, "lib%s.so" % name)):
            return "-L%s -Wl,-rpath,%s -l%s %s" % (folder, folder, name, libs)
    archive = os.path.join(get("LIBPL") or "", "lib%s.a" % name)
    if os.path.exists(archive):
        return "%s %s %s" % (archive, libs, get("LINKFORSHARED") or "")
    return ""


def settings():
    paths = sysconfig.get_paths()
    includes = sorted({paths["include"], paths["platinclude"]})
    yield "PYTHON_EXE", sys.executable
    yield "PYTHON_VERSION", "%d.%d.%d" % sys.version_info[:3]
    yield "SOABI", soabi()
    yield "EXT_SUFFIX", sysconfig.get_config_var("EXT_SUFFIX")
    yield "PYTHON_CFLAGS", " ".join(["-isystem " + path for path in includes] + debug_flags())
    yield "PYTHON_EMBED", embed_flags()


def soabi():
    return sysconfig.get_config_var("SOABI") or "cpython-%d%d" % sys.version_info[:2]


def write_if_changed(path, text):
    try:
        with open(path) as file:
            if file.read() == text:
                return
    except IOError:
        pass
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        file.write(text)


def main():
    why = refusal()
    if why:
        sys.stderr.write("make: %s %s\n" % (sys.executable, why))
        return 1
    path = os.path.join(sys.argv[1], soabi(), "config.mk")
    write_if_changed(path, "".join("%s := %s\n" % pair for pair in settings()))
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
