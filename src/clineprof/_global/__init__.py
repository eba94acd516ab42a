# SPDX-License-Identifier: MIT
"""`from clineprof import profile`: a decorator that may stay in a program for good.

Off, it costs nothing: a function comes back as it is, and nothing but sys and os is imported. So all
that is needed only when it is on stands in functions and is imported there: ending.py, what is written at the end;
together.py, programs of several processes; schedule.py, windows by steps.
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
USUAL = {"output_prefix": OUTPUT, "write_config": WRITE, "show_config": SHOW}
FALSE = ("", "0", "off", "f", "false", "n", "no")  # of an environment variable; all else is true
NOTHING = object()  # None may be what is marked


class GlobalProfiler:
    """What `profile` is. Marks functions, `with` blocks and the windows in which they count.

    It is on when the environment has CLINEPROF=1 or LINE_PROFILE=1, when --line-profile is among the
    program's arguments, after enable(), and under `ckernprof -l`, whose profiler it is then. Each is
    asked once, when `profile` is first used. Off, every method does nothing.

    At the end of the process what was counted is printed and written to files, as line_profiler
    does it (under ckernprof, that does it). Times in a snapshot are nanoseconds, sizes bytes; in text
    they have the unit that the text names.

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

    enabled: True, False, or None before it was decided
    output_prefix: what the names of the files begin with: "profile_output"
    setup_config: dict of what switches it on: environ_flags and cli_flags, lists of names
    write_config: dict of what is written at the end: lprof, text, timestamped_text, stdout (bool)
    show_config: dict of how text looks: sort, stripzeros, summarize, memory (bool) and output_unit
        (seconds per unit of times, None for 1e-6); rich and details (bool) are for the terminal, in
        files details always are and colours never. What is missing in one of the two is as it
        was at first; values that mean nothing are told, and lose nothing
    """

    def __init__(self):
        self.enabled = None
        self.output_prefix = OUTPUT
        self.setup_config = {
            "environ_flags": ["CLINEPROF", "LINE_PROFILE"],
            "cli_flags": ["--line-profile", "--line_profile"],
        }
        self.write_config, self.show_config = dict(WRITE), dict(SHOW)
        self._profile = None  # the Profiler behind it; None while there is none
        self._ending = None  # what is to be done at the end of the process: an ending.Ending
        self._schedule = None
        self._make_profile = None  # clineprof.Profile, once it is needed
        self._lock = _thread.RLock()  # several threads may be the first to use it

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
        return "profile"  # a copy is the same object; in another process it is that one's

    # ---- on and off ----

    def enable(self, output_prefix=None):
        """Functions that are decorated from now on are profiled. output_prefix: what the names of
        the files begin with, in the folder that is the working one now.

        What keeps clineprof from running (another interpreter than CPython) is told in one line on
        standard error, and it stays off.
        """
        if output_prefix is not None:
            from clineprof._boot import files

            self.output_prefix = files.file_prefix(output_prefix)
        with self._lock:
            if self._profile is None and not self._take_launchers():
                self._start()
        self.enabled = self._profile is not None

    def disable(self):
        """Functions that are decorated from now on are left alone; those that are profiled stay so."""
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
        """What was profiled before disable() stays so."""
        return self._is_on() or self._profile is not None

    def _is_wanted(self):
        """By the environment, or the program's arguments?"""
        flags = self.setup_config
        return any(
            os.environ.get(name, "").strip().lower() not in FALSE for name in flags["environ_flags"]
        ) or any(flag in sys.argv for flag in flags["cli_flags"])

    def _take_launchers(self):
        """Under ckernprof its profiler is `profile` among the builtins. That prints and writes."""
        theirs = getattr(builtins, "profile", None)
        core = sys.modules.get("clineprof._core")  # loaded, when it is the launcher's
        if core is None or not isinstance(theirs, core.Profiler):
            return False
        self._profile = theirs
        return True

    def _start(self):
        os.register_at_fork(after_in_child=self._lock._at_fork_reinit)
        try:
            from clineprof._global import ending

            self._profile, self._ending = ending.begin(self, USUAL, self._is_wanted())
            self._make_profile = _profile_class()
        except (ImportError, RuntimeError) as error:
            from clineprof import _boot

            _boot.complain("clineprof", "%s; nothing is profiled" % error)

    # ---- what is profiled ----

    def __call__(self, function=NOTHING, *, stream=None, precision=None, backend=None):
        """Has the function's lines counted, whenever it runs, and returns it, the very same object:
        a function or a method of any kind, a property, a partial, a class with all its methods. What is
        defined in it counts, too: nested functions, lambdas, comprehensions, classes.

        Without a function it returns itself, so that @profile(precision=4) marks, too: stream, precision
        and backend are memory_profiler's, and mean nothing here."""
        if function is NOTHING:
            if stream is not None and self._is_on():
                self._profile(stream=stream)  # which warns
            return self
        if self.enabled or (self.enabled is None and self._is_on()):
            self._profile(function)
            return function
        calls = _of_calls()
        return function if calls is None else calls(function)

    def block(self, name):
        """For `with profile.block("name"):`: the lines of the block are counted as a function of
        this name, in the function or module that runs right now. TypeError when name is no str.

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
        """`with profile:` is a block, which has the name of the function it stands in."""
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
        """Drops what was counted so far; what is profiled stays profiled."""
        if self._has_profile():
            self._profile.reset()

    def snapshot(self):
        """What was counted so far, as a clineprof.Profile; nothing changes by it. Off, it holds no
        functions. RuntimeError: the interpreter is ending, and it has never been on."""
        if self._make_profile is None:
            self._make_profile = _profile_class()
        if self._has_profile():
            return self._make_profile(self._profile.snapshot())
        nothing = {"unit": 1e-9, "functions": [], "timeline": [], "meta": {"has_memory": False}}
        return self._make_profile(nothing)

    def dump(self, path):
        """Writes what was counted so far to a file, which `clineprof` and clineprof.load read. Off,
        no file is written. OSError when it cannot be; one that was there stays then. RuntimeError:
        the interpreter is ending."""
        path = os.fspath(path)
        if self._has_profile():
            _refuse_at_the_end()
            from clineprof._global import ending
            from clineprof._boot import files

            files.replace(path, ending.content(self._profile))

    def checkpoint(self):
        """A round is over, for `ckernprof --leaks=checkpoints`, which looks for lines that keep more
        memory round by round. Without that nothing happens."""
        if self._has_profile():
            self._profile.checkpoint()

    def show(self):
        """Prints and writes now what else is printed and written at the end of the process, by
        write_config and show_config. Under ckernprof nothing. RuntimeError: the interpreter is ending,
        and has done it."""
        if self._ending is not None:
            _refuse_at_the_end()
            self._ending.show()

    # ---- windows ----

    def pause(self):
        """Nothing counts until resume(), in any thread of the process; one resume() ends any number of
        pauses. What is decorated meanwhile is profiled afterwards.

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
        """Ends pause(): what counts otherwise counts again."""
        self._switch("resume")

    def _switch(self, how):
        if self._has_profile():
            getattr(self._profile, how)()
        elif _of_calls() is not None:
            getattr(_of_calls(), how)()

    def schedule(self, *, wait, warmup, active, repeat=0, skip_first=0):
        """Counts only in some of the steps that step() separates, as torch.profiler.schedule has it:
        `skip_first` steps are left out; then come cycles of `wait` steps without profiling, `warmup`
        steps in which the functions run as they will be measured but nothing is counted, and
        `active` steps that count. repeat: how many cycles; 0 goes on to the end.

        Outside warmup and active steps the functions run their own code, at no cost. All active
        steps add up. ValueError for a number below 0, or active below 1.

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

        plan = Schedule(wait, warmup, active, repeat, skip_first)
        if self._has_profile():
            self._schedule = plan
            plan.apply(self._profile)

    def step(self):
        """The next step begins; see schedule(). Without a schedule nothing happens."""
        if self._schedule is not None:
            self._schedule.step(self._profile)


class _Off:
    """A block while `profile` is off."""

    __slots__ = ()

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None


OFF = _Off()


def _refuse_at_the_end():
    """Finalisers run when nothing can be imported any more, nor any file opened."""
    if sys.is_finalizing():
        raise RuntimeError("clineprof.profile: the interpreter is ending; ask before it does, in an "
                           "atexit function at the latest")  # fmt: skip


def _profile_class():
    _refuse_at_the_end()
    from clineprof._profile import Profile

    return Profile


def _of_calls():
    """The launcher's under `ckernprof -b`, which counts calls and no lines; else None."""
    theirs = getattr(builtins, "profile", None)
    return theirs if getattr(type(theirs), "_counts_calls", False) is True else None


profile = GlobalProfiler()
