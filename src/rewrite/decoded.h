/* SPDX-License-Identifier: MIT */
/* A code object's bytes, taken apart: the instructions with their lines and targets, and the ranges of the
 * exception table. The input is not trusted: code whose parts do not fit together is refused. */
#ifndef CLP_DECODED_H
#define CLP_DECODED_H

#include "bytecode.h"
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The statements of a source file. starts[line] is the line on which the statement of `line` begins, from line
 * 0 on. */
struct clp_statements {
    const int32_t *starts;
    size_t count;
};

/* The line on which the statement of `line` begins, but not before first_line, the first line of the code. */
int32_t clp_statements_line(const struct clp_statements *statements, int32_t first_line,
                            int32_t line);

/* The parts of a code object, as the interpreter keeps them. All is borrowed. */
struct clp_code {
    const uint8_t *code, *exceptions, *locations;
    size_t code_bytes, exception_bytes, location_bytes;
    int32_t first_line;
    int32_t stack_size; /* in values */
    uint32_t const_count;
    /* Borrowed. Where it has any statements, an instruction's line is the line of its statement. */
    struct clp_statements statements;
};

#define CLP_NO_LINE (-1)
#define CLP_NOWHERE UINT32_MAX

struct clp_instruction {
    uint32_t at; /* unit of its first prefix */
    uint32_t argument;
    uint32_t target; /* the instruction that its argument names, or CLP_NOWHERE */
    uint32_t range;  /* the range that it lies in, or CLP_NOWHERE */
    int32_t line;    /* line of the file, or CLP_NO_LINE */
    uint8_t opcode, prefixes;
};

/* Exceptions in the instructions first .. past - 1 are handled at `handler`. Before that the stack is cut to
 * `depth` values. The place of the exception is then pushed, if `lasti`. */
struct clp_handled_range {
    uint32_t first, past;
    uint32_t handler;
    uint32_t depth;
    bool lasti;
};

struct clp_decoded {
    const struct clp_bytecode *bytecode; /* borrowed */
    const struct clp_code *code;         /* borrowed */
    struct clp_mem *mem;                 /* borrowed */
    struct clp_instruction *items;
    size_t count, room;
    struct clp_handled_range *ranges; /* in the order of the code; they do not overlap */
    size_t range_count, range_room;
    uint32_t units; /* of the code, without `appended` */
    /* NOPs behind the end of the code. line_profiler appends them to make code objects differ. They are not
     * counted in `units`. clp_rewrite refuses such code, because whoever appended them looks for them. */
    uint32_t appended;
    /* The RESUME at which the body begins. The instructions before it only set up the frame. */
    uint32_t entry;
};

/* Takes the code apart. CLP_CORRUPT or CLP_TOO_LARGE when the code is refused, or CLP_NO_MEMORY. *reason is
 * then a constant that says why, and *decoded is empty. *decoded borrows *bytecode and *code until it is
 * cleared. */
clp_status clp_decoded_init(struct clp_decoded *decoded, struct clp_mem *mem,
                            const struct clp_bytecode *bytecode, const struct clp_code *code,
                            const char **reason);
void clp_decoded_clear(struct clp_decoded *decoded);

static inline bool clp_decoded_is(const struct clp_decoded *decoded, uint32_t at, int flags)
{
    return clp_bytecode_is(decoded->bytecode, decoded->items[at].opcode, flags);
}

/* Is there an instruction at this place, and has it this opcode? An opcode of 0 is one that the version does not have. */
static inline bool clp_decoded_is_opcode(const struct clp_decoded *decoded, uint32_t at, uint8_t opcode)
{
    return at < decoded->count && opcode != 0 && decoded->items[at].opcode == opcode;
}

/* The opcode of the instruction's first unit. The interpreter looks at nothing else when it decides where a
 * line may begin. */
static inline uint8_t clp_decoded_first_opcode(const struct clp_decoded *decoded, uint32_t at)
{
    const struct clp_instruction *item = &decoded->items[at];

    return item->prefixes > 0 ? decoded->bytecode->extended_arg : item->opcode;
}

/* The number of units of the instruction, without its prefixes. */
static inline uint32_t clp_decoded_body(const struct clp_decoded *decoded, uint32_t at)
{
    return 1u + decoded->bytecode->op[decoded->items[at].opcode].caches;
}

/* ---- one entry of the location table ---- */

/* An entry of the location table (Objects/locations.md of CPython): `units` units share one location. */
struct clp_location {
    uint32_t units; /* 1 to 8 */
    uint8_t form;   /* 0 to 15 */
    bool has_line;
    int32_t line_delta;     /* difference from the line of the entry before */
    const uint8_t *payload; /* the bytes behind the first one; borrowed */
    const uint8_t *columns; /* the part of the payload behind the line delta; borrowed */
    size_t payload_bytes, column_bytes;
};

/* Reads the entry at *at and moves *at behind it. False: the bytes are no entry. */
bool clp_location_read(const uint8_t **at, const uint8_t *end, struct clp_location *location);

#endif
