# SPDX-License-Identifier: MIT
"""The ways to run a program: bare, under each tracer of clineprof, under its peers."""
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from environment import HERE, ROOT, last_line

CKERNPROF = os.path.join(ROOT, "build", "bin", "ckernprof")
CLINEPROF = os.path.join(ROOT, "build", "bin", "clineprof")
TRACERS = ("probe", "monitoring", "settrace")
TIMEOUT = 120


@dataclass
class Variant:
    """One column. `head` is the command up to the program, with {out} for the profile."""
    name: str
    head: list
    read: object = None  # path -> functions, see profiles.py; None when there is no profile
    slow: bool = False   # runs in fewer rounds

    def command(self, out, program, args):
        return [part.format(out=out) for part in self.head] + [program, *map(str, args)]


@dataclass
class Run:
    """What one process did. failure is None or one line."""
    seconds: float = None
    failure: str = None
    functions: dict = field(default_factory=dict)  # of the profile; empty when there is none


def clineprof(base, tracer, memory, label=None, more=()):
    import profiles
    head = [CKERNPROF, "-l", "--python", base, "-o", "{out}"]
    head += ["--tracer", tracer] if tracer else []
    head += [*more] if memory else ["--no-memory"]
    name = label or tracer + ("+memory" if memory else "")
    return Variant(name, head, profiles.read_clineprof)


def line_profiler():
    import profiles
    head = [sys.executable, "-m", "kernprof", "-l", "-o", "{out}"]
    return Variant("line_profiler", head, profiles.read_line_profiler, slow=True)


def memory_profiler():
    """In the environment that has it; that is the same interpreter. It prints its report, too."""
    return Variant("memory_profiler", [sys.executable, "-m", "memory_profiler"], slow=True)


def tracemalloc(base):
    return Variant("tracemalloc", [base, "-X", "tracemalloc"])


def bare(base):
    return Variant("bare", [base])


def all_variants(base):
    """The variants that work here, and a note for each one that does not."""
    found, notes = [bare(base)], []
    if not os.path.exists(CKERNPROF):
        notes.append("build/bin/ckernprof is not there (make all): clineprof was not measured")
    for tracer in TRACERS if not notes else ():
        reason = refusal(clineprof(base, tracer, memory=False), tracer)
        if reason:
            notes.append(f"tracer {tracer} was not measured: {reason}")
        else:
            found += [clineprof(base, tracer, memory) for memory in (False, True)]
    return found + [line_profiler()], notes


def refusal(variant, tracer):
    """Why this interpreter or build cannot use the tracer; None when it can."""
    program = os.path.join(HERE, "programs", "tight.py")
    run = execute(variant, program, ["0.001"])
    if run.failure:
        return run.failure
    used = run.functions.tracer
    return None if used == tracer else f"clineprof used {used} instead"


def clean_environment():
    """Ours without what would steer an interpreter or a profiler."""
    steering = ("PYTHON", "LINE_PROFILE", "CLINEPROF", "VIRTUAL_ENV")
    return {name: text for name, text in os.environ.items() if not name.startswith(steering)}


def execute(variant, program, args=(), wrapper=(), read=True, look=None):
    """Runs the program in a folder of its own. wrapper goes in front of the command; read: is the
    profile wanted; look is given the folder before it goes."""
    folder = tempfile.mkdtemp(prefix="bench-")
    out = os.path.join(folder, "out.lprof")
    try:
        command = [*wrapper, *variant.command(out, program, args)]
        done = subprocess.run(command, cwd=folder, env=clean_environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
        if done.returncode:
            return Run(failure=f"exit {done.returncode}: {last_line(done.stderr)}")
        if look:
            look(folder)
        return finished(variant, done.stdout, out) if read else Run()
    except subprocess.TimeoutExpired:
        return Run(failure=f"longer than {TIMEOUT} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def finished(variant, stdout, out):
    run = Run(seconds=number_in(stdout))
    if variant.read is None:
        return run
    try:
        run.functions = variant.read(out)
    except Exception as error:  # a profile of somebody else's: anything may be wrong with it
        run.failure = f"its profile cannot be read: {error!r}"
    return run


def number_in(text):
    """The program's number among whatever the profiler printed; None when there is none."""
    for line in reversed(text.splitlines()):
        try:
            return float(line)
        except ValueError:
            continue
    return None
