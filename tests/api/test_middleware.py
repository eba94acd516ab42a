# SPDX-License-Identifier: MIT
"""clineprof.middleware profiles the requests that have the key, each alone, and leaves all others as they are."""
import ast
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
from harness import BUILD, SANITIZED, TRACER, clean_environment, run_python

import clineprof
from clineprof import middleware

# What each tracer can do to bodies in contexts is tested in test_contexts.py.
pytestmark = pytest.mark.once

KEY = "kEy-5f3c"
ENVIRONMENT = {"PYTHONPATH": str(BUILD / "python"), "CLINEPROF_MIDDLEWARE_KEY": KEY}

# The program chooses the tracer of the process with its first Profiler. Each line with a mark is counted by the program
# itself, for the requests whose number is 1: those have the key.
HEAD = f"""
import asyncio, collections, contextvars, io, os, sys, threading, time, traceback, wsgiref.util, wsgiref.validate
import clineprof, clineprof.middleware
KEY = os.environ.pop("CLINEPROF_MIDDLEWARE_KEY")
os.environ["CLINEPROF_MIDDLEWARE_KEY"] = KEY
clineprof.Profiler(tracer={TRACER!r}, memory=False, started=False).close()
truth, everything = collections.Counter(), collections.Counter()

def mark(number):
    line = sys._getframe(1).f_lineno
    everything[line] += 1
    if number == 1:  # another's "+= 0" takes back what is added in its midst
        truth[line] += 1

def found():
    # what the stored profiles have of the lines with a mark
    import glob, linecache
    hits = collections.Counter()
    for path in glob.glob("clineprof-requests/*.lprof"):
        for function in clineprof.load(path).functions:
            for one in function.lines:
                line, one = one.line, one.hits
                if "mark(" in linecache.getline(function.file, line) and one:
                    hits[line] += one
    return hits

def check():
    here, there = +truth, found()
    print(here == there or (here, there), 0 < sum(here.values()) < sum(everything.values()))

def stored():
    return sorted(os.listdir("clineprof-requests")) if os.path.isdir("clineprof-requests") else []

def get(app, key=None, **more):
    environ = {{"QUERY_STRING": ""}}
    wsgiref.util.setup_testing_defaults(environ)
    environ.update(more)
    if key is not None:
        environ["HTTP_X_CLINEPROF_KEY"] = key
    told = []
    def start_response(*arguments):
        told.append(arguments)
        return lambda data: told.append(data)
    parts = app(environ, start_response)
    try:
        body = b"".join(parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()
    return told, body

async def ask(app, key=None, path="/", receive=None, **more):
    headers = [(b"host", b"x")] + ([(b"x-clineprof-key", key.encode())] if key is not None else [])
    messages = []
    async def send(message):
        messages.append(message)
    scope = {{"type": "http", "method": "GET", "path": path, "headers": headers, **more}}
    await app(scope, receive, send)
    return messages

def message_of(messages):
    return dict(messages[0]["headers"]).get(b"x-clineprof", b"").decode()
"""


def run_program(program, folder, name="it.py", **environment):
    (folder / name).write_text(HEAD + program)
    return run_python([name], folder, env={**ENVIRONMENT, **environment})


def complaints(ended):
    """Standard error without what says that Jinja2 or Pygments is missing."""
    return re.sub(r"^clineprof: the page .*: pip install .*\n", "", ended.err, flags=re.M)


def lines_of(program, folder, err=""):
    ended = run_program(program, folder)
    assert (ended.code, complaints(ended)) == (0, err)
    return ended.out.splitlines()


# ---- which lines count ----


def test_wsgi_in_a_thread_among_fifty_others(tmp_path):
    assert lines_of("""
def helper(number, n):
    mark(number)
    for _ in range(n):
        mark(number); time.sleep(0.001 * (number == 1))  # others run in its midst

def parts(number):
    mark(number)
    for n in range(5):
        mark(number)
        helper(number, n)
        yield b"x"
    mark(number)

def app(environ, start_response):
    number = int(environ["PATH_INFO"][1:]); mark(number)
    start_response("200 OK", [("Content-Type", "text/plain")])
    helper(number, 20)
    mark(number)
    return parts(number)

wrapped = clineprof.middleware.wsgi(app, format="lprof")
ready = threading.Barrier(51)
over = threading.Event()
count = collections.Counter()
def others(number):
    ready.wait()
    while not over.is_set():
        assert get(wrapped, PATH_INFO="/%d" % number)[1] == b"xxxxx"
        count[number] += 1
        time.sleep(0.005)  # or each turn of the first thread waits for all of them
threads = [threading.Thread(target=others, args=(number,)) for number in range(2, 52)]
for thread in threads:
    thread.start()
ready.wait()
while len(count) < 50:
    time.sleep(0.001)
before = sum(count.values())
for _ in range(3):
    told, body = get(wrapped, KEY, PATH_INFO="/1")
    assert body == b"xxxxx"
beside = sum(count.values()) - before
over.set()
for thread in threads:
    thread.join()
check()
print(len(stored()), told[0][1][-1][1] == stored()[-1], beside > 0)
""", tmp_path) == ["True True", "3 True True"]


