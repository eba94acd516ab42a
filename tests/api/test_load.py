# SPDX-License-Identifier: MIT
"""clineprof.load: a profile in Python."""

import doctest
import os
import re
import sys

import known_profiles as profiles
import pytest
from harness import BUILD as BUILD_FOLDER
from harness import ROOT, run_ckernprof, run_python
from known_profiles import MIB

import clineprof

pytestmark = pytest.mark.once


@pytest.fixture
def profile(tmp_path):
    return clineprof.load(profiles.write_known(tmp_path / "known.lprof"))


def test_functions_and_their_columns(profile):
    assert [(f.file, f.line, f.name, f.total, f.raw_total) for f in profile.functions] == [
        ("app/work.py", 1, "build", 3000000, 3000010),
        ("app/work.py", 5, "main", 3500000, 3500010),
        ("app/work.py", 9, "<lambda>", 500000, 500010),
    ]
    main = profile.functions[1]
    assert main.numbers == [6, 7] and main["hits"] == [4, 3] and main["await"] == [0, 0]
    assert main["self"] == [300000, 200000] and main["raw_self"] == [300010, 200010]
    assert main["increment"] == [0, -MIB] and main["largest"] == [0, -41 * MIB]
    with pytest.raises(KeyError):
        main["no_such"]
    assert profile.unit == 1e-9 and profile.has_memory and profile.timeline == []
    assert profile.meta["command"] == "work.py 1000"


def test_lines(profile):
    first, second = profile.functions[1].lines
    assert (first.line, first.text, first.hits) == (6, "    for i in range(3):", 4)
    assert (second.time, second.raw_time, second.self, second.raw_self, second.max) == (
        3200000, 3200010, 200000, 200010, 1000000,
    )  # fmt: skip
    assert (second.rss, second.grown, second.released, second.increment) == (
        10 * MIB, 40 * MIB, 41 * MIB, -MIB,
    )  # fmt: skip
    assert (second.self_increment, second.largest, second.awaited) == (-MIB, -41 * MIB, 0)
    assert second.function is profile.functions[1]
    assert repr(second) == "<clineprof.Line 7 of main>"


def test_time_suspended_at_a_line(tmp_path):
    rows = [{"line": 2, "hits": 1, "await": 7}]
    path = profiles.write(tmp_path / "p", [profiles.function("f.py", 1, "f", rows)])
    [line] = clineprof.load(path).functions[0].lines
    assert line.awaited == 7 and line.self == 0 and line.text is None


def test_hottest_lines(profile):
    def found(*arguments, **more):
        return [(line.function.name, line.line) for line in profile.hottest(*arguments, **more)]

    assert found(2) == [("build", 2), ("build", 3)]
    assert found() == [("build", 2), ("build", 3), ("<lambda>", 9), ("main", 6), ("main", 7)]
    assert found(by="time")[0] == ("main", 7)
    assert found(by="increment") == [("build", 2), ("<lambda>", 9)]  # none that shrank or stayed
    assert found(by="await") == []
    with pytest.raises(KeyError):
        profile.hottest(by="no_such")


def test_a_file_without_own_times(tmp_path):
    """As line_profiler's: time stands in for them."""
    rows = [{"line": 2, "hits": 1, "time": 5}, {"line": 3, "hits": 1, "time": 9}]
    path = profiles.write(tmp_path / "p", [profiles.function("f.py", 1, "f", rows)])
    profile = clineprof.load(path)
    assert profile.own == "time" and [line.line for line in profile.hottest()] == [3, 2]


def test_texts_end_where_python_ends_lines(tmp_path):
    f = profiles.function("f.py", 4, "f", [{"line": 5, "hits": 1}])
    source = [profiles.text(f, "def f():\r\n    a = '\x0b\u2028'\r    b\n")]
    [function] = clineprof.load(profiles.write(tmp_path / "p", [f], source)).functions
    assert function.texts() == {4: "def f():", 5: "    a = '\x0b\u2028'", 6: "    b"}


