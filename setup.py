# SPDX-License-Identifier: MIT
"""The extension for pip; everything else about the package is in pyproject.toml.

Its sources are found as the Makefile finds them (`make print-sources`); a test compares the two.
"""
import glob
import os
import re
import shlex
import subprocess
import sysconfig
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = "kernprof/ckernprof.c"  # a program of its own, not part of the module
NATIVE = "libclineprof_native"  # what --heap=native preloads
FLAGS = ["-std=c11", "-D_GNU_SOURCE=", "-fvisibility=hidden", "-fno-plt"]


def sources():
    patterns = ("src/core/*.c", "src/python/*.c", "kernprof/*.c")
    found = [name for pattern in patterns for name in glob.glob(pattern, root_dir=HERE)]
    return sorted(set(found) - {LAUNCHER})


def headers():
    patterns = ("src/core/*.h", "src/python/*.h", "src/native/*.h", "kernprof/*.h")
    return sorted(name for pattern in patterns for name in glob.glob(pattern, root_dir=HERE))


def version():
    with open(os.path.join(HERE, "src/core/version.h"), encoding="utf-8") as file:
        return re.search(r'#define CLP_VERSION "([^"]+)"', file.read()).group(1)


def pkg_config(what):
    """pkg-config's flags for msgpack-c, which has two names there; [] lets the compiler look."""
    for name in ("msgpack", "msgpack-c"):
        try:
            return shlex.split(subprocess.check_output(
                ["pkg-config", what, name], text=True, stderr=subprocess.DEVNULL))
        except (OSError, subprocess.CalledProcessError):
            continue
    return []


def links(flags, source):
    """Does a shared object of this source link?"""
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "try.c")
        with open(path, "w") as file:
            file.write(source)
        command = [*compiler, "-shared", "-fPIC", "-o", os.path.join(folder, "try.so"), path, *flags]
        try:
            return subprocess.run(command, capture_output=True).returncode == 0
        except OSError:
            return False


TRIAL = """#include <msgpack.h>
void *trial(void) { return msgpack_zone_new(64); }
"""


def msgpack():
    """(flags to compile, flags to link) with msgpack-c: its archive where there is one that a shared
    object may hold, so that the wheel asks nothing of the system that it is installed on."""
    compile_flags = pkg_config("--cflags")
    found = pkg_config("--libs")
    choices = [found, ["-lmsgpackc"], ["-lmsgpack-c"]]
    # -z text: an archive that was compiled without -fPIC does not pass
    for libs in [[re.sub("^-l(msgpack.*)", r"-l:lib\1.a", flag) for flag in choice]
                 for choice in choices] + choices:
        if libs and links(compile_flags + libs + ["-Wl,-z,defs", "-Wl,-z,text"], TRIAL):
            return compile_flags, libs
    raise SystemExit(
        "clineprof's sources need the library msgpack-c: install libmsgpack-dev or libmsgpack-c-dev "
        "(Debian, Ubuntu), msgpack-devel (Fedora), msgpack-c (Arch, Alpine, conda)")


def quoted():
    """Folders for #include "..." only: they hold names such as time.h's neighbours."""
    return [flag for folder in ("src/core", "src/python", "kernprof")
            for flag in ("-iquote", os.path.join(HERE, folder))]


def main():
    from setuptools import Extension, setup
    from setuptools.command.build_ext import build_ext

    class Build(build_ext):
        def get_ext_filename(self, name):
            if name.endswith(NATIVE):  # loaded by the dynamic linker, not by an interpreter
                return os.path.join(*name.split(".")) + ".so"
            return super().get_ext_filename(name)

        def build_extension(self, extension):
            if extension.name.endswith(NATIVE):
                return super().build_extension(extension)
            compile_flags, libs = msgpack()
            extension.extra_compile_args += compile_flags
            extension.extra_link_args += libs
            super().build_extension(extension)

    setup(
        version=version(),
        cmdclass={"build_ext": Build},
        ext_modules=[Extension(
            "clineprof._core",
            sources(),
            depends=headers(),
            extra_compile_args=FLAGS + quoted(),
            extra_link_args=["-Wl,-z,now", "-Wl,--strip-debug", "-Wl,--exclude-libs,ALL", "-ldl"],
        ), Extension(
            "clineprof." + NATIVE,
            ["src/native/native.c"],
            depends=headers(),
            extra_compile_args=FLAGS,
            extra_link_args=["-Wl,-z,now", "-Wl,--strip-debug", "-ldl"],
        )],
    )


if __name__ == "__main__":
    main()
