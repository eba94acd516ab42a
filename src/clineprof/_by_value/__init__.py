# SPDX-License-Identifier: MIT
"""Functions that are pickled by value, as cloudpickle and dill do it: they are selected where they arrive.

A pickle that holds a function by value names the pickler's own function that makes it (dill) or completes it
(cloudpickle, of which engines carry copies). That function is wrapped, so what -p names is selected on arrival. Where
other processes are counted, too, the pickle of a function that is selected names a Taker instead, so that the function
counts as marked on the other side. Elsewhere pickles stay as they are, as programs compare them.
"""
import builtins
import functools
import marshal
import os
import sys
import weakref

from clineprof import _boot, _children
from clineprof._global import together

FUNCTION = type(lambda: 0)
SETS_STATE, MAKES = "_function_setstate", "_create_function"  # of cloudpickle, of dill

# Expressions for pickles, with these names: `idle`, the text of idle.py; `module` and `name` of what is referred to.
IDLE = "hasattr(__import__('builtins'), 'profile') or exec(idle, {'text': idle})"
REFERRED = "__import__('functools').reduce(getattr, name.split('.'), __import__(module, fromlist=('_',)))"

# {package that sends functions to other machines: what counts them there}
CLUSTERS = {"distributed": "clineprof.dask", "ray": "clineprof.ray", "pyspark": "clineprof.spark"}

# The expression that a pickle has where a function arrives. ARRIVED takes its place where this module is loaded.
ARRIVING = (
    "[%s, taker := getattr(__import__(module, fromlist=('_',)), name)] and (exec(own, globals()) or taker)" % IDLE
)

sends_all = 0  # how many ask that also functions can be selected on the other side which are not selected here
texts = {}  # {file: text as bytes} of functions that were pickled meanwhile, as workers may not have their files
marked = weakref.WeakKeyDictionary()  # its keys: functions that count on the other side, as if selected here
_sent = set()  # (file, first line) of the marked functions that were pickled
_arrived = weakref.WeakKeyDictionary()  # {function: (file, is_marked, needs_profile)} of those that came, as for Taker
_codes = weakref.WeakValueDictionary()  # {(code as marshal.dumps gives it, file): the code}, of functions that came
_elsewhere = {}  # {(file, first line): path of the profile that has it}, of functions that other processes have run


def meet(module):
    """Wraps the functions of a pickler's module. Called for each module of such a name when it has been loaded."""
    for name in MAKES, SETS_STATE:
        if hasattr(module, name):
            _wrap_arriving(module, name)
    _meet_sending(module)


# ---- where a function arrives ----


def _wrap_arriving(module, name):
    own = getattr(module, name)
    if not _is_ours(own):
        setattr(module, name, taking(own))


def arrive(names):
    """What the pickle of a function calls in place of the pickler's own function. names: those of arriving.py."""
    if names["idle"] and not hasattr(builtins, "profile"):
        exec(names["idle"], {"text": names["idle"]})
    own = getattr(__import__(names["module"], fromlist=("_",)), names["name"])
    try:
        return taking(own, names["file"], names["is_marked"], names["needs_profile"])
    except Exception:  # another version has sent it: the function runs as plain code
        return own


@functools.lru_cache(maxsize=256)  # a function may arrive with each task
def taking(own, file=None, is_marked=False, needs_profile=False):
    """A function to call in place of a pickler's own, after which the function at hand is selected. `file` is that of
    its code, where it was sent from: cloudpickle leaves the file out. is_marked: the function counts as marked. When the
    function is sent on, as Dask's scheduler does, its pickle says all this again."""
    own = own.__wrapped__ if _is_ours(own) else own
    if file is not None:
        _meet_sending(sys.modules[own.__module__])

    @functools.wraps(own)  # pickles refer to it by its name and module
    def arriving(*arguments, **named):
        made = own(*arguments, **named)
        function = arguments[0] if made is None else made
        if type(function) is FUNCTION:
            if file is not None:
                _arrived[function] = file, is_marked, needs_profile
            _select(function, file, is_marked)
        return made

    return arriving


