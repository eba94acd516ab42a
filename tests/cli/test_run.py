# SPDX-License-Identifier: MIT
"""ckernprof: its options, what it prints, and that a program ends with it as it ends without."""

import marshal
import os
import pathlib
import py_compile
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from harness import (
    TRACER,
    Profile,
    ckernprof,
    clean_environment,
    own_messages_removed,
    run,
    run_ckernprof,
    run_python,
)

SMALL = (
    "@profile\ndef f(n):\n    return n + 1\n\n@profile\ndef idle():\n    return 0\n\nprint(f(1))\n"
)

# the same program for python, which knows no profile
BARE = "import builtins\nprofile = getattr(builtins, 'profile', lambda f: f)\n"


NOTHING = "ckernprof: nothing was profiled, and no profile is written: "


def messages(ended):
    """What ckernprof itself said on standard output."""
    return ended.out[len(own_messages_removed(ended.out)) :]


# ---- options ----


def test_profile_and_messages(script):
    path = script(SMALL, "small program.py")
    ended = run_ckernprof(["-l", path.name], path.parent)
    assert (ended.err, ended.code) == ("", 0)
    lines = ended.out.splitlines()
    assert lines[:3] == [
        "2",
        "Wrote profile results to 'small program.py.lprof'",
        "Inspect results with:",
    ]
    assert len(lines) == 4
    assert {key[2] for key in ended.profile("small program.py.lprof").functions} == {"f", "idle"}


def test_recommended_command_works(script):
    path = script(SMALL, "it's a \"program\" $HOME.py")
    launcher = os.path.dirname(ckernprof()[0])
    env = {"PATH": launcher + os.pathsep + os.environ["PATH"]}
    for start in [ckernprof()[0], "ckernprof"]:
        ended = run([start, *ckernprof("-l", path.name)[1:]], path.parent, env=env)
        command = ended.out.splitlines()[-1]
        shown = subprocess.run(
            command,
            shell=True,
            cwd=path.parent,
            capture_output=True,
            text=True,
            env=clean_environment(env),
        )
        assert (shown.returncode, shown.stderr) == (0, ""), command
        assert "Function: f at line 1" in shown.stdout


def test_recommended_command_from_another_folder(script, tmp_path):
    """Run by a relative path with a relative outfile: the command still works from there."""
    script(SMALL)
    (tmp_path / "sub").mkdir()
    relative = os.path.relpath(ckernprof()[0], tmp_path / "sub")
    ended = run(
        [relative, *ckernprof("-l", "-o", "../out.lprof", "../program.py")[1:]], tmp_path / "sub"
    )
    assert (tmp_path / "out.lprof").exists(), ended.err
    shown = subprocess.run(
        ended.out.splitlines()[-1],
        shell=True,
        cwd=tmp_path / "sub",
        text=True,
        capture_output=True,
        env=clean_environment(),
    )
    assert (shown.returncode, shown.stderr) == (0, "")


def test_outfile(script, tmp_path):
    path = script(SMALL)
    (tmp_path / "else").mkdir()
    for options in (
        ["-o", "x.lprof"],
        ["-ox.lprof"],
        ["--outfile", "x.lprof"],
        ["--outfile=x.lprof"],
    ):
        ended = run_ckernprof(["-l", *options, path], tmp_path)
        assert "Wrote profile results to 'x.lprof'" in ended.out
        (tmp_path / "x.lprof").unlink()
    ended = run_ckernprof(["-l", "-o", "new\nline.lprof", path], tmp_path)
    assert "Wrote profile results to 'new\\x0aline.lprof'\n" in ended.out
    (tmp_path / "new\nline.lprof").unlink()
    absolute = tmp_path / "else" / "named.prof"
    ended = run_ckernprof(["-l", "-o", absolute, path], tmp_path)
    assert Profile(absolute).functions and f"'{absolute.relative_to(tmp_path)}'" in ended.out
    assert not list(tmp_path.glob("*.lprof"))


def test_outfile_does_not_follow_the_program(script, tmp_path):
    path = script("import os, tempfile\nos.chdir(tempfile.gettempdir())\n" + SMALL)
    run_ckernprof(["-l", path.name], tmp_path)
    assert (tmp_path / "program.py.lprof").exists()


