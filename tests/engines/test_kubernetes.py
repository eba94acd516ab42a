# SPDX-License-Identifier: MIT
"""An indexed Job of Kubernetes, which is an environment and a shared folder: each pod has its own host name and its own
process numbers. And what goes wrong in pods: a folder that cannot be written, and a pod that is killed."""
import os
import re
import signal
import subprocess

import pages
import pytest
from engine import SECONDS, Started, hits, merged, needs
from harness import ckernprof, run_viewer

pytestmark = needs(heavy=False)

PODS = 3
PROGRAM = """\
import os
import time
from multiprocessing import Pool

@profile
def work(n):
    for i in range(n):
        done = i  # turn
    return n

if __name__ == "__main__":
    first = 10 * int(os.environ["JOB_COMPLETION_INDEX"])
    with Pool(2) as pool:
        print(sum(pool.map(work, range(first, first + 10))))
    if "-lost" in os.uname().nodename:
        work(100)
        open("ready", "w").close()
        time.sleep(1000)
"""
TURNS = sum(range(10 * PODS))


def command_of_the_page():
    """The words of the container's command in the page's example."""
    [job] = [block.text for block in pages.blocks("docs/processes.md") if "kind: Job" in block.text]
    return re.findall(r'"([^"]*)"', re.search(r"^ +command: \[(.*)\]$", job, re.M)[1])


@pytest.fixture
def pod(tmp_path):
    """pod(index, name) starts one; all have one folder."""
    inside = ["unshare", "-u", "-p", "-f", "--mount-proc", "sh", "-c", 'hostname "$HOSTNAME" && exec "$@"', "sh"]
    try:
        tried = subprocess.run([*inside, "true"], env={**os.environ, "HOSTNAME": "pod"}, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if tried.returncode != 0:
        pytest.skip(f"no namespaces here: {tried.stderr.strip()}")
    (tmp_path / "train.py").write_text(PROGRAM)
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    words = [word.replace("/profiles", str(profiles)) for word in command_of_the_page()]
    assert words[0] == "ckernprof"

    def start(index, name):
        log = tmp_path / name
        log.mkdir()
        (log / "train.py").symlink_to(tmp_path / "train.py")
        environment = {"JOB_COMPLETION_INDEX": str(index), "HOSTNAME": name}
        return Started([*inside, *ckernprof(*words[1:])], log, environment)

    start.profiles = profiles
    return start


def end(pod):
    assert pod.process.wait(SECONDS) == 0, pod.said()


def test_pods_with_one_folder(pod, tmp_path):
    for one in [pod(index, f"train-{index}-abcde") for index in range(PODS)]:
        end(one)
    names = [f"train.{index}.train-{index}-abcde.lprof" for index in range(PODS)]
    assert sorted(path.name for path in pod.profiles.iterdir()) == names
    path = merged(pod.profiles, *names)
    assert hits(path, tmp_path / "train.py", "# turn") == TURNS
    table = run_viewer(["--ranks", path.name], pod.profiles)
    assert re.findall(r"^ +\d+ +(\d) .* (train-\d-abcde)$", table.out, re.M) == [
        (str(index), f"train-{index}-abcde") for index in range(PODS)], table.out  # fmt: skip


def test_a_pod_that_is_killed_and_replaced(pod, tmp_path):
    """The live files of the first pod say what it had counted. The second pod has the same index, and another name."""
    lost = pod(1, "train-1-lost")
    lost.wait_until((tmp_path / "train-1-lost" / "ready").exists)
    number = lost.process.pid
    with open(f"/proc/{number}/task/{number}/children") as children:
        os.kill(int(children.read()), signal.SIGKILL)  # as the kernel does at the memory limit
    assert lost.process.wait(SECONDS) != 0
    files = sorted(path.name for path in pod.profiles.iterdir())
    assert files and not [name for name in files if name.endswith("train-1-lost.lprof")], lost.said()
    end(pod(1, "train-1-again"))
    assert hits(merged(pod.profiles, "train.1.train-1-again.lprof"), tmp_path / "train.py", "# turn") == 145
    assert hits(merged(pod.profiles, *files), tmp_path / "train.py", "# turn") == 145 + 100


@pytest.mark.parametrize("missing", [True, False])
def test_a_folder_that_takes_no_files(pod, missing):
    """A pod without a place for its profile says so before the program begins."""
    pod.profiles.rmdir()
    if not missing:
        pod.profiles.write_text("no folder")
    one = pod(1, "train-1-abcde")
    assert one.process.wait(SECONDS) == 1
    assert re.fullmatch(r"ckernprof: cannot write '.*/profiles/train\.1\.train-1-abcde\.lprof': "
                        r"(No such file or|Not a) directory\n", one.said())
