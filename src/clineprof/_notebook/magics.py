# SPDX-License-Identifier: MIT
"""The magics of `%load_ext clineprof` (docs/notebook.md is for users). cells.py makes the code that they run, show.py
shows the result."""
import ast
import builtins
import contextlib
import importlib
import inspect
import time
import types

from IPython.core.error import UsageError
from IPython.core.magic import (Magics, cell_magic, line_cell_magic, magics_class, no_var_expand,
                                output_can_be_silenced)  # fmt: skip

from clineprof._notebook import cells, kinds, show
from clineprof._compat import memory_usage
from clineprof._boot import targets
from clineprof._notebook.options import parsed
from clineprof._profile import Profile

LOADED = "_clineprof_magics"  # the shell's attribute that holds what is needed to unload the extension
LAST = "_clineprof_last"  # the one that holds the profile of the last %clineprof
SHOWN = "_clineprof_shown"  # the one that holds which profile was shown last, and in which cell


def load_ipython_extension(shell):
    """Loads the magics; IPython calls this for `%load_ext clineprof`."""
    if not hasattr(shell, LOADED):
        setattr(shell, LOADED, _Loaded(shell))


def unload_ipython_extension(shell):
    """Unloads the magics; IPython calls this for `%unload_ext clineprof`. Earlier magics of these names come back."""
    if hasattr(shell, LOADED):
        getattr(shell, LOADED).undo()
        delattr(shell, LOADED)


class _Loaded:
    def __init__(self, shell):
        self.shell = shell
        tables = shell.magics_manager.magics
        self.before = {kind: dict(tables[kind]) for kind in tables}
        shell.register_magics(ClineprofMagics)
        self.names = set()
        for kind, names in ClineprofMagics.magics.items():
            self.names.update((kind, name) for name in names)
        self.with_await = cells.WithAwait(shell)
        shell.input_transformers_post.append(self.with_await)
        self.displays = shell.display_formatter.ipython_display_formatter
        self.displays.for_type(Profile, self._display)

    def _display(self, profile):
        """Displays the value of a cell that is a profile: not again if a magic has just shown it."""
        if getattr(self.shell, SHOWN, None) != (id(profile), cells.count(self.shell)):
            raise NotImplementedError  # IPython then goes on as without this function
        if show.in_terminal(self.shell):
            print(repr(profile))

    def undo(self):
        for name in LAST, SHOWN:
            vars(self.shell).pop(name, None)
        self.displays.type_printers.pop(Profile, None)
        self.shell.input_transformers_post.remove(self.with_await)
        for kind, name in self.names:
            table = self.shell.magics_manager.magics[kind]
            ours = table.pop(name, None)
            if name in self.before[kind]:
                table[name] = self.before[kind][name]
            elif ours is not None and not isinstance(getattr(ours, "__self__", None),
                                                     ClineprofMagics):  # fmt: skip
                table[name] = ours  # a magic of another extension that was loaded since


