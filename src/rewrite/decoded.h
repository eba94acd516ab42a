/* SPDX-License-Identifier: MIT */
/* The bytes of a code object taken apart: instructions with their lines and where they lead, and the
 * ranges of the exception table. Believes nothing: whatever does not fit together is refused. */
#ifndef CLP_DECODED_H
#define CLP_DECODED_H

#include "bytecode.h"
#include "base/mem.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a code object holds, as the interpreter keeps it. Borrowed. */
/* By line, from line 0: the line on which its statement begins. */
struct clp_statements {
    const int32_t *starts;
    size_t count;
};

/* The line on which the statement of this line begins; not before first_line, the code's. */
int32_t clp_statements_line(const struct clp_statements *statements, int32_t first_line,
                            int32_t line);

struct clp_code {
    const uint8_t *code, *exceptions, *locations;
    size_t code_bytes, exception_bytes, location_bytes;
    int32_t first_line;
    int32_t stack_size; /* in values */
    uint32_t const_count;
    struct clp_statements statements; /* borrowed; with any, an instruction's line is its statement's */
};

#define CLP_NO_LINE (-1)
#define CLP_NOWHERE UINT32_MAX

struct clp_instruction {
    uint32_t at; /* the unit of its first prefix */
    uint32_t argument;
    uint32_t target; /* the instruction it names, or CLP_NOWHERE */
    uint32_t range;  /* the range it lies in, or CLP_NOWHERE */
    int32_t line;    /* or CLP_NO_LINE */
    uint8_t opcode, prefixes;
};

/* Exceptions of the instructions first .. past - 1 are handled at `handler`, after the stack has
 * been cut to `depth` values, with the place of the exception on it if `lasti`. */
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
    uint32_t units;
    /* NOPs behind the end, which belong to nothing: line_profiler makes code objects differ by them. Not
     * among the units; the code is refused by clp_rewrite, for whoever put them there looks for them. */
    uint32_t appended;
    uint32_t entry; /* the RESUME at which the body begins; what is before it only sets up the frame */
};

/* CLP_CORRUPT or CLP_TOO_LARGE with *reason, a constant, when the code is refused; *decoded is then
 * empty. It borrows *bytecode and *code until it is cleared. */
clp_status clp_decoded_init(struct clp_decoded *decoded, struct clp_mem *mem,
                            const struct clp_bytecode *bytecode, const struct clp_code *code,
                            const char **reason);
void clp_decoded_clear(struct clp_decoded *decoded);

static inline bool clp_decoded_is(const struct clp_decoded *decoded, uint32_t at, int flags)
{
    return clp_bytecode_is(decoded->bytecode, decoded->items[at].opcode, flags);
}

/* The opcode of the instruction's first unit, which is all that the interpreter looks at when it
 * decides where a line may begin. */
static inline uint8_t clp_decoded_first_opcode(const struct clp_decoded *decoded, uint32_t at)
{
    const struct clp_instruction *item = &decoded->items[at];

    return item->prefixes > 0 ? decoded->bytecode->extended_arg : item->opcode;
}

/* Units of the instruction without its prefixes. */
static inline uint32_t clp_decoded_body(const struct clp_decoded *decoded, uint32_t at)
{
    return 1u + decoded->bytecode->op[decoded->items[at].opcode].caches;
}

/* ---- one entry of the location table ---- */

/* What Objects/locations.md of CPython calls an entry: `units` units share one location. */
struct clp_location {
    uint32_t units; /* 1 to 8 */
    uint8_t form;   /* 0 to 15 */
    bool has_line;
    int32_t line_delta;     /* from the line of the entry before */
    const uint8_t *payload; /* its bytes behind the first; borrowed */
    const uint8_t *columns; /* the part of them behind the line delta */
    size_t payload_bytes, column_bytes;
};

/* Reads the entry at *at and moves *at behind it; false when the bytes are no entry. */
bool clp_location_read(const uint8_t **at, const uint8_t *end, struct clp_location *location);

#endif
