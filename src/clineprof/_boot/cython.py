# SPDX-License-Identifier: MIT
"""Finds out about functions that Cython has compiled: where their source is, and whether they tell of their lines.

A module that was compiled with line tracing calls a function of the interpreter for it, so its file holds that
function's name. Cython puts a path into code objects that is mostly relative to the folder where it was run.
"""
import os
import sys

from clineprof._boot.targets import MODULE, dict_of, home_of, is_class, stdlib

re = stdlib("re")
TELLS = b"PyMonitoring_FireLineEvent" if sys.version_info >= (3, 13) else b"PyThreadState_EnterTracing"
LITERALS = re.compile(r'#[^\n]*|"""(?:\\.|[^\\])*?"""|' r"'''(?:\\.|[^\\])*?'''"
                      r'|"(?:\\.|[^"\\\n])*"|' r"'(?:\\.|[^'\\\n])*'", re.DOTALL)
CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
CODE = type(is_class.__code__)
told = {}  # {path of a module: does it tell of its lines?}
NO_FUNCTION = r"(?!extern\b|struct\b|enum\b|union\b|fused\b|packed\b|cppclass\b)"
OPENS = re.compile(
    r"(?P<indent>[ \t]*)(?:"
    r"(?:cdef[ \t]+|cpdef[ \t]+)?class[ \t]+(?P<cls>\w+)"
    r"|(?:async[ \t]+)?def[ \t]+(?P<name>\w+)[ \t]*\("
    rf"|(?:cdef|cpdef)[ \t]+{NO_FUNCTION}(?:\([^)]*\)[ \t]*)?[^=#(]*?(?P<cname>\w+)[ \t]*\()")


def is_function(thing):
    """Is the object a function of Cython's? Its type has one of these names in every module that Cython makes."""
    return type(thing).__name__ in ("cython_function_or_method", "fused_cython_function")


def place_of(function):
    """(code, file in the code, path or that file, text or None, qualified name, first line, last line if there is no
    text, does it tell of its lines?). None for an object that only looks like a function of Cython's."""
    code = code_of(function)
    if code is None:
        return None
    module = sys.modules.get(function.__module__)
    path, text = source_of(code.co_filename, module)
    return (code, code.co_filename, path, text, function.__qualname__, code.co_firstlineno, last_line(code),
            tells_lines(module))


def code_of(function):
    """Its code; None if it stands in no file, as what Cython itself adds to classes, "(tree fragment)"."""
    code = getattr(function, "__code__", None)
    return code if type(code) is CODE and not code.co_filename.startswith("(") else None


def last_line(code):
    return max([line for _, _, line in code.co_lines() if line] or [code.co_firstlineno])


def text_of(module, name):
    """A text that the module has under this name, such as its __file__; None if it has none, or is no module. A module
    may have a __getattr__, which is the program's code."""
    text = vars(module).get(name) if type(module) is MODULE else None
    return text if type(text) is str else None


def file_of(module):
    return text_of(module, "__file__")


def tells_lines(module):
    """Was the module compiled with line tracing? Yes, if its file cannot be read."""
    path = file_of(module)
    if path is not None and path not in told:
        try:
            with open(path, "rb") as file:
                told[path] = TELLS in file.read()
        except (OSError, ValueError):
            pass
    return told.get(path, True)


def source_of(code_file, module):
    """The path of the source file, and its text in UTF-8. (code_file, None) if it is not found."""
    for path in places(code_file, file_of(module)):
        try:
            with open(path, "rb") as file:
                return os.path.abspath(path), in_utf8(file.read())
        except (OSError, ValueError):
            pass
    return code_file, None


def in_utf8(text):
    coding = next(filter(None, map(CODING.match, text.splitlines()[:2])), None)
    try:
        return text.decode(coding[1].decode()).encode() if coding else text
    except (LookupError, ValueError):
        return text


def places(code_file, module_file):
    """Where the source may be: beside the compiled module, where the path continues from a folder above it, or from the
    working folder or one of sys.path."""
    if os.path.isabs(code_file):
        yield code_file
    elif module_file is not None:
        folder = os.path.dirname(os.path.abspath(module_file))
        yield os.path.join(folder, os.path.basename(code_file))
        for _ in code_file.split(os.sep):
            yield os.path.join(folder, code_file)
            folder = os.path.dirname(folder)
    for folder in ["", *[entry for entry in sys.path if type(entry) is str]]:
        yield os.path.join(folder, code_file)


