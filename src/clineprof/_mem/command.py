# SPDX-License-Identifier: MIT
"""The command `clineprof mem`: records the memory of any program over time, with mprof's commands, options and
files."""
import argparse
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time

from clineprof import _boot
from clineprof._boot.parser import Parser
from clineprof._mem import memfile
from clineprof._mem.memfile import MIB, Wrong

ME = "clineprof mem"
COMMANDS = """\
commands:
  run      run a program, or a Python script, and record its memory over time
  attach   record a process that runs already
  plot     draw recordings
  peak     print the largest size in each recording
  list     list the recordings in this folder
  rm       remove some recordings
  clean    remove all recordings in this folder
"""
BACKENDS = {**memfile.BACKENDS, "rss": "rss", "pss": "pss", "uss": "uss"}
WRITE_EVERY = 0.5  # seconds; if this program is killed, at most this much of a recording is lost


def main(words):
    """Runs the command, and returns the exit code. `words` is the whole command line, ["clineprof", "mem", ..]."""
    names = {"run": run, "attach": attach, "plot": plot, "peak": peak, "list": show_list,
             "rm": remove, "clean": clean}  # fmt: skip
    name = words[2] if len(words) > 2 else ""
    usage = "usage: %s COMMAND [options]\n\n%s\n%s COMMAND --help tells more.\n" % (ME, COMMANDS, ME)
    try:
        if name in ("-h", "--help"):
            sys.stdout.write(usage)
            return _flushed(0)
        if name not in names:
            what = "unknown command '%s'" % name if name else "no command"
            raise SystemExit(_complain("%s; there are %s" % (what, ", ".join(names)), 2))
        return _flushed(names[name](words[3:]) or 0)
    except Wrong as error:
        return _complain(str(error), 1)
    except BrokenPipeError:
        return _closed_pipe()
    except SystemExit as error:
        return _flushed(error.code or 0)
    except KeyboardInterrupt:
        return 130


def _complain(text, code):
    sys.stdout.flush()
    _boot.complain(ME, text)
    return code


def _say(text):
    """Prints a line in which no character controls a terminal."""
    print(_boot.shown(text))


def _flushed(code):
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _closed_pipe()
    return code


