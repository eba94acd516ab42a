# SPDX-License-Identifier: MIT
"""A profile holds source and arguments: who may read it, whose files count in a folder for all, and what is
never written through. Other users are real ones where the tests run as root."""

import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import pytest
from harness import (
    BUILD,
    Profile,
    ckernprof,
    clean_environment,
    line_of,
    run,
    run_ckernprof,
    run_python,
    run_viewer,
)

pytestmark = pytest.mark.once  # about files, not about who counts

NOBODY = 65534

WORK = """\
import os, signal, stat, sys, time

@profile
def work(n):
    for i in range(n):
        done = i  # turn

def show(name):
    print(oct(stat.S_IMODE(os.stat(name).st_mode)), flush=True)
"""


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def program(folder, rest, rights=0o644):
    path = folder / "prog.py"
    path.write_text(WORK + rest)
    path.chmod(rights)
    return path


def turns(path, script):
    return Profile(path).line("work", line_of(script, "# turn"))["hits"]


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


# ---- what others may read ----------------------------------------------------------------------


@pytest.mark.parametrize("rights, mask, expected", [
    (0o600, 0o022, 0o600), (0o640, 0o022, 0o640), (0o755, 0o022, 0o644), (0o666, 0, 0o666),
    (0o644, 0o077, 0o600), (0o444, 0o022, 0o644), (0o604, 0o022, 0o604),
])  # fmt: skip
def test_a_profile_has_no_more_rights_than_its_script(tmp_path, umask, rights, mask, expected):
    umask(mask)
    path = program(tmp_path, "work(3)\nif len(sys.argv) > 1: show(sys.argv[1])\n", rights)
    ended = run_ckernprof(["-l", path.name, "prog.py.lprof.live"], tmp_path)
    assert (ended.code, ended.out.split()[0]) == (0, oct(expected)), ended.err
    assert mode(tmp_path / "prog.py.lprof") == expected
    assert run_ckernprof(["-b", path.name], tmp_path).code == 0
    assert mode(tmp_path / "prog.py.prof") == expected


def test_without_a_script_it_is_the_users_alone(tmp_path, umask):
    code = WORK + "work(3)\nshow(next(name for name in os.listdir() if name.endswith('live')))\n"
    (tmp_path / "prog.py").write_text(code)
    for words, stdin in (["-c", code], ""), (["-m", "prog"], ""), (["-"], code):
        ended = run_ckernprof(["-l", *words], tmp_path, stdin=stdin)
        assert (ended.code, ended.out.split()[0]) == (0, "0o600"), ended.err
    made = list(tmp_path.glob("*.lprof"))
    assert len(made) == 3 and all(mode(path) == 0o600 for path in made)


def test_a_group_that_is_not_ours_does_not_count(tmp_path, umask):
    path = program(tmp_path, "work(3)\n", 0o640)
    other = os.getgid() + 12345
    try:
        os.chown(path, -1, other)
    except PermissionError:
        pytest.skip("giving a file to another group needs root")
    assert run_ckernprof(["-l", path.name], tmp_path).code == 0
    assert mode(tmp_path / "prog.py.lprof") == 0o600


def test_a_profile_that_is_replaced_gets_no_more_rights(tmp_path, umask):
    path = program(tmp_path, "work(3)\n", 0o640)
    for before, after in (0o600, 0o600), (0o666, 0o640):
        (tmp_path / "prog.py.lprof").touch()
        (tmp_path / "prog.py.lprof").chmod(before)
        assert run_ckernprof(["-l", path.name], tmp_path).code == 0
        assert mode(tmp_path / "prog.py.lprof") == after


def test_children_and_interval_saves_have_them_too(tmp_path, umask):
    path = program(tmp_path, """
if os.fork() == 0:
    work(3)
    [mine] = [name for name in os.listdir() if name.endswith("%d.live" % os.getpid())]
    show(mine)
    os._exit(0)
os.wait()
work(1)
while not os.path.exists("prog.py.lprof"):
    time.sleep(0.01)
show("prog.py.lprof")
""", 0o600)
    ended = run_ckernprof(["-l", "--prof-child-procs", "-i", "0.05", path.name], tmp_path)
    assert ended.out.split()[:2] == ["0o600", "0o600"], ended.err


