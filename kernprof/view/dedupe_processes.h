/* SPDX-License-Identifier: MIT */
/* Each process counts once, also where files are added up of which one is the sum of several processes
 * and another is of one of these: the live file of a process that outlived its parent has all that it
 * did, and the parent's profile has what it had done by then.
 *
 * That is only known when all files have been read. So they are read once, and, when there was such a
 * one, again: sums are then without the processes that have files of their own. */
#ifndef CLP_DEDUPE_PROCESSES_H
#define CLP_DEDUPE_PROCESSES_H

#include "profile/profile.h"
#include <stdbool.h>

struct clp_dedupe {
    struct clp_mem *mem; /* borrowed */
    struct clp_dedupe_process *items; /* those with files of their own */
    size_t count, room;
    bool again; /* some process is in two files: the sum is to be made anew */
    bool round; /* .. and is being made */
};

struct clp_dedupe clp_dedupe_start(struct clp_mem *mem);
void clp_dedupe_clear(struct clp_dedupe *once);

/* A file's profile that comes to the sum next. In the second round, what counts elsewhere is taken out of
 * it. False after one line of complaint. */
bool clp_dedupe_take(struct clp_dedupe *once, const struct clp_profile *sum, struct clp_profile *one,
                     const char *path);

#endif
