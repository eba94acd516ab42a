# SPDX-License-Identifier: MIT
"""Profiles some steps of a training loop, with the words of torch.profiler. Needs no package; the adapters for
Lightning and transformers are made of it."""
import atexit
import gzip
import os
import sys

from clineprof import _boot, _formats
from clineprof._boot import files
from clineprof._global.schedule import NONE, RECORD, RECORD_AND_SAVE, Schedule, follow
from clineprof._profile import Profile


class Steps:
    """A context that counts the lines of some functions in the active steps of a loop. step() ends a step.

    >>> import clineprof
    >>> def work(n):
    ...     return sum(range(n))
    >>> with clineprof.Steps(work, wait=1, warmup=1, active=3, repeat=1) as steps:
    ...     for n in range(10):
    ...         result = work(n)
    ...         steps.step()
    >>> steps.profile.functions[0]["hits"]
    [3]

    functions: what is counted: functions, methods, classes, as for Profiler
    wait, warmup, active, repeat, skip_first, skip_first_wait: as for torch.profiler.schedule. Without `active` all
        steps behind `wait` and `warmup` count, until the context ends
    on_trace_ready: is called with this object when a cycle's last active step has ended, and at the end of the context
        if that is within active steps
    options: arguments of Profiler: memory, cpu, counters, ..

    step_num: the number of the step that runs, from 0
    total: the sum of the cycles that have ended, as a clineprof.Profile; None before the first has

    Outside warm-up and active steps functions run their own code. Raises ValueError for a number below 0, or active
    below 1.
    """

    def __init__(self, *functions, wait=0, warmup=0, active=None, repeat=0, skip_first=0, skip_first_wait=0,
                 on_trace_ready=None, **options):  # fmt: skip
        active = sys.maxsize if active is None else active
        self._schedule = Schedule(wait, warmup, active, repeat, skip_first, skip_first_wait)
        self._on_trace_ready = on_trace_ready
        self._profiler = _boot.core().Profiler(started=False, **options)
        for function in functions:
            self._profiler(function)
        self._phase = NONE
        self.step_num = 0
        self.total = None

    def __enter__(self):
        self._go_to(self._schedule.phase(self.step_num))
        return self

    def __exit__(self, *exception):
        self._go_to(NONE)

    def step(self):
        """Ends a step."""
        self.step_num += 1
        self._go_to(self._schedule.phase(self.step_num))

    def _go_to(self, phase):
        before, self._phase = self._phase, phase
        ends = before == RECORD_AND_SAVE or (before == RECORD and phase == NONE)
        if ends:
            self._profiler.stop()
            self.total = self.profile if self.total is None else self.total + self.profile
            if self._on_trace_ready is not None:
                self._on_trace_ready(self)
        if before in (NONE, RECORD_AND_SAVE) and phase != NONE:
            self._profiler.reset()  # the numbers of the last cycle stay until the next one begins
        if ends or phase != before:
            follow(phase, self._profiler)

    @property
    def profile(self):
        """What the present or the last cycle has counted, as a clineprof.Profile."""
        return Profile(self._profiler._whole())

    def export_chrome_trace(self, path, **options):
        """Writes `profile` as a Chrome trace; compressed, if the name ends with .gz. torch.profiler's
        tensorboard_trace_handler calls this, with options that have no effect here. If nothing was counted, a message
        says so, and no file is written."""
        try:
            made = _formats.render("trace", self.profile, {"unit": 1e-6, "raw_times": False, "memory": True})
        except ValueError as error:
            _boot.complain("clineprof", "cannot write '%s': %s" % (path, error))
            return
        files.replace(path, gzip.compress(made) if path.endswith(".gz") else made)


class RankFiles:
    """For on_trace_ready: a file for each rank, in a folder that is made if it is missing. The file has the sum of all
    cycles so far. If it cannot be written, a message says so, and the training goes on.

    folder: where the file goes. It is called <name>.rank<N>.lprof, or without a rank <name>.lprof
    """

    def __init__(self, folder, name="profile"):
        self.folder, self.name = os.fspath(folder), name

    def __call__(self, steps):
        path = os.path.join(self.folder, "%s%s.lprof" % (self.name, rank()))
        try:
            os.makedirs(self.folder, exist_ok=True)
            steps.total.write(path)
        except OSError as error:
            _boot.complain("clineprof", "cannot write '%s': %s" % (path, error.strerror))


def rank():
    """The part of a file's name that tells this process's rank: that of the environment, which torchrun and mpirun set,
    or else that of torch.distributed. "" if the process runs alone."""
    distributed = sys.modules.get("torch.distributed")
    told = _boot.core().rank()
    if told == "" and distributed is not None and distributed.is_available() and distributed.is_initialized():
        return ".rank%d" % distributed.get_rank()
    return told


def begin(model, functions, folder, name, on_trace_ready, words):
    """Begins Steps for an adapter, which counts the class of a model and more functions. Without an on_trace_ready of
    the user's RankFiles writes. If the training raises, and so never calls end(), the Steps end with the process."""
    ready = RankFiles(folder, name) if on_trace_ready is None else on_trace_ready
    steps = Steps(model.__class__, *functions, on_trace_ready=ready, **words)
    atexit.register(steps.__exit__)
    return steps.__enter__()


def end(steps):
    atexit.unregister(steps.__exit__)
    steps.__exit__()


def missing(module, package, error):
    """An ImportError that names the package which an adapter needs."""
    return ImportError("%s needs %s (pip install %s): %s" % (module, package, package, error), name=package)
