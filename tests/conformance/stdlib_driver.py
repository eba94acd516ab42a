# SPDX-License-Identifier: MIT
"""Selects every function of some modules of the standard library and uses them.

    stdlib_driver.py GROUP        one of those below; `profile` is a builtin by then

profile() marks a function's code and returns the same object, so the modules keep their functions.
A group selects its modules, then works with them; it prints a short result.
"""

import functools
import gc
import importlib
import io
import os
import re
import sys
import tempfile
import types

METHODS = staticmethod, classmethod, functools.cached_property, property


def select(*names):
    """Marks every function of these modules and their classes. Names that are missing in this
    version of Python are left out. All are imported first: what another one, or a profiler, has
    imported before would otherwise make a difference."""
    for common in "traceback", "linecache", "tokenize", "inspect", "string":
        import_if_there(common)
    modules = [module for module in map(import_if_there, names) if module]
    for module in modules:
        select_in(vars(module), module.__name__)
    re.purge()


def import_if_there(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def select_in(names, module, inside=()):
    for thing in list(names.values()):
        if isinstance(thing, type) and thing.__module__ == module and thing not in inside:
            select_in(vars(thing), module, (*inside, thing))
        elif isinstance(thing, types.FunctionType) and thing.__module__ == module:
            profile(thing)
        elif isinstance(thing, METHODS) and isinstance(inside_of(thing), types.FunctionType):
            profile(thing)


def inside_of(method):
    for name in "__func__", "func", "fget":
        if hasattr(method, name):
            return getattr(method, name)


def text_of(name):
    return open(importlib.import_module(name).__file__, encoding="utf-8").read()


def code():
    select(
        "ast", "tokenize", "textwrap", "dis", "inspect", "keyword", "symtable", "codeop", "opcode"
    )
    import ast
    import codeop
    import dis
    import inspect
    import symtable
    import textwrap
    import tokenize

    source = text_of("bisect") + text_of("colorsys")
    tree = ast.parse(source)
    assert ast.dump(ast.parse(ast.unparse(tree))) == ast.dump(ast.parse(ast.unparse(tree)))
    ast.dump(tree, indent=2, include_attributes=True)
    ast.literal_eval("{'a': [1, -2.5, (3+4j)], 'b': {None, True}, 'c': b'x'}")
    for node in ast.walk(tree):
        ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
    print(tokenize.untokenize(tokenize.generate_tokens(io.StringIO(source).readline)) == source)
    out = io.StringIO()
    dis.dis(compile(text_of("colorsys"), "colorsys.py", "exec"), file=out)
    print(inspect.signature(textwrap.TextWrapper), inspect.getdoc(textwrap.fill)[:20])
    inspect.getsource(textwrap.TextWrapper)
    inspect.signature(functools.partial(open, mode="r")).bind("name").apply_defaults()
    inspect.getmembers(textwrap), inspect.classify_class_attrs(textwrap.TextWrapper)
    symtable.symtable(source, "x", "exec").get_children()[-1].get_identifiers()
    print([codeop.compile_command(text) is None for text in ("x = (", "x = 1", "if x:")])
    for width in 20, 33, 71:
        textwrap.shorten(textwrap.fill(textwrap.dedent(source[:3000]), width), width)
    textwrap.indent(source, "> ", lambda line: line.strip())


def texts():
    select(
        "difflib",
        "csv",
        "string",
        "html.parser",
        "html",
        "_markupbase",
        "shlex",
        "pprint",
        "re",
        "re._parser",
        "re._compiler",
        "sre_parse",
        "sre_compile",
        "fnmatch",
        "glob",
        "reprlib",
        "quopri",
        "base64",
        "gettext",
        "locale",
        "unicodedata",
        "stringprep",
        "cmd",
    )
    import base64
    import csv
    import difflib
    import fnmatch
    import html
    import html.parser
    import pprint
    import quopri
    import reprlib
    import shlex
    import string

    one, two = text_of("shlex").splitlines()[:90], text_of("cmd").splitlines()[:90]
    print(len(list(difflib.unified_diff(one, two))), len(list(difflib.ndiff(one[:25], two[:25]))))
    print(
        len(difflib.HtmlDiff().make_file(one[:12], two[:12])),
        difflib.get_close_matches("appel", ["ape", "apple", "peach"]),
    )
    for pattern in (
        r"(?P<a>x+)(?(a)y|z)",
        r"[^\W\d_]{2,5}?(?=end)|(?<!no)\bword\b",
        r"(a|bc|[d-f])*+" if sys.version_info > (3, 11) else "(a|b)*",
        r"(?ix: \s* # text" "\n" r")",
        "(?:é|ü)",
    ):
        re.compile(pattern), re.escape(pattern)
    for bad in "(", "[z-a]", "*x", "(?P<1>x)", "(?<=a+)b":
        try:
            re.compile(bad)
        except re.error as error:
            print(str(error)[:20])
    print(
        re.sub(r"(\w)(\d)", r"\2\g<1>", "a1 b2"), re.Scanner([("a", None), ("b", "B")]).scan("ab")
    )
    out = io.StringIO()
    writer = csv.DictWriter(out, ["a", "b"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows({"a": n, "b": f"x,{n}", "c": 0} for n in range(20))
    print(
        csv.Sniffer().sniff(out.getvalue()).delimiter,
        csv.Sniffer().has_header("a;b\n1;2\n3;4\n"),
        len(list(csv.DictReader(io.StringIO(out.getvalue())))),
    )

    class Collect(html.parser.HTMLParser):
        found = []

        @profile
        def handle_starttag(self, tag, attrs):
            self.found.append((tag, attrs))

    parser = Collect()
    parser.feed(
        "<!DOCTYPE html><p class=x title='a&amp;b'>text &lt;<br/><!-- no --><script>a<b</script>"
        "<a href=\"#\">&#233;&eacute;</a></p><?php ?><![CDATA[x]]>"
    )
    parser.close()
    print(parser.found[:2], html.unescape("&notit; &#x41; &amp"), html.escape("<'\">"))
    print(
        shlex.split("a 'b c' \"d\\\"e\" f\\ g # h", comments=True),
        shlex.join(["a b", "c"]),
        list(shlex.shlex("a=(b|c)&&d", punctuation_chars=True)),
    )
    nested = {n: [list(range(n)), {"key": "v" * n}, (n,), {n}] for n in range(12)}
    pprint.pformat(nested, width=40), pprint.pformat([nested] * 2, depth=2, compact=True)
    pprint.pformat(types.SimpleNamespace(a="long " * 30, b=b"x" * 100, c=bytearray(90)))
    print(reprlib.repr(nested)[:40], string.Template("$a ${b} $$").safe_substitute(a=1))
    print(
        string.Formatter().format("{0!r:>5} {a[0]} {b.real}", "x", a=[1], b=2),
        string.capwords("a b"),
    )
    print(fnmatch.filter(["a.py", "b.txt", "[c].py"], "*.p[!z]"), fnmatch.translate("a?[!b]*"))
    for code in "b16", "b32", "b64", "b85", "a85":
        getattr(base64, code + "decode")(getattr(base64, code + "encode")(b"bytes \0\xff" * 5))
    quopri.decodestring(quopri.encodestring("é=\t ".encode() * 30))


def numbers():
    select(
        "fractions",
        "statistics",
        "random",
        "_pydecimal",
        "calendar",
        "datetime",
        "_pydatetime",
        "numbers",
        "heapq",
        "bisect",
        "colorsys",
        "ipaddress",
        "uuid",
        "hashlib",
        "_strptime",
        "operator",
        "fractions",
    )
    import calendar
    import colorsys
    import datetime
    import fractions
    import heapq
    import ipaddress
    import operator
    import random
    import statistics
    import _pydecimal

    for module in heapq, operator:  # their functions in Python lie below those in C
        source = (
            text_of(module.__name__)
            .split("# If available, use C")[0]
            .split("\ntry:\n    from _op")[0]
        )
        scope = {"__name__": module.__name__}
        exec(compile(source, f"python_{module.__name__}.py", "exec"), scope)
        select_in(scope, module.__name__)
        if module is heapq:
            heap = [n * 7919 % 1000 for n in range(200)]
            scope["heapify"](heap)
            print(
                list(scope["merge"]([1, 4], [2, 3], reverse=False)),
                scope["nlargest"](3, heap),
                scope["nsmallest"](3, heap, key=lambda n: -n),
                [scope["heappop"](heap) for _ in range(9)],
            )
        else:
            print(
                scope["itemgetter"](1, 2)("abc"),
                scope["attrgetter"]("real.imag")(2),
                scope["indexOf"]("ab", "b"),
            )
    half = fractions.Fraction("3.14159").limit_denominator(200)
    print(
        half,
        half**2,
        half % 1,
        round(half, 3),
        fractions.Fraction(1, 3) + 2.5,
        half > 3,
        hash(half),
    )
    random.seed(5)
    values = [random.gauss(10, 3) for _ in range(100)]
    random.shuffle(values)
    print(
        random.sample(range(1000), 5),
        random.choices("abc", [1, 2, 3], k=6),
        [
            round(draw(2, 3), 3)
            for draw in (
                random.betavariate,
                random.gammavariate,
                random.uniform,
                random.vonmisesvariate,
                random.weibullvariate,
            )
        ],
    )
    for measure in (
        "mean",
        "fmean",
        "median",
        "median_grouped",
        "pstdev",
        "variance",
        "quantiles",
        "geometric_mean",
        "harmonic_mean",
    ):
        getattr(statistics, measure)([abs(value) for value in values])
    print(
        statistics.mode("aabbb"),
        statistics.multimode("aabb"),
        statistics.NormalDist(3, 2).quantiles(3),
        statistics.linear_regression([1, 2, 3], [2, 4, 7]).slope,
    )
    d = _pydecimal.Decimal
    with _pydecimal.localcontext() as context:
        context.prec = 30
        print(d(2).sqrt(), d("1.5").exp(), d(10).ln(), d(7).log10(), d(3) ** d("0.5"), d("-7") // 2)
    print(
        f"{d('1234567.891'):,.2f}",
        d("1e400") * 10,
        d("NaN").compare(1),
        d(5).quantize(d("0.01")),
        divmod(d(17), 5),
    )
    try:
        d(1) / 0
    except ZeroDivisionError as error:
        print(type(error).__name__)
    print(
        calendar.TextCalendar(6).formatmonth(2024, 2)[:30],
        len(calendar.HTMLCalendar().formatyear(2023)),
        calendar.timegm((2024, 2, 29, 1, 2, 3)),
    )
    print(datetime.datetime.strptime("2024-02-29 10:11", "%Y-%m-%d %H:%M"), datetime.timezone.utc)
    print(
        [colorsys.rgb_to_hls(r / 5, 0.2, 0.7)[0] for r in range(3)],
        colorsys.hsv_to_rgb(0.3, 0.5, 0.7),
    )
    net = ipaddress.ip_network("10.0.0.0/27")
    print(
        list(net.subnets(2))[-1],
        ipaddress.ip_address("::ffff:1.2.3.4").ipv4_mapped,
        len(list(net.hosts())),
        list(
            ipaddress.collapse_addresses(ipaddress.ip_network(f"10.0.{n}.0/24") for n in range(4))
        ),
    )


def documents():
    select(
        "email",
        "email.parser",
        "email.feedparser",
        "email.message",
        "email.header",
        "email.utils",
        "email._header_value_parser",
        "email.headerregistry",
        "email.generator",
        "email.policy",
        "email._policybase",
        "email.contentmanager",
        "email.mime.text",
        "email.mime.multipart",
        "email.base64mime",
        "email.quoprimime",
        "email.charset",
        "email.encoders",
        "email.iterators",
        "xml.etree.ElementTree",
        "xml.etree.ElementPath",
        "xml.dom.minidom",
        "xml.dom.expatbuilder",
        "xml.sax.saxutils",
        "urllib.parse",
        "json",
        "json.decoder",
        "json.encoder",
        "json.scanner",
        "plistlib",
        "configparser",
        "http.cookies",
        "mimetypes",
        "netrc",
        "tomllib._parser",
    )
    import configparser
    import email
    import email.message
    import email.policy
    import http.cookies
    import json
    import json.decoder
    import json.scanner
    import plistlib
    import urllib.parse
    import xml.dom.minidom
    import xml.etree.ElementTree as tree

    message = email.message.EmailMessage()
    message["Subject"] = (
        "Grüße and a rather long subject line that has to be folded somewhere, surely"
    )
    message["From"] = "Jörg Example <joerg@example.org>"
    message["To"] = "a@example.org, \"B, C\" <bc@example.org>, group: d@e.org;"
    message["Date"] = "Thu, 29 Feb 2024 10:11:12 +0100"
    message.set_content("Text äöü\n" * 5)
    message.add_alternative("<p>Text</p>", subtype="html")
    message.add_attachment(b"\0\1\2" * 50, maintype="application", subtype="x-y", filename="ü.bin")
    message.set_boundary("=====boundary=====")
    raw = message.as_bytes()
    for policy in email.policy.default, email.policy.compat32:
        back = email.message_from_bytes(raw, policy=policy)
        print(str(back["To"])[:20], [part.get_content_type() for part in back.walk()])
    email.message_from_string("Broken\nheader: x\n\nbody")
    root = tree.fromstring("<a xmlns:n='u'><b k='1'>x<c/>y</b><n:b k='2'/><b/></a>")
    tree.indent(root)
    print(
        len(root.findall(".//b[@k='1']/c")),
        root.find("{u}b").attrib,
        len(list(root.iter())),
        "".join(root.itertext()).split(),
        len(tree.tostring(root)),
        tree.canonicalize("<b z='1' a='2'/>"),
    )
    print(len(xml.dom.minidom.parseString(tree.tostring(root)).toprettyxml()))
    for url in (
        "http://user:pw@host:80/p;q?a=1&b=&a=2#f",
        "//x/../y",
        "mailto:a@b",
        "http://[::1]:8/",
    ):
        parts = urllib.parse.urlsplit(url)
        print(
            parts.hostname,
            urllib.parse.urljoin("http://h/a/b/", url),
            urllib.parse.parse_qs(parts.query, True),
            urllib.parse.quote(url, "/"),
        )
    print(
        urllib.parse.urlencode({"a": [1, "é"], "b c": "&"}, doseq=True),
        urllib.parse.unquote_plus("%C3%A9+x"),
    )
    decoder = json.JSONDecoder()
    decoder.parse_string = json.decoder.py_scanstring
    decoder.parse_object, decoder.parse_array = json.decoder.JSONObject, json.decoder.JSONArray
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    text = (
        r'{"a": [1, -2.5e3, true, null, {}, []], "b": {"\u00e9\ud83d\ude00\n": "x"}, "c": Infinity}'
    )
    thing = decoder.decode(text)
    print(
        json.dumps(thing, indent=1, sort_keys=True)
        == json.dumps(json.loads(text), indent=1, sort_keys=True)
    )
    for bad in "{", '{"a" 1}', "[1,", '"x', "nul", "[1] 2":
        try:
            decoder.decode(bad)
        except ValueError as error:
            print(error)
    plist = plistlib.dumps({"a": [1, 2.5, True, b"x", {"b": "c"}]})
    print(
        plistlib.loads(plist),
        plistlib.loads(plistlib.dumps(plistlib.loads(plist), fmt=plistlib.FMT_BINARY)),
    )
    parser = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
    parser.read_string(
        "[a]\nx = 1\n y = not a key\n[b]\nz = ${a:x}!\nflag: yes\n# comment\n[empty]\n"
    )
    out = io.StringIO()
    parser.write(out)
    print(
        parser["b"]["z"],
        parser.getboolean("b", "flag"),
        parser.sections(),
        len(out.getvalue()),
        parser.get("a", "none", fallback="f"),
    )
    cookie = http.cookies.SimpleCookie('a=1; b="x\\073y"; Path=/')
    cookie["c"] = "v w"
    cookie["c"]["max-age"] = 10
    print(cookie.output())


def classes():
    select(
        "dataclasses",
        "enum",
        "typing",
        "contextlib",
        "abc",
        "_py_abc",
        "types",
        "collections",
        "_collections_abc",
        "functools",
        "copy",
        "pickle",
        "_compat_pickle",
        "copyreg",
        "weakref",
        "argparse",
        "optparse",
        "getopt",
        "string",
        "sched",
        "queue",
        "graphlib",
        "cProfile",
        "pstats",
        "timeit",
        "logging",
        "warnings",
        "traceback",
        "numbers",
        "shelve",
    )
    import argparse
    import collections
    import contextlib
    import copy
    import dataclasses
    import enum
    import graphlib
    import logging
    import optparse
    import pickle
    import queue
    import traceback
    import typing

    @dataclasses.dataclass(order=True, frozen=True)
    class Point:
        x: int
        y: "list[int]" = dataclasses.field(default_factory=list, compare=False)
        z: typing.ClassVar[int] = 3

    class Color(enum.Flag):
        RED = enum.auto()
        BLUE = enum.auto()
        BOTH = RED | BLUE

    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 2

    T = typing.TypeVar("T")

    class Box(typing.Generic[T]):
        pass

    @typing.runtime_checkable
    class Sized(typing.Protocol):
        def size(self) -> int: ...

    print(
        dataclasses.replace(Point(1, [2]), x=5), dataclasses.asdict(Point(1)), Point(1) < Point(2)
    )
    print(dataclasses.make_dataclass("Made", ["a", ("b", int, 3)])(1))
    print(
        Color.RED | Color.BLUE,
        ~Color.RED,
        list(Level),
        Level["LOW"],
        Level(2).name,
        Color.BOTH & Color.RED,
    )
    print(
        Box[int],
        typing.get_type_hints(Point.__init__),
        typing.Optional[typing.Union[int, str]],
        isinstance(Box(), Sized),
        typing.get_args(typing.Dict[str, int]),
        typing.Literal[1, "a"],
    )
    for protocol in range(6):
        raw = pickle._dumps(
            [graphlib.CycleError(1), {"a": (1, 2.5, None), "b": {3, "x"}}, b"y" * 300, 1 << 70],
            protocol,
        )
        pickle._loads(raw)
    deep = [1, [2, {"a": (3, [4])}], Point(3)]
    deep.append(deep)
    print(copy.deepcopy(deep)[1], copy.copy(Point(1)))
    parser = argparse.ArgumentParser("tool", description="words " * 30)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="more %(default)s")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--one", type=int, nargs="?", const=5)
    group.add_argument("--two", nargs="+", choices=["a", "b"])
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("run", help="runs").add_argument("rest", nargs=argparse.REMAINDER)
    print(parser.parse_args(["-vv", "--one=4", "run", "x", "-y"]), len(parser.format_help()) > 100)
    with contextlib.redirect_stderr(io.StringIO()) as complaint:
        for wrong in ["--two", "c"], ["--one", "x"], ["--one", "1", "--two", "a"], ["nope"]:
            with contextlib.suppress(SystemExit):
                parser.parse_args(wrong)
    print(len(complaint.getvalue().splitlines()))
    options = optparse.OptionParser("usage")
    options.add_option("-n", "--number", type="int", default=3, help="a number")
    print(options.parse_args(["-n5", "rest"])[1], len(options.format_help()))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.closing(io.StringIO()))
        stack.push(lambda *error: True)
        stack.callback(print, "callback")
        raise KeyError("swallowed")
    counter = collections.Counter("abracadabra")
    print(
        counter.most_common(2),
        counter - collections.Counter("aab"),
        sum(counter.elements() == 0 for _ in "a"),
        collections.ChainMap({"a": 1}, {"b": 2})["b"],
        collections.namedtuple("P", "x y")(1, 2)._replace(x=3),
    )
    print(
        list(graphlib.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"a"}}).static_order())[
            0
        ]
    )
    out = io.StringIO()
    log = logging.getLogger("conformance")
    log.propagate = False
    log.addHandler(logging.StreamHandler(out))
    for level in range(10, 60, 10):
        log.log(level, "level %d", level)
    try:
        try:
            {}["a"]
        except KeyError:
            raise ValueError("outer")
    except ValueError as error:
        log.exception("failed")
        print(len(traceback.format_exception(error)))
    log.removeHandler(log.handlers[0])
    print(len(out.getvalue().splitlines()) > 5)
    line = queue.PriorityQueue()
    for n in 3, 1, 2:
        line.put(n)
    print([line.get() for _ in range(3)], functools.reduce(lambda a, b: a * b, range(1, 6)))

    @functools.singledispatch
    def show(thing):
        return "thing"

    show.register(int, lambda thing: "int")
    show.register(list, lambda thing: "list")
    print(
        show(1),
        show([]),
        show(True),
        show(None),
        sorted([2, 1, 3], key=functools.cmp_to_key(lambda a, b: b - a)),
    )


