/* SPDX-License-Identifier: MIT */
#include "made_code.h"

static struct test_mem test;
static struct made made;
static struct clp_decoded decoded;
static const char *reason;

static void set_up(void)
{
    test_mem_init(&test, 0);
    reason = NULL;
}

static void tear_down(void)
{
    clp_decoded_clear(&decoded);
    test_mem_check_empty(&test);
}

TestSuite(decoded, .init = set_up, .fini = tear_down);

static clp_status decode(void)
{
    clp_decoded_clear(&decoded);
    return clp_decoded_init(&decoded, &test.mem, &made.bytecode, &made.view, &reason);
}

static void accept(int minor, const char *text)
{
    decoded.mem = &test.mem;
    made_init(&made, minor, text);
    clp_status status = decode();
    cr_assert_eq(status, CLP_OK, "3.%d refuses `%s`: %s", minor, text, reason);
}

/* What was made is refused for this reason, and nothing is left behind. */
static void refused(clp_status expected, const char *why)
{
    decoded.mem = &test.mem;
    clp_status status = decode();
    cr_assert_eq(status, expected, "status %d: %s", (int)status, reason);
    cr_assert_str_eq(reason, why);
    cr_assert_null(decoded.items);
    cr_assert_null(decoded.ranges);
    cr_assert_eq(decoded.count, 0);
    cr_assert_eq(decoded.range_count, 0);
    test_mem_check_empty(&test);
}

static void refuse(int minor, const char *text, const char *why)
{
    made_init(&made, minor, text);
    refused(CLP_CORRUPT, why);
}

#define SHORT "RESUME 0; LOAD_CONST 0; RETURN_VALUE"

/* ---- instructions ---- */

/* Bytes written by hand: numbers are of 3.12, where LOAD_GLOBAL has four caches. */
Test(decoded, instructions_prefixes_and_caches)
{
    static const uint8_t code[] = {
        151, 0,                                /* RESUME */
        116, 1,  0, 0,  0, 0,  0, 0,  0, 0,    /* LOAD_GLOBAL 1 */
        144, 1,  100, 2,                       /* LOAD_CONST 258 */
        144, 0,  144, 3,  144, 4,  100, 5,     /* LOAD_CONST 0x030405, with all prefixes */
        83, 0,                                 /* RETURN_VALUE */
    };
    static const struct {
        uint32_t at, argument;
        uint8_t opcode, prefixes;
    } expected[] = {{0, 0, 151, 0}, {1, 1, 116, 0}, {6, 258, 100, 1}, {8, 0x030405, 100, 3},
                    {12, 0, 83, 0}};

    made_init(&made, 12, SHORT);
    memcpy(made.code, code, sizeof code);
    made.view.code_bytes = sizeof code;
    memcpy(made.locations, "\xff\xfc", 2); /* 8 and 5 units without a location */
    made.view.location_bytes = 2;
    decoded.mem = &test.mem;
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    cr_assert_eq(decoded.count, 5);
    cr_assert_eq(decoded.units, 13);
    cr_assert_eq(decoded.entry, 0);
    for (uint32_t i = 0; i < decoded.count; i++) {
        cr_assert_eq(decoded.items[i].at, expected[i].at);
        cr_assert_eq(decoded.items[i].argument, expected[i].argument);
        cr_assert_eq(decoded.items[i].opcode, expected[i].opcode);
        cr_assert_eq(decoded.items[i].prefixes, expected[i].prefixes);
        cr_assert_eq(decoded.items[i].target, CLP_NOWHERE);
        cr_assert_eq(decoded.items[i].range, CLP_NOWHERE);
        cr_assert_eq(decoded.items[i].line, CLP_NO_LINE);
    }
    cr_assert_eq(clp_decoded_first_opcode(&decoded, 1), 116);
    cr_assert_eq(clp_decoded_first_opcode(&decoded, 2), 144);
    cr_assert_eq(clp_decoded_body(&decoded, 1), 5);
    cr_assert_eq(clp_decoded_body(&decoded, 3), 1);
}

