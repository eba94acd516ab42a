# SPDX-License-Identifier: MIT
"""Counts the lines of functions in the workers of a Dask cluster. Needs distributed."""
import asyncio
import logging
import os
import sys

from clineprof import _boot, _engines, _training

try:
    from distributed import SchedulerPlugin, WorkerPlugin
except ImportError as error:
    raise _training.missing("clineprof.dask", "distributed", error) from error

PATIENCE = 10  # seconds in which a worker must answer. Its live file is read if it does not

# What arrives at a worker, which may have no clineprof: the tasks run there all the same.
PLUGIN = """
import logging
from distributed import WorkerPlugin
try:
    from clineprof.dask import _Counting
    made = _Counting(run, wanted, options)
except Exception as error:
    logging.getLogger("distributed.worker").warning("clineprof does not count here: %s", error)
    made = WorkerPlugin()
"""
QUESTION = """
def made(dask_worker):
    try:
        from clineprof.dask import _answer
    except Exception as error:
        return {"name": dask_worker.name, "failure": str(error)}
    return _answer(dask_worker, run, what)
"""

# What arrives at the scheduler when tasks are counted.
TASKS = """
from distributed import SchedulerPlugin
from distributed.utils import key_split

class Tasks(SchedulerPlugin):
    def __init__(self):
        self.name, self.rows = name, {}

    def transition(self, key, start, finish, *arguments, worker=None, startstops=(), **more):
        if start == "processing" and finish in ("memory", "erred") and startstops:
            row = self.rows.setdefault(key_split(key), {"tasks": 0, "failed": 0, "time": 0.0, "workers": set()})
            row["tasks"] += 1
            row["failed"] += finish == "erred"
            row["time"] += sum(part["stop"] - part["start"] for part in startstops if part["action"] == "compute")
            row["workers"].add(worker)

made = Tasks()
"""
TASKS_QUESTION = """
def made(dask_scheduler):
    return dask_scheduler.plugins[name].rows
"""

# Functions pass through the scheduler, which pickles them again: without clineprof it forgets what is marked.
SCHEDULER_QUESTION = """
def made():
    try:
        import clineprof._by_value
    except Exception as error:
        return str(error)
"""


class _Text:
    """Stands in a pickle for what a text defines as `made`, with these names among its globals."""

    def __init__(self, text, **names):
        self.names = {"text": text, **names}

    def __reduce__(self):
        return eval, ("exec(text) or made", self.names)


class _TasksPlugin(_Text, SchedulerPlugin):
    pass


# ---- in a worker ----

_counting = {}  # {name of a run: ids of the Workers of this process that count for it}
_failures = {}  # {name of a run: why this process does not count for it}


class _Counting(WorkerPlugin):
    """Counts in the process of a worker. There may be several Workers in a process, and they share a session."""

    def __init__(self, run, wanted, options):
        self.run, self.wanted, self.options = run, wanted, options

    def setup(self, worker):
        try:
            _engines.begin(self.run, self.wanted, **self.options)
        except (TypeError, ValueError):  # the options are wrong: the driver gets the exception
            raise
        except Exception as error:
            logging.getLogger("distributed.worker").warning("clineprof does not count here: %s", error)
            _failures[self.run] = str(error)
        _counting.setdefault(self.run, set()).add(id(worker))

    def teardown(self, worker):
        workers = _counting.get(self.run, set())
        workers.discard(id(worker))
        if not workers:
            _counting.pop(self.run, None)
            _engines.end(self.run)


def _answer(worker, run, what):
    """What a worker answers to the driver, which asks for "state", "own", "left" or "clean" of a run."""
    if what == "clean":
        _engines.clean(run)
        _failures.pop(run, None)
    contents = _engines.own(run) if what == "own" else _engines.left(run) if what == "left" else []
    return {"name": worker.name, "failure": _failures.get(run), "version": _engines.version(),
            "place": _place(run), "contents": contents}  # fmt: skip


def _place(run):
    """The folder of a run, told apart from those of other machines and containers."""
    return _boot.core().identity()[2], _engines.place(run)


# ---- in the driver ----


