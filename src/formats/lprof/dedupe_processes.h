/* SPDX-License-Identifier: MIT */
/* Counts each process once when files are added up that share processes. For example, a child outlives its parent: the
 * parent's profile is a sum that has the child's counts up to the parent's end, and the child's own live file has all
 * of its counts.
 *
 * Which file has most of a process is known only when all files have been read. So the files are read in a first round
 * and, if some process is in two of them, in a second one, in the same order. In the second round a process counts in
 * the one file that has most of it. It is left out of the others, and taken out of those that are sums. That needs the
 * numbers of the other processes in that sum. Of two files that have equally much of a process, one that is a sum
 * without these numbers is preferred, and otherwise the first. */
#ifndef CLP_DEDUPE_PROCESSES_H
#define CLP_DEDUPE_PROCESSES_H

#include "base/hashmap.h"
#include "profile/profile.h"
#include <stdbool.h>

struct clp_dedupe {
    struct clp_mem *mem; /* borrowed */
    struct clp_dedupe_process *items; /* owned: the processes of all files */
    size_t count, room;
    struct clp_hashmap index; /* hash of a process's number and start -> the place of the first such item, plus 1 */
    size_t file;  /* number of the files that this round has read */
    bool several; /* there is more than one file, so that each process gets a row in the sum */
    bool again; /* some process is in two files, so a second round is needed */
    bool round; /* this is the second round */
    struct clp_buf complaint; /* one line, when something failed */
};

/* several: more than one file will be added. */
void clp_dedupe_init(struct clp_dedupe *once, bool several, struct clp_mem *mem);
void clp_dedupe_clear(struct clp_dedupe *once);

/* Begins the second round, with an empty sum. To be called when `again` is true at the end of the first round. */
void clp_dedupe_begin_again(struct clp_dedupe *once);

/* In the first round notes the processes of a file's profile `one`, and adds it to the sum as long as `again` is false.
 * In the second round adds it without the processes that count elsewhere. May change `one`. On failure returns false,
 * and once->complaint says why; path: what it calls the file. */
bool clp_dedupe_merge(struct clp_dedupe *once, struct clp_profile *sum, struct clp_profile *one, const char *path);

#endif
