/* SPDX-License-Identifier: MIT */
/* The probes around calls, operators, subscripts and steps of iterators, which tell how long C code and functions that
 * are not selected took.
 *
 *     LOAD_FAST f               probe line 7
 *     LOAD_FAST a               LOAD_FAST f
 *     LOAD_FAST b               LOAD_FAST a
 *     BINARY_OP @               LOAD_FAST b
 *     CALL 1                    BINARY_OP @
 *     POP_TOP                   probe operated       it began where the last probe was: loading a variable takes
 *                               COPY 3                no time worth telling
 *                               LOAD_CONST probe     call: the operand tells what is called
 *                               CONTAINS_OP, POP_TOP
 *                               CALL 1
 *                               probe called
 *                               POP_TOP
 *
 * Where something else may run between the last probe and an operator, a probe of its own marks the begin. No probe
 * stands behind an iterator's last step, nor behind what raises: the next event ends those. */
#ifndef CLP_AROUND_H
#define CLP_AROUND_H

#include "places.h"

enum clp_operator {
    CLP_OPERATOR_BINARY = 0,      /* and the argument of BINARY_OP */
    CLP_OPERATOR_SUBSCRIPT = 26,  /* as since 3.14 */
    CLP_OPERATOR_COMPARE = 27,    /* and the number of the comparison */
    CLP_OPERATOR_CONTAINS = 33,
    CLP_OPERATOR_UNARY,
    CLP_OPERATOR_ITERATION,
    CLP_OPERATORS
};

/* How an operator is written. */
const char *clp_operator_text(uint32_t which);

/* Plans these probes, when all others are planned. */
clp_status clp_around_plan(struct clp_layout *layout);

#endif
