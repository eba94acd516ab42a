# SPDX-License-Identifier: MIT
"""CLINEPROF=1 and programs of several processes, of which the first one never uses `profile`: servers whose
workers import the application. Each worker writes files of its own and says so."""
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from harness import BUILD, EMULATED, ROOT, Profile, clean_environment, run, run_python, run_viewer

pytestmark = pytest.mark.once

ON = {"CLINEPROF": "1", "PYTHONPATH": str(BUILD / "python")}
JOBS = """\
import os
from clineprof import profile

@profile
def work(n):
    for i in range(n):
        done = i  # turn
    return os.getpid()
"""
TURN = 7
# A fork is a worker if its parent runs the same program.
SKIP_FORK = pytest.mark.skipif(EMULATED, reason="another process's /proc/PID/exe is qemu-user itself, our own is not")


def turns(path):
    """0 of a worker that was asked for nothing: it has the function, but no line that ran."""
    profile = Profile(path)
    return profile.measure(profile.function("work"), "hits").get(TURN, 0)


def written(folder):
    """{name: hits} of all profiles."""
    return {path.name: turns(path) for path in folder.glob("*.lprof")}


@pytest.fixture
def program(tmp_path):
    def program(text, **options):
        (tmp_path / "jobs.py").write_text(JOBS)
        (tmp_path / "it.py").write_text("import multiprocessing, os, signal, sys, time\n" + text)
        return run_python(["it.py"], tmp_path, env=ON, **options)

    return program


@pytest.mark.parametrize("method", [pytest.param("fork", marks=SKIP_FORK), "spawn",
                                    pytest.param("forkserver", marks=SKIP_FORK)])
def test_workers_of_a_program_that_is_not_profiled_write_their_own(program, tmp_path, method):
    ended = program(f"""
def job(n):
    import jobs
    jobs.work(n)
    print("worker", os.getpid(), n, flush=True)
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    for n in 10, 200:
        process = context.Process(target=job, args=(n,))
        process.start()
        process.join()
""")
    pids = {pid: int(n) for pid, n in re.findall(r"^worker (\d+) (\d+)$", ended.out, re.M)}
    assert written(tmp_path) == {f"profile_output-{pid}.lprof": n for pid, n in pids.items()}
    for pid in pids:
        assert (f"clineprof: worker process {pid} counts into 'profile_output-{pid}.lprof.live'; when it ends by "
                f"itself it writes 'profile_output-{pid}.lprof'\n") in ended.err
        assert f"Wrote profile results to profile_output-{pid}.lprof\n" in ended.out
        assert (tmp_path / f"profile_output-{pid}.txt").exists()
    assert ended.code == 0 and "Timer unit" not in ended.out and not list(tmp_path.glob("*.live"))


def test_a_worker_that_is_killed_has_said_where_its_numbers_are(program, tmp_path):
    """uvicorn's workers end by the signal that they are sent."""
    ended = program("""
def job():
    import jobs
    jobs.work(30)
    os.kill(os.getpid(), signal.SIGTERM)
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=job)
    process.start()
    process.join()
    print(process.pid)
""")
    live = f"profile_output-{ended.out.strip()}.lprof.live"
    assert f"counts into '{live}'" in ended.err
    assert run_viewer(["recover", live], tmp_path).code == 0
    assert list(written(tmp_path).values()) == [30]


@SKIP_FORK
def test_a_fork_of_a_server_that_was_restarted_keeps_the_old_ones_profile(program, tmp_path):
    """As gunicorn does with --max-requests."""
    ended = program("""
for n in 1, 20, 300:
    if os.fork() == 0:
        import jobs
        jobs.work(n)
        sys.exit()
    os.wait()
""")
    assert ended.code == 0 and sorted(written(tmp_path).values()) == [1, 20, 300]


def test_what_a_worker_starts_is_in_its_profile(program, tmp_path):
    ended = program("""
if os.fork() == 0:
    import jobs
    jobs.work(5)
    if os.fork() == 0:
        jobs.work(70)
        os._exit(0)
    os.wait()
    sys.exit()
os.wait()
""")
    assert ended.code == 0 and list(written(tmp_path).values()) == [75]


