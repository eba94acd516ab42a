# SPDX-License-Identifier: MIT
"""What runs the tests: tools/check.py, the choice of make quick, and .ci/run, each on small projects."""
import contextlib
import os
import pathlib
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import pytest
import harness
from harness import ROOT, clean_environment, make_here, run

pytestmark = pytest.mark.once

LAST = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped\n\Z")


# ---- tools/check.py ----


@pytest.fixture
def temporary():
    """A temporary folder whose path is as short as that of most."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as name:
        yield pathlib.Path(name)


@pytest.fixture
def project(tmp_path):
    """project(test files) has folders of tests as ours, and a clineprof with two tracers."""

    def write(**files):
        (tmp_path / "tests" / "cli").mkdir(parents=True)
        for name, text in files.items():
            path = tmp_path / "tests" / "cli" / f"test_{name}.py"
            path.write_text(textwrap.dedent(text))
        package = tmp_path / "build" / "python" / "clineprof"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "_core.py").write_text("def tracers(): return ['first', 'second']\n")
        shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests" / "cli")
        (tmp_path / "tests" / "cli" / "harness.py").write_text(
            f"import pathlib\nBUILD = pathlib.Path({str(tmp_path / 'build')!r})\nCKERNPROF = TRACER = None\n")
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        return tmp_path

    return write


def command(*words):
    return [sys.executable, ROOT / "tools/check.py", "--out", "build", "--results", "build/results",
            *words]  # fmt: skip


def check(folder, temporary, *words):
    """The exit status and what it printed; nothing is left in the temporary folder."""
    ended = subprocess.run(command(*words), cwd=folder, env=clean_environment({"TMPDIR": str(temporary)}),
                           text=True, stdout=subprocess.PIPE, timeout=120)
    assert list(temporary.iterdir()) == []
    return ended.returncode, ended.stdout


FAILING = """
    import os, pathlib, pytest, tempfile
    def test_good(tmp_path):
        (tmp_path / "good").touch()
        tempfile.mkdtemp()
    @pytest.mark.once
    @pytest.mark.parametrize("number", [1, 2])
    def test_bad(tmp_path, number):
        (tmp_path / f"made{number}").touch()
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "closed").mkdir(0)
        assert len(str(tmp_path)) < 60 and number == 1
    def test_skipped(): pytest.skip("there is no moon")
"""


@pytest.mark.slow
def test_failed_tests_are_named_at_the_end_and_what_they_left_is_kept(project, temporary):
    folder = project(one=FAILING)
    code, out = check(folder, temporary, "--venv", sys.executable)
    assert code == 1
    kept = folder / "build/results/failed-first"
    assert re.findall(r"  FAILED  (.*)\n", out) == ["tests/cli/test_one.py::test_bad[2]"]
    assert f"the folders of failed tests are in {kept}\n" in out
    assert [path.name for path in kept.rglob("made*")] == ["made2"] and not list(kept.rglob("good"))
    assert re.search(r"  Python tests, first +\d+ s\n  Python tests, second +\d+ s\n"
                     r"  why 2 tests were skipped: build/results/skipped\n"
                     r"  FAILED .*\n3 passed, 1 failed, 2 skipped\n\Z", out)
    assert "there is no moon" not in out
    assert (folder / "build/results/skipped").read_text() == 2 * "tests/cli/test_one.py::test_skipped: there is no moon\n"
    assert (folder / "build/results/summary").read_text() == "3 passed, 1 failed, 2 skipped\n"


def test_a_test_program_of_c_is_named_by_its_tests(project, temporary):
    folder = project()
    program = folder / "test_wheels"
    program.write_text("""#!/bin/sh
        touch "$TMPDIR/left"
        echo '<testsuites><testsuite name="wheels"><testcase name="turn" status="PASSED"/>
        <testcase name="squeak" status="FAILED"/></testsuite></testsuites>' >"${1#--xml=}"
        exit 1""")
    program.chmod(0o755)
    code, out = check(folder, temporary, "--unit", program)
    assert code == 1
    assert re.search(r"  C tests +\d+ s\n  FAILED  wheels::squeak\n1 passed, 1 failed, 0 skipped\n\Z", out)


BUSY = """
    import pathlib, time, pytest
    @pytest.mark.parametrize("number", range(3))
    def test_busy(number):
        mark = pathlib.Path(f"busy-in-{__name__}")
        mark.touch()
        time.sleep(0.3)
        mark.unlink()
        pathlib.Path("done.txt").open("a").write("one\\n")
    @pytest.mark.alone
    def test_alone():
        assert not list(pathlib.Path().glob("busy-in-*"))
        assert pathlib.Path("done.txt").read_text().count("one") == DONE
