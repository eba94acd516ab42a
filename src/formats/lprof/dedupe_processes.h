/* SPDX-License-Identifier: MIT */
/* Counts each process once when files are added up that share processes. For example, a child outlives its parent: the
 * parent's profile is a sum that has the child's counts up to the parent's end, and the child's own live file has all
 * of its counts.
 *
 * Which processes have files of their own is known only when all files have been read. So the files are read
 * in a first round and, if some process is in two of them, in a second one. In the second round the counts of
 * a process that has a file of its own are taken out of the sums. A sum that has more counts of a process keeps them: the
 * process's own file was copied earlier, and is left out. */
#ifndef CLP_DEDUPE_PROCESSES_H
#define CLP_DEDUPE_PROCESSES_H

#include "profile/profile.h"
#include <stdbool.h>

struct clp_dedupe {
    struct clp_mem *mem; /* borrowed */
    struct clp_dedupe_process *items; /* owned: the processes that have files of their own */
    size_t count, room;
    bool several; /* there is more than one file, so that each process gets a row in the sum */
    bool again; /* some process is in two files, so a second round is needed */
    bool round; /* this is the second round; set by the caller */
    struct clp_buf complaint; /* one line, when something failed */
};

/* several: more than one file will be added. */
void clp_dedupe_init(struct clp_dedupe *once, bool several, struct clp_mem *mem);
void clp_dedupe_clear(struct clp_dedupe *once);

/* Notes the processes of a file's profile `one`, and adds it to the sum without what counts elsewhere: in the second
 * round the processes that have files of their own; in both rounds those that an earlier sum has. Of two files of one
 * process the one with more counts is added. May change `one`. On failure returns false, and once->complaint says
 * why; path: what it calls the file. */
bool clp_dedupe_merge(struct clp_dedupe *once, struct clp_profile *sum, struct clp_profile *one, const char *path);

#endif