def test_asgi_in_a_task_among_fifty_others(tmp_path):
    assert lines_of("""
async def child(number):
    mark(number)
    for _ in range(7):
        await asyncio.sleep(0); helper(number)
    mark(number)

def helper(number):
    mark(number)
    mark(number)

def in_a_plain_thread(number):
    mark(0 if sys.version_info < (3, 14) or not sys.flags.thread_inherit_context else number)

async def stream(number):
    for n in range(3):
        mark(number)
        await asyncio.sleep(0)
        yield n

async def app(scope, receive, send):
    number = int(scope["path"][1:]); mark(number)
    task = asyncio.create_task(child(number))
    await asyncio.sleep(0)
    mark(number)
    async for _ in stream(number):
        mark(number)
    await asyncio.to_thread(helper, number)
    contextvars.copy_context().run(helper, number)
    contextvars.Context().run(helper, 0)
    thread = threading.Thread(target=in_a_plain_thread, args=(number,))
    thread.start(); thread.join()
    await asyncio.gather(task, child(number))
    await send({"type": "http.response.start", "status": 200, "headers": []}); mark(number)
    await send({"type": "http.response.body", "body": b"x"})
    mark(number)

wrapped = clineprof.middleware.asgi(app, format="lprof")
async def others(number):
    for _ in range(10):
        await ask(wrapped, path="/%d" % number)
async def main():
    tasks = [asyncio.create_task(others(number)) for number in range(2, 52)]
    await asyncio.sleep(0)
    for _ in range(3):
        messages = await ask(wrapped, KEY, "/1")
        print(message_of(messages) == stored()[-1], len(messages))
    await asyncio.gather(*tasks)
asyncio.run(main())
check()
""", tmp_path) == ["True 2", "True 2", "True 2", "True True"]


def test_what_stands_around_the_middleware_is_no_part_of_the_request(tmp_path):
    """Those coroutines and functions began before, and go on in the same task or thread."""
    assert lines_of("""
async def app(scope, receive, send):
    mark(1)
    for _ in range(3):
        await asyncio.sleep(0); mark(1)
    await send({"type": "http.response.start", "status": 200, "headers": []})

async def around(scope, receive, send):
    mark(2)
    await wrapped(scope, receive, send)
    mark(2)

def wsgi_app(environ, start_response):
    start_response("200 OK", []); mark(1)
    return [b""]

def wsgi_around(environ, start_response):
    mark(2)
    parts = wsgi_wrapped(environ, start_response)
    mark(2)
    return parts

wrapped = clineprof.middleware.asgi(app, format="lprof")
wsgi_wrapped = clineprof.middleware.wsgi(wsgi_app, format="lprof")
asyncio.run(ask(around, KEY))
get(wsgi_around, KEY)
check()
print(len(stored()))
""", tmp_path) == ["True True", "2"]


def test_values_that_applications_set_in_the_context_reach_those_around(tmp_path):
    assert lines_of("""
user = contextvars.ContextVar("user", default="nobody")
async def app(scope, receive, send):
    await asyncio.sleep(0)
    user.set("me")
async def around(key):
    await ask(clineprof.middleware.asgi(app), key)
    print(user.get(), len(contextvars.copy_context()))
for key in None, KEY:
    asyncio.run(around(key))
""", tmp_path) == ["me 1", "me 1"]


def test_a_task_that_outlives_its_request_is_not_counted_for_the_next(tmp_path):
    assert lines_of("""
async def left_behind():
    mark(1)
    mark(1); await first_is_over.wait()
    while not over.is_set():
        await asyncio.sleep(0); mark(2)

async def app(scope, receive, send):
    if scope["path"] == "/first":
        tasks.append(asyncio.create_task(left_behind()))
        await asyncio.sleep(0)
    else:
        for _ in range(5):
            await asyncio.sleep(0); mark(1)

async def main():
    global first_is_over, over
    first_is_over, over = asyncio.Event(), asyncio.Event()
    await ask(wrapped, KEY, "/first")
    first_is_over.set()
    await ask(wrapped, KEY, "/second")
    over.set()
    await tasks[0]

tasks = []
wrapped = clineprof.middleware.asgi(app, format="lprof")
asyncio.run(main())
check()
""", tmp_path) == ["True True"]


def test_targets_and_exclude(tmp_path):
    (tmp_path / "shop.py").write_text("def price(n):\n    return n\ndef tax(n):\n    return n\n")
    assert lines_of("""
import shop
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"%d" % shop.price(shop.tax(3))]
for words in ({}, {"targets": ["shop"]}, {"targets": ["shop.price"]}, {"exclude": ["*/shop.py"]},
              {"targets": ["nosuch"]}):
    get(clineprof.middleware.wsgi(app, format="lprof", **words), KEY)
    names = {one.name for one in clineprof.load("clineprof-requests/" + stored()[-1]).functions if any(one["hits"])}
    print(sorted(names - {"get", "get.<locals>.start_response"}))
    os.remove("clineprof-requests/" + stored()[-1])
""", tmp_path, "clineprof: nothing that is loaded is called 'nosuch'\n") == [
        "['app', 'price', 'tax']", "['price', 'tax']", "['price']", "['app']", "[]"]  # fmt: skip


