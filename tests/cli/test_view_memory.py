# SPDX-License-Identifier: MIT
"""How much memory the viewer takes for a report, in sizes of the file."""

import random

import profiles
import pytest
from harness import SANITIZED, run_python, run_viewer, viewer_command

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(SANITIZED, reason="sanitizers keep what is freed, and shadows of all memory"),
]
MOST = 3
random.seed(5)


def one(number, lines, text=True):
    def row():
        return random.randrange(300), random.randrange(10**6) / 1000, random.randrange(2)

    source = "def f():\n" + "".join(f"    value_{at} = compute({at})\n" for at in range(2, lines + 1))
    return profiles.function(f"f{number}", {at: row() for at in range(2, lines + 1)},
                             source if text else None, file=f"/srv/module{number // 50}.py")  # fmt: skip


MAKERS = {
    "functions": lambda: [one(number, 20) for number in range(10_000)],
    "without source": lambda: [one(number, 40, text=False) for number in range(10_000)],
    "tiny functions": lambda: [one(number, 2) for number in range(40_000)],
    "one function": lambda: [one(1, 300_000)],
}


# In a small process of its own: what a program takes is at least what the process held that started it.
PEAK = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(status, usage.ru_maxrss)
process.returncode = status
"""


def peak(arguments, folder):
    ended = run_python(["-c", PEAK, *viewer_command(), *arguments], folder)
    status, kibibytes = map(int, ended.out.split())
    assert status == 0, ended.err
    return kibibytes * 1024


@pytest.fixture(scope="module", params=MAKERS)
def large(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    profiles.write(folder / "large.lprof", *MAKERS[request.param]())
    profiles.write(folder / "small.lprof", one(1, 3))
    return folder


@pytest.mark.parametrize("options", [[], ["-mtz"], ["--sort-by=increment"], ["--top=30"], ["--mp"], ["-o", "out"]],
                         ids=" ".join)  # fmt: skip
def test_a_report_takes_at_most_three_times_the_file(large, options):
    size = (large / "large.lprof").stat().st_size
    assert size > 5_000_000, "or the interpreter is what one sees"
    taken = peak([*options, "large.lprof"], large) - peak([*options, "small.lprof"], large)
    assert taken <= MOST * size, f"{taken / size:.2f} times the file"


def test_a_file_that_is_refused_is_refused_with_a_reason(tmp_path):
    with open(tmp_path / "huge.lprof", "wb") as file:
        file.truncate((1 << 31) + 1)
    ended = run_viewer(["huge.lprof"], tmp_path)
    assert ended.code == 1
    assert ended.err == "clineprof: huge.lprof: too large: a profile of more than 2 GiB is not read\n"
