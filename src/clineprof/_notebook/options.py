# SPDX-License-Identifier: MIT
"""Reads the options of a magic, which stand before the statement. The statement is left exactly as it is."""
from IPython.core.error import UsageError


# {magic: (letters in getopt's form, long names (with "?": may have a value))}
SPECS = {
    "lprun": ("rszf:m:D:T:u:", ()),
    "lprun_all": ("rzptD:T:u:", ()),
    "mprun": ("rcf:m:T:", ()),
    "memit": ("r:t:i:coq", ()),
    "clineprof": ("rzpf:m:D:T:u:", ("all", "compare", "no-memory", "light", "cpu", "native", "io", "counters?", "tensors",
                                      "heap", "leaks?", "timeline?")),
}


UNITS = "auto", "s", "ms", "us", "ns"
AWAITED = "--await"  # an option that cells.WithAwait inserts


class BadValue(UsageError, TypeError):
    """A wrong value of an option. It is a UsageError, which IPython shows in one line, and a TypeError, which
    line_profiler raises."""

    def _render_traceback_(self):  # for a subclass of UsageError IPython calls this
        return ["UsageError: %s" % self]


class Wish:
    """The options of a magic as attributes, by letter or name: True, None (not given), or the value; for -f and -m a
    list of values. `rest` is what stands behind the options."""

    awaited = False
    leaks_value = "calls"  # the default of --leaks
    counters_value = "faults,switches"

    def __init__(self, flags):
        for letter in flags:
            setattr(self, letter, None)
        self.f, self.m, self.rest = [], [], ""

    def __getattr__(self, name):
        return None  # the magic has no option of this name

    def put(self, name, value):
        if name in ("f", "m"):
            getattr(self, name).append(value)
        else:
            setattr(self, "z" if name == "s" else name, value)  # -s is the older name of -z

    def number(self, name, default):
        return self._number(name, default, float, "a number of seconds above 0", lambda n: n > 0)

    def interval(self, default):
        """The value of --timeline."""
        return self._number("timeline_value", default, float, "a number of seconds from 0.001 to 3600",
                            lambda n: 0.001 <= n <= 3600)

    def counted(self):
        """What --io and --counters ask for, as Profiler takes it."""
        return ",".join(["io"] * bool(self.io) + [self.counters_value] * bool(self.counters))

    def unit(self, default):
        """A unit of times: a number of seconds or a word."""
        return self.u if self.u in UNITS else self.number("u", default)

    def integer(self, name, default):
        return self._number(name, default, int, "a whole number, not negative", lambda n: n >= 0)

    def _number(self, name, default, kind, what, good):
        text = getattr(self, name)
        if text is None:
            return default
        try:
            number = kind(text)
        except ValueError:
            number = None
        if number is None or not good(number) or number == float("inf"):
            option = "--" + name.removesuffix("_value") if name.endswith("_value") else "-" + name
            raise BadValue("%s needs %s, not %r" % (option, what, text))
        return number


def parsed(magic, line, may_go_on=True):
    """Reads the line of a magic, and returns a Wish. Raises UsageError for a wrong option, and for a statement behind
    the options if it may not go on there."""
    short, long = SPECS[magic]
    valued = {letter for letter, colon in zip(short, short[1:]) if colon == ":"}
    flags = set(short) - valued - {":"}
    wish, rest = Wish(flags | valued), line.strip()
    if rest.split()[:1] == [AWAITED]:
        wish.awaited, rest = True, rest[len(AWAITED):].lstrip()
    while rest.startswith("-") and rest.split()[0] not in ("-", "--"):
        if rest.startswith("--"):
            word, _, rest = rest[2:].partition(" ")
            _put_long(wish, word, long)
        else:
            rest = _put_short(wish, rest[1:], flags, valued)
        rest = rest.lstrip()
    wish.rest = rest[2:].lstrip() if rest.startswith("--") else rest
    if wish.rest and not may_go_on:
        raise UsageError("%%%%%s takes nothing behind its options: %s" % (magic, wish.rest))
    return wish


def _put_long(wish, word, known):
    name, equals, value = word.partition("=")
    if name + "?" in known and value:
        wish.put(name.replace("-", "_") + "_value", value)
    elif equals or name not in known and name + "?" not in known:
        raise UsageError("option --%s %s" % (name, "has no value" if equals and name in known
                                             else "not recognized"))
    wish.put(name.replace("-", "_"), True)


def _put_short(wish, rest, flags, valued):
    """Reads letters up to a space, or up to an option with a value. Returns the text behind them."""
    while rest and rest[0] != " ":
        letter, rest = rest[0], rest[1:]
        if letter in valued:
            value, rest = _value(rest.lstrip())
            if not value:
                raise UsageError("option -%s requires a value" % letter)
            wish.put(letter, value)
            break
        if letter not in flags:
            raise UsageError("option -%s not recognized ('--' ends the options)" % letter)
        wish.put(letter, True)
    return rest


def _value(text):
    """(first word, text behind it). Spaces within quotes and brackets are part of the word; quotes around the whole
    word are removed."""
    depth, quote = 0, None
    end = len(text)
    for i, c in enumerate(text):
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c.isspace() and depth <= 0:
            end = i
            break
    value = text[:end]
    if len(value) > 1 and value[0] in "\"'" and value.find(value[0], 1) == len(value) - 1:
        value = value[1:-1]
    return value, text[end:]