def test_functions_that_others_have_made(tmp_path):
    """Only a dict of the program has them."""
    assert lines_of("""
def create(n):
    def made():
        mark(1)
        def made_within():
            mark(1)
            return n
        return made_within
    return made
def maker(n):
    def of_maker():
        mark(1)
        def of_of_maker():
            mark(1)
            return n
        return of_of_maker
    return of_maker
views = {**{n: create(n) for n in range(3)}, "late": maker(4)}
kept = create(5)()
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"%d" % (sum(view()() for view in views.values()) + kept())]
wrapped = clineprof.middleware.wsgi(app, format="lprof")
truth.clear()
for _ in range(2):
    print(get(wrapped, KEY)[1])
mark(2)
check()
""", tmp_path) == ["b'12'", "b'12'", "True True"]


# ---- requests that are not profiled ----


def test_without_the_variable_the_application_itself_comes_back(monkeypatch):
    def app(environ, start_response):
        pass

    for value in None, "":
        monkeypatch.delenv("CLINEPROF_MIDDLEWARE_KEY", raising=False)
        if value is not None:
            monkeypatch.setenv("CLINEPROF_MIDDLEWARE_KEY", value)
        assert middleware.wsgi(app, format="nosuch") is app
        assert middleware.asgi(app, format="nosuch") is app


def test_a_missing_or_wrong_key_changes_nothing(tmp_path):
    """What the application receives is the very same, and so are the objects that it returns."""
    assert lines_of("""
answer = [b"body"]
def app(environ, start_response):
    received.append((environ, start_response, environ.get("HTTP_X_CLINEPROF_KEY")))
    return answer
wrapped = clineprof.middleware.wsgi(app)
received = []
for key in None, "", "wrong", KEY[:-1], KEY + "x", KEY.lower(), KEY + "," + KEY, "\\xe9", "\\u20ac":
    environ, start = {"QUERY_STRING": "X-Clineprof-Key=" + KEY}, object()
    if key is not None:
        environ["HTTP_X_CLINEPROF_KEY"] = key
    assert wrapped(environ, start) is answer
    assert received[-1][0] is environ and received[-1][1] is start and received[-1][2] == key

async def asgi_app(scope, receive, send):
    received.append((scope, receive, send, list(scope["headers"])))
    return answer
wrapped = clineprof.middleware.asgi(asgi_app)
for headers in [], [(b"x-clineprof-key", b"wrong")], [(b"x-clineprof-keys", KEY.encode())], [(b"x-clineprof-key", b"")]:
    scope = {"type": "http", "headers": headers, "query_string": b"x-clineprof-key=" + KEY.encode()}
    assert asyncio.run(wrapped(scope, 1, 2)) is answer
    assert received[-1] == (scope, 1, 2, headers) and received[-1][0] is scope and scope["headers"] is headers
for kind in "websocket", "lifespan":
    scope = {"type": kind, "headers": [(b"x-clineprof-key", KEY.encode())]}
    asyncio.run(wrapped(scope, 1, 2))
    assert received[-1][0] is scope and scope["headers"] == [(b"x-clineprof-key", KEY.encode())]
print(stored(), inspect.iscoroutinefunction(type(wrapped).__call__))
""".replace("answer = ", "import inspect\nanswer = ", 1), tmp_path) == ["[] True"]


def test_the_key_is_compared_in_constant_time():
    source = (pathlib.Path(middleware.__file__).parent / "_middleware" / "__init__.py").read_text()
    compared = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)
                and ast.unparse(node.func) == "hmac.compare_digest"]
    assert [ast.unparse(node) for node in compared] == ["hmac.compare_digest(given, self._key)"]


def test_one_request_at_a_time(tmp_path):
    assert lines_of("""
async def app(scope, receive, send):
    mark(1 if scope["path"] == "/first" else 2)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await gate.wait()
    await send({"type": "http.response.body", "body": scope["path"].encode()})
async def main():
    global gate
    gate = asyncio.Event()
    first = asyncio.create_task(ask(wrapped, KEY, "/first"))
    await asyncio.sleep(0)
    second = asyncio.create_task(ask(wrapped, KEY, "/second"))
    await asyncio.sleep(0)
    told, body = get(other, KEY)
    print(told)
    gate.set()
    for messages in await asyncio.gather(first, second):
        print(messages[0]["headers"][:-1], message_of(messages) in stored() or message_of(messages),
              messages[1]["body"])
    print(message_of(await ask(wrapped, KEY, "/first")) in stored())
def wsgi_app(environ, start_response):
    start_response("200 OK", [("C", "d")])
    assert "HTTP_X_CLINEPROF_KEY" not in environ
    return [b""]
other = clineprof.middleware.wsgi(wsgi_app)
wrapped = clineprof.middleware.asgi(app, format="lprof")
asyncio.run(main())
check()
""", tmp_path) == [
        "[('200 OK', [('C', 'd'), ('X-Clineprof', 'not profiled: another request is being profiled')])]",
        "[(b'a', b'b')] True b'/first'",
        "[(b'a', b'b')] not profiled: another request is being profiled b'/second'",
        "True", "True True"]  # fmt: skip


def test_between_requests_functions_run_their_own_code(tmp_path):
    assert lines_of("""
def create():
    def work():
        return sys._getframe().f_code is own
    return work
work = create()
views = {"work": create()}                 # as an application's views may be: no module has a name for it
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"%d%d%d" % (work(), views["work"](), create()())]
own, maker = work.__code__, create.__code__
wrapped = clineprof.middleware.wsgi(app)
print(get(wrapped)[1], len(get(wrapped, KEY)[1]), get(wrapped)[1], work.__code__ is own,
      create.__code__ is maker, create().__code__ is own)
if sys.version_info >= (3, 12):
    tools = filter(sys.monitoring.get_tool, range(6))
    print([sys.monitoring.get_local_events(tool, own) for tool in tools] in ([], [0]))
else:
    print(sys.gettrace() is None)
""", tmp_path) == ["b'111' 3 b'111' True True True", "True"]


