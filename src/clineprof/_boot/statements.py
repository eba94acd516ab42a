# SPDX-License-Identifier: MIT
"""Finds the lines that belong to one statement, for --by-statement. Is imported before the program's folder is on
sys.path."""
import array
import ast
import warnings


def starts_in(text):
    """For each line of the text, from line 0 on, the line on which its statement begins: the bytes of an array of C
    ints. The header of a compound statement counts as one statement; the statements in its body are separate. An
    indented text is taken as the body of a function. Returns no bytes if the text cannot be parsed."""
    indented = text[:1] in (b" ", b"\t")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(b"if 1:\n" + text if indented else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
    first = first_lines(tree, text.count(b"\n") + 3)
    if indented:
        first = array.array("i", [max(line - 1, 0) for line in first[1:]])
    return first.tobytes()


def first_lines(tree, count):
    first = array.array("i", range(count + 2))
    for node in ast.walk(tree):
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            begin, end = beginning(node), header_end(node)
            for line in range(begin, min(end + 1, len(first))):
                first[line] = begin
    return first


def beginning(node):
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def header_end(node):
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    return beginning(body[0]) - 1 if body else node.end_lineno
