/* SPDX-License-Identifier: MIT */
/* The result of a rewrite (rewrite.h): a code object's new bytes, and the probes that stand in them. */
#ifndef CLP_REWRITTEN_H
#define CLP_REWRITTEN_H

#include "base/buf.h"
#include "base/mem.h"
#include <stddef.h>
#include <stdint.h>

enum clp_probe_kind {
    CLP_PROBE_ENTER,
    CLP_PROBE_ENTER_LINE, /* the body is entered, and its first line begins */
    CLP_PROBE_LINE,
    CLP_PROBE_LAST_LINE, /* the line begins, and the body is left: the line only returns a value at hand */
    CLP_PROBE_LEAVE,
    CLP_PROBE_SUSPEND,
    CLP_PROBE_RESUME,
    CLP_PROBE_RESUME_IF, /* the body resumes, unless it is running already (3.11) */
    CLP_PROBE_LINE_ASKED, /* the line begins, unless the added exception was raised on it */
    CLP_PROBE_CALL,       /* a call begins; the operand tells what is called (around.h) */
    CLP_PROBE_CALLED,     /* a call has ended */
    CLP_PROBE_MARK,       /* an operator begins */
    CLP_PROBE_OPERATED,   /* an operator has ended */
    CLP_PROBE_ITERATED,   /* an iterator has given a value; the operand is the iterator */
    CLP_PROBE_KINDS
};

/* A probe, to become a constant behind those of the code object. */
struct clp_probe {
    enum clp_probe_kind kind;
    int32_t line; /* the line of the file, for kinds that have one; else 0 */
    /* CLP_PROBE_CALL: 1 more than the number of the method's name among the code's names, where the operand may be the
     * object that has the method; else 0. CLP_PROBE_OPERATED: enum clp_operator. Else 0. */
    uint32_t name;
    /* Not 0 for CLP_PROBE_CALL and CLP_PROBE_ITERATED: each place has its own probe, which keeps what it met last. */
    uint32_t site;
};

/* How much is put into the code. Each has what those before it have. */
enum clp_insertion {
    CLP_INSERT_NOTHING,
    CLP_INSERT_LINES,
    CLP_INSERT_AROUND, /* also probes around calls, operators, subscripts and steps of iterators */
};

struct clp_rewritten {
    struct clp_buf code, exceptions, locations;
    int32_t stack_size;       /* in values */
    struct clp_probe *probes; /* in the order of the constants */
    size_t probe_count, probe_room;
    struct clp_mem *mem; /* borrowed */
};

#endif
