# SPDX-License-Identifier: MIT
"""Profiles of many ranks, added up in one process and as a tree, as the reduction of an engine does it."""

import random
import re

import msgpack
import pytest
from harness import BUILD as CHECKOUT
from harness import Profile, run_python, run_viewer
from known_profiles import function, text, write

pytestmark = pytest.mark.once  # profiles are added up, whoever counted

RANKS = 300
TREE = """\
import sys
import clineprof

fan_in, out, *paths = sys.argv[1:]
level = [open(path, "rb").read() for path in paths]
while len(level) > 1:
    level = [clineprof.merge(*level[i : i + int(fan_in)]) for i in range(0, len(level), int(fan_in))]
open(out, "wb").write(level[0])
"""


def write_rank(folder, rank, name=None, version=0, hits=None, **meta):
    """In rank n the second line has n + 1 hits and n + 1 us, and the third or the fourth line one hit."""
    hits = hits or rank + 1
    one = function("a.py", 1, "f", [{"line": 2, "hits": hits, "time": hits * 1000, "self": hits * 1000},
                                    {"line": 3 + rank % 2, "hits": 1, "time": 7, "self": 7}])  # fmt: skip
    meta = {"pid": 100 + rank % 8, "host": f"node{rank // 8}", "boot": f"boot{rank // 8}", "pid_namespace": 4,
            "start": 5.0 + rank, "rank": str(rank), "events": rank + 10, **meta}  # fmt: skip
    return write(folder / (name or f"{rank}.lprof"), [one], [text(one, f"def f():\n    a{version}\n    b\n    c\n")], meta)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(RANKS):
        write_rank(folder, rank)
    return folder


def tree(folder, fan_in, names, out, code=0):
    """The content of the sum of profiles in `folder`, of which each call adds up fan_in at most."""
    (out / "tree.py").write_text(TREE)
    ended = run_python(["tree.py", str(fan_in), "tree.lprof", *(str(folder / name) for name in names)], out,
                       env={"PYTHONPATH": str(CHECKOUT / "python")})  # fmt: skip
    assert ended.code == code, ended.err
    return (out / "tree.lprof").read_bytes() if code == 0 else ended.err


def flat(folder, names, out):
    ended = run_viewer(["merge", "-o", "flat.lprof", *(str(folder / name) for name in names)], out)
    assert (ended.code, ended.err) == (0, "")
    return (out / "flat.lprof").read_bytes()


def facts(content):
    """{(function, line): (hits, self time, least, most, rank of least, rank of most, processes)}, and the ranks."""
    profile = msgpack.unpackb(content)
    rows, found = profile["processes"], {}
    for one in profile["functions"]:
        columns, spread = one["lines"], one["spread"]
        for i, line in enumerate(columns["line"]):
            least, most, least_in, most_in, count = spread[5 * i : 5 * i + 5]
            who = (rows[least_in]["rank"], rows[most_in]["rank"]) if most > least else None
            found[one["name"], line] = (columns["hits"][i], columns["self"][i], least, most, who, count)
    return found, sorted(int(row["rank"]) for row in rows)


def right(count):
    total = count * (count + 1) // 2
    odd, even = count // 2, count - count // 2
    return {("f", 2): (total, total * 1000, 1000, count * 1000, ("0", str(count - 1)), count),
            ("f", 3): (even, 7 * even, 7, 7, None, even),
            ("f", 4): (odd, 7 * odd, 7, 7, None, odd)}, list(range(count))  # fmt: skip


NAMES = [f"{rank}.lprof" for rank in range(RANKS)]


@pytest.mark.parametrize("fan_in", [2, 7, 32])
def test_a_tree_and_one_merge_make_the_same_file(ranks, tmp_path, fan_in):
    whole = flat(ranks, NAMES, tmp_path)
    assert facts(whole) == right(RANKS)
    assert sum("numbers" in row for row in msgpack.unpackb(whole)["processes"]) == 256
    assert tree(ranks, fan_in, NAMES, tmp_path) == whole


@pytest.mark.parametrize("seed", [1, 2])
def test_in_any_order(ranks, tmp_path, seed):
    names = NAMES[:]
    random.Random(seed).shuffle(names)
    assert facts(flat(ranks, names, tmp_path)) == facts(tree(ranks, 7, names, tmp_path)) == right(RANKS)


