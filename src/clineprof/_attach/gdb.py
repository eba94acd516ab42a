# SPDX-License-Identifier: MIT
"""A door into interpreters before 3.14 that do not listen: gdb, the debugger.

gdb stops the process for some hundredths of a second, and has its main thread call two functions: mmap, for a page into
which gdb writes a line of Python, and Py_AddPendingCall, which puts that line on the interpreter's list of what it does
between two instructions. Neither takes memory from the program's allocator, needs the interpreter's lock, or waits. So
it does not matter where the thread has been stopped. gdb sets no breakpoint in the program: one that a killed gdb left
behind would kill the process later. It reads no symbols either.

A process may execute another program at any moment, which has other functions at these addresses. So gdb calls none
before it has seen, in the stopped process, the bytes with which they begin.

Calling a function means to write the registers of the thread, which is beyond some gdbs on some processors. The process
dies of that. So everything is done to a throw-away process of the same interpreter first."""
import os
import platform
import random
import select
import shutil
import signal
import struct
import subprocess

from clineprof._attach.place import PYTHON, Folder, Refused, Target, what_helps
from clineprof._attach.symbols import functions

INSTEAD = "call clineprof.listen() in the program, or start it with CLINEPROF_ATTACH=1 (clineprof hook install)"
PATIENCE = 10.0  # seconds that one step may take
DYING = 0.3  # seconds until it is sure that a process which was killed is gone
NOBODY = 65534
PAGE = 4096
CALLER = 64  # bytes at the beginning of the page, for the code below

# Code that calls PyRun_SimpleString, whose address stands between the two parts, and returns 0. The interpreter takes
# anything else for an exception that is set, and the program dies if none is: PyRun_SimpleString returns -1 after it
# has printed one, for example if the program is at its limit of recursion.
CALLERS = {
    "x86_64": ("f30f1efa 4883ec08 48b8", "ffd0 31c0 4883c408 c3"),  # endbr64; sub; mov; call; xor eax, eax; add; ret
    "aarch64": ("5f2403d5 fd7bbfa9 fd030091 b0000058 00023fd6 00008052 fd7bc1a8 c0035fd6",  # bti c; stp; mov; ldr;
                ""),  # blr; mov w0, #0; ldp; ret; the address
}  # fmt: skip

# What the interpreter executes in the program's __main__, whose names stay as they are. An exception would be printed,
# and would end the program if it were SystemExit.
LINE = """\
try:
 [exec(compile(text, %(script)r, 'exec'), {'page': %(page)d})
  for file in [open(%(script)r, encoding='utf-8')] for text in [file.read()] if not file.close()]
except BaseException: pass
"""

# The handlers of the program's signals run while its thread is in the call. A fault ends the call, and not the process.
COMMANDS = """\
set unwindonsignal on
handle all nostop noprint pass
handle SIGSEGV SIGBUS SIGILL SIGFPE SIGABRT stop print nopass
attach {pid}
set scheduler-locking on
{checks}
if ((int (*)(void)) {Py_IsInitialized})() == 0
  error the interpreter is starting or ending
end
if ((long (*)(long, long, long, long, long, long)) {mmap})({page}, {size}, 5, {flags}, -1, 0) != {page}
  error there is no memory
end
{writes}
if ((int (*)(long, long)) {Py_AddPendingCall})({page}, {line}) != 0
  call ((int (*)(long, long)) {munmap})({page}, {size})
  error too many calls wait already
end
printf "clineprof: done\\n"
detach
"""
CHECK = """\
if *(long *) {0.address} != {0.word}
  error it executes another program now
end"""
DONE = "clineprof: done\n"
NO_MEMORY = "Cannot access memory at address"  # so gdb says
FLAGS = 0x100022  # MAP_PRIVATE, MAP_ANONYMOUS, MAP_FIXED_NOREPLACE

# The throw-away process computes until the visitor tells it how much is left, and ends well if all of it was right.
REHEARSAL = """\
import threading, time
left = 100000
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
while left > 0:
    if sum(i * 1.5 for i in range(1000)) != 749250.0:
        raise ArithmeticError
    left -= 1
    time.sleep(left % 2 * 0.001)
print("right")
"""
ANSWER = "__import__('__main__').left = 100\n"


class Failed(Exception):
    """gdb could not do it; the text says why."""


class Forbidden(Failed):
    """The system did not let gdb trace the process."""

    def __init__(self):
        super().__init__("the system does not allow it to trace processes; " + what_helps())


def door(target):
    """Returns the function that opens the door, after the rehearsal. Raises Refused, and then the process was not
    touched."""
    gdb = shutil.which("gdb")
    if gdb is None:
        raise Refused("process %d is Python %d.%d, which needs gdb to be let in: install it (apt-get install gdb); or "
                      "%s" % (target.pid, *target.version, INSTEAD))
    _check(target)
    _rehearse(gdb, target)
    return lambda target, folder: _open(gdb, target, folder)


def _check(target):
    state = target.state()
    tracer = target.tracer()
    if tracer:
        raise Refused("process %d is held by process %d, a debugger" % (target.pid, tracer))
    if state == "T":
        raise Refused("process %d is stopped; let it go on (kill -CONT %d) to be let in" % (target.pid, target.pid))
    if target.exe.endswith(" (deleted)"):
        raise Refused("the interpreter of process %d was replaced after its start, so gdb cannot be tried out on it; %s"
                      % (target.pid, INSTEAD))
    if not PYTHON.search(target.exe):
        raise Refused("%s of process %d has Python inside, so gdb cannot be tried out on it; %s"
                      % (target.exe, target.pid, INSTEAD))


