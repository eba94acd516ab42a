# SPDX-License-Identifier: MIT
"""The options of ckernprof one by one: what runs, what is said, what is shown."""

import os
import re
import subprocess

import pytest
from harness import (
    BUILD,
    CKERNPROF,
    ROOT,
    Profile,
    ckernprof,
    own_messages_removed,
    run,
    run_ckernprof,
    run_python,
    run_viewer,
    viewer_command,
)
from terminal import on_terminal

SMALL = "@profile\ndef f(n):\n    return n + 1\n\nprint(f(1))\n"
BARE = "import builtins\nprofile = getattr(builtins, 'profile', lambda f: f)\n"
PAGE = (ROOT / "docs" / "options.md").read_text("utf-8")


def without_warning(text):
    return re.sub(r"ckernprof: nothing was profiled.*\n", "", text)


# ---- the documentation ----


@pytest.mark.once
@pytest.mark.parametrize("program", [CKERNPROF, *viewer_command()])
def test_the_page_is_made_from_the_table(program, tmp_path):
    table = run([program, "--help-page"], tmp_path)
    assert (table.code, table.err) == (0, "")
    assert f"\n\n{table.out}\n" in PAGE, "run tools/options_page.py"
    shown = run([program, "--help"], tmp_path).out
    assert "\n      --no-memory  " in shown
    options = shown.split("options:\n")[1].replace("      --no-memory            same as --memory off\n", "")
    listed = re.findall(r"^  (?:(-\w)|  )(?:, | +)(--[\w-]+)?", options, re.M)
    rows = [line for line in table.out.splitlines() if line.startswith("| `")]
    assert len(listed) == len(rows) > 10
    for (letter, name), row in zip(listed, rows):
        assert not letter or re.match(rf"\| `{letter}[ `]", row), row
        assert not name or f"`{name}" in row, row


@pytest.mark.once
@pytest.mark.parametrize("start", [["-m", "clineprof.kernprof"], ["-m", "clineprof"]])
def test_both_ways_in_print_the_same_page(start, tmp_path):
    env = {"PYTHONPATH": os.path.join(os.path.dirname(os.path.dirname(CKERNPROF)), "python")}
    program = CKERNPROF if start[1] == "clineprof.kernprof" else viewer_command()[0]
    for option in "--help-page", "--help", "-V":
        ended = run_python([*start, option], tmp_path, env=env)
        assert ended.out == run([program, option], tmp_path).out and ended.out
        assert (ended.code, ended.err) == (0, "")


# ---- -c and - ----

TEXTS = {
    "what python gives": "import sys  # a/b\nprint(sys.argv, sys.orig_argv[1:], sys.path[:2], sys.flags)\n"
    "print(sorted(globals()), __name__, __loader__, __spec__, globals().get('__file__'))\n",
    "exit": "import sys\nsys.exit(3)\n",
    "exit text": "import sys\nsys.exit('a text')\n",
    "error": "def f():\n    1 / 0\nf()\n",
    "syntax error": "x = 1\nx = = 2\n",
    "interrupted": "raise KeyboardInterrupt\n",
    "unicode": "print('ä', 'ÿ€'.encode())\n",
    "utf-8 cookie": "# -*- coding: utf-8 -*-\nprint(len('ä'))\n",
    "traceback module": "import traceback\ntry:\n    1 / 0\nexcept Exception:\n"
    "    traceback.print_exc()\n",
    "reads input": "import sys\nprint(repr(sys.stdin.read()))\n",
    "indented": "  print(1)\n  print(2)\n",
    "empty line": "\n",
}


