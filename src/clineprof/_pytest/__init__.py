# SPDX-License-Identifier: MIT
"""The pytest plugin's front (docs/pytest.md): the options and the marker. Every pytest run loads it,
so it imports nothing; run.py, a profile of the session, and limits.py, limits of tests, are imported when they are
used."""
import copy

import pytest

LIMITS = (
    "line_limits(time, increment, hits, allocated, leaks, functions): the test fails where a line takes more "
    "seconds, adds more bytes, runs more often, asks for more bytes or leaks more bytes than this; every other "
    "measure can be a limit, too; lines of the test itself, or of `functions` (clineprof)"
)


def pytest_addoption(parser):
    group = parser.getgroup("clineprof", "line-by-line profile of the tests' code (clineprof)")
    group.addoption(
        "--clineprof", action="append", nargs="?", const="", metavar="TARGETS",
        help="profile these files, modules, classes, functions (with commas between); "
        "bare: all code below the root folder",
    )  # fmt: skip
    group.addoption(
        "--clineprof-out", default="pytest.lprof", metavar="FILE",
        help="where the profile goes (default: pytest.lprof)",
    )  # fmt: skip
    group.addoption(
        "--clineprof-lines", type=int, default=10, metavar="N",
        help="print the N hottest lines (default: 10; 0: none)",
    )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, parser, args):
    """As early as can be: what a conftest.py imports is to be seen."""
    if "--clineprof" in args:  # argparse would take the `tests/` behind it for its value
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
    """Each test, class and module is looked at once: there may be many thousand tests."""
    while nodes:
        if any(mark.name == "line_limits" for node in nodes for mark in node.own_markers):
            return True
        nodes = {node.parent for node in nodes if node.parent is not None}
    return False
