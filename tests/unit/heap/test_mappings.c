/* SPDX-License-Identifier: MIT */
#include "heap/mappings.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct clp_mem mem;
static struct clp_mappings mappings;

static void start(void)
{
    mem = clp_mem_system();
    clp_mappings_init(&mappings, &mem);
}

static void end(void)
{
    clp_mem_free(&mem, mappings.items, mappings.room, sizeof *mappings.items);
}

TestSuite(mappings, .init = start, .fini = end);

static void add(uint64_t first, uint64_t behind)
{
    cr_assert_eq(clp_mappings_add(&mappings, first, behind), CLP_OK);
}

static bool takes(uint64_t first, uint64_t behind, uint64_t expected)
{
    struct clp_mapping taken = {0};

    return clp_mappings_take(&mappings, first, behind, &taken) && taken.start == expected;
}

Test(mappings, what_lies_beside_is_left_alone)
{
    add(100, 200);
    add(300, 400);
    cr_expect_not(takes(200, 300, 0));
    cr_expect_not(takes(0, 100, 0));
    cr_expect_not(takes(400, 1000, 0));
    cr_expect_eq(mappings.count, 2);
}

Test(mappings, whoever_has_a_byte_there_is_taken)
{
    add(300, 400);
    add(100, 200);
    cr_expect(takes(199, 200, 100));
    cr_expect(takes(0, 301, 300));
    cr_expect_eq(mappings.count, 0);
    add(100, 200);
    add(300, 400);
    cr_expect(takes(150, 350, 300)); /* one after the other */
    cr_expect(takes(150, 350, 100));
    cr_expect_not(takes(150, 350, 0));
}

static void *refuse(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    (void)context, (void)block, (void)old_bytes, (void)new_bytes;
    return NULL;
}

Test(mappings, without_memory_nothing_changes)
{
    for (uint64_t i = 1; i <= 64; i++)
        add(i * 100, i * 100 + 50);
    mem.resize = refuse;
    cr_expect_eq(clp_mappings_add(&mappings, 7, 9), CLP_NO_MEMORY);
    cr_expect_eq(mappings.count, 64);
    cr_expect(takes(6400, 6401, 6400));
    mem.resize = clp_mem_system().resize;
}

/* Against a map of bytes. */
Test(mappings, anything_may_come_and_go)
{
    enum { BYTES = 2000, STEPS = 100000 };
    static unsigned char there[BYTES + 1];

    srand(11);
    for (int i = 0; i < STEPS; i++) {
        uint64_t first = (uint64_t)rand() % BYTES;
        uint64_t behind = first + 1 + (uint64_t)rand() % (BYTES - first);
        struct clp_mapping taken;
        bool free = memchr(there + first, 1, behind - first) == NULL;
        if (free && rand() % 4 != 0) {
            add(first, behind);
            memset(there + first, 1, behind - first);
            continue;
        }
        cr_assert_eq(clp_mappings_take(&mappings, first, behind, &taken), !free);
        if (!free) {
            cr_assert(taken.start < behind && taken.end > first);
            memset(there + taken.start, 0, taken.end - taken.start);
        }
    }
    for (size_t i = 1; i < mappings.count; i++)
        cr_assert(mappings.items[i].end <= mappings.items[i - 1].start);
}
