# SPDX-License-Identifier: MIT
"""What runs in the target: counts for some seconds, writes a profile, and gives every function its own code back."""
import _thread
import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
import types

from clineprof import _boot
from clineprof._attach import loaded
from clineprof._boot import files

PATIENCE = 5.0  # seconds that a fork waits for our thread to end, or a message to the user's side for its being read
MOST_NAMED = 8  # functions that are named in one sentence
LONGEST = 3600.0  # seconds that one wait may last; the system's functions take no arbitrary numbers

# Where a body can be suspended: how the names of its attributes begin.
SUSPENDED = {types.GeneratorType: "gi", types.CoroutineType: "cr", types.AsyncGeneratorType: "ag"}

# Monitoring changes code objects in place, so bodies that run already count from their next line.
IN_PLACE = sys.version_info >= (3, 12)

_lock = _thread.allocate_lock()  # protects _open
_open = None  # the Window of this process; None: there is none
_follows_forks = False


def begin_soon(path, mask, page=None):
    """Does what begin() does, when the code that has called us has ended. Then the program's signals come again that
    are held, and what their handlers raise reaches the program.

    mask: that of the signals, as it was before some were held
    page: the address of a page with a line of Python that has called us, which goes then; None: there is none
    """
    def later():
        try:
            if page is not None:
                _boot.core().unmap_page(page)
            begin(path)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    if not _boot.core().call_soon(later):
        page = None  # it holds code that runs now
        later()


def begin(path):
    """Opens the window that the request in this file describes, and returns. A request whose deadline is past does
    nothing. A thread of its own ends the window. Never raises."""
    talk = None
    try:
        os.rename(path, path + ".taken")  # another signal may have this request found again meanwhile
        with open(path + ".taken", encoding="utf-8") as file:
            request = json.load(file)
        if time.time() > request["deadline"]:
            _remove(request["folder"])
            return
        talk = Talk(request["socket"])
        if request.get("dump"):
            talk.say("stacks", _stacks())
            talk.close()
        else:
            _begin(request, talk)
    except Exception as error:
        if talk is not None:
            talk.say("failed", _told(error))
            talk.close()


def begin_own(request):
    """Opens a window that the program's own signal asks for. Messages go to standard error. Never raises."""
    if _open is not None:
        return  # the window that is open goes on
    talk = Messages()
    try:
        _begin(request, talk)
    except Exception as error:
        talk.say("failed", _told(error))


def _told(error):
    if type(error) is RuntimeError:
        return str(error).removeprefix("clineprof: ")
    return "%s: %s" % (type(error).__name__, error)


def _begin(request, talk):
    global _open, _follows_forks
    with _lock:
        if _open is not None:
            raise RuntimeError("another clineprof counts in this process, for %.0f more seconds" % _open.left())
        window = _open = Window(request, talk)
    try:
        if not _follows_forks:
            os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forget_in_child)
            _follows_forks = True
        window.start()
        caller = _forks_for()
        if caller is None:
            window.start_keeper()
        else:
            _start_behind(caller, caller.f_lasti)
    except BaseException as error:
        window.drop(("failed", _told(error)))
        if not isinstance(error, Exception):
            raise  # Ctrl-C is the program's


def _before_fork():
    """os.fork() warns of threads, which the program may not have without us."""
    if _open is not None:
        _open.stop_keeper()


def _after_fork():
    """Starts the thread again. os.fork() looks for threads when it is about to return, so the main thread starts ours
    behind that. A fork in another thread warns in any case."""
    if _open is None:
        return
    caller = sys._getframe(1)
    if _thread.get_native_id() == os.getpid():
        _start_behind(caller, caller.f_lasti)
    else:
        _open.start_keeper()


def _forks_for():
    """The frame that has called os.fork(), if we were called while our functions around that fork run. None: we were
    not."""
    frame = sys._getframe()
    while frame is not None and frame.f_code not in (_before_fork.__code__, _after_fork.__code__):
        frame = frame.f_back
    return frame and frame.f_back


def _start_behind(caller, place):
    """Starts the thread when the frame has left this instruction, the call of os.fork(). Other tools' functions for
    forks may run before that."""
    frame = sys._getframe()
    while frame is not None and frame is not caller:
        frame = frame.f_back
    is_forking = frame is not None and frame.f_lasti == place
    if not is_forking or not _boot.core().call_soon(lambda: _start_behind(caller, place)):
        if _open is not None:
            _open.start_keeper()


def _forget_in_child():
    """A fork has no thread that would end the window. So it ends here, and its counts are the parent's."""
    global _open, _lock
    _lock = _thread.allocate_lock()
    window, _open = _open, None
    if window is not None:
        window.leave_to_parent()