Test(decoded, an_argument_may_have_all_its_bits)
{
    accept(13, "RESUME 0; LOAD_CONST 4294967295; RETURN_VALUE");
    cr_assert_eq(decoded.items[1].argument, UINT32_MAX);
    cr_assert_eq(decoded.items[1].prefixes, 3);
}

Test(decoded, the_body_is_entered_at_the_first_resume)
{
    accept(12, "RETURN_GENERATOR; POP_TOP; RESUME 0; LOAD_CONST 0; YIELD_VALUE 1; RESUME 1;"
               "RETURN_VALUE");
    cr_assert_eq(decoded.entry, 2);
}

Test(decoded, unknown_instructions_are_refused)
{
    static const struct {
        int minor;
        uint8_t opcode;
    } unknown[] = {
        {11, 0}, {12, 0}, {13, 0}, {14, 0}, {15, 0},   /* a cache where none is due */
        {12, 254}, {13, 254}, {14, 254}, {15, 253},    /* INSTRUMENTED_LINE */
        {12, 237}, {13, 236}, {14, 245}, {15, 244},    /* INSTRUMENTED_RESUME, or another */
        {13, 255}, {14, 255}, {15, 254},               /* ENTER_EXECUTOR, RESERVED */
        {11, 3}, {12, 6}, {13, 150}, {14, 129}, {15, 129}, /* specialised */
    };

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        made_init(&made, unknown[i].minor, "RESUME 0; NOP; RETURN_VALUE");
        made.code[made.view.code_bytes - 4] = unknown[i].opcode;
        refused(CLP_CORRUPT, "it holds an instruction that this version does not have");
    }
}

Test(decoded, instructions_that_are_cut_off_are_refused)
{
    static const char *const why = "it ends in the middle of an instruction";

    made_init(&made, 12, SHORT);
    made.view.code_bytes = 0;
    refused(CLP_CORRUPT, why);
    made_init(&made, 12, SHORT);
    made.view.code_bytes--;
    refused(CLP_CORRUPT, why);
    refuse(12, "RESUME 0; RETURN_VALUE; EXTENDED_ARG 0", why);
    refuse(12, "EXTENDED_ARG 0", why);
}

Test(decoded, more_than_four_bytes_of_an_argument_are_refused)
{
    accept(12, "RESUME 0; LOAD_CONST 0 +3; RETURN_VALUE");
    refuse(12, "RESUME 0; LOAD_CONST 0 +4; RETURN_VALUE",
           "an argument has more than four bytes");
}

Test(decoded, caches_must_be_there_and_empty)
{
    static const char *const why = "an instruction's cache is missing or in use";

    made_init(&made, 13, "RESUME 0; LOAD_ATTR 0");
    made.view.code_bytes -= 2; /* the last of nine */
    refused(CLP_CORRUPT, why);
    made_init(&made, 13, "RESUME 0; LOAD_ATTR 0; RETURN_VALUE");
    made.code[made.view.code_bytes - 4] = 1;
    refused(CLP_CORRUPT, why);
    made_init(&made, 15, "RESUME 0");
    made.view.code_bytes -= 2;
    refused(CLP_CORRUPT, why);
}

Test(decoded, huge_code_is_refused_unread)
{
    static const uint8_t nothing[2];

    made_init(&made, 12, SHORT);
    made.view.code = nothing;
    made.view.code_bytes = ((size_t)1 << 25) + 2;
    refused(CLP_TOO_LARGE, "it is too large");
    made.view.code_bytes = SIZE_MAX - 1;
    refused(CLP_TOO_LARGE, "it is too large");
}

/* ---- jumps ---- */

