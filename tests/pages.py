# SPDX-License-Identifier: MIT
"""Runs a page of README.md or docs/ as a reader would: from the top down, in one shell, in one folder.

What a fenced block means:
- `python` below a line that ends with a file's name, as in "Save this as `shop.py`:", is that file, line by
  line. `toml` and `cython` are files in the same way.
- `python` elsewhere is a program that python3 runs. A `text` block below it is what it prints. Or it
  begins with what stands behind a `print(...)` as a comment.
- `console` has commands behind `$ `, and below each what it prints; nothing is compared where nothing is shown.
  `# exit status N` behind a command is its exit status, 0 where there is none.
- A block of no language is a drawing, or a message. It is not run.
- A command that needs a program or a package which is not there is not run, nor are those below it in its block.

What is shown is what is printed, line by line, but for this:
- A line `...` stands for any number of lines.
- Numbers with a point or an exponent, numbers before a unit (s, ms, B, MiB, bytes, %) and process numbers differ from
  run to run. All others, line numbers and hits among them, are the same.
- An increment below 0.1 MiB, a page or two, is as good as an empty place.
- `/home/me` is the folder.
- The width of gaps and rules, the tracer's name and the time of day do not count, and in the last line of a
  report no number does.
"""
import dataclasses
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading

from harness import BUILD, ROOT, clean_environment

PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
MARK = "-- end of a command --"
SECONDS = 300


def text_of(page):
    return (ROOT / page).read_text("utf-8")


@dataclasses.dataclass
class Block:
    language: str
    text: str
    before: str  # the last line of text above it


def blocks(page):
    """The fenced blocks of a page, in order."""
    parts = re.split(r"^```(\w*)\n(.*?)^```$", text_of(page), flags=re.M | re.S)
    before = ""
    for text, language, body in zip(parts[::3], parts[1::3], parts[2::3]):
        lines = text.strip().splitlines()
        before = lines[-1] if lines else ""
        yield Block(language, body, before)


@dataclasses.dataclass
class Step:
    """One thing that the shell does, what the page shows of it, and the exit status that it says."""
    command: str
    shown: str = ""
    status: int = 0
    block: int = 0  # its place on the page


def commands(block):
    """The commands of a console block."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            more, _, shown = shown.partition("\n")
            command += "\n" + more
        status = re.search(r"# .*exit status (\d+)", command)
        yield Step(command, shown, int(status[1]) if status else 0)


def file_of(block):
    """The name of the file that a block is, or None."""
    named = re.search(r"`([\w./]+\.(?:py|pyx|toml))`:$", block.before)
    return named[1] if named and block.language in ("python", "cython", "toml") else None


def here_document(start, text):
    return f"{start} <<'END OF BLOCK'\n{text}END OF BLOCK"


def comments_behind_prints(program):
    found = re.findall(r"^ *print\(.*\)  # (.*)$", program, re.M)
    return "\n".join([*found, "..."]) if found else ""


def steps(page):
    """What a reader of the page does, in order."""
    found = []
    for place, block in enumerate(blocks(page)):
        name = file_of(block)
        if name:
            found.append(Step(here_document(f"cat > {name}", block.text), block=place))
        elif block.language == "console":
            found.extend(dataclasses.replace(step, block=place) for step in commands(block))
        elif block.language == "python":
            shown = comments_behind_prints(block.text)
            found.append(Step(here_document("python3 -", block.text), shown, block=place))
        elif block.language == "text" and found:
            found[-1].shown = block.text
    return found


# ---- what is not on every machine ----


BUILTINS = {"cd", "export", "kill"}  # of bash, among those that pages use


def imports(text):
    return set(re.findall(r"^ *(?:from|import) (\w+)", text, re.M))


def is_missing(module, folder):
    return not (folder / f"{module}.py").exists() and importlib.util.find_spec(module) is None


def what_is_missing(step, folder, path):
    """The program or the package that a command needs and this machine lacks; "" when it has all."""
    if step.command.startswith("cat > "):
        return ""
    words = shlex.split(step.command.partition("\n")[0].split(" # ")[0].replace("&&", " "))
    known = [word for word in words if "=" not in word]
    if known and known[0] not in BUILTINS and shutil.which(known[0], path=path) is None:
        return known[0]
    texts = [step.command] + [(folder / word).read_text("utf-8") for word in words
                              if word.endswith(".py") and (folder / word).is_file()]
    modules = set().union(*map(imports, texts)) | set(re.findall(r" -m (\w+)", words and step.command))
    return next((name for name in sorted(modules) if is_missing(name, folder)), "")


# ---- running ----


def write_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def environment_of(folder):
    """As if clineprof were installed in the environment of the interpreter that runs the tests."""
    programs = folder / "programs"
    programs.mkdir(parents=True)
    write_program(programs / "python3", f'exec {shlex.quote(sys.executable)} "$@"')
    write_program(programs / "pytest", 'exec python3 -m pytest -p no:cacheprovider -W ignore "$@"')
    info = folder / "site" / "clineprof-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clineprof\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nclineprof = clineprof._pytest\n")
    path = [programs, BUILD / "bin", pathlib.Path(sys.executable).parent, os.environ["PATH"]]
    return clean_environment({
        "PATH": os.pathsep.join(map(str, path)),
        "PYTHONPATH": f"{folder / 'site'}{os.pathsep}{BUILD / 'python'}",
        "VIRTUAL_ENV": sys.prefix,
        "COLUMNS": "80",
        # Open MPI wants to be asked for what a container's user and a small machine need
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    })  # fmt: skip


class Shell:
    """bash in a folder. It is one process for a whole page, so that `cd`, `export` and `$!` work. It ends
    after some minutes, with all that it has started."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(["bash"], cwd=folder, env=environment, text=True, bufsize=1,
                                        errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        self.limit = threading.Timer(SECONDS, self.end)
        self.limit.start()

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def run(self, command):
        """What a command prints, and its exit status."""
        self.process.stdin.write(f'{{ {command}\n}} < /dev/null\necho "\n{MARK} $?"\n')
        printed = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                return "".join(printed)[:-1], int(line.split()[-1])
            if not re.match(r"bash: line \d+: +\d+ (Killed|Terminated)", line):
                printed.append(line)
        raise AssertionError(f"the shell ended in: {command}\n{''.join(printed)}")

    def close(self):
        self.limit.cancel()
        self.end()
        self.process.stdin.close()
        self.process.wait()