@pytest.mark.parametrize("words", [
    ["--format", "json", "-o", "made"], ["--format", "html", "-o", "made"], ["-o", "made"],
    ["--format", "line_profiler", "-o", "made"], ["merge", "-o", "made"], ["diff", "-o", "made"],
])  # fmt: skip
def test_what_is_made_of_a_profile_has_no_more_rights(tmp_path, umask, words):
    path = program(tmp_path, "work(3)\n", 0o600)
    for name, rights in ("secret.lprof", 0o600), ("open.lprof", 0o644):
        path.chmod(rights)
        assert run_ckernprof(["-l", "-o", name, path.name], tmp_path).code == 0
    for names, expected in (["open.lprof"] * 2, 0o644), (["open.lprof", "secret.lprof"], 0o600):
        files = names if "diff" in words else sorted(set(names))
        made = run_viewer([*words, *files], tmp_path)
        assert (made.code, mode(tmp_path / "made")) == (0, expected), made.err
        (tmp_path / "made").unlink()


def test_what_recover_makes_has_no_more_rights_than_the_live_file(tmp_path, umask):
    path = program(tmp_path, "work(3)\nos._exit(0)\n", 0o600)
    run_ckernprof(["-l", path.name], tmp_path)
    assert run_viewer(["recover", "prog.py.lprof.live"], tmp_path).code == 0
    assert mode(tmp_path / "prog.py.lprof") == 0o600


def test_profile_of_a_program_without_ckernprof(tmp_path, umask):
    path = tmp_path / "it.py"
    path.write_text("from clineprof import profile, load\nimport glob, os, stat\n@profile\ndef work(): pass\nwork()\n"
                    "show = lambda: [oct(stat.S_IMODE(os.stat(name).st_mode)) for name in sorted(glob.glob('*[!y]'))]\n"
                    "profile.dump('a.lprof')\nload('a.lprof').write('b.json')\nprint(show())\n")
    path.chmod(0o600)
    env = {"CLINEPROF": "1", "PYTHONPATH": str(BUILD / "python")}
    ended = run_python([path.name], tmp_path, env=env)
    assert ended.out.startswith(str(["0o600"] * 3)), ended.err
    assert {mode(made) for made in tmp_path.glob("profile_output*")} == {0o600}
    path.chmod(0o644)
    (tmp_path / "a.lprof").unlink()
    ended = run_python(["-c", "import clineprof; clineprof.load('profile_output.lprof').write('c.json')"],
                       tmp_path, env=env)  # fmt: skip
    assert (ended.err, mode(tmp_path / "c.json")) == ("", 0o600)


def test_recordings_of_memory_hold_the_command_line(tmp_path, umask):
    ended = run_viewer(["mem", "run", "sleep", "0.1"], tmp_path)
    [made] = tmp_path.glob("mprofile_*.dat")
    assert (ended.code, mode(made)) == (0, 0o600), ended.err


# ---- a folder for all --------------------------------------------------------------------------


@pytest.fixture
def shared():
    """A folder where everybody may put files, and nobody may take away another's."""
    if os.getuid() != 0:
        pytest.skip("files of other users need root")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="clineprof-shared-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


FORGE = """
def forge(number, owner):
    work_family = os.environ["CLINEPROF_CHILDREN"].partition(chr(31))[0]
    name = "prog.py.lprof.%s.%d.live" % (work_family, number)
    if os.fork() == 0:
        work(1000)
        os._exit(0)
    pid = os.wait()[0]
    [made] = [n for n in os.listdir() if n.endswith(".%d.live" % pid)]
    os.rename(made, name)
    os.chown(name, owner, owner)
    return name
"""


def test_a_file_of_another_user_that_looks_like_a_childs_is_left(shared):
    path = program(shared, FORGE + f"work(5)\nprint(forge(4712, {NOBODY}))\n")
    ended = run_ckernprof(["-l", "--prof-child-procs", path.name], shared)
    name = ended.out.split()[0]
    assert ended.err == (f"ckernprof: '{shared}/{name}' belongs to another user (uid {NOBODY}); it is neither "
                         "counted nor removed\n")
    assert turns(shared / "prog.py.lprof", path) == 5 and (shared / name).exists()


