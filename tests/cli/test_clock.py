# SPDX-License-Identifier: MIT
"""--clock: the exact clock by name, and what --light, which it has as another name, cannot have beside it."""
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
    assert asked.code != 0 or "--light" in asked.err


@pytest.mark.parametrize("option, words", [
    (["--native"], "--native looks at each line as it runs, and --light does not"),
    (["--nvtx"], "--nvtx looks at each line"),
    (["--line-log"], "--line-log looks at each line"),
    (["--timeline"], "--timeline looks at each line"),
    (["--threads"], "--threads looks at each line"),
    (["--io"], "--io looks at each line"),
    (["--counters", "faults"], "--counters looks at each line"),
    (["--memory", "rss"], "--memory looks at each line"),
    (["--heap=native"], "--heap=native looks at each line"),
    (["--leaks=f"], "--leaks=FUNCTION looks at each line"),
    (["--tracer", "settrace"], "--light is a tracer of its own; leave out --tracer settrace"),
])
def test_what_needs_each_event(tmp_path, option, words):
    (tmp_path / "prog.py").write_text("print('ran')\n")
    for light in ["--light"], ["--clock", "light"]:
        ended = run_ckernprof(["-l", *light, *option, "prog.py"], tmp_path)
        assert ended.code == 2 and ended.out == ""
        assert ended.err.startswith(f"ckernprof: {words}") and ended.err.count("\n") == 1
