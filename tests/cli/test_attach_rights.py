# SPDX-License-Identifier: MIT
"""`clineprof attach` by root to another user's process. This user may replace by anything what lies in the folder
through which the two talk, and may answer anything. Root's files stay as they are, and nothing of them gets out."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import pytest
from clineprof._attach import doors, symbols
from clineprof._attach.place import Refused
from harness import BUILD, SANITIZED, clean_environment, run_ckernprof, viewer_command
from test_attach import left_behind

pytestmark = [pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY = 65534

# ---- what is written ----

# Asks a process of nobody's in the file system `root` for its stacks, and is interrupted when it has asked. Before each
# step, nobody replaces what it can by links to what is root's, or mounts that over it.
VISIT = r"""
import argparse, os, subprocess, sys, types

from clineprof._attach import command, doors, place

root, roots, kind = sys.argv[1:]
NOBODY = 65534
STEPS = ("open", "os.mkdir", "os.chown", "os.chmod", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir",
         "shutil.rmtree", "socket.bind")
attacking, attacks = False, 0

def replace(path, by):
    os.rename(path, "%s/aside/%d" % (root, attacks))
    os.symlink(by, path)

def attack_once():
    tmp = root + "/tmp"
    folders = [tmp + "/" + name for name in os.listdir(tmp) if name.startswith("clineprof-attach-")]
    if kind == "tmp":
        replace(tmp, roots)
    for folder in folders:
        if kind == "mount":
            subprocess.run(["mount", "--bind", roots, folder], check=True)
        elif kind == "folder":
            replace(folder, roots)
        elif not os.path.islink(folder):
            for name in os.listdir(folder):
                replace(folder + "/" + name, roots + "/secret")

def attack(event, arguments):
    global attacking, attacks
    if attacking or event not in STEPS:
        return
    attacking, attacks = True, attacks + 1
    child = os.fork()
    if not child:
        try:
            os.seteuid(0)
            if kind != "mount":  # which nobody does in a user namespace of its own
                os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)
            attack_once()
        except OSError:
            pass  # it may not
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    attacking = False

class Theirs(place.Target):
    def __init__(self, pid):
        self.pid = self.own_pid = pid
        self.uid, self.gid, self.groups, self.root = NOBODY, NOBODY, [], root

    def is_there(self):
        return False

def knock(target, folder):
    raise KeyboardInterrupt

command.Target, command._package, doors.door = Theirs, lambda target: "/nowhere", lambda target: knock
visit = command.Dump(argparse.Namespace(pid=812, wait=0.1))
sys.addaudithook(attack)
try:
    visit.run()
except (KeyboardInterrupt, place.Refused) as error:
    print(type(error).__name__, error)
except OSError as error:
    print("OSError", error)
