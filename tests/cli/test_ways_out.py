# SPDX-License-Identifier: MIT
"""Runs that profile nothing or cannot start, wrong command lines, and -o -: what is written, and that one line
says the way out."""

import marshal
import os
import re
import shlex
import subprocess
import sys

import msgpack
import pytest
from harness import CKERNPROF, Profile, ckernprof, run, run_ckernprof, run_python, run_viewer, viewer_command
from terminal import on_terminal

SMALL = "@profile\ndef f(n):\n    return n + 1\nprint(f(1))\n"
NOTHING = "ckernprof: nothing was profiled, and no profile is written: "


# ---- nothing was profiled ----


@pytest.mark.once
def test_what_cannot_start_writes_no_profile(script, tmp_path):
    """The reason is python's, on the lines before."""
    (tmp_path / "folder").mkdir()
    script("", "pack/__init__.py")
    script("x = = 1\n", "broken.py")
    script("\x7fELF\0", "binary.py")
    for words, why in {
        ("none.py",): "", ("folder",): "", ("-m", "none"): "", ("-m", "pack"): "",
        ("broken.py",): " (SyntaxError)", ("-m", "broken"): " (SyntaxError)",
        ("binary.py",): " (SyntaxError)", ("-c", "("): " (SyntaxError)", ("broken",): "; did you mean broken.py?",
    }.items():  # fmt: skip
        bare = run_python(words, tmp_path)
        for options in ["-l"], ["-lv", "-p", "x"], []:
            ended = run_ckernprof([*options, *words], tmp_path)
            assert (ended.code, ended.out) == (bare.code, ""), words
            assert ended.err == f"{bare.err}{NOTHING}the program could not be started{why}\n", words
        assert run_ckernprof(["-lq", *words], tmp_path).err == bare.err
    assert not [*tmp_path.glob("*prof"), *tmp_path.glob("*.live")]


@pytest.mark.once
def test_a_program_that_ends_before_it_is_profiled(script, tmp_path):
    path = script("import no_such_module\n@profile\ndef f(): pass\nf()\n")
    ended = run_ckernprof(["-l", path.name], tmp_path)
    assert ended.code == 1 and ended.err.endswith(
        f"{NOTHING}the program ended with ModuleNotFoundError before any selected function ran\n")  # fmt: skip
    assert not list(tmp_path.glob("*.lprof"))


@pytest.mark.once
@pytest.mark.parametrize("options", [["-l"], []], ids=" ".join)
def test_a_missing_package_may_be_in_another_interpreter(options, script, tmp_path):
    path = script("import no_such_module\n")
    told = "ckernprof: the program ran with "
    ended = run([CKERNPROF, *options, path.name], tmp_path, env={"VIRTUAL_ENV": ""})
    assert ended.code == 1 and told in ended.err and "; --python chooses another interpreter\n" in ended.err
    for words, env in ([], {"VIRTUAL_ENV": sys.prefix}), (["--python", sys.executable], {"VIRTUAL_ENV": ""}):
        assert told not in run([CKERNPROF, *words, *options, path.name], tmp_path, env=env).err


@pytest.mark.once
def test_a_text_without_a_function(tmp_path):
    why = "the program has no file and defines no function, and of such a program only functions are profiled; "
    for words, text in (["-c", "print(2)"], ""), (["-"], "print(2)\n"):
        ended = run_ckernprof(["-l", *words], tmp_path, stdin=text)
        assert (ended.code, ended.out) == (0, "2\n")
        assert ended.err == NOTHING + why + "save it as a file, or select what it uses: -p MODULE\n"


@pytest.mark.once
def test_a_profile_of_an_earlier_run_stays(script, tmp_path):
    path = script(SMALL)
    assert run_ckernprof(["-l", path.name], tmp_path).code == 0
    before = (tmp_path / "program.py.lprof").read_bytes()
    for text in "pass\n", "x = = 1\n":
        path.write_text(text)
        ended = run_ckernprof(["-l", "-i", "0.01", path.name], tmp_path)
        assert ("ckernprof: nothing was profiled, and 'program.py.lprof' stays as an earlier run wrote it: "
                in ended.err)  # fmt: skip
        assert (tmp_path / "program.py.lprof").read_bytes() == before


