# SPDX-License-Identifier: MIT
"""Thousands of functions of the standard library at work: every hit as the reference counts it."""

import pathlib

import pytest
from harness import differences, own_messages_removed, reference, run_ckernprof, without_zeros

DRIVER = pathlib.Path(__file__).parent / "stdlib_driver.py"

# group of stdlib_driver.py: how many functions run at least
GROUPS = {
    "code": 120,
    "texts": 150,
    "numbers": 150,
    "documents": 300,
    "classes": 200,
    "archives": 300,
    "asynchronous": 60,
}

# sets of texts keep their order from run to run
STEADY = {"PYTHONHASHSEED": "0"}


@pytest.mark.parametrize("group", GROUPS)
def test_stdlib(group, tmp_path):
    expected, bare = reference(DRIVER, tmp_path, [group], env=STEADY)
    assert bare.code == 0, bare.err
    ours = run_ckernprof(["-l", DRIVER, group], tmp_path, env=STEADY)
    assert (own_messages_removed(ours.out), ours.err, ours.code) == (bare.out, bare.err, bare.code)
    assert differences(ours.profile().hits(), expected) == []
    assert len(without_zeros(expected)) >= GROUPS[group]