def test_a_program_that_forks_before_it_uses_profile_as_a_daemon_does(tmp_path):
    """Its parent has gone: it is no worker of anybody."""
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "it.py").write_text("""\
import os, time
parent = os.getpid()
if os.fork():
    os._exit(0)
os.setsid()
while os.getppid() == parent:
    time.sleep(0.01)
import jobs
jobs.work(5)
""")
    if open("/proc/1/comm").read() == open("/proc/self/comm").read():
        pytest.skip("process 1 is a Python here")
    assert run_python(["it.py"], tmp_path, env=ON).code == 0
    end = time.monotonic() + 300
    while not (tmp_path / "profile_output.lprof").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert written(tmp_path) == {"profile_output.lprof": 5}


def test_two_programs_at_once(tmp_path):
    """Dask's workers without a nanny."""
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "it.py").write_text("import jobs, sys\njobs.work(int(sys.argv[1]))\nprint('ready', flush=True)\n"
                                    "sys.stdin.read()\n")
    started = [subprocess.Popen([sys.executable, "it.py", n], cwd=tmp_path, env=clean_environment(ON), text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for n in ("10", "200")]  # fmt: skip
    for process in started:
        assert process.stdout.readline() == "ready\n"
    told = [process.communicate(timeout=300) for process in started]
    names = [re.findall(r"Wrote profile results to (.*\.lprof)\n", out) for out, _ in told]
    assert sorted(turns(tmp_path / name) for [name] in names) == [10, 200]
    [[plain, own]] = [sorted(name for [name] in names)[::-1]]
    assert plain == "profile_output.lprof" and re.fullmatch(r"profile_output-\d+\.lprof", own)
    assert sorted(len(err) for _, err in told)[0] == 0 and "is making a profile of the same name" in str(told)
    assert (tmp_path / own.replace("lprof", "txt")).exists()


def test_ranks(tmp_path):
    (tmp_path / "it.py").write_text(JOBS + "work(int(os.environ['RANK']))\n")
    for rank in "12":
        ended = run_python(["it.py"], tmp_path, env={**ON, "RANK": rank, "WORLD_SIZE": "3"})
        assert f"Wrote profile results to profile_output.rank{rank}.lprof\n" in ended.out
    assert written(tmp_path) == {"profile_output.rank1.lprof": 1, "profile_output.rank2.lprof": 2}


def test_a_program_of_another_pid_namespace_is_no_heir(tmp_path):
    """It cannot see the process that was first, which has its number, and is in that one's profile."""
    (tmp_path / "it.py").write_text(JOBS + """
import ctypes, subprocess, sys
if len(sys.argv) > 1:
    work(30)
    sys.exit()
work(1)
print(os.getpid())
print(subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "it.py", "inner"],
                     capture_output=True, text=True))
""")
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    try:
        if run([*unshare, "true"], tmp_path).code != 0:
            pytest.skip("no new pid namespace here")
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    ended = run([*unshare, sys.executable, "it.py"], tmp_path, env=ON)
    assert ended.out.startswith("1\n") and "stdout='', stderr=''" in ended.out, ended.out
    profile = Profile(tmp_path / "profile_output.lprof")
    assert sum(max(lines.values()) for lines in profile.hits().values()) == 33
    assert len(list(tmp_path.glob("*.lprof"))) == 1 and not list(tmp_path.glob("*.live"))


def ask(path):
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return b"".join(iter(lambda: connection.recv(4096), b"")).decode()
        except OSError:
            return ""


def test_gunicorn(tmp_path):
    """Nothing is imported by its master."""
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    (tmp_path / "application.py").write_text(JOBS + """
def app(environ, start_response):
    work(1)
    start_response('200 OK', [('Content-Length', '2')])
    return [b'hi']
""")
    words = ["-w", "2", "-b", "unix:g.sock", "application:app"]
    env = clean_environment({**ON, "HOME": str(tmp_path)})
    if "--no-control-socket" in run_python(["-m", "gunicorn", "--help"], tmp_path).out:
        words.insert(0, "--no-control-socket")
    with subprocess.Popen([sys.executable, "-m", "gunicorn", *words], cwd=tmp_path, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as master:  # fmt: skip
        try:
            answered = 0
            end = time.monotonic() + 300
            while time.monotonic() < end and (answered < 10 or len(list(tmp_path.glob("*.live"))) < 2):
                answered += ask(tmp_path / "g.sock").endswith("hi")
                time.sleep(0.02)
        finally:
            master.send_signal(signal.SIGTERM)
            out, _ = master.communicate(timeout=300)
    found = written(tmp_path)
    assert len(found) == 2 and sum(found.values()) == answered, out
    for name in found:
        assert f"Wrote profile results to {name}\n" in out


# ---- a first process that leads its family, though it never uses `profile` ---------------------


@pytest.fixture
def python(tmp_path, virtual_python):
    """An interpreter with clineprof's .pth file in its site-packages."""
    installed = run([BUILD / "bin" / "clineprof", "hook", "install"], tmp_path,
                    env={"VIRTUAL_ENV": str(tmp_path / "env")})
    assert installed.code == 0, installed.err
    (tmp_path / "jobs.py").write_text(JOBS)
    return virtual_python


def test_the_file_that_pip_installs_does_what_the_hook_does(tmp_path, python):
    [hook] = (tmp_path / "env").glob("lib/*/site-packages/clineprof-hook.pth")
    start = ROOT / "src" / "clineprof-start.pth"
    (hook.parent / "a.pth").write_text(str(BUILD / "python") + "\n")  # pip would have put the package there
    hook.rename(hook.parent / "unused")
    (hook.parent / start.name).write_bytes(start.read_bytes())
    (tmp_path / "it.py").write_text("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import jobs; jobs.work(5)'])\n")
    ended = run([python, "it.py"], tmp_path, env={"CLINEPROF": "1"})
    assert ended.code == 0 and written(tmp_path) == {"profile_output.lprof": 5}, ended.err


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "subprocess"])
@pytest.mark.parametrize("end", ["by itself", "killed"])
def test_workers_of_a_server_are_one_family(tmp_path, python, method, end):
    (tmp_path / "it.py").write_text(f"""
import multiprocessing, os, signal, subprocess, sys

def job(n):
    import jobs
    jobs.work(n)
    if {end == "killed"}:
        os.kill(os.getpid(), signal.SIGTERM)

if __name__ == "__main__":
    if {method!r} == "subprocess":
        for child in [subprocess.Popen([sys.executable, "-c", "import it; it.job(%d)" % n]) for n in (10, 1)]:
            child.wait()
    else:
        context = multiprocessing.get_context({method!r})
        for child in [context.Process(target=job, args=(n,)) for n in (10, 1)]:
            child.start(), child.join()
    print("clineprof._core" in sys.modules, "clineprof._global.ending" in sys.modules)
""")
    ended = run([python, "it.py"], tmp_path, env={"CLINEPROF": "1"})
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("True False\n") and "Wrote profile results to profile_output.lprof\n" in ended.out
    assert written(tmp_path) == {"profile_output.lprof": 11} and not list(tmp_path.glob("*.live"))
    rows = Profile(tmp_path / "profile_output.lprof").raw["processes"]
    assert [row["events"] > 0 for row in rows] == [False, True, True]


