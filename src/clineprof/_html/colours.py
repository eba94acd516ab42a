# SPDX-License-Identifier: MIT
"""Finds the keywords, strings and so on in Python source, with Pygments where it is installed. Pygments reads about
a megabyte per second, so only the hottest functions get colours. For some texts that are no programs Pygments takes
quadratic time: such texts get no colours."""
import re
import time

from clineprof._html import texts

# The kinds of a run of characters; a run has the index of its kind, 0 is plain text. tables.css has a class for each.
KINDS = ("", "kw", "str", "lit", "com", "def", "dec", "bui", "esc")
CHARACTERS = 500_000  # about 14,000 lines
SECONDS = 10  # of processor time: twenty times as long as Pygments usually takes for CHARACTERS
LONGEST_LINE, LONGEST_GAP = 2000, 1000


def runs_of(functions):
    """Returns {place: [length, kind, length, kind, ..]} for the first of the functions, pairs of a place and a text,
    as many as CHARACTERS and SECONDS allow. None without Pygments."""
    try:
        from pygments import token
        from pygments.lexers.python import PythonLexer
    except ImportError:
        return None
    lexer, kinds = PythonLexer(), _Kinds(token.Token)
    found, left, end = {}, CHARACTERS, time.thread_time() + SECONDS
    for place, text in functions:
        left -= len(text)
        if left < 0:
            break
        runs = _runs(lexer, kinds, text, end) if _is_readable(text) else None
        if runs is not None:
            found[place] = runs
    return found


def _is_readable(text):
    return (max(map(len, text.split("\n"))) <= LONGEST_LINE
            and max(map(len, re.findall(r"\s+", text)), default=0) <= LONGEST_GAP)


def _runs(lexer, kinds, text, end):
    """Returns [length, kind, ..] of the text, or None when the time is up. Lengths are those of JavaScript's strings: a
    character above U+FFFF counts two."""
    runs, last = [], None
    look = time.monotonic() + end - time.thread_time()  # before then the time cannot be up, and this clock is cheaper
    for _, token, value in lexer.get_tokens_unprocessed(text):
        kind = kinds[token]
        length = len(value) if value.isascii() else len(value.encode("utf-16-le", "surrogatepass")) // 2
        if kind == last or (value.isspace() and runs):
            runs[-2] += length
        else:
            runs += (length, kind)
            last = kind
        if time.monotonic() > look and time.thread_time() > end:
            return None
    return runs


def pieces(lines, runs):
    """Yields [(text, kind), ..] for each line, without the line end. page.js reads runs in the same way."""
    runs, left, kind = iter(runs), 0, 0
    for line in lines:
        data, at, found = (line + "\n").encode("utf-16-le", "surrogatepass"), 0, []
        while at < len(data):
            if not left:
                left, kind = next(runs, len(data)), next(runs, 0)
            part = data[at:at + 2 * left]
            found.append((part.decode("utf-16-le", "surrogatepass").rstrip("\n"), KINDS[kind]))
            left -= len(part) // 2
            at += len(part)
        yield found


def markup(lines, runs):
    """Returns the markup of each line; without runs it has no colours."""
    if not runs:
        return map(texts.shown, lines)
    return ("".join('<span class="%s">%s</span>' % (kind, texts.shown(part)) if kind
                    else texts.shown(part) for part, kind in line)
            for line in pieces(lines, runs))  # fmt: skip


class _Kinds(dict):
    """Maps Pygments' type of a token to an index in KINDS. Each type is looked up only once."""

    def __init__(self, token):
        super().__init__()
        self.known = (
            (token.Keyword, "kw"), (token.Operator.Word, "kw"), (token.Literal.String.Escape, "esc"),
            (token.Literal.String.Interpol, "esc"), (token.Literal.String, "str"),
            (token.Literal.Number, "lit"), (token.Comment, "com"), (token.Name.Function, "def"),
            (token.Name.Class, "def"), (token.Name.Decorator, "dec"), (token.Name.Builtin, "bui"),
            (token.Name.Exception, "bui"),
        )  # fmt: skip

    def __missing__(self, token):
        name = next((name for kind, name in self.known if token in kind), "")
        self[token] = KINDS.index(name)
        return self[token]
