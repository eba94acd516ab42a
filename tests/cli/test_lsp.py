# SPDX-License-Identifier: MIT
"""clineprof lsp: the language server, with a client that says what editors say."""
import copy
import os
import pathlib
import re
import signal
import sys
import time

import known_profiles
import msgpack
import pytest
from harness import BUILD, Profile, run, run_ckernprof, run_python, viewer_command
from known_profiles import KEY, MIB, WORK, function, text, write, write_known
from language_client import Client, uri_of

pytestmark = pytest.mark.once
HINTS = {2: "2.00 ms · 66.7 %", 3: "1.00 ms · 33.3 %", 6: "300 µs · 8.6 %", 7: "3.20 ms · 91.4 %",
         9: "500 µs · 100.0 %"}
MS = 1000000


pytest.importorskip("pygls", reason="pygls is not installed")


@pytest.fixture
def work(tmp_path):
    """A workspace with app/work.py and its profile; the path of the file."""
    return make_work(tmp_path / "it")


def make_work(folder):
    (folder / "app").mkdir(parents=True)
    (folder / "app/work.py").write_text(WORK)
    write_known(folder / "work.lprof")
    os.utime(folder / "work.lprof", (1700000000, 1700000000))
    return folder / "app/work.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Client(tmp_path_factory.mktemp("server")) as client:
        client.start()
        yield client
        assert client.end() == (0, "")


@pytest.fixture
def client(server):
    """A client whose server answers many tests, which it must survive."""
    server.move()
    yield server
    server.move()


def opened(client, path, text=None, folder=None):
    """Opens a file and its folder."""
    folder = folder or path.parent.parent
    client.start(folder) if client.folders is None else client.move(folder)
    return client.open(path, text)


def profile_of(path, name, lines, source, first=1, **more):
    """A function and its text. lines: {line: (hits, ms)}"""
    rows = [{"line": line, "hits": hits, "time": int(ms * MS), "self": int(ms * MS)}
            for line, (hits, ms) in lines.items()]
    made = function(str(path), first, name, rows, **more)
    return made, text(made, source)


def write_one(folder, source, lines, name="f", file="it.py", first=1, **more):
    """A file with this text, and a profile in which all of it is one function. The path of the file."""
    made, its_text = profile_of(file, name, lines, source, first, **more)
    write(folder / "it.lprof", [made], [its_text])
    (folder / file).write_text(source)
    return folder / file


# ---- the command line ----


@pytest.mark.parametrize(("words", "code", "said"), [
    (["--nope"], 2, "unrecognized arguments: --nope; see clineprof lsp --help"),
    (["file.lprof"], 2, "unrecognized arguments: file.lprof; see clineprof lsp --help"),
    (["--limit"], 2, "argument --limit: expected one argument; see clineprof lsp --help"),
    (["--limit", "time"], 2, "argument --limit: time needs a number of seconds, not ''; see clineprof lsp --help"),
    (["--limit", "hits=-1"], 2,
     "argument --limit: hits needs a number of executions or blocks, not '-1'; see clineprof lsp --help"),
    (["--limit", "time=inf"], 2,
     "argument --limit: time needs a number of seconds, not 'inf'; see clineprof lsp --help"),
    (["--lim", "time=1"], 2, "unrecognized arguments: --lim time=1; see clineprof lsp --help"),
])  # fmt: skip
def test_a_wrong_command_line_is_refused_in_one_line(words, code, said, tmp_path):
    ended = run([*viewer_command(), "lsp", *words], tmp_path, env={"VIRTUAL_ENV": sys.prefix})
    assert (ended.code, ended.out, ended.err) == (code, "", f"clineprof lsp: {said}\n")


def test_an_unknown_limit_names_those_that_there_are(tmp_path):
    ended = run([*viewer_command(), "lsp", "--limit", "tim=1"], tmp_path)
    assert ended.code == 2 and "there is no limit 'tim'; there are hits, time, " in ended.err
    assert ended.err.count("\n") == 1


def test_help_and_version(tmp_path):
    ended = run([*viewer_command(), "lsp", "--help"], tmp_path)
    assert (ended.code, ended.err) == (0, "") and ended.out.startswith("usage: clineprof lsp [options]\n")
    assert run([*viewer_command(), "lsp", "-h"], tmp_path).out == ended.out
    version = run([*viewer_command(), "lsp", "--version"], tmp_path)
    assert version.out == run([*viewer_command(), "--version"], tmp_path).out
    assert "clineprof lsp" in run([*viewer_command(), "--help"], tmp_path).out


@pytest.mark.parametrize("content", ["raise ImportError", ""])
def test_without_pygls_or_with_an_old_one_a_line_says_what_to_install(content, tmp_path):
    (tmp_path / "packages/pygls").mkdir(parents=True)
    (tmp_path / "packages/pygls/__init__.py").write_text(content)
    path = os.pathsep.join([str(tmp_path / "packages"), str(BUILD / "python")])
    ended = run_python(["-m", "clineprof", "lsp", "--stdio"], tmp_path, env={"PYTHONPATH": path})
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"clineprof lsp: needs pygls 2 or newer: {sys.executable} -m pip install 'pygls>=2'\n"


