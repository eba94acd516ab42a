# SPDX-License-Identifier: MIT
"""Writes programs of functions made by chance (from a seed: the same text every time), in every
layout and with everything the running interpreter compiles.

    python generate.py SEED [COUNT [FIRST]]      prints a program

Functions come from templates: SIMPLE and COMPOUND statements, EXPRESSIONS and so on, each filled in
by chance. In a template stand

    $e  an expression, an int        $q  one that may stand in a comprehension or lambda
    $c  a condition                  $i  something to loop over
    $b  here a line may break        $1  a name of the template's own ($1 .. $9)
    $N  here it does                 $f  the function being written
    $l  a short expression           $G  the global variable
    $body, $loop, $star, $class      a block of statements; of a loop, of except *, of a class
    ? at the start of a line         this line, and what is indented below it, may be left out

Every loop is bounded, so is every recursion; what a function does depends on its argument alone.
The program writes down what it can see of itself: results, exceptions with their tracebacks, line
numbers of frames, when objects die. It prints a checksum of that for each function; all of it for
those named on its command line, or when it has but one.
"""

import random
import re
import sys
import warnings
from typing import NamedTuple

VERSION = sys.version_info[:2]
KINDS = {"plain": 9, "generator": 5, "coroutine": 3, "asyncgen": 3}

HEAD = '''# Made by tests/conformance/generate.py.
import contextlib
import gc
import itertools
import sys
import types
import zlib

try:
    profile
except NameError:
    def profile(thing): return thing

G = 0
NOTES = []

# Before 3.12, when an exception is thrown through a frame that is handling another one, what its
# traceback had gathered by then is lost, unless a try statement on the way has seen it; and a name
# that has no value is told of as on the line before, where two instructions were made one.
FORGETS = sys.version_info < (3, 12)

# When the objects in a frame die can depend on who watches: since 3.13 a generator that is closed
# outside of any try statement does not run, unless any tool monitors anything; and on 3.10 tracing
# keeps frames. What is written down then is the same, but not its order.
UNSURE = not (3, 11) <= sys.version_info < (3, 13)


def note(thing):
    if len(NOTES) < 3000: NOTES.append(thing)
    return 0


def where(): return note(sys._getframe(1).f_lineno)
def same(*things, **named): return sum(things) % 9973 + len(named)


class Odd(ValueError): pass
class Stop(BaseException): pass
class Meta(type):
    def __new__(cls, name, bases, names, **more): return super().__new__(cls, name, bases, names)
    def __init__(cls, name, bases, names, **more): pass


class Dies:
    def __init__(self, n): self.n = n
    def __del__(self): note(f"dead {self.n}")
    if sys.version_info >= (3, 12): __del__ = profile(__del__)  # else lost to tracing


class Point(metaclass=Meta):
    __match_args__ = "n", "m"
    ZERO = 0

    @profile
    def __init__(self, n, m=1):
        self.n = n
        self.m = m

    @profile
    def __add__(self, other): return self.n + other
    @profile
    def __matmul__(self, other): return self.n - 1
    @profile
    def __lt__(self, other): return self.n < other
    @profile
    def __bool__(self): return self.n % 2 == 0
    @profile
    def __contains__(self, thing): return thing == self.n
    @profile
    def __call__(self, *things): return same(*things)

    @profile
    def __iter__(self):
        yield self.n
        yield self.m

    @profile
    def __getitem__(self, key):
        return self.n + 1

    @profile
    def __setitem__(self, key, value):
        self.m = value

    @property
    @profile
    def twice(self):
        return self.n * 2

    @profile
    def method(self, a, b=3):
        return same(a,
                    b)


class Proxy:
    @profile
    def __getattribute__(self, name): return len(name)


class Turns:
    @profile
    def __init__(self, n): self.n = n
    def __iter__(self): return self

    @profile
    def __next__(self):
        self.n -= 1
        if self.n < 0: raise StopIteration
        return self.n


class Quiet:
    def __init__(self, n): self.n = n

    @profile
    def __enter__(self):
        return self.n

    @profile
    def __exit__(self, kind, error, trace):
        note(kind and (kind.__name__, FORGETS or trace.tb_lineno))
        return self.n % 2 == 0

    @profile
    async def __aenter__(self):
        return self.n + await Pause(1)

    @profile
    async def __aexit__(self, kind, error, trace):
        await Pause(2); return self.__exit__(kind, error, trace)


class Rough:
    """Raises when it is entered, or when it is left; or it stops what is raised, or does nothing."""
    def __init__(self, n): self.n = n % 5

    @profile
    def __enter__(self):
        if self.n == 1: raise Odd("enter")
        return self.n

    @profile
    def __exit__(self, kind, error, trace):
        note(kind and (kind.__name__, FORGETS or trace.tb_lineno))
        if self.n in (2, 3): raise KeyError("exit")
        return self.n == 4

    @profile
    async def __aenter__(self):
        if self.n: await Pause(3)
        return self.__enter__()

    @profile
    async def __aexit__(self, *what):
        if self.n != 2: await Pause(4)
        return self.__exit__(*what)


class Pause:
    def __init__(self, n): self.n = n

    @profile
    def __await__(self):
        got = yield self.n
        return got or 0


@profile
def part(n):
    got = yield n
    try:
        yield got or 1
    except Odd:
        note("part")
    return n + 1


@profile
def through(source): return (yield from source)


@profile
def guarded(source):
    try:
        return (yield from source)
    except Odd as error:
        yield note(str(error))
    finally:
        note("guarded")


@profile
async def later(n):
    if n % 2: await Pause(n)
    return n % 7


@profile
async def each(n):
    try:
        for i in range(n % 4):
            await later(i)
            yield i
    finally: note("each")


@profile
async def collect(source): return sum([thing or 0 async for thing in source])


@profile
def spin(awaitable):
    got = None
    for _ in range(40):
        try: got = awaitable.send(got)
        except StopIteration as stop:
            return stop.value or 0
    awaitable.close()
    return 40


def passing(function):
    @profile
    def call(*things, **named):
        return function(*things, **named)
    return call


def scaled(a, b=2): return lambda function: function


def replacing(function):
    """Gives it other code, as types.coroutine does."""
    function.__code__ = function.__code__.replace(co_stacksize=function.__code__.co_stacksize + 1)
    return function


def remade(function):
    """Another function of a copy of its code."""
    made = types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__,
                              function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made
'''

