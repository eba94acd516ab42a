/* SPDX-License-Identifier: MIT */
/* Little code objects before and after, written as text (made_code.h says how). What comes after is
 * worked out by hand; nothing of the rewriter takes part in it but the numbers of the constants. */
#include "made_code.h"

static struct test_mem test;
static struct made before, after;
static struct clp_rewritten out;
static const char *reason;

static void set_up(void)
{
    out.mem = test_mem_init(&test, 0);
    reason = NULL;
}

static void tear_down(void)
{
    clp_rewritten_clear(&out);
    test_mem_check_empty(&test);
}

TestSuite(rewrite, .init = set_up, .fini = tear_down);

static clp_status rewrite_it(enum clp_insertion insert)
{
    clp_rewritten_clear(&out);
    return clp_rewrite(&out, &test.mem, &before.bytecode, &before.view, insert, &reason);
}

static bool same_bytes(const struct clp_buf *buf, const uint8_t *bytes, size_t count)
{
    return buf->used == count && (count == 0 || memcmp(buf->bytes, bytes, count) == 0);
}

/* With nothing put in, what comes out is what went in, to the byte. */
static void check_unchanged(void)
{
    cr_assert_eq(rewrite_it(CLP_INSERT_NOTHING), CLP_OK, "%s", reason);
    if (!same_bytes(&out.code, before.code, before.view.code_bytes))
        made_print(before.bytecode.minor, (uint8_t *)out.code.bytes, out.code.used, before.code,
                   before.view.code_bytes);
    cr_assert(same_bytes(&out.code, before.code, before.view.code_bytes));
    cr_assert(same_bytes(&out.exceptions, before.exceptions, before.view.exception_bytes));
    cr_assert(same_bytes(&out.locations, before.locations, before.view.location_bytes));
    cr_assert_eq(out.stack_size, before.view.stack_size);
    cr_assert_eq(out.probe_count, 0);
}

static void check_lines(void)
{
    static int32_t ours[MADE_UNITS], wanted[MADE_UNITS];
    size_t units = made_lines((uint8_t *)out.locations.bytes, out.locations.used,
                              before.view.first_line, ours);

    cr_assert_eq(units, out.code.used / 2, "%zu units have a location", units);
    cr_assert_eq(made_lines(after.locations, after.view.location_bytes, after.view.first_line,
                            wanted), units);
    for (size_t i = 0; i < units; i++)
        cr_assert_eq(ours[i], wanted[i], "unit %zu has line %d, not %d", i, ours[i], wanted[i]);
}

static void check_probes_used(void)
{
    for (size_t i = 0; i < out.probe_count; i++) {
        uint32_t constant = before.view.const_count + (uint32_t)i;
        bool used = false;
        for (size_t j = 0; j < after.statement_count; j++)
            used |= after.statements[j].probe && after.statements[j].argument == constant;
        cr_assert(used, "probe %zu of kind %d stands nowhere", i, (int)out.probes[i].kind);
    }
}

static void check_decodes_again(void)
{
    struct clp_decoded again;
    struct clp_code code = before.view;

    code.code = (uint8_t *)out.code.bytes;
    code.code_bytes = out.code.used;
    code.exceptions = (uint8_t *)out.exceptions.bytes;
    code.exception_bytes = out.exceptions.used;
    code.locations = (uint8_t *)out.locations.bytes;
    code.location_bytes = out.locations.used;
    cr_assert_eq(clp_decoded_init(&again, &test.mem, &before.bytecode, &code, &reason), CLP_OK,
                 "%s", reason);
    clp_decoded_clear(&again);
}

static void print_ranges(const char *what, const uint8_t *bytes, size_t count)
{
    fprintf(stderr, "%s:", what);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "%s%d", bytes[i] & 128 ? "  " : " ", bytes[i] & 127);
    fprintf(stderr, "\n");
}

/* Rewritten, the code of the first text is that of the second; and unchanged, when nothing is put
 * in. */
static void check_with(enum clp_insertion insert, int minor, const char *old, const char *wanted)
{
    made_init(&before, minor, old);
    check_unchanged();
    cr_assert_eq(rewrite_it(insert), CLP_OK, "3.%d refuses `%s`: %s", minor, old, reason);
    made_assemble(&after, minor, wanted, &out, before.view.const_count);
    if (!same_bytes(&out.code, after.code, after.view.code_bytes)) {
        made_print(minor, (uint8_t *)out.code.bytes, out.code.used, after.code,
                   after.view.code_bytes);
        cr_assert_fail("3.%d: other code", minor);
    }
    if (!same_bytes(&out.exceptions, after.exceptions, after.view.exception_bytes)) {
        print_ranges("what came", (uint8_t *)out.exceptions.bytes, out.exceptions.used);
        print_ranges("what was wanted", after.exceptions, after.view.exception_bytes);
        cr_assert_fail("3.%d: another exception table", minor);
    }
    check_lines();
    check_probes_used();
    check_decodes_again();
    if (strstr(wanted, ".stack") != NULL)
        cr_assert_eq(out.stack_size, after.view.stack_size, "stack size %d", out.stack_size);
}

static void check(int minor, const char *old, const char *wanted)
{
    check_with(CLP_INSERT_LINES, minor, old, wanted);
}

static void refuse(int minor, const char *old, clp_status expected, const char *why)
{
    made_init(&before, minor, old);
    for (int insert = 0; insert < 2; insert++) {
        cr_assert_eq(rewrite_it(insert), expected);
        cr_assert_str_eq(reason, why);
        cr_assert_eq(out.code.used + out.exceptions.used + out.locations.used, 0);
        cr_assert_eq(out.probe_count, 0);
        test_mem_check_empty(&test);
        if (expected == CLP_UNSUPPORTED)
            break; /* it is only what is put in that does not fit */
    }
}

/* ---- nothing put in ---- */

/* Whoever appended them finds the code by its bytes. */
Test(rewrite, code_with_appended_instructions_is_left_as_it_is)
{
    made_init(&before, 12, "RESUME 0; LOAD_CONST 0; RETURN_VALUE");
    made_append(&before, 1);
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_UNSUPPORTED);
    cr_assert_str_eq(reason, "something has appended instructions, to know it by its bytes");
    cr_assert_eq(out.code.used, 0);
}