print(attacks, "attacks")
"""


def states(folder):
    """What a write, a change of rights or owner, or a new link would change."""
    return {path: (about.st_uid, about.st_gid, about.st_mode, about.st_nlink, about.st_ctime_ns)
            for path in (folder, *folder.iterdir()) for about in [path.lstat()]}  # fmt: skip


@as_root
@pytest.mark.parametrize("kind", ["files", "folder", "tmp", "mount"])
def test_nobody_replaces_what_root_writes(tmp_path, kind):
    """In a file system of its own, whose /tmp is nobody's."""
    root, roots = tmp_path / "root", tmp_path / "roots"
    for folder in roots, root, root / "tmp", root / "aside":
        folder.mkdir()
    for folder in root, root / "tmp", root / "aside":
        os.chown(folder, NOBODY, NOBODY)
    for folder in tmp_path, *tmp_path.parents:
        if not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    for name in "secret", "request.json", "script.py", "socket":
        (roots / name).write_text("mine")
        (roots / name).chmod(0o600)
    roots.chmod(0o700)
    before = states(roots)
    command = [sys.executable, "-c", VISIT, str(root), str(roots), kind]
    if kind == "mount":
        if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"]).returncode != 0:
            pytest.skip("no namespaces of mounts here")
        command = ["unshare", "--mount", *command]
    done = subprocess.run(command, env=clean_environment({"PYTHONPATH": str(BUILD / "python")}), text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0 and int(done.stdout.split()[-2]) >= 1, done.stdout + done.stderr
    assert states(roots) == before and (roots / "secret").read_text() == "mine", done.stdout
    assert done.stdout.split()[0] in ("Refused", "KeyboardInterrupt"), done.stdout


# ---- what is read ----

# Listens as clineprof.listen() does, and has become nobody. When it is asked, it answers what ANSWER says.
THEIRS = r"""
import json, mmap, os, signal, socket, sys

def come(number, frame):
    [name] = [name for name in os.listdir("/tmp") if name.startswith("clineprof-attach-%d-" % os.getpid())]
    with open("/tmp/%s/request.json" % name) as file:
        request = json.load(file)
    os.rename("/tmp/%s/request.json" % name, "/tmp/%s/request.json.taken" % name)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(request["socket"])
    say = lambda what: connection.sendall((what if isinstance(what, bytes) else json.dumps(what).encode()) + b"\n")
    path, began = request.get("outfile"), {"began": {"functions": 1, "unmatched": [], "lacks": []}}
    try:
        ANSWER
    except ConnectionError:
        pass
    connection.close()

descriptor = os.memfd_create("clineprof-listens-%d" % signal.SIGUSR2)
os.ftruncate(descriptor, mmap.PAGESIZE)
mapping = mmap.mmap(descriptor, mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ)
signal.signal(signal.SIGUSR2, come)
os.setgroups([]), os.setgid(65534), os.setuid(65534)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def theirs():
    made = []

    def make(answer):
        made.append(subprocess.Popen([sys.executable, "-c", THEIRS.replace("ANSWER", answer)], text=True,
                                     env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        assert made[-1].stdout.readline() == "ready\n"
        return made[-1]

    yield make
    for one in made:
        one.kill()
        one.communicate()


def told(process, folder, *words):
    """(exit code, standard error) of a command about this process, whose number is left out."""
    done = subprocess.run([*viewer_command(), words[0], str(process.pid), *words[1:]], cwd=folder, text=True,
                          env=clean_environment(), capture_output=True, timeout=120)
    assert process.poll() is None and left_behind(process.pid) == []
    text = re.sub(rf"clineprof-attach-{process.pid}-\w+", "FOLDER", done.stderr)
    return done.returncode, text.replace(f"process {process.pid}", "process PID")


NO_FILE = "cannot use '/tmp/FOLDER/profile.lprof': it is no plain file\n"


@as_root
@pytest.mark.parametrize("made, why", [
    ("os.symlink({secret!r}, path)", NO_FILE),
    ("os.symlink('/dev/zero', path)", NO_FILE),
    ("os.mkfifo(path)", NO_FILE),
    ("pass", "cannot use '/tmp/FOLDER/profile.lprof': No such file or directory\n"),
    ("open(path, 'w').truncate(1 << 40)", "cannot use '/tmp/FOLDER/profile.lprof': it has more than 256 MiB\n"),
    ("open(path, 'w').write('root:x:0:0')", "process PID wrote no profile: "),
])
def test_nobody_replaces_its_profile(theirs, tmp_path, made, why):
    """The link leads to a profile of root's, which only root may read."""
    (tmp_path / "app.py").write_text("@profile\ndef f():\n    pass\n\nf()\n")
    assert run_ckernprof(["-l", "-o", "secret.lprof", "app.py"], tmp_path).code == 0
    (tmp_path / "secret.lprof").chmod(0o600)
    answer = f"{made.format(secret=str(tmp_path / 'secret.lprof'))}; say(began); say({{'wrote': path}})"
    code, err = told(theirs(answer), tmp_path, "attach", "-s", "1", "-o", "out.lprof")
    first, last = err.splitlines(keepends=True)
    assert (code, first) == (1, "Counting in 1 function of process PID for 1 s; Ctrl-C ends it early\n")
    assert last.startswith("clineprof attach: " + why)
    assert not (tmp_path / "out.lprof").exists()


@as_root
@pytest.mark.parametrize("answer", [
    "say(b'hello')", "say(b'7')", "say(b'[' * 10**6)", "say({'wrote': path})", "say({'began': {}})",
    "say({'began': {'functions': float('inf'), 'unmatched': [], 'lacks': []}})",
    "say({'began': {'functions': 1, 'unmatched': 1, 'lacks': []}})",
    "[connection.sendall(bytes(1 << 16)) for i in range(1 << 20)]",
])
def test_nobody_answers_something_else(theirs, tmp_path, answer):
    code, err = told(theirs(answer), tmp_path, "attach", "-s", "1", "-o", "out.lprof")
    assert code == 1 and re.fullmatch("clineprof attach: process PID does not answer as clineprof does: .*\n", err), err


@as_root
@pytest.mark.parametrize("stacks", ["7", "[7]", "[['MainThread', [7]]]", "[['MainThread', [['app.py', 1]]]]"])
def test_nobody_answers_something_else_to_dump(theirs, tmp_path, stacks):
    code, err = told(theirs(f"say({{'stacks': {stacks}}})"), tmp_path, "dump")
    assert code == 1 and re.fullmatch("clineprof dump: process PID does not answer as clineprof does: .*\n", err), err


def test_a_library_that_has_become_a_pipe(tmp_path):
    """The symbols of a process are read from the files that it has mapped."""
    os.mkfifo(tmp_path / "libc.so.6")
    theirs = types.SimpleNamespace(pid=812, exe="/python", root=str(tmp_path), mapped={4096: "/libc.so.6"})
    with pytest.raises(Refused, match="^gdb cannot reach process 812: its interpreter does not export "):
        symbols.functions(theirs)


# ---- what is executed ----


@as_root
def test_root_runs_no_interpreter_that_another_user_could_have_made(tmp_path):
    def interpreter(exe):
        return doors._interpreter(types.SimpleNamespace(pid=812, uid=NOBODY, version=(3, 99), root="", exe=str(exe)))

    def refused(exe):
        with pytest.raises(Refused, match="^process 812 runs .*, which others could change; run clineprof with Python 3.99 "):
            interpreter(exe)

    true = pathlib.Path(shutil.which("true")).resolve()
    assert interpreter(true) == str(true)
    folder = tmp_path / "bin"
    folder.mkdir()
    exe = folder / "python3.99"
    shutil.copy(true, exe)
    refused(exe)  # below /tmp, or where else pytest makes its folders, others could put a standard library
    os.chown(exe, NOBODY, NOBODY)
    refused(exe)
    exe.unlink()
    exe.symlink_to(true)
    refused(exe)
    refused(folder / "python3.98")  # there is no such file any more