TAIL = '''

def shown(value):
    return value if isinstance(value, (int, str, type(None))) else type(value).__name__


def trail(error):
    """What its traceback tells of an exception and of those before it."""
    out = []
    while error is not None and len(out) < 60:
        text = str(error)
        out.append((type(error).__name__, text if " at 0x" not in text else ""))
        trace = None if FORGETS and isinstance(error, NameError) else error.__traceback__
        while trace:
            code = trace.tb_frame.f_code
            out.append((code.co_name, trace.tb_lineno, trace.tb_frame.f_lineno))
            if hasattr(code, "co_positions"):
                out.append(next(itertools.islice(code.co_positions(), trace.tb_lasti // 2, None)))
            trace = None if FORGETS and code.co_flags & 0x2a0 else trace.tb_next
        error = error.__cause__ or error.__context__
    return out


def attempt(action, *things):
    try:
        note(shown(action(*things)))
    except BaseException as error:
        note(trail(error))


PLANS = (
    ["next"] * 25,
    ["next"] + ["send"] * 15 + ["close"],
    ["next", "throw", "next", "next", "throw", "next", "throw", "close", "next"],
    ["next", "next", "close", "next", "throw"],
    ["next", "next", "next", "poke", "next", "stop"],
    ["throw", "next"],
)


def step(running, kind, what):
    """One step of something that can be suspended."""
    if kind == "asyncgen":
        if what == "poke":
            waiting = running.asend(None)
            waiting.send(None)
            return waiting.throw(Odd("poked"))
        return spin(
            running.athrow(Odd("thrown in")) if what == "throw"
            else running.athrow(Stop) if what == "stop"
            else running.aclose() if what == "close"
            else running.asend(3 if what == "send" else None))
    if what == "throw": return running.throw(Odd("thrown in"))
    if what == "stop": return running.throw(Stop)
    if what == "close": return running.close()
    return running.send(3 if what == "send" else None)


def use(function, kind, n, plan):
    running = function(n)
    kept = running
    if kind == "generator" and plan % 2: running = through(guarded(running))
    letters = {"generator": "gi", "coroutine": "cr", "asyncgen": "ag"}[kind]
    for what in PLANS[plan]:
        attempt(step, running, kind, what)
        frame = getattr(kept, letters + "_frame")
        if frame is None: break
        note(frame.f_lineno)
        note(getattr(kept, letters + ("_yieldfrom" if kind == "generator" else "_await")) is None)


def race(function, n):
    """Two coroutines of a function, in turns."""
    tasks = [function(n), function(n + 1)]
    for turn in range(40):
        for task in list(tasks):
            try:
                note(task.send(turn % 3 if turn else None))
            except BaseException as error:
                note(trail(error))
                tasks.remove(task)


def run(function, kind, rounds, first):
    global G
    for _ in range(rounds or 1):
        G = 0
        for n in range(5) if rounds else [2]:
            if kind == "plain": attempt(function, n)
            else: use(function, kind, n, (n + first) % len(PLANS))
        if kind == "coroutine": race(function, 2)


def main():
    sys.unraisablehook = lambda it: note(("unraisable", type(it.exc_value).__name__))
    gc.disable()  # when it runs depends on what a profiler allocates
    gc.freeze()
    for place, (name, function, kind, rounds) in enumerate(FUNCTIONS):
        NOTES.clear()
        run(function, kind, rounds, zlib.crc32(name.encode()))
        gc.collect()
        if UNSURE: NOTES.sort(key=repr)
        shown_whole = len(FUNCTIONS) == 1 or name in sys.argv
        print(name, *(NOTES if shown_whole else [zlib.crc32(repr(NOTES).encode())]),
              sep="\\n" if shown_whole else " ", flush=True)


main()
'''


def table(*versions):
    """Templates, one a line, of those (version, text) that this interpreter understands."""
    texts = [text for since, text in versions if VERSION >= since]
    return [line for text in texts for line in text.split("\n") if line]


def blocks(*versions):
    """The same of templates that have several lines; an empty line lies between two."""
    return [
        block.strip("\n")
        for since, text in versions
        if VERSION >= since
        for block in text.split("\n\n")
    ]


LEAVES = "n x y n x 7 1000003 2 len(s) len(things) p.n G -3 where() same(x)".split()

EXPRESSIONS = table(
    (
        (3, 10),
        r"""
$e + $e
($e$b - $e$b + $e)
($e +\$N$b$e)
-$e
~($e)
$e % 11
($e) * 3 % 101
$e & 255 | $e & 1
$e if $c else $e
($e$b if $c$b else $e)
(n and $e or $b$e)
($e$b and $e$b or $e)
(n and same($e))
(x or same(n,$b x))
(same(n) and same(x) or same(y))
int($c)
(not $e) + $e
(0 <$b $e$b < 9) + 0
int($e == n != $e)
int(same(n) < same(x)$b <= same(y))
same($e, $e)
same($b$e,$b$e,$b)
same(same(n,$b x),$b same($e), same(y))
same(*things[:2], $e, *(n, x), k=$e, **{'a': 1})
same(n, *[$e,$b $e], **dict(a=1), b=$e)
same(k=$e,$b j=n)
p($e)
p + $e
p @ $e
p[$e]
p.twice + $e
p.method($e,$b $e)
(p < $e) + 1
($e in p) + 0
things[0] + $e
things[-1:][0]
len(things[$e % 3:])
len(things[:2:$e % 2 + 1])
len([$e,$b $e, *things[:1]])
len({'a': $e,$b 'b': $e, **{'c': n}})
len({$e, *things[:2]})
len({1: n, 'b': $e})
len(($e, x)[1:])
len([$q for $1 in range(3)])
sum($q for $1 in range(n))
sum([$b$1 + $q$b for $1 in range(3)$b if $1 != n$b])
len({$b$q$b for $1 in range(2)$b for $2 in range($1 + 1)$b if $2 or n})
len({$1: $q for $1 in 'ab'})
len({$1:$b $q for $1 in 'ab' if $q})
sum([sum([$1 * $2 for $2 in range(3)]) for $1 in range(2)])
sum([sum([$1$b for $2 in range(3)$b if same($1, $2)])$b for $1 in range(2)])
sum($3() for $3 in [lambda: $1 + x for $1 in range(2)])
sum([(lambda a:$b a + $1)(n) for $1 in range(2)])
sum($1 for $1, $2 in zip(range(3), things) if $2 != $q)
[$q for $1 in (1, 2)][-1]
[$1 for $1 in [$q]][0]
sum([$1 for $1 in range(3) if $q if $1])
sum(map(lambda a: a + x, range(2)))
(lambda a, b=$q: a + b)($e)
(lambda *a, k=n, **b: len(a))($e, n, z=1)
profile(lambda a:$b a + $q)($e)
(lambda: (lambda: n + x)())()
len(list((lambda: (yield $q))()))
len(f'{n}{x:>5}{y!r:}')
len(f'{n:{x % 5 + 1}}' f'{x}')
len(f'''{$l}$N  {n}''')
len('a' 'b'$b 'c') + n
len(s + str($e))
len('%d %s' % ($e, n))
len('{} {}'.format(n,$b x))
sum((1, 2,$b $e))
max($e, $e)
(x, y)[n % 2]
len(b'bytes' + bytes(2))
int(n is None or x is not None)
int(x in (1, n)) - int(y not in {1, 2, 3})
any($1 == n for $1 in range(3)) + 0
(all($1 != n for $1 in things[:3])) + 0
sum(part($e))
sum(through(part(n)))
sum(p)
sum(Turns(3))
next(part($e))
next(guarded(part($e)))
spin(later($e))
spin(collect(each($e)))
note($e)
len(locals())
Proxy().abc + $e
Point($e,$b m=n).m
len(__name__)
$e << 1 & 31 ^ 3
+($e >> 1) ** 2 % 7
$e // 3
int($e / 3)
things[$e % 2]
(things or [x])[0]
""",
    ),
    (
        (3, 12),
        r"""
len(f'{$b$e$b}')
len(f"{"a" + str($e)}")
""",
    ),
    (
        (3, 14),
        r"""
len(t"{n} {x!r:>5} {$e}".values)
""",
    ),
    (
        (3, 15),
        r"""
len([*$1 for $1 in ((n, x), things[:1])])
len({**$1 for $1 in ({'a': n}, {'b': x})})
sum((*$1 for $1 in ((n, x), (1,))))
""",
    ),
)

