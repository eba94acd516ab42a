/* SPDX-License-Identifier: MIT */
/* Which ways through code are counted, and that the counts of all others follow. */
#include "made_code.h"
#include "rewrite/flow.h"

static struct test_mem test;
static struct made made;
static struct clp_decoded decoded;
static struct clp_edges edges;
static struct clp_flow flow;
static const char *reason;

static void set_up(void)
{
    decoded.mem = test_mem_init(&test, 0);
    edges.decoded = &decoded;
    flow.edges = &edges;
}

static void clear(void)
{
    clp_flow_clear(&flow);
    clp_edges_clear(&edges);
    clp_decoded_clear(&decoded);
}

static void tear_down(void)
{
    clear();
    test_mem_check_empty(&test);
}

TestSuite(flow, .init = set_up, .fini = tear_down);

static clp_status find(int minor, const char *text)
{
    clear();
    made_init(&made, minor, text);
    cr_assert_eq(clp_decoded_init(&decoded, &test.mem, &made.bytecode, &made.view, &reason), CLP_OK, "%s", reason);
    cr_assert_eq(clp_edges_init(&edges, &decoded, &reason), CLP_OK, "%s", reason);
    return clp_flow_init(&flow, &edges, &reason);
}

static uint32_t at(const char *label)
{
    uint32_t unit = made_address(&made, label);

    for (uint32_t i = 0; i < decoded.count; i++) {
        if (decoded.items[i].at == unit)
            return i;
    }
    cr_assert_fail("no instruction begins at %s", label);
    return 0;
}

/* How many ways of this kind are counted, of those between the instructions of two labels. */
static size_t counted_within(const char *first, const char *last)
{
    size_t count = 0;

    for (size_t i = 0; i < flow.count; i++) {
        const struct clp_way *way = &flow.ways[i];
        count += way->counted && way->kind != CLP_WAY_RAISE && way->at >= at(first) && way->at <= at(last) &&
                 way->target != CLP_NOWHERE && way->target >= at(first) && way->target <= at(last);
    }
    return count;
}

static const struct clp_way *way_from(const char *label, enum clp_way_kind kind)
{
    for (size_t i = 0; i < flow.count; i++) {
        if (flow.ways[i].at == at(label) && flow.ways[i].kind == kind)
            return &flow.ways[i];
    }
    cr_assert_fail("no such way from %s", label);
    return NULL;
}

#define LOOP "RESUME 0 @1; NOP @2; head: FOR_ITER >out @3; STORE_FAST 0; "
#define BODY "NOP @4; NOP @5; NOP @6; "
#define BACK_TO "back: JUMP_BACKWARD >head; "

static const char *loop_of(int minor, const char *body)
{
    static char text[1000];

    (void)snprintf(text, sizeof text, LOOP "%s" BACK_TO "out: %s RETURN_VALUE @9", body,
                   minor == 11   ? "NOP @8;"
                   : minor == 12 ? "END_FOR @3;"
                   : minor == 13 ? "END_FOR @3; POP_TOP;"
                                 : "END_FOR @3; POP_ITER;");
    return text;
}

Test(flow, a_loop_has_one_counter)
{
    for (int minor = 11; minor <= 15; minor++) {
        cr_assert_eq(find(minor, loop_of(minor, BODY)), CLP_OK, "3.%d: %s", minor, reason);
        cr_expect_eq(counted_within("head", "back"), 1, "3.%d: %zu", minor, counted_within("head", "back"));
        cr_expect_not(way_from("back", CLP_WAY_JUMP)->counted, "a counter there would cost a jump");
    }
}

/* Each time around, one of two: the longer way round has none where the shorter has one. */
Test(flow, a_branch_in_a_loop_costs_one_counter_more)
{
    for (int minor = 12; minor <= 15; minor++) {
        cr_assert_eq(find(minor, loop_of(minor, "POP_JUMP_IF_FALSE >else @4; NOP @5; JUMP_FORWARD >join; else: NOP @6;"
                                                "join: NOP @7;")), CLP_OK, "3.%d: %s", minor, reason);
        cr_expect_eq(counted_within("head", "back"), 2, "3.%d", minor);
    }
}

/* 3.11 looks for a SEND right before YIELD_VALUE, and goes right behind the loop of a delegation that ends in throw(). */
Test(flow, nothing_is_counted_between_send_and_yield)
{
    cr_assert_eq(find(11, "RESUME 0 @1; NOP @2; send: SEND >after; yield: YIELD_VALUE; RESUME 2;"
                          "again: JUMP_BACKWARD_NO_INTERRUPT >send; after: NOP @3; RETURN_VALUE"), CLP_OK, "%s", reason);
    cr_expect_not(way_from("send", CLP_WAY_FALL)->counted);
    cr_expect_not(way_from("send", CLP_WAY_JUMP)->counted);
    cr_expect_not(way_from("send", CLP_WAY_SENT)->counted);
    cr_expect(way_from("yield", CLP_WAY_LEAVE)->counted);
}