@pytest.mark.once
def test_saves_begin_with_the_first_line(script, tmp_path):
    """A program that has not run anything selected yet leaves an earlier profile as it is."""
    path = script("import time, pathlib\nseen = []\ndef look():\n    end = time.monotonic() + 300\n"
                  "    out = pathlib.Path('program.py.lprof')\n"
                  "    while not out.exists() and time.monotonic() < end: time.sleep(.01)\n"
                  "    return out.exists()\n"
                  "time.sleep(.2)\nprint(pathlib.Path('program.py.lprof').exists())\n"
                  "@profile\ndef f(): pass\nf()\nprint(look())\n")  # fmt: skip
    ended = run_ckernprof(["-l", "-i", "0.01", path.name], tmp_path)
    assert ended.out.startswith("False\nTrue\n"), ended.err


@pytest.mark.once
def test_memory_over_time_is_a_profile(script, tmp_path):
    ended = run_ckernprof(["-l", "--timeline", script("print(1)\n").name], tmp_path)
    assert ended.code == 0 and ended.profile().raw["timeline"]


@pytest.mark.once
def test_a_pipe_gets_its_profile_even_then(script, tmp_path):
    """For somebody waits for it."""
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=tmp_path, stdout=subprocess.PIPE)
    ended = run_ckernprof(["-l", "-o", "pipe", script("pass\n").name], tmp_path)
    assert ended.err.startswith("ckernprof: nothing was profiled: no @profile was reached")
    assert msgpack.unpackb(reader.communicate(timeout=300)[0])["functions"] == []
    for words in ["program.py"], ["none.py"]:
        ended = subprocess.run(ckernprof("-l", "-o", "-", *words), cwd=tmp_path, capture_output=True)
        assert b"ckernprof: nothing was profiled: " in ended.stderr
        assert msgpack.unpackb(ended.stdout)["functions"] == []
    assert marshal.loads(subprocess.run(ckernprof("-o", "-", "none.py"), cwd=tmp_path, capture_output=True).stdout) == {}


# ---- words that belong elsewhere ----


@pytest.mark.once
def test_options_behind_the_program(script, tmp_path):
    """They are the program's; where it has no use for them, or nothing came of the run, that is told."""
    idle, strict = script("pass\n", "idle.py"), script("import argparse\nargparse.ArgumentParser().parse_args()\n")
    hint = "stands behind the program, which got it"
    for words, word in {
        ("-v",): "-v", ("x", "--view"): "--view", ("-lv",): "-lv", ("--outfile=x",): "--outfile", ("-ox",): "-ox",
        ("-h",): None, ("-x",): None, ("--views",): None, ("--", "-v"): None, ("-",): None, ("--",): None,
    }.items():  # fmt: skip
        ended = run_ckernprof(["-l", idle.name, *words], tmp_path)
        assert (hint in ended.err) == (word is not None), words
        assert word is None or f"; '{word}" in ended.err, words
    for mode in [], ["-l"]:
        assert hint in run_ckernprof([*mode, strict.name, "-v"], tmp_path).err
        assert hint not in run_ckernprof([*mode, strict.name, "--bad"], tmp_path).err
    takes = script("import argparse, sys\nprint(sys.argv)\n" + SMALL, "takes.py")
    assert run_ckernprof(["-l", takes.name, "-v"], tmp_path).err == ""
    assert run_ckernprof([idle.name, "-v"], tmp_path).err == ""
    ended = run([CKERNPROF, "--python", sys.executable, "-b", takes.name, "-l"], tmp_path)
    assert ended.err == ""  # it reads its options itself
    for words in "-l", "x -v -l", "-lv", "--line-by-line":
        word = words.split()[-1]
        assert run_ckernprof([idle.name, *words.split()], tmp_path).err == (
            f"ckernprof: '{word}' stands behind the program, which got it; options of ckernprof must stand before "
            "the program\n")  # fmt: skip


@pytest.mark.once
def test_a_program_that_lacks_profile(script, tmp_path):
    path = script(SMALL)
    ended = run_ckernprof([path.name, "-l"], tmp_path)
    assert ended.code == 1 and ended.err.endswith(
        "ckernprof: the program uses 'profile', which only -l (times of lines) and -b (times of functions) define: "
        "ckernprof -l program.py\n")  # fmt: skip


