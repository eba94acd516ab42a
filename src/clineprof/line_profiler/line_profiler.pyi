# SPDX-License-Identifier: MIT
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import IO, Any

from clineprof import LineProfiler as LineProfiler
from clineprof import LineStats as LineStats
from clineprof import load_ipython_extension as load_ipython_extension

__all__ = [
    "LineProfiler", "LineStats", "__version__", "get_code_block", "get_column_widths",
    "is_generated_code", "load_ipython_extension", "load_stats", "main", "show_func", "show_text",
]  # fmt: skip

__version__: str

_Path = str | bytes | PathLike[str] | PathLike[bytes]
_Config = str | PathLike[str] | bool | None
_Rows = Sequence[tuple[int, int, float]]

def get_code_block(filename: _Path, lineno: int) -> list[str]: ...
def get_column_widths(config: _Config = False) -> Mapping[str, int]: ...
def is_generated_code(filename: str) -> bool: ...
def load_stats(file: _Path, /, *files: _Path) -> LineStats: ...
def main() -> None: ...
def show_func(
    filename: str,
    start_lineno: int,
    func_name: str,
    timings: _Rows,
    unit: float,
    output_unit: float | None = None,
    stream: IO[str] | None = None,
    stripzeros: bool = False,
    rich: bool = False,
    *,
    config: _Config = None,
) -> None: ...
def show_text(
    stats: Mapping[tuple[str, int, str], _Rows],
    unit: float,
    output_unit: float | None = None,
    stream: IO[str] | None = None,
    stripzeros: bool = False,
    details: bool = True,
    summarize: bool = False,
    sort: bool = False,
    rich: bool = False,
    *,
    config: _Config = None,
) -> None: ...