IN_FUNCTIONS = table(
    (
        (3, 10),
        r"""
(w := $e)
(w := $e) + (w := $e)
sum([(w := $1 + x) for $1 in range(2)])
""",
    )
)

IN_GENERATORS = table(
    (
        (3, 10),
        r"""
((yield) or 1)
((yield $e) or 0)
same((yield x) or 0,$b (yield $e) or 1)
len(str((yield n)))
((yield x) and (yield y) or 0)
(1 if (yield $e) is None else $e)
""",
    )
)

DELEGATING = table(
    (
        (3, 10),
        r"""
(yield from part($e))
len(str((yield from guarded(part(n)))))
same((yield from (part($e))))
""",
    )
)

IN_COROUTINES = table(
    (
        (3, 10),
        r"""
await later($e)
(await Pause($e))
same(await later(n),$b await later($e))
(await later(x) if $c else $e)
(n and await later($e))
sum([$1 async for $1 in each(n)])
sum([await later($1) for $1 in range(3)])
len({await later($1)$b for $1 in range(2)$b if await later(n)})
len([$2 for $1 in range(3) async for $2 in each($1)])
sum([$1 async for $1 in (await later($2) for $2 in range(3))])
await collect($1 async for $1 in each($e) if $1)
await (lambda: later(n))()
(await later(n)) + (await collect(each($e)))
""",
    ),
    (
        (3, 11),
        r"""
sum([sum([$1 async for $1 in each($2)]) for $2 in range(3)])
""",
    ),
)

CONDITIONS = table(
    (
        (3, 10),
        r"""
n % 2
n == 3
$e > 5
not $e
x < n
$e >= x
n and x
$e or $e
(n > 2 and$b x != 7)
x in (1, 2, 3)
1 < x < 5
(n < same(x) <$b 9)
same($e)
any($1 == n for $1 in range(3))
p
p and $e
p < $e
not (n and$b $e)
($c$b and $c)
$c or $c
(not $c)
($c if $c else $c)
x is None
n is not None
things
s
n == 3 and p(x) or x
isinstance(x, int)
True
0
not p
s == "a" or not s
n >\$N  $e
""",
    )
)

ITERABLES = table(
    (
        (3, 10),
        r"""
range(3)
range(n)
range(n)
(1,$b 2)
[n, x, $e]
()
'ab'
enumerate((n,$b x))
zip(range(3),$b things)
things[:3]
reversed(range(n))
part(n)
through(part($e))
p
Turns(n)
($q for $1 in range(3))
[$q for $1 in range(2)]
map(lambda a: same(a), range(n))
{'a': n, 'b': x}.items()
iter(range(2))
itertools.chain(part(1),$b part(2))
""",
    )
)

SIMPLE = table(
    (
        (3, 10),
        r"""
x = $e
x = $e
x += $e
y = $e
x -= $e
x %= 97
x <<= 1; x >>= 1; x |= n; x ^= 3; x &= 255
x *= 3; x //= 2; y **= 1; x /= 2; x = int(x)
$1 = Point($e); $1 @= x
x = y = $e
x, y = $e, x
x, *$1 = $e, n, 1
(x,$b y) = (y,$b $e)
[$1, (x, *$2)] = $e, (n, 1, 2)
$1, = [$e]
things.append($e)
things[0] = $e
things[-1] += $e
things[:1] = [$e,$b $e]
things[n:] = [$e]; things += [x]
things = [n, $e]
things = [$1 for $1 in range(3) if $q] or [1]
del things[1:]
p.n = $e
p.m += $e
p[$e] = $e
p[n] += $e
p = Point($e)
s += str($e)
s += 'text'
s = s + f'{x}'; s += "b" * 2
s = (s +$b "c" +$b str(n))
assert x is not None
assert p is not None, ("a"$b "b")
assert n != 3, f"text {n}"
assert (same(x) is not None and$b True)
pass
...
'a text'
x
$1: int = $e
$1: int
$1 = $e; del $1
$1, $2 = n, x; del $1, $2
del things[1:], p.m; p.m = 0
$G = $e
del $G; $G = 1
$G += 1
import math as $1
from math import floor as $1, ceil
import os.path as $1, sys
note($e)
note((x, y, s))
where()
note((x,$b where(),$b y))
same(where(),$b where())
note(len(locals()))
note(sys.exc_info()[0] is None)
$1 = Dies(n)
$1 = Dies(n); $1 = None
Dies($e)
$1 = lambda a=n, *b: a + x; x += $1(2)
$1 = [lambda: $2 for $2 in range(3)]; x += $1[0]()
x = x if $c else $e
x and same(x) or note(y)
n and where()
x, y = y, x; x += $e; y -= 1
""",
    ),
    (
        (3, 12),
        r"""
type $1 = int
type $1[T] = list[T]
""",
    ),
)

# one line, but nothing may stand before it or behind it
ONE_LINERS = table(
    (
        (3, 10),
        r"""
if $c: x += $e
if $c: x += $e; y = $e
for $1 in range(2): x += $1
for $1 in $i: same(x); y += 1
for $1 in range(n): pass
for $1 in part(n): s += str($1)
for $1 in range(3): x += $1 if $1 != n else same($1)
while (x := x % 7) > 3: x -= 1
while x > 97: x = same(x) % 90
with Quiet($e): x += 1
with Quiet($e) as $1, Quiet(2): x += $e
with Quiet(2): raise Odd(n)
with Rough(n), Rough($e) as $1: x += $e
with Rough($e), Rough(n): raise Odd(n)
with Quiet(n), Rough(n + 1), Rough($e): x = $e
def $1(a=n): return a + 1
class $1: field = n
class $1: pass
async def $1(): return n
""",
    )
)

