# SPDX-License-Identifier: MIT
"""clineprof mem: memory over time with mprof's commands, options and files."""

import html.parser
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from harness import (
    SANITIZED,
    Profile,
    clean_environment,
    run,
    run_ckernprof,
    run_python,
    viewer_command,
)

pytestmark = [
    pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")
]  # fmt: skip

PACKAGE = str(viewer_command()[0].parent.parent / "python")
GROWS = "import time\nblock = bytearray(60 << 20)\ntime.sleep(.3)\ndel block\ntime.sleep(.2)\n"
FUNCTIONS = """\
import sys, time

@profile
def outer():
    time.sleep(.2)
    inner()

@profile
def inner():
    block = bytearray(60 << 20)
    time.sleep(.2)

outer()
print("done", *sys.argv[1:])
"""
RECORDED = """\
CMDLINE python it.py
FUNC it.inner 20.0000 100.5000 70.0000 101.5000 1
FUNC it.outer 10.0000 100.0000 20.0000 102.0000 0
MEM 10.000000 100.0000
MEM 20.500000 100.5000
CHLD 77 5.000000 100.5000
MEM 90.250000 101.0000
CHLD 77 6.500000 101.0000
MEM 30.000000 102.0000
"""


def mem(words, folder, **options):
    return run([*viewer_command(), "mem", *words], folder, **options)


def start(words, folder):
    command = [str(word) for word in [*viewer_command(), "mem", *words]]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=clean_environment())  # fmt: skip


def rows(path, word):
    return [line.split()[1:] for line in path.read_text().splitlines() if line.split()[0] == word]


def sizes(path, word="MEM", place=0):
    return [float(row[place]) for row in rows(path, word)]


def only(folder, pattern="mprofile_*.dat"):
    [path] = folder.glob(pattern)
    return path


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "mprofile_20200102030405.dat"
    path.write_text(RECORDED)
    return path


def fails(words, folder, code, said):
    """One line that says it, and this exit status."""
    ended = mem(words, folder)
    assert said in ended.err and ended.err.count("\n") == 1 and ended.code == code, ended.err
    assert ended.err.startswith("clineprof mem")
    return ended


# ---- run ----