def test_timings_are_those_of_line_profiler(tmp_path, script):
    """LineStats of the same file, written and read by line_profiler itself."""
    line_profiler = pytest.importorskip("line_profiler", reason="line_profiler is not installed")
    script(profiles.WORK, "app/work.py")
    made = clineprof.load(profiles.write_known(tmp_path / "known.lprof"))
    theirs = line_profiler.line_profiler.LineStats(made.timings, made.unit)
    theirs.to_file(str(tmp_path / "theirs.lprof"))
    again = line_profiler.load_stats(str(tmp_path / "theirs.lprof"))
    assert again.timings == made.timings == {
        ("app/work.py", 1, "build"): [(2, 3, 2000000), (3, 3, 1000000)],
        ("app/work.py", 5, "main"): [(6, 4, 300000), (7, 3, 3200000)],
        ("app/work.py", 9, "<lambda>"): [(9, 5, 500000)],
    }
    assert again.unit == made.unit


def test_columns_are_a_table(profile):
    table = profile.columns()
    assert {len(column) for column in table.values()} == {5}
    assert table["function"] == ["build", "build", "main", "main", "<lambda>"]
    assert table["self_ns"] == [2000000, 1000000, 300000, 200000, 500000]
    assert table["increment_bytes"] == [40 * MIB, 0, 0, -MIB, 4096]
    assert table["text"][3] == "        build(1000)"
    assert not any(name.endswith("bytes") for name in profile.columns(memory=False))


def test_to_pandas(profile):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = profile.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == list(profile.columns())
    assert frame.query("function == 'main'").time_ns.tolist() == [300000, 3200000]


def test_to_pandas_without_pandas_says_what_to_do(profile, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas"):
        profile.to_pandas()


def test_the_largest_numbers_arrive_whole(tmp_path):
    profile = clineprof.load(profiles.write_hostile(tmp_path / "p"))
    line = profile.functions[0].lines[0]
    assert (line.hits, line.rss, line.largest) == (2**63, 2**64 - 1, -(2**63))
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert profile.to_pandas().rss_bytes.tolist() == [2**64 - 1] * len(profile.functions)
    assert isinstance(profile.to_pandas(), pandas.DataFrame)


@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.speedscope.json", "x.collapsed", "x.pstats",
                                  "x.pclprof", "x.cpuprofile", "x.heapprofile"])  # fmt: skip
def test_write_by_ending(profile, tmp_path, name):
    """The same bytes as the command's."""
    from harness import run_viewer

    profile.write(tmp_path / name)
    kind = name.split(".")[1]
    run_viewer(["--format", kind, "-o", "theirs", "known.lprof"], tmp_path)
    os.chdir(tmp_path)  # the addresses of relative files
    profile.write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.fixture(autouse=True)
def here():
    """Wherever a test goes, the next starts where this one did."""
    folder = os.getcwd()
    yield
    os.chdir(folder)


def test_write_by_name_and_with_options(profile, tmp_path):
    profile.write(str(tmp_path / "out"), "collapsed", raw_times=True)
    assert "work.py:build:2 2000010\n" in (tmp_path / "out").read_text()


@pytest.mark.parametrize("path, options, why", [
    ("out", {}, "out: no format has this ending"), ("x.json", {"format": "no"}, "no format is called 'no'"),
    ("x.heapprofile", {"memory": False}, "this profile has no memory"),
])  # fmt: skip
def test_write_refuses_and_keeps_what_was_there(profile, tmp_path, path, options, why):
    os.chdir(tmp_path)
    (tmp_path / path).write_text("kept")
    with pytest.raises(ValueError, match=why):
        profile.write(path, **options)
    assert (tmp_path / path).read_text() == "kept"


