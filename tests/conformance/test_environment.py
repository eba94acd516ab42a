# SPDX-License-Identifier: MIT
"""A program cannot tell from its surroundings that ckernprof started it: fixtures/environment.py
prints all it sees, and that must be the same text as under python."""

import shutil

import pytest
from harness import FIXTURES, own_messages_removed, run_ckernprof, run_python

pytestmark = pytest.mark.hits

PROGRAM = FIXTURES / "environment.py"


def compare(arguments, folder, options=("-l",), **settings):
    """Runs the same words under python and ckernprof; returns what the program printed."""
    for old in folder.glob("*.lprof"):
        old.unlink()
    bare = run_python(arguments, folder, **settings)
    ours = run_ckernprof([*options, *arguments], folder, **settings)
    assert bare.code == 0, bare.err
    ours_out = own_messages_removed(ours.out)
    assert ours_out != ours.out, "the profile was not announced"
    for our_line, bare_line in zip(ours_out.splitlines(), bare.out.splitlines()):
        assert our_line == bare_line
    assert (ours_out, ours.err, ours.code) == (bare.out, bare.err, bare.code)
    assert {key[2] for key in ours.profile().functions} >= {"stack", "main"}
    return bare.out


def test_script_here(tmp_path):
    shutil.copy(PROGRAM, tmp_path / "here.py")
    out = compare(["here.py", "-l", "--", "-m", "two words", ""], tmp_path)
    assert "'two words', ''" in out


def test_script_in_another_folder(tmp_path):
    work = tmp_path / "work"
    (tmp_path / "scripts").mkdir()
    work.mkdir()
    shutil.copy(PROGRAM, tmp_path / "scripts" / "there.py")
    compare(["../scripts/there.py", "x"], work)
    compare(["./../scripts/../scripts/there.py"], work)
    compare([tmp_path / "scripts" / "there.py", "x"], work)


def test_symlinked_script(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    shutil.copy(PROGRAM, tmp_path / "real" / "program.py")
    (tmp_path / "links" / "link.py").symlink_to("../real/program.py")
    compare(["links/link.py"], tmp_path)
    (tmp_path / "linked-folder").symlink_to("real")
    compare(["linked-folder/program.py"], tmp_path)


def test_script_without_ending(tmp_path):
    shutil.copy(PROGRAM, tmp_path / "program")
    compare(["program", "x"], tmp_path)


def test_module(tmp_path):
    shutil.copy(PROGRAM, tmp_path / "surroundings.py")
    compare(["-m", "surroundings", "-l", "x"], tmp_path)


def test_module_in_a_package(tmp_path):
    package = tmp_path / "outer" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "outer" / "__init__.py").write_text("import sys; print('outer', sys.argv)\n")
    (package / "__init__.py").write_text("")
    shutil.copy(PROGRAM, package / "program.py")
    compare(["-m", "outer.inner.program", "x"], tmp_path)


def test_package(tmp_path):
    package = tmp_path / "whole"
    package.mkdir()
    (package / "__init__.py").write_text("print('package', __name__)\n")
    shutil.copy(PROGRAM, package / "__main__.py")
    compare(["-m", "whole", "x"], tmp_path)


def test_folder_and_archive(tmp_path):
    folder = tmp_path / "application"
    folder.mkdir()
    shutil.copy(PROGRAM, folder / "__main__.py")
    compare(["application", "x"], tmp_path)
    shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
    compare(["packed.zip", "x"], tmp_path)


def test_environment_variables(tmp_path):
    shutil.copy(PROGRAM, tmp_path / "here.py")
    other = tmp_path / "other"
    other.mkdir()
    compare(
        ["here.py"],
        tmp_path,
        env={
            "PYTHONPATH": f"{other}:relative",
            "PYTHONWARNINGS": "error::ResourceWarning",
            "PYTHONOPTIMIZE": "1",
            "PYTHONUNBUFFERED": "1",
            "PYTHONNOUSERSITE": "1",
            "ODD": "a b\tü",
            "EMPTY": "",
            "LC_ALL": "C",
        },
    )


def test_without_memory(tmp_path):
    shutil.copy(PROGRAM, tmp_path / "here.py")
    compare(["here.py"], tmp_path, ["-l", "--no-memory"])
    compare(["here.py"], tmp_path, ["-lz", "-u", "1e-3", "-o", "renamed.lprof"])


def test_current_folder_with_traps(tmp_path):
    """Modules of the program's folder that are called like those of the standard library are not
    loaded on its behalf, but by the program alone."""
    for name in "json", "msgpack", "runpy", "atexit", "inspect", "types", "functools", "linecache":
        (tmp_path / f"{name}.py").write_text(f"print('loaded {name}')\n")
    (tmp_path / "program.py").write_text(
        "@profile\ndef f(): return 1\nprint(f())\nimport sys\n"
        "print(sorted({'json', 'runpy', 'linecache'} & set(sys.modules)))\n"
    )
    ours = run_ckernprof(["-l", "program.py"], tmp_path)
    assert (own_messages_removed(ours.out), ours.err, ours.code) == ("1\n[]\n", "", 0)


def test_descriptors_and_standard_input(tmp_path):
    (tmp_path / "program.py").write_text(
        "import os, sys\n"
        "print(sorted(map(int, os.listdir('/proc/self/fd')))[:3])\n"
        "print(sys.stdin.read().upper())\n"
        "print(os.get_inheritable(0), [fd for fd in range(3, 20) if inherits(fd)])\n".replace(
            "import os, sys\n",
            "import os, sys\n"
            "def inherits(fd):\n"
            "    try: return os.get_inheritable(fd)\n"
            "    except OSError: return False\n",
        )
    )
    bare = run_python(["program.py"], tmp_path, stdin="some text")
    ours = run_ckernprof(["-l", "program.py"], tmp_path, stdin="some text")
    assert own_messages_removed(ours.out) == bare.out
    assert "SOME TEXT" in bare.out