Test(rewrite, nothing_put_in_changes_nothing)
{
    for (int minor = 11; minor <= 15; minor++) {
        made_init(&before, minor,
                  "RESUME 0 +2 @1; a: LOAD_CONST 3 +1 @2; b: NOP @-; c: LOAD_GLOBAL 1 +3 @7;"
                  "JUMP_FORWARD >d +1; NOP x9 @6; d: LOAD_ATTR 300 @9; JUMP_BACKWARD >b +3;"
                  "e: RERAISE 1 @-; .try a b e 0 lasti; .try b c e 0 lasti; .try c d d 70;"
                  ".stack 5");
        check_unchanged();
    }
}

/* The bytes of a whole function of 3.12, `def f(a):` newline `return a`, by hand. */
Test(rewrite, a_function_by_hand)
{
    static const uint8_t code[] = {151, 0, 124, 0, 83, 0};
    static const uint8_t locations[] = {0x80, 0x00, 0xd8, 0x0b, 0x0c, 0x80, 0x48};
    static const uint8_t new_code[] = {
        151, 0,
        100, 2, 11, 0, 1, 0, /* entering, and line 2 */
        124, 0,
        100, 1, 11, 0, 1, 0, /* leaving */
        83, 0,
        100, 1, 11, 0, 1, 0, 119, 1,
    };
    static const uint8_t new_locations[] = {0x80, 0x00, 0xdb, 0x0b, 0x0c, 0x83, 0x48, 0xfb};
    static const uint8_t new_exceptions[] = {0x81, 4, 9, 1};

    made_init(&before, 12, ".consts 1");
    before.view.code = code;
    before.view.code_bytes = sizeof code;
    before.view.locations = locations;
    before.view.location_bytes = sizeof locations;
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_OK, "%s", reason);
    cr_assert(same_bytes(&out.code, new_code, sizeof new_code));
    cr_assert(same_bytes(&out.locations, new_locations, sizeof new_locations));
    cr_assert(same_bytes(&out.exceptions, new_exceptions, sizeof new_exceptions));
    cr_assert_eq(out.stack_size, 3);
    cr_assert_eq(out.probe_count, 2);
    cr_assert_eq(out.probes[0].kind, CLP_PROBE_LEAVE);
    cr_assert_eq(out.probes[1].kind, CLP_PROBE_ENTER_LINE);
    cr_assert_eq(out.probes[1].line, 2);
}

/* ---- lines, entry, exit ---- */

#define OUT "out: !leave @-; RERAISE 1;"

Test(rewrite, a_line_is_probed_where_it_begins)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor,
              ".consts 3; .stack 7; RESUME 0 @1; LOAD_FAST 0 @2; POP_TOP; LOAD_FAST 1 @3; POP_TOP;"
              "NOP @-; NOP @5; RETURN_VALUE",
              ".stack 8; RESUME 0 @1; a: !enterline 2 @2; LOAD_FAST 0; POP_TOP; !line 3 @3;"
              "LOAD_FAST 1; POP_TOP; NOP @-; !line 5 @5; NOP; r: !leave; RETURN_VALUE;" OUT
              ".try a r out 0 lasti");
}

Test(rewrite, what_sets_up_the_frame_is_left_alone)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor, "COPY_FREE_VARS 1 @1; MAKE_CELL 0 @2; RESUME 0 @1; NOP @1; RETURN_VALUE",
              "COPY_FREE_VARS 1 @1; MAKE_CELL 0 @2; RESUME 0 @1; a: !enterline 1; NOP; r: !leave;"
              "RETURN_VALUE;" OUT ".try a r out 0 lasti");
}

Test(rewrite, a_body_without_lines_is_entered_all_the_same)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor, "RESUME 0 @1; NOP @-; RETURN_VALUE",
              "RESUME 0 @1; a: !enter @-; NOP; r: !leave; RETURN_VALUE;" OUT
              ".try a r out 0 lasti");
}

Test(rewrite, every_return_is_probed)
{
    for (int minor = 12; minor <= 13; minor++)
        check(minor,
              "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >b; NOP; RETURN_CONST 0; b: NOP;"
              "RETURN_VALUE",
              "RESUME 0 @1; a: !enterline 2 @2; LOAD_FAST 0; POP_JUMP_IF_TRUE >b; NOP;"
              "r: !leave; RETURN_CONST 0; b: NOP; s: !leave; RETURN_VALUE;" OUT
              ".try a r out 0 lasti; .try b s out 0 lasti");
}

/* A return that has a line of its own and nothing else to do has one probe for both. */
Test(rewrite, a_line_that_only_returns)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor, "RESUME 0 @1; NOP @2; LOAD_CONST 0 @3; RETURN_VALUE",
              "RESUME 0 @1; a: !enterline 2 @2; NOP; r: !lastline 3 @3; LOAD_CONST 0;"
              "RETURN_VALUE;" OUT ".try a r out 0 lasti");
    /* not when a handler is around it, nor when it does more */
    check(12,
          "RESUME 0 @1; NOP @2; a: LOAD_CONST 0 @3; b: RETURN_VALUE; h: RERAISE 0 @-; .try a b h 0",
          "RESUME 0 @1; s: !enterline 2 @2; NOP; a: !line 3 @3; LOAD_CONST 0; b: !leave;"
          "RETURN_VALUE; h: RERAISE 0 @-;" OUT
          ".try s a out 0 lasti; .try a b h 0; .try h out out 0 lasti");
    check(12, "RESUME 0 @1; NOP @2; LOAD_GLOBAL 0 @3; RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; NOP; !line 3 @3; LOAD_GLOBAL 0; b: !leave;"
          "RETURN_VALUE;" OUT ".try s b out 0 lasti");
}

Test(rewrite, a_return_someone_else_jumps_to_is_left_there)
{
    check(12,
          "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >r; a: LOAD_CONST 0 @3; r: RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; POP_JUMP_IF_TRUE >c;"
          "!line 3 @3; LOAD_CONST 0; j: JUMP_FORWARD >r; c: !line 3; r: !leave; RETURN_VALUE;" OUT
          ".try s j out 0 lasti");
}

