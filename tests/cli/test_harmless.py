# SPDX-License-Identifier: MIT
"""Whatever a name, a path, a source line, a recording or a message holds: what is printed has no power
over a terminal, and no character that turns the direction of writing around."""

import re

import known_profiles as profiles
import pytest
from harness import BUILD, CKERNPROF, ckernprof, run, run_ckernprof, run_python, run_viewer
from terminal import on_terminal

ISOLATES = "\u2066\u2067\u2068\u2069"
EMBEDDINGS = "\u202a\u202b\u202c\u202d\u202e"
EVIL = "\x1b]0;title\x07\x1b[31m\x7f\x9b2J\b\r" + EMBEDDINGS + ISOLATES + "\u2028\u2029"
# a reader of UTF-8 gets bytes that are none as surrogates
HARMFUL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
FINE = "\tمرحبا שלום \U0001f468\u200d\U0001f469 日本"
PATHS = {"PYTHONPATH": str(BUILD / "python")}


def check(ended, seen="\\x1b"):
    """Harmless, and not for lack of the text."""
    for text in ended.out, ended.err:
        found = HARMFUL.search(text)
        assert found is None, (found, text[max(found.start() - 80, 0):found.end() + 80])
    assert seen in ended.out + ended.err, ended.out + ended.err


@pytest.fixture
def evil(tmp_path):
    """A folder with a profile that is hostile in every text it has; its name is hostile as well."""
    folder = tmp_path / ("d" + EVIL)
    folder.mkdir()
    file, name = "/srv/" + EVIL + ".py", "f" + EVIL
    rows = [{"line": 1, "hits": 1, "time": 10}, {"line": 2, "hits": 3, "time": 50, "grown": 1 << 20}]
    f = profiles.function(file, 1, name, rows)
    meta = {"python": EVIL, "tracer": EVIL, "command": EVIL, "has_memory": True}
    for number in "1", "2":
        profiles.write(folder / (EVIL + number), [f], [profiles.text(f, f"def f():\n    {EVIL}{FINE}\n")],
                       meta)
        rows[1]["time"] = 5000
        f = profiles.function(file, 1, name, rows)
    return folder


TEXTS = [[], ["-mtz"], ["--top=3"], ["--mp"], ["--no-memory"]]


@pytest.mark.once
@pytest.mark.parametrize("options", TEXTS, ids=" ".join)
def test_reports(evil, options):
    ended = run_viewer([*options, EVIL + "1"], evil)
    check(ended)
    if not options:
        assert FINE in ended.out, "what is no control character stays"


@pytest.mark.once
@pytest.mark.parametrize("format", ["csv", "json", "collapsed", "github", "html", "speedscope", "trace"])
def test_exports(evil, format):
    ended = run_viewer(["--format", format, EVIL + "1"], evil)
    check(ended, "\\x1b" if format in ("csv", "collapsed") else "")


@pytest.mark.once
@pytest.mark.parametrize("command", [
    ["diff", EVIL + "1", EVIL + "2"],
    ["diff", "--fail-on", EVIL, EVIL + "1", EVIL + "2"],
    ["diff", "--fail-on", "time>1ms", EVIL + "1", EVIL + "2"],
    ["merge", "-o", "sum" + EVIL, EVIL + "1", EVIL + "2"],
    [EVIL],
    ["-o", EVIL + "/x", EVIL + "1"],
    ["--" + EVIL],
    ["--format", EVIL, EVIL + "1"],
    ["recover", EVIL],
    ["recover", "-o", EVIL, EVIL + "1"],
    ["top", EVIL],
    ["hook", EVIL],
    ["mem", EVIL],
    ["mem", "peak", EVIL],
    ["mem", "peak", "--" + EVIL],
    ["mem", "run", "-o", EVIL + "/x", "true"],
    ["mem", "run", "./" + EVIL],
    ["mem", "attach", EVIL],
    ["mem", "plot", "-w", EVIL],
], ids=lambda command: " ".join(command).replace(EVIL, "EVIL"))  # fmt: skip
def test_commands(evil, command):
    check(run_viewer(command, evil))


