# SPDX-License-Identifier: MIT
"""Functions that are pickled by value count where they arrive: in processes of the run, with cloudpickle, with the
copies of it that engines carry, and with dill."""
import collections

import pytest
from harness import BUILD, Profile, run_ckernprof, run_python

# PICKLER is the module that pickles; the child reads pickles from its input and prints how often it called work.
PROGRAM = """\
import subprocess, sys
import PICKLER as pickler

{mark}
def work(n):
    total = 0
    for i in range(n):
        total += i  # add
    return total

class Thing:
    {mark}
    def method(self, n):
        def inner(k):
            return k + 1  # inner
        return [inner(i) for i in range(n)]

{mark}
def numbers(n):
    for i in range(n):
        yield i  # yield

def task(n):
    return work(n) + len(Thing().method(n)) + sum(numbers(n))  # task

CHILD = '''
import pickle, sys
task = pickle.load(sys.stdin.buffer)
print(sum(task(n) for n in range(10)))
'''
if __name__ == "__main__":
    text = pickler.dumps(task{how})
    for _ in range(2):
        print(subprocess.run([sys.executable, "-c", CHILD], input=text, capture_output=True, check=True).stdout)
"""
ADDED = 2 * sum(range(10))  # how often the lines in loops run in two children
PRINTED = 2 * "b'285\\n'\n"


def line_of(text, mark):
    [line] = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# " + mark)]
    return line


@pytest.fixture(params=["cloudpickle", "dill", "carried.cloudpickle.cloudpickle"])
def program(request, tmp_path):
    """Writes the program, which pickles with one of the picklers, and returns its text."""
    pickler = request.param
    if pickler.startswith("carried"):  # as pyspark.cloudpickle.cloudpickle
        own = pytest.importorskip("cloudpickle", reason="cloudpickle is not here")
        folder = tmp_path / "carried" / "cloudpickle"
        folder.mkdir(parents=True)
        (tmp_path / "carried" / "__init__.py").write_text("")
        (folder / "__init__.py").write_text("")
        with open(own.cloudpickle.__file__) as file:
            (folder / "cloudpickle.py").write_text(file.read())
    else:
        own = pytest.importorskip(pickler, reason=pickler + " is not here")
        try:
            own.loads(own.dumps(lambda: 1))
        except AttributeError as error:
            pytest.skip(f"{pickler} does not know this version of Python: {error}")

    def program(mark="@profile", start=""):
        how = ", byref=False, recurse=True" if pickler == "dill" else ""
        text = start + PROGRAM.replace("PICKLER", pickler).format(mark=mark, how=how)
        (tmp_path / "prog.py").write_text(text)
        return text

    return program


def hits(profile, text):
    """{name: hits} of the lines with a mark, in all functions that have them."""
    found = collections.Counter()
    for function in profile.functions.values():
        measured = Profile.measure(function, "hits")
        for mark in "add", "inner", "yield", "task":
            found[mark] += measured.get(line_of(text, mark), 0) * (function["name"] != "<module>")
    return +found


def test_marked_functions_count_in_the_processes_of_the_run(program, tmp_path):
    text = program()
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(PRINTED)
    profile = ended.profile()
    assert hits(profile, text) == {"add": ADDED, "inner": ADDED, "yield": ADDED}
    assert {key[0] for key in profile.functions} == {str(tmp_path / "prog.py")}  # and no function stands there twice