Test(rewrite, a_return_in_a_range_keeps_its_handler)
{
    for (int minor = 12; minor <= 15; minor++)
        check(minor,
              "RESUME 0 @1; a: NOP @2; RETURN_VALUE; b: NOP @-; RERAISE 0; .try a b b 0",
              "RESUME 0 @1; a: !enterline 2 @2; NOP; !leave; RETURN_VALUE; b: NOP @-; RERAISE 0;"
              OUT ".try a b b 0; .try b out out 0 lasti");
}

/* ---- ways that begin no line ---- */

Test(rewrite, a_jump_that_begins_no_line_arrives_behind_the_probe)
{
    static const char old[] = "RESUME 0 @1; a: LOAD_FAST 0 @2; POP_TOP; JUMP_BACKWARD >a";

    for (int minor = 12; minor <= 15; minor++)
        check(minor, old,
              "RESUME 0 @1; s: !enter @2; !line 2; a: LOAD_FAST 0; POP_TOP; JUMP_BACKWARD >a;" OUT
              ".try s out out 0 lasti");
    /* .. and one that begins it before it */
    check(11, old,
          "RESUME 0 @1; s: !enter @2; a: !line 2; LOAD_FAST 0; POP_TOP; JUMP_BACKWARD >a;" OUT
          ".try s out out 0 lasti");
}

Test(rewrite, falling_in_without_a_line_jumps_over_the_probe)
{
    for (int minor = 12; minor <= 15; minor++)
        check(minor,
              "RESUME 0 @1; LOAD_FAST 0 @3; POP_JUMP_IF_TRUE >t; NOP @5; t: NOP; RETURN_VALUE",
              "RESUME 0 @1; s: !enterline 3 @3; LOAD_FAST 0; POP_JUMP_IF_TRUE >t; !line 5 @5; NOP;"
              "JUMP_FORWARD >p; t: !line 5; p: NOP; r: !leave; RETURN_VALUE;" OUT
              ".try s r out 0 lasti");
    check(11,
          "RESUME 0 @1; LOAD_FAST 0 @3; POP_JUMP_FORWARD_IF_TRUE >t; NOP @5; t: NOP; RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 3 @3; LOAD_FAST 0; POP_JUMP_FORWARD_IF_TRUE >t; !line 5 @5;"
          "NOP; JUMP_FORWARD >p; t: !line 5; p: NOP; r: !leave; RETURN_VALUE;" OUT
          ".try s r out 0 lasti");
}

