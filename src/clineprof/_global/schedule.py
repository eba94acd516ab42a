# SPDX-License-Identifier: MIT
"""Decides which steps of a program are profiled, with the phases of torch.profiler in their order."""

NONE, WARMUP, RECORD = "none", "warmup", "record"


class Schedule:
    def __init__(self, wait, warmup, active, repeat=0, skip_first=0):
        for name, value in (
            ("wait", wait), ("warmup", warmup), ("active", active), ("repeat", repeat),
            ("skip_first", skip_first),
        ):  # fmt: skip
            if type(value) is not int or value < (name == "active"):
                raise ValueError(
                    "schedule: %s must be a whole number from %d on, not %r"
                    % (name, name == "active", value)
                )
        self.wait, self.warmup, self.active = wait, warmup, active
        self.repeat, self.skip_first = repeat, skip_first
        self.number = 0  # the number of the step that runs

    def phase(self, step):
        """The phase of the step with this number, counted from 0."""
        cycle, place = divmod(step - self.skip_first, self.wait + self.warmup + self.active)
        if step < self.skip_first or (self.repeat and cycle >= self.repeat):
            return NONE
        if place < self.wait:
            return NONE
        return WARMUP if place < self.wait + self.warmup else RECORD

    def apply(self, profiler):
        phase = self.phase(self.number)
        if phase == NONE:
            profiler.stop()
        else:
            profiler.gate(phase == RECORD)
            profiler.start()

    def step(self, profiler):
        self.number += 1
        self.apply(profiler)
