# SPDX-License-Identifier: MIT
"""What the tests share: running programs bare, under ckernprof and under the reference counter, and
reading profiles. Nothing here imports clineprof, but to see that it can read what it has written."""

import collections
import functools
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import time
import warnings
import zlib

import msgpack
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
REFERENCE = ROOT / "tests" / "conformance" / "reference.py"
BUILD = pathlib.Path(os.environ.get("CLINEPROF_BUILD", ROOT / "build")).resolve()
CKERNPROF = os.environ.get("CLINEPROF_TEST_CKERNPROF", str(BUILD / "bin" / "ckernprof"))
TRACER = os.environ.get("CLINEPROF_TEST_TRACER")
OPTIONS = os.environ.get("CLINEPROF_TEST_OPTIONS", "").split()  # for every ckernprof: --native
MIB = 1 << 20
# AddressSanitizer reserves terabytes of addresses and keeps freed memory: limits and resident sizes
# mean nothing under it.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
# Under qemu-user, which tools/arm64.sh runs tests with: its own memory is part of the resident size, and grows.
EMULATED = "CLINEPROF_TEST_EMULATED" in os.environ

# A trace function of C code that comes without an object, so that nothing tells it from others of its kind.
UNSHARED = """
import ctypes
TRACE = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_void_p)
def set_trace(function, set_it=ctypes.pythonapi.PyEval_SetTrace):
    set_it.argtypes = [TRACE, ctypes.c_void_p]
    set_it(function, None)
held = TRACE(lambda *event: 0)
set_trace(held)
"""


class Disturbed(AssertionError):
    """What was measured is not what it must be: another process may have had the processor, or shared memory."""


def steady(holds, *told):
    """Asserts what holds unless the rest of the machine disturbs the measurement; for tests that are @tried_again."""
    if not holds:
        raise Disturbed(*told)


def taken_by_others():
    """Seconds of processor time that were taken so far by all but this process and the programs that it has waited
    for: by other programs, and on a virtual machine by its neighbours (steal)."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


class Attempt:
    """A `with` block in which something is measured. `busy` is then how many processors others had meanwhile. The system
    counts in steps of 10 ms, so a block counts as half a second at least."""

    def __enter__(self):
        self.taken, self.start = taken_by_others(), time.monotonic()
        return self

    def __exit__(self, *_):
        self.busy = (taken_by_others() - self.taken) / max(time.monotonic() - self.start, 0.5)


class Anew:
    """A run that several tests look at. @tried_again makes it anew for the test that it disturbed. `busy` is what others
    had of the processors meanwhile."""

    def __init__(self, run):
        self.run = run
        self.again()

    def again(self):
        with Attempt() as attempt:
            self.ran = self.run()
        self.busy = attempt.busy

    def __getattr__(self, name):
        return getattr(self.ran, name)


# tried_again: how often a test may be disturbed on a quiet machine, and on one where others take more than a tenth of a
# processor.
QUIET, BUSY, TENTH = 5, 3, 0.1


def tried_again(test):
    """For a test that compares what was measured (`steady`). It runs alone, and yet another process may take the
    processor between two readings of a clock. A test that is disturbed five times on a quiet machine has found a
    fault. On a busy one it proves nothing, and is skipped. What else it asserts must hold at once."""

    @functools.wraps(test)
    def attempts(*arguments, **named):
        quiet = busy = 0
        runs = [run for run in named.values() if isinstance(run, Anew)]
        while True:
            with Attempt() as attempt:
                try:
                    return test(*arguments, **named)
                except Disturbed as disturbed:
                    found = disturbed
            others = max(measured.busy for measured in (runs or [attempt]))
            if others > TENTH:
                busy += 1
            else:
                quiet += 1
            if busy == BUSY:
                pytest.skip(f"the machine is busy, others had {others:.1f} processors: {found}")
            if quiet == QUIET:
                raise found
            for run in runs:
                run.again()

    return pytest.mark.alone(attempts)


class Ended:
    """A finished process."""

    def __init__(self, process, folder):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.folder = pathlib.Path(folder)

    def profile(self, name=None):
        """The profile written into the working folder: the one of this name, or the only one."""
        if name is None:
            [path] = self.folder.glob("*.lprof")
        else:
            path = self.folder / name
        return Profile(path)


def run(command, folder, env=None, stdin="", timeout=300, addresses=None):
    """Runs a command in a folder, with so many bytes of address space at most. Output is text; bytes
    that are not UTF-8 come as surrogates."""
    limit = None if SANITIZED else addresses
    process = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=timeout,
        env=clean_environment(env),
        preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))),
    )
    return Ended(process, folder)


# What tells a program about the terminal, the service or the `make` in which the tests themselves run.
OF_THE_TESTS = {"NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLUMNS", "LINES", "COLORTERM", "CI", "BUILD_NUMBER",
                "MAKEFLAGS", "MAKELEVEL", "BROWSER", "SETUP", "VENV", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}  # fmt: skip


def clean_environment(more=None):
    """The caller's environment without what would change how Python and pytest write or find things,
    and what would switch a profiler on."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "CLINEPROF", "LINE_PROFILE", "GITHUB_")) and name not in OF_THE_TESTS
    }
    kept["PYTHONUTF8"] = "1"
    # bare runs leave caches behind that later runs would load: let neither kind do so
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    return {**kept, **(more or {})}


