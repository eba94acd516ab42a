# SPDX-License-Identifier: MIT
"""pytest --clineprof and the marker line_limits, by real runs of pytest. Hits are counted by hand."""
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys

import clineprof
import pytest
import stub
from harness import BUILD, ROOT, UNSHARED, Profile, ckernprof, run

pytestmark = pytest.mark.once  # the plugin has no choice of tracer

ENTRY_POINTS = """[pytest11]
clineprof = clineprof._pytest
"""
SHOP = """\
def total(rows):
    result = 0
    for row in rows:
        result += row
    return result


def unused():
    return 1


class Cart:
    def __init__(self):
        self.rows = []

    def add(self, row):
        self.rows.append(row)
"""
# total: called 1 time with 10 rows and 6 times with one row
TESTS = """\
import pytest
from shop.core import Cart, total


@pytest.fixture
def rows():
    return list(range(10))


def test_total(rows):
    assert total(rows) == 45


@pytest.mark.parametrize("n", [1, 2, 3])
def test_many(n):
    for i in range(n):
        total([i])


def test_cart():
    cart = Cart()
    cart.add(1)
    assert cart.rows == [1]
"""
TOTAL = {2: 7, 3: 23, 4: 16, 5: 7}


# Plugins by what asks for them. All others that are installed are not loaded, for some take longer than the tests.
WANTED = {"-n": "xdist", "--cov": "pytest_cov", "asyncio": "asyncio", "anyio": "anyio"}
INSTALLED = {point.name for point in importlib.metadata.entry_points(group="pytest11")} - {"clineprof"}


class Project:
    """A folder for a package and tests, and clineprof as if it were installed."""

    def __init__(self, folder):
        self.folder = folder / "project"
        self.site = folder / "site"
        info = self.site / "clineprof-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clineprof\nVersion: 0\n")
        (info / "entry_points.txt").write_text(ENTRY_POINTS)
        self.write("pytest.ini", "[pytest]\n")

    def with_shop(self):
        self.write("shop/__init__.py", "")
        self.write("shop/core.py", SHOP)
        self.write("tests/test_shop.py", TESTS)
        return self

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def pytest(self, *arguments, beside=None, **environment):
        """beside: the marker of a plugin that is needed, too."""
        path = os.pathsep.join(map(str, [self.site, BUILD / "python", self.folder]))
        env = {"PYTHONPATH": path, "PYTEST_ADDOPTS": self.addopts(arguments, beside),
               "COLUMNS": "200", **environment}  # fmt: skip
        command = [sys.executable, "-m", "pytest", *arguments]
        return run(command, self.folder, env=env, timeout=120)

    @staticmethod
    def addopts(arguments, beside):
        wanted = {name for sign, name in WANTED.items()
                  if sign == beside or any(word.startswith(sign) for word in arguments)}
        words = [f"-p no:{name}" for name in sorted(INSTALLED - wanted)] + ["-W ignore"]
        return " ".join(words + ["-p no:cacheprovider"] * ("--lf" not in arguments))

    def profile(self, name="pytest.lprof"):
        return Profile(self.folder / name)

    def hits(self, function, name="pytest.lprof"):
        """Of the lines that ran."""
        profile = self.profile(name)
        found = profile.measure(profile.function(function), "hits")
        return {line: hits for line, hits in found.items() if hits}

    def selected(self, name="pytest.lprof"):
        """{file: its functions that ran}"""
        found = {}
        for (file, _, function), lines in self.profile(name).hits().items():
            if any(lines.values()):
                found.setdefault(os.path.relpath(file, self.folder), set()).add(function)
        return found


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path).with_shop()


def counts_of(text):
    """{"passed": 5, ..} of pytest's last line."""
    [last] = re.findall(r"^=* ?(\d+ .*) in [\d.]+s\b", text, re.M)[-1:]
    kinds = "passed", "failed", "error", "errors", "skipped", "xfailed", "deselected"
    found = re.findall(r"(\d+) (\w+)", last)
    return {what: int(count) for count, what in found if what in kinds}


def counts(ended):
    return counts_of(ended.out)


def needs(*names):
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason="needs " + ", ".join(missing))


# ---- what is profiled ----


def test_bare_it_profiles_all_below_the_root_folder(project):
    project.write("conftest.py", "import pytest\n\n@pytest.fixture(autouse=True)\n"
                                 "def always():\n    yield\n    2\n")  # fmt: skip
    project.write("lib/site-packages/dep.py", "def f():\n    return 1\n")
    project.write("tests/test_dep.py", "import dep\ndef test_dep():\n    assert dep.f() == 1\n")
    ended = project.pytest("--clineprof", PYTHONPATH=os.pathsep.join(
        map(str, [project.site, BUILD / "python", project.folder,
                  project.folder / "lib/site-packages"])))  # fmt: skip
    assert (ended.code, counts(ended)) == (0, {"passed": 6})
    assert project.hits("total") == TOTAL
    assert project.hits("test_many") == {16: 9, 17: 6}
    assert project.hits("test_total") == {11: 1}
    assert project.selected() == {
        "shop/__init__.py": {"<module>"},
        "shop/core.py": {"<module>", "total", "Cart", "Cart.__init__", "Cart.add"},
        "tests/test_shop.py": {"rows", "test_total", "test_many", "test_cart"},
        "tests/test_dep.py": {"test_dep"},
        "conftest.py": {"always"},
    }


