# SPDX-License-Identifier: MIT
"""Builds the extension modules for pip, and the description of the package. All other settings are in pyproject.toml.

The sources are found by the same rule as in the Makefile (`make print-sources`), which a test checks. The syntax is
that of Python 3.6, so that older interpreters print the line that says what clineprof needs.
"""
import glob
import os
import re
import runpy
import shlex
import subprocess
import sys
import sysconfig
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = "kernprof/ckernprof.c"  # a program of its own, not part of the module
NATIVE = {  # the libraries that --heap=native and --tensors preload
    "libclineprof_native": "src/native/native.c",
    "libclineprof_tensors": "src/native/tensors.c",
}
START = "clineprof-start.pth"  # lets the first process of a program lead a family (_global/head.py)
FLAGS = ["-std=c11", "-D_GNU_SOURCE=", "-fvisibility=hidden", "-fno-plt"]


def text_of(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def find(*patterns):
    found = [path for pattern in patterns for path in glob.glob(os.path.join(HERE, pattern), recursive=True)]
    return sorted(os.path.relpath(path, HERE) for path in found)


def sources():
    return [name for name in find("src/**/*.c", "kernprof/**/*.c")
            if name != LAUNCHER and not name.startswith("src/native/")]


def headers():
    return find("src/**/*.h", "kernprof/**/*.h")


def version():
    return re.search(r'#define CLP_VERSION "([^"]+)"', text_of("src/base/version.h")).group(1)


def description():
    """README.md for a page without the other files of the project. Pictures, and links to other files, become text."""
    link = r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)"
    text = re.sub("!" + link, r"(Picture: \1.)", text_of("README.md"))
    return re.sub(link, r"\1", text)


# ---- what a build needs ----


def stop(text):
    """Ends the build with this line, the last one that pip shows."""
    sys.stdout.flush()
    raise SystemExit("clineprof: " + text)


def need_interpreter():
    reason = runpy.run_path(os.path.join(HERE, "tools", "config.py"))["refusal"]()
    if reason:
        stop("cannot be built: %s %s" % (sys.executable, reason))


def need_setuptools(found):
    """Ends the build if setuptools is too old to read pyproject.toml, as may be with pip --no-build-isolation."""
    wanted = re.search(r"setuptools>=(\d+)", text_of("pyproject.toml")).group(1)
    if int(found.split(".")[0]) < int(wanted):
        stop("cannot be built with setuptools %s: run %s -m pip install 'setuptools>=%s', or leave "
             "--no-build-isolation out" % (found, sys.executable, wanted))


def compiler():
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def links(source, flags=()):
    """Does this source compile and link as a shared object?"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "try.c")
        with open(path, "w") as file:
            file.write(source)
        command = compiler() + ["-shared", "-fPIC", "-o", os.path.join(folder, "try.so"), path] + list(flags)
        try:
            return subprocess.run(command, capture_output=True).returncode == 0
        except OSError:
            return False


def need_compiler():
    if not links("#include <stdio.h>\nvoid trial(void) { puts(\"\"); }\n"):
        stop("no working C compiler: '%s' cannot compile and link; on Debian and Ubuntu: apt install gcc libc6-dev"
             % " ".join(compiler()))


def need_headers():
    paths = sysconfig.get_paths()
    if not links("#include <Python.h>\n", ["-I" + paths["include"], "-I" + paths["platinclude"]]):
        stop("no headers of %s (Python.h); on Debian and Ubuntu: apt install python%d.%d-dev; on Fedora: "
             "dnf install python3-devel" % ((sys.executable,) + sys.version_info[:2]))


def pkg_config(what):
    """The flags of pkg-config for msgpack-c, which it knows by one of two names; [] if it knows neither. The compiler
    then looks in its usual places."""
    for name in ("msgpack", "msgpack-c"):
        try:
            return shlex.split(subprocess.check_output(
                ["pkg-config", what, name], text=True, stderr=subprocess.DEVNULL))
        except (OSError, subprocess.CalledProcessError):
            continue
    return []


TRIAL = """#include <msgpack.h>
void *trial(void) { return msgpack_zone_new(64); }
"""


def msgpack():
    """(flags to compile, flags to link) with msgpack-c. The static library is preferred, if a shared object can contain
    it, so that the wheel needs no library of the system on which it is installed."""
    compile_flags = pkg_config("--cflags")
    found = pkg_config("--libs")
    choices = [found, ["-lmsgpackc"], ["-lmsgpack-c"]]
    # -z text refuses a static library that was compiled without -fPIC
    for libs in [[re.sub("^-l(msgpack.*)", r"-l:lib\1.a", flag) for flag in choice]
                 for choice in choices] + choices:
        if libs and links(TRIAL, compile_flags + libs + ["-Wl,-z,defs", "-Wl,-z,text"]):
            return compile_flags, libs
    stop("no library msgpack-c; on Debian and Ubuntu: apt install libmsgpack-dev, or libmsgpack-c-dev where "
         "there is one; on Fedora: dnf install msgpack-devel; on Arch, and in conda: msgpack-c")


def need_zlib():
    if not links("#include <zlib.h>\nconst char *trial(void) { return zlibVersion(); }\n", ["-lz", "-Wl,-z,defs"]):
        stop("no library zlib; on Debian and Ubuntu: apt install zlib1g-dev; on Fedora: dnf install zlib-devel; "
             "on Arch, and in conda: zlib")


# ---- the build ----


def quoted():
    """The flags that name the folders of our headers. They count for #include "..." only, so that no header of ours is
    taken for a system header."""
    return [flag for folder in ("src", "kernprof")
            for flag in ("-iquote", os.path.join(HERE, folder))]


def main():
    need_interpreter()
    import setuptools
    from setuptools.command.build_ext import build_ext
    from setuptools.command.build_py import build_py

    need_setuptools(setuptools.__version__)

    class BuildPython(build_py):
        def run(self):
            super().run()
            if not self.editable_mode:  # site-packages get it, beside the package
                self.copy_file(os.path.join(HERE, "src", START), os.path.join(self.build_lib, START))

    class Build(build_ext):
        def get_ext_filename(self, name):
            if name.endswith(tuple(NATIVE)):  # loaded by the dynamic linker, not by an interpreter
                return os.path.join(*name.split(".")) + ".so"
            return super().get_ext_filename(name)

        def build_extensions(self):
            need_compiler()
            need_headers()
            compile_flags, libs = msgpack()
            need_zlib()
            module = self.ext_map["clineprof._core"]
            module.extra_compile_args += compile_flags
            module.extra_link_args += libs + ["-lz"]
            super().build_extensions()

    setuptools.setup(
        version=version(),
        long_description=description(),
        long_description_content_type="text/markdown",
        cmdclass={"build_ext": Build, "build_py": BuildPython},
        ext_modules=[setuptools.Extension(
            "clineprof._core",
            sources(),
            depends=headers(),
            extra_compile_args=FLAGS + quoted(),
            extra_link_args=["-Wl,-z,now", "-Wl,--strip-debug", "-Wl,--exclude-libs,ALL", "-ldl"],
        )] + [setuptools.Extension(
            "clineprof." + name,
            [source],
            depends=headers(),
            extra_compile_args=FLAGS,
            extra_link_args=["-Wl,-z,now", "-Wl,--strip-debug", "-lpthread", "-ldl"],
        ) for name, source in NATIVE.items()],
    )


if __name__ == "__main__":
    main()
