# SPDX-License-Identifier: MIT
"""Prepares the interpreter under test and its virtual environment with the peers, and describes the machine."""
import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
import sysconfig

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
REQUIREMENTS = os.path.join(HERE, "requirements.txt")


class Trouble(Exception):
    """An error that ends the bench with one line."""


def settle(python):
    """Makes sure that this process runs in the environment of `python`, and returns the path of that interpreter. If
    the process runs elsewhere, it is replaced: the whole command starts again in the environment."""
    base = os.path.abspath(python) if python else base_interpreter()
    folder = environment_of(base)
    if os.path.realpath(sys.prefix) != os.path.realpath(folder):
        inside = os.path.join(folder, "bin", "python")
        sys.stdout.flush()
        os.execv(inside, [inside, *sys.argv, "--python", base])
    return base


def base_interpreter():
    """The interpreter without the virtual environment in which make may have started this process."""
    if sys.prefix == sys.base_prefix:
        return sys.executable
    return os.path.realpath(sys.executable)


def environment_of(base):
    """The folder of the interpreter's environment, the one that `make bench` uses. Makes it if it does not exist."""
    code = ("import sys, sysconfig; print('%s-%d.%d.%d' % "
            "((sysconfig.get_config_var('SOABI'),) + sys.version_info[:3]))")
    name = output_of(base, "-c", code)
    folder = os.path.join(ROOT, "build", "venv", "bench-" + name)
    inside = os.path.join(folder, "bin", "python")
    if not os.path.exists(inside):
        print(f"making {folder}", file=sys.stderr)
        output_of(base, "-m", "venv", "--clear", folder)
    wanted = "import line_profiler, memory_profiler, msgpack"
    if subprocess.run([inside, "-c", wanted], stderr=subprocess.DEVNULL).returncode:
        output_of(inside, "-m", "pip", "install", "-q", "-r", REQUIREMENTS)
        output_of(inside, "-c", wanted)
    open(os.path.join(folder, "ready"), "a").close()
    return folder


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Trouble(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise Trouble(f"{' '.join(command)} failed: {last_line(done.stderr)}")
    return done.stdout.strip()


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no message"


def describe(base):
    """What a reader needs to know to judge the numbers, as (name, text) pairs."""
    return [
        ("date", datetime.date.today().isoformat()),
        ("machine", f"{cpu_model()}, {os.cpu_count()} cores"),
        ("kernel", f"{platform.system()} {platform.release()}, clock source {clock_source()}"),
        ("load", "%.2f in the minute before the start" % os.getloadavg()[0]),
        ("python", f"{platform.python_version()}, {build_kind()}, {base}"),
        ("compiler", platform.python_compiler()),
        ("clineprof", revision()),
        *((peer, importlib.metadata.version(peer)) for peer in ("line_profiler", "memory_profiler")),
    ]


def cpu_model():
    for line in lines_of("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def clock_source():
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    return "".join(lines_of(path)).strip() or "unknown"


def lines_of(path):
    try:
        with open(path) as file:
            return file.readlines()
    except OSError:
        return []


def build_kind():
    """How the interpreter was built, by its sysconfig. This process can tell, because an environment shares the binary
    of its interpreter. Debian's sysconfig describes its shared library, which its static python3 does not use. If no
    such library is mapped, nothing is known about how the binary was optimised."""
    get = sysconfig.get_config_var
    given, mapped = get("CONFIG_ARGS") or "", "".join(lines_of("/proc/self/maps"))
    shared = "libpython" in mapped
    if "--enable-shared" in given and not shared:
        return "static build of a distribution, its optimisation not recorded"
    kinds = ["optimised by profile" if "--enable-optimizations" in given else "no profile used"]
    kinds += ["with link-time optimisation"] if "--with-lto" in given else []
    kinds += ["debug"] if get("Py_DEBUG") else []
    kinds += ["free-threaded"] if get("Py_GIL_DISABLED") else []
    return ", ".join(kinds + ["shared library" if shared else "static"])


def revision():
    git = ["git", "-C", ROOT]
    try:
        name = output_of(*git, "describe", "--always", "--dirty")
    except Trouble:
        return "unknown revision"
    return f"revision {name}"
