/* SPDX-License-Identifier: MIT */
/* Protects files that -o must not write over. */
#ifndef CLP_OVERWRITE_H
#define CLP_OVERWRITE_H

#include <stdbool.h>

/* The files that may be replaced, or added to; an empty one may always be. */
enum clp_overwrite_kind {
    CLP_OVERWRITE_ALL,
    CLP_OVERWRITE_PROFILES,
    CLP_OVERWRITE_RECORDINGS /* memory over time, in mprof's format */
};

struct clp_overwrite {
    const char *program;  /* its name begins the complaint */
    const char *path;     /* the value of -o; NULL: standard output */
    char *const *files;   /* the files that the command reads; "-" is standard input */
    int file_count;
    bool sums; /* a profile is written, which may take the place of one that is read */
    enum clp_overwrite_kind only;
};

/* Is what stands there a program, the live file of a run, a file that is read, or of another kind? True when it is
 * refused, after one line of complaint. */
bool clp_overwrite_refuse(const struct clp_overwrite *wish);

#endif
