/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "helpers.h"

Test(buf, is_an_empty_text_before_the_first_append)
{
    struct test_mem test;
    struct clp_buf buf;

    clp_buf_init(&buf, test_mem_init(&test, 0));
    cr_assert_str_eq(clp_buf_text(&buf), "");
    clp_buf_clear(&buf);
    cr_assert_eq(test.calls, 0);
}

Test(buf, appends)
{
    struct test_mem test;
    struct clp_buf buf;

    clp_buf_init(&buf, test_mem_init(&test, 0));
    clp_buf_add_text(&buf, "one");
    clp_buf_add(&buf, ", two and more", 5);
    clp_buf_add_repeated(&buf, '-', 3);
    clp_buf_add_format(&buf, "%5.1f|%s", 2.25, "three");
    clp_buf_add(&buf, NULL, 0);
    clp_buf_add_repeated(&buf, '-', 0);
    clp_buf_add_text(&buf, "");
    cr_assert_str_eq(clp_buf_text(&buf), "one, two---  2.2|three");
    cr_assert_eq(buf.used, strlen("one, two---  2.2|three"));
    cr_assert_not(buf.failed);
    clp_buf_clear(&buf);
    test_mem_check_empty(&test);
}

Test(buf, cut)
{
    struct test_mem test;
    struct clp_buf buf;

    clp_buf_init(&buf, test_mem_init(&test, 0));
    clp_buf_cut(&buf, 0);
    clp_buf_add_text(&buf, "one, two");
    clp_buf_cut(&buf, 8);
    clp_buf_cut(&buf, 99);
    cr_assert_str_eq(clp_buf_text(&buf), "one, two");
    clp_buf_cut(&buf, 3);
    cr_assert_str_eq(clp_buf_text(&buf), "one");
    clp_buf_add_text(&buf, "!");
    cr_assert_str_eq(clp_buf_text(&buf), "one!");
    clp_buf_clear(&buf);
    test_mem_check_empty(&test);
}

Test(buf, keeps_zero_bytes)
{
    struct test_mem test;
    struct clp_buf buf;

    clp_buf_init(&buf, test_mem_init(&test, 0));
    clp_buf_add(&buf, "a\0b", 3);
    clp_buf_add_text(&buf, "c");
    cr_assert_eq(buf.used, 4);
    cr_assert_eq(memcmp(buf.bytes, "a\0bc", 5), 0);
    clp_buf_clear(&buf);
}

/* Every length around the sizes at which the buffer grows, by every way of appending. */
Test(buf, the_ending_zero_always_has_room)
{
    char text[301];
    struct test_mem test;
    struct clp_buf buf;

    memset(text, 'x', 300);
    for (size_t length = 0; length <= 300; length++) {
        text[length] = 0;
        clp_buf_init(&buf, test_mem_init(&test, 0));
        clp_buf_add(&buf, text, length);
        clp_buf_add_format(&buf, "%s", text);
        clp_buf_add_repeated(&buf, 'x', length);
        cr_assert_eq(buf.used, 3 * length);
        cr_assert_eq(strlen(clp_buf_text(&buf)), 3 * length);
        cr_assert_lt(buf.used, buf.room);
        clp_buf_clear(&buf);
        test_mem_check_empty(&test);
        text[length] = 'x';
    }
}

Test(buf, grows_rarely)
{
    struct test_mem test;
    struct clp_buf buf;

    clp_buf_init(&buf, test_mem_init(&test, 0));
    for (int i = 0; i < 100000; i++)
        clp_buf_add(&buf, "x", 1);
    cr_assert_leq(test.calls, 20);
    clp_buf_clear(&buf);
}

static void append_all(struct clp_buf *buf)
{
    clp_buf_add_text(buf, "0123456789");
    clp_buf_add_repeated(buf, 'x', 100);
    clp_buf_add_format(buf, "%200d", 7);
    clp_buf_add(buf, "end", 3);
}

Test(buf, a_failure_sticks_and_loses_nothing_before_it)
{
    struct test_mem test;
    struct clp_buf whole, buf;
    size_t fail_at = 0;

    clp_buf_init(&whole, test_mem_init(&test, 0));
    append_all(&whole);
    do {
        struct test_mem failing;
        clp_buf_init(&buf, test_mem_init(&failing, ++fail_at));
        append_all(&buf);
        cr_assert_eq(buf.failed, test_mem_failed(&failing));
        cr_assert_eq(strncmp(clp_buf_text(&buf), clp_buf_text(&whole), buf.used), 0);
        cr_assert(buf.failed || buf.used == whole.used);
        size_t used = buf.used;
        clp_buf_add_text(&buf, "");
        cr_assert_eq(buf.used, used);
        clp_buf_clear(&buf);
        test_mem_check_empty(&failing);
    } while (fail_at < 10);
    clp_buf_clear(&whole);
}

Test(buf, a_size_that_overflows_is_a_failure)
{
    struct test_mem test;
    struct clp_buf buf;

    clp_buf_init(&buf, test_mem_init(&test, 0));
    clp_buf_add_text(&buf, "abc");
    clp_buf_add_repeated(&buf, 'x', SIZE_MAX - 3);
    cr_assert(buf.failed);
    cr_assert_str_eq(clp_buf_text(&buf), "abc");
    clp_buf_clear(&buf);
    test_mem_check_empty(&test);
}
