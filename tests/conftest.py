# SPDX-License-Identifier: MIT
"""Settings of all Python tests. CLINEPROF_TEST_TRACER chooses the tracer under test,
CLINEPROF_TEST_CKERNPROF the launcher; the interpreter under test is the one that runs pytest."""

import collections
import pathlib
import signal
import subprocess
import sys

import pytest

# Programs under test are interrupted. A shell that started this behind `&` had SIGINT ignored, and
# what is ignored stays so in all that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(pathlib.Path(__file__).parent))

pytest.register_assert_rewrite("harness", "heap_truth", "leak_truth", "opened_page")

import harness  # noqa: E402

# The tests, as pytest has compiled them, are kept, whatever the environment says: each process would spend 15 s on them.
sys.dont_write_bytecode, sys.pycache_prefix = False, str(harness.BUILD / "compiled")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "once: does not depend on the tracer; make check runs it in the first round only"
    )
    config.addinivalue_line(
        "markers", "hits: asks for hits and a program that does what it does, so make check runs it with the tracer light, too"
    )
    config.addinivalue_line("markers", "slow: takes many seconds; make quick leaves it out")
    config.addinivalue_line(
        "markers", "alone: needs a quiet machine, as it compares what was measured; make check runs it after all "
        "others, with nothing beside it"
    )


def pytest_addoption(parser):
    parser.addoption("--functions", type=int, metavar="N",
                     help="one case of each of the first N test functions of every file: for make quick")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Files with slow tests begin first, so that no processor waits for one at the end."""
    choose_quick_ones(config, items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def choose_quick_ones(config, items):
    """The choice of `make quick`. A file is a subject, and begins with what its subject is about; what
    comes later are corners of it. So the first functions of all files touch everything, and what is new
    is chosen by itself. Those marked `slow` are left out, and the next ones move up."""
    most = config.getoption("functions")
    if most is None:
        return
    kept, seen = [], collections.defaultdict(set)
    for item in items:
        functions = seen[item.path]
        if item.originalname not in functions and len(functions) < most:
            functions.add(item.originalname)
            kept.append(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def pytest_report_header(config):
    return f"ckernprof: {harness.CKERNPROF}, tracer: {harness.TRACER or 'its own choice'}"


@pytest.fixture
def script(tmp_path):
    """script(text) writes a program into the test's folder and returns its path."""

    def write(text, name="program.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.fixture
def virtual_python(tmp_path):
    """An interpreter whose site-packages are the test's own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    return tmp_path / "env" / "bin" / "python"