Test(decoded, targets_of_jumps)
{
    for (int minor = 12; minor <= 15; minor++) {
        accept(minor, "RESUME 0; LOAD_FAST 0; GET_ITER; loop: FOR_ITER >out; STORE_FAST 1;"
                      "LOAD_FAST 1; POP_JUMP_IF_TRUE >loop2; loop2: JUMP_BACKWARD >loop;"
                      "out: END_FOR; POP_TOP; self: JUMP_BACKWARD >self");
        cr_assert_eq(decoded.items[3].target, 8);
        cr_assert_eq(decoded.items[6].target, 7, "the next instruction");
        cr_assert_eq(decoded.items[7].target, 3);
        cr_assert_eq(decoded.items[10].target, 10, "itself");
        cr_assert_eq(decoded.items[5].target, CLP_NOWHERE);
    }
}

Test(decoded, jumps_of_3_11)
{
    accept(11, "RESUME 0; top: LOAD_FAST 0; POP_JUMP_BACKWARD_IF_TRUE >top; LOAD_FAST 0;"
               "JUMP_IF_FALSE_OR_POP >out; LOAD_FAST 1; SEND >out; JUMP_BACKWARD_NO_INTERRUPT >top;"
               "out: RETURN_VALUE");
    cr_assert_eq(decoded.items[2].target, 1);
    cr_assert_eq(decoded.items[4].target, 8);
    cr_assert_eq(decoded.items[6].target, 8);
    cr_assert_eq(decoded.items[7].target, 1);
}

/* Since 3.14 END_ASYNC_FOR names the END_SEND of its loop; no jump. */
Test(decoded, end_async_for_names_a_place)
{
    accept(13, "RESUME 0; NOP; END_ASYNC_FOR; RETURN_VALUE");
    cr_assert_eq(decoded.items[2].target, CLP_NOWHERE);
    accept(14, "RESUME 0; a: NOP; END_ASYNC_FOR >a; RETURN_VALUE");
    cr_assert_eq(decoded.items[2].target, 1);
}

Test(decoded, a_target_with_prefixes_is_its_first_unit)
{
    accept(12, "RESUME 0; JUMP_FORWARD >a; NOP; a: LOAD_CONST 300; RETURN_VALUE");
    cr_assert_eq(decoded.items[1].target, 3);
    refuse(12, "RESUME 0; JUMP_FORWARD 2; NOP; LOAD_CONST 300; RETURN_VALUE",
           "a jump leads into the middle of an instruction");
}

Test(decoded, jumps_out_of_the_code_are_refused)
{
    static const char *const why = "a jump leads out of the code";

    refuse(12, "RESUME 0; JUMP_FORWARD 2; RETURN_VALUE", why);
    refuse(12, "RESUME 0; JUMP_BACKWARD 3; RETURN_VALUE", why);
    refuse(12, "RESUME 0; JUMP_FORWARD 4294967295; RETURN_VALUE", why);
    refuse(12, "RESUME 0; JUMP_BACKWARD 4294967295; RETURN_VALUE", why);
    refuse(13, "RESUME 0; JUMP_BACKWARD 4; RETURN_VALUE", why);
    refuse(14, "RESUME 0; END_ASYNC_FOR 3; RETURN_VALUE", why);
    accept(12, "RESUME 0; JUMP_BACKWARD 2; RETURN_VALUE");
    cr_assert_eq(decoded.items[1].target, 0);
}

Test(decoded, jumps_into_instructions_are_refused)
{
    static const char *const why = "a jump leads into the middle of an instruction";

    refuse(13, "RESUME 0; JUMP_FORWARD 2; LOAD_ATTR 0; RETURN_VALUE", why);
    refuse(12, "RESUME 0; JUMP_FORWARD 1; RETURN_VALUE", why); /* behind everything */
    refuse(13, "RESUME 0; JUMP_BACKWARD 1; RETURN_VALUE", why); /* its own cache */
    refuse(12, "RESUME 0; JUMP_BACKWARD 1 +1; RETURN_VALUE", why);
}

/* With an argument of 0 it leads to the instruction behind it, before which something may come to
 * stand: then it would lead forward. */
