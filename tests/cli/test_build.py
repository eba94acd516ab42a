# SPDX-License-Identifier: MIT
"""The build itself: one list of sources, arrows that run one way."""
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig

import pytest
from harness import FIXTURES, ROOT, clean_environment, make_here, run

pytestmark = pytest.mark.once


def test_make_and_pip_compile_the_same_sources():
    made = subprocess.run(["make", "-s", "--no-print-directory", "print-sources"], cwd=ROOT,
                          text=True, capture_output=True, check=True).stdout.split()
    piped = runpy.run_path(str(ROOT / "setup.py"), run_name="not_main")["sources"]()
    assert made and sorted(made) == sorted(piped)


def test_make_installs_into_a_folder_with_a_space(tmp_path):
    """Into, and from: .ci/run has a clone in such a folder."""
    prefix = tmp_path / "zwei wörter"
    made = subprocess.run([*make_here(), "install", f"PREFIX={prefix}"], cwd=ROOT, text=True, capture_output=True)
    assert made.returncode == 0, made.stderr
    ended = run([prefix / "bin/ckernprof", "--python", sys.executable, "-lv", FIXTURES / "demo.py"], tmp_path)
    assert ended.code == 0 and "collatz" in ended.out, ended.err


def test_version_is_a_number_of_three_parts():
    version = runpy.run_path(str(ROOT / "setup.py"), run_name="not_main")["version"]()
    assert [part.isdigit() for part in version.split(".")] == [True] * 3


def test_wheels_are_built_for_the_interpreters_that_work(tmp_path, monkeypatch):
    def interpreter(path, *description):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n" + (f"echo {' '.join(description)} {path}\n" if description else "exit 127\n"))
        path.chmod(0o755)
        return str(path)

    pyenv = tmp_path / ".pyenv/versions"
    interpreter(pyenv / "3.12.9/bin/python3", "3.12", "CPython", "0")
    newest = interpreter(pyenv / "3.12.10/bin/python3", "3.12", "CPython", "0")
    interpreter(pyenv / "3.9.1/bin/python3", "3.9", "CPython", "0")
    interpreter(pyenv / "3.13.0t/bin/python3", "3.13", "CPython", "1")
    interpreter(tmp_path / "shims/python3.11")
    other = interpreter(tmp_path / "bin/python3.11", "3.11", "CPython", "0")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/shims:{tmp_path}/bin:/bin")
    found = runpy.run_path(str(ROOT / "tools/wheels.py"))["interpreters"]()
    assert {key: found.get(key) for key in ("3.9", "3.11", "3.12")} == {"3.9": None, "3.11": other, "3.12": newest}
    assert list(found) == sorted(found) and "0t" not in str(found)


