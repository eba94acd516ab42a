/* SPDX-License-Identifier: MIT */
/* The request and the result of one `clineprof diff`. Every output format is made from the result. */
#ifndef CLP_DIFF_RESULT_H
#define CLP_DIFF_RESULT_H

#include "diff/compare.h"
#include "diff/limits.h"
#include "diff/verdict.h"
#include <stdbool.h>

/* The options and files of the command line. Texts are borrowed from argv. */
struct clp_diff_request {
    double unit; /* seconds */
    const char *measures, *fail_on, *noise_floor, *format, *outfile, *color; /* values of options; NULL: not given */
    size_t top;  /* --top; 0: all functions */
    double confidence; /* --confidence, 0 to 100; 0: not given */
    bool all, renamed, help;
    const char *titles[2]; /* what is shown in place of the names of a side's files; NULL: nothing */
    char **files; /* owned array of borrowed names: those of the old side, then those of the new side */
    size_t file_room;
    size_t counts[2]; /* how many files each side has */
    struct clp_limits limits; /* of --fail-on */
};

/* The result. */
struct clp_diff {
    const struct clp_diff_request *request; /* borrowed */
    struct clp_mem *mem;              /* borrowed */
    struct clp_profile *profiles[2];  /* owned arrays, as long as request->counts says */
    struct clp_comparison comparison;
    struct clp_breach *breaches;      /* owned: the changes that break a limit */
    size_t breach_count, breach_room;
    unsigned denied;                  /* rights that some profile's file does not give; the output must not, either */
    const char *folder;               /* borrowed: file names are shown relative to this folder */
};

#endif
