# SPDX-License-Identifier: MIT
"""Adapters for training loops: the context clineprof.Steps with torch's words, and what is made of it for Lightning
and transformers, each with the real package. Where a package is missing, its tests are skipped; docs/training.md says
how to run them."""
import gzip
import itertools
import json
import os
import re
import sys

import pages
import pytest
from harness import BUILD, TRACER, Profile, run_ckernprof, run_python

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
    seen.append(".x"[monitored or work.__code__ is not own])
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
    """Steps 2 to 4 and 7 to 9 count, 1 and 6 are for warming up. In the others nothing of the profiler is there,
    neither in the code nor among the tools of sys.monitoring. A loop that is left early tells of what it counted."""
    if (TRACER or clineprof.tracers()[0]) == "settrace":
        told = told.replace("x", ".")  # sys.gettrace() does not show this tracer
    assert program(LOOP.replace("LAST", str(last)), tmp_path).out == told + "\n"


def hits_of_cycles(schedule, steps):
    """What each cycle counts of a line that runs once in each step."""
    cycles, running = [], 0
    for phase in map(schedule.phase, range(steps)):
        running += phase.startswith("record")
        if phase == "record_and_save":
            cycles.append(running)
            running = 0
    return cycles + [running] * (running > 0)


EVERY_SCHEDULE = f"""
import itertools
import clineprof
def work():
    pass
def note(steps):
    cycles.append(sum(steps.profile.functions[0]["hits"]))
for numbers in itertools.product(range(3), range(3), range(1, 4), range(3), range(3)):
    words, cycles = dict(zip({WORDS}, numbers)), []
    with clineprof.Steps(work, tracer={TRACER!r}, on_trace_ready=note, memory=False, **words) as steps:
        for n in range(12):
            if n > 0:
                steps.step()
            work()
    print([*numbers], cycles, sum(steps.total.functions[0]["hits"]) if steps.total else 0)
"""


def test_each_active_step_of_every_schedule_counts(tmp_path):
    told = program(EVERY_SCHEDULE, tmp_path).out.splitlines()
    expected = []
    for numbers in itertools.product(range(3), range(3), range(1, 4), range(3), range(3)):
        cycles = hits_of_cycles(Schedule(*numbers), 12)
        expected.append(f"{[*numbers]} {cycles} {sum(cycles)}")
    assert told == expected


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


@pytest.mark.once
def test_tensorboards_plugin_opens_the_trace(tmp_path):
    """The plug-in's own readers: functions and lines are operators, with the time of all their calls."""
    data, generator = (needs(f"torch_tb_profiler.profiler.{name}") for name in ("data", "run_generator"))
    program("""
import clineprof
def work(n):
    return sum(range(n))
with clineprof.Steps(work) as steps:
    work(100_000), work(100_000)
steps.export_chrome_trace("me.pt.trace.json")
steps.profile.write("me.lprof")
""", tmp_path)
    read = data.RunProfileData.parse("me", None, str(tmp_path / "me.pt.trace.json"), str(tmp_path))
    micros = Profile(tmp_path / "me.lprof").function("work")["total"] / 1000
    assert {one.name.split()[0]: one.host_duration for one in read.op_list_groupby_name} == {
        "work": pytest.approx(micros), "work:4": pytest.approx(micros)}  # fmt: skip
    views = generator.RunGenerator("me", None, read).generate_run_profile().views
    assert {view.display_name for view in views} >= {"Overview", "Operator", "Trace"}


# ---- Lightning ----

MODULE = """
import logging, sys, warnings
warnings.simplefilter("ignore")
import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader
from clineprof.lightning import ClineprofProfiler
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x):
        return self.layer(x)
class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, number):
        codes.append(".x"[Task.training_step.__code__ is not own])
        return self.net(batch).square().mean()
    def test_step(self, batch, number):
        return self.net(batch).mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
codes, own = [], Task.training_step.__code__
data = DataLoader(torch.rand(40, 4), 4)
def trainer(profiler, **words):
    return pl.Trainer(profiler=profiler, accelerator="cpu", logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False, max_epochs=1, **words)
"""


def line(text, program=MODULE):
    """The number of the line that begins with this text."""
    [number] = [number for number, one in enumerate(program.splitlines(), 1) if one.strip().startswith(text)]
    return number


NET, TRAIN, TEST = map(line, ["return self.layer(x)", "return self.net(batch).sq", "return self.net(batch).mean"])


