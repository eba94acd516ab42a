# SPDX-License-Identifier: MIT
"""Runs statements and cells as IPython runs them: with its syntax and compiler, source that tracebacks find, the value
of the last line, and await at the top level.

A magic cannot wait for a coroutine while the kernel's own event loop runs, as it does in a notebook. So if a cell calls
a magic of ours with code that awaits, the text of the cell gets an `await` before the call (WithAwait), and the magic
returns a coroutine."""
import ast
import gc
import inspect
import linecache
import re
import types
import warnings

from clineprof._notebook.options import AWAITED, SPECS, parsed

_EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")  # empty lines at the start, which IPython removes
CALLS = ("run_line_magic", "run_cell_magic")
VALUE = "<value>"  # in the user's namespace for a moment; no name that code can write


class Code:
    """A text that is to be run once in the user's namespace."""

    def __init__(self, shell, text):
        self.shell = shell
        text = text if text.strip() else "pass"
        source = shell.transform_cell(text)
        self.written, self.exchanged = text, {}
        self.file = file = shell.compile.cache(source, count(shell), raw_code=text)
        with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
            self.tree = shell.transform_ast(shell.compile.ast_parse(source, filename=file))
            self.code = shell.compile(_keeping_value(self.tree), file, "exec")

    @property
    def awaits(self):
        return _is_coroutine(self.code)

    def prepare(self, change):
        """Exchanges the code with change(). Code that looks up the text meanwhile finds it as the user wrote it
        (`%time f()`), not as IPython has transformed it."""
        as_run = linecache.cache[self.file]
        lines = _EMPTY_LINES.sub("", self.written).splitlines(keepends=True)
        if len(lines) == len(as_run[2]):
            linecache.cache[self.file] = (*as_run[:2], lines, as_run[3])
        try:
            prepared = change(self.code)
        finally:
            linecache.cache[self.file] = as_run
        self.exchanged = {id(new): (new, own) for new, own in _exchanged(prepared, self.code)}
        self.code = prepared

    def functions(self):
        """The functions that were made of exchanged code and still exist."""
        codes = [new for new, own in self.exchanged.values()]
        return [thing for thing in (gc.get_referrers(*codes) if codes else ())
                if isinstance(thing, types.FunctionType) and id(thing.__code__) in self.exchanged]

    def restore(self, functions):
        """Gives functions that are no longer recorded their original code, so that functions which they define later
        have theirs, too. `functions` is a list of pairs: a function, and the exchanged code that it had."""
        for function, code in functions:
            if function.__code__ is not code:
                function.__code__ = self.exchanged[id(code)][1]

    async def run(self):
        """Runs the text. Returns the value of the last line if that is an expression, else None."""
        __tracebackhide__ = True
        try:
            coroutine = eval(self.code, self.shell.user_global_ns, self.shell.user_ns)
            if self.awaits:
                await coroutine
        finally:
            value = self.shell.user_ns.pop(VALUE, None)
        return value

    def run_here(self):
        """Runs a text that does not await, and returns as run() does."""
        __tracebackhide__ = True
        return _sent(self.run())


def _is_coroutine(code):
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _exchanged(new, own):
    """Pairs of code objects that differ: these two, and those within them."""
    if new is not own:
        yield new, own
        for pair in zip(new.co_consts, own.co_consts):
            if all(isinstance(code, types.CodeType) for code in pair):
                yield from _exchanged(*pair)


def count(shell):
    """The number of the cell that is running."""
    running = getattr(shell.displayhook, "exec_result", None)
    return getattr(running, "execution_count", None) or shell.execution_count


def _keeping_value(tree):
    """The syntax tree with an assignment in place of a last expression. The target is on no line, so each line has the
    hits that it would have in a program."""
    *body, last = tree.body or [None]
    if not isinstance(last, ast.Expr):
        return tree
    target = ast.Name(VALUE, ast.Store(), lineno=-1, end_lineno=-1, col_offset=-1, end_col_offset=-1)
    return ast.Module([*body, ast.copy_location(ast.Assign([target], last.value), last)], tree.type_ignores)


# ---- coroutines ---------------------------------------------------------------------------------


def driven(shell, awaited, awaits, coroutine):
    """Runs the coroutine and returns its result; returns the coroutine itself if the cell awaits it."""
    __tracebackhide__ = True
    if awaited:
        return coroutine
    return shell.loop_runner(coroutine) if awaits else _sent(coroutine)


def _sent(coroutine):
    __tracebackhide__ = True
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine awaits")


class WithAwait:
    """An input transformer. If a magic of ours gets code that awaits, its call is awaited, and an option (AWAITED)
    tells the magic so."""

    has_side_effects = False

    def __init__(self, shell):
        self.shell = shell

    def __call__(self, lines):
        text = "".join(lines)
        if not any("'%s'" % name in text for name in SPECS):
            return lines
        try:
            calls = list(_calls(ast.parse(text)))
        except (SyntaxError, ValueError):
            return lines
        lines = text.split("\n")
        for call in reversed(calls):
            if self._hands_over_await(*(arg.value for arg in call.args)):
                _insert_await(lines, call)
        return "\n".join(lines).splitlines(keepends=True)

    def _hands_over_await(self, name, line, cell=None):
        try:
            return _awaits(self.shell, statement_of(parsed(name, line).rest, cell))
        except Exception:  # the magic itself will complain
            return False


def _awaits(shell, text):
    if "await" not in text and "async" not in text:
        return False
    with warnings.catch_warnings():  # warnings appear when the text is compiled to be run
        warnings.simplefilter("ignore")
        code = compile(shell.transform_cell(text), "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                       dont_inherit=True)  # fmt: skip
    return _is_coroutine(code)


def statement_of(statement, cell):
    return statement if cell is None else statement + "\n" + cell


def _calls(tree):
    """The calls of our magics that are not within functions, in their order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        waiting += reversed(list(ast.iter_child_nodes(node)))
        if isinstance(node, ast.Call) and _is_ours(node):
            yield node


def _is_ours(call):
    return (isinstance(call.func, ast.Attribute) and call.func.attr in CALLS
            and len(call.args) >= 2 and all(isinstance(arg, ast.Constant) for arg in call.args)
            and call.args[0].value in SPECS)  # fmt: skip


def _insert_await(lines, call):
    line = lines[call.lineno - 1].encode()
    before, options = call.col_offset, call.args[1].col_offset + 1  # behind the quote of the second argument
    lines[call.lineno - 1] = b"".join(
        (line[:before], b"await ", line[before:options], AWAITED.encode(), b" ", line[options:])).decode()
