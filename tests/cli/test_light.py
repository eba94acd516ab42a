# SPDX-License-Identifier: MIT
"""--light: hits and calls are those of the exact clock; times are estimates from samples."""
import json
import re
import signal
import sys
import textwrap

import clineprof
import leak_truth
import pytest
from harness import BUILD, run_ckernprof, run_python, run_viewer, steady, tried_again

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.10 has no probes"),
]

LIGHT = ("--light",)

# Runs long enough for gaps, and does a little of everything.
EVERYTHING = """
import asyncio, contextlib, threading

def leaf(x):
    y = x * 2
    if y % 3:
        return y
    return -y

def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)

def numbers(n):
    for i in range(n):
        yield i
    return n

def through(n):
    x = yield from numbers(n)
    return x

async def tick(i):
    await asyncio.sleep(0)
    return i

async def ticks(n):
    total = 0
    for i in range(n):
        total += await tick(i)
    return total

def fails(i):
    try:
        if i % 7 == 0:
            raise KeyError(i)
        with contextlib.suppress(ValueError):
            int("x" if i % 5 == 0 else "1")
    except KeyError:
        return 1
    finally:
        i += 1
    return 0

def work():
    total = 0
    for i in range(20000):
        total += leaf(i) + fails(i)
    for i in through(20000):
        total += i
    total += fib(17) + sum(numbers(5000))
    total += asyncio.run(ticks(2000))
    return total

def main():
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(work())

main()
"""


def made(folder, program, *options, name="prog.py"):
    (folder / name).write_text(textwrap.dedent(program))
    ended = run_ckernprof(["-l", *options, name], folder)
    assert (ended.code, ended.err) == (0, "")
    return clineprof.load(folder / f"{name}.lprof")


def hits(profile):
    return {(f.name, line.line): line.hits for f in profile.functions for line in f.lines}


def calls(profile):
    """How often each function was called, from anywhere."""
    found = {}
    for edge in profile.edges:
        if edge.callee:
            found[edge.callee.name] = found.get(edge.callee.name, 0) + edge.calls
    return found


def test_hits_are_those_of_the_exact_clock(tmp_path):
    exact = made(tmp_path, EVERYTHING, "-p", "prog.py", "--clock", "exact")
    light = made(tmp_path, EVERYTHING, "-p", "prog.py", *LIGHT)
    assert exact.meta["tracer"] != "light" == light.meta["tracer"]
    assert hits(light) == hits(exact)
    assert calls(light) == calls(exact)
    assert sum(hits(light).values()) > 400_000


# greenlet removes a trace function that fails, and with it clineprof's
FAILING_TRACE = """
import greenlet
def leaf(x):
    y = x
    return y
def first(n):
    for i in range(n):
        leaf(i)
        other.switch()
def second(n):
    for i in range(n):
        leaf(i)
        one.switch()
def fails(event, greenlets):
    global switches
    switches += 1
    if switches == 3:
        raise ValueError
def begin_first():
    first(20)
def begin_second():
    second(19)
def main():
    global one, other, switches
    for i in range(70_000):
        leaf(i)
    for _ in range(500):
        switches = 0
        one, other = greenlet.greenlet(first), greenlet.greenlet(second)
        try:
            greenlet.settrace(fails)
            one.switch(20)
            other.switch(19)
        except (ValueError, TypeError):
            pass
        one, other = greenlet.greenlet(begin_first), greenlet.greenlet(begin_second)
        one.switch()
main()
"""


def test_calls_of_greenlets_are_those_of_the_exact_clock(tmp_path):
    pytest.importorskip("greenlet")
    exact = made(tmp_path, FAILING_TRACE, "-p", "prog.py", "--no-memory")
    light = made(tmp_path, FAILING_TRACE, "-p", "prog.py", "--no-memory", *LIGHT)
    assert hits(light) == hits(exact)
    assert calls(light) == calls(exact)


@tried_again
def test_the_report_says_what_times_are(tmp_path):
    made(tmp_path, EVERYTHING, "-p", "prog.py", *LIGHT)
    shown = run_viewer(["prog.py.lprof"], tmp_path)
    assert shown.code == 0
    assert "     Error" in shown.out
    assert shown.out.endswith("Profiled by clineprof. Hits are exact; times are estimates from samples (--light).\n")
    exported = json.loads(run_viewer(["--format", "json", "prog.py.lprof"], tmp_path).out)
    lines = [line for f in exported["functions"] for line in f["lines"] if line["hits"]]
    all_self = sum(line["raw_self"] for line in lines)
    told = [line["error"] / all_self for line in lines if line["raw_self"] > 0.02 * all_self]
    steady(told and 0 < max(told) < 0.3, told)