@pytest.mark.once
def test_a_profile_in_the_place_of_the_program(script, tmp_path):
    run_ckernprof(["-l", script(SMALL).name], tmp_path)
    profile = tmp_path / "program.py.lprof"
    for name in "program.py.lprof", "program.py.lprof.live":
        profile = profile.rename(tmp_path / name)
        for options in ["-l"], []:
            ended = run_ckernprof([*options, name], tmp_path)
            assert (ended.code, ended.out) == (2, "")
            assert ended.err == (f"ckernprof: '{name}' is a profile, and ckernprof runs programs; to see the profile "
                                 f"run: clineprof {name}, or: python3 -m clineprof {name}\n")  # fmt: skip
    run_ckernprof([script("pass\n", "calls.py").name], tmp_path)
    (tmp_path / "mem.dat").write_text("CMDLINE python x.py\nMEM 1.5 12.25\n")
    assert run_viewer(["mem.dat"], tmp_path).err.endswith("run: clineprof mem plot mem.dat\n")
    (tmp_path / "mem.dat").unlink()
    for ended in run_ckernprof(["-l", "calls.py.prof"], tmp_path), run_viewer(["calls.py.prof"], tmp_path):
        assert ended.err.endswith("run: python3 -m pstats calls.py.prof\n") and ended.err.count("\n") == 1
    left = "calls.py", "calls.py.prof", "program.py", "program.py.lprof.live"
    assert tuple(sorted(path.name for path in tmp_path.iterdir())) == left


@pytest.mark.once
def test_the_script_as_the_value_of_an_option(script, tmp_path):
    path = script(SMALL)
    for words in ["-p", path.name], ["-lp", path.name], ["-l", "-o", path.name]:
        ended = run_ckernprof(words, tmp_path)
        assert ended.code == 2 and ended.err == (
            "ckernprof: no program to run: 'program.py' was taken as the value of the option before it; name "
            "the program behind that value: .. program.py program.py\n")  # fmt: skip
    for words in [], ["-l"], ["-l", "-p", "none.py"]:
        assert run_ckernprof(words, tmp_path).err == (
            "ckernprof: no program to run, as in ckernprof -l -v script.py; see ckernprof --help\n")  # fmt: skip


@pytest.mark.once
def test_python_in_the_place_of_the_program(script, tmp_path):
    for word in "python", "python3.99":
        ended = run_ckernprof(["-l", word, script(SMALL).name], tmp_path, env={"PATH": ""})
        assert ended.code == 2 and ended.err.endswith(
            f"{NOTHING}the program could not be started; leave '{word}' out, ckernprof starts Python "
            "itself\n")  # fmt: skip


# ---- -o onto what is there ----


def refuse_to_write_over(tool, path, what, words):
    before = path.read_bytes()
    ended = (run_ckernprof if tool == "ckernprof" else run_viewer)(words, path.parent)
    assert (ended.code, ended.out, path.read_bytes()) == (2, "", before), ended.err
    assert ended.err == f"{tool}: '{path.name}' is {what}, and -o would write over it; give -o another name\n"


@pytest.mark.once
def test_no_profile_is_written_over_a_program(script, tmp_path):
    script(SMALL)
    other, tool = script("pass\n", "other.py"), script("#!/usr/bin/env python\n" + SMALL, "tool")
    plain, window = script(SMALL, "plain"), script(SMALL, "t.pyw")
    for options in ["-l"], []:
        for path in tool, window, other:
            refuse_to_write_over("ckernprof", path, "a program", [*options, "-o", path.name, path.name])
            refuse_to_write_over("ckernprof", path, "a program", [*options, "-o", path.name, "program.py"])
        for words in ["plain"], ["program.py"], ["-s", "plain", "program.py"], ["-m", "program"]:
            refuse_to_write_over("ckernprof", plain, "not a profile", [*options, "-o", "plain", *words])
    (tmp_path / "data.json").write_text('{"a": 1}')
    refuse_to_write_over("ckernprof", tmp_path / "data.json", "not a profile", ["-o", "data.json", "program.py"])


