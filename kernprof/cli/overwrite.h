/* SPDX-License-Identifier: MIT */
/* What -o must not write over. */
#ifndef CLP_OVERWRITE_H
#define CLP_OVERWRITE_H

#include <stdbool.h>

struct clp_overwrite {
    const char *program;  /* who complains */
    const char *path;     /* the value of -o; NULL: standard output */
    char *const *files;   /* that are read; "-" is standard input */
    int file_count;
    bool sums;          /* a profile is written, which may take the place of one that is read */
    bool profiles_only; /* no file of any other kind is replaced */
};

/* Is what stands there a program, the live file of a run, or a file that is read? True when it is refused, after
 * one line of complaint. */
bool clp_overwrite_refuse(const struct clp_overwrite *wish);

#endif
