# SPDX-License-Identifier: MIT
"""Functions that are pickled by value, as cloudpickle and dill do it: they are selected where they arrive.

A pickle that holds a function by value names the pickler's own function that makes it (dill) or completes it
(cloudpickle, of which engines carry copies). That function is wrapped, so what -p names is selected on arrival. The
pickle of a function that is selected names a Taker instead, so that the function counts as marked on the other side.
"""
import builtins
import functools
import os
import sys
import weakref

from clineprof import _boot

FUNCTION = type(lambda: 0)
SETS_STATE, MAKES = "_function_setstate", "_create_function"  # of cloudpickle, of dill

# {package that sends functions to other machines: what counts them there}
CLUSTERS = {"distributed": "clineprof.dask", "ray": "clineprof.ray", "pyspark": "clineprof.spark"}

sends_all = 0  # how many ask that also functions can be selected on the other side which are not selected here
marked = weakref.WeakSet()  # functions that count on the other side, as if they were selected here
_sent = set()  # (file, first line) of the marked functions that were pickled


def meet(module):
    """Wraps the functions of a pickler's module. Called for each module of such a name when it has been loaded."""
    if hasattr(module, MAKES):
        _wrap_arriving(module, MAKES)
        _wrap_dills_sending(module)
    elif hasattr(module, SETS_STATE):
        _wrap_arriving(module, SETS_STATE)
        _wrap_sending(module)


# ---- where a function arrives ----


def _wrap_arriving(module, name):
    own = getattr(module, name)
    if not _is_ours(own):
        setattr(module, name, taking(own))


def taking(own, file=None, is_marked=False):
    """A function to call in place of a pickler's own, after which the function at hand is selected. `file` is that of its
    code, where it was sent from: cloudpickle leaves the file out. is_marked: the function counts as marked."""
    own = own.__wrapped__ if _is_ours(own) else own

    @functools.wraps(own)  # pickles refer to it by its name and module
    def arriving(*arguments, **named):
        made = own(*arguments, **named)
        _select(arguments[0] if made is None else made, file, is_marked)
        return made

    return arriving


def _select(function, file, is_marked):
    if type(function) is not FUNCTION:
        return
    try:
        from clineprof._global import profile

        if profile._has_profile() or "clineprof._core" in sys.modules:
            code = function.__code__
            function.__code__ = _copied(code, code.co_filename if file is None else file)
        if is_marked:
            profile(function)
        if "clineprof._core" in sys.modules:
            _boot.core().arrived(function, is_marked)
    except Exception as error:  # the program goes on, with a function that does not count
        os.write(2, b"clineprof: %s does not count: %s\n" % (
            ascii(function.__qualname__).encode(), ascii(str(error)).encode()))


def _copied(code, file):
    """The code as if it had been compiled from this file, in a copy that nobody else has. The unpickler has the code at
    hand, and to select it there all objects of the process would be searched for other functions that have it."""
    constants = (_copied(one, file) if type(one) is type(code) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(constants))


# ---- where it is sent from ----


class Taker:
    """Stands in a pickle for the pickler's function of this name. Unpickled, it is that function, which selects what it
    makes if clineprof is there (arriving.py).

    module, name: those of the pickler's function
    file: that of the function at hand
    is_marked: the function is selected here, and so it counts as marked on the other side
    needs_profile: there must be a `profile` on the other side, which may do nothing (idle.py)
    """

    def __init__(self, module, name, file, is_marked, needs_profile):
        self.module, self.name, self.file = module, name, file
        self.is_marked, self.needs_profile = is_marked, needs_profile

    def __call__(self, *arguments, **named):  # picklers want something that can be called
        return getattr(sys.modules[self.module], self.name)(*arguments, **named)

    def __reduce__(self):
        idle = text_of(_boot, "idle.py") if self.needs_profile else ""
        return eval, (
            "(lambda idle, own, **names: exec(idle, {'text': idle}) or exec(own, names) or names['taker'])(%r, %r, "
            "file=%r, is_marked=%r, taker=getattr(__import__(%r, fromlist=('_',)), %r))"
            % (idle, text_of(sys.modules[__name__], "arriving.py"), self.file, self.is_marked, self.module, self.name),
        )


@functools.lru_cache(maxsize=None)
def text_of(package, name):
    with open(os.path.join(os.path.dirname(package.__file__), name), encoding="utf-8") as file:
        return file.read()


def _taker(function, module, name):
    """What stands in the pickle of a function; None: the pickler's own function."""
    code = function.__code__
    is_marked = function in marked or _boot.core().is_selected(function)
    needs_profile = type(getattr(builtins, "profile", None)) is _boot.core().Profiler and _names_profile(code)
    if is_marked:
        _sent.add((code.co_filename, code.co_firstlineno))
    is_of_engine = (function.__module__ or "").partition(".")[0] in CLUSTERS  # a task may hold ten of these
    if not (is_marked or needs_profile or (sends_all and not is_of_engine)):
        return None
    return Taker(module.__name__, name, code.co_filename, is_marked, needs_profile)


def _names_profile(code):
    return "profile" in code.co_names or any(_names_profile(one) for one in code.co_consts if type(one) is type(code))


def _wrap_sending(module):
    pickler = getattr(module, "CloudPickler", None)
    own = getattr(pickler, "_dynamic_function_reduce", None)
    if own is None or _is_ours(own):
        return

    @functools.wraps(own)
    def reduce(self, function):
        made = own(self, function)
        taker = _taker(function, module, SETS_STATE) if len(made) == 6 else None
        return made if taker is None else (*made[:5], taker)

    pickler._dynamic_function_reduce = reduce


def _wrap_dills_sending(module):
    savers = module.Pickler.dispatch
    own = savers.get(FUNCTION)
    if own is None or _is_ours(own):
        return

    @functools.wraps(own)
    def save(pickler, function):
        taker = _taker(function, module, MAKES)
        if taker is None:
            return own(pickler, function)
        theirs = pickler.save_reduce

        def save_reduce(make, *rest, **named):
            is_it = named.get("obj") is function and make is getattr(module, MAKES)
            return theirs(taker if is_it else make, *rest, **named)

        pickler.save_reduce = save_reduce
        try:
            return own(pickler, function)
        finally:
            pickler.save_reduce = theirs

    savers[FUNCTION] = save


def _is_ours(function):
    return getattr(function, "__globals__", None) is globals()


# ---- at the end ----


def advice(file, line, counts_children):
    """How a function can be counted that was sent to other processes, in words. None if it was not sent, or nothing
    more can be done. counts_children: --prof-child-procs was given."""
    if (file, line) not in _sent:
        return None
    ways = [] if counts_children else ["--prof-child-procs counts it in the processes that the program starts"]
    ways += ["%s counts it on a cluster" % CLUSTERS[name] for name in CLUSTERS if name in sys.modules]
    return "; ".join(ways) or None
