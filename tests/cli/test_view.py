# SPDX-License-Identifier: MIT
"""The viewer: what it prints for one profile and for several, and its options."""

import re
import sys

import profiles
import pytest
from harness import BUILD, SANITIZED, Profile, run, run_ckernprof, run_viewer

PROGRAM = '''
@profile
def slow(n):
    import time
    time.sleep(n)

@profile
def quick():
    total = 0
    for i in range(10):
        total += i
    return total

@profile
def idle():
    return 0

def main(n):
    quick()
    slow(n)
    print("ran")

main(0.02)
'''


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with program.py and two profiles of it, one.lprof and two.lprof."""
    folder = tmp_path_factory.mktemp("view")
    (folder / "program.py").write_text(PROGRAM)
    for name in "one.lprof", "two.lprof":
        assert run_ckernprof(["-l", "-o", name, "program.py"], folder).code == 0
    return folder


def view(folder, *words):
    ended = run_viewer(words, folder)
    assert (ended.err, ended.code) == ("", 0)
    return ended.out


def rows(report):
    """{line: [hits, time, per hit, share]} of the rows that ran, and {line: text} of all."""
    numbers, texts = {}, {}
    for row in re.finditer(
        r"^ *(\d+)( +\d+ +[\d.e+-]+ +[\d.e+-]+ +[\d.]+)?"
        r"(?: +-?[\d.]+ MiB(?: {4} *-?[\d.]+ MiB)?)?(?: +(.*))?$",
        report,
        re.M,
    ):
        texts[int(row[1])] = row[3] or ""
        if row[2]:
            numbers[int(row[1])] = [float(word) for word in row[2].split()]
    return numbers, texts


def functions(report):
    return re.findall(r"^Function: (\S+) at line \d+$", report, re.M)


def test_report(made):
    report = view(made, "one.lprof")
    assert report.startswith("Timer unit: 1e-06 s\n\nTotal time: ")
    assert functions(report) == ["slow", "quick", "idle"]
    assert report.count("File: program.py\n") == 3
    assert (
        "Line #      Hits         Time  Per Hit   % Time    Mem usage    Increment  Line Contents\n"
        in report
    )
    numbers, texts = rows(report)
    assert {line: int(row[0]) for line, row in numbers.items()} == {
        4: 1,
        5: 1,
        9: 1,
        10: 11,
        11: 10,
        12: 1,
    }
    assert texts[2] == "@profile" and texts[10] == "for i in range(10):"
    assert numbers[5][1] >= 20000 and numbers[5][3] > 90


def test_rows_show_the_source(made):
    shown = rows(view(made, "one.lprof", "--no-memory"))[1]
    assert set(range(2, 6)) | set(range(7, 13)) | {14, 15, 16} == set(shown)
    for number, text in shown.items():
        assert text == PROGRAM.splitlines()[number - 1].strip()


def test_several_files_are_summed(made):
    one, both = rows(view(made, "one.lprof"))[0], rows(view(made, "one.lprof", "two.lprof"))[0]
    assert {line: row[0] * 2 for line, row in one.items()} == {
        line: row[0] for line, row in both.items()
    }
    assert both[5][1] >= 40000
    copies = rows(view(made, "one.lprof", "one.lprof", "one.lprof"))[0]
    assert copies[10][0] == one[10][0]


def test_no_memory_prints_the_plain_table(made):
    report = view(made, "--no-memory", "one.lprof")
    assert (
        "Line #      Hits         Time  Per Hit   % Time  Line Contents\n" + "=" * 62 + "\n"
        in report
    )
    assert "MiB" not in report


def test_profile_without_memory(made):
    run_ckernprof(["-l", "--no-memory", "-o", "plain.lprof", "program.py"], made)
    report = view(made, "plain.lprof")
    assert "% Time  Line Contents" in report and "MiB" not in report


def test_sort(made):
    report = view(made, "-t", "one.lprof")
    assert functions(report) == ["idle", "quick", "slow"]
    assert functions(view(made, "--sort", "one.lprof")) == ["idle", "quick", "slow"]


def test_skip_zero(made):
    for words in ["-z"], ["--skip-zero"], ["-tz"]:
        assert "idle" not in functions(view(made, *words, "one.lprof"))


def test_summarize(made):
    report = view(made, "-m", "one.lprof")
    found = re.findall(r"^ *(\d+\.\d\d) seconds - (\S+) - (\S+)$", report, re.M)
    assert [name for seconds, where, name in found] == ["slow", "quick", "idle"]
    assert [where for seconds, where, name in found] == [
        "program.py:2",
        "program.py:7",
        "program.py:14",
    ]
    assert float(found[0][0]) >= 0.02


def test_unit(made):
    report = view(made, "-u", "1e-3", "one.lprof")
    assert "Timer unit: 0.001 s" in report
    assert 20 <= rows(report)[0][5][1] < 2000
    assert "Timer unit: 1 s" in view(made, "--unit=1", "one.lprof")


def test_raw_times_are_not_smaller(made):
    corrected, raw = (
        rows(view(made, "one.lprof"))[0],
        rows(view(made, "--raw-times", "one.lprof"))[0],
    )
    assert all(raw[line][1] >= corrected[line][1] for line in corrected)


def test_shares_and_per_hit(made):
    for function in Profile(made / "one.lprof").functions.values():
        times = Profile.measure(function, "time")
        report = rows(view(made, "one.lprof"))[0]
        for line, time in times.items():
            hits = Profile.measure(function, "hits")[line]
            assert abs(report[line][1] - time / 1000) <= 0.06
            assert abs(report[line][2] - time / 1000 / hits) <= 0.06
            total = function["total"] or 1  # a quick line: all of it may be taken off
            assert abs(report[line][3] - 100 * time / total) <= 0.06


def test_from_another_folder(made, tmp_path):
    report = view(tmp_path, made / "one.lprof")
    assert f"File: {made / 'program.py'}\n" in report


def test_source_as_it_ran(script):
    path = script("@profile\ndef f():\n    return 'as it ran'\nf()\n")
    run_ckernprof(["-l", path.name], path.parent)
    path.write_text("# all else now\n")
    assert "return 'as it ran'" in view(path.parent, "program.py.lprof")
    path.unlink()
    assert "return 'as it ran'" in view(path.parent, "program.py.lprof")


def test_source_that_never_was(script):
    path = script(
        "scope = {'profile': profile}\n"
        "exec(compile('@profile\\ndef f():\\n    return 1\\n', 'nowhere.py', "
        "'exec'), scope)\nscope['f']()\n"
    )
    ended = run_ckernprof(["-l", "-v", path.name], path.parent)
    assert "Function: f at line 1" in ended.out and "nowhere.py" in ended.out
    assert re.search(r"^ +3 +1 ", ended.out, re.M)
    assert re.search(r"^ +3 +1 ", view(path.parent, "program.py.lprof"), re.M)


def test_source_with_odd_bytes(script):
    """Latin-1 with a declaration, and control characters that a terminal would obey."""
    path = script("")
    path.write_bytes(
        b"# -*- coding: latin-1 -*-\n@profile\ndef f():\n    return '\xe9 \x1b[31m \x07'\nf()\n"
    )
    ended = run_ckernprof(["-l", "-v", path.name], path.parent)
    assert ended.code == 0
    for report in ended.out, view(path.parent, "program.py.lprof"):
        assert "return 'é " in report
        assert "\x1b" not in report and "\x07" not in report


def test_names_that_a_terminal_would_obey(script):
    path = script(
        "exec(compile('@profile\\ndef f():\\n    return 1\\nf()', 'file\\x1b[2J\\nx', 'exec'))\n"
    )
    ended = run_ckernprof(["-l", "-v", path.name], path.parent)
    assert ended.code == 0 and "Function: f" in ended.out
    for report in ended.out, view(path.parent, "program.py.lprof"):
        assert "\x1b" not in report


@pytest.mark.once
def test_module_and_program_agree(made):
    command = [sys.executable, "-m", "clineprof", "one.lprof"]
    by_module = run(command, made, env={"PYTHONPATH": str(BUILD / "python")})
    assert (by_module.err, by_module.code) == ("", 0)
    assert by_module.out == view(made, "one.lprof")


@pytest.mark.once
def test_usage(made):
    for words in [], ["--wrong", "one.lprof"], ["-u", "x", "one.lprof"], ["-u", "0", "one.lprof"]:
        ended = run_viewer(words, made)
        assert (ended.code, ended.out) == (2, "") and len(ended.err.splitlines()) == 1
        assert ended.err.startswith("clineprof: ")
    for words in ["-h"], ["--help"]:
        ended = run_viewer(words, made)
        assert (ended.code, ended.err) == (0, "") and "--summarize" in ended.out
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", run_viewer(["--version"], made).out)


@pytest.mark.once
def test_does_not_run_the_folder_it_stands_in(made, tmp_path):
    """A json.py, struct.py or clineprof/ in the working folder is not imported."""
    for name in "json", "struct", "linecache", "re", "os", "msgpack", "site":
        (tmp_path / f"{name}.py").write_text(f"print('loaded {name}')\n")
    (tmp_path / "clineprof").mkdir()
    (tmp_path / "clineprof" / "__init__.py").write_text("print('loaded clineprof')\n")
    assert "loaded" not in view(tmp_path, made / "one.lprof")


@pytest.mark.once
def test_a_closed_standard_output_is_told(made):
    for words in ["one.lprof"], ["--format", "json", "one.lprof"], ["merge", "one.lprof", "-o", "-"], ["--help"]:
        ended = run(["sh", "-c", '"$@" >&-', "sh", BUILD / "bin" / "clineprof", *words], made)
        assert (ended.code, ended.err) == (1, "clineprof: cannot write to standard output: Bad file descriptor\n")


@pytest.mark.once
def test_closed_pipe_is_no_crash(made):
    ended = run(
        [
            "sh",
            "-c",
            "exec \"$0\" one.lprof one.lprof | head -n 1",
            *map(str, [BUILD / "bin" / "clineprof"]),
        ],
        made,
    )
    assert (ended.out, ended.code) == ("Timer unit: 1e-06 s\n", 0)
    assert "Traceback" not in ended.err


# ---- columns and order ----


def header_and_rows(report, function):
    """The titles of a function's table, and the words of its rows that ran."""
    table = report[report.index(f"Function: {function} at line") :].split("\n\n")[1].splitlines()
    titles = table[0].removesuffix("  Line Contents").split("  ")
    return [title.strip() for title in titles if title], [row.split() for row in table[2:]]