def test_a_child_that_is_killed_just_before_the_end(tmp_path, python):
    """The kernel takes a while to end it, because it has much memory. Reloaders kill their child so after Ctrl-C."""
    (tmp_path / "it.py").write_text("""
import jobs, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import jobs; jobs.work(5); x = b'x' * (300 << 20); print(len(x), flush=True);"
                          "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
child.kill()
""")
    ended = run([python, "it.py"], tmp_path, env={"CLINEPROF": "1"})
    assert (ended.code, ended.err) == (0, "")
    assert written(tmp_path) == {"profile_output.lprof": 5} and not list(tmp_path.glob("*.live"))


def test_a_program_that_counts_nothing_leaves_nothing(tmp_path, python):
    """Nor does one that is switched off, and the viewer is no program."""
    for variables in {"CLINEPROF": "1"}, {"CLINEPROF": "0"}, {}:
        ended = run([python, "-c", "print(1)"], tmp_path, env=variables)
        assert (ended.code, ended.out, ended.err) == (0, "1\n", "")
    off = run([python, "-c", "import sys; print('clineprof' in sys.modules)"], tmp_path, env={"CLINEPROF": "0"})
    assert off.out == "False\n" or off.out == "True\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["env", "jobs.py"]


def test_a_first_process_that_uses_profile_itself_later(tmp_path, python):
    """A worker has counted before."""
    (tmp_path / "it.py").write_text("""
import os
if os.fork() == 0:
    import jobs
    jobs.work(3)
    os._exit(0)
os.wait()
import jobs
jobs.work(10)
if os.fork() == 0:
    jobs.work(20)
    os._exit(0)
os.wait()
""")
    ended = run([python, "it.py"], tmp_path, env={"CLINEPROF": "1"})
    assert (ended.code, ended.err) == (0, ""), ended.out
    assert written(tmp_path) == {"profile_output.lprof": 33} and not list(tmp_path.glob("*.live"))