/* Two jumps to one place, of which one begins its line. */
Test(rewrite, jumps_of_both_kinds_to_one_place)
{
    for (int minor = 12; minor <= 15; minor++)
        check(minor,
              "RESUME 0 @1; NOP @2; POP_JUMP_IF_TRUE >t; LOAD_FAST 0 @3; POP_JUMP_IF_TRUE >t;"
              "NOP @4; t: NOP @3; RETURN_VALUE",
              "RESUME 0 @1; s: !enterline 2 @2; NOP; POP_JUMP_IF_TRUE >t; !line 3 @3; LOAD_FAST 0;"
              "POP_JUMP_IF_TRUE >p; !line 4 @4; NOP; t: !line 3 @3; p: NOP; r: !leave;"
              "RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

Test(rewrite, what_nothing_leads_to_begins_no_line)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor, "RESUME 0 @1; a: NOP @2; JUMP_BACKWARD >a; NOP @3; RETURN_VALUE @4",
              minor == 11
                  ? "RESUME 0 @1; s: !enter @2; a: !line 2; NOP; JUMP_BACKWARD >a; NOP @3;"
                    "r: !lastline 4 @4; RETURN_VALUE;" OUT ".try s r out 0 lasti"
                  : "RESUME 0 @1; s: !enter @2; !line 2; a: NOP; JUMP_BACKWARD >a; NOP @3;"
                    "r: !lastline 4 @4; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

Test(rewrite, one_probe_serves_a_line_wherever_it_begins)
{
    check(12, "RESUME 0 @1; NOP @2; NOP @3; NOP @2; NOP @3; NOP; RETURN_VALUE @-",
          "RESUME 0 @1; s: !enterline 2 @2; NOP; !line 3 @3; NOP; !line 2 @2; NOP; !line 3 @3; NOP;"
          "NOP; r: !leave @-; RETURN_VALUE;" OUT ".try s r out 0 lasti");
    cr_assert_eq(out.probe_count, 4);
}

/* ---- loops ---- */

Test(rewrite, the_end_of_a_loop_stays_together)
{
    static const char *const ends[] = {[12] = "e: END_FOR @2", [13] = "e: END_FOR @2; POP_TOP",
                                       [14] = "e: END_FOR @2; POP_ITER",
                                       [15] = "e: END_FOR @2; POP_ITER"};
    char old[512], new[512];

    for (int minor = 12; minor <= 15; minor++) {
        snprintf(old, sizeof old,
                 "RESUME 0 @1; LOAD_FAST 0 @2; GET_ITER; l: FOR_ITER >e; STORE_FAST 1; NOP @3;"
                 "JUMP_BACKWARD >l; %s; NOP @4; RETURN_VALUE", ends[minor]);
        snprintf(new, sizeof new,
                 "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; GET_ITER; JUMP_FORWARD >p;"
                 "l: !line 2; p: FOR_ITER >e; STORE_FAST 1; !line 3 @3; NOP; JUMP_BACKWARD >l; %s;"
                 "!line 4 @4; NOP; r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti",
                 ends[minor]);
        check(minor, old, new);
    }
}

Test(rewrite, a_loop_of_3_11_ends_behind_itself)
{
    check(11,
          "RESUME 0 @1; LOAD_FAST 0 @2; GET_ITER; l: FOR_ITER >e; STORE_FAST 1; NOP @3;"
          "JUMP_BACKWARD >l; e: NOP @4; RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; GET_ITER; JUMP_FORWARD >p; l: !line 2;"
          "p: FOR_ITER >e; STORE_FAST 1; !line 3 @3; NOP; JUMP_BACKWARD >l; e: !line 4 @4; NOP;"
          "r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

Test(rewrite, end_async_for_names_the_instruction_itself)
{
    for (int minor = 14; minor <= 15; minor++)
        check(minor, "RESUME 0 @1; NOP @2; a: NOP @3; NOP @4; END_ASYNC_FOR >a; RETURN_VALUE",
              "RESUME 0 @1; s: !enterline 2 @2; NOP; !line 3 @3; a: NOP; !line 4 @4; NOP;"
              "END_ASYNC_FOR >a; r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

/* ---- suspension ---- */

/* A generator as 3.12 and later make it, with the handler of StopIteration around it. */
Test(rewrite, suspension_and_resumption)
{
    for (int minor = 12; minor <= 15; minor++)
        check(minor,
              "RETURN_GENERATOR @1; a: POP_TOP; RESUME 0; LOAD_CONST 0 @2; YIELD_VALUE 1;"
              "RESUME 1; NOP; RETURN_VALUE; h: CALL_INTRINSIC_1 3 @-; RERAISE 1;"
              ".try a h h 0 lasti",
              "RETURN_GENERATOR @1; a: POP_TOP; RESUME 0; !enterline 2 @2; LOAD_CONST 0;"
              "y: !suspend; YIELD_VALUE 1; RESUME 1; p: !resume; NOP; !leave; RETURN_VALUE;"
              "h: CALL_INTRINSIC_1 3 @-; RERAISE 1; back: !resume; RERAISE 1;" OUT
              ".try a y h 0 lasti; .try y p back 0 lasti; .try p h h 0 lasti;"
              ".try h back out 0 lasti; .try back out h 0 lasti");
}

Test(rewrite, suspension_in_no_range)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor,
              "RETURN_GENERATOR @1; POP_TOP; RESUME 0; LOAD_CONST 0 @2; YIELD_VALUE 1; RESUME 1;"
              "POP_TOP; NOP; RETURN_VALUE",
              "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: !enterline 2 @2; LOAD_CONST 0;"
              "y: !suspend; YIELD_VALUE 1; RESUME 1; p: !resume; POP_TOP; NOP; r: !leave;"
              "RETURN_VALUE; back: !resume @-; RERAISE 1;" OUT
              ".try a y out 0 lasti; .try y p back 0 lasti; .try p r out 0 lasti;"
              ".try back out out 0 lasti");
}

/* What is thrown in goes by `back` to the handler of the range; since 3.13 its line begins then,
 * for the body stands at RESUME, and has a probe of its own. */
Test(rewrite, thrown_in_within_a_range)
{
    static const char old[] =
        "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: NOP @2; YIELD_VALUE 1; RESUME 1; b: NOP;"
        "RETURN_VALUE; h: PUSH_EXC_INFO @2; RERAISE 0; .try a b h 1; .stack 2";

    /* 3.12: thrown in at YIELD_VALUE, on the line of the handler; at RESUME the line begins */
    check(12, old,
          "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: !enterline 2 @2; NOP; y: !suspend;"
          "YIELD_VALUE 1; s: RESUME 1; b: !resume; NOP; r: !leave; RETURN_VALUE;"
          "h: !line 2; p: PUSH_EXC_INFO; RERAISE 0; back: !resume @-; RERAISE 1; again: !resume;"
          "RERAISE 1;" OUT
          ".try a y p 1; .try y s back 1 lasti; .try s b again 1 lasti; .try b r out 0 lasti;"
          ".try h back out 0 lasti; .try back again p 1; .try again out h 1; .stack 4");
    check(13, old,
          "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: !enterline 2 @2; NOP; y: !suspend;"
          "YIELD_VALUE 1; s: RESUME 1; b: !resume; NOP; r: !leave; RETURN_VALUE;"
          "h: !line 2; p: PUSH_EXC_INFO; RERAISE 0; back: !resume @-; RERAISE 1;" OUT
          ".try a y p 1; .try y b back 1 lasti; .try b r out 0 lasti; .try h back out 0 lasti;"
          ".try back out h 1; .stack 4");
    check(11, old,
          "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: !enterline 2 @2; NOP; y: !suspend;"
          "YIELD_VALUE 1; s: RESUME 1; b: !resume; NOP; r: !leave; RETURN_VALUE;"
          "h: PUSH_EXC_INFO; RERAISE 0; back: !resume @-; RERAISE 1;" OUT
          ".try a y h 1; .try y b back 1 lasti; .try b r out 0 lasti; .try h back out 0 lasti;"
          ".try back out h 1; .stack 4");
}

/* An exception of the delegate begins the line of its handler when the body stood at RESUME. */
Test(rewrite, a_delegation)
{
    static const char old[] =
        "RETURN_GENERATOR @1; POP_TOP; RESUME 0; NOP @2; LOAD_CONST 0; l: SEND >d;"
        "y: YIELD_VALUE 2; RESUME 2; JUMP_BACKWARD_NO_INTERRUPT >l; d: END_SEND; NOP;"
        "RETURN_VALUE; h: CLEANUP_THROW; JUMP_BACKWARD_NO_INTERRUPT >d; .try y h h 2";
    static const char new[] =
        "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: !enterline 2 @2; NOP; LOAD_CONST 0;"
        "l: SEND >d; y: !suspend; YIELD_VALUE 2; s: RESUME 2; p: !resume;"
        "JUMP_BACKWARD_NO_INTERRUPT >l; d: END_SEND; NOP; !leave; RETURN_VALUE;"
        "h: !line 2; q: CLEANUP_THROW; JUMP_BACKWARD_NO_INTERRUPT >d; .try a y out 0 lasti;";
    char whole[1024];

    snprintf(whole, sizeof whole, "%s%s", new,
             "b: !resume @-; RERAISE 1; c: !resume; RERAISE 1;" OUT
             ".try y s b 2 lasti; .try s p c 2 lasti; .try p h q 2; .try h b out 0 lasti;"
             ".try b c q 2; .try c out h 2");
    check(12, old, whole);
    snprintf(whole, sizeof whole, "%s%s", new,
             "b: !resume @-; RERAISE 1;" OUT
             ".try y p b 2 lasti; .try p h q 2; .try h b out 0 lasti; .try b out h 2");
    for (int minor = 13; minor <= 15; minor++)
        check(minor, old, whole);
}

/* 3.11 looks at the byte before the YIELD_VALUE for the SEND: it finds one that never runs. */
Test(rewrite, a_delegation_of_3_11)
{
    check(11,
          "RETURN_GENERATOR @1; POP_TOP; RESUME 0; LOAD_FAST 0 @2; GET_YIELD_FROM_ITER;"
          "LOAD_CONST 0; l: SEND >d; YIELD_VALUE; RESUME 2; JUMP_BACKWARD_NO_INTERRUPT >l;"
          "d: POP_TOP; NOP; RETURN_VALUE",
          "RETURN_GENERATOR @1; POP_TOP; RESUME 0; a: !enterline 2 @2; LOAD_FAST 0;"
          "GET_YIELD_FROM_ITER; LOAD_CONST 0; l: SEND >d; y: !suspend; JUMP_FORWARD >v; SEND >d;"
          "v: YIELD_VALUE; RESUME 2; !resume; JUMP_BACKWARD_NO_INTERRUPT >l; d: !resumeif; POP_TOP;"
          "NOP; r: !leave; RETURN_VALUE; back: !resume @-; RERAISE 1;" OUT
          ".try a y out 0 lasti; .try y d back 0 lasti; .try d r out 0 lasti;"
          ".try back out out 0 lasti");
}

Test(rewrite, a_line_begins_where_a_delegation_of_3_11_ends)
{
    check(11,
          "RESUME 0 @1; NOP @2; l: SEND >d; YIELD_VALUE; RESUME 2; JUMP_BACKWARD_NO_INTERRUPT >l;"
          "d: POP_TOP @3; RETURN_VALUE",
          "RESUME 0 @1; a: !enterline 2 @2; NOP; l: SEND >d; y: !suspend; JUMP_FORWARD >v;"
          "SEND >d; v: YIELD_VALUE; RESUME 2; !resume; JUMP_BACKWARD_NO_INTERRUPT >l;"
          "d: !line 3 @3; !resumeif; POP_TOP; r: !leave; RETURN_VALUE; back: !resume @-; RERAISE 1;"
          OUT ".try a y out 0 lasti; .try y d back 0 lasti; .try d r out 0 lasti;"
          ".try back out out 0 lasti");
}

/* Where a delegation ends it may still have to be resumed, which must not come after leaving. */
Test(rewrite, a_delegation_of_3_11_that_ends_in_a_line_that_only_returns)
{
    check(11,
          "RESUME 0 @1; NOP @3; l: SEND >d; YIELD_VALUE; RESUME 2; JUMP_BACKWARD_NO_INTERRUPT >l;"
          "d: RETURN_VALUE @2",
          "RESUME 0 @1; a: !enterline 3 @3; NOP; l: SEND >d; y: !suspend; JUMP_FORWARD >v;"
          "SEND >d; v: YIELD_VALUE; RESUME 2; !resume; JUMP_BACKWARD_NO_INTERRUPT >l;"
          "d: !line 2 @2; !resumeif; !leave; RETURN_VALUE; back: !resume @-; RERAISE 1;" OUT
          ".try a y out 0 lasti; .try y d back 0 lasti; .try back out out 0 lasti");
}

/* ---- ranges ---- */

/* One range becomes two where only some of its exceptions begin the handler's line. */
Test(rewrite, ranges_are_split_by_what_begins_the_handlers_line)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor,
              "RESUME 0 @1; a: NOP @2; b: NOP @3; c: NOP @4; d: NOP @5; RETURN_VALUE;"
              "h: PUSH_EXC_INFO @3; RERAISE 0; .try a d h 4 lasti; .stack 2",
              "RESUME 0 @1; a: !enterline 2 @2; NOP; b: !line 3 @3; NOP; c: !line 4 @4; NOP;"
              "d: !line 5 @5; NOP; r: !leave; RETURN_VALUE; h: !line 3 @3; p: PUSH_EXC_INFO;"
              "RERAISE 0;" OUT
              ".try a b h 4 lasti; .try b c p 4 lasti; .try c d h 4 lasti; .try d r out 0 lasti;"
              ".try h out out 0 lasti; .stack 7");
}

/* Raised again from both kinds of places: it goes by a block that asks where it was. */
Test(rewrite, a_place_is_asked)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor,
              "RESUME 0 @1; a: LOAD_GLOBAL 0 @2; n: LOAD_GLOBAL 0 @5; b: RETURN_VALUE;"
              "c: COPY 3 @-; POP_EXCEPT; RERAISE 1; h: PUSH_EXC_INFO @5; RERAISE 0;"
              ".try a b c 1 lasti; .try c h h 0",
              "RESUME 0 @1; a: !enterline 2 @2; LOAD_GLOBAL 0; n: !line 5 @5; LOAD_GLOBAL 0;"
              "b: !leave; RETURN_VALUE; c: COPY 3 @-; POP_EXCEPT; r: RERAISE 1; h: !line 5 @5;"
              "p: PUSH_EXC_INFO; RERAISE 0; t: !asked 5 @-; RERAISE 1;" OUT
              ".try a b c 1 lasti; .try c r h 0; .try r h t 0 lasti;"
              ".try h t out 0 lasti; .try t out p 0");
}

