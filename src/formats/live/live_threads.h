/* SPDX-License-Identifier: MIT */
/* Counters and threads of the copy, set up anew in the reader's engine. */
#ifndef CLP_LIVE_THREADS_H
#define CLP_LIVE_THREADS_H

#include "live_copy.h"

/* An area of the copy: counters, counters to be taken off others, a thread with its stack. On failure the
 * reader's fault says where and why. */
clp_status clp_live_take_block(struct clp_live_reader *reader, struct clp_area *area,
                               size_t bytes);
clp_status clp_live_take_base(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);
clp_status clp_live_take_thread(struct clp_live_reader *reader, struct clp_area *area,
                                size_t bytes);

void clp_live_take_costs(struct clp_live_reader *reader);

/* What is still on a stack ends. */
void clp_live_end_all(struct clp_live_reader *reader);

/* Brings counters back from the ends of their types. */
void clp_live_tidy_block(struct clp_block *block);
void clp_live_tidy_totals(struct clp_engine_totals *totals);

#endif