def test_where_there_is_no_pip_it_is_not_named(tmp_path):
    ended = run_python(["-S", "-m", "clineprof", "lsp"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.out, ended.err) == (
        1, "", f"clineprof lsp: needs pygls 2 or newer: uv pip install --python {sys.executable} 'pygls>=2' "
               "(this interpreter has no pip)\n")


def test_it_ends_with_the_editor(work):
    for say_goodbye, code in (True, 0), (False, 1):
        with Client(work.parent, "--stdio") as client:
            opened(client, work)
            if say_goodbye:
                assert client.end() == (code, "")
            else:
                client.process.stdin.close()
                assert client.ended() == (code, "")
    with Client(work.parent) as client:
        opened(client, work)
        client.tell("exit")
        assert client.ended() == (1, "")
    with Client(work.parent) as client:
        client.process.stdin.close()
        assert client.ended() == (1, "")


def test_ctrl_c_ends_it(work):
    with Client(work.parent) as client:
        opened(client, work)
        client.process.send_signal(signal.SIGINT)
        assert client.ended() == (-signal.SIGINT, "")


def test_what_else_prints_does_not_get_in_the_way(work, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import os, threading, time\n"
        "def write():\n"
        f"    while not os.path.exists({str(tmp_path / 'go')!r}):\n"
        "        time.sleep(.01)\n"
        "    os.write(1, b'stray\\n')\n"
        f"    os.unlink({str(tmp_path / 'go')!r})\n"
        "threading.Thread(target=write, daemon=True).start()\n")
    with Client(work.parent, PYTHONPATH=str(tmp_path / "site")) as client:
        uri = opened(client, work)
        client.hints(uri)
        (tmp_path / "go").touch()
        while (tmp_path / "go").exists():
            time.sleep(0.01)
        assert client.shown(uri) == HINTS  # the client fails when it reads anything but messages


def test_closed_standard_streams_are_told_in_one_line(tmp_path):
    command = " ".join(map(str, viewer_command()))
    for closed in "<&-", ">&-":
        ended = run(["sh", "-c", f"{command} lsp {closed}"], tmp_path, env={"VIRTUAL_ENV": sys.prefix})
        assert (ended.code, ended.err) == (1, "clineprof lsp: standard input or output is closed\n")


def test_the_editor_sends_whole_texts(tmp_path):
    """pygls would count lines in another way than editors do when it puts changes into a text."""
    with Client(tmp_path) as client:
        offered = client.start(tmp_path)["capabilities"]
    assert offered["textDocumentSync"]["change"] == 1 and offered["textDocumentSync"]["openClose"]
    assert {name for name, value in offered.items() if name.endswith("Provider") and value} == {
        "hoverProvider", "inlayHintProvider", "codeLensProvider", "executeCommandProvider"}


def test_messages_that_are_none_do_not_end_it(work):
    with Client(work.parent) as client:
        uri = opened(client, work)
        for body in b"{", b"[]", b"7", b"\xff", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "method": 7}', b"nul" * 9:
            client.send_bytes(body)
        client.tell("textDocument/didChange", textDocument={"uri": "file:///never/opened.py", "version": 3},
                    contentChanges=[{"text": "x"}])
        client.tell("workspace/didChangeConfiguration", settings={})
        assert client.shown(uri) == HINTS


# ---- hints ----


def test_hints_stand_behind_the_lines_that_ran(client, work):
    uri = opened(client, work)
    assert client.shown(uri) == HINTS
    ends = {hint["position"]["line"]: hint["position"]["character"] for hint in client.hints(uri)}
    assert ends == {line - 1: len(WORK.splitlines()[line - 1]) for line in HINTS}
    assert all(hint["paddingLeft"] and "tooltip" not in hint for hint in client.hints(uri))


def test_only_the_lines_asked_for_have_hints(client, work):
    uri = opened(client, work)
    assert set(client.shown(uri, first=1, last=6)) == {2, 3, 6}  # the end of the range stands before line 7
    assert client.shown(uri, first=100, last=200) == {}
    whole = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 25}}
    found = client.ask("textDocument/inlayHint", textDocument={"uri": uri}, range=whole)
    assert [hint["label"] for hint in found] == []  # the hint stands at character 26
    whole["end"]["character"] = 26
    [hint] = client.ask("textDocument/inlayHint", textDocument={"uri": uri}, range=whole)
    assert hint["label"] == HINTS[2]


def test_a_real_run(client, tmp_path):
    (tmp_path / "prog.py").write_text(
        "import time\n@profile\ndef f():\n    for i in range(5):\n        time.sleep(.01)\nf()\n")
    assert run_ckernprof(["-l", "prog.py"], tmp_path).code == 0
    uri = opened(client, tmp_path / "prog.py", folder=tmp_path)
    shown = client.shown(uri)
    profile = Profile(tmp_path / "prog.py.lprof")
    time, total = profile.line("f", 5)["time"], profile.function("f")["total"]
    assert set(shown) == {4, 5} and shown[5].endswith(f" · {100 * time / total:.1f} %")
    number, unit, *_ = shown[5].split()
    assert float(number) * {"ms": 1e6, "s": 1e9}[unit] == pytest.approx(time, rel=0.01) and time >= 50 * MS
    assert re.search(r"^Hits +5$", client.hover(uri, 5), re.M)
    assert client.lenses(uri)[2][0].startswith("1 call · ")


def test_waiting_is_shown_where_there_was_any(client, tmp_path):
    source = "async def f():\n    await g()\n    h()\n"
    made, its_text = profile_of("it.py", "f", {2: (1, 1), 3: (1, 3)}, source)
    made["lines"]["await"] = [1200 * MS, 0]
    write(tmp_path / "it.lprof", [made], [its_text])
    (tmp_path / "it.py").write_text(source)
    uri = opened(client, tmp_path / "it.py", folder=tmp_path)
    assert client.shown(uri) == {2: "1.00 ms · 25.0 % · await 1.20 s", 3: "3.00 ms · 75.0 %"}
    assert re.search(r"^Await +1\.20 s$", client.hover(uri, 2), re.M)


