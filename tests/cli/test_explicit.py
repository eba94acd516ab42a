# SPDX-License-Identifier: MIT
"""Programs with `from line_profiler import profile` under ckernprof, as they run under kernprof; and those with
memory_profiler's `profile`."""
import marshal

import pytest
from harness import BUILD, run_ckernprof, run_python

PROGRAM = """\
import inspect
from line_profiler import profile
from line_profiler.explicit_profiler import GlobalProfiler

@profile
def spam(n):
    for i in range(n):
        pass

spam(3)
print(profile.enabled, inspect.getsource(GlobalProfiler).startswith("class GlobalProfiler"))
"""
HITS = {"spam": {7: 4, 8: 3}}
# Where the original is not installed: what of it the launcher deals with.
STAND_IN = """\
class GlobalProfiler:
    enabled = False

    def _kernprof_overwrite(self, profile):
        self._profile, self.enabled = profile, True

    def __call__(self, function):
        return self._profile(function) if self.enabled else function

    def show(self):
        self._profile.print_stats(summarize=True, details=False)
        self._profile.dump_stats("shown.lprof")

profile = GlobalProfiler()
"""


def hits(ended, name="it.py.lprof"):
    return {key[2]: {line: n for line, n in lines.items() if n}
            for key, lines in ended.profile(name).hits().items()}


@pytest.fixture
def program(tmp_path):
    """program(text, original=False): a folder with it.py, which finds a line_profiler."""

    def program(text, original=False):
        if original:
            pytest.importorskip("line_profiler")
        else:
            (tmp_path / "line_profiler").mkdir()
            (tmp_path / "line_profiler/__init__.py").write_text(
                "from line_profiler.explicit_profiler import profile\n")
            (tmp_path / "line_profiler/explicit_profiler.py").write_text(STAND_IN)
        (tmp_path / "it.py").write_text(text)
        return tmp_path

    return program


@pytest.mark.parametrize("original", [True, False], ids=["original", "stand-in"])
def test_its_profile_is_the_launchers(program, original):
    folder = program(PROGRAM, original)
    ended = run_ckernprof(["-l", "it.py"], folder)
    assert (ended.code, ended.err, ended.out.splitlines()[0]) == (0, "", "True True")
    assert hits(ended) == HITS
    assert run_python(["it.py"], folder).out == "False True\n"  # what it is without the launcher


def test_from_the_cache_too(program):
    folder = program(PROGRAM)
    for _ in range(2):
        ended = run_ckernprof(["-l", "it.py"], folder, env={"PYTHONDONTWRITEBYTECODE": ""})
        assert (ended.code, ended.err, hits(ended)) == (0, "", HITS)
    assert list(folder.glob("line_profiler/__pycache__/explicit_profiler*"))
    assert run_python(["it.py"], folder).out == "False True\n"


def test_where_the_set_up_has_imported_it(program):
    folder = program(PROGRAM)
    (folder / "first.py").write_text("import line_profiler\n")
    ended = run_ckernprof(["-l", "-s", "first.py", "it.py"], folder)
    assert (ended.code, ended.err, hits(ended)) == (0, "", HITS)


@pytest.mark.parametrize("original", [True, False], ids=["original", "stand-in"])
def test_it_shows_what_was_counted(program, original):
    text = PROGRAM + "profile.show()\n"
    ended = run_ckernprof(["-l", "it.py"], program(text, original))
    assert (ended.code, ended.err) == (0, "") and " - spam\n" in ended.out
    assert hits(ended) == HITS


def test_a_module_of_that_name_without_a_profile_is_let_be(program):
    folder = program("import line_profiler.explicit_profiler as it\nprint(it.spam)\n")
    (folder / "line_profiler/__init__.py").write_text("")
    (folder / "line_profiler/explicit_profiler.py").write_text("spam = 5\n")
    ended = run_ckernprof(["-l", "it.py"], folder)
    assert (ended.code, ended.out.splitlines()[0]) == (0, "5")


def test_an_error_within_it_is_its_own(program):
    folder = program("import line_profiler.explicit_profiler\n")
    (folder / "line_profiler/__init__.py").write_text("")
    (folder / "line_profiler/explicit_profiler.py").write_text("1 / 0\n")
    ended = run_ckernprof(["-l", "it.py"], folder)
    assert ended.code == 1 and "explicit_profiler.py\", line 1, in <module>\n" in ended.err
    assert "ZeroDivisionError: division by zero" in ended.err and "clineprof/" not in ended.err


# ---- memory_profiler ----

MEMORY = """\
from {module} import profile

@profile
def spam(n):
    for i in range(n):
        pass

@profile(precision=4)
def eggs():
    return spam(3)

eggs()
"""
MEMORY_HITS = {"spam": {5: 4, 6: 3}, "eggs": {10: 1}}
MEMORY_STAND_IN = """\
class CodeMap:
    pass

def profile(func=None, stream=None, precision=1, backend="psutil"):
    print("its own")
    return func if func is not None else lambda function: function
"""


