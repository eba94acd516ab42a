# SPDX-License-Identifier: MIT
"""--clock: the exact clock by name, and what the light one cannot have beside it."""
import sys

import pytest
from harness import run_ckernprof, run_viewer

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 has no probes"),
]


def test_the_exact_clock_has_no_errors(tmp_path):
    (tmp_path / "prog.py").write_text("def f(n):\n    for i in range(n):\n        i += 1\nf(1000)\n")
    ended = run_ckernprof(["-l", "-p", "prog.py", "--clock", "exact", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    shown = run_viewer(["prog.py.lprof"], tmp_path)
    assert "     Error" not in shown.out and "estimates" not in shown.out
    asked = run_viewer(["--columns", "hits,error", "prog.py.lprof"], tmp_path)
    assert asked.code != 0 or "--clock light" in asked.err


@pytest.mark.parametrize("option, words", [
    (["--native"], "--native needs the time of each event, which --clock light does not read"),
    (["--nvtx"], "--nvtx needs the time of each event"),
    (["--line-log"], "--line-log needs the time of each event"),
    (["--timeline"], "--timeline needs the time of each event"),
    (["--tracer", "settrace"], "--clock light needs the tracer probe; leave out --tracer settrace"),
])
def test_what_needs_each_event(tmp_path, option, words):
    (tmp_path / "prog.py").write_text("print('ran')\n")
    ended = run_ckernprof(["-l", "--clock", "light", *option, "prog.py"], tmp_path)
    assert ended.code == 2 and ended.out == ""
    assert ended.err.startswith(f"ckernprof: {words}") and ended.err.count("\n") == 1