YIELDS = table(
    (
        (3, 10),
        r"""
yield $e
yield
yield x
x = (yield $e) or 0
x += (yield x) or 1
$1 = yield $e
$1 = yield x; y = $1 or 1
note((yield x))
yield n; yield x
yield [$q for $1 in range(2)][0]
s += f"{(yield n)}"
yield (yield x)
things[0] = (yield $e) or 3
assert (yield x) is not p, 'text'
x = n and (yield x) or 1
""",
    )
)

DELEGATIONS = table(
    (
        (3, 10),
        r"""
yield from part($e)
x += yield from part(n)
yield from ($q for $1 in range(2))
yield from (1, 2)
yield from []
yield from through(guarded(part($e)))
$1 = yield from through(through(part(n)))
yield from p
yield from Turns(2)
""",
    )
)

AWAITS = table(
    (
        (3, 10),
        r"""
await later($e)
x = await later(x)
x += await Pause($e)
x = same(await later(n),$b await later(x))
later(n).close()
later(1)
await later(n); await Pause(x)
x += sum([i async for i in each(n)])
""",
    )
)

COMPOUND = blocks(
    (
        (3, 10),
        r"""
if $c:
    $body
? elif $c:
    $body
? elif $c:
    $body
? else:
    $body

if $c:
    $body
? else:
    $body

for $1 in $i:
    $loop
? else:
    $body

for $1 in $i:
    $loop

for $1 in $i:
    if $c: $2 = $1; continue
    ? $loop
    if $c: break
? else:
    $body

for $1, ($2, *$3) in [(1, (2, 3)),$b (n, (x, y))]:
    $loop

for p.n in range(2):
    $loop

for things[0] in (1, 2):
    $loop

$1 = 0
while $1 < 3:
    $1 += 1
    $loop
? else:
    $body

$1 = 0
while $1 < 3 and$b ($c):
    $1 += 1
    $loop

$1 = 0
while ($1 := $1 + 1) < 4:
    $loop
? else:
    $body

$1 = 0
while True:
    $1 += 1
    if $1 > 3: break
    $loop

$1 = n
while $1: $1 -= 1

$1 = n
while $1 is not None: $1 = None if $1 < 1 else $1 - 1
while $1 is None: $1 = x

$1 = 0
while 1:
    if $1 > 2:
        x += $e
        break
    $1 += 1
    $loop

try:
    $body
except Odd:
    $body
? except (KeyError,$b IndexError) as error:
    $body
? else:
    $body
? finally:
    $body

try:
    $body
finally:
    $body

try:
    $body
    if $c: raise Odd($e)
    $body
except ValueError as error:
    note(str(error))
    ? $body
? finally:
    $body

try: x += $e; raise Odd
except Odd: x += 1
? else: y = 1
? finally: y += 1

try:
    try:
        $body
        raise Odd(n)
    ? except KeyError: pass
    finally:
        $body
except Exception as error:
    $body
    ? raise

try:
    raise KeyError(n)
except KeyError as error:
    ? $body
    if $c: raise Odd(1) from error
    ? raise

try:
    things[99]
except IndexError:
    $body
    ? raise Odd(x) from None
finally:
    $body

try:
    1 // n
except ZeroDivisionError as error:
    $1 = error
    $body
except:
    raise
else:
    $body

try:
    pass
except Stop:
    pass

for $1 in $i:
    try:
        $loop
        if $c: continue
        if $c: break
    except Odd:
        $loop
        continue
    finally:
        $loop

for $1 in $i:
    try:
        $body
    finally:
        if $c: break
        ? continue

while $c:
    try:
        $loop
        break
    finally:
        break

with Quiet($e):
    $body

with Quiet($e) as $1:
    $body
    ? raise Odd(n)

with Quiet(n) as $1, \
        Quiet($e) as $2:
    $body

with (Quiet($e) as $1,$b Quiet(n),$b Quiet(1) as $2):
    $body
    if $c: raise Odd($1)

with Quiet(2), Quiet(n):
    $body
    raise KeyError($e)

with Quiet(2) as p.n: x += $e

with (
    Quiet($e)
):
    $body

with Rough($e):
    $body

with Rough(n), Rough($e) as $1:
    $body
    ? raise Odd(n)

with Quiet(n), Rough(n + 1), Rough(n + 2) as y:
    $body

try:
    with Rough($e) as $1, \
            Rough(n),$b Quiet($e):
        $body
        ? raise KeyError(n)
except (Odd, KeyError):
    $body

try:
    with (Rough(n + 1),$b Rough($e),$b Rough(n)):
        ? if $c: return
        $body
        ? raise Odd(n)
? except Odd: x += 1
finally:
    $body

for $1 in $i:
    with Rough($e), Rough(n + 3) as $2:
        $loop
        ? if $c: continue
        ? if $c: break
        ? raise Odd(n)

with Rough(n + 3), Rough(n + 1):
    with Rough(x), Quiet(n): x += $e
    ? $body

with contextlib.suppress(Odd,$b KeyError):
    $body

with contextlib.closing(part(n)) as $1:
    next($1)
    $body

match $e % 4:
    case 0:
        $body
    case 1 | 2:
        $body
    ? case -1 | 1.5 | 2j:
        $body
    ? case _:
        $body

match (n,$b $e):
    case (0, y):
        $body
    case ($1, $2) if $1 == $2:
        $body
    ? case [1, *$3]:
        $body
    case int(), int():
        $body

match things:
    case []: x = 0
    case [$1]: x += 1
    case [$1, *_, (2 | 3 | -1) as $2] if $c: x += 2
    ? case [1, $3, *$4]:
        $body
    case _: y = 2

match {'a': n, 'b': [x, {'c': y}]}:
    case {'a': 0}:
        $body
    case {'b': [_, {'c': 1 | 2 as $1}]} if $c:
        $body
    case {'a': int($1),
          **$2}:
        $body

match p:
    case Point(0):
        $body
    ? case Point(n=1, m=1) | Point(2, 1):
        $body
    case Point($1, m=int($2)) if same($1) > $e:
        $body
    ? case Point(): x += 1

match s:
    case '': pass
    case 'a' | "text" | 'b' 'c':
        $body
    case str($1) if len($1) > $e: where()
    case None | True | False: pass

match $e:
    case Point.ZERO | sys.maxsize: x += 1
    case int() as $1 if $1 > 5:
        $body
    case ($1): y = 1

class $1:
    $class

class $1(Point$b, metaclass=Meta, flag=$e):
    ? "documented"
    $class
    def method(self, a, b=$q):
        return super().method(a,$b b) + n
x += $1(n).method($e)

class $1:
    n: int = n
    ? def __init__(self): self.a, self.b = n, __class__
    @profile
    def get(self): return self.n if self else x
    @property
    @profile
    def value(self):
        return same(self.n,$b x)
    @staticmethod
    @profile
    def fixed(a): return a
    @classmethod
    @profile
    def made(cls): return cls()
x += $1().get() + $1.made().value + $1.fixed($e)

class $1:
    def __getattr__(self, name):
        return [len(name),
                $q][0]
x += $1().abc

class $1(Quiet):
    @profile
    def __exit__(self, *error):
        return super().__exit__(*error)
with $1($e) as y:
    $body

$1 = []
for $2 in range(3):
    @profile
    def $3(a=$2): return a + $2 + x
    $1.append($3)
x += sum($4() for $4 in $1)

@profile
@contextlib.contextmanager
def $1(a,$b b=2):
    ? $2 = Dies(a)
    try:
        yield a
    finally: note("closed")
with $1($e) as y:
    $body

$1 = iter(range(3))
for $2 in $1:
    if $2 == n: next($1, None); continue
    x += $2

def $1():
    nonlocal x, y
    x, y = y, x
    ? return
    x += 1
$1()

def $1(a):
    def $2(b):
        def $3(c): return a + b + c + n
        return $3
    return $2
x += $1(1)(2)($e)

@passing
@scaled(1,$b b=$e)
def $1(*a,$b k=$e, **b) -> int:
    a += (k,)
    return same(*a,$b **b)
x += $1(n, $e, z=1)

if x: del x
x = n

$1 = 0
while $1 < 30: $1 += 1; same($1)

try:
    del $1
    $2 = $1
except NameError as error:
    note(str(error))
    $body

s += ''' text of
several lines '''
""",
    ),
    (
        (3, 11),
        r"""
try:
    $body
    raise ExceptionGroup('g', [Odd(1), KeyError($e), ExceptionGroup('h', [IndexError(2)])])
except* Odd as error:
    $star
except* (KeyError,$b TypeError):
    $star
except* IndexError: x += 1
? else:
    $body
? finally:
    $body

try:
    try:
        raise Odd(n)
    except* KeyError:
        $star
    except* Odd:
        $star
        ? raise KeyError(1)
except ExceptionGroup as error:
    note(len(error.exceptions))
    $body

try:
    $body
except* ValueError:
    $star
""",
    ),
    (
        (3, 12),
        r"""
def $1[T: int](a: T) -> T:
    return a
x += $1($e)

class $1[T, *U, **V](Point): field = $q

type $1 = (int,
           n)
x += len($1.__value__)
""",
    ),
    (
        (3, 13),
        r"""
def $1[T: int = (int)](a: T = $q) -> T: return a
x += $1()
""",
    ),
    (
        (3, 14),
        r"""
try:
    $body
    raise KeyError(n)
except KeyError, IndexError:
    $body
? except Odd, Stop: raise
""",
    ),
)