@magics_class
class ClineprofMagics(Magics):
    """Line-by-line time and memory profiles of statements and cells."""

    @no_var_expand
    @line_cell_magic
    def lprun(self, line="", cell=None):
        """Run a statement, or a cell, and show how often the lines of functions ran and how long
        they took.

          %lprun [options] -f FUNCTION statement
          %%lprun [options] -f FUNCTION [statement]
          code ..

        In a cell the statement runs first. Only functions that are named are measured:

        -f FUNCTION: a function, method or class, or any expression that gives one. Repeatable.
        -m MODULE: all functions of a module. Repeatable.

        -D FILE: write a file that `python -m line_profiler` and `clineprof` open.
        -T FILE: write the table as text.
        -r: return the profiler.
        -z (or -s): hide functions that never ran.
        -u UNIT: unit of the times: s, ms, us, ns, auto, or in seconds (default 1e-9).

        While the statement runs, `profile` is in the builtins; functions that it decorates are measured, too.
        """
        __tracebackhide__ = True
        wish = parsed("lprun", line)
        run = _Run(self.shell, wish, kinds.Lprun)
        run.add_code(cells.statement_of(wish.rest, cell))
        return run.go(lambda kind, value: kind.profiler if wish.r else None)

    @no_var_expand
    @cell_magic
    def lprun_all(self, line="", cell=""):
        """Run a cell and show how often its lines, and the lines of functions that it defines, ran and how long they
        took.

          %%lprun_all [options]
          code ..

        -p: only the lines of the cell itself, not of functions that it defines.
        -t: store the time of the cell, in seconds, as _total_time_taken.
        -D FILE, -T FILE, -r, -z, -u UNIT: as in %lprun.
        """
        __tracebackhide__ = True
        wish = parsed("lprun_all", line, may_go_on=False)
        run = _Run(self.shell, wish, kinds.Lprun)
        run.add_code(cell, "module" if wish.p else "functions")

        def result(kind, value):
            if wish.t:
                self.shell.user_ns["_total_time_taken"] = run.seconds
            return kind.profiler if wish.r else None

        return run.go(result)

    @no_var_expand
    @line_cell_magic
    def mprun(self, line="", cell=None):
        """Run a statement, or a cell, and show how the lines of functions changed the memory of the process.

          %mprun [options] -f FUNCTION statement
          %%mprun [options] -f FUNCTION [statement]
          code ..

        -f FUNCTION: a function, method or class, or any expression that gives one. Repeatable.
        -m MODULE: all functions of a module. Repeatable.
        -T FILE: write the table as text.
        -r: return the profiler.
        -c: add the memory of child processes.
        """
        __tracebackhide__ = True
        wish = parsed("mprun", line)
        run = _Run(self.shell, wish, kinds.Mprun)
        run.add_code(cells.statement_of(wish.rest, cell))
        return run.go(lambda kind, value: kind.profiler if wish.r else None)

    @no_var_expand
    @line_cell_magic
    def memit(self, line="", cell=None):
        """Run a statement and tell how large the process became.

          %memit [options] statement
          %%memit [options] [setup]
          code ..

        In a cell the statement on the first line is a setup, which is not measured.

        -r N: run the statement N times, and take the largest size.
        -i SECONDS: time between samples (default 0.1).
        -c: add the memory of child processes.
        -o: return an object with the details.
        -q: print nothing.
        -t SECONDS: has no effect; a statement is never interrupted.
        """
        __tracebackhide__ = True
        wish = parsed("memit", line)
        repeat, interval = wish.integer("r", 1), wish.number("i", .1)
        timeout = wish.integer("t", 0)
        work = cells.Code(self.shell, wish.rest if cell is None else cell)
        if work.awaits:
            raise UsageError("%memit cannot await; give it a function that runs the coroutine")
        if cell is not None:
            cells.Code(self.shell, wish.rest).run_here()
        result = memory_usage.memit(work.run_here, repeat=repeat, timeout=timeout or None,
                                    interval=interval, include_children=bool(wish.c))
        if not wish.q:
            print(result)
        return result if wish.o else None

    @no_var_expand
    @output_can_be_silenced
    @line_cell_magic
    def clineprof(self, line="", cell=None):
        """Run a statement, or a cell, and show how often lines ran, how long they took and how they changed memory.

          p = %clineprof [options] statement
          %%clineprof [options]
          code ..

        With a statement: the lines of the functions of the notebook and of those that the statement names, or of those
        of -f and -m. The value is the profile, a clineprof.Profile.
        With a cell: its own lines and those of everything that it defines. The value of the last line is the value of
        the cell, as without the magic.

        -f FUNCTION, -m MODULE: profile these functions, too. Repeatable.
        -p: only the lines of the cell itself, not of what it defines.
        -D FILE: write the profile, which `clineprof FILE` opens.
        -T FILE: write the table as text.
        -r: return the profile, a clineprof.Profile, instead of the cell's value.
        -u UNIT: unit of the times: auto (default), s, ms, us, ns, or in seconds.
        --all: show functions that never ran, too (-z, the default, hides them).
        --compare: show what changed since the run before.
        --timeline[=SECONDS]: draw memory over time; SECONDS between samples, by default 0.01.
        --no-memory: do not read memory.
        --cpu: split times into processor time and waiting.
        --native: show the time in C code and in functions that are not profiled.
        --io: count bytes read and written.
        --counters[=LIST]: count page faults, context switches, or both, the default: faults,switches.
        --tensors: count the memory of PyTorch's tensors; on CUDA devices alone, unless clineprof's library is loaded.
        --heap: show how much of each line's memory stays alive.
        --leaks[=EPOCH]: tell which lines leak; EPOCH as in `ckernprof --leaks`, by default calls.
        """
        __tracebackhide__ = True
        wish = parsed("clineprof", line, may_go_on=cell is None)
        if cell is None and not wish.rest:
            raise UsageError("%clineprof needs a statement; %%clineprof profiles a cell")
        run = _Run(self.shell, wish, kinds.Clineprof)
        run.add_code(wish.rest if cell is None else cell, "module" if wish.p else "all")
        if cell is None and not run.functions:
            run.add_named()
        return run.go(lambda kind, value: kind.profile if wish.r or cell is None else value)


