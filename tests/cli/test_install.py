# SPDX-License-Identifier: MIT
"""make install and make uninstall."""
import os
import shutil
import sys

import pytest
from harness import BUILD, ROOT, run, run_python

pytestmark = pytest.mark.once

PACKAGE = sorted(path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/clineprof").rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so")


def install(destdir, prefix):
    return run(["sh", "tools/install.sh", destdir, prefix, BUILD, "install", sys.executable, *PACKAGE], ROOT)


def uninstall(destdir, prefix):
    return run(["sh", "tools/install.sh", destdir, prefix, BUILD, "uninstall"], ROOT)


def everything(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("destdir", ["", "stage"])
def test_it_installs_says_where_and_uninstalls_all(destdir, tmp_path):
    (tmp_path / "with a space").mkdir()
    stage = tmp_path / "with a space" / destdir if destdir else ""
    prefix = "/opt/tools" if destdir else str(tmp_path / "with a space" / "tools")
    top = f"{stage}{prefix}"
    for _ in range(2):  # over itself
        done = install(stage, prefix)
        assert (done.code, done.err) == (0, "")
        assert done.out == (f"Installed for {sys.executable}. Type: {prefix}/bin/ckernprof -l -v script.py\n"
                            f"Programs that import clineprof find it with PYTHONPATH={prefix}/lib/clineprof/python\n")
    ended = run([f"{top}/bin/ckernprof", "-lv", "--python", sys.executable, ROOT / "fixtures/demo.py"], tmp_path)
    assert ended.code == 0 and "Line Contents" in ended.out, ended.err
    module = f"{top}/lib/clineprof/python"
    ended = run_python(["-c", "import clineprof, clineprof._core; print(clineprof.__file__)"], tmp_path,
                       env={"PYTHONPATH": module, "PYTHONDONTWRITEBYTECODE": ""})
    assert ended.out == f"{module}/clineprof/__init__.py\n"
    held = everything(tmp_path / "with a space")
    for name in PACKAGE:
        assert f"{module}/{name}".removeprefix(f"{tmp_path}/with a space/") in held
    assert [name for name in held if name.endswith("/_children/site/sitecustomize.py")]
    assert [name for name in held if name.endswith("/share/man/man1/ckernprof.1")]
    done = uninstall(stage, prefix)
    assert (done.code, done.err, done.out) == (0, "", f"Removed clineprof from {top}\n")
    assert everything(tmp_path / "with a space") == ([destdir] if destdir else [])


def test_what_was_there_before_stays(tmp_path):
    for name in "bin", "share/man", "lib":
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "share/man/other.1").write_text("")
    before = everything(tmp_path)
    assert install("", tmp_path).code == uninstall("", f"{tmp_path}/").code == 0
    assert everything(tmp_path) == before


def test_who_may_not_write_there_is_told_so():
    nobody = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("there is no setpriv here")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    script = (ROOT / "tools/install.sh").read_text("utf-8")
    for prefix in "/usr", "/usr/no/such/folder":
        done = run([*nobody, "sh", "-s", "", prefix, BUILD, "install", sys.executable], "/", stdin=script)
        assert (done.code, done.out) == (1, "")
        assert done.err == (f"install: you may not write to {prefix}; use sudo, or install elsewhere: make install "
                            "PREFIX=$HOME/opt\n")


def test_nothing_to_uninstall_is_said(tmp_path):
    done = uninstall("", tmp_path / "nowhere")
    assert (done.code, done.out) == (1, "")
    assert done.err == (f"uninstall: there is no clineprof in {tmp_path}/nowhere; name its folder with PREFIX= and "
                        "DESTDIR=\n")


def test_make_says_the_same_words(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    made = run(["make", "-n", "uninstall", f"DESTDIR={tmp_path}", "PREFIX=/usr"], ROOT)
    assert made.out == f'sh tools/install.sh "{tmp_path}" "/usr" build uninstall\n'
