# SPDX-License-Identifier: MIT
"""Finds and reads config files. The option table (kernprof/cli/options.c) knows what the keys mean.

Reading TOML imports many modules of the standard library. So a file is parsed only if the name of a tool (clineprof or
line_profiler) is in it, and those modules are removed from sys.modules before the program runs.
"""
import os
import sys


class Wrong(Exception):
    """A fault in a config file, described in one line for the user."""


def load(table, named):
    """Returns (settings, warnings) for the table "kernprof" or "cli". A setting is (place, key, type, value, is it in a
    list?, is it line_profiler's?); later settings win. `named` is the file of --config, or None."""
    before = set(sys.modules)
    try:
        return _load(table, named)
    finally:
        _forget(set(sys.modules) - before)


def _load(table, named):
    warnings = []
    if named is not None:
        path, text = named, _read(named)
        _parse(path, text, True)
        found = [_table(path, text, tool, table, warnings, True) for tool in TOOLS]
        widths = _widths(_table(path, text, "line_profiler", "show", [], True))
        if found == [None, None] and not warnings:
            warnings.append("%s has no table [tool.clineprof.%s]" % (path, table))
    else:
        theirs = _theirs(table, warnings)
        found = [theirs, _ours(table, warnings)]
        widths = _widths(_theirs("show", []))
    theirs, ours = (item or (None, {}) for item in found)
    ours_named = {_plain(key) for key in ours[1]}
    settings = [setting for setting in widths if "widths" not in ours_named]
    for place, keys, lenient in (*theirs, True), (*ours, False):
        for key, value in keys.items():
            if not (lenient and _plain(key) in ours_named):
                settings.extend(_settings(place, key, value, lenient))
    return settings, warnings


def _widths(found):
    """The setting `widths` that is equal to line_profiler's table of column widths: a list of one setting, or empty."""
    place, keys = found or (None, {})
    widths = keys.get("column_widths")
    if not isinstance(widths, dict):
        return []
    names = {"perhit": "per-hit"}
    known = ["%s=%d" % (names.get(name, name), width) for name, width in widths.items()
             if name in WIDTHS and type(width) is int and 0 < width <= 200]  # fmt: skip
    return list(_settings(place, "widths", ",".join(known), True)) if known else []


WIDTHS = "line", "hits", "time", "perhit", "percent"
TOOLS = "line_profiler", "clineprof"
ALIASES = {"verbose": "view"}


def _plain(key):
    key = key.replace("_", "-")
    return ALIASES.get(key, key)


def _settings(place, key, value, lenient):
    in_list = isinstance(value, list)
    for item in value if in_list else [value]:
        if isinstance(item, bool):
            kind, text = 0, "yes" if item else "no"
        elif isinstance(item, int):
            kind, text = 1, str(item)
        elif isinstance(item, float):
            kind, text = 2, repr(item)
        elif isinstance(item, str):
            kind, text = 3, item
        else:
            raise Wrong("%s: key '%s' cannot be %s" % (place, key, _kind(item)))
        if "\0" in text:
            raise Wrong("%s: key '%s' holds a zero byte" % (place, key))
        yield place, key, kind, os.fsencode(text), in_list, lenient


def _kind(item):
    return "a table" if isinstance(item, dict) else "a " + type(item).__name__


# ---- which file ----


def _ours(table, warnings):
    """The table of the nearest config file that has one of clineprof's tables, from the working directory upwards:
    (place, keys), or None."""
    for folder in _folders():
        for name in "clineprof.toml", "pyproject.toml":
            path = os.path.join(folder, name)
            own = name == "clineprof.toml" and os.path.exists(path)
            text = _read(path) if own else _read_if_there(path)
            if text is None:
                continue
            found = _table(path, text, "clineprof", table, warnings, True)
            if found is not None:
                return found
            if own and not warnings:
                warnings.append("%s has no table [tool.clineprof.%s]" % (path, table))
    return None


def _theirs(table, warnings):
    """The table of line_profiler's config file: (place, keys), or None. The file is found as line_profiler finds it:
    the one that LINE_PROFILER_RC names, or else the nearest one that can be read, whatever is in it."""
    named = os.environ.get("LINE_PROFILER_RC")
    if named:
        text = _read_if_there(named)
        if text is None:
            warnings.append("cannot read '%s', which LINE_PROFILER_RC names" % named)
            return None
        return _table(named, text, "line_profiler", table, warnings, False)
    for folder in _folders():
        for name in "line_profiler.toml", "pyproject.toml":
            path = os.path.join(folder, name)
            text = _read_if_there(path)
            if text is not None:
                return _table(path, text, "line_profiler", table, warnings, False)
    return None


def of_line_profiler(table, named):
    """The keys of [tool.line_profiler.TABLE] in this file or, if `named` is None, in the file that line_profiler would
    read; {} if there is none."""
    if named is None:
        found = _theirs(table, [])
    else:
        found = _table(named, _read(named), "line_profiler", table, [], True)
    return found[1] if found else {}


def _folders():
    try:
        folder = os.getcwd()
    except OSError:
        return
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="strict") as file:
            return file.read()
    except OSError as error:
        raise Wrong("cannot read '%s': %s" % (path, error.strerror)) from None
    except UnicodeDecodeError as error:
        raise Wrong("%s: not UTF-8 at byte %d" % (path, error.start)) from None


def _read_if_there(path):
    try:
        return _read(path) if os.path.isfile(path) else None
    except Wrong:
        return None


# ---- what is in it ----


def _table(path, text, tool, table, warnings, complain):
    """(place, keys) of [tool.TOOL.TABLE]; None if the file has no table of the tool. `complain`: raise Wrong for a file
    that is no TOML, and for an unknown table of clineprof."""
    if tool not in text:
        return None
    parsed = _parse(path, text, complain)
    if parsed is None:
        line = "%s is not read: Python before 3.11 needs the package tomli" % path
        if tool + "." + table in text and line not in warnings:
            warnings.append(line)
        return None
    tools = parsed.get("tool")
    own = tools.get(tool) if isinstance(tools, dict) else None
    if not isinstance(own, dict):
        return None
    if complain and tool == "clineprof":
        for name in own:
            if name not in ("kernprof", "cli"):
                raise Wrong(
                    "%s: unknown table [tool.clineprof.%s]; there are kernprof and cli" % (path, name)
                )
    keys = own.get(table, {})
    if not isinstance(keys, dict):
        raise Wrong("%s: tool.%s.%s must be a table" % (path, tool, table))
    return "%s, [tool.%s.%s]" % (path, tool, table), keys


def _parse(path, text, complain):
    """The file as a dict. If the file is no TOML, raises Wrong (`complain`) or returns {}. Returns None if this Python
    has no module that reads TOML."""
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            return None
    try:
        return tomllib.loads(text)
    except ValueError as error:
        if complain:
            raise Wrong("%s: %s" % (path, error)) from None
        return {}


def _forget(names):
    """Removes these modules from sys.modules. Modules in C stay, because they can be initialised only once."""
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and file.endswith(".py"):
            del sys.modules[name]
