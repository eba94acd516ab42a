# SPDX-License-Identifier: MIT
"""An interpreter of a small language, with all its functions profiled: tokens, a parser, an evaluator and a report. Its
mix of short functions, dispatch, strings and dicts is that of everyday programs.
"""
import re
from collections import namedtuple

from common import profile, sized, timed

Token = namedtuple("Token", "kind text")
PATTERN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(.))")
BINDING = {"+": 10, "-": 10, "*": 20, "/": 20, "%": 20}


class Failure(Exception):
    pass


class Tokens:
    @profile
    def __init__(self, items):
        self.items = items
        self.at = 0

    @profile
    def peek(self):
        if self.at < len(self.items):
            return self.items[self.at]
        return Token("end", "")

    @profile
    def take(self):
        token = self.peek()
        self.at += 1
        return token

    @profile
    def expect(self, text):
        token = self.take()
        if token.text != text:
            raise Failure("expected %r, found %r" % (text, token.text))
        return token


@profile
def classify(match):
    number, name, symbol = match.groups()
    if number is not None:
        return Token("number", number)
    if name is not None:
        return Token("name", name)
    return Token("symbol", symbol)


@profile
def tokenize(line):
    items = []
    for match in PATTERN.finditer(line):
        token = classify(match)
        items.append(token)
    return Tokens(items)


@profile
def parse_statement(tokens):
    name = tokens.take()
    if name.kind != "name":
        raise Failure("expected a name, found %r" % name.text)
    tokens.expect("=")
    value = parse_expression(tokens, 0)
    if tokens.peek().kind != "end":
        raise Failure("left over: %r" % tokens.peek().text)
    return ("set", name.text, value)


@profile
def parse_expression(tokens, least):
    left = parse_prefix(tokens)
    while True:
        power = BINDING.get(tokens.peek().text, -1)
        if power <= least:
            return left
        sign = tokens.take().text
        right = parse_expression(tokens, power)
        left = ("binary", sign, left, right)


@profile
def parse_prefix(tokens):
    token = tokens.take()
    if token.kind == "number":
        return ("number", float(token.text))
    if token.kind == "name":
        if tokens.peek().text == "(":
            return parse_call(tokens, token.text)
        return ("name", token.text)
    if token.text == "(":
        inner = parse_expression(tokens, 0)
        tokens.expect(")")
        return inner
    if token.text == "-":
        return ("negate", parse_prefix(tokens))
    raise Failure("unexpected %r" % token.text)


@profile
def parse_call(tokens, name):
    tokens.expect("(")
    arguments = [parse_expression(tokens, 0)]
    while tokens.peek().text == ",":
        tokens.take()
        arguments.append(parse_expression(tokens, 0))
    tokens.expect(")")
    return ("call", name, arguments)


@profile
def fold(node):
    """The tree with its constant parts evaluated."""
    if node[0] == "binary":
        left, right = fold(node[2]), fold(node[3])
        if left[0] == right[0] == "number" and right[1]:
            return ("number", OPERATORS[node[1]](left[1], right[1]))
        return ("binary", node[1], left, right)
    if node[0] == "call":
        return ("call", node[1], [fold(argument) for argument in node[2]])
    return node


@profile
def add(left, right):
    return left + right


@profile
def subtract(left, right):
    return left - right


@profile
def multiply(left, right):
    return left * right


@profile
def divide(left, right):
    if right == 0:
        raise Failure("division by zero")
    return left / right


@profile
def remainder(left, right):
    if right == 0:
        raise Failure("division by zero")
    return left % right


OPERATORS = {"+": add, "-": subtract, "*": multiply, "/": divide, "%": remainder}


class Evaluator:
    @profile
    def __init__(self):
        self.values = {}
        self.functions = {"max": max, "min": min, "clamp": self.clamp, "mean": self.mean}

    @profile
    def clamp(self, value, low, high):
        if value < low:
            return low
        return high if value > high else value

    @profile
    def mean(self, *values):
        total = 0.0
        for value in values:
            total += value
        return total / len(values)

    @profile
    def run(self, statement):
        _, name, value = statement
        result = self.evaluate(value)
        self.values[name] = result
        return result

    @profile
    def evaluate(self, node):
        kind = node[0]
        if kind == "number":
            return node[1]
        if kind == "name":
            return self.look_up(node[1])
        if kind == "negate":
            return -self.evaluate(node[1])
        if kind == "binary":
            left = self.evaluate(node[2])
            right = self.evaluate(node[3])
            return OPERATORS[node[1]](left, right)
        return self.call(node[1], node[2])

    @profile
    def look_up(self, name):
        try:
            return self.values[name]
        except KeyError:
            raise Failure("unknown name %r" % name) from None

    @profile
    def call(self, name, arguments):
        function = self.functions.get(name)
        if function is None:
            raise Failure("unknown function %r" % name)
        return function(*[self.evaluate(argument) for argument in arguments])


@profile
def write_line(number):
    """Line `number` of the input. Lines vary, but are the same in every run; one in 16 has a fault."""
    name = "v%d" % (number % 12)
    seed = (number * 2654435761) % 65536
    if seed % 16 == 0:
        return "%s = %d / (3 - 3)" % (name, seed)
    if seed % 3 == 0:
        return "%s = clamp(%d %% 17, 2, 3 * 4) + mean(1, %d, 2.5)" % (name, seed, seed % 7)
    return "%s = (%d + 4 * 2) / -(1 + %d) - max(%d, 10) * 0.5" % (name, seed, seed % 5, seed % 31)


@profile
def process(line, evaluator, failures):
    try:
        kind, name, value = parse_statement(tokenize(line))
        return evaluator.run((kind, name, fold(value)))
    except Failure as failure:
        failures[str(failure)] = failures.get(str(failure), 0) + 1
        return None


@profile
def format_row(name, value):
    return "%-8s %14.3f" % (name, value)


@profile
def report(evaluator, failures, results):
    rows = [format_row(name, value) for name, value in sorted(evaluator.values.items())]
    rows.append("-" * 23)
    for text, count in sorted(failures.items()):
        rows.append("%4d x %s" % (count, text))
    known = [result for result in results if result is not None]
    rows.append("mean of %d: %.3f" % (len(known), sum(known) / len(known)))
    return "\n".join(rows)


@profile
def main(count):
    evaluator, failures, results = Evaluator(), {}, []
    for number in range(count):
        line = write_line(number)
        results.append(process(line, evaluator, failures))
    return report(evaluator, failures, results)


timed(main, sized(9_000))
