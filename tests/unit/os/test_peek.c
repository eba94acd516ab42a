/* SPDX-License-Identifier: MIT */
#include "os/peek.h"
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

static void check_reading(struct clp_peek *peek)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char into[3][4] = {"old", "old", "old"};

    cr_assert_neq(page, MAP_FAILED);
    (void)strcpy(page, "new");
    const struct clp_peek_part parts[] = {{page, into[0], 4}, {page, into[1], 4}, {page, into[2], 4}};
    cr_expect_eq(clp_peek_read(peek, parts, 3), 3);
    cr_expect_str_eq(into[2], "new");
    cr_expect(clp_peek_one(peek, "abc", into[0], 4));
    cr_expect_str_eq(into[0], "abc");
    (void)munmap(page, PAGE);
    cr_expect_not(clp_peek_one(peek, page, into[0], 4));
    cr_expect_not(clp_peek_one(peek, NULL, into[0], 4));
    const struct clp_peek_part mixed[] = {{"def", into[0], 4}, {page, into[1], 4}, {"ghi", into[2], 4}};
    cr_expect_eq(clp_peek_read(peek, mixed, 3), 1);
    cr_expect_str_eq(into[0], "def");
}

Test(peek, memory_that_is_gone_is_not_read)
{
    struct clp_peek peek;

    cr_assert(clp_peek_begin(&peek));
    check_reading(&peek);
}

Test(peek, the_file_does_what_the_call_does)
{
    struct clp_peek peek = {.by_file = true};

    check_reading(&peek);
}