/* ---- the counts of all ways follow ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Goes through the code at random, from outside to outside, and notes how often each way was gone. */
static void walk(uint64_t *random, uint64_t *gone)
{
    uint32_t node = CLP_FLOW_OUTSIDE;

    do {
        size_t choices = 0, chosen = 0;
        for (size_t i = 0; i < flow.count; i++)
            choices += flow.ways[i].from == node;
        cr_assert_neq(choices, 0, "node %u has no way out", node);
        size_t choice = next_random(random) % choices;
        for (size_t i = 0; i < flow.count; i++) {
            if (flow.ways[i].from == node && choice-- == 0)
                chosen = i;
        }
        gone[chosen]++;
        node = flow.ways[chosen].to;
    } while (node != CLP_FLOW_OUTSIDE);
}

/* Counts as engine/ways.c does, by what is written for it. */
static void expect_all_follow(const uint64_t *gone, const struct clp_rewritten *out)
{
    int64_t excess[200] = {0};
    uint64_t by_line[20] = {0}, wanted[20] = {0}, entered = 0, wanted_entered = 0;

    cr_assert_leq(out->node_count, 200);
    for (size_t i = 0; i < out->edge_count; i++) {
        const struct clp_flow_edge *edge = &out->edges[i];
        int64_t count = edge->counter == CLP_FLOW_DERIVED ? (edge->by_from ? -excess[edge->from] : excess[edge->to]) : 0;
        for (size_t j = 0; j < flow.count; j++) {
            if (flow.ways[j].counted && flow.ways[j].counter == edge->counter)
                count = (int64_t)gone[j];
        }
        excess[edge->from] += count;
        excess[edge->to] -= count;
        if (edge->line >= 0)
            by_line[edge->line] += (uint64_t)count;
        entered += edge->enters ? (uint64_t)count : 0;
    }
    for (size_t j = 0; j < flow.count; j++) {
        if (flow.ways[j].begins)
            wanted[flow.ways[j].line] += gone[j];
        if (flow.ways[j].kind == CLP_WAY_ENTER && flow.ways[j].at == decoded.entry)
            wanted_entered += gone[j];
    }
    for (uint32_t i = 0; i < out->node_count; i++)
        cr_expect_eq(excess[i], 0, "node %u keeps %lld", i, (long long)excess[i]);
    for (int i = 0; i < 20; i++)
        cr_expect_eq(by_line[i], wanted[i], "line %d: %llu, not %llu", i, (unsigned long long)by_line[i],
                     (unsigned long long)wanted[i]);
    cr_expect_eq(entered, wanted_entered);
}

Test(flow, the_counts_of_all_ways_follow_from_the_counters)
{
    static const char *const programs[] = {
        "RESUME 0 @1; NOP @2; RETURN_VALUE @3",
        "RESUME 0 @1; a: NOP @2; POP_JUMP_IF_TRUE >b @3; BINARY_OP 0 @4; JUMP_BACKWARD >a; b: BINARY_OP 0 @5; RETURN_VALUE",
        "RESUME 0 @1; t: BINARY_OP 0 @2; BINARY_OP 0 @3; u: RETURN_VALUE @4; h: PUSH_EXC_INFO @-; BINARY_OP 0 @5;"
        "POP_EXCEPT; x: JUMP_BACKWARD >u; .try t u h 0; .try h x u 1 lasti",
        "RESUME 0 @1; a: BINARY_OP 0 @2; YIELD_VALUE 1; r: RESUME 1; POP_TOP @2; POP_JUMP_IF_NONE >z @3; JUMP_BACKWARD >a;"
        "z: RETURN_VALUE @4; h: BINARY_OP 0 @5; RERAISE 1; .try a z h 0 lasti",
        "RESUME 0 @1; a: NOP @2; POP_JUMP_IF_TRUE >e @3; POP_JUMP_IF_TRUE >e @4; POP_JUMP_IF_NONE >a2 @5; a2: NOP @6;"
        "POP_JUMP_IF_TRUE >e @7; JUMP_BACKWARD >a; e: RETURN_VALUE @8",
    };
    uint64_t random = 7, gone[400];

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (int minor = 12; minor <= 15; minor++) {
            struct clp_rewritten out = {.mem = &test.mem};
            cr_assert_eq(find(minor, programs[i]), CLP_OK, "3.%d: %s", minor, reason);
            cr_assert_leq(flow.count, 400);
            memset(gone, 0, sizeof gone);
            for (uint32_t j = 0; j < flow.count; j++)
                flow.ways[j].counter = j; /* elsewhere the constants of their probes */
            for (int j = 0; j < 500; j++)
                walk(&random, gone);
            cr_assert_eq(clp_flow_write(&flow, 0, &out), CLP_OK);
            expect_all_follow(gone, &out);
            clp_mem_free(&test.mem, out.edges, out.edge_room, sizeof *out.edges);
        }
    }
}

Test(flow, no_memory)
{
    size_t failures = 0;

    for (size_t fail_at = 1; failures + 1 == fail_at; fail_at++) {
        clear();
        made_init(&made, 13, loop_of(13, BODY));
        cr_assert_eq(clp_decoded_init(&decoded, &test.mem, &made.bytecode, &made.view, &reason), CLP_OK);
        cr_assert_eq(clp_edges_init(&edges, &decoded, &reason), CLP_OK);
        test.calls = 0;
        test.fail_at = fail_at;
        failures += clp_flow_init(&flow, &edges, &reason) == CLP_NO_MEMORY;
        test.fail_at = 0;
    }
    cr_expect_gt(failures, 5);
}