@pytest.mark.once
def test_profiles_of_all_kinds_are_replaced(script, tmp_path):
    small, calls = script(SMALL), script("print(len('x'))\n", "calls.py")
    (tmp_path / "empty").touch()
    for out in "x.lprof", "empty":
        for options, path in (["-l"], small), (["-l"], small), ([], calls), ([], calls), (["-l"], small):
            ended = run_ckernprof([*options, "-o", out, path.name], tmp_path)
            assert ended.err == "" and ended.code == 0
    for out in "x.lprof", "old.lprof":
        assert run_viewer(["--format", "line_profiler", "-o", "old.lprof", "x.lprof"], tmp_path).code == 0
        assert run_ckernprof(["-l", "-o", out, small.name], tmp_path).code == 0
        Profile(tmp_path / out)
    (tmp_path / "none.prof").write_bytes(marshal.dumps({}))
    assert run_ckernprof(["-l", "-o", "none.prof", small.name], tmp_path).code == 0


@pytest.mark.once
def test_no_recording_of_memory_is_written_into_another_file(script, tmp_path):
    path, tool = script(SMALL), script("#!/usr/bin/env python\n", "tool")
    (tmp_path / "data.json").write_text("{}")
    run_ckernprof(["-l", path.name], tmp_path)
    made = tmp_path / "program.py.lprof"
    for other in path, tool:
        refuse_to_write_over("clineprof mem", other, "a program", ["mem", "run", "-o", other.name, "true"])
    for other in made.rename(tmp_path / "made.dat"), tmp_path / "data.json":
        words = ["mem", "run", "-o", other.name, "true"]
        refuse_to_write_over("clineprof mem", other, "not a recording of memory", words)
    other = (tmp_path / "data.json").rename(tmp_path / "data.lprof")
    refuse_to_write_over("clineprof mem", other, "not a profile", ["mem", "attach", "-o", other.name, "1"])
    for name in "x.dat", "x.lprof":
        (tmp_path / name).touch()
        for _ in range(2):
            assert run_viewer(["mem", "run", "-o", name, "sleep", "0.1"], tmp_path).code == 0
    assert (tmp_path / "x.dat").read_text().count("CMDLINE") == 2


@pytest.mark.once
def test_the_viewer_writes_over_nothing_that_it_cannot_make_again(script, tmp_path):
    path = script(SMALL)
    for name in "a.lprof", "b.lprof":
        run_ckernprof(["-l", "-o", name, path.name], tmp_path)
    os.symlink("a.lprof", tmp_path / "link")
    a, live = tmp_path / "a.lprof", tmp_path / "x.lprof.live"
    for words in (["a.lprof"], ["--format", "html", "b.lprof", "a.lprof"], ["diff", "a.lprof", "b.lprof"],
                  ["diff", "--format", "json", "b.lprof", "link"], ["--format", "line_profiler", "link"]):  # fmt: skip
        refuse_to_write_over("clineprof", a, "one of the files to read", [*words, "-o", "a.lprof"])
    for words in ["a.lprof"], ["diff", "a.lprof", "b.lprof"], ["merge", "a.lprof"], ["--format", "lprof", "a.lprof"]:
        refuse_to_write_over("clineprof", path, "a program", [*words, "-o", path.name])
    ended = run_ckernprof(["-l", "-o", "x.lprof", script(f"{SMALL}import os; os._exit(0)\n", "dies.py").name], tmp_path)
    assert ended.code == 0 and live.exists()
    for words in [live.name], ["recover", live.name], ["merge", "a.lprof"], ["--format", "lprof", "a.lprof"]:
        refuse_to_write_over("clineprof", live, "the live file of a run", [*words, "-o", live.name])
    refuse_to_write_over("ckernprof", live, "the live file of a run", ["-l", "-o", live.name, path.name])
    with open(a, "rb") as standard_input:
        command = [*viewer_command(), "-", "-o", "a.lprof"]
        assert subprocess.run(command, cwd=tmp_path, stdin=standard_input, stderr=subprocess.PIPE).returncode == 2
    for words in ["merge", "a.lprof", "b.lprof"], ["--format", "lprof", "a.lprof"]:
        assert run_viewer([*words, "-o", "a.lprof"], tmp_path).code == 0
        assert Profile(a).functions
    assert run_viewer(["recover", "-o", "a.lprof", live.name], tmp_path).code == 0


