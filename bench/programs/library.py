# SPDX-License-Identifier: MIT
"""Work for one module of the standard library, which is profiled as a whole.

The first argument is a factor for the work, the second the name of the module.
"""
import random
import sys

from common import sized, timed

random.seed(1)
WORDS = ["%d word" % random.randrange(500) for _ in range(2000)]


def work_json(json):
    json.encoder.c_make_encoder = None  # its own Python code
    data = {"a%d" % i: [i, i * 1.5, "x" * i, None, {"b": [True] * 5}] for i in range(60)}
    return lambda: json.dumps(data, indent=1)


def work_difflib(difflib):
    old, new = WORDS[:200], WORDS[3:150] + WORDS[160:210]
    return lambda: list(difflib.ndiff(old, new))


def work_ast(ast):
    tree = ast.parse(open(ast.__file__).read())
    return lambda: ast.unparse(tree)


def work_textwrap(textwrap):
    text = " ".join(WORDS[:500])
    return lambda: textwrap.fill(text, 60)


def work_pprint(pprint):
    data = {"k%d" % i: {"n": [i] * 7, "t": ("a", i), "s": "word " * 9} for i in range(40)}
    return lambda: pprint.pformat(data)


def work_statistics(statistics):
    numbers = [float(len(word)) for word in WORDS[:300]]
    return lambda: (statistics.stdev(numbers), statistics.median(numbers))


def work__pydecimal(decimal):
    return lambda: sum((decimal.Decimal(i) / 7 for i in range(200)), decimal.Decimal(0))


def work_fractions(fractions):
    return lambda: sum((fractions.Fraction(i, i + 3) for i in range(150)), fractions.Fraction(0))


def work_configparser(configparser):
    keys = "\n".join("key%d = %%(a)s value" % i for i in range(9))
    text = "\n".join("[s%d]\n%s\na = 1" % (i, keys) for i in range(20))

    def read():
        parser = configparser.ConfigParser()
        parser.read_string(text)
        return [parser.get(section, "key3") for section in parser.sections()]
    return read


def work__pydatetime(datetime):
    start = datetime.datetime(2000, 1, 1)
    return lambda: [(start + datetime.timedelta(days=i, hours=i)).isoformat() for i in range(300)]


def work_random(random):
    source = random.Random(3)
    return lambda: [(source.gauss(0, 1), source.choice(WORDS), source.sample(WORDS, 4)) for _ in range(200)]


def work_tokenize(tokenize):
    lines = open(tokenize.__file__, "rb").readlines()
    return lambda: list(tokenize.tokenize(iter(lines).__next__))


def repeat(work, seconds):
    from time import perf_counter
    end = perf_counter() + seconds
    while perf_counter() < end:
        work()


module = __import__(sys.argv[2])
timed(repeat, globals()["work_" + sys.argv[2]](module), 0.5 * sized(100) / 100)