def memory_program(folder, module):
    """Writes it.py, which uses `profile` of a module: clineprof's, or a stand-in where the original is not
    installed."""
    (folder / "memory_profiler.py").write_text(MEMORY_STAND_IN)
    (folder / "it.py").write_text("import sys\nsys.path.insert(0, %r)\n" % str(BUILD / "python")
                                  * module.startswith("clineprof") + MEMORY.format(module=module))  # fmt: skip


@pytest.mark.parametrize("module", ["memory_profiler", "clineprof.memory_profiler"])
def test_memory_profilers_profile_is_the_launchers(tmp_path, module):
    memory_program(tmp_path, module)
    more = 2 * module.startswith("clineprof")
    expected = {name: {line + more: n for line, n in lines.items()} for name, lines in MEMORY_HITS.items()}
    ended = run_ckernprof(["-l", "it.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "") and "its own" not in ended.out and "Mem usage" not in ended.out
    assert hits(ended) == expected
    (tmp_path / "first.py").write_text("import %s\n" % module)
    ended = run_ckernprof(["-l", "-s", "first.py", "it.py"], tmp_path)
    assert hits(ended) == expected


def test_the_original_memory_profiler(tmp_path):
    pytest.importorskip("memory_profiler")
    (tmp_path / "it.py").write_text(MEMORY.format(module="memory_profiler"))
    ended = run_ckernprof(["-l", "it.py"], tmp_path)
    assert (ended.code, ended.err, hits(ended)) == (0, "", MEMORY_HITS) and "Mem usage" not in ended.out


@pytest.mark.parametrize("words", [[], ["-b"]], ids=" ".join)
def test_where_no_lines_are_counted_memory_profilers_profile_is_let_be(tmp_path, words):
    memory_program(tmp_path, "memory_profiler")
    ended = run_ckernprof([*words, "it.py"], tmp_path)
    assert ended.code == 0 and "its own" in ended.out


def test_a_programs_own_module_called_memory_profiler_is_let_be(tmp_path):
    memory_program(tmp_path, "memory_profiler")
    (tmp_path / "memory_profiler.py").write_text(MEMORY_STAND_IN.replace("CodeMap", "Other"))
    ended = run_ckernprof(["-l", "it.py"], tmp_path)
    assert ended.code == 0 and "its own" in ended.out


# ---- ckernprof -b ----

CALLS = """\
from {module} import profile

@profile
def spam(n):
    return n

print([spam(i) for i in range(3)])
"""
SHOWN = """
import builtins
with builtins.profile:
    profile.show()
    spam(4)
"""


def calls(path):
    """{name: calls} of a pstats file."""
    return {key[2]: numbers[1] for key, numbers in marshal.loads(path.read_bytes()).items()}


@pytest.mark.parametrize("original", [True, False], ids=["original", "stand-in"])
def test_it_is_that_of_a_function_profile_too(program, original):
    folder = program(CALLS.format(module="line_profiler"), original)
    ended = run_ckernprof(["-b", "it.py"], folder)
    assert (ended.code, ended.err, ended.out.splitlines()[0]) == (0, "", "[0, 1, 2]")
    assert calls(folder / "it.py.prof") == {"spam": 3}


def test_where_the_set_up_has_imported_it_for_a_function_profile(program):
    folder = program(CALLS.format(module="line_profiler"))
    (folder / "first.py").write_text("import line_profiler\n")
    ended = run_ckernprof(["-b", "-s", "first.py", "it.py"], folder)
    assert (ended.code, ended.err, calls(folder / "it.py.prof")) == (0, "", {"spam": 3})


def test_without_builtin_it_is_let_be(program):
    folder = program(CALLS.format(module="line_profiler") + "print(profile.enabled)\n")
    ended = run_ckernprof(["it.py"], folder)
    assert (ended.code, ended.err) == (0, "") and "False\n" in ended.out


@pytest.mark.parametrize("original", [True, False], ids=["original", "stand-in"])
def test_a_function_profile_is_shown_and_goes_on(program, original):
    folder = program(CALLS.format(module="line_profiler")
                     + SHOWN, original)
    ended = run_ckernprof(["-b", "it.py"], folder)
    assert (ended.code, ended.err) == (0, "") and " function calls in " in ended.out
    [shown] = folder.glob("*.lprof")
    assert calls(shown)["spam"] == 3
    assert calls(folder / "it.py.prof")["spam"] == 4


OUR_OWN = CALLS.format(module="clineprof") + """
with profile:
    sorted([2, 1])
with profile.block("a name"):
    len([])
"""


def test_clineprofs_own_profile_counts_calls(tmp_path):
    (tmp_path / "it.py").write_text("import sys\nsys.path.insert(0, %r)\n" % str(BUILD / "python")
                                    + OUR_OWN)
    ended = run_ckernprof(["-b", "it.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    found = calls(tmp_path / "it.py.prof")
    assert (found["spam"], found["<built-in method builtins.sorted>"],
            found["<built-in method builtins.len>"]) == (3, 1, 1)
    assert not [name for name in found if "_calls" in name or name == "__exit__"]
