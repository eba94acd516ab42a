/* SPDX-License-Identifier: MIT */
/* Sets up the tree of calls of the copy anew, in the reader's engine. */
#ifndef CLP_LIVE_CALLS_H
#define CLP_LIVE_CALLS_H

#include "live_copy.h"

/* Notes the nodes of an area of the copy. On failure the reader's fault says where and why. */
clp_status clp_live_take_calls(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);

/* Makes the engine's nodes of those that were noted. A node whose parent or function did not get into the file, which
 * could not grow any more, is left out. */
clp_status clp_live_make_calls(struct clp_live_reader *reader);

/* Take an area of counts that are added to the nodes, or subtracted from them. The nodes must have been made. */
clp_status clp_live_take_call_sum(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);
clp_status clp_live_take_call_base(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);

/* The engine's node for the one that lies here in the copy (`at` may be NULL). Where there is none it returns a
 * node whose counts are in no profile. */
struct clp_call *clp_live_call(const struct clp_live_reader *reader, const void *at);

#endif