@pytest.mark.parametrize("how", ["-c", "-"])
@pytest.mark.parametrize("mode", ["lines", "functions"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_runs_as_python_runs_it(name, mode, how, tmp_path):
    text = TEXTS[name]
    words = ["-c", text, "a", "-b"] if how == "-c" else ["-", "a", "-b"]
    stdin = "some\ninput" if how == "-c" else text
    bare = run_python(words, tmp_path, stdin=stdin)
    ours = run_ckernprof([*(["-l"] if mode == "lines" else []), *words], tmp_path, stdin=stdin)
    assert ours.code == bare.code
    assert without_warning(ours.err) == bare.err
    assert own_messages_removed(ours.out) == bare.out
    kind = "command" if how == "-c" else "stdin"
    ending = "lprof" if mode == "lines" else "prof"
    paths = list(tmp_path.glob(f"kernprof-{kind}-*.{ending}"))
    assert len(paths) == ("nothing was profiled" not in ours.err)
    assert all(path.stem.rpartition("-")[2].isdecimal() for path in paths)
    assert paths or mode == "lines" or bare.err.endswith(("SyntaxError: invalid syntax\n", "unexpected indent\n"))


@pytest.mark.parametrize("how", ["-c", "-"])
@pytest.mark.parametrize("marked", [False, True])
def test_of_a_text_all_functions_are_profiled(how, marked, tmp_path):
    text = ("def f(n):\n    return n\nclass C:\n    x = 1\n    def m(self):\n        def inner(): return 2\n"
            "        return inner()\nprint(f(1), C().m(), (lambda: 3)())\n")
    if marked:
        text = text.replace("    def m", "    @profile\n    def m")
    words = ["-c", text] if how == "-c" else ["-"]
    ended = run_ckernprof(["-l", "-q", *words], tmp_path, stdin=text)
    assert (ended.code, ended.err, ended.out) == (0, "", "1 2 3\n")
    names = {key[2] for key in ended.profile().functions}
    assert names == {"f", "C.m", "C.m.<locals>.inner"}


@pytest.mark.once
def test_some_functions_of_a_text_can_be_left_out(tmp_path):
    text = "def f(): return g()\ndef g(): return 1\nprint(f())\n"
    ended = run_ckernprof(["-l", "-q", "--exclude", "f", "-c", text], tmp_path)
    assert {key[2] for key in ended.profile().functions} == {"g"}
    ended = run_ckernprof(["-l", "-q", "--include", "f", "-o", "f.lprof", "-c", text], tmp_path)
    assert {key[2] for key in Profile(tmp_path / "f.lprof").functions} == {"f"}


@pytest.mark.parametrize("how", ["-c", "-"])
def test_a_text_can_be_viewed_later(how, tmp_path):
    text = "@profile\ndef f(n):\n    # counted\n    return n + 1\nprint(f(2))\n"
    words = ["-c", text] if how == "-c" else ["-"]
    ended = run_ckernprof(["-l", *words], tmp_path, stdin=text)
    assert (ended.code, ended.err) == (0, "")
    [path] = tmp_path.glob("kernprof-*.lprof")
    shown = run_viewer([path], tmp_path).out
    assert re.search(r"^     4         1 .*      return n \+ 1$", shown, re.M), shown
    assert re.search(r"^     3 .*      # counted$", shown, re.M)
    profile = Profile(path)
    assert profile.hits() == {
        ("<string>" if how == "-c" else "<stdin>", 1, "f"): {4: 1},
    }


@pytest.mark.once
def test_a_command_is_noted_with_its_option(tmp_path):
    run_ckernprof(["-l", "-c", "def f(): pass\nf()", "x y"], tmp_path)
    [path] = tmp_path.glob("kernprof-command-*.lprof")
    assert Profile(path).meta["command"] == "-c $'def f(): pass\\x0af()' 'x y'"


@pytest.mark.once
def test_standard_input_with_a_zero_byte_or_without_any(tmp_path):
    ended = run_ckernprof(["-l", "-"], tmp_path, stdin="print(1)\n\0print(2)\n")
    assert ended.code == 1 and "null byte" in ended.err and not ended.out.startswith("1")
    closed = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *ckernprof("-l", "-")], cwd=tmp_path, capture_output=True
    )
    assert closed.returncode == 0


# ---- --setup ----

