/* SPDX-License-Identifier: MIT */
/* What is escaped, test_report.c tries. */
#include "shown.h"
#include "helpers.h"
#include <locale.h>

static void check_width(const char *text, size_t width)
{
    cr_expect_eq(clp_shown_width(text, strlen(text)), width, "%s: %zu", text,
                 clp_shown_width(text, strlen(text)));
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