def test_functions_that_p_names_count_there(program, tmp_path):
    text = program(mark="")
    ended = run_ckernprof(["-l", "--prof-child-procs", "-p", "prog.task", "-p", "prog.work", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert hits(ended.profile(), text) == {"add": ADDED, "task": 20}


def test_with_clineprof_in_the_environment(program, tmp_path):
    text = program(start="from clineprof import profile\n")
    ended = run_python(["prog.py"], tmp_path, env={"CLINEPROF": "1", "PYTHONPATH": str(BUILD / "python")})
    assert (ended.code, ended.err) == (0, "")
    assert hits(ended.profile("profile_output.lprof"), text) == {"add": ADDED, "inner": ADDED, "yield": ADDED}


def test_each_copy_that_arrives_counts_and_none_is_kept(program, tmp_path):
    """A worker may get the same function again with each task."""
    text = program().replace("task = pickle.load(sys.stdin.buffer)", """
import gc
text = sys.stdin.buffer.read()
for _ in range(500):
    copy = pickle.loads(text)
copies = [one for one in gc.get_objects() if type(one) is type(copy) and one.__name__ == "task"]
assert len(copies) == 1, len(copies)
assert pickle.loads(text)(10) == 100
task = pickle.loads(text)
""")
    (tmp_path / "prog.py").write_text(text)
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert hits(ended.profile(), text)["add"] == ADDED + 2 * 10


@pytest.mark.parametrize("has_clineprof", [False, True], ids=["without", "with"])
def test_elsewhere_they_run_as_plain_code(program, tmp_path, has_clineprof):
    """The function is sent by a profiled run, and arrives in a process that is not profiled and may have no
    clineprof."""
    text = program().split("if __name__")[0] + """
@profile
def outer(n):
    @profile
    def nested(k):
        with profile.block("more"):
            return task(k)
    return nested(n)
with open("outer.pickle", "wb") as file:
    file.write(pickler.dumps(outer%s))
""" % (", byref=False, recurse=True" if "dill" in program()[:80] else "")
    (tmp_path / "prog.py").write_text(text)
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path)
    assert ended.code == 0, ended.err
    loads = "import pickle\nouter = pickle.load(open('outer.pickle', 'rb'))\nprint(outer(4), vars(outer))\n"
    path = {"PYTHONPATH": str(tmp_path) + ":" + str(BUILD / "python") * has_clineprof}
    ended = run_python(["-c", loads], tmp_path, env=path)
    assert (ended.out, ended.err) == ("16 {}\n", "")


def test_pickles_are_the_same_if_no_other_process_is_counted(program, tmp_path):
    """Programs compare pickles, or keep them."""
    program(start="import builtins, hashlib\nif not hasattr(builtins, 'profile'):\n    profile = lambda f: f\n")
    text = (tmp_path / "prog.py").read_text().split("    for _ in range(2)")[0].replace("dumps(task", "dumps(work")
    (tmp_path / "prog.py").write_text(text + "    print(hashlib.sha256(text).hexdigest())\n")
    bare, ended = run_python(["prog.py"], tmp_path), run_ckernprof(["-l", "prog.py"], tmp_path)
    assert len(bare.out) == 65 and ended.out.startswith(bare.out)


def test_the_run_says_once_how_to_count_what_was_sent(program, tmp_path):
    program(start="import sys, types\nsys.modules['ray'] = types.ModuleType('ray')\n")
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert ended.out.startswith(PRINTED)
    [line] = ended.err.splitlines()
    assert line.endswith("work was pickled; --prof-child-procs counts it in the processes that the "
                         "program starts; clineprof.ray counts it on a cluster")  # fmt: skip


def test_nothing_is_said_of_what_is_pickled_without_other_processes(program, tmp_path):
    text = program().split("    for _ in range(2)")[0]
    (tmp_path / "prog.py").write_text(text + "    def idle(): pass\n    profile(idle)\n    work(3)\n")
    ended = run_ckernprof(["-l", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")


def test_a_wrapper_has_the_module_and_the_name_of_what_it_wraps(program, tmp_path):
    """Pickles refer to it by these, also when they are read where it is not wrapped."""
    text = program().replace("CHILD =", """
if hasattr(pickler, "_dill"):
    pickler = pickler._dill
elif not hasattr(pickler, "_function_setstate"):
    pickler = pickler.cloudpickle
name = "_create_function" if hasattr(pickler, "_create_function") else "_function_setstate"
wrapper = getattr(pickler, name)
assert "clineprof" in wrapper.__globals__["__name__"]
assert (wrapper.__module__, wrapper.__qualname__) == (pickler.__name__, name)
assert "clineprof" not in wrapper.__wrapped__.__globals__["__name__"]
CHILD =""")
    (tmp_path / "prog.py").write_text(text)
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path)
    assert (ended.code, ended.err) == (0, "")


def test_what_the_profiler_cannot_send_goes_as_without_it(program, tmp_path):
    """An error of ours would be one of the program's pickling."""
    text = program().replace('    text = pickler', """\
    import clineprof._by_value
    clineprof._by_value.text_of = None
    text = pickler""")
    (tmp_path / "prog.py").write_text(text)
    ended = run_ckernprof(["-l", "--prof-child-procs", "prog.py"], tmp_path)
    assert ended.code == 0 and ended.out.startswith(PRINTED), ended.err
