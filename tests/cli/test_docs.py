# SPDX-License-Identifier: MIT
"""What README.md and docs/ show is what happens: every example is run (tests/pages.py says how), and every
option, file and link that a page names exists."""
import html
import re
import sys

import msgpack
import pages
import pytest
from harness import BUILD, CKERNPROF, ROOT, SANITIZED, run, run_ckernprof, run_python, working_gdb

README = (ROOT / "README.md").read_text("utf-8")
PICTURE = (ROOT / "docs" / "terminal.svg").read_text("utf-8")
FORMAT = (ROOT / "docs" / "format.md").read_text("utf-8")


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
    assert "](docs/terminal.svg)" in README.split("## ")[0]
    ended = run([CKERNPROF, "-l", "-v", "-o", tmp_path / "demo.py.lprof", "fixtures/demo.py"], ROOT)
    printed = [line.split() for line in ended.out.splitlines() if re.match(r" +\d+ +", line)]
    shown = [row.split() for row in rows_of_the_picture() if re.match(r"\d+ ", row)]
    assert len(printed) == len(shown) == 21
    for ours, theirs in zip(printed, shown):
        assert ours[0] == theirs[0]  # the line, and its hits, which are exact, where it has them
        if "MiB" in ours:
            assert ours[1] == theirs[1]
            source, its = ("".join(row).rpartition("MiB")[2] for row in (ours, theirs))
            assert source == its


# ---- every example of every page ----

# Building, and servers that do not end by themselves. What runs them is said behind each.
NOT_RUN = {
    "git clone ": "the address is the reader's",
    "cd clineprof": "the same",
    "make ": "by whoever runs this",
    "python3 -m venv ~": "tests/cli/test_wheel.py",
    ". ~/venv": "the same",
    "pip install .": "the same",
    "pip install '.[lsp]'": "the same",
    "ckernprof -l --prof-child-procs -p application -m gunicorn": "tests/cli/test_processes.py",
    "ckernprof -l --prof-child-procs -p dags/sums.py -m airflow": "tests/engines/test_airflow.py",
}
# The cells of a notebook are run by tests/api/test_notebook.py, what installs by tests/cli/test_wheel.py and
# tests/cli/test_install.py. No other page is without commands.
NOT_SHELL = {"docs/notebook.md", "docs/installing.md"}
OF_EDITORS = "lua", "elisp", "json"  # settings, which tests/cli/test_editors.py tries
TRIES = 3  # a busy machine makes lines slow that are not


def folder_for(page, folder):
    """Where a reader of the page stands: of the README in the root of the clone, built."""
    here = folder / "here"
    here.mkdir(parents=True)
    if page == "README.md":
        (here / "build").mkdir()
        (here / "fixtures").symlink_to(ROOT / "fixtures")
        (here / "build" / "bin").symlink_to(BUILD / "bin")
    return here


NEWER = ["docs/light.md", "docs/counters.md", "docs/viewing.md"]  # pages with --light, --native, and such lines


@pytest.mark.once
@pytest.mark.parametrize("page", [page for page in pages.PAGES if page not in NOT_SHELL and pages.steps(page)])
def test_the_examples_of_a_page(page, tmp_path):
    if SANITIZED and page == "docs/heap.md":
        pytest.skip("a sanitizer stands before the library that counts malloc")
    if page == "docs/attach.md" and sys.version_info < (3, 14) and working_gdb() is None:
        pytest.skip("gdb is not installed, or cannot call functions on this machine")
    if sys.version_info < (3, 11) and page in NEWER:
        pytest.skip("3.10 has no probes, and other lines for decorators and for calls over several lines")
    for number in range(TRIES):
        folder = tmp_path / str(number)
        wrong, ran = pages.run_page(page, folder_for(page, folder), pages.environment_of(folder), tuple(NOT_RUN))
        if not wrong:
            break
    assert not wrong, wrong
    assert ran


@pytest.mark.once
@pytest.mark.parametrize("page", pages.PAGES)
def test_every_block_of_a_page_has_a_meaning(page):
    for block in pages.blocks(page):
        assert block.language in ("console", "python", "cython", "text", "toml", "yaml", "", *OF_EDITORS), block.text
        assert block.language != "" or "\n$ " not in f"\n{block.text}", block.text


def test_every_command_that_is_not_run_is_on_a_page():
    every = [step.command for page in pages.PAGES for step in pages.steps(page)]
    assert [start for start in NOT_RUN if not any(command.startswith(start) for command in every)] == []


# ---- names and links ----


def without_blocks(page, only_drawings=False):
    return re.sub(r"^```(\w*)\n.*?^```$", lambda found: found[0] if only_drawings and found[1] else "",
                  pages.text_of(page), flags=re.M | re.S)


def anchors(page):
    """What `#..` behind the page's name may be."""
    titles = re.findall(r"^#+ (.*)$", without_blocks(page), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.once
@pytest.mark.parametrize("page", pages.PAGES)
def test_every_link_of_a_page_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", pages.text_of(page))
    for link in links:
        if link.startswith(("http://", "https://")):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.resolve().relative_to(ROOT)), link


@pytest.mark.once
def test_the_readme_leads_to_every_page():
    listed = re.findall(r"^\| \[\w+\]\((docs/\w+\.md)\) \| .+ \|$", README, re.M)
    assert sorted(listed) == [page for page in pages.PAGES if page != "README.md"]