def test_columns(made):
    titles, rows = header_and_rows(view(made, "--columns", "max,hits", "one.lprof"), "quick")
    assert titles == ["Line #", "Max", "Hits"]
    assert [row[2] for row in rows if len(row) > 2 and row[2].isdigit()] == ["1", "11", "10", "1"]
    again, _ = header_and_rows(
        run_ckernprof(["-l", "-v", "--columns=hits", "-o", "x.lprof", "program.py"], made).out, "slow"
    )
    assert again == ["Line #", "Hits"]
    (made / "x.lprof").unlink()


def test_columns_that_were_not_measured_are_named(script, tmp_path):
    path = script("@profile\ndef f():\n    return 1\nf()\n")
    told = "clineprof: --columns: {} was not measured; that takes a run with {}\n"
    for options, columns, expected in (
        ([], "hits,mem,blocks", ""),
        ([], "live,native", told.format("live", "--heap or --leaks") + told.format("native", "--heap=native")),
        (["--heap"], "live,heap-peak,freed-in-line", ""),
        (["--no-memory"], "mem", told.format("mem", "memory, which --no-memory leaves out")),
    ):
        run_ckernprof(["-l", "-q", *options, path], tmp_path)
        ended = run_viewer(["--columns", columns, "program.py.lprof"], tmp_path)
        assert (ended.code, ended.err) == (0, expected)
    assert run_ckernprof(["-lv", "--columns=live", path], tmp_path).err.startswith("ckernprof: --columns: live")