def test_many_of_them_are_left_by_sweeps_too(shared):
    path = program(shared, FORGE + f"""
names = [forge(10000 + n, {NOBODY}) for n in range(3)]
for k in range(200):
    if os.fork() == 0:
        work(1)
        os._exit(0)
    os.wait()
print(all(map(os.path.exists, names)))
""")
    ended = run_ckernprof(["-l", "--prof-child-procs", path.name], shared)
    assert ended.out.startswith("True\n") and len(ended.err.splitlines()) == 3
    assert turns(shared / "prog.py.lprof", path) == 200
    assert len(list(shared.glob("*.live"))) == 3


def test_a_sum_of_another_user_is_left(shared):
    path = program(shared, FORGE + f"""
work(5)
forged = forge(4712, 0)
family = forged[:-len(".4712.live")]
os.rename(forged, family + ".ended.lprof")
os.chown(family + ".ended.lprof", {NOBODY}, {NOBODY})
""")
    ended = run_ckernprof(["-l", "--prof-child-procs", path.name], shared)
    assert "ended.lprof': it is another user's file\n" in ended.err
    assert turns(shared / "prog.py.lprof", path) == 5 and len(list(shared.glob("*.ended.lprof"))) == 1


def test_workers_that_change_their_user_are_known(shared):
    """Their own files are root's, but not those of their children, which are told by their parents'."""
    path = program(shared, f"""
work(5)
if os.fork() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
    work(20)
    if os.fork() == 0:
        work(300)
        os._exit(0)
    os.wait()
    print(sorted(os.stat(name).st_uid for name in os.listdir() if "live" in name), flush=True)
    os._exit(0)
os.wait()
""")
    ended = run_ckernprof(["-l", "--prof-child-procs", path.name], shared)
    assert ended.out.startswith(f"[0, 0, {NOBODY}]\n") and ended.err == ""
    assert turns(shared / "prog.py.lprof", path) == 325
    assert not list(shared.glob("*.live"))


def test_a_live_file_of_another_user_is_not_moved(shared):
    path = program(shared, "work(5)\nif sys.argv[1:]: os._exit(0)\n")
    run_ckernprof(["-l", path.name, "die"], shared)
    live = shared / "prog.py.lprof.live"
    os.chown(live, NOBODY, NOBODY)
    before = live.read_bytes()
    ended = run_ckernprof(["-l", path.name], shared)
    [own] = re.findall(r"Wrote profile results to '(.*)'", ended.out)
    assert ended.err == (f"ckernprof: '{live}' is not a live file of your own; it is left alone, and this run writes "
                         f"'{shared}/{own}'\n")
    assert turns(shared / own, path) == 5 and live.read_bytes() == before


@pytest.fixture
def as_nobody():
    # what setpriv itself starts, it starts with the rights of root; what env starts has none of them
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env"]
    try:
        tried = run([*command, sys.executable, "-c", "from clineprof import profile"], "/",
                    env={"PYTHONPATH": str(BUILD / "python")})  # fmt: skip
    except FileNotFoundError:
        pytest.skip("there is no setpriv here")
    if tried.code != 0:
        pytest.skip(f"another user cannot load what was built here: {tried.err.strip().splitlines()[-1]}")
    return command


def test_two_users_in_one_folder(shared, as_nobody):
    path = program(shared, "work(5)\nif sys.argv[1:]: os._exit(0)\n")
    ended = run([*as_nobody, *ckernprof("-l", path.name, "die")], shared)
    assert (ended.code, ended.err) == (0, "")
    assert (shared / "prog.py.lprof.live").stat().st_uid == NOBODY
    ended = run_ckernprof(["-l", path.name], shared)
    assert "is not a live file of your own" in ended.err and (shared / "prog.py.lprof.live").exists()
    (shared / "prog.py.lprof.live").unlink()
    run_ckernprof(["-l", path.name, "die"], shared)
    ended = run([*as_nobody, *ckernprof("-l", path.name)], shared)
    assert "is not a live file of your own" in ended.err and (shared / "prog.py.lprof.live").stat().st_uid == 0


