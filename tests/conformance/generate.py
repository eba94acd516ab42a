# SPDX-License-Identifier: MIT
"""Writes a module of functions made by chance (from a seed: the same text every time), in every
layout where counting lines is hard: long functions, wide gaps between lines, jumps of every kind.

The module's run_all() calls all of them and returns a number. Every loop is bounded, every error is
caught, and what a function does depends on its argument alone.
"""

import random

HEAD = '''# SPDX-License-Identifier: MIT
# Made by tests/conformance/generate.py.
import asyncio
import contextlib


class Quiet:
    def __init__(self, n): self.n = n
    def __enter__(self): return self.n
    def __exit__(self, *error): return self.n % 2 == 0
    async def __aenter__(self): return self.n
    async def __aexit__(self, *error): return self.n % 2 == 0


def same(*things, **named): return sum(things)


async def later(n):
    if n % 2: await asyncio.sleep(0)
    return n


async def each(n):
    for i in range(n % 4): yield i


def part(n):
    yield n
    return n + 1
'''

TAIL = '''

def attempt(function, n):
    try:
        return function(n) or 0
    except (ValueError, AssertionError, IndexError):
        return 1


def exhaust(function, n):
    total, source = 0, function(n)
    try:
        for i, value in enumerate(source):
            total += value or 0
            if i == 5: source.send(1)
            if i == 9: source.throw(ValueError("thrown in"))
            if i == 14: break
        source.close()
    except (ValueError, AssertionError, IndexError, StopIteration, RuntimeError):
        total += 1
    return total


async def together(functions, n):
    return await asyncio.gather(*[function(n) for function in functions], return_exceptions=True)


def run_all():
    total = 0
    for n in range(6):
        for function in PLAIN: total += attempt(function, n)
        for function in GENERATORS: total += exhaust(function, n)
        results = asyncio.run(together(COROUTINES, n))
        total += sum(result for result in results if isinstance(result, int))
    return total
'''