class _Run:
    """One run of a magic. Faults of its options are told before a profiler is made."""

    def __init__(self, shell, wish, kind):
        self.shell, self.wish, self.make = shell, wish, kind
        self.show = show.Show(shell, wish)
        self.functions = [*self._named_functions(), *self._functions_of_modules()]
        self.code = self.which = self.seconds = None

    # ---- what is measured ----

    def _named_functions(self):
        for text in self.wish.f:
            found = _functions_within(self._found("function", text, lambda: eval(
                text, self.shell.user_global_ns, self.shell.user_ns)))  # fmt: skip
            if not found:
                raise UsageError("-f %s: it has no Python code to profile" % text)
            yield from found

    def _functions_of_modules(self):
        for name in self.wish.m:
            for thing in _things_of(
                    self._found("module", name, lambda: importlib.import_module(name))):  # fmt: skip
                yield from _functions_within(thing)

    def _found(self, kind, text, find):
        try:
            return find()
        except Exception as error:
            raise UsageError("Could not find %s %s.\n%s: %s" % (
                kind, text, type(error).__name__, error)) from None

    def add_code(self, text, which=None):
        """Sets the code to run. With `which` the code itself is measured, too: which part, Profiler.prepare says."""
        self.code, self.which = cells.Code(self.shell, text), which

    def add_named(self):
        """Measures the functions that the code names, and those of the notebook."""
        for thing in [*_named_in(self.code.tree, self.shell.user_ns), *_things_of(self.shell.user_module)]:
            self.functions += _functions_within(thing)

    # ---- the run ----

    def go(self, result):
        """Runs the code, and returns result(kind, value of the code); or a coroutine, if the cell awaits it."""
        __tracebackhide__ = True
        return cells.driven(self.shell, self.wish.awaited, self.code.awaits,
                            self._go(result))

    async def _go(self, result):
        __tracebackhide__ = True
        value = message = None
        kind = self._made()
        try:
            value = await self._profiled(kind)
        except BaseException as error:
            if not kind.catches_exits or not isinstance(error, (SystemExit, KeyboardInterrupt)):
                self._show(kind)
                raise
            message = "%s exception caught in code being profiled." % type(error).__name__
        self._show(kind, message, self._compared(kind.profile))
        return result(kind, value)

    def _show(self, kind, *more):
        self.show.show(kind, *more)
        setattr(self.shell, SHOWN, (id(kind.profile), cells.count(self.shell)))

    def _compared(self, profile):
        """With --compare: the comparison with the last run. The profile becomes the last run of %clineprof."""
        if self.make is not kinds.Clineprof:
            return None
        before = getattr(self.shell, LAST, None)
        setattr(self.shell, LAST, profile)
        if self.wish.compare and before is None:
            print("*** There is no run of %clineprof before to compare with.")
        return before.diff(profile) if self.wish.compare and before is not None else None

    def _made(self):
        try:
            return self.make(self.wish)
        except (RuntimeError, ValueError, OSError) as error:
            raise UsageError(str(error)) from None

    async def _profiled(self, kind):
        """Runs the code with the profiler on, and returns its value. The result is taken even if the code raises."""
        __tracebackhide__ = True
        made = []
        try:
            with self._window(kind, made), _builtin_profile(kind.profiler):
                self._select(kind)
                start = time.perf_counter()
                try:
                    return await self.code.run()
                finally:
                    self.seconds = time.perf_counter() - start
        finally:
            kind.take("In[%d]" % cells.count(self.shell), self._cell_of)
            kind.close(kept=self.wish.r)
            self.code.restore(made)

    def _cell_of(self, file):
        """The name of the cell that has this file, "In[4]"; None if it is none."""
        found = self.shell.compile.format_code_name(file)
        return found and found[1]

    @contextlib.contextmanager
    def _window(self, kind, made):
        """Counts within the `with` statement. At its end the functions that the code has defined are added to the view,
        which gives them their own code back when it stops, and to `made`."""
        __tracebackhide__ = True
        kind.begin()
        try:
            yield
        finally:
            for function in self.code.functions():
                made.append((function, function.__code__))
                kind.view.add_function(function)
            kind.end()

    def _select(self, kind):
        for function in self.functions:
            kind.add(function)
        if self.which is not None:
            self.code.prepare(lambda code: kind.view.prepare(code, self.which))


def _functions_within(thing):
    from clineprof._compat.line_profiler import LineProfiler

    try:
        return LineProfiler.get_underlying_functions(thing)
    except TypeError:
        return []


def _named_in(tree, names):
    """The functions and classes that are named in the code, such as f, Box and module.g. Nothing of the program runs
    to find them."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield _static(node, names)


def _static(node, names):
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _static(node.value, names)
    if owner is None:
        return None
    is_home = isinstance(owner, (type, types.ModuleType))
    thing = inspect.getattr_static(owner if is_home else type(owner), node.attr, None)
    return getattr(thing, "__func__", thing) if isinstance(thing, (staticmethod, classmethod)) else thing


def _things_of(module):
    """The functions and classes of a module. A module without a file, such as the notebook itself, has those whose
    __module__ names it."""
    if "__file__" in vars(module):
        return targets.functions_of(module, module.__name__)
    return [thing for thing in vars(module).values()
            if getattr(thing, "__module__", None) == module.__name__
            and isinstance(thing, (targets.FUNCTION, type))]  # fmt: skip


@contextlib.contextmanager
def _builtin_profile(profiler):
    nothing = object()
    before = getattr(builtins, "profile", nothing)
    builtins.profile = profiler
    try:
        yield
    finally:
        if before is nothing:
            builtins.__dict__.pop("profile", None)
        else:
            builtins.profile = before