SUSPENDING = blocks(
    (
        (3, 10),
        r"""
try:
    yield $e
    $body
except Odd:
    yield 1
    $body
finally:
    $body

try:
    yield x
finally:
    yield y

try:
    $body
    yield
except GeneratorExit:
    note('exit')
    raise
except ValueError as error:
    yield n
    ? raise

with Quiet(n):
    yield $e
    $body

with Quiet((yield x) or 0) as $1, Quiet(1):
    yield $1

with Rough(n), Rough($e) as $1:
    yield $1
    ? raise Odd(n)

for $1 in range(2): yield $1

for $1 in $i:
    yield x
    $loop

$1 = 0
while (yield $1) is None and $1 < 3: $1 += 1

if (yield x):
    $body
else:
    yield 2

match (yield x):
    case None: yield 1
    case 3:
        $body
    case _: pass

for $1 in range(4):
    try: $2 = yield n
    except Odd: continue
    if $2: break
""",
    )
)

ASYNCHRONOUS = blocks(
    (
        (3, 10),
        r"""
async for $1 in each($e):
    $loop
? else:
    $body

async for $1 in each(n): x += $1

async for $1, p.n in ((await later($2), n) for $2 in range(3)):
    if $c: break
    $loop

async with Quiet($e):
    $body

async with Quiet(n) as $1, \
        Quiet($e) as $2:
    $body
    ? raise Odd(n)

async with Quiet(2): x += await later(n)

async with (Quiet($e),$b Quiet(0) as y):
    $body
    if $c: raise KeyError(x)

async with Rough($e):
    $body

async with Rough(n + 3), Rough($e) as $1:
    $body
    ? raise Odd(n)

async with Rough(n + 1), Quiet(n), Rough(n + 2): x += await later(n)

try:
    async with Rough($e) as $1, \
            Rough(n),$b Rough(n + 2):
        $body
        ? raise KeyError(n)
except (Odd, KeyError):
    $body

for $1 in $i:
    async with Rough($e), Rough(n + 3) as $2:
        $loop
        ? if $c: continue
        ? if $c: break
        ? raise Odd(n)

async with Rough(n + 3):
    with Rough(n), Quiet(x):
        $body
        ? raise Odd(n)

try:
    await Pause($e)
    $body
except Odd:
    x += await later(x)
finally:
    await Pause(9)

try:
    x += await Pause($e)
    raise Odd(n)
except Odd as error:
    await later(n)
    ? raise
""",
    )
)

USES = {
    "plain": """
x += $f(($e) % 4) or 0

x += ($f(n) or 0) if $c else $e

try:
    x += $f(n - 1 if n else 2) or 0
except Odd as error:
    note(str(error))
    $body

x += sum($f($1) or 0 for $1 in range(2))

note($f(n % 3,$b ))
""",
    "generator": """
for $1 in $f(($e) % 4): y += $1 or 1

for $1 in $f(n):
    $loop

note(len(list($f(1))))

note(next($f(n), None))

$1 = $f(2)
try:
    next($1)
    $body
    $1.throw(Odd(n))
except (Odd, StopIteration) as error:
    note(str(error))
$1.close()

$1, *$2 = through(guarded($f(n))), n

note([*$f(n)] == [])
""",
    "coroutine": """
x += spin($f(($e) % 4))

$1 = $f(n)
try:
    $1.send(None)
    $1.throw(Odd(n))
except (Odd, StopIteration) as error:
    note(str(error))
$1.close()

$f(1).close()
""",
    "asyncgen": """
x += spin(collect($f(($e) % 4)))

$1 = $f(n)
try:
    note(spin($1.asend(None)))
    note(spin($1.athrow(Odd(n))))
except (Odd, StopAsyncIteration) as error:
    note(str(error))
spin($1.aclose())
""",
}