CALLS = """
@profile
def inner():
    return sum(range(20_000))

@profile
def outer():
    return inner()

outer()
"""


def test_self(script, tmp_path):
    run_ckernprof(["-l", "-o", "x.lprof", script(CALLS)], tmp_path)
    report = run_viewer(["--self", "--no-memory", "x.lprof"], tmp_path).out
    titles, rows = header_and_rows(report, "outer")
    assert titles == ["Line #", "Hits", "Time", "Per Hit", "% Time", "Self", "% Self"]
    [(line, hits, time, _, _, own, share, *_)] = [row for row in rows if row[1] == "1"]
    measured = Profile(tmp_path / "x.lprof").line("outer", int(line))
    assert abs(float(time) - measured["time"] / 1000) <= 0.06 and abs(float(own) - measured["self"] / 1000) <= 0.06
    assert abs(float(share) - 100 * measured["self"] / measured["time"]) <= 0.06 and measured["self"] < measured["time"]
    with_memory = run_viewer(["--self", "x.lprof"], tmp_path).out
    assert "Increment   Self incr.  Line Contents" in with_memory


@pytest.mark.parametrize(
    "key, order",
    {"order": "slow quick idle", "time": "idle quick slow", "name": "idle quick slow",
     "hits": "idle slow quick"}.items(),
)  # fmt: skip
def test_sort_by(key, order, made):
    shown = re.findall(r"^Function: (\w+)", view(made, "--sort-by", key, "one.lprof"), re.M)
    assert " ".join(shown) == order


