# SPDX-License-Identifier: MIT
"""fixtures/heap/leaks: programs whose leaking lines are marked `# leaks`, and what clineprof says."""

import harness

PROGRAMS = sorted((harness.FIXTURES / "heap" / "leaks").glob("*.py"))
MODES = {"exact": "--heap-interval=1", "sampled": "--heap-interval=65536"}


def marked(program):
    """The lines that leak."""
    lines = program.read_text("utf-8").splitlines()
    return {number for number, text in enumerate(lines, 1) if text.endswith("  # leaks")}


def accused(program, folder, mode, *options):
    """The lines that are said to leak, and the process."""
    command = ["-l", "--leaks", MODES[mode], "-o", "leaks.lprof", *options, program]
    ended = harness.run_ckernprof(command, folder)
    assert ended.code in (0, 3), ended.err
    functions = ended.profile("leaks.lprof").functions.values()
    return {leak["line"] for found in functions for leak in found.get("leaks", ())}, ended
