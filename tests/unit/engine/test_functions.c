/* SPDX-License-Identifier: MIT */
#include "engine/functions.h"
#include "helpers.h"
#include <stdio.h>

static struct clp_function named(const char *file, const char *name, int32_t first_line)
{
    return (struct clp_function){.file = (char *)(uintptr_t)file, .name = (char *)(uintptr_t)name,
                                 .first_line = first_line, .lowest_line = first_line,
                                 .line_count = 3};
}

static uint32_t add(struct clp_functions *functions, struct clp_function function)
{
    uint32_t number = UINT32_MAX;

    cr_assert_eq(clp_functions_add(functions, &function, &number), CLP_OK);
    return number;
}

Test(functions, numbers_count_up_and_equals_share_one)
{
    struct test_mem test;
    struct clp_functions functions;
    struct clp_function other_span = named("a.py", "f", 1);

    clp_functions_init(&functions, test_mem_init(&test, 0));
    other_span.line_count = 4;
    cr_assert_eq(add(&functions, named("a.py", "f", 1)), 0);
    cr_assert_eq(add(&functions, named("b.py", "f", 1)), 1);
    cr_assert_eq(add(&functions, named("a.py", "g", 1)), 2);
    cr_assert_eq(add(&functions, named("a.py", "f", 2)), 3);
    cr_assert_eq(add(&functions, other_span), 4);
    other_span.lowest_line = 2;
    cr_assert_eq(add(&functions, other_span), 5);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(add(&functions, named("a.py", "f", 1)), 0);
    cr_assert_eq(add(&functions, named("a.py", "f", 2)), 3);
    cr_assert_eq(functions.count, 6);
    clp_functions_clear(&functions);
    test_mem_check_empty(&test);
}

static struct clp_function of_text(uint32_t text, uint32_t line_count)
{
    struct clp_function function = named("a.py", "f", 1);

    function.text = text;
    function.line_count = line_count;
    return function;
}

Test(functions, versions_are_functions_of_their_own_and_are_found)
{
    const struct clp_function wanted = named("a.py", "f", 1), stranger = named("a.py", "h", 1);
    uint32_t texts[3] = {0}, count = 0;
    const struct clp_function *version;
    struct clp_functions functions;
    struct test_mem test;
    uint64_t at = 0, nowhere = 0;

    clp_functions_init(&functions, test_mem_init(&test, 0));
    cr_assert_eq(add(&functions, of_text(1, 3)), 0);
    cr_assert_eq(add(&functions, named("a.py", "g", 1)), 1);
    cr_assert_eq(add(&functions, of_text(2, 3)), 2);
    cr_assert_eq(add(&functions, of_text(CLP_TEXT_CHANGED, 9)), 3);
    cr_assert_eq(add(&functions, of_text(2, 3)), 2);
    while ((version = clp_functions_next_version(&functions, &wanted, &at)) != NULL)
        texts[count++] = version->text;
    cr_assert_eq(count, 3);
    cr_expect(texts[0] == 1 && texts[1] == 2 && texts[2] == CLP_TEXT_CHANGED);
    cr_expect_null(clp_functions_next_version(&functions, &stranger, &nowhere));
    clp_functions_clear(&functions);
    test_mem_check_empty(&test);
}

Test(functions, where_a_name_begins_matters)
{
    struct test_mem test;
    struct clp_functions functions;

    clp_functions_init(&functions, test_mem_init(&test, 0));
    cr_assert_eq(add(&functions, named("ab", "c", 1)), 0);
    cr_assert_eq(add(&functions, named("a", "bc", 1)), 1);
    cr_assert_eq(add(&functions, named("", "", -1)), 2);
    cr_assert_eq(add(&functions, named("", "", INT32_MAX)), 3);
    cr_assert_eq(add(&functions, named("ab", "c", 1)), 0);
    clp_functions_clear(&functions);
    test_mem_check_empty(&test);
}

