# SPDX-License-Identifier: MIT
"""Where the lines of a text that ran are in a text that was edited (clineprof._lsp.align)."""
import random

import pytest
from clineprof._lsp.align import Lines, align

pytestmark = pytest.mark.once


def aligned(old, new, first=1):
    """{line of the old text: line of the new one, with ~ if it has changed}, both from 1. Texts are words."""
    numbered = dict(enumerate(old.split(), first))
    return {number: f"{'~' * is_changed}{place + 1}"
            for number, (place, is_changed) in sorted(align(numbered, Lines(new.split())).items())}


@pytest.mark.parametrize(("old", "new", "wanted"), [
    ("a b c", "a b c", "1:1 2:2 3:3"),
    ("a b c", "x a b c", "1:2 2:3 3:4"),
    ("a b c", "a b c x", "1:1 2:2 3:3"),
    ("a b c", "a x c", "1:1 2:~2 3:3"),
    ("a b c d", "a x y d", "1:1 2:~2 3:~3 4:4"),
    ("a b c", "a x y c", "1:1 3:4"),
    ("a b c", "a c", "1:1 3:2"),
    ("a b c", "x b c", "1:~1 2:2 3:3"),
    ("a b c", "a b x", "1:1 2:2 3:~3"),
    ("a b c", "x y z", ""),
    ("a b c", "", ""),
    # lines that are there twice follow those beside them
    ("f r f r", "f r f r x", "1:1 2:2 3:3 4:4"),
    ("f r f r", "x f r f r", ""),  # nothing tells which they are
    ("a r r b r r c", "a r r b x r r c", "1:1 2:2 3:3 4:4 5:6 6:7 7:8"),
    ("a r x r b", "a r y z r b", "1:1 2:2 4:5 5:6"),
    # between two pairs a line is looked for once more: `s` is there twice, but once between b and c
    ("s b x s y c", "s b u v s w c", "1:1 2:2 4:5 5:~6 6:7"),
])  # fmt: skip
def test_lines_that_moved_changed_or_went(old, new, wanted):
    assert " ".join(f"{number}:{place}" for number, place in aligned(old, new).items()) == wanted


def test_only_lines_that_are_known_are_placed():
    assert aligned("a b", "x y a b z", 2) == {2: "3", 3: "4"}
    numbered = {2: "a", 5: "b", 6: "c"}  # lines 1, 3 and 4 belong to no function
    found = align(numbered, Lines(["new", "1", "a", "3", "4", "B", "c"]))
    assert found == {2: (2, False), 5: (5, True), 6: (6, False)}


def edited(lines, random):
    """The lines with some inserted, removed, changed, and their origin: [(line, old number or None)]."""
    made = []
    for number, line in enumerate(lines, 1):
        what = random.random()
        if what < 0.1:
            made.append((f"new {random.random()}", None))
        if what < 0.05 or what > 0.15:
            made.append((line, number))
        elif what < 0.1:
            made.append((f"changed {random.random()}", number))
    return made


@pytest.mark.parametrize("kinds", [2, 10, 1000000])
def test_random_edits(kinds):
    """What is said to be the same is the same, each line is placed once, in order; distinct lines are all found."""
    chance = random.Random(kinds)
    for _ in range(300):
        lines = [str(chance.randrange(kinds)) for _ in range(chance.randrange(60))]
        made = edited(lines, chance)
        new = [line for line, _ in made]
        found = align(dict(enumerate(lines, 1)), Lines(new))
        places = [found[number][0] for number in sorted(found)]
        assert places == sorted(set(places))
        for number, (place, is_changed) in found.items():
            assert (new[place] != lines[number - 1]) == is_changed
        if kinds == 1000000:
            kept = {number: place for place, (line, number) in enumerate(made)
                    if number is not None and not line.startswith("changed")}
            assert {number: place for number, (place, changed) in found.items() if not changed} == kept
