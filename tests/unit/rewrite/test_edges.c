/* SPDX-License-Identifier: MIT */
/* Which ways begin a line is also measured against the interpreters' own LINE events, in
 * tests/conformance; here every rule stands by itself. */
#include "rewrite/edges.h"
#include "made_code.h"

static struct test_mem test;
static struct made made;
static struct clp_decoded decoded;
static struct clp_edges edges;
static const char *reason;

static void set_up(void)
{
    decoded.mem = test_mem_init(&test, 0);
    edges.decoded = &decoded;
}

static void clear(void)
{
    clp_edges_clear(&edges);
    clp_decoded_clear(&decoded);
}

static void tear_down(void)
{
    clear();
    test_mem_check_empty(&test);
}

TestSuite(edges, .init = set_up, .fini = tear_down);

static clp_status find(int minor, const char *text)
{
    clear();
    made_init(&made, minor, text);
    cr_assert_eq(clp_decoded_init(&decoded, &test.mem, &made.bytecode, &made.view, &reason),
                 CLP_OK, "3.%d: `%s`: %s", minor, text, reason);
    return clp_edges_init(&edges, &decoded, &reason);
}

static void take(int minor, const char *text)
{
    clp_status status = find(minor, text);
    cr_assert_eq(status, CLP_OK, "3.%d: `%s`: %s", minor, text, reason);
}

/* The instruction with this label. */
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

static bool counts(const char *from, const char *to)
{
    return clp_edge_counts(&edges, at(from), at(to));
}

static bool has(const char *label, int flag)
{
    return (edges.flags[at(label)] & flag) != 0;
}

/* ---- since 3.12: marks ---- */

Test(edges, changes_of_line_are_marked)
{
    for (int minor = 12; minor <= 15; minor++) {
        take(minor, "r: RESUME 0 @1; a: NOP @2; b: NOP; c: NOP @3; d: NOP @2; n: NOP @-;"
                    "e: RETURN_VALUE @2");
        cr_assert_not(has("r", CLP_EDGE_MARKED));
        cr_assert(has("a", CLP_EDGE_MARKED));
        cr_assert_not(has("b", CLP_EDGE_MARKED));
        cr_assert(has("c", CLP_EDGE_MARKED));
        cr_assert(has("d", CLP_EDGE_MARKED));
        cr_assert_not(has("n", CLP_EDGE_MARKED), "there is no line to begin");
        cr_assert(has("e", CLP_EDGE_MARKED));
    }
}

/* What never starts is passed over, and what follows it on its line may start all the same. */
Test(edges, where_no_line_may_begin)
{
    take(13, "RESUME 0 @1; a: NOP @2; f: END_FOR @3; p: POP_TOP; b: NOP @2; s: END_SEND @4;"
             "c: NOP @4; as: END_ASYNC_FOR @5; d: RETURN_VALUE @5");
    cr_assert_not(has("f", CLP_EDGE_MARKED));
    cr_assert_not(has("s", CLP_EDGE_MARKED));
    cr_assert_not(has("as", CLP_EDGE_MARKED));
    cr_assert(has("p", CLP_EDGE_MARKED));
    cr_assert(has("b", CLP_EDGE_MARKED));
    cr_assert(has("c", CLP_EDGE_MARKED));
    cr_assert(has("d", CLP_EDGE_MARKED));
}

/* An EXTENDED_ARG is an instruction to the interpreter: behind it anything may start. */
Test(edges, a_prefix_may_start_a_line)
{
    take(12, "RESUME 0 @1; a: NOP @2; b: END_FOR 256 @3; RETURN_VALUE");
    cr_assert(has("b", CLP_EDGE_MARKED));
    take(12, "RESUME 0 @1; a: NOP @2; b: END_FOR 0 @3; RETURN_VALUE");
    cr_assert_not(has("b", CLP_EDGE_MARKED));
}