@pytest.mark.parametrize("target, functions", [
    ("shop.core", {"<module>", "total", "Cart", "Cart.__init__", "Cart.add"}),
    ("shop.core.total", {"total"}),
    ("shop.core.Cart", {"Cart", "Cart.__init__", "Cart.add"}),
    ("shop.core.Cart.add,shop.core.total", {"Cart.add", "total"}),
    ("shop/core.py", {"<module>", "total", "Cart", "Cart.__init__", "Cart.add"}),
    ("shop/core.py:total,./shop/core.py::Cart::add", {"Cart.add", "total"}),
    ("tests/test_shop.py", {"rows", "test_total", "test_many", "test_cart"}),
    ("test_shop.test_cart", {"test_cart"}),
    ("tests", {"rows", "test_total", "test_many", "test_cart"}),
])  # fmt: skip
def test_targets_are_those_of_prof_mod(project, target, functions):
    ended = project.pytest("--clineprof=" + target)
    assert (ended.code, counts(ended)) == (0, {"passed": 5}), ended.out
    [found] = project.selected().values()
    assert found == functions


def test_a_package_without_what_is_in_it(project):
    project.pytest("--clineprof=shop.__init__")
    assert project.selected() == {"shop/__init__.py": {"<module>"}}


def test_several_options_add_up(project):
    project.pytest("--clineprof=shop.core.total", "--clineprof=shop.core.Cart.add")
    assert project.selected() == {"shop/core.py": {"total", "Cart.add"}}


def test_commas_between_targets_and_in_the_names_of_files(project):
    project.write("tests/test_a,b.py", "def test_one(): pass\ndef test_two(): pass\n")
    project.pytest("--clineprof=shop.core.total,tests/test_a,b.py:test_one,shop.core.Cart.add")
    assert project.selected() == {"shop/core.py": {"total", "Cart.add"}, "tests/test_a,b.py": {"test_one"}}


@pytest.mark.parametrize("ini", ["", "addopts = --clineprof\n"])
def test_a_path_behind_the_bare_option_is_none_of_its(project, ini):
    """argparse would take it for the option's value; also where conftest.py adds options."""
    project.write("pytest.ini", "[pytest]\n" + ini)
    project.write("more/conftest.py", "def pytest_addoption(parser):\n"
                                      "    parser.addoption('--more', action='store_true')\n")
    project.write("more/test_more.py", "def test_more(request):\n"
                                       "    assert request.config.option.more\n")
    words = [] if ini else ["--clineprof"]
    ended = project.pytest(*words, "more", "--more")
    assert (ended.code, counts(ended)) == (0, {"passed": 1}), ended.out + ended.err
    assert project.selected() == {"more/test_more.py": {"test_more"}}


def test_what_a_conftest_imports_is_seen_from_its_first_line(project):
    project.write("conftest.py", "import shop.core\nshop.core.total([1, 2])\n")
    project.pytest("--clineprof=shop")
    assert project.hits("total") == {2: 8, 3: 26, 4: 18, 5: 8}


def test_a_module_that_a_test_imports_late(project):
    project.write("shop/late.py", "def f():\n    return 2\n")
    project.write("tests/test_late.py", "def test_late():\n    from shop import late\n    late.f()\n")
    project.pytest("--clineprof=shop.late")
    assert project.selected() == {"shop/late.py": {"<module>", "f"}}


def test_rewritten_test_modules_from_the_cache(project):
    """The second run takes pytest's rewritten code from __pycache__."""
    for _ in range(2):
        project.pytest("--clineprof=tests", PYTHONDONTWRITEBYTECODE="")
        assert project.hits("test_many") == {16: 9, 17: 6}
    assert list((project.folder / "tests" / "__pycache__").glob("test_shop*pytest*"))
    bare = project.pytest(PYTHONDONTWRITEBYTECODE="")
    assert (bare.code, counts(bare)) == (0, {"passed": 5})


def test_nested_functions_and_methods_of_test_classes(project):
    project.write("tests/test_in.py", """\
class TestIn:
    def test_in(self):
        def inner(n):
            return n
        assert [inner(n) for n in range(3)] == [0, 1, 2]
""")
    project.pytest("--clineprof=tests/test_in.py")
    assert project.hits("TestIn.test_in.<locals>.inner") == {4: 3}
    assert project.hits("TestIn.test_in")[3] == 1


# ---- what is told ----


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no cc to build tests/stub/torch_c.c with")
@pytest.mark.parametrize("words", [(), pytest.param(("-n2",), marks=needs("xdist"))])
def test_tensors(project, words):
    stub.build_torch(project.folder)
    project.write("test_cuda.py", "import time, torch\ndef test_cuda():\n    torch.cuda.init()\n"
                                  "    torch._C.allocate(500); time.sleep(.005)\n")
    ended = project.pytest("--clineprof=test_cuda.py", "--clineprof-tensors", "test_cuda.py", *words)
    assert ended.code == 0 and ended.out.count("only tensors on CUDA devices are counted") == 1
    [function] = [f for f in clineprof.load(project.folder / "pytest.lprof").functions if f.name == "test_cuda"]
    assert [line.device1_allocated for line in function.lines] == [0, 500]


def test_the_table_and_the_file(project):
    ended = project.pytest("--clineprof=shop", "--clineprof-lines=3", "--clineprof-out=out/x.lprof")
    assert ended.code == 4 and "out" in ended.err  # there is no such folder
    ended = project.pytest("--clineprof=shop", "--clineprof-lines=3", "--clineprof-out=x.lprof")
    part = ended.out.split(" clineprof ")[1]
    assert "Hottest lines by self: 3 of " in part
    rows = re.findall(r"^shop/\S+:\d+ ", part, re.M)
    assert len(rows) == 3 and "Wrote profile results to 'x.lprof'" in part
    assert project.hits("total", "x.lprof") == TOTAL
    assert project.profile("x.lprof").meta["command"] == (
        "-m pytest --clineprof=shop --clineprof-lines=3 --clineprof-out=x.lprof"
    )