class Writer:
    """Writes one function, line by line."""

    def __init__(self, chance, kind, gap=None):
        self.chance = chance
        self.kind = kind
        self.gap = gap or (lambda: chance.choice([0] * 9 + [1, 3]))
        self.lines = []
        self.names = 0
        self.loops = []  # the enclosing loops: may a continue stand here?
        self.finals = 0  # the enclosing finally blocks: since 3.14 nothing may leave them

    def add(self, depth, text):
        for part in text.split("\n"):
            self.lines.append("    " * depth + part)
        self.lines += [""] * self.gap()

    def name(self):
        self.names += 1
        return f"v{self.names}"

    def expression(self):
        pick = self.chance.choice
        return pick(
            [
                "n + 1",
                "x * 3 % 11",
                "same(n, x)",
                "(n and x) or 2",
                "x if n % 2 else n",
                "-x",
                "sum(i for i in range(3))",
                "len([i for i in range(n)])",
                "(lambda a: a + 1)(x)",
                "same(\n    n,\n    x,\n)",
                "(n +\n x\n + 1)",
                "len({\n    i\n    for i in range(3)\n    if i\n})",
                "sum([\n    a * b\n    for a in range(2)\n    for b in range(2)])",
                "n if x > 3 else \\\n    same(x,\n         1)",
                "int(1 < n <= x)",
                "(y := x + 1)",
                "len(f'{n}{x:>3}')",
                "sum(*[[n, x]])",
            ]
        )

    def condition(self):
        return self.chance.choice(
            [
                "n % 2",
                "x > 5",
                "not n",
                "x < n",
                "n and x",
                "n or\\\n        x % 3",
                "(n > 2 and\n        x != 7)",
                "x in (1, 2, 3)",
                "1 < x < 5",
                "same(n)",
                "any(i == n for i in range(3))",
            ]
        )

    def simple(self, depth):
        kinds = [
            "x = {}",
            "x += {}",
            "x = {}; x += 1",
            "same({}, 1)",
            "assert x < 10 ** 9, 'large'",
            "pass",
            "x %= 97",
            "x, y = n, x",
            "y = [{}, x]; x += y[0]",
            "if n > 3: x += 1",
            "for i in range(2): x += i",
            "while x > 50: x -= 20",
            "del_me = x; del del_me",
            "for i in range(n): pass",
            "x = {} if x else {}",
            "...",
            "'a text'",
            "global_name = {}",
        ]
        if self.kind == "generator":
            kinds += [
                "yield x",
                "x = (yield {}) or 0",
                "x += yield from part(n)",
                "x += (yield) or 1",
                "for i in range(2): yield i",
            ] * 2
        if self.kind == "coroutine":
            kinds += [
                "x = await later(x)",
                "await later({})",
                "x = same(await later(n),\n         await later(x))",
                "x += sum([i async for i in each(n)])",
                "x += sum([await later(i) for i in range(3)])",
            ] * 2
        text = self.chance.choice(kinds)
        while "{}" in text:
            text = text.replace("{}", self.expression(), 1)
        self.add(depth, text)

    def body(self, depth, room):
        count = self.chance.randint(1, 3)
        for _ in range(count):
            self.statement(depth, room)

    def statement(self, depth, room):
        compound = [
            self.if_,
            self.for_,
            self.while_,
            self.try_,
            self.with_,
            self.match_,
            self.leave,
            self.inner,
        ]
        if room <= 0 or self.chance.random() < 0.5:
            self.simple(depth)
        else:
            self.chance.choice(compound)(depth, room - 1)

    def if_(self, depth, room):
        self.add(depth, f"if {self.condition()}:")
        self.body(depth + 1, room)
        while self.chance.random() < 0.3:
            self.add(depth, f"elif {self.condition()}:")
            self.body(depth + 1, room)
        if self.chance.random() < 0.5:
            self.add(depth, "else:")
            self.body(depth + 1, room)

    def in_loop(self, depth, room):
        self.loops.append(True)
        self.body(depth + 1, room)
        self.loops.pop()
        if self.chance.random() < 0.3:
            self.add(depth, "else:")
            self.body(depth + 1, room)

    def for_(self, depth, room):
        source = self.chance.choice(
            ["range(3)", "range(n)", "[1, 2]", "()", "enumerate((\n        n,\n        x))"]
        )
        keyword = "for"
        if self.kind == "coroutine" and self.chance.random() < 0.3:
            keyword, source = "async for", "each(n)"
        self.add(depth, f"{keyword} {self.name()} in {source}:")
        self.in_loop(depth, room)

    def while_(self, depth, room):
        count = self.name()
        self.add(depth, f"{count} = 0")
        self.add(
            depth,
            f"while {count} < 3"
            + self.chance.choice(["", " and x < 90", " and\\\n        n"])
            + ":",
        )
        self.add(depth + 1, f"{count} += 1")
        self.in_loop(depth, room)

    def try_(self, depth, room):
        self.add(depth, "try:")
        self.body(depth + 1, room)
        if self.chance.random() < 0.6:
            self.add(depth + 1, f"if {self.condition()}: raise ValueError(n)")
        handled = self.chance.random() < 0.8
        if handled:
            self.add(
                depth,
                self.chance.choice(
                    [
                        "except ValueError:",
                        "except (ValueError,\n        IndexError) as error:",
                        "except IndexError:",
                        "except Exception:",
                    ]
                ),
            )
            self.body(depth + 1, room)
            if self.chance.random() < 0.3:
                self.add(depth, "except ValueError as error:")
                self.body(depth + 1, room)
            if self.chance.random() < 0.3:
                self.add(depth, "else:")
                self.body(depth + 1, room)
        if not handled or self.chance.random() < 0.4:
            self.add(depth, "finally:")
            loops, self.loops = self.loops, []
            self.finals += 1
            self.body(depth + 1, room)
            self.finals -= 1
            self.loops = loops

    def with_(self, depth, room):
        keyword = (
            "async with" if self.kind == "coroutine" and self.chance.random() < 0.5 else "with"
        )
        managers = self.chance.choice(
            ["Quiet(n)", "Quiet(x) as y", "Quiet(0), Quiet(\n        n) as y", "Quiet(2)"]
        )
        self.add(depth, f"{keyword} {managers}:")
        self.body(depth + 1, room)
        if self.chance.random() < 0.4:
            self.add(depth + 1, f"if {self.condition()}: raise IndexError(x)")

    def match_(self, depth, room):
        self.add(depth, self.chance.choice(["match x % 4:", "match (n,\n       x % 3):"]))
        for case in self.chance.sample(
            ["0", "1 | 2", "(0, y)", "(a, b) if a == b", "int(y) if y > 2"], 3
        ):
            self.add(depth + 1, f"case {case}:")
            self.body(depth + 2, room)
        if self.chance.random() < 0.5:
            self.add(depth + 1, "case _:")
            self.body(depth + 2, room)

    def leave(self, depth, room):
        if depth == 1:  # or nothing behind it would ever run
            return self.simple(depth)
        ways = ["raise ValueError(x)"]
        if not self.finals:
            ways.append("return" if self.kind == "generator" else "return x")
        if self.loops:
            ways += ["continue", "break"] * 2
        self.add(depth, f"if {self.condition()}:")
        self.add(depth + 1, self.chance.choice(ways))

    def inner(self, depth, room):
        name = self.name()
        self.add(
            depth,
            self.chance.choice(
                [
                    f"def {name}(a=1):\n    return a + 1\nx += {name}()",
                    f"{name} = lambda a: a\nx += {name}(2)",
                    f"class {name}:\n    field = 3\nx += {name}.field",
                    f"@contextlib.contextmanager\ndef {name}(\n        a,\n        b=2):\n    yield a\n"
                    f"with {name}(1) as y: x += y",
                ]
            ),
        )

    def function(self, name, statements, room):
        keyword = "async def" if self.kind == "coroutine" else "def"
        self.add(0, f"{keyword} {name}(n):")
        self.add(1, "x = y = n")
        if self.kind == "generator":
            self.add(1, "yield x")
        start = len(self.lines)
        while len(self.lines) - start < statements:
            self.statement(1, room)
        self.add(1, "return x")
        return "\n".join(self.lines) + "\n"