class ClineprofPlugin(WorkerPlugin):
    """A plugin that counts in all workers of a cluster, those that join later included.

    >>> plugin = ClineprofPlugin(["__main__.*", "mypkg"])  # doctest: +SKIP
    >>> client.register_plugin(plugin)  # doctest: +SKIP
    >>> profile = plugin.write(client, "run.lprof")  # doctest: +SKIP
    >>> plugin.end(client)  # doctest: +SKIP

    targets: what is counted, as -p of ckernprof takes it; "__main__.*" is all functions of the main program. Functions
        that are marked in the driver, as by @profile under ckernprof -l, count without being named
    options: arguments of clineprof.Profiler: memory, cpu, counters, ..

    With an asynchronous client, write() and end() return awaitables.
    """

    def __init__(self, targets=(), **options):
        self.targets, self.options = _engines.checked(targets, options), options
        self.run = _engines.new_run()
        self.name = "clineprof-" + self.run
        self._sending = None
        self._told = set()  # what the driver was told already

    def __reduce__(self):
        if self._sending is None:  # the tasks come after the plugin
            self._sending = _engines.Sending().__enter__()
        return _Text(PLUGIN, run=self.run, wanted=self.targets, options=self.options).__reduce__()

    def write(self, client, path):
        """Writes to a file what the workers have counted so far, and returns it as a clineprof.Profile; None if they
        have counted nothing, and then there is no file. Raises OSError if the file cannot be written."""
        return client.sync(self._write, client, path)

    def end(self, client):
        """Stops counting, and removes the plugin from the cluster. What was counted is lost unless it was written."""
        return client.sync(self._end, client)

    async def _write(self, client, path):
        return self._put(path, await self._gather(client))

    async def _end(self, client):
        await self._stop(client)
        await self._clean(client)

    def _put(self, path, contents):
        return _engines.write(path, contents + _engines.left(self.run) + _engines.own(self.run))

    async def _stop(self, client):
        self._forget()
        try:
            await _patiently(client.unregister_worker_plugin(self.name))
        except ValueError:  # it is not registered any more
            pass
        except Exception as error:
            _complain("some workers go on to count: %s" % error)

    def _forget(self):
        if self._sending is not None:
            self._sending.__exit__()
            self._sending = None

    async def _gather(self, client):
        """What the workers of the cluster have counted, as a list of contents; but not what lies on this machine."""
        answers = await self._ask(client, "own")
        self._warn(answers)
        hosts = {answer["place"]: address for address, answer in answers.items() if "place" in answer}
        hosts.pop(_place(self.run), None)
        left = await self._ask(client, "left", list(hosts.values()))
        return [content for answer in [*answers.values(), *left.values()] for content in answer.get("contents", ())]

    async def _clean(self, client):
        await self._ask(client, "clean")
        _engines.clean(self.run)

    async def _ask(self, client, what, workers=None):
        """{address: answer} of these workers, or of all."""
        question = _Text(QUESTION, run=self.run, what=what)
        if workers is None:
            workers = list(await _patiently(client.scheduler.ncores()) or ())

        async def ask(worker):
            found = await _patiently(client.run(question, workers=[worker], on_error="return")) or {}
            return found.get(worker)

        answers = dict(zip(workers, await asyncio.gather(*map(ask, workers))))
        silent = [worker for worker, answer in answers.items() if not isinstance(answer, dict)]
        there = await _patiently(client.scheduler.ncores()) or () if silent else ()  # a lost worker needs no message
        self._tell("has no answer of", {
            worker: (worker, answers[worker] or "what it counts is read from its live file")
            for worker in silent if worker in there})  # fmt: skip
        return {worker: answer for worker, answer in answers.items() if worker not in silent}

    def _warn(self, answers):
        """Tells in one line which workers do not count, and in another one which have another version of clineprof."""
        mine = _engines.version()
        self._tell("does not count in", {
            address: (answer["name"], answer["failure"]) for address, answer in answers.items() if answer["failure"]})
        self._tell("is of another version in", {
            address: (answer["name"], answer["version"]) for address, answer in answers.items()
            if answer.get("version", mine) != mine})

    def _tell(self, what, workers):
        news = {address: found for address, found in workers.items() if (what, address) not in self._told}
        self._told.update((what, address) for address in news)
        if news:
            _complain("clineprof %s %d worker%s: %s" % (what, len(news), "s" * (len(news) > 1), "; ".join(
                "%s at %s (%s)" % (name, address, why) for address, (name, why) in news.items())))


