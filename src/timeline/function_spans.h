/* SPDX-License-Identifier: MIT */
/* Spans of selected functions, found by looks at the threads' stacks. A span that begins and ends between two
 * looks is not seen. The beginning of a span is exact; its end is the time of the last look that saw it. The
 * room is fixed: when it is full, the shorter half of the spans is dropped. */
#ifndef CLP_FUNCTION_SPANS_H
#define CLP_FUNCTION_SPANS_H

#include "engine/engine_state.h"

#define CLP_FUNCTION_SPANS 1024     /* at most so many closed ones, and so many open ones at one time */
#define CLP_FUNCTION_SPANS_DEPTH 64 /* functions deeper in a stack are not looked at */

struct clp_function_span {
    uint64_t enter, leave; /* the clock's ticks */
    uint64_t entered;      /* by the thread's own clock; tells spans of one thread, level and function apart */
    const struct clp_thread *thread;
    uint32_t function; /* its number */
    uint32_t level;    /* functions below it in the stack, 0 the outermost */
    uint32_t look;     /* the number of the last look that saw it */
};

struct clp_function_spans {
    struct clp_function_span closed[CLP_FUNCTION_SPANS];
    struct clp_function_span open[CLP_FUNCTION_SPANS];
    size_t closed_count, open_count;
    uint64_t least; /* shorter ones are not kept any more */
    uint32_t look;
};

/* Looks at the stacks of all threads of the engine. Nobody may change them meanwhile. */
void clp_function_spans_look(struct clp_function_spans *marks, const struct clp_engine *engine, uint64_t now);

/* Closes the open spans, as left when they were last seen. closed[] then has all spans, by ascending
 * beginning. */
void clp_function_spans_end(struct clp_function_spans *marks);

#endif