def test_a_request_without_the_key_takes_few_instructions(tmp_path):
    """A hundred instructions of bytecode take less than a microsecond."""
    assert lines_of("""
import clineprof._middleware.wsgi, clineprof._middleware.asgi
def app(environ, start_response):
    return ()
async def asgi_app(scope, receive, send):
    pass
def count(call):
    counts = collections.Counter()
    def trace(frame, event, argument):
        if frame.f_code.co_filename.startswith(os.path.dirname(clineprof.__file__)):
            frame.f_trace_opcodes = True
            counts[event] += 1
            return trace
    sys.settrace(trace)
    call()
    sys.settrace(None)
    return counts["call"], counts["opcode"]
def drive(wrapped, headers):
    try:
        wrapped({"type": "http", "headers": headers}, None, None).send(None)
    except StopIteration:
        pass
wrapped, asgi_wrapped = clineprof.middleware.wsgi(app), clineprof.middleware.asgi(asgi_app)
calls, opcodes = count(lambda: wrapped({}, None))
print(calls, opcodes < 30 or opcodes)
calls, opcodes = count(lambda: drive(asgi_wrapped, [(b"a", b"b")] * 8))
print(calls, opcodes < 130 or opcodes)
""", tmp_path) == ["1 True", "1 True"]


# ---- WSGI ----


def test_wsgi_keeps_to_the_protocol(tmp_path):
    assert lines_of("""
def returns_list(environ, start_response):
    write = start_response("200 OK", [("Content-Type", "text/plain")])
    write(b"written ")
    return [b"list"]
def yields(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    yield b"gener"
    yield b"ator"
class Iterable:
    def __init__(self, environ, start_response):
        self.start = start_response
    def __iter__(self):
        self.start("200 OK", [("Content-Type", "text/plain")])
        yield b"class"
    def close(self):
        print("closed")
def fails_late(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    try:
        raise ValueError
    except ValueError:
        start_response("500 Oh", [("Content-Type", "text/plain")], sys.exc_info())
    return [b"late"]
for app in returns_list, yields, Iterable, fails_late:
    for key in None, KEY:
        wrapped = clineprof.middleware.wsgi(wsgiref.validate.validator(app), format="lprof")
        told, body = get(wsgiref.validate.validator(wrapped), key)
        print(body, [one if type(one) is bytes else (one[0], len(one)) for one in told], len(told[0][1]))
print(len(stored()))
sized = clineprof.middleware.wsgi(returns_list)({"HTTP_X_CLINEPROF_KEY": KEY}, lambda *_: lambda data: None)
print(len(sized), list(sized), list(sized))
""", tmp_path) == [
        "b'list' [('200 OK', 2), b'written '] 1", "b'list' [('200 OK', 2), b'written '] 2",
        "b'generator' [('200 OK', 2)] 1", "b'generator' [('200 OK', 2)] 2",
        "closed", "b'class' [('200 OK', 2)] 1", "closed", "b'class' [('200 OK', 2)] 2",
        "b'late' [('200 OK', 2), ('500 Oh', 3)] 1", "b'late' [('200 OK', 2), ('500 Oh', 3)] 2",
        "4", "1 [b'list'] [b'list']"]  # fmt: skip


def test_wsgi_exceptions_pass_and_the_profile_is_stored(tmp_path):
    assert lines_of("""
class Odd(Exception):
    pass
def at_once(environ, start_response):
    mark(1)
    raise error
def while_iterated(environ, start_response):
    start_response("200 OK", [])
    yield b"x"
    mark(1)
    raise error
class Closing:
    def __iter__(self):
        return iter([b"x"])
    def close(self):
        mark(1)
        raise error
def when_closed(environ, start_response):
    start_response("200 OK", [])
    return Closing()
for app in at_once, while_iterated, when_closed:
    for error in Odd("oh"), SystemExit(3), KeyboardInterrupt():
        try:
            get(clineprof.middleware.wsgi(app, format="lprof"), KEY)
        except BaseException as raised:
            print(raised is error, [one.name for one in traceback.extract_tb(raised.__traceback__)][-1])
mark(2)
check()
print(len(stored()))
""", tmp_path) == [*["True at_once"] * 3, *["True while_iterated"] * 3, *["True close"] * 3, "True True", "9"]


def test_wsgi_parts_that_are_never_closed(tmp_path):
    """A client goes away, and the server drops the parts, or keeps them until the process ends."""
    assert lines_of("""
def app(environ, start_response):
    mark(1)
    start_response("200 OK", [])
    for _ in range(5):
        mark(1)
        yield b"x"
wrapped = clineprof.middleware.wsgi(app, format="lprof")
def environ():
    return {"HTTP_X_CLINEPROF_KEY": KEY}
parts = iter(wrapped(environ(), lambda *_: None))
next(parts)
del parts
check()
never_begun = wrapped(environ(), lambda *_: None)
del never_begun
print(len(stored()))
kept = iter(wrapped(environ(), lambda *_: None))
next(kept)
import atexit
atexit.register(lambda: None)
print(len(get(wrapped, KEY)[1]))
mark(2)
""", tmp_path) == ["True False", "2", "5"]
    files = sorted((tmp_path / "clineprof-requests").iterdir())
    assert len(files) == 3
    assert [max(map(max, (one["hits"] for one in clineprof.load(path).functions if one.name == "app")))
            for path in (files[0], files[2])] == [1, 1]  # fmt: skip