@pytest.mark.once
def test_lightning(tmp_path):
    """Each stage has a file, the report is in the log; a copy that was pickled amid the training works as well."""
    needs("lightning")
    ended = program(MODULE + """
import pickle
class Pickling(Task):
    def on_train_epoch_start(self):
        self.copy = pickle.dumps(self.trainer.profiler)
profiler = ClineprofProfiler(functions=[Net, Task])
task = Pickling()
trainer(profiler).fit(task, data)
logging.getLogger("lightning.pytorch.profilers").setLevel(logging.INFO)
pickle.loads(task.copy)  # is freed at once, and must not write
profiler = pickle.loads(task.copy)
trainer(profiler, limit_test_batches=7).test(task, data, verbose=False)
""", tmp_path)
    assert hits(tmp_path / "fit-profile.lprof")["Net.forward"] == {NET: 10}
    assert hits(tmp_path / "fit-profile.lprof")["Task.training_step"] == {TRAIN - 1: 10, TRAIN: 10}
    assert {name: lines for name, lines in hits(tmp_path / "test-profile.lprof").items() if lines} == {
        "Net.forward": {NET: 7}, "Task.test_step": {TEST: 7}}  # fmt: skip
    assert "TEST Profiler Report" in ended.err and "Function: Task.test_step at line " in ended.err
    assert "FIT Profiler Report" not in ended.err and "Traceback" not in ended.err


@pytest.mark.once
def test_lightning_profiles_active_steps(tmp_path):
    """.. into files where it is told to; in the other steps functions run their own code."""
    needs("lightning")
    ended = program(MODULE + """
profiler = ClineprofProfiler("made/here", "lines", wait=2, warmup=1, active=3, repeat=1)
trainer(profiler).fit(Task(), data)
print("".join(codes))
""", tmp_path)
    assert ended.out == ("..xxxx....\n" if clineprof.tracers()[0] == "probe" else "..........\n")
    assert hits(tmp_path / "made/here/fit-lines.lprof")["Task.training_step"] == {TRAIN - 1: 3, TRAIN: 3}
    assert "Task.training_step" in (tmp_path / "made/here/fit-lines.txt").read_text()
    assert ended.err == ""


@pytest.mark.once
def test_a_training_that_raises(tmp_path):
    """What has counted by then is in the file: steps 1 and 2, and 4, which raises."""
    needs("lightning")
    ended = program(MODULE + """
class Failing(Task):
    def training_step(self, batch, number):
        return super().training_step(batch, number) if number != 4 else 1 / 0
trainer(ClineprofProfiler(functions=[Task], wait=1, active=2)).fit(Failing(), data)
""", tmp_path, code=1)
    assert ended.err.endswith("ZeroDivisionError: division by zero\n")
    found = hits(tmp_path / "fit-profile.lprof")
    assert found["Task.training_step"] == {TRAIN - 1: 2, TRAIN: 2}
    assert found["Failing.training_step"] == {len(MODULE.splitlines()) + 4: 3}


@pytest.mark.once
def test_lightning_on_several_ranks(tmp_path):
    needs("lightning")
    program(MODULE + """
if __name__ == "__main__":
    data = DataLoader(torch.rand(40, 4), 4)
    profiler = ClineprofProfiler(wait=1, active=2, repeat=1)
    trainer(profiler, devices=2, strategy="ddp_spawn").fit(Task(), data)
""", tmp_path)
    for rank in 0, 1:
        found = hits(tmp_path / f"fit-profile.rank{rank}.lprof")["Task.training_step"]
        assert found == {TRAIN - 1: 2, TRAIN: 2}


# ---- transformers ----

BERT = """
import torch, transformers
from clineprof.transformers import ClineprofCallback
transformers.logging.set_verbosity_error()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x, labels):
        codes.append(".x"[Net.forward.__code__ is not own])
        loss = self.layer(x).square().mean()
        return {"loss": loss, "logits": labels}
codes, own = [], Net.forward.__code__
def collate(rows):
    return {"x": torch.stack(rows), "labels": torch.zeros(len(rows))}
def train(callback, **words):
    words = transformers.TrainingArguments("out", max_steps=8, per_device_train_batch_size=4, use_cpu=True,
                                           report_to=[], save_strategy="no", disable_tqdm=True, **words)
    transformers.Trainer(Net(), words, collate, torch.rand(100, 4), callbacks=[callback]).train()
"""
LOSS = line("loss = self", BERT)


