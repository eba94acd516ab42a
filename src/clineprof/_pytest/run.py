# SPDX-License-Identifier: MIT
"""Profiles the whole session (pytest --clineprof). Under pytest-xdist each worker writes a profile into a folder of the
controller, which adds them up."""
import os
import shutil
import tempfile

import pytest

from clineprof import _boot
from clineprof._boot import files
from clineprof._boot.targets import cut, installed, is_path, is_there
from clineprof._pytest.words import DISPLACED, meant


def start(config):
    """Starts to select. Raises UsageError, with one line, if the options are wrong."""
    options = config.known_args_namespace
    targets = cut(options.clineprof)
    if options.clineprof_lines < 0:
        raise pytest.UsageError("--clineprof-lines: the number of lines cannot be negative")
    for target in targets:
        if is_path(target) and not is_there(target):
            raise pytest.UsageError(_no_such(target))
    config.pluginmanager.register(_Start(_Session(config, targets)))


class _Session:
    """The profiler of this process, and what is selected for it."""

    def __init__(self, config, targets):
        self.config, self.targets = config, targets
        self.there = set(filter(os.path.exists, targets))  # looked up now, as a conftest.py may change the directory
        core, tensors = _boot.core(), config.known_args_namespace.clineprof_tensors
        self.lacks = core.few_tensors() if tensors else ""  # pytest would hide what the profiler prints now
        try:
            self.profiler = core.Profiler("light" if config.known_args_namespace.clineprof_light else None, tensors=tensors)
        except (RuntimeError, ValueError) as error:
            raise pytest.UsageError("--clineprof: %s" % error) from None
        # without targets: all code below the root folder but what is installed there
        named, excluded = (targets, []) if targets else ([str(config.rootpath)], installed())
        self.selection = core.Selection(self.profiler, named, excluded)

    def unmatched(self):
        return self.selection.unmatched() if self.targets else []

    def unknown(self):
        """{target that names nothing: a message about it}"""
        unsure = set(self.unmatched()) - self.there
        return {target: _no_such(target) for target in unsure if not is_there(target)}

    def bytes(self):
        """The profile as the content of a .lprof file."""
        words = map(str, self.config.invocation_params.args)
        return self.profiler.render("lprof", command="-m pytest " + " ".join(map(_boot.core().quoted, words)))

    def close(self):
        """Ends profiling: the functions get their own code back."""
        self.selection = self.profiler = None


class _Start:
    """A plugin that decides, once pytest knows it, whether this process is a worker, the controller or the only one."""

    def __init__(self, session):
        self.session = session

    def pytest_configure(self, config):
        if hasattr(config, "workerinput"):
            plugin = _Worker(self.session)
        elif config.getoption("dist", "no") != "no":
            self.session.close()  # no test runs in the controller
            plugin = _Controller(config)
        else:
            plugin = _Alone(self.session)
        config.pluginmanager.register(plugin)


class _Testing:
    """The plugin in a process that runs tests."""

    def __init__(self, session):
        self.session = session

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self):
        """Selects in test modules and in each conftest.py, which are loaded now. No wrapped loader has seen their code,
        because pytest compiles it itself to rewrite asserts."""
        self.session.selection.select_loaded()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_sessionfinish(self):
        yield  # the last fixtures end during this
        self.finish()
        self.session.close()

    def pytest_unconfigure(self):
        self.session.close()


class _Alone(_Testing):
    """The plugin without pytest-xdist: this is the only process."""

    def __init__(self, session):
        super().__init__(session)
        self.outcome = _Outcome(session.config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self):
        super().pytest_collection_finish()
        unknown = self.session.unknown()
        if unknown:
            self.session.close()
            raise pytest.UsageError(next(iter(unknown.values())))

    def finish(self):
        if self.session.profiler is None or self.session.config.option.collectonly:
            return
        self.outcome.say_unmatched(self.session.unmatched())
        if self.session.lacks:
            self.outcome.messages.append(self.session.lacks)
        if self.session.profiler.displaced():
            self.outcome.messages.append(DISPLACED + "; what ran meanwhile is missing")
        self.outcome.write(self.session.bytes())

    def pytest_terminal_summary(self, terminalreporter):
        self.outcome.show(terminalreporter)


