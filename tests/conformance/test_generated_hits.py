# SPDX-License-Identifier: MIT
"""Functions made by chance; very long ones and ones with wide gaps between lines among them."""

import pathlib

import pytest
from generate import module
from harness import differences, own_messages_removed, reference, run_ckernprof, without_zeros

DRIVER = pathlib.Path(__file__).parent / "stdlib_driver.py"


@pytest.mark.parametrize("seed", range(1, 5))
def test_generated(seed, tmp_path):
    (tmp_path / "generated_functions.py").write_text(module(seed), "utf-8")
    expected, bare = reference(DRIVER, tmp_path, ["generated"])
    assert (bare.code, bare.err) == (0, "")
    ours = run_ckernprof(["-l", DRIVER, "generated"], tmp_path)
    assert (own_messages_removed(ours.out), ours.err, ours.code) == (bare.out, "", 0)
    assert differences(ours.profile().hits(), expected) == []

    ran = without_zeros(expected)
    lengths = {key[2]: max(lines) - min(lines) for key, lines in ran.items()}
    assert lengths["long_straight"] > 1000 and lengths["gap_of_40000"] > 40000
    assert len(ran) > 50
