# SPDX-License-Identifier: MIT
"""Defaults from TOML files, for both commands."""

import re
import sys

import pytest
from harness import BUILD, Profile, run_ckernprof, run_python, run_viewer

try:
    import tomllib as toml
except ImportError:
    try:
        import tomli as toml
    except ImportError:
        toml = None
pytestmark = pytest.mark.skipif(toml is None, reason="Python before 3.11 without tomli")

PROGRAM = (
    "import builtins\nprofile = getattr(builtins, 'profile', lambda f: f)\n"
    "@profile\ndef f():\n    return 1\n@profile\ndef idle():\n    return 1\nf()\n"
)


@pytest.fixture
def folder(script, tmp_path):
    script(PROGRAM)
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def lines_of(ended):
    assert (ended.code, ended.err) == (0, ""), ended.err
    return ended.out


def viewer(arguments, folder):
    """With this interpreter, which has what reads TOML."""
    return run_viewer(arguments, folder, env={"VIRTUAL_ENV": sys.prefix})


# ---- every kind of key ----


@pytest.mark.once
def test_keys_are_the_options(folder):
    write(
        folder / "clineprof.toml",
        '[tool.clineprof.kernprof]\nline-by-line = true\nview = 1\nunit = 1e-3\nskip_zero = true\n'
        'memory = "off"\noutfile = "x.lprof"\nsummarize = true\ncolumns = "hits,time"\n'
        'prof-mod = []\noutput-interval = 0\nsetup = "before.py"\ntracer = "settrace"\n',
    )
    write(folder / "before.py", "print('before')\n")
    out = lines_of(run_ckernprof(["program.py"], folder))
    assert out.startswith("before\nWrote profile results to 'x.lprof'\nTimer unit: 0.001 s\n")
    assert "MiB" not in out and "idle" not in out and "Per Hit" not in out
    assert re.search(r"seconds - program.py:3 - f$", out, re.M)
    assert Profile(folder / "x.lprof").meta["tracer"] == "settrace"


@pytest.mark.once
def test_the_command_line_wins(folder):
    write(
        folder / "clineprof.toml",
        '[tool.clineprof.kernprof]\nline-by-line = true\nview = 1\nunit = 1\nskip-zero = true\n'
        'outfile = "x.lprof"\nprof-mod = ["program.py"]\n',
    )
    out = lines_of(
        run_ckernprof(
            ["-u", "1e-9", "--no-skip-zero", "-o", "y.lprof", "-p", "", "program.py"], folder
        )
    )
    assert "Timer unit: 1e-09 s" in out and "Function: idle" in out
    assert not (folder / "x.lprof").exists()
    assert {key[2] for key in Profile(folder / "y.lprof").functions} == {"f", "idle"}
    out = lines_of(run_ckernprof(["-q", "program.py"], folder))
    assert "Timer unit" not in out and "Inspect results" in out
    ended = run_ckernprof(["--no-line-by-line", "program.py"], folder)
    assert "function calls in" in ended.out and "without -l" in ended.err


@pytest.mark.once
def test_prof_mod_is_a_list_or_a_text(folder):
    for value in '["program.py"]', '"nothing,program.py"', '["nothing", "program.py"]':
        write(
            folder / "clineprof.toml",
            f"[tool.clineprof.kernprof]\nline-by-line = true\nprof_mod = {value}\n"
            "preimports = false\n",
        )
        run_ckernprof(["program.py"], folder)
        names = {key[2] for key in Profile(folder / "program.py.lprof").functions}
        assert "<module>" in names, value


@pytest.mark.once
def test_the_viewer_has_a_table_of_its_own(folder):
    run_ckernprof(["-l", "program.py"], folder)
    write(
        folder / "pyproject.toml",
        "[tool.clineprof.cli]\nsummarize = true\nmemory = false\nunit = 1\nskip-zero = true\n"
        "[tool.clineprof.kernprof]\nview = 1\n",
    )
    out = lines_of(viewer(["program.py.lprof"], folder))
    assert "Timer unit: 1 s" in out and "MiB" not in out and "idle" not in out
    assert re.search(r"seconds - program.py:3 - f$", out, re.M)
    assert "Timer unit: 1e-06 s" in lines_of(viewer(["--no-config", "program.py.lprof"], folder))
    assert "Timer unit: 0.1 s" in lines_of(viewer(["program.py.lprof", "-u", ".1"], folder))
    assert "Timer unit: 0.001 s" in lines_of(viewer(["program.py.lprof", "-u", "ms"], folder))
    write(folder / "other.toml", "[tool.clineprof.cli]\nunit = 10\n")
    for option in "-c", "--config":
        out = lines_of(viewer(["program.py.lprof", option, "other.toml"], folder))
        assert "Timer unit: 10 s" in out and "MiB" in out


