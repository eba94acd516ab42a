# SPDX-License-Identifier: MIT
"""Who calls whom: the edges of a profile are those of an independent count, under each tracer."""

import json
import textwrap

import pytest
from harness import ROOT, own_messages_removed, run_ckernprof, run_python

import clineprof

HEAD = """
import asyncio, contextlib, functools, sys, threading
def outside(function, *arguments):
    return function(*arguments)
"""

PROGRAMS = {
    "recursion": """
        @profile
        def fib(n):
            if n < 2:
                return n
            return fib(n - 1) + fib(n - 2)
        @profile
        def even(n):
            return n == 0 or odd(n - 1)
        @profile
        def odd(n):
            return n != 0 and even(n - 1)
        @profile
        def sort(items):
            if len(items) < 2:
                return items
            low = sort([i for i in items if i < items[0]])
            high = sort([i for i in items if i > items[0]])
            return low + [items[0]] + high
        @profile
        def deep(n):
            if n:
                deep(n - 1)
        @profile
        def main():
            print(fib(11), even(10), sort([5, 2, 8, 1, 9, 3]))
            deep(200)
        main()
        """,
    "outside": """
        @profile
        def leaf(n):
            return n + 1
        @profile
        def middle(n):
            return outside(leaf, n)
        @functools.lru_cache
        @profile
        def cached(n):
            return leaf(n)
        @profile
        def main():
            for i in range(5):
                middle(i)
            list(map(leaf, range(4)))
            sorted([3, 1, 2], key=leaf)
            outside(outside, middle, 3)
            [leaf(i) for i in range(3)]
            sum(leaf(i) for i in range(3))
            cached(1), cached(1), cached(2)
        main()
        outside(main)
        """,
    "generators": """
        @profile
        def leaf(n):
            return n
        @profile
        def inner(n):
            try:
                for i in range(n):
                    yield leaf(i)
            except ValueError:
                yield leaf(-1)
            finally:
                leaf(-2)
        @profile
        def outer(n):
            yield leaf(0)
            yield from inner(n)
            yield leaf(1)
        @profile
        def tree(n):
            if n:
                for item in tree(n - 1):
                    yield item
                yield n
        @profile
        def main():
            print(list(outer(3)))
            g = outer(5)
            next(g)
            next(g)
            g.throw(ValueError)
            g.close()
            h = inner(2)
            next(h)
            h.close()
            print(sum(tree(4)))
            outside(list, inner(2))
        main()
        """,
    "exceptions": """
        @profile
        def fails(n):
            if n == 0:
                raise KeyError(n)
            try:
                fails(n - 1)
            finally:
                cleans()
        @profile
        def cleans():
            pass
        @profile
        class Manager:
            def __enter__(self):
                return self
            def __exit__(self, *ignored):
                cleans()
                return True
        @profile
        def main():
            for n in range(3):
                try:
                    fails(n)
                except KeyError:
                    cleans()
            with Manager():
                fails(2)
            with contextlib.suppress(KeyError):
                outside(fails, 1)
        main()
        """,
    "threads": """
        @profile
        def leaf(n):
            return n
        @profile
        def works(n):
            for i in range(n):
                leaf(i)
                outside(leaf, i)
            return recurs(4)
        @profile
        def recurs(n):
            return recurs(n - 1) if n else leaf(0)
        @profile
        def main():
            threads = [threading.Thread(target=works, args=(n,)) for n in (50, 70, 90)]
            for thread in threads:
                thread.start()
            works(30)
            for thread in threads:
                thread.join()
        sys.setswitchinterval(0.00001)
        main()
        """,
    "async": """
        @profile
        async def leaf(n):
            await asyncio.sleep(0)
            return n
        @profile
        async def middle(n):
            total = await leaf(n)
            total += await leaf(n + 1)
            return total
        @profile
        async def numbers(n):
            for i in range(n):
                await leaf(i)
                yield i
        @profile
        async def main():
            async for i in numbers(3):
                await middle(i)
            await asyncio.gather(middle(1), middle(2), leaf(3))
        @profile
        def start():
            asyncio.run(main())
        start()
        """,
}


def edges_of(profile):
    """{(caller's first line, line, callee's first line): (calls, {through})}"""
    found = {}
    for edge in profile.edges:
        key = (edge.caller.line if edge.caller else 0, edge.line, edge.callee.line)
        calls, through = found.get(key, (0, set()))
        found[key] = calls + edge.calls, through | {edge.through}
    return found


def reference_of(script, folder):
    out = folder / "calls.json"
    ended = run_python([ROOT / "tests" / "conformance" / "call_reference.py", out, script], folder)
    found = {}
    for caller, line, callee, through, calls in json.loads(out.read_text("utf-8")):
        before, ways = found.get((caller, line, callee), (0, set()))
        found[caller, line, callee] = before + calls, ways | {through}
    return found, ended


@pytest.mark.parametrize("memory", ["--no-memory", "--memory=rss"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_edges_are_those_of_the_reference(name, memory, tmp_path):
    script = tmp_path / "main.py"
    script.write_text(HEAD + textwrap.dedent(PROGRAMS[name]))
    expected, bare = reference_of(script, tmp_path)
    ended = run_ckernprof(["-l", memory, "-o", "out.lprof", script], tmp_path)
    assert (own_messages_removed(ended.out), ended.code) == (bare.out, 0), ended.err
    profile = clineprof.load(tmp_path / "out.lprof")
    found = edges_of(profile)
    assert {key: calls for key, (calls, _) in found.items() if calls} == {
        key: calls for key, (calls, _) in expected.items() if calls}
    assert found.keys() >= expected.keys()  # the reference is not told of throw() and close()
    for key, (_, ways) in expected.items():
        if len(ways) == 1:
            assert found[key][1] == ways, key
    check_tree(profile)


def check_tree(profile):
    """The tree is one: parents first, recursion in leaves; self times sum to the time of the roots."""
    for call in profile.calls:
        path, parent = [], call.parent
        while parent is not None:
            path.append(profile.calls[parent].function)
            parent = profile.calls[parent].parent
        assert len(set(map(id, path))) == len(path)
        assert call.time >= 0 and call.again >= 0 and call.self >= 0
    for function in profile.functions:
        edges = [edge for edge in profile.edges if edge.callee is function]
        assert bool(edges) == bool(function.numbers), function.name
        assert all(edge.time <= function.total * 1.001 + len(edges) for edge in edges), function.name
