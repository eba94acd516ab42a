# SPDX-License-Identifier: MIT
"""`clineprof attach` to real servers and other long runs, under load: the answers stay right, and the hits are what the
load itself has counted."""

import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest
from harness import BUILD, SANITIZED, Profile, clean_environment, run_python, viewer_command
from test_attach import LISTEN, SERVER, WAKES, attach, end_early, hits, target, wait_until  # noqa: F401

pytestmark = [pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")]


def attached_to(pid, folder, *words):
    """`clineprof attach`, started; it counts when this returns."""
    command = [*viewer_command(), "attach", pid, "-o", "out.lprof", "-s", "60", *words]
    started = subprocess.Popen(list(map(str, command)), cwd=folder, env=clean_environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    told = started.stderr.readline()
    assert told.startswith("Counting in "), told + started.stderr.read()
    return started


def test_a_server_with_threads(target, tmp_path):  # noqa: F811
    server = target(SERVER.replace("http.server.HTTPServer", "http.server.ThreadingHTTPServer"))
    attached = server.attach("-s", "60")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: server.get().split()[1], range(80)))
    end_early(attached)
    assert answers == ["4950"] * 80
    assert hits(tmp_path, server.line("# turns")) == 80 * 100
    assert server.end() == ""


def test_a_pool_of_threads(target, tmp_path):  # noqa: F811
    pool = target("""\
import concurrent.futures, sys

def task(n):
    return sum(range(n))  # task

print("ready", flush=True)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for line in sys.stdin:
        print(sum(pool.map(task, range(int(line)))), flush=True)
""", listen=WAKES, stdin=subprocess.PIPE)

    def ask(count):
        pool.process.stdin.write(f"{count}\n")
        pool.process.stdin.flush()
        assert int(pool.process.stdout.readline()) == sum(sum(range(n)) for n in range(count))

    ask(50)
    for _ in range(2):
        attached = pool.attach("-s", "60")
        ask(300)
        end_early(attached)
        assert hits(tmp_path, pool.line("# task")) == 300
        ask(50)
    assert pool.end() == ""


# ---- gunicorn ----

APPLICATION = """
import os

def work(n):
    return sum(range(n))  # work

def app(environ, start_response):
    body = b"%d %d" % (os.getpid(), work(100))
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""

START = """\
import sys
import clineprof
sys.argv = ["gunicorn", *sys.argv[1:]]
from gunicorn.app.wsgiapp import run
run()
"""


def ask(path):
    """(process, sum) of an answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(300)
        connection.connect(str(path))
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = b""
        while block := connection.recv(4096):
            answer += block
    return tuple(map(int, answer.rpartition(b"\r\n\r\n")[2].split()))


