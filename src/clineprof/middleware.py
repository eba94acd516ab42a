# SPDX-License-Identifier: MIT
"""Profiles single requests of a WSGI or ASGI application: those that hold a secret key in a header."""
import os

_VARIABLE = "CLINEPROF_MIDDLEWARE_KEY"


def wsgi(app, folder="clineprof-requests", *, targets=(), exclude=(), format="html", page=False, **options):
    """Returns a WSGI application that does what `app` does, and profiles the requests with the header X-Clineprof-Key,
    if that holds the value of the environment variable CLINEPROF_MIDDLEWARE_KEY. Without the variable returns `app`
    itself.

    folder: where a file is written for each profiled request, whose name the response has in the header X-Clineprof.
        The folder is made if it is missing. A file that cannot be written is one message on standard error
    targets, exclude: what is profiled, lists as -p and --exclude take them. Without targets: all functions of files
        outside the standard library and site-packages
    format: of the file, as --format takes it: "html", "lprof", "speedscope", ..
    page: True: the answer to the request is the page, in the place of the application's; no file is written
    options: arguments of Profiler: memory (here it is False unless it is given), cpu, counters, ..

    One request at a time is profiled. Raises ValueError for an unknown format.
    """
    return _wrap("wsgi", app, folder, targets, exclude, format, page, options)


def asgi(app, folder="clineprof-requests", *, targets=(), exclude=(), format="html", page=False, **options):
    """Does for an ASGI 3 application what wsgi() does for a WSGI application. Scopes of other types than "http" are
    passed on."""
    return _wrap("asgi", app, folder, targets, exclude, format, page, options)


def _wrap(kind, app, *arguments):
    key = os.environb.get(_VARIABLE.encode())
    if not key:
        return app
    module = __import__("clineprof._middleware." + kind, fromlist=("Middleware",))
    return module.Middleware(app, key, *arguments)
