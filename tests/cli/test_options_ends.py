# SPDX-License-Identifier: MIT
"""Programs that end, or prepare their end, in ways of their own; tests/cli/test_run.py has the usual
ones."""

import re

import pytest
from harness import Profile, own_messages_removed, run_ckernprof, run_python, run_viewer

BARE = "import builtins\nprofile = getattr(builtins, 'profile', lambda f: f)\n"


def test_functions_run_by_atexit_are_counted(script, tmp_path):
    path = script(
        "import atexit\n@profile\ndef late(n):\n    return n\n"
        "atexit.register(late, 1)\natexit.register(late, 2)\nlate(3)\n"
    )
    ended = run_ckernprof(["-lv", path], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.profile().measure(ended.profile().function("late"), "hits") == {4: 3}
    assert re.search(r"^     4         3 ", ended.out, re.M)


@pytest.mark.parametrize("code", ["sys.exit(3)", "1 / 0", "raise KeyboardInterrupt"])
def test_atexit_after_a_bad_end(code, script, tmp_path):
    path = script(
        BARE + "import atexit, sys\n@profile\ndef late():\n    print('late')\n"
        f"atexit.register(late)\n{code}\n"
    )
    bare = run_python([path], tmp_path)
    ours = run_ckernprof(["-l", path], tmp_path)
    assert (ours.code, ours.err, own_messages_removed(ours.out)) == (bare.code, bare.err, "late\n")
    assert sum(ours.profile().function("late")["lines"]["hits"]) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_script_that_deletes_its_own_source(when, script, tmp_path):
    parts = ["import os; os.remove(__file__)", "@profile\ndef f(n):\n    return n + 1"]
    text = "\n".join(parts if when == "before" else reversed(parts)) + "\nprint(f(1))\n"
    path = script(text)
    ended = run_ckernprof(["-lv", path.name], tmp_path)
    assert (ended.code, ended.err) == (0, "") and not path.exists()
    for shown in ended.out, run_viewer(["program.py.lprof"], tmp_path).out:
        assert re.search(r"^ +\d +1 .*      return n \+ 1$", shown, re.M), shown


def test_a_script_that_rewrites_its_own_source(script, tmp_path):
    path = script(
        "open(__file__, 'w').write('#\\n' * 9)\n@profile\ndef f(n):\n    return n + 1\nprint(f(1))\n"
    )
    ended = run_ckernprof(["-lv", path.name], tmp_path)
    assert re.search(r"^     4 +1 .*      return n \+ 1$", ended.out, re.M), ended.out


def test_a_script_that_removes_the_folder_it_stands_in(script, tmp_path):
    path = script(
        "import os\n@profile\ndef f():\n    os.chdir('gone')\n    os.rmdir('../gone')\nf()\n"
    )
    (tmp_path / "gone").mkdir()
    ended = run_ckernprof(["-lv", path], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert f"Wrote profile results to '{tmp_path}/program.py.lprof'" in ended.out
    assert Profile(tmp_path / "program.py.lprof").line("f", 4)["hits"] == 1


@pytest.mark.parametrize("descriptor", [1, 2])
def test_a_script_that_closes_a_standard_descriptor(descriptor, script, tmp_path):
    path = script(BARE + f"import os\n@profile\ndef f():\n    os.close({descriptor})\nf()\n")
    bare = run_python([path], tmp_path)
    ours = run_ckernprof(["-l", path], tmp_path)
    assert (ours.code, ours.err) == (bare.code, bare.err)
    assert sum(ours.profile().function("f")["lines"]["hits"]) == 1


def test_a_script_that_opens_a_file_where_standard_output_was(script, tmp_path):
    """What ckernprof says then goes where the program's own prints would."""
    path = script(
        BARE + "import os, sys\nos.close(1)\nfile = os.open('mine', os.O_CREAT | os.O_WRONLY)\n"
        "assert file == 1\n@profile\ndef f():\n    print('text')\nf()\n"
    )
    ended = run_ckernprof(["-lq", path], tmp_path)
    assert (ended.code, ended.err) == (0, "") and (tmp_path / "mine").read_text() == "text\n"


def test_exec_leaves_the_new_program_alone(script, tmp_path):
    path = script(
        BARE + "import os, sys\n@profile\ndef f():\n"
        "    os.execv(sys.executable, [sys.executable, '-c', "
        "'import os, sys; print(sys.argv, sorted(os.environ), os.listdir(\"/proc/self/fd\"));"
        "sys.exit(5)', 'x'])\nf()\n"
    )
    bare = run_python([path], tmp_path)
    ours = run_ckernprof(["-l", path], tmp_path)
    assert (ours.code, ours.out, ours.err) == (5, bare.out, bare.err)


def test_daemon_threads_in_a_selected_function(script, tmp_path):
    path = script(
        "import threading, time\n@profile\ndef spin():\n    while True:\n        turns.append(time.sleep(.001))\n"
        "@profile\ndef wait():\n    begun.set(), time.sleep(60)\n"
        "turns, begun = [], threading.Event()\n"
        "for target in [spin, spin, wait]:\n"
        "    threading.Thread(target=target, daemon=True).start()\n"
        "begun.wait()\n"
        "while len(turns) < 20: time.sleep(.001)\n"
    )
    ended = run_ckernprof(["-lv", path], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    profile = ended.profile()
    assert profile.line("spin", 5)["hits"] >= 20 and profile.line("wait", 8)["hits"] == 1


@pytest.mark.parametrize("how", ["-c", "-"])
def test_endings_of_texts(how, tmp_path):
    for end, code in [("sys.exit(4)", 4), ("1 / 0", 1), ("raise KeyboardInterrupt", -2)]:
        text = f"import sys\n@profile\ndef f():\n    {end}\nf()\n"
        ended = run_ckernprof(["-l", *(["-c", text] if how == "-c" else ["-"])], tmp_path, stdin=text)
        assert ended.code == code
        [path] = tmp_path.glob("*.lprof")
        assert sum(Profile(path).function("f")["lines"]["hits"]) == 1
        path.unlink()