Test(functions, texts_are_copied)
{
    struct test_mem test;
    struct clp_functions functions;
    char file[] = "a.py", name[] = "f";

    clp_functions_init(&functions, test_mem_init(&test, 0));
    (void)add(&functions, named(file, name, 1));
    file[0] = name[0] = 'x';
    cr_assert_str_eq(functions.items[0].file, "a.py");
    cr_assert_str_eq(functions.items[0].name, "f");
    cr_assert_eq(add(&functions, named("a.py", "f", 1)), 0);
    clp_functions_clear(&functions);
    test_mem_check_empty(&test);
}

Test(functions, ten_thousand_keep_their_numbers)
{
    struct test_mem test;
    struct clp_functions functions;
    char name[16];

    clp_functions_init(&functions, test_mem_init(&test, 0));
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 10000; i++) {
            (void)snprintf(name, sizeof name, "f%u", i);
            cr_assert_eq(add(&functions, named("a.py", name, (int32_t)(i / 7))), i);
        }
    }
    cr_assert_eq(functions.count, 10000);
    cr_assert_str_eq(functions.items[1234].name, "f1234");
    clp_functions_clear(&functions);
    test_mem_check_empty(&test);
}

/* Two lambdas of one line share an entry; when one may be suspended, the entry may be. */
Test(functions, a_shared_entry_may_be_suspended_when_one_of_them_may)
{
    struct test_mem test;
    struct clp_functions functions;
    struct clp_function generator = named("a.py", "<lambda>", 1);

    generator.generator = true;
    clp_functions_init(&functions, test_mem_init(&test, 0));
    cr_assert_eq(add(&functions, named("a.py", "<lambda>", 1)), 0);
    cr_assert_not(functions.items[0].generator);
    cr_assert_eq(add(&functions, generator), 0);
    cr_assert(functions.items[0].generator);
    cr_assert_eq(add(&functions, named("a.py", "<lambda>", 1)), 0);
    cr_assert(functions.items[0].generator);
    clp_functions_clear(&functions);
}

Test(functions, out_of_memory_leaves_the_table_as_it_was)
{
    size_t fail_at = 0;
    bool failed;

    do {
        struct test_mem test;
        struct clp_functions functions;
        uint32_t number = 42;
        char name[16];
        clp_functions_init(&functions, test_mem_init(&test, ++fail_at));
        for (uint32_t i = 0; i < 40; i++) {
            (void)snprintf(name, sizeof name, "f%u", i);
            struct clp_function function = named("a.py", name, 1);
            size_t count = functions.count;
            if (clp_functions_add(&functions, &function, &number) == CLP_OK)
                continue;
            cr_assert_eq(functions.count, count);
            cr_assert_eq(number, i == 0 ? 42 : i - 1, "a failure wrote a number");
            cr_assert_eq(clp_functions_add(&functions, &function, &number), CLP_OK);
            cr_assert_eq(number, i, "the failure left a trace");
        }
        failed = test_mem_failed(&test);
        cr_assert_eq(functions.count, 40);
        clp_functions_clear(&functions);
        test_mem_check_empty(&test);
    } while (failed);
    cr_assert_gt(fail_at, 80);
}

Test(functions, a_line_has_a_cell_if_code_stands_on_it)
{
    struct clp_function sparse = named("a.py", "f", 10);
    struct clp_functions functions;
    struct test_mem test;

    clp_functions_init(&functions, test_mem_init(&test, 0));
    sparse.lines = (int32_t[]){10, 11, 900};
    const struct clp_line_map *map = (add(&functions, sparse), functions.items[0].map);
    cr_expect_eq(map->span, 891);
    cr_expect_eq(map->count, 3);
    for (int32_t line = 0; line < 1000; line++) {
        uint32_t cell = line == 10 ? 0 : line == 11 ? 1 : line == 900 ? 2 : CLP_NO_CELL;
        cr_assert_eq(clp_line_map_find(map, line), cell, "line %d", line);
    }
    cr_expect_eq(functions.items[0].lines[2], 900);
    cr_assert_eq(add(&functions, named("a.py", "f", 10)), 1, "lines 10 to 12 are another function");
    sparse.lines = (int32_t[]){10, 12, 900};
    cr_assert_eq(add(&functions, sparse), 2);
    sparse.lines = (int32_t[]){10, 11, 900};
    cr_assert_eq(add(&functions, sparse), 0);
    clp_functions_clear(&functions);
    test_mem_check_empty(&test);
}