class _Worker(_Testing):
    """The plugin in one of pytest-xdist's workers. It writes the profile into the controller's folder or, if this
    machine has no such folder, puts it into the worker's answer."""

    def finish(self):
        config = self.session.config
        answer = {
            "unmatched": self.session.unmatched(),
            "unknown": self.session.unknown(),
            "displaced": self.session.profiler.displaced(),
            "lacks": self.session.lacks,
        }
        made, identity = self.session.bytes(), config.workerinput["workerid"]
        try:
            with open(os.path.join(config.workerinput["clineprof"], identity), "wb") as file:
                file.write(made)
        except OSError:
            answer["profile"] = made
        config.workeroutput["clineprof"] = answer


class _Controller:
    """The plugin in the controller of pytest-xdist's workers. It adds the workers' profiles up."""

    def __init__(self, config):
        self.outcome = _Outcome(config)
        self.folder = tempfile.mkdtemp(prefix="clineprof-")
        self.answers = []
        self.workers = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["clineprof"] = self.folder
        self.workers.add(node.workerinput["workerid"])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        answer = getattr(node, "workeroutput", {}).get("clineprof")
        if answer is None:
            return
        self.answers.append(answer)
        if "profile" in answer:
            with open(os.path.join(self.folder, node.workerinput["workerid"]), "wb") as file:
                file.write(answer["profile"])

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_sessionfinish(self, session):
        yield  # the workers end during this
        paths = sorted(os.listdir(self.folder))
        missing = self.workers.difference(paths)
        if missing:
            self.outcome.messages.append(
                "the profile lacks what ran in %s, which did not end normally" % ", ".join(sorted(missing))
            )
        self.outcome.messages += sorted({answer["lacks"] for answer in self.answers} - {""})
        if any(answer["displaced"] for answer in self.answers):
            self.outcome.messages.append(DISPLACED + "; what ran meanwhile is missing")
        unknown = self._said_by_all("unknown")
        if unknown and session.exitstatus in (0, 5):
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        self.outcome.messages += [self.answers[0]["unknown"][target] for target in sorted(unknown)]
        self.outcome.say_unmatched(self._said_by_all("unmatched") - unknown)
        if paths and not session.config.option.collectonly:
            self.outcome.write(_boot.core().sum(*[os.path.join(self.folder, p) for p in paths]))

    def _said_by_all(self, what):
        return set.intersection(*[set(answer[what]) for answer in self.answers] or [set()])

    def pytest_terminal_summary(self, terminalreporter):
        self.outcome.show(terminalreporter)

    def pytest_unconfigure(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class _Outcome:
    """The profile's file, and what is printed below the tests."""

    def __init__(self, config):
        self.path = os.path.join(str(config.invocation_params.dir), config.option.clineprof_out)
        self.before = _state(self.path)
        self.lines = config.option.clineprof_lines
        self.messages = []
        self.made = None  # the content that was written; None: none
        is_device = os.path.exists(self.path) and not os.path.isfile(self.path)
        place = self.path if is_device else os.path.dirname(self.path)
        if os.path.isdir(self.path) or not os.access(place, os.W_OK):
            raise pytest.UsageError("--clineprof-out: cannot write to '%s'" % _from_here(self.path))

    def say_unmatched(self, targets):
        for target in sorted(targets):
            self.messages.append("no Python code of '%s' ran" % target)

    def write(self, made):
        """Writes the profile, or else puts it into the temporary folder. A failure is a message, and does not fail the
        session."""
        if _state(self.path) not in (None, self.before):  # another session has written it meanwhile
            self.path = _boot.core().own_name(self.path, files.program_rights())
        written = files.save(self.path, made, self.messages.append)
        if written is None:
            return
        self.path, self.made = written, made
        self.before = _state(written)

    def show(self, terminal):
        if not (self.messages or self.made):
            return
        terminal.section("clineprof")
        for message in self.messages:
            terminal.write_line(_boot.shown(message), yellow=True)
        if self.made and self.lines:
            terminal.write(_boot.core().hottest(self.made, self.lines))
        if self.made:
            terminal.write_line(_boot.shown("Wrote profile results to '%s'" % _from_here(self.path)))


def _state(path):
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns


def _from_here(path):
    return files.seen_from(os.getcwd(), path)


def _no_such(target):
    within = ".py:" in target
    what = "file or function" if within else "file" if is_path(target) else "module, class or function"
    return "--clineprof: there is no %s '%s'%s" % (what, target, meant(target))