@pytest.mark.once
def test_a_name_that_promises_another_format(script, tmp_path):
    """What is written stays a profile or a text; that it is no page is told."""
    path = script(SMALL)
    told = ("ckernprof: 'out.html' gets a profile, whatever its ending; "
            "clineprof --format html makes such a file of a profile\n")
    ended = run_ckernprof(["-l", "-o", "out.html", path.name], tmp_path)
    assert (ended.code, ended.err) == (0, told) and ended.profile("out.html").functions
    ended = run_ckernprof(["-b", "-o", "calls.html", path.name], tmp_path)
    assert ended.err == "ckernprof: 'calls.html' gets a profile for pstats, whatever its ending\n"
    for words in ["-lq", "-o", "out.html"], ["-l", "-o", "out.lprof"], ["-l", "-o", "html"]:
        assert run_ckernprof([*words, path.name], tmp_path).err == ""
    for words, said in (
        (["merge", "-o", "m.csv", "out.lprof"], "clineprof: 'm.csv' gets a profile"),
        (["--format", "lprof", "-o", "l.json", "out.lprof"], "clineprof: 'l.json' gets a profile"),
        (["-o", "r.html", "out.lprof"], "clineprof: 'r.html' gets text, whatever its ending; --format html makes"),
        (["-o", "r.svg", "out.lprof"], "clineprof: 'r.svg' gets text, whatever its ending; --format flamegraph makes"),
        (["diff", "-o", "d.html", "out.lprof", "out.lprof"], "clineprof: 'd.html' gets text"),
        (["diff", "-o", "d.md", "out.lprof", "out.lprof"], None), (["-o", "r.txt", "out.lprof"], None),
        (["--format", "html", "-o", "p.html", "out.lprof"], None),
        (["-o", "s.json", "--to", "speedscope", "out.lprof"], None),
    ):  # fmt: skip
        ended = run_viewer(words, tmp_path)
        told = "".join(line for line in ended.err.splitlines(True) if not line.startswith("clineprof: the page lacks "))
        assert ended.code == 0 and (told == "" if said is None else told.startswith(said)), ended.err
        assert ended.err.count("\n") <= 1


# ---- -o - ----


def test_the_profile_on_standard_output(script, tmp_path):
    """Nothing else gets there; the program prints to standard error."""
    path = script("import os, subprocess\nprint('ours')\nos.write(1, b'raw\\n')\n"
                  "subprocess.run(['echo', 'child'])\n" + SMALL)  # fmt: skip
    for options in [], ["-v"], ["-q"]:
        shown = run(["sh", "-c", '"$@" | "$0" -', viewer_command()[0], *ckernprof("-l", *options, "-o", "-", path.name)],
                    tmp_path)  # fmt: skip
        assert "\nFunction: f at line" in shown.out and "ours" not in shown.out
        assert {"ours", "raw", "child"} <= set(shown.err.splitlines()) and "Wrote" not in shown.err
        assert ("Function: f at line" in shown.err) == (options == ["-v"])
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
    process = subprocess.run(ckernprof("-o", "-", path.name), cwd=tmp_path, capture_output=True)
    assert marshal.loads(process.stdout) and process.returncode == 1  # there is no profile without -l


