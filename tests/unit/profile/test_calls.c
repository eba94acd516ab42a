/* SPDX-License-Identifier: MIT */
#include "helpers.h"
#include "profile/calls.h"
#include "profile/profile_merge.h"
#include "profile/texts.h"
#include <stdio.h>

static struct test_mem test;
static struct clp_profile profile;

static void set_up(void)
{
    clp_profile_init(&profile, test_mem_init(&test, 0));
}

static void tear_down(void)
{
    test_check_profile(&profile);
    clp_profile_clear(&profile);
    test_mem_check_empty(&test);
}

TestSuite(calls, .init = set_up, .fini = tear_down);

/* Finds or adds the function of a.py that has this name. Returns its place. */
static uint32_t function(struct clp_profile *to, const char *name)
{
    struct clp_profile_function *found = NULL;

    cr_assert_eq(clp_profile_add_function(to, "a.py", name, 1, &found), CLP_OK);
    return (uint32_t)(found - to->functions);
}

/* Adds a context of one call. `parent` is a place plus 1. Returns the place plus 1. */
static uint32_t call(struct clp_profile *to, uint32_t parent, int32_t line, const char *name, uint64_t time)
{
    struct clp_profile_call one = {.parent = parent, .line = line, .function = function(to, name),
                                   .calls = 1, .time = time, .increment = (int64_t)time * 10};
    uint32_t place = 0;

    cr_assert_eq(clp_profile_add_call(to, &one, &place), CLP_OK);
    return place + 1;
}

static uint64_t self_of(const struct clp_profile *of, uint32_t place)
{
    uint64_t self[64];

    cr_assert_leq(of->call_count, sizeof self / sizeof self[0]);
    cr_assert_eq(clp_profile_call_selves(of, self), CLP_OK);
    return self[place - 1];
}

Test(calls, one_key_is_one_context)
{
    uint32_t f = call(&profile, 0, 0, "f", 100);
    uint32_t g = call(&profile, f, 2, "g", 30);

    cr_assert_eq(call(&profile, f, 2, "g", 12), g);
    cr_assert_eq(profile.calls[g - 1].calls, 2);
    cr_assert_eq(profile.calls[g - 1].time, 42);
    cr_assert_eq(profile.calls[g - 1].increment, 420);
    cr_assert_neq(call(&profile, f, 3, "g", 1), g, "another line");
    cr_assert_neq(call(&profile, 0, 2, "g", 1), g, "another parent");
    cr_assert_neq(call(&profile, f, 2, "h", 1), g, "another function");
    struct clp_profile_call through = profile.calls[g - 1];
    through.through = true;
    uint32_t place = 0;
    cr_assert_eq(clp_profile_add_call(&profile, &through, &place), CLP_OK);
    cr_assert_neq(place + 1, g, "through other code");
    cr_assert_eq(profile.call_count, 6);
}

Test(calls, sums_stop_at_the_ends)
{
    struct clp_profile_call one = {.function = function(&profile, "f"), .calls = UINT64_MAX,
                                   .time = UINT64_MAX, .again = UINT64_MAX, .increment = INT64_MIN};

    for (int i = 0; i < 2; i++)
        cr_assert_eq(clp_profile_add_call(&profile, &one, NULL), CLP_OK);
    cr_assert_eq(profile.calls[0].calls, UINT64_MAX);
    cr_assert_eq(profile.calls[0].time, UINT64_MAX);
    cr_assert_eq(profile.calls[0].again, UINT64_MAX);
    cr_assert_eq(profile.calls[0].increment, INT64_MIN);
    cr_assert_eq(self_of(&profile, 1), UINT64_MAX);
}

/* No two keys with equal hashes are at hand, so the index is made to say that the place of this key is taken. */
Test(calls, equal_hashes_are_told_apart)
{
    call(&profile, 0, 0, "f", 1);
    struct clp_hashmap_slot *slots = profile.call_index.slots;
    uint64_t hash = 0;
    uint32_t g = function(&profile, "g"), place;
    struct clp_profile_call one = {.function = g};
    uint32_t key[] = {0, 0, g, 0};

    for (size_t i = 0; i < profile.call_index.room; i++)
        hash = slots[i].used ? slots[i].key : hash;
    cr_assert(clp_hashmap_take(&profile.call_index, hash, &(uint64_t){0}));
    cr_assert_eq(clp_hashmap_set(&profile.call_index, clp_hash_text(0, (const char *)key, sizeof key), 0),
                 CLP_OK);
    for (int round = 0; round < 2; round++) {
        cr_assert_eq(clp_profile_add_call(&profile, &one, &place), CLP_OK);
        cr_assert_eq(place, 1);
    }
}

