# SPDX-License-Identifier: MIT
"""Profiles single requests to a server, for clineprof.middleware. Here is what wsgi.py and asgi.py both need.

A profiled request has a Profiler of its own, which counts only where the context variable _CURRENT holds it. The
variable is set for each step of the application, and so in the contexts that the application copies meanwhile. What
stands around the middleware in the same thread or task does not see it.
"""
import _thread
import atexit
import contextvars
import hmac
import itertools
import os
import time

from clineprof import _boot, _formats
from clineprof._attach import loaded
from clineprof._boot import files
from clineprof._profile import loads

KEY = "X-Clineprof-Key"  # of requests
TOLD = "X-Clineprof"  # of responses
NO_PAGE = b"clineprof could not make the page; standard error says why\n"

_CURRENT = contextvars.ContextVar("clineprof.middleware")
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/*"  # this package's files
_numbers = itertools.count(1)
_busy = _thread.allocate_lock()  # held while a request is profiled
_open = None  # this request; None: there is none


def _forget_in_child():
    """The counts of a request belong to the process that has received it."""
    global _busy, _open
    _busy = _thread.allocate_lock()
    request, _open = _open, None
    if request is not None:
        request.leave_to_parent()


class Settings:
    """The key, and what is done with requests that have it."""

    def __init__(self, key, folder, targets, exclude, format, page, options):
        endings = {name: ending for ending, name in _formats.ENDINGS.items()}
        format = "html" if page else format
        if format not in endings:
            raise ValueError("format is one of %s, not %r" % (", ".join(sorted(endings)), format))
        self.format, self.ending, self.page = format, endings[format], page
        self.folder = os.path.abspath(os.fspath(folder))  # servers may change their folder later
        self.targets, self.exclude = list(targets), [*exclude, _OWN]
        self.options = {"memory": False, **options}
        self._key = key

    def is_key(self, given):
        """given: bytes"""
        return hmac.compare_digest(given, self._key)

    def holds_key(self, text):
        return os.fsdecode(self._key) in text

    def complain(self, text):
        try:
            _boot.complain("clineprof", text.replace(os.fsdecode(self._key), "..."))
        except Exception:
            pass  # standard error may be closed, or be the program's own object

    def begin(self, method, path):
        """Returns a Request, or a str: why the request is not profiled."""
        global _open
        if not _busy.acquire(False):
            return "not profiled: another request is being profiled"
        title = "%s %s" % (method, path)
        request = _open = Request(self, method if self.holds_key(title) else title)
        try:
            request.start()
            return request
        except BaseException as error:
            request.drop()
            if not isinstance(error, Exception):
                raise  # Ctrl-C is the program's
            self.complain("the request is not profiled: %s" % _told(error))
        return "not profiled: standard error says why"


def headers_of(page):
    """The headers of the page, or of the message where there is none: a list of pairs of bytes."""
    kind = b"text/html; charset=utf-8" if page else b"text/plain; charset=utf-8"
    return [(b"Content-Type", kind), (b"Content-Length", b"%d" % len(page or NO_PAGE)), (b"Cache-Control", b"no-store")]


def _told(error):
    if isinstance(error, OSError) and error.filename is not None:
        return "cannot write '%s': %s" % (os.fsdecode(error.filename), error.strerror)
    return str(error).removeprefix("clineprof: ") or type(error).__name__


class Request:
    """One profiled request, from its first step to the file."""

    def __init__(self, settings, title):
        self.settings, self.title = settings, title
        # the last part is for processes of other containers and machines, which may have the same number
        self.name = "%s-%d-%d-%s%s" % (time.strftime("%Y-%m-%dT%H%M%S"), os.getpid(), next(_numbers),
                                       os.urandom(4).hex(), settings.ending)
        self.profiler = self.selection = None
        self.ended = _thread.allocate_lock()  # held from the moment that the request is being ended

    def start(self):
        settings = self.settings
        self.profiler = _boot.core().Profiler(started=False, context=_CURRENT, **settings.options)
        self.selection = loaded.select(self.profiler, settings.targets, settings.exclude)
        for target in self.selection.unmatched() if settings.targets else ():
            settings.complain("nothing that is loaded is called '%s'" % target)
        self.profiler.start()
        if self.profiler.displaced():
            raise RuntimeError("another profiler counts in this process")
        atexit.register(self.finish)

    def run(self, function, *arguments):
        """Calls the function as a part of the request."""
        token = _CURRENT.set(self.profiler)
        try:
            return function(*arguments)
        finally:
            _CURRENT.reset(token)

    def finish(self):
        """Ends the request, which is done once. Returns the page where that is the answer; None: there is none."""
        if not self.ended.acquire(False):
            return None
        try:
            content = contextvars.copy_context().run(self._content)  # libraries leave variables behind
            if self.settings.page:
                return content
            os.makedirs(self.settings.folder, exist_ok=True)
            files.replace(os.path.join(self.settings.folder, self.name), content)
        except Exception as error:
            self.settings.complain("the profile of a request is lost: %s" % _told(error))
        finally:
            self.drop()
        return None

    def _content(self):
        self.profiler.stop()
        if self.profiler.displaced():
            self.settings.complain("another profiler has begun to count during a request, whose profile ends there")
        content = self.profiler.render("lprof", command=self.title)
        profile = loads(content)
        for function in profile.functions:
            if any(map(self.settings.holds_key, (function.file, function.name, *function.texts().values()))):
                raise RuntimeError("the source of %s holds the key" % function.name)
        if self.settings.format == "lprof":
            return content
        return _formats.render(self.settings.format, profile,
                               {"unit": 1e-6, "raw_times": False, "memory": profile.has_memory})

    def drop(self):
        """Gives everything up."""
        global _open
        self.ended.acquire(False)
        atexit.unregister(self.finish)
        self.selection = None
        if self.profiler is not None:
            self.profiler.close()
        _open = None
        _busy.release()

    def leave_to_parent(self):
        self.ended.acquire(False)
        atexit.unregister(self.finish)
        if self.profiler is not None:
            self.profiler.after_fork()
            self.profiler.close()


os.register_at_fork(after_in_child=_forget_in_child)