def test_default_name_of_a_module(script, tmp_path):
    script(SMALL, "package/__init__.py")
    script(SMALL, "package/part.py")
    ended = run_ckernprof(["-l", "-m", "package.part", "-o", "x"], tmp_path)
    assert "Wrote profile results to 'package.part.lprof'" in ended.out
    assert not (tmp_path / "x").exists()


def test_view(script):
    path = script(SMALL)
    ended = run_ckernprof(["-lv", path.name], path.parent)
    out = ended.out
    assert out.startswith("2\nWrote profile results to 'program.py.lprof'\nTimer unit: 1e-06 s\n")
    assert "Inspect results" not in out
    assert "Mem usage    Increment  Line Contents" in out
    assert re.search(r"^ +3 +1 .*MiB(?: +-?\d+\.\d+ MiB)? +return n \+ 1$", out, re.M)
    assert "Function: idle at line 5" in out
    if TRACER:
        assert ended.profile().meta["tracer"] == TRACER


def test_view_without_memory(script):
    path = script(SMALL)
    out = run_ckernprof(["-l", "-v", "--no-memory", path.name], path.parent).out
    assert "MiB" not in out
    assert "\nLine #      Hits         Time  Per Hit   % Time  Line Contents\n" + "=" * 62 in out
    assert re.search(
        r"^     3         1 +[\d.e+-]+ +[\d.e+-]+    100\.0      return n \+ 1$", out, re.M
    )


def test_unit_and_skip_zero(script):
    path = script(SMALL)
    out = run_ckernprof(["-lvz", "-u", "1e-3", path.name], path.parent).out
    assert "Timer unit: 0.001 s" in out
    assert "Function: f at" in out and "idle" not in out


def test_function_that_never_ran_is_listed(script):
    path = script(SMALL)
    ended = run_ckernprof(["-l", path.name], path.parent)
    assert Profile.measure(ended.profile().function("idle"), "hits") in ({}, {7: 0})


@pytest.mark.once
def test_usage_errors(script):
    path = script("open('ran', 'w')\n")
    for words in (
        ["--tracer", "telepathy", "-l", path],
        ["-l", "--wrong", path],
        ["-lq?", path],
        ["-l"],
        [],
        ["-l", "-u", "nothing", path],
        ["-l", "-u", "0", path],
        ["-l", "-u", "-1", path],
        ["-l", "-o"],
        ["-l", "-m"],
        ["-l", "--tracer"],
    ):
        ended = run([ckernprof()[0], "--python", sys.executable, *words], path.parent)
        assert (ended.code, ended.out) == (2, ""), words
        assert len(ended.err.splitlines()) == 1, ended.err
        assert ended.err.startswith("ckernprof: ")
    assert not (path.parent / "ran").exists()


