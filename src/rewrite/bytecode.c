/* SPDX-License-Identifier: MIT */
/* The rules come from Python/bytecodes.c, Python/instrumentation.c and Lib/dis.py of each version. */
#include "bytecode.h"
#include "opcode_table.h"
#include <stddef.h>
#include <string.h>

#define FIRST_MINOR 11
#define LAST_MINOR 15

struct row {
    const char *name;
    struct {
        int16_t number;
        uint8_t caches;
    } in[LAST_MINOR - FIRST_MINOR + 1];
};

#define ROW(name, n11, c11, n12, c12, n13, c13, n14, c14, n15, c15) \
    {#name, {{n11, c11}, {n12, c12}, {n13, c13}, {n14, c14}, {n15, c15}}},
static const struct row rows[] = {CLP_OPCODE_TABLE(ROW)};
#undef ROW

#define ROW_COUNT (sizeof rows / sizeof *rows)

enum {
    JUMP = CLP_OP_TARGET | CLP_OP_GOES | CLP_OP_NO_NEXT,
    BRANCH = CLP_OP_TARGET | CLP_OP_GOES,
};

/* The flags of instructions, by name. An instruction that is not listed has none: it continues at the next one. */
static const struct {
    const char *name;
    uint16_t flags;
} kinds[] = {
    {"JUMP_FORWARD", JUMP | CLP_OP_QUIET},
    {"JUMP_BACKWARD", JUMP | CLP_OP_BACKWARD},
    {"JUMP_BACKWARD_NO_INTERRUPT", JUMP | CLP_OP_BACKWARD | CLP_OP_QUIET},
    {"POP_JUMP_IF_FALSE", BRANCH},
    {"POP_JUMP_IF_TRUE", BRANCH},
    {"POP_JUMP_IF_NONE", BRANCH},
    {"POP_JUMP_IF_NOT_NONE", BRANCH},
    {"POP_JUMP_FORWARD_IF_FALSE", BRANCH},
    {"POP_JUMP_FORWARD_IF_TRUE", BRANCH},
    {"POP_JUMP_FORWARD_IF_NONE", BRANCH},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", BRANCH},
    {"POP_JUMP_BACKWARD_IF_FALSE", BRANCH | CLP_OP_BACKWARD},
    {"POP_JUMP_BACKWARD_IF_TRUE", BRANCH | CLP_OP_BACKWARD},
    {"POP_JUMP_BACKWARD_IF_NONE", BRANCH | CLP_OP_BACKWARD},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", BRANCH | CLP_OP_BACKWARD},
    {"JUMP_IF_FALSE_OR_POP", BRANCH},
    {"JUMP_IF_TRUE_OR_POP", BRANCH},
    {"FOR_ITER", BRANCH},
    {"SEND", BRANCH},
    {"RETURN_VALUE", CLP_OP_NO_NEXT | CLP_OP_LEAVES},
    {"RETURN_CONST", CLP_OP_NO_NEXT | CLP_OP_LEAVES},
    {"RAISE_VARARGS", CLP_OP_NO_NEXT},
    {"RERAISE", CLP_OP_NO_NEXT},
    {"LOAD_CONST", CLP_OP_TRIVIAL | CLP_OP_QUIET},
    {"LOAD_SMALL_INT", CLP_OP_TRIVIAL | CLP_OP_QUIET},
    {"POP_TOP", CLP_OP_QUIET},
    {"POP_EXCEPT", CLP_OP_QUIET},
    {"PUSH_EXC_INFO", CLP_OP_QUIET},
    {"PUSH_NULL", CLP_OP_QUIET},
    {"STORE_FAST", CLP_OP_QUIET},
    {"COPY", CLP_OP_QUIET},
    {"SWAP", CLP_OP_QUIET},
    {"NOP", CLP_OP_QUIET},
    {"NOT_TAKEN", CLP_OP_QUIET},
    {"LOAD_FAST", CLP_OP_TRIVIAL},
    {"LOAD_FAST_BORROW", CLP_OP_TRIVIAL},
    {"RESUME", CLP_OP_NEVER_STARTS},
    {"END_FOR", CLP_OP_NEVER_STARTS | CLP_OP_QUIET},
    {"END_SEND", CLP_OP_NEVER_STARTS | CLP_OP_QUIET},
    {"POP_ITER", CLP_OP_NEVER_STARTS | CLP_OP_QUIET},
};

static uint16_t kind_of(const char *name, int minor)
{
    if (strcmp(name, "END_ASYNC_FOR") == 0) {
        if (minor >= 14)
            return CLP_OP_NEVER_STARTS | CLP_OP_TARGET | CLP_OP_BACKWARD;
        return minor >= 12 ? CLP_OP_NEVER_STARTS : 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].flags;
    }
    return 0;
}

