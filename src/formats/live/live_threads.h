/* SPDX-License-Identifier: MIT */
/* Sets up the counters and threads of the copy anew, in the reader's engine. */
#ifndef CLP_LIVE_THREADS_H
#define CLP_LIVE_THREADS_H

#include "live_copy.h"

/* Each of these takes an area of the copy: counters; counters to be subtracted from others; a thread with its
 * stack. On failure the reader's fault says where and why. */
clp_status clp_live_take_block(struct clp_live_reader *reader, struct clp_area *area,
                               size_t bytes);
clp_status clp_live_take_base(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);
clp_status clp_live_take_tensors(struct clp_live_reader *reader, struct clp_area *area,
                                 size_t bytes);
clp_status clp_live_take_thread(struct clp_live_reader *reader, struct clp_area *area,
                                size_t bytes);

/* The place in the copy of `bytes` bytes that the process had at this address, a multiple of 8; or NULL. */
void *clp_live_translate(const struct clp_live_reader *reader, const void *pointer, size_t bytes);

/* Gives the engine the costs of events that the header has, within limits. */
void clp_live_take_costs(struct clp_live_reader *reader);

/* Ends every body that is still on a stack. */
void clp_live_end_all(struct clp_live_reader *reader);

/* Limit the counters of a damaged file, so that sums do not reach the ends of their types. */
void clp_live_tidy_block(struct clp_block *block);
void clp_live_tidy_totals(struct clp_engine_totals *totals);

#endif
