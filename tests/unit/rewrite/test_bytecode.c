/* SPDX-License-Identifier: MIT */
/* The numbers themselves are compared with each interpreter's own in each process that records; here it
 * is about what is said of them. */
#include "made_code.h"

enum { FIRST = CLP_OPCODE_FIRST_MINOR, LAST = CLP_OPCODE_LAST_MINOR };

static struct clp_bytecode bytecode;

/* Calls `check` for every instruction of every version. */
static void each(void (*check)(int minor, const char *name, uint8_t opcode))
{
    for (int minor = FIRST; minor <= LAST; minor++) {
        cr_assert(clp_bytecode_init(&bytecode, minor));
        for (size_t i = 0; i < MADE_ROWS; i++) {
            if (made_opcode_in(i, minor) >= 0)
                check(minor, made_rows[i].name, (uint8_t)made_opcode_in(i, minor));
        }
    }
}

static bool starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool has(uint8_t opcode, int flags)
{
    return clp_bytecode_is(&bytecode, opcode, flags);
}

static int count_known(void)
{
    int count = 0;

    for (int i = 0; i < 256; i++)
        count += has((uint8_t)i, CLP_OP_KNOWN);
    return count;
}

Test(bytecode, versions_that_are_known)
{
    cr_assert_not(clp_bytecode_init(&bytecode, FIRST - 1));
    cr_assert_eq(count_known(), 0);
    cr_assert_not(clp_bytecode_init(&bytecode, LAST + 1));
    cr_assert_eq(count_known(), 0);
    for (int minor = FIRST; minor <= LAST; minor++) {
        cr_assert(clp_bytecode_init(&bytecode, minor));
        cr_assert_eq(bytecode.minor, minor);
    }
}

/* Counted in each interpreter's opcode.opmap, without CACHE, RESERVED and what only a running
 * interpreter writes. */
Test(bytecode, counts)
{
    static const int counts[] = {109, 109, 116, 119, 118};

    for (int minor = FIRST; minor <= LAST; minor++) {
        cr_assert(clp_bytecode_init(&bytecode, minor));
        cr_assert_eq(count_known(), counts[minor - FIRST], "3.%d has %d", minor, count_known());
    }
}

static int seen[256];

static void check_number(int minor, const char *name, uint8_t opcode)
{
    cr_assert_neq(opcode, 0, "%s is a cache", name);
    cr_assert_lt(opcode, 233, "3.%d: %s is a number of instrumented code", minor, name);
    cr_assert_neq(seen[opcode], minor, "3.%d: %s has the number of another", minor, name);
    cr_assert(has(opcode, CLP_OP_KNOWN));
    cr_assert_leq(bytecode.op[opcode].caches, 10);
    seen[opcode] = minor;
}

Test(bytecode, every_number_stands_for_one_instruction)
{
    each(check_number);
}

Test(bytecode, what_is_not_in_the_table_is_not_known)
{
    /* of 3.12: CACHE, INSTRUMENTED_CALL, INSTRUMENTED_LINE; of 3.13 and 3.14: RESERVED */
    static const struct {
        int minor;
        uint8_t opcode;
    } unknown[] = {{11, 0}, {12, 0}, {13, 0}, {14, 0}, {15, 0}, {12, 240}, {12, 254}, {13, 17},
                   {13, 254}, {14, 17}, {14, 254}, {14, 255}, {15, 17}, {15, 253}, {15, 255},
                   {11, 255}, {11, 3}, {11, 177}};

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        cr_assert(clp_bytecode_init(&bytecode, unknown[i].minor));
        cr_assert_eq(bytecode.op[unknown[i].opcode].flags, 0, "3.%d: %d", unknown[i].minor,
                     unknown[i].opcode);
        cr_assert_eq(bytecode.op[unknown[i].opcode].caches, 0);
    }
}

/* ---- what instructions do, by their names ---- */

static void check_jump(int minor, const char *name, uint8_t opcode)
{
    bool names_place = strcmp(name, "END_ASYNC_FOR") == 0 && minor >= 14;
    bool jumps = strstr(name, "JUMP") != NULL || strcmp(name, "FOR_ITER") == 0 ||
                 strcmp(name, "SEND") == 0;

    cr_assert_eq(has(opcode, CLP_OP_TARGET), jumps || names_place, "3.%d: %s", minor, name);
    cr_assert_eq(has(opcode, CLP_OP_GOES), jumps, "3.%d: %s", minor, name);
    cr_assert_eq(has(opcode, CLP_OP_BACKWARD), strstr(name, "BACKWARD") != NULL || names_place,
                 "3.%d: %s", minor, name);
}