"""


@pytest.mark.slow
def test_what_runs_alone_waits_for_all_others(project, temporary):
    """.. of all tracers: 3 tests of two files, twice."""
    folder = project(**{name: BUSY.replace("DONE", "12") for name in ("one", "two")})
    code, out = check(folder, temporary, "--venv", sys.executable)
    assert code == 0 and LAST.search(out).groups() == ("16", "0", "0"), out
    assert re.search(r"  Python tests, second +\d+ s\n  Python tests, first, each alone +\d+ s\n", out)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor here")
@pytest.mark.slow
def test_all_processors_are_used(project, temporary):
    """Two files of tests, and two programs of C tests, of which each waits until the other runs."""
    meets = """
        import os, pathlib, time
        def test_meets():
            tracer = os.environ["CLINEPROF_TEST_TRACER"]
            pathlib.Path(f"met-{tracer}-NAME").touch()
            end = time.monotonic() + 300
            while len(list(pathlib.Path().glob(f"met-{tracer}-*"))) < 2:
                assert time.monotonic() < end
                time.sleep(0.02)
    """
    folder = project(**{name: meets.replace("NAME", name) for name in ("one", "two")})
    programs = []
    for name, other in ("test_a", "test_b"), ("test_b", "test_a"):
        program = folder / name
        program.write_text(f"""#!/bin/sh
            touch {folder}/ran-{name}
            for i in $(seq 3000); do [ -e {folder}/ran-{other} ] && break; sleep 0.02; done
            [ -e {folder}/ran-{other} ] && said=PASSED || said=FAILED
            echo '<testsuites><testsuite name="{name}"><testcase name="it" status="'$said'"/>
            </testsuite></testsuites>' >"${{1#--xml=}}" """)
        program.chmod(0o755)
        programs += ["--unit", program]
    code, out = check(folder, temporary, "--venv", sys.executable, *programs)
    assert code == 0 and LAST.search(out).groups() == ("6", "0", "0"), out


class Busy(contextlib.nullcontext):
    """An attempt on a machine where others have so many processors."""

    def __init__(self, busy):
        super().__init__(self)
        self.busy = busy


def disturbed(monkeypatch, busy, *holds):
    """How a test ends in whose attempts this holds or not, on a machine where others have so many processors; and the
    number of its attempts."""
    left = list(holds)
    monkeypatch.setattr(harness, "Attempt", lambda: Busy(busy))

    @harness.tried_again
    def test():
        harness.steady(left.pop(0))

    try:
        test()
        said = "passed"
    except pytest.skip.Exception as skipped:
        said = str(skipped)
    except harness.Disturbed:
        said = "failed"
    return said, len(holds) - len(left)


def test_a_measured_test_fails_on_a_quiet_machine_only(monkeypatch):
    assert disturbed(monkeypatch, 0, True) == ("passed", 1)
    assert disturbed(monkeypatch, 0.05, False, False, False, False, True) == ("passed", 5)
    assert disturbed(monkeypatch, 0.05, *[False] * 9) == ("failed", 5)
    assert disturbed(monkeypatch, 0.5, False, False, True) == ("passed", 3)
    said, attempts = disturbed(monkeypatch, 0.5, *[False] * 9)
    assert attempts == 3 and said.startswith("the machine is busy, others had 0.5 processors: ")


def test_a_run_that_tests_share_is_busy_as_it_was_made():
    busy, made = [0.5, 0, 0.5, 0.5], []

    def run():
        made.append(1)
        return len(made)

    class Known(harness.Anew):
        def again(self):
            super().again()
            self.busy = busy.pop(0)

    @harness.tried_again
    def test(ran):
        harness.steady(False, ran.ran)

    with pytest.raises(pytest.skip.Exception, match="0.5 processors: 4"):
        test(ran=Known(run))
    assert busy == []