class Talk:
    """The target's end of the socket. Nothing here raises: the user's side may go away at any time."""

    def __init__(self, path):
        self.socket = None
        try:
            with _above_the_standard():
                self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            self.socket.settimeout(PATIENCE)  # the user's side may be stopped
            self.socket.connect(path)
        except OSError:
            self.close()

    def say(self, what, content):
        try:
            if self.socket is not None:
                self.socket.sendall(json.dumps({what: content}).encode() + b"\n", socket.MSG_NOSIGNAL)
        except OSError:
            self.close()

    def asks_to_end(self):
        """Reads what the user's side says: does it ask to end the window?"""
        try:
            if self.socket.recv(4096):
                return True
        except OSError:
            pass
        self.close()
        return False

    def is_open(self):
        return self.socket is not None

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class Messages:
    """Takes the place of Talk where nobody listens: tells the program's user what happens."""

    lacks = ()

    def say(self, what, content):
        if what == "began":
            self.lacks = content["lacks"]
        for text in self.lacks if what == "wrote" else ():
            _boot.complain("clineprof", text)
        text = {"wrote": "Wrote profile results to '%s'", "failed": "nothing is profiled: %s"}.get(what)
        if text is not None:
            _boot.complain("clineprof", text % content)

    def is_open(self):
        return False

    def close(self):
        pass


class Window:
    """Some seconds in which the functions that the request names are counted."""

    def __init__(self, request, talk):
        self.request, self.talk = request, talk
        self.end = time.monotonic() + request["seconds"]
        self.profiler = self.selection = self.recording = None
        self.done = _thread.allocate_lock()  # held from the moment that the window is being ended
        self.keeper = self.kept = 0  # the system's number of the thread that ends the window; 0: there is none
        with _above_the_standard():
            self.wakes, self.wake = os.pipe()  # what is written to the second one wakes the keeper, which then ends
        self.guard = _thread.allocate_lock()  # held while the pipe is closed, and while something is written to it

    def left(self):
        return max(0.0, self.end - time.monotonic())

    # ---- begin ----

    def start(self):
        request = self.request
        core = _boot.core()
        self.few_tensors = core.few_tensors() if request["tensors"] else ""
        # A process that was profiled before keeps its tracer.
        light = "light" if request["light"] else None
        in_place = IN_PLACE and core.tracer() is None and not light
        self.profiler = core.Profiler(tracer="monitoring" if in_place else light, memory=request["memory"],
                                      source=request["source"], leaks=request["leaks"],
                                      cpu=request["cpu"], counters=request["counters"],
                                      tensors=request["tensors"])
        self.recording = core.Recording(self.profiler, request["outfile"], files.program_rights(), _boot.command(sys.orig_argv))
        self.selection = loaded.select(self.profiler, request["targets"], request["exclude"])
        atexit.register(self.finish)
        self.end = time.monotonic() + request["seconds"]
        self.talk.say("began", {"functions": self.profiler._function_count,
                                "unmatched": self.selection.unmatched() if request["targets"] else [],
                                "lacks": self._lacks()})  # fmt: skip

    def _lacks(self):
        """What the profile will lack, in sentences."""
        lacks = []
        waiting = [] if IN_PLACE and not self.request["light"] else list(map(_place_of, _waiting(self.profiler)))
        if waiting:
            more = len(waiting) - MOST_NAMED
            lacks.append("these ran already and count from their next call: %s%s" % (
                ", ".join(waiting[:MOST_NAMED]), " and %d more" % more if more > 0 else ""))  # fmt: skip
        if self.few_tensors:
            lacks.append(self.few_tensors)
        if self.profiler._lacks_raw:
            lacks.append("the process had several threads, so what C code asks of PyMem_RawMalloc is not in allocated "
                         "and leaks")
        return lacks

    # ---- end ----

    def start_keeper(self):
        """Starts the thread that ends the window, unless there is one, or the window is being ended."""
        if self.keeper == 0 and not self.done.locked():
            self.keeper = -1
            _thread.start_new_thread(self._keep, ())

    def stop_keeper(self):
        """Ends the thread, and waits until the system knows of none. If it ends the window just now, it may do so."""
        if self.keeper in (0, _thread.get_native_id()):
            return
        with self.guard:
            if self.wake >= 0:
                os.write(self.wake, b"x")
        end = time.monotonic() + PATIENCE
        while self.keeper != 0 or os.path.exists("/proc/self/task/%d" % self.kept):
            if time.monotonic() > end:
                return
            time.sleep(0.0001)

    def _keep(self):
        """Ends the window when its time is over, or when the user's side asks for it."""
        self.keeper = self.kept = _thread.get_native_id()
        while self.left() > 0:
            sources = select.poll()
            sources.register(self.wakes, select.POLLIN)
            if self.talk.is_open():
                sources.register(self.talk.socket, select.POLLIN)
            left = self.left()
            ready = [descriptor for descriptor, _ in sources.poll(min(left, LONGEST) * 1000)]
            if self.wakes in ready:
                os.read(self.wakes, 1)
                break
            # Where nothing came, all that was left has passed, whatever the program's clock says: it may stand still.
            if self.talk.asks_to_end() if ready else left <= LONGEST:
                self.end = 0
        if self.left() == 0:
            self.finish()
        self.keeper = 0

    def finish(self):
        """Writes the profile and closes the window; done once, by the thread above or at the end of the process."""
        is_first = self.done.acquire(False)
        self.stop_keeper()
        if not is_first:
            return
        path = failure = None
        try:
            self.profiler.stop()
            self.recording.gather(_boot.command(sys.orig_argv))
            path = files.save(self.recording.outfile or self.request["outfile"], self.recording.render("lprof"),
                              self._complain)
            self.recording.close(path is not None)
        except Exception as error:
            failure = _told(error)
        self.drop(("failed", failure) if failure is not None else ("wrote", path) if path is not None else None)

    def _complain(self, text):
        self.talk.say("failed", text)

    def drop(self, last=None):
        """Closes the window without writing. The last message is sent when all is as it was before the window."""
        global _open
        atexit.unregister(self.finish)
        self.forget()
        self._clean()
        with _lock:
            if _open is self:
                _open = None
        if last is not None:
            self.talk.say(*last)
        self.talk.close()

    def _clean(self):
        """Removes the folder of the request. The user's side does it, too, unless it was killed: just now, perhaps."""
        folder = self.request.get("folder")
        if folder is not None and not self.request["outfile"].startswith(folder):
            _remove(folder)

    def leave_to_parent(self):
        self.done.acquire(False)
        atexit.unregister(self.finish)
        if self.profiler is not None:
            self.profiler.after_fork()
        self.forget()
        self.talk.close()

    def forget(self):
        with self.guard:
            os.close(self.wakes)
            os.close(self.wake)
            self.wakes = self.wake = -1
        recording, self.selection, self.recording = self.recording, None, None
        if recording is not None:
            recording.drop()
        del recording  # before the profiler, whose counts the live file holds
        profiler, self.profiler = self.profiler, None
        if profiler is not None:
            profiler.close()