@pytest.mark.parametrize(
    "words, told",
    {
        ("--columns", "hits,zeit"): "option '--columns' needs some of hits,time,",
        ("--columns", "hits,tims"): "option '--columns' does not take 'tims' (did you mean time?); see",
        ("--widths", "hits=5,tme=9"): "option '--widths' does not take 'tme' (did you mean time?); see",
        ("--widths", "time=x"): "option '--widths' needs NAME=N,.. with a NAME of line,hits,time,",
        ("--sort-by", "tme"): "option '--sort-by' does not take 'tme' (did you mean time?); see",
        ("--columns", ",".join(["hits"] * 25)): "option '--columns' takes at most 24 columns",
        ("--sort-by", "size"): "option '--sort-by' needs hits, time, ",
    }.items(),
)
def test_columns_and_keys_there_are_not(words, told, script, tmp_path):
    """Said before the program runs."""
    for ended in (
        run_viewer([*words, "x.lprof"], tmp_path),
        run_ckernprof(["-l", *words, script("print('ran')\n")], tmp_path),
    ):
        assert (ended.code, ended.out) == (2, "") and ended.err.count("\n") == 1
        assert told in ended.err


@pytest.mark.skipif(SANITIZED, reason="a sanitizer needs all addresses")
def test_part_of_a_report_does_not_replace_a_file(tmp_path):
    """A line of 16 MiB is to be read, and shown as four times as much, with little memory."""
    text = "def f(): # " + "\x01" * (16 << 20) + "\n"
    profiles.write(tmp_path / "x.lprof", profiles.function("f", {1: (1, 1)}, text=text))
    (tmp_path / "report.txt").write_text("of yesterday")
    ended = run_viewer(["-o", "report.txt", "x.lprof"], tmp_path, addresses=128 << 20)
    assert (ended.code, ended.err) == (1, "clineprof: cannot write to report.txt: Cannot allocate memory\n")
    assert (tmp_path / "report.txt").read_text() == "of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.txt", "x.lprof"]


def test_footer_with_vv(script, tmp_path):
    path = script("@profile\ndef f():\n    return 1\nf()\n")
    for words, footers in {"-lv": 0, "-lvv": 1}.items():
        out = run_ckernprof([words, "--no-memory", path], tmp_path).out
        assert out.count("Profiled by clineprof, tracer ") == footers
        out = run_ckernprof([words, path], tmp_path).out
        assert out.count("Profiled by clineprof. Counting itself took about ") == 1 - footers