def _open(gdb, target, folder):
    """What the target has mapped may have changed during the rehearsal. Then `target` is no help any more."""
    now = Target(target.pid)
    if (now.start, now.exe) != (target.start, target.exe):
        raise Refused("process %d executes another program now" % target.pid)
    try:
        _visit(gdb, now, folder)
    except Forbidden:  # although the rehearsal was allowed
        raise Refused("process %d is held by another debugger, or protected by the system" % target.pid) from None
    except Failed as error:
        raise Refused("gdb cannot reach process %d: %s" % (target.pid, error)) from None


# ---- the rehearsal ----


def _rehearse(gdb, target):
    """Visits a throw-away process of the target's interpreter, which must go on and compute what is right."""
    process = None
    try:
        process = _start(target)
        double = Target(process.pid)
        double.root = target.root  # which stays when the double has ended
        folder = Folder(double)
        try:
            folder.write("script.py", ANSWER)
            _visit(gdb, double, folder)
            _read(process.stdout, b"right\n")
        finally:
            folder.remove()
    except (Failed, OSError, subprocess.SubprocessError) as error:
        told = str(error)
        if process is not None and _code(process) not in (None, 0):
            told = "it ended with %d" % process.returncode
        raise Refused("gdb does not work on a throw-away process of %s (%s), so process %d was not touched; %s" % (
            target.exe, told, target.pid, INSTEAD)) from None  # fmt: skip
    finally:
        if process is not None:
            process.kill()
            process.communicate()


def _start(target):
    """A throw-away process: the target's interpreter, environment and file system, without its rights over ours."""
    uid, gid = target.uid, target.gid
    if target.root and uid == 0:
        uid, gid = NOBODY, NOBODY  # an interpreter that we do not know never runs as root

    def become():
        if target.root:
            os.chroot(target.root)
            os.chdir("/")
        if uid != os.geteuid():
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)

    if target.root and os.geteuid() != 0:
        raise Failed("only root may start one in its file system")
    process = subprocess.Popen([target.exe, "-I", "-S", "-c", REHEARSAL], cwd="/", env=target.environment(),
                               preexec_fn=become, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
    try:
        _read(process.stdout, b"ready\n")
    except BaseException:
        process.kill()
        process.communicate()
        raise
    return process


def _read(pipe, expected):
    ready, _, _ = select.select([pipe], [], [], PATIENCE)
    told = os.read(pipe.fileno(), 100) if ready else None
    if told != expected:
        raise Failed("it does not answer" if told is None else "it does not compute what is right")


# ---- the visit ----


def _visit(gdb, target, folder):
    """Has the target execute the folder's script.py soon. Raises Failed, and then it executes nothing."""
    page = _free_page(target)
    found = functions(target)
    line = (LINE % {"script": folder.inside("script.py"), "page": page}).encode("utf-8", "surrogateescape")
    content = _caller(found["PyRun_SimpleString"].address) + line
    words = struct.iter_unpack("<q", content + bytes(8 - len(content) % 8))
    told = _run(gdb, target, COMMANDS.format(
        pid=target.pid, page=page, line=page + CALLER, size=PAGE, flags=FLAGS,
        **{name: function.address for name, function in found.items()},
        checks="\n".join(map(CHECK.format, found.values())),
        writes="\n".join("set {long} %d = %d" % (page + 8 * i, word) for i, [word] in enumerate(words))))  # fmt: skip
    if "Operation not permitted" in told:
        raise Forbidden
    if NO_MEMORY in told:
        raise Failed("it executes another program now")
    if DONE not in told:
        raise Failed(_reason(told))


def _caller(address):
    if platform.machine() not in CALLERS:
        raise Failed("no machine code for %s is known" % platform.machine())
    before, after = map(bytes.fromhex, CALLERS[platform.machine()])
    return (before + struct.pack("<Q", address) + after).ljust(CALLER, b"\0")


def _code(process):
    """The exit status of a process that has failed, or None: a signal that kills it takes a moment."""
    try:
        return process.wait(DYING)
    except subprocess.TimeoutExpired:
        return None


def _reason(told):
    lines = [line for line in told.strip().splitlines() if not line.startswith("[Inferior ")]
    return (lines or ["it said nothing"])[-1].rpartition(": Error in sourced command file:")[2].strip()


def _free_page(target):
    """An address somewhere in the largest gap between the mappings, another one for each visitor."""
    ends = sorted(target.ranges)
    gaps = [(after - end, end) for (_, end), (after, _) in zip(ends, ends[1:]) if after < 1 << 47]
    size, start = max(gaps)
    return (start + size // 4 + random.randrange(size // 2)) // 65536 * 65536


def _run(gdb, target, commands):
    """Runs gdb, and returns what it printed. It belongs to no terminal, so that Ctrl-C and the end of the terminal do
    not end it half-way, and its commands are in no file that others could change."""
    descriptor = os.memfd_create("clineprof-gdb")
    with open(descriptor, "w", closefd=True) as file:
        file.write(commands)
        file.flush()
        # Without symbols and libraries gdb sets no breakpoints of its own either.
        process = subprocess.Popen(
            [gdb, "-nx", "-batch", "-readnever", "-iex", "set auto-load off", "-iex", "set auto-solib-add off",
             "-iex", "set sysroot /nonexistent", "-x", "/proc/self/fd/%d" % descriptor],
            env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            errors="backslashreplace", pass_fds=[descriptor], start_new_session=True)  # fmt: skip
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        raise Failed("gdb took longer than %d s" % PATIENCE) from None
    finally:
        _end(process, target)


def _environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}


def _end(process, target):
    """Waits for gdb, which leaves the process as it was if it is interrupted or asked to end."""
    for number in (0, signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.communicate(timeout=PATIENCE / 2)
            except subprocess.TimeoutExpired:
                pass
    if process.returncode != 0 and target.is_there() and target.state() == "T":
        os.kill(target.pid, signal.SIGCONT)