@tried_again
def test_a_long_stay_is_found(tmp_path):
    profile = made(tmp_path, """
    import time
    def line(i):
        if i == 70_000 or i == 91_234:
            time.sleep(0.05)
    def main():
        for i in range(100_000):
            line(i)
            i += 1
    main()
    """, "-p", "prog.py", *LIGHT)
    [line] = [f for f in profile.functions if f.name == "line"]
    sleep = next(each for each in line.lines if "sleep" in each.text)
    assert sleep.hits == 2
    steady(0.098e9 <= sleep.self <= 0.12e9, sleep.self)
    others = sum(each.self for f in profile.functions for each in f.lines) - sleep.self
    steady(others < 0.2e9, others)


@tried_again
def test_waiting_is_told_from_running(tmp_path):
    profile = made(tmp_path, """
    import threading, time
    def sleeps():
        time.sleep(0.5)                    # sleeps
    def runs():
        end = time.thread_time() + 0.5
        while time.thread_time() < end:    # runs
            pass
    thread = threading.Thread(target=sleeps)
    thread.start()
    runs()
    thread.join()
    """, "-p", "prog.py", *LIGHT)
    lines = {each.text.split("# ")[1]: each for f in profile.functions for each in f.lines if "# " in each.text}
    steady(lines["sleeps"].wait > 0.45e9, lines["sleeps"].wait)
    steady(lines["sleeps"].cpu < 0.05e9, lines["sleeps"].cpu)
    steady(lines["runs"].cpu > 0.25e9, lines["runs"].cpu)


@tried_again
def test_callers_are_told_by_samples(tmp_path):
    profile = made(tmp_path, """
    import time
    def wait(seconds):
        time.sleep(seconds)
    def often():
        for _ in range(30):
            wait(0.01)
    def long():
        wait(0.9)
    often()
    long()
    """, "-p", "prog.py", *LIGHT)
    edges = {edge.caller.name: edge for edge in profile.edges if edge.caller and edge.callee.name == "wait"}
    assert sum(edge.calls for edge in edges.values()) == 31
    steady(edges["long"].time > 2 * edges["often"].time, edges)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="frames do not say which of them runs")
@pytest.mark.alone
@tried_again
def test_no_caller_is_made_up_where_short_calls_follow_each_other(tmp_path):
    profile = made(tmp_path, """
    def c(): return 1
    def d(): return 2
    def a():
        return c()
    def b():
        return d()
    def main():
        for _ in range(2_000_000):
            a(); b()
    main()
    """, "-p", "prog.py", *LIGHT)
    true = {("<module>", "main"), ("main", "a"), ("main", "b"), ("a", "c"), ("b", "d"), (None, "<module>")}
    calls = {(edge.caller and edge.caller.name, edge.callee.name): edge.calls for edge in profile.edges}
    assert sum(calls.values()) == 8_000_002
    wrong = sum(calls[edge] for edge in calls.keys() - true)
    steady(true <= calls.keys() and wrong < 0.08 * 4_000_000, calls)  # of the calls of c and d


@tried_again
def test_children_and_forks(tmp_path):
    profile = made(tmp_path, """
    import os, sys
    def work(n):
        total = 0
        for i in range(n):
            total += i
        return total
    def main():
        work(100_000)
        for _ in range(3):
            child = os.fork()
            if child == 0:
                work(200_000)
                sys.exit(0)
            os.waitpid(child, 0)
            work(50_000)
    if __name__ == "__main__":
        main()
    """, "-p", "prog.py", "--prof-child-procs", *LIGHT)
    work = next(f for f in profile.functions if f.name == "work")
    line = next(each for each in work.lines if "+=" in each.text)
    assert line.hits == 100_000 + 3 * 200_000 + 3 * 50_000
    steady(line.self > 0, line.self)


