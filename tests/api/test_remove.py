# SPDX-License-Identifier: MIT
"""Taking a function off."""

import pytest
from harness import run_ckernprof

PROGRAM = """
def early(n):
    return n

code = early.__code__
profile(early)
early(1), early(2)
profile.remove_function(early)
assert early.__code__ is code
early(3)
profile(early)
early(4)

@profile
def late(n):
    return n

late(1)
profile.remove_function(late)
late(2)
profile.remove_function(late)  # again is no error
assert late.__code__.co_consts in ((None,), ())
try:
    profile.remove_function(7)
except TypeError as error:
    print(error)
"""


@pytest.mark.parametrize("place", ["here", "imported"])
def test_removed_functions_are_as_before(place, tmp_path):
    (tmp_path / "inner.py").write_text(PROGRAM, "utf-8")
    (tmp_path / "imported.py").write_text("import inner\n", "utf-8")
    name = "inner.py" if place == "here" else "imported.py"
    ours = run_ckernprof(["-l", name], tmp_path)
    assert (ours.code, ours.err) == (0, "")
    assert ours.out.startswith("remove_function() takes a Python function\n")
    hits = {key[2]: sum(lines.values()) for key, lines in ours.profile().hits().items()}
    assert hits == {"early": 3, "late": 1}