ASYNC_USES = {
    "coroutine": """
x += (await $f(($e) % 4)) or 0

try: x += await $f(n) or 0
except Odd: where()
""",
    "asyncgen": """
async for $1 in $f(($e) % 4): y += 1

async for $1 in $f(n):
    $loop

note([$1 async for $1 in $f(2) if $1] == [])
""",
}

RECURSIONS = {
    "plain": "if n > 0: x += $f(n - 1) or 0",
    "generator": "if n > 0: yield from $f(n - 1)",
    "coroutine": "if n > 0: x += (await $f(n - 1)) or 0",
    "asyncgen": "if n > 0:\n    async for $1 in $f(n - 1): yield $1",
}

RAISING = table(
    (
        (3, 10),
        """
raise Odd($e)
raise Odd(n)
raise KeyError(n) from Odd(1)
raise Odd from None
raise
1 // 0
things[99]
assert False, 'text'
raise Odd($b"a", $e)
x += None
""",
    )
)

DECORATORS = ("@passing", "@scaled(1,\n  b=3)", "@replacing", "@remade")

PARAMETERS = (
    "n",
    "n",
    "n",
    "n, a=1",
    "n, *rest, k=2",
    "n, /, a: int = 1, **named",
    "\n    n,\n    a=3,\n",
    "n, *, a=(1, 2)",
)

OPENINGS = (
    "x = y = n; s = ''; things = [n, 1]; p = Point(n)",
    "x = y = n\ns = ''\nthings = [n, 1]\np = Point(n)",
    "x, y, s, things, p = n, n, '', [n, 1], Point(n)",
    "things = [\n    n,\n    1]\nx = y = n; s = ''\np = Point(n,\n          2)",
)

PIECES = re.compile(r"\$(\d|\w)")


class Place(NamedTuple):
    """Where a statement stands, and so what it may be."""

    kind: str  # of function; or "class"
    name: str
    outer: bool = True  # not within another function
    loop: bool = False  # break and continue may stand here
    star: bool = False  # in except *, which nothing may leave
    times: int = 1  # how often at most the enclosing loops come here
    room: int = 3  # blocks within blocks from here on


class Writer:
    """Writes one function. A text may have several lines; a block is a list of texts."""

    def __init__(self, chance, size, gap):
        self.chance = chance
        self.pick = chance.choice
        self.left = size  # statements to write
        self.gap = gap
        self.names = 0
        self.globals = False
        self.recursed = False

    def likely(self, chance):
        return self.chance.random() < chance

    # ---- within a line ----------------------------------------------------------------------
    def fill(self, template, place, names, room=2, quiet=False):
        def piece(found):
            mark = found[1]
            if mark.isdigit():
                if mark not in names:
                    names[mark] = self.name()
                return names[mark]
            if mark == "f":
                return names.get("f", place.name)
            if mark == "b":
                breaks = self.pick((1, 1, 1, 2)) + self.gap()
                return "\n" * breaks + " " * 2 if self.likely(0.3) else ""
            if mark == "N":
                return "\n"
            if mark == "l":
                return self.pick(LEAVES)
            if mark == "G":
                self.globals = True
                return mark
            return getattr(self, WITHIN_LINES[mark])(place, room - 1, quiet)

        return PIECES.sub(piece, template)

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def expression(self, place, room, quiet):
        if room < 0 or self.likely(0.3):
            return self.pick(LEAVES)
        choice = EXPRESSIONS
        if not quiet and self.likely(0.25):
            choice = IN_FUNCTIONS if place.kind != "class" else EXPRESSIONS
            if place.kind == "generator":
                choice = self.pick((IN_GENERATORS, DELEGATING))
            elif place.kind == "coroutine":
                choice = IN_COROUTINES
            elif place.kind == "asyncgen":
                choice = self.pick((IN_GENERATORS, IN_COROUTINES))
        return self.fill(self.pick(choice), place, {}, room, quiet)

    def quiet_expression(self, place, room, quiet):
        return self.expression(place, room - 1, True)

    def condition(self, place, room, quiet):
        return self.fill(self.pick(CONDITIONS if room >= 0 else LEAVES), place, {}, room, quiet)

    def iterable(self, place, room, quiet):
        return self.fill(self.pick(ITERABLES), place, {}, room, True)

    # ---- blocks -----------------------------------------------------------------------------
    def body(self, place):
        """A block, with the lines of simple statements now and then joined."""
        if place.kind == "class":
            out = [self.fill(self.pick(SIMPLE[:12]), place, {})]
        else:
            out = []
        last_is_simple = False
        for _ in range(self.pick((1, 1, 2, 2, 3))):
            simple, block = self.statement(place)
            if simple and last_is_simple and self.likely(0.12):
                out[-1] += "; " + block[0]
            else:
                out += block
            last_is_simple = simple
        if self.likely(0.06) and place.kind != "class":
            out += self.leaving(place)[1]
            last_is_simple = False
        return out if len(out) > 1 or not last_is_simple else [Alone(out[0])]

    def statement(self, place):
        """Whether it is simple, and its lines."""
        self.left -= 1
        if self.left < 0 or place.room <= 0 or self.likely(0.45):
            return self.simple(place)
        if self.likely(0.12) and place.kind != "class":
            return self.leaving(place)
        if self.likely(0.12):
            return False, self.nested(place)
        if self.likely(0.15):
            return False, [self.fill(self.pick(ONE_LINERS), place, {})]
        choice = COMPOUND
        if self.likely(0.35):
            if place.kind in ("generator", "asyncgen"):
                choice = SUSPENDING
            if place.kind in ("coroutine", "asyncgen") and self.likely(0.6):
                choice = ASYNCHRONOUS
        template = self.pick(choice)
        if "$loop" in template and place.times > 30:
            return self.simple(place)
        return False, self.build(template, place)

    def simple(self, place):
        choice = SIMPLE
        if self.likely(0.35):
            if place.kind == "generator":
                choice = self.pick((YIELDS, YIELDS, DELEGATIONS))
            elif place.kind == "asyncgen":
                choice = self.pick((YIELDS, AWAITS))
            elif place.kind == "coroutine":
                choice = AWAITS
        if self.likely(0.08) and place.outer and place.times == 1 and not self.recursed:
            if place.kind in RECURSIONS:
                self.recursed = True
                return False, self.build(RECURSIONS[place.kind], place)
        return True, [self.fill(self.pick(choice), place, {})]

    def leaving(self, place):
        ways = [self.pick(RAISING)]
        if not place.star:
            valued = place.kind != "asyncgen"
            ways.append("return" + self.pick(("", " x", " $e")) * valued)
        if place.loop:
            ways += ["continue", "break"] * 2
        way = self.fill(self.pick(ways), place, {})
        if self.likely(0.2):
            return True, [way]
        head = f"if {self.condition(place, 1, False)}:"
        return False, [f"{head} {way}"] if self.likely(0.4) else [head, indented(way, "    ")]

    def build(self, template, place, names=None):
        """The lines of a template, with its blocks written."""
        names = {} if names is None else names
        out = []
        lines = self.chosen(template.split("\n"))
        for line, following in zip(lines, [*lines[1:], ""]):
            content = line.lstrip(" ")
            indent = line[: len(line) - len(content)]
            if content not in BLOCKS:
                out.append(self.spaced(indented(self.fill(content, place, names), indent)))
                continue
            block = self.body(self.within(place, content))
            whole = out[-1].endswith(":") and not following.startswith(indent)
            if whole and isinstance(block[0], Alone) and self.likely(0.3):
                out[-1] += " " + block[0]
            else:
                out += [indented(text, indent) for text in block]
        return out

    def spaced(self, text):
        return text if text.endswith("\\") else text + "\n" * self.gap()

    def chosen(self, lines):
        """Without some of the optional lines."""
        out, skipped = [], None
        for line in lines:
            content = line.lstrip(" ")
            depth = len(line) - len(content)
            if skipped is not None and depth > skipped:
                continue
            skipped = None
            if content.startswith("? "):
                if self.likely(0.5):
                    skipped = depth
                    continue
                line = line.replace("? ", "", 1)
            out.append(line)
        return out

    def within(self, place, block):
        place = place._replace(room=place.room - 1)
        if block == "$loop":
            return place._replace(loop=True, times=place.times * 3)
        if block == "$star":
            return place._replace(loop=False, star=True)
        if block == "$class":
            return Place("class", place.name, False, times=place.times, room=place.room - 1)
        return place

    # ---- functions --------------------------------------------------------------------------
    def nested(self, place):
        """A function within the function, and a use of it."""
        kind = self.chance.choices(list(KINDS), KINDS.values())[0]
        name = self.name()
        inner = Place(kind, name, False, times=place.times * 2, room=place.room - 1)
        uses = USES[kind]
        if place.kind in ("coroutine", "asyncgen") and kind in ASYNC_USES:
            uses = ASYNC_USES[kind]
        use = self.pick(uses.strip("\n").split("\n\n"))
        if place.times > 30:
            use = use.replace("$loop", "$body")
        return self.function(inner) + self.build(use, place, {"f": name})

    def function(self, place):
        """Its lines, decorators first."""
        decorators = ["@profile"] if place.outer or self.likely(0.7) else []
        if self.likely(0.12):
            decorators.insert(self.pick((0, len(decorators))), self.pick(DECORATORS))
        inside = []
        outer_globals, self.globals = self.globals, False
        if not place.outer and self.likely(0.3):
            inside.append("nonlocal " + self.pick(("x", "x, y", "s, x, things")))
        own = self.pick(OPENINGS).split("\n")
        if self.likely(0.15):
            inside.append('"""Documented."""')
        block = self.body(place)
        while place.outer and self.left > 0:
            block += self.body(place)
        if place.kind in ("generator", "asyncgen"):
            block.insert(0, "yield x")
        if self.globals:
            inside.insert(0, "global G")
        self.globals = outer_globals
        block.append("return" + " x" * (place.kind != "asyncgen"))
        keyword = "async def" if place.kind in ("coroutine", "asyncgen") else "def"
        head = f"{keyword} {place.name}({self.pick(PARAMETERS)}):"
        spaced = [self.spaced(text) for text in inside + own + block]
        return decorators + [head] + [indented(text, "    ") for text in spaced]