@pytest.mark.slow
@pytest.mark.alone
def test_what_others_take_is_seen():
    """.. but not what this process does, nor a program that it has waited for."""
    def busy(work):
        with harness.Attempt() as attempt:
            work()
        return attempt.busy

    burn = [sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"]
    with subprocess.Popen(burn) as other:
        assert busy(lambda: time.sleep(0.8)) > 0.2
        other.kill()
    quiet = min(busy(lambda: subprocess.run(burn, check=True)) for _ in range(3))
    loud = busy(lambda: time.sleep(1))
    assert quiet < 0.3 + loud


WAITS = """
    import subprocess, sys, time
    def test_waits(tmp_path):
        with subprocess.Popen([sys.executable, "-c", "import signal, time\\n"
                               "signal.signal(signal.SIGINT, signal.SIG_IGN)\\n"
                               "print(flush=True)\\ntime.sleep(600)"], stdout=-1) as program:
            program.stdout.readline()
            open("pid", "w").write(f"{program.pid}\\n")
            try:
                time.sleep(600)
            finally:
                open("tidy", "w").close()
                program.kill()
"""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(condition):
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_an_interrupted_run_leaves_nothing(project, temporary, number):
    folder = project(it=WAITS)
    process = subprocess.Popen(command("--venv", sys.executable), cwd=folder, env=clean_environment({"TMPDIR": str(temporary)}),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    noted = folder / "pid"
    wait_for(lambda: noted.exists() and noted.read_text().endswith("\n"))
    assert list(temporary.iterdir())
    process.send_signal(number)
    assert process.wait(300) not in (0, -number)
    assert list(temporary.iterdir()) == []
    assert (folder / "tidy").exists()
    wait_for(lambda: not alive(int(noted.read_text())))


def test_a_make_that_is_ended_leaves_nothing(tmp_path, temporary):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\nif [ $1 = -c ]; then echo settrace; else echo $$ >{tmp_path}/pid; exec sleep 600; fi\n")
    python.chmod(0o755)
    command = [*make_here(), "quick", "TESTS=", "FUZZERS=", f"VENV={tmp_path}"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TMPDIR": str(temporary)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    noted = tmp_path / "pid"
    wait_for(lambda: noted.exists() and noted.read_text().endswith("\n"))
    process.terminate()
    assert process.wait(300) != 0
    assert list(temporary.iterdir()) == []
    wait_for(lambda: not alive(int(noted.read_text())))


# ---- make quick ----

MANY = """
    import pytest
    @pytest.mark.slow
    def test_0(): pass
    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_1(n): pass
    @pytest.mark.once
    def test_2(): pass
    def test_3(): pass
    def test_4(): pass
    def test_5(): pass
    def test_6(): pass
"""


def test_a_quick_round_has_the_first_functions_of_every_file(project, temporary):
    folder = project(many=MANY, one="def test_only(): pass\n")
    code, out = check(folder, temporary, "--venv", sys.executable, "--quick")
    assert code == 0 and LAST.search(out).groups() == ("5", "0", "0")
    rounds = [sorted(re.findall(r'<testcase .*? name="(.*?)"', path.read_text()))
              for path in sorted((folder / "build/results").glob("python-*.xml")) if "alone" not in path.name]
    assert rounds == [["test_1[1]", "test_2", "test_only"], ["test_1[1]", "test_only"]]


# ---- make slowest ----

COSTLY = """
    import subprocess, sys, time
    def test_waits():
        subprocess.run([sys.executable, "-c", "import time; time.sleep(1)"], check=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "made"], check=True)
    def test_sleeps(): time.sleep(1)
    def test_quick(): pass
"""


def test_the_slowest_tests_are_listed_with_what_they_waited_for(project, temporary):
    folder = project(costly=COSTLY)
    shutil.copy(ROOT / "tests" / "costs.py", folder / "tests")
    code, out = check(folder, temporary, "--venv", sys.executable, "--costs")
    assert code == 0, out
    titles = re.search(r"^ +seconds .*$", out, re.M)[0].split()
    rows = {line.split("::")[-1]: dict(zip(titles, map(float, line.split()[:-1])))
            for line in out.splitlines() if "test_costly.py::" in line}  # fmt: skip
    assert set(rows) == {"test_waits", "test_sleeps", "test_quick"}
    assert list(rows)[-1] == "test_quick" and all(row["tracers"] == 2 for row in rows.values())
    waits, sleeps = rows["test_waits"], rows["test_sleeps"]
    assert waits["started"] == 4 and waits["programs"] >= 2 and waits["packages"] > 0 and waits["sleeping"] == 0
    assert sleeps["started"] == 0 and sleeps["programs"] == 0 and sleeps["seconds"] >= 2
    assert sleeps["sleeping"] >= 2


# ---- make test, without a name ----


@pytest.mark.parametrize("file, some, none", [
    ("tests/cli/test_gc.py", ["tests/cli/test_gc.py"], ["tests/cli/test_run.py"]),
    ("src/timeline/samples.c", ["tests/cli/test_timeline.py", "tests/unit/timeline/test_samples.c"], ["tests/cli/test_gc.py"]),
    ("src/clineprof/_html/page.js", ["tests/cli/test_html_access.py"], ["tests/unit/engine/test_engine.c"]),
    ("src/rewrite/edges.h", ["tests/unit/rewrite/test_edges.c", "tests/conformance/test_rewrite.py"], ["tests/cli/test_mem.py"]),
    ("tests/browser.py", ["tests/cli/test_html.py"], ["tests/cli/test_gc.py"]),
    ("tests/unit/event_script.h", ["tests/unit/engine/test_engine.c"], ["tests/unit/os/test_proc.c"]),
])  # fmt: skip
def test_tests_of_what_has_changed(file, some, none, monkeypatch):
    monkeypatch.chdir(ROOT)
    every = [path for path in pathlib.Path("tests").rglob("test_*") if path.suffix in (".c", ".py")]
    found = set(map(str, runpy.run_path("tools/changed.py")["tests_of"]([file], every)))
    assert set(some) <= found and not set(none) & found, found


def test_make_test_runs_what_has_changed(project, temporary):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = project(it="def test_it(): pass\n", other="def test_other(): pass\n")
    git(folder, "init", "-q")
    commit(folder)
    ended = run(command("--venv", sys.executable, "--changed"), folder)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "no test belongs to what has changed since the last commit; name one with T=\n"
    (folder / "tests/cli/test_it.py").write_text("def test_it(): pass\ndef test_more(): pass\n")
    (folder / "tests/cli/test_new.py").write_text("def test_new(): pass\n")
    code, out = check(folder, temporary, "--venv", sys.executable, "--changed")
    assert code == 0 and LAST.search(out).groups() == ("6", "0", "0"), out
    assert re.findall(r"  CHOSE (.*)", out) == ["tests/cli/test_it.py", "tests/cli/test_new.py"]
    code, out = check(folder, temporary, "--venv", sys.executable, "--changed", "--tracer", "second")
    assert code == 0 and LAST.search(out).groups() == ("3", "0", "0"), out
    shutil.rmtree(folder / ".git")
    ended = run(command("--venv", sys.executable, "--changed"), folder, env={"GIT_CEILING_DIRECTORIES": str(folder.parent)})
    assert ended.code == 1 and ended.err.startswith("git cannot tell what has changed: "), ended.err


# ---- make soak ----


@pytest.mark.parametrize("clang, fails", [(True, "READER=wire"), (True, "nothing"), (False, "nothing")])
def test_soak_goes_on_after_a_failure(tmp_path, clang, fails):
    make, programs = tmp_path / "make", tmp_path / "programs"
    make.write_text(f'#!/bin/sh\nshift\necho "made $*"\ncase "$*" in *"{fails}"*) exit 2 ;; esac\n')
    programs.mkdir()
    if clang:
        shutil.copy(make, programs / "clang")
        (programs / "clang").chmod(0o755)
    make.chmod(0o755)
    ended = run([sys.executable, ROOT / "tools/soak.py", make], tmp_path, env={"PATH": str(programs)})
    rows = re.findall(r"^(.*?) +0 min  made (.*)$", ended.out, re.M)
    names = [name for name, _ in rows]
    assert {"stress REPEATS=50", "conformance", "fuzz-rewrite", "leak-repeats", "stdlib-check"} <= set(names)
    assert [name.split()[1] for name in names if name.startswith("fuzz ")] == (
        ["READER=pickle", "READER=wire", "READER=live"] if clang else [])
    assert ("make fuzz was left out: clang is not installed\n" in ended.out) is not clang
    assert [said.partition(" (")[0] for _, said in rows] == names
    bad = [(name, said) for name, said in rows if "exit status 2" in said]
    assert (ended.code, len(bad)) == ((1, 1) if fails in " ".join(names) else (0, 0))


# ---- .ci/run ----

MAKEFILE = """
full quick:
	@echo "$@: VENV=$(VENV), in '$(CURDIR)': $$(cat said)"
	@git status --short; echo $$? >status
	@mkdir -p build/venv/here build/cp3 && test -d $(or $(VENV),build/venv/here)
	@$(if $(findstring $@,$(BREAKS)),exit 1)
	@mkdir -p build/cp3/results && cat counts-$@ >build/cp3/results/summary
	@test ! -e fails-$@
"""


@pytest.fixture
def checkout(tmp_path):
    """A git checkout with our .ci/run and a Makefile that says what it is asked for."""
    folder = tmp_path / "a checkout"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "counts-full").write_text("10 passed, 0 failed, 3 skipped\n")
    (folder / "counts-quick").write_text("5 passed, 0 failed, 1 skipped\n")
    (folder / "said").write_text("as committed")
    (folder / ".gitignore").write_text("/build/\n")
    (tmp_path / "temporary").mkdir()
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(folder, "init", "-q")
    commit(folder)
    return folder


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=folder, check=True)


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "What is tested")


