# SPDX-License-Identifier: MIT
"""Other tools work beside the profiler and show what they show without it: debuggers, coverage,
cProfile, trace functions, sys.monitoring, faulthandler, tracemalloc, threads and processes."""

import functools
import itertools
import json
import pstats
import re
import sys

import pytest
from harness import BUILD, Profile, line_of, own_messages_removed
from test_transparency import PROGRAMS, TRACERS, assert_same, bare, every_tracer, profiled

pytestmark = pytest.mark.once

MONITORING = sys.version_info >= (3, 12)

@pytest.fixture(scope="module")
def plainly(tmp_path_factory):
    """plainly(arguments, **options): what this command does under plain python, run once for all
    tracers."""
    known = {}

    def ran(arguments, **options):
        key = json.dumps([list(map(str, arguments)), options], sort_keys=True)
        if key not in known:
            known[key] = bare(arguments, tmp_path_factory.mktemp("bare"), **options)
        return known[key]

    return ran


# ---- those that are told of events -------------------------------------------------------------


def told_apart(tracer, kind):
    """Whether what the interpreter tells a tool depends, by its nature, on this tracer's events."""
    # 3.13 sends LINE for a function of one line only when somebody wants PY_START
    if sys.version_info >= (3, 13) and tracer != "probe" and kind in ("line", "line-local"):
        return "3.13 sends more LINE events when somebody listens to PY_START"
    return None


KINDS = ["settrace", "setprofile"]
if MONITORING:
    KINDS += ["line", "line-local", "everything", "everything-local", "calls"]
EVENT_CASES = [
    pytest.param(tracer, kind, order, id=f"{tracer}-{kind}-{order}")
    for tracer, kind, order in itertools.product(TRACERS, KINDS, ["before", "after"])
    if not told_apart(tracer, kind)
]


@pytest.mark.parametrize("tracer, kind, order", EVENT_CASES)
def test_events_of_another_tool(tracer, kind, order, tmp_path, plainly):
    """Started before or after the functions are profiled, it is told the same events and lines.
    Not compared: the line at which PY_UNWIND stands and the events of handlers, for probed code has
    one more handler around it; the offsets in the code."""
    command = [PROGRAMS / "seen_events.py", kind, order]
    expected = plainly(command)
    assert expected.code == 0, expected.err
    assert len(expected.out.splitlines()) > 20
    ours = profiled(tracer, command, tmp_path)
    assert_same(ours, expected)
    assert sum(Profile.measure(ours.profile().function("lines"), "hits").values()) > 20


@every_tracer
def test_hooks_that_raise(tracer, tmp_path, plainly):
    path = PROGRAMS / "raising_hooks.py"
    expected = plainly([path])
    assert expected.code == 0 and len(expected.out.splitlines()) > 80, expected.err
    assert_same(profiled(tracer, [path], tmp_path), expected)


# ---- debuggers ---------------------------------------------------------------------------------

DEBUGGED = PROGRAMS / "debugged.py"


def debugger_script(text):
    """One command a line; {mark} stands for the number of the line with this comment."""
    for part in text.split("{")[1:]:
        mark = part.split("}")[0]
        text = text.replace("{%s}" % mark, str(line_of(DEBUGGED, "# " + mark)))
    return "".join(part.strip() + "\n" for part in re.split("[;\n]", text))


DIALOGUES = {
    "step": "break {main loop}; continue" + "; step" * 60 + "; quit",
    "next": "break caller; continue" + "; next" * 25 + "; where; quit",
    "break": """break {large}; break {yields}; continue; where; print(n); args; continue; up
        print(total); down; print(i); continue; continue; clear 1; continue; continue; list
        return; where; quit""",
    "conditions": """break {double}, n == 1; tbreak {calls}; continue; print(total); continue
        print(n); commands 1; silent; print(n * 100); end; continue; continue; quit""",
    "until": """break {begins}; continue; until {handles}; until {in a list}; until; until; where
        until {caller returns}; print(values); return; return; quit""",
    "jump": """break {calls}; break {caller returns}; continue; print(total)
        jump {in the with block}; jump {may fail}; print(total); next; next; continue
        jump {begins}; next; where; continue; clear; y; continue; quit""",
    "jump in a loop": """break {large}; break {double}; continue; next; jump {double}; next; next
        print(double); jump {callee returns}; where; next; where; quit""",
    "generator": """break {yields}; continue; print(i); step; step; where; continue; up
        print(total); down; print(i); jump {generator returns}; step; step; where; next; where
        continue; quit""",
    "display": """break {begins}; continue; display total; display i; next; next; next; next
        undisplay i; next; whatis total; pp locals(); source callee; quit""",
    "change": "break {calls}; continue; !total = 50; next; print(total); clear; y; continue; quit",
    "run": "continue; quit",
    "run again": "break {caller returns}; continue; restart; continue; where; quit",
}
BREAKPOINTS = {
    "look": """where; print(n); next; next; print(n); next; where; continue; up; down; step
        continue""",
    "break": "break {yields}; up; list; step; step; step; step; continue; quit",
    "jump on": """jump {after the stop}; next; print(n); return; continue
        tbreak {after the stop}; continue""",
    "jump to itself": "jump {stops}; print(n); continue; continue; continue",
    "interact": "interact; print(n + 1000); quit",
}