Test(edges, before_the_entry_nothing_begins)
{
    for (int minor = 11; minor <= 15; minor++) {
        take(minor, "a: COPY_FREE_VARS 1 @1; b: NOP @2; r: RESUME 0 @3; c: RETURN_VALUE @4");
        cr_assert_not(has("a", CLP_EDGE_MARKED));
        cr_assert_not(has("b", CLP_EDGE_MARKED));
        cr_assert_not(has("r", CLP_EDGE_MARKED));
        cr_assert(has("c", CLP_EDGE_FALL_COUNTS));
    }
}

Test(edges, targets_are_marked)
{
    for (int minor = 12; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; NOP @2; POP_JUMP_IF_TRUE >t; NOP; t: NOP; u: NOP;"
                    "JUMP_FORWARD >n; n: NOP @-; RETURN_VALUE @2");
        cr_assert(has("t", CLP_EDGE_MARKED));
        cr_assert_not(has("u", CLP_EDGE_MARKED));
        cr_assert_not(has("n", CLP_EDGE_MARKED));
    }
}

/* The target itself not, but for a jump that names it too. */
Test(edges, for_iter_and_send_mark_the_instruction_behind_their_target)
{
    for (int minor = 12; minor <= 13; minor++) {
        take(minor, "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l; e: END_FOR;"
                    "p: POP_TOP; a: NOP; s: SEND >d; YIELD_VALUE 1; RESUME 1;"
                    "JUMP_BACKWARD_NO_INTERRUPT >s; d: END_SEND; t: POP_TOP; RETURN_VALUE");
        cr_assert_not(has("e", CLP_EDGE_MARKED));
        cr_assert(has("p", CLP_EDGE_MARKED));
        cr_assert_not(has("d", CLP_EDGE_MARKED));
        cr_assert(has("t", CLP_EDGE_MARKED));
        cr_assert(has("s", CLP_EDGE_MARKED));
    }
    take(12, "RESUME 0 @1; NOP @2; SEND >e; POP_TOP; e: RETURN_VALUE");
    cr_assert_not(has("e", CLP_EDGE_MARKED), "behind it is nothing");
}

/* A target may begin a line even where nothing else could. */
Test(edges, a_jump_to_an_end_marks_it)
{
    take(12, "RESUME 0 @1; NOP @2; JUMP_FORWARD >e; NOP; e: END_FOR @3; RETURN_VALUE");
    cr_assert(has("e", CLP_EDGE_MARKED));
    cr_assert(has("e", CLP_EDGE_COUNTED));
}

Test(edges, handlers_are_marked)
{
    for (int minor = 12; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; a: NOP @2; b: RETURN_VALUE; h: NOP; RERAISE 0; .try a b h 0");
        cr_assert(has("h", CLP_EDGE_MARKED));
        cr_assert_not(has("b", CLP_EDGE_MARKED));
    }
    take(13, "RESUME 0 @1; a: NOP @2; b: RETURN_VALUE; h: END_ASYNC_FOR @3; RERAISE 0;"
             ".try a b h 0");
    cr_assert_not(has("h", CLP_EDGE_MARKED), "it is the one handler that begins no line");
}

Test(edges, naming_a_place_marks_nothing)
{
    take(14, "RESUME 0 @1; s: NOP; a: NOP; END_ASYNC_FOR >a; RETURN_VALUE");
    cr_assert_not(has("a", CLP_EDGE_MARKED));
    cr_assert_not(has("a", CLP_EDGE_JUMPED));
}

/* ---- since 3.12: which ways count ---- */