def test_no_lines(project):
    ended = project.pytest("--clineprof=shop", "--clineprof-lines=0")
    assert "Hottest" not in ended.out and "Wrote profile results to 'pytest.lprof'" in ended.out


def test_collect_only_leaves_the_last_profile_alone(project):
    path = project.write("pytest.lprof", "old")
    ended = project.pytest("--clineprof", "--collect-only", "-q")
    assert (ended.code, path.read_text()) == (0, "old") and "clineprof" not in ended.out


@pytest.mark.parametrize("option, line", [
    ("--clineprof=shop/cor.py", "there is no file 'shop/cor.py'; did you mean 'shop/core.py'?"),
    ("--clineprof=shop/core.py:totl", "there is no file or function 'shop/core.py:totl'; "
                                      "did you mean 'shop/core.py:total'?"),
    ("--clineprof=./nothing/at/all", "there is no file './nothing/at/all'"),
    ("--clineprof=shop.cor", "there is no module, class or function 'shop.cor'; "
                             "did you mean 'shop.core'?"),
    ("--clineprof=shop.core.totl", "there is no module, class or function 'shop.core.totl'; "
                                   "did you mean 'shop.core.total'?"),
    ("--clineprof=shop.core:total", "there is no module, class or function 'shop.core:total'; "
                                    "did you mean 'shop.core.total'?"),
    ("--clineprof=shop,qqzzyy", "there is no module, class or function 'qqzzyy'"),
    ("--clineprof-lines=-1", "-lines: the number of lines cannot be negative"),
])  # fmt: skip
def test_wrong_options_are_one_line_and_exit_4(project, option, line):
    project.write("tests/test_ran.py", "def test_ran():\n    open('ran', 'w')\n")
    words = [] if option.startswith("--clineprof=") else ["--clineprof"]
    ended = project.pytest(*words, option)
    told = [text for text in (ended.out + ended.err).splitlines() if text.startswith("ERROR: ")]
    expected = "ERROR: --clineprof" + (": " if not words else "") + line
    assert (ended.code, told) == (4, [expected]), ended.out + ended.err
    assert "Traceback" not in ended.err + ended.out
    assert not (project.folder / "ran").exists() and not (project.folder / "pytest.lprof").exists()


def test_a_place_that_cannot_be_written_to_is_told_before_the_tests_run(project):
    (project.folder / "folder").mkdir()
    ended = project.pytest("--clineprof", "--clineprof-out=folder")
    assert ended.code == 4
    assert "ERROR: --clineprof-out: cannot write to 'folder'" in ended.err + ended.out


def test_a_place_that_goes_away_during_the_tests(project):
    (project.folder / "out").mkdir()
    project.write("tests/test_gone.py", "import os\ndef test_gone():\n    os.rmdir('out')\n")
    ended = project.pytest("--clineprof=shop", "--clineprof-out=out/a.lprof", TMPDIR=str(project.site))
    assert "cannot write '" in ended.out and "out/a.lprof': No such file" in ended.out
    path = re.search(r"Wrote profile results to '(.*)'", ended.out)[1]
    assert ended.code == 0 and project.hits("total", path) == TOTAL


def test_nothing_that_was_named_ran(project):
    project.write("shop/other.py", "def f():\n    return 2\n")
    ended = project.pytest("--clineprof=shop.other")
    told = [line for line in ended.out.split("= clineprof =")[1].splitlines()[1:-1] if line]
    assert told == ["no Python code of 'shop.other' ran", "Wrote profile results to 'pytest.lprof'"]


def test_a_target_that_did_not_run(project):
    project.write("shop/other.py", "def f():\n    return 2\n")
    ended = project.pytest("--clineprof=shop.core,shop.other")
    assert ended.code == 0 and "no Python code of 'shop.other' ran" in ended.out
    assert project.hits("total") == TOTAL


# ---- other kinds of tests, other plugins ----


def test_failing_tests_keep_their_tracebacks(project):
    project.write("tests/test_bad.py", "from shop.core import total\n\n\ndef test_bad():\n"
                                       "    assert total(['a']) == 1\n\n\ndef test_worse():\n"
                                       "    assert total([1]) == 2\n")  # fmt: skip
    bare = project.pytest("tests/test_bad.py")
    ended = project.pytest("--clineprof", "tests/test_bad.py")
    assert (ended.code, counts(ended)) == (bare.code, counts(bare)) == (1, {"failed": 2})

    def failures(run):
        return run.out.split("= FAILURES =")[1].split("= clineprof =")[0].split("= short")[0].strip("=\n")

    assert failures(ended) == failures(bare)
    assert project.hits("total") == {2: 2, 3: 3, 4: 2, 5: 1}


def test_stopping_at_the_first_failure_and_running_the_last_failed(project):
    project.write("tests/test_aaa.py", "from shop.core import total\n\n\ndef test_aaa():\n"
                                       "    assert total([1]) == 2\n")
    ended = project.pytest("-x", "--clineprof=shop.core.total", "--lf")
    assert (ended.code, counts(ended)) == (1, {"failed": 1})
    assert project.hits("total") == {2: 1, 3: 2, 4: 1, 5: 1}
    ended = project.pytest("--lf", "--clineprof=shop.core.total")
    assert (ended.code, counts(ended)) == (1, {"failed": 1})
    assert project.hits("total") == {2: 1, 3: 2, 4: 1, 5: 1}