@pytest.mark.parametrize(("encodings", "units"), [
    (None, "utf-16-le"), (["utf-16"], "utf-16-le"), (["utf-8", "utf-16"], "utf-8"), (["utf-32"], "utf-32-le"),
])  # fmt: skip
def test_positions_count_in_the_units_of_the_editor(encodings, units, tmp_path):
    lines = ["def f():", "    x = '😀😀 é'", "    y = '\U00010400\u0301'"]
    path = write_one(tmp_path, "\n".join(lines) + "\n", {2: (1, 1), 3: (1, 1)})
    with Client(tmp_path, can={"general": {"positionEncodings": encodings}} if encodings else {}) as client:
        found = client.hints(opened(client, path, folder=tmp_path))
    size = {"utf-8": 1, "utf-16-le": 2, "utf-32-le": 4}[units]
    assert [hint["position"]["character"] for hint in found] == [
        len(line.encode(units)) // size for line in lines[1:]]  # fmt: skip


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_lines_end_as_they_do_in_python_and_in_editors(end, client, tmp_path):
    lines = ["def f():", "    x = '\x0c\x1c\x85\u2028'", "    return x"]
    path = write_one(tmp_path, "\n".join(lines) + "\n", {2: (1, 1), 3: (1, 1)})
    uri = opened(client, path, end.join(lines) + end, tmp_path)
    assert client.shown(uri) == {2: "1.00 ms · 50.0 %", 3: "1.00 ms · 50.0 %"}


def test_a_line_of_several_functions_shows_the_one_with_most_time(client, tmp_path):
    outer = profile_of("it.py", "<module>", {1: (1, 1)}, "f = lambda x: x\n")
    inner = profile_of("it.py", "<lambda>", {1: (9, 3)}, "f = lambda x: x\n")
    write(tmp_path / "it.lprof", [outer[0], inner[0]], [outer[1], inner[1]])
    uri = opened(client, tmp_path / "it.py", "f = lambda x: x\n", tmp_path)
    assert client.shown(uri) == {1: "3.00 ms · 100.0 %"}
    said = client.hover(uri, 1)
    assert said.index("<lambda>, line 1") < said.index("<module>, line 1")


# ---- a text that is not the one that ran ----


def without(lines, number):
    return lines[: number - 1] + lines[number:]


def test_hints_move_with_their_lines(client, work):
    lines = WORK.splitlines(True)
    uri = opened(client, work, "".join(["import os\n", "\n", *lines]))
    assert client.shown(uri) == {line + 2: hint for line, hint in HINTS.items()}
    moved = [*lines[4:7], "\n", *lines[:4], *lines[7:]]  # main stands before build
    client.edit(uri, "".join(moved))
    where = {1: 5, 2: 6, 3: 7, 5: 1, 6: 2, 7: 3, 9: 10}
    assert client.shown(uri) == {where[line]: hint for line, hint in HINTS.items()}
    client.edit(uri, WORK, 3)
    assert client.shown(uri) == HINTS


def test_a_changed_line_says_so(client, work):
    uri = opened(client, work, WORK.replace("list(range(n))", "[*range(n)]"))
    assert client.shown(uri) == {**HINTS, 2: "~ " + HINTS[2]}
    assert [hint.get("tooltip") for hint in client.hints(uri)][:2] == ["The text has changed since the run", None]
    assert "The text has changed since the run. It was: table = list(range(n))" in client.hover(uri, 2)
    assert "changed" not in client.hover(uri, 3)
    assert client.lenses(uri)[1] == ["~ 3.00 ms · 75.0 % of the program · +40.0 MiB · changed since"]
    assert client.lenses(uri)[5] == ["3.50 ms · 87.5 % of the program · -1.00 MiB"]


def test_lines_that_are_gone_are_left_out(client, work):
    lines = WORK.splitlines(True)
    uri = opened(client, work, "".join(without(lines, 2)))
    assert client.shown(uri) == {line - 1: hint for line, hint in HINTS.items() if line > 2}
    client.edit(uri, "".join(lines[:1] + ["    a = 1\n", "    b = 2\n", "    c = 3\n"] + lines[3:]))
    assert client.shown(uri) == {line + 1: hint for line, hint in HINTS.items() if line > 3}
    client.edit(uri, "nothing\nof\nthis\n" * 3, 3)
    assert client.shown(uri) == {}
    client.edit(uri, "", 4)
    assert client.shown(uri) == client.lenses(uri) == {} and client.hover(uri, 1) is None


def test_blanks_at_the_end_of_a_line_are_no_change(client, work):
    uri = opened(client, work, WORK.replace("\n", "  \n"))
    assert client.shown(uri) == HINTS


def test_equal_functions_are_told_apart_by_what_is_around_them(client, tmp_path):
    source = "class A:\n    def run(self):\n        return 1\n\nclass B:\n    def run(self):\n        return 1\n"
    made = [profile_of("it.py", name, {first + 1: (hits, hits)}, "    def run(self):\n        return 1\n", first)
            for name, first, hits in (("A.run", 2, 1), ("B.run", 6, 7))]
    module = profile_of("it.py", "<module>", {1: (1, 1)}, source)
    write(tmp_path / "it.lprof", [module[0], *(f for f, _ in made)], [module[1], *(t for _, t in made)])
    above = "import os\nimport re\nimport sys\n\n"  # moves A.run to where B.run was
    uri = opened(client, tmp_path / "it.py", above + source, tmp_path)
    assert client.shown(uri) == {5: "1.00 ms · 100.0 %", 7: "1.00 ms · 100.0 %", 11: "7.00 ms · 100.0 %"}


def test_two_versions_of_a_function_are_matched_by_their_texts(client, tmp_path):
    old = profile_of("it.py", "f", {2: (1, 1)}, "def f():\n    return 1\n")
    new = profile_of("it.py", "f (2)", {2: (1, 2)}, "def f():\n    return 2\n")
    write(tmp_path / "it.lprof", [old[0], new[0]], [old[1], new[1]])
    uri = opened(client, tmp_path / "it.py", "def f():\n    return 2\n", tmp_path)
    assert client.shown(uri) == {2: "2.00 ms · 100.0 %"}
    client.edit(uri, "def f():\n    return 1\n")
    assert client.shown(uri) == {2: "1.00 ms · 100.0 %"}


# ---- a profile without texts ----


def write_bare(folder, name="f", start=None):
    made = function("it.py", 1, name, [{"line": 2, "hits": 1, "time": MS, "self": MS}])
    write(folder / "it.lprof", [made], meta={"no_source": 1, **({"start": start} if start else {})})
    (folder / "it.py").write_text("def f():\n    return 1\n")
    os.utime(folder / "it.py", (1700000000, 1700000000))
    return folder / "it.py"


@pytest.mark.parametrize("start", [None, 1700000001.0])
def test_without_texts_the_date_of_the_file_counts(start, client, tmp_path):
    path = write_bare(tmp_path, start=start)
    uri = opened(client, path, folder=tmp_path)
    assert client.shown(uri) == {2: "1.00 ms · 100.0 %"}
    assert "The profile has no text to compare with; the file has not changed since the run" in client.hover(uri, 2)
    os.utime(path)
    os.utime(tmp_path / "it.lprof", (1700000002, 1700000002))
    client.tell("textDocument/didSave", textDocument={"uri": uri})
    assert client.shown(uri) == {2: "~ 1.00 ms · 100.0 %"}
    assert "The text has changed since the run, or may have; the profile has no text." in client.hover(uri, 2)
    assert client.lenses(uri)[1][0].endswith("changed since")


def test_without_texts_an_edit_counts_as_a_change(client, tmp_path):
    uri = opened(client, write_bare(tmp_path), folder=tmp_path)
    client.edit(uri, "def f():\n    return 2\n")
    assert client.shown(uri) == {2: "~ 1.00 ms · 100.0 %"}
    client.edit(uri, "def g():\n    return 2\n")
    assert client.shown(uri) == {}


def test_without_texts_a_module_is_left_out_once_it_has_changed(client, tmp_path):
    path = write_bare(tmp_path, "<module>")
    uri = opened(client, path, folder=tmp_path)
    assert client.shown(uri) == {2: "1.00 ms · 100.0 %"}
    client.edit(uri, "def f():\n    return 2\n")
    assert client.shown(uri) == {}


# ---- hover and lenses ----


def test_hover_has_all_that_was_measured(client, work):
    uri = opened(client, work)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime((work.parent.parent / "work.lprof").stat().st_mtime))
    said = client.hover(uri, 2)
    assert said.startswith("```text\nbuild, line 2\n") and said.endswith(f"\nwork.lprof of {when}\n```")
    rows = dict(re.findall(r"^(\S+(?: \S+)*)  +(\S.*)$", said, re.M))
    assert rows == {
        "Hits": "3", "Time": "2.00 ms  66.7 % of the function", "Per Hit": "667 µs",
        "Self": "2.00 ms  50.0 % of the program", "Max": "900 µs", "Mem usage": "50.0 MiB", "Grown": "42.0 MiB",
        "Released": "2.00 MiB", "Increment": "+40.0 MiB", "Self incr.": "+40.0 MiB", "Largest": "+40.0 MiB",
    }
    assert "Increment     -1.00 MiB" in client.hover(uri, 7)
    assert client.hover(uri, 4) is None and client.hover(uri, 1) is None and client.hover(uri, 10000) is None


