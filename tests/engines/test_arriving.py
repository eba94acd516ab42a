# SPDX-License-Identifier: MIT
"""Functions that arrive by value, as engines send them."""
from engine import needs, run_ended

pytestmark = needs("cloudpickle", heavy=False)

PROGRAM = """\
import sys

import cloudpickle

import clineprof
from clineprof import _engines

def work():
    return lambda: 1

def calls():
    return work()

searches = []
sys.addaudithook(lambda event, words: event == "gc.get_referrers" and searches.append(event))
_engines.begin("a", ["__main__"])
with _engines.Sending():
    sent = cloudpickle.dumps(calls)
for _ in range(3):
    cloudpickle.loads(sent)()()
[content] = _engines.own("a")
print([function["hits"] for function in clineprof.loads(content).functions ])
print(len(searches))
_engines.end("a")
_engines.clean("a")
"""


def test_no_search_for_others_that_have_the_code(python, tmp_path):
    """It would look at all objects of the process, for each function of each task."""
    (tmp_path / "prog.py").write_text(PROGRAM)
    assert run_ended([python, "prog.py"], tmp_path).out == "[[3], [3], [3]]\n0\n"