def run_python(arguments, folder, **options):
    return run([sys.executable, *arguments], folder, **options)


def ckernprof(*words):
    """The start of a ckernprof command: this interpreter, and where -l is among the words the tracer under test."""
    command = [CKERNPROF, "--python", sys.executable]
    options = words if str(*words[:1]).startswith("-") else ()  # behind the program they are the program's
    chosen = {after for word, after in zip(options, options[1:]) if word in ("--tracer", "--clock")}
    light = "--light" in options or "light" in chosen  # has a tracer of its own
    if TRACER and not light and any(re.fullmatch("-[a-z]*l.*|--line(-by-line)?", str(word), re.S) for word in options):
        command += ["--tracer", TRACER]
    return [*command, *OPTIONS, *words]


def run_ckernprof(arguments, folder, **options):
    start = time.time_ns()
    ended = run(ckernprof(*arguments), folder, **options)
    for path in ended.folder.glob("*.lprof"):
        if path.is_file() and path.stat().st_mtime_ns >= start and is_ours(path):
            read_back(path)
    return ended


def is_ours(path):
    """Is it a .lprof file that can be read? Others are pickles."""
    return os.access(path, os.R_OK) and path.read_bytes()[1:].startswith(b"\xa6format\xa9clineprof")


def read_back(path):
    """Our own reader must open the profile, and leave nothing out."""
    if str(BUILD / "python") not in sys.path:  # tools/ use this file, too
        sys.path.append(str(BUILD / "python"))
    import clineprof

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clineprof.load(path)


def run_viewer(arguments, folder, **options):
    """The viewer, by the command that ckernprof itself recommends."""
    return run([*viewer_command(), *arguments], folder, **options)


def viewer_command():
    return [pathlib.Path(CKERNPROF).with_name("clineprof")]


def reference(script, folder, arguments=(), **options):
    """Hits by function and line as the reference counter sees them, and the process."""
    out = pathlib.Path(folder) / "reference.json"
    ended = run_python([REFERENCE, out, script, *arguments], folder, **options)
    assert out.exists(), ended.err
    hits = collections.defaultdict(collections.Counter)
    for file, first_line, name, lines in json.loads(out.read_text("utf-8")):
        hits[file, first_line, name].update({int(line): n for line, n in lines.items()})
    return dict(hits), ended


class Profile:
    """A .lprof file, read with nothing but msgpack."""

    def __init__(self, path):
        read_back(path)
        self.raw = msgpack.unpackb(pathlib.Path(path).read_bytes(), strict_map_key=False)
        assert self.raw["format"] == "clineprof"
        self.meta = self.raw["meta"]
        self.functions = {(f["file"], f["line"], f["name"]): f for f in self.raw["functions"]}
        assert len(self.functions) == len(self.raw["functions"]), "a function stands there twice"

    def texts(self):
        """The texts that the file has, as bytes."""
        return [text.encode() if isinstance(text, str) else zlib.decompress(text["zlib"])
                for text in self.raw["texts"]]  # fmt: skip

    def sources(self):
        """{function: its text}, without functions that have none."""
        texts = self.texts()
        places = {key: function["text"] for key, function in self.functions.items() if "text" in function}
        return {key: texts[text][start:start + size].decode() for key, (text, start, size) in places.items()}

    def hits(self):
        return {key: self.measure(function, "hits") for key, function in self.functions.items()}

    @staticmethod
    def measure(function, name):
        """{line: value} of one column; a column left out is zero throughout."""
        columns = function["lines"]
        lines = columns.get("line", [])
        return dict(zip(lines, columns.get(name, [0] * len(lines))))

    def function(self, name):
        [found] = [f for key, f in self.functions.items() if key[2] == name]
        return found

    def line(self, name, line):
        """All measures of a line of the function with this name, by name of measure; what is not
        there is 0."""
        columns = self.function(name)["lines"]
        place = columns["line"].index(line)
        return collections.defaultdict(int, {key: column[place] for key, column in columns.items()})