Test(edges, a_line_begins_where_the_line_changes)
{
    for (int minor = 12; minor <= 15; minor++) {
        take(minor, "r: RESUME 0 @1; a: NOP @1; b: NOP @2; p: POP_JUMP_IF_TRUE >d;"
                    "c: JUMP_BACKWARD >b; d: NOP @3; e: JUMP_BACKWARD >b; f: RETURN_VALUE @-");
        cr_assert(counts("r", "a"), "right behind RESUME it begins on the same line too");
        cr_assert(counts("a", "b"));
        cr_assert_not(counts("c", "b"));
        cr_assert(counts("e", "b"));
        cr_assert(counts("p", "d"));
        cr_assert_not(counts("e", "f"));
        cr_assert(has("b", CLP_EDGE_FALLS));
        cr_assert(has("b", CLP_EDGE_FALL_COUNTS));
        cr_assert(has("b", CLP_EDGE_JUMPED));
        cr_assert(has("b", CLP_EDGE_COUNTED));
        cr_assert(has("b", CLP_EDGE_UNCOUNTED));
        cr_assert_not(has("a", CLP_EDGE_JUMPED));
        cr_assert_not(has("f", CLP_EDGE_FALLS), "nothing falls out of a jump");
    }
}

Test(edges, resumption_begins_a_line_only_where_one_may_begin)
{
    for (int minor = 12; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; NOP @2; YIELD_VALUE 1; r: RESUME 1; p: POP_TOP; NOP;"
                    "YIELD_VALUE 1; s: RESUME 1; q: POP_TOP @3; JUMP_BACKWARD >q");
        cr_assert_not(has("p", CLP_EDGE_FALL_COUNTS));
        cr_assert(has("q", CLP_EDGE_FALL_COUNTS));
        cr_assert(counts("s", "q"));
    }
}

static const char loop_12[] =
    "RESUME 0 @1; g: GET_ITER @2; l: FOR_ITER >e; STORE_FAST 0 @2; JUMP_BACKWARD >l @3;"
    "e: END_FOR @2; a: NOP @4; RETURN_VALUE";
static const char loop_13[] =
    "RESUME 0 @1; g: GET_ITER @2; l: FOR_ITER >e; STORE_FAST 0 @2; JUMP_BACKWARD >l @3;"
    "e: END_FOR @2; POP_TOP; a: NOP @4; RETURN_VALUE";
static const char loop_14[] =
    "RESUME 0 @1; g: GET_ITER @2; l: FOR_ITER >e; STORE_FAST 0 @2; JUMP_BACKWARD >l @3;"
    "e: END_FOR @2; p: POP_ITER; a: NOP @4; RETURN_VALUE";

/* It goes past the END_FOR it names (3.13: and what is glued to it), so it falls in there. */
Test(edges, an_exhausted_loop_arrives_behind_its_end)
{
    take(12, loop_12);
    cr_assert_not(has("e", CLP_EDGE_JUMPED));
    cr_assert_not(has("a", CLP_EDGE_JUMPED));
    cr_assert(has("a", CLP_EDGE_FALL_COUNTS));
    take(13, loop_13);
    cr_assert_not(has("e", CLP_EDGE_JUMPED));
    cr_assert_not(has("a", CLP_EDGE_JUMPED));
    cr_assert(has("a", CLP_EDGE_FALL_COUNTS));
    take(14, loop_14);
    cr_assert_not(has("e", CLP_EDGE_JUMPED));
    cr_assert(has("p", CLP_EDGE_FALLS));
    cr_assert_not(has("p", CLP_EDGE_FALL_COUNTS));
    cr_assert(has("a", CLP_EDGE_FALL_COUNTS));
}

Test(edges, a_loop_begins_its_line_again_only_from_another)
{
    take(13, loop_13);
    cr_assert(has("l", CLP_EDGE_FALLS));
    cr_assert_not(has("l", CLP_EDGE_FALL_COUNTS));
    cr_assert(has("l", CLP_EDGE_COUNTED));
    cr_assert_not(has("l", CLP_EDGE_UNCOUNTED));
}

/* ---- 3.11 ---- */

Test(edges, of_3_11_a_line_begins_where_it_differs_or_the_way_leads_back)
{
    take(11, "r: RESUME 0 @1; a: NOP @1; b: NOP; c: NOP @2; d: JUMP_BACKWARD >c; e: NOP @-;"
             "f: NOP @2; RETURN_VALUE");
    cr_assert(counts("r", "a"));
    cr_assert_not(counts("a", "b"));
    cr_assert(counts("b", "c"));
    cr_assert(counts("d", "c"), "a jump back begins the same line again");
    cr_assert_not(counts("d", "e"));
    cr_assert(counts("e", "f"));
}