@pytest.mark.once
def test_transformers(tmp_path):
    """A step is one of the optimizer: with two batches each the forward of three steps runs six times."""
    needs("transformers"), needs("accelerate")
    ended = program(BERT + """
callback = ClineprofCallback(functions=[collate], wait=2, warmup=1, active=3, repeat=1)
train(callback, gradient_accumulation_steps=2)
print("ran", "".join(codes), callback.steps.step_num)
train(ClineprofCallback("made/here"))
""", tmp_path)
    [(ran, steps)] = re.findall("^ran (.*) (.*)$", ended.out, re.M)
    assert ran == ("....xxxxxxxx...." if clineprof.tracers()[0] == "probe" else "." * 16) and steps == "8"
    found = hits(tmp_path / "out/profile.lprof")
    assert found["Net.forward"] == {LOSS - 1: 6, LOSS: 6, LOSS + 1: 6} and "collate" in found
    assert hits(tmp_path / "made/here/profile.lprof")["Net.forward"] == {LOSS - 1: 8, LOSS: 8, LOSS + 1: 8}


@pytest.mark.once
@pytest.mark.parametrize("name", ["lightning", "transformers"])
def test_an_adapter_names_the_package_that_it_lacks(name, tmp_path):
    (tmp_path / name).mkdir()  # a folder of this name, which the package then cannot be
    (tmp_path / name / "__init__.py").write_text("raise ImportError('gone')")
    ended = program(f"import clineprof.{name}\n", tmp_path, code=1)
    assert ended.err.endswith(f"ImportError: clineprof.{name} needs {name} (pip install {name}): gone\n")


# ---- the recipes of docs/training.md ----


def from_the_page(name):
    [text] = [block.text for block in pages.blocks("docs/training.md") if pages.file_of(block) == name]
    return text


@pytest.mark.once
def test_a_job_with_a_flag(tmp_path):
    """One epoch of three, into a folder that is made, a file for each rank; without the flag nothing."""
    needs("torch")
    job = from_the_page("job.py")
    loss, forward = line("loss = ", job), line("return self.layer", job)
    (tmp_path / "job.py").write_text(job)
    for rank, flags in (None, []), (None, ["--profile"]), (1, ["--profile"]):
        env = {**ENVIRONMENT, **({} if rank is None else {"RANK": str(rank), "WORLD_SIZE": "2"})}
        ended = run_python(["job.py", *flags], tmp_path, env=env, timeout=300)
        assert (ended.code, ended.err) == (0, "")
        assert (tmp_path / "outputs").exists() == bool(flags)
    folder = tmp_path / "outputs/profiler_results"
    assert sorted(os.listdir(folder)) == ["profile.lprof", "profile.rank1.lprof"]
    for path in folder.iterdir():
        found = hits(path)
        assert found["train_epoch"][loss] == 40 and found["Net.forward"] == {forward: 40}


@pytest.mark.once
def test_a_job_whose_functions_are_marked(tmp_path):
    """.. and whose flag is that of `profile`."""
    text = """
import argparse
from clineprof import profile
profile.setup_config["cli_flags"].append("--profile")
profile.output_prefix = "outputs/profiler_results/job"
@profile
def work():
    return 1
parser = argparse.ArgumentParser()
parser.add_argument("--profile", action="store_true")
parser.parse_args()
work()
"""
    (tmp_path / "job.py").write_text(text)
    for flags in [], ["--profile"]:
        ended = run_python(["job.py", *flags], tmp_path, env=ENVIRONMENT)
        assert (ended.code, ended.err) == (0, "") and (tmp_path / "outputs").exists() == bool(flags)
    assert hits(tmp_path / "outputs/profiler_results/job.lprof") == {"work": {8: 1}}


@pytest.mark.once
def test_who_waits_for_data(tmp_path):
    """The lines of the workers, and the wait of the loop for them: the work between two batches takes far less than
    what the workers sleep."""
    needs("torch")
    text = from_the_page("load.py")
    (tmp_path / "load.py").write_text(text)
    ended = run_ckernprof(["-l", "--cpu", "--prof-child-procs", "load.py"], tmp_path, timeout=300)
    assert ended.code == 0, ended.err
    profile, sleep, loop = ended.profile(), line("time.sleep", text), line("for batch", text)
    assert profile.line("Pictures.__getitem__", sleep)["hits"] == 80
    assert profile.line("Pictures.__getitem__", sleep)["wait"] >= 0.78e9
    assert profile.line("train_epoch", loop)["hits"] == 11
    assert profile.line("train_epoch", loop)["wait"] > 0.1e9
