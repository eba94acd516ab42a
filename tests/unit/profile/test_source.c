/* SPDX-License-Identifier: MIT */
#include "profile/source.h"
#include "profile/source_block.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct clp_span span_of(const char *text)
{
    return (struct clp_span){text, strlen(text)};
}

static void check_lines(const char *text, const char *const *expected)
{
    struct clp_span rest = span_of(text), line;

    for (; *expected != NULL; expected++) {
        cr_assert(clp_source_next_line(&rest, &line));
        cr_expect_eq(line.bytes, strlen(*expected));
        cr_expect_eq(memcmp(line.text, *expected, line.bytes), 0, "'%s'", *expected);
    }
    cr_assert_not(clp_source_next_line(&rest, &line));
}

Test(source, walks_lines_with_any_end)
{
    check_lines("", (const char *[]){NULL});
    check_lines("a", (const char *[]){"a", NULL});
    check_lines("a\n", (const char *[]){"a", NULL});
    check_lines("a\nb\r\nc\rd", (const char *[]){"a", "b", "c", "d", NULL});
    check_lines("\n\r\n\r\r", (const char *[]){"", "", "", "", NULL});
    check_lines("a\f\vb\x85\xff\n", (const char *[]){"a\f\vb\x85\xff", NULL});
}

Test(source, does_not_look_behind_the_end_for_a_line_feed)
{
    struct clp_span rest = {"a\r\n", 2}, line;

    cr_assert(clp_source_next_line(&rest, &line));
    cr_assert_eq(rest.bytes, 0);
}

static void check_cut(const char *text, int32_t first, int32_t last, const char *expected)
{
    struct clp_span cut = clp_source_lines(span_of(text), first, last);

    cr_expect_eq(cut.bytes, strlen(expected), "%d to %d: %zu bytes", first, last, cut.bytes);
    cr_expect_eq(strncmp(cut.text, expected, cut.bytes), 0, "%d to %d", first, last);
}

Test(source, cuts_lines_out)
{
    const char *text = "one\r\ntwo\nthree";

    check_cut(text, 1, 1, "one\r\n");
    check_cut(text, 2, 3, "two\nthree");
    check_cut(text, 1, INT32_MAX, text);
    check_cut(text, 4, 9, "");
    check_cut(text, 3, 2, "");
    check_cut(text, 0, 0, "");
    check_cut("\xef\xbb\xbfone\n", 1, 1, "one\n");
}

/* The block that starts at `first` ends at the line of text with the mark "<<". */
static void check_block(const char *text, int32_t first)
{
    struct clp_span rest = span_of(text), line;
    int32_t expected = 0;
    char marked[4096];

    cr_assert_lt(rest.bytes, sizeof marked);
    for (int32_t row = 1; clp_source_next_line(&rest, &line); row++) {
        memcpy(marked, line.text, line.bytes);
        marked[line.bytes] = 0;
        if (strstr(marked, "<<") != NULL)
            expected = row;
    }
    int32_t end = clp_source_block_end(span_of(text), first);
    cr_expect_eq(end, expected, "ends at %d, not %d:\n%s", end, expected, text);
}

Test(source, block_of_a_function)
{
    check_block("def f():\n    a\n\n    b << c\n\n\ndef g():\n    d\n", 1);
    check_block("x\n\ndef f():\n    a\n    b << c\ny\n", 3);
    check_block("def f():\n    a << b", 1);
    check_block("async def f():\n    a << b\nx\n", 1);
    check_block("class C:\n    def f(self):\n        a\n    b << c\nx\n", 1);
    check_block("class C:\n    def f(self):\n        a << b\n\n    def g(self):\n        c\n", 2);
    check_block("def f(): a << b\ny\n", 1);
    check_block("def f(): a; b << c\n# no\n\ny\n", 1);
    check_block("if x:\n    def f():\n        a << b\nelse:\n    c\n", 2);
    check_block("def f():\n    if x:\n        a\n    else:\n        b << c\nx\n", 1);
}