def test_a_first_process_with_a_prefix_of_its_own(tmp_path, python):
    (tmp_path / "it.py").write_text("""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", "import jobs; jobs.work(3)"], check=True)
from clineprof import profile
profile.output_prefix = "mine"
import jobs
jobs.work(10)
subprocess.run([sys.executable, "-c", "import jobs; jobs.work(20)"], check=True)
""")
    ended = run([python, "it.py"], tmp_path, env={"CLINEPROF": "1"})
    assert (ended.code, ended.err) == (0, ""), ended.out
    assert written(tmp_path) == {"mine.lprof": 33} and not list(tmp_path.glob("*.live"))


@pytest.mark.parametrize("at_once", [True, False])
def test_two_servers_in_one_folder(tmp_path, python, at_once):
    """They end at the same time, or one has written its files when the other one ends."""
    (tmp_path / "it.py").write_text("""
import os, subprocess, sys, time
subprocess.run([sys.executable, "-c", "import jobs; jobs.work(%s)" % sys.argv[1]], check=True)
open("done" + sys.argv[1], "w").close()
while not os.path.exists("go" + sys.argv[1]):
    time.sleep(0.01)
""")
    env = clean_environment({"CLINEPROF": "1"})
    both = [subprocess.Popen([python, "it.py", turns], cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE)
            for turns in ("3", "10")]
    end = time.monotonic() + 300
    while time.monotonic() < end and len(list(tmp_path.glob("done*"))) < 2:
        time.sleep(0.02)
    told = []
    for process, turns in zip(both, ("3", "10")):
        (tmp_path / f"go{turns}").touch()
        if not at_once:
            told.append(process.communicate(timeout=300)[0])
    told += [process.communicate(timeout=300)[0] for process in both if at_once]
    assert sorted(written(tmp_path).values()) == [3, 10] and not list(tmp_path.glob("*.live")), told


@pytest.mark.parametrize("server", ["gunicorn", "uvicorn"])
def test_real_servers(tmp_path, python, server):
    """One file, of all workers: gunicorn's end by themselves, uvicorn's by a signal."""
    pytest.importorskip(server, reason=server + " is not installed")
    (tmp_path / "application.py").write_text(JOBS + """
def app(environ, start_response):
    work(1)
    start_response('200 OK', [('Content-Length', '2')])
    return [b'hi']

async def asgi(scope, receive, send):
    work(1)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})
""")
    place = subprocess.check_output([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    words = {"gunicorn": ["-w", "2", "--max-requests", "4", "-b", "unix:g.sock", "application:app"],
             "uvicorn": ["--workers", "2", "--lifespan", "off", "--uds", "g.sock", "application:asgi"]}[server]
    env = clean_environment({"CLINEPROF": "1", "HOME": str(tmp_path), "PYTHONPATH": place.strip()})
    with subprocess.Popen([python, "-m", server, *words], cwd=tmp_path, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as master:  # fmt: skip
        try:
            answered = 0
            end = time.monotonic() + 300
            while time.monotonic() < end and answered < 10:
                answered += ask(tmp_path / "g.sock").endswith("hi")
                time.sleep(0.02)
        finally:
            master.send_signal(signal.SIGTERM)
            out, _ = master.communicate(timeout=300)
    assert written(tmp_path) == {"profile_output.lprof": answered} and answered >= 10, out
    assert not list(tmp_path.glob("*.live")) and "worker process" not in out
