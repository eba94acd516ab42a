# SPDX-License-Identifier: MIT
"""Profiles the lines that run in the Python workers of Spark: RDDs and UDFs. Needs pyspark, in its classic form: Spark
Connect has no SparkContext.

The driver sends each command with a piece of text that begins a session in the worker before the command is unpickled
(BEGINNING). So it does not matter when the worker started, and nothing is configured. Each task that
ends sends a copy of all that its process has counted. The driver keeps the last copy of each process, so a task that
runs twice counts twice and nothing else does. What killed workers have counted lies in files on their machines.
"""
import atexit
import functools
import os
import socket
import sys

from clineprof import _boot, _by_value, _engines

try:
    import pyspark
    from pyspark.accumulators import AccumulatorParam
except ImportError as error:
    from clineprof import _training

    raise _training.missing("clineprof.spark", "pyspark", error) from error

PREPARE = "_prepare_for_python_RDD"  # pyspark's function that pickles each command, of RDDs and UDFs alike
ENDED = "clineprof.ended"  # a property of jobs: the names of runs that have ended
SOME = 200  # so many profiles are added up at once
TARGETS = "spark.clineprof.targets"  # a setting, for Profiler

_run = None  # the _Run of this driver


def profile(function):
    """Marks a function, so that it counts where a task calls it. Returns the function, which stays as it is here. As a
    decorator it stands below @udf."""
    return _engines.mark(function)


class profile_context:
    """A context in which the workers count lines. It ends by writing the profile of the whole job.

    >>> with clineprof.spark.profile_context(spark, ["__main__", "mypkg.module"], "run.lprof") as run:
    ...     frame.select(work("n")).collect()
    >>> run.profile.functions

    spark: a SparkSession or a SparkContext
    targets: what is counted beside functions that are marked (`profile` above, or @profile under ckernprof): modules,
        classes and functions by name, as -p takes them. "__main__" is all functions of the script or notebook
    path: of the file for `clineprof`. None: no file
    options: arguments of clineprof.Profiler: memory, cpu, counters, ..

    profile: after the context, a clineprof.Profile of what was counted; None if nothing was, and then there is no file

    Counts in what is pickled within the context: RDDs, and UDFs that are first used there. Raises RuntimeError while
    another one runs; ValueError for Spark Connect; TypeError and ValueError for wrong options. If the file cannot be
    written, raises OSError.
    """

    def __init__(self, spark, targets=(), path=None, **options):
        self._context = _context_of(spark)
        self._targets, self._options, self._path = _engines.checked(targets, options), options, path
        self.profile = None

    def __enter__(self):
        if self._path is not None:
            _boot.core().probe(self._path)
        _begin(self._context, self._targets, self._options)
        self._run = _run
        return self

    def __exit__(self, *exception):
        if _run is self._run:
            _end()
        self.profile = _write(self._run.contents(), self._path)


def gather(spark, path=None):
    """Adds up what all workers have counted so far, while they go on, and writes it to a file unless that is None.
    Returns a clineprof.Profile; None if nothing was counted, and then there is no file. Raises RuntimeError outside profile_context and without Profiler, OSError if the file
    cannot be written."""
    _context_of(spark)
    if _run is None:
        raise RuntimeError("clineprof.spark: nothing is counted at the moment")
    return _write(_run.contents(), path)


class Profiler(pyspark.profiler.Profiler):
    """For Spark's own interface: SparkContext(conf=conf, profiler_cls=Profiler, udf_profiler_cls=Profiler), with
    spark.python.profile=true. spark.clineprof.targets has the names that profile_context takes as `targets`, with
    commas between them. sc.show_profiles() prints one report, of the whole job. sc.dump_profiles(folder) writes it to
    clineprof.lprof."""

    def __init__(self, context):
        super().__init__(context)
        if _run is None or _run.context is not context:
            words = context.getConf().get(TARGETS, "").split(",")
            _begin(context, [word.strip() for word in words if word.strip()], {})
        self._run = _run

    def profile(self, function, *arguments, **named):
        return function(*arguments, **named)

    def __reduce__(self):
        """In the worker only profile() is called, and there may be no clineprof."""
        text = "type('Profiler', (), {'profile': staticmethod(lambda f, *words, **named: f(*words, **named))})()"
        return eval, (text,)

    def stats(self):
        """What was counted so far, as a clineprof.Profile."""
        return _write(self._run.contents(), None)

    def show(self, id):
        """Prints the report of the whole job, once for all of its RDDs and UDFs."""
        made = self.stats() if self._run.is_first(None) else None
        if made is not None:
            print(made.rendered())

    def dump(self, id, path):
        """Writes the profile of the whole job, once for all of its RDDs and UDFs."""
        if self._run.is_first(path):
            os.makedirs(path, exist_ok=True)
            _write(self._run.contents(), os.path.join(path, "clineprof.lprof"))


# ---- what runs in workers with or without clineprof ----

