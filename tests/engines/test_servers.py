# SPDX-License-Identifier: MIT
"""CLINEPROF=1 and servers: all processes of a server make one profile, whether its first process imports the
application or not, and however the workers end. Every answered request is in it."""
import contextlib
import itertools
import os
import re
import signal
import socket
import time

import pytest
from engine import hits, needs, profiles, started
from harness import run

pytestmark = needs()

ON = {"CLINEPROF": "1"}
WORK = """\
import os
from clineprof import profile

@profile
def work():
    return b"%d" % os.getpid()  # request

"""
APPLICATION = WORK + """\
def app(environ, start_response):
    body = work()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]

async def asgi(scope, receive, send):
    body = work()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
"""
FLASK = WORK + """\
import flask

app = flask.Flask(__name__)

@app.route("/")
def page():
    return work()
"""
DJANGO = """\
import sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse
from django.urls import path
FIRST
settings.configure(DEBUG=True, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])

def page(request):
    import jobs
    return HttpResponse(jobs.work())

urlpatterns = [path("", page)]
if __name__ == "__main__":
    execute_from_command_line(sys.argv)
"""


class Server:
    """A server that runs, and how many of its answers came."""

    def __init__(self, program, address, folder):
        self.program, self.address, self.folder, self.answers = program, address, folder, 0

    def ask(self):
        """The number of the process that answers; None if there is no answer."""
        with socket.socket(socket.AF_INET if isinstance(self.address, tuple) else socket.AF_UNIX) as connection:
            connection.settimeout(60)
            try:
                connection.connect(self.address)
                connection.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
            except OSError:
                return None
        if not re.match(rb"HTTP/1.\d 200 ", answer):
            return None
        self.answers += 1
        return int(answer.rpartition(b"\r\n\r\n")[2])

    def ask_until(self, number, but=()):
        """Asks until so many processes have answered, besides those of `but`; the numbers of these processes."""
        found = set()

        def enough():
            found.update({self.ask()} - {None, *but})
            return len(found) >= number

        self.program.wait_until(enough)
        return found

    def end(self, number=signal.SIGTERM):
        """Ends the server. There must be one profile, in which all answers are."""
        self.program.end(number)
        assert profiles(self.folder) == ["profile_output.lprof"], self.program.said()
        assert hits(self.folder / "profile_output.lprof", self.folder / "jobs.py", "# request") == self.answers > 0
        assert "worker process" not in self.program.said()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def server(tmp_path, python):
    """server(package, *words) starts `python -m package words`, which listens at `s.sock`, or at the port when a word
    is PORT."""
    stack = contextlib.ExitStack()

    def start(*words, env=ON):
        port = str(free_port())
        address = ("127.0.0.1", int(port)) if "PORT" in words else str(tmp_path / "s.sock")
        command = [python, *(port if word == "PORT" else word for word in words)]
        return Server(stack.enter_context(started(command, tmp_path, {**env, "HOME": str(tmp_path)})), address, tmp_path)

    (tmp_path / "jobs.py").write_text(APPLICATION)
    with stack:
        yield start


# ---- gunicorn ----


@pytest.fixture
def gunicorn(server, python, tmp_path):
    """gunicorn(words) starts a master with two workers."""
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    knows = run([python, "-m", "gunicorn", "--help"], tmp_path).out
    control = [word for word in ["--no-control-socket"] if word in knows]
    return lambda *words: server("-m", "gunicorn", *control, "-w", "2", "-b", "unix:s.sock", *words, "jobs:app")


@pytest.mark.parametrize("preload", [[], ["--preload"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_gunicorn_ends(gunicorn, preload, number):
    running = gunicorn(*preload)
    running.ask_until(2)
    running.end(number)


@pytest.mark.parametrize("preload", [[], ["--preload"]])
def test_gunicorn_loads_the_application_again(gunicorn, preload):
    running = gunicorn(*preload)
    first = running.ask_until(2)
    running.program.process.send_signal(signal.SIGHUP)
    running.ask_until(2, but=first)
    running.end()


@pytest.mark.parametrize("preload", [[], ["--preload"]])
def test_gunicorns_workers_that_have_answered_enough(gunicorn, preload):
    running = gunicorn("--max-requests", "3", *preload)
    running.ask_until(6)
    running.end()


def test_a_worker_of_gunicorn_that_hangs_and_is_killed(gunicorn, tmp_path):
    text = (tmp_path / "jobs.py").read_text()
    (tmp_path / "jobs.py").write_text(text.replace("body = work()", "body = work()\n    os.path.exists('hang') and "
                                                   "(os.remove('hang'), signal.pause())", 1).replace(
        "import os\n", "import os, signal\n", 1))
    running = gunicorn("--timeout", "2")
    first = running.ask_until(2)
    (tmp_path / "hang").touch()
    while running.ask():
        pass
    running.answers += 1  # the request that was not answered
    running.ask_until(1, but=first)
    running.end()


# ---- uvicorn ----


@pytest.fixture
def uvicorn(server):
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    return lambda *words: server("-m", "uvicorn", "--workers", "2", "--lifespan", "off", "--uds", "s.sock", *words,
                                 "jobs:asgi")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_uvicorn_ends(uvicorn, number):
    running = uvicorn()
    running.ask_until(2)
    running.end(number)


def test_uvicorn_starts_its_workers_again(uvicorn):
    running = uvicorn()
    first = running.ask_until(2)
    running.program.process.send_signal(signal.SIGHUP)
    running.ask_until(2, but=first)
    running.end()


# ---- the reloaders of flask and django ----


def change_until_loaded_again(running, path, first):
    """Changes a file, as an editor does, until a reloader has seen it. The reloader does not see a change that comes
    before it has looked at the file for the first time."""
    later = itertools.count(int(time.time()))

    def is_loaded_again():
        os.utime(path, (next(later),) * 2)
        return running.ask() not in (None, *first)

    running.program.wait_until(is_loaded_again, 60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_flask(server, tmp_path, number):
    pytest.importorskip("flask", reason="flask is not installed")
    (tmp_path / "jobs.py").write_text(FLASK)
    running = server("-m", "flask", "--app", "jobs", "run", "--debug", "--port", "PORT")
    first = running.ask_until(1)
    change_until_loaded_again(running, tmp_path / "jobs.py", first)
    running.end(number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("first", ["", "import jobs"])
def test_django(server, tmp_path, number, first):
    """Its first process imports what is decorated, or does not."""
    pytest.importorskip("django", reason="django is not installed")
    (tmp_path / "manage.py").write_text(DJANGO.replace("FIRST", first))
    running = server("manage.py", "runserver", "PORT")
    before = running.ask_until(1)
    change_until_loaded_again(running, tmp_path / "manage.py", before)
    running.end(number)
