/* SPDX-License-Identifier: MIT */
#include "base/escape.h"
#include "helpers.h"
#include <locale.h>
#include <stdio.h>

static void check_width(const char *text, size_t width)
{
    cr_expect_eq(clp_escape_width(text, strlen(text)), width, "%s: %zu", text,
                 clp_escape_width(text, strlen(text)));
}

Test(shown, width)
{
    check_width("", 0);
    check_width("plain", 5);
    check_width("caf\xc3\xa9", 4);
    check_width("cafe\xcc\x81", 4);                     /* a combining accent */
    check_width("\xe6\x97\xa5\xe6\x9c\xac", 4);         /* two wide characters */
    check_width("\xf0\x9f\x98\x80!", 3);                /* an emoji */
    check_width("\xff\xe6\x97", 3);                     /* no UTF-8: a column a byte */
}

Test(shown, width_does_not_depend_on_the_locale)
{
    setlocale(LC_ALL, "C");
    check_width("\xe6\x97\xa5\xe6\x9c\xac", 4);
    cr_expect_str_eq(setlocale(LC_CTYPE, NULL), "C");
}

static void check_shown(const char *text, const char *expected)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf once, twice;

    clp_buf_init(&once, &mem);
    clp_buf_init(&twice, &mem);
    clp_escape_add_text(&once, text);
    clp_escape_add_text(&twice, clp_buf_text(&once));
    cr_expect_str_eq(clp_buf_text(&once), expected);
    cr_expect_str_eq(clp_buf_text(&twice), expected, "what is shown already stays");
    clp_buf_clear(&once);
    clp_buf_clear(&twice);
}

Test(shown, what_terminals_obey_is_escaped)
{
    check_shown("\x1b[2J\x07\r\n\x7f", "\\x1b[2J\\x07\\x0d\\x0a\\x7f");
    check_shown("\xc2\x80 \xc2\x9b \xc2\x9f", "\\xc2\\x80 \\xc2\\x9b \\xc2\\x9f");
    check_shown("\xff \xc0\xaf \xe2\x80 \xed\xa0\x80", /* no UTF-8 */
                "\\xff \\xc0\\xaf \\xe2\\x80 \\xed\\xa0\\x80");
}

/* U+2028 to U+202E, U+2066 to U+2069; and their neighbours. */
Test(shown, what_turns_the_direction_of_writing_is_escaped)
{
    char text[] = "a\xe2\x80\xa7", expected[32];

    for (int last = 0xa8; last <= 0xae; last++) {
        text[3] = (char)last;
        (void)snprintf(expected, sizeof expected, "a\\xe2\\x80\\x%02x", last);
        check_shown(text, expected);
    }
    for (int last = 0xa6; last <= 0xa9; last++) {
        (void)snprintf(text, sizeof text, "a\xe2\x81%c", last);
        (void)snprintf(expected, sizeof expected, "a\\xe2\\x81\\x%02x", last);
        check_shown(text, expected);
    }
    check_shown("\xe2\x80\xa7 \xe2\x80\xaf \xe2\x81\xa5 \xe2\x81\xaa",
                "\xe2\x80\xa7 \xe2\x80\xaf \xe2\x81\xa5 \xe2\x81\xaa");
}

Test(shown, all_other_text_stays)
{
    const char *texts[] = {
        "\tif x:\t# plain \\x1b", "na\u00efve \u00a0", "\u0645\u0631\u062d\u0628\u0627",
        "\u05e9\u05dc\u05d5\u05dd", "\u65e5\u672c", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u200e\u200f\u061c", ""};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_shown(texts[i], texts[i]);
}

Test(shown, lines_stay_lines)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf out;

    clp_buf_init(&out, &mem);
    clp_escape_add_lines(&out, "a\x1b\n\n\tb\r\nc");
    cr_expect_str_eq(clp_buf_text(&out), "a\\x1b\n\n\tb\\x0d\nc");
    clp_buf_clear(&out);
}