def test_unittest_and_doctests(project):
    project.write("shop/docs.py", 'def double(n):\n    """\n    >>> double(2)\n    4\n    """\n'
                                  "    return 2 * n\n")  # fmt: skip
    project.write("tests/test_case.py", """\
import unittest
from shop.core import total


class Case(unittest.TestCase):
    def setUp(self):
        self.rows = [1, 2]

    def test_case(self):
        self.assertEqual(total(self.rows), 3)
""")
    ended = project.pytest("--clineprof", "--doctest-modules", "shop", "tests/test_case.py")
    assert (ended.code, counts(ended)) == (0, {"passed": 2}), ended.out
    assert project.hits("Case.setUp") == {7: 1} and project.hits("Case.test_case") == {10: 1}
    assert project.hits("total") == {2: 1, 3: 3, 4: 2, 5: 1}
    assert project.hits("double") == {6: 1}


ASYNC = """\
import asyncio
import pytest


async def work(n):
    for i in range(n):
        await asyncio.sleep(0)
    return n


@pytest.mark.{mark}
async def test_work():
    assert await work(3) == 3
"""


@pytest.mark.parametrize("mark", [
    pytest.param("asyncio", marks=needs("pytest_asyncio")),
    pytest.param("anyio", marks=needs("anyio")),
])  # fmt: skip
def test_coroutines(project, mark):
    project.write("tests/test_work.py", ASYNC.format(mark=mark))
    project.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef anyio_backend():\n"
                                 "    return 'asyncio'\n")  # fmt: skip
    ended = project.pytest("--clineprof=tests/test_work.py", "tests/test_work.py", beside=mark)
    assert (ended.code, counts(ended)) == (0, {"passed": 1}), ended.out
    assert project.hits("work") == {6: 4, 7: 3, 8: 1}
    assert project.hits("test_work") == {13: 1}


@needs("pytest_cov")
@pytest.mark.parametrize("core", ["ctrace", "sysmon"])
def test_coverage_beside_it(project, core):
    if core == "sysmon" and sys.version_info < (3, 12):
        pytest.skip("coverage has this core from 3.12 on")
    words = ["--cov=shop", "--cov-report=term-missing"]
    bare = project.pytest(*words, COVERAGE_CORE=core)
    ended = project.pytest(*words, "--clineprof=shop", COVERAGE_CORE=core)
    table = re.compile(r"^shop/.*%.*$", re.M)
    assert table.findall(bare.out) and table.findall(ended.out) == table.findall(bare.out)
    assert "another tool" not in ended.out
    assert project.hits("total") == TOTAL


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="has the probe tracer")
def test_beside_a_trace_function_that_cannot_be_shared(project):
    project.write("conftest.py", UNSHARED)
    project.write("tests/test_limit.py", "import pytest\n\n@pytest.mark.line_limits(hits=1)\n"
                                         "def test_limit():\n    pass\n")
    ended = project.pytest("--clineprof=shop", "-W", "default")
    assert counts(ended) == {"passed": 6}
    why = "another tool has replaced the trace function (sys.settrace) that counts lines on this Python"
    assert f"PytestWarning: line_limits could not be checked: {why}" in ended.out
    assert ended.out.count(why) > 1


def test_what_ran_before_an_interrupt(project):
    project.write("tests/test_aaa.py", "from shop.core import total\n\n\ndef test_aaa():\n"
                                       "    total([1])\n    raise KeyboardInterrupt\n")
    ended = project.pytest("--clineprof=shop.core.total")
    assert ended.code == 2 and project.hits("total") == {2: 1, 3: 2, 4: 1, 5: 1}
    assert "Wrote profile results" in ended.out


def test_a_file_that_takes_all_and_gives_nothing(project):
    ended = project.pytest("--clineprof=shop", "--clineprof-out=/dev/null")
    assert (ended.code, counts(ended)) == (0, {"passed": 5})
    assert "Wrote profile results to '/dev/null'" in ended.out and "for row in rows:" in ended.out


@pytest.mark.parametrize("words", [["--clineprof=shop.core"], ["--clineprof=shop,conf_not.py"],
                                   ["--clineprof=shop/core.py", "--import-mode=importlib"]])
def test_a_conftest_that_changes_directory(project, words):
    (project.folder / "elsewhere").mkdir()
    project.write("conf_not.py", "")
    project.write("conftest.py", "import os\nos.chdir('elsewhere')\n")
    ended = project.pytest(*words)
    assert (ended.code, counts(ended)) == (0, {"passed": 5}), ended.out
    assert project.hits("total") == TOTAL


def test_twice_in_one_process(project):
    project.write("twice.py", """\
import pytest
for name in "one", "two":
    pytest.main(["--clineprof=shop.core.total,tests", f"--clineprof-out={name}.lprof"])
import shop.core
print("consts", shop.core.total.__code__.co_consts)
""")
    path = os.pathsep.join(map(str, [project.site, BUILD / "python", project.folder]))
    ended = run([sys.executable, "twice.py"], project.folder, env={"PYTHONPATH": path})
    assert ended.out.count("5 passed") == 2
    assert project.hits("total", "one.lprof") == project.hits("total", "two.lprof") == TOTAL
    assert "Probe" not in ended.out.split("consts")[1]


def test_under_the_launcher(project):
    path = os.pathsep.join(map(str, [project.site, BUILD / "python", project.folder]))
    ended = run([*ckernprof("-l", "-o", "outer.lprof", "-p", "shop"), "-m", "pytest",
                 "--clineprof=shop.core.total"], project.folder, env={"PYTHONPATH": path})  # fmt: skip
    assert (ended.code, counts_of(ended.out)) == (0, {"passed": 5}), ended.out + ended.err
    assert project.hits("total") == project.hits("total", "outer.lprof") == TOTAL