@pytest.mark.parametrize("place", [0, 150, RANKS])
@pytest.mark.parametrize("rank, early", [(3, {}), (3, {"hits": 1, "events": 2}), (280, {})])
def test_a_copy_in_another_branch_counts_once(ranks, tmp_path, place, rank, early):
    """Whether it is as new as the other one or was made earlier."""
    copy = write_rank(tmp_path, rank, "copy.lprof", **early)
    names = [*NAMES[:place], copy, *NAMES[place:]]
    assert facts(tree(ranks, 7, names, tmp_path)) == facts(flat(ranks, names, tmp_path)) == right(RANKS)


def test_large_sums_that_share_a_process(ranks, tmp_path):
    """A sum of more than 256 processes cannot be taken apart. One that can, or the process's own file, gives way."""
    whole = tmp_path / "whole.lprof"
    whole.write_bytes(flat(ranks, NAMES, tmp_path))
    some = tmp_path / "some.lprof"
    some.write_bytes(flat(ranks, NAMES[:9], tmp_path))
    for names in [whole, some], [some, whole], [ranks / "299.lprof", whole], [whole, "0.lprof", some]:
        assert facts(flat(ranks, names, tmp_path)) == right(RANKS)
    newer = write_rank(tmp_path, 3, "newer.lprof", events=99)
    for names in [whole, newer], [newer, whole]:
        ended = run_viewer(["merge", "-o", "x.lprof", *map(str, names)], tmp_path)
        assert (ended.code, ended.err) == (
            1, f"clineprof: {whole}: process 103 is in another file, too, and this file has no numbers of each process; "
            "leave out one of the two files\n")  # fmt: skip
    assert "ValueError: profile 2: process 103 is in" in tree(tmp_path, 2, [newer, whole], tmp_path, code=1)


def test_equal_numbers_on_many_machines(tmp_path):
    """Processes of one number and start are told apart by the machine, copies of each are found."""
    for rank in range(9):
        write_rank(tmp_path, rank, start=5.0, pid=1, boot=f"boot{rank}")
    names = [f"{rank}.lprof" for rank in range(9)]
    assert facts(flat(tmp_path, [*names, "0.lprof", "8.lprof", "4.lprof"], tmp_path)) == right(9)


def test_a_rank_that_was_started_again(ranks, tmp_path):
    again = write_rank(tmp_path, 5, "again.lprof", start=99.0, restart=1)
    found, there = facts(tree(ranks, 3, [*NAMES[:20], again], tmp_path))
    assert found["f", 2][0] == 210 + 6 and there == sorted([*range(20), 5])


# ---- sources that differ -----------------------------------------------------------------------


@pytest.fixture
def versions(tmp_path):
    """Ranks 0, 3 and so on ran one version of the function, ranks 1, 4, .. the second, and 2, 5, .. the third."""
    for rank in range(30):
        write_rank(tmp_path, rank, version=rank % 3)
    return tmp_path


def by_text(path):
    profile = Profile(path)
    hits = profile.hits()
    return {re.search(r"a\d", source).group(): hits[key][2] for key, source in profile.sources().items()}


EACH = {f"a{version}": sum(range(version + 1, 31, 3)) for version in range(3)}


@pytest.mark.parametrize("fan_in", [2, 7])
def test_versions_stay_apart(versions, fan_in):
    tree(versions, fan_in, NAMES[:30], versions)
    assert by_text(versions / "tree.lprof") == EACH


def test_versions_stay_apart_when_a_sum_is_taken_apart(versions):
    """Without the process that is also in the other branch, the others still have their own versions."""
    tree(versions, 16, [*NAMES[:30], "1.lprof"], versions)
    assert by_text(versions / "tree.lprof") == EACH


def test_one_process_of_a_sum_shows_its_own_version(versions):
    tree(versions, 30, NAMES[:30], versions)
    shown = run_viewer(["--by", "rank", "--columns", "hits", "tree.lprof"], versions).out
    assert re.findall(r"^ +2 +\d+ +(a\d)$", shown, re.M)[:4] == ["a0", "a1", "a2", "a0"], shown


def test_a_damaged_hash_is_left_out(tmp_path):
    one = function("a.py", 1, "f", [{"line": 2, "hits": 1}])
    write(tmp_path / "x.lprof", [{**one, "text_hash": -1}])
    ended = run_viewer(["x.lprof"], tmp_path)
    assert ended.code == 0 and '"text_hash" of a function is not a number in its range' in ended.err