Test(source, block_of_a_function_in_cythons_language)
{
    check_block("cdef int f(int x) except -1:\n    a << b\nx\n", 1);
    check_block("cpdef f(x,\n        y):\n    a\n    b << c\n\ncdef g(): d\n", 1);
    check_block("cdef class A:\n    cdef int b\n    cdef c(self):\n        d << e\nx\n", 1);
    check_block("@a\ncdef inline f(): b << c\nx\n", 1);
    check_block("cdef = 1 << 2\nx = 3\n", 1); /* in Python it may be a name */
}

Test(source, block_with_decorators)
{
    check_block("@a\n@b.c(lambda x: x,\n     1)\n# comment\n\ndef f():\n    a << b\nx\n", 1);
    check_block("class C:\n    @a\n    def f(self):\n        a << b\n    @b\n    def g(self): c\n",
                2);
}

Test(source, block_with_a_long_signature)
{
    check_block("def f(a,\n  b={1: [2,\n3]},\nc=')'):\n    a << b\nx\n", 1);
    check_block("def f(a) \\\n  -> int:\n    a << b\nx\n", 1);
    check_block("def f(a, # )\n):\n    a << b\nx\n", 1);
}

Test(source, comments_belong_to_the_block_when_indented_as_its_body)
{
    check_block("def f():\n    a\n    # <<\n\n# no\nx\n", 1);
    check_block("def f():\n    a\n        # deeper <<\n  # no\nx\n", 1);
    check_block("def f():\n# no\n    a << b\n# no\n  # no\ndef g(): c\n", 1);
    check_block("def f():\n    # first\n    a << b\n", 1);
}

Test(source, strings_hide_what_looks_like_code)
{
    check_block("def f():\n    '''\ndef g():\n\"\"\" # '\n'''\n    a << b\nx\n", 1);
    check_block("def f():\n    a = 'def # \\' \\\\'\n    b = \"'''\"\n    a << b\nx\n", 1);
    check_block("def f():\n    a = 'one \\\ntwo'\n    b = rb'\\' # '\n    a << b\nx\n", 1);
    check_block("def f():\n    a = ''\n    b = ''''\\''''\n    a << b\nx = ''\n", 1);
    check_block("def f():\n    a = Rb'''\nx\n''', u'', B\"\"\n    a << b\nx\n", 1);
    check_block("def f():\n    a = 'not closed\n    a << b\nx\n", 1);
}

Test(source, format_strings_hold_expressions)
{
    check_block("def f():\n    a = f'{b['c']:>{d}} {{ # {e!r}'\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'''\n{b:\n}{f'{f'{1}'}'}\ny\n'''\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'{\nb # }\n}'\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'{b:#x}{b:(^9}'\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'\\{b['(']}' + rf'\\N{b['(']}'\n    a << b\nx\n", 1);
    check_block("def f():\n    a = 1 if'{'else 2\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'{b[1:2]:{c}}{ {1: 2}[1] }'\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'\\N{LEFT CURLY BRACKET}\\'' + rf'\\{b}\\''\n"
                "    a << b\nx\n", 1);
    check_block("def f():\n    a = f'\\{b}' fr\"{'\"'}\" F'{(lambda: 1)()}'\n    a << b\nx\n", 1);
    check_block("def f():\n    a = f'not closed {\n    }\n    a << b\nx\n", 1);
}

Test(source, lambdas_end_with_their_line)
{
    check_block("x = lambda: a << b\ny = lambda: c\n", 1);
    check_block("x = sorted(a, key=lambda b: (b,\n  c << d))\ny\n", 1);
    check_block("x = sorted(a,\n  key=lambda b: b << c)\ny\n", 2);
    check_block("x = sorted(a,\n  key=lambda b: b[\n1] << c,\n d=e)\ny\n", 2);
    check_block("while (lambda: a)(): # <<\n    b\n    c\nx\n", 1);
    check_block("x = (a @ b, lambda: c << d)\ndef f():\n    e\n", 1);
    check_block("    return [lambda: a,\n  b << c]\n    return d\n", 1);
}

