# SPDX-License-Identifier: MIT
"""The launcher: which interpreter it starts, what it leaves behind, and its one-line refusals."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

import pytest
from harness import clean_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CLINEPROF_BUILD", ROOT / "build")).resolve()
CKERNPROF = BUILD / "bin/ckernprof"
EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")

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


def same_as_python(python, show, *words, command=CKERNPROF, **environment):
    """What the program sees under the launcher is what it sees when this python runs it."""
    plain = run(python, show, **environment)
    launched = run(command, "-l", *words, "-o", show.parent / "out.lprof", show, **environment)
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


def test_without_a_module_of_its_own_the_one_that_the_interpreter_has_is_used(other_place, show, tmp_path):
    command = installed(tmp_path / "env")
    python = command.with_name("python")
    same_as_python(python, show, "--python", python, command=other_place / "bin/ckernprof")
    (tmp_path / "it.py").write_text("@profile\ndef f():\n    return 1\nf()\nimport clineprof\nprint(clineprof.__file__)\n")
    ended = run(other_place / "bin/ckernprof", "-lv", "--python", python, "it.py", cwd=tmp_path)
    assert ended.returncode == 0 and f"{tmp_path}/env/lib" in ended.stdout.splitlines()[0], ended.stderr
    assert "     3         1 " in ended.stdout


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
    assert line.startswith("ckernprof: the package clineprof is not beside this program")


# ---- the command that pip installs ----


def installed(folder):
    """The command of a virtual environment with clineprof in it, laid out as pip does."""
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python3*/site-packages")
    shutil.copytree(BUILD / "python/clineprof", packages / "clineprof", ignore=lambda _, names: [
        name for name in names if name == "__pycache__" or name.startswith("_core.") and not name.endswith(EXTENSION)])
    command = folder / "bin/ckernprof"
    command.write_text(f"#!{folder}/bin/python\nimport sys\nfrom clineprof.kernprof import main\n"
                       "if __name__ == '__main__':\n    sys.exit(main())\n")
    command.chmod(0o755)
    return command


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    return installed(tmp_path_factory.mktemp("tool") / "env")


def test_the_installed_command_runs_its_own_interpreter(command, show):
    same_as_python(command.with_name("python"), show, command=command)


def test_the_installed_command_obeys_the_option_python(command, show):
    same_as_python(sys.executable, show, "--python", sys.executable, command=command)
    same_as_python("python3", show, "--python", "python3", command=command, VIRTUAL_ENV="/nowhere",
                   PATH=f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}")


def test_the_installed_command_obeys_the_active_environment(command, show, tmp_path):
    venv.create(tmp_path / "env", symlinks=True)
    environment = {"VIRTUAL_ENV": str(tmp_path / "env")}
    seen = same_as_python(tmp_path / "env/bin/python3", show, command=command, **environment)
    assert seen[1] == str(tmp_path / "env")
    seen = same_as_python(sys.executable, show, "--python", sys.executable, command=command, **environment)
    assert seen[1] == sys.prefix
    # the viewer of the environment is not there; its own is
    command.with_name("clineprof").touch(0o755)
    (tmp_path / "it.py").write_text("profile(lambda: 1)()")
    ended = run(command, "-l", "it.py", cwd=tmp_path, **environment)
    assert ended.stdout.splitlines()[-1] == f"{command.with_name('clineprof')} -mt it.py.lprof"


WAYS_TO_END = {
    "well": "f()",
    "by sys.exit": "sys.exit()",
    "with a number": "sys.exit(3)",
    "with a text": "sys.exit('no more')",
    "by an exception": "1 / 0",
    "at once": "os._exit(4)",
    "by a signal": "os.kill(os.getpid(), signal.SIGTERM)",
    "by Ctrl-C": "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
    "by Ctrl-C that is caught": "try: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: sys.exit(5)",
    "by Ctrl-C while a thread runs": "threading.Thread(target=f).start(); signal.raise_signal(signal.SIGINT)",
    "by Ctrl-C at the exit": "atexit.register(signal.raise_signal, signal.SIGINT)",
    "by Ctrl-C and an exit within": "atexit.register(print, 'bye'); raise KeyboardInterrupt",
    "by Ctrl-C and a failing exit": "atexit.register(int, 'one'); raise KeyboardInterrupt",
    "by Ctrl-C with a handler": "signal.signal(signal.SIGINT, lambda *_: sys.exit(6)); os.kill(os.getpid(), signal.SIGINT)",
    "before it begins": "1 +",
    "with a closed output": "print(1); os.close(1)",
    "by Ctrl-C with a closed output": "atexit.register(os.close, 1); atexit.register(print, 1); raise KeyboardInterrupt",
}


@pytest.mark.parametrize("way, program", [
    *((way, "script") for way in WAYS_TO_END), *(("by Ctrl-C", program) for program in ("module", "code", "input"))])
def test_the_installed_command_ends_as_python_does(command, way, program, tmp_path):
    """By its own name, and as `python -m clineprof.kernprof`."""
    text = "import atexit, os, signal, sys, threading, time\ndef f(): pass\n" + WAYS_TO_END[way] + "\n"
    (tmp_path / "it.py").write_text(text)
    words = {"script": ["it.py"], "module": ["-m", "it"], "code": ["-c", text], "input": ["-"]}[program]
    python = command.with_name("python")
    environment = clean_environment({"VIRTUAL_ENV": str(python.parent.parent)})
    ends = []
    for start in [python], [command, "-lqq"], [python, "-m", "clineprof.kernprof", "-lqq"]:
        ended = subprocess.run([*start, *words], cwd=tmp_path, env=environment, input=text, text=True,
                               capture_output=True)
        ends.append((ended.returncode, ended.stderr))
    assert ends[1:] == [ends[0]] * 2


def test_a_program_that_calls_main_gets_the_code_of_a_shell_for_an_interrupted_run(command, tmp_path):
    (tmp_path / "it.py").write_text("raise KeyboardInterrupt\n")
    call = "import clineprof.kernprof as k; k.main(['-lqq', 'it.py'])"
    ended = run(command.with_name("python"), "-c", call, cwd=tmp_path)
    assert ended.returncode == 130 and ended.stderr.endswith("\nKeyboardInterrupt\n")


@pytest.mark.parametrize("named", ["", "link"])
def test_the_command_of_the_active_environment_starts_one_interpreter(named, tmp_path):
    command = installed(tmp_path / "env")
    (tmp_path / "link").symlink_to("env")
    [packages] = tmp_path.glob("env/lib/python3*/site-packages")
    if importlib.util.find_spec("sitecustomize"):
        pytest.skip("this interpreter has a sitecustomize of its own")
    (packages / "sitecustomize.py").write_text(f"open({str(tmp_path / 'starts')!r}, 'a').write('x')\n")
    ended = run(command, "-l", "-o", tmp_path / "o", "-c", "pass", VIRTUAL_ENV=str(tmp_path / (named or "env")))
    assert ended.returncode == 0 and (tmp_path / "starts").read_text() == "x", ended.stderr


def test_python_m_stays_in_its_interpreter_but_for_the_option(command, show, tmp_path):
    venv.create(tmp_path / "env", symlinks=True)
    python = command.with_name("python")
    words = "-m", "clineprof.kernprof", "-l", "-o", tmp_path / "o"
    ended = run(python, *words, show, VIRTUAL_ENV=str(tmp_path / "env"))
    assert json.loads(ended.stdout.splitlines()[0])[1] == str(command.parent.parent)
    ended = run(python, *words, "--python", tmp_path / "env/bin/python", show)
    assert json.loads(ended.stdout.splitlines()[0])[1] == str(tmp_path / "env")
    # and so for a program that calls it
    call = f"import clineprof.kernprof as k; k.main(['-l', '-o', 'o', '--python', {str(tmp_path / 'env/bin/python')!r}, 'show.py'])"
    ended = run(python, "-c", call, cwd=tmp_path)
    assert json.loads(ended.stdout.splitlines()[0])[1] == str(tmp_path / "env")


WITHOUT_EXTENSIONS = ("import importlib.machinery as m; sys.path_hooks[1:] = [m.FileFinder.path_hook("
                      "(m.SourceFileLoader, ['.py']))]; sys.path_importer_cache.clear()")


def test_the_installed_command_has_no_module_for_the_interpreter(command, show, tmp_path):
    line = refusal(run(command, "-l", "--python", pretending(tmp_path, WITHOUT_EXTENSIONS), show))
    ours = "%d.%d" % sys.version_info[:2]
    assert line == (f"ckernprof: no clineprof module is built for {sys.executable} (CPython {ours}."
                    f"{sys.version_info[2]}); in clineprof's sources run: {sys.executable} -m pip install .; "
                    f"or name an interpreter of CPython {ours} with --python")


def test_an_interpreter_without_pip_is_not_told_to_use_it(command, show, tmp_path):
    without_pip = "sys.path = [folder for folder in sys.path if not folder.endswith('-packages')]"
    line = refusal(run(command, "-l", "--python", pretending(tmp_path, WITHOUT_EXTENSIONS + "; " + without_pip), show))
    assert f"in clineprof's sources run: uv pip install --python {sys.executable} . (this interpreter has no pip)" in line


@pytest.mark.parametrize(("name", "says"), [
    ("no-such-python", "no interpreter 'no-such-python' in PATH"),
    ("/no/such/python", "cannot run /no/such/python: No such file or directory"),
    ("/etc", "cannot run /etc: Permission denied"),
])  # fmt: skip
def test_the_installed_command_finds_no_interpreter(command, show, name, says):
    assert refusal(run(command, "-l", "--python", name, show)) == f"ckernprof: {says}"


def test_the_installed_command_refuses_an_old_interpreter(command, show, tmp_path):
    old = pretending(tmp_path, "sys.version_info=(3,9,18,'final',0)")
    line = refusal(run(command, "-l", "--python", old, show))
    assert line == f"ckernprof: clineprof needs CPython 3.10 or newer; {sys.executable} is CPython 3.9.18"


@pytest.mark.parametrize("name", ["ckernprof", "clineprof"])
def test_the_launcher_answers_for_itself(name):
    launcher = BUILD / "bin" / name
    nowhere = {"PATH": "/nowhere", "VIRTUAL_ENV": "/nowhere"}
    assert name in run(launcher, "--help", **nowhere).stdout
    assert run(launcher, "-V", **nowhere).stdout.count(".") == 2
    assert refusal(run(launcher, "--no-such-option", **nowhere)).startswith(f"{name}: ")