def test_hover_is_plain_text_for_an_editor_without_markdown(tmp_path, work):
    for can in {}, {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}:
        with Client(tmp_path, can=can) as client:
            uri = opened(client, work)
            assert client.hover(uri, 2).startswith("build, line 2\nHits          3\n")


def test_lines_that_never_ran_say_so_on_hover(client, tmp_path):
    source = "def f(x):\n    if x:\n        g()\n    return x\n"
    path = write_one(tmp_path, source, {2: (1, 1), 4: (1, 1)}, missed=[3])
    uri = opened(client, path, folder=tmp_path)
    assert "f, line 3\nnever ran\n" in client.hover(uri, 3)
    assert set(client.shown(uri)) == {2, 4}
    assert client.lenses(uri) == {1: ["2.00 ms · 100.0 % of the program · 1 line never ran"]}


def test_lenses_stand_above_functions(client, work):
    uri = opened(client, work)
    assert client.lenses(uri) == {
        1: ["3.00 ms · 75.0 % of the program · +40.0 MiB"], 5: ["3.50 ms · 87.5 % of the program · -1.00 MiB"]}
    [command] = {lens["command"]["command"] for lens in client.ask("textDocument/codeLens", textDocument={"uri": uri})}
    assert command == ""


def test_lenses_count_calls_where_the_profile_knows_them(client, tmp_path, work):
    # main was called once, and called build three times from line 7
    calls = {"parent": [0, 1], "line": [0, 7], "function": [1, 0], "calls": [1, 3], "time": [3500000, 3000000]}
    write_known(tmp_path / "it/work.lprof", calls=calls)
    uri = opened(client, work)
    assert [titles[0].partition(" · ")[0] for titles in client.lenses(uri).values()] == ["3 calls", "1 call"]


# ---- warnings ----

LEAK = {"line": 2, "bytes": 40 * MIB, "bytes_per_call": 2.5 * MIB, "bytes_per_second": 1.0, "confidence": 0.99}


def write_leak(folder, **more):
    leaky = copy.deepcopy(known_profiles.BUILD)
    leaky["lines"]["live_blocks"] = [1200, 0]
    leaky["leaks"] = [{**LEAK, **more}]
    write_known(folder / "work.lprof", [leaky, known_profiles.MAIN, KEY])


