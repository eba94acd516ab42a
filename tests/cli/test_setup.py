# SPDX-License-Identifier: MIT
"""What a build needs is installed, or said: tools/setup.sh on a machine without a compiler. Its id, sudo,
apt-get and apt-cache are stand-ins, which note how they are called."""
import os
import re
import shutil
import subprocess
import sys

import pytest
from harness import ROOT, clean_environment
from terminal import on_terminal

pytestmark = pytest.mark.once

PROGRAMS = ("awk cat cmp date dirname env find grep ln make mkdir mktemp mv nproc paste pkg-config rm sed sh "
            "tail touch true which").split()  # fmt: skip
STAND_INS = {
    "id": 'echo "${IS_ROOT:-1000}"',
    "sudo": """
        echo "sudo $*" >>"$CALLS"
        if [ "$1" = -n ]; then
            shift
            [ -z "${PASSWORD:-}" ] || { echo "sudo: a password is required" >&2; exit 1; }
        fi
        IS_ROOT=0 exec "$@" """,
    "apt-get": """
        case "$*" in *--print-uris*) echo "'http://x/gcc.deb' gcc.deb 93000000 MD5Sum:0"; exit ;; esac
        [ "${IS_ROOT:-}" = 0 ] || { echo "E: are you root?" >&2; exit 100; }
        echo "apt-get $*" >>"$CALLS"
        case "$*" in
            *update*) touch "$LISTS" ;;
            *gcc*) [ -n "${BROKEN:-}" ] || ln -s "$BIN/compiler" "$BIN/cc" ;;
        esac""",
    "apt-cache": '[ ! -e "$LISTS" ] || case $2 in gcc | libmsgpack-dev) echo "Package: $2" ;; esac',
    "dpkg": "",
}
# A compiler is what it takes to see that the libraries are here.
PACKAGES = r"gcc libc6-dev libmsgpack-dev zlib1g-dev(?: (?:python3\.\d+-dev|libcriterion-dev|python3\.\d+-venv))*"
LINE = re.compile(rf"setup: as root, type: apt-get install -y --no-install-recommends {PACKAGES}\r?$", re.M)
INSTALL = re.compile(rf"apt-get -qq install -y --no-install-recommends {PACKAGES}$")
QUESTION = "setup: install them with sudo apt-get (93.0 MB to download)? [Y/n] "


