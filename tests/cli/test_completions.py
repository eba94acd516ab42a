# SPDX-License-Identifier: MIT
"""What shells complete, and the man pages: share/, which tools/completions.py makes."""
import pathlib
import shutil
import sys

import pytest
from harness import CKERNPROF, ROOT, run

SHARE = ROOT / "share"

pytestmark = pytest.mark.once


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")


def test_they_are_made_from_what_the_commands_print(tmp_path):
    made = run([sys.executable, ROOT / "tools/completions.py", pathlib.Path(CKERNPROF).parent, tmp_path], tmp_path)
    assert made.code == 0, made.err
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {path.relative_to(SHARE) for path in SHARE.rglob("*") if path.is_file()} and len(files) == 8
    for path in files:
        assert (SHARE / path).read_text() == (tmp_path / path).read_text(), f"{path} is old: run make completions"


def completed(folder, *words):
    """What bash offers for the last of these words."""
    need("bash")
    name = words[0]
    script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _%s; printf "%%s\\n" "${COMPREPLY[@]}"' % name)
    ended = run(["bash", "-c", script, "bash", SHARE / "bash-completion/completions" / name, *words], folder)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.split()


@pytest.mark.parametrize(("words", "offered"), [
    ("ckernprof --tra", "--tracer"),
    ("ckernprof -l -v --no-p", "--no-preimports"),
    ("ckernprof --tracer ", "auto probe monitoring settrace light"),
    ("ckernprof --tracer = p", "probe"),
    ("ckernprof --tracer =", "auto probe monitoring settrace light"),
    ("ckernprof --tracer = probe --memory a", "anon"),
    ("ckernprof -o file --tra", "--tracer"),
    ("ckernprof -o ", ""),  # a file
    ("ckernprof -lo ", ""),
    ("ckernprof -lp mod --tra", "--tracer"),
    ("ckernprof -lo file --tracer m", "monitoring"),
    ("ckernprof -li 5 --tra", "--tracer"),
    ("ckernprof --timeline 0.5 --tra", "--tracer"),
    ("ckernprof --timeline script.py --tra", ""),
    ("ckernprof -lm module --tra", ""),
    ("ckernprof -mmodule --tra", ""),
    ("ckernprof --heap = n", "native"),
    ("ckernprof --heap =", "python native"),
    ("ckernprof --heap = native --tra", "--tracer"),
    ("ckernprof --heap ", ""),
    ("ckernprof --no-me", "--no-memory"),
    ("ckernprof --verb", "--verbose"),
    ("clineprof --t", "--top --to"),
    ("clineprof --to ", "@--format "),
    ("ckernprof sc", ""),
    ("ckernprof script.py --tra", ""),  # it is the script's
    ("ckernprof -m module --tra", ""),
    ("ckernprof -- --tra", ""),
    ("clineprof ", "diff ab callers merge top attach dump recover mem hook lsp torch"),
    ("clineprof d", "diff dump"),
    ("clineprof --form", "--format"),
    ("clineprof file --format h", "html heapprofile"),
    ("clineprof diff a b --fail", "--fail-on"),
    ("clineprof ab --ke", "--keep"),
    ("clineprof diff --format ", "text json html github"),
    ("clineprof mem p", "plot peak"),
    ("clineprof hook ", "install remove status"),
    ("clineprof top ", ""),
    ("clineprof lsp --l", "--limit"),
])
def test_bash_completes(words, offered, tmp_path):
    if offered.startswith("@"):  # what another line is offered
        offered = " ".join(completed(tmp_path, "clineprof", *offered[1:].split(" ")))
        assert "html" in offered
    assert sorted(completed(tmp_path, *words.split(" "))) == sorted(offered.split())


@pytest.mark.parametrize(("line", "offered"), [
    ("ckernprof --trac", ["--tracer"]),
    ("ckernprof --tracer p", ["probe"]),
    ("ckernprof -lo file --trac", ["--tracer"]),
    ("ckernprof -i 5 --trac", ["--tracer"]),
    ("ckernprof --heap=n", ["--heap=native"]),
    ("ckernprof --verb", ["--verbose"]),
    ("ckernprof -m module --trac", []),
    ("ckernprof script.py --trac", []),
    ("ckernprof -- --trac", []),
    ("clineprof di", ["diff"]),
    ("clineprof diff a --form", ["--format"]),
    ("clineprof mem p", ["peak", "plot"]),
])
def test_fish_completes(line, offered, tmp_path):
    need("fish")
    file = SHARE / "fish/vendor_completions.d" / f"{line.split()[0]}.fish"
    # a command that is not there has no completions
    ended = run(["fish", "--no-config", "-c", f"source '{file}'; complete -C '{line}'"], tmp_path,
                env={"PATH": f"{pathlib.Path(CKERNPROF).parent}:/usr/bin:/bin", "HOME": str(tmp_path)})
    assert sorted(row.split("\t")[0] for row in ended.out.splitlines()) == offered, ended.err


ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; fpath=(${(q)1} \\$fpath); autoload -U compinit; compinit -u -D"
zpty -w shell "show() { print -r \\"<\\$BUFFER>\\" }; zle -N show; bindkey ^T show; print REA''DY"
zpty -r -m shell seen '*READY*'
zpty -w -n shell "$2"$'\\t\\x14'
zpty -r -m shell seen "*<$3*" && print found
[[ $seen == *"bad option"* ]] && print $seen
"""


@pytest.mark.parametrize(("line", "offered"), [
    ("ckernprof --trac", "ckernprof --tracer"),
    ("ckernprof --tracer pr", "ckernprof --tracer probe"),
    ("ckernprof -l --memory=a", "ckernprof -l --memory=anon"),
    ("ckernprof --verb", "ckernprof --verbose"),
    ("ckernprof -l --heap=n", "ckernprof -l --heap=native"),
    ("clineprof di", "clineprof diff"),
    ("clineprof d", "clineprof diff"),
    ("clineprof diff a --fail", "clineprof diff a --fail-on"),
    ("clineprof mem at", "clineprof mem attach"),
    ("ckernprof -m module --trac", "ckernprof -m module --trac>"),
    ("ckernprof -lm module --trac", "ckernprof -lm module --trac>"),
    ("ckernprof script.py --trac", "ckernprof script.py --trac>"),
])
def test_zsh_completes(line, offered, tmp_path):
    """zsh at a terminal, with a key pressed; without an answer it waits for one until the time is up."""
    need("zsh")
    ended = run(["zsh", "-f", "-c", ZSH, "zsh", SHARE / "zsh/site-functions", line, offered], tmp_path,
                env={"HOME": str(tmp_path)}, timeout=300)
    assert (ended.out, ended.err) == ("found\n", "")


@pytest.mark.parametrize("name", ["ckernprof", "clineprof"])
def test_the_man_pages_have_no_faults(name, tmp_path):
    need("groff")
    ended = run(["groff", "-ww", "-man", "-Tascii", "-P-cbou", SHARE / f"man/man1/{name}.1"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "\nSYNOPSIS\n" in ended.out and "-o, --outfile FILE\n" in ended.out