@pytest.mark.parametrize("target", ["tests/test_shop.py", "tests"])
def test_rewritten_test_modules_under_the_launcher(project, target):
    """The second run takes pytest's rewritten code from __pycache__. What it makes of a failing assert stays."""
    project.write("tests/conftest.py", "def pytest_runtest_setup():\n    assert True\n")
    project.write("tests/test_fails.py", "def test_fails():\n    n = 2\n    assert n == 3\n")
    words = ["-m", "pytest", "-q"]
    env = {"PYTHONPATH": str(project.folder), "PYTHONDONTWRITEBYTECODE": "",
           "PYTEST_ADDOPTS": project.addopts([], None)}  # fmt: skip
    told = re.compile("^E .*|^[a-z/_.]+:[0-9]+: .*", re.M)
    bare = run([sys.executable, *words], project.folder, env=env)
    for _ in range(2):
        ended = run([*ckernprof("-l", "-p", target, "--no-config"), *words], project.folder, env=env)
        assert (ended.code, counts_of(ended.out)) == (1, {"passed": 5, "failed": 1}) and ended.err == "", ended.err
        assert told.findall(ended.out) == told.findall(bare.out) != []
        assert project.hits("test_many") == {16: 9, 17: 6} and project.hits("test_total") == {11: 1}
        assert ("tests/conftest.py" in project.selected()) == (target == "tests")
        project.folder.joinpath("pytest.lprof").unlink()
    assert list((project.folder / "tests" / "__pycache__").glob("test_shop*pytest*"))


def test_the_launcher_costs_no_warning_of_pytest(project):
    """pytest warns of a plugin that was imported before it could rewrite the plugin's asserts."""
    (project.site / "clineprof-0.dist-info" / "RECORD").write_text("".join(
        f"{path.relative_to(BUILD / 'python')},,\n" for path in (BUILD / "python/clineprof").rglob("*.py")))
    project.write("pytest.ini", "[pytest]\nfilterwarnings = error\n")
    path = os.pathsep.join(map(str, [project.site, BUILD / "python", project.folder]))
    env = {"PYTHONPATH": path, "PYTEST_ADDOPTS": project.addopts([], None).replace("-W ignore", "")}
    for words in ["--clineprof=shop"], []:
        ended = run([*ckernprof("-l", "-p", "shop"), "-m", "pytest", *words], project.folder, env=env)
        assert (ended.code, counts_of(ended.out)) == (0, {"passed": 5}), ended.out + ended.err
        assert "arning" not in ended.out + ended.err


def test_switched_off_by_name(project):
    ended = project.pytest("-p", "no:clineprof", "--clineprof")
    assert ended.code == 4 and "unrecognized arguments: --clineprof" in ended.out + ended.err
    ended = project.pytest("-p", "no:clineprof")
    assert (ended.code, counts(ended)) == (0, {"passed": 5})


PYTESTER = """\
pytest_plugins = "pytester"


def test_inner(pytester):
    pytester.makepyfile(test_it="from shop.core import total\\n\\ndef test_it():\\n    total([1, 2])\\n")
    pytester.runpytest_inprocess(%s).assert_outcomes(passed=1)
"""


def test_a_pytest_inside_a_test(project):
    project.write("tests/test_inner.py", PYTESTER % "")
    ended = project.pytest("--clineprof=shop.core.total", "tests/test_inner.py")
    assert (ended.code, counts(ended)) == (0, {"passed": 1}), ended.out
    assert project.hits("total") == {2: 1, 3: 3, 4: 2, 5: 1}


def test_only_the_pytest_inside_a_test(project):
    """It ends in this process: what it began must end with it."""
    project.write("tests/test_inner.py", PYTESTER % "'--clineprof=shop', '--clineprof-out=%s'"
                  % (project.folder / "inner.lprof"))  # fmt: skip
    project.write("tests/test_later.py", """\
import importlib._bootstrap_external as external


def test_later():
    assert type(external.SourceLoader.get_code).__name__ == "function"
""")
    ended = project.pytest("tests/test_inner.py", "tests/test_later.py")
    assert (ended.code, counts(ended)) == (0, {"passed": 2}), ended.out
    assert project.hits("total", "inner.lprof") == {2: 1, 3: 3, 4: 2, 5: 1}


LOADED = """\
import sys


def pytest_unconfigure(config):
    names = sorted(name for name in sys.modules if name.partition(".")[0] == "clineprof")
    print("loaded:", *names)
"""


def test_off_it_loads_one_small_module(project):
    project.write("conftest.py", LOADED)
    ended = project.pytest("-s")
    assert "loaded: clineprof clineprof._pytest\n" in ended.out
    [said] = re.findall("loaded: .*", project.pytest("-s", "--clineprof").out)
    assert "clineprof._core" in said and "clineprof._pytest.limits" not in said


def test_the_entry_point_is_what_is_tested_here():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    table = text.split("[project.entry-points.pytest11]\n")[1].split("\n\n")[0]
    assert "[pytest11]\n" + table.replace('"', "") + "\n" == ENTRY_POINTS


# ---- pytest-xdist ----

xdist = needs("xdist")


@xdist
def test_profiles_of_workers_are_added_up(project):
    ended = project.pytest("-n2", "--clineprof=shop.core.total,tests", TMPDIR=str(project.site))
    assert (ended.code, counts(ended)) == (0, {"passed": 5}), ended.out
    assert project.hits("total") == TOTAL
    assert project.hits("test_many") == {16: 9, 17: 6}
    assert ended.out.count("Hottest lines") == 1
    assert not list(project.site.glob("clineprof-*[!o]"))  # the folder of the workers' profiles