# ---- ASGI ----


def test_asgi_exceptions_and_cancelled_tasks(tmp_path):
    assert lines_of("""
async def app(scope, receive, send):
    mark(1)
    try:
        await asyncio.sleep(0)
        if scope["path"] == "/fails":
            raise error
        await asyncio.sleep(1000)
    finally:
        mark(1)
        await asyncio.sleep(0)
        mark(1)
async def main():
    global error
    for error in ValueError("oh"), SystemExit(3):
        try:
            await ask(wrapped, KEY, "/fails")
        except BaseException as raised:
            print(raised is error)
    task = asyncio.ensure_future(ask(wrapped, KEY))
    await asyncio.sleep(0.01)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", len(stored()))
    try:
        await asyncio.wait_for(ask(wrapped, KEY), 0.01)
    except asyncio.TimeoutError:
        print("late", len(stored()))
    coroutine = ask(wrapped, KEY)
    coroutine.send(None)
    try:
        coroutine.close()
    except RuntimeError as raised:
        print(raised)
    print("closed", len(stored()))
    never = ask(wrapped, KEY)
    never.close()
wrapped = clineprof.middleware.asgi(app, format="lprof")
asyncio.run(main())
mark(2)
hits = sum(found().values())
print(hits, sum(truth.values()))
""", tmp_path) == [
        "True", "True", "cancelled 3", "late 4", "coroutine ignored GeneratorExit", "closed 5", "14 14"]  # fmt: skip


def test_asgi_passes_values_and_exceptions_as_await_does(tmp_path):
    """Each await gets what the loop sends or throws, and what the application returns comes back."""
    assert lines_of("""
import types
@types.coroutine
def ask_loop(what):
    return (yield what)
async def app(scope, receive, send):
    got = [await ask_loop(1)]
    try:
        await ask_loop(2)
    except ValueError as error:
        got.append(error)
    got.append(await ask_loop(3))
    return got
for key in b"wrong", KEY.encode():
    coroutine = clineprof.middleware.asgi(app)({"type": "http", "headers": [(b"x-clineprof-key", key)]}, None, None)
    steps = [coroutine.send(None), coroutine.send("a"), coroutine.throw(ValueError("b"))]
    try:
        coroutine.send(None)
    except StopIteration as ended:
        print(steps, ended.value)
def plain(scope, receive, send):
    return asyncio.ensure_future(asyncio.sleep(0.001, "future"))
async def main():
    scope = {"type": "http", "headers": [(b"x-clineprof-key", KEY.encode())]}
    print(await clineprof.middleware.asgi(plain)(scope, 1, 2))
asyncio.run(main())
""", tmp_path) == ["[1, 2, 3] ['a', ValueError('b'), None]"] * 2 + ["future"]


# ---- the page, and files ----


def test_the_page_in_the_place_of_the_answer(tmp_path):
    assert lines_of("""
def worker(n):
    mark(1)
def app(environ, start_response):
    write = start_response("404 Not Found", [("Content-Type", "text/plain"), ("Set-Cookie", "a=b")])
    write(b"dropped")
    worker(1)
    yield b"dropped"
async def asgi_app(scope, receive, send):
    await send({"type": "http.response.start", "status": 404, "headers": []})
    worker(1)
    await send({"type": "http.response.body", "body": b"dropped"})
for method in "GET", "HEAD":
    told, body = get(wsgiref.validate.validator(clineprof.middleware.wsgi(app, page=True)), KEY, REQUEST_METHOD=method)
    (status, headers), = told
    messages = asyncio.run(ask(clineprof.middleware.asgi(asgi_app, page=True), KEY, method=method))
    size = int(dict(headers)["Content-Length"])
    asgi_size = int(dict(messages[0]["headers"])[b"content-length"])
    print(method, status, sorted(dict(headers)), dict(headers)["Content-Type"], size > 10000,
          len(body) == (size if method == "GET" else 0))
    print(messages[0]["status"], [name for name, _ in messages[0]["headers"]], messages[1]["type"],
          len(messages[1]["body"]) == (asgi_size if method == "GET" else 0), len(messages))
    if method == "GET":
        print(body[:15], b"worker" in body, messages[1]["body"][:15], b"worker" in messages[1]["body"])
print(stored())
def fails(environ, start_response):
    raise ValueError("oh")
try:
    get(clineprof.middleware.wsgi(fails, page=True), KEY)
except ValueError as error:
    print(error)
print(len(get(clineprof.middleware.wsgi(app, page=True), KEY)[1]) > 10000)
""", tmp_path) == [
        "GET 200 OK ['Cache-Control', 'Content-Length', 'Content-Type'] text/html; charset=utf-8 True True",
        "200 [b'content-type', b'content-length', b'cache-control'] http.response.body True 2",
        "b'<!DOCTYPE html>' True b'<!DOCTYPE html>' True",
        "HEAD 200 OK ['Cache-Control', 'Content-Length', 'Content-Type'] text/html; charset=utf-8 True True",
        "200 [b'content-type', b'content-length', b'cache-control'] http.response.body True 2",
        "[]", "oh", "True"]  # fmt: skip