@pytest.fixture
def gunicorn(tmp_path):
    """A master with two workers. All of them listen, as clineprof is imported before they are forked."""
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    (tmp_path / "application.py").write_text(APPLICATION)
    words = ["-w", "2", "-b", "unix:g.sock", "application:app"]
    if "--no-control-socket" in run_python(["-m", "gunicorn", "--help"], tmp_path).out:
        words.insert(0, "--no-control-socket")
    environment = {"PYTHONPATH": str(BUILD / "python"), "CLINEPROF_ATTACH": "1", "HOME": str(tmp_path)}
    log = open(tmp_path / "log", "w+")
    master = subprocess.Popen([sys.executable, "-c", START, *words], cwd=tmp_path, env=clean_environment(environment),
                              stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until((tmp_path / "g.sock").exists)
        yield master
        assert master.poll() is None, (tmp_path / "log").read_text()
    finally:
        os.killpg(master.pid, signal.SIGKILL)
        master.wait()
        log.close()


def workers_of(master):
    return {int(word) for word in pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children").read_text().split()}


def load(path, count):
    """Asks so often from four threads: {worker: answers}."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: ask(path), range(count)))
    assert {total for _, total in answers} == {4950}
    pids = [pid for pid, _ in answers]
    return {pid: pids.count(pid) for pid in pids}


def test_gunicorn(gunicorn, tmp_path):
    line = APPLICATION.splitlines().index("    return sum(range(n))  # work") + 1
    path = tmp_path / "g.sock"
    wait_until(lambda: len(load(path, 20)) == 2)
    one, other = workers_of(gunicorn)
    both = [attached_to(one, tmp_path, "-o", "one.lprof"), attached_to(other, tmp_path, "-o", "other.lprof")]
    answers = load(path, 200)
    for attached in both:
        end_early(attached)
    load(path, 20)
    assert [hits(tmp_path, line, name) for name in ("one.lprof", "other.lprof")] == [answers.get(one, 0),
                                                                                   answers.get(other, 0)]
    attached = attached_to(gunicorn.pid, tmp_path, "-p", "gunicorn.arbiter")
    load(path, 100)
    gunicorn.send_signal(signal.SIGTTIN)  # the master starts another worker meanwhile
    wait_until(lambda: len(workers_of(gunicorn)) == 3)
    end_early(attached)
    calls = {name: sum(counts.values()) for (_, _, name), counts in Profile(tmp_path / "out.lprof").hits().items()}
    assert calls["Arbiter.spawn_worker"] > 0 and calls.get("Arbiter.handle_ttin", 1) > 0
    new = (workers_of(gunicorn) - {one, other}).pop()
    wait_until(lambda: new in load(path, 20))
    attached = [attached_to(pid, tmp_path, "-o", f"{pid}.lprof") for pid in (one, new)]
    answers = load(path, 200)
    for each in attached:
        end_early(each)
    assert [hits(tmp_path, line, f"{pid}.lprof") for pid in (one, new)] == [answers.get(one, 0), answers.get(new, 0)]


def lines_in(path):
    return path.read_text().count("\n")


# ---- numpy ----


def test_a_process_busy_in_numpy(target, tmp_path):  # noqa: F811
    pytest.importorskip("numpy", reason="numpy is not installed")
    busy = target("""\
import numpy

def step(table):
    return (table @ table).sum()  # step

table = numpy.full((400, 400), 0.5)
with open("count", "w") as file:
    print("ready", flush=True)
    for i in range(1_000_000):
        assert step(table) == 400 * 400 * 100
        print(i + 1, file=file, flush=True)
""")

    for words in [], ["--leaks"]:
        before = lines_in(tmp_path / "count")
        attached = busy.attach("-s", "60", *words)
        begun = lines_in(tmp_path / "count")
        wait_until(lambda: lines_in(tmp_path / "count") > begun + 50)
        almost = lines_in(tmp_path / "count")
        end_early(attached)
        counted = hits(tmp_path, busy.line("# step"))
        assert almost - begun - 1 <= counted <= lines_in(tmp_path / "count") - before + 1
    assert busy.end() == ""


# ---- Jupyter ----

KERNEL = """
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3")
for line in sys.stdin:
    said = []

    def hear(message):
        if message["msg_type"] == "stream":
            said.append(message["content"]["text"])
            if "begun" in message["content"]["text"]:
                print("begun", flush=True)

    status = client.execute_interactive(json.loads(line), timeout=60, output_hook=hear)["content"]["status"]
    print(json.dumps([status, "".join(said)]), flush=True)
client.stop_channels()
manager.shutdown_kernel(now=True)
"""


@pytest.fixture
def kernel(tmp_path):
    for name in "ipykernel", "jupyter_client":
        pytest.importorskip(name, reason=f"{name} is not installed")
    environment = {"PYTHONPATH": str(BUILD / "python"), "JUPYTER_PLATFORM_DIRS": "1", "HOME": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", KERNEL], cwd=tmp_path, env=clean_environment(environment),
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    yield process
    process.stdin.close()
    process.wait(timeout=300)


def test_a_jupyter_kernel(kernel, tmp_path):
    """It is reached while a cell runs, and while it waits for one."""
    def start(cell):
        kernel.stdin.write(json.dumps(cell) + "\n")
        kernel.stdin.flush()

    def answer():
        line = kernel.stdout.readline()
        assert line, kernel.stderr.read()
        return json.loads(line)

    start("import os, time, clineprof\nclineprof.listen()\ndef work(n):\n    return sum(range(n))\nprint(os.getpid())")
    status, pid = answer()
    assert status == "ok"

    def counted():
        found = [counts for (_, _, name), counts in Profile(tmp_path / "out.lprof").hits().items() if name == "work"]
        return sum(counts.get(4, 0) for counts in found)

    start("print('begun', flush=True)\nfile = open('count', 'w')\nwhile not os.path.exists('stop'):\n"
          "    assert work(100) == 4950\n    print('x', file=file, flush=True)\n    time.sleep(0.001)\nprint('right')")
    assert kernel.stdout.readline() == "begun\n"
    wait_until((tmp_path / "count").exists)
    before = lines_in(tmp_path / "count")
    attached = attached_to(int(pid), tmp_path)
    begun = lines_in(tmp_path / "count")
    wait_until(lambda: lines_in(tmp_path / "count") > begun + 50)
    almost = lines_in(tmp_path / "count")
    end_early(attached)
    assert almost - begun - 1 <= counted() <= lines_in(tmp_path / "count") - before + 1
    (tmp_path / "stop").touch()
    assert answer() == ["ok", "begun\nright\n"]
    attached = attached_to(int(pid), tmp_path)
    for _ in range(3):
        start("print(work(100))")
        assert answer() == ["ok", "4950\n"]
    end_early(attached)
    assert counted() == 3
    start("print(work(10))")
    assert answer() == ["ok", "45\n"]
