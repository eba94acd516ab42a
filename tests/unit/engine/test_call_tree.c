/* SPDX-License-Identifier: MIT */
#include "engine/call_tree.h"
#include "helpers.h"

struct fixture {
    struct test_mem test;
    struct clp_pages pages;
    struct clp_pool pool;
    struct clp_calls calls;
};

static struct clp_call *begin(struct fixture *fixture)
{
    struct clp_mem *mem = test_mem_init(&fixture->test, 0);

    fixture->pages = (struct clp_pages){0};
    clp_pool_init(&fixture->pool, &fixture->pages);
    clp_calls_init(&fixture->calls, mem, &fixture->pool);
    return clp_calls_root(&fixture->calls, 0);
}

static void end(struct fixture *fixture)
{
    clp_calls_clear(&fixture->calls);
    clp_pool_clear(&fixture->pool);
    cr_expect_eq(fixture->pages.bytes, 0);
    test_mem_check_empty(&fixture->test);
}

Test(call_tree, finds_what_it_made)
{
    struct fixture fixture;
    struct clp_call *root = begin(&fixture), *first[40];

    for (uint32_t i = 0; i < 40; i++)
        first[i] = clp_calls_find(&fixture.calls, root, clp_block_place(i % 4), i / 4);
    for (uint32_t i = 40; i-- > 0;) {
        size_t place = clp_block_place(i % 4);
        struct clp_call *searched = clp_calls_search(root, place, i / 4);
        cr_expect(searched == NULL || searched == first[i]);
        cr_expect_eq(clp_calls_find(&fixture.calls, root, place, i / 4), first[i]);
        cr_expect_eq(clp_calls_known(root, place, i / 4), first[i]);
    }
    cr_expect_null(clp_calls_known(root, clp_block_place(4), 0));
    cr_expect_null(clp_calls_search(root, clp_block_place(4), 0));
    cr_expect_null(clp_calls_search(first[0], clp_block_place(0), 0));
    cr_expect_eq(fixture.calls.count, 42); /* and `deeper`, and the root */
    end(&fixture);
}

Test(call_tree, groups_have_roots_of_their_own)
{
    struct fixture fixture;
    struct clp_call *root = begin(&fixture), *other = clp_calls_root(&fixture.calls, 7);
    struct clp_call *call = clp_calls_find(&fixture.calls, other, 0, 3);

    cr_expect_neq(other, root);
    cr_expect_eq(clp_calls_root(&fixture.calls, 7), other);
    cr_expect_neq(clp_calls_find(&fixture.calls, root, 0, 3), call);
    cr_expect_eq(clp_call_group(clp_calls_find(&fixture.calls, call, 0, 4)), 7);
    end(&fixture);
}

Test(call_tree, recursion_ends_in_a_leaf)
{
    struct fixture fixture;
    struct clp_call *root = begin(&fixture);
    struct clp_call *f = clp_calls_find(&fixture.calls, root, 0, 0);
    struct clp_call *g = clp_calls_find(&fixture.calls, f, clp_block_place(0), 1);
    struct clp_call *again = clp_calls_find(&fixture.calls, g, clp_block_place(2), 0);

    cr_expect_eq(f->home, f);
    cr_expect_eq(g->home, g);
    cr_expect_neq(again, f);
    cr_expect_eq(again->home, f);
    cr_expect_eq(again->parent, g);
    cr_expect_eq(clp_calls_of(&fixture.calls, 0), again);
    cr_expect_eq(again->of_same, f);
    cr_expect_null(clp_calls_of(&fixture.calls, 2));
    end(&fixture);
}

Test(call_tree, ends_somewhere)
{
    struct fixture fixture;
    struct clp_call *root = begin(&fixture), *call = NULL, *deeper = fixture.calls.deeper;
    uint32_t room = CLP_CALLS_MOST - fixture.calls.count;

    for (uint32_t i = 0; i < room; i++) {
        call = clp_calls_find(&fixture.calls, root, clp_block_place(i), 5);
        cr_assert_neq(call, deeper);
    }
    cr_expect_eq(clp_calls_find(&fixture.calls, root, clp_block_place(room), 5), deeper);
    cr_expect_eq(clp_calls_find(&fixture.calls, deeper, clp_block_place(0), 5), deeper);
    cr_expect_eq(clp_calls_find(&fixture.calls, root, clp_block_place(room - 1), 5), call);
    cr_expect_eq(clp_calls_root(&fixture.calls, 1), deeper);
    cr_expect_eq(fixture.calls.count, CLP_CALLS_MOST);
    end(&fixture);
}

/* Without memory calls are counted in `deeper`, wherever memory ends. */
Test(call_tree, want_of_memory_loses_no_call)
{
    for (size_t at = 1; at < 20; at++) {
        struct test_mem test;
        struct clp_pages pages = {0};
        struct clp_pool pool;
        struct clp_calls calls;
        clp_pool_init(&pool, &pages);
        clp_calls_init(&calls, test_mem_init(&test, at), &pool);
        struct clp_call *from = clp_calls_root(&calls, 0);
        for (uint32_t i = 0; i < 100; i++) {
            struct clp_call *call = clp_calls_find(&calls, from, clp_block_place(i), i);
            cr_assert(call == calls.deeper || (call->function == i && call->parent == from));
            if (call != calls.deeper)
                cr_assert_eq(clp_calls_find(&calls, from, clp_block_place(i), i), call);
        }
        clp_calls_clear(&calls);
        clp_pool_clear(&pool);
        test_mem_check_empty(&test);
    }
}
