/* SPDX-License-Identifier: MIT */
/* Puts probes into a code object's bytes. A pure function: bytes in, bytes out.
 *
 *     before                    after
 *     RESUME                    RESUME
 *                               probe enter              from here on an exception leaves by `out`
 *     LOAD_FAST x    line 7     probe line 7
 *                           .-> LOAD_FAST x              a jump that begins no line arrives behind
 *     ..                    |   ..                       the probe, one that begins it before it
 *     YIELD_VALUE           |   probe suspend
 *                           |   YIELD_VALUE              an exception thrown in here goes by `back`
 *     RESUME                |   RESUME
 *                           |   probe resume
 *     JUMP_BACKWARD --------'   ..
 *     RETURN_VALUE              probe leave
 *                               RETURN_VALUE
 *                         back: probe resume, RERAISE    to the handler that YIELD_VALUE had
 *                         out:  probe leave, RERAISE
 *                         ask:  probe + place, RERAISE   begins the handler's line or not, as the
 *                                                        place has it where it was raised
 *
 * A line that only returns a value at hand (`return x`) has one probe for both, line and leave.
 *
 * A probe is three instructions: LOAD_CONST of the probe, UNARY_NEGATIVE, POP_TOP. They have the
 * location of the instruction behind them; the blocks at the end have none. Instructions are never
 * changed but for the distances of jumps. */
#ifndef CLP_REWRITE_H
#define CLP_REWRITE_H

#include "buf.h"
#include "decoded.h"

enum clp_probe_kind {
    CLP_PROBE_ENTER,
    CLP_PROBE_ENTER_LINE, /* enters, and the line begins */
    CLP_PROBE_LINE,
    CLP_PROBE_LAST_LINE, /* the line begins, and as it only returns what is at hand the body is left */
    CLP_PROBE_LEAVE,
    CLP_PROBE_SUSPEND,
    CLP_PROBE_RESUME,
    CLP_PROBE_RESUME_IF, /* resumes unless it runs already (3.11) */
    CLP_PROBE_LINE_ASKED, /* the line begins unless what is added to it was raised there */
    CLP_PROBE_KINDS
};

/* A constant to be put behind those of the code object. */
struct clp_probe {
    enum clp_probe_kind kind;
    int32_t line; /* where the kind has one, else 0 */
};

struct clp_rewritten {
    struct clp_buf code, exceptions, locations;
    int32_t stack_size;
    struct clp_probe *probes; /* in the order of the constants */
    size_t probe_count, probe_room;
    struct clp_mem *mem; /* borrowed */
};

/* Rewrites; with `insert` false nothing is put in and the bytes must come out as they went in.
 * When code is refused (CLP_CORRUPT, CLP_TOO_LARGE, CLP_UNSUPPORTED, CLP_NO_MEMORY), *reason is a
 * constant that says why, and *out is empty. */
clp_status clp_rewrite(struct clp_rewritten *out, struct clp_mem *mem,
                       const struct clp_bytecode *bytecode, const struct clp_code *code,
                       bool insert, const char **reason);

void clp_rewritten_clear(struct clp_rewritten *rewritten);

#endif
