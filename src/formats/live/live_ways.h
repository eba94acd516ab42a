/* SPDX-License-Identifier: MIT */
/* The counters of ways (engine/ways.h) of a live file. */
#ifndef CLP_LIVE_WAYS_H
#define CLP_LIVE_WAYS_H

#include "live_copy.h"

/* Takes an area of the copy into reader->engine.ways, which then lie in the copy. Ways that cannot be are refused. */
clp_status clp_live_take_ways(struct clp_live_reader *reader, struct clp_area *area, size_t bytes);

#endif