# ---- links and pipes ---------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["-l"], ["-b"]])
def test_another_users_link_is_not_written_through(shared, options):
    path = program(shared, "work(5)\n")
    (shared / "mine").write_text("precious")
    (shared / "temporary").mkdir()
    (shared / "x.lprof").symlink_to("mine")
    os.chown(shared / "x.lprof", NOBODY, NOBODY, follow_symlinks=False)
    ended = run_ckernprof([*options, "-o", "x.lprof", path.name], shared, env={"TMPDIR": str(shared / "temporary")})
    assert f"cannot write '{shared}/x.lprof': it is another user's symbolic link; " in ended.err
    assert (shared / "mine").read_text() == "precious" and len(list((shared / "temporary").iterdir())) == 1
    made = list((shared / "temporary").iterdir())[0]
    for words in ["-o", "x.lprof"], ["--format", "json", "-o", "x.lprof"], ["merge", "-o", "x.lprof"]:
        ended = run_viewer([*words, made] if options == ["-l"] else ["merge", "-o", "x.lprof", made], shared)
        assert ended.code == 1 and (shared / "mine").read_text() == "precious"
    if options == ["-l"]:
        assert ended.err == "clineprof: cannot write to x.lprof: it is another user's symbolic link\n"


def test_nor_is_it_by_a_program_that_writes_itself(shared):
    (shared / "it.py").write_text(
        "import clineprof, sys\nprofiler = clineprof.LineProfiler(len)\n"
        "from clineprof import profile\nprofile.enable()\n"
        "for write in profile.dump, profiler.dump_stats:\n    try:\n        write('x.lprof')\n"
        "    except OSError as error:\n        print(error)\n")
    (shared / "mine").write_text("precious")
    (shared / "x.lprof").symlink_to("mine")
    os.chown(shared / "x.lprof", NOBODY, NOBODY, follow_symlinks=False)
    ended = run_python(["it.py"], shared, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.out.count("it is another user's symbolic link: 'x.lprof'") == 2, ended.err
    assert (shared / "mine").read_text() == "precious"


def test_own_links_are_followed(tmp_path):
    path = program(tmp_path, "work(5)\n")
    (tmp_path / "x.lprof").symlink_to("y.lprof")
    assert run_ckernprof(["-l", "-o", "x.lprof", path.name], tmp_path).code == 0
    assert (tmp_path / "x.lprof").is_symlink() and turns(tmp_path / "y.lprof", path) == 5


def test_another_users_pipe_gets_nothing(shared):
    path = program(shared, "work(5)\n")
    os.mkfifo(shared / "x.lprof")
    os.chown(shared / "x.lprof", NOBODY, NOBODY)
    reader = os.open(shared / "x.lprof", os.O_RDONLY | os.O_NONBLOCK)
    (shared / "temporary").mkdir()
    ended = run_ckernprof(["-l", "-o", "x.lprof", path.name], shared, env={"TMPDIR": str(shared / "temporary")})
    assert "it is another user's pipe" in ended.err and os.read(reader, 100) == b""
    os.close(reader)


# ---- what cannot be written --------------------------------------------------------------------


@pytest.mark.parametrize("options", [["-l"], ["-b"]])
def test_a_pipe_that_nobody_reads_does_not_hold_the_end(tmp_path, options):
    path = program(tmp_path, "work(5)\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "temporary").mkdir()
    ended = run_ckernprof([*options, "-o", "pipe", path.name], tmp_path, timeout=300,
                          env={"TMPDIR": str(tmp_path / "temporary")})  # fmt: skip
    assert f"ckernprof: cannot write the profile to '{tmp_path}/pipe': nobody reads it\n" in ended.err
    [made] = (tmp_path / "temporary").iterdir()
    assert ended.code == 0 and made.name in ended.out
    if options == ["-l"]:
        ended = run_viewer(["-o", "pipe", made], tmp_path, timeout=300)
        assert (ended.code, ended.err) == (1, "clineprof: cannot write to pipe: nobody reads it\n")


def test_a_pipe_that_somebody_reads_slowly_gets_all_of_it(tmp_path):
    functions = "".join(f"@profile\ndef f{n}():\n    return {n}\nf{n}()\n" for n in range(2000))
    path = program(tmp_path, functions)
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen([*map(str, ckernprof("-l", "-o", "pipe", path.name))], cwd=tmp_path,
                               env=clean_environment(), stdout=subprocess.DEVNULL)  # fmt: skip
    with open(tmp_path / "pipe", "rb") as pipe:
        time.sleep(0.3)
        (tmp_path / "x.lprof").write_bytes(pipe.read())
    assert process.wait(300) == 0
    assert len(Profile(tmp_path / "x.lprof").functions) == 2001 and (tmp_path / "x.lprof").stat().st_size > 1 << 16


@pytest.fixture
def full_disk(tmp_path):
    """A command in front of which nothing can be written, not even to /tmp."""
    command = ["unshare", "--mount", "sh", "-c",
               "mount -t tmpfs -o ro none /tmp && mount -t tmpfs -o ro none /var/tmp && exec \"$@\"", "sh"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"a /tmp of its own needs root: {tried.stderr.strip()}")
    return command


@pytest.mark.parametrize("options", [["-l"], ["-b"]])
@pytest.mark.parametrize("end, code", [("", 1), ("sys.exit(7)\n", 7), ("sys.exit(0)\n", 1)])
def test_a_run_without_any_profile_fails(options, end, code, full_disk):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        (folder / "out").mkdir()
        (folder / "prog.py").write_text(WORK + f"work(5)\nimport shutil\nshutil.rmtree('out')\n{end}")
        if not CAN_SEE_BUILD:
            pytest.skip("the build, or the interpreter, lies under /tmp")
        ended = run([*full_disk, *ckernprof(*options, "-o", "out/x.lprof", "prog.py")], folder)
        assert ended.code == code, ended.err
        assert "ckernprof: the profile cannot be written to the temporary folder either '/tmp': Read-only file system\n" in ended.err


def test_a_program_that_profiles_itself_ends_as_it_would(full_disk):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        (folder / "it.py").write_text("import os, shutil\nfrom clineprof import profile\nos.mkdir('out')\n"
                                      "os.chdir('out')\n@profile\ndef work(): pass\nwork()\n"
                                      "shutil.rmtree('../out')\n")
        env = {"CLINEPROF": "1", "PYTHONPATH": str(BUILD / "python")}
        if not CAN_SEE_BUILD:
            pytest.skip("the build, or the interpreter, lies under /tmp")
        ended = run([*full_disk, sys.executable, "it.py"], folder, env=env)
        assert ended.code == 0 and "cannot write to the temporary folder either" in ended.err, ended.err


CAN_SEE_BUILD = not any(str(path).startswith(("/tmp/", "/var/tmp/")) for path in (ckernprof()[0], sys.executable))


# ---- what killed writers leave -----------------------------------------------------------------

SAVES = "".join(f"@profile\ndef f{n}():\n    return {n}\nf{n}()\n" for n in range(3000)) + "time.sleep(60)\n"


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def killed_in_a_save(folder):
    """Runs with -i and kills it until it leaves a half-written file."""
    path = program(folder, SAVES)
    for _ in range(50):
        process = subprocess.Popen([*map(str, ckernprof("-l", "-i", "0.01", path.name))], cwd=folder,
                                   env=clean_environment(), stderr=subprocess.DEVNULL)  # fmt: skip
        end = time.monotonic() + 20
        while not (hidden(folder) and (folder / "prog.py.lprof").exists()) and time.monotonic() < end:
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        if hidden(folder):
            return path
        for made in folder.glob("*.l*"):
            made.unlink()
    raise AssertionError("it was never killed in a save")


@pytest.mark.parametrize("how", ["run", "recover"])
def test_half_written_files_of_a_killed_run_are_cleaned(tmp_path, how):
    path = killed_in_a_save(tmp_path)
    (tmp_path / ".clineprof-00000000-abcdef").write_text("of another output")
    if how == "recover":
        assert run_viewer(["recover", "prog.py.lprof.live"], tmp_path).code == 0
    else:
        path.write_text(WORK + "work(1)\n")
        assert run_ckernprof(["-l", path.name], tmp_path).code == 0
    assert hidden(tmp_path) == [".clineprof-00000000-abcdef"]


def test_a_file_that_is_being_written_is_not_cleaned(tmp_path):
    path = program(tmp_path, SAVES.replace("time.sleep(60)", "wait = 0\nwhile not os.path.exists('go'): time.sleep(.01)"))
    process = subprocess.Popen([*map(str, ckernprof("-l", "-i", "0.01", path.name))], cwd=tmp_path, text=True,
                               env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    end = time.monotonic() + 300
    while not (tmp_path / "prog.py.lprof").exists() and time.monotonic() < end:
        time.sleep(0.01)
    for _ in range(20):
        run_viewer(["recover", "prog.py.lprof.live"], tmp_path)
    (tmp_path / "go").touch()
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "") and not hidden(tmp_path)