Test(edges, of_3_11_a_loop_around_send_begins_nothing)
{
    take(11, "RESUME 0 @1; a: NOP @2; s: SEND >d; y: YIELD_VALUE; r: RESUME 2;"
             "j: JUMP_BACKWARD_NO_INTERRUPT >s; d: RETURN_VALUE");
    cr_assert_not(counts("j", "s"));
    cr_assert(has("s", CLP_EDGE_JUMPED));
    cr_assert(has("s", CLP_EDGE_UNCOUNTED));
    take(11, "RESUME 0 @1; a: NOP @2; s: SEND 300 @2; NOP x296; y: YIELD_VALUE; r: RESUME 2;"
             "j: JUMP_BACKWARD_NO_INTERRUPT >s; NOP; NOP; d: RETURN_VALUE");
    cr_assert(counts("j", "s"), "what it leads back to is an EXTENDED_ARG");
}

Test(edges, of_3_11_resumption_begins_nothing)
{
    take(11, "RESUME 0 @1; NOP @2; YIELD_VALUE; r: RESUME 1; p: POP_TOP; RETURN_VALUE");
    cr_assert_not(counts("r", "p"));
}

/* ---- exceptions ---- */

Test(edges, an_exception_goes_to_its_handler)
{
    for (int minor = 11; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; a: NOP @2; b: NOP @3; c: RETURN_VALUE @4; h: NOP @3; RERAISE 0;"
                    ".try a c h 0");
        cr_assert(clp_edge_throw_counts(&edges, at("a"), at("h")));
        cr_assert_not(clp_edge_throw_counts(&edges, at("b"), at("h")));
        cr_assert(has("h", CLP_EDGE_JUMPED));
        cr_assert(has("h", CLP_EDGE_COUNTED));
        cr_assert(has("h", CLP_EDGE_UNCOUNTED));
        cr_assert_not(has("h", CLP_EDGE_FALLS));
        cr_assert_not(has("h", CLP_EDGE_RETHROWN));
    }
}

/* Since 3.13 the body stands at its RESUME when something is thrown into it. */
Test(edges, thrown_into_a_suspended_body)
{
    for (int minor = 11; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; a: NOP @2; y: YIELD_VALUE 1; r: RESUME 1; b: POP_TOP;"
                    "RETURN_VALUE; h: NOP @2; RERAISE 0; .try a b h 0");
        cr_assert_not(clp_edge_throw_counts(&edges, at("a"), at("h")));
        cr_assert_eq(clp_edge_throw_counts(&edges, at("y"), at("h")), minor >= 13, "3.%d", minor);
        cr_assert_eq(clp_edge_throw_counts(&edges, at("r"), at("h")), minor >= 12, "3.%d", minor);
        cr_assert(has("y", CLP_EDGE_RETHROWN));
        cr_assert(has("r", CLP_EDGE_RETHROWN));
        cr_assert_not(has("b", CLP_EDGE_RETHROWN));
        cr_assert_not(has("a", CLP_EDGE_RETHROWN));
    }
}

Test(edges, only_suspensions_can_be_thrown_into)
{
    for (int minor = 11; minor <= 15; minor++) {
        take(minor, "y: YIELD_VALUE 1 @1; e: RESUME 0; x: NOP; z: YIELD_VALUE 1; n: NOP;"
                    "r: RESUME 1; RETURN_VALUE");
        cr_assert_not(has("e", CLP_EDGE_RETHROWN), "the entry is no resumption");
        cr_assert_not(has("z", CLP_EDGE_RETHROWN), "no RESUME follows");
        cr_assert_not(has("r", CLP_EDGE_RETHROWN), "no YIELD_VALUE is before it");
    }
}