def _closed_pipe():
    """Sends standard output to /dev/null when nobody reads it any more, so that the interpreter does not fail on it
    again at its end. Returns the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 1


def _parser(name, usage, description):
    parser = Parser(prog="%s %s" % (ME, name), usage="%s %s %s" % (ME, name, usage),
                    description=description, allow_abbrev=False)  # fmt: skip
    parser.add_argument("--version", action="version", version=_boot.core().__version__)
    return parser


def _seconds(least):
    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not least <= value < 1e9:
            raise argparse.ArgumentTypeError("needs seconds, %g or more, not '%s'" % (least, text))
        return value

    return read


# ---- run and attach ----


def attach(words):
    return run(["--attach"] + words, "attach")


def _run_parser(name):
    usage = {"run": "[options] program [args ...]", "attach": "[options] pid|name"}[name]
    parser = _parser(name, usage, "Records the memory of a program over time.")
    parser.add_argument("--python", action="store_true",
                        help="the program is a Python program: also record calls of @profile functions")
    parser.add_argument("--nopython", action="store_true", help="run a .py file like any other program")
    parser.add_argument("-T", "--interval", type=_seconds(0.001), default=0.1, metavar="SECONDS",
                        help="time between two samples (default: 0.1)")
    parser.add_argument("-C", "--include-children", action="store_true",
                        help="add the sizes of all child processes")
    parser.add_argument("-M", "--multiprocess", action="store_true",
                        help="record each child process separately")
    parser.add_argument("-E", "--exit-code", action="store_true", help="exit with the program's exit code")
    parser.add_argument("-a", "--attach", action="store_true", help="attach to a process that runs already")
    parser.add_argument("-t", "--timeout", type=_seconds(0), metavar="SECONDS",
                        help="stop recording after this time (default: never; with --attach: an hour)")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="write to FILE (default: mprofile_<YYYYMMDDhhmmss>.dat); NAME.lprof becomes a profile")
    parser.add_argument("--backend", choices=sorted(BACKENDS) + ["tracemalloc"], default="psutil",
                        help="psutil, posix: resident size; psutil_pss: shared pages divided among their "
                             "processes; psutil_uss: without shared pages (both are slow)")
    # what stands behind a program is the program's own; behind a process more options may stand
    parser.add_argument("program", nargs="*" if name == "attach" else argparse.REMAINDER)
    return parser


def run(words, name="run"):
    parser = _run_parser(name)
    options = parser.parse_args(words)
    if options.attach and name == "run":
        return run(words, "attach")
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        parser.error("a process to attach to must be given" if options.attach else
                     "a program to run must be given")
    if options.attach and len(program) > 1:
        parser.error("one process can be recorded at a time, not %s" % " and ".join(program))
    if options.backend == "tracemalloc":
        parser.error("tracemalloc sees only the process that it is in; choose another --backend")
    options.is_named = options.output is not None
    if not options.is_named:
        options.output = _free_name()
    elif _boot.core().refuses(ME, options.output, "profile" if _makes_profile(options) else "recording"):
        raise SystemExit(2)
    _say("%s: Sampling memory every %ss" % (ME, options.interval))
    return (_attach if options.attach else _run)(options, program)


def _free_name():
    """The file name of a recording that begins now. If that name is taken, the second is counted up."""
    at = time.time()
    while os.path.exists(time.strftime("mprofile_%Y%m%d%H%M%S.dat", time.localtime(at))):
        at += 1
    return time.strftime("mprofile_%Y%m%d%H%M%S.dat", time.localtime(at))


def _run(options, program):
    _say("running new process")
    python = options.python
    if program[0].endswith(".py") and not options.nopython:
        python = True
    command = _command_line(program)
    if not python:
        return _record_program(options, program, command)
    _say("running as a Python program...")
    interpreter = program.pop(0) if program[0].startswith("python") else sys.executable
    if not program:
        raise SystemExit(_complain("a script or module must follow '%s'" % interpreter, 2))
    with tempfile.TemporaryDirectory(prefix="clineprof-mem-") as folder:
        inner = os.path.join(folder, "inner.lprof")
        return _record_program(options, _under_ckernprof(options, interpreter, program, inner),
                               command, inner)


def _under_ckernprof(options, interpreter, program, inner):
    """The command that runs the program under ckernprof, which records the stays in @profile functions in `inner`."""
    launch = os.path.join(os.path.dirname(os.path.abspath(_boot.__file__)), "launch.py")
    every = min(options.interval, 0.01)
    target = program if program[0].endswith(".py") else ["-m"] + program
    return [interpreter, launch, "run", "ckernprof", "-l", "-q", "--no-config",
            "--timeline=%g" % every, "-o", inner] + target  # fmt: skip


def _command_line(words):
    return " ".join("'%s'" % word if " " in word or "\t" in word else word for word in words)


def _record_program(options, program, command, inner=None):
    sys.stdout.flush()
    recorder = _recorder(options, command)  # made before the program starts, as it fails if the file cannot be made
    try:
        process = subprocess.Popen(program)
    except OSError as error:
        recorder.remove()
        raise SystemExit(_complain("cannot run '%s': %s" % (program[0], error.strerror), 2)) from None
    code, interrupted = 0, False
    try:
        recorder.follow(process.pid, options.timeout, process)
    except KeyboardInterrupt:
        interrupted = True
        _let_end(process)
    recorder.end(_inner_stays(inner))
    if interrupted:
        return 130
    if options.exit_code and process.returncode is not None:
        code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        if code:
            _complain("the program ended with exit status %d" % process.returncode, code)
    return code


def _let_end(process):
    """Waits for the program to end after Ctrl-C. At a terminal Ctrl-C has also reached the program; if the program does
    not end within a second, the signal is sent to it."""
    try:
        for number, seconds in (None, 1), (signal.SIGINT, 5):
            if number is not None:
                process.send_signal(number)
            try:
                process.wait(seconds)
                return
            except subprocess.TimeoutExpired:
                pass
        _complain("process %d still runs; it is no longer recorded" % process.pid, 0)
    except KeyboardInterrupt:
        pass


def _inner_stays(inner):
    if inner is None or not os.path.exists(inner):
        return []
    try:
        return memfile.read(inner).stays
    except Wrong:
        return []


def _attach(options, program):
    _say("attaching to existing process, using hint: %s" % program[0])
    sys.stdout.flush()
    pid = int(program[0]) if program[0].isdigit() else _process_named(program[0])
    if not 0 < pid < 1 << 31:
        raise Wrong("there is no process %s" % program[0])
    recorder = _recorder(options, _command_of(pid) or _command_line(program))
    try:
        recorder.follow(pid, 3600 if options.timeout is None else options.timeout)
    except KeyboardInterrupt:
        pass
    recorder.end([])
    return 0


def _process_named(name):
    for pid in sorted(int(word) for word in os.listdir("/proc") if word.isdigit()):
        try:
            with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as file:
                if pid != os.getpid() and name in file.read():
                    return pid
        except OSError:
            continue
    raise Wrong("no process has '%s' in its name" % name)


def _command_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, encoding="utf-8", errors="replace") as file:
            return _command_line(file.read().rstrip("\0").split("\0"))
    except OSError:
        return None


def _recorder(options, command):
    return (ToProfile if _makes_profile(options) else ToText)(options, command)


def _makes_profile(options):
    return options.output.endswith(".lprof")


def _open_private(path, flags):
    """Opens a file that only its owner may read, because the recorded command line may hold secrets. Another user's
    symbolic link is refused, because it may lead to any file."""
    try:
        about = os.lstat(path)
    except OSError:
        about = None
    is_link = about is not None and stat.S_ISLNK(about.st_mode)
    if is_link and about.st_uid not in (0, os.geteuid()):
        raise OSError(errno.EPERM, "it is another user's symbolic link")
    return os.open(path, flags if is_link else flags | os.O_NOFOLLOW, 0o600)


class ToText:
    """Writes a recording as mprof does, while it is being made."""

    def __init__(self, options, command):
        self.options, self.command, self.path = options, command, options.output
        self.existed = options.is_named and os.path.exists(self.path)
        try:
            self.file = self._open()
        except FileExistsError:  # another recording has just taken the name
            self.path = _free_name()
            self.file = self._open()
        except OSError as error:
            raise Wrong("cannot write '%s': %s" % (self.path, error.strerror)) from None
        self.file.write("CMDLINE %s\n" % " ".join(command.split("\n")))
        self.sampler = None

    def _open(self):
        return open(self.path, "a" if self.options.is_named else "x", encoding="utf-8", errors="backslashreplace",
                    opener=_open_private)  # fmt: skip

    def remove(self):
        """Removes the file when nothing was recorded, unless the file existed before."""
        self.file.close()
        if not self.existed:
            os.unlink(self.path)

    def follow(self, pid, timeout, process=None):
        """Records until the process ends, the time is up, or Ctrl-C is pressed."""
        options = self.options
        try:
            self.sampler = _boot.core().Sampler(
                pid, options.interval, options.include_children or options.multiprocess,
                BACKENDS[options.backend])
        except OSError as error:
            self._complain_of_process(pid, error, process)
            return
        end = None if timeout is None else time.monotonic() + timeout
        self.sampler.start()
        while not self._is_over(process):
            left = WRITE_EVERY if end is None else min(end - time.monotonic(), WRITE_EVERY)
            if left <= 0:
                return
            self._wait(process, left)
            self.write()

    def _complain_of_process(self, pid, error, process):
        if process is not None and error.errno == errno.ESRCH:
            process.wait()  # the program has ended before the first sample
            return
        self.remove()
        if error.errno == errno.ESRCH:
            raise Wrong("there is no process %d" % pid)
        if error.errno in (errno.EACCES, errno.EPERM):
            raise Wrong("process %d cannot be read by this user: %s" % (pid, error.strerror))
        raise Wrong("process %d cannot be sampled: %s" % (pid, error.strerror))

    def _is_over(self, process):
        return self.sampler.error != 0 if process is None else process.poll() is not None

    @staticmethod
    def _wait(process, seconds):
        if process is None:
            time.sleep(min(seconds, 0.1))
            return
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass

    def write(self):
        options, write = self.options, self.file.write
        for at, sizes in self.sampler.take():
            size = sum(size for _, size in sizes) if options.include_children else sizes[0][1]
            write(memfile.sample_row(size / MIB, at))
            for pid, size in sizes[1:] if options.multiprocess else ():
                write(memfile.child_row(pid, size / MIB, at))
        self.file.flush()

    def end(self, stays):
        if self.sampler is not None:
            self.sampler.stop()
            self.write()
        for stay in stays:
            self.file.write(memfile.stay_row(stay))
        self.file.close()


class ToProfile(ToText):
    """Writes a .lprof file with a timeline at the end of the recording."""

    def __init__(self, options, command):
        super().__init__(options, command)
        self.file.close()
        if not self.existed:
            os.unlink(self.path)

    def remove(self):
        pass

    def write(self):
        pass

    def end(self, stays):
        if self.sampler is None:
            return
        self.sampler.stop()
        try:
            self.sampler.save(self.path, self.command)
        except OSError as error:
            raise Wrong("cannot write '%s': %s" % (self.path, error.strerror)) from None


# ---- recordings ----


def _last_or(words):
    if words:
        return memfile.chosen(words)
    files = memfile.known()
    if not files:
        raise Wrong("there is no recording (mprofile_*.dat) in this folder; 'clineprof mem run' makes one")
    _say("Using last profile data.")
    return [files[-1]]


def peak(words):
    parser = _parser("peak", "[options] [file ...]", "Prints the largest size.")
    parser.add_argument("--func", help="the largest size while this function ran; without child processes")
    parser.add_argument("profiles", nargs="*")
    options = parser.parse_args(words)
    for path in _last_or(options.profiles):
        recording = memfile.read(path)
        sizes = _sizes_during(recording, options.func)
        _say("%s\t%s MiB" % (path, "%.3f" % max(sizes) if sizes else "NaN"))
        for pid, samples in recording.children.items():
            _say("  Child %s\t\t\t%.3f MiB" % (pid, max(size for _, size in samples)))


def _sizes_during(recording, name):
    if name is None:
        return [size for _, size in recording.samples]
    spans = [(stay[1], stay[3]) for stay in recording.stays if stay[0] == name]
    return [size for at, size in recording.samples if any(a <= at <= b for a, b in spans)]


def show_list(words):
    _parser("list", "", "Lists the recordings in this folder, with their numbers.").parse_args(words)
    for number, path in enumerate(memfile.known()):
        t = path[len("mprofile_"):]
        _say("%d %s %s:%s:%s %s/%s/%s" % (number, path, t[8:10], t[10:12], t[12:14], t[6:8], t[4:6],
                                           t[:4]))  # fmt: skip


def _remove(files, dry_run):
    if dry_run:
        _say("Files to be removed: ")
    for path in files:
        if dry_run:
            _say(path)
            continue
        try:
            os.remove(path)
        except OSError as error:
            raise Wrong("cannot remove '%s': %s" % (path, error.strerror)) from None


def remove(words):
    parser = _parser("rm", "[options] number|file ...", "Removes recordings.")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    parser.add_argument("files", nargs="*", metavar="number|file")
    options = parser.parse_args(words)
    if not options.files:
        parser.error("a recording to remove must be given (number or file)")
    _remove(memfile.chosen(options.files), options.dry_run)


def clean(words):
    parser = _parser("clean", "[options]", "Removes all recordings in this folder.")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be removed")
    _remove(memfile.known(), parser.parse_args(words).dry_run)


# ---- plot ----


def _window(text):
    try:
        start, end = (float(word) for word in text.split(","))
    except ValueError:
        start = end = 0
    if not start < end:
        raise argparse.ArgumentTypeError("needs two ascending numbers with a comma between, not '%s'" % text)
    return start, end


def plot(words):
    parser = _parser("plot", "[options] [file ...]",
                     "Draws recordings with matplotlib or, if it is not installed, in the terminal. A page "
                     "(-o NAME.html) and a picture (-o NAME.svg) need no matplotlib.")  # fmt: skip
    parser.add_argument("-t", "--title", help="title of the picture")
    parser.add_argument("-n", "--no-function-ts", action="store_true", help="do not draw functions")
    parser.add_argument("-o", "--output", metavar="FILE", help="draw into FILE: .png, .svg, .html, ..")
    parser.add_argument("-w", "--window", type=_window, metavar="FROM,TO", help="draw only these seconds")
    parser.add_argument("-f", "--flame", action="store_true", help="draw functions as a flame graph")
    parser.add_argument("-s", "--slope", action="store_true", help="draw a trend line, and print its slope")
    parser.add_argument("--backend", help="matplotlib's backend to use")
    parser.add_argument("profiles", nargs="*")
    options = parser.parse_args(words)
    paths = _last_or(options.profiles)
    recordings = [memfile.read(path) for path in paths]
    from clineprof._mem import pictures

    try:
        pictures.plot(recordings, options)
    except pictures.NoBackend as error:
        parser.error(str(error))