Test(decoded, a_jump_backward_that_leads_forward_is_refused)
{
    for (int minor = 11; minor <= 15; minor++)
        refuse(minor, "RESUME 0; JUMP_BACKWARD 0; RETURN_VALUE", "a jump backward leads forward");
}

/* ---- what every code object has ---- */

/* Without a place in the line table, as line_profiler appends them. */
Test(decoded, appended_instructions_are_no_part_of_the_code)
{
    for (int minor = 11; minor <= 15; minor++) {
        accept(minor, SHORT);
        size_t count = decoded.count;
        made_append(&made, 2);
        cr_assert_eq(decode(), CLP_OK, "3.%d: %s", minor, reason);
        cr_assert_eq(decoded.appended, 2);
        cr_assert_eq(decoded.count, count);
    }
    refuse(12, SHORT "; NOP; NOP", "its line table is not as long as its code");
}

Test(decoded, code_without_resume_is_refused)
{
    refuse(11, "LOAD_CONST 0; RETURN_VALUE", "it has no RESUME instruction");
}

Test(decoded, code_that_runs_over_its_end_is_refused)
{
    static const char *const why = "it runs over its end";

    refuse(12, "RESUME 0; RETURN_VALUE; POP_TOP", why);
    refuse(12, "RESUME 0", why);
    accept(12, "RESUME 0; RAISE_VARARGS 0");
    accept(12, "RESUME 0; RERAISE 0");
    accept(12, "a: RESUME 0; JUMP_BACKWARD >a");
    accept(12, "RESUME 0; RETURN_CONST 0");
}

/* ---- the exception table ---- */

static void table(const char *bytes, size_t count)
{
    memcpy(made.exceptions, bytes, count);
    made.view.exception_bytes = count;
}

#define TABLE(text) table(text, sizeof(text) - 1)

#define FIVE "RESUME 0; NOP; LOAD_CONST 300; NOP; RETURN_VALUE" /* 0, 1, 2-3, 4, 5 */

Test(decoded, ranges)
{
    accept(12, "RESUME 0; a: NOP; b: LOAD_CONST 300; c: NOP; NOP; d: RETURN_VALUE;"
               ".try a c d 3 lasti; .try c d a 0; .try d end end2 1; end2: RERAISE 1");
    cr_assert_eq(decoded.range_count, 3);
    cr_assert_eq(decoded.ranges[0].first, 1);
    cr_assert_eq(decoded.ranges[0].past, 3);
    cr_assert_eq(decoded.ranges[0].handler, 5);
    cr_assert_eq(decoded.ranges[0].depth, 3);
    cr_assert(decoded.ranges[0].lasti);
    cr_assert_eq(decoded.ranges[1].first, 3);
    cr_assert_eq(decoded.ranges[1].past, 5);
    cr_assert_eq(decoded.ranges[1].handler, 1);
    cr_assert_eq(decoded.ranges[1].depth, 0);
    cr_assert_not(decoded.ranges[1].lasti);
    cr_assert_eq(decoded.ranges[2].past, decoded.count);
    static const uint32_t ranges[] = {CLP_NOWHERE, 0, 0, 1, 1, 2, 2};
    for (uint32_t i = 0; i < decoded.count; i++)
        cr_assert_eq(decoded.items[i].range, ranges[i]);
}

/* start 1, 4 units, handler 5, depth 1 << 1; numbers of more than six bits have more bytes */
Test(decoded, ranges_written_by_hand)
{
    made_init(&made, 12, FIVE);
    TABLE("\x81\x04\x05\x02");
    decoded.mem = &test.mem;
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    cr_assert_eq(decoded.ranges[0].first, 1);
    cr_assert_eq(decoded.ranges[0].past, 4);
    cr_assert_eq(decoded.ranges[0].handler, 4);
    cr_assert_eq(decoded.ranges[0].depth, 1);
    TABLE("\x81\x04\x05\x41\x40\x00"); /* 1 << 12 */
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    cr_assert_eq(decoded.ranges[0].depth, 2048);
    TABLE("\xc0\x01\x44\x40\x40\x40\x40\x00"); /* over-long zeros: still too many bytes */
    cr_assert_neq(decode(), CLP_OK);
    TABLE("\xc0\x01\x04\x05\x02"); /* an over-long 1 */
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    cr_assert_eq(decoded.ranges[0].first, 1);
}

