# SPDX-License-Identifier: MIT
"""Adapters for training loops: the context clineprof.Steps with torch's words, and what is made of it for Lightning and
transformers, each with the real package. Where a package is missing, its tests are skipped; docs/training.md says how to
run them."""
import gzip
import itertools
import json
import os
import re
import sys

import pytest
from harness import BUILD, TRACER, Profile, run_python

import clineprof
from clineprof._global.schedule import Schedule

ENVIRONMENT = {"PYTHONPATH": str(BUILD / "python")}
WORDS = ["wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait"]


def needs(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def program(text, folder, env=None, name="it.py", code=0):
    (folder / name).write_text(text)
    ended = run_python([name], folder, env={**ENVIRONMENT, **(env or {})}, timeout=300)
    assert ended.code == code, ended.err
    return ended


def hits(path):
    """{function: {line: hits}}"""
    return {key[2]: {line: n for line, n in lines.items() if n} for key, lines in Profile(path).hits().items()}


# ---- Steps ----


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_words_mean_what_torch_means():
    """All combinations of small numbers, in 20 steps each."""
    profiler = needs("torch.profiler")
    ours_of = {action: action.name.lower() for action in profiler.ProfilerAction}
    checked = 0
    for numbers in itertools.product(range(3), range(3), range(1, 4), range(3), range(3), range(2)):
        words = dict(zip(WORDS, numbers))
        theirs, ours = profiler.schedule(**words), Schedule(**words)
        assert [ours.phase(step) for step in range(20)] == [ours_of[theirs(step)] for step in range(20)], words
        checked += 1
    assert checked == 486


LOOP = f"""
import sys
import clineprof
def work():
    monitored = sys.version_info >= (3, 12) and any(map(sys.monitoring.get_tool, range(6)))
    seen.append(".x"[monitored or sys.gettrace() is not None or work.__code__ is not own])
seen, ready, own = [], [], work.__code__
def note(steps):
    [function] = steps.profile.functions
    ready.append((steps.step_num, function["hits"]))
with clineprof.Steps(work, tracer={TRACER!r}, wait=1, warmup=1, active=3, repeat=2, skip_first=1, skip_first_wait=1,
                     on_trace_ready=note) as steps:
    for n in range(13):
        work()
        if n == LAST:
            break
        steps.step()
print("".join(seen), ready, steps.profile.functions[0]["hits"])
"""


@pytest.mark.parametrize("last, told", [
    (99, ".xxxx.xxxx... [(5, [3, 3]), (10, [3, 3])] [3, 3]"),
    (7, ".xxxx.xx [(5, [3, 3]), (7, [1, 1])] [1, 1]"),
])  # fmt: skip
def test_only_active_steps_count_and_each_cycle_is_told_of(last, told, tmp_path):
    """Steps 2 to 4 and 7 to 9 count, 1 and 6 are for warming up. In the others nothing of the profiler is there, neither
    in the code nor at the interpreter's hooks. A loop that is left early tells of what it has counted."""
    assert program(LOOP.replace("LAST", str(last)), tmp_path).out == told + "\n"


@pytest.mark.once
def test_without_words_everything_counts(tmp_path):
    ended = program("""
import clineprof
def work():
    return 1
with clineprof.Steps(work) as steps:
    work()
    steps.step()
    work()
print(steps.profile.functions[0]["hits"])
with clineprof.Steps(work, wait=2) as steps:
    for n in range(5):
        work()
        steps.step()
print(steps.profile.functions[0]["hits"])
clineprof.Steps(work, active=0)
""", tmp_path, code=1)
    assert ended.out.split("\n") == ["[2]", "[3]", ""]
    assert ended.err.endswith("ValueError: schedule: active must be a whole number from 1 on, not 0\n")


# ---- RankFiles ----

RANKS = """
import clineprof
def work():
    return 1
with clineprof.Steps(work, wait=1, active=2, on_trace_ready=clineprof.RankFiles("outputs/new")) as steps:
    for n in range(9):
        work()
        steps.step()
print("end")
"""


@pytest.mark.once
def test_a_file_for_each_rank_in_a_folder_that_is_made(tmp_path):
    """.. with the sum of all cycles."""
    program(RANKS, tmp_path)
    program(RANKS, tmp_path, {"RANK": "3", "WORLD_SIZE": "4"})
    assert sorted(os.listdir(tmp_path / "outputs/new")) == ["profile.lprof", "profile.rank3.lprof"]
    for name in os.listdir(tmp_path / "outputs/new"):
        assert hits(tmp_path / "outputs/new" / name) == {"work": {4: 6}}


@pytest.mark.once
def test_a_file_that_cannot_be_written_does_not_end_the_training(tmp_path):
    (tmp_path / "outputs").write_text("no folder")
    ended = program(RANKS, tmp_path)
    assert ended.out == "end\n"
    assert set(ended.err.splitlines()) == {"clineprof: cannot write 'outputs/new/profile.lprof': Not a directory"}


@pytest.mark.once
def test_the_rank_of_torch_distributed(tmp_path):
    """Processes that torch.multiprocessing has started have no rank in the environment."""
    needs("torch")
    program("""
import torch.distributed
import torch.multiprocessing
import clineprof
def work():
    return 1
def main(rank):
    torch.distributed.init_process_group("gloo", init_method="file://" + __file__ + ".store", rank=rank, world_size=2)
    with clineprof.Steps(work, on_trace_ready=clineprof.RankFiles("out")):
        for n in range(5 + rank):
            work()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
if __name__ == "__main__":
    torch.multiprocessing.spawn(main, nprocs=2)
""", tmp_path)
    assert {name: hits(tmp_path / "out" / name)["work"] for name in os.listdir(tmp_path / "out")} == {
        "profile.rank0.lprof": {6: 5}, "profile.rank1.lprof": {6: 6}}  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("gzipped", [False, True])
def test_torchs_own_handler_for_tensorboard(gzipped, tmp_path):
    needs("torch")
    ended = program(f"""
import torch.profiler
import clineprof
def inner():
    return sum(range(1000))
def work(n):
    return inner() if n else 0
handler = torch.profiler.tensorboard_trace_handler("log", "me", use_gzip={gzipped})
with clineprof.Steps(work, inner, wait=1, active=2, on_trace_ready=handler) as steps:
    for n in range(9):
        work(n > 2)
        steps.step()
with clineprof.Steps(work, on_trace_ready=handler):
    pass
""", tmp_path)
    assert re.fullmatch(r"clineprof: cannot write 'log/me[^']*': this profile has neither times nor .*\n", ended.err)
    found = []
    for path in sorted((tmp_path / "log").iterdir()):  # their names have the time
        made = json.loads(gzip.decompress(path.read_bytes()) if gzipped else path.read_bytes())
        found.append({event["name"] for event in made["traceEvents"]} & {"work", "inner"})
    assert found == [{"work"}, {"work", "inner"}, {"work", "inner"}]