def test_leaks_are_warnings(client, work, tmp_path):
    write_leak(tmp_path / "it", held_by="dict 'cache' of module it")
    uri = opened(client, work)
    [warning] = client.warnings(uri)
    assert warning == {
        "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 26}}, "severity": 2,
        "source": "clineprof", "code": "leak", "message": "build: kept 40.0 MiB, 2.50 MiB per call, 1,200 live "
        "blocks, sure 99 %; held by dict 'cache' of module it",
    }  # fmt: skip
    client.edit(uri, "\n" + WORK)
    [moved] = client.wait_for(lambda method, params: method.endswith("publishDiagnostics") and
                              params["diagnostics"][0]["range"]["start"]["line"] == 2)["diagnostics"]
    client.edit(uri, WORK.replace("list(range(n))", "[*range(n)]"), 3)
    [changed] = client.wait_for(lambda method, params: method.endswith("publishDiagnostics") and
                                params["diagnostics"][0]["severity"] == 3)["diagnostics"]
    assert changed["message"] == warning["message"] + ". The text has changed since the run."
    client.tell("textDocument/didClose", textDocument={"uri": uri})
    assert client.warnings(uri) == []


@pytest.mark.parametrize(("epoch", "word"), [
    ("calls", "call"), ("checkpoints", "checkpoint"), ("0.5", "epoch"), ("mixed", "epoch"), ("serve", "call")])
def test_a_leak_tells_its_epoch(epoch, word, client, work, tmp_path):
    leaky = copy.deepcopy(known_profiles.BUILD)
    leaky["leaks"] = [LEAK]
    write(tmp_path / "it/work.lprof", [leaky], [text(leaky, "".join(WORK.splitlines(True)[:3]))],
          {"heap_interval": 1, "leak_epoch": epoch, "leak_epochs": 16})
    [warning] = client.warnings(opened(client, work))
    assert warning["message"] == f"build: kept 40.0 MiB, 2.50 MiB per {word}, sure 99 %"


def test_limits_of_the_command_line_are_warnings(tmp_path, work):
    with Client(tmp_path, "--limit", "time=0.002,hits=3", "--limit=increment=1e6") as client:
        uri = opened(client, work)
        found = [(warning["range"]["start"]["line"] + 1, warning["code"], warning["message"])
                 for warning in client.warnings(uri)]
    assert found == [
        (2, "limit", "build: increment 41,943,040 bytes, allowed 1,000,000 bytes"),
        (6, "limit", "main: hits 4, allowed 3"),
        (7, "limit", "main: time 0.0032 s, allowed 0.002 s"),
        (9, "limit", "<lambda>: hits 5, allowed 3"),
    ]


# ---- new profiles ----


def replace_known(folder, name="work.lprof", factor=2):
    """Writes a profile in which build's line 2 took so many times as long, as a run does: under another name first."""
    slow = copy.deepcopy(known_profiles.BUILD)
    slow["lines"]["time"][0] *= factor
    slow["total"] = sum(slow["lines"]["time"])
    write_known(folder / "new", [slow, known_profiles.MAIN, KEY])
    os.replace(folder / "new", folder / name)


def test_a_new_profile_is_seen_and_the_editor_asked_to_ask_again(client, work, tmp_path):
    uri = opened(client, work)
    assert client.shown(uri) == HINTS
    replace_known(tmp_path / "it")
    client.wait_for(lambda method, params: method == "workspace/inlayHint/refresh")
    client.wait_for(lambda method, params: method == "workspace/codeLens/refresh")
    assert client.shown(uri)[2] == "4.00 ms · 80.0 %"
    (tmp_path / "it/runs").mkdir()
    replace_known(tmp_path / "it", "runs/later.lprof", 18)  # no profile was there before: the editor tells of it
    client.tell("workspace/didChangeWatchedFiles",
                changes=[{"uri": uri_of(tmp_path / "it/runs/later.lprof"), "type": 1}])
    assert client.shown(uri)[2] == "36.0 ms · 97.3 %"
    os.unlink(tmp_path / "it/runs/later.lprof")
    client.tell("workspace/didChangeWatchedFiles", changes=[])
    assert client.shown(uri)[2] == "4.00 ms · 80.0 %"


def test_what_the_editor_cannot_do_is_not_asked_of_it(tmp_path, work):
    with Client(tmp_path, can={}) as client:
        uri = opened(client, work)
        assert client.shown(uri) == HINTS
        replace_known(tmp_path / "it")
        for _ in range(100):
            if client.shown(uri)[2] != HINTS[2]:
                break
            time.sleep(0.1)
        assert client.shown(uri)[2] == "4.00 ms · 80.0 %" and client.notes == []
    with Client(tmp_path) as client:
        opened(client, work)
        asked = client.wait_for(lambda method, params: method == "client/registerCapability")
    [registration] = asked["registrations"]
    assert registration["method"] == "workspace/didChangeWatchedFiles"
    assert registration["registerOptions"] == {"watchers": [{"globPattern": "**/*.lprof"}]}


def test_the_newest_profile_counts(client, work, tmp_path):
    replace_known(tmp_path / "it", "older.lprof", 3)
    os.utime(tmp_path / "it/older.lprof", (1600000000, 1600000000))
    assert client.shown(opened(client, work)) == HINTS


@pytest.mark.parametrize("place", [
    ".git", "node_modules/a", "env/lib", "lib/site-packages", "a/__pycache__", ".tox/py"])
def test_some_folders_are_not_searched(place, client, work, tmp_path):
    (tmp_path / "it" / place).mkdir(parents=True)
    (tmp_path / "it/env").mkdir(exist_ok=True)
    (tmp_path / "it/env/pyvenv.cfg").touch()
    replace_known(tmp_path / "it", f"{place}/newer.lprof")
    assert client.shown(opened(client, work)) == HINTS