@pytest.mark.once
def test_wrong_tracer_is_named(script):
    path = script(SMALL)
    ended = run(
        [ckernprof()[0], "--python", sys.executable, "-l", "--tracer", "telepathy", path],
        path.parent,
    )
    assert "telepathy" in ended.err and (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert not list(path.parent.glob("*.lprof"))


@pytest.mark.once
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring is there on 3.12 and newer")
def test_tracer_that_this_python_lacks(script):
    path = script(SMALL)
    ended = run(
        [ckernprof()[0], "--python", sys.executable, "-l", "--tracer", "monitoring", path],
        path.parent,
    )
    assert ended.code == 2 and "monitoring" in ended.err and len(ended.err.splitlines()) == 1


@pytest.mark.once
def test_help_and_version(tmp_path):
    for words in ["-h"], ["--help"], ["-l", "-h", "missing.py"]:
        ended = run_ckernprof(words, tmp_path)
        assert (ended.code, ended.err) == (0, "")
        for option in (
            "-l",
            "-b",
            "-o",
            "-v",
            "-u",
            "-z",
            "-m",
            "--tracer",
            "--python",
            "--memory",
        ):
            assert re.search(rf"^ .*(?<!\w){re.escape(option)}\b", ended.out, re.M), option
    ended = run_ckernprof(["-V"], tmp_path)
    assert re.fullmatch(r"\d+\.\d+\S*\n", ended.out) and ended.code == 0


def test_options_end_at_the_program(script):
    path = script("import sys\nprint(sys.argv[1:])\n" + SMALL)
    ended = run_ckernprof(["-l", path, "-v", "-o", "x", "--help", "--", "-l"], path.parent)
    assert ended.out.startswith("['-v', '-o', 'x', '--help', '--', '-l']\n")
    assert "Timer unit" not in ended.out
    ended = run_ckernprof(["-l", "--", path, "--"], path.parent)
    assert ended.out.startswith("['--']\n")


def test_spellings_of_switches(script):
    path = script("import builtins\nassert builtins.profile is profile\n" + SMALL)
    for words in ["-l"], ["-lb"], ["-bl"], ["--line-by-line", "--builtin"], ["--line-by-line=yes"]:
        ended = run_ckernprof([*words, path], path.parent)
        assert ended.code == 0 and ended.profile().functions, words


def test_script_on_path(script, tmp_path):
    path = script("#!/usr/bin/env python3\nimport sys\nprint(sys.argv)\n" + SMALL, "bin/tool")
    path.chmod(0o755)
    (tmp_path / "here").mkdir()
    ended = run_ckernprof(
        ["-l", "tool", "x"],
        tmp_path / "here",
        env={"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
    )
    assert ended.code == 0, ended.err
    assert ended.profile("tool.lprof").functions


@pytest.mark.once
def test_nothing_profiled(script):
    path = script("print('ran')\n")
    ended = run_ckernprof(["-l", path.name], path.parent)
    assert ended.out.startswith("ran\n") and ended.code == 0
    assert ended.out == "ran\n" and ended.err == (
        f"{NOTHING}no @profile was reached; put @profile above a function that the program runs, or select a "
        "whole file or module: -p program.py\n")  # fmt: skip
    assert not list(path.parent.glob("*.lprof*"))

    path.write_text("@profile\ndef f():\n    pass\n")
    ended = run_ckernprof(["-l", path.name], path.parent)
    assert ended.err == f"{NOTHING}no selected function was called, such as f, program.py:1\n"
    assert "\nFunction: f at line 1\n" in run_ckernprof(["-lv", path.name], path.parent).out
    assert not list(path.parent.glob("*.lprof*"))


# ---- how programs end ----

ENDINGS = {
    "normal": "pass",
    "exit 0": "sys.exit()",
    "exit 3": "sys.exit(3)",
    "exit 256": "sys.exit(256)",
    "exit -1": "sys.exit(-1)",
    "exit text": "sys.exit('a text')",
    "exit object": "sys.exit([1, 'two'])",
    "exit none": "raise SystemExit",
    "exit in profiled": "leaves()",
    "error": "fails(2)",
    "chained": "chained()",
    "error with notes": "raise noted(ValueError('x'))",
    "error in a module": "import json; json.loads('{')",
    "recursion error": "endless(0)",
    "error group": "raise getattr(builtins, 'ExceptionGroup', lambda t, e: e[0])('g', [KeyError(1)])",
    "error whose str fails": "raise Unprintable",
    "own excepthook": "sys.excepthook = lambda *e: print('hooked', e[0].__name__); fails(0)",
    "excepthook that fails": "sys.excepthook = lambda *e: 1 / 0; fails(0)",
    "excepthook gone": "del sys.excepthook; fails(0)",
    "error at exit": "import atexit; atexit.register(lambda: 1 / 0)",
    "exit at exit": "import atexit; atexit.register(sys.exit, 5)",
    "thread fails": "t = threading.Thread(target=fails, args=(0,), name='T'); t.start(); t.join()",
    "thread goes on": "threading.Thread(target=lambda: (time.sleep(.1), print('late'))).start()",
    "daemon thread": "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "generator exit": "raise GeneratorExit('x')",
    "base exception": "raise type('Own', (BaseException,), {})('x')",
    "stdout closed": "sys.stdout.close()",
    "stderr none": "sys.stderr = None; fails(0)",
    "interrupt": "raise KeyboardInterrupt",
    "interrupt in profiled": "interrupted()",
    "warning": "import warnings; warnings.warn('careful')",
    "syntax error at run time": "exec('a b')",
    "unraisable": "Dying(); print('after')",
    "async error": "import asyncio; asyncio.run(broken())",
}

ENDING = BARE + '''
import sys, threading, time

class Unprintable(Exception):
    def __str__(self): raise ZeroDivisionError

class Dying:
    @profile
    def __del__(self): raise ValueError("in __del__")

def noted(error):
    if hasattr(error, "add_note"): error.add_note("a note")
    return error

@profile
def leaves():
    sys.exit(7)

@profile
def fails(n):
    if n:
        fails(n - 1)
    raise ValueError(f"text {n}",
                     n)

@profile
def chained():
    try:
        fails(0)
    except ValueError as error:
        raise KeyError("second") from error

@profile
def endless(n):
    return endless(n + 1) + 1

@profile
def interrupted():
    raise KeyboardInterrupt("text")

@profile
async def broken():
    raise OSError(2, "No such thing", "name")

@profile
def main():
    %s

if __name__ == "__main__":
    print("started")
    main()
'''


def steady(text):
    """Without what differs between two runs of the same program."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize("name", ENDINGS)
def test_endings(name, script):
    path = script(ENDING % ENDINGS[name])
    bare = run_python([path.name], path.parent)
    ours = run_ckernprof(["-l", path.name], path.parent)
    assert ours.code == bare.code
    assert steady(ours.err) == steady(bare.err)
    if name == "stdout closed":
        assert bare.out == "started\n" and ours.out.startswith("started\n")
    else:
        assert own_messages_removed(ours.out) == bare.out
        assert messages(ours).startswith("Wrote profile results to 'program.py.lprof'\n")
    measured = ours.profile().function("main")
    assert sum(measured["lines"]["hits"]) >= 1


@pytest.mark.parametrize("kind", ["module", "package"])
def test_endings_of_modules(kind, script, tmp_path):
    """Tracebacks through runpy look the same too."""
    path = script(ENDING % "fails(1)", "mod.py" if kind == "module" else "pack/__main__.py")
    target = "mod" if kind == "module" else "pack"
    for words in ["-m", target], ["-m", "mod.missing"], ["-m", "no_such_module"]:
        bare = run_python(words, tmp_path)
        ours = run_ckernprof(["-l", *words], tmp_path)
        said = "".join(
            line
            for line in ours.err.splitlines(True)
            if not line.startswith("ckernprof: nothing was profiled")
        )
        assert (steady(said), ours.code) == (steady(bare.err), bare.code)
    assert path.exists()


COMPILED = BARE + """
import sys
@profile
def main():
    print(sys.argv, sys.path[0], __name__, __file__, __spec__, type(__loader__).__name__, __builtins__.__name__)
    if len(sys.argv) > 1:
        raise ValueError("x")
main()
"""


def test_compiled_programs(script, tmp_path):
    """By their name, or by what stands in them."""
    path = script(COMPILED)
    for name in "c.pyc", "no_ending":
        py_compile.compile(str(path), str(tmp_path / name), str(path))
        for words in [name], [name, "x"], [f"./{name}"]:
            bare = run_python(words, tmp_path)
            calls, lines = run_ckernprof(words, tmp_path), run_ckernprof(["-l", "-o", "x.lprof", *words], tmp_path)
            for ended in calls, lines:
                assert (own_messages_removed(ended.out), ended.err, ended.code) == (bare.out, bare.err, bare.code)
            assert sum(lines.profile("x.lprof").function("main")["lines"]["hits"]) > 1
    shown = run_ckernprof(["-lv", "-p", "c.main", "c.pyc"], tmp_path)
    assert "if len(sys.argv) > 1:" in shown.out and shown.code == 0


@pytest.mark.once
def test_compiled_programs_that_are_broken(script, tmp_path):
    path = script("pass\n")
    py_compile.compile(str(path), str(tmp_path / "c.pyc"))
    whole = (tmp_path / "c.pyc").read_bytes()
    for broken in b"", whole[:3], whole[:16], whole[:20], b"\0" + whole[1:], whole[:16] + marshal.dumps(1):
        (tmp_path / "c.pyc").write_bytes(broken)
        bare, ours = run_python(["c.pyc"], tmp_path), run_ckernprof(["-l", "c.pyc"], tmp_path)
        assert ours.code == bare.code == 1
        if len(broken) >= 16:  # of what is shorter releases say different things
            assert ours.err.splitlines()[-2] == bare.err.splitlines()[-1]


def test_exit_code_of_main_guard(script):
    """What is not caught inside the program is not caught by ckernprof: sys.exit in a try."""
    path = script(
        BARE + "import sys\ntry: sys.exit(3)\nexcept SystemExit as e: print('caught', e.code)\n"
        "@profile\ndef f(): return 1\nf()\n"
    )
    ours = run_ckernprof(["-l", path], path.parent)
    assert ours.out.startswith("caught 3\n") and ours.code == 0


def test_os_exit_ends_at_once(script):
    path = script(BARE + "import os\n@profile\ndef f():\n    os._exit(4)\nf()\n")
    ours = run_ckernprof(["-l", path], path.parent)
    assert (ours.code, ours.out, ours.err) == (4, "", "")


def test_real_interrupt(script):
    """Ctrl-C: the program dies of SIGINT as under python, and the profile is written."""
    path = script(
        BARE + "import time\n@profile\ndef f():\n    print('ready', flush=True)\n"
        "    time.sleep(30)\nf()\n"
    )
    ends = []
    for command in [sys.executable, path], [*ckernprof("-l"), path]:
        process = subprocess.Popen(
            command,
            cwd=path.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(),
            # a job in the background is started with SIGINT ignored, and so would be its children
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        assert process.stdout.readline() == "ready\n"
        end = time.monotonic() + 300
        while time.monotonic() < end and " S " not in pathlib.Path(f"/proc/{process.pid}/stat").read_text():
            time.sleep(0.01)  # until it sleeps
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        ends.append((process.returncode, err))
    assert ends[0] == ends[1]
    assert ends[1][0] == -signal.SIGINT
    assert Profile.measure(Profile(path.parent / "program.py.lprof").function("f"), "hits") == {
        6: 1,
        7: 1,
    }


def test_fork_writes_once(script):
    """The child of a fork neither writes the parent's profile nor announces one."""
    path = script(
        BARE + "import os, sys\n@profile\ndef f(n): return n\nf(1)\nif os.fork() == 0:\n    f(2)\n"
        "    sys.exit(0)\nos.wait()\nf(3)\n"
    )
    ours = run_ckernprof(["-l", path.name], path.parent)
    assert ours.out.count("Wrote profile results") == 1 and ours.code == 0, ours.err
    assert sum(ours.profile().function("f")["lines"]["hits"]) == 2


def test_recursion_to_the_limit_in_profiled_code(script):
    """A profiled function dives exactly as deep as an unprofiled one, and every hit is kept."""
    path = script(
        BARE + "@profile\ndef dive(n):\n    global deepest\n    deepest = n\n    dive(n + 1)\n"
        "try:\n    dive(1)\nexcept RecursionError:\n    print(deepest)\n"
    )
    bare = run_python([path], path.parent)
    ours = run_ckernprof(["-l", path], path.parent)
    assert own_messages_removed(ours.out) == bare.out and ours.code == 0
    depth = int(bare.out)
    assert Profile.measure(ours.profile().function("dive"), "hits") == {6: depth, 7: depth}


# ---- beside other tools ----


def test_program_with_its_own_trace_function(script):
    """sys.settrace of the program works as it does alone, and no line is lost."""
    path = script(BARE + '''
import sys
seen = []
def trace(frame, event, arg):
    if frame.f_code.co_name == "f": seen.append((event, frame.f_lineno))
    return trace
@profile
def f(n):
    n += 1
    return n
f(0)
sys.settrace(trace)
f(1)
sys.settrace(None)
f(2)
print(seen)
''')
    bare = run_python([path], path.parent)
    ours = run_ckernprof(["-l", path], path.parent)
    assert own_messages_removed(ours.out) == bare.out
    hits = Profile.measure(ours.profile().function("f"), "hits")
    assert (hits, ours.err) == ({11: 3, 12: 3}, "")


def test_program_under_cprofile(script):
    """cProfile inside the program keeps working, and the hits are right."""
    path = script(BARE + '''
import cProfile, pstats, io
@profile
def f(n):
    n += 1
    return n
def work():
    for n in range(10): f(n)
profiler = cProfile.Profile()
profiler.runcall(work)
out = io.StringIO()
stats = pstats.Stats(profiler, stream=out)
print([value[0] for key, value in stats.stats.items() if key[2] == "f"])
''')
    bare = run_python([path], path.parent)
    ours = run_ckernprof(["-l", path], path.parent)
    assert (own_messages_removed(ours.out), ours.err) == (bare.out, "")
    assert Profile.measure(ours.profile().function("f"), "hits") == {7: 10, 8: 10}


def test_meta(script):
    path = script(SMALL)
    ended = run_ckernprof(["-l", path.name, "two words"], path.parent)
    meta = ended.profile().meta
    assert meta["python"] == sys.version.split()[0]
    assert shlex.split(meta["command"])[-2:] == ["program.py", "two words"]
    assert meta["tracer"] == TRACER or not TRACER
    assert abs(meta["start"] - time.time()) < 600 and meta["pid"] > 1 and meta["wall"] > 0
