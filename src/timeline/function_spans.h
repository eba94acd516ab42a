/* SPDX-License-Identifier: MIT */
/* When selected functions were entered and left, seen at looks at the threads' stacks: one that begins
 * and ends between two looks is not seen. The beginning of one that is seen is exact, its end is that of
 * the last look that saw it. In a fixed room: when it is full, the shorter half goes. */
#ifndef CLP_FUNCTION_SPANS_H
#define CLP_FUNCTION_SPANS_H

#include "engine/engine_state.h"

#define CLP_FUNCTION_SPANS 1024     /* kept in the end; while they are open, at most so many at one time */
#define CLP_FUNCTION_SPANS_DEPTH 64 /* functions deeper in a stack are not looked at */

struct clp_function_span {
    uint64_t enter, leave; /* the clock's ticks */
    uint64_t entered;      /* on the thread's own clock: with thread and level, what tells two apart */
    const struct clp_thread *thread;
    uint32_t function; /* its number */
    uint32_t level;    /* functions below it in the stack, 0 the outermost */
    uint32_t look;     /* the last that saw it */
};

struct clp_function_spans {
    struct clp_function_span closed[CLP_FUNCTION_SPANS];
    struct clp_function_span open[CLP_FUNCTION_SPANS];
    size_t closed_count, open_count;
    uint64_t least; /* shorter ones are not kept any more */
    uint32_t look;
};

/* Looks at all threads of the engine, which nobody changes meanwhile. */
void clp_function_spans_look(struct clp_function_spans *marks, const struct clp_engine *engine, uint64_t now);

/* All that is open counts as left when it was last seen; closed[] is all there is, by ascending
 * beginning. */
void clp_function_spans_end(struct clp_function_spans *marks);

#endif
