/* SPDX-License-Identifier: MIT */
/* One run of `clineprof diff`: what was asked for, and what was found. Every form of output is made from it. */
#ifndef CLP_DIFF_RESULT_H
#define CLP_DIFF_RESULT_H

#include "diff/compare.h"
#include "diff/limits.h"
#include "diff/verdict.h"
#include <stdbool.h>

/* What was asked for. Texts and files are borrowed from argv. */
struct clp_diff_request {
    double unit;
    const char *measures, *fail_on, *noise_floor, *format, *outfile;
    size_t top;
    bool all, help;
    char **files; /* owned, the names borrowed; the old ones first */
    size_t file_room, counts[2];
    struct clp_limits limits;
};

/* What was found. */
struct clp_diff {
    const struct clp_diff_request *request;
    struct clp_mem *mem;              /* borrowed */
    struct clp_profile *profiles[2];  /* owned, as many as request->counts */
    struct clp_comparison comparison;
    struct clp_breach *breaches;      /* owned */
    size_t breach_count, breach_room;
    unsigned denied; /* of any profile's file */
    const char *folder;               /* file names are shown relative to it */
};

#endif