Test(decoded, damaged_exception_tables_are_refused)
{
    static const struct {
        const char *bytes;
        size_t count;
    } damaged[] = {
        {"\x81\x04\x05", 3}, {"\x81\x04", 2}, {"\x81", 1},   /* cut off between numbers */
        {"\x81\x04\x05\x42", 4}, {"\xc1", 1},                /* .. and within */
        {"\x01\x04\x05\x02", 4},                             /* no start */
        {"\x81\x04\x05\x02\x04", 5},                         /* no second start */
        {"\x81\x04\x05\x40\x40\x40\x40\x40\x02", 9},         /* a number of six bytes */
    };

    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        made_init(&made, 12, FIVE);
        table(damaged[i].bytes, damaged[i].count);
        refused(CLP_CORRUPT, "its exception table is damaged");
    }
}

static void refuse_table(const char *bytes, const char *why)
{
    made_init(&made, 12, FIVE);
    table(bytes, strlen(bytes) > 4 ? strlen(bytes) : 4);
    refused(CLP_CORRUPT, why);
}

Test(decoded, ranges_out_of_the_code_are_refused)
{
    static const char *const why = "its exception table names places out of the code";

    refuse_table("\x87\x01\x05\x02", why);
    refuse_table("\x86\x01\x05\x02", why);
    refuse_table("\x81\x00\x05\x02", why); /* nothing */
    refuse_table("\x81\x06\x05\x02", why);
    refuse_table("\xff\x7f\x7f\x7f\x3f\x01\x05\x02", why);
    refuse_table("\x81\x7f\x7f\x7f\x7f\x3f\x05\x02", why);
}

Test(decoded, ranges_that_cut_instructions_are_refused)
{
    static const char *const why = "its exception table cuts an instruction in two";

    refuse_table("\x83\x01\x05\x02", why);
    refuse_table("\x81\x02\x05\x02", why);
    refuse_table("\x81\x01\x03\x02", why);
    refuse_table("\x81\x01\x06\x02", why); /* a handler behind everything */
    refuse_table("\x81\x01\x7f\x7f\x7f\x7f\x3f\x02", why);
}

Test(decoded, ranges_that_overlap_are_refused)
{
    static const char *const why = "ranges of its exception table overlap";

    refuse_table("\x81\x03\x05\x02\x82\x02\x05\x02", why);
    refuse_table("\x81\x01\x05\x02\x81\x01\x05\x02", why);
    refuse_table("\x82\x02\x05\x02\x81\x01\x05\x02", why); /* out of order */
}

Test(decoded, absurd_depths_are_refused)
{
    made_init(&made, 12, FIVE);
    TABLE("\x81\x01\x05\x48\x40\x40\x00"); /* 1 << 21, that is 1 << 20 values */
    decoded.mem = &test.mem;
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    cr_assert_eq(decoded.ranges[0].depth, 1 << 20);
    TABLE("\x81\x01\x05\x48\x40\x40\x02");
    refused(CLP_CORRUPT, "its exception table keeps more values than a stack can hold");
}

/* ---- one entry of the location table ---- */

static struct clp_location location;

/* Reads one entry; how many bytes it has, 0 when it is none. */
static size_t read_entry(const char *bytes, size_t count)
{
    const uint8_t *start = (const uint8_t *)bytes, *at = start;

    if (!clp_location_read(&at, start + count, &location))
        return 0;
    cr_assert_eq(location.payload, start + 1);
    cr_assert_eq(location.payload_bytes, (size_t)(at - start) - 1);
    cr_assert_eq(location.columns + location.column_bytes, at);
    return (size_t)(at - start);
}

#define ENTRY(text) read_entry(text, sizeof(text) - 1)

