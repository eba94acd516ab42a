# SPDX-License-Identifier: MIT
"""The ways to run a program: bare, under each tracer of clineprof, under its peers."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from environment import HERE, ROOT, last_line

CKERNPROF = os.path.join(ROOT, "build", "bin", "ckernprof")
CLINEPROF = os.path.join(ROOT, "build", "bin", "clineprof")
TRACERS = ("probe", "monitoring", "settrace", "light")
WITHOUT_MEMORY = {"light"}
TIMEOUT = 120


@dataclass
class Variant:
    """A way to run programs, one column of a table. `head` is the command before the program, with {out} for the path
    of the profile."""
    name: str
    head: list
    read: object = None  # a function of profiles.py that reads the profile; None: there is no profile
    slow: bool = False   # takes part in fewer rounds

    def command(self, out, program, args):
        return [part.format(out=out) for part in self.head] + [program, *map(str, args)]


@dataclass
class Run:
    """The result of one process. `failure` is None or one line."""
    seconds: float = None
    output: str = ""
    failure: str = None
    functions: dict = field(default_factory=dict)  # the functions of its profile; empty if there is none


def clineprof(base, tracer, memory, label=None, more=(), launcher=CKERNPROF):
    import profiles
    head = [launcher, "-l", "--python", base, "-o", "{out}"]
    head += ["--tracer", tracer] if tracer else []
    head += [*more] if memory else [*more, "--no-memory"]
    name = label or tracer + ("+memory" if memory else "")
    return Variant(name, head, profiles.read_clineprof)


def line_profiler():
    import profiles
    head = [sys.executable, "-m", "kernprof", "-l", "-o", "{out}"]
    return Variant("line_profiler", head, profiles.read_line_profiler, slow=True)


def memory_profiler():
    """memory_profiler in the bench's environment, which has the same interpreter. It also prints its report."""
    return Variant("memory_profiler", [sys.executable, "-m", "memory_profiler"], slow=True)


def tracemalloc(base):
    return Variant("tracemalloc", [base, "-X", "tracemalloc"])


# What is put before a program by peers that are measured where they are installed (peers.txt). py-spy is a program.
PEERS = {
    "cProfile": ["-m", "cProfile", "-o", "{out}"],
    "coverage": ["-m", "coverage", "run", "--data-file={out}"],
    "slipcover": ["-m", "slipcover", "--out", "{out}"],
    "pyinstrument": ["-m", "pyinstrument", "-o", "{out}"],
    "scalene": ["-m", "scalene", "run", "--cpu-only", "--outfile", "{out}"],
    "memray": ["-m", "memray", "run", "-q", "-o", "{out}"],
    "yappi": ["-m", "yappi", "-o", "{out}"],
    "py-spy": ["record", "-f", "raw", "-o", "{out}", "--", sys.executable],
}


def peers():
    """Those that are installed in the bench's environment, and a note for each other one."""
    found, notes = [], []
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    for name, words in PEERS.items():
        is_here = os.path.exists(beside) if name == "py-spy" else importlib.util.find_spec(name)
        if is_here:
            found.append(Variant(name, [beside if name == "py-spy" else sys.executable, *words], slow=True))
        else:
            notes.append(f"{name} is not installed (peers.txt)")
    return found, notes


def bare(base):
    return Variant("bare", [base])


def all_variants(base):
    """The variants that work here, and a note for each one that does not."""
    found, notes = [bare(base)], []
    if not os.path.exists(CKERNPROF):
        notes.append("there is no build/bin/ckernprof (make all): clineprof was not measured")
    for tracer in TRACERS if not notes else ():
        reason = refusal(clineprof(base, tracer, memory=False), tracer)
        if reason:
            notes.append(f"tracer {tracer} was not measured: {reason}")
        else:
            found.append(clineprof(base, tracer, memory=False))
            if tracer not in WITHOUT_MEMORY:
                found.append(clineprof(base, tracer, memory=True))
    return found + [line_profiler()], notes


def refusal(variant, tracer):
    """Why this interpreter or build cannot use the tracer, in words; None if it can."""
    program = os.path.join(HERE, "programs", "tight.py")
    run = execute(variant, program, ["0.001"])
    if run.failure:
        return run.failure
    used = run.functions.tracer
    return None if used == tracer else f"clineprof used {used} instead"


def clean_environment():
    """This process's environment without variables that change how an interpreter or a profiler works."""
    steering = ("PYTHON", "LINE_PROFILE", "CLINEPROF", "VIRTUAL_ENV")
    return {name: text for name, text in os.environ.items() if not name.startswith(steering)}


def execute(variant, program, args=(), wrapper=(), read=True, look=None, variables=None):
    """Runs the program in a folder of its own, and returns a Run. `wrapper` is put before the command. With `read` the
    time and the profile are read. `look` is called with the folder before the folder is removed. `variables` are
    added to the environment."""
    folder = tempfile.mkdtemp(prefix="bench-")
    out = os.path.join(folder, "out.lprof")
    try:
        command = [*wrapper, *variant.command(out, program, args)]
        done = subprocess.run(command, cwd=folder, env={**clean_environment(), **(variables or {})}, text=True,
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
    run = Run(seconds=number_in(stdout), output=stdout)
    if variant.read is None:
        return run
    try:
        run.functions = variant.read(out)
    except Exception as error:  # the code of another project reads the profile, and may raise anything
        run.failure = f"its profile cannot be read: {error!r}"
    return run


def number_in(text):
    """The number that the program printed, among what the profiler printed; None if there is none."""
    for line in reversed(text.splitlines()):
        try:
            return float(line)
        except ValueError:
            continue
    return None