Test(source, indentation_by_tabs_and_form_feeds)
{
    check_block("def f():\n\ta\n\tif b:\n        \tc << d\nx\n", 1);
    check_block("def f():\n    a\n\f\n    b << c\n\fdef g():\n    d\n", 1);
    check_block("def f():\n    a << b\n    \fdef g():\n        c\n", 1);
    check_block("class C:\n  \f  def f(self):\n        a << b\n    c\n", 2);
}

Test(source, other_line_ends)
{
    check_block("@a\r\ndef f(b,\r\n      c):\r\n    '''\r\n\r\nx'''\r\n    a << b\r\n\r\nx\r\n", 1);
    check_block("def f():\r    a = 1 \\\r  + 2\r    a << b\rx\r", 1);
}

Test(source, a_line_that_opens_no_block_is_a_block)
{
    check_block("a << b\ndef f():\n    c\n", 1);
    check_block("x = sum(a\n  for a in b << c)\ndef f():\n    c\n", 1);
    check_block("type X = a << b\ndef f():\n    c\n", 1);
    cr_expect_eq(clp_source_block_end(span_of("x\n\n\n"), 2), 2);
    cr_expect_eq(clp_source_block_end(span_of("# only\n"), 1), 1);
    check_block("x = (a, # <<\n\n\n", 1);
    cr_expect_eq(clp_source_block_end(span_of("x\n"), 7), 7);
    cr_expect_eq(clp_source_block_end(span_of(""), 1), 1);
}

Test(source, a_byte_order_mark_hides_no_def)
{
    check_block("\xef\xbb\xbf" "def f():\n    a << b\nx\n", 1);
}

Test(source, nesting_without_end_is_survived)
{
    static char text[200000];
    size_t at = (size_t)sprintf(text, "def f():\n");

    for (int i = 1; i < 300; i++)
        at += (size_t)sprintf(text + at, "%*sif x:\n", i, "");
    clp_source_block_end((struct clp_span){text, at}, 1);
    at = (size_t)sprintf(text, "def f():\n  ");
    for (int i = 0; i < 1000; i++)
        at += (size_t)sprintf(text + at, "f'{");
    cr_expect_geq(clp_source_block_end((struct clp_span){text, at}, 1), 1);
}

/* Cut off anywhere, the text has no block end behind its last line, and nothing is read behind it
 * (the sanitizer build looks). */
Test(source, a_text_cut_off_anywhere)
{
    const char *text = "@a\ndef f(b, # c\n):\n\t'''d\n'''\n    e = f'{g:{h}}\\N{i}' \\\n + rb'j'\n";

    for (size_t bytes = 0; bytes <= strlen(text); bytes++) {
        char *copy = malloc(bytes + 1);
        memcpy(copy, text, bytes);
        int32_t end = clp_source_block_end((struct clp_span){copy, bytes}, 1);
        cr_expect(end >= 1 && end <= 7, "%zu bytes: %d", bytes, end);
        free(copy);
    }
}

Test(source, walks_to_lines_in_any_order)
{
    const char *text = "one\ntwo\r\nthree\rfour";
    const char *const starts[] = {"one", "two", "three", "four", ""};
    struct clp_source_walk walk = {.text = {text, strlen(text)}};

    for (int from = 1; from <= 5; from++) {
        for (int to = 1; to <= 5; to++) {
            clp_source_walk_to(&walk, from);
            clp_source_walk_to(&walk, to);
            cr_expect_eq(strncmp(walk.rest.text, starts[to - 1], strlen(starts[to - 1])), 0);
            cr_expect_eq(walk.rest.bytes == 0, to == 5);
        }
    }
}

static void check_block_of(const char *text, const char *name, bool is_it, int32_t expected)
{
    int32_t last = -1;

    cr_expect_eq(clp_source_block_of(span_of(text), name, &last), is_it, "%s in:\n%s", name, text);
    cr_expect_eq(last, expected, "%d in:\n%s", last, text);
}