# ---- which file ----


def unit_of(ended):
    return re.search(r"Timer unit: (\S+) s", lines_of(ended)).group(1)


def test_files_are_looked_up_from_the_working_directory_upwards(folder):
    here = folder / "a" / "b"
    here.mkdir(parents=True)

    def unit(*options):
        return unit_of(run_ckernprof(["-lv", *options, folder / "program.py"], here))

    assert unit() == "1e-06"
    write(folder / "pyproject.toml", "[tool.clineprof.kernprof]\nunit = 1\n")
    assert unit() == "1"
    write(folder / "a" / "pyproject.toml", "[tool.other]\nx = 'clineprof'\n")
    assert unit() == "1"  # one without a table of ours is passed by
    write(folder / "a" / "pyproject.toml", "[tool.clineprof.kernprof]\nunit = 2\n")
    assert unit() == "2"
    write(here / "clineprof.toml", "[tool.clineprof.kernprof]\nunit = 3\n")
    write(here / "pyproject.toml", "[tool.clineprof.kernprof]\nunit = 4\n")
    assert unit() == "3"
    write(folder / "named.toml", "[tool.clineprof.kernprof]\nunit = 5\n")
    assert unit("--config", "../../named.toml") == "5"
    assert unit("--no-config") == "1e-06"
    assert unit("--no-config", "--config", "../../named.toml") == "1e-06"
    write(here / "clineprof.toml", "[tool.clineprof.cli]\nunit = 3\n")
    assert unit() == "1e-06"  # the nearest file is ours, and silent


def test_line_profiler_s_tables_are_heard(folder):
    def unit(*options, **more):
        return unit_of(run_ckernprof(["-lv", *options, "program.py"], folder, **more))

    write(
        folder / "pyproject.toml",
        "[tool.line_profiler.kernprof]\nunit = 1\nskip-zero = true\nverbose = 0\noutfile = ''\n"
        "not-known-here = 3\n[tool.line_profiler.show.column_widths]\nline = 7\n",
    )
    assert unit() == "1"
    write(folder / "line_profiler.toml", "[tool.line_profiler.kernprof]\nunit = 2\n")
    assert unit() == "2"
    write(folder / "rc.toml", "[tool.line_profiler.kernprof]\nunit = 3\nskip-zero = true\n")
    env = {"LINE_PROFILER_RC": str(folder / "rc.toml")}
    assert unit(env=env) == "3"
    assert unit("--no-config", env=env) == "1e-06"
    assert unit("--config", "rc.toml") == "3"
    write(folder / "clineprof.toml", "[tool.clineprof.kernprof]\nunit = 4\n")
    assert unit(env=env) == "4"
    out = run_ckernprof(["-lv", "program.py"], folder, env=env).out
    assert "idle" not in out  # where ours is silent
    write(folder / "clineprof.toml", "[tool.clineprof.kernprof]\nview = 0\n")
    write(folder / "rc.toml", "[tool.line_profiler.kernprof]\nverbose = 1\n")
    assert "Timer unit" not in run_ckernprof(["-l", "program.py"], folder, env=env).out


@pytest.mark.once
def test_the_viewer_takes_no_module_from_the_working_directory(folder):
    run_ckernprof(["-l", "program.py"], folder)
    write(folder / "clineprof.toml", "[tool.clineprof.cli]\nunit = 1\n")
    for name in "datetime", "typing", "tomllib", "tomli":
        write(folder / f"{name}.py", "print('the wrong one')\n")
    env = {"PYTHONPATH": str(BUILD / "python")}
    shown = run_python(["-m", "clineprof", "program.py.lprof"], folder, env=env)
    assert unit_of(shown) == "1" and "the wrong one" not in shown.out


@pytest.mark.once
def test_line_profiler_s_viewer_table(folder):
    run_ckernprof(["-l", "program.py"], folder)
    write(folder / "line_profiler.toml", "[tool.line_profiler.cli]\nunit = 1\nrich = false\n")
    assert unit_of(viewer(["program.py.lprof"], folder)) == "1"