Test(rewrite, ranges_side_by_side_stay_apart)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor,
              "RESUME 0 @1; a: NOP @2; b: NOP; c: NOP; d: RETURN_VALUE @-; h: RERAISE 1 @-;"
              ".try a b h 0; .try b c h 0; .try c d h 0 lasti",
              "RESUME 0 @1; a: !enterline 2 @2; NOP; b: NOP; c: NOP; d: !leave @-; RETURN_VALUE;"
              "h: RERAISE 1;" OUT
              ".try a b h 0; .try b c h 0; .try c d h 0 lasti; .try h out out 0 lasti; .stack 3");
}

Test(rewrite, the_stack_has_room_for_the_blocks_at_the_end)
{
    for (int minor = 11; minor <= 15; minor++) {
        check(minor, ".stack 2; RESUME 0 @1; a: NOP @2; b: RETURN_VALUE @-; .try a b b 9 lasti",
              ".stack 12; RESUME 0 @1; a: !enterline 2 @2; NOP; b: !leave @-; p: RETURN_VALUE;" OUT
              ".try a b b 9 lasti");
        check(minor, ".stack 20; RESUME 0 @1; a: NOP @2; b: RETURN_VALUE @-; .try a b b 9 lasti",
              ".stack 21; RESUME 0 @1; a: !enterline 2 @2; NOP; b: !leave @-; RETURN_VALUE;" OUT
              ".try a b b 9 lasti");
    }
}

/* ---- arguments that grow ---- */

