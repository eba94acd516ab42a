# SPDX-License-Identifier: MIT
"""What the tests on real engines share: what they need, running programs, and the hits of a line.

A test file says what it needs in one line: `pytestmark = needs("ray")`. Its tests take the fixture `python`, an
interpreter with clineprof and the packages of the environment installed (conftest.py)."""
import contextlib
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
from harness import SANITIZED, Profile, ckernprof, clean_environment, line_of, run, run_viewer

SECONDS = 240  # for a program: engines start slowly, above all on a busy machine


def needs(*packages, programs=(), heavy=True):
    """Marks for a test or for a file of tests: they are skipped without these packages and these programs, and say
    which is missing. Heavy tests run in `make engines` only."""
    marks = [pytest.mark.once, pytest.mark.slow,
             pytest.mark.skipif(SANITIZED, reason="the engines take too long under AddressSanitizer")]
    if heavy:
        marks.append(pytest.mark.skipif("CLINEPROF_ENGINES" not in os.environ, reason="make engines runs this"))
    for package in packages:
        missing = importlib.util.find_spec(package) is None
        marks.append(pytest.mark.skipif(missing, reason=f"{package} is not installed"))
    for program in programs:
        marks.append(pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program} here"))
    return marks


def profiled(python, *words):
    """A command that runs ckernprof with this interpreter."""
    command = ckernprof(*words)
    command[command.index("--python") + 1] = str(python)
    return command


def run_ended(command, folder, env=None, seconds=SECONDS):
    """Runs a command that must end with status 0; what it said (`out`, `err`)."""
    ended = run(command, folder, env=env, timeout=seconds)
    assert ended.code == 0, ended.out + ended.err
    return ended


class Started:
    """A program that runs in a session of its own. Both of its outputs are in the file `log`."""

    def __init__(self, command, folder, env):
        self.log = pathlib.Path(folder) / "log"
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                list(map(str, command)), cwd=folder, env=clean_environment(env), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)

    def wait_until(self, true, seconds=SECONDS):
        """Waits until true() is true, and returns that."""
        end = time.monotonic() + seconds
        while not (value := true()):
            assert time.monotonic() < end and self.process.poll() is None, self.said()
            time.sleep(0.05)
        return value

    def said(self):
        return self.log.read_text()

    def end(self, number=signal.SIGTERM, seconds=SECONDS):
        """Sends a signal to the first process, and waits until it has ended; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextlib.contextmanager
def started(command, folder, env=None):
    """Starts a program such as a server. What is left of its session at the end is killed."""
    program = Started(command, folder, env)
    try:
        yield program
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()


def hits(profile, source, mark):
    """How often the line ran that ends with this mark, in all functions of the file `source`. The profile is the path
    of a file."""
    source = pathlib.Path(source)
    number = line_of(source, mark)
    return sum(lines.get(number, 0) for (file, _, _), lines in Profile(profile).hits().items()
               if pathlib.Path(file).name == source.name)


def profiles(folder):
    """The names of all profiles in the folder, with live files and files of children."""
    return sorted(path.name for path in pathlib.Path(folder).iterdir() if ".lprof" in path.name)


def merged(folder, *names):
    """The path of the sum of these files of the folder, which `clineprof merge` makes."""
    ended = run_viewer(["merge", "-o", "merged.lprof", *names], folder)
    assert ended.code == 0, ended.err
    return pathlib.Path(folder) / "merged.lprof"
