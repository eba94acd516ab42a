# SPDX-License-Identifier: MIT
"""fixtures/heap/attacks: programs that do to memory what can be done to it. They must do what they do
alone, and where a line says `# keeps N`, N bytes of it are alive in the end."""

import re

import pytest
from harness import FIXTURES, SANITIZED, Profile, own_messages_removed, run_ckernprof, run_python

pytestmark = pytest.mark.skipif(SANITIZED, reason="limits and resident sizes mean nothing here")

PROGRAMS = sorted((FIXTURES / "heap" / "attacks").glob("*.py"))
ALONE = ("import builtins, runpy, sys; builtins.profile = lambda f: f; "
         "runpy.run_path(sys.argv[1], run_name='__main__')")  # fmt: skip
MODES = {
    "exact": ["--heap", "--heap-interval=1", "--leaks"],
    "over time": ["--heap", "--timeline", "0.001", "-C", "--memory", "anon"],
}
ALLOCATORS = ["malloc", "debug", "malloc_debug"]


def ends_as_alone(program, folder, options, environment=None):
    """Only what is said of leaks that cannot be judged, and of gc.callbacks, may be added."""
    alone = run_python(["-c", ALONE, program], folder, env=environment)
    ended = run_ckernprof(["-l", *options, "-o", "out.lprof", program], folder, env=environment)
    own = [line for line in ended.err.splitlines()
           if not line.startswith(("ckernprof: no verdict on leaks: ", "ckernprof: the program cleared gc.callbacks; "))]
    assert (own_messages_removed(ended.out), ended.code) == (alone.out, alone.code), ended.err
    assert own == alone.err.splitlines()


def check_what_lines_keep(program, path):
    live = {}
    for function in Profile(path).functions.values():
        for line, size in Profile.measure(function, "live").items():
            live[line] = live.get(line, 0) + size
    for number, text in enumerate(program.read_text("utf-8").splitlines(), 1):
        keeps = re.search(r"  # keeps (\d+)$", text)
        if keeps:
            assert live.get(number, 0) == pytest.approx(int(keeps[1]), rel=0.05, abs=20_000), text


@pytest.mark.parametrize("mode", ["exact", pytest.param("over time", marks=pytest.mark.once)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_does_not_notice(tmp_path, program, mode):
    ends_as_alone(program, tmp_path, MODES[mode])
    if mode == "exact" and (tmp_path / "out.lprof").exists():
        check_what_lines_keep(program, tmp_path / "out.lprof")


@pytest.mark.once
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("name", ["freed_by_others", "resized", "forks_among_threads", "no_memory"])
def test_other_allocators_below(tmp_path, name, allocator):
    program = FIXTURES / "heap" / "attacks" / f"{name}.py"
    ends_as_alone(program, tmp_path, MODES["exact"], {"PYTHONMALLOC": allocator})
    check_what_lines_keep(program, tmp_path / "out.lprof")
