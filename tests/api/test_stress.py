# SPDX-License-Identifier: MIT
"""The programs of tests/stress: each says how often its lines begin, and so it must be, every time.
CLINEPROF_STRESS is how many times each runs (`make stress`: 50)."""
import os
import re

import pytest
from harness import BUILD, EMULATED, FIXTURES, ROOT, SANITIZED, TRACER, own_messages_removed, run_ckernprof, run_python

REPEATS = int(os.environ.get("CLINEPROF_STRESS", 1))
OPTIONS = {"processes": ["--prof-child-procs"]}
PROGRAMS = sorted(path for path in (ROOT / "tests" / "stress").glob("*.py"))


def expected_hits(path):
    """By line, as its comment says."""
    lines = enumerate(path.read_text("utf-8").splitlines(), start=1)
    said = ((number, re.search(r"# hits: (\d+)$", line)) for number, line in lines)
    return {number: int(match[1]) for number, match in said if match}


def hits_of(profile):
    return {line: n for lines in profile.hits().values() for line, n in lines.items()}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_hits_every_time(path, tmp_path):
    if TRACER == "light" and path.stem == "processes":
        pytest.skip("bodies that run when a process is killed, or leaves by os._exit, may lack one hit with --light")
    if path.stem in ("greenlets", "profilers"):  # the second one switches between greenlets, too
        pytest.importorskip("greenlet")
    # where the program uses clineprof itself, with the tracer under test
    uses = {"env": {"PYTHONPATH": str(BUILD / "python")}} if path.stem == "profilers" else {}
    words = [path, *([TRACER] if uses and TRACER else [])]
    bare, expected = run_python(words, tmp_path, **uses), expected_hits(path)
    assert (bare.err, bare.code) == ("", 0) and len(expected) > 2
    for i in range(REPEATS):
        options = ["-l", "-p", path, *OPTIONS.get(path.stem, []), "-o", "it.lprof"]
        ended = run_ckernprof([*options, *words], tmp_path, timeout=300, **uses)
        assert (own_messages_removed(ended.out), ended.err, ended.code) == (bare.out, "", 0)
        hits = hits_of(ended.profile("it.lprof"))
        assert {line: hits.get(line, 0) for line in expected} == expected, f"run {i + 1}"


@pytest.mark.skipif(SANITIZED, reason="what is given back stays resident")
@pytest.mark.skipif(EMULATED, reason="qemu-user keeps 280 KiB of its own for each thread that ended")
def test_sessions_leave_nothing_behind(tmp_path):
    """`make stress`: ten thousand in one process."""
    count = 200 * REPEATS
    ended = run_python([FIXTURES / "sessions" / "sessions.py", count, *([TRACER] if TRACER else [])], tmp_path, timeout=1800,
                       env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err, ended.code) == (f"{count} sessions: nothing piles up\n", "", 0)