/* 3.11 moves the body to the end of the loop around SEND before it raises. */
Test(edges, of_3_11_the_end_of_a_delegation_is_thrown_into)
{
    static const char text[] =
        "RESUME 0 @1; NOP @2; s: SEND >d; y: YIELD_VALUE 1; r: RESUME 2;"
        "j: JUMP_BACKWARD_NO_INTERRUPT >s; d: NOP; t: NOP; YIELD_VALUE 1; RESUME 1; "
        "k: JUMP_BACKWARD >t";

    for (int minor = 11; minor <= 15; minor++) {
        take(minor, text);
        cr_assert(has("y", CLP_EDGE_RETHROWN));
        cr_assert(has("r", CLP_EDGE_RETHROWN));
        cr_assert_eq(has("j", CLP_EDGE_RETHROWN), minor == 11, "3.%d", minor);
        cr_assert_not(has("k", CLP_EDGE_RETHROWN), "that loop is around no SEND");
    }
}

/* ---- re-raised with their place ---- */

static bool throw_counts(const char *from, const char *handler)
{
    return clp_edge_throw_counts(&edges, at(from), at(handler));
}

/* To the handler it comes from where it was raised first, whatever line the RERAISE has. */
Test(edges, what_is_raised_again_comes_from_its_place)
{
    for (int minor = 11; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; b: RETURN_VALUE; c: COPY 3 @-; POP_EXCEPT;"
                    "d: RERAISE 1; h: PUSH_EXC_INFO @2; e: RERAISE 0;"
                    ".try a b c 1 lasti; .try c h h 0");
        cr_assert_not(throw_counts("d", "h"), "3.%d", minor);
        cr_assert(throw_counts("c", "h"));
        take(minor, "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; b: RETURN_VALUE; c: COPY 3 @-; POP_EXCEPT;"
                    "d: RERAISE 1 @3; h: PUSH_EXC_INFO @3; e: RERAISE 0;"
                    ".try a b c 1 lasti; .try c h h 0");
        cr_assert(throw_counts("d", "h"), "3.%d", minor);
        cr_assert(has("d", CLP_EDGE_PLACE_COUNTS));
        cr_assert_not(has("d", CLP_EDGE_PLACE_ASKED));
    }
}

Test(edges, without_its_place_it_comes_from_the_reraise)
{
    for (int minor = 11; minor <= 15; minor++) {
        take(minor, "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; b: RETURN_VALUE; c: COPY 3 @-; POP_EXCEPT;"
                    "d: RERAISE 0; h: PUSH_EXC_INFO @2; e: RERAISE 0;"
                    ".try a b c 1 lasti; .try c h h 0");
        cr_assert(throw_counts("d", "h"));
    }
}

/* Only what can raise is a place: the NOP is none, and nothing else stands on another line. */
Test(edges, what_never_raises_is_no_place)
{
    take(12, "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; NOP @3; b: RETURN_VALUE; c: COPY 3 @-;"
             "d: RERAISE 1; h: PUSH_EXC_INFO @2; e: RERAISE 0; .try a b c 1 lasti; .try c h h 0");
    cr_assert_not(has("d", CLP_EDGE_PLACE_COUNTS));
    cr_assert_not(has("d", CLP_EDGE_PLACE_ASKED));
}

Test(edges, places_of_both_kinds_are_asked)
{
    static const char both[] =
        "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; n: LOAD_GLOBAL 0 @5; m: NOP @2; b: RETURN_VALUE;"
        "c: COPY 3 @-; POP_EXCEPT; d: RERAISE 1; h: PUSH_EXC_INFO @5; e: RERAISE 0;"
        ".try a b c 1 lasti; .try c h h 0";

    for (int minor = 11; minor <= 15; minor++) {
        take(minor, both);
        cr_assert(has("d", CLP_EDGE_PLACE_ASKED));
        cr_assert_not(has("d", CLP_EDGE_PLACE_COUNTS));
        cr_assert(has("h", CLP_EDGE_UNCOUNTED));
        cr_assert_not(throw_counts("d", "h"), "not by itself");
        cr_assert(has("h", CLP_EDGE_MAY_COUNT));
        cr_assert(clp_edges_may_begin(&edges, at("h")));
        cr_assert_not(clp_edges_may_begin(&edges, at("c")));
        cr_assert_eq(clp_edges_reraise_of(&decoded, at("c")), at("d"));
        cr_assert_eq(clp_edges_reraise_of(&decoded, at("h")), CLP_NOWHERE);
    }
}

