# SPDX-License-Identifier: MIT
"""The launcher: which interpreter it starts, what it leaves behind, and its one-line refusals."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CLINEPROF_BUILD", ROOT / "build"))
CKERNPROF = BUILD / "bin/ckernprof"

pytestmark = pytest.mark.once

SHOW = """
import json, os, sys
json.dump([sys.executable, sys.prefix, sys.base_prefix, sys.path, dict(os.environ)], sys.stdout)
print()
"""


def run(*words, cwd=None, **environment):
    full = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    return subprocess.run(list(words), cwd=cwd, env={**full, **environment}, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)


def refusal(ran):
    """The one line of a run that ended with exit status 2."""
    assert (ran.returncode, ran.stdout) == (2, ""), ran
    [line] = ran.stderr.splitlines()
    return line


@pytest.fixture
def show(tmp_path):
    (tmp_path / "show.py").write_text(SHOW)
    return tmp_path / "show.py"


@pytest.fixture
def other_place(tmp_path):
    """A copy of the built tree without its modules, as make lays it out."""
    (tmp_path / "build/bin").mkdir(parents=True)
    shutil.copy(CKERNPROF, tmp_path / "build/bin/ckernprof")
    shutil.copytree(BUILD / "python", tmp_path / "build/python",
                    ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return tmp_path / "build"


def pretending(tmp_path, statement):
    """An interpreter like this one, but for what the statement does to sys."""
    path = tmp_path / "pretender"
    path.write_text('#!/bin/sh\nexport LAUNCH="$1"; shift\n'
                    f'exec "{sys.executable}" -c "import os, runpy, sys; {statement}; '
                    'runpy.run_path(os.environ[\'LAUNCH\'])" "$@"\n')
    path.chmod(0o755)
    return path


def same_as_python(python, show, *words, **environment):
    """What the program sees under the launcher is what it sees when this python runs it."""
    plain = run(python, show, **environment)
    launched = run(CKERNPROF, "-l", *words, "-o", show.parent / "out.lprof", show, **environment)
    assert launched.returncode == 0, launched.stderr
    assert json.loads(launched.stdout.splitlines()[0]) == json.loads(plain.stdout)
    return json.loads(plain.stdout)


def test_the_program_sees_what_plain_python_gives(show):
    same_as_python(sys.executable, show, "--python", sys.executable)


def test_python_by_name_is_searched_on_path(show, tmp_path):
    (tmp_path / "folders/snake").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/snake").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "bin/snake").chmod(0o755)
    path = f"/nowhere::{tmp_path}/folders:{tmp_path}/bin:{os.environ['PATH']}"
    # a shell sets PWD where it is missing
    same_as_python(sys.executable, show, "--python", "snake", PATH=path, PWD=os.getcwd())


def test_the_active_environment_comes_first(show, tmp_path):
    venv.create(tmp_path / "env", symlinks=True)
    seen = same_as_python(tmp_path / "env/bin/python3", show, VIRTUAL_ENV=str(tmp_path / "env"))
    assert seen[1] == str(tmp_path / "env")


def test_an_environment_without_an_interpreter_is_passed_over(show, tmp_path):
    launched = run(CKERNPROF, "-l", "-o", tmp_path / "o", show, VIRTUAL_ENV=str(tmp_path))
    assert launched.returncode == 0, launched.stderr


def test_links_to_the_launcher_find_the_package(show, tmp_path):
    (tmp_path / "link").symlink_to(CKERNPROF)
    launched = run(tmp_path / "link", "-l", "--python", sys.executable, "-o", tmp_path / "o", show)
    assert launched.returncode == 0, launched.stderr


def test_nothing_is_imported_from_the_working_directory(show, tmp_path):
    traps = tmp_path / "traps"
    traps.mkdir()
    for name in sys.stdlib_module_names | {"clineprof"}:
        (traps / f"{name}.py").write_text(f"raise SystemExit('imported {name}')\n")
    launched = run(CKERNPROF, "-l", "--python", sys.executable, "-o", tmp_path / "o", show,
                   cwd=traps)
    assert launched.returncode == 0, launched.stderr


@pytest.mark.parametrize(("name", "says"), [
    ("no-such-python", "no interpreter 'no-such-python' in PATH"),
    (".", "no interpreter '.' in PATH"),
    ("", "option '--python' needs a PATH; see ckernprof --help"),
    ("/no/such/python", "cannot run /no/such/python: No such file or directory"),
    ("/etc/passwd", "cannot run /etc/passwd: Permission denied"),
    ("/etc", "cannot run /etc: Permission denied"),
])  # fmt: skip
def test_no_interpreter(show, name, says):
    assert refusal(run(CKERNPROF, "-l", "--python", name, show)) == f"ckernprof: {says}"


def test_an_interpreter_that_cannot_be_run(show, tmp_path):
    (tmp_path / "bad").write_text("#!/no/such/shell\n")
    (tmp_path / "bad").chmod(0o755)
    line = refusal(run(CKERNPROF, "-l", "--python", tmp_path / "bad", show))
    assert line == f"ckernprof: cannot run {tmp_path}/bad: No such file or directory"


def test_no_module_for_this_interpreter(other_place, show):
    version = "CPython %d.%d.%d" % sys.version_info[:3]
    line = refusal(run(other_place / "bin/ckernprof", "-l", "--python", sys.executable, show))
    assert line == (f"ckernprof: no clineprof module is built for {sys.executable} ({version}); "
                    f"run: make PYTHON={sys.executable}")


def test_no_module_for_this_interpreter_where_installed(other_place, show):
    (other_place / "lib/clineprof").mkdir(parents=True)
    (other_place / "python").rename(other_place / "lib/clineprof/python")
    line = refusal(run(other_place / "bin/ckernprof", "-l", "--python", sys.executable, show))
    assert line.endswith(f"run: make install PREFIX={other_place} PYTHON={sys.executable}")


def test_a_module_that_does_not_load(other_place, show):
    [module] = (BUILD / "python/clineprof").glob(
        f"_core.{sys.implementation.cache_tag}-*.so")
    (other_place / "python/clineprof" / module.name).write_text("not a library")
    line = refusal(run(other_place / "bin/ckernprof", "-l", "--python", sys.executable, show))
    assert line.startswith(f"ckernprof: {sys.executable} cannot load clineprof._core: ")


@pytest.mark.parametrize("statement, complaint", [
    ("sys.version_info=(3,9,18,'final',0)", "needs CPython 3.10 or newer"),
    ("sys.implementation.name='pypy'", "needs CPython 3.10 or newer"),
    ("sys.abiflags='t'", "free-threaded Python is not supported yet"),
])
def test_other_interpreters_are_refused(show, tmp_path, statement, complaint):
    line = refusal(run(CKERNPROF, "-l", "--python", pretending(tmp_path, statement), show))
    assert line.startswith("ckernprof: ") and complaint in line


def test_a_package_that_is_gone(show, tmp_path):
    shutil.copy(CKERNPROF, tmp_path / "ckernprof")
    line = refusal(run(tmp_path / "ckernprof", "-l", show))
    assert line.startswith("ckernprof: its package is not beside it")


@pytest.mark.parametrize("name", ["ckernprof", "clineprof"])
def test_the_launcher_answers_for_itself(name):
    launcher = BUILD / "bin" / name
    nowhere = {"PATH": "/nowhere", "VIRTUAL_ENV": "/nowhere"}
    assert name in run(launcher, "--help", **nowhere).stdout
    assert run(launcher, "-V", **nowhere).stdout.count(".") == 2
    assert refusal(run(launcher, "--no-such-option", **nowhere)).startswith(f"{name}: ")