@xdist
def test_bare_beside_paths_for_workers(project):
    project.write("tests/test_dep.py", "def test_dep():\n    pass\n")
    ended = project.pytest("--clineprof", "-n1", "tests/test_shop.py")
    assert (ended.code, counts(ended)) == (0, {"passed": 5}), ended.out
    assert project.hits("total") == TOTAL


@xdist
def test_wrong_targets_in_workers(project):
    ended = project.pytest("-n2", "--clineprof=shop.core.totl,shop.core.total")
    assert ended.code == 4
    assert ("--clineprof: there is no module, class or function 'shop.core.totl'; "
            "did you mean 'shop.core.total'?") in ended.out  # fmt: skip
    assert project.hits("total") == TOTAL


@xdist
def test_stopping_at_the_first_failure_with_workers(project):
    project.write("tests/test_aaa.py", "from shop.core import total\n\n\ndef test_aaa():\n"
                                       "    assert total([1]) == 2\n")
    ended = project.pytest("-x", "-n1", "--clineprof=shop.core.total", "tests/test_aaa.py")
    assert ended.code in (1, 2) and project.hits("total") == {2: 1, 3: 2, 4: 1, 5: 1}, ended.out


@xdist
def test_a_worker_that_dies(project):
    project.write("tests/test_die.py", "import os\n\n\ndef test_die():\n    os._exit(3)\n")
    ended = project.pytest("-n1", "--clineprof=shop.core.total", "tests/test_die.py",
                           "tests/test_shop.py")  # fmt: skip
    assert ended.code == 1 and "the profile lacks what ran in gw0, which did not end normally" in ended.out
    assert project.hits("total") == TOTAL


# ---- line_limits ----



HEAD = """\
import time
import pytest
import shop.core
from shop.core import Cart, total
"""
LIMITED = """

@pytest.mark.line_limits(%s)
def test_limit%d():
    %s
"""


def limits(project, *marks, body="total([1, 2, 3])", head=""):
    """Runs a test of this body under each of the markers."""
    text = HEAD + head
    for number, mark in enumerate(marks):
        text += LIMITED % (mark, number, body.replace("\n", "\n    "))
    project.write("tests/test_limit.py", text)
    return project.pytest("tests/test_limit.py")


def said(ended, number=0):
    """The message of a failed test, which is all of its report."""
    part = re.split(r"^_+ .*test_limit%d _+$" % number, ended.out, flags=re.M)[1]
    return re.split("^(?:=+|_+) ", part, flags=re.M)[0].strip("\n").splitlines()


def test_tests_within_their_limits(project):
    ended = limits(
        project, "hits=4", "time=60", "increment=10 ** 9", "hits=4, functions=total",
        "hits=1, functions=[Cart]", "hits=4, functions='shop.core'", "hits=4, functions=shop.core",
        body="for i in range(3):\n    Cart\ntotal([1, 2, 3])",
    )  # fmt: skip
    assert (ended.code, counts(ended)) == (0, {"passed": 7}), ended.out


def test_hits_of_the_tests_own_lines(project):
    ended = limits(project, "hits=2", body="for i in range(3):\n    total([i])")
    assert (ended.code, counts(ended)) == (1, {"failed": 1})
    assert said(ended) == [
        "line_limits: 2 lines over the limit",
        "  tests/test_limit.py:9: for i in range(3):",
        "      hits 4, allowed 2",
        "  tests/test_limit.py:10: total([i])",
        "      hits 3, allowed 2",
    ]


def test_hits_of_named_functions(project):
    named = ["total", "[total]", "'shop.core.total'", "'shop/core.py'", "shop.core", "[Cart, total]"]
    ended = limits(project, *["hits=3, functions=" + functions for functions in named])
    for number in range(len(named)):
        assert said(ended, number) == [
            "line_limits: 1 line over the limit",
            "  shop/core.py:3: for row in rows:",
            "      hits 4, allowed 3",
        ]


def test_time(project):
    ended = limits(project, "time=0.05, hits=9", body="time.sleep(0.06)")
    head, place, measured = said(ended)
    assert head == "line_limits: 1 line over the limit"
    assert place == "  tests/test_limit.py:9: time.sleep(0.06)"
    assert float(re.fullmatch(r"      time (\S+) s, allowed 0.05 s", measured)[1]) >= 0.06


def test_increment(project):
    ended = limits(project, "increment=2 ** 22",
                   body="kept = bytearray(2 ** 25)\nkept[::4096] = b'x' * 8192")  # fmt: skip
    head, place, measured = said(ended)
    assert place.startswith("  tests/test_limit.py:") and "kept" in place
    grown = re.fullmatch(r"      increment (\S+) bytes, allowed 4,194,304 bytes", measured)[1]
    assert 2**25 <= int(grown.replace(",", "")) < 2**25 + 2**22


LEAK = """\
KEPT = []
def leak():
    KEPT.append(bytes(1000))
    return bytes(1000)
"""
CALLS = "for i in range(20):\n    leak()"


def test_leaks(project):
    ended = limits(project, "leaks=0, functions=leak", body=CALLS, head=LEAK)
    head, place, measured = said(ended)
    assert place == "  tests/test_limit.py:7: KEPT.append(bytes(1000))"
    leaked = re.fullmatch(r"      leaks (\S+) bytes, allowed 0 bytes", measured)[1]
    assert 16 * 1000 <= int(leaked.replace(",", "")) < 20 * 1100


ASKS = """
KEPT = []
def asks():
    bytes(3 << 20)
    KEPT.append(bytes(2 << 20))
"""