Test(source, knows_whose_block_it_is)
{
    check_block_of("def f():\n    pass\n\nx\n", "f", true, 2);
    check_block_of("def f():\n    pass\n", "A.b.<locals>.f", true, 2);
    check_block_of("    async def f(a,\n            b):\n        pass\n", "A.f", true, 3);
    check_block_of("@a(\n  def_ = 'def g'\n)\n@b\nasync  def f(): pass\n", "f", true, 5);
    check_block_of("class f(g):\n    def h(): pass\n", "f", true, 2);
    check_block_of("class f(g):\n    def h(): pass\n", "h", false, 2);
    check_block_of("def f():\n    pass\n", "g", false, 2);
    check_block_of("def f():\n    pass\n", "ff", false, 2);
    check_block_of("def ff():\n    pass\n", "f", false, 2);
    check_block_of("def f\xc3\xa9():\n    pass\n", "f\xc3\xa9", true, 2);
    check_block_of("x = [lambda: 1,\n  2]\n", "f.<lambda>", true, 2);
    check_block_of("def f():\n    pass\n", "<lambda>", false, 2);
    check_block_of("x = 'lambda'\n", "<lambda>", false, 1);
}

/* What a foreign profile may point at: nothing of it is taken for a function. */
Test(source, knows_what_is_no_block)
{
    check_block_of("password: def f\nmore\n", "f", false, 1);
    check_block_of("x; def f(): pass\n", "f", false, 1);
    check_block_of("# def f\nsecret = 1\n", "f", false, 2);
    check_block_of("'def f'\n", "f", false, 1);
    check_block_of("\ndef f():\n    pass\n", "f", false, 3);
    check_block_of("  # a\ndef f():\n    pass\n", "f", false, 3);
    check_block_of("secret = 1\n", "", false, 1);
    check_block_of("secret = 1\n", "f.", false, 1);
    check_block_of("secret = 1\n", "secret", false, 1);
    check_block_of("secret = 1\n", "<module>", false, 1);
    check_block_of("def", "f", false, 1);
    check_block_of("def", "", false, 1);
    check_block_of("", "f", false, 1);
    check_block_of("", "", false, 1);
}

static void check_line(struct clp_source_walk *walk, int32_t first, int32_t line, const char *expected)
{
    struct clp_span text = clp_source_line_at(walk, first, line);

    cr_expect_eq(text.bytes, strlen(expected), "%d of %d: %zu bytes", line, first, text.bytes);
    cr_expect_eq(memcmp(text.text, expected, text.bytes), 0, "%d of %d", line, first);
}

Test(source, gives_a_line_without_its_indentation)
{
    struct clp_source_walk walk = {.text = span_of("def f():\n \t\fone() \r\n\n    two()")}, none = {.line = 0};

    check_line(&walk, 7, 10, "two()");
    check_line(&walk, 7, 8, "one() ");
    check_line(&walk, 7, 9, "");
    check_line(&walk, 7, 7, "def f():");
    check_line(&walk, 7, 6, "");
    check_line(&walk, 7, 11, "");
    check_line(&walk, 7, INT32_MAX, "");
    check_line(&walk, INT32_MIN, INT32_MAX, "");
    check_line(&none, 1, 1, "");
}

static void check_with(const char *text, int32_t with_end, int32_t block_end)
{
    cr_expect_eq(clp_source_with_end(span_of(text), 1), with_end, "%s", text);
    cr_expect_eq(clp_source_block_end(span_of(text), 1), block_end, "%s", text);
}

Test(source, finds_the_end_of_a_with_block)
{
    check_with("with a:\n    b\n    # c\n\n    d\n\ne\n", 5, 1);
    check_with("  with a, \\\n     b:\n    if c:\n        d\n  e\n", 4, 2);
    check_with("with a: b\nc\n", 1, 1);
    check_with("with (a,\n      b):\n    c\nd\n", 3, 2);
    check_with("def f():\n    with a:\n        b\n    c\nd\n", 4, 4);
    check_with("\"with\"\nx\n", 1, 1);
}
