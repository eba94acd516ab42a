# SPDX-License-Identifier: MIT
from collections.abc import Iterable
from os import PathLike
from typing import Any, TypeVar

_App = TypeVar("_App")

def wsgi(
    app: _App,
    folder: str | PathLike[str] = "clineprof-requests",
    *,
    targets: Iterable[str] = (),
    exclude: Iterable[str] = (),
    format: str = "html",
    page: bool = False,
    **options: Any,
) -> _App: ...
def asgi(
    app: _App,
    folder: str | PathLike[str] = "clineprof-requests",
    *,
    targets: Iterable[str] = (),
    exclude: Iterable[str] = (),
    format: str = "html",
    page: bool = False,
    **options: Any,
) -> _App: ...
