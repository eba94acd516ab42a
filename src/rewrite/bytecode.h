/* SPDX-License-Identifier: MIT */
/* The instructions of each CPython version: what they look like and where they lead. An instruction is zero or
 * more EXTENDED_ARG prefixes, one unit of opcode and argument, and its inline cache. A unit has two bytes. */
#ifndef CLP_BYTECODE_H
#define CLP_BYTECODE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CLP_OP_KNOWN = 1,
    CLP_OP_TARGET = 2,     /* its argument is a distance to another instruction */
    CLP_OP_BACKWARD = 4,   /* the distance is counted backwards */
    CLP_OP_GOES = 8,       /* execution may continue at the target (END_ASYNC_FOR only names a place) */
    CLP_OP_NO_NEXT = 16,   /* never continues at the next instruction */
    CLP_OP_LEAVES = 32,    /* returns from the body */
    CLP_OP_NEVER_STARTS = 64, /* the interpreter lets no line begin at it */
    CLP_OP_TRIVIAL = 128,     /* pushes a value that is at hand: takes no time, calls nothing */
    CLP_OP_QUIET = 256,       /* never raises */
    CLP_OP_OPERATES = 512,    /* an operator, a subscript or the begin of an iteration */
    CLP_OP_AT_HAND = 1024,    /* only moves values, from and into variables; what it drops is C's work */
};

struct clp_bytecode {
    int minor;  /* the version is 3.minor */
    bool known; /* the instructions are those that the table has for the version */
    struct {
        uint16_t flags;
        uint8_t caches;
        uint8_t row; /* in the table, counted from 1; 0 for a name that is not there */
    } op[256];
    uint8_t nop, extended_arg, load_const, unary_negative, pop_top, jump_forward, reraise;
    uint8_t copy, binary_op, contains_op;
    uint8_t call, call_kw, call_function_ex, precall, kw_names; /* 0 where the version has none */
    uint8_t push_null, load_method, load_super_attr, get_iter, get_aiter;
    uint8_t compare_op, binary_subscr, binary_slice, store_subscr, store_slice, delete_subscr;
    uint8_t store_fast, store_fast_load_fast, store_fast_store_fast;
    uint8_t resume, yield_value, send, for_iter, load_name, load_global, load_attr;
    /* END_FOR, which an exhausted FOR_ITER jumps past, and the instruction that must follow it; 0 where the
     * version has none. */
    uint8_t end_for, end_for_tail;
    /* Does FOR_ITER jump past end_for_tail, too? (3.13) */
    bool skips_tail;
};

/* Fills in what the table has for this version; false, and empty, where it has none. */
bool clp_bytecode_init(struct clp_bytecode *bytecode, int minor);

/* Adds an instruction of a version that the table may not have. What it does is known by its name. */
void clp_bytecode_add(struct clp_bytecode *bytecode, const char *name, uint8_t number, uint8_t caches);

/* Has the table these instructions for the version, and no others? */
bool clp_bytecode_agrees(const struct clp_bytecode *bytecode);

static inline bool clp_bytecode_is(const struct clp_bytecode *bytecode, uint8_t opcode, int flags)
{
    return (bytecode->op[opcode].flags & flags) != 0;
}

#endif