def ci(folder, cwd="/"):
    env = clean_environment({"TMPDIR": str(folder.parent / "temporary")})
    ended = subprocess.run([folder / ".ci/run"], cwd=cwd, env=env, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=300)
    assert list((folder.parent / "temporary").iterdir()) == [] and list((folder / "build").iterdir()) == []
    return ended.returncode, ended.stdout


def test_ci_tests_two_clones_and_sums_up(checkout):
    (checkout / "said").write_text("as changed")
    (checkout / "new").touch()
    code, out = ci(checkout)
    assert code == 0 and out.endswith("\n15 passed, 0 failed, 4 skipped\n"), out
    assert re.search(r"\Aci: testing [0-9a-f]+ What is tested\nci: 2 files are not as in that commit", out)
    assert re.search(r"^full: VENV=, in '.*/clineprof': as committed$", out, re.M)
    assert re.search(r"^ci: make full took \d+ s\n(.*\n)*ci: make quick took \d+ s$", out, re.M)
    assert re.search(r"^quick: VENV=../../clineprof/build/venv/here, in '.*/zwei wörter/clineprof': "
                     r"as committed$", out, re.M)  # fmt: skip


@pytest.mark.parametrize("which", ["full", "quick"])
def test_ci_fails_when_one_of_them_fails(checkout, which):
    (checkout / f"fails-{which}").touch()
    (checkout / f"counts-{which}").write_text("1 passed, 2 failed, 0 skipped\n")
    commit(checkout)
    code, out = ci(checkout)
    assert code == 1 and LAST.search(out)[2] == "2", out