SUBCOMMANDS = {"ab", "attach", "callers", "diff", "dump", "hook", "lsp", "merge", "mem", "recover", "top", "torch"}
# Options of other programs, and one that --help leaves out.
OF_OTHERS = {"--help-page", "--callgrind", "--only", "--countname", "--preload", "--max-tasks-per-child",
             "--nproc-per-node", "--cov", "--profile", "--nvtx-include"}


def all_options(tmp_path):
    """Every option that the product has, from what it says of itself."""
    programs = pages.BUILD / "bin"
    asked = [[programs / name, "--help-page"] for name in ("ckernprof", "clineprof")]
    asked += [[programs / "clineprof", name, "--help"] for name in sorted(SUBCOMMANDS - {"mem"})]
    asked += [[programs / "clineprof", "mem", name, "--help"] for name in ("run", "attach", "plot", "peak", "rm")]
    text = "".join(run(words, tmp_path).out for words in asked)
    text += run_python(["-m", "pytest", "--help", "-p", "clineprof._pytest"], tmp_path,
                       env={"PYTHONPATH": str(BUILD / "python")}).out
    for name in "_notebook/magics.py", "_global/__init__.py":
        text += (ROOT / "src" / "clineprof" / name).read_text("utf-8")
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))


@pytest.mark.once
def test_every_option_that_a_page_names_exists(tmp_path):
    real = all_options(tmp_path) | OF_OTHERS
    for page in pages.PAGES:
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*[a-z]", without_blocks(page, only_drawings=True)))
        assert named <= real, (page, named - real)


@pytest.mark.once
def test_every_option_of_the_report_is_on_the_page_on_viewing(tmp_path):
    page = (ROOT / "docs" / "viewing.md").read_text("utf-8")
    out = run([CKERNPROF.rsplit("/", 1)[0] + "/clineprof", "--help-page"], tmp_path).out
    real = set(re.findall(r"^\| `(--?[a-zA-Z][\w-]*)", out, re.M))
    elsewhere = {"-c", "--no-config", "-V", "-h", "--read-sources"}
    assert {name for name in real - elsewhere if f"`{name}" not in page} == set()


@pytest.mark.once
@pytest.mark.parametrize("page", pages.PAGES)
def test_files_commands_and_targets_that_a_page_names_exist(page):
    text = pages.text_of(page)
    rooms = r"(?<![\w/.-])(?:src|kernprof|tests|tools|bench|fixtures|docs)/[\w./-]*\w"
    assert {name for name in re.findall(rooms, without_blocks(page)) if not (ROOT / name).exists()} == set()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert set(re.findall(r"(?:`|\$ )make ([a-z][a-z-]*)", text)) <= targets
    assert set(re.findall(r"\b(\w*kernprof\w*) -", text)) <= {"ckernprof", "kernprof"}
    assert set(re.findall(r"(?:`|\$ )clineprof ([a-z]+)(?=[ `])", text)) <= SUBCOMMANDS


@pytest.mark.once
def test_every_column_of_the_file_is_in_its_document(script, tmp_path):
    path = script("@profile\ndef f():\n    x = bytearray(1 << 20)\n    return len(x)\nf()\n")
    ended = run_ckernprof(["-l", "--source=files", path], tmp_path)
    profile = msgpack.unpackb((tmp_path / "program.py.lprof").read_bytes(), strict_map_key=False)
    names = set(profile) | set(profile["meta"]) | set(profile["functions"][0])
    names |= set(profile["functions"][0]["lines"]) | set(profile["files"][0])
    missing = {name for name in names
               if f"`{name}`" not in FORMAT and f'"{name}"' not in FORMAT}
    assert ended.code == 0 and not missing


def test_twice_v_says_which_tracer_ran_and_what_was_selected(script, tmp_path):
    path = script("@profile\ndef f():\n    return 1\nf()\n")
    err = run_ckernprof(["-l", "-vv", path], tmp_path).err
    assert "ckernprof: tracer " in err and " 1 function selected, 1 line event," in err
    assert f"ckernprof: selected f, {path}:1" in err


@pytest.mark.once
def test_version(tmp_path):
    ended = run([CKERNPROF, "-V"], tmp_path)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", ended.out)


# ---- docs/compare.md ----

COMPARE = pages.text_of("docs/compare.md")


@pytest.mark.once
def test_every_option_of_diff_is_in_its_document(tmp_path):
    programs = CKERNPROF.rsplit("/", 1)[0]
    out = "".join(run([f"{programs}/clineprof", name, "--help"], tmp_path).out for name in ("diff", "ab"))
    real = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", out, re.M)) - {"--help", "--unit", "--outfile", "--runs"}
    told = set(re.findall(r"\| `(--[\w-]+)", COMPARE))
    assert real == told


# ---- docs/memory.md ----


def test_the_page_on_memory_is_right_about_who_leaks(tmp_path):
    """With every tracer: the lines' own numbers, which the page shows, name line 5, and resident memory line 6."""
    [server] = [block.text for block in pages.blocks("docs/memory.md") if pages.file_of(block) == "server.py"]
    (tmp_path / "server.py").write_text(server)
    ended = run_ckernprof(["-l", "--leaks", "server.py"], tmp_path)
    assert ended.code == 0, ended.err
    lines = ended.profile().function("handle")["lines"]
    grown, live = (dict(zip(lines["line"], lines[name])) for name in ("grown", "live"))
    assert live[5] > 5e6 > 0 == live.get(6)
    if not SANITIZED:
        assert grown[6] > 5e6 > 1e6 > grown[5]
