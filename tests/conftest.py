# SPDX-License-Identifier: MIT
"""Settings of all Python tests. CLINEPROF_TEST_TRACER chooses the tracer under test,
CLINEPROF_TEST_CKERNPROF the launcher; the interpreter under test is the one that runs pytest."""

import pathlib
import signal
import sys

import pytest

# Programs under test are interrupted. A shell that started this behind `&` had SIGINT ignored, and
# what is ignored stays so in all that is started from here.
signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(pathlib.Path(__file__).parent))

pytest.register_assert_rewrite("harness", "heap_truth", "leak_truth")

import harness  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "once: does not depend on the tracer; make check runs it in the first round only"
    )


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