@pytest.mark.parametrize("which", ["full", "quick"])
def test_ci_counts_a_build_that_breaks(checkout, which):
    (checkout / "Makefile").write_text(f"BREAKS = {which}\n{MAKEFILE}")
    commit(checkout)
    code, out = ci(checkout)
    assert code == 1 and LAST.search(out)[2] == "1", out


def test_ci_in_a_worktree_a_shallow_clone_and_no_repository(checkout, tmp_path):
    worktree, shallow, files = tmp_path / "worktree", tmp_path / "shallow", tmp_path / "files"
    git(checkout, "worktree", "add", "-q", "--detach", worktree)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{checkout}", shallow)
    shutil.copytree(checkout, files, ignore=shutil.ignore_patterns(".git"))
    for folder in worktree, shallow, files:
        code, out = ci(folder, cwd=folder)
        assert code == 0 and LAST.search(out).groups() == ("15", "0", "4"), out
    assert "ci: there is no commit here; testing the files as they are\n" in out


@pytest.mark.skipif(os.getuid() != 0, reason="files of other users need root")
def test_ci_in_a_checkout_of_another_user(checkout):
    for path in [checkout, *checkout.rglob("*")]:
        os.chown(path, 65534, 65534)
    code, out = ci(checkout)
    assert code == 0 and LAST.search(out).groups() == ("15", "0", "4"), out


def test_an_interrupted_ci_leaves_nothing(checkout):
    (checkout / "Makefile").write_text("full:\n\t@sleep 600\n")
    commit(checkout)
    process = subprocess.Popen([checkout / ".ci/run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: list((checkout / "build").glob("ci.*/clineprof/Makefile")))
    process.terminate()
    assert process.wait(300) == 1
    assert list((checkout / "build").iterdir()) == []