@tried_again
def test_a_long_stay_after_a_fork_is_found(tmp_path):
    profile = made(tmp_path, """
    import os, time
    def line(seconds):
        seconds and time.sleep(seconds)
    def main():
        for i in range(100_000):
            i >= 80_000 and i % 1000 == 0 and (os.fork() or os._exit(0))
            line(0.02 if i >= 80_000 and i % 1000 == 0 else 0)
    main()
    """, "-p", "prog.py", *LIGHT)
    sleep = next(each for f in profile.functions for each in f.lines if "sleep" in each.text)
    assert sleep.hits == 100_000
    steady(0.39e9 <= sleep.self <= 0.6e9, sleep.self)
    steady(0 < sleep.error < 0.05e9, sleep.error)  # stays are known but for their ends


def test_the_thread_runs_while_something_counts(tmp_path):
    ended = run_python(["-c", textwrap.dedent("""
    import clineprof, os, time
    def threads(wanted):
        for _ in range(1000):  # the system lists a thread for a moment after it was joined
            found = len(os.listdir("/proc/self/task"))
            if found == wanted:
                break
            time.sleep(0.005)
        return found
    def f(wanted):
        wanted += 0
        return threads(wanted)
    profile = clineprof.Profiler(tracer="light")
    made, g = threads(2), profile(f)
    print(made, g(2), threads(2))
    profile.close()
    print(threads(1), g(1))
    again = clineprof.Profiler()
    print(threads(2), again(f)(2))
    again.close()
    print(threads(1))
    """)], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.split() == ["2", "2", "2", "1", "1", "2", "2", "1"]


@tried_again
def test_a_killed_run_is_recovered(tmp_path):
    (tmp_path / "prog.py").write_text(textwrap.dedent("""
    import os, signal
    def work(n):
        total = 0
        for i in range(n):
            total += i
        os.kill(os.getpid(), signal.SIGKILL)
    work(300_000)
    """))
    ended = run_ckernprof(["-l", "-p", "prog.py", *LIGHT, "prog.py"], tmp_path)
    assert ended.code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    recovered = run_viewer(["recover", "prog.py.lprof.live"], tmp_path)
    assert recovered.code == 0, recovered.err
    assert "; hits are exact, but for one of each body that ran just then (--light)" in recovered.out
    profile = clineprof.load(tmp_path / "prog.py.lprof")
    assert profile.meta["tracer"] == "light"
    work = next(f for f in profile.functions if f.name == "work")
    line = next(each for each in work.lines if "+=" in each.text)
    assert line.hits == 300_000
    # the line that ended the process did not run for as long as the rest
    steady(work.lines[-1].self < work.total, work.total)


def test_unlike_clocks_are_told(tmp_path):
    made(tmp_path, EVERYTHING, "-p", "prog.py", "--clock", "exact")
    (tmp_path / "prog.py.lprof").rename(tmp_path / "exact.lprof")
    made(tmp_path, EVERYTHING, "-p", "prog.py", *LIGHT)
    diff = run_viewer(["diff", "exact.lprof", "prog.py.lprof"], tmp_path)
    assert "The times after are estimates (--light), and the others are exact." in diff.out
    back = run_viewer(["diff", "prog.py.lprof", "exact.lprof"], tmp_path)
    assert "The times before are estimates (--light), and the others are exact." in back.out
    same = run_viewer(["diff", "prog.py.lprof", "prog.py.lprof"], tmp_path)
    assert "estimates" not in same.out
    merged = run_viewer(["merge", "-o", "both.lprof", "exact.lprof", "prog.py.lprof"], tmp_path)
    assert merged.code == 0, merged.err
    shown = run_viewer(["both.lprof"], tmp_path)
    assert "Some times are estimates from samples (--light)." in shown.out


def test_a_profiler_may_be_light(tmp_path):
    program = textwrap.dedent("""
    import clineprof
    def f(n):
        total = 0
        for i in range(n):
            total += i
        return total
    profile = clineprof.Profiler(tracer="light")
    g = profile(f)
    g(200_000)
    g(100_000)
    print(max(profile.snapshot()["functions"][0]["lines"]["hits"]))
    profile.close()
    again = clineprof.Profiler()
    g = again(f)
    g(100)
    print(max(again.snapshot()["functions"][0]["lines"]["hits"]))
    again.close()
    for wishes in {"native": True}, {"tracer": "probe"}:
        try:
            clineprof.Profiler(**wishes)
        except (ValueError, RuntimeError) as error:
            print(error)
    """)
    (tmp_path / "it.py").write_text(program)
    ended = run_python(["it.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "300002",
        "101",
        "clineprof: native looks at each line as it runs, and the tracer light does not",
        "clineprof: this process records with the light tracer, which its first Profiler chose; it cannot be probe as "
        "well",
    ]


def test_live_blocks(tmp_path):
    """What is kept, and what was alive at the peak, goes to the line that runs when a block is allocated."""
    profile = made(tmp_path, """
    kept = []
    def grows(n):
        for i in range(n):
            kept.append(bytes(1000))        # kept
            [0] * 500                       # dropped
    def helped():
        return bytearray(3000)
    def peaks(n):
        made = [helped() for _ in range(n)] # peak
        made.clear()
    grows(10_000)
    peaks(5_000)
    """, "-p", "prog.py:grows,prog.py:peaks", *LIGHT, "--heap", "--heap-interval", "1")
    lines = {each.text.split("# ")[1]: each for f in profile.functions for each in f.lines if "# " in each.text}
    assert 8.5e6 < lines["kept"].live < 12e6, lines["kept"].live
    assert lines["dropped"].live < 0.5e6 and lines["peak"].live < 1e6
    assert 12.5e6 < lines["peak"].heap_peak < 18.5e6, lines["peak"].heap_peak
    shown = run_viewer(["prog.py.lprof"], tmp_path)
    assert re.search(r" Live +Line Contents", shown.out) and re.search(r" (8|9|10|11)\.\d+ MiB +kept\.append", shown.out)


# ---- the doors through which it can be asked for ----

WORK = """
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""


def expect_light(path, name="work"):
    profile = clineprof.load(path)
    assert profile.meta["tracer"] == "light"
    [function] = [f for f in profile.functions if f.name == name]
    assert max(line.hits for line in function.lines) == 1001


def test_the_environment(tmp_path):
    (tmp_path / "prog.py").write_text("import clineprof\n@clineprof.profile" + WORK + "work(1000)\n")
    paths = {"PYTHONPATH": str(BUILD / "python"), "CLINEPROF": "light"}
    ended = run_python(["prog.py"], tmp_path, env=paths)
    assert (ended.code, ended.err) == (0, "")
    expect_light(tmp_path / "profile_output.lprof")


def test_pytest(tmp_path):
    (tmp_path / "test_work.py").write_text(WORK + "def test_it():\n    assert work(1000)\n")
    ended = run_python(["-m", "pytest", "-q", "-p", "clineprof._pytest", "--clineprof", "--clineprof-light"], tmp_path,
                       env={"PYTHONPATH": str(BUILD / "python")})
    assert ended.code == 0, ended.out
    expect_light(tmp_path / "pytest.lprof")


def test_steps(tmp_path):
    (tmp_path / "prog.py").write_text(WORK + textwrap.dedent("""
    import clineprof
    steps = clineprof.Steps(work, wait=1, active=2, tracer="light")
    with steps:
        for n in 10, 500, 499, 7:
            work(n)
            steps.step()
    with open("steps.lprof", "wb") as file:
        file.write(clineprof.dumps(steps.total))
    """))
    ended = run_python(["prog.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    profile = clineprof.load(tmp_path / "steps.lprof")
    assert max(line.hits for f in profile.functions for line in f.lines) == 501 + 500


def test_a_cell(tmp_path):
    pytest.importorskip("IPython")
    (tmp_path / "cell.py").write_text(textwrap.dedent("""
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "clineprof")
    shell.run_cell_magic("clineprof", "--light -D cell.lprof", %r + "work(1000)")
    """) % WORK)
    ended = run_python(["cell.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python"), "IPYTHONDIR": str(tmp_path)})
    assert ended.code == 0, ended.err
    expect_light(tmp_path / "cell.lprof")


# Prints the hits of two lines that run 9 times, 3 of them while the profiler pauses; and whether a thread went on, and its
# hits did not, while the profiler paused, was stopped, or did not have the function.
PAUSES = """
import threading, time
import clineprof

profiler = clineprof.Profiler(tracer="light", memory=False)

def hits():
    found = {}
    for function in profiler.snapshot()["functions"]:
        lines = function["lines"]
        if "hits" in lines:
            found.update(zip(lines["line"], lines["hits"]))
    return found

@profiler
def leaf(x):
    return x

@profiler
def loop():
    for i in range(9):
        if i == 3:
            profiler.pause()
        if i == 6:
            profiler.resume()
        leaf(i)

@profiler
def turns():
    while not ended:
        count[0] += 1

loop()
first = leaf.__code__.co_firstlineno
print(hits()[first + 2], hits()[first + 11])
ended, count = False, [0]
thread = threading.Thread(target=turns)
thread.start()
for end, begin in ((profiler.pause, profiler.resume), (profiler.stop, profiler.start),
                   (lambda: profiler.remove_function(turns), lambda: profiler(turns))):
    end()
    before, turned = hits(), count[0]
    until = time.monotonic() + 60
    while count[0] == turned and time.monotonic() < until:
        time.sleep(0.01)
    print(count[0] > turned, hits() == before)
    begin()
ended = True
thread.join()
"""


def test_what_runs_while_it_pauses_does_not_count(tmp_path):
    (tmp_path / "pauses.py").write_text(PAUSES)
    ended = run_python(["pauses.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.out, ended.err, ended.code) == ("6 6\n" + 3 * "True True\n", "", 0)


# Prints how much longer than the first of many functions the last take to be selected, and functions to be removed, and
# to be selected and removed by a second profiler after they ran.
MANY = """
import time
import clineprof

FUNCTIONS, PART = 4000, 500
names = {}
exec("".join(f"def f{i}(x):\\n    for y in range(x):\\n        x += y\\n    return x\\n" for i in range(FUNCTIONS)), names)
functions = [names[f"f{i}"] for i in range(FUNCTIONS)]
profiler = clineprof.Profiler(tracer="light", memory=False)

def spent(act, some):
    start = time.process_time()
    for function in some:
        act(function)
    return time.process_time() - start

first = spent(profiler.add_function, functions[:PART])
spent(profiler.add_function, functions[PART:-PART])
last = spent(profiler.add_function, functions[-PART:])
print(last / first, spent(profiler.remove_function, functions[:PART]) / first)

with profiler:
    for function in functions:
        function(1)
second = clineprof.Profiler(tracer="light", memory=False)
print(spent(second.add_function, functions[PART:2 * PART]) / first)
print(spent(second.remove_function, functions[PART:2 * PART]) / first)
"""


@tried_again
def test_many_functions_are_selected_in_no_time(tmp_path):
    (tmp_path / "many.py").write_text(MANY)
    ended = run_python(["many.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")}, timeout=300)
    assert (ended.err, ended.code) == ("", 0)
    steady(max(map(float, ended.out.split())) < 6, ended.out)


# Events tell of `with` blocks, but not of the functions that run in them.
IN_A_BLOCK = """
import clineprof
kept = []

def keeps(i):
    kept.append(bytes(5000))

def drops(i):
    return len(bytes(5000))

def main(count):
    with profiler.block("inner"):
        for i in range(count):
            keeps(i)
            drops(i)
        own = [bytes(1000) for _ in range(2000)]
    return len(own)

profiler = clineprof.Profiler(tracer="light", leaks="calls")
for function in keeps, drops, main:
    profiler.add_function(function)
with profiler:
    main(1000)
    main(1000)
profile = clineprof.Profile(profiler.snapshot())
print([(leak["name"], leak["at"]) for leak in profile.leaks])
for function in profiler.snapshot()["functions"]:
    print(function["name"], sum(function["lines"].get("allocated") or []))
"""


def test_what_functions_allocate_in_a_with_block_is_theirs(tmp_path):
    (tmp_path / "block.py").write_text(IN_A_BLOCK)
    ended = run_python(["block.py"], tmp_path, env={"PYTHONPATH": str(BUILD / "python")})
    assert (ended.err, ended.code) == ("", 0)
    leaks, *functions = ended.out.splitlines()
    assert leaks == "[('keeps', 6)]"
    allocated = {name: int(number) / 1e6 for name, number in map(str.split, functions)}
    assert 9 < allocated["keeps"] < 12 and 9 < allocated["drops"] < 12 and 3.5 < allocated["inner"] < 5
    assert allocated["<module>.<block>"] < 0.5


# A worker's process has the bodies of its parent on its stack, and never leaves them.
WORKERS = """
import multiprocessing
def main(context):
    workers = [context.Process(target=abs, args=(1,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 1
main(multiprocessing.get_context("fork"))
"""


def test_bodies_that_a_process_inherits_do_not_go_on(tmp_path):
    profile = made(tmp_path, WORKERS, "-p", "prog.py", "--prof-child-procs", *LIGHT)
    found = [n for (name, _), n in sorted(hits(profile).items()) if name == "main"]
    assert found == [1, 4, 3, 4, 3, 1]


# ---- blocks and leaks ----

def test_what_lines_allocated_is_told(tmp_path):
    profile = made(tmp_path, """
    def makes(n):
        for i in range(n):
            kept = bytes(10_000)  # makes
        return None
    makes(3_000)
    """, "-p", "prog.py:makes", *LIGHT, "--heap")
    [line] = [line for function in profile.functions for line in function.lines if line.text.endswith("# makes")]
    assert line.allocated == pytest.approx(30e6, rel=0.2) and line.blocks == pytest.approx(3_000, rel=0.2)
    assert line.live < 100_000
    page = run_viewer(["--format", "html", "-o", "page.html", "prog.py.lprof"], tmp_path)
    assert page.code == 0 and '"allocated"' in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("wish", ["--heap", "--leaks"])
def test_what_an_execution_frees_that_allocated_it(tmp_path, wish):
    """A variable that is bound anew is freed by the next execution, a temporary by its own."""
    profile = made(tmp_path, """
    def makes(n):
        for i in range(n):
            kept = bytes(10_000)         # bound anew
            size = len(bytes(10_000))    # temporary
        return size
    makes(3_000)
    """, "-p", "prog.py:makes", *LIGHT, wish, "--heap-interval", "1")
    lines = {line.text.split("# ")[1]: line for f in profile.functions for line in f.lines if "# " in line.text}
    assert lines["temporary"].freed_in_line == pytest.approx(30e6, rel=0.1)
    assert lines["bound anew"].freed_in_line < 0.5e6 and lines["bound anew"].allocated == pytest.approx(30e6, rel=0.1)


@pytest.mark.parametrize("program", leak_truth.PROGRAMS, ids=lambda program: program.stem)
def test_leaks_are_those_of_the_exact_clock(tmp_path, program):
    expected = leak_truth.marked(program)
    found, ended = leak_truth.accused(program, tmp_path, "sampled", "-v", "--fail-on-leak", *LIGHT)
    assert found == expected, ended.out + ended.err
    assert ended.code == (3 if expected else 0)


# main() is called by a selected function, whose line then frees what main() held.
HELD = """
class Server:
    def __init__(self):
        self.log = []
    def handle(self, number):
        self.log.append(b"%04d" % number * 400)  # keeps
        return len(bytearray(9_000))
def serve(count, clears):
    server = Server()
    for number in range(count):
        server.handle(number)
    if clears:
        server.log.clear()
def run(count, clears):
    serve(count, clears)
    return 1
import sys
run(3000, len(sys.argv) > 1)
"""


@pytest.mark.parametrize("clears", [(), ("clears",)], ids=["returns", "clears"])
def test_what_a_body_frees_by_returning_leaks(tmp_path, clears):
    """All functions are selected, and nobody hears of their returns."""
    (tmp_path / "prog.py").write_text(HELD)
    ended = run_ckernprof(["-l", "-v", "-p", "prog.py", "--leaks", *LIGHT, "prog.py", *clears], tmp_path)
    assert ended.code == 0, ended.err
    leaks = [leak for function in ended.profile().raw["functions"] for leak in function.get("leaks", ())]
    if clears:
        assert leaks == [] and ended.out.endswith("No line was found to leak.\n")
        return
    [leak] = leaks
    assert leak["at_end"] is True and leak["bytes"] == pytest.approx(2_700 * 1_633, rel=0.2)
    assert leak["bytes_per_call"] == pytest.approx(1_633, rel=0.1)
    assert re.search(r"server in serve\(\): Server > list, \d+ items|variables of serve\(\)", leak["held_by"])


def test_leaks_by_calls_of_one_function_are_refused(tmp_path):
    (tmp_path / "prog.py").write_text("print('ran')\n")
    ended = run_ckernprof(["-l", "--leaks=handle", *LIGHT, "prog.py"], tmp_path)
    assert (ended.code, ended.out) == (2, "") and "--leaks=FUNCTION looks at each line as it runs" in ended.err
    said = run_python(["-c", "import clineprof; clineprof.Profiler(tracer='light', leaks='handle')"], tmp_path,
                      env={"PYTHONPATH": str(BUILD / "python")}).err
    assert said.endswith("ValueError: clineprof: leaks=FUNCTION looks at each line as it runs, and the "
                         "tracer light does not\n"), said