# Comes with each command, and runs before anything of the command is unpickled. Its names: accumulator, the number of
# _Run's; version, that of clineprof in the driver; settings, the arguments of begins(); idle, the text of idle.py if
# modules may use a `profile` of the builtins, else nothing. It leaves `taken`, which is called with the command.
BEGINNING = """
import socket, sys
from pyspark.accumulators import AddingAccumulatorParam, _deserialize_accumulator

exec(idle, {"text": idle})
taken, news = (lambda command: command), []
try:
    import clineprof.spark
    taken = clineprof.spark.begins(news, **settings) or taken
except Exception as error:  # the command runs without a profiler
    news = ["count nothing: %s" % error]
there = getattr(sys.modules.get("clineprof._core"), "__version__", version)
if there != version:
    news.append("have clineprof %s, the driver has %s" % (there, version))
accumulator = _deserialize_accumulator(accumulator, [], AddingAccumulatorParam([]))
accumulator._value = [(socket.gethostname(), one) if type(one) is str else one for one in news]
"""

COLLECTING = """
def collecting(_):
    try:
        import clineprof.spark
        return clineprof.spark.left(run, is_over)
    except Exception:
        return []
"""


# ---- in the driver ----


def _context_of(spark):
    if isinstance(spark, pyspark.SparkContext):
        return spark
    try:
        return spark.sparkContext
    except Exception as error:
        raise ValueError("clineprof.spark needs a SparkContext, and Spark Connect has none: %s" % error) from error


def _begin(context, targets, options):
    global _run
    if _run is not None:
        raise RuntimeError("clineprof.spark: the workers count already")
    _run = _Run(context, targets, {**options, "builtin": _by_value.has_profile()})
    atexit.register(_end)
    _leave_forks_out()


@functools.lru_cache(maxsize=None)
def _leave_forks_out():
    """A fork of the driver must not use its connection to Spark, nor remove its files."""
    os.register_at_fork(after_in_child=_forget)


def _forget():
    global _run
    _run = None


def _end():
    """Ends the run of this driver, if there is one."""
    global _run
    if _run is not None:
        _run, ending = None, _run
        atexit.unregister(_end)
        ending.end()


def _write(contents, path):
    if path is not None:
        return _engines.write(path, contents)
    from clineprof._profile import loads

    return loads(_engines.summed(contents) or _boot.core().merge())


class _Run:
    """What the workers of a SparkContext count, from here to end()."""

    def __init__(self, context, targets, options):
        self.context, self.name = context, _engines.new_run()
        self._begins = {"run": self.name, "targets": targets, "options": options}
        self._copies = {}  # {process: contents of profiles, as it sent them last}
        self._of_ended = []  # contents of processes that have sent all; a few, or the sum of many
        self._troubles = set()  # what was complained about
        self._news = 0  # how often a task has sent something
        self._reported = set()  # (use, news) of is_first()
        self._contents = None  # all that was counted, when the run has ended
        self._is_collecting = False
        self._accumulator = context.accumulator(self, _Param())
        self._sending = _engines.Sending().__enter__()
        own = self._prepare = vars(sys.modules[pyspark.RDD.__module__]).get(PREPARE)
        if own is None:
            _boot.complain("clineprof", "nothing is counted: pyspark %s has no %s" % (pyspark.__version__, PREPARE))
        self._prepared = lambda context, command: own(context, self._with_text(command))
        _replace(own, self._prepared)
        self._stop = context.stop
        context.stop = self._end_and_stop

    def _with_text(self, command):
        if self._is_collecting:
            return command
        names = {
            "accumulator": self._accumulator.aid, "version": _engines.version(),
            "idle": _by_value.text_of(_boot, "idle.py") if self._begins["options"]["builtin"] else "",
            "settings": {**self._begins, "marked": _engines.marked_by_name()}}  # fmt: skip
        return _Command(command, "(lambda text, **names: exec(text, names) or names['taken'])(%r, **%r)" % (
            BEGINNING, names))

    def take(self, news):
        """Takes what tasks have sent: (process, contents), (None, contents) if the process ends then, or (host, what
        went wrong)."""
        if self._contents is not None:  # the run has ended
            return
        for sender, what in news:
            self._news += 1
            if sender is None:
                self._take_last(what)
            elif not isinstance(what, str):
                self._copies[sender] = what
            elif (sender, what) not in self._troubles:
                self._troubles.add((sender, what))
                _boot.complain("clineprof", "workers on %s %s" % (sender, what))

    def _take_last(self, contents):
        self._of_ended += contents
        if len(self._of_ended) > SOME:
            made = _engines.summed(self._of_ended)
            self._of_ended = [] if made is None else [made]

    def is_first(self, use):
        """Is this the first call for a use of the profile since a task has sent something?"""
        key = use, self._news
        is_it = key not in self._reported
        self._reported.add(key)
        return is_it

    def contents(self):
        """What was counted so far: what tasks have sent, and the files of workers, as some did not live to send all."""
        if self._contents is not None:
            return self._contents
        return self._sent() + self._collect(False)

    def _sent(self):
        return self._of_ended + [content for copy in list(self._copies.values()) for content in copy]

    def _collect(self, is_over):
        """What lies on the workers' machines. If the run is over, it is removed there."""
        self._is_collecting = True
        try:
            if self.context.master.startswith("local") and not self.context.master.startswith("local-cluster"):
                return left(self.name, is_over)
            names = {"__name__": "clineprof_collecting", "run": self.name, "is_over": is_over}
            exec(COLLECTING, names)
            executors = self.context._jsc.sc().statusTracker().getExecutorInfos()
            count = max(self.context.defaultParallelism, 2 * len(executors))
            return self.context.parallelize(range(count), count).mapPartitions(names["collecting"]).collect()
        except Exception as error:  # the SparkContext may be broken
            _boot.complain("clineprof", "cannot look for files of workers: %s" % str(error).partition("\n")[0])
            return []
        finally:
            self._is_collecting = False

    def end(self):
        """Ends the run, and keeps what was counted."""
        self._sending.__exit__()
        _replace(self._prepared, self._prepare)
        self.context.stop = self._stop
        try:
            ended = self.context.getLocalProperty(ENDED)
            self.context.setLocalProperty(ENDED, self.name if ended is None else "%s %s" % (ended, self.name))
        except Exception as error:  # the SparkContext may be broken
            _boot.complain("clineprof", "workers may go on to count: %s" % str(error).partition("\n")[0])
        self._contents = self._sent() + self._collect(True)

    def _end_and_stop(self):
        """Stands in place of SparkContext.stop."""
        try:
            if _run is self:
                _end()
        finally:
            self._stop()