@pytest.mark.once
def test_while_the_program_runs_its_live_file_is_there(script, tmp_path):
    path = script("import glob\n" + SMALL + "print(glob.glob('*.live'))\n")
    with open(tmp_path / "out", "wb") as out:
        ended = subprocess.run(ckernprof("-l", "-i", "0.01", "-o", "-", path.name), cwd=tmp_path, stdout=out,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert ended.stderr.startswith("ckernprof: -i: standard output gets the profile once, when the program ends\n")
    assert "['program.py.lprof.live']\n" in ended.stderr
    assert Profile(tmp_path / "out").functions and not list(tmp_path.glob("*prof*"))


@pytest.mark.once
def test_standard_output_that_takes_no_profile(script, tmp_path):
    path = script(SMALL)
    out, code = on_terminal(ckernprof("-l", "-o", "-", path.name), tmp_path)
    assert code == 2 and b"'-o -' writes the profile to standard output, which is a terminal" in out
    closed = run(["sh", "-c", '"$@" >&-', "sh", *ckernprof("-l", "-o", "-", path.name)], tmp_path)
    assert closed.code == 1 and closed.err == "ckernprof: cannot write to standard output: Bad file descriptor\n"
    full = run(["sh", "-c", '"$@" >/dev/full', "sh", *ckernprof("-l", "-o", "-", path.name)], tmp_path,
               env={"TMPDIR": str(tmp_path)})  # fmt: skip
    assert "ckernprof: cannot write to standard output: No space left on device\n" in full.err
    assert full.profile().functions


# ---- child processes ----

POOL = """
import multiprocessing, sys
@profile
def worker(n): return n + 1
def here(): return 1
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(worker, [1]))
    here()
"""


@pytest.mark.once
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_functions_that_ran_in_child_processes_only(method, script, tmp_path):
    path = script(POOL)
    ended = run_ckernprof(["-l", path.name, method], tmp_path)
    assert ended.code == 0 and ended.err == (
        f"{NOTHING}no selected function was called, such as worker, program.py:3; the program started other "
        "processes; --prof-child-procs profiles them, too\n")  # fmt: skip
    ended = run_ckernprof(["-l", "-p", "program.here", path.name, method], tmp_path)
    assert ended.err == ("ckernprof: worker, program.py:3, did not run in this process, and the program started "
                         "other processes; --prof-child-procs profiles them, too\n")  # fmt: skip
    ended = run_ckernprof(["-l", "--prof-child-procs", path.name, method], tmp_path)
    assert ended.err == "" and sum(Profile.measure(ended.profile().function("worker"), "hits").values()) == 1


WORKING = """\
import subprocess, sys

@profile
def start(seconds):
    work = "import time\\nwhile time.process_time() < float(%r): pass" % seconds
    return subprocess.run([sys.executable, "-c", work])

start(sys.argv[1])
"""


@pytest.mark.once
@pytest.mark.parametrize("seconds, options, told", [
    ("2.1", [], True), ("0", [], False), ("2.1", ["-q"], False), ("2.1", ["--prof-child-procs"], False),
])  # fmt: skip
def test_subprocesses_that_did_the_work(script, tmp_path, seconds, options, told):
    ended = run_ckernprof(["-l", *options, script(WORKING).name, seconds], tmp_path)
    line = (r"ckernprof: the processes that the program started took [\d.]+ s of processor time, the program itself "
            r"[\d.]+ s; --prof-child-procs profiles those that run Python, too\n")  # fmt: skip
    assert ended.code == 0 and re.fullmatch(line if told else "", ended.err), ended.err


RELOADED = """\
import os, subprocess, sys, time

def serve():
    pass

if "CHILD" in os.environ:
    serve()
    while time.process_time() < 1:
        pass
else:
    subprocess.run([sys.executable, %s], env={**os.environ, "CHILD": "1"})
"""


@pytest.mark.once
@pytest.mark.parametrize("options, started, told", [
    ([], "__file__", True), (["--prof-child-procs"], "__file__", False), ([], "'-c', ''", False),
])  # fmt: skip
def test_a_process_that_does_the_same_as_this_one(script, tmp_path, options, started, told):
    """As the reloaders of servers do: lines of the file ran here, and what was to be measured ran there."""
    ended = run_ckernprof(["-l", *options, "-p", "program.py", script(RELOADED % started).name], tmp_path)
    line = ("ckernprof: serve, program.py:3, did not run in this process, and the program started other processes; "
            "--prof-child-procs profiles those that run Python, too\n")  # fmt: skip
    assert (ended.code, ended.err) == (0, line if told else "")


SERVED = """\
import multiprocessing, time

def work(seconds):
    while time.process_time() < seconds:
        pass

@profile
def start():
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        pool.map(work, [2.1])

if __name__ == "__main__":
    start()
"""


@pytest.mark.once
def test_children_of_the_fork_server_that_did_the_work(script, tmp_path):
    """The server has waited for them, and still runs itself."""
    ended = run_ckernprof(["-l", script(SERVED).name], tmp_path)
    told = re.fullmatch(r"ckernprof: the processes that the program started took ([\d.]+) s of processor time, .*\n",
                        ended.err)  # fmt: skip
    assert ended.code == 0 and told and float(told[1]) >= 2.1, ended.err


@pytest.mark.once
def test_other_processes_are_no_reason(script, tmp_path):
    path = script("import subprocess\nsubprocess.run(['true'])\n@profile\ndef f(): pass\n")
    assert "--prof-child-procs" not in run_ckernprof(["-l", path.name], tmp_path).err


# ---- the viewer ----


@pytest.mark.once
@pytest.mark.parametrize("text", ["def total():\n    return 1\ntotal()\n", "@profile\ndef total():\n    return 1\ntotal()\n"])
@pytest.mark.parametrize("name", ["sales.py", "my sales.pyw"])
def test_the_command_that_is_named_for_a_program_profiles_it(name, text, script, tmp_path):
    script(text, name)
    told = run_viewer([name], tmp_path).err
    ways = re.search("run: ckernprof (.*), or: python3 -m clineprof.kernprof (.*)\n", told)
    assert ways and ways[1] == ways[2], told
    ended = run_ckernprof(shlex.split(ways[1]), tmp_path)
    assert ended.code == 0 and "Function: total " in ended.out, ended.err


@pytest.mark.once
def test_words_that_may_be_commands(script, tmp_path):
    for words, meant in {
        ("difff", "a", "b"): "; did you mean clineprof diff?", ("mrege",): "; did you mean clineprof merge?",
        ("help",): "; did you mean clineprof --help?", ("version",): "; did you mean clineprof --version?",
        ("show", "x.lprof"): ", and no command of that name; clineprof --help lists the commands",
    }.items():  # fmt: skip
        ended = run_viewer(words, tmp_path)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err == f"clineprof: there is no file '{words[0]}'{meant}\n"
    run_ckernprof(["-l", script(SMALL).name], tmp_path)
    assert run_viewer(["program"], tmp_path).err == (
        "clineprof: there is no file 'program'; did you mean program.py.lprof?\n")  # fmt: skip
    assert run_viewer(["top", "program.py.lprof"], tmp_path).err == (
        "clineprof: program.py.lprof is not the live file of a run; clineprof program.py.lprof shows a finished "
        "profile\n")  # fmt: skip
    run_ckernprof(["-l", "-o", "difff", script(SMALL).name], tmp_path)
    assert "Function: f at" in run_viewer(["difff"], tmp_path).out
    assert run_viewer(["none.lprof"], tmp_path).err == "clineprof: none.lprof: No such file or directory\n"
    ended = run_ckernprof(["top"], tmp_path, env={"PATH": ""})
    assert ended.err.endswith("could not be started; did you mean clineprof top?\n")


@pytest.mark.once
def test_options_of_the_other_command(tmp_path):
    for word in "-l", "--view", "-lq":
        ended = run_viewer([word, "program.py.lprof"], tmp_path)
        assert (ended.code, ended.out) == (2, "") and ended.err == (
            f"clineprof: unknown option '{word}'; it is one of ckernprof, which makes profiles; see clineprof "
            "--help\n")  # fmt: skip
    for word in "-t", "--format":
        assert run_ckernprof([word, "x"], tmp_path).err == (
            f"ckernprof: unknown option '{word}'; it is one of clineprof, which shows profiles; see ckernprof "
            "--help\n")  # fmt: skip
    for word in "--foo", "--hepl", "-x":
        meant = " (did you mean --help?)" * (word == "--hepl")
        assert run_viewer([word], tmp_path).err == f"clineprof: unknown option '{word}'{meant}; see clineprof --help\n"


@pytest.mark.once
def test_the_viewer_writes_to_standard_output(script, tmp_path):
    run_ckernprof(["-l", script(SMALL).name], tmp_path)
    for words in ["program.py.lprof"], ["--to", "csv", "program.py.lprof"]:
        assert run_viewer(["-o", "-", *words], tmp_path).out == run_viewer(words, tmp_path).out != ""
    assert not (tmp_path / "-").exists()