def test_a_search_has_an_end(client, work, tmp_path):
    """Folders that lie deeper than 20,000 entries are not looked at; the others are."""
    many = tmp_path / "it/many"
    many.mkdir()
    for number in range(21000):
        (many / f"{number}.lprof.txt").touch()
    (tmp_path / "it/app/a/b").mkdir(parents=True)
    replace_known(tmp_path / "it", "app/a/b/newer.lprof")
    assert client.shown(opened(client, work)) == HINTS


# ---- profiles that cannot be read ----


def damage(folder, content, name="newer.lprof"):
    (folder / name).write_bytes(content)


def too_new(path):
    profile = msgpack.unpackb(path.read_bytes(), strict_map_key=False)
    return msgpack.packb({**profile, "version": 99})


@pytest.mark.parametrize("part", [0, 1, 0.1, 0.5, 0.9, "noise", "version"])
def test_a_damaged_profile_is_told_once_and_the_one_before_is_shown(part, client, work, tmp_path):
    good = (tmp_path / "it/work.lprof").read_bytes()
    content = {"noise": os.urandom(4096), "version": too_new(tmp_path / "it/work.lprof")}.get(part)
    damage(tmp_path / "it", content or good[: int(part * len(good)) if part != 1 else len(good) - 1])
    uri = opened(client, work)
    assert client.shown(uri) == HINTS
    [said] = client.messages()
    assert said.startswith(f"clineprof: cannot read {tmp_path}/it/newer.lprof: ") and "\n" not in said
    assert said.count("newer.lprof") == 1
    for _ in range(3):
        client.tell("textDocument/didSave", textDocument={"uri": uri})
        client.tell("workspace/didChangeWatchedFiles", changes=[])
    assert client.shown(uri) == HINTS and client.messages() == [said]
    damage(tmp_path / "it", good[:-2])  # another version
    client.tell("workspace/didChangeWatchedFiles", changes=[])
    client.shown(uri)
    assert len(client.messages()) == 2
    replace_known(tmp_path / "it", "newer.lprof")
    client.tell("workspace/didChangeWatchedFiles", changes=[])
    assert client.shown(uri)[2] == "4.00 ms · 80.0 %"


def test_many_damaged_profiles_make_few_messages(client, work, tmp_path):
    for number in range(50):
        damage(tmp_path / "it", b"", f"{number}.lprof")
    uri = opened(client, work)
    assert client.shown(uri) == {} and len(client.messages()) == 5


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling", "link out", "folder out", "unreadable"])
def test_what_is_no_regular_file_is_not_opened(kind, client, work, tmp_path):
    odd = tmp_path / "it/odd.lprof"
    if kind == "folder":
        odd.mkdir()
    elif kind == "pipe":
        os.mkfifo(odd)
    elif kind == "unreadable":
        odd.touch(0)
        if os.access(odd, os.R_OK):
            pytest.skip("root may read everything")
    else:
        (tmp_path / "out").mkdir()
        replace_known(tmp_path / "out", "side.lprof")
        odd.symlink_to(tmp_path / {"link out": "out/side.lprof", "folder out": "out", "dangling": "nowhere"}[kind])
    assert client.shown(opened(client, work)) == HINTS
    assert len(client.messages()) == (kind == "unreadable")


# ---- paths ----


@pytest.mark.parametrize("name", [
    "a b", "100%", "%41", "grün", "日本 语", "a#b?c;d", "'\"`", "a\nb", "\udcff\udcfe"])
def test_names_of_files(name, client, tmp_path):
    folder = tmp_path / name
    path = folder / f"{name}.py"
    folder.mkdir()
    source = "def f():\n    return 1\n"
    made, its_text = profile_of(path, "f", {2: (1, 1)}, source)
    write(folder / f"{name}.lprof", [made], [its_text])
    path.write_text(source)
    uri = opened(client, path, folder=folder)
    assert client.shown(uri) == {2: "1.00 ms · 100.0 %"}
    assert "f, line 2" in client.hover(uri, 2)
    damage(folder, b"", f"{name} broken.lprof")
    os.utime(folder / f"{name} broken.lprof", (4000000000, 4000000000))
    client.tell("workspace/didChangeWatchedFiles", changes=[])
    assert client.shown(uri) == {2: "1.00 ms · 100.0 %"}
    [said] = client.messages()
    assert said.isprintable() and said.startswith("clineprof: cannot read /") and said.count("broken") == 1


def test_uris_that_name_no_file_have_nothing(client, work):
    client.move(work.parent.parent)
    path = str(work)
    for uri in ("untitled:Untitled-1", f"git:{path}", f"file://elsewhere{path}", "file:work.py", "http://h/work.py",
                f"file://{path}%00", "file://[", "file:///\ud800.py", "file:///%ED%A0%80.py", "",
                f"untitled:{path}", path):
        client.open(uri, WORK)
        assert client.hints(uri) == [] and client.hover(uri, 2) is None and client.lenses(uri) == {}
    assert client.shown(client.open(f"file://localhost{path}", WORK)) == HINTS


def test_a_document_that_is_not_open_is_not_read(client, work):
    client.move(work.parent.parent)
    assert client.hints(uri_of(work)) == [] and client.hover(uri_of(work), 2) is None
    uri = client.open(work)
    client.tell("textDocument/didClose", textDocument={"uri": uri})
    assert client.hints(uri) == []


