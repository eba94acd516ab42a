# SPDX-License-Identifier: MIT
"""Counts the lines that run in the workers of Ray, on all nodes. Needs ray.

>>> import clineprof.ray, ray
>>> context = ray.init(runtime_env=clineprof.ray.runtime_env(["__main__.*", "mypkg"]))
>>> ...
>>> profile = clineprof.ray.gather("run.lprof")
"""
import atexit
import functools
import os

from clineprof import _boot, _by_value, _children, _engines
from clineprof._training import missing

try:
    import ray
except ImportError as error:
    raise missing("clineprof.ray", "ray", error) from error

HOOK = "worker_process_setup_hook"
CLEAN_SECONDS = 10  # for the nodes to remove their folders

_runs = []  # names of the runs whose folders are not removed yet; the last one is that of gather()


def runtime_env(targets=(), base=None, env=None, **options):
    """Returns a runtime_env for ray.init, with which every worker of this driver counts lines.

    targets: what is counted: names of modules, classes and functions, as -p takes them. "__main__.*" is all that the
        driver's script defines, "mypkg" the package with all its modules. Functions that are marked with @profile under
        `ckernprof -l` count without being named
    base: a runtime_env of your own, a dict, to which this one is added. Its worker_process_setup_hook, a function or
        the name of one, runs after that of clineprof
    env: variables for the environment of the workers
    options: arguments of clineprof.Profiler, such as memory=False

    Call it anew for every ray.init(). Every worker counts into a file of its own in a folder of its node, in the
    folder for temporary files. ray.shutdown() removes these folders, and so does the end of the program.

    Raises TypeError and ValueError for wrong arguments.
    """
    wanted = _engines.checked(targets, options)
    made = dict(base or {})
    made["env_vars"] = _environment({**made.get("env_vars", {}), **(env or {})})
    made[HOOK] = _hook(_begin_run(), wanted, options, made.get(HOOK))
    return made


def _environment(names):
    """The variables of the workers' environment. A PYTHONPATH among them would hide that of --prof-child-procs."""
    if _children.VARIABLE in os.environ and "PYTHONPATH" in names:
        names["PYTHONPATH"] = os.pathsep.join([_children.HOOK, names["PYTHONPATH"]])
    return names


def _begin_run():
    run = _engines.new_run()
    os.makedirs(_engines.place(run), 0o700)
    if not _runs:
        _watch_shutdown()
        _leave_forks_out()
    _runs.append(run)
    return run


def _hook(run, wanted, options, theirs):
    """A function without arguments for workers, which pickles take by value: it must run where clineprof is missing."""
    core = _boot.core()
    package = os.path.dirname(os.path.dirname(os.path.abspath(_boot.__file__)))
    names = {
        "__name__": "__main__", "run": run, "wanted": wanted, "theirs": theirs, "version": _engines.version(),
        "options": {**options, "builtin": _by_value.has_profile()},
        "folder": os.path.dirname(package), "driver": (core.identity()[2], _engines.place(run)),
    }  # fmt: skip
    exec(_by_value.text_of(_engines, "hook.py"), names)
    return names["begin"]


@functools.lru_cache(maxsize=None)
def _leave_forks_out():
    """A fork of the driver must not use its connection to Ray, nor remove its folders."""
    os.register_at_fork(after_in_child=_runs.clear)


# ---- what was counted ----


def gather(path, timeout=60):
    """Adds up what all workers have counted so far, those that have ended included, writes the sum to a file, and
    returns it as a clineprof.Profile. Says on standard error how many workers and nodes are in it.

    Call it before ray.shutdown(), as often as you like. Nothing is reset.

    path: of the file
    timeout: how many seconds the nodes have for their answers. What a node that does not answer has counted is not in
        the sum; a message names the node

    If no node answers, writes no file and returns None. Raises OSError if the file cannot be written, RuntimeError if
    Ray does not run or runtime_env() was not called.
    """
    if not _runs:
        raise RuntimeError("clineprof.ray.gather: ray.init has no runtime_env of clineprof.ray.runtime_env()")
    if not ray.is_initialized():
        raise RuntimeError("clineprof.ray.gather: Ray does not run; call gather() before ray.shutdown()")
    contents = list(filter(_engines.is_readable, _ask_nodes(_collect, timeout, _runs[-1])))
    profile = _engines.write(path, contents)
    if profile is not None:
        _say(path, profile, len(contents))
    return profile


def _say(path, profile, nodes):
    has_one = not profile.processes and any(any(function["hits"]) for function in profile.functions)
    workers = sum(process["events"] > 0 for process in profile.processes) + has_one
    _boot.complain("clineprof", "'%s' has what %s on %s counted" % (
        os.fspath(path), _many(workers, "worker"), _many(nodes, "node")))  # fmt: skip


def _many(number, what):
    return "%d %s%s" % (number, what, "s"[number == 1 :])


def _ask_nodes(function, timeout, argument, complain=_boot.complain):
    """Yields what function(argument) returns on each node, and says of the other nodes why they did not answer."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(num_cpus=0, max_retries=0)(function)
    asked = {}
    for node in ray.nodes():
        if node["Alive"]:
            strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            asked[task.options(scheduling_strategy=strategy).remote(argument)] = node["NodeManagerAddress"]
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=timeout)
    for answer in ready:
        try:
            yield ray.get(answer)
        except ray.exceptions.RayError as error:
            reason = str(getattr(error, "cause", None) or error).strip().rpartition("\n")[2]
            complain("clineprof", "node %s did not tell what it has counted: %s" % (asked[answer], reason))
    for answer in late:
        ray.cancel(answer, force=True)
        complain("clineprof", "node %s did not tell within %g s what it has counted" % (asked[answer], timeout))


def _collect(run):
    """The sum of what a run's workers of this node have counted."""
    return _boot.core().merge(*_engines.left(run), *_engines.own(run))


# ---- the end ----


def _watch_shutdown():
    """Has ray.shutdown(), and the end of the program, remove the folders of the runs."""
    own = ray.shutdown

    @functools.wraps(own)
    def shutdown(*arguments, **named):
        runs = _clean_nodes()
        try:
            return own(*arguments, **named)
        finally:
            ray.shutdown = own
            for run in runs:
                _engines.clean(run)  # a worker may have begun meanwhile

    ray.shutdown = shutdown
    atexit.register(_clean_nodes)


def _clean_nodes():
    """Removes the folders of the runs on all nodes. Returns the names of the runs."""
    atexit.unregister(_clean_nodes)
    runs = _runs[:]
    _runs.clear()
    try:
        if runs and ray.is_initialized():
            list(_ask_nodes(_clean, CLEAN_SECONDS, runs, lambda *text: None))
    except Exception:  # Ray does not answer any more
        pass
    for run in runs:
        _engines.clean(run)
    return runs


def _clean(runs):
    for run in runs:
        _engines.clean(run)
