/* SPDX-License-Identifier: MIT */
/* Writes the footer of a report. The last line says how accurate the numbers above are. A line before it tells the
 * memory that other threads added or released and that no line of the tables has. The footer says only what the
 * profile knows, so for a file of another profiler there may be no footer. */
#ifndef CLP_FOOTER_H
#define CLP_FOOTER_H

#include "base/buf.h"
#include "profile/profile.h"

struct clp_footer_options {
    bool raw_times; /* are the profiler's costs left in the times shown? */
    bool memory;    /* does the report show memory? */
    bool details;   /* tells the tracer, its events and the reads of memory, in place of the plain sentences */
};

/* Appends the footer. Returns false and appends nothing when there is nothing to say. */
bool clp_footer_add(const struct clp_profile_meta *meta, const struct clp_footer_options *options,
                    struct clp_buf *out);

#endif