Test(bytecode, jumps)
{
    each(check_jump);
}

static void check_end(int minor, const char *name, uint8_t opcode)
{
    bool leaves = strcmp(name, "RETURN_VALUE") == 0 || strcmp(name, "RETURN_CONST") == 0;
    bool jumps = starts(name, "JUMP_") && strstr(name, "_OR_POP") == NULL;
    bool raises = strcmp(name, "RAISE_VARARGS") == 0 || strcmp(name, "RERAISE") == 0;

    cr_assert_eq(has(opcode, CLP_OP_LEAVES), leaves, "3.%d: %s", minor, name);
    cr_assert_eq(has(opcode, CLP_OP_NO_NEXT), leaves || jumps || raises, "3.%d: %s", minor, name);
}

Test(bytecode, what_never_goes_on)
{
    each(check_end);
}

static void check_start(int minor, const char *name, uint8_t opcode)
{
    bool never = strcmp(name, "RESUME") == 0 || strcmp(name, "END_FOR") == 0 ||
                 strcmp(name, "END_SEND") == 0 || strcmp(name, "POP_ITER") == 0 ||
                 (strcmp(name, "END_ASYNC_FOR") == 0 && minor >= 12);

    cr_assert_eq(has(opcode, CLP_OP_NEVER_STARTS), never, "3.%d: %s", minor, name);
}

Test(bytecode, where_no_line_begins)
{
    each(check_start);
}

/* Whatever could call something, or come back somewhere else, must not be among them. */
static void check_trivial(int minor, const char *name, uint8_t opcode)
{
    bool trivial = strcmp(name, "LOAD_CONST") == 0 || strcmp(name, "LOAD_SMALL_INT") == 0 ||
                   strcmp(name, "LOAD_FAST") == 0 || strcmp(name, "LOAD_FAST_BORROW") == 0;

    cr_assert_eq(has(opcode, CLP_OP_TRIVIAL), trivial, "3.%d: %s", minor, name);
}

Test(bytecode, what_only_pushes_a_value)
{
    each(check_trivial);
}

/* An exception at one of these would be taken for one that cannot be. */
static void check_quiet(int minor, const char *name, uint8_t opcode)
{
    static const char *const quiet[] = {
        "JUMP_FORWARD", "JUMP_BACKWARD_NO_INTERRUPT", "LOAD_CONST", "LOAD_SMALL_INT", "POP_TOP",
        "POP_EXCEPT", "PUSH_EXC_INFO", "PUSH_NULL", "STORE_FAST", "COPY", "SWAP", "NOP",
        "NOT_TAKEN", "END_FOR", "END_SEND", "POP_ITER",
    };
    bool expected = false;

    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
        expected |= strcmp(name, quiet[i]) == 0;
    cr_assert_eq(has(opcode, CLP_OP_QUIET), expected, "3.%d: %s", minor, name);
}

Test(bytecode, what_never_raises)
{
    each(check_quiet);
}

/* ---- those with a part to play ---- */

static void check_special(int minor, const char *name, uint8_t opcode)
{
    const struct {
        const char *name;
        uint8_t number;
    } special[] = {
        {"EXTENDED_ARG", bytecode.extended_arg}, {"LOAD_CONST", bytecode.load_const},
        {"UNARY_NEGATIVE", bytecode.unary_negative}, {"POP_TOP", bytecode.pop_top},
        {"JUMP_FORWARD", bytecode.jump_forward}, {"RERAISE", bytecode.reraise},
        {"RESUME", bytecode.resume}, {"YIELD_VALUE", bytecode.yield_value},
        {"SEND", bytecode.send}, {"FOR_ITER", bytecode.for_iter},
        {"LOAD_NAME", bytecode.load_name}, {"LOAD_GLOBAL", bytecode.load_global},
        {"LOAD_ATTR", bytecode.load_attr}, {"END_FOR", bytecode.end_for},
    };

    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (strcmp(special[i].name, name) == 0)
            cr_assert_eq(special[i].number, opcode, "3.%d: %s", minor, name);
        else
            cr_assert_neq(special[i].number, opcode, "3.%d: %s is not %s", minor, name,
                          special[i].name);
    }
}