@pytest.mark.once
@pytest.mark.parametrize("command", [["mem", "plot"], ["mem", "plot", "-o", "x.svg"], ["mem", "peak"]], ids=" ".join)
@pytest.mark.parametrize("text", [
    f"CMDLINE prog{EVIL}\nMEM 1.0 10.0\nMEM 2.0 11.0\nFUNC f{EVIL} 1.0 10.1 2.0 10.9 0\n",
    f"CMDLINE prog\nMEM 1.0 10.0\nMEM {EVIL} 11.0\nMEM 1.0 12.0\n",
    f"{EVIL} 1.0 10.0\nMEM 1.0 10.0\n",
], ids=["names", "number", "row"])  # fmt: skip
def test_recordings(evil, command, text):
    text = text.replace("\r", "")  # begins a line there
    (evil / f"r{EVIL}.dat").write_text(text, "utf-8", newline="")
    ended = run_viewer([*command, f"r{EVIL}.dat"], evil)
    svg = evil / "x.svg"
    if svg.exists():
        assert HARMFUL.search(svg.read_text("utf-8")) is None
    else:
        check(ended)


@pytest.mark.once
@pytest.mark.parametrize("options", [
    ["--python=" + EVIL, "x.py"], ["--" + EVIL], ["--tracer", EVIL, "x.py"], [EVIL + ".py"],
    ["--config", EVIL, "x.py"], ["-o", EVIL + "/x", "x.py"],
], ids=lambda options: " ".join(options).replace(EVIL, "EVIL"))  # fmt: skip
def test_launcher(evil, options):
    (evil / "x.py").write_text("pass\n")
    check(run([CKERNPROF, "-l", *options], evil) if "--python=" in options[0]
          else run_ckernprof(["-l", *options], evil))  # fmt: skip


def test_runs(evil):
    """Paths that ckernprof makes of the script's, a target that there is not, all that -vv says."""
    script = evil / ("s" + EVIL + ".py")
    script.write_text(f"@profile\ndef f():\n    return '''{EVIL[:-2]}{FINE}'''\nf()\n", "utf-8", newline="")
    for options in ["-l", "-vv"], ["-l", "-p", EVIL], ["-lv", "--leaks"], ["-b"]:
        check(run_ckernprof([*options, script.name], evil))


@pytest.mark.once
def test_the_command_that_is_told_can_be_pasted(evil):
    import subprocess

    script = evil / ("it's \\" + EVIL + ".py")
    script.write_text("@profile\ndef f(): pass\nf()\n")
    told = run_ckernprof(["-l", script.name], evil).out.splitlines()
    ended = subprocess.run(["bash", "-c", told[-1]], cwd=evil, capture_output=True, encoding="utf-8")
    assert "Function: f at line 1" in ended.stdout, (told, ended.stderr)


def test_colours_are_the_only_escapes_on_a_terminal(evil):
    script = evil / "s.py"
    script.write_text(f"@profile\ndef f():\n    return '''{EVIL[:-2]}{FINE}'''\nf()\n", "utf-8", newline="")
    data, code = on_terminal(ckernprof("-lvr", script), evil)
    assert code == 0 and b"\x1b[" in data
    left = re.sub(r"\x1b\[[\d;]*m", "", data.decode("utf-8", "surrogateescape").replace("\r\n", "\n"))
    assert HARMFUL.search(left) is None and "\\x1b]0;title" in left


@pytest.mark.once
def test_python(evil):
    """What clineprof's Python interfaces print."""
    (evil / "x.py").write_text(f"import sys, io\nEVIL = {EVIL!r}\n" + '''
import clineprof.memory_profiler
from clineprof.line_profiler import LineProfiler, show_text
name = "e" + EVIL + ".py"
with open(name, "w", encoding="utf-8", newline="") as file:
    file.write("def f():\\n    return '" + EVIL.replace("\\r", "") + "'\\n")
for rich in False, True:
    show_text({(name, 1, "f" + EVIL): [(2, 1, 5)]}, 1e-6, summarize=True)
show_text({("no" + name, 1, "f" + EVIL): [(2, 1, 5)]}, 1e-6)
with open(name, encoding="utf-8", newline="") as file:
    exec(compile(file.read(), name, "exec"))
profiler = LineProfiler(f)
profiler.runcall(f)
profiler.print_stats()
clineprof.memory_profiler.profile(f)()
import clineprof
clineprof.profile.enable(output_prefix="out" + EVIL)
@clineprof.profile
def g(): pass
g()
''')  # fmt: skip
    check(run_python(["x.py"], evil, env=PATHS))
