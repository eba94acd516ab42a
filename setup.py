# SPDX-License-Identifier: MIT
"""The extension for pip; everything else about the package is in pyproject.toml.

Its sources are found as the Makefile finds them (`make print-sources`); a test compares the two.
"""
import glob
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER = "kernprof/ckernprof.c"  # a program of its own, not part of the module
FLAGS = ["-std=c11", "-D_GNU_SOURCE=", "-fvisibility=hidden", "-fno-plt"]


def sources():
    patterns = ("src/core/*.c", "src/python/*.c", "kernprof/*.c")
    found = [name for pattern in patterns for name in glob.glob(pattern, root_dir=HERE)]
    return sorted(set(found) - {LAUNCHER})


def headers():
    patterns = ("src/core/*.h", "src/python/*.h", "kernprof/*.h")
    return sorted(name for pattern in patterns for name in glob.glob(pattern, root_dir=HERE))


def version():
    with open(os.path.join(HERE, "src/core/version.h"), encoding="utf-8") as file:
        return re.search(r'#define CLP_VERSION "([^"]+)"', file.read()).group(1)


def msgpack(what):
    """pkg-config's flags for msgpack-c, which has two names there; [] lets the compiler look."""
    for name in ("msgpack", "msgpack-c"):
        try:
            return shlex.split(subprocess.check_output(
                ["pkg-config", what, name], text=True, stderr=subprocess.DEVNULL))
        except (OSError, subprocess.CalledProcessError):
            continue
    sys.stderr.write("pkg-config knows no msgpack-c (Debian: libmsgpack-dev or libmsgpack-c-dev)\n")
    return [] if what == "--cflags" else ["-lmsgpackc"]


def quoted():
    """Folders for #include "..." only: they hold names such as time.h's neighbours."""
    return [flag for folder in ("src/core", "src/python", "kernprof")
            for flag in ("-iquote", os.path.join(HERE, folder))]


def main():
    from setuptools import Extension, setup

    setup(
        version=version(),
        ext_modules=[Extension(
            "clineprof._core",
            sources(),
            depends=headers(),
            extra_compile_args=FLAGS + quoted() + msgpack("--cflags"),
            extra_link_args=["-Wl,-z,now"] + msgpack("--libs"),
        )],
    )


if __name__ == "__main__":
    main()