class _Param(AccumulatorParam):
    """Adds up what the tasks of a run send."""

    def zero(self, run):
        return []

    def addInPlace(self, run, news):
        run.take(news)
        return run


class _Command:
    """A command for workers, before which a text runs. Unpickled, it is the command itself."""

    def __init__(self, command, text):
        self.command, self.text = command, text

    def __reduce__(self):
        return _by_value.Call(eval, self.text), (self.command,)


def _replace(own, new):
    """Puts `new` in the place of pyspark's own PREPARE, in all modules that have it."""
    for name, module in list(sys.modules.items()):
        if own is not None and name.startswith("pyspark") and vars(module).get(PREPARE) is own:
            setattr(module, PREPARE, new)


# ---- in a worker ----

_here = None  # the run for which this worker counts


def begins(news, run, targets, options, marked):
    """Begins to count for a run. Called by BEGINNING, whose `taken` it returns.

    news: a list of what the task will send, which becomes longer
    """
    global _here
    if _is_over(run, pyspark.TaskContext.get()):  # the command was pickled before
        return None
    _engines.begin(run, targets, **options)
    if _here is None:
        _follow_tasks()
    _here = run
    news.append(_Copy(run))
    return functools.partial(_select_marked, marked)


def _select_marked(marked, command):
    try:
        _engines.mark_by_name(marked)
    except Exception as error:  # the command runs all the same
        _boot.complain("clineprof", "what is marked does not count: %s" % error)
    return command


def _is_over(run, task):
    return task is not None and run in (task.getLocalProperty(ENDED) or "")


def _follow_tasks():
    """Ends the session when a task begins for which the run is over: functions run their own code again."""
    own = getattr(vars(pyspark.TaskContext).get("_setTaskContext"), "__func__", None)
    if own is None:  # pyspark has changed; the session ends with the worker
        return

    def set_task_context(cls, task):
        global _here
        own(cls, task)
        if _here is not None and _is_over(_here, task):
            _engines.end(_here)
            if not os.path.isdir(_engines.place(_here)):  # its files were collected
                _engines.clean(_here)
            _here = None
            pyspark.TaskContext._setTaskContext = classmethod(own)

    pyspark.TaskContext._setTaskContext = classmethod(set_task_context)


class _Copy:
    """Stands for what this process has counted by the time it is pickled, which is at the end of a task."""

    def __init__(self, run):
        self.run = run

    def __reduce__(self):
        try:
            copy = _boot.core().identity(), _engines.own(self.run)
            if "SPARK_REUSE_WORKER" not in os.environ:  # this process ends now, and its file need not stay
                _engines.end(self.run, keeps=False)
                copy = None, copy[1]
        except Exception as error:  # the task has done its work
            copy = socket.gethostname(), "cannot send what they have counted: %s" % error
        return tuple, (copy,)


def left(run, is_over):
    """What processes of this machine have counted for a run, as a list with the content of a profile, or an empty one.
    If the run is over, nothing of it stays here."""
    if is_over:
        _engines.end(run)
    contents = _engines.own(run) + _engines.left(run)
    if is_over:
        _engines.clean(run)
    return [_boot.core().merge(*contents)] if contents else []
