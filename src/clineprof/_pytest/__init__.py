# SPDX-License-Identifier: MIT
"""The pytest plugin (docs/pytest.md): its options and its marker. Every run of pytest loads this module, so it imports
little. run.py, which profiles the session, and limits.py, which checks limits of tests, are imported when they are
used."""
import copy

import pytest

LIMITS = (
    "line_limits(time, increment, hits, allocated, leaks, functions): fails the test if a line takes more "
    "seconds, adds more bytes, runs more often, allocates more bytes or leaks more bytes than allowed; every other "
    "measure can be a limit, too; checks the lines of the test itself, or of `functions` (clineprof)"
)


def pytest_addoption(parser):
    group = parser.getgroup("clineprof", "line-by-line profile of the tests' code (clineprof)")
    group.addoption(
        "--clineprof", action="append", nargs="?", const="", metavar="TARGETS",
        help="profile these files, modules, classes, functions (with commas between); "
        "without TARGETS: all code below the root folder",
    )  # fmt: skip
    group.addoption(
        "--clineprof-out", default="pytest.lprof", metavar="FILE",
        help="write the profile to FILE (default: pytest.lprof)",
    )  # fmt: skip
    group.addoption(
        "--clineprof-lines", type=int, default=10, metavar="N",
        help="print the N hottest lines (default: 10; 0: none)",
    )  # fmt: skip
    group.addoption(
        "--clineprof-light", action="store_true",
        help="exact hits and sampled times, at little cost (Python 3.11 and newer)",
    )  # fmt: skip
    group.addoption(
        "--clineprof-tensors", action="store_true",
        help="count the memory of PyTorch's tensors on CUDA devices",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    """Starts profiling as early as possible, so that what a conftest.py imports is profiled, too."""
    if "--clineprof" in args:  # argparse would take a following word such as `tests/` as the option's value
        args[:] = ["--clineprof=" if word == "--clineprof" else word for word in args]
        early_config.known_args_namespace = parser.parse_known_args(
            args, namespace=copy.copy(early_config.option)
        )
    if early_config.known_args_namespace.clineprof is not None:
        from clineprof._pytest import run

        run.start(early_config)


def pytest_configure(config):
    config.addinivalue_line("markers", LIMITS)


def pytest_collection_finish(session):
    if _has_limits(session.items):
        from clineprof._pytest import limits

        limits.start(session.config)


def _has_limits(nodes):
    """Does any test have a line_limits marker, by itself or from its class or module? Each of these is looked at once,
    as there may be thousands of tests."""
    while nodes:
        if any(mark.name == "line_limits" for node in nodes for mark in node.own_markers):
            return True
        nodes = {node.parent for node in nodes if node.parent is not None}
    return False