class Alone(str):
    """A simple statement that is a block by itself."""


WITHIN_LINES = {"e": "expression", "q": "quiet_expression", "c": "condition", "i": "iterable"}
BLOCKS = {"$body", "$loop", "$star", "$class"}


def indented(text, indent):
    return indent + text.replace("\n", "\n" + indent)


def lines_of(texts):
    return "\n".join(line.rstrip(" ") for line in "\n".join(texts).split("\n")) + "\n"


# ---- functions of a single line, long ones, big ones -----------------------------------------
def on_one_line(chance, name):
    """All of it on the def line."""
    writer = Writer(chance, 0, lambda: 0)
    kind = chance.choices(list(KINDS), KINDS.values())[0]
    place = Place(kind, name)
    parts = [OPENINGS[0]] + ["yield x"] * (kind in ("generator", "asyncgen"))
    writer.recursed = True
    for _ in range(chance.choice((0, 1, 2, 4))):
        parts += writer.simple(place)[1]
    parts.append("return" + " x" * (kind != "asyncgen"))
    keyword = "async def" if kind in ("coroutine", "asyncgen") else "def"
    parts = ["global G"] * writer.globals + parts
    return kind, ["@profile", f"{keyword} {name}(n): " + "; ".join(parts)]


def near(chance, limit):
    """A number about a limit: what an opcode's argument holds."""
    return max(2, limit + chance.randint(-12, 12))


def many_constants(chance, name, limit=256):
    """One line has sixteen of them."""
    count = near(chance, limit)
    texts = ["@profile", f"def {name}(n):", "    x = n"]
    for start in range(0, count, 16):
        numbers = ", ".join(f"{k}.5" for k in range(start, min(start + 16, count)))
        texts.append(f"    x += same({numbers})")
        if start % 1600 == 0:
            texts.append(f"    if x == {start}.25: x = {start}.75")
    return "plain", texts + [f"    for i in range(2): x += {count}.125", "    return int(x)"]


def many_names(chance, name, limit=256):
    """Few to a line where there are few lines: to the interpreter, telling a line takes the longer
    the more of them there are."""
    count = near(chance, limit)
    step = 2 if count < 1000 else 50
    texts = ["@profile", f"def {name}(n):", "    p = Point(n)", "    try:"]
    for start in range(0, count, step):
        names = range(start, min(start + step, count))
        texts.append("        " + "; ".join(f"p.a{k} = n" for k in names))
        texts.append(f"        if p.a{start} == {start}: x = p.a{start}")
    texts += [
        f"        p.c{count} += 1",
        f"    except AttributeError: note(p.a{count - 1})",
        f"    else: x{count}()",
        f"    return p.method(n) if n else x{count}(p.a0)",
    ]
    return "plain", texts