def archives():
    select(
        "zipfile",
        "zipfile._path",
        "tarfile",
        "gzip",
        "bz2",
        "lzma",
        "_compression",
        "shutil",
        "tempfile",
        "pathlib",
        "pathlib._local",
        "posixpath",
        "genericpath",
        "fileinput",
        "filecmp",
        "zipapp",
        "stat",
        "dbm.dumb",
        "sqlite3.dump",
        "wave",
        "struct",
        "mailbox",
        "_pyio",
        "codecs",
        "encodings.punycode",
        "encodings.idna",
    )
    import filecmp
    import gzip
    import pathlib
    import shutil
    import tarfile
    import wave
    import zipfile
    import _pyio

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "in" / "deep").mkdir(parents=True)
        for n in range(6):
            (folder / "in" / ("deep" if n % 2 else ".") / f"{n}.txt").write_text(f"text {n}\n" * 50)
        for ending, mode in ("tar", "w"), ("tar.gz", "w:gz"):
            with tarfile.open(folder / f"a.{ending}", mode) as archive:
                archive.add(folder / "in", "in")
            # not "r": an object that dies in a trace function's own call is lost to the reference
            with tarfile.open(
                folder / f"a.{ending}", mode.replace("w", "r:").replace("::", ":")
            ) as archive:
                print(archive.getnames())
                archive.extractall(folder / ending)
        with zipfile.ZipFile(folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((folder / "in").rglob("*.txt")):
                archive.write(path, path.relative_to(folder))
            archive.writestr("in/more.txt", b"more" * 1000)
        with zipfile.ZipFile(folder / "a.zip") as archive:
            print(
                archive.testzip(),
                len(archive.infolist()),
                sorted(entry.name for entry in zipfile.Path(archive, "in/").iterdir()),
            )
            with archive.open("in/more.txt") as stream:
                stream.seek(100)
                print(len(stream.read()))
        shutil.copytree(folder / "in", folder / "copy")
        print(
            filecmp.dircmp(folder / "in", folder / "copy").diff_files,
            shutil.disk_usage(folder).total > 0,
        )
        shutil.rmtree(folder / "copy")
        shutil.make_archive(folder / "made", "zip", folder / "in")
        with gzip.open(folder / "x.gz", "wt") as stream:
            stream.writelines(f"{n}\n" for n in range(200))
        with wave.open(str(folder / "x.wav"), "wb") as sound:
            sound.setparams((1, 2, 8000, 0, "NONE", "none"))
            sound.writeframes(b"\0\1" * 500)
        print(gzip.open(folder / "x.gz").read()[:4], wave.open(str(folder / "x.wav")).getnframes())
        with _pyio.open(folder / "y.txt", "w", encoding="utf-8", newline="") as stream:
            stream.write("line é\r\n" * 20)
        with _pyio.open(folder / "y.txt", encoding="utf-8") as stream:
            print(
                len(stream.readline()),
                stream.tell(),
                len(stream.readlines()),
                stream.seek(0),
                len(stream.read(30)),
            )
        print(
            os.path.commonpath(["/a/b/c", "/a/b/d"]),
            os.path.relpath("/a/b", "/a/c/d"),
            os.path.normpath("a//./b/../c"),
        )
        print(
            pathlib.PurePath("a/b.tar.gz").with_suffix(".x"),
            pathlib.PurePosixPath("/a") / "b" in {pathlib.PurePosixPath("/a/b")},
            [p.name for p in sorted(pathlib.Path(folder / "in").glob("**/*.txt"))],
        )
    print("bücher".encode("idna"), "bücher".encode("punycode"), b"xn--bcher-kva".decode("idna"))


def asynchronous():
    select(
        "asyncio.queues",
        "asyncio.locks",
        "asyncio.tasks",
        "asyncio.streams",
        "asyncio.base_events",
        "asyncio.events",
        "asyncio.futures",
        "asyncio.timeouts",
        "asyncio.taskgroups",
        "asyncio.runners",
        "asyncio.subprocess",
        "concurrent.futures._base",
        "concurrent.futures.thread",
        "contextlib",
    )
    import asyncio

    async def worker(line, done):
        while (n := await line.get()) is not None:
            await asyncio.sleep(0)
            done.append(n)
            line.task_done()

    async def work():
        line, done = asyncio.Queue(3), []
        workers = [asyncio.ensure_future(worker(line, done)) for _ in range(3)]
        for n in range(30):
            await line.put(n)
        await line.join()
        for _ in workers:
            await line.put(None)
        await asyncio.gather(*workers)
        print(sorted(done) == list(range(30)))
        lock, gate, few = asyncio.Lock(), asyncio.Event(), asyncio.Semaphore(2)

        async def enter():
            async with few:
                await gate.wait()
                async with lock:
                    return 1

        entering = [asyncio.ensure_future(enter()) for _ in range(5)]
        await asyncio.sleep(0)
        gate.set()
        print(sum(await asyncio.gather(*entering)))
        stuck = asyncio.ensure_future(asyncio.Event().wait())
        try:
            await asyncio.wait_for(asyncio.shield(stuck), 0)
        except asyncio.TimeoutError:
            print("timed out")
        stuck.cancel()
        print(
            [
                result.__class__.__name__
                for result in await asyncio.gather(stuck, return_exceptions=True)
            ]
        )
        reader = asyncio.StreamReader()
        reader.feed_data(b"line 1\nrest")
        reader.feed_eof()
        print(await reader.readline(), await reader.read())

    asyncio.run(work())


def generated():
    sys.path.insert(0, os.getcwd())
    import generated_functions

    select("generated_functions")
    print(generated_functions.run_all())


if __name__ == "__main__":
    gc.disable()  # when it runs depends on what a profiler allocates
    globals()[sys.argv[1]]()
    gc.collect()