Test(decoded, short_forms_of_locations)
{
    for (uint8_t form = 0; form < 10; form++) {
        const char bytes[] = {(char)(128 | form << 3 | 4), 0x35, 0x77};
        cr_assert_eq(read_entry(bytes, 3), 2);
        cr_assert_eq(location.form, form);
        cr_assert_eq(location.units, 5);
        cr_assert(location.has_line);
        cr_assert_eq(location.line_delta, 0);
        cr_assert_eq(location.column_bytes, 1);
        cr_assert_eq(read_entry(bytes, 1), 0, "it is cut off");
    }
}

Test(decoded, one_line_forms_of_locations)
{
    for (uint8_t form = 10; form < 13; form++) {
        /* columns are whole bytes here, whatever their highest bit */
        const char bytes[] = {(char)(128 | form << 3 | 7), (char)0xff, (char)0x80, 0};
        cr_assert_eq(read_entry(bytes, 4), 3);
        cr_assert_eq(location.units, 8);
        cr_assert(location.has_line);
        cr_assert_eq(location.line_delta, form - 10);
        cr_assert_eq(location.column_bytes, 2);
        cr_assert_eq(read_entry(bytes, 2), 0, "it is cut off");
    }
}

Test(decoded, forms_with_a_line_delta)
{
    cr_assert_eq(ENTRY("\xe8\x0e"), 2);
    cr_assert_eq(location.form, 13);
    cr_assert_eq(location.units, 1);
    cr_assert_eq(location.line_delta, 7);
    cr_assert_eq(location.column_bytes, 0);
    cr_assert_eq(ENTRY("\xe8\x0f"), 2);
    cr_assert_eq(location.line_delta, -7);
    cr_assert_eq(ENTRY("\xe8\x41\x01"), 3);
    cr_assert_eq(location.line_delta, -32, "the lowest bits come first");
    cr_assert_eq(ENTRY("\xe8\x7e\x7f\x7f\x7f\x7f\x03"), 7);
    cr_assert_eq(location.line_delta, INT32_MAX);
    cr_assert_eq(ENTRY("\xe8\x7f\x7f\x7f\x7f\x7f\x03"), 7);
    cr_assert_eq(location.line_delta, -INT32_MAX);
    cr_assert_eq(ENTRY("\xe8\x01"), 2);
    cr_assert_eq(location.line_delta, 0);
}

Test(decoded, the_long_form_and_the_one_without_a_line)
{
    cr_assert_eq(ENTRY("\xf2\x04\x00\x41\x02\x05\x09"), 6);
    cr_assert_eq(location.form, 14);
    cr_assert_eq(location.units, 3);
    cr_assert_eq(location.line_delta, 2);
    cr_assert_eq(location.column_bytes, 4);
    cr_assert(location.has_line);
    cr_assert_eq(ENTRY("\xff\x04"), 1);
    cr_assert_eq(location.form, 15);
    cr_assert_eq(location.units, 8);
    cr_assert_not(location.has_line);
    cr_assert_eq(location.column_bytes, 0);
}

Test(decoded, entries_that_are_none)
{
    cr_assert_eq(ENTRY(""), 0);
    cr_assert_eq(ENTRY("\x68\x00"), 0, "no start");
    cr_assert_eq(ENTRY("\xe8"), 0);
    cr_assert_eq(ENTRY("\xe8\x41"), 0);
    cr_assert_eq(ENTRY("\xf0\x00\x00\x00"), 0, "one column of three");
    cr_assert_eq(ENTRY("\xf0\x00\x00\x00\x41"), 0);
    cr_assert_eq(ENTRY("\xe8\x7e\x7f\x7f\x7f\x7f\x04"), 0, "more than 32 bits");
    cr_assert_eq(ENTRY("\xe8\x7e\x7f\x7f\x7f\x7f\x43\x00"), 0, "more than six bytes");
    cr_assert_eq(ENTRY("\xf0\x00\x7e\x7f\x7f\x7f\x7f\x04\x00\x00"), 0);
}

