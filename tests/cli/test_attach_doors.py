# SPDX-License-Identifier: MIT
"""How `clineprof attach` gets into a process: through a signal that the hook has it listen to, or through gdb; and who
is refused, in one line. The process lives in any case, and goes on computing what is right."""

import ctypes
import os
import pathlib
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest
from harness import BUILD, SANITIZED, clean_environment, run, viewer_command, working_gdb
from test_attach import (HAS_DOOR, LISTEN, LOOP, SERVER, WAKES, attach, end_early, hits, left_behind,
                         target, wait_until)  # fmt: skip

pytestmark = [pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")]
GDB = working_gdb()
through_gdb = pytest.mark.skipif(HAS_DOOR or GDB is None, reason="gdb is not installed, cannot call functions on this machine, or is not needed")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
VERSION = "%d.%d" % sys.version_info[:2]
INSTEAD = "call clineprof.listen() in the program, or start it with CLINEPROF_ATTACH=1 (clineprof hook install)\n"

# Counts, and notices if anything it computes is wrong.
CAREFUL = """\
import os, sys

def step(i):
    return i * 1.5  # counted

def work():
    return sum(map(step, range(100)))

print("ready", flush=True)
names = None
while True:
    assert work() == 7425.0
    if names is None:
        names = set(globals())
    assert set(globals()) == names
"""


def command(words, path=None, **options):
    """(exit code, standard error) of `clineprof` with these words. `path`: a folder for PATH."""
    env = clean_environment({"PATH": f"{path}:{os.environ['PATH']}"} if path else None)
    done = subprocess.run(list(map(str, [*viewer_command(), *words])), env=env, text=True, capture_output=True,
                          timeout=300, **options)
    return done.returncode, done.stderr


def refused(pid, *words, **options):
    """The line that tells why, without its beginning."""
    code, err = command(["attach", pid, "-s", "0.2", "-o", "/dev/null", *words], **options)
    assert code == 1 and err.startswith("clineprof attach: ") and err.count("\n") == 1, err
    return err.removeprefix("clineprof attach: ")


def state(pid):
    return re.search(r"State:\t(.)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]


def lives(process):
    """It is no more stopped than it was, and executes Python code."""
    before = cpu_time(process.pid)
    wait_until(lambda: cpu_time(process.pid) > before)
    assert state(process.pid) in "RS" and left_behind(process.pid) == []
    return process.end() == ""


def cpu_time(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def mapped(pid):
    return len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())


# ---- the hook ----


@pytest.fixture
def python_with(tmp_path):
    """An interpreter of its own with a hook that was installed with these words."""
    def make(*words):
        folder = tmp_path / "env"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        done = subprocess.run([BUILD / "bin" / "clineprof", "hook", "install", *words], capture_output=True, text=True,
                              env=clean_environment({"VIRTUAL_ENV": str(folder)}))
        assert done.returncode == 0, done.stderr
        return folder / "bin" / "python"

    return make


@pytest.mark.parametrize("words, env, listens", [
    ([], {"CLINEPROF_ATTACH": "1"}, signal.SIGRTMAX - 3),
    ([], {"CLINEPROF_ATTACH": str(int(signal.SIGUSR1))}, signal.SIGUSR1),
    ([], {"CLINEPROF_SIGNAL": "USR2"}, signal.SIGUSR2),
    ([], {}, None),
    (["--attach"], {}, signal.SIGRTMAX - 3),
    (["--attach"], {"CLINEPROF_ATTACH": "0"}, None),
])
def test_the_hook_lets_attach_in(python_with, tmp_path, words, env, listens):
    (tmp_path / "app.py").write_text(LOOP.replace('"ready"', '"ready", "clineprof" in sys.modules')
                                     .replace("import time", "import sys, time"))
    process = subprocess.Popen([python_with(*words), "app.py"], cwd=tmp_path, env=clean_environment(env), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdout.readline()
        caught = int(re.search(r"SigCgt:\t(\w+)", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1], 16)
        assert [number for number in (signal.SIGRTMAX - 3, signal.SIGUSR1, signal.SIGUSR2)
                if caught & 1 << number - 1] == ([listens] if listens else [])
        marks = re.findall(r"/memfd:clineprof-listens-(\d+)", pathlib.Path(f"/proc/{process.pid}/maps").read_text())
        assert marks == ([str(int(listens))] if listens else [])
        if listens:
            code, err = command(["attach", process.pid, "-s", "0.3", "-o", tmp_path / "out.lprof"])
            assert code == 0, err
            assert hits(tmp_path, 4) > 100
        assert process.poll() is None
    finally:
        process.kill()
        out, err = process.communicate()
    assert (out, err) == ("", "") and left_behind(process.pid) == []


# ---- gdb ----


@through_gdb
def test_gdb_opens_a_window_in_a_process_that_does_not_listen(target, tmp_path):
    loop = target(CAREFUL, listen="")
    code, out, err = attach(loop, "-s", "0.3")  # the first one loads modules
    before = mapped(loop.pid)
    for _ in range(3):
        code, out, err = attach(loop, "-s", "0.3")
        assert code == 0, err
        assert hits(tmp_path, loop.line("# counted")) > 100
    assert mapped(loop.pid) < before + 3  # the allocator may give some back or split one; three windows leave nothing
    assert lives(loop)


@through_gdb
def test_requests_of_a_server_that_gdb_has_reached(target, tmp_path):
    """It waits for a request when gdb comes, which the program does not notice; the next one lets us in."""
    server = target(SERVER, listen="")
    words = [*viewer_command(), "attach", server.pid, "-s", "60", "-o", "out.lprof", "--wait", "60"]
    attached = subprocess.Popen(list(map(str, words)), cwd=tmp_path, env=clean_environment(), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: left_behind(server.pid))
    came = time.monotonic()
    while not any("/clineprof/_core" in line for line in open(f"/proc/{server.pid}/maps")):
        server.get()
        assert time.monotonic() < came + 30
    assert attached.stderr.readline().startswith("Counting in ")
    for _ in range(25):
        server.get()
    end_early(attached)
    assert hits(tmp_path, server.line("# turns")) in (25 * 100, 26 * 100)  # the first may have been on its way
    assert server.end() == "" and left_behind(server.pid) == []


@through_gdb
def test_dump_through_gdb_has_the_programs_calls_alone(target, tmp_path):
    loop = target("""\
import threading, time

def outer():
    print("ready", flush=True)
    while True:  # outer
        time.sleep(0.01)  # outer

threading.Thread(target=threading.Event().wait, name="idle", daemon=True).start()
outer()  # main
""", listen="")
    done = subprocess.run([*viewer_command(), "dump", str(loop.pid)], text=True, capture_output=True, timeout=300,
                          env=clean_environment())
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub(r":\d+ in outer", " in outer", done.stdout.replace(str(loop.path), "app.py"))
    assert f"MainThread\n    app.py in outer\n    app.py:{loop.line('# main')} in <module>\n" in shown
    assert "idle\n" in shown and "threading.py" in shown and "<string>" not in shown
    assert loop.end() == ""


@through_gdb
def test_a_late_request_through_gdb_does_nothing(target, tmp_path):
    loop = target("""\
import sys
print("ready", flush=True)
sys.stdin.readline()
print("clineprof" in sys.modules, flush=True)
while True:
    pass
""", listen="", stdin=subprocess.PIPE)
    assert refused(loop.pid, "--wait", "0.5") == (
        f"process {loop.pid} ran no Python code for 0.5 s, so nothing is done; it waits, is in C code, or is stopped\n")
    assert left_behind(loop.pid) != []
    loop.process.stdin.write("\n")
    loop.process.stdin.flush()
    assert loop.process.stdout.readline() == "False\n"
    wait_until(lambda: left_behind(loop.pid) == [])
    assert lives(loop)


@through_gdb
def test_two_that_come_at_once_through_gdb(target, tmp_path):
    loop = target(CAREFUL, listen="")
    both = [subprocess.Popen([*viewer_command(), "attach", str(loop.pid), "-s", "1", "-o", f"{i}.lprof"], text=True,
                             cwd=tmp_path, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for i in range(2)]
    told = [process.communicate(timeout=300)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], told
    [line] = [text for process, text in zip(both, told) if process.returncode == 1]
    assert re.fullmatch(rf"clineprof attach: process {loop.pid}(?:: another clineprof counts in this process, for \d+ "
                        r"more seconds| is held by .*debugger.*)\n", line), line
    assert lives(loop)


@through_gdb
def test_a_program_that_forks_all_the_time(target, tmp_path):
    loop = target("""\
import os

def child(n):
    return n % 100

print("ready", flush=True)
for n in range(10**9):
    pid = os.fork()
    if not pid:
        os._exit(child(n))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == n % 100
""", listen="")
    for _ in range(5):
        code, out, err = attach(loop, "-s", "0.2", "--no-memory")
        assert code == 0, err
    assert lives(loop)


# ---- what goes wrong with gdb ----


def fake_gdb(folder, text):
    """A folder with a gdb that is a shell script. $commands: the file of commands, $pid: the process they attach to.
    Each of these processes has a line in the file `visits`."""
    folder = folder / "bin"
    folder.mkdir()
    (folder / "gdb").write_text(f"""\
#!/bin/bash
for commands; do :; done
pid=$(sed -n 's/^attach //p' "$commands")
echo $pid >>'{folder}/visits'
{text.replace('GDB', str(GDB))}
""")
    (folder / "gdb").chmod(0o755)
    return folder


def visits(folder):
    return (folder / "visits").read_text().split()


@through_gdb
@pytest.mark.parametrize("text, told", [
    ("kill -SEGV $pid", "it ended with -11"),
    ("echo 'Couldn'\"'\"'t write extended state status: Bad address.'; exit 1",
     "Couldn't write extended state status: Bad address."),
    ("exit 1", "it said nothing"),
    ("echo 'clineprof: done'", "it does not answer"),
])
def test_a_gdb_that_fails_in_the_rehearsal_never_sees_the_process(target, tmp_path, text, told):
    loop = target(CAREFUL, listen="")
    folder = fake_gdb(tmp_path, text)
    exe = os.path.realpath(f"/proc/{loop.pid}/exe")
    assert refused(loop.pid, path=folder) == (
        f"gdb does not work on a throw-away process of {exe} ({told}), so process {loop.pid} was not touched; "
        f"{INSTEAD}")
    assert len(visits(folder)) == 1 and str(loop.pid) not in visits(folder)
    assert lives(loop)


HOLDS = r"""
sed 's|^set scheduler-locking on$|shell touch HELD; sleep 300|' $commands >COPY
[ $(wc -l <VISITS) = 1 ] && exec GDB "$@"
exec GDB -nx -batch -readnever -iex 'set sysroot /nonexistent' -x COPY
"""


def gdb_that_holds(folder):
    """Its rehearsal goes well. Then it holds the process without end."""
    text = HOLDS.replace("HELD", str(folder / "held")).replace("COPY", str(folder / "copy"))
    return fake_gdb(folder, text.replace("VISITS", str(folder / "bin" / "visits")))


@through_gdb
def test_a_gdb_that_does_not_end_is_ended(target, tmp_path):
    loop = target(CAREFUL, listen="")
    assert refused(loop.pid, path=gdb_that_holds(tmp_path)) == (
        f"gdb cannot reach process {loop.pid}: gdb took longer than 10 s\n")
    assert lives(loop)


@through_gdb
@pytest.mark.parametrize("who", ["gdb", "clineprof"])
def test_one_is_killed_while_gdb_holds_the_process(target, tmp_path, who):
    loop = target(CAREFUL, listen="")
    env = clean_environment({"PATH": f"{gdb_that_holds(tmp_path)}:{os.environ['PATH']}"})
    words = ["attach", str(loop.pid), "-s", "0.3", "--wait", "60", "-o", "out.lprof"]
    attached = subprocess.Popen([*viewer_command(), *words], env=env, text=True, cwd=tmp_path,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until((tmp_path / "held").exists)
    holder = int(re.search(r"TracerPid:\t(\d+)", pathlib.Path(f"/proc/{loop.pid}/status").read_text())[1])
    assert refused(loop.pid) == f"process {loop.pid} is held by process {holder}, a debugger\n"
    if who == "clineprof":  # gdb ends what it does, and the process counts and cleans up
        attached.kill()
        attached.communicate(timeout=300)
        [sleep] = pathlib.Path(f"/proc/{holder}/task/{holder}/children").read_text().split()
        os.kill(int(sleep), signal.SIGKILL)
        wait_until((tmp_path / "out.lprof").exists)
        wait_until(lambda: left_behind(loop.pid) == [])
    else:
        os.kill(holder, signal.SIGKILL)
        err = attached.communicate(timeout=300)[1]
        assert err.startswith(f"clineprof attach: gdb cannot reach process {loop.pid}: ") and err.count("\n") == 1, err
    assert lives(loop)


@pytest.mark.skipif(HAS_DOOR, reason="gdb is not needed")
def test_no_gdb(target, tmp_path):
    loop = target(CAREFUL, listen="")
    (tmp_path / "bin").mkdir()
    for name in "sh", "env", "dirname", "readlink", "sed", "uname", pathlib.Path(sys.executable).name, "python3":
        if shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    env = clean_environment({"PATH": str(tmp_path / "bin")})
    done = subprocess.run([*viewer_command(), "attach", str(loop.pid)], env=env, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (1, (
        f"clineprof attach: process {loop.pid} is Python {VERSION}, which needs gdb to be let in: install it (apt-get "
        f"install gdb); or {INSTEAD}"))
    assert lives(loop)


@through_gdb
def test_a_stopped_process(target):
    loop = target(CAREFUL, listen="")
    loop.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: state(loop.pid) == "T")
    assert refused(loop.pid) == (
        f"process {loop.pid} is stopped; let it go on (kill -CONT {loop.pid}) to be let in\n")
    assert state(loop.pid) == "T"
    loop.process.send_signal(signal.SIGCONT)
    assert lives(loop)


@through_gdb
def test_an_interpreter_that_was_replaced(target, tmp_path):
    python = tmp_path / f"python{VERSION}"
    shutil.copy(os.path.realpath(sys.executable), python)
    loop = subprocess.Popen([python, "-I", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE,
                            env=clean_environment({"PYTHONHOME": sys.base_prefix}))
    try:
        wait_until(lambda: os.path.realpath(f"/proc/{loop.pid}/exe") == str(python))
        python.unlink()
        assert refused(loop.pid) == (f"the interpreter of process {loop.pid} was replaced after its start, so gdb "
                                     f"cannot be tried out on it; {INSTEAD}")
        assert loop.poll() is None
    finally:
        loop.communicate()


# ---- what the system does not allow ----


def forbid_ptrace():
    """From now on this process and its children get EPERM of ptrace and process_vm_writev, as in a container."""
    numbers, machine = {"x86_64": ([101, 311], 0xC000003E), "aarch64": ([117, 271], 0xC00000B7)}[platform.machine()]
    load, equal, end = 0x20, 0x15, 0x06
    program = [(load, 0, 0, 4), (equal, 1, 0, machine), (end, 0, 0, 0x7FFF0000), (load, 0, 0, 0)]
    program += [(equal, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    program += [(end, 0, 0, 0x7FFF0000), (end, 0, 0, 0x00050001)]
    steps = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    about = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(steps)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, about, 0, 0):
        raise OSError(ctypes.get_errno(), "no seccomp filter")


# What is advised to a user who may not trace.
WAY_OUT = ("for root, too, that needs the right SYS_PTRACE, which a container may lack, and that kernel.yama.ptrace_scope "
           "is not 3" if os.geteuid() == 0 else "become root, or see kernel.yama.ptrace_scope")  # fmt: skip


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="knows no numbers of system calls")
def test_the_system_does_not_allow_ptrace(target, tmp_path):
    loop = target(CAREFUL, listen="")
    told = refused(loop.pid, preexec_fn=forbid_ptrace)
    if HAS_DOOR:
        assert told == f"the system does not allow to look into process {loop.pid}; {WAY_OUT}\n"
    elif GDB:
        assert f"(the system does not allow it to trace processes; {WAY_OUT}), so " in told
    assert lives(loop)


@as_root
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_root_without_rights_is_not_told_to_become_root(target):
    loop = target(CAREFUL, listen="")
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *viewer_command(), "attach", loop.pid]
    ended = run(command, loop.folder)
    assert (ended.code, ended.err) == (
        1, f"clineprof attach: the system does not allow to look into process {loop.pid}; {WAY_OUT}\n")
    assert lives(loop)


@pytest.mark.skipif(not HAS_DOOR, reason="of Python 3.14 and newer")
def test_a_process_that_has_closed_its_door(target, tmp_path):
    loop = target(CAREFUL, listen="", env=clean_environment({"PYTHON_DISABLE_REMOTE_DEBUG": "1"}))
    assert refused(loop.pid) == (
        f"process {loop.pid} does not let us in: Remote debugging is not enabled in the remote process\n")
    assert lives(loop)


@as_root
def test_a_user_without_rights(target, tmp_path):
    loop = target(CAREFUL, listen="")
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        subprocess.run([sys.executable, "-c", LISTEN or WAKES], check=True, capture_output=True, cwd="/", **nobody)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("other users cannot run this interpreter, or cannot read the build folder")
    assert refused(loop.pid, cwd="/", **nobody) == (
        f"process {loop.pid} belongs to another user (0); become this user, or root\n")
    assert lives(loop)


def test_a_version_without_a_module(tmp_path):
    """The version is that of the interpreter's name."""
    python = tmp_path / "python3.9"
    shutil.copy(os.path.realpath(sys.executable), python)
    loop = subprocess.Popen([python, "-I", "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE,
                            env=clean_environment({"PYTHONHOME": sys.base_prefix}))
    try:
        wait_until(lambda: os.path.realpath(f"/proc/{loop.pid}/exe") == str(python))
        assert refused(loop.pid) == (f"no clineprof module is built for {python} (Python 3.9), which process "
                                     f"{loop.pid} runs; run: make PYTHON={python}\n")
        assert loop.poll() is None
    finally:
        loop.communicate()


@pytest.mark.parametrize("listen", [LISTEN, pytest.param("", marks=through_gdb)])
def test_a_process_that_stays_in_c_code(target, listen):
    """The signal interrupts nothing there, and gdb lets it compute on."""
    loop = target("print('ready', flush=True)\nsum(range(10**12))\n", listen=listen)
    assert refused(loop.pid, "--wait", "1") == (
        f"process {loop.pid} ran no Python code for 1 s, so nothing is done; it waits, is in C code, or is stopped\n")
    before = cpu_time(loop.pid)
    wait_until(lambda: cpu_time(loop.pid) > before)
    assert loop.end() == ""
    [folder] = left_behind(loop.pid)
    shutil.rmtree(f"/tmp/{folder}")


# ---- containers ----


class Container:
    """A program in a pid namespace and mounts of its own, with a /tmp of its own."""

    def __init__(self, folder, text, listen, mounts=""):
        (folder / "app.py").write_text(listen + text)
        inside = ("exec 3<app.py && mount -t tmpfs none /tmp && cat <&3 >/tmp/app.py && "
                  f"{mounts} exec '{sys.executable}' /tmp/app.py")
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "sh", "-c", inside],
            cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()
        if self.first:
            [child] = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            self.pid = int(child)


@pytest.fixture
def container(tmp_path):
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("needs root, and the command unshare")
    made = []

    def make(text, listen="", mounts=""):
        made.append(Container(tmp_path, text, listen, mounts))
        if not made[-1].first:
            pytest.skip("no namespaces here: " + made[-1].process.stderr.read())
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()


@pytest.mark.parametrize("listen", [
    LISTEN or WAKES, pytest.param("", marks=pytest.mark.skipif(not HAS_DOOR and GDB is None, reason="no gdb that works"))])
def test_a_process_in_a_container(container, tmp_path, listen):
    """Its number is another one there, and its /tmp is not ours."""
    loop = container(CAREFUL, listen=listen)
    code, err = command(["attach", loop.pid, "-s", "0.3", "-o", tmp_path / "out.lprof"])
    if "Permission denied" in err or "address lookup failed" in err:  # the second one is sys.remote_exec's
        pytest.skip(err)
    assert code == 0, err
    line = (listen + CAREFUL).splitlines().index("    return i * 1.5  # counted") + 1
    assert hits(tmp_path, line) > 100
    assert list(pathlib.Path(f"/proc/{loop.pid}/root/tmp").glob("clineprof*")) == []
    assert loop.process.poll() is None


def test_a_container_without_clineprof(container, tmp_path):
    loop = container(CAREFUL, mounts=f"mount -t tmpfs none '{BUILD}/python' &&")
    assert refused(loop.pid) == (f"process {loop.pid} has a file system of its own, without the folder "
                                 f"'{BUILD}/python'; mount it there, read-only\n")
    assert loop.process.poll() is None


def test_a_container_whose_tmp_cannot_be_written(container, tmp_path):
    loop = container(CAREFUL, listen=LISTEN or WAKES, mounts="mount -o remount,ro /tmp &&")
    assert refused(loop.pid) == "cannot make a folder in the target's /tmp: Read-only file system\n"
    assert loop.process.poll() is None
