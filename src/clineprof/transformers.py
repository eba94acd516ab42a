# SPDX-License-Identifier: MIT
"""Profiles the lines of a model that Hugging Face's Trainer trains: Trainer(callbacks=[ClineprofCallback()]). Needs
transformers."""
from clineprof import _training

try:
    from transformers import TrainerCallback
except ImportError as error:
    raise _training.missing("clineprof.transformers", "transformers", error) from error


class ClineprofCallback(TrainerCallback):
    """Counts the lines of the model's class.

    >>> from clineprof.transformers import ClineprofCallback
    >>> callback = ClineprofCallback(wait=10, warmup=1, active=5, repeat=1)

    folder: where profile.lprof goes, for `clineprof`; a file for each rank. By default the Trainer's output_dir
    functions: what is counted beside the model's class: functions, and classes of models
    on_trace_ready, words: as for clineprof.Steps. A step is one of the optimizer. With an on_trace_ready there is no
        file

    steps: the clineprof.Steps of the last training, or None
    """

    def __init__(self, folder=None, functions=(), on_trace_ready=None, **words):
        self.folder, self.functions, self.on_trace_ready, self.words = folder, functions, on_trace_ready, words
        self.steps = None

    def on_train_begin(self, args, state, control, model=None, **more):
        folder = args.output_dir if self.folder is None else self.folder
        self.steps = _training.begin(model, self.functions, folder, "profile", self.on_trace_ready, self.words)

    def on_step_end(self, args, state, control, **more):
        self.steps.step()

    def on_train_end(self, args, state, control, **more):
        _training.end(self.steps)
