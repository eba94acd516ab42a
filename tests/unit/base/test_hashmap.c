/* SPDX-License-Identifier: MIT */
#include "base/hashmap.h"
#include "helpers.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

Test(hashmap, an_empty_map_allocates_nothing)
{
    struct test_mem test;
    struct clp_hashmap map;
    uint64_t value = 42;

    clp_hashmap_init(&map, test_mem_init(&test, 0));
    cr_assert_not(clp_hashmap_get(&map, 0, &value));
    cr_assert_not(clp_hashmap_take(&map, 0, &value));
    cr_assert_eq(value, 42, "a miss wrote a value");
    clp_hashmap_clear(&map);
    cr_assert_eq(test.calls, 0);
}

Test(hashmap, zero_and_the_largest_are_keys_like_others)
{
    struct test_mem test;
    struct clp_hashmap map;
    uint64_t value = 42;

    clp_hashmap_init(&map, test_mem_init(&test, 0));
    cr_assert_eq(clp_hashmap_set(&map, UINT64_MAX, 0), CLP_OK);
    cr_assert_not(clp_hashmap_get(&map, 0, &value));
    cr_assert_eq(clp_hashmap_set(&map, 0, UINT64_MAX), CLP_OK);
    cr_assert(clp_hashmap_get(&map, 0, &value));
    cr_assert_eq(value, UINT64_MAX);
    cr_assert(clp_hashmap_get(&map, UINT64_MAX, &value));
    cr_assert_eq(value, 0);
    cr_assert_eq(map.count, 2);
    clp_hashmap_clear(&map);
    test_mem_check_empty(&test);
}

Test(hashmap, setting_again_replaces)
{
    struct test_mem test;
    struct clp_hashmap map;
    uint64_t value;

    clp_hashmap_init(&map, test_mem_init(&test, 0));
    for (uint64_t i = 0; i < 1000; i++)
        cr_assert_eq(clp_hashmap_set(&map, 7, i), CLP_OK);
    cr_assert(clp_hashmap_get(&map, 7, &value));
    cr_assert_eq(value, 999);
    cr_assert_eq(map.count, 1);
    cr_assert_eq(test.calls, 1);
    clp_hashmap_clear(&map);
}

/* Against a plain array: random sets and takes of few keys, so that all wrap around, collide and
 * are taken out in every order. */
Test(hashmap, behaves_like_an_array)
{
    enum { KEYS = 200 };
    uint64_t values[KEYS] = {0};
    bool there[KEYS] = {false};
    uint64_t random = 1, value;
    size_t count = 0;
    struct test_mem test;
    struct clp_hashmap map;

    clp_hashmap_init(&map, test_mem_init(&test, 0));
    for (int step = 0; step < 100000; step++) {
        uint64_t key = next_random(&random) % KEYS;
        bool emptying = step / 1000 % 2 == 1;
        if (next_random(&random) % 4 < (emptying ? 1u : 3u)) {
            cr_assert_eq(clp_hashmap_set(&map, key * 4096, (uint64_t)step), CLP_OK);
            count += !there[key];
            there[key] = true;
            values[key] = (uint64_t)step;
        } else {
            cr_assert_eq(clp_hashmap_take(&map, key * 4096, &value), there[key]);
            cr_assert(!there[key] || value == values[key]);
            count -= there[key];
            there[key] = false;
        }
        cr_assert_eq(map.count, count);
        key = next_random(&random) % KEYS;
        cr_assert_eq(clp_hashmap_get(&map, key * 4096, &value), there[key], "step %d", step);
        cr_assert(!there[key] || value == values[key]);
    }
    clp_hashmap_clear(&map);
    test_mem_check_empty(&test);
}

Test(hashmap, taking_out_leaves_no_trace)
{
    struct test_mem test;
    struct clp_hashmap map;
    uint64_t value;

    clp_hashmap_init(&map, test_mem_init(&test, 0));
    for (uint64_t i = 0; i < 100000; i++) {
        cr_assert_eq(clp_hashmap_set(&map, i, i), CLP_OK);
        cr_assert(i < 8 || clp_hashmap_take(&map, i - 8, &value));
    }
    cr_assert_eq(test.calls, 1, "tombstones made the map grow");
    clp_hashmap_clear(&map);
}

/* Addresses differ in few bits; a search must stay short all the same. */
Test(hashmap, spreads_addresses)
{
    struct test_mem test;
    struct clp_hashmap map;
    size_t run = 0, longest = 0;

    clp_hashmap_init(&map, test_mem_init(&test, 0));
    for (uint64_t i = 0; i < 10000; i++)
        cr_assert_eq(clp_hashmap_set(&map, UINT64_C(0x7f0000000000) + i * 4096, i), CLP_OK);
    for (size_t i = 0; i < map.room; i++) {
        run = map.slots[i].used ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    cr_assert_lt(longest, 300, "%zu keys in one run", longest);
    clp_hashmap_clear(&map);
}

Test(hashmap, out_of_memory_leaves_the_map_as_it_was)
{
    size_t fail_at = 0;
    bool failed;

    do {
        struct test_mem test;
        struct clp_hashmap map;
        uint64_t value, set = 0;
        clp_hashmap_init(&map, test_mem_init(&test, ++fail_at));
        while (set < 100 && clp_hashmap_set(&map, set, set + 1) == CLP_OK)
            set++;
        failed = test_mem_failed(&test);
        cr_assert_eq(set == 100, !failed);
        cr_assert_eq(map.count, set);
        cr_assert(set == 100 || !clp_hashmap_get(&map, set, &value));
        for (uint64_t i = 0; i < set; i++)
            cr_assert(clp_hashmap_get(&map, i, &value) && value == i + 1);
        cr_assert(set == 0 || clp_hashmap_set(&map, 0, 7) == CLP_OK, "replacing allocated");
        cr_assert(set == 0 || clp_hashmap_take(&map, 0, &value));
        clp_hashmap_clear(&map);
        test_mem_check_empty(&test);
    } while (failed);
    cr_assert_gt(fail_at, 3);
}

Test(hashmap, hashes_texts_as_fnv_1a_does)
{
    cr_assert_eq(clp_hash_text(0, "", 0), UINT64_C(0xcbf29ce484222325));
    cr_assert_eq(clp_hash_text(0, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    cr_assert_eq(clp_hash_text(0, "foobar", 6), UINT64_C(0x85944171f73967e8));
    cr_assert_neq(clp_hash_text(clp_hash_text(0, "ab", 2), "c", 1),
                  clp_hash_text(clp_hash_text(0, "a", 1), "bc", 2));
}