def _select(function, file, is_marked):
    try:
        from clineprof._global import profile

        if file is not None and (profile._has_profile() or "clineprof._core" in sys.modules):
            function.__code__ = _known_in_file(function.__code__, file)
        if is_marked:
            profile(function)
        if "clineprof._core" in sys.modules:
            _boot.core().arrived(function, is_marked)
    except Exception as error:  # the program goes on, with a function that does not count
        _boot.complain("clineprof", "%s does not count: %s" % (function.__qualname__, error))


def select_arrived():
    """Selects what has arrived already, for a selection that has just begun: workers keep functions."""
    for reference in _arrived.keyrefs():  # other threads may add functions meanwhile
        function = reference()
        if function in _arrived:
            _boot.core().arrived(function, _arrived[function][1])


def _known_in_file(code, file):
    """As _in_file, but the same object again for each copy of the function that is there: it is selected already. It is
    an object that only the functions hold: to select one that the unpickler, too, has at hand, all objects of the process
    would be searched for other functions that have it."""
    try:
        key = marshal.dumps(code, 2), file  # equal code objects may have unlike lines
    except ValueError:  # it has a constant that is none of Python's own
        return _in_file(code, file)
    known = _codes.get(key)
    if known is None:
        known = _codes[key] = _in_file(marshal.loads(key[0]), file)
    return known


def _in_file(code, file):
    """The code as if it had been compiled from this file."""
    if code.co_filename == file:
        return code
    constants = (_in_file(one, file) if type(one) is type(code) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(constants))


# ---- where it is sent from ----


def _meet_sending(module):
    if hasattr(module, MAKES):
        _wrap_dills_sending(module)
    elif hasattr(module, SETS_STATE):
        _wrap_sending(module)


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
        self.idle = text_of(_boot, "idle.py") if needs_profile else ""
        self.own = text_of(sys.modules[__name__], "arriving.py")

    def __call__(self, *arguments, **named):  # picklers want something that can be called
        return getattr(sys.modules[self.module], self.name)(*arguments, **named)

    def __reduce__(self):
        return eval, (_EXPRESSION, dict(vars(self)))


class Call:
    """Unpickled, it is what the function returns for these arguments."""

    def __init__(self, *parts):
        self.parts = parts

    def __call__(self):  # picklers want something that can be called
        raise NotImplementedError

    def __reduce__(self):
        return self.parts[0], self.parts[1:]


# ARRIVED, or else ARRIVING: compiling a text takes longer than all the rest.
_EXPRESSION = Call(getattr, Call(
    dict.get, Call(getattr, Call(__import__, "sys"), "modules"), __name__), "ARRIVED", ARRIVING)  # fmt: skip


@functools.lru_cache(maxsize=None)
def text_of(package, name):
    with open(os.path.join(os.path.dirname(package.__file__), name), encoding="utf-8") as file:
        return file.read()


def _taker(function, module, name):
    """What stands in the pickle of a function; None: the pickler's own function."""
    try:
        return _taker_of(function, module.__name__, name)
    except Exception:  # the program is pickling: the function goes as if there were no profiler
        return None


def _taker_of(function, module, name):
    if function in _arrived:
        return Taker(module, name, *_arrived[function])
    code = function.__code__
    is_marked = function in marked or _boot.core().is_selected(function)
    needs_profile = has_profile() and (_names_profile(code) or _uses_cluster())
    if is_marked:
        _sent.add((code.co_filename, code.co_firstlineno))
    is_of_engine = str(function.__module__).partition(".")[0] in CLUSTERS  # a task may hold ten of these
    is_looked_for = sends_all and not is_of_engine
    if is_looked_for and code.co_filename not in texts:
        import linecache

        texts[code.co_filename] = "".join(linecache.getlines(code.co_filename)).encode("utf-8", "replace")
    if not (needs_profile or is_looked_for or (is_marked and (sends_all or _counts_others()))):
        return None
    return Taker(module, name, code.co_filename, is_marked, needs_profile)


