# SPDX-License-Identifier: MIT
"""What README.md and docs/format.md show is what happens."""
import html
import re
import sys

import msgpack
import pytest
from harness import BUILD, CKERNPROF, ROOT, SANITIZED, Profile, run, run_ckernprof, run_python

README = (ROOT / "README.md").read_text("utf-8")
PICTURE = (ROOT / "docs" / "terminal.svg").read_text("utf-8")
FORMAT = (ROOT / "docs" / "format.md").read_text("utf-8")
NUMBER = re.compile(r"-?\d[\d.e+-]*")


def shape(line):
    """A line of output with every number and the width of every gap taken out of it."""
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()


def rows_of_the_picture():
    """The texts of the picture, line by line."""
    lines = {}
    for left, top, text in re.findall(r'<text [^>]*\bx="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>',
                                      PICTURE):
        lines.setdefault(float(top), []).append((float(left), html.unescape(text)))
    return [re.sub(r"\s+", " ", " ".join(text for _, text in sorted(lines[top]))).strip()
            for top in sorted(lines)]


@pytest.mark.once
def test_the_picture_on_the_first_screen_is_what_the_demo_prints(tmp_path):
    assert "](docs/terminal.svg)" in README.split("## Set up")[0]
    ended = run([CKERNPROF, "-l", "-v", "-o", tmp_path / "demo.py.lprof", "fixtures/demo.py"], ROOT)
    printed = [line.split() for line in ended.out.splitlines() if re.match(r" +\d+ +", line)]
    shown = [row.split() for row in rows_of_the_picture() if re.match(r"\d+ ", row)]
    assert len(printed) == len(shown) == 21
    for ours, theirs in zip(printed, shown):
        assert ours[0] == theirs[0]  # the line, and its hits, which are exact, where it has them
        if "MiB" in ours:
            assert ours[1] == theirs[1]
            source, its = (words[-words[::-1].index("MiB"):] for words in (ours, theirs))
            assert "".join(source) == "".join(its)