class Machine:
    """One without a compiler, where a person, root or a service runs setup.sh."""

    def __init__(self, folder):
        self.bin, self.log, self.lists = folder / "bin", folder / "calls", folder / "lists"
        self.temporary, self.out = folder / "temporary", folder / "build"
        for place in self.bin, self.temporary:
            place.mkdir()
        self.log.touch()
        self.lists.touch()
        for name in PROGRAMS:
            (self.bin / name).symlink_to(shutil.which(name))
        compiler = f'PATH="{os.environ["PATH"]}" exec {shutil.which("cc")} "$@"'
        for name, text in {**STAND_INS, "compiler": compiler}.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / name).chmod(0o755)
        self.environment = {"PATH": str(self.bin), "CALLS": str(self.log), "LISTS": str(self.lists),
                            "BIN": str(self.bin), "TMPDIR": str(self.temporary)}  # fmt: skip
        self.setup = ["sh", str(ROOT / "tools/setup.sh"), "build", sys.executable]
        self.make = ["make", "-C", str(ROOT), "--no-print-directory", f"PYTHON={sys.executable}",
                     f"OUT={self.out}"]  # fmt: skip

    def run(self, *command, **environment):
        """Without a terminal: the exit status, and what it said."""
        ended = subprocess.run(command or self.setup, env=self.all(environment), text=True,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        return ended.returncode, ended.stdout + ended.stderr

    def on_terminal(self, typed, *command, **environment):
        data, code = on_terminal(command or self.setup, ROOT, typed=typed, **self.all(environment))
        return code, data.decode()

    def all(self, environment):
        return {**clean_environment(), **self.environment, **environment}

    def calls(self):
        return self.log.read_text().splitlines()

    def has_compiler(self):
        return (self.bin / "cc").exists()

    def nothing_was_called(self):
        return self.calls() == [] and not self.has_compiler() and list(self.temporary.iterdir()) == []


@pytest.fixture
def machine(tmp_path):
    if not shutil.which("cc") or not shutil.which("pkg-config"):
        pytest.skip("a compiler or pkg-config is not installed")
    return Machine(tmp_path)


def test_root_installs_without_a_question(machine):
    code, said = machine.run(IS_ROOT="0")
    [call] = machine.calls()
    assert (code, bool(INSTALL.match(call))) == (0, True), said
    assert "setup:   gcc libc6-dev: the C compiler\n" in said
    assert "(93.0 MB to download)\n" in said and "MSGPACK_LIBS := -lmsgpack" in said
    assert list(machine.temporary.iterdir()) == []
    assert "?" not in machine.on_terminal(b"", IS_ROOT="0")[1]


def test_without_root_and_sudo_the_command_is_said(machine):
    (machine.bin / "sudo").unlink()
    code, said = machine.run()
    assert code == 1 and LINE.search(said) and said.endswith("\nsetup: then run make again\n")
    assert "setup:   gcc libc6-dev: the C compiler\n" in said
    assert machine.nothing_was_called()
    assert machine.on_terminal(b"\n")[0] == 1 and machine.nothing_was_called()


def test_a_machine_without_package_lists_needs_them_first(machine):
    machine.lists.unlink()
    code, said = machine.run(SETUP="no")
    assert code == 1 and "setup: as root, type: apt-get update && apt-get install " in said
    assert "'^libmsgpack(-c)?-dev$'" in said  # which of its two names is not known yet
    code, said = machine.run()
    assert code == 0, said
    assert [call.split()[-1] for call in machine.calls()[:2]] == ["true", "update"]
    assert INSTALL.match(machine.calls()[-1])


def test_without_a_terminal_sudo_must_do_without_a_password(machine):
    code, said = machine.run()
    tried, sudo, apt = machine.calls()
    assert code == 0 and tried == "sudo -n true" and INSTALL.match(apt)
    assert sudo == f"sudo -n env DEBIAN_FRONTEND=noninteractive {apt}"
    assert QUESTION not in said


def test_a_password_is_never_waited_for(machine):
    code, said = machine.run(PASSWORD="yes")
    assert code == 1 and LINE.search(said) and "sudo: a password is required\n" in said
    assert machine.calls() == ["sudo -n true"] and not machine.has_compiler()
    assert "installing" not in said


@pytest.mark.parametrize("answer", [b"\n", b"y\n", b"YES\n"])
def test_on_a_terminal_sudo_is_used_after_a_question(answer, machine):
    code, said = machine.on_terminal(answer, PASSWORD="yes")
    sudo, apt = machine.calls()
    assert code == 0 and sudo == f"sudo env DEBIAN_FRONTEND=noninteractive {apt}" and INSTALL.match(apt)
    assert said.count(QUESTION) == 1 and said.index("the C compiler") < said.index(QUESTION)


@pytest.mark.parametrize("answer", [b"no\n", b"n\n", b"what?\n", b"\x04"], ids=["no", "n", "other", "end"])
def test_no_prints_the_command(answer, machine):
    code, said = machine.on_terminal(answer)
    assert code == 1 and said.count(QUESTION) == 1 and LINE.search(said)
    assert machine.nothing_was_called()


@pytest.mark.parametrize("root", ["0", "1000"])
def test_setup_no_installs_nothing(root, machine):
    code, said = machine.run(SETUP="no", IS_ROOT=root)
    assert code == 1 and LINE.search(said)
    code, said = machine.run(*machine.make, "all", "SETUP=no", IS_ROOT=root)
    assert code == 2 and LINE.search(said)
    assert re.search(r"\nMakefile:\d+: \*\*\* this machine is not set up; nothing was built\.  Stop\.\n$", said)
    assert "No such file" not in said
    code, said = machine.on_terminal(b"\n", *machine.make, "all", SETUP="no", IS_ROOT=root)
    assert code == 2 and LINE.search(said) and QUESTION not in said
    assert machine.nothing_was_called()


def test_what_cannot_be_installed_is_said(machine):
    code, said = machine.run(BROKEN="yes", IS_ROOT="0")
    assert code == 1 and LINE.search(said)
    (machine.bin / "apt-get").unlink()
    code, said = machine.run(IS_ROOT="0")
    assert code == 1 and "setup: please install them (these are Debian's names; others are alike)\n" in said


@pytest.mark.parametrize("jobs", ["-j1", "-j4"])
def test_make_check_says_what_it_fetches_and_then_asks(jobs, machine):
    venv = machine.out / "venv"
    code, said = machine.on_terminal(b"no\n", *machine.make, jobs, "check", f"VENV={venv}")
    assert code == 2 and said.count(QUESTION) == 1 and LINE.search(said)
    assert "with pip" not in said  # VENV is used as it is


@pytest.mark.parametrize("goal", ["check", "full"])
def test_what_pip_fetches_is_said_before_the_question(goal, machine):
    """The version names an environment that this checkout does not have."""
    code, said = machine.on_terminal(b"no\n", *machine.make, goal, "PYTHON_VERSION=none")
    first, question, _ = said.partition(QUESTION)
    assert code == 2 and question
    sizes = r"with pip: about \d+ MB, \d+ MB in build/venv/\S+-none\b"
    assert len(re.findall(f"  FETCH packages for the Python tests {sizes}", first)) == 1
    assert len(re.findall(f"  FETCH packages for more Python tests {sizes}", first)) == (goal == "full")
    assert ("  SKIP  tests that need a browser, mpirun, gdb or large packages: make full " in first) == (goal == "check")


@pytest.mark.parametrize("goal, packages", [("check", ""), ("quick", ""), ("full", "openmpi-bin chromium chromium-driver gdb strace"),
                                            ("engines", "openmpi-bin default-jre-headless")])
def test_programs_that_only_some_tests_need_are_installed_for_them(machine, goal, packages):
    code, said = machine.run(*machine.make, "-n", goal, IS_ROOT="0")
    found = [call.rpartition("--no-install-recommends ")[2] for call in machine.calls() if "install" in call]
    assert found[1:] == [packages] * bool(packages)
    assert not packages or f"setup: installing {packages} with apt-get" in said


@pytest.mark.parametrize("level", ["full", "engines"])
def test_tests_can_do_without_them(machine, level):
    code, said = machine.run("sh", str(ROOT / "tools/setup.sh"), level, SETUP="no")
    assert code == 0 and machine.nothing_was_called()
    assert "type: apt-get install -y --no-install-recommends openmpi-bin " in said
    assert said.endswith("setup: until then these tests are skipped\n")