Test(bytecode, instructions_with_a_name_of_their_own)
{
    each(check_special);
}

/* What is put into code must have no cache and no target. */
Test(bytecode, probes_are_made_of_plain_instructions)
{
    for (int minor = FIRST; minor <= LAST; minor++) {
        cr_assert(clp_bytecode_init(&bytecode, minor));
        const uint8_t plain[] = {bytecode.extended_arg, bytecode.load_const,
                                 bytecode.unary_negative, bytecode.pop_top, bytecode.reraise};
        for (size_t i = 0; i < sizeof plain; i++) {
            cr_assert(has(plain[i], CLP_OP_KNOWN));
            cr_assert_not(has(plain[i], CLP_OP_TARGET));
            cr_assert_eq(bytecode.op[plain[i]].caches, 0);
        }
        cr_assert_eq(bytecode.op[bytecode.jump_forward].caches, 0);
    }
}

Test(bytecode, ends_of_loops)
{
    static const char *const tails[] = {"", "", "POP_TOP", "POP_ITER", "POP_ITER"};

    for (int minor = FIRST; minor <= LAST; minor++) {
        cr_assert(clp_bytecode_init(&bytecode, minor));
        cr_assert_str_eq(made_name(minor, bytecode.end_for), minor == 11 ? "" : "END_FOR");
        cr_assert_str_eq(made_name(minor, bytecode.end_for_tail), tails[minor - FIRST]);
        cr_assert_eq(bytecode.skips_tail, minor == 13);
    }
}

/* ---- what an interpreter says of itself ---- */

static struct clp_bytecode told;

/* Adds the instruction to those before it, which are not all that the version has. */
static void add_and_compare(int minor, const char *name, uint8_t opcode)
{
    if (told.minor != minor)
        told = (struct clp_bytecode){.minor = minor};
    cr_assert_not(clp_bytecode_agrees(&told), "3.%d agrees without %s", minor, name);
    clp_bytecode_add(&told, name, opcode, bytecode.op[opcode].caches);
}

static void tell(int minor)
{
    cr_assert(clp_bytecode_init(&bytecode, minor));
    told = bytecode;
    cr_assert(clp_bytecode_agrees(&told));
}

Test(bytecode, agrees_with_all_that_it_knows)
{
    each(add_and_compare);
    cr_assert(clp_bytecode_agrees(&told));
}

Test(bytecode, agrees_with_what_it_knows_only)
{
    tell(12);
    clp_bytecode_add(&told, "LOAD_ATTR", 106, 8);
    cr_assert_not(clp_bytecode_agrees(&told), "other caches");
    tell(12);
    clp_bytecode_add(&told, "LOAD_ATTRIBUTE", 106, 9);
    cr_assert_not(clp_bytecode_agrees(&told), "another name");
    tell(12);
    clp_bytecode_add(&told, "LOAD_METHOD", 160, 10);
    cr_assert_not(clp_bytecode_agrees(&told), "that is of 3.11");
    tell(12);
    clp_bytecode_add(&told, "LOAD_FAST", 125, 0);
    clp_bytecode_add(&told, "STORE_FAST", 124, 0);
    cr_assert_not(clp_bytecode_agrees(&told), "two have changed places");
}

/* A version that the table has no column for is read by the names of its instructions. */
Test(bytecode, instructions_of_an_unknown_version_go_by_their_names)
{
    told = (struct clp_bytecode){.minor = LAST + 1};
    clp_bytecode_add(&told, "JUMP_BACKWARD", 200, 3);
    clp_bytecode_add(&told, "LEAP", 201, 0);
    clp_bytecode_add(&told, "YIELD_VALUE", 202, 0);
    cr_assert_not(clp_bytecode_agrees(&told));
    cr_assert_not(told.known);
    bytecode = told;
    cr_assert(has(200, CLP_OP_BACKWARD));
    cr_assert_eq(bytecode.op[200].caches, 3);
    cr_assert_eq(bytecode.op[201].flags, CLP_OP_KNOWN);
    cr_assert_eq(bytecode.yield_value, 202);
}
