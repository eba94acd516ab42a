# SPDX-License-Identifier: MIT
"""clineprof ab: two programs, run in turn. What is found is so large that no busy machine hides it. How chances are
computed is in tests/unit/diff/test_significance.c, and what a comparison does with them in tests/cli/test_diff.py."""

import json
import os
import re
import signal

import pytest
from harness import clean_environment, run, run_viewer, steady, tried_again, viewer_command

pytestmark = pytest.mark.once

PROGRAM = """\
import sys
open("order.txt", "a").write(__file__.rpartition("/")[2] + " ".join(sys.argv[1:]) + "\\n")

def work(count):
    found = 0
    for _ in range(count):
        found += sum(range(2000))
    for _ in range(50):
        found += sum(range(2000))
    return found

print(work(%d))
"""


def ab(folder, *words, code=0, **options):
    ended = run_viewer(["ab", *words], folder, **options)
    assert ended.code == code, ended.err
    return ended


@pytest.fixture
def programs(tmp_path):
    (tmp_path / "old.py").write_text(PROGRAM % 50)
    (tmp_path / "new.py").write_text(PROGRAM % 5000)
    return tmp_path


def order(folder):
    return (folder / "order.txt").read_text().split("\n")[:-1]


def fails(folder, *words, code, said):
    ended = ab(folder, *words, code=code)
    assert said in ended.err and ended.out == "", ended.err
    assert ended.err.startswith("clineprof ab: ") and ended.err.count("\n") == 1
    return ended


@pytest.mark.slow
@tried_again
def test_a_line_that_does_more_is_found_and_no_other(programs):
    told = json.loads(ab(programs, "-n", "8", "--format", "json", "old.py", "new.py").out)
    names = {one["name"]: one for one in told["functions"]}
    lines = {line["line"][1]: line for line in names["work"]["lines"]}
    assert set(lines) >= {6, 7}  # the loop that runs 100 times as often, and what is in it
    steady(set(lines) == {6, 7}, lines)  # one comparison in a thousand may name another
    assert "slower" in lines[7]["verdicts"] and lines[7]["edited"] is False
    time = lines[7]["measures"]["time"]
    assert time["p_value"] < 0.001 and 0 < time["margin"] < time["change"]
    assert lines[7]["measures"]["hits"]["change"] == 4950 and lines[7]["measures"]["hits"]["p_value"] == 0
    assert told["confidence"]["percent"] == pytest.approx(99.9)


@pytest.mark.slow
@tried_again
def test_the_same_program_twice(programs):
    out = ab(programs, "-n", "8", "new.py", "new.py").out
    steady("Function:" not in out and "\nFunctions: 2 unchanged\n" in out and "\nLines:" not in out, out)


def test_the_programs_run_in_turn_and_leave_nothing(programs):
    environment = {"TMPDIR": str(programs / "temporary")}
    (programs / "temporary").mkdir()
    ended = ab(programs, "-n", "3", "old.py", "new.py", env=environment)
    assert order(programs) == ["old.py", "new.py", "new.py", "old.py", "old.py", "new.py"]
    assert ended.err == "" and re.match(r"Before: old\.py \(average of 3, Python .*\)\nAfter:  new\.py \(av", ended.out)
    assert sorted(path.name for path in programs.iterdir()) == ["new.py", "old.py", "order.txt", "temporary"]
    assert list((programs / "temporary").iterdir()) == []


@pytest.mark.parametrize("words", [
    ["old.py a b", "new.py 'c d'"], ["old.py", "a", "b", "--", "new.py", "c d"],
    ["--", "old.py", "a", "b", "--", "new.py", "c d"],
])  # fmt: skip
def test_arguments(programs, words):
    out = ab(programs, "-n3", *words).out
    assert out.startswith("Before: old.py a b (") and "\nAfter:  new.py 'c d' (" in out
    assert order(programs)[:2] == ["old.pya b", "new.pyc d"]


def test_a_file_whose_name_has_a_blank(programs):
    (programs / "old.py").rename(programs / "old one.py")
    assert ab(programs, "-n3", "old one.py", "new.py").out.startswith("Before: 'old one.py' (")


def test_ckernprofs_options_are_passed(programs):
    (programs / "old.py").write_text("import helper\n@profile\ndef f():\n    helper.g()\nf()\n")
    (programs / "helper.py").write_text("def g():\n    pass\n")
    for words, names in (["-l"], ["f"]), (["-lp", "helper", "--memory=off"], ["<module>", "f", "g"]):
        out = ab(programs, "-n", "3", *words, "--all", "--format=json", "old.py", "old.py").out
        assert sorted(one["name"] for one in json.loads(out)["functions"]) == names
    line = json.loads(out)["functions"][0]["lines"][0]
    assert set(line["measures"]) == {"hits", "time"}  # no memory


def test_modules(programs):
    out = ab(programs, "-n", "3", "-m", "old", "x", "--", "-m", "new", "--all").out
    assert "\nFile: old.py -> new.py\n" in out and order(programs)[:2] == ["old.pyx", "new.py--all"]


def test_code(programs):
    words = ["-c", "def f():\n    pass\nf()", "--", "-c", "def f():\n    return 1\nf()"]
    out = ab(programs, "-n", "3", "--all", *words).out
    assert "\nFile: <string>\nFunction: f at line 1\n" in out and "+    return 1\n" in out


