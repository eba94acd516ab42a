# SPDX-License-Identifier: MIT
"""The build itself: one list of sources, arrows that run one way."""
import pathlib
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


def test_make_and_pip_refuse_a_free_threaded_build_in_one_line(monkeypatch):
    """test_launcher.py has what the launcher says."""
    real = sysconfig.get_config_var
    refusal = runpy.run_path(str(ROOT / "tools/config.py"))["refusal"]
    assert refusal() is None
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: 1 if name == "Py_GIL_DISABLED" else real(name))
    assert refusal() == "is a free-threaded build, which clineprof does not support yet"


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
    for name in f"_core{suffix}", "libclineprof_native.so", "libclineprof_tensors.so":
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
    for folder in "src", "kernprof":
        shutil.copytree(ROOT / folder, tmp_path / folder,
                        ignore=shutil.ignore_patterns("*.py[co]", "*.so", "__pycache__"))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/design.md", tmp_path / "docs")
    return tmp_path


def test_the_arrows_run_one_way():
    run = layers(ROOT)
    assert (run.returncode, run.stdout) == (0, "")


def test_each_folder_of_the_map_is_there():
    table = (ROOT / "docs/design.md").read_text("utf-8")
    folders = re.findall(r"^\| `((?:src|kernprof)\b[^`]*)` \|", table, re.M)
    assert len(folders) > 30 and [name for name in folders if not (ROOT / name).is_dir()] == []


@pytest.mark.parametrize("file, line, complaint", [
    ("src/base/buf.c", '#include "formats/lprof/wire.h"', "src/base uses src/formats/lprof/wire.h, of a folder below"),
    ("src/profile/profile.h", '# include "report/report.h"', "src/profile uses src/report/report.h, of a folder below"),
    ("src/report/report.c", '#include "cpython/compat/compat.h"', "src/report uses src/cpython/compat/compat.h, "),
    ("src/cpython/compat/compat.h", '#include "cpython/object/profiler.h"', "src/cpython/compat uses src/cpython/object"),
    ("src/cpython/object/setup.c", '#include "run/run.h"', "src/cpython/object uses kernprof/run/run.h, of a folder"),
    ("kernprof/view/top.c", '#include "run/session.h"', "kernprof/view and kernprof/run do not use each other"),
    ("src/engine/engine.h", "void clp_engine_reap(struct clp_engine *engine);",
     "clp_engine_reap is declared here and defined in src/engine/reaping.c"),
    ("src/report/table.c", "clp_status clp_ranking_add(const struct clp_ranking *ranking, struct clp_table *table);",
     "clp_ranking_add is declared here and defined in src/report/ranking.c"),
    ("src/report/report.c", "#include <Python.h>", "plain C names Python.h"),
    ("src/report/report.c", "/* as in Python.h */", "plain C names Python.h"),
    ("src/engine/engine.c", "#include <sys/stat.h>", "src/engine asks the operating system"),
    ("src/formats/lprof/wire.c", "#include <unistd.h>", "src/formats/lprof asks the operating system"),
    ("src/os/file.c", "p = mmap(NULL, 1, 0, 0, -1, 0);", "only the file pages maps memory"),
    ("src/report/report.c", '#include "absent.h"', '"absent.h" is not in the house'),
    ("src/clineprof/_boot/files.py", "import clineprof._profile",
     "src/clineprof/_boot uses src/clineprof/_profile/__init__.py, of a folder below"),
    ("src/clineprof/_formats/csv.py", "def f():\n from .._pytest import run", "uses src/clineprof/_pytest/run.py, "),
    ("src/clineprof/_mem/memfile.py", "from clineprof import load", "_mem uses src/clineprof/__init__.py, "),
])
def test_a_planted_violation_is_refused_with_its_place(house, file, line, complaint):
    text = (house / file).read_text()
    (house / file).write_text(text + line + "\n")
    run = layers(house)
    place = f"{file}:{len((text + line).splitlines())}: "
    assert run.returncode == 1
    assert [row for row in run.stdout.splitlines() if row.startswith(place) and complaint in row]
    assert len(run.stdout.splitlines()) == 1


@pytest.mark.parametrize("file, line, other", [
    ("src/engine/lines.h", '#include "engine.h"', "engine"),
    ("src/cpython/windows/selecting.h", '#include "starting.h"', "starting"),
    ("src/clineprof/_mem/memfile.py", "from clineprof._mem import command", "command"),
])
def test_files_that_need_each_other_are_refused(house, file, line, other):
    (house / file).write_text((house / file).read_text() + line + "\n")
    run = layers(house)
    [row] = run.stdout.splitlines()
    names = row.partition("a circle: ")[2].split(" -> ")
    assert run.returncode == 1 and names[0] == names[-1]
    assert {pathlib.Path(file).stem, other} <= {name.removesuffix(".py") for name in names}


@pytest.mark.parametrize("file", ["src/cellar/wine.c", "src/engine/deep/wine.h", "kernprof/cellar/wine.c",
                                  "src/clineprof/_cellar/wine.py"])
def test_a_new_folder_needs_a_row_in_the_map(house, file):
    (house / file).parent.mkdir(parents=True)
    (house / file).write_text("")
    run = layers(house)
    folder = file.rpartition("/")[0]
    assert (run.returncode, run.stdout) == (1, f"{file}:1: {folder} is in no table of docs/design.md\n")


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
    assert out.count(" fails on ") == 1
    assert "fuzz_wire fails on tests/fuzz/corpus/wire/two\n" in out


@pytest.mark.parametrize("empty", [True, False])
def test_a_vanished_corpus_fails_the_check(empty, corpora):
    shutil.rmtree(corpora / "tests/fuzz/corpus/wire")
    if empty:
        (corpora / "tests/fuzz/corpus/wire").mkdir()
    code, out = replay(corpora, "fuzz_wire")
    assert code == 1 and "tests/fuzz/corpus/wire has no inputs for fuzz_wire\n" in out


def test_every_fuzzer_has_a_small_corpus():
    for fuzzer in (ROOT / "tests/fuzz").glob("*.c"):
        inputs = list((ROOT / "tests/fuzz/corpus" / fuzzer.stem.removeprefix("fuzz_")).iterdir())
        assert 10 <= len(inputs) <= 60, fuzzer.name
        assert sum(path.stat().st_size for path in inputs) < 300_000