/* The row of this name, or NULL. */
static const struct row *find(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    }
    return NULL;
}

/* The opcode of this name, or 0 when the version has none; 0 is the opcode of cache units. */
static uint8_t number_of(const char *name, int minor)
{
    int number = find(name)->in[minor - FIRST_MINOR].number;

    return number < 0 ? 0 : (uint8_t)number;
}

static void name_special(struct clp_bytecode *bytecode)
{
    int minor = bytecode->minor;

    bytecode->nop = number_of("NOP", minor);
    bytecode->extended_arg = number_of("EXTENDED_ARG", minor);
    bytecode->load_const = number_of("LOAD_CONST", minor);
    bytecode->unary_negative = number_of("UNARY_NEGATIVE", minor);
    bytecode->pop_top = number_of("POP_TOP", minor);
    bytecode->copy = number_of("COPY", minor);
    bytecode->binary_op = number_of("BINARY_OP", minor);
    bytecode->jump_forward = number_of("JUMP_FORWARD", minor);
    bytecode->reraise = number_of("RERAISE", minor);
    bytecode->resume = number_of("RESUME", minor);
    bytecode->yield_value = number_of("YIELD_VALUE", minor);
    bytecode->send = number_of("SEND", minor);
    bytecode->for_iter = number_of("FOR_ITER", minor);
    bytecode->load_name = number_of("LOAD_NAME", minor);
    bytecode->load_global = number_of("LOAD_GLOBAL", minor);
    bytecode->load_attr = number_of("LOAD_ATTR", minor);
    bytecode->end_for = number_of("END_FOR", minor);
    if (minor >= 14)
        bytecode->end_for_tail = number_of("POP_ITER", minor);
    else if (minor == 13)
        bytecode->end_for_tail = bytecode->pop_top;
    bytecode->skips_tail = minor == 13;
}

bool clp_bytecode_init(struct clp_bytecode *bytecode, int minor)
{
    *bytecode = (struct clp_bytecode){.minor = minor};
    if (minor < FIRST_MINOR || minor > LAST_MINOR)
        return false;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        int number = rows[i].in[minor - FIRST_MINOR].number;
        if (number < 0)
            continue;
        bytecode->op[number].flags = (uint16_t)(CLP_OP_KNOWN | kind_of(rows[i].name, minor));
        bytecode->op[number].caches = rows[i].in[minor - FIRST_MINOR].caches;
    }
    name_special(bytecode);
    return true;
}

int clp_bytecode_count(const struct clp_bytecode *bytecode)
{
    int count = 0;

    for (int i = 0; i < 256; i++)
        count += bytecode->op[i].flags & CLP_OP_KNOWN;
    return count;
}

bool clp_bytecode_agrees(const struct clp_bytecode *bytecode, const char *name, int number,
                         int caches)
{
    const struct row *row = find(name);

    return row != NULL && row->in[bytecode->minor - FIRST_MINOR].number == number &&
           row->in[bytecode->minor - FIRST_MINOR].caches == caches;
}
