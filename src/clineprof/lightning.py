# SPDX-License-Identifier: MIT
"""Profiles the lines of a LightningModule: Trainer(profiler=ClineprofProfiler()). Needs lightning."""
from clineprof import _training

try:
    from lightning.pytorch.profilers import Profiler
except ImportError as error:
    raise _training.missing("clineprof.lightning", "lightning", error) from error

# The action that ends a step, for each stage.
STEPS = {"fit": "run_training_batch", "validate": ".validation_step", "test": ".test_step", "predict": ".predict_step"}


class ClineprofProfiler(Profiler):
    """Counts the lines of the LightningModule's class, and reports them at the end of each stage.

    >>> from clineprof.lightning import ClineprofProfiler
    >>> profiler = ClineprofProfiler(wait=10, warmup=1, active=5, repeat=1)

    dirpath, filename: as for Lightning's own profilers. With both the report goes to a text file, else to the log. In
        any case <stage>-<filename>.lprof, for `clineprof`, goes to dirpath, or else to the trainer's log_dir; a file
        for each rank
    functions: what is counted beside the LightningModule's class: functions, and classes of models
    on_trace_ready, words: as for clineprof.Steps. A step is a batch. With an on_trace_ready there is no .lprof file
    """

    def __init__(self, dirpath=None, filename=None, functions=(), on_trace_ready=None, **words):
        super().__init__(dirpath=dirpath, filename=filename)
        self.functions, self.on_trace_ready, self.words = functions, on_trace_ready, words
        self._steps = None  # the Steps of this stage
        self._step_ends = ""

    def setup(self, stage, local_rank=None, log_dir=None):
        super().setup(stage, local_rank, log_dir)
        self._step_ends = STEPS[stage]
        name = "-".join((stage, self.filename or "profile"))  # not by %, because the stage is an enum
        self._steps = _training.begin(
            self._lightning_module, self.functions, self.dirpath or "", name, self.on_trace_ready, self.words)

    def start(self, action_name):
        pass

    def stop(self, action_name):
        if self._steps is not None and action_name.endswith(self._step_ends):
            self._steps.step()

    def summary(self):
        """Ends the counting, and returns the report."""
        if self._steps is None:
            return ""
        _training.end(self._steps)
        return self._stats_to_str({"lines": self._steps.total.rendered() if self._steps.total else "no active step"})

    def teardown(self, stage):
        if self._steps is not None:
            _training.end(self._steps)
            self._steps = None
        super().teardown(stage)

    def __getstate__(self):
        """Without what belongs to a process: Lightning pickles its profiler for processes that it spawns."""
        return {**self.__dict__, "_steps": None, "_lightning_module": None}
