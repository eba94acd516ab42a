# SPDX-License-Identifier: MIT
"""Programs that once crashed, hung or changed under the profiler."""
import os
import subprocess

import pytest

from harness import ckernprof, clean_environment, run_ckernprof

CALLED = """\
@profile
def called():
    return 1
"""


def ended_well(text, script, tmp_path, **options):
    ended = run_ckernprof(["-l", script(text)], tmp_path, **options)
    assert (ended.code, ended.err) == (0, "")
    return ended


def hits(ended, name):
    return sum(ended.profile().function(name)["lines"]["hits"])


def test_functions_may_be_selected_when_the_run_is_over(script, tmp_path):
    ended = ended_well("import atexit\n" + CALLED + """\
called()
atexit._run_exitfuncs()
@profile
def late():
    return 2
print(late())
""", script, tmp_path)
    assert ended.out.endswith("\n2\n")
    assert hits(ended, "called") == 1


def test_built_in_classes_are_only_warned_of(script, tmp_path):
    ended = run_ckernprof(["-l", script("for c in int, object, type: assert profile(c) is c\n")],
                          tmp_path)
    assert ended.code == 0, ended.err
    assert ended.err.count("is not Python code") == 3


def test_an_object_that_cannot_show_itself(script, tmp_path):
    ended = run_ckernprof(["-l", script(CALLED + """\
class Shy:
    def __repr__(self):
        raise SystemExit(9)
shy = Shy()
assert profile(shy) is shy
called()
""")], tmp_path)
    assert ended.code == 0, ended.err
    assert "an object of class Shy is not Python code" in ended.err
    assert hits(ended, "called") == 1


def test_a_program_read_from_a_pipe_is_not_read_again(tmp_path):
    os.mkfifo(tmp_path / "program")
    process = subprocess.Popen(ckernprof("-l", "program"), cwd=tmp_path, env=clean_environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    (tmp_path / "program").write_text(CALLED + "print(called())\n")
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert (process.returncode, err, out[:2]) == (0, "", "1\n")


@pytest.mark.parametrize("name", ["/dev/zero", "."])
def test_a_file_name_that_is_no_file(name, script, tmp_path):
    ended = ended_well(f"""\
import linecache
names = {{"profile": profile}}
exec(compile({CALLED!r}, {name!r}, "exec"), names)
names["called"]()
""", script, tmp_path, timeout=300)
    assert hits(ended, "called") == 1


def test_low_file_descriptors_are_the_programs(script, tmp_path):
    """As in a program that closes one and counts on getting it back, or has its number fixed."""
    ended = ended_well("import os\n" + CALLED + """\
called()
print(os.open(os.devnull, os.O_RDONLY))
""", script, tmp_path)
    assert ended.out.startswith("3\n")


def test_a_program_that_leaves_no_descriptor(script, tmp_path):
    ended = ended_well("import resource\n" + CALLED + """\
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
called()
kept = []
try:
    while True:
        kept.append(open("/dev/null"))
except OSError as error:
    print(error.errno)
""", script, tmp_path)
    assert hits(ended, "called") == 1


def test_pythoninspect_does_not_show_our_exit(script, tmp_path):
    ended = run_ckernprof(["-l", script(CALLED + "called()\n")], tmp_path,
                          env={"PYTHONINSPECT": "1"}, stdin="")
    assert ended.code == 0
    assert "Traceback" not in ended.err
    assert hits(ended, "called") == 1


@pytest.mark.parametrize("number", [1, 2])
def test_a_file_in_the_place_of_a_closed_stream_gets_none_of_our_words(number, script, tmp_path):
    script("""\
kept = open("data", "w")
kept.write("%d" % kept.fileno())
""")  # nothing is profiled, which is told on stderr
    subprocess.run(["sh", "-c", f'exec "$@" {number}>&-', "sh",
                    *ckernprof("-l", "program.py")], cwd=tmp_path, env=clean_environment(),
                   stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert (tmp_path / "data").read_text() == str(number)