@pytest.mark.once
def test_line_profiler_s_missing_file_is_a_warning(folder):
    env = {"LINE_PROFILER_RC": "missing.toml"}
    ended = run_ckernprof(["-l", "program.py"], folder, env=env)
    assert ended.err == "ckernprof: cannot read 'missing.toml', which LINE_PROFILER_RC names\n"
    assert ended.code == 0
    assert run_ckernprof(["-lq", "program.py"], folder, env=env).err == ""


# ---- what is wrong with it ----

WRONG = {
    "line-by-lines = true": "unknown key 'line-by-lines' (did you mean line-by-line?)",
    "nonsense = 1": "unknown key 'nonsense'",
    "python = 'x'": "key 'python' can only be an option on the command line",
    "no-memory = true": "unknown key 'no-memory' (did you mean memory = false?)",
    "no_preimports = true": "unknown key 'no_preimports' (did you mean preimports = false?)",
    "unit = true": "key 'unit' needs a number, not 'true'",
    "unit = 'x'": "key 'unit' needs a number above 0, such as 1e-3, or auto, s, ms, us or ns, not 'x'",
    "unit = 0": "key 'unit' needs a number above 0, such as 1e-3, or auto, s, ms, us or ns, not '0'",
    "unit = nan": "key 'unit' needs a number above 0, such as 1e-3, or auto, s, ms, us or ns, not 'nan'",
    "unit = [1]": "key 'unit' needs a single value, not '1'",
    "rich = 1": "key 'rich' needs true or false, not '1'",
    "view = 'yes'": "key 'view' needs a whole number, not 'yes'",
    "outfile = true": "key 'outfile' needs a text in quotes, not 'true'",
    "memory = 'most'": "key 'memory' needs off, rss, anon, uss, pss or tree, not 'most'",
    "prof-mod = [1]": "key 'prof-mod' needs texts in quotes, not '1'",
    "tracer = 'no-such'": "key 'tracer' needs auto, probe, monitoring, settrace or light, not 'no-such'",
    "tracer = 'probes'": "key 'tracer' does not take 'probes' (did you mean probe?); see ckernprof --help",
    "sort-by = 'size'": "key 'sort-by' needs hits, time, ",
    "setup = {a = 1}": "key 'setup' cannot be a table",
    "setup = 1979-05-27": "key 'setup' cannot be a date",
    'outfile = "a\\u0000b"': "key 'outfile' holds a zero byte",
}


@pytest.mark.once
@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_named_with_its_file(line, folder):
    path = folder / "clineprof.toml"
    write(path, f"[tool.clineprof.kernprof]\n{line}\n")
    write(folder / "program.py", "open('ran', 'w')\n")
    ended = run_ckernprof(["-l", "program.py"], folder)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"ckernprof: {path}, [tool.clineprof.kernprof]: {WRONG[line]}")
    assert len(ended.err.splitlines()) == 1
    assert not (folder / "ran").exists()