def test_write_where_it_cannot(profile, tmp_path):
    (tmp_path / "folder.json").mkdir()
    for path in tmp_path / "no" / "x.json", tmp_path / "folder.json":
        with pytest.raises(OSError):
            profile.write(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.json", "known.lprof"]


def test_a_disk_that_is_full(profile, tmp_path):
    """What was there stays, and nothing else is left."""
    (tmp_path / "x.csv").write_text("kept")
    ended = run_python(["-c", (
        "import clineprof, resource\n"
        "profile = clineprof.load('known.lprof')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "profile.write('x.csv')\n"
    )], tmp_path, env={"PYTHONPATH": str(BUILD_FOLDER / "python")})  # fmt: skip
    assert "File too large" in ended.err and ended.code == 1
    assert (tmp_path / "x.csv").read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["known.lprof", "x.csv"]


def test_numbers_that_json_does_not_have(profile, tmp_path):
    profile.meta["start"] = float("nan")
    with pytest.raises(ValueError):
        profile.write(tmp_path / "x.json")


def test_write_into_a_pipe(profile, tmp_path):
    """What is no file is written to, not replaced. (A pipe of the test's own: code that gets this
    wrong, run as root, would replace /dev/stdout for the whole machine.)"""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        profile.write(tmp_path / "pipe", "collapsed")
        assert os.read(reader, 4096).startswith(b"app/work.py:build;")
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_several_files_are_summed(tmp_path):
    paths = [profiles.write(tmp_path / str(pid), [profiles.BUILD], meta={**profiles.WORK_META, "pid": pid})
             for pid in (7, 8, 9)]  # fmt: skip
    profile = clineprof.load(paths[0], str(paths[1]), os.fsencode(paths[2]), paths[0])
    build = profile.functions[0]
    assert build["hits"] == [9, 9] and build["max"] == [900000, 400000]
    assert [process["pid"] for process in profile.processes] == [7, 8, 9]


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(FileNotFoundError):
        clineprof.load(tmp_path / "none.lprof")
    (tmp_path / "text").write_text("no profile")
    with pytest.raises(ValueError) as caught:
        clineprof.load(tmp_path / "text")
    assert "text" in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(TypeError):
        clineprof.load()


def test_a_real_run(script, tmp_path):
    path = script("@profile\ndef f(n):\n    for i in range(n):\n        g(i)\n\n"
                  "@profile\ndef g(i):\n    return i\nf(9)\n")  # fmt: skip
    run_ckernprof(["-l", path], tmp_path)
    f, g = clineprof.load(tmp_path / "program.py.lprof").functions
    assert (f.name, f["hits"], g.name, g["hits"]) == ("f", [10, 9], "g", [9])
    assert f.total >= g.total > 0 and g.texts()[8] == "    return i"


def test_the_names_of_the_package():
    assert set(clineprof.__all__) <= set(dir(clineprof))
    for name in clineprof.__all__:
        assert getattr(clineprof, name) is not None
    assert clineprof.__version__ and "__version__" in dir(clineprof)
    with pytest.raises(AttributeError, match="module 'clineprof' has no attribute 'profil'") as caught:
        clineprof.profil
    assert (caught.value.name, caught.value.obj) == ("profil", clineprof)  # so that "Did you mean" is told
    for name in "keep", "join", "Selection":  # of the C module, for the package itself
        assert not hasattr(clineprof, name)


def test_the_type_stub_has_the_names_of_the_package():
    stub = (ROOT / "src" / "clineprof" / "__init__.pyi").read_text()
    public = set(re.findall(r"^(?:class |def |)([A-Za-z]\w*)(?=[:(])", stub, re.M)) | {"__version__"}
    assert public <= set(dir(clineprof))


def test_the_examples_in_the_docstrings(tmp_path):
    pytest.importorskip("pandas", reason="pandas is not installed")
    from clineprof import _profile

    text = "def build(n):\n    '''Sums.'''\n    table = list(range(n))\n    return sum(table)\n"
    build = profiles.function("demo.py", 1, "build", [
        {"line": 3, "hits": 1, "time": 2000000, "self": 2000000},
        {"line": 4, "hits": 1, "time": 1000000, "self": 1000000},
    ])  # fmt: skip
    main = profiles.function("demo.py", 6, "main", [{"line": 7, "hits": 1, "self": 500000}])
    profiles.write(tmp_path / "demo.lprof", [build, main], [profiles.text(build, text)])
    os.chdir(tmp_path)
    failed, tried = doctest.testmod(_profile)
    assert tried >= 6 and failed == 0
