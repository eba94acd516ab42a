# SPDX-License-Identifier: MIT
"""Runs in a worker of Spark that takes a command, before anything of the command is unpickled, and whether or not the
worker has clineprof. The text of this file comes with the command, and runs in a namespace of its own with `accumulator`
(its number), `version` (that of clineprof in the driver), `begins` (what clineprof.spark.begins takes) and `idle` (the
text of idle.py, if modules may use a `profile` of the builtins, or nothing)."""
import socket
import sys

from pyspark.accumulators import AddingAccumulatorParam, _deserialize_accumulator


def taken(command):
    """Is called with the unpickled command, and returns it."""
    return command


def differs():
    there = getattr(sys.modules.get("clineprof._core"), "__version__", version)  # noqa: F821
    return "" if there == version else "have clineprof %s, the driver has %s" % (there, version)  # noqa: F821


accumulator = _deserialize_accumulator(accumulator, [], AddingAccumulatorParam([]))  # noqa: F821
news = []
exec(idle, {"text": idle})  # noqa: F821
try:
    import clineprof.spark

    taken = clineprof.spark.begins(news, **begins) or taken  # noqa: F821
except Exception as error:  # the command runs without a profiler
    news = [(socket.gethostname(), "%s; they count nothing: %s" % (differs(), error) if differs()
             else "count nothing: %s" % error)]  # fmt: skip
else:
    if differs():
        news.append((socket.gethostname(), differs()))
accumulator._value = news  # not +=, as a task may have several commands