def test_the_newest_version_with_a_date_is_this_one():
    heads = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    versions = [head for head in heads if head != "Unreleased"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", head) for head in versions), versions
    assert versions[0].startswith(runpy.run_path(str(ROOT / "setup.py"), run_name="not_main")["version"]() + " ")


def test_no_page_and_no_message_installs_a_package_of_that_name():
    """There is none; they say how to install from the sources."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src/clineprof").rglob("*.py"),
             *(ROOT / "kernprof").glob("*.c"), *(ROOT / "src").rglob("*.c")]
    assert len(pages) > 100
    assert [path for path in pages if re.search(r"(pip|pipx|tool) install [^\n`']*\bclineprof\b", path.read_text("utf-8"))] == []


def test_what_an_editable_install_left_is_no_source(house):
    """make would link the module that pip built into the place of its own."""
    for name in "Makefile", "tools":
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, house / name)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for name in f"_core{suffix}", "libclineprof_native.so":
        (house / "src/clineprof" / name).write_text("of pip")
    made = subprocess.run(["make", "-n", "V=1", f"PYTHON={sys.executable}"], cwd=house, text=True,
                          capture_output=True, env=clean_environment())
    assert (made.returncode, made.stderr) == (0, "")
    assert "ln -sfr src/clineprof/_boot/__init__.py" in made.stdout and "ln -sfr src/clineprof/_core" not in made.stdout
    links, copies = (made.stdout.find(text) for text in (f"-o build/python/clineprof/_core{suffix} ",
                                                         f"cp build/python/clineprof/_core{suffix} "))
    assert 0 <= links < copies  # so that `import clineprof` is what make has built


def layers(folder):
    return subprocess.run([sys.executable, ROOT / "tools/layers.py", folder],
                          text=True, capture_output=True)


@pytest.fixture
def house(tmp_path):
    for folder in ("src/core", "src/python", "src/native", "src/clineprof", "kernprof"):
        shutil.copytree(ROOT / folder, tmp_path / folder,
                        ignore=shutil.ignore_patterns("*.py[co]", "__pycache__"))
    return tmp_path


def test_the_arrows_run_one_way():
    run = layers(ROOT)
    assert (run.returncode, run.stdout) == (0, "")


def test_the_design_has_the_folders_of_the_package_in_their_order():
    told = re.findall(r"^\| (`\w+`|\(none\)) \| ", (ROOT / "docs/design.md").read_text("utf-8"), re.M)
    folders = runpy.run_path(str(ROOT / "tools/layers.py"))["PACKAGE"]
    first = told.index(f"`{folders[0]}`")
    assert [name.strip("`") for name in told[first:first + len(folders)]] == folders[:-1] + ["(none)"]


@pytest.mark.parametrize("file, line, complaint", [
    ("src/core/buf.c", '#include "wire.h"', "layer 0 uses src/core/wire.h of layer 4"),
    ("src/core/profile.h", '# include "report.h"', "layer 4 uses src/core/report.h of layer 5"),
    ("src/core/report.c", '#include "../python/compat.h"', "of layer 6"),
    ("src/python/compat.h", '#include "profiler.h"', "of layer 7"),
    ("src/core/report.c", "#include <Python.h>", "src/core names Python.h"),
    ("src/core/report.c", "/* as in Python.h */", "src/core names Python.h"),
    ("src/core/engine.c", "#include <sys/stat.h>", "room engine asks the operating system"),
    ("src/core/wire.c", "#include <unistd.h>", "room wire asks the operating system"),
    ("src/core/file.c", "p = mmap(NULL, 1, 0, 0, -1, 0);", "only the room pages maps memory"),
    ("src/core/report.c", '#include "absent.h"', '"absent.h" is not in the house'),
    ("src/clineprof/_boot/files.py", "import clineprof._profile", "folder _boot uses clineprof._profile, which stands"),
    ("src/clineprof/_formats/csv.py", "def f():\n from .._pytest import run", "uses clineprof._pytest.run,"),
    ("src/clineprof/_mem/memfile.py", "from clineprof import load", "folder _mem uses clineprof, which stands above"),
    ("src/clineprof/_mem/memfile.py", "from clineprof._mem import command",
     "a circle: clineprof._mem.memfile -> clineprof._mem.command -> clineprof._mem.memfile"),
])
def test_a_planted_violation_is_refused_with_its_place(house, file, line, complaint):
    text = (house / file).read_text()
    (house / file).write_text(text + line + "\n")
    run = layers(house)
    place = f"{file}:{len((text + line).splitlines())}: "
    assert run.returncode == 1
    assert [row for row in run.stdout.splitlines() if row.startswith(place) and complaint in row]
    assert len(run.stdout.splitlines()) == 1


def test_a_new_room_needs_a_place_in_the_table(house):
    (house / "src/core/cellar.c").write_text("")
    run = layers(house)
    assert run.returncode == 1
    assert "src/core/cellar.c has no layer" in run.stdout


def test_a_new_folder_of_the_package_needs_a_place_in_the_list(house):
    (house / "src/clineprof/_cellar").mkdir()
    (house / "src/clineprof/_cellar/wine.py").write_text("from clineprof import _pytest\n")
    run = layers(house)
    assert (run.returncode, run.stdout) == (
        1, "src/clineprof/_cellar/wine.py:1: folder _cellar has no place in tools/layers.py\n")


# ---- fuzzers ----


def replay(folder, *fuzzers):
    """tools/check.py with nothing to do but replay corpora, in this folder."""
    found = subprocess.run(
        [sys.executable, ROOT / "tools/check.py", "--out", ".", "--results", "results"]
        + [word for name in fuzzers for word in ("--fuzz", name)],
        cwd=folder, text=True, capture_output=True)
    return found.returncode, found.stdout


@pytest.fixture
def corpora(tmp_path):
    """A corpus of three inputs, and a fuzzer that dies of those with this text."""
    (tmp_path / "tests/fuzz/corpus/wire").mkdir(parents=True)
    for name in "one", "two", "three":
        (tmp_path / "tests/fuzz/corpus/wire" / name).write_text(name)
    (tmp_path / "fuzz_wire").write_text('#!/bin/sh\n! grep -q "$(cat deadly)" "$@" || kill -ABRT $$\n')
    (tmp_path / "fuzz_wire").chmod(0o755)
    (tmp_path / "deadly").write_text("four")
    return tmp_path


def test_a_corpus_is_replayed(corpora):
    code, out = replay(corpora, "fuzz_wire")
    assert code == 0 and "fuzz_wire: 3 inputs\n" in out and out.endswith("\n1 passed, 0 failed, 0 skipped\n")


def test_an_input_that_a_fuzzer_dies_of_fails_the_check(corpora):
    (corpora / "deadly").write_text("two")
    code, out = replay(corpora, "fuzz_wire")
    assert code == 1 and "0 passed, 1 failed" in out
    assert out.count(" dies of ") == 1
    assert "fuzz_wire dies of tests/fuzz/corpus/wire/two\n" in out


@pytest.mark.parametrize("empty", [True, False])
def test_a_vanished_corpus_fails_the_check(empty, corpora):
    shutil.rmtree(corpora / "tests/fuzz/corpus/wire")
    if empty:
        (corpora / "tests/fuzz/corpus/wire").mkdir()
    code, out = replay(corpora, "fuzz_wire")
    assert code == 1 and "tests/fuzz/corpus/wire holds nothing for fuzz_wire\n" in out


def test_every_fuzzer_has_a_small_corpus():
    for fuzzer in (ROOT / "tests/fuzz").glob("*.c"):
        inputs = list((ROOT / "tests/fuzz/corpus" / fuzzer.stem.removeprefix("fuzz_")).iterdir())
        assert 10 <= len(inputs) <= 60, fuzzer.name
        assert sum(path.stat().st_size for path in inputs) < 300_000
