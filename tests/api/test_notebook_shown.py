# SPDX-License-Identifier: MIT
"""What notebooks show of profiles: in JupyterLab, trusted and not, in nbconvert's page, and where all styles are
removed. And what a kernel does with cells that end early."""
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request

import known_profiles
import pytest
from browser import chromium
from cells import PACKAGE, Shown, cells_of, executed, hits_of_html
from harness import clean_environment, run_python

pytest.importorskip("IPython", reason="IPython is not installed")
pytestmark = pytest.mark.once  # the magics choose their tracer

LARGEST = 200_000  # bytes of a cell in the file of the notebook
# The function f runs so long that another process, which takes some of the time, changes neither order nor bars.
F = """\
def f(n):
    total = 0
    for i in range(n):
        total += i  # "a <b>comment</b>"
    return total
"""
CELLS = [
    "%load_ext clineprof\nimport time",
    F,
    "%%clineprof --timeline\nblock = bytearray(30 << 20)\ntime.sleep(0.05)",
    "%clineprof f(2_000_000)",
    F.replace("total = 0", "total = 0\n    time.sleep(0.5)"),
    "%clineprof --compare f(2_000_000)",
]
PICTURE, TABLE, COMPARED = 2, 3, 5


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return executed(tmp_path_factory.mktemp("book"), CELLS)


# ---- without styles ------------------------------------------------------------------------------


def without_styles(text):
    return re.sub(r" style='[^']*'", "", text)


def test_where_styles_are_removed_there_are_columns_bars_and_indentation(book):
    """As on GitHub, which removes style sheets, scripts and styles of elements."""
    html = cells_of(book)[TABLE].html
    assert "<style" not in html and "class=" not in html and "<script" not in html
    plain = without_styles(html)
    assert set(re.findall(r"<(\w+)", plain)) - {"i"} == {"div", "pre", "details", "summary", "samp", "span", "b"}
    first, *_ = Shown(plain, "summary").texts
    assert re.fullmatch(r" *[\d.]+ [mµ]?s  █+[▏▎▍▌▋▊▉]? *  f  In\[2\]:1", first)
    rows = Shown(plain, "pre").texts[1].splitlines()
    titles = rows[0]
    [row] = [row for row in rows if row.split()[:2] == ["4", "2000000"]]
    assert row[titles.index("Line Contents"):] == '        total += i  # "a <b>comment</b>"'
    assert re.search(r" \d\d\.\d █", row)


def test_the_hottest_lines_stand_first_and_one_function_is_open(book):
    html = cells_of(book)[TABLE].html
    above, *_ = Shown(html, "pre").texts
    assert above.startswith("Hottest lines by self: ")
    hottest = above.splitlines()[4]
    assert re.match(r"In\[2\]:[34] +f ", hottest), above
    assert re.findall("<details( open)?>", html) == [" open", ""]
    names = [summary.split()[-2] for summary in Shown(html, "summary").texts]
    assert names == ["f", "<module>"]


def test_the_picture_of_memory_needs_nothing_else(book):
    html = cells_of(book)[PICTURE].html
    [alt, source] = re.search(r"<img alt='(.*?)' src='(data:image/svg\+xml;base64,.*?)'", html).groups()
    assert re.fullmatch(r"Resident memory of 1 process over .* at most", alt)
    assert re.search(r"most was added at In\[3\]:1 in <module>: (29|30)\.\d+ MiB", Shown(html, "pre").texts[0])
    assert source


def test_the_comparison_begins_with_its_sentence(book):
    told = cells_of(book)[COMPARED]
    said, *_ = Shown(told.html, "b").texts
    assert re.fullmatch(r"f is .* (times|%) slower; .*\.", said) and told.text.endswith(said)
    first = Shown(told.html, "summary").texts[0]
    assert "(slower)" in first and "->" in first
    assert any("time.sleep(0.5)" in text for text in Shown(told.html, "pre").texts)


# ---- in the browser ------------------------------------------------------------------------------