Test(rewrite, a_jump_grows_a_prefix)
{
    check(12,
          "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >f; NOP x253 @3; f: NOP @4; RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; POP_JUMP_IF_TRUE 256; !line 3 @3;"
          "NOP x253; !line 4 @4; NOP; r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
    check(12,
          "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >f; NOP x252 @3; f: NOP @4; RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; POP_JUMP_IF_TRUE 255; !line 3 @3;"
          "NOP x252; !line 4 @4; NOP; r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

Test(rewrite, a_jump_grows_a_second_prefix)
{
    check(13,
          "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >f; NOP x65533 @3; f: NOP @4;"
          "RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; POP_JUMP_IF_TRUE 65536; !line 3 @3;"
          "NOP x65533; !line 4 @4; NOP; r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

/* Backwards the prefixes of the jump itself count: 254 + 3 + 1, and 1 more for the prefix. */
Test(rewrite, a_jump_backward_grows)
{
    check(12, "RESUME 0 @1; NOP @2; l: NOP x253 @3; NOP @4; JUMP_BACKWARD >l",
          "RESUME 0 @1; s: !enterline 2 @2; NOP; l: !line 3 @3; NOP x253; !line 4 @4; NOP;"
          "JUMP_BACKWARD 262;" OUT ".try s out out 0 lasti");
}

/* The inner jump's prefix is what makes the outer one need its own. */
Test(rewrite, a_jump_grows_because_another_has_grown)
{
    check(12,
          "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >f; LOAD_FAST 0; POP_JUMP_IF_TRUE >g;"
          "NOP x250 @3; f: NOP @4; NOP x3; g: NOP @5; RETURN_VALUE",
          "RESUME 0 @1; s: !enterline 2 @2; LOAD_FAST 0; POP_JUMP_IF_TRUE 256; LOAD_FAST 0;"
          "POP_JUMP_IF_TRUE 260; !line 3 @3; NOP x250; !line 4 @4; NOP; NOP x3; !line 5 @5; NOP;"
          "r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

Test(rewrite, prefixes_more_than_needed_stay)
{
    for (int minor = 11; minor <= 15; minor++)
        check(minor, "RESUME 0 @1; LOAD_CONST 1 +3 @2; JUMP_FORWARD >e +2; e: NOP; RETURN_VALUE",
              "RESUME 0 @1; s: !enterline 2 @2; LOAD_CONST 1 +3; JUMP_FORWARD >e +2; e: NOP;"
              "r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
}

Test(rewrite, constants_beyond_255_have_prefixes)
{
    static const uint32_t counts[] = {254, 255, 256, 65534, 65536, (1u << 24) - 2, 1u << 24};
    char old[256];

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(old, sizeof old,
                 ".consts %u; RESUME 0 @1; LOAD_FAST 0 @3; POP_JUMP_IF_TRUE >t; NOP @5; t: NOP;"
                 "RETURN_VALUE", counts[i]);
        check(12, old,
              "RESUME 0 @1; s: !enterline 3 @3; LOAD_FAST 0; POP_JUMP_IF_TRUE >t; !line 5 @5; NOP;"
              "JUMP_FORWARD >p; t: !line 5; p: NOP; r: !leave; RETURN_VALUE;" OUT
              ".try s r out 0 lasti");
        cr_assert_eq(after.view.const_count, counts[i]);
    }
}

Test(rewrite, many_lines_need_many_constants)
{
    static char old[16384], new[32768];
    size_t a = 0, b = 0;

    a += (size_t)snprintf(old + a, sizeof old - a, "RESUME 0 @1; NOP @2;");
    b += (size_t)snprintf(new + b, sizeof new - b, "RESUME 0 @1; s: !enterline 2 @2; NOP;");
    for (int line = 3; line < 300; line++) {
        a += (size_t)snprintf(old + a, sizeof old - a, "NOP @%d;", line);
        b += (size_t)snprintf(new + b, sizeof new - b, "!line %d @%d; NOP;", line, line);
    }
    snprintf(old + a, sizeof old - a, "RETURN_VALUE");
    snprintf(new + b, sizeof new - b, "r: !leave; RETURN_VALUE;" OUT ".try s r out 0 lasti");
    check(14, old, new);
    cr_assert_eq(out.probe_count, 299);
}

/* ---- locations ---- */

/* Of 3.12: RESUME, then NOP, NOP, RETURN_VALUE with one entry of this form; with the probes that is
 * nine units, so there must be two entries, the second without the step in line. */
static void check_split(uint8_t form, const char *payload, size_t bytes, uint8_t again_form,
                        const char *again, size_t again_bytes)
{
    uint8_t expected[32] = {0xe8, 0};
    size_t at = 2;

    made_init(&before, 12, ".first 100; RESUME 0; NOP; NOP; RETURN_VALUE");
    memcpy(before.locations, "\xe8", 2);
    before.locations[2] = (uint8_t)(128 | form << 3 | 2);
    memcpy(before.locations + 3, payload, bytes);
    before.view.location_bytes = 3 + bytes;
    check_unchanged();
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_OK, "form %d: %s", form, reason);
    expected[at++] = (uint8_t)(128 | form << 3 | 7);
    memcpy(expected + at, payload, bytes);
    at += bytes;
    expected[at++] = (uint8_t)(128 | again_form << 3 | 0);
    memcpy(expected + at, again, again_bytes);
    at += again_bytes;
    expected[at++] = 0xfb; /* the block at the end: four units of nowhere */
    cr_assert(same_bytes(&out.locations, expected, at), "form %d", form);
}

#define SPLIT(form, payload, again_form, again) \
    check_split(form, payload, sizeof(payload) - 1, again_form, again, sizeof(again) - 1)

Test(rewrite, every_form_of_location_grows)
{
    for (uint8_t form = 0; form < 10; form++)
        SPLIT(form, "\x35", form, "\x35");
    SPLIT(10, "\x05\x83", 10, "\x05\x83");
    SPLIT(11, "\x05\x06", 10, "\x05\x06");
    SPLIT(12, "\xff\x06", 10, "\xff\x06");
    SPLIT(13, "\x00", 13, "\x00");
    SPLIT(13, "\x0e", 13, "\x00");
    SPLIT(13, "\x41\x01", 13, "\x00");
    SPLIT(14, "\x0e\x02\x41\x07\x09", 14, "\x00\x02\x41\x07\x09");
    SPLIT(14, "\x4e\x01\x00\x00\x00", 14, "\x00\x00\x00\x00");
    SPLIT(15, "", 15, "");
}

/* 6 + 7 + 6 + 1 units from one entry of eight */
Test(rewrite, a_location_grows_into_three_entries)
{
    static const uint8_t expected[] = {0xe8, 0, 0xdf, 3, 4, 0xd7, 3, 4, 0xd3, 3, 4, 0xfe};

    made_init(&before, 12, ".consts 16777216; RESUME 0; NOP x7; RETURN_VALUE");
    memcpy(before.locations, "\xe8\x00\xdf\x03\x04", 5);
    before.view.location_bytes = 5;
    check_unchanged();
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_OK, "%s", reason);
    cr_assert(same_bytes(&out.locations, expected, sizeof expected));
}

/* LOAD_ATTR of 3.12 has ten units, so its location has two entries; only the first one grows. */
Test(rewrite, a_location_of_a_long_instruction)
{
    static const uint8_t expected[] = {0xe8, 0, 0xdf, 3, 4, 0xd2, 3, 4,
                                       0xd1, 3, 4, 0xfb, 0xfb};

    made_init(&before, 12, "RESUME 0; LOAD_ATTR 0; RETURN_VALUE");
    memcpy(before.locations, "\xe8\x00\xdf\x03\x04\xd1\x03\x04\xf8", 9);
    before.view.location_bytes = 9;
    check_unchanged();
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_OK, "%s", reason);
    cr_assert(same_bytes(&out.locations, expected, sizeof expected));
}

/* An entry that ends between an instruction and its cache still does when a prefix is new. */
Test(rewrite, a_location_that_ends_within_a_jump_that_grows)
{
    static int32_t lines[MADE_UNITS];

    made_init(&before, 13,
              "RESUME 0 @1; LOAD_FAST 0 @2; POP_JUMP_IF_TRUE >f; NOP x253 @3; f: NOP;"
              "RETURN_VALUE");
    /* the entries of RESUME, LOAD_FAST and the jump are two bytes each; 1, 1 and 2 units */
    before.locations[4] = 0xe8;                       /* the jump without its cache */
    memmove(before.locations + 7, before.locations + 6, before.view.location_bytes - 6);
    before.locations[6] = 0xf8;                       /* the cache: nowhere */
    before.view.location_bytes++;
    check_unchanged();
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_OK, "%s", reason);
    made_lines((uint8_t *)out.locations.bytes, out.locations.used, 1, lines);
    /* RESUME, the probe, LOAD_FAST, EXTENDED_ARG, the jump, its cache, the next probe */
    static const int32_t expected[] = {1, 2, 2, 2, 2, 2, 2, -1, 3, 3, 3, 3};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        cr_assert_eq(lines[i], expected[i], "unit %zu has line %d", i, lines[i]);
}

/* ---- refusals ---- */

Test(rewrite, what_cannot_be_decoded_is_refused)
{
    refuse(12, "RESUME 0; NOP", CLP_CORRUPT, "it runs over its end");
    refuse(12, "NOP; RETURN_VALUE", CLP_CORRUPT, "it has no RESUME instruction");
}

Test(rewrite, what_has_no_room_to_grow_is_refused)
{
    static const struct {
        uint32_t consts;
        int32_t stack;
    } large[] = {{UINT32_MAX, 1}, {(1u << 24) + 1, 1}, {0, INT32_MAX}, {0, (1 << 24) + 1}};

    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        made_init(&before, 12, "RESUME 0; NOP; RETURN_VALUE");
        before.view.const_count = large[i].consts;
        before.view.stack_size = large[i].stack;
        cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_TOO_LARGE);
        cr_assert_str_eq(reason, "it is too large");
    }
}

Test(rewrite, a_line_within_a_loops_end_is_refused)
{
    refuse(14,
           ".stack 7; RESUME 0 @1; GET_ITER @2; l: FOR_ITER >e; POP_TOP; JUMP_BACKWARD >l; e: END_FOR; POP_ITER @3;"
           "RETURN_VALUE", CLP_UNSUPPORTED, "a line begins in the midst of a loop's end");
}

static void refuse_delegation(const char *old)
{
    made_init(&before, 11, old);
    check_unchanged();
    cr_assert_eq(rewrite_it(CLP_INSERT_LINES), CLP_UNSUPPORTED);
    cr_assert_str_eq(reason, "a delegation in it is not laid out as the compiler does");
    cr_assert_eq(out.code.used + out.exceptions.used + out.locations.used, 0);
    cr_assert_eq(out.probe_count, 0);
    test_mem_check_empty(&test);
}

Test(rewrite, delegations_of_3_11_that_are_laid_out_otherwise_are_refused)
{
    /* something between the loop's end and where it goes on */
    refuse_delegation("RESUME 0 @1; NOP @2; l: SEND >d; YIELD_VALUE; RESUME 2;"
                      "JUMP_BACKWARD_NO_INTERRUPT >l; NOP; d: RETURN_VALUE");
    /* it goes on where it stands */
    refuse_delegation("RESUME 0 @1; NOP @2; SEND >d; d: YIELD_VALUE; RESUME 2; RETURN_VALUE");
    /* it goes on too far away for one byte */
    refuse_delegation("RESUME 0 @1; NOP @2; l: SEND >d; YIELD_VALUE; RESUME 2; NOP x250;"
                      "YIELD_VALUE; RESUME 2; JUMP_BACKWARD_NO_INTERRUPT >l; d: RETURN_VALUE");
    /* it goes on behind a line's probe */
    refuse_delegation("RESUME 0 @1; LOAD_FAST 0 @5; POP_JUMP_FORWARD_IF_TRUE >d; NOP @2;"
                      "l: SEND >d; YIELD_VALUE; RESUME 2; JUMP_BACKWARD_NO_INTERRUPT >l; d: RETURN_VALUE");
}

/* ---- memory ---- */

/* With every table and array in use; returns whether an allocation failed. */
static bool rewrite_with_failure(size_t fail_at)
{
    test_mem_init(&test, fail_at);
    clp_status status =
        clp_rewrite(&out, &test.mem, &before.bytecode, &before.view, CLP_INSERT_LINES, &reason);

    if (!test_mem_failed(&test)) {
        cr_assert_eq(status, CLP_OK, "%s", reason);
        return false;
    }
    cr_assert_eq(status, CLP_NO_MEMORY, "allocation %zu", fail_at);
    cr_assert_str_eq(reason, clp_status_text(CLP_NO_MEMORY));
    cr_assert_eq(out.code.used + out.exceptions.used + out.locations.used, 0);
    cr_assert_null(out.code.bytes);
    cr_assert_null(out.exceptions.bytes);
    cr_assert_null(out.locations.bytes);
    cr_assert_null(out.probes);
    cr_assert_eq(out.probe_count, 0);
    test_mem_check_empty(&test);
    return true;
}

Test(rewrite, every_allocation_may_fail)
{
    static char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "RETURN_GENERATOR @1; a: POP_TOP; RESUME 0;");

    for (int line = 2; line < 80; line++)
        used += (size_t)snprintf(text + used, sizeof text - used, "NOP x4 @%d;", line);
    snprintf(text + used, sizeof text - used,
             "b: LOAD_CONST 0 @3; YIELD_VALUE 1; RESUME 1; JUMP_BACKWARD >b; h: NOP @4; RERAISE 1;"
             ".try a b h 0 lasti; .try b h h 3");
    for (int minor = 11; minor <= 15; minor++) {
        size_t fail_at = 1;
        made_init(&before, minor, text);
        while (rewrite_with_failure(fail_at))
            fail_at++;
        cr_assert_gt(fail_at, 10);
        clp_rewritten_clear(&out);
        test_mem_check_empty(&test);
    }
}

