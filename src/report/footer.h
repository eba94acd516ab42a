/* SPDX-License-Identifier: MIT */
/* The last line of a report: what the numbers above it are worth; and before it what of memory is no
 * line's. It never says what the profile does not know, so of a foreign one it may say nothing. */
#ifndef CLP_FOOTER_H
#define CLP_FOOTER_H

#include "base/buf.h"
#include "profile/profile.h"

struct clp_footer_options {
    bool raw_times; /* are the profiler's costs left in the times shown? */
    bool memory;    /* does the report show memory? */
    bool details;   /* the tracer, its events, the reads of memory, in place of two sentences */
};

/* Appends them. False when there is nothing to say. */
bool clp_footer_add(const struct clp_profile_meta *meta, const struct clp_footer_options *options,
                    struct clp_buf *out);

#endif