def test_run_writes_what_mprof_writes(script, tmp_path):
    ended = mem(["run", "-T", "0.02", "--nopython", sys.executable, script(GROWS), "a b"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    assert "Sampling memory every 0.02s\nrunning new process\n" in ended.out
    path = only(tmp_path)
    assert re.fullmatch(r"mprofile_20\d{12}\.dat", path.name)
    first, *others = path.read_text().splitlines()
    assert first == f"CMDLINE {sys.executable} {tmp_path}/program.py 'a b'"
    assert all(re.fullmatch(r"MEM \d+\.\d{6} \d+\.\d{4}", line) for line in others)
    found, times = sizes(path), sizes(path, place=1)
    assert 60 < max(found) < 120 and found[-1] < max(found) - 50
    assert times == sorted(times) and 0.5 < times[-1] - times[0] < 10
    assert abs(times[0] - time.time()) < 60 and len(found) > 5


def test_run_of_a_script_records_functions(script, tmp_path):
    ended = mem(["run", "-o", "it.dat", script(FUNCTIONS), "with", "words"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    assert "running as a Python program...\ndone with words\n" in ended.out
    functions = {row[0]: [float(value) for value in row[1:]]
                 for row in rows(tmp_path / "it.dat", "FUNC")}
    assert set(functions) == {"__main__.outer", "__main__.inner"}
    before, enter, after, leave, level = functions["__main__.inner"]
    assert level == 1 and 0.15 < leave - enter < 5 and functions["__main__.outer"][4] == 0
    assert functions["__main__.outer"][1] < enter - 0.15
    assert max(sizes(tmp_path / "it.dat")) > before + 50
    # what ckernprof leaves is put away
    assert {path.name for path in tmp_path.iterdir()} == {"program.py", "it.dat"}


def test_run_with_an_interpreter_and_a_module(script, tmp_path):
    script(FUNCTIONS, "pack/part.py")
    link = tmp_path / "python-here"
    link.symlink_to(sys.executable)
    ended = mem(["run", "--python", "-o", "a.dat", "pack.part", "x"], tmp_path)
    assert "done x" in ended.out and rows(tmp_path / "a.dat", "FUNC"), ended.err
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = mem(["run", "--python", "-o", "b.dat", "python-here", "pack/part.py", "y"], tmp_path, env=env)
    assert "done y" in ended.out and rows(tmp_path / "b.dat", "FUNC"), ended.err


@pytest.mark.parametrize("options, python", [
    ([], True), (["--nopython"], False), (["-M"], True), (["-C"], True),
])  # fmt: skip
def test_which_programs_are_run_as_python(script, tmp_path, options, python):
    path = script("print('profile' in dir(__builtins__))\n")
    path.chmod(0o755)
    path.write_text(f"#!{sys.executable}\n" + path.read_text())
    ended = mem(["run", *options, path], tmp_path)
    assert ended.out.endswith(f"{python}\n"), ended.err
    assert ("running as a Python program" in ended.out) == python


STAMPED = """\
import time
@profile
def outer():
    with profile.timestamp("stamped"):
        time.sleep(.1)
    with profile.timestamp(name="named"), profile.timestamp():
        time.sleep(.1)

outer()
"""


def test_timestamp_records_a_block(script, tmp_path):
    """With the names that programs for mprof use."""
    ended = mem(["run", "-T", ".02", "-o", "it.dat", script(STAMPED)], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    stays = {row[0]: [float(value) for value in row[1:]] for row in rows(tmp_path / "it.dat", "FUNC")}
    assert {name: stay[4] for name, stay in stays.items()} == {
        "__main__.outer": 0, "__main__.stamped": 1, "__main__.named": 1, "__main__.<block>": 2}
    assert stays["__main__.stamped"][3] <= stays["__main__.named"][1]


def test_functions_beside_children(script, tmp_path):
    text = FUNCTIONS + CHILDREN
    ended = mem(["run", "-M", "-T", ".02", "-o", "it.dat", script(text)], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    assert {row[0] for row in rows(tmp_path / "it.dat", "FUNC")} == {"__main__.outer", "__main__.inner"}
    assert max(sizes(tmp_path / "it.dat", "CHLD", 1)) > 70


CHILDREN = """\
import subprocess, sys
block = bytearray(30 << 20)
subprocess.run([sys.executable, "-c", "import time; b = bytearray(70 << 20); time.sleep(.4)"])
"""


def test_children(script, tmp_path):
    path = script(CHILDREN)
    for name, options in ("alone", []), ("sum", ["-C"]), ("each", ["-M"]), ("both", ["-M", "-C"]):
        ended = mem(["run", "-T", ".02", "--nopython", "-o", name, *options, sys.executable, path], tmp_path)
        assert ended.code == 0, ended.err
    assert 30 < max(sizes(tmp_path / "alone")) < 70
    assert 100 < max(sizes(tmp_path / "sum")) < 160
    assert not rows(tmp_path / "alone", "CHLD") and not rows(tmp_path / "sum", "CHLD")
    assert 30 < max(sizes(tmp_path / "each")) < 70 < max(sizes(tmp_path / "each", "CHLD", 1)) < 110
    assert max(sizes(tmp_path / "both")) > 100 and rows(tmp_path / "both", "CHLD")
    assert re.search(r"\nCHLD \d+ \d+\.\d{6} \d+\.\d{4}\n", (tmp_path / "each").read_text())


def test_functions_of_other_files_have_their_modules_names(script, tmp_path):
    script(FUNCTIONS, "part.py")
    ended = mem(["run", "-o", "it.dat", script("import part\n", "main.py")], tmp_path)
    assert {row[0] for row in rows(tmp_path / "it.dat", "FUNC")} == {"part.outer", "part.inner"}, ended.err


def test_each_run_has_a_file_of_its_own(tmp_path):
    for _ in range(4):
        assert mem(["run", "true"], tmp_path).code == 0
    assert len(list(tmp_path.glob("mprofile_??????????????.dat"))) == 4


def test_exit_code(script, tmp_path):
    path = script("raise SystemExit(7)\n")
    assert mem(["run", path], tmp_path).code == 0
    ended = mem(["run", "-E", "-o", "x.dat", path], tmp_path)
    assert ended.code == 7
    assert ended.err == "clineprof mem: the program ended with exit status 7\n"
    assert mem(["run", "--exit-code", "-o", "y.dat", "sh", "-c", "kill -9 $$"], tmp_path).code == 137


def test_as_a_profile(script, tmp_path):
    path = script(GROWS)
    ended = mem(["run", "-T", ".02", "--nopython", "-M", "-o", "it.lprof", sys.executable, path], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    [[name, size, unit]] = [line.split() for line in mem(["peak", "it.lprof"], tmp_path).out.splitlines()]
    assert name == "it.lprof" and 60 < float(size) < 120 and unit == "MiB"
    profile = Profile(tmp_path / "it.lprof")
    assert profile.meta["command"] == f"{sys.executable} {path}" and not profile.functions
    assert profile.raw["timeline"][0]["pid"] == profile.meta["pid"]
    assert run([*viewer_command(), "it.lprof"], tmp_path).code == 0


def test_a_profile_of_ckernprof_is_one_too(script, tmp_path):
    run_ckernprof(["-lq", "--timeline", "-o", "it.lprof", script(FUNCTIONS)], tmp_path)
    out = mem(["peak", "it.lprof", "--func", "__main__.inner"], tmp_path).out
    assert 60 < float(out.split()[1]) < 140
    run_ckernprof(["-lq", "-o", "none.lprof", script(FUNCTIONS)], tmp_path)
    fails(["peak", "none.lprof"], tmp_path, 1, "none.lprof: there is no timeline in it; ckernprof --timeline")


def test_it_is_written_while_the_program_runs(tmp_path):
    path = tmp_path / "it.dat"
    process = start(["run", "-T", ".01", "-o", path, "sh", "-c", "echo $$ > pid; exec sleep 60"], tmp_path)
    wait_until(lambda: path.exists() and len(rows(path, "MEM")) >= 20 and names_itself(tmp_path))
    process.kill()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    process.communicate()
    assert len(sizes(path)) >= 20


def names_itself(folder):
    """Has the program written its number? Its memory may be read before."""
    return (folder / "pid").exists() and (folder / "pid").read_text().endswith("\n")


def wait_until(done, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(.05)


def interrupted(words, folder, wait_for):
    process = start(words, folder)
    wait_until(wait_for)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    return process.returncode, err


def test_control_c_ends_a_run(tmp_path):
    path = tmp_path / "it.dat"
    code, err = interrupted(
        ["run", "-T", ".01", "-o", path, "sh", "-c", "echo $$ > pid; exec sleep 60"], tmp_path,
        lambda: path.exists() and len(rows(path, "MEM")) > 5 and names_itself(tmp_path))
    assert (code, err) == (130, "") and len(sizes(path)) > 5
    with pytest.raises(ProcessLookupError):  # it was told, too
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_timeout(tmp_path):
    process = start(["run", "-t", "0.3", "-T", ".02", "-o", "it.dat", "sleep", "5"], tmp_path)
    process.wait(timeout=300)
    process.stdout.close()
    process.stderr.close()
    times = sizes(tmp_path / "it.dat", place=1)
    assert process.returncode == 0 and 0 < times[-1] - times[0] < 5


# ---- attach ----


@pytest.fixture
def running(tmp_path):
    program = "import time; b = bytearray(60 << 20); print(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    process.stdout.readline()  # by now it has them
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_attach_and_control_c(running, tmp_path):
    path = tmp_path / "it.dat"
    code, err = interrupted(["attach", "-T", ".02", "-o", path, running.pid], tmp_path,
                            lambda: path.exists() and len(rows(path, "MEM")) > 5)
    assert (code, err) == (0, "") and running.poll() is None
    assert path.read_text().startswith(f"CMDLINE {sys.executable} -c ")
    assert max(sizes(path)) > 60


def test_attach_until_it_ends(running, tmp_path):
    process = start(["run", "--attach", "-T", ".02", "-o", "it.dat", running.pid], tmp_path)
    path = tmp_path / "it.dat"
    wait_until(lambda: path.exists() and len(rows(path, "MEM")) > 5)
    running.kill()
    running.wait()
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "") and f"using hint: {running.pid}" in out
    assert max(sizes(tmp_path / "it.dat")) > 60


@pytest.mark.parametrize("words", [["attach"], ["run", "--attach"]], ids=" ".join)
def test_options_may_stand_behind_the_process(running, tmp_path, words):
    ended = mem([*words, running.pid, "-t", "0.2", "-o", "it.dat"], tmp_path)
    assert (ended.err, ended.code) == ("", 0) and running.poll() is None
    assert max(sizes(tmp_path / "it.dat")) > 60
    fails([*words, running.pid, "1", "-t", "0.2"], tmp_path, 2, "one process can be recorded at a time, not")
    fails([*words, running.pid, "--frobnicate"], tmp_path, 2, "unrecognized arguments: --frobnicate")


def test_attach_by_name(tmp_path):
    program = tmp_path / "clp-strange-name"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    ended = mem(["attach", "-t", "0.2", "-T", ".02", "-o", "it.dat", "clp-strange"], tmp_path)
    process.kill()
    process.wait()
    assert (ended.err, ended.code) == ("", 0) and sizes(tmp_path / "it.dat")


@pytest.mark.parametrize("kind", ["psutil_pss", "psutil_uss", "pss", "posix"])
def test_backends(running, tmp_path, kind):
    ended = mem(["attach", "-t", "0.2", "--backend", kind, "-o", "it.dat", running.pid], tmp_path)
    assert ended.code == 0 and 60 < max(sizes(tmp_path / "it.dat")) < 100


def test_attach_to_what_is_not_there(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    fails(["attach", process.pid], tmp_path, 1, f"there is no process {process.pid}")
    fails(["attach", 10**30], tmp_path, 1, "there is no process 1000")
    fails(["attach", "no-such-name"], tmp_path, 1, "no process has 'no-such-name' in its name")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.getuid() != 0 or shutil.which("setpriv") is None,
                    reason="needs a process of another user")  # fmt: skip
def test_attach_to_what_is_not_ours(tmp_path):
    other = subprocess.Popen(["sleep", "60"], user=65534)
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    command = [*without_rights, *viewer_command(), "mem", "attach", "--backend", "pss", other.pid]
    ended = run(command, tmp_path)
    other.kill()
    other.wait()
    said = f"clineprof mem: process {other.pid} cannot be read by this user: Permission denied\n"
    assert (ended.err, ended.code) == (said, 1) and not list(tmp_path.iterdir())


# ---- wrong words ----


@pytest.mark.parametrize("words, said", [
    ([], "no command; there are run, attach, plot, peak, list, rm, clean"),
    (["frobnicate"], "unknown command 'frobnicate'; there are run"),
    (["run"], "a program to run must be given; see clineprof mem run --help"),
    (["attach"], "a process to attach to must be given; see clineprof mem attach --help"),
    (["run", "-T", "-1", "true"], "-T/--interval: needs seconds, 0.001 or more, not '-1'"),
    (["run", "--interval", "0", "true"], "needs seconds, 0.001 or more, not '0'"),
    (["run", "--interval=nan", "true"], "needs seconds, 0.001 or more, not 'nan'"),
    (["run", "-t", "-3", "true"], "-t/--timeout: needs seconds, 0 or more, not '-3'"),
    (["run", "--backend", "guess", "true"], "--backend: invalid choice: 'guess'"),
    (["run", "--backend", "tracemalloc", "true"], "tracemalloc sees only the process that it is in"),
    (["run", "--frobnicate", "true"], "unrecognized arguments: --frobnicate"),
    (["run", "no-such-program"], "cannot run 'no-such-program': No such file or directory"),
    (["run", "--python", "python3"], "a script or module must follow 'python3'"),
    (["rm"], "a recording to remove must be given"),
    (["list", "word"], "unrecognized arguments: word"),
    (["plot", "-w", "5", "x"], "-w/--window: needs two ascending numbers with a comma between, not '5'"),
])  # fmt: skip
def test_wrong_words(tmp_path, words, said):
    fails(words, tmp_path, 2, said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words, said", [
    (["peak"], "there is no recording (mprofile_*.dat) in this folder"),
    (["plot"], "there is no recording"),
    (["peak", "nothing.dat"], "cannot read 'nothing.dat': No such file or directory"),
    (["rm", "5"], "there is no recording 5 here"),
    (["peak", "."], "'.' is a folder"),
    (["run", "-o", "no/such/folder", "true"], "cannot write 'no/such/folder': No such file"),
    (["run", "-o", "no/such/folder.lprof", "true"], "cannot write 'no/such/folder.lprof': No such file"),
])  # fmt: skip
def test_files_that_cannot_be(tmp_path, words, said):
    fails(words, tmp_path, 1, said)


def test_help(tmp_path):
    out = mem(["--help"], tmp_path).out
    for name in "run", "attach", "plot", "peak", "list", "rm", "clean":
        assert f"\n  {name} " in out
        ended = mem([name, "--help"], tmp_path)
        assert ended.out.startswith(f"usage: clineprof mem {name}") and ended.code == 0
        assert re.fullmatch(r"\d+\.\d+\.\d+\n", mem([name, "--version"], tmp_path).out)
    assert "clineprof mem run|attach|plot|peak|list|rm|clean" in run([*viewer_command(), "--help"], tmp_path).out


# ---- files ----


def test_peak(recorded, tmp_path):
    ended = mem(["peak"], tmp_path)
    assert ended.out == (f"Using last profile data.\n{recorded.name}\t90.250 MiB\n"
                         "  Child 77\t\t\t6.500 MiB\n")
    assert mem(["peak", "--func", "it.inner", "0"], tmp_path).out.startswith(f"{recorded.name}\t90.250 MiB")
    assert mem(["peak", "--func", "it.none", recorded], tmp_path).out.startswith(f"{recorded}\tNaN MiB")


def test_list_rm_clean(recorded, tmp_path):
    other = tmp_path / "mprofile_20210102030405.dat"
    other.write_text(RECORDED)
    (tmp_path / "mprofile_x.dat").write_text("kept")
    assert mem(["list"], tmp_path).out == (
        f"0 {recorded.name} 03:04:05 02/01/2020\n1 {other.name} 03:04:05 02/01/2021\n")
    assert mem(["rm", "--dry-run", "-1"], tmp_path).out == f"Files to be removed: \n{other.name}\n"
    assert mem(["clean", "--dry-run"], tmp_path).out.count("\n") == 3
    assert other.exists()
    assert mem(["rm", "-1"], tmp_path).code == 0 and not other.exists() and recorded.exists()
    assert mem(["clean"], tmp_path).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mprofile_x.dat"]


@pytest.mark.parametrize("row, said", [
    ("MEM ten 100.0", "line 3: 'ten' is no number"),
    ("MEM 10.0", "line 3: MEM needs 2 numbers, not 1"),
    ("MEM nan 5", "line 3: 'nan' is no number that can be drawn"),
    ("CHLD x 1.0 2.0", "line 3: CHLD needs the number of a process"),
    ("CHLD 5 1.0", "line 3: CHLD needs 2 numbers, not 1"),
    ("FUNC f 1 2 3", "line 3: FUNC needs a name and 4 numbers"),
    ("FUNC 1 2 3 4", "line 3: FUNC needs a name and 4 numbers"),
    ("\x00\x01", "line 3: the row begins with none of CMDLINE, MEM, CHLD and FUNC"),
])  # fmt: skip
def test_broken_rows(tmp_path, row, said):
    path = tmp_path / "it.dat"
    path.write_text(f"CMDLINE it\nMEM 10.0 100.0\n{row}\nMEM 10.0 101.0\n")
    for command in "peak", "plot":
        fails([command, "it.dat"], tmp_path, 1, "it.dat, " + said)


def test_files_that_are_odd_but_good(tmp_path):
    path = tmp_path / "it.dat"
    # a run that was killed; an older file, without levels; a name with blanks; \r; not UTF-8
    path.write_bytes(b"CMDLINE \xff\nFUNC <my block> 1.0 100.0 2.0 101.0\r\n\nMEM 10.5 100.0\nMEM 5")
    assert mem(["peak", path], tmp_path).out == f"{path}\t10.500 MiB\n"
    assert "<my block> 1.000s" in mem(["plot", path], tmp_path, env={"PATH": ""}).out


@pytest.mark.parametrize("data, said", [
    (b"", "there is no memory sample (MEM) in it"),
    (b"CMDLINE it\n", "there is no memory sample (MEM) in it"),
    (bytes(range(128, 256)), "not a clineprof profile"),
    (b"\x86\xa6format\xa9clineprof\xa7version", "cut off"),
])  # fmt: skip
def test_files_of_another_kind(tmp_path, data, said):
    (tmp_path / "it.dat").write_bytes(data)
    fails(["peak", "it.dat"], tmp_path, 1, said)


def test_a_closed_pipe_is_quiet(recorded, tmp_path):
    command = " ".join(map(str, viewer_command()))
    ended = run(["sh", "-c", f"({command} mem plot; echo $? >&2) | true"], tmp_path)
    assert "Traceback" not in ended.err and "Broken" not in ended.err


def test_nothing_is_imported_from_the_working_folder(script, recorded, tmp_path):
    for name in "argparse", "subprocess", "tempfile", "json":
        script("raise SystemExit('imported from here')\n", name + ".py")
    assert mem(["peak"], tmp_path).code == 0
    ended = run_python(["-m", "clineprof", "mem", "peak"], tmp_path, env={"PYTHONPATH": PACKAGE})
    assert ended.code == 0 and "90.250" in ended.out


# ---- pictures ----


@pytest.fixture
def no_matplotlib(tmp_path_factory):
    """An environment in which importing it fails."""
    folder = tmp_path_factory.mktemp("hide")
    (folder / "matplotlib.py").write_text("raise ImportError\n")
    return {"PYTHONPATH": str(folder), "COLUMNS": "80", "LINES": "24"}


def test_chart_in_the_terminal(recorded, tmp_path, no_matplotlib):
    out = mem(["plot"], tmp_path, env=no_matplotlib).out
    assert out.startswith("Using last profile data.\npython it.py\n")
    assert "90.2 \u2502" in out and "peak 90.250 MiB at 1.000 s, 4 samples\n" in out
    assert "child 77: peak 6.500 MiB" in out
    lines = out.splitlines()
    [inner] = [line for line in lines if line.endswith("inner 1.000s")]
    bar = lines[lines.index(inner) - 1]
    assert bar.index("[") > 20 and bar.endswith("]") and max(map(len, lines)) <= 80
    assert "inner" not in mem(["plot", "-n"], tmp_path, env=no_matplotlib).out
    assert "slope " in mem(["plot", "-s"], tmp_path, env=no_matplotlib).out
    out = mem(["plot", "-w", "0,0.6", "-t", "my title"], tmp_path, env=no_matplotlib).out
    assert "my title" in out and "peak 20.500 MiB" in out
    out = mem(["plot"], tmp_path, env={**no_matplotlib, "PYTHONIOENCODING": "ascii"}).out
    assert out.isascii() and "#" in out


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def classes(page):
    return [name for _, attributes in page.tags for name in attributes.get("class", "").split()]


def test_page_and_picture_of_our_own(recorded, tmp_path, no_matplotlib):
    recorded.write_text(RECORDED.replace("it.py", "it.py '<script>alert(1)</script>' &amp;"))
    assert mem(["plot", "-s", "-o", "it.html"], tmp_path, env=no_matplotlib).code == 0
    text = (tmp_path / "it.html").read_text()
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("svg") == 1 and classes(page).count("trend") == 2 and "script" not in tags
    assert not any(name in ("src", "href") for _, attributes in page.tags for name in attributes)
    assert "<script>alert(1)</script>" in page.text and "&amp;amp;" in text
    assert "inner" in page.text and "+50.000" in page.text and "peak 90.250 MiB" in page.text
    assert mem(["plot", "-o", "it.svg"], tmp_path, env=no_matplotlib).code == 0
    picture = (tmp_path / "it.svg").read_text()
    import xml.etree.ElementTree as ElementTree

    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    points = next(attributes["d"] for _, attributes in page.tags if attributes.get("class") == "curve c0")
    y = [float(point.split()[1]) for point in points.lstrip("M").split("L")]
    assert y.index(min(y)) == 2 and y[0] > y[1] > y[2] < y[3]


def test_several_in_one_picture(recorded, tmp_path, no_matplotlib):
    (tmp_path / "other.dat").write_text("MEM 5 1\nMEM 500 2\n")
    assert mem(["plot", "-o", "it.svg", recorded, "other.dat"], tmp_path, env=no_matplotlib).code == 0
    text = (tmp_path / "it.svg").read_text()
    assert [classes(Page(text)).count(f"c{i}") for i in range(4)] == [2, 2, 2, 0]  # a curve, and its row in the legend
    assert "peak 500.000 MiB" in text and "inner" not in text


def test_without_matplotlib_what_needs_it_is_said(recorded, tmp_path, no_matplotlib):
    ended = mem(["plot", "-o", "it.png"], tmp_path, env=no_matplotlib)
    assert ended.err == ("clineprof mem: it.png needs matplotlib, which is not installed; -o NAME.svg and "
                         "-o NAME.html do not need it\n") and ended.code == 1
    ended = mem(["plot", "--backend", "agg"], tmp_path, env=no_matplotlib)
    assert "--backend needs matplotlib, which is not installed" in ended.err and ended.code == 2
    ended = mem(["plot", "-o", "no/it.svg"], tmp_path, env=no_matplotlib)
    assert "cannot write 'no/it.svg': No such file" in ended.err and ended.code == 1
    ended = mem(["plot", "-w", "50,60"], tmp_path, env=no_matplotlib)
    assert "no sample lies within the window" in ended.err and ended.code == 1


with_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed"
)


def with_this(words, folder):
    """By the interpreter that has matplotlib."""
    return run_python(["-m", "clineprof", "mem", *words], folder, env={"PYTHONPATH": PACKAGE})


@with_matplotlib
@pytest.mark.parametrize("options", [[], ["-f"], ["-s", "-n"], ["-w", "0,1", "-t", "a $ title"]])
def test_matplotlib(recorded, tmp_path, options):
    ended = with_this(["plot", "-o", "it.png", *options], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")
    assert with_this(["plot", "-o", "it.svg", *options], tmp_path).code == 0
    assert "matplotlib" in (tmp_path / "it.svg").read_text()


@with_matplotlib
def test_matplotlib_complaints(recorded, tmp_path):
    ended = with_this(["plot", "--backend", "frob"], tmp_path)
    assert "cannot use --backend 'frob'" in ended.err and ended.err.count("\n") == 1
    assert ended.code == 2
    ended = with_this(["plot", "-o", "it.frob"], tmp_path)
    assert "cannot draw into 'it.frob'" in ended.err and ended.code == 1


# ---- very many stays ----

# Draws a recording, and prints what stands in the picture: matplotlib's own objects, not pixels.
LOOKS = """\
import json, sys
from clineprof._mem import command, pictures
from matplotlib import pyplot

def look(figure):
    figure.canvas.draw()
    axes = figure.axes[0]
    legend = axes.get_legend()
    box = lambda artist: artist.get_window_extent().extents.tolist()
    print(json.dumps({
        "lines": len(axes.lines), "boxes": sum(len(one.collections) for one in figure.axes),
        "order": [one.get_zorder() for one in figure.axes],
        "texts": [text.get_text() for one in figure.axes for text in one.texts],
        "curve": len(axes.lines[0].get_xdata()), "points": sum(len(line.get_xdata()) for line in axes.lines),
        "axes": box(axes), "legend": legend and box(legend), "title": legend and legend.get_title().get_text(),
        "names": legend and [text.get_text() for text in legend.get_texts()]}))

pyplot.savefig = lambda *words, **options: look(pyplot.gcf())
sys.exit(command.main(["clineprof", "mem", "plot", "-o", "it.png", *sys.argv[1:]]))
"""


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.fixture
def crowded(tmp_path):
    """A profile with 60,000 stays in 57 functions: function 0 has 30,000 short ones, and the other 56 have the others,
    each a little longer than the one before."""
    marks, at, second = [], 0, 10**9
    for number in range(60_000):
        which = 0 if number % 2 == 0 else 1 + number // 2 % 56
        took = 3_000 + 100 * which
        marks.append({"file": "/srv/app.py", "line": 10 * which + 1, "name": f"handler_{which:02}_{'x' * 60 * (which == 56)}",
                      "level": which % 3, "enter": at, "leave": at + took})  # fmt: skip
        at += took + 1_000
    import msgpack
    from profiles import write

    path = write(tmp_path / "it.lprof")
    data = msgpack.unpackb(path.read_bytes())
    data["timeline"] = [{"pid": 1, "start": 1.6e9, "time": [0, at // 2, at], "rss": [1 << 20, 9 << 20, 5 << 20],
                         "marks": marks}]  # fmt: skip
    assert at < second
    path.write_bytes(msgpack.packb(data))
    return tmp_path


def longest_of_crowded():
    """Function 0 has half of all stays. Of the others, which have 535 or 536 each, the last ones took longest."""
    return [0, *range(56, 47, -1)]


@with_matplotlib
@pytest.mark.parametrize("options", [[], ["-f"]])
def test_of_very_many_stays_ten_functions_are_drawn(crowded, options):
    ended = run_python(["-c", LOOKS, "it.lprof", *options], crowded, env={"PYTHONPATH": PACKAGE})
    assert ended.code == 0, ended.err
    [seen] = [json.loads(line) for line in ended.out.splitlines() if line.startswith("{")]
    wanted = [f"handler_{which:02}_" for which in longest_of_crowded()]
    if options:
        assert seen["boxes"] == 10 and seen["legend"] is None
        assert [text[:11] for text in seen["texts"]][::9] == [wanted[0], wanted[9]] and len(seen["texts"]) == 11
        assert seen["texts"][1] == "\u2026" + "x" * 39 and seen["texts"][-1] == "the longest 10 of 57 functions"
        assert seen["order"] == sorted(seen["order"], reverse=True)  # the curve is above the boxes
        return
    assert seen["lines"] == 1 + 10 + 2  # the curve, a line for each function, and the dashed ones at the peak
    assert [name.replace("\u2026", "")[:11] for name in seen["names"][1:]][:1] == wanted[:1]
    assert [name[:11] for name in seen["names"][3:]] == wanted[2:]
    assert re.match(r"\u2026x{39} \d\.\d{3}s \(53\d times\)$", seen["names"][2]) and len(seen["names"]) == 11
    assert seen["title"] == "the longest 10 of 57 functions"
    assert re.search(r" 0\.090s \(30000 times\)$", seen["names"][1])  # 30,000 times 3 us
    assert seen["points"] < 11 * 2 * 5 * 60  # brackets that do not lie on each other
    assert not overlap(seen["legend"], seen["axes"])


@with_matplotlib
def test_the_legend_never_covers_a_curve(tmp_path):
    rows = ["CMDLINE it"] + [f"MEM {10 + i}.0 {100 + i}.0" for i in range(5)]
    rows += [f"CHLD {pid} {pid}.0 {100 + i}.0" for pid in range(1, 60) for i in range(5)]
    rows += [f"FUNC a_module_with_a_long_name.function_{i} 10.0 100.0 11.0 {101 + i}.0 0" for i in range(12)]
    (tmp_path / "it.dat").write_text("\n".join(rows) + "\n")
    ended = run_python(["-c", LOOKS, "it.dat"], tmp_path, env={"PYTHONPATH": PACKAGE})
    assert ended.code == 0, ended.err
    [seen] = [json.loads(line) for line in ended.out.splitlines() if line.startswith("{")]
    assert not overlap(seen["legend"], seen["axes"])
    assert len(seen["names"]) == 30 and seen["names"][-1].startswith("function_2 ")
    assert seen["title"] == "the longest 10 of 12 functions\nwithout 40 more processes"


@with_matplotlib
@pytest.mark.parametrize("options", [[], ["-f"], ["-t", "title " * 500]])
def test_no_text_makes_a_picture_wider(tmp_path, options):
    """The font lacks some of the letters, of which matplotlib warns."""
    rows = ["CMDLINE it.py " + "argument " * 500, "MEM 10.0 100.0", "MEM 11.0 102.0"]
    rows += [f"FUNC {name} 10.0 100.0 11.0 102.0 0" for name in ("f" * 3000, "\u95a2\u6570")]
    (tmp_path / "it.dat").write_text("\n".join(rows) + "\n")
    ended = with_this(["plot", "-o", "it.png", *options, "it.dat"], tmp_path)
    assert (ended.err, ended.code) == ("", 0)
    assert int.from_bytes((tmp_path / "it.png").read_bytes()[16:20], "big") < 14 * 90  # the figure's width


def test_of_very_many_stays_our_own_pictures_are_small(crowded, no_matplotlib):
    assert mem(["plot", "-o", "it.svg", "it.lprof"], crowded, env=no_matplotlib).code == 0
    text = (crowded / "it.svg").read_text()
    assert 10 <= text.count('class="stay"') <= 10 * 501 and "the longest 10 of 57 functions" in text
    legend = re.findall(r">([^<]*) \d\.\d{3}s \(\d+ times\)</text>", text)
    assert [name[:11] for name in legend[2:]] == [f"handler_{which:02}_" for which in longest_of_crowded()[2:]]
    assert legend[:2] == ["handler_00_", "\u2026" + "x" * 39] and "handler_20_" not in text
    assert mem(["plot", "-o", "it.html", "it.lprof"], crowded, env=no_matplotlib).code == 0
    assert (crowded / "it.html").read_text().count("<tr>") == 1 + 10
    lines = mem(["plot", "it.lprof"], crowded, env=no_matplotlib).out.splitlines()
    assert lines[-1] == "the longest 10 of 57 functions"
    assert sum("handler_" in line or line.strip().startswith("\u2026") for line in lines) == 10
