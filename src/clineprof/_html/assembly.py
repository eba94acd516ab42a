# SPDX-License-Identifier: MIT
"""Puts a page together: one file, which loads nothing from the network. Jinja2 fills in page.html if it is installed.

No text of the profiled program becomes markup: in the JSON every < > & is written as \\u00XX, the script only makes
text nodes of it, and the templates escape it. If all that fails, the page's Content-Security-Policy lets nothing run or
load except the page's own script and style.
"""
import base64
import hashlib
import importlib.resources
import string
import sys

from clineprof._html import texts


def jinja():
    """Returns the environment of templates; None without Jinja2."""
    try:
        import jinja2
    except ImportError:
        return None
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True,
                              lstrip_blocks=True)


def page(jinja, styles, scripts, values):
    """Returns page.html as bytes, with these files as its style and its script. `values` are those of the names in
    page.html."""
    text, style, script = parts("page.html"), parts(*styles), parts(*scripts)
    values = {**values, "policy": _policy(style, script), "style": texts.Markup(style), "script": texts.Markup(script)}
    made = jinja.from_string(text).render(values) if jinja else _Plain(text).fill(values)
    return made.encode("utf-8")


class _Plain(string.Template):
    """Fills in the {{ names }} of page.html when Jinja2 is not installed."""

    pattern = r"\{\{[ ](?P<named>\w+)[ ]\}\}|(?P<escaped>(?!))|(?P<braced>(?!))|(?P<invalid>(?!))"

    def fill(self, values):
        return self.substitute({name: texts.escape(value) for name, value in values.items()})


def parts(*names):
    folder = importlib.resources.files("clineprof._html")
    return "".join(folder.joinpath(name).read_text("utf-8") for name in names)


def facts(classes, facts, end=""):
    """A list of facts as markup. `facts` has the name of each ("": none), its text, and its share of the run: above 0
    it has a bar. Facts without a text are not known, and left out. `end` stands behind each name."""
    return texts.Markup('<dl class="%s">%s</dl>' % (classes, "".join(
        '<div class="%s">%s<dd>%s</dd></div>' % (
            texts.bar(share, 1, "of-run") if share else "plain",
            "<dt>%s%s</dt>" % (texts.shown(name), end) if name else "",
            texts.shown(text) + (" · %s %%" % texts.percent(share, 1) if share else ""))
        for name, text, share in facts if text)))  # fmt: skip


def harmless(*lines):
    """JSON that can be put into a <script>: it has no character that means anything in HTML."""
    text = "\n".join(lines)
    for character in "<>&":
        text = text.replace(character, "\\u%04x" % ord(character))
    return texts.Markup(text)


def _policy(style, script):
    """A Content-Security-Policy by which the page uses only this style and this script, and loads nothing."""
    return ("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'"
            % (_hash(style), _hash(script)))  # fmt: skip


def _hash(text):
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "'sha256-%s'" % base64.b64encode(digest).decode("ascii")


def say_what_is_missing(jinja, runs):
    """Says on standard error which packages would make the page better. `runs` is None without Pygments."""
    missing = []
    if jinja is None:
        missing.append("tables on paper and without JavaScript (Jinja2)")
    if runs is None:
        missing.append("colours of the source (Pygments)")
    if missing:
        sys.stderr.write("clineprof: the page lacks %s: pip install jinja2 pygments\n"
                         % " and ".join(missing))
