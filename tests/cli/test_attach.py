# SPDX-License-Identifier: MIT
"""`clineprof attach` and clineprof.listen: a process that runs already is profiled for some seconds, and goes on as
before. The targets are real servers; what they count themselves is compared with the profile."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import clineprof
import pytest
import stub
from harness import BUILD, SANITIZED, Profile, clean_environment, viewer_command
from terminal import Top, on_terminal

HAS_DOOR = sys.version_info >= (3, 14)  # of the interpreter's own
IN_PLACE = sys.version_info >= (3, 12)  # bodies that run already count

pytestmark = [pytest.mark.once, pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")]

# Python 3.14's own door opens when the process runs Python code the next time. The signal also ends a wait.
WAKES = f"""\
import sys
sys.path.insert(0, {str(BUILD / 'python')!r})
import clineprof
clineprof.listen(seconds=1)
"""
LISTEN = "" if HAS_DOOR else WAKES

SERVER = """\
import http.server, os, threading

class Handler(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Handler.count += 1
        body = self.answer().encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def answer(self):
        if self.path == "/fds":
            return "%d %d" % (len(os.listdir("/proc/self/fd")), threading.active_count())
        total = 0
        for i in range(100):
            total += i  # turns
        return "%d %d" % (self.count, total)
    def log_message(self, *words):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""

LOOP = """\
import time

def step():
    return sum(range(200))

def serve():
    count = 0
    while True:
        step()  # called
        count += 1  # counted

print("ready", flush=True)
serve()
"""


class Target:
    """A running program, with clineprof.listen() where the interpreter has no door of its own."""

    def __init__(self, folder, text, listen=LISTEN, command=("app.py",), **options):
        self.folder = folder
        self.path = folder / "app.py"
        self.path.write_text(listen + text)
        self.process = subprocess.Popen([sys.executable, *command], cwd=folder, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **{"env": clean_environment(), **options})
        self.first = self.process.stdout.readline()
        self.pid = self.process.pid

    def line(self, mark):
        return next(i for i, line in enumerate(self.path.read_text().splitlines(), 1) if mark in line)

    def get(self, path=""):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.first.strip()}/{path}", timeout=300) as answer:
            return answer.read().decode()

    def attach(self, *words, pid=None):
        """`clineprof attach` with these words, started; it counts when this returns."""
        command = [*viewer_command(), "attach", pid or self.pid, "-o", "out.lprof", *words]
        started = subprocess.Popen(list(map(str, command)), cwd=self.folder, env=clean_environment(), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        told = started.stderr.readline()
        assert re.fullmatch(r"Counting in \d+ functions? of process \d+ for .* s; Ctrl-C ends it early\n", told), (
            told + started.stderr.read())
        return started

    def end(self):
        """Ends the program, which must still run. Returns what it printed on standard error."""
        assert self.process.poll() is None
        self.process.kill()
        return self.process.communicate()[1]


@pytest.fixture
def target(tmp_path):
    made = []

    def make(text, **options):
        made.append(Target(tmp_path, text, **options))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()
        for name in left_behind(one.pid):  # requests that it never came to; its number may be another's soon
            shutil.rmtree("/tmp/" + name)


def end_early(attached):
    attached.send_signal(signal.SIGINT)
    out, err = attached.communicate(timeout=300)
    assert attached.returncode == 0, err
    return out


def attach(target, *words):
    """Runs `clineprof attach` to its end: (exit code, standard output, standard error)."""
    done = subprocess.run(list(map(str, [*viewer_command(), "attach", target.pid, "-o", "out.lprof", *words])),
                          cwd=target.folder, env=clean_environment(), text=True, capture_output=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def refusal(*words, folder="."):
    done = subprocess.run(list(map(str, [*viewer_command(), "attach", *words])), cwd=folder, text=True,
                          env=clean_environment(), capture_output=True, timeout=300)
    assert done.stdout == ""
    return done.returncode, done.stderr


def hits(folder, line, name="out.lprof"):
    """The hits of a line in all functions of the profile; the line's number is given."""
    return sum(counts.get(line, 0) for counts in Profile(folder / name).hits().values())


def hits_so_far(folder, line, name="out.lprof"):
    """The hits in the live file of a profile that is not written yet."""
    subprocess.run([*viewer_command(), "recover", "-o", "so far.lprof", name + ".live"], cwd=folder, check=True,
                   capture_output=True)
    return hits(folder, line, "so far.lprof")


def left_behind(pid):
    return [path.name for path in pathlib.Path("/tmp").glob(f"clineprof-attach-{pid}-*")]


# ---- what is counted ----


def test_requests_of_a_server(target, tmp_path):
    server = target(SERVER)
    server.get()
    attached = server.attach("--seconds", "60")
    for _ in range(25):
        server.get()
    out = end_early(attached)
    assert "Wrote profile results to 'out.lprof'\n" in out
    assert hits(tmp_path, server.line("# turns")) == 25 * 100
    assert server.get().split() == ["27", "4950"]
    assert server.end() == "" and left_behind(server.pid) == []


@pytest.mark.skipif(not IN_PLACE, reason="bodies that run already count from 3.12 on")
def test_a_body_that_runs_counts_from_its_next_line(target, tmp_path):
    loop = target(LOOP)
    code, out, err = attach(loop, "-s", "0.3")
    assert code == 0, err
    called, counted = hits(tmp_path, loop.line("# called")), hits(tmp_path, loop.line("# counted"))
    assert called > 100 and abs(called - counted) <= 1
    assert loop.end() == ""


def test_targets(target, tmp_path):
    loop = target(LOOP)
    code, out, err = attach(loop, "-s", "0.3", "-p", "app.step", "-p", "nosuch")
    assert code == 0 and "clineprof attach: -p nosuch: no loaded code matches so far\n" in err
    assert [name for _, _, name in Profile(tmp_path / "out.lprof").functions] == ["step"]
    code, out, err = attach(loop, "-s", "0.3", "--exclude", "step", "-o", "rest.lprof")
    assert code == 0, err
    assert "step" not in [name for _, _, name in Profile(tmp_path / "rest.lprof").functions]


NESTED = """\
def step():
    def inner(n):
        def deeper(n):
            return n
        return deeper(n)
    inner(3)
    (lambda: 3)()
    list(i for i in ())

def serve():
    while True:
        step()

print("ready", flush=True)
serve()
"""


def test_each_window_counts_nested_functions(target, tmp_path):
    loop = target(NESTED)
    for words in [], ["-p", "app.step"], []:
        code, out, err = attach(loop, "-s", "0.3", *words)
        assert code == 0, err
        profile = Profile(tmp_path / "out.lprof")
        calls = [sum(Profile.measure(profile.function("step" + inner), "hits").values()) // lines for inner, lines in (
            ("", 4), (".<locals>.inner", 2), (".<locals>.inner.<locals>.deeper", 1), (".<locals>.<lambda>", 1),
            (".<locals>.<genexpr>", 1))]  # fmt: skip
        # a step that runs when the window opens, and another when it closes, call functions but are not whole themselves
        assert min(calls) > 10 and max(calls) - min(calls) <= 2, calls
    assert loop.end() == ""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 has no probes")
def test_light(target, tmp_path):
    loop = target(LOOP)
    code, out, err = attach(loop, "-s", "0.3", "--light")
    assert code == 0, err
    profile = Profile(tmp_path / "out.lprof")
    assert profile.meta["tracer"] == "light"
    assert hits(tmp_path, loop.line("sum(range(200))")) > 100
    assert re.search(r"these ran already and count from their next call: .*\bserve\b", err)
    assert loop.end() == ""


KINDS = """\
import functools

@functools.singledispatch
def kind(x):
    return "object"  # function
@kind.register(int)
def _(x):
    return "int"  # int
@kind.register(str)
def _(x):
    return "str"  # str

class Case:
    @functools.singledispatchmethod
    def kind(self, x):
        return "object"  # method
    @kind.register(int)
    def _(self, x):
        return "int"  # int of method
    @kind.register(str)
    def _(self, x):
        return "str"  # str of method
"""
MORE_KINDS = """\
import kinds

@kinds.kind.register(list)
def _(x):
    return "list"
@kinds.kind.register(dict)
def _(x):
    return "dict"
"""
KINDS_USED = """\
import kinds, more

def serve():
    while True:
        for x in 1, "a", 1.0:
            kinds.kind(x)
            kinds.Case().kind(x)
        kinds.kind([])
        kinds.kind({})

print("ready", flush=True)
serve()
"""


@pytest.mark.parametrize("targets", [None, "kinds,more", "kinds.kind,kinds._,kinds.Case,more._"])
def test_implementations_of_generic_functions(target, tmp_path, targets):
    """They are reached through the generic function alone: the next one takes the name."""
    (tmp_path / "kinds.py").write_text(KINDS)
    (tmp_path / "more.py").write_text(MORE_KINDS)
    loop = target(KINDS_USED)
    code, out, err = attach(loop, "-s", "0.3", *(["-p", targets] if targets else []))
    assert code == 0 and "no loaded code" not in err, err
    functions = Profile(tmp_path / "out.lprof").hits().items()
    ran = [(os.path.basename(file), name, hits) for (file, _, name), lines in functions for hits in lines.values()
           if hits > 0 and name != "serve"]  # fmt: skip
    assert sorted(one[:2] for one in ran) == [
        *[("kinds.py", name) for name in ("Case._", "Case._", "Case.kind", "_", "_", "kind")],
        ("more.py", "_"), ("more.py", "_")]  # fmt: skip
    counts = [hits for _, _, hits in ran]
    assert min(counts) > 10 and max(counts) - min(counts) <= 1, ran
    assert loop.end() == ""


def test_view(target):
    code, out, err = attach(target(LOOP), "-s", "0.3", "-v", "--no-memory")
    assert code == 0 and "Function: step at line" in out and "Mem usage" not in out


def test_processor_time_and_waiting(target, tmp_path):
    loop = target("""\
import time
print("ready", flush=True)
def step():
    time.sleep(0.02)  # waits
while True:
    step()
""")
    code, out, err = attach(loop, "-s", "0.5", "--cpu")
    assert code == 0, err
    functions = clineprof.load(tmp_path / "out.lprof").functions
    [line] = [line for function in functions for line in function.lines if line.text.endswith("# waits")]
    assert line.cpu + line.wait == line.self and line.wait > line.hits * 18e6
    assert loop.end() == ""


def test_an_asyncio_loop(target, tmp_path):
    server = target("""\
import asyncio

async def answer(reader, writer):
    while await reader.readline():
        writer.write(b"yes\\n")  # answered
        await writer.drain()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
""", listen=WAKES)
    with socket.create_connection(("127.0.0.1", int(server.first)), timeout=300) as old:
        def ask(connection, file):
            connection.sendall(b"x\n")
            assert file.readline() == b"yes\n"

        file = old.makefile("rb")
        ask(old, file)
        attached = server.attach("-s", "60")
        with socket.create_connection(("127.0.0.1", int(server.first)), timeout=300) as new:
            ask(new, new.makefile("rb"))  # a call that begins now
        for _ in range(7):
            ask(old, file)  # a coroutine that was suspended when the window opened
        end_early(attached)
        ask(old, file)
    assert hits(tmp_path, server.line("# answered")) == (1 if sys.version_info[:2] == (3, 11) else 8)
    assert server.end() == ""


def test_waiting_functions_are_named(target):
    """Before 3.12 a body that runs already counts from its next call; from 3.12 on nothing waits."""
    loop = target("""\
import time

def suspended():
    while True:
        yield 1

def step(steps):
    return next(steps)

def serve():
    steps = suspended()
    next(steps)
    print("ready", flush=True)
    while True:
        step(steps)

serve()
""")
    code, out, err = attach(loop, "-s", "0.3")
    assert code == 0, err
    place = {name: f"{name} (app.py:{loop.line('def ' + name)})" for name in ("serve", "step", "suspended")}
    waiting = {place["serve"], "<module> (app.py:1)"}
    waiting |= {place["suspended"]} if sys.version_info[:2] == (3, 11) else set()
    named = re.findall(r"clineprof attach: these ran already and count from their next call: (.*)\n", err)
    assert len(named) == (not IN_PLACE)
    for text in named:  # the other two may run just then
        assert waiting <= set(re.findall(r"\S+ \(app.py:\d+\)", text)) <= {*waiting, *place.values()}
    assert loop.end() == ""


# ---- memory and leaks ----


@pytest.mark.parametrize("mode", ["anon", "uss", "pss", "tree", "rss", "off"])
def test_memory_modes(target, tmp_path, mode):
    loop = target(LOOP.replace("step()  #", "step(); time.sleep(0.001)  #"))
    for words in ["--memory", mode], []:
        code, out, err = attach(loop, "-s", "0.3", *words)
        assert code == 0 and "PyMem_RawMalloc" not in err, err
        assert Profile(tmp_path / "out.lprof").meta.get("memory") == (None if words and mode == "off" else
                                                                      mode if words else "rss")
    assert loop.end() == ""


LEAKY = """\
import threading, time

kept = []

def handle(n):
    kept.append(bytes(100_000))  # leaks
    return bytes(1000)

for i in range(THREADS):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
while True:
    handle(1)
    time.sleep(0.005)
"""


@pytest.mark.parametrize("threads", [0, 1])
@pytest.mark.parametrize("words", [["--leaks"], ["--leaks=handle", "--memory", "anon"]])
def test_leaks(target, tmp_path, words, threads):
    loop = target(LEAKY.replace("THREADS", str(threads)))
    code, out, err = attach(loop, "-s", "3", "-v", *words)
    assert code == 0, err
    assert f"app.py:{loop.line('# leaks')}" in out.partition("Leaks: 1 line")[2], out + err
    assert "held by __main__.kept: list" in out
    lacks = ("clineprof attach: the process had several threads, so what C code asks of PyMem_RawMalloc is not in "
             "allocated and leaks\n")  # fmt: skip
    assert err.count(lacks) == threads
    code, out, err = attach(loop, "-s", "0.1")
    assert code == 0 and "leak_epoch" not in Profile(tmp_path / "out.lprof").meta
    assert loop.end() == ""


EPOCHS = "needs calls, checkpoints, a number of seconds above 0 or the name of a function"


@pytest.mark.parametrize("words, needs", [
    ("--memory=much", "--memory: needs off, rss, anon, uss, pss or tree, not 'much'"),
    ("--leaks=-1", f"--leaks: {EPOCHS}, not '-1'"),
    ("--leaks=", f"--leaks: {EPOCHS}, not ''"),
])
def test_wrong_values(words, needs):
    assert refusal("1", words) == (2, f"clineprof attach: argument {needs}; see clineprof attach --help\n")


def test_leaks_without_memory(target):
    loop = target(LOOP)
    code, out, err = attach(loop, "-s", "0.3", "--no-memory", "--leaks")
    assert (code, out) == (1, "") and err.endswith("heap and leaks need memory\n") and err.count("\n") == 1
    assert loop.end() == "" and left_behind(loop.pid) == []


# ---- clineprof top ----


def top_complains(target):
    data, code = on_terminal([*viewer_command(), "top", target.pid], target.folder)
    assert code == 1
    return data.decode()


def test_top_finds_each_window(target, tmp_path):
    loop = target(LOOP)
    nothing = f"clineprof: nothing is counted in process {loop.pid} now; clineprof attach {loop.pid} begins\r\n"
    assert top_complains(loop) == nothing
    for name in "one.lprof", "two.lprof", "three.lprof":
        attached = loop.attach("-s", "60", "-o", name)
        top = Top(loop.pid, tmp_path, 120, 24)
        rows = top.until(lambda rows: any("return sum" in row for row in rows))
        assert rows[0].startswith(f"{name}.live: process {loop.pid} is running")
        assert top.end() == 0
        wait_until(lambda: hits_so_far(tmp_path, loop.line("return sum"), name) > 100)
        before = hits_so_far(tmp_path, loop.line("return sum"), name)
        end_early(attached)
        assert 100 <= before <= hits(tmp_path, loop.line("return sum"), name)
        assert top_complains(loop) == nothing
    assert loop.end() == "" and not list(tmp_path.glob("*.live"))


def test_top_without_a_process(target):
    loop = target(LOOP)
    loop.end()
    assert top_complains(loop) == f"clineprof: there is no process {loop.pid}\r\n"


# ---- nothing is left behind ----


def test_again_and_again(target):
    times = int(os.environ.get("CLINEPROF_TEST_ATTACHMENTS", "10"))
    server = target(SERVER)
    seen = []
    for turn in range(times):
        code, out, err = attach(server, "-s", "0.05", *["--no-memory"] * (turn % 2))
        assert code == 0, err
        seen.append((server.get("fds"), resident(server.pid)))
    middle = times // 2
    # the last connection may just be closing, so single counts may have one more
    counts = [tuple(map(int, counts.split())) for counts, _ in seen]
    assert min(counts[middle:]) == min(counts[1:middle]), seen
    print("descriptors and threads, resident bytes: after the first %s, %d; middle %s, %d; last %s, %d" % (
        *seen[0], *seen[middle], *seen[-1]))  # fmt: skip
    assert seen[-1][1] - seen[middle][1] < (times - middle) * 20_000, seen
    assert server.end() == "" and left_behind(server.pid) == []


def test_the_code_is_its_own_again(target, tmp_path):
    """The program itself looks at its functions before and after."""
    server = target("""\
import sys, threading, time

def f():
    return 1

def state():
    tools = [sys.monitoring.get_tool(i) for i in range(6)] if hasattr(sys, "monitoring") else []
    return [f.__code__ is code, f.__code__.co_code == text, tools, sys.gettrace(), threading.active_count()]

code, text = f.__code__, f.__code__.co_code
before = state()
print("ready", flush=True)
sys.stdin.read(1)
print(state() == before or state(), flush=True)
""", listen=WAKES, stdin=subprocess.PIPE)
    code, out, err = attach(server, "-s", "0.2")
    assert code == 0, err
    out, err = server.process.communicate("x", timeout=300)
    assert (out, err) == ("True\n", "")


def test_the_users_side_is_killed(target, tmp_path):
    loop = target(LOOP)
    attached = loop.attach("-s", "1")
    attached.kill()
    attached.communicate()
    wait_until(lambda: (tmp_path / "out.lprof").exists() and not left_behind(loop.pid))
    assert hits(tmp_path, next(i for i, line in enumerate(loop.path.read_text().splitlines(), 1)
                               if "return sum" in line)) > 100
    assert loop.end() == "" and not (tmp_path / "out.lprof.live").exists()


# ---- what goes wrong ----


def test_a_program_whose_clock_stands_still(target, tmp_path):
    """The seconds of the window are real ones."""
    loop = target(LOOP, env=clean_environment(stub.with_clock(tmp_path, 0)))
    code, out, err = attach(loop, "-s", "0.3")
    assert code == 0, err
    assert hits(tmp_path, loop.line("return sum")) > 100


def test_two_at_once(target, tmp_path):
    loop = target(LOOP)
    first = loop.attach("-s", "60")
    code, out, err = attach(loop, "-s", "1")
    assert (code, out) == (1, "")
    assert re.fullmatch(r"clineprof attach: process \d+: another clineprof counts in this process, for \d+ more "
                        r"seconds\n", err), err
    descriptors = len(os.listdir(f"/proc/{loop.pid}/fd"))
    assert attach(loop, "-s", "1")[0] == 1
    assert len(os.listdir(f"/proc/{loop.pid}/fd")) == descriptors
    end_early(first)
    assert loop.end() == ""


@pytest.mark.skipif(not IN_PLACE, reason="there is no sys.monitoring")
def test_a_window_that_cannot_be_opened_says_why(target, tmp_path):
    loop = target("import sys\nfor i in range(6):\n    sys.monitoring.use_tool_id(i, 'mine')\n" + LOOP)
    for _ in range(2):
        code, out, err = attach(loop, "-s", "1")
        assert (code, out) == (1, "") and err.count("\n") == 1, err
        assert err.startswith(f"clineprof attach: process {loop.pid}: ") and "monitoring" in err
    assert loop.end() == "" and left_behind(loop.pid) == []


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("end", ["exit", "killed"])
def test_the_target_ends_meanwhile(target, tmp_path, end, before):
    """The window is the first one of the process, or the third."""
    loop = target(SERVER.replace("server.serve_forever()", f"for i in range(3 + {before}): server.handle_request()"),
                  listen=WAKES)
    for _ in range(before):
        attached = loop.attach("-s", "60")
        loop.get()
        end_early(attached)
        assert hits(tmp_path, loop.line("# turns")) == 100
    attached = loop.attach("-s", "60")
    loop.get()
    if end == "exit":
        loop.get(), loop.get()
    else:
        loop.process.kill()
    out, err = attached.communicate(timeout=300)
    if end == "exit":
        assert (attached.returncode, err) == (0, "") or not IN_PLACE, err
        assert "Wrote profile results" in out
        assert hits(tmp_path, loop.line("# turns")) == 300
    else:
        assert (attached.returncode, err) == (1, f"clineprof attach: process {loop.pid} has ended; its counts are in "
                                                 f"'{tmp_path}/out.lprof.live', which clineprof recover opens\n")
        subprocess.run([*viewer_command(), "recover", tmp_path / "out.lprof.live"], check=True, cwd=tmp_path)
        assert hits(tmp_path, loop.line("# turns")) == 100


def test_a_fork_meanwhile(target, tmp_path):
    loop = target("""\
import os, sys

def f(n):
    return n + 1  # counted

print("ready", flush=True)
sys.stdin.readline()
pid = os.fork()
for i in range(10 if pid else 1000):
    f(i)
if pid:
    os.waitpid(pid, 0)
print(pid != 0, flush=True)
if pid:
    sys.stdin.readline()
""", listen=WAKES, stdin=subprocess.PIPE)
    attached = loop.attach("-s", "60")
    loop.process.stdin.write("\n")
    loop.process.stdin.flush()
    assert [loop.process.stdout.readline() for _ in range(2)] == ["False\n", "True\n"]
    end_early(attached)
    assert hits(tmp_path, loop.line("# counted")) == 10
    assert loop.end() == ""


def test_a_fork_behind_a_window_counts_alone(target, tmp_path):
    """The processes share no counters: both profile themselves at the same time, each with its own hits."""
    loop = target("""\
import os, sys, time

def f(n):
    return n + 1  # counted

print("ready", flush=True)
sys.stdin.readline()
pid = os.fork()
mine, other = ("parent", "child") if pid else ("child", "parent")
profiler = clineprof.Profiler()
profiler(f)
open(mine, "w").write(str(os.getpid()))
while not (os.path.exists("go") and os.path.exists(other)):
    time.sleep(0.01)
for i in range(1000 if pid else 30):
    f(i)
    time.sleep(0.0001 if pid else 0.003)
found = clineprof.Profile(profiler.snapshot()).functions[0]["hits"]
open(mine + " done", "w").write(str(found))
time.sleep(60)
""", listen=WAKES, stdin=subprocess.PIPE)

    def told(name):
        return (tmp_path / name).read_text() if (tmp_path / name).exists() else ""

    try:
        code, out, err = attach(loop, "-s", "0.1")
        assert code == 0, err
        loop.process.stdin.write("\n")
        loop.process.stdin.flush()
        wait_until(lambda: told("parent") and told("child"))
        (tmp_path / "go").touch()
        wait_until(lambda: told("parent done") and told("child done"))
        assert [told(name) for name in ("parent done", "child done")] == ["[1000]", "[30]"]
    finally:
        if told("child"):
            os.kill(int(told("child")), signal.SIGKILL)


# ---- processes that profile themselves ----


def own_loop(tmp_path, command, environment, text):
    """A program with a function f that counts itself: a started process, which has printed "ready"."""
    (tmp_path / "app.py").write_text(WAKES + text)  # it waits for its standard input
    started = subprocess.Popen([*map(str, command), "app.py"], cwd=tmp_path, env=clean_environment(environment),
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE)
    assert started.stdout.readline() == "ready\n", started.stderr.read()
    return started


OWN = """\
import sys, threading
from clineprof import profile

@profile
def f(n):
    return n + 1  # counted

def g(n):
    return f(n)  # other

print("ready", flush=True)
for i in range(3):
    sys.stdin.readline()
    for j in range(10):
        g(j)
    print("done", flush=True)
"""


@pytest.mark.parametrize("how", ["ckernprof", "CLINEPROF=1", "memory"])
def test_a_process_that_profiles_itself(tmp_path, how):
    """Both count, each what ran in its time."""
    command = [BUILD / "bin/ckernprof", "--python", sys.executable, "-l"] if how != "CLINEPROF=1" else [sys.executable]
    environment = {"PYTHONPATH": str(BUILD / "python"), **({"CLINEPROF": "1"} if how == "CLINEPROF=1" else {})}
    loop = own_loop(tmp_path, command, environment, OWN)

    def turn():
        loop.stdin.write("\n")
        loop.stdin.flush()
        assert loop.stdout.readline() == "done\n"

    line = {mark: next(i for i, text in enumerate((WAKES + OWN).splitlines(), 1) if mark in text)
            for mark in ("# counted", "# other")}
    turn()
    words = [*viewer_command(), "attach", loop.pid, "-s", "60", "-o", "out.lprof"]
    attached = subprocess.Popen(list(map(str, words + ["--memory", "anon"] * (how == "memory"))), cwd=tmp_path,
                                env=clean_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    told = attached.stderr.readline() if how != "memory" else attached.communicate()[1]
    if how == "memory":
        assert told == (f"clineprof attach: process {loop.pid}: another Profiler of this process measures memory as "
                        "'rss', not 'anon'\n")
    else:
        assert told.startswith("Counting in "), told + attached.stderr.read()
    turn()
    if how != "memory":
        end_early(attached)
        assert [hits(tmp_path, line[mark]) for mark in line] == [10, 10]
    turn()
    loop.communicate(timeout=300)
    name = "profile_output.lprof" if how == "CLINEPROF=1" else "app.py.lprof"
    assert [hits(tmp_path, line[mark], name) for mark in line] == [30, 0]


def test_a_process_in_c_code(target, tmp_path):
    """The request comes to nothing, also when the process runs Python code again later."""
    loop = target("""\
import time
print("ready", flush=True)
sum(range(30_000_000)) + sum(range(30_000_000))
print("python", flush=True)
time.sleep(60)
""")
    loop.process.send_signal(signal.SIGSTOP)
    code, out, err = attach(loop, "--wait", "0.5")
    assert (code, out, err) == (1, "", f"clineprof attach: process {loop.pid} ran no Python code for 0.5 s, so nothing "
                                       "is done; it waits, is in C code, or is stopped\n")
    loop.process.send_signal(signal.SIGCONT)
    assert loop.process.stdout.readline() == "python\n"
    wait_until(lambda: left_behind(loop.pid) == [])
    assert loop.end() == "" and not (tmp_path / "out.lprof").exists()


def test_processes_that_cannot_be_reached(target, tmp_path):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        exe = pathlib.Path(f"/proc/{sleeper.pid}/exe").resolve()
        assert refusal(sleeper.pid) == (1, f"clineprof attach: process {sleeper.pid} is not Python: it runs {exe}\n")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert refusal(sleeper.pid) == (1, f"clineprof attach: there is no process {sleeper.pid}\n")
    for words in ([], ["x"], ["0"], ["1", "2"], ["1", "-s", "0"], ["1", "--source", "all"], ["1", "--nosuch"]):
        code, err = refusal(*words)
        assert code == 2 and err.startswith("clineprof attach: ") and err.count("\n") == 1, err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's process")
def test_another_users_process(target, tmp_path):
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    for path in tmp_path, *tmp_path.parents:
        if not path.stat().st_mode & 0o001:
            path.chmod(0o755)
    try:
        subprocess.run([sys.executable, "-c", LISTEN], check=True, capture_output=True, cwd="/", **nobody)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("other users cannot run this interpreter, or cannot read the build folder")
    loop = target(LOOP, **nobody)
    code, out, err = attach(loop, "-s", "0.3")
    assert code == 0, err
    assert hits(tmp_path, loop.line("return sum")) > 100
    assert (tmp_path / "out.lprof").stat().st_uid == 0
    assert loop.end() == "" and left_behind(loop.pid) == []


# ---- clineprof dump ----


def test_dump(target, tmp_path):
    loop = target("""\
import threading, time

def outer():
    inner()  # outer

def inner():
    print("ready", flush=True), time.sleep(60)  # inner

threading.Thread(target=threading.Event().wait, name="idle\\x1b[31m", daemon=True).start()
outer()  # main
""", listen=WAKES)
    done = subprocess.run([*viewer_command(), "dump", str(loop.pid)], cwd=tmp_path, env=clean_environment(), text=True,
                          capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    shown = done.stdout.replace(str(loop.path), "app.py")
    assert (f"MainThread\n    app.py:{loop.line('# inner')} in inner\n    app.py:{loop.line('# outer')} in outer\n"
            f"    app.py:{loop.line('# main')} in <module>\n") in shown
    assert "idle\\x1b[31m\n" in shown and "\x1b" not in shown and "threading.py" in shown
    assert loop.end() == "" and left_behind(loop.pid) == []


def test_dump_of_a_program_that_knows_no_threads(target):
    """The module threading is not loaded, and the dump does not load it."""
    loop = target("""\
import sys, time
loaded = "threading" in sys.modules
print("ready", flush=True)
while loaded or "threading" not in sys.modules:
    time.sleep(0.01)
""", listen=WAKES)
    done = subprocess.run([*viewer_command(), "dump", str(loop.pid)], env=clean_environment(), text=True,
                          capture_output=True, timeout=300)
    assert done.stdout.startswith("MainThread\n") and done.stderr == ""
    time.sleep(0.05)
    assert loop.end() == ""


# ---- clineprof.listen ----


SIGNALLED = f"""\
import sys
sys.path.insert(0, {str(BUILD / 'python')!r})
import clineprof, signal
clineprof.listen(signal.SIGUSR1, seconds=0.2, targets=["app.step"], outfile="mine.lprof")
"""


def test_a_signal_opens_windows(target, tmp_path):
    loop = target(LOOP, listen=SIGNALLED)
    for name in "mine-1.lprof", "mine-2.lprof":
        loop.process.send_signal(signal.SIGUSR1)
        told = loop.process.stderr.readline()
        if not IN_PLACE and "these ran already" in told:  # the signal has come in the midst of step
            told = loop.process.stderr.readline()
        assert told == f"clineprof: Wrote profile results to '{tmp_path}/{name}'\n"
        assert [key[2] for key in Profile(tmp_path / name).functions] == ["step"]
        assert hits(tmp_path, loop.line("return sum"), name) > 100
    assert loop.end() == ""


@pytest.mark.skipif(IN_PLACE, reason="bodies that run already count from 3.12 on")
def test_what_a_window_lacks_is_told_before_its_file(target, tmp_path):
    loop = target(LOOP.replace("    return", "    signal.raise_signal(signal.SIGUSR1)\n    return"), listen=SIGNALLED)
    assert loop.process.stderr.readline() == (
        f"clineprof: these ran already and count from their next call: step (app.py:{loop.line('def step')})\n")
    assert loop.process.stderr.readline() == f"clineprof: Wrote profile results to '{tmp_path}/mine-1.lprof'\n"


@pytest.mark.parametrize("words, message", [
    ("seconds=0", "seconds must be above 0, not 0.0"),
    ("signal=signal.SIGINT", "the program has a handler for signal 2 already"),
    ("signal=signal.SIGKILL", ""),
    ("signal=0", ""),
    ("targets=[1]", ""),
])
def test_wrong_calls_of_listen(tmp_path, words, message):
    text = f"import clineprof, signal\ntry:\n    clineprof.listen({words})\nexcept (ValueError, TypeError, OSError) as e:\n    print(e)"
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, text=True, capture_output=True,
                          env=clean_environment({"PYTHONPATH": str(BUILD / "python")}))
    assert done.returncode == 0 and done.stderr == "" and message in done.stdout and done.stdout.strip()


def resident(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def wait_until(holds, seconds=300):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no cc to build tests/stub/torch_c.c with")
def test_tensors_on_cuda_devices(target, tmp_path):
    """From PyTorch's statistics, and the process prints nothing of it."""
    stub.build_torch(tmp_path)
    loop = target("""\
import time, torch
from torch import _C
torch.cuda.init()
print("ready", flush=True)
def step():
    _C.allocate(70); _C.allocate(-30); time.sleep(0.02)  # allocates
while True:
    step()
""")
    code, out, err = attach(loop, "-s", "1", "--tensors", "-p", "app.py")
    assert code == 0 and "only tensors on CUDA devices are counted, from PyTorch's statistics" in err, err
    profile = clineprof.load(tmp_path / "out.lprof")
    [line] = [line for function in profile.functions for line in function.lines if line.text.endswith("# allocates")]
    assert profile.meta["device1"] == "cuda:0" and line.device1_allocated >= 70 * 5
    assert line.device1_allocated % 70 == 0 and line.device1_freed * 7 == line.device1_allocated * 3
    assert loop.end() == ""
