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
    CLP_PROBE_KINDS,
    CLP_PROBE_COUNT = CLP_PROBE_KINDS, /* a way is gone (flow.h). Code has either such probes or those above */
    CLP_PROBE_COUNT_ASKED              /* the same, unless the added exception was raised on the line */
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
    CLP_INSERT_COUNTS, /* instead of all these, counters on some ways (flow.h) */
};

#define CLP_FLOW_OUTSIDE 0u /* the node of all that is not the body */

/* A way from one node of the flow graph to another. */
struct clp_flow_edge {
    uint32_t from, to; /* the same: only the line counts, nothing flows */
    uint32_t counter;  /* number of its counter; CLP_FLOW_DERIVED: it has none */
    int32_t line;      /* the line of the file that begins by it; -1: none */
    bool enters;       /* the body is entered by it */
    bool by_from;      /* it has no counter: its count follows from what flows in its node `from`; false: in `to` */
};

#define CLP_FLOW_DERIVED UINT32_MAX

/* From this unit of the new code on, up to the next span, instructions lie in the node and on the line. */
struct clp_flow_span {
    uint32_t unit, node;
    int32_t line; /* of the file, or -1 */
};

struct clp_rewritten {
    struct clp_buf code, exceptions, locations;
    int32_t stack_size;       /* in values */
    struct clp_probe *probes; /* in the order of the constants */
    size_t probe_count, probe_room;
    /* With CLP_INSERT_COUNTS: the ways, in the order of clp_flow_write, and where the nodes and lines lie. Each probe is a counter. */
    struct clp_flow_edge *edges;
    struct clp_flow_span *spans;
    size_t edge_count, edge_room, span_count, span_room;
    uint32_t node_count;
    struct clp_mem *mem; /* borrowed */
};

#endif