def long_function(chance, name, count):
    """Straight on and back: a loop around many lines, so that jumps are as long as the function."""
    lines = [f"def {name}(n):", "    x = 1", "    for i in range(3):", "        try:"]
    for k in range(count):
        lines.append(
            "            "
            + chance.choice(
                [
                    "x += 1",
                    "x = x * 3 % 101",
                    "if x % 2: x += 1",
                    "for j in range(2): x += j",
                    "same(x, i)",
                    "x = [\n                x for _ in range(2)][0]",
                ]
            )
        )
        if k % 97 == 96:
            lines.append(f"            if x % 7 == {k % 7}: continue")
            lines.append(
                f"            with Quiet(2):\n                if x % 5 == {k % 5}: raise ValueError"
            )
        if k % 199 == 198:
            lines.append(
                "            while x > 90:\n                x -= 10\n"
                "                if x == 95: break"
            )
    lines += [
        "        except ValueError:",
        "            x += 1",
        "        finally:",
        "            x += 2",
        "    return x",
    ]
    return "\n".join(lines) + "\n"


def gaps(chance, limit):
    return lambda: chance.choice([0, 1, 5, 10, limit // 10, limit])


def module(seed):
    chance = random.Random(seed)
    texts, kinds = [HEAD], {"plain": [], "generator": [], "coroutine": []}

    def add(name, text, kind="plain"):
        texts.append(text)
        kinds[kind].append(name)

    for kind in kinds:
        for k in range(14):
            name = f"{kind}_{k}"
            add(name, Writer(chance, kind).function(name, chance.randint(8, 40), 3), kind)
        for limit in 20, 140, 400:
            name = f"{kind}_with_gaps_{limit}"
            add(name, Writer(chance, kind, gaps(chance, limit)).function(name, 40, 3), kind)
        name = f"{kind}_long"
        add(name, Writer(chance, kind).function(name, 700, 4), kind)
    add("long_straight", long_function(chance, "long_straight", 1000))
    add(
        "gap_of_40000",
        "def gap_of_40000(n):\n    x = n\n    while x < 5:\n        x += 1"
        + "\n" * 40000
        + "        same(x)\n    return x\n",
    )
    names = "\n".join(
        f"{variable} = [{', '.join(kinds[kind])}]"
        for variable, kind in (
            ("PLAIN", "plain"),
            ("GENERATORS", "generator"),
            ("COROUTINES", "coroutine"),
        )
    )
    return "\n\n".join(texts) + "\n\n" + names + "\n" + TAIL


if __name__ == "__main__":
    import sys

    print(module(int(sys.argv[1])), end="")