LOOKS = """
return [...document.querySelectorAll('.jp-RenderedHTML')].filter(e => e.querySelector('details')).map(output => {
    const open = output.querySelector('details[open]'), table = open.querySelector('pre');
    const ground = element => { for (let e = element; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (!/, 0\\)$|transparent/.test(colour)) return colour; } return 'rgb(255, 255, 255)'; };
    return {space: getComputedStyle(table).whiteSpace, align: getComputedStyle(table).textAlign,
            font: getComputedStyle(table).fontFamily, text: table.textContent,
            folded: output.querySelectorAll('details:not([open])').length,
            ground: ground(table), inks: [table, ...table.querySelectorAll('span')].map(e => getComputedStyle(e).color),
            picture: [...output.querySelectorAll('img')].map(e => e.naturalWidth)};
})"""


def light_of(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((light_of(one), light_of(other)))
    return (high + 0.05) / (low + 0.05)


def assert_is_readable(looks, book, is_dark):
    assert len(looks) == 3, looks
    for look, told in zip(looks, [cells_of(book)[place] for place in (PICTURE, TABLE, COMPARED)]):
        assert (look["space"], look["align"]) == ("pre", "left")
        assert "mono" in look["font"].lower() or "code" in look["font"].lower(), look["font"]
        assert look["text"] == Shown(re.search("<details open>.*?</details>", told.html, re.S)[0], "pre").texts[0]
        assert (light_of(look["ground"]) < 0.2) == is_dark
        assert all(contrast(ink, look["ground"]) > 3.5 for ink in look["inks"])
    assert [len(look["picture"]) for look in looks] == [1, 0, 0] and looks[0]["picture"][0] > 0
    assert [look["folded"] > 0 for look in looks] == [False, True, True]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_the_page_of_nbconvert(book, theme, tmp_path):
    pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    ended = run_python(["-m", "nbconvert", "--to", "html", "--template", "lab", "--theme", theme,
                        "--output", tmp_path / "page.html", book], book.parent)  # fmt: skip
    assert ended.code == 0, ended.err
    with chromium(tmp_path) as driver:
        driver.get((tmp_path / "page.html").as_uri())
        assert_is_readable(driver.execute_script(LOOKS), book, theme == "dark")


@contextlib.contextmanager
def jupyterlab(folder, home):
    """The address of a JupyterLab that shows the notebooks of a folder, and its environment."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    environment = clean_environment({**PACKAGE, "HOME": str(home), "JUPYTER_PLATFORM_DIRS": "1",
                                     "JUPYTERLAB_SETTINGS_DIR": str(home / "settings")})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
             "--ServerApp.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}"],
            cwd=folder, env=environment, stdout=log, stderr=log)  # fmt: skip
    try:
        wait_for(lambda: answers(f"http://127.0.0.1:{port}/api/status"), "JupyterLab does not start")
        yield f"http://127.0.0.1:{port}", environment
    finally:
        server.terminate()
        server.wait(300)  # for a kernel that is still starting


def answers(address):
    try:
        return urllib.request.urlopen(address, timeout=10).status == 200
    except OSError:
        return False


def wait_for(come, why):
    end = time.monotonic() + 300
    while not come():
        assert time.monotonic() < end, why
        time.sleep(0.2)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_in_jupyterlab(book, theme, tmp_path):
    """The notebook that was made elsewhere is not trusted; then it is."""
    settings = tmp_path / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"theme": "JupyterLab " + theme.title()}))
    with jupyterlab(book.parent, tmp_path) as (address, environment):
        for trusted in False, True:
            if trusted:
                subprocess.run([sys.executable, "-m", "jupyter", "trust", book], env=environment, check=True)
            with chromium(tmp_path / str(trusted), "--window-size=1400,4000") as driver:
                driver.get(f"{address}/doc/tree/{book.name}?reset")
                wait_for(lambda: len(driver.execute_script(LOOKS)) == 3, "JupyterLab shows no tables")
                wait_for(lambda: driver.execute_script("return document.body.dataset.jpThemeLight") ==
                         str(theme == "light").lower(), "JupyterLab has no theme")  # fmt: skip
                assert_is_readable(driver.execute_script(LOOKS), book, theme == "dark")


# ---- odd profiles --------------------------------------------------------------------------------

HOSTILE = [
    "</pre></details></div><script>window.ran=1</script>", "<script>window.ran=1</script>", "<!--<script>", "-->",
    "<img src=x onerror=window.ran=1>", "<svg onload=window.ran=1>", "' onmouseover='window.ran=1' x='",
    '" autofocus onfocus="window.ran=1" x="', "</style><style>*{display:none}</style>", "&lt;b&gt; &amp;lt; &#60;",
    "javascript:alert(1)", "%s %d {0}", "\x0e0\x0f\x10", "a\u202eb", "\u05d0\u05d1 = 1", "x = '\U0001f40d\u4e00'",
]  # fmt: skip


def load_cells(path):
    return [f"import clineprof\nprofile = clineprof.load({str(path)!r})\nprofile"]


def size_of_cell(book, place=0):
    """Bytes of the outputs in the file."""
    [cell] = [cell for at, cell in enumerate(json.loads(book.read_text("utf-8"))["cells"]) if at == place]
    return len(json.dumps(cell["outputs"], indent=1, ensure_ascii=False).encode())


def test_hostile_names_and_texts(tmp_path):
    source = "def f():\n" + "".join(f"    {text}\n" for text in HOSTILE)
    functions = [
        known_profiles.function(f"/srv/{i}{name}", 1, name, [
            {"line": 2, "hits": 1, "time": 9000 - i, "self": 9000 - i}])
        for i, name in enumerate(HOSTILE)]  # fmt: skip
    path = known_profiles.write(tmp_path / "p.lprof", functions, [
        known_profiles.text(one, source) for one in functions], {"command": HOSTILE[0], "events": 1})  # fmt: skip
    book = executed(tmp_path, load_cells(path))
    [told] = cells_of(book)
    shown = {"\x0e0\x0f\x10": r"\x0e0\x0f\x10", "a\u202eb": r"a\xe2\x80\xaeb"}
    summaries, tables = Shown(told.html, "summary").texts, Shown(told.html, "pre").texts
    names = [shown.get(name, name) for name in HOSTILE]
    assert [name for name, summary in zip(names, summaries) if f"  {name}  " not in summary] == []
    assert all("    " + name in tables[1] for name in names)
    page = tmp_path / "page.html"
    page.write_text("<!DOCTYPE html><meta charset=utf-8><p id=last>" + told.html + "<p id=end>", "utf-8")
    with chromium(tmp_path) as driver:
        driver.get(page.as_uri())
        assert driver.execute_script(
            "return [window.ran, document.querySelectorAll('details').length, "
            "document.getElementById('end').parentElement.tagName]") == [None, len(names), "BODY"]  # fmt: skip


def test_five_thousand_functions(tmp_path):
    """What has no room is in the page that the cell leads to."""
    functions = [known_profiles.function(f"/srv/{i % 50}.py", 3 * i + 1, f"f{i}", [
        {"line": 3 * i + 2, "hits": 1, "time": 10**7 - i, "self": 10**7 - i}]) for i in range(5000)]  # fmt: skip
    path = known_profiles.write(tmp_path / "p.lprof", functions, [
        known_profiles.text(one, f"def f{i}():\n    '<&>' * {i}\n")
        for i, one in enumerate(functions)], {"events": 1})  # fmt: skip
    book = executed(tmp_path, load_cells(path))
    [told] = cells_of(book)
    assert size_of_cell(book) <= LARGEST
    [(href, text)] = re.findall(r"<a href='(.*?)'>(.*?)</a>", told.html)
    count = len(Shown(told.html, "summary").texts)
    assert href == text and 20 < count < 5000 and f"{5000 - count} more functions" in told.html
    assert "f4999" in (tmp_path / href).read_text("utf-8")
    assert "f0" in told.text and "too long for a cell" in told.text


@pytest.mark.parametrize("line", ["x = 1", "'" + "<'&" * 90_000 + "'", "\u4e00" * 5000])
def test_a_function_of_ten_thousand_lines(tmp_path, line):
    count = 10_000 if len(line) < 9 else 300
    rows = [{"line": i + 2, "hits": 1, "time": 1000 + i, "self": 1000 + i} for i in range(count)]
    one = known_profiles.function("/srv/x.py", 1, "f", rows)
    path = known_profiles.write(tmp_path / "p.lprof", [one], [
        known_profiles.text(one, "def f():\n" + f"    {line}\n" * len(rows))])  # fmt: skip
    book = executed(tmp_path, load_cells(path))
    [told] = cells_of(book)
    hottest = len(rows) + 1
    assert size_of_cell(book) <= LARGEST and hits_of_html(told.html)["f"][hottest] == 1
    assert "   ..." in Shown(told.html, "pre").texts[1]


def test_a_profile_without_source_and_one_in_which_nothing_ran(tmp_path):
    one = known_profiles.function("/srv/x.py", 1, "f", [{"line": 2, "hits": 7, "time": 5000, "self": 5000}])
    with_numbers = known_profiles.write(tmp_path / "p.lprof", [one])
    empty = known_profiles.write(tmp_path / "e.lprof", [])
    numbers, nothing = cells_of(executed(tmp_path, [*load_cells(with_numbers), *load_cells(empty)]))
    assert hits_of_html(numbers.html) == {"f": {2: 7}}
    assert nothing.error is None and [list(data) for data in nothing.shown] == [["text/plain"]]


def test_a_thousand_lines_that_leak(tmp_path):
    rows = [{"line": i + 2, "hits": 1, "time": 1000, "self": 1000} for i in range(1000)]
    leaks = [{"line": i + 2, "bytes": 10**6, "bytes_per_call": 9.5, "bytes_per_second": 9.5, "confidence": 1.0}
             for i in range(1000)]  # fmt: skip
    one = known_profiles.function("/srv/x.py", 1, "f", rows, leaks=leaks)
    path = known_profiles.write(tmp_path / "p.lprof", [one], [
        known_profiles.text(one, "def f():\n" + "    x = 1\n" * 1000)], {"heap_interval": 1})  # fmt: skip
    book = executed(tmp_path, load_cells(path))
    [told] = cells_of(book)
    assert size_of_cell(book) <= LARGEST and "Leaks: 1000 lines" in Shown(told.html, "pre").texts[-1]


# ---- cells that end early ------------------------------------------------------------------------


@pytest.mark.parametrize("magic", ["%%clineprof\n", "%clineprof "])
def test_run_all_stops_at_an_error_whose_table_is_shown(magic, tmp_path):
    book = executed(tmp_path, ["%load_ext clineprof", magic + "1 / 0", "print('ran')"], allow_errors=False)
    assert (tmp_path / "stopped").read_text() == "stopped: ZeroDivisionError\n"
    _, failed, after = cells_of(book)
    assert hits_of_html(failed.html) == {"<module>": {1: 1}}
    assert failed.error == "ZeroDivisionError: division by zero" and after.out == ""


INTERRUPT = """
import queue, sys, time
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
client.execute("%load_ext clineprof\\nimport asyncio, time", reply=True, timeout=60)
request = client.execute(sys.argv[1])
kinds, begun = [], False
while True:
    try:
        message = client.get_iopub_msg(timeout=5)
    except queue.Empty:  # the interrupt came before the coroutine waited
        if begun:
            manager.interrupt_kernel()
        continue
    if message["parent_header"].get("msg_id") != request:
        continue
    kinds.append(message["msg_type"])
    if message["msg_type"] == "stream":
        kinds.pop()
        if "begun" in message["content"]["text"]:
            begun = True
            manager.interrupt_kernel()
    if kinds[-1:] == ["status"] and message["content"]["execution_state"] == "idle":
        break
reply = client.get_shell_msg(timeout=60)
while reply["parent_header"].get("msg_id") != request:
    reply = client.get_shell_msg(timeout=60)
told = reply["content"]
print([kind for kind in kinds if kind in ("display_data", "error")], told["status"], told["ename"])
client.stop_channels()
manager.shutdown_kernel(now=True)
"""


@pytest.mark.parametrize("cell", [
    "%%clineprof\nprint('begun', flush=True)\nwhile True:\n    time.sleep(0.01)",
    # not one long sleep: ipykernel sees the interrupt when something wakes its loop
    "%%clineprof\nprint('begun', flush=True)\nwhile True:\n    await asyncio.sleep(0.01)",
    "%clineprof print('begun', flush=True); time.sleep(100)",
    "print('begun', flush=True)\nwhile True:\n    time.sleep(0.01)",
])  # fmt: skip
def test_an_interrupt_shows_the_table_and_ends_the_cell(cell, tmp_path):
    """The kernel answers as to a cell without the magic."""
    pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
    ended = run_python(["-c", INTERRUPT, cell], tmp_path,
                       env={**PACKAGE, "JUPYTER_PLATFORM_DIRS": "1", "HOME": str(tmp_path)}, timeout=300)
    shown = ["display_data"] if "clineprof" in cell else []
    error = "CancelledError" if "await" in cell and "CancelledError" in ended.out else "KeyboardInterrupt"
    assert ended.out == f"{[*shown, 'error']} error {error}\n", ended.err