/* ---- lines ---- */

static void locations(const char *bytes, size_t count)
{
    memcpy(made.locations, bytes, count);
    made.view.location_bytes = count;
}

#define LOCATIONS(text) locations(text, sizeof(text) - 1)

Test(decoded, every_instruction_has_the_line_of_its_first_unit)
{
    static const int32_t lines[] = {5, CLP_NO_LINE, 9, 8, 8};

    made_init(&made, 12, FIVE); /* 0, 1, 2-3, 4, 5 */
    made.view.first_line = 5;
    /* short; none; +4; its second unit +1; -2, two units */
    LOCATIONS("\x80\x00" "\xf8" "\xe8\x08" "\xd8\x00\x00" "\xe9\x05");
    decoded.mem = &test.mem;
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    for (uint32_t i = 0; i < decoded.count; i++)
        cr_assert_eq(decoded.items[i].line, lines[i], "instruction %u has line %d", i,
                     decoded.items[i].line);
}

Test(decoded, damaged_line_tables_are_refused)
{
    made_init(&made, 12, FIVE);
    LOCATIONS("\xf8\x78");
    refused(CLP_CORRUPT, "its line table is damaged");
    LOCATIONS("\xfc\xe8");
    refused(CLP_CORRUPT, "its line table is damaged");
}

Test(decoded, line_tables_of_another_length_are_refused)
{
    static const char *const why = "its line table is not as long as its code";

    made_init(&made, 12, FIVE);
    LOCATIONS("");
    refused(CLP_CORRUPT, why);
    LOCATIONS("\xfc");
    refused(CLP_CORRUPT, why);
    LOCATIONS("\xfe");
    refused(CLP_CORRUPT, why);
    LOCATIONS("\xfd\xf8");
    refused(CLP_CORRUPT, why);
    LOCATIONS("\xfd");
    decoded.mem = &test.mem;
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
}

Test(decoded, lines_that_cannot_be_are_refused)
{
    static const char *const why = "its line table names a line that cannot be";

    made_init(&made, 12, FIVE);
    LOCATIONS("\xed\x07"); /* 1 - 3 */
    refused(CLP_CORRUPT, why);
    LOCATIONS("\xed\x7e\x7f\x7f\x7f\x7f\x03"); /* 1 + the largest */
    refused(CLP_CORRUPT, why);
    LOCATIONS("\xed\x03"); /* 0 is a line */
    decoded.mem = &test.mem;
    cr_assert_eq(decode(), CLP_OK, "%s", reason);
    cr_assert_eq(decoded.items[0].line, 0);
    made.view.first_line = INT32_MIN;
    LOCATIONS("\xed\x00");
    refused(CLP_CORRUPT, why);
}

/* ---- memory ---- */

/* Enough instructions and ranges that both arrays grow. */
Test(decoded, every_allocation_may_fail)
{
    bool failed;

    made_init(&made, 12, "RESUME 0; a: NOP x200; b: NOP; c: NOP; d: NOP; e: NOP; f: NOP; g: NOP;"
                         "h: NOP; i: NOP; j: NOP; k: RETURN_VALUE; .try a b k 0; .try b c k 0;"
                         ".try c d k 0; .try d e k 0; .try e f k 0; .try f g k 0; .try g h k 0;"
                         ".try h i k 0; .try i j k 0; .try j k a 0");
    for (size_t fail_at = 1;; fail_at++) {
        decoded.mem = test_mem_init(&test, fail_at);
        clp_status status = decode();
        failed = test_mem_failed(&test);
        if (!failed) {
            cr_assert_eq(status, CLP_OK);
            cr_assert_gt(fail_at, 4);
            return;
        }
        cr_assert_eq(status, CLP_NO_MEMORY);
        cr_assert_str_eq(reason, clp_status_text(CLP_NO_MEMORY));
        cr_assert_null(decoded.items);
        cr_assert_null(decoded.ranges);
        test_mem_check_empty(&test);
    }
}