@pytest.mark.once
def test_files_that_are_no_toml_or_no_table(folder):
    path = folder / "clineprof.toml"
    for text, said in [
        ("[tool.clineprof.kernprof\n", f"{path}: "),
        ("[tool.clineprof.kernproof]\n", f"{path}: unknown table [tool.clineprof.kernproof]; there"),
        ("[tool.clineprof]\nkernprof = 1\n", f"{path}: tool.clineprof.kernprof must be a table"),
    ]:
        write(path, text)
        ended = run_ckernprof(["-l", "program.py"], folder)
        assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
        assert ended.err.startswith("ckernprof: " + said), ended.err
    path.write_bytes(b"# \xe4")
    ended = run_ckernprof(["-l", "program.py"], folder)
    assert (ended.code, ended.err) == (2, f"ckernprof: {path}: not UTF-8 at byte 2\n")
    write(path, "[kernprof]\nunit = 1\n")
    ended = run_ckernprof(["-l", "program.py"], folder)
    assert (ended.code, ended.err) == (
        0, f"ckernprof: {path} has no table [tool.clineprof.kernprof]\n"
    )
    path.unlink()
    for text, said in [(None, "cannot read"), ("x = = 1", "named.toml: "), ("x = '\udce4'", "UTF-8")]:
        if text is not None:
            (folder / "named.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
        ended = run_ckernprof(["-l", "--config", "named.toml", "program.py"], folder)
        assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
        assert said in ended.err
        ended = viewer(["--config", "named.toml", "x.lprof"], folder)
        assert (ended.code, len(ended.err.splitlines())) == (2, 1) and said in ended.err
    write(folder / "named.toml", "x = 1\n")
    ended = run_ckernprof(["-l", "--config", "named.toml", "program.py"], folder)
    assert ended.err == "ckernprof: named.toml has no table [tool.clineprof.kernprof]\n"
    assert ended.code == 0
    # another tool's broken file is its own business
    write(folder / "pyproject.toml", "[tool.line_profiler.kernprof\n")
    assert run_ckernprof(["-l", "program.py"], folder).err == ""


@pytest.mark.once
@pytest.mark.skipif(sys.version_info >= (3, 11), reason="tomllib is there")
def test_without_tomli(folder):
    def said(*options):
        return run_ckernprof(["--python", sys.base_prefix + "/bin/python3", "-l", *options, "program.py"], folder)

    assert said().err == ""
    write(folder / "clineprof.toml", "[tool.clineprof.kernprof]\nunit = 1\n")
    line = "clineprof.toml is not read: Python before 3.11 needs the package tomli\n"
    assert said().err == f"ckernprof: {folder}/{line}" and said().code == 0
    assert said("--config", "clineprof.toml").err == f"ckernprof: {line}"
    assert said("--no-config").err == ""


def test_the_program_sees_nothing_of_it(folder):
    """Nor do its own modules get in the way, whatever they are called."""
    write(folder / "clineprof.toml", "[tool.clineprof.kernprof]\nline-by-line = true\n")
    write(
        folder / "program.py",
        "import sys\nprint(sys.path, sorted(name for name, module in sys.modules.items() if str(\n"
        "    getattr(module, '__file__', '')).endswith('.py') and 'clineprof' not in name))\n"
        "@profile\ndef f(): pass\nf()\n",
    )
    for name in "datetime", "typing", "tomllib", "tomli":
        write(folder / f"{name}.py", "print('the program has its own')\n")
    with_file = run_ckernprof(["program.py"], folder)
    without = run_ckernprof(["-l", "--no-config", "program.py"], folder)
    assert with_file.out == without.out and list(folder.glob("*.lprof"))
    write(folder / "program.py", "import datetime\n")
    assert run_ckernprof(["program.py"], folder).out.startswith("the program has its own\n")


@pytest.mark.once
def test_line_profilers_widths_of_columns(folder):
    run_ckernprof(["-lq", "program.py"], folder)
    write(folder / "line_profiler.toml",
          "[tool.line_profiler.show.column_widths]\nline = 8\nhits = 11\nperhit = 'x'\nother = 3\n")
    words = ["--no-memory", "program.py.lprof"]
    out = lines_of(viewer(words, folder))
    assert "\n  Line #        Hits         Time  Per Hit   % Time  Line Contents\n" in out
    for more in ["--no-config"], ["--widths", "line=6"]:
        assert "\nLine #      Hits         Time" in lines_of(viewer([*more, *words], folder))
    named = lines_of(viewer(["-c", "line_profiler.toml", *words], folder))
    assert named == out
    write(folder / "clineprof.toml", "[tool.clineprof.cli]\nwidths = 'line=10'\n")
    assert "\n    Line #      Hits" in lines_of(viewer(words, folder))
    assert "\n  Line # " in lines_of(run_ckernprof(["-lv", "--no-memory", "program.py"], folder))


def test_a_list_on_the_command_line_takes_the_place_of_the_files(folder):
    write(folder / "other.py", "def g(): return 1\n")
    write(folder / "program.py", "import other\ndef f(): return other.g()\nf()\n")
    write(folder / "clineprof.toml",
          "[tool.clineprof.kernprof]\nline-by-line = true\nprof-mod = ['program.py']\n")
    for words, names in ([], {"f", "<module>"}), (["-p", "other.g"], {"g"}), (
            ["-p", "program.f", "-p", "other.g"], {"f", "g"}):
        lines_of(run_ckernprof([*words, "program.py"], folder))
        found = {key[2] for key in Profile(folder / "program.py.lprof").functions}
        assert found == names, words