def test_files_have_names_formats_and_rights(tmp_path):
    assert lines_of("""
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"x"]
os.umask(0)
for format in "html", "lprof", "speedscope":
    told, _ = get(clineprof.middleware.wsgi(app, "a/b", format=format), KEY, PATH_INFO="/caf\\xc3\\xa9",
                  SCRIPT_NAME="/shop")
    print(told[0][1][-1])
print(clineprof.load("a/b/" + sorted(os.listdir("a/b"))[1]).meta["command"])
try:
    clineprof.middleware.wsgi(app, format="github")
except ValueError as error:
    print(error)
os.mkdir("elsewhere")
relative = clineprof.middleware.wsgi(app, "c")
os.chdir("elsewhere")
get(relative, KEY)
print(os.listdir("../c"), os.listdir("."))
""", tmp_path)[3:5] == [
        "GET /shop/café", "format is one of callgrind, collapsed, cpuprofile, csv, firefox, flamegraph, heapprofile, "
        "html, json, lprof, md, pclprof, pprof, pstats, speedscope, trace, not 'github'"]  # fmt: skip
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    assert [re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}-\d+-\d-[0-9a-f]{8}(\..+)", name)[1] for name in names] == [
        ".html", ".lprof", ".speedscope.json"]  # fmt: skip
    mode = stat.S_IMODE((tmp_path / "it.py").stat().st_mode) & 0o666
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a" / "b").iterdir()} == {mode}
    assert len(list((tmp_path / "c").iterdir())) == 1 and not list((tmp_path / "elsewhere").iterdir())


def test_a_file_that_cannot_be_written_is_one_message_and_the_answer_goes_on(tmp_path):
    (tmp_path / "file").write_text("x")
    ended = run_program("""
def app(environ, start_response):
    start_response("200 OK", [("A", "b")])
    if environ["PATH_INFO"] == "/taken":
        open("taken", "w").close()
    return [b"x"]
print(get(clineprof.middleware.wsgi(app, "file/folder"), KEY)[1])
print(get(clineprof.middleware.wsgi(app, "taken", format="lprof"), KEY, PATH_INFO="/taken")[1])
sys.stderr.close()
print(get(clineprof.middleware.wsgi(app, "file/folder"), KEY)[1])
sys.stderr = None
print(get(clineprof.middleware.wsgi(app, "file/folder"), KEY)[1])
print(get(clineprof.middleware.wsgi(app), KEY)[0][0][1][-1][1] in stored())
""", tmp_path)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "b'x'", "b'x'", "b'x'", "b'x'", "True"]  # fmt: skip
    told = complaints(ended).splitlines()
    lost = f"clineprof: the profile of a request is lost: cannot write '{tmp_path}/"
    assert told == [lost + "file/folder': Not a directory", lost + "taken': File exists"]


def test_the_key_appears_nowhere(tmp_path):
    """Neither of the request's address, nor of the program's source and its file's name, nor of names in messages."""
    program = f"""
def app(environ, start_response):
    start_response("200 OK", [])
    print("HTTP_X_CLINEPROF_KEY" in environ)
    if environ["PATH_INFO"] == "/source":
        holds()
    return [b"x"]
def holds():
    return "{KEY}"
for format in "html", "lprof", "json":
    wrapped = clineprof.middleware.wsgi(app, format=format, targets=["it.app"])
    get(wrapped, KEY, PATH_INFO="/" + KEY)
get(clineprof.middleware.wsgi(app, targets=["it.app", "it.holds"]), KEY, PATH_INFO="/source")
get(clineprof.middleware.wsgi(app, targets=[KEY]), KEY)
print(clineprof.middleware.wsgi(app).__dict__.keys())
"""
    ended = run_program(program, tmp_path)
    assert ended.out.splitlines()[:5] == ["False"] * 5
    assert complaints(ended) == ("clineprof: the profile of a request is lost: the source of holds holds the key\n"
                                 "clineprof: nothing that is loaded is called '...'\n")
    paths = list((tmp_path / "clineprof-requests").iterdir())
    assert len(paths) == 4
    for path in paths:
        assert KEY.encode() not in path.read_bytes()
        if path.suffix == ".lprof":
            assert KEY not in repr(clineprof.load(path).to_dict() if hasattr(clineprof.Profile, "to_dict") else
                                   vars(clineprof.load(path)))


# ---- several at once, and other profilers ----


def test_nested_middleware_two_applications_and_a_request_within_a_request(tmp_path):
    assert lines_of("""
def inner(environ, start_response):
    mark(1)
    start_response("200 OK", [])
    return [b"inner"]
def outer(environ, start_response):
    mark(1)
    body = get(wrapped_inner, KEY)      # the same thread, so a part of this request
    mark(1)
    start_response("200 OK", [])
    return [body[1], str(body[0][0][1]).encode()]
wrapped_inner = clineprof.middleware.wsgi(inner, format="lprof")
wrapped_outer = clineprof.middleware.wsgi(outer, format="lprof")
print(get(wrapped_outer, KEY)[1])
twice = clineprof.middleware.wsgi(wrapped_inner, format="lprof")
told, body = get(twice, KEY)
print(len(told[0][1]), body)
mark(2)
check()
print(len(stored()))
""", tmp_path) == [
        "b\"inner[('X-Clineprof', 'not profiled: another request is being profiled')]\"",
        "1 b'inner'", "True True", "2"]  # fmt: skip