SETUP = """
import sys, builtins
print("set up", __name__, __file__, sys.argv, hasattr(builtins, "profile"), sys.path[0])
import beside
known_here = 1
sys.was_set_up = True
"""


def test_setup_runs_first_in_a_namespace_of_its_own(script, tmp_path):
    script(SETUP, "sub/set.py")
    script("print('beside')\n", "sub/beside.py")
    path = script(
        "import sys\nprint('known_here' in globals(), sys.was_set_up, sys.path[:2])\n" + SMALL,
        "main/program.py",
    )
    for options in ["-l", "-s", "sub/set.py"], ["--setup=sub/set.py", "-b"]:
        ended = run_ckernprof([*options, path, "a"], tmp_path)
        assert (ended.err, ended.code) == ("", 0)
        assert ended.out.splitlines()[:4] == [
            f"set up __main__ {tmp_path}/sub/set.py {[str(path), 'a']} False {tmp_path}/sub",
            "beside",
            f"False True {[str(path.parent), str(tmp_path / 'sub')]}",
            "2",
        ]
    assert {key[2] for key in ended.profile("program.py.lprof").functions} == {"f"}


@pytest.mark.once
def test_setup_that_fails_ends_the_run(script, tmp_path):
    path = script("open('ran', 'w')\n")
    for text, code, said in [
        ("import sys; sys.exit(4)", 4, ""),
        ("def f(): raise ValueError('x')\nf()", 1, "ValueError: x"),
        ("raise KeyboardInterrupt", -2, "KeyboardInterrupt"),
        ("x = = 1", 1, "SyntaxError"),
        (None, 2, "can't open file"),
    ]:
        setup = script(text, "set.py") if text is not None else tmp_path / "missing.py"
        ended = run_ckernprof(["-l", "-s", setup, path], tmp_path)
        assert ended.code == code and said in ended.err, ended.err
        assert "clineprof/" not in ended.err.replace(f"{BUILD}/", "")
    assert not (tmp_path / "ran").exists() and not list(tmp_path.glob("*.lprof"))


# ---- what is said ----

NOISY = """
import os, subprocess, sys
print("by python")
sys.stdout.flush()
os.write(1, b"by descriptor\\n")
subprocess.run(["echo", "by a child"])
print("error", file=sys.stderr)
@profile
def f(): return 1
f()
open("files", "w").write(str(open(__file__).fileno()))
"""


def test_quiet(script, tmp_path):
    path = script(NOISY)
    said = "by python\nby descriptor\nby a child\n"
    for options, out, err in [
        (["-lq"], said, "error\n"),
        (["-l", "--quiet", "-q", "--view"], said, "error\n"),
        (["-lqq"], "", "error\n"),
        (["-lqqq"], "", ""),
        (["-lvqqqq"], "", ""),
        (["-bqqq"], "", ""),
    ]:
        ended = run_ckernprof([*options, path], tmp_path)
        assert (ended.out, ended.err, ended.code) == (out, err, 0), options
    assert Profile(tmp_path / "program.py.lprof").function("f")
    assert int((tmp_path / "files").read_text()) < 20  # no descriptor of ours is in the way
    path.write_text("def f(): pass\n")
    assert run_ckernprof(["-lq", path], tmp_path).err == ""
    assert "nothing was profiled" in run_ckernprof(["-l", path], tmp_path).err


@pytest.mark.once
def test_quiet_still_says_that_a_profile_could_not_be_written(script, tmp_path):
    path = script(
        "import os\nos.mkdir('out/x')\nos.rename('out', 'gone')\n@profile\ndef f(): return 1\nf()\n"
    )
    (tmp_path / "out").mkdir()
    ended = run_ckernprof(
        ["-lqqq", "-o", "out/p.lprof", path], tmp_path, env={"TMPDIR": str(tmp_path)}
    )
    assert "cannot write the profile to" in ended.err
    assert list(tmp_path.glob("ckernprof-*.lprof"))