/* ---- around calls, operators and steps ---- */

static void check_around(int minor, const char *old, const char *wanted)
{
    check_with(CLP_INSERT_AROUND, minor, old, wanted);
}

/* `last` stands before a return, where there is nothing to leave any more if it raises, which it does not. */
#define AROUND(code, last) \
    "RESUME 0 @1; a: !enterline 2 @2;" code "r: " last "!leave; RETURN_VALUE;" OUT ".try a r out 0 lasti"

/* Behind the begin of its line, but for values at hand, an operator needs no mark. */
Test(rewrite, operators)
{
    for (int minor = 11; minor <= 13; minor++) {
        check_around(minor, "RESUME 0 @1; LOAD_FAST 0 @2; LOAD_FAST 1; BINARY_OP 4; RETURN_VALUE",
                     AROUND("LOAD_FAST 0; LOAD_FAST 1; BINARY_OP 4;", "!operated 4;"));
        check_around(minor, "RESUME 0 @1; LOAD_ATTR 0 @2; BINARY_SUBSCR; LOAD_FAST 1; CONTAINS_OP 0; RETURN_VALUE",
                     AROUND("LOAD_ATTR 0; !mark; BINARY_SUBSCR; !operated 26; LOAD_FAST 1; CONTAINS_OP 0;",
                            "!operated 33;"));
    }
}

