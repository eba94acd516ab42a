# SPDX-License-Identifier: MIT
"""`clineprof attach` does no harm: programs that are in the midst of something unusual go on as if nobody had come, and
the user reads one line that says what is the matter."""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys

import pytest
from clineprof._attach import command as attach_command
from clineprof._attach import window
from harness import SANITIZED, Profile, clean_environment, viewer_command
from test_attach import (HAS_DOOR, LISTEN, LOOP, WAKES, attach, end_early, hits, hits_so_far, left_behind, refusal,
                         target, wait_until)  # fmt: skip
from test_attach_doors import CAREFUL, GDB, fake_gdb, lives, refused, state, through_gdb

pytestmark = [pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")]
no_door = pytest.mark.skipif(not HAS_DOOR and GDB is None, reason="gdb is not installed, or cannot call functions on this machine")
both_doors = pytest.mark.parametrize("listen", [WAKES, pytest.param("", marks=no_door)])
NO_PYTHON = "process {} ran no Python code for {:g} s, so nothing is done; it waits, is in C code, or is stopped\n"


def count_until(loop, line):
    """Attaches until the line has been counted often. Returns how often."""
    attached = loop.attach("-s", "60")
    wait_until(lambda: hits_so_far(loop.folder, line) > 100)
    end_early(attached)
    return hits(loop.folder, line)


def said_by(loop):
    """The next line of its standard output."""
    ready, _, _ = select.select([loop.process.stdout], [], [], 300)
    assert ready
    return loop.process.stdout.readline()


# ---- the program's signals ----


@pytest.mark.parametrize("listen", [WAKES, pytest.param("", marks=through_gdb)])  # 3.14's own door prints and drops it
def test_what_a_signals_handler_raises_reaches_the_program(target, tmp_path, listen):
    """The signal comes in the midst of what clineprof does in the process."""
    loop = target("""\
import os, signal, sys

class Alarm(Exception):
    pass

def ring(*words):
    raise Alarm

def hook(event, words):
    if event == "socket.connect":
        os.kill(os.getpid(), signal.SIGALRM)

def step():
    return sum(range(100))  # counted

signal.signal(signal.SIGALRM, ring)
sys.addaudithook(hook)
print("ready", flush=True)
while True:
    try:
        while True:
            step()
    except Alarm:
        print("alarm", flush=True)
""", listen=listen)
    for _ in range(2):
        assert count_until(loop, loop.line("# counted")) > 100
        assert said_by(loop) == "alarm\n"
    assert loop.end() == ""


def test_a_handler_that_is_interrupted_is_called_again(target, tmp_path):
    """Another handler of the program raises before ours has begun: the request is not forgotten."""
    loop = target("""\
import signal

class Alarm(Exception):
    pass

def ring(*words):
    raise Alarm

signal.signal(signal.SIGALRM, ring)
hold, rung = signal.pthread_sigmask, []

def hold_once(how, numbers):
    if not rung:
        rung.append(1)
        signal.raise_signal(signal.SIGALRM)
    return hold(how, numbers)

signal.pthread_sigmask = hold_once
print("ready", flush=True)
while True:
    try:
        while True:
            sum(range(100))
    except Alarm:
        print("alarm", flush=True)
""", listen=WAKES)
    code, out, err = attach(loop, "-s", "0.3")
    assert code == 0, err
    assert said_by(loop) == "alarm\n"
    assert loop.end() == ""


def test_ctrl_c_before_the_process_has_come_to_the_request(target, tmp_path):
    """Then it comes to nothing. In particular the program's own window stays closed."""
    loop = target(LOOP, listen=WAKES)
    loop.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(loop.pid) == "T")
    attached = subprocess.Popen([*viewer_command(), "attach", str(loop.pid), "--wait", "60"], cwd=tmp_path, text=True,
                                env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pending = pathlib.Path(f"/proc/{loop.pid}/status")
    wait_until(lambda: f"ShdPnd:\t{1 << signal.SIGUSR2 - 1:016x}" in pending.read_text())
    attached.send_signal(signal.SIGINT)
    assert (*attached.communicate(timeout=300), attached.returncode) == ("", "", 130)
    loop.process.send_signal(signal.SIGCONT)
    wait_until(lambda: left_behind(loop.pid) == [])
    code, out, err = attach(loop, "-s", "0.2")
    assert code == 0, err
    assert loop.end() == "" and sorted(os.listdir(tmp_path)) == ["app.py", "out.lprof"]


@pytest.fixture
def request_for_a_dump(tmp_path):
    """(path of the request, its listening socket), as the user's side makes them."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        listener.listen(5)
        listener.setblocking(False)
        about = {"deadline": 1e12, "socket": str(tmp_path / "socket"), "folder": f"{tmp_path}/", "dump": True}
        (tmp_path / "request.json").write_text(json.dumps(about))
        yield tmp_path / "request.json", listener


def test_a_request_is_answered_once(request_for_a_dump):
    """Two signals may find it at the same time. A second answer nobody would read, and the process would wait for
    that."""
    path, listener = request_for_a_dump
    for _ in range(2):
        window.begin(str(path))
    with listener.accept()[0] as connection:
        assert connection.recv(1 << 20).startswith(b'{"stacks": ')
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.skipif(HAS_DOOR, reason="the others come through the door, one after the other")
def test_many_at_once(target, tmp_path):
    """A process that listens lets one in, and says to the others why not."""
    loop = target(LOOP)
    all_of_them = [subprocess.Popen([*viewer_command(), "attach", str(loop.pid), "-s", "3", "-o", f"{i}.lprof"],
                                    text=True, cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for i in range(6)]  # fmt: skip
    told = [process.communicate(timeout=300)[1] for process in all_of_them]
    others = [text for text in told if ": another clineprof counts in this process, for " in text]
    assert 1 <= len(told) - len(others) and all(text.startswith("Counting in ") for text in told if text not in others)
    assert loop.end() == "" and left_behind(loop.pid) == []


# ---- programs that are near a limit ----


@both_doors
def test_a_program_without_free_descriptors(target, listen):
    loop = target("""\
import os, resource

resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
try:
    while True:
        os.dup(0)
except OSError:
    print("ready", flush=True)
while True:
    sum(range(100))
""", listen=listen)
    assert refused(loop.pid, "--wait", "1") == NO_PYTHON.format(loop.pid, 1)
    assert loop.process.poll() is None
    if listen:
        assert "nothing is profiled: [Errno 24] Too many open files" in loop.end()


@both_doors
def test_a_program_at_its_limit_of_recursion(target, listen):
    loop = target("""\
import sys

def depth():
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count

def deeper(left):
    if left:
        deeper(left - 1)
    print("ready", flush=True)
    while True:
        pass

deeper(sys.getrecursionlimit() - depth() - 12)
""", listen=listen)
    refused(loop.pid, "--wait", "1")
    before = cpu_time(loop.pid)
    wait_until(lambda: cpu_time(loop.pid) > before)
    assert "RecursionError" not in loop.end() or listen


def cpu_time(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


@through_gdb
def test_a_program_that_forbids_new_code(target):
    """The line of Python cannot be compiled. The program goes on; without our return value it would die."""
    loop = target(f"""\
import sys

def hook(event, words):
    if event == "compile":
        raise PermissionError("no new code")

sys.addaudithook(hook)
{CAREFUL}""", listen="")
    assert refused(loop.pid, "--wait", "1") == NO_PYTHON.format(loop.pid, 1)
    before = cpu_time(loop.pid)
    wait_until(lambda: cpu_time(loop.pid) > before)
    assert loop.end().endswith("PermissionError: no new code\n")


# ---- programs that other tools look at ----


@pytest.mark.parametrize("tool", [["cProfile"], ["trace", "--count", "--coverdir", "counts"]])
@both_doors
def test_a_program_that_is_profiled_or_traced(target, tmp_path, tool, listen):
    """Through gdb on 3.11 it would hang, if the tool saw what clineprof does."""
    loop = target(LOOP, listen=listen, command=["-m", *tool, "app.py"])
    for _ in range(2):
        assert count_until(loop, loop.line("return sum")) > 100
    assert loop.end() == ""


@both_doors
def test_functions_of_code_that_is_in_no_module(target, tmp_path, listen):
    """Those tools run a script in a dict of their own. Its functions are found although they do not run."""
    loop = target("""\
import time

SCRIPT = '''
def step():
    return sum(range(200))

while True:
    time.sleep(0.002)
    step()
'''

print("ready", flush=True)
open("script.py", "w").write(SCRIPT)
exec(compile(SCRIPT, "script.py", "exec"), {"__name__": "script", "time": time})
""", listen=listen)
    assert count_until(loop, 3) > 100
    functions = [(line, name) for _, line, name in Profile(tmp_path / "out.lprof").functions]
    assert functions.count((2, "step")) == 1 and (2, "step (2)") not in functions
    assert loop.end() == ""


# ---- other programs ----


@both_doors
def test_a_program_that_writes_to_a_standard_error_that_it_has_closed(target, tmp_path, listen):
    """The numbers of what clineprof opens are others, so nothing of it is in the profile or in our messages."""
    loop = target("""\
import os

def step():
    try:
        os.write(2, b"rubbish\\n")  # counted
    except OSError:
        pass

print("ready", flush=True)
os.close(2)
while True:
    step()
""", listen=listen)
    for _ in range(3):
        assert count_until(loop, loop.line("# counted")) > 100
    assert loop.end() == ""


REPLACES = """\
import os, sys

if sys.argv[1:]:
    open("second", "w").close()
else:
    print("ready", flush=True)
while sys.argv[1:] or not os.path.exists("go"):
    sum(range(100))
os.execv(*NEXT)
"""
ITSELF = "(sys.executable, [sys.executable, 'app.py', 'second'])"
ANOTHER = "('/bin/sh', ['sh', '-c', 'touch second; while :; do :; done'])"


@through_gdb
@pytest.mark.parametrize("visit, following, told", [
    (1, ITSELF, None),
    (1, ANOTHER, "process {pid} is not Python: it runs {exe}\n"),
    (2, ITSELF, "gdb cannot reach process {pid}: it executes another program now\n"),
    (2, ANOTHER, "gdb cannot reach process {pid}: it executes another program now\n"),
])
def test_a_process_that_executes_another_program_meanwhile(target, tmp_path, visit, following, told):
    """During the rehearsal, or when gdb is about to visit it. The functions that gdb would call are elsewhere then."""
    loop = target(REPLACES.replace("NEXT", following), listen="")
    folder = fake_gdb(tmp_path, f"""\
if [ $(wc -l <'{tmp_path}/bin/visits') = {visit} ]; then
  touch '{tmp_path}/go'
  until [ -e '{tmp_path}/second' ]; do sleep 0.01; done
fi
exec GDB "$@"
""")
    if told is None:
        env = clean_environment({"PATH": f"{folder}:{os.environ['PATH']}"})
        done = subprocess.run([*viewer_command(), "attach", str(loop.pid), "-s", "0.2", "-o", "out.lprof"], env=env,
                              cwd=tmp_path, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
    else:
        said = refused(loop.pid, path=folder)
        assert said == told.format(pid=loop.pid, exe=os.path.realpath(f"/proc/{loop.pid}/exe"))
    assert loop.process.poll() is None and state(loop.pid) in "RS"
    assert loop.end() == "" and left_behind(loop.pid) == []


@no_door
def test_a_module_that_hides_one_of_the_standard_library(target, tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('this is no json')\n")
    loop = target(CAREFUL, listen="")
    assert refused(loop.pid) == (
        f"process {loop.pid}: it cannot import clineprof: SystemExit: this is no json\n")
    assert lives(loop)


@both_doors
def test_dump_of_a_program_that_gevent_has_changed(target, listen):
    pytest.importorskip("gevent", reason="gevent is not installed")
    loop = target("""\
from gevent import monkey
monkey.patch_all()

def turn():
    while True:
        pass

print("ready", flush=True)
turn()
""", listen=listen)
    done = subprocess.run([*viewer_command(), "dump", str(loop.pid)], text=True, capture_output=True, timeout=300,
                          env=clean_environment())
    assert done.stdout.startswith("MainThread\n") and " in turn\n" in done.stdout, done.stdout + done.stderr
    assert loop.end() == ""


def test_a_thread_is_no_process(target):
    loop = target("""\
import threading

thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
print(thread.native_id, flush=True)
while True:
    sum(range(100))
""")
    thread = int(loop.first)
    assert refusal(thread) == (1, f"clineprof attach: {thread} is a thread of process {loop.pid}\n")
    assert loop.end() == ""


# ---- the file ----


def test_a_profile_that_cannot_be_written_is_refused_at_once(target, tmp_path):
    """The process is not visited."""
    loop = target(LOOP)
    (tmp_path / "folder").mkdir()
    for name, why in ("folder", "Is a directory"), ("nosuch/out.lprof", "No such file or directory"):
        assert refusal(loop.pid, "-o", name, folder=tmp_path) == (
            1, f"clineprof attach: cannot write '{tmp_path}/{name}': {why}\n")
    assert refusal(loop.pid, "-o", "app.py", folder=tmp_path) == (
        1, f"clineprof attach: '{tmp_path}/app.py' is a program, and -o would write over it; give -o another name\n")
    assert loop.end() == "" and loop.path.read_text() == LISTEN + LOOP


@pytest.mark.parametrize("words, name", [
    (["app.py", "-c", "x"], "app.py"),
    (["-X", "dev", "-Wignore", "-uB", "./app.py"], "app.py"),
    (["-c", "import time; time.sleep(60)  # a/b"], "python"),
    (["-Ic", "import time; time.sleep(60)"], "python"),
    (["-Bm", "app"], "app"),
    (["-mapp"], "app"),
    (["-"], "python"),
    (["x" * 250], "x" * 200),
])
def test_the_name_of_the_profile(tmp_path, words, name):
    for script in "app.py", "x" * 250:
        (tmp_path / script).write_text("import time; time.sleep(60)\n")
    process = subprocess.Popen([sys.executable, *words], cwd=tmp_path, stdin=subprocess.PIPE)
    try:
        wait_until(lambda: os.fsencode(words[-1]) in pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes())
        assert attach_command._name(process.pid) == name
    finally:
        process.kill()
        process.communicate()