def test_beside_another_profiler(tmp_path):
    assert lines_of("""
def app(environ, start_response):
    mark(1)
    if environ["PATH_INFO"] == "/begins":
        other.start()
        later()
    start_response("200 OK", [])
    return [b"x"]
def later():
    mark(2)
other = clineprof.Profiler(memory=False, started=False)
other(app)
wrapped = clineprof.middleware.wsgi(app, format="lprof")
other.start()
print(get(wrapped, KEY)[0][0][1], stored())
other.stop()
other.reset()
truth.clear()
print(len(get(wrapped, KEY, PATH_INFO="/begins")[1]), len(stored()))
other.stop()
check()
""", tmp_path, "clineprof: the request is not profiled: another profiler counts in this process\n"
                "clineprof: another profiler has begun to count during a request, whose profile ends there\n") == [
        "[('X-Clineprof', 'not profiled: standard error says why')] []", "1 1", "True True"]  # fmt: skip


def test_a_request_that_forks(tmp_path):
    """The child counts for nobody, and writes nothing, however it goes on."""
    assert lines_of("""
def work():
    mark(1)
def app(environ, start_response):
    mark(1)
    start_response("200 OK", [])
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        everything.clear(); truth.clear()
        work()
        if environ["PATH_INFO"] == "/returns":
            return [b"child"]
        os._exit(0)
    os.waitpid(child, 0)
    work()
    return [b"parent"]
wrapped = clineprof.middleware.wsgi(app, format="lprof")
print(get(wrapped, KEY)[1])
body = get(wrapped, KEY, PATH_INFO="/returns")[1]
if body == b"child":
    print(body, get(wrapped, KEY, PATH_INFO="/again")[0][0][1][-1][1].split("-")[3] == str(os.getpid()), flush=True)
    os._exit(0)
print(body)
print(sorted(found().values()), len(stored()), any("live" in name for name in os.listdir(".")))
""", tmp_path) == ["b'parent'", "b'child' True", "b'parent'", "[3, 3] 3 False"]


# ---- real servers and frameworks ----


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def fetch(port, path, key=None, method="GET", cut=None):
    """(head, body) of an answer; the connection is closed after `cut` bytes of it."""
    lines = [f"{method} {path} HTTP/1.0", "Host: x"] + [f"X-Clineprof-Key: {key}"] * (key is not None)
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while (cut is None or len(answer) < cut) and (block := connection.recv(65536)):
            answer += block
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode(), body


class Server:
    def __init__(self, words, folder, port):
        self.port, self.log = port, open(folder / "log", "w+")
        environment = clean_environment({**ENVIRONMENT, "HOME": str(folder)})
        self.process = subprocess.Popen([sys.executable, *words], cwd=folder, env=environment, stdout=self.log,
                                        stderr=self.log, start_new_session=True)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                assert self.process.poll() is None, self.text()
                time.sleep(0.05)

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(300)
        self.log.close()


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(module, *words):
        pytest.importorskip(words[0], reason=f"{words[0]} is not installed")
        (tmp_path / "site.py").unlink(missing_ok=True)
        (tmp_path / "application.py").write_text(module)
        port = free_port()
        words = ["-m", *(str(word).replace("PORT", str(port)) for word in words)]
        servers.append(Server(words, tmp_path, port))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


def hits_of(folder, function):
    """The hits of the function's lines in each stored profile."""
    return [[int(n) for n in one["hits"]] for path in sorted((folder / "clineprof-requests").glob("*.lprof"))
            for one in clineprof.load(path).functions if one.name == function]  # fmt: skip


def wait_for_files(folder, count):
    for _ in range(200):
        paths = sorted((folder / "clineprof-requests").glob("*"))
        if len(paths) == count and all(path.stat().st_size for path in paths):
            return paths
        time.sleep(0.05)
    raise AssertionError(paths)


WORK = """
import clineprof.middleware

def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""

WSGI = WORK + """
def application(environ, start_response):
    n = int(environ["PATH_INFO"][1:])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return (b"%d\\n" % work(n) for _ in range(3))

plain = application
application = clineprof.middleware.wsgi(application, format="lprof")
"""


@pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")
@pytest.mark.parametrize("words", [["--workers", "2"], ["--workers", "2", "--threads", "4"],
                                   ["--workers", "1", "-k", "gevent"]], ids=" ".join)  # fmt: skip
def test_gunicorn(serve, tmp_path, words):
    if "gevent" in words:
        pytest.importorskip("gevent", reason="gevent is not installed")
    help_text = run_python(["-m", "gunicorn", "--help"], tmp_path).out
    more = ["--no-control-socket"] if "--no-control-socket" in help_text else []
    server = serve(WSGI, "gunicorn", "--preload", *words, *more, "-b", "127.0.0.1:PORT", "application:application")
    plain, _ = fetch(server.port, "/5")
    for n in range(6):
        load = [subprocess.Popen([sys.executable, "-c", f"""