# ---- profiles that say little ------------------------------------------------------------------


@pytest.mark.parametrize("place", range(4))
def test_counts_of_no_known_process_are_in_no_spread(tmp_path, place):
    """So are those of line_profiler's files."""
    for rank in range(2):
        write_rank(tmp_path, rank)
    write(tmp_path / "empty.lprof", meta={"pid": 9, "start": 5.0, "rank": "2"})
    write(tmp_path / "x.lprof", [function("a.py", 1, "f", [{"line": 2, "hits": 5, "time": 10**9, "self": 10**9}])])
    names = ["0.lprof", "1.lprof", "empty.lprof"]
    names.insert(place, "x.lprof")
    for content in flat(tmp_path, names, tmp_path), tree(tmp_path, 2, names, tmp_path):
        assert facts(content)[0]["f", 2] == (8, 10**9 + 3000, 1000, 2000, ("0", "1"), 2)


# ---- many files on a command line --------------------------------------------------------------


def test_a_folder_and_a_pattern_in_quotes(ranks, tmp_path):
    right = flat(ranks, sorted(NAMES), tmp_path)
    for word in str(ranks), f"{ranks}/", f"{ranks}/*.lprof", f"{ranks}/[0-9]*":
        ended = run_viewer(["merge", "-o", "all.lprof", word], tmp_path)
        assert (ended.code, ended.out) == (0, f"Wrote the sum of {RANKS} profiles to 'all.lprof'\n"), ended.err
        assert (tmp_path / "all.lprof").read_bytes() == right


def test_names_with_signs_of_patterns(tmp_path):
    """A file that exists is that file."""
    folder = tmp_path / "x[1]"
    folder.mkdir()
    write_rank(folder, 1, "a[1].lprof")
    write_rank(folder, 2, "a1.lprof")
    assert facts(flat(tmp_path, ["x[1]/a[1].lprof", "x[1]/a1.lprof"], tmp_path))[1] == [1, 2]
    write_rank(folder, 3)
    assert run_viewer(["merge", "-o", "../y.lprof", "a[1].lprof", "3.lprof"], folder).code == 0
    assert facts((tmp_path / "y.lprof").read_bytes())[1] == [1, 3]
    assert "the sum of 3 profiles " in run_viewer(["merge", "-o", "y.lprof", "x[1]"], tmp_path).out


@pytest.mark.parametrize("word, told", [
    ("empty", "empty: the folder has no files *.lprof"),
    ("x*.lprof", "x*.lprof: No such file or directory"),
    ("ranks", "ranks/2.lprof: cut off"),
])  # fmt: skip
def test_names_that_lead_to_nothing(tmp_path, word, told):
    (tmp_path / "empty").mkdir()
    (tmp_path / "ranks").mkdir()
    for rank in range(4):
        write_rank(tmp_path / "ranks", rank)
    path = tmp_path / "ranks" / "2.lprof"
    path.write_bytes(path.read_bytes()[:-9])
    ended = run_viewer(["merge", "-o", "all.lprof", word], tmp_path)
    assert ended.code == 1 and ended.err.startswith("clineprof: " + told) and ended.err.count("\n") == 1, ended.err
    assert not (tmp_path / "all.lprof").exists()


WRONG = """\
import clineprof

whole = open("0.lprof", "rb").read()
for wrong in [whole, whole, whole[:-9]], [whole, b""], [[whole, whole]], [whole, None], [whole, 7], ["text"]:
    try:
        clineprof.merge(*wrong)
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
print(len(clineprof.merge(bytearray(whole), memoryview(whole))) == len(clineprof.merge(whole, whole)))
"""


def test_what_is_no_profile_in_python(tmp_path):
    write_rank(tmp_path, 0)
    (tmp_path / "wrong.py").write_text(WRONG)
    ended = run_python(["wrong.py"], tmp_path, env={"PYTHONPATH": str(CHECKOUT / "python")})
    cut, empty, *types, last = ended.out.splitlines()
    assert cut.startswith("ValueError profile 3: cut off") and empty == "ValueError profile 2: the file is empty"
    assert [line.split(", ")[-1] for line in types] == ["not 'list'", "not 'NoneType'", "not 'int'", "not 'str'"], types
    assert last == "True"
