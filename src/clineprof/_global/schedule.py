# SPDX-License-Identifier: MIT
"""Decides which steps of a program are profiled, with the words and the phases of torch.profiler.schedule."""

NONE, WARMUP, RECORD, RECORD_AND_SAVE = "none", "warmup", "record", "record_and_save"  # RECORD_AND_SAVE ends a cycle


class Schedule:
    def __init__(self, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
        for name, value in (
            ("wait", wait), ("warmup", warmup), ("active", active), ("repeat", repeat),
            ("skip_first", skip_first), ("skip_first_wait", skip_first_wait),
        ):  # fmt: skip
            if not isinstance(value, int) or value < (name == "active"):
                raise ValueError(
                    "schedule: %s must be a whole number from %d on, not %r"
                    % (name, name == "active", value)
                )
        self.wait, self.warmup, self.active = wait, warmup, active
        self.repeat, self.skip_first = repeat, skip_first
        self.ahead = wait if skip_first_wait else 0  # steps of the first cycle that are left out
        self.number = 0  # the number of the step that runs

    def phase(self, step):
        """The phase of the step with this number, counted from 0."""
        if step < self.skip_first:
            return NONE
        length = self.wait + self.warmup + self.active
        cycle, place = divmod(step - self.skip_first + self.ahead, length)
        if (self.repeat and cycle >= self.repeat) or place < self.wait:
            return NONE
        if place < self.wait + self.warmup:
            return WARMUP
        return RECORD_AND_SAVE if place == length - 1 else RECORD

    def apply(self, profiler):
        follow(self.phase(self.number), profiler)

    def step(self, profiler):
        self.number += 1
        self.apply(profiler)


def follow(phase, profiler):
    """Opens or closes the profiler's window and gate, as a phase wants them."""
    if phase == NONE:
        profiler.stop()
    else:
        profiler.gate(phase != WARMUP)
        profiler.start()