import urllib.request
for _ in range(20):
    urllib.request.urlopen("http://127.0.0.1:{server.port}/7").read()"""]) for _ in range(2)] if n == 0 else []
        head, body = fetch(server.port, "/5", KEY)
        assert body == b"10\n" * 3
        assert [process.wait() for process in load] == [0] * len(load)
        named = re.search(r"\r\nX-Clineprof: (.+)", head)[1]
        assert (tmp_path / "clineprof-requests" / named.strip()).exists()
    wait_for_files(tmp_path, 6)
    assert hits_of(tmp_path, "work") == [[3, 18, 15, 3]] * 6
    assert "X-Clineprof" not in plain
    wrong, _ = fetch(server.port, "/5", "wrong")
    assert re.sub(r"Date: .*", "", wrong) == re.sub(r"Date: .*", "", plain)
    assert "Traceback" not in server.text()


ASGI = WORK + """
import asyncio

async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    task = asyncio.create_task(later(5))
    for _ in range(3):
        await asyncio.sleep(0.01)
        await send({"type": "http.response.body", "body": b"%d\\n" % work(5), "more_body": True})
    await task
    if scope["path"] == "/endless":
        while (await receive())["type"] != "http.disconnect":
            pass
    await send({"type": "http.response.body", "body": b""})

async def later(n):
    await asyncio.sleep(0.001)
    return work(n)

application = clineprof.middleware.asgi(application, format="lprof")
"""


@pytest.mark.skipif(SANITIZED, reason="times out under AddressSanitizer")
def test_uvicorn_and_clients_that_go_away(serve, tmp_path):
    server = serve(ASGI, "uvicorn", "--port", "PORT", "--lifespan", "off", "application:application")
    load = [subprocess.Popen([sys.executable, "-c", f"""
import urllib.request
for _ in range(20):
    urllib.request.urlopen("http://127.0.0.1:{server.port}/").read()"""]) for _ in range(2)]
    for _ in range(3):
        head, body = fetch(server.port, "/", KEY)
        assert body == b"10\n" * 3 and "x-clineprof: " in head.lower()
        wait_for_files(tmp_path, _ + 1)
    assert [process.wait() for process in load] == [0, 0]
    fetch(server.port, "/endless", KEY, cut=1)
    wait_for_files(tmp_path, 4)
    head, body = fetch(server.port, "/", KEY, "HEAD")
    assert body == b""
    wait_for_files(tmp_path, 5)
    assert hits_of(tmp_path, "work") == [[4, 24, 20, 4]] * 5
    assert "Traceback" not in server.text()


def test_flask(tmp_path):
    pytest.importorskip("flask", reason="flask is not installed")
    assert lines_of("""
import flask
def work(n):
    mark(1)
    return n
def create():
    app = flask.Flask("it")
    @app.route("/<int:n>")
    def show(n):
        mark(1)
        @flask.stream_with_context
        def parts():
            for i in range(n):
                mark(1)
                yield "%d " % work(i)
        return flask.Response(parts())
    @app.errorhandler(404)
    def lost(error):
        mark(1)
        return "lost", 404
    return app
app = create()
app.wsgi_app = clineprof.middleware.wsgi(app.wsgi_app, format="lprof")
client = app.test_client()
headers = {"X-Clineprof-Key": KEY}
with client.get("/4", headers=headers) as answer:
    text = answer.text
print(text, answer.headers["X-Clineprof"] in stored())
with client.get("/nowhere", headers=headers) as lost, client.head("/2") as head:
    print(lost.status_code, head.status_code)
hits = found()
print(sorted(hits.values()), len(stored()))
client.get("/4")
print(found() == hits)
""", tmp_path) == ["0 1 2 3  True", "404 200", "[1, 1, 4, 4] 2", "True"]


@pytest.mark.parametrize("name", ["starlette", "fastapi"])
def test_starlette_and_fastapi(name, tmp_path):
    pytest.importorskip(name, reason=f"{name} is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed, which the test client needs")
    make = {"starlette": """
import starlette.applications, starlette.routing
from starlette.responses import PlainTextResponse, StreamingResponse
async def show(request):
    mark(1)
    return StreamingResponse(parts(int(request.path_params["n"])))
def blocking(request):
    mark(1)
    return PlainTextResponse(str(work(1)))
app = starlette.applications.Starlette(routes=[starlette.routing.Route("/show/{n:int}", show),
                                               starlette.routing.Route("/blocking", blocking)])
""", "fastapi": """
import fastapi
from fastapi.responses import PlainTextResponse, StreamingResponse
app = fastapi.FastAPI()
@app.get("/show/{n}")
async def show(n: int):
    mark(1)
    return StreamingResponse(parts(n))
@app.get("/blocking")
def blocking():
    mark(1)
    return PlainTextResponse(str(work(1)))
"""}[name]
    assert lines_of(f"""
def work(n):
    mark(1)
    return n
async def parts(n):
    for i in range(n):
        mark(1)
        await asyncio.sleep(0)
        yield "%d " % work(i)
{make}
import warnings
warnings.simplefilter("ignore")
from starlette.testclient import TestClient
app.add_middleware(clineprof.middleware.asgi, format="lprof")
headers = {{"X-Clineprof-Key": KEY}}
with TestClient(app) as client:
    answer = client.get("/show/4", headers=headers)
    print(answer.text, answer.headers["X-Clineprof"] in stored())
    print(client.get("/blocking", headers=headers).text, len(stored()))
    hits = found()
    print(hits == truth or (hits, truth), len(hits))
    client.get("/blocking")
    print(found() == hits)
""", tmp_path) == ["0 1 2 3  True", "1 2", "True 4", "True"]
