# SPDX-License-Identifier: MIT
"""Programs with a module clineprof of their own: it is theirs that they get, as without the profiler."""
import ast

import pytest
from harness import BUILD, ROOT, run_ckernprof, run_python, selected

pytestmark = pytest.mark.once  # about names of modules, not about who counts

MODULE = """\
print("imported as", __name__)
def f():
    return 1
"""
MAIN = "print('runs')\nfrom clineprof import f\nf()\n"
USES = """\
import sys
print("begins")
import clineprof
def g():
    return clineprof.f()
print(g(), clineprof.__file__.startswith(sys.path[0]), hasattr(clineprof, "Profiler"), "clineprof" in sys.modules)
"""
FILES = {
    "module": {"clineprof.py": MODULE + "if __name__ == '__main__':\n    print(f())\n"},
    "package": {"clineprof/__init__.py": MODULE, "clineprof/__main__.py": MAIN,
                "clineprof/sub.py": "def deep():\n    return 2\n"},
}  # fmt: skip


@pytest.fixture(params=FILES)
def folder(request, tmp_path):
    for name, text in {**FILES[request.param], "uses.py": USES}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def profiled(folder, *words):
    """The run does what it does under python."""
    split = words.index("--")
    options, program = words[:split], words[split + 1:]
    bare, ended = run_python(program, folder), run_ckernprof(["-lq", *options, *program], folder)
    assert bare.code == 0 and (ended.code, ended.out, ended.err) == (0, bare.out, ""), ended.err
    return selected(ended, folder)


def test_an_import_gets_it_when_it_is_due(folder):
    assert profiled(folder, "-p", "uses.py:g", "--", "uses.py") == {"uses.py": {"g"}}


@pytest.mark.parametrize("target", ["clineprof.f", "{file}:f", "{file}"])
def test_a_target_names_it(folder, target):
    file = "clineprof.py" if (folder / "clineprof.py").exists() else "clineprof/__init__.py"
    whole = {"f", "<module>"} if target == "{file}" else {"f"}
    words = ["--no-preimports", "-p", target.format(file=file), "--", "uses.py"]
    assert profiled(folder, *words) == {file: whole}


def test_it_is_run(folder):
    found = profiled(folder, "-p", "clineprof", "--", "-m", "clineprof")
    assert "f" in found.get("clineprof.py", found.get("clineprof/__init__.py"))


def test_it_is_a_script(tmp_path):
    (tmp_path / "clineprof.py").write_text(FILES["module"]["clineprof.py"])
    assert profiled(tmp_path, "-p", "clineprof.py:f", "--", "clineprof.py") == {"clineprof.py": {"f"}}


def test_modules_of_its_package(tmp_path):
    for name, text in FILES["package"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "main.py").write_text("import clineprof.sub\nprint(clineprof.sub.deep(), clineprof.f())\n")
    assert profiled(tmp_path, "-p", "clineprof.sub.deep", "--no-preimports", "--", "main.py") == {
        "clineprof/sub.py": {"deep"}}


CHILDREN = """\
import subprocess, sys
for words in ["uses.py"], ["-c", "import clineprof; print(clineprof.f())"], ["-m", "clineprof"]:
    subprocess.run([sys.executable, *words], check=True)
"""


def test_child_processes_get_it_too(folder):
    (folder / "main.py").write_text(CHILDREN)
    found = profiled(folder, "--prof-child-procs", "--no-preimports", "-p", "clineprof,uses.py:g", "--", "main.py")
    assert "f" in found.get("clineprof.py", found.get("clineprof/__init__.py")) and found["uses.py"] == {"g"}


LATE = """\
import functools, sys
from line_profiler import profile as theirs
import clineprof
@functools.singledispatch
def generic(n):
    return n
profile(generic)
generic.register(str)(lambda text: text)
@theirs
def h():
    return [clineprof.f() for _ in range(2)]
h(), generic("x")
theirs.show()
"""


def test_what_is_loaded_of_ours_meanwhile_is_found(folder):
    """Parts of clineprof that only some programs need, and the report at the end."""
    pytest.importorskip("line_profiler")
    pytest.importorskip("rich")
    (folder / "late.py").write_text(LATE)
    ended = run_ckernprof(["-lv", "--rich", "-p", "clineprof", "late.py"], folder)
    assert (ended.code, ended.err) == (0, "") and ended.out.count("imported as clineprof\n") == 1
    hits = {key[2]: sum(lines.values()) for key, lines in ended.profile("late.py.lprof").hits().items()}
    assert hits["f"] == 2 and hits["h"] and hits["generic"] == 0 and ended.out.count("Function: h") >= 1


def test_in_other_cases_ours_is_there(tmp_path):
    """A folder without __init__.py hides no module, and another copy of clineprof is not the program's."""
    (tmp_path / "clineprof").mkdir()
    (tmp_path / "main.py").write_text("from clineprof import profile\n@profile\ndef f():\n    return 1\nf()\n")
    assert "f" in selected(run_ckernprof(["-l", "main.py"], tmp_path), tmp_path)["main.py"]
    (tmp_path / "clineprof").rmdir()
    (tmp_path / "clineprof").symlink_to(BUILD / "python/clineprof")
    assert "f" in selected(run_ckernprof(["-l", "main.py"], tmp_path), tmp_path)["main.py"]


BESIDE = {"_boot", "_children", "_by_value", "_compat", "_formats", "_profile", "_report"}


def test_code_that_is_loaded_beside_a_program_does_not_import_the_name_alone():
    """Within functions, as they may run when the name is the program's."""
    for path in (ROOT / "src/clineprof").rglob("*.py"):
        if path.relative_to(ROOT / "src/clineprof").parts[0] not in BESIDE:
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    assert not (isinstance(node, ast.ImportFrom) and node.module == "clineprof"), (path, node.lineno)
