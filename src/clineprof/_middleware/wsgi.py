# SPDX-License-Identifier: MIT
from clineprof._middleware import KEY, NO_PAGE, TOLD, Settings, headers_of

_KEY = "HTTP_" + KEY.upper().replace("-", "_")


class Middleware:
    def __init__(self, app, *settings):
        self.app, self._settings = app, Settings(*settings)

    def __call__(self, environ, start_response):
        given = environ.get(_KEY)
        if given is None or not self._settings.is_key(given.encode("latin-1", "replace")):
            return self.app(environ, start_response)
        del environ[_KEY]  # an application may log what it receives
        request = self._settings.begin(environ.get("REQUEST_METHOD", ""), _path_of(environ))
        if type(request) is str:
            return self.app(environ, _telling(start_response, request))
        if self._settings.page:
            return self._page(request, environ, start_response)
        try:
            parts = request.run(self.app, environ, _telling(start_response, request.name))
        except BaseException:
            request.finish()
            raise
        return (_SizedParts if hasattr(parts, "__len__") else _Parts)(parts, request)

    def _page(self, request, environ, start_response):
        """Runs the whole request, drops the application's answer, and answers with the page."""
        try:
            request.run(self._exhaust, environ)
        finally:
            page = request.finish()
        start_response("200 OK" if page else "500 Internal Server Error", [
            (name.decode(), value.decode()) for name, value in headers_of(page)])
        return [] if environ.get("REQUEST_METHOD") == "HEAD" else [page or NO_PAGE]

    def _exhaust(self, environ):
        parts = self.app(environ, lambda status, headers, exc_info=None: lambda data: None)
        try:
            for _ in parts:
                pass
        finally:
            if hasattr(parts, "close"):
                parts.close()


def _path_of(environ):
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    return path.encode("latin-1", "replace").decode("utf-8", "replace")


def _telling(start_response, text):
    """A start_response that adds our header."""

    def start(status, headers, exc_info=None):
        try:
            headers = [*headers, (TOLD, text)]
            return start_response(status, headers) if exc_info is None else start_response(status, headers, exc_info)
        finally:
            exc_info = None  # its traceback has this frame

    return start


class _Parts:
    """The parts of a profiled response. The request ends when the server closes them, or drops them."""

    def __init__(self, parts, request):
        self._parts, self._request = parts, request
        self._steps = None

    def __iter__(self):
        self._steps = self._request.run(iter, self._parts)
        return self

    def __next__(self):
        return self._request.run(next, self._steps)

    def close(self):
        try:
            if hasattr(self._parts, "close"):
                self._request.run(self._parts.close)
        finally:
            self._request.finish()

    def __del__(self):
        self._request.finish()


class _SizedParts(_Parts):
    """Servers send the length of a response that has one part."""

    def __len__(self):
        return len(self._parts)
