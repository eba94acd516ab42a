# SPDX-License-Identifier: MIT
"""`from clineprof import profile`: a decorator that may stay in a program for good.

While `profile` is off, it costs nothing: it returns a function as it is, and only sys and os are imported. What is
needed only while it is on is imported within functions: ending.py writes the profile at the end, together.py is for
programs of several processes, schedule.py is for profiling by steps.
"""
import _thread
import builtins
import os
import sys

OUTPUT = "profile_output"
WRITE = {"lprof": True, "text": True, "timestamped_text": True, "stdout": True}
SHOW = {
    "sort": True, "stripzeros": True, "rich": True, "details": False, "summarize": True, "memory": True,
    "output_unit": None,
}  # fmt: skip
FALSE = ("", "0", "off", "f", "false", "n", "no")  # values of an environment variable that mean no
NOTHING = object()  # stands for an argument that was not given, as None may be given


class GlobalProfiler:
    """The type of `profile`. Marks functions and `with` blocks, and the windows in which they count.

    `profile` is on when the environment has CLINEPROF=1 or LINE_PROFILE=1, when --line-profile is among the
    program's arguments, after enable(), and under `ckernprof -l`, whose profiler it then is. All this is checked
    once, when `profile` is first used. While `profile` is off, every method does nothing.

    At the end of the process the profile is printed and written to files, as line_profiler does it. Under ckernprof,
    ckernprof does that. Times in a snapshot are in nanoseconds, sizes in bytes; a text names its units.

    >>> from clineprof import profile
    >>> profile.enable()
    >>> @profile
    ... def add(numbers):
    ...     total = 0
    ...     for number in numbers:
    ...         total += number
    ...     return total
    >>> add(range(3))
    3
    >>> [function] = profile.snapshot().functions
    >>> function.name, function["hits"]
    ('add', [1, 4, 3, 1])

    enabled: True, False, or None before that was decided
    output_prefix: the beginning of the names of the files; by default "profile_output"
    setup_config: a dict of what switches `profile` on: environ_flags and cli_flags, lists of names
    write_config: a dict of what is written at the end: lprof, text, timestamped_text, stdout (bool)
    show_config: a dict of how text looks: sort, stripzeros, summarize, memory (bool) and output_unit
        (seconds per unit of times, None for 1e-6); rich and details (bool) are for the terminal. Files
        always have details and never colours. In these two dicts a missing key has its default; for a
        wrong value a message is printed, and the defaults are used
    light: exact hits and sampled times, at little cost (Python 3.11 and newer). CLINEPROF=light switches that on, too; it
        has an effect before `profile` is on
    source: whose text goes into the profile: "functions" (that of the selected functions), "files" (of each file with
        a selected function) or "none". It has an effect if it is set before `profile` is on
    """

    def __init__(self):
        self.enabled = None
        self.output_prefix = OUTPUT
        self.setup_config = {
            "environ_flags": ["CLINEPROF", "LINE_PROFILE"],
            "cli_flags": ["--line-profile", "--line_profile"],
        }
        self.write_config, self.show_config = dict(WRITE), dict(SHOW)
        self.source = "functions"
        self.light = False
        self._profile = None  # the Profiler; None until `profile` is on
        self._ending = None  # an ending.Ending, which does what is due at the end of the process; None under ckernprof
        self._schedule = None
        self._make_profile = None  # the class clineprof.Profile, once it is needed
        self._lock = _thread.RLock()  # several threads may use `profile` for the first time at once

    def __repr__(self):
        if self._profile is not None:
            files = self._ending.files() if self._ending is not None else []
            state = "%s, %s" % ("on" if self.enabled else "off for what comes", self._profile._summary)
            state += ", writes %s at the end" % ", ".join(files) if files else ""
        elif self.enabled is None:
            state = "not used so far"
        else:
            state = "off; CLINEPROF=1 in the environment or profile.enable() switches it on"
        return "<clineprof.profile: %s>" % state

    def __reduce__(self):
        return "profile"  # a copy is the same object; unpickled in another process, it is that process's `profile`

    # ---- on and off ----

    def enable(self, output_prefix=None):
        """Profiles functions that are decorated from now on. `output_prefix` is the beginning of the names of the
        files, which go to the present working directory.

        If clineprof cannot run here, as in another interpreter than CPython, one line on standard error says so, and
        `profile` stays off.
        """
        if output_prefix is not None:
            self.output_prefix = file_prefix(output_prefix)
        with self._lock:
            if self._profile is None and not self._take_launchers():
                self._start()
        self.enabled = self._profile is not None

    def disable(self):
        """Leaves functions that are decorated from now on as they are. Functions that are profiled stay profiled."""
        self.enabled = False

    def _is_on(self):
        if self.enabled is None:
            if sys.is_finalizing():
                self.disable()
            elif self._take_launchers():
                self.enabled = True
            elif self._is_wanted():
                self.enable()
            else:
                self.disable()
        return self.enabled

    def _has_profile(self):
        """Is there a profiler? After disable() there still is, for what was decorated before."""
        return self._is_on() or self._profile is not None

    def _is_wanted(self):
        """Does the environment, or an argument of the program, switch `profile` on?"""
        flags = self.setup_config
        values = [os.environ.get(name, "").strip().lower() for name in flags["environ_flags"]]
        self.light = self.light or "light" in values
        return any(value not in FALSE for value in values) or any(flag in sys.argv for flag in flags["cli_flags"])

    def _take_launchers(self):
        """Takes ckernprof's profiler, which is `profile` in the builtins under ckernprof. ckernprof then prints and
        writes. False without ckernprof -l."""
        theirs = getattr(builtins, "profile", None)
        core = sys.modules.get("clineprof._core")  # under ckernprof the C module is loaded
        if core is None or not isinstance(theirs, core.Profiler):
            return False
        self._profile = theirs
        return True

    def _start(self):
        os.register_at_fork(after_in_child=self._lock._at_fork_reinit)
        try:
            from clineprof._global import ending

            self._profile, self._ending = ending.begin(self, self._is_wanted())
            self._make_profile = _profile_class()
        except (ImportError, RuntimeError, TypeError, ValueError) as error:
            from clineprof import _boot

            _boot.complain("clineprof", "%s; nothing is profiled" % error)

    def _setting(self, name):
        """The value of a setting, such as show_config, with the defaults for missing keys. For a wrong value a message
        is printed, and the default is used."""
        first = {"output_prefix": OUTPUT, "write_config": WRITE, "show_config": SHOW}[name]
        read = file_prefix if first is OUTPUT else lambda value: {**first, **value}
        try:
            return read(getattr(self, name))
        except (TypeError, ValueError):
            from clineprof import _boot

            _boot.complain("clineprof", "profile.%s cannot be %r; the default is used" % (name, getattr(self, name)))
            setattr(self, name, read(first))
            return read(first)

    # ---- what is profiled ----

    def __call__(self, function=NOTHING, *, stream=None, precision=None, backend=None):
        """Counts the lines of a function whenever it runs, and returns the very same object: a function or a method of
        any kind, a property, a partial, or a class with all its methods. What is defined in it counts, too: nested
        functions, lambdas, comprehensions, classes.

        Without a function it returns itself, so that @profile(precision=4) works, too. stream, precision and backend
        are options of memory_profiler's decorator, and have no effect here."""
        if function is NOTHING:
            if stream is not None and self._is_on():
                self._profile(stream=stream)  # warns that stream has no effect
            return self
        if self.enabled or (self.enabled is None and self._is_on()):
            self._profile(function)
            return function
        calls = _of_calls()
        return function if calls is None else calls(function)

    def block(self, name):
        """Returns a context manager. `with profile.block("name"):` counts the lines of the block as a function of this
        name. The block must be in the function or module that runs right now. Raises TypeError if name is no str.

        >>> from clineprof import profile
        >>> profile.enable()
        >>> with profile.block("squares"):
        ...     numbers = [n * n for n in range(3)]
        ...     total = sum(numbers)
        >>> function = profile.snapshot().functions[-1]
        >>> function.name, function["hits"]
        ('squares', [1, 1])
        """
        if type(name) is not str:
            raise TypeError("the name of a block is a str, not %r" % (name,))
        return self._profile.block(name) if self._is_on() else _of_calls() or OFF

    def __enter__(self):
        """Begins a block, as block() does. The block of `with profile:` has the name of the function that it is in."""
        if self._is_on():
            self._profile.__enter__()
        else:
            (_of_calls() or OFF).__enter__()
        return self

    def __exit__(self, *exception):
        if self._profile is not None:
            self._profile.__exit__(*exception)
        else:
            (_of_calls() or OFF).__exit__(*exception)

    # ---- what was counted ----

    def reset(self):
        """Drops what was counted so far. Functions that are profiled stay profiled."""
        if self._has_profile():
            self._profile.reset()

    def snapshot(self):
        """Returns what was counted so far as a clineprof.Profile, and changes nothing. While `profile` is off, the
        Profile has no functions. Raises RuntimeError if the interpreter is ending and `profile` has never been on."""
        if self._make_profile is None:
            self._make_profile = _profile_class()
        if self._has_profile():
            return self._make_profile(self._profile._whole())
        nothing = {"unit": 1e-9, "functions": [], "timeline": [], "meta": {"has_memory": False}}
        return self._make_profile(nothing)

    def dump(self, path):
        """Writes what was counted so far to a file, which `clineprof` and clineprof.load read. While `profile` is off,
        no file is written. Raises OSError if the file cannot be written; an earlier file then stays. Raises
        RuntimeError if the interpreter is ending."""
        path = os.fspath(path)
        if self._has_profile():
            _refuse_at_the_end()
            from clineprof._global import ending
            from clineprof._boot import files

            files.replace(path, ending.content(self._profile))

    def checkpoint(self):
        """Ends a round for `ckernprof --leaks=checkpoints`, which looks for lines that keep more memory after each
        round. Does nothing without that option."""
        if self._has_profile():
            self._profile.checkpoint()

    def show(self):
        """Prints and writes now what is printed and written at the end of the process, as write_config and show_config
        say. Does nothing under ckernprof. Raises RuntimeError if the interpreter is ending."""
        if self._ending is not None:
            _refuse_at_the_end()
            self._ending.show()

    # ---- windows ----

    def pause(self):
        """Stops counting in all threads of the process, until resume(). One resume() ends any number of pauses.
        Functions that are decorated meanwhile are profiled afterwards.

        >>> from clineprof import profile
        >>> profile.enable()
        >>> @profile
        ... def work():
        ...     return 1
        >>> profile.pause()
        >>> work()
        1
        >>> profile.resume()
        >>> work()
        1
        >>> profile.snapshot().functions[-1]["hits"]
        [1]
        """
        self._switch("pause")

    def resume(self):
        """Ends pause(): counting goes on."""
        self._switch("resume")

    def _switch(self, how):
        if self._has_profile():
            getattr(self._profile, how)()
        elif _of_calls() is not None:
            getattr(_of_calls(), how)()

    def schedule(self, *, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
        """Counts only in some of the steps that step() separates, as torch.profiler.schedule does. The first
        `skip_first` steps are left out. Then there are cycles of `wait` steps without profiling, `warmup` steps in
        which the functions run as they do when they are measured but nothing is counted, and `active` steps that count.
        `repeat` is the number of cycles; 0 goes on until the end. `skip_first_wait=1` leaves out the first cycle's
        `wait` steps.

        Outside of warm-up and active steps the functions run their own code, at no cost. All active steps add up.
        Raises ValueError for a number below 0, or active below 1.

        >>> from clineprof import profile
        >>> profile.enable()
        >>> @profile
        ... def work():
        ...     return sum(range(10))
        >>> profile.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> for step in range(10):
        ...     result = work()
        ...     profile.step()
        >>> profile.snapshot().functions[-1]["hits"]
        [2]
        """
        from clineprof._global.schedule import Schedule

        plan = Schedule(wait, warmup, active, repeat, skip_first, skip_first_wait)
        if self._has_profile():
            self._schedule = plan
            plan.apply(self._profile)

    def step(self):
        """Begins the next step of schedule(). Does nothing without a schedule."""
        if self._schedule is not None:
            self._schedule.step(self._profile)


class _Off:
    """The block of block() and of `with profile:` while `profile` is off."""

    __slots__ = ()

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None


OFF = _Off()


def file_prefix(prefix):
    """The beginning of a file's name as a str. Raises TypeError or ValueError if it cannot be one."""
    prefix = os.fsdecode(prefix)
    if "\0" in prefix:
        raise ValueError("no file can be called %r" % prefix)
    return prefix


def _refuse_at_the_end():
    """Raises RuntimeError when the interpreter is ending, as finalizers run when nothing can be imported, and no file
    opened, any more."""
    if sys.is_finalizing():
        raise RuntimeError("clineprof.profile: the interpreter is ending; call this earlier, in an "
                           "atexit function at the latest")  # fmt: skip


def _profile_class():
    _refuse_at_the_end()
    from clineprof._profile import Profile

    return Profile


def _of_calls():
    """The profiler of `ckernprof -b`, which counts calls and no lines; None without it."""
    theirs = getattr(builtins, "profile", None)
    return theirs if getattr(type(theirs), "_counts_calls", False) is True else None


profile = GlobalProfiler()
