# SPDX-License-Identifier: MIT
from clineprof._middleware import KEY, NO_PAGE, TOLD, Settings, headers_of

_KEY = KEY.lower().encode()


class Middleware:
    def __init__(self, app, *settings):
        self.app, self._settings = app, Settings(*settings)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            for name, value in scope.get("headers", ()):
                if name == _KEY and self._settings.is_key(value):
                    return await self._with_key(scope, receive, send)
        return await self.app(scope, receive, send)

    async def _with_key(self, scope, receive, send):
        # an application may log what it receives
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name != _KEY]
        request = self._settings.begin(scope.get("method", ""), scope.get("path", ""))
        if type(request) is str:
            return await self.app(scope, receive, _telling_send(send, request))
        if self._settings.page:
            return await self._page(request, scope, receive, send)
        try:
            return await _Steps(request, self.app, scope, receive, _telling_send(send, request.name))
        finally:
            request.finish()

    async def _page(self, request, scope, receive, send):
        """Runs the whole request, drops the application's answer, and answers with the page."""
        async def drop(message):
            pass

        try:
            await _Steps(request, self.app, scope, receive, drop)
        finally:
            page = request.finish()
        await send({"type": "http.response.start", "status": 200 if page else 500,
                    "headers": [(name.lower(), value) for name, value in headers_of(page)]})  # fmt: skip
        await send({"type": "http.response.body",
                    "body": b"" if scope.get("method") == "HEAD" else page or NO_PAGE})  # fmt: skip


def _telling_send(send, text):
    """A send() that adds our header."""

    async def sends(message):
        if message["type"] == "http.response.start":
            header = TOLD.lower().encode(), text.encode()
            message = {**message, "headers": [*message.get("headers", ()), header]}
        await send(message)

    return sends


class _Steps:
    """Awaits what the function returns, and sets the variable only for its own steps: coroutines that await this object
    are not a part of the request."""

    def __init__(self, request, function, *arguments):
        self._request, self._call = request, (function, *arguments)

    def __await__(self):
        run = self._request.run
        steps = run(lambda: run(*self._call).__await__())
        value = error = None
        while True:
            try:
                if error is not None:
                    wanted = run(steps.throw, error)
                elif value is not None:
                    wanted = run(steps.send, value)
                else:
                    wanted = run(next, steps)
            except StopIteration as ended:
                return ended.value
            value = error = None
            try:
                value = yield wanted
            except GeneratorExit:
                run(steps.close)
                raise
            except BaseException as thrown:
                error = thrown