/* main calls f for 100 ns. f calls g twice for 20 ns and itself for 60 ns; the inner f calls g for 5 of these 20 ns. */
Test(calls, self_times_of_recursion_make_the_whole)
{
    uint32_t main = call(&profile, 0, 0, "main", 130);
    uint32_t f = call(&profile, main, 1, "f", 100);
    uint32_t g = call(&profile, f, 2, "g", 20);
    uint32_t leaf = call(&profile, f, 3, "f", 60);
    uint32_t homes[4];

    cr_assert_eq(clp_profile_call_homes(&profile, homes), CLP_OK);
    cr_assert_eq(homes[leaf - 1], f - 1);
    cr_assert_eq(homes[g - 1], g - 1);
    cr_assert_eq(self_of(&profile, main), 30);
    cr_assert_eq(self_of(&profile, f), 80);
    cr_assert_eq(self_of(&profile, g), 20);
    cr_assert_eq(self_of(&profile, leaf), 0);
}

/* f calls itself from line 2 three deep: 50 ns in all, of which 30 + 10 are within another call of that line. */
Test(calls, self_time_knows_what_time_leaves_out)
{
    uint32_t f = call(&profile, 0, 0, "f", 60), leaf = call(&profile, f, 2, "f", 50);

    profile.calls[leaf - 1].again = 40;
    cr_assert_eq(self_of(&profile, f), 60);
}

Test(calls, home_is_on_the_own_path)
{
    uint32_t f = call(&profile, 0, 0, "f", 9), g = call(&profile, f, 1, "g", 5);
    uint32_t other = call(&profile, 0, 0, "g", 7), below = call(&profile, other, 1, "f", 6);
    uint32_t homes[4];

    cr_assert_eq(clp_profile_call_homes(&profile, homes), CLP_OK);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(homes[i], i);
    cr_assert_eq(self_of(&profile, f), 4);
    cr_assert_eq(self_of(&profile, g), 5);
    cr_assert_eq(self_of(&profile, other), 1);
    cr_assert_eq(self_of(&profile, below), 6);
}

/* A walk that took one step of C's stack, or of the path, for each level would not end. */
Test(calls, deep_trees_take_linear_time, .timeout = 60)
{
    enum { DEPTH = 200000 };
    char name[32];
    uint32_t at = 0, *homes = malloc(DEPTH * sizeof *homes);

    for (int i = 0; i < DEPTH; i++) {
        snprintf(name, sizeof name, "f%d", i);
        at = call(&profile, at, 1, name, 1);
    }
    cr_assert_eq(clp_profile_call_homes(&profile, homes), CLP_OK);
    cr_assert_eq(homes[DEPTH - 1], DEPTH - 1);
    free(homes);
}

Test(calls, merging_finds_parents_and_functions_in_their_new_places)
{
    struct clp_profile other;
    struct clp_profile_call deeper = {.function = CLP_CALL_DEEPER, .calls = 3};

    uint32_t f = call(&profile, 0, 0, "f", 10);
    clp_profile_init(&other, &test.mem);
    call(&other, 0, 0, "g", 100);
    uint32_t also = call(&other, 0, 0, "f", 20);
    uint32_t h = call(&other, also, 4, "h", 7);
    deeper.parent = h;
    cr_assert_eq(clp_profile_add_call(&other, &deeper, NULL), CLP_OK);
    other.calls_cut = 3;
    for (int round = 1; round <= 2; round++) {
        cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
        cr_assert_eq(profile.call_count, 4);
        cr_assert_eq(profile.calls[f - 1].time, 10 + 20 * (uint64_t)round);
        const struct clp_profile_call *merged = &profile.calls[2];
        cr_assert_eq(merged->parent, f);
        cr_assert_eq(merged->line, 4);
        cr_assert_str_eq(profile.functions[merged->function].name, "h");
        cr_assert_eq(merged->time, 7 * (uint64_t)round);
        cr_assert_eq(profile.calls[3].parent, 3);
        cr_assert_eq(profile.calls[3].function, CLP_CALL_DEEPER);
        cr_assert_eq(profile.calls_cut, 3 * (uint64_t)round);
    }
    clp_profile_clear(&other);
}

Test(calls, merging_with_itself_doubles)
{
    call(&profile, call(&profile, 0, 0, "f", 10), 2, "g", 4);
    cr_assert_eq(clp_profile_merge(&profile, &profile), CLP_OK);
    cr_assert_eq(profile.call_count, 2);
    cr_assert_eq(profile.calls[1].time, 8);
}

