/* SPDX-License-Identifier: MIT */
/* Protects files that -o must not write over. */
#ifndef CLP_OVERWRITE_H
#define CLP_OVERWRITE_H

#include <stdbool.h>

struct clp_overwrite {
    const char *program;  /* its name begins the complaint */
    const char *path;     /* the value of -o; NULL: standard output */
    char *const *files;   /* the files that the command reads; "-" is standard input */
    int file_count;
    bool sums;          /* the command writes a .lprof file, so it may replace one that it has read */
    bool profiles_only; /* refuse every file that is not a profile, unless it is empty */
};

/* Returns true, after one line of complaint, when `path` must not be written: when it is a program, the live file of a
 * run, a file that the command reads, or, with profiles_only, not a profile. */
bool clp_overwrite_refuse(const struct clp_overwrite *wish);

#endif
