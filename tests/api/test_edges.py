# SPDX-License-Identifier: MIT
"""Who calls whom: the edges of a profile are those of an independent count, under each tracer."""

import collections
import json
import sys
import textwrap

import pytest
from harness import ROOT, TRACER, own_messages_removed, run_ckernprof, run_python

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
    "never begun": """
        @profile
        def numbers(n):
            yield n
        @profile
        async def waits(n):
            return n
        @profile
        def throws(source):
            try:
                source.throw(KeyError)
            except KeyError:
                pass
        @profile
        def main():
            for n in range(3):
                throws(numbers(n))
                throws(waits(n))
                numbers(n).close()
                waits(n).close()
            with contextlib.suppress(KeyError):
                numbers(n).throw(KeyError)
            list(numbers(n))
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
    assert found.keys() >= {key for key, (calls, _) in expected.items() if calls or sys.version_info >= (3, 11)}
    for key, (_, ways) in expected.items():
        if len(ways) == 1 and key in found:
            assert found[key][1] == ways, key
    check_tree(profile)


def check_tree(profile):
    """The tree is one: parents first, recursion in leaves; self times sum to the time of the roots."""
    recurs = False
    for call in profile.calls:
        path, parent = [], call.parent
        while parent is not None:
            path.append(profile.calls[parent].function)
            parent = profile.calls[parent].parent
        assert len(set(map(id, path))) == len(path)
        recurs = recurs or any(function is call.function for function in path)
        assert call.time >= 0 and call.again >= 0 and call.self >= 0
    for function in profile.functions:
        edges = [edge for edge in profile.edges if edge.callee is function]
        assert bool(edges) == bool(function.numbers), function.name
        assert all(edge.time <= function.total * 1.001 + len(edges) for edge in edges), function.name
        if not recurs:
            assert sum(edge.time for edge in edges) == pytest.approx(function.total, abs=len(profile.calls))


def calls_by_name(profile):
    return {(edge.caller.name if edge.caller else None, edge.line, edge.callee.name): edge.calls
            for edge in profile.edges}


def test_children_add_up(tmp_path):
    (tmp_path / "main.py").write_text("""if 1:
        import os
        @profile
        def leaf():
            pass
        @profile
        def work(n):
            for i in range(n):
                leaf()
        @profile
        def main():
            work(2)
            for n in 3, 4:
                if os.fork() == 0:
                    work(n)
                    raise SystemExit
                os.wait()
        main()
    """)
    ended = run_ckernprof(["-l", "--prof-child-procs", "-o", "out.lprof", "main.py"], tmp_path)
    assert ended.code == 0, ended.err
    assert calls_by_name(clineprof.load(tmp_path / "out.lprof")) == {
        (None, 0, "main"): 1, ("main", 12, "work"): 1, ("main", 15, "work"): 2, ("work", 9, "leaf"): 9}


def test_a_killed_run_has_its_calls(tmp_path):
    (tmp_path / "main.py").write_text("""if 1:
        import os, signal, time
        @profile
        def leaf(last):
            time.sleep(0.01)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
        @profile
        def work(n):
            for i in range(n):
                leaf(i == n - 1)
        @profile
        def main():
            work(5)
        main()
    """)
    run_ckernprof(["-l", "-o", "out.lprof", "main.py"], tmp_path)
    [live] = tmp_path.glob("*.live")
    profile = clineprof.load(live)
    assert calls_by_name(profile) == {
        (None, 0, "main"): 1, ("main", 14, "work"): 1, ("work", 11, "leaf"): 5}
    [leaf] = [edge for edge in profile.edges if edge.callee.name == "leaf"]
    [work] = [edge for edge in profile.edges if edge.callee.name == "work"]
    assert 50_000_000 <= leaf.time <= work.time


def leaf():
    pass


def work(n):
    for _ in range(n):
        leaf()


def main():
    work(3)
    work(4)
    leaf()


def edges(profiler):
    """Lines are counted from the caller's first."""
    return {
        (edge.caller.name if edge.caller else "", edge.caller and edge.line - edge.caller.line,
         edge.callee.name, edge.through): edge.calls
        for edge in clineprof.Profile(profiler.snapshot()).edges}  # fmt: skip


def test_each_profiler_has_the_calls_of_its_own_functions():
    whole, part = [clineprof.Profiler(TRACER, started=False) for _ in range(2)]
    for function in main, work, leaf:
        whole.add_function(function)
    for function in main, leaf:
        part.add_function(function)
    whole.start()
    main()
    part.start()
    main()
    part.stop()
    work(5)
    whole.stop()
    part.start()
    work(1)
    main()
    part.stop()
    assert edges(whole) == {
        ("", None, "main", False): 2, ("", None, "work", False): 1, ("main", 3, "leaf", False): 2,
        ("main", 1, "work", False): 2, ("main", 2, "work", False): 2, ("work", 2, "leaf", False): 19}  # fmt: skip
    assert edges(part) == {
        ("", None, "main", False): 2, ("", None, "leaf", False): 1, ("main", 3, "leaf", False): 2,
        ("main", 1, "leaf", True): 6, ("main", 2, "leaf", True): 8}  # fmt: skip
    whole.reset()
    whole.start()
    leaf()
    whole.stop()
    assert edges(whole) == {("", None, "leaf", False): 1}
    whole.close()
    part.close()


def test_a_running_call_counts_up_to_now():
    profiler = clineprof.Profiler(TRACER, started=False)

    def inner():
        seen.append(edges(profiler))

    def outer():
        inner()

    seen = []
    profiler.add_function(inner)
    profiler.add_function(outer)
    profiler.start()
    outer()
    outer()
    profiler.close()
    names = "test_a_running_call_counts_up_to_now.<locals>.outer", "test_a_running_call_counts_up_to_now.<locals>.inner"
    assert seen == [{("", None, names[0], False): n, (names[0], 1, names[1], False): n} for n in (1, 2)]


def test_blocks_call_and_are_called():
    profiler = clineprof.Profiler(TRACER, started=False)

    def outer():
        with profiler.block("part"):
            leaf()
        leaf()

    profiler.add_function(outer)
    profiler.add_function(leaf)
    profiler.start()
    outer()
    profiler.stop()
    found = collections.Counter()
    for (name, _, callee, _), calls in edges(profiler).items():
        found[name.rpartition(".")[2], callee.rpartition(".")[2]] += calls
    profiler.close()
    assert found == {("", "outer"): 1, ("outer", "part"): 1, ("part", "leaf"): 1, ("outer", "leaf"): 1}
