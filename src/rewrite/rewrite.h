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
 *                         ask:  probe + place, RERAISE   begins the handler's line, or does not: the place
 *                                                        at which the exception was raised decides
 *
 * A line that only returns a value at hand (`return x`) has one probe for line and leave.
 *
 * A probe is three instructions: LOAD_CONST of the probe, UNARY_NEGATIVE, POP_TOP. Probes that need an operand
 * are COPY of the operand, LOAD_CONST of the probe, CONTAINS_OP, POP_TOP; around.h says where they stand. All
 * have the location of the instruction behind them. The blocks at the end have no location. Instructions of the original code never
 * change, except for the distances of jumps. */
#ifndef CLP_REWRITE_H
#define CLP_REWRITE_H

#include "decoded.h"
#include "base/mem.h"
#include "rewritten.h"
#include "base/status.h"
#include <stdbool.h>

/* Rewrites *code. With CLP_INSERT_NOTHING the bytes must come out as they went in. On
 * failure (CLP_CORRUPT, CLP_TOO_LARGE, CLP_UNSUPPORTED, CLP_NO_MEMORY) *reason is a constant that says why, and
 * *out is empty. Clear *out by clp_rewritten_clear after success. */
clp_status clp_rewrite(struct clp_rewritten *out, struct clp_mem *mem,
                       const struct clp_bytecode *bytecode, const struct clp_code *code,
                       enum clp_insertion insert, const char **reason);

void clp_rewritten_clear(struct clp_rewritten *rewritten);

#endif