def test_limits_on_what_is_allocated_and_kept(project):
    ended = limits(project, "allocated=1 << 20, functions=asks", "live=1 << 20, functions=asks",
                   "allocated=4 << 20, live=4 << 20, functions=asks", body="asks()", head=ASKS)
    assert counts(ended) == {"failed": 2, "passed": 1}, ended.out
    assert [line.split(",")[0] for line in said(ended, 0)[2::2]] == ["      allocated 3", "      allocated 2"]
    assert said(ended, 1)[1].endswith("KEPT.append(bytes(2 << 20))") and len(said(ended, 1)) == 3
    assert said(ended, 1)[2].startswith("      live 2,097,1")


def test_the_smaller_of_two_limits_on_leaks(project):
    for first, second in (0, 10**6), (10**6, 0):
        mark = "leaks=%d, functions=leak)\n@pytest.mark.line_limits(leaks=%d, functions=leak"
        ended = limits(project, mark % (first, second), body=CALLS, head=LEAK)
        assert counts(ended) == {"failed": 1} and said(ended)[2].endswith(" bytes, allowed 0 bytes")


def test_leaks_within_the_limit(project):
    ended = limits(project, "leaks=10 ** 6, functions=leak", body=CALLS, head=LEAK)
    assert (ended.code, counts(ended)) == (0, {"passed": 1}), ended.out


def test_too_few_calls_for_a_verdict_on_leaks(project):
    ended = limits(project, "leaks=0, functions=leak", body="leak()", head=LEAK)
    assert said(ended) == [
        "line_limits: leaks can be found only in functions that the test calls at least 8 times"
    ]


NAMES = (
    "hits, time, raw_time, self, raw_self, awaited, max, error, gc, gc_runs, cpu, wait, queue, "
    "gc_wait, gc_queue, native_time, library, read, written, disk_read, disk_written, faults, major_faults, switches, preemptions, "
    "counter1, counter1_most, counter2, counter2_most, counter3, counter3_most, counter4, counter4_most, "
    + "".join(f"device{n}_{what}, " for n in (1, 2, 3, 4) for what in ("allocated", "freed", "net", "peak", "reserved"))
    + "device_time, device_wait, launches, rss, grown, released, "
    "increment, self_increment, largest, allocated, blocks, live, live_blocks, heap_peak, freed_in_line, leaks"
)
WRONG = [
    ("tme=1", "there is no limit 'tme'; there are " + NAMES),
    ("1", "limits must be given by name: " + NAMES),
    ("", "give at least one limit: " + NAMES),
    ("functions=total", "give at least one limit: " + NAMES),
    ("hits='3'", "hits is a number of executions or blocks, not '3'"),
    ("time=-1", "time is a number of seconds, not -1"),
    ("increment=True", "increment is a number of bytes, not True"),
    ("time=float('nan')", "time is a number of seconds, not nan"),
    ("leaks=0", "leaks needs functions= that the test calls at least 8 times"),
    ("hits=1, functions=len", "functions: <built-in function len> is not Python code"),
    ("hits=1, functions='shop.core.totl'",
     "functions: there is no Python code of 'shop.core.totl'; did you mean 'shop.core.total'?"),
    ("hits=1, functions='tests/no.py'",
     "functions: there is no Python code of 'tests/no.py'; did you mean 'tests/test_shop.py'?"),
    ("hits=1, functions=['shop', 3]", "functions: 3 is not Python code"),
    ("hits=1, functions=type('E', (), {})", "functions: <class 'test_limit.E'> has no Python functions of its own"),
]


def test_wrong_markers_fail_the_test_in_one_line(project):
    ended = limits(project, *[mark for mark, _ in WRONG])
    assert ended.code == 1 and "passed" not in counts(ended)
    for number, (_, line) in enumerate(WRONG):
        assert said(ended, number) == ["line_limits: " + line]


def test_a_module_that_cannot_be_imported(project):
    project.write("shop/broken.py", "1 / 0\n")
    ended = limits(project, "hits=1, functions='shop.broken'")
    assert said(ended) == ["line_limits: functions: 'shop.broken' cannot be imported: "
                           "ZeroDivisionError('division by zero')"]  # fmt: skip


def test_the_tests_own_failure_wins(project):
    ended = limits(project, "hits=0", body="assert total([1]) == 2")
    assert counts(ended) == {"failed": 1} and "line_limits: " not in "".join(said(ended)[2:])
    assert "assert 1 == 2" in ended.out


def test_the_nearest_markers_hold(project):
    project.write("tests/test_near.py", """\
import pytest

pytestmark = pytest.mark.line_limits(hits=1)


def helper():
    for i in range(3):
        pass


def test_module():
    for i in range(3):
        pass


@pytest.mark.line_limits(hits=9)
@pytest.mark.line_limits(hits=2, functions=helper)
def test_own():
    for i in range(3):
        pass


@pytest.mark.line_limits(hits=2, functions=helper)
def test_both():
    helper()


@pytest.mark.line_limits(hits=5)
class TestClass:
    def test_class(self):
        for i in range(3):
            pass

    @pytest.mark.parametrize("n", [3, 9])
    def test_many(self, n):
        for i in range(n):
            pass

    @pytest.mark.xfail(strict=True)
    def test_expected(self):
        for i in range(9):
            pass
""")
    ended = project.pytest("tests/test_near.py", "-rA")
    assert counts(ended) == {"passed": 3, "failed": 3, "xfailed": 1}
    failed = re.findall(r"^FAILED tests/test_near.py::(\S+)", ended.out, re.M)
    assert failed == ["test_module", "test_both", "TestClass::test_many[9]"]