def functions_in(module):
    """The functions of a module that Cython has compiled, for each source file:
    [(file in the code, path, text or None, functions)]. A function is (code or None, qualified name, first line, last
    line if there is no text). An empty list for other modules."""
    found = {}
    for thing in filter(code_of, members(module)):
        code, name = thing.__code__, thing.__qualname__
        if name.rpartition(".")[2] != code.co_name and not code.co_name.startswith("__pyx_"):
            name = code.co_name  # a wrapper has the name of what it wraps; a variant of a fused function does not
        known = found.setdefault(code.co_filename, {})
        known[code.co_firstlineno] = code, name, code.co_firstlineno, last_line(code)
    return [(code_file, *with_source(code_file, module, known)) for code_file, known in found.items()]


def with_source(code_file, module, known):
    """(path, text or None, the known functions and those that the text defines, with their full names)"""
    path, text = source_of(code_file, module)
    for name, first in defined_in(text.decode("utf-8", "replace")) if text is not None else []:
        code, own, *_ = known.get(first, (None, name))
        if name.endswith(own):
            known[first] = code, name, first, first
    return path, text, [known[first] for first in sorted(known)]


def why_unseen(target, missing):
    """Why a target of -p is not profiled that names something in a loaded module of Cython's; None for other targets.
    `missing`: why lines of such modules are never seen now, or None."""
    for module in list(sys.modules.values()):
        if type(module) is MODULE and (file_of(module) or "").endswith(".so") and names(target, module):
            if missing is not None:
                return f"it {missing}"
            return None if tells_lines(module) else (
                "it was compiled by Cython; its lines are seen when it is compiled with linetrace=True and the C macro "
                "CYTHON_TRACE=1")
    return None


def names(target, module):
    """Does the target name the module, something in it, or its source file?"""
    named = (target + ".").startswith((text_of(module, "__name__") or "") + ".")
    codes = [code for code in map(code_of, members(module)) if code is not None]
    return codes != [] and (named or any(
        os.path.realpath(target) == os.path.realpath(source_of(file, module)[0])
        for file in {code.co_filename for code in codes} if os.path.basename(file) == os.path.basename(target)))


def members(module):
    """The functions of Cython's that are defined in the module and its classes."""
    own = text_of(module, "__name__")
    waiting, seen = list(vars(module).values()), set()
    for thing in waiting:
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if is_function(thing):
            waiting.append(vars(thing).get("__wrapped__"))
            if thing.__module__ == own:
                yield thing
        elif type(thing) in (classmethod, staticmethod):
            waiting.append(thing.__func__)
        elif type(thing) is property:
            waiting += [thing.fget, thing.fset, thing.fdel]
        elif is_class(thing) and is_of(thing, own):
            waiting.extend(dict_of(thing).values())


def is_of(thing, own):
    """Is it a class of the module with this name?"""
    try:
        return home_of(thing) == own
    except AttributeError:
        return False


def defined_in(text):
    """[(qualified name, first line)] of the functions that a text of Cython's language defines, `cdef` ones too. A
    function begins at its first decorator."""
    text = LITERALS.sub(blank, text)
    lines, found, above, start = text.split("\n"), [], [], 0
    for number, line in enumerate(lines):
        bare = line.lstrip()
        if bare and bare[0] not in ")]}#":  # brackets that end a header stand where the header does
            while above and above[-1][0] >= len(line) - len(bare):
                above.pop()
        match = OPENS.match(line)
        if match and (not match["cname"] or is_definition(text, start + match.end())):
            name, kind = match["cls"] or match["name"] or match["cname"], "." if match["cls"] else ".<locals>."
            if not match["cls"]:
                found.append(("".join(part for _, part in above) + name, decorated_from(lines, number)))
            above.append((len(match["indent"]), name + kind))
        start += len(line) + 1
    return found


def blank(match):
    """A comment or string without what may look like code in it."""
    return "#" if match[0].startswith("#") else '""' + "\n" * match[0].count("\n")


def is_definition(text, at):
    """Does the statement whose bracket opens before `at` define a function? Then a colon stands behind the bracket."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return ":" in text[at:].partition("\n")[0].partition("#")[0]


def decorated_from(lines, at):
    """The number of the first line of the function at lines[at], which may be that of a decorator above it."""
    first = at
    while at > 0 and lines[at - 1].strip() and not OPENS.match(lines[at - 1]):
        at -= 1
        if lines[at].lstrip().startswith("@"):
            first = at
    return first + 1