/* Raised at 2, by way of two clean-ups. */
Test(edges, places_behind_places)
{
    for (int line = 2; line <= 3; line++) {
        char text[512];
        snprintf(text, sizeof text,
                 "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; b: RETURN_VALUE; c: COPY 3 @-; d: RERAISE 1;"
                 "f: COPY 3; g: RERAISE 1; h: PUSH_EXC_INFO @%d; RERAISE 0;"
                 ".try a b c 1 lasti; .try c f f 0 lasti; .try f h h 0", line);
        take(12, text);
        cr_assert_eq(throw_counts("g", "h"), line != 2);
    }
}

/* A loop of clean-ups has no place to begin with. */
Test(edges, clean_ups_that_lead_to_themselves)
{
    take(12, "RESUME 0 @1; RETURN_VALUE; c: COPY 3 @-; d: RERAISE 1; f: COPY 3; g: RERAISE 1;"
             "h: NOP @2; RERAISE 0; .try c f f 0 lasti; .try f h c 0 lasti");
    cr_assert_not(has("d", CLP_EDGE_PLACE_COUNTS));
    cr_assert_not(has("g", CLP_EDGE_PLACE_COUNTS));
}

/* ---- refusals ---- */

Test(edges, a_line_within_a_loops_end_is_refused)
{
    static const char *const why = "a line begins in the midst of a loop's end";

    cr_assert_eq(find(14, "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l;"
                          "e: END_FOR; POP_ITER @3; RETURN_VALUE"), CLP_UNSUPPORTED);
    cr_assert_str_eq(reason, why);
    cr_assert_null(edges.flags);
    cr_assert_eq(find(13, "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l;"
                          "e: END_FOR; POP_TOP @3; RETURN_VALUE @2"), CLP_UNSUPPORTED);
    cr_assert_str_eq(reason, why);
    take(12, "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l; e: END_FOR; POP_TOP @3;"
             "RETURN_VALUE");
}

/* Where the interpreter goes on without looking there must be what it expects. */
Test(edges, a_loop_without_an_end_is_refused)
{
    static const char *const loops[] = {
        [12] = "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l; e: NOP; RETURN_VALUE",
        [13] = "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l; e: END_FOR; NOP;"
               "RETURN_VALUE",
        [14] = "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l; e: POP_ITER; NOP;"
               "RETURN_VALUE",
        [15] = "RESUME 0 @1; l: FOR_ITER >e @2; POP_TOP; JUMP_BACKWARD >l; e: END_FOR 256;"
               "POP_ITER; RETURN_VALUE",
    };

    for (int minor = 12; minor <= 15; minor++) {
        cr_assert_eq(find(minor, loops[minor]), CLP_UNSUPPORTED, "3.%d", minor);
        cr_assert_str_eq(reason, "a loop in it has no end");
        cr_assert_null(edges.flags);
    }
    take(11, loops[12]);
    take(12, loops[13]);
}

Test(edges, every_allocation_may_fail)
{
    made_init(&made, 12, "RESUME 0; a: NOP; b: RETURN_VALUE; .try a b b 0");
    cr_assert_eq(clp_decoded_init(&decoded, &test.mem, &made.bytecode, &made.view, &reason),
                 CLP_OK);
    for (size_t more = 1; more <= 3; more++) {
        test.fail_at = test.calls + more;
        cr_assert_eq(clp_edges_init(&edges, &decoded, &reason), CLP_NO_MEMORY);
        cr_assert_str_eq(reason, clp_status_text(CLP_NO_MEMORY));
        cr_assert_null(edges.flags);
        cr_assert_eq(test.blocks, 2, "those of what was decoded");
    }
}