@every_tracer
@pytest.mark.parametrize("name", DIALOGUES)
def test_pdb(name, tracer, tmp_path, plainly):
    """python -m pdb: one dialogue, word for word."""
    commands = debugger_script(DIALOGUES[name])
    expected = plainly(["-m", "pdb", DEBUGGED], stdin=commands)
    assert expected.out.count("(Pdb)") > 1, expected.err
    assert_same(profiled(tracer, ["-m", "pdb", DEBUGGED], tmp_path, stdin=commands), expected)


@pytest.mark.parametrize(
    "tracer",
    [
        tracer
        for tracer in TRACERS
        # 3.13 stops a line later in every function that a sys.monitoring tool watches
        if not (tracer == "monitoring" and sys.version_info[:2] == (3, 13))
    ],
)
@pytest.mark.parametrize("name", BREAKPOINTS)
def test_breakpoint(name, tracer, tmp_path, plainly):
    """breakpoint() in a profiled function that runs already."""
    command, commands = [DEBUGGED, "breakpoint"], debugger_script(BREAKPOINTS[name])
    expected = plainly(command, stdin=commands)
    assert expected.out.count("(Pdb)") > 1, expected.err
    assert_same(profiled(tracer, command, tmp_path, stdin=commands), expected)


@every_tracer
def test_post_mortem(tracer, script, tmp_path):
    """After the end of the frames."""
    path = script(
        f"import pdb, runpy, sys\nsys.argv[1:] = ['fail']\n"
        f"try:\n    runpy.run_path({str(DEBUGGED)!r}, run_name='__main__')\n"
        "except IndexError as error:\n    pdb.post_mortem(error.__traceback__)\n"
    )
    commands = "where\nprint(n)\nlist\nup\np __name__\nquit\n"
    expected = bare([path], tmp_path, stdin=commands)
    assert expected.out.count("(Pdb)") > 4
    assert_same(profiled(tracer, [path], tmp_path, stdin=commands), expected)


# ---- coverage ----------------------------------------------------------------------------------

COVERED = PROGRAMS / "covered.py"
# started by the program itself, before or after its functions are profiled
MEASURES = f"""
import coverage, runpy, sys
measured = coverage.Coverage(data_file="measured", config_file=False, branch={{branch}},
                             include=[{str(COVERED)!r}])
if {{first}}:
    measured.start()
names = runpy.run_path({str(COVERED)!r}, run_name="covered")
if not {{first}}:
    measured.start()
names["work"]()
measured.stop()
measured.save()
"""
CORES = ["ctrace", "pytrace"] + (["sysmon"] if MONITORING else [])


def can_branch(core):
    return core != "sysmon" or sys.version_info >= (3, 14)


def covered_lines(folder):
    """What coverage tells of covered.py: executed and missing lines and branches."""
    ended = bare(
        ["-m", "coverage", "json", "-q", "--data-file=measured", "-o", "measured.json"], folder
    )
    assert ended.code == 0, ended.out + ended.err
    [(name, told)] = json.loads((folder / "measured.json").read_text())["files"].items()
    assert name.endswith("covered.py")
    told.pop("functions", None), told.pop("classes", None)
    return told


def coverage_command(core):
    branch = ["--branch"] if can_branch(core) else []
    return ["-m", "coverage", "run", "--data-file=measured", *branch, f"--include={COVERED}"]


def compare_coverage(tracer, core, tmp_path, run_theirs, run_ours):
    """Both run in folders of their own; the profiler must have counted all the same."""
    pytest.importorskip("coverage", reason="coverage is not here")
    told = []
    for name, run_it in (("theirs", run_theirs), ("ours", run_ours)):
        folder = tmp_path / name
        folder.mkdir()
        ended = run_it(folder, env={"COVERAGE_CORE": core})
        assert (ended.code, ended.err) == (0, "")
        told.append((own_messages_removed(ended.out), covered_lines(folder)))
    (theirs_out, theirs), (ours_out, ours) = told
    assert len(theirs["executed_lines"]) > 40 and len(theirs["missing_lines"]) > 6
    assert ours == theirs
    assert len(ended.profile().functions) >= 8


