# SPDX-License-Identifier: MIT
"""Ranks of torchrun with gloo: each writes a profile of its own, and gather() adds them up while they run."""
import pytest
from engine import hits, merged, needs, profiled, run_ended
from harness import Profile

pytestmark = needs("torch")

PROGRAM = """\
import torch
import torch.distributed as dist

import clineprof.distributed

@profile
def step(n):
    for i in range(n):
        done = torch.ones(2) * i  # turn
    return done

dist.init_process_group("gloo")
rank = dist.get_rank()
turns = torch.tensor([0])
for n in range(1, 5 + rank):
    step(n)
    turns += n
dist.all_reduce(turns)
profile = clineprof.distributed.gather("all.lprof")
assert (profile is None) == (rank != 0)
step(10)  # not gathered
if rank == 0:
    print("turns", int(turns))
dist.destroy_process_group()
"""
GATHERED = sum(range(1, 5)) + sum(range(1, 6))


@pytest.fixture
def torchrun(tmp_path, python):
    (tmp_path / "steps.py").write_text(PROGRAM)

    def torchrun(*words):
        return run_ended([python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *words],
                         tmp_path)

    return torchrun


def test_ranks_of_torchrun(torchrun, tmp_path):
    ended = torchrun("-m", "clineprof.kernprof", "-l", "steps.py")
    assert f"turns {GATHERED}\n" in ended.out
    assert hits(tmp_path / "all.lprof", tmp_path / "steps.py", "# turn") == GATHERED
    rows = Profile(tmp_path / "all.lprof").raw["processes"]
    assert sorted(row["rank"] for row in rows) == ["0", "1"]
    by_rank = [hits(tmp_path / f"steps.py.rank{rank}.lprof", tmp_path / "steps.py", "# turn") for rank in (0, 1)]
    assert by_rank == [sum(range(1, 5)) + 10, sum(range(1, 6)) + 10]
    assert hits(merged(tmp_path, "steps.py.rank0.lprof", "steps.py.rank1.lprof"), tmp_path / "steps.py",
                "# turn") == GATHERED + 20  # fmt: skip


def test_torchrun_starts_ckernprof(torchrun, tmp_path, python):
    command = profiled(python, "-l", "steps.py")
    torchrun("--no-python", *command)
    assert hits(tmp_path / "all.lprof", tmp_path / "steps.py", "# turn") == GATHERED
