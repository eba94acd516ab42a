# SPDX-License-Identifier: MIT
"""--mp: memory_profiler's table, beside the original."""
import re

import pytest
from harness import SANITIZED, run_ckernprof, run_python, run_viewer

pytestmark = pytest.mark.skipif(SANITIZED, reason="AddressSanitizer keeps freed memory")

PROGRAM = '''
@profile
def work(n):
    a = [1] * (10 ** 6)
    b = bytearray(30 << 20)
    for i in range(n):
        c = 1
    if n > 100:
        never = 1
    del b

    # a comment
    return a

@profile
def second(text="é"):
\tx = """a string
  over two lines"""
\treturn x

@profile
def third():
    pass

def kept(): return third

work(3)
second()
'''


@pytest.fixture
def ran(script):
    path = script(PROGRAM)
    ended = run_ckernprof(["-l", "program.py"], path.parent,
                          env={"MALLOC_MMAP_THRESHOLD_": "131072"})
    assert (ended.err, ended.code) == ("", 0)
    return path


def numbers(table):
    """The values in MiB of each row, and the table without them."""
    found = [[float(value) for value in re.findall(r"(-?[\d.]+) MiB", row)]
             for row in table.splitlines()]
    return found, re.sub(r" *-?[\d.]+ MiB", " # MiB", table)


def test_it_is_theirs(ran):
    pytest.importorskip("memory_profiler")
    theirs = run_python(["-m", "memory_profiler", "program.py"], ran.parent,
                        env={"MALLOC_MMAP_THRESHOLD_": "131072"})
    assert theirs.code == 0, theirs.err
    ours = run_viewer(["--mp", "program.py.lprof"], ran.parent)
    assert (ours.err, ours.code) == ("", 0)
    (our_values, our_text), (their_values, their_text) = numbers(ours.out), numbers(theirs.out)
    assert our_text == their_text
    # the program grows alike, from wherever it starts
    first = 4  # the first row
    start, their_start = our_values[first][0], their_values[first][0]
    for mine, other in zip(our_values, their_values):
        assert len(mine) == len(other)
        if mine:
            assert abs((mine[0] - start) - (other[0] - their_start)) < 0.5, (mine, other)
            assert abs(mine[1] - other[1]) < 0.5 or mine[0] == mine[1], (mine, other)
    # every column is as wide as theirs
    assert [len(row) for row in ours.out.splitlines()] == [
        len(row) for row in theirs.out.splitlines()]


WRONG = """
@profile
def inner():
    return bytearray(10 << 20)

@profile
def outer():
    held = bytearray(24 << 20)
    block = inner()    # nested
    return len(held)

@profile
def recursive(n):
    kept.append(bytearray(2 << 20))
    if n:
        recursive(n - 1)    # recursion
    return n

kept = []
outer()
recursive(3)
"""


def increment_at(table, mark):
    [row] = [row for row in table.splitlines() if row.endswith("# " + mark)]
    return float(re.findall(r"(-?[\d.]+) MiB", row)[1])


def test_where_theirs_is_wrong(script):
    """A call has what it took, 10 MiB; theirs has all that the process held when it ended. Of a
    recursion theirs has nothing; three of the four levels lie below the line."""
    pytest.importorskip("memory_profiler")
    path = script(WRONG)
    steady = {"MALLOC_MMAP_THRESHOLD_": "131072"}
    theirs = run_python(["-m", "memory_profiler", path], path.parent, env=steady).out
    assert run_ckernprof(["-l", path], path.parent, env=steady).code == 0
    ours = run_viewer(["--mp", "program.py.lprof"], path.parent).out
    assert increment_at(theirs, "nested") > 34
    assert increment_at(ours, "nested") == pytest.approx(10, abs=0.1)
    assert increment_at(theirs, "recursion") == pytest.approx(0, abs=0.1)
    assert increment_at(ours, "recursion") == pytest.approx(6, abs=0.1)


def test_the_table(ran):
    out = run_viewer(["--mp", "--function", "work", "program.py.lprof"], ran.parent).out
    first, *rows = out.splitlines()[4:]
    assert out.startswith(
        "Filename: program.py\n\n"
        "Line #    Mem usage    Increment  Occurrences   Line Contents\n" + "=" * 61 + "\n")
    entry, again = re.fullmatch(
        r"     2 +([\d.]+) MiB +([\d.]+) MiB           1   @profile", first).groups()
    assert entry == again and re.fullmatch(r"\d+\.\d{3}", entry)
    assert rows[0] == "     3" + " " * 41 + "def work(n):"
    assert re.fullmatch(r"     5 +[\d.]+ MiB   30\.\d{3} MiB           1       b = bytearray.*", rows[2])
    assert re.fullmatch(r"     6 +[\d.]+ MiB    0\.000 MiB           4       for i in .*", rows[3])
    assert re.fullmatch(r"    10 +[\d.]+ MiB  -30\.\d{3} MiB           1       del b", rows[7])
    assert rows[6] == "     9" + " " * 41 + "        never = 1"
    assert out.endswith("    return a\n\n\n") and out.count("Filename") == 1


def test_as_the_program_ends(script):
    path = script(PROGRAM)
    ended = run_ckernprof(["-l", "-v", "--mp", "--precision", "1", "program.py"], path.parent)
    assert (ended.err, ended.code) == ("", 0)
    assert ended.out.count("Filename: program.py\n") == 2 and "Per Hit" not in ended.out
    assert re.search(r"^     5 {5,}[\d.]+\d MiB     30\.[01] MiB           1       b =", ended.out, re.M)
    viewed = run_viewer(["--mp", "--precision=1", "program.py.lprof"], path.parent)
    assert ended.out.endswith(viewed.out)


def test_into_a_file_and_from_a_config(ran):
    (ran.parent / "clineprof.toml").write_text("[tool.clineprof.cli]\nmp = true\nprecision = 0\n")
    ended = run_viewer(["-o", "table.txt", "program.py.lprof"], ran.parent)
    if "tomli" in ended.err:
        pytest.skip("Python 3.10 without tomli reads no config files")
    assert (ended.out, ended.err, ended.code) == ("", "", 0)
    assert re.search(r"^     5 +\d+ MiB +30 MiB +1 ", (ran.parent / "table.txt").read_text(), re.M)
    back = run_viewer(["--no-mp", "program.py.lprof"], ran.parent)
    assert "Per Hit" in back.out


def test_without_memory(script):
    path = script(PROGRAM)
    said = "--mp: the profile has no memory; it was made without\n"
    ended = run_ckernprof(["-l", "-v", "--no-memory", "--mp", "program.py"], path.parent)
    assert (ended.err, ended.code) == ("ckernprof: " + said, 0)
    viewed = run_viewer(["--mp", "program.py.lprof"], path.parent)
    assert (viewed.out, viewed.err, viewed.code) == ("", "clineprof: " + said, 1)


@pytest.mark.once
@pytest.mark.parametrize("value, said", [
    ("10", "needs 9 at most, not '10'"),
    ("-1", "needs a whole number such as 10, not '-1'"),
    ("x", "needs a whole number such as 10, not 'x'"),
])
def test_bad_precision(value, said, tmp_path):
    ended = run_viewer(["--mp", "--precision", value, "a.lprof"], tmp_path)
    assert (ended.out, ended.code) == ("", 2)
    assert ended.err == f"clineprof: option '--precision' {said}; see clineprof --help\n"