static void set_source(struct clp_profile *to, const char *name, const char *text)
{
    cr_assert_eq(clp_profile_set_source(to, &to->functions[function(to, name)], text, strlen(text)), CLP_OK);
}

Test(calls, merging_follows_a_function_that_is_kept_apart)
{
    struct clp_profile other;

    call(&profile, 0, 0, "f", 10);
    set_source(&profile, "f", "one\n");
    clp_profile_init(&other, &test.mem);
    call(&other, call(&other, 0, 0, "f", 20), 2, "g", 5);
    set_source(&other, "f", "two\n");
    cr_assert_eq(clp_profile_merge(&profile, &other), CLP_OK);
    cr_assert_eq(profile.call_count, 3);
    cr_assert_str_eq(profile.functions[profile.calls[1].function].name, "f (2)");
    cr_assert_eq(profile.calls[2].parent, 2);
    clp_profile_clear(&other);
}

/* Two functions of the one profile are the same function of the other: a context between them becomes recursion. */
Test(calls, merging_folds_recursion_that_shows_only_then)
{
    uint32_t same[] = {0, 0, 1}, homes[4];
    struct clp_profile other;

    function(&profile, "f");
    function(&profile, "g");
    clp_profile_init(&other, &test.mem);
    uint32_t f = call(&other, 0, 0, "f", 50), second = call(&other, f, 1, "f (2)", 30);
    call(&other, second, 2, "g", 10);
    cr_assert_eq(clp_profile_merge_calls(&profile, &other, same), CLP_OK);
    cr_assert_eq(profile.calls[1].function, 0);
    cr_assert_eq(profile.calls[2].parent, 1, "the caller is a leaf");
    cr_assert_eq(clp_profile_call_homes(&profile, homes), CLP_OK);
    cr_assert_eq(homes[1], 0);
    clp_profile_clear(&other);
}

/* main calls f on line 1, f calls g on line 2, and g calls h on line 3, and also f. */
Test(calls, what_a_left_out_function_calls_is_called_through_it)
{
    struct clp_profile other;

    function(&profile, "h");
    function(&profile, "main");
    clp_profile_init(&other, &test.mem);
    uint32_t main = call(&other, 0, 0, "main", 100), f = call(&other, main, 1, "f", 50);
    uint32_t g = call(&other, f, 2, "g", 30);
    call(&other, g, 3, "h", 10);
    call(&other, g, 4, "f", 5);
    call(&other, call(&other, 0, 0, "f", 9), 7, "h", 8);
    uint32_t functions[] = {1, CLP_CALL_DEEPER, CLP_CALL_DEEPER, 0};
    cr_assert_eq(clp_profile_merge_calls(&profile, &other, functions), CLP_OK);
    cr_assert_eq(profile.call_count, 3);
    const struct clp_profile_call *h = &profile.calls[1], *alone = &profile.calls[2];
    cr_assert(test_same_call(h, &(struct clp_profile_call){
        .parent = 1, .line = 1, .function = 0, .through = true, .calls = 1, .time = 10, .increment = 100}));
    cr_assert(test_same_call(alone, &(struct clp_profile_call){
        .function = 0, .calls = 1, .time = 8, .increment = 80}));
    clp_profile_clear(&other);
}

Test(calls, out_of_memory_anywhere_leaves_a_whole_profile)
{
    struct clp_profile other;
    struct test_mem steady;

    clp_profile_init(&other, test_mem_init(&steady, 0));
    uint32_t at = call(&other, 0, 0, "f", 1);
    for (int32_t line = 1; line < 40; line++)
        call(&other, at, line, "g", 1);
    for (size_t fail = 1;; fail++) {
        clp_profile_clear(&profile);
        other.mem = test_mem_init(&test, fail);
        clp_profile_init(&profile, &test.mem);
        clp_status status = clp_profile_merge(&profile, &other);
        uint64_t self[64];
        if (status == CLP_OK)
            status = clp_profile_call_selves(&profile, self);
        for (size_t i = 0; i < profile.call_count; i++)
            cr_assert_leq(profile.calls[i].parent, i);
        if (!test_mem_failed(&test)) {
            cr_assert_eq(status, CLP_OK);
            break;
        }
        cr_assert_eq(status, CLP_NO_MEMORY);
    }
    other.mem = &steady.mem;
    clp_profile_clear(&other);
    test_mem_check_empty(&steady);
}
