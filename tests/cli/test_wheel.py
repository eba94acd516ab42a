# SPDX-License-Identifier: MIT
"""pip builds a wheel that needs nothing of the system it is installed on."""
import os
import pathlib
import re
import subprocess
import sys
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
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", out, folder]
    return run(command, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    built = pip_wheel(sources(tmp_path_factory.mktemp("sources")), out)
    if "Could not find a version" in built.stderr:
        pytest.skip("setuptools cannot be had from the package registry")
    assert built.returncode == 0, built.stderr
    [path] = out.glob("clineprof-*.whl")
    return path


def test_the_module_has_msgpack_inside_and_exports_its_init_function_only(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    [module] = tmp_path.glob("clineprof/_core*.so")
    needed = re.findall(r"NEEDED +(\S+)", run(["objdump", "-p", module]).stdout)
    assert needed and not [name for name in needed if "msgpack" in name]
    exported = run(["nm", "-D", "--defined-only", module]).stdout.split()
    assert exported[2::3] == ["PyInit__core"]
    library = tmp_path / "clineprof/libclineprof_native.so"
    needed = re.findall(r"NEEDED +(\S+)", run(["objdump", "-p", library]).stdout)
    assert {name.split(".")[0] for name in needed} <= {"libc", "libdl", "libpthread"}


def test_the_wheel_holds_all_of_the_package(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    ours = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/clineprof").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}
    assert ours and ours - held == set()


def test_an_installed_wheel_profiles_and_shows(wheel, tmp_path):
    assert run([sys.executable, "-m", "venv", tmp_path / "venv"]).returncode == 0
    python = tmp_path / "venv/bin/python"
    assert run([python, "-m", "pip", "install", "-q", "--no-index", wheel]).returncode == 0
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


def test_without_msgpack_the_build_names_the_package(tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nexec cc -nostdinc "$@"\n')
    compiler.chmod(0o755)
    (tmp_path / "sources").mkdir()
    built = pip_wheel(sources(tmp_path / "sources"), tmp_path, CC=str(compiler))
    assert built.returncode != 0
    assert "need the library msgpack-c: install libmsgpack-dev" in built.stderr