def commands(page):
    """(command, the lines printed) of each `$ ` in the page's console blocks."""
    for block in re.findall(r"```console\n(.*?)```", page, re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed.rstrip("\n").splitlines()


def told(line):
    """The shape of a line, and of the last one that part which every machine prints."""
    return line[:21] if line.startswith("Profiled by clineprof") else shape(line)


@pytest.mark.once
def test_the_page_on_viewing_shows_what_is_printed(tmp_path):
    page = (ROOT / "docs" / "viewing.md").read_text("utf-8")
    (tmp_path / "shop.py").write_text(re.search(r"```python\n(.*?)```", page, re.S)[1])
    ran = 0
    for command, shown in commands(page):
        program, *words = command.split()
        words = ["--python", sys.executable, *words] if program == "ckernprof" else words
        ended = run([CKERNPROF.rsplit("/", 1)[0] + "/" + program, *words], tmp_path)
        printed = ended.out.rstrip("\n").splitlines()
        if shown[-1] == "...":
            shown, printed = shown[:-1], printed[:len(shown) - 1]
        if shown[0] == "...":
            shown, printed = shown[1:], printed[1 - len(shown):]
        assert [told(line) for line in shown] == [told(line) for line in printed], command
        hits = [[row.split()[:2] for row in rows if re.match(r" +\d+ +\d+ ", row)]
                for rows in (shown, printed)]
        assert hits[0] == hits[1] and (ended.code, ended.err) == (0, "")
        ran += 1
    assert ran == 7


@pytest.mark.once
def test_every_option_of_the_report_is_on_the_page_on_viewing(tmp_path):
    page = (ROOT / "docs" / "viewing.md").read_text("utf-8")
    out = run([CKERNPROF.rsplit("/", 1)[0] + "/clineprof", "--help-page"], tmp_path).out
    real = set(re.findall(r"^\| `(--?[a-zA-Z][\w-]*)", out, re.M))
    elsewhere = {"-c", "--no-config", "-V", "-h", "--read-sources"}
    assert {name for name in real - elsewhere if f"`{name}" not in page} == set()


@pytest.mark.once
@pytest.mark.parametrize("program", ["ckernprof", "clineprof"])
def test_every_option_in_the_readme_exists(program, tmp_path):
    """All of them are in docs/options.md."""
    out = run([CKERNPROF.rsplit("/", 1)[0] + "/" + program, "--help-page"], tmp_path).out
    real = set(re.findall(r"`(--?[a-zA-Z][\w-]*)", out))
    table = README.split(f"| {program} | |\n")[1].split("\n\n")[0]
    told = set(re.findall(r"`(--?[a-zA-Z][\w-]*)", table))
    assert told and told <= real


@pytest.mark.once
def test_every_column_of_the_file_is_in_its_document(script, tmp_path):
    path = script("@profile\ndef f():\n    x = bytearray(1 << 20)\n    return len(x)\nf()\n")
    ended = run_ckernprof(["-l", path], tmp_path)
    profile = msgpack.unpackb((tmp_path / "program.py.lprof").read_bytes(), strict_map_key=False)
    names = set(profile) | set(profile["meta"]) | set(profile["functions"][0])
    names |= set(profile["functions"][0]["lines"]) | set(profile["source"][0])
    missing = {name for name in names
               if f"`{name}`" not in FORMAT and f'"{name}"' not in FORMAT}
    assert ended.code == 0 and not missing


@pytest.mark.once
def test_the_python_in_the_format_document_runs(script, tmp_path):
    path = script("@profile\ndef f(n):\n    return [i for i in range(n)]\nf(9)\n", "demo.py")
    run_ckernprof(["-l", "-o", "demo.lprof", path], tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", FORMAT, re.S)
    # the tests do without line_profiler itself
    text = "\n".join(blocks).replace("from line_profiler.line_profiler import LineStats",
                                     "LineStats = lambda timings, unit: print(timings, unit)")
    ended = run_python(["-c", text], tmp_path)
    assert ended.code == 0, ended.err
    assert f"{path} 1 f " in ended.out
    assert f"('{path}', 1, 'f'): [(3, " in ended.out and ended.out.rstrip().endswith("1e-09")


def test_twice_v_says_which_tracer_ran_and_what_was_selected(script, tmp_path):
    path = script("@profile\ndef f():\n    return 1\nf()\n")
    err = run_ckernprof(["-l", "-vv", path], tmp_path).err
    assert "ckernprof: tracer " in err and " 1 functions selected, 1 line events" in err
    assert f"ckernprof: selected f, {path}:1" in err


@pytest.mark.once
def test_version(tmp_path):
    ended = run([CKERNPROF, "-V"], tmp_path)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", ended.out)


# ---- docs/compare.md ----

COMPARE = (ROOT / "docs" / "compare.md").read_text("utf-8")


def shown_by(command):
    """What a page says that a command prints."""
    return COMPARE.split(f"```console\n$ {command}\n")[1].split("```")[0].splitlines()


def profile_calmly(folder, name, slow):
    """Only so many lines are slow. A busy machine stretches others beyond the noise; then it runs again."""
    for _ in range(20):
        ended = run_ckernprof(["-l", "-o", name, "prog.py"], folder)
        assert ended.code == 0, ended.err
        nanos = Profile.measure(ended.profile(name).function("load"), "time").values()
        if max(sorted(nanos)[:-slow]) < 500_000:
            return


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A folder with the page's program, and its profiles before and after the edit."""
    folder = tmp_path_factory.mktemp("compare")
    program = COMPARE.split("```python\n")[1].split("```")[0]
    edited = (
        program.replace("rows = []\n", "rows = []\n    cache = bytearray(32 << 20)\n")
        .replace("range(count)", "range(count * 2)")
        .replace("0.02", "0.05")
    )
    for name, text, slow in ("old", program, 1), ("new", edited, 2):
        (folder / "prog.py").write_text(text)
        profile_calmly(folder, f"{name}.lprof", slow)
    for name in "one", "two":
        (folder / f"{name}.lprof").write_bytes((folder / "old.lprof").read_bytes())
    return folder


def said(folder, command, code=0):
    ended = run(["bash", "-c", f'PATH="{BUILD}/bin:$PATH" {command}'], folder)
    assert (ended.code, ended.err) == (code, "")
    return ended.out.splitlines()


def shape_of_change(line):
    """Also without the tracer's name, the length of rules, which numbers decide, and the page or two that a
    list takes now and then."""
    line = re.sub(r"[+-]?0\.0\d\d MiB", "", line)
    return re.sub(r"tracer \w+", "tracer", re.sub("=+", "=", shape(line)))


def test_the_comparison_in_its_document(compared):
    command = "clineprof diff old.lprof new.lprof"
    shown, printed = shown_by(command), said(compared, command)
    assert [shape_of_change(line) for line in shown] == [shape_of_change(line) for line in printed]


def test_the_gates_in_their_document(compared):
    command = "clineprof diff old.lprof new.lprof --top 1 --fail-on " \
              "'time>+20%,increment>+10MB,total>1s'"
    dots, *shown = shown_by(command)
    printed = said(compared, command, code=3)
    assert dots == "..." and [shape(line) for line in shown] == [
        shape(line) for line in printed[-len(shown):]
    ]


@pytest.mark.once
def test_the_merge_in_its_document(compared):
    command = "clineprof merge -o all.lprof one.lprof two.lprof"
    assert shown_by(command) == said(compared, command)


@pytest.mark.once
def test_every_option_of_diff_is_in_its_document(tmp_path):
    out = run([CKERNPROF.rsplit("/", 1)[0] + "/clineprof", "diff", "--help"], tmp_path).out
    real = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", out, re.M)) - {"--help", "--unit", "--outfile"}
    told = set(re.findall(r"\| `(--[\w-]+)", COMPARE))
    assert real == told


# ---- docs/memory.md ----

MEMORY = (ROOT / "docs" / "memory.md").read_text("utf-8")
SERVER, ASSERTED = re.findall(r"```python\n(.*?)```", MEMORY, re.S)
LEAKS = 3  # the exit code


@pytest.fixture
def server(tmp_path):
    (tmp_path / "server.py").write_text(SERVER)
    return tmp_path


def without_speed(line):
    """The shape, and of bytes per second not even the unit: a busy machine has fewer."""
    return re.sub(r"[KM]iB/s", "B/s", shape_of_change(line))


def parts(shown):
    """The pieces of an output between its dots."""
    pieces, piece = [], []
    for line in [*shown, "..."]:
        if line != "...":
            piece.append(without_speed(line))
        elif piece:
            pieces.append("\n".join(piece))
            piece = []
    return pieces


def prints_what_the_page_shows(command, shown, folder, code=0):
    program, *words = command.split("#")[0].split()
    python = ["--python", sys.executable]
    ended = run([f"{BUILD}/bin/{program}", *python, *words], folder)
    printed = "\n".join(map(without_speed, ended.out.splitlines()))
    assert ended.code == code, ended.err
    for piece in parts(shown):
        assert piece in printed, printed
    return ended


def test_the_leak_on_the_page_on_memory(server):
    [(command, shown)] = commands(MEMORY)
    prints_what_the_page_shows(command, shown, server)
    profile = msgpack.unpackb((server / "server.py.lprof").read_bytes(), strict_map_key=False)
    lines = profile["functions"][0]["lines"]
    grown, live = (dict(zip(lines["line"], lines[name])) for name in ("grown", "live"))
    assert live[5] > 5e6 > 0 == live.get(6)
    if not SANITIZED:
        assert grown[6] > 5e6 > 1e6 > grown[5], "the page says that resident memory blames line 6"


def test_the_leak_in_the_readme(server):
    [(command, shown)] = [(command, shown) for command, shown in commands(README)
                          if "--fail-on-leak" in command]
    ended = prints_what_the_page_shows(command, shown, server, code=LEAKS)
    assert "a line leaks: server.py:5 (" in ended.err


@pytest.mark.once
def test_the_test_on_the_page_on_memory(tmp_path):
    """The page's handler leaks; one that does not passes."""
    def tried(handler):
        (tmp_path / "it.py").write_text(f"request = 1\nLOG = []\n{handler}{ASSERTED}\n"
                                        "test_handler_keeps_nothing()\n")
        return run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})

    body = SERVER.split("@profile\n")[1].split("\nfor")[0]
    ended = tried(body)
    assert ended.code == 1 and "AssertionError: 1 line leaked in 5 calls:" in ended.err
    assert ended.err.rstrip().endswith(": LOG.append(bytes(600))")
    assert tried(body.replace("LOG.append(bytes(600))", "pass")).code == 0