# ---- comparing ----

UNIT = r"(?:[KMG]i)?B/s|(?:[KMG]i)?B\b|[mun]?s\b|bytes|per call|samples|%"
# Units that depend on how quick the machine is and on how much memory it takes.
USUAL = {"KiB": "MiB", "ns": "s", "us": "s", "ms": "s"}


def normal(line):
    """A line without what may differ."""
    line = line.replace(sys.executable, "python3").replace("-rtmz", "-tmz")
    if line.startswith("Profiled by clineprof"):
        line = re.sub(r"\d[\d.e+-]*", "#", re.sub(", give or take [^,]*,", ",", line))
    line = re.sub(r"[+-]?\b0(\.0\d\d)? MiB", "", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT?\d{6}|\b\d{14}\b", "TIME", line)
    line = re.sub(r"(?<=[-.])\d{3,7}-[0-9a-f]{12}\b", "RUN", line)
    line = re.sub(r"(?<=[-.])\d{3,7}(?=[.-])|\b(process|number|pid) \d+", "PID", line)
    line = re.sub(r"[+-]?\d+(?:\.\d+)+(?:e[+-]?\d+)?|[+-]?\d+e[+-]?\d+", "#", line)
    line = re.sub(rf"[+-]?(?:#|\d[\d,]*) *({UNIT})", lambda found: "# " + USUAL.get(found[1], found[1]), line)
    line = re.sub(r"tracer \w+", "tracer", line)
    return re.sub(r"\s+", " ", re.sub(r"([=-])\1+", r"\1", line)).strip()


def normal_lines(lines):
    """The same of all lines. How many faults and switches a line has depends on the machine."""
    varies = False
    for line in lines:
        varies = line.startswith("Line #") and "Faults" in line or varies and line.strip() != ""
        yield normal(re.sub(r"(?<=\s)\d+(?=\s)", "#", line) if varies else line)


def pieces(shown):
    """What is shown, cut at the lines `...`; the first and the last piece may be empty."""
    found = [[]]
    for line in normal_lines(shown):
        if line == "...":
            found.append([])
        else:
            found[-1].append(line)
    return found


def agrees(shown, printed):
    """Is this what was printed? The pieces must stand in it in their order."""
    lines = list(normal_lines(printed.rstrip("\n").splitlines()))
    *middle, last = pieces(shown.rstrip("\n").splitlines())
    at = 0
    for number, piece in enumerate(middle):
        places = [at] if number == 0 else range(at, len(lines) - len(piece) + 1)
        found = [place for place in places if lines[place:place + len(piece)] == piece]
        if not found:
            return False
        at = found[0] + len(piece)
    end = len(lines) - len(last)
    return lines[end:] == last and (end >= at if middle else end == 0)


def what_is_wrong(step, printed, status):
    """What a command did otherwise than the page says; "" for nothing."""
    if status != step.status:
        return f"exit status {status}, not {step.status}, of: {step.command}\n{printed}"
    if step.shown and not agrees(step.shown, printed):
        wanted, got = ("\n".join(normal_lines(text.splitlines())) for text in (step.shown, printed))
        return f"$ {step.command}\nthe page shows:\n{wanted}\nprinted:\n{got}\n\n{printed}"
    return ""


def run_page(page, folder, environment, left_out):
    """Runs the steps of a page. Returns what is wrong with the first that fails, or ""; and how many ran."""
    shell, ran, without = Shell(folder, environment), 0, -1
    try:
        for step in steps(page):
            if step.command.startswith(left_out) or step.block == without:
                continue
            if what_is_missing(step, folder, environment["PATH"]):
                without = step.block
                continue
            printed, status = shell.run(step.command)
            wrong = what_is_wrong(step, printed.replace(str(folder), "/home/me"), status)
            if wrong:
                return wrong, ran
            ran += 1
        return "", ran
    finally:
        shell.close()