def _counts_others():
    return _children.VARIABLE in os.environ or together.VARIABLE in os.environ


def has_profile():
    """Is `profile` in the builtins, as under ckernprof -l?"""
    return type(getattr(builtins, "profile", None)) is _boot.core().Profiler


def _names_profile(code):
    return "profile" in code.co_names or any(_names_profile(one) for one in code.co_consts if type(one) is type(code))


def _uses_cluster():
    """May other processes import modules of the program that use `profile`, without its main module?"""
    return any(name in sys.modules for name in CLUSTERS)


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
    _wrap_referring(pickler)


def _wrap_referring(pickler):
    """What is pickled by reference takes a `profile` along, too, as its module is then imported on the other side."""
    own = pickler.reducer_override

    @functools.wraps(own)
    def reducer_override(self, one):
        made = own(self, one)
        if made is not NotImplemented or not isinstance(one, (FUNCTION, type)):
            return made
        try:
            return _with_profile(one) or made
        except Exception:  # the program is pickling
            return made

    pickler.reducer_override = reducer_override


def _with_profile(one):
    """How a pickle refers to a function or class of the program, and takes a `profile` along. None: as usual."""
    module, name = one.__module__, one.__qualname__
    if not (has_profile() and _uses_cluster() and _is_of_program(module) and _is_at(one, module, name)):
        return None
    return eval, ("(%s, %s)[1]" % (IDLE, REFERRED), {
        "idle": text_of(_boot, "idle.py"), "module": module, "name": name})  # fmt: skip


def _is_of_program(name):
    """Is it the name of a module that belongs to the program, and may use `profile`?"""
    file = getattr(sys.modules.get(name), "__file__", None)
    root = str(name).partition(".")[0]
    is_installed = any(folder in str(file) for folder in ("/site-packages/", "/dist-packages/"))
    return bool(file) and root not in sys.stdlib_module_names and root != "clineprof" and not is_installed


def _is_at(one, module, name):
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module]) is one
    except AttributeError:
        return False


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
        theirs, is_wrapped = pickler.save_reduce, "save_reduce" in vars(pickler)  # by us, for a function around it

        def save_reduce(make, *rest, **named):
            is_it = named.get("obj") is function and make is getattr(module, MAKES)
            return theirs(taker if is_it else make, *rest, **named)

        pickler.save_reduce = save_reduce
        try:
            return own(pickler, function)
        finally:
            if is_wrapped:
                pickler.save_reduce = theirs
            else:
                del pickler.save_reduce

    savers[FUNCTION] = save


def _is_ours(function):
    return getattr(function, "__globals__", None) is globals()


# ---- at the end ----


def has_run(profile, path):
    """Notes which functions have run in the processes of a profile, which is in this file."""
    path = _boot.shown(os.fsdecode(path))
    _elsewhere.update({(one.file, one.line): path for one in profile.functions if any(one["hits"])})


def elsewhere(file, line):
    """The path of a profile of other processes, in which the function has run. None: there is none."""
    return _elsewhere.get((file, line))


def advice(file, line, misses_children):
    """How a function can be counted that was pickled, in words. None if it was not pickled, or no other process is known
    of. misses_children: the program has started processes that were not counted."""
    if (file, line) not in _sent or (file, line) in _elsewhere:
        return None
    ways = ["--prof-child-procs counts it in the processes that the program starts"] if misses_children else []
    ways += ["%s counts it on a cluster" % CLUSTERS[name] for name in CLUSTERS if name in sys.modules]
    return "; ".join(ways) or None


# The last name here, because other threads may unpickle functions while this module is imported.
ARRIVED = compile("__import__('sys').modules['clineprof._by_value'].arrive(globals())", "<clineprof>", "eval")
