# SPDX-License-Identifier: MIT
"""Which lines belong to one statement, for --by-statement. Imported before the program's folder is on
sys.path."""
import array
import ast


def starts(path):
    """For each line of the file, from line 0, the line on which its statement begins, as the bytes of
    C ints. The lines of a compound statement's header are one; its body's statements are their own. No
    bytes when the file cannot be read or parsed."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
    first = array.array("i", range(len(text.splitlines()) + 2))
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            begin, end = beginning(node), header_end(node)
            for line in range(begin, min(end + 1, len(first))):
                first[line] = begin
    return first.tobytes()


def beginning(node):
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def header_end(node):
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    return beginning(body[0]) - 1 if body else node.end_lineno