def test_limits_of_decorated_tests_and_of_modules_with_doctests(project):
    project.write("tests/test_more.py", '''\
"""
>>> [n for n in range(9)][0]
0
"""
from unittest import mock
import pytest

pytestmark = pytest.mark.line_limits(hits=3)


@mock.patch("os.getcwd")
def test_patched(getcwd):
    for i in range(5):
        pass
''')
    ended = project.pytest("--doctest-modules", "tests/test_more.py")
    assert counts(ended) == {"passed": 1, "failed": 1}
    assert "test_more.py:13: for i in range(5):" in ended.out


def test_limits_of_unittest_cases_and_their_fixtures(project):
    project.write("tests/test_case.py", """\
import unittest
import pytest


@pytest.mark.line_limits(hits=3)
class Case(unittest.TestCase):
    def setUp(self):
        for i in range(9):
            pass

    def test_few(self):
        for i in range(2):
            pass

    def test_many(self):
        for i in range(5):
            pass
""")
    ended = project.pytest("tests/test_case.py")
    assert counts(ended) == {"passed": 1, "failed": 1}
    assert "test_case.py:16: for i in range(5):" in ended.out and ":8:" not in ended.out


@pytest.mark.parametrize("mark", [
    pytest.param("asyncio", marks=needs("pytest_asyncio")),
    pytest.param("anyio", marks=needs("anyio")),
])  # fmt: skip
def test_limits_of_coroutines(project, mark):
    text = ASYNC.format(mark=mark).replace("@pytest.mark.", "@pytest.mark.line_limits(hits=3, "
                                           "functions=work)\n@pytest.mark.")  # fmt: skip
    project.write("tests/test_work.py", text)
    project.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef anyio_backend():\n"
                                 "    return 'asyncio'\n")  # fmt: skip
    ended = project.pytest("tests/test_work.py", beside=mark)
    assert counts(ended) == {"failed": 1}
    assert "test_work.py:6: for i in range(n):\n      hits 4, allowed 3" in ended.out


def test_one_test_after_the_other_on_the_same_function(project):
    project.write("tests/test_same.py", """\
import pytest
from shop.core import total


@pytest.mark.parametrize("n", range(20))
@pytest.mark.line_limits(hits=10, functions=total)
def test_same(n):
    total(range(n))


def test_code():
    assert total.__code__.co_consts == (None, 0) or total.__code__.co_consts == (0,)
""")
    ended = project.pytest("tests/test_same.py")
    assert counts(ended) == {"passed": 11, "failed": 10}, ended.out


def test_limits_while_the_session_is_profiled(project):
    project.write("tests/test_limit.py", """\
import pytest
from shop.core import total


@pytest.mark.line_limits(hits=3, functions=total)
def test_within():
    total([1, 2])


@pytest.mark.line_limits(hits=3, functions=total)
def test_beyond():
    total([1, 2, 3])
""")
    ended = project.pytest("--clineprof=shop.core.total", "tests/test_limit.py", "tests/test_shop.py")
    assert counts(ended) == {"passed": 6, "failed": 1}
    assert "shop/core.py:3: for row in rows:\n      hits 4, allowed 3" in ended.out
    assert project.hits("total") == {2: 9, 3: 30, 4: 21, 5: 9}


@xdist
def test_limits_in_workers(project):
    project.write("tests/test_limit.py", "import pytest\nfrom shop.core import total\n\n\n"
                  "@pytest.mark.line_limits(hits=3, functions=total)\ndef test_limit():\n"
                  "    total([1, 2, 3])\n")  # fmt: skip
    ended = project.pytest("-n1", "tests/test_limit.py")
    assert counts(ended) == {"failed": 1}
    assert "shop/core.py:3: for row in rows:" in ended.out


@xdist
def test_limits_of_one_test_are_those_of_no_other(project):
    """Two workers, one function."""
    project.write("tests/test_two.py", "import pytest\nfrom shop.core import total\n\n\n"
                  "@pytest.mark.parametrize('n', [1, 2, 3, 4])\n"
                  "@pytest.mark.line_limits(hits=3, functions=total)\ndef test_two(n):\n"
                  "    total([1, 2])\n")  # fmt: skip
    assert counts(project.pytest("-n2", "tests/test_two.py")) == {"passed": 4}


def test_the_marker_is_known(project):
    ended = project.pytest("--strict-markers", "--markers")
    assert "@pytest.mark.line_limits(time, increment, hits, allocated, leaks, functions)" in ended.out


# ---- docs/pytest.md ----

PAGE = (ROOT / "docs" / "pytest.md").read_text("utf-8")


def test_every_option_and_limit_is_on_the_page(project):
    out = project.pytest("--help").out
    options = set(re.findall(r"^ +(--clineprof\S*?)(?:=| |$)", out, re.M))
    assert options == set(re.findall(r"^\| `(--clineprof\S*?)(?:=\w+)?`", PAGE, re.M))
    marker = re.search(r"line_limits\((.*?)\)", project.pytest("--markers").out)[1]
    told = re.findall(r"^\| `(\w+)=\w+`", PAGE, re.M)
    assert told == [name for name in marker.split(", ") if name != "functions"]


def test_a_session_does_not_write_over_one_that_has_ended_meanwhile(project):
    project.write("tests/test_outer.py", """
import subprocess, sys
def test_outer():
    words = [sys.executable, "-m", "pytest", "--clineprof=shop", "tests/test_shop.py"]
    assert subprocess.run(words, capture_output=True).returncode == 0
""")
    ended = project.pytest("--clineprof=shop", "tests/test_outer.py")
    assert ended.code == 0, ended.out
    [own] = re.findall(r"Wrote profile results to '(pytest-\d+\.lprof)'", ended.out)
    assert project.hits("total") == TOTAL and project.profile(own)