/* An addition that is stored right away may be done in place. */
Test(rewrite, what_is_added_and_stored_stays_together)
{
    for (int minor = 11; minor <= 15; minor++)
        check_around(minor, "RESUME 0 @1; LOAD_FAST 0 @2; BINARY_OP 13; STORE_FAST 0; NOP; RETURN_VALUE",
                     AROUND("LOAD_FAST 0; BINARY_OP 13; STORE_FAST 0; !operated 13; NOP;", " "));
}

/* Up to 3.12 the second value below the arguments is the callable, or the object of the method. */
Test(rewrite, calls)
{
    check_around(11, "RESUME 0 @1; PUSH_NULL @2; LOAD_FAST 0; LOAD_CONST 0; KW_NAMES 1; PRECALL 1; CALL 1; RETURN_VALUE",
                 AROUND("PUSH_NULL; LOAD_FAST 0; LOAD_CONST 0; COPY 2; !call; KW_NAMES 1; PRECALL 1; CALL 1;", "!called;"));
    check_around(12, "RESUME 0 @1; LOAD_FAST 0 @2; LOAD_ATTR 7; LOAD_GLOBAL 3; LOAD_CONST 0; CALL 1; CALL 1; RETURN_VALUE",
                 AROUND("LOAD_FAST 0; LOAD_ATTR 7; LOAD_GLOBAL 3; LOAD_CONST 0; COPY 2; !call; CALL 1; !called;"
                        "COPY 2; !call 4; CALL 1;", "!called;"));
    check_around(12, "RESUME 0 @1; GET_ITER @2; CALL 0; RETURN_VALUE", /* a comprehension: what is called lies below */
                 AROUND("GET_ITER; !operated 35; CALL 0;", " "));
    check_around(13, "RESUME 0 @1; LOAD_CONST 0 @2; CALL_KW 300; RETURN_VALUE",
                 AROUND("LOAD_CONST 0; COPY 303; !call; CALL_KW 300;", "!called;"));
    check_around(13, "RESUME 0 @1; LOAD_CONST 0 @2; CALL_FUNCTION_EX 1; RETURN_VALUE",
                 AROUND("LOAD_CONST 0; COPY 4; !call; CALL_FUNCTION_EX 1;", "!called;"));
}

/* The step's probe stands where the loop goes on, with the iterator below the value. */
Test(rewrite, steps)
{
    check_around(12,
                 ".stack 7; RESUME 0 @1; GET_ITER @2; l: FOR_ITER >e; STORE_FAST 0; JUMP_BACKWARD >l; e: END_FOR; NOP; RETURN_VALUE",
                 ".stack 9; RESUME 0 @1; a: !enterline 2 @2; GET_ITER; !operated 35; l: !mark; FOR_ITER >e; COPY 2; !iterated; STORE_FAST 0;"
                 "JUMP_BACKWARD >l; e: END_FOR; NOP; r: !leave; RETURN_VALUE;" OUT ".try a r out 0 lasti");
    check_around(15,
                 ".stack 7; RESUME 0 @1; GET_ITER @2; l: FOR_ITER >e; STORE_FAST 0; JUMP_BACKWARD >l; e: END_FOR; NOP; RETURN_VALUE",
                 ".stack 9; RESUME 0 @1; a: !enterline 2 @2; GET_ITER; !operated 35; l: !mark; FOR_ITER >e; COPY 3; !iterated; STORE_FAST 0;"
                 "JUMP_BACKWARD >l; e: END_FOR; NOP; r: !leave; RETURN_VALUE;" OUT ".try a r out 0 lasti");
}