@contextlib.contextmanager
def _above_the_standard():
    """A program that has closed its standard error may write there all the same. So what is opened meanwhile is never
    number 0 to 2."""
    taken = []
    try:
        while not taken or taken[-1] <= 2:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        os.close(taken.pop())  # it may be the last number that is free
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)


def _remove(folder):
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        pass


def _waiting(profiler):
    """The selected code of bodies that began without probes and go on without being counted, until the function is
    called again."""
    found = {code for code, _ in loaded.running() if profiler._selects_plain(code)}
    if sys.version_info >= (3, 11):  # on 3.10 a suspended body counts from its next step
        for thing in gc.get_objects():
            prefix = SUSPENDED.get(type(thing))
            if prefix is not None and profiler._selects_plain(getattr(thing, prefix + "_code")):
                if getattr(thing, prefix + "_frame") is not None:  # None: it has ended
                    found.add(getattr(thing, prefix + "_code"))
    return sorted(found, key=lambda code: (code.co_filename, code.co_firstlineno))


def _place_of(code):
    return "%s (%s:%d)" % (_name_of(code), os.path.basename(code.co_filename), code.co_firstlineno)


def _stacks():
    """What each thread executes now: [[thread's name, [[file, line, function], ..]], ..], the innermost call first."""
    names = {}
    threading = sys.modules.get("threading")
    if threading is not None:
        names.update((thread.ident, thread.name) for thread in threading.enumerate())
    # All doors lead to the main thread. gevent gives threads other numbers. No variable here may hold this frame, which
    # would keep the program's frames until the next collection.
    for main in [thread for thread, frame in sys._current_frames().items() if frame.f_code is _stacks.__code__]:
        names.setdefault(main, "MainThread")
    return [[names.get(thread, "thread %d" % thread),
             [[frame.f_code.co_filename, frame.f_lineno, _name_of(frame.f_code)] for frame in frames]]
            for thread, frames in loaded.stacks()]  # fmt: skip


def _name_of(code):
    return getattr(code, "co_qualname", code.co_name)