@pytest.mark.once
def test_quiet_keeps_the_exit_code(script, tmp_path):
    for text, code in [("raise SystemExit(3)", 3), ("1 / 0", 1), ("raise KeyboardInterrupt", -2)]:
        assert run_ckernprof(["-lqqq", script(text)], tmp_path).code == code


# ---- what is shown ----


def test_summarize(script, tmp_path):
    path = script(SMALL)
    line = r"^ +\d+\.\d\d seconds - program\.py:1 - f$"
    assert re.search(line, run_ckernprof(["-lv", "--summarize", path], tmp_path).out, re.M)
    assert not re.search(line, run_ckernprof(["-lv", path], tmp_path).out, re.M)


def test_memory_mode(script, tmp_path):
    path = script(SMALL)
    for options, memory in [
        (["--memory", "off"], False),
        (["--memory=no"], False),
        (["--no-memory"], False),
        (["--memory", "rss"], True),
        (["--no-memory", "--memory=yes"], True),
    ]:
        out = run_ckernprof(["-lv", *options, path], tmp_path).out
        assert ("Mem usage" in out) == memory, options


@pytest.mark.once
def test_rich(script, tmp_path):
    pytest.importorskip("rich")
    path = script(SMALL)
    plain = run_ckernprof(["-lv", "-o", "p.lprof", path], tmp_path).out
    piped = run_ckernprof(["-lvr", "-o", "p.lprof", path], tmp_path)
    assert "\x1b" not in piped.out and piped.err == ""
    assert len(piped.out.splitlines()) == len(plain.splitlines())
    for command in (
        [*ckernprof("-lv", "--rich", "-o", "p.lprof"), path],
        [*viewer_command(), "-r", "p.lprof"],
    ):
        data, code = on_terminal(command, tmp_path, streams=["stdout"])
        shown = data.decode().replace("\r\n", "\n")
        assert code == 0, shown
        assert "\x1b[" in shown
        bare = re.sub(r"\x1b\[[\d;]*m", "", shown)
        assert re.search(r"^ +3 +1 .*      return n \+ 1$", bare, re.M), bare


@pytest.mark.once
def test_rich_is_missing(script, tmp_path):
    """.. or broken, which can be had everywhere. The program's own module of that name is not taken."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "rich.py").write_text("raise ImportError('broken')\n")
    script("print('the wrong one')\n", "rich/__init__.py")
    ended = run(
        [*ckernprof("-lvr"), script(SMALL)], tmp_path, env={"PYTHONPATH": str(tmp_path / "broken")}
    )
    assert "return n + 1" in ended.out and "the wrong one" not in ended.out
    assert ended.err == "ckernprof: no colours: the package rich is not installed or does not work; pip install rich\n"


# ---- wrong words ----


@pytest.mark.once
def test_wrong_words_are_told_in_a_line(script, tmp_path):
    path = script("open('ran', 'w')\n")
    for words, said in {
        ("--prof-mods", "x"): "unknown option '--prof-mods' (did you mean --prof-mod?)",
        ("--lins", "5"): "unknown option '--lins' (did you mean --lines?)",
        ("--lins", "-l"): "unknown option '--lins' (did you mean --line?)",
        ("--outfill=x",): "unknown option '--outfill' (did you mean --outfile?)",
        ("--memory", "most"): "option '--memory' needs off, rss, anon, uss, pss or tree, not 'most'",
        ("--tracer", "x"): "option '--tracer' needs auto, probe, monitoring, settrace or light, not 'x'",
        ("-i=x",): "option '-i' needs a number of seconds, 0 or more, not 'x'",
        ("--rich=perhaps",): "option '--rich' needs yes or no, not 'perhaps'",
        ("-s",): "option '-s' needs a FILE",
        ("-c",): "option '-c' needs a CODE",
    }.items():
        words = list(words) + ([str(path)] if len(words[0]) > 2 else [])
        ended = run_ckernprof(["-l", *words], tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == f"ckernprof: {said}; see ckernprof --help\n"
    assert not (tmp_path / "ran").exists()
