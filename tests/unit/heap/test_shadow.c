/* SPDX-License-Identifier: MIT */
#include "heap/shadow.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static struct clp_pages pages;
static struct clp_shadow shadow;

static void start(void)
{
    pages = (struct clp_pages){0};
    cr_assert_eq(clp_shadow_init(&shadow, &pages), CLP_OK);
}

static void end(void)
{
    clp_shadow_clear(&shadow);
    cr_expect_eq(pages.bytes, 0, "pages that did not go back");
}

static void *block(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static void put(uint64_t address, uint64_t owned)
{
    struct clp_shadow_slot *slot = clp_shadow_add(&shadow, block(address));

    cr_assert_not_null(slot);
    slot->owned = owned;
}

static uint64_t get(uint64_t address)
{
    const struct clp_shadow_slot *slot = clp_shadow_find(&shadow, block(address));

    return slot != NULL ? slot->owned : 0;
}

/* Wherever a process may have memory, and on both sides of every border. */
static const uint64_t places[] = {16, 4080, 4096, 0xfffff0, 0x1000000, 0x1000010, 0xffffffff0,
                                  0x1000000000, 0x555555559260, 0x7fffffffeff0, 0xfffffffffff0};

#define PLACES (sizeof places / sizeof *places)

Test(shadow, each_address_has_its_own_slot)
{
    start();
    for (size_t i = 0; i < PLACES; i++)
        put(places[i], i + 1);
    for (size_t i = 0; i < PLACES; i++)
        cr_expect_eq(get(places[i]), i + 1, "%zu", i);
    for (size_t i = 0; i < PLACES; i += 2)
        clp_shadow_remove(&shadow, block(places[i]));
    for (size_t i = 0; i < PLACES; i++)
        cr_expect_eq(get(places[i]), i % 2 != 0 ? i + 1 : 0, "%zu", i);
    end();
}

Test(shadow, no_block_begins_there)
{
    const uint64_t bad[] = {8, 4097, (uint64_t)1 << 48, UINT64_MAX - 15, UINT64_MAX};

    start();
    put(16, 1);
    put(4096, 2);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_null(clp_shadow_add(&shadow, block(bad[i])), "%zu", i);
        cr_expect_eq(get(bad[i]), 0, "%zu", i);
    }
    cr_expect_eq(get(16), 1);
    end();
}

struct tally {
    size_t count;
    uint64_t sum;
};

static void add_up(void *data, struct clp_shadow_slot *slot)
{
    struct tally *tally = data;

    tally->count++;
    tally->sum += slot->owned;
}

static struct tally tally_all(void)
{
    struct tally tally = {0};

    clp_shadow_walk(&shadow, add_up, &tally);
    return tally;
}

/* Against a plain array, in a few pages so that they fill and become empty all the time. */
Test(shadow, holds_what_it_should)
{
    enum { SLOTS = 2000, STEPS = 400000 };
    static uint64_t model[SLOTS];

    start();
    srand(11);
    for (int i = 0; i < STEPS; i++) {
        size_t at = (size_t)rand() % (i / 100000 % 2 == 0 ? SLOTS : SLOTS / 20);
        uint64_t address = 0x7f0000fff000 + at * CLP_SHADOW_GRANULE * (1 + at % 2 * 300);
        cr_assert_eq(get(address), model[at]);
        if (model[at] != 0 && rand() % 4 != 0) {
            clp_shadow_remove(&shadow, block(address));
            model[at] = 0;
        } else {
            model[at] = 1 + (uint64_t)rand();
            put(address, model[at]);
        }
    }
    struct tally expected = {0}, found = tally_all();
    for (size_t i = 0; i < SLOTS; i++) {
        expected.count += model[i] != 0;
        expected.sum += model[i];
    }
    cr_expect_eq(found.count, expected.count);
    cr_expect_eq(found.sum, expected.sum);
    end();
}

/* What comes and goes does not make it grow. */
Test(shadow, empty_leaves_are_used_again)
{
    start();
    put(4096, 1);
    uint64_t bytes = pages.bytes;
    for (uint64_t i = 2; i < 4000; i++) {
        put(i * 4096 + 32, i);
        clp_shadow_remove(&shadow, block(i * 4096 + 32));
        cr_assert_eq(get((i + 1) * 4096 + 32), 0);
    }
    cr_expect_eq(pages.bytes, bytes);
    cr_expect_eq(tally_all().count, 1);
    end();
}

Test(shadow, emptied_it_is_as_new)
{
    start();
    for (uint64_t turn = 0; turn < 3; turn++) {
        uint64_t bytes = pages.bytes;
        for (uint64_t i = 1; i < 3000; i++)
            put(i * 1024 + turn * 16, i);
        cr_expect(turn == 0 || pages.bytes == bytes);
        cr_expect_eq(tally_all().count, 2999, "something was left of the turn before");
        clp_shadow_empty(&shadow);
        cr_expect_eq(tally_all().count, 0);
        cr_expect_eq(get(1024 + turn * 16), 0);
    }
    end();
}
