/* SPDX-License-Identifier: MIT */
/* What is kept of a code object whose ways are counted (engine/ways.h). Protected as recorder_state.h says. */
#ifndef CLP_COUNTED_CODE_H
#define CLP_COUNTED_CODE_H

#include "cpython/code/code_lines.h"
#include "engine/ways.h"
#include "recorder_state.h"
#include "rewrite/rewritten.h"

struct clp_counted {
    struct clp_ways *ways;       /* borrowed from the engine, to which clp_counted_free says that they are complete */
    struct clp_flow_span *spans; /* owned: where its nodes and lines lie */
    size_t span_count;
    int32_t *asked; /* owned; by counter: the line of one that asks for places */
    const void *sampled; /* the code object, while samples of it count; only compared */
};

/* Makes it for a copy of code of this function with these lines. NULL with an exception set. */
struct clp_counted *clp_counted_new(struct clp_recorder *recorder, uint32_t function, const struct clp_code_lines *lines,
                                    const struct clp_rewritten *rewritten);

/* NULL is allowed. */
void clp_counted_free(struct clp_recorder *recorder, struct clp_counted *counted);

/* From now on samples that meet the code object, which has these lines, count for the function with this number. Where memory
 * runs out they do not. */
void clp_counted_begin(struct clp_recorder *recorder, struct clp_counted *counted, PyObject *code, uint32_t function,
                       const struct clp_code_lines *lines);

/* The code object dies. */
void clp_counted_end(struct clp_recorder *recorder, struct clp_counted *counted);

/* Was anything counted in the code? */
bool clp_counted_has_run(const struct clp_counted *counted);

/* In which node does a body of this code run that stands at this offset, in bytes? */
uint32_t clp_counted_node(const struct clp_counted *counted, int offset);

#endif