def many_locals(chance, name):
    """As many cells as locals; half of them in a generator's closure."""
    count = near(chance, 256)
    names = [f"v{k}" for k in range(count)]
    texts = ["@profile", f"def {name}(n, {', '.join(f'{v}=1' for v in names[:count // 2])}):"]
    texts += [f"    {v} = n + {k}" for k, v in enumerate(names[count // 2 :])]
    texts += [
        "    @profile",
        f"    def inner(): return same({', '.join(names[::2])})",
        f"    {names[-1]} += 1",
        f"    for {names[-1]} in range(2): yield inner()",
        f"    x = (yield {names[-2]}) or 1; del {names[-1]}",
        f"    try: yield {names[-1]}",
        f"    except NameError: yield {names[-2]}",
        f"    return x + [{names[1]} for {names[1]} in range(2)][0] + {names[1]}",
    ]
    return "generator", texts


def many_things(chance, name):
    """Calls, displays and unpackings of as many things as an argument holds."""
    count = near(chance, 256)
    xs = ", ".join(["n"] * count)
    names = ", ".join(f"a{k}" for k in range(count))
    pieces = "".join("{n}" for _ in range(count))
    return "plain", [
        "@profile",
        f"def {name}(n):",
        f"    x = same({xs})",
        f"    x += same({', '.join(f'k{k}=n' for k in range(count))})",
        f"    {names}, *rest = [{xs}, 1]",
        f"    *rest, {names} = [{xs}, 1]",
        f"    x += len([{xs}]) + len(f'{pieces}')",
        f"    x += len({{{', '.join(f'{k}: n' for k in range(count))}}})",
        "    x += same(" + ",\n              ".join(["n"] * count) + ")",
        "    match rest:",
        f"        case [{names}]: x += 1",
        f"        case [{'_, ' * count}*_]: x += 1",
        "    return x + a1",
    ]


def deep(chance, name):
    """As deep as the compiler goes."""
    texts = ["@profile", f"def {name}(n):", "    x = n"]
    depth = 1
    for k in range(17):
        heads = "for i in range(1 + (n == 2)):", "with Quiet(n):", "try:", "while True:"
        head = chance.choice(heads)
        texts.append("    " * depth + head)
        depth += 1
        if head == "try:":
            texts += ["    " * depth + f"if n == {k % 5}: raise Odd(x)"]
            texts += ["    " * (depth - 1) + "finally:"]
        if head == "while True:":
            texts += ["    " * depth + "if x > 5 + n: break", "    " * depth + "x += 1"]
    texts.append("    " * depth + "x += 1")
    return "plain", texts + ["    return x"]


FILLERS = (
    "x += 1",
    "x = x * 3 % 101",
    "if x % 2: x += 1",
    "for j in range(2): x += j",
    "same(x, i)",
    "x = [\n    x for _ in range(2)][0]",
    "x = same(i,\n         x) % 50",
    "x = x and same(x) or 1",
)


def long_jumps(chance, name, limit=256):
    """Forward, backward and out of a try: about as many code units as the limit, so that a few
    more make them too long."""
    count = near(chance, limit) // (chance.choice((3, 12)) if limit < 1000 else 6)
    kind = chance.choice(("plain", "generator", "coroutine"))
    texts = ["@profile", f"{'async ' * (kind == 'coroutine')}def {name}(n):", "    x = 1"]
    texts += ["    for i in range(3):", "        if i == n: continue"]
    texts += ["        yield i"] * (kind == "generator") + ["        try:"]
    for k in range(count):
        texts.append(indented(chance.choice(FILLERS), "            "))
        if k % 97 == 96:
            texts.append(f"            if x % 97 == {k % 97}: continue")
            texts.append(f"            with Quiet(2):\n                if x % 5: raise Odd({k})")
            texts.append(f"            if x % 89 == {k % 89}: raise Odd")
        if k % 199 == 198:
            texts += ["            while x > 90:", "                x -= 10"]
            texts += ["                if x == 95: break"]
        if k % 31 == 30:
            pauses = {"plain": "pass", "generator": "yield x", "coroutine": "await later(x)"}
            texts.append("            " + pauses[kind])
    texts += ["        except Odd:", "            x += 1", "        finally:", "            x += 2"]
    return kind, texts + ["    else: x += 1", "    return x"]


def wide_gap(chance, name, limit=256):
    lines = "\n" * near(chance, limit)
    return "plain", [
        "@profile",
        f"def {name}(n):",
        f"    x = n{lines}",
        "    while x < 5:",
        f"        x += 1{lines}",
        f"        same(x,{lines}n)",
        "    return x\\\n if x else n",
    ]


def big(function, limit):
    return lambda chance, name: function(chance, name, limit)


LONG = [many_constants, many_names, many_locals, many_things, deep, long_jumps, wide_gap]
BIG = {
    "constants": big(many_constants, 65536),
    "names": big(many_names, 65536),
    "jumps": big(long_jumps, 65536),
    "gap": big(wide_gap, 40000),
}


# ---- programs ----------------------------------------------------------------------------------
class Function(NamedTuple):
    name: str
    kind: str
    text: str
    rounds: int = 1  # of five arguments each; 0: one argument is enough


def wide_gaps(chance):
    """Lines that lie farther apart than the one byte in which the interpreter keeps their distance."""
    rarely = [0] * chance.choice((2, 6, 12))
    return lambda: chance.choice([*rarely, 100, chance.randint(130, 300)])


def written(seed, index, chance):
    """A function, whether it compiles or not."""
    name = f"f{index}"
    if chance.random() < 0.05:
        kind, texts = chance.choice(LONG)(chance, name)
    elif chance.random() < 0.08:
        kind, texts = on_one_line(chance, name)
    else:
        kind = chance.choices(list(KINDS), KINDS.values())[0]
        size = chance.choice((2, 4, 6, 8, 12, 16, 24))
        gap = chance.choice((lambda: 0, lambda: chance.choice([0] * 9 + [1, 3])))
        if chance.random() < 0.08:
            gap = wide_gaps(chance)
        texts = Writer(chance, size, gap).function(Place(kind, name))
    return Function(name, kind, lines_of(texts), 6 if chance.random() < 0.05 else 1)


def compiles(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(function.text, "made", "exec", dont_inherit=True)
        except SyntaxError:
            return False
    return True


def function(seed, index):
    """The function with this number. Chance may write what is no Python: then it tries again."""
    for attempt in range(50):
        made = written(seed, index, random.Random(f"{seed} {index} {attempt}"))
        if compiles(made):
            return made
    raise RuntimeError(f"seed {seed}, function {index}: nothing but syntax errors")


def big_function(seed, what):
    kind, texts = BIG[what](random.Random(f"{seed} {what}"), f"big_{what}")
    return Function(f"big_{what}", kind, lines_of(texts), 0)


def program(functions):
    listed = "".join(f"    ({f.name!r}, {f.name}, {f.kind!r}, {f.rounds}),\n" for f in functions)
    return "\n\n".join([HEAD, *(f.text for f in functions), f"FUNCTIONS = [\n{listed}]\n"]) + TAIL


if __name__ == "__main__":
    seed, count, first = (list(map(int, sys.argv[1:])) + [1, 0][len(sys.argv) - 2 :])[:3]
    print(program([function(seed, first + k) for k in range(count)]), end="")