class profile:
    """A context that counts in all workers of a client's cluster, and writes the sum to a file at its end.

    >>> with profile(client, ["__main__.*", "mypkg"], "run.lprof") as run:  # doctest: +SKIP
    ...     client.gather(client.map(work, range(100)))
    >>> run.profile.functions  # doctest: +SKIP

    client: a distributed.Client. An asynchronous one needs `async with`
    targets, options: as for ClineprofPlugin
    path: the file
    tasks: True: the tasks that end in the block are counted, too, by the beginnings of their keys

    profile: the sum, a clineprof.Profile, after the block; None if nothing was counted
    tasks: after the block, a dict for each beginning of keys (`key`), those that took most time first: how many `tasks`
        ended, how many of them `failed`, the `time` in seconds that they ran, and the addresses of the `workers`

    Raises OSError before the block if the file cannot be written. An exception of the block goes on.
    """

    def __init__(self, client, targets, path, *, tasks=False, **options):
        self.client, self.path = client, os.path.abspath(path)
        self.plugin = ClineprofPlugin(targets, **options)
        self.profile, self.tasks = None, []
        self._counts_tasks = tasks

    def __enter__(self):
        if self.client.asynchronous:
            raise TypeError("clineprof: this client is asynchronous: use `async with`")
        _boot.core().probe(self.path)
        self.client.sync(self._begin)
        return self

    def __exit__(self, *exception):
        try:
            self.client.sync(self._end)
        except RuntimeError:  # the client's event loop has ended
            self._write([])

    async def __aenter__(self):
        _boot.core().probe(self.path)
        await self._begin()
        return self

    async def __aexit__(self, *exception):
        await self._end()

    async def _begin(self):
        try:
            await _patiently(self.client.register_plugin(self.plugin))
            if self._counts_tasks:
                await _patiently(self.client.register_plugin(_TasksPlugin(TASKS, name=self.plugin.name),
                                                             name=self.plugin.name))
            await self._look()
        except BaseException:
            await self.plugin._stop(self.client)
            raise

    async def _look(self):
        """Says what is not as it should be."""
        failure = await _patiently(self.client.run_on_scheduler(_Text(SCHEDULER_QUESTION)))
        if failure is not None:
            _complain("the scheduler has no clineprof (%s): only what is named counts, without source text" % failure)
        self.plugin._warn(await self.plugin._ask(self.client, "state"))

    async def _end(self):
        is_there = self.client.status == "running"
        if is_there:
            await self.plugin._stop(self.client)
            try:
                await self._take_tasks()
            except Exception as error:
                _complain("the tasks are not known: %s" % error)
        self._write(await self.plugin._gather(self.client) if is_there else [])
        if is_there:
            await self.plugin._clean(self.client)

    def _write(self, contents):
        self.plugin._forget()
        try:
            self.profile = self.plugin._put(self.path, contents)
        except OSError as error:
            _complain("cannot write '%s': %s" % (self.path, error.strerror))
        _engines.clean(self.plugin.run)
        self._print()

    async def _take_tasks(self):
        if not self._counts_tasks:
            return
        rows = await _patiently(self.client.run_on_scheduler(_Text(TASKS_QUESTION, name=self.plugin.name))) or {}
        await _patiently(self.client.scheduler.unregister_scheduler_plugin(name=self.plugin.name))
        self.tasks = sorted(({"key": key, **row} for key, row in rows.items()), key=lambda row: -row["time"])

    def _print(self):
        told = ""
        if self.profile is not None:
            processes = len(self.profile.processes) or 1
            if not any(map(any, (function["hits"] for function in self.profile.functions))):
                wanted = " ".join(self.plugin.targets) or "only what is marked"
                _complain("nothing that counts has run in the workers; wanted: %s" % wanted)
            told = "Wrote what %d worker process%s counted to '%s'\n" % (
                processes, "es" * (processes > 1), _boot.shown(self.path))
        if self.tasks:
            told += "%8s %8s %12s %8s  %s\n" % ("Tasks", "Failed", "Time (s)", "Workers", "Key")
        for row in self.tasks:
            told += "%8d %8d %12.6f %8d  %s\n" % (
                row["tasks"], row["failed"], row["time"], len(row["workers"]), _boot.shown(row["key"]))
        sys.stderr.write(told)


async def _patiently(asked):
    """What is awaited; None if it takes too long, or if the connection is lost."""
    try:
        return await asyncio.wait_for(asked, PATIENCE)
    except (OSError, asyncio.TimeoutError):
        return None


def _complain(text):
    _boot.complain("clineprof", text)
