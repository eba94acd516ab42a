# SPDX-License-Identifier: MIT
"""--source and Profiler(source=): whose text a profile has. A secret stands in the text of each program; it is searched
in all bytes of the live files, and in the texts of profiles after they are decompressed."""

import json
import shutil
import signal

import msgpack
import pytest
from harness import BUILD, FIXTURES, Profile, run_ckernprof, run_python, run_viewer

pytestmark = pytest.mark.once  # a file's texts are chosen when it is written

SECRET = "hunter2_of_the_text"
PACKAGE = {"PYTHONPATH": str(BUILD / "python")}
SOURCES = ["none", "functions", "files"]

# Its functions are in two files. `other` is selected by nobody.
MODULE = f"""\
class Thing:
    colour = "red"

    def first(self):
        return "{SECRET}"

    def second(self):
        return 2


def inner(n):
    return n + 1
"""
PROGRAM = f"""\
import os, shutil, signal, sys
import module

@profile
def f(n):
    word = "{SECRET}"
    return module.inner(n) + len(word)

def other():
    return "nobody_wants_this"

profile(module.inner)
for live in [name for name in os.listdir() if name.endswith(".live")]:
    f(1)
    shutil.copy(live, live + ".copy")
f(2)
if sys.argv[1:] == ["kill"]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def of_program(folder, *options, arguments=(), **more):
    ended = run_ckernprof(["-l", "--no-memory", *options, folder.parent / "program.py", *arguments], folder, **more)
    assert (ended.code, ended.err) in [(0, ""), (-signal.SIGKILL, "")]
    return ended


def everything(folder):
    """All bytes of the files in the folder, texts of profiles decompressed, too."""
    found = b""
    for path in folder.rglob("*"):
        if path.is_file():
            found += path.read_bytes()
            if path.suffix == ".lprof":
                found += b"".join(Profile(path).texts())
    return found


def files_of(profile):
    """{the last part of a file's name: its whole text}"""
    texts = profile.texts()
    found = {file["file"].rpartition("/")[2]: texts[file["text"]].decode() for file in profile.raw.get("files", [])}
    assert len(found) == len(profile.raw.get("files", [])), "a file stands there twice"
    return found


def check_whole_once(profile, **files):
    """Does the profile have the whole text of these files, each once, and nothing beside?"""
    assert files_of(profile) == {name + ".py": text for name, text in files.items()}
    assert sorted(profile.texts()) == sorted(text.encode() for text in files.values())
    assert profile.sources(), "functions have their parts of it"


# ---- none ----


@pytest.mark.parametrize("end", ["go", "kill"])
@pytest.mark.parametrize("source", SOURCES)
def test_with_none_no_byte_of_the_text_is_in_any_file(folder, source, end):
    of_program(folder, "--source", source, arguments=[end])
    names = {path.name for path in folder.iterdir()}
    assert names == {f"program.py.lprof{'.live' if end == 'kill' else ''}", "program.py.lprof.live.copy"}
    for path in folder.iterdir():  # with the text kept, each file has it, or this test sees nothing
        texts = b"".join(Profile(path).texts()) if path.suffix == ".lprof" else b""
        assert (SECRET.encode() in path.read_bytes() + texts) == (source != "none"), path


CHILDREN = f"""\
import multiprocessing, os, signal, subprocess, sys

@profile
def f(n):
    return len("{SECRET}") + n

if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        f(1)
        os.kill(os.getpid(), signal.SIGKILL)
    f(0)
    for method in "fork", "spawn":
        process = multiprocessing.get_context(method).Process(target=f, args=[1])
        process.start()
        process.join()
    subprocess.run([sys.executable, __file__, "child"])
    subprocess.run([sys.executable, "-c", "import program; program.f(2)"])
    if os.fork() == 0:
        f(3)
        os.kill(os.getpid(), signal.SIGKILL)
    os.wait()
    if sys.argv[1:] == ["kill"]:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("end", ["go", "kill"])
@pytest.mark.parametrize("source", SOURCES)
def test_children_keep_what_the_first_process_keeps(folder, source, end):
    program = folder.parent / "program.py"
    program.write_text(CHILDREN)
    path = {"PYTHONPATH": str(program.parent)}
    of_program(folder, "--prof-child-procs", "--source", source, arguments=[end], env=path)
    if end == "kill":
        names = [path.name for path in folder.iterdir()]
        assert any(name != "program.py.lprof.live" for name in names), "files of children"
        ended = run_viewer(["merge", "-o", "program.py.lprof", *names], folder)
        assert ended.code == 0, ended.err
    assert (SECRET.encode() in everything(folder)) == (source != "none")
    profile = Profile(folder / "program.py.lprof")
    assert sum(profile.measure(profile.function("f"), "hits").values()) == 6
    if source == "files":
        check_whole_once(profile, program=CHILDREN)


def test_the_text_of_dash_c_is_not_in_the_command(tmp_path):
    code = f"@profile\ndef f(): return '{SECRET}'\nf()"
    for source, command in ("none", "-c ... a b"), ("functions", None):
        ended = run_ckernprof(["-l", "--source", source, "-o", "x.lprof", "-c", code, "a", "b"], tmp_path)
        assert ended.code == 0, ended.err
        told = Profile(tmp_path / "x.lprof").meta["command"]
        assert told == command or (command is None and SECRET in told)
        assert (SECRET.encode() in everything(tmp_path)) == (command is None)


NO_TEXT = "The profile was made without texts (--source none)."


def test_the_report_says_in_one_line_that_there_is_no_text(folder):
    ended = of_program(folder, "--source=none", "-v")
    assert ended.out.count(NO_TEXT) == 2  # once for each function
    assert "Could not find" not in ended.out and SECRET not in ended.out
    shown = run_viewer(["program.py.lprof"], folder)
    assert shown.code == 0 and NO_TEXT in shown.out and SECRET not in shown.out
    shown = run_viewer(["--read-sources", "program.py.lprof"], folder)
    assert (shown.code, shown.err) == (0, "") and NO_TEXT not in shown.out
    assert shown.out.count(SECRET) == 1 and "return n + 1" in shown.out
    shown = json.loads(run_viewer(["--format", "json", "program.py.lprof"], folder).out)
    assert shown["meta"]["no_source"] == 1
    assert {line["text"] for function in shown["functions"] for line in function["lines"]} == {None}


def test_a_killed_run_without_text_says_so_too(folder):
    of_program(folder, "--source=none", arguments=["kill"])
    shown = run_viewer(["program.py.lprof.live"], folder)
    assert shown.code == 0 and NO_TEXT in shown.out and "Could not find" not in shown.out


def test_a_sum_has_the_texts_that_one_of_its_profiles_has(folder):
    of_program(folder, "--source=none", "-o", "none.lprof")
    of_program(folder, "--source=functions", "-o", "functions.lprof")
    assert run_viewer(["merge", "-o", "sum.lprof", "none.lprof", "functions.lprof"], folder).code == 0
    profile = Profile(folder / "sum.lprof")
    assert profile.sources() == Profile(folder / "functions.lprof").sources() != {}
    assert len(profile.functions) == 2


# ---- functions ----


def test_by_default_there_is_no_text_that_nobody_selected(folder):
    of_program(folder)
    profile = Profile(folder / "program.py.lprof")
    assert {key[2] for key in profile.sources()} == {"f", "inner"}
    text = b"".join(profile.texts()).decode()
    assert SECRET in text and "nobody_wants_this" not in text and "class Thing" not in text and "profile(" not in text
    of_program(folder, "-o", "killed.lprof", arguments=["kill"])
    assert run_viewer(["recover", "killed.lprof.live"], folder).code == 0
    assert Profile(folder / "killed.lprof").sources() == profile.sources()


@pytest.mark.parametrize("target, has", [
    ("module.Thing.second", ["return 2"]),
    ("module.Thing", ["red", SECRET, "return 2"]),
    ("module", ["red", SECRET, "return 2", "return n + 1"]),
])  # fmt: skip
def test_a_class_and_a_module_have_the_text_of_what_is_in_them(folder, target, has):
    (folder.parent / "program.py").write_text("import module\nmodule.Thing().second()\nmodule.inner(1)\n")
    of_program(folder, "-p", target, env={"PYTHONPATH": str(folder.parent)})
    profile = Profile(folder / "program.py.lprof")
    text = b"".join(profile.texts()).decode()
    for word in "red", SECRET, "return 2", "return n + 1":
        assert text.count(word) == (word in has), word


# ---- files ----


def test_a_file_is_kept_whole_once_however_many_functions_use_it(folder):
    of_program(folder, "--source", "files")
    check_whole_once(Profile(folder / "program.py.lprof"), program=PROGRAM, module=MODULE)


def test_an_empty_file_is_a_whole_file_too(folder):
    """Those of packages often are empty."""
    package = folder.parent / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (folder.parent / "program.py").write_text("import package\n")
    of_program(folder, "--source", "files", "-p", "package", env={"PYTHONPATH": str(folder.parent)})
    assert files_of(Profile(folder / "program.py.lprof")) == {"__init__.py": ""}
    for more in [], ["program.py.lprof"]:
        shown = run_viewer(["program.py.lprof", *more], folder)
        assert (shown.code, shown.err) == (0, "") and "Function: <module> at line " in shown.out


def test_whole_files_go_through_merge_and_recover(folder):
    of_program(folder, "--source", "files", "-o", "one.lprof")
    of_program(folder, "--source", "files", "-o", "two.lprof", arguments=["kill"])
    of_program(folder, "-o", "three.lprof")
    assert run_viewer(["recover", "two.lprof.live"], folder).code == 0
    check_whole_once(Profile(folder / "two.lprof"), program=PROGRAM, module=MODULE)
    assert run_viewer(["merge", "-o", "sum.lprof", "one.lprof", "two.lprof", "three.lprof"], folder).code == 0
    check_whole_once(Profile(folder / "sum.lprof"), program=PROGRAM, module=MODULE)
    assert run_viewer(["merge", "-o", "again.lprof", "sum.lprof", "one.lprof"], folder).code == 0
    check_whole_once(Profile(folder / "again.lprof"), program=PROGRAM, module=MODULE)
    shown = run_viewer(["again.lprof"], folder).out
    assert f'    word = "{SECRET}"\n' in shown and "nobody_wants_this" not in shown


def test_two_contents_of_one_file_are_both_kept(folder):
    of_program(folder, "--source", "files", "-o", "one.lprof")
    (folder.parent / "module.py").write_text(MODULE + "# edited\n")
    of_program(folder, "--source", "files", "-o", "two.lprof")
    assert run_viewer(["merge", "-o", "sum.lprof", "one.lprof", "two.lprof"], folder).code == 0
    texts = Profile(folder / "sum.lprof").texts()
    assert sorted(texts) == sorted(text.encode() for text in (MODULE, MODULE + "# edited\n", PROGRAM))


def test_saves_at_intervals_have_whole_files(folder):
    program = PROGRAM + "import time\nwhile not os.path.exists('save.lprof'): time.sleep(0.01)\n" \
        "shutil.copy('save.lprof', 'kept.lprof')\n"  # fmt: skip
    (folder.parent / "program.py").write_text(program)
    of_program(folder, "--source", "files", "-i", "0.1", "-o", "save.lprof")
    for name in "kept.lprof", "save.lprof":
        check_whole_once(Profile(folder / name), program=program, module=MODULE)


def test_a_file_that_cannot_be_read_as_text_is_a_file_without_text(folder):
    program = "# coding: latin-1\n@profile\ndef f():\n    return 'f\xfcr'\nf()\n"
    (folder.parent / "program.py").write_bytes(program.encode("latin-1"))
    of_program(folder, "--source", "files")
    check_whole_once(Profile(folder / "program.py.lprof"), program=program)


# ---- in your own code ----

API = """\
from clineprof import profile
{before}
import program
program.f(0)
"""


@pytest.mark.parametrize("source", [None, *SOURCES])
@pytest.mark.parametrize("how", ["environment", "enable"])
def test_profile_source(folder, source, how):
    module = f"from clineprof import profile\n\n@profile\ndef f(n):\n    return '{SECRET}'\n\ndef unwanted(): pass\n"
    (folder.parent / "program.py").write_text(module)
    before = f"profile.source = {source!r}\n" if source is not None else ""
    before += "profile.enable()\n" if how == "enable" else ""
    (folder / "main.py").write_text(API.format(before=before))
    env = {"PYTHONPATH": f"{PACKAGE['PYTHONPATH']}:{folder.parent}"}
    ended = run_python(["main.py"], folder, env={**env, **({"CLINEPROF": "1"} if how == "environment" else {})})
    assert (ended.code, ended.err) == (0, "")
    profile = Profile(folder / "profile_output.lprof")
    assert (SECRET.encode() in everything(folder)) == (source != "none")
    assert (NO_TEXT in (folder / "profile_output.txt").read_text()) == (source == "none")
    assert (b"unwanted" in b"".join(profile.texts())) == (source == "files")
    if source == "files":
        check_whole_once(profile, program=module)


def test_a_wrong_profile_source_profiles_nothing_and_says_so(folder):
    (folder / "main.py").write_text("from clineprof import profile\nprofile.source = 'some'\nprofile.enable()\n")
    ended = run_python(["main.py"], folder, env=PACKAGE)
    assert ended.code == 0
    assert ended.err == ("clineprof: source is 'functions', 'files' or 'none', not 'some'; nothing is profiled\n")


PROFILERS = f"""\
import clineprof

def f(n):
    return "{SECRET}"

profilers = {{source: clineprof.Profiler(source=source) for source in ("none", "functions", "files", None)}}
for source, profiler in profilers.items():
    profiler(f)
f(1)
for source, profiler in profilers.items():
    with open("%s.lprof" % source, "wb") as file:
        file.write(profiler.render("lprof"))
"""


def test_each_profiler_has_a_wish_of_its_own(folder):
    (folder / "main.py").write_text(PROFILERS)
    ended = run_python(["main.py"], folder, env=PACKAGE)
    assert (ended.code, ended.err) == (0, "")
    none, functions, files, default = (Profile(folder / f"{name}.lprof") for name in [*SOURCES, None])
    assert none.texts() == [] and none.raw["meta"]["no_source"] == 1
    assert functions.texts() == default.texts() == [f'def f(n):\n    return "{SECRET}"\n'.encode()]
    check_whole_once(files, main=PROFILERS)


def test_in_a_notebook_modules_are_whole_and_cells_are_not(folder):
    """What stands in no file has the text of the functions alone."""
    pytest.importorskip("IPython", reason="IPython is not installed")
    cells = ["import clineprof, module\nprofiler = clineprof.Profiler(source='files')",
             "unwanted = 1\n@profiler\ndef f(n):\n    return n",
             "profiler(module.inner)\nf(1), module.inner(1)",
             "open('cells.lprof', 'wb').write(profiler.render('lprof'))"]  # fmt: skip
    (folder / "main.py").write_text(
        "from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
        f"for cell in {cells!r}:\n    shell.run_cell(cell, store_history=True).raise_error()\n"
    )
    env = {"PYTHONPATH": f"{PACKAGE['PYTHONPATH']}:{folder.parent}", "IPYTHONDIR": str(folder)}
    ended = run_python(["main.py"], folder, env=env)
    assert ended.code == 0, ended.err
    profile = Profile(folder / "cells.lprof")
    files = files_of(profile)
    assert files.pop("module.py") == MODULE
    assert files in ({}, {name: cells[1] for name in files}), "IPython may give a cell the name of a file"
    assert "@profiler\ndef f(n):\n    return n" in [text.rstrip("\n") for text in profile.sources().values()]


@pytest.mark.parametrize("wrong", ["'some'", "3", "b'none'"])
def test_a_wrong_source_is_an_error(folder, wrong):
    ended = run_python(["-c", f"import clineprof; clineprof.Profiler(source={wrong})"], folder, env=PACKAGE)
    assert ended.code == 1 and ended.err.splitlines()[-1].startswith(("ValueError: source is", "TypeError: "))


def test_wrong_values_of_the_option(folder):
    ended = run_ckernprof(["-l", "--source", "all", "program.py"], folder)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == ("ckernprof: option '--source' needs functions, files or none, not 'all'; "
                         "see ckernprof --help\n")  # fmt: skip


def test_a_config_file_may_set_it(folder):
    (folder / "pyproject.toml").write_text('[tool.clineprof.kernprof]\nsource = "none"\n')
    of_program(folder)
    assert SECRET.encode() not in everything(folder)


# ---- files of older versions ----


def test_files_of_the_first_version_open_and_merge_with_new_ones(tmp_path):
    """shop.lprof was written by clineprof 0.1.0, with the text of each function by itself."""
    for name in "shop.lprof", "shop.py":
        shutil.copy(FIXTURES / "old" / name, tmp_path)
    shown = run_viewer(["shop.lprof"], tmp_path)
    assert (shown.code, shown.err) == (0, "") and "Could not find" not in shown.out
    [row] = [line.split() for line in shown.out.splitlines() if "result += taxed(price, rate)" in line]
    assert row[:2] == ["12", "50"]
    assert run_viewer(["merge", "-o", "again.lprof", "shop.lprof"], tmp_path).code == 0
    profile = Profile(tmp_path / "again.lprof")
    [texts] = profile.texts()
    script = (tmp_path / "shop.py").read_text()
    assert texts.decode() == script[script.index("    @profile"):script.index("\n\n\n@profile") + 1] + (
        script[script.index("\n@profile") + 1:script.index("\n\n\nprint") + 1])  # fmt: skip

    old = msgpack.unpackb((tmp_path / "shop.lprof").read_bytes())
    for function in old["functions"] + old["source"]:  # as if it had run in this folder
        function["file"] = str(tmp_path / "shop.py")
    (tmp_path / "shop.lprof").write_bytes(msgpack.packb(old))
    ended = run_ckernprof(["-l", "--no-memory", "--source=files", "-o", "new.lprof", tmp_path / "shop.py"], tmp_path)
    assert ended.code == 0, ended.err
    for both in ["shop.lprof", "new.lprof"], ["new.lprof", "shop.lprof"]:
        assert run_viewer(["merge", "-o", "sum.lprof", *both], tmp_path).code == 0
        profile = Profile(tmp_path / "sum.lprof")
        assert profile.hits() == {
            (str(tmp_path / "shop.py"), 8, "Order.total"): {10: 2, 11: 102, 12: 100, 13: 2},
            (str(tmp_path / "shop.py"), 16, "taxed"): {18: 100},
        }
        check_whole_once(profile, shop=script)