def test_each_folder_of_a_workspace_has_its_profile(client, tmp_path):
    one, two = make_work(tmp_path / "one"), make_work(tmp_path / "one two")
    inner = make_work(tmp_path / "one/inner")
    replace_known(tmp_path / "one two", factor=3)
    replace_known(tmp_path / "one/inner", factor=6)
    os.utime(tmp_path / "one/work.lprof", (4000000000, 4000000000))  # the newest in `one`, as its `inner` counts, too
    client.move(tmp_path / "one", tmp_path / "one two", tmp_path / "one/inner")
    hints = [client.shown(client.open(path))[2] for path in (one, two, inner)]
    assert hints == [HINTS[2], "6.00 ms · 85.7 %", "12.0 ms · 92.3 %"]
    client.tell("workspace/didChangeWorkspaceFolders",
                event={"added": [], "removed": [{"uri": uri_of(tmp_path / "one two"), "name": "it"}]})
    client.wait_for(lambda method, params: method == "workspace/inlayHint/refresh")
    assert client.shown(uri_of(two)) == {} and client.shown(uri_of(inner))[2] == "12.0 ms · 92.3 %"
    client.tell("workspace/didChangeWorkspaceFolders",
                event={"added": [{"uri": uri_of(tmp_path / "one two"), "name": "it"}], "removed": []})
    assert client.shown(uri_of(two))[2] == "6.00 ms · 85.7 %"


@pytest.mark.parametrize("way", ["rootUri", "rootPath", "none"])
def test_the_root_of_older_editors(way, work):
    folder = work.parent.parent
    root = {"rootUri": {"rootUri": uri_of(folder)}, "rootPath": {"rootPath": str(folder)}, "none": {}}[way]
    with Client(folder) as client:
        client.start(**root)
        assert client.shown(client.open(work)) == ({} if way == "none" else HINTS)


def test_a_workspace_behind_a_symbolic_link(client, work, tmp_path):
    (tmp_path / "link").symlink_to("it")
    for name in "app/work.py", str(tmp_path / "it/app/work.py"), str(tmp_path / "link/app/work.py"):
        functions = [{**f, "file": name} for f in (known_profiles.BUILD, known_profiles.MAIN, KEY)]
        write_known(tmp_path / "it/work.lprof", functions)
        client.move(tmp_path / "link")
        assert client.shown(client.open(tmp_path / "link/app/work.py")) == HINTS
        if "link" not in name:  # who opens the file by another name than that under which it ran, has no luck
            assert client.shown(client.open(tmp_path / "it/app/work.py")) == HINTS


def test_a_file_whose_real_path_is_outside_has_nothing(client, work, tmp_path):
    (tmp_path / "outside.py").write_text(WORK)
    (tmp_path / "it/link.py").symlink_to("../outside.py")
    (tmp_path / "it/app/up").symlink_to("../..")
    names = [str(tmp_path / "outside.py"), str(tmp_path / "it/link.py"), "../outside.py", "link.py",
             "app/up/outside.py"]
    functions = [{**known_profiles.BUILD, "file": name} for name in names]
    write(tmp_path / "it/work.lprof", functions, [text(f, "".join(WORK.splitlines(True)[:3])) for f in functions])
    client.move(tmp_path / "it")
    for path in "outside.py", "it/link.py", "it/app/up/outside.py", "it/../outside.py":
        assert client.hints(client.open(f"file://{tmp_path}/{path}", WORK)) == []


