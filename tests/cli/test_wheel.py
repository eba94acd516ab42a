# SPDX-License-Identifier: MIT
"""pip builds a wheel that needs nothing of the system it is installed on."""
import configparser
import email
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.once, pytest.mark.slow]


def run(command, **options):
    return subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)


def sources(folder):
    """A copy of what a source distribution would hold."""
    listed = run(["git", "ls-files"], cwd=ROOT)
    if listed.returncode != 0:
        pytest.skip("the sources are not in git")
    for name in listed.stdout.split("\n"):
        path = ROOT / name
        if name and path.is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(path.read_bytes())
    return folder


def pip_wheel(folder, out, **environment):
    """Builds a wheel, without optimization, which would take three times as long."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, folder]
    return run(command, env={**os.environ, "CFLAGS": "-O0", **environment})


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """build("sdist" or "wheel", folder of the sources, folder for the result, ..): what pip runs, with a setuptools of its
    own."""
    tools = tmp_path_factory.mktemp("tools")
    wanted = re.search(r"setuptools>=\d+", (ROOT / "pyproject.toml").read_text())[0]
    if run([sys.executable, "-m", "pip", "install", "-q", "--target", tools, wanted]).returncode != 0:
        pytest.skip(f"{wanted} cannot be had from the package registry")

    def call(what, folder, out, **environment):
        code = f"from setuptools import build_meta; build_meta.build_{what}({str(out)!r})"
        return run([sys.executable, "-c", code], cwd=folder, env={**os.environ, "PYTHONPATH": str(tools), **environment})

    return call


@pytest.fixture(scope="module")
def sdist(build, tmp_path_factory):
    out = tmp_path_factory.mktemp("sdist")
    made = build("sdist", sources(tmp_path_factory.mktemp("sources")), out)
    assert made.returncode == 0, made.stderr
    [path] = out.glob("clineprof-*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    built = pip_wheel(sdist, out)
    assert built.returncode == 0, built.stderr
    [path] = out.glob("clineprof-*.whl")
    return path


def test_the_source_distribution_holds_what_is_in_git(sdist):
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = set(run(["git", "ls-files"], cwd=ROOT).stdout.split("\n")) - {""}
    assert "bench/run.py" in held
    assert {name for name in listed - held if (ROOT / name).exists()} == {name for name in listed if name.startswith(".")}
    assert not [name for name in held if name.endswith((".so", ".pyc"))]


def test_the_module_has_msgpack_inside_and_exports_its_init_function_only(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    [module] = tmp_path.glob("clineprof/_core*.so")
    needed = re.findall(r"NEEDED +(\S+)", run(["objdump", "-p", module]).stdout)
    assert needed and not [name for name in needed if "msgpack" in name]
    exported = run(["nm", "-D", "--defined-only", module]).stdout.split()
    assert exported[2::3] == ["PyInit__core"]
    for library in "libclineprof_native.so", "libclineprof_tensors.so":
        needed = re.findall(r"NEEDED +(\S+)", run(["objdump", "-p", tmp_path / "clineprof" / library]).stdout)
        assert needed and {name.split(".")[0] for name in needed} <= {"libc", "libdl", "libpthread"}


def test_the_wheel_holds_all_of_the_package(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/clineprof").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"}
    assert ours and ours - held == set() and "clineprof-start.pth" in held
    shared = {path.relative_to(ROOT / "share").as_posix() for path in (ROOT / "share").rglob("*") if path.is_file()}
    assert shared and shared == {name.split(".data/data/share/")[1] for name in held if ".data/data/share/" in name}


def test_the_wheel_tells_pyinstaller_where_its_hook_is(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    [path] = tmp_path.glob("*.dist-info/entry_points.txt")
    entries = configparser.ConfigParser()
    entries.read(path)
    module, function = entries["pyinstaller40"]["hook-dirs"].split(":")
    told = run([sys.executable, "-c", f"import {module} as m; print(*m.{function}())"], cwd=tmp_path)
    assert os.listdir(told.stdout.strip()).count("hook-clineprof.py") == 1


def test_an_installed_wheel_profiles_and_shows(wheel, tmp_path):
    assert run([sys.executable, "-m", "venv", tmp_path / "venv"]).returncode == 0
    python = tmp_path / "venv/bin/python"
    assert run([python, "-m", "pip", "install", "-q", "--no-index", wheel]).returncode == 0
    (tmp_path / "jobs.py").write_text("from clineprof import profile\n@profile\ndef f():\n    return 1\nf()\n")
    start = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import jobs'])"
    family = run([python, "-c", start], cwd=tmp_path, env={**os.environ, "CLINEPROF": "1"})
    assert "Wrote profile results to profile_output.lprof" in family.stdout and family.stderr == ""
    (tmp_path / "it.py").write_text("@profile\ndef f():\n    return 1\nf()\n")
    done = run([tmp_path / "venv/bin/ckernprof", "-lv", "it.py"], cwd=tmp_path)
    assert done.returncode == 0 and "     3         1 " in done.stdout, done.stderr
    shown = run([python, "-m", "clineprof", "it.py.lprof"], cwd=tmp_path)
    assert "     3         1 " in shown.stdout
    (tmp_path / "it.py").write_text(
        "import ctypes\n@profile\ndef f():\n    ctypes.CDLL(None).malloc(100_000)\nf()\n")
    done = run([tmp_path / "venv/bin/ckernprof", "-lv", "--heap=native", "--heap-interval=1",
                "--columns=native", "it.py"], cwd=tmp_path)
    assert done.returncode == 0 and "     4    0.095 MiB " in done.stdout, done.stderr


def test_the_page_of_the_package_stands_alone(wheel):
    [name] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/METADATA")]
    metadata = email.message_from_bytes(zipfile.ZipFile(wheel).read(name))
    assert metadata["License-Expression"] == "MIT" and metadata["Requires-Python"] == ">=3.10"
    classifiers = set(metadata.get_all("Classifier"))
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 16)} <= classifiers
    assert "Typing :: Typed" in classifiers
    extras = set(metadata.get_all("Provides-Extra"))
    of_all = {line.partition(";")[0].strip() for line in metadata.get_all("Requires-Dist") if "all" in line.split("extra")[-1]}
    assert of_all == {"clineprof[html,lsp,pandas,plot,rich]"}
    assert extras == {"all", "html", "lsp", "pandas", "plot", "rich", "test"}
    page = metadata.get_payload()
    assert "# clineprof" in page and "docs/overhead.md" in page and "(Picture: The table of" in page
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert not re.findall(r"\]\((?!https?:)", page)


# ---- what a build says is missing ----


BUILD_NEEDS = {
    "stdio.h": "no working C compiler: '{cc}' cannot compile and link; on Debian and Ubuntu: apt install gcc libc6-dev",
    "Python.h": "no headers of {python} (Python.h); on Debian and Ubuntu: apt install python{version}-dev; "
                "on Fedora: dnf install python3-devel",
    "msgpack.h": "no library msgpack-c; on Debian and Ubuntu: apt install libmsgpack-dev, or libmsgpack-c-dev where "
                 "there is one; on Fedora: dnf install msgpack-devel; on Arch, and in conda: msgpack-c",
    "zlib.h": "no library zlib; on Debian and Ubuntu: apt install zlib1g-dev; on Fedora: dnf install zlib-devel; "
              "on Arch, and in conda: zlib",
}  # fmt: skip


@pytest.fixture
def without(tmp_path):
    """without("Python.h", ..): a compiler that cannot include these."""

    def make(*headers):
        path = tmp_path / "cc"
        path.write_text('#!/bin/sh\nfor word; do case $word in *try.c) grep -qE "%s" "$word" && exit 1;; esac; done\n'
                        'exec cc "$@"\n' % "|".join(headers))
        path.chmod(0o755)
        return str(path)

    return make


def last_line_of_the_build(text, missing, compiler):
    version = "%d.%d" % sys.version_info[:2]
    assert text.strip().splitlines()[-1].strip() == (
        "clineprof: " + BUILD_NEEDS[missing].format(cc=compiler, python=sys.executable, version=version))


def test_what_is_missing_is_the_last_line_of_pip(without, tmp_path):
    compiler = without("msgpack.h")
    (tmp_path / "sources").mkdir()
    built = pip_wheel(sources(tmp_path / "sources"), tmp_path, CC=compiler)
    assert built.returncode != 0
    last_line_of_the_build(built.stderr.partition("[end of output]")[0], "msgpack.h", compiler)


@pytest.mark.parametrize("missing", [["stdio.h", "Python.h", "msgpack.h"], ["Python.h", "msgpack.h"], ["zlib.h"]])
def test_the_first_thing_that_is_missing_is_told(missing, build, without, tmp_path):
    compiler = without(*missing)
    (tmp_path / "sources").mkdir()
    built = build("wheel", sources(tmp_path / "sources"), tmp_path, CC=compiler)
    assert built.returncode != 0
    last_line_of_the_build(built.stderr, missing[0], compiler)


def setup_line(python, *words):
    """What setup.py says before anything else. There is no compiler for it."""
    ended = run([python, *words], cwd=ROOT, env={**os.environ, "CC": "/no/such/compiler"})
    assert ended.returncode == 1, ended
    return ended.stderr


LIBC = "clineprof runs on Linux with the GNU C library (glibc) only, on x86-64 and aarch64"


@pytest.mark.parametrize(("statement", "says"), [
    ("sys.version_info = (3, 9, 18, 'final', 0)", "is cpython 3.9; clineprof needs CPython 3.10 or newer"),
    ("sys.platform = 'darwin'", f"is for darwin; {LIBC}"),
    ("sys.platform = 'win32'", f"is for win32; {LIBC}"),
    ("sysconfig.get_config_vars()['SOABI'] = 'cpython-311-x86_64-linux-musl'",
     f"is for Linux with the C library musl; {LIBC}"),
])
def test_the_interpreter_is_looked_at_first(statement, says):
    said = setup_line(sys.executable, "-c", "import runpy, subprocess, sys, sysconfig, tempfile\n"
                      f"sysconfig.get_config_vars(); {statement}\nrunpy.run_path('setup.py', run_name='__main__')")
    assert said == f"clineprof: cannot be built: {sys.executable} {says}\n"


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.9"])
def test_old_interpreters_come_to_the_line_that_refuses_them(version):
    found = [*pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"), shutil.which(f"python{version}")]
    python = next((path for path in found if path and run([path, "-c", ""]).returncode == 0), None)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    said = setup_line(python, "setup.py", "install")
    assert said.endswith(f" is cpython {version}; clineprof needs CPython 3.10 or newer\n") and said.count("\n") == 1


def test_an_old_setuptools_is_named():
    tried = run([sys.executable, "-c", "import runpy; runpy.run_path('setup.py')['need_setuptools']('65.5.0')"], cwd=ROOT)
    assert tried.stderr == (f"clineprof: cannot be built with setuptools 65.5.0: run {sys.executable} -m pip install "
                            "'setuptools>=77', or leave --no-build-isolation out\n")
