# SPDX-License-Identifier: MIT
"""Every program in fixtures/: its hits equal those of the reference counter, line by line, and it
prints and ends as it does without a profiler."""

import importlib.util

import pytest
from harness import (
    FIXTURES,
    differences,
    own_messages_removed,
    reference,
    run_ckernprof,
    without_zeros,
)

pytestmark = pytest.mark.hits

NEEDS = {"numpy_work.py": "numpy"}
ALONE = {"environment.py"}  # compared in test_environment.py
PROGRAMS = sorted(path.name for path in FIXTURES.glob("*.py") if path.name not in ALONE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_fixture(name, tmp_path):
    needed = NEEDS.get(name)
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{name} needs {needed}, which is not installed here")
    expected, bare = reference(FIXTURES / name, tmp_path)
    assert bare.code == 0, bare.err
    assert without_zeros(expected), "the fixture decorates nothing that runs"

    ended = run_ckernprof(["-l", FIXTURES / name], tmp_path)
    assert (own_messages_removed(ended.out), ended.err, ended.code) == (bare.out, bare.err, 0)
    profile = ended.profile(name + ".lprof")
    assert differences(profile.hits(), expected) == []
    assert profile.functions.keys() >= expected.keys()


def test_there_are_enough_programs():
    assert len(PROGRAMS) >= 10
