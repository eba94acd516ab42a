/* SPDX-License-Identifier: MIT */
#include "helpers.h"

Test(mem, counts_what_is_held_and_the_most_ever_held)
{
    struct clp_mem mem = clp_mem_system();
    char *a = clp_mem_alloc(&mem, 10, 10);
    char *b = clp_mem_alloc(&mem, 50, 1);

    cr_assert_eq(mem.bytes, 150);
    clp_mem_free(&mem, a, 10, 10);
    cr_assert_eq(mem.bytes, 50);
    clp_mem_free(&mem, b, 50, 1);
    cr_assert_eq(mem.bytes, 0);
    cr_assert_eq(mem.peak, 150);
}

Test(mem, new_memory_is_zeroed)
{
    struct clp_mem mem = clp_mem_system();
    size_t count = 0;
    void *block = NULL;

    for (size_t wanted = 1; wanted < 5000; wanted *= 2) {
        cr_assert_eq(clp_mem_grow(&mem, &block, &count, wanted, 4), CLP_OK);
        cr_assert_eq(count, wanted);
        unsigned char *bytes = block;
        for (size_t i = wanted / 2 * 4; i < wanted * 4; i++)
            cr_assert_eq(bytes[i], 0);
        memset(bytes, 0xa5, wanted * 4);
    }
    for (size_t i = 0; i < count * 4; i++)
        cr_assert_eq(((unsigned char *)block)[i], 0xa5, "growing lost byte %zu", i);
    clp_mem_free(&mem, block, count, 4);
    cr_assert_eq(mem.bytes, 0);
}

Test(mem, shrinks_and_frees_by_growing_to_nothing)
{
    struct test_mem test;
    struct clp_mem *mem = test_mem_init(&test, 0);
    size_t count = 0;
    void *block = NULL;

    cr_assert_eq(clp_mem_grow(mem, &block, &count, 100, 8), CLP_OK);
    cr_assert_eq(clp_mem_grow(mem, &block, &count, 3, 8), CLP_OK);
    cr_assert_eq(mem->bytes, 24);
    cr_assert_eq(clp_mem_grow(mem, &block, &count, 0, 8), CLP_OK);
    cr_assert_null(block);
    test_mem_check_empty(&test);
}

Test(mem, a_failure_changes_nothing)
{
    struct test_mem test;
    struct clp_mem *mem = test_mem_init(&test, 2);
    size_t count = 0;
    void *block = NULL;

    cr_assert_eq(clp_mem_grow(mem, &block, &count, 4, 4), CLP_OK);
    void *before = block;
    cr_assert_eq(clp_mem_grow(mem, &block, &count, 4000, 4), CLP_NO_MEMORY);
    cr_assert_eq(block, before);
    cr_assert_eq(count, 4);
    cr_assert_eq(mem->bytes, 16);
    clp_mem_free(mem, block, count, 4);
    test_mem_check_empty(&test);
}

Test(mem, a_product_that_overflows_is_refused)
{
    struct test_mem test;
    struct clp_mem *mem = test_mem_init(&test, 0);

    cr_assert_null(clp_mem_alloc(mem, SIZE_MAX / 2, 3));
    cr_assert_null(clp_mem_alloc(mem, 3, SIZE_MAX / 2));
    cr_assert_eq(test.calls, 0, "the allocator was asked for a wrapped size");
    test_mem_check_empty(&test);
}

Test(mem, nothing_is_null_and_may_be_freed)
{
    struct test_mem test;
    struct clp_mem *mem = test_mem_init(&test, 0);

    cr_assert_null(clp_mem_alloc(mem, 0, 8));
    clp_mem_free(mem, NULL, 12, 8);
    clp_mem_free_text(mem, NULL);
    test_mem_check_empty(&test);
}

Test(mem, texts)
{
    struct test_mem test;
    struct clp_mem *mem = test_mem_init(&test, 0);
    char *text = clp_mem_copy_text(mem, "abcdef", 3);
    char *nothing = clp_mem_copy_text(mem, "", 0);

    cr_assert_str_eq(text, "abc");
    cr_assert_str_eq(nothing, "");
    cr_assert_eq(mem->bytes, 5);
    clp_mem_free_text(mem, text);
    clp_mem_free_text(mem, nothing);
    test_mem_check_empty(&test);
}
