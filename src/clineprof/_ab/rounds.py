# SPDX-License-Identifier: MIT
"""Runs two programs in turn under ckernprof, for `clineprof ab`."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from clineprof import _boot
from clineprof._report import terminal

ME = "clineprof ab"
NAMES = "old", "new"


class Rounds:
    """A number of rounds, in each of which both programs run once.

    options: the words of ckernprof's options
    selects: do they say what is profiled? If not, it is the program itself
    words: the words behind all options, which name the two programs
    keep: the folder that keeps the profiles; None: they are removed at the end

    After `run` has returned 0, `files` has the paths of the old program's profiles, then those of the new one's;
    `titles` names the programs.
    """

    def __init__(self, options, selects, words, count, keep):
        self.options, self.selects, self.count, self.keep = options, selects, count, keep
        self.programs = _programs(words)
        self.titles = [" ".join(map(_boot.core().quoted, program)) for program in self.programs or ()]
        self.files = []
        self.folder = None

    def run(self):
        """Returns 0, or an exit code after one line of complaint."""
        if self.programs is None:
            return _complain("two programs must be given behind all options: old.py new.py, or old.py arguments -- "
                             "new.py arguments", 2)  # fmt: skip
        for program in self.programs:
            if not _is_there(program[0]):
                return _complain("there is no program '%s'" % program[0], 2)
        try:
            self.folder = self._make_folder()
        except OSError as error:
            return _complain("cannot make the folder '%s': %s" % (error.filename, error.strerror), 2)
        try:
            signal.signal(signal.SIGTERM, _stop)
            return self._run_all()
        except KeyboardInterrupt as stop:
            return _complain("interrupted%s" % self._kept(), 128 + (stop.args[0] if stop.args else signal.SIGINT))

    def _make_folder(self):
        if self.keep is None:
            return tempfile.mkdtemp(prefix="clineprof-ab-")
        os.makedirs(self.keep, exist_ok=True)
        return self.keep

    def _run_all(self):
        """Every second round begins with the new program, so that a drift of the machine, which grows warm or busy,
        falls on both sides alike."""
        for number in range(self.count):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                code = self._run_one(number, side)
                if code:
                    return code
        _show_progress("")
        self.files = [self._path(number, side) for side in (0, 1) for number in range(self.count)]
        return 0

    def _path(self, number, side):
        return os.path.join(self.folder, "%s-%d.lprof" % (NAMES[side], number + 1))

    def _run_one(self, number, side):
        path = self._path(number, side)
        title = "run %d of %d of %s" % (number + 1, self.count, self.titles[side])
        if os.path.exists(path):
            return _complain("'%s' exists; name another folder with --keep" % path, 2)
        _show_progress(title)
        try:
            status = subprocess.call(self._command(side, path), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        except OSError as error:
            return _complain("cannot run ckernprof: %s" % error.strerror, 2)
        if status != 0:
            how = "exit status %d" % status if status > 0 else "signal %d" % -status
            return _complain("%s ended with %s%s" % (title, how, self._kept()), status if status > 0 else 128 - status)
        if not os.path.exists(path):
            return _complain("%s made no profile%s" % (title, self._kept()), 1)
        return 0

    def _command(self, side, path):
        """The words that run a program once."""
        program = self.programs[side]
        chosen = [] if self.selects or program[0].startswith("-c") else ["-p", _target(program)]
        words = ["-l", *chosen, *self.options, "-o", path, *program]
        python = _boot.core().interpreter(["ckernprof", *words], True, sys.executable)
        launch = os.path.join(os.path.dirname(os.path.abspath(_boot.__file__)), "launch.py")
        return [python, launch, "run", "ckernprof", *words]

    def _kept(self):
        """Keeps the profiles that there are. Returns the end of a message that says so."""
        if not os.listdir(self.folder):
            return ""
        self.keep = self.folder
        return "; the profiles so far are kept in '%s'" % self.folder

    def end(self, code):
        """Removes the profiles, unless they are kept. Returns the exit code. If the comparison has failed, the profiles
        are kept, and one line says where."""
        if self.files and code == 1 and self.keep is None:
            return _complain("the profiles are kept in '%s'" % self.folder, code)
        if self.keep is None and self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
        return code


def _stop(number, _frame):
    """Ends the command as Ctrl-C does, so that the program that runs is ended, too."""
    raise KeyboardInterrupt(number)


def _complain(text, code):
    _show_progress("")
    _boot.complain(ME, text)
    return code


def _show_progress(text):
    """Replaces the line of progress, if standard error is a terminal. A longer line could not be removed again."""
    if sys.stderr.isatty():
        room = shutil.get_terminal_size().columns - 1
        sys.stderr.write("\r\x1b[K" + (terminal.crop(_boot.shown(text), room, "...") if text else ""))
        sys.stderr.flush()


def _programs(words):
    """The words of the two programs, or None. Two words are two programs, and each may have arguments in it; else the
    words of the first end at "--"."""
    if words.count("--") == 1:
        at = words.index("--")
        programs = [words[:at], words[at + 1:]]
    else:
        programs = [_split(word) for word in words] if len(words) == 2 else []
    return programs if len(programs) == 2 and all(program not in ([], ["-m"], ["-c"]) for program in programs) else None


def _split(word):
    """A program and its arguments from one word, which a shell was given in quotes."""
    import shlex

    if os.path.exists(word):
        return [word]
    try:
        return shlex.split(word)
    except ValueError:  # a quote is missing; then it is a strange name
        return [word]


def _is_there(word):
    """Is it an option, or a file that ckernprof finds? It looks in PATH, too. If the new program were missing, its
    first run would say so only after a whole run of the old one."""
    folders = [] if "/" in word else os.get_exec_path()
    return word.startswith("-") or os.path.exists(word) or any(
        os.path.isfile(os.path.join(folder, word)) for folder in folders)


def _target(program):
    """What selects the program's own code, as a value of -p."""
    if program[0].startswith("-m"):
        return program[0][2:] or program[1]
    return program[0]