def make_here():
    """The start of a command that makes something of the build under test, without building it anew."""
    config = BUILD / sysconfig.get_config_var("SOABI") / "config.mk"
    if not config.exists():
        pytest.skip("make did not make this build")
    # the same interpreter by the same name
    python = re.search("PYTHON_EXE := (.*)", config.read_text())[1]
    return ["make", "-s", f"PYTHON={python}", f"OUT={os.path.relpath(BUILD, ROOT)}"]


def without_zeros(hits):
    """Functions and lines that ran; a line that never ran may be listed or left out."""
    return {
        key: {line: n for line, n in lines.items() if n}
        for key, lines in hits.items()
        if any(lines.values())
    }


def line_of(path, mark):
    """The number of the only line of a file that contains this text, or, when the text is a
    comment, ends with it."""
    lines = pathlib.Path(path).read_text("utf-8").splitlines()
    found = [
        n
        for n, text in enumerate(lines, 1)
        if (text.endswith(mark) if mark.startswith("#") else mark in text)
    ]
    assert len(found) == 1, f"{mark!r} stands in the lines {found}"
    return found[0]


def differences(found, expected):
    """A readable list of what differs between two {function: {line: hits}}."""
    found, expected = without_zeros(found), without_zeros(expected)
    out = []
    for key in sorted(found.keys() | expected.keys()):
        ours, theirs = found.get(key, {}), expected.get(key, {})
        for line in sorted(ours.keys() | theirs.keys()):
            if ours.get(line, 0) != theirs.get(line, 0):
                out.append(
                    f"{key[0]}:{line} {key[2]}: "
                    f"{ours.get(line, 0)} hits, reference {theirs.get(line, 0)}"
                )
    return out


def own_messages_removed(text):
    """Standard output without the two messages of ckernprof at the end."""
    return re.sub(r"Wrote profile results to '.*'\nInspect results with:\n.*\n\Z", "", text)


# ---- -p ----------------------------------------------------------------------------------------


def selected(ended, folder):
    """{file: names of its functions that have hits}"""
    found = {}
    for (file, _, name), lines in ended.profile().hits().items():
        if any(lines.values()):
            found.setdefault(file.removeprefix(f"{folder}/"), set()).add(name)
    return found


def complaints(ended):
    return [line for line in ended.err.splitlines() if line.startswith("ckernprof: ")]


def profiled(folder, targets, *options, program=("main.py",), **more):
    """Runs it with these targets: it must do what it does without."""
    ended = run_ckernprof(["-l", "-p", targets, *options, *program], folder, **more)
    theirs = run_python([*program], folder, **more)
    assert (own_messages_removed(ended.out), ended.code) == (theirs.out, theirs.code), ended.err
    assert [line for line in ended.err.splitlines() if line not in complaints(ended)] == (
        theirs.err.splitlines()
    )
    return ended


@functools.cache
def working_gdb():
    """gdb's path; None: it is not installed, or cannot call a function in a process of this machine. gdb 13 kills the
    process where the kernel saves more registers than it knows (AMX)."""
    gdb = shutil.which("gdb")
    if gdb is None:
        return None
    with subprocess.Popen(["sleep", "60"], stderr=subprocess.DEVNULL) as asleep:
        call = [gdb, "-nx", "-batch", "-p", str(asleep.pid), "-ex", "call (int)getpid()"]
        told = subprocess.run(call, text=True, capture_output=True).stdout
        asleep.kill()
    return gdb if f"= {asleep.pid}\n" in told else None