def test_a_program_in_path(programs):
    (programs / "bin").mkdir()
    (programs / "bin" / "elsewhere.py").write_text("@profile\ndef f():\n    pass\nf()\n")
    environment = {"PATH": f"{programs / 'bin'}:{os.environ['PATH']}"}
    words = ["-n", "3", "-l", "--all", "elsewhere.py", "elsewhere.py"]
    assert "\nFunction: f at line 1\n" in ab(programs, *words, env=environment).out


def test_limits(programs):
    ended = ab(programs, "-n", "3", "--fail-on", "hits>+10%", "old.py", "new.py", code=3)
    assert "new.py:7: work: hits 50 -> 5000" in ended.out
    ab(programs, "-n", "3", "--fail-on", "hits>+10%", "new.py", "old.py")


def test_profiles_can_be_kept(programs):
    ab(programs, "-n", "3", "--keep", "kept/here", "old.py", "new.py")
    names = {f"{side}-{number}.lprof" for side in ("old", "new") for number in (1, 2, 3)}
    assert {path.name for path in (programs / "kept" / "here").iterdir()} == names
    fails(programs, "-n", "3", "--keep", "kept/here", "old.py", "new.py", code=2, said="'kept/here/old-1.lprof' exists")
    told = run_viewer(["diff", *sorted(names)[3:], "--", *sorted(names)[:3], "--renamed"], programs / "kept" / "here")
    assert "more hits" in told.out


def test_a_run_that_fails(programs):
    text = "import os, sys\nif os.path.exists('order.txt'):\n    sys.exit(7)\nopen('order.txt', 'w')\n"
    (programs / "new.py").write_text(text)
    (programs / "old.py").write_text("x = 1\n")
    environment = {"TMPDIR": str(programs)}
    ended = ab(programs, "old.py", "new.py", code=7, env=environment)
    [kept] = programs.glob("clineprof-ab-*")
    assert ended.err == ("clineprof ab: run 2 of 10 of new.py ended with exit status 7; the profiles so far are kept "
                         f"in '{kept}'\n")  # fmt: skip
    assert {path.name for path in kept.iterdir()} == {"old-1.lprof", "new-1.lprof", "new-2.lprof"}


def test_a_run_that_is_killed(programs):
    (programs / "new.py").write_text("import os\nos.kill(os.getpid(), 9)\n")
    fails(programs, "old.py", "new.py", code=137, said="run 1 of 10 of new.py ended with signal 9")


def test_a_program_of_which_nothing_is_profiled(programs):
    ended = ab(programs, "-l", "old.py", "new.py", code=1)
    assert "no @profile was reached" in ended.err
    assert ended.err.endswith("clineprof ab: run 1 of 10 of old.py made no profile\n")


def test_a_report_that_cannot_be_written_loses_no_profile(programs):
    environment = {"TMPDIR": str(programs)}
    ended = ab(programs, "-n3", "-o", "no/such/folder", "old.py", "new.py", code=1, env=environment)
    [kept] = programs.glob("clineprof-ab-*")
    assert ended.err.endswith(f"clineprof ab: the profiles are kept in '{kept}'\n") and len(list(kept.iterdir())) == 6


@pytest.mark.parametrize("words, said", [
    ([], "two programs must be given"), (["old.py"], "two programs must be given"),
    (["-m", "old"], "two programs must be given"), (["-m", "--", "-m", "old"], "two programs must be given"),
    (["old.py", "missing.py"], "there is no program 'missing.py'"), (["no/old.py", "new.py"], "program 'no/old.py'"),
    (["old.py", "new.py", "third.py"], "two programs must be given"), (["--", "old.py", "--"], "two programs"),
    (["-n", "2", "old.py", "new.py"], "needs 3 or more, not '2'"),
    (["--confidence", "100", "old.py", "new.py"], "below 100"),
    (["--keeep", "x", "old.py", "new.py"], "did you mean --keep?"),
    (["--tracer", "x", "old.py", "new.py"], "needs auto, probe"),
    (["-o", "old.py", "old.py", "new.py"], "old.py"),
    (["--keep", "old.py", "old.py", "new.py"], "cannot make the folder 'old.py'"),
])  # fmt: skip
def test_wrong_words(programs, words, said):
    fails(programs, *words, code=2, said=said)
    assert not (programs / "order.txt").exists()


@pytest.mark.parametrize("kill, number, code", [(os.killpg, signal.SIGINT, 130), (os.kill, signal.SIGTERM, 143)])
def test_signals(programs, kill, number, code):
    """The programs' end is waited for, too: they have the standard error."""
    import subprocess

    (programs / "new.py").write_text("print(open('order.txt', 'w').write('x'))\nimport time\ntime.sleep(600)\n")
    (programs / "old.py").write_text("x = 1\n")
    command = [str(word) for word in [*viewer_command(), "ab", "--keep", "kept", "old.py", "new.py"]]
    process = subprocess.Popen(command, cwd=programs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=clean_environment(), start_new_session=True)  # fmt: skip
    while not (programs / "order.txt").exists() and process.poll() is None:
        pass
    kill(process.pid, number)
    _, err = process.communicate(timeout=300)
    assert process.returncode == code
    assert err.endswith("clineprof ab: interrupted; the profiles so far are kept in 'kept'\n")


def test_help(programs):
    ended = ab(programs, "--help")
    assert "usage: clineprof ab [options] old.py new.py\n" in ended.out and "(default: 99.9)" in ended.out
    assert run([*viewer_command(), "ab", "-h"], programs).out == ended.out