def test_nothing_is_opened_because_a_profile_names_it(work, tmp_path):
    """An audit hook writes down what the server opens, looks at or lists."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(
        "import os, sys\n"
        f"log = os.open({str(tmp_path / 'log')!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n"
        "def hook(event, args):\n"
        "    kind = event.split('.')[0]\n"
        "    if kind in ('open', 'os', 'subprocess') or event in ('socket.connect', 'socket.getaddrinfo'):\n"
        "        os.write(log, f'{event} {args!r}\\n'.encode('utf-8', 'replace'))\n"
        "sys.addaudithook(hook)\n")
    secret = tmp_path / "secret.py"
    secret.write_text(WORK)
    names = [str(secret), "../secret.py", "/etc/passwd", "app/../../secret.py", "//host/share/x.py", "/dev/zero",
             "file:///etc/shadow", "~/secret.py", "http://127.0.0.1:1/x.py", "app/work.py"]
    functions = [{**known_profiles.BUILD, "file": name} for name in names]
    source = "".join(WORK.splitlines(True)[:3])
    write(tmp_path / "it/work.lprof", functions, [text(f, source) for f in functions[::2]])
    path = os.pathsep.join([str(tmp_path / "site"), str(BUILD / "python")])
    with Client(tmp_path, PYTHONPATH=path) as client:
        client.start(tmp_path / "it")
        for path in work, secret, pathlib.Path("/etc/passwd"):
            client.shown(client.open(path, WORK))
        assert client.shown(uri_of(work))[2]
        assert client.end() == (0, "")
    log = (tmp_path / "log").read_text()
    assert "os.scandir" in log and str(tmp_path / "it") in log
    assert not [line for line in log.splitlines()
                if re.search(r"secret|/etc/(passwd|shadow)|/dev/zero|//host|^(socket|subprocess)\.", line)]


def test_nothing_is_imported_from_the_workspace(work):
    folder = work.parent.parent
    for name in "pygls", "lsprotocol", "asyncio", "attrs", "json", "sitecustomize":
        (folder / f"{name}.py").write_text(f"open({str(folder / 'imported')!r}, 'w')")
    with Client(folder) as client:
        assert client.shown(opened(client, work)) == HINTS
    assert not (folder / "imported").exists()


# ---- hostile profiles, and large ones ----

NASTY = ["</script><img src=x onerror=alert(1)>", "```\n# big", "a`b``c```d````e", "\x1b[31mred\x07", "\u202egnp.exe",
         "[x](command:rm)", "\u2028", "", "x" * 100000, "\udcff\udcfe", "\u200b", "$(rm)", "%s%n"]


def test_a_leak_tells_what_else_is_known(client, tmp_path):
    text = "def build():\n    x = 1\n"
    made, its_text = profile_of("it.py", "build", {2: (1, 1)}, text)
    made["leaks"] = [{**LEAK, "margin": 7, "per_execution": True, "at_end": True}]
    write(tmp_path / "it.lprof", [made], [its_text], {"leak_epoch": "calls"})
    (tmp_path / "it.py").write_text(text)
    [warning] = client.warnings(opened(client, tmp_path / "it.py", text, tmp_path))
    assert warning["message"] == ("build: kept 40.0 MiB, 2.50 MiB per execution, sure 99 %; freed only at the end of the "
                                  "program")


def test_hostile_names_and_texts_stay_text(client, tmp_path):
    functions, texts = [], []
    for name in NASTY:
        made, its_text = profile_of("it.py", name, {1: (1, 1), 2: (1, 1)}, f"x = 1\n{name}\ny = 2\n")
        made["leaks"] = [{**LEAK, "line": 1, "held_by": name, "bytes": 2**64 - 1,
                          "bytes_per_call": (-1) ** len(functions) * 1e308, "confidence": -1e308}]
        functions.append(made)
        texts.append(its_text)
    write(tmp_path / "it.lprof", functions, texts, {"start": 1e300, "wall": 2**64 - 1})
    uri = opened(client, tmp_path / "it.py", "x = 1\nnone of these\ny = 2\n", tmp_path)
    assert set(client.shown(uri)) == {1, 2}
    warnings, lenses = client.warnings(uri), client.lenses(uri)[1]
    assert len(warnings) == len(NASTY) and "kept 16,777,216 TiB" in warnings[0]["message"]
    shown = [client.hover(uri, 1), client.hover(uri, 2), *(warning["message"] for warning in warnings), *lenses]
    for said in shown:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e]", said) and len(said) < 5000
    assert client.messages() == []


def test_a_fence_cannot_be_closed_from_within(client, tmp_path):
    path = write_one(tmp_path, "def f():\n    x()\n", {2: (1, 1)}, name="````")
    uri = opened(client, path, folder=tmp_path)
    said = client.hover(uri, 2)
    assert said.startswith("`````text\n````, line 2\n") and said.endswith("\n`````")


def test_the_largest_numbers_there_are(client, tmp_path):
    path = tmp_path / "it.lprof"
    known_profiles.write_hostile(path)
    profile = msgpack.unpackb(path.read_bytes(), strict_map_key=False, unicode_errors="surrogateescape")
    for one in profile["functions"] + profile["source"]:
        one["file"] = "it.py"
    path.write_bytes(msgpack.packb(profile, unicode_errors="surrogateescape"))
    uri = opened(client, tmp_path / "it.py", "a\nb\n", tmp_path)
    client.hints(uri), client.lenses(uri), client.hover(uri, 2)
    assert client.messages() == []


def test_lines_that_no_file_has(client, tmp_path):
    """Line 0, lines behind the end, and lines that only a huge file has."""
    source = "def f():\n    return 1\n"
    functions, texts = zip(*(profile_of("it.py", f"f{first}", {first: (1, 1), first + 1: (1, 1)}, source, first)
                             for first in (0, 1, 2, 3, 100, 2**31 - 2)))
    write(tmp_path / "it.lprof", list(functions), list(texts))
    uri = opened(client, tmp_path / "it.py", source, tmp_path)
    assert client.shown(uri) == {1: "1.00 ms · 50.0 %", 2: "1.00 ms · 50.0 %"}


def large(functions, lines):
    """The text of a file with so many functions of so many lines, and its profile as (functions, texts)."""
    parts, made = [], []
    for number in range(functions):
        body = [f"def f{number}():\n", *("    x = x + 1\n" for _ in range(lines - 2)), f"    return {number}\n"]
        first = number * lines + 1
        made.append(profile_of("it.py", f"f{number}", {first + 1 + i: (number + 1, 1) for i in range(lines - 1)},
                               "".join(body), first))
        parts += body
    return "".join(parts), made


def test_5000_functions_and_100000_lines(client, tmp_path):
    source, made = large(5000, 20)
    write(tmp_path / "it.lprof", [f for f, _ in made], [t for _, t in made])
    uri = opened(client, tmp_path / "it.py", source, tmp_path)
    assert client.shown(uri, first=99980, last=100000) == {line: "1.00 ms · 5.3 %" for line in range(99982, 100001)}
    assert len(client.lenses(uri)) == 5000
    client.edit(uri, "import os\n" + source.replace("    return 7\n", "    return 8 - 1\n"))
    shown = client.shown(uri, first=0, last=200)
    assert shown == {line: "~ " * (line == 161) + "1.00 ms · 5.3 %" for line in range(2, 201) if (line - 2) % 20}


def test_equal_lines_without_end(client, tmp_path):
    """Texts for which comparing each line with each other one would take a day."""
    source = "x = 1\n" * 50000
    functions, texts = zip(*(profile_of("it.py", f"f{number}", {number * 100 + 1: (1, 1)}, "x = 1\n" * 100,
                                        number * 100 + 1) for number in range(500)))
    write(tmp_path / "it.lprof", list(functions), list(texts))
    uri = opened(client, tmp_path / "it.py", "y = 2\n" + source, tmp_path)
    client.shown(uri)
    client.edit(uri, source)
    assert len(client.shown(uri)) == 500


def test_a_file_of_line_profiler(client, tmp_path):
    (tmp_path / "it.py").write_text("def f():\n    return 1\n")
    os.utime(tmp_path / "it.py", (1700000000, 1700000000))
    key = str(tmp_path / "it.py"), 1, "f"
    program = f"import clineprof\nclineprof.LineStats({{{key!r}: [(2, 3, 1000)]}}, 1e-6).to_file('it.lprof')"
    ended = run_python(["-c", program], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 0, ended.err
    assert b"line_profiler" in (tmp_path / "it.lprof").read_bytes()
    uri = opened(client, tmp_path / "it.py", folder=tmp_path)
    assert client.shown(uri) == {2: "1.00 ms · 100.0 %"}