@every_tracer
@pytest.mark.parametrize("core", CORES)
def test_coverage_of_a_program(core, tracer, tmp_path):
    """ckernprof -l -m coverage run program."""
    command = [*coverage_command(core), COVERED]
    compare_coverage(
        tracer,
        core,
        tmp_path,
        functools.partial(bare, command),
        functools.partial(profiled, tracer, command),
    )


@every_tracer
@pytest.mark.parametrize("core", CORES)
def test_coverage_of_the_profiler(core, tracer, tmp_path):
    """coverage run -m clineprof.kernprof -l program."""

    def ours(folder, env):
        outer = ["-m", "clineprof.kernprof", "--tracer", tracer, "-l", COVERED]
        env = {**env, "PYTHONPATH": str(BUILD / "python")}
        return bare([*coverage_command(core), *outer], folder, env=env)

    theirs = functools.partial(bare, [*coverage_command(core), COVERED])
    compare_coverage(tracer, core, tmp_path, theirs, ours)


@every_tracer
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("core", CORES)
def test_coverage_started_by_the_program(core, first, tracer, script, tmp_path):
    path = script(MEASURES.format(branch=can_branch(core), first=first))
    compare_coverage(
        tracer,
        core,
        tmp_path,
        functools.partial(bare, [path]),
        functools.partial(profiled, tracer, [path]),
    )


# ---- cProfile ----------------------------------------------------------------------------------


def calls(path):
    """(calls, primitive calls) of the functions in covered.py, and of all that they call."""
    stats = pstats.Stats(str(path)).stats
    here = str(COVERED)
    own = {key: numbers[:2] for key, numbers in stats.items() if key[0] == here}
    called = {
        (caller, key): counts[:2]
        for key, (*_, callers) in stats.items()
        for caller, counts in callers.items()
        if caller[0] == here and caller[2] != "<module>"
    }
    return own, called


@every_tracer
@pytest.mark.parametrize("outside", [True, False], ids=["around", "within"])
def test_cprofile(outside, tracer, tmp_path, plainly):
    """cProfile around the profiler or within its run shows the calls that it shows alone."""
    command = ["-m", "cProfile", "-o", "calls"]
    theirs = plainly([*command, COVERED])
    assert theirs.code == 0, theirs.err
    if outside:
        within = ["-m", "clineprof.kernprof", "--tracer", tracer, "-l"]
        environment = {"PYTHONPATH": str(BUILD / "python")}
        ours = bare([*command, *within, COVERED], tmp_path, env=environment)
    else:
        ours = profiled(tracer, [*command, COVERED], tmp_path)
    assert_same(ours, theirs)
    expected = calls(theirs.folder / "calls")
    assert [len(part) > 10 for part in expected] == [True, True]
    assert calls(tmp_path / "calls") == expected
    assert len(ours.profile().functions) >= 8


# ---- tools that look at frames, threads, processes ---------------------------------------------


@every_tracer
def test_faulthandler_and_tracemalloc(tracer, tmp_path, plainly):
    expected = plainly([PROGRAMS / "beside.py"])
    assert expected.code == 0, expected.err
    assert_same(profiled(tracer, [PROGRAMS / "beside.py"], tmp_path), expected)


@every_tracer
def test_threads_and_processes(tracer, tmp_path, plainly):
    """Every hit of eight threads is kept; what processes count is not the parent's."""
    path = PROGRAMS / "workers.py"
    ours = profiled(tracer, [path], tmp_path)
    expected = plainly([path])
    assert (expected.code, expected.err) == (0, "")
    assert re.fullmatch("ckernprof: fails, .* --prof-child-procs profiles them, too\n", ours.err)
    ours.err = ""
    assert_same(ours, expected)
    hits = {key[2]: list(lines.values()) for key, lines in ours.profile().hits().items()}
    assert hits["in_threads"] == [8, 8, 8008, 8000, 8000, 80, 8]
    assert hits["in_generator"] == [32000, 24000]
    assert hits["nested"] == [240]
    assert hits["worker"] == [3, 12, 9, 3]
    assert not any(hits["fails"])
    assert hits["at_exit"] == [1] and hits["never_ends"][0] == 2
