/* SPDX-License-Identifier: MIT */
/* The rules come from Python/bytecodes.c, Python/instrumentation.c and Lib/dis.py of each version. */
#include "bytecode.h"
#include "opcode_table.h"
#include <stddef.h>
#include <string.h>

#define ROW(name, ...) {#name, {__VA_ARGS__}},
static const struct {
    const char *name;
    int16_t in[CLP_OPCODE_VERSIONS * 2]; /* number and cache units of each version */
} rows[] = {CLP_OPCODE_TABLE(ROW)};
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
    {"LOAD_CONST", CLP_OP_TRIVIAL | CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"LOAD_SMALL_INT", CLP_OP_TRIVIAL | CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"POP_TOP", CLP_OP_QUIET},
    {"POP_EXCEPT", CLP_OP_QUIET},
    {"PUSH_EXC_INFO", CLP_OP_QUIET},
    {"PUSH_NULL", CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"STORE_FAST", CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"COPY", CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"SWAP", CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"NOP", CLP_OP_QUIET | CLP_OP_AT_HAND},
    {"NOT_TAKEN", CLP_OP_QUIET},
    {"LOAD_FAST", CLP_OP_TRIVIAL | CLP_OP_AT_HAND},
    {"LOAD_FAST_BORROW", CLP_OP_TRIVIAL | CLP_OP_AT_HAND},
    {"LOAD_FAST_LOAD_FAST", CLP_OP_AT_HAND},
    {"LOAD_FAST_BORROW_LOAD_FAST_BORROW", CLP_OP_AT_HAND},
    {"LOAD_FAST_CHECK", CLP_OP_AT_HAND},
    {"LOAD_GLOBAL", CLP_OP_AT_HAND},
    {"LOAD_DEREF", CLP_OP_AT_HAND},
    {"LOAD_NAME", CLP_OP_AT_HAND},
    {"STORE_FAST_LOAD_FAST", CLP_OP_AT_HAND},
    {"STORE_FAST_STORE_FAST", CLP_OP_AT_HAND},
    {"BUILD_SLICE", CLP_OP_AT_HAND},
    {"KW_NAMES", CLP_OP_AT_HAND},
    {"BINARY_OP", CLP_OP_OPERATES},
    {"COMPARE_OP", CLP_OP_OPERATES},
    {"CONTAINS_OP", CLP_OP_OPERATES},
    {"BINARY_SUBSCR", CLP_OP_OPERATES},
    {"STORE_SUBSCR", CLP_OP_OPERATES},
    {"DELETE_SUBSCR", CLP_OP_OPERATES},
    {"BINARY_SLICE", CLP_OP_OPERATES},
    {"STORE_SLICE", CLP_OP_OPERATES},
    {"UNARY_NEGATIVE", CLP_OP_OPERATES},
    {"UNARY_INVERT", CLP_OP_OPERATES},
    {"UNARY_POSITIVE", CLP_OP_OPERATES},
    {"GET_ITER", CLP_OP_OPERATES},
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

/* The instructions that have a field of their own. */
#define FIELD(field) offsetof(struct clp_bytecode, field)
static const struct {
    const char *name;
    size_t field;
} named[] = {
    {"NOP", FIELD(nop)},
    {"EXTENDED_ARG", FIELD(extended_arg)},
    {"LOAD_CONST", FIELD(load_const)},
    {"UNARY_NEGATIVE", FIELD(unary_negative)},
    {"POP_TOP", FIELD(pop_top)},
    {"COPY", FIELD(copy)},
    {"BINARY_OP", FIELD(binary_op)},
    {"CONTAINS_OP", FIELD(contains_op)},
    {"CALL", FIELD(call)},
    {"CALL_KW", FIELD(call_kw)},
    {"CALL_FUNCTION_EX", FIELD(call_function_ex)},
    {"PRECALL", FIELD(precall)},
    {"KW_NAMES", FIELD(kw_names)},
    {"PUSH_NULL", FIELD(push_null)},
    {"LOAD_METHOD", FIELD(load_method)},
    {"LOAD_SUPER_ATTR", FIELD(load_super_attr)},
    {"GET_ITER", FIELD(get_iter)},
    {"GET_AITER", FIELD(get_aiter)},
    {"COMPARE_OP", FIELD(compare_op)},
    {"BINARY_SUBSCR", FIELD(binary_subscr)},
    {"BINARY_SLICE", FIELD(binary_slice)},
    {"STORE_SUBSCR", FIELD(store_subscr)},
    {"STORE_SLICE", FIELD(store_slice)},
    {"DELETE_SUBSCR", FIELD(delete_subscr)},
    {"STORE_FAST", FIELD(store_fast)},
    {"STORE_FAST_LOAD_FAST", FIELD(store_fast_load_fast)},
    {"STORE_FAST_STORE_FAST", FIELD(store_fast_store_fast)},
    {"JUMP_FORWARD", FIELD(jump_forward)},
    {"RERAISE", FIELD(reraise)},
    {"RESUME", FIELD(resume)},
    {"YIELD_VALUE", FIELD(yield_value)},
    {"SEND", FIELD(send)},
    {"FOR_ITER", FIELD(for_iter)},
    {"LOAD_NAME", FIELD(load_name)},
    {"LOAD_GLOBAL", FIELD(load_global)},
    {"LOAD_ATTR", FIELD(load_attr)},
    {"END_FOR", FIELD(end_for)},
};

static void fill_field(struct clp_bytecode *bytecode, const char *name, uint8_t number)
{
    bool pops_last = bytecode->minor == 13;

    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (strcmp(named[i].name, name) == 0)
            *((uint8_t *)bytecode + named[i].field) = number;
    }
    if (strcmp(name, pops_last ? "POP_TOP" : "POP_ITER") == 0) {
        bytecode->end_for_tail = number;
        bytecode->skips_tail = pops_last;
    }
}

/* Adds an instruction. `row` is its place in the table, counted from 1; 0: the table does not have it. */
static void add(struct clp_bytecode *bytecode, size_t row, const char *name, uint8_t number, uint8_t caches)
{
    bytecode->op[number].flags = (uint16_t)(CLP_OP_KNOWN | kind_of(name, bytecode->minor));
    bytecode->op[number].caches = caches;
    bytecode->op[number].row = (uint8_t)row;
    fill_field(bytecode, name, number);
}

void clp_bytecode_add(struct clp_bytecode *bytecode, const char *name, uint8_t number, uint8_t caches)
{
    size_t row = ROW_COUNT;

    while (row > 0 && strcmp(rows[row - 1].name, name) != 0)
        row--;
    add(bytecode, row, name, number, caches);
}

bool clp_bytecode_init(struct clp_bytecode *bytecode, int minor)
{
    *bytecode = (struct clp_bytecode){
        .minor = minor,
        .known = minor >= CLP_OPCODE_FIRST_MINOR && minor <= CLP_OPCODE_LAST_MINOR};
    for (size_t i = 0; bytecode->known && i < ROW_COUNT; i++) {
        const int16_t *in = &rows[i].in[(minor - CLP_OPCODE_FIRST_MINOR) * 2];
        if (in[0] >= 0)
            add(bytecode, i + 1, rows[i].name, (uint8_t)in[0], (uint8_t)in[1]);
    }
    return bytecode->known;
}

bool clp_bytecode_agrees(const struct clp_bytecode *bytecode)
{
    struct clp_bytecode table;

    return clp_bytecode_init(&table, bytecode->minor) &&
           memcmp(table.op, bytecode->op, sizeof table.op) == 0;
}
